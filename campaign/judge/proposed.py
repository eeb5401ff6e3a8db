"""ENV-05: compares the measured system with the proposed one, field by field. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from campaign.core.model import Finding
from campaign.core.units import format_size
from campaign.judge.findings import cut, doubt, note, unchecked
from campaign.judge.submission import Submission
from campaign.judge.system import names_of
from campaign.results.environment.facts import Environment

KEPT_BY_FIRMWARE = 0.1  # share of a node's memory, at most


def as_proposed(submission: Submission) -> Iterator[Finding]:
    """ENV-05: the measured system is configured as the proposed one, or each difference is explained."""
    if not submission.results:
        return
    fields = asdict(submission.campaign.proposed)
    given = {name: value for name, value in fields.items() if value not in (None, "")}
    lacking = [name for name in fields if name not in given]
    if lacking and submission.full:
        yield note(
            "proposed system not described under proposed: {names}; not compared with the measured system",
            names=", ".join(lacking),
        )
    environments = [case.evidence.environment for case in submission.results]
    unrecorded = []
    for name, wanted in given.items():
        if name == "nodes":
            recorded = [str(submission.partition.usable)] if submission.partition else []
            fits: Callable[[Any, str], bool] = _alike
        else:
            facts, fits = _FIELDS[name]
            recorded = list(dict.fromkeys(text for each in environments for text in facts(each) if text))
        others = [text for text in recorded if not fits(wanted, text)]
        if not recorded:
            unrecorded.append(name)
        elif others:
            shown = format_size(wanted) if name == "memory" else str(wanted)
            actual = ", ".join(map(_shown_memory if name == "memory" else cut, others))
            label = name.replace("_", " ")
            yield doubt(submission.full)(
                "the measured system differs from the proposed one: {name}", f"{label} {shown}", actual, name=label
            )
    if unrecorded:
        yield unchecked("not recorded on the measured system: {names}", names=", ".join(unrecorded))


def _alike(wanted: Any, text: str) -> bool:
    return str(wanted) == text


def _all_words(wanted: str, text: str) -> bool:
    return all(word in text.casefold() for word in wanted.casefold().replace(",", " ").split())


def _as_much(wanted: int, text: str) -> bool:
    size = _kibibytes(text)
    return size is not None and wanted * (1 - KEPT_BY_FIRMWARE) <= size * 1024 <= wanted


def _kibibytes(text: str) -> int | None:
    size = text.split()[0] if text.split() else ""
    return int(size) if size.isdigit() else None


def _shown_memory(text: str) -> str:
    size = _kibibytes(text)
    return cut(text) if size is None else format_size(size * 1024)


def _named(wanted: str, kind: str) -> bool:
    return any(name in wanted.casefold() for name in names_of(kind))


def _adapters(environment: Environment) -> Sequence[str]:
    """All that a node reports of its adapters, as one text."""
    facts = [name for name in environment.facts if re.fullmatch(r"fabric\..*|net\.(?!core|ipv)[^.]*", name)]
    adapters = [f"{name} {text}" for name in facts for text in environment.values(name)]
    return ["; ".join(adapters)] if adapters else []


def _fact(name: str) -> Callable[[Environment], Sequence[str]]:
    return lambda environment: environment.values(name)


def _mpi(environment: Environment) -> Sequence[str]:
    return [text for name, text in environment.software.items() if name == "mpirun"]


# For each field: where it is recorded, and whether the record fits the proposal.
_FIELDS: Mapping[str, tuple[Callable[[Environment], Sequence[str]], Callable[[Any, str], bool]]] = {
    "processor": (_fact("cpu.model"), _all_words),
    "cores": (_fact("cpu.cores"), _alike),
    "memory": (_fact("memory.total"), _as_much),
    "network": (_adapters, _all_words),
    "file_system": (_fact("mount.type"), _named),
    "mpi": (_mpi, _all_words),
    "operating_system": (_fact("os"), _all_words),
}

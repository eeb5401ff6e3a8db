"""Reads counters.jsonl: the counters of a target's servers at several times during an execution.

A line with the name of a phase was written when that phase had ended, before the next one began. A benchmark that
cannot do this was sampled while it ran: then the servers' counters show when it created its last file and removed its
first one, and what they did in between, as exactly as the samples are dense.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from campaign.core import untrusted
from campaign.core.untrusted import JsonFields
from campaign.results.environment.facts import Served

LARGEST_BYTES = 64 << 20  # a day of samples is 20 MB
PHASES = ("create", "stat", "remove")


@dataclass(frozen=True, slots=True)
class Count:
    when: str
    counts: Mapping[str, int]


def read(path: Path) -> dict[str, Served]:
    """What the servers did in each phase, as far as the file shows: it may come from anybody. Raises OSError if a file
    that exists cannot be read.
    """
    try:
        content, size = untrusted.read(path, LARGEST_BYTES)
    except (FileNotFoundError, NotADirectoryError, untrusted.NotPlain):
        return {}
    return {} if size > LARGEST_BYTES else phases(samples(content))


def samples(content: bytes) -> list[Count]:
    """The complete lines with numbers."""
    found = []
    for line in content.splitlines():
        with suppress(ValueError, RecursionError):
            said = JsonFields.of(json.loads(line.decode("utf-8")))
            counts = JsonFields(said.entries("counts"))
            found.append(Count(said.text("when"), {kind: counts.count(kind) for kind in counts.data}))
    return found


def phases(found: Sequence[Count]) -> dict[str, Served]:
    """Operations of a phase's own kind, by phase; of several iterations, those with the fewest. Empty if servers were
    restarted.
    """
    if any(
        later.counts.get(kind, 0) < count for sooner, later in pairwise(found) for kind, count in sooner.counts.items()
    ):
        return {}
    known = {}
    for phase in PHASES:
        did = [
            later.counts[phase] - sooner.counts[phase]
            for sooner, later in pairwise(found)
            if later.when == phase and phase in sooner.counts and phase in later.counts
        ]
        if did:
            known[phase] = Served(min(did), min(did))
    if not known and (between := _between(found)):
        known["stat"] = between
    return known


def _between(found: Sequence[Count]) -> Served | None:
    """The stats between the creation of the last file and the removal of the first."""
    usable = [sample for sample in found if all(phase in sample.counts for phase in PHASES)]
    if len(usable) < 2:
        return None
    first, last = usable[0].counts, usable[-1].counts
    creating = [n for n, sample in enumerate(usable) if sample.counts["create"] < last["create"]]
    removing = [n for n, sample in enumerate(usable) if sample.counts["remove"] > first["remove"]]
    if not creating or not removing or creating[-1] > removing[0]:
        return None
    stats = [sample.counts["stat"] for sample in usable]
    before, after = creating[-1], removing[0]
    inner = max(0, stats[after - 1] - stats[before + 1]) if after - 1 > before else 0
    return Served(inner, stats[after] - stats[before])

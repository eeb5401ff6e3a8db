"""Reports one cause once: findings that differ in a single value are merged into one text with all values. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.results.cells import Row

LISTED = 6  # different values that one text lists
_NAMES = re.compile(r"[^\s,]+(, [^\s,]+)*")
_PLACE = re.compile(r"\bruns/[^\s:]+(?::\d+)?:")  # the place of a line in a run's raw output
_OWN = re.compile(r"/campaign-[0-9a-f]{8,}[^\s'\",;)]*")  # paths in an attempt's own directory


def merge_causes(findings: Sequence[Finding]) -> list[Finding]:
    """The findings, in their order; those of one rule and wording that differ in a single value get one message with
    all values.
    """
    values_by_kind = grouped((_kind(finding), _values(finding)) for finding in findings)
    merged_values = {kind: _differing_position(list(dict.fromkeys(values))) for kind, values in values_by_kind.items()}
    return [_with_value(finding, *merged_values[_kind(finding)]) for finding in findings]


def merge_row_causes(rows: Sequence[Row]) -> list[Row]:
    """The rows, with the messages of their findings as `merge_causes` gives them."""
    findings = iter(merge_causes([finding for row in rows for finding in row.findings]))
    return [replace(row, findings=tuple(itertools.islice(findings, len(row.findings)))) for row in rows]


def _kind(finding: Finding) -> Hashable:
    return finding.rule, finding.wording, finding.clause, bool(finding.operation), bool(finding.phase)


def _values(finding: Finding) -> tuple[str, ...]:
    return (finding.operation, finding.phase, *finding.values.values())


def _differing_position(values: Sequence[tuple[str, ...]]) -> tuple[int | None, str]:
    """The position at which they differ, if only one, and the values there."""
    places = [place for place, column in enumerate(zip(*values, strict=True)) if len(set(column)) > 1]
    if len(places) != 1:
        return None, ""
    return places[0], listed_values([finding_values[places[0]] for finding_values in values])


def _with_value(finding: Finding, place: int | None, value: str) -> Finding:
    if place is None:
        return finding
    operation, phase, *other_values = (
        value if at == place else own_value for at, own_value in enumerate(_values(finding))
    )
    return replace(
        finding, operation=operation, phase=phase, values=dict(zip(finding.values, other_values, strict=True))
    )


def generalize_line(text: str) -> str:
    """A line of raw output without its place, own directory and numbers; other texts unchanged."""
    return generalize_cause(text) if _PLACE.search(text) else text


def generalize_cause(text: str) -> str:
    """Why a run failed, without places, own directories, ids and numbers, which differ between runs."""
    return re.sub(r"\d+", "#", _OWN.sub("/#", _PLACE.sub("", text)))


def distinct_texts(texts: Iterable[str]) -> list[str]:
    """The different texts; of lines that differ only in their place, the first."""
    different: dict[str, str] = {}
    for text in texts:
        different.setdefault(generalize_line(text), text)
    return list(different.values())


def listed_values(values: Sequence[str]) -> str:
    """The first of different values, and how many more there are; of lists of names, all names."""
    different = distinct_texts(values)
    if all(_NAMES.fullmatch(value) for value in different):
        different = distinct_texts(name for value in different for name in value.split(", "))
    if len(different) > LISTED:
        different[LISTED:] = [f"and {len(different) - LISTED} more"]
    return ("; " if any(", " in value for value in different) else ", ").join(different)

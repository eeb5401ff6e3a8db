"""The benchmark's JSON lines -> what each process moved over time. Pure."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from campaign.results.json_fields import WrongField
from campaign.results.parsers.json_lines import JsonLine, decode

MOST_PROCESSES = 1 << 16


@dataclass(frozen=True, slots=True)
class Timeline:
    """Bytes that a process moved in each interval from the start of the phase; intervals of one phase are equal."""

    operation: str
    rank: int
    node: str
    interval_s: float
    bytes: tuple[int, ...]


def timelines(text: str) -> dict[str, list[Timeline]]:
    """By operation, in the order of the ranks. Invalid or incomplete timelines are left out: nothing is raised."""
    by_operation: dict[str, list[Timeline]] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        with contextlib.suppress(WrongField):
            if '"process"' in raw and (line := decode(number, raw)).get("type") == "process":
                timeline = _timeline(line)
                if len(by_operation.setdefault(timeline.operation, [])) < MOST_PROCESSES:
                    by_operation[timeline.operation].append(timeline)
    return {operation: _alike(lines) for operation, lines in by_operation.items()}


def _timeline(line: JsonLine) -> Timeline:
    interval, moved = line.number_of("interval_s"), line.get("timeline_bytes")
    whole = isinstance(moved, list) and all(type(count) is int and 0 <= count < 1 << 63 for count in moved)
    if not whole or not 0 < interval < 1e9:
        raise WrongField
    return Timeline(line.text("operation"), line.count("rank"), line.text("node"), interval, tuple(moved))


def _alike(lines: list[Timeline]) -> list[Timeline]:
    """Those with the interval of the first rank, in the order of the ranks."""
    lines.sort(key=lambda timeline: timeline.rank)
    return [line for line in lines if line.interval_s == lines[0].interval_s]

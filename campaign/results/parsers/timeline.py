"""The benchmark's JSON lines -> what each process moved over time. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

MOST_PROCESSES = 1 << 16


@dataclass(frozen=True, slots=True)
class Timeline:
    """Bytes that a process moved in each interval from the start of the phase; intervals of one phase are alike."""

    operation: str
    rank: int
    node: str
    interval_s: float
    bytes: tuple[int, ...]


def timelines(text: str) -> dict[str, list[Timeline]]:
    """By operation, in the order of the ranks. What is no timeline, or no whole one, is left out: nothing is raised."""
    by_operation: dict[str, list[Timeline]] = {}
    for raw in text.splitlines():
        if '"process"' not in raw:
            continue
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        timeline = _timeline(line) if isinstance(line, dict) and line.get("type") == "process" else None
        if timeline is not None and len(by_operation.setdefault(timeline.operation, [])) < MOST_PROCESSES:
            by_operation[timeline.operation].append(timeline)
    return {operation: _alike(lines) for operation, lines in by_operation.items()}


def _timeline(line: dict[str, object]) -> Timeline | None:
    operation, rank, node = line.get("operation"), line.get("rank"), line.get("node")
    interval, moved = line.get("interval_s"), line.get("timeline_bytes")
    if not isinstance(operation, str) or not isinstance(node, str) or type(rank) is not int:
        return None
    if not isinstance(interval, int | float) or not 0 < interval < 1e9 or not isinstance(moved, list):
        return None
    if not all(type(count) is int and 0 <= count < 1 << 63 for count in moved):
        return None
    return Timeline(operation, rank, node, float(interval), tuple(moved))


def _alike(lines: list[Timeline]) -> list[Timeline]:
    """Those with the interval of the first rank, in the order of the ranks."""
    lines.sort(key=lambda timeline: timeline.rank)
    return [line for line in lines if line.interval_s == lines[0].interval_s]

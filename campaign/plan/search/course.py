"""What the runs of a search show about the system over time: a drift of the rates, two groups of rates, outliers. Pure.

They are reported, and not excluded from any estimate. How often a steady system seems unsteady is printed by `python -m
tests.bench search_families`.
"""

from __future__ import annotations

import math
from statistics import median

from campaign.core.model import Geometry
from campaign.plan.search.book import Book, Logs, estimates
from campaign.plan.search.nouns import Drift, PlannedBlock, SlowRuns
from campaign.statistics import intervals
from campaign.statistics.modes import two_groups

RUNS = 3  # runs of a count from which its median is reliable


def drift(book: Book) -> Drift | None:
    """The drift; None if there are too few runs."""
    p_value = intervals.trend(_about_usual(book))
    if p_value is None:
        return None
    values = [value for _, _, value in _about_effect(book)]
    third = len(values) // 3
    return Drift(p_value, math.expm1(median(values[-third:]) - median(values[:third])))


def slow_runs(book: Book) -> SlowRuns | None:
    """The slower group; None if the runs do not form two groups."""
    groups = two_groups(_about_usual(book))
    return SlowRuns(groups.share, -math.expm1(-groups.apart)) if groups else None


def _about_usual(book: Book) -> list[float]:
    """Log rates minus the median of their count, in the order of the runs."""
    by_count: dict[Geometry, list[float]] = {}
    logs = book.all_logs()
    for _, count, value in logs:
        by_count.setdefault(count, []).append(value)
    usual = {count: median(values) for count, values in by_count.items() if len(values) >= RUNS}
    return [value - usual[count] for _, count, value in logs if count in usual]


def outliers(book: Book) -> tuple[PlannedBlock, ...]:
    """Runs far from the others of their count."""
    logs = _about_effect(book)
    far = intervals.outliers([value for _, _, value in logs])
    return tuple(
        PlannedBlock(*block, geometry.nodes, geometry.processes)
        for index, (block, geometry, _) in enumerate(logs)
        if index in far
    )


def _about_effect(book: Book) -> Logs:
    """Log rates minus the effect of their count, adjusted for blocks, in the order of the runs."""
    logs = book.all_logs()
    effect = estimates(logs).effect
    return [(block, geometry, value - effect[geometry]) for block, geometry, value in logs]

"""An offer compared with the first in a few numbers: geometric means of its gains, and counts of verdicts. Pure."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from campaign.report.compare.comparison import CellComparison, CellVerdict
from campaign.report.compare.offers import OfferedCell
from campaign.report.compare.verdicts import with_ratio


@dataclass(frozen=True, slots=True)
class GainSummary:
    """An offer compared with the first: geometric means of the gains (above 1 is better), and counts of verdicts.
    `interval`: 95% interval of the mean of all; None with too few repetitions. `over_sessions`: it includes what
    differs between sessions.
    """

    mean: float | None
    interval: tuple[float, float] | None
    over_sessions: bool
    by_launch: dict[str, float | None]
    by_operation: dict[str, float | None]
    compared: int  # cells in the means
    verdicts: dict[CellVerdict, int]


def summarize_gains(column: Sequence[CellComparison], in_means: bool = True) -> GainSummary:
    """`in_means`: whether the offer has means."""
    gained = [compared for compared in column if in_means and compared.gain is not None]
    gains = [(compared.cell, compared.gain) for compared in gained if compared.gain is not None]
    launches = dict.fromkeys(compared.cell.launch for compared in column)
    operations = dict.fromkeys(compared.cell.operation for compared in column)
    verdict_counts = Counter(compared.verdict for compared in column)
    mean, interval, over_sessions = _geometric_mean([gain for _, gain in gains]), None, False
    if mean and (mean_comparison := _mean_comparison(gained)).low and mean_comparison.high and mean_comparison.ratio:
        interval = (
            mean * mean_comparison.low / mean_comparison.ratio,
            mean * mean_comparison.high / mean_comparison.ratio,
        )
        over_sessions = mean_comparison.over_sessions and all(cell.over_sessions for cell in gained)
    return GainSummary(
        mean,
        interval,
        over_sessions,
        {name: _geometric_mean([gain for cell, gain in gains if cell.launch == name]) for name in launches},
        {name: _geometric_mean([gain for cell, gain in gains if cell.operation == name]) for name in operations},
        len(gains),
        {verdict: verdict_counts[verdict] for verdict in CellVerdict},
    )


def _mean_comparison(gained: Sequence[CellComparison]) -> CellComparison:
    """The gains as those of one cell, with the mean over all cells for each repetition: results of one run vary
    together.
    """
    sides = zip(*((cell.first, cell.second) for cell in gained if cell.first and cell.second), strict=True)
    first, second = (_mean_cell(entries, [cell.best for cell in gained]) for entries in sides)
    return with_ratio(CellComparison(gained[0].cell, first, second), None)


def _mean_cell(entries: Sequence[OfferedCell], best: Sequence[str]) -> OfferedCell:
    """Geometric means over cells; as many as the cell with the fewest repetitions has."""
    values = tuple(
        math.exp(
            statistics.fmean(
                [math.log(value) * (1 if best_of_cell == "highest" else -1) for value, best_of_cell in repetition]
            )
        )
        for repetition in (
            zip(values, best, strict=True) for values in zip(*(cell.values for cell in entries), strict=False)
        )
    )
    jobs = min(cell.jobs or len(values) for cell in entries)
    return replace(entries[0], values=values, started=entries[0].started[: len(values)], jobs=jobs)


def _geometric_mean(gains: Sequence[float]) -> float | None:
    return math.exp(math.fsum(map(math.log, gains)) / len(gains)) if gains else None

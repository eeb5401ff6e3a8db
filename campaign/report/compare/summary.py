"""An offer compared with the first in a few numbers, and the letters that name the offers. Pure."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from campaign.report.compare.offers import OfferedCell
from campaign.report.compare.verdicts import CellComparison, CellVerdict


@dataclass(frozen=True, slots=True)
class GainSummary:
    """An offer compared with the first: geometric means of the gains (above 1 is better), and counts of verdicts."""

    mean: float | None
    by_launch: dict[str, float | None]
    by_operation: dict[str, float | None]
    compared: int  # cells in the means
    verdicts: dict[CellVerdict, int]


def summary(column: Sequence[CellComparison]) -> GainSummary:
    gains = [(compared.cell, compared.gain) for compared in column if compared.gain is not None]
    launches = dict.fromkeys(compared.cell.launch for compared in column)
    operations = dict.fromkeys(compared.cell.operation for compared in column)
    counted = Counter(compared.verdict for compared in column)
    return GainSummary(
        _mean([gain for _, gain in gains]),
        {name: _mean([gain for cell, gain in gains if cell.launch == name]) for name in launches},
        {name: _mean([gain for cell, gain in gains if cell.operation == name]) for name in operations},
        len(gains),
        {verdict: counted[verdict] for verdict in CellVerdict},
    )


def _mean(gains: Sequence[float]) -> float | None:
    return math.exp(math.fsum(map(math.log, gains)) / len(gains)) if gains else None


def typical(entry: OfferedCell) -> float:
    return statistics.median(entry.values) if entry.values else entry.value or 0.0


def letters(place: int) -> str:
    """A, B, … Z, AA, AB, … for 0, 1, …"""
    text = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(ord("A") + rest) + text
    return text

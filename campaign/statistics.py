"""Numbers about numbers: median, its distribution-free interval, variation. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Summary:
    """Of n values: the median, the 95% interval of the median (None below 6 values), the coefficient of variation."""

    n: int
    median: float | None
    low: float | None
    high: float | None
    cv: float | None


NOTHING = Summary(0, None, None, None, None)


def summarize(values: Sequence[float]) -> Summary:
    ordered = sorted(values)
    n = len(ordered)
    if n == 0:
        return NOTHING
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    low, high = median_interval(ordered) or (None, None)
    return Summary(n, middle, low, high, _variation(ordered))


def median_interval(ordered: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """The narrowest pair of order statistics, symmetric in rank, that covers the median with `confidence`.

    Each value lies below the median with probability 1/2, so the coverage is a binomial sum, whatever the distribution.
    With fewer than 6 values even the extremes do not reach 95%: None.
    """
    n = len(ordered)
    tail = 0.0
    rank = 0
    while rank < n // 2:
        tail += math.comb(n, rank) / 2**n  # of whole numbers: 2.0**n overflows from 1024 values on
        if 1 - 2 * tail < confidence:
            break
        rank += 1
    if rank == 0:
        return None
    return ordered[rank - 1], ordered[n - rank]


def _variation(values: Sequence[float]) -> float | None:
    n = len(values)
    mean = sum(values) / n
    if n < 2 or mean == 0:
        return None
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1)) / mean

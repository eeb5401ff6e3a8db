"""Numbers about numbers: median, its distribution-free interval, variation. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from campaign.statistics.ranks import median


@dataclass(frozen=True, slots=True)
class Summary:
    """Of n values in the order of time: the median, the 95% interval of the median (None below 6 values), the
    coefficient of variation, the p-value of a trend (None below 6), and which values lie far off.
    """

    n: int
    median: float | None
    low: float | None
    high: float | None
    cv: float | None
    drift: float | None = None
    outliers: tuple[int, ...] = ()  # by index


NOTHING = Summary(0, None, None, None, None)


def summarize(values: Sequence[float]) -> Summary:
    ordered = sorted(values)
    n = len(ordered)
    if n == 0:
        return NOTHING
    low, high = median_interval(ordered) or (None, None)
    return Summary(n, median(ordered), low, high, _variation(ordered), trend(values), tuple(sorted(outliers(values))))


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


TRIMMED = 0.1  # of the values at each end


def kept(n: int) -> int:
    """How many of n values a trimmed mean is of."""
    return n - 2 * int(n * TRIMMED)


def trimmed(values: Sequence[float]) -> tuple[float, float]:
    """The mean without the tenth at each end, and its standard error by the winsorized variance (Tukey, McLaughlin).

    What lies far off then pulls no more than what lies at the end. Fewer than 2 values have an infinite error.
    """
    ordered = sorted(values)
    n = len(ordered)
    cut = int(n * TRIMMED)
    inner = ordered[cut : n - cut]
    mean = sum(inner) / len(inner) if inner else -math.inf
    if n < 2:
        return mean, math.inf
    winsorized = [inner[0]] * cut + inner + [inner[-1]] * cut
    middle = sum(winsorized) / n
    variance = sum((value - middle) ** 2 for value in winsorized) / (n - 1)
    return mean, math.sqrt(variance / n) * n / len(inner)


def t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's distribution with `freedom` degrees: within 1% from 3 degrees on, for 0.9 to 0.995."""
    from statistics import NormalDist

    z = NormalDist().inv_cdf(probability)
    if freedom == 1:
        return math.tan(math.pi * (probability - 0.5))
    if freedom == 2:
        return (2 * probability - 1) / math.sqrt(2 * probability * (1 - probability))
    # Cornish and Fisher's expansion around the normal distribution.
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / float(freedom) ** power for power, term in enumerate(terms, 1))


def outliers(values: Sequence[float]) -> frozenset[int]:
    """Indices of values far from the median by the median of the distances (a modified z of 3.5 or more)."""
    if len(values) < 4:
        return frozenset()
    middle = median(sorted(values))
    spread = median(sorted(abs(value - middle) for value in values))
    if spread == 0:
        return frozenset()
    return frozenset(index for index, value in enumerate(values) if 0.6745 * abs(value - middle) / spread >= 3.5)


def trend(values: Sequence[float]) -> float | None:
    """Two-sided p-value of a trend in values ordered by time (Mann and Kendall); None below 6 values."""
    from statistics import NormalDist

    n = len(values)
    if n < 6:
        return None
    score = sum(
        (values[later] > values[earlier]) - (values[later] < values[earlier])
        for earlier in range(n)
        for later in range(earlier + 1, n)
    )
    if score == 0:
        return 1.0
    z = (abs(score) - 1) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return 2 * (1 - NormalDist().cdf(z))

"""Descriptive statistics: median, its distribution-free interval, variation, trend. Pure."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from campaign.core.grouping import grouped
from campaign.statistics.ranks import NORMAL, polynomial_coefficients, t_tail

WIDEST = 0.999  # confidence of the extremes of 12 values; beyond, intervals are not known well enough
FEWEST_APART = 4  # effective number of independent values, at least, if there are enough to estimate a dependence
LIFT = 2.6  # of an estimated correlation, by simulation: intervals of 12 to 60 values then have their nominal coverage
MORE_THAN_CHANCE = 12  # fewest values from which a serial dependence can be distinguished from chance


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of n values in the order of time.

    The median; its 95% interval (None below 6 values, or below as many independent ones); the coefficient of variation;
    the p-value of a trend (None below 6); and the outliers.
    """

    n: int
    median: float | None
    low: float | None
    high: float | None
    cv: float | None
    drift: float | None = None
    outliers: tuple[int, ...] = ()  # their indices


NOTHING = Summary(0, None, None, None, None)


def summarize(values: Sequence[float], groups: Sequence[Hashable] = ()) -> Summary:
    """`groups`: what each value was measured in, such as a job. For the interval, the values of one group
    count as one.
    """
    ordered = sorted(values)
    n = len(ordered)
    if n == 0:
        return NOTHING
    independent = group_medians(values, groups)
    low, high = median_interval(sorted(independent), inflation=dependence(independent)) or (None, None)
    return Summary(n, median(ordered), low, high, _variation(ordered), trend(values), tuple(sorted(outliers(values))))


def group_medians(values: Sequence[float], groups: Sequence[Hashable]) -> list[float]:
    """The median of each group's values, in the order in which groups appear; a value without a group is a group of its
    own.
    """
    if not groups:
        return list(values)
    members = grouped(
        ((place,) if group is None else group, value)
        for place, (value, group) in enumerate(zip(values, groups, strict=True))
    )
    return [median(together) for together in members.values()]


def median_interval(
    ordered: Sequence[float], confidence: float = 0.95, inflation: float = 1.0
) -> tuple[float, float] | None:
    """An interval between order statistics, symmetric in rank, that covers the median with `confidence`.

    Each value is below the median with probability 1/2, so the coverage of a pair of ranks is a binomial sum for any
    distribution. Between two pairs it is interpolated (Hettmansperger and Sheather 1986); otherwise the interval of 8
    values would cover 99.2% instead of 95%. `inflation`: factor of the variance, for values that depend on each other.
    None if even the extremes do not cover enough, as with fewer than 6 independent values.
    """
    n = len(ordered)
    if inflation > 1:
        wider = 2 * NORMAL.cdf(NORMAL.inv_cdf((1 + confidence) / 2) * math.sqrt(inflation)) - 1
        confidence = min(wider, WIDEST)
    tail, before, rank = 0.0, 1.0, 0
    choices, subsets = 1, 2**n  # ways to choose `rank` of n values; integers, since 2.0**n overflows from n = 1024 on
    while rank < n // 2:
        tail += choices / subsets
        if 1 - 2 * tail < confidence:
            break
        before = 1 - 2 * tail
        choices = choices * (n - rank) // (rank + 1)
        rank += 1
    if rank == 0:
        return None
    after = 1 - 2 * tail if rank < n // 2 else 0.0
    share = (before - confidence) / (before - after)
    inner = (n - rank) * share / (rank + (n - 2 * rank) * share)
    return (
        ordered[rank - 1] + inner * (ordered[rank] - ordered[rank - 1]),
        ordered[n - rank] - inner * (ordered[n - rank] - ordered[n - rank - 1]),
    )


def dependence(values: Sequence[float]) -> float:
    """The factor (1 or more) by which serial dependence of values increases the variance of their mean.

    Estimated from the correlation of the ranks of successive values, corrected for its bias with few values. 1 if there
    are too few values to distinguish it from chance.
    """
    n = len(values)
    if n < MORE_THAN_CHANCE:
        return 1.0
    ordered = sorted(values)
    places = [
        bisect_left(ordered, value) + bisect_right(ordered, value) - n for value in values
    ]  # ranks minus their mean
    square = sum(place**2 for place in places)
    if square == 0:
        return 1.0
    correlation = sum(rank * next_rank for rank, next_rank in itertools.pairwise(places)) / square
    # The estimate is too low by (1 + 4 true) / n (Kendall 1954).
    true = max(0.0, min(0.8, (correlation * n + LIFT) / (n - 4)))
    factor = (1 + true) / (1 - true) - 2 * true * (1 - true**n) / (n * (1 - true) ** 2)
    return min(factor, n / FEWEST_APART)


def _variation(values: Sequence[float]) -> float | None:
    mean = fmean(values)
    return stdev(values) / abs(mean) if len(values) > 1 and mean else None


def outliers(values: Sequence[float]) -> frozenset[int]:
    """Indices of values far from the median, in units of the median absolute deviation (modified z of 3.5 or more)."""
    if len(values) < 4:
        return frozenset()
    middle = median(values)
    spread = median(abs(value - middle) for value in values)
    if spread == 0:
        return frozenset()
    return frozenset(index for index, value in enumerate(values) if 0.6745 * abs(value - middle) / spread >= 3.5)


def farthest_value(values: Sequence[float]) -> tuple[float, float] | None:
    """The value that is farthest from the mean of the logarithms, and the p-value that all are of one normal
    distribution, by its distance from the others (Grubbs); None below 4 values, or where the others do not vary.
    """
    logs = [math.log(value) for value in values if value > 0]
    n = len(logs)
    if n < max(4, len(values)):
        return None
    middle = fmean(logs)
    far = max(range(n), key=lambda index: abs(logs[index] - middle))
    remaining = [log for index, log in enumerate(logs) if index != far]
    spread = stdev(remaining) * math.sqrt(n / (n - 1))
    return (
        (values[far], min(1.0, 2 * n * t_tail(abs(logs[far] - fmean(remaining)) / spread, n - 2))) if spread else None
    )


ORDERS = 60  # most values for which all orders are counted


def trend(values: Sequence[float]) -> float | None:
    """Two-sided p-value of a trend in values ordered by time (Mann and Kendall); None below 6 values. Exact for few
    values; ties make a trend less likely.
    """
    n = len(values)
    if n < 6:
        return None
    score, earlier = 0, list[float]()  # rising pairs minus falling pairs; the values so far, sorted
    for value in values:
        above = bisect_right(earlier, value)
        score += bisect_left(earlier, value) - (len(earlier) - above)
        earlier.insert(above, value)
    score = abs(score)
    if n <= ORDERS:
        pairs = n * (n - 1) // 2
        orders = polynomial_coefficients(pairs, range(1, n + 1), (1,) * n)  # with 0, 1, 2 … inversions (Mahon)
        return min(1.0, 2 * sum(orders[: (pairs - score) // 2 + 1]) / math.factorial(n))
    z = max(0, score - 1) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return 2 * (1 - NORMAL.cdf(z))


# --- sessions: runs so near in time that the state of the system on that day may be in all of them
#
# Two campaigns of different days differ by what those days differ, besides what they are to be compared for. Whether
# that can be told from their runs depends on when these started.

BREAK_S = 8 * 3600.0  # without a run, from which the next one begins a session
LONGEST_S = 24 * 3600.0  # of a session
BALANCED = 0.2  # share of pairs by which one side may be later than the other more often than half of them


def session_numbers(starts: Sequence[float]) -> list[int]:
    """The number of the session of each run, by when it started."""
    numbers: dict[float, int] = {}
    number, first, before = 0, -math.inf, -math.inf
    for start in sorted(starts):
        if start - before > BREAK_S or start - first >= LONGEST_S:
            number, first = number + 1, start
        numbers[start], before = number, start
    return [numbers[start] for start in starts]


def is_alternating(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the runs of two sides took turns: at least as often as in a random order, and neither side later than the
    other. Then what changes slowly affects both alike.
    """
    m, n = len(first), len(second)
    sides = [number for _, number in sorted([*((start, 0) for start in first), *((start, 1) for start in second)])]
    turns = sum(number != next_number for number, next_number in itertools.pairwise(sides))
    later_share = sum(other > start for start in first for other in second) / (m * n)
    return turns >= 2 * m * n / (m + n) and abs(later_share - 0.5) <= BALANCED


# --- whether values form two groups or one

FEWEST_GROUPED = 12  # fewest values that can show it
# Critical value of distance times √n: fewer than 1 in 500 samples of a normal distribution exceed it, and 1 in 12 of a
# uniform one, which is the unimodal distribution nearest to two modes; by simulation of 12 to 320 values.
LIMIT = 0.8

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class TwoGroups:
    """`share`: of the values in the lower group; `distance`: between the medians of the groups."""

    share: float
    distance: float


def two_groups(values: Sequence[float]) -> TwoGroups | None:
    """The two groups; None if one group explains the values, or if there are too few.

    The measure is the distance of their distribution from the nearest unimodal one, which is convex below the mode and
    concave above it (as in the dip test of Hartigan and Hartigan, 1985).
    """
    n = len(values)
    if n < FEWEST_GROUPED or _distance(values) * math.sqrt(n) <= LIMIT:
        return None
    ordered = sorted(values)
    sums = list(itertools.accumulate(ordered, initial=0.0))

    def between(split: int) -> float:
        """The variance between the groups."""
        return split * (n - split) * (sums[split] / split - (sums[n] - sums[split]) / (n - split)) ** 2

    split = max(range(1, n), key=between)
    return TwoGroups(split / n, median(ordered[split:]) - median(ordered[:split]))


def _distance(values: Sequence[float]) -> float:
    n = len(values)
    below_count, points = 0, list[Point]()  # each value with the share of values below it and half of those equal to it
    for value, equal in itertools.groupby(sorted(values)):
        number = len(list(equal))
        points.append((value, (below_count + number / 2) / n))
        below_count += number

    def left(mode: int) -> float:
        return _above_convex(points[: mode + 1])

    def right(mode: int) -> float:
        return _above_convex([(-value, 1 - share) for value, share in reversed(points[mode:])])

    # One distance grows with the mode, the other falls: the minimum of the larger one is where they cross.
    low, high = 0, len(points) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if left(middle) < right(middle) else (low, middle)
    return min(max(left(mode), right(mode)) for mode in (low, high))


def _above_convex(points: Sequence[Point]) -> float:
    """The largest distance of points above their convex minorant."""
    corners: list[Point] = []
    for point in points:
        while len(corners) > 1 and _slope(corners[-2], corners[-1]) >= _slope(corners[-2], point):
            corners.pop()
        corners.append(point)
    farthest, at = 0.0, 1
    for value, share in points if len(corners) > 1 else ():
        while corners[at][0] < value:
            at += 1
        start = corners[at - 1]
        farthest = max(farthest, share - start[1] - _slope(start, corners[at]) * (value - start[0]))
    return farthest


def _slope(start: Point, end: Point) -> float:
    return (end[1] - start[1]) / (end[0] - start[0])

"""Whether values form two groups or one. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

FEWEST = 12  # fewest values that can show it
# Critical value of distance times √n: fewer than 1 in 500 samples of a normal distribution exceed it, and 1 in 12 of a
# uniform one, which is the unimodal distribution nearest to two modes; by simulation of 12 to 320 values.
LIMIT = 0.8

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class TwoGroups:
    """`share`: of the values in the lower group; `apart`: distance between the medians of the groups."""

    share: float
    apart: float


def two_groups(values: Sequence[float]) -> TwoGroups | None:
    """The two groups; None if one group explains the values, or if there are too few.

    The measure is the distance of their distribution from the nearest unimodal one, which is convex below the mode and
    concave above it (as in the dip test of Hartigan and Hartigan, 1985).
    """
    n = len(values)
    if n < FEWEST or _distance(values) * math.sqrt(n) <= LIMIT:
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
    below, points = 0, list[Point]()  # each value with the share of values below it and half of those equal to it
    for value, equal in itertools.groupby(sorted(values)):
        number = len(list(equal))
        points.append((value, (below + number / 2) / n))
        below += number

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

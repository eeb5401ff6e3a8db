"""Two samples compared by ranks alone, exact where they are small. Pure.

The ratio of two samples is that of Hodges and Lehmann: the median of the ratios of all pairs, one value of each side.
Its interval and the test (Mann and Whitney) rest on one count: if both sides came from one distribution, whatever it
is, every order of the values is equally likely. So nothing is assumed about the noise, and an outlier pulls no more
than its rank. Where sides vary differently, or values depend on each other, the
count varies more; its limits are moved by that factor.

Differences are of logarithms: `first` and `second` are logarithms, a difference is that of `second` over `first`.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from statistics import NormalDist

EXACT = 2500  # pairs up to which every order is counted; above, the normal approximation is good to the third digit


@functools.cache
def normal() -> NormalDist:
    """Its module takes longer to import than all of this package: only where it is needed."""
    from statistics import NormalDist

    return NormalDist()


@dataclass(frozen=True, slots=True)
class Differences:
    """All differences between two samples, in order. Ties count against a difference, as an interval's limit does.

    Limits have the chance that they say, whether or not the sides vary alike. The p-value is never below the exact one
    of equal orders: where many cells are tested, chances are asked for that no estimate of a spread supports.
    """

    ordered: Sequence[float]
    first: int  # values of each side
    second: int
    spread: float = 1.0  # of the count of pairs, over what it is if every order is equally likely: beside each other
    apart: float = 1.0  # the same, where the sides lie; for the test
    freedom: float = math.inf  # degrees by which that is known

    @property
    def middle(self) -> float:
        return median(self.ordered)

    @property
    def p(self) -> float:
        """Two-sided p-value of "no difference"."""
        least = min(bisect_right(self.ordered, 0.0), len(self.ordered) - bisect_left(self.ordered, 0.0))
        chance = tail(self.first, self.second, least)
        return min(1.0, 2 * max(chance, self._by_spread(chance)))

    def _by_spread(self, chance: float) -> float:
        if not 0 < chance < 0.5 or not self.apart:
            return chance
        away = -normal().inv_cdf(chance) / self.apart
        if self.freedom < math.inf:  # Student's distribution by the normal one (Wallace 1959)
            shrink = (8 * self.freedom + 1) / (8 * self.freedom + 3)
            away = shrink * math.sqrt(self.freedom * math.log1p(away**2 / self.freedom))
        return normal().cdf(-away)

    def bounds(self, each: float) -> tuple[float, float] | None:
        """Lower and upper limit of the difference, each missed with a chance of up to `each`; None: too few values."""
        if not _rank(self.first, self.second, each):
            return None
        rank = max(1, _rank(self.first, self.second, _farther(each, self.spread)))
        return self.ordered[rank - 1], self.ordered[-rank]


def _farther(chance: float, factor: float) -> float:
    """The chance of a normal deviation so many times as far out."""
    return normal().cdf(normal().inv_cdf(chance) * factor) if 0 < chance < 0.5 and factor != 1 else chance


def differences(
    first: Sequence[float], second: Sequence[float], inflation: tuple[float, float] = (1.0, 1.0)
) -> Differences:
    """`inflation`: of the variance of each side, by values that depend on each other."""
    ordered = [other - value for value in first for other in second]
    ordered.sort()
    shift = median(ordered) if ordered else 0.0
    beside = [value - shift for value in second]  # how values vary shows where the sides lie over each other
    apart, freedom = _spread(first, second, inflation)
    return Differences(ordered, len(first), len(second), _spread(first, beside, inflation)[0] or 1.0, apart, freedom)


def _spread(first: Sequence[float], second: Sequence[float], inflation: tuple[float, float]) -> tuple[float, float]:
    """By the values' places among those of the other side, which may vary differently (Brunner and Munzel 2000), with
    the degrees of freedom of it; 0 where the sides do not overlap, which says nothing of how they vary.
    """
    m, n = len(first), len(second)
    if min(m, n) < 2:
        return 1.0, math.inf
    variances = m * _variance(_places(first, second)), n * _variance(_places(second, first))
    varies = variances[0] * inflation[0] + variances[1] * inflation[1]
    if not varies:
        return 0.0, math.inf
    counts = [max(1.0, number / more - 1) for number, more in zip((m, n), inflation, strict=True)]
    parts = zip(variances, inflation, counts, strict=True)
    freedom = varies**2 / sum((part * more) ** 2 / count for part, more, count in parts)
    return math.sqrt(varies / (m * n * (m + n + 1) / 12)), freedom


def _places(values: Sequence[float], others: Sequence[float]) -> list[float]:
    ordered = sorted(others)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value)) / 2 for value in values]


def _variance(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


def differ(first: Sequence[float], second: Sequence[float], level: float) -> bool:
    """Whether two samples differ significantly, for each pair of samples separately."""
    ordered = sorted(first)
    not_above = sum(bisect_right(ordered, value) for value in second)
    not_below = len(first) * len(second) - sum(bisect_left(ordered, value) for value in second)
    least = min(not_above, not_below)
    return 2 * tail(len(first), len(second), least) <= level


def median(ordered: Sequence[float]) -> float:
    n = len(ordered)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


@functools.cache
def tail(first: int, second: int, most: int) -> float:
    """The chance that, of all pairs of two like samples, up to `most` have the first one's value above."""
    pairs = first * second
    if most >= pairs:
        return 1.0
    if pairs > EXACT:
        spread = math.sqrt(pairs * (first + second + 1) / 12)
        return normal().cdf((most + 0.5 - pairs / 2) / spread)
    return sum(_orders(first, second)[: most + 1]) / math.comb(first + second, first)


@functools.cache
def _orders(first: int, second: int) -> tuple[int, ...]:
    """How many orders of two samples have 0, 1, 2 … pairs with the first one's value above: a Gaussian binomial
    coefficient, multiplied out factor by factor.
    """
    counts = [1] + [0] * (first * second)
    for factor in range(1, first + 1):
        for power in range(len(counts) - 1, second + factor - 1, -1):  # times 1 - q^(second + factor)
            counts[power] -= counts[power - second - factor]
        for power in range(factor, len(counts)):  # over 1 - q^factor
            counts[power] += counts[power - factor]
    return tuple(counts)


@functools.cache
def _rank(first: int, second: int, each: float) -> int:
    """Which difference from either end is the limit: the innermost that is passed with a chance of up to `each`."""
    if tail(first, second, 0) > each:
        return 0
    low, high = 0, first * second // 2
    while low < high:  # the highest count of pairs whose tail is within `each`
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tail(first, second, middle) <= each else (low, middle - 1)
    return low + 1


def fewest(each: float, cells: int = 1) -> int:
    """How many values both sides need before any difference can be shown, where one of so many cells differs."""
    n = 1
    while tail(n, n, 0) > each / cells:
        n += 1
    return n


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Each p-value as that of one among many (Benjamini and Hochberg).

    Calling those up to 5% real: of campaigns without any difference up to 5% show one, and of the differences called
    real up to 5% are expected to be chance.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index], reverse=True)
    values = [1.0] * len(p_values)
    least = 1.0
    for place, index in enumerate(order):
        least = min(least, p_values[index] * len(order) / (len(order) - place))
        values[index] = least
    return values

"""Two samples compared by ranks alone, exact where they are small. Pure.

The ratio of two samples is that of Hodges and Lehmann: the median of the ratios of all pairs, one value of each side.
Its interval and the test (Mann and Whitney) rest on one count: if both sides came from one distribution, whatever it
is, every order of the values is equally likely. So nothing is assumed about the noise, and an outlier pulls no more
than its rank. Where sides vary differently, or values depend on each other, the count varies by another factor, which
moves the limits of both.

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

FEWEST_PAIRS = 36  # as of 6 values on both sides: fewer show too little of how each side varies
EXACT = 2500  # pairs up to which every order is counted; above, the normal approximation is good to the third digit


@functools.cache
def normal() -> NormalDist:
    """Its module takes longer to import than all of this package: only where it is needed."""
    from statistics import NormalDist

    return NormalDist()


@dataclass(frozen=True, slots=True)
class Differences:
    """All differences between two samples, in order. Ties count against a difference.

    Test and interval are one: at any level, `p` is up to it exactly if the limits of half of it leave out 0.
    """

    ordered: Sequence[float]
    first: int  # values of each side
    second: int
    spread: float = 1.0  # of the count of pairs, over what it is if every order is equally likely
    freedom: float = math.inf  # degrees by which the spread is known

    @property
    def middle(self) -> float:
        return median(self.ordered)

    @property
    def p(self) -> float:
        """Two-sided p-value of "no difference"."""
        least = min(bisect_right(self.ordered, 0.0), len(self.ordered) - bisect_left(self.ordered, 0.0))
        return min(1.0, 2 * self._chance(least))

    def bounds(self, each: float) -> tuple[float, float] | None:
        """Lower and upper limit of the difference, each missed with a chance of up to `each`; None: too few values."""
        if not self.ordered or self._chance(0) > each:
            return None
        low, high = 0, len(self.ordered) // 2
        while low < high:  # the highest count of pairs whose chance is within `each`
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._chance(middle) <= each else (low, middle - 1)
        return self.ordered[low], self.ordered[-1 - low]

    def _chance(self, most: int) -> float:
        """That up to so many pairs are on one side of the true difference.

        A spread makes it larger at once, and smaller only as far as what is known of it supports: where many cells are
        tested, chances are asked for that no estimate supports.
        """
        chance = tail(self.first, self.second, most)
        if not 0 < chance < 0.5 or self.spread == 1:
            return chance
        away = -normal().inv_cdf(chance) / self.spread
        # Of a spread of 1 every order says how it varies; how far it is from that is estimated.
        freedom = self.freedom / (1 - min(self.spread, 1 / self.spread) ** 4)
        if freedom < math.inf:  # Student's distribution by the normal one (Wallace 1959)
            shrink = (8 * freedom + 1) / (8 * freedom + 3)
            away = shrink * math.sqrt(freedom * math.log1p(away**2 / freedom))
        by_spread = normal().cdf(-away)
        return by_spread if self.spread > 1 else min(chance, by_spread)


def differences(
    first: Sequence[float],
    second: Sequence[float],
    inflation: tuple[float, float] = (1.0, 1.0),
    blocks: tuple[int, int] | None = None,
) -> Differences:
    """`inflation`: of the variance of each side, by values that depend on each other. `blocks`: how many independent
    groups each side's values are of, if not each is its own.
    """
    ordered = [other - value for value in first for other in second]
    ordered.sort()
    return Differences(ordered, len(first), len(second), *_spread(first, second, ordered, inflation, blocks))


def _spread(
    first: Sequence[float],
    second: Sequence[float],
    ordered: Sequence[float],
    inflation: tuple[float, float],
    blocks: tuple[int, int] | None,
) -> tuple[float, float]:
    """By the values' places among those of the other side, moved to where it is, since either side may vary in its own
    way (Brunner and Munzel 2000), with the degrees of freedom of it. Below FEWEST_PAIRS sides are taken to vary alike.
    """
    m, n = len(first), len(second)
    if not ordered:
        return 1.0, math.inf
    alike = m * n * (m + n + 1) / 12  # the variance of the count if every order is equally likely
    if m * n < FEWEST_PAIRS:
        variances, over = (alike * n / (m + n), alike * m / (m + n)), 1.0
    else:
        shift = median(ordered)
        beside = [value - shift for value in second]
        variances = m * _variance(_places(first, beside)), n * _variance(_places(beside, first))
        over = 1 + 0.3 * (1 / m + 1 / n)  # what moving them adds, by simulation of sides that vary alike
    varies = [variance * more for variance, more in zip(variances, inflation, strict=True)]
    if not sum(varies):
        return 1.0, math.inf
    parts = zip(varies, blocks or (m, n), strict=True)
    freedom = sum(varies) ** 2 / sum(part**2 / max(1, count - 1) for part, count in parts)
    return math.sqrt(sum(varies) / alike) / over, freedom


def _places(values: Sequence[float], others: Sequence[float]) -> list[float]:
    ordered = sorted(others)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value)) / 2 for value in values]


def _variance(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)


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

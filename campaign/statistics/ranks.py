"""Compares two samples by ranks alone; exact for small ones. Pure.

The ratio of two samples is the Hodges-Lehmann estimate: the median of the ratios of all pairs with one value of each
side. Its interval and the test (Mann and Whitney) use one count: if both sides have the same distribution, all orders
of their values are equally likely. So nothing is assumed about the noise, and an outlier counts only by its rank. If
the sides vary differently, or values depend on each other, the variance of the count is multiplied by a factor, which
moves the limits of both.

`first` and `second` are logarithms; a difference is that of `second` minus `first`.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

FEWEST_PAIRS = 36  # that of 6 values on both sides; fewer show too little of how each side varies
EXACT = 2500  # pairs up to which all orders are counted; above, the normal approximation is good to three digits

NORMAL = NormalDist()
_normal_quantile = functools.cache(NORMAL.inv_cdf)


@dataclass(frozen=True, slots=True)
class Differences:
    """All differences between two samples, sorted. Ties count against a difference.

    Test and interval agree: at any level, `p` is at most the level exactly if the limits for half the level exclude 0.
    """

    ordered: Sequence[float]
    first: int  # number of values of each side
    second: int
    spread: float = 1.0  # standard deviation of the count of pairs, relative to that if all orders are equally likely
    freedom: float = math.inf  # degrees of freedom of the spread

    @property
    def middle(self) -> float:
        return _middle(self.ordered)

    @property
    def p(self) -> float:
        """Two-sided p-value of "no difference"."""
        fewer_pairs = min(bisect_right(self.ordered, 0.0), len(self.ordered) - bisect_left(self.ordered, 0.0))
        return min(1.0, 2 * self._chance(fewer_pairs))

    def bounds(self, miss_probability: float) -> tuple[float, float] | None:
        """Lower and upper limit of the difference, each missed with at most this probability; None: too few
        values.
        """
        if not self.ordered or self._chance(0) > miss_probability:
            return None
        low, high = 0, len(self.ordered) // 2
        while low < high:  # the highest count of pairs whose probability is low enough
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._chance(middle) <= miss_probability else (low, middle - 1)
        return self.ordered[low], self.ordered[-1 - low]

    def is_beyond(self, distance: float, miss_probability: float) -> bool:
        """Whether the limits for this probability are further from 0 than that, on one side."""
        fewer_pairs = min(
            bisect_right(self.ordered, distance), len(self.ordered) - bisect_left(self.ordered, -distance)
        )
        return bool(self.ordered) and self._chance(fewer_pairs) <= miss_probability

    def _chance(self, max_pairs: int) -> float:
        """Probability that at most so many pairs are on one side of the true difference.

        A spread above 1 always makes it larger; a spread below 1 makes it smaller only as far as the degrees of freedom
        support it. With many cells, probabilities are needed that no estimate of the spread supports.
        """
        chance = mann_whitney_tail(self.first, self.second, max_pairs)
        if not 0 < chance < 0.5 or self.spread == 1:
            return chance
        distance = -_normal_quantile(chance) / self.spread
        # With a spread of 1 the distribution of the count is exact; the distance of the spread from 1 is an estimate.
        by_spread = t_tail(distance, self.freedom / (1 - min(self.spread, 1 / self.spread) ** 4))
        return by_spread if self.spread > 1 else min(chance, by_spread)


def t_tail(distance: float, freedom: float) -> float:
    """Probability that Student's t is larger, by the normal distribution (Wallace 1959), which never says less."""
    if freedom < math.inf:
        distance = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(distance**2 / freedom))
    return NORMAL.cdf(-distance)


def differences(
    first: Sequence[float],
    second: Sequence[float],
    inflation: tuple[float, float] = (1.0, 1.0),
    blocks: tuple[int, int] | None = None,
) -> Differences:
    """`inflation`: factor of the variance of each side, for values that depend on each other. `blocks`: number of
    independent groups of each side's values, if each value is not one of its own.
    """
    ordered = sorted([other - value for value in first for other in second])
    return Differences(ordered, len(first), len(second), *_spread(first, second, ordered, inflation, blocks))


def _spread(
    first: Sequence[float],
    second: Sequence[float],
    ordered: Sequence[float],
    inflation: tuple[float, float],
    blocks: tuple[int, int] | None,
) -> tuple[float, float]:
    """The spread and its degrees of freedom, by the ranks of the values of one side among those of the other, shifted
    there, since each side may vary differently (Brunner and Munzel 2000). Below FEWEST_PAIRS the sides are assumed to
    vary alike.
    """
    m, n = len(first), len(second)
    if not ordered:
        return 1.0, math.inf
    equal_variance = m * n * (m + n + 1) / 12  # variance of the count if all orders are equally likely
    if m * n < FEWEST_PAIRS:
        variances, shift_effect = (equal_variance * n / (m + n), equal_variance * m / (m + n)), 1.0
    else:
        shift = _middle(ordered)
        shifted = [value - shift for value in second]
        variances = m * _variance(_midranks(first, shifted)), n * _variance(_midranks(shifted, first))
        shift_effect = 1 + 0.3 * (
            1 / m + 1 / n
        )  # the shift's effect on the variance, by simulation of sides that vary alike
    varies = [variance * factor for variance, factor in zip(variances, inflation, strict=True)]
    if not sum(varies):
        return 1.0, math.inf
    parts = zip(varies, blocks or (m, n), strict=True)
    freedom = sum(varies) ** 2 / sum(part**2 / max(1, count - 1) for part, count in parts)
    return math.sqrt(sum(varies) / equal_variance) / shift_effect, freedom


def _midranks(values: Sequence[float], reference: Sequence[float]) -> list[float]:
    ordered = sorted(reference)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value)) / 2 for value in values]


def _variance(values: Sequence[float]) -> float:
    """The sample variance in floating point: the standard library's exact one takes half of a comparison's time."""
    middle = math.fsum(values) / len(values)
    return math.fsum([(value - middle) ** 2 for value in values]) / (len(values) - 1)


def _middle(ordered: Sequence[float]) -> float:
    """The median of sorted values."""
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


@functools.cache
def mann_whitney_tail(first: int, second: int, max_pairs: int) -> float:
    """Probability that among all pairs of two equal samples at most `max_pairs` have the larger value on the first
    side.
    """
    pairs = first * second
    if max_pairs >= pairs:
        return 1.0
    if pairs > EXACT:
        spread = math.sqrt(pairs * (first + second + 1) / 12)
        return NORMAL.cdf((max_pairs + 0.5 - pairs / 2) / spread)
    # The orders with 0, 1, 2 … such pairs: a Gaussian binomial coefficient.
    orders = polynomial_coefficients(pairs, range(second + 1, second + first + 1), range(1, first + 1))
    return sum(orders[: max_pairs + 1]) / math.comb(first + second, first)


@functools.cache
def polynomial_coefficients(degree: int, factors: range, divisors: range | tuple[int, ...]) -> tuple[int, ...]:
    """The coefficients of a polynomial in q: the product of 1 - q^f over the factors, divided by that over the
    divisors.
    """
    counts = [1] + [0] * degree
    for factor in factors:
        for power in range(degree, factor - 1, -1):
            counts[power] -= counts[power - factor]
    for divisor in divisors:
        for power in range(divisor, degree + 1):
            counts[power] += counts[power - divisor]
    return tuple(counts)


def fewest_values(level: float, cells: int = 1) -> int:
    """How many values both sides need before any difference can be significant, if one of so many cells differs."""
    n = 1
    while mann_whitney_tail(n, n, 0) > level / cells:
        n += 1
    return n


def adjusted_p_values(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for many tests (Benjamini and Hochberg). Called real up to 5%, at most 5% of campaigns without
    any difference show one, and at most 5% of the reported differences are expected to be chance.
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index], reverse=True)
    values = [1.0] * len(p_values)
    lowest_p = 1.0
    for place, index in enumerate(order):
        lowest_p = min(lowest_p, p_values[index] * len(order) / (len(order) - place))
        values[index] = lowest_p
    return values

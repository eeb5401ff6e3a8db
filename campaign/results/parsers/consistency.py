"""Whether printed numbers are consistent within their digits. Pure.

An output that contradicts itself was changed or damaged: it is unknown which of its numbers is the true one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_FLOAT = 1e-9  # relative error of sums and quotients of doubles


def half_digit(text: str) -> float:
    """How far a printed number may be from the exact one: half of its last digit."""
    return 0.5 * 10.0 ** -len(text.partition(".")[2])


@dataclass(frozen=True, slots=True)
class Range:
    """The interval of an exact number, not negative, of which a rounded value is known."""

    low: float
    high: float

    @staticmethod
    def around_value(value: float, error: float = 0.0) -> Range:
        return Range(max(0.0, value - error), value + error)

    @staticmethod
    def of_printed(text: str) -> Range:
        return Range.around_value(float(text), half_digit(text))

    def __mul__(self, other: Range) -> Range:
        return Range(self.low * other.low, self.high * other.high)

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def meets(self, other: Range) -> bool:
        """Whether both may contain the same number."""
        return self.low <= other.high * (1 + _FLOAT) and other.low <= self.high * (1 + _FLOAT)


@dataclass(frozen=True, slots=True)
class Spread:
    """The statistics of `count` numbers, each printed to within `error`."""

    count: int
    maximum: float
    minimum: float
    mean: float
    deviation: float
    error: float

    def possible(self) -> bool:
        """Whether some numbers can have these statistics; the deviation is that of a sample or of all."""
        n, error = self.count, 2 * self.error + _FLOAT * self.maximum
        if n < 1 or not self.minimum - error <= self.mean <= self.maximum + error:
            return False
        if n == 1:
            return self.maximum == self.minimum == self.mean and self.deviation == 0
        # The other numbers have a known mean, between minimum and maximum.
        ends = (self.maximum - self.mean) ** 2 + (self.minimum - self.mean) ** 2
        if n == 2:
            mean_of_others, largest_variance = self.mean, 0.0
            fits = abs(self.maximum + self.minimum - 2 * self.mean) <= 2 * error
        else:
            mean_of_others = (n * self.mean - self.maximum - self.minimum) / (n - 2)
            largest_variance = (
                max(0.0, (self.maximum - mean_of_others) * (mean_of_others - self.minimum)) if n > 3 else 0.0
            )
            fits = self.minimum - n * error <= mean_of_others <= self.maximum + n * error
        # Their squares are smallest if they are equal, and largest if each is at one of the ends.
        low = math.sqrt(ends + (n - 2) * (mean_of_others - self.mean) ** 2)
        high = math.sqrt(ends + (n - 2) * ((mean_of_others - self.mean) ** 2 + largest_variance))
        slack = 2 * n * error
        return fits and any(
            low - slack <= self.deviation * math.sqrt(freedom) <= high + slack for freedom in (n, n - 1)
        )


def contradicts(name: object, column: object, printed_value: object, expected: float) -> str:
    return f"{name}: {column} is {printed_value}, but the rest of the output gives {expected:.8g}; result not used"


def count_contradicts(name: object, iteration_count: object, expected: object) -> str:
    return f"{name}: {iteration_count} iterations, but {expected} expected; result not used"


def spread_impossible(name: object, count: object, line: object) -> str:
    return (
        f"{name}: max, min, mean and standard deviation cannot be those of {count} iterations; result not used: {line}"
    )

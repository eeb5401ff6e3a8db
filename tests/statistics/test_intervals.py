from __future__ import annotations

import itertools
import math
import random
import statistics as standard
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.statistics import intervals

rates = st.lists(st.floats(0.001, 1e9), min_size=1, max_size=40)


def coverage(n: int, rank: int) -> Fraction:
    """Share of all equally likely ways in which n values fall below or above the median, for which it lies between the
    `rank`-th smallest and the `rank`-th largest: counted one by one."""
    covered = sum(rank <= sum(below) <= n - rank for below in itertools.product((0, 1), repeat=n))
    return Fraction(covered, 2**n)


@pytest.mark.parametrize("n", range(1, 14))
def test_the_interval_is_the_narrowest_that_covers_the_median_counted_one_by_one(n: int) -> None:
    enough = [rank for rank in range(1, n // 2 + 1) if coverage(n, rank) >= Fraction(95, 100)]
    expected = (float(enough[-1] - 1), float(n - enough[-1])) if enough else None
    assert intervals.median_interval([float(value) for value in range(n)]) == expected


@pytest.mark.parametrize("n", [6, 9, 20])
def test_the_interval_covers_the_true_median_of_drawn_samples(n: int) -> None:
    source = random.Random(n)
    trials = 4000
    covered = 0
    for _ in range(trials):
        low, high = intervals.median_interval(sorted(source.lognormvariate(0, 1) for _ in range(n))) or (0.0, 0.0)
        covered += low <= 1.0 <= high
    assert covered / trials > 0.95 - 3 * math.sqrt(0.95 * 0.05 / trials)


def test_below_six_values_there_is_no_interval() -> None:
    assert [intervals.median_interval([1.0] * n) is None for n in (1, 2, 5, 6)] == [True, True, True, False]


def test_six_values_give_their_extremes() -> None:
    assert intervals.median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == (1.0, 6.0)


def test_many_values_are_within_reach() -> None:
    low, high = intervals.median_interval([float(value) for value in range(5001)]) or (0.0, 0.0)
    assert 2420 < low < 2440
    assert high == 5000 - low


@given(rates)
def test_the_summary_is_that_of_the_standard_library(values: list[float]) -> None:
    summary = intervals.summarize(values)
    assert summary.n == len(values)
    assert summary.median == pytest.approx(standard.median(values))
    if len(values) > 1:
        assert summary.cv == pytest.approx(standard.stdev(values) / standard.fmean(values), abs=1e-9)
    else:
        assert summary.cv is None
    if summary.low is not None and summary.high is not None and summary.median is not None:
        assert summary.low <= summary.median <= summary.high


@given(rates, st.randoms())
def test_the_order_of_the_values_does_not_matter(values: list[float], source: random.Random) -> None:
    shuffled = values[:]
    source.shuffle(shuffled)
    one, other = intervals.summarize(values), intervals.summarize(shuffled)
    assert (one.median, one.low, one.high) == (other.median, other.low, other.high)
    assert one.cv == other.cv


def test_nothing_has_no_summary() -> None:
    assert intervals.summarize([]) == intervals.Summary(0, None, None, None, None)


def test_variation_about_zero_is_not_a_number() -> None:
    assert intervals.summarize([-1.0, 1.0]).cv is None


def test_a_trend_over_time_is_told_from_chance() -> None:
    assert intervals.trend([1.0, 2.0, 3.0, 4.0, 5.0]) is None
    rising = intervals.trend([float(value) for value in range(12)])
    falling = intervals.trend([float(-value) for value in range(12)])
    assert rising == falling and rising is not None and rising < 0.001
    assert intervals.trend([1.0] * 8) == 1.0
    mixed = intervals.trend([3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0])
    assert mixed is not None and mixed > 0.3


def test_what_lies_far_off_is_flagged_by_its_place_and_stays_in_the_numbers() -> None:
    values = [100.0, 101.0, 99.0, 100.5, 30.0, 99.5, 100.2]
    found = intervals.summarize(values)
    assert (found.n, found.outliers) == (7, (4,))
    assert found.low == 30.0
    assert intervals.outliers([1.0, 1.0, 9.0]) == frozenset()
    assert intervals.outliers([1.0] * 5 + [2.0]) == frozenset()  # no spread to measure by


@pytest.mark.parametrize(
    ("freedom", "exact"), [(1, 31.821), (2, 6.965), (3, 4.541), (5, 3.365), (10, 2.764), (30, 2.457)]
)
def test_the_quantile_of_students_distribution_is_within_a_hundredth(freedom: int, exact: float) -> None:
    assert intervals.t_quantile(0.99, freedom) == pytest.approx(exact, rel=0.01)


def test_a_trimmed_mean_is_pulled_by_what_lies_far_off_no_more_than_by_what_lies_at_the_end() -> None:
    values = [float(value) for value in range(1, 21)]
    near, far = intervals.trimmed(values), intervals.trimmed([*values[:-1], 1e6])
    assert near == far
    assert near[0] == 10.5
    assert intervals.trimmed([3.0]) == (3.0, float("inf"))
    assert intervals.kept(20) == 16

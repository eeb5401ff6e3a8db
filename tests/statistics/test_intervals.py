from __future__ import annotations

import itertools
import math
import random
import statistics as standard
from fractions import Fraction

import pytest
import scipy  # its stats are loaded where a test uses them
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
def test_the_interval_lies_between_the_narrowest_that_covers_enough_and_the_next(n: int) -> None:
    enough = [rank for rank in range(1, n // 2 + 1) if coverage(n, rank) >= Fraction(95, 100)]
    found = intervals.median_interval([float(value) for value in range(n)])
    if not enough:
        assert found is None
        return
    low, high = found or (0.0, 0.0)
    assert enough[-1] - 1 <= low < enough[-1] and low + high == pytest.approx(n - 1)


NOISES = {
    "normal": lambda z: z,
    "skewed": lambda z: math.exp(z) - 1,
    "heavy tails": lambda z: math.sinh(1.5 * z),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("n", [6, 7, 8, 11, 20])
def test_the_interval_of_independent_values_covers_as_often_as_it_says(n: int, noise: str) -> None:
    source = random.Random(n)
    covered = 0
    for _ in range(1500):
        values = sorted(NOISES[noise](source.gauss(0, 1)) for _ in range(n))
        low, high = intervals.median_interval(values) or (0.0, 0.0)
        covered += low <= 0.0 <= high
    assert 0.925 <= covered / 1500 <= 0.985


@pytest.mark.parametrize("n", [12, 20, 40])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5])
def test_the_interval_of_values_that_depend_on_the_ones_before_covers_as_often_as_it_says(
    n: int, correlation: float
) -> None:
    source = random.Random(n)
    covered = 0
    for _ in range(1000):
        value, values = source.gauss(0, 1), []
        for _ in range(n):
            value = correlation * value + math.sqrt(1 - correlation**2) * source.gauss(0, 1)
            values.append(value)
        summary = intervals.summarize(values)
        covered += (summary.low or 0.0) <= 0.0 <= (summary.high or 0.0)
    assert 0.92 <= covered / 1000 <= 0.985


def test_values_of_one_job_count_as_one() -> None:
    values = [1.0, 1.1, 2.0, 2.1, 3.0, 3.1, 4.0, 4.1, 5.0, 5.1, 6.0, 6.1]
    apart = intervals.summarize(values)
    jobs = intervals.summarize(values, [index // 2 for index in range(12)])
    few = intervals.summarize(values, [index // 3 for index in range(12)])
    assert (jobs.n, jobs.median, jobs.cv) == (apart.n, apart.median, apart.cv)
    assert jobs.low == pytest.approx(1.05 + (1 - 0.642857) * 1.0, abs=0.01)
    assert (few.low, few.high) == (None, None)  # 4 jobs


def test_below_six_values_there_is_no_interval() -> None:
    assert [intervals.median_interval([1.0] * n) is None for n in (1, 2, 5, 6)] == [True, True, True, False]


def test_six_values_give_nearly_their_extremes() -> None:
    """These cover 96.9%."""
    assert intervals.median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == pytest.approx((1.357, 5.643), abs=0.001)


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
def test_the_order_of_few_values_does_not_matter(values: list[float], source: random.Random) -> None:
    values = values[: intervals.MORE_THAN_CHANCE - 1]
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
    assert intervals.trend([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == pytest.approx(2 / 720)
    assert intervals.trend([1.0, 2.0, 3.0, 4.0, 6.0, 5.0]) == pytest.approx(2 * (1 + 5) / 720)
    mixed = intervals.trend([3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0])
    assert mixed is not None and mixed > 0.3


@pytest.mark.parametrize("n", [6, 9, 30, 60, 61, 80])
def test_the_chance_of_a_trend_is_that_of_another_library(n: int) -> None:
    values = [value + 0.02 * place for place, value in enumerate(random.Random(n).sample(range(n), n))]
    expected = scipy.stats.kendalltau(range(n), values, method="exact" if n < 61 else "asymptotic").pvalue
    assert intervals.trend(values) == pytest.approx(float(expected), rel=1e-6 if n < 61 else 0.05)


def test_what_lies_far_off_is_flagged_by_its_place_and_stays_in_the_numbers() -> None:
    values = [100.0, 101.0, 99.0, 100.5, 30.0, 99.5, 100.2]
    found = intervals.summarize(values)
    assert (found.n, found.outliers) == (7, (4,))
    assert found.low == pytest.approx(80.6)
    assert intervals.outliers([1.0, 1.0, 9.0]) == frozenset()
    assert intervals.outliers([1.0] * 5 + [2.0]) == frozenset()  # no spread to measure by


def test_the_farthest_value_has_the_p_value_of_grubbs_test() -> None:
    assert intervals.farthest([100.0, 101.0, 99.0, 100.5, 99.5, 50.0]) == (50.0, pytest.approx(3e-6, rel=0.9))
    _, steady = intervals.farthest([100.0, 101.0, 99.0, 100.5, 99.5, 102.0]) or (0.0, 0.0)
    assert steady > 0.2
    assert intervals.farthest([100.0, 101.0, 99.0]) is None
    assert intervals.farthest([100.0, 100.0, 100.0, 100.0, 101.0]) is None
    assert intervals.farthest([-1.0, 2.0, 3.0, 4.0, 5.0]) is None

from __future__ import annotations

import itertools
import math
import random
import statistics as standard
from collections.abc import Callable
from fractions import Fraction

import pytest
import scipy  # its stats are loaded where a test uses them
from hypothesis import given
from hypothesis import strategies as st

from campaign.statistics import intervals
from campaign.statistics.intervals import FEWEST_GROUPED, two_groups

rates = st.lists(st.floats(0.001, 1e9), min_size=1, max_size=40)


def coverage(n: int, rank: int) -> Fraction:
    """Share of all equally likely ways in which n values fall below or above the median, for which it lies between the
    `rank`-th smallest and the `rank`-th largest: counted one by one."""
    covered_ways = sum(rank <= sum(sides) <= n - rank for sides in itertools.product((0, 1), repeat=n))
    return Fraction(covered_ways, 2**n)


@pytest.mark.parametrize("n", range(1, 14))
def test_the_interval_lies_between_the_narrowest_that_covers_enough_and_the_next(n: int) -> None:
    enough = [rank for rank in range(1, n // 2 + 1) if coverage(n, rank) >= Fraction(95, 100)]
    interval = intervals.median_interval([float(value) for value in range(n)])
    if not enough:
        assert interval is None
        return
    low, high = interval or (0.0, 0.0)
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
    covered_count = 0
    for _ in range(1500):
        values = sorted(NOISES[noise](source.gauss(0, 1)) for _ in range(n))
        low, high = intervals.median_interval(values) or (0.0, 0.0)
        covered_count += low <= 0.0 <= high
    assert 0.925 <= covered_count / 1500 <= 0.985


@pytest.mark.parametrize("n", [12, 20, 40])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5])
def test_the_interval_of_values_that_depend_on_the_ones_before_covers_as_often_as_it_says(
    n: int, correlation: float
) -> None:
    source = random.Random(n)
    covered_count = 0
    for _ in range(1000):
        value, values = source.gauss(0, 1), []
        for _ in range(n):
            value = correlation * value + math.sqrt(1 - correlation**2) * source.gauss(0, 1)
            values.append(value)
        summary = intervals.summarize(values)
        covered_count += (summary.low or 0.0) <= 0.0 <= (summary.high or 0.0)
    assert 0.92 <= covered_count / 1000 <= 0.985


def test_values_of_one_job_count_as_one() -> None:
    values = [1.0, 1.1, 2.0, 2.1, 3.0, 3.1, 4.0, 4.1, 5.0, 5.1, 6.0, 6.1]
    summary = intervals.summarize(values)
    jobs = intervals.summarize(values, [index // 2 for index in range(12)])
    few_summary = intervals.summarize(values, [index // 3 for index in range(12)])
    assert (jobs.n, jobs.median, jobs.cv) == (summary.n, summary.median, summary.cv)
    assert jobs.low == pytest.approx(1.05 + (1 - 0.642857) * 1.0, abs=0.01)
    assert (few_summary.low, few_summary.high) == (None, None)  # 4 jobs


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
    summary, other = intervals.summarize(values), intervals.summarize(shuffled)
    assert (summary.median, summary.low, summary.high) == (other.median, other.low, other.high)
    assert summary.cv == other.cv


def test_nothing_has_no_summary() -> None:
    assert intervals.summarize([]) == intervals.Summary(0, None, None, None, None)


def test_variation_about_zero_is_not_a_number() -> None:
    assert intervals.summarize([-1.0, 1.0]).cv is None


def test_a_trend_over_time_is_reported_from_chance() -> None:
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
    summary = intervals.summarize(values)
    assert (summary.n, summary.outliers) == (7, (4,))
    assert summary.low == pytest.approx(80.6)
    assert intervals.outliers([1.0, 1.0, 9.0]) == frozenset()
    assert intervals.outliers([1.0] * 5 + [2.0]) == frozenset()  # no spread to measure by


def test_the_farthest_value_has_the_p_value_of_grubbs_test() -> None:
    assert intervals.farthest_value([100.0, 101.0, 99.0, 100.5, 99.5, 50.0]) == (50.0, pytest.approx(3e-6, rel=0.9))
    _, steady = intervals.farthest_value([100.0, 101.0, 99.0, 100.5, 99.5, 102.0]) or (0.0, 0.0)
    assert steady > 0.2
    assert intervals.farthest_value([100.0, 101.0, 99.0]) is None
    assert intervals.farthest_value([100.0, 100.0, 100.0, 100.0, 101.0]) is None
    assert intervals.farthest_value([-1.0, 2.0, 3.0, 4.0, 5.0]) is None


# --- one group or two


def gaussian_values(number: int, centre: float, seed: str = "s") -> list[float]:
    chance = random.Random(f"{seed}/{number}/{centre}")
    return [chance.gauss(centre, 0.05) for _ in range(number)]


def test_two_groups_are_found_with_the_share_of_the_lower_one_and_how_far_they_are_apart() -> None:
    groups = two_groups([*gaussian_values(30, 0.0), *gaussian_values(70, 0.4)])
    assert groups is not None
    assert groups.share == 0.3
    assert groups.distance == pytest.approx(0.4, abs=0.03)


@pytest.mark.parametrize(("shape", "groups_limit"), [("normal", 2), ("skewed", 2), ("heavy tails", 2), ("flat", 20)])
def test_values_about_one_value_are_seldom_two_groups_whatever_their_distribution(
    shape: str, groups_limit: int
) -> None:
    chance = random.Random(shape)
    draw: Callable[[], float] = {
        "normal": lambda: chance.gauss(0, 1),
        "skewed": lambda: chance.expovariate(1),
        "heavy tails": lambda: math.tan(chance.uniform(-1.5, 1.5)),
        "flat": chance.random,
    }[shape]
    assert sum(two_groups([draw() for _ in range(60)]) is not None for _ in range(200)) <= groups_limit


def test_one_value_far_off_is_no_group() -> None:
    assert two_groups([*gaussian_values(60, 0.0), -0.7]) is None


def test_values_that_are_all_the_same_are_one_group() -> None:
    assert two_groups([2.5] * 40) is None


def test_a_few_values_show_no_groups() -> None:
    assert two_groups([*gaussian_values(5, 0.0), *gaussian_values(FEWEST_GROUPED - 6, 0.4)]) is None


@given(
    st.lists(st.floats(-100, 100), min_size=FEWEST_GROUPED, max_size=40),
    st.integers(-1000, 1000),
    st.sampled_from([0.5, 8]),
)
def test_neither_their_order_nor_their_unit_matters(values: list[float], shift: int, scale: float) -> None:
    rounded = [round(value, 3) for value in values]
    groups = two_groups(rounded)
    moved = two_groups([round(scale * value + shift, 6) for value in reversed(rounded)])
    assert (groups is None) == (moved is None)
    if groups and moved:
        assert moved.share == groups.share
        assert moved.distance == pytest.approx(scale * groups.distance)


# --- sessions

HOUR_S = 3600.0


@pytest.mark.parametrize(
    ("hours", "numbers"),
    [
        ([0, 1, 2], [1, 1, 1]),
        ([2, 0, 30, 31], [1, 1, 2, 2]),  # a night lies between
        ([0, 8, 16, 24, 32, 40, 48], [1, 1, 1, 2, 2, 2, 3]),  # without a break, but a day long at most
        ([0, 8.1, 16.2], [1, 2, 3]),
        ([], []),
    ],
)
def test_a_session_ends_with_a_break_or_after_a_day(hours: list[float], numbers: list[int]) -> None:
    assert intervals.session_numbers([HOUR_S * hour for hour in hours]) == numbers


@pytest.mark.parametrize(
    ("order", "turns"),
    [
        ("ABABABABABAB", True),
        ("ABBAABBAABBA", True),
        ("AAAAAABBBBBB", False),
        ("AAABBBAAABBB", False),
        ("BAAAAAAABBBBBBBA", False),
        ("AABABABABABB", False),  # as many turns, but B is later
        ("AB", False),
    ],
)
def test_runs_take_turns_as_often_as_in_a_random_order(order: str, turns: bool) -> None:
    first, second = ([place for place, letter in enumerate(order) if letter == name] for name in "AB")
    assert intervals.is_alternating(first, second) is turns

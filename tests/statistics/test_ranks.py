"""Two samples by their ranks, against enumeration of every order and another library's test."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import pytest
import scipy  # its stats are loaded where a test uses them
from hypothesis import example, given
from hypothesis import strategies as st

from campaign.statistics import ranks

values = st.lists(st.floats(-5, 5), min_size=1, max_size=8)
distinct = st.lists(st.integers(-(10**6), 10**6).map(float), min_size=2, max_size=16, unique=True)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 4), (3, 3), (4, 2), (5, 4)])
def test_the_chance_of_a_count_is_that_of_all_orders(first: int, second: int) -> None:
    places = range(first + second)
    counts = [
        sum(
            place > other_place for place in chosen_combination for other_place in set(places) - set(chosen_combination)
        )
        for chosen_combination in itertools.combinations(places, first)
    ]
    for largest_count in range(first * second + 1):
        assert ranks.mann_whitney_tail(first, second, largest_count) == pytest.approx(
            sum(count <= largest_count for count in counts) / len(counts)
        )


def test_many_values_go_over_into_the_normal_approximation_without_a_step() -> None:
    exact, approximate = ranks.mann_whitney_tail(50, 50, 1000), ranks.mann_whitney_tail(51, 50, 1025)
    assert exact == pytest.approx(0.0427, abs=0.0005)
    assert approximate == pytest.approx(0.0453, abs=0.0005)
    assert exact == pytest.approx(
        float(scipy.stats.mannwhitneyu(*_with_count(50, 50, 1000), alternative="less", method="exact").pvalue)
    )


def _with_count(first: int, second: int, count: int) -> tuple[list[float], list[float]]:
    """Two samples of which the first has the higher value in so many pairs."""
    second_values = [float(place) for place in range(second)]
    full_rows, remainder = divmod(count, second)
    first_values = [second + 1.0 + place for place in range(full_rows)]
    first_values += [remainder - 0.5] if remainder else []
    return [*first_values, *(-1.0 - place for place in range(first - len(first_values)))], second_values


@given(distinct, st.data())
def test_sides_that_vary_alike_have_the_p_value_of_mann_and_whitney(sample: list[float], data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(sample) - 1))
    first, second = sample[:cut], sample[cut:]
    differences = ranks.differences(first, second)
    equal_spread = replace(differences, spread=1.0)
    assert equal_spread.p == pytest.approx(float(scipy.stats.mannwhitneyu(first, second, method="exact").pvalue))
    assert differences.spread <= 1 or differences.p >= equal_spread.p  # wider at once
    assert differences.spread >= 1 or differences.p <= equal_spread.p  # narrower at most


def test_the_spread_is_that_of_brunner_and_munzel_where_the_sides_are() -> None:
    first, second = [1.0, 5.0, 2.0, 9.0, 3.5, 7.0], [2.5, 4.0, 4.5, 3.0, 3.7, 4.2, 3.9, 5.5]
    differences = ranks.differences(first, second)
    moved_second = [value - differences.middle for value in second]
    rank_numbers = scipy.stats.rankdata([*first, *moved_second])
    places = rank_numbers[:6] - scipy.stats.rankdata(first), rank_numbers[6:] - scipy.stats.rankdata(moved_second)
    variance = sum(len(place) * place.var(ddof=1) for place in places)
    assert differences.spread * (1 + 0.3 * (1 / 6 + 1 / 8)) == pytest.approx(math.sqrt(variance / (6 * 8 * 15 / 12)))


@pytest.mark.parametrize(("values", "spread"), [(6, True), (5, False)])
def test_few_values_are_taken_to_vary_alike(values: int, spread: bool) -> None:
    first = [0.1 * place for place in range(values)]
    second = [100.0 * place for place in range(values)]
    assert (ranks.differences(first, second).spread > 1.1) == spread
    together = ranks.differences(first, second, (4.0, 4.0))
    assert together.spread == pytest.approx(2 * ranks.differences(first, second).spread)


small_samples = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=8)


@given(small_samples, small_samples)
def test_the_other_order_turns_the_difference_round(first: list[float], second: list[float]) -> None:
    forward, backward = ranks.differences(first, second), ranks.differences(second, first)
    assert forward.middle == -backward.middle
    assert forward.p == pytest.approx(backward.p)
    bounds, backward_bounds = (differences.bounds(0.025) for differences in (forward, backward))
    assert bounds == (None if backward_bounds is None else (-backward_bounds[1], -backward_bounds[0]))


@given(values)
def test_a_sample_does_not_differ_from_itself(sample: list[float]) -> None:
    differences = ranks.differences(sample, sample)
    assert (differences.middle, differences.p) == (0, 1)
    bounds = differences.bounds(0.025)
    assert bounds is None or bounds[0] <= 0 <= bounds[1]


factors = st.floats(1.0, 8.0)


@given(values, values, factors, factors, st.floats(0.001, 0.4))
@example([0.0, 0.0, 0.0, 0.0, 1.0, 1.0], [1.0, 2.0, 2.0], 1.0, 1.0, 0.05)  # ties at the limit
@example([-1.0, -1.0, -1.0, -1.0], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, -1.0], 1.0, 1.0, 0.05)  # one does not vary
@example([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [9.0, 9.5, 8.0, 8.5, 7.0, 7.5], 6.0, 6.0, 0.05)  # of one job on each side
def test_a_difference_is_seen_exactly_where_the_interval_leaves_out_none(
    first: list[float], second: list[float], first_factor: float, second_factor: float, level: float
) -> None:
    differences = ranks.differences(first, second, (first_factor, second_factor))
    bounds = differences.bounds(level / 2)
    assert (bounds is not None and not bounds[0] <= 0 <= bounds[1]) == (differences.p <= level)


@pytest.mark.parametrize(("first", "second", "wider"), [(4, 4, 1), (6, 6, 1), (10, 10, 1), (6, 20, 0.2), (20, 6, 0.2)])
def test_the_interval_holds_the_true_difference_as_often_as_it_says(first: int, second: int, wider: float) -> None:
    random_ = random.Random(first)
    covered_count = 0
    for _ in range(1000):
        differences = ranks.differences(
            [random_.gauss(0, 1) for _ in range(first)], [2 + random_.gauss(0, wider) for _ in range(second)]
        )
        low, high = differences.bounds(0.025) or (math.inf, -math.inf)
        covered_count += low <= 2 <= high
    assert 0.925 <= covered_count / 1000 <= 0.985


def test_too_few_values_have_no_interval() -> None:
    assert ranks.differences([1, 2, 3], [4, 5, 6]).bounds(0.025) is None
    assert ranks.differences([1, 2, 3], [4, 5, 6]).bounds(0.05) == (1, 5)
    assert ranks.differences([], [1.0]).bounds(0.025) is None
    assert (ranks.fewest_values(0.025), ranks.fewest_values(0.05), ranks.fewest_values(0.025, 36)) == (4, 3, 7)


def test_ties_are_held_for_no_difference() -> None:
    assert ranks.differences([1, 1, 1, 1], [1, 1, 1, 1]).p == 1
    assert ranks.differences([1, 1, 1, 2], [2, 2, 2, 2]).p > 2 * ranks.mann_whitney_tail(4, 4, 1)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_many_p_values_are_adjusted_as_benjamini_and_hochberg_do(p_values: list[float]) -> None:
    expected = [float(value) for value in scipy.stats.false_discovery_control(p_values)]
    assert ranks.adjusted_p_values(p_values) == pytest.approx(expected)


def test_no_p_values_are_no_adjusted_ones() -> None:
    assert ranks.adjusted_p_values([]) == []

"""Whether values come in two groups."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.statistics.intervals import FEWEST_GROUPED, two_groups


def about(number: int, centre: float, seed: str = "s") -> list[float]:
    chance = random.Random(f"{seed}/{number}/{centre}")
    return [chance.gauss(centre, 0.05) for _ in range(number)]


def test_two_groups_are_found_with_the_share_of_the_lower_one_and_how_far_they_are_apart() -> None:
    groups = two_groups([*about(30, 0.0), *about(70, 0.4)])
    assert groups is not None
    assert groups.share == 0.3
    assert groups.apart == pytest.approx(0.4, abs=0.03)


@pytest.mark.parametrize(("shape", "most"), [("normal", 2), ("skewed", 2), ("heavy tails", 2), ("flat", 20)])
def test_values_about_one_value_are_seldom_two_groups_whatever_their_distribution(shape: str, most: int) -> None:
    chance = random.Random(shape)
    draw: Callable[[], float] = {
        "normal": lambda: chance.gauss(0, 1),
        "skewed": lambda: chance.expovariate(1),
        "heavy tails": lambda: math.tan(chance.uniform(-1.5, 1.5)),
        "flat": chance.random,
    }[shape]
    assert sum(two_groups([draw() for _ in range(60)]) is not None for _ in range(200)) <= most


def test_one_value_far_off_is_no_group() -> None:
    assert two_groups([*about(60, 0.0), -0.7]) is None


def test_values_that_are_all_the_same_are_one_group() -> None:
    assert two_groups([2.5] * 40) is None


def test_a_few_values_show_no_groups() -> None:
    assert two_groups([*about(5, 0.0), *about(FEWEST_GROUPED - 6, 0.4)]) is None


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
        assert moved.apart == pytest.approx(scale * groups.apart)

"""The Universal Scalability Law, fitted to what is made from it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.statistics import scaling
from campaign.statistics.scaling import Law

COUNTS = (1, 2, 4, 8, 16, 32, 64)


@settings(max_examples=25)
@given(st.floats(1.0, 1e6), st.floats(0.0, 0.5), st.floats(0.0, 1e-3))
def test_a_law_is_found_again_in_its_own_points(rate: float, contention: float, coherence: float) -> None:
    law = Law(rate, contention, coherence)
    fit = scaling.fit([(count, law.at(count)) for count in COUNTS])
    for count in (*COUNTS, 128):
        assert fit.law.at(count) == pytest.approx(law.at(count), rel=0.01)
    assert fit.largest_error < 0.01


def test_the_interval_holds_the_truth_beyond_the_points() -> None:
    law = Law(1000.0, 0.05, 1e-4)
    chance = random.Random(1)
    points = [(count, law.at(count) * math.exp(chance.gauss(0, 0.05))) for count in COUNTS for _ in range(6)]
    value, low, high = scaling.fit(points).at(128)
    assert low < law.at(128) < high
    assert low <= value <= high
    assert high / low < 1.5


def test_more_noise_makes_a_wider_interval() -> None:
    law = Law(1000.0, 0.05, 1e-4)

    def width(noise: float) -> float:
        chance = random.Random(1)
        points = [(count, law.at(count) * math.exp(chance.gauss(0, noise))) for count in COUNTS for _ in range(6)]
        _, low, high = scaling.fit(points).at(128)
        return high / low

    assert width(0.02) < width(0.2)


def test_one_run_of_each_count_has_an_interval_too() -> None:
    law = Law(1000.0, 0.05, 1e-4)
    chance = random.Random(1)
    _, low, high = scaling.fit([(count, law.at(count) * math.exp(chance.gauss(0, 0.1))) for count in COUNTS]).at(128)
    assert high / low > 1.1


def test_the_interval_of_few_runs_holds_the_truth_about_as_often_as_it_says() -> None:
    law = Law(1000.0, 0.05, 1e-4)
    covered_count = 0
    for seed in range(40):
        chance = random.Random(seed)
        points = [(count, law.at(count) * math.exp(chance.gauss(0, 0.05))) for count in COUNTS for _ in range(3)]
        _, low, high = scaling.fit(points).at(128)
        covered_count += low < law.at(128) < high
    assert covered_count >= 36


def noisy_points(curve: Callable[[int], float], noise: float, seed: int) -> list[tuple[int, float]]:
    chance = random.Random(seed)
    return [(count, curve(count) * math.exp(chance.gauss(0, noise))) for count in COUNTS for _ in range(6)]


def test_a_rise_that_may_end_in_a_plateau_has_no_interval() -> None:
    """Up to the last count nothing bends: the law says twice as much at twice as many, a plateau says the same."""
    for noise in (0.02, 0.1):
        fits = [scaling.fit(noisy_points(lambda p: 100.0 * p, noise, seed)) for seed in range(6)]
        assert all(abs(fit.over_plateau) < scaling.LIKELIER and not fit.holds for fit in fits)
    law = Law(1000.0, 0.05, 1e-4)
    assert scaling.fit(noisy_points(law.at, 0.1, 1)).over_plateau > scaling.LIKELIER


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
def test_where_the_law_does_not_hold_there_is_mostly_no_interval(noise: float) -> None:
    """A plateau, a cliff, a step."""
    for curve in (
        lambda p: 100.0 * min(p, 16),
        lambda p: 100.0 * p * (1.0 if p <= 32 else 0.3),
        lambda p: 100.0 * p if p < 8 else 400.0 + p,
    ):
        assert sum(scaling.fit(noisy_points(curve, noise, seed)).holds for seed in range(8)) <= 1


def test_where_the_law_holds_there_is_mostly_an_interval() -> None:
    law = Law(1000.0, 0.05, 1e-4)
    holds = [scaling.fit(noisy_points(law.at, 0.05, seed)).holds for seed in range(12)]
    assert sum(holds) >= 8


def test_without_repeated_runs_nothing_shows_that_the_law_holds() -> None:
    law = Law(1000.0, 0.05, 1e-4)
    fit = scaling.fit([(count, law.at(count)) for count in COUNTS])
    assert fit.misfit is None and not fit.holds


def test_the_peak_of_a_law() -> None:
    assert Law(1.0, 0.0, 1e-4).peak == pytest.approx(100.0)
    assert Law(1.0, 0.1, 0.0).peak == math.inf


def test_too_few_counts_and_rates_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="found 3 process counts; the model needs 4 or more"):
        scaling.fit([(1, 1.0), (2, 2.0), (4, 3.0)])
    with pytest.raises(ValueError, match=r"found rate 0.0 with 2 processes; the model needs rates above zero"):
        scaling.fit([(1, 1.0), (2, 0.0), (4, 3.0), (8, 4.0)])

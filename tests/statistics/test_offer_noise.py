"""The noise of an offer: of cells, between sessions, and common to all cells, from repetitions whose noise is known."""

from __future__ import annotations

import math

import numpy
import pytest

from campaign.statistics import offer_noise
from campaign.statistics.offer_noise import DAY, LEAST, Repetitions, estimate_noise


def cells(
    noise: float,
    repetitions: int,
    sessions: int = 1,
    number: int = 36,
    day: float = 0.0,
    common: float = 0.0,
    kind: str = "",
    seed: int = 1,
) -> list[Repetitions]:
    """`common`: share of the noise that all cells have in common."""
    generator = numpy.random.default_rng(seed)
    days = generator.normal(0, day, sessions)
    in_common = generator.normal(0, noise * math.sqrt(common), (sessions, repetitions))
    logs = (
        days[:, None] + in_common + generator.normal(0, noise * math.sqrt(1 - common), (number, sessions, repetitions))
    )
    numbers = tuple(int(place) for place in numpy.repeat(range(sessions), repetitions))
    return [Repetitions(tuple(of_cell.ravel().tolist()), numbers, "target", kind) for of_cell in logs]


def test_the_noise_is_that_of_the_kind_where_its_repetitions_show_it() -> None:
    model = estimate_noise([*cells(0.03, 5, kind="create"), *cells(0.06, 5, kind="stat")])
    assert model.noises[0].sigma == pytest.approx(0.03, rel=0.2)
    assert model.noises[-1].sigma == pytest.approx(0.06, rel=0.2)
    assert {(noise.repetitions, noise.sessions) for noise in model.noises} == {(5, 1)}


def test_few_repetitions_are_pooled_and_without_any_a_noise_is_assumed() -> None:
    assumed = estimate_noise(cells(0.02, 1))
    assert {noise.sigma for noise in assumed.noises} == {math.sqrt(math.log1p(0.05**2))}
    assert not assumed.is_known and assumed.shares == offer_noise.ASSUMED_SHARES
    pooled = estimate_noise([Repetitions((0.0, 0.1), (0, 0), kind=kind) for kind in range(9)])
    assert pooled.noises[0].sigma == pytest.approx(math.sqrt(0.005 * (1 + math.sqrt(2 / 9))))


def test_an_estimate_of_few_repetitions_is_raised_since_designs_select_the_lowest_ones() -> None:
    for repetitions in (2, 5):
        estimates = [
            estimate_noise(cells(0.05, repetitions, number=12, seed=seed)).noises[0].sigma for seed in range(200)
        ]
        assert 0.65 < sum(estimate > 0.05 for estimate in estimates) / len(estimates) < 0.97


def test_repetitions_without_any_noise_do_not_promise_a_system_that_never_varies() -> None:
    assert {noise.sigma for noise in estimate_noise(cells(0.0, 3)).noises} == {LEAST}


def test_days_are_estimated_from_several_sessions_and_otherwise_assumed() -> None:
    assert estimate_noise(cells(0.02, 5)).day == DAY
    steady, changing = (estimate_noise(cells(0.02, 2, 8, day=day)) for day in (0.0, 0.08))
    assert steady.is_day_known and steady.day < 0.02
    assert changing.day == pytest.approx(0.08, rel=0.4)
    assert changing.noises[0].sigma == pytest.approx(0.02, rel=0.2)


def test_cells_of_different_sessions_have_their_own_days() -> None:
    first, second = Repetitions((0.0, 0.1), (0, 0)), Repetitions((0.0, 0.1), (1, 1))
    assert estimate_noise([first, first]).in_same_sessions
    model = estimate_noise([first, second])
    assert not model.in_same_sessions and not model.is_day_known


@pytest.mark.parametrize(("common", "low", "high"), [(0.0, 0.0, 0.05), (0.5, 0.3, 0.7)])
def test_noise_that_all_cells_have_in_common_is_estimated(common: float, low: float, high: float) -> None:
    (share,) = estimate_noise(cells(0.05, 40, common=common)).shares
    assert low <= share <= high

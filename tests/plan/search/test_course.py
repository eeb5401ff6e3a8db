"""What a search says of a system that was not the same all the time."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from campaign.plan.search.records import DRIFT, Outcome, SearchRequest, Settings
from tests.support.searched import NODE, Machine, decide, knee_at, seed_of


class Disturbed(Machine):
    """Its rates are multiplied by what a function makes of a number by chance."""

    def __init__(self, slows: Callable[[float], float]):
        super().__init__(knee_at(16), 0.02)
        self.slows = slows

    def __getitem__(self, request: SearchRequest) -> Outcome:
        outcome = super().__getitem__(request)
        assert outcome.rate
        return Outcome(outcome.rate * self.slows(random.Random(seed_of(request)).random()), outcome.node_s)


def test_a_change_in_time_is_reported_with_its_size_and_what_it_means_for_the_minimum() -> None:
    decision = decide(NODE, Machine(knee_at(16), 0.02, drift=-0.003), Settings("s"))
    assert decision.drift is not None and decision.drift.p_value < DRIFT
    assert -0.25 < decision.drift.change < -0.1
    message = next(remark for remark in decision.remarks if remark.startswith("rates changed by -"))
    assert "another count may be the minimum" in message


def test_two_groups_of_rates_are_reported_with_their_size_and_what_they_mean_for_the_minimum() -> None:
    decision = decide(NODE, Disturbed(lambda chance: 0.7 if chance < 0.25 else 1.0), Settings("a"))
    slow = decision.slow_runs
    assert slow is not None
    assert slow.share == pytest.approx(0.25, abs=0.05)
    assert slow.slower == pytest.approx(0.3, abs=0.04)
    message = next(remark for remark in decision.remarks if remark.startswith("rates came in two groups: "))
    assert "another count may be the minimum in it" in message


def test_steps_of_a_coarse_timer_are_not_two_groups_of_rates() -> None:
    class Coarse(Disturbed):
        def __getitem__(self, request: SearchRequest) -> Outcome:
            rate = super().__getitem__(request).rate
            assert rate
            return Outcome(1000 / round(1000 / rate / 20) / 20, 1.0)

    assert decide(NODE, Coarse(lambda chance: 0.7 if chance < 0.25 else 1.0), Settings("a")).slow_runs is None


def test_a_steady_system_has_neither_remark() -> None:
    decisions = [decide(NODE, Machine(knee_at(16), 0.05, str(seed)), Settings(str(seed))) for seed in range(6)]
    assert all(decision.drift is not None and decision.slow_runs is None for decision in decisions)
    assert not [remark for decision in decisions for remark in decision.remarks if remark.startswith("rates")]


def test_the_typical_rate_is_not_moved_by_a_disturbed_run_and_has_an_interval_from_six_runs_on() -> None:
    decision = decide(NODE, Disturbed(lambda chance: 0.4 if chance < 0.05 else 1.0), Settings("s"))
    for candidate in decision.candidates:
        true = knee_at(16)(candidate.geometry)
        if candidate.fresh_runs >= 6:
            assert (
                candidate.rate is not None
                and candidate.low is not None
                and candidate.high is not None
                and true is not None
            )
            assert candidate.low <= candidate.rate <= candidate.high
            assert candidate.rate == pytest.approx(true, rel=0.05)
        elif candidate.runs < 6:
            assert (candidate.low, candidate.high) == (None, None)

"""Procedure 1 of a search, which campaigns keep that began with it: what it asks for, and what it decides."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core.model import Geometry
from campaign.plan.search import explore, nouns, procedure
from campaign.plan.search.nouns import CONFIRM, Decision, Next, Outcome, PlannedBlock, SearchSpace, Settings
from tests.support import searched
from tests.support.searched import NODE, PEAK, Machine, driven, knee_at, rising, spaces

First = partial(Settings, procedure=1)
DEFAULTS = First("seed")


def decided(space: SearchSpace, machine: Machine, wanted: Settings = DEFAULTS) -> Decision:
    return searched.decided(space, machine, wanted)


# --- what it asks for


@settings(max_examples=20)
@given(spaces, st.sampled_from([0.0, 0.02, 0.1, 0.5]), st.integers(0, 10**6), st.integers(1, 60))
def test_a_search_ends_and_asks_for_nothing_twice_and_nothing_outside_of_its_space(
    space: SearchSpace, noise: float, seed: int, knee: int
) -> None:
    machine = Machine(knee_at(knee, -0.3), noise, str(seed))
    decision, asked = driven(space, machine, First(str(seed), least=3, most=8))
    assert len(asked) == len(set(asked))
    assert all(request.geometry in space for request in asked)
    assert set(asked) == set(decision.taken)
    assert decision.geometry in {request.geometry for request in asked}
    assert decision.peak is not None
    assert decision.geometry is not None
    assert decision.geometry.processes <= decision.peak.processes


@settings(max_examples=12)
@given(spaces, st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_a_search_ends_where_executions_fail(space: SearchSpace, seed: int, share: float) -> None:
    def curve(one: Geometry) -> float | None:
        return None if random.Random(f"{seed}{one}").random() < share else float(one.processes)

    decision, _ = driven(space, Machine(curve), First("seed", least=3, most=6))
    failed = {request.geometry for request in decision.taken if curve(request.geometry) is None}
    assert decision.geometry not in failed
    assert (decision.geometry is None) == all(curve(request.geometry) is None for request in decision.taken)
    assert all(f"{one.processes} process" in " ".join(decision.remarks) for one in failed if decision.geometry)


def test_the_grid_is_log_spaced_over_nodes_and_processes_per_node_with_both_ends() -> None:
    assert [str(one) for one in explore.grid(SearchSpace(1, 1, 24))] == ["1x1", "1x2", "1x4", "1x8", "1x16", "1x24"]
    assert [str(one) for one in explore.grid(SearchSpace(2, 6, 3))] == [
        *("2x1", "2x2", "2x3", "4x1", "4x2", "4x3", "6x1", "6x2", "6x3"),
    ]


def test_where_processes_have_to_divide_a_total_no_other_count_is_in_the_space() -> None:
    assert [str(one) for one in explore.grid(SearchSpace(1, 1, 24, 48))] == ["1x1", "1x2", "1x4", "1x8", "1x16", "1x24"]
    assert [str(one) for one in explore.grid(SearchSpace(1, 1, 24, 64))] == ["1x1", "1x2", "1x4", "1x8", "1x16"]


def test_a_space_without_any_count_is_refused() -> None:
    with pytest.raises(ValueError, match="the limits of the search allow no process count"):
        procedure.step(SearchSpace(3, 3, 2, 16), First("seed"), {}.get)


def test_the_first_request_is_one_block_of_the_grid_in_an_order_of_chance_that_the_seed_decides() -> None:
    first, again, other = (procedure.step(NODE, First(seed), {}.get) for seed in ("a", "a", "b"))
    assert isinstance(first, Next) and isinstance(other, Next)
    assert first == again
    assert {request.geometry for request in first.requests} == set(explore.grid(NODE))
    assert {(request.phase, request.block) for request in first.requests} == {("grid", 1)}
    assert set(first.requests) == set(other.requests)
    assert first.requests != other.requests


def test_what_is_far_below_the_top_is_measured_once() -> None:
    machine = Machine(rising, 0.1)
    decision = decided(NODE, machine)
    counts = {one.geometry.processes: one.runs for one in decision.candidates}
    assert counts[1] == counts[2] == counts[4] == counts[8] == 1
    assert counts[32] > 6


def test_runs_that_confirm_are_others_than_those_that_selected() -> None:
    decision = decided(PEAK, Machine(knee_at(32), 0.05))
    fresh = [request for request in decision.taken if request.phase == CONFIRM]
    chosen = next(one for one in decision.candidates if one.geometry == decision.geometry)
    assert chosen.fresh_runs == sum(request.geometry == decision.geometry for request in fresh) >= 6
    assert chosen.runs > chosen.fresh_runs


# --- what it decides


def test_the_fewest_processes_that_reach_the_peak_are_chosen_and_the_reason_says_why() -> None:
    decision = decided(NODE, Machine(knee_at(11), 0.01))
    assert decision.geometry is not None and 11 <= decision.geometry.processes <= 12
    assert decision.confirmed and decision.complete
    assert decision.reason.startswith(f"{decision.geometry.processes} processes on 1 node: ")
    assert decision.peak is not None
    why = "best rate of the shortlist, confirmed in" if decision.geometry == decision.peak else "within 5% of the peak"
    assert why in decision.reason


def test_where_the_rate_only_rises_the_last_is_chosen_and_that_it_may_rise_further_is_said() -> None:
    decision = decided(NODE, Machine(rising, 0.02))
    assert decision.geometry == decision.peak == Geometry(1, 32)
    assert decision.remarks == ("32 processes on 1 node is the largest count measured; a larger one may be faster",)


def test_where_the_rate_only_falls_the_first_is_chosen() -> None:
    decision = decided(NODE, Machine(lambda one: 1 / one.processes, 0.02))
    assert decision.geometry == Geometry(1, 1)
    assert decision.remarks == ()  # there is nothing below it


def test_of_a_plateau_the_fewest_are_chosen() -> None:
    decision = decided(NODE, Machine(lambda one: 100.0, 0.02))
    assert decision.geometry == Geometry(1, 1)


def test_the_walk_stops_at_the_first_count_that_is_not_shown_to_be_within_the_margin() -> None:
    """Two humps: the lower one is as high as it must be, but what lies between is not, so it is not reached."""
    rates = {1: 60.0, 2: 98.0, 4: 75.0, 8: 99.0, 16: 100.0}
    decision = decided(
        SearchSpace(1, 1, 16, 16), Machine(lambda one: rates[one.processes], 0.005), First("s", margin=0.3)
    )
    assert decision.geometry == Geometry(1, 2)
    strict = decided(SearchSpace(1, 1, 16, 16), Machine(lambda one: rates[one.processes], 0.005))
    assert strict.geometry == Geometry(1, 2)  # 4 processes were left out as surely below before the walk
    assert [one.geometry.processes for one in strict.candidates if one.within] == [2, 8, 16]


def test_a_wider_margin_is_reached_by_fewer_processes() -> None:
    usl = knee_at(16, 0.05)
    wide, narrow = (decided(NODE, Machine(usl, 0.02), First("s", margin=margin)) for margin in (0.2, 0.03))
    assert wide.geometry is not None and narrow.geometry is not None
    assert wide.geometry.processes < narrow.geometry.processes


def test_noise_makes_it_measure_more_up_to_its_cap() -> None:
    quiet, loud = (decided(NODE, Machine(knee_at(16), noise), First("s", most=12)) for noise in (0.005, 0.3))
    assert len(quiet.taken) < len(loud.taken)
    assert max(one.fresh_runs for one in loud.candidates) <= 12 + 6  # measured again where the peak did not reproduce


def test_a_peak_that_does_not_reproduce_is_measured_again_and_said() -> None:
    class Faded(Machine):
        def __getitem__(self, request: PlannedBlock) -> Outcome:
            point = super().__getitem__(request)
            fresh = request.phase == CONFIRM
            return replace(point, rate=point.rate * 0.5) if fresh and point.rate else point

    decision = decided(NODE, Faded(knee_at(16), 0.01))
    again = decided(NODE, Machine(knee_at(16), 0.01))
    assert (
        "the best count of the tuning phase was not reproduced in confirmation runs and was measured again"
        in decision.remarks
    )
    assert max(one.fresh_runs for one in decision.candidates) > max(one.fresh_runs for one in again.candidates)
    assert not any("reproduce" in remark for remark in again.remarks)


def test_a_drift_of_the_system_is_seen_and_does_not_move_the_choice() -> None:
    decision = decided(NODE, Machine(knee_at(16), 0.01, drift=-0.01), First("s", least=10))
    assert decision.drift is not None and decision.drift.reported and decision.drift.change < -0.3
    assert decision.geometry is not None and 15 <= decision.geometry.processes <= 19


def test_an_outlier_is_named_and_stays_in_the_numbers() -> None:
    class Once(Machine):
        def __getitem__(self, request: PlannedBlock) -> Outcome:
            point = super().__getitem__(request)
            hit = (request.phase, request.block, request.processes) == (CONFIRM, 2, 32)
            return replace(point, rate=point.rate * 0.3) if hit and point.rate else point

    decision = decided(NODE, Once(rising, 0.01))
    assert PlannedBlock(CONFIRM, 2, 1, 32) in decision.outliers
    assert PlannedBlock(CONFIRM, 2, 1, 32) in decision.taken
    assert "confirm-1x32.2" in nouns.as_json(decision)["outliers"]


def test_what_was_not_shown_is_said_in_a_whole_sentence_where_the_highest_rate_is_the_answer() -> None:
    decision = decided(NODE, Machine(lambda one: float(one.processes), 0.1, "0"))
    assert decision.geometry == decision.peak == Geometry(1, 32)
    assert "best rate of the shortlist, confirmed in 30 runs; " in decision.reason
    assert re.search(r"; \d+ processes on 1 node: not shown to be within 5% \(", decision.reason)


def test_a_count_that_stood_alone_before_the_fresh_runs_is_not_said_to_be_the_highest_of_several() -> None:
    decision = decided(NODE, Machine(lambda one: float(one.processes), 0.01))
    told = "32 processes on 1 node: best rate of the tuning phase, no other count came close; confirmed in 6 runs."
    assert decision.reason == told


# --- the budget


@settings(max_examples=15)
@given(st.floats(0, 3000), st.sampled_from([0.0, 0.05, 0.2]), st.integers(0, 100))
def test_a_budget_is_kept_and_the_best_answer_so_far_is_marked(budget: float, noise: float, seed: int) -> None:
    wanted = First(str(seed), budget_node_s=budget)
    decision, _ = driven(PEAK, Machine(knee_at(24), noise, str(seed)), wanted)
    first = sum(one.nodes for one in explore.grid(PEAK))  # costs nobody knows before the first block
    assert decision.node_s <= max(budget, first)
    assert decision.complete or "budget" in decision.reason
    assert decision.geometry is not None
    if not decision.complete and not decision.confirmed:
        assert decision.reason.endswith("unconfirmed (the budget was used up before confirmation runs).")


def test_a_larger_budget_ends_the_search_by_itself() -> None:
    free = decided(PEAK, Machine(knee_at(24), 0.05))
    capped = decided(PEAK, Machine(knee_at(24), 0.05), First("seed", budget_node_s=10 * free.node_s))
    assert capped == free


def test_a_budget_that_ends_in_the_middle_of_the_fresh_runs_leaves_a_confirmed_answer_that_says_so() -> None:
    free = decided(PEAK, Machine(knee_at(24), 0.2))
    decision = decided(PEAK, Machine(knee_at(24), 0.2), First("seed", budget_node_s=0.8 * free.node_s))
    assert decision.confirmed and not decision.complete
    assert decision.reason.endswith("; stopped by the budget: best answer so far.")


def test_nothing_that_ended_with_a_rate_gives_no_count() -> None:
    decision = decided(NODE, Machine(lambda one: None))
    assert (decision.geometry, decision.peak, decision.confirmed) == (None, None, False)
    assert decision.reason == "No process count found: no run gave a result."

"""The search of new campaigns: what it asks for, what it decides, and what it says is not resolved."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core.runs import Geometry
from campaign.plan.search import inference, procedure, records
from campaign.plan.search.records import CONFIRM, Outcome, SearchRequest, Settings
from campaign.plan.search.space import SearchSpace, grid, size
from tests.support.searched import NODE, PEAK, Machine, decide, drive_search, knee_at, rising_curve, spaces

DEFAULTS = Settings("seed")


# --- what it asks for


@settings(max_examples=12)
@given(spaces, st.sampled_from([0.0, 0.02, 0.1, 0.5]), st.integers(0, 10**6), st.integers(1, 60))
def test_a_search_ends_and_asks_for_nothing_twice_and_nothing_outside_of_its_space(
    space: SearchSpace, noise: float, seed: int, knee: int
) -> None:
    machine = Machine(knee_at(knee, -0.3), noise, str(seed))
    decision, requests = drive_search(space, machine, Settings(str(seed), least=3, most=8))
    assert len(requests) == len(set(requests))
    assert all(request.geometry in space for request in requests)
    assert set(requests) == set(decision.requests)
    assert decision.geometry in {request.geometry for request in requests}
    assert decision.geometry == decision.possible_counts[-1]
    assert [size(possible_count) for possible_count in decision.possible_counts] == sorted(
        size(geometry) for geometry in decision.possible_counts
    )


@settings(max_examples=8)
@given(spaces, st.integers(0, 10**6), st.data())
def test_a_search_goes_on_after_any_interruption_as_if_there_had_been_none(
    space: SearchSpace, seed: int, data: st.DataObject
) -> None:
    expected_settings = Settings(str(seed), least=3, most=6)
    machine = Machine(knee_at(8, -0.2), 0.1, str(seed))
    choice, requests = drive_search(space, machine, expected_settings)
    # Any part of what was measured is what an interruption may leave.
    kept_outcomes = {request: machine[request] for request in requests if data.draw(st.booleans())}
    inference._draw_view.cache_clear()  # another process goes on
    while isinstance(answer := procedure.step(space, expected_settings, kept_outcomes.get), tuple):
        assert set(answer) <= set(requests)
        assert not set(answer) & kept_outcomes.keys()
        for request in answer:
            kept_outcomes[request] = machine[request]
    assert answer == choice


@settings(max_examples=12)
@given(spaces, st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_a_search_ends_where_executions_fail(space: SearchSpace, seed: int, share: float) -> None:
    def curve(geometry: Geometry) -> float | None:
        return None if random.Random(f"{seed}{geometry}").random() < share else float(geometry.processes)

    decision, _ = drive_search(space, Machine(curve), Settings("seed", least=3, most=6))
    failed = {request.geometry for request in decision.requests if curve(request.geometry) is None}
    assert decision.geometry not in failed
    assert (decision.geometry is None) == all(curve(request.geometry) is None for request in decision.requests)


@settings(max_examples=8)
@given(st.floats(0, 3000), st.sampled_from([0.0, 0.05, 0.2]), st.integers(0, 100))
def test_a_budget_is_kept_and_the_best_answer_so_far_is_marked(budget: float, noise: float, seed: int) -> None:
    expected_settings = Settings(str(seed), budget_node_s=budget)
    decision, _ = drive_search(PEAK, Machine(knee_at(24), noise, str(seed)), expected_settings)
    first = sum(geometry.nodes for geometry in grid(PEAK))  # costs nobody knows before the first block
    assert decision.node_s <= max(budget, first)
    assert decision.geometry is not None
    assert decision.complete or "budget" in decision.reason


def test_a_space_without_any_count_is_refused() -> None:
    with pytest.raises(ValueError, match="the limits of the search allow no process count"):
        procedure.step(SearchSpace(3, 3, 2, 16), Settings("seed"), {}.get)


def test_the_first_request_is_one_block_of_the_grid_in_an_order_of_chance_that_the_seed_decides() -> None:
    first, repeated, other = (procedure.step(NODE, Settings(seed), {}.get) for seed in ("a", "a", "b"))
    assert isinstance(first, tuple) and isinstance(other, tuple)
    assert first == repeated
    assert {request.geometry for request in first} == set(grid(NODE))
    assert {(request.phase, request.block) for request in first} == {("grid", 1)}
    assert set(first) == set(other)
    assert first != other


def test_what_is_far_below_the_top_is_measured_once() -> None:
    decision = decide(NODE, Machine(rising_curve, 0.1), DEFAULTS)
    counts = {candidate.geometry.processes: candidate.runs for candidate in decision.candidates}
    assert counts[1] == counts[4] == counts[8] == 1
    assert counts[32] > 6


def test_a_search_takes_no_more_runs_than_it_may() -> None:
    for noise in (0.02, 0.3):
        decision = decide(NODE, Machine(knee_at(16), noise), DEFAULTS)
        assert len(decision.requests) <= procedure.runs_allowed(NODE) + 8  # one block


def test_runs_that_confirm_are_others_than_those_that_selected() -> None:
    decision = decide(PEAK, Machine(knee_at(32), 0.05), DEFAULTS)
    chosen_candidate = next(candidate for candidate in decision.candidates if candidate.geometry == decision.geometry)
    fresh = [request for request in decision.requests if request.phase == CONFIRM]
    assert chosen_candidate.fresh_runs == sum(request.geometry == decision.geometry for request in fresh) >= 6


# --- what it decides


def test_on_a_quiet_machine_the_minimum_is_resolved() -> None:
    decision = decide(NODE, Machine(knee_at(16), 0.003), DEFAULTS)
    assert decision.geometry == Geometry(1, 16)  # 15 reach 93.8%
    assert decision.resolved and decision.is_shown and decision.further == 0
    assert decision.reason.startswith(
        "16 processes on 1 node: smallest measured count shown to be within 5% of the peak: "
    )
    assert decision.reason.endswith(
        "confirmation runs); no measured count below 16 processes on 1 node is (98% confidence); nothing is claimed of "
        f"counts other than the {len(decision.candidates)} that were measured."
    )


def test_no_model_overrules_the_confirmation_runs() -> None:
    """A single count far above all others: its neighbours are not within the margin, whatever a smooth curve says."""
    for spike in (5, 15, 40):
        for noise in (0.003, 0.05, 0.1):
            decision = decide(
                NODE, Machine(lambda geometry, at=spike: 1.25 if geometry.processes == at else 1.0, noise), DEFAULTS
            )
            highest = max(
                candidate.rate for candidate in decision.candidates if candidate.rate and candidate.low is not None
            )
            (chosen_candidate,) = (
                candidate for candidate in decision.candidates if candidate.geometry == decision.geometry
            )
            assert chosen_candidate.high is not None and chosen_candidate.high >= 0.95 * highest
            measured = {candidate.geometry.processes for candidate in decision.candidates}
            assert decision.geometry is not None and (decision.geometry.processes == spike or spike not in measured)


def test_numbers_of_nodes_with_other_factors_than_two_are_measured() -> None:
    """With 3 or 6 servers, counts of nodes that 3 divides are the best."""
    for servers in (3, 5, 7):
        machine = Machine(
            lambda geometry, factor=servers: knee_at(32)(geometry) * (1.2 if geometry.nodes % factor == 0 else 1.0),
            0.0001,
        )
        decision = decide(PEAK, machine, DEFAULTS)
        assert decision.geometry is not None and decision.geometry.nodes % servers == 0


def test_what_cannot_be_told_apart_is_reported_with_the_runs_that_would_tell() -> None:
    """Flat from 16 processes, at 10% noise: no search of this length can name the fewest."""
    space = SearchSpace(1, 1, 64)
    decision = decide(space, Machine(knee_at(16), 0.1), DEFAULTS)
    assert decision.resolved is False
    assert decision.possible_counts[0].processes <= 16 < len(decision.possible_counts) + 16
    assert decision.further > 0
    fewest, counts = decision.possible_counts[0].processes, len(decision.possible_counts)
    assert (
        f"the minimum is not resolved: no measured count below {fewest} processes on 1 node is (98% " in decision.reason
    )
    assert f"and {counts} counts cannot be told apart" in decision.reason
    assert len(decision.requests) <= 0.6 * 3 * 64


def test_a_peak_where_the_processes_fill_groups_of_cores_is_found() -> None:
    even = Machine(lambda geometry: min(geometry.processes, 36) * (1.0 if geometry.processes % 12 == 0 else 0.85), 0.03)
    decision = decide(SearchSpace(1, 1, 48), even, DEFAULTS)
    assert decision.geometry == Geometry(1, 36)


@pytest.mark.parametrize("edge", [41, 45, 52])
def test_a_peak_at_the_edge_of_a_cliff_is_found(edge: int) -> None:
    cliff = Machine(lambda geometry: geometry.processes**0.6 * (1.0 if geometry.processes <= edge else 0.7), 0.03)
    decision = decide(SearchSpace(1, 1, 64), cliff, DEFAULTS)
    assert decision.geometry is not None and 0.918 * edge <= decision.geometry.processes <= edge  # 95% of the peak


def test_what_lies_just_below_the_smallest_answer_is_considered_though_it_has_no_runs() -> None:
    """Flat from 10 processes, which is no count of the grid: 8 and 11 have runs."""
    decision = decide(SearchSpace(1, 1, 64), Machine(knee_at(10), 0.05), DEFAULTS)
    assert decision.possible_counts[0].processes <= 10 <= decision.possible_counts[-1].processes


def test_a_run_that_was_disturbed_in_the_grid_does_not_hide_the_peak() -> None:
    class Disturbed(Machine):
        def __getitem__(self, request: SearchRequest) -> Outcome:
            point = super().__getitem__(request)
            first = (request.phase, request.block, request.processes) == ("grid", 1, 32)
            return replace(point, rate=point.rate * 0.5) if first and point.rate else point

    decision = decide(NODE, Disturbed(rising_curve, 0.02), DEFAULTS)
    assert decision.peak == Geometry(1, 32)


def test_where_the_rate_only_rises_the_last_is_the_peak_and_the_remark_says_that_it_may_rise_further() -> None:
    decision = decide(NODE, Machine(rising_curve, 0.02), DEFAULTS)
    assert decision.peak == Geometry(1, 32)
    assert decision.remarks == ("32 processes on 1 node is the largest count measured; a larger one may be faster",)


def test_a_drift_of_the_system_does_not_move_the_choice() -> None:
    decision = decide(NODE, Machine(knee_at(16), 0.003, drift=-0.003), DEFAULTS)
    assert decision.geometry is not None and 15 <= decision.geometry.processes <= 17


def test_nothing_that_ended_with_a_rate_gives_no_count() -> None:
    decision = decide(NODE, Machine(lambda geometry: None), DEFAULTS)
    assert (decision.geometry, decision.peak, decision.confirmed) == (None, None, False)
    assert decision.reason == "No process count found: no run gave a result."


def test_a_decision_as_data() -> None:
    data = records.as_json(decide(NODE, Machine(knee_at(16), 0.02), DEFAULTS))
    assert list(data) == [
        *("geometry", "peak", "complete", "confirmed", "reason", "remarks", "node_hours", "drift_p"),
        *("drift_change", "slow_runs", "outliers", "shown", "resolved", "alike", "further_runs", "candidates"),
    ]
    assert list(data["candidates"][0]) == [
        *("geometry", "runs", "fresh_runs", "rate", "low", "high", "ratio", "ratio_low", "within"),
    ]


def test_where_the_rate_only_falls_the_first_is_chosen() -> None:
    decision = decide(NODE, Machine(lambda geometry: 1 / geometry.processes, 0.02), DEFAULTS)
    assert decision.geometry == Geometry(1, 1)
    assert decision.remarks == ()  # there is nothing below it


def test_an_outlier_is_named_and_stays_in_the_numbers() -> None:
    class Once(Machine):
        def __getitem__(self, request: SearchRequest) -> Outcome:
            point = super().__getitem__(request)
            hit = (request.phase, request.block, request.processes) == (CONFIRM, 2, 32)
            return replace(point, rate=point.rate * 0.3) if hit and point.rate else point

    decision = decide(NODE, Once(rising_curve, 0.01), DEFAULTS)
    assert SearchRequest(CONFIRM, 2, 1, 32) in decision.outliers
    assert SearchRequest(CONFIRM, 2, 1, 32) in decision.requests
    assert "confirm-1x32.2" in records.as_json(decision)["outliers"]


def test_a_drift_of_the_system_is_seen() -> None:
    decision = decide(NODE, Machine(knee_at(16), 0.01, drift=-0.01), Settings("s", least=10))
    assert decision.drift is not None and decision.drift.is_significant and decision.drift.change < -0.3


def test_a_larger_budget_ends_the_search_by_itself() -> None:
    free = decide(PEAK, Machine(knee_at(24), 0.05), DEFAULTS)
    capped = decide(PEAK, Machine(knee_at(24), 0.05), Settings("seed", budget_node_s=10 * free.node_s))
    assert capped == free


def test_a_budget_that_ends_before_the_confirmation_runs_leaves_an_unconfirmed_answer() -> None:
    free = decide(PEAK, Machine(knee_at(24), 0.2), DEFAULTS)
    decision = decide(PEAK, Machine(knee_at(24), 0.2), Settings("seed", budget_node_s=0.3 * free.node_s))
    assert not decision.confirmed and not decision.complete
    assert decision.reason.endswith("unconfirmed (the budget was used up before confirmation runs).")
    assert all(candidate.ratio is None for candidate in decision.candidates)


def test_a_budget_that_ends_in_the_middle_of_the_confirmation_runs_leaves_an_answer_with_a_remark() -> None:
    free = decide(PEAK, Machine(knee_at(24), 0.2), DEFAULTS)
    decision = decide(PEAK, Machine(knee_at(24), 0.2), Settings("seed", budget_node_s=0.98 * free.node_s))
    assert decision.confirmed and not decision.complete
    assert decision.reason.endswith("; stopped by the budget: best answer so far.")

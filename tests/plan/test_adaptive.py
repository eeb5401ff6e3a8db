"""Searches of a campaign: which there are, the runs that they ask for, and what came of those."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from campaign.config.format import Campaign, Declined
from campaign.config.rules.pack import RulePack
from campaign.config.search import Searched, SearchSettings
from campaign.core.errors import EnvironmentLacks
from campaign.core.runs import Geometry, Run, State
from campaign.plan import adaptive, matrix
from campaign.plan.search.records import SearchRequest
from campaign.plan.search.space import SearchSpace
from campaign.results.case import Case
from tests.support import builders

NODES, CORES = 4, 8
PROGRAM = {"mdtest": matrix.Executable("/opt/bench/mdtest")}
Rate = Callable[[Run], float]


def searching_campaign(expected_settings: SearchSettings | None = None, **changes: object) -> Campaign:
    launch = {**builders.GEOMETRIES, "node": Searched(), "peak": Searched()}
    return builders.campaign(**{"launch": launch, "search": expected_settings or SearchSettings(), **changes})


def planned_searches(
    campaign: Campaign, nodes: int = NODES, pack: RulePack | None = None
) -> tuple[adaptive.Search, ...]:
    return adaptive.plan_searches(campaign, pack or builders.pack(), nodes, CORES)


def ended_case(run: Run, rate: float | None, state: State = State.DONE, number: int = 1, stat: float = 0.0) -> Case:
    """An attempt that took 10 s, with a rate of creation where it has one."""
    attempt = builders.attempt(run, number=number, state=state, started=100.0, ended=110.0)
    records = builders.records((rate, stat or 2 * rate, 3 * rate)) if rate else ()
    findings = () if rate else (builders.finding(),)
    return Case(
        builders.campaign(),
        builders.pack(),
        run,
        attempt,
        records,
        {"": builders.observation(run)},
        judge=lambda *_: findings,
    )


def look(search: adaptive.Search, campaign: Campaign, results: dict[str, list[Case]]) -> adaptive.SearchProgress:
    return adaptive.replay_search(
        search, matrix.Blueprint(campaign, builders.pack(), PROGRAM), lambda run: results.get(run.id, [])
    )


def drive_search(
    search: adaptive.Search, campaign: Campaign, rate: Rate, stat: Rate = lambda run: 0.0
) -> tuple[adaptive.SearchProgress, dict[str, list[Case]]]:
    """Measured to its end."""
    results: dict[str, list[Case]] = {}
    while (standing := look(search, campaign, results)).choice is None:
        assert standing.awaited_runs
        for run in standing.awaited_runs:
            results[run.id] = [ended_case(run, rate(run), stat=stat(run))]
    return standing, results


def test_a_run_whose_measurement_no_rule_allows_is_measured_again_and_the_search_says_why() -> None:
    campaign = searching_campaign()
    search = planned_searches(campaign)[0]
    first = look(search, campaign, {}).awaited_runs[0]
    progress = look(search, campaign, {first.id: [ended_case(first, None)]})
    finding = builders.finding()
    assert first in progress.awaited_runs
    assert progress.repeated == (f"{first.id}/1 is measured again: {finding.rule} {finding.message}",)
    assert look(search, campaign, {first.id: [ended_case(first, None, State.CANCELLED)]}).repeated == ()


def test_each_file_configuration_has_a_search_of_each_launch_condition() -> None:
    searches = planned_searches(searching_campaign())
    assert [search.key for search in searches] == [
        *("scratch/node/shared/*", "scratch/node/unique/*", "scratch/node/onefile/*"),
        *("scratch/peak/shared/*", "scratch/peak/unique/*", "scratch/peak/onefile/*"),
    ]
    assert {search.operation for search in searches} == {"create"}
    assert searches[0].space == SearchSpace(1, 1, CORES, cores=CORES)
    assert searches[3].space == SearchSpace(2, NODES, CORES, cores=CORES)
    assert len({search.settings.seed for search in searches}) == len(searches)


def test_one_search_for_all_configurations_or_one_for_each_operation() -> None:
    everything = planned_searches(searching_campaign(SearchSettings(per="all")))
    assert [search.key for search in everything] == ["scratch/node/*/*", "scratch/peak/*/*"]
    assert everything[0].files == ("shared", "unique", "onefile")
    searches = planned_searches(searching_campaign(SearchSettings(per="operation")))
    assert len(searches) == 18
    assert [(search.key, search.operation) for search in searches[:3]] == [
        ("scratch/node/shared/create", "create"),
        ("scratch/node/shared/stat", "stat"),
        ("scratch/node/shared/remove", "remove"),
    ]


def test_the_declared_operation_is_looked_at_and_limits_are_those_of_the_file() -> None:
    searches = planned_searches(
        searching_campaign(SearchSettings(operation="stat", nodes=3, processes_per_node=20, margin=0.1, most=9))
    )
    assert {search.operation for search in searches} == {"stat"}
    assert searches[3].space == SearchSpace(2, 3, 20, cores=CORES)
    assert (searches[0].settings.margin, searches[0].settings.most) == (0.1, 9)


def test_what_other_operations_lose_is_said_and_the_geometric_mean_of_all_may_decide() -> None:
    def rising(run: Run) -> float:
        return float(run.geometry.processes)

    def falling(run: Run) -> float:
        return 1000.0 / run.geometry.processes**2

    campaign = searching_campaign()
    progress, _ = drive_search(planned_searches(campaign)[0], campaign, rising, falling)
    assert progress.choice is not None and progress.choice.geometry == Geometry(1, CORES)
    assert [text for text in progress.choice.remarks if text.startswith("stat has ")]
    campaign = searching_campaign(SearchSettings(operation="all"))
    search = planned_searches(campaign)[0]
    assert search.operation == adaptive.ALL
    (run,) = look(search, campaign, {}).awaited_runs[:1]
    outcome = adaptive.request_outcome(search, [run], builders.pack(), lambda run: [ended_case(run, 2.0, stat=9.0)])
    assert outcome is not None and outcome.rate == pytest.approx((2 * 9 * 6) ** (1 / 3))


def test_where_the_rules_want_exactly_so_many_items_processes_divide_them() -> None:
    searches = planned_searches(searching_campaign(), pack=builders.pack(items_at_least=False))
    assert {search.space.divides for search in searches} == {1000}


def test_a_partition_with_too_few_nodes_is_reported_once_with_the_clause() -> None:
    with pytest.raises(EnvironmentLacks) as caught:
        planned_searches(searching_campaign(), nodes=1)
    assert str(caught.value) == (
        "launch.peak: the search needs 2 nodes or more (clause 3: Fewest for the peak); the partition has 1 usable"
    )


def test_a_budget_is_shared_out_whole_by_what_each_search_may_cost() -> None:
    searches = planned_searches(searching_campaign(SearchSettings(budget=10.0)))
    shares = [search.settings.budget_node_s for search in searches]
    assert sum(shares) == pytest.approx(36000)
    assert shares[3] == pytest.approx(shares[0] * NODES)
    assert all(math.isinf(search.settings.budget_node_s) for search in planned_searches(searching_campaign()))


def test_a_searchs_runs_carry_its_phase_and_stand_in_no_cell() -> None:
    campaign = searching_campaign()
    standing = look(planned_searches(campaign)[0], campaign, {})
    assert [run.id for run in standing.awaited_runs] == [run.id for run in standing.runs]
    run = next(run for run in standing.awaited_runs if run.geometry == Geometry(1, 4))
    assert (run.id, run.phase, run.repetition) == ("scratch.node.shared.grid-1x4.1", "grid", 1)
    assert run.arguments[run.arguments.index("-n") + 1] == "250"
    assert not adaptive.found_geometries([standing])
    table = matrix.expand(campaign, builders.pack(), {}, PROGRAM, adaptive.found_geometries([standing]))
    assert not {run.id for run in table} & {run.id for run in standing.runs}


def test_a_search_is_driven_to_its_decision_and_its_cells_get_the_count_with_the_reason() -> None:
    campaign = searching_campaign()
    standing, _ = drive_search(
        planned_searches(campaign)[0], campaign, lambda run: float(min(run.geometry.processes, 4))
    )
    assert standing.choice is not None and standing.choice.geometry == Geometry(1, 4)
    runs = matrix.expand(campaign, builders.pack(), {}, PROGRAM, adaptive.found_geometries([standing]))
    assert [(run.id, run.geometry, run.phase) for run in runs] == [("scratch.node.shared.r1", Geometry(1, 4), "")]
    assert runs[0].notes == (f"tuned: {standing.choice.reason}",)
    assert runs[0].id not in {run.id for run in standing.runs}  # confirmed by others, reported from a fresh one


def test_the_count_of_one_operation_is_for_its_cells_alone() -> None:
    campaign = searching_campaign(SearchSettings(per="operation"))
    standings = [
        drive_search(search, campaign, lambda run: float(run.geometry.processes))[0]
        for search in planned_searches(campaign)[:2]
    ]
    runs = matrix.expand(campaign, builders.pack(), {}, PROGRAM, adaptive.found_geometries(standings))
    assert [(run.id, run.operations) for run in runs] == [
        ("scratch.node.shared.create.r1", ("create",)),
        ("scratch.node.shared.stat.r1", ("stat",)),
    ]


def test_of_several_configurations_the_geometric_mean_counts() -> None:
    campaign = searching_campaign(SearchSettings(per="all"))
    search = planned_searches(campaign)[0]
    request = SearchRequest("grid", 1, 1, 4)
    runs = adaptive.requested_runs(search, request, matrix.Blueprint(campaign, builders.pack(), PROGRAM))
    rates = {"shared": 1.0, "unique": 10.0, "onefile": 100.0}
    point = adaptive.request_outcome(search, runs, builders.pack(), lambda run: [ended_case(run, rates[run.files])])
    assert point is not None and point.rate == pytest.approx(10.0)
    assert point.node_s == 30.0
    waiting = {"shared", "unique"}
    assert (
        adaptive.request_outcome(
            search, runs, builders.pack(), lambda run: [ended_case(run, 1.0)] * (run.files in waiting)
        )
        is None
    )


@pytest.mark.parametrize(
    ("states", "waits"),
    [
        ([State.FAILED], True),
        ([State.CANCELLED, State.LOST, State.NODE_FAIL], True),
        ([State.DONE], True),  # without a rate that the rules let count
        ([State.FAILED, State.TIMEOUT], False),
        ([State.DONE, State.FAILED], False),
    ],
)
def test_an_execution_without_a_rate_is_tried_again_until_it_failed_twice_by_itself(
    states: Sequence[State], waits: bool
) -> None:
    campaign = searching_campaign()
    search = planned_searches(campaign)[0]
    run = adaptive.requested_runs(
        search, SearchRequest("grid", 1, 1, 4), matrix.Blueprint(campaign, builders.pack(), PROGRAM)
    )[0]
    cases = [ended_case(run, None, state, number) for number, state in enumerate(states, 1)]
    point = adaptive.request_outcome(search, [run], builders.pack(), lambda run: cases)
    assert (point is None) == waits
    if point is not None:
        assert point.rate is None
        assert point.node_s == 10.0 * len(states)


def test_a_configuration_whose_cells_are_declined_or_projected_is_not_searched_for() -> None:
    declined = (Declined("scratch/node/onefile/*", "no time"), Declined("scratch/peak/*/*", "no time"))
    campaign = searching_campaign(declined=declined)
    assert [search.key for search in planned_searches(campaign)] == ["scratch/node/shared/*", "scratch/node/unique/*"]
    together = planned_searches(searching_campaign(SearchSettings(per="all"), declined=declined))
    assert [(search.key, search.files) for search in together] == [("scratch/node/*/*", ("shared", "unique"))]


def test_of_a_point_with_several_executions_only_those_without_an_outcome_are_made() -> None:
    campaign = searching_campaign(SearchSettings(per="all"))
    search = planned_searches(campaign)[0]
    first = look(search, campaign, {})
    results = {run.id: [ended_case(run, 1.0)] for run in first.awaited_runs if run.files != "onefile"}
    later_progress = look(search, campaign, results)
    assert {run.id for run in later_progress.awaited_runs} == {
        run.id for run in first.awaited_runs if run.files == "onefile"
    }
    assert {run.id for run in later_progress.runs} == {run.id for run in first.runs}


def test_what_was_measured_is_looked_up_again_in_any_order_and_gives_the_same() -> None:
    campaign = searching_campaign()
    search = planned_searches(campaign)[0]
    progress, results = drive_search(search, campaign, lambda run: float(run.geometry.processes))
    assert look(search, campaign, dict(reversed(results.items()))) == progress
    lost = dict(list(results.items())[:-3])
    second_progress = look(search, campaign, lost)
    assert second_progress.choice is None
    assert {run.id for run in second_progress.awaited_runs} == results.keys() - lost.keys()


def test_the_law_says_what_lies_beyond_the_search() -> None:
    campaign = searching_campaign()
    standing, _ = drive_search(planned_searches(campaign)[0], campaign, lambda run: 100.0 * run.geometry.processes)
    fit = adaptive.fit_scaling(standing)
    assert fit is not None and fit.at(16)[0] == pytest.approx(1600.0, rel=0.01)
    assert adaptive.fit_scaling(look(planned_searches(campaign)[0], campaign, {})) is None


def test_what_is_expected_shrinks_as_a_search_goes_on() -> None:
    campaign = searching_campaign()
    search = planned_searches(campaign)[3]
    start = look(search, campaign, {})
    before, runs = adaptive.expected_runs(start)
    assert [run.phase for run in runs] == [""]
    results = {run.id: [ended_case(run, float(run.geometry.processes))] for run in start.awaited_runs}
    after, _ = adaptive.expected_runs(look(search, campaign, results))
    assert len(before) > len(after) > 0
    assert adaptive.expected_runs(drive_search(search, campaign, lambda run: 1.0)[0]) == ([], [])


def test_a_search_as_data() -> None:
    campaign = searching_campaign()
    data = adaptive.as_json(look(planned_searches(campaign)[0], campaign, {}))
    assert data["cells"] == "scratch/node/shared/*"
    assert (data["operation"], data["runs"], data["waits_for"], data["decision"]) == ("create", 6, 6, None)


def test_the_settings_are_the_identity_of_a_search() -> None:
    first = planned_searches(searching_campaign())[0]
    other = replace(first, settings=replace(first.settings, margin=0.1))
    assert first.identity != other.identity
    assert first.identity == planned_searches(searching_campaign())[0].identity

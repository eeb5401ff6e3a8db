"""How much is still to be run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from campaign.config.format import Campaign, Sequential
from campaign.config.search import SearchSettings
from campaign.core.runs import Attempt, Run, State
from campaign.plan.adaptive import SearchProgress
from campaign.plan.estimate import Estimate, estimate
from tests.plan.test_adaptive import drive_search, look, planned_searches, searching_campaign
from tests.support import builders

LIMIT_S = 600


def plain_campaign() -> Campaign:
    return builders.campaign()


def estimate_remaining(
    runs: Sequence[Run] = (),
    standings: Sequence[SearchProgress] = (),
    attempts: Sequence[Attempt] = (),
    allocation: str = "geometry",
    repetitions: int = 1,
    most_repetitions: int | None = None,
    unsettled: bool = False,
) -> Estimate:
    """What is still to be run of a campaign whose runs take 600 s at most."""
    campaign = replace(
        plain_campaign(),
        slurm=replace(plain_campaign().slurm, allocation=allocation, time_s=LIMIT_S),
        repetitions=repetitions,
        sequential=Sequential(most=most_repetitions, width=0.05) if most_repetitions else None,
    )
    return estimate(campaign, runs, standings, attempts, unsettled)


def ended_attempts(seconds: float, *runs: str) -> list[Attempt]:
    own_runs = {run.id: run for run in builders.expand(plain_campaign())}
    return [builders.attempt(own_runs[name], started=0.0, ended=seconds) for name in runs]


def test_before_anything_has_run_it_is_by_the_time_limit() -> None:
    estimate = estimate_remaining(builders.expand(plain_campaign()))
    assert (estimate.jobs, estimate.runs, estimate.is_measured) == (4, 12, False)
    assert estimate.seconds == 12 * LIMIT_S
    assert estimate.node_s == 3 * LIMIT_S * (1 + 1 + 2 + 4)
    assert estimate.text == (
        "remaining: 4 jobs, 12 runs, at most 4.0 node-hours and 2h (upper bound from slurm.time; nothing has run yet)"
    )


def test_one_job_and_one_run_are_not_several() -> None:
    estimate = estimate_remaining(builders.expand(plain_campaign())[:1])
    assert estimate.text.startswith("remaining: 1 job, 1 run, at most ")


def test_what_has_run_refines_it_by_launch_condition_and_is_not_counted() -> None:
    attempts = ended_attempts(10.0, "scratch.single.shared.r1") + ended_attempts(
        30.0, "scratch.max.shared.r1", "scratch.max.unique.r1"
    )
    estimate = estimate_remaining(builders.expand(plain_campaign()), (), attempts)
    assert (estimate.runs, estimate.is_measured) == (9, True)
    assert estimate.seconds == 2 * 10 + 6 * 30 + 30
    assert estimate.text.startswith("remaining: 4 jobs, 9 runs, about ")


def test_all_done_leaves_nothing() -> None:
    attempts = [builders.attempt(run, state=State.DONE) for run in builders.expand(plain_campaign())]
    assert (
        estimate_remaining(builders.expand(plain_campaign()), (), attempts, "run").text
        == "remaining: nothing, all results are present"
    )


def test_a_search_counts_until_it_is_decided() -> None:
    campaign = searching_campaign()
    search = planned_searches(campaign)[0]
    before = estimate_remaining((), [look(search, campaign, {})])
    assert before.searching == 1 and before.runs > 20
    assert "unfinished searches, whose number of runs is unknown: 1" in before.text
    after = estimate_remaining((), [drive_search(search, campaign, lambda run: 1.0)[0]])
    assert (after.runs, after.searching) == (0, 0)


def test_a_budget_caps_what_searches_may_still_take() -> None:
    campaign = searching_campaign(SearchSettings(budget=0.05))
    search = planned_searches(campaign)[0]
    attempts = ended_attempts(10.0, "scratch.node.shared.r1")
    free = searching_campaign()
    done_before = [run for run in builders.expand(plain_campaign()) if run.id == attempts[0].run]
    estimate = estimate_remaining(done_before, [look(planned_searches(free)[0], free, {})], attempts)
    capped = estimate_remaining(done_before, [look(search, campaign, {})], attempts)
    counted_node_s = 10.0  # the run of the count that is found, which no budget of searches pays for
    assert capped.node_s - counted_node_s <= search.settings.budget_node_s < estimate.node_s
    assert capped.runs < estimate.runs
    assert "searches end after" in capped.text


def test_repetitions_that_may_come_are_reported() -> None:
    estimate = estimate_remaining(builders.expand(plain_campaign()), most_repetitions=5)
    assert estimate.repeating == 48
    assert "up to 48 more repetitions if intervals are wide" in estimate.text


def estimate_searches(campaign: Campaign, allocation: str = "geometry", repetitions: int = 1) -> Estimate:
    return estimate_remaining(
        (), [look(search, campaign, {}) for search in planned_searches(campaign)], (), allocation, repetitions
    )


def test_searches_share_the_jobs_of_a_geometry_as_their_runs_will() -> None:
    by_run, by_geometry = estimate_searches(searching_campaign(), "run"), estimate_searches(searching_campaign())
    assert by_run.jobs == by_run.runs == by_geometry.runs
    assert by_geometry.runs / 3 < by_geometry.jobs < by_geometry.runs


def test_what_searches_for_several_operations_have_in_common_counts_once() -> None:
    by_operation, together = (
        estimate_searches(searching_campaign(SearchSettings(per="operation"))),
        estimate_searches(searching_campaign()),
    )
    alone = [estimate_remaining((), [look(own_search, searching_campaign(), {})]).runs
             for own_search in planned_searches(searching_campaign(SearchSettings(per="operation")))]  # fmt: skip
    assert together.runs < by_operation.runs < sum(alone)


def test_the_repetitions_of_a_count_that_is_to_be_found_count() -> None:
    first_estimate, six = (
        estimate_searches(searching_campaign()),
        estimate_searches(searching_campaign(), repetitions=6),
    )
    assert six.runs == first_estimate.runs + 5 * 6
    assert six.node_s > first_estimate.node_s


def test_what_is_not_settled_is_reported_to_come_beside() -> None:
    estimate = estimate_remaining(builders.expand(plain_campaign()), unsettled=True)
    assert estimate.text.endswith("; unresolved runs not included)")
    assert estimate_remaining(unsettled=True).text == "remaining: only runs that a search has not determined yet"

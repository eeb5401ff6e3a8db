"""How much is still to be run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from campaign.config.format import Campaign, Sequential
from campaign.config.search import SearchSettings
from campaign.core.runs import Attempt, Run, State
from campaign.plan.adaptive import SearchProgress
from campaign.plan.estimate import Estimate, estimate
from tests.plan.test_adaptive import campaign, driven, look, wanted
from tests.support import builders

LIMIT_S = 600


def plain() -> Campaign:
    return builders.campaign()


def still(
    runs: Sequence[Run] = (),
    standings: Sequence[SearchProgress] = (),
    attempts: Sequence[Attempt] = (),
    allocation: str = "geometry",
    repetitions: int = 1,
    most: int | None = None,
    unsettled: bool = False,
) -> Estimate:
    """What is still to be run of a campaign whose runs take 600 s at most."""
    campaign = replace(
        plain(),
        slurm=replace(plain().slurm, allocation=allocation, time_s=LIMIT_S),
        repetitions=repetitions,
        sequential=Sequential(most=most, width=0.05) if most else None,
    )
    return estimate(campaign, runs, standings, attempts, unsettled)


def done(seconds: float, *runs: str) -> list[Attempt]:
    own_runs = {run.id: run for run in builders.expand(plain())}
    return [builders.attempt(own_runs[name], started=0.0, ended=seconds) for name in runs]


def test_before_anything_has_run_it_is_by_the_time_limit() -> None:
    estimate = still(builders.expand(plain()))
    assert (estimate.jobs, estimate.runs, estimate.is_measured) == (4, 12, False)
    assert estimate.seconds == 12 * LIMIT_S
    assert estimate.node_s == 3 * LIMIT_S * (1 + 1 + 2 + 4)
    assert estimate.text == (
        "remaining: 4 jobs, 12 runs, at most 4.0 node-hours and 2h (upper bound from slurm.time; nothing has run yet)"
    )


def test_one_job_and_one_run_are_not_several() -> None:
    estimate = still(builders.expand(plain())[:1])
    assert estimate.text.startswith("remaining: 1 job, 1 run, at most ")


def test_what_has_run_refines_it_by_launch_condition_and_is_not_counted() -> None:
    attempts = done(10.0, "scratch.single.shared.r1") + done(30.0, "scratch.max.shared.r1", "scratch.max.unique.r1")
    estimate = still(builders.expand(plain()), (), attempts)
    assert (estimate.runs, estimate.is_measured) == (9, True)
    assert estimate.seconds == 2 * 10 + 6 * 30 + 30
    assert estimate.text.startswith("remaining: 4 jobs, 9 runs, about ")


def test_all_done_leaves_nothing() -> None:
    attempts = [builders.attempt(run, state=State.DONE) for run in builders.expand(plain())]
    assert still(builders.expand(plain()), (), attempts, "run").text == "remaining: nothing, all results are present"


def test_a_search_counts_until_it_is_decided() -> None:
    made = campaign()
    search = wanted(made)[0]
    before = still((), [look(search, made, {})])
    assert before.searching == 1 and before.runs > 20
    assert "unfinished searches, whose number of runs is unknown: 1" in before.text
    after = still((), [driven(search, made, lambda run: 1.0)[0]])
    assert (after.runs, after.searching) == (0, 0)


def test_a_budget_caps_what_searches_may_still_take() -> None:
    made = campaign(SearchSettings(budget=0.05))
    search = wanted(made)[0]
    attempts = done(10.0, "scratch.node.shared.r1")
    free = campaign()
    done_before = [run for run in builders.expand(plain()) if run.id == attempts[0].run]
    estimate = still(done_before, [look(wanted(free)[0], free, {})], attempts)
    capped = still(done_before, [look(search, made, {})], attempts)
    reported = 10.0  # the run of the count that is found, which no budget of searches pays for
    assert capped.node_s - reported <= search.settings.budget_node_s < estimate.node_s
    assert capped.runs < estimate.runs
    assert "searches end after" in capped.text


def test_repetitions_that_may_come_are_reported() -> None:
    estimate = still(builders.expand(plain()), most=5)
    assert estimate.repeating == 48
    assert "up to 48 more repetitions if intervals are wide" in estimate.text


def to_come(campaign: Campaign, allocation: str = "geometry", repetitions: int = 1) -> Estimate:
    return still((), [look(search, campaign, {}) for search in wanted(campaign)], (), allocation, repetitions)


def test_searches_share_the_jobs_of_a_geometry_as_their_runs_will() -> None:
    apart, shared = to_come(campaign(), "run"), to_come(campaign())
    assert apart.jobs == apart.runs == shared.runs
    assert shared.runs / 3 < shared.jobs < shared.runs


def test_what_searches_for_several_operations_have_in_common_counts_once() -> None:
    each, one = to_come(campaign(SearchSettings(per="operation"))), to_come(campaign())
    alone = [still((), [look(own_search, campaign(), {})]).runs
             for own_search in wanted(campaign(SearchSettings(per="operation")))]  # fmt: skip
    assert one.runs < each.runs < sum(alone)


def test_the_repetitions_of_a_count_that_is_to_be_found_count() -> None:
    first_estimate, six = to_come(campaign()), to_come(campaign(), repetitions=6)
    assert six.runs == first_estimate.runs + 5 * 6
    assert six.node_s > first_estimate.node_s


def test_what_is_not_settled_is_reported_to_come_beside() -> None:
    estimate = still(builders.expand(plain()), unsettled=True)
    assert estimate.text.endswith("; unresolved runs not included)")
    assert still(unsettled=True).text == "remaining: only runs that a search has not determined yet"

"""How much is still to be run."""

from __future__ import annotations

from campaign.config import Campaign
from campaign.config_search import Search
from campaign.estimate import estimate
from campaign.model import Attempt, State
from tests import builders
from tests.test_searching import campaign, driven, look, searches

LIMIT_S = 600.0


def plain() -> Campaign:
    return builders.campaign()


def done(seconds: float, *runs: str) -> list[Attempt]:
    own = {run.id: run for run in builders.expand(plain())}
    return [builders.attempt(own[name], started=0.0, ended=seconds) for name in runs]


def test_before_anything_has_run_it_is_by_the_time_limit() -> None:
    found = estimate(builders.expand(plain()), (), (), "geometry", LIMIT_S)
    assert (found.jobs, found.runs, found.known) == (4, 12, False)
    assert found.seconds == 12 * LIMIT_S
    assert found.node_s == 3 * LIMIT_S * (1 + 1 + 2 + 4)
    assert (
        found.text
        == "to come: 4 jobs, 12 runs, at most 4.0 node-hours and 2h (by slurm.time, since nothing has run yet)"
    )


def test_one_job_and_one_run_are_not_several() -> None:
    found = estimate(builders.expand(plain())[:1], (), (), "geometry", LIMIT_S)
    assert found.text.startswith("to come: 1 job, 1 run, at most ")


def test_what_has_run_refines_it_by_launch_condition_and_is_not_counted() -> None:
    attempts = done(10.0, "scratch.single.shared.r1") + done(30.0, "scratch.max.shared.r1", "scratch.max.unique.r1")
    found = estimate(builders.expand(plain()), (), attempts, "geometry", LIMIT_S)
    assert (found.runs, found.known) == (9, True)
    mean = (10 + 30 + 30) / 3
    assert found.seconds == 2 * 10 + 6 * mean + 30
    assert found.text.startswith("to come: 4 jobs, 9 runs, about ")


def test_all_done_leaves_nothing() -> None:
    attempts = [builders.attempt(run, state=State.DONE) for run in builders.expand(plain())]
    assert estimate(builders.expand(plain()), (), attempts, "run", LIMIT_S).text == "nothing is left to run"


def test_a_search_counts_until_it_is_decided() -> None:
    made = campaign()
    one = searches(made)[0]
    before = estimate((), [look(one, made, {})], (), "geometry", LIMIT_S)
    assert before.searching == 1 and before.runs > 20
    assert "1 search may take more or fewer runs" in before.text
    after = estimate((), [driven(one, made, lambda run: 1.0)[0]], (), "geometry", LIMIT_S)
    assert (after.runs, after.searching) == (0, 0)


def test_a_budget_caps_what_searches_may_still_take() -> None:
    made = campaign(Search(budget=0.05))
    one = searches(made)[0]
    attempts = done(10.0, "scratch.node.shared.r1")
    free = campaign()
    whole = estimate((), [look(searches(free)[0], free, {})], attempts, "geometry", LIMIT_S)
    capped = estimate((), [look(one, made, {})], attempts, "geometry", LIMIT_S)
    assert capped.node_s <= one.settings.budget_node_s < whole.node_s
    assert capped.runs < whole.runs
    assert "ends at" in capped.text


def test_repetitions_that_may_come_are_said() -> None:
    found = estimate(builders.expand(plain()), (), (), "geometry", LIMIT_S, most_repetitions=5)
    assert found.repeating == 48
    assert "up to 48 more repetitions where intervals are wide" in found.text

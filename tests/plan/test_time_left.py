"""The time left of a campaign under way, with waiting jobs, failing runs, several targets and repetitions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from campaign.config.format import Campaign, Target
from campaign.core.runs import Attempt, Geometry, Run, State
from campaign.plan.estimate import RunLengths, TimeEstimate, TimeLeft, seconds_of_targets
from tests.support import builders

BEGIN = 1_800_000_000.0


def time_left(
    campaign: Campaign, runs: Iterable[Run], attempts: Iterable[Attempt], now_s: float, seen_s: float = BEGIN
) -> TimeLeft | None:
    """By an estimate that saw these attempts at a time before."""
    estimate = TimeEstimate(campaign, runs)
    estimate.update(attempts, seen_s)
    return estimate.left(now_s)


def test_before_a_run_has_ended_well_no_time_left_is_known() -> None:
    campaign = builders.campaign()
    runs = builders.expand(campaign)
    failed = builders.attempt(runs[0], state=State.FAILED, started=BEGIN, ended=BEGIN + 1)
    for attempts in ([], [failed]):
        assert time_left(campaign, runs, attempts, BEGIN) is None


def test_what_has_failed_early_makes_the_others_no_shorter() -> None:
    campaign = builders.campaign()
    runs = builders.expand(campaign)[:3]
    attempt = builders.attempt(runs[0], submitted=BEGIN, started=BEGIN, ended=BEGIN + 60)
    failed = builders.attempt(runs[1], submitted=BEGIN, state=State.FAILED, started=BEGIN + 60, ended=BEGIN + 61)
    waits = builders.attempt(runs[2], submitted=BEGIN, state=State.PENDING, started=None, ended=None)
    left = time_left(campaign, runs, [attempt, failed, waits], BEGIN + 61)
    assert left == TimeLeft(60 + 0.0, 1)


def test_how_long_jobs_waited_is_expected_of_those_that_wait() -> None:
    campaign = builders.campaign()
    runs = [run for run in builders.expand(campaign) if run.launch == "single"]
    first = builders.attempt(runs[0], job="a", submitted=BEGIN, started=BEGIN + 600, ended=BEGIN + 660)
    second = builders.attempt(
        runs[1], job="b", token="22222222", submitted=BEGIN, state=State.PENDING, started=None, ended=None
    )
    left = time_left(campaign, runs[:2], [first, second], BEGIN + 660)
    assert left == TimeLeft(660, 1)


def test_a_job_does_not_wait_while_another_one_runs() -> None:
    campaign = builders.campaign()
    runs = [run for run in builders.expand(campaign) if run.launch == "single"]
    first = builders.attempt(runs[0], job="a", submitted=BEGIN, started=BEGIN, ended=BEGIN + 300)
    second = builders.attempt(runs[1], job="b", submitted=BEGIN, started=BEGIN + 302, ended=BEGIN + 600)
    left = time_left(campaign, runs, [first, second], BEGIN + 600)
    assert left == TimeLeft(299 + 1, 2)  # the median length and the median wait


def test_a_run_that_takes_longer_than_expected_goes_on_for_a_while() -> None:
    campaign = builders.campaign()
    runs = builders.expand(campaign)[:2]
    attempt = builders.attempt(runs[0], submitted=BEGIN, started=BEGIN, ended=BEGIN + 10)
    running = builders.attempt(runs[1], token="11111111", state=State.RUNNING, started=None, ended=None)
    late = time_left(campaign, runs, [attempt, running], BEGIN + 110, BEGIN + 10)
    assert late == TimeLeft(25, 1)


def test_an_estimate_that_saw_each_change_is_that_of_all_attempts_at_once() -> None:
    campaign = builders.campaign()
    runs = builders.expand(campaign)[:6]
    times = [(BEGIN + 20 * number, BEGIN + 20 * number + 10 + number) for number in range(6)]
    jobs = ["a", "a", "b", "b", "c", "c"]
    estimate = TimeEstimate(campaign, runs)
    for number, (run, (started, end), job) in enumerate(zip(runs[:5], times, jobs, strict=False)):
        for state in (State.SUBMITTING, State.PENDING, State.RUNNING, State.DONE):
            at = {"started": started, "ended": end} if state is State.DONE else {"started": None, "ended": None}
            changed_attempt = builders.attempt(run, token=f"{number:08}", job=job, submitted=BEGIN, state=state, **at)
            estimate.update([changed_attempt], started)
            if state is State.DONE or number:
                ended_attempts = [
                    builders.attempt(runs[i], token=f"{i:08}", job=jobs[i], submitted=BEGIN, started=times[i][0],
                                     ended=times[i][1])
                    for i in range(number)
                ]  # fmt: skip
                assert estimate.left(end) == time_left(campaign, runs, [*ended_attempts, changed_attempt], end, started)


def test_targets_of_different_storage_run_side_by_side_and_others_one_after_another() -> None:
    seconds = {"a": 100.0, "b": 60.0, "c": 30.0}

    def seconds_together(*storage: str) -> float:
        return seconds_of_targets(
            [Target(name, "/x", storage=own_text) for name, own_text in zip("abc", storage, strict=True)], seconds
        )

    assert seconds_together("", "", "") == 190
    assert seconds_together("one", "two", "three") == 100
    assert seconds_together("one", "two", "two") == 100
    assert seconds_together("one", "one", "two") == 160
    assert seconds_together("one", "two", "") == 130


def test_nodes_beside_each_other_take_as_long_as_the_longest() -> None:
    campaign = builders.campaign()
    words = replace(builders.run().commands[0], arguments=("-n", "1"))
    runs = [
        replace(builders.run(id=f"{node}.r{number}"), node=node, commands=(words,))
        for node in ("n1", "n2", "n3")
        for number in (1, 2)
    ]
    attempt = builders.attempt(runs[0], submitted=BEGIN, started=BEGIN, ended=BEGIN + 100)
    assert time_left(campaign, runs, [attempt], BEGIN) == TimeLeft(200, 1)
    stored = [replace(run, commands=builders.run().commands) for run in runs]
    assert time_left(campaign, stored, [attempt], BEGIN) == TimeLeft(500, 1)


def of_kind(launch: str, files: str = "unique", processes: int = 1, nodes: int = 1, target: str = "scratch") -> Run:
    geometry = Geometry(nodes, processes)
    return builders.run(id=f"{target}.{launch}.{files}.r1", target=target, launch=launch, files=files,
                        geometry=geometry)  # fmt: skip


def run_lengths(seconds_by_run: dict[Run, list[float]]) -> RunLengths:
    attempts = [
        builders.attempt(run, started=BEGIN, ended=BEGIN + second)
        for run, seconds in seconds_by_run.items()
        for second in seconds
    ]
    return RunLengths(seconds_by_run, attempts, 600)


def test_a_run_takes_as_long_as_the_median_of_those_of_its_kind() -> None:
    lengths = run_lengths({of_kind("single"): [10.0, 12.0, 90.0], of_kind("node", processes=4): [40.0]})
    assert lengths.expected_s(of_kind("single")) == 12
    assert lengths.expected_s(of_kind("node", processes=4)) == 40
    assert lengths.ended_count == 4


@pytest.mark.parametrize(
    ("run", "seconds"),
    [
        (of_kind("node", processes=4, target="nfs"), 40),  # of the same files on another target
        (of_kind("node", "shared", 4), 40),  # of other files
        (of_kind("node", processes=8), 40),  # of another geometry
        (of_kind("max", processes=32, nodes=4), 20),  # of any kind
    ],
)
def test_where_none_of_its_kind_has_ended_it_takes_as_long_as_the_closest(run: Run, seconds: float) -> None:
    lengths = run_lengths({of_kind("single"): [10.0, 20.0], of_kind("node", processes=4): [40.0]})
    assert lengths.expected_s(run) == seconds


def test_without_any_run_the_limit_is_taken() -> None:
    lengths = run_lengths({})
    assert lengths.expected_s(of_kind("single")) == 600 and not lengths.ended_count

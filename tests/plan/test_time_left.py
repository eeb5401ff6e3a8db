"""The time left of a campaign under way, on campaigns that are played: of many kinds of machine, with waiting jobs,
failing runs, several targets and repetitions.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from campaign.core.model import Geometry, Run, State, Target
from campaign.plan import matrix
from campaign.plan.estimate import side_by_side
from campaign.plan.lengths import Kind, Lengths
from campaign.plan.time_left import TimeLeft, time_left
from tests.support import builders
from tests.support.simulated import BEGIN, Machine, Model, Played, play

WIDE = {"single": Geometry(1, 1), "node": Geometry(1, 64), "peak": Geometry(4, 256), "max": Geometry(16, 1024)}
FILES = {"shared": 1.0, "unique": 1.6, "onefile": 0.7}
TARGETS = (
    (Target("scratch", "/s"),),
    (Target("scratch", "/s"), Target("nfs", "/n")),
    (Target("scratch", "/s", storage="flash"), Target("nfs", "/n", storage="disk")),
)
SHARES = (1 / 3, 1 / 2, 2 / 3, 3 / 4)  # of the whole time, at which the time left is asked


def of_target(run: Run) -> float:
    return FILES[run.files] * {"scratch": 1.0, "nfs": 1.25}[run.target]


def start_up(run: Run) -> float:
    """A rehearsal on few nodes: what grows with the ranks is the most."""
    return of_target(run) * (0.6 + 0.25 * run.geometry.processes)


def wide_start_up(run: Run) -> float:
    return of_target(run) * (5 + 10 * run.geometry.nodes)


def contended(run: Run) -> float:
    """Ranks get in each other's way, most of all in one directory."""
    return of_target(run) * (120 + (6 if run.files == "shared" else 2) * run.geometry.processes)


def constant(run: Run) -> float:
    return of_target(run) * 60


def shared_work(run: Run) -> float:
    """Full size: a total that more processes do faster, up to a limit."""
    return of_target(run) * (3600 / run.geometry.processes + 300 + 2 * run.geometry.nodes)


def wide_shared_work(run: Run) -> float:
    return of_target(run) * (max(7200 / run.geometry.processes, 200) + 3 * run.geometry.nodes)


def oversubscribed(run: Run) -> float:
    """Ranks of a rehearsal that share a few cores: they wait for each other longer than they work."""
    ranks = run.geometry.processes
    return of_target(run) * (1 + 0.02 * ranks**1.6 + 0.3 * run.geometry.nodes)


def beyond_the_cores(run: Run) -> float:
    """Nothing changes up to the cores that there are; each rank beyond them costs."""
    return of_target(run) * (2 + 1.5 * max(0, run.geometry.processes - 2))


MACHINES: tuple[tuple[Model, dict[str, Geometry], str, float], ...] = (
    # length of a run, launch conditions, profile, seconds that a job waits
    (start_up, builders.GEOMETRIES, "rehearsal", 5),
    (wide_start_up, WIDE, "rehearsal", 20),
    (contended, builders.GEOMETRIES, "rehearsal", 30),
    (constant, builders.GEOMETRIES, "rehearsal", 30),
    (shared_work, builders.GEOMETRIES, "full", 60),
    (wide_shared_work, WIDE, "full", 120),
    (oversubscribed, builders.GEOMETRIES, "rehearsal", 1),
    (oversubscribed, WIDE, "rehearsal", 20),
    (beyond_the_cores, builders.GEOMETRIES, "rehearsal", 1),
)


def played(seed: int, load: float = 0.0, repetitions: Sequence[int] = (1, 3)) -> list[Played]:
    """Campaigns of every kind; in every third, a run in ten fails early."""
    kinds = itertools.product(MACHINES, TARGETS, repetitions)
    return [
        play(
            builders.campaign(targets=targets, repetitions=repeated, launch=dict(launch), profile=profile),
            Machine(length, noise=0.1, load=load, wait_s=wait_s, failing=0.1 if number % 3 == 0 else 0.0),
            number,
        )
        for number, ((length, launch, profile, wait_s), targets, repeated) in enumerate(kinds, seed)
    ]


def is_right(said: TimeLeft, was: float) -> bool:
    """One number within 30%, a range around it."""
    return 0.7 <= said.likely / was <= 1.3 if said.narrow else said.low <= was <= said.high


@pytest.mark.timeout(900)
def test_the_time_left_is_right_from_a_third_of_the_way_on() -> None:
    """Of many more seeds docs/slurm.md tells."""
    said = [campaign.left_at(share) for campaign in played(10_000) for share in SHARES]
    single = [each for each in said if each[0].narrow]
    assert sum(is_right(*each) for each in said) / len(said) >= 0.9
    assert sum(is_right(*each) for each in single) / len(single) >= 0.9
    assert len(single) / len(said) >= 0.4
    assert sum(left.open for left, _ in said) / len(said) <= 0.1


@pytest.mark.timeout(900)
def test_on_a_machine_whose_load_changes_the_range_is_wider_and_still_right() -> None:
    said = [campaign.left_at(share) for campaign in played(20_000, load=0.3, repetitions=[1]) for share in SHARES]
    assert sum(is_right(*each) for each in said) / len(said) >= 0.7


def test_before_a_run_has_ended_well_no_time_left_is_known() -> None:
    campaign = builders.campaign()
    runs = builders.expand(campaign)
    failed = builders.attempt(runs[0], state=State.FAILED, started=BEGIN, ended=BEGIN + 1)
    for attempts in ([], [failed]):
        assert time_left(campaign, runs, matrix.attempts_by_run(runs, attempts), {}, BEGIN) is None


def test_what_has_failed_early_makes_the_others_no_shorter() -> None:
    campaign = builders.campaign()
    runs = builders.expand(campaign)[:3]
    done = builders.attempt(runs[0], submitted=BEGIN, started=BEGIN, ended=BEGIN + 60)
    failed = builders.attempt(runs[1], submitted=BEGIN, state=State.FAILED, started=BEGIN + 60, ended=BEGIN + 61)
    waits = builders.attempt(runs[2], submitted=BEGIN, state=State.PENDING, started=None, ended=None)
    left = time_left(campaign, runs, matrix.attempts_by_run(runs, [done, failed, waits]), {}, BEGIN + 61)
    assert left is not None and 10 < left.low < 60 < left.high


def test_how_long_jobs_wait_counts() -> None:
    campaign = builders.campaign()
    machine = Machine(constant, noise=0.0, wait_s=600, pause_s=0.0)
    said, was = play(campaign, machine, 1).left_at(0.4)
    assert was > 2 * 600
    assert said.low <= was <= said.high  # the waits vary
    assert said.low > 600


def test_a_run_that_takes_longer_than_expected_goes_on_for_a_while() -> None:
    campaign = builders.campaign()
    runs = builders.expand(campaign)[:2]
    done = builders.attempt(runs[0], submitted=BEGIN, started=BEGIN, ended=BEGIN + 10)
    running = builders.attempt(runs[1], token="11111111", state=State.RUNNING, started=None, ended=None)
    attempts = matrix.attempts_by_run(runs, [done, running])
    late = time_left(campaign, runs, attempts, {"11111111": BEGIN + 10}, BEGIN + 110)
    assert late is not None and late.low < 25 < late.high


def test_what_a_run_has_taken_already_is_expected_of_those_like_it() -> None:
    campaign = builders.campaign()
    runs = [run for run in builders.expand(campaign) if run.launch in ("single", "max")]
    done = [
        builders.attempt(run, submitted=BEGIN, started=BEGIN + 10 * place, ended=BEGIN + 10 * place + 10)
        for place, run in enumerate(run for run in runs if run.launch == "single")
    ]
    wide = [run for run in runs if run.launch == "max"]
    running = builders.attempt(wide[0], token="11111111", state=State.RUNNING, started=None, ended=None)
    attempts = matrix.attempts_by_run(runs, [*done, running])
    since = {"11111111": BEGIN + 40}
    early, late = (time_left(campaign, runs, attempts, since, BEGIN + 40 + seconds) for seconds in (1, 400))
    assert early is not None and late is not None
    assert late.low > 100 and late.high > 400  # two more like it
    assert late.low > 2 * early.low


def test_targets_of_different_storage_run_side_by_side_and_others_one_after_another() -> None:
    seconds = {"a": 100.0, "b": 60.0, "c": 30.0}

    def together(*storage: str) -> float:
        return side_by_side(
            [Target(name, "/x", storage=own) for name, own in zip("abc", storage, strict=True)], seconds
        )

    assert together("", "", "") == 190
    assert together("one", "two", "three") == 100
    assert together("one", "two", "two") == 100
    assert together("one", "one", "two") == 160
    assert together("one", "two", "") == 130


def kind(launch: str, files: str = "unique", processes: int = 1, nodes: int = 1) -> Kind:
    return Kind("scratch", launch, files, Geometry(nodes, processes))


def test_an_execution_takes_about_as_long_as_those_like_it() -> None:
    lengths = Lengths({kind("single"): [10.0, 12.0], kind("node", processes=4): [40.0]}, 600, shared=False)
    assert lengths.of(kind("single")) == pytest.approx(11, rel=0.1)
    assert lengths.of(kind("node", processes=4)) == pytest.approx(40, rel=0.1)


def test_what_wider_runs_cost_more_is_expected_of_wider_ones_still() -> None:
    seen = {kind("single"): [10.0], kind("node", processes=4): [16.0], kind("peak", processes=8, nodes=2): [24.0]}
    assert Lengths(seen, 600, shared=False).of(kind("max", processes=32, nodes=4)) == pytest.approx(72, rel=0.5)


def test_a_file_configuration_that_is_slow_is_slow_in_every_launch_condition() -> None:
    seen = {kind("single"): [10.0], kind("single", "shared"): [20.0], kind("node", processes=4): [10.0]}
    assert Lengths(seen, 600, shared=False).of(kind("node", "shared", 4)) == pytest.approx(20, rel=0.3)


def test_without_any_execution_the_limit_is_taken() -> None:
    assert Lengths({}, 600, shared=True).of(kind("single")) == 600

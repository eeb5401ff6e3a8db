"""templates/job-functions.bash, executed by bash as slurmd would have it executed."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.config.load import Slurm
from campaign.core.model import Command, Geometry, Launcher, Planned
from campaign.results.environment import reading
from campaign.slurm import scripts
from campaign.slurm.collect import read_evidence
from campaign.slurm.completion import read_completion
from tests.support import builders, fake_slurm
from tests.support.fake_slurm import Fake

LIMIT_S = 60
ONE = Geometry(1, 1)
HOST = os.uname().nodename
UNWRITABLE = f"{{target}} is not writable on {HOST}"


class Job:
    """A job of one or two runs on a target of its own, with the fake's commands around it."""

    def __init__(self, folder: Path, cluster: Fake, name: str = "campaign-test-1", number: str = "1") -> None:
        self.root, self.cluster, self.name, self.number = folder, cluster, name, number
        self.target = folder / "target"
        self.target.mkdir(exist_ok=True)
        self.lock = self.target / ".campaign-lock"
        self.folder = folder / "jobs" / name
        self.environment: dict[str, str] = {}
        self.steps: list[Planned] = []
        self.slurm = Slurm(time_s=90)
        self.probe = False
        self.counters = ""
        self.submitted_from = ("", "")  # boot of the machine, and the target as it sees it

    def plan(self, runs: int = 1, geometry: Geometry = ONE, stale: tuple[str, ...] = ()) -> Job:
        for number in range(1, runs + 1):
            run = builders.run(
                id=f"scratch.peak.unique.r{number}",
                directory=str(self.target),
                executable=str(fake_slurm.MDTEST),
                geometry=geometry,
            )
            folder = self.root / "runs" / run.id / self.number
            folder.mkdir(parents=True)
            self.steps.append(Planned(run, 1, f"{self.number}{number}", folder, stale))
        self.folder.mkdir(parents=True)
        return self

    def start(self, *wrapper: str) -> subprocess.Popen[str]:
        script = self.folder / "job.sbatch"
        steps, (boot, seen) = tuple(self.steps), self.submitted_from
        job = scripts.JobScript(
            "test", self.name, self.folder, steps, self.slurm, self.probe, boot=boot, seen=seen, counters=self.counters
        )
        script.write_text(scripts.render(job))
        slurm = {
            "SLURM_JOB_ID": self.number,
            "SLURM_JOB_NAME": self.name,
            "SLURM_JOB_NODELIST": "n[1-2]",
            "SLURM_CLUSTER_NAME": "fake",
        }
        return subprocess.Popen(
            [*wrapper, "/bin/bash", script],
            cwd=self.folder,
            env=os.environ | slurm | self.environment,
            stdin=subprocess.DEVNULL,
            stdout=(self.folder / "stdout").open("w"),
            stderr=(self.folder / "stderr").open("w"),
            text=True,
            start_new_session=True,
        )

    def run(self, *wrapper: str) -> int:
        return self.start(*wrapper).wait(LIMIT_S)

    def out(self) -> str:
        return (self.folder / "stdout").read_text()

    def complain(self) -> str:
        return (self.folder / "stderr").read_text()

    def record(self, number: int = 1) -> dict[str, Any] | None:
        path = self.steps[number - 1].folder / "completion.json"
        return json.loads(path.read_text()) if path.exists() else None

    def end_of(self, number: int = 1) -> tuple[str, str]:
        """(outcome, reason) of a run."""
        record = self.record(number)
        assert record is not None, self.out() + self.complain()
        return record["outcome"], record["reason"]

    def left(self) -> list[str]:
        return sorted(path.name for path in self.target.iterdir())


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.started(tmp_path, monkeypatch) as fake:
        sleep = tmp_path / "bin" / "sleep"
        sleep.parent.mkdir()
        sleep.write_text("#!/bin/sh\nexec /bin/sleep 0.05\n")
        sleep.chmod(0o755)
        monkeypatch.setenv("PATH", f"{sleep.parent}:{os.environ['PATH']}")
        yield fake


@pytest.fixture
def job(tmp_path: Path, cluster: Fake) -> Job:
    return Job(tmp_path, cluster)


# --- a run that goes well


def test_a_run_that_ends_well_leaves_its_record_and_nothing_on_the_target(job: Job) -> None:
    before = time.time()
    assert job.plan().run() == 0
    record = job.record()
    assert record is not None
    assert before < record.pop("started") < record.pop("ended") < time.time()
    assert record == {
        "format": 1,
        "run": "scratch.peak.unique.r1",
        "attempt": 1,
        "token": "11",
        "job_id": "1",
        "job_name": "campaign-test-1",
        "cluster": "fake",
        "nodes": "n[1-2]",
        "outcome": "done",
        "reason": "",
        "exit_status": 0,
        "leftover_files": 0,
        "restart_count": 0,
    }
    assert job.left() == []
    assert sorted(path.name for path in job.steps[0].folder.iterdir()) == [
        "claim", "completion.json", "directory-made", "environment.json", "stderr", "stdout",
    ]  # fmt: skip
    assert job.complain() == ""


def test_a_bash_without_a_clock_of_its_own_records_the_same(job: Job, tmp_path: Path) -> None:
    """Before version 5, as on nodes of RHEL 8."""
    (tmp_path / "older").write_text("[[ $0 != *job.sbatch ]] || unset EPOCHREALTIME\n")
    job.environment["BASH_ENV"] = str(tmp_path / "older")
    before = time.time()
    assert job.plan().run() == 0
    record = job.record()
    assert record is not None
    assert before < record["started"] < record["ended"] < time.time()
    assert float(job.out().split()[0]) > before
    assert job.complain() == ""
    found = reading.read(job.steps[0].folder / "environment.json")
    assert found.environment.problems == ()
    assert found.before is not None and found.after is not None


def test_a_directory_that_was_there_before_is_not_the_jobs_own(job: Job) -> None:
    theirs = Path(job.plan().steps[0].directory)
    (theirs / "precious").mkdir(parents=True)
    assert job.run() == 1
    assert job.end_of()[0] == "refused"
    assert not (job.steps[0].folder / "directory-made").exists()
    assert (theirs / "precious").is_dir()


def test_the_driver_reads_the_record(job: Job) -> None:
    job.plan().run()
    completion = read_completion(job.steps[0].folder, "11")
    assert completion is not None
    assert (completion.outcome, completion.job_id, completion.exit_status) == ("done", "1", 0)


def test_the_benchmark_is_told_where_to_write_and_what_geometry_to_expect(job: Job) -> None:
    job.plan(geometry=Geometry(2, 8)).run()
    assert [environment for _, environment in job.cluster.launched()] == [
        {"BENCH_JSON": f"{job.steps[0].folder}/bench.jsonl", "BENCH_EXPECT_NODES": "2", "BENCH_EXPECT_PPN": "4"}
    ]


def counted(job: Job) -> list[dict[str, Any]]:
    lines = (job.steps[0].folder / "counters.jsonl").read_text().splitlines()
    return [{name: json.loads(line)[name] for name in ("when", "counts", "problem")} for line in lines]


def test_the_servers_are_asked_before_and_after_and_the_benchmark_can_ask_between(job: Job) -> None:
    job.counters = "echo create 007; echo stat $SLURM_JOB_ID"
    assert job.plan().run() == 0
    counts = {"create": 7, "stat": 1}
    assert counted(job) == [{"when": when, "counts": counts, "problem": ""} for when in ("begin", "end")]
    ((_, environment),) = job.cluster.launched()
    asked = ["bash", "-c", environment["BENCH_BETWEEN_PHASES"], "sh", "stat"]
    subprocess.run(asked, env={"PATH": os.environ["PATH"], "SLURM_JOB_ID": "5"}, check=True, timeout=LIMIT_S)
    assert counted(job)[-1] == {"when": "stat", "counts": {"create": 7, "stat": 5}, "problem": ""}
    assert job.complain() == ""


def test_an_external_benchmark_is_sampled_while_it_runs(job: Job) -> None:
    job.counters, job.probe = "echo stat 1", True
    job.cluster.fault("bench-sleep", 0.5)
    assert job.plan().run() == 0
    began, *sampled, ended = [row["when"] for row in counted(job)]
    assert (began, set(sampled), ended) == ("begin", {"sample"}, "end")


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("echo no servers; exit 3", "the command ended with status 3: no servers"),
        ("true", "the command ended with status 0: "),
        ("echo stat many", "not a kind and a number: stat many"),
    ],
)
def test_counters_that_cannot_be_read_are_said_and_fail_no_run(job: Job, command: str, problem: str) -> None:
    job.counters = command
    assert job.plan().run() == 0
    assert counted(job) == [{"when": when, "counts": {}, "problem": problem} for when in ("begin", "end")]


def test_a_benchmark_that_fails_is_recorded_with_its_status_and_the_next_run_goes_on(job: Job) -> None:
    job.cluster.fault("bench-fails", "mdtest: boom\n", once=True)
    assert job.plan(runs=2).run() == 1
    assert job.end_of(1) == ("failed", "the benchmark ended with status 1")
    assert (job.steps[0].folder / "stderr").read_text() == "mdtest: boom\n"
    assert job.end_of(2) == ("done", "")


@pytest.mark.parametrize("files", [0, 5])  # the directory that they are in does not count
def test_files_that_the_benchmark_leaves_are_counted_and_removed(job: Job, files: int) -> None:
    job.cluster.fault("bench-leaves", files)
    assert job.plan().run() == 0
    record = job.record()
    assert record is not None
    assert record["leftover_files"] == files
    assert job.left() == []


def test_other_peoples_files_on_the_target_are_not_touched(job: Job) -> None:
    (job.target / "precious").write_text("")
    (job.target / "campaign-of-others").mkdir()
    job.plan().run()
    assert job.left() == ["campaign-of-others", "precious"]


def test_a_record_that_cannot_be_written_makes_the_job_fail(job: Job) -> None:
    job.plan()
    (job.steps[0].folder / "completion.json.new").mkdir()
    assert job.run() == 1
    assert "done, but its record cannot be written" in job.out()
    assert job.record() is None


# --- claims


def test_a_run_that_another_has_claimed_is_not_launched(job: Job) -> None:
    job.plan(runs=2)
    (job.steps[0].folder / "claim").mkdir()
    assert job.run() == 1
    assert job.record(1) is None
    assert job.end_of(2) == ("done", "")
    assert "scratch.peak.unique.r1, attempt 1: superseded, another has claimed it" in job.out()
    assert len(job.cluster.launched()) == 1


def test_a_job_that_slurm_started_again_measures_nothing(job: Job) -> None:
    job.plan(runs=2)
    (job.steps[0].folder / "claim").mkdir()
    job.environment["SLURM_RESTART_COUNT"] = "2"
    assert job.run() == 1
    assert job.record(1) is None
    reason = "Slurm restarted the job (restart 2): its measurements would not be one run"
    assert job.end_of(2) == ("refused", reason)
    assert job.cluster.launched() == []
    assert job.left() == []


# --- the target


def test_a_target_that_is_not_there_is_refused(job: Job) -> None:
    job.plan().target.rmdir()
    assert job.run() == 1
    outcome, reason = job.end_of()
    assert outcome == "refused"
    assert reason == f"{job.target} does not exist on {HOST}; create it where all nodes see it"


FULL = {
    "ro": ("refused", f"{UNWRITABLE}: Read-only file system; name another directory"),
    "nr_inodes=1": (
        "refused",
        f"{UNWRITABLE}: No space left on device; name another directory",
    ),  # no room for the lock
    "nr_inodes=2": ("refused", f"{UNWRITABLE}: {{lock}}/owner"),  # its owner cannot be written down
    "nr_inodes=3": ("refused", f"{UNWRITABLE}: No space left on device"),  # the attempt's own directory cannot be made
    "nr_inodes=4": ("failed", "the benchmark ended with status 1"),  # the benchmark has no room
}


@pytest.mark.parametrize("options", FULL)
def test_a_target_that_is_read_only_or_full_is_recorded(job: Job, options: str) -> None:
    job.plan()
    inside = f'mount -t tmpfs -o {options} none "$0/target" || exit; "$@"; s=$?; ls -A "$0/target" >"$0/left"; exit $s'
    assert job.run("unshare", "--user", "--map-root-user", "--mount", "bash", "-c", inside, str(job.root)) == 1
    assert (job.root / "left").read_text() == ""
    outcome, reason = job.end_of()
    assert outcome == FULL[options][0]
    assert reason == FULL[options][1].format(target=job.target, lock=job.lock)
    assert job.out().splitlines()[-1].endswith("end of the job, 1 of its runs failed"), (
        "something was left on the target"
    )


def test_what_a_killed_attempt_left_behind_is_removed_but_no_link_is_followed(job: Job) -> None:
    left, link, elsewhere = job.target / "campaign-old", job.target / "campaign-link", job.root / "elsewhere"
    (left / "test-dir.0-0").mkdir(parents=True)
    (elsewhere / "precious").mkdir(parents=True)
    link.symlink_to(elsewhere)
    assert job.plan(stale=(str(left), str(link), str(job.target / "campaign-gone"))).run() == 0
    assert job.left() == ["campaign-link"]
    assert (elsewhere / "precious").is_dir()
    assert f"removing what a killed attempt left behind: {left}" in job.out()


def test_what_was_left_behind_stays_where_the_job_may_not_use_the_target(job: Job) -> None:
    left = job.target / "campaign-old"
    left.mkdir()
    job.lock.write_text("")
    job.plan(stale=(str(left),)).run()
    assert left.is_dir()


# --- the lock on the target

OWNER = "77 campaign-other-1 fake"


def lock(job: Job, owner: str | None = OWNER) -> None:
    job.lock.mkdir()
    if owner is not None:
        (job.lock / "owner").write_text(f"{owner}\n")


def call(job: Job, function: str, *arguments: str) -> int:
    """Status of one of the functions."""
    text = f'source "{scripts.FUNCTIONS}"; trap - EXIT; {function} "$@"'
    environment = os.environ | {"SLURM_CLUSTER_NAME": "fake", "SLURM_JOB_ID": "1"}
    done = subprocess.run(["bash", "-c", text, "bash", *arguments], env=environment, timeout=LIMIT_S, check=False)
    return done.returncode


STATES = {
    "RUNNING": False,
    "COMPLETING": False,
    "SUSPENDED": False,
    "STOPPED": False,
    "STAGE_OUT": False,
    "A_STATE_OF_SLURM_99": False,
    "COMPLETED": True,
    "FAILED": True,
    "CANCELLED": True,
    "TIMEOUT": True,
    "NODE_FAIL": True,
    "OUT_OF_MEMORY": True,
    "PENDING": True,  # Slurm has started it again: its former self is gone
}


@pytest.mark.parametrize("state", STATES)
def test_a_lock_is_stale_only_where_slurm_says_that_its_job_has_ended(job: Job, state: str) -> None:
    job.cluster.pretend("77", "campaign-other-1", state)
    lock(job)
    assert (call(job, "campaign_lock_is_stale", str(job.lock), OWNER) == 0) == STATES[state]


def test_a_lock_is_stale_where_slurm_has_forgotten_its_job(job: Job) -> None:
    lock(job)
    assert call(job, "campaign_lock_is_stale", str(job.lock), OWNER) == 0


def test_a_lock_is_stale_where_its_jobs_id_belongs_to_another_by_now(job: Job) -> None:
    job.cluster.pretend("77", "somebody-elses", "RUNNING")
    lock(job)
    assert call(job, "campaign_lock_is_stale", str(job.lock), OWNER) == 0


@pytest.mark.parametrize("text", ["", "squeue: command not found", "slurm_load_jobs error: Socket timed out"])
def test_a_lock_is_not_stale_where_slurm_does_not_answer(job: Job, text: str) -> None:
    job.cluster.fault("squeue-fails", text)
    lock(job)
    assert call(job, "campaign_lock_is_stale", str(job.lock), OWNER) != 0


def test_a_lock_is_not_stale_where_another_cluster_would_have_to_be_asked(job: Job) -> None:
    lock(job)
    assert call(job, "campaign_lock_is_stale", str(job.lock), "77 campaign-other-1 far") != 0


def test_a_lock_without_an_owner_is_being_made_unless_it_is_old(job: Job) -> None:
    lock(job, None)
    assert call(job, "campaign_lock_is_stale", str(job.lock), "") != 0
    os.utime(job.lock, (time.time() - 150, time.time() - 150))
    assert call(job, "campaign_lock_is_stale", str(job.lock), "") == 0


def test_a_stale_lock_is_taken_away(job: Job) -> None:
    lock(job)
    assert job.plan().run() == 0
    assert f"the lock of job {OWNER} is stale: taken away" in job.out()
    assert job.end_of() == ("done", "")
    assert job.left() == []


def test_a_live_lock_is_waited_for(job: Job) -> None:
    job.cluster.pretend("77", "campaign-other-1", "RUNNING")
    lock(job)
    process = job.plan().start()
    fake_slurm.wait_until(lambda: f"waiting for the target: {job.lock} is held by job {OWNER}" in job.out(), "it waits")
    time.sleep(0.3)
    assert job.cluster.launched() == []
    assert not (job.steps[0].folder / "claim").exists()
    (job.lock / "owner").unlink()
    job.lock.rmdir()
    assert process.wait(LIMIT_S) == 0
    assert job.end_of() == ("done", "")
    assert job.out().count("waiting for the target") == 1


def test_a_waiting_job_seldom_asks_slurm(job: Job, tmp_path: Path) -> None:
    squeue = tmp_path / "bin" / "squeue"
    squeue.write_text(f'#!/bin/bash\necho >>"{tmp_path}/asked"\nexec {fake_slurm.BIN}/squeue "$@"\n')
    squeue.chmod(0o755)
    job.cluster.pretend("77", "campaign-other-1", "RUNNING")
    lock(job)
    process = job.plan().start()
    fake_slurm.wait_until(lambda: (tmp_path / "asked").exists(), "it has asked")
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert (tmp_path / "asked").read_text() == "\n"


def test_what_stands_in_the_locks_place_and_is_no_lock_is_said(job: Job) -> None:
    job.lock.write_text("")
    assert job.plan().run() == 1
    assert job.end_of() == ("refused", f"{job.target} cannot be locked: {job.lock} is not a directory; remove it")


def test_a_second_breaker_leaves_the_lock_alone_that_the_first_has_just_made(job: Job) -> None:
    lock(job, None)  # made a moment ago, its owner not yet written down
    assert call(job, "campaign_break_lock", str(job.lock), "") != 0
    assert call(job, "campaign_break_lock", str(job.lock), OWNER) != 0
    assert job.left() == [".campaign-lock"]


def test_a_breaker_that_died_does_not_keep_the_others_from_breaking(job: Job) -> None:
    lock(job)
    guard = job.target / ".campaign-lock.breaking"
    guard.mkdir()
    assert call(job, "campaign_break_lock", str(job.lock), OWNER) != 0
    os.utime(guard, (time.time() - 150, time.time() - 150))
    assert call(job, "campaign_break_lock", str(job.lock), OWNER) != 0
    assert call(job, "campaign_break_lock", str(job.lock), OWNER) == 0
    assert job.left() == []


def test_jobs_that_find_the_same_stale_lock_measure_one_after_another(job: Job, tmp_path: Path, cluster: Fake) -> None:
    cluster.fault("bench-sleep", 0.1)
    jobs = [Job(tmp_path, cluster, f"campaign-test-{number}", str(number)).plan() for number in (1, 2, 3, 4)]
    for each in jobs:
        cluster.pretend(each.number, each.name, "RUNNING")
    lock(job)
    processes = [each.start() for each in jobs]
    assert [process.wait(LIMIT_S) for process in processes] == [0, 0, 0, 0]
    assert job.left() == []
    times = sorted((start, end) for _, start, end in cluster.measured())
    assert len(times) == 4
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(times))


def test_the_lock_of_another_is_not_taken_away_at_the_end(job: Job) -> None:
    job.cluster.fault("bench-waits")
    process = job.plan().start()
    fake_slurm.wait_until(lambda: bool(job.cluster.launched()), "it measures")
    (job.lock / "owner").write_text(f"{OWNER}\n")
    job.cluster.mend("bench-waits")
    assert process.wait(LIMIT_S) == 0
    assert (job.lock / "owner").read_text() == f"{OWNER}\n"


READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
PRIVATE = ("unshare", "--user", "--map-root-user", "--mount", "bash", "-c")


def test_a_lock_on_a_target_that_became_read_only_is_not_waited_for(job: Job) -> None:
    lock(job)
    assert job.plan().run(*PRIVATE, READ_ONLY, str(job.target)) == 1
    reason = "it is read-only or another user's; name another directory"
    assert job.end_of() == ("refused", f"{job.target} is not writable on {HOST}: {reason}")


def test_a_stale_lock_that_cannot_be_removed_is_said_within_a_minute(job: Job, tmp_path: Path) -> None:
    rm = tmp_path / "bin" / "rm"
    rm.write_text(
        '#!/bin/sh\ncase $3 in */.campaign-lock/*) echo "rm: failed: Operation not permitted" >&2; exit 1 ;; esac\n'
        'exec /bin/rm "$@"\n'
    )
    rm.chmod(0o755)
    lock(job)
    script = """
        source "$0"; trap - EXIT; export LC_ALL=C
        for _ in 1 2 3; do campaign_break_lock "$1" "$2"; done
        echo "$campaign_refusal"
    """
    environment = os.environ | {
        "SLURM_CLUSTER_NAME": "fake", "SLURM_JOB_ID": "1", "PATH": f"{rm.parent}:{os.environ['PATH']}"
    }  # fmt: skip
    words = ["bash", "-c", script, scripts.FUNCTIONS, job.lock, OWNER]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    assert "cannot be removed: Operation not permitted; remove it" in done.stdout


def test_a_target_that_is_unmounted_under_way_is_not_measured_below_its_mount_point(job: Job) -> None:
    job.plan(2)
    job.cluster.fault("bench-waits")
    process = job.start()
    fake_slurm.wait_until(lambda: bool(job.cluster.launched()), "it measures")
    (job.lock / "owner").unlink()
    job.lock.rmdir()
    job.cluster.mend("bench-waits")
    assert process.wait(LIMIT_S) == 1
    assert job.end_of()[0] == "done"
    assert job.end_of(2) == (
        "refused",
        f"{job.lock} is gone: {job.target} was unmounted, or somebody removed the lock; check that it is mounted and "
        "run again",
    )
    assert len(job.cluster.measured()) == 1


def test_a_target_on_another_mount_than_when_the_campaign_began_is_refused(job: Job) -> None:
    kept = job.folder.parents[1] / "mounts" / str(job.target).replace("/", "%")
    kept.parent.mkdir(parents=True)
    kept.write_text("lustre /scratch\n")
    assert job.plan().run() == 1
    outcome, reason = job.end_of()
    assert outcome == "refused"
    assert f"when the campaign began it was on lustre mounted at /scratch: mount it, or remove {kept}" in reason
    kept.unlink()
    again = Job(job.root, job.cluster, "campaign-test-2", "2").plan()
    assert again.run() == 0
    assert kept.is_file()


# --- signals


def under_way(job: Job) -> subprocess.Popen[str]:
    job.cluster.fault("bench-sleep", 30)
    process = job.start()
    work = Path(job.steps[0].directory) / "test-dir.0-0"
    fake_slurm.wait_until(work.exists, "the benchmark works")
    return process


@pytest.mark.parametrize("whole", [True, False])
def test_a_job_that_slurm_ends_records_the_run_under_way_and_leaves_the_others_unclaimed(job: Job, whole: bool) -> None:
    process = under_way(job.plan(runs=2))
    if whole:
        os.killpg(process.pid, signal.SIGTERM)
    else:
        os.kill(process.pid, signal.SIGTERM)
    assert process.wait(LIMIT_S) == 1
    assert job.end_of(1) == ("terminated", "the job was ended (SIGTERM)")
    record = job.record(1)
    assert record is not None
    assert (record["leftover_files"], record["exit_status"] != 0) == (0, True)
    assert not (job.steps[1].folder / "claim").exists()
    assert job.left() == []


def test_a_benchmark_that_finishes_all_the_same_is_done(job: Job) -> None:
    job.cluster.fault("bench-ignores-term")
    job.plan(runs=2)
    job.cluster.fault("bench-waits")
    process = job.start()
    fake_slurm.wait_until((Path(job.steps[0].directory) / "test-dir.0-0").exists, "the benchmark works")
    os.kill(process.pid, signal.SIGTERM)
    time.sleep(0.2)
    job.cluster.mend("bench-waits")
    process.wait(LIMIT_S)
    assert job.end_of(1) == ("done", "")
    assert job.record(2) is None


def test_a_job_that_is_ended_while_it_waits_for_the_target_claims_nothing(job: Job) -> None:
    job.cluster.pretend("77", "campaign-other-1", "RUNNING")
    lock(job)
    process = job.plan().start()
    fake_slurm.wait_until(lambda: "waiting for the target" in job.out(), "it waits")
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert not (job.steps[0].folder / "claim").exists()
    assert (job.lock / "owner").read_text() == f"{OWNER}\n"


def test_a_job_that_is_killed_keeps_the_lock_which_the_next_one_finds_stale(job: Job, tmp_path: Path) -> None:
    process = under_way(job.plan())
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(LIMIT_S)
    assert job.record() is None
    (job.cluster.root / "faults" / "bench-sleep").unlink()
    after = Job(tmp_path, job.cluster, "campaign-test-2", "2").plan(stale=(job.steps[0].directory,))
    assert after.run() == 0
    assert after.left() == []


# --- a launch that met no slurmctld


def test_a_launch_that_met_no_slurmctld_is_tried_again(job: Job) -> None:
    text = "srun: error: Unable to create step for job 1: Unable to contact slurm controller (connect failure)"
    job.cluster.fault("srun-fails", text, once=True)
    assert job.plan().run() == 0
    assert job.end_of() == ("done", "")
    assert f"not launched, again in 5 s: {text}" in job.out()
    assert len(job.cluster.launched()) == 2


def test_a_launch_that_slurmctld_refuses_is_not_tried_again(job: Job) -> None:
    text = "srun: error: Unable to create step for job 1: Requested node configuration is not available"
    job.cluster.fault("srun-fails", text)
    assert job.plan().run() == 1
    assert job.end_of() == ("failed", "the benchmark ended with status 1")
    assert len(job.cluster.launched()) == 1


# --- the placement, for benchmarks that do not check it


@pytest.mark.parametrize("geometry", [Geometry(1, 1), Geometry(1, 4), Geometry(2, 8), Geometry(3, 3)])
def test_the_probe_accepts_an_even_block_placement(job: Job, geometry: Geometry) -> None:
    job.probe = True
    assert job.plan(geometry=geometry).run() == 0
    (probe, _), (launch, _) = job.cluster.launched()
    options = list(scripts.launcher(job.steps[0].run, job.slurm)[1:])
    assert probe[: len(options) + 1] == [*options, "bash"]
    assert launch[: len(options) + 1] == [*options, str(fake_slurm.MDTEST)]
    lines = [f"{rank} n{rank // geometry.processes_per_node + 1}" for rank in range(geometry.processes)]
    assert (job.steps[0].folder / "placement.txt").read_text().splitlines() == lines


def test_the_placement_is_probed_once_for_runs_of_one_geometry(job: Job) -> None:
    job.probe = True
    assert job.plan(2, Geometry(2, 8)).run() == 0
    probes = [
        words for words, _ in job.cluster.launched() if "bash" in words and any("PMIX_RANK" in word for word in words)
    ]
    assert len(probes) == 1
    first, second = ((step.folder / "placement.txt").read_text() for step in job.steps)
    assert first == second != ""


@pytest.mark.parametrize("placement", ["cyclic", "uneven"])
def test_the_probe_refuses_any_other_placement(job: Job, placement: str) -> None:
    job.probe = True
    job.cluster.fault("placement", placement)
    assert job.plan(geometry=Geometry(2, 8)).run() == 1
    reason = "the ranks are not block-placed and even on 2 nodes with 4 each: see placement.txt"
    assert job.end_of() == ("refused", reason)
    assert len(job.cluster.launched()) == 1
    assert job.left() == []


def test_a_probe_that_cannot_be_launched_is_said(job: Job) -> None:
    job.probe = True
    job.cluster.fault("srun-fails", "srun: error: Invalid MPI type 'pmix'")
    assert job.plan().run() == 1
    assert job.end_of() == ("refused", "the placement probe failed: srun: error: Invalid MPI type 'pmix'")


# --- what the ranks ran


def program(job: Job, name: str, text: str = "") -> Path:
    """A script, or a program under another name that waits a second."""
    path = job.root / name
    if text:
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)
    else:
        shutil.copy("/bin/sleep", path)
        path.write_bytes(path.read_bytes() + name.encode())
    return path


def watched(job: Job, executable: Path, *prefix: str) -> tuple[dict[str, str], list[tuple[str, ...]]]:
    """The programs that were seen, by their paths, and what each rank executed."""
    job.probe, job.environment["SLURM_JOB_NUM_NODES"] = True, "2"
    geometry, launcher = Geometry(2, 4), Launcher(prefix=prefix)
    job.plan(geometry=geometry)
    words = {"executable": str(executable), "arguments": ("1",), "prefix": prefix}
    job.steps = [replace(step, run=builders.with_words(step.run, launcher=launcher, **words)) for step in job.steps]
    assert job.run() == 0, job.out() + job.complain()
    witness = read_evidence(job.steps[0].folder, job.steps[0].token).witness
    assert witness.problems == ()
    assert witness.placement() == ("n1", "n1", "n2", "n2")
    names = {digest: Path(path).name for digest, path in witness.programs.items()}
    return dict(witness.programs), [tuple(names[one] for one in each.digests) for each in witness.executed()]


def test_the_job_sees_what_its_ranks_execute_and_load(job: Job) -> None:
    path = program(job, "bench")
    programs, ranks = watched(job, path)
    assert programs == {hashlib.sha256(path.read_bytes()).hexdigest(): str(path)}
    assert ranks == [("bench",)] * 4
    libraries = read_evidence(job.steps[0].folder, job.steps[0].token).witness.libraries
    assert any(name.startswith("libc.so") for name in libraries)
    assert not list(job.steps[0].folder.glob("ran.[!t]*"))


def test_another_program_under_the_name_of_the_declared_one_is_seen_as_what_it_is(job: Job) -> None:
    other = program(job, "other")
    _, ranks = watched(job, program(job, "bench", f'sleep 0.2; exec -a "$0" {other} "$@"'))
    assert all(executed[-1] == "other" for executed in ranks)
    environment = read_evidence(job.steps[0].folder, job.steps[0].token).environment
    assert environment.values("executable.interpreter")[0].startswith("/usr/bin/bash ")


def test_a_wrapper_before_the_benchmark_is_hashed_with_its_interpreter(job: Job) -> None:
    wrapper, path = program(job, "wrapper", 'sleep 0.2; exec "$@"'), program(job, "bench")
    _, ranks = watched(job, path, str(wrapper))
    assert {words[-1] for words in ranks} == {"bench"} < {word for words in ranks for word in words} | {"bash", "sleep"}
    facts = read_evidence(job.steps[0].folder, job.steps[0].token).environment
    assert facts.values("prefix.1.wrapper") == (f"{wrapper} {hashlib.sha256(wrapper.read_bytes()).hexdigest()}",)
    assert facts.values("prefix.1.wrapper.interpreter")[0].startswith("/usr/bin/bash ")


def test_a_rank_that_preloads_a_library_is_seen(job: Job) -> None:
    preload = job.root / "none.so"
    watched(job, program(job, "bench"), "env", f"LD_PRELOAD={preload}")
    witness = read_evidence(job.steps[0].folder, job.steps[0].token).witness
    assert witness.preloads == {"LD_PRELOAD": (str(preload),)}


def test_a_run_goes_on_where_nobody_can_look(job: Job) -> None:
    job.probe = True
    job.cluster.fault("witness-fails", "srun: error: no step can be made")
    assert job.plan(geometry=Geometry(2, 4)).run() == 0
    witness = read_evidence(job.steps[0].folder, job.steps[0].token).witness
    assert (witness.watched, witness.problems) == (True, ("srun: error: no step can be made",))


# --- modules


def module(job: Job, text: str) -> None:
    job.environment["BASH_FUNC_module%%"] = f"() {{ {text}; }}"
    job.slurm = Slurm(time_s=90, modules=("mpi/openmpi 4",))


def test_a_module_that_cannot_be_loaded_is_refused(job: Job) -> None:
    module(job, 'echo "$2 is unknown" >&2; return 1')
    assert job.plan().run() == 1
    assert job.end_of() == ("refused", "module mpi/openmpi 4 cannot be loaded: module load failed")
    assert job.cluster.launched() == []
    assert job.left() == []


def test_a_module_command_may_use_what_is_not_set_and_change_the_locale(job: Job) -> None:
    module(job, "local x=$NOT_SET; export LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8")
    assert job.plan().run() == 0
    assert job.end_of() == ("done", "")


# --- what is written is JSON, whatever it says


def test_the_environment_is_recorded_without_secrets(job: Job) -> None:
    job.environment |= {"SLURM_JWT": "secret", "OMPI_MCA_btl": 'tcp "x"\n\\', "HOME_SWEET": "no", "LD_PRELOAD_": "ü"}
    job.plan(runs=2).run()
    texts = [(step.folder / "environment.json").read_text() for step in job.steps]
    recorded, other = (json.loads(text) for text in texts)
    assert recorded["format"] == 2
    assert recorded["directory"] == str(job.target)
    own = {"before", "after"}
    assert {key: recorded[key] for key in recorded.keys() - own} == {key: other[key] for key in other.keys() - own}
    assert recorded["environment"]["OMPI_MCA_btl"] == 'tcp "x" \\'
    assert recorded["environment"]["LD_PRELOAD_"] == "ü"
    assert recorded["environment"]["SLURM_JOB_ID"] == "1"
    assert {"SLURM_JWT", "HOME_SWEET"}.isdisjoint(recorded["environment"])


def as_json(texts: list[bytes]) -> list[Any]:
    """Each text through campaign_json."""
    body = (
        f'source "{scripts.FUNCTIONS}"; trap - EXIT; export LC_ALL=C; for t in "$@"; do campaign_json "$t"; echo; done'
    )
    done = subprocess.run(["bash", "-c", body, "bash", *texts], capture_output=True, timeout=LIMIT_S, check=True)
    return [json.loads(line) for line in done.stdout.decode("utf-8").split("\n")[:-1]]


@settings(max_examples=15)
@given(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20), min_size=20, max_size=40))
def test_text_comes_back_from_the_jobs_json(texts: list[str]) -> None:
    assert as_json([text.encode() for text in texts]) == texts


@settings(max_examples=15)
@given(st.lists(st.binary(max_size=20).map(lambda data: data.replace(b"\0", b"")), min_size=20, max_size=40))
def test_any_bytes_give_json_that_can_be_read(texts: list[bytes]) -> None:
    assert len(as_json(texts)) == len(texts)


def test_a_reason_full_of_odd_bytes_leaves_a_record_that_can_be_read(tmp_path: Path, cluster: Fake) -> None:
    job = Job(tmp_path, cluster)
    job.probe = True
    odd = b'srun: error: "\\ \t\x01 \xff\xfe \xc3\xbc {"a": 1}'
    (cluster.root / "faults" / "srun-fails").write_bytes(odd.replace(b"\xff\xfe ", b""))
    job.plan().run()
    assert job.end_of() == ("refused", 'the placement probe failed: srun: error: "\\    ü {"a": 1}')


# --- runs of several phases


def phased(job: Job, *commands: Command) -> Job:
    """A job whose run has these commands."""
    job.plan()
    step = job.steps[0]
    job.steps[0] = replace(step, run=replace(step.run, commands=commands))
    return job


def shell(phase: str, words: str) -> Command:
    return Command("/bin/sh", ("-c", words), phase, "sh")


REMOVE = Command("campaign_remove", ("{directory}/data",), "purge", untimed=True)
WRITE = Command("campaign_write", ("{directory}/in/put", "a = 'b c'\n$(x)"), "input", untimed=True)


def test_phases_run_in_order_in_one_directory_and_each_keeps_its_own_output(tmp_path: Path, cluster: Fake) -> None:
    words = ("echo 1 >{directory}/data; echo wrote", "cat {directory}/data {directory}/in/put", "ls {directory}")
    write, read, look = map(shell, ("write", "read", "look"), words)
    job = phased(Job(tmp_path, cluster), WRITE, write, read, REMOVE, look)
    assert (job.run(), job.end_of()) == (0, ("done", "")), job.complain()
    folder = job.steps[0].folder
    printed = {name: (folder / name / "stdout").read_text() for name in ("input", "write", "read", "purge", "look")}
    assert printed == {"input": "", "write": "wrote\n", "read": "1\na = 'b c'\n$(x)\n", "purge": "", "look": "in\n"}
    completion = read_completion(folder, job.steps[0].token)
    assert completion is not None
    assert [(each.phase, each.exit_status) for each in completion.phases] == [
        (name, 0) for name in ("input", "write", "read", "purge", "look")
    ]
    times = [time for each in completion.phases for time in (each.started, each.ended)]
    assert times == sorted(times)
    assert (completion.started, completion.ended) == (times[0], completion.ended)
    assert job.left() == []


def test_the_first_phase_that_fails_ends_the_run(tmp_path: Path, cluster: Fake) -> None:
    job = phased(Job(tmp_path, cluster), shell("write", "true"), shell("read", "exit 3"), shell("look", "true"))
    job.run()
    assert job.end_of() == ("failed", "phase read: the benchmark ended with status 3")
    record = job.record()
    assert record is not None
    assert [(each["phase"], each["exit_status"]) for each in record["phases"]] == [("write", 0), ("read", 3)]
    assert not (job.steps[0].folder / "look").exists()
    assert job.left() == []


def test_a_job_that_is_ended_between_phases_is_no_result(tmp_path: Path, cluster: Fake) -> None:
    job = phased(Job(tmp_path, cluster), shell("write", "trap '' TERM; echo on; sleep 1"), shell("read", "true"))
    process, printed = job.start(), job.steps[0].folder / "write" / "stdout"
    while not (printed.exists() and printed.stat().st_size):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert job.end_of()[0] == "terminated"
    assert not (job.steps[0].folder / "read").exists()


def test_phases_on_other_nodes_begin_behind_those_of_the_others(tmp_path: Path, cluster: Fake) -> None:
    apart = replace(shell("read", "true"), other_nodes=True)
    job = phased(Job(tmp_path, cluster), shell("write", "true"), apart)
    assert job.run() == 0, job.complain()
    places = [[word for word in words if word.startswith("--relative")] for words, _ in cluster.launched()]
    assert places == [["--relative=0"], [f"--relative={ONE.nodes}"]]
    assert f"#SBATCH --nodes={2 * ONE.nodes}\n" in (job.folder / "job.sbatch").read_text()

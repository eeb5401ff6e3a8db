"""The target of a job and its lock: templates/target-functions.bash; lock.c, owned.c and storage.c of the witness."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from campaign.core import resources
from campaign.results.environment import reading
from tests.support import fake_slurm
from tests.support.bench_faults import library
from tests.support.fake_slurm import Fake
from tests.support.jobs import HOST, LIMIT_S, UNWRITABLE, Job, cluster, job

__all__ = ["cluster", "job"]  # fixtures


# --- a target that exists only in the job


def plan_in_job(job: Job, directory: str) -> Job:
    job.plan()
    job.steps = [replace(step, run=replace(step.run, directory=f"job:{directory}")) for step in job.steps]
    return job


def test_a_target_of_the_job_is_what_its_variables_say_there(job: Job) -> None:
    job.environment |= {"SITE_LOCAL": f"{job.root}/", "PART": "target"}
    assert plan_in_job(job, "${SITE_LOCAL}$PART").run() == 0, job.complain()
    assert f"-d {job.target}/campaign-" in job.out(), "as it was executed"
    assert reading.read(job.steps[0].folder).environment.directory == str(job.target)
    assert not list(job.target.iterdir())


@pytest.mark.parametrize(
    ("directory", "reason"),
    [
        ("/local/$SITE_LOCAL", "job:/local/$SITE_LOCAL: SITE_LOCAL is not set in the job on "),
        ("$ODD", "job:$ODD is 'relative' on "),
        ("$TOP/", "job:$TOP is '' on "),
    ],
)
def test_a_target_of_the_job_that_is_no_directory_there_is_refused(directory: str, reason: str, job: Job) -> None:
    job.environment |= {"ODD": "relative", "TOP": "/"}
    assert plan_in_job(job, directory.rstrip("/")).run() == 1
    outcome, text = job.end_of()
    assert (outcome, text.startswith(reason)) == ("refused", True), text


def test_a_command_before_a_run_works_in_its_directory_and_is_recorded(job: Job) -> None:
    commands = ("pwd", "touch {directory}/.a && rm {directory}/.a", "printf 'one\\ntwo' >&2")
    job.plan()
    job.steps = [replace(step, run=replace(step.run, prepare=commands)) for step in job.steps]
    assert job.run() == 0, job.complain()
    prepared = reading.read(job.steps[0].folder).prepared
    assert [(entry.command, entry.status) for entry in prepared] == [(command, 0) for command in commands]
    assert prepared[0].output == job.steps[0].directory


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
    assert job.plan(stale=dict.fromkeys(map(str, (left, link, job.target / "campaign-gone")), "")).run() == 0
    assert job.left() == ["campaign-link"]
    assert (elsewhere / "precious").is_dir()
    assert f"removing what an earlier attempt left behind: {left}" in job.out()


def test_what_another_put_in_the_place_of_what_an_attempt_left_behind_stays(job: Job) -> None:
    ours, theirs = job.target / "campaign-old", job.target / "foreign"
    for directory in (ours, theirs):
        (directory / "below").mkdir(parents=True)
    stale = {str(ours): str(ours.stat().st_ino)}
    ours.rename(job.target / "moved")
    theirs.rename(ours)
    assert job.plan(stale=stale).run() == 0
    assert (ours / "below").is_dir()
    inode, noted = ours.stat().st_ino, stale[str(ours)]
    text = f"not removed: {ours} has inode {inode}, but the job that created it noted inode {noted}: another directory"
    assert text in job.out()


def test_what_was_left_behind_stays_where_the_job_may_not_use_the_target(job: Job) -> None:
    left = job.target / "campaign-old"
    left.mkdir()
    job.lock.write_text("")
    job.plan(stale={str(left): ""}).run()
    assert left.is_dir()


# --- the lock on the target

OWNER = "77 campaign-other-1 fake"


def lock(job: Job, owner: str | None = OWNER) -> None:
    job.lock.mkdir()
    if owner is not None:
        (job.lock / "owner").write_text(f"{owner}\n")


def waits_for_target(job: Job) -> bool:
    """Whether a job waits for the target; it has asked Slurm then. Otherwise it has taken the lock away."""
    process = job.plan().start()
    fake_slurm.wait_until(lambda: any(message in job.out() for message in (WAITS, STALE)), "it says what it does")
    os.kill(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert (WAITS in job.out()) != (STALE in job.out())
    return WAITS in job.out()


WAITS, STALE = f"is held by job {OWNER}", "is stale: taken away"
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
    assert waits_for_target(job) != STATES[state]


def test_a_lock_is_stale_where_slurm_has_forgotten_its_job(job: Job) -> None:
    lock(job)
    assert not waits_for_target(job)


def test_a_lock_is_stale_where_its_jobs_id_belongs_to_another_by_now(job: Job) -> None:
    job.cluster.pretend("77", "somebody-elses", "RUNNING")
    lock(job)
    assert not waits_for_target(job)


@pytest.mark.parametrize("text", ["", "squeue: command not found", "slurm_load_jobs error: Socket timed out"])
def test_a_lock_is_not_stale_where_slurm_does_not_answer(job: Job, text: str) -> None:
    job.cluster.fault("squeue-fails", text)
    lock(job)
    assert waits_for_target(job)


def test_the_lock_of_a_renamed_job_that_runs_is_not_stale(job: Job) -> None:
    job.cluster.pretend("77", "campaign-other-1", "RUNNING")
    job.cluster.rename("77", "renamed\nCOMPLETED")
    lock(job)
    assert waits_for_target(job)


def test_a_lock_is_not_stale_where_another_cluster_would_have_to_be_asked(job: Job) -> None:
    lock(job, "77 campaign-other-1 far")
    process = job.plan().start()
    fake_slurm.wait_until(lambda: "is held by job 77 campaign-other-1 far" in job.out(), "it waits")
    os.kill(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert "is stale" not in job.out()


def make_old(path: Path) -> None:
    os.utime(path, (time.time() - 150, time.time() - 150))


def test_a_lock_without_an_owner_is_taken_away_once_it_is_old(job: Job) -> None:
    lock(job, None)
    make_old(job.lock)
    assert job.plan().run() == 0
    assert "the lock of a job that it does not name is stale: taken away" in job.out()


def test_a_lock_whose_owner_is_not_yet_written_down_is_being_made(job: Job) -> None:
    job.cluster.pretend("77", "campaign-other-1", "RUNNING")
    lock(job, None)
    process = job.plan().start()
    fake_slurm.wait_until(lambda: (job.folder / "stdout").exists(), "it has begun")
    (job.lock / "owner").write_text(f"{OWNER}\n")
    fake_slurm.wait_until(lambda: WAITS in job.out(), "it waits")
    os.kill(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert "is stale" not in job.out()


def test_a_stale_lock_is_taken_away(job: Job) -> None:
    lock(job)
    assert job.plan().run() == 0
    assert f"the lock of job {OWNER} is stale: taken away" in job.out()
    assert job.end_of() == ("done", "")
    assert job.left() == []


def test_a_job_does_not_wait_for_itself(job: Job) -> None:
    """A slurmctld that lost its state starts a job a second time, whose first start held the lock when killed."""
    owner = f"{job.number} {job.name} fake"
    job.cluster.pretend(job.number, job.name, "RUNNING")
    lock(job, owner)
    assert job.plan().run() == 1
    outcome, reason = job.end_of()
    assert outcome == "refused"
    assert reason.startswith("Slurm forgot that it had started the job, and started it again")
    assert (job.lock / "owner").read_text() == f"{owner}\n"


# Locks of other users

ROOT = os.geteuid() == 0
ONLY_ROOT = pytest.mark.skipif(not ROOT, reason="only root can give a lock to another user")
# Root that may read only what any user may.
AS_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if ROOT else ()


def give_away(path: Path) -> str:
    """Make a lock another user's, as far as this user can; returns its user."""
    if ROOT:
        for entry in (*path.iterdir(), path):
            shutil.chown(entry, "nobody")
    return path.owner()


@pytest.mark.parametrize("closed", [".", "owner"])
def test_a_lock_that_cannot_be_read_is_waited_for_and_its_user_is_named(closed: str, job: Job) -> None:
    """As the lock of a running job of a user with umask 077."""
    lock(job)
    make_old(job.lock)
    user = give_away(job.lock)
    (job.lock / closed).chmod(0)
    process = job.plan().start(*AS_USER)
    mode = f"{job.lock.stat().st_mode & 0o7777:04o}"
    words = f"held by user {user} and cannot be read (mode {mode}); ask user {user} whether a job still measures there"
    fake_slurm.wait_until(lambda: f"waiting for the target: {job.lock} is {words}" in job.out(), "it waits")
    assert words in (job.folder / "waiting").read_text()
    assert job.left() == [".campaign-lock"]
    (job.lock / closed).chmod(0o700)
    (job.lock / "owner").unlink()
    job.lock.rmdir()
    assert process.wait(LIMIT_S) == 0
    assert job.end_of() == ("done", "")
    assert job.out().count("waiting for the target") == 1


MODES = {  # umask and mode of the target: that of the lock
    (0o077, 0o755): 0o755,
    (0o000, 0o755): 0o755,
    (0o777, 0o755): 0o755,
    (0o077, 0o1777): 0o755,
    (0o022, 0o777): 0o777,  # who can rename it can break it
    (0o022, 0o775): 0o775,
}


@pytest.mark.parametrize(("umask", "target"), MODES)
def test_whatever_the_umask_others_can_read_whose_a_lock_is(umask: int, target: int, job: Job) -> None:
    job.plan().target.chmod(target)
    command = [resources.witness(), "job", "-d", job.target, "-x", "/bench", "--", job.folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, umask=umask) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(b"lock\n")
        process.stdin.flush()
        fake_slurm.wait_until((job.lock / "owner").exists, "it has the lock")
        fake_slurm.wait_until(lambda: (job.lock / "owner").read_text() != "", "it is written down")
        modes = [path.stat().st_mode & 0o7777 for path in (job.lock, job.lock / "owner")]
        process.stdin.close()
        process.wait(LIMIT_S)
    assert modes == [MODES[umask, target], 0o644]


@ONLY_ROOT
@pytest.mark.parametrize("private", ["", "cloud,jobs,usage", "all"])
def test_the_lock_of_another_user_is_not_stale_where_slurm_does_not_show_the_jobs_of_others(
    private: str, job: Job
) -> None:
    job.cluster.fault("private-data", private)
    lock(job)
    give_away(job.lock)
    assert waits_for_target(job) == bool(private)
    assert f"job {OWNER} of user nobody" in job.out()


@ONLY_ROOT
def test_who_can_remove_the_stale_lock_of_another_user_is_reported(job: Job) -> None:
    job.constants["campaign_lock_s"] = 1
    lock(job)
    give_away(job.lock)
    assert job.plan().run("env", f"LD_PRELOAD={library('others_on_target')}", "OTHERS_KEEP=owner") == 1
    reason = "which has ended, cannot be removed: Operation not permitted; ask user nobody to remove it"
    assert job.end_of() == ("refused", f"{job.lock} of job {OWNER} of user nobody, {reason}")


def test_nothing_is_read_through_a_link_in_a_lock(job: Job) -> None:
    (job.root / "secret").write_text("password\n")
    job.lock.mkdir()
    (job.lock / "owner").symlink_to(job.root / "secret")
    make_old(job.lock)
    assert job.plan().run() == 0
    assert "password" not in job.out()
    assert (job.root / "secret").read_text() == "password\n"


def test_a_live_lock_is_waited_for(job: Job) -> None:
    job.cluster.pretend("77", "campaign-other-1", "RUNNING")
    lock(job)
    process = job.plan().start()
    fake_slurm.wait_until(lambda: f"waiting for the target: {job.lock} is held by job {OWNER}" in job.out(), "it waits")
    time.sleep(1.5)  # it wakes once
    assert job.cluster.launches() == []
    assert not (job.steps[0].folder / "claim").exists()
    (job.lock / "owner").unlink()
    job.lock.rmdir()
    assert process.wait(LIMIT_S) == 0
    assert job.end_of() == ("done", "")
    assert job.out().count("waiting for the target") == 1
    assert not [line for line in job.out().splitlines() if not line.partition(" ")[2]]


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


def test_what_stands_in_the_locks_place_and_is_no_lock_is_reported(job: Job) -> None:
    job.lock.write_text("")
    assert job.plan().run() == 1
    assert job.end_of() == ("refused", f"{job.target} cannot be locked: {job.lock} is not a directory; remove it")


def test_a_lock_that_another_breaks_just_now_is_left_to_that_one(job: Job) -> None:
    lock(job)
    (job.target / ".campaign-lock.breaking").mkdir()
    assert waits_for_target(job)
    assert job.left() == [".campaign-lock", ".campaign-lock.breaking"]


def test_a_breaker_that_died_does_not_keep_the_others_from_breaking(job: Job) -> None:
    job.constants["campaign_lock_s"] = 1
    lock(job)
    guard = job.target / ".campaign-lock.breaking"
    guard.mkdir()
    make_old(guard)
    process = job.plan().start()
    fake_slurm.wait_until(lambda: not guard.exists(), "the guard is away")
    assert process.wait(LIMIT_S) == 0
    assert job.left() == []


def test_jobs_that_find_the_same_stale_lock_measure_one_after_another(job: Job, tmp_path: Path, cluster: Fake) -> None:
    cluster.fault("bench-sleep", 0.1)
    jobs = [Job(tmp_path, cluster, f"campaign-test-{number}", str(number)).plan() for number in (1, 2, 3, 4)]
    for contender in jobs:
        cluster.pretend(contender.number, contender.name, "RUNNING")
    lock(job)
    processes = [job.start() for job in jobs]
    assert [process.wait(LIMIT_S) for process in processes] == [0, 0, 0, 0]
    assert job.left() == []
    times = sorted((start, end) for _, start, end in cluster.measurements())
    assert len(times) == 4
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(times))


def test_the_lock_of_another_is_not_taken_away_at_the_end(job: Job) -> None:
    job.cluster.fault("bench-waits")
    process = job.plan().start()
    fake_slurm.wait_until(lambda: bool(job.cluster.launches()), "it measures")
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


def test_a_stale_lock_that_cannot_be_removed_is_reported_at_the_third_try(job: Job) -> None:
    job.constants["campaign_lock_s"] = 1
    lock(job)
    assert job.plan().run("env", f"LD_PRELOAD={library('others_on_target')}", "OTHERS_KEEP=owner") == 1
    reason = f"{job.lock} of job {OWNER}, which has ended, cannot be removed: Operation not permitted; remove it"
    assert job.end_of() == ("refused", reason)


def test_a_target_that_is_unmounted_under_way_is_not_measured_below_its_mount_point(job: Job) -> None:
    job.plan(2)
    job.cluster.fault("bench-waits")
    process = job.start()
    fake_slurm.wait_until(lambda: bool(job.cluster.launches()), "it measures")
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
    assert len(job.cluster.measurements()) == 1


def test_a_target_on_another_mount_than_when_the_campaign_began_is_refused(job: Job) -> None:
    kept_path = job.folder.parents[1] / "mounts" / str(job.target).replace("/", "%")
    kept_path.parent.mkdir(parents=True)
    kept_path.write_text("lustre /scratch\n")
    assert job.plan().run() == 1
    outcome, reason = job.end_of()
    assert outcome == "refused"
    assert f"when the campaign began it was on lustre mounted at /scratch: mount it, or remove {kept_path}" in reason
    kept_path.unlink()
    second_job = Job(job.root, job.cluster, "campaign-test-2", "2").plan()
    assert second_job.run() == 0
    assert kept_path.is_file()


def test_the_mount_of_a_target_that_is_a_link_is_that_of_the_directory(job: Job) -> None:
    with TemporaryDirectory(dir="/dev/shm") as behind:
        job.target.rmdir()
        job.target.symlink_to(behind)
        assert job.plan().run() == 0
    (kept_path,) = (job.folder.parents[1] / "mounts").iterdir()
    assert kept_path.read_text() == "tmpfs /dev/shm\n"


# --- others who may write in the target


def replacement_message(job: Job, path: Path) -> str:
    return (
        f"{path} is not the directory that the job created: somebody who can write in {job.target} has replaced it; "
        "use a target that nobody else can write in"
    )


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory that no job has anything to do with, with a file of a name that jobs use in what they create."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "owner").write_text(f"{OWNER}\n")
    return folder


def is_whole(outside: Path) -> bool:
    return [path.name for path in outside.iterdir()] == ["owner"] and (outside / "owner").read_text() == f"{OWNER}\n"


def wrapper_of_others(name: str, command: str) -> tuple[str, ...]:
    """A wrapper for a job: what somebody executes right after it has created a directory, $1."""
    return ("env", f"LD_PRELOAD={library('others_on_target')}", f"OTHERS_NAME={name}", f"OTHERS_DO={command}")


def witness(*words: object, **options: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LD_PRELOAD": str(library("others_on_target"))} | options
    command = [resources.witness(), *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)


BECOMES = {
    "a link to a directory elsewhere": 'mv "$1" "$1.moved" && ln -s "$OUTSIDE" "$1"',
    "a link to an empty directory": 'rmdir "$1" && mkdir "$OUTSIDE.empty" && ln -s "$OUTSIDE.empty" "$1"',
    "a directory of others": 'rmdir "$1" && mkdir "$1" && touch "$1/precious"',
    "nothing": 'rmdir "$1"',
}


@pytest.mark.parametrize("replacement", BECOMES)
@pytest.mark.parametrize("owner", ["lock", "attempt"])
def test_what_a_job_creates_is_not_used_where_it_becomes(replacement: str, owner: str, job: Job, outside: Path) -> None:
    job.environment["OUTSIDE"] = str(outside)
    place = job.lock if owner == "lock" else Path(job.plan().steps[0].directory)
    if owner == "lock":
        job.plan()
    assert job.run(*wrapper_of_others(place.name, BECOMES[replacement])) == 1
    assert job.end_of() == ("refused", replacement_message(job, place))
    assert job.cluster.launches() == []
    assert is_whole(outside)
    assert replacement != "a directory of others" or (place / "precious").is_file()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_directory_of_others_is_reported_by_its_owner(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    process = witness("make", theirs, OTHERS_NAME="theirs", OTHERS_DO='chown nobody "$1"')
    assert (process.returncode, process.stdout.startswith(f"{theirs} is not the directory that the job created")) == (
        1,
        True,
    )
    assert list(theirs.iterdir()) == []


def test_where_all_that_is_created_gets_another_owner_it_is_reported_by_that(tmp_path: Path) -> None:
    """As where a server takes root for nobody."""
    process = witness("make", tmp_path / "created", OTHERS_OWN="1")
    assert (process.returncode, process.stdout) == (0, f"{(tmp_path / 'created').stat().st_ino}\n")
    assert list((tmp_path / "created").iterdir()) == []


def test_a_directory_that_is_replaced_before_the_job_enters_it_is_not_used(job: Job, tmp_path: Path) -> None:
    directory = Path(job.plan().steps[0].directory)
    identity = witness("make", directory).stdout.strip()
    directory.rename(job.target / "moved")
    directory.mkdir()
    process = subprocess.run(
        [resources.witness(), "within", directory, identity], cwd=directory, capture_output=True, text=True, check=False
    )
    assert (process.returncode, process.stdout) == (1, f"{replacement_message(job, directory)}\n")


@pytest.mark.parametrize("fault", ["", "bench-leaves"])
def test_a_directory_that_is_replaced_under_way_makes_the_run_fail_and_is_removed_all_the_same(
    fault: str, job: Job, outside: Path
) -> None:
    if fault:
        job.cluster.fault(fault, 3)
    job.cluster.fault("bench-waits")
    process = job.plan().start()
    directory = Path(job.steps[0].directory)
    fake_slurm.wait_until(lambda: (directory / "test-dir.0-0").is_dir(), "it measures")
    directory.rename(job.target / "moved")
    directory.symlink_to(outside)
    (outside / "test-dir.0-0").mkdir()  # the benchmark itself opens by path
    job.cluster.mend("bench-waits")
    assert process.wait(LIMIT_S) == 1
    assert job.end_of() == ("failed", replacement_message(job, directory))
    assert job.left() == [directory.name]
    assert (outside / "owner").read_text() == f"{OWNER}\n"


def test_a_directory_of_others_in_the_place_of_the_attempts_stays(job: Job) -> None:
    job.cluster.fault("bench-waits")
    theirs = job.target / "theirs"
    (theirs / "precious").mkdir(parents=True)
    process = job.plan().start()
    directory = Path(job.steps[0].directory)
    fake_slurm.wait_until(lambda: (directory / "test-dir.0-0").is_dir(), "it measures")
    directory.rename(job.target / "moved")
    theirs.rename(directory)
    (directory / "test-dir.0-0").mkdir()
    job.cluster.mend("bench-waits")
    assert process.wait(LIMIT_S) == 1
    assert job.end_of() == ("failed", replacement_message(job, directory))
    assert [path.name for path in directory.iterdir()] == ["precious"]
    assert job.left() == [directory.name]


def test_a_lock_that_became_a_link_is_not_removed_through_it(job: Job, outside: Path) -> None:
    job.cluster.fault("bench-waits")
    process = job.plan().start()
    fake_slurm.wait_until(lambda: bool(job.cluster.launches()), "it measures")
    (outside / "owner").write_text((job.lock / "owner").read_text())
    job.lock.rename(job.target / "moved")
    job.lock.symlink_to(outside)
    job.cluster.mend("bench-waits")
    assert process.wait(LIMIT_S) == 0
    assert (outside / "owner").is_file()


def test_the_owner_of_a_lock_is_not_waited_for_where_it_is_a_fifo(job: Job) -> None:
    job.lock.mkdir()
    os.mkfifo(job.lock / "owner")
    make_old(job.lock)
    assert job.plan().run() == 0
    assert job.left() == []

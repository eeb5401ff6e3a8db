"""templates/job-functions.bash, executed by bash as slurmd would have it executed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.config.slurm_keys import Slurm
from campaign.core import resources
from campaign.core.runs import Command, Geometry, Launcher
from campaign.results.completion import read_completion
from campaign.results.environment import reading
from tests.support import facts, fake_slurm
from tests.support.bench_faults import library
from tests.support.examples import examples
from tests.support.fake_slurm import Fake
from tests.support.jobs import HOST, LIMIT_S, ONE, Job, cluster, job

__all__ = ["cluster", "job"]  # fixtures


# --- a run that goes well


def test_a_clock_that_is_set_back_during_a_run_is_seen_beside_one_that_nobody_sets(job: Job, tmp_path: Path) -> None:
    job.plan()
    clock = tmp_path / "bin" / "date"
    clock.write_text(
        f"#!/bin/sh\n[ -s {job.steps[0].folder}/stdout ] && back=5000 || back=0\n"
        "/bin/date +'%s %6N' | { read s n; echo $((s - back)).$n; }\n"
    )
    clock.chmod(0o755)
    (tmp_path / "unset").write_text("[[ $0 != *job.sbatch ]] || unset EPOCHREALTIME\n")
    job.environment["BASH_ENV"] = str(tmp_path / "unset")
    assert job.run() == 0
    record = job.record()
    assert record is not None
    began, end = record["uptime"]
    assert record["ended"] - record["started"] - (end - began) == pytest.approx(-5000, abs=300)


@pytest.mark.parametrize(
    "text",
    [
        "IFS=,",
        "set -efuvx -o noclobber -o pipefail -o posix",
        "shopt -s failglob nocasematch xpg_echo lastpipe",
        "CDPATH=/usr TMOUT=1 GLOBIGNORE='*' FUNCNEST=1",
        "readonly TMOUT=600",
        'for name in cd mkdir mv printf read set srun trap type unset; do eval "$name() { echo no; return 1; }"; done',
        "shopt -s expand_aliases; alias printf='printf no' mv='mv --no-clobber' export=false",
        "trap 'echo no' ERR EXIT; set -E",
        "set -T; trap 'echo no >&2' DEBUG",
        "LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8; export LC_ALL LANG; set -a",
    ],
)
def test_what_others_make_of_bash_changes_no_record(job: Job, tmp_path: Path, text: str) -> None:
    (tmp_path / "environment").write_text(f"[[ $0 != *job.sbatch ]] || {{ {text}; }}\n")
    job.environment |= {"BASH_ENV": str(tmp_path / "environment"), "SHELLOPTS": "noglob", "CDPATH": "/usr"}
    assert job.plan(2).run() == 0
    for number in (1, 2):
        record = job.record(number)
        assert record is not None
        assert (record["outcome"], record["exit_status"], record["nodes"]) == ("done", 0, "n[1-2]")
        assert record["started"] < record["ended"]
        assert len(record["uptime"]) == 2
    assert job.left() == []
    assert "no\n" not in job.out()
    assert "printf no" not in job.complain()


@pytest.mark.parametrize(
    "text",
    [
        "IFS=,",
        "set -efuvx -o noclobber -o pipefail -o posix",
        "shopt -s failglob nocasematch",
        "CDPATH=/usr GLOBIGNORE='*'",
        'for name in cat cd mkdir mv printf read; do eval "$name() { echo no; return 1; }"; done',
        "export LC_ALL=de_DE.UTF-8",
    ],
)
def test_what_a_module_makes_of_bash_changes_no_record(job: Job, text: str) -> None:
    job.environment["BASH_FUNC_module%%"] = f"() {{ {text}; }}"
    job.slurm = Slurm(modules=("openmpi", "python"))
    assert job.plan(2).run() == 0, job.out() + job.complain()
    for number in (1, 2):
        assert job.end_of(number) == ("done", "")
    assert job.left() == []
    assert "no\n" not in job.out()


def variables(job: Job, text: str) -> dict[str, str]:
    """Those that a benchmark has whose job's bash has read this text before its script."""
    (job.root / "environment").write_text(text)
    job.environment |= {"BASH_ENV": str(job.root / "environment")}
    plan_phases(job, shell("look", f"env >{job.root}/seen"))
    assert job.run() == 0, job.out() + job.complain()
    return dict(line.partition("=")[::2] for line in (job.root / "seen").read_text().splitlines())


def test_an_alias_keeps_no_variable_from_the_benchmark(job: Job) -> None:
    job.slurm = Slurm(environment=(("SOME_THREADS", "2"),))
    assert variables(job, "shopt -s expand_aliases; alias export=false unset=false\n")["SOME_THREADS"] == "2"


@pytest.mark.parametrize("mask", ["000", "022", "077", "777"])
def test_no_mode_that_a_umask_gives_keeps_the_job_from_its_files_or_lets_others_change_them(
    job: Job, tmp_path: Path, mask: str
) -> None:
    (tmp_path / "environment").write_text(f"umask {mask}\n")
    job.environment |= {"BASH_ENV": str(tmp_path / "environment")}
    assert job.plan().run() == 0, job.out() + job.complain()
    paths = [path for path in job.steps[0].folder.iterdir() if path.name != "placement"]
    modes = {path.name: path.stat().st_mode & 0o777 for path in (*paths, job.folder / "facts.jsonl")}
    assert modes.keys() >= {"claim", "facts.jsonl", "stderr", "stdout"}
    assert {name for name, mode in modes.items() if mode & 0o002 or mode & 0o600 != 0o600} == set()


KEPT = ("SQUEUERS", "SLURM_JOB_UID", "SLURM_NODE_ALIASES", "SLURM_PMIX_DIRECT_CONN", "OMPI_MCA_btl", "OMPI_MCA_orte_x")
OVERRIDES = (
    "SQUEUE_USERS", "SQUEUE_STATES", "SCONTROL_ALL", "SACCT_FORMAT", "SLURM_CLUSTERS", "SLURM_LABELIO", "SBATCH_GRES",
    "SLURM_STDOUTMODE", "SLURM_EXPORT_ENV", "SRUN_EXPORT_ENV", "SRUN_CPUS_PER_TASK", "SLURM_WORKING_DIR",
    "SLURM_OF_A_LATER_VERSION", "SLURMD_DEBUG", "OMPI_MCA_orte_tag_output", "PRTE_MCA_prte_tag_output",
)  # fmt: skip


def test_variables_that_would_override_the_options_of_slurms_commands_are_unset(job: Job) -> None:
    seen = variables(job, "".join(f"export {name}=none\n" for name in (*KEPT, *OVERRIDES)))
    assert {name for name in KEPT if seen.get(name) != "none"} == set()
    assert seen.keys().isdisjoint(OVERRIDES)


def test_so_are_those_that_a_module_sets(job: Job) -> None:
    exports = "".join(f"export {name}=none; " for name in (*KEPT, *OVERRIDES))
    job.environment["BASH_FUNC_module%%"] = f"() {{ {exports} }}"
    job.slurm = Slurm(modules=("openmpi",))
    seen = variables(job, "")
    assert {name for name in KEPT if seen.get(name) != "none"} == set()
    assert seen.keys().isdisjoint(OVERRIDES)


def test_nothing_that_bash_reads_is_written_to_a_disk_that_may_be_full() -> None:
    """Before version 5.1 a here-string is a file in /tmp of the node."""
    assert [path.name for path in resources.TEMPLATES.glob("*-functions.bash") if "<<<" in path.read_text()] == []


def test_what_the_job_starts_inherits_no_environment_of_bash(job: Job, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    (tmp_path / "environment").write_text("mkdir() { echo no; }; export -f mkdir\n")
    job.environment |= {"BASH_ENV": str(tmp_path / "environment"), "SHELLOPTS": "noglob", "BASHOPTS": "nullglob"}
    job.environment["BASH_FUNC_module%%"] = f"() {{ env >{seen}; declare -F >>{seen}; }}"
    job.slurm = Slurm(modules=("openmpi",))
    assert job.plan().run() == 0
    names = {line.partition("=")[0] for line in seen.read_text().splitlines()}
    assert names.isdisjoint({"BASH_ENV", "SHELLOPTS", "BASHOPTS", "BASH_FUNC_mkdir%%", "declare -fx mkdir"})
    assert {"BASH_FUNC_module%%", "declare -fx module"} <= names


def test_a_run_that_ends_well_leaves_its_record_and_nothing_on_the_target(job: Job) -> None:
    before = time.time()
    assert job.plan().run() == 0
    record = job.record()
    assert record is not None
    assert before < record.pop("started") < record.pop("ended") < time.time()
    began, end = record.pop("uptime")
    assert 0 < began <= end
    assert record == {
        "made": True,
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
        "suspended": [],
    }
    assert job.left() == []
    assert sorted(path.name for path in job.steps[0].folder.iterdir()) == [
        "claim", "directory-made", "facts.jsonl", "stderr", "stdout",
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
    evidence = reading.read(job.steps[0].folder)
    assert evidence.environment.problems == ()
    assert evidence.before is not None and evidence.after is not None


def is_pending(process: int, number: signal.Signals) -> bool:
    """Whether a signal was sent to a process that has not handled it yet: SIGCONT takes a pending SIGTSTP away."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    pending = [int(line.split()[1], 16) for line in lines if line.startswith(("SigPnd:", "ShdPnd:"))]
    return any(mask >> (number - 1) & 1 for mask in pending)


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_job_that_slurm_suspends_records_during_which_run_and_how_long(job: Job, goes_on: bool) -> None:
    """Slurm sends SIGTSTP two seconds before; a run that ends within them counts as suspended too."""
    job.cluster.fault("bench-waits")
    job.plan(runs=2)
    process = job.start()
    fake_slurm.wait_until((Path(job.steps[0].directory) / "test-dir.0-0").exists, "the first run works")
    os.kill(process.pid, signal.SIGTSTP)
    if goes_on:
        fake_slurm.wait_until(lambda: not is_pending(process.pid, signal.SIGTSTP), "the job has seen the signal")
        os.kill(process.pid, signal.SIGSTOP)
        os.kill(process.pid, signal.SIGCONT)
    job.cluster.mend("bench-waits")
    assert process.wait(LIMIT_S) == 0
    first, second = job.record(1), job.record(2)
    assert first is not None and second is not None
    began, end = first["suspended"]
    assert first["started"] < began <= end <= first["ended"]
    assert second["suspended"] == []


def test_a_job_that_is_told_to_go_on_and_was_never_suspended_records_nothing(job: Job) -> None:
    job.cluster.fault("bench-waits")
    process = job.plan().start()
    fake_slurm.wait_until((Path(job.steps[0].directory) / "test-dir.0-0").exists, "the run works")
    os.kill(process.pid, signal.SIGCONT)
    job.cluster.mend("bench-waits")
    assert process.wait(LIMIT_S) == 0
    record = job.record()
    assert record is not None
    assert record["suspended"] == []


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


def test_the_benchmark_is_reported_where_to_write_and_what_geometry_to_expect(job: Job) -> None:
    job.plan(geometry=Geometry(2, 8)).run()
    (environment,) = [environment for _, environment in job.cluster.launches()]
    assert {name: value for name, value in environment.items() if name.startswith("BENCH_")} == {
        "BENCH_JSON": f"{job.steps[0].folder}/bench.jsonl", "BENCH_EXPECT_NODES": "2", "BENCH_EXPECT_PPN": "4"
    }  # fmt: skip


def test_a_step_that_slurmctld_took_for_alive_after_a_crash_keeps_no_other_from_starting(job: Job) -> None:
    job.plan().run()
    assert [environment["SLURM_OVERLAP"] for _, environment in job.cluster.launches()] == ["1"]


def test_a_benchmark_that_fails_is_recorded_with_its_status_and_the_next_run_goes_on(job: Job) -> None:
    job.cluster.fault("bench-fails", "mdtest: boom\n", one_time=True)
    assert job.plan(runs=2).run() == 1
    assert job.end_of(1) == ("failed", "the benchmark ended with status 1")
    assert (job.steps[0].folder / "stderr").read_text() == "mdtest: boom\n"
    assert job.end_of(2) == ("done", "")


def test_the_next_run_begins_while_the_record_of_the_one_before_is_written(job: Job) -> None:
    job.probe = True
    job.plan(runs=2)
    job.cluster.fault("witness-slow", str(job.steps[1].folder / "stdout"))
    assert job.run() == 0
    assert (job.cluster.root / "held").exists()
    assert not (job.cluster.root / "alone").exists()
    assert job.record(1) and job.record(2)


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


def test_where_the_witness_does_not_run_each_attempt_leaves_the_reason_where_the_driver_finds_it(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resources, "witness", lambda: job.root / "none")
    assert job.plan(runs=2).run() == 1
    reason = f"{job.root}/none does not run on {HOST}; put the benchmark where all nodes see it"
    for number, step in enumerate(job.steps, 1):
        assert job.record(number) is None
        assert (step.folder / "stderr").read_text() == f"{reason}\n"
    assert job.cluster.launches() == []
    assert job.left() == []


def test_a_run_whose_witness_dies_meanwhile_leaves_its_record(job: Job) -> None:
    job.cluster.fault("bench-waits")
    process = job.plan().start()
    fake_slurm.wait_until((Path(job.steps[0].directory) / "test-dir.0-0").exists, "the run works")
    children = [int(word) for word in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    (serving,) = (child for child in children if "job" in fake_slurm.command_line(child)[1:])
    os.kill(serving, signal.SIGKILL)
    job.cluster.mend("bench-waits")
    process.wait(LIMIT_S)
    assert job.end_of() == ("done", "")


def test_a_record_that_cannot_be_written_makes_the_job_fail(job: Job) -> None:
    job.plan()
    (job.steps[0].folder / "facts.jsonl.new").mkdir()
    assert job.run() == 1
    assert "done, but its record cannot be written" in job.out()
    assert (job.steps[0].folder / "stderr").read_text() == ""
    assert job.record() is None


# --- claims


def test_a_run_that_another_has_claimed_is_not_launched(job: Job) -> None:
    job.plan(runs=2)
    (job.steps[0].folder / "claim").mkdir()
    assert job.run() == 1
    assert job.record(1) is None
    assert job.end_of(2) == ("done", "")
    assert "scratch.peak.unique.r1, attempt 1: superseded, another has claimed it" in job.out()
    assert len(job.cluster.launches()) == 1


def test_a_run_that_cannot_be_claimed_says_why(job: Job) -> None:
    job.plan(runs=2)
    job.steps[0].folder.rmdir()
    assert job.run() == 1
    assert "attempt 1: mkdir: cannot create directory" in job.out()
    assert "superseded" not in job.out()
    assert job.end_of(2) == ("done", "")


def test_a_job_that_slurm_started_again_measures_nothing(job: Job) -> None:
    job.plan(runs=2)
    (job.steps[0].folder / "claim").mkdir()
    job.environment["SLURM_RESTART_COUNT"] = "2"
    assert job.run() == 1
    assert job.record(1) is None
    reason = "Slurm restarted the job (restart 2): its measurements would not be one run"
    assert job.end_of(2) == ("refused", reason)
    assert job.cluster.launches() == []
    assert job.left() == []


def test_a_job_that_slurm_forgot_and_started_again_measures_nothing(job: Job) -> None:
    """A slurmctld that lost its state counts no restart. What the first start recorded stays as it is."""
    job.plan(runs=2)
    recorded_path = job.folder / "facts.jsonl"
    recorded_path.write_text("{}\n")
    (job.steps[0].folder / "claim").mkdir()
    assert job.run() == 1
    assert job.record(1) is None
    reason = "Slurm forgot that it had started the job, and started it again: its measurements would not be one run"
    assert job.end_of(2) == ("refused", reason)
    assert job.cluster.launches() == []
    assert recorded_path.read_text() == "{}\n"


def test_a_second_start_changes_no_file_of_the_first(job: Job) -> None:
    job.plan(runs=2).run()
    kept_path = job.folder / "placement" / "0" / "placement.txt"  # a start that goes on reads it
    kept_path.parent.mkdir(parents=True)
    kept_path.write_text("0 n1\n")
    folders = [job.folder, *(step.folder for step in job.steps)]
    before = {path: path.read_text() for folder in folders for path in folder.rglob("*") if path.is_file()}
    assert job.run() == 1
    after = {path: path.read_text() for folder in folders for path in folder.rglob("*") if path.is_file()}
    output = job.folder / "stdout"
    assert after.pop(output).startswith(before.pop(output))
    assert after == before


# --- signals


def start_benchmark(job: Job) -> subprocess.Popen[str]:
    job.cluster.fault("bench-sleep", 3000)
    process = job.start()
    work = Path(job.steps[0].directory) / "test-dir.0-0"
    fake_slurm.wait_until(work.exists, "the benchmark works")
    return process


def test_nobody_else_can_put_a_link_into_the_directory_that_is_measured(job: Job) -> None:
    process = start_benchmark(job.plan())
    mode = Path(job.steps[0].directory).stat().st_mode
    process.terminate()
    process.wait(LIMIT_S)
    assert mode & 0o777 == 0o700


@pytest.mark.parametrize("is_group", [True, False])
def test_a_job_that_slurm_ends_records_the_run_under_way_and_leaves_the_others_unclaimed(
    job: Job, is_group: bool
) -> None:
    process = start_benchmark(job.plan(runs=2))
    if is_group:
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
    job.lock.mkdir()
    (job.lock / "owner").write_text(owner := "77 campaign-other-1 fake\n")
    process = job.plan().start()
    fake_slurm.wait_until(lambda: "waiting for the target" in job.out(), "it waits")
    os.killpg(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert not (job.steps[0].folder / "claim").exists()
    assert (job.lock / "owner").read_text() == owner


def test_a_job_that_is_killed_keeps_the_lock_which_the_next_one_finds_stale(job: Job, tmp_path: Path) -> None:
    process = start_benchmark(job.plan())
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(LIMIT_S)
    assert job.record() is None
    (job.cluster.root / "faults" / "bench-sleep").unlink()
    after = Job(tmp_path, job.cluster, "campaign-test-2", "2").plan(stale={job.steps[0].directory: ""})
    assert after.run() == 0
    assert after.left() == []


# --- a launch that met no slurmctld


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: Unable to create step for job 1: Unable to contact slurm controller (connect failure)",
        "srun: error: timeout waiting for task launch, started 0 of 8 tasks",
    ],
)
def test_a_launch_that_reached_no_task_is_tried_again(job: Job, text: str) -> None:
    job.cluster.fault("srun-fails", text, one_time=True)
    assert job.plan().run() == 0
    assert job.end_of() == ("done", "")
    assert f"not launched, again in 5 s: {text}" in job.out()
    assert len(job.cluster.launches()) == 2


NONE_STARTED = "srun: error: timeout waiting for task launch, started 0 of 8 tasks"


def test_a_launch_that_started_no_task_is_tried_again_whatever_status_srun_gives(job: Job) -> None:
    job.cluster.fault("srun-loses", f"0\n{NONE_STARTED}\n", one_time=True)
    assert job.plan().run() == 0
    assert job.end_of() == ("done", "")
    assert f"not launched, again in 5 s: {NONE_STARTED}" in job.out()


def test_a_run_of_which_no_task_had_started_when_the_job_ended_is_not_done(job: Job) -> None:
    job.cluster.fault("srun-loses", f"0\n{NONE_STARTED}\n")
    process = job.plan().start()
    fake_slurm.wait_until(lambda: "not launched, again" in job.out(), "the launch is to be tried again")
    os.kill(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert job.end_of() == ("terminated", "the job was ended (SIGTERM)")


def test_a_program_that_ended_well_is_not_launched_again_for_what_srun_met_meanwhile(job: Job) -> None:
    job.cluster.fault("srun-loses", "0\nsrun: error: Socket timed out on send/recv operation\n")
    job.plan().run()
    assert len(job.cluster.launches()) == 1


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: Unable to create step for job 1: Requested node configuration is not available",
        "srun: error: timeout waiting for task launch, started 3 of 8 tasks",
    ],
)
def test_a_launch_that_slurmctld_refuses_or_that_started_tasks_is_not_tried_again(job: Job, text: str) -> None:
    job.cluster.fault("srun-fails", text)
    assert job.plan().run() == 1
    assert job.end_of() == ("failed", "the benchmark ended with status 1")
    assert len(job.cluster.launches()) == 1


# --- a node that Slurm lost


@pytest.mark.parametrize("status", [0, 143])  # srun's own, without or with a word of the tasks on other nodes
def test_a_run_whose_node_is_lost_is_no_result_and_nothing_further_is_begun(job: Job, status: int) -> None:
    job.cluster.fault("srun-loses", f"{status}\nsrun: error: Node failure on n2\n")
    assert job.plan(runs=2).run() == 1
    assert job.end_of(1) == ("terminated", "Slurm lost n2 during the run")
    assert (record := job.record(1)) is not None
    assert record["exit_status"] == status
    assert not (job.steps[1].folder / "claim").exists()
    assert job.left() == []


@pytest.mark.parametrize("probe", [False, True])
def test_a_job_that_slurmctld_does_not_know_to_run_fails_one_run_and_leaves_the_others(job: Job, probe: bool) -> None:
    job.probe = probe
    job.cluster.fault("srun-fails", "srun: error: Unable to confirm allocation for job 1: Job is pending execution")
    assert job.plan(runs=2).run() == 1
    assert job.end_of(1) == ("terminated", "Slurm lost job 1 during the run")
    assert not (job.steps[1].folder / "claim").exists()
    assert job.left() == []


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: Slurm job 1 has expired\nsrun: Check SLURM_JOB_ID environment variable. Expired or invalid job 1",
        "srun: error: Unable to create step for job 1: Job/step already completing or completed",
        "srun: error: Unable to create step for job 1: Invalid job id specified",
        "srun: error: Task launch for StepId=1.0 failed on node n1: Job credential revoked",
    ],
)
def test_a_step_that_begins_while_its_job_is_being_cancelled_did_not_fail_by_itself(job: Job, text: str) -> None:
    job.cluster.fault("srun-fails", text)
    assert job.plan(runs=2).run() == 1
    assert job.end_of(1) == ("terminated", "Slurm lost job 1 during the run")
    assert not (job.steps[1].folder / "claim").exists()


# --- modules


def module(job: Job, text: str) -> None:
    job.environment["BASH_FUNC_module%%"] = f"() {{ {text}; }}"
    job.slurm = Slurm(time_s=90, modules=("mpi/openmpi 4",))


def test_a_module_that_cannot_be_loaded_is_refused(job: Job) -> None:
    module(job, 'echo "$2 is unknown" >&2; return 1')
    assert job.plan().run() == 1
    assert job.end_of() == ("refused", "module mpi/openmpi 4 cannot be loaded: module load failed")
    assert job.cluster.launches() == []
    assert job.left() == []


def test_a_module_command_may_use_what_is_not_set_and_change_the_locale(job: Job) -> None:
    module(job, "local x=$NOT_SET; export LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8")
    assert job.plan().run() == 0
    assert job.end_of() == ("done", "")


# --- what is written is JSON, whatever it says


def test_the_environment_is_recorded_without_secrets(job: Job) -> None:
    job.environment |= {"SLURM_JWT": "secret", "OMPI_MCA_btl": 'tcp "x"\n\\', "HOME_SWEET": "no", "LD_PRELOAD_": "ü"}
    job.plan(runs=2).run()
    of_job = (job.folder / "facts.jsonl").read_text()
    assert of_job.startswith('{"format": 1}\n')
    assert all((step.folder / "facts.jsonl").read_text().startswith(of_job) for step in job.steps)
    recorded_fields = {fact["name"]: fact["value"] for fact in facts.read_source(job.steps[0].folder, "host")}
    assert recorded_fields["directory"] == str(job.target)
    assert recorded_fields["env.OMPI_MCA_btl"] == 'tcp "x" \\'
    assert recorded_fields["env.LD_PRELOAD_"] == "ü"
    assert recorded_fields["env.SLURM_JOB_ID"] == "1"
    assert {"env.SLURM_JWT", "env.HOME_SWEET"}.isdisjoint(recorded_fields)


def completion(
    folder: Path, *phases: str, before: Sequence[str] = (), **other: str | bytes
) -> subprocess.CompletedProcess[bytes]:
    """The witness writes the record of a run, of which some words are other ones."""
    words: dict[str, str | bytes] = {
        "run": "r1", "attempt": "1", "token": "t", "outcome": "done", "reason": "", "status": "0", "started": "10.5",
        "ended": "12", "uptime": "", "suspended": "", "leftover": "0", "unended": "",
    }  # fmt: skip
    assert other.keys() <= words.keys()
    command = [*before, resources.witness(), "complete", folder, *{**words, **other}.values(), *phases]
    return subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False)


def reasons(texts: list[bytes]) -> list[str]:
    """What the records have of each reason."""
    with TemporaryDirectory() as folder:
        statuses = [completion(Path(folder), reason=text).returncode for text in texts]
        recorded_values = [fact["value"] for fact in facts.read_source(Path(folder), "job") if fact["name"] == "reason"]
        assert len(recorded_values) == statuses.count(0)
        return recorded_values


@settings(max_examples=examples(15))
@given(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=20), min_size=20, max_size=40))
def test_a_reason_comes_back_from_the_record(texts: list[str]) -> None:
    assert reasons([text.encode() for text in texts]) == texts


@settings(max_examples=examples(15))
@given(st.lists(st.binary(max_size=20).map(lambda data: data.replace(b"\0", b"")), min_size=20, max_size=40))
def test_a_reason_of_any_bytes_gives_a_record_that_can_be_read(texts: list[bytes]) -> None:
    assert len(reasons(texts)) == len(texts)


def test_a_record_has_each_word_where_it_belongs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_RESTART_COUNT", "2")
    phases = ("write", "0", "10.5", "11", "4 5.25"), ("read", "-1", "11", "12", "")
    process = completion(
        tmp_path, *phases[0], *phases[1], uptime="4 6", suspended="10.6 10.7 ", unended="last", status="-1"
    )
    assert (process.returncode, process.stderr) == (0, b"")
    (tmp_path / "facts.jsonl.new").rename(tmp_path / "facts.jsonl")
    record = facts.read_completion(tmp_path)
    assert record is not None
    assert record["suspended"] == [10.6, 10.7]
    assert (record["uptime"], record["unended"], record["exit_status"], record["restart_count"]) == (
        [4, 6],
        "last",
        -1,
        2,
    )
    assert record["phases"] == [
        {"phase": "write", "exit_status": 0, "started": 10.5, "ended": 11, "uptime": [4, 5.25]},
        {"phase": "read", "exit_status": -1, "started": 11, "ended": 12},
    ]


def test_what_a_run_has_not_is_not_in_its_record(tmp_path: Path) -> None:
    assert completion(tmp_path).returncode == 0
    (tmp_path / "facts.jsonl.new").rename(tmp_path / "facts.jsonl")
    record = facts.read_completion(tmp_path)
    assert record is not None
    assert record.keys().isdisjoint({"uptime", "unended", "phases"})
    assert record["suspended"] == []


@pytest.mark.parametrize(
    "other",
    [
        {"status": ""},
        {"leftover": "1x"},
        {"started": "11,5"},
        {"ended": "inf"},
        {"uptime": "1 x"},
        {"attempt": "9" * 30},
    ],
)
def test_a_word_that_is_no_number_leaves_no_record(tmp_path: Path, other: dict[str, str]) -> None:
    process = completion(tmp_path, **other)
    assert process.returncode == 1
    assert b"is not a number" in process.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_phase_of_too_few_words_leaves_no_record(tmp_path: Path) -> None:
    assert completion(tmp_path, "write", "0").returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_a_record_that_does_not_reach_the_disk_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LD_PRELOAD": library("faulty_io"), "FAULT_CALL": "fsync", "FAULT_PATH": "facts"}.items():
        monkeypatch.setenv(name, str(value))
    process = completion(tmp_path)
    assert process.returncode == 1
    assert b"Input/output error" in process.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_record_that_is_cut_off_is_none(tmp_path: Path) -> None:
    process = completion(tmp_path, before=("bash", "-c", 'ulimit -f 1; exec "$@"', "bash"), reason="x" * 4000)
    assert process.returncode == 1
    assert b"File too large" in process.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_reason_full_of_odd_bytes_leaves_a_record_that_can_be_read(tmp_path: Path, cluster: Fake) -> None:
    job = Job(tmp_path, cluster)
    odd = b'srun: error: "\\ \t\x01 \xff\xfe \xc3\xbc {"a": 1}'
    (cluster.root / "faults" / "srun-fails").write_bytes(odd.replace(b"\xff\xfe ", b""))
    job.plan_with_mpirun(ONE).run()
    assert job.end_of() == ("refused", 'the placement probe failed: srun: error: "\\    ü {"a": 1}')


# --- a benchmark that does not end


LAST = "-- finished at 11/21/2026 02:00:08 --"


def plan_endless(job: Job, words: str, runs: int = 1) -> Job:
    """A job whose runs execute these words of a shell, and are looked at all the time."""
    job.constants["campaign_look_s"] = 1
    job.plan(runs)
    command = Command("/bin/sh", ("-c", words), program="sh", end="-- finished at .+ --")
    job.steps = [replace(step, run=replace(step.run, commands=(command,))) for step in job.steps]
    return job


def test_a_benchmark_that_does_not_end_after_its_last_line_is_ended_and_its_output_is_whole(job: Job) -> None:
    late = "trap 'echo late; echo late >&2; exit 7' TERM"
    words = f"echo one; echo '{LAST}'; echo; echo warned >&2; {late}; while :; do /bin/sleep 0.1; done"
    assert plan_endless(job, words, runs=2).run() == 0, job.complain()
    for number in (1, 2):
        folder, record = job.steps[number - 1].folder, job.record(number)
        assert record is not None
        assert (job.end_of(number), record["unended"], record["exit_status"]) == (("done", ""), LAST, 7)
        assert (folder / "stdout").read_text() == f"one\n{LAST}\n\n"
        assert (folder / "stderr").read_text() == "warned\n"
        completion = read_completion(folder, job.steps[number - 1].token)
        assert completion is not None
        assert (completion.ended_well, completion.unended) == (True, LAST)
    assert "\nlate\n" in job.out()
    assert job.complain().count("late\n") == 2
    assert job.left() == []
    assert not (job.folder / "closing").exists()


@pytest.mark.parametrize("options", [("--unbuffered",), ("--unbuffered", "--label")])
def test_a_last_line_is_known_behind_the_number_of_its_rank_where_srun_prints_it(
    options: tuple[str, ...], job: Job
) -> None:
    plan_endless(job, f"echo '10: {LAST}'; exec /bin/sleep {1000 if '--label' in options else 4}")
    step = job.steps[0]
    job.steps = [replace(step, run=replace(step.run, launcher=Launcher(options=options)))]
    assert job.run() == 0, job.complain()
    assert (job.record() or {}).get("unended", "") == (f"10: {LAST}" if "--label" in options else "")


def test_a_benchmark_that_ignores_being_ended_is_killed(job: Job) -> None:
    assert plan_endless(job, f"echo '{LAST}'; trap '' TERM; while :; do /bin/sleep 0.1; done").run() == 0, (
        job.complain()
    )
    record = job.record()
    assert record is not None
    assert (record["outcome"], record["unended"]) == ("done", LAST)
    assert record["exit_status"] != 0


@pytest.mark.parametrize(
    "words",
    [
        f"echo '{LAST}'; for i in $(seq 32); do /bin/sleep 0.1; echo iteration $i; done",
        f"echo '{LAST} of one iteration'; /bin/sleep 4",
        f"echo '{LAST}' >&2; /bin/sleep 4",
        f"echo '{LAST}'; /bin/sleep 0.2",
    ],
    ids=["a line follows", "another line", "on stderr", "it ends soon"],
)
def test_a_benchmark_that_goes_on_or_ends_by_itself_is_left_alone(words: str, job: Job) -> None:
    assert plan_endless(job, f"{words}; exit 0").run() == 0, job.complain()
    record = job.record()
    assert record is not None
    assert (record["outcome"], record["exit_status"], "unended" in record) == ("done", 0, False)
    assert job.complain() == ""


def test_a_phase_that_does_not_end_is_ended_and_the_next_one_runs(job: Job) -> None:
    job.constants["campaign_look_s"] = 1
    write = replace(shell("write", "echo done; exec /bin/sleep 1000"), end="done")
    plan_phases(job, write, shell("read", "echo read"))
    assert job.run() == 0, job.complain()
    record = job.record()
    assert record is not None
    assert (record["outcome"], record["unended"]) == ("done", "write: done")
    assert [phase["phase"] for phase in record["phases"]] == ["write", "read"]


@pytest.mark.parametrize("status", ["ok", "failed"])
def test_the_built_in_benchmark_is_known_by_the_last_of_its_json_lines(status: str, job: Job) -> None:
    line = f'{{"type": "end", "status": "{status}", "failed_operations": 0}}'
    words = f"echo '{line}' >$BENCH_JSON; /bin/sleep {1000 if status == 'ok' else 5}; exit 3"
    plan_endless(job, words)
    step = job.steps[0]
    (command,) = step.run.commands
    job.steps[0] = replace(step, run=replace(step.run, commands=(replace(command, end=""),)))
    job.run()
    assert job.end_of()[0] == ("done" if status == "ok" else "failed")


# --- runs of several phases


def plan_phases(job: Job, *commands: Command) -> Job:
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
    job = plan_phases(Job(tmp_path, cluster), WRITE, write, read, REMOVE, look)
    assert (job.run(), job.end_of()) == (0, ("done", "")), job.complain()
    folder = job.steps[0].folder
    texts = {name: (folder / name / "stdout").read_text() for name in ("input", "write", "read", "purge", "look")}
    assert texts == {"input": "", "write": "wrote\n", "read": "1\na = 'b c'\n$(x)\n", "purge": "", "look": "in\n"}
    completion = read_completion(folder, job.steps[0].token)
    assert completion is not None
    assert [(times.phase, times.exit_status) for times in completion.phases] == [
        (name, 0) for name in ("input", "write", "read", "purge", "look")
    ]
    times = [time for phase_times in completion.phases for time in (phase_times.started, phase_times.ended)]
    assert times == sorted(times)
    assert (completion.started, completion.ended) == (times[0], completion.ended)
    assert job.left() == []


def test_a_program_works_in_the_attempts_directory_and_the_file_that_it_writes_there_is_part_of_its_output(
    tmp_path: Path, cluster: Fake
) -> None:
    writing = replace(shell("solve", "pwd; cat in/put; echo 1.5 >out-7.txt; echo 2 >other"), file="out-*.txt")
    job = plan_phases(Job(tmp_path, cluster), WRITE, writing, replace(shell("look", "echo none"), file="absent*"))
    assert (job.run(), job.end_of()) == (0, ("done", "")), job.complain()
    folder, directory = job.steps[0].folder, job.steps[0].directory
    assert (folder / "solve" / "stdout").read_text() == f"{directory}\na = 'b c'\n$(x)\n1.5\n"
    assert (folder / "look" / "stdout").read_text() == "none\n"
    assert job.left() == []


def test_an_input_file_is_copied_to_where_a_program_reads_it(tmp_path: Path, cluster: Fake) -> None:
    box = tmp_path / "it's a box"
    box.write_text("16 16 16")
    copy = Command("campaign_copy", ("{directory}/in/HPL.dat", str(box)), "copy", untimed=True)
    job = plan_phases(Job(tmp_path, cluster), copy, shell("look", "cat in/HPL.dat"))
    assert (job.run(), job.end_of()) == (0, ("done", "")), job.complain()
    assert (job.steps[0].folder / "look" / "stdout").read_text() == "16 16 16"


@pytest.mark.parametrize("path", ["/elsewhere/x", "{directory}/../x", "{directory}x"])
@pytest.mark.parametrize("function", ["campaign_copy", "campaign_write", "campaign_remove"])
def test_nothing_is_written_or_removed_outside_of_the_attempts_directory(
    function: str, path: str, tmp_path: Path, cluster: Fake
) -> None:
    words = (path, "text")[: 1 if function == "campaign_remove" else 2]
    job = plan_phases(Job(tmp_path, cluster), Command(function, words, "try", untimed=True), shell("look", "true"))
    job.run()
    assert job.end_of() == ("failed", "phase try: the benchmark ended with status 1")
    text = (job.steps[0].folder / "try" / "stderr").read_text()
    directory = job.steps[0].directory
    assert text == f"{path.replace('{directory}', directory)} is not below {directory}\n"


def test_the_first_phase_that_fails_ends_the_run(tmp_path: Path, cluster: Fake) -> None:
    job = plan_phases(Job(tmp_path, cluster), shell("write", "true"), shell("read", "exit 3"), shell("look", "true"))
    job.run()
    assert job.end_of() == ("failed", "phase read: the benchmark ended with status 3")
    record = job.record()
    assert record is not None
    assert [(phase["phase"], phase["exit_status"]) for phase in record["phases"]] == [("write", 0), ("read", 3)]
    assert not (job.steps[0].folder / "look").exists()
    assert job.left() == []


def test_a_job_that_is_ended_between_phases_is_no_result(tmp_path: Path, cluster: Fake) -> None:
    path = tmp_path / "told"
    words = f"trap '' TERM; echo on; until [ -e {path} ]; do /bin/sleep 0.02; done"
    job = plan_phases(Job(tmp_path, cluster), shell("write", words), shell("read", "true"))
    process, output = job.start(), job.steps[0].folder / "write" / "stdout"
    fake_slurm.wait_until(lambda: output.exists() and output.stat().st_size, "the first phase works")
    os.kill(process.pid, signal.SIGTERM)
    path.touch()
    process.wait(LIMIT_S)
    assert job.end_of()[0] == "terminated"
    assert not (job.steps[0].folder / "read").exists()


def test_the_ranks_of_each_phase_that_were_not_seen_are_asked_for_where_it_ran(tmp_path: Path, cluster: Fake) -> None:
    command = replace(shell("read", "true"), first_node=ONE.nodes)
    job = plan_phases(Job(tmp_path, cluster), WRITE, shell("write", "true"), command)
    job.probe = True
    cluster.fault("witness-blind")
    assert (job.run(), job.end_of()) == (0, ("done", "")), job.complain()
    requests = [next(word for word in words if word.startswith("--relative")) for words, _ in cluster.launches()]
    assert requests == ["--relative=0", f"--relative={ONE.nodes}"] * 2
    assert {fact["phase"] for fact in facts.read_source(job.steps[0].folder, "probe")} == {"write", "read"}


def test_the_ring_of_pmix_is_left_out_where_a_phase_begins_on_another_node(tmp_path: Path, cluster: Fake) -> None:
    asks = 'echo "${SLURM_PMIX_FENCE:-the default}"'
    job = plan_phases(Job(tmp_path, cluster), shell("first", asks), replace(shell("other", asks), first_node=ONE.nodes))
    job.environment |= {"SLURM_PMIX_FENCE": "ring"}
    assert (job.run(), job.end_of()) == (0, ("done", "")), job.complain()
    folder = job.steps[0].folder
    assert [(folder / phase / "stdout").read_text().split("\n")[0] for phase in ("first", "other")] == [
        "ring",
        "the default",
    ]


def test_a_phase_with_counts_of_its_own_is_launched_expected_and_asked_for_with_them(
    tmp_path: Path, cluster: Fake
) -> None:
    says = "echo $BENCH_EXPECT_NODES $BENCH_EXPECT_PPN"
    alone = replace(shell("prepare", says), geometry=Geometry(1, 1), end="(a|b)")
    job = plan_phases(Job(tmp_path, cluster), alone, shell("solve", says))
    job.probe = True
    cluster.fault("witness-blind")
    assert (job.run(), job.end_of()) == (0, ("done", "")), job.complain()
    counts = [[word for word in words if word.startswith(("--nodes", "--ntasks="))] for words, _ in cluster.launches()]
    of_run = [f"--nodes={ONE.nodes}", f"--ntasks={ONE.processes}"]
    assert counts == [["--nodes=1", "--ntasks=1"], of_run] * 2
    folder = job.steps[0].folder
    outputs = [(folder / name / "stdout").read_text().splitlines() for name in ("prepare", "solve")]
    assert outputs == [["1 1"], [f"{ONE.nodes} {ONE.processes_per_node}"] * ONE.processes]
    assert [len(facts.probe_lines(folder, name)) for name in ("prepare", "solve")] == [1, ONE.processes]


@pytest.mark.parametrize("word", ["phase=io\n", "beside=x", "phase=", "end=1", "file=a"])
def test_a_text_may_begin_as_the_script_begins_a_phase(tmp_path: Path, cluster: Fake, word: str) -> None:
    write = Command("campaign_write", ("{directory}/put", word), "input", untimed=True)
    job = plan_phases(Job(tmp_path, cluster), write, shell("read", "cat {directory}/put"))
    assert (job.run(), job.end_of()) == (0, ("done", "")), job.complain()
    assert (job.steps[0].folder / "read" / "stdout").read_text() == f"{word}\n"


def plan_simultaneous(job: Job, *words: str, ends: str = "") -> Job:
    """A job whose run has one phase for each of these words, all at the same time, and one behind them."""
    phases = [
        replace(shell(f"load{i}", text), geometry=ONE, first_node=i * ONE.nodes, beside=i > 0, end=ends)
        for i, text in enumerate(words)
    ]
    return plan_phases(job, *phases, shell("look", "ls {directory}"))


MET = "echo $BENCH_EXPECT_NODES; touch {directory}/%s; until [ -e {directory}/%s ]; do /bin/sleep 0.02; done; echo %s"


def test_phases_that_start_together_run_at_the_same_time_and_each_keeps_its_own_output(
    tmp_path: Path, cluster: Fake
) -> None:
    job = plan_simultaneous(Job(tmp_path, cluster), MET % (1, 2, "a"), MET % (2, 1, "b"))  # each waits for the other
    assert (job.run(), job.end_of()) == (0, ("done", "")), job.complain()
    folder = job.steps[0].folder
    outputs = [(folder / name / "stdout").read_text().split() for name in ("load0", "load1", "look")]
    assert outputs == [["1", "a"], ["1", "b"], ["1", "2"]]
    completion = read_completion(folder, job.steps[0].token)
    assert completion is not None
    first, second, last = completion.phases
    assert [times.phase for times in completion.phases] == ["load0", "load1", "look"]
    assert max(first.started, second.started) < min(first.ended, second.ended)
    assert max(first.ended, second.ended) <= last.started
    assert completion.uptime[0] == first.uptime[0]
    assert max(first.uptime[1], second.uptime[1]) <= last.uptime[0] <= last.uptime[1] <= completion.uptime[1]
    places = [next(word for word in words if word.startswith("--relative")) for words, _ in cluster.launches()]
    assert sorted(places[:2]) == ["--relative=0", f"--relative={ONE.nodes}"]
    assert {environment["BENCH_JSON"] for _, environment in cluster.launches()} == {
        f"{folder}/{name}/bench.jsonl" for name in ("load0", "load1", "look")
    }
    assert not (job.folder / "launched").exists()


@pytest.mark.parametrize("fails", [0, 1])
def test_where_one_of_those_that_run_together_fails_the_others_are_ended(
    fails: int, tmp_path: Path, cluster: Fake
) -> None:
    words = ["echo begun; touch {directory}/on; exec /bin/sleep 1000"] * 2
    words[fails] = "until [ -e {directory}/on ]; do /bin/sleep 0.02; done; echo out; exit 3"
    job = plan_simultaneous(Job(tmp_path, cluster), *words)
    job.run()
    assert job.end_of() == ("failed", f"phase load{fails}: the benchmark ended with status 3")
    record, folder = job.record(), job.steps[0].folder
    assert record is not None
    assert [phase["phase"] for phase in record["phases"]] == ["load0", "load1"]
    assert [phase["exit_status"] for phase in record["phases"]][fails] == record["exit_status"] == 3
    assert record["phases"][1 - fails]["exit_status"] != 0
    assert "begun" in (folder / f"load{1 - fails}" / "stdout").read_text()
    assert "out" in (folder / f"load{fails}" / "stdout").read_text()
    assert not (folder / "look").exists()
    assert job.left() == []


def test_one_that_ignores_being_ended_with_the_others_is_killed(tmp_path: Path, cluster: Fake) -> None:
    stays = "trap '' TERM; touch {directory}/on; while :; do /bin/sleep 10; done"
    job = plan_simultaneous(
        Job(tmp_path, cluster), stays, "until [ -e {directory}/on ]; do /bin/sleep 0.02; done; exit 3"
    )
    job.constants["campaign_look_s"] = 1
    job.run()
    record = job.record()
    assert record is not None
    assert (record["reason"], record["phases"][0]["exit_status"]) == (
        "phase load1: the benchmark ended with status 3", 128 + signal.SIGKILL
    )  # fmt: skip


def test_one_of_those_that_run_together_that_does_not_end_is_ended_by_itself(tmp_path: Path, cluster: Fake) -> None:
    job = plan_simultaneous(
        Job(tmp_path, cluster), "echo fin; exec /bin/sleep 1000", "/bin/sleep 5; echo fin", ends="fin"
    )
    job.constants["campaign_look_s"] = 1
    assert job.run() == 0, job.complain()
    record = job.record()
    assert record is not None
    assert (record["outcome"], record["unended"]) == ("done", "load0: fin")
    assert [phase["exit_status"] for phase in record["phases"]][1:] == [0, 0]


def test_all_that_run_together_end_with_the_job_and_are_recorded(tmp_path: Path, cluster: Fake) -> None:
    words = [f"echo begun; touch {{directory}}/on{number}; exec /bin/sleep 1000" for number in (0, 1)]
    job = plan_simultaneous(Job(tmp_path, cluster), *words)
    process, directory = job.start(), Path(job.steps[0].directory)
    fake_slurm.wait_until(lambda: all((directory / f"on{number}").exists() for number in (0, 1)), "both have begun")
    os.kill(process.pid, signal.SIGTERM)
    process.wait(LIMIT_S)
    assert job.end_of() == ("terminated", "the job was ended (SIGTERM)")
    record = job.record()
    assert record is not None
    assert [phase["exit_status"] != 0 for phase in record["phases"]] == [True, True]


def test_phases_on_other_nodes_begin_behind_those_of_the_others(tmp_path: Path, cluster: Fake) -> None:
    command = replace(shell("read", "true"), first_node=ONE.nodes)
    job = plan_phases(Job(tmp_path, cluster), shell("write", "true"), command)
    assert job.run() == 0, job.complain()
    places = [[word for word in words if word.startswith("--relative")] for words, _ in cluster.launches()]
    assert places == [["--relative=0"], [f"--relative={ONE.nodes}"]]
    assert f"#SBATCH --nodes={2 * ONE.nodes}\n" in (job.folder / "job.sbatch").read_text()

"""Campaigns that meet trouble of every kind, through the command line, on a real Slurm of several nodes with MPI."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from tests.support import facts
from tests.support.cases import Case, make_case, wait_until
from tests.support.sandbox_fixture import OWN, running

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]


def hold_up(case: Case) -> None:
    """Its jobs wait for the target until .campaign-lock is removed."""
    (case.target / ".campaign-lock").mkdir()


def daemon(sandbox: Sandbox, name: str) -> int:
    """Process id of one of a sandbox's daemons, by its name or its node's."""
    pid = next(status.pid for status in sandbox.status().daemons if name in (status.name, status.node))
    assert pid is not None
    return pid


@pytest.fixture
def slow_epilog_sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    """A cluster whose nodes, all but the first, check their health for three seconds after each job."""
    epilog = tmp_path / "epilog"
    epilog.write_text('#!/bin/sh\n[ "$(hostname)" = node1 ] || sleep 3\n')
    epilog.chmod(0o755)
    with running(Shape(nodes=3, cpus=2, epilog=str(epilog))) as cluster:
        yield cluster


@pytest.fixture
def small_target() -> Iterator[Path]:
    """A file system with room for few files, mounted before the test's cluster starts."""
    if os.geteuid() != 0:
        pytest.fail("this test mounts a small tmpfs: run it as root")
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=500", "none", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def test_an_edited_launch_condition_measures_only_what_it_changes(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "edited")
    case.call("run", "--only", "scratch/single/*/*", "--only", "scratch/node/shared/*")
    case.file.write_text(case.file.read_text().replace("node: 2", "node: 3"))
    states = case.states()
    assert states["scratch.single.shared.r1"]["state"] == "done"
    assert states["scratch.node.shared.r1"]["state"] == "planned"


# --- an external binary


def test_an_external_binary_is_asked_for_its_dialect_and_seen_where_it_runs(tmp_path: Path, sandbox: Sandbox) -> None:
    binary = Path(__file__).parents[2] / "bench-src" / "build" / "mdtest"
    further_text = f"benchmark:\n  executable: {binary}\n"
    case = make_case(tmp_path, sandbox, "external", lines=further_text)
    case.call("run", "--only", "scratch/peak/unique/*")
    nodes = facts.nodes_of_ranks(case.results / "runs/scratch.peak.unique.r1/1")
    assert nodes == [nodes[0]] * 2 + [nodes[2]] * 2
    assert nodes[0] != nodes[2]
    rows = [row for row in case.table(status=1) if row["status"] == "measured"]
    assert len(rows) == 3


def test_a_benchmark_that_ended_well_without_its_table_is_measured_by_the_next_run(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    binary = Path(__file__).parents[2] / "bench-src" / "build" / "mdtest"
    script = tmp_path / "mdtest.sh"
    further_text = f"benchmark:\n  executable: {script}\n  dialect: rank-offset\nlauncher:\n  prefix: [/bin/sh]\n"
    case = make_case(tmp_path, sandbox, "wordless", lines=further_text)
    numbers = []
    for command in ("true", f'exec {binary} "$@"', "true"):
        script.write_text(f"#!/bin/sh\n{command}\n")
        script.chmod(0o755)
        # The wrapper is not the program that ran, which makes the numbers invalid.
        case.call("run", "--only", "scratch/single/shared/*", status=1)
        row = next(row for row in case.table(status=1) if row["launch"] == "single" and row["files"] == "shared")
        numbers.append((row["attempts"], row["value"] is not None))
    assert numbers == [(1, False), (2, True), (2, True)]


# --- one target, one measurement at a time


def overlaps(completions: list[dict[str, Any]]) -> list[tuple[str, str]]:
    ordered = sorted(completions, key=lambda record: record["started"])
    return [(a["run"], b["run"]) for a, b in itertools.pairwise(ordered) if b["started"] < a["ended"]]


def test_two_campaigns_on_one_target_never_overlap(tmp_path: Path, sandbox: Sandbox) -> None:
    first = make_case(tmp_path, sandbox, "tenant1")
    second = make_case(tmp_path, sandbox, "tenant2", target=first.target)
    drivers = [case.start("run", "--only", "scratch/[sn]*/shared/*") for case in (first, second)]
    for driver in drivers:
        out, err = driver.communicate(timeout=800)
        assert driver.returncode == 0, out + err
    entries = first.completions() + second.completions()
    assert len(entries) == 4
    assert overlaps(entries) == []


# --- drivers that die or go away


def test_a_killed_driver_is_followed_by_one_that_loses_and_repeats_nothing(tmp_path: Path, sandbox: Sandbox) -> None:
    """tests/slurm/test_submit.py kills drivers at many lines, on a stand-in for Slurm."""
    case = make_case(tmp_path, sandbox, "killed")
    options = ("--only", "scratch/[sn]*/shared/*")
    driver = case.start("run", *options)
    wait_until(lambda: case.slurm("squeue", "-h", "-o", "%j").count("campaign-killed") == 1, goal="the first job")
    driver.send_signal(signal.SIGKILL)
    driver.communicate(timeout=800)
    case.call("run", *options)
    completions = case.completions()
    assert sorted(record["run"] for record in completions) == ["scratch.node.shared.r1", "scratch.single.shared.r1"]
    measured = [row for row in case.table(status=1) if row["status"] == "measured"]
    assert len(measured) == 6
    assert {row["statistics"]["n"] for row in measured} == {1}
    wait_until(lambda: case.file.stem not in case.slurm("squeue", "-h", "-o", "%j"), goal="no job to be left over")


def test_a_detached_campaign_is_collected_by_whoever_looks(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "detached")
    case.call("run", "--detach", "--only", "scratch/single/*/*")
    wait_until(lambda: len(case.completions()) == 3, goal="the three records")
    assert sum(row["status"] == "measured" for row in case.table(status=1)) == 9


# --- Slurm's faults


def test_sbatch_failing_after_slurmctld_took_the_job_loses_and_repeats_nothing(
    tmp_path: Path, own_sandbox: Sandbox
) -> None:
    case = make_case(tmp_path, own_sandbox, "stopped")
    controller = daemon(own_sandbox, "slurmctld")
    driver = case.start("run", "--only", "scratch/single/shared/*")
    wait_until(lambda: list(case.results.glob("jobs/*/job.sbatch")), goal="the job script")
    os.kill(controller, signal.SIGSTOP)
    try:
        time.sleep(14)  # sbatch gives up after 10 s
    finally:
        os.kill(controller, signal.SIGCONT)
    out, err = driver.communicate(timeout=800)
    assert driver.returncode == 0, out + err
    assert len(case.completions()) == 1


def test_a_controller_restarted_under_way_changes_nothing(tmp_path: Path, own_sandbox: Sandbox) -> None:
    case = make_case(tmp_path, own_sandbox, "restarted", items=65536)
    driver = case.start("run", "--only", "scratch/single/*/*")
    wait_until(lambda: len(case.completions()) >= 1, goal="the first record")
    os.kill(daemon(own_sandbox, "slurmctld"), signal.SIGTERM)
    wait_until(lambda: "slurmctld" in own_sandbox.status().dead, goal="the controller to end")
    Sandbox.start(own_sandbox.layout.top, OWN)
    out, err = driver.communicate(timeout=800)
    assert driver.returncode == 0, out + err
    assert len(case.completions()) == 3


def test_what_a_crashed_controller_forgot_is_completed_by_the_next_run(tmp_path: Path, own_sandbox: Sandbox) -> None:
    case = make_case(tmp_path, own_sandbox, "crashed")
    driver = case.start("run", "--only", "scratch/[sn]*/*/*")
    wait_until(lambda: len(case.completions()) >= 1, goal="the first record")
    # Killed within seconds of taking the jobs: its state file does not have them yet.
    killed = daemon(own_sandbox, "slurmctld")
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{killed}").exists(), goal="the controller's end")
    Sandbox.start(own_sandbox.layout.top, OWN)
    driver.communicate(timeout=800)
    assert all(state["reason"] for state in case.states().values() if state["state"] not in ("done", "planned"))
    case.call("run", "--only", "scratch/[sn]*/*/*")
    measured = [row for row in case.table(status=1) if row["status"] == "measured"]
    assert len(measured) == 18
    assert {row["statistics"]["n"] for row in measured} == {1}


def test_a_lost_node_ends_in_a_reason_and_the_next_run_completes(tmp_path: Path, own_sandbox: Sandbox) -> None:
    case = make_case(tmp_path, own_sandbox, "lostnode", items=1048576)
    driver = case.start("run", "--only", "scratch/peak/shared/*")
    folder = case.results / "runs" / "scratch.peak.shared.r1" / "1"
    wait_until(lambda: (folder / "bench.jsonl").exists(), goal="the benchmark to begin")
    node = own_sandbox.status().nodes[1].name
    os.kill(daemon(own_sandbox, node), signal.SIGKILL)
    case.slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    driver.communicate(timeout=800)
    assert driver.returncode == 1
    state = case.states()["scratch.peak.shared.r1"]
    assert state["state"] in ("node_fail", "failed", "cancelled")
    assert state["reason"]
    Sandbox.start(own_sandbox.layout.top, OWN)
    case.file.write_text(case.file.read_text().replace("1048576", "2048"))
    case.call("run", "--only", "scratch/peak/shared/*")


def test_a_job_that_asks_for_more_time_than_the_partition_allows_is_refused_and_does_not_wait_for_ever(
    tmp_path: Path, own_sandbox: Sandbox
) -> None:
    case = make_case(tmp_path, own_sandbox, "toolong", limit="2m")
    case.slurm("scontrol", "update", "partitionname=sandbox", "MaxTime=5")
    refused = case.start("run")
    _, err = refused.communicate(timeout=800)
    assert refused.returncode == 2
    assert "slurm.time: a job of 3 runs of 2m needs 7m; partition sandbox allows 5m; set a shorter slurm.time" in err
    assert not (case.results / "runs").exists()
    case.call("run", "--only", "scratch/single/shared/*")  # whose job has one run


def test_a_job_cancelled_by_someone_else_says_so_and_the_next_run_completes(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "foreign", items=1048576)
    driver = case.start("run", "--only", "scratch/single/shared/*")
    folder = case.results / "runs" / "scratch.single.shared.r1" / "1"
    wait_until(lambda: (folder / "bench.jsonl").exists(), goal="the benchmark to begin")
    # By Slurm's own list: the run may be over before another campaign command has started.
    jobs = [line.split() for line in case.slurm("squeue", "--noheader", "--format=%i %j").splitlines()]
    case.slurm("scancel", next(job for job, name in jobs if name.startswith("campaign-foreign-")))
    driver.communicate(timeout=800)
    assert driver.returncode == 1
    state = case.states()["scratch.single.shared.r1"]
    assert state["state"] == "cancelled"
    assert "CANCELLED" in state["reason"]
    case.file.write_text(case.file.read_text().replace("1048576", "2048"))
    case.call("run", "--only", "scratch/single/shared/*")
    assert list(case.target.iterdir()) == []


def test_cancel_ends_the_jobs_and_run_takes_them_up_again(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "cancelled")
    hold_up(case)
    case.call("run", "--detach", "--only", "scratch/peak/*/*")
    case.call("cancel")
    assert {row["state"] for row in case.states().values()} <= {"cancelled", "done", "planned"}
    wait_until(lambda: "campaign-cancelled" not in case.slurm("squeue", "-h", "-o", "%j"), goal="the jobs to end")
    (case.target / ".campaign-lock").rmdir()
    case.call("run", "--only", "scratch/peak/*/*")
    assert sum(row["status"] == "measured" for row in case.table(status=1)) == 9


# --- targets


def test_a_target_that_does_not_exist_is_named(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "absent", target=Path("/nowhere/at/all"))
    case.call("run", "--only", "scratch/single/shared/*", status=1)
    reason = case.states()["scratch.single.shared.r1"]["reason"]
    assert "/nowhere/at/all" in reason
    assert "no output was recorded" not in reason


def test_a_full_target_fails_with_its_errno_and_the_next_run_completes(
    tmp_path: Path, small_target: Path, own_sandbox: Sandbox
) -> None:
    case = make_case(tmp_path, own_sandbox, "full", target=small_target)
    case.call("run", "--only", "scratch/single/shared/*", status=1)
    state = case.states()["scratch.single.shared.r1"]
    assert state["state"] == "failed"
    assert "ENOSPC" in state["reason"]
    assert list(small_target.iterdir()) == []
    case.file.write_text(case.file.read_text().replace("items_total: 2048", "items_total: 256"))
    case.call("run", "--only", "scratch/single/shared/*")


def test_a_target_with_spaces_quotes_and_shell_words_is_only_a_path(tmp_path: Path, sandbox: Sandbox) -> None:
    hostile = Path(sandbox.environment()["CAMPAIGN_SCRATCH"]) / "a b'c\"d;e&f(g)%j"
    hostile.mkdir()
    case = make_case(tmp_path, sandbox, "hostile", target=Path("PLACE"))
    case.file.write_text(case.file.read_text().replace("PLACE", json.dumps(str(hostile))))
    case.call("run", "--only", "scratch/single/unique/*")
    argv = json.loads((case.results / "runs/scratch.single.unique.r1/1/bench.jsonl").open().readline())["argv"]
    assert any(word.startswith(str(hostile)) for word in argv)
    assert list(hostile.iterdir()) == []


# --- what is refused before anything is submitted


def test_a_template_that_changes_the_rank_offset_is_refused(tmp_path: Path, sandbox: Sandbox) -> None:
    template = tmp_path / "bent.j2"
    original = Path(__file__).parents[2] / "templates" / "job.sbatch.j2"
    bent = original.read_text().replace(
        'phase | map("quote") | join(" ")', '(phase | join(" ")) ~ (" -N 7" if loop.last else "")'
    )
    assert bent != original.read_text()
    template.write_text(bent)
    case = make_case(tmp_path, sandbox, "bent", lines=f"  template: {shlex.quote(str(template))}\n")
    driver = case.start("run")
    _, err = driver.communicate(timeout=800)
    assert driver.returncode == 2
    assert "bent.j2" in err
    assert not list(case.results.glob("jobs/*"))


# --- what a suspicious reader tries


def test_only_what_a_job_made_itself_is_removed_as_left_behind(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "foreigndir")
    hold_up(case)  # until the directory is in its way
    case.call("run", "--detach", "--only", "scratch/single/shared/*")
    token = json.loads((case.results / "runs/scratch.single.shared.r1/1/attempt.json").read_text())["token"]
    foreign = case.target / f"campaign-{token}"
    foreign.mkdir()
    (foreign / "data").write_text("precious")
    (case.target / ".campaign-lock").rmdir()
    case.call("run", "--only", "scratch/single/shared/*")
    assert (foreign / "data").read_text() == "precious"
    assert case.states()["scratch.single.shared.r1"]["attempt"] == 2


def test_a_number_changed_in_the_database_does_not_survive_a_check(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "doctored")
    case.call("run", "--only", "scratch/single/shared/*")
    before = case.table(status=1)
    with sqlite3.connect(case.results / "campaign.db") as database:
        database.execute("UPDATE records SET value = 31337")
        database.execute("UPDATE attempts SET state = 'failed'")
    case.call("check", status=1)
    assert case.table(status=1) == before


def test_raw_output_that_was_changed_or_removed_makes_the_number_invalid(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "changed")
    case.call("run", "--only", "scratch/single/shared/*")
    before = case.table(status=1)
    assert before[0]["status"] == "measured"
    for file, old, new, message in (
        ("facts.jsonl", '"exit_status", "value": 0', '"exit_status", "value": 9', "recorded as done"),
        ("facts.jsonl", '"restart_count", "value": 0', '"restart_count", "value": 3', "recorded as done"),
        ("bench.jsonl", None, None, "bench.jsonl"),
        ("facts.jsonl", None, None, "facts.jsonl"),
    ):
        path = case.results / "runs/scratch.single.shared.r1/1" / file
        text = path.read_text()
        if old is None or new is None:
            path.unlink()
        else:
            assert old in text
            path.write_text(text.replace(old, new))
        case.call("collect")
        row = case.table(status=1)[0]
        assert row["status"] == "invalid", file
        assert any(message in finding["message"] for finding in row["findings"] if finding["severity"] == "E")
        path.write_text(text)
        case.call("collect")
        assert case.table(status=1) == before


def test_nodes_that_complete_late_are_no_contradiction_and_an_early_record_of_them_is_mended(
    tmp_path: Path, slow_epilog_sandbox: Sandbox
) -> None:
    case = make_case(tmp_path, slow_epilog_sandbox, "epilog", allocation="one", launch_max="all")
    case.call("run", "--only", "scratch/max/*/*")
    assert sum(row["status"] == "measured" for row in case.table(status=1)) == 9
    (record,) = case.results.glob("jobs/*/accounting.json")
    ended_document = json.loads(record.read_text())
    assert (ended_document["job"]["JobState"], ended_document["job"]["NodeList"]) == ("COMPLETED", "node[1-3]")

    def rules_not_kept() -> list[str]:
        document = json.loads(case.call("check", "--json", status=1))
        return [finding["message"] for finding in document if finding["rule"] == "RUN-03"]

    # A record of the time at which the Epilog still ran on two of the nodes.
    record.write_text(
        json.dumps(
            ended_document | {"job": ended_document["job"] | {"JobState": "COMPLETING", "NodeList": "node[2-3]"}}
        )
    )
    case.call("collect")
    assert json.loads(record.read_text())["job"] == ended_document["job"]
    assert rules_not_kept() == []

    record.write_text(json.dumps(ended_document | {"job": ended_document["job"] | {"NodeList": "node[2-3]"}}))
    case.call("collect")
    assert set(rules_not_kept()) == {"node list differs between the records"}

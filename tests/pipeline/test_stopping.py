"""Campaigns that stop before their end, or go on only with a part: on a real Slurm of several nodes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.support import command_line
from tests.support.cases import Case, make_case, new_target, wait_until

BENCH = Path(__file__).parents[2] / "bench-src"

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]


def drive(case: Case, *words: str) -> subprocess.CompletedProcess[str]:
    return command_line.drive(*words, environment=case.environment())


def script_case(folder: Path, sandbox: Sandbox, name: str, text: str) -> Case:
    """A campaign with a program that is a shell script."""
    script = folder / "mdtest.sh"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    further_text = f"benchmark:\n  executable: {script}\n  dialect: rank-offset\nlauncher: {{prefix: [/bin/sh]}}\n"
    return make_case(folder, sandbox, name, lines=further_text)


def test_the_same_cause_of_the_first_two_jobs_failures_ends_the_campaign_unless_it_is_to_keep_going(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    # The first job's three runs fail, and one of the second job, whose next run goes on until it is cancelled.
    fails = " || ".join(f"mkdir {tmp_path}/{number} 2>/dev/null" for number in range(1, 5))
    waits = f"{fails} || [ -e {tmp_path}/go ] || exec sleep 200"
    case = script_case(tmp_path, sandbox, "failfast", f"{waits}\necho the library is missing >&2; exit 3")
    process = drive(case, "run", str(case.file))
    assert process.returncode == 1
    assert process.stderr.count("campaign: the first two jobs failed with the same cause: ") == 1
    assert "use --keep-going" in process.stderr
    states = [row["state"] for row in case.states().values()]
    assert states.count("failed") in (4, 5)
    assert states.count("failed") + states.count("cancelled") == 12

    # Those that failed, and no other.
    (tmp_path / "go").touch()
    process = drive(case, "run", str(case.file), "--only", "scratch/single/*/*", "--failed", "--keep-going")
    assert process.returncode == 1
    assert "the same cause" not in process.stderr
    assert sum(row["attempts"] == 2 for row in case.states().values()) == 3


def test_a_run_during_which_slurm_suspended_the_job_is_no_result(tmp_path: Path, sandbox: Sandbox) -> None:
    goes_on = f"touch {tmp_path}/on; until [ -e {tmp_path}/go ]; do sleep 0.1; done"
    case = script_case(tmp_path, sandbox, "suspended", f'{goes_on}\nexec {BENCH}/build/mdtest "$@"')
    driver = case.start("run", "--only", "scratch/single/*/*")

    def is_said() -> bool:
        return any("SUSPENDED" in row["reason"] for row in case.states().values())

    try:
        wait_until((tmp_path / "on").exists, goal="the first run")
        (job,) = {row["job_id"] for row in case.states().values() if row["job_id"]}
        case.slurm("scontrol", "suspend", job)
        wait_until(is_said, goal="status says it")
        (tmp_path / "go").touch()
        case.slurm("scontrol", "resume", job)
        message = driver.communicate(timeout=800)[1]
    finally:
        driver.kill()
    assert driver.returncode == 1, message
    first, *other_entries = sorted(case.completions(), key=lambda completion: completion["started"])
    began, end = first["suspended"]
    assert first["started"] < began < end < first["ended"]
    assert [completion["suspended"] for completion in other_entries] == [[], []]
    findings = json.loads(case.call("check", "--json", status=1))
    (violation,) = (finding for finding in findings if finding["rule"] == "RUN-01")
    assert violation["message"] == "Slurm suspended the job during the run: that time counts in its results"
    assert re.match(r"\d+ s from .* UTC \(facts.jsonl\)", violation["actual"])
    assert (violation["severity"], violation["subject"]) == ("E", f"{first['run']}/{first['attempt']}")


def build_watching_every(seconds: int, built: Path) -> Path:
    """The benchmark, with a witness that looks that often, and not every 30 s, whether a run does not end."""
    built.mkdir()
    for path in (BENCH / "build").iterdir():
        (built / path.name).symlink_to(path)
    (built / "witness").unlink()
    (built / "witness").write_text(f'#!/bin/bash\nexec {BENCH}/build/witness "${{@/#30,/{seconds},}}"\n')
    (built / "witness").chmod(0o755)
    return built


def test_a_benchmark_that_never_leaves_mpi_finalize_keeps_its_results_and_leaves_no_process(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    hangs = "int MPI_Finalize(void) { signal(SIGTERM, SIG_IGN); for (;;) pause(); }"
    (tmp_path / "hangs.c").write_text(f"#include <signal.h>\n#include <unistd.h>\n{hangs}\n")
    program, objects = tmp_path / "mdtest", sorted((BENCH / "build" / "objects").rglob("*.o"))
    objects = [path for path in objects if "plain" not in path.parts]  # of the programs without MPI
    libraries = [
        word
        for word in json.loads((BENCH / "build" / "build.json").read_text())["flags"].split()
        if word.startswith("-l")
    ]
    subprocess.run(["mpicc", *objects, tmp_path / "hangs.c", "-o", program, *libraries], check=True, timeout=800)
    further_text = f"benchmark: {{executable: {program}, dialect: rank-offset}}"
    plain = make_case(tmp_path, sandbox, "endless", limit="10m", lines=further_text)
    case = replace(plain, variables={"CAMPAIGN_BENCHMARK": str(build_watching_every(2, tmp_path / "built"))})
    case.call("run", "--only", "scratch/peak/shared/*")
    (record,) = case.completions()
    last = (case.results / "runs/scratch.peak.shared.r1/1/stdout").read_text().strip().splitlines()[-1]
    assert (record["outcome"], record["unended"]) == ("done", last)
    assert last.startswith("-- finished at ")
    assert record["ended"] - record["started"] > 3
    assert [row["status"] for row in case.table(status=1)].count("measured") == 3
    document = json.loads(case.call("check", "--json", status=None))
    reports = [(finding["rule"], finding["actual"]) for finding in document if "did not end" in finding["message"]]
    assert reports == [("RUN-01", last)]
    assert not any(finding["rule"] == "RUN-06" and finding["severity"] == "E" for finding in document)
    assert [pid for pid in Path("/proc").glob("[0-9]*/exe") if os.path.realpath(pid) == str(program)] == []
    assert list(case.target.iterdir()) == []


@pytest.mark.parametrize(
    "has_search, words",
    [(True, []), (False, ["--max-jobs", "1"])],
    ids=["between the rounds of a search", "with jobs that wait for room"],
)
def test_a_driver_whose_campaign_is_cancelled_submits_nothing_more(
    tmp_path: Path, sandbox: Sandbox, has_search: bool, words: list[str]
) -> None:
    name = f"cancel-{len(words)}"
    case = script_case(tmp_path, sandbox, name, "exec sleep 200")
    if has_search:
        counts = "  node: 2\n  peak: {nodes: 2, processes: 4}\n"
        assert counts in case.file.read_text()
        case.file.write_text(case.file.read_text().replace(counts, "  node: search\n  peak: search\n"))

    def events() -> list[str]:
        journal = case.results / "journal.jsonl"
        return [json.loads(line)["event"] for line in journal.read_text().splitlines()] if journal.exists() else []

    driver = case.start("run", *words)
    wait_until(lambda: "submitted" in events(), goal="a job")
    case.call("cancel")
    stderr = driver.communicate(timeout=800)[1]
    assert driver.returncode == 1
    message = f"the campaign was cancelled; nothing more is submitted. 'campaign run {case.file}' continues"
    assert " ".join(stderr.split()).count(message) == 1
    states = {state["state"] for state in case.states().values() if state["attempts"]}
    assert states <= {"cancelled", "refused"}
    # The sbatch that was under way may still answer.
    assert set(events()[events().index("cancel") :]) <= {"cancel", "ended", "submitted"}
    assert f"campaign-{name}" not in case.slurm("squeue", "-h", "-t", "PD,R", "-o", "%j")

    # What was cancelled before does not stop a new driver.
    driver = case.start("run", "--only", "scratch/single/shared/*")
    wait_until(lambda: f"campaign-{name}" in case.slurm("squeue", "-h", "-t", "R", "-o", "%j"), goal="a job")
    case.call("cancel")
    driver.communicate(timeout=800)


def test_one_cancel_ends_also_what_a_driver_is_submitting(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "between")
    real = case.slurm("which", "sbatch").strip()
    waiting = f"touch {tmp_path}/called; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.parent.mkdir()
    sbatch.write_text(f'#!/bin/sh\n[ "$1" = --test-only ] || {{ {waiting}; }}\nexec {real} "$@"\n')
    sbatch.chmod(0o755)
    case.variables["PATH"] = f"{sbatch.parent}:{os.environ['PATH']}"
    driver = case.start("run", "--detach")
    wait_until((tmp_path / "called").exists, goal="sbatch")
    cancel = case.start("cancel")
    wait_until(lambda: '"event": "cancel"' in (case.results / "journal.jsonl").read_text(), goal="the cancellation")
    (tmp_path / "go").touch()
    message = "".join(cancel.communicate(timeout=800))
    driver.communicate(timeout=800)
    assert cancel.returncode == 0, message
    assert "cancelled 1 job" in message
    states = case.states()
    assert {state["state"] for state in states.values()} <= {"cancelled", "refused"}, states
    assert "campaign-between" not in case.slurm("squeue", "-h", "-t", "PD,R", "-o", "%j")


def test_only_cells_of_a_status_are_measured(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "statuses")
    case.call("run", "--only", "scratch/single/shared/*")
    process = drive(case, "run", str(case.file), "--failed")
    assert (process.returncode, "no result is failed; nothing to run" in process.stderr) == (0, True)
    case.call("run", "--only", "missing", "--only", "scratch/single/*/*")
    attempts = {run: row["attempts"] for run, row in case.states().items() if row["attempts"]}
    assert attempts == {f"scratch.single.{files}.r1": 1 for files in ("shared", "unique", "onefile")}


def test_no_job_is_submitted_that_could_use_more_node_hours_than_the_campaign_may(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    case = make_case(tmp_path, sandbox, "nodehours")
    # A job of three runs may take 3 x 5 min + 1 min: 0.27 node-hours on one node, 0.53 on two.
    process = drive(case, "run", str(case.file), "--max-node-hours", "0.3")
    assert process.returncode == 1
    assert "campaign: not submitted: 2 jobs (6 runs). --max-node-hours is 0.3; " in process.stderr
    assert "the next job may use 0.533 more" in process.stderr
    enough = re.search(r"--max-node-hours (\S+) is enough for all", " ".join(process.stderr.split()))
    assert enough and 1.33 < float(enough[1]) < 2  # two jobs that may use 0.533 and 0.8, and what was used
    assert {row["launch"] for row in case.table(status=1) if row["status"] == "measured"} == {"single", "node"}


def test_targets_of_different_storage_are_measured_side_by_side(tmp_path: Path, sandbox: Sandbox) -> None:
    wrapper = tmp_path / "wrapper"
    wrapper.write_text('#!/bin/sh\nsleep 2\nexec "$@"\n')
    wrapper.chmod(0o755)
    case = make_case(tmp_path, sandbox, "apart", lines=f"launcher: {{prefix: [{wrapper}]}}")
    second = new_target(sandbox, "apart2")
    first = f"    directory: {case.target}\n"
    other = f"  - name: nfs\n    directory: {second}\n    storage: disk\n"
    text = case.file.read_text().replace(first, f"{first}    storage: flash\n{other}")
    case.file.write_text(text)
    case.call("run", "--only", "*/single/*/*")
    times = {
        target: [
            (record["started"], record["ended"]) for record in case.completions() if record["run"].startswith(target)
        ]
        for target in ("scratch", "nfs")
    }
    assert [len(own_time) for own_time in times.values()] == [3, 3]
    assert min(times["nfs"])[0] < max(times["scratch"])[1]
    assert min(times["scratch"])[0] < max(times["nfs"])[1]


def test_everything_that_was_printed_is_in_the_log(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "logged")
    process = drive(case, "run", str(case.file), "--only", "scratch/single/shared/*", "-v")
    log = case.results / "run.log"
    assert f"log: {log}" in process.stderr
    texts = [line[20:] for line in log.read_text().splitlines()]
    assert [line for line in (process.stderr + process.stdout).splitlines() if line not in texts] == []
    (kept_text,) = [line for line in process.stderr.splitlines() if line.startswith("[1/1] ")]
    row = next(row for row in case.table(status=1) if row["value"] is not None and row["operation"] == "create")
    assert kept_text.startswith(f"[1/1] scratch.single.shared.r1: create {row['value']:.0f}, stat ")
    assert drive(case, "rerun", str(case.file), "scratch/single/shared/*", "-q").stderr == ""

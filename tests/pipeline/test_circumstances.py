"""What sites do to a campaign: a slurmctld that does not answer, rules of the site, limits, held jobs, full file
systems. On a real Slurm of several nodes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.support import command_line
from tests.support.cases import Case, make_case, new_target, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]


def drive(case: Case, *words: str) -> subprocess.CompletedProcess[str]:
    return command_line.drive(*words, environment=case.environment())


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def top(sandbox: Sandbox) -> Path:
    return Path(sandbox.environment()["SLURM_CONF"]).parent


def script_case(folder: Path, sandbox: Sandbox, name: str, text: str, **options: str) -> Case:
    """A campaign with a program that is a shell script."""
    script = folder / "mdtest.sh"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    lines = f"benchmark:\n  executable: {script}\n  dialect: rank-offset\nlauncher: {{prefix: [/bin/sh]}}\n"
    return make_case(folder, sandbox, name, lines=lines, **options)  # type: ignore[arg-type]


def wrapped_sbatch(case: Case, folder: Path, text: str) -> Case:
    """The case with this shell text before each sbatch that submits."""
    real = shutil.which("sbatch")
    wrapper = folder / "bin" / "sbatch"
    wrapper.parent.mkdir()
    test = 'case "$*" in *--test-only*) ;; *)'
    wrapper.write_text(f'#!/bin/bash\n{test}\n{text}\n;; esac\nexec {real} "$@"\n')
    wrapper.chmod(0o755)
    variables = {"PATH": f"{wrapper.parent}:{os.environ['PATH']}"}
    return Case(case.file, case.target, case.sandbox, variables)


# --- what a module or a profile says to srun in place of its options

# Each of them alone changes a step of srun 22.05 that has all options which campaign gave until then.
OVERRIDES = {
    "SLURM_EXPORT_ENV": "NONE", "SRUN_EXPORT_ENV": "NONE", "SLURM_LABELIO": "1", "SLURM_STDOUTMODE": "{folder}/out",
    "SLURM_STDINMODE": "none", "SLURM_WORKING_DIR": "/dev/shm", "SLURM_REMOTE_CWD": "/dev/shm",
    "SRUN_CPUS_PER_TASK": "4", "SLURM_TRES_PER_TASK": "cpu:4",
    "SLURM_THREADS_PER_CORE": "2", "SLURM_GPUS": "1", "SLURM_GPUS_PER_TASK": "1",
    "SLURM_GRES": "gpu:1", "SLURM_CONSTRAINT": "none", "SLURM_CLUSTERS": "none", "SLURM_DEBUG": "4",
    "SLURM_TASK_PROLOG": "{folder}/prolog", "SLURM_PROLOG": "{folder}/prolog", "SLURM_EPILOG": "{folder}/prolog",
    "SLURM_TIMELIMIT": "0:01",
}  # fmt: skip


def test_variables_of_a_module_change_nothing_that_srun_does(tmp_path: Path, sandbox: Sandbox) -> None:
    """All of them at once, with the built-in benchmark and with a program that works where it is started."""
    prolog = tmp_path / "prolog"
    prolog.write_text(f"#!/bin/sh\ntouch {tmp_path}/touched\n")
    prolog.chmod(0o755)
    exports = " ".join(f"export {name}={value.format(folder=tmp_path)};" for name, value in OVERRIDES.items())
    sets = {"BASH_FUNC_module%%": f"() {{ {exports} }}"}
    seen = 'pwd >>"$BENCH_JSON.seen"; [ -z "$SLURM_TRES_PER_TASK$SLURM_GPUS" ]'
    plain = make_case(tmp_path, sandbox, "plain")
    script = script_case(tmp_path, sandbox, "script", seen)
    for case, files in (plain, "*"), (script, "shared"):  # a driver cancels what follows on failures of one cause
        case.file.write_text(case.file.read_text().replace("slurm:\n", "slurm:\n  modules: [site]\n"))
        Case(case.file, case.target, sandbox, sets).call("run", "--only", f"scratch/node/{files}/*", status=None)
        assert {end["outcome"] for end in case.completions()} == {"done"}
    assert {row["status"] for row in plain.table(status=None) if row["launch"] == "node"} == {"measured"}
    assert not (tmp_path / "touched").exists()
    places = {line for path in script.results.glob("runs/*/*/bench.jsonl.seen") for line in path.open()}
    assert {place.rpartition("/")[0] for place in places} == {str(script.target)}


# --- options that sites require

DIRECTIVES = "--comment=project42, --mem-bind=local, '--signal=B:USR1@30', --delay-boot=5, --sockets-per-node=1"
OPTIONS = "--unbuffered, --label, --overlap, --ntasks-per-core=1, --threads-per-core=1"


def test_options_that_a_site_requires_reach_slurm_and_the_jobs_of_a_target_still_wait_for_each_other(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    case = make_case(tmp_path, sandbox, "options", lines=f"launcher: {{options: [{OPTIONS}]}}\n")
    text = case.file.read_text().replace("slurm:\n", f"slurm:\n  directives: [{DIRECTIVES}]\n")
    case.file.write_text(text)
    case.call("run", "--only", "scratch/node/shared/*", status=None)
    assert {end["outcome"] for end in case.completions()} == {"done"}
    (out,) = case.results.glob("runs/*/1/stdout")
    assert all(re.match(r" *\d+: ", line) for line in out.read_text().splitlines())
    assert {row["status"] for row in case.table(status=None) if row["launch"] == "node"} == {"measured", "missing"}
    (facts,) = case.results.glob("runs/*/1/facts.jsonl")
    assert re.search(r"Comment=project42( |\\n|\")", facts.read_text())


# --- storage that exists only in a job

STORAGE = """#!/bin/bash
# The site's TaskProlog: a directory for each job, whose name it has in a variable.
mkdir -p {top}/node-local/$SLURM_JOB_ID && echo export SITE_LOCAL={top}/node-local/$SLURM_JOB_ID
"""
PREPARE = "prepare: ['echo striped >{directory}/.striped && rm {directory}/.striped && echo 4 stripes']"


@contextmanager
def job_storage(sandbox: Sandbox) -> Iterator[Path]:
    """A directory of its own for each job, which the site's TaskProlog makes."""
    conf, prolog = top(sandbox) / "slurm.conf", top(sandbox) / "task-prolog"
    before, variables = conf.read_text(), os.environ | sandbox.environment()
    prolog.write_text(STORAGE.format(top=top(sandbox)))
    prolog.chmod(0o755)
    conf.write_text(f"{before}TaskProlog={prolog}\n")
    try:
        subprocess.run(["scontrol", "reconfigure"], env=variables, check=True, timeout=800)
        yield top(sandbox) / "node-local"
    finally:
        conf.write_text(before)
        subprocess.run(["scontrol", "reconfigure"], env=variables, check=True, timeout=800)


@pytest.mark.parametrize("directory", ["{place}/$SLURM_JOB_ID", "${{SITE_LOCAL}}"], ids=["its id", "a variable"])
def test_a_target_that_exists_only_in_a_job_is_resolved_there_and_its_results_count(
    directory: str, tmp_path: Path, own_sandbox: Sandbox
) -> None:
    with job_storage(own_sandbox) as place:
        case = make_case(tmp_path, own_sandbox, "local")
        text = case.file.read_text().replace(str(case.target), f"job:{directory.format(place=place)}\n    {PREPARE}")
        case.file.write_text(text)
        case.call("run", "--only", "scratch/node/*/*")
    assert {row["status"] for row in case.table(status=1) if row["launch"] == "node"} == {"measured"}
    lines = [line for path in case.results.glob("runs/*/1/facts.jsonl") for line in path.read_text().splitlines()]
    resolved = {json.loads(line)["value"] for line in lines if '"name": "directory"' in line}
    assert resolved and all(re.fullmatch(rf"{place}/\d+", path) for path in resolved)
    findings = json.loads(case.call("check", "--json", status=None))
    (prepared,) = [finding for finding in findings if "commands prepare the directory" in finding["message"]]
    assert (prepared["rule"], "(4 stripes)" in prepared["actual"]) == ("ENV-02", True)
    process = drive(case, "bundle", str(case.file), "-o", str(tmp_path / "offer"))
    assert process.returncode == 1, process.stderr
    verified = drive(case, "verify", str(tmp_path / "offer"))
    assert "open  Not proven: the bundle is not signed and may have been altered (EVD-03); " in verified.stdout, (
        verified.stdout
    )


def test_storage_that_each_node_has_for_itself_is_measured_on_one_node_and_refused_on_several(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    case = make_case(tmp_path, sandbox, "own")
    case.file.write_text(case.file.read_text().replace(str(case.target), "job:/dev/shm"))
    for launch in ("node", "peak"):
        drive(case, "run", str(case.file), "--only", f"scratch/{launch}/shared/*")
    assert {row["launch"] for row in case.table(status=1) if row["status"] == "measured"} == {"node"}
    reasons = {run: row["reason"] for run, row in case.states().items() if row["attempts"] and row["reason"]}
    assert list(reasons) == ["scratch.peak.shared.r1"]
    assert "/dev/shm is not shared: node1 created a file in it that node2 cannot see" in reasons.popitem()[1]


def test_a_command_before_the_runs_that_fails_stops_them_before_they_measure(tmp_path: Path, sandbox: Sandbox) -> None:
    case = make_case(tmp_path, sandbox, "unprepared")
    command = 'prepare: ["echo cannot stripe {directory}; exit 3"]'
    case.file.write_text(case.file.read_text().replace(str(case.target), f"{case.target}\n    {command}"))
    drive(case, "run", str(case.file), "--only", "scratch/single/shared/*")
    (row,) = [row for row in case.states().values() if row["attempts"]]
    assert re.search(r"prepare: echo cannot .* ended with status 3: cannot stripe /", row["reason"]), row
    assert not list(case.results.glob("runs/*/1/bench.jsonl"))


# --- a slurmctld that does not answer


def test_a_slurmctld_that_stops_while_jobs_are_submitted_costs_time_and_nothing_else(
    tmp_path: Path, own_sandbox: Sandbox
) -> None:
    state = own_sandbox.layout.load()
    assert state is not None
    pid = state.processes["slurmctld"].pid
    plain = make_case(tmp_path, own_sandbox, "away", allocation="run")
    # The second sbatch finds it stopped, until long after that sbatch has given up.
    stops = (
        f"mkdir {tmp_path}/1 2>/dev/null || mkdir {tmp_path}/2 2>/dev/null && [ -d {tmp_path}/2 ] && kill -STOP {pid}"
    )
    case = wrapped_sbatch(plain, tmp_path, stops)
    driver = case.start("run", "--only", "scratch/single/*/*")
    try:
        journal = case.results / "journal.jsonl"
        wait_until(lambda: journal.exists() and '"uncertain"' in journal.read_text(), goal="an sbatch that fails")
    finally:
        os.kill(pid, signal.SIGCONT)
    message = in_one_line(driver.communicate(timeout=800)[1])
    assert driver.returncode == 0, message
    assert "sbatch failed for 1 run, but the job may exist; asking Slurm: " in message
    assert "the same cause" not in message
    events = [json.loads(line)["event"] for line in (case.results / "journal.jsonl").read_text().splitlines()]
    assert not {"cancel", "stop"} & set(events)
    states = [row for row in case.states().values() if row["state"] == "done"]
    assert len(states) == 3
    assert len(case.completions()) == 3, "nothing is measured twice"


# --- rules of the site


@contextmanager
def job_submit(sandbox: Sandbox, lua: str) -> Iterator[None]:
    """The site's job_submit plugin, in Lua."""
    conf, script = top(sandbox) / "slurm.conf", top(sandbox) / "job_submit.lua"
    before = conf.read_text()
    script.write_text(
        f"function slurm_job_submit(job, partitions, uid)\n{lua}\nend\n"
        "function slurm_job_modify(job, record, partitions, uid) return slurm.SUCCESS end\nreturn slurm.SUCCESS\n"
    )
    variables = os.environ | sandbox.environment()

    def reconfigure() -> None:
        subprocess.run(["scontrol", "reconfigure"], env=variables, check=True, timeout=800)

    conf.write_text(f"{before}JobSubmitPlugins=lua\n")
    try:
        reconfigure()
        yield
    finally:
        conf.write_text(before)
        reconfigure()


POLICY = 'slurm.log_user("Site policy: no jobs of campaigns on Mondays\\nwrite to hpc-help@site") return slurm.ERROR'


def test_a_rejection_by_the_site_is_shown_whole_before_anything_is_submitted(
    tmp_path: Path, own_sandbox: Sandbox
) -> None:
    case = make_case(tmp_path, own_sandbox, "policy")
    with job_submit(own_sandbox, POLICY):
        for verb in ("plan", "run"):
            process = drive(case, verb, str(case.file))
            assert process.returncode == 2
            assert "Site policy: no jobs of campaigns on Mondays; write to hpc-help@site; " in in_one_line(
                process.stderr
            )


def test_a_rejection_by_the_site_that_comes_later_is_shown_whole_and_is_not_tried_again(
    tmp_path: Path, own_sandbox: Sandbox
) -> None:
    """Of the job itself alone, not of the test."""
    plain = make_case(tmp_path, own_sandbox, "later")
    case = wrapped_sbatch(plain, tmp_path, f'echo >>{tmp_path}/calls; set -- --nice=77 "$@"')
    with job_submit(own_sandbox, f"if job.nice == 2147483648 + 77 then {POLICY} end return slurm.SUCCESS"):
        process = drive(case, "run", str(case.file), "--only", "scratch/single/*/*")
    assert process.returncode == 1
    reasons = {row["reason"] for row in case.states().values() if row["attempts"]}
    assert len(reasons) == 1
    assert "Site policy: no jobs of campaigns on Mondays" in reasons.pop()
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


# --- limits


def test_a_run_that_takes_too_long_names_its_limit_and_the_key(tmp_path: Path, sandbox: Sandbox) -> None:
    case = script_case(tmp_path, sandbox, "slow", "exec sleep 300", limit="2s")  # of which Slurm makes a minute
    drive(case, "run", str(case.file), "--only", "scratch/single/shared/*")
    (row,) = [row for row in case.states().values() if row["attempts"]]
    assert row["state"] == "timeout"
    assert re.fullmatch(r"stopped after 1m.*, the time limit of one run; raise slurm\.time", row["reason"])


# --- jobs that wait for somebody


def waiting_reasons(case: Case) -> set[str]:
    return {row["reason"] for row in case.states().values() if row["state"] == "pending"}


def test_a_job_that_waits_for_somebody_says_for_whom_and_starts_by_itself(tmp_path: Path, own_sandbox: Sandbox) -> None:
    case = make_case(tmp_path, own_sandbox, "waits")
    partition = ["scontrol", "update", "PartitionName=sandbox"]
    case.slurm(*partition, "State=DOWN")
    try:
        drive(case, "run", str(case.file), "--only", "scratch/single/*/*", "--detach")
        wait_until(lambda: any("PartitionDown" in reason for reason in waiting_reasons(case)))
        (reason,) = waiting_reasons(case)
        opens = "starts by itself once the administrators open the partition; no need to cancel it"
        assert re.fullmatch(rf"PartitionDown \(job \d+ {opens}\)", reason)
        job = reason.split()[2]
        case.slurm("scontrol", "uhold", job)
        case.slurm(*partition, "State=UP")
        hold_reason = f"JobHeldUser (starts by itself once it is released: scontrol release {job})"
        wait_until(lambda: waiting_reasons(case) == {hold_reason}, goal=hold_reason)
        case.slurm("scontrol", "release", job)
        case.slurm("scontrol", "hold", job)
        released = "starts by itself once an administrator releases it"
        hold_reason = f"JobHeldAdmin ({released}: ask about job {job}, no need to cancel it)"
        wait_until(lambda: waiting_reasons(case) == {hold_reason}, goal=hold_reason)
        case.slurm("scontrol", "release", job)
    finally:
        case.slurm(*partition, "State=UP")
    case.call("run", "--only", "scratch/single/*/*")


# --- full file systems


@contextmanager
def small_file_system(sandbox: Sandbox, name: str, limit: str) -> Iterator[Path]:
    """A file system with this limit, which all nodes see."""
    point = new_target(sandbox, name)
    subprocess.run(["mount", "-t", "tmpfs", "-o", limit, "small", point], check=True, timeout=800)
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", point], check=True, timeout=800)


only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")


@only_root
def test_a_full_target_stops_a_campaign_and_is_named(tmp_path: Path, own_sandbox: Sandbox) -> None:
    with small_file_system(own_sandbox, "full", "nr_inodes=200") as point:
        case = make_case(tmp_path, own_sandbox, "full", target=point)
        process = drive(case, "run", str(case.file))
    message = in_one_line(process.stderr)
    assert process.returncode == 1
    assert f"the file system of {point}, or a quota there, is full: " in message
    states = [row["state"] for row in case.states().values()]
    assert 0 < states.count("failed") < states.count("failed") + states.count("cancelled") == len(states) == 12


@only_root
def test_full_results_stop_a_campaign_and_its_jobs(tmp_path: Path, own_sandbox: Sandbox) -> None:
    with small_file_system(own_sandbox, "results", "size=2M") as point:
        case = script_case(tmp_path, own_sandbox, "noroom", f"cat /dev/zero >{point}/x; exec sleep 1000")
        case.file.write_text(f"{case.file.read_text()}results: {point}/noroom\n")
        process = drive(case, "run", str(case.file))
        assert process.returncode == 3
        message = in_one_line(process.stderr)
        assert "No space left on device" in message
        assert re.search(r"cancelled \d jobs?, whose results could not be written", message)
        wait_until(lambda: "campaign-noroom" not in case.slurm("squeue", "-h", "-t", "PD,R", "-o", "%j"))

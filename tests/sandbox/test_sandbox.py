"""The sandbox: a Slurm cluster of virtual nodes that works like one, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import jinja2
import markupsafe
import pytest

import campaign
from campaign.config import definition as config
from campaign.config.system import USER_TUNING
from campaign.core import atomic
from campaign.core.errors import ENVIRONMENT, INTERRUPTED, USAGE, EnvironmentLacks, InputError
from campaign.core.processes import Process
from campaign.sandbox import machine, private, slurmconf
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Layout, Shape
from tests.support import bench_binary

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(900)]

HELLO = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, sum, length;
    char host[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Get_processor_name(host, &length);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("%s %d\n", host, sum);
    return MPI_Finalize();
}
"""


def wait_until(condition: Callable[[], object], seconds: float = 800.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)


def run_on_sandbox(sandbox: Sandbox, *argv: str, seconds: float = 800.0) -> str:
    """Run a command on the sandbox; returns what it prints."""
    result = subprocess.run(
        argv, env=os.environ | sandbox.environment(), capture_output=True, text=True, timeout=seconds
    )
    assert result.returncode == 0, f"{argv} ended with {result.returncode}: {result.stdout}{result.stderr}"
    return result.stdout


def submit(sandbox: Sandbox, script: str, *options: str) -> str:
    return run_on_sandbox(sandbox, "sbatch", "--parsable", "--output=/dev/null", *options, "--wrap", script).strip()


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "campaign", "sandbox", *map(str, arguments)]


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), env=os.environ | environment, capture_output=True, text=True, timeout=800
    )


def process_of(sandbox: Sandbox, name: str) -> Process:
    state = sandbox.layout.load()
    assert state is not None
    return state.processes[name]


HELD: list[int] = []


def namespace_of(sandbox: Sandbox) -> str:
    """What tells every process of the sandbox, its jobs' included, from the others of the machine."""
    path = Path(f"/proc/{process_of(sandbox, 'keeper').pid}/ns/pid")
    # Held open until the tests end: the kernel gives the number of a namespace that is gone to the next one.
    HELD.append(os.open(path, os.O_RDONLY))
    return str(path.readlink())


def inhabitants(namespace: str) -> list[str]:
    command_lines = []
    for entry in Path("/proc").iterdir():
        try:
            inside = entry.name.isdigit() and str((entry / "ns/pid").readlink()) == namespace
            if inside and Process.from_pid(int(entry.name)).alive():  # not a zombie
                command_lines.append((entry / "cmdline").read_text())
        except OSError:  # it ended meanwhile
            continue
    return command_lines


def command_lines_with(directory: Path) -> list[str]:
    """Command lines of the processes that have the directory in their arguments or in their environment."""
    command_lines = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                command_line = (entry / "cmdline").read_bytes()
                if os.fsencode(directory) in command_line + (entry / "environ").read_bytes():
                    command_lines.append(command_line.decode())
        except OSError:
            continue
    return command_lines


def left_behind(directory: Path) -> list[str]:
    texts = command_lines_with(directory) + [str(mount) for mount in machine.mounts_below(directory)]
    return [*texts, str(directory)] if directory.exists() else texts


def fake(directory: Path, program: str, script: str) -> str:
    """A PATH with a program of our own before the real one."""
    directory.mkdir()
    (directory / program).write_text(f"#!/bin/sh\n{script}\n")
    (directory / program).chmod(0o755)
    return f"{directory}:{os.environ['PATH']}"


# A cluster that works


def test_every_node_has_its_own_name_and_shared_memory_and_all_see_the_scratch(sandbox: Sandbox) -> None:
    assert [(node.name, node.state) for node in sandbox.status().nodes] == [(f"node{i}", "idle") for i in (1, 2, 3, 4)]
    script = (
        'ls /dev/shm | grep mine; hostname; touch /dev/shm/mine "$CAMPAIGN_SCRATCH/$(hostname)"; '
        "getent hosts node3 | cut -c1-9"
    )
    output = run_on_sandbox(sandbox, "srun", "--label", "-N4", "sh", "-c", script)
    assert sorted(output.splitlines()) == sorted(
        line for rank in range(4) for line in (f"{rank}: node{rank + 1}", f"{rank}: 127.0.0.1")
    )
    scratch = Path(sandbox.environment()["CAMPAIGN_SCRATCH"])
    assert {path.name for path in scratch.glob("node?")} == {"node1", "node2", "node3", "node4"}


def test_sixteen_mpi_ranks_see_four_hosts_every_time(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "hello.c").write_text(HELLO)
    subprocess.run(["mpicc", "-o", tmp_path / "hello", tmp_path / "hello.c"], check=True, timeout=800)
    for _ in range(2):
        output = run_on_sandbox(sandbox, "srun", "-N4", "-n16", "--ntasks-per-node=4", str(tmp_path / "hello"))
        assert sorted(output.splitlines()) == sorted([f"node{node} 120" for node in (1, 2, 3, 4)] * 4)


def test_mpirun_in_an_allocation_reaches_all_nodes(sandbox: Sandbox) -> None:
    output = run_on_sandbox(sandbox, "salloc", "-N4", "-n4", "--ntasks-per-node=1", "mpirun", "hostname")
    assert sorted(output.split()) == ["node1", "node2", "node3", "node4"]


def test_a_job_after_another_starts_once_that_has_ended(sandbox: Sandbox, tmp_path: Path) -> None:
    stamp = f'date +%s.%N >> "{tmp_path}/$SLURM_JOB_ID"'
    first = submit(sandbox, f"{stamp}; {stamp}", "--exclusive", "-N4")
    second = submit(sandbox, stamp, "--exclusive", "-N4", f"--dependency=afterany:{first}")
    wait_until(lambda: (tmp_path / second).exists() and (tmp_path / second).read_text())
    end_s = float((tmp_path / first).read_text().split()[-1])
    assert float((tmp_path / second).read_text()) > end_s


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_file_system_mounted_below_the_scratch_shows_up_on_the_nodes(sandbox: Sandbox) -> None:
    point = Path(sandbox.environment()["CAMPAIGN_SCRATCH"]) / "small"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "small", point], check=True, timeout=800)
    try:
        sizes = run_on_sandbox(sandbox, "srun", "-N4", "stat", "--file-system", "--format=%b", str(point))
        assert sizes.split() == ["16"] * 4
    finally:
        subprocess.run(["umount", point], check=True, timeout=800)


def test_without_accounting_sacct_reports_that_it_is_disabled(sandbox: Sandbox) -> None:
    result = subprocess.run(
        ["sacct"], env=os.environ | sandbox.environment(), capture_output=True, text=True, timeout=800
    )
    assert (result.returncode, result.stderr) == (1, "Slurm accounting storage is disabled\n")


def test_with_accounting_sacct_knows_the_job_also_after_the_database_crashed(sandbox_directory: Path) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1, accounting=True))
    ask = ("sacct", "-X", "-n", "-P", "-o", "JobID,JobName,State")
    run_on_sandbox(sandbox, "srun", "--job-name=before", "true")
    wait_until(lambda: run_on_sandbox(sandbox, *ask).splitlines() == ["1|before|COMPLETED"])
    assert process_of(sandbox, "mariadbd").kill(5)
    assert sandbox.status().dead == ("mariadbd",)
    Sandbox.start(sandbox_directory, Shape(nodes=1, accounting=True))
    assert run_on_sandbox(sandbox, *ask).splitlines() == ["1|before|COMPLETED"]
    sandbox.stop()
    assert left_behind(sandbox_directory) == []


# Nothing left behind


def test_stop_ends_jobs_that_hide_and_leaves_nothing(sandbox_directory: Path) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=2, cpus=2))
    namespace = namespace_of(sandbox)
    hide = "trap '' TERM; setsid sh -c 'trap \"\" TERM; env -i sleep 1000 & exec env -i sleep 1000' & env -i sleep 1000"
    submit(sandbox, hide)
    wait_until(lambda: sum("sleep" in line for line in inhabitants(namespace)) >= 3)
    (sandbox.layout.scratch / "closed").mkdir(mode=0o500)
    assert sandbox.stop()
    assert inhabitants(namespace) == []
    assert left_behind(sandbox_directory) == []


def test_stop_works_while_someone_sits_in_the_scratch(sandbox_directory: Path) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1))
    with subprocess.Popen(["sleep", "1000"], cwd=sandbox.layout.scratch) as sitter:
        try:
            sandbox.stop()
            assert left_behind(sandbox_directory) == []
            assert sitter.poll() is None
        finally:
            sitter.kill()


def test_stop_may_be_repeated_and_a_directory_that_was_there_stays(sandbox_directory: Path) -> None:
    sandbox_directory.mkdir()
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1))
    assert [sandbox.stop(), sandbox.stop()] == [True, False]
    assert list(sandbox_directory.iterdir()) == []


@pytest.mark.parametrize("victim", ["anchor", "keeper", "munged", "slurmctld", "slurmd.node1"])
def test_stop_leaves_nothing_after_a_crash_of(victim: str, sandbox_directory: Path) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=2, cpus=2))
    namespace = namespace_of(sandbox)
    submit(sandbox, "sleep 1000")
    assert process_of(sandbox, victim).kill(5)
    sandbox.stop()
    assert inhabitants(namespace) == []
    assert left_behind(sandbox_directory) == []


@pytest.mark.parametrize("seconds", [0.06, 0.12, 0.18, 0.24, 0.3])
def test_stop_leaves_nothing_after_a_start_killed_at(seconds: float, sandbox_directory: Path) -> None:
    with subprocess.Popen(command("start", "--dir", sandbox_directory), stdout=subprocess.DEVNULL) as starting:
        time.sleep(seconds)
        starting.kill()
    Sandbox.at(sandbox_directory).stop()
    # A start that was killed before it had written down what it had started is followed by its keeper, by itself.
    wait_until(lambda: left_behind(sandbox_directory) == [])


@pytest.mark.parametrize("trace", ["", "sandbox.json.0123456789abcdef.new"])
def test_a_start_that_is_killed_before_there_is_a_sandbox_leaves_nothing_in_the_way(
    trace: str, sandbox_directory: Path
) -> None:
    def leave_traces() -> None:
        with private.locked(sandbox_directory, make=True):
            if trace:
                (sandbox_directory / trace).touch()

    leave_traces()
    assert not Sandbox.at(sandbox_directory).stop()
    assert not sandbox_directory.exists()
    leave_traces()
    Sandbox.start(sandbox_directory, Shape(nodes=1)).stop()
    assert not sandbox_directory.exists()


def test_a_start_that_is_interrupted_before_there_is_a_sandbox_leaves_nothing(
    sandbox_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Sandbox.start(sandbox_directory, Shape(nodes=1))
    assert not sandbox_directory.exists()


def test_what_a_benchmark_creates_there_after_the_stop_is_not_in_the_way(
    sandbox_directory: Path, tmp_path: Path
) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1))
    variables = sandbox.environment()
    assert sandbox.stop()
    command = [bench_binary.build() / "mdtest", "-n", "4", "-d", tmp_path / "files"]
    subprocess.run(command, env=os.environ | variables, check=True, capture_output=True)
    assert [path.name for path in sandbox_directory.iterdir()] == ["session"]
    assert not sandbox.stop()
    subprocess.run(command, env=os.environ | variables, check=True, capture_output=True)
    (sandbox_directory / "other").touch()
    with pytest.raises(InputError, match="not empty and not a sandbox"):
        Sandbox.start(sandbox_directory, Shape(nodes=1))
    assert len(list(sandbox_directory.iterdir())) == 2
    (sandbox_directory / "other").unlink()
    Sandbox.start(sandbox_directory, Shape(nodes=1)).stop()


def test_what_is_unmounted_meanwhile_by_another_does_not_stop_a_stop(
    sandbox_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1))
    seen = machine.mounts_below(sandbox_directory)
    assert seen
    sandbox.stop()
    still = iter([seen])
    monkeypatch.setattr(machine, "mounts_below", lambda _: next(still, []))
    machine.unmount_below(sandbox_directory)


def test_daemons_end_with_a_start_that_is_killed_before_it_is_done(sandbox_directory: Path, tmp_path: Path) -> None:
    path = fake(tmp_path / "bin", "slurmctld", "exec sleep 1000")
    environment = os.environ | {"PATH": path}
    with subprocess.Popen(command("start", "--dir", sandbox_directory), env=environment) as starting:
        wait_until(lambda: any("sleep" in line for line in command_lines_with(sandbox_directory)))
        starting.kill()
    wait_until(lambda: command_lines_with(sandbox_directory) == [])


def test_a_sandbox_ends_by_itself_when_its_owner_is_killed(sandbox_directory: Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as owner:
        sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1, cpus=1), owner.pid)
        namespace = namespace_of(sandbox)
        submit(sandbox, "sleep 1000")
        owner.kill()
    # The process that made the namespace stands outside it, and ends a moment after the last inhabitant.
    wait_until(lambda: left_behind(sandbox_directory) == [str(sandbox_directory)])  # only the directory, with the logs
    assert inhabitants(namespace) == []
    sandbox.stop()
    assert left_behind(sandbox_directory) == []


def test_who_waits_for_a_sandbox_that_is_killed_is_told_at_once(sandbox_directory: Path) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1, cpus=1))
    with pytest.raises(EnvironmentLacks, match="has ended, and its Slurm with it"), sandbox.watched():
        process_of(sandbox, "keeper").kill(5)
        time.sleep(30)
    sandbox.stop()
    assert left_behind(sandbox_directory) == []


def test_who_leaves_a_sandbox_before_it_ends_is_told_nothing(sandbox_directory: Path) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1, cpus=1))
    before = signal.getsignal(signal.SIGALRM)
    with sandbox.watched():
        assert run_on_sandbox(sandbox, "srun", "hostname") == "node1\n"
    sandbox.stop()
    assert signal.getsignal(signal.SIGALRM) is before


def test_an_owner_that_is_no_process_is_refused_and_nothing_is_left(sandbox_directory: Path) -> None:
    with pytest.raises(InputError, match=r"--owner 99999999: .*; allowed: the id of a running process"):
        Sandbox.start(sandbox_directory, Shape(nodes=1, cpus=1), 99999999)
    assert left_behind(sandbox_directory) == []


def test_ctrl_c_during_start_leaves_nothing(sandbox_directory: Path, tmp_path: Path) -> None:
    path = fake(tmp_path / "bin", "slurmctld", "exec sleep 1000")
    environment = os.environ | {"PATH": path}
    with subprocess.Popen(command("start", "--dir", sandbox_directory), env=environment) as starting:
        wait_until(lambda: any("sleep" in line for line in command_lines_with(sandbox_directory)))
        starting.send_signal(signal.SIGINT)
        assert starting.wait(300) == INTERRUPTED
    assert left_behind(sandbox_directory) == []


# Several, damaged, repaired


def test_two_started_at_the_same_moment_know_nothing_of_each_other(sandbox_directory: Path) -> None:
    places = [sandbox_directory.with_name(name) for name in "ab"]
    starting = [
        subprocess.Popen(command("start", "--dir", place, "--nodes", "1"), stdout=subprocess.DEVNULL)
        for place in places
    ]
    sandboxes = [Sandbox.at(place) for place in places]
    try:
        assert [process.wait(300) for process in starting] == [0, 0]
        job = submit(sandboxes[0], "sleep 1000", "--job-name=mine")
        wait_until(lambda: [(job.id, job.state) for job in sandboxes[0].status().jobs] == [(job, "RUNNING")])
        assert sandboxes[1].status().jobs == ()
        sandboxes[0].stop()
        assert run_on_sandbox(sandboxes[1], "srun", "hostname") == "node1\n"
    finally:
        for sandbox in sandboxes:
            sandbox.stop()
    assert [left_behind(place) for place in places] == [[], []]


def test_two_starts_of_one_directory_make_one_sandbox(sandbox_directory: Path) -> None:
    start = command("start", "--dir", sandbox_directory, "--nodes", "1")
    processes = [subprocess.Popen(start, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(300) for process in processes] == [0, 0]
    assert sum("slurmctld" in line for line in command_lines_with(sandbox_directory)) == 1


def written_after(file: Path, moment: float) -> bool:
    try:
        return file.stat().st_mtime > moment
    except FileNotFoundError:  # slurmctld is replacing it
        return False


@pytest.mark.parametrize("victim", ["munged", "slurmctld", "slurmd.node2"])
def test_start_brings_a_dead_daemon_back_and_touches_no_other(victim: str, sandbox_directory: Path) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=2, cpus=2))
    before = {daemon.name: daemon.pid for daemon in sandbox.status().daemons}
    job = submit(sandbox, "sleep 1000", "--nodelist=node1")
    wait_until(lambda: [job.state for job in sandbox.status().jobs] == ["RUNNING"])
    if victim == "slurmctld":
        running = time.time()  # what it has written down by its crash is what it knows after it
        run_on_sandbox(
            sandbox, "scontrol", "update", f"JobId={job}", "Comment=kept"
        )  # else it may have nothing more to write down
        wait_until(lambda: written_after(sandbox.layout.controller_state / "job_state", running))
    assert process_of(sandbox, victim).kill(5)
    process = run("status", "--dir", sandbox_directory)
    assert (process.returncode, process.stdout.splitlines()[1]) == (
        1,
        f"dead: {victim}; 'campaign sandbox start' restarts them",
    )
    assert not sandbox.running()
    Sandbox.start(sandbox_directory, Shape(nodes=2, cpus=2))
    after = {daemon.name: daemon.pid for daemon in sandbox.status().daemons}
    assert {name for name in after if after[name] != before[name]} == {victim}
    assert sandbox.running()
    assert [(status.id, status.state) for status in sandbox.status().jobs] == [(job, "RUNNING")]
    assert run_on_sandbox(sandbox, "srun", "--nodelist=node2", "-n1", "hostname") == "node2\n"


def test_start_after_all_of_it_died_goes_on_with_the_job_numbers(sandbox_directory: Path) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1))
    first = submit(sandbox, "true")
    wait_until((sandbox.layout.controller_state / "job_state").exists)
    assert process_of(sandbox, "anchor").kill(5)
    wait_until(lambda: not process_of(sandbox, "keeper").alive())
    assert sandbox.status().state == "stopped"
    assert run("status", "--dir", sandbox_directory).returncode == 1
    Sandbox.start(sandbox_directory, Shape(nodes=1))
    assert int(submit(sandbox, "true")) == int(first) + 1


def test_status_says_the_same_in_words_and_in_json(sandbox: Sandbox) -> None:
    document = json.loads(run("status", "--dir", sandbox.layout.top, "--json").stdout)
    names = ["keeper", "munged", "slurmctld", *(f"slurmd.node{i}" for i in (1, 2, 3, 4))]
    assert (document["state"], document["dead"], [daemon["name"] for daemon in document["daemons"]]) == (
        "up",
        [],
        names,
    )
    shape = {"nodes": 4, "cpus": 4, "accounting": False, "partition": "sandbox", "epilog": "/bin/true"}
    assert document["shape"] == {**shape, "storage": {"bricks": 0, "on_disk": False, "slow_ms": 0}}
    process = run("status", "--dir", sandbox.layout.top)
    assert process.returncode == 0
    assert [line.split()[0] for line in process.stdout.splitlines()[1:8]] == names


def test_env_is_what_a_shell_needs(sandbox: Sandbox) -> None:
    exports = run("env", "--dir", sandbox.layout.top).stdout
    script = f"{exports}\nsrun -N2 --label sh -c 'echo $SLURM_PMIX_FENCE'"
    stdout = subprocess.run(["sh", "-ec", script], capture_output=True, text=True, timeout=800, check=True).stdout
    assert sorted(stdout.splitlines()) == ["0: ring", "1: ring"]


# As a normal user


@pytest.fixture
def as_user(sandbox_directory: Path) -> list[str]:
    """The start of a command line that runs the sandbox as a normal user, from a copy that this user can read."""
    if os.geteuid() != 0:
        return command()
    copy, original = sandbox_directory.parent / "python", Path(str(campaign.__file__)).parent
    libraries = [Path(str(library.__file__)).parent for library in (jinja2, markupsafe)]
    for folder in (original, original.parent / "templates", *libraries):
        shutil.copytree(folder, copy / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.chown(sandbox_directory.parent, "nobody", "nogroup")
    become = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--inh-caps=-all", "env", "-i"]
    python = os.path.realpath(sys.executable)
    return [
        *become,
        f"PATH={os.environ['PATH']}",
        f"PYTHONPATH={copy}",
        python,
        "-BP",
        "-m",
        "campaign",
        "sandbox",
    ]


def test_a_normal_user_gets_the_same_cluster(as_user: list[str], sandbox_directory: Path, tmp_path: Path) -> None:
    def call(verb: str) -> str:
        result = subprocess.run(
            [*as_user, verb, "--dir", sandbox_directory], capture_output=True, text=True, timeout=800
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    call("start")
    inside = (
        'hostname; mkdir -m 500 "$CAMPAIGN_SCRATCH/$SLURM_PROCID"; '
        'touch "$CAMPAIGN_SCRATCH/$SLURM_PROCID/file" 2>/dev/null || echo refused; '
        "grep CapEff /proc/self/status | cut -f2"
    )
    script = f"{call('env')}\nsrun -N4 --label sh -c {shlex.quote(inside)}"
    become = as_user[: as_user.index("env") + 2] if "env" in as_user else ["env"]
    result = subprocess.run(
        [*become, f"PATH={os.environ['PATH']}", "sh", "-ec", script], capture_output=True, text=True, timeout=800
    )
    # Permissions bind its jobs, although they run where the user holds every capability.
    assert sorted(result.stdout.splitlines()) == sorted(
        f"{rank}: {line}" for rank in range(4) for line in (f"node{rank + 1}", "refused", "0" * 16)
    ), result.stderr
    call("stop")
    assert left_behind(sandbox_directory) == []


def test_a_user_without_user_namespaces_gets_the_reason(sandbox_directory: Path) -> None:
    # A user namespace in which no further one is allowed stands for a machine that forbids them.
    forbid = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'
    enter = ["unshare", "--user", "--map-user=1000", "--keep-caps", "sh", "-c", forbid, "sh"]
    drop = ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--"]
    start = command("start", "--dir", sandbox_directory)
    result = subprocess.run([*enter, *drop, *start], capture_output=True, text=True, timeout=800)
    assert result.returncode == ENVIRONMENT
    assert result.stderr.splitlines() == [
        "campaign: sandbox: user 1000 may not create namespaces on this machine; /proc/sys/user/max_user_namespaces "
        "is 0; a normal user needs user namespaces: ask the administrator for them, or run as root. unshare says:",
        "    unshare: unshare failed: No space left on device",
    ]
    assert left_behind(sandbox_directory) == []


def test_root_without_its_capabilities_gets_the_reason(sandbox_directory: Path) -> None:
    weak = ["unshare", "--user", "--map-root-user", "setpriv", "--inh-caps=-all", "--bounding-set=-all", "--"]
    start = command("start", "--dir", sandbox_directory)
    result = subprocess.run([*weak, *start], capture_output=True, text=True, timeout=800)
    assert (result.returncode, result.stderr) == (
        ENVIRONMENT,
        "campaign: sandbox: root lacks the capability SYS_ADMIN (in a container?), needed for "
        "namespaces and mounts; give it to the container (--cap-add SYS_ADMIN), or run as a normal "
        "user\n",
    )


# Refusals


def test_a_directory_with_other_things_in_it_is_neither_used_nor_removed(sandbox_directory: Path) -> None:
    sandbox_directory.mkdir()
    sandbox_directory.chmod(0o755)
    (sandbox_directory / "thesis.tex").write_text("years of work")
    for verb in ("start", "stop"):
        result = run(verb, "--dir", sandbox_directory)
        assert result.returncode == USAGE
        assert f"sandbox: {sandbox_directory} is" in result.stderr
    assert (sandbox_directory / "thesis.tex").read_text() == "years of work"
    assert sandbox_directory.stat().st_mode & 0o777 == 0o755


def test_a_running_sandbox_of_another_shape_is_not_changed(sandbox: Sandbox) -> None:
    result = run("start", "--dir", sandbox.layout.top, "--nodes", "3")
    assert result.returncode == USAGE
    assert result.stderr == (
        "campaign: sandbox: 4 nodes of 4 CPUs, without accounting, partition sandbox already run in "
        f"{sandbox.layout.top}; requested: 3 nodes of 8 CPUs, without accounting, partition sandbox; "
        "stop it first or use another --dir\n"
    )


@pytest.mark.parametrize(
    ("shape", "problem"),
    [
        ({"nodes": 0}, "sandbox: found 0 nodes; allowed: 1 to 64"),
        ({"nodes": 65}, "sandbox: found 65 nodes; allowed: 1 to 64"),
        ({"cpus": -1}, "sandbox: found -1 CPUs per node; allowed: 1 to 1024"),
        (
            {"partition": "a b\nc"},
            "sandbox: found partition name 'a b\\nc'; allowed: ASCII letters, digits, _ and -",
        ),
    ],
)
def test_impossible_shapes_are_refused(shape: dict[str, int], problem: str, sandbox_directory: Path) -> None:
    with pytest.raises(InputError) as caught:
        Sandbox.start(sandbox_directory, Shape(**shape))
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("directory", "reason"),
    [
        ("/tmp/" + "x" * 66, "has 71 bytes"),
        ("/tmp/with blank", "characters that slurm.conf does not allow"),
        ("/tmp/new\nline", "characters that slurm.conf does not allow"),
        ("/dev/shm/here", "is in /dev/shm"),
    ],
)
def test_impossible_directories_are_refused(directory: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Sandbox.at(directory)


def test_the_longest_directory_and_the_most_nodes_work(sandbox_directory: Path) -> None:
    longest = Path(str(sandbox_directory).ljust(70, "x"))
    sandbox = Sandbox.start(longest, Shape(nodes=64, cpus=1))
    try:
        run_on_sandbox(sandbox, "scontrol", "update", "NodeName=node64", "Reason=test", "State=DRAIN")
        run_on_sandbox(sandbox, "scontrol", "update", "NodeName=node64", "State=RESUME")
        assert run_on_sandbox(
            sandbox, "srun", "--nodelist=node[1,64]", "-N2", "--mpi=pmix", "-n2", "--label", "hostname"
        ).split()
    finally:
        sandbox.stop()
    assert left_behind(longest) == []


def test_missing_programs_are_named_with_their_packages(
    monkeypatch: pytest.MonkeyPatch, sandbox_directory: Path
) -> None:
    real = shutil.which
    absent = {"munged", "slurmd", "slurmdbd", "mariadbd"}
    monkeypatch.setattr(
        machine.shutil, "which", lambda program, **where: None if program in absent else real(program, **where)
    )
    with pytest.raises(EnvironmentLacks) as caught:
        Sandbox.start(sandbox_directory, Shape(accounting=True))
    assert str(caught.value) == (
        "sandbox: mariadbd, munged, slurmd, slurmdbd not found; install the Debian packages: "
        "apt-get install mariadb-server munge slurmd slurmdbd"
    )


def test_a_daemon_that_fails_is_quoted_and_nothing_is_left(sandbox_directory: Path, tmp_path: Path) -> None:
    path = fake(tmp_path / "bin", "slurmctld", "echo slurmctld: fatal: the disk is on fire; exit 1")
    result = run("start", "--dir", sandbox_directory, PATH=path)
    assert result.returncode == ENVIRONMENT
    first, *log = result.stderr.splitlines()
    assert first in (
        f"campaign: sandbox: slurmctld {ending}; the end of {sandbox_directory}/log/slurmctld.log:"
        for ending in ("ended", "ended at once")
    )
    assert log == ["    slurmctld: fatal: the disk is on fire"]
    assert left_behind(sandbox_directory) == []


# Parts


@pytest.mark.parametrize(
    ("says", "version"),
    [("mpirun (Open MPI) 6.0.0rc2", 6), ("mpirun (Open MPI) 4.1.4", 4), ("HYDRA build details: Version: 4.0.2", 0)],
)
def test_the_version_of_open_mpi_is_that_of_its_mpirun(
    says: str, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mpirun").write_text(f'#!/bin/sh\n[ -n "$HOME" ] && echo "{says}"\n')
    (tmp_path / "mpirun").chmod(0o755)
    monkeypatch.setattr(machine, "PROGRAMS_PATH", str(tmp_path))
    assert machine.open_mpi() == version
    (tmp_path / "mpirun").unlink()
    assert machine.open_mpi() == 0


@pytest.mark.parametrize(
    ("example", "version"), [("crossroads-rehearsal", 5), ("crossroads-gluster", 5), ("crossroads-mpirun", 6)]
)
def test_what_the_sandbox_sets_for_mpi_is_in_the_examples_that_run_on_it(
    example: str, version: int, sandbox_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = config.load(Path(__file__).parents[2] / "docs" / "examples" / f"{example}.yaml")[0].system
    monkeypatch.setattr(machine, "open_mpi", lambda: version)
    names = {name for name in Sandbox.at(sandbox_directory).environment() if name.startswith(("OMPI_MCA_", "UCX_"))}
    assert "OMPI_MCA_pml" in names
    assert names <= set(re.findall(r"\w+", dict(described)[USER_TUNING]))


def test_a_process_with_the_pid_of_a_dead_one_is_not_taken_for_it() -> None:
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        real = Process.from_pid(sleeper.pid)
        earlier = Process(sleeper.pid, real.started - 1)
        assert (real.alive(), earlier.alive()) == (True, False)
        assert earlier.kill(0)
        assert sleeper.poll() is None
        assert real.kill(60)
        assert sleeper.wait(300) == -signal.SIGKILL


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_what_a_killed_start_mounts_at_the_last_moment_does_not_stay(sandbox_directory: Path) -> None:
    late = sandbox_directory / "scratch"
    late.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "late", late], check=True, timeout=800)
    machine.remove_tree(late)
    assert left_behind(sandbox_directory / "scratch") == []


def test_slurm_conf_is_as_written_here() -> None:
    layout = Layout(Path("/run/box"))
    shape = Shape(nodes=2, cpus=3, accounting=True, partition="batch")
    text = slurmconf.slurm_conf(layout, shape, 20100, "alice", 4096, "pmix")
    assert [line.partition(" #")[0] for line in text.splitlines()[1:]] == [
        "ClusterName=sandbox",
        "SlurmctldHost=head(127.0.0.1)",
        "SlurmctldPort=20100",
        "SlurmUser=alice",
        "SlurmdUser=alice",
        "AuthType=auth/munge",
        "AuthInfo=socket=/run/box/munge/socket",
        "CredType=cred/munge",
        "StateSaveLocation=/run/box/ctld",
        "SlurmdSpoolDir=/run/box/s/%n",
        "TmpFS=/run/box/tmp/%n",
        "SlurmctldPidFile=/run/box/slurmctld.pid",
        "SlurmdPidFile=/run/box/slurmd.%n.pid",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/none",
        "SwitchType=switch/none",
        "MpiDefault=pmix",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        "SlurmdParameters=config_overrides",
        "ReturnToService=2",
        "Epilog=/bin/true",
        "SchedulerType=sched/backfill",
        "SchedulerParameters=batch_sched_delay=0,sched_interval=1",
        "CompleteWait=0",
        "KillWait=10",
        "SlurmdTimeout=10",
        "SlurmctldDebug=info",
        "SlurmdDebug=info",
        "CommunicationParameters=NoCtldInAddrAny",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=127.0.0.1",
        "AccountingStoragePort=20101",
        "AccountingStoragePass=/run/box/munge/socket",
        "NodeName=node1 NodeAddr=127.0.0.1 Port=20102 CPUs=3 CoresPerSocket=3 RealMemory=4096",
        "NodeName=node2 NodeAddr=127.0.0.1 Port=20103 CPUs=3 CoresPerSocket=3 RealMemory=4096",
        "PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
    ]


def test_stop_removes_what_a_killed_start_still_writes(
    sandbox_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1, cpus=1))
    removed = machine.remove_tree

    def with_a_late_file(path: Path) -> None:
        removed(path)
        if path == sandbox.layout.state_file:
            sandbox.layout.log("late").parent.mkdir()

    monkeypatch.setattr(machine, "remove_tree", with_a_late_file)
    assert sandbox.stop()
    assert not sandbox_directory.exists()


@pytest.mark.parametrize("epilog", ["true", "/nonexistent/epilog", "/bin/true;reboot"])
def test_an_epilog_that_is_no_program_by_its_path_is_refused(epilog: str) -> None:
    with pytest.raises(InputError, match="allowed: the absolute path of a program"):
        Shape(epilog=epilog)

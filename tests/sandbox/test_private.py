"""The directory of a sandbox: nobody else can make it first, change it, replace it, or keep it locked."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from campaign.core import users
from campaign.core.errors import OK, USAGE, EnvironmentLacks, InputError
from campaign.core.processes import Process
from campaign.sandbox import machine, private
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import STATE_VERSION, Shape

FREE = 0o700


def campaign(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "campaign", *map(str, arguments)]
    return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=800)


def state_naming(process: Process) -> str:
    """A sandbox.json that says that each process of the sandbox is this one."""
    shape = {"nodes": 1, "cpus": 1, "accounting": False, "partition": "sandbox", "epilog": "/bin/true"}
    names = ("anchor", "keeper", "munged", "slurmctld", "slurmd.node1")
    processes = {name: {"pid": process.pid, "started": process.started} for name in names}
    state = {"shape": shape, "uid": os.geteuid(), "made_directory": False, "base_port": 20000, "processes": processes}
    return json.dumps({"version": STATE_VERSION, **state})


@pytest.fixture
def place(sandbox_directory: Path) -> Iterator[Path]:
    """An empty directory of the user, in which tests put what no sandbox has."""
    sandbox_directory.mkdir(mode=0o700)
    yield sandbox_directory
    shutil.rmtree(sandbox_directory)


# --- made by another user

VERBS = ("start", "status", "env", "stop")
ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")


@ONLY_ROOT
@pytest.mark.parametrize("verb", VERBS)
def test_a_sandbox_that_another_user_has_made_is_refused_and_ends_no_process(verb: str, place: Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as sleeper:
        try:
            (place / "sandbox.json").write_text(state_naming(Process.from_pid(sleeper.pid)))
            (place / "slurm.conf").write_text("PluginDir=/tmp/evil\n")
            place.chmod(0o755)
            shutil.chown(place, "nobody")
            process = campaign("sandbox", verb, "--dir", place)
            assert (process.returncode, process.stdout) == (USAGE, "")
            assert process.stderr.startswith(
                f"campaign: sandbox: {place} belongs to user nobody (you are user root); work"
            )
            assert sleeper.poll() is None
        finally:
            sleeper.kill()


@pytest.mark.parametrize("kind", ["missing", "empty", "writable for others", "with a slurm.conf only"])
def test_env_prints_nothing_where_no_sandbox_is_recorded(kind: str, place: Path) -> None:
    """Others can put a slurm.conf, which names programs, into a shared directory."""
    directory = place / "shared"
    if kind != "missing":
        directory.mkdir()
    if kind == "writable for others":
        directory.chmod(0o777)
    if kind == "with a slurm.conf only":
        (directory / "slurm.conf").write_text("PluginDir=/tmp/evil\n")
    process = campaign("sandbox", "env", "--dir", directory)
    assert (process.returncode, process.stdout) == (USAGE, "")
    assert process.stderr == (
        f"campaign: no sandbox in {directory}; start one with 'campaign sandbox start --dir {directory}'\n"
    )


def test_env_names_no_directory_where_the_default_one_has_no_sandbox(place: Path) -> None:
    process = campaign("sandbox", "env", XDG_RUNTIME_DIR=str(place))
    default = place / "campaign-sandbox"
    assert process.stderr == f"campaign: no sandbox in {default}; start one with 'campaign sandbox start'\n"


@ONLY_ROOT
def test_a_run_does_not_use_a_default_sandbox_that_another_user_has_made(place: Path, tmp_path: Path) -> None:
    default = place / "campaign-sandbox"
    default.mkdir()
    shutil.chown(default, "nobody")
    file = tmp_path / "c.yaml"
    file.write_text("name: c\nrules: crossroads-mdtest\nprofile: rehearsal\n")
    nowhere = tmp_path / "slurm.conf"
    nowhere.write_text("ClusterName=none\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=1\nNodeName=none\n")
    process = campaign("run", "--sandbox", file, XDG_RUNTIME_DIR=str(place), SLURM_CONF=str(nowhere))
    assert (process.returncode, process.stdout) == (USAGE, "")
    assert f"sandbox: {default} belongs to user nobody" in process.stderr


def test_a_link_to_a_directory_of_ones_own_is_refused(place: Path) -> None:
    link = place.parent / "link"
    link.symlink_to(place)
    for call in (lambda: Sandbox.start(link), lambda: Sandbox.at(link).stop(), lambda: Sandbox.at(link).status()):
        with pytest.raises(InputError, match="link is not a directory, or a link to one; choose another"):
            call()
    assert list(place.iterdir()) == []


def plant_fifo(path: Path) -> None:
    os.mkfifo(path)


def plant_link(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere"
    elsewhere.write_text(state_naming(Process.from_pid(os.getpid())))
    path.symlink_to(elsewhere)


def plant_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


PLANTS = {"fifo": plant_fifo, "link": plant_link, "socket": plant_socket, "directory": Path.mkdir}


@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_no_file_is_not_read_as_the_state(plant: str, place: Path) -> None:
    plant_in: Callable[[Path], None] = PLANTS[plant]
    plant_in(place / "sandbox.json")
    for verb in ("start", "status", "stop"):
        process = campaign("sandbox", verb, "--dir", place)
        assert process.returncode == USAGE
        assert f"{place}/sandbox.json" in process.stderr


@ONLY_ROOT
def test_a_state_that_another_user_has_put_into_an_own_directory_is_refused(place: Path) -> None:
    (place / "sandbox.json").write_text(state_naming(Process.from_pid(os.getpid())))
    shutil.chown(place / "sandbox.json", "nobody")
    with pytest.raises(InputError, match=r"others may have written .*: the file belongs to user nobody"):
        Sandbox.at(place).stop()


@pytest.mark.parametrize(("mode", "refused"), [(0o777, True), (0o720, True), (0o755, False), (0o711, False)])
def test_the_state_in_a_directory_in_which_others_can_write_is_refused(mode: int, refused: bool, place: Path) -> None:
    (place / "sandbox.json").write_text(state_naming(Process(2**22 - 1, 1)))
    place.chmod(mode)
    process = campaign("sandbox", "status", "--dir", place)
    assert (process.returncode == USAGE) == refused
    assert (f"and the directory has mode {mode:04o}; allowed:" in process.stderr) == refused


def test_nothing_is_written_through_what_others_put_into_an_empty_directory_before(place: Path) -> None:
    victim = place.parent / "victim"
    victim.write_text("precious")
    (place / "sandbox.json.new").symlink_to(victim)
    with pytest.raises(InputError, match="not empty and not a sandbox"):
        Sandbox.start(place, Shape(nodes=1, cpus=1))
    assert victim.read_text() == "precious"


# --- replaced by another user


@pytest.mark.parametrize(
    ("mode", "group", "refused"),
    [(0o777, "", True), (0o1777, "", False), (0o755, "", False), (0o770, "nogroup", True), (0o775, "root", False)],
)
def test_a_directory_that_others_can_replace_is_refused(
    mode: int, group: str, refused: bool, sandbox_directory: Path
) -> None:
    if group and os.geteuid() != 0:
        group, refused = "", False  # a normal user's own group
    if group:
        shutil.chown(sandbox_directory.parent, group=group)
    sandbox_directory.parent.chmod(mode)
    process = campaign("sandbox", "start", "--dir", sandbox_directory, "--nodes", "1", "--cpus", "1")
    assert process.returncode == (USAGE if refused else OK)
    problem = f"others can replace {sandbox_directory}, since {sandbox_directory.parent} belongs to user "
    assert (problem in process.stderr) == refused
    assert sandbox_directory.exists() != refused


# --- locked by another user


def test_a_socket_whose_name_others_can_compute_keeps_nobody_from_starting(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private, "LOCK_WAIT_S", 0.0)
    monkeypatch.setattr(machine, "FIRST_PORT", 19000)  # one block, which no sandbox uses
    monkeypatch.setattr(machine, "LAST_PORT", 19000 + machine.PORT_BLOCK)
    name = hashlib.sha256(os.fsencode(place)).hexdigest()[:32]
    with socket.socket(socket.AF_UNIX) as lock, socket.socket(socket.AF_UNIX) as ports:
        lock.bind(f"\0campaign-sandbox-{name}")
        ports.bind(f"\0campaign-sandbox-ports-{machine.FIRST_PORT}")
        with private.locked(place, make=False):
            base, reservation = machine.reserve_ports(1)
            reservation.close()
    assert base == machine.FIRST_PORT


@ONLY_ROOT
def test_another_user_cannot_lock_the_directory(sandbox_directory: Path) -> None:
    with private.locked(sandbox_directory, make=True):
        pass
    become = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    process = subprocess.run([*become, "flock", sandbox_directory, "true"], capture_output=True, text=True, timeout=800)
    assert "Permission denied" in process.stderr
    assert process.returncode != 0


def test_a_directory_that_is_locked_for_too_long_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private, "LOCK_WAIT_S", 0.0)
    problem = f"another 'sandbox start' or 'stop' has been running in {place}"
    with private.locked(place, make=False), pytest.raises(EnvironmentLacks, match=problem):
        Sandbox.at(place).stop()


def test_who_waited_for_the_lock_of_a_directory_that_was_removed_makes_a_new_one(
    sandbox_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox_directory.mkdir(mode=0o700)
    first = os.open(sandbox_directory, os.O_RDONLY)
    locks = iter([lambda: sandbox_directory.rmdir()])
    lock = fcntl.flock

    def lock_and_lose(descriptor: int, operation: int) -> None:
        lock(descriptor, operation)
        next(locks, lambda: None)()

    monkeypatch.setattr(private.fcntl, "flock", lock_and_lose)
    with private.locked(sandbox_directory, make=True) as descriptor:
        assert os.path.samestat(os.fstat(descriptor), sandbox_directory.stat())
        assert not os.path.samestat(os.fstat(descriptor), os.fstat(first))
    os.close(first)


def test_two_reservations_at_the_same_time_are_of_different_ports() -> None:
    reserved = [machine.reserve_ports(3) for _ in range(2)]
    assert reserved[0][0] != reserved[1][0]
    for _, reservation in reserved:
        reservation.close()


# --- a sandbox that works in it


@pytest.mark.slurm
@pytest.mark.timeout(900)
@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_whatever_the_umask_the_directory_and_the_socket_that_starts_programs_are_closed(
    umask: int, sandbox_directory: Path
) -> None:
    before = os.umask(umask)
    try:
        sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1, cpus=1))
    finally:
        os.umask(before)
    assert sandbox_directory.stat().st_mode & 0o777 == FREE
    assert sandbox.layout.keeper_socket.stat().st_mode & 0o777 == 0o600
    process = subprocess.run(
        ["srun", "hostname"], env=os.environ | sandbox.environment(), capture_output=True, text=True, timeout=800
    )
    assert process.stdout == "node1\n", process.stderr
    assert sandbox.stop()
    assert not sandbox_directory.exists()


@pytest.mark.slurm
@pytest.mark.timeout(900)
def test_a_sandbox_ends_when_its_directory_is_removed(sandbox_directory: Path) -> None:
    """As a runtime directory is at the end of the user's last session: no `stop` would find it."""
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=1, cpus=1))
    state = sandbox.layout.load()
    assert state is not None
    sandbox_directory.rename(sandbox_directory.parent / "gone")
    deadline = time.monotonic() + 300
    while any(process.alive() for process in state.processes.values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (sandbox_directory.parent / "gone").rename(sandbox_directory)


# --- the default


def test_the_default_directory_is_in_the_users_runtime_directory(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    assert Sandbox.at().layout.top == place / "campaign-sandbox"


@pytest.mark.parametrize("cache", ["set", "by home"])
@pytest.mark.parametrize("runtime", ["", "missing", "open", "relative", "another user's"])
def test_without_a_runtime_directory_of_the_user_alone_it_is_in_the_cache_directory(
    runtime: str, cache: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    places = {
        "": "",
        "missing": tmp_path / "missing",
        "open": tmp_path / "open",
        "relative": ".",
        "another user's": "/proc",
    }
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(places[runtime]))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache") if cache == "set" else "")
    expected = tmp_path / ("cache" if cache == "set" else ".cache") / "campaign-sandbox"
    assert users.sandbox_directory() == expected


def test_the_default_directory_is_named_without_links(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that results that were measured with `sandbox env` have the target that a campaign file names without it."""
    (place / "real").mkdir(mode=0o700)
    (place / "link").symlink_to(place / "real")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place / "link"))
    assert users.sandbox_directory() == Sandbox.at().layout.top == place / "real" / "campaign-sandbox"


def test_a_user_without_a_home_learns_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "")

    def without_home(_path: Path) -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "expanduser", without_home)
    with pytest.raises(EnvironmentLacks, match=re.escape("set XDG_RUNTIME_DIR to a directory of your own with mode")):
        users.sandbox_directory()


@pytest.mark.slurm
@pytest.mark.timeout(900)
def test_the_default_sandbox_starts_where_there_is_no_cache_directory_yet(
    sandbox_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(sandbox_directory))
    sandbox = Sandbox.start(shape=Shape(nodes=1, cpus=1))
    try:
        assert sandbox.layout.top == sandbox_directory / "campaign-sandbox"
        assert sandbox_directory.stat().st_mode & 0o777 == FREE
        assert sandbox.running()
    finally:
        sandbox.stop()
    assert list(sandbox_directory.iterdir()) == []

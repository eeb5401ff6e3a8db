"""Start, stop and look at a sandbox.

Processes of a running sandbox, on the machine's side:

    anchor   `unshare --fork --kill-child`: makes the namespaces; when it dies, the kernel kills the keeper
    └ keeper   process 1 of the PID namespace; when it dies, the kernel kills everything below
      ├ munged, (mariadbd, slurmdbd,) slurmctld
      └ slurmd of each node, in its own UTS, IPC and mount namespace; below it slurmstepds and jobs

So ending the anchor ends all of it, whatever state it was in, and `stop` needs no name to look for.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from campaign.errors import EnvironmentLacks, InputError
from campaign.sandbox import keeper, processes, slurmconf
from campaign.sandbox.layout import Layout, Shape, State, default_directory
from campaign.sandbox.processes import Process
from campaign.sandbox.slurmconf import Daemon

PROGRAMS_PATH = f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin"
PACKAGES = {
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "hostname": "hostname",
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sinfo": "slurm-client",
    "squeue": "slurm-client",
    "scancel": "slurm-client",
}
ACCOUNTING_PACKAGES = {
    "slurmdbd": "slurmdbd",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
}
# Ports are taken in blocks below the range from which Linux takes those of outgoing connections (32768 and up).
FIRST_PORT, LAST_PORT, PORT_BLOCK = 20000, 32500, 100
LOCK_WAIT_S = 90.0
CLIENT_WAIT_S = 10.0
NODES_WAIT_S = 30.0
CANCEL_WAIT_S = 5.0
KILL_WAIT_S = 10.0


@dataclass(frozen=True)
class DaemonStatus:
    name: str
    pid: int  # on the machine's side; 0 when it was never started
    alive: bool
    node: str
    log: str


@dataclass(frozen=True)
class NodeStatus:
    name: str
    state: str  # as sinfo says it; "unknown" when slurmctld gives no answer
    slurmd_pid: int


@dataclass(frozen=True)
class JobStatus:
    id: str
    name: str
    state: str
    nodes: int
    reason: str


@dataclass(frozen=True)
class Status:
    """What `campaign sandbox status` shows. `state` is "up", "degraded" (something is dead) or "stopped"."""

    directory: str
    state: str
    shape: Shape | None
    daemons: tuple[DaemonStatus, ...] = ()
    nodes: tuple[NodeStatus, ...] = ()
    jobs: tuple[JobStatus, ...] = ()

    @property
    def dead(self) -> tuple[str, ...]:
        return tuple(daemon.name for daemon in self.daemons if not daemon.alive)


class Sandbox:
    """A Slurm cluster of virtual nodes on this machine, kept in one directory."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    @staticmethod
    def at(directory: Path | str | None = None) -> Sandbox:
        """The sandbox of a directory, running or not; of the default directory where none is given."""
        return Sandbox(Layout.of(default_directory() if directory is None else directory))

    @staticmethod
    def start(
        directory: Path | str | None = None,
        nodes: int = 4,
        cpus: int = 8,
        accounting: bool = False,
        partition: str = "sandbox",
    ) -> Sandbox:
        """Start a sandbox, or the dead parts of one that runs already, and wait until every node is in service.

        Raises InputError for a directory or numbers that cannot be, EnvironmentLacks for programs or permissions that
        are missing and for a daemon that does not start. A new sandbox that fails to start leaves nothing behind.
        """
        sandbox = Sandbox.at(directory)
        sandbox._start(Shape(nodes, cpus, accounting, partition))
        return sandbox

    def _start(self, shape: Shape) -> None:
        _require_programs(shape.accounting)
        with _lock(self.layout):
            state = self.layout.load()
            fresh = state is None
            if state is None:
                state = self._make(shape)
            elif state.shape != shape:
                raise InputError(
                    f"sandbox: {self.layout.top} holds one of {state.shape}; {shape} was asked for: stop it first, "
                    "or choose another --dir"
                )
            try:
                with _keeper_pipe() as (reading_end, pipe):
                    state = self._start_keeper(state, reading_end)
                    for daemon in self._daemons(state):
                        state = self._start_daemon(state, daemon)
                    self._wait_for_nodes(state)
                    with contextlib.suppress(BrokenPipeError):  # the keeper was there before
                        pipe.write(b"keep\n")
            except BaseException:
                if fresh:
                    self._remove()
                raise

    def stop(self) -> bool:
        """End its jobs and all its processes, unmount, remove its directory. Returns whether there was one.

        Raises InputError for a directory that is no sandbox of this user, EnvironmentLacks where something resists.
        """
        with _lock(self.layout):
            state = self.layout.load()
            if state is None:
                if self.layout.top.exists():
                    raise InputError(
                        f"sandbox: {self.layout.top} is no sandbox (it has no {self.layout.state_file.name})"
                    )
                return False
            self._cancel_jobs(state)
            self._remove()
            return True

    def running(self) -> bool:
        """Whether all its daemons are alive."""
        state = self.layout.load()
        return state is not None and all(daemon.alive for daemon in self._daemon_statuses(state))

    def environment(self) -> dict[str, str]:
        """What a command needs in its environment to use the sandbox, its jobs included (sbatch hands it on)."""
        found = {
            "SLURM_CONF": str(self.layout.slurm_conf),
            # Slurm's default fence fails now and then where several slurmd share a machine; see docs/sandbox.md.
            "SLURM_PMIX_FENCE": "ring",
            "CAMPAIGN_SCRATCH": str(self.layout.scratch),
            "OMPI_MCA_mpi_yield_when_idle": "1",
            # All nodes are 127.0.0.1, which Open MPI leaves out by default.
            "OMPI_MCA_btl_tcp_if_include": "lo",
            "OMPI_MCA_oob_tcp_if_include": "lo",
            "OMPI_MCA_orte_tmpdir_base": str(self.layout.session),
        }
        if os.geteuid() == 0:
            found |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return found

    def status(self) -> Status:
        """What runs and what does not; asks Slurm for nodes and jobs, each for 10 s at most."""
        state = self.layout.load()
        if state is None:
            return Status(str(self.layout.top), "stopped", None)
        daemons = self._daemon_statuses(state)
        dead = [daemon for daemon in daemons if not daemon.alive]
        if len(dead) == len(daemons):
            return Status(str(self.layout.top), "stopped", state.shape, daemons)
        pids = {daemon.node: daemon.pid for daemon in daemons}
        states = self._node_states()
        nodes = tuple(NodeStatus(node, states.get(node, "unknown"), pids[node]) for node in state.shape.node_names)
        jobs = []
        for line in (self._client("squeue", "-h", "-o", "%A|%j|%T|%D|%r") or "").splitlines():
            number, rest = line.split("|", 1)
            name, *others = rest.rsplit("|", 3)
            jobs.append(JobStatus(number, name, others[0], int(others[1]), others[2]))
        return Status(str(self.layout.top), "degraded" if dead else "up", state.shape, daemons, nodes, tuple(jobs))

    # Making and removing

    def _make(self, shape: Shape) -> State:
        """Make the directory and its first state."""
        top = self.layout.top
        try:
            try:
                top.mkdir(mode=0o700)
                made = True
            except FileExistsError:
                if top.is_dir() and any(top.iterdir()):
                    raise InputError(
                        f"sandbox: {top} is not empty and no sandbox: choose a new or empty directory with --dir"
                    ) from None
                made = False
                if top.stat().st_uid != os.geteuid():
                    raise InputError(
                        f"sandbox: {top} belongs to user {top.stat().st_uid}: choose a directory of your own with --dir"
                    ) from None
                top.chmod(0o700)
            state = State(shape, os.geteuid(), made)
            self.layout.save(state)
        except OSError as error:
            raise InputError(f"sandbox: cannot make a sandbox in {top}: {error}") from error
        return state

    def _remove(self) -> None:
        """End every process, unmount, remove the directory. Works on a sandbox in any state."""
        state = self.layout.load()
        if state is None:
            return
        below = [process for name in ("anchor", "keeper") if (process := state.processes.get(name))]
        for process in below:
            process.kill()
        # A keeper is gone only when every process of its namespace is.
        if left := processes.wait_until_gone(below, KILL_WAIT_S):
            raise EnvironmentLacks(
                f"sandbox: processes {[process.pid for process in left]} of {self.layout.top} do not end after SIGKILL "
                f"and {KILL_WAIT_S:.0f} s (uninterruptible I/O?): try again later"
            )
        for process in below:
            with contextlib.suppress(ChildProcessError):  # where this process started it
                os.waitpid(process.pid, os.WNOHANG)
        self._unmount()
        top = self.layout.top
        for entry in sorted(top.iterdir(), key=lambda path: path == self.layout.state_file):
            # The state goes last, so that a stop cut short can be repeated.
            try:
                _remove_tree(entry)
            except OSError as error:
                raise EnvironmentLacks(f"sandbox: cannot remove {entry}: {error}") from error
        if state.made_directory:
            top.rmdir()

    def _unmount(self) -> None:
        for point in processes.mounts_below(self.layout.top):
            # Lazily, when someone's current directory is in there: nothing may stay in the way of removal.
            if _run(["umount", str(point)]).returncode and (result := _run(["umount", "-l", str(point)])).returncode:
                raise EnvironmentLacks(f"sandbox: cannot unmount {point}: {result.stderr.strip()}")

    # Starting

    def _start_keeper(self, state: State, starter: BinaryIO) -> State:
        """Start anchor and keeper where they are dead. `starter` is the keeper's standard input (see keeper.py)."""
        living = state.processes.get("keeper")
        if living is not None and living.alive():
            return state
        layout, privileged = self.layout, _privileged()
        for directory in layout.directories(state.shape):
            directory.mkdir(parents=True, exist_ok=True)
        if privileged and not any(point == layout.scratch for point in processes.mounts_below(layout.scratch)):
            _mount_scratch(layout.scratch)
        base_port, reservation = _reserve_ports(state.shape.nodes + 2)
        self._write_configuration(state.shape, base_port)
        command = ["unshare", "--fork", "--kill-child=SIGKILL", "--pid", "--mount-proc", "--mount", "--uts"]
        command += ["--propagation", "slave"]
        if not privileged:
            command += ["--user", "--map-current-user", "--keep-caps"]
        script = f'hostname {slurmconf.HEAD} && exec "$@"'
        command += ["sh", "-c", script, "sh", sys.executable, "-I", keeper.__file__, str(layout.keeper_socket)]
        log = layout.log("keeper")
        layout.keeper_socket.unlink(missing_ok=True)
        with reservation, log.open("ab") as output:
            anchor = subprocess.Popen(
                command,
                cwd="/",
                env={"PATH": PROGRAMS_PATH},
                stdin=starter,
                stdout=output,
                stderr=output,
                pass_fds=[reservation.fileno()],
                start_new_session=True,
            )
        anchor_process = processes.process(anchor.pid)
        assert anchor_process is not None  # not waited for yet
        state = self._record(replace(state, base_port=base_port, processes={}), "anchor", anchor_process)
        deadline = time.monotonic() + 10
        while not layout.keeper_socket.exists() or not (below := processes.children(anchor.pid)):
            if anchor.poll() is not None:
                raise _keeper_failed(log, privileged)
            if time.monotonic() > deadline:
                raise EnvironmentLacks(f"sandbox: its keeper did not start within 10 s; {log}:\n{processes.tail(log)}")
            time.sleep(0.005)
        anchor.returncode = 0  # it outlives this process, so that nobody waits for it
        return self._record(state, "keeper", below[0])

    def _write_configuration(self, shape: Shape, base_port: int) -> None:
        layout, user = self.layout, pwd.getpwuid(os.geteuid()).pw_name
        key = layout.munge / "key"
        if not key.exists():
            key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20 // shape.nodes
        layout.slurm_conf.write_text(slurmconf.slurm_conf(layout, shape, base_port, user, max(1, memory_mib)))
        if shape.accounting:
            layout.slurmdbd_conf.touch(mode=0o600)
            layout.slurmdbd_conf.write_text(slurmconf.slurmdbd_conf(layout, base_port, user))

    def _daemons(self, state: State) -> tuple[Daemon, ...]:
        user = pwd.getpwuid(os.geteuid()).pw_name
        return slurmconf.daemons(self.layout, state.shape, state.base_port, user, _privileged())

    def _record(self, state: State, name: str, process: Process) -> State:
        state = replace(state, processes={**state.processes, name: process})
        self.layout.save(state)
        return state

    def _start_daemon(self, state: State, daemon: Daemon) -> State:
        """Start one daemon where it is dead, and wait until it is ready."""
        known = state.processes.get(daemon.name)
        if known is not None and known.alive():
            return state
        log = self.layout.log(daemon.name)
        if daemon.socket is not None:
            daemon.socket.unlink(missing_ok=True)
        request = {
            "argv": daemon.argv,
            "log": str(log),
            "env": {
                "PATH": PROGRAMS_PATH,
                "SLURM_CONF": str(self.layout.slurm_conf),
                "MYSQL_UNIX_PORT": str(self.layout.database_socket),
            },
        }
        inner = self._ask_keeper(request)
        children = processes.children(state.processes["keeper"].pid)
        process = next((child for child in children if processes.inner_pid(child.pid) == inner), None)
        if process is None:
            raise _daemon_failed(daemon, log, "ended at once")
        state = self._record(state, daemon.name, process)
        deadline = time.monotonic() + daemon.ready_s
        while not _ready(daemon):
            if not process.alive():
                raise _daemon_failed(daemon, log, "ended")
            if time.monotonic() > deadline:
                raise _daemon_failed(daemon, log, f"is not ready after {daemon.ready_s:.0f} s")
            time.sleep(0.01)
        return state

    def _ask_keeper(self, request: Mapping[str, object]) -> int:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(10)
                connection.connect(str(self.layout.keeper_socket))
                with connection.makefile("rwb") as stream:
                    stream.write(json.dumps(request).encode() + b"\n")
                    stream.flush()
                    answer = json.loads(stream.readline())
        except (OSError, ValueError) as error:
            raise EnvironmentLacks(
                f"sandbox: its keeper does not answer on {self.layout.keeper_socket}: {error}"
            ) from error
        if "error" in answer:
            raise EnvironmentLacks(f"sandbox: its keeper cannot start {request['argv']}: {answer['error']}")
        return int(answer["pid"])

    def _wait_for_nodes(self, state: State) -> None:
        deadline = time.monotonic() + NODES_WAIT_S
        while True:
            states = self._node_states()
            waiting = [name for name in state.shape.node_names if not _in_service(states.get(name, "unknown"))]
            if not waiting:
                return
            for daemon in self._daemons(state):
                if not state.processes[daemon.name].alive():
                    raise _daemon_failed(daemon, self.layout.log(daemon.name), "ended")
            if time.monotonic() > deadline:
                log = self.layout.log(f"slurmd.{waiting[0]}")
                found = ", ".join(f"{name} is {states.get(name, 'unknown')}" for name in waiting)
                raise EnvironmentLacks(f"sandbox: after {NODES_WAIT_S:.0f} s {found}; {log}:\n{processes.tail(log)}")
            time.sleep(0.03)

    # Asking Slurm

    def _client(self, *argv: str) -> str | None:
        """What a Slurm command says; None when it fails or gives no answer within 10 s."""
        environment = {"PATH": PROGRAMS_PATH, "SLURM_CONF": str(self.layout.slurm_conf)}
        try:
            result = subprocess.run(
                argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CLIENT_WAIT_S
            )
        except subprocess.TimeoutExpired:
            return None
        return result.stdout if result.returncode == 0 else None

    def _node_states(self) -> dict[str, str]:
        found = {}
        for line in (self._client("sinfo", "-h", "-N", "-o", "%N %T") or "").splitlines():
            node, state = line.split()
            found[node] = state
        return found

    def _cancel_jobs(self, state: State) -> None:
        """Give jobs the chance to end by themselves, and the commands that wait for them to see it."""
        controller = state.processes.get("slurmctld")
        if controller is None or not controller.alive():
            return
        deadline = time.monotonic() + CANCEL_WAIT_S
        if numbers := (self._client("squeue", "-h", "-o", "%A") or "").split():
            self._client("scancel", "--quiet", *set(numbers))
        while time.monotonic() < deadline and (self._client("squeue", "-h", "-o", "%A") or "").strip():
            time.sleep(0.05)

    def _daemon_statuses(self, state: State) -> tuple[DaemonStatus, ...]:
        found = []
        for name, node in [("keeper", ""), *((daemon.name, daemon.node) for daemon in self._daemons(state))]:
            process = state.processes.get(name)
            alive = process is not None and process.alive()
            pid = 0 if process is None else process.pid
            found.append(DaemonStatus(name, pid, alive, node, str(self.layout.log(name))))
        return tuple(found)


def _in_service(state: str) -> bool:
    """Whether a node answers, by the word that sinfo has for it ("idle", "allocated", "down*"; * is: no answer)."""
    return state[-1] not in "*#~%$@" and state not in ("unknown", "down")


def _ready(daemon: Daemon) -> bool:
    if daemon.port:
        return processes.listens(daemon.port)
    if daemon.socket is not None:
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(str(daemon.socket)) == 0
    return True


def _daemon_failed(daemon: Daemon, log: Path, how: str) -> EnvironmentLacks:
    return EnvironmentLacks(f"sandbox: {daemon.name} {how}; the end of {log}:\n{processes.tail(log)}")


def _keeper_failed(log: Path, privileged: bool) -> EnvironmentLacks:
    """Why the namespaces could not be made, from what unshare said and from the settings that forbid it."""
    text = f"sandbox: this machine does not let user {os.geteuid()} make namespaces"
    if privileged:
        text += " (a container needs the capability SYS_ADMIN for it)"
    else:
        settings = {
            "/proc/sys/user/max_user_namespaces": "0",
            "/proc/sys/kernel/unprivileged_userns_clone": "0",
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1",
        }
        for path, forbids in settings.items():
            with contextlib.suppress(OSError):
                if Path(path).read_text().strip() == forbids:
                    text += f"; {path} is {forbids}"
        text += "; a normal user needs user namespaces: ask for them, or run as root"
    return EnvironmentLacks(f"{text}. unshare says:\n{processes.tail(log)}")


def _privileged() -> bool:
    """Whether this is root with the capability to mount (SYS_ADMIN, bit 21), so that no user namespace is needed."""
    status = Path("/proc/self/status").read_text()
    capabilities = int(status.partition("CapEff:")[2].split()[0], 16)
    return os.geteuid() == 0 and bool(capabilities >> 21 & 1)


def _require_programs(accounting: bool) -> None:
    needed = PACKAGES | (ACCOUNTING_PACKAGES if accounting else {})
    missing = sorted(program for program in needed if shutil.which(program, path=PROGRAMS_PATH) is None)
    if missing:
        packages = " ".join(sorted({needed[program] for program in missing}))
        raise EnvironmentLacks(
            f"sandbox: {', '.join(missing)} not found: install the Debian packages with: apt-get install {packages}"
        )


def _mount_scratch(point: Path) -> None:
    """A tmpfs for jobs, with inodes for the 2^20 files of a full-size run several times over."""
    options = "mode=0755,nr_inodes=8m"
    result = _run(["mount", "-t", "tmpfs", "-o", options, "campaign-sandbox", str(point)])
    if result.returncode == 0:
        # What is mounted below it later on shows up on the nodes too.
        result = _run(["mount", "--make-shared", str(point)])
    if result.returncode:
        raise EnvironmentLacks(f"sandbox: cannot mount a tmpfs on {point}: {result.stderr.strip()}")


def _reserve_ports(count: int) -> tuple[int, socket.socket]:
    """A block of free TCP ports, and what keeps other sandboxes off it: a Unix socket without a path, whose name only
    one process of the machine can hold. The keeper inherits it, so the block is free again when the keeper is gone.
    """
    for base in range(FIRST_PORT, LAST_PORT - PORT_BLOCK, PORT_BLOCK):
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0campaign-sandbox-ports-{base}")
            if all(_port_is_free(port) for port in range(base, base + count)):
                return base, reservation
        except OSError:
            pass
        reservation.close()
    raise EnvironmentLacks(f"sandbox: no {count} free TCP ports in a row between {FIRST_PORT} and {LAST_PORT}")


def _port_is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", port))
        except OSError:
            return False
        return True


@contextlib.contextmanager
def _lock(layout: Layout) -> Iterator[None]:
    """One start or stop of a directory at a time. The lock dies with its holder, and leaves no file."""
    name = "\0campaign-sandbox-" + hashlib.sha256(os.fsencode(layout.top)).hexdigest()[:32]
    deadline = time.monotonic() + LOCK_WAIT_S
    with socket.socket(socket.AF_UNIX) as holder:
        while True:
            try:
                holder.bind(name)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise EnvironmentLacks(
                        f"sandbox: another start or stop has been at work on {layout.top} for {LOCK_WAIT_S:.0f} s"
                    ) from None
                time.sleep(0.05)
        yield


@contextlib.contextmanager
def _keeper_pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The pipe between this start and a keeper: reading end, writing end."""
    reading, writing = os.pipe()
    with open(reading, "rb", 0) as reading_end, open(writing, "wb", 0) as writing_end:  # noqa: PTH123
        yield reading_end, writing_end


def _run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, env={"PATH": PROGRAMS_PATH}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30
    )


def _remove_tree(path: Path) -> None:
    """Remove a file or a directory with all below it, directories without write permission included."""
    if not path.is_dir() or path.is_symlink():
        path.unlink()
        return

    def open_up(_function: object, name: str, _error: object) -> None:
        failed = Path(name)
        failed.parent.chmod(0o700)
        if failed.is_dir() and not failed.is_symlink():
            failed.chmod(0o700)
            shutil.rmtree(failed, onerror=open_up)
        else:
            failed.unlink()

    shutil.rmtree(path, onerror=open_up)

"""Starts a sandbox's processes, only those that are dead, each one ready before the next."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from campaign.core import processes, resources, users
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.sandbox import keeper, machine, query, slurmconf, storage
from campaign.sandbox.layout import Layout, SandboxState, Shape

KEEPER_WAIT_S = 60.0
NODES_WAIT_S = 120.0
MEMORY = "mode=0755,nr_inodes=8m"  # several times the 2^20 files of a full-size run


def daemons(layout: Layout, state: SandboxState) -> tuple[slurmconf.Daemon, ...]:
    """The daemons of a sandbox in the order in which they are started."""
    return slurmconf.daemons(layout, state.shape, state.base_port, users.user_name(os.geteuid()), machine.is_root())


def start(layout: Layout, state: SandboxState, owner: int | None = None) -> None:
    """Start what is dead and wait until every node is in service.

    A keeper started here survives only if all went well: it ends with its standard input until it reads "keep" there.
    Raises EnvironmentLacks with the end of the log of whatever failed.
    """
    reading, writing = os.pipe()
    with open(reading, "rb", 0), open(writing, "wb", 0):  # noqa: PTH123
        state = _start_keeper(layout, state, reading, owner)
        for daemon in daemons(layout, state):
            state = _start_daemon(layout, state, daemon)
        _wait_for_nodes(layout, state)
        with contextlib.suppress(BrokenPipeError):  # the keeper was already running and does not read it
            os.write(writing, b"keep\n")


def _start_keeper(layout: Layout, state: SandboxState, standard_input: int, owner: int | None) -> SandboxState:
    if _is_alive(state, "keeper"):
        return state
    for directory in layout.directories(state.shape):
        directory.mkdir(parents=True, exist_ok=True)
    points = _mounts(layout, state.shape)
    for point, options in points.items():
        if point not in machine.mounts_below(point):
            machine.mount_tmpfs(point, options)
    base_port, reservation = machine.reserve_ports(
        slurmconf.FIRST_NODE + state.shape.nodes + state.shape.storage.bricks
    )
    state = replace(state, base_port=base_port, processes={})
    _write_configuration(layout, state)
    unshare = ["unshare", "--fork", "--kill-child=SIGKILL", "--pid", "--mount-proc", "--uts", "--mount"]
    as_user = [] if machine.is_root() else ["--user", "--map-current-user", "--keep-caps"]
    script = f'hostname {slurmconf.HEAD} && mount --bind "$1" /etc/hosts && shift && exec "$@"'
    command = [*unshare, "--propagation", "slave", *as_user, "sh", "-c", script, "sh", str(layout.hosts)]
    log = layout.log("keeper")
    layout.keeper_socket.unlink(missing_ok=True)
    watched: list[int] = []  # a pidfd, by which a keeper can watch a process outside of its PID namespace
    try:
        watched += [] if owner is None else [os.pidfd_open(owner)]
    except OSError as error:
        raise InputError(f"--owner {owner}: {error.strerror}; allowed: the id of a running process") from error
    with reservation, log.open("ab") as output, open(("/proc/self/ns/mnt"), "rb") as own_end:  # noqa: PTH123
        arguments = [layout.keeper_socket, *(watched or ("",)), own_end.fileno(), *points]
        anchor = subprocess.Popen(
            [*command, sys.executable, "-I", keeper.__file__, *map(str, arguments)],
            cwd="/",
            env={"PATH": machine.PROGRAMS_PATH},
            stdin=standard_input,
            stdout=output,
            stderr=output,
            pass_fds=[reservation.fileno(), own_end.fileno(), *watched],
            start_new_session=True,
        )
    for descriptor in watched:
        os.close(descriptor)
    # It was not waited for, so it exists, if only as a zombie.
    state = _record(layout, state, "anchor", processes.Process.from_pid(anchor.pid))
    deadline = time.monotonic() + KEEPER_WAIT_S
    while not layout.keeper_socket.exists() or not (namespace_options := processes.children(anchor.pid)):
        if anchor.poll() is not None:
            raise machine.no_namespaces(log)
        if time.monotonic() > deadline:
            raise _start_error(layout, "keeper", f"did not start within {KEEPER_WAIT_S:.0f} s")
        time.sleep(0.005)
    anchor.returncode = 0  # it must outlive this process: Popen must not wait for it, nor warn
    return _record(layout, state, "keeper", namespace_options[0])


def _mounts(layout: Layout, shape: Shape) -> dict[Path, str]:
    """The file systems below the directory, with their options; none for a normal user."""
    points = {layout.scratch: MEMORY} if machine.is_root() else {}
    if shape.storage:
        # What a node without its client writes must not end up on the machine's own disk.
        points[layout.storage] = "ro,size=4k,mode=0555"
        if not shape.storage.on_disk:
            points[layout.bricks] = MEMORY
    return points


def _write_configuration(layout: Layout, state: SandboxState) -> None:
    key = layout.munge / "key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(128))
    of_machine = Path("/etc/hosts").read_text().rstrip()
    layout.hosts.write_text(f"{of_machine}\n127.0.0.1 {slurmconf.HEAD} {' '.join(state.shape.node_names)}\n")
    memory_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20 // state.shape.nodes
    user, mpi = users.user_name(os.geteuid()), machine.mpi_plugin()
    layout.slurm_conf.write_text(
        slurmconf.slurm_conf(layout, state.shape, state.base_port, user, max(1, memory_mib), mpi)
    )
    if state.shape.storage:
        _write_volumes(layout, state)
    if state.shape.accounting:
        layout.slurmdbd_conf.touch(mode=0o600)  # slurmdbd refuses one that others can read
        port, name = state.base_port + slurmconf.ACCOUNTING, slurmconf.DATABASE
        layout.slurmdbd_conf.write_text(
            resources.render_template(
                "sandbox/slurmdbd.conf.j2", layout=layout, accounting=port, user=user, database=name
            )
        )


def _write_volumes(layout: Layout, state: SandboxState) -> None:
    ports = slurmconf.brick_ports(state.shape, state.base_port)
    slow = dict.fromkeys(ports, 0) | {list(ports)[-1]: state.shape.storage.slow_ms}
    for name, port in ports.items():
        (layout.bricks / name).mkdir(exist_ok=True)
        volume = {"directory": layout.bricks / name, "port": port, "delay_ms": slow[name], "cached_s": storage.CACHED_S}
        (layout.bricks / f"{name}.vol").write_text(resources.render_template("sandbox/brick.vol.j2", **volume))
    waits = {"cached_s": storage.CACHED_S, "ping_timeout_s": storage.PING_TIMEOUT_S}
    layout.client_volume.write_text(resources.render_template("sandbox/client.vol.j2", ports=ports, **waits))
    layout.counters.write_text(storage.counters_script(layout.bricks))
    layout.counters.chmod(0o755)


def _start_daemon(layout: Layout, state: SandboxState, daemon: slurmconf.Daemon) -> SandboxState:
    if _is_alive(state, daemon.name) and _is_in_current_namespaces(state, daemon):
        return state
    if daemon.name in state.processes:
        state.processes[daemon.name].kill(KEEPER_WAIT_S)
    log = layout.log(daemon.name)
    if daemon.socket is not None:
        daemon.socket.unlink(missing_ok=True)
    environment = {
        "PATH": machine.PROGRAMS_PATH,
        "SLURM_CONF": str(layout.slurm_conf),
        "MYSQL_UNIX_PORT": str(layout.database_socket),
    }
    argv = (*_namespace_command(state.processes[daemon.within].pid), *daemon.argv) if daemon.within else daemon.argv
    inner = _ask_keeper(layout, {"argv": argv, "log": str(log), "env": environment})
    children = processes.children(state.processes["keeper"].pid)
    process = next((child for child in children if machine.inner_pid(child.pid) == inner), None)
    if process is None:
        raise _start_error(layout, daemon.name, "ended at once")
    state = _record(layout, state, daemon.name, process)
    deadline = time.monotonic() + daemon.ready_s
    while not _is_ready(daemon, process):
        if not process.alive():
            raise _start_error(layout, daemon.name, "ended")
        if time.monotonic() > deadline:
            raise _start_error(layout, daemon.name, f"is not ready after {daemon.ready_s:.0f} s")
        time.sleep(0.01)
    return state


def _ask_keeper(layout: Layout, request: Mapping[str, object]) -> int:
    """Have the keeper start a program; returns its PID in the keeper's namespace."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(KEEPER_WAIT_S)
            connection.connect(str(layout.keeper_socket))
            with connection.makefile("rwb") as stream:
                stream.write(json.dumps(request).encode() + b"\n")
                stream.flush()
                answer = json.loads(stream.readline())
    except (OSError, ValueError) as error:
        raise EnvironmentLacks(
            f"sandbox: its main process does not answer on {layout.keeper_socket}: {error}"
        ) from error
    if "error" in answer:
        raise EnvironmentLacks(f"sandbox: its main process cannot start {request['argv']}: {answer['error']}")
    return int(answer["pid"])


def _is_in_current_namespaces(state: SandboxState, daemon: slurmconf.Daemon) -> bool:
    """Whether it was started in namespaces that are still those of its node."""
    return not daemon.within or state.processes[daemon.name].started >= state.processes[daemon.within].started


def _namespace_command(pid: int) -> tuple[str, ...]:
    """The beginning of a command that runs in the namespaces of that process, once it has made them."""
    script = (
        'until [ "$(readlink "/proc/$1/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]; do sleep 0.01; done; '
        'pid=$1; shift; exec nsenter --target "$pid" --mount --uts --ipc -- "$@"'
    )
    return ("sh", "-c", script, "sh", str(machine.inner_pid(pid)))


def _is_ready(daemon: slurmconf.Daemon, process: processes.Process) -> bool:
    if daemon.mount is not None:
        return machine.has_mounted(process.pid, daemon.mount)
    if daemon.port:
        return machine.listens(daemon.port)
    if daemon.socket is not None:
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(str(daemon.socket)) == 0
    return True


def _wait_for_nodes(layout: Layout, state: SandboxState) -> None:
    deadline = time.monotonic() + NODES_WAIT_S
    while True:
        states = query.node_states(layout)
        waiting = [name for name in state.shape.node_names if not query.is_in_service(states.get(name, "unknown"))]
        if not waiting:
            return
        for name, process in state.processes.items():
            if not process.alive():
                raise _start_error(layout, name, "ended")
        if time.monotonic() > deadline:
            seen = ", ".join(f"{name} is {states.get(name, 'unknown')}" for name in waiting)
            problem = f"has no usable node after {NODES_WAIT_S:.0f} s ({seen})"
            raise _start_error(layout, f"slurmd.{waiting[0]}", problem)
        time.sleep(0.03)


def _is_alive(state: SandboxState, name: str) -> bool:
    return name in state.processes and state.processes[name].alive()


def _record(layout: Layout, state: SandboxState, name: str, process: processes.Process) -> SandboxState:
    """Record a process before the next step, so that a stop knows it whatever happens to this start."""
    state = replace(state, processes={**state.processes, name: process})
    layout.save(state)
    return state


def _start_error(layout: Layout, name: str, problem: str) -> EnvironmentLacks:
    log = layout.log(name)
    return EnvironmentLacks(f"sandbox: {name} {problem}; the end of {log}:\n{machine.tail(log)}")

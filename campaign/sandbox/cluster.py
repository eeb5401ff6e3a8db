"""Start, stop and look at a sandbox.

Its processes, as the machine sees them:

    anchor   `unshare --fork --kill-child`: makes the namespaces; when it dies, the kernel kills the keeper
    └ keeper   process 1 of the PID namespace; when it dies, the kernel kills everything below
      ├ munged, (mariadbd, slurmdbd,) slurmctld
      └ slurmd of each node, in its own UTS, IPC and mount namespace; below it slurmstepds and jobs

So ending the anchor ends all of it, whatever state it was in, and `stop` needs no name to look for.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from campaign.core import users
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.sandbox import machine, private, query, starter, storage
from campaign.sandbox.layout import Layout, SandboxState, Shape

# How ranks of different nodes reach each other: all are 127.0.0.1, which Open MPI leaves out by default. `ob1` is what
# the nodes have: without it each rank waits 0.2 s for network adapters.
THROUGH_TCP = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo"}
# From version 6 on Open MPI's own TCP connects to no address that the rank's node has too; UCX does.
THROUGH_UCX = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
    "UCX_TLS": "tcp,self,sm",
    "UCX_NET_DEVICES": "lo",
}
CANCEL_WAIT_S = 4.0
KILL_WAIT_S = 60.0
LOOK_S, TELL_AGAIN_S = 1.0, 10.0  # between two looks whether it has ended, and two reports that it has


class Sandbox:
    """A Slurm cluster of virtual nodes on this machine, in one directory."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    @staticmethod
    def at(directory: Path | str | None = None) -> Sandbox:
        """The sandbox in a directory, running or not; by default in the default directory."""
        return Sandbox(Layout.in_directory(users.sandbox_directory() if directory is None else directory))

    @staticmethod
    def start(directory: Path | str | None = None, shape: Shape | None = None, owner: int | None = None) -> Sandbox:
        """Start a sandbox, or the dead parts of a running one, and wait until every node is in service.

        A new one ends by itself when the process `owner` has ended, if there is one. Raises InputError for an unusable
        directory or numbers, EnvironmentLacks if programs or permissions are missing or a daemon does not start. A new
        sandbox that fails to start leaves nothing behind.
        """
        sandbox = Sandbox.at(directory)
        if directory is None:
            _make_cache_directory(sandbox.layout.top.parent)
        shape = shape or Shape()
        accounting = machine.ACCOUNTING_PACKAGES if shape.accounting else {}
        machine.require_programs(machine.PACKAGES | accounting)
        machine.require_permissions()
        if shape.storage:
            storage.require()
        with private.locked(sandbox.layout.top, make=True) as descriptor:
            state = sandbox.layout.load()
            if state is None:
                try:
                    starter.start(sandbox.layout, sandbox._begin(shape, descriptor), owner)
                except BaseException:
                    sandbox._remove()
                    raise
            elif state.shape == shape:
                starter.start(sandbox.layout, state, owner)
            else:
                raise InputError(
                    f"sandbox: {state.shape} already run in {sandbox.layout.top}; requested: {shape}; stop it first or "
                    "use another --dir"
                )
        return sandbox

    def stop(self) -> bool:
        """End its jobs and all its processes, unmount, remove its directory. Returns whether there was one.

        Raises InputError for a directory that is no sandbox of this user, EnvironmentLacks if something cannot be
        removed.
        """
        try:
            with private.locked(self.layout.top, make=False):
                return self._stop()
        except FileNotFoundError:
            return False

    def _stop(self) -> bool:
        state = self.layout.load()
        if state is None:
            _forget_session(self.layout)
            if not self.layout.is_free():
                raise InputError(
                    f"sandbox: {self.layout.top} is not a sandbox ({self.layout.state_file.name} missing) and not "
                    "empty; nothing was changed"
                )
            _remove_content(self.layout)  # of a start that was killed before there was a sandbox
            return False
        if _can_ask_slurm(self._daemons(state)):
            query.cancel_all(self.layout, CANCEL_WAIT_S)
        self._remove()
        return True

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Within the context, raise EnvironmentLacks in the main thread if the sandbox ends: its Slurm will never
        answer again.
        """
        state = self.layout.load()
        assert state is not None
        keeper = state.processes["keeper"]

        def look(_number: int, _frame: object) -> None:
            if not keeper.alive():
                # Raised repeatedly: an exception may be caught where it is raised.
                signal.setitimer(signal.ITIMER_REAL, TELL_AGAIN_S)
                raise EnvironmentLacks(
                    f"sandbox: {self.layout.top} has ended, and its Slurm with it; 'campaign run --sandbox' starts it "
                    "again and continues"
                )

        before = signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, LOOK_S, LOOK_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def running(self) -> bool:
        """Whether all its daemons are alive."""
        state = self.layout.load()
        return state is not None and all(daemon.alive for daemon in self._daemons(state))

    def environment(self) -> dict[str, str]:
        """The environment of commands that use the sandbox, including its jobs (sbatch passes it on)."""
        variables = {
            "SLURM_CONF": str(self.layout.slurm_conf),
            # Slurm's default fence fails now and then if several slurmd share a machine; see docs/sandbox.md.
            "SLURM_PMIX_FENCE": "ring",
            "CAMPAIGN_SCRATCH": str(self.layout.scratch),
            "OMPI_MCA_mpi_yield_when_idle": "1",
            **(THROUGH_UCX if machine.open_mpi() >= 6 else THROUGH_TCP),
            "OMPI_MCA_orte_tmpdir_base": str(self.layout.session),
        }
        if (state := self.layout.load()) is not None and state.shape.storage:
            variables |= {
                "CAMPAIGN_STORAGE": str(self.layout.storage),
                "CAMPAIGN_STORAGE_COUNTERS": str(self.layout.counters),
            }
        if os.geteuid() == 0:
            variables |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return variables

    def status(self) -> query.SandboxStatus:
        """What runs and what does not; asks Slurm for nodes and jobs, each for at most 10 s."""
        directory, state = str(self.layout.top), self.layout.load()
        daemons = self._daemons(state) if state else ()
        if state is None or not any(daemon.alive for daemon in daemons):
            return query.SandboxStatus(directory, "stopped", state.shape if state else None, daemons)
        answers = _can_ask_slurm(daemons)
        states = query.node_states(self.layout) if answers else {}
        pids = {daemon.node: daemon.pid for daemon in daemons}
        nodes = tuple(
            query.NodeStatus(node, states.get(node, "unknown"), pids[node]) for node in state.shape.node_names
        )
        overall = "up" if all(daemon.alive for daemon in daemons) else "degraded"
        jobs = query.jobs(self.layout) if answers else ()
        return query.SandboxStatus(directory, overall, state.shape, daemons, nodes, jobs)

    def _daemons(self, state: SandboxState) -> tuple[query.DaemonStatus, ...]:
        nodes = {"keeper": ""} | {daemon.name: daemon.node for daemon in starter.daemons(self.layout, state)}
        statuses = []
        for name, node in nodes.items():
            process = state.processes.get(name)
            alive = process is not None and process.alive()
            statuses.append(
                query.DaemonStatus(name, process.pid if process else 0, alive, node, str(self.layout.log(name)))
            )
        return tuple(statuses)

    def _begin(self, shape: Shape, descriptor: int) -> SandboxState:
        """The first state of a sandbox, in its locked and empty directory."""
        try:
            _forget_session(self.layout)
            self._require_free()
            # It contains a key, and sockets that start programs.
            os.fchmod(descriptor, 0o700 | os.fstat(descriptor).st_mode & private.MADE)
            self._require_free()  # others may have put something into it until now
            state = SandboxState(shape)
            self.layout.save(state)
        except OSError as error:
            raise InputError(f"sandbox: cannot create a sandbox in {self.layout.top}: {error.strerror}") from error
        return state

    def _require_free(self) -> None:
        if not self.layout.is_free():
            raise InputError(
                f"sandbox: {self.layout.top} is not empty and not a sandbox; choose a new or empty directory with --dir"
            )

    def _remove(self) -> None:
        """End every process, unmount, remove the directory. Works on a sandbox in any state, and without one."""
        top, state = self.layout.top, self.layout.load()
        if state is None:
            with contextlib.suppress(OSError):  # nothing is there, or what is in it is not a sandbox's
                _remove_if_made(top)
            return
        # The keeper first, so that the anchor sees its end.
        roots = [process for name in ("keeper", "anchor") if (process := state.processes.get(name))]
        for process in roots:
            # A keeper has ended only when every process of its namespace has.
            if not process.kill(KILL_WAIT_S):
                raise EnvironmentLacks(
                    f"sandbox: process {process.pid} of {top}, or a child of it, still runs {KILL_WAIT_S:.0f} s after "
                    "SIGKILL (blocked in I/O?); stop it again later"
                )
            with contextlib.suppress(ChildProcessError):  # a child of this process only if it started it
                os.waitpid(process.pid, os.WNOHANG)
        machine.unmount_below(top)
        deadline = time.monotonic() + KILL_WAIT_S
        while not _remove_content(self.layout):
            if time.monotonic() > deadline:
                raise EnvironmentLacks(f"sandbox: a process still writes to {top}; run 'campaign sandbox stop' again")
            time.sleep(0.02)


def _make_cache_directory(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"sandbox: cannot create {directory}: {error.strerror}; {private.REMEDY}") from error


def _forget_session(layout: Layout) -> None:
    """Remove what a benchmark creates that runs with the sandbox's environment after it was stopped."""
    with contextlib.suppress(OSError):  # nothing is there, or it is in use
        if [*layout.top.iterdir()] == [layout.session]:
            layout.session.rmdir()


def _remove_content(layout: Layout) -> bool:
    """Remove the content of the directory, and the directory itself if `start` has made it. False if something was
    created in it meanwhile: the last processes of a killed start write until they notice.
    """
    # The state goes last, so that an interrupted stop can be repeated.
    for entry in sorted(layout.top.iterdir(), key=lambda path: path == layout.state_file):
        try:
            machine.remove_tree(entry)
        except OSError as error:
            raise EnvironmentLacks(f"sandbox: cannot remove {entry}: {error}") from error
    try:
        _remove_if_made(layout.top)
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            return False
        raise
    return True


def _remove_if_made(top: Path) -> None:
    if top.stat().st_mode & private.MADE:
        top.rmdir()


def _can_ask_slurm(daemons: tuple[query.DaemonStatus, ...]) -> bool:
    """Whether slurmctld can be asked: if it or munged is dead, each question would wait for its time limit."""
    return all(daemon.alive for daemon in daemons if daemon.name in ("slurmctld", "munged"))

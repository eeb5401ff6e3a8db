"""Asks a sandbox's Slurm about nodes and jobs; the answer of `campaign sandbox status` as dataclasses."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass

from campaign.sandbox.layout import Layout, Shape
from campaign.sandbox.machine import run

CLIENT_WAIT_S = 10.0


@dataclass(frozen=True)
class DaemonStatus:
    name: str
    pid: int  # on the machine's side; 0 if it was never started
    alive: bool
    node: str
    log: str


@dataclass(frozen=True)
class NodeStatus:
    name: str
    state: str  # sinfo's word; "unknown" if slurmctld does not answer
    slurmd_pid: int


@dataclass(frozen=True)
class JobStatus:
    id: str
    name: str
    state: str
    nodes: int
    reason: str


@dataclass(frozen=True)
class SandboxStatus:
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


def client(layout: Layout, *argv: str, wait_s: float = CLIENT_WAIT_S) -> str | None:
    """The output of a Slurm command; None if it fails or does not answer in time."""
    # It must end with this process, instead of retrying for its own time.
    bound = ("setpriv", "--pdeathsig=KILL", "--", *argv)
    try:
        result = run(bound, wait_s, SLURM_CONF=str(layout.slurm_conf))
    except subprocess.TimeoutExpired:
        return None
    return result.stdout if result.returncode == 0 else None


def node_states(layout: Layout) -> dict[str, str]:
    """State of each node in sinfo's words; empty if slurmctld does not answer."""
    lines = (client(layout, "sinfo", "-h", "-N", "-o", "%N %T") or "").splitlines()
    return dict(line.split() for line in lines)


def jobs(layout: Layout) -> tuple[JobStatus, ...]:
    """The waiting and running jobs; empty if slurmctld does not answer."""
    lines = (client(layout, "squeue", "-h", "-o", "%A|%T|%D|%r|%j") or "").splitlines()
    queue = (line.split("|", 4) for line in lines)
    return tuple(JobStatus(number, name, state, int(nodes), reason) for number, state, nodes, reason, name in queue)


def cancel_all(layout: Layout, wait_s: float) -> None:
    """Cancel every job and wait for their end, so that they, and commands waiting for them, end in order."""
    deadline = time.monotonic() + wait_s
    while numbers := set((client(layout, "squeue", "-h", "-o", "%A", wait_s=wait_s) or "").split()):
        client(layout, "scancel", "--quiet", *numbers, wait_s=wait_s)
        if time.monotonic() > deadline:
            break
        time.sleep(0.1)


def is_in_service(state: str) -> bool:
    """Whether a node answers, by sinfo's word for it ("idle", "allocated", "down*"; * means no answer)."""
    return state[-1] not in "*#~%$@" and state not in ("unknown", "down")

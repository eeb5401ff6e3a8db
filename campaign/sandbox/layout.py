"""Where a sandbox keeps its files, and what it remembers between two commands."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from campaign.core import atomic, users
from campaign.core.decode import decode
from campaign.core.errors import InputError
from campaign.core.processes import Process
from campaign.sandbox import private
from campaign.sandbox.storage import NO_STORAGE, Storage

STATE_VERSION = 1
STATE_FILE = "sandbox.json"
NODE_LIMIT = 64
CPU_LIMIT = 1024
# A Unix socket's path may have 107 bytes; the longest below a sandbox is s/node64/stepd.slurm.pmix.99999.999.
PATH_LIMIT = 70


@dataclass(frozen=True)
class Shape:
    """The user's choices: nodes, CPUs of each, whether sacct works, the partition's name, an Epilog, a network file
    system.
    """

    nodes: int = 4
    cpus: int = 8
    accounting: bool = False
    partition: str = "sandbox"
    epilog: str = "/bin/true"
    storage: Storage = NO_STORAGE

    def __post_init__(self) -> None:
        is_program = os.access(self.epilog, os.X_OK) and re.fullmatch(r"/[\w./+-]+", self.epilog)
        conditions = (
            (1 <= self.nodes <= NODE_LIMIT, f"{self.nodes} nodes; allowed: 1 to {NODE_LIMIT}"),
            (1 <= self.cpus <= CPU_LIMIT, f"{self.cpus} CPUs per node; allowed: 1 to {CPU_LIMIT}"),
            (
                re.fullmatch("[A-Za-z0-9_-]+", self.partition),
                f"partition name {self.partition!r}; allowed: ASCII letters, digits, _ and -",
            ),
            (
                is_program,
                f"epilog {self.epilog!r}; allowed: the absolute path of a program, with letters, digits and ._/+- only",
            ),
        )
        if problems := [f"sandbox: found {text}" for fits, text in conditions if not fits]:
            raise InputError(*problems)

    def __str__(self) -> str:
        accounting = "with" if self.accounting else "without"
        storage = f", {self.storage}" if self.storage else ""
        return f"{self.nodes} nodes of {self.cpus} CPUs, {accounting} accounting, partition {self.partition}{storage}"

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(f"node{number}" for number in range(1, self.nodes + 1))


@dataclass(frozen=True)
class SandboxState:
    """The content of sandbox.json: what was asked for, and the processes started for it.

    `base_port`: the first of the sandbox's block of ports, 0 before there is one. `processes`: the anchor and the
    keeper (see cluster.py) and each daemon, by name.
    """

    shape: Shape
    base_port: int = 0
    processes: Mapping[str, Process] = field(default_factory=dict)


class Layout:
    """Paths of the sandbox in `top`, which is absolute and free of symbolic links."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.state_file = top / STATE_FILE
        self.slurm_conf = top / "slurm.conf"
        self.slurmdbd_conf = top / "slurmdbd.conf"
        self.scratch = top / users.SANDBOX_TARGETS["CAMPAIGN_SCRATCH"]
        self.keeper_socket = top / "keeper"
        self.munge = top / "munge"
        self.munge_socket = self.munge / "socket"
        self.database = top / "db"
        self.database_socket = top / "db.socket"
        self.controller_state = top / "ctld"
        self.session = top / "session"  # mpirun's session directories, which it would leave in /tmp
        self.hosts = top / "hosts"  # /etc/hosts of the nodes
        self.storage = top / users.SANDBOX_TARGETS["CAMPAIGN_STORAGE"]  # where each node mounts the network file system
        self.bricks = top / "bricks"  # of its servers
        self.client_volume = top / "client.vol"
        self.counters = top / "counters"  # the program that prints what the servers counted

    @staticmethod
    def in_directory(directory: Path | str) -> Layout:
        """The layout below a directory that a user named. Raises InputError if it cannot be a sandbox's."""
        parent, name = os.path.split(os.path.abspath(directory))  # noqa: PTH100
        top = Path(os.path.realpath(parent)) / name  # a link in its own place is refused when it is opened
        text = str(top)
        if len(os.fsencode(text)) > PATH_LIMIT:
            raise InputError(
                f"sandbox: the path {text} has {len(os.fsencode(text))} bytes; allowed: up to {PATH_LIMIT}, because of "
                f"Slurm's sockets; {private.REMEDY}"
            )
        if not all(letter.isascii() and (letter.isalnum() or letter in "/._-+") for letter in text):
            raise InputError(
                f"sandbox: the path {text!r} has characters that slurm.conf does not allow; allowed: ASCII letters, "
                f"digits and ._-+; {private.REMEDY}"
            )
        if top == Path("/dev/shm") or Path("/dev/shm") in top.parents:
            raise InputError(f"sandbox: {text} is in /dev/shm, which is separate on each node; {private.REMEDY}")
        return Layout(top)

    def spool(self, node: str) -> Path:
        """Spool directory of a node's slurmd; a short name, since the paths of its sockets are the longest."""
        return self.top / "s" / node

    def tmp(self, node: str) -> Path:
        """TmpFS of a node: the directories of its PMIx server, separate from those of the other nodes."""
        return self.top / "tmp" / node

    def log(self, name: str) -> Path:
        return self.top / "log" / f"{name}.log"

    def directories(self, shape: Shape) -> tuple[Path, ...]:
        of_nodes = [path(node) for path in (self.spool, self.tmp) for node in shape.node_names]
        of_storage = (self.storage, self.bricks) if shape.storage else ()
        return (self.top / "log", self.scratch, self.munge, self.controller_state, self.session, *of_nodes, *of_storage)

    def save(self, state: SandboxState) -> None:
        """Write sandbox.json in one step: a reader, or a start killed here, sees the old state or the new one."""
        text = json.dumps({"version": STATE_VERSION, **asdict(state)}, indent=1)
        atomic.write(self.state_file, text + "\n")

    def is_free(self) -> bool:
        """Whether a sandbox can be made here: the directory is empty, except for the trace of a start killed early."""
        with os.scandir(self.top) as entries:
            return all(
                entry.name.startswith(f"{STATE_FILE}.") and entry.is_file(follow_symlinks=False) for entry in entries
            )

    def load(self) -> SandboxState | None:
        """The state kept in the directory; None if there is no sandbox. Raises InputError if anybody else could have
        written it.
        """
        try:
            text = private.read(self.top, STATE_FILE)
        except FileNotFoundError:
            return None
        try:
            content = json.loads(text)
            if content["version"] != STATE_VERSION:
                raise InputError(
                    f"{self.state_file}: found version {content['version']}; this program reads version "
                    f"{STATE_VERSION}; stop it with the program that started it"
                )
            return decode(SandboxState, content, pass_over_unknown=True)
        except (KeyError, TypeError, ValueError) as error:
            cause = f"{type(error).__name__}: {error}"
            raise InputError(f"{self.state_file}: not a sandbox's state ({cause})") from error

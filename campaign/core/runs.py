"""Runs of a benchmark, their cells and their attempts. Plain frozen data; nothing here reads, writes or decides.

A *run* is one execution of the benchmark: target x launch condition x file configuration x repetition. A *cell* is one
entry of the table: target / launch / files / operation. An *attempt* is one submission of a run. A *job* is one sbatch
job with one attempt or several.
"""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Geometry:
    """Nodes and MPI processes of a run, in blocks with the larger ones first: 8, 8, 8, 7 for 31 on 4 nodes."""

    nodes: int
    processes: int

    @property
    def processes_per_node(self) -> int:
        """On the nodes that have most."""
        return -(-self.processes // self.nodes)

    @property
    def larger(self) -> int:
        """The number of nodes that have one process more than the others."""
        return self.processes % self.nodes

    @property
    def blocks(self) -> tuple[int, ...]:
        """The number of processes on each node."""
        fewest = self.processes // self.nodes
        return (fewest + 1,) * self.larger + (fewest,) * (self.nodes - self.larger)

    @property
    def spread(self) -> str:
        """`8 per node`, `8 on 3 nodes and 7 on 1`"""
        highest = self.processes_per_node
        if not self.larger:
            return f"{highest} per node"
        nodes = "nodes" if self.larger > 1 else "node"
        return f"{highest} on {self.larger} {nodes} and {highest - 1} on {self.nodes - self.larger}"

    def __str__(self) -> str:
        return f"{self.processes} on {self.nodes}" if self.larger else f"{self.nodes}x{self.processes_per_node}"


@dataclass(frozen=True, slots=True)
class Cell:
    target: str
    launch: str
    files: str
    operation: str

    @property
    def line(self) -> tuple[str, str, str]:
        """Its line of the table: target, launch condition, file configuration."""
        return self.target, self.launch, self.files

    def __str__(self) -> str:
        return f"{self.target}/{self.launch}/{self.files}/{self.operation}"


@functools.lru_cache(maxsize=4096)  # many findings are about the same
def parse_cell(text: str) -> Cell:
    """The cell of its text."""
    return Cell(*text.split("/"))


BRACE = "\x02"  # in `Command.arguments`: a { of a raw text, which begins no placeholder


@dataclass(frozen=True, slots=True)
class Command:
    """One launch of a program in a run. `{directory}` in `arguments` stands for the attempt's own directory, BRACE for
    a brace.
    """

    executable: str
    arguments: tuple[str, ...]
    phase: str = ""  # the phase's name; that of the only phase may be ""
    program: str = ""  # the program's name in the rule pack
    geometry: Geometry | None = None  # nodes and processes of its own; None: the run's
    first_node: int = 0  # the first of the job's nodes where it runs, counted from 0
    beside: bool = False  # starts together with the command before it, on other nodes
    untimed: bool = False  # a function of the job script that launches nothing
    prefix: tuple[str, ...] = ()  # words before the program: numactl, a container, a wrapper script
    file: str = ""  # a file that it writes as part of its output, relative to its directory; `*` matches any characters
    end: str = ""  # pattern of the last line of its stdout; the built-in benchmark has its own

    def words(self, directory: str) -> tuple[str, ...]:
        """The argv of an attempt whose directory this is."""
        prefix = (word.replace("{directory}", directory) for word in self.prefix)
        return (*prefix, self.executable, *self.arguments_in(directory))

    def arguments_in(self, directory: str) -> tuple[str, ...]:
        """The arguments of an attempt whose directory this is."""
        return tuple(word.replace("{directory}", directory).replace(BRACE, "{") for word in self.arguments)

    @property
    def phase_names(self) -> tuple[str, ...]:
        """The phase's name, where one is written: the only phase of a pack may be without."""
        return (self.phase,) if self.phase else ()

    @property
    def is_copy(self) -> bool:
        """Whether it is one of the copies of a phase, which start together and may share nodes."""
        return phase_of_copy(self.phase) != self.phase

    @property
    def step(self) -> str:
        """The name that Slurm gives the job step: that of the file which srun starts."""
        return (*self.prefix, self.executable)[0].rpartition("/")[2]


def phase_of_copy(name: str) -> str:
    """The name in the rule pack of a phase of a run: `solve` for its copy `solve.3`, and for itself."""
    return name.partition(".")[0]


IN_JOB = "job:"  # before the directory of a target that exists only in a job, which resolves it on its first node
LABEL = "--label"  # of srun: each line of the ranks' output begins with the rank's number


@dataclass(frozen=True, slots=True)
class Launcher:
    """How the ranks are started. `program` with the words that place them, its further options, and the words between
    it and the benchmark: `numactl`, a container, a wrapper script. `placement` holds {processes}, {nodes} and
    {processes_per_node}; srun's is campaign's own. `image`: the container image that options or prefix name, in which
    the benchmark's programs are. `by_launch`: further options of some launch conditions, by id; none of a run's own.
    """

    program: str = "srun"
    options: tuple[str, ...] = ()
    placement: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    image: str = ""
    by_launch: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def is_srun(self) -> bool:
        return self.program.rpartition("/")[2] == "srun"

    @property
    def without_label(self) -> Launcher:
        """The same for an output that is not read as that of a run."""
        return replace(self, options=tuple(word for word in self.options if word != LABEL))

    def of_launch(self, launch: str) -> Launcher:
        """That of the runs of a launch condition."""
        return replace(self, options=self.options + dict(self.by_launch).get(launch, ()), by_launch=())


SRUN = Launcher()


ASKED_NAMES = "CAMPAIGN_VARIABLES"  # the variables that are recorded of the ranks, with colons between


@dataclass(frozen=True, slots=True)
class Input:
    """A file that a benchmark reads. `by`: whose word its hash is; both are "" if nobody has given or taken it."""

    id: str  # its placeholder
    path: str  # absolute, but in a rule pack as written there
    sha256: str = ""
    clause: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One planned execution: of one command, or of several one after another in the same directory."""

    id: str  # scratch.node.unique.r1
    target: str
    launch: str
    files: str
    repetition: int
    geometry: Geometry
    directory: str  # the target's directory; each attempt creates its own below it
    commands: tuple[Command, ...]
    operations: tuple[str, ...]
    items_per_process: int | None
    items_total: int | None
    notes: tuple[str, ...]  # texts for the report: n rounded up, -N translated for a dialect, ...
    fingerprint: str  # hash of all that decides what is executed; an attempt counts for a run only if both agree
    threads: int = 0  # per process; 0 if the rules do not say
    environment: tuple[tuple[str, str | None], ...] = ()  # variables of the rules; "": any value, None: not to be set
    phase: str = ""  # the search that it is part of; its results are in no cell
    launcher: Launcher = SRUN
    node: str = ""  # of a launch condition with `nodes: each`, its node, or the name of its chunk of nodes
    chunk: tuple[str, ...] = ()  # its nodes
    inputs: tuple[Input, ...] = ()
    gres: str = ""  # generic resources of each node
    prepare: tuple[str, ...] = ()  # commands before it, in the attempt's directory, for which {directory} stands
    energy: str = ""  # what measures it: slurm; SECONDS rapl, SECONDS command PATH or SECONDS once PATH; "": nothing

    @property
    def is_in_job(self) -> bool:
        """Whether its target exists only in its job."""
        return self.directory.startswith(IN_JOB)

    @property
    def only_nodes(self) -> tuple[str, ...]:
        """The nodes where it may run; empty for any."""
        return self.chunk or ((self.node,) if self.node else ())

    @property
    def executable(self) -> str:
        """The executable of the first command."""
        return self.commands[0].executable

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of all commands."""
        return tuple(chain.from_iterable(command.arguments for command in self.commands))

    @property
    def launched(self) -> tuple[Command, ...]:
        """The commands that launch a program, unlike those that remove files."""
        return tuple(command for command in self.commands if not command.untimed)

    @property
    def simultaneous_commands(self) -> tuple[tuple[Command, ...], ...]:
        """Its commands, those together that start at the same time."""
        groups: list[tuple[Command, ...]] = []
        for command in self.commands:
            groups.append((*(groups.pop() if command.beside else ()), command))
        return tuple(groups)

    @property
    def shares_target(self) -> bool:
        """Whether other jobs may use its target meanwhile: it runs on a node by itself, and the words of its programs
        name no directory there.
        """
        return bool(self.node) and not any(
            "{directory}" in word for command in self.launched for word in command.arguments
        )

    def geometry_of(self, command: Command) -> Geometry:
        """The nodes and processes of one of its commands."""
        return command.geometry or self.geometry

    @property
    def job_nodes(self) -> int:
        """The number of nodes that its job needs."""
        ends = [command.first_node + self.geometry_of(command).nodes for command in self.commands]
        return max(self.geometry.nodes, *ends)

    def attempt_directory(self, token: str) -> str:
        """An attempt's own directory below the target: the benchmark works only there."""
        return f"{self.directory.rstrip('/')}/{directory_name(token)}"

    def cells(self) -> tuple[Cell, ...]:
        return _cells(self.target, self.launch, self.files, self.operations)


@functools.lru_cache(maxsize=1024)  # repetitions, and findings about them, share theirs
def _cells(target: str, launch: str, files: str, operations: tuple[str, ...]) -> tuple[Cell, ...]:
    return tuple(Cell(target, launch, files, operation) for operation in operations)


def matches(place: Cell | str, pattern: str) -> bool:
    """Whether a cell, or `target/launch/files`, matches a pattern, part by part: a * does not match a slash."""
    parts, part_patterns = str(place).split("/"), pattern.split("/")
    return len(parts) == len(part_patterns) and all(map(fnmatch.fnmatchcase, parts, part_patterns))


def directory_name(token: str) -> str:
    """The name of an attempt's directory below the target's."""
    return f"campaign-{token}"


class State(StrEnum):
    """State of an attempt. `SUBMITTING` is uncertain: sbatch is about to be called or was called, and no job id is
    recorded.
    """

    SUBMITTING = "submitting"
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"  # the job's own record exists, and the benchmark ended with status 0
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    NODE_FAIL = "node_fail"
    REFUSED = "refused"  # Slurm did not take the job
    LOST = "lost"  # disappeared from Slurm without a record
    SUPERSEDED = "superseded"  # another process claimed it first: nothing was measured

    @property
    def active(self) -> bool:
        return self in (State.SUBMITTING, State.PENDING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Attempt:
    run: str
    number: int
    token: str
    job: str  # name of its Slurm job
    fingerprint: str
    state: State
    reason: str = ""  # why it waits, or how it ended
    job_id: str | None = None
    submitted: float | None = None  # seconds since 1970
    started: float | None = None
    ended: float | None = None

    @property
    def subject(self) -> str:
        """How findings about it name it."""
        return f"{self.run}/{self.number}"

    @property
    def is_judged(self) -> bool:
        """Whether it has ended, and may have measured."""
        return not (self.state.active or self.state in (State.SUPERSEDED, State.REFUSED))

    @property
    def seconds(self) -> float | None:
        """How long it ran."""
        return None if self.started is None or self.ended is None else self.ended - self.started

    @property
    def state_text(self) -> str:
        """Its state with the reason: `pending: Resources`."""
        return f"{self.state}: {self.reason}" if self.reason else str(self.state)


@dataclass(frozen=True, slots=True)
class Planned:
    """An attempt about to be submitted: a step of a job."""

    run: Run
    number: int
    token: str
    folder: Path
    stale: Mapping[str, str] = field(default_factory=dict)  # left there by earlier attempts: directory -> inode

    @property
    def directory(self) -> str:
        return self.run.attempt_directory(self.token)


class Status(StrEnum):
    """Status of a cell."""

    MEASURED = "measured"
    PROJECTED = "projected"
    DECLINED = "declined"
    INVALID = "invalid"
    FAILED = "failed"
    MISSING = "missing"

    @property
    def counts(self) -> bool:
        """Whether a number with this status is a result."""
        return self in (Status.MEASURED, Status.PROJECTED)

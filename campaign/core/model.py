"""The nouns of a campaign. Plain frozen data; nothing here reads, writes or decides.

A *run* is one execution of the benchmark: target x launch condition x file configuration x repetition. A *cell* is
one entry of the table: target / launch / files / operation. An *attempt* is one submission of a run. A *job* is one
sbatch, which carries one attempt or several. A *record* is a parsed result with its place in the raw output. A
*finding* is what a rule says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from campaign.core.attestation import Attestation


@dataclass(frozen=True, slots=True)
class Geometry:
    """Nodes and MPI processes of a run; processes are spread evenly, so processes % nodes == 0."""

    nodes: int
    processes: int

    @property
    def processes_per_node(self) -> int:
        return self.processes // self.nodes

    def __str__(self) -> str:
        return f"{self.nodes}x{self.processes_per_node}"


@dataclass(frozen=True, slots=True)
class Cell:
    target: str
    launch: str
    files: str
    operation: str

    def __str__(self) -> str:
        return f"{self.target}/{self.launch}/{self.files}/{self.operation}"


@dataclass(frozen=True, slots=True)
class Command:
    """One launch of a program in a run. `arguments` hold `{directory}` where the attempt's own directory goes."""

    executable: str
    arguments: tuple[str, ...]
    phase: str = ""  # its name, in a run of several
    program: str = ""  # its name in the rule pack
    other_nodes: bool = False  # on nodes of the job that ran none of the commands without this
    untimed: bool = False  # a function of the job script: nothing is launched
    prefix: tuple[str, ...] = ()  # what the campaign file puts before it: numactl, a container, a wrapper script
    file: str = ""  # that it writes where it works, as part of its output; `*` is any characters
    end: str = ""  # pattern of the last line of its stdout; the builtin writes one of its own

    def words(self, directory: str) -> tuple[str, ...]:
        """The argv of an attempt that works in this directory."""
        prefix, given = (
            [word.replace("{directory}", directory) for word in each] for each in (self.prefix, self.arguments)
        )
        return (*prefix, self.executable, *given)

    @property
    def step(self) -> str:
        """The name that Slurm gives its job step: that of the file which srun is told to start."""
        return (*self.prefix, self.executable)[0].rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Launcher:
    """How the ranks are started. `program` with the words that place them, its further options, and the words between
    it and the benchmark: `numactl`, a container, a wrapper script. `placement` holds {processes}, {nodes} and
    {processes_per_node}; srun's is campaign's own.
    """

    program: str = "srun"
    options: tuple[str, ...] = ()
    placement: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()

    @property
    def is_srun(self) -> bool:
        return self.program.rpartition("/")[2] == "srun"


SRUN = Launcher()


@dataclass(frozen=True, slots=True)
class Run:
    """One planned execution: of one command, or of several one after another in the same directory."""

    id: str  # scratch.node.unique.r1
    target: str
    launch: str
    files: str
    repetition: int
    geometry: Geometry
    directory: str  # the target's directory, under which each attempt makes its own
    commands: tuple[Command, ...]
    operations: tuple[str, ...]
    items_per_process: int | None
    items_total: int | None
    notes: tuple[str, ...]  # what the report must say: n rounded up, -N translated for a dialect, ...
    fingerprint: str  # of all that decides what is executed; an attempt counts for a run only where they agree
    threads: int = 0  # of each process; 0 where the rules do not say
    phase: str = ""  # of the search that it is part of; its numbers are in no cell
    launcher: Launcher = SRUN

    @property
    def executable(self) -> str:
        """The executable of the first command."""
        return self.commands[0].executable

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of all commands."""
        if len(self.commands) == 1:  # as most runs have, and they are asked for often
            return self.commands[0].arguments
        return tuple(word for command in self.commands for word in command.arguments)

    @property
    def launched(self) -> tuple[Command, ...]:
        """The commands that are launched, and are no removal."""
        if len(self.commands) == 1 and not self.commands[0].untimed:
            return self.commands
        return tuple([command for command in self.commands if not command.untimed])

    @property
    def job_nodes(self) -> int:
        """Nodes that its job needs."""
        return self.geometry.nodes * (2 if any(command.other_nodes for command in self.commands) else 1)

    def attempt_directory(self, token: str) -> str:
        """An attempt's own directory under the target: the benchmark works in it and in nothing else."""
        return f"{self.directory.rstrip('/')}/{directory_name(token)}"

    def cells(self) -> tuple[Cell, ...]:
        return tuple(Cell(self.target, self.launch, self.files, operation) for operation in self.operations)


def directory_name(token: str) -> str:
    """Of an attempt's own directory, in the target's."""
    return f"campaign-{token}"


class State(StrEnum):
    """State of an attempt. `SUBMITTING` is uncertain: sbatch was called, or about to be, and no job id is on record."""

    SUBMITTING = "submitting"
    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"  # the job's own record is there and the benchmark ended with status 0
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    NODE_FAIL = "node_fail"
    REFUSED = "refused"  # Slurm did not take the job
    LOST = "lost"  # gone from Slurm without a record
    SUPERSEDED = "superseded"  # another claimed it first: nothing was measured

    @property
    def active(self) -> bool:
        return self in _ACTIVE


_ACTIVE = frozenset({State.SUBMITTING, State.PENDING, State.RUNNING})


@dataclass(frozen=True, slots=True)
class Attempt:
    run: str
    number: int
    token: str
    job: str  # name of the Slurm job that carries it
    fingerprint: str
    state: State
    reason: str = ""  # why it waits, or why it ended as it did
    job_id: str | None = None
    submitted: float | None = None  # seconds since 1970
    started: float | None = None
    ended: float | None = None

    @property
    def seconds(self) -> float | None:
        """How long it ran."""
        return None if self.started is None or self.ended is None else self.ended - self.started

    @property
    def in_words(self) -> str:
        """Its state with the reason: `pending: Resources`."""
        return f"{self.state}: {self.reason}" if self.reason else str(self.state)


@dataclass(frozen=True, slots=True)
class Planned:
    """An attempt about to be submitted: a step of a job."""

    run: Run
    number: int
    token: str
    folder: Path
    stale: Mapping[str, str] = field(default_factory=dict)  # directories that earlier attempts left there -> inodes

    @property
    def directory(self) -> str:
        return self.run.attempt_directory(self.token)


@dataclass(frozen=True, slots=True)
class Source:
    """Place of a number in the raw output: file relative to the campaign's results, line from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of an execution that measures several times, where the output shows it by itself.

    `details`: fields of the record that it knows.
    """

    value: float
    source: Source
    details: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """One result of one attempt, as the program prints it: `statistic` says what its value is of the iterations, or
    `iteration` (from 1) of which one alone it is. `each`: the iterations, where there are several and all are shown.

    `true_value` and `files_true` are set where the benchmark reports what was performed beside its formula's count,
    which differ for mdtest -S. `cached_share` is of the bytes read that the reader's page cache held before;
    `dirty_share` of those written that were in memory only when the clock stopped. `start_skew_s` is the time
    between the starts of the first and the last rank. `parts`: of a number that a formula computed, what it was
    computed of; `source` is then the first one's.
    """

    operation: str
    value: float
    unit: str
    source: Source
    minimum: float | None = None
    mean: float | None = None
    stddev: float | None = None
    iterations: int = 1
    true_value: float | None = None
    operations_done: int | None = None
    files_true: int | None = None
    elapsed_s: float | None = None
    remote_share: float | None = None
    rank_fastest: float | None = None
    rank_median: float | None = None
    rank_slowest: float | None = None
    cached_share: float | None = None
    dirty_share: float | None = None
    start_skew_s: float | None = None
    moved_bytes: int | None = None
    statistic: str = "maximum"
    iteration: int | None = None
    each: tuple[Iteration, ...] = field(default=(), compare=False)  # evidence for the others
    parts: tuple[Record, ...] = ()

    @property
    def measured(self) -> tuple[Record, ...]:
        """The records with a line of the output that it comes from: itself, or those that its parts come from."""
        if not self.parts:
            return (self,)
        return tuple(dict.fromkeys(leaf for part in self.parts for leaf in part.measured))


@dataclass(frozen=True, slots=True)
class OutputRemark:
    """A line of the raw output that holds no result, or what reading it met: `text`, and where it is.

    `file` is relative to the campaign's results, "" where no file is meant; `line` is None where the whole file is.
    """

    text: str
    file: str = ""
    line: int | None = None
    count: int = 1  # of lines that it tells of

    @property
    def place(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.file else self.text


@dataclass(frozen=True, slots=True)
class Observation:
    """What the raw output says about an execution beyond its numbers; None where it does not say."""

    program: str = ""  # "campaign bench 0.1.0", "mdtest-4.1.0+dev"
    argv: tuple[str, ...] = ()
    processes: int | None = None
    nodes: int | None = None
    processes_per_node: int | None = None  # 0 where uneven
    threads: int | None = None  # of each process
    placement: str | None = None  # block, cyclic, irregular
    shift_requested: int | None = None
    shift_effective: int | None = None
    whole_nodes: bool | None = None
    files_reported: int | None = None
    binary_sha256: str | None = None
    binary_agreed: bool | None = None  # all ranks ran it
    job_id: str | None = None  # of Slurm
    step_id: str | None = None
    node_names: tuple[str, ...] = ()  # in the order of their first ranks
    began: float | None = None  # seconds since 1970
    ended: float | None = None
    began_local: float | None = None  # local time of an unknown zone, as seconds since 1970
    ended_local: float | None = None
    clock_step_s: float | None = None  # the smallest time that the phases' clock can tell
    failed_operations: int | None = None
    complete: bool = False  # the benchmark's closing line is there
    errors: tuple[OutputRemark, ...] = ()
    warnings: tuple[OutputRemark, ...] = ()
    unparsed: tuple[OutputRemark, ...] = ()  # lines that no rule of the parser knows
    attestation: Attestation | None = None
    phases: Mapping[str, Observation] = field(default_factory=dict)  # of an execution of several, by their names


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """When a phase of a run ran, as the job recorded it."""

    phase: str
    exit_status: int
    started: float
    ended: float


@dataclass(frozen=True, slots=True)
class Completion:
    """completion.json, written by the job when a run has ended."""

    outcome: str  # done | failed | refused | terminated
    reason: str
    exit_status: int
    started: float
    ended: float
    job_id: str
    job_name: str
    nodes: str
    leftover_files: int
    restart_count: int
    unended: str = ""  # the last line of a benchmark that then did not end, so that the job ended it
    phases: tuple[PhaseTimes, ...] = ()  # of a run of several, in the order in which they ran
    uptime: tuple[float, ...] = ()  # at `started` and at `ended`, by the kernel's clock that nobody sets

    @property
    def ended_well(self) -> bool:
        return self.outcome == "done" and (self.exit_status == 0 or bool(self.unended))


class Severity(StrEnum):
    ERROR = "E"  # blocks the cell
    WARNING = "W"  # needs an answer
    INFO = "I"  # is disclosed


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule says of its subject. Those of one rule and wording that differ in one value have one cause."""

    rule: str
    severity: Severity
    subject: str  # a run's id, a cell, "campaign"
    wording: str  # what is wrong; as in `str.format`, with {name} for each of `values`, if it has any
    expected: str = ""
    actual: str = ""
    checked: bool = True  # False: could not be checked, which never counts as a pass
    explained: str = ""  # what the campaign file says to it
    waived: str = ""  # by whom and why: it is shown, and blocks nothing
    at_full: Severity | None = None  # of a rehearsal's note: what it is at full size, if found there
    operation: str = ""  # of its run, that it is about alone
    phase: str = ""  # those of its run in which it was found, if not in all: `ior-easy-write, find`
    values: Mapping[str, str] = field(default_factory=dict, hash=False)  # what its message names
    cells: tuple[Cell, ...] = field(default=(), hash=False)  # that it is about; none where that is the whole campaign

    @property
    def message(self) -> str:
        text = self.wording.format_map(self.values) if self.values else self.wording
        phase = f" (phase {self.phase})" if self.phase else ""
        return f"{self.operation}: {text}{phase}" if self.operation else f"{text}{phase}"

    def as_json(self) -> dict[str, Any]:
        return {
            "rule": self.rule,
            "severity": self.severity,
            "subject": self.subject,
            "message": self.message,
            "expected": self.expected,
            "actual": self.actual,
            "checked": self.checked,
            "explained": self.explained,
            "waived": self.waived,
            "at_full": self.at_full,
            "operation": self.operation,
            "phase": self.phase,
            "values": dict(self.values),
            "cells": list(map(str, self.cells)),
        }

    def concerns(self, cell: Cell) -> bool:
        return not self.cells or cell in self.cells

    @property
    def blocks(self) -> bool:
        """Whether it takes a number's validity."""
        return self.severity is Severity.ERROR and not self.waived

    @property
    def violated(self) -> bool:
        return self.checked and self.blocks

    @property
    def asks(self) -> bool:
        """Whether it asks for an explanation, be one given or not."""
        return self.checked and self.severity is Severity.WARNING

    @property
    def unanswered(self) -> bool:
        """Whether it asks for an explanation, and has neither one nor a waiver."""
        return self.asks and not (self.explained or self.waived)


class Status(StrEnum):
    """Status of a cell."""

    MEASURED = "measured"
    PROJECTED = "projected"
    DECLINED = "declined"
    INVALID = "invalid"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Target:
    name: str
    directory: str
    description: str = ""
    storage: str = ""  # what it lies on: targets of different named storage are measured side by side
    server_counters: str = ""  # a command that prints what its servers have counted


@dataclass(frozen=True, slots=True)
class Paths:
    """Where a campaign keeps its things: `results/<campaign>/`."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "campaign.db"

    @property
    def journal(self) -> Path:
        return self.root / "journal.jsonl"

    @property
    def plan(self) -> Path:
        return self.root / "plan.json"

    @property
    def source(self) -> Path:
        return self.root / "source"

    @property
    def report(self) -> Path:
        return self.root / "report"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    def jobs(self, job: str) -> Path:
        return self.root / "jobs" / job

    def attempt(self, run: str, number: int) -> Path:
        return self.root / f"runs/{run}/{number}"  # parsed once: it is asked for as often as there are attempts

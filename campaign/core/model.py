"""The nouns of a campaign. Plain frozen data; nothing here reads, writes or decides.

A *run* is one execution of the benchmark: target x launch condition x file configuration x repetition. A *cell* is one
entry of the table: target / launch / files / operation. An *attempt* is one submission of a run. A *job* is one sbatch
job with one attempt or several. A *record* is a parsed result with its place in the raw output. A *finding* is what a
rule reports.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any


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
    def step(self) -> str:
        """The name that Slurm gives the job step: that of the file which srun starts."""
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
ASKED_NAMES = "CAMPAIGN_VARIABLES"  # the variables that are recorded of the ranks, with colons between


class ChangeClass(StrEnum):
    """Classes of changes of a source, most significant first: a file has that of its most significant hunk."""

    MEASUREMENT = "measurement path"
    OTHER = "other"
    PORTABILITY = "portability"
    BUILD = "build"
    DATA = "data"
    DOCUMENTATION = "documentation"


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
    node: str = ""  # the only node where it may run, of a launch condition with `nodes: each`
    inputs: tuple[Input, ...] = ()
    gres: str = ""  # generic resources of each node
    energy: str = ""  # what measures it: slurm; SECONDS rapl, SECONDS command PATH or SECONDS once PATH; "": nothing

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
    def together(self) -> tuple[tuple[Command, ...], ...]:
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
        return tuple(Cell(self.target, self.launch, self.files, operation) for operation in self.operations)


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
    stale: Mapping[str, str] = field(default_factory=dict)  # left there by earlier attempts: directory -> inode

    @property
    def directory(self) -> str:
        return self.run.attempt_directory(self.token)


@dataclass(frozen=True, slots=True)
class Source:
    """The place of a number in the raw output: file relative to the campaign's results, line from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of an execution that measures several times, where the output shows each. `details`: further fields
    of the record that are known for it.
    """

    value: float
    source: Source
    details: Mapping[str, float | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Record:
    """One result of one attempt, as the program prints it.

    `statistic` says how its value follows from the iterations; otherwise `iteration` (from 1) is the one that it is
    from. `each` has the iterations, if there are several and the output shows all. `true_value` and `files_true` are
    set if the benchmark reports what was really performed besides the count of its formula (mdtest -S), or where the
    output of one whose rate is that `of_fastest` process shows the actual rate.

    `cached_share`: share of the bytes read that were in the reader's page cache before. `dirty_share`: share of the
    bytes written that were only in memory when the clock stopped. `start_skew_s`: time between the starts of the first
    and the last rank. `parts`: for a computed number, the records that it was computed from; `source` is then that of
    the first.
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
    of_fastest: bool = False  # as mdtest before version 4 prints it for several processes
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
    each: tuple[Iteration, ...] = field(default=(), compare=False)  # evidence for the other fields
    parts: tuple[Record, ...] = ()

    @property
    def measured_records(self) -> tuple[Record, ...]:
        """The records with a line of the output: this one, or those that its parts come from."""
        if not self.parts:
            return (self,)
        return tuple(dict.fromkeys(leaf for part in self.parts for leaf in part.measured_records))


def record_key(phase: str, record: str) -> str:
    """The name of a phase's record among those of all phases."""
    return f"{phase}/{record}" if phase else record


@dataclass(frozen=True, slots=True)
class OutputRemark:
    """A remark on the raw output: a line without a result, or a problem found while reading it.

    `file` is relative to the campaign's results, "" if no file is meant; `line` is None if the whole file is meant.
    """

    text: str
    file: str = ""
    line: int | None = None
    count: int = 1  # number of lines that it stands for

    @property
    def place(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.place}: {self.text}" if self.file else self.text


# What the built-in benchmark's processes report about themselves; docs/evidence.md says what it proves.


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks of the built-in benchmark that reported the same about themselves before anything was timed."""

    processes: int
    first_rank: int
    first_node: str
    objects: Mapping[str, str]  # loaded files that contain code, with SHA-256; "" if one could not be read
    functions: Mapping[str, str]  # the functions that measure, each with the file that contains it
    variables: Mapping[str, str]  # environment variables that decide what is loaded, and that tune MPI and the network
    mount: Mapping[str, str]  # directory, mount point, type and source of the file system where the ranks wrote


@dataclass(frozen=True, slots=True)
class Attestation:
    """The attestation of one execution."""

    groups: tuple[RankGroup, ...] = ()
    compiler: str = ""  # the compiler that built the program
    boots: Mapping[str, str] = field(default_factory=dict)  # boot id by node
    clocks: Mapping[str, float] = field(default_factory=dict)  # seconds since 1970, all read at once
    clock_s: float | None = None  # length of the run by the clock that times the phases
    kernel_clock_s: float | None = None
    phases_s: float | None = None  # mdtest: sum of the lengths of its phases
    loaded_later: Mapping[str, str] = field(default_factory=dict)  # files that the first rank loaded during the run


@dataclass(frozen=True, slots=True)
class Observation:
    """What the raw output of a phase says besides its numbers; None where it does not say."""

    program: str = ""  # "campaign bench 0.1.0", "mdtest-4.1.0+dev"
    argv: tuple[str, ...] = ()
    processes: int | None = None
    nodes: int | None = None
    processes_per_node: int | None = None  # 0 if uneven
    uneven: tuple[int, ...] = ()  # ranks on each node, in the order of their first ranks, where they differ
    threads: int | None = None  # per process
    placement: str | None = None  # block, cyclic, irregular
    shift_requested: int | None = None
    shift_effective: int | None = None
    whole_nodes: bool | None = None
    files_reported: int | None = None
    binary_sha256: str | None = None
    binary_agreed: bool | None = None  # whether all ranks ran that binary
    job_id: str | None = None  # of Slurm
    step_id: str | None = None
    node_names: tuple[str, ...] = ()  # in the order of their first ranks
    began: float | None = None  # seconds since 1970
    ended: float | None = None
    began_local: float | None = None  # local time in an unknown zone, as seconds since 1970
    ended_local: float | None = None
    clock_step_s: float | None = None  # resolution of the clock that times the phases
    failed_operations: int | None = None
    complete: bool = False  # the benchmark's closing line is there
    errors: tuple[OutputRemark, ...] = ()
    contradictions: tuple[str, ...] = ()  # between two records of one measurement, each with both values and places
    warnings: tuple[OutputRemark, ...] = ()
    unparsed: tuple[OutputRemark, ...] = ()  # lines that the parser does not know
    attestation: Attestation | None = None
    facts: tuple[Record, ...] = ()  # further numbers that the pack names


Outputs = Mapping[str, Observation]  # what the output of each phase says


@dataclass(frozen=True, slots=True)
class PhaseTimes:
    """When a phase of a run ran, as the job recorded it."""

    phase: str
    exit_status: int
    started: float
    ended: float
    uptime: tuple[float, ...] = ()  # at `started` and at `ended`, by the kernel's clock; empty if it was not recorded


@dataclass(frozen=True, slots=True)
class Completion:
    """How an attempt ended, by the facts of its job."""

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
    unended: str = ""  # the last line of a benchmark that did not end afterwards, so that the job ended it
    phases: tuple[PhaseTimes, ...] = ()  # in the order in which they ran
    uptime: tuple[float, ...] = ()  # at `started` and at `ended`, by the kernel's clock, which cannot be set
    suspended: tuple[float, ...] | None = None  # from when and until when Slurm did, in pairs; None: not recorded

    @property
    def ended_well(self) -> bool:
        return self.outcome == "done" and (self.exit_status == 0 or bool(self.unended))


class Severity(StrEnum):
    ERROR = "E"  # makes the result invalid
    WARNING = "W"  # requires an explanation
    INFO = "I"  # is disclosed


class Move(StrEnum):
    """Who can do something about a finding."""

    VENDOR = "vendor"  # by a setting or a run
    BUYER = "buyer"  # who has what a check lacks, or alone decides
    NOBODY = "nobody"  # the outputs of such a run cannot show it


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule reports on its subject. Findings with one rule and one wording that differ in one value have one
    cause.
    """

    rule: str
    severity: Severity
    subject: str  # a run's id, a cell, "campaign"
    wording: str  # what is wrong; a `str.format` string if there are `values`
    expected: str = ""
    actual: str = ""
    checked: bool = True  # False: could not be checked, which never counts as passed
    explained: str = ""  # the campaign file's explanation
    waived: str = ""  # by whom and why: it is shown, and does not make the result invalid
    at_full: Severity | None = None  # of a note in a rehearsal: its severity at full size
    operation: str = ""  # the only operation of the run that it is about; "" for all
    phase: str = ""  # the phases of the run in which it was found, if not all: `ior-easy-write, find`
    clause: str = ""  # that of the pack's entry that it is about; "": of its rule
    move: Move = Move.VENDOR
    values: Mapping[str, str] = field(default_factory=dict, hash=False)  # the values in its message
    cells: tuple[Cell, ...] = field(default=(), hash=False)  # that it is about; none: the whole campaign

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
            "move": self.move,
            "values": dict(self.values),
            "cells": list(map(str, self.cells)),
        }

    @property
    def acceptance_text(self) -> str:
        """The text by which it is accepted: its explanation, or else the finding with what was found; both, if only the
        buyer lifts it.
        """
        message = f"{self.message}: {self.actual}" if self.actual else self.message
        text = f"{message} ({self.explained})" if self.lifted_by_buyer and self.explained else self.explained or message
        return " ".join(text.split())

    def concerns(self, cell: Cell) -> bool:
        return not self.cells or cell in self.cells

    @property
    def blocks(self) -> bool:
        """Whether it makes the result invalid. What only the buyer may lift waits for the buyer once explained."""
        return self.severity is Severity.ERROR and not (self.waived or (self.lifted_by_buyer and self.explained))

    @property
    def violated(self) -> bool:
        return self.checked and self.blocks

    @property
    def asks(self) -> bool:
        """Whether it requires an explanation, given or not."""
        return self.checked and (self.severity is Severity.WARNING or (self.lifted_by_buyer and bool(self.explained)))

    @property
    def unanswered(self) -> bool:
        """Whether it requires an explanation and has neither one nor a waiver."""
        return self.asks and not (self.explained or self.waived)

    @property
    def lifted_by_buyer(self) -> bool:
        """Whether it is a violation that only the buyer lifts: with an explanation, it waits for the buyer."""
        return self.severity is Severity.ERROR and self.move is Move.BUYER

    @property
    def open(self) -> bool:
        """Whether it was not checked, or not explained, and nobody has said anything to it."""
        return self.unanswered or not (self.checked or self.explained or self.waived)

    @property
    def undecided(self) -> bool:
        """Whether it waits until the buyer accepts it: an explanation, or what is left to the buyer."""
        left = self.checked and self.severity is Severity.INFO and self.move is Move.BUYER
        return not self.waived and (bool(self.explained) or left)


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


class Paths:
    """Where a campaign keeps its files: `results/<campaign>/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.database = root / "campaign.db"
        self.journal = root / "journal.jsonl"
        self.plan = root / "plan.json"
        self.source = root / "source"
        self.report = root / "report"
        self.runs = root / "runs"
        self.timestamps = root / "timestamps"

    def jobs(self, job: str) -> Path:
        return self.root / "jobs" / job

    def attempt(self, run: str, number: int) -> Path:
        return self.runs / run / str(number)

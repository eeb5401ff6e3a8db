"""What the output of an attempt says: records, which are parsed results with their places, and observations; and the
job's own completion. Plain frozen data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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

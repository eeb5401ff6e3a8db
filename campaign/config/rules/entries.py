"""The entries of a rule pack's lists: their keys are the fields of the dataclasses that the program works with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from campaign.config import values
from campaign.config.rules import formulas, kinds, sweeps
from campaign.core import formula
from campaign.core.keys import key, needed, record, switch
from campaign.core.records import record_key
from campaign.core.runs import Geometry
from campaign.core.schema import Choice, ListOf, MapOf, Number, Text, full_match, matching

_SERIES = {values.SERIES: "1, 2, 4 ...", values.FREE: "several numbers of"}  # in words


@dataclass(frozen=True, slots=True)
class LaunchCondition:
    id: str = needed(kinds.ID, "name of the launch condition in campaign files and cells")
    title: str = needed(kinds.LINE, "heading of its row in the table")
    clause: str = needed(kinds.CLAUSE, "clause of the RFP that requires it")
    text: str = key(kinds.LINE, "what the RFP requires", "")
    processes: int | None = key(Number(1, 2**31 - 1), "number of processes, where the RFP fixes it")
    nodes: int | None = key(
        kinds.COUNTS,
        "number of nodes, or their share of the partition's usable nodes, where the RFP fixes it; `powers of two`: one "
        'launch condition for each of 1, 2, 4 …, "1, 2, 8": for each of these, `free`: for each that the campaign file '
        "gives; `each`: every usable node runs by itself, all for one cell; "
        "`chunks of 4`: every chunk of so many nodes does",
    )
    chunks: str = key(
        Choice(("contiguous", "spread", "random")),
        "which nodes are a chunk: those next to each other in Slurm's order, those farthest apart in it, or any; the "
        "last chunk is filled up with nodes of the first",
        "contiguous",
    )
    reported_node: str = key(
        Choice(("minimum", "median", "maximum")),
        "which node's or chunk's result a cell of `nodes: each` reports; the distribution of all is shown with it",
        "median",
        name="each",
    )
    processes_per_node: values.Count | None = key(
        kinds.COUNTS, "number of processes on each node, or their share of its cores, where the RFP fixes it"
    )
    threads: str = key(
        kinds.FORMULA,
        "threads per process (OMP_NUM_THREADS and CPUs per task): a number, or a formula of `cores` (per node), "
        "`processes_per_node` and the other values that `{= ... }` in `arguments` may use",
        "",
        says_default="not set",
    )
    gres: str = key(
        matching(values.GRES, "a kind and a number, such as gpu:4"),
        "generic resources of each node that Slurm gives the job: `gpu:4`, `gpu:h100:4` (`--gres`)",
        "",
    )
    minimum_nodes: int = key(Number(1, 10**6), "minimum number of nodes", 1)
    whole_system: bool = switch("true for the maximum concurrency, which may be written as `all`")
    share: str = ""  # of the partition's nodes, instead of `nodes`
    reaches: str = ""  # nodes | processes_per_node: the last member of a series, up to what the partition has

    @property
    def series(self) -> str:
        """Which count grows in a series of conditions; "" if it is not a series."""
        if values.is_series(self.share):
            return "nodes"
        return "processes_per_node" if values.is_series(self.processes_per_node) else ""

    @property
    def points(self) -> str:
        """The counts of a series as the pack writes them: a list, `powers of two` or `free`."""
        return str(self.share if self.series == "nodes" else self.processes_per_node)

    @property
    def each_node(self) -> bool:
        """Whether every usable node, or chunk of nodes, runs by itself."""
        return self.share.startswith((values.EACH, values.CHUNKS))

    @property
    def unit(self) -> str:
        """What runs by itself where not all nodes run together."""
        return "chunk" if self.share.startswith(values.CHUNKS) else "node"

    @property
    def by_partition(self) -> bool:
        """Whether its geometry is a share of the partition."""
        return bool(self.whole_system or self.share or self.reaches) or isinstance(self.processes_per_node, str)

    def smallest_geometry(self, nodes: int, cores: int) -> Geometry:
        """The smallest geometry on a partition with so many usable nodes and cores per node; one of what is
        left open.
        """
        share = values.POWER if self.reaches == "nodes" else self.nodes or self.share
        processes_per_node = values.POWER if self.reaches == "processes_per_node" else self.processes_per_node
        open_count = "all" if self.whole_system else 1
        count = values.share_of(share or open_count, nodes)
        return Geometry(count, count * values.share_of(processes_per_node or open_count, cores))

    @property
    def requirement(self) -> str:
        return f"clause {self.clause}: {self.text or self.title}"

    @property
    def needs(self) -> str:
        """Its limits in words: "1 process on 1 node", "at least 2 nodes"."""
        parts = []
        if self.processes is not None:
            parts.append(f"{self.processes} process{'es' if self.processes > 1 else ''}")
        if self.processes_per_node is not None:
            processes_per_node = self.processes_per_node
            count_text = {values.POWER: f"a {processes_per_node} of", **_SERIES}.get(
                str(processes_per_node), processes_per_node
            )
            parts.append(f"{count_text} processes per node")
        if self.series == "nodes":
            parts.append(f"{_SERIES.get(self.share, self.share)} nodes")
        elif self.each_node:
            parts.append("each node by itself" if self.share == values.EACH else f"{self.share} nodes, each by itself")
        elif self.share:
            parts.append(f"{f'a {self.share}' if self.share == values.POWER else self.share} of the nodes")
        elif self.nodes is not None:
            parts.append(f"{self.nodes} node{'s' if self.nodes > 1 else ''}")
        elif self.minimum_nodes > 1:
            parts.append(f"at least {self.minimum_nodes} nodes")
        return " on ".join(parts) or ("the whole system" if self.whole_system else "any number of processes and nodes")


@dataclass(frozen=True, slots=True)
class FileConfiguration:
    id: str = needed(kinds.ID, "name of the file configuration in cells")
    title: str = needed(kinds.LINE, "heading in the table; `{items_total}` is replaced by the number of items")
    clause: str = needed(kinds.CLAUSE, "clause of the RFP that requires it")
    flags: tuple[str, ...] = key(ListOf(kinds.WORD, most=20), "flags that replace `{flags}`")
    inflated: tuple[str, ...] = key(ListOf(kinds.ID, most=20), "operations that the benchmark's formula overcounts")
    storage: bool = switch("true where results must come from the storage, not from memory (CCH-05)")


@dataclass(frozen=True, slots=True)
class Operation:
    """One result of an execution. In an unsettled pack it may contain placeholders and stand for several; `settle`
    expands it.
    """

    id: str = needed(
        kinds.FIGURE, "name of the operation in cells; with the placeholder of a sweep, one operation for each value"
    )
    title: str = needed(kinds.LINE, "heading of its column in the table; operations with the same title share a column")
    unit: str = needed(kinds.LINE, "unit of the value")
    row: str = key(
        kinds.LINE,
        "line below the launch condition's in which it is shown; without it, in the launch condition's own line",
        "",
    )
    phase: str = key(kinds.ID, "the phase that measures it, in a pack with `phases`", "")
    record: str = key(
        kinds.RECORD, "name of the result in the benchmark's output", ""
    )  # name of the parser's record; "" where the formula computes it of other operations
    formula: str = key(
        Text("a formula such as geomean(read, write)", longest=500),
        "formula for the value: from other operations of the same execution (with _ for - and . in their ids), or "
        "from the number of `record` (`value`), `processes`, `nodes`, `processes_per_node` and variables; "
        "`fom@single`: as reported under another launch condition; `mean(fom)`: of all valid repetitions",
        "",
    )
    lasts: str = key(
        Text("a time such as 300s", full_match(r"[0-9]{1,6}(\.[0-9]{1,6})?(us|ms|s|m|h)", "a time such as 300s")),
        "shortest time that the RFP allows for its phase (RUN-07)",
        "",
    )
    printed_unit: str = key(
        kinds.LINE, "with `record` and `formula`: the unit in the benchmark's output", "", name="printed"
    )
    statistic: str = key(
        Choice(("maximum", "minimum", "mean", "median", "first", "last")),
        "which of the iterations of one execution (`-i 3`) is reported",
        "",
        says_default="as the program prints it",
    )  # how iterations of one execution are combined; "": as the program prints it
    best: str = key(
        Choice(("highest", "lowest")),
        "which value is better, for comparisons",
        "",
        says_default="`selection.best` for the operation that selects the run, otherwise highest",
    )
    template: str = ""  # the unexpanded id, once settled
    at: tuple[tuple[str, str], ...] = ()
    launch: tuple[str, ...] = ()
    files: tuple[str, ...] = ()  # the file configurations in whose lines it is; all where empty

    @property
    def key(self) -> str:
        """The name of its record among those of all phases."""
        return record_key(self.phase, self.record)

    @property
    def name(self) -> str:
        """Its name in formulas."""
        return formulas.name_of(self.id)

    @property
    def is_across_executions(self) -> bool:
        """Whether it is computed from several executions, and not from one."""
        return formulas.is_across(self.formula)


@dataclass(frozen=True, slots=True)
class ValueOf:
    """A variable's value for some launch conditions and file configurations; "" means any."""

    full: str = needed(kinds.SETTING, "value at full size")
    rehearsal: str = needed(kinds.SETTING, "value in a rehearsal")
    launch: str = key(kinds.ID, "launch condition to which it applies", "", says_default="any")
    files: str = key(kinds.ID, "file configuration to which it applies", "", says_default="any")


@dataclass(frozen=True, slots=True)
class Variable:
    """A value of the command line that differs between a rehearsal and full size."""

    id: str = needed(kinds.NAME, "its placeholder, without the braces")
    full: str = needed(kinds.SETTING, "value at full size")
    rehearsal: str = needed(kinds.SETTING, "value in a rehearsal; a campaign file may change it")
    clause: str = needed(kinds.CLAUSE, "clause of the RFP that defines it")
    cases: tuple[ValueOf, ...] = key(
        ListOf(record(ValueOf), most=50), "other values for some launch conditions and file configurations"
    )
    free: bool = switch("true if a campaign file may change it at full size too")
    builds: tuple[str, ...] = key(
        ListOf(kinds.ID), "the categories of builds in which it is free, with `free`", says_default="all"
    )
    choices: tuple[str, ...] = key(
        ListOf(kinds.SETTING, least=2), "the values that it may have, such as `[on, off]`", says_default="any"
    )
    why: str = key(kinds.LINE, "its meaning", "")

    def value_for(self, profile: str, launch: str, files: str) -> str:
        """The pack's value for a launch condition and a file configuration."""
        fits = (case for case in self.cases if case.launch in ("", launch) and case.files in ("", files))
        source: Variable | ValueOf = next(fits, self)
        return source.full if profile == "full" else source.rehearsal


@dataclass(frozen=True, slots=True)
class EnvironmentVariable:
    """A variable that the ranks must have, or must not have (ENV-06)."""

    name: str = needed(values.VARIABLE, "the variable")
    clause: str = needed(kinds.CLAUSE, "clause of the RFP that requires or forbids it")
    value: str = key(
        values.VALUE, "its value, which the job exports", "", says_default="any; the campaign file gives it"
    )
    forbidden: bool = switch("true: it must not be set; the job removes it from its environment")

    def allows(self, value: str) -> bool:
        """Whether ranks may have this value; "" means that it is not set."""
        return value == ("" if self.forbidden else self.value or value or None)

    def __str__(self) -> str:
        return "not set" if self.forbidden else self.value or "set"


@dataclass(frozen=True, slots=True)
class Plot:
    id: str = needed(kinds.ID, "last part of the plot's file name")
    title: str = needed(kinds.LINE, "title above the plot")
    kind: str = needed(Choice(kinds.PLOTS), "kind of plot; see below")
    operations: tuple[str, ...] = key(
        ListOf(kinds.FIGURE, most=20), "ids of the operations to plot, as written in `operations`"
    )
    x: str = key(kinds.NAME, "sweep on the horizontal axis; for bars `files` or `launch`", "")
    series: str = key(kinds.NAME, "sweep with one line for each value", "")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which valid attempt a cell reports: the one with the best value of `operation`; its other operations are reported
    too.
    """

    operation: str = needed(kinds.FIGURE, "operation that selects the run; with sweeps, its last value")
    best: str = needed(
        Choice(("highest", "lowest", kinds.MEDIAN)),
        f"which run's value is reported; `{kinds.MEDIAN}`: of an even number of runs, the worse of the middle two",
    )
    clause: str = needed(kinds.CLAUSE, "clause of the RFP that says so")
    iteration: str = key(
        Choice(("best", "first", "last")),
        "reports all operations from one iteration of an execution (`best`: by `operation`), in place of "
        "`operations[].statistic`",
        "",
        says_default="none: each operation by its statistic",
    )  # best | first | last: the iteration of all operations; "": each by its statistic


@dataclass(frozen=True, slots=True)
class AllowedLauncher:
    """A program that may start the ranks, or precede the benchmark, with the names of its allowed options."""

    program: str = needed(
        matching(r"[A-Za-z0-9_.+-]+", "a program's name"),
        "`srun`, `mpirun`, `mpiexec`; a program before the benchmark such as `numactl`; or `wrapper`: any script",
    )
    clause: str = needed(kinds.CLAUSE, "clause of the RFP that allows it")
    options: tuple[str, ...] = key(
        ListOf(kinds.WORD, most=50), "options that may be given to it, by name: `--cpu-bind`"
    )
    why: str = key(kinds.LINE, "what it is for", "")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on what was run (GEO-05) or on its results (RES-01, RES-02); for some launch conditions, file
    configurations or a phase.
    """

    holds: str = needed(
        kinds.CONDITION,
        "the condition, on facts (`campaign rules --facts`), variables, operations, and records and facts of `results` "
        "(with _ for - and .); `{x}` is the planned value of a variable or a count",
    )
    clause: str = needed(kinds.CLAUSE, "clause of the RFP that requires it")
    phase: str = key(
        kinds.ID, "the phase to which the condition applies, in a pack with `phases`", "", says_default="all"
    )
    launch: tuple[str, ...] = key(ListOf(kinds.ID), "the launch conditions to which it applies", says_default="all")
    files: tuple[str, ...] = key(ListOf(kinds.ID), "the file configurations to which it applies", says_default="all")
    over: str = key(
        Choice(("repetitions", "nodes")),
        "judges the valid results of all repetitions, or of all nodes of `nodes: each`, together (RES-02), named "
        "as `max(fom)` or `cv(fom)`",
        "",
        says_default="each execution by itself",
    )
    if_printed: bool = switch("on results: true if an output without the numbers keeps it")
    full_size: bool = switch("on results: true if it applies at full size only; in a rehearsal it is then a note")
    explain: bool = switch(
        "on results: true if a result that does not meet it requires an explanation and is not a violation"
    )

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the condition whose values are measured: all but its placeholders."""
        return formula.Condition.parse(sweeps.without_placeholders(self.holds)).names


@dataclass(frozen=True, slots=True)
class Reference:
    """A table of a reference's values by a size or a count, for conditions."""

    id: str = needed(kinds.NAME, "its name in formulas; its placeholder in conditions, without the braces")
    by: str = needed(kinds.FORMULA, "what its points are of: a formula of counts and variables, such as `nodes`")
    points: tuple[tuple[float, float], ...] = needed(
        MapOf(values.INPUT, values.INPUT), "its values, each by the number that `by` gives: `{1: 310.2, 4: 85.1}`"
    )
    between: str = needed(
        Choice(("linear", "logarithms")),
        "how values between two points are interpolated: linearly, or so in the logarithms of both numbers; outside of "
        "the points there is no value",
    )
    clause: str = needed(kinds.CLAUSE, "clause of the RFP that gives it")

    def value(self, numbers: Mapping[str, float]) -> float | None:
        """Its value at a run's point; None outside of its points."""
        at, points = formula.value(self.by, numbers), sorted(self.points)
        for (low, low_value), (high, high_value) in pairwise(points):
            if low <= at <= high:
                if self.between == "linear":
                    return low_value + (high_value - low_value) * (at - low) / (high - low)
                return float(low_value * (high_value / low_value) ** (math.log(at / low) / math.log(high / low)))
        return None


@dataclass(frozen=True, slots=True)
class EnergyDemand:
    """What the RFP requires of the energy of each run (RUN-10); nothing if there is no clause."""

    clause: str = key(kinds.CLAUSE, "clause of the RFP that requires it", "", says_default="required in `energy`")
    level: int | None = key(
        Number(1, 3), "lowest level of the Green500's methods that the rules accept", says_default="any"
    )
    peak: bool = switch("true if the peak power is required too")


@dataclass(frozen=True, slots=True)
class CheckedBy:
    """What checks a clause: an entry of the pack. `key`: the list that it is in, such as `launch` or `checks`."""

    key: str
    name: str

    def __str__(self) -> str:
        return f"{self.key} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class Clause:
    """A demand of the RFP, and how it is accounted for: checked, unless one of the other three is given."""

    id: str = needed(kinds.CLAUSE, "number or name of the clause, as `clause` elsewhere in the pack has it")
    requires: str = needed(kinds.DEMAND, "what it requires, in one line")
    by: tuple[str, ...] = key(
        ListOf(kinds.RULE, most=20),
        "rules of `checks` that check it",
        says_default="every entry of the pack with this `clause`, but notes",
    )
    answered: str = key(kinds.DEMAND, "in place of a check: the question that the vendor answers in `answers`", "")
    person: str = key(kinds.DEMAND, "in place of a check: what a person has to look at", "")
    out_of_scope: str = key(kinds.DEMAND, "in place of a check: why it is not checked at all", "")
    evidence: tuple[CheckedBy, ...] = ()  # of the pack's entries; empty unless it is checked

    @property
    def accounting(self) -> str:
        return next((key_name for key_name in kinds.UNCHECKED if getattr(self, key_name)), kinds.BY_CHECKS)

    @property
    def text(self) -> str:
        """The question, what to look at, or the reason; "" if it is checked."""
        return self.answered or self.person or self.out_of_scope


@dataclass(frozen=True, slots=True)
class Note:
    """How an open or contradictory passage of the RFP is interpreted; `rules`: those that it concerns."""

    clause: str = needed(kinds.CLAUSE, "the clause in the RFP")
    text: str = needed(Text("a text", longest=1000, lines=True), "how the clause is interpreted")
    rules: tuple[str, ...] = key(ListOf(kinds.RULE), "rules to which the interpretation applies")


@dataclass(frozen=True, slots=True)
class Pin:
    """The benchmark that the RFP names; "" and () if it names none."""

    program: str = key(kinds.LINE, "the benchmark that the RFP names", "")
    version: str = key(kinds.LINE, "the version that the RFP names", "")
    sha256: tuple[str, ...] = key(
        ListOf(kinds.SHA256),
        "SHA-256 of the source that the RFP distributes: of the archive, or of the tree",
    )
    prints: tuple[str, ...] = key(
        ListOf(kinds.LINE), "what this version prints as its version, where that is something else than `version`"
    )

    def __str__(self) -> str:
        return f"{self.program} {self.version}".strip()

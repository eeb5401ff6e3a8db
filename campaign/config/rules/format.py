"""The format of a rule pack: its schema. What must hold between its values is in `check`; the reference is
docs/rule-pack-keys.md.
"""

from __future__ import annotations

from campaign.config import counts, messages
from campaign.config.rules.output_format import RESULTS
from campaign.core import formula
from campaign.core.schema import (
    Choice,
    Field,
    KeyedMap,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Text,
    matching,
    required,
    switch,
    whole,
)

PROFILES = ("rehearsal", "full")
MEDIAN = "median"  # in place of the best, which of the valid runs is reported
GEOMETRY = ("processes", "nodes", "processes_per_node")  # placeholders that a launch condition gives a value
PLACEHOLDERS = (
    "{items_per_process}", "{items_total}", "{directory}", "{processes}", "{nodes}", "{processes_per_node}",
    "{rank_offset}", "{flags}",
)  # fmt: skip
STATISTICS = ("maximum", "minimum", "mean", "median", "first", "last")
PLOTS = ("bars", "lines", "contention", "timeline")

_LINE = Text("a text on one line")
_ARGUMENTS = Text("the words of the command line after the program, on one line", longest=1000)
_CLAUSE = Text('a clause in quotes, such as "8.4"', longest=80)
_ID = matching(r"[a-z][a-z0-9-]*", "lower-case letters, digits and -, a letter first", longest=40)
_APPLET = matching(r"[a-z][a-z0-9_-]*", "lower-case letters, digits, - and _, a letter first", longest=40)
_NAME = matching(r"[a-z][a-z0-9_]*", "lower-case letters, digits and _, a letter first", longest=40)
_FIGURE = matching(
    r"[a-z](?:[a-z0-9.-]|\{[a-z0-9_]+\})*",
    "lower-case letters, digits, -, . and placeholders of sweeps, a letter first",
    longest=100,
)
_RECORD = matching(
    r"[a-z](?:[a-z0-9_.-]|\{[a-z0-9_]+\})*",
    "lower-case letters, digits, -, _, . and placeholders of sweeps, a letter first",
    longest=100,
)
_FIXED = matching(r"[!-z|~]+", "a flag such as -F or --name, or another word such as v1", longest=60)
_FLAG = matching(r"-[A-Za-z0-9]|--[a-z][A-Za-z0-9._-]*", "a flag such as -F or --name", longest=60)
_WORD = matching(r"[!-~]+", "printable ASCII without spaces", longest=60)
_SETTING = "letters, digits and _.,:%+-"
SETTING = Text(
    _SETTING, whole(r"[A-Za-z0-9_.,:%+-]+", _SETTING), numbers=True
)  # what a word of a command line may hold
_NUMBER = Text("a whole number, or a placeholder such as {largest}", longest=60, numbers=True)
RULE = matching(r"[A-Z]{3}-[0-9]{2}", "a rule's id such as FLG-01")
_CHECKED = 'a clause in quotes, such as "8.4", or a mapping of `clause`, `text` and the rule\'s parameters'
_CHECK = MapOf(Text("clause, text, or a parameter of the rule", longest=40), Text("a value", longest=160, numbers=True))
_LIST = Text("values with commas between them, or a placeholder", longest=1000, numbers=True)


def _formula(text: str) -> str:
    """Raises ValueError where it is none."""
    formula.names(text)
    return text


def _condition(text: str) -> str:
    """Raises ValueError where it is none."""
    formula.Condition.of(text)
    return text


COUNT = Text(counts.ALLOWED, counts.parse, numbers=True)
_COUNTS = Text(counts.ALLOWED_IN_PACKS, counts.parse_in_pack, numbers=True)
_LAUNCH = KeyedMap(
    id=required(_ID, "name of the launch condition in campaign files and cells"),
    title=required(_LINE, "heading of its row in the table"),
    clause=required(_CLAUSE, "clause of the RFP that requires it"),
    text=Field(_LINE, "what the RFP requires", default=""),
    processes=Field(Number(1, 2**31 - 1), "number of processes, where the RFP fixes it"),
    nodes=Field(
        _COUNTS,
        "number of nodes, or their share of the partition's usable nodes, where the RFP fixes it; `powers of two`: one "
        "launch condition for each of 1, 2, 4 …",
    ),
    processes_per_node=Field(
        _COUNTS, "number of processes on each node, or their share of its cores, where the RFP fixes it"
    ),
    threads=Field(
        Text(formula.ALLOWED, _formula, longest=formula.LONGEST, numbers=True),
        "threads per process (OMP_NUM_THREADS and CPUs per task): a number, or a formula of `cores` (per node), "
        "`processes_per_node` and the other values that `{= ... }` in `arguments` may use",
        default="",
        default_says="not set",
    ),
    minimum_nodes=Field(Number(1, 10**6), "minimum number of nodes", default=1),
    whole_system=switch("true for the maximum concurrency, which may be written as `all`"),
)
_FILES = KeyedMap(
    id=required(_ID, "name of the file configuration in cells"),
    title=required(_LINE, "heading in the table; `{items_total}` is replaced by the number of items"),
    clause=required(_CLAUSE, "clause of the RFP that requires it"),
    flags=Field(ListOf(_WORD, most=20), "flags that replace `{flags}`"),
    inflated=Field(ListOf(_ID, most=20), "operations that the benchmark's formula overcounts"),
    storage=switch("true where results must come from the storage, not from memory (CCH-05)"),
)
_OPERATION = KeyedMap(
    id=required(
        _FIGURE, "name of the operation in cells; with the placeholder of a sweep, one operation for each value"
    ),
    title=required(_LINE, "heading of its column in the table; operations with the same title share a column"),
    row=Field(
        _LINE,
        "line below the launch condition's in which it is shown; without it, in the launch condition's own line",
        default="",
    ),
    phase=Field(_ID, "the phase that measures it, in a pack with `phases`", default=""),
    record=Field(_RECORD, "name of the result in the benchmark's output", default=""),
    formula=Field(
        Text("a formula such as geomean(read, write)", longest=500),
        "formula for the value: from other operations of the same execution (with _ for - and . in their ids), or "
        "from the number of `record` (`value`), `processes`, `nodes`, `processes_per_node` and variables",
        default="",
    ),
    lasts=Field(
        Text("a time such as 300s", whole(r"[0-9]{1,6}(\.[0-9]{1,6})?(us|ms|s|m|h)", "a time such as 300s")),
        "shortest time that the RFP allows for its phase (RUN-07)",
        default="",
    ),
    printed=Field(_LINE, "with `record` and `formula`: the unit in the benchmark's output", default=""),
    unit=required(_LINE, "unit of the value"),
    statistic=Field(
        Choice(STATISTICS),
        "which of the iterations of one execution (`-i 3`) is reported",
        default="",
        default_says="as the program prints it",
    ),
    best=Field(
        Choice(("highest", "lowest")),
        "which value is better, for comparisons",
        default="",
        default_says="`selection.best` for the operation that selects the run, otherwise highest",
    ),
)
_VALUE_OF = KeyedMap(
    launch=Field(_ID, "launch condition to which it applies", default="", default_says="any"),
    files=Field(_ID, "file configuration to which it applies", default="", default_says="any"),
    full=required(SETTING, "value at full size"),
    rehearsal=required(SETTING, "value in a rehearsal"),
)
_VARIABLE = KeyedMap(
    id=required(_NAME, "its placeholder, without the braces"),
    full=required(SETTING, "value at full size"),
    rehearsal=required(SETTING, "value in a rehearsal; a campaign file may change it"),
    cases=Field(ListOf(_VALUE_OF, most=50), "other values for some launch conditions and file configurations"),
    free=switch("true if a campaign file may change it at full size too"),
    clause=required(_CLAUSE, "clause of the RFP that defines it"),
    why=Field(_LINE, "its meaning", default=""),
)
_SWEEP = KeyedMap(
    id=required(_NAME, "its placeholder, without the braces"),
    title=Field(_LINE, "meaning and unit of its values, for plots", default="", default_says="its id"),
    values=Field(_LIST, "the values, separated by commas", default=""),
    first=Field(_NUMBER, "the first value, in place of `values`", default=""),
    last=Field(_NUMBER, "the last value", default=""),
    times=Field(_NUMBER, "factor from one value to the next, 2 or more", default=""),
    plus=Field(_NUMBER, "step from one value to the next, in place of `times`", default=""),
    always_last=switch("true: `last` is measured even if the steps do not reach it"),
)
_PLOT = KeyedMap(
    id=required(_ID, "last part of the plot's file name"),
    title=required(_LINE, "title above the plot"),
    kind=required(Choice(PLOTS), "kind of plot; see below"),
    operations=Field(ListOf(_FIGURE, most=20), "ids of the operations to plot, as written in `operations`"),
    x=Field(_NAME, "sweep on the horizontal axis; for bars `files` or `launch`", default=""),
    series=Field(_NAME, "sweep with one line for each value", default=""),
)


def _flags(kind: Text, **more: Field) -> KeyedMap:
    return KeyedMap(
        flag=required(kind, "the flag"),
        value=switch("true if it takes a value"),
        clause=required(_CLAUSE, "clause of the RFP that mentions it"),
        why=Field(_LINE, "its meaning, or why it is allowed", default=""),
        **more,
    )


_LENGTHENS = switch("true if it makes a phase longer, as a stonewall time or a repetition count does (RUN-07)")


_LAUNCHER = KeyedMap(
    program=required(
        matching(r"[A-Za-z0-9_.+-]+", "a program's name"),
        "`srun`, `mpirun`, `mpiexec`; a program before the benchmark such as `numactl`; or `wrapper`: any script",
    ),
    options=Field(ListOf(_WORD, most=50), "options that may be given to it, by name: `--cpu-bind`"),
    clause=required(_CLAUSE, "clause of the RFP that allows it"),
    why=Field(_LINE, "what it is for", default=""),
)
_ITEMS = KeyedMap(
    full=Field(Number(1, 2**50, power=True), "total number that the RFP requires"),
    rehearsal=Field(Number(1, 2**50, power=True), "total number in a rehearsal"),
    at_least=switch(
        "true: rounded up to a multiple of the processes; false: must divide by the processes", default=True
    ),
    clause=Field(_CLAUSE, "clause of the RFP that gives the total", default=""),
    unit=Field(_ID, "what is counted", default="files"),
)
_SELECTION = KeyedMap(
    operation=required(_FIGURE, "operation that selects the run; with sweeps, its last value"),
    best=required(
        Choice(("highest", "lowest", MEDIAN)),
        f"which run's value is reported; `{MEDIAN}`: of an even number of runs, the worse of the middle two",
    ),
    clause=required(_CLAUSE, "clause of the RFP that says so"),
    iteration=Field(
        Choice(("best", "first", "last")),
        "reports all operations from one iteration of an execution (`best`: by `operation`), in place of "
        "`operations[].statistic`",
        default="",
        default_says="none: each operation by its statistic",
    ),
)
_REQUIREMENT = KeyedMap(
    holds=required(
        Text(messages.CONDITION(), _condition, longest=formula.LONGEST),
        "the condition, on `processes`, `nodes`, `processes_per_node`, `threads`, `memory` and `cores` of a node, "
        "`items_per_process`, `items_total`, `moved` (bytes of each bandwidth) and variables",
    ),
    clause=required(_CLAUSE, "clause of the RFP that requires it"),
    phase=Field(
        _ID, "the phase to which the condition applies, in a pack with `phases`", default="", default_says="all"
    ),
    launch=Field(ListOf(_ID), "the launch conditions to which it applies", default_says="all"),
    files=Field(ListOf(_ID), "the file configurations to which it applies", default_says="all"),
)
_SOURCE = KeyedMap(
    program=Field(_LINE, "the benchmark that the RFP names", default=""),
    version=Field(_LINE, "the version that the RFP names", default=""),
    sha256=Field(
        ListOf(matching(r"[0-9a-f]{64}", "a SHA-256 in 64 digits 0-9 and a-f")),
        "SHA-256 of the source that the RFP distributes: of the archive, or of the tree",
    ),
)
_NOTE = KeyedMap(
    clause=required(_CLAUSE, "the clause in the RFP"),
    text=required(Text("a text", longest=1000, lines=True), "how the clause is interpreted"),
    rules=Field(ListOf(RULE), "rules to which the interpretation applies"),
)
_WITHIN = Text(
    "{directory}, or a path below it", whole(r"\{directory\}(/[A-Za-z0-9_{}-][A-Za-z0-9._{}-]*)*", "{directory}/…")
)
_PROGRAM = KeyedMap(
    id=required(_ID, "name of the program in `phases` and in campaign files"),
    applet=Field(
        _APPLET,
        "program of the built-in benchmark, or another one whose output has a built-in parser",
        default="",
        default_says="its id",
    ),
    results=Field(
        RESULTS,
        "how its output is read, with the keys of `results`; without it the built-in parser or the pack's `results` "
        "is used",
    ),
    allowed=Field(
        ListOf(_flags(_FLAG, lengthens=_LENGTHENS)),
        "optional flags of it that a campaign file may add to all its phases",
    ),
    starts=Field(
        ListOf(matching(r"[A-Za-z0-9_.+-]+", "a program's name"), most=20),
        "programs of the system (of /bin or /usr/bin) that it starts itself, such as `sync`",
    ),
)
_PHASE = KeyedMap(
    id=required(_ID, "name of the phase"),
    program=Field(_ID, "the program that it runs", default=""),
    arguments=Field(_ARGUMENTS, "as `arguments` of a pack for one program; all flags are mandatory", default=""),
    remove=Field(_WITHIN, "in place of `program`: removes that directory or file, untimed", default=""),
    write=Field(_WITHIN, "in place of `program`: writes `text` into that file, untimed", default=""),
    text=Field(
        Text("a text", longest=10000, lines=True),
        "what `write` writes, such as the program's input; with the same placeholders",
        default="",
    ),
    nodes=Field(
        Choice(("same", "other")),
        "`other`: on the same number of further nodes of the job, none of which ran a phase with `same`",
        default="same",
    ),
    launch=Field(ListOf(_ID), "the launch conditions under which it runs", default_says="all"),
    clause=required(_CLAUSE, "clause of the RFP that requires it"),
)
SCHEMA = KeyedMap(
    id=required(_ID, "name of the pack and of its file"),
    version=required(Number(1, 10**6), "version number, raised with every change of meaning"),
    title=required(_LINE, "one line of description for `campaign rules`"),
    document=required(_LINE, "the text that the clauses refer to"),
    caption=required(_LINE, "caption of the table"),
    applet=Field(
        _APPLET,
        "program: `mdtest`, `ior`, … of the built-in benchmark; with `results`, any other",
        default="",
        default_says="required without `programs`",
    ),
    programs=Field(ListOf(_PROGRAM, most=20), "the programs of a pack whose executions have several phases"),
    phases=Field(
        ListOf(_PHASE, most=100),
        "the phases of one execution, run in this order in one job and one directory; in place of `arguments`",
    ),
    launch=required(ListOf(_LAUNCH, least=1, most=50), "launch conditions, in the order of the table"),
    files=required(
        ListOf(_FILES, least=1, most=50),
        "file configurations, or what else varies from run to run, in the order of the table",
    ),
    operations=required(ListOf(_OPERATION, least=1, most=50), "results of one execution"),
    arguments=Field(
        _ARGUMENTS,
        f"flags, and the placeholders {', '.join(f'`{word}`' for word in PLACEHOLDERS)}, "
        "those of `variables` and those of `sweeps`",
        default="",
        default_says="required without `phases`",
    ),
    variables=Field(ListOf(_VARIABLE), "values that differ between a rehearsal and full size"),
    sweeps=Field(ListOf(_SWEEP), "values that are measured within one run"),
    fixed=Field(ListOf(_flags(_FIXED)), "mandatory flags"),
    derived=Field(ListOf(_flags(_FLAG)), "flags set automatically from the geometry, the target and the variables"),
    allowed=Field(ListOf(_flags(_FLAG, lengthens=_LENGTHENS)), "optional flags that a campaign file may add"),
    launchers=Field(
        ListOf(_LAUNCHER),
        "launchers, their options and prefixes that a campaign file may choose (`launcher`)",
        default_says="srun and mpirun, binding options and any prefix, all disclosed",
    ),
    items=Field(_ITEMS, "number of items, from which `{items_per_process}` is computed"),
    selection=required(_SELECTION, "which valid attempt is reported"),
    checks=Field(
        MapOf(RULE, OneOf(_CLAUSE, _CHECK, _CHECKED)),
        "rules of the catalogue that are checked, each with its clause and, as `text`, what it requires in this RFP",
    ),
    requires=Field(ListOf(_REQUIREMENT), "conditions on sizes and counts that the RFP requires of each run (GEO-05)"),
    source=Field(_SOURCE, "the source that the results must come from (SRC-01)"),
    plots=Field(ListOf(_PLOT, most=20), "plots in the report"),
    results=Field(RESULTS, "how to read the output of programs without a built-in parser"),
    notes=Field(ListOf(_NOTE), "interpretation of unclear or contradictory clauses"),
)

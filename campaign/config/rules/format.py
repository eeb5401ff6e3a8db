"""The format of a rule pack: its schema. What must hold between its values is in `check`; the reference is
docs/rule-packs.md.
"""

from __future__ import annotations

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
GEOMETRY = ("processes", "nodes", "processes_per_node")  # placeholders that a launch condition gives a value
PLACEHOLDERS = (
    "{items_per_process}", "{items_total}", "{directory}", "{processes}", "{nodes}", "{processes_per_node}",
    "{rank_offset}", "{flags}",
)  # fmt: skip
PLOTS = ("bars", "lines", "contention", "timeline")

_LINE = Text("a text on one line")
_CLAUSE = Text('a clause in quotes, such as "8.4"', longest=80)
_ID = matching(r"[a-z][a-z0-9-]*", "lower-case letters, digits and -, a letter first", longest=40)
_APPLET = matching(r"[a-z][a-z0-9_-]*", "lower-case letters, digits, - and _, a letter first", longest=40)
_NAME = matching(r"[a-z][a-z0-9_]*", "lower-case letters, digits and _, a letter first", longest=40)
_FIGURE = matching(
    r"[a-z](?:[a-z0-9.-]|\{[a-z0-9_]+\})*",
    "lower-case letters, digits, -, . and placeholders of sweeps, a letter first",
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
_CHECKED = 'a clause in quotes, such as "8.4", or a mapping of `clause` and the rule\'s parameters'
_CHECK = MapOf(Text("clause, or a parameter of the rule", longest=40), Text("a value", longest=80, numbers=True))
_LIST = Text("values with commas between them, or a placeholder", longest=1000, numbers=True)

_LAUNCH = KeyedMap(
    id=required(_ID, "its name in campaign files and cells"),
    title=required(_LINE, "its row in the table"),
    clause=required(_CLAUSE, "where the RFP asks for it"),
    text=Field(_LINE, "what the RFP asks for", default=""),
    processes=Field(Number(1, 2**31 - 1), "the count, where the RFP fixes it"),
    nodes=Field(Number(1, 10**6), "the count, where the RFP fixes it"),
    minimum_nodes=Field(Number(1, 10**6), "the fewest nodes that count", default=1),
    whole_system=switch("the maximum concurrency: `all` stands for it"),
)
_FILES = KeyedMap(
    id=required(_ID, "its name in cells"),
    title=required(_LINE, "its heading in the table; `{items_total}` stands for the number of items"),
    clause=required(_CLAUSE, "where the RFP asks for it"),
    flags=Field(ListOf(_WORD, most=20), "what takes the place of `{flags}`"),
    inflated=Field(ListOf(_ID, most=20), "operations of which the benchmark counts more than happen"),
    storage=switch("its numbers are held to be those of the storage, not of memory (CCH-05)"),
)
_OPERATION = KeyedMap(
    id=required(_FIGURE, "its name in cells; with the placeholder of a sweep, one for each value"),
    title=required(_LINE, "its column in the table; operations with the same title share it"),
    row=Field(_LINE, "its line below the launch condition's; without, it stands in that line", default=""),
    record=required(_FIGURE, "the result of that name in the benchmark's output"),
    unit=required(_LINE, "unit of the value"),
    best=Field(
        Choice(("highest", "lowest")),
        "which value is the best, for comparisons",
        default="",
        default_says="as `selection.best` where that is by this operation, otherwise highest",
    ),
)
_VARIABLE = KeyedMap(
    id=required(_NAME, "its placeholder, without the braces"),
    full=required(SETTING, "its value at full size"),
    rehearsal=required(SETTING, "its value in a rehearsal, which a campaign file may change"),
    free=switch("whether a campaign file may change it at full size too"),
    clause=required(_CLAUSE, "where the RFP speaks of it"),
    why=Field(_LINE, "what it is", default=""),
)
_SWEEP = KeyedMap(
    id=required(_NAME, "its placeholder, without the braces"),
    title=Field(_LINE, "what its values are, with the unit, for plots", default="", default_says="its id"),
    values=Field(_LIST, "the values themselves", default=""),
    first=Field(_NUMBER, "the first value, in place of `values`", default=""),
    last=Field(_NUMBER, "the last one", default=""),
    times=Field(_NUMBER, "the factor from one value to the next, 2 or more", default=""),
    plus=Field(_NUMBER, "the step from one value to the next, in place of `times`", default=""),
    always_last=switch("the last value is measured even where the steps do not meet it"),
)
_PLOT = KeyedMap(
    id=required(_ID, "the end of its file's name"),
    title=required(_LINE, "what stands above it"),
    kind=required(Choice(PLOTS), "see below"),
    operations=Field(ListOf(_FIGURE, most=20), "ids of operations, as they are written above"),
    x=Field(_NAME, "the sweep along the horizontal axis; of bars `files`, or `launch`", default=""),
    series=Field(_NAME, "the sweep that makes a line for each value", default=""),
)


def _flags(kind: Text, **more: Field) -> KeyedMap:
    return KeyedMap(
        flag=required(kind, "the flag"),
        value=switch("whether it takes a value"),
        clause=required(_CLAUSE, "where the RFP speaks of it"),
        why=Field(_LINE, "its meaning, or why it is allowed", default=""),
        **more,
    )


_LENGTHENS = switch("whether it makes a phase longer, as a stonewall time or a repetition count does (RUN-07)")


_ITEMS = KeyedMap(
    full=Field(Number(1, 2**50, power=True), "how many the RFP asks for in total"),
    rehearsal=Field(Number(1, 2**50, power=True), "how many a rehearsal makes"),
    at_least=switch("true: rounded up to a multiple of the processes; false: the total has to divide", default=True),
    clause=Field(_CLAUSE, "where the RFP gives the total", default=""),
    unit=Field(_ID, "what the items are", default="files"),
)
_SELECTION = KeyedMap(
    operation=required(_FIGURE, "the operation that decides; of one with sweeps, its last value does"),
    best=required(Choice(("highest", "lowest")), "which value is the best"),
    clause=required(_CLAUSE, "where the RFP says so"),
)
_SOURCE = KeyedMap(
    program=Field(_LINE, "the benchmark that the RFP names", default=""),
    version=Field(_LINE, "the version that it names", default=""),
    sha256=Field(
        ListOf(matching(r"[0-9a-f]{64}", "a SHA-256 in 64 digits 0-9 and a-f")),
        "hashes of the source that it hands out: of the archive, or of the tree",
    ),
)
_NOTE = KeyedMap(
    clause=required(_CLAUSE, "the place in the RFP"),
    text=required(Text("a text", longest=1000, lines=True), "how it is read"),
    rules=Field(ListOf(RULE), "rules whose interpretation it puts on record"),
)
SCHEMA = KeyedMap(
    id=required(_ID, "the pack's name, also that of its file"),
    version=required(Number(1, 10**6), "raised with every change of meaning"),
    title=required(_LINE, "one line for `campaign rules`"),
    document=required(_LINE, "the text that the clauses refer to"),
    caption=required(_LINE, "of the table"),
    applet=required(_APPLET, "the program of the benchmark binary: `mdtest`, `ior`, …"),
    launch=required(ListOf(_LAUNCH, least=1, most=50), "launch conditions, in the table's order"),
    files=required(
        ListOf(_FILES, least=1, most=50),
        "file configurations, or what else is varied from run to run, in the table's order",
    ),
    operations=required(ListOf(_OPERATION, least=1, most=50), "results of one execution"),
    arguments=required(
        Text("the words of the command line after the program, on one line", longest=1000),
        f"flags, and the placeholders {', '.join(f'`{word}`' for word in PLACEHOLDERS)}, "
        "those of `variables` and those of `sweeps`",
    ),
    variables=Field(ListOf(_VARIABLE), "values that differ between a rehearsal and full size"),
    sweeps=Field(ListOf(_SWEEP), "values that one execution goes through"),
    fixed=Field(ListOf(_flags(_FIXED)), "flags that must not be changed or omitted"),
    derived=Field(ListOf(_flags(_FLAG)), "flags that are set from the geometry, the target and the variables"),
    allowed=Field(ListOf(_flags(_FLAG, lengthens=_LENGTHENS)), "flags that a campaign file may add"),
    items=Field(_ITEMS, "what `{items_per_process}` is made of"),
    selection=required(_SELECTION, "which valid attempt a cell reports"),
    checks=Field(
        MapOf(RULE, OneOf(_CLAUSE, _CHECK, _CHECKED)),
        "rules of the catalogue that apply, with the clause each rests on",
    ),
    source=Field(_SOURCE, "which source the results are to come from (SRC-01)"),
    plots=Field(ListOf(_PLOT, most=20), "pictures of the report"),
    notes=Field(ListOf(_NOTE), "how open or contradictory places are read"),
)

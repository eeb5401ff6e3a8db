"""The format of a rule pack: its keys. Conditions between its values are in `check`; the reference is
docs/rule-pack-keys.md.
"""

from __future__ import annotations

from campaign.config.rules import entries, kinds
from campaign.config.rules.builds import BuildCategory
from campaign.config.rules.output_format import RESULTS
from campaign.config.rules.programs import Flag
from campaign.config.rules.sweeps import Sweep
from campaign.core.keys import record
from campaign.core.runs import Input
from campaign.core.schema import Field, KeyedMap, ListOf, MapOf, Number, OneOf, Text, matching, required, switch


def _flags(kind: Text, **further_keys: Field) -> KeyedMap:
    return KeyedMap(
        Flag,
        flag=required(kind, "the flag"),
        value=switch("true if it takes a value"),
        clause=required(kinds.CLAUSE, "clause of the RFP that mentions it"),
        why=Field(kinds.LINE, "its meaning, or why it is allowed", default=""),
        **further_keys,
    )


_ALLOWED = ListOf(
    _flags(
        kinds.FLAG,
        lengthens=switch("true if it makes a phase longer, as a stonewall time or a repetition count does (RUN-07)"),
        builds=Field(ListOf(kinds.ID), "the categories of builds in which it is allowed", default_says="all"),
    )
)


_ITEMS = KeyedMap(
    full=Field(Number(1, 2**50, power=True), "total number that the RFP requires"),
    rehearsal=Field(Number(1, 2**50, power=True), "total number in a rehearsal"),
    at_least=switch(
        "true: rounded up to a multiple of the processes; false: must divide by the processes", default=True
    ),
    clause=Field(kinds.CLAUSE, "clause of the RFP that gives the total", default=""),
    unit=Field(kinds.ID, "what is counted", default="files"),
)
PROGRAM = KeyedMap(
    id=required(kinds.APPLET, "name of the program in `phases` and in campaign files"),
    applet=Field(
        kinds.APPLET,
        "program of the built-in benchmark, or any other, with `results`",
        default="",
        default_says="its id",
    ),
    results=Field(
        RESULTS,
        "how its output is read, with the keys of `results`; without it by the pack's `results`, if it is not built in",
    ),
    allowed=Field(
        _ALLOWED,
        "optional flags of it that a campaign file may add to all its phases",
    ),
    starts=Field(
        ListOf(matching(r"[A-Za-z0-9_.+-]+", "a program's name"), most=20),
        "programs of the system (of /bin or /usr/bin) that it starts itself, such as `sync`",
    ),
)
PHASE = KeyedMap(
    id=required(kinds.ID, "name of the phase"),
    program=Field(kinds.APPLET, "the program that it runs", default=""),
    arguments=Field(kinds.ARGUMENTS, "as `arguments` of a pack for one program; all flags are mandatory", default=""),
    remove=Field(kinds.WITHIN, "in place of `program`: removes that directory or file, untimed", default=""),
    write=Field(kinds.WITHIN, "in place of `program`: writes `text` into that file, untimed", default=""),
    text=Field(
        Text("a text", longest=10000, lines=True, tabs=True),
        "what `write` writes, such as the program's input; with the same placeholders; other braces are text",
        default="",
    ),
    input=Field(kinds.NAME, "in place of `text`: the input file that `write` copies", default=""),
    raw=switch("true: `text` is written as it stands here, and nothing in it is a placeholder"),
    nodes=Field(
        kinds.FORMULA,
        "`other`: on the same number of further nodes of the job, none of which ran a phase with `same`; a number, or "
        "a formula such as `nodes / 2`: on so many of the launch condition's nodes, the first ones",
        default="same",
    ),
    processes=Field(
        kinds.FORMULA,
        "number of processes, or a formula such as `4 * nodes` of the launch condition's counts, `cores` and variables",
        default="",
        default_says="as many on each node as the launch condition has",
    ),
    beside=Field(
        kinds.ID,
        "the phase with which it starts together, on other nodes: those behind that phase's; both have `nodes`, and "
        "other phases between them start together with that one too",
        default="",
    ),
    copies=Field(
        kinds.FORMULA,
        "so many copies of it start together, each on its own CPUs; a number, or a formula as in `processes`; `fill`: "
        "as many as there is room for on the launch condition's nodes with its processes on each; `{copy}` in "
        "`arguments` is the number of the copy, from 1; results: `min(value over copies)`",
        default="",
    ),
    launch=Field(ListOf(kinds.ID), "the launch conditions under which it runs", default_says="all"),
    clause=required(kinds.CLAUSE, "clause of the RFP that requires it"),
)
_INPUT = KeyedMap(
    Input,
    id=required(kinds.NAME, "its placeholder, without the braces, which stands for the file's path"),
    path=Field(
        kinds.INPUT_PATH,
        "the file, relative to the pack's directory; without it the campaign file gives the path (`inputs`)",
        default="",
    ),
    sha256=Field(
        kinds.SHA256,
        "SHA-256 of the file, if the RFP fixes its content; required with `path`",
        default="",
    ),
    clause=required(kinds.CLAUSE, "clause of the RFP that requires it"),
)
SCHEMA = KeyedMap(
    id=required(kinds.ID, "name of the pack and of its file"),
    version=required(Number(1, 10**6), "version number, raised with every change of meaning"),
    extends=Field(
        kinds.ID,
        "id of the pack, next to this file or among all, whose keys this one has too: mappings are joined key by key, "
        f"lists by the names of their entries ({', '.join(f'`{name}`' for name in kinds.NAMING)}), anything else is "
        "replaced; then only `id` and `version` are required here",
        default="",
    ),
    without=Field(
        ListOf(Text("a place such as launch/tenth or checks/STA-03"), most=200),
        "what of the extended pack is left out before that, as `launch/tenth/threads`",
    ),
    title=required(kinds.LINE, "one line of description for `campaign rules`"),
    document=required(kinds.LINE, "the text that the clauses refer to"),
    caption=required(kinds.LINE, "caption of the table"),
    applet=Field(
        kinds.APPLET,
        "program: `mdtest`, `ior`, … of the built-in benchmark; with `results`, any other",
        default="",
        default_says="required without `programs`",
    ),
    programs=Field(ListOf(PROGRAM, most=20, apart="id"), "the programs of a pack whose executions have several phases"),
    phases=Field(
        ListOf(PHASE, most=100, apart="id"),
        "the phases of one execution, run in this order in one job and one directory; in place of `arguments`",
    ),
    launch=required(
        ListOf(record(entries.LaunchCondition), least=1, most=50, apart="id"),
        "launch conditions, in the order of the table",
    ),
    files=required(
        ListOf(record(entries.FileConfiguration), least=1, most=50, apart="id"),
        "file configurations, or what else varies from run to run, in the order of the table",
    ),
    operations=required(ListOf(record(entries.Operation), least=1, most=50, apart="id"), "results of one execution"),
    arguments=Field(
        kinds.ARGUMENTS,
        f"flags, and the placeholders {', '.join(f'`{word}`' for word in kinds.PLACEHOLDERS)}, "
        "those of `variables`, `inputs` and `sweeps`",
        default="",
        default_says="required without `phases`",
    ),
    variables=Field(
        ListOf(record(entries.Variable), apart="id"), "values that differ between a rehearsal and full size"
    ),
    inputs=Field(
        ListOf(_INPUT, most=50, apart="id"),
        "files that the benchmark reads, hashed on the nodes before each run (INP-01)",
    ),
    sweeps=Field(ListOf(record(Sweep), apart="id"), "values that are measured within one run"),
    fixed=Field(
        ListOf(_flags(kinds.FIXED)),
        "mandatory flags with separate clauses; other flags in `arguments` are mandatory too",
    ),
    derived=Field(
        ListOf(_flags(kinds.FLAG)), "flags set automatically from the geometry, the target and the variables"
    ),
    allowed=Field(_ALLOWED, "optional flags that a campaign file may add"),
    launchers=Field(
        ListOf(record(entries.AllowedLauncher)),
        "launchers, their options and prefixes that a campaign file may choose (`launcher`)",
        default_says="srun and mpirun, binding options and any prefix, all disclosed",
    ),
    items=Field(_ITEMS, "number of items, from which `{items_per_process}` is computed"),
    selection=required(record(entries.Selection), "which valid attempt is reported"),
    checks=Field(
        MapOf(kinds.RULE, OneOf(kinds.CLAUSE, kinds.CHECK, kinds.CHECKED)),
        "rules of the catalogue that are checked, each with its clause and, as `text`, what it requires in this RFP",
    ),
    requires=Field(
        ListOf(record(entries.Requirement)),
        "conditions that the RFP requires of each run: on sizes and counts (GEO-05) and on results (RES-01)",
    ),
    references=Field(
        ListOf(record(entries.Reference), most=50, apart="id"),
        "tables of a reference's values, interpolated at each run's point: `loop <= {reference}` in `requires`, "
        "`reference / loop` in `operations[].formula`",
    ),
    clauses=Field(
        ListOf(record(entries.Clause), most=200, apart="id"),
        "all demands of the document, each with how it is accounted for; then every `clause` of the pack must be one "
        "of these, `practice` or `distribution`",
    ),
    environment=Field(
        ListOf(record(entries.EnvironmentVariable), apart="name"),
        "environment variables that the RFP requires or forbids for the ranks (ENV-06)",
    ),
    energy=Field(
        record(entries.EnergyDemand),
        "energy and peak power of each run are required (RUN-10)",
    ),
    source=Field(record(entries.Pin), "the source that the results must come from (SRC-01)"),
    sources=Field(
        MapOf(kinds.ID, record(entries.Pin)),
        "in place of `source`: several by name, first that of the program that runs, then such as its library's",
    ),
    builds=Field(
        ListOf(record(BuildCategory), most=10, apart="id"),
        "categories of builds, of which a campaign file chooses one (`build`); the first one is the default",
    ),
    plots=Field(ListOf(record(entries.Plot), most=20, apart="id"), "plots in the report"),
    results=Field(RESULTS, "how to read the output of programs that are not built in"),
    notes=Field(ListOf(record(entries.Note)), "interpretation of unclear or contradictory clauses"),
)

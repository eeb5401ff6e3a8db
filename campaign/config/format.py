"""The format of a campaign file: its schema. The reference is docs/campaign-file.md.

What is allowed in a single value is in `values`; what must hold between values, and between them and the rule pack, in
`check` and `search`.
"""

from __future__ import annotations

from campaign.config import values
from campaign.config.rules.format import PROFILES, RULE, SETTING
from campaign.config.sbatch_options import DIRECTIVE
from campaign.core.schema import Choice, Field, KeyedMap, ListOf, MapOf, Number, OneOf, Text, matching, required

NAME = matching(r"[A-Za-z0-9][A-Za-z0-9_-]*", "letters, digits, - and _, a letter or digit first", longest=40)
_NONCE = matching(r"[A-Za-z0-9._:+/=-]+", "letters, digits and ._:+/=-", longest=200)
_LINE = Text("a text on one line", longest=500)
_PROSE = Text("a text", longest=2000, numbers=True, lines=True)
_SLURM_NAME = matching(r"[A-Za-z0-9][A-Za-z0-9_.,@:+/-]*", "letters, digits and _.,@:+/-", longest=100)
_SHA256 = matching(r"[0-9a-f]{64}", "a SHA-256 in 64 digits 0-9 and a-f")
_DESCRIPTION = MapOf(Text("a text", longest=80), _PROSE)
_PROCESSES = Number(1, 2**31 - 1, words=(values.ALL, values.SEARCH, values.PROJECTED), says=values.LAUNCH)

GEOMETRY = KeyedMap(
    nodes=Field(Number(1, 10**6), "compute nodes"),
    processes=Field(Number(1, 2**31 - 1), "MPI processes in total"),
    processes_per_node=Field(Number(1, 10**6), "MPI processes on each node, in place of `processes`"),
)
TARGET = KeyedMap(
    name=required(NAME, "its name in cells and results"),
    directory=required(
        values.DIRECTORY, "a directory that is there on all nodes, in which the benchmark makes its own"
    ),
    description=Field(_LINE, "the tier and protocol, for the report", default=""),
)
SLURM = KeyedMap(
    partition=Field(_SLURM_NAME, "partition", default="", default_says="the cluster's default"),
    account=Field(_SLURM_NAME, "account", default="", default_says="the user's default"),
    qos=Field(_SLURM_NAME, "quality of service", default="", default_says="the account's default"),
    constraint=Field(
        matching(r"[A-Za-z0-9_.,&|*()\[\]!:=+-]+", "features joined by & and |"), "node features", default=""
    ),
    reservation=Field(_SLURM_NAME, "reservation", default=""),
    time=Field(
        values.TIME, "limit of one run; a job that carries several runs gets the sum", default=3600, default_says="1h"
    ),
    mpi=Field(matching(r"[a-z][a-z0-9_.]*", "a plugin of `srun --mpi=list`"), "MPI plugin", default="pmix"),
    modules=Field(
        ListOf(matching(r"[A-Za-z0-9][A-Za-z0-9_.+@:=/-]*", "a module's name: letters, digits and _.+@:=/-")),
        "environment modules that each job loads",
    ),
    directives=Field(ListOf(DIRECTIVE), "further sbatch options for each job"),
    environment=Field(MapOf(values.VARIABLE, values.VALUE), "variables that each job exports; shown in the report"),
    allocation=Field(
        Choice(("run", "geometry", "one")),
        "what shares a job: nothing, runs of one geometry, or all runs of a target",
        default="geometry",
    ),
    template=Field(values.PATH, "a job template in place of the built-in one; from the campaign file's directory"),
)
BENCHMARK = KeyedMap(
    executable=Field(
        values.EXECUTABLE,
        "`builtin`, or the RFP's own program; from the campaign file's directory",
        default=values.BUILTIN,
    ),
    dialect=Field(
        Choice(("auto", "rank-offset", "node-offset")),
        "what -N of an external mdtest counts: found out, ranks (up to IOR 3.2.1), or nodes (from IOR 3.3.0 on)",
        default="auto",
    ),
    extra_arguments=Field(ListOf(values.ARGUMENT), "flags of the pack's allowed list"),
)
SEARCH_RECORD = KeyedMap(
    operation=Field(
        matching(r"[A-Za-z0-9][A-Za-z0-9_.-]*", "an operation of the pack"),
        "whose rate is looked at",
        default_says="that which selects the run to report",
    ),
    per=Field(
        Choice(values.PER),
        "a count for each file configuration, for each operation of each, or one for all configurations",
        default="configuration",
    ),
    margin=Field(
        values.percent(0.5, 30), "how far below the highest rate still reaches it", default=0.05, default_says="5%"
    ),
    confidence=Field(
        values.percent(80, 99.9), "one-sided, of each comparison on fresh runs", default=0.98, default_says="98%"
    ),
    width=Field(
        values.percent(0.1, 30),
        "half-width of a comparison at which measuring ends; below `margin`",
        default=0.025,
        default_says="2.5%",
    ),
    least=Field(Number(3, 1000), "fresh runs of each count of the shortlist, at least", default=6),
    most=Field(Number(3, 1000), "fresh runs of each count of the shortlist, at most", default=30),
    nodes=Field(Number(1, 10**6), "most nodes", default_says="the usable nodes of the partition"),
    processes_per_node=Field(
        Number(1, 10**6), "most processes on a node, also beyond its cores", default_says="the cores of a node"
    ),
    budget=Field(values.AMOUNT, "node-hours for all searches together", default_says="no limit"),
)
REPETITIONS_RECORD = KeyedMap(
    least=Field(Number(6, 1000), "repetitions before an interval is looked at", default=6),
    most=Field(Number(6, 1000), "repetitions at which it ends in any case", default=20),
    width=Field(
        values.percent(0.1, 100),
        "half-width of the median's interval at which it ends",
        default=0.05,
        default_says="5%",
    ),
)
PROJECTION = KeyedMap(
    cells=required(values.CELLS, "the cells"),
    nodes=required(Number(1, 10**6), "nodes that it is for"),
    processes=required(Number(1, 2**31 - 1), "MPI processes that it is for"),
    base_system=required(_LINE, "the earlier system that was measured"),
    generation=required(_LINE, "how the proposed system follows from it"),
    formula=required(values.FORMULA, "the number in terms of `inputs`, `nodes` and `processes`"),
    inputs=required(MapOf(values.INPUT_NAME, values.INPUT), "values of the formula's names"),
    uncertainty=required(values.percent(0.1, 100), "of the number, upwards and downwards"),
    logs=required(ListOf(values.PATH, least=1), "raw outputs of the base system; from the campaign file's directory"),
)
_BUILD = KeyedMap(
    compiler=Field(_LINE, "name and version", default=""),
    command=Field(_PROSE, "how it was built", default=""),
    flags=Field(_PROSE, "compiler and linker flags", default=""),
    libraries=Field(ListOf(_LINE), "each with its version"),
    log=Field(values.PATH, "output of the build", default=""),
    binary_sha256=Field(_SHA256, "of the executable that came of it", default="", default_says="as found when run"),
)
SOURCE = KeyedMap(
    pristine=Field(values.TREE, "the benchmark's source as published; a path is from the campaign file's directory"),
    version=Field(Text("a text on one line", numbers=True), "which version that is", default=""),
    sha256=Field(
        _SHA256, "the pristine's hash: of the archive, or of the tree as `campaign diff` gives it", default=""
    ),
    modified=Field(values.TREE, "the source that was built", default_says="the built-in benchmark's own source"),
    patch=Field(values.PATH, "the patch that is handed in", default_says="the one that `campaign diff` makes"),
    build=Field(_BUILD, "the build of an external benchmark; the built-in one keeps its own record"),
)
_COUNTER = KeyedMap(
    attempt=required(
        matching(r"[A-Za-z0-9_.+-]+/[1-9][0-9]{0,5}", "RUN/NUMBER, as `campaign status` has them"),
        "whose phase was counted",
    ),
    operation=required(_LINE, "the operation of the pack that the phase is of"),
    operations=required(Number(0, 2**62), "that the servers performed meanwhile"),
    log=required(values.PATH, "what the servers printed, as evidence"),
)
_EXPLANATION = KeyedMap(
    cells=required(values.CELLS, "the cells"),
    rule=required(RULE, "the rule whose finding it is about"),
    text=required(_PROSE, "what is said to it; it stands beside the finding"),
)
_WAIVER = KeyedMap(
    cells=required(values.CELLS, "the cells"),
    rule=required(RULE, "the rule that is waived"),
    reason=required(_LINE, "why"),
    by=required(_LINE, "who waives it, of the buyer's side"),
    date=required(values.DAY, "when"),
    expires=required(values.DAY, "the last day on which what it covers was measured"),
    signature=Field(values.PATH, "of `campaign check --waiver N`, by `ssh-keygen -Y sign`"),
)
_DECLINED = KeyedMap(cells=required(values.CELLS, "the cells"), reason=required(_LINE, "why, for the report"))
SCHEMA = KeyedMap(
    name=required(NAME, "the campaign's name, and that of its folder under `results`"),
    rules=required(values.PACK, "the rule pack; a path is from the campaign file's directory"),
    profile=required(
        Choice(PROFILES),
        "`full` is the RFP's size; `rehearsal` is small, and all its output is marked as not compliant",
    ),
    results=Field(values.RESULTS, "where `<name>/` is kept", default="results"),
    items_total=Field(
        Number(1, 2**50, power=True),
        "number of files (or what the pack counts) of a rehearsal",
        default_says="the pack's",
    ),
    variables=Field(
        MapOf(Text("a variable of the pack"), SETTING),
        "values in place of the pack's: any in a rehearsal, at full size those that the pack leaves free",
        default_says="the pack's",
    ),
    repetitions=Field(
        OneOf(Number(1, 1000, says=values.REPETITIONS), REPETITIONS_RECORD, values.REPETITIONS),
        "independent executions of each run; see below",
        default=1,
    ),
    targets=required(ListOf(TARGET, least=1, most=50), "the storage tiers and protocols to measure"),
    launch=Field(
        MapOf(Text("a launch condition of the pack"), OneOf(_PROCESSES, GEOMETRY, values.LAUNCH)),
        "processes and nodes of each launch condition; see below",
        default_says="what the pack fixes",
    ),
    search=Field(SEARCH_RECORD, "how launch conditions given as `search` are found; see docs/search.md"),
    projections=Field(
        ListOf(PROJECTION), "numbers that follow from an earlier system's, for cells that cannot be measured"
    ),
    slurm=Field(SLURM, "how jobs are submitted"),
    benchmark=Field(BENCHMARK, "what is executed"),
    declined=Field(ListOf(_DECLINED), "cells that are not to be measured"),
    server_counters=Field(
        ListOf(_COUNTER, most=10000), "metadata operations counted at the storage's servers, for CCH-02"
    ),
    explanations=Field(ListOf(_EXPLANATION), "answers to findings that need one"),
    waivers=Field(ListOf(_WAIVER), "breaches that the buyer has agreed to; without a signature none has an effect"),
    allowed_signers=Field(values.PATH, "the keys that may sign a waiver, as `ssh-keygen` lists them"),
    system=Field(
        _DESCRIPTION, "description of the proposed system: the keys that `campaign init` writes, and more (ENV-01)"
    ),
    contact=Field(_DESCRIPTION, "who answers for the results"),
    nonce=Field(_NONCE, "the buyer's text that the journal begins with, so that it cannot be older", default=""),
    source=Field(SOURCE, "where the benchmark's source is from and how it was built; see docs/modifications.md"),
)

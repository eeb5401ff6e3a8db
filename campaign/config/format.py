"""The format of a campaign file: its schema. The reference is docs/campaign-file.md.

What is allowed in a single value is in `values`; what must hold between values, and between them and the rule pack, in
`check` and `search`.
"""

from __future__ import annotations

from campaign.config import launcher, values
from campaign.config.rules.format import COUNT, PROFILES, RULE, SETTING
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
    nodes=Field(COUNT, "compute nodes, or their share of the partition's usable nodes"),
    processes=Field(Number(1, 2**31 - 1), "MPI processes in total"),
    processes_per_node=Field(COUNT, "MPI processes on each node, or their share of its cores, in place of `processes`"),
)
TARGET = KeyedMap(
    name=required(NAME, "name of the target in cells and results"),
    directory=required(
        values.DIRECTORY,
        "an existing directory that all compute nodes see; the benchmark creates its own directory in it",
    ),
    description=Field(_LINE, "storage tier, file system and protocol, for the report", default=""),
    storage=Field(
        NAME,
        "name of the storage system behind the target; targets of different storage are measured side by side",
        default="",
        default_says="unknown: measured while no other target is",
    ),
    server_counters=Field(
        _LINE,
        "command, run on the job's first node, that prints the servers' operation counters, one kind and number per "
        "line (CCH-02)",
        default="",
    ),
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
        values.TIME, "time limit of one run; a job with several runs gets the sum", default=3600, default_says="1h"
    ),
    mpi=Field(matching(r"[a-z][a-z0-9_.]*", "a plugin of `srun --mpi=list`"), "MPI plugin", default="pmix"),
    modules=Field(
        ListOf(matching(r"[A-Za-z0-9][A-Za-z0-9_.+@:=/-]*", "a module's name: letters, digits and _.+@:=/-")),
        "environment modules loaded by each job",
    ),
    directives=Field(ListOf(DIRECTIVE), "further sbatch options for each job"),
    environment=Field(MapOf(values.VARIABLE, values.VALUE), "variables that each job exports; shown in the report"),
    allocation=Field(
        Choice(("run", "geometry", "one")),
        "runs per job: one run, all runs of one geometry, or all runs of a target",
        default="geometry",
    ),
    node_memory=Field(
        values.SIZE,
        "memory of a node, for packs that compute sizes from it; compared with what the jobs record",
        default_says="RealMemory of the smallest usable node",
    ),
    template=Field(
        values.PATH, "a job template that replaces the built-in one; relative to the campaign file's directory"
    ),
)
BENCHMARK = KeyedMap(
    executable=Field(
        values.EXECUTABLE,
        "`builtin`, or the RFP's own program; relative to the campaign file's directory",
        default=values.BUILTIN,
    ),
    programs=Field(
        MapOf(Text("a program of the pack"), values.EXECUTABLE),
        "the same for each program of a pack with `phases`",
    ),
    dialect=Field(
        Choice(("auto", "rank-offset", "node-offset")),
        "unit of -N in an external mdtest: detected (auto), ranks (up to IOR 3.2.1) or nodes (IOR 3.3.0 and later)",
        default="auto",
    ),
    extra_arguments=Field(ListOf(values.ARGUMENT), "further flags, from the pack's list of optional flags"),
    program_arguments=Field(
        MapOf(Text("a program of the pack"), ListOf(values.ARGUMENT)),
        "the same for each program of a pack with `phases`",
    ),
)
SEARCH_RECORD = KeyedMap(
    operation=Field(
        matching(r"[A-Za-z0-9][A-Za-z0-9_.-]*", "an operation of the pack"),
        "the operation whose rate is maximised",
        default_says="the operation that selects the reported run",
    ),
    per=Field(
        Choice(values.PER),
        "tune one process count per file configuration, per operation, or one for all",
        default="configuration",
    ),
    margin=Field(
        values.percent(0.5, 30),
        "largest shortfall from the highest rate that still counts as reaching it",
        default=0.05,
        default_says="5%",
    ),
    confidence=Field(
        values.percent(80, 99.9),
        "one-sided confidence level of each comparison of confirmation runs",
        default=0.98,
        default_says="98%",
    ),
    least=Field(Number(3, 1000), "minimum number of confirmation runs for each shortlisted process count", default=6),
    most=Field(Number(3, 1000), "maximum number of confirmation runs for each shortlisted process count", default=30),
    nodes=Field(Number(1, 10**6), "largest number of nodes to try", default_says="the usable nodes of the partition"),
    processes_per_node=Field(
        Number(1, 10**6),
        "largest number of processes per node to try; may exceed its cores",
        default_says="the cores of a node",
    ),
    budget=Field(values.AMOUNT, "limit in node-hours for all searches together", default_says="no limit"),
)
REPETITIONS_RECORD = KeyedMap(
    least=Field(Number(6, 1000), "repetitions before the confidence interval is computed", default=6),
    most=Field(Number(6, 1000), "maximum number of repetitions", default=20),
    width=Field(
        values.percent(0.1, 100),
        "stop when the confidence interval of the median is this narrow (half-width)",
        default=0.05,
        default_says="5%",
    ),
)
PROJECTION = KeyedMap(
    cells=required(values.CELLS, "the cells that are projected"),
    nodes=required(Number(1, 10**6), "number of nodes of the projected result"),
    processes=required(Number(1, 2**31 - 1), "number of MPI processes of the projected result"),
    base_system=required(_LINE, "system on which the inputs were measured"),
    generation=required(_LINE, "how the proposed system differs from the base system"),
    formula=required(values.FORMULA, "the result as a formula of `inputs`, `nodes` and `processes`"),
    inputs=required(MapOf(values.INPUT_NAME, values.INPUT), "values of the names in the formula"),
    sources=Field(
        MapOf(values.INPUT_NAME, values.INPUT_SOURCE),
        "where each input was read: a log of `logs`, its line and operation; `design` for a value that was not "
        "measured",
    ),
    uncertainty=required(values.percent(0.1, 100), "uncertainty of the result, plus and minus"),
    logs=required(
        ListOf(values.PATH, least=1), "raw outputs of the base system; relative to the campaign file's directory"
    ),
)
_BUILD = KeyedMap(
    compiler=Field(_LINE, "name and version", default=""),
    command=Field(_PROSE, "command that built it", default=""),
    flags=Field(_PROSE, "compiler and linker flags", default=""),
    libraries=Field(ListOf(_LINE), "each with its version"),
    log=Field(values.PATH, "output of the build", default=""),
    binary_sha256=Field(_SHA256, "SHA-256 of the built executable", default="", default_says="as found in the runs"),
)
SOURCE = KeyedMap(
    pristine=Field(
        values.TREE, "the benchmark's source as published; a path is relative to the campaign file's directory"
    ),
    version=Field(Text("a text on one line", numbers=True), "version of the published source", default=""),
    sha256=Field(
        _SHA256,
        "SHA-256 of the published source: of the archive, or the tree hash that `campaign modifications` prints",
        default="",
    ),
    modified=Field(
        values.TREE, "the modified source that was built", default_says="the built-in benchmark's own source"
    ),
    patch=Field(
        values.PATH, "the patch submitted with the results", default_says="the one that `campaign modifications` writes"
    ),
    build=Field(_BUILD, "how an external benchmark was built; the built-in one keeps its own record"),
    builds=Field(
        MapOf(Text("a program of the pack"), _BUILD),
        "the same for programs of a pack with `phases` that were built otherwise than `build` says",
    ),
)
_COUNTER = KeyedMap(
    attempt=required(
        matching(r"[A-Za-z0-9_.+-]+/[1-9][0-9]{0,5}", "RUN/NUMBER as `campaign status` shows them"),
        "the attempt in which the phase ran",
    ),
    operation=required(_LINE, "operation of that phase"),
    operations=required(Number(0, 2**62), "number of operations that the servers performed during the phase"),
    log=required(values.PATH, "output of the servers, as evidence"),
)
_EXPLANATION = KeyedMap(
    cells=required(values.CELLS, "the cells concerned"),
    rule=required(RULE, "the rule of the finding"),
    text=required(_PROSE, "the explanation; it is shown beside the finding"),
)
_WAIVER = KeyedMap(
    cells=required(values.CELLS, "the cells concerned"),
    rule=required(RULE, "the rule that is waived"),
    reason=required(_LINE, "why it is waived"),
    by=required(_LINE, "name of the buyer's representative who waives it"),
    date=required(values.DAY, "date of the waiver"),
    expires=required(values.DAY, "last measurement date that the waiver covers"),
    signature=Field(
        values.PATH, "signature of the text that `campaign check --waiver N` prints, by `ssh-keygen -Y sign`"
    ),
)
PROPOSED = KeyedMap(
    nodes=Field(Number(1, 10**7), "its compute nodes"),
    processor=Field(_LINE, "words of the processor's name, such as EPYC 9654", default=""),
    cores=Field(Number(1, 10**5), "cores of a compute node"),
    memory=Field(values.SIZE, "memory of a compute node, such as 768G"),
    network=Field(_LINE, "words of its network adapters, such as InfiniBand 400 Gb/sec", default=""),
    file_system=Field(_LINE, "name of its file system, such as Lustre", default=""),
    mpi=Field(_LINE, "words of the MPI's name and version, such as Open MPI 4.1", default=""),
    operating_system=Field(_LINE, "words of its name and version, such as Rocky Linux 9", default=""),
)
_DECLINED = KeyedMap(
    cells=required(values.CELLS, "the cells concerned"), reason=required(_LINE, "the reason, for the report")
)
SCHEMA = KeyedMap(
    name=required(NAME, "name of the campaign and of its directory under `results`"),
    rules=required(values.PACK, "the rule pack; a path is relative to the campaign file's directory"),
    profile=required(
        Choice(PROFILES),
        "`full`: the RFP's size; `rehearsal`: a small trial, all of whose output is marked not compliant",
    ),
    results=Field(values.RESULTS, "directory in which `<name>/` is created", default="results"),
    items_total=Field(
        Number(1, 2**50, power=True),
        "total number of files (or of the pack's items) in a rehearsal",
        default_says="the pack's",
    ),
    variables=Field(
        MapOf(Text("a variable of the pack, or one for some runs such as block@fast/*/shared"), SETTING),
        "overrides of the pack's values: any in a rehearsal; at full size only those marked free; "
        "`NAME@target/launch/files` is for some runs",
        default_says="the pack's",
    ),
    repetitions=Field(
        OneOf(Number(1, 1000, says=values.REPETITIONS), REPETITIONS_RECORD, values.REPETITIONS),
        "independent repetitions of each run; see below",
        default=1,
    ),
    targets=required(ListOf(TARGET, least=1, most=50), "the storage tiers and protocols to measure"),
    launch=Field(
        MapOf(Text("a launch condition of the pack"), OneOf(_PROCESSES, GEOMETRY, values.LAUNCH)),
        "processes and nodes of each launch condition; see below",
        default_says="what the pack fixes",
    ),
    search=Field(
        SEARCH_RECORD, "settings of the automatic tuning for launch conditions set to `search`; see docs/search.md"
    ),
    projections=Field(
        ListOf(PROJECTION), "results projected from an earlier system, for cells that cannot be measured"
    ),
    slurm=Field(SLURM, "how jobs are submitted"),
    launcher=Field(
        launcher.SCHEMA, "what starts the ranks, and the words before the benchmark; see docs/campaign-file.md"
    ),
    benchmark=Field(BENCHMARK, "the program that is executed"),
    declined=Field(ListOf(_DECLINED), "cells that will not be measured"),
    server_counters=Field(ListOf(_COUNTER, most=10000), "metadata operations counted on the storage servers (CCH-02)"),
    explanations=Field(ListOf(_EXPLANATION), "explanations of findings that require one"),
    waivers=Field(ListOf(_WAIVER), "violations that the buyer has accepted; only signed waivers take effect"),
    allowed_signers=Field(
        values.PATH, "file of the public keys that may sign a waiver (format of ssh's allowed_signers)"
    ),
    system=Field(
        _DESCRIPTION, "description of the proposed system: the keys that `campaign init` writes, and more (ENV-01)"
    ),
    proposed=Field(PROPOSED, "facts of the proposed system, compared with the measured one (ENV-05)"),
    contact=Field(_DESCRIPTION, "the person responsible for the results"),
    nonce=Field(_NONCE, "nonce issued by the buyer; proves that the campaign started after it was issued", default=""),
    source=Field(SOURCE, "origin and build of the benchmark's source; see docs/modifications.md"),
)

"""The campaign file: its keys, which are the fields of the dataclasses that the program works with.

The reference is docs/campaign-file.md. What is allowed in a single value is in `values`; conditions between values, and
between them and the rule pack, are in `check` and `search`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from campaign.config import launcher, values
from campaign.config.launch import Wanted
from campaign.config.rules import kinds
from campaign.config.search import SEARCH, Projection, SearchSettings
from campaign.config.slurm_keys import Slurm
from campaign.config.system import Proposed
from campaign.config.waivers import Explanation, Waiver
from campaign.core.keys import key, needed, record, switch
from campaign.core.runs import IN_JOB, Input, Launcher
from campaign.core.schema import Choice, Field, KeyedMap, ListOf, MapOf, Number, OneOf, Text, matching
from campaign.core.strict_yaml import Document, Place

NAME = matching(r"[A-Za-z0-9][A-Za-z0-9_-]*", "letters, digits, - and _, a letter or digit first", longest=40)
NONCE = matching(r"[A-Za-z0-9._:+/=-]+", "letters, digits and ._:+/=-", longest=200)
_DESCRIPTION = MapOf(Text("a text", longest=80), values.PROSE)
_PROGRAM = Text("a program of the pack")
_PROCESSES = Number(1, 2**31 - 1, words=(values.ALL, values.SEARCH, values.PROJECTED), says=values.LAUNCH)

GEOMETRY = KeyedMap(
    nodes=Field(kinds.COUNT, "compute nodes, or their share of the partition's usable nodes"),
    processes=Field(Number(1, 2**31 - 1), "MPI processes in total"),
    processes_per_node=Field(
        kinds.COUNT, "MPI processes on each node, or their share of its cores, in place of `processes`"
    ),
    options=Field(
        launcher.OPTIONS, "the launcher's further options for these runs, in addition to those of `launcher`"
    ),
)

_INPUT = KeyedMap(
    Input,
    id=Field(kinds.NAME, "its name; of an input of the rule pack, the pack's", required=True),
    path=Field(
        replace(kinds.INPUT_PATH, made=lambda text, file: str(values.absolute_path(file, text))),
        "the file; relative to the campaign file's directory",
        required=True,
    ),
    sha256=Field(
        kinds.SHA256,
        "SHA-256 of the file",
        default="",
        default_says="the rule pack's; otherwise that of the file when the campaign is first planned",
    ),
)


@dataclass(frozen=True, slots=True)
class Target:
    name: str = needed(NAME, "name of the target in cells and results")
    directory: str = needed(
        values.DIRECTORY,
        "an existing directory that all compute nodes see; the benchmark creates its own directory in it; behind "
        "`job:` one that exists only in a job, such as `job:/local/$SLURM_JOB_ID`",
    )
    description: str = key(values.LINE, "storage tier, file system and protocol, for the report", "")
    storage: str = key(
        NAME,
        "name of the storage system behind the target; targets of different storage are measured side by side",
        "",
        says_default="unknown: measured while no other target is",
    )

    server_counters: str = key(
        values.LINE,
        "command, run on the job's first node, that prints the servers' operation counters, one kind and number per "
        "line (CCH-02)",
        "",
    )

    prepare: tuple[str, ...] = key(
        ListOf(values.LINE, most=20),
        "commands before each run, on the job's first node in the run's own directory, for which `{directory}` stands, "
        "such as `lfs setstripe -c 4 {directory}`; to be explained as tuning (ENV-02)",
    )

    @property
    def is_in_job(self) -> bool:
        """Whether its directory exists only in a job."""
        return self.directory.startswith(IN_JOB)


@dataclass(frozen=True, slots=True)
class EnergySource:
    """What measures the energy of a run, as the campaign file declares it."""

    source: str = key(
        Choice(("slurm", "rapl", "command")),
        "`slurm`: its accounting (ConsumedEnergy); `rapl`: the processors' counters, read on each node; `command`",
        "",
        says_default="none: no energy is recorded",
    )
    covers: str = key(values.LINE, "what the readings include, and by which instrument; required with `source`", "")
    level: int | None = key(
        Number(1, 3),
        "level of the Green500's methods that the measurement meets, as you declare it",
        says_default="not declared",
    )
    command: str = key(
        values.LINE, "command that prints a number with J, kJ, MJ, Wh, kWh (a counter), W or kW on its last line", ""
    )
    once: bool = switch("true: `command` runs on the job's first node alone, and reads all of its nodes")
    interval: int = key(Number(1, 3600), "seconds between two readings, from which the peak power is taken", 60)

    @property
    def by_nodes(self) -> bool:
        """Whether nodes read it during the run."""
        return self.source not in ("", "slurm")

    @property
    def job_setting(self) -> str:
        """What a job is told: the source, and for meters on nodes the seconds between readings and the command."""
        if not self.by_nodes:
            return self.source
        return f"{self.interval} {'once' if self.once else self.source} {self.command}".rstrip()

    @property
    def method(self) -> str:
        """Source, level and what is covered, in words; "" without a source."""
        if not self.source:
            return ""
        meter = {"slurm": "Slurm's accounting", "rapl": "RAPL"}.get(self.source, f"command {self.command}")
        level = f"level {self.level} of the Green500" if self.level else "level not declared"
        return f"{meter}, {level}, {self.covers}"


@dataclass(frozen=True, slots=True)
class Benchmark:
    executable: Path | None = key(  # None: the builtin; of a pack for one program
        values.EXECUTABLE,
        "`builtin`, or the RFP's own program; relative to the campaign file's directory",
        absent=values.BUILTIN,
    )
    dialect: str = key(  # of an external program
        Choice(("auto", "rank-offset", "node-offset")),
        "unit of -N in an external mdtest: detected (auto), ranks (up to IOR 3.2.1) or nodes (IOR 3.3.0 and later)",
        "auto",
    )
    programs: tuple[tuple[str, Path | None], ...] = key(
        MapOf(_PROGRAM, values.EXECUTABLE), "the same for each program of the pack"
    )
    extra_arguments: tuple[str, ...] = key(
        ListOf(values.ARGUMENT), "further flags, from the pack's list of optional flags"
    )
    program_arguments: tuple[tuple[str, tuple[str, ...]], ...] = key(
        MapOf(_PROGRAM, ListOf(values.ARGUMENT)), "the same for each program of the pack"
    )

    def path(self, program: str) -> Path | None:
        """The path of the pack's program with that name; None for the built-in benchmark."""
        return dict(self.programs).get(program, self.executable)

    def further(self, program: str) -> tuple[str, ...]:
        """The words after those of the pack."""
        return dict(self.program_arguments).get(program, self.extra_arguments)

    @property
    def external(self) -> bool:
        """Whether any program is not the built-in benchmark."""
        return bool(self.placed)

    @property
    def placed(self) -> tuple[tuple[Place, Path], ...]:
        """The paths of all programs that are not built in, each with its key in the campaign file."""
        paths: list[tuple[Place, Path | None]] = [(("benchmark", "executable"), self.executable)]
        paths += [(("benchmark", "programs", name), path) for name, path in self.programs]
        return tuple((at, path) for at, path in paths if path is not None)


@dataclass(frozen=True, slots=True)
class Sequential:
    """Repetitions are added until the 95% interval of the median is narrow enough, up to a maximum."""

    least: int = key(Number(6, 1000), "repetitions before the confidence interval is computed", 6)
    most: int = key(Number(6, 1000), "maximum number of repetitions", 20)
    width: float = key(  # half of the interval, as a share of the median
        values.percent(0.1, 100),
        "stop when the confidence interval of the median is this narrow (half-width)",
        0.05,
        says_default="5%",
    )


@dataclass(frozen=True, slots=True)
class Declined:
    cells: str = needed(values.CELLS, "the cells concerned")
    reason: str = needed(values.LINE, "the reason, for the report")


@dataclass(frozen=True, slots=True)
class BuildNotes:
    """How an external benchmark was built, as the campaign file says; "" for what it does not say."""

    compiler: str = key(values.LINE, "name and version", "")
    command: str = key(values.PROSE, "command that built it", "")
    flags: str = key(values.PROSE, "compiler and linker flags", "")
    libraries: tuple[str, ...] = key(ListOf(values.LINE), "each with its version")
    log: str = key(values.PATH, "output of the build", "")
    binary_sha256: str = key(kinds.SHA256, "SHA-256 of the built executable", "", says_default="as found in the runs")


@dataclass(frozen=True, slots=True)
class ServerCounter:
    """Operations that the storage's servers performed during one phase of an attempt."""

    attempt: str = needed(
        matching(r"[A-Za-z0-9_.+-]+/[1-9][0-9]{0,5}", "RUN/NUMBER as `campaign status` shows them"),
        "the attempt in which the phase ran",
    )
    operation: str = needed(values.LINE, "operation of that phase")
    operations: int = needed(Number(0, 2**62), "number of operations that the servers performed during the phase")
    log: Path = needed(values.FILE, "output of the servers, as evidence")


@dataclass(frozen=True, slots=True)
class EvidenceSettings:
    timestamp: str = key(
        values.LINE,
        "where the journal's head is sent whenever a run has ended: the URL of a time-stamp authority (RFC 3161), or a "
        "command that is called with the file of the request and the name of the file for the reply",
        "",
        says_default="nowhere",
    )


_BUILD = record(BuildNotes)
REPETITIONS = record(Sequential)


@dataclass(frozen=True, slots=True)
class SourceTree:
    """A source as published and as built, as written in the file; "" for what it does not say."""

    pristine: str = key(
        values.TREE, "the benchmark's source as published; a path is relative to the campaign file's directory", ""
    )
    version: str = key(Text("a text on one line", numbers=True), "version of the published source", "")
    sha256: str = key(
        kinds.SHA256,
        "SHA-256 of the published source: of the archive, or the tree hash that `campaign modifications` prints",
        "",
    )
    modified: str = key(
        values.TREE, "the modified source that was built", "", says_default="the built-in benchmark's own source"
    )


@dataclass(frozen=True, slots=True)
class SourceTrees(SourceTree):
    """Where the benchmark's source is, and how it was built."""

    patch: str = key(
        values.PATH,
        "the patch submitted with the results",
        "",
        says_default="the one that `campaign modifications` writes",
    )
    build: BuildNotes = key(_BUILD, "how an external benchmark was built; the built-in one keeps its own record")
    builds: tuple[tuple[str, BuildNotes], ...] = key(
        MapOf(_PROGRAM, _BUILD),
        "the same for programs of a pack with `phases` that were built differently from `build`",
    )

    trees: tuple[tuple[str, SourceTree], ...] = key(
        MapOf(kinds.ID, record(SourceTree)),
        "of a pack with `sources`: `pristine`, `version`, `sha256` and `modified` of each, by its name there",
    )

    @property
    def parts(self) -> dict[str, SourceTree]:
        """Each source by its name in the pack, which is "" for the only one."""
        return dict(self.trees) or {"": self}

    def names(self, key: str) -> str:
        """What the file says of all sources, such as the published ones (`pristine`); "" unless it does of each."""
        texts = [getattr(part, key) for part in self.parts.values()]
        return ", ".join(texts) if all(texts) else ""

    def build_of(self, program: str) -> BuildNotes:
        return dict(self.builds).get(program, self.build)


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    path: Path  # the campaign file
    document: Document | None = field(default=None, compare=False, repr=False)  # as it, or its part, was read
    rfp: Path | None = None  # that the file answers a part of
    part: str = ""
    name: str = needed(NAME, "name of the campaign and of its directory under `results`")
    rules: str = needed(values.PACK, "the rule pack; a path is relative to the campaign file's directory")
    profile: str = needed(
        Choice(kinds.PROFILES),
        "`full`: the RFP's size; `rehearsal`: a small trial, all of whose output is marked not compliant",
    )
    results: Path = key(  # with the name, absolute
        values.RESULTS, "directory in which `<name>/` is created", Path("results"), absent="results"
    )
    items_total: int | None = key(
        Number(1, 2**50, power=True),
        "total number of files (or of the pack's items) in a rehearsal",
        says_default="the pack's",
    )
    variables: dict[str, str] = key(
        MapOf(Text("a variable of the pack, or one for some runs such as block@fast/*/shared"), kinds.SETTING),
        "overrides of the pack's values: any in a rehearsal; at full size only those marked free; "
        "`NAME@target/launch/files` is for some runs",
        dict,
        says_default="the pack's",
    )
    repetitions: int = key(  # at least, where `sequential`
        OneOf(Number(1, 1000, says=values.REPETITIONS), REPETITIONS, values.REPETITIONS),
        "independent repetitions of each run; see below",
        1,
    )
    sequential: Sequential | None = None
    targets: tuple[Target, ...] = needed(
        ListOf(record(Target), least=1, most=50), "the storage tiers and protocols to measure"
    )
    launch: dict[str, Wanted] = key(  # by id of the pack's launch conditions
        MapOf(Text("a launch condition of the pack"), OneOf(_PROCESSES, GEOMETRY, values.LAUNCH)),
        "processes and nodes of each launch condition; see below",
        dict,
        says_default="what the pack fixes",
    )
    search: SearchSettings = key(
        SEARCH, "settings of the automatic tuning for launch conditions set to `search`; see docs/search.md"
    )
    projections: tuple[Projection, ...] = key(
        ListOf(record(Projection)), "results projected from an earlier system, for cells that cannot be measured"
    )
    slurm: Slurm = key(record(Slurm), "how jobs are submitted")
    launcher: Launcher = key(
        launcher.SCHEMA,
        "what starts the ranks, and the words before the benchmark; see docs/campaign-file.md",
        Launcher,
    )
    benchmark: Benchmark = key(record(Benchmark), "the program that is executed")
    inputs: tuple[Input, ...] = key(  # those of the rule pack too, once read
        ListOf(_INPUT, most=50, apart="id"),
        "files that the benchmark reads: those whose paths the rule pack leaves open, and any others (INP-01)",
    )
    energy: EnergySource = key(record(EnergySource), "what measures the energy of each run")
    declined: tuple[Declined, ...] = key(ListOf(record(Declined)), "cells that will not be measured")
    server_counters: tuple[ServerCounter, ...] = key(
        ListOf(record(ServerCounter), most=10000), "metadata operations counted on the storage servers (CCH-02)"
    )
    explanations: tuple[Explanation, ...] = key(
        ListOf(record(Explanation)), "explanations of findings that require one"
    )
    answers: tuple[tuple[str, str], ...] = key(
        MapOf(kinds.CLAUSE, values.PROSE, most=200),
        "answers to the clauses that the rule pack has as `answered`, by clause; one without an answer is open",
    )
    waivers: tuple[Waiver, ...] = key(
        ListOf(record(Waiver)), "violations that the buyer has accepted; only signed waivers take effect"
    )
    allowed_signers: Path | None = key(
        values.FILE, "file of the public keys that may sign a waiver (format of ssh's allowed_signers)"
    )
    system: tuple[tuple[str, str], ...] = key(  # in the file's order
        _DESCRIPTION, "description of the proposed system: the keys that `campaign init` writes, and more (ENV-01)"
    )
    proposed: Proposed = key(record(Proposed), "facts of the proposed system, compared with the measured one (ENV-05)")
    contact: tuple[tuple[str, str], ...] = key(_DESCRIPTION, "the person responsible for the results")
    evidence: EvidenceSettings = key(
        record(EvidenceSettings), "what proves when the results existed; see docs/evidence.md"
    )
    nonce: str = key(NONCE, "nonce issued by the buyer; proves that the campaign started after it was issued", "")
    build: str = key(
        kinds.ID,
        "the category of the build, one of the pack's `builds`; see docs/modifications.md",
        "",
        says_default="the pack's first one",
    )
    source: SourceTrees = key(
        record(SourceTrees), "origin and build of the benchmark's source; see docs/modifications.md"
    )


SCHEMA = record(Campaign)

"""The campaign file: YAML -> frozen dataclasses. The fields are documented in docs/campaign-file.md."""

from __future__ import annotations

import os
from dataclasses import field
from pathlib import Path
from typing import Any

from campaign.config import check, confidential, launcher, messages
from campaign.config import names as resolution
from campaign.config.format import SCHEMA
from campaign.config.launch import Wanted, fixed_geometries, read_launch, read_series
from campaign.config.rules import load as rules
from campaign.config.rules import series
from campaign.config.rules.pack import RulePack
from campaign.config.rules.settle import settle
from campaign.config.search import InputSource, Projection, SearchSettings, check_projections, check_search, parted
from campaign.config.system import Proposed
from campaign.config.values import BUILTIN, DESIGN, beside
from campaign.config.waivers import Explanation, Waiver
from campaign.core import schema
from campaign.core.errors import InputError
from campaign.core.frozen import dataclass
from campaign.core.messages import typed
from campaign.core.model import SRUN, Launcher, Target
from campaign.core.strict_yaml import Document, Place


@dataclass(frozen=True, slots=True)
class Slurm:
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    reservation: str = ""
    time_s: int = 3600  # limit of one run; a job that carries several gets the sum
    mpi: str = "pmix"  # srun --mpi
    modules: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()  # extra #SBATCH options, as "--name=value"
    environment: tuple[tuple[str, str], ...] = ()  # exported in the job
    allocation: str = "geometry"  # run | geometry | one
    template: Path | None = None  # a job template in place of the project's
    node_memory: int | None = None  # bytes; None: as Slurm says, where the pack computes with it
    node_cores: int | None = None  # as Slurm says, where the pack computes with them; not of the file


# Files of this tool, and spreadsheets, that are named where the campaign file belongs.
OTHERS = {
    **dict.fromkeys((".zip", ".gz", ".tgz", ".tar"), messages.A_BUNDLE),
    **dict.fromkeys((".csv", ".xlsx"), messages.A_TABLE),
    **dict.fromkeys((".ods", ".xls", ".xlsm", ".numbers", ".tsv"), messages.A_SPREADSHEET),
}


@dataclass(frozen=True, slots=True)
class Benchmark:
    executable: Path | None = None  # None: the builtin; of a pack for one program
    dialect: str = "auto"  # auto | rank-offset | node-offset (meaning of mdtest's -N), for an external binary
    extra_arguments: tuple[str, ...] = ()
    program_arguments: tuple[tuple[str, tuple[str, ...]], ...] = ()  # the same, of a pack with several programs
    programs: tuple[tuple[str, Path | None], ...] = ()  # as `executable`, by the names of a pack with several

    def path(self, program: str) -> Path | None:
        """The program of that name in the pack; None for the builtin."""
        return dict(self.programs).get(program, self.executable)

    def further(self, program: str) -> tuple[str, ...]:
        """The words after the pack's own."""
        return dict(self.program_arguments).get(program, self.extra_arguments)

    @property
    def external(self) -> bool:
        """Whether any program is not the builtin."""
        return bool(self.paths)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The paths of all programs that are not built in."""
        return tuple(path for _, path in self.placed)

    @property
    def placed(self) -> tuple[tuple[Place, Path], ...]:
        """The paths of all programs that are not built in, each with its key in the campaign file."""
        given: list[tuple[Place, Path | None]] = [(("benchmark", "executable"), self.executable)]
        given += [(("benchmark", "programs", name), path) for name, path in self.programs]
        return tuple((at, path) for at, path in given if path is not None)


@dataclass(frozen=True, slots=True)
class Sequential:
    """Repetitions are added until the 95% interval of the median is no wider, up to a cap."""

    most: int
    width: float  # half of the interval, as a share of the median


@dataclass(frozen=True, slots=True)
class Declined:
    cells: str  # a glob over target/launch/files/operation
    reason: str


@dataclass(frozen=True, slots=True)
class BuildNotes:
    """How an external benchmark was built, as the campaign file tells it; "" where it does not."""

    compiler: str = ""
    command: str = ""
    flags: str = ""
    libraries: tuple[str, ...] = ()
    log: str = ""
    binary_sha256: str = ""


@dataclass(frozen=True, slots=True)
class ServerCounter:
    """Operations that the storage's servers performed during one phase of an attempt."""

    attempt: str  # RUN/NUMBER
    operation: str
    operations: int
    log: Path


@dataclass(frozen=True, slots=True)
class SourceTrees:
    """Where the benchmark's source lies, as written in the file; "" where it does not say."""

    pristine: str = ""
    version: str = ""
    sha256: str = ""
    modified: str = ""
    patch: str = ""
    build: BuildNotes = BuildNotes()
    builds: tuple[tuple[str, BuildNotes], ...] = ()  # of programs of a pack with several

    def build_of(self, program: str) -> BuildNotes:
        return dict(self.builds).get(program, self.build)


@dataclass(frozen=True, slots=True)
class Campaign:
    path: Path  # the campaign file
    name: str
    rules: str  # id of the rule pack, or a path to one
    profile: str  # rehearsal | full
    results: Path  # results/<name>, absolute
    targets: tuple[Target, ...]
    launch: dict[str, Wanted]  # by id of the pack's launch conditions
    series: dict[str, int] = field(default_factory=dict)  # the largest count of each that is a series
    items_total: int | None = None  # overrides the pack's total for this profile (rehearsal only)
    variables: dict[str, str] = field(default_factory=dict)  # values in place of the pack's
    repetitions: int = 1  # at least, where `sequential`
    sequential: Sequential | None = None
    search: SearchSettings = field(default_factory=SearchSettings)
    projections: tuple[Projection, ...] = ()
    slurm: Slurm = field(default_factory=Slurm)
    benchmark: Benchmark = field(default_factory=Benchmark)
    launcher: Launcher = SRUN
    declined: tuple[Declined, ...] = ()
    server_counters: tuple[ServerCounter, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    allowed_signers: Path | None = None  # who may sign a waiver
    system: tuple[tuple[str, str], ...] = ()  # description of the proposed system, in the file's order
    proposed: Proposed = field(default_factory=Proposed)
    contact: tuple[tuple[str, str], ...] = ()  # who answers for it
    nonce: str = ""  # of the buyer
    source: SourceTrees = field(default_factory=SourceTrees)


def load(path: Path | str) -> Campaign:
    """Read a campaign file and check it against its rule pack.

    Raises InputError with everything that is wrong in the file. What is outside of it (whether the benchmark or a
    target is there) is checked by pipeline/preflight.py, since a plan may be made on another machine.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(messages.CAMPAIGN_FILE_IS_DIRECTORY(path=path))
    if not os.path.lexists(path) and path.parent.is_dir():
        near = schema.near(path.name, [other.name for other in path.parent.glob("*.yaml")], cutoff=0.8)
        if near:
            raise InputError(messages.CAMPAIGN_FILE_MISSPELT(path=path, near=path.with_name(near)))
        raise InputError(messages.CAMPAIGN_FILE_NOT_FOUND(path=path, word=typed(path)))
    if path.suffix.lower() in OTHERS:
        raise InputError(messages.NO_CAMPAIGN_FILE(path=path, what=OTHERS[path.suffix.lower()]()))
    document = Document.open(path)
    values = schema.read(SCHEMA, document)
    confidential.check(document)
    if values is None:
        document.finish()
    launch: dict[str, Wanted] = {}
    largest: dict[str, int] = {}
    pack = _pack(values, path, document)
    check.targets(values, document)
    if pack is not None:
        largest = read_series(values, pack, document)
        pack = series.unfold(pack, largest)
        launch = read_launch(values, pack, document)
        check.items(values, pack, document)
        check.programs(values, pack, document)
        check.arguments(values, pack, document)
        if (settled := _settled(values, pack, launch, document)) is not None:
            for section in ("declined", "projections", "explanations", "waivers"):
                check.cells(section, values, settled, document)
            check.answers(values, settled, document)
            check.counters(values, settled, path, document)
            check_search(values, pack, settled, launch, document)
            check_projections(values, settled, launch, path, document)
    if isinstance(values["repetitions"], dict):
        check.most("repetitions", values["repetitions"], document)
    benchmark = values["benchmark"]
    if benchmark and benchmark["executable"] == BUILTIN and benchmark["dialect"] not in ("auto", None):
        document.problem(("benchmark", "dialect"), messages.DIALECT_OF_BUILTIN(dialect=benchmark["dialect"]))
    launched = launcher.read(values, path, pack, document)
    if values["slurm"]:
        template = values["slurm"]["template"]
        check.path(("slurm", "template"), template, path, document, messages.OPTIONAL_FILE_NOT_FOUND)
    check.path(("allowed_signers",), values["allowed_signers"], path, document, messages.OPTIONAL_FILE_NOT_FOUND)
    document.finish()
    return _campaign(values | {"launcher": launched, "series": largest}, launch, path)


def _pack(values: dict[str, Any], path: Path, document: Document) -> RulePack | None:
    name = values["rules"]
    if name is None:
        return None
    try:
        return rules.load(_rules(name, path))
    except InputError as error:
        for problem in error.problems:
            document.problem(("rules",), problem)
        return None


def _rules(name: str, path: Path) -> str:
    """The id as it is, or the absolute path of the pack."""
    if (replayed := resolution.pack()) is not None:
        return str(replayed)
    return str(beside(path, name)) if "/" in name or name.endswith(".yaml") else name


def _settled(values: dict[str, Any], pack: RulePack, launch: dict[str, Wanted], document: Document) -> RulePack | None:
    """The pack with the campaign's values; None where they do not fit."""
    known = {variable.id: variable for variable in pack.variables}
    given = {}
    for name, value in values["variables"] or ():
        at: Place = ("variables", name)
        key, (name, _, pattern) = name, name.partition("@")
        if pattern and not check.is_of_runs(pattern, values, pack):
            document.problem(at, messages.NO_SUCH_RUNS(pattern=pattern))
        elif name not in known:
            remedy = messages.NO_SUCH_VARIABLE(remedy=schema.suggestion(name, known)) if known else ""
            document.problem(at, remedy or messages.NO_VARIABLES(pack=pack.id))
        elif values["profile"] == "full" and not known[name].free:
            fixed = {"full": known[name].full, "clause": known[name].clause}
            document.problem(at, messages.VARIABLE_FIXED(value=value, **fixed))
        elif value is not None:
            given[key] = value
            if pattern and not pack.is_of_arguments(name):
                document.problem(at, messages.VARIABLE_IN_TEXTS(name=name))
    try:
        return settle(pack, values["profile"] or "rehearsal", fixed_geometries(launch), given)
    except ValueError as error:
        document.problem(("variables",), messages.VARIABLES_DO_NOT_FIT(why=error))
        return None


def _input_source(text: str, file: Path) -> InputSource:
    if text == DESIGN:
        return InputSource()
    log, line, operation = parted(text)
    return InputSource(beside(file, log), line, operation)


def _campaign(values: dict[str, Any], launch: dict[str, Wanted], path: Path) -> Campaign:
    """The dataclasses of values that had no problem."""

    def place(written: str | None) -> Path | None:
        return beside(path, written) if written else None

    slurm, benchmark, source, repetitions = (values[key] for key in ("slurm", "benchmark", "source", "repetitions"))
    program = benchmark["executable"]
    values |= {
        "path": path.absolute(),
        "rules": _rules(values["rules"], path),
        "results": beside(path, values["results"]) / values["name"],
        "targets": tuple(Target(**target) for target in values["targets"]),
        "launch": launch,
        "variables": dict(values["variables"]),
        "slurm": Slurm(time_s=slurm.pop("time"), **{**slurm, "template": place(slurm["template"])}),
        "benchmark": Benchmark(
            **{
                **benchmark,
                "executable": None if program == BUILTIN else place(program),
                "programs": tuple(
                    (name, None if path == BUILTIN else place(path)) for name, path in benchmark["programs"]
                ),
            }
        ),
        "search": SearchSettings(**values["search"]),
        "proposed": Proposed(**values["proposed"]),
        "projections": tuple(
            Projection(
                **{
                    **entry,
                    "logs": tuple(beside(path, log) for log in entry["logs"]),
                    "sources": tuple((name, _input_source(text, path)) for name, text in entry["sources"]),
                }
            )
            for entry in values["projections"]
        ),
        "declined": tuple(Declined(**entry) for entry in values["declined"]),
        "server_counters": tuple(
            ServerCounter(**{**entry, "log": beside(path, entry["log"])}) for entry in values["server_counters"]
        ),
        "explanations": tuple(Explanation(**entry) for entry in values["explanations"]),
        "waivers": tuple(Waiver(**{**entry, "signature": place(entry["signature"])}) for entry in values["waivers"]),
        "allowed_signers": place(values["allowed_signers"]),
        "source": SourceTrees(
            **{key: value or "" for key, value in source.items() if key not in ("build", "builds")},
            build=BuildNotes(**source["build"]),
            builds=tuple((name, BuildNotes(**given)) for name, given in source["builds"]),
        ),
    }
    if isinstance(repetitions, dict):
        values["repetitions"] = repetitions["least"]
        values["sequential"] = Sequential(repetitions["most"], repetitions["width"])
    return Campaign(**values)

"""From a campaign file to its plan: rule pack, geometries, the state of searches, runs."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from campaign.config import resolution
from campaign.config.format import Campaign
from campaign.config.launch import AllCores
from campaign.config.load import load
from campaign.config.opened import Opened
from campaign.config.search import Searched
from campaign.config.values import ALL, SEARCH
from campaign.core import atomic, journal, resources
from campaign.core.decode import decode
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.model import Attempt, Geometry, Paths, Run
from campaign.pipeline import program
from campaign.pipeline.mistakes import Mistake, refusal
from campaign.plan import matrix, repetitions, searches
from campaign.plan.dialect import Dialect, identify
from campaign.results.case import Case
from campaign.results.store import begun
from campaign.slurm import admission, commands, partitions, scripts
from campaign.slurm.admission import Shown
from campaign.slurm.collect import open_store
from campaign.slurm.partitions import NotInSlurm


@dataclass(frozen=True, slots=True)
class Plan:
    """`unresolved`: launch conditions without a geometry, with the reason. `runs` are those that cells report. `asked`:
    the partition, if Slurm was asked for this plan.
    """

    runs: tuple[Run, ...]
    unresolved: dict[str, str]
    dialect: str  # what -N means to an external mdtest
    partition: partitions.Partition | None = None  # as it was when the campaign began
    searches: tuple[searches.SearchProgress, ...] = ()
    asked: Shown | None = None

    @property
    def all_runs(self) -> tuple[Run, ...]:
        """All runs, including those of searches, which may share some."""
        return searches.all_runs(self.searches, self.runs)


def plan(opened: Opened, may_submit: bool = False) -> Plan:
    """Resolve the geometries and expand the matrix.

    Asks Slurm only if the file says `all`, and an external benchmark what its -N means, unless an earlier plan has
    settled it. `may_submit`: the benchmark may be asked on a compute node if it does not start on this one. Raises
    InputError if the results belong to another campaign file.
    """
    if owner := _owner(opened):
        problem = (
            f"found {opened.campaign.name}, but {opened.paths.root} holds the results of {owner}; give this campaign "
            "another name, or another results directory"
        )
        raise refusal(opened.campaign, [Mistake(("name",), problem)])
    settled = _settled(opened.paths)
    partition, asked, unresolved = _partition(opened, settled)
    dialect = _dialect(opened, settled, may_submit)
    standings: tuple[searches.SearchProgress, ...] = ()
    if partition is not None and any(isinstance(condition, Searched) for condition in opened.campaign.launch.values()):
        try:
            size = partition.usable, partition.cores_per_node
            sought = searches.searches(opened.campaign, opened.pack, *size)
        except EnvironmentLacks as error:
            unresolved["search"] = str(error)
        else:
            standings = _standings(opened, sought, dialect, partition)
    return _with_runs(opened, Plan((), unresolved, dialect, partition, standings, asked))


def _owner(opened: Opened) -> str:
    """The campaign file that these results belong to, if it exists and is another one; "" otherwise."""
    stored = None if resolution.replayed() else _stored(opened.paths)
    written = stored.get("file") if isinstance(stored, dict) else None
    if not isinstance(written, str) or not Path(written).is_file() or Path(written).samefile(opened.campaign.path):
        return ""
    try:
        return written if load(written)[0].results == opened.campaign.results else ""
    except InputError:  # the file is being edited
        return written


def on(planned: Plan, partition: partitions.Partition) -> Plan:
    """The plan with its partition as it is now, unless that is settled."""
    return replace(planned, partition=planned.partition or partition)


def again(opened: Opened, planned: Plan) -> Plan:
    """The plan, updated by what has been measured since."""
    if not (planned.searches or opened.campaign.sequential):
        return planned
    standings = _standings(opened, [search.sought for search in planned.searches], planned.dialect, planned.partition)
    return _with_runs(opened, replace(planned, searches=standings))


def _with_runs(opened: Opened, planned: Plan) -> Plan:
    """With the runs that cells report, including the repetitions that recorded results require."""
    campaign = _with_node(opened, planned.partition)
    pack, sequential = opened.pack, opened.campaign.sequential
    lacking = {
        "memory": pack.computes_memory and campaign.slurm.node_memory is None,
        "cores": pack.computes_cores and campaign.slurm.node_cores is None,
    }
    if any(lacking.values()):
        told = {
            name: (
                f"the rules need the {name} of a node, which Slurm does not report (for memory, set slurm.node_memory)"
            )
            for name, lacks in lacking.items()
            if lacks
        }
        return replace(planned, unresolved={**planned.unresolved, **told})
    choices = searches.choices(planned.searches)
    most = replace(campaign, repetitions=sequential.most) if sequential else campaign
    geometries = _geometries(campaign, planned.partition)
    runs = matrix.expand(most, pack, geometries, _executables(opened, planned.dialect), choices)
    return replace(planned, runs=repetitions.needed(campaign, pack, runs, _recorded(opened)) if sequential else runs)


def _executables(opened: Opened, dialect: str) -> dict[str, matrix.Executable]:
    """Each program of the pack by name: the campaign file's, otherwise the built-in one."""
    executables = {}
    for each in opened.pack.programs:
        given = opened.campaign.benchmark.path(each.id)
        meaning = Dialect(dialect) if given and dialect else Dialect.RANK_OFFSET
        executables[each.id] = matrix.Executable(str(given or binaries(opened) / each.applet), meaning)
    return executables


def binaries(opened: Opened) -> Path:
    """The directory of the built-in benchmark's binaries, or the one used when the campaign was run.

    Results keep the binary that they were measured with, even if this program is installed elsewhere now: one campaign
    is measured with one binary. CAMPAIGN_BENCHMARK overrides that.
    """
    return resolution.path("bench-src/build", lambda: _measured_with(opened) or resources.binaries())


def _measured_with(opened: Opened) -> Path | None:
    if "CAMPAIGN_BENCHMARK" in os.environ:
        return None
    stored = _stored(opened.paths) or {}
    applets = {program.applet for program in opened.pack.programs if opened.campaign.benchmark.path(program.id) is None}
    if stored.get("executable") and len(applets) == 1:
        return None
    try:
        before = len(stored.get("prefix", ()))
        programs = (Path(command["argv"][before]) for run in stored["runs"] for command in run.get("phases", [run]))
        return next((each.parent for each in programs if each.is_absolute() and each.name in applets), None)
    except (LookupError, TypeError):
        return None


def not_built(opened: Opened) -> str:
    """The problem if the witness, or the built-in benchmark that the campaign needs, is not built; "" otherwise."""
    built = resources.binaries()
    for each in opened.pack.programs:
        path = binaries(opened) / each.applet
        if opened.campaign.benchmark.path(each.id) is not None:
            continue
        if path.exists() and (trouble := program.trouble(path)):
            return trouble
        if not path.exists() and path.parent == built:
            return _not_built(path)
        if not path.exists():
            return (
                f"this campaign was measured with {path}, which no longer exists; restore it, or set "
                f"CAMPAIGN_BENCHMARK={built} to measure everything again"
            )
    return "" if resources.witness().exists() else _not_built(resources.witness())


def _not_built(path: object) -> str:
    return f"the benchmark is not built: {path} not found; run 'campaign build'"


def _with_node(opened: Opened, partition: partitions.Partition | None) -> Campaign:
    """The campaign as it began, with the size of a node: memory from the file, otherwise from Slurm."""
    campaign = _as_begun(opened)
    if partition is None:
        return campaign
    memory = campaign.slurm.node_memory or (partition.memory_mib << 20) or None
    return replace(campaign, slurm=replace(campaign.slurm, node_memory=memory, node_cores=partition.cores_per_node))


def _partition(opened: Opened, settled: _Settled) -> tuple[partitions.Partition | None, Shown | None, dict[str, str]]:
    """The partition if it is needed, Slurm's answer if it was asked, and why launch conditions have no geometry."""
    campaign, pack = opened.campaign, opened.pack
    with_memory = pack.computes_memory and campaign.slurm.node_memory is None
    words = {AllCores: ALL, Searched: SEARCH}
    needed = {name: words[type(wanted)] for name, wanted in campaign.launch.items() if type(wanted) in words}
    if settled.partition is not None or not (needed or with_memory or pack.computes_cores):
        return settled.partition, None, {}
    if resolution.replayed():
        return None, None, {name: f"plan.json does not record the process count of launch.{name}" for name in needed}
    if needed and not opened.paths.plan.exists() and (opened.paths.root / "jobs").is_dir():
        # The partition may have changed since the campaign began.
        keys = ", ".join(f"launch.{name}" for name in needed)
        raise EnvironmentLacks(
            f"{opened.paths.plan}: missing, although the campaign has begun; only this file says what {keys} meant "
            "then: restore it from a backup or a bundle, or write the numbers of processes into the campaign file"
        )
    try:
        asked = admission.ask(campaign.slurm)
    except (EnvironmentLacks, NotInSlurm) as error:
        return (
            None,
            None,
            {
                name: f"launch.{name} is {word}, which needs the size of the partition from Slurm: {error}"
                for name, word in needed.items()
            },
        )
    partition = asked.partition
    if partition.usable:
        return partition, asked, {}
    return (
        None,
        asked,
        {
            name: (
                f"launch.{name} is {word}, but no node is usable ({partition.account}); name another partition under "
                "slurm.partition, or ask the administrator"
            )
            for name, word in needed.items()
        },
    )


def _standings(
    opened: Opened, sought: Sequence[searches.Search], dialect: str, partition: partitions.Partition | None
) -> tuple[searches.SearchProgress, ...]:
    """The state of each search, from recorded results."""
    results = _recorded(opened)
    campaign = _with_node(opened, partition)
    blueprint = matrix.Blueprint(campaign, opened.pack, _executables(opened, dialect))
    return tuple(searches.look(search, blueprint, results) for search in sought)


def _recorded(opened: Opened) -> searches.Results:
    """A function that gives the judged attempts of a run."""
    if not begun(opened.paths):
        return lambda run: ()
    from campaign.judge import engine  # not needed before anything has run

    with open_store(opened.paths, opened.pack.output) as store:
        attempts: dict[str, list[Attempt]] = {}
        for attempt in store.attempts():
            attempts.setdefault(attempt.run, []).append(attempt)
        records, observations, evidence = store.records(), store.observations(), store.evidence()

    @functools.cache
    def of(run: Run) -> list[Case]:
        return engine.measured(
            opened.pack, [run], attempts.get(run.id, []), records, observations, evidence, opened.answers
        )

    return of


@dataclass(frozen=True, slots=True)
class _Settled:
    """What the campaign's first plan settled for later ones."""

    partition: partitions.Partition | None  # a node that went down since does not change launch conditions
    executable: str  # path, size and time of the external benchmark whose dialect is known
    dialect: str
    partition_written: str | None = None  # slurm.partition as in the campaign file
    environment_order: tuple[str, ...] = ()  # names in slurm.environment, in their order


def _settled(paths: Paths) -> _Settled:
    stored = _stored(paths)
    try:
        if stored is None:
            return _Settled(None, "", "")
        return decode(_Settled, stored, pass_over_unknown=True)
    except ValueError as error:
        raise _damaged(paths.plan, error) from error


def _as_begun(opened: Opened) -> Campaign:
    """The campaign as it was written when it began, if the current text means the same, so that results count for both:
    the default partition with or without its name, and slurm.environment in another order.
    """
    settled, slurm = _settled(opened.paths), opened.campaign.slurm
    order, written, partition = settled.environment_order, settled.partition_written, settled.partition
    same = {name for name, _ in slurm.environment} == set(order)
    variables = sorted(slurm.environment, key=(lambda each: order.index(each[0])) if same else None)
    slurm = replace(slurm, environment=tuple(variables))
    if written is not None and partition and partition.default and {slurm.partition, written} <= {"", partition.name}:
        slurm = replace(slurm, partition=written)
    return replace(opened.campaign, slurm=slurm)


def _stored(paths: Paths) -> Any:
    """The content of plan.json; None if it does not exist. Raises EnvironmentLacks if it is damaged or another
    campaign's, whose journal begins differently.
    """
    try:
        written = paths.plan.stat()
        stored = _parsed(paths.plan, written.st_ino, written.st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, RecursionError, IsADirectoryError) as error:
        raise _damaged(paths.plan, error) from error
    # A verification checks the journal itself.
    own = "" if resolution.replayed() else journal.beginning(paths.journal)
    if own and stored.get("journal", "") not in ("", own):
        names = {name: stored.get(name) for name in ("campaign", "results")}
        raise EnvironmentLacks(
            (
                "{path}: the plan of another campaign ({campaign}, results in {results}); restore this campaign's own "
                "from a backup or a bundle, or remove it to plan again"
            ).format(path=paths.plan, **names)
        )
    return stored


@functools.lru_cache(maxsize=1)
def _parsed(path: Path, _inode: int, _time: int) -> Any:
    """Cached. Of the records of its runs, one for each program is kept: there may be a hundred thousand."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(stored, dict):
        raise ValueError(f"not an object: {json.dumps(stored)[:100]}")
    with suppress(LookupError, TypeError, AttributeError):
        prefix = stored.get("prefix", [])
        argvs = (each["argv"] for run in stored["runs"] for each in run.get("phases", [run]))
        programs = dict.fromkeys(argv[len(prefix)] for argv in argvs)
        stored["runs"] = [{"argv": [*prefix, program]} for program in programs]
    return stored


def _damaged(path: Path, error: Exception) -> EnvironmentLacks:
    why = getattr(error, "strerror", None) or repr(error)
    return EnvironmentLacks(f"{path}: damaged ({why}); restore it from a backup, or remove it to plan again")


def _geometries(campaign: Campaign, partition: partitions.Partition | None) -> dict[str, Geometry]:
    """The geometries that the campaign file or the partition determines."""
    geometries = {name: wanted for name, wanted in campaign.launch.items() if isinstance(wanted, Geometry)}
    if partition is not None:
        size = partition.usable, partition.cores_per_node
        geometries |= {
            name: wanted.of(*size) for name, wanted in campaign.launch.items() if isinstance(wanted, AllCores)
        }
    return geometries


def _mdtest(opened: Opened) -> Path | None:
    """The external program whose -N the pack sets; None for the built-in one, or if the rules set no -N."""
    offsets = {phase.program for phase in opened.pack.phases if "{rank_offset}" in phase.arguments}
    paths = (opened.campaign.benchmark.path(program) for program in sorted(offsets))
    return next((path for path in paths if path is not None), None)


def _identity(opened: Opened) -> str:
    """The identity of the external benchmark's file, so that another build is asked again; its path if it is not on
    this machine.
    """
    path = _mdtest(opened) or opened.campaign.benchmark.executable
    if path is None:
        return ""
    if resolution.replayed():
        return str(path)
    try:
        status = path.stat()
    except OSError:
        return str(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _dialect(opened: Opened, settled: _Settled, may_submit: bool) -> str:
    """What -N means to an external benchmark; "" for the built-in one, or if the rules set no -N."""
    benchmark, path = opened.campaign.benchmark, _mdtest(opened)
    if path is None:
        return ""
    if benchmark.dialect != "auto":
        return benchmark.dialect
    if settled.dialect and settled.executable.startswith(_identity(opened)):
        return settled.dialect
    if resolution.replayed():
        raise EnvironmentLacks(f"plan.json does not record the meaning of -N for {path}; set benchmark.dialect")
    at = next(at for at, each in benchmark.placed if each == path)
    if problem := program.unusable(path, opened.campaign.launcher.prefix):
        raise refusal(opened.campaign, [Mistake(at, problem)])
    launcher = commands.one_task(opened.campaign.slurm.partition, opened.campaign.slurm.mpi) if may_submit else ()
    try:
        return identify(path, lambda words, timeout_s: commands.call(words, timeout_s).out, launcher)
    except InputError as error:
        raise refusal(opened.campaign, [Mistake(at, str(error))]) from error


def plan_json(opened: Opened, planned: Plan) -> dict[str, Any]:
    """The plan as data: for `plan --json`, and for plan.json beside the results."""
    campaign, pack, settled = opened.campaign, opened.pack, _settled(opened.paths)
    begun = settled.partition_written if settled.partition else None
    return {
        "format": 1,
        "campaign": campaign.name,
        "file": str(campaign.path.resolve()),
        "rules": {"id": pack.id, "version": pack.version},
        "profile": campaign.profile,
        "allocation": campaign.slurm.allocation,
        "results": str(opened.paths.root),
        "journal": journal.beginning(opened.paths.journal),
        "partition": asdict(planned.partition) if planned.partition else None,
        "partition_written": campaign.slurm.partition if begun is None else begun,
        "environment_order": [name for name, _ in _as_begun(opened).slurm.environment],
        "searches": [searches.as_json(search) for search in planned.searches],
        "executable": _identity(opened),
        "prefix": campaign.launcher.prefix,
        "dialect": planned.dialect,
        "unresolved": planned.unresolved,
        "runs": [
            {
                "run": run.id,
                "target": run.target,
                "launch": run.launch,
                "files": run.files,
                "repetition": run.repetition,
                "phase": run.phase,
                "nodes": run.geometry.nodes,
                "processes": run.geometry.processes,
                "processes_per_node": run.geometry.processes_per_node,
                "items_per_process": run.items_per_process,
                "items_total": run.items_total,
                "launcher": scripts.launcher(run, campaign.slurm),
                **scripts.command_lines(run, "TOKEN"),
                "notes": run.notes,
            }
            for run in planned.all_runs
        ],
        "cells": [str(cell) for cell in matrix.cells(campaign, pack)],
    }


def write(opened: Opened, planned: Plan) -> None:
    """Write plan.json, with one line per run: ten thousand runs indented take a second each."""
    data = plan_json(opened, planned)
    runs = ",\n".join(f"  {json.dumps(run)}" for run in data["runs"])
    text = json.dumps(data | {"runs": []}, indent=1)
    atomic.write(opened.paths.plan, text.replace('\n "runs": []', f'\n "runs": [\n{runs}\n ]', 1) + "\n")

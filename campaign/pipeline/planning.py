"""From a campaign file to its plan: rule pack, geometries, the state of searches, runs."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from campaign.config import resolution
from campaign.config.definition import BY_PLAN, Definition, digest_of_input, load
from campaign.config.format import Campaign
from campaign.config.launch import AllCores
from campaign.config.rules import formulas
from campaign.config.search import Searched
from campaign.config.values import ALL, SEARCH
from campaign.core import atomic, journal, resources
from campaign.core.decode import decode
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.grouping import grouped
from campaign.core.model import Geometry, Input, Run
from campaign.pipeline import places
from campaign.pipeline.places import Mistake, refusal
from campaign.plan import adaptive, matrix
from campaign.plan.dialect import Dialect, identify
from campaign.results.case import Case
from campaign.results.store import begun
from campaign.slurm import commands, partitions, scripts
from campaign.slurm.collect import open_store


@dataclass(frozen=True, slots=True)
class Settled:
    """What the campaign's first plan settled for later ones, by plan.json."""

    partition: partitions.Partition | None = None  # a node that went down since does not change launch conditions
    executable: str = ""  # path, size and time of the external benchmark whose dialect is known
    dialect: str = ""
    partition_written: str | None = None  # slurm.partition as in the campaign file
    file: str = ""  # the campaign file
    programs: tuple[Path, ...] = ()  # of the runs
    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """`unresolved`: launch conditions without a geometry, with the reason. `runs` are those that cells report. `asked`:
    the partition, if Slurm was asked for this plan.
    """

    runs: tuple[Run, ...]
    unresolved: dict[str, str]
    dialect: str  # what -N means to an external mdtest
    partition: partitions.Partition | None = None  # as it was when the campaign began
    searches: tuple[adaptive.SearchProgress, ...] = ()
    asked: partitions.Shown | None = None
    settled: Settled = field(default_factory=Settled)
    inputs: tuple[Input, ...] = ()  # each with the hash that it must have

    @property
    def all_runs(self) -> tuple[Run, ...]:
        """All runs, including those of searches, which may share some."""
        return adaptive.all_runs(self.searches, self.runs)


def plan(definition: Definition, may_submit: bool = False) -> Plan:
    """Resolve the geometries and expand the matrix.

    Asks Slurm only if the file says `all`, and an external benchmark what its -N means, unless an earlier plan has
    settled it. `may_submit`: the benchmark may be asked on a compute node if it does not start on this one. Raises
    InputError if the results belong to another campaign file.
    """
    before = settled(definition)
    if owner := _owner(definition, before):
        problem = (
            f"found {definition.campaign.name}, but {definition.paths.root} holds the results of {owner}; give this "
            "campaign another name, or another results directory"
        )
        raise refusal(definition.campaign, [Mistake(("name",), problem)])
    partition, asked, unresolved = _partition(definition, before)
    dialect = _dialect(definition, before, may_submit)
    sought: Sequence[adaptive.Search] = ()
    if partition is not None and any(
        isinstance(condition, Searched) for condition in definition.campaign.launch.values()
    ):
        try:
            sought = adaptive.plan_searches(
                definition.campaign, definition.pack, partition.usable, partition.cores_per_node
            )
        except EnvironmentLacks as error:
            unresolved["search"] = str(error)
    known = tuple(_inputs(definition.campaign, before))
    planned = Plan((), unresolved, dialect, partition, asked=asked, settled=before, inputs=known)
    return _with_runs(definition, planned, sought)


def _inputs(campaign: Campaign, before: Settled) -> Iterator[Input]:
    """The input files with their hashes: as declared, as in an earlier plan, or as they are now."""
    hashes = {each.path: each.sha256 for each in before.inputs}
    for each in campaign.inputs:
        digest = each.sha256 or hashes.get(each.path) or digest_of_input(each.path)
        yield replace(each, sha256=digest, by=each.by or BY_PLAN)


def _owner(definition: Definition, before: Settled) -> str:
    """The campaign file that these results belong to, if it exists and is another one; "" otherwise."""
    file = Path(before.file)
    if resolution.replayed() or not file.is_file() or file.samefile(definition.campaign.path):
        return ""
    try:
        return before.file if load(file, definition.campaign.part)[0].results == definition.campaign.results else ""
    except InputError:  # the file is being edited
        return before.file


def again(definition: Definition, planned: Plan) -> Plan:
    """The plan, updated by what has been measured since."""
    if not (planned.searches or definition.campaign.sequential):
        return planned
    return _with_runs(definition, planned, [search.search for search in planned.searches])


def _with_runs(definition: Definition, planned: Plan, sought: Sequence[adaptive.Search]) -> Plan:
    """With the state of these searches, and the runs that cells report, including the repetitions that recorded results
    require.
    """
    pack, sequential = definition.pack, definition.campaign.sequential
    campaign = replace(_as_begun(definition, planned.settled), inputs=planned.inputs)
    if planned.partition is not None:
        memory = campaign.slurm.node_memory or (planned.partition.memory_mib << 20) or None
        cores = planned.partition.cores_per_node
        campaign = replace(campaign, slurm=replace(campaign.slurm, node_memory=memory, node_cores=cores))
    slurm, proposed = campaign.slurm, campaign.proposed
    node = (
        (formulas.MEMORY, slurm.node_memory, "of a node, which Slurm does not report; set slurm.node_memory"),
        (formulas.CORES, slurm.node_cores, "of a node, which Slurm does not report"),
        (formulas.DEVICES, proposed.devices, "(accelerators of a node); set proposed.devices"),
        (formulas.DEVICE_MEMORY, proposed.device_memory, "(of an accelerator); set proposed.device_memory"),
    )
    lacking = {
        name: f"the rules need {name} {remedy}"
        for name, value, remedy in node
        if value is None and pack.is_computed_from(name)
    }
    if lacking:
        return replace(planned, unresolved={**planned.unresolved, **lacking})
    executables = _executables(definition, planned)
    results = _recorded(definition) if sought or sequential else lambda run: ()
    blueprint = matrix.Blueprint(campaign, pack, executables)
    standings = tuple(adaptive.replay_search(search, blueprint, results) for search in sought)
    most = replace(campaign, repetitions=sequential.most) if sequential else campaign
    geometries = _geometries(campaign, planned.partition)
    nodes = planned.partition.names if planned.partition else ()
    runs = matrix.expand(most, pack, geometries, executables, adaptive.found_geometries(standings), nodes)
    return replace(planned, searches=standings, runs=adaptive.needed_repetitions(campaign, pack, runs, results))


def _executables(definition: Definition, planned: Plan) -> dict[str, matrix.Executable]:
    """Each program of the pack by name: the campaign file's, otherwise the built-in one."""
    executables = {}
    for each in definition.pack.programs:
        given = definition.campaign.benchmark.path(each.id)
        dialect = Dialect(planned.dialect) if given and planned.dialect else Dialect.RANK_OFFSET
        executables[each.id] = matrix.Executable(
            str(given or binaries(definition, planned.settled) / each.applet), dialect
        )
    return executables


def binaries(definition: Definition, before: Settled) -> Path:
    """The directory of the built-in benchmark's binaries, or the one used when the campaign was run.

    Results keep the binary that they were measured with, even if this program is installed elsewhere now: one campaign
    is measured with one binary. CAMPAIGN_BENCHMARK overrides that.
    """
    return resolution.path("bench-src/build", lambda: _measured_with(definition, before) or resources.binaries())


def _measured_with(definition: Definition, before: Settled) -> Path | None:
    applets = {
        program.applet for program in definition.pack.programs if definition.campaign.benchmark.path(program.id) is None
    }
    if "CAMPAIGN_BENCHMARK" in os.environ or (before.executable and len(applets) == 1):
        return None
    return next((each.parent for each in before.programs if each.is_absolute() and each.name in applets), None)


def not_built(definition: Definition, before: Settled) -> str:
    """The problem if the witness, or the built-in benchmark that the campaign needs, is not built; "" otherwise."""
    built, directory = resources.binaries(), binaries(definition, before)
    for each in definition.pack.programs:
        path = directory / each.applet
        if definition.campaign.benchmark.path(each.id) is not None:
            continue
        if path.exists() and (trouble := places.trouble(path)):
            return trouble
        if not path.exists() and directory == built:
            return _not_built(path)
        if not path.exists():
            return (
                f"this campaign was measured with {path}, which no longer exists; restore it, or set "
                f"CAMPAIGN_BENCHMARK={built} to measure everything again"
            )
    return "" if resources.witness().exists() else _not_built(resources.witness())


def _not_built(path: object) -> str:
    return f"the benchmark is not built: {path} not found; run 'campaign build'"


def _partition(
    definition: Definition, before: Settled
) -> tuple[partitions.Partition | None, partitions.Shown | None, dict[str, str]]:
    """The partition if it is needed, Slurm's answer if it was asked, and why launch conditions have no geometry."""
    campaign, pack = definition.campaign, definition.pack
    with_memory = pack.is_computed_from(formulas.MEMORY) and campaign.slurm.node_memory is None
    words = {AllCores: ALL, Searched: SEARCH}
    needed = {name: words[type(wanted)] for name, wanted in campaign.launch.items() if type(wanted) in words}
    if before.partition is not None or not (needed or with_memory or pack.is_computed_from(formulas.CORES)):
        return before.partition, None, {}
    if resolution.replayed():
        return None, None, {name: f"plan.json does not record the process count of launch.{name}" for name in needed}
    if needed and not definition.paths.plan.exists() and (definition.paths.root / "jobs").is_dir():
        # The partition may have changed since the campaign began.
        keys = ", ".join(f"launch.{name}" for name in needed)
        raise EnvironmentLacks(
            f"{definition.paths.plan}: missing, although the campaign has begun; only this file says what {keys} meant "
            "then: restore it from a backup or a bundle, or write the numbers of processes into the campaign file"
        )
    asked = None
    try:
        asked = partitions.ask(campaign.slurm)
        if asked.partition.usable:
            return asked.partition, asked, {}
        why = (
            f"but no node is usable ({asked.partition.account}); name another partition under slurm.partition, or ask "
            "the administrator"
        )
    except (EnvironmentLacks, partitions.NotInSlurm) as error:
        why = f"which needs the size of the partition from Slurm: {error}"
    return None, asked, {name: f"launch.{name} is {word}, {why}" for name, word in needed.items()}


def _recorded(definition: Definition) -> adaptive.Results:
    """A function that gives the judged attempts of a run."""
    if not begun(definition.paths):
        return lambda run: ()
    from campaign.judge import engine  # not needed before anything has run

    with open_store(definition.paths, definition.pack.outputs) as store:
        attempts = grouped((attempt.run, attempt) for attempt in store.attempts())
        records, observations, evidence = store.records(), store.observations(), store.evidence()

    @functools.cache
    def of(run: Run) -> list[Case]:
        return engine.measured(definition, [run], attempts.get(run.id, []), records, observations, evidence)

    return of


def settled(definition: Definition) -> Settled:
    """What an earlier plan settled. Raises EnvironmentLacks if plan.json is damaged, or is another campaign's, whose
    journal begins differently.
    """
    path = definition.paths.plan
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(stored, dict):
            raise ValueError(f"not an object: {json.dumps(stored)[:100]}")
        before = decode(Settled, stored, pass_over_unknown=True)
    except (FileNotFoundError, NotADirectoryError):
        return Settled()
    except (ValueError, RecursionError, IsADirectoryError) as error:
        why = getattr(error, "strerror", None) or repr(error)
        raise EnvironmentLacks(
            f"{path}: damaged ({why}); restore it from a backup, or remove it to plan again"
        ) from error
    # A verification checks the journal itself.
    own = "" if resolution.replayed() else journal.beginning(definition.paths.journal)
    if own and stored.get("journal", "") not in ("", own):
        raise EnvironmentLacks(
            f"{path}: the plan of another campaign ({stored.get('campaign')}, results in {stored.get('results')}); "
            "restore this campaign's own from a backup or a bundle, or remove it to plan again"
        )
    with suppress(LookupError, TypeError, AttributeError):
        first = len(stored.get("prefix", []))
        argvs = (each["argv"] for run in stored["runs"] for each in run.get("phases", [run]))
        before = replace(before, programs=tuple(map(Path, dict.fromkeys(argv[first] for argv in argvs))))
    return before


def _as_begun(definition: Definition, before: Settled) -> Campaign:
    """The campaign as it was written when it began, if the current text means the same, so that results count for both:
    the default partition with or without its name, and slurm.environment in any order.
    """
    written, partition = before.partition_written, before.partition
    slurm = replace(definition.campaign.slurm, environment=tuple(sorted(definition.campaign.slurm.environment)))
    if written is not None and partition and partition.default and {slurm.partition, written} <= {"", partition.name}:
        slurm = replace(slurm, partition=written)
    return replace(definition.campaign, slurm=slurm)


def _geometries(campaign: Campaign, partition: partitions.Partition | None) -> dict[str, Geometry]:
    """The geometries that the campaign file or the partition determines."""
    geometries = {name: wanted for name, wanted in campaign.launch.items() if isinstance(wanted, Geometry)}
    if partition is not None:
        size = partition.usable, partition.cores_per_node
        geometries |= {
            name: wanted.geometry(*size) for name, wanted in campaign.launch.items() if isinstance(wanted, AllCores)
        }
    return geometries


def _mdtest(definition: Definition) -> Path | None:
    """The external program whose -N the pack sets; None for the built-in one, or if the rules set no -N."""
    offsets = {phase.program for phase in definition.pack.phases if "{rank_offset}" in phase.arguments}
    paths = (definition.campaign.benchmark.path(program) for program in sorted(offsets))
    return next((path for path in paths if path is not None), None)


def _identity(definition: Definition) -> str:
    """The identity of the external benchmark's file, so that another build is asked again; its path if it is not on
    this machine.
    """
    path = _mdtest(definition) or definition.campaign.benchmark.executable
    if path is None:
        return ""
    if resolution.replayed():
        return str(path)
    try:
        status = path.stat()
    except OSError:
        return str(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _dialect(definition: Definition, before: Settled, may_submit: bool) -> str:
    """What -N means to an external benchmark; "" for the built-in one, or if the rules set no -N."""
    benchmark, path = definition.campaign.benchmark, _mdtest(definition)
    if path is None:
        return ""
    if benchmark.dialect != "auto":
        return benchmark.dialect
    if before.dialect and before.executable.startswith(_identity(definition)):
        return before.dialect
    if resolution.replayed():
        raise EnvironmentLacks(f"plan.json does not record the meaning of -N for {path}; set benchmark.dialect")
    at = next(at for at, each in benchmark.placed if each == path)
    if problem := places.unusable(path, definition.campaign.launcher.prefix):
        raise refusal(definition.campaign, [Mistake(at, problem)])
    launcher = (
        commands.one_task(definition.campaign.slurm.partition, definition.campaign.slurm.mpi) if may_submit else ()
    )
    try:
        return identify(path, lambda words, timeout_s: commands.call(words, timeout_s).out, launcher)
    except InputError as error:
        raise refusal(definition.campaign, [Mistake(at, str(error))]) from error


def plan_json(definition: Definition, planned: Plan) -> dict[str, Any]:
    """The plan as data: for `plan --json`, and for plan.json beside the results."""
    campaign, pack, before = definition.campaign, definition.pack, planned.settled
    begun = before.partition_written if before.partition else None
    return {
        "format": 1,
        "campaign": campaign.name,
        "file": str(campaign.path.resolve()),
        "rules": {"id": pack.id, "version": pack.version},
        "profile": campaign.profile,
        "allocation": campaign.slurm.allocation,
        "results": str(definition.paths.root),
        "journal": journal.beginning(definition.paths.journal),
        "partition": asdict(planned.partition) if planned.partition else None,
        "partition_written": campaign.slurm.partition if begun is None else begun,
        "environment_order": [name for name, _ in _as_begun(definition, before).slurm.environment],
        "searches": [adaptive.as_json(search) for search in planned.searches],
        "executable": _identity(definition),
        "prefix": campaign.launcher.prefix,
        "dialect": planned.dialect,
        "inputs": [asdict(each) for each in planned.inputs],
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
                **({"node": run.node} if run.node else {}),
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


def write(definition: Definition, planned: Plan) -> None:
    """Write plan.json, with one line per run: ten thousand runs indented take a second each."""
    data = plan_json(definition, planned)
    runs = ",\n".join(f"  {json.dumps(run)}" for run in data["runs"])
    text = json.dumps(data | {"runs": []}, indent=1)
    atomic.write(definition.paths.plan, text.replace('\n "runs": []', f'\n "runs": [\n{runs}\n ]', 1) + "\n")

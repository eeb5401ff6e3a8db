"""Campaign + its settled rule pack -> the runs and the cells of the table. Pure.

The cells come from the rule pack and the targets alone, so that the table has all its rows whatever could be run.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from campaign.config.load import Campaign
from campaign.config.rules import sweeps
from campaign.config.rules.load import FileConfiguration, RulePack
from campaign.config.rules.settle import swept_values
from campaign.core.errors import InputError
from campaign.core.model import Attempt, Cell, Geometry, Run, Target


def per_node(geometry: Geometry) -> tuple[int, str]:
    """The rank offset of one node, as the rules write it."""
    return geometry.processes_per_node, ""


@dataclass(frozen=True, slots=True)
class Executable:
    """The benchmark's program, and what its -N takes for an offset of one node: the value, and a disclosure where it is
    not processes per node.
    """

    path: str
    rank_offset: Callable[[Geometry], tuple[int, str]] = per_node


@dataclass(frozen=True, slots=True)
class ChosenGeometry:
    """A geometry that a search found, for the cells of these operations; `why` in one sentence."""

    geometry: Geometry
    operations: tuple[str, ...]
    why: str


def cells(campaign: Campaign, pack: RulePack) -> tuple[Cell, ...]:
    """Every entry of the table, in its order."""
    return tuple(
        Cell(target.name, launch.id, files.id, operation.id)
        for target in campaign.targets
        for files in pack.files
        for launch in pack.launch
        for operation in pack.operations_of(launch.id)
    )


def items(campaign: Campaign, pack: RulePack, geometry: Geometry) -> tuple[int, int] | None:
    """(items per process, items in total): the asked total, or just above it where it does not divide."""
    total = campaign.items_total or pack.items_total.get(campaign.profile)
    if total is None:
        return None
    per_process = -(-total // geometry.processes)
    if not pack.items_at_least and per_process * geometry.processes != total:
        raise InputError(
            f"{geometry.processes} processes cannot share {total} {pack.items_unit} evenly, and the rules ask for "
            f"exactly so many (clause {pack.items_clause}): choose a number of processes that divides {total}"
        )
    return per_process, per_process * geometry.processes


def expand(
    campaign: Campaign,
    pack: RulePack,
    geometries: Mapping[str, Geometry],
    executable: Executable,
    found: Mapping[tuple[str, str, str], Sequence[ChosenGeometry]] | None = None,
) -> tuple[Run, ...]:
    """The runs of every launch condition that has a geometry, in the order in which they are to be executed.

    `found`: geometries by (target, launch, files). Repetitions are blocks: each holds every run once, and where there
    are several, in an order of chance, so that a drift of the system is not taken for an effect.
    """
    runs: list[Run] = []
    for target in campaign.targets:
        for repetition in range(1, campaign.repetitions + 1):
            block = []
            for launch in pack.launch:
                for files in pack.files:
                    everything = tuple(operation.id for operation in pack.operations_of(launch.id))
                    fixed = geometries.get(launch.id)
                    chosen = (
                        (ChosenGeometry(fixed, everything, ""),)
                        if fixed
                        else (found or {}).get((target.name, launch.id, files.id), ())
                    )
                    for choice in chosen:
                        part = "" if choice.operations == everything else f".{'+'.join(choice.operations)}"
                        name = f"{target.name}.{launch.id}.{files.id}{part}.r{repetition}"
                        run = _run(campaign, pack, executable, target, launch.id, files, name, choice.geometry)
                        notes = (choice.why, *run.notes) if choice.why else run.notes
                        block.append(replace(run, repetition=repetition, operations=choice.operations, notes=notes))
            if campaign.repetitions > 1:
                random.Random(f"{campaign.name}/{target.name}/{repetition}").shuffle(block)
            runs += block
    return tuple(runs)


def search_run(
    campaign: Campaign,
    pack: RulePack,
    executable: Executable,
    target: str,
    launch: str,
    files: str,
    geometry: Geometry,
    phase: str,
    block: int,
) -> Run:
    """An execution that a search asks for: it is measured as any other, and no cell reports it."""
    place = next(one for one in campaign.targets if one.name == target)
    configuration = next(one for one in pack.files if one.id == files)
    name = f"{target}.{launch}.{files}.{phase}-{geometry}.{block}"
    run = _run(campaign, pack, executable, place, launch, configuration, name, geometry)
    return replace(run, repetition=block, phase=phase)


def _run(
    campaign: Campaign,
    pack: RulePack,
    executable: Executable,
    target: Target,
    launch: str,
    files: FileConfiguration,
    name: str,
    geometry: Geometry,
) -> Run:
    notes: list[str] = []
    count = items(campaign, pack, geometry)
    if count is not None:
        asked = campaign.items_total or pack.items_total[campaign.profile]
        if count[1] != asked:
            notes.append(
                f"{asked} {pack.items_unit} do not divide by {geometry.processes} processes: "
                f"{count[0]} each make {count[1]}"
            )
    offset, disclosure = executable.rank_offset(geometry)
    if disclosure:
        notes.append(disclosure)
    if campaign.slurm.environment:
        notes.append("the campaign file sets " + ", ".join(f"{k}={v}" for k, v in campaign.slurm.environment))
    if campaign.slurm.template:
        notes.append(f"the job script is made from a template of the campaign's own, {campaign.slurm.template.name}")
    values = {
        "processes": str(geometry.processes),
        "nodes": str(geometry.nodes),
        "processes_per_node": str(geometry.processes_per_node),
        "rank_offset": str(offset),
        **swept_values(pack, geometry),
    }
    if count is not None:
        values |= {"items_per_process": str(count[0]), "items_total": str(count[1])}
    run = Run(
        id=name,
        target=target.name,
        launch=launch,
        files=files.id,
        repetition=1,
        geometry=geometry,
        directory=target.directory,
        executable=executable.path,
        arguments=_arguments(pack, files, values) + campaign.benchmark.extra_arguments,
        operations=tuple(operation.id for operation in pack.operations_of(launch)),
        items_per_process=count[0] if count else None,
        items_total=count[1] if count else None,
        notes=tuple(notes),
        fingerprint="",
    )
    return replace(run, fingerprint=fingerprint(run, _surroundings(campaign)))


def _surroundings(campaign: Campaign) -> list[object]:
    """What else of the campaign file decides what is executed, and where."""
    slurm = campaign.slurm
    return [slurm.partition, slurm.constraint, slurm.mpi, slurm.modules, slurm.environment, str(slurm.template or "")]


def _arguments(pack: RulePack, files: FileConfiguration, values: Mapping[str, str]) -> tuple[str, ...]:
    """The pack's arguments with the derived values in place; {directory} stays, since each attempt has its own."""
    done: list[str] = []
    for word in pack.arguments:
        if word == "{flags}":
            done += files.flags
            continue
        filled = sweeps.fill(word, values)
        unknown = [name for name in sweeps.names(filled) if name != "directory"]
        if unknown:
            raise InputError(
                f"rule pack {pack.id}: arguments: {{{unknown[0]}}} is not known here; "
                f"allowed: {', '.join(f'{{{key}}}' for key in [*values, 'directory', 'flags'])}"
            )
        done.append(filled)
    return tuple(done)


def fingerprint(run: Run, surroundings: Sequence[object] = ()) -> str:
    """Hash of all that decides what a run executes: attempts made under another one do not count for it."""
    parts = [run.geometry.nodes, run.geometry.processes, run.directory, run.executable, *run.arguments, *surroundings]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


class Placed(Protocol):
    """What decides which job an execution is in: that of a run, or of one that is only expected."""

    @property
    def target(self) -> str: ...
    @property
    def phase(self) -> str: ...
    @property
    def repetition(self) -> int: ...
    @property
    def geometry(self) -> Geometry: ...


_P = TypeVar("_P", bound=Placed)


def batches(runs: Sequence[_P], allocation: str) -> tuple[tuple[_P, ...], ...]:
    """Runs grouped into jobs: one each (`run`), those of one target and `geometry` together, or `one` job a target.

    Repetitions are independent: each is in a job of its own, unless all runs are to share one.
    """
    if allocation == "run":
        return tuple((run,) for run in runs)
    groups: dict[tuple[object, ...], list[_P]] = {}
    for run in runs:
        apart = (run.phase, run.repetition, run.geometry) if allocation == "geometry" or run.phase else ()
        groups.setdefault((run.target, *apart), []).append(run)
    return tuple(tuple(group) for group in groups.values())


def attempts_by_run(runs: Iterable[Run], attempts: Iterable[Attempt]) -> dict[str, list[Attempt]]:
    """The attempts that count for each run: those made under the run's present definition."""
    wanted = {run.id: run.fingerprint for run in runs}
    found: dict[str, list[Attempt]] = {run: [] for run in wanted}
    for attempt in attempts:
        if wanted.get(attempt.run) == attempt.fingerprint:
            found[attempt.run].append(attempt)
    return found

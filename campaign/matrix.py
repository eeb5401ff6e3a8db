"""Campaign + its settled rule pack -> the runs and the cells of the table. Pure.

The cells come from the rule pack and the targets alone, so that the table has all its rows whatever could be run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from campaign import points
from campaign.config import Campaign
from campaign.errors import InputError
from campaign.model import Attempt, Cell, Geometry, Run
from campaign.rules import FileConfiguration, RulePack
from campaign.settle import swept_values


@dataclass(frozen=True, slots=True)
class Executable:
    """The benchmark's program, and what its -N takes for an offset of one node, by geometry."""

    path: str
    rank_offsets: Mapping[Geometry, tuple[int, str]]  # value, and a disclosure where it is not processes per node

    def rank_offset(self, geometry: Geometry) -> tuple[int, str]:
        return self.rank_offsets.get(geometry, (geometry.processes_per_node, ""))


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
    campaign: Campaign, pack: RulePack, geometries: Mapping[str, Geometry], executable: Executable
) -> tuple[Run, ...]:
    """The runs of every launch condition that has a geometry, in the order in which they are to be executed."""
    runs = [
        _run(campaign, pack, executable, target.name, target.directory, launch.id, files, repetition, geometry)
        for target in campaign.targets
        for launch in pack.launch
        if (geometry := geometries.get(launch.id)) is not None
        for repetition in range(1, campaign.repetitions + 1)
        for files in pack.files
    ]
    return tuple(runs)


def _run(
    campaign: Campaign,
    pack: RulePack,
    executable: Executable,
    target: str,
    directory: str,
    launch: str,
    files: FileConfiguration,
    repetition: int,
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
        id=f"{target}.{launch}.{files.id}.r{repetition}",
        target=target,
        launch=launch,
        files=files.id,
        repetition=repetition,
        geometry=geometry,
        directory=directory,
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
        filled = points.fill(word, values)
        unknown = [name for name in points.names(filled) if name != "directory"]
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


def batches(runs: tuple[Run, ...], allocation: str) -> tuple[tuple[Run, ...], ...]:
    """Runs grouped into jobs: one each (`run`), those of one target and `geometry` together, or `one` job a target."""
    if allocation == "run":
        return tuple((run,) for run in runs)
    groups: dict[tuple[str, Geometry | None], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.target, run.geometry if allocation == "geometry" else None), []).append(run)
    return tuple(tuple(group) for group in groups.values())


def attempts_by_run(runs: Iterable[Run], attempts: Iterable[Attempt]) -> dict[str, list[Attempt]]:
    """The attempts that count for each run: those made under the run's present definition."""
    wanted = {run.id: run.fingerprint for run in runs}
    found: dict[str, list[Attempt]] = {run: [] for run in wanted}
    for attempt in attempts:
        if wanted.get(attempt.run) == attempt.fingerprint:
            found[attempt.run].append(attempt)
    return found

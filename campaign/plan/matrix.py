"""A campaign and its settled rule pack -> the runs and the cells of the table. Pure.

The cells follow from the rule pack and the targets alone, so that the table has all its rows, whatever could be run.
"""

from __future__ import annotations

import hashlib
import json
import random
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.config.format import Campaign, Target
from campaign.config.rules import facts, formulas, sweeps
from campaign.config.rules.entries import FileConfiguration, LaunchCondition
from campaign.config.rules.kinds import FILL, GEOMETRY, PLACES
from campaign.config.rules.pack import RulePack, swept_values
from campaign.config.rules.programs import Phase
from campaign.config.values import share_of
from campaign.core import keys
from campaign.core.errors import InputError
from campaign.core.frozen import replace
from campaign.core.grouping import grouped
from campaign.core.runs import SRUN, Attempt, Cell, Command, Geometry, Launcher, Run
from campaign.plan.dialect import Dialect, offset_argument
from campaign.plan.search.records import SearchRequest


@dataclass(frozen=True, slots=True)
class Executable:
    """A program of the benchmark, and what it takes -N for."""

    path: str
    dialect: Dialect = Dialect.RANK_OFFSET


@dataclass(frozen=True, slots=True)
class ChosenGeometry:
    """A geometry found by a search, for the cells of these operations; `reason` is a sentence."""

    geometry: Geometry
    operations: tuple[str, ...]
    reason: str


# The functions of the job script for phases without a program: called with a path, and a text or the
# path of an input.
REMOVE, WRITE, COPY = "campaign_remove", "campaign_write", "campaign_copy"

Combination = tuple[str, str, str]  # target, launch condition, file configuration


@dataclass(frozen=True, slots=True)
class Blueprint:
    """What every run of a campaign is made from."""

    campaign: Campaign
    pack: RulePack
    executables: Mapping[str, Executable]  # by the program's name in the pack


def cells(campaign: Campaign, pack: RulePack) -> tuple[Cell, ...]:
    """All entries of the table, in its order."""
    return pack.cells(target.name for target in campaign.targets)


def items(campaign: Campaign, pack: RulePack, geometry: Geometry) -> tuple[int, int] | None:
    """(items per process, items in total): the required total, or the next larger one if it does not divide."""
    total = campaign.items_total or pack.items_total.get(campaign.profile)
    if total is None:
        return None
    per_process = -(-total // geometry.processes)
    if not pack.items_at_least and per_process * geometry.processes != total:
        raise InputError(
            f"{geometry.processes} processes cannot split {total} {pack.items_unit} evenly, as clause "
            f"{pack.items_clause} requires; choose a divisor of {total}"
        )
    return per_process, per_process * geometry.processes


def expand(
    campaign: Campaign,
    pack: RulePack,
    geometries: Mapping[str, Geometry],
    executables: Mapping[str, Executable],
    searched_geometries: Mapping[Combination, Sequence[ChosenGeometry]] | None = None,
    nodes: Sequence[str] = (),
) -> tuple[Run, ...]:
    """The runs of every launch condition that has a geometry, in the order of execution. `searched_geometries`: those
    that searches chose. `nodes`: those that run by themselves under a launch condition of each node.

    Repetitions are blocks: each contains every run once, in random order if there are several, so that a drift of the
    system is not mistaken for an effect.
    """
    blueprint = Blueprint(campaign, pack, executables)
    fixed_geometries = {
        name: (ChosenGeometry(geometry, _all_operations(pack, name), ""),) for name, geometry in geometries.items()
    }
    runs: list[Run] = []
    for target in campaign.targets:
        first_repetition = [
            _cell_run(blueprint, (target.name, launch.id, files.id), choice, node)
            for launch in pack.launch
            for files in pack.files
            for choice in fixed_geometries.get(launch.id)
            or (searched_geometries or {}).get((target.name, launch.id, files.id), ())
            for node in (_chunks(launch, nodes, campaign.name) if launch.each_node else {"": ()}).items()
        ]
        for repetition in range(1, campaign.repetitions + 1):
            block = [replace(run, id=f"{run.id}.r{repetition}", repetition=repetition) for run in first_repetition]
            if campaign.repetitions > 1:
                random.Random(f"{campaign.name}/{target.name}/{repetition}").shuffle(block)
            runs += block
    return tuple(runs)


def _all_operations(pack: RulePack, launch: str, files: str = "") -> tuple[str, ...]:
    return tuple(operation.id for operation in pack.operations_of(launch, files))


def _chunks(condition: LaunchCondition, nodes: Sequence[str], seed: str) -> dict[str, tuple[str, ...]]:
    """The nodes that run by themselves under a launch condition, each by its name, or chunks of them by number."""
    size = share_of(condition.share, 1)
    if size == 1:
        return dict.fromkeys(nodes, ())
    if len(nodes) < size:
        raise InputError(
            f"launch.{condition.id}: needs {size} usable nodes ({condition.requirement}); found {len(nodes)}"
        )
    count = -(-len(nodes) // size)
    orders = {
        "contiguous": nodes,
        "spread": [node for first in range(count) for node in nodes[first::count]],
        "random": random.Random(f"{seed}/{condition.id}").sample(nodes, len(nodes)),
    }
    order = [*orders[condition.chunks], *orders[condition.chunks]]  # the last chunk is filled up from the first
    return {f"chunk{number + 1}": tuple(order[number * size :][:size]) for number in range(count)}


def _cell_run(
    blueprint: Blueprint, combination: Combination, choice: ChosenGeometry, node: tuple[str, tuple[str, ...]]
) -> Run:
    """A run that cells report, by the name that its repetitions share."""
    everything = choice.operations == _all_operations(blueprint.pack, combination[1])
    part = "" if everything else f".{'+'.join(choice.operations)}"
    part += f".{node[0]}" if node[0] else ""
    run = _run(blueprint, combination, f"{'.'.join(combination)}{part}", choice.geometry, *node)
    notes = (choice.reason, *run.notes) if choice.reason else run.notes
    operations = _all_operations(blueprint.pack, *combination[1:])
    return replace(run, operations=tuple(filter(operations.__contains__, choice.operations)), notes=notes)


def search_name(combination: Combination, request: SearchRequest) -> str:
    return f"{'.'.join(combination)}.{request.name}"


def search_run(blueprint: Blueprint, combination: Combination, request: SearchRequest) -> Run:
    """A run of a search: measured like any other, but not reported in a cell."""
    run = _run(blueprint, combination, search_name(combination, request), request.geometry)
    return replace(run, repetition=request.block, phase=request.phase)


def _run(
    blueprint: Blueprint,
    combination: Combination,
    name: str,
    geometry: Geometry,
    node: str = "",
    chunk: tuple[str, ...] = (),
) -> Run:
    campaign, pack = blueprint.campaign, blueprint.pack
    target = next(target for target in campaign.targets if target.name == combination[0])
    files = next(files for files in pack.files if files.id == combination[2])
    per_process, total = items(campaign, pack, geometry) or (None, None)
    values = {**{name: str(getattr(geometry, name)) for name in GEOMETRY}, **swept_values(pack, geometry)}
    if total is not None:
        values |= {"items_per_process": str(per_process), "items_total": str(total)}
    of_node = {
        facts.MEMORY: campaign.slurm.node_memory,
        facts.CORES: campaign.slurm.node_cores,
        facts.DEVICES: campaign.proposed.devices,
        facts.DEVICE_MEMORY: campaign.proposed.device_memory,
    }
    node_values = {name: str(value) for name, value in of_node.items() if value is not None}
    variables = pack.values_of(*combination)
    values = {**{name: variables[name] for name in pack.varying}, **values}
    numbers = formulas.numbers(geometry, {**node_values, **variables, **values})
    values |= {entry.id: entry.path for entry in campaign.inputs}
    condition = next(condition for condition in pack.launch if condition.id == combination[1])
    threads = int(_compute(f"{{={condition.threads}}}", numbers)) if condition.threads else 0
    numbers = {"threads": threads, **numbers} if threads else numbers
    run = Run(
        id=name,
        target=target.name,
        launch=combination[1],
        files=files.id,
        repetition=1,
        geometry=geometry,
        directory=target.directory,
        commands=tuple(_commands(blueprint, combination[1], files, geometry, values, numbers)),
        operations=_all_operations(pack, combination[1]),
        items_per_process=per_process,
        items_total=total,
        notes=(),
        fingerprint="",
        launcher=campaign.launcher.of_launch(combination[1]),
        threads=threads,
        environment=tuple((entry.name, None if entry.forbidden else entry.value) for entry in pack.environment),
        node=node,
        chunk=chunk,
        inputs=campaign.inputs,
        gres=_requested_gres(condition, campaign),
        prepare=target.prepare,
        energy=campaign.energy.job_setting,
    )
    notes = tuple(_notes(blueprint, run))
    return replace(run, notes=notes, fingerprint=fingerprint(run, _deciding_settings(campaign)))


def _requested_gres(condition: LaunchCondition, campaign: Campaign) -> str:
    """The generic resources that a run requests: the launch condition's, and the campaign file's of other kinds."""
    kind = condition.gres.partition(":")[0]
    other_kinds = [requested for requested in campaign.slurm.gres if requested.partition(":")[0] != kind]
    return ",".join([condition.gres, *other_kinds] if kind else other_kinds)


def _notes(blueprint: Blueprint, run: Run) -> Iterator[str]:
    """Notes for the report about a run's numbers."""
    campaign, pack = blueprint.campaign, blueprint.pack
    items_total = campaign.items_total or pack.items_total.get(campaign.profile)
    if run.items_total != items_total:
        yield (
            f"{items_total} {pack.items_unit} are not divisible by {run.geometry.processes} processes: rounded up to "
            f"{run.items_per_process} each, {run.items_total} in total"
        )
    offsets = {phase.program for phase in pack.phases if "{rank_offset}" in phase.arguments}
    offset_notes = (
        offset_argument(blueprint.executables[program].dialect, run.geometry)[1] for program in sorted(offsets)
    )
    yield from dict.fromkeys(filter(None, offset_notes))
    if campaign.slurm.environment:
        variables = ", ".join(f"{k}={v}" for k, v in campaign.slurm.environment)
        yield f"the campaign file sets {variables}"
    if run.launcher != SRUN:
        inside = f", with the programs of image {run.launcher.image}" if run.launcher.image else ""
        yield f"launched by {_launcher_text(run.launcher)}{inside}, as set in the campaign file"
    if campaign.slurm.template:
        yield f"custom job template: {campaign.slurm.template.name}"


def _launcher_text(launcher: Launcher) -> str:
    words = [launcher.program, *launcher.options]
    return shlex.join([*words, "...", *launcher.prefix] if launcher.prefix else words).replace("'...'", "...")


def _deciding_settings(campaign: Campaign) -> list[object]:
    """The other settings of the campaign file that decide what is executed, and where."""
    settings = [*keys.deciding(campaign.slurm).values()]
    settings += [per_core] if (per_core := campaign.slurm.processes_per_core) else []
    return ["" if value is None else str(value) if isinstance(value, Path) else value for value in settings]


def _commands(
    blueprint: Blueprint,
    launch: str,
    files: FileConfiguration,
    geometry: Geometry,
    values: Mapping[str, str],
    numbers: Mapping[str, float],
) -> Iterator[Command]:
    """The commands of a run; those that start together are on nodes behind each other."""
    behind = 0
    for phase in (phase for phase in blueprint.pack.phases if phase.runs_under(launch)):
        command = _phase_command(blueprint, phase, files, geometry, values, numbers, behind if phase.beside else 0)
        behind = command.first_node + (command.geometry or geometry).nodes
        if phase.beside and phase.nodes not in PLACES and behind > geometry.nodes:
            raise InputError(
                f"phase {phase.id}: needs {behind} nodes together with the phases that start with it; allowed: "
                f"{geometry.nodes}, the nodes of launch condition {launch}; change `nodes` of one of these phases"
            )
        yield from _copies(command, phase, geometry, numbers) if phase.copies else [command]


def _phase_command(
    blueprint: Blueprint,
    phase: Phase,
    files: FileConfiguration,
    geometry: Geometry,
    values: Mapping[str, str],
    numbers: Mapping[str, float],
    first_node: int,
) -> Command:
    """A phase's command with its formulas computed; placeholders of counts are the phase's own, if it has any.
    `first_node`: the node from which on nodes are free for it.
    """
    phase_geometry = _phase_geometry(phase, geometry, numbers) if phase.has_counts else None
    if phase_geometry:
        values = {**values, **{name: str(getattr(phase_geometry, name)) for name in GEOMETRY}}
        numbers = {**numbers, **formulas.numbers(phase_geometry, {})}
    command = _command(blueprint, phase, files, phase_geometry or geometry, values)
    first_node = max(first_node, geometry.nodes) if phase.program and phase.nodes == "other" else first_node
    words = tuple(_compute(word, numbers) for word in command.arguments)
    return replace(command, arguments=words, geometry=phase_geometry, first_node=first_node, beside=bool(phase.beside))


def _copies(command: Command, phase: Phase, geometry: Geometry, numbers: Mapping[str, float]) -> Iterator[Command]:
    """The copies of a phase, which start together: on blocks of nodes of its size, the same number on each as far as
    that is possible, and together no more on a node than the launch condition's processes.
    """
    size = command.geometry or geometry
    blocks = geometry.nodes // size.nodes
    most = blocks * (geometry.processes_per_node // size.processes_per_node)
    count = most if phase.copies == FILL else int(_compute(f"{{={phase.copies}}}", numbers))
    if not 0 < count <= most:
        raise InputError(
            f"phase {phase.id}: {count} copies of {size}; allowed: 1 to {most}, for which the launch condition "
            f"({geometry}) has room; change `copies`, `nodes` or `processes` of the phase, or the launch condition"
        )
    for number in range(count):
        yield replace(
            command,
            phase=f"{phase.id}.{number + 1}",
            arguments=tuple(sweeps.fill(word, {"copy": str(number + 1)}) for word in command.arguments),
            first_node=number * blocks // count * size.nodes,
            beside=number > 0,
        )


def _phase_geometry(phase: Phase, geometry: Geometry, numbers: Mapping[str, float]) -> Geometry:
    """The counts of a phase's own, some of which may be those of the launch condition."""
    nodes = geometry.nodes if phase.nodes in PLACES else int(_compute(f"{{={phase.nodes}}}", numbers))
    per_node = geometry.processes_per_node
    processes = int(_compute(f"{{={phase.processes}}}", numbers)) if phase.processes else nodes * per_node
    if not 0 < nodes <= min(processes, geometry.nodes):
        raise InputError(
            f"phase {phase.id}: {processes} processes on {nodes} nodes; allowed: 1 to {geometry.nodes} nodes, as the "
            "launch condition has, with one process or more on each; change `nodes` or `processes` of the phase"
        )
    return Geometry(nodes, processes)


def _command(
    blueprint: Blueprint, phase: Phase, files: FileConfiguration, geometry: Geometry, values: Mapping[str, str]
) -> Command:
    pack, extra = blueprint.pack, blueprint.campaign.benchmark.further(phase.program)
    if not phase.program:
        words = _arguments(pack, phase, files, values)
        function = REMOVE if len(words) == 1 else COPY if phase.has_input else WRITE
        return Command(function, words, phase.id, untimed=True)
    executable, prefix = blueprint.executables[phase.program], blueprint.campaign.launcher.prefix
    offset, _ = offset_argument(executable.dialect, geometry)
    words = _arguments(pack, phase, files, {**values, "rank_offset": str(offset)})
    program = pack.program(phase.program)
    file = program.results.file if program.results else ""
    end = program.last_line if blueprint.campaign.benchmark.path(phase.program) else ""
    return Command(executable.path, words + extra, phase.id, phase.program, prefix=prefix, file=file, end=end)


def _compute(text: str, numbers: Mapping[str, float]) -> str:
    try:
        return formulas.compute(text, numbers)
    except ValueError as error:
        raise InputError(str(error)) from error


def _arguments(pack: RulePack, phase: Phase, files: FileConfiguration, values: Mapping[str, str]) -> tuple[str, ...]:
    """The phase's arguments with derived values; {directory} stays, since each attempt has its own."""
    words: list[str] = []
    for word in phase.arguments:
        if word == "{flags}":
            words += files.flags
            continue
        filled = sweeps.fill(word, values)
        unknown = [name for name in sweeps.names(filled) if name not in ("directory", "copy")]
        if unknown:
            allowed = ", ".join(f"{{{key}}}" for key in [*values, "directory", "flags"])
            raise InputError(
                f"rule pack {pack.id}: arguments: unknown placeholder {{{unknown[0]}}}; allowed: {allowed}"
            )
        words.append(filled)
    return tuple(words)


def fingerprint(run: Run, settings: Sequence[object] = ()) -> str:
    """Hash of all that decides what a run executes: attempts with another one do not count for it."""
    started_by = run.launcher
    words = {"program": started_by.program, "options": started_by.options}
    words |= {"placement": started_by.placement, "prefix": started_by.prefix}
    launcher = () if started_by == SRUN else (words,)
    where = (run.geometry.nodes, run.geometry.processes, run.directory)
    threads = (f"threads={run.threads}",) if run.threads else ()
    node = (
        *([f"node={','.join(run.only_nodes)}"] if run.only_nodes else []),
        *([f"gres={run.gres}"] if run.gres else []),
    )
    inputs = [f"input={input_file.id} {input_file.sha256}" for input_file in run.inputs]
    variables = (run.environment,) if run.environment else ()
    inputs += [f"prepare={command}" for command in run.prepare]
    parts = [*where, *_deciding_words(run.commands), *settings, *launcher, *threads, *node, *inputs, *variables]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _deciding_words(commands: Sequence[Command]) -> Iterator[object]:
    """The parts of commands that decide what is executed."""
    for command in commands:
        yield from (
            [name, command.first_node if command.beside else command.first_node > 0] for name in command.phase_names
        )
        if command.geometry:
            yield [command.geometry.nodes, command.geometry.processes]
        if command.file:
            yield [command.file]
        yield from (command.executable, *command.arguments)


def batches(runs: Sequence[Run], allocation: str) -> tuple[tuple[Run, ...], ...]:
    """Runs grouped into jobs: one each (`run`), those with one target and `geometry`, or `one` job per target.

    Repetitions are independent: each is in a job of its own, unless all runs share one. Each round of a search is one
    job, since the next round depends on it. A node that runs by itself has jobs of its own.
    """
    return tuple(map(tuple, grouped((shared_properties(run, allocation), run) for run in runs).values()))


def shared_properties(run: Run, allocation: str) -> tuple[object, ...]:
    """What the runs of a job have in common."""
    if allocation == "run":
        return (run.id,)
    repetition = (run.phase, run.repetition) if allocation == "geometry" or run.phase else ()
    geometry = run.geometry if allocation == "geometry" else None
    return run.target, run.node, run.shares_target, repetition, run.gres, geometry


def independent_targets(targets: Iterable[Target], name: str) -> frozenset[str]:
    """The targets that may be measured together with this one: both have a storage name, and the names differ."""
    storage = {target.name: target.storage for target in targets}
    system = storage.get(name)
    return frozenset(
        other for other, other_system in storage.items() if system and other_system and other_system != system
    )


def attempts_by_run(runs: Iterable[Run], attempts: Iterable[Attempt]) -> dict[str, list[Attempt]]:
    """The attempts used for each run: those with the run's current settings."""
    fingerprints = {run.id: run.fingerprint for run in runs}
    attempts_with_settings = grouped(
        (attempt.run, attempt) for attempt in attempts if fingerprints.get(attempt.run) == attempt.fingerprint
    )
    return {run: attempts_with_settings.get(run, []) for run in fingerprints}

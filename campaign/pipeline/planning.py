"""From a campaign file to its plan: rule pack, geometries, the state of searches, runs."""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from campaign.config import resolution
from campaign.config.definition import BY_PLAN, Definition, digest_of_input, load
from campaign.config.format import Campaign
from campaign.config.launch import AllCores
from campaign.config.rules import facts
from campaign.config.search import Searched
from campaign.config.values import ALL, SEARCH
from campaign.core import atomic, journal, resources
from campaign.core.decode import decode
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.grouping import grouped
from campaign.core.runs import Geometry, Input, Run
from campaign.pipeline import places
from campaign.plan import adaptive, matrix
from campaign.plan.dialect import Dialect, identify
from campaign.results.case import Case
from campaign.results.store import is_begun
from campaign.slurm import commands, partitions, scripts
from campaign.slurm.collect import open_store


@dataclass(frozen=True, slots=True)
class EarlierPlan:
    """What plan.json keeps of an earlier plan: later ones of the same campaign do not decide it again."""

    partition: partitions.Partition | None = None  # a node that went down since does not change launch conditions
    executable: str = ""  # path, size and time of the external benchmark whose dialect is known
    dialect: str = ""
    partition_written: str | None = None  # slurm.partition as in the campaign file
    file: str = ""  # the campaign file
    built_in: Path | None = None  # the directory of the built-in programs of its runs
    inputs: tuple[Input, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """`unresolved`: launch conditions without a geometry, with the reason. `runs` are those that cells report.
    `slurm_partition`: Slurm's answer, if it was asked for this plan. `earlier`: what plan.json held before.
    """

    runs: tuple[Run, ...]
    unresolved: dict[str, str]
    dialect: str  # what -N means to an external mdtest
    partition: partitions.Partition | None = None  # as it was when the campaign began
    searches: tuple[adaptive.SearchProgress, ...] = ()
    slurm_partition: partitions.Shown | None = None
    earlier: EarlierPlan = field(default_factory=EarlierPlan)
    inputs: tuple[Input, ...] = ()  # each with the hash that it must have

    @property
    def all_runs(self) -> tuple[Run, ...]:
        """All runs, including those of searches, which may share some."""
        return adaptive.all_runs(self.searches, self.runs)

    @property
    def settled(self) -> tuple[object, ...]:
        """What judgements depend on besides the runs."""
        return self.partition, self.dialect, self.inputs, self.unresolved


def plan(definition: Definition, may_submit: bool = False) -> Plan:
    """Resolve the geometries and expand the matrix.

    Asks Slurm only if the file says `all`, and an external benchmark what its -N means, unless an earlier plan has
    settled it. `may_submit`: the benchmark may be asked on a compute node if it does not start on this one. Raises
    InputError if the results belong to another campaign file.
    """
    earlier = read_earlier_plan(definition)
    if owner := _other_owner(definition, earlier):
        problem = (
            f"found {definition.campaign.name}, but {definition.paths.root} holds the results of {owner}; give this "
            "campaign another name, or another results directory"
        )
        raise places.refusal(definition.campaign, [places.Mistake(("name",), problem)])
    partition, slurm_partition, unresolved = _find_partition(definition, earlier)
    dialect = _find_dialect(definition, earlier, may_submit)
    searches: Sequence[adaptive.Search] = ()
    if partition is not None and any(
        isinstance(condition, Searched) for condition in definition.campaign.launch.values()
    ):
        try:
            searches = adaptive.plan_searches(
                definition.campaign,
                definition.pack,
                partition.job_nodes,
                partition.processors(definition.campaign.slurm),
            )
        except EnvironmentLacks as error:
            unresolved["search"] = str(error)
    inputs = tuple(_inputs(definition.campaign, earlier))
    planned = Plan((), unresolved, dialect, partition, slurm_partition=slurm_partition, earlier=earlier, inputs=inputs)
    return _with_runs(definition, planned, searches)


def _inputs(campaign: Campaign, earlier: EarlierPlan) -> Iterator[Input]:
    """The input files with their hashes: as declared, as in an earlier plan, or as they are now."""
    hashes = {input_file.path: input_file.sha256 for input_file in earlier.inputs}
    for input_file in campaign.inputs:
        digest = input_file.sha256 or hashes.get(input_file.path) or digest_of_input(input_file.path)
        yield replace(input_file, sha256=digest, by=input_file.by or BY_PLAN)


def _other_owner(definition: Definition, earlier: EarlierPlan) -> str:
    """The campaign file that these results belong to, if it exists and is another one; "" otherwise."""
    file = Path(earlier.file)
    if resolution.is_replayed() or not file.is_file() or file.samefile(definition.campaign.path):
        return ""
    try:
        return earlier.file if load(file, definition.campaign.part)[0].results == definition.campaign.results else ""
    except InputError:  # the file is being edited
        return earlier.file


def update_plan(definition: Definition, planned: Plan) -> Plan:
    """The plan, updated by what has been measured since."""
    if not (planned.searches or definition.campaign.sequential):
        return planned
    return _with_runs(definition, planned, [search.search for search in planned.searches])


def _with_runs(definition: Definition, planned: Plan, searches: Sequence[adaptive.Search]) -> Plan:
    """With the state of these searches, and the runs that cells report, including the repetitions that recorded results
    require.
    """
    pack, sequential = definition.pack, definition.campaign.sequential
    campaign = replace(_as_begun(definition, planned.earlier), inputs=planned.inputs)
    if planned.partition is not None:
        campaign = replace(campaign, slurm=planned.partition.fill_in(campaign.slurm))
    slurm, proposed = campaign.slurm, campaign.proposed
    node_values = (
        (facts.MEMORY, slurm.node_memory, "of a node, which Slurm does not report; set slurm.node_memory"),
        (facts.CORES, slurm.node_cores, "of a node, which Slurm does not report"),
        (facts.DEVICES, proposed.devices, "(accelerators of a node); set proposed.devices"),
        (facts.DEVICE_MEMORY, proposed.device_memory, "(of an accelerator); set proposed.device_memory"),
    )
    unknown_values = {
        name: f"the rules need {name} {remedy}"
        for name, value, remedy in node_values
        if value is None and pack.is_computed_from(name)
    }
    if unknown_values:
        return replace(planned, unresolved={**planned.unresolved, **unknown_values})
    executables = _executables(definition, planned)
    blueprint = matrix.Blueprint(campaign, pack, executables)
    most_repetitions = replace(campaign, repetitions=sequential.most) if sequential else campaign
    geometries = _geometries(campaign, planned.partition)
    nodes = planned.partition.names if planned.partition else ()
    needs_results = searches or sequential
    with _results_by_run(definition, planned) if needs_results else nullcontext(lambda run: ()) as results:
        progress = tuple(adaptive.replay_search(search, blueprint, results) for search in searches)
        found = adaptive.found_geometries(progress)
        runs = matrix.expand(most_repetitions, pack, geometries, executables, found, nodes)
        return replace(planned, searches=progress, runs=adaptive.needed_repetitions(campaign, pack, runs, results))


def _executables(definition: Definition, planned: Plan) -> dict[str, matrix.Executable]:
    """Each program of the pack by name: the campaign file's, otherwise the built-in one."""
    executables = {}
    for program in definition.pack.programs:
        path = definition.campaign.benchmark.path(program.id)
        dialect = Dialect(planned.dialect) if path and planned.dialect else Dialect.RANK_OFFSET
        executables[program.id] = matrix.Executable(
            str(path or benchmark_directory(definition, planned.earlier) / program.applet), dialect
        )
    return executables


def benchmark_directory(definition: Definition, earlier: EarlierPlan) -> Path:
    """The directory of the built-in benchmark's binaries, or the one used when the campaign was run.

    Results keep the binary that they were measured with, even if this program is installed elsewhere now: one campaign
    is measured with one binary. CAMPAIGN_BENCHMARK overrides that.
    """
    return resolution.path("bench-src/build", lambda: _measured_directory(definition, earlier) or resources.binaries())


def _measured_directory(definition: Definition, earlier: EarlierPlan) -> Path | None:
    if "CAMPAIGN_BENCHMARK" in os.environ or (earlier.executable and len(_built_in_applets(definition)) == 1):
        return None
    return earlier.built_in


def _built_in_applets(definition: Definition) -> set[str]:
    programs, benchmark = definition.pack.programs, definition.campaign.benchmark
    return {program.applet for program in programs if benchmark.path(program.id) is None}


def build_problem(definition: Definition, earlier: EarlierPlan) -> str:
    """The problem if the witness, or the built-in benchmark that the campaign needs, is not built; "" otherwise."""
    default_directory, directory = resources.binaries(), benchmark_directory(definition, earlier)
    for program in definition.pack.programs:
        path = directory / program.applet
        if definition.campaign.benchmark.path(program.id) is not None:
            continue
        if path.exists() and (trouble := places.execution_problem(path)):
            return trouble
        if not path.exists() and directory == default_directory:
            return _not_built_text(path)
        if not path.exists():
            return (
                f"this campaign was measured with {path}, which no longer exists; restore it, or set "
                f"CAMPAIGN_BENCHMARK={default_directory} to measure everything again"
            )
    return "" if resources.witness().exists() else _not_built_text(resources.witness())


def _not_built_text(path: object) -> str:
    return f"the benchmark is not built: {path} not found; run 'campaign build'"


def _find_partition(
    definition: Definition, earlier: EarlierPlan
) -> tuple[partitions.Partition | None, partitions.Shown | None, dict[str, str]]:
    """The partition if it is needed, Slurm's answer if it was asked, and why launch conditions have no geometry."""
    campaign, pack = definition.campaign, definition.pack
    with_memory = pack.is_computed_from(facts.MEMORY) and campaign.slurm.node_memory is None
    words = {AllCores: ALL, Searched: SEARCH}
    unresolved = {name: words[type(wish)] for name, wish in campaign.launch.items() if type(wish) in words}
    if earlier.partition is not None or not (unresolved or with_memory or pack.is_computed_from(facts.CORES)):
        return earlier.partition, None, {}
    if resolution.is_replayed():
        return (
            None,
            None,
            {name: f"plan.json does not record the process count of launch.{name}" for name in unresolved},
        )
    if unresolved and not definition.paths.plan.exists() and (definition.paths.root / "jobs").is_dir():
        # The partition may have changed since the campaign began.
        keys = ", ".join(f"launch.{name}" for name in unresolved)
        raise EnvironmentLacks(
            f"{definition.paths.plan}: missing, although the campaign has begun; only this file says what {keys} meant "
            "then: restore it from a backup or a bundle, or write the numbers of processes into the campaign file"
        )
    slurm_partition = None
    try:
        slurm_partition = partitions.ask(campaign.slurm)
        if slurm_partition.partition.job_nodes > 0:
            return slurm_partition.partition, slurm_partition, {}
        cause = (
            f"but no node is usable ({slurm_partition.partition.account}); name another partition under "
            "slurm.partition, or ask the administrator"
        )
    except (EnvironmentLacks, partitions.NotInSlurm) as error:
        cause = f"which needs the size of the partition from Slurm: {error}"
    return None, slurm_partition, {name: f"launch.{name} is {word}, {cause}" for name, word in unresolved.items()}


@contextmanager
def _results_by_run(definition: Definition, planned: Plan) -> Iterator[adaptive.Results]:
    """A function that gives the judged attempts of a run, within the context; kept judgements are used."""
    if not is_begun(definition.paths):
        yield lambda run: ()
        return
    from campaign.judge import engine, judgements  # not needed before anything has run

    with open_store(definition.paths, definition.pack.outputs) as store:
        attempts = grouped((attempt.run, attempt) for attempt in store.attempts())
        records, observations, evidence = store.records(), store.observations(), store.evidence()
        basis = judgements.digest_of_basis(definition, *planned.settled)
        judged = judgements.JudgedAttempts(store, basis, engine.judge)

        @functools.cache
        def results_of_run(run: Run) -> list[Case]:
            of_run = attempts.get(run.id, [])
            return engine.cases_of_runs(definition, [run], of_run, records, observations, evidence, judged.findings)

        yield results_of_run
        judged.keep()


def read_earlier_plan(definition: Definition) -> EarlierPlan:
    """What an earlier plan settled. Raises EnvironmentLacks if plan.json is damaged, or is another campaign's, whose
    journal begins differently.
    """
    path = definition.paths.plan
    try:
        data = path.read_bytes()
        stored = json.loads(_without_runs(data))
        if not isinstance(stored, dict):
            raise ValueError(f"not an object: {json.dumps(stored)[:100]}")
        earlier = decode(EarlierPlan, stored, pass_over_unknown=True)
    except (FileNotFoundError, NotADirectoryError):
        return EarlierPlan()
    except (ValueError, RecursionError, IsADirectoryError) as error:
        cause = getattr(error, "strerror", None) or repr(error)
        raise EnvironmentLacks(
            f"{path}: damaged ({cause}); restore it from a backup, or remove it to plan again"
        ) from error
    # A verification checks the journal itself.
    journal_beginning = "" if resolution.is_replayed() else journal.first_event_hash(definition.paths.journal)
    if journal_beginning and stored.get("journal", "") not in ("", journal_beginning):
        raise EnvironmentLacks(
            f"{path}: the plan of another campaign ({stored.get('campaign')}, results in {stored.get('results')}); "
            "restore this campaign's own from a backup or a bundle, or remove it to plan again"
        )
    applets = _built_in_applets(definition)
    with suppress(LookupError, TypeError, ValueError):
        prefix_length = len(stored.get("prefix", []))
        argvs = _ARGV.finditer(data) if applets else ()
        programs = (Path(json.loads(match[1])[prefix_length]) for match in argvs)
        directory = next((path.parent for path in programs if path.is_absolute() and path.name in applets), None)
        earlier = replace(earlier, built_in=directory)
    return earlier


_RUNS = b'\n "runs": ['  # of a file that `write_plan` wrote
_ARGV = re.compile(rb'"argv": (\[\s*(?:"(?:[^"\\]|\\.)*"[\s,]*)*\])')


def _without_runs(plan: bytes) -> bytes:
    """The content of plan.json without its runs: a hundred thousand take five times the memory of their text."""
    begin = plan.find(_RUNS) + len(_RUNS)
    end = plan.find(b"\n ]", begin)
    return plan[:begin] + plan[end:] if len(_RUNS) <= begin < end else plan


def _as_begun(definition: Definition, earlier: EarlierPlan) -> Campaign:
    """The campaign as it was written when it began, if the current text means the same, so that results count for both:
    the default partition with or without its name, and slurm.environment in any order.
    """
    partition_written, partition = earlier.partition_written, earlier.partition
    slurm = replace(definition.campaign.slurm, environment=tuple(sorted(definition.campaign.slurm.environment)))
    if (
        partition_written is not None
        and partition
        and partition.default
        and {slurm.partition, partition_written} <= {"", partition.name}
    ):
        slurm = replace(slurm, partition=partition_written)
    return replace(definition.campaign, slurm=slurm)


def _geometries(campaign: Campaign, partition: partitions.Partition | None) -> dict[str, Geometry]:
    """The geometries that the campaign file or the partition determines."""
    geometries = {name: wish for name, wish in campaign.launch.items() if isinstance(wish, Geometry)}
    if partition is not None:
        size = partition.job_nodes, partition.processors(campaign.slurm)
        geometries |= {
            name: wish.geometry(*size) for name, wish in campaign.launch.items() if isinstance(wish, AllCores)
        }
    return geometries


def _external_mdtest(definition: Definition) -> Path | None:
    """The external program whose -N the pack sets; None for the built-in one, or if the rules set no -N."""
    offsets = {phase.program for phase in definition.pack.phases if "{rank_offset}" in phase.arguments}
    paths = (definition.campaign.benchmark.path(program) for program in sorted(offsets))
    return next((path for path in paths if path is not None), None)


def _executable_identity(definition: Definition) -> str:
    """The identity of the external benchmark's file, so that another build is asked again; its path if it is not on
    this machine.
    """
    path = _external_mdtest(definition) or definition.campaign.benchmark.executable
    if path is None:
        return ""
    image = definition.campaign.launcher.image
    if resolution.is_replayed() or image:
        return f"{path} in {image}" if image else str(path)
    try:
        status = path.stat()
    except OSError:
        return str(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _find_dialect(definition: Definition, earlier: EarlierPlan, may_submit: bool) -> str:
    """What -N means to an external benchmark; "" for the built-in one, or if the rules set no -N."""
    benchmark, path = definition.campaign.benchmark, _external_mdtest(definition)
    if path is None:
        return ""
    if benchmark.dialect != "auto":
        return benchmark.dialect
    if earlier.dialect and earlier.executable.startswith(_executable_identity(definition)):
        return earlier.dialect
    if resolution.is_replayed():
        raise EnvironmentLacks(f"plan.json does not record the meaning of -N for {path}; set benchmark.dialect")
    at = next(at for at, program in benchmark.placed if program == path)
    launcher, slurm = definition.campaign.launcher.without_label, definition.campaign.slurm
    if problem := places.image_problem(launcher.image):
        raise places.refusal(definition.campaign, [places.Mistake(("launcher", "image"), problem)])
    if not launcher.image and (problem := places.benchmark_problem(path, launcher.prefix)):
        raise places.refusal(definition.campaign, [places.Mistake(at, problem)])
    options = launcher.options if launcher.image and launcher.is_srun else ()
    one_task = (*commands.one_task(slurm.partition, slurm.mpi), *options) if may_submit else ()
    image = launcher.prefix if launcher.image else None
    try:
        return identify(path, lambda words, timeout_s: commands.call(words, timeout_s).out, one_task, image)
    except InputError as error:
        raise places.refusal(definition.campaign, [places.Mistake(at, str(error))]) from error


def plan_json(definition: Definition, planned: Plan) -> dict[str, Any]:
    """The plan as data: for `plan --json`, and for plan.json beside the results."""
    campaign, pack, earlier = definition.campaign, definition.pack, planned.earlier
    begun = earlier.partition_written if earlier.partition else None
    return {
        "format": 1,
        "campaign": campaign.name,
        "file": str(campaign.path.resolve()),
        "rules": {"id": pack.id, "version": pack.version},
        "profile": campaign.profile,
        "allocation": campaign.slurm.allocation,
        "results": str(definition.paths.root),
        "journal": journal.first_event_hash(definition.paths.journal),
        "partition": asdict(planned.partition) if planned.partition else None,
        "partition_written": campaign.slurm.partition if begun is None else begun,
        "environment_order": [name for name, _ in _as_begun(definition, earlier).slurm.environment],
        "searches": [adaptive.as_json(search) for search in planned.searches],
        "executable": _executable_identity(definition),
        "prefix": campaign.launcher.prefix,
        "dialect": planned.dialect,
        "inputs": [asdict(input_file) for input_file in planned.inputs],
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
                **({"chunk": run.chunk} if run.chunk else {}),
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


def write_plan(definition: Definition, planned: Plan) -> None:
    """Write plan.json, with one line per run: ten thousand runs indented take a second each."""
    data = plan_json(definition, planned)
    runs = ",\n".join(f"  {json.dumps(run)}" for run in data["runs"])
    text = json.dumps(data | {"runs": []}, indent=1)
    atomic.write(definition.paths.plan, text.replace('\n "runs": []', f'\n "runs": [\n{runs}\n ]', 1) + "\n")

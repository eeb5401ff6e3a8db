"""Whether a campaign can be submitted.

`plan` and `run` both ask here, so that `plan` refuses all that `run` would, with the same words and exit status.
Nothing is submitted.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.config.definition import BY_PACK, Definition, digest_of_input
from campaign.config.format import Campaign
from campaign.config.launcher import IMAGE_OPTIONS
from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.slurm_keys import Slurm
from campaign.core import units
from campaign.core.errors import EnvironmentLacks, InputError, typed_path
from campaign.core.runs import Attempt, Run, State
from campaign.core.strict_yaml import Place, path_text
from campaign.judge.findings import processes_on
from campaign.judge.flags import paths_outside_target
from campaign.judge.submission import Submission
from campaign.pipeline import passed_probe, places, planning
from campaign.pipeline.campaign_state import ComparedSources, journal_damaged, judge_planned
from campaign.pipeline.places import Mistake, refusal
from campaign.pipeline.request import Request
from campaign.pipeline.unsubmitted import distinct_jobs, refused_job
from campaign.plan import matrix
from campaign.results.case import Case
from campaign.results.environment.slurm_text import expand_nodes
from campaign.results.source import modifications
from campaign.results.source.facts import Sources
from campaign.results.store import RecordNames, Store, is_begun
from campaign.slurm import commands, partitions, scripts
from campaign.slurm.collect import open_store


@dataclass(frozen=True, slots=True)
class Checked:
    """A campaign that can be submitted, as far as could be checked. `plan` has the current partition, unless that is
    settled. `missing`: the runs that would be submitted. `compared`: the benchmark's source. `submission`: the plan
    with its findings. `slurm_problem`: why the cluster was not asked, "" if it was. `notes`: remarks that do not
    prevent a submission.
    """

    plan: planning.Plan
    missing: tuple[Run, ...]
    compared: ComparedSources
    submission: Submission
    slurm_problem: str = ""
    notes: tuple[str, ...] = ()
    probe_job: str = ""  # that passed with the same settings

    @property
    def violated(self) -> tuple[list[str], list[str]]:
        """Violations of the runs that would be submitted: those for which they would have to be measured again, and
        those that the campaign file can mend later.
        """
        cells = {cell for run in self.missing for cell in run.cells()}
        violations: tuple[list[str], list[str]] = [], []
        for finding in self.submission.findings if cells else ():
            if finding.violated and (not finding.cells or cells.intersection(finding.cells)):
                values = f"expected {finding.expected}; found {finding.actual or 'none'}"
                text = f"{finding.rule}: {finding.message} ({values})"
                violations[CATALOGUE[finding.rule].is_fixed_afterwards].append(text)
        return list(dict.fromkeys(violations[0])), list(dict.fromkeys(violations[1]))

    @property
    def refused(self) -> list[str]:
        """Violations at full size for which runs would have to be measured again."""
        return self.violated[0] if self.submission.full else []

    @property
    def unchecked(self) -> str:
        """What was not checked, and how to check it."""
        if self.slurm_problem:
            return (
                "not checked: partition, limits, account, QOS, MPI plugin, modules, benchmark, directories (Slurm "
                f"does not answer: {self.slurm_problem})"
            )
        if self.probe_job:
            return f"checked by the probe (job {self.probe_job}), since which nothing that it depends on has changed"
        return (
            "not checked: whether all nodes see the same directories, load the modules and start the benchmark as "
            "one MPI job; 'campaign plan --probe' checks this with a short job"
        )


def preflight(definition: Definition, planned: planning.Plan, request: Request) -> Checked:
    """For `run`: raise all reasons why the campaign cannot be submitted."""
    checked = check(definition, planned, request)
    if checked.refused and not request.despite_violations:
        file = typed_path(definition.campaign.path, definition.campaign.part)
        raise InputError(
            *checked.refused,
            f"these runs would have to be measured again; change the campaign file ('campaign plan {file}' says more), "
            "or measure them all the same with --despite-violations",
        )
    if checked.slurm_problem:
        raise EnvironmentLacks(
            f"Slurm does not answer: {checked.slurm_problem}; 'campaign run --sandbox' starts a cluster on this machine"
        )
    return checked


def check(definition: Definition, planned: planning.Plan, request: Request) -> Checked:
    """All that can be found out without submitting. Raises InputError if the campaign file has to change,
    EnvironmentLacks if something else has. A machine without Slurm is assumed not to be the cluster's: only the file is
    checked there.
    """
    campaign, notes = definition.campaign, list[str]()
    mistakes = list(_placeholders(campaign))
    if mistakes and campaign.profile != "full":
        keys = ", ".join(path_text(mistake.at) for mistake in mistakes)
        unfilled = units.plural(len(mistakes), "placeholder")
        notes.insert(0, f"{unfilled} still to be filled in before a run with profile full: {keys}")
        mistakes.clear()
    compared, unreadable = _compare_sources(campaign)
    mistakes += [*_outside_paths(definition, planned), *unreadable, *_wrong_inputs(planned)]
    slurm_problem = None if planned.slurm_partition else commands.reachable()
    if slurm_problem:
        if mistakes:
            raise refusal(campaign, mistakes)
        missing = missing_runs(definition, planned, request)
        distinct_jobs(definition, missing)
        return Checked(
            planned, missing, compared, judge_planned(definition, planned, compared), slurm_problem, tuple(notes)
        )
    lacks = [*commands.other_clusters()]
    slurm_partition = None
    try:
        slurm_partition = planned.slurm_partition or partitions.ask(campaign.slurm)
        planned = replace(planned, partition=planned.partition or slurm_partition.partition)
        lacks += planned.unresolved.values()
    except partitions.NotInSlurm as error:
        mistakes.append(Mistake(("slurm", error.key), error.text))
    missing = missing_runs(definition, planned, request)
    if missing or any(search.choice is None for search in planned.searches):
        mistakes += [
            *(*_unusable_programs(definition, slurm_partition), *_unusable_launcher(campaign)),
            *(*places.mistakes(definition), *_unknown_mpi(campaign), *_unloadable_modules(campaign)),
        ]
        lacks += filter(None, [planning.build_problem(definition, planned.earlier)])
    if slurm_partition is not None:
        possible = slurm_partition.possible
        notes += _unlike_partitions(definition, slurm_partition.partition)
        notes += [note for answer in possible for note in _partition_notes(answer)]
        own_nodes = [list(_own_node_problem(answer, missing)) for answer in possible if not request.detach]
        lacks += own_nodes[0] if all(own_nodes) and own_nodes else []
        for find_mistakes in (_too_large_runs, _too_long_jobs, _not_admitted_jobs, _too_small_shares):
            mistakes += [mistake for answer in possible for mistake in find_mistakes(definition, missing, answer)]
    jobs = distinct_jobs(definition, missing)
    if slurm_partition is not None and not mistakes and not lacks:
        mistakes += refused_job(jobs, slurm_partition)
    if mistakes:
        raise InputError(*refusal(campaign, mistakes).problems, *lacks)
    if lacks:
        raise EnvironmentLacks("\n".join(lacks))
    submission = judge_planned(definition, planned, compared)
    notes += [*_missing_launchers(campaign), *places.targets_in_jobs(definition, missing), *_ignored_variables()]
    probe_job = passed_probe.find_job(definition, planned.all_runs)
    notes += [] if probe_job else [*places.missing_targets(definition), *_untried_mpi(definition)]
    return Checked(planned, missing, compared, submission, "", tuple(notes), probe_job)


def _outside_paths(definition: Definition, planned: planning.Plan) -> Iterator[Mistake]:
    """Further words that name a path, which would be read or written outside of the target (FLG-05)."""
    benchmark = definition.campaign.benchmark
    extra_words: list[tuple[Place, tuple[str, ...]]] = [(("benchmark", "extra_arguments"), benchmark.extra_arguments)]
    extra_words += [(("benchmark", "program_arguments", name), words) for name, words in benchmark.program_arguments]
    if not any(words for _, words in extra_words):
        return
    path_words = {word for run in planned.runs for word in paths_outside_target(definition.pack, run)}
    for at, words in extra_words:
        for index, word in enumerate(words):
            if word in path_words:
                yield Mistake(
                    (*at, index),
                    f"found {word}, a path outside the target's directory; allowed: words without a path (FLG-05)",
                )


def _wrong_inputs(planned: planning.Plan) -> Iterator[Mistake]:
    """Input files that are not what they must be (INP-01). One whose hash is known may be on the nodes alone."""
    for input_file in planned.inputs:
        digest = digest_of_input(input_file.path)
        if not digest and not input_file.sha256:
            yield Mistake(
                ("inputs",), f"{input_file.id}: {input_file.path}: not found, or not readable; correct the path"
            )
        elif digest not in ("", input_file.sha256):
            remedy = "" if input_file.by == BY_PACK else ", or give its new sha256 in order to measure again with it"
            yield Mistake(
                ("inputs",),
                f"{input_file.id}: {input_file.path} is not the file of {input_file.by}: found SHA-256 {digest}, "
                f"expected {input_file.sha256} (INP-01); restore the file{remedy}",
            )


def missing_runs(definition: Definition, planned: planning.Plan, request: Request) -> tuple[Run, ...]:
    """The chosen runs that have no result and have not been submitted."""
    searched = [run for search in planned.searches for run in search.awaited_runs]
    runs = request.select_runs(definition.campaign, list({run.id: run for run in (*searched, *planned.runs)}.values()))
    if not is_begun(definition.paths):
        return tuple(runs)
    with open_store(definition.paths, definition.pack.outputs) as store:
        if problem := store.journal_problem():
            raise EnvironmentLacks(journal_damaged(path=definition.paths.journal, problem=problem))
        attempts, names = matrix.attempts_by_run(runs, store.attempts()), store.record_names()
        return tuple(run for run in runs if is_missing(definition, store, run, attempts[run.id], names, request))


def is_missing(
    definition: Definition, store: Store, run: Run, attempts: Sequence[Attempt], names: RecordNames, request: Request
) -> bool:
    """Whether the run would be submitted: it is not submitted yet, and has no result unless it is measured `again`."""
    # A benchmark that ends with status 0 but half a table has not given what the cells report.
    return not any(attempt.state.active for attempt in attempts) and (
        request.again or not any(_is_complete(definition, store, run, attempt, names) for attempt in attempts)
    )


def _is_complete(definition: Definition, store: Store, run: Run, attempt: Attempt, names: RecordNames) -> bool:
    """As `Case.complete`; the records are read only where a formula needs their values."""
    case = Case(definition.campaign, definition.pack, run, attempt, (), {})
    if any(operation.formula for operation in case.operations):
        return replace(case, records=store.records_of(run.id, attempt.number)).complete
    return attempt.state is State.DONE and {operation.key for operation in case.operations}.issubset(
        names.get((run.id, attempt.number), ())
    )


# --- the campaign file alone


def _placeholders(campaign: Campaign) -> Iterator[Mistake]:
    """Placeholders of `campaign init` that were not replaced."""
    texts: list[tuple[Place, str]] = [
        *((("targets", index, "description"), target.description) for index, target in enumerate(campaign.targets)),
        *((("declined", index, "reason"), declined.reason) for index, declined in enumerate(campaign.declined)),
        *((("system", key), text) for key, text in campaign.system),
        *((("contact", key), text) for key, text in campaign.contact),
    ]
    for at, text in texts:
        if match := places.PLACEHOLDER.search(text):
            yield Mistake(at, places.placeholder_problem(match[0]))


# --- this machine


def _compare_sources(campaign: Campaign) -> tuple[ComparedSources, list[Mistake]]:
    """The benchmark's source, compared; and source trees, patch or build log that are missing or unreadable."""
    try:
        compared = modifications.compare(campaign)
        modifications.builds(campaign)
        return compared, []
    except InputError as error:
        key, _, problem = str(error).partition(": ")
        return (Sources(problem=problem), b""), [Mistake(tuple(key.split(".")), problem)]


def _unusable_programs(definition: Definition, slurm_partition: partitions.Shown | None) -> Iterator[Mistake]:
    """What is wrong with an external benchmark's program; `plan.not_built` checks the built-in one. An image's programs
    are checked on the nodes.
    """
    image = definition.campaign.launcher.image
    if problem := places.image_problem(image):
        yield Mistake(("launcher", "image"), problem)
    for at, executable in () if image else definition.campaign.benchmark.placed:
        if problem := places.benchmark_problem(executable, definition.campaign.launcher.prefix):
            yield Mistake(at, problem)
        elif slurm_partition is not None and (machine := places.foreign_machine(executable)):
            for nodes in {partitions.architecture(answer.partition.name) for answer in slurm_partition.possible}:
                if nodes and not places.can_run_on(machine, nodes):
                    text = f"{executable} is built for {machine}; the nodes are {nodes}; build it for {nodes}"
                    yield Mistake(at, text)


def _unusable_launcher(campaign: Campaign) -> Iterator[Mistake]:
    """Problems of the launcher and the prefix, if the campaign file gives their absolute paths."""
    for at, word in _launcher_programs(campaign):
        if word.startswith("/") and (problem := places.execution_problem(Path(word))):
            yield Mistake(at, problem)
    by_place: dict[Place, tuple[str, ...]] = {("launcher", "options"): campaign.launcher.options}
    by_place |= {("launch", launch, "options"): options for launch, options in campaign.launcher.by_launch}
    words = [((*at, index), word) for at, options in by_place.items() for index, word in enumerate(options)]
    of_plugins = [(at, word) for at, word in words if word.partition("=")[0].removeprefix("--") in IMAGE_OPTIONS]
    known = commands.srun_options() if of_plugins and campaign.launcher.is_srun else frozenset()
    for at, word in of_plugins if known else ():
        option = word.partition("=")[0]
        if option.removeprefix("--") not in known:
            problem = f"found {option}, which srun does not have here: a plugin of the site provides it"
            yield Mistake(at, f"{problem}; ask the site, or start the image by a prefix")


def _missing_launchers(campaign: Campaign) -> Iterator[str]:
    """Remarks on programs that are not on this machine's PATH: the nodes may have them."""
    for at, word in _launcher_programs(campaign):
        if not word.startswith("/") and not campaign.slurm.modules and shutil.which(word) is None:
            yield (
                f"{path_text(at)}: {word} not found on this machine's PATH; if the nodes lack it too, all runs fail: "
                "correct the name or give the full path"
            )


def _launcher_programs(campaign: Campaign) -> list[tuple[Place, str]]:
    launcher = campaign.launcher
    prefix: list[tuple[Place, str]] = [(("launcher", "prefix", 0), word) for word in launcher.prefix[:1]]
    return [(("launcher", "program"), launcher.program), *prefix]


def _unknown_mpi(campaign: Campaign) -> Iterator[Mistake]:
    plugins = commands.mpi_plugins() if campaign.launcher.is_srun else ()
    if plugins and campaign.slurm.mpi not in plugins:
        problem = f"found {campaign.slurm.mpi}; srun --mpi=list has: {', '.join(plugins)}"
        if not any("pmix" in name for name in plugins):
            problem += (
                ". This Slurm has no PMIx plugin: with Open MPI set 'launcher: {program: mpirun}', with MPICH or Intel "
                "MPI 'slurm.mpi: pmi2'"
            )
        yield Mistake(("slurm", "mpi"), problem)


def _unloadable_modules(campaign: Campaign) -> Iterator[Mistake]:
    modules = campaign.slurm.modules
    if modules and (failing := commands.unloadable(modules)):
        name, cause = failing
        yield Mistake(("slurm", "modules", modules.index(name)), f"{name} cannot be loaded: {cause}")


def _ignored_variables() -> Iterator[str]:
    """That options of sbatch in the environment are not passed on."""
    names = sorted(name for name in os.environ if name.startswith("SBATCH_"))
    if names:
        yield (
            f"{units.listing(names)}: set in this shell, and ignored: jobs have only the options of the campaign file "
            "(slurm)"
        )


def _untried_mpi(definition: Definition) -> Iterator[str]:
    """A remark on a plugin with which no run of the campaign has ended well: the benchmark's MPI may lack it."""
    slurm, is_tried = definition.campaign.slurm, False
    if not definition.campaign.launcher.is_srun or slurm.mpi == Slurm().mpi:
        return
    if is_begun(definition.paths):
        with open_store(definition.paths, definition.pack.outputs) as store:
            is_tried = any(attempt.state is State.DONE for attempt in store.attempts())
    if not is_tried:
        yield (
            f"slurm.mpi: {slurm.mpi} was not tried yet with this benchmark, whose MPI may not have it: 'campaign plan "
            "--probe' launches it, and otherwise finds a setting that works"
        )


# --- the cluster


def _partition_notes(slurm_partition: partitions.Shown) -> Iterator[str]:
    name, terms = slurm_partition.partition.name, slurm_partition.terms
    if terms.state == partitions.DOWN:
        yield f"partition {name} is DOWN: its jobs wait until an administrator sets it UP"
    if terms.shares_nodes:
        yield (
            f"partition {name} has OverSubscribe={terms.sharing}: other jobs may get the same nodes in spite of "
            "--exclusive, which you would have to explain (RUN-04); name another partition"
        )


def _unlike_partitions(definition: Definition, partition: partitions.Partition) -> Iterator[str]:
    """That the maximum is not that of each partition of a list."""
    slurm = definition.campaign.slurm
    sizes = {(possible.job_nodes, possible.processors(slurm)) for possible in partition.alternatives}
    if len(sizes) > 1 and any(condition.whole_system for condition in definition.pack.launch):
        yield (
            f"jobs get one of the partitions {partition.name}, whose sizes differ: the maximum is "
            f"{units.plural(partition.job_nodes, 'node')} of {partition.processors(slurm)} processes, and below the "
            "maximum of those with more, where results do not count (GEO-03); name one partition"
        )


def _own_node_problem(slurm_partition: partitions.Shown, runs: Sequence[Run]) -> Iterator[str]:
    """That the driver runs in a batch job whose nodes its own jobs need: they would wait for each other. A shell of
    salloc is its user's, who can leave it.
    """
    job_id = os.environ.get("SLURM_JOB_ID", "")
    fields = commands.fields_of_job(job_id, os.environ.get("SLURM_JOB_NAME", "")) if job_id and runs else {}
    if fields.get("BatchFlag") != "1" or slurm_partition.terms.shares_nodes:
        return
    own_nodes, names = expand_nodes(fields.get("NodeList", "")) or (), slurm_partition.partition.names
    free_nodes = len([name for name in names if name not in own_nodes])
    widest = max(run.job_nodes for run in runs)
    if free_nodes < widest <= len(names) or not {*own_nodes}.isdisjoint(
        node for run in runs for node in run.only_nodes
    ):
        yield (
            f"this runs in batch job {job_id}, which holds {', '.join(own_nodes)}: a job of "
            f"{units.plural(widest, 'node')} would wait until it ends, and it waits for that job; start 'campaign run' "
            "on a login node, or with --detach"
        )


def _too_large_runs(
    definition: Definition, runs: Sequence[Run], slurm_partition: partitions.Shown
) -> Iterator[Mistake]:
    campaign, partition = definition.campaign, slurm_partition.partition
    fixed = {condition.id: condition.nodes is not None for condition in definition.pack.launch}
    processors, threads = (
        partition.most_processors(campaign.slurm),
        max((kind.threads for kind in partition.kinds), default=1),
    )
    most_per_node = max(processors, campaign.search.processes_per_node or 0)
    limit = next(iter(partition.limits), None)
    for run in runs:
        nodes = run.job_nodes
        per_node = max(run.geometry_of(command).processes_per_node for command in run.launched)
        at = ("launch", run.launch)
        if nodes > partition.nodes:
            problem = (
                f"found {nodes} nodes; partition {partition.name} has {partition.nodes}; use {partition.nodes} or fewer"
                if partition.nodes
                else f"found {nodes} nodes; partition {partition.name} has none; name another partition"
            )
            yield Mistake(at if fixed[run.launch] else (*at, "nodes"), problem)
        elif limit and nodes > limit.nodes:
            problem = f"found {nodes} nodes; {limit.owner} allows {limit.nodes} in one job; use {limit.nodes} or fewer"
            if limit.key != "partition":
                problem += f", or another slurm.{limit.key}: {limit.setting}, with which a larger job never starts"
            yield Mistake(at, problem)
        elif partition.usable and per_node > most_per_node:
            unit = "processors" if campaign.slurm.processes_per_core else "cores"
            problem = (
                f"found {per_node} processes per node; the nodes of partition {partition.name} have {processors} "
                f"{unit}; use {processors} or fewer"
            )
            if threads > 1 and not campaign.slurm.processes_per_core:
                problem += f", or set slurm.processes_per_core: {threads} for processes on hardware threads"
            yield Mistake(at, problem)


def _too_small_shares(
    definition: Definition, runs: Sequence[Run], slurm_partition: partitions.Shown
) -> Iterator[Mistake]:
    """Numbers given instead of the share of the system that the rules fix. The whole system, and a series up to it, may
    be smaller in a rehearsal.
    """
    partition, geometries = slurm_partition.partition, {run.launch: run.geometry for run in runs}
    for condition in definition.pack.launch:
        geometry = geometries.get(condition.id)
        may_be_smaller = condition.whole_system or (condition.reaches and definition.campaign.profile == "rehearsal")
        if geometry is None or may_be_smaller or not condition.by_partition:
            continue
        smallest = condition.smallest_geometry(partition.job_nodes, partition.processors(definition.campaign.slurm))
        if geometry.nodes < smallest.nodes or geometry.processes_per_node < smallest.processes_per_node:
            size = processes_on(geometry.processes, geometry.nodes)
            smallest_size = processes_on(smallest.processes, smallest.nodes)
            share = (
                f"found {size}; allowed: {condition.needs} (clause {condition.clause}), in partition {partition.name} "
                f"at least {smallest_size}; or remove the line"
            )
            series = (
                f"the series ends at {size}; at full size it goes up to {smallest_size} in partition {partition.name} "
                f"(clause {condition.clause}); give a larger number"
            )
            problem = series if condition.reaches else share
            yield Mistake(("launch", condition.id), problem)


def _too_long_jobs(definition: Definition, runs: Sequence[Run], slurm_partition: partitions.Shown) -> Iterator[Mistake]:
    """Jobs that request more time than their partition or QOS allows, which would wait for ever."""
    campaign, partition = definition.campaign, slurm_partition.partition
    most_runs = max(map(len, matrix.batches(runs, campaign.slurm.allocation)), default=0)
    needs_s = scripts.job_limit_s(campaign.slurm, most_runs)
    limits = [(f"partition {partition.name}", partition.time_limit_s)]
    if of_qos := slurm_partition.time_limit:
        limits.append((f"QOS {of_qos[0]}", of_qos[1]))
    for where, limit in limits:
        if most_runs and limit is not None and needs_s > limit:
            run_time, needed, allowed = map(units.format_duration, (campaign.slurm.time_s, needs_s, limit))
            remedy = ", or slurm.allocation: run, which gives each run its own job" if most_runs > 1 else ""
            problem = (
                f"a job of {units.plural(most_runs, 'run')} of {run_time} needs {needed}; {where} allows {allowed}; "
                f"set a shorter slurm.time{remedy}"
            )
            yield Mistake(("slurm", "time"), problem)
            return


def _not_admitted_jobs(
    definition: Definition, runs: Sequence[Run], slurm_partition: partitions.Shown
) -> Iterator[Mistake]:
    """What a partition refuses, or lets wait for ever."""
    if not runs:
        return
    slurm, terms, name = definition.campaign.slurm, slurm_partition.terms, slurm_partition.partition.name
    if terms.state not in (partitions.UP, partitions.DOWN):
        yield Mistake(
            ("slurm", "partition"),
            f"found {name}, which takes no jobs (its state is {terms.state}); name another partition, or ask the "
            "administrators",
        )
    for key, value in (("account", slurm.account), ("qos", slurm.qos)):
        if value and not terms.admits(key, value):
            denied = ", ".join(terms.denied.get(key, ()))
            allowed = ", ".join(terms.allowed.get(key, ())) or f"any but {denied}"
            yield Mistake(
                ("slurm", key),
                f"found {value}, with which jobs wait for ever in partition {name}; allowed there: {allowed}",
            )
    limit, memory_mib = slurm_partition.memory_limit, slurm_partition.partition.memory_mib
    if limit is not None and limit[0] < memory_mib:
        yield Mistake(
            ("slurm", "directives"),
            f"jobs ask for {memory_mib} MiB of each node, by default for all of its memory (--mem=0), with which they "
            f"never start: {limit[1]}; add --mem={limit[0]}M",
        )

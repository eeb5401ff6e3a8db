"""Job scripts of runs that are not submitted: sbatch tests them, or they are written for the user to read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from campaign.config.definition import Definition
from campaign.config.slurm_keys import Slurm
from campaign.core import keys, outputs
from campaign.core.errors import writing
from campaign.core.runs import Run
from campaign.core.schema import suggestion
from campaign.core.strict_yaml import Place
from campaign.core.units import plural
from campaign.pipeline.places import Mistake
from campaign.plan import matrix
from campaign.slurm import partitions, sbatch, scripts
from campaign.slurm.submit import prepare

MOST_TESTED = 16  # scripts passed to sbatch --test-only: the widest ones


def write_scripts(definition: Definition, runs: Sequence[Run], directory: Path) -> int:
    """Write the scripts of the jobs that would be submitted for these runs, in their order; gives how many. Only the
    tokens in the names of attempts and jobs will differ: here they are numbers.
    """
    batches = matrix.batches(runs, definition.campaign.slurm.allocation)
    jobs = [_prepare_unsubmitted(definition, batch) for batch in batches]
    width = len(str(len(jobs)))
    with writing(directory, "; name another directory"):
        directory.mkdir(parents=True, exist_ok=True)
        for number, (job, script) in enumerate(jobs, 1):
            outputs.write_in_directory(directory / f"{number:0{width}}-{job.steps[0].run.id}.sbatch", script)
    return len(jobs)


def _prepare_unsubmitted(definition: Definition, batch: Sequence[Run]) -> tuple[scripts.JobScript, str]:
    numbers = itertools.count(1)
    return prepare(definition, {}, batch, {}, lambda: f"{next(numbers):08x}")


def distinct_jobs(definition: Definition, runs: Sequence[Run]) -> list[tuple[scripts.JobScript, str]]:
    """One job of each different form among these runs with its script, the widest first; raises InputError if a script
    cannot be made.
    """
    forms = {}
    for batch in matrix.batches(runs, definition.campaign.slurm.allocation):
        nodes = max(run.geometry.nodes for run in batch)
        per_node = max(run.geometry.processes_per_node for run in batch)
        forms[nodes, per_node, len(batch)] = batch
    widest = sorted(forms, reverse=True)[:MOST_TESTED]
    longest = sorted(forms, key=lambda form: form[2])[-1:]
    return [_prepare_unsubmitted(definition, forms[form]) for form in dict.fromkeys((*widest, *longest))]


def refused_job(jobs: Sequence[tuple[scripts.JobScript, str]], slurm_partition: partitions.Shown) -> Iterator[Mistake]:
    """sbatch's message for the first job that it would refuse."""
    partition, most_bytes = slurm_partition.partition, slurm_partition.longest_script
    for job, script in jobs:
        if (size := len(script.encode())) > most_bytes:
            yield Mistake(
                ("slurm", "allocation"),
                f"the script of a job of {plural(len(job.steps), 'run')} has {size} bytes; Slurm takes {most_bytes} "
                "(max_script_size); set slurm.allocation: run, which gives each run its own job",
            )
            return
        widest = max((step.run.geometry for step in job.steps), key=lambda geometry: geometry.nodes)
        cause = sbatch.refusal(script)
        # While nodes are down, Slurm refuses in a test what it would accept and let wait.
        if not cause or (widest.nodes > partition.usable and partition.unusable):
            continue
        at, value = _refused_setting(job, cause)
        if value:
            values = partitions.known_names(str(at[1]), partition.name)
            remedy = suggestion(value, values) if values else "correct it or remove it"
            if value in values:
                remedy = "Slurm knows it, and refuses such a job only with it: name another, or ask the administrators"
            problem = f"found {value}; sbatch --test-only: {cause}; {remedy}"
        else:
            option, remedy = _refused_option(script)
            without = f"; not without {option}, which campaign adds: {remedy}" if option else ""
            problem = (
                f"sbatch --test-only refuses a job of {widest.nodes} nodes with {widest.processes_per_node} processes "
                f"each: {cause}{without}"
            )
        yield Mistake(at, problem)
        return


# Options that campaign adds, and what to do where a site refuses one.
_ASK = "ask the administrators to allow it"
_ADDED_OPTIONS = {
    "--ntasks-per-node": "use fewer processes per node",
    "--mem=0": "set the memory of each node that jobs may have: slurm.directives: [--mem=SIZE]",
    "--exclusive": "results need whole nodes: name a partition whose jobs get all CPUs of a node (MaxCPUsPerNode)",
    "--no-requeue": _ASK,
    "--open-mode": _ASK,
    "--nodes": "use fewer nodes",
}


def _refused_option(script: str) -> tuple[str, str]:
    """The option of campaign's own without which, and without those before it, sbatch accepts the job, with what to do;
    "" if there is none.
    """
    lines = script.split("\n")
    for option, remedy in _ADDED_OPTIONS.items():
        words = [line.removeprefix("#SBATCH ") for line in lines if line.startswith(f"#SBATCH {option}")]
        lines = [line for line in lines if not line.startswith(f"#SBATCH {option}")]
        if words and not sbatch.refusal("\n".join(lines)):
            return words[0], remedy
    return "", ""


def _refused_setting(job: scripts.JobScript, cause: str) -> tuple[Place, str]:
    """The setting without which sbatch's message is another one, with its value; the whole section if there is none."""
    slurm = job.slurm
    omissions: list[tuple[Place, str, Slurm]] = [
        (("slurm", field), getattr(slurm, field), replace(slurm, **{field: ""}))  # type: ignore[arg-type]
        for field in keys.options(slurm).values()
        if field != "partition"
    ]
    for index, word in enumerate(slurm.directives):
        directives = (*slurm.directives[:index], *slurm.directives[index + 1 :])
        omissions.append((("slurm", "directives", index), word, replace(slurm, directives=directives)))
    for at, value, shorter in omissions:
        if value and sbatch.refusal(scripts.render(replace(job, slurm=shorter))) != cause:
            return at, value
    return ("slurm",), ""

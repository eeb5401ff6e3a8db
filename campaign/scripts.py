"""Attempts -> the text of a job script, and the check that a script launches what was planned. Pure but for reading
templates.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.config import Slurm
from campaign.errors import InputError
from campaign.model import Run

TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
TEMPLATE = TEMPLATES / "job.sbatch.j2"
JOB_OVERHEAD_S = 60  # added to the sum of the runs' limits: placement, cleaning, waiting for the target
_STEP = "campaign_run"


@dataclass(frozen=True, slots=True)
class Step:
    """One attempt inside a job."""

    run: Run
    attempt: int
    token: str
    folder: Path
    stale: tuple[str, ...] = ()  # directories of earlier attempts of this run that were killed

    @property
    def directory(self) -> str:
        return attempt_directory(self.run, self.token)


def attempt_directory(run: Run, token: str) -> str:
    """The attempt's own directory under the target: the benchmark works in it and in nothing else."""
    return f"{run.directory.rstrip('/')}/campaign-{token}"


def command(run: Run, token: str) -> tuple[str, ...]:
    """The benchmark's argv."""
    directory = attempt_directory(run, token)
    return (run.executable, *(word.replace("{directory}", directory) for word in run.arguments))


def launcher(run: Run, slurm: Slurm) -> tuple[str, ...]:
    """The srun that places the ranks: block-wise, the same number on every node."""
    geometry = run.geometry
    return (
        "srun",
        f"--nodes={geometry.nodes}",
        f"--ntasks={geometry.processes}",
        f"--ntasks-per-node={geometry.processes_per_node}",
        "--distribution=block",
        f"--mpi={slurm.mpi}",
        f"--time={slurm.time_s // 60}:{slurm.time_s % 60:02d}",
        "--kill-on-bad-exit=1",
    )


def directives(job: str, folder: Path, steps: Sequence[Step], slurm: Slurm) -> tuple[str, ...]:
    """The #SBATCH options, sorted."""
    nodes = max(step.run.geometry.nodes for step in steps)
    per_node = max(step.run.geometry.processes_per_node for step in steps)
    limit = slurm.time_s * len(steps) + JOB_OVERHEAD_S
    given = {
        "partition": slurm.partition,
        "account": slurm.account,
        "qos": slurm.qos,
        "constraint": slurm.constraint,
        "reservation": slurm.reservation,
    }
    # sbatch expands % in these two.
    log = str(folder).replace("%", "%%")
    options = [
        f"--job-name={job}",
        f"--nodes={nodes}",
        f"--ntasks-per-node={per_node}",
        f"--time={-(-limit // 60)}",
        f"--chdir={_directive(str(folder))}",
        f"--output={_directive(log + '/stdout')}",
        f"--error={_directive(log + '/stderr')}",
        f"--comment={target_mark(steps[0].run.directory)}",
        "--exclusive",
        "--export=ALL",
        "--no-requeue",
        *(f"--{name}={_directive(value)}" for name, value in given.items() if value),
        *slurm.directives,
    ]
    return tuple(sorted(options))


def target_mark(directory: str) -> str:
    """Marks a job with its target, so that a driver finds the jobs of other campaigns on the same one."""
    return "campaign-target:" + hashlib.sha256(directory.rstrip("/").encode()).hexdigest()[:16]


def _directive(value: str) -> str:
    """Quoted as sbatch reads its own lines, which is not as a shell does."""
    if all(character.isalnum() or character in "/._-+:,=@%&|()[]*" for character in value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def render(
    title: str, job: str, folder: Path, steps: Sequence[Step], slurm: Slurm, probe: bool, clause: str = ""
) -> str:
    """The job script for `steps`. `probe`: the benchmark does not check its own placement, so the job does.

    Raises InputError where the template is broken, or where the script would not launch what was planned.
    """
    import jinja2

    template = slurm.template or TEMPLATE
    loader = jinja2.FileSystemLoader([template.parent, TEMPLATES])
    environment = jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quote"] = lambda value: shlex.quote(str(value))
    stale = dict.fromkeys(directory for step in steps for directory in step.stale)
    try:
        text = environment.get_template(template.name).render(
            title=title,
            job=job,
            folder=str(folder),
            directives=directives(job, folder, steps, slurm),
            modules=slurm.modules,
            environment=slurm.environment,
            directory=steps[0].run.directory,
            stale=tuple(stale),
            steps=[
                {
                    "run": step.run.id,
                    "attempt": step.attempt,
                    "token": step.token,
                    "folder": str(step.folder),
                    "directory": step.directory,
                    "probe": int(probe),
                    "launcher": launcher(step.run, slurm),
                    "command": command(step.run, step.token),
                }
                for step in steps
            ],
        )
    except jinja2.TemplateError as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"{template}{f':{line}' if line else ''}: {error}: compare with {TEMPLATE.name}") from error
    except OSError as error:
        raise InputError(f"{template}: {error.strerror}") from error
    problems = verify(text, job, folder, steps, slurm, str(template), clause)
    if problems:
        raise InputError(*problems)
    return text


def verify(
    text: str, job: str, folder: Path, steps: Sequence[Step], slurm: Slurm, template: str, clause: str = ""
) -> list[str]:
    """What the script would do otherwise than planned, one message each: a template cannot bend the run rules."""
    found = {words[3]: (line, words) for line, words in _step_lines(text) if len(words) > 7}
    missing = set(directives(job, folder, steps, slurm)) - {line.removeprefix("#SBATCH ") for line in text.splitlines()}
    problems = [f"{template}: the script lacks '#SBATCH {directive}'" for directive in sorted(missing)]
    for step in steps:
        if step.token not in found:
            problems.append(f"{template}: no {_STEP} line for {step.run.id}: the script would not execute it")
            continue
        line, words = found[step.token]
        expected = (*launcher(step.run, slurm), *command(step.run, step.token))
        problems += _differences(f"{template}: line {line} of the script", step.run, expected, tuple(words[7:]), clause)
    return problems


def _differences(place: str, run: Run, expected: tuple[str, ...], actual: tuple[str, ...], clause: str) -> list[str]:
    if expected == actual:
        return []
    offset = _value_after(actual, "-N")
    if "-N" in expected and offset != _value_after(expected, "-N"):
        per_node = run.geometry.processes_per_node
        return [
            f"{place}: -N is {offset or 'absent'} for {run.id}, which runs {per_node} processes per node: "
            f"the rank offset must be {_value_after(expected, '-N')}{f' (clause {clause})' if clause else ''}"
        ]
    lacking = [word for word in expected if word not in actual]
    added = [word for word in actual if word not in expected]
    what = f"lacks {shlex.join(lacking)}" if lacking else f"adds {shlex.join(added)}" if added else "has another order"
    return [f"{place}: the command of {run.id} {what}; planned: {shlex.join(expected)}"]


def _value_after(words: Sequence[str], flag: str) -> str | None:
    for position, word in enumerate(words[:-1]):
        if word == flag:
            return words[position + 1]
    return None


def _step_lines(text: str) -> list[tuple[int, list[str]]]:
    """The logical lines that execute a run, as (line number, words)."""
    steps = []
    logical, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        start = start if logical else number
        if line.endswith("\\"):
            logical += line[:-1]
            continue
        logical += line
        if logical.lstrip().startswith(_STEP + " "):
            try:
                steps.append((start, shlex.split(logical)))
            except ValueError:
                steps.append((start, []))
        logical = ""
    return steps

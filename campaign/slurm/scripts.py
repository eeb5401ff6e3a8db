"""Attempts -> the text of a job script, and the check that a script launches what was planned. Pure but for reading
templates.
"""

from __future__ import annotations

import functools
import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaign import __version__
from campaign.config import slurm_keys
from campaign.config.rules import sweeps
from campaign.config.rules.kinds import GEOMETRY
from campaign.core import keys, resources
from campaign.core.errors import InputError
from campaign.core.runs import ASKED_NAMES, SRUN, Command, Planned, Run
from campaign.results.environment.energy import SLURM
from campaign.slurm import script_text

if TYPE_CHECKING:
    import jinja2

TEMPLATE, PROBE = resources.TEMPLATES / "job.sbatch.j2", resources.TEMPLATES / "probe.sbatch.j2"
# What a template includes, and the files that it then gets: a template of a campaign file's own need not name them all.
INCLUDED, FUNCTIONS = "job-functions.bash", ("job", "module", "witness", "placement", "target", "counter")
_PLAIN = Command("", ())  # of the run's geometry, on the first nodes
METERS = "CAMPAIGN_ENERGY"  # tells the witness what to read on the nodes
JOB_OVERHEAD_S = 60  # added to the sum of the runs' limits: placement, cleaning, waiting for the target
# A function, an alias or a variable of the job's own functions, or an srun of its own.
_SETS = re.compile(r"^[ \t]*(?:function[ \t]+|alias[ \t]+)?(campaign_\w+|srun)[ \t]*[(={]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class JobScript:
    """What a job script is made from. `probe`: the benchmark does not check its own placement, so the job does."""

    title: str
    name: str
    folder: Path
    steps: tuple[Planned, ...]
    slurm: slurm_keys.Slurm
    probe: bool = False
    clause: str = ""  # of the rules, about -N
    boot: str = ""  # of the submitting machine, as its kernel names it
    seen: str = ""  # device:inode of the target's directory there; "" where it does not see it
    independent: tuple[str, ...] = ()  # marks of the targets whose storage is another one
    counters: str = ""  # the command that prints what the target's servers counted
    witness: str = ""  # the program that looks at nodes and ranks


def each_command(run: Run, slurm: slurm_keys.Slurm, token: str) -> list[tuple[str, ...]]:
    """What each phase of a run executes, with its launcher, below the phase's name if it has one."""
    return [_phase(run, replace(command, end=""), slurm, token) for command in run.commands]


def _phase(run: Run, command: Command, slurm: slurm_keys.Slurm, token: str, probe_text: str = "") -> tuple[str, ...]:
    """The words of a run's step that execute one of its commands. `probe_text`: what `_probe` says of it, if it is
    other than for the run.
    """
    marks = (
        (script_text.TOLD, probe_text),
        (script_text.FILE, command.file),
        (script_text.LAST_LINE, command.end),
    )
    marked_words = (f"{mark}{name}" for mark, name in marks if name)
    placed = () if command.untimed else launcher(run, slurm, command)
    return (*script_text.phase_marks(command), *marked_words, *placed, *command.words(run.attempt_directory(token)))


def attempt_record(run: Run, attempt: int, token: str, job: str) -> dict[str, Any]:
    """What attempt.json says of an attempt that is planned."""
    return {
        "run": run.id,
        "attempt": attempt,
        "token": token,
        "job": job,
        "fingerprint": run.fingerprint,
        "nodes": run.geometry.nodes,
        "processes": run.geometry.processes,
        "processes_per_node": run.geometry.processes_per_node,
        **command_lines(run, token),
        **({"launcher_options": [*run.launcher.options]} if run.launcher.options else {}),
        **({"inputs": {input_file.id: input_file.sha256 for input_file in run.inputs}} if run.inputs else {}),
    }


def command_lines(run: Run, token: str) -> dict[str, Any]:
    """What attempt.json and plan.json say of the command line, and of those of the phases where there are several."""
    directory, (first, *_) = run.attempt_directory(token), run.commands
    phases = [
        {
            "phase": name,
            **({"beside": True} if command.beside else {}),
            **({"nodes": command.geometry.nodes, "processes": command.geometry.processes} if command.geometry else {}),
            "argv": list(command.words(directory)),
        }
        for command in run.commands
        for name in command.phase_names
    ]
    return {"argv": list(first.words(directory)), **({"phases": phases} if phases else {})}


def launcher(run: Run, slurm: slurm_keys.Slurm, command: Command = _PLAIN) -> tuple[str, ...]:
    """What places a command's ranks: block-wise, the same number on every node, or one more on the first nodes."""
    geometry, options = run.geometry_of(command), run.launcher.options
    if not run.launcher.is_srun:
        numbers = {name: str(getattr(geometry, name)) for name in GEOMETRY}
        return (run.launcher.program, *(sweeps.fill(word, numbers) for word in run.launcher.placement), *options)
    has_further_nodes = run.job_nodes > geometry.nodes
    distributed = any(word.startswith("--distribution=") for word in options)
    return (
        run.launcher.program,
        *((f"--relative={command.first_node}",) if has_further_nodes else ()),
        f"--nodes={geometry.nodes}",
        f"--ntasks={geometry.processes}",
        f"--ntasks-per-node={geometry.processes_per_node}",
        *((f"--cpus-per-task={run.threads}",) if run.threads else ()),
        f"--export=ALL,OMP_NUM_THREADS={run.threads}" if run.threads else "--export=ALL",
        "--chdir=.",
        *(() if distributed else ("--distribution=block",)),
        f"--mpi={slurm.mpi}",
        f"--time={slurm.time_s // 60}:{slurm.time_s % 60:02d}",
        "--kill-on-bad-exit=1",
        # CPUs that no other step has, and memory that all steps share: otherwise the first copy would have all of both.
        *(("--exact", "--mem=0") if command.is_copy else ()),
        *_step_directives(slurm, options),
        *options,
    )


def _step_directives(slurm: slurm_keys.Slurm, options: Sequence[str]) -> list[str]:
    """The sbatch options of the campaign file that srun gets too, unless the launcher has one for the same."""
    names = {word.partition("=")[0].removeprefix("--") for word in options}
    names |= {"hint"} if names & {"cpu-bind", "ntasks-per-core", "threads-per-core"} else set[str]()
    of_steps = slurm_keys.OF_STEPS - names
    return [word for word in slurm.directives if word.partition("=")[0].removeprefix("--") in of_steps]


def exported_variables(run: Run, slurm: slurm_keys.Slurm) -> list[tuple[str, str]]:
    """The variables that a job exports, sorted: those of the campaign file and those of the rules. The names of the
    latter tell the job's processes on the nodes what to record, and METERS what they read.
    """
    of_rules = {name: value for name, value in run.environment if value}
    asked_variables = {ASKED_NAMES: ":".join(name for name, _ in run.environment)} if run.environment else {}
    meters = {METERS: run.energy} if run.energy not in ("", SLURM) else {}
    return sorted({**dict(slurm.environment), **of_rules, **asked_variables, **meters}.items())


def job_limit_s(slurm: slurm_keys.Slurm, runs: int) -> int:
    """The time that a job of so many runs asks for."""
    return slurm.time_s * runs + JOB_OVERHEAD_S


def directives(job: JobScript) -> tuple[str, ...]:
    """The #SBATCH options, sorted. Raises InputError for a folder that Slurm cannot be told."""
    folder, slurm = str(job.folder), job.slurm
    if "\\" in folder or "\n" in folder:
        raise InputError(
            f"results: {folder!r} contains a backslash or a line break, which Slurm does not accept in a job's output "
            "path; set results in the campaign file to another directory"
        )
    geometries = [
        step.run.geometry if command.is_copy else step.run.geometry_of(command)
        for step in job.steps
        for command in step.run.launched
    ]
    log = folder.replace("%", "%%")  # which sbatch expands in the names of these two files
    nodes = job.steps[0].run.only_nodes
    other_directives = [word for word in slurm.directives if not (nodes and word.startswith("--nodelist="))]
    of_keys = {option: getattr(slurm, field) for option, field in keys.options(slurm).items()}
    options = [
        f"--job-name={job.name}",
        f"--nodes={max(step.run.job_nodes for step in job.steps)}",
        f"--ntasks-per-node={max(geometry.processes_per_node for geometry in geometries)}",
        f"--time={-(-job_limit_s(slurm, len(job.steps)) // 60)}",
        f"--chdir={_directive(folder)}",
        f"--output={_directive(log + '/stdout')}",
        f"--error={_directive(log + '/stderr')}",
        "--exclusive",
        "--export=ALL",
        "--no-requeue",
        "--open-mode=append",  # a controller that lost its state may start the job again
        *(f"--{name}={_directive(str(value))}" for name, value in of_keys.items() if value),
        *([f"--nodelist={','.join(nodes)}"] if nodes else []),
        *([f"--gres={job.steps[0].run.gres}"] if job.steps[0].run.gres else []),
        # A partition may give jobs that ask for no memory a part of it only, whole nodes or not.
        *([] if any(word.startswith(("--mem=", "--mem-per-cpu=")) for word in slurm.directives) else ["--mem=0"]),
        *other_directives,
    ]
    return tuple(sorted(options))


def target_mark(directory: str) -> str:
    """The part of a job's name by which a driver finds the jobs of other campaigns on the same target."""
    return "t" + hashlib.sha256(directory.rstrip("/").encode()).hexdigest()[:12]


def _directive(value: str) -> str:
    """Quoted as sbatch reads its own lines, which is not as a shell does."""
    if all(character.isalnum() or character in "/._-+:,=@%&|()[]*" for character in value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def render(job: JobScript) -> str:
    """The job script. Raises InputError where the template is broken, or where the script would not launch what was
    planned.
    """
    template = job.slurm.template or TEMPLATE
    text = render_template(job, template)
    if problems := verify(text, job, str(template)):
        raise InputError(*problems)
    return text


def render_template(job: JobScript, template: Path = TEMPLATE) -> str:
    """The job script of a template as it is, to compare one with."""
    return _filled(
        template,
        job,
        boot=job.boot,
        seen=job.seen,
        shares_target=job.steps[0].run.shares_target,
        independent=job.independent,
        begin=_begin(job),
        prepare=job.steps[0].run.prepare,
        counters=job.counters,
        inputs=_inputs(job),
        launchers=_launchers(job),
        stale=dict(pair for step in job.steps for pair in step.stale.items()),
        steps=[
            {
                "run": step.run.id,
                "attempt": step.number,
                "token": step.token,
                "folder": str(step.folder),
                "directory": step.directory,
                "probe": _probe(job, step.run),
                "phases": _phases(job, step),
            }
            for step in job.steps
        ],
    )


def render_probe(job: JobScript, directories: Sequence[str], launches: Sequence[Sequence[str]], ranks: int) -> str:
    """The script that asks the nodes of such a job what they see of these directories and of the benchmark, and starts
    it by one launch after another until one gives so many ranks. In their words {directory} is a directory of its own.
    """
    own_directory = f"{directories[0].rstrip('/')}/{job.name}"
    filled = [[word.replace("{directory}", own_directory) for word in words] for words in launches]
    return _filled(PROBE, job, directories=directories, launches=filled, ranks=ranks, own=own_directory)


def _filled(template: Path, job: JobScript, **values: object) -> str:
    import jinja2

    try:
        return (
            _templates(template.parent)
            .get_template(template.name)
            .render(
                title=" ".join(job.title.split()),  # a comment of one line
                folder=str(job.folder),
                directives=directives(job),
                modules=job.slurm.modules,
                environment=exported_variables(job.steps[0].run, job.slurm),
                unset=[name for name, value in job.steps[0].run.environment if value is None],
                executable="" if (image := job.steps[0].run.launcher.image) else job.steps[0].run.executable,
                image=image if image.startswith("/") else "",
                **values,
            )
        )
    except jinja2.TemplateError as error:
        line = getattr(error, "lineno", None)
        place = f"{template}:{line}" if line else template
        raise InputError(f"{place}: {error}; compare with {TEMPLATE.name}") from error
    except OSError as error:
        raise InputError(f"{template}: {error.strerror}") from error


@functools.cache
def _templates(folder: Path) -> jinja2.Environment:
    """The templates of a folder and our own, each compiled once: a campaign may have a thousand jobs."""
    import jinja2

    class Loader(jinja2.FileSystemLoader):
        def get_source(self, environment: jinja2.Environment, template: str) -> Any:
            if template == INCLUDED:
                return functions(), None, None
            return super().get_source(environment, template)

    environment = resources.templates(loader=Loader([folder, resources.TEMPLATES]))
    environment.filters["quote"] = lambda value: shlex.quote(str(value))
    return environment


@functools.cache
def functions() -> str:
    """What a script has in the place of this include: files of bash functions, one after another."""
    return "\n".join((resources.TEMPLATES / f"{part}-functions.bash").read_text(encoding="utf-8") for part in FUNCTIONS)


@functools.cache
def rendered_by(template: Path = TEMPLATE) -> tuple[str, str]:
    """What the journal records of a job's script: this program's version, and the hash of the templates and of the code
    that decides what is in their places.
    """
    files = (template, Path(__file__), Path(slurm_keys.__file__))
    text = "\n".join([functions(), *(file.read_text(encoding="utf-8") for file in files)])
    return __version__, hashlib.sha256(text.encode()).hexdigest()


def verify(text: str, job: JobScript, template: str) -> list[str]:
    """Where the script differs from the plan, one message each: a template cannot bend the run rules.

    A text does not tell what a shell makes of it: a condition around a line, another srun on PATH, a sourced file. What
    is executed in the end is judged by the benchmark's own output, and what leaves no record counts for nothing.
    """
    return [f"{template}: {problem}" for problem in _problems(text, job)]


def _problems(text: str, job: JobScript) -> Iterator[str]:
    found_directives, planned = script_text.directives(text), directives(job)
    lacking, added = (
        [word for word in planned if word not in found_directives],
        [word for word in found_directives if word not in planned],
    )
    yield from (f"the script lacks '#SBATCH {word}'; copy this line from job.sbatch.j2" for word in lacking)
    yield from (f"the script adds '#SBATCH {word}', which is not planned; put it in slurm.directives" for word in added)
    if not text.startswith("#!/bin/bash\n"):
        yield "the script does not begin with #!/bin/bash; make it the first line"
    included = functions()
    if included not in text:
        yield f"the script does not include {INCLUDED} unchanged; include it as job.sbatch.j2 does"
        return
    own_text = text.replace(included, "\n" * included.count("\n"))
    sets = _SETS.findall(script_text.without_texts(own_text))
    yield from (f"the script sets {name}, which is reserved; remove it" for name in sets)
    begin = shlex.join((script_text.BEGIN, *_begin(job)))
    missing_steps, has_begin, has_end = {step.token: step for step in job.steps}, False, False
    hashed = shlex.join((script_text.INPUTS, *_inputs(job))) if _inputs(job) else ""
    for command in script_text.commands(own_text):
        name, raw, place = command.words[0].split()[0], command.raw, f"line {command.line} of the script"
        has_end = has_end or raw == script_text.END
        if name == script_text.BEGIN:
            if raw != begin or has_begin:
                yield f"{place}: {raw}; expected {begin}, once"
            has_begin = True
        elif name == script_text.STEP and (len(command.words) < 4 or command.words[3] not in missing_steps):
            yield f"{place}: {raw}: not planned, or duplicated"
        elif raw == hashed:
            hashed = ""
        elif name == script_text.STEP and not has_begin:
            yield f"{place}: campaign_run before campaign_begin"
        elif name == script_text.STEP:
            differences = _differences(job, missing_steps.pop(command.words[3]), command.words, raw)
            yield from (f"{place}: {difference}" for difference in differences)
    if not has_begin:
        yield "no campaign_begin line; copy it from job.sbatch.j2"
    if hashed:
        yield f"no line {hashed}, so input files would not be hashed; copy the line from job.sbatch.j2"
    if not has_end:
        yield "no campaign_end line; copy it from job.sbatch.j2"
    for step in missing_steps.values():
        yield (
            f"no campaign_run line for {step.run.id}, so the script would not execute it; copy the loop from "
            "job.sbatch.j2"
        )


def _phases(job: JobScript, step: Planned) -> Iterator[tuple[str, ...]]:
    """The words of each command of a step."""
    of_run = _probe(job, step.run)
    for command in step.run.commands:
        probe_text = _probe(job, step.run, command)
        yield _phase(step.run, command, job.slurm, step.token, probe_text if probe_text != of_run else "")


def _begin(job: JobScript) -> tuple[str, ...]:
    """The words of the line that begins the job."""
    run = job.steps[0].run
    return (job.witness, str(int(job.probe)), str(job.folder), run.directory, run.executable, *_further_programs(job))


def _inputs(job: JobScript) -> list[str]:
    """What all runs of the job read."""
    return [input_file.path for input_file in job.steps[0].run.inputs]


def _further_programs(job: JobScript) -> tuple[str, ...]:
    """What else ranks of the job may execute, which its nodes hash: the prefix, an image, and further programs of a
    pack.
    """
    run = job.steps[0].run
    programs = [command.executable for command in run.launched if command.executable != run.executable]
    image = [word for word in [run.launcher.image] if word.startswith("/") and word not in run.launcher.prefix]
    return (*run.launcher.prefix, *image, *(dict.fromkeys(programs) if job.probe else ()))


def _probe(job: JobScript, run: Run, command: Command = _PLAIN) -> str:
    """Whether the job looks where the ranks are and what they run; nodes, ranks on each, and how many words the
    launcher has.
    """
    geometry, words = run.geometry_of(command), len(launcher(run, job.slurm, command))
    processes_per_node = f"{geometry.blocks[-1]}+{geometry.larger}" if geometry.larger else geometry.processes_per_node
    return f"{int(job.probe)}:{geometry.nodes}:{processes_per_node}:{words}"


def _launchers(job: JobScript) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What places ranks in the job but for the srun that starts the witnesses, each with what `_probe` tells of it."""
    launchers = (
        (_probe(job, step.run, command), launcher(step.run, job.slurm, command))
        for step in job.steps
        for command in step.run.commands
        if not command.untimed and step.run.launcher.program != SRUN.program
    )
    return tuple(dict.fromkeys(launchers))


def _differences(job: JobScript, step: Planned, actual: tuple[str, ...], raw: str) -> Iterator[str]:
    run = step.run
    where = (run.id, str(step.number), step.token, str(step.folder), step.directory, _probe(job, run))
    expected = (script_text.STEP, *where, *chain.from_iterable(_phases(job, step)))
    offset, planned_offset = _value_after(actual, "-N"), _value_after(expected, "-N")
    lacking, added = Counter(expected) - Counter(actual), Counter(actual) - Counter(expected)
    if "-N" in expected and offset != planned_offset:
        clause = f" (clause {job.clause})" if job.clause else ""
        yield (
            f"-N is {offset or 'absent'} for {run.id}, which runs {run.geometry.processes_per_node} processes per "
            f"node: the rank offset must be {planned_offset}{clause}"
        )
    elif actual != expected:
        parts = [f"lacks {shlex.join(lacking.elements())}"] if lacking else []
        parts += [f"adds {shlex.join(added.elements())}"] if added else []
        differences = " and ".join(parts) or "has another order"
        yield f"the command of {run.id} {differences}; planned: {shlex.join(expected)}"
    elif raw != shlex.join(expected):
        yield f"the words of {run.id} are not quoted as in the plan: {raw}"


def _value_after(words: Sequence[str], flag: str) -> str | None:
    return next((value for word, value in pairwise(words) if word == flag), None)

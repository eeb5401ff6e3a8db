"""Finds recorded results that no longer count, and the settings that have changed since they were measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import chain
from pathlib import Path
from typing import Any

from campaign.config.definition import Definition
from campaign.config.slurm_keys import Slurm
from campaign.core import keys
from campaign.core.runs import ASKED_NAMES, Attempt, Command, Run, State, directory_name
from campaign.core.units import plural
from campaign.pipeline.planning import Plan
from campaign.plan import matrix
from campaign.results.attempt_record import read_attempt_record
from campaign.results.environment.facts import SHORT
from campaign.slurm import script_text, scripts
from campaign.slurm.collect import text_of

DEFAULT, NONE = "(default)", "none"
_LISTED = 3  # runs that are named
_Change = tuple[str, str]  # a setting, and "old -> new"


def describe_outdated(definition: Definition, planned: Plan, attempts: Sequence[Attempt]) -> list[str]:
    """A sentence for each set of changed settings, and one for the runs that are no longer planned."""
    runs = {run.id: run for run in planned.all_runs}
    attempts_of_runs = matrix.attempts_by_run(runs.values(), attempts)
    measured_attempts = {attempt.run: attempt for attempt in attempts if attempt.state is State.DONE}
    causes: dict[tuple[str, ...], Counter[str]] = {}  # the changes, by the names of the settings
    dropped_runs = []
    for name, attempt in measured_attempts.items():
        if name not in runs:
            dropped_runs.append(name)
        elif not any(attempt.state is State.DONE for attempt in attempts_of_runs[name]):
            folder = definition.paths.attempt(name, attempt.number)
            changes = tuple(_changes(definition, runs[name], attempt, folder))
            text = "; ".join(f"{setting}: {change}" for setting, change in changes) or "slurm.template"
            causes.setdefault(tuple(setting for setting, _ in changes), Counter())[text] += 1
    lines: list[str] = []
    for runs_by_change in causes.values():
        first, number = next(iter(runs_by_change)), plural(runs_by_change.total(), "run")
        example = first if len(runs_by_change) == 1 else f"such as {first}"
        lines.append(f"not used: {number} measured with other settings ({example}); 'campaign run' measures again")
    if dropped_runs:
        names = ", ".join(dropped_runs[:_LISTED]) + (", …" if len(dropped_runs) > _LISTED else "")
        lines.append(
            f"not used: {plural(len(dropped_runs), 'run')} that the campaign file no longer contains ({names})"
        )
    return lines


def _changes(definition: Definition, run: Run, attempt: Attempt, folder: Path) -> Iterator[_Change]:
    """All differences in what a run executes, from the records of the attempt."""
    described = read_attempt_record(folder)
    old = tuple(described.get(key) for key in ("nodes", "processes"))
    new = (run.geometry.nodes, run.geometry.processes)
    if None not in old and old != new:
        yield f"launch.{run.launch}", f"{_geometry_text(*old)} -> {_geometry_text(*new)}"
    phases = described.get("phases") or [{"phase": "", "argv": described.get("argv")}]
    before = {phase.get("phase"): phase for phase in phases}
    yield from _change("phases", " ".join(map(str, before)), " ".join(command.phase for command in run.commands))
    recorded_digests = {**dict.fromkeys((phase.id for phase in run.inputs), NONE), **described.get("inputs", {})}
    planned_digests = {phase.id: phase.sha256 for phase in run.inputs}
    for name, digest in recorded_digests.items():
        yield from _change(f"inputs.{name}", digest[:SHORT], planned_digests.get(name, NONE)[:SHORT])
    for command in run.commands:
        recorded_phase, phase_geometry = before.get(command.phase, {}), run.geometry_of(command)
        counts = tuple(recorded_phase.get(key, was) for key, was in zip(("nodes", "processes"), old, strict=True))
        same_geometry = counts == (phase_geometry.nodes, phase_geometry.processes)
        if old == new and not same_geometry and None not in counts and recorded_phase:
            yield (
                f"phase {command.phase}",
                f"{_geometry_text(*counts)} -> {_geometry_text(phase_geometry.nodes, phase_geometry.processes)}",
            )
        yield from _changes_of_command(run, command, attempt, recorded_phase.get("argv") or (), same_geometry)
    if script := text_of(folder / "job.sbatch"):
        yield from _changes_of_script(script, run, definition.campaign.slurm)


def _changes_of_script(script: str, run: Run, slurm: Slurm) -> Iterator[_Change]:
    """Settings of the section `slurm` that a job script contains."""
    deciding = keys.deciding(slurm)
    for option, field in keys.options(slurm).items():
        if field in deciding:
            old_value = script_text.directive(script, option) or DEFAULT
            yield from _change(f"slurm.{field}", old_value, deciding[field] or DEFAULT)
    if not any(word.startswith("--gres=") for word in slurm.directives):
        yield from _change("gres", script_text.directive(script, "gres") or NONE, run.gres or NONE)
    steps = script.partition("\n}\n")[0]  # what the job does; its functions are below
    commands = [command.words for command in script_text.commands(steps)]
    launchers = (word.removeprefix("--mpi=") for words in commands for word in words if word.startswith("--mpi="))
    yield from _change("slurm.mpi", next(launchers, slurm.mpi), slurm.mpi)
    modules = (name for word, *name in commands if word == "campaign_module")
    yield from _change("slurm.modules", " ".join(chain(*modules)) or NONE, " ".join(slurm.modules) or NONE)
    names = f"{ASKED_NAMES}="  # follows from the rules
    exported = sorted(
        pair for word, *pairs in commands if word == "export" for pair in pairs if not pair.startswith(names)
    )
    exported_now = [f"{name}={value}" for name, value in scripts.exported_variables(run, slurm) if name != ASKED_NAMES]
    yield from _change("slurm.environment", " ".join(exported) or NONE, " ".join(exported_now) or NONE)


def _changes_of_command(
    run: Run, command: Command, attempt: Attempt, argv: Sequence[str], same_geometry: bool
) -> Iterator[_Change]:
    """`same_geometry`: if not, arguments that follow from the geometry differ too and are not listed."""
    if not argv:
        return
    # The program still has its name, unless that is what changed.
    name = Path(command.executable).name
    begin = next((index for index, word in enumerate(argv) if Path(word).name == name), len(command.prefix))
    prefix, argv = argv[:begin], argv[begin:]
    yield from _change("launcher.prefix", " ".join(prefix) or NONE, " ".join(command.prefix) or NONE)
    yield from _change("benchmark.executable", next(iter(argv), NONE), command.executable)
    mark = f"/{directory_name(attempt.token)}"
    place = next((word.partition(mark)[0] for word in argv if mark in word), run.directory.rstrip("/"))
    yield from _change(f"directory of target {run.target}", place, run.directory.rstrip("/") or "/")
    words_before = [word.replace(f"{place}{mark}", "{directory}") for word in argv[1:]]
    words_now = command.arguments_in("{directory}")
    if same_geometry and words_before != list(words_now):
        yield "command line", _changed_words(words_before, words_now)


def _changed_words(old: Sequence[str], new: Sequence[str]) -> str:
    """The words that differ, each with its option if it is an option's value."""
    parts = []
    for kind, begin, end, new_begin, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            values = [*old[begin : begin + 1], *new[new_begin : new_begin + 1]]
            is_value = begin > 0 and old[begin - 1].startswith("-") and not any(word.startswith("-") for word in values)
            option = [old[begin - 1]] if is_value else []
            before, after = (
                [*option, *words] if words else [NONE] for words in (old[begin:end], new[new_begin:new_end])
            )
            parts.append(f"{' '.join(before)} -> {' '.join(after)}")
    return ", ".join(parts)


def _change(setting: str, old: str, new: str) -> Iterator[_Change]:
    if old != new:
        yield setting, f"{old} -> {new}"


def _geometry_text(nodes: Any, processes: Any) -> str:
    return f"{plural(nodes, 'node')}, {processes} processes"

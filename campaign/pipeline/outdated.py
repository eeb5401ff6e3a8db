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
from campaign.core.model import ASKED_NAMES, Attempt, Command, Run, State, directory_name
from campaign.core.units import plural
from campaign.pipeline.planning import Plan
from campaign.plan import matrix
from campaign.results.environment.facts import SHORT
from campaign.slurm import script_text, scripts, submit
from campaign.slurm.collect import text_of

DEFAULT, NONE = "(default)", "none"
_NAMED = 3  # runs that are named
_Change = tuple[str, str]  # a setting, and "old -> new"


def outdated(definition: Definition, planned: Plan, attempts: Sequence[Attempt]) -> list[str]:
    """A sentence for each set of changed settings, and one for the runs that are no longer planned."""
    runs = {run.id: run for run in planned.all_runs}
    counted = matrix.attempts_by_run(runs.values(), attempts)
    done = {attempt.run: attempt for attempt in attempts if attempt.state is State.DONE}
    causes: dict[tuple[str, ...], Counter[str]] = {}  # the changes, by the names of the settings
    gone = []
    for name, attempt in done.items():
        if name not in runs:
            gone.append(name)
        elif not any(attempt.state is State.DONE for attempt in counted[name]):
            folder = definition.paths.attempt(name, attempt.number)
            changes = tuple(_changes(definition, runs[name], attempt, folder))
            text = "; ".join(f"{setting}: {change}" for setting, change in changes) or "slurm.template"
            causes.setdefault(tuple(setting for setting, _ in changes), Counter())[text] += 1
    lines: list[str] = []
    for alike in causes.values():
        first, number = next(iter(alike)), plural(alike.total(), "run")
        shown = first if len(alike) == 1 else f"such as {first}"
        lines.append(f"not used: {number} measured with other settings ({shown}); 'campaign run' measures again")
    if gone:
        names = ", ".join(gone[:_NAMED]) + (", …" if len(gone) > _NAMED else "")
        lines.append(f"not used: {plural(len(gone), 'run')} that the campaign file no longer contains ({names})")
    return lines


def _changes(definition: Definition, run: Run, attempt: Attempt, folder: Path) -> Iterator[_Change]:
    """All differences in what a run executes, from the records of the attempt."""
    described = submit.described(folder)
    old = tuple(described.get(key) for key in ("nodes", "processes"))
    new = (run.geometry.nodes, run.geometry.processes)
    if None not in old and old != new:
        yield f"launch.{run.launch}", f"{_geometry(*old)} -> {_geometry(*new)}"
    phases = described.get("phases") or [{"phase": "", "argv": described.get("argv")}]
    before = {each.get("phase"): each for each in phases}
    yield from _change("phases", " ".join(map(str, before)), " ".join(command.phase for command in run.commands))
    read = {**dict.fromkeys((each.id for each in run.inputs), NONE), **described.get("inputs", {})}
    now = {each.id: each.sha256 for each in run.inputs}
    for name, digest in read.items():
        yield from _change(f"inputs.{name}", digest[:SHORT], now.get(name, NONE)[:SHORT])
    for command in run.commands:
        told, own = before.get(command.phase, {}), run.geometry_of(command)
        counts = tuple(told.get(key, was) for key, was in zip(("nodes", "processes"), old, strict=True))
        same = counts == (own.nodes, own.processes)
        if old == new and not same and None not in counts and told:
            yield f"phase {command.phase}", f"{_geometry(*counts)} -> {_geometry(own.nodes, own.processes)}"
        yield from _of_command(run, command, attempt, told.get("argv") or (), same)
    if script := text_of(folder / "job.sbatch"):
        yield from _of_script(script, run, definition.campaign.slurm)


def _of_script(script: str, run: Run, slurm: Slurm) -> Iterator[_Change]:
    """Settings of the section `slurm` that a job script contains."""
    deciding = keys.deciding(slurm)
    for option, field in keys.options(slurm).items():
        if field in deciding:
            was = script_text.directive(script, option) or DEFAULT
            yield from _change(f"slurm.{field}", was, deciding[field] or DEFAULT)
    if not any(word.startswith("--gres=") for word in slurm.directives):
        yield from _change("gres", script_text.directive(script, "gres") or NONE, run.gres or NONE)
    listed = script.partition("\n}\n")[0]  # what the job does; its functions are below
    said = [command.words for command in script_text.commands(listed)]
    launchers = (word.removeprefix("--mpi=") for words in said for word in words if word.startswith("--mpi="))
    yield from _change("slurm.mpi", next(launchers, slurm.mpi), slurm.mpi)
    modules = (name for word, *name in said if word == "campaign_module")
    yield from _change("slurm.modules", " ".join(chain(*modules)) or NONE, " ".join(slurm.modules) or NONE)
    names = f"{ASKED_NAMES}="  # follows from the rules
    exported = sorted(pair for word, *pairs in said if word == "export" for pair in pairs if not pair.startswith(names))
    given = [f"{name}={value}" for name, value in scripts.exported(run, slurm) if name != ASKED_NAMES]
    yield from _change("slurm.environment", " ".join(exported) or NONE, " ".join(given) or NONE)


def _of_command(
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
    before = [word.replace(f"{place}{mark}", "{directory}") for word in argv[1:]]
    given = command.arguments_in("{directory}")
    if same_geometry and before != list(given):
        yield "command line", _change_of_words(before, given)


def _change_of_words(old: Sequence[str], new: Sequence[str]) -> str:
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


def _geometry(nodes: Any, processes: Any) -> str:
    return f"{plural(nodes, 'node')}, {processes} processes"

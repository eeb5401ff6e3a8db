"""Rule packs as `campaign rules` prints them."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from campaign.config.rules import catalogue
from campaign.config.rules.builds import BuildFlags
from campaign.config.rules.entries import FileConfiguration, Operation, Variable
from campaign.config.rules.kinds import PLACES
from campaign.config.rules.output_format import OutputFormat
from campaign.config.rules.pack import RulePack
from campaign.config.rules.packs import Available
from campaign.config.rules.sweeps import Sweep
from campaign.core import units
from campaign.core.grouping import grouped
from campaign.core.model import BRACE

_FARTHEST = 24  # the last column at which the text of an entry may begin


def listing(packs: Sequence[Available]) -> str:
    """The packs for `campaign rules`, one per line."""
    width = max((len(pack.id) for pack in packs), default=0)
    return "\n".join(
        f"{pack.id:{width}}  "
        + (f"unusable: {pack.problem}" if pack.problem else f"version {pack.version}  {pack.title}")
        for pack in packs
    )


def text(pack: RulePack, width: int = 100) -> str:
    """One pack with its clauses for `campaign rules ID`, in lines of this width."""
    flags = {
        "Mandatory flags": pack.fixed,
        "Flags set automatically from the geometry": pack.derived,
        "Optional flags (benchmark.extra_arguments, program_arguments)": pack.allowed,
    }
    least = " or more" if pack.items_at_least else ""
    selected = f"the valid one with the {pack.selection.best} value; all results come from it"
    sections = {
        "Benchmark": [[f"  {pack.source}"]] if pack.source.program else [],
        **_command_lines(pack),
        "Launch conditions": [
            _entry(launch.id, launch.clause, launch.title, launch.text, f"needs: {launch.needs}")
            for launch in pack.launch
        ],
        "File configurations": [_files(files) for files in pack.files],
        "How the output is read": _results(pack),
        "Required sizes and counts (GEO-05) and results (RES-01)": [
            _entry(each.phase or "all", each.clause, each.holds) for each in pack.requires
        ],
        "Environment variables of the ranks (ENV-06)": [
            _entry(each.name, each.clause, str(each)) for each in pack.environment
        ],
        "Operations": [_operation(operation) for operation in pack.operations],
        "Sweeps (values measured within one run)": [_entry(sweep.id, "", _sweep(sweep)) for sweep in pack.sweeps],
        "Variables (values of the command line)": [
            _entry(variable.id, variable.clause, *_variable(variable)) for variable in pack.variables
        ],
        "Input files (INP-01)": [
            _entry(each.id, each.clause, each.path or "of the campaign file", each.sha256 and f"SHA-256 {each.sha256}")
            for each in pack.inputs
        ],
        **{title: [_entry(flag.flag, flag.clause, flag.why) for flag in given] for title, given in flags.items()},
        "Categories of builds (build)": [
            _entry(
                each.id, each.clause, each.title, f"changes: {', '.join(each.changes) or 'none'}", *_flags(each.flags)
            )
            for each in pack.builds
        ],
        f"Number of {pack.items_unit} in total": [
            _entry(
                profile,
                pack.items_clause if profile == "full" else "marked not compliant",
                units.format_count(total) + least,
            )
            for profile, total in pack.items_total.items()
        ],
        "Which attempt is reported": [_entry(pack.selection.operation, pack.selection.clause, selected)],
        "Rules that are checked (E: violation, the result is invalid; W: explanation required; I: note)": [
            _check(pack, rule, clause) for rule, clause in catalogue.judged(pack.checks).items()
        ],
        "Interpretation of unclear clauses": [[f"  {f'[{note.clause}]':<14}  {note.text}"] for note in pack.notes],
    }
    lines = [f"{pack.id}, version {pack.version}: {pack.title}", f"Clause numbers in brackets refer to {pack.document}"]
    for title, entries in sections.items():
        if entries:
            lines += ["", title, *itertools.chain.from_iterable(entries)]
    return "\n".join(_folded(line, width) for line in lines)


def _folded(line: str, width: int) -> str:
    """Folded lines; continuation lines are indented to the text after the entry's name."""
    entry = re.match(r" +\S+(?: \S+)*?  +", line)
    indent = entry.end() if entry and entry.end() <= _FARTHEST else len(line) - len(line.lstrip()) + 4
    return textwrap.fill(line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _command_lines(pack: RulePack) -> dict[str, list[list[str]]]:
    if not pack.phases[0].id:
        return {"Command line": [[f"  {pack.applets} {' '.join(pack.arguments)}"]]}
    entries = []
    for phase in pack.phases:
        does = "remove" if len(phase.arguments) == 1 else "copy" if phase.copies else "write"
        does = pack.program(phase.program).applet if phase.program else does
        where = "on nodes that no earlier phase used" if phase.nodes == "other" else ""
        counts = [f"{count} {of}" for count, of in ((phase.nodes, "nodes"), (phase.processes, "processes"))]
        own = " and ".join(text for text in counts if text.partition(" ")[0] not in ("", *PLACES))
        line = " ".join((does, *phase.arguments)).replace(BRACE, "{")
        beside = f"at the same time as {phase.beside}" if phase.beside else ""
        entries.append(_entry(phase.id, phase.clause, line, where, beside, f"with {own}" if own else ""))
    return {"Phases of one execution, one after another in one job and one directory": entries}


def _files(files: FileConfiguration) -> list[str]:
    inflated = f"the benchmark's formula overcounts: {', '.join(files.inflated)}" if files.inflated else ""
    return _entry(files.id, files.clause, files.title, f"flags: {' '.join(files.flags) or 'none'}", inflated)


def _operation(operation: Operation) -> list[str]:
    shown = ", ".join(part for part in (operation.row, operation.title, operation.unit) if part)
    return _entry(operation.id, "", shown, f"= {operation.formula}" if operation.formula else "")


def _flags(flags: BuildFlags) -> Iterator[str]:
    """The patterns of each class of compiler flags that has any."""
    for kind in fields(flags):
        if patterns := getattr(flags, kind.name):
            yield f"{kind.name}: {' '.join(patterns)}"


def _results(pack: RulePack) -> list[list[str]]:
    """The patterns, columns or paths of the numbers; empty if the applet's own parser reads them."""
    read = grouped((replace(each.results, applet=""), each.id) for each in pack.programs if each.results)
    return [_output(", ".join(names), form) for form, names in read.items()]


def _output(name: str, form: OutputFormat) -> list[str]:
    lines = [f"  {name}: as {form.format}; complete with: {form.end or 'its last whole line'}"]
    for record in form.records:
        where = ", ".join(f"{name} is {text}" for name, text in record.where)
        factor = f"times {record.factor:.10g}" if record.factor != 1 else ""
        agrees = f"agrees with {record.plausible} within {record.within:.6g} of it" if record.plausible else ""
        parts = (record.unit, factor, f"below {record.after}" if record.after else "", where, agrees)
        source = " ".join(part for part in (record.each, record.pattern or record.value) if part)
        lines += _entry(record.name, "", f"{record.take}: {source}", ", ".join(part for part in parts if part))
    given = [("fact", f"{name} = {text}") for name, text in form.facts]
    given += [(kind, text) for kind in ("errors", "warnings", "harmless") for text in getattr(form, kind)]
    given += [("explain", f"{pattern} = {says}") for pattern, says in form.explain]
    given += [("passage", f"from {each.after} to {each.until}") for each in form.passages]
    lines += [f"  {kind + ':':<10} {text}" for kind, text in given]
    return lines


def _sweep(sweep: Sweep) -> str:
    if sweep.values:
        return sweep.values
    step = f"times {sweep.times}" if sweep.times else f"plus {sweep.plus}"
    return f"{sweep.first} to {sweep.last}, {step}{', always with the last' if sweep.always_last else ''}"


def _variable(variable: Variable) -> tuple[str, str]:
    free = " (a campaign file may change it)" if variable.free else ""
    return f"{variable.full}{free}; in a rehearsal {variable.rehearsal}", variable.why


def _check(pack: RulePack, rule: str, clause: str) -> list[str]:
    entry = catalogue.CATALOGUE[rule]
    values = ", ".join(
        f"{name} {catalogue.show(parameter.kind, pack.parameter(rule, name))}"
        for name, parameter in entry.parameters.items()
    )
    return [f"  {rule} {entry.severity}  {pack.statement(rule)} [{clause}]{f' ({values})' if values else ''}"]


def _entry(name: str, clause: str, *texts: str) -> list[str]:
    """The lines ` name first text [8.4]`, with further texts below."""
    shown = [part for part in texts if part] or [""]
    if clause:
        shown[0] = f"{shown[0]} [{clause}]".lstrip()
    return [f"  {'' if index else name:<10} {part}".rstrip() for index, part in enumerate(shown)]

"""What a rule pack reads from sample outputs, for whoever writes one: `campaign rules --test PACK LOG...`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from campaign.config.rules import formulas
from campaign.config.rules.pack import RulePack
from campaign.config.rules.programs import Program
from campaign.config.rules.settle import settle
from campaign.core.errors import InputError
from campaign.core.model import Observation, Record
from campaign.report.messages import samples as messages
from campaign.results import derived
from campaign.results.parsers import output

_HEADINGS = ("record", "value", "unit", "iterations", "minimum", "mean", "stddev", "line")
_LEFT = ("record", "unit", "line")


def show(pack: RulePack, logs: Sequence[Path], say: Callable[[str], None]) -> bool:
    """Says what each output gives; whether all are complete and nothing in them is wrong or unrecognised."""
    if not logs:
        raise InputError(messages.NO_SAMPLES(pack=pack.id, applet=pack.applets))
    clean, seen_records = True, set[str]()
    for log in logs:
        program, (records, seen) = _read(pack, log)
        say(_text(log, records, seen))
        if computed := _computed(pack, program, records):
            say("\n".join([f"  {messages.COMPUTED()}", *computed, ""]))
        seen_records |= {record.operation for record in records}
        clean &= seen.complete and not (seen.errors or seen.unparsed)
    lacking = [name for name in _asked(pack) if name not in seen_records]
    if lacking:
        say(messages.RECORDS_NOT_FOUND(names=", ".join(lacking)))
    return clean


def _read(pack: RulePack, log: Path) -> tuple[Program, tuple[Sequence[Record], Observation]]:
    """As output of the program of the pack that it fits best."""

    def fits(read: tuple[Program, tuple[Sequence[Record], Observation]]) -> tuple[bool, int, int]:
        records, seen = read[1]
        return seen.complete, len(records), -len(seen.errors) - len(seen.unparsed)

    return max(((each, output.read_sample(each.output, log)) for each in pack.programs), key=fits)


def _computed(pack: RulePack, program: Program, records: Sequence[Record]) -> list[str]:
    """The numbers that formulas make of one output, where one phase alone has outputs of that program."""
    phases = [phase.id for phase in pack.phases if phase.program == program.id]
    if len(phases) != 1:
        return []
    by_name = {record.operation: record for record in records}
    settled = settle(pack, "full", {}, {})
    numbers = {name: formulas.number(text) for name, text in settled.values.items() if formulas.is_number(text)}
    lines = []
    for operation in settled.operations:
        found = derived.result(operation, settled.operations, lambda one: by_name.get(one.record), lambda: numbers)
        if operation.formula and found is not None:
            lines.append(f"  {operation.id}: {found.value:.10g} {found.unit} = {operation.formula}")
    return lines


def _asked(pack: RulePack) -> list[str]:
    """Names of the records that the pack's operations are, at full size; sweeps over the geometry have no values."""
    operations = settle(pack, "full", {}, {}).operations
    return list(dict.fromkeys(operation.record for operation in operations if operation.record))


def _text(log: Path, records: Sequence[Record], seen: Observation) -> str:
    facts = {"program": seen.program, "command": " ".join(seen.argv), "processes": seen.processes, "nodes": seen.nodes}
    lines = [f"{log}: {messages.COMPLETE() if seen.complete else messages.INCOMPLETE()}"]
    lines += [f"  {name}: {value}" for name, value in facts.items() if value]
    if records:
        lines += _columns([_HEADINGS, *map(_row, records)])
    for kind, remarks in (("error", seen.errors), ("warning", seen.warnings), ("unrecognised", seen.unparsed)):
        lines += [f"  {kind}: {remark}" for remark in remarks]
    counts = messages.COUNTS(
        records=len(records), errors=len(seen.errors), warnings=len(seen.warnings), unread=len(seen.unparsed)
    )
    return "\n".join((*lines, counts, ""))


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Two spaces between columns; those of words begin at the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if heading in _LEFT else cell.rjust(width)
            for heading, cell, width in zip(_HEADINGS, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _row(record: Record) -> list[str]:
    spread = (record.minimum, record.mean, record.stddev)
    shown = ["" if number is None else f"{number:.6g}" for number in spread]
    value, place = f"{record.value:.10g}", f"{record.source.file}:{record.source.line}"
    return [record.operation, value, record.unit, str(record.iterations), *shown, place]

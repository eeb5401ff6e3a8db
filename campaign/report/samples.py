"""What a rule pack reads from sample outputs, for whoever writes one: `campaign rules --test PACK LOG...`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from campaign.config.rules.load import RulePack
from campaign.config.rules.settle import settle
from campaign.core.errors import InputError
from campaign.core.model import Observation, Record
from campaign.report.messages import samples as messages
from campaign.results.parsers import output

_HEADINGS = ("record", "value", "unit", "iterations", "minimum", "mean", "stddev", "line")
_LEFT = ("record", "unit", "line")


def show(pack: RulePack, logs: Sequence[Path], say: Callable[[str], None]) -> bool:
    """Says what each output gives; whether all are complete and nothing in them is wrong or unrecognised."""
    if not logs:
        raise InputError(messages.NO_SAMPLES(pack=pack.id, applet=pack.applets))
    clean, seen_records = True, set[str]()
    for log in logs:
        records, seen = _read(pack, log)
        say(_text(log, records, seen))
        seen_records |= {record.operation for record in records}
        clean &= seen.complete and not (seen.errors or seen.unparsed)
    lacking = [name for name in _asked(pack) if name not in seen_records]
    if lacking:
        say(messages.RECORDS_NOT_FOUND(names=", ".join(lacking)))
    return clean


def _read(pack: RulePack, log: Path) -> tuple[Sequence[Record], Observation]:
    """As output of the program of the pack that it fits best."""
    read = [output.read_sample(program.output, log) for program in pack.programs]
    return max(read, key=lambda one: (one[1].complete, len(one[0]), -len(one[1].errors) - len(one[1].unparsed)))


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

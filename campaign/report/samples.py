"""What a rule pack reads from sample outputs, for authors of packs: `campaign rules --test PACK LOG...`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from campaign.config.rules import formulas
from campaign.config.rules.kinds import PROFILES
from campaign.config.rules.pack import RulePack, settle
from campaign.config.rules.programs import Program
from campaign.core import line_pattern, resources
from campaign.core.columns import Column
from campaign.core.errors import InputError
from campaign.core.records import Observation, Record
from campaign.report import grid
from campaign.results import case
from campaign.results.parsers import output


def _spread(name: str) -> Column[Record]:
    return Column(name, lambda record: "" if (number := getattr(record, name)) is None else f"{number:.6g}")


_COLUMNS: tuple[Column[Record], ...] = (
    Column("record", lambda record: record.operation, is_text=True),
    Column("value", lambda record: f"{record.value:.10g}"),
    Column("unit", lambda record: record.unit, is_text=True),
    Column("iterations", lambda record: record.iterations),
    *map(_spread, ("minimum", "mean", "stddev")),
    Column("line", lambda record: f"{record.source.file}:{record.source.line}", is_text=True),
)


def show_samples(pack: RulePack, logs: Sequence[Path], say: Callable[[str], None]) -> bool:
    """Print what is read from each output; gives whether all are complete, without errors, failed operations or
    unrecognised lines.
    """
    if not logs:
        raise InputError(f"--test {pack.id}: no LOG; expected one or more outputs of {pack.applets}")
    read = [(log, *_best_reading(pack, log)) for log in logs]
    seen_records = {record.operation for _, _, (records, _) in read for record in records}
    # A newcomer's sample is of a rehearsal, a published one is of full size.
    profiles = [settle(pack, profile, {}, {}) for profile in PROFILES]
    settled = min(profiles, key=lambda settled_pack: len(_expected_records(settled_pack).keys() - seen_records))
    clean = True
    together: dict[str, Record] = {}  # of all phases, as operations name them
    for log, phases, (records, seen) in read:
        numbers = grid.plain_grid(_COLUMNS, records, style="plain") if records else ""
        variables = {"log": log, "records": records, "seen": seen, "grid": numbers, "patterns": _patterns(log, seen)}
        say(resources.render_template("sample.txt.j2", **variables).removesuffix("\n"))
        by_name = {record.operation: record for record in records}
        operations = [
            operation for operation in settled.operations if operation.phase in phases and operation.record in by_name
        ]
        values = {operation.key: by_name[operation.record] for operation in operations}
        if len(settled.outputs) == 1:
            _say_computed(settled, values, say)
        elif len({operation.phase for operation in operations}) == 1:
            together |= values
        clean &= seen.complete and not (seen.errors or seen.unparsed or seen.failed_operations)
    _say_computed(settled, together, say)
    missing_records = [name for name in _expected_records(settled) if name not in seen_records]
    if missing_records:
        say(f"in the pack's table, but not in these outputs: {', '.join(missing_records)}")
    return clean


def _best_reading(pack: RulePack, log: Path) -> tuple[list[str], tuple[Sequence[Record], Observation]]:
    """Read as the output of the pack's program that fits it best; with the phases that it may belong to."""

    def fits(read: tuple[Program, tuple[Sequence[Record], Observation]]) -> tuple[bool, int, int]:
        records, seen = read[1]
        return seen.complete, len(records), -len(seen.errors) - len(seen.unparsed)

    readings = [(program, output.read_sample(program.output, log)) for program in pack.programs]
    best = max(readings, key=fits)
    programs = {program.id for program, read in readings if fits((program, read)) == fits(best)}
    return [phase.id for phase in pack.phases if phase.program in programs], best[1]


def _say_computed(settled: RulePack, records: Mapping[str, Record], say: Callable[[str], None]) -> None:
    """Print the numbers that formulas compute from these records, also from those of several phases."""
    numbers = {name: formulas.number(text) for name, text in settled.values.items() if formulas.is_number(text)}
    lines = []
    for operation in settled.operations:
        result = case.result(
            operation, settled.operations, lambda operand: [records.get(operand.key)], lambda _: numbers
        )
        if operation.formula and result is not None:
            lines.append(f"  {operation.id}: {result.value:.10g} {result.unit} = {operation.formula}")
    if lines:
        say("\n".join(["  computed by the pack's formulas:", *lines, ""]))


def _expected_records(settled: RulePack) -> dict[str, None]:
    """Names of the records of the pack's operations; sweeps over the geometry have no values."""
    return dict.fromkeys(operation.record for operation in settled.operations if operation.record)


def _patterns(log: Path, seen: Observation) -> list[str]:
    """Unrecognised lines as patterns that match them alone, to be copied into the pack."""
    if not seen.unparsed:
        return []
    lines = [line.removesuffix("\r") for line in log.read_text("utf-8", "replace").split("\n")]
    unparsed_lines = dict.fromkeys(
        lines[remark.line - 1] for remark in seen.unparsed if remark.line and remark.line <= len(lines)
    )
    return list(map(line_pattern.of_line, unparsed_lines))

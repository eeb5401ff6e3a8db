"""A table from another party, in the form of `campaign table` (CSV, XLSX or JSON): read, and judged by what its numbers
alone reveal. All other rules of the pack are reported as not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from campaign.config.format import Campaign, Target
from campaign.config.forms import FormMapping
from campaign.config.rules import packs
from campaign.config.rules.pack import RulePack, series_counts, settle, unfold
from campaign.core import columns, untrusted
from campaign.core.errors import InputError
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.records import Record, Source
from campaign.core.runs import Attempt, Cell, Command, Geometry, Run, State, Status
from campaign.core.units import distinct_digits, may_be_negative
from campaign.judge import engine
from campaign.judge.findings import CAMPAIGN, complete_findings, to_explain, unchecked, violation
from campaign.judge.numbers import single_process_conditions
from campaign.judge.projections import check_independent_lines
from campaign.judge.submission import Submission
from campaign.judge.timing import BYTES, RATE
from campaign.report.foreign import form_file, table_file
from campaign.results.cells import COLUMNS, Row
from campaign.statistics import intervals

SUFFIXES = (*table_file.SUFFIXES, ".json")
BEYOND = 2.0  # times the rate with separate files: such a rate counts all processes, not what was done
ROUND = 100  # multiples of it are rare among unrounded numbers
UNKNOWN = 0  # processes
FEWEST = 6  # numbers needed to see that they were rounded


def read_submission(path: Path, pack: str | Path, mapping: FormMapping | None = None, part: str = "") -> Submission:
    """A table, or the results of a form, in an RFP those of one part, as a submission: at full size, with the targets
    that it names, without any records. Raises InputError with the place that cannot be read.
    """
    loaded = packs.load(pack)
    entries = form_file.form_rows(path, mapping, {part: loaded}) if mapping else table_entries(path)
    loaded = unfold(loaded, series_counts(loaded, [str(entry.fields.get("launch")) for entry in entries]))
    try:
        settled = settle(loaded, "full", {}, {})
    except ValueError as error:
        raise InputError(f"{path}: rule pack {pack}: {error}") from error
    rows = tuple(parse_row(entry, settled) for entry in entries)
    targets = tuple(Target(name, "") for name in dict.fromkeys(row.cell.target for row in rows))
    campaign = Campaign(
        path=path, name=path.stem, rules=str(pack), profile="full", results=path.parent, targets=targets, launch={}
    )
    return Submission(campaign, settled, (), (), (), rows)


def table_entries(path: Path) -> list[table_file.TabularRow]:
    if path.suffix.lower() == ".json" and path.is_file():
        entries = _json_entries(path, untrusted.content(path, table_file.LARGEST))
        if not entries:
            raise InputError(table_file.table_without_rows(path))
        return entries
    return table_file.read_table(path)


def _json_entries(path: Path, data: bytes) -> list[table_file.TabularRow]:
    rows = untrusted.parse(str(path), data, table_file.ALLOWED)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: not a table; expected a list of objects as 'campaign table --format json' writes it")
    return [
        table_file.TabularRow(f"{path}: entry {number}", columns.add_csv_fields(COLUMNS, row))
        for number, row in enumerate(rows, 1)
    ]


def parse_row(entry: table_file.TabularRow, pack: RulePack) -> Row:
    keys = table_file.NEEDED[:4]
    names = [entry.text_of(key) for key in keys]
    if not all(names):
        raise InputError(f"{entry.where}: column {keys[names.index('')]} is empty; give a name")
    cell = Cell(*names)
    value = entry.number_of("value")
    word = entry.text_of("status") or ("measured" if value is not None else "missing")
    if word not in tuple(Status):
        entry.refuse("status", word, ", ".join(Status))
    operation = next(
        (pack_operation for pack_operation in pack.operations if pack_operation.id == cell.operation), None
    )
    unit = entry.text_of("unit") or (operation.unit if operation else "")
    run, count = _run(entry, cell), entry.count_of("attempt")
    median, low, high, cv = map(entry.number_of, ("median", "low", "high", "cv"))
    return Row(
        cell,
        unit,
        Status(word),
        run,
        value=value,
        attempt=Attempt(run.id, count, "", "", "", State.DONE) if run and count else None,
        record=_record(entry, operation.record if operation else "", value, unit),
        summary=intervals.Summary(entry.count_of("n") or 0, median, low, high, cv),
        note="no value in the table" if value is None else "",
        best="highest" if operation is None else pack.best(operation),
    )


def _run(entry: table_file.TabularRow, cell: Cell) -> Run | None:
    name = entry.text_of("run")
    if not name:
        return None
    nodes, processes = entry.count_of("nodes"), entry.count_of("processes")
    geometry = Geometry(nodes or 1, processes if nodes and processes else UNKNOWN)
    total = entry.count_of("files_total")
    return Run(name, *cell.line, 1, geometry, "", (Command("", ()),), (cell.operation,), None, total, (), "")


def _record(entry: table_file.TabularRow, operation: str, value: float | None, unit: str) -> Record | None:
    file, line = entry.text_of("file"), entry.count_of("line")
    if value is None or not file or not line:
        return _computed_record(entry, operation, value, unit)
    return Record(
        operation,
        value,
        unit,
        Source(file, line),
        true_value=entry.number_of("true_value"),
        statistic=entry.text_of("statistic") or "maximum",
        iterations=entry.count_of("iterations") or 1,
    )


def _computed_record(entry: table_file.TabularRow, operation: str, value: float | None, unit: str) -> Record | None:
    """The record of a computed number, which names the places of its parts: `file:line file:line`."""
    places = [re.fullmatch(r"([^ :]+):([1-9][0-9]{0,8})", word) for word in entry.text_of("parts").split()]
    if value is None or not places or None in places:
        return None
    sources = [Source(place[1], int(place[2])) for place in places if place]
    return Record(operation, value, unit, sources[0], parts=tuple(Record("", 0.0, "", source) for source in sources))


# --- the rules that a table alone can break


def check_units(submission: Submission) -> Iterator[Finding]:
    """STA-05: units are those that the rules require, and numbers are as the benchmark printed them."""
    required_units = {operation.id: operation.unit for operation in submission.pack.operations}
    rows = submission.measured_rows
    units_and_rows = ((required_units[row.cell.operation], row) for row in rows if row.cell.operation in required_units)
    wrong = grouped(((unit, row.unit), row.cell) for unit, row in units_and_rows if row.unit != unit)
    for (expected, actual), cells in wrong.items():
        yield from submission.per_line(violation, cells, "unit differs from the rule pack's", expected, actual)
    large = [row for row in rows if row.value is not None and row.value >= 10 * ROUND]
    rounded = [row.cell for row in large if row.value is not None and row.value % ROUND == 0]
    if len(large) >= FEWEST and 2 * len(rounded) > len(large):
        yield from submission.per_line(
            to_explain, rounded, "values are rounded without explanation", "as measured", f"multiples of {ROUND}"
        )


_TABLE_ONLY = "cannot be checked from a table alone"


def check_size(submission: Submission) -> Iterator[Finding]:
    """FLG-04: no number was measured with fewer items than the rules require, according to the table itself."""
    required_total, wording_values = (
        submission.pack.items_total.get("full", 0),
        {"unit": submission.pack.items_unit, "clause": submission.pack.items_clause},
    )
    totals = ((row.run.items_total if row.run else None, row.cell) for row in submission.measured_rows)
    smaller = grouped((total, cell) for total, cell in totals if total is not None and total < required_total)
    for total, cells in smaller.items():
        wording = "fewer {unit} than the rules require"
        yield from submission.per_line(violation, cells, wording, f"{required_total} or more", total, **wording_values)
    yield unchecked(_TABLE_ONLY)


def check_above_zero(submission: Submission) -> Iterator[Finding]:
    """RUN-06: every number is above zero. The rest of the rule is about outputs."""
    for cell, value, unit in ((row.cell, row.value, row.unit) for row in submission.measured_rows):
        if value is not None and not value > 0 and not (value < 0 and may_be_negative(unit)):
            yield violation(
                "the rate of {name} is not above zero", "> 0", f"{value:.10g}", about=cell, name=cell.operation
            )
    yield unchecked(_TABLE_ONLY)


def check_inflation(submission: Submission) -> Iterator[Finding]:
    """PHY-03: if the benchmark's formula counts what every process would do, the table also gives the actual number."""
    inflated = {files.id: files.inflated for files in submission.pack.files}
    alone = single_process_conditions(submission.pack)
    unsure = []
    for row in submission.measured_rows:
        if row.cell.operation not in inflated.get(row.cell.files, ()) or row.cell.launch in alone:
            continue
        if row.record is not None and row.record.true_value is not None:
            continue
        separate_values = _values_of_separate_files(submission, row)
        if not separate_values or row.value is None or row.value <= BEYOND * max(separate_values.values()):
            unsure.append(row.cell)
            continue
        comparison = ", ".join(f"{value:.10g} ({name})" for name, value in separate_values.items())
        yield violation(
            "inflated by the process count; actual rate not given",
            "the actual rate as well",
            f"{row.value:.10g}, compared with {comparison}",
            about=row.cell,
        )
    yield from submission.per_line(unchecked, unsure, "actual operation count not in the table")


def check_physics(submission: Submission) -> Iterator[Finding]:
    """PHY-04: no rate is above what the processes' system calls, or the nodes' memories, allow."""
    call, memory = (submission.pack.parameter("PHY-04", name) for name in ("call", "memory"))
    inflated = {files.id: files.inflated for files in submission.pack.files}
    alone = single_process_conditions(submission.pack)
    unsure = []
    for row in submission.measured_rows:
        rate = row.record.true_value if row.record else None
        geometry = row.run.geometry if row.run else Geometry(1, UNKNOWN)
        if row.cell.launch in alone:
            geometry = Geometry(1, 1)
        if rate is None and (row.cell.launch in alone or row.cell.operation not in inflated.get(row.cell.files, ())):
            rate = row.value
        if row.unit not in (RATE, *BYTES):
            continue
        limit = geometry.processes / call
        if row.unit in BYTES:
            limit = geometry.nodes * memory * 1e9 / BYTES[row.unit]
        if rate is None or geometry.processes == UNKNOWN:
            unsure.append(row.cell)
        elif rate > limit:
            limit_text, rate_text = distinct_digits(limit, rate)
            yield violation(
                "no machine reaches this rate",
                f"at most {limit_text} {row.unit}",
                f"{rate_text} {row.unit}",
                about=row.cell,
            )
    yield from submission.per_line(
        unchecked, unsure, "the table does not give the processes and nodes, or the actual rate"
    )


def _values_of_separate_files(submission: Submission, row: Row) -> dict[str, float]:
    """The values of the same operation with separate files for every process."""
    plain = {files.id for files in submission.pack.files if row.cell.operation not in files.inflated}
    return {
        other.cell.files: other.value
        for other in submission.measured_rows
        if other.cell.files in plain
        and other.value is not None
        and (other.cell.target, other.cell.launch, other.cell.operation)
        == (row.cell.target, row.cell.launch, row.cell.operation)
    }


# The rules that need no more than the numbers, and those that are judged here from what a table has.
RULES: Mapping[str, Callable[[Submission], Iterator[Finding]]] = {
    **{rule: engine.RULES[rule] for rule in ("CMP-01", "CMP-02", "CMP-03", "CMP-04", "STA-01", "STA-03", "STA-04")},
    **{rule: engine.RULES[rule] for rule in ("PHY-01", "PHY-02", "PHY-05", "PHY-06")},
    "FLG-04": check_size,
    "RUN-06": check_above_zero,
    "STA-05": check_units,
    "PHY-03": check_inflation,
    "PHY-04": check_physics,
    "PRJ-01": check_independent_lines,
}


def table_findings(submission: Submission) -> tuple[Finding, ...]:
    """All that the pack's rules say of a table by itself."""
    rules = {
        rule: RULES[rule](submission) if rule in RULES else [unchecked(_TABLE_ONLY)] for rule in submission.pack.checks
    }
    return tuple(finding for rule, findings in rules.items() for finding in complete_findings(rule, CAMPAIGN, findings))

"""The rules about the numbers of the cells: where they come from, how they vary, whether they can be true. Pure.

They use only rows where possible, so that they also judge a table from another party.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from campaign.config.rules.catalogue import Quantity, show
from campaign.config.rules.output_format import ONE_ITERATION
from campaign.config.rules.pack import RulePack
from campaign.core.model import Cell, Finding, Status
from campaign.core.units import digits
from campaign.judge.findings import doubt, note, unchecked, violation
from campaign.judge.submission import Submission
from campaign.results.case import Case, selected
from campaign.results.cells import Row
from campaign.statistics import intervals

MOST_CHANCE_DIGITS = 15  # digits that two measurements of a large campaign may have in common by chance
LINES_CHANCE_DIGITS = 9  # digits that two of some dozen lines of a table may have in common by chance
Line = tuple[str, str, str]  # target, launch condition, file configuration


def measured_rows(rows: Iterable[Row]) -> list[Row]:
    """Rows whose value is reported as measured, valid or not."""
    return [row for row in rows if row.value is not None and row.status is not Status.PROJECTED]


def _lines(rows: Iterable[Row]) -> dict[Line, list[Row]]:
    by_line: dict[Line, list[Row]] = {}
    for row in rows:
        by_line.setdefault((row.cell.target, row.cell.launch, row.cell.files), []).append(row)
    return by_line


# --- STA: where the numbers come from, and how they vary


def from_one_run(submission: Submission) -> Iterator[Finding]:
    """STA-01: all operations of a line come from one attempt of one run, and from the iterations that the
    rules name.
    """
    unknown: list[Cell] = []
    yield from _iterations(submission)
    for line, rows in _lines(measured_rows(submission.rows)).items():
        unknown += [row.cell for row in rows if not row.origin]
        origins = dict.fromkeys(row.origin for row in rows if row.origin)
        if len(origins) > 1:
            yield violation(
                "the operations come from several runs", "one run", ", ".join(origins), about="/".join((*line, "*"))
            )
    yield from submission.over(unchecked, unknown, "the table does not name the run of the value")


def _iterations(submission: Submission) -> Iterator[Finding]:
    pack, open_cells = submission.pack, []
    declared = {phase.id for phase in pack.phases if phase.program and pack.program(phase.program).results}
    statistics = {operation.id: operation.statistic for operation in pack.operations if operation.record}
    of_record = {operation.key: operation.statistic for operation in pack.operations if operation.record}
    repeated = [
        (row, record)
        for row in measured_rows(submission.rows)
        for record in (row.record.measured if row.record else ())
        if record.iterations > 1
    ]
    for row, record in repeated:
        wanted = (
            ONE_ITERATION
            if pack.selection.iteration
            else statistics.get(row.cell.operation, of_record.get(record.operation, ""))
        )
        if not wanted and record.operation.rpartition("/")[0] not in declared:
            open_cells.append((row.cell, record.statistic))
        elif wanted and record.statistic != wanted:
            actual = f"{record.statistic} of {record.iterations} iterations"
            yield violation(
                "the value is not the statistic of its iterations that the rules require",
                wanted,
                actual,
                about=row.cell,
            )
    for statistic in dict.fromkeys(statistic for _, statistic in open_cells):
        cells = [cell for cell, each in open_cells if each == statistic]
        yield from submission.over(
            doubt(submission.full),
            cells,
            "measured in several iterations, but the rules do not say which to report: values of one line may come "
            "from different iterations",
            "one statistic",
            statistic,
        )


def best_reported(submission: Submission) -> Iterator[Finding]:
    """STA-02: of the valid attempts, the one that the rules select is reported."""
    by_line: dict[Line, list[Case]] = {}
    for result in submission.results:
        if result.valid and result.complete:
            by_line.setdefault((result.run.target, result.run.launch, result.run.files), []).append(result)
    for line, rows in _lines(row for row in submission.rows if row.status is Status.MEASURED).items():
        for row in rows:
            of_row = [result for result in by_line.get(line, ()) if row.cell.operation in result.run.operations]
            if not of_row or not row.origin:
                yield from submission.over(unchecked, [row.cell], "no attempts on record to select from")
                continue
            best, selection = selected(of_row).subject, submission.pack.selection
            if best != row.origin:
                yield violation(
                    "the reported attempt is not the one with the {best} {name}",
                    best,
                    row.origin,
                    about=row.cell,
                    best=selection.best,
                    name=selection.operation,
                )


def repeated(submission: Submission) -> Iterator[Finding]:
    """STA-03: enough repetitions for an interval, or the RFP's minimum, which is then noted."""
    wanted, minimum = (int(submission.pack.parameter("STA-03", name)) for name in ("wanted", "minimum"))
    counts: dict[tuple[int, bool], list[Cell]] = {}
    for row in measured_rows(submission.rows):
        if row.status is Status.MEASURED:
            shared = bool(row.jobs) and row.jobs < min(row.summary.n, wanted)
            counts.setdefault((row.summary.n, shared), []).append(row.cell)
    for (number, shared), cells in sorted(counts.items()):
        if number == 0:
            yield from submission.over(unchecked, cells, "the table has no repetition count")
        elif number < wanted:
            enough = number >= minimum
            what = (
                "too few repetitions for a confidence interval"
                if enough
                else "fewer repetitions than the rules require"
            )
            form = note if enough else doubt(submission.full)
            expected = f"{wanted} (the rules require at least {minimum})"
            yield from submission.over(form, cells, what, expected, number)
        elif shared:
            message = "repetitions shared jobs and are not independent"
            yield from submission.over(note, cells, message, "one job per repetition", f"{number} repetitions")


def steady(submission: Submission) -> Iterator[Finding]:
    """STA-04: the values of a cell vary within the thresholds, form one group, and do not drift."""
    parameter = submission.pack.parameter
    variation, explain, drift = (parameter("STA-04", name) for name in ("variation", "explain", "drift"))
    form = doubt(submission.full)
    single = []
    valid = _valid_in_time(submission)
    for row in measured_rows(submission.rows):
        if row.status is not Status.MEASURED:
            continue
        cv = row.summary.cv
        if cv is None:
            single.append(row.cell)
        elif cv > variation:
            yield form(
                "variation between repetitions above {limit}",
                f"at most {variation:.0%}",
                f"{cv:.1%}",
                about=row.cell,
                limit=f"{explain if cv > explain else variation:.0%}",
            )
        values = _values(submission, row, valid)
        trend = intervals.trend(values)
        if trend is not None and trend < drift:
            yield form("values show a trend over time", f"p-value of {drift:g} or more", f"{trend:.1g}", about=row.cell)
        if far := intervals.outliers(values):
            shown = ", ".join(digits(values[index]) for index in sorted(far))
            yield note("outliers present; none excluded", "", shown, about=row.cell)
    yield from submission.over(unchecked, single, "only one repetition: variability unknown")


def _valid_in_time(submission: Submission) -> dict[Line, list[Case]]:
    """The valid attempts of each line, in the order of measurement."""
    lines: dict[Line, list[Case]] = {}
    for case in sorted(submission.results, key=lambda case: case.attempt.started or 0.0):
        if case.valid:
            lines.setdefault((case.run.target, case.run.launch, case.run.files), []).append(case)
    return lines


def _values(submission: Submission, row: Row, valid: Mapping[Line, Sequence[Case]]) -> list[float]:
    """The values of all valid attempts of a cell, in the order of measurement."""
    operation = next((each for each in submission.pack.operations if each.id == row.cell.operation), None)
    if operation is None:
        return []
    cases = valid.get((row.cell.target, row.cell.launch, row.cell.files), ())
    of_cell = (case.result(operation) for case in cases if operation.id in case.run.operations)
    return [record.value for record in of_cell if record is not None]


# --- PHY: whether they can be true


def layouts_agree(submission: Submission) -> Iterator[Finding]:
    """PHY-01: a single process has no competitors, so that its rates hardly differ between file configurations."""
    factor = submission.pack.parameter("PHY-01", "factor")
    rows = measured_rows(submission.rows)
    for launch in submission.pack.launch if rows else ():
        if launch.processes != 1:
            continue
        for target in submission.campaign.targets:
            for operation in submission.pack.operations_of(launch.id):
                alike = [
                    row
                    for row in rows
                    if (row.cell.target, row.cell.launch, row.cell.operation) == (target.name, launch.id, operation.id)
                ]
                about = f"{target.name}/{launch.id}/*/{operation.id}"
                values = {row.cell.files: row.value for row in alike if row.value and row.value > 0}
                if len(values) < 2:
                    yield unchecked("fewer than two file configurations have a value to compare", about=about)
                elif max(values.values()) > factor * min(values.values()):
                    shown = ", ".join(f"{files} {digits(value)}" for files, value in values.items())
                    yield doubt(submission.full)(
                        "single-process rates differ by more than {factor}x between file configurations",
                        f"at most {factor:g}x",
                        shown,
                        about=about,
                        factor=f"{factor:g}",
                    )


def not_below_one_process(submission: Submission) -> Iterator[Finding]:
    """PHY-02: the rate of many processes is not below the single-process rate."""
    below = submission.pack.parameter("PHY-02", "below")
    alone = next((launch.id for launch in submission.pack.launch if launch.processes == 1), None)
    values = {row.cell: row.value for row in measured_rows(submission.rows) if row.value is not None}
    uncompared = []
    for row in measured_rows(submission.rows):
        cell = row.cell
        if alone is None or cell.launch == alone or row.value is None:
            continue
        reference = values.get(Cell(cell.target, alone, cell.files, cell.operation))
        if reference is None:
            uncompared.append(cell)
            continue
        upwards = row.best == "highest"
        limit = reference * (1 - below if upwards else 1 + below)
        if row.value < limit if upwards else row.value > limit:
            expected = (
                (
                    f"at least {digits(limit)} {row.unit} (single process {digits(reference)}, minus "
                    f"{show(Quantity.SHARE, below)})"
                )
                if upwards
                else (
                    f"at most {digits(limit)} {row.unit} (single process {digits(reference)}, plus "
                    f"{show(Quantity.SHARE, below)})"
                )
            )
            actual = f"{digits(row.value)} {row.unit}"
            yield doubt(submission.full)("slower than the single-process result", expected, actual, about=cell)
    yield from submission.over(unchecked, uncompared, "no single-process result to compare with")


def stat_not_below_creation(submission: Submission) -> Iterator[Finding]:
    """PHY-05: in one row, the rate of stat is not below that of creation, since a stat changes nothing. In 7% of 663
    published results of IO500 it is, so it requires an explanation but is no violation.
    """
    below = submission.pack.parameter("PHY-05", "below")
    rows = {row.cell: row for row in measured_rows(submission.rows)}
    rates = {cell: row.value for cell, row in rows.items() if row.value is not None}
    inflated = {(files.id, operation) for files in submission.pack.files for operation in files.inflated}
    uncompared = []
    for cell, rate in rates.items():
        created = _creation_beside(submission.pack, cell)
        if created is None or (cell.files, created.operation) in inflated:
            continue  # the formula counts files that were not created, so the rates are not comparable
        if created not in rates:
            uncompared.append(cell)
        elif rows[cell].unit == rows[created].unit and rate < (limit := rates[created] * (1 - below)):
            unit = rows[cell].unit
            expected = (
                f"at least {digits(limit)} {unit} (created {digits(rates[created])}, minus "
                f"{show(Quantity.SHARE, below)})"
            )
            actual = f"{digits(rate)} {unit}"
            yield doubt(submission.full)(
                "the stat rate is below the creation rate of the same row", expected, actual, about=cell
            )
    yield from submission.over(unchecked, uncompared, "no creation rate in this row to compare with")


def _creation_beside(pack: RulePack, cell: Cell) -> Cell | None:
    """The cell with the creation rate in the row of a stat cell; None for other cells."""
    ids = {operation.key: operation.id for operation in pack.operations_of(cell.launch) if operation.best != "lowest"}
    record = next((key for key, id in ids.items() if id == cell.operation), "")
    phase, slash, name = record.rpartition("/")
    created = ids.get(f"{phase}{slash}create") if name == "stat" else None
    return replace(cell, operation=created) if created else None


def numbers_of_their_own(submission: Submission) -> Iterator[Finding]:
    """PRJ-01: no line reported as measured repeats another one or is a multiple of it. That would be an unlabelled
    projection; with its label, formula and inputs a projection is allowed.
    """
    lines = {
        line: values
        for line, rows in _lines(measured_rows(submission.rows)).items()
        if len(values := {row.cell.operation: row.value for row in rows if row.value}) >= 2
    }
    apart = {line: _of_own_lines(rows) for line, rows in _lines(measured_rows(submission.rows)).items()}
    order = list(lines)
    for later, line in enumerate(order):
        for other in order[:later]:
            factor = _multiple(apart[line], apart[other]) if line[2] == other[2] else None
            if lines[line] == lines[other]:
                factor = 1.0
            if factor is None:
                continue
            like = "/".join((*other, "*"))
            shown = sum(len(f"{value:.15g}".replace(".", "").lstrip("0")) for value in lines[line].values())
            form = violation if shown >= LINES_CHANCE_DIGITS else doubt(submission.full)
            yield form(
                "reported as measured, but every operation is equal to {line}"
                if factor == 1
                else "reported as measured, but every operation is exactly {factor} times {line}",
                "independent measurements, or a declared projection",
                ", ".join(f"{operation} {value:.10g}" for operation, value in lines[line].items()),
                about="/".join((*line, "*")),
                factor=digits(factor),
                line=like,
            )
            break


def are_their_own(values: Iterable[float]) -> bool:
    """Whether numbers have so many digits that another measurement cannot have them by chance."""
    digits = [len(f"{value:.15g}".partition("e")[0].replace(".", "").strip("-0")) for value in values]
    return sum(digits) >= MOST_CHANCE_DIGITS


def _of_own_lines(rows: Iterable[Row]) -> dict[str, float]:
    """One value of each output line: others on the line, and numbers computed from it, may depend on that one."""
    first: dict[Hashable, Row] = {}
    for row in rows:
        if row.value:
            first.setdefault(row.record.source if row.record else row.cell.operation, row)
    return {row.cell.operation: row.value for row in first.values() if row.value}


def _multiple(values: dict[str, float], others: dict[str, float]) -> float | None:
    """The constant factor between two lines, within their written precision; None if there is none."""
    if len(values) < 3 or values.keys() != others.keys():
        return None
    least, most = 0.0, math.inf
    for operation, value in values.items():
        other = others[operation]
        half, other_half = _half_digit(value), _half_digit(other)
        if half > value / 1000 or other_half > other / 1000:
            return None  # too few digits
        least = max(least, (value - half) / (other + other_half))
        most = min(most, (value + half) / (other - other_half))
    return (least + most) / 2 if least <= most else None


def _half_digit(value: float) -> float:
    """Half of the last written digit of a number."""
    whole, _, fraction = f"{value:.6f}".rstrip("0").partition(".")
    del whole
    return 0.5 * 10.0 ** -len(fraction)

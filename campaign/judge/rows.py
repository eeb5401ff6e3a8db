"""Rows: every cell of the plan with its measurement. Starts from the plan, never from the results. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

from campaign.config.format import Campaign
from campaign.config.rules import facts, formulas
from campaign.config.rules.entries import Operation
from campaign.config.rules.pack import RulePack
from campaign.config.search import Projection
from campaign.core import formula, units
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.records import Record
from campaign.core.runs import Attempt, Cell, Geometry, Run, State, Status, matches
from campaign.plan import matrix
from campaign.results.case import Case, cases_by_node, number_of, reported_node_case, valid_by_line
from campaign.results.cells import Basis, Row
from campaign.statistics import intervals


def table_rows(
    campaign: Campaign, pack: RulePack, runs: Sequence[Run], attempts: Sequence[Attempt], results: Sequence[Case]
) -> list[Row]:
    """A row for every cell of the plan, in the table's order."""
    by_cell = grouped((cell, run) for run in runs for cell in run.cells())
    by_run = grouped((result.run.id, result) for result in results)
    counted_attempts = matrix.attempts_by_run(runs, attempts)
    unused_attempts = Counter(attempt.run for attempt in attempts)
    unused_attempts.subtract({run: len(of_run) for run, of_run in counted_attempts.items()})
    last = {attempt.run: attempt.number for attempt in sorted(attempts, key=lambda attempt: attempt.number)}
    operations = {operation.id: operation for operation in pack.operations}
    of_pack = pack.id, pack.version, pack.digest, campaign.profile, tuple(pack.values.items())
    basis = Basis(campaign.name, *of_pack, campaign.proposed)
    table = []
    for cell in matrix.cells(campaign, pack):
        operation, of_cell = operations[cell.operation], by_cell.get(cell, [])
        results_of_cell = [result for run in of_cell for result in by_run.get(run.id, ())]
        row = Row(cell, operation.unit, Status.MISSING, of_cell[0] if of_cell else None)
        row = _fill_row(row, campaign, operation, [] if operation.is_across_executions else results_of_cell)
        row = replace(row, nodes=tuple(dict.fromkeys(run.node for run in of_cell if run.node)))
        if row.status is Status.MISSING:
            used = [attempt for run in of_cell for attempt in counted_attempts[run.id]]
            row = replace(row, note=_missing_reason(of_cell, used, any(unused_attempts[run.id] for run in of_cell)))
        other = unused_attempts[row.run.id] if row.run else 0
        number = last.get(row.run.id, 0) if row.run else 0
        best = pack.best(operation)
        table.append(replace(row, other_attempts=other, last_attempt=number, best=best, basis=basis))
    return _fill_computed(table, pack, results)


def with_findings(rows: Sequence[Row], findings: Sequence[Finding]) -> tuple[Row, ...]:
    """The rows with the findings about the entire campaign: a violation about a cell makes it invalid."""
    judged_rows = [_add_findings(row, [finding for finding in findings if _is_about_row(finding, row)]) for row in rows]
    invalid = {_source_key(row.record): row.cell for row in judged_rows if row.record and row.status is Status.INVALID}
    cells = {row.cell for row in judged_rows if row.status is Status.INVALID}
    return tuple(_invalidate_computed(row, invalid, cells) for row in judged_rows)


def _is_about_row(finding: Finding, row: Row) -> bool:
    return finding.subject == row.origin or matches(row.cell, finding.subject)


def _source_key(record: Record) -> tuple[str, str]:
    return record.source.file, record.operation


def _invalidate_computed(row: Row, invalid: Mapping[tuple[str, str], Cell], cells: Collection[Cell]) -> Row:
    """A number computed from an invalid one is invalid too. `cells`: the invalid ones, also without a record."""
    if not row.status.counts:
        return row
    parts = list(row.record.parts) if row.record else []
    cell = next((part for part in row.projection.parts if part in cells), None) if row.projection else None
    while parts and cell is None:
        part = parts.pop()
        cell = invalid.get(_source_key(part))
        parts += part.parts
    note = f"computed from {cell}, which is invalid{f'; {row.note}' if row.projection else ''}"
    return replace(row, status=Status.INVALID, note=note) if cell else row


def _add_findings(row: Row, findings: Sequence[Finding]) -> Row:
    broken = any(finding.blocks for finding in findings)
    blocked = broken and row.status.counts
    return replace(row, findings=(*row.findings, *findings), status=Status.INVALID if blocked else row.status)


def _fill_row(row: Row, campaign: Campaign, operation: Operation, attempted: Sequence[Case]) -> Row:
    """The row with its number, or why it has none; still missing if nothing was `attempted`."""
    good = [result for result in attempted if result.valid and result.complete]
    if good:
        nodes = cases_by_node(good)
        result = reported_node_case(nodes)
        cases_of_node, valid_cases = (
            [case for case in cases if case.run.node == result.run.node] for cases in (attempted, good)
        )
        row = _add_number(row, Status.MEASURED, result, operation, cases_of_node, valid_cases)
        results = {node: case.result(operation) for node, case in nodes.items() if node}
        row = replace(row, by_node={node: record.value for node, record in results.items() if record})
        if not (campaign.energy.source or result.pack.energy.clause):
            return row
        meters = {node: case.metered for node, case in nodes.items() if node}
        return replace(row, energy=result.metered, energy_by_node=meters, metered_by=campaign.energy.method)
    projection = next((entry for entry in campaign.projections if matches(row.cell, entry.cells)), None)
    if projection is not None:
        return _projected_row(row, projection, projection.value)
    row = replace(row, attempts=len(attempted))
    declined = next((declined.reason for declined in campaign.declined if matches(row.cell, declined.cells)), None)
    if declined is not None:  # RUN-08 reports problems of attempts without a result
        attempts_text = f" ({units.plural(len(attempted), 'attempt')}, none valid)" if attempted else ""
        return replace(row, status=Status.DECLINED, note=f"{declined}{attempts_text}")
    if not attempted:
        return row
    last = attempted[-1]
    if last.attempt.state is State.DONE and last.result(operation) is not None:
        return _add_number(row, Status.INVALID, last, operation, attempted, [])
    note = _failure_reason(last)
    return replace(row, status=Status.FAILED, run=last.run, attempt=last.attempt, note=note, findings=last.findings)


def _projected_row(row: Row, projection: Projection, value: float) -> Row:
    """The row with its projected number, and how that was computed."""
    inputs = ", ".join(f"{name} = {number:.15g}" for name, number in projection.inputs)
    low, high = map(units.digits, projection.ends)
    note = (
        f"projected, not measured: from {projection.base_system} ({projection.generation}) by {projection.formula} "
        f"with {inputs}; uncertainty {100 * projection.uncertainty:.3g}%: {low} to {high}"
    )
    return replace(row, status=Status.PROJECTED, run=None, value=value, note=note, projection=projection)


def _missing_reason(runs: Sequence[Run], attempts: Sequence[Attempt], with_other_settings: bool) -> str:
    if not runs:
        return "process count not yet determined"
    if attempts:
        return attempts[-1].state_text
    return "no results for the current settings" if with_other_settings else "not run yet"


def _failure_reason(result: Case) -> str:
    """The attempt's own reason; if it ended well without a number, the rules' finding about that."""
    if result.attempt.state is not State.DONE:
        return result.attempt.state_text
    broken = [finding for finding in result.findings if finding.blocks]
    # RUN-06, about the output, is the most direct reason for a missing number.
    nearest = min(broken, key=lambda finding: finding.rule != "RUN-06", default=None)
    return f"{nearest.rule} {nearest.message}" if nearest else "no result in the output"


def _add_number(
    row: Row, status: Status, result: Case, operation: Operation, cases: Sequence[Case], good: Sequence[Case]
) -> Row:
    record = result.result(operation)
    attempts_and_values = [
        (case.attempt, record_of_case.value) for case in good if (record_of_case := case.result(operation)) is not None
    ]
    values = tuple(value for _, value in attempts_and_values)
    started = [attempt.started for attempt, _ in attempts_and_values]
    return replace(
        row,
        status=status,
        run=result.run,
        value=record.value if record else None,
        attempt=result.attempt,
        record=record,
        attempts=len(cases),
        summary=intervals.summarize(values, [attempt.job_id for attempt, _ in attempts_and_values]),
        findings=result.findings,
        values=values,
        jobs=len({case.attempt.job_id for case in good}),
        started=tuple(time for time in started if time is not None) if None not in started else (),
    )


# --- numbers computed across executions: of rows of other lines of the table (`fom@single`, `max(fom over scale)`), and
# of all valid executions of a line (`mean(fom)`)


@dataclass(frozen=True, slots=True)
class LineParts:
    """What a formula may name of a line of the table."""

    rows: dict[str, Row]  # by the names of their operations in formulas
    valid: Sequence[Case]
    values: Mapping[str, str]  # of the pack's variables
    pack: RulePack

    @property
    def numbers(self) -> Mapping[str, float]:
        """Its geometry, variables and number of valid repetitions."""
        geometry = next((row.geometry for row in self.rows.values() if row.geometry), None)
        return {facts.COUNT: len(self.valid), **self.pack.planned_numbers(geometry, self.values)} if geometry else {}

    def named(self, name: str) -> Iterator[tuple[str, Record]]:
        """The results that a name stands for, each with its attempt: of several, those of all repetitions; where each
        node runs by itself, those that the nodes report.
        """
        row = self.rows[formulas.place(name)[0]]
        if not formula.aggregated_name(name) or formulas.set_of(name) or not self.valid:
            yield from [(row.origin, row.record)] if row.record is not None else []
            return
        nodes = cases_by_node(self.valid)
        for case in self.valid if "" in nodes else nodes.values():
            if row.cell.operation in case.run.operations:  # a search may have found a geometry for each operation
                yield from (
                    (case.subject, record) for operation, record in case.results if operation.id == row.cell.operation
                )


def _fill_computed(table: list[Row], pack: RulePack, results: Sequence[Case]) -> list[Row]:
    """The table with the numbers that are computed across executions, or from projected ones."""
    operations = {operation.id: operation for operation in pack.operations if not operation.record}
    has_projections = any(row.projection for row in table)
    if not has_projections and not any(operation.is_across_executions for operation in operations.values()):
        return table
    valid = valid_by_line(results)
    lines = {
        (line[0], *map(formulas.name_of, line[1:])): LineParts(
            {formulas.name_of(row.cell.operation): row for row in rows},
            valid.get(line, ()),
            pack.values_of(*line),
            pack,
        )
        for line, rows in grouped((row.cell.line, row) for row in table).items()
    }
    for index, row in enumerate(table):
        operation, (target, *line) = operations.get(row.cell.operation), row.cell.line
        if operation and row.status is Status.MISSING:
            row_of_operation = computed_row(row, operation, lines, pack)
            table[index] = lines[target, *map(formulas.name_of, line)].rows[operation.name] = row_of_operation
    return table


def _named_lines(name: str, cell: Cell, pack: RulePack) -> list[tuple[str, ...]]:
    """The lines of the table that a name of a cell's formula stands for: of a set, those of all its members."""
    line, of_set = formulas.place(name)[1], formulas.set_of(name)
    launch, _, files = line.partition(f"{formulas.FILES}.")
    launches = pack.series.get(of_set, [launch or cell.launch])
    configurations = (
        [configuration.id for configuration in pack.files] if of_set == formulas.FILES else [files or cell.files]
    )
    names = product(map(formulas.name_of, launches), map(formulas.name_of, configurations))
    return [(cell.target, *line_names) for line_names in names]


def computed_row(row: Row, operation: Operation, table: Mapping[tuple[str, ...], LineParts], pack: RulePack) -> Row:
    """The row with its number, or with the reason why it has none. `table`: the lines by target, launch condition and
    file configuration, as in formulas.
    """
    bases = {name: formulas.place(name)[0] for name in formula.names(operation.formula)}
    lines = {name: [table[line] for line in _named_lines(name, row.cell, pack)] for name in bases}
    parts_by_name = {
        name: [line.rows[bases[name]] for line in lines_of_name if bases[name] in line.rows]
        for name, lines_of_name in lines.items()
    }
    parts = [*chain.from_iterable(parts_by_name.values())]
    is_projected = any(part.projection for part in parts)
    if not is_projected and not operation.is_across_executions:
        return row  # its execution lacks it
    for part in parts:
        if part.record is None and part.projection is None:
            reason = f" ({part.note})" if part.note else ""
            return replace(row, note=f"computed from {part.cell}, which is {part.status}{reason}")
    results_by_name = {
        name: [result for line in lines[name] for result in line.named(name)]
        for name, parts_of_name in parts_by_name.items()
        if parts_of_name
    }
    numbers = {name: line.numbers[base] for name, base in bases.items() for line in lines[name] if base in line.numbers}
    first_part = next(part for part in parts if part.cell.line == row.cell.line)
    try:
        for name, results in results_by_name.items():
            projected_values = [part.value or 0.0 for part in parts_by_name[name] if part.projection]
            numbers[name] = number_of(name, [*(record.value for _, record in results), *projected_values])
        value = formula.value(operation.formula, numbers)
        if is_projected:
            return _computed_projection(row, operation, numbers, parts_by_name, first_part.geometry, value)
    except ValueError as error:
        return replace(row, note=str(error))
    attempts, records = zip(*chain.from_iterable(results_by_name.values()), strict=True)
    return replace(
        row,
        status=Status.MEASURED,  # as long as its parts are valid
        run=first_part.run,
        value=value,
        attempt=first_part.attempt,
        record=Record(operation.id, value, operation.unit, records[0].source, parts=records),
        attempts=first_part.attempts,
        last_attempt=first_part.last_attempt,
        summary=intervals.summarize([value]),
        started=tuple(sorted(chain.from_iterable(part.started for part in parts))[-1:]),
        findings=first_part.findings,
        values=(value,),
        jobs=1,
        nodes=(),
        executions=tuple(dict.fromkeys(attempts)),
    )


def _computed_projection(
    row: Row,
    operation: Operation,
    numbers: Mapping[str, float],
    parts_by_name: Mapping[str, Sequence[Row]],
    geometry: Geometry | None,
    value: float,
) -> Row:
    """The row with a number of which some parts are projected: as uncertain as the ends of these make it. Raises
    ValueError if the formula has no value at one of them.
    """
    parts = [*chain.from_iterable(parts_by_name.values())]
    projections = [part.projection for part in parts if part.projection]
    corners = projected_corners(numbers, dict(_projected_ends(parts_by_name)))
    distances = [abs(formula.value(operation.formula, corner) - value) for corner in corners]
    first, *_ = projections
    projection = replace(
        first,
        cells=str(row.cell),
        nodes=geometry.nodes if geometry else first.nodes,
        processes=geometry.processes if geometry else first.processes,
        formula=operation.formula,
        inputs=tuple(numbers.items()),
        uncertainty=max(distances) / abs(value) if value else 0.0,
        parts=(*(part.cell for part in parts), *chain(*(part.parts for part in projections))),
    )
    return _projected_row(row, projection, value)


def _projected_ends(parts_by_name: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, tuple[float, float]]]:
    """The lowest and the highest number of each name of which a part is projected; those of a set all at one end."""
    for name, parts in parts_by_name.items():
        if any(part.projection for part in parts):
            ends = [part.projection.ends if part.projection else (part.value or 0.0,) * 2 for part in parts]
            low, high = (number_of(name, values) for values in zip(*ends, strict=True))
            yield name, (low, high)


def projected_corners(
    numbers: Mapping[str, float], ends: Mapping[str, tuple[float, float]]
) -> Iterator[dict[str, float]]:
    """The numbers with each combination of the ends of the projected ones."""
    return ({**numbers, **dict(zip(ends, corner, strict=True))} for corner in product(*ends.values()))

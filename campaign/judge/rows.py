"""Rows: every cell of the plan with its measurement. Starts from the plan, never from the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from campaign.config.format import Campaign
from campaign.config.rules.entries import Operation
from campaign.config.rules.pack import RulePack
from campaign.config.search import Projection
from campaign.core import units
from campaign.core.model import Attempt, Cell, Finding, Record, Run, State, Status, matches
from campaign.plan import matrix
from campaign.results.case import Case, selected
from campaign.results.cells import Basis, CellIndex, Row
from campaign.statistics import intervals


def table_rows(
    campaign: Campaign, pack: RulePack, runs: Sequence[Run], attempts: Sequence[Attempt], results: Sequence[Case]
) -> list[Row]:
    """A row for every cell of the plan, in the table's order."""
    wanted = {run.id: run.fingerprint for run in runs}
    others = Counter(attempt.run for attempt in attempts if wanted.get(attempt.run, "") != attempt.fingerprint)
    recorded = _RecordedByCell(runs, attempts, results)
    table = [_row(campaign, pack, cell, recorded) for cell in matrix.cells(campaign, pack)]
    basis = Basis(campaign.name, pack.id, pack.version, pack.digest, campaign.profile, tuple(pack.values.items()))
    best = {operation.id: pack.best(operation) for operation in pack.operations}
    return [
        replace(row, other_attempts=others[row.run.id] if row.run else 0, best=best[row.cell.operation], basis=basis)
        for row in table
    ]


class _RecordedByCell:
    """Runs, attempts and results by their cell and run: there may be a hundred thousand."""

    def __init__(self, runs: Sequence[Run], attempts: Sequence[Attempt], results: Sequence[Case]) -> None:
        self.runs: dict[Cell, list[Run]] = {}
        for run in runs:
            for cell in run.cells():
                self.runs.setdefault(cell, []).append(run)
        self.results: dict[str, list[Case]] = {}
        for result in results:
            self.results.setdefault(result.run.id, []).append(result)
        self.attempts: dict[str, list[Attempt]] = {}
        for attempt in attempts:
            self.attempts.setdefault(attempt.run, []).append(attempt)


def with_findings(rows: Sequence[Row], findings: Sequence[Finding]) -> tuple[Row, ...]:
    """The rows with the findings about the campaign as a whole: a violation about a cell makes it invalid."""
    by_cell = CellIndex([row.cell for row in rows])
    of_origin: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        of_origin.setdefault(row.origin, []).append(place)
    about: dict[int, list[Finding]] = {}
    for finding in findings:
        for place in dict.fromkeys((*of_origin.get(finding.subject, ()), *by_cell.places(finding.subject))):
            about.setdefault(place, []).append(finding)
    judged = [_with_findings(row, about.get(place, ())) for place, row in enumerate(rows)]
    invalid = {_number_of(row, row.record): row.cell for row in judged if row.record and row.status is Status.INVALID}
    return tuple(_of_valid_parts(row, invalid) for row in judged)


def _number_of(row: Row, record: Record) -> tuple[str, str]:
    return row.origin, record.operation


def _of_valid_parts(row: Row, invalid: Mapping[tuple[str, str], Cell]) -> Row:
    """A number computed from an invalid one is invalid too."""
    parts = list(row.record.parts) if row.record and row.status is Status.MEASURED else []
    while parts:
        part = parts.pop()
        if cell := invalid.get(_number_of(row, part)):
            return replace(row, status=Status.INVALID, note=f"computed from {cell}, which is invalid")
        parts += part.parts
    return row


def _with_findings(row: Row, findings: Sequence[Finding]) -> Row:
    broken = any(finding.blocks for finding in findings)
    blocked = broken and row.status in (Status.MEASURED, Status.PROJECTED)
    return replace(row, findings=(*row.findings, *findings), status=Status.INVALID if blocked else row.status)


def _row(
    campaign: Campaign,
    pack: RulePack,
    cell: Cell,
    recorded: _RecordedByCell,
) -> Row:
    operation = next(operation for operation in pack.operations if operation.id == cell.operation)
    of_cell = recorded.runs.get(cell, [])
    tried = [result for run in of_cell for result in recorded.results.get(run.id, ())]
    good = [result for result in tried if result.valid and result.complete]
    row = Row(cell, operation.unit, Status.MISSING, of_cell[0] if of_cell else None)
    declined = next((d.reason for d in campaign.declined if matches(cell, d.cells)), None)
    if good:
        return _number(row, Status.MEASURED, selected(good), operation, tried, good)
    projection = next((given for given in campaign.projections if matches(cell, given.cells)), None)
    if projection is not None:
        value = projection.value
        note = _origin_of(projection, value)
        return replace(row, status=Status.PROJECTED, run=None, value=value, note=note, projection=projection)
    row = replace(row, attempts=len(tried))
    if declined is not None:  # RUN-08 reports problems of attempts without a result
        counted = units.several(len(tried), "attempt")
        note = f"{declined} ({counted}, none valid)" if tried else declined
        return replace(row, status=Status.DECLINED, note=note)
    if not tried:
        attempts = [attempt for run in of_cell for attempt in recorded.attempts.get(run.id, ())]
        return replace(row, note=_why_missing(of_cell, attempts))
    last = tried[-1]
    if last.attempt.state is State.DONE and last.result(operation) is not None:
        return _number(row, Status.INVALID, last, operation, tried, [])
    note = _why_failed(last)
    return replace(row, status=Status.FAILED, run=last.run, attempt=last.attempt, note=note, findings=last.findings)


def _origin_of(projection: Projection, value: float) -> str:
    """How a projected number was computed, for its note."""
    inputs = ", ".join(f"{name} = {number:.15g}" for name, number in projection.inputs)
    low, high = (units.digits(value * (1 + sign * projection.uncertainty)) for sign in (-1, 1))
    return (
        f"projected, not measured: from {projection.base_system} ({projection.generation}) by {projection.formula} "
        f"with {inputs}; uncertainty {100 * projection.uncertainty:g}%: {low} to {high}"
    )


def _why_missing(of_cell: Sequence[Run], attempts: Sequence[Attempt]) -> str:
    if not of_cell:
        return "process count not yet determined"
    counted = [attempt for tried in matrix.attempts_by_run(of_cell, attempts).values() for attempt in tried]
    if counted:
        return counted[-1].in_words
    if attempts:
        return "no results for the current settings"
    return "not run yet"


def _why_failed(result: Case) -> str:
    """The attempt's own reason; if it ended well without a number, the rules' finding about that."""
    if result.attempt.state is not State.DONE:
        return result.attempt.in_words
    broken = [finding for finding in result.findings if finding.blocks]
    # RUN-06, about the output, is the most direct reason for a missing number.
    nearest = min(broken, key=lambda finding: finding.rule != "RUN-06", default=None)
    return f"{nearest.rule} {nearest.message}" if nearest else "no result in the output"


def _number(
    row: Row, status: Status, result: Case, operation: Operation, tried: Sequence[Case], good: Sequence[Case]
) -> Row:
    record = result.result(operation)
    counted = [(case.attempt.job_id, each.value) for case in good if (each := case.result(operation)) is not None]
    values = tuple(value for _, value in counted)
    return replace(
        row,
        status=status,
        run=result.run,
        value=record.value if record else None,
        attempt=result.attempt,
        record=record,
        attempts=len(tried),
        summary=intervals.summarize(values, [job for job, _ in counted]),
        findings=result.findings,
        values=values,
        jobs=len({case.attempt.job_id for case in good}),
    )

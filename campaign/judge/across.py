"""Numbers computed across executions: of rows of other launch conditions (`fom@single`), and of all valid executions of
a line of the table (`mean(fom)`). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from campaign.config.rules import formulas
from campaign.config.rules.entries import Operation
from campaign.config.rules.pack import RulePack
from campaign.core import formula
from campaign.core.grouping import grouped
from campaign.core.model import Record, Status
from campaign.results.case import Case, by_node, valid_by_line
from campaign.results.cells import Row
from campaign.statistics import intervals


@dataclass(frozen=True, slots=True)
class LineParts:
    """What a formula may name of a line of the table."""

    rows: Mapping[str, Row]  # by the names of their operations in formulas
    valid: Sequence[Case]
    values: Mapping[str, str]  # of the pack's variables

    @property
    def numbers(self) -> Mapping[str, float]:
        """Its geometry and variables."""
        geometry = next((row.geometry for row in self.rows.values() if row.geometry), None)
        return formulas.numbers(geometry, self.values) if geometry else {}

    def named(self, name: str) -> Iterator[tuple[str, Record]]:
        """The results that a name stands for, each with its attempt: of several, those of all repetitions; where each
        node runs by itself, those that the nodes report.
        """
        row = self.rows[formulas.place(name)[0]]
        if not formula.of_several(name) or not self.valid:
            yield from [(row.origin, row.record)] if row.record is not None else []
            return
        nodes = by_node(self.valid)
        for case in self.valid if "" in nodes else nodes.values():
            if row.cell.operation in case.run.operations:  # a search may have found a geometry for each operation
                yield from ((case.subject, record) for each, record in case.reported if each.id == row.cell.operation)


def filled(table: list[Row], pack: RulePack, results: Sequence[Case]) -> list[Row]:
    """The table with the numbers that are computed across executions."""
    operations = {operation.id: operation for operation in pack.operations if operation.across}
    if not operations:
        return table
    valid = valid_by_line(results)
    lines = {
        (line[0], formulas.name_of(line[1]), line[2]): LineParts(
            {formulas.name_of(row.cell.operation): row for row in rows},
            valid.get(line, ()),
            pack.values_of(*line),
        )
        for line, rows in grouped((row.cell.line, row) for row in table).items()
    }
    return [
        computed(row, operations[row.cell.operation], lines)
        if row.cell.operation in operations and row.status is Status.MISSING
        else row
        for row in table
    ]


def computed(row: Row, operation: Operation, table: Mapping[tuple[str, str, str], LineParts]) -> Row:
    """The row with its number, or with the reason why it has none. `table`: the lines by target, launch condition as in
    formulas, and file configuration.
    """
    places = {name: formulas.place(name) for name in formula.names(operation.formula)}
    target, here, files = row.cell.line
    lines = {name: table[target, launch or formulas.name_of(here), files] for name, (_, launch) in places.items()}
    parts = {name: lines[name].rows[base] for name, (base, _) in places.items() if base in lines[name].rows}
    for part in parts.values():
        if part.record is None:
            why = f" ({part.note})" if part.note else ""
            return replace(row, note=f"computed from {part.cell}, which is {part.status}{why}")
    found = {name: list(lines[name].named(name)) for name in parts}
    known = {
        name: number for name, line in lines.items() for base, number in line.numbers.items() if base == places[name][0]
    }
    try:
        for name, results in found.items():
            values = [record.value for _, record in results]
            of = formula.of_several(name)
            known[name] = formula.aggregate(name, {of: values}) if of else values[0]
        value = formula.value(operation.formula, known)
    except ValueError as error:
        return replace(row, note=str(error))
    attempts, records = zip(*chain.from_iterable(found.values()), strict=True)
    own = next(part for name, part in parts.items() if not places[name][1])
    return replace(
        row,
        status=Status.MEASURED,  # as long as its parts are valid
        run=own.run,
        value=value,
        attempt=own.attempt,
        record=Record(operation.id, value, operation.unit, records[0].source, parts=records),
        attempts=own.attempts,
        summary=intervals.summarize([value]),
        findings=own.findings,
        values=(value,),
        jobs=1,
        nodes=(),
        executions=tuple(dict.fromkeys(attempts)),
    )

"""Numbers computed by a formula. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from campaign.config.rules.entries import Operation
from campaign.config.rules.formulas import VALUE
from campaign.core import formula
from campaign.core.model import Record


def result(
    operation: Operation,
    operations: Sequence[Operation],
    record: Callable[[Operation], Record | None],
    numbers: Callable[[], Mapping[str, float]],
) -> Record | None:
    """The value of an operation's column: a record of the output, or computed from others by its formula.

    `operations`: those that a formula may name; `record` gives the record of one; `numbers`: other names.
    """
    measured = record(operation) if operation.record else None
    if not operation.formula:
        return measured
    wanted = formula.names(operation.formula)
    inputs = {VALUE: measured} if operation.record else {}
    if not operation.record:
        inputs = {each.name: result(each, operations, record, numbers) for each in operations if each.name in wanted}
    return _computed(operation, inputs, numbers())


def _computed(operation: Operation, inputs: Mapping[str, Record | None], numbers: Mapping[str, float]) -> Record | None:
    """The record with its parts; None if one is missing or the formula has no value."""
    parts = {name: record for name, record in inputs.items() if record is not None}
    if not parts or len(parts) < len(inputs):
        return None
    try:
        value = formula.value(operation.formula, {**numbers, **{name: part.value for name, part in parts.items()}})
    except ValueError:
        return None
    source = next(iter(parts.values())).source
    return Record(operation.id, value, operation.unit, source, parts=tuple(parts.values()))

"""The number of a column: from the iterations that the rule pack requires, or computed from others by a formula. Pure.

A program that measures several times (`-i 3`) prints the best of each operation, possibly from different iterations. If
the output does not show what is required, the record stays as printed, and STA-01 reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from campaign.config.rules.entries import Operation
from campaign.config.rules.formulas import VALUE
from campaign.config.rules.output_format import ONE_ITERATION
from campaign.core import formula
from campaign.core.model import Iteration, Record


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
    if operation.record:
        return _computed(operation, {VALUE: measured}, numbers())
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


# --- of several iterations


def by_statistic(record: Record, wanted: str) -> Record:
    """The record with this statistic of its iterations as value."""
    if record.iterations < 2 or wanted in ("", record.statistic):
        return record
    printed = {"mean": record.mean, "minimum": record.minimum}.get(wanted)
    if not record.each:
        true = record.true_value and printed and record.true_value * printed / record.value
        return record if printed is None else replace(record, value=printed, true_value=true, statistic=wanted)
    order = sorted(range(len(record.each)), key=lambda place: record.each[place].value)
    places = {"first": 0, "last": -1, "minimum": order[0], "maximum": order[-1]}
    middle = order[(len(order) - 1) // 2 : len(order) // 2 + 1]
    chosen = _at(record, record.each[places.get(wanted, middle[0])])
    if wanted in ("mean", "median"):
        among = [record.each[place] for place in (order if wanted == "mean" else middle)]
        chosen = replace(chosen, value=fmean(each.value for each in among), **_averaged(among))
    # What the program prints besides its best value is on the same line.
    source = chosen.source if printed is None else record.source
    return replace(chosen, value=chosen.value if printed is None else printed, source=source, statistic=wanted)


def of_iteration(record: Record, place: int) -> Record:
    """The record of one iteration alone."""
    if record.iterations < 2 or place >= len(record.each):
        return record
    return replace(_at(record, record.each[place]), statistic=ONE_ITERATION, iteration=place + 1)


def chosen(deciding: Record | None, which: str, best: str) -> int | None:
    """The iteration that all numbers of a row are from: `best` (by the deciding operation), first, last."""
    if deciding is None or not deciding.each:
        return None
    values = [each.value for each in deciding.each]
    extreme = max(values) if best == "highest" else min(values)
    return {"first": 0, "last": len(values) - 1}.get(which, values.index(extreme))


def _at(record: Record, each: Iteration) -> Record:
    details: Mapping[str, Any] = each.details
    return replace(record, value=each.value, source=each.source, **details)


def _averaged(iterations: Sequence[Iteration]) -> dict[str, Any]:
    """Averages over the iterations; a count is rounded."""
    known = {name: [iteration.details.get(name) for iteration in iterations] for name in iterations[0].details}
    means = {name: fmean(values) for name, values in known.items() if None not in values}  # type: ignore[arg-type]
    whole = {name for name, values in known.items() if all(isinstance(value, int) for value in values)}
    return {name: round(value) if name in whole else value for name, value in means.items()}

"""Numbers that a formula computes of others. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from campaign.config.rules.load import Operation
from campaign.core import formula
from campaign.core.model import Record


def compute(operation: Operation, inputs: Mapping[str, Record | None], numbers: Mapping[str, float]) -> Record | None:
    """The operation's record with its parts; None where one of them is missing or the formula gives no number of them.

    `inputs` by the names that the formula has for them; `numbers`: what else it may name.
    """
    parts = {name: record for name, record in inputs.items() if record is not None}
    if not parts or len(parts) < len(inputs):
        return None
    try:
        value = formula.value(operation.formula, {**numbers, **{name: part.value for name, part in parts.items()}})
    except ValueError:
        return None
    source = next(iter(parts.values())).source
    return Record(operation.id, value, operation.unit, source, parts=tuple(parts.values()))

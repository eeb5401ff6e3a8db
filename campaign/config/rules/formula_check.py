"""Conditions on an operation's `record`, `formula` and `printed`, each with its message."""

from __future__ import annotations

from collections.abc import Mapping

from campaign.config.rules import formulas, sweeps
from campaign.config.rules.kinds import GEOMETRY
from campaign.core import formula
from campaign.core.schema import Values


def check(operation: Values, values: Mapping[str, str], before: Mapping[str, set[str]], of_phase: set[str]) -> set[str]:
    """Check an operation; gives the launch conditions that have it. `values`: of variables and sweeps; `before`: the
    operations above it, which its formula may use, each with its launch conditions; `of_phase`: those of its phase.
    """
    record, text, printed = (operation[key] for key in ("record", "formula", "printed"))
    if None in (record, text, printed):
        return of_phase
    if not record and not text:
        operation.problem("required key missing; allowed: the name of a result; or a `formula`", "record")
    if bool(record and text) != bool(printed):
        operation.problem(
            "the printed unit is required if both `record` and `formula` are given, and not allowed otherwise",
            "printed",
        )
    if not text:
        return of_phase
    filled = sweeps.fill(text, {name: formulas.name_of(value) for name, value in values.items()})
    try:
        wanted = formula.names(filled)
    except ValueError as error:
        operation.problem(str(error), "formula")
        return of_phase
    numbers = [name for name, value in values.items() if formulas.is_number(value)]
    results = [formulas.VALUE] if record else [formulas.name_of(name) for name in before]
    for name in wanted:
        operation.require(name, [*results, *GEOMETRY, *numbers], "formula")
        if results.count(name) > 1:
            operation.problem(
                f"{name} matches several operations; give them ids that differ in more than - _ .", "formula"
            )
    if not set(wanted) & set(results):
        operation.problem(f"uses no result; allowed: {', '.join(results) or 'none'}", "formula")
    if record:
        return of_phase
    together = of_phase.intersection(*(launch for name, launch in before.items() if formulas.name_of(name) in wanted))
    if not together:
        operation.problem(
            "no launch condition measures all results of the formula; use results of phases that run under the same "
            "one",
            "formula",
        )
    return together or of_phase

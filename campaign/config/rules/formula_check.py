"""Conditions on an operation's `record`, `formula` and `printed`. Problems are reported to the document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from campaign.config.rules import formulas, sweeps
from campaign.core import formula
from campaign.core.strict_yaml import Document, Place


def check(
    at: Place,
    operation: dict[str, Any],
    values: Mapping[str, str],
    before: Mapping[str, set[str]],
    of_phase: set[str],
    document: Document,
) -> set[str]:
    """Check an operation; gives the launch conditions that have it. `values`: of variables and sweeps; `before`: the
    operations above it, which its formula may use, each with its launch conditions; `of_phase`: those of its phase.
    """
    record, text, printed = (operation[key] for key in ("record", "formula", "printed"))
    if None in (record, text, printed):
        return of_phase
    if not record and not text:
        document.problem((*at, "record"), "required key missing; allowed: the name of a result; or a `formula`")
    if bool(record and text) != bool(printed):
        document.problem(
            (*at, "printed"),
            "the printed unit is required if both `record` and `formula` are given, and not allowed otherwise",
        )
    if not text:
        return of_phase
    filled = sweeps.fill(text, {name: formulas.name_of(value) for name, value in values.items()})
    try:
        wanted = formula.names(filled)
    except ValueError as error:
        document.problem((*at, "formula"), str(error))
        return of_phase
    numbers = [name for name, value in values.items() if formulas.is_number(value)]
    results = [formulas.VALUE] if record else [formulas.name_of(name) for name in before]
    for name in wanted:
        document.require((*at, "formula"), name, [*results, *formulas.GEOMETRY, *numbers])
        if results.count(name) > 1:
            document.problem(
                (*at, "formula"), f"{name} matches several operations; give them ids that differ in more than - _ ."
            )
    if not set(wanted) & set(results):
        document.problem((*at, "formula"), f"uses no result; allowed: {', '.join(results) or 'none'}")
    if record:
        return of_phase
    together = of_phase.intersection(*(launch for name, launch in before.items() if formulas.name_of(name) in wanted))
    if not together:
        document.problem(
            (*at, "formula"),
            "no launch condition measures all results of the formula; use results of phases that run under the same "
            "one",
        )
    return together or of_phase

"""The rule about sizes and counts that a pack requires. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from campaign.config.rules import formulas
from campaign.config.rules.entries import Requirement
from campaign.core.formula import Condition, value
from campaign.core.model import Finding
from campaign.core.units import digits
from campaign.judge.attempt import WITHIN
from campaign.judge.findings import at_full_size, unchecked, violation
from campaign.judge.timing import BYTES
from campaign.results.case import Case

PRINTED = 1e-4  # relative; IOR prints the bytes moved in tenths of a MiB


def hold(case: Case) -> Iterator[Finding]:
    """GEO-05: each condition of the pack holds for what the output and the job recorded; `moved` for each bandwidth."""
    if not case.pack.requires:
        return
    recorded = _recorded(case)
    rates = dict.fromkeys(record for _, found in case.reported for record in found.measured if record.unit in BYTES)
    for requirement in case.pack.requires:
        if requirement.launch and case.run.launch not in requirement.launch:
            continue
        if requirement.files and case.run.files not in requirement.files:
            continue
        condition = Condition.of(requirement.holds)
        if formulas.MOVED not in condition.names:
            yield from _holds(case, requirement, condition, requirement.holds, recorded)
            continue
        for record in rates:
            moved = {} if record.moved_bytes is None else {formulas.MOVED: float(record.moved_bytes)}
            text = f"{record.operation}: {requirement.holds}"
            yield from _holds(case, requirement, condition, text, recorded | moved)
        if not rates:
            yield unchecked("{condition}: {names} not recorded", condition=requirement.holds, names=formulas.MOVED)


def _holds(
    case: Case, requirement: Requirement, condition: Condition, text: str, known: dict[str, float]
) -> Iterator[Finding]:
    lacking = [name for name in condition.names if name not in known]
    if lacking:
        yield unchecked("{condition}: {names} not recorded", condition=text, names=", ".join(lacking))
        return
    tolerance = {}
    if formulas.MEMORY in condition.names:  # the plan uses what is configured in Slurm: slightly less than a node has
        tolerance = {"within": WITHIN}
    elif formulas.MOVED in condition.names:
        tolerance = {"within": PRINTED}
    try:
        if condition.holds(known, **tolerance):
            return
        left, right = (value(side, known) for side in (condition.left, condition.right))
    except ValueError as error:
        yield unchecked(str(error))
        return
    yield at_full_size(violation, case.full)(
        "clause {clause} requires {condition}; found {values}",
        f"{condition.sign} {digits(right)}",
        digits(left),
        condition=text,
        clause=requirement.clause,
        values=", ".join(f"{name} {digits(known[name])}" for name in condition.names),
    )


def _recorded(case: Case) -> dict[str, float]:
    """The recorded numbers of a run; variables as in the executed words."""
    seen, run, environment = case.seen, case.run, case.evidence.environment
    numbers = {name: formulas.number(text) for name, text in case.values.items() if formulas.is_number(text)}
    values: dict[str, float | None] = {
        "processes": seen.processes,
        "nodes": seen.nodes,
        "processes_per_node": seen.processes / seen.nodes if seen.processes and seen.nodes else None,
        "threads": seen.threads or run.threads or None,
        formulas.MEMORY: case.memory / run.geometry.nodes if case.memory else None,
        formulas.CORES: min((float(text) for text in environment.values("cpu.cores") if text.isdigit()), default=None),
        "items_total": run.items_total if seen.files_reported is None else seen.files_reported,
        "items_per_process": run.items_per_process,
    }
    return {**{name: float(number) for name, number in values.items() if number is not None}, **numbers}

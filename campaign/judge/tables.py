"""A table judged on its own, without the records of its campaign: what its numbers alone reveal. Pure.

All other rules of the pack are reported as not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from campaign.core.model import Cell, Finding
from campaign.judge import numbers, submission
from campaign.judge.findings import CAMPAIGN, of_rule, to_explain, unchecked, violation
from campaign.judge.submission import Submission
from campaign.results.cells import Row

BEYOND = 2.0  # times the rate with separate files: such a rate counts all processes, not what was done
ROUND = 100  # multiples of it are rare among unrounded numbers
FEWEST = 6  # numbers needed to see that they were rounded


def units_of_the_rules(whole: Submission) -> Iterator[Finding]:
    """STA-05: units are those that the rules require, and numbers are as the benchmark printed them."""
    wanted = {operation.id: operation.unit for operation in whole.pack.operations}
    rows = numbers.measured_rows(whole.rows)
    wrong: dict[tuple[str, str], list[Cell]] = {}
    for row in rows:
        unit = wanted.get(row.cell.operation)
        if unit is not None and row.unit != unit:
            wrong.setdefault((unit, row.unit), []).append(row.cell)
    for (expected, actual), cells in wrong.items():
        yield from whole.over(violation, cells, "unit differs from the rule pack's", expected, actual)
    large = [row for row in rows if row.value is not None and row.value >= 10 * ROUND]
    rounded = [row.cell for row in large if row.value is not None and row.value % ROUND == 0]
    if len(large) >= FEWEST and 2 * len(rounded) > len(large):
        yield from whole.over(
            to_explain, rounded, "values are rounded without explanation", "as measured", f"multiples of {ROUND}"
        )


_TABLE_ONLY = "cannot be checked from a table alone"


def full_size(whole: Submission) -> Iterator[Finding]:
    """FLG-04: no number was measured with fewer items than the rules require, according to the table itself."""
    asked = whole.pack.items_total.get("full", 0)
    smaller: dict[int, list[Cell]] = {}
    for row in numbers.measured_rows(whole.rows):
        total = row.run.items_total if row.run else None
        if total is not None and total < asked:
            smaller.setdefault(total, []).append(row.cell)
    for total, cells in smaller.items():
        message = "fewer {unit} than the rules require"
        expected, unit = f"{asked} or more", whole.pack.items_unit
        yield from whole.over(violation, cells, message, expected, total, unit=unit)
    yield unchecked(_TABLE_ONLY)


def above_zero(whole: Submission) -> Iterator[Finding]:
    """RUN-06: every number is above zero. The rest of the rule is about outputs."""
    nothing = [row for row in numbers.measured_rows(whole.rows) if row.value is not None and not row.value > 0]
    for row in nothing:
        message, name = "the rate of {name} is not above zero", row.cell.operation
        yield violation(message, "> 0", f"{row.value:.10g}", about=row.cell, name=name)
    yield unchecked(_TABLE_ONLY)


def inflation_told(whole: Submission) -> Iterator[Finding]:
    """PHY-03: if the benchmark's formula counts what every process would do, the table also gives the actual number."""
    alone = {launch.id for launch in whole.pack.launch if launch.processes == 1}
    unsure = []
    for row in numbers.measured_rows(whole.rows):
        files = next((entry for entry in whole.pack.files if entry.id == row.cell.files), None)
        if files is None or row.cell.operation not in files.inflated or row.cell.launch in alone:
            continue
        if row.record is not None and row.record.true_value is not None:
            continue
        others = _same_elsewhere(whole, row)
        if not others or row.value is None or row.value <= BEYOND * max(others.values()):
            unsure.append(row.cell)
            continue
        beside = ", ".join(f"{value:.10g} ({name})" for name, value in others.items())
        found = f"{row.value:.10g}, compared with {beside}"
        yield violation(
            "inflated by the process count; actual rate not given", "the actual rate as well", found, about=row.cell
        )
    yield from whole.over(unchecked, unsure, "actual operation count not in the table")


def _same_elsewhere(whole: Submission, row: Row) -> dict[str, float]:
    """The values of the same operation with separate files for every process."""
    plain = {files.id for files in whole.pack.files if row.cell.operation not in files.inflated}
    return {
        other.cell.files: other.value
        for other in numbers.measured_rows(whole.rows)
        if other.cell.files in plain
        and other.value is not None
        and (other.cell.target, other.cell.launch, other.cell.operation)
        == (row.cell.target, row.cell.launch, row.cell.operation)
    }


RULES: Mapping[str, Callable[[Submission], Iterator[Finding]]] = {
    "CMP-01": submission.every_cell_there,
    "CMP-02": submission.every_target_answered,
    "CMP-03": submission.every_cell_answered,
    "CMP-04": submission.every_number_traced,
    "FLG-04": full_size,
    "RUN-06": above_zero,
    "STA-01": numbers.from_one_run,
    "STA-03": numbers.repeated,
    "STA-04": numbers.steady,
    "STA-05": units_of_the_rules,
    "PHY-01": numbers.layouts_agree,
    "PHY-02": numbers.not_below_one_process,
    "PHY-03": inflation_told,
    "PHY-05": numbers.stat_not_below_creation,
    "PRJ-01": numbers.numbers_of_their_own,
}


def judge_table(whole: Submission) -> tuple[Finding, ...]:
    """All that the pack's rules say of a table by itself."""
    rules = {rule: RULES[rule](whole) if rule in RULES else [unchecked(_TABLE_ONLY)] for rule in whole.pack.checks}
    return tuple(finding for rule, findings in rules.items() for finding in of_rule(rule, CAMPAIGN, findings))

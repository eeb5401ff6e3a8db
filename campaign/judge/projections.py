"""The rules about projections (PRJ), and whether measured lines are independent of each other. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from campaign.config.search import Projection
from campaign.core import formula
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.runs import Status
from campaign.core.units import digits
from campaign.judge.findings import note, shorten, to_explain, to_explain_at_full_size, unchecked, violation
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import Submission
from campaign.results.cells import Row
from campaign.results.parsers.consistency import half_digit

MOST_CHANCE_DIGITS = 15  # digits that two measurements of a large campaign may have in common by chance
LINES_CHANCE_DIGITS = 9  # digits that two of some dozen lines of a table may have in common by chance
Line = tuple[str, str, str]  # target, launch condition, file configuration


def rows_by_line(rows: Iterable[Row]) -> dict[Line, list[Row]]:
    return grouped((row.cell.line, row) for row in rows)


def check_independent_lines(submission: Submission) -> Iterator[Finding]:
    """PRJ-01: no line reported as measured repeats another one or is a multiple of it. That would be an unlabelled
    projection; with its label, formula and inputs a projection is allowed.
    """
    by_line = rows_by_line(submission.measured_rows)
    values = {line: {row.cell.operation: row.value for row in rows if row.value} for line, rows in by_line.items()}
    lines = {line: of_line for line, of_line in values.items() if len(of_line) >= 2}
    values_by_line = {line: _one_value_per_source(by_line[line]) for line in lines}
    order = list(lines)
    for position, line in enumerate(order):
        for other in order[:position]:
            factor = _constant_factor(values_by_line[line], values_by_line[other]) if line[2] == other[2] else None
            if lines[line] == lines[other]:
                factor = 1.0
            if factor is None:
                continue
            digit_count = sum(len(f"{value:.15g}".replace(".", "").lstrip("0")) for value in lines[line].values())
            form = violation if digit_count >= LINES_CHANCE_DIGITS else to_explain_at_full_size(submission.full)
            yield form(
                "reported as measured, but every operation is equal to {line}"
                if factor == 1
                else "reported as measured, but every operation is exactly {factor} times {line}",
                "independent measurements, or a declared projection",
                ", ".join(f"{operation} {value:.10g}" for operation, value in lines[line].items()),
                about="/".join((*line, "*")),
                factor=digits(factor),
                line="/".join((*other, "*")),
            )
            break


def has_unique_digits(values: Iterable[float]) -> bool:
    """Whether numbers have so many digits that another measurement cannot have them by chance."""
    digits = [len(f"{value:.15g}".partition("e")[0].replace(".", "").strip("-0")) for value in values]
    return sum(digits) >= MOST_CHANCE_DIGITS


def _one_value_per_source(rows: Iterable[Row]) -> dict[str, float]:
    """One value of each output line: others on the line, and numbers computed from it, may depend on that one."""
    by_source = grouped((row.record.source if row.record else row.cell.operation, row) for row in rows if row.value)
    return {row.cell.operation: row.value for row, *_ in by_source.values() if row.value}


def _constant_factor(values: dict[str, float], other_values: dict[str, float]) -> float | None:
    """The constant factor between two lines, within their written precision; None if there is none."""
    if len(values) < 3 or values.keys() != other_values.keys():
        return None
    smallest, largest = 0.0, math.inf
    for operation, value in values.items():
        other = other_values[operation]
        half, other_half = (half_digit(f"{number:.6f}".rstrip("0")) for number in (value, other))
        if half > value / 1000 or other_half > other / 1000:
            return None  # too few digits
        smallest = max(smallest, (value - half) / (other + other_half))
        largest = min(largest, (value + half) / (other - other_half))
    return (smallest + largest) / 2 if smallest <= largest else None


_CLOSE = 1e-9  # relative difference below which two numbers are equal
_PLACEHOLDER = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


@campaign_rule(
    "PRJ-01",
    "projections are labelled and follow from a model; no measured line repeats another",
    why="a value that is copied or extrapolated is not a measurement and must not look like one",
    remedy="label the value as a projection with its model, or measure it",
    is_fixed_afterwards=True,
)
def check_labels(submission: Submission) -> Iterator[Finding]:
    """Labels; no projection repeats a measured value, and no measured line another one, or a multiple of it, in all
    operations (fewer than 9 digits together: W).
    """
    yield from check_independent_lines(submission)
    for row, projection in _projections(submission):
        if row.status not in (Status.PROJECTED, Status.INVALID):
            yield violation("a projection is reported with another status", "projected", row.status, about=row.cell)
        if (value := row.value) is None:
            continue
        equal_inputs = [name for name, number in projection.inputs if _is_close(number, value)]
        if equal_inputs:
            yield violation(
                "the projection repeats a measured value without a model",
                "a value computed from the inputs by a model",
                f"the value of {equal_inputs[0]}, {value:.10g}",
                about=row.cell,
                remedy="compute the value from the inputs by a model",
            )
        measured = [other for other in submission.rows if other.status in (Status.MEASURED, Status.INVALID)]
        comparable_rows = (other for other in measured if other.projection is None and other.unit == row.unit)
        twin = next(
            (other for other in comparable_rows if other.value is not None and _is_close(other.value, value)), None
        )
        if twin is not None:
            yield violation(
                "the projection equals the measurement of {cell}",
                "an independent value",
                f"{value:.10g}",
                about=row.cell,
                cell=twin.cell,
            )


@campaign_rule(
    "PRJ-02",
    "a projection names base system, generation, formula, inputs and uncertainty; recomputing it gives its value",
    why="a projection that cannot be recomputed is a claim without proof",
    remedy="complete the projection in the campaign file: base system, generation, formula, inputs, uncertainty",
    is_fixed_afterwards=True,
)
def check_recomputation(submission: Submission) -> Iterator[Finding]:
    """All fields; the value is computed again."""
    for row, projection in _projections(submission):
        texts = {
            "base_system": projection.base_system,
            "generation": projection.generation,
            "formula": projection.formula,
        }
        lacking = [name for name, text in texts.items() if not text.strip() or _PLACEHOLDER.search(text)]
        lacking += [] if projection.inputs else ["inputs"]
        lacking += [] if projection.uncertainty > 0 else ["uncertainty"]
        if lacking:
            yield violation(
                "the projection is incomplete",
                "base system, generation, formula, inputs and uncertainty",
                f"{', '.join(lacking)} missing",
                about=row.cell,
            )
        try:
            recomputed = projection.value
        except ValueError as error:
            yield violation(
                "the projection cannot be recomputed",
                "a number",
                error,
                about=row.cell,
                remedy="correct the formula or the inputs of the projection",
            )
            continue
        if row.value is None or not _is_close(recomputed, row.value):
            yield violation(
                "recomputing the formula gives another value",
                f"{recomputed:.10g}",
                "nothing" if row.value is None else f"{row.value:.10g}",
                about=row.cell,
                remedy="correct the formula or the value of the projection",
            )
        unused = [name for name, _ in projection.inputs if name not in formula.names(projection.formula)]
        if unused:
            yield violation(
                "the formula does not use all inputs",
                "only inputs that the formula uses",
                ", ".join(unused),
                about=row.cell,
                remedy="remove the inputs that the formula does not use",
            )


@campaign_rule(
    "PRJ-03",
    "the logs of the base system are included, and contain each input where it was read",
    why="without the logs of the base system the inputs of the projection cannot be checked",
    remedy="add the base system's raw outputs under logs of the projection",
    is_fixed_afterwards=True,
)
def check_logs(submission: Submission) -> Iterator[Finding]:
    """Each input in its log, line and operation (`sources`). Without a source: W; `design`: noted."""
    for row, projection in _projections(submission):
        if submission.logs is None:
            yield unchecked("logs of the base system not checked", about=row.cell)
            continue
        missing = [str(path) for path in projection.logs if not submission.logs.get(path)]
        if missing or not projection.logs:
            yield violation(
                "logs of the base system are missing or empty",
                "the raw outputs that contain the inputs",
                ", ".join(missing) or "none",
                about=row.cell,
            )
            continue
        yield from (replace(finding, subject=str(row.cell)) for finding in _check_inputs(projection, submission.logs))


def _check_inputs(projection: Projection, logs: Mapping[Path, str]) -> Iterator[Finding]:
    """Each input, compared with the line of the log that it was read from."""
    sources = dict(projection.sources)
    for name, number in projection.inputs:
        source, input_text = sources.get(name), f"{name} = {number:.10g}"
        if source is None:
            yield to_explain(
                "no log line given for input {name}",
                "log, line and operation under sources, or design",
                input_text,
                name=name,
                remedy="give log, line and operation under sources of the projection",
            )
        elif source.log is None:
            yield note("{name} is a design value, not measured", "", input_text, name=name)
        else:
            lines = logs.get(source.log, "").splitlines()
            line = lines[source.line - 1].strip() if source.line <= len(lines) else ""
            place = f"{source.log.name}, line {source.line}"
            if source.operation.casefold() not in line.casefold():
                yield violation(
                    "{name}: {place} belongs to another operation",
                    source.operation,
                    shorten(line),
                    name=name,
                    place=place,
                )
            elif not any(_is_close(number, float(word.replace(",", ""))) for word in _NUMBER.findall(line)):
                yield violation(
                    "{name}: {place} does not contain this number", input_text, shorten(line), name=name, place=place
                )


def _projections(submission: Submission) -> Iterator[tuple[Row, Projection]]:
    """The projections of the campaign file; what is computed from them follows from the pack."""
    for row in submission.rows:
        if row.projection is not None and not row.projection.parts:
            yield row, row.projection


def _is_close(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=_CLOSE)

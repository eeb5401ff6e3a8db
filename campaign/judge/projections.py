"""The rules about projections, and about the maximum concurrency, which may be one. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from campaign.config.search import Projection
from campaign.core import formula
from campaign.core.model import Finding, Status
from campaign.judge.findings import to_explain, unchecked, violation
from campaign.judge.numbers import numbers_of_their_own
from campaign.judge.submission import Submission
from campaign.results.cells import Row
from campaign.slurm.partitions import OUTSIDE

_CLOSE = 1e-9  # relative: nearer than this, two numbers are the same
_PLACEHOLDER = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


def labelled(submission: Submission) -> Iterator[Finding]:
    """PRJ-01: a projection is labelled, and is not a measured number over again; nor is a line that has no label."""
    yield from numbers_of_their_own(submission)
    for row, projection in _projected(submission):
        if row.status not in (Status.PROJECTED, Status.INVALID):
            yield violation("a projection stands as another kind of number", "projected", row.status, about=row.cell)
        if (value := row.value) is None:
            continue
        same = [name for name, given in projection.inputs if _same(given, value)]
        if same:
            yield violation(
                "the projection is a measured number as it is, without a model",
                "a number that follows from the inputs by a model",
                f"the value of {same[0]}, {value:.10g}",
                about=row.cell,
            )
        twin = next((one for one in submission.rows if one.projection is None and _is_twin(one, row)), None)
        if twin is not None:
            yield violation(
                f"the projection is equal to what was measured for {twin.cell}",
                "a number of its own",
                f"{value:.10g}",
                about=row.cell,
            )


def computed_again(submission: Submission) -> Iterator[Finding]:
    """PRJ-02: a projection names its basis in full, and computing it again gives its value."""
    for row, projection in _projected(submission):
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
                "the projection does not say all that it rests on",
                "base system, generation, formula, inputs and uncertainty",
                f"nothing for {', '.join(lacking)}",
                about=row.cell,
            )
        try:
            again = projection.value
        except ValueError as error:
            yield violation("the projection cannot be computed again", "a number", error, about=row.cell)
            continue
        if row.value is None or not _same(again, row.value):
            found = "nothing" if row.value is None else f"{row.value:.10g}"
            yield violation(
                "computing the projection again gives another number", f"{again:.10g}", found, about=row.cell
            )
        unused = [name for name, _ in projection.inputs if name not in formula.names(projection.formula)]
        if unused:
            yield violation(
                "inputs that the formula does not have", "inputs of the formula", ", ".join(unused), about=row.cell
            )


def logs_included(submission: Submission) -> Iterator[Finding]:
    """PRJ-03: the base system's logs are there, and an input of the projection stands in them."""
    for row, projection in _projected(submission):
        if submission.logs is None:
            yield unchecked("nobody looked for the logs", about=row.cell)
            continue
        texts = [submission.logs.get(path) for path in projection.logs]
        missing = [str(path) for path, text in zip(projection.logs, texts, strict=True) if not text]
        if missing or not texts:
            yield violation(
                "logs of the base system are not there, or empty",
                "the raw outputs that the inputs are from",
                ", ".join(missing) or "none",
                about=row.cell,
            )
            continue
        numbers = {float(word.replace(",", "")) for text in texts for word in _NUMBER.findall(text or "")}
        if not any(_same(given, number) for _, given in projection.inputs for number in numbers):
            yield to_explain(
                "no input of the projection stands in the base system's logs",
                "a line with the number",
                ", ".join(f"{name} = {given:.10g}" for name, given in projection.inputs),
                about=row.cell,
            )


def whole_concurrency(submission: Submission) -> Iterator[Finding]:
    """GEO-03: the condition of the maximum concurrency ran on all that the partition has, or is a projection."""
    partition = submission.partition
    for condition in submission.pack.launch:
        if not condition.whole_system:
            continue
        rows = [row for row in submission.rows if row.cell.launch == condition.id]
        measured = [row for row in rows if row.run is not None and row.value is not None and row.projection is None]
        if not measured:
            continue
        subject = f"*/{condition.id}/*/*"
        if partition is None:
            why = "Slurm's account of the partition is not on record"
            yield unchecked(why, about=subject)
            continue
        most = partition.usable * partition.cores_per_node
        for row in measured:
            geometry = row.geometry
            if geometry is not None and (geometry.processes < most or geometry.nodes < partition.usable):
                yield violation(
                    f"not the maximum concurrency of partition {partition.name}, and no projection to it",
                    f"{most} processes on {partition.usable} nodes",
                    f"{geometry.processes} processes on {geometry.nodes} nodes",
                    about=row.cell,
                )
        away = [node for node in partition.unusable if node.why != OUTSIDE]
        if away:
            yield to_explain(
                "nodes of the partition could not take part in its maximum concurrency",
                f"{partition.nodes} nodes",
                ", ".join(str(node) for node in away),
                about=subject,
            )


def _projected(submission: Submission) -> Iterator[tuple[Row, Projection]]:
    for row in submission.rows:
        if row.projection is not None:
            yield row, row.projection


def _is_twin(other: Row, row: Row) -> bool:
    measured = other.status in (Status.MEASURED, Status.INVALID)
    return measured and other.value is not None and row.value is not None and _same(other.value, row.value)


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_CLOSE)

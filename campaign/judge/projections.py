"""The rules about projections, about the maximum concurrency, which may be projected, and about how the counts of a
launch condition were determined. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from campaign.config.rules.entries import LaunchCondition
from campaign.config.search import Projection
from campaign.core import formula
from campaign.core.model import Finding, Geometry, Status, matches
from campaign.core.units import listed, several
from campaign.judge.findings import cut, doubt, note, processes_on, to_explain, unchecked, violation
from campaign.judge.numbers import numbers_of_their_own
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import Submission
from campaign.plan.adaptive import SearchProgress
from campaign.plan.search.records import DRIFT, CountChoice
from campaign.results.cells import Row, patterns
from campaign.slurm.partitions import OUTSIDE

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
def labelled(submission: Submission) -> Iterator[Finding]:
    """Labels; no projection repeats a measured value, and no measured line another one, or a multiple of it, in all
    operations (fewer than 9 digits together: W).
    """
    yield from numbers_of_their_own(submission)
    for row, projection in _projected(submission):
        if row.status not in (Status.PROJECTED, Status.INVALID):
            yield violation("a projection is reported with another status", "projected", row.status, about=row.cell)
        if (value := row.value) is None:
            continue
        same = [name for name, given in projection.inputs if _same(given, value)]
        if same:
            yield violation(
                "the projection repeats a measured value without a model",
                "a value computed from the inputs by a model",
                f"the value of {same[0]}, {value:.10g}",
                about=row.cell,
            )
        measured = [other for other in submission.rows if other.status in (Status.MEASURED, Status.INVALID)]
        alike = (other for other in measured if other.projection is None and other.unit == row.unit)
        twin = next((other for other in alike if other.value is not None and _same(other.value, value)), None)
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
def computed_again(submission: Submission) -> Iterator[Finding]:
    """All fields; the value is computed again."""
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
                "the projection is incomplete",
                "base system, generation, formula, inputs and uncertainty",
                f"{', '.join(lacking)} missing",
                about=row.cell,
            )
        try:
            again = projection.value
        except ValueError as error:
            yield violation("the projection cannot be recomputed", "a number", error, about=row.cell)
            continue
        if row.value is None or not _same(again, row.value):
            yield violation(
                "recomputing the formula gives another value",
                f"{again:.10g}",
                "nothing" if row.value is None else f"{row.value:.10g}",
                about=row.cell,
            )
        unused = [name for name, _ in projection.inputs if name not in formula.names(projection.formula)]
        if unused:
            yield violation(
                "the formula does not use all inputs",
                "only inputs that the formula uses",
                ", ".join(unused),
                about=row.cell,
            )


@campaign_rule(
    "PRJ-03",
    "the logs of the base system are included, and contain each input where it was read",
    why="without the logs of the base system the inputs of the projection cannot be checked",
    remedy="add the base system's raw outputs under logs of the projection",
    is_fixed_afterwards=True,
)
def logs_included(submission: Submission) -> Iterator[Finding]:
    """Each input in its log, line and operation (`sources`). Without a source: W; `design`: noted."""
    for row, projection in _projected(submission):
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
        yield from (replace(finding, subject=str(row.cell)) for finding in _read_again(projection, submission.logs))


def _read_again(projection: Projection, logs: Mapping[Path, str]) -> Iterator[Finding]:
    """Each input, compared with the line of the log that it was read from."""
    sources = dict(projection.sources)
    for name, given in projection.inputs:
        source, shown = sources.get(name), f"{name} = {given:.10g}"
        if source is None:
            yield to_explain(
                "no log line given for input {name}",
                "log, line and operation under sources, or design",
                shown,
                name=name,
            )
        elif source.log is None:
            yield note("{name} is a design value, not measured", "", shown, name=name)
        else:
            lines = logs.get(source.log, "").splitlines()
            line = lines[source.line - 1].strip() if source.line <= len(lines) else ""
            place = f"{source.log.name}, line {source.line}"
            if source.operation.casefold() not in line.casefold():
                yield violation(
                    "{name}: {place} belongs to another operation",
                    source.operation,
                    cut(line),
                    name=name,
                    place=place,
                )
            elif not any(_same(given, float(word.replace(",", ""))) for word in _NUMBER.findall(line)):
                yield violation(
                    "{name}: {place} does not contain this number", shown, cut(line), name=name, place=place
                )


@campaign_rule(
    "GEO-03",
    "the maximum concurrency uses the whole partition, or is projected to it; required shares of the system are "
    "reached",
    why="the buyer asks how the whole system performs, not a part of it",
    remedy="run on all usable nodes and cores of the partition, or submit a projection to that size",
)
def whole_concurrency(submission: Submission) -> Iterator[Finding]:
    """Whole-system conditions and shares compared with the partition as Slurm reports it, processes per node compared
    with the recorded cores (W if Slurm reports fewer).
    """
    partition = submission.partition
    for condition in submission.pack.launch:
        if not condition.by_partition:
            continue
        planned = [row for row in submission.planned_rows if row.cell.launch == condition.id]
        if not planned:
            continue
        subject = f"*/{condition.id}/*/*"
        if partition is None:
            yield unchecked("the partition's size was not recorded", about=subject)
            continue
        least = condition.smallest_geometry(partition.usable, partition.cores_per_node)
        for row in planned:
            geometry = row.geometry
            if geometry is not None and (geometry.processes < least.processes or geometry.nodes < least.nodes):
                yield violation(
                    "below the maximum concurrency of partition {partition}, without a projection to it"
                    if condition.whole_system
                    else "fewer nodes or processes than the launch condition's share of partition {partition}",
                    processes_on(least.processes, least.nodes),
                    processes_on(geometry.processes, geometry.nodes),
                    about=row.cell,
                    partition=partition.name,
                )
        yield from (replace(each, subject=subject) for each in _idle_cores(submission, condition))
        for row in planned if condition.each_node else ():
            lacking = [node for node in row.nodes if node not in row.by_node]
            if lacking and row.value is not None:
                yield to_explain(
                    "each node is measured by itself, and some have no valid result",
                    several(len(row.nodes), "node"),
                    f"{several(len(row.by_node), 'node')}; not {listed(lacking)}",
                    about=row.cell,
                )
        away = [node for node in partition.unusable if node.why != OUTSIDE]
        if away:
            yield to_explain(
                "some nodes of the partition were unavailable, so that they were not measured"
                if condition.each_node
                else "some nodes of the partition were unavailable for the maximum-concurrency run",
                f"{partition.nodes} nodes",
                ", ".join(str(node) for node in away),
                about=subject,
            )


def _idle_cores(submission: Submission, condition: LaunchCondition) -> Iterator[Finding]:
    """If Slurm counts fewer cores than the nodes have, one process per Slurm core leaves cores idle."""
    cases = [case for case in submission.results if case.run.launch == condition.id] if condition.whole_system else []
    cores = {text for case in cases for text in case.evidence.environment.values("cpu.cores") if text.isdigit()}
    most = max(map(int, cores), default=0)
    used = min((case.run.geometry.processes_per_node for case in cases), default=most)
    if used < most:
        yield doubt(submission.full)(
            "fewer processes per node than cores", f"{most} on each node", f"{used} on each node"
        )


def _projected(submission: Submission) -> Iterator[tuple[Row, Projection]]:
    for row in submission.rows:
        if row.projection is not None:
            yield row, row.projection


def _same(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=_CLOSE)


# --- how the counts of a launch condition were determined


@campaign_rule(
    "SEL-01",
    "the best process count has measured neighbours on both sides",
    why="at the edge of the measured range a better process count may lie just beyond it",
    remedy="widen the range under search in the campaign file, and run 'campaign run FILE' again",
)
def optimum_has_sides(submission: Submission) -> Iterator[Finding]:
    """The counts around each search's peak; a peak at the end of the range: W. Not checked: the search has not
    finished, or the count was specified.
    """
    if "SEL-02" not in submission.pack.checks:
        yield from _given(submission)
    for standing in _wanted(submission):
        choice = standing.choice
        if choice is None or choice.peak is None:
            yield _unfinished(standing.search.key)
            continue
        measured = [candidate.geometry.processes for candidate in choice.candidates if candidate.rate]
        lowest = (
            min(measured) if min(measured) > standing.search.space.fewest_nodes else 0
        )  # nothing is below one process
        if not lowest < choice.peak.processes < max(measured):
            yield to_explain(
                "the best rate is at the edge of the measured range; a better one may lie beyond",
                "measured counts on both sides",
                f"{choice.peak.processes} processes; measured: {min(measured)} to {max(measured)}",
                about=standing.search.key,
            )


@campaign_rule(
    "SEL-02",
    "the reported process count was tuned and confirmed by confirmation runs",
    why="a process count that was best once may have been best by chance",
    remedy="set the launch condition to search, or allow the tuning a larger budget, and run 'campaign run FILE' again",
)
def claim_confirmed(submission: Submission) -> Iterator[Finding]:
    """The count's confirmation runs. W: the budget ended the search, the count was not shown to be within the margin,
    or on several nodes not to be the smallest (on one node, and in a rehearsal, noted). Drift is noted.

    On several nodes the minimum is required; on one node the optimum, for which any count within the margin is
    accepted.
    """
    yield from _given(submission)
    for standing in _wanted(submission):
        choice, key = standing.choice, standing.search.key
        if choice is None or choice.geometry is None:
            yield _unfinished(key)
        elif not choice.confirmed:
            yield violation(choice.reason.removesuffix("."), "confirmation runs that reach the peak", "none", about=key)
        elif not choice.complete:
            yield to_explain(choice.reason.removesuffix("."), "a complete search", "stopped by the budget", about=key)
        elif not choice.is_shown:
            yield doubt(submission.full)(
                "no count was shown to be within the margin of the peak; the most likely one is reported",
                f"a count shown to be within {standing.search.settings.margin:.0%} of the peak",
                _apart(choice),
                about=key,
            )
        elif choice.resolved is False:
            form = doubt(submission.full) if standing.search.space.most_nodes > 1 else note
            yield form(
                "the count is within the margin of the peak, but smaller ones may be too",
                "smaller counts shown to be outside the margin",
                _apart(choice),
                about=key,
            )
        if choice is not None:
            yield from _unsteady(choice, key)


def _unsteady(choice: CountChoice, key: str) -> Iterator[Finding]:
    """Signs that the system was not steady during the runs."""
    if (drift := choice.drift) and drift.is_significant:
        yield note(
            "rates changed during the search; if they did not change equally for all counts, the choice may be wrong",
            f"a trend in time with a p-value of {DRIFT} or more",
            f"{drift.change:+.0%} from the first third of the runs to the last, p-value {drift.p_value:.2g}",
            about=key,
        )
    if slow := choice.slow_runs:
        yield note(
            "rates form two groups, for example because of other load; the choice holds for the larger group; whether "
            "it holds for the other one is not known",
            "the runs of a count vary about one rate",
            f"{slow.share:.0%} of the runs about {slow.slower:.0%} slower than the others",
            about=key,
        )


def _apart(choice: CountChoice) -> str:
    alike = choice.possible_counts
    return (
        f"{len(alike)} counts from {alike[0].processes} to {alike[-1].processes} processes cannot be told apart "
        f"without about {choice.further} more runs"
    )


@campaign_rule(
    "SEL-03",
    "reported runs are separate from tuning runs",
    why="the best of many tuning runs is, by chance, higher than a typical run",
    remedy="report a confirmation run in place of the tuning run",
)
def confirmed_by_others(submission: Submission) -> Iterator[Finding]:
    """The runs of the table compared with those of the searches."""
    searched = {run.id for standing in submission.searches for run in standing.runs}
    for row in submission.rows:
        if row.run and row.run.id in searched:
            yield violation(
                "the reported run is a tuning run, not a confirmation run",
                "a confirmation run",
                row.run.id,
                about=row.cell,
            )


def _given(submission: Submission) -> Iterator[Finding]:
    """A count given in the file was not searched for; a count that the RFP fixes needs no search."""
    for condition in submission.pack.launch:
        fixed = condition.processes is not None or condition.by_partition
        if fixed or not isinstance(submission.campaign.launch.get(condition.id), Geometry):
            continue
        of_launch = [row for row in submission.rows if row.cell.launch == condition.id]
        asked = [row.cell for row in of_launch if row.status is not Status.DECLINED]
        for about in [f"*/{condition.id}/*/*"] if len(asked) == len(of_launch) else patterns(asked, submission.cells):
            yield unchecked(
                "the campaign file gives the process count; no runs with other counts show that it is the right one",
                about=about,
            )


def _wanted(submission: Submission) -> Iterator[SearchProgress]:
    """The searches without those whose results are all declined."""
    for standing in submission.searches:
        if {row.status for row in submission.rows if matches(row.cell, standing.search.key)} != {Status.DECLINED}:
            yield standing


def _unfinished(key: str) -> Finding:
    return unchecked("tuning has not finished", about=key)

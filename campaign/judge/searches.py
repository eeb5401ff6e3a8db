"""The rules about how the counts of a launch condition were determined. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from campaign.core.model import Finding, Geometry, Status, matches
from campaign.judge.findings import doubt, note, to_explain, unchecked, violation
from campaign.judge.submission import Submission
from campaign.plan.search.nouns import DRIFT, Decision
from campaign.plan.searches import SearchProgress
from campaign.results.cells import patterns


def optimum_has_sides(submission: Submission) -> Iterator[Finding]:
    """SEL-01: an optimum has measured points on both sides. Of a count that was given, SEL-02 says that."""
    if "SEL-02" not in submission.pack.checks:
        yield from _given(submission)
    for standing in _wanted(submission):
        decision = standing.decision
        if decision is None or decision.peak is None:
            yield _unfinished(standing.sought.key)
            continue
        measured = [candidate.geometry.processes for candidate in decision.candidates if candidate.rate]
        lowest = (
            min(measured) if min(measured) > standing.sought.space.fewest_nodes else 0
        )  # nothing is below one process
        if not lowest < decision.peak.processes < max(measured):
            yield to_explain(
                "the best rate is at the edge of the measured range; a better one may lie beyond",
                "measured counts on both sides",
                f"{decision.peak.processes} processes; measured: {min(measured)} to {max(measured)}",
                about=standing.sought.key,
            )


def claim_confirmed(submission: Submission) -> Iterator[Finding]:
    """SEL-02: confirmation runs confirmed the count; they also show whether it is the fewest, and whether rates
    drifted.

    On several nodes the minimum is required; on one node the optimum, for which any count within the margin is
    accepted.
    """
    yield from _given(submission)
    for standing in _wanted(submission):
        decision, key = standing.decision, standing.sought.key
        if decision is None or decision.geometry is None:
            yield _unfinished(key)
        elif not decision.confirmed:
            yield violation(
                decision.reason.removesuffix("."), "confirmation runs that reach the peak", "none", about=key
            )
        elif not decision.complete:
            yield to_explain(decision.reason.removesuffix("."), "a complete search", "stopped by the budget", about=key)
        elif not decision.shown:
            yield doubt(submission.full)(
                "no count was shown to be within the margin of the peak; the most likely one is reported",
                f"a count shown to be within {standing.sought.settings.margin:.0%} of the peak",
                _apart(decision),
                about=key,
            )
        elif decision.resolved is False:
            form = doubt(submission.full) if standing.sought.space.most_nodes > 1 else note
            yield form(
                "the count is within the margin of the peak, but smaller ones may be too",
                "smaller counts shown to be outside the margin",
                _apart(decision),
                about=key,
            )
        if decision is not None:
            yield from _unsteady(decision, key)


def _unsteady(decision: Decision, key: str) -> Iterator[Finding]:
    """Signs that the system was not steady during the runs."""
    if (drift := decision.drift) and drift.reported:
        yield note(
            "rates changed in the course of the search; that does not affect the choice if all counts changed alike, "
            "which is not known",
            f"a trend in time with a p-value of {DRIFT} or more",
            f"{drift.change:+.0%} from the first third of the runs to the last, p-value {drift.p_value:.2g}",
            about=key,
        )
    if slow := decision.slow_runs:
        yield note(
            "rates came in two groups, for example by other load; the choice holds for the more frequent group, and "
            "for the other one if it affects all counts alike, which is not known",
            "the runs of a count vary about one rate",
            f"{slow.share:.0%} of the runs about {slow.slower:.0%} slower than the others",
            about=key,
        )


def _apart(decision: Decision) -> str:
    alike = decision.alike
    return (
        f"{len(alike)} counts from {alike[0].processes} to {alike[-1].processes} processes cannot be told apart "
        f"without about {decision.further} more runs"
    )


def confirmed_by_others(submission: Submission) -> Iterator[Finding]:
    """SEL-03: no run of the table is a tuning run. The phases of a search ensure this; here it is checked."""
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
        if {row.status for row in submission.rows if matches(row.cell, standing.sought.key)} != {Status.DECLINED}:
            yield standing


def _unfinished(key: str) -> Finding:
    return unchecked("tuning has not finished", about=key)

"""The rules about how the counts of a launch condition were found. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from campaign.core.model import Finding, Geometry
from campaign.judge.findings import note, to_explain, unchecked, violation
from campaign.judge.submission import Submission

DRIFT = 0.01  # p-value of a trend that is said


def optimum_has_sides(submission: Submission) -> Iterator[Finding]:
    """SEL-01: an optimum has points on both sides of it."""
    yield from _given("SEL-01", submission)
    for standing in submission.searches:
        decision = standing.decision
        if decision is None or decision.peak is None:
            yield _unfinished("SEL-01", standing.sought.key)
            continue
        measured = [one.geometry.processes for one in decision.candidates if one.rate]
        lowest = min(measured) if min(measured) > standing.sought.space.fewest else 0  # nothing is below one process
        if not lowest < decision.peak.processes < max(measured):
            yield to_explain(
                "the highest rate lies at an end of what was measured",
                "points on both sides",
                f"{decision.peak.processes} of {min(measured)} to {max(measured)} processes",
                about=standing.sought.key,
            )


def claim_confirmed(submission: Submission) -> Iterator[Finding]:
    """SEL-02: the count was confirmed on fresh runs; and they did not drift."""
    yield from _given("SEL-02", submission)
    for standing in submission.searches:
        decision, key = standing.decision, standing.sought.key
        if decision is None or decision.geometry is None:
            yield _unfinished("SEL-02", key)
        elif not decision.confirmed:
            yield violation(decision.reason.removesuffix("."), "fresh runs that confirm it", "none", about=key)
        elif not decision.complete:
            yield to_explain(
                decision.reason.removesuffix("."), "the whole search", "the budget's part of it", about=key
            )
        elif decision.drift is not None and decision.drift < DRIFT:
            yield note(
                "the rates drifted during the fresh runs; they were compared within blocks, which that leaves alone",
                f"p of {DRIFT} or more",
                f"{decision.drift:.3f}",
                about=key,
            )


def confirmed_by_others(submission: Submission) -> Iterator[Finding]:
    """SEL-03: by construction of the phases of a search, and held here: no run of the table is a search's."""
    searched = {run.id for standing in submission.searches for run in standing.runs}
    for row in submission.rows:
        if row.run and row.run.id in searched:
            yield violation("the cell reports a run of the search", "a fresh run", row.run.id, about=row.cell)


def _given(rule: str, submission: Submission) -> Iterator[Finding]:
    """What the file gives as a number was not searched for; a count that the RFP fixes needs no search."""
    for condition in submission.pack.launch:
        fixed = condition.processes is not None or condition.whole_system
        if not fixed and isinstance(submission.campaign.launch.get(condition.id), Geometry):
            message = "the number of processes was given, not searched for: nothing shows that it is the best"
            yield unchecked(message, about=f"*/{condition.id}/*/*")


def _unfinished(rule: str, key: str) -> Finding:
    return unchecked("the search has found no count yet", about=key)

"""The rules about how the counts of a launch condition were found. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from campaign.core.model import Finding, Geometry
from campaign.judge.findings import doubt, note, to_explain, unchecked, violation
from campaign.judge.messages import searches as messages
from campaign.judge.submission import Submission
from campaign.plan.search.nouns import DRIFT, Decision


def optimum_has_sides(submission: Submission) -> Iterator[Finding]:
    """SEL-01: an optimum has points on both sides of it."""
    yield from _given(submission)
    for standing in submission.searches:
        decision = standing.decision
        if decision is None or decision.peak is None:
            yield _unfinished(standing.sought.key)
            continue
        measured = [candidate.geometry.processes for candidate in decision.candidates if candidate.rate]
        lowest = min(measured) if min(measured) > standing.sought.space.fewest else 0  # nothing is below one process
        if not lowest < decision.peak.processes < max(measured):
            yield to_explain(
                messages.AT_EDGE(),
                messages.BOTH_SIDES(),
                messages.PEAK_AT(peak=decision.peak.processes, low=min(measured), high=max(measured)),
                about=standing.sought.key,
            )


def claim_confirmed(submission: Submission) -> Iterator[Finding]:
    """SEL-02: confirmation runs confirmed the count; they also say whether it is the fewest, and whether rates moved.

    Of several nodes the minimum is asked for; of one node the optimum, for which any count within the margin will do.
    """
    yield from _given(submission)
    for standing in submission.searches:
        decision, key = standing.decision, standing.sought.key
        if decision is None or decision.geometry is None:
            yield _unfinished(key)
        elif not decision.confirmed:
            yield violation(decision.reason.removesuffix("."), messages.CONFIRMATION_RUNS(), "none", about=key)
        elif not decision.complete:
            yield to_explain(
                decision.reason.removesuffix("."), messages.COMPLETE_TUNING(), messages.CUT_SHORT(), about=key
            )
        elif not decision.shown:
            expected = messages.SHOWN(margin=standing.sought.settings.margin)
            yield doubt(submission.full)(messages.NOT_SHOWN(), expected, _apart(decision), about=key)
        elif decision.resolved is False:
            form = doubt(submission.full) if standing.sought.space.most_nodes > 1 else note
            yield form(messages.NOT_RESOLVED(), messages.ONE_COUNT(), _apart(decision), about=key)
        if decision is not None:
            yield from _unsteady(decision, key)


def _unsteady(decision: Decision, key: str) -> Iterator[Finding]:
    """What the runs show of a system that was not the same all the time."""
    if (drift := decision.drift) and drift.reported:
        found = messages.DRIFT_FOUND(change=drift.change, p_value=drift.p_value)
        yield note(messages.DRIFTED(), messages.DRIFT_LIMIT(limit=DRIFT), found, about=key)
    if slow := decision.slow_runs:
        found = messages.GROUPS_FOUND(share=slow.share, slower=slow.slower)
        yield note(messages.TWO_GROUPS(), messages.ONE_GROUP(), found, about=key)


def _apart(decision: Decision) -> str:
    alike, further = decision.alike, decision.further
    return messages.NOT_APART(low=alike[0].processes, high=alike[-1].processes, counts=len(alike), further=further)


def confirmed_by_others(submission: Submission) -> Iterator[Finding]:
    """SEL-03: no run of the table is a tuning run; the phases of a search see to it, and it is checked here."""
    searched = {run.id for standing in submission.searches for run in standing.runs}
    for row in submission.rows:
        if row.run and row.run.id in searched:
            yield violation(messages.TUNING_RUN(), messages.CONFIRMATION_RUN(), row.run.id, about=row.cell)


def _given(submission: Submission) -> Iterator[Finding]:
    """What the file gives as a number was not searched for; a count that the RFP fixes needs no search."""
    for condition in submission.pack.launch:
        fixed = condition.processes is not None or condition.by_partition
        if not fixed and isinstance(submission.campaign.launch.get(condition.id), Geometry):
            yield unchecked(messages.NOT_TUNED(), about=f"*/{condition.id}/*/*")


def _unfinished(key: str) -> Finding:
    return unchecked(messages.UNFINISHED(), about=key)

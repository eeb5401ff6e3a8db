"""Adds the explanations and waivers of a campaign to its findings; the rule about waivers (WVR). Pure.

Nothing is hidden: a finding that is explained or waived stays, with the answer next to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from campaign.config.waivers import Answers, Explanation, Granted, Waiver
from campaign.core.findings import Finding, Severity
from campaign.core.runs import Attempt, Cell, matches
from campaign.judge.findings import CAMPAIGN, note, violation
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import Submission


def with_answer(answers: Answers, finding: Finding, measured: date | None, cells: Sequence[Cell] = ()) -> Finding:
    """The finding with the campaign's answer to it, which has to cover every cell of the finding. `cells`: those of a
    finding about the campaign; `measured`: the day that decides whether a waiver has expired.
    """
    cells = finding.cells or cells
    if not cells:
        return finding

    def covers(answer: Explanation | Waiver) -> bool:
        return answer.rule == finding.rule and all(matches(cell, answer.cells) for cell in cells)

    explanation_text = next((explanation.text for explanation in answers.explanations if covers(explanation)), "")
    if explanation_text and (finding.severity is not Severity.ERROR or finding.lifted_by_buyer):
        finding = replace(finding, explained=explanation_text)
    if not finding.checked:
        return finding
    for granted in answers.waivers:
        waiver = granted.waiver
        if covers(waiver) and is_in_force(granted, measured):
            return replace(finding, waived=f"{waiver.by}, {waiver.date} until {waiver.expires}: {waiver.reason}")
    return finding


def is_in_force(granted: Granted, measured: date | None) -> bool:
    return bool(granted.signer) and (measured is None or measured <= granted.waiver.expires)


def last_day(attempts: Iterable[Attempt]) -> date | None:
    """The last day (UTC) on which one of them was measured."""
    times = [time for attempt in attempts if (time := attempt.ended or attempt.started) is not None]
    return datetime.fromtimestamp(max(times), UTC).date() if times else None


def _measurement_day(submission: Submission) -> date | None:
    """The last day on which it was measured, or at the earliest will be."""
    return last_day(submission.attempts) or submission.today


def with_answers(submission: Submission, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings about the entire campaign, each with the campaign's answer."""
    measured = _measurement_day(submission)
    return tuple(
        with_answer(submission.answers, finding, measured, submission.cells if finding.subject == CAMPAIGN else ())
        for finding in findings
    )


def cells_of_findings(submission: Submission) -> Callable[[Finding], tuple[Cell, ...]]:
    """A function that gives the cells of a finding: those that its subject matches, or those of its attempt's run."""
    cells, runs = submission.cells, {run.id: run for run in submission.runs}

    def concerned_cells(finding: Finding) -> tuple[Cell, ...]:
        run = runs.get(finding.subject.rpartition("/")[0])
        return run.cells() if run else tuple(cell for cell in cells if matches(cell, finding.subject))

    return concerned_cells


@campaign_rule(
    "WVR-01",
    "waivers are signed, limited in scope and time, and shown with the result",
    why="only the buyer can allow a deviation from the rules",
    remedy="have the buyer sign the waiver ('campaign check FILE --waiver N' prints its text), or remove it",
    is_fixed_afterwards=True,
)
def check_waivers(submission: Submission) -> Iterator[Finding]:
    """The signature of each waiver's text, and its dates compared with the measurements'; a valid waiver is noted."""
    measured = _measurement_day(submission)
    for granted in submission.answers.waivers:
        waiver = granted.waiver
        if not granted.signer:
            yield violation(
                "the waiver of {rule} is not valid",
                "signed by a key in allowed_signers",
                granted.problem,
                about=waiver.cells,
                rule=waiver.rule,
                remedy="have the buyer sign its text ('campaign check FILE --waiver N'), or remove the waiver",
            )
        elif not is_in_force(granted, measured):
            yield violation(
                "the waiver of {rule} has expired",
                f"measured until {waiver.expires}",
                measured,
                about=waiver.cells,
                rule=waiver.rule,
                remedy="ask the buyer for a new waiver, or remove this one",
            )
        else:
            yield note(
                "{rule} is waived: {reason}",
                f"signed by {granted.signer}",
                f"{waiver.by}, {waiver.date} until {waiver.expires}",
                about=waiver.cells,
                rule=waiver.rule,
                reason=waiver.reason,
            )

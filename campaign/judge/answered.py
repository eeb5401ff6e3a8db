"""What a campaign's explanations and waivers do to findings, and the rule about waivers. Pure.

Nothing is hidden: a finding that is explained or waived stays where it was, with the answer beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime

from campaign.config.waivers import Answers, Granted
from campaign.core.model import Attempt, Cell, Finding, Severity
from campaign.judge.findings import note, violation
from campaign.judge.messages import answered as messages
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.cells import matches


def answer(answers: Answers, finding: Finding, cells: Sequence[Cell], measured: date | None) -> Finding:
    """The finding with the campaign's answer to it.

    `cells`: all that it is about, of which an answer has to cover every one. `measured`: the day, by which a waiver has
    expired or not.
    """
    if not cells or not (answers.explanations or answers.waivers):
        return finding

    def covers(pattern: str, rule: str) -> bool:
        return rule == finding.rule and all(matches(cell, pattern) for cell in cells)

    explained = next(
        (explanation.text for explanation in answers.explanations if covers(explanation.cells, explanation.rule)), ""
    )
    if explained and finding.severity is not Severity.ERROR:
        finding = replace(finding, explained=explained)
    if not finding.checked:
        return finding
    for granted in answers.waivers:
        waiver = granted.waiver
        if covers(waiver.cells, waiver.rule) and in_force(granted, measured):
            return replace(finding, waived=f"{waiver.by}, {waiver.date} until {waiver.expires}: {waiver.reason}")
    return finding


def of_case(answers: Answers, case: Case, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings over one attempt, each with the campaign's answer to it."""
    if not (answers.explanations or answers.waivers):
        return findings
    cells, day = case.run.cells(), day_of([case.attempt])
    return tuple(answer(answers, finding, cells, day) for finding in findings)


def in_force(granted: Granted, measured: date | None) -> bool:
    return bool(granted.signer) and (measured is None or measured <= granted.waiver.expires)


def day_of(attempts: Iterable[Attempt]) -> date | None:
    """The last day on which one of them was measured, in UTC."""
    times = [time for attempt in attempts if (time := attempt.ended or attempt.started) is not None]
    return datetime.fromtimestamp(max(times), UTC).date() if times else None


def answered(submission: Submission, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings about the campaign as a whole, each with the campaign's answer to it."""
    if submission.answers == Answers():
        return tuple(findings)
    measured = day_of(submission.attempts)
    return tuple(answer(submission.answers, finding, _about(submission, finding), measured) for finding in findings)


def _about(submission: Submission, finding: Finding) -> list[Cell]:
    """The cells that a finding is about: those that its subject matches, or that its attempt's run is for."""
    if finding.subject == "campaign":
        return list(submission.cells)
    if finding.subject.count("/") == 3:
        return [cell for cell in submission.cells if matches(cell, finding.subject)]
    name = finding.subject.rpartition("/")[0]
    return [cell for run in submission.runs if run.id == name for cell in run.cells()]


def waivers_hold(submission: Submission) -> Iterator[Finding]:
    """WVR-01: every waiver is signed by a listed key, and what it covers was measured before it expired."""
    measured = day_of(submission.attempts)
    for granted in submission.answers.waivers:
        waiver = granted.waiver
        if not granted.signer:
            finding = violation(messages.NOT_VALID(rule=waiver.rule), messages.SIGNATURE_NEEDED(), granted.problem)
        elif not in_force(granted, measured):
            finding = violation(
                messages.EXPIRED(rule=waiver.rule), messages.MEASURED_UNTIL(day=waiver.expires), measured
            )
        else:
            by = f"{waiver.by}, {waiver.date} until {waiver.expires}"
            finding = note(
                messages.WAIVED(rule=waiver.rule, reason=waiver.reason), messages.SIGNED_BY(signer=granted.signer), by
            )
        yield replace(finding, subject=waiver.cells)

"""The decision that comes first: what holds, what does not, and who does what next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.core.model import Finding, Move, Severity, Status
from campaign.judge.submission import Submission
from campaign.report import decision
from campaign.report.decision import DecisionBlock, Question, Step
from tests.report.test_write import contents
from tests.support import builders
from tests.support.results import Results

VIOLATION = Finding("FLG-06", Severity.ERROR, "campaign", "wrong offset")
OPEN = Finding("STA-04", Severity.WARNING, "campaign", "one repetition", checked=False)
EXPLAINED = Finding("RUN-08", Severity.WARNING, "campaign", "attempts are missing", explained="they were cancelled")
DECLINED = Finding("CMP-03", Severity.INFO, "campaign", "declined: no NFS", move=Move.BUYER)


def whole(*findings: Finding, status: Status = Status.MEASURED, profile: str = "full") -> Submission:
    given = contents(Results(campaign=builders.campaign(profile=profile)), findings)
    return replace(given, rows=tuple(replace(row, status=status, findings=()) for row in given.rows))


def block(*findings: Finding, status: Status = Status.MEASURED, profile: str = "full") -> DecisionBlock:
    return decision.of_campaign(whole(*findings, status=status, profile=profile), "c.yaml")


@pytest.mark.parametrize(
    ("findings", "status", "profile", "headline", "answers", "next_steps"),
    [
        ((), Status.MEASURED, "full", "READY TO HAND IN", ("yes", "kept", "none open"), ["campaign bundle c.yaml"]),
        ((OPEN, EXPLAINED),
         Status.MEASURED, "full", "READY TO HAND IN", ("yes", "open", "1 open"), ["STA", "campaign b"]),
        ((DECLINED,), Status.DECLINED, "full", "READY TO HAND IN", ("yes", "kept", "1 open"), ["campaign bundle"]),
        ((VIOLATION, OPEN), Status.MEASURED, "full", "NOT READY", ("yes", "VIOLATED", "none open"), ["FLG", "STA"]),
        ((), Status.MISSING, "full", "NOT READY", ("NO", "kept", "none open"), ["campaign run c.yaml"]),
        ((), Status.MEASURED, "rehearsal", "REHEARSAL", ("yes", "kept", "none open"), []),
    ],
)  # fmt: skip
def test_a_vendor_is_told_what_holds_and_what_comes_next(
    findings: tuple[Finding, ...],
    status: Status,
    profile: str,
    headline: str,
    answers: tuple[str, ...],
    next_steps: list[str],
) -> None:
    found = block(*findings, status=status, profile=profile)
    assert (found.headline, tuple(question.answer for question in found.questions)) == (headline, answers)
    assert len(found.steps) == len(next_steps)
    assert all(step.what.startswith(text) for step, text in zip(found.steps, next_steps, strict=True))


@pytest.mark.parametrize("width", [60, 80, 140])
def test_it_has_at_most_twelve_entries_and_fits_its_width(width: int) -> None:
    questions = tuple(Question(name, "consistent", "a reason of some words " * 4) for name in "abcde")
    steps = tuple(Step("vendor", "FLG-06: undo the change, and measure again " * 3) for _ in range(9))
    text = decision.printed(
        DecisionBlock("NOT VALID", ("x.zip", "vendor"), questions, "m. " * 30, "n. " * 30, steps), width
    )
    assert max(map(len, text.splitlines())) <= width
    entries = [line for line in text.splitlines() if not line.startswith("   ") or line.strip()[0].isdigit()]
    assert len(entries) <= 13
    assert text.endswith("and 5 more: --details")


def test_what_a_bundle_says_cannot_write_on_the_terminal() -> None:
    text = decision.printed(DecisionBlock("X", ("\x1b[2J",), (Question("a", "b", "\x1b[2J"),), "", ""), 80)
    assert "\x1b" not in text

"""How far a bundle has come, from its receipt to its acceptance, in the stages of the board's page."""

from __future__ import annotations

from campaign.core.units import plural
from campaign.evidence.bundle_decision import Seal, VerifyOutcome
from campaign.evidence.verify_bundle import VerifiedBundle
from campaign.report import decision
from campaign.report.compare.board import STAGES
from campaign.report.decision import Mark, Question

SEALS = {
    Seal.BROKEN: (Mark.BAD, "altered after it was signed"),
    Seal.NONE: (Mark.OPEN, "not signed"),
    Seal.UNKNOWN: (Mark.OPEN, "signed by an unknown key"),
    Seal.TRUSTED: (Mark.OK, "signed by a key that you trust"),
}  # the worst first
KEPT = {
    "VIOLATED": (Mark.BAD, "rules are violated"),
    "open": (Mark.OPEN, "rules need an answer"),
    "kept": (Mark.OK, "no rule is violated"),
}  # the worst first


def bundle_stages(verified: VerifiedBundle) -> tuple[Question, ...]:
    """What of STAGES it has passed; a bundle of several parts, what all of them have."""
    parts = [part.decision for part in verified.parts.values()]
    rows = [row for submission in verified.submissions.values() for row in submission.rows]
    seal_mark, seal = SEALS[min((part.seal for part in parts), key=list(SEALS).index)]
    if verified.is_contradicted or not verified.is_intact:
        seal_mark, seal = Mark.BAD, "its records contradict each other, or it was altered"
    open_count = sum(len(part.decisions) for part in parts) + len(verified.own_decisions)
    accepted = {
        VerifyOutcome.COMPLIANT: (Mark.OK, "acceptable by your terms"),
        VerifyOutcome.NOT_VALID: (Mark.BAD, "not acceptable as it stands"),
        VerifyOutcome.REHEARSAL: (Mark.BAD, "a rehearsal is never compliant"),
        VerifyOutcome.OPEN: (Mark.OPEN, f"{plural(open_count, 'decision')} open"),
    }
    complete = decision.completeness(rows)
    answers = (
        (Mark.OK, plural(len(rows), "result")),
        (seal_mark, seal),
        (complete.mark, complete.reason.rstrip(".")),
        KEPT[min((part.kept for part in parts), key=list(KEPT).index)],
        accepted[verified.outcome],
    )
    return tuple(Question(stage, mark, text, mark) for stage, (mark, text) in zip(STAGES, answers, strict=True))

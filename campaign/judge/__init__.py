"""The rule engine: rules + runs + what was recorded -> findings. Pure.

Each rule of the catalogue is one function, bound to its id here. A rule runs where the pack lists it; it yields nothing
where it is kept, and a finding marked as not checked where what was recorded does not tell. The same functions judge a
plan, a campaign under way, an ended one, and a bundle on the buyer's side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from campaign.judge import attempt, searches, submission
from campaign.judge.attempt import Case, judge, measured, subject
from campaign.judge.catalogue import CATALOGUE, Entry, Level
from campaign.judge.submission import Submission
from campaign.model import Finding, Severity
from campaign.rules import RulePack

__all__ = [
    "CATALOGUE", "RULES", "Case", "Entry", "Level", "Submission", "judge", "judge_submission", "measured", "subject",
    "unjudged",
]  # fmt: skip

RULES: Mapping[str, Callable[[Submission], Iterator[Finding]]] = {
    "CMP-03": submission.every_cell_answered,
    "SEL-01": searches.optimum_has_sides,
    "SEL-02": searches.claim_confirmed,
    "SEL-03": searches.confirmed_by_others,
}


def judge_submission(whole: Submission) -> tuple[Finding, ...]:
    """All findings of the pack's rules over a campaign, beyond those of its single attempts."""
    return tuple(finding for rule, check in RULES.items() if rule in whole.pack.checks for finding in check(whole))


def unjudged(pack: RulePack) -> tuple[Finding, ...]:
    """The pack's rules that nothing judges: said, since what was not checked has not passed."""
    return tuple(
        Finding(rule, Severity.WARNING, "campaign", "this version does not judge the rule", checked=False)
        for rule in pack.checks
        if rule not in RULES and rule not in attempt.RULES
    )

"""Answers to findings in a campaign file: explanations, and waivers that the buyer has signed. Pure.

The signature of a waiver is over its `statement`, so that it holds only for this campaign, these cells and this rule.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from campaign.config import values
from campaign.config.rules.kinds import RULE
from campaign.core.keys import key, needed

NAMESPACE = "campaign-waiver"  # for ssh-keygen -Y


@dataclass(frozen=True, slots=True)
class Explanation:
    cells: str = needed(values.CELLS, "the cells concerned")
    rule: str = needed(RULE, "the rule of the finding")
    text: str = needed(values.PROSE, "the explanation; it is shown with the finding")


@dataclass(frozen=True, slots=True)
class Waiver:
    cells: str = needed(values.CELLS, "the cells concerned")
    rule: str = needed(RULE, "the rule that is waived")
    reason: str = needed(values.LINE, "why it is waived")
    by: str = needed(values.LINE, "name of the buyer's representative who waives it")
    date: datetime.date = needed(values.DAY, "date of the waiver")
    expires: datetime.date = needed(values.DAY, "last measurement date that the waiver covers")
    signature: Path | None = key(
        values.FILE, "signature of the text that `campaign check --waiver N` prints, by `ssh-keygen -Y sign`"
    )


@dataclass(frozen=True, slots=True)
class Granted:
    """A waiver and its signature: who signed it, or why it has no effect."""

    waiver: Waiver
    signer: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    waivers: tuple[Granted, ...] = ()
    explanations: tuple[Explanation, ...] = ()


NO_ANSWERS = Answers()


def statement(campaign: str, rules: str, waiver: Waiver) -> str:
    """The text that is signed: every word of a waiver, and what it is for."""
    return (
        "campaign waiver, format 1\n"
        f"campaign: {campaign}\n"
        f"rules: {rules}\n"
        f"rule: {waiver.rule}\n"
        f"cells: {waiver.cells}\n"
        f"reason: {waiver.reason}\n"
        f"by: {waiver.by}\n"
        f"date: {waiver.date}\n"
        f"expires: {waiver.expires}\n"
    )

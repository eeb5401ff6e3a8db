"""Answers to findings that a campaign file gives: explanations, and waivers that the buyer has signed. Pure.

A waiver is signed over its `statement`, so that it holds for this campaign, these cells and this rule alone.
"""

from __future__ import annotations

import datetime
from pathlib import Path

from campaign.core.frozen import dataclass

NAMESPACE = "campaign-waiver"  # of ssh-keygen -Y


@dataclass(frozen=True, slots=True)
class Explanation:
    cells: str  # a glob over target/launch/files/operation
    rule: str
    text: str


@dataclass(frozen=True, slots=True)
class Waiver:
    cells: str  # a glob over target/launch/files/operation
    rule: str
    reason: str
    by: str
    date: datetime.date
    expires: datetime.date  # the last day on which what it covers may have been measured
    signature: Path | None = None


@dataclass(frozen=True, slots=True)
class Granted:
    """A waiver with what became of its signature: who signed it, or why it has no effect."""

    waiver: Waiver
    signer: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    waivers: tuple[Granted, ...] = ()
    explanations: tuple[Explanation, ...] = ()


NO_ANSWERS = Answers()


def statement(campaign: str, rules: str, waiver: Waiver) -> str:
    """What is signed: every word of a waiver, and what it is for."""
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

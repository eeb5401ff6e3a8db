"""A whole campaign as it stands, and the rules that look at its cells together. Pure.

A finding's subject says what it is about: a cell or a glob over cells (`scratch/single/*/*`), a run's attempt
(`scratch.single.shared.r1/1`), or `campaign`. A broken rule about cells blocks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from campaign.cells import Measured, Row
from campaign.config import Campaign
from campaign.model import Attempt, Finding, Run, Severity, Status
from campaign.rules import RulePack
from campaign.searching import Standing


@dataclass(frozen=True, slots=True)
class Submission:
    """All that the rules of a campaign are judged on. `rows` have the findings of their attempts already."""

    campaign: Campaign
    pack: RulePack
    runs: tuple[Run, ...]  # that the cells report
    attempts: tuple[Attempt, ...]  # every one on record, also those that no longer count
    results: tuple[Measured, ...]  # the ended ones that count
    rows: tuple[Row, ...]
    searches: tuple[Standing, ...] = ()


def every_cell_answered(submission: Submission) -> Iterator[Finding]:
    """CMP-03: every cell is measured, projected, or declined with a reason."""
    for row in submission.rows:
        if row.status in (Status.MISSING, Status.FAILED):
            yield Finding(
                "CMP-03",
                Severity.ERROR,
                str(row.cell),
                f"the cell has no number: {row.status}",
                "measured, projected or declined",
                row.note,
            )

"""Everything that the files of a report are made of: a campaign as recorded, judged. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from campaign.core import units
from campaign.core.model import Attempt, Finding
from campaign.judge.submission import Submission
from campaign.report.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Section:
    """A table with a heading and a sentence, for the page to show as it is."""

    title: str
    about: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    preformatted: str = ""


@dataclass(frozen=True, slots=True)
class Contents(Submission):
    """A judged campaign with all its findings, and sections about its environment."""

    modifications: Sequence[Section] = ()
    environment: Sequence[Section] = ()
    verified: Verdict | None = None  # the verdict of the buyer's verification

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """All findings; those of rows are among `findings` here."""
        return self.findings

    @property
    def root(self) -> Path:
        """The results directory, to which paths of the rows' sources are relative."""
        return self.campaign.results

    @property
    def measured(self) -> str:
        """When, in UTC; "" if nothing was measured."""
        times = measured(self.attempts)
        if times is None:
            return ""
        first, last = times
        same = first.date() == last.date()
        return f"{first:%Y-%m-%d %H:%M:%S} to {last:{'%H:%M:%S' if same else '%Y-%m-%d %H:%M:%S'}} UTC"

    @property
    def tried(self) -> str:
        """`14 attempts: 12 done, 1 timeout, 1 superseded`."""
        return units.counted("attempt", [attempt.state for attempt in self.attempts])


def measured(attempts: Sequence[Attempt]) -> tuple[datetime, datetime] | None:
    """The first start and the last end of recorded attempts, in UTC; None if none is known."""
    started = [attempt.started for attempt in attempts if attempt.started is not None]
    ended = [attempt.ended for attempt in attempts if attempt.ended is not None]
    try:
        first, last = (datetime.fromtimestamp(time, UTC) for time in (min(started), max(ended)))
    except (ValueError, OverflowError, OSError):  # none, or not a valid time
        return None
    return first, last

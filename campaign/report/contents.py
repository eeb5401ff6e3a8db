"""All that the files for people are made of: one campaign as recorded, judged. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from campaign.core.model import Attempt, Finding
from campaign.core.units import several
from campaign.judge.submission import Submission
from campaign.report.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Section:
    """A table with a heading and a sentence, from a part of the project that the page needs to know nothing of."""

    title: str
    about: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    preformatted: str = ""


@dataclass(frozen=True, slots=True)
class Contents(Submission):
    """A judged campaign, with all its findings, and the sections on what is around its numbers."""

    modifications: Sequence[Section] = ()
    environment: Sequence[Section] = ()
    verified: Verdict | None = None  # that of the buyer's verification

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Those of rows are among `findings` here."""
        return self.findings

    @property
    def root(self) -> Path:
        """The results directory, to which the paths of the rows' sources are relative."""
        return self.campaign.results

    @property
    def counts(self) -> str:
        """`36 cells: 33 measured, 3 declined`."""
        return _counted("cell", [row.status for row in self.rows])

    @property
    def measured(self) -> str:
        """When, in UTC; "" if nothing was."""
        times = measured(self.attempts)
        if times is None:
            return ""
        first, last = times
        same = first.date() == last.date()
        return f"{first:%Y-%m-%d %H:%M:%S} to {last:{'%H:%M:%S' if same else '%Y-%m-%d %H:%M:%S'}} UTC"

    @property
    def tried(self) -> str:
        """`14 attempts: 12 done, 1 timeout, 1 superseded`."""
        return _counted("attempt", [attempt.state for attempt in self.attempts])


def measured(attempts: Sequence[Attempt]) -> tuple[datetime, datetime] | None:
    """The first start and the last end of the attempts on record, in UTC; None where none is known."""
    started = [attempt.started for attempt in attempts if attempt.started is not None]
    ended = [attempt.ended for attempt in attempts if attempt.ended is not None]
    try:
        first, last = (datetime.fromtimestamp(time, UTC) for time in (min(started), max(ended)))
    except (ValueError, OverflowError, OSError):  # there is none, or none that can be a time
        return None
    return first, last


def _counted(what: str, states: Sequence[str]) -> str:
    counts = ", ".join(f"{number} {state}" for state, number in Counter(states).items())
    return several(len(states), what) + (f": {counts}" if counts else "")

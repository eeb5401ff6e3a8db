"""What a comparison of offers is: its cells, each with a verdict, and what limits it. Pure."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import StrEnum

from campaign.core.model import Cell
from campaign.report.compare.offers import Offer, OfferedCell
from campaign.report.compare.options import DAY, Terms


class CellVerdict(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    SESSION = "may be the day's"  # more than noise, but the sides were measured in different sessions
    SAME = "no difference shown"
    WITHIN = "within tolerance"
    BELOW = "below the commitment"
    UNTOLD = "cannot tell"
    CHANGED = "changed"  # another number, in a table that otherwise repeats the first's measurements
    NONE = "not compared"
    ACCEPTED = "accepted"  # of a sample, as the two below
    REJECTED = "rejected"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class CellComparison:
    """A cell of one offer compared with the first. Ratios are the offer's over the first's, even if the lowest value is
    the best. `ratio`: of the repetitions; None if a side has none. `fails`: it alone makes the exit status 1.
    """

    cell: Cell
    first: OfferedCell | None
    second: OfferedCell | None
    verdict: CellVerdict = CellVerdict.UNTOLD
    reason: str = ""
    reported_ratio: float | None = None  # ratio of the two reported numbers
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    adjusted_p: float | None = None  # p adjusted for the number of cells
    over_sessions: bool = False  # the interval and p include what differs between sessions
    fails: bool = False

    @property
    def best(self) -> str:
        entry = self.first or self.second
        return entry.best if entry else "highest"

    @property
    def untested(self) -> bool:
        """Whether both sides have a number, but no test at all was possible."""
        return self.verdict is CellVerdict.UNTOLD or (
            self.verdict is CellVerdict.NONE and self.reported_ratio is not None
        )

    @property
    def shown_ratio(self) -> float | None:
        """The ratio of the repetitions, or of the reported numbers if there are none."""
        return self.reported_ratio if self.ratio is None else self.ratio

    @property
    def gain(self) -> float | None:
        """The ratio of the actual rates, inverted if the lowest value is the best: above 1 is better."""
        if self.shown_ratio is None or self.verdict is CellVerdict.NONE or self.first is None or self.second is None:
            return None
        actual = self.shown_ratio * self.first.inflation / self.second.inflation
        return actual if self.best == "highest" else 1 / actual


@dataclass(frozen=True, slots=True)
class OfferComparison:
    """`cells`: for each offer except the first, one for each cell that either has, in the first's order."""

    offers: tuple[Offer, ...]
    terms: Terms | None
    cells: tuple[tuple[CellComparison, ...], ...]
    remarks: tuple[tuple[str, ...], ...]  # for each offer: limitations of the comparison
    in_means: tuple[bool, ...]  # for each offer except the first: whether it has geometric means
    day: float = DAY

    def compared(self, place: int) -> bool:
        """Whether any cell was compared: otherwise nothing is shown."""
        return any(cell.reported_ratio is not None for cell in self.cells[place - 1])

    @property
    def passed(self) -> bool:
        """Whether every cell was tested and none is worse; in an acceptance, whether all commitments are reached."""
        failing = any(cell.fails for column in self.cells for cell in column)
        return not failing and all(self.compared(place) for place in range(1, len(self.offers)))


def median_value(entry: OfferedCell) -> float:
    return statistics.median(entry.values) if entry.values else entry.value or 0.0


def offer_letter(place: int) -> str:
    """A, B, … Z, AA, AB, … for 0, 1, …"""
    text = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        text = chr(ord("A") + letter) + text
    return text

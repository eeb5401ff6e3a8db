"""What a comparison of offers is: what it is asked for, its cells, each with a verdict, and what limits it. Pure."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from campaign.config.values import parse_percent
from campaign.core.errors import InputError
from campaign.core.runs import Cell
from campaign.core.strict_yaml import quoted
from campaign.report.compare.offers import Offer, OfferedCell

DAY = 2.0  # factor by which two days of one system are taken to differ at most


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms of an acceptance. `min_share`: of the committed number, 0.95 for 5% tolerance. `reported_alone`: only the
    reported numbers decide, as in a contract that does not mention repetitions. `by_means`: only the geometric means of
    the repetitions decide, as in the design of a sample.
    """

    min_share: float
    reported_alone: bool = False
    by_means: bool = False


def parse_terms(tolerance: str | None, at_least: str | None, reported_alone: bool) -> Terms | None:
    """The terms of an acceptance, from `5%` or `0.95`; None if neither is given. Raises InputError."""
    if tolerance is not None:
        try:
            return Terms(1 - parse_percent(0, 99)(tolerance), reported_alone)
        except ValueError as error:
            raise InputError(f"--tolerance: {error}") from error
    if at_least is not None:
        if not re.fullmatch(r"0\.[0-9]{1,6}|1(\.0{1,6})?", at_least) or float(at_least) < 0.01:
            raise InputError(f"--at-least: found {quoted(at_least)}; allowed: a share from 0.01 to 1, such as 0.95")
        return Terms(float(at_least), reported_alone)
    if reported_alone:
        raise InputError("--reported needs --tolerance or --at-least")
    return None


def parse_day(word: str | None) -> float:
    """The factor by which two days of one system may differ: `1.2`. Raises InputError."""
    if word is None:
        return DAY
    if not re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", word) or float(word) < 1:
        raise InputError(f"--day: found {quoted(word)}; allowed: a factor from 1, such as 1.2")
    return float(word)


def parse_targets(words: Sequence[str]) -> dict[str, str]:
    """`NAME=OTHER`, the first campaign's name of a target and the others' -> {OTHER: NAME}."""
    names: dict[str, str] = {}
    for word in words:
        name, separator, other = word.partition("=")
        if not (name and separator and other) or other in names or name in names.values():
            raise InputError(
                f"--map {word}: write NAME=OTHER (target of the first = target of the others), each name once"
            )
        names[other] = name
    return names


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

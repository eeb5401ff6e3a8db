"""Compares cell by cell: the ratio of an offer to the first one, its interval, and whether the difference is
significant. Pure.

Without a tolerance, the question is whether there is a difference (two-sided, 95% intervals). With one it is an
acceptance: whether each number of the first offer, the commitment, is reached (one-sided, 95% confidence of each
bound).
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from campaign.config.values import parse_percent
from campaign.core.errors import InputError
from campaign.core.grouping import grouped
from campaign.core.model import Cell, Status
from campaign.core.strict_yaml import quoted
from campaign.core.units import POINT_AS_SEPARATOR, is_thousandfold, plural
from campaign.report.compare.offers import Offer, OfferedCell, rename_targets
from campaign.statistics import intervals, ranks

INFLATED = 1.01  # value over actual rate from which a formula inflates a number, not just by rounding
MAX_PAIRS = 10**8  # of values, over all cells of an offer: about ten seconds
LEVEL = 0.05  # of false alarms, per campaign and per bound
DAY = 2.0  # factor by which two days of one system are taken to differ at most


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


def compare(
    offers: Sequence[Offer],
    terms: Terms | None = None,
    targets: Mapping[str, str] | None = None,
    force: bool = False,
    day: float = DAY,
) -> OfferComparison:
    """Compare the first offer with each other one. `targets`: names of the first offer's targets by those of the
    others; `day`: the factor by which two days of one system may differ. Raises InputError if
    the rules or the profile differ, unless `force`, which also gives means to offers whose size, rules or operations
    differ.
    """
    first = offers[0]
    mapped_offers = tuple(_with_mapped_targets(first, offers[1:], targets or {}))
    for other in mapped_offers if not force else ():
        _check_same_rules(first, other)
    _check_size(first, mapped_offers)
    columns = tuple(_column(first, other, terms, day) for other in mapped_offers)
    unequal = [tuple(_size_differences(first, *pair)) for pair in zip(mapped_offers, columns, strict=True)]
    remarks = (
        (*_offer_limits(other), *differences, *_other_differences(first, other, column))
        for other, differences, column in zip(mapped_offers, unequal, columns, strict=True)
    )
    in_means = tuple(force or not differences for differences in unequal)
    return OfferComparison(
        (first, *mapped_offers), terms, columns, (tuple(_offer_limits(first)), *remarks), in_means, day
    )


def _with_mapped_targets(first: Offer, other_offers: Sequence[Offer], targets: Mapping[str, str]) -> Iterable[Offer]:
    firsts = {cell.target for cell in first.entries}
    theirs = {cell.target for other in other_offers for cell in other.entries}
    for name, new in targets.items():
        for target, targets_of_side, side_name in ((new, firsts, first.source), (name, theirs, "any other offer")):
            if target not in targets_of_side:
                allowed = ", ".join(sorted(targets_of_side))
                raise InputError(f"--map {new}={name}: {target} is not a target of {side_name}; allowed: {allowed}")
    return (rename_targets(other, targets) if targets else other for other in other_offers)


def _check_same_rules(first: Offer, other: Offer) -> None:
    for name, ours, theirs in (("rules", first.rules, other.rules), ("profile", first.profile, other.profile)):
        if ours is not None and theirs is not None and ours != theirs:
            raise InputError(
                f"{other.source} uses {name} {theirs}, {first.source} uses {ours}: not comparable; give campaigns of "
                f"the same {name}, or compare them with --force"
            )


def _check_size(first: Offer, other_offers: Sequence[Offer]) -> None:
    """Refuse too many pairs of values: with the first offer, and with the best one, which may be any."""
    longest: dict[Cell, int] = {}
    for offer in (first, *other_offers):
        for cell, entry in offer.entries.items():
            longest[cell] = max(longest.get(cell, 0), len(entry.values))
    for other in other_offers:
        pairs = sum(len(entry.values) * longest[cell] for cell, entry in other.entries.items())
        if pairs > MAX_PAIRS:
            raise InputError(
                f"{other.source}: {pairs} pairs of repetitions with {first.source}; allowed: up to {MAX_PAIRS}"
            )


# --- a column of cells


def _column(first: Offer, other: Offer, terms: Terms | None, day: float) -> tuple[CellComparison, ...]:
    cells = dict.fromkeys((*first.entries, *other.entries))
    pairs = [CellComparison(cell, first.entries.get(cell), other.entries.get(cell)) for cell in cells]
    column = [_without_test(pair, terms) or _with_ratio(pair, terms) for pair in pairs]
    if terms is None and 2 * sum(map(_has_same_numbers, pairs)) > len(pairs):
        reason = "most other cells repeat the first's numbers"
        column = [
            cell
            if cell.reason or _has_same_numbers(cell)
            else replace(cell, verdict=CellVerdict.CHANGED, reason=reason, fails=True)
            for cell in column
        ]
    adjusted_ps = iter(ranks.adjusted_p_values([cell.p for cell in column if cell.p is not None]))
    return tuple(_with_verdict(cell, None if cell.p is None else next(adjusted_ps), terms, day) for cell in column)


def _has_same_numbers(pair: CellComparison) -> bool:
    """Whether both have the same numbers, which two measurements never have."""
    first, second = pair.first, pair.second
    if first is None or second is None or first.value is None or first.value != second.value:
        return False
    return not (first.values and second.values) or first.values == second.values


def _without_test(pair: CellComparison, terms: Terms | None) -> CellComparison | None:
    """The verdict on cells that cannot be compared; None if they can."""
    first, second = pair.first, pair.second
    reason = _why_no_ratio(first, second)
    if reason or first is None or second is None or first.value is None or second.value is None:
        # A cell that both declined is settled; what was declined or not offered was not committed.
        declined = [entry is not None and entry.status is Status.DECLINED for entry in (first, second)]
        fails = not all(declined) if terms is None else first is not None and not declined[0]
        return replace(pair, verdict=CellVerdict.NONE, reason=reason, fails=fails)
    if min(first.value, second.value, *first.values, *second.values) <= 0:
        is_negative = min(first.value, second.value, *first.values, *second.values) < 0
        return replace(pair, reason=f"value is {'below ' if is_negative else ''}0: no ratio", fails=True)
    if second.status is not Status.MEASURED:
        reason = f"this one is {second.status}"
    elif terms is None and first.status is not Status.MEASURED:
        reason = f"the first is {first.status}"
    else:
        return None
    reported_ratio = second.value / first.value
    return replace(pair, verdict=CellVerdict.NONE, reason=reason, reported_ratio=reported_ratio, fails=True)


def _why_no_ratio(first: OfferedCell | None, second: OfferedCell | None) -> str:
    """Why two cells have no ratio; "" if they have one."""
    if first is None or second is None:
        return "only in this one" if first is None else "only in the first"
    if first.unit != second.unit:
        return f"units differ: {first.unit}, {second.unit}"
    if first.best != second.best:
        return f"the first reports the {first.best} value as the best, this one the {second.best}"
    if first.status is second.status and first.number is None:
        return f"both are {first.status}"
    sides = ((f"the first is {first.status}", first), (f"this one is {second.status}", second))
    return ", ".join(description for description, entry in sides if entry.number is None)


def _with_ratio(pair: CellComparison, terms: Terms | None) -> CellComparison:
    """The ratio with its interval, without a verdict; no ratio if there are too few values."""
    assert pair.first and pair.second and pair.first.value and pair.second.value
    reported_ratio = pair.second.value / pair.first.value
    if terms is not None and terms.by_means:
        first, second = (statistics.geometric_mean(entry.repeated) for entry in (pair.first, pair.second))
        return replace(pair, reported_ratio=reported_ratio, ratio=second / first)
    difference, over_sessions = (
        (log_differences(pair.first, pair.second), False) if terms else session_differences(pair.first, pair.second)
    )
    middle = difference.middle if difference.ordered else None
    bounds, p = difference.bounds(LEVEL / 2 if terms is None else LEVEL), None
    if bounds is not None:
        middle, p = difference.middle, difference.p
    elif terms is not None and pair.second.values:
        # A commitment without repetitions is a single number, a promise, which the other's repetitions have to keep.
        log_ratios = sorted(math.log(value / pair.first.value) for value in pair.second.values)
        bounds = intervals.median_interval(log_ratios, 1 - 2 * LEVEL, _dependence(pair.second))
        middle = statistics.median(log_ratios)
    ratio, low, high = (None if x is None else math.exp(x) for x in (middle, *(bounds or (None, None))))
    return replace(
        pair, reported_ratio=reported_ratio, ratio=ratio, low=low, high=high, p=p, over_sessions=over_sessions
    )


def log_differences(first: OfferedCell, second: OfferedCell) -> ranks.Differences:
    """Differences between the logarithms of two cells' values. Repetitions of one job count as one, by increasing the
    variance: which they are is not known here.
    """
    ours, theirs = ([math.log(value) for value in entry.values] for entry in (first, second))
    blocks = first.jobs or len(ours), second.jobs or len(theirs)
    return ranks.differences(ours, theirs, (_dependence(first), _dependence(second)), blocks)


def session_differences(first: OfferedCell, second: OfferedCell) -> tuple[ranks.Differences, bool]:
    """The differences, and whether they include those between sessions: if the runs of both sides took turns, or if
    both have so many sessions that their medians can be compared.
    """
    of_values = log_differences(first, second)
    if not (first.started and second.started):
        return of_values, False
    if intervals.in_turns(first.started, second.started):
        return of_values, True
    ours, theirs = (
        intervals.one_of_each([math.log(value) for value in entry.values], intervals.sessions_of(entry.started))
        for entry in (first, second)
    )
    of_sessions = ranks.differences(ours, theirs, (intervals.dependence(ours), intervals.dependence(theirs)))
    return (of_values, False) if of_sessions.bounds(LEVEL / 2) is None else (of_sessions, True)


def is_beyond_day(low: float | None, high: float | None, day: float) -> bool:
    """Whether an interval of ratios is so far from 1 that two days of one system cannot differ so much."""
    return low is not None and high is not None and (low > day or high < 1 / day)


def _dependence(entry: OfferedCell) -> float:
    together = len(entry.values) / entry.jobs if entry.jobs else 1.0
    return max(together, intervals.dependence(entry.values))


# --- verdicts

Answer = tuple[CellVerdict, str, bool]  # verdict, reason, whether the cell fails


def _with_verdict(cell: CellComparison, adjusted_p: float | None, terms: Terms | None, day: float) -> CellComparison:
    if cell.reason:  # it is settled
        return cell
    verdict, reason, fails = (
        _difference_answer(cell, adjusted_p, day) if terms is None else _acceptance_answer(cell, adjusted_p, terms)
    )
    return replace(cell, verdict=verdict, reason=reason, fails=fails, adjusted_p=adjusted_p)


def _difference_answer(cell: CellComparison, adjusted_p: float | None, day: float) -> Answer:
    if adjusted_p is None or cell.ratio is None:
        return CellVerdict.UNTOLD, _repetition_counts(cell), True
    if adjusted_p > LEVEL:
        return CellVerdict.SAME, "", False
    if not (cell.over_sessions or is_beyond_day(cell.low, cell.high, day)):
        return CellVerdict.SESSION, "", True
    better = (cell.ratio > 1) == (cell.best == "highest")
    return (CellVerdict.BETTER, "", False) if better else (CellVerdict.WORSE, "", True)


def _repetition_counts(cell: CellComparison) -> str:
    first, second = (_repetition_count(entry) if entry else "" for entry in (cell.first, cell.second))
    return f"repetitions: {first}, {second}"


def _repetition_count(entry: OfferedCell) -> str:
    number = len(entry.values)
    if entry.jobs and entry.jobs < number:
        return f"{number} in {plural(entry.jobs, 'job')}"
    return str(number or "not listed")


def _acceptance_answer(cell: CellComparison, adjusted_p: float | None, terms: Terms) -> Answer:
    """Reached: the reported number reaches it, and the repetitions show that this was not luck."""
    share, low, high = cell.ratio if terms.by_means else cell.reported_ratio, cell.low, cell.high
    if cell.best == "lowest":
        share, low, high = (None if x is None else 1 / x for x in (share, high, low))
    if share is None or share < terms.min_share:
        decides = "geometric mean" if terms.by_means else "reported"
        return CellVerdict.BELOW, f"{decides}: {(share or 0):.2%} of the commitment", True
    if terms.reported_alone or terms.by_means:
        return CellVerdict.WITHIN, "", False
    if low is None or high is None:
        return CellVerdict.UNTOLD, _repetition_counts(cell), True
    if high < terms.min_share:
        return CellVerdict.BELOW, f"repetitions: up to {high:.2%} of the commitment", True
    if low < terms.min_share:
        return CellVerdict.UNTOLD, f"repetitions: {low:.2%} of the commitment or more", True
    better = adjusted_p is not None and adjusted_p <= LEVEL and low > 1
    return (CellVerdict.BETTER if better else CellVerdict.WITHIN), "", False


# --- what limits a comparison


def _offer_limits(offer: Offer) -> Iterable[str]:
    """Limitations of any comparison with an offer."""
    if offer.remark:
        yield offer.remark
    if offer.rules is None:
        yield "run rules not given in the source"
    if offer.rehearsal:
        yield f"{offer.profile} size: not a compliant result"
    entries = offer.entries.values()
    if inflated := sum(entry.inflation > INFLATED for entry in entries):
        yield f"{plural(inflated, 'cell')}: rates inflated by the benchmark's formula (PHY-03)"
    if together := sum(len(entry.values) > 1 and entry.jobs == 1 for entry in entries):
        yield (
            f"{plural(together, 'cell')}: all repetitions ran in one job, so they count as one value in intervals and "
            "tests"
        )


_CELL_DIFFERENCES: tuple[tuple[Callable[[OfferedCell, OfferedCell], bool], str], ...] = (
    (lambda a, b: is_thousandfold(a.value, b.value), f"exactly 1,000 times the first's: {POINT_AS_SEPARATOR}"),
    (
        lambda a, b: not 1 / INFLATED < b.inflation / a.inflation < INFLATED,
        "the formula inflates the two campaigns differently",
    ),
    (lambda a, b: (a.processes, a.nodes) != (b.processes, b.nodes), "process or node counts differ from the first's"),
    (lambda a, b: bool(a.values) and a.values == b.values, "identical values: the same measurements?"),
)


def _size_differences(first: Offer, other: Offer, column: Sequence[CellComparison]) -> Iterable[str]:
    """Differences in size, rules or operations, with which geometric means cannot be compared."""
    if first.profile and other.profile and (first.rules, first.profile) != (other.rules, other.profile):
        yield f"rules {other.rules}, profile {other.profile}; the first has {first.rules}, {first.profile}"
    if None not in (first.version, other.version) and first.version != other.version:
        yield f"rules {other.rules} version {other.version}; the first has version {first.version}"
    elif first.digest and other.digest and first.digest != other.digest:
        yield f"rules {other.rules}: same id and version as the first's, different content"
    ours, theirs = first.variables or {}, other.variables or {}
    for name in dict.fromkeys((*ours, *theirs)):
        if first.rules and other.rules and ours.get(name) != theirs.get(name):
            value, first_value = (variables.get(name, "not set") for variables in (theirs, ours))
            yield f"{name}: {value}; the first has {first_value}"
    pairs = [(cell.first, cell.second) for cell in column if cell.first and cell.second]
    totals = [(ours.files_total, theirs.files_total) for ours, theirs in pairs]
    if number := sum(
        first_total != other_total and None not in (first_total, other_total) for first_total, other_total in totals
    ):
        yield f"{plural(number, 'cell')}: total item count differs from the first's"
    common = {ours.cell.target for ours, _ in pairs}
    lacking, added = (
        dict.fromkeys(cell.operation for cell in offer.entries if cell.target in common) for offer in (first, other)
    )
    for problem, operations, other_operations in (("missing", lacking, added), ("not in the first", added, lacking)):
        if unmatched := [name for name in operations if name not in other_operations]:
            yield f"operations {problem}: {', '.join(unmatched)}"


def _other_differences(first: Offer, other: Offer, column: Sequence[CellComparison]) -> Iterable[str]:
    """Other differences between the campaigns of two offers."""
    if first.entries == other.entries:
        yield "the same results as the first's: compared with itself, which shows nothing"
        return
    pairs = [(cell.first, cell.second) for cell in column if cell.first and cell.second]
    ours_named, theirs_named = (dict.fromkeys(cell.target for cell in offer.entries) for offer in (first, other))
    if not pairs and ours_named.keys().isdisjoint(theirs_named):
        yield (
            f"no cell in common: its targets are {', '.join(theirs_named)}, the first's {', '.join(ours_named)}; "
            f"'--map {next(iter(ours_named), '')}=OTHER' matches two targets"
        )
    for has_difference, description in _CELL_DIFFERENCES:
        if number := sum(has_difference(*pair) for pair in pairs):
            yield f"{plural(number, 'cell')}: {description}"


# --- an offer in a few numbers


@dataclass(frozen=True, slots=True)
class GainSummary:
    """An offer compared with the first: geometric means of the gains (above 1 is better), and counts of verdicts.
    `interval`: 95% interval of the mean of all; None with too few repetitions. `over_sessions`: it includes what
    differs between sessions.
    """

    mean: float | None
    interval: tuple[float, float] | None
    over_sessions: bool
    by_launch: dict[str, float | None]
    by_operation: dict[str, float | None]
    compared: int  # cells in the means
    verdicts: dict[CellVerdict, int]


def summarize_gains(column: Sequence[CellComparison], in_means: bool = True) -> GainSummary:
    """`in_means`: whether the offer has means."""
    gained = [compared for compared in column if in_means and compared.gain is not None]
    gains = [(compared.cell, compared.gain) for compared in gained if compared.gain is not None]
    launches = dict.fromkeys(compared.cell.launch for compared in column)
    operations = dict.fromkeys(compared.cell.operation for compared in column)
    verdict_counts = Counter(compared.verdict for compared in column)
    mean, interval, over_sessions = _geometric_mean([gain for _, gain in gains]), None, False
    if mean and (mean_comparison := _mean_comparison(gained)).low and mean_comparison.high and mean_comparison.ratio:
        interval = (
            mean * mean_comparison.low / mean_comparison.ratio,
            mean * mean_comparison.high / mean_comparison.ratio,
        )
        over_sessions = mean_comparison.over_sessions and all(cell.over_sessions for cell in gained)
    return GainSummary(
        mean,
        interval,
        over_sessions,
        {name: _geometric_mean([gain for cell, gain in gains if cell.launch == name]) for name in launches},
        {name: _geometric_mean([gain for cell, gain in gains if cell.operation == name]) for name in operations},
        len(gains),
        {verdict: verdict_counts[verdict] for verdict in CellVerdict},
    )


def _mean_comparison(gained: Sequence[CellComparison]) -> CellComparison:
    """The gains as those of one cell, with the mean over all cells for each repetition: results of one run vary
    together.
    """
    sides = zip(*((cell.first, cell.second) for cell in gained if cell.first and cell.second), strict=True)
    first, second = (_mean_cell(entries, [cell.best for cell in gained]) for entries in sides)
    return _with_ratio(CellComparison(gained[0].cell, first, second), None)


def _mean_cell(entries: Sequence[OfferedCell], best: Sequence[str]) -> OfferedCell:
    """Geometric means over cells; as many as the cell with the fewest repetitions has."""
    values = tuple(
        math.exp(
            statistics.fmean(
                math.log(value) * (1 if best_of_cell == "highest" else -1) for value, best_of_cell in repetition
            )
        )
        for repetition in (
            zip(values, best, strict=True) for values in zip(*(cell.values for cell in entries), strict=False)
        )
    )
    jobs = min(cell.jobs or len(values) for cell in entries)
    return replace(entries[0], values=values, started=entries[0].started[: len(values)], jobs=jobs)


def merge_lone_targets(column: Sequence[CellComparison]) -> list[CellComparison]:
    """The cells, those of a target that only one side has as one."""
    lone_targets = {cell.cell.target for cell in column} - {
        cell.cell.target for cell in column if cell.first and cell.second
    }
    by_target = grouped((cell.cell.target, cell) for cell in column)
    merged = {
        target: CellComparison(
            Cell(target, "*", "*", "*"),
            None,
            None,
            CellVerdict.NONE,
            f"{cells[0].reason} ({plural(len(cells), 'cell')})",
            fails=any(cell.fails for cell in cells),
        )
        for target, cells in by_target.items()
        if target in lone_targets and len(cells) > 1
    }
    return list(dict.fromkeys(merged.get(cell.cell.target, cell) for cell in column))


def _geometric_mean(gains: Sequence[float]) -> float | None:
    return math.exp(math.fsum(map(math.log, gains)) / len(gains)) if gains else None


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

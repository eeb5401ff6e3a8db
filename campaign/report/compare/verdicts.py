"""Compares cell by cell: the ratio of an offer to the first one, its interval, and whether the difference is
significant. Pure.

Without a tolerance, the question is whether there is a difference (two-sided, 95% intervals). With one it is an
acceptance: whether each number of the first offer, the commitment, is reached (one-sided, 95% confidence of each
bound).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from campaign.core.errors import InputError
from campaign.core.frozen import replace
from campaign.core.grouping import grouped
from campaign.core.runs import Cell, Status
from campaign.core.units import plural
from campaign.core.workers import results_in_order
from campaign.report.compare import limitations
from campaign.report.compare.comparison import DAY, CellComparison, CellVerdict, OfferComparison, Terms
from campaign.report.compare.offers import Offer, OfferedCell, rename_targets
from campaign.statistics import intervals, ranks

MAX_PAIRS = 10**8  # of values, over all cells of an offer: about ten seconds
LEVEL = 0.05  # of false alarms, per campaign and per bound

Ratio = dict[str, Any]  # fields of a comparison


def compare(
    offers: Sequence[Offer],
    terms: Terms | None = None,
    targets: Mapping[str, str] | None = None,
    is_unequal: bool = False,
    day: float = DAY,
) -> OfferComparison:
    """Compare the first offer with each other one. `targets`: names of the first offer's targets by those of the
    others; `day`: the factor by which two days of one system may differ. Raises InputError if
    the rules or the profile differ, unless `is_unequal`, which also gives means to offers whose size, rules or
    operations differ.
    """
    first = offers[0]
    mapped_offers = tuple(_with_mapped_targets(first, offers[1:], targets or {}))
    for other in mapped_offers if not is_unequal else ():
        _check_same_rules(first, other)
    _check_size(first, mapped_offers)
    compute = partial(_ratios, first, terms)  # alone: whole cells take longer to hand over than to make
    all_ratios = results_in_order(compute, mapped_offers, attrgetter("source"), "comparing offers")
    columns = tuple(
        _column(_pairs(first, other), ratios, terms, day)
        for other, ratios in zip(mapped_offers, all_ratios, strict=True)
    )
    unequal = [tuple(limitations.size_differences(first, *pair)) for pair in zip(mapped_offers, columns, strict=True)]
    remarks = (
        (*limitations.offer_limits(other), *differences, *limitations.other_differences(first, other, column))
        for other, differences, column in zip(mapped_offers, unequal, columns, strict=True)
    )
    in_means = tuple(is_unequal or not differences for differences in unequal)
    return OfferComparison(
        (first, *mapped_offers), terms, columns, (tuple(limitations.offer_limits(first)), *remarks), in_means, day
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
                f"the same {name}, or compare them with --unequal"
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


def _pairs(first: Offer, other: Offer) -> list[CellComparison]:
    cells = dict.fromkeys((*first.entries, *other.entries))
    return [CellComparison(cell, first.entries.get(cell), other.entries.get(cell)) for cell in cells]


def _ratios(first: Offer, terms: Terms | None, other: Offer) -> list[Ratio]:
    """The ratio of each cell, with what belongs to it; nothing of a cell that cannot be compared."""
    return [{} if _without_test(pair, terms) else _ratio(pair, terms) for pair in _pairs(first, other)]


def _column(
    pairs: Sequence[CellComparison], ratios: Sequence[Ratio], terms: Terms | None, day: float
) -> tuple[CellComparison, ...]:
    column = [
        replace(pair, **ratio) if ratio else _without_test(pair, terms) or pair
        for pair, ratio in zip(pairs, ratios, strict=True)
    ]
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


def with_ratio(pair: CellComparison, terms: Terms | None) -> CellComparison:
    """The ratio with its interval, without a verdict; no ratio if there are too few values."""
    return replace(pair, **_ratio(pair, terms))


def _ratio(pair: CellComparison, terms: Terms | None) -> Ratio:
    """The fields of `with_ratio`."""
    assert pair.first and pair.second and pair.first.value and pair.second.value
    reported_ratio = pair.second.value / pair.first.value
    if terms is not None and terms.by_means:
        first, second = (statistics.geometric_mean(entry.repeated) for entry in (pair.first, pair.second))
        return {"reported_ratio": reported_ratio, "ratio": second / first}
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
    return {"reported_ratio": reported_ratio, "ratio": ratio, "low": low, "high": high, "p": p,
            "over_sessions": over_sessions}  # fmt: skip


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
    if intervals.is_alternating(first.started, second.started):
        return of_values, True
    ours, theirs = (
        intervals.group_medians([math.log(value) for value in entry.values], intervals.session_numbers(entry.started))
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
    first, second = (_repetition_count(entry) if entry else "none" for entry in (cell.first, cell.second))
    return f"{first} each" if first == second else f"{first} and {second}"


def _repetition_count(entry: OfferedCell) -> str:
    number = len(entry.values)
    if entry.jobs and entry.jobs < number:
        return f"{plural(number, 'repetition')} in {plural(entry.jobs, 'job')}"
    return plural(number, "repetition") if number else "repetitions not listed"


def _acceptance_answer(cell: CellComparison, adjusted_p: float | None, terms: Terms) -> Answer:
    """Reached: the reported number reaches it, and the repetitions show that this was not luck."""
    share, low, high = cell.ratio if terms.by_means else cell.reported_ratio, cell.low, cell.high
    if cell.best == "lowest":
        share, low, high = (None if x is None else 1 / x for x in (share, high, low))
    if share is None or share < terms.min_share:
        decides = "geometric mean" if terms.by_means else "reported value"
        return CellVerdict.BELOW, f"{decides} {(share or 0):.2%} of the commitment", True
    if terms.reported_alone or terms.by_means:
        return CellVerdict.WITHIN, "", False
    if low is None or high is None:
        return CellVerdict.UNTOLD, _repetition_counts(cell), True
    if high < terms.min_share:
        return CellVerdict.BELOW, f"repetitions show at most {high:.2%} of the commitment", True
    if low < terms.min_share:
        return CellVerdict.UNTOLD, f"repetitions show only {low:.2%} of the commitment", True
    better = adjusted_p is not None and adjusted_p <= LEVEL and low > 1
    return (CellVerdict.BETTER if better else CellVerdict.WITHIN), "", False


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
    return list(dict.fromkeys(merged.get(cell.cell.target, cell) for cell in column)) if merged else list(column)

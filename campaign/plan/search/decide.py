"""The decision of a search, its reason in a sentence, and its candidates. Pure."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import replace
from statistics import median

from campaign.core.grouping import grouped
from campaign.core.model import Geometry
from campaign.plan.search import curve
from campaign.plan.search.book import Book
from campaign.plan.search.inference import MOST_FURTHER, answer, view
from campaign.plan.search.nouns import Candidate, Decision, Drift, PlannedBlock, SlowRuns, size, words
from campaign.statistics import intervals
from campaign.statistics.modes import two_groups

RELIABLE = 3  # runs of a count from which its median is reliable


def decide(book: Book, complete: bool) -> Decision:
    logs = book.all_logs()
    confirmed = max(map(len, book.fresh().values()), default=0) >= book.settings.least
    why = "no run gave a result" if complete else "the budget was used up before confirmation runs"
    decision = Decision(None, None, complete, confirmed, f"No process count found: {why}.")
    if logs and confirmed:
        decision = _by_model(book, complete)
    elif logs:
        effect = curve.runs(logs).effect
        peak = max(effect, key=lambda one: (effect[one], -one.processes, -one.nodes))
        reason = f"{words(peak)}: best rate so far, unconfirmed ({why})."
        decision = Decision(peak, peak, complete, confirmed, reason, _candidates(book, [peak]))
    drift, groups = _drift(book), two_groups(_about_usual(book))
    slow_runs = SlowRuns(groups.share, -math.expm1(-groups.apart)) if groups else None
    return replace(
        decision,
        remarks=_remarks(book, decision.peak, drift, slow_runs) if decision.peak else (),
        taken=tuple(book.taken),
        node_s=book.node_s,
        drift=drift,
        slow_runs=slow_runs,
        outliers=_outliers(book),
    )


def _by_model(book: Book, complete: bool) -> Decision:
    """The decision: the fewest processes shown to be within the margin by the curves that the runs allow. Ratios are
    rounded, since processors add up products in different orders.
    """
    seen = view(book, "decision")
    answered = answer(book, seen)
    chosen = answered.chosen
    shown = [one for one, share in seen.within.items() if share >= book.settings.demanded]
    candidates = tuple(
        replace(each, ratio=round(_typical(logs), 6), ratio_low=round(_low(book, logs), 6))
        if (logs := seen.ratio.get(each.geometry)) and each.geometry != seen.peak
        else each
        for each in _candidates(book, shown)
    )
    margin, confidence = (f"{100 * share:g}%" for share in (book.settings.margin, book.settings.confidence))
    ratio, low = (f"{100 * share:.1f}%" for share in (_typical(seen.ratio[chosen]), _low(book, seen.ratio[chosen])))
    runs = f"{len(book.fresh().get(chosen, ()))} confirmation runs"
    text = (
        f"smallest measured count shown to be within {margin} of the peak: {ratio} of its rate, at least {low} "
        f"({confidence} confidence, {runs})"
        if answered.shown
        else f"most likely to be within {margin} of the peak: {ratio} of its rate, but only {low} at {confidence} "
        f"confidence ({runs})"
    )
    if answered.resolved:
        text += f"; no measured count below {words(answered.fewest)} is ({confidence} confidence)"
    elif answered.fewest != chosen:
        text += (
            f"; the minimum is not resolved: no measured count below {words(answered.fewest)} is ({confidence} "
            f"confidence), and {len(answered.alike)} counts cannot be told apart"
        )
        text += (
            f" without about {answered.further} more runs"
            if answered.further < MOST_FURTHER
            else f", perhaps not even with {answered.further} more runs"
        )
    else:
        text += f"; about {answered.further} more runs are needed to show it"
    text += f"; nothing is claimed of counts other than the {len(candidates)} that were measured"
    if not complete:
        text += "; stopped by the budget: best answer so far"
    return Decision(
        chosen,
        seen.peak,
        complete,
        confirmed=True,
        reason=f"{words(chosen)}: {text}.",
        candidates=candidates,
        shown=answered.shown,
        alike=answered.alike,
        resolved=answered.resolved,
        further=answered.further,
    )


def _typical(logs: Sequence[float]) -> float:
    """A ratio, from its logarithms in the drawn curves."""
    return math.exp(sum(logs) / len(logs))


def _low(book: Book, ordered: Sequence[float]) -> float:
    """The lower bound of a ratio at the requested confidence."""
    return math.exp(ordered[math.floor((1 - book.settings.confidence) * len(ordered))])


def _candidates(book: Book, within: Container[Geometry]) -> tuple[Candidate, ...]:
    fresh, rates_of = book.fresh(), book.typical()
    tried = [request.geometry for request in book.taken]
    candidates = []
    for point in sorted(set(tried), key=size):
        typical = rates_of.get(point, intervals.NOTHING)
        runs = tried.count(point), len(fresh.get(point, ()))
        rates = typical.median, typical.low, typical.high
        candidates.append(Candidate(point, *runs, *rates, within=point in within))
    return tuple(candidates)


def _remarks(book: Book, peak: Geometry, drift: Drift | None, slow: SlowRuns | None) -> tuple[str, ...]:
    remarks = []
    tried = {request.geometry for request in book.taken} - book.failed.keys()
    if not any(tested.processes > peak.processes for tested in tried):
        remarks.append(f"{words(peak)} is the largest count measured; a larger one may be faster")
    elif not any(tested.processes < peak.processes for tested in tried) and peak.processes > book.space.fewest_nodes:
        remarks.append(f"{words(peak)} is the smallest count measured; a smaller one may be faster")
    remarks += [f"{words(geometry)}: excluded, since a run failed" for geometry in book.failed]
    if drift and drift.reported:
        remarks.append(
            f"rates changed by {drift.change:+.0%} in the course of the search (first third of the runs to the last, "
            f"p-value {drift.p_value:.2g}); a change that is the same for all counts does not affect the choice, but "
            "if it was larger for some counts, another count may be the minimum before or after it"
        )
    if slow:
        remarks.append(
            f"rates came in two groups: {slow.share:.0%} of the runs were about {slow.slower:.0%} slower than the "
            "others, for example by other load; the rarer group has less weight in the choice, and if it affected "
            "some counts more than others, another count may be the minimum in it"
        )
    return tuple(remarks)


# --- the system over time: a drift of the rates, two groups of rates, outliers
#
# They are reported, and not excluded from any estimate. How often a steady system seems unsteady is printed by
# `python -m tests.bench search_families`.


def _drift(book: Book) -> Drift | None:
    """The drift; None if there are too few runs."""
    p_value = intervals.trend(_about_usual(book))
    if p_value is None:
        return None
    values = _about_effect(book)
    third = len(values) // 3
    return Drift(p_value, math.expm1(median(values[-third:]) - median(values[:third])))


def _about_usual(book: Book) -> list[float]:
    """Log rates minus the median of their count, in the order of the runs."""
    logs = book.all_logs()
    by_count = grouped((count, value) for _, count, value in logs)
    usual = {count: median(values) for count, values in by_count.items() if len(values) >= RELIABLE}
    return [value - usual[count] for _, count, value in logs if count in usual]


def _outliers(book: Book) -> tuple[PlannedBlock, ...]:
    """Runs far from the others of their count."""
    far = intervals.outliers(_about_effect(book))
    return tuple(
        PlannedBlock(*block, geometry.nodes, geometry.processes)
        for index, (block, geometry, _) in enumerate(book.all_logs())
        if index in far
    )


def _about_effect(book: Book) -> list[float]:
    """Log rates minus the effect of their count, adjusted for blocks, in the order of the runs."""
    effect = curve.runs(book.all_logs()).effect
    return [value - effect[geometry] for _, geometry, value in book.all_logs()]

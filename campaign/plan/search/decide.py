"""The decision of a search, its reason in a sentence, and its candidates. Pure."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from campaign.core.model import Geometry
from campaign.plan.search import course
from campaign.plan.search.book import Book, estimates
from campaign.plan.search.inference import MOST_FURTHER, answer, view
from campaign.plan.search.nouns import Candidate, Decision, Drift, SlowRuns, size, words
from campaign.statistics import intervals


def decide(book: Book, complete: bool) -> Decision:
    fresh, logs = book.fresh(), book.all_logs()
    confirmed = max(map(len, fresh.values()), default=0) >= book.settings.least
    why = "no run gave a result" if complete else "the budget was used up before confirmation runs"
    if not logs:
        return Decision(None, None, complete, False, f"No process count found: {why}.", (), tuple(book.remarks),
                        tuple(book.taken), book.node_s)  # fmt: skip
    if not confirmed:
        peak = estimates(logs).top()
        decision = _Chosen(
            peak, peak, f"{words(peak)}: best rate so far, unconfirmed ({why}).", _candidates(book, [peak])
        )
    else:
        decision = _by_model(book, complete)
    drift, slow_runs = course.drift(book), course.slow_runs(book)
    return Decision(
        decision.chosen, decision.peak, complete, confirmed, decision.reason, decision.candidates,
        _remarks(book, decision.peak, drift, slow_runs), tuple(book.taken), book.node_s,
        drift, slow_runs, course.outliers(book), **decision.open,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Chosen:
    chosen: Geometry
    peak: Geometry
    reason: str
    candidates: tuple[Candidate, ...]
    open: dict[str, Any] = field(default_factory=dict)  # fields of the decision about what is not resolved


def _by_model(book: Book, complete: bool) -> _Chosen:
    """The decision: the fewest processes shown to be within the margin by the curves that the runs allow. Ratios are
    rounded, since processors add up products in different orders.
    """
    seen = view(book, "decision")
    answered = answer(book, seen)
    chosen, ratios = answered.chosen, seen.ratio[answered.chosen]
    shown = [one for one, share in seen.within.items() if share >= book.settings.confidence]
    candidates = tuple(
        replace(each, ratio=round(math.exp(sum(logs) / len(logs)), 6), ratio_low=round(math.exp(_low(book, logs)), 6))
        if (logs := seen.ratio.get(each.geometry)) and each.geometry != seen.peak
        else each
        for each in _candidates(book, shown)
    )
    about = {
        "count": words(chosen),
        "margin": f"{100 * book.settings.margin:g}%",
        "ratio": 100 * math.exp(sum(ratios) / len(ratios)),
        "low": 100 * math.exp(_low(book, ratios)),
        "confidence": 100 * book.settings.confidence,
        "runs": len(book.fresh().get(chosen, ())),
    }
    text: str = (
        (
            f"{words(chosen)}: smallest count shown to be within {100 * book.settings.margin:g}% of the peak: "
            f"{100 * math.exp(sum(ratios) / len(ratios)):.1f}% of its rate, at least "
            f"{100 * math.exp(_low(book, ratios)):.1f}% ({100 * book.settings.confidence:g}% confidence, "
            f"{len(book.fresh().get(chosen, ()))} confirmation runs)"
        )
        if answered.shown
        else (
            f"{words(chosen)}: most likely to be within {100 * book.settings.margin:g}% of the peak: "
            f"{100 * math.exp(sum(ratios) / len(ratios)):.1f}% of its rate, but only "
            f"{100 * math.exp(_low(book, ratios)):.1f}% at {100 * book.settings.confidence:g}% confidence "
            f"({len(book.fresh().get(chosen, ()))} confirmation runs)"
        )
    )
    if answered.resolved:
        text += f"; no count below {words(answered.fewest)} is ({about['confidence']:g}% confidence)"
    elif answered.fewest != chosen:
        text += (
            (
                f"; the minimum is not resolved: it is {words(answered.fewest)} or more ({about['confidence']:g}% "
                f"confidence), and {len(answered.alike)} counts cannot be told apart without about {answered.further} "
                "more runs"
            )
            if answered.further < MOST_FURTHER
            else (
                f"; the minimum is not resolved: it is {words(answered.fewest)} or more ({about['confidence']:g}% "
                f"confidence), and {len(answered.alike)} counts cannot be told apart, perhaps not even with "
                f"{answered.further} more runs"
            )
        )
    else:
        text += f"; about {answered.further} more runs are needed to show it"
    if not complete:
        text += "; stopped by the budget: best answer so far"
    still = {
        "shown": answered.shown, "alike": answered.alike, "resolved": answered.resolved, "further": answered.further
    }  # fmt: skip
    return _Chosen(chosen, seen.peak, text + ".", candidates, still)


def _low(book: Book, ordered: Sequence[float]) -> float:
    """The lower bound of a ratio at the requested confidence."""
    return ordered[math.floor((1 - book.settings.confidence) * len(ordered))]


def _candidates(book: Book, within: Container[Geometry]) -> tuple[Candidate, ...]:
    explored: dict[Geometry, list[float]] = {}
    for _, geometry, value in book.explored():
        explored.setdefault(geometry, []).append(value)
    fresh = book.fresh()
    tried = [request.geometry for request in book.taken]
    candidates = []
    for point in sorted(set(tried), key=size):
        values = list(fresh.get(point, {}).values()) or explored.get(point, [])
        if not values:
            candidates.append(Candidate(point, tried.count(point), 0, None))
            continue
        typical = intervals.summarize([math.exp(value) for value in values])
        runs = tried.count(point), len(fresh.get(point, ()))
        rates = typical.median, typical.low, typical.high
        candidates.append(Candidate(point, *runs, *rates, within=point in within))
    return tuple(candidates)


def _remarks(book: Book, peak: Geometry, drift: Drift | None, slow: SlowRuns | None) -> tuple[str, ...]:
    remarks = list(book.remarks)
    tried = {request.geometry for request in book.taken} - book.failed.keys()
    if not any(tested.processes > peak.processes for tested in tried):
        remarks.append(f"{words(peak)} is the largest count measured; a larger one may be faster")
    elif not any(tested.processes < peak.processes for tested in tried) and peak.processes > book.space.fewest:
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

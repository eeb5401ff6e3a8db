"""The decision, its reason in a sentence, and what to know of the points. Pure."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import field, replace
from typing import Any

from campaign.core.frozen import dataclass
from campaign.core.model import Geometry
from campaign.plan import messages
from campaign.plan.search import course
from campaign.plan.search.book import Book, estimates
from campaign.plan.search.inference import MOST_FURTHER, answer, view
from campaign.plan.search.nouns import Candidate, Decision, Drift, SlowRuns, size, words
from campaign.statistics import intervals


def decide(book: Book, complete: bool) -> Decision:
    fresh, logs = book.fresh(), book.all_logs()
    confirmed = max(map(len, fresh.values()), default=0) >= book.settings.least
    why = messages.NO_RATE() if complete else messages.BUDGET_BEFORE_CONFIRMATION()
    if not logs:
        return Decision(None, None, complete, False, messages.NO_COUNT(why=why), (), tuple(book.remarks),
                        tuple(book.taken), book.node_s)  # fmt: skip
    if not confirmed:
        peak = estimates(logs).top()
        decision = _Chosen(peak, peak, messages.UNCONFIRMED(count=words(peak), why=why), _candidates(book, [peak]))
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
    open: dict[str, Any] = field(default_factory=dict)  # what a decision says of what is not resolved


def _by_model(book: Book, complete: bool) -> _Chosen:
    """The fewest that the curves which the runs allow show to be within the margin. Ratios are rounded:
    processors add up products in other orders.
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
    text: str = (messages.FEWEST_SHOWN if answered.shown else messages.MOST_LIKELY)(**about)
    least = {"fewest": words(answered.fewest), "confidence": about["confidence"]}
    if answered.resolved:
        text += messages.RESOLVED(**least)
    elif answered.fewest != chosen:
        message = messages.NOT_RESOLVED if answered.further < MOST_FURTHER else messages.NOT_RESOLVABLE
        text += message(**least, counts=len(answered.alike), runs=answered.further)
    else:
        text += messages.NOT_SHOWN(runs=answered.further)
    if not complete:
        text += messages.STOPPED_BY_BUDGET()
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
        remarks.append(messages.LARGEST_MEASURED(count=words(peak)))
    elif not any(tested.processes < peak.processes for tested in tried) and peak.processes > book.space.fewest:
        remarks.append(messages.SMALLEST_MEASURED(count=words(peak)))
    remarks += [messages.COUNT_EXCLUDED(count=words(geometry)) for geometry in book.failed]
    if drift and drift.reported:
        remarks.append(messages.DRIFTED(change=drift.change, p_value=drift.p_value))
    if slow:
        remarks.append(messages.TWO_GROUPS(share=slow.share, slower=slow.slower))
    return tuple(remarks)

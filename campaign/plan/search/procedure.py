"""Finds the number of processes that a launch condition asks for: what to measure next, and the choice. Pure.

The procedure is written as if every measurement were at hand, and replayed from its beginning over the points that are:
where one is missing, the replay ends with what to measure next. So it depends on nothing but the points, and goes on
after any interruption as if there had been none. Runs are spent where they decide, by what a model of the curve leaves
open:

1. A grid of counts that fill groups of cores, in half octaves, and beside the best of them the numbers of nodes with
   other factors than 2; what is near the top is measured twice, and a third time where the better of the two runs is
   within the margin of it.
2. Blocks of the counts that may be the peak, or the fewest within the margin of it, by curves drawn from the model.
   Counts between those that were measured, and beside them, take part before they have been measured.
3. Confirmation runs of what is left, in blocks, until the answer is resolved or the runs are used up.

Rates are compared as logarithms, within blocks, so that a drift of the system cancels.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import replace
from statistics import median

from campaign.core.grouping import grouped
from campaign.core.runs import Geometry
from campaign.plan.search import curve
from campaign.plan.search.inference import MOST_FURTHER, NEAR, PROPOSED, draw_view, fastest, find_answer, likely_count
from campaign.plan.search.records import (
    CONFIRM,
    Book,
    Candidate,
    CountChoice,
    Drift,
    Measured,
    Missing,
    SearchRequest,
    Settings,
    SlowRuns,
    Spent,
)
from campaign.plan.search.space import SearchSpace, grid, nodes_between, size, words
from campaign.statistics import intervals

RUNS_PER_COUNT, FEWEST_RUNS, MOST_RUNS = 1.75, 60, 320  # a search's number of runs
EXPLORED = 0.55  # share of the runs before the confirmation runs
BLOCK = 8  # counts in a block of the second phase
# The second phase ends if, in this many rounds, counts without runs promise less: of a smaller count, and of a higher
# rate (means of logarithms).
CALM, SMALLER, HIGHER = 2, 0.2, 0.01
SETTLED = 2  # times that the confirmation gives the same choice, after which it ends
ROUNDS = 50  # rounds of the second phase, at most
SHORTLIST = 6  # counts with which the confirmation begins


def step(space: SearchSpace, settings: Settings, measured: Measured) -> tuple[SearchRequest, ...] | CountChoice:
    """What to measure next, in this order, or the choice. Requests nothing outside of `space`, and nothing twice.
    Raises ValueError if the space is empty.
    """
    book = Book(space, settings, measured)
    run_limit = runs_allowed(space)
    complete = True
    try:
        _explore(book, round(EXPLORED * run_limit))
        if book.exploration_logs():
            _confirm(book, run_limit)
    except Spent:
        complete = False
    except Missing as missing:
        return missing.args
    return choose(book, complete)


def runs_allowed(space: SearchSpace) -> int:
    counts = (space.most_nodes - space.fewest_nodes + 1) * space.most_per_node
    return round(min(MOST_RUNS, max(FEWEST_RUNS, RUNS_PER_COUNT * counts)))


def _explore(book: Book, run_limit: int) -> None:
    start = grid(book.space)
    book.measure("grid", (1,), start)
    if not book.exploration_logs():
        return
    effect = curve.robust_runs(book.exploration_logs()).effect
    best_nodes = nodes_between(book.space, max(effect, key=lambda count: effect[count]))
    if len(best_nodes) > 1:
        book.measure("nodes", (1,), best_nodes)
        effect = curve.robust_runs(book.exploration_logs()).effect
    near = [count for count in effect if effect[count] >= max(effect.values(), default=0.0) - NEAR]
    book.measure("grid", (2,), near)
    book.measure("grid", (3,), _disturbed_counts(book))
    calm = 0
    for round_ in range(1, ROUNDS + 1):
        if not book.exploration_logs() or len(book.outcomes) + BLOCK > run_limit:
            return
        view = draw_view(book, f"refine{round_}", PROPOSED)
        measured = {geometry for _, geometry, _ in book.exploration_logs()}
        calm = calm + 1 if view.gain[0] < SMALLER and view.gain[1] < HIGHER else 0
        if round_ > 2 and calm >= CALM:
            return
        proposed = view.counts_by_votes()[:BLOCK]
        if len(measured.intersection(proposed)) < 2:  # counts with runs connect a block to the others
            proposed = [*proposed[: BLOCK - 2], *[count for count in view.counts_by_votes() if count in measured][:2]]
        book.measure(f"refine{round_}", (1,), proposed)


def _disturbed_counts(book: Book) -> list[Geometry]:
    """Counts whose better run is within the margin of the top: the other one may have been disturbed."""
    logs = book.exploration_logs()
    effect = curve.robust_runs(logs).effect
    residuals = grouped((block, value - effect[count]) for block, count, value in logs)
    without_block = grouped((count, value - median(residuals[block])) for block, count, value in logs)
    lowest = max(effect.values(), default=0.0) + math.log1p(-book.settings.margin)
    return [count for count, values in without_block.items() if max(values) >= lowest and len(values) > 1]


def _confirm(book: Book, run_limit: int) -> None:
    settings, blocks_done, choices = book.settings, 0, list[Geometry | None]()
    view = draw_view(book, CONFIRM)
    shortlist = [count for count in view.counts_by_votes()[:SHORTLIST] if count in view.votes]
    while blocks_done < settings.most:
        shortlist += [
            count
            for count in dict.fromkeys(
                (view.safest_count, view.cheapest_count(view.reach) or view.peak, *fastest(book.rate_summaries()))
            )
            if count not in shortlist
        ]
        shortlist += [count for count in view.counts_by_votes() if count not in shortlist][: max(0, 2 - len(shortlist))]
        if not shortlist:
            return
        affordable = max(1, (run_limit - len(book.outcomes)) // len(shortlist))
        last_block = min(settings.most, blocks_done + max(1, min(settings.least // 2, affordable)))
        book.measure(CONFIRM, range(blocks_done + 1, last_block + 1), shortlist)
        blocks_done = last_block
        if not book.logs(fresh=True):
            return
        view = draw_view(book, f"{CONFIRM}{blocks_done}")
        enough = max(map(len, book.confirmation_logs().values())) >= settings.least
        choices += [likely_count(book, view)] if enough else []
        is_settled = len(choices) >= SETTLED and len({*choices[-SETTLED:]}) == 1 and choices[-1] is not None
        if enough and (len(book.outcomes) + len(shortlist) > run_limit or is_settled):
            return
        shortlist = [count for count in shortlist if view.votes.get(count, 0.0) > 1 - settings.confidence]


# --- the choice, its reason in a sentence, and its candidates

RELIABLE = 3  # runs of a count from which its median is reliable


def choose(book: Book, complete: bool) -> CountChoice:
    logs = book.all_logs()
    confirmed = max(map(len, book.confirmation_logs().values()), default=0) >= book.settings.least
    reason_unconfirmed = "no run gave a result" if complete else "the budget was used up before confirmation runs"
    choice = CountChoice(None, None, complete, confirmed, f"No process count found: {reason_unconfirmed}.")
    if logs and confirmed:
        choice = _choose_by_model(book, complete)
    elif logs:
        effect = curve.robust_runs(logs).effect
        peak = max(effect, key=lambda count: (effect[count], -count.processes, -count.nodes))
        reason = f"{words(peak)}: best rate so far, unconfirmed ({reason_unconfirmed})."
        choice = CountChoice(peak, peak, complete, confirmed, reason, _candidates(book, [peak]))
    drift, groups = (
        _drift(book),
        None if _is_timer_coarse(book) else intervals.two_groups(_deviations_from_median(book)),
    )
    slow_runs = SlowRuns(groups.share, -math.expm1(-groups.distance)) if groups else None
    return replace(
        choice,
        remarks=_remarks(book, choice.peak, drift, slow_runs) if choice.peak else (),
        requests=tuple(book.outcomes),
        node_s=book.node_s,
        drift=drift,
        slow_runs=slow_runs,
        outliers=_outliers(book),
    )


def _choose_by_model(book: Book, complete: bool) -> CountChoice:
    """The choice: the fewest processes shown to be within the margin by the curves that the runs allow. Ratios are
    rounded, since processors add up products in different orders.
    """
    view = draw_view(book, "decision")
    answer = find_answer(book, view)
    chosen_count = answer.count
    within_margin = [count for count, share in view.within.items() if share >= book.settings.demanded]
    candidates = tuple(
        replace(candidate, ratio=round(_mean_ratio(logs), 6), ratio_low=round(_lower_bound(book, logs), 6))
        if (logs := view.ratio.get(candidate.geometry)) and candidate.geometry != view.peak
        else candidate
        for candidate in _candidates(book, within_margin)
    )
    margin, confidence = (f"{100 * share:g}%" for share in (book.settings.margin, book.settings.confidence))
    ratio, low = (
        f"{100 * share:.1f}%"
        for share in (_mean_ratio(view.ratio[chosen_count]), _lower_bound(book, view.ratio[chosen_count]))
    )
    runs = f"{len(book.confirmation_logs().get(chosen_count, ()))} confirmation runs"
    text = (
        f"smallest measured count shown to be within {margin} of the peak: {ratio} of its rate, at least {low} "
        f"({confidence} confidence, {runs})"
        if answer.is_shown
        else f"best trade of processes against rate among measured counts: {ratio} of the peak's rate, but only {low} "
        f"at {confidence} confidence ({runs})"
    )
    if answer.is_resolved:
        text += f"; no measured count below {words(answer.smallest_count)} is ({confidence} confidence)"
    elif answer.smallest_count != chosen_count:
        text += (
            f"; the minimum is not resolved: no measured count below {words(answer.smallest_count)} is ({confidence} "
            f"confidence), and {len(answer.possible_counts)} counts cannot be told apart"
        )
        text += (
            f" without about {answer.further} more runs"
            if answer.further < MOST_FURTHER
            else f", perhaps not even with {answer.further} more runs"
        )
    else:
        text += f"; about {answer.further} more runs are needed to show it"
    text += f"; nothing is claimed of counts other than the {len(candidates)} that were measured"
    if not complete:
        text += "; stopped by the budget: best answer so far"
    return CountChoice(
        chosen_count,
        view.peak,
        complete,
        confirmed=True,
        reason=f"{words(chosen_count)}: {text}.",
        candidates=candidates,
        is_shown=answer.is_shown,
        possible_counts=answer.possible_counts,
        resolved=answer.is_resolved,
        further=answer.further,
    )


def _mean_ratio(logs: Sequence[float]) -> float:
    """A ratio, from its logarithms in the drawn curves."""
    return math.exp(sum(logs) / len(logs))


def _lower_bound(book: Book, ordered: Sequence[float]) -> float:
    """The lower bound of a ratio at the requested confidence."""
    return math.exp(ordered[math.floor((1 - book.settings.confidence) * len(ordered))])


def _candidates(book: Book, within_margin: Container[Geometry]) -> tuple[Candidate, ...]:
    fresh, rates_of = book.confirmation_logs(), book.rate_summaries()
    measured = [request.geometry for request in book.outcomes]
    candidates = []
    for point in sorted(set(measured), key=size):
        typical = rates_of.get(point, intervals.NOTHING)
        runs = measured.count(point), len(fresh.get(point, ()))
        rates = typical.median, typical.low, typical.high
        candidates.append(Candidate(point, *runs, *rates, within=point in within_margin))
    return tuple(candidates)


def _remarks(book: Book, peak: Geometry, drift: Drift | None, slow: SlowRuns | None) -> tuple[str, ...]:
    remarks = []
    measured = {request.geometry for request in book.outcomes} - book.failed.keys()
    if not any(tested.processes > peak.processes for tested in measured):
        remarks.append(f"{words(peak)} is the largest count measured; a larger one may be faster")
    elif not any(tested.processes < peak.processes for tested in measured) and peak.processes > book.space.fewest_nodes:
        remarks.append(f"{words(peak)} is the smallest count measured; a smaller one may be faster")
    remarks += [f"{words(geometry)}: excluded, since a run failed" for geometry in book.failed]
    if drift and drift.is_significant:
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
    p_value = intervals.trend(_deviations_from_median(book))
    if p_value is None:
        return None
    deviations = _deviations_from_effect(book)
    third = len(deviations) // 3
    return Drift(p_value, math.expm1(median(deviations[-third:]) - median(deviations[:third])))


def _is_timer_coarse(book: Book) -> bool:
    """Whether most rates are equal to another one of their count: they are steps of a timer, not groups."""
    logs = [(count, value) for _, count, value in book.all_logs()]
    return 2 * len({*logs}) < len(logs)


def _deviations_from_median(book: Book) -> list[float]:
    """Log rates minus the median of their count, in the order of the runs."""
    logs = book.all_logs()
    by_count = grouped((count, value) for _, count, value in logs)
    usual = {count: median(values) for count, values in by_count.items() if len(values) >= RELIABLE}
    return [value - usual[count] for _, count, value in logs if count in usual]


def _outliers(book: Book) -> tuple[SearchRequest, ...]:
    """Runs far from the others of their count."""
    far = intervals.outliers(_deviations_from_effect(book))
    return tuple(
        SearchRequest(*block, geometry.nodes, geometry.processes)
        for index, (block, geometry, _) in enumerate(book.all_logs())
        if index in far
    )


def _deviations_from_effect(book: Book) -> list[float]:
    """Log rates minus the effect of their count, adjusted for blocks, in the order of the runs."""
    effect = curve.robust_runs(book.all_logs()).effect
    return [value - effect[geometry] for _, geometry, value in book.all_logs()]

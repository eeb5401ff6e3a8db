"""Finds the number of processes that a launch condition asks for: what to measure next, and the decision. Pure.

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
from statistics import median

from campaign.core.grouping import grouped
from campaign.core.model import Geometry
from campaign.plan.search import curve
from campaign.plan.search.book import Book, Missing, Spent
from campaign.plan.search.decide import decide
from campaign.plan.search.inference import NEAR, PROPOSED, highest, resolved, view
from campaign.plan.search.nouns import CONFIRM, Decision, Measured, PlannedBlock, SearchSpace, Settings
from campaign.plan.search.proposals import grid, nodes_between

RUNS_PER_COUNT, FEWEST_RUNS, MOST_RUNS = 1.75, 60, 320  # a search's number of runs
EXPLORED = 0.55  # share of the runs before the confirmation runs
BLOCK = 8  # counts in a block of the second phase
SETTLED = 0.06  # share of the curves: the second phase ends if counts without runs are the answer in fewer
ROUNDS = 50  # rounds of the second phase, at most
SHORTLIST = 6  # counts with which the confirmation begins


def step(space: SearchSpace, settings: Settings, measured: Measured) -> tuple[PlannedBlock, ...] | Decision:
    """What to measure next, in this order, or the decision. Requests nothing outside of `space`, and nothing twice.
    Raises ValueError if the space is empty.
    """
    book = Book(space, settings, measured)
    most = runs_allowed(space)
    complete = True
    try:
        _explore(book, round(EXPLORED * most))
        if book.explored():
            _confirm(book, most)
    except Spent:
        complete = False
    except Missing as missing:
        return missing.args
    return decide(book, complete)


def runs_allowed(space: SearchSpace) -> int:
    counts = (space.most_nodes - space.fewest_nodes + 1) * space.most_per_node
    return round(min(MOST_RUNS, max(FEWEST_RUNS, RUNS_PER_COUNT * counts)))


def _explore(book: Book, most: int) -> None:
    start = grid(book.space)
    book.measure("grid", (1,), start)
    if not book.explored():
        return
    effect = curve.runs(book.explored()).effect
    around = nodes_between(book.space, max(effect, key=lambda one: effect[one]))
    if len(around) > 1:
        book.measure("nodes", (1,), around)
        effect = curve.runs(book.explored()).effect
    near = [one for one in effect if effect[one] >= max(effect.values(), default=0.0) - NEAR]
    book.measure("grid", (2,), near)
    book.measure("grid", (3,), _disturbed(book))
    for round_ in range(1, ROUNDS + 1):
        if not book.explored() or len(book.taken) + BLOCK > most:
            return
        seen = view(book, f"refine{round_}", PROPOSED)
        measured = {geometry for _, geometry, _ in book.explored()}
        if round_ > 2 and sum(share for one, share in seen.votes.items() if one not in measured) < SETTLED:
            return
        chosen = seen.by_votes()[:BLOCK]
        if len(measured.intersection(chosen)) < 2:  # counts with runs connect a block to the others
            chosen = [*chosen[: BLOCK - 2], *[one for one in seen.by_votes() if one in measured][:2]]
        book.measure(f"refine{round_}", (1,), chosen)


def _disturbed(book: Book) -> list[Geometry]:
    """Counts whose better run is within the margin of the top: the other one may have been disturbed."""
    logs = book.explored()
    effect = curve.runs(logs).effect
    rest = grouped((block, value - effect[one]) for block, one, value in logs)
    without_block = grouped((one, value - median(rest[block])) for block, one, value in logs)
    lowest = max(effect.values(), default=0.0) + math.log1p(-book.settings.margin)
    return [one for one, values in without_block.items() if max(values) >= lowest and len(values) > 1]


def _confirm(book: Book, most: int) -> None:
    settings, done = book.settings, 0
    seen = view(book, CONFIRM)
    live = [one for one in seen.by_votes()[:SHORTLIST] if one in seen.votes]
    while done < settings.most:
        live += [one for one in dict.fromkeys((seen.safest, *highest(book.typical()))) if one not in live]
        live += [one for one in seen.by_votes() if one not in live][: max(0, 2 - len(live))]
        if not live:
            return
        affordable = max(1, (most - len(book.taken)) // len(live))
        upto = min(settings.most, done + max(1, min(settings.least // 2, affordable)))
        book.measure(CONFIRM, range(done + 1, upto + 1), live)
        done = upto
        if not book.logs(fresh=True):
            return
        seen = view(book, f"{CONFIRM}{done}")
        enough = max(map(len, book.fresh().values())) >= settings.least
        if enough and (len(book.taken) + len(live) > most or resolved(book, seen)):
            return
        live = [one for one in live if seen.votes.get(one, 0.0) > 1 - settings.confidence]

"""Procedure 2 of a search: runs are spent where they decide, by what a model of the curve leaves open. Pure.

1. A grid of counts that fill groups of cores, in half octaves; what is near the top is measured twice, and a third time
   where the better of the two runs is within the margin of it.
2. Blocks of the counts that may be the peak, or the fewest within the margin of it, by curves drawn from the model.
   Counts between those that were measured, and beside them, take part before they have been measured.
3. Confirmation runs of what is left, in blocks, until the answer is resolved or the runs are used up.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from campaign.core.model import Geometry
from campaign.plan.search import explore
from campaign.plan.search.book import Book, Logs, estimates
from campaign.plan.search.curve import beliefs
from campaign.plan.search.nouns import CONFIRM, SearchSpace, size
from campaign.statistics.ranks import median, normal

RUNS_PER_COUNT, FEWEST_RUNS, MOST_RUNS = 1.75, 60, 320  # that a search may take
EXPLORED = 0.55  # of the runs: before the confirmation runs
DRAWS = 128  # curves
NEAR = 0.8  # below the top, as a logarithm: what is lower has no part in the model
FURTHER = 6  # counts without runs that are considered below the fewest that may be within the margin
KNOWN, OPEN = 20, 12  # counts with runs, and without any, in the model
BESIDE = 8  # counts whose neighbours are considered
BLOCK = 8  # counts of a block of the second phase
SETTLED = 0.06  # of the curves: where counts without runs are the answer in fewer, the second phase ends
ROUNDS = 50  # of the second phase, at most
ALIKE = 1.05  # counts within this factor are one answer
MOST_FURTHER = 1000  # runs: what would need more cannot be settled in practice


@dataclass(frozen=True, slots=True)
class View:
    """What the drawn curves say of each count. `within`: the share of curves in which it is within the margin of the
    peak; `votes`: that in which it is the peak, or the fewest within the margin; `ratio`: its rate over the peak's in
    each curve, as a logarithm, in order.
    """

    within: dict[Geometry, float]
    votes: dict[Geometry, float]
    ratio: dict[Geometry, list[float]]
    peak: Geometry
    deviation: float  # of one run

    def by_votes(self) -> list[Geometry]:
        return sorted(self.within, key=lambda one: (-self.votes.get(one, 0.0), -self.within[one], size(one)))

    @property
    def safest(self) -> Geometry:
        return max(self.within, key=lambda one: (self.within[one], -one.processes))


def measure(book: Book) -> None:
    most = runs_allowed(book.space)
    _explore(book, round(EXPLORED * most))
    if book.explored():
        _confirm(book, most)


def runs_allowed(space: SearchSpace) -> int:
    counts = (space.most_nodes - space.fewest_nodes + 1) * space.most_per_node
    return round(min(MOST_RUNS, max(FEWEST_RUNS, RUNS_PER_COUNT * counts)))


def _explore(book: Book, most: int) -> None:
    start = grid(book.space)
    book.measure("grid", (1,), start)
    if not book.explored():
        return
    first = estimates(book.explored()).effect
    near = [one for one in start if first.get(one, -math.inf) >= max(first.values()) - NEAR]
    book.measure("grid", (2,), near)
    book.measure("grid", (3,), _disturbed(book))
    for round_ in range(1, ROUNDS + 1):
        if not book.explored() or len(book.taken) + BLOCK > most:
            return
        seen = view(book, f"refine{round_}")
        measured = {geometry for _, geometry, _ in book.explored()}
        if round_ > 2 and sum(share for one, share in seen.votes.items() if one not in measured) < SETTLED:
            return
        chosen = seen.by_votes()[:BLOCK]
        if len(measured.intersection(chosen)) < 2:  # what is known ties a block to the others
            chosen = [*chosen[: BLOCK - 2], *[one for one in seen.by_votes() if one in measured][:2]]
        book.measure(f"refine{round_}", (1,), chosen)


def _disturbed(book: Book) -> list[Geometry]:
    """Counts whose better run is within the margin of the top: the other one may have been disturbed."""
    logs = book.explored()
    fitted = estimates(logs)
    rest: dict[tuple[str, int], list[float]] = {}
    for block, one, value in logs:
        rest.setdefault(block, []).append(value - fitted.effect[one])
    best: dict[Geometry, float] = {}
    for block, one, value in logs:
        best[one] = max(best.get(one, -math.inf), value - median(sorted(rest[block])))
    lowest = max(fitted.effect.values()) + math.log1p(-book.settings.margin)
    return [one for one, value in best.items() if value >= lowest and fitted.runs[one] > 1]


def _confirm(book: Book, most: int) -> None:
    settings, done = book.settings, 0
    seen = view(book, CONFIRM)
    live = [one for one in seen.by_votes()[: explore.SHORTLIST - 1] if one in seen.votes]
    while done < settings.most:
        live += [seen.safest] if seen.safest not in live else []
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
        if done >= settings.least and (len(book.taken) + len(live) > most or answer(book, seen).resolved):
            return
        live = [one for one in live if seen.votes.get(one, 0.0) > 1 - settings.confidence]


def view(book: Book, phase: str) -> View:
    """By all runs so far; counts without runs take part too."""
    logs = (*book.explored(), *book.logs(fresh=True))
    given = logs, book.space, book.settings.margin, f"{book.settings.seed}/{phase}", frozenset(book.failed)
    seen = _view(*given, ())
    below = _below(book, seen)
    return _view(*given, below) if below else seen


def _below(book: Book, seen: View) -> tuple[Geometry, ...]:
    """Counts without runs between the fewest that may be within the margin and the next fewer that has runs."""
    fewest = min((one for one, share in seen.within.items() if share > 1 - book.settings.confidence), key=size)
    known = {one for _, one, _ in (*book.explored(), *book.logs(fresh=True))} | book.failed.keys()
    return tuple(one for one in _toward(book.space, fewest, -1, known) if one not in seen.within)[:FURTHER]


@functools.lru_cache(maxsize=1024)  # a search is replayed from its beginning whenever it has new runs
def _view(
    logs: Logs,
    space: SearchSpace,
    margin: float,
    seed: str,
    failed: frozenset[Geometry],
    more: tuple[Geometry, ...],
) -> View:
    effect = estimates(logs).effect
    ranked = sorted(effect, key=lambda one: (-effect[one], size(one)))
    known = [one for one in ranked[:KNOWN] if effect[one] >= effect[ranked[0]] - NEAR]
    counts = sorted([*known, *_beside(space, known[:BESIDE], effect.keys() | failed), *more], key=size)
    believed = beliefs(logs, counts, space.cores_per_node, seed, DRAWS)
    limit = math.log1p(-margin)
    within: Counter[int] = Counter()
    votes: Counter[int] = Counter()
    tops = [max(curve) for curve in believed.drawn]
    for curve, top in zip(believed.drawn, tops, strict=True):
        good = [place for place, value in enumerate(curve) if value >= top + limit]
        within.update(good)
        votes.update({curve.index(top), good[0]})
    number = len(believed.drawn)
    ratios = [
        sorted(value - top for value, top in zip(each, tops, strict=True)) for each in zip(*believed.drawn, strict=True)
    ]
    means = {one: sum(each) for one, each in zip(counts, ratios, strict=True)}
    return View(
        {one: within[place] / number for place, one in enumerate(counts)},
        {one: votes[place] / number for place, one in enumerate(counts) if votes[place]},
        dict(zip(counts, ratios, strict=True)),
        max(known, key=lambda one: means[one]),
        believed.deviation,
    )


# --- what is proposed


def grid(space: SearchSpace) -> list[Geometry]:
    """Half octaves of processes on one node (octaves on several), each moved to the count near it that fills the
    largest groups of cores.
    """
    finest, most = (2 if space.most_nodes == 1 else 1), space.most_per_node
    rungs = [2 ** (step / finest) for step in range(finest * most.bit_length() + 1)]
    per_node = sorted({1, most, *(_even(rung, space) for rung in rungs if rung < most)})
    geometries = [
        geometry
        for nodes in explore.ladder(space.fewest_nodes, space.most_nodes)
        for per in per_node
        if (geometry := Geometry(nodes, nodes * per)) in space
    ]
    return geometries or explore.grid(space)


def _even(rung: float, space: SearchSpace) -> int:
    near = [count for count in range(1, space.most_per_node + 1) if rung / 1.16 <= count <= rung * 1.16]
    cores = space.cores_per_node
    return max(near or [round(rung)], key=lambda count: (math.gcd(count, cores), -abs(math.log(count / rung))))


def _beside(space: SearchSpace, counts: Sequence[Geometry], known: Set[Geometry]) -> list[Geometry]:
    """Counts without runs near those with: of each in turn between it and its neighbours, even ones, the next ones."""
    rows = [list(_beside_one(space, one, known)) for one in counts]
    deepest = max(map(len, rows), default=0)
    return list(dict.fromkeys(row[at] for at in range(deepest) for row in rows if at < len(row)))[:OPEN]


def _beside_one(space: SearchSpace, one: Geometry, known: Set[Geometry]) -> Iterator[Geometry]:
    yield from explore.midpoints(space, one, known)
    cores, ways = space.cores_per_node, [_toward(space, one, step, known) for step in (1, -1)]
    largest = max(2, math.gcd(one.processes_per_node, cores) // 2)
    for way in ways:
        yield from [there for there in way if math.gcd(there.processes_per_node, cores) >= largest][:1]
    for way in ways:
        yield from way[:1]


def _toward(space: SearchSpace, one: Geometry, step: int, known: Set[Geometry]) -> list[Geometry]:
    """More, or fewer, processes on as many nodes, up to the next count that has runs."""
    added: list[Geometry] = []
    value = one.processes_per_node + step
    while 1 <= value <= space.most_per_node and (there := Geometry(one.nodes, one.nodes * value)) not in known:
        added += [there] if there in space else []
        value += step
    return added


# --- the answer


@dataclass(frozen=True, slots=True)
class Answer:
    """`chosen`: the fewest shown to be within the margin of the peak, or where none is, the one most likely to be;
    `alike`: it, and the smaller counts that may be within the margin too; `further`: runs that would settle it.
    """

    chosen: Geometry
    shown: bool
    alike: tuple[Geometry, ...]
    further: int

    @property
    def fewest(self) -> Geometry:
        return self.alike[0]

    @property
    def resolved(self) -> bool:
        return self.shown and self.chosen.processes <= ALIKE * self.fewest.processes


def answer(book: Book, seen: View) -> Answer:
    """The answer, among the counts that have confirmation runs."""
    sure = book.settings.confidence
    fresh = book.fresh()
    able = [one for one in seen.within if len(fresh.get(one, ())) >= book.settings.least] or [seen.peak]
    shown = [one for one in able if seen.within[one] >= sure]
    chosen = shown[0] if shown else max(able, key=lambda one: (seen.within[one], -one.processes))
    smaller = [one for one, share in seen.within.items() if share > 1 - sure and size(one) < size(chosen)]
    alike = (*smaller, chosen)
    asked = smaller if shown else alike
    limit = math.log1p(-book.settings.margin)
    return Answer(chosen, bool(shown), alike, sum(_further(seen, one, limit, sure) for one in asked))


def _further(seen: View, one: Geometry, limit: float, sure: float) -> int:
    """Runs of a count that would tell it from the margin, if it is where it seems to be."""
    ratios = seen.ratio[one]
    mean = sum(ratios) / len(ratios)
    variance = sum((value - mean) ** 2 for value in ratios) / len(ratios)
    away = abs(mean - limit)
    wanted = (away / normal().inv_cdf(sure)) ** 2 if away else 0.0
    if variance <= wanted:
        return 1
    return math.ceil(min(MOST_FURTHER, 2 * seen.deviation**2 * (1 / max(wanted, 1e-9) - 1 / variance)))

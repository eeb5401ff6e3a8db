"""What the runs of a search say, by curves drawn from the model: which counts may be the peak or the fewest within the
margin of it, and the answer. Pure.

What is reported, and what it promises with `confidence` C, each by itself:
- a count "shown to be within the margin": its true rate is (in more than C of the curves, `Settings.demanded`);
- "not fewer than" the first of the counts that cannot be told apart: no smaller count is within the margin. It is asked
  of all smaller counts together, so the true minimum lies between this count and the reported one with 2·C - 1.
How often that is so on simulated machines is printed by `python -m tests.bench search_families`.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain

import numpy

from campaign.core.model import Geometry
from campaign.plan.search import curve, nouns
from campaign.statistics.intervals import Summary
from campaign.statistics.ranks import NORMAL

PROPOSED, DRAWS = 256, 512  # curves drawn to propose runs, and to answer
NEAR = 0.8  # log rate below the top: lower counts are left out of the model
FURTHER = 6  # counts without runs that are considered below the fewest that may be within the margin
KNOWN, OPEN = 20, 12  # counts with runs, and without, in the model that proposes runs
BESIDE = 8  # counts whose neighbours are considered
ALIKE = 1.05  # counts within this factor are one answer
MOST_BELOW = 400  # counts below the chosen one in the model of the answer
MOST_FURTHER = 1000  # runs: more cannot be afforded in practice


@dataclass(frozen=True, slots=True)
class View:
    """What the drawn curves say about each count. `within`: share of curves in which it is within the margin of the
    peak; `votes`: share in which it is the peak, or the fewest within the margin; `ratio`: its log rate minus the
    peak's in each curve, sorted.
    """

    within: dict[Geometry, float]
    votes: dict[Geometry, float]
    ratio: dict[Geometry, list[float]]
    peak: Geometry
    deviation: float  # of one run

    def by_votes(self) -> list[Geometry]:
        return sorted(self.within, key=lambda one: (-self.votes.get(one, 0.0), -self.within[one], nouns.size(one)))

    @property
    def safest(self) -> Geometry:
        return max(self.within, key=lambda one: (self.within[one], -one.processes))


def view(book: nouns.Book, phase: str, draws: int = DRAWS) -> View:
    """From all runs so far; counts without runs take part too."""
    logs = tuple(book.all_logs())
    given = logs, book.space, book.settings.margin, f"{book.settings.seed}/{phase}", frozenset(book.failed), draws
    seen = _view(*given, ())
    below = _below(book, seen)
    return _view(*given, below) if below else seen


def _below(book: nouns.Book, seen: View) -> tuple[Geometry, ...]:
    """Counts without runs between the fewest that may be within the margin and the next smaller one with runs."""
    fewest = min((one for one, share in seen.within.items() if share > 1 - book.settings.confidence), key=nouns.size)
    known = {one for _, one, _ in book.all_logs()} | book.failed.keys()
    return tuple(one for one in _toward(book.space, fewest, -1, known) if one not in seen.within)[:FURTHER]


@functools.lru_cache(maxsize=1024)  # a search is replayed from its beginning whenever it has new runs
def _view(
    logs: nouns.Logs,
    space: nouns.SearchSpace,
    margin: float,
    seed: str,
    failed: frozenset[Geometry],
    draws: int,
    more: tuple[Geometry, ...],
) -> View:
    given = curve.runs(logs)
    effect = given.effect
    ranked = sorted(effect, key=lambda one: (-effect[one], nouns.size(one)))
    known = [one for one in ranked[:KNOWN] if effect[one] >= effect[ranked[0]] - NEAR]
    counts = sorted([*known, *_beside(space, known[:BESIDE], effect.keys() | failed), *more], key=nouns.size)
    drawn = curve.drawn(given, counts, space.cores_per_node, seed, draws)
    ratios = drawn - drawn.max(1, keepdims=True)
    good = ratios >= math.log1p(-margin)
    votes = Counter(chain.from_iterable({*both} for both in zip(good.argmax(1), ratios.argmax(1), strict=True)))
    within, means = good.mean(0), ratios.mean(0)
    return View(
        {one: float(within[place]) for place, one in enumerate(counts)},
        {one: votes[place] / len(ratios) for place, one in enumerate(counts) if votes[place]},
        dict(zip(counts, numpy.sort(ratios.T).tolist(), strict=True)),
        max(known, key=lambda one: means[counts.index(one)]),
        given.deviation,
    )


def _beside(space: nouns.SearchSpace, counts: Sequence[Geometry], known: Set[Geometry]) -> list[Geometry]:
    """Counts without runs near those with runs: for each in turn, counts between it and its neighbours, and the next
    ones.
    """
    rows = [list(_beside_one(space, one, known)) for one in counts]
    deepest = max(map(len, rows), default=0)
    return list(dict.fromkeys(row[at] for at in range(deepest) for row in rows if at < len(row)))[:OPEN]


def _beside_one(space: nouns.SearchSpace, one: Geometry, known: Set[Geometry]) -> Iterator[Geometry]:
    yield from nouns.midpoints(space, one, known)
    cores, ways = space.cores_per_node, [_toward(space, one, step, known) for step in (1, -1)]
    largest = max(2, math.gcd(one.processes_per_node, cores) // 2)
    for way in ways:
        yield from [there for there in way if math.gcd(there.processes_per_node, cores) >= largest][:1]
    for way in ways:
        yield from way[:1]


def _toward(space: nouns.SearchSpace, one: Geometry, step: int, known: Set[Geometry]) -> list[Geometry]:
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
    """`chosen`: the fewest shown to be within the margin of the peak, or if none is, the likeliest; `alike`: it, and
    the smaller counts that may also be within the margin; `further`: runs that would resolve it.
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


def resolved(book: nouns.Book, seen: View) -> bool:
    return _chosen(book, seen)[1] and answer(book, seen).resolved


def answer(book: nouns.Book, seen: View) -> Answer:
    """The answer, among the counts that have confirmation runs."""
    chosen, shown = _chosen(book, seen)
    logs = tuple(book.all_logs())
    counts = tuple(sorted({*_all_below(book, chosen), *seen.within}, key=nouns.size))
    smaller = _smaller(logs, book.space, book.settings, counts, chosen, seen.peak)
    unsettled = smaller if shown else (*smaller, chosen)
    further = sum(_further(seen, one, book.settings) for one in unsettled)
    return Answer(chosen, shown, (*smaller, chosen), further)


def _chosen(book: nouns.Book, seen: View) -> tuple[Geometry, bool]:
    """The chosen count, and whether it is shown to be within the margin."""
    fresh, rates = book.fresh(), book.typical()
    refuted = _refuted(rates, book.settings.margin)
    able = [one for one in seen.within if len(fresh.get(one, ())) >= book.settings.least and one not in refuted]
    shown = [one for one in able if seen.within[one] >= book.settings.demanded]
    if not able:
        left = [*highest(rates), *(one for one in seen.by_votes() if one in rates and one not in refuted)]
        return next((one for one in left if one in seen.within), seen.peak), False
    return (shown or [max(able, key=lambda one: (seen.within[one], -one.processes))])[0], bool(shown)


def highest(rates: Mapping[Geometry, Summary]) -> list[Geometry]:
    """The count with the highest rate of those that have an interval; none, if none has."""
    known = {one: typical.median or 0.0 for one, typical in rates.items() if typical.low is not None}
    return [max(known, key=lambda one: (known[one], -one.processes, -one.nodes))] if known else []


def _refuted(rates: Mapping[Geometry, Summary], margin: float) -> set[Geometry]:
    """Counts whose interval lies below the margin of the highest rate: no model overrules what was measured."""
    least = max([(1 - margin) * (rates[one].median or 0.0) for one in highest(rates)], default=0.0)
    return {one for one, typical in rates.items() if typical.high is not None and typical.high < least}


def _all_below(book: nouns.Book, chosen: Geometry) -> Iterator[Geometry]:
    """All smaller counts, with runs or without; if there are very many, as many as the model can take."""
    below = [
        geometry
        for nodes in range(book.space.fewest_nodes, min(book.space.most_nodes, chosen.processes) + 1)
        for per_node in range(1, min(book.space.most_per_node, chosen.processes // nodes) + 1)
        if (geometry := Geometry(nodes, nodes * per_node)) in book.space and geometry not in book.failed
    ]
    below.sort(key=nouns.size)
    yield from below[:: -(-len(below) // MOST_BELOW)]


@functools.lru_cache(maxsize=256)
def _smaller(
    logs: nouns.Logs,
    space: nouns.SearchSpace,
    asked: nouns.Settings,
    counts: Sequence[Geometry],
    chosen: Geometry,
    peak: Geometry,
) -> tuple[Geometry, ...]:
    """The counts below the chosen one that may also be within the margin; with `confidence`, none below the first of
    these is.

    This is tested for all smaller counts together, with runs or without: among hundreds of counts on several nodes,
    some curve soon has one within the margin, though each count rarely is. And it is tested against one count, the
    likeliest peak: if many counts are alike, the highest of a drawn curve is any count that was drawn high, and the
    counts at the knee seem too low. The next smaller counts are excluded by their own runs alone, since at an edge
    the model is often one count off.
    """
    given = curve.runs(logs)
    drawn = curve.drawn(given, counts, space.cores_per_node, f"{asked.seed}/{len(logs)}", DRAWS)
    good = drawn >= drawn[:, [counts.index(peak)]] + math.log1p(-asked.margin)
    first = numpy.sort(good.argmax(1))[math.floor((1 - asked.demanded) * DRAWS)]
    while first and not _below_by_own_runs(given, counts[first - 1], peak, asked):
        first -= 1
    return tuple(
        one
        for place, (one, share) in enumerate(zip(counts, good.mean(0), strict=True))
        if place == first or (place > first and share > 1 - asked.confidence)
        if nouns.size(one) < nouns.size(chosen)
    )


def _below_by_own_runs(given: curve.Runs, one: Geometry, peak: Geometry, asked: nouns.Settings) -> bool:
    if one not in given.effect:
        return False
    own = int((given.at == given.geometries.index(one)).sum())
    highest = given.effect[one] + NORMAL.inv_cdf(asked.confidence) * given.deviation / math.sqrt(own)
    return highest < given.effect[peak] + math.log1p(-asked.margin)


def _further(seen: View, one: Geometry, asked: nouns.Settings) -> int:
    """How many runs of a count would separate it from the margin, if it is where it seems to be; at least one."""
    ratios = seen.ratio.get(one)
    if ratios is None:
        return 1
    mean = sum(ratios) / len(ratios)
    variance = sum((value - mean) ** 2 for value in ratios) / len(ratios)
    wanted = ((mean - math.log1p(-asked.margin)) / NORMAL.inv_cdf(asked.confidence)) ** 2
    if variance <= wanted:
        return 1
    return math.ceil(min(MOST_FURTHER, 2 * seen.deviation**2 * (1 / max(wanted, 1e-9) - 1 / variance)))

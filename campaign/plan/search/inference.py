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
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from statistics import median

import numpy

from campaign.core.runs import Geometry
from campaign.plan.search import curve, records
from campaign.plan.search.space import SearchSpace, midpoints, size
from campaign.statistics.intervals import Summary
from campaign.statistics.ranks import NORMAL

PROPOSED, DRAWS = 256, 512  # curves drawn to propose runs, and to answer
NEAR = 0.8  # log rate below the top: lower counts are left out of the model
FURTHER = 6  # counts without runs that are considered below the fewest that may be within the margin
KNOWN, OPEN = 20, 12  # counts with runs, and without, in the model that proposes runs
WITH_NEIGHBOURS = 8  # counts whose neighbours are considered
# Of the counts that are within the margin of the likeliest peak in at least this share of the curves, the one with the
# smallest loss is chosen: the logarithm of its processes, and this times the share of the curves in which it is not.
LIKELY, MISSED = 0.6, 1.5
ALIKE = 1.05  # counts within this factor are one answer
MOST_BELOW = 400  # counts below the chosen one in the model of the answer
MOST_FURTHER = 1000  # runs: more cannot be afforded in practice


@dataclass(frozen=True, slots=True)
class View:
    """What the drawn curves say about each count. `within`: share of curves in which it is within the margin of the
    peak; `reach`: of the likeliest peak: if many counts are alike, the highest of a curve is any that was drawn high;
    `votes`: share in which it is the peak, or the fewest within the margin; `ratio`: its log rate minus the
    peak's in each curve, sorted.
    """

    within: dict[Geometry, float]
    reach: dict[Geometry, float]
    votes: dict[Geometry, float]
    ratio: dict[Geometry, list[float]]
    peak: Geometry
    deviation: float  # of one run
    gain: tuple[float, float]

    def counts_by_votes(self) -> list[Geometry]:
        return sorted(self.within, key=lambda count: (-self.votes.get(count, 0.0), -self.within[count], size(count)))

    @property
    def safest_count(self) -> Geometry:
        return max(self.within, key=lambda count: (self.within[count], -count.processes))

    def cheapest_count(self, counts: Iterable[Geometry]) -> Geometry | None:
        """The likely one with the smallest loss."""
        likely = (count for count in counts if self.reach.get(count, 0.0) >= LIKELY)
        losses = {count: (math.log(count.processes) - MISSED * self.reach[count], size(count)) for count in likely}
        return min(losses, key=lambda count: losses[count], default=None)


def draw_view(book: records.Book, phase: str, draws: int = DRAWS) -> View:
    """From all runs so far; counts without runs take part too."""
    logs = tuple(book.all_logs())
    arguments = logs, book.space, book.settings.margin, f"{book.settings.seed}/{phase}", frozenset(book.failed), draws
    view = _draw_view(*arguments, ())
    smaller = _counts_below(book, view)
    return _draw_view(*arguments, smaller) if smaller else view


def _counts_below(book: records.Book, view: View) -> tuple[Geometry, ...]:
    """Counts without runs between the fewest that may be within the margin and the next smaller one with runs."""
    fewest = min((count for count, share in view.within.items() if share > 1 - book.settings.confidence), key=size)
    tested = {count for _, count, _ in book.all_logs()} | book.failed.keys()
    untested = _untested_neighbours(book.space, fewest, -1, tested)
    return tuple(count for count in untested if count not in view.within)[:FURTHER]


@functools.lru_cache(maxsize=1024)  # a search is replayed from its beginning whenever it has new runs
def _draw_view(
    logs: records.Logs,
    space: SearchSpace,
    margin: float,
    seed: str,
    failed: frozenset[Geometry],
    draws: int,
    further_counts: tuple[Geometry, ...],
) -> View:
    runs = curve.robust_runs(logs)
    effect = runs.effect
    ranked = sorted(effect, key=lambda count: (-effect[count], size(count)))
    near_top = [count for count in ranked[:KNOWN] if effect[count] >= effect[ranked[0]] - NEAR]
    counts = sorted(
        [*near_top, *_neighbours(space, near_top[:WITH_NEIGHBOURS], effect.keys() | failed), *further_counts],
        key=size,
    )
    drawn = curve.draw_curves(runs, counts, space.cores_per_node, seed, draws)
    ratios = drawn - drawn.max(1, keepdims=True)
    is_within = ratios >= math.log1p(-margin)
    votes = Counter(
        chain.from_iterable({*best_two} for best_two in zip(is_within.argmax(1), ratios.argmax(1), strict=True))
    )
    tested = numpy.array([count in effect for count in counts])
    sizes = numpy.log([count.processes for count in counts])
    fewest_sizes = [numpy.where(is_within & mask, sizes, numpy.inf).min(1) for mask in (True, tested)]
    more = fewest_sizes[1] - fewest_sizes[0]
    gain = float(numpy.minimum(more, 1.0).mean()), float(-ratios[:, tested].max(1).mean())
    shares, mean_ratios = is_within.mean(0), ratios.mean(0)
    peak = max(near_top, key=lambda count: mean_ratios[counts.index(count)])
    reaches = (drawn >= drawn[:, [counts.index(peak)]] + math.log1p(-margin)).mean(0)
    return View(
        dict(zip(counts, shares.tolist(), strict=True)),
        dict(zip(counts, reaches.tolist(), strict=True)),
        {count: votes[place] / len(ratios) for place, count in enumerate(counts) if votes[place]},
        dict(zip(counts, numpy.sort(ratios.T).tolist(), strict=True)),
        peak,
        runs.deviation,
        gain,
    )


def _neighbours(space: SearchSpace, counts: Sequence[Geometry], tested: Set[Geometry]) -> list[Geometry]:
    """Counts without runs near those with runs: for each in turn, counts between it and its neighbours, and the next
    ones.
    """
    rows = [list(_neighbours_of_count(space, count, tested)) for count in counts]
    deepest = max(map(len, rows), default=0)
    return list(dict.fromkeys(row[at] for at in range(deepest) for row in rows if at < len(row)))[:OPEN]


def _neighbours_of_count(space: SearchSpace, count: Geometry, tested: Set[Geometry]) -> Iterator[Geometry]:
    yield from midpoints(space, count, tested)
    cores, directions = space.cores_per_node, [_untested_neighbours(space, count, step, tested) for step in (1, -1)]
    largest = max(2, math.gcd(count.processes_per_node, cores) // 2)
    for direction in directions:
        yield from [neighbour for neighbour in direction if math.gcd(neighbour.processes_per_node, cores) >= largest][
            :1
        ]
    for direction in directions:
        yield from direction[:1]


def _untested_neighbours(space: SearchSpace, count: Geometry, step: int, tested: Set[Geometry]) -> list[Geometry]:
    """More, or fewer, processes on as many nodes, up to the next count that has runs."""
    untested: list[Geometry] = []
    value = count.processes_per_node + step
    while 1 <= value <= space.most_per_node and (neighbour := Geometry(count.nodes, count.nodes * value)) not in tested:
        untested += [neighbour] if neighbour in space else []
        value += step
    return untested


# --- the answer


@dataclass(frozen=True, slots=True)
class Answer:
    """`count`: the fewest shown to be within the margin of the peak, or if none is, the likeliest.
    `possible_counts`: it, and the smaller counts that may also be within the margin. `further`: runs that would resolve
    it.
    """

    count: Geometry
    is_shown: bool
    possible_counts: tuple[Geometry, ...]
    further: int

    @property
    def smallest_count(self) -> Geometry:
        return self.possible_counts[0]

    @property
    def is_resolved(self) -> bool:
        return self.is_shown and self.count.processes <= ALIKE * self.smallest_count.processes


def likely_count(book: records.Book, view: View) -> Geometry | None:
    """The count that would be chosen, if it reaches the margin with the probability that is asked for."""
    count, _ = _choose(book, view)
    return count if view.reach.get(count, 0.0) >= LIKELY else None


def find_answer(book: records.Book, view: View) -> Answer:
    """The answer, among the counts that have confirmation runs."""
    chosen_count, is_within = _choose(book, view)
    logs = tuple(book.all_logs())
    counts = tuple(sorted({*_smaller_counts(book, chosen_count), *view.within}, key=size))
    smaller = _smaller_candidates(logs, book.space, book.settings, counts, chosen_count, view.peak)
    unsettled = smaller if is_within else (*smaller, chosen_count)
    further = sum(_runs_to_resolve(view, count, book.settings) for count in unsettled)
    return Answer(chosen_count, is_within, (*smaller, chosen_count), further)


def _choose(book: records.Book, view: View) -> tuple[Geometry, bool]:
    """The chosen count, and whether it is shown to be within the margin."""
    fresh = book.confirmation_logs()
    confirmed = [count for count, logs in fresh.items() if len(logs) >= book.settings.least]
    if not confirmed:
        return next((count for count in view.counts_by_votes() if count in fresh), view.peak), False
    contenders = [count for count in confirmed if not _is_refuted(book, fresh, count)] or confirmed
    safest = max(contenders, key=lambda count: (view.within.get(count, 0.0), -count.processes))
    chosen_count = view.cheapest_count(contenders) or safest
    return chosen_count, view.within.get(chosen_count, 0.0) >= book.settings.demanded


def fastest(rates: Mapping[Geometry, Summary]) -> list[Geometry]:
    """The count with the highest rate of those that have an interval; none, if none has."""
    medians = {count: typical.median or 0.0 for count, typical in rates.items() if typical.low is not None}
    return [max(medians, key=lambda count: (medians[count], -count.processes, -count.nodes))] if medians else []


def _is_refuted(book: records.Book, fresh: Mapping[Geometry, Mapping[int, float]], count: Geometry) -> bool:
    """Whether another count is faster by more than the margin in the median of the blocks of both: no model overrules
    what was measured.
    """
    limit, logs = math.log1p(-book.settings.margin), fresh[count]
    return any(
        len(blocks := logs.keys() & other_logs.keys()) >= book.settings.least
        and median(logs[block] - other_logs[block] for block in blocks) < limit
        for other_logs in fresh.values()
    )


def _smaller_counts(book: records.Book, count: Geometry) -> Iterator[Geometry]:
    """All smaller counts, with runs or without; if there are very many, as many as the model can take."""
    smaller = [
        geometry
        for nodes in range(book.space.fewest_nodes, min(book.space.most_nodes, count.processes) + 1)
        for per_node in range(1, min(book.space.most_per_node, count.processes // nodes) + 1)
        if (geometry := Geometry(nodes, nodes * per_node)) in book.space and geometry not in book.failed
    ]
    smaller.sort(key=size)
    yield from smaller[:: -(-len(smaller) // MOST_BELOW)]


@functools.lru_cache(maxsize=256)
def _smaller_candidates(
    logs: records.Logs,
    space: SearchSpace,
    settings: records.Settings,
    counts: Sequence[Geometry],
    chosen_count: Geometry,
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
    runs = curve.robust_runs(logs)
    drawn = curve.draw_curves(runs, counts, space.cores_per_node, f"{settings.seed}/{len(logs)}", DRAWS)
    is_within = drawn >= drawn[:, [counts.index(peak)]] + math.log1p(-settings.margin)
    first = numpy.sort(is_within.argmax(1))[math.floor((1 - settings.demanded) * DRAWS)]
    while first and not _is_below_by_its_runs(runs, counts[first - 1], peak, settings):
        first -= 1
    return tuple(
        count
        for place, (count, share) in enumerate(zip(counts, is_within.mean(0), strict=True))
        if place == first or (place > first and share > 1 - settings.confidence)
        if size(count) < size(chosen_count)
    )


def _is_below_by_its_runs(runs: curve.Runs, count: Geometry, peak: Geometry, settings: records.Settings) -> bool:
    if count not in runs.effect:
        return False
    weight = float(runs.weights[runs.at == runs.geometries.index(count)].sum())
    highest = runs.effect[count] + NORMAL.inv_cdf(settings.confidence) * runs.deviation / math.sqrt(weight)
    return highest < runs.effect[peak] + math.log1p(-settings.margin)


def _runs_to_resolve(view: View, count: Geometry, settings: records.Settings) -> int:
    """How many runs of a count would separate it from the margin, if it is where it seems to be; at least one."""
    ratios = view.ratio.get(count)
    if ratios is None:
        return 1
    mean = sum(ratios) / len(ratios)
    variance = sum((value - mean) ** 2 for value in ratios) / len(ratios)
    variance_needed = ((mean - math.log1p(-settings.margin)) / NORMAL.inv_cdf(settings.confidence)) ** 2
    if variance <= variance_needed:
        return 1
    return math.ceil(min(MOST_FURTHER, 2 * view.deviation**2 * (1 / max(variance_needed, 1e-9) - 1 / variance)))

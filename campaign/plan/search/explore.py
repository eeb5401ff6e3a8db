"""The search's first half: a grid, midpoints around the top, and the shortlist of what may be the answer. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable
from itertools import takewhile

from campaign.core.model import Geometry
from campaign.plan import messages
from campaign.plan.search.book import Book, Estimates, estimates
from campaign.plan.search.nouns import SearchSpace, size

GRID_RUNS = 3  # of each point before the shortlist is made
REFINEMENTS = 3
FINEST = 1.10  # neighbours closer than this factor have no midpoint
HOPELESS = 0.5  # of the top after one run: not measured again
CLEAR = 0.5  # of the margin: a difference known so well needs no further run before the shortlist
PLAUSIBLE = 2.0  # standard errors below the margin at which a point may still be within it
CLIMBED = 3  # tops around which midpoints are considered
CONTENDERS = 6  # tops that are measured again with the midpoints
SHORTLIST = 7


def explore(book: Book) -> None:
    _look(book, "grid", grid(book.space))
    for round_ in range(1, REFINEMENTS + 1):
        if not book.explored():
            return
        fitted = estimates(book.explored())
        best = tops(fitted)
        known = set(fitted.effect) | book.failed.keys()
        around = dict.fromkeys([*best[:CLIMBED], plausible(book, fitted)[0]])
        new = {geometry for top in around for geometry in midpoints(book.space, top, known)}
        if not new and len(best) == 1:
            return
        # What may be the top is measured along: it ties the new blocks to the old ones, and it is what has to be known.
        _look(book, f"refine{round_}", [*new, *best[:CONTENDERS]])


def tops(fitted: Estimates) -> list[Geometry]:
    """What may be the top, the highest first."""
    return sorted(_near(fitted, 0.0), key=lambda geometry: (-fitted.effect[geometry], size(geometry)))


def plausible(book: Book, fitted: Estimates) -> list[Geometry]:
    """What may be within the margin of the top, the fewest processes first."""
    return sorted(_near(fitted, -math.log1p(-book.settings.margin)), key=size)


def _near(fitted: Estimates, allowed: float) -> list[Geometry]:
    """What may be less than `allowed` below the top, for all that is known."""
    top = fitted.top()
    lowest = fitted.effect[top] - allowed
    return [tried for tried, value in fitted.effect.items() if value >= lowest - PLAUSIBLE * fitted.error(tried, top)]


def _look(book: Book, phase: str, geometries: Iterable[Geometry]) -> None:
    """One run of each geometry, then further runs of those near the top."""
    chosen = list(geometries)
    book.measure(phase, (1,), chosen)
    if not book.explored():
        return
    for run in range(2, GRID_RUNS + 1):
        fitted = estimates(book.explored())
        lowest = fitted.effect[fitted.top()] + math.log(HOPELESS)
        near = [geometry for geometry in chosen if fitted.effect.get(geometry, -math.inf) >= lowest]
        if fitted.deviation is not None and fitted.deviation * math.sqrt(2 / (run - 1)) < book.settings.margin * CLEAR:
            return
        book.measure(phase, (run,), near)


def grid(space: SearchSpace) -> list[Geometry]:
    geometries = [
        geometry
        for nodes in ladder(space.fewest_nodes, space.most_nodes)
        for per_node in ladder(1, space.most_per_node)
        if (geometry := Geometry(nodes, nodes * per_node)) in space
    ]
    if not geometries:
        raise ValueError(messages.SEARCH_EMPTY())
    return geometries


def ladder(first: int, last: int) -> list[int]:
    """first, twice that, four times, …, last."""
    counts = []
    while first < last:
        counts.append(first)
        first *= 2
    return [*counts, last]


def midpoints(space: SearchSpace, around: Geometry, known: Container[Geometry]) -> list[Geometry]:
    """Halfway, by factor, to the nearest known neighbours along nodes and along processes per node."""
    between = []
    for axis in ("nodes", "per_node"):
        here = around.nodes if axis == "nodes" else around.processes_per_node
        limits = (space.fewest_nodes, space.most_nodes) if axis == "nodes" else (1, space.most_per_node)

        def at(value: int, axis: str = axis) -> Geometry:
            nodes = value if axis == "nodes" else around.nodes
            return Geometry(nodes, nodes * (around.processes_per_node if axis == "nodes" else value))

        for values in (range(here - 1, limits[0] - 1, -1), range(here + 1, limits[1] + 1)):
            neighbour = next((value for value in values if at(value) in known), None)
            if neighbour is None or max(here, neighbour) / min(here, neighbour) < FINEST:
                continue
            middle = _nearest(round(math.sqrt(here * neighbour)), values, neighbour, lambda value: at(value) in space)
            if middle is not None:
                between.append(at(middle))
    return between


def _nearest(wanted: int, values: Iterable[int], end: int, fits: Callable[[int], bool]) -> int | None:
    """The value strictly between here and `end` that is nearest to the wanted one and fits."""
    between = [value for value in takewhile(lambda value: value != end, values) if fits(value)]
    return min(between, key=lambda value: (abs(value - wanted), value), default=None)


def shortlist(book: Book) -> list[Geometry]:
    """What may be the top, and what may be within the margin with fewer processes, spread out where that is much."""
    logs = book.explored()
    if not logs:
        return []
    fitted = estimates(logs)
    kept = dict.fromkeys(tops(fitted)[: SHORTLIST // 2 + 1])
    fewer = [geometry for geometry in plausible(book, fitted) if geometry not in kept]
    while fewer and len(kept) < SHORTLIST:
        # Next is what lies farthest from all that is kept.
        farthest = max(fewer, key=lambda g: (min(abs(math.log(g.processes / k.processes)) for k in kept), -g.nodes))
        fewer.remove(farthest)
        kept[farthest] = None
    return sorted(kept, key=size)

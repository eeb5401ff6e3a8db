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
CLIMBED = 3  # tops around which midpoints are looked at
CONTENDERS = 6  # tops that are measured again with the midpoints
SHORTLIST = 7


def explore(book: Book) -> None:
    _look(book, "grid", grid(book.space))
    for round_ in range(1, REFINEMENTS + 1):
        if not book.explored():
            return
        found = estimates(book.explored())
        best = tops(found)
        known = set(found.effect) | book.failed.keys()
        around = dict.fromkeys([*best[:CLIMBED], plausible(book, found)[0]])
        new = {one for top in around for one in _midpoints(book.space, top, known)}
        if not new and len(best) == 1:
            return
        # What may be the top is measured along: it ties the new blocks to the old ones, and it is what has to be known.
        _look(book, f"refine{round_}", [*new, *best[:CONTENDERS]])


def tops(found: Estimates) -> list[Geometry]:
    """What may be the top, the highest first."""
    return sorted(_near(found, 0.0), key=lambda geometry: (-found.effect[geometry], size(geometry)))


def plausible(book: Book, found: Estimates) -> list[Geometry]:
    """What may be within the margin of the top, the fewest processes first."""
    return sorted(_near(found, -math.log1p(-book.settings.margin)), key=size)


def _near(found: Estimates, allowed: float) -> list[Geometry]:
    """What may be less than `allowed` below the top, for all that is known."""
    top = found.top()
    lowest = found.effect[top] - allowed
    return [tried for tried, value in found.effect.items() if value >= lowest - PLAUSIBLE * found.error(tried, top)]


def _look(book: Book, phase: str, geometries: Iterable[Geometry]) -> None:
    """One run of each, then the further ones of what is not far below the top."""
    chosen = list(geometries)
    book.measure(phase, (1,), chosen)
    if not book.explored():
        return
    for run in range(2, GRID_RUNS + 1):
        found = estimates(book.explored())
        lowest = found.effect[found.top()] + math.log(HOPELESS)
        near = [geometry for geometry in chosen if found.effect.get(geometry, -math.inf) >= lowest]
        if found.deviation is not None and found.deviation * math.sqrt(2 / (run - 1)) < book.settings.margin * CLEAR:
            return
        book.measure(phase, (run,), near)


def grid(space: SearchSpace) -> list[Geometry]:
    found = [
        geometry
        for nodes in _ladder(space.fewest_nodes, space.most_nodes)
        for per_node in _ladder(1, space.most_per_node)
        if (geometry := Geometry(nodes, nodes * per_node)) in space
    ]
    if not found:
        raise ValueError(messages.SEARCH_EMPTY())
    return found


def _ladder(first: int, last: int) -> list[int]:
    """first, twice that, four times, …, last."""
    found = []
    while first < last:
        found.append(first)
        first *= 2
    return [*found, last]


def _midpoints(space: SearchSpace, around: Geometry, known: Container[Geometry]) -> list[Geometry]:
    """Halfway, by factor, to the nearest known neighbours along nodes and along processes per node."""
    found = []
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
                found.append(at(middle))
    return found


def _nearest(wanted: int, values: Iterable[int], end: int, fits: Callable[[int], bool]) -> int | None:
    """The value strictly between here and `end` that is nearest to the wanted one and fits."""
    between = [value for value in takewhile(lambda value: value != end, values) if fits(value)]
    return min(between, key=lambda value: (abs(value - wanted), value), default=None)


def shortlist(book: Book) -> list[Geometry]:
    """What may be the top, and what may be within the margin with fewer processes, spread out where that is much."""
    logs = book.explored()
    if not logs:
        return []
    found = estimates(logs)
    kept = dict.fromkeys(tops(found)[: SHORTLIST // 2 + 1])
    fewer = [one for one in plausible(book, found) if one not in kept]
    while fewer and len(kept) < SHORTLIST:
        # Next is what lies farthest from all that is kept.
        one = max(fewer, key=lambda one: (min(abs(math.log(one.processes / k.processes)) for k in kept), -one.nodes))
        fewer.remove(one)
        kept[one] = None
    return sorted(kept, key=size)

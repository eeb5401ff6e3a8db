"""Finds the number of processes that a launch condition asks for: what to measure next, and the decision. Pure.

The procedure is written as if every measurement were at hand, and replayed from its beginning over the points that are:
where one is missing, the replay ends with what to measure next. So it depends on nothing but the points, and goes on
after any interruption as if there had been none.

1. A grid, log-spaced over nodes and processes per node, in randomised blocks; what is far below the top is left.
2. Midpoints around the top, and around the fewest processes that may still be within the margin of it.
3. The shortlist of what may be the answer, measured afresh in randomised blocks until comparisons are narrow enough.
4. From the count with the highest rate downwards, each is compared with it on those fresh runs alone: one-sided
   non-inferiority of the log rates within the margin. The walk ends at the first that is not shown, which keeps the
   error of the whole walk at that of one comparison; the answer is the last that is.

Rates are compared as logarithms, within blocks, so that a drift of the system cancels.
"""

from __future__ import annotations

import math
import random
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from campaign import statistics
from campaign.model import Geometry

CONFIRM = "confirm"
GRID_RUNS = 3  # of each point before the shortlist is made
REFINEMENTS = 3
FINEST = 1.10  # neighbours closer than this factor have no midpoint
HOPELESS = 0.5  # of the top after one run: not measured again
CLEAR = 0.5  # of the margin: a difference known so well needs no further run before the shortlist
PLAUSIBLE = 2.0  # standard errors below the margin at which a point may still be within it
CLIMBED = 3  # tops around which midpoints are looked at
CONTENDERS = 6  # tops that are measured again with the midpoints
SHORTLIST = 7
SURE = 0.995  # one-sided: so sure that a point is below the margin before it is left out of further blocks


@dataclass(frozen=True, slots=True)
class Space:
    """What may be proposed. `divides`: the number of processes has to divide it; 0 where any number will do."""

    fewest_nodes: int
    most_nodes: int
    most_per_node: int
    divides: int = 0

    def __contains__(self, geometry: Geometry) -> bool:
        return (
            self.fewest_nodes <= geometry.nodes <= self.most_nodes
            and 1 <= geometry.processes_per_node <= self.most_per_node
            and geometry.processes == geometry.nodes * geometry.processes_per_node
            and (not self.divides or self.divides % geometry.processes == 0)
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """`margin` and `width` are shares of the rate; `least` and `most` runs of each count of the shortlist."""

    seed: str
    margin: float = 0.05
    confidence: float = 0.98  # one-sided, of the walk
    width: float = 0.025  # half-width of a comparison at which measuring ends
    least: int = 6
    most: int = 30
    budget_node_s: float = math.inf


@dataclass(frozen=True, slots=True, order=True)
class Request:
    """One execution: which block of which phase, on what geometry."""

    phase: str
    block: int
    nodes: int
    processes: int

    @property
    def geometry(self) -> Geometry:
        return Geometry(self.nodes, self.processes)


@dataclass(frozen=True, slots=True)
class Point:
    """What came of a request: the rate (None: it ended without one), and what it cost."""

    rate: float | None
    node_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Next:
    """What to measure now, in this order."""

    requests: tuple[Request, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A count that was measured. Rates are those of the fresh runs where there are any, otherwise of the search's own:
    geometric mean and its 95% interval. `ratio` is to the count with the highest rate, with its one-sided bound.
    """

    geometry: Geometry
    runs: int
    fresh_runs: int
    rate: float | None
    low: float | None = None
    high: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    within: bool = False  # shown to be within the margin


@dataclass(frozen=True, slots=True)
class Decision:
    """`geometry` is None where nothing ended with a rate. `complete`: False where the budget ended the search."""

    geometry: Geometry | None
    peak: Geometry | None
    complete: bool
    confirmed: bool  # the answer rests on fresh runs
    reason: str  # in one sentence
    candidates: tuple[Candidate, ...] = ()
    remarks: tuple[str, ...] = ()
    taken: tuple[Request, ...] = ()  # all that it rests on
    node_s: float = 0.0
    drift: float | None = None  # p-value of the test for a trend in time
    outliers: tuple[Request, ...] = ()


def as_json(decision: Decision) -> dict[str, Any]:
    """A decision as data, without the requests that it rests on."""

    def shown(geometry: Geometry | None) -> list[int] | None:
        return [geometry.nodes, geometry.processes] if geometry else None

    return {
        "geometry": shown(decision.geometry),
        "peak": shown(decision.peak),
        "complete": decision.complete,
        "confirmed": decision.confirmed,
        "reason": decision.reason,
        "remarks": list(decision.remarks),
        "node_hours": decision.node_s / 3600,
        "drift_p": decision.drift,
        "outliers": [f"{one.phase}-{one.geometry}.{one.block}" for one in decision.outliers],
        "candidates": [{**asdict(one), "geometry": shown(one.geometry)} for one in decision.candidates],
    }


def step(space: Space, settings: Settings, points: Mapping[Request, Point]) -> Next | Decision:
    """What to measure next, or the decision. Asks for nothing outside of `space`, and nothing twice.

    Raises ValueError where the space is empty.
    """
    book = _Book(space, settings, points)
    shortlist: list[Geometry] = []
    complete = True
    try:
        try:
            _explore(book)
            shortlist = _shortlist(book)
            _confirm(book, shortlist)
        except _Spent:
            complete = False
    except _Missing as missing:
        return Next(missing.requests)
    return _decide(book, shortlist, complete)


_Logs = Sequence[tuple[tuple[str, int], Geometry, float]]  # (phase, block), geometry, log rate


class _Missing(Exception):
    def __init__(self, requests: tuple[Request, ...]) -> None:
        self.requests = requests


class _Spent(Exception):
    """The next block would go over the budget."""


@dataclass
class _Book:
    """The replay's own record: what it has asked for so far, and what came of it."""

    space: Space
    settings: Settings
    points: Mapping[Request, Point]
    taken: dict[Request, Point] = field(default_factory=dict)
    failed: dict[Geometry, None] = field(default_factory=dict)  # a run of it ended without a rate
    node_s: float = 0.0
    remarks: list[str] = field(default_factory=list)

    def measure(self, phase: str, blocks: Iterable[int], geometries: Iterable[Geometry]) -> None:
        """Take each geometry once in each block, in an order of chance. Ends the replay where a point is missing."""
        missing: list[Request] = []
        wanted = sorted(set(geometries) - self.failed.keys(), key=_size)
        expected = 0.0
        for block in blocks:
            if not self._affords(wanted, expected):
                if missing:
                    break
                raise _Spent
            requests = [Request(phase, block, one.nodes, one.processes) for one in wanted]
            random.Random(f"{self.settings.seed}/{phase}/{block}").shuffle(requests)
            new = [request for request in requests if request not in self.points]
            if new or missing:
                missing += new
                expected += self._cost(wanted)
                continue
            for request in requests:
                self._take(request)
        if missing:
            raise _Missing(tuple(missing))

    def _take(self, request: Request) -> None:
        point = self.points[request]
        self.taken[request] = point
        self.node_s += point.node_s
        if point.rate is None or not point.rate > 0:
            self.failed[request.geometry] = None

    def _cost(self, geometries: Sequence[Geometry]) -> float:
        """What a block may cost: each node as long as the executions so far kept theirs."""
        nodes = sum(request.nodes for request in self.taken)
        return sum(one.nodes for one in geometries) * self.node_s / nodes if nodes else 0.0

    def _affords(self, geometries: Sequence[Geometry], expected: float) -> bool:
        return self.node_s + expected + self._cost(geometries) <= self.settings.budget_node_s

    def logs(self, fresh: bool) -> _Logs:
        """What has not failed of the search's own runs, or of the fresh ones."""
        return [
            ((request.phase, request.block), geometry, math.log(point.rate))
            for request, point in self.taken.items()
            if point.rate and (request.phase == CONFIRM) == fresh
            if (geometry := request.geometry) not in self.failed
        ]

    def fresh(self) -> dict[Geometry, dict[int, float]]:
        found: dict[Geometry, dict[int, float]] = {}
        for (_, block), geometry, value in self.logs(fresh=True):
            found.setdefault(geometry, {})[block] = value
        return found

    def explored(self) -> _Logs:
        return self.logs(fresh=False)


def _size(geometry: Geometry) -> tuple[int, int]:
    return geometry.processes, geometry.nodes


# --- estimates


@dataclass(frozen=True, slots=True)
class _Estimates:
    """Effects of the geometries, free of those of the blocks; the standard deviation that is left of one run."""

    effect: dict[Geometry, float]
    runs: dict[Geometry, int]
    deviation: float | None

    def top(self) -> Geometry:
        return max(self.effect, key=lambda one: (self.effect[one], -one.processes, -one.nodes))

    def error(self, one: Geometry, other: Geometry) -> float:
        """Standard error of a difference."""
        return (self.deviation or 0.0) * math.sqrt(1 / self.runs[one] + 1 / self.runs[other])


def _estimates(logs: _Logs) -> _Estimates:
    """Least squares of log rate = geometry + block, by turns: blocks need not hold all geometries."""
    numbers: dict[Geometry, int] = {}
    places: dict[tuple[str, int], int] = {}
    data = [
        (places.setdefault(block, len(places)), numbers.setdefault(one, len(numbers)), value)
        for block, one, value in logs
    ]
    by_block: list[list[tuple[int, float]]] = [[] for _ in places]
    by_one: list[list[tuple[int, float]]] = [[] for _ in numbers]
    for block, one, value in data:
        by_block[block].append((one, value))
        by_one[one].append((block, value))
    shift = [0.0] * len(places)
    effect = [0.0] * len(numbers)
    for _ in range(30):
        effect = [sum([value - shift[block] for block, value in own]) / len(own) for own in by_one]
        before = shift
        shift = [sum([value - effect[one] for one, value in own]) / len(own) for own in by_block]
        # Only differences between blocks are known.
        origin = sum(shift) / len(shift) if shift else 0.0
        shift = [value - origin for value in shift]
        if max((abs(now - then) for now, then in zip(shift, before, strict=True)), default=0.0) < 1e-4:
            break
    free = len(data) - len(numbers) - len(places) + 1
    left = sum([(value - effect[one] - shift[block]) ** 2 for block, one, value in data])
    return _Estimates(
        {one: effect[number] for one, number in numbers.items()},
        {one: len(by_one[number]) for one, number in numbers.items()},
        math.sqrt(left / free) if free > 0 else None,
    )


# --- 1 and 2: where the top is


def _explore(book: _Book) -> None:
    _look(book, "grid", grid(book.space))
    for round_ in range(1, REFINEMENTS + 1):
        if not book.explored():
            return
        found = _estimates(book.explored())
        tops = _tops(found)
        known = set(found.effect) | book.failed.keys()
        around = dict.fromkeys([*tops[:CLIMBED], _plausible(book, found)[0]])
        new = {one for top in around for one in _midpoints(book.space, top, known)}
        if not new and len(tops) == 1:
            return
        # What may be the top is measured along: it ties the new blocks to the old ones, and it is what has to be known.
        _look(book, f"refine{round_}", [*new, *tops[:CONTENDERS]])


def _tops(found: _Estimates) -> list[Geometry]:
    """What may be the top, the highest first."""
    top = found.top()
    ranked = sorted(found.effect, key=lambda one: (-found.effect[one], _size(one)))
    return [one for one in ranked if found.effect[one] >= found.effect[top] - PLAUSIBLE * found.error(one, top)]


def _look(book: _Book, phase: str, geometries: Iterable[Geometry]) -> None:
    """One run of each, then the further ones of what is not far below the top."""
    chosen = list(geometries)
    book.measure(phase, (1,), chosen)
    if not book.explored():
        return
    for run in range(2, GRID_RUNS + 1):
        found = _estimates(book.explored())
        top = found.top()
        near = [
            one for one in chosen if one in found.effect and found.effect[one] >= found.effect[top] + math.log(HOPELESS)
        ]
        if found.deviation is not None and found.deviation * math.sqrt(2 / (run - 1)) < book.settings.margin * CLEAR:
            return
        book.measure(phase, (run,), near)


def grid(space: Space) -> list[Geometry]:
    found = [
        geometry
        for nodes in _ladder(space.fewest_nodes, space.most_nodes)
        for per_node in _ladder(1, space.most_per_node)
        if (geometry := Geometry(nodes, nodes * per_node)) in space
    ]
    if not found:
        raise ValueError("no number of processes is within the limits of the search")
    return found


def _ladder(first: int, last: int) -> list[int]:
    """first, twice that, four times, …, last."""
    found = []
    while first < last:
        found.append(first)
        first *= 2
    return [*found, last]


def _plausible(book: _Book, found: _Estimates) -> list[Geometry]:
    """What may be within the margin of the top, the fewest processes first."""
    top = found.top()
    allowed = -math.log1p(-book.settings.margin)
    return sorted(
        (
            one
            for one in found.effect
            if found.effect[one] >= found.effect[top] - allowed - PLAUSIBLE * found.error(one, top)
        ),
        key=_size,
    )


def _midpoints(space: Space, around: Geometry, known: Container[Geometry]) -> list[Geometry]:
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


def _nearest(wanted: int, values: Iterable[int], end: int, fits: object) -> int | None:
    """The value strictly between here and `end` that is nearest to the wanted one and fits."""
    assert callable(fits)
    between = []
    for value in values:
        if value == end:
            break
        if fits(value):
            between.append(value)
    return min(between, key=lambda value: (abs(value - wanted), value), default=None)


# --- 3: fresh runs


def _shortlist(book: _Book) -> list[Geometry]:
    """What may be the top, and what may be within the margin with fewer processes, spread out where that is much."""
    logs = book.explored()
    if not logs:
        return []
    found = _estimates(logs)
    kept = dict.fromkeys(_tops(found)[: SHORTLIST // 2 + 1])
    fewer = [one for one in _plausible(book, found) if one not in kept]
    while fewer and len(kept) < SHORTLIST:
        # Next is what lies farthest from all that is kept.
        one = max(fewer, key=lambda one: (min(abs(math.log(one.processes / k.processes)) for k in kept), -one.nodes))
        fewer.remove(one)
        kept[one] = None
    return sorted(kept, key=_size)


def _confirm(book: _Book, shortlist: Sequence[Geometry]) -> None:
    settings = book.settings
    live = list(shortlist)
    done, most = settings.least, settings.most
    if not live:
        return
    book.measure(CONFIRM, range(1, done + 1), live)
    repeated = False
    while True:
        live = _hopeful(book, live)
        if not live:
            return
        need = _blocks_needed(book, live, done)
        if need <= done or done >= most:
            if repeated or not _lower_than_explored(book):
                return
            # What was seen in the search is not seen again: as many fresh runs once more before it is believed.
            repeated = True
            need = done + settings.least
            most += settings.least
            book.remarks.append("the peak of the search did not reproduce on fresh runs and was measured again")
        upto = min(most, max(done + 1, min(need, done + max(1, done // 2))))
        book.measure(CONFIRM, range(done + 1, upto + 1), live)
        done = upto


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Log rate of a geometry less that of another, over the blocks that hold both: trimmed mean and standard error."""

    mean: float
    error: float
    blocks: int

    def bound(self, confidence: float) -> float:
        """How far the mean may be off on one side."""
        freedom = statistics.kept(self.blocks) - 1
        return statistics.t_quantile(confidence, freedom) * self.error if freedom > 0 else math.inf


_Fresh = Mapping[Geometry, Mapping[int, float]]  # log rates of the fresh runs, by block


def _compare(fresh: _Fresh, one: Geometry, other: Geometry) -> _Comparison:
    first, second = fresh[one], fresh[other]
    differences = [value - second[block] for block, value in first.items() if block in second]
    mean, error = statistics.trimmed(differences)
    return _Comparison(mean, error, len(differences))


def _peak(fresh: _Fresh) -> Geometry:
    """The highest of those with the most runs: what was left out on the way was below it."""
    most = max(map(len, fresh.values()))
    whole = {one: values for one, values in fresh.items() if len(values) == most}
    level = {
        block: sum(values[block] for values in whole.values()) / len(whole) for block in next(iter(whole.values()))
    }
    means = {
        one: statistics.trimmed([value - level[block] for block, value in values.items()])[0]
        for one, values in whole.items()
    }
    return max(means, key=lambda one: (means[one], -one.processes, -one.nodes))


def _hopeful(book: _Book, live: Sequence[Geometry]) -> list[Geometry]:
    """Those that are not surely below the margin."""
    fresh = book.fresh()
    alive = [one for one in live if one in fresh]
    if not alive:
        return []
    peak = _peak(fresh)
    limit = math.log1p(-book.settings.margin)
    against = {one: _compare(fresh, one, peak) for one in alive}
    return [one for one in alive if one == peak or against[one].mean + against[one].bound(SURE) >= limit]


def _blocks_needed(book: _Book, live: Sequence[Geometry], done: int) -> int:
    """How many blocks make each comparison as narrow as was asked, by what is known of the variation."""
    fresh = book.fresh()
    peak = _peak(fresh)
    need = 0
    for one in live:
        if one == peak:
            continue
        against = _compare(fresh, one, peak)
        # Of a larger count it is enough to know that it is not better by more than the margin.
        enough = book.settings.width
        if _size(one) > _size(peak):
            enough = max(enough, -math.log1p(-book.settings.margin) - against.mean)
        bound = against.bound(book.settings.confidence)
        need = max(need, math.ceil(against.blocks * (bound / enough) ** 2) if bound < math.inf else done)
    return need


def _lower_than_explored(book: _Book) -> bool:
    """Whether the search saw a rate that the fresh runs do not come near, by more than its variation explains."""
    explored = _estimates(book.explored())
    top = explored.top()
    fresh = book.fresh()
    values = fresh[_peak(fresh)].values()
    best = sum(values) / len(values)
    noise = (explored.deviation or 0.0) / math.sqrt(explored.runs[top])
    return best < explored.effect[top] + math.log1p(-book.settings.margin) - 2 * noise


# --- 4: the walk downwards


def _decide(book: _Book, shortlist: Sequence[Geometry], complete: bool) -> Decision:
    fresh = book.fresh()
    if max(map(len, fresh.values()), default=0) < book.settings.least:
        return _unconfirmed(book, complete)
    peak = _peak(fresh)
    limit = math.log1p(-book.settings.margin)
    chosen = peak
    within = {peak}
    stopped: Geometry | None = None
    for one in sorted((one for one in fresh if _size(one) < _size(peak)), key=_size, reverse=True):
        against = _compare(fresh, one, peak)
        if against.mean - against.bound(book.settings.confidence) <= limit:
            stopped = one
            break
        chosen = one
        within.add(one)
    candidates = _candidates(book, peak, within)
    return Decision(
        chosen, peak, complete, True, _reason(book, chosen, peak, stopped, candidates, complete), candidates,
        _remarks(book, peak), tuple(book.taken), book.node_s, _drift(book.logs(fresh=True)), _outliers(book),
    )  # fmt: skip


def _unconfirmed(book: _Book, complete: bool) -> Decision:
    logs = [*book.explored(), *book.logs(fresh=True)]
    why = "the budget ended the search before fresh runs" if not complete else "no run of it ended with a rate"
    if not logs:
        return Decision(None, None, complete, False, f"No count was found: {why}.", (), tuple(book.remarks),
                        tuple(book.taken), book.node_s)  # fmt: skip
    peak = _estimates(logs).top()
    candidates = _candidates(book, peak, {peak})
    reason = f"{_words(peak)}: the highest rate so far; {why}, so that nothing confirms it."
    return Decision(
        peak, peak, complete, False, reason, candidates, _remarks(book, peak), tuple(book.taken), book.node_s, None,
        _outliers(book),
    )  # fmt: skip


def _candidates(book: _Book, peak: Geometry, within: Container[Geometry]) -> tuple[Candidate, ...]:
    explored: dict[Geometry, list[float]] = {}
    for _, geometry, value in book.explored():
        explored.setdefault(geometry, []).append(value)
    fresh = book.fresh()
    tried = [request.geometry for request in book.taken]
    found = []
    for one in sorted(set(tried), key=_size):
        values = list(fresh.get(one, {}).values()) or explored.get(one, [])
        if not values:
            found.append(Candidate(one, tried.count(one), 0, None))
            continue
        mean = sum(values) / len(values)
        ratio = bound = None
        if one in fresh and peak in fresh and one != peak:
            against = _compare(fresh, one, peak)
            ratio = math.exp(against.mean)
            bound = math.exp(against.mean - against.bound(book.settings.confidence))
        low, high = _interval(values, mean)
        found.append(
            Candidate(
                one, tried.count(one), len(fresh.get(one, ())), math.exp(mean), low, high, ratio, bound, one in within
            )
        )
    return tuple(found)


def _interval(values: Sequence[float], mean: float) -> tuple[float | None, float | None]:
    n = len(values)
    if n < 2:
        return None, None
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1) / n)
    half = statistics.t_quantile(0.975, n - 1) * error
    return math.exp(mean - half), math.exp(mean + half)


def _words(geometry: Geometry) -> str:
    processes = f"{geometry.processes} process{'es' if geometry.processes > 1 else ''}"
    return f"{processes} on {geometry.nodes} node{'s' if geometry.nodes > 1 else ''}"


def _reason(
    book: _Book,
    chosen: Geometry,
    peak: Geometry,
    stopped: Geometry | None,
    candidates: Sequence[Candidate],
    complete: bool,
) -> str:
    by = {candidate.geometry: candidate for candidate in candidates}
    margin = f"{100 * book.settings.margin:g}%"
    own = by[chosen]
    if chosen == peak:
        text = f"{_words(chosen)}: the highest rate of {own.fresh_runs} fresh runs"
    else:
        assert own.ratio is not None and own.ratio_low is not None
        text = (
            f"{_words(chosen)}: the fewest that were shown to reach within {margin} of the highest rate, that of "
            f"{_words(peak)}: {100 * own.ratio:.1f}% of it, at least {100 * own.ratio_low:.1f}% "
            f"({100 * book.settings.confidence:g}% confidence, {own.fresh_runs} fresh runs)"
        )
    if stopped is not None:
        ratio, low = by[stopped].ratio, by[stopped].ratio_low
        assert ratio is not None
        seen = f"{100 * ratio:.1f}%, possibly {100 * low:.1f}%" if low else f"{100 * ratio:.1f}%"
        text += f"; {_words(stopped)} {'was' if stopped.processes == 1 else 'were'} not ({seen})"
    if not complete:
        text += "; the budget ended the search, so this is the best answer so far"
    return text + "."


def _remarks(book: _Book, peak: Geometry) -> tuple[str, ...]:
    found = list(book.remarks)
    tried = {request.geometry for request in book.taken} - book.failed.keys()
    if not any(one.processes > peak.processes for one in tried):
        found.append(f"{_words(peak)} is the most that was measured: the rate may rise beyond it")
    elif not any(one.processes < peak.processes for one in tried):
        found.append(f"{_words(peak)} is the least that was measured: the rate may be higher below it")
    found += [f"{_words(one)}: a run ended without a rate, so that it was left out" for one in book.failed]
    return tuple(found)


# --- what a reader should know of the points


def _residuals(logs: _Logs) -> list[tuple[tuple[str, int], Geometry, float]]:
    found = _estimates(logs)
    return [(block, geometry, value - found.effect[geometry]) for block, geometry, value in logs]


def _drift(logs: _Logs) -> float | None:
    """p-value of a trend of the blocks over time."""
    blocks: dict[tuple[str, int], list[float]] = {}
    for block, _, value in _residuals(logs):
        blocks.setdefault(block, []).append(value)
    return statistics.trend([sum(blocks[block]) / len(blocks[block]) for block in sorted(blocks)])


def _outliers(book: _Book) -> tuple[Request, ...]:
    """Points far from the others of their geometry. They are said, and stay in every estimate."""
    logs = [*book.explored(), *book.logs(fresh=True)]
    if not logs:
        return ()
    values = [value for _, _, value in _residuals(logs)]
    far = statistics.outliers(values)
    return tuple(
        Request(block[0], block[1], geometry.nodes, geometry.processes)
        for index, (block, geometry, _) in enumerate(logs)
        if index in far
    )

"""What is known of the curve of rates over counts: a Gaussian model of it, fitted to runs in blocks. Pure.

    log rate of a run = curve(count) + block + noise

The curve is one of several kinds, from smooth to ragged, alone or with a step or a bend somewhere; each weighs as much
as the runs speak for it. So neighbours speak for each other where the runs show that they are alike, and only for
themselves where they are not. Blocks cancel.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul
from typing import TypeVar

from campaign.core.model import Geometry
from campaign.plan.search.book import Logs, estimates
from campaign.statistics.ranks import median

Matrix = list[list[float]]
Value = TypeVar("Value")

FAR = 2.5  # standard deviations: what lies farther off pulls no more than this,
TAMINGS = 4  # seen from where the runs lie without what is far off, so often put together again
GUESS, WEIGHT = 0.02, 1.0  # a standard deviation before there are any runs, and how many runs that guess is worth


@dataclass(frozen=True, slots=True)
class CurveKind:
    """Standard deviations of log rates: of a smooth curve; of one that jumps, over a factor of 2 in processes; of what
    counts that fill the same groups of cores have in common; of each count by itself.
    """

    smooth: float
    jumps: float
    groups: float
    own: float

    @property
    def even(self) -> bool:
        """Whether a step or a bend is something of its own, and not what all counts have."""
        return max(self.jumps, self.own) < ROUGH


KINDS = (
    CurveKind(0.3, 0.0, 0.0, 0.002),
    CurveKind(1.0, 0.02, 0.0, 0.004),
    CurveKind(1.0, 0.3, 0.0, 0.004),
    CurveKind(0.5, 0.05, 0.1, 0.004),
    CurveKind(1.0, 0.1, 0.0, 0.06),
)
ROUGH = 0.06  # jumps, or a deviation of each count, from which on a step or a bend is nothing of its own
# Shares of the curves, before the runs, that have a step, or a bend; standard deviations of how high the one is, and by
# how much the other changes the slope in a factor of 2.
STEPS, STEP = 0.25, 0.25
BENDS, BEND = 0.25, 0.7
REACH = 1.5  # factors of 2 over which a smooth curve keeps its course


@dataclass(frozen=True, slots=True)
class Beliefs:
    """Curves drawn from the posterior distribution: the log rates of `counts` for each."""

    counts: tuple[Geometry, ...]
    drawn: tuple[tuple[float, ...], ...]
    deviation: float  # of one run


def beliefs(logs: Logs, counts: Sequence[Geometry], cores: int, seed: str, draws: int) -> Beliefs:
    """`counts` with runs and without; runs of others are left out. `cores`: of a node."""
    places = {geometry: place for place, geometry in enumerate(counts)}
    data, deviation = _tamed(tuple(logs))
    known = [(block, places[geometry], value) for block, geometry, value in data if geometry in places]
    told = _normal(known, len(counts))
    fits = [_fit(root, told, deviation) for root in _roots(tuple(counts), cores)]
    features = _features(counts, told.information)
    shapes = [
        shape
        for kind, fit in zip(KINDS, fits, strict=True)
        for shape in _shapes(fit, features if kind.even else (), told, deviation**2)
    ]
    top = max(shape.evidence for shape in shapes)
    reached = list(itertools.accumulate(math.exp(shape.evidence - top) for shape in shapes))
    chance, pairs = random.Random(seed), draws // 2
    places_drawn = [bisect_left(reached, (pair + 0.5) / pairs * reached[-1]) for pair in range(pairs)]
    drawn = [curve for place in places_drawn for curve in shapes[place].draw(chance)]
    return Beliefs(tuple(counts), tuple(drawn), deviation)


@functools.lru_cache(maxsize=8)  # the same runs are looked at with other counts too
def _tamed(logs: Logs) -> tuple[Logs, float]:
    """The runs with those far off drawn near, and the standard deviation of one."""
    tamed, deviation = logs, GUESS
    for _ in range(TAMINGS):
        tamed, deviation = _tamed_once(logs, tamed)
    return tamed, deviation


def _tamed_once(logs: Logs, before: Logs) -> tuple[Logs, float]:
    fitted = estimates(before)
    blocks: dict[tuple[str, int], list[float]] = {}
    for block, geometry, value in logs:
        blocks.setdefault(block, []).append(value - fitted.effect[geometry])
    level = {block: median(sorted(values)) for block, values in blocks.items()}
    left = [value - fitted.effect[geometry] - level[block] for block, geometry, value in logs]
    free = len(logs) - len(fitted.effect) - len(blocks) + 1
    again = sorted(abs(rest) for (_, geometry, _), rest in zip(logs, left, strict=True) if fitted.runs[geometry] > 1)
    if free <= 0 or not again:
        return logs, GUESS
    scale = math.sqrt(len(again) / free) * 1.4826 * median(again)
    limit = FAR * max(scale, 1e-9)
    tamed = [
        (block, geometry, value - rest + max(-limit, min(limit, rest)))
        for (block, geometry, value), rest in zip(logs, left, strict=True)
    ]
    square = sum(max(-limit, min(limit, rest)) ** 2 for rest in left)
    return tamed, math.sqrt((WEIGHT * GUESS**2 + square) / (WEIGHT + free))


@dataclass(frozen=True, slots=True)
class _Told:
    """What the runs say of the counts, free of their blocks: normal equations, without the variance of a run. `places`:
    of the counts of which they say anything; the others' rows and columns are 0.
    """

    information: Matrix
    pull: list[float]
    places: list[int]

    def of(self, values: Sequence[Value]) -> list[Value]:
        """Those of the values that are not multiplied by 0."""
        return [values[place] for place in self.places]


def _normal(runs: Sequence[tuple[tuple[str, int], int, float]], size: int) -> _Told:
    information = [[0.0] * size for _ in range(size)]
    pull = [0.0] * size
    blocks: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for block, place, value in runs:
        blocks.setdefault(block, []).append((place, value))
    for members in blocks.values():
        mean = sum([value for _, value in members]) / len(members)
        for place, value in members:
            information[place][place] += 1.0
            pull[place] += value - mean
            row = information[place]
            for other, _ in members:
                row[other] -= 1.0 / len(members)
    return _Told(information, pull, [place for place, row in enumerate(information) if any(row)])


@dataclass(frozen=True, slots=True)
class _Alike:
    """The correlation of the rates of two counts, by their distance (smooth or not) and by the groups they fill."""

    smooth: Matrix
    jumps: Matrix
    groups: Matrix


def _alike(counts: Sequence[Geometry], cores: int) -> _Alike:
    at = [(math.log2(one.nodes), math.log2(one.processes_per_node)) for one in counts]
    fills = [_groups(one.processes_per_node, cores) for one in counts]
    smooth, jumps, groups = [], [], []
    for i, (nodes, per_node) in enumerate(at):
        apart = [(nodes - n, per_node - p) for n, p in at[: i + 1]]
        near = -1 / (4 * REACH * REACH)
        smooth.append([math.exp(near * (dn * dn + dp * dp + (dn + dp) * (dn + dp))) for dn, dp in apart])
        jumps.append([4 * math.exp(-(abs(dn) + abs(dp)) / 8) for dn, dp in apart])
        groups.append([float(len(fills[i] & other)) for other in fills[: i + 1]])
    return _Alike(smooth, jumps, groups)


@functools.lru_cache(maxsize=32)  # the same counts are looked at with further runs
def _roots(counts: tuple[Geometry, ...], cores: int) -> list[Matrix]:
    """Of the covariances before the runs, one of each kind of curve."""
    alike = _alike(counts, cores)
    return [_root(_covariance(alike, kind)) for kind in KINDS]


def _covariance(alike: _Alike, kind: CurveKind) -> Matrix:
    smooth, jumps, groups = kind.smooth**2, kind.jumps**2, kind.groups**2
    rows = [
        [smooth * a + jumps * b + groups * c for a, b, c in zip(*parts, strict=True)]
        for parts in zip(alike.smooth, alike.jumps, alike.groups, strict=True)
    ]
    for row in rows:
        row[-1] += kind.own**2
    return rows


@functools.cache
def _groups(per_node: int, cores: int) -> frozenset[int]:
    """The groups of cores, of 2 and more, that so many processes fill evenly."""
    return frozenset(size for size in range(2, cores + 1) if cores % size == 0 and per_node % size == 0)


@dataclass(frozen=True, slots=True)
class _Fit:
    mean: list[float]
    spread: Matrix  # times normal values: a deviation from the mean
    evidence: float


@dataclass(frozen=True, slots=True)
class _Feature:
    """A step or a bend: what it adds to the log rate of each count, times its size; how large and likely it is."""

    values: list[float]
    seen: list[float]  # by the runs
    deviation: float
    share: float


def _features(counts: Sequence[Geometry], information: Matrix) -> list[_Feature]:
    """A step above each count of processes on a node, and a bend at every second count of processes."""
    per_node = sorted({one.processes_per_node for one in counts})[:-1]
    all_counts = sorted({one.processes for one in counts})[1:-1:2]
    steps = [[float(one.processes_per_node > edge) for one in counts] for edge in per_node]
    bends = [[max(0.0, math.log2(one.processes / edge)) for one in counts] for edge in all_counts]
    kinds = [(values, STEP, STEPS / len(steps)) for values in steps]
    kinds += [(values, BEND, BENDS / len(bends)) for values in bends]
    return [_Feature(values, [sum(map(mul, row, values)) for row in information], *kind) for values, *kind in kinds]


@dataclass(frozen=True, slots=True)
class _DrawnCurve:
    """A fit, alone or with a feature whose size lies about `size`; the fit gives way to it."""

    fit: _Fit
    evidence: float
    pulled: list[float] | None = None  # of the feature, by the fit's own spread
    feature: _Feature | None = None
    size: float = 0.0
    deviation: float = 0.0

    def draw(self, chance: random.Random) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Two curves, as far above the mean as below it."""
        normal = [chance.gauss(0.0, 1.0) for _ in self.fit.mean]
        off = [sum(map(mul, row, normal)) for row in self.fit.spread]
        mean = self.fit.mean
        if self.feature is not None and self.pulled is not None:
            rest = chance.gauss(0.0, self.deviation)
            taken = [sum(map(mul, row, self.pulled)) for row in self.fit.spread]
            added = [value - less for value, less in zip(self.feature.values, taken, strict=True)]
            mean = [value + self.size * more for value, more in zip(mean, added, strict=True)]
            off = [value + rest * more for value, more in zip(off, added, strict=True)]
        return (
            tuple(value + more for value, more in zip(mean, off, strict=True)),
            tuple(value - more for value, more in zip(mean, off, strict=True)),
        )


def _shapes(fit: _Fit, features: Sequence[_Feature], told: _Told, variance: float) -> Iterator[_DrawnCurve]:
    """The fit alone, and with each feature: its size has a normal distribution, given the runs too."""
    alone = 1 - sum(feature.share for feature in features)
    yield _DrawnCurve(fit, fit.evidence + math.log(alone))
    columns = list(zip(*told.of(fit.spread), strict=True)) if features else []
    # Of the runs' pull, what is left once the fit has given way.
    rows = zip(told.pull, told.information, strict=True)
    left = [(value - sum(map(mul, row, fit.mean))) / variance for value, row in rows]
    for feature in features:
        seen = told.of(feature.seen)
        pulled = [sum(map(mul, column, seen)) / variance for column in columns]
        certain = max(0.0, sum(map(mul, feature.values, feature.seen)) / variance - sum(map(mul, pulled, pulled)))
        spread = 1 / (1 / feature.deviation**2 + certain)
        drawn = sum(map(mul, feature.values, left))
        evidence = drawn * drawn * spread / 2 - math.log1p(feature.deviation**2 * certain) / 2
        evidence += fit.evidence + math.log(feature.share)
        yield _DrawnCurve(fit, evidence, pulled, feature, spread * drawn, math.sqrt(spread))


def _fit(root: Matrix, told: _Told, deviation: float) -> _Fit:
    """The curve given the runs: with covariance L·L' before them, L·(1 + L'·information·L / variance)^-1·L' after."""
    size, variance = len(root), deviation**2
    columns = [[root[place][j] if j <= place else 0.0 for place in told.places] for j in range(size)]
    information = [told.of(told.information[place]) for place in told.places]
    half = [[sum(map(mul, row, column)) / variance for column in columns] for row in information]
    halves = [[row[j] for row in half] for j in range(size)]  # columns of information·L
    inner = [[sum(map(mul, columns[i], halves[j])) + (i == j) for j in range(i + 1)] for i in range(size)]
    below = _root(inner)
    pull = told.of(told.pull)
    pulled = [sum(map(mul, column, pull)) / variance for column in columns]
    forward = _forward(below, pulled)
    # spread = L·R^-T: rows solve R·x = row of L.
    spread = [_forward(below, [*row, *[0.0] * (size - len(row))]) for row in root]
    mean = [sum(map(mul, row, forward)) for row in spread]
    evidence = sum(map(mul, forward, forward)) / 2 - sum(math.log(row[-1]) for row in below)
    return _Fit(mean, spread, evidence)


def _root(matrix: Matrix) -> Matrix:
    """Cholesky's lower triangle, of the lower triangle of a matrix; rows end at the diagonal."""
    root: Matrix = []
    for i, given in enumerate(matrix):
        row: list[float] = []
        for j in range(i):
            row.append((given[j] - sum(map(mul, row, root[j]))) / root[j][j])
        row.append(math.sqrt(max(given[i] - sum(map(mul, row, row)), 1e-12)))
        root.append(row)
    return root


def _forward(root: Matrix, right: Sequence[float]) -> list[float]:
    solved: list[float] = []
    for row, value in zip(root, right, strict=True):
        solved.append((value - sum(map(mul, row, solved))) / row[-1])
    return solved

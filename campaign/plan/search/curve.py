"""What is known of the curve of rates over counts: a Gaussian model of it, fitted to runs in blocks. Pure.

    log rate of a run = curve(count) + block + noise

The curve is one of several kinds, from smooth to ragged; each weighs as much as the runs speak for it. So neighbours
speak for each other where the runs show that they are alike, and only for themselves where they are not. Blocks cancel.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from campaign.core.model import Geometry
from campaign.plan.search.book import Logs, estimates
from campaign.statistics.ranks import median

Matrix = list[list[float]]

FAR = 2.5  # standard deviations: what lies farther off pulls no more than this
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


KINDS = (
    CurveKind(0.3, 0.0, 0.0, 0.002),
    CurveKind(1.0, 0.02, 0.0, 0.004),
    CurveKind(1.0, 0.3, 0.0, 0.004),
    CurveKind(0.5, 0.05, 0.1, 0.004),
    CurveKind(1.0, 0.1, 0.0, 0.06),
)
REACH = 1.5  # factors of 2 over which a smooth curve keeps its course


@dataclass(frozen=True, slots=True)
class Beliefs:
    """Curves that the runs allow, drawn by how likely they are: each the log rates of `counts`."""

    counts: tuple[Geometry, ...]
    drawn: tuple[tuple[float, ...], ...]
    deviation: float  # of one run


def beliefs(logs: Logs, counts: Sequence[Geometry], cores: int, seed: str, draws: int) -> Beliefs:
    """`counts` with runs and without; runs of others are left out. `cores`: of a node."""
    places = {geometry: place for place, geometry in enumerate(counts)}
    data, deviation = _tamed(logs)
    known = [(block, places[geometry], value) for block, geometry, value in data if geometry in places]
    information, pull = _normal(known, len(counts))
    alike = _alike(counts, cores)
    fits = [_fit(_covariance(alike, kind), information, pull, deviation) for kind in KINDS]
    top = max(fit.evidence for fit in fits)
    weights = [math.exp(fit.evidence - top) for fit in fits]
    chance = random.Random(seed)
    shares = [weight / sum(weights) * draws for weight in weights]
    drawn = [
        curve
        for fit, share in zip(fits, shares, strict=True)
        for _ in range(round(share / 2))
        for curve in fit.draw(chance)
    ]
    return Beliefs(tuple(counts), tuple(drawn), deviation)


def _tamed(logs: Logs) -> tuple[Logs, float]:
    """The runs with those far off drawn near, and the standard deviation of one."""
    fitted = estimates(logs)
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


def _normal(runs: Sequence[tuple[tuple[str, int], int, float]], size: int) -> tuple[Matrix, list[float]]:
    """What the runs say of the counts, free of their blocks: normal equations, without the variance of a run."""
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
    return information, pull


@dataclass(frozen=True, slots=True)
class _Alike:
    """Of two counts: how alike their rates are by their distance, if smooth or not, and by the groups they fill."""

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

    def draw(self, chance: random.Random) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Two curves, as far above the mean as below it."""
        normal = [chance.gauss(0.0, 1.0) for _ in self.mean]
        off = [sum(map(mul, row, normal)) for row in self.spread]
        return (
            tuple(mean + more for mean, more in zip(self.mean, off, strict=True)),
            tuple(mean - more for mean, more in zip(self.mean, off, strict=True)),
        )


def _fit(covariance: Matrix, information: Matrix, pull: list[float], deviation: float) -> _Fit:
    """The curve given the runs: with covariance L·L' before them, L·(1 + L'·information·L / variance)^-1·L' after."""
    size, variance = len(pull), deviation**2
    root = _root(covariance)
    columns = [[row[j] if j < len(row) else 0.0 for row in root] for j in range(size)]
    half = [[sum(map(mul, row, column)) / variance for column in columns] for row in information]
    halves = list(zip(*half, strict=True))  # columns of information·L
    inner = [[sum(map(mul, columns[i], halves[j])) + (i == j) for j in range(i + 1)] for i in range(size)]
    below = _root(inner)
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

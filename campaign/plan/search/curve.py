"""A Gaussian model of the curve of rates over counts, fitted to runs in blocks. Pure.

log rate of a run = curve(count) + block + (first run of its count) + noise

The curve is of one of several kinds, from smooth to ragged, possibly with a step or a bend; each kind is weighted by
its evidence. So neighbouring counts inform each other if the runs show that they are alike, and do not otherwise.
Blocks differ by a random amount of an estimated variance, first runs by a common factor (caches are cold). Noise has
Student's distribution: what lies far off has little weight, and is never dropped.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from campaign.core.runs import Geometry
from campaign.plan.search.records import Logs

Array = numpy.ndarray[Any, Any]

TAILS = 4  # degrees of freedom of the noise
ROUNDS = 8  # in which weights and variances are estimated
ALTERNATIONS = 4  # of medians, from which these begin
GUESS, WEIGHT = (
    0.02,
    1.0,
)  # a prior standard deviation, of noise and of blocks, and how many runs or blocks it counts for
FIRST = 0.3  # prior standard deviation of the factor of first runs
FREE = 1e-6  # penalty of the common level, which is arbitrary


@dataclass(frozen=True, slots=True)
class CurveKind:
    """Standard deviations of log rates: of a smooth curve; of one that jumps, over a factor of 2 in processes; of what
    counts that fill the same groups of cores have in common; of each count by itself.
    """

    smooth: float
    jumps: float
    groups: float
    single: float

    @property
    def is_even(self) -> bool:
        """Whether a step or a bend would stand out against the other deviations."""
        return max(self.jumps, self.single) < ROUGH


KINDS = (
    CurveKind(0.3, 0.0, 0.0, 0.002),
    CurveKind(1.0, 0.02, 0.0, 0.004),
    CurveKind(1.0, 0.3, 0.0, 0.004),
    CurveKind(0.5, 0.05, 0.1, 0.004),
    CurveKind(1.0, 0.1, 0.0, 0.06),
)
ROUGH = 0.06  # deviation by jumps or of single counts, from which a step or a bend does not stand out
# Prior shares of curves with a step, and with a bend; prior standard deviations of a step's height, and of a bend's
# change of slope per factor of 2.
STEPS, STEP = 0.25, 0.25
BENDS, BEND = 0.25, 0.7
LEVEL = 1e-6  # runs per count that pull the curve to 0: its level is arbitrary, since blocks cancel it
REACH = 1.5  # length scale of a smooth curve, in factors of 2


def draw_curves(runs: Runs, counts: Sequence[Geometry], cores: int, seed: str, draws: int) -> Array:
    """Curves drawn from the posterior distribution: a row for each, with the log rate of each of `counts`, with and
    without runs; runs of other counts are ignored. `cores`: per node.
    """
    observations, deviation = _observe(runs, counts), runs.deviation
    features, no_features = _features(counts), _Features(numpy.zeros((0, len(counts))), numpy.zeros(0), numpy.zeros(0))
    fits = [
        _fit(root, observations, deviation, features if kind.is_even else no_features)
        for kind, root in zip(KINDS, _covariance_roots(tuple(counts), cores), strict=True)
    ]
    evidence = numpy.concatenate([fit.evidence for fit in fits])
    cumulated = numpy.cumsum(numpy.exp(evidence - evidence.max()))
    kinds = numpy.searchsorted(cumulated, (numpy.arange(draws) + 0.5) / draws * cumulated[-1])
    # A generator with the same stream in all versions of numpy, so that a search can be replayed.
    generator = numpy.random.RandomState(numpy.frombuffer(hashlib.sha256(seed.encode()).digest(), numpy.uint32))
    first_kind, curves = 0, []
    for fit in fits:
        shapes = kinds[(first_kind <= kinds) & (kinds < first_kind + len(fit.evidence))] - first_kind
        curves.append(_draw(fit, observations, deviation, shapes, generator))
        first_kind += len(fit.evidence)
    return numpy.concatenate(curves)


@dataclass(frozen=True, slots=True)
class Runs:
    """Log rates with their weights; what they have in common with others (level, blocks, first runs) with the
    penalties of that; the standard deviation of one run, and the effects of the geometries.
    """

    geometries: tuple[Geometry, ...]
    at: Array  # index for each run
    values: Array
    weights: Array
    common: Array
    penalties: Array
    deviation: float
    effect: dict[Geometry, float]


@functools.lru_cache(maxsize=8)  # the same runs are used with other counts too
def robust_runs(logs: Logs) -> Runs:
    if not logs:
        nothing = numpy.zeros(0)
        return Runs((), numpy.zeros(0, int), nothing, nothing, numpy.zeros((0, 1)), numpy.full(1, FREE), GUESS, {})
    geometries = tuple(dict.fromkeys(geometry for _, geometry, _ in logs))
    numbers = {geometry: number for number, geometry in enumerate(geometries)}
    block_numbers = {block: number for number, block in enumerate(dict.fromkeys(block for block, _, _ in logs))}
    at = numpy.array([numbers[geometry] for _, geometry, _ in logs])
    blocks = numpy.array([block_numbers[block] for block, _, _ in logs])
    values = numpy.array([value for _, _, value in logs])
    is_first = numpy.zeros(len(logs))
    is_first[numpy.unique(at, return_index=True)[1]] = 1
    common = numpy.column_stack([numpy.ones(len(logs)), blocks[:, None] == range(len(block_numbers)), is_first])
    is_repeated = numpy.bincount(at)[at] > 1
    freedom = len(logs) - len(geometries) - len(block_numbers) + 1
    effect, scale = _initial_effects(at, blocks, values, is_repeated)
    residuals = values - effect[at]
    residuals -= _medians(residuals, blocks)[blocks]
    block_variance = max(GUESS, scale) ** 2
    for _ in range(ROUNDS):
        weights = (TAILS + 1) / (TAILS + (residuals / scale) ** 2)
        penalties = scale**2 / numpy.array([1e12, *[block_variance] * len(block_numbers), FIRST**2])
        effect = numpy.linalg.solve(*_normal_equations(at, values, weights, common, penalties))
        inverse = numpy.linalg.inv(common.T * weights @ common + numpy.diag(penalties))
        shifts = inverse @ (common.T @ (weights * (values - effect[at])))
        residuals = values - effect[at] - common @ shifts
        squares = (shifts[1:-1] ** 2 + scale**2 * inverse.diagonal()[1:-1]).sum()
        block_variance = (WEIGHT * GUESS**2 + squares) / (WEIGHT + len(block_numbers))
        scale = math.sqrt((WEIGHT * GUESS**2 + (weights * residuals**2).sum()) / (WEIGHT + max(0, freedom)))
    # Information of a value of Student's distribution.
    deviation = scale * math.sqrt((TAILS + 3) / (TAILS + 1))
    rates = dict(zip(geometries, effect.tolist(), strict=True))
    return Runs(geometries, at, values, weights, common, penalties, deviation, rates)


def _initial_effects(at: Array, blocks: Array, values: Array, is_repeated: Array) -> tuple[Array, float]:
    """Initial effects of the geometries, by medians alternating with those of the blocks (of two values the upper one,
    since disturbances slow a run down), and the standard deviation of a run. Only repeated measurements connect a block
    to others.
    """
    level = numpy.zeros(blocks.max() + 1)
    connected = numpy.unique(blocks[is_repeated])
    effect = _medians(values, at, upper=True)
    for _ in range(ALTERNATIONS if len(connected) else 0):
        number = numpy.searchsorted(connected, blocks[is_repeated])
        level[connected] = _medians((values - effect[at])[is_repeated], number, upper=True)
        effect = _medians(values - level[blocks], at, upper=True)
    residuals = values - level[blocks]
    freedom = len(values) - len(effect) - len(level) + 1
    return effect, _scale(
        (residuals - _medians(residuals, at)[at])[is_repeated], freedom
    ) if freedom > 0 and is_repeated.any() else GUESS


def _scale(residuals: Array, freedom: int) -> float:
    return max(1e-6, math.sqrt(len(residuals) / freedom) * 1.4826 * float(numpy.median(abs(residuals))))


def _medians(values: Array, numbers: Array, upper: bool = False) -> Array:
    """The median of the values of each number; of two values their mean, or the upper one."""
    order = numpy.lexsort((values, numbers))
    sizes = numpy.bincount(numbers)
    first, ordered = numpy.cumsum(sizes) - sizes, values[order]
    upper_middles = ordered[first + sizes // 2]
    middles: Array = upper_middles if upper else (upper_middles + ordered[first + (sizes - 1) // 2]) / 2
    return middles


def _normal_equations(at: Array, values: Array, weights: Array, common: Array, penalties: Array) -> tuple[Array, Array]:
    """The normal equations for the geometries, with what runs have in common eliminated."""
    number, weighted = at.max(initial=-1) + 1, common * weights[:, None]
    of_counts = numpy.zeros((number, common.shape[1]))
    numpy.add.at(of_counts, at, weighted)
    eliminated = numpy.linalg.solve(weighted.T @ common + numpy.diag(penalties), of_counts.T).T
    information = numpy.diag(numpy.bincount(at, weights, number) + LEVEL) - eliminated @ of_counts.T
    return information, numpy.bincount(at, weights * values, number) - eliminated @ (weighted.T @ values)


@dataclass(frozen=True, slots=True)
class _Observations:
    """What the runs say about the counts, without block effects: `seen` = `rows` · curve + noise of one run each."""

    rows: Array
    seen: Array


def _observe(runs: Runs, counts: Sequence[Geometry]) -> _Observations:
    places = [place for place, count in enumerate(counts) if count in runs.effect]
    number = numpy.full(len(runs.geometries), -1)
    number[[runs.geometries.index(counts[place]) for place in places]] = range(len(places))
    at = number[runs.at]
    used = at >= 0
    information, pull = _normal_equations(
        at[used], runs.values[used], runs.weights[used], runs.common[used], runs.penalties
    )
    root = numpy.linalg.cholesky(information)
    rows = numpy.zeros((len(places), len(counts)))
    rows[:, places] = root.T
    return _Observations(rows, numpy.linalg.solve(root, pull))


@functools.lru_cache(maxsize=4)  # the same counts are used with further runs
def _covariance_roots(counts: tuple[Geometry, ...], cores: int) -> Array:
    """Roots of the prior covariances, one for each kind of curve."""
    nodes = numpy.log2([count.nodes for count in counts])
    per_node = numpy.log2([count.processes_per_node for count in counts])
    dn, dp = numpy.subtract.outer(nodes, nodes), numpy.subtract.outer(per_node, per_node)
    smooth = numpy.exp(-(dn**2 + dp**2 + (dn + dp) ** 2) / (4 * REACH**2))
    jumps = 4 * numpy.exp(-(abs(dn) + abs(dp)) / 8)
    sizes = [size for size in range(2, cores + 1) if cores % size == 0]
    fills = numpy.array([[count.processes_per_node % size == 0 for size in sizes] for count in counts], float)
    groups = fills.reshape(len(counts), len(sizes)) @ fills.reshape(len(counts), len(sizes)).T
    single = numpy.eye(len(counts))
    return numpy.linalg.cholesky(
        [
            kind.smooth**2 * smooth + kind.jumps**2 * jumps + kind.groups**2 * groups + kind.single**2 * single
            for kind in KINDS
        ]
    )


@dataclass(frozen=True, slots=True)
class _Features:
    """Steps and bends: the effect of each on the log rate of each count, times its size; prior size and probability."""

    values: Array
    deviation: Array
    share: Array


def _features(counts: Sequence[Geometry]) -> _Features:
    """A step above each count of processes per node; a bend at each count of processes, and between any two."""
    per_node, processes = [count.processes_per_node for count in counts], [count.processes for count in counts]
    edges, rising = sorted(set(per_node))[:-1], sorted(set(processes))
    bent = [*rising[1:-1], *(math.sqrt(count * other) for count, other in itertools.pairwise(rising))]
    steps = numpy.greater.outer(per_node, edges).T
    bends = numpy.log2(numpy.divide.outer(processes, bent)).clip(0).T
    return _Features(
        numpy.concatenate([steps, bends]),
        numpy.repeat([STEP, BEND], [len(steps), len(bends)]),
        numpy.repeat([STEPS / max(1, len(steps)), BENDS / max(1, len(bends))], [len(steps), len(bends)]),
    )


@dataclass(frozen=True, slots=True)
class _Fit:
    """A kind of curve fitted to the runs: alone, and with each of the features. `evidence`: log evidence of each of
    these.
    """

    root: Array
    pulls: Array  # posterior mean of the standard normal values that the root transforms into a curve
    inverse: Array  # of the covariance of the observations
    evidence: Array
    features: _Features
    bent: Array  # effect of each feature on the observations, times its deviation


def _fit(root: Array, observations: _Observations, deviation: float, features: _Features) -> _Fit:
    pulls = observations.rows @ root
    variance = deviation**2 * numpy.eye(len(observations.rows)) + pulls @ pulls.T
    inverse = numpy.linalg.inv(variance)
    alone = -observations.seen @ inverse @ observations.seen / 2 - numpy.linalg.slogdet(variance)[1] / 2
    # A feature adds a rank-one term to the covariance.
    bent = features.values @ observations.rows.T * features.deviation[:, None]
    projected = bent @ inverse
    lifted = 1 + (projected * bent).sum(1)
    gain = (projected @ observations.seen) ** 2 / lifted / 2 - numpy.log(lifted) / 2 + numpy.log(features.share)
    evidence = alone + numpy.concatenate([[math.log(1 - features.share.sum())], gain])
    return _Fit(root, pulls, inverse, evidence, features, bent)


def _draw(
    fit: _Fit, observations: _Observations, deviation: float, shapes: Array, generator: numpy.random.RandomState
) -> Array:
    """A posterior curve for each shape: 0 has no feature, others have one. Drawn from the prior, then corrected by the
    runs.
    """
    number, observed = len(shapes), len(observations.rows)
    normal = generator.standard_normal((number, fit.root.shape[0]))
    sizes = generator.standard_normal(number) * (shapes > 0)
    noise = generator.standard_normal((number, observed)) * deviation
    bent = numpy.concatenate([numpy.zeros((1, observed)), fit.bent])[shapes]
    residuals = observations.seen - noise - normal @ fit.pulls.T - sizes[:, None] * bent
    correction, projected = residuals @ fit.inverse, bent @ fit.inverse
    share = (correction * bent).sum(1) / (1 + (projected * bent).sum(1))
    correction -= share[:, None] * projected
    curves: Array = (normal + correction @ fit.pulls) @ fit.root.T
    sizes += (correction * bent).sum(1)
    added = fit.features.values * fit.features.deviation[:, None]
    added = numpy.concatenate([numpy.zeros((1, added.shape[1])), added])
    curves += sizes[:, None] * added[shapes]
    return curves

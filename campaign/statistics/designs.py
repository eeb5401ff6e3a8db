"""Designs the sample of an acceptance: how many of an offer's cells, how often each and in how many sessions, and which
ratio is enough. Pure.

A cell passes if the geometric mean of its new repetitions is at least `limit` times that of the offer's; the sample
passes if every drawn cell does. Cells are drawn without replacement, each with the same chance: with any preference, an
offer could be inflated where it is drawn least. So what is promised for a share of the cells holds for each class of
that size. An inflated offer need not have any noise, and the system that is measured may be quieter than it: the power
is that of the worst noise from `QUIET` to the assumed one, on days that differ or not, around the offer's means as they
are. Noise is log-normal, a part of it each cell's, a part common to all cells of a repetition or a session.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy
from numpy.typing import NDArray
from scipy import special

from campaign.statistics.offer_noise import Model

Numbers = NDArray[numpy.float64]

FEWEST, TIMES = 3, 4.0  # cells of a design; at most, relative to those that most probably contain an inflated one
REPETITIONS = (2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 100)  # that are tried: a single one may be disturbed
SESSIONS = (1, 2, 3, 4)
STAGES = 4  # in which repetitions are measured, at least, if there are as many
LIMITS = tuple(number / 100 for number in range(99, 9, -1))
MOST_LIMITS = 16  # that are tried
LACKING = 1000.0  # weight of what a limit lacks to the aims, against its errors
FAR = 3.0  # standard deviations that a ratio may be above 1
EXCESS = 3.09  # standard deviations that the noise of a sample may be above the assumed one
QUIET, LEVELS = 0.005, 3  # the smallest noise, and how many from it to the assumed one are tried
COMMON = numpy.linspace(-4, 4, 33)  # standard deviations of what cells have in common, over which is integrated
WEIGHTS = numpy.exp(-(COMMON**2) / 2) / numpy.exp(-(COMMON**2) / 2).sum()


@dataclass(frozen=True, slots=True)
class Aims:
    """At most `honest` of the honest offers are rejected; of those with `share` of the cells inflated by `inflation`,
    at least `power`.
    """

    honest: float
    inflation: float
    share: float
    power: float

    def inflated_count(self, cells: int) -> int:
        return math.ceil(self.share * cells - 1e-9)


@dataclass(frozen=True, slots=True)
class Design:
    cells: int
    repetitions: int
    limit: float
    sessions: int = 1

    @property
    def stage(self) -> int:
        """Repetitions until the first decision, and from each to the next."""
        return math.ceil(self.repetitions / max(self.sessions, min(self.repetitions, STAGES)))

    def ceilings(self, model: Model) -> Numbers:
        """For each cell the ratio above which it is faster than noise explains."""
        own_spreads, common = _spreads(model, min(model.shares), self)
        return numpy.maximum(1 / self.limit, numpy.exp(FAR * numpy.hypot(own_spreads, common)))


OPEN = Design(0, 0, 0.0, 0)


def design(model: Model, aims: Aims, fixed: Design = OPEN) -> tuple[Design, bool]:
    """The design that keeps the aims with the fewest measurements and sessions, or that comes nearest to them; whether
    it keeps them. `fixed`: what the buyer insists on, 0 where the design decides.
    """
    number = len(model.noises)
    max_cells = max(FEWEST, math.ceil(TIMES * math.log(1 - aims.power) / math.log(1 - min(aims.share, 0.9))))
    sizes = [fixed.cells] if fixed.cells else range(min(FEWEST, number), min(max_cells, number) + 1)
    # A cell that is inflated has to be below the limit without any noise.
    limits = [limit for limit in LIMITS if limit * (1 + aims.inflation) > 1] or [LIMITS[0]]
    limits = [fixed.limit] if fixed.limit else limits[:: math.ceil(len(limits) / MOST_LIMITS)]
    fewest, nearest = (math.inf, math.inf), fixed
    pairs = itertools.product(
        [fixed.repetitions] if fixed.repetitions else REPETITIONS, [fixed.sessions] if fixed.sessions else SESSIONS
    )
    for repetitions, sessions in sorted(pairs, key=math.prod):
        times, size = repetitions * sessions, Design(sizes[-1], repetitions, 0.0, sessions)
        if sessions > repetitions or fewest <= (0, sizes[0] * times):
            continue
        rejected = honest_rejections(model, size, limits)
        if rejected[sizes[0] :].min() - aims.honest > fewest[0]:
            continue
        caught = inflated_rejections(model, aims, size, limits)
        lacking = numpy.maximum(rejected - aims.honest, 0) + numpy.maximum(aims.power - caught, 0)
        errors = LACKING * lacking + rejected - caught  # of limits alike, the one with the fewest errors of both kinds
        for cells in sizes:
            place = int(errors[cells].argmin())
            cost = float(lacking[cells, place]), cells * times
            if cost < fewest:
                fewest, nearest = cost, Design(cells, repetitions, limits[place], sessions)
    return nearest, not fewest[0]


def outcome_probabilities(
    model: Model, aims: Aims, design_to_rate: Design, inflated: Sequence[float] = ()
) -> tuple[float, float, float]:
    """The probabilities that an honest offer is rejected (at most), that it is neither rejected nor accepted, since a
    cell is faster than noise explains, and that an inflated one is rejected (at least). `inflated`: by how much each
    cell is; otherwise those are by which it has the best chance.
    """
    limits, cells = [design_to_rate.limit], design_to_rate.cells
    rejected = honest_rejections(model, design_to_rate, limits)
    caught = inflated_rejections(model, aims, design_to_rate, limits, inflated)
    spreads = _spreads(model, min(model.shares), design_to_rate)
    passes = _pass_probabilities(spreads, limits)
    unremarked = passes - _pass_probabilities(spreads, [1.0], -numpy.log(design_to_rate.ceilings(model)))
    honest = float(rejected[cells, 0])
    acceptance = float(_all_pass_probabilities(unremarked, cells)[cells, 0])
    return honest, max(0.0, 1 - honest - acceptance), float(caught[cells, 0])


def is_noisier(excess: float, freedom: int) -> bool:
    """Whether a sample varies more than was assumed, at a level of 0.1%. `excess`: its variance relative to the assumed
    one, with so many degrees of freedom.
    """
    part = 2 / (9 * freedom)  # the distribution of chi-square (Wilson and Hilferty 1931)
    return excess > (1 - part + EXCESS * math.sqrt(part)) ** 3


def honest_rejections(model: Model, size: Design, limits: Sequence[float]) -> Numbers:
    """The probability that an honest offer is rejected, by the number of drawn cells (0 to those of `size`) and the
    limit.
    """
    passes = (_pass_probabilities(_spreads(model, share, size), limits) for share in model.shares)
    rejections: Numbers = numpy.max([1 - _all_pass_probabilities(chances, size.cells) for chances in passes], axis=0)
    return rejections


def inflated_rejections(
    model: Model, aims: Aims, size: Design, limits: Sequence[float], inflated: Sequence[float] = ()
) -> Numbers:
    """The probability that an inflated offer is rejected, in the same form."""
    number = len(model.noises)
    inflations = numpy.log1p(inflated or numpy.full(number, aims.inflation))
    inflated_count = number if inflated else aims.inflated_count(number)
    rejections = []
    for spreads in _spreads_of_inflated(model, size):
        honest, lower = (_pass_probabilities(spreads, limits, -shift) for shift in (0 * inflations, inflations))
        # The cells in which an inflated offer loses least.
        losses = -(lower @ WEIGHTS) / numpy.maximum(honest @ WEIGHTS, 1e-300)
        order = numpy.argsort(numpy.argsort(losses, axis=0, kind="stable"), axis=0)
        passes = numpy.where((order < inflated_count)[:, :, None], lower, honest)
        rejections.append(1 - _all_pass_probabilities(passes, size.cells))
    fewest: Numbers = numpy.min(rejections, axis=0)
    return fewest


def _spreads_of_inflated(model: Model, size: Design) -> Iterator[tuple[Numbers, float]]:
    """The spreads around the means of an offer as they are, of all noises and days with which it has to be caught."""
    loudest = max(noise.sigma for noise in model.noises)
    factors = numpy.geomspace(min(1.0, QUIET / loudest), 1, LEVELS)
    for factor, day, share in itertools.product(dict.fromkeys(factors), {0.0, model.day}, model.shares):
        noises = tuple(replace(noise, sigma=factor * noise.sigma) for noise in model.noises)
        yield _spreads(replace(model, noises=noises, day=day), share, size, around_means=True)


def _spreads(model: Model, share: float, size: Design, around_means: bool = False) -> tuple[Numbers, float]:
    """The standard deviations of the logarithm of a ratio: of each cell's own, and of what all have in common.
    `around_means`: those of the offer are taken as they are.
    """
    variances, repetitions, sessions = numpy.array(
        [(noise.sigma**2, noise.repetitions, noise.sessions) for noise in model.noises]
    ).T
    offers = numpy.zeros((2, len(variances))) if around_means else numpy.array([1 / repetitions, 1 / sessions])
    noise, day = variances * (1 / size.repetitions + offers[0]), model.day**2 * offers[1]
    own_variances = (1 - share) * noise + (0 if model.in_same_sessions else day)
    common = share * noise.mean() + model.day**2 / size.sessions + (day.mean() if model.in_same_sessions else 0)
    return numpy.sqrt(own_variances), math.sqrt(common)


def _pass_probabilities(
    spreads: tuple[Numbers, float], limits: Sequence[float], true_log_ratios: Numbers | float = 0.0
) -> Numbers:
    """The probability that each cell reaches each limit, for each value of what all have in common."""
    own_spreads, common = spreads
    above = numpy.broadcast_to(true_log_ratios, own_spreads.shape)[:, None] - numpy.log(limits)
    passes: Numbers = special.ndtr((above[:, :, None] + common * COMMON) / own_spreads[:, None, None])
    return passes


def _all_pass_probabilities(chances: Numbers, max_cells: int) -> Numbers:
    """The probability that all of 0 to `max_cells` drawn cells pass, from that of each cell, for each limit."""
    passed = numpy.zeros((max_cells + 1, *chances.shape[1:]))
    passed[0] = 1
    for number, chance in enumerate(chances, 1):
        # The last of so many cells is among the drawn ones with this probability.
        drawn = numpy.minimum(numpy.arange(1, max_cells + 1) / number, 1)[:, None, None]
        passed[1:] = (1 - drawn) * passed[1:] + drawn * chance * passed[:-1]
    probabilities: Numbers = passed @ WEIGHTS
    return probabilities


# --- decisions before all repetitions are measured

FEWEST_OF_REJECTION = 2  # repetitions: a single one may be disturbed
# Logarithms of the ratio: of one cell, which is too few to decide alone, since it may be disturbed; of all cells.
EVIDENCE_OF_CELL, MOST_EVIDENCE = 6.0, 600.0


def decisions(
    model: Model,
    aims: Aims,
    chosen_design: Design,
    size: Design,
    drawn: Sequence[int],
    log_ratios: Sequence[Sequence[float]] | Numbers,
) -> tuple[NDArray[numpy.bool_], NDArray[numpy.bool_]]:
    """Whether each sample is rejected, and whether it is accepted, by what was measured so far, which is `size`: by the
    limit at the end, before by the likelihood ratio too. `log_ratios`: of each sample, those of the drawn cells, whose
    places are `drawn`.
    """
    array = numpy.asarray(log_ratios)
    passes = numpy.all(array >= math.log(chosen_design.limit), axis=1)
    if size.repetitions >= chosen_design.repetitions and size.sessions >= chosen_design.sessions:
        return ~passes, passes
    ratios = likelihood_ratios(model, aims, size, drawn, array)
    lowest, highest = stage_limits(aims)
    if size.repetitions < FEWEST_OF_REJECTION:
        highest = math.inf
    return ~passes & (ratios >= highest), passes & (ratios <= lowest)


def stage_limits(aims: Aims) -> tuple[float, float]:
    """The likelihood ratios of an inflated offer to an honest one down to which a sample is accepted, and from which on
    it is rejected (Wald 1945).
    """
    return (1 - aims.power) / (1 - aims.honest), aims.power / aims.honest


def likelihood_ratios(model: Model, aims: Aims, size: Design, drawn: Sequence[int], log_ratios: Numbers) -> Numbers:
    """How much likelier each sample is if the offer is inflated than if it is honest."""
    number, shift = len(model.noises), math.log1p(aims.inflation)
    inflated_count = aims.inflated_count(number)
    own_spreads, common = _spreads(model, min(model.shares), size)
    variance = own_spreads.max() ** 2  # an offer may be inflated where it is noisiest
    deviations = log_ratios[:, :, None] - common * COMMON
    likelihoods = -(deviations**2 / variance / 2).sum(1) + numpy.log(WEIGHTS)
    limit = min(EVIDENCE_OF_CELL, MOST_EVIDENCE / len(drawn))
    evidence = numpy.exp((-shift * (deviations + shift / 2) / variance).clip(-limit, limit))
    # Of the cells so far, the ratio with each number of inflated ones among them.
    ratios = numpy.zeros((min(len(drawn), inflated_count) + 1, *likelihoods.shape))
    ratios[0] = 1
    counts = numpy.arange(len(ratios))[:, None, None]
    for place in range(len(drawn)):
        chance = ((inflated_count - counts) / (number - place)).clip(0, 1)
        inflated = ratios[:-1] * chance[:-1] * evidence[:, place]
        ratios *= 1 - chance
        ratios[1:] += inflated
    weights = numpy.exp(likelihoods - likelihoods.max(1, keepdims=True))
    total: Numbers = (weights * ratios.sum(0)).sum(1) / weights.sum(1)
    return total

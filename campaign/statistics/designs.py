"""Designs the sample of an acceptance: how many of an offer's cells, how often each, and which ratio is enough. Pure.

A cell passes if the geometric mean of its new repetitions is at least `limit` times that of the offer's; the sample
passes if every drawn cell does. Cells are drawn without replacement, each with the same chance: with any preference, an
offer could be inflated where it is drawn least. So what is promised for a share of the cells holds for each class of
that size. The probabilities are exact for log-normal noise, cell by cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import NDArray
from scipy import special

Numbers = NDArray[numpy.float64]

FEWEST, MOST = 3, 100  # cells of a design that nobody insisted on
REPETITIONS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100)  # those that are tried
LIMITS = tuple(number / 100 for number in range(99, 9, -1))
LACKING = 1000.0  # weight of what a limit lacks to the aims, against its errors
FAR = 3.0  # standard deviations that a ratio may be above 1
EXCESS = 3.09  # standard deviations that the noise of a sample may be above the assumed one


@dataclass(frozen=True, slots=True)
class Noise:
    """What is known of a cell: the standard deviation of a repetition's logarithm, and how many the offer has."""

    sigma: float
    repetitions: int

    def spread(self, repetitions: int) -> float:
        """The standard deviation of the logarithm of the ratio, if the cell is measured so often again."""
        return self.sigma * math.sqrt(1 / repetitions + 1 / self.repetitions)


@dataclass(frozen=True, slots=True)
class Aims:
    """At most `honest` of the honest offers are rejected; of those with `share` of the cells inflated by `inflation`,
    at least `power`.
    """

    honest: float
    inflation: float
    share: float
    power: float


@dataclass(frozen=True, slots=True)
class Design:
    cells: int
    repetitions: int
    limit: float

    def ceiling(self, noise: Noise) -> float:
        """The ratio above which a cell is faster than noise explains."""
        return max(1 / self.limit, math.exp(FAR * noise.spread(self.repetitions)))


OPEN = Design(0, 0, 0.0)


def design(noises: Sequence[Noise], aims: Aims, fixed: Design = OPEN) -> tuple[Design, bool]:
    """The design that keeps the aims with the fewest measurements, or that comes nearest to them; whether it keeps
    them. `fixed`: what the buyer insists on, 0 where the design decides.
    """
    sizes = [fixed.cells] if fixed.cells else range(min(FEWEST, len(noises)), min(MOST, len(noises)) + 1)
    limits = [fixed.limit] if fixed.limit else LIMITS
    candidates: list[tuple[float, int, Design]] = []
    for repetitions in [fixed.repetitions] if fixed.repetitions else REPETITIONS:
        rejected, caught = _rejection_probabilities(noises, aims, repetitions, limits, sizes[-1])
        lacking = numpy.maximum(rejected - aims.honest, 0) + numpy.maximum(aims.power - caught, 0)
        errors = LACKING * lacking + rejected - caught  # of limits alike, the one with the fewest errors of both kinds
        best = [(cells, int(errors[cells].argmin())) for cells in sizes]
        designs = ((float(lacking[cells, place]), Design(cells, repetitions, limits[place])) for cells, place in best)
        candidates += [(short, candidate.cells * candidate.repetitions, candidate) for short, candidate in designs]
    short, _, nearest = min(candidates, key=lambda ranked_design: ranked_design[:2])
    return nearest, not short


def outcome_probabilities(
    noises: Sequence[Noise], aims: Aims, design_to_rate: Design, inflated: Sequence[float] = ()
) -> tuple[float, float, float]:
    """The probabilities that an honest offer is rejected, that it is neither rejected nor accepted, since a cell is
    faster than noise explains, and that an inflated one is rejected. `inflated`: by how much each cell is; otherwise
    those are by which it has the best chance.
    """
    rejected, caught = _rejection_probabilities(
        noises, aims, design_to_rate.repetitions, [design_to_rate.limit], design_to_rate.cells, inflated
    )
    far = [-math.log(design_to_rate.ceiling(noise)) for noise in noises]
    unremarked = _pass_probabilities(noises, design_to_rate.repetitions, [design_to_rate.limit]) - _pass_probabilities(
        noises, design_to_rate.repetitions, [1.0], far
    )
    honest, acceptance = (
        float(rejected[design_to_rate.cells, 0]),
        float(_all_pass_probabilities(unremarked, design_to_rate.cells)[design_to_rate.cells, 0]),
    )
    return honest, max(0.0, 1 - honest - acceptance), float(caught[design_to_rate.cells, 0])


def is_noisier(excess: float, freedom: int) -> bool:
    """Whether a sample varies more than was assumed, at a level of 0.1%. `excess`: its variance relative to the assumed
    one, with so many degrees of freedom.
    """
    part = 2 / (9 * freedom)  # the distribution of chi-square (Wilson and Hilferty 1931)
    return excess > (1 - part + EXCESS * math.sqrt(part)) ** 3


def _rejection_probabilities(
    noises: Sequence[Noise],
    aims: Aims,
    repetitions: int,
    limits: Sequence[float],
    max_cells: int,
    inflated: Sequence[float] = (),
) -> tuple[Numbers, Numbers]:
    """The probability that an honest offer is rejected, and that an inflated one is, by the number of drawn cells (0 to
    `max_cells`) and the limit.
    """
    honest = _pass_probabilities(noises, repetitions, limits)
    inflations = inflated or [aims.inflation] * len(noises)
    lower = _pass_probabilities(noises, repetitions, limits, [-math.log1p(inflation) for inflation in inflations])
    # The cells in which an inflated offer loses least.
    order = numpy.argsort(numpy.argsort(-lower / numpy.maximum(honest, 1e-300), axis=0, kind="stable"), axis=0)
    number = math.ceil(aims.share * len(noises) - 1e-9)
    inflated_passes = numpy.where(order < (len(noises) if inflated else number), lower, honest)
    return 1 - _all_pass_probabilities(honest, max_cells), 1 - _all_pass_probabilities(inflated_passes, max_cells)


def _pass_probabilities(
    noises: Sequence[Noise], repetitions: int, limits: Sequence[float], true_log_ratios: Sequence[float] = ()
) -> Numbers:
    """The probability that each cell reaches each limit. `true_log_ratios`: the logarithms of the cells' true ratios,
    if those are not 1.
    """
    spreads = numpy.array([noise.spread(repetitions) for noise in noises])
    above = numpy.array(true_log_ratios or [0.0] * len(noises))[:, None] - numpy.log(limits)[None, :]
    passes: Numbers = special.ndtr(above / spreads[:, None])
    return passes


def _all_pass_probabilities(chances: Numbers, max_cells: int) -> Numbers:
    """The probability that all of 0 to `max_cells` drawn cells pass, from that of each cell, for each limit."""
    passed = numpy.zeros((max_cells + 1, chances.shape[1]))
    passed[0] = 1
    for number, chance in enumerate(chances, 1):
        # The last of so many cells is among the drawn ones with this probability.
        drawn = numpy.minimum(numpy.arange(1, max_cells + 1) / number, 1)[:, None]
        passed[1:] = (1 - drawn) * passed[1:] + drawn * chance * passed[:-1]
    return passed

"""The Universal Scalability Law (Gunther), fitted to the points of a search, and its extrapolation. Pure.

X(p) = rate · p / (1 + contention · (p - 1) + coherence · p · (p - 1))

X is the rate of p processes; `rate` that of one. A cross-check and a basis for extrapolation, never a measurement.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from campaign.core.grouping import grouped

RESAMPLES = 200
FEWEST_COUNTS = 4  # numbers of processes: one more than parameters
LACK_OF_FIT = 0.1  # p-value below which the law does not describe the points
LIKELIER = 3.0  # log likelihood ratio of the law over a plateau: 20 times likelier
MISSED = 0.1  # relative error of the highest count's rate, predicted from the lower half of the counts


@dataclass(frozen=True, slots=True)
class Law:
    rate: float
    contention: float
    coherence: float

    def at(self, processes: float) -> float:
        load = 1 + self.contention * (processes - 1) + self.coherence * processes * (processes - 1)
        return self.rate * processes / load

    @property
    def peak(self) -> float:
        """Number of processes with the highest rate; infinite if the rate only rises."""
        return math.sqrt(max(0.0, 1 - self.contention) / self.coherence) if self.coherence > 0 else math.inf


@dataclass(frozen=True, slots=True)
class ScalingFit:
    """`resampled`: laws fitted to points resampled around this one (bootstrap of the residuals). `misfit`: p-value of
    the lack-of-fit F test; None without repeated runs. `foretold`: relative error of the highest count's rate,
    predicted from counts up to half of it; None if these are too few. `over_plateau`: log likelihood ratio of the law
    over a rate that rises up to some count and is constant from there.
    """

    law: Law
    resampled: tuple[Law, ...]
    largest_error: float  # relative to a count's geometric mean
    misfit: float | None = None
    foretold: float | None = None
    deviation: float = 0.0  # standard deviation of one run from the law
    over_plateau: float = math.inf

    @property
    def holds(self) -> bool:
        """Whether the law describes the points, describes them better than a plateau, and predicts the upper half from
        the lower one. Otherwise an interval beyond them would belong to a law that does not hold.
        """
        describes = self.misfit is not None and self.misfit >= LACK_OF_FIT and self.over_plateau >= LIKELIER
        return describes and self.foretold is not None and self.foretold <= max(MISSED, 2 * self.deviation)

    def at(self, processes: int) -> tuple[float, float, float]:
        """Rate at a number of processes, and its 95% interval if the law holds."""
        predictions = sorted(law.at(processes) for law in self.resampled)
        last = len(predictions) - 1
        return self.law.at(processes), predictions[math.floor(0.025 * last)], predictions[math.ceil(0.975 * last)]


def fit(points: Sequence[tuple[int, float]]) -> ScalingFit:
    """Fit to (processes, rate). Raises ValueError with fewer than FEWEST_COUNTS numbers of processes, or a rate that is
    not above zero.
    """
    for processes, rate in points:
        if not (math.isfinite(rate) and rate > 0):
            raise ValueError(f"found rate {rate} with {processes} processes; the model needs rates above zero")
    counts = grouped(points)
    if len(counts) < FEWEST_COUNTS:
        raise ValueError(f"found {len(counts)} process counts; the model needs {FEWEST_COUNTS} or more")
    law = _fit_law(points)
    chance = random.Random(len(points))
    # Residuals of all points are resampled together: most counts have one run or three, too few on their own.
    farther = math.sqrt(len(points) / (len(points) - 3))
    distances = [farther * math.log(rate / law.at(processes)) for processes, rate in points]
    resampled = tuple(
        _fit_law([(processes, law.at(processes) * math.exp(chance.choice(distances))) for processes, _ in points])
        for _ in range(RESAMPLES)
    )
    geometric_means = {count: math.exp(sum(map(math.log, values)) / len(values)) for count, values in counts.items()}
    return ScalingFit(
        law,
        resampled,
        max(abs(law.at(count) / mean - 1) for count, mean in geometric_means.items()),
        _misfit(law, counts, geometric_means),
        _prediction_error(points, geometric_means),
        math.sqrt(sum(distance**2 for distance in distances) / len(distances)),
        _plateau_log_likelihood_ratio(law, counts),
    )


def _misfit(law: Law, counts: Mapping[int, Sequence[float]], geometric_means: Mapping[int, float]) -> float | None:
    from scipy import special

    runs = sum(map(len, counts.values()))
    between_freedom, within_freedom = len(counts) - 3, runs - len(counts)
    noise = sum(math.log(rate / geometric_means[count]) ** 2 for count, rates in counts.items() for rate in rates)
    if within_freedom < 1 or not noise:
        return None
    off = sum(len(rates) * math.log(geometric_means[count] / law.at(count)) ** 2 for count, rates in counts.items())
    return float(special.fdtrc(between_freedom, within_freedom, off / between_freedom / (noise / within_freedom)))


def _plateau_log_likelihood_ratio(law: Law, counts: Mapping[int, Sequence[float]]) -> float:
    """Log likelihood ratio over the best plateau, over all counts at which it may begin."""
    runs = sum(map(len, counts.values()))
    by_law = sum(math.log(rate / law.at(count)) ** 2 for count, rates in counts.items() for rate in rates)
    plateau_misfit = math.inf
    for knee in counts:
        rising = [math.log(rate / count) for count, rates in counts.items() for rate in rates if count <= knee]
        constant = [math.log(rate) for count, rates in counts.items() for rate in rates if count > knee]
        plateau_misfit = min(plateau_misfit, _sum_of_squares(rising) + _sum_of_squares(constant))
    if not by_law or not plateau_misfit:
        return 0.0 if by_law else math.inf
    return runs / 2 * math.log(plateau_misfit / by_law)


def _sum_of_squares(values: Sequence[float]) -> float:
    mean = sum(values) / max(1, len(values))
    return sum((value - mean) ** 2 for value in values)


def _prediction_error(points: Sequence[tuple[int, float]], geometric_means: Mapping[int, float]) -> float | None:
    highest_count = max(geometric_means)
    lower = [(count, rate) for count, rate in points if 2 * count <= highest_count]
    if len({count for count, _ in lower}) < FEWEST_COUNTS:
        return None
    return abs(_fit_law(lower).at(highest_count) / geometric_means[highest_count] - 1)


def _fit_law(points: Sequence[tuple[int, float]]) -> Law:
    """Least squares of relative errors of p / X, which is linear in 1/rate, contention/rate and coherence/rate."""
    import numpy
    from scipy import optimize

    processes = numpy.array([point[0] for point in points], dtype=float)
    per_process = numpy.array([point[1] for point in points], dtype=float) / processes
    columns = numpy.stack([numpy.ones_like(processes), processes - 1, processes * (processes - 1)], axis=1)
    table: Any = columns * per_process[:, None]
    scale = numpy.abs(table).max(axis=0)
    scale[scale == 0] = 1.0
    weights, _ = optimize.nnls(table / scale, numpy.ones_like(processes))
    base, contention, coherence = (float(value) for value in weights / scale)
    if base <= 0:  # no positive rate of one process fits: the smallest that the points allow
        base = float(1 / per_process.max()) * 1e-9
    return Law(1 / base, contention / base, coherence / base)

"""The max-rate model of communication under contention (Gropp, Olson, Samfass 2016), extended by a limit of the message
rate, fitted to a sweep. Pure.

T = a + (k - 1)·g + k·m / min(R_N, R_Cb + (k - 1)·R_Ci)

T is the time in which each of k pairs of processes sends one message of m bytes from one node to another. a is the time
of an empty message; g is what each further pair adds to it, since a node sends at most 1 / g messages a second. R_N is
the highest rate of a node, R_Cb the rate of its first process, and R_Ci what each further process adds. Times are
seconds, rates bytes per second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields
from statistics import median
from typing import Any

FOLDS = 5  # number of times that a fit leaves out every fifth point
FEWEST_POINTS = 8
PARAMETERS = 5
CLAIMED = 0.05  # p-value below which the node's limit is reported as reached
_Parameters = tuple[float, float, float, float, float]  # a, R_Cb, R_N / R_Cb, R_Ci / R_Cb, g
_LEAST_SHARE = 1e-6  # of the first pair's rate: below it, further pairs add nothing


@dataclass(frozen=True, slots=True)
class Point:
    pairs: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ContentionModel:
    latency_s: float  # a
    node_bytes_s: float  # R_N
    first_bytes_s: float  # R_Cb
    further_bytes_s: float  # R_Ci
    further_s: float = 0.0  # g

    def predicted(self, points: Sequence[Point]) -> list[tuple[Point, float]]:
        """Points with the times that the model predicts."""
        return [(point, self.seconds(point.pairs, point.size_bytes)) for point in points]

    def seconds(self, pairs: int, size_bytes: int) -> float:
        return self.latency_s + (pairs - 1) * self.further_s + pairs * size_bytes / self.rate(pairs)

    def rate(self, pairs: int) -> float:
        """The rate of all pairs together, in bytes per second."""
        return min(self.node_bytes_s, self.first_bytes_s + (pairs - 1) * self.further_bytes_s)


@dataclass(frozen=True, slots=True)
class Errors:
    """|predicted / measured - 1| over some points."""

    points: int
    median: float
    ninth_decile: float
    largest: float


@dataclass(frozen=True, slots=True)
class ContentionFit:
    """`held_back`: each point predicted by a fit without it. `most_pairs`: the points with the most pairs, predicted by
    a fit without them; None with fewer than 3 numbers of pairs. `without_model`: each point predicted from the rate of
    one pair alone. `ranges`: smallest and largest value of each parameter over the fits that left points out.
    """

    model: ContentionModel
    pairs: int  # the largest measured number of pairs
    node_limit_reached: bool  # if not, the sweep only shows a lower bound of R_N
    node_limit_p: float  # p-value (F test) of the better fit with a limit, if there is none
    fitted: Errors
    held_back: Errors
    most_pairs: Errors | None
    without_model: Errors | None
    ranges: dict[str, tuple[float, float]]

    def as_json(self) -> dict[str, Any]:
        return {
            "formula": "seconds = latency_s + (pairs - 1) * further_s + pairs * size_bytes / min(node_bytes_s, "
            "first_bytes_s + (pairs - 1) * further_bytes_s)",
            **asdict(self),
        }


def fit(points: Sequence[Point]) -> ContentionFit:
    """Fit the model and estimate its errors.

    Raises ValueError if the points cannot determine four parameters: fewer than FEWEST_POINTS, one number of pairs, one
    size, or a time that is not above zero.
    """
    if len(points) < FEWEST_POINTS:
        raise ValueError(f"found {len(points)} points; the model needs {FEWEST_POINTS} or more")
    if len({point.pairs for point in points}) < 2 or len({point.size_bytes for point in points}) < 2:
        raise ValueError("found one number of pairs or one size only; the model needs several of both")
    if not all(math.isfinite(point.seconds) and point.seconds > 0 for point in points):
        raise ValueError("found a time that is not above zero; the model needs times above zero")
    ordered = sorted(points, key=lambda point: (point.pairs, point.size_bytes))
    model, misfit = _fit_model(ordered, None)
    p = _no_limit_probability(misfit, _without_limit(ordered, model), len(ordered))
    held_back: list[tuple[Point, float]] = []
    models = []
    for fold in range(FOLDS):
        seen = [point for index, point in enumerate(ordered) if index % FOLDS != fold]
        models.append(_fit_model(seen, [_parameters(model)])[0])
        held_back += models[-1].predicted(ordered[fold::FOLDS])
    most_pairs = max(point.pairs for point in ordered)
    return ContentionFit(
        model=model,
        pairs=most_pairs,
        node_limit_reached=model.rate(most_pairs) >= model.node_bytes_s and p < CLAIMED,
        node_limit_p=p,
        fitted=_errors(model.predicted(ordered)),
        held_back=_errors(held_back),
        most_pairs=_extrapolation_errors(ordered, most_pairs),
        without_model=_one_pair_errors(ordered),
        ranges={
            parameter.name: (min(fitted), max(fitted))
            for parameter, fitted in zip(fields(model), zip(*map(astuple, models), strict=True), strict=True)
        },
    )


def _extrapolation_errors(points: Sequence[Point], most_pairs: int) -> Errors | None:
    fewer = [point for point in points if point.pairs < most_pairs]
    if len({point.pairs for point in fewer}) < 2 or len(fewer) < FEWEST_POINTS:
        return None
    return _errors(_fit_model(fewer, None)[0].predicted([point for point in points if point.pairs == most_pairs]))


def _one_pair_errors(points: Sequence[Point]) -> Errors | None:
    alone = {point.size_bytes: point.seconds for point in points if point.pairs == 1}
    guesses = [(point, alone[point.size_bytes]) for point in points if point.pairs > 1 and point.size_bytes in alone]
    return _errors(guesses) if guesses else None


def _errors(predicted: Sequence[tuple[Point, float]]) -> Errors:
    errors = sorted(abs(seconds / point.seconds - 1) for point, seconds in predicted)
    return Errors(len(errors), median(errors), errors[math.ceil(0.9 * len(errors)) - 1], errors[-1])


def _no_limit_probability(misfit: float, misfit_without_limit: float, points: int) -> float:
    from scipy import special

    freedom = points - PARAMETERS
    if freedom < 1 or misfit_without_limit <= misfit:
        return 1.0
    return float(special.fdtrc(1, freedom, (misfit_without_limit - misfit) / max(misfit, 1e-12) * freedom))


def _fit_model(
    points: Sequence[Point], near: Sequence[_Parameters] | None, limited: bool = True
) -> tuple[ContentionModel, float]:
    """Least squares of log(T) with a robust loss, from several starting points, or from the fit of nearly the same
    points. Gives the fit and its residual. `limited`: whether a node's rate is limited. A further pair adds at most the
    rate of the first one, and a node's rate is at least that of its first process.
    """
    import numpy
    from scipy import optimize

    pairs = numpy.array([point.pairs for point in points], dtype=float)
    sizes = numpy.array([point.size_bytes for point in points], dtype=float)
    measured = numpy.log([point.seconds for point in points])
    fastest = max(point.pairs * point.size_bytes / point.seconds for point in points)
    quickest = min(point.seconds for point in points)

    def residuals(logs: Any) -> Any:
        latency, first, limit, share, further = numpy.exp(logs)
        rate = first * numpy.minimum(limit, 1 + (pairs - 1) * share)
        return numpy.log(latency + (pairs - 1) * further + pairs * sizes / rate) - measured

    unreached_limit = 2.0 * max(point.pairs for point in points)  # a limit that no number of pairs reaches
    lowest = numpy.log([quickest * 1e-3, fastest * 1e-3, 1.0 if limited else 0.999 * unreached_limit, _LEAST_SHARE,
                        quickest * _LEAST_SHARE])  # fmt: skip
    highest = numpy.log([quickest * 1e3, fastest * 10, unreached_limit, 1.0, quickest * 1e3])
    best = None
    # The node's limit reached early, late or never; several ratios of the first pair to further ones.
    starts = near or [
        (quickest, fastest * part, limit, share, quickest * 0.03)
        for part in (0.8, 0.2)
        for limit in (1.1, 3.0)
        for share in (0.9, 0.3, 0.01)
    ]
    for start in starts:
        solution = optimize.least_squares(
            residuals, numpy.clip(numpy.log(start), lowest, highest), bounds=(lowest, highest), x_scale="jac",
            loss="soft_l1", f_scale=0.1, xtol=1e-8, ftol=1e-8, gtol=1e-8, max_nfev=120,
        )  # fmt: skip
        if best is None or solution.cost < best.cost:
            best = solution
    assert best is not None
    latency, first, limit, share, further = (float(value) for value in numpy.exp(best.x))
    model = ContentionModel(
        latency,
        first * limit,
        first,
        first * share if share > 2 * _LEAST_SHARE else 0.0,
        further if further > 2 * quickest * _LEAST_SHARE else 0.0,
    )
    return model, 2 * float(best.cost)


def _without_limit(points: Sequence[Point], model: ContentionModel) -> float:
    """The residual of a fit in which further pairs always add as much as the second one."""
    latency, first, _, share, further = _parameters(model)
    shares = (share, math.sqrt(share * 0.1), 0.03)
    return _fit_model(
        points, [(latency, first, math.inf, further_share, further) for further_share in shares], limited=False
    )[1]


def _parameters(model: ContentionModel) -> _Parameters:
    first = model.first_bytes_s
    share = max(model.further_bytes_s / first, _LEAST_SHARE)
    further = max(model.further_s, model.latency_s * _LEAST_SHARE)
    return model.latency_s, first, model.node_bytes_s / first, share, further

"""How long an execution takes, by those that have ended: also one of a kind of which none has. Pure.

The logarithm of a length is a sum of parts: one of all executions, of the target, of the file configuration, of the
launch condition, of the three together (a Gaussian process: what has ended says how large each is likely to be), and a
trend over the size. Trends are those of a start-up that grows with processes or nodes, also faster than they do, and of
a total that is shared: `1 + slope (size - 1) ^ power` and `rest + (1 - rest) / processes`. The machine is quiet or
loaded. Each trend on each machine is a hypothesis, which counts as far as it explains what has ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import mul

from campaign.core.frozen import dataclass
from campaign.core.model import Geometry

MOST_KINDS = 60  # that are compared: the work grows with the cube of it
# Standard deviations of the parts, in natural logarithms.
ALL, TARGET, FILES = 3.0, 0.5, 0.6
SLOPES = tuple(2.0**power for power in range(-10, 3))
POWERS = ((1.0, 1.0), (1.5, 0.3), (2.0, 0.1))  # with how likely each is beside the first
RESTS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001, 0.0)
STARTS, SHARES = 3.0, 16.0  # how much likelier trends of start-up or of shared work are, where that is suggested

Trend = Callable[[Geometry], float]


@dataclass(frozen=True, slots=True)
class Kind:
    """What decides how long an execution takes."""

    target: str
    launch: str
    files: str
    geometry: Geometry


@dataclass(frozen=True, slots=True)
class Machine:
    """How much lengths differ without a trend: standard deviations, in natural logarithms."""

    launch: float
    combination: float
    noise: float
    likely: float


MACHINES = (Machine(0.2, 0.15, 0.15, 1.0), Machine(0.4, 0.3, 0.35, 0.5), Machine(0.7, 0.5, 0.7, 0.15))


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """`logs`: the logarithms of the lengths that it expects of the kinds asked for. `weights` of all add up to 1."""

    weight: float
    machine: int  # of MACHINES
    logs: tuple[float, ...]


class Lengths:
    """Seconds of executions; `limit_s` as long as none has ended.

    `shared`: a large total of work is shared by the processes; otherwise, as in a rehearsal, start-up takes the most.
    """

    def __init__(self, taken: Mapping[Kind, Sequence[float]], limit_s: float, shared: bool) -> None:
        self.known = bool(taken)
        self._limit_s = limit_s
        self._kinds = list(taken)[-MOST_KINDS:]
        self._triangles: list[list[list[float]]] = []
        # Weight, machine, trend, and how far each kind is from the trend, multiplied with the inverse of the triangle.
        fits: list[tuple[float, int, Trend, list[float]]] = []
        self._fits: list[tuple[float, int, Trend, list[float]]] = []  # the same with the weights of the kinds
        if not self.known:
            return
        logs = [[math.log(max(seconds, 1e-3)) for seconds in taken[kind]] for kind in self._kinds]
        means = [math.fsum(values) / len(values) for values in logs]
        self._mean = math.fsum(map(math.fsum, logs)) / sum(map(len, logs))
        scatter = math.fsum((value - mean) ** 2 for values, mean in zip(logs, means, strict=True) for value in values)
        repeated = sum(map(len, logs)) - len(logs)
        trends = [(likely, trend, [trend(kind.geometry) for kind in self._kinds]) for likely, trend in _trends(shared)]
        for number, machine in enumerate(MACHINES):
            lower = _triangle(
                [
                    [
                        _shared(machine, kind, other) + (machine.noise**2 / len(values) if kind is other else 0.0)
                        for other in self._kinds
                    ]
                    for kind, values in zip(self._kinds, logs, strict=True)
                ]
            )
            self._triangles.append(lower)
            base = math.log(machine.likely) - math.fsum(math.log(row[-1]) for row in lower)
            base -= scatter / machine.noise**2 / 2 + repeated * math.log(machine.noise)
            for likely, trend, expected in trends:
                apart = [mean - self._mean - log for mean, log in zip(means, expected, strict=True)]
                forward = _forward(lower, apart)
                misfit = math.fsum(map(mul, forward, forward))
                fits.append((base + math.log(likely) - misfit / 2, number, trend, forward))
        best = max(weight for weight, *_ in fits)
        total = math.fsum(math.exp(weight - best) for weight, *_ in fits)
        self._fits = [
            (share, number, trend, _backward(self._triangles[number], forward))
            for weight, number, trend, forward in fits
            if (share := math.exp(weight - best) / total) > 1e-4  # the others change nothing
        ]

    def of(self, kind: Kind) -> float:
        if not self.known:
            return self._limit_s
        hypotheses = list(self.hypotheses([kind]))
        weights = math.fsum(each.weight for each in hypotheses)
        return math.exp(math.fsum(each.weight * each.logs[0] for each in hypotheses) / weights)

    def hypotheses(self, kinds: Sequence[Kind]) -> Iterator[Hypothesis]:
        common = [[[_shared(machine, kind, other) for other in self._kinds] for kind in kinds] for machine in MACHINES]
        for weight, machine, trend, solution in self._fits:
            logs = tuple(
                self._mean + trend(kind.geometry) + math.fsum(map(mul, solution, row))
                for kind, row in zip(kinds, common[machine], strict=True)
            )
            yield Hypothesis(weight, machine, logs)

    def deviation(self, machine: int, parts: Mapping[Kind, float]) -> float:
        """Standard deviation of the sum of such parts of the logarithms of lengths: how well they are known, without
        the noise of each execution.
        """
        law = MACHINES[machine]
        spread = math.fsum(
            part * other_part * _shared(law, kind, other)
            for kind, part in parts.items()
            for other, other_part in parts.items()
        )
        seen = [math.fsum(part * _shared(law, kind, other) for kind, part in parts.items()) for other in self._kinds]
        known = math.fsum(value * value for value in _forward(self._triangles[machine], seen))
        return math.sqrt(max(0.0, spread - known))


def _shared(machine: Machine, first: Kind, second: Kind) -> float:
    """The covariance of two kinds: what they have in common."""
    same = (
        (TARGET, first.target == second.target),
        (FILES, first.files == second.files),
        (machine.launch, first.launch == second.launch),
        (machine.combination, first == second),
    )
    return ALL**2 + sum(part**2 for part, shares in same if shares)


def _trends(shared: bool) -> list[tuple[float, Trend]]:
    """The possible trends, each with its prior probability."""
    trends: list[tuple[float, Trend]] = [(1.0, lambda size: 0.0)]
    for slope in SLOPES:
        likely = (1.0 if shared else STARTS) / len(SLOPES)
        trends.append((likely, lambda size, slope=slope: math.log(1 + slope * (size.nodes - 1))))  # type: ignore[misc]
        trends += [
            (
                likely * beside,
                lambda size, slope=slope, power=power: math.log(1 + slope * (size.processes - 1) ** power),  # type: ignore[misc]
            )
            for power, beside in POWERS
        ]
    for rest in RESTS:
        likely = (SHARES if shared else 1.0) / len(RESTS)
        trends.append((likely, lambda size, rest=rest: math.log(rest + (1 - rest) / size.processes)))  # type: ignore[misc]
    return trends


def _triangle(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The lower triangle whose square is a symmetric positive definite matrix (Cholesky)."""
    lower: list[list[float]] = []
    for place, row in enumerate(matrix):
        line: list[float] = []
        for column in range(place):
            above = lower[column]
            line.append((row[column] - sum(map(mul, line, above))) / above[column])
        line.append(math.sqrt(row[place] - sum(map(mul, line, line))))
        lower.append(line)
    return lower


def _forward(lower: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """The inverse of the triangle times the right side: half of the way to the solution of a system."""
    forward: list[float] = []
    for row, value in zip(lower, right, strict=True):
        forward.append((value - sum(map(mul, row, forward))) / row[-1])
    return forward


def _backward(lower: Sequence[Sequence[float]], forward: Sequence[float]) -> list[float]:
    """The other half."""
    solution = list(forward)
    for place in reversed(range(len(lower))):
        below = sum(lower[other][place] * solution[other] for other in range(place + 1, len(lower)))
        solution[place] = (solution[place] - below) / lower[place][place]
    return solution

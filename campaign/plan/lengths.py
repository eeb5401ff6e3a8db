"""How long an execution takes, by those that have ended: also one of a kind of which none has. Pure.

The logarithm of a length is a sum of parts: one of all executions, of the target, of the file configuration, of the
launch condition, of the three together (a Gaussian process: what has ended says how large each is likely to be), and a
trend over the size. Trends are those of a start-up that grows with processes or nodes, and of a total that is shared:
`1 + slope (size - 1)` and `rest + (1 - rest) / processes`. Each counts as far as it explains what has ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from campaign.core.model import Geometry

MOST_KINDS = 100  # that are looked at: the work grows with the cube of it
# Standard deviations of the parts, in natural logarithms.
ALL, TARGET, FILES, LAUNCH, COMBINATION, NOISE = 3.0, 0.5, 0.6, 0.1, 0.1, 0.1
SLOPES = tuple(2.0**power for power in range(-10, 3))
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


class Lengths:
    """Seconds of executions; `limit_s` as long as none has ended.

    `shared`: a large total of work is shared by the processes; otherwise, as in a rehearsal, start-up takes the most.
    """

    def __init__(self, taken: Mapping[Kind, Sequence[float]], limit_s: float, shared: bool) -> None:
        self.known = bool(taken)
        self._limit_s = limit_s
        self._kinds = list(taken)[-MOST_KINDS:]
        logs = [[math.log(max(seconds, 1e-3)) for seconds in taken[kind]] for kind in self._kinds]
        self._mean = sum(map(math.fsum, logs)) / max(1, sum(map(len, logs)))
        lower = _triangle(
            [
                [_shared(kind, other) + (NOISE**2 / len(values) if kind is other else 0.0) for other in self._kinds]
                for kind, values in zip(self._kinds, logs, strict=True)
            ]
        )
        self._trends: list[tuple[float, Trend, list[float]]] = []  # weight, trend, weights of the kinds
        for likely, trend in _trends(shared):
            apart = [
                math.fsum(values) / len(values) - self._mean - trend(kind.geometry)
                for kind, values in zip(self._kinds, logs, strict=True)
            ]
            solution = _solved(lower, apart)
            misfit = sum(a * b for a, b in zip(apart, solution, strict=True))
            self._trends.append((math.log(likely) - misfit / 2, trend, solution))
        best = max(weight for weight, _, _ in self._trends)
        self._trends = [(math.exp(weight - best), trend, solution) for weight, trend, solution in self._trends]

    def of(self, kind: Kind) -> float:
        if not self.known:
            return self._limit_s
        common = [_shared(kind, other) for other in self._kinds]
        total = 0.0
        for weight, trend, solution in self._trends:
            apart = sum(a * b for a, b in zip(solution, common, strict=True))
            total += weight * (trend(kind.geometry) + apart)
        return math.exp(self._mean + total / sum(weight for weight, _, _ in self._trends))


def _shared(first: Kind, second: Kind) -> float:
    """The covariance of two kinds: what they have in common."""
    same = (
        (TARGET, first.target == second.target),
        (FILES, first.files == second.files),
        (LAUNCH, first.launch == second.launch),
        (COMBINATION, first == second),
    )
    return ALL**2 + sum(part**2 for part, shares in same if shares)


def _trends(shared: bool) -> list[tuple[float, Trend]]:
    """Each with how likely it is before anything has ended."""
    trends: list[tuple[float, Trend]] = [(1.0, lambda size: 0.0)]
    for slope in SLOPES:
        likely = (1.0 if shared else STARTS) / len(SLOPES)
        trends.append((likely, lambda size, slope=slope: math.log(1 + slope * (size.processes - 1))))  # type: ignore[misc]
        trends.append((likely, lambda size, slope=slope: math.log(1 + slope * (size.nodes - 1))))  # type: ignore[misc]
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
            rest = sum(a * b for a, b in zip(line, above, strict=False))
            line.append((row[column] - rest) / above[column])
        line.append(math.sqrt(row[place] - sum(value * value for value in line)))
        lower.append(line)
    return lower


def _solved(lower: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """The solution of a system by the triangle of its matrix."""
    forward: list[float] = []
    for row, value in zip(lower, right, strict=True):
        forward.append((value - sum(a * b for a, b in zip(row, forward, strict=False))) / row[-1])
    solution = forward
    for place in reversed(range(len(lower))):
        below = sum(lower[other][place] * solution[other] for other in range(place + 1, len(lower)))
        solution[place] = (forward[place] - below) / lower[place][place]
    return solution

"""The replay's record of what was measured, and estimates from it. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from campaign.core.model import Geometry
from campaign.plan.search.nouns import CONFIRM, Measured, Outcome, PlannedBlock, SearchSpace, Settings, size

Logs = Sequence[tuple[tuple[str, int], Geometry, float]]  # (phase, block), geometry, log rate


class Missing(Exception):
    """Its arguments are the requests without an outcome."""


class Spent(Exception):
    """The next block would exceed the budget."""


@dataclass
class Book:
    """What the replay has requested so far, and the outcomes."""

    space: SearchSpace
    settings: Settings
    measured: Measured
    taken: dict[PlannedBlock, Outcome] = field(default_factory=dict)
    failed: dict[Geometry, None] = field(default_factory=dict)  # geometries of which a run ended without a rate
    node_s: float = 0.0

    def measure(self, phase: str, blocks: Iterable[int], geometries: Iterable[Geometry]) -> None:
        """Measure each geometry once in each block, in random order. Ends the replay at a missing point."""
        missing: list[PlannedBlock] = []
        wanted = sorted(set(geometries) - self.failed.keys(), key=size)
        expected = 0.0
        for block in blocks:
            if self.node_s + expected + self._cost(wanted) > self.settings.budget_node_s:
                if missing:
                    break
                raise Spent
            requests = [PlannedBlock(phase, block, run.nodes, run.processes) for run in wanted]
            random.Random(f"{self.settings.seed}/{phase}/{block}").shuffle(requests)
            outcomes = {request: outcome for request in requests if (outcome := self.measured(request))}
            if missing or len(outcomes) < len(requests):
                missing += [request for request in requests if request not in outcomes]
                expected += self._cost(wanted)
            else:
                self._take(outcomes)
        if missing:
            raise Missing(*missing)

    def _take(self, outcomes: Mapping[PlannedBlock, Outcome]) -> None:
        self.taken |= outcomes
        for request, outcome in outcomes.items():
            self.node_s += outcome.node_s
            if outcome.rate is None or not outcome.rate > 0:
                self.failed[request.geometry] = None

    def _cost(self, geometries: Sequence[Geometry]) -> float:
        """The estimated cost of a block: each node is used for as long as in the executions so far."""
        nodes = sum(request.nodes for request in self.taken)
        return sum(geometry.nodes for geometry in geometries) * self.node_s / nodes if nodes else 0.0

    def logs(self, fresh: bool) -> Logs:
        """Successful runs, of the search itself or of the confirmation."""
        return [
            ((request.phase, request.block), geometry, math.log(point.rate))
            for request, point in self.taken.items()
            if point.rate and (request.phase == CONFIRM) == fresh
            if (geometry := request.geometry) not in self.failed
        ]

    def fresh(self) -> dict[Geometry, dict[int, float]]:
        by_geometry: dict[Geometry, dict[int, float]] = {}
        for (_, block), geometry, value in self.logs(fresh=True):
            by_geometry.setdefault(geometry, {})[block] = value
        return by_geometry

    def explored(self) -> Logs:
        return self.logs(fresh=False)

    def all_logs(self) -> Logs:
        """Both, exploration first."""
        return [*self.explored(), *self.logs(fresh=True)]


@dataclass(frozen=True, slots=True)
class Estimates:
    """Effects of the geometries, adjusted for those of the blocks; how many runs each has."""

    effect: dict[Geometry, float]
    runs: dict[Geometry, int]

    def top(self) -> Geometry:
        return max(self.effect, key=lambda geometry: (self.effect[geometry], -geometry.processes, -geometry.nodes))


def estimates(logs: Logs) -> Estimates:
    """Least squares of log rate = geometry + block, alternating: blocks need not contain all geometries."""
    numbers: dict[Geometry, int] = {}
    places: dict[tuple[str, int], int] = {}
    data = [
        (places.setdefault(block, len(places)), numbers.setdefault(geometry, len(numbers)), value)
        for block, geometry, value in logs
    ]
    by_block: list[list[tuple[int, float]]] = [[] for _ in places]
    by_one: list[list[tuple[int, float]]] = [[] for _ in numbers]
    for block, geometry, value in data:
        by_block[block].append((geometry, value))
        by_one[geometry].append((block, value))
    shift = [0.0] * len(places)
    effect = [0.0] * len(numbers)
    for _ in range(30):
        effect = [sum([value - shift[block] for block, value in values]) / len(values) for values in by_one]
        before = shift
        shift = [sum([value - effect[geometry] for geometry, value in values]) / len(values) for values in by_block]
        # Only differences between blocks are determined.
        origin = sum(shift) / len(shift) if shift else 0.0
        shift = [value - origin for value in shift]
        if max((abs(now - then) for now, then in zip(shift, before, strict=True)), default=0.0) < 1e-4:
            break
    return Estimates(
        {geometry: effect[number] for geometry, number in numbers.items()},
        {geometry: len(by_one[number]) for geometry, number in numbers.items()},
    )

"""The replay's record of what was measured. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from campaign.core.grouping import grouped
from campaign.core.model import Geometry
from campaign.plan.search.nouns import CONFIRM, Measured, Outcome, PlannedBlock, SearchSpace, Settings, size
from campaign.statistics.intervals import Summary, summarize

Logs = tuple[tuple[tuple[str, int], Geometry, float], ...]  # (phase, block), geometry, log rate


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
        return tuple(
            ((request.phase, request.block), geometry, math.log(point.rate))
            for request, point in self.taken.items()
            if point.rate and (request.phase == CONFIRM) == fresh
            if (geometry := request.geometry) not in self.failed
        )

    def fresh(self) -> dict[Geometry, dict[int, float]]:
        by_geometry: dict[Geometry, dict[int, float]] = {}
        for (_, block), geometry, value in self.logs(fresh=True):
            by_geometry.setdefault(geometry, {})[block] = value
        return by_geometry

    def explored(self) -> Logs:
        return self.logs(fresh=False)

    def all_logs(self) -> Logs:
        """Both, exploration first."""
        return (*self.explored(), *self.logs(fresh=True))

    def typical(self) -> dict[Geometry, Summary]:
        """The rates of each count: of its confirmation runs, if there are any, otherwise of the exploration."""
        explored = grouped((geometry, value) for _, geometry, value in self.explored())
        values = explored | {geometry: list(of_block.values()) for geometry, of_block in self.fresh().items()}
        return {geometry: summarize([math.exp(log) for log in logs]) for geometry, logs in values.items()}

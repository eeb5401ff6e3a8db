"""Searches on simulated machines: what is asked for, round by round, and what is decided."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping

from hypothesis import strategies as st

from campaign.core.runs import Geometry
from campaign.plan.search import procedure
from campaign.plan.search.records import CountChoice, Outcome, SearchRequest, Settings
from campaign.plan.search.space import SearchSpace

NODE = SearchSpace(1, 1, 32)
PEAK = SearchSpace(2, 8, 8)
Curve = Callable[[Geometry], float | None]

spaces = st.builds(
    lambda fewest, extra, per_node, divides: SearchSpace(fewest, fewest + extra, per_node, divides),
    st.integers(1, 3), st.integers(0, 6), st.integers(1, 20), st.sampled_from([0, 0, 2**10 * 3**4]),
)  # fmt: skip


def rising_curve(geometry: Geometry) -> float:
    return float(geometry.processes)


def knee_at(processes: int, exponent: float = 0.0) -> Curve:
    """Rises in proportion up to a number of processes, and by a power of the processes beyond."""
    return lambda geometry: min(geometry.processes, processes) * max(geometry.processes / processes, 1.0) ** exponent


def seed_of(request: SearchRequest) -> str:
    """What noise is drawn by, whatever the class is called: the tolerances of the tests hold for these draws."""
    return str(request).replace(type(request).__name__, "PlannedBlock")


class Machine(Mapping[SearchRequest, Outcome]):
    """Measures whatever it is asked, the same each time; remembers what was asked."""

    def __init__(self, curve: Curve, noise: float = 0.0, seed: str = "", drift: float = 0.0, node_s: float = 1.0):
        self.curve, self.noise, self.seed, self.drift, self.node_s = curve, noise, seed, drift, node_s
        self.requests: dict[SearchRequest, None] = {}

    def __contains__(self, request: object) -> bool:
        return True

    def __getitem__(self, request: SearchRequest) -> Outcome:
        self.requests[request] = None
        rate = self.curve(request.geometry)
        if rate is None:
            return Outcome(None, self.node_s * request.nodes)
        chance = random.Random(f"{self.seed}{seed_of(request)}")
        drift_factor = math.exp(self.drift * list(self.requests).index(request))
        return Outcome(rate * drift_factor * math.exp(chance.gauss(0, self.noise)), self.node_s * request.nodes)

    def __iter__(self) -> Iterator[SearchRequest]:
        return iter(self.requests)

    def __len__(self) -> int:
        return len(self.requests)


def decide(space: SearchSpace, machine: Machine, settings: Settings) -> CountChoice:
    answer = procedure.step(space, settings, machine.get)
    assert isinstance(answer, CountChoice)
    return answer


def drive_search(space: SearchSpace, machine: Machine, settings: Settings) -> tuple[CountChoice, list[SearchRequest]]:
    """Measured round by round, as a campaign does it; with everything that was asked for, in that order."""
    points: dict[SearchRequest, Outcome] = {}
    requests: list[SearchRequest] = []
    while isinstance(answer := procedure.step(space, settings, points.get), tuple):
        assert answer
        for request in answer:
            requests.append(request)
            points[request] = machine[request]
    return answer, requests

"""How often a search names a count that is not good enough, in simulated campaigns, and what it costs.

Each campaign draws a scaling curve, noise, drift and outliers, and runs the search of campaign/plan/search/ against it.
Wrong is a chosen count whose true rate is under 95% of the true peak. Beside it, what people do on the points of the
grid: the fewest processes whose best of 3 runs is within 5% of the highest, and the highest best of 3, best of 1. Runs
are held against the smaller of two exhaustive sweeps: of every count 3 times; beside it, as often as the search
measured its answer afresh.
"""

from __future__ import annotations

import math
import os
import random
import statistics
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from tabulate import tabulate

from campaign.core.model import Geometry
from campaign.plan.search import explore, procedure
from campaign.plan.search.nouns import Decision, Outcome, PlannedBlock, SearchSpace, Settings

CAMPAIGNS = {0.02: 400, 0.05: 400, 0.10: 2000, 0.20: 400}  # by noise
GOOD = 0.95
BARS = {"wrong at 10% noise": 0.005, "runs of an exhaustive sweep": 0.40}
SPACES = {
    "node": SearchSpace(1, 1, 64),
    "peak": SearchSpace(2, 16, 32),
}

Curve = Callable[[Geometry], float]


def usl(random_: random.Random, space: SearchSpace) -> Curve:
    """Universal Scalability Law with its peak anywhere from a few processes to beyond the limit."""
    most = space.most_nodes * space.most_per_node
    peak = math.pow(most, random_.uniform(0.3, 1.15))
    contention = random_.choice((0.0, 0.01, 0.05, 0.2))
    coherence = (1 - contention) / peak**2
    return lambda one: (
        one.processes / (1 + contention * (one.processes - 1) + coherence * one.processes * (one.processes - 1))
    )


def plateau(random_: random.Random, space: SearchSpace) -> Curve:
    """Up to a knee in proportion, flat or slowly rising or falling beyond."""
    most = space.most_nodes * space.most_per_node
    knee = math.pow(most, random_.uniform(0.3, 0.95))
    slope = random_.choice((0.0, 0.02, -0.03))
    sharp = random_.choice((2.0, 4.0, 16.0))

    def rate(one: Geometry) -> float:
        rise = math.pow(1 + math.pow(one.processes / knee, -sharp), -1 / sharp)
        return rise * math.pow(max(one.processes / knee, 1.0), slope)

    return rate


def two_peaks(random_: random.Random, space: SearchSpace) -> Curve:
    """Two humps over the logarithm of the processes: one of them is 2 to 20% lower."""
    most = math.log2(space.most_nodes * space.most_per_node)
    low = random_.uniform(0.15, 0.45) * most
    high = random_.uniform(0.65, 1.0) * most
    heights = [1.0, random_.uniform(0.8, 0.98)]
    random_.shuffle(heights)
    wide = random_.uniform(0.9, 1.6)

    def rate(one: Geometry) -> float:
        at = math.log2(one.processes)
        return max(
            0.05, *(h * math.exp(-(((at - p) / wide) ** 2) / 2) for h, p in zip(heights, (low, high), strict=True))
        )

    return rate


def per_node(random_: random.Random, space: SearchSpace) -> Curve:
    """Clients that saturate: a node gives no more than so much, and the server no more than all of it."""
    knee = math.pow(space.most_per_node, random_.uniform(0.2, 0.9))
    enough = max(space.fewest_nodes, space.most_nodes * random_.uniform(0.1, 1.2))
    loss = random_.choice((0.0, 0.001, 0.01))

    def rate(one: Geometry) -> float:
        client = min(one.processes_per_node, knee) / (1 + loss * one.processes_per_node)
        return math.pow((one.nodes * client) ** -4 + (enough * knee) ** -4, -0.25)

    return rate


SHAPES = (usl, plateau, two_peaks, per_node)


@dataclass
class Machine(Mapping[PlannedBlock, Outcome]):
    """Gives a rate for whatever it is asked, with noise, drift over time, and now and then a run at half the rate."""

    curve: Curve
    random_: random.Random
    noise: float
    drift: float  # of the rate over 100 runs
    asked: int = 0

    def rate(self, geometry: Geometry) -> float:
        self.asked += 1
        slow = 0.5 if self.random_.random() < 0.01 else 1.0
        sigma = math.sqrt(math.log1p(self.noise**2))
        later = math.exp(self.drift * self.asked / 100)
        return self.curve(geometry) * slow * later * math.exp(self.random_.gauss(0, sigma))

    def __getitem__(self, request: PlannedBlock) -> Outcome:
        return Outcome(self.rate(request.geometry), request.nodes)

    def __contains__(self, request: object) -> bool:
        return True

    def __iter__(self) -> Iterator[PlannedBlock]:
        return iter(())

    def __len__(self) -> int:
        return 0


@dataclass(frozen=True)
class SimulatedSearch:
    quality: dict[str, float]  # of each method's choice, of the true peak
    runs: int
    every: int  # counts that there are
    fresh: int  # runs of the chosen count that decided
    processes: float  # chosen, of those at the true minimum within the margin


def campaign(number: int, noise: float) -> SimulatedSearch:
    random_ = random.Random(f"{number}/{noise}")
    space = list(SPACES.values())[number % len(SPACES)]
    shape = SHAPES[number // len(SPACES) % len(SHAPES)]
    curve = shape(random_, space)
    every = [
        one
        for nodes in range(space.fewest_nodes, space.most_nodes + 1)
        for per in range(1, space.most_per_node + 1)
        if (one := Geometry(nodes, nodes * per)) in space
    ]
    true = {one: curve(one) for one in every}
    peak = max(true.values())
    drift = random_.choice((0.0, -0.1, 0.1, -0.3))
    machine = Machine(curve, random_, noise, drift)
    decision = procedure.step(space, Settings(seed=str(number)), machine.get)
    assert isinstance(decision, Decision) and decision.geometry is not None
    fresh = next(one.fresh_runs for one in decision.candidates if one.geometry == decision.geometry)
    least = min(one.processes for one in every if true[one] >= GOOD * peak)
    return SimulatedSearch(
        {
            "search": true[decision.geometry] / peak,
            "best of 3": true[best_of(3, GOOD, space, Machine(curve, random_, noise, drift))] / peak,
            "highest of 3": true[best_of(3, 1.0, space, Machine(curve, random_, noise, drift))] / peak,
            "highest of 1": true[best_of(1, 1.0, space, Machine(curve, random_, noise, drift))] / peak,
        },
        len(decision.taken),
        len(every),
        fresh,
        decision.geometry.processes / least,
    )


def best_of(runs: int, share: float, space: SearchSpace, machine: Machine) -> Geometry:
    """Each point of the grid so often, one after the other; the fewest processes whose best is so near to the top."""
    found = {one: max(machine.rate(one) for _ in range(runs)) for one in explore.grid(space)}
    top = max(found.values())
    return min((one for one in found if found[one] >= share * top), key=lambda one: one.processes)


def main() -> int:
    body = []
    missed = []
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for noise, number in CAMPAIGNS.items():
            outcomes = list(pool.map(campaign, range(number), [noise] * number, chunksize=50))
            wrong = {
                method: sum(outcome.quality[method] < GOOD for outcome in outcomes) / number
                for method in outcomes[0].quality
            }
            equal = sum(o.runs for o in outcomes) / sum(o.every * o.fresh for o in outcomes)
            thrice = sum(o.runs for o in outcomes) / sum(o.every * 3 for o in outcomes)
            body.append(
                [
                    f"{noise:.0%}",
                    number,
                    *(f"{share:.2%}" for share in wrong.values()),
                    f"{min(outcome.quality['search'] for outcome in outcomes):.1%}",
                    f"{statistics.median(outcome.processes for outcome in outcomes):.2f}",
                    f"{statistics.median(outcome.runs for outcome in outcomes):.0f}",
                    f"{equal:.0%}",
                    f"{thrice:.0%}",
                ]
            )
            if noise == 0.10 and wrong["search"] > BARS["wrong at 10% noise"]:
                missed.append(f"wrong at 10% noise: {wrong['search']:.2%}")
            if thrice > BARS["runs of an exhaustive sweep"]:
                missed.append(f"runs of an exhaustive sweep at {noise:.0%} noise: {thrice:.0%}")
    headers = [
        "noise", "campaigns", "search wrong", "best of 3 wrong", "highest of 3 wrong", "highest of 1 wrong",
        "worst of search", "x fewest processes", "runs", "of exhaustive", "of each x 3",
    ]  # fmt: skip
    print(f"bars: {', '.join(f'{name} up to {bar:.1%}' for name, bar in BARS.items())}")
    print(tabulate(body, headers, disable_numparse=True))
    for text in missed:
        print(f"bar missed: {text}")
    return len(missed)

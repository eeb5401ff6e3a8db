"""How often a search is wrong about machines of ten families, how near it comes to the fewest processes, what it costs.

The families are not those that the procedure was made on: rates that depend on how a count fills the groups of cores,
cliffs, sharp peaks, staircases; noise in two modes, drift, heavy tails; scaling curves that others published; plateaus
and two humps. Wrong is a chosen count whose true rate is under 95% of the true peak. Resolved is a search that says so:
then the ratio of its count to the true minimum within the margin is held against the bar.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import statistics
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from tabulate import tabulate

from campaign.core.model import Geometry
from campaign.plan.search import procedure
from campaign.plan.search.nouns import Decision, Outcome, PlannedBlock, SearchSpace, Settings

GOOD = 0.95
WRONG = {0.05: 0.01, 0.10: 0.03}  # at most, by noise
FEWEST = 1.05  # median of chosen over fewest processes, where it is said to be resolved
RUNS = 0.60  # of three of every count, on one node at 10% noise
SEARCHES = 40  # of each family, space and noise

Curve = Callable[[Geometry], float]
Noise = Callable[[random.Random, float, int], float]  # chance, size, number of the run: a log rate


@dataclass(frozen=True)
class Family:
    curve: Callable[[random.Random, SearchSpace], Curve]
    noise: Noise
    cores: tuple[int, ...] = (64,)


def _usl(chance: random.Random, most: int, low: float = 0.4, high: float = 1.1) -> Callable[[float], float]:
    peak = most ** chance.uniform(low, high)
    contention = chance.choice((0.0, 0.01, 0.05))
    return lambda p: p / (1 + contention * (p - 1) + (1 - contention) / peak**2 * p * (p - 1))


def _most(space: SearchSpace) -> int:
    return space.most_nodes * space.most_per_node


def smooth(chance: random.Random, space: SearchSpace) -> Curve:
    law = _usl(chance, _most(space))
    return lambda one: law(one.processes)


def groups(chance: random.Random, space: SearchSpace) -> Curve:
    """Full speed only where the processes of a node fill its groups of cores evenly."""
    cores, law = space.most_per_node, _usl(chance, _most(space), 0.6)
    sizes = [size for size in range(4, cores // 2 + 1) if cores % size == 0 and size in (4, 6, 7, 8, 9, 12, 14, 16, 18)]
    group, loss, divisors = chance.choice(sizes), chance.uniform(0.07, 0.3), chance.random() < 0.5

    def rate(one: Geometry) -> float:
        even = one.processes_per_node % group == 0 or (divisors and group % one.processes_per_node == 0)
        return law(one.processes) * (1.0 if even else 1 - loss)

    return rate


def cliff(chance: random.Random, space: SearchSpace) -> Curve:
    """Rises, and steps down by 7 to 40% above a count of processes on a node."""
    edge = chance.choice((space.most_per_node // 2, round(space.most_per_node ** chance.uniform(0.6, 0.95))))
    step, slope = chance.uniform(0.07, 0.4), chance.uniform(0.2, 0.8)
    return lambda one: one.processes**slope * (1.0 if one.processes_per_node <= edge else 1 - step)


def sharp(chance: random.Random, space: SearchSpace) -> Curve:
    """A tent over the logarithm: 5% are lost within 2 to 8% of the count."""
    at = chance.uniform(0.35, 0.95) * math.log(_most(space))
    left, right = (0.05 / chance.uniform(0.02, 0.08) for _ in range(2))

    def rate(one: Geometry) -> float:
        away = math.log(one.processes) - at
        return math.exp(-min(3.0, (right if away > 0 else left) * abs(away)))

    return rate


def staircase(chance: random.Random, space: SearchSpace) -> Curve:
    """A step for each group of processes on a node that is full."""
    width = chance.choice([size for size in (4, 6, 8, 12, 16) if size <= space.most_per_node // 2])
    law = _usl(chance, _most(space), 0.6)
    return lambda one: law(max(1, one.processes_per_node // width * width) * one.nodes)


def flat(chance: random.Random, space: SearchSpace) -> Curve:
    knee = _most(space) ** chance.uniform(0.3, 0.9)
    return lambda one: min(1.0, one.processes / knee)


def humps(chance: random.Random, space: SearchSpace) -> Curve:
    most = math.log2(_most(space))
    tops = [chance.uniform(0.15, 0.45) * most, chance.uniform(0.65, 1.0) * most]
    heights = [1.0, chance.uniform(0.8, 0.98)]
    chance.shuffle(heights)
    wide = chance.uniform(0.9, 1.6)
    return lambda one: max(
        0.05,
        *(
            h * math.exp(-(((math.log2(one.processes) - t) / wide) ** 2) / 2)
            for h, t in zip(heights, tops, strict=True)
        ),
    )


# (processes, rate): ray tracing on an SGI Origin, SPEC SDM on 16 processors (both in Gunther, Guerrilla Capacity
# Planning, 2007); MDTEST creates by one process, one node, several nodes (Crossroads, table 8.6), per layout.
PUBLISHED = (
    ((1, 20), (4, 78), (8, 130), (12, 170), (16, 190), (20, 200), (28, 230), (32, 260), (48, 280), (64, 310)),
    ((1, 64.9), (18, 995.9), (36, 1652.4), (72, 1853.2), (108, 1828.9), (144, 1775.0), (180, 1702.2), (216, 1652.8)),
    ((1, 5702), (32, 6899), (512, 79901)),
    ((1, 5706), (32, 72817), (512, 183740)),
)  # fmt: skip


def published(chance: random.Random, space: SearchSpace) -> Curve:
    points = chance.choice(PUBLISHED)
    scale = _most(space) / points[-1][0] * chance.choice((0.5, 1.0, 2.0))

    def rate(one: Geometry) -> float:
        at = max(1.0, one.processes / scale)
        for (p, x), (q, y) in itertools.pairwise(points):
            if at <= q:
                return x * (y / x) ** (math.log(at / p) / math.log(q / p))
        return float(points[-1][1])

    return rate


def normal(chance: random.Random, size: float, run: int) -> float:
    slow = math.log(0.5) if chance.random() < 0.01 else 0.0
    return slow + chance.gauss(0, size)


def two_modes(chance: random.Random, size: float, run: int) -> float:
    """Another user's load takes 30% in every fifth run."""
    return (math.log(0.7) if chance.random() < 0.2 else 0.0) + chance.gauss(0, size)


def heavy(chance: random.Random, size: float, run: int) -> float:
    """Student's distribution with 3 degrees of freedom; its quartiles are those of the normal one."""
    square = sum(chance.gauss(0, 1) ** 2 for _ in range(3)) / 3
    return size * 0.882 * chance.gauss(0, 1) / math.sqrt(square)


def drifting(chance: random.Random, size: float, run: int) -> float:
    """Down by 30% in 100 runs, and a cycle of 40 runs by 10% both ways."""
    return normal(chance, size, run) - 0.3 * run / 100 + 0.1 * math.sin(run / 6.4)


FAMILIES = {
    "smooth (USL)": Family(smooth, normal),
    "groups of cores": Family(groups, normal, (36, 48, 56, 64, 72)),
    "cliffs": Family(cliff, normal),
    "sharp peaks": Family(sharp, normal),
    "staircases": Family(staircase, normal, (48, 64)),
    "flat from a knee": Family(flat, normal),
    "two humps": Family(humps, normal),
    "published curves": Family(published, normal),
    "two modes of noise": Family(smooth, two_modes),
    "drift": Family(flat, drifting),
    "heavy tails": Family(smooth, heavy),
}


@dataclass(frozen=True)
class Searched:
    quality: float
    runs: int
    every: int
    ratio: float
    resolved: bool
    held: bool  # what it says of the fewest holds the truth


def search(name: str, where: str, noise: float, number: int) -> Searched:
    family = FAMILIES[name]
    chance = random.Random(f"{name}/{where}/{noise}/{number}")
    cores = chance.choice(family.cores)
    space = SearchSpace(1, 1, cores) if where == "node" else SearchSpace(2, 16, cores // 2)
    curve = family.curve(chance, space)
    every = [
        Geometry(nodes, nodes * per)
        for nodes in range(space.fewest_nodes, space.most_nodes + 1)
        for per in range(1, space.most_per_node + 1)
    ]
    true = {one: curve(one) for one in every}
    peak, asked = max(true.values()), [0]

    def measured(request: PlannedBlock) -> Outcome:
        asked[0] += 1
        return Outcome(curve(request.geometry) * math.exp(family.noise(chance, noise, asked[0])), request.nodes)

    decision = procedure.step(space, Settings(seed=str(number)), measured)
    assert isinstance(decision, Decision) and decision.geometry is not None
    least = min(one.processes for one in every if true[one] >= GOOD * peak)
    low, high = (decision.alike or (decision.geometry,))[0].processes, decision.geometry.processes
    return Searched(
        true[decision.geometry] / peak, len(decision.taken), len(every), high / least,
        decision.resolved is not False, low <= least <= high,
    )  # fmt: skip


def table(searches: int, noises: tuple[float, ...], names: list[str]) -> dict[tuple[str, float], list[Searched]]:
    outcomes: dict[tuple[str, float], list[Searched]] = {}
    body = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for noise in noises:
            for where in ("node", "peak"):
                for name in names:
                    same = [name] * searches, [where] * searches, [noise] * searches
                    found = list(pool.map(search, *same, range(searches), chunksize=10))
                    outcomes.setdefault((where, noise), []).extend(found)
                    body.append([f"{noise:.0%}", where, name, *summary(found)])
                body.append([f"{noise:.0%}", where, "all", *summary(outcomes[where, noise])])
    headers = [
        "noise", "space", "family", "wrong", "worst", "runs", "of 3 of each", "resolved", "x fewest if so",
        "x fewest if not", "set holds it",
    ]  # fmt: skip
    print(tabulate(body, headers, disable_numparse=True))
    return outcomes


def main() -> int:
    bars = [*(f"wrong at {noise:.0%} noise up to {most:.0%}" for noise, most in WRONG.items())]
    bars += [f"x fewest where resolved up to {FEWEST}", f"runs on one node at 10% noise up to {RUNS:.0%} of 3 of each"]
    print(f"{SEARCHES} searches each; bars: {'; '.join(bars)}")
    outcomes = table(SEARCHES, tuple(WRONG), list(FAMILIES))
    missed = []
    for noise, most in WRONG.items():
        found = [one for where in ("node", "peak") for one in outcomes[where, noise]]
        share = sum(one.quality < GOOD for one in found) / len(found)
        if share > most:
            missed.append(f"wrong at {noise:.0%} noise: {share:.2%}")
        if (ratio := statistics.median([one.ratio for one in found if one.resolved] or [1.0])) > FEWEST:
            missed.append(f"x fewest where resolved at {noise:.0%} noise: {ratio:.2f}")
    node = outcomes["node", 0.10]
    if (share := sum(one.runs for one in node) / sum(3 * one.every for one in node)) > RUNS:
        missed.append(f"runs on one node: {share:.0%}")
    for text in missed:
        print(f"bar missed: {text}")
    return len(missed)


def summary(found: list[Searched]) -> list[str]:
    done = [o.ratio for o in found if o.resolved]
    rest = [o.ratio for o in found if not o.resolved]
    return [
        f"{sum(o.quality < GOOD for o in found) / len(found):.1%}",
        f"{min(o.quality for o in found):.1%}",
        f"{statistics.mean(o.runs for o in found):.0f}",
        f"{sum(o.runs for o in found) / sum(3 * o.every for o in found):.0%}",
        f"{len(done) / len(found):.0%}",
        f"{statistics.median(done):.2f}" if done else "",
        f"{statistics.median(rest):.2f}" if rest else "",
        f"{sum(o.held for o in found) / len(found):.0%}",
    ]

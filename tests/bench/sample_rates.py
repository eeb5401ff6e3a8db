"""Whether the error rates that `campaign sample` prints are those of `campaign accept`, by simulations of each.

Each scenario has many bundles of 36 cells. For each, a sample is designed from the bundle's own repetitions, and its
printed rates are noted; then cells are drawn, measured again and decided on, by the program's own functions. The rates
that were printed are to be within 2 points of the shares that were rejected, and what chance adds: 2.58 standard errors
of the difference. Scenarios: noise from 2 to 10%; noise that differs between operations; an offer that inflates a whole
class of cells (a stratum), any cells, those in which it has the best chance, or each by another factor. With `FULL=1`
there are 10,000 acceptances of each, otherwise 1,000.
"""

from __future__ import annotations

import math
import os
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

from tabulate import tabulate

from campaign.core.runs import Cell, Status
from campaign.evidence import acceptance, sample
from campaign.report.compare.comparison import CellVerdict
from campaign.report.compare.offers import Offer, OfferedCell
from campaign.statistics import designs
from tests.bench.machine import FULL
from tests.bench.table import Row

CELLS = [
    Cell("scratch", launch, files, operation)
    for files in ("shared", "unique", "onefile")
    for launch in ("single", "node", "peak", "max")
    for operation in ("create", "stat", "remove")
]
AIMS = designs.Aims(0.05, 0.15, 0.25, 0.9)
BUNDLES, ACCEPTANCES = 500 if FULL else 50, 20
POINTS = 0.02

Inflation = Callable[[random.Random, Sequence[designs.Noise]], list[float]]


def by_best_chance(chance: random.Random, every: Sequence[designs.Noise]) -> list[float]:
    """The noisiest quarter of the cells, which lets an inflated number pass most often; any if all are alike."""
    order = sorted(range(len(every)), key=lambda place: (-every[place].sigma, chance.random()))
    return [AIMS.inflation * (place in order[: len(every) // 4]) for place in range(len(every))]


def of_class(name: str) -> Inflation:
    return lambda _, every: [AIMS.inflation * (name in (cell.launch, cell.operation)) for cell in CELLS]


def unevenly(chance: random.Random, every: Sequence[designs.Noise]) -> list[float]:
    """A quarter of the cells, by 5 to 30%."""
    places = chance.sample(range(len(every)), len(every) // 4)
    return [chance.uniform(0.05, 0.3) * (place in places) for place in range(len(every))]


@dataclass(frozen=True)
class Scenario:
    name: str
    noise: Mapping[str, float]  # by operation
    repetitions: int  # of the bundle
    inflation: Inflation = by_best_chance


def equal_noise(noise: float) -> dict[str, float]:
    return dict.fromkeys(("create", "stat", "remove"), noise)


SCENARIOS = [
    *(
        Scenario(f"noise {noise:.0%}", equal_noise(noise), repetitions)
        for noise, repetitions in ((0.02, 2), (0.02, 5), (0.05, 3), (0.05, 10), (0.07, 8), (0.10, 15))
    ),
    Scenario("noise by operation", {"create": 0.03, "stat": 0.05, "remove": 0.07}, 5),
    Scenario("stratum single", equal_noise(0.05), 5, of_class("single")),
    Scenario("stratum max", equal_noise(0.10), 15, of_class("max")),
    Scenario("stratum stat", equal_noise(0.05), 5, of_class("stat")),
    Scenario("stratum remove, noisier", {"create": 0.03, "stat": 0.03, "remove": 0.07}, 5, of_class("remove")),
    Scenario("uneven inflation", equal_noise(0.05), 5, unevenly),
]


def offer(chance: random.Random, scenario: Scenario, repetitions: int, rates: Sequence[float]) -> Offer:
    entries = {}
    for cell, rate in zip(CELLS, rates, strict=True):
        sigma = math.sqrt(math.log1p(scenario.noise[cell.operation] ** 2))
        values = tuple(1000 * rate * math.exp(chance.gauss(0, sigma)) for _ in range(repetitions))
        entries[cell] = OfferedCell(cell, Status.MEASURED, max(values), "ops/s", "highest", values, repetitions)
    return Offer("offer", "offer", "crossroads-mdtest", 1, "full", {}, entries)


@dataclass(frozen=True)
class Rates:
    rejected: float
    undecided: float
    caught: float


def simulate_bundle(place: int, number: int) -> tuple[Rates, Rates, str]:
    """What is printed about a bundle's sample, and what 20 acceptances of it give."""
    scenario = SCENARIOS[place]
    chance = random.Random(f"{scenario.name}/{scenario.repetitions}/{number}")
    honest = offer(chance, scenario, scenario.repetitions, [1.0] * len(CELLS))
    every = list(sample.noise_by_cell(honest).values())
    drawn = sample.design_challenge(honest, "head", "s", AIMS, designs.OPEN)
    inflated = scenario.inflation(chance, every)
    known_inflation = inflated if scenario.inflation is not by_best_chance else ()
    outcome_probabilities = designs.outcome_probabilities(every, AIMS, drawn.design, known_inflation)
    entries = {
        cell: replace(entry, values=tuple(value * (1 + share) for value in entry.values))
        for (cell, entry), share in zip(honest.entries.items(), inflated, strict=True)
    }
    vendors = replace(honest, entries=entries)
    design = drawn.design
    verdicts_by_seed = []
    for seed in range(ACCEPTANCES):
        challenge = sample.design_challenge(honest, "head", f"{number}-{seed}", AIMS, design)
        second_offer = offer(chance, scenario, challenge.repetitions, [1.0] * len(CELLS))
        verdicts_by_seed.append([decision(challenge, first, second_offer) for first in (honest, vendors)])
    shares = [
        statistics.mean(verdicts[index] is verdict for verdicts in verdicts_by_seed)
        for index, verdict in (
            (0, CellVerdict.REJECTED),
            (0, CellVerdict.UNDECIDED),
            (1, CellVerdict.REJECTED),
        )
    ]
    return Rates(*outcome_probabilities), Rates(*shares), f"{design.cells} x {design.repetitions}, {design.limit:g}"


def decision(challenge: sample.Challenge, first: Offer, second_offer: Offer) -> CellVerdict:
    comparison, _ = acceptance.decide_cells(challenge, (first, second_offer), acceptance.AcceptanceOptions(), {})
    return acceptance.SampleOutcome(challenge, comparison, (), {}, {}, 0).verdict


def main() -> Iterator[Row]:
    body, missed = [], list[str]()
    farthest = dict.fromkeys(("rejected", "undecided", "caught"), 0.0)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for place, scenario in enumerate(SCENARIOS):
            simulations = list(pool.map(simulate_bundle, [place] * BUNDLES, range(BUNDLES), chunksize=5))
            row = [scenario.name, scenario.repetitions, statistics.mode(design for _, _, design in simulations)]
            for name in farthest:
                predicted, came = (
                    statistics.mean(getattr(simulation[index], name) for simulation in simulations) for index in (0, 1)
                )
                deviations = [getattr(came, name) - getattr(rates, name) for rates, came, _ in simulations]
                row += [f"{predicted:.1%}", f"{came:.1%}"]
                farthest[name] = max(farthest[name], abs(came - predicted))
                if abs(came - predicted) > POINTS + 2.58 * statistics.stdev(deviations) / math.sqrt(BUNDLES):
                    missed.append(f"{scenario.name}, {scenario.repetitions} repetitions: {name}")
            body.append(row)
    rates = [f"{name}: {source}" for name in farthest for source in ("printed", "found")]
    print(tabulate(body, ["scenario", "n of bundle", "usual design", *rates], disable_numparse=True))
    print("\n".join(missed))
    yield Row(
        f"{BUNDLES * ACCEPTANCES:,} simulated acceptances of each of {len(SCENARIOS)} offers, from the rates that "
        f"`campaign sample` prints: {', '.join(farthest)}",
        f"≤ {100 * POINTS:g} points, and chance",
        ", ".join(f"{100 * points:.1f}" for points in farthest.values()),
        missed=bool(missed),
    )

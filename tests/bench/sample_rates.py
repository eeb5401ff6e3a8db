"""Whether the error rates that `campaign sample` prints hold for `campaign accept`, by simulations of each.

Each scenario has several bundles of 36 cells. For each, a sample is designed from the bundle's own repetitions by the
program's functions, and its printed rates are noted, for days that differ by as much as they do. Then honest bundles,
and invented ones that inflate a quarter of the cells, are drawn from, measured in stages on other days, and decided on.
More honest offers than printed may not be rejected, and fewer inflated ones not be caught, by 2 points and what chance
adds: 2.58 standard errors. The systems that inflated offers are measured on are as noisy as their bundles, or as quiet
as 0.5%. The scenarios are not those that the designs were made on: noise that differs between operations, that all
cells of a repetition or of a run have in common, with heavy tails, or with slow runs; invented repetitions that vary.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy
from tabulate import tabulate

from campaign.statistics import designs, offer_noise
from tests.bench.machine import FULL
from tests.bench.table import Row

Array = numpy.ndarray[Any, Any]
Generator = numpy.random.Generator

LINES, OPERATIONS = 12, 3
CELLS = LINES * OPERATIONS
AIMS = designs.Aims(0.05, 0.15, 0.25, 0.9)
BUNDLES, DRAWINGS, SAMPLES = (40, 100, 20) if FULL else (3, 50, 20)  # of a scenario; of a bundle; of a drawing
POINTS = 0.02
QUIET = (0.005, 0.01, 0.02)  # noise of systems that inflated offers are measured on, besides the bundle's


@dataclass(frozen=True)
class Scenario:
    """`noises`: of each operation; `day`: by which days differ; `common`: share of the noise that all cells of a
    repetition have in common; `of_run`: the same, of the cells of one run; `tails`: its distribution.
    """

    name: str
    noises: tuple[float, float, float]
    repetitions: int  # of the bundle, in each session
    sessions: int = 1
    day: float = 0.0
    common: float = 0.0
    of_run: float = 0.0
    tails: str = "normal"
    invented: float = 0.0  # by how much the repetitions of the bundle vary, if that is invented


def equal_noises(noise: float) -> tuple[float, float, float]:
    return noise, noise, noise


SCENARIOS = [
    Scenario("quiet", equal_noises(0.005), 3, 2, 0.02),
    Scenario("same day", equal_noises(0.05), 3),
    Scenario("other day", equal_noises(0.02), 3, 1, 0.02),
    Scenario("several days", equal_noises(0.05), 4, 3, 0.05),
    Scenario("noisy", equal_noises(0.10), 6, 3, 0.02),
    Scenario("half in common", equal_noises(0.05), 4, 3, 0.02, common=0.5),
    Scenario("half of each run", equal_noises(0.05), 4, 3, 0.02, of_run=0.5),
    Scenario("by operation", (0.02, 0.04, 0.07), 4, 3, 0.02),
    Scenario("heavy tails", equal_noises(0.05), 4, 3, 0.02, tails="t3"),
    Scenario("heavy tails, same day", equal_noises(0.03), 5, tails="t3"),
    Scenario("slow runs", equal_noises(0.03), 4, 3, 0.02, tails="slow"),
    Scenario("invented, 12%", equal_noises(0.02), 6, 3, 0.02, invented=0.12),
]


def noise(generator: Generator, tails: str, shape: tuple[int, ...]) -> Array:
    """Of a standard deviation of 1: normal, Student's with 3 degrees of freedom, or one run in 20 slow."""
    if tails == "t3":
        return generator.standard_t(3, shape) / math.sqrt(3)
    normal = generator.standard_normal(shape)
    return (
        (normal - 4 * (generator.random(shape) < 0.05)) / math.sqrt(1 + 16 * 0.05 * 0.95) if tails == "slow" else normal
    )


def repetitions(
    generator: Generator, scenario: Scenario, noises: Sequence[float], samples: int, days: Sequence[int], number: int
) -> Array:
    """Logarithms of rates: samples × cells × stages × repetitions of each. `days`: of each stage."""
    sessions = len(days)
    shape = (samples, LINES, OPERATIONS, sessions, number)
    share_of_cell = 1 - scenario.common - scenario.of_run
    parts = (
        (scenario.common, (samples, 1, 1, sessions, number)), (scenario.of_run, (samples, LINES, 1, sessions, number)),
        (share_of_cell, shape),
    )  # fmt: skip
    total = sum(math.sqrt(share) * noise(generator, scenario.tails, part) for share, part in parts if share)
    logs = total * numpy.array(noises)[:, None, None]
    logs += scenario.day * generator.standard_normal((samples, 1, 1, max(days) + 1, 1))[:, :, :, list(days)]
    return numpy.broadcast_to(logs, shape).reshape(samples, CELLS, sessions, number)


def model_of_bundle(generator: Generator, scenario: Scenario) -> offer_noise.Model:
    noises = equal_noises(scenario.invented) if scenario.invented else scenario.noises
    (logs,) = repetitions(generator, scenario, noises, 1, range(scenario.sessions), scenario.repetitions)
    sessions = tuple(int(number) for number in numpy.repeat(range(scenario.sessions), scenario.repetitions))
    cells = [
        offer_noise.Repetitions(tuple(of_cell.ravel().tolist()), sessions, "", place % OPERATIONS)
        for place, of_cell in enumerate(logs)
    ]
    return replace(offer_noise.estimate_noise(cells), day=scenario.day)


def decided_shares(
    generator: Generator, scenario: Scenario, model: offer_noise.Model, design: designs.Design,
    noises: Sequence[float], is_inflated: bool,
) -> tuple[float, float]:  # fmt: skip
    """The share of samples that is rejected, and that of the design's repetitions which is measured."""
    rejected, measured, stages = 0, 0.0, math.ceil(design.repetitions / design.stage)
    days = [min(stage, design.sessions - 1) for stage in range(stages)]  # as few as the design allows
    inflated = numpy.arange(CELLS) % OPERATIONS == OPERATIONS - 1  # of the noisiest operation
    inflated &= numpy.cumsum(inflated) <= AIMS.inflated_count(CELLS)
    for _ in range(DRAWINGS):
        drawn = numpy.sort(generator.permutation(CELLS)[: design.cells])
        new = repetitions(generator, scenario, noises, SAMPLES, days, design.stage)[:, drawn]
        new = new.reshape(SAMPLES, design.cells, -1)[:, :, : design.repetitions]
        if is_inflated:
            offered = numpy.where(inflated[drawn], math.log1p(AIMS.inflation), 0.0)
        else:
            bundles = repetitions(generator, scenario, noises, SAMPLES, range(scenario.sessions), scenario.repetitions)
            offered = bundles[:, drawn].mean((2, 3))
        ratios, is_open = new - numpy.expand_dims(offered, -1), numpy.full(SAMPLES, True)
        for stage in range(1, stages + 1):
            number = min(stage * design.stage, design.repetitions)
            measured += is_open.sum() / stages / SAMPLES
            size, ratio_means = (
                replace(design, repetitions=number, sessions=min(stage, design.sessions)),
                ratios[:, :, :number].mean(2),
            )
            rejections, acceptances = designs.decisions(model, AIMS, design, size, drawn.tolist(), ratio_means)
            rejected += int((rejections & is_open).sum())
            is_open &= ~(rejections | acceptances)
    return rejected / DRAWINGS / SAMPLES, measured / DRAWINGS


@dataclass(frozen=True)
class Simulated:
    design: str
    promises: tuple[float, float]  # rejected, caught
    shares: tuple[float, float]
    measured: float


def simulate_bundle(place: int, number: int) -> Simulated | None:
    """What is printed about a bundle's sample, and what samples of it give; None if none keeps the aims."""
    scenario, generator = SCENARIOS[place], numpy.random.default_rng([place, number])
    model = model_of_bundle(generator, scenario)
    design, keeps = designs.design(model, AIMS)
    if not keeps:
        return None
    rejected, _, caught = designs.outcome_probabilities(model, AIMS, design)
    noises = scenario.noises
    arguments = generator, scenario, model, design
    honest, measured = decided_shares(*arguments, noises, is_inflated=False)
    systems = [noises, *(equal_noises(level) for level in QUIET if level < min(noises))]
    powers = [decided_shares(*arguments, system, is_inflated=True)[0] for system in systems]
    text = f"{design.cells} x {design.repetitions} in {design.sessions}, {design.limit:g}"
    return Simulated(text, (rejected, caught), (0.0 if scenario.invented else honest, min(powers)), measured)


def main() -> Iterator[Row]:
    body, missed, worst, measured = [], list[str](), [0.0, 0.0], list[float]()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for place, scenario in enumerate(SCENARIOS):
            outcomes = [
                outcome
                for outcome in pool.map(simulate_bundle, [place] * BUNDLES, range(BUNDLES))
                if outcome is not None
            ]
            row = [scenario.name, f"{len(outcomes)} of {BUNDLES}"]
            if outcomes:
                row += [statistics.mode(outcome.design for outcome in outcomes)]
                measured.append(statistics.mean(outcome.measured for outcome in outcomes))
                row += [f"{measured[-1]:.2f}"]
            for index, sign in enumerate((1, -1)) if outcomes else ():
                promise, rejected = (
                    statistics.mean(rates[index] for rates in pairs)
                    for pairs in ([outcome.promises for outcome in outcomes], [outcome.shares for outcome in outcomes])
                )
                row += [f"{promise:.1%}", f"{rejected:.1%}"]
                chance = 2.58 * math.sqrt(promise * (1 - promise) / (len(outcomes) * DRAWINGS))
                worst[index] = max(worst[index], sign * (rejected - promise))
                if sign * (rejected - promise) > POINTS + chance:
                    missed.append(f"{scenario.name}: {('rejected', 'caught')[index]}")
            body.append(row)
    headers = ["scenario", "bundles with a design", "usual design", "of it measured"]
    headers += [f"{name}: {source}" for name in ("rejected", "caught") for source in ("printed", "found")]
    print(tabulate(body, headers, disable_numparse=True))
    print("\n".join(missed))
    yield Row(
        f"{BUNDLES * DRAWINGS * SAMPLES:,} simulated acceptances of each of {len(SCENARIOS)} offers: rejected more, "
        "caught less often than `campaign sample` prints",
        f"≤ {100 * POINTS:g} points, and chance",
        ", ".join(f"{100 * points:.1f}" for points in worst),
        missed=bool(missed),
    )
    yield Row("their repetitions in stages / at once", "", f"{statistics.mean(measured):.2f}",
              spread=f"{min(measured):.2f}–{max(measured):.2f}")  # fmt: skip

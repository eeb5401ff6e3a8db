"""How often the 95% intervals that are printed contain the truth, in simulated situations.

Intervals of the median of a cell's repetitions, of the ratio of two cells (`compare`), and of what the scaling law says
at twice the largest count, each as the program computes it. Values may depend on the ones before (an autocorrelation of
one run on the next), repetitions of a job may share half of its noise; since their jobs are not known to `compare`, its
interval may then contain the truth more often. Situations without a bar are those that the documents exclude: they show
what the exclusion is worth. Where no scaling law holds, up to one curve in 20 may have an interval.
"""

from __future__ import annotations

import math
import os
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

from tabulate import tabulate

from campaign.core.runs import Cell, Status
from campaign.report.compare import verdicts
from campaign.report.compare.offers import Offer, OfferedCell
from campaign.statistics import intervals, scaling
from tests.bench.machine import FULL
from tests.bench.shares import share_text, wilson
from tests.bench.table import Row

TRIALS, FITS = (2000, 200) if FULL else (500, 50)
BAR = (0.93, 0.98)
MOST_SHOWN = 0.05  # of curves that follow no such law
COUNTS = (1, 2, 4, 8, 16, 32, 64)
SHAPES: dict[str, Callable[[float], float]] = {
    "normal": lambda z: z,
    "skewed": lambda z: math.exp(z) - 1,
    "heavy tails": lambda z: math.sinh(1.5 * z),
}
_CELL = Cell("scratch", "node", "shared", "create")

Trial = Callable[[random.Random], bool | None]  # whether the truth is contained; None without an interval


@dataclass(frozen=True)
class Situation:
    interval: str
    name: str
    trial: Trial
    trials: int = TRIALS
    bar: tuple[float, float] | None = BAR
    most_shown: float = 1.0


def series(source: random.Random, n: int, correlation: float, job: int = 1) -> list[float]:
    """Standard normal values in the order of time; those of one job, so many, share half of their variance."""
    value, values = source.gauss(0, 1), []
    for place in range(n):
        if place % job == 0:
            value = correlation * value + math.sqrt(1 - correlation**2) * source.gauss(0, 1)
        values.append(value if job == 1 else math.sqrt(0.5) * (value + source.gauss(0, 1)))
    return values


def of_median(source: random.Random, n: int, correlation: float, shape: str, job: int = 1) -> bool | None:
    values = [SHAPES[shape](value) for value in series(source, n, correlation, job)]
    summary = intervals.summarize(values, [place // job for place in range(n)])
    return None if summary.low is None or summary.high is None else summary.low <= 0.0 <= summary.high


def of_ratio(
    source: random.Random, counts: tuple[int, int], spread: float, correlation: float, job: int = 1
) -> bool | None:
    """Of noise of 10% on the first side, and `spread` times that on the second."""
    offers = []
    for n, part in zip(counts, (0.1, 0.1 * spread), strict=True):
        values = tuple(1000 * math.exp(part * value) for value in series(source, n, correlation, job))
        entry = OfferedCell(_CELL, Status.MEASURED, max(values), "ops/s", values=values, jobs=n // job)
        offers.append(Offer("offer", "offer", "crossroads-mdtest", 1, "full", {}, {_CELL: entry}))
    ((cell,),) = verdicts.compare(offers).cells
    return None if cell.low is None or cell.high is None else cell.low <= 1.0 <= cell.high


def of_law(source: random.Random, curve: Callable[[float], float], noise: float, runs: int) -> bool | None:
    points = [(count, curve(count) * math.exp(source.gauss(0, noise))) for count in COUNTS for _ in range(runs)]
    fit = scaling.fit(points)
    if not fit.holds:
        return None
    _, low, high = fit.at(2 * COUNTS[-1])
    return low <= curve(2 * COUNTS[-1]) <= high


CURVES: dict[str, tuple[Callable[[float], float], bool]] = {  # and whether the law holds up to twice what was measured
    "law 0.05, 1e-4": (scaling.Law(1000, 0.05, 1e-4).at, True),
    "law 0.01, 1e-5": (scaling.Law(1000, 0.01, 1e-5).at, True),
    "law 0.05, 2e-3, its peak within": (scaling.Law(1000, 0.05, 2e-3).at, True),
    "plateau from 16": (lambda p: 100.0 * min(p, 16), False),
    "plateau from 64": (lambda p: 100.0 * min(p, 64), False),
    "collapse after 32": (lambda p: 100.0 * p * (1.0 if p <= 32 else 0.3), False),
    "step at 8": (lambda p: 100.0 * p if p < 8 else 400.0 + p, False),
}


def situations() -> list[Situation]:
    cases = []
    for n in (6, 8, 11, 12, 20, 40):
        for correlation in (0.0, 0.3, 0.5):
            for shape in SHAPES if n in (8, 12) else ("normal",):
                name = f"n {n}, correlation {correlation}, {shape}"
                trial = partial(of_median, n=n, correlation=correlation, shape=shape)
                bar = BAR if not correlation or n >= intervals.MORE_THAN_CHANCE else None
                cases.append(Situation("median", name, trial, bar=bar))
    for jobs, runs_each in ((6, 3), (12, 2)):
        trial = partial(of_median, n=jobs * runs_each, correlation=0.0, shape="normal", job=runs_each)
        cases.append(Situation("median", f"{jobs} jobs of {runs_each}", trial))
    pairs = [(4, 4), (6, 6), (10, 10), (30, 30), (6, 30)]
    unlike = [(6, 6), (10, 10), (6, 20), (20, 6), (6, 30), (30, 6)]
    along = [(12, 12), (30, 30), (12, 30), (30, 12)]
    ratios = [
        *((counts, 1.0, 0.0) for counts in pairs),
        *((counts, spread, 0.0) for counts in unlike for spread in (0.33, 0.1)),
        *((counts, spread, correlation) for counts in along for spread in (1.0, 0.33) for correlation in (0.3, 0.5)),
        ((6, 6), 1.0, 0.5),
    ]
    for counts, spread, correlation in ratios:
        name = f"n {counts[0]} and {counts[1]}, spread 1:{spread}, correlation {correlation}"
        trial = partial(of_ratio, counts=counts, spread=spread, correlation=correlation)
        bar = BAR if not correlation or min(counts) >= intervals.MORE_THAN_CHANCE else None
        cases.append(Situation("ratio", name, trial, bar=bar))
    for jobs, runs_each in ((6, 3), (12, 2)):
        trial = partial(
            of_ratio, counts=(jobs * runs_each, jobs * runs_each), spread=1.0, correlation=0.0, job=runs_each
        )
        cases.append(Situation("ratio", f"{jobs} jobs of {runs_each} on both sides", trial, bar=(BAR[0], 1.0)))
    for name, (curve, holds) in CURVES.items():
        for noise in (0.02, 0.05, 0.1):
            for runs in (3, 6):
                trial = partial(of_law, curve=curve, noise=noise, runs=runs)
                text = f"{name}, noise {noise:.0%}, {runs} runs"
                limits = (BAR, 1.0) if holds else (None, MOST_SHOWN)
                cases.append(Situation("scaling law", text, trial, FITS, *limits))
    return cases


def run_trials(number: int) -> Sequence[bool | None]:
    situation = situations()[number]
    source = random.Random(f"{situation.interval} {situation.name}")
    return [situation.trial(source) for _ in range(situation.trials)]


def main() -> Iterator[Row]:
    body, missed = [], list[str]()
    shares: dict[str, list[float]] = {}
    chosen_situations = situations()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for situation, trials in zip(
            chosen_situations, pool.map(run_trials, range(len(chosen_situations))), strict=True
        ):
            answers = [contained for contained in trials if contained is not None]
            low, high = wilson(sum(answers), len(answers))
            output, bar = f"{len(answers) / len(trials):.0%}", situation.bar
            body.append(
                [situation.interval, situation.name, output, share_text(sum(answers), len(answers)), _bar(situation)]
            )
            if bar:
                shares.setdefault(situation.interval, []).append(sum(answers) / len(answers))
            if (bar and (high < bar[0] or low > bar[1])) or wilson(len(answers), len(trials))[0] > situation.most_shown:
                missed.append(" ".join(body[-1]))
    print(tabulate(body, ["interval of", "situation", "shown", "coverage", "bar"], disable_numparse=True))
    print("\n".join(missed))
    for interval, coverages in shares.items():
        yield Row(
            f"95% intervals of a {interval} that contain the truth, in {len(coverages)} simulated situations",
            f"{BAR[0]:.0%} to {BAR[1]:.0%}",
            f"{statistics.median(coverages):.1%}",
            spread=f"{min(coverages):.1%}–{max(coverages):.1%}",
            missed=any(text.startswith(interval) for text in missed),
        )


def _bar(situation: Situation) -> str:
    if situation.most_shown < 1:
        return f"shown up to {situation.most_shown:.0%}"
    return f"{situation.bar[0]:.0%} to {situation.bar[1]:.0%}" if situation.bar else "not claimed"

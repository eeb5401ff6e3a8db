"""How often `campaign compare` is wrong about simulated campaigns, and what it sees: 36 cells each, 3 from one run.

False alarms are campaigns without any difference in which a cell is called better or worse. Noise is log-normal, half
of it shared by the three results of a run, and one run in 100 takes twice as long. Beside it, what people do: a t test
of each cell at 5%, and reported numbers (the best of each side) that differ by 5%. Power is the share of cells with a
true difference of 10% that are called worse: where all cells have it, and where those of one run alone have it. Of an
acceptance with 5% tolerance: how often a cell whose true rate is 94.9% of the commitment is reached, and how often one
of 100%.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from tabulate import tabulate

from campaign.core.model import Cell, Status
from campaign.report.compare import verdicts
from campaign.report.compare.offers import Offer, OfferedCell
from campaign.report.compare.verdicts import CellVerdict, Terms

NOISES = (0.02, 0.05, 0.10, 0.20)
REPETITIONS = (6, 10)
CAMPAIGNS = 400
BARS = {"false alarms": 0.05, "reached at 94.9%": 0.05}
RUNS = [(launch, files) for files in ("shared", "unique", "onefile") for launch in ("single", "node", "peak", "max")]
OPERATIONS = ("create", "stat", "remove")
ACCEPTANCE = Terms(0.95)

Factor = Callable[[tuple[str, str]], float]


def offer(random_: random.Random, repetitions: int, noise: float, factor: Factor = lambda run: 1.0) -> Offer:
    sigma = math.sqrt(math.log1p(noise**2) / 2)  # of the run, and of the result
    entries = {}
    for run in RUNS:
        shared = [
            factor(run) * (0.5 if random_.random() < 0.01 else 1.0) * math.exp(random_.gauss(0, sigma))
            for _ in range(repetitions)
        ]
        for operation in OPERATIONS:
            cell = Cell("scratch", *run, operation)
            values = tuple(1000 * value * math.exp(random_.gauss(0, sigma)) for value in shared)
            entries[cell] = OfferedCell(cell, Status.MEASURED, max(values), "ops/s", "highest", values, repetitions)
    return Offer("offer", "offer", "crossroads-mdtest", 1, "full", {}, entries)


@dataclass(frozen=True)
class Outcome:
    alarm: bool
    t_alarm: bool
    best_alarm: bool
    all_differ: float  # share of the differing cells that are seen
    one_differs: float
    reached_low: float  # share of the cells that are reached at 94.9% of the commitment
    reached: float  # at 100%


def outcome(number: int, repetitions: int, noise: float) -> Outcome:
    random_ = random.Random(f"{number}/{repetitions}/{noise}")
    first = offer(random_, repetitions, noise)

    def against(factor: Factor, terms: Terms | None = None) -> tuple[verdicts.CellComparison, ...]:
        return verdicts.compare([first, offer(random_, repetitions, noise, factor)], terms).cells[0]

    def share(cells: tuple[verdicts.CellComparison, ...], *wanted: CellVerdict) -> float:
        return sum(cell.verdict in wanted for cell in cells) / len(cells)

    equal = against(lambda run: 1.0)
    one = [cell for cell in against(lambda run: 0.9 if run == RUNS[5] else 1.0) if cell.cell.launch == RUNS[5][0]]
    one = [cell for cell in one if cell.cell.files == RUNS[5][1]]
    reached = (CellVerdict.WITHIN, CellVerdict.BETTER)
    return Outcome(
        share(equal, CellVerdict.BETTER, CellVerdict.WORSE) > 0,
        any(_t_differs(cell) for cell in equal),
        any(abs(math.log(cell.reported or 1)) > math.log(1.05) for cell in equal),
        share(against(lambda run: 0.9), CellVerdict.WORSE),
        share(tuple(one), CellVerdict.WORSE),
        share(against(lambda run: 0.949, ACCEPTANCE), *reached),
        share(against(lambda run: 1.0, ACCEPTANCE), *reached),
    )


def _t_differs(cell: verdicts.CellComparison) -> bool:
    from scipy.stats import ttest_ind

    assert cell.first and cell.second
    return bool(ttest_ind(cell.first.values, cell.second.values, equal_var=False).pvalue < 0.05)


def main() -> int:
    body, missed = [], []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for repetitions in REPETITIONS:
            for noise in NOISES:
                arguments = [repetitions] * CAMPAIGNS, [noise] * CAMPAIGNS
                found = list(pool.map(outcome, range(CAMPAIGNS), *arguments, chunksize=50))

                def mean(name: str, found: list[Outcome] = found) -> float:
                    return sum(getattr(one, name) for one in found) / len(found)

                body.append(
                    [
                        f"{noise:.0%}",
                        repetitions,
                        *(f"{mean(name):.1%}" for name in ("alarm", "t_alarm", "best_alarm", "all_differ")),
                        *(f"{mean(name):.1%}" for name in ("one_differs", "reached_low", "reached")),
                    ]
                )
                for bar, name in (("false alarms", "alarm"), ("reached at 94.9%", "reached_low")):
                    # What a rate of exactly the bar gives in 99 of 100 simulations.
                    most = BARS[bar] + 2.33 * math.sqrt(BARS[bar] * (1 - BARS[bar]) / CAMPAIGNS)
                    if mean(name) > most:
                        missed.append(f"{bar} at {noise:.0%} noise, {repetitions} repetitions: {mean(name):.1%}")
    headers = [
        "noise", "n", "false alarms", "of t tests", "of reported numbers", "all differ: seen", "one run differs: seen",
        "reached at 94.9%", "reached at 100%",
    ]  # fmt: skip
    print(f"{CAMPAIGNS} campaigns each; bars: {', '.join(f'{name} up to {bar:.0%}' for name, bar in BARS.items())}")
    print(tabulate(body, headers, disable_numparse=True))
    for text in missed:
        print(f"bar missed: {text}")
    return len(missed)

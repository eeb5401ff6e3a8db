"""Bandwidth of mbw_mr against a plain loop of the same MPI calls with the same clock, and OSU's with OSU_MBW_MR=/path.

mbw_mr and OSU's test of 7.4 time each window by itself, after a barrier; mbw_mr --one-clock is compared with a loop
that has one clock too.

The programs take turns; a round runs each of them once, in an order that rotates. The figure is the median, over the
rounds, of the geometric mean over the sizes of the ratios, within its 95% interval; a bar is missed where the whole
interval is below it. The tables show each program's best round, since other work on the machine can only slow one down.
The bars hold where every process has a core; more processes than cores are shown without them.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator

from tabulate import tabulate

from tests.bench import instructions
from tests.bench.machine import BUILD, Middle, medians, mpirun
from tests.bench.table import Row

ROUNDS, CROWDED_ROUNDS = 6, 3
BAR = 0.98
# (range of sizes, iterations, warm-up): long enough that one pause of the machine does not decide.
LOADS = [((1, 8192), 500, 50), ((16384, 1048576), 50, 5)]

Rates = dict[int, float]  # message size to MB/s


def rates(argv: list[str], processes: int) -> Rates:
    """As the program printed them."""
    rows = [line.split() for line in mpirun(processes, argv).splitlines() if line[:1].isdigit()]
    return {int(row[0]): float(row[1]) for row in rows}


def programs(sizes: tuple[int, int], iterations: int, warmup: int) -> dict[str, list[str]]:
    low, high = map(str, sizes)
    options = ["-m", f"{low}:{high}", "-i", str(iterations), "-x", str(warmup)]
    loop = [str(BUILD / "limits" / "mbw_mr_loop"), low, high, str(iterations), str(warmup)]
    applet = [str(BUILD / "mbw_mr"), *options]
    commands = {"loop": loop, "mbw_mr": applet, "loop, one clock": [*loop, "one-clock"]}
    commands["mbw_mr --one-clock"] = [*applet, "--one-clock"]
    if osu := os.environ.get("OSU_MBW_MR"):
        commands["osu_mbw_mr"] = [osu, *options]
    return commands


def measure(processes: int, times: int) -> list[dict[str, Rates]]:
    """The rates of each program in every round."""
    rounds: list[dict[str, Rates]] = []
    for number in range(times):
        rounds.append({})
        for load in LOADS:
            commands = programs(*load)
            names = list(commands)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                rounds[-1].setdefault(name, {}).update(rates(commands[name], processes))
    return rounds


def mean_ratio(measured: Rates, limit: Rates) -> float:
    return statistics.geometric_mean(measured[size] / limit[size] for size in limit)


def main() -> Iterator[Row]:
    for processes in (2, 4):
        crowded = processes > len(os.sched_getaffinity(0))
        rounds = measure(processes, CROWDED_ROUNDS if crowded else ROUNDS)
        names = list(rounds[0])
        best = {name: {size: max(r[name][size] for r in rounds) for size in rounds[0][name]} for name in names}
        body = [[size, *(best[name][size] for name in names)] for size in best["loop"]]
        print(f"{processes} processes" + (", more than there are cores: no bar" if crowded else ""))
        print(tabulate(body, headers=["bytes", *(f"{name} MB/s" for name in names)], floatfmt=".3f"), flush=True)
        limits = [("mbw_mr", "loop", BAR), ("mbw_mr --one-clock", "loop, one clock", BAR)]
        if osu := "osu_mbw_mr" in names:
            limits.append(("mbw_mr", "osu_mbw_mr", 1.0))
        for name, limit, bar in limits:
            ratio = Middle.of_values(mean_ratio(turn[name], turn[limit]) for turn in rounds)
            middles = [Middle.of_values(mean_ratio(turn["osu_mbw_mr"], turn["loop"]) for turn in rounds)] * osu
            yield Row(
                f"{name} / {limit}, all sizes, processes: {processes}",
                "" if crowded else f"≥ {bar:g}",
                medians([ratio]),
                medians(middles) if limit == "loop" else "",
                ratio.spread,
                instructions.costs_text("mbw_mr") if limit == "loop" else "",
                ratio.high < bar and not crowded,
            )

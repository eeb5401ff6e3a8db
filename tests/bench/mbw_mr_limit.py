"""Bandwidth of mbw_mr against a plain loop of the same MPI calls with the same clock, and OSU's with OSU_MBW_MR=/path.

mbw_mr and OSU's test of 7.4 time each window by itself, after a barrier; mbw_mr --one-clock is compared with a loop
that has one clock too.

The programs take turns; a round runs each of them once, in an order that rotates. Other work on the machine can only
slow a round down, so each program's best round counts; the figure is the geometric mean over the sizes of the ratios,
and the spread that of the middle half of the rounds. The limit is 1. The bars hold where every process has a core; more
processes than cores are shown without them.
"""

from __future__ import annotations

import os
import statistics
import subprocess
from pathlib import Path

from tabulate import tabulate

ROUNDS = 5
BAR = 0.98
BUILD = Path(__file__).parents[2] / "bench-src" / "build"
# (range of sizes, iterations, warm-up): long enough that one pause of the machine does not decide.
LOADS = [((1, 8192), 1000, 50), ((16384, 1048576), 100, 10)]
LIMITS = {"mbw_mr": "loop", "osu_mbw_mr": "loop", "mbw_mr --one-clock": "loop, one clock"}

Rates = dict[int, float]  # message size to MB/s


def rates(argv: list[str], processes: int) -> Rates:
    """As the program printed them."""
    environment = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    done = subprocess.run(
        ["mpirun", "--oversubscribe", "-n", str(processes), *argv],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode != 0:
        raise SystemExit(f"{argv[0]} ended with status {done.returncode}:\n{done.stdout}\n{done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
    return {int(row[0]): float(row[1]) for row in rows}


def programs(sizes: tuple[int, int], iterations: int, warmup: int) -> dict[str, list[str]]:
    low, high = map(str, sizes)
    options = ["-m", f"{low}:{high}", "-i", str(iterations), "-x", str(warmup)]
    loop = [str(BUILD / "limits" / "mbw_mr_loop"), low, high, str(iterations), str(warmup)]
    own = [str(BUILD / "mbw_mr"), *options]
    found = {"loop": loop, "mbw_mr": own, "loop, one clock": [*loop, "one-clock"]}
    found["mbw_mr --one-clock"] = [*own, "--one-clock"]
    if osu := os.environ.get("OSU_MBW_MR"):
        found["osu_mbw_mr"] = [osu, *options]
    return found


def measure(processes: int) -> list[dict[str, Rates]]:
    """The rates of each program in every round."""
    rounds: list[dict[str, Rates]] = []
    for number in range(ROUNDS):
        rounds.append({})
        for load in LOADS:
            commands = programs(*load)
            names = list(commands)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                rounds[-1].setdefault(name, {}).update(rates(commands[name], processes))
    return rounds


def mean_ratio(own: Rates, limit: Rates) -> float:
    return statistics.geometric_mean(own[size] / limit[size] for size in limit)


def main() -> int:
    missed = 0
    for processes in (2, 4):
        rounds = measure(processes)
        names = list(rounds[0])
        best = {name: {size: max(r[name][size] for r in rounds) for size in rounds[0][name]} for name in names}
        body = [[size, *(best[name][size] for name in names)] for size in best["loop"]]
        crowded = processes > len(os.sched_getaffinity(0))
        print(f"{processes} processes" + (", more than there are cores: no bar" if crowded else ""))
        print(tabulate(body, headers=["bytes", *(f"{name} MB/s" for name in names)], floatfmt=".3f"))
        compared = [(name, LIMITS[name]) for name in names if name in LIMITS]
        compared += [("mbw_mr", "osu_mbw_mr")] if "osu_mbw_mr" in names else []
        for name, limit in compared:
            mean = mean_ratio(best[name], best[limit])
            quarter, _half, three_quarters = statistics.quantiles([mean_ratio(r[name], r[limit]) for r in rounds])
            bad = name.startswith("mbw_mr") and mean < BAR and not crowded
            missed += bad
            print(
                f"{name} / {limit}, all sizes: {mean:.3f} (rounds: {quarter:.3f} to {three_quarters:.3f})"
                + (f"   below the bar of {BAR}" if bad else "")
            )
        print(flush=True)
    return missed


if __name__ == "__main__":
    raise SystemExit(main())

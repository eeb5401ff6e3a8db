"""Bandwidth and message rate of mbw_mr against a plain loop of the same MPI calls, and against OSU_MBW_MR=/path if set.

OSU's test of 7.4 times each window by itself, after a barrier: mbw_mr --time-windows is to be compared with it.

The programs take turns; a round runs each of them once, in an order that rotates. Other work on the machine can only
slow a round down, so each program's best round counts; the figure is the geometric mean over the sizes of the ratios.
The limit is 1. The bar holds where every process has a core; more processes than cores are shown without it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
from pathlib import Path

from tabulate import tabulate

ROUNDS = 9
BAR = 0.98
BUILD = Path(__file__).parents[2] / "bench-src" / "build"
# (range of sizes, iterations, warm-up): long enough that one pause of the machine does not decide.
LOADS = [((1, 8192), 1000, 50), ((16384, 1048576), 100, 10)]


def rates(argv: list[str], processes: int) -> dict[int, float]:
    """Message size to MB/s, as the program printed them."""
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
    found = {
        "loop": [str(BUILD / "limits" / "mbw_mr_loop"), low, high, str(iterations), str(warmup)],
        "mbw_mr": [str(BUILD / "mbw_mr"), *options],
    }
    if osu := os.environ.get("OSU_MBW_MR"):
        found["osu_mbw_mr"] = [osu, *options]
        found["--time-windows"] = [*found["mbw_mr"], "--time-windows"]
    return found


def main() -> int:
    missed = 0
    for processes in (2, 4):
        body = []
        ratios: dict[str, list[float]] = {}
        for load in LOADS:
            names = programs(*load)
            rounds: list[dict[str, dict[int, float]]] = []
            for number in range(ROUNDS):
                order = list(names)[number % len(names) :] + list(names)[: number % len(names)]
                rounds.append({name: rates(names[name], processes) for name in order})
            for size in rounds[0]["loop"]:
                best = {name: max(r[name][size] for r in rounds) for name in names}
                row: list[object] = [size, best["loop"]]
                for name in [name for name in names if name != "loop"]:
                    ratios.setdefault(name, []).append(best[name] / best["loop"])
                    row += [best[name], best[name] / best["loop"]]
                body.append(row)
        others = [title for name in ratios for title in (f"{name} MB/s", "of loop")]
        crowded = processes > len(os.sched_getaffinity(0))
        print(f"{processes} processes" + (", more than there are cores: no bar" if crowded else ""))
        print(tabulate(body, headers=["bytes", "loop MB/s", *others], floatfmt=".3f"))
        for name, values in ratios.items():
            mean = statistics.geometric_mean(values)
            bad = name == "mbw_mr" and mean < BAR and not crowded
            missed += bad
            print(f"{name} of loop, all sizes: {mean:.3f}" + (f"   below the bar of {BAR}" if bad else ""))
        print()
    return missed


if __name__ == "__main__":
    raise SystemExit(main())

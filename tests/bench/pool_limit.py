"""What mpiio's chunk pool and its static split make of storage that one of four processes uses four times slower.

Every process is held to a pace well below what the machine can do, and the last one to a quarter of it, with the
applet's test options. The limit is the sum of what the same processes reach each alone. The bar for the pool is 0.95 of
it; the static split is shown beside it, and for both what each process did. Then the tracker alone: a million chunks of
no work to 64 processes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tabulate import tabulate

ROUNDS = 3
BAR = 0.95
PROCESSES, SLOW = 4, 4
PACE, SLOWED = "40M", ("--slow", f"{PROCESSES - 1}:{SLOW}")
BUILD = Path(__file__).parents[2] / "bench-src" / "build"


def run(folder: Path, processes: int, *options: str) -> list[dict[str, Any]]:
    """The JSON lines of one run, whose files are removed at its end."""
    settings = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "BENCH_JSON": str(folder / "lines.jsonl"),
    }
    command = [
        "mpirun",
        "--oversubscribe",
        "-n",
        str(processes),
        str(BUILD / "mpiio"),
        "-f",
        str(folder / "f"),
        "--unlink",
    ]
    done = subprocess.run(
        [*command, *options], env={**os.environ, **settings}, capture_output=True, text=True, timeout=300
    )
    if done.returncode != 0:
        raise SystemExit(f"mpiio ended with status {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return [json.loads(line) for line in (folder / "lines.jsonl").read_text().splitlines()]


def phase(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return next(line for line in lines if line["type"] == "phase")


def handed_out(folder: Path) -> list[list[object]]:
    """The row of the table that a million chunks for 64 processes make."""
    found = phase(run(folder, 64, "-a", "DUMMY", "-b", "1", "-c", "1", "-s", "1m"))
    tracker = found["tracker"]
    return [
        ["chunks", found["chunks"]],
        ["until all were handed out, s", found["elapsed_s"]],
        ["tracker's time for an answer, µs", tracker["answer_s"] * 1e6],
        ["tracker's processor time in all, s", tracker["cpu_s"]],
        ["mean wait for an answer, µs", tracker["wait_mean_s"] * 1e6],
    ]


def main() -> int:
    work = ("-b", "128K", "-c", "512K", "--pace", PACE)
    with tempfile.TemporaryDirectory(prefix="campaign-pool-", dir="/dev/shm") as name:
        folder = Path(name)
        rates: dict[str, list[float]] = {"fast alone": [], "slow alone": [], "static": [], "pool": []}
        bytes_done: dict[str, list[int]] = {}
        for _ in range(ROUNDS):
            rates["fast alone"].append(phase(run(folder, 1, *work, "-s", "120M"))["rate_mib_s"])
            rates["slow alone"].append(phase(run(folder, 1, *work, "-s", "30M", "--slow", f"0:{SLOW}"))["rate_mib_s"])
            for mode, options in (("static", ["--static"]), ("pool", [])):
                lines = run(folder, PROCESSES, *work, *SLOWED, "-s", "400M", *options)
                rates[mode].append(phase(lines)["rate_mib_s"])
                bytes_done[mode] = [line["bytes"] for line in lines if line["type"] == "process"]
        median = {name: statistics.median(values) for name, values in rates.items()}
        limit = (PROCESSES - 1) * median["fast alone"] + median["slow alone"]
        body = [
            [mode, median[mode], limit, median[mode] / limit, " ".join(f"{done >> 20}" for done in bytes_done[mode])]
            for mode in ("static", "pool")
        ]
        headers = ["400 MiB by 4 processes, one 4 times slower", "MiB/s", "sum alone", "share", "MiB of each process"]
        print(tabulate(body, headers=headers, floatfmt=".3f"))
        print()
        print(tabulate(handed_out(folder), headers=["a million chunks to 64 processes", ""], floatfmt=".3f"))
    share = median["pool"] / limit
    if share < BAR:
        print(f"the pool's share {share:.3f} is below the bar of {BAR}")
    return int(share < BAR)


if __name__ == "__main__":
    raise SystemExit(main())

"""What mpiio's chunk pool and its static split make of storage that one of four processes uses four times slower.

Every process is held to a pace well below what the machine can do, and the last one to a quarter of it, with the
applet's test options. The limit is the sum of what the same processes reach each alone. The bar for the pool is 0.95 of
it; the static split is shown beside it, and for both what each process did. Then the tracker alone: a million chunks of
no work to 64 processes.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tabulate import tabulate

from tests.bench.machine import BUILD, Middle, mpirun
from tests.bench.table import Row

ROUNDS = 3
BAR = 0.95
PROCESSES, SLOW = 4, 4
PACE, SLOWED = "40M", ("--slow", f"{PROCESSES - 1}:{SLOW}")


def run(folder: Path, processes: int, *options: str) -> list[dict[str, Any]]:
    """The JSON lines of one run, whose files are removed at its end."""
    lines = folder / "lines.jsonl"
    mpirun(processes, [BUILD / "mpiio", "-f", folder / "f", "--unlink", *options, "--json", lines])
    return [json.loads(line) for line in lines.read_text().splitlines()]


def phase(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return next(line for line in lines if line["type"] == "phase")


def handed_out(folder: Path) -> list[list[object]]:
    """The row of the table that a million chunks for 64 processes make."""
    fields = phase(run(folder, 64, "-a", "DUMMY", "-b", "1", "-c", "1", "-s", "1m"))
    tracker = fields["tracker"]
    return [
        ["chunks", fields["chunks"]],
        ["until all were handed out, s", fields["elapsed_s"]],
        ["tracker's time for an answer, µs", tracker["answer_s"] * 1e6],
        ["tracker's processor time in all, s", tracker["cpu_s"]],
        ["mean wait for an answer, µs", tracker["wait_mean_s"] * 1e6],
    ]


def main() -> Iterator[Row]:
    work = ("-b", "128K", "-c", "512K", "--pace", PACE)
    shares: dict[str, list[float]] = {"static": [], "pool": []}
    bytes_done: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory(prefix="campaign-pool-", dir="/dev/shm") as name:
        folder = Path(name)
        for _ in range(ROUNDS):
            fast = phase(run(folder, 1, *work, "-s", "120M"))["rate_mib_s"]
            slow = phase(run(folder, 1, *work, "-s", "30M", "--slow", f"0:{SLOW}"))["rate_mib_s"]
            for mode, options in (("static", ["--static"]), ("pool", [])):
                lines = run(folder, PROCESSES, *work, *SLOWED, "-s", "400M", *options)
                shares[mode].append(phase(lines)["rate_mib_s"] / ((PROCESSES - 1) * fast + slow))
                bytes_done[mode] = [line["bytes"] for line in lines if line["type"] == "process"]
        body = [
            [mode, statistics.median(mode_shares), " ".join(f"{size >> 20}" for size in bytes_done[mode])]
            for mode, mode_shares in shares.items()
        ]
        headers = ["400 MiB by 4 processes, one 4 times slower", "share of the sum alone", "MiB of each process"]
        print(tabulate(body, headers, floatfmt=".3f"))
        print()
        print(tabulate(handed_out(folder), headers=["a million chunks to 64 processes", ""], floatfmt=".3f"))
    pool = Middle.of_values(shares["pool"])
    yield Row(
        "mpiio with one of 4 processes 4 times slower: chunk pool / sum of their own rates (peer: equal shares)",
        f"≥ {BAR}",
        f"{pool.median:.3f}",
        f"{statistics.median(shares['static']):.2f}",
        pool.spread,
        missed=pool.high < BAR,
    )

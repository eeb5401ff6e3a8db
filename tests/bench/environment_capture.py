"""What the record of a job's surroundings costs: one node's facts, and those of 1,000 nodes put together.

The limit beside them is a program that starts and does nothing, and one that reads the same lines.
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tabulate import tabulate

from campaign.results.environment import reading
from tests.bench.table import Row
from tests.support import witness

ROUNDS = 7
NODES = 1000
FACTS = 120  # as many as a node of this machine tells
BAR_NODE_S, BAR_FOLD_S, BAR_READ_S, BAR_BYTES = 0.3, 1.0, 0.2, 256 << 10


def lines() -> bytes:
    facts = {f"setting.{number}": f"value {number} of this setting, on all nodes the same" for number in range(FACTS)}
    return "".join(
        f"{node}\t0\t{name}\t.\t{text}\n"
        for node in range(NODES)
        for name, text in {
            "name": f"node{node:04}", "clock": f"{node}.5", "boot": f"{node:08x}", **facts, "end": "yes"
        }.items()
    ).encode()  # fmt: skip


def main() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        folder, data = Path(scratch), lines()
        (folder / "said").write_bytes(data)
        tasks: dict[str, tuple[Callable[[], object], float | None]] = {
            "a program that does nothing": (lambda: subprocess.run(["true"], check=True, timeout=60), None),
            "one node's facts": (lambda: witness.run_node("-d", scratch, "-x", "/bin/bash"), BAR_NODE_S),
            f"{NODES} nodes read": (
                lambda: (folder / "said").read_bytes().splitlines(),
                None,
            ),
            f"{NODES} nodes put together": (lambda: witness.run_job(folder, data, NODES), BAR_FOLD_S),
            f"{NODES} nodes parsed by the driver": (
                lambda: reading.read(folder),
                BAR_READ_S,
            ),
        }
        times: dict[str, list[float]] = {name: [] for name in tasks}
        for _ in range(ROUNDS):
            for name, (task, _bar) in tasks.items():
                began = time.monotonic()
                task()
                times[name].append(time.monotonic() - began)
        size = (folder / "facts.jsonl").stat().st_size
    rows = [(name, statistics.median(times[name]), bar) for name, (_, bar) in tasks.items()]
    body = [[name, f"{median:.3f}", f"{bar:.1f}" if bar else "none"] for name, median, bar in rows]
    print(tabulate(body, ["what", "median s", "bar s"], disable_numparse=True))
    barred = [(name, median, bar) for name, median, bar in rows if bar is not None]
    yield Row(
        f"record of the nodes: {'; '.join(name for name, _, _ in barred)}; its size",
        f"≤ {', '.join(f'{bar:g} s' for _, _, bar in barred)}, {BAR_BYTES >> 10} KiB",
        f"{', '.join(f'{median:.2f} s' for _, median, _ in barred)}, {size / 1024:.0f} KiB",
        missed=any(median > bar for _, median, bar in barred) or size > BAR_BYTES,
    )

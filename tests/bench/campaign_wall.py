"""Wall time of a whole campaign against the sum of its srun step times, on the sandbox.

From the start of the command to the finished table, 12 runs with steps of about 1.5 s. The limit is 1: everything
above it is the driver's, Slurm's and the job script's. Allocations are interleaved.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tabulate import tabulate

from campaign.slurm.sandbox.cluster import Sandbox

ROUNDS = 3
BARS = {"one": 1.10, "geometry": 1.35, "run": None}

CAMPAIGN = """
name: wall-{allocation}-{number}
rules: crossroads-mdtest
profile: rehearsal
items_total: {items}
results: {results}
targets:
  - name: scratch
    directory: {target}
launch:
  node: 4
  peak: {{nodes: 4, processes: 16}}
  max: all
slurm:
  allocation: {allocation}
"""


def one_round(folder: Path, target: Path, allocation: str, number: int, items: int) -> tuple[float, float]:
    """(wall seconds, sum of the step seconds) of one campaign."""
    file = folder / f"{allocation}-{number}.yaml"
    file.write_text(
        CAMPAIGN.format(allocation=allocation, number=number, items=items, results=folder / "results", target=target)
    )
    began = time.monotonic()
    done = subprocess.run(
        [Path(sys.executable).with_name("campaign"), "run", file], capture_output=True, text=True, timeout=600
    )
    wall = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"the campaign ended with status {done.returncode}:\n{done.stdout}\n{done.stderr}")
    records = (folder / "results" / f"wall-{allocation}-{number}" / "runs").glob("*/*/completion.json")
    steps = [json.loads(path.read_text()) for path in records]
    if len(steps) != 12:
        raise SystemExit(f"{len(steps)} steps on record, 12 expected")
    return wall, sum(step["ended"] - step["started"] for step in steps)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        sandbox = Sandbox.start(Path(scratch) / "sandbox")
        os.environ.update(sandbox.environment())
        try:
            target = Path(os.environ["CAMPAIGN_SCRATCH"])
            # So many files that a step takes about 1.5 s here.
            _, probe = one_round(Path(scratch), target, "one", 0, 16384)
            items = max(16384, int(16384 * 1.5 * 12 / probe) // 64 * 64)
            times: dict[str, list[tuple[float, float]]] = {allocation: [] for allocation in BARS}
            for number in range(1, ROUNDS + 1):
                for allocation in BARS:
                    times[allocation].append(one_round(Path(scratch), target, allocation, number, items))
        finally:
            sandbox.stop()
    missed = 0
    body = []
    for allocation, bar in BARS.items():
        ratio = statistics.median(wall / steps for wall, steps in times[allocation])
        missed += bar is not None and ratio > bar
        wall = statistics.median(wall for wall, _ in times[allocation])
        step = statistics.median(steps / 12 for _, steps in times[allocation])
        body.append([allocation, f"{step:.2f}", f"{wall:.1f}", f"{ratio:.3f}", bar or "none"])
    print(tabulate(body, ["allocation", "step s", "wall s", "wall / steps", "bar"], disable_numparse=True))
    return missed

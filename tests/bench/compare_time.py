"""How long `campaign compare` takes over 1,000 campaigns of 108 cells, 6 repetitions each, all processes included.

The tables lie as JSON in files as large as `campaign table --format json` makes them, findings included.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from tests.bench.table import Row

CAMPAIGN = Path(sys.executable).with_name("campaign")
CAMPAIGNS = 1000
REPETITIONS = 6
BAR_S = 10.0
CELLS = [
    (target, launch, files, operation)
    for target in ("scratch", "home", "burst")
    for files in ("shared", "unique", "onefile")
    for launch in ("single", "node", "peak", "max")
    for operation in ("create", "stat", "remove")
]


def rows(name: str, random_: random.Random) -> list[dict[str, Any]]:
    """A table like a campaign's own, with rates that differ from one campaign to the next by some percent."""
    factor = random_.lognormvariate(0, 0.1)
    return [_row(name, cell, 1000.0 * place * factor, random_) for place, cell in enumerate(CELLS, 1)]


def _row(name: str, cell: Sequence[str], rate: float, random_: random.Random) -> dict[str, Any]:
    values = [rate * random_.lognormvariate(0, 0.05) for _ in range(REPETITIONS)]
    run = ".".join(cell[:3])
    finding = {
        "rule": "FLG-04", "severity": "I", "subject": f"{run}.r1/1",
        "message": "rehearsal size: not a compliant result", "expected": "1048576 or more",
        "actual": "1000", "checked": True,
    }  # fmt: skip
    return {
        **dict(zip(("target", "launch", "files", "operation"), cell, strict=True)),
        "value": max(values), "unit": "ops/s", "best": "highest", "status": "measured", "processes": 16, "nodes": 4,
        "processes_per_node": 4, "files_total": 1048576, "run": f"{run}.r1", "attempt": 1, "attempts": REPETITIONS,
        "job_id": "17", "source": {"file": f"runs/{run}.r1/1/stdout", "line": 14}, "true_value": None,
        "files_true": None,
        "statistics": {
            "n": REPETITIONS, "median": sorted(values)[REPETITIONS // 2], "low": min(values), "high": max(values),
            "cv": 0.05, "values": values, "jobs": REPETITIONS,
        },
        "campaign": name,
        "rules": {"id": "crossroads-mdtest", "version": 3, "profile": "full", "variables": {}},
        "projection": None, "notes": [], "findings": [finding] * 4,
    }  # fmt: skip


def main() -> Iterator[Row]:
    random_ = random.Random(5)
    body, times = [], list[float]()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"offer-{number}.json" for number in range(CAMPAIGNS)]
        for number, file in enumerate(files):
            file.write_text(json.dumps(rows(f"offer-{number}", random_), indent=1))
        size = sum(file.stat().st_size for file in files) / 2**20
        cells = CAMPAIGNS * len(CELLS)
        print(f"{CAMPAIGNS} campaigns, {cells} cells, {size:.0f} MiB of tables; bar: {BAR_S:.0f} s")
        for style in ("simple", "csv", "json"):
            start, used = time.monotonic(), os.times()
            process = subprocess.run(
                [CAMPAIGN, "compare", *files, "--format", style, "-o", Path(folder) / "out", "--force"], timeout=120
            )
            took, after = time.monotonic() - start, os.times()
            cpu = after.children_user + after.children_system - used.children_user - used.children_system
            if process.returncode not in (0, 1):
                raise RuntimeError(f"compare ended with status {process.returncode}")
            times.append(took)
            body.append([style, f"{took:.2f}", f"{cpu:.2f}", f"{1e6 * took / cells:.0f}"])
    print(tabulate(body, ["format", "s", "CPU s", "us a cell"], disable_numparse=True))
    yield Row(
        f"`campaign compare` of {CAMPAIGNS:,} campaigns, {cells:,} cells: as text, CSV, JSON",
        f"≤ {BAR_S:.0f} s",
        ", ".join(f"{took:.1f} s" for took in times),
        missed=max(times) > BAR_S,
    )

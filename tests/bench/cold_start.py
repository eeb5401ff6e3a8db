"""Time from a cold start of the command line to its end: `campaign --help` and `campaign plan`.

The limit beside them is a Python that does nothing.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.machine import Middle
from tests.bench.table import Row

ROUNDS = 15
CAMPAIGN = """
name: cold
rules: crossroads-mdtest
profile: rehearsal
targets:
  - name: scratch
    directory: /scratch/cold
launch:
  node: 4
  peak: {nodes: 4, processes: 16}
  max: {nodes: 4, processes: 32}
"""


def seconds(arguments: list[str]) -> float:
    began = time.monotonic()
    subprocess.run(arguments, stdout=subprocess.DEVNULL, check=True, timeout=60)
    return time.monotonic() - began


def main() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        file = Path(scratch) / "cold.yaml"
        file.write_text(CAMPAIGN)
        campaign = str(Path(sys.executable).with_name("campaign"))
        commands = {
            "python -c pass": ([sys.executable, "-c", "pass"], None),
            "campaign --help": ([campaign, "--help"], 0.20),
            "campaign plan": ([campaign, "plan", str(file)], 0.50),
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(ROUNDS):
            for name, (command, _bar) in commands.items():
                times[name].append(seconds(command))
    floor = statistics.median(times["python -c pass"])
    for name, (_command, bar) in commands.items():
        took = Middle.of_values(times[name])
        print(f"{name}: {took.median:.3f} s, {took.median / floor:.1f} of the limit")
        if bar is not None:
            us, python = f"{took.median:.2f} s", f"{floor:.2f} s (Python)"
            yield Row(f"`{name}`, cold", f"≤ {bar:.2f} s", us, python, f"{took.spread} s", missed=took.low > bar)

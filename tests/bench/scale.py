"""How the verbs grow with the runs of a campaign: CPU seconds and memory at 10^3 and 10^4 runs, with the exponent.

The campaigns lie there measured (tests/support/large.py). CPU time, since what others do on the machine doubles the
wall time; SCALE=100000 adds `plan` and `table` of so many runs.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from campaign.core.model import Paths
from tests.bench.table import Row
from tests.support import bundled, large
from tests.support.command_line import CAMPAIGN
from tests.support.large import Large

SMALL, BIG = 1_008, 10_008
EXPONENT = 1.1
MEMORY_MB = 300
# CPU seconds that a verb may take for 10^4 runs, in the order in which they are called.
BARS_S = {
    "plan": 2, "collect": 20, "status": 4.5, "table": 4.5, "check": 20,
    "report": 15, "run": 5, "bundle": 40, "verify": 40,
}  # fmt: skip
HUGE = {"plan": (10, 1000), "table": (30, 1000)}  # CPU seconds and MB for 10^5 runs
HUGE_REPETITIONS, HUGE_TARGETS = 926, 9  # 12 runs each; a campaign may have 1,000 repetitions


# Linux takes a child's largest memory from its parent's until it executes another program: hence a small parent.
_MEASURE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, used = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


@dataclass(frozen=True)
class Cost:
    cpu_s: float
    memory_mb: float


def cost(verb: str, given: Large) -> Cost:
    """What one call takes, the program's start included."""
    root, name = given.made.root, given.opened.campaign.name
    words = {
        "bundle": ["bundle", given.file, "-o", root / f"{name}.bag"],
        "verify": ["verify", root / f"{name}.bag"],
        "report": ["report", given.file, "-o", root / f"{name}.report"],
    }.get(verb, [verb, given.file])
    said = root / f"{name}.{verb}.out"
    with said.open("wb") as out:
        measured = subprocess.run(
            [sys.executable, "-S", "-c", _MEASURE, CAMPAIGN, *map(str, words)],
            env=given.made.environment, stdout=subprocess.PIPE, stderr=out, text=True, check=True,
        )  # fmt: skip
    status, cpu_s, memory_mb = map(float, measured.stdout.split())
    if status not in (0, 1):
        raise SystemExit(f"campaign {verb}: {said.read_text()}")
    return Cost(cpu_s, memory_mb)


def main() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        seed = bundled.make(Path(scratch))
        os.environ.update(seed.environment)
        costs: dict[int, dict[str, Cost]] = {}
        for runs in (SMALL, BIG):
            given = large.make(seed, f"runs{runs}", runs // large.RUNS_OF_ONE)
            costs[runs] = {verb: cost(verb, given) for verb in BARS_S}
            shutil.rmtree(Paths(given.opened.campaign.results).root)
            shutil.rmtree(seed.root / f"runs{runs}.bag")
        body = []
        for verb, bar_s in BARS_S.items():
            few, many = costs[SMALL][verb], costs[BIG][verb]
            exponent = math.log(many.cpu_s / few.cpu_s) / math.log(BIG / SMALL)
            late = many.cpu_s > bar_s or many.memory_mb > MEMORY_MB or exponent > EXPONENT
            limit, us = f"≤ {bar_s} s, {MEMORY_MB} MB", f"{many.cpu_s:.1f} s, {many.memory_mb:.0f} MB"
            yield Row(f"CPU and memory of `{verb}`, {BIG:,} runs", limit, us, missed=late)
            body.append(
                [verb, f"{few.cpu_s:.2f}", f"{many.cpu_s:.2f}", bar_s, f"{exponent:.2f}", EXPONENT,
                 f"{many.memory_mb:.0f}", MEMORY_MB, "missed" if late else ""]
            )  # fmt: skip
        if int(os.environ.get("SCALE", 0)) >= 100_000:
            given = large.make(seed, "huge", HUGE_REPETITIONS, HUGE_TARGETS)
            for verb, (bar_s, bar_mb) in HUGE.items():
                huge = cost(verb, given)
                late = huge.cpu_s > bar_s or huge.memory_mb > bar_mb
                limit, us = f"≤ {bar_s} s, {bar_mb} MB", f"{huge.cpu_s:.1f} s, {huge.memory_mb:.0f} MB"
                yield Row(f"CPU and memory of `{verb}`, 100,008 runs", limit, us, missed=late)
                body.append(
                    [f"{verb}, 10^5", "", f"{huge.cpu_s:.1f}", bar_s, "", "", f"{huge.memory_mb:.0f}", bar_mb,
                     "missed" if late else ""]
                )  # fmt: skip
    head = ["verb", f"s, {SMALL} runs", f"s, {BIG} runs", "bar s", "exponent", "bar", "MB", "bar MB", ""]
    print(tabulate(body, head, disable_numparse=True))

"""How the verbs grow with the runs of a campaign: CPU seconds and memory at 10^3 and 10^4 runs, with the exponent.

The campaigns lie there measured (tests/support/large.py). CPU time, since what others do on the machine doubles the
wall time. A bundle as a zip is compared with that of the same campaign as a folder, at 10^3 runs.

SCALE=100000 (with FULL=1, since it takes half an hour) adds `plan`, `status` and `table` of so many runs.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from campaign.core.paths import Paths
from tests.bench.table import Row
from tests.support import bundled, large
from tests.support.bundled import Made
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
ZIPPED = {"bundle": "bundle as a zip", "verify": "verify of a zip"}
ZIP_RATIO = 1.5  # CPU of a zip / of a folder
HUGE, HUGE_TARGETS = 100_008, 9  # a campaign may have 1,000 repetitions, of 12 runs for each target
HUGE_BARS_S = {"plan": 20, "status": 60, "table": 60}
HUGE_MEMORY_MB = 1_200


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


def cost(verb: str, large_campaign: Large) -> Cost:
    """What one call takes, the program's start included."""
    root, name = large_campaign.made.root, large_campaign.definition.campaign.name
    words = {
        "bundle": ["bundle", large_campaign.file, "-o", root / f"{name}.bag"],
        "verify": ["verify", root / f"{name}.bag"],
        ZIPPED["bundle"]: ["bundle", large_campaign.file, "-o", root / f"{name}.zip"],
        ZIPPED["verify"]: ["verify", root / f"{name}.zip"],
        "report": ["report", large_campaign.file, "-o", root / f"{name}.report"],
    }.get(verb, [verb, large_campaign.file])
    path = root / f"{name}.{verb}.out"
    with path.open("wb") as out:
        measured = subprocess.run(
            [sys.executable, "-S", "-c", _MEASURE, CAMPAIGN, *map(str, words)],
            env=large_campaign.made.environment, stdout=subprocess.PIPE, stderr=out, text=True, check=True,
        )  # fmt: skip
    status, cpu_s, memory_mb = map(float, measured.stdout.split())
    if status not in (0, 1):
        raise SystemExit(f"campaign {verb}: {path.read_text()}")
    return Cost(cpu_s, memory_mb)


def main() -> Iterator[Row]:
    body: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        seed = bundled.make(Path(scratch))
        os.environ.update(seed.environment)
        few, large_campaign = costs(seed, SMALL, [*BARS_S, *ZIPPED.values()])
        forget(large_campaign)
        many, large_campaign = costs(seed, BIG, BARS_S)
        forget(large_campaign)
        for verb, bar_s in BARS_S.items():
            yield grown(verb, (SMALL, few), (BIG, many), (bar_s, MEMORY_MB), body)
        for verb, zipped in ZIPPED.items():
            ratio = few[zipped].cpu_s / few[verb].cpu_s
            missed = ratio > ZIP_RATIO
            yield Row(
                f"CPU of `{zipped}` / of a folder, {SMALL:,} runs", f"≤ {ZIP_RATIO}", f"{ratio:.2f}", missed=missed
            )
        if int(os.environ.get("SCALE", 0)) >= 100_000:
            most, _ = costs(seed, HUGE, ["plan", "collect", "status", "table"], HUGE_TARGETS)
            for verb, bar_s in HUGE_BARS_S.items():
                yield grown(verb, (BIG, many), (HUGE, most), (bar_s, HUGE_MEMORY_MB), body)
    head = ["verb", "runs", "CPU s", "runs", "CPU s", "bar s", "exponent", "bar", "MB", "bar MB", ""]
    print(tabulate(body, head, disable_numparse=True))


def costs(seed: Made, runs: int, verbs: Iterable[str], targets: int = 1) -> tuple[dict[str, Cost], Large]:
    """What each verb takes for a campaign of so many runs."""
    large_campaign = large.make(seed, f"runs{runs}", runs // large.RUNS_OF_ONE // targets, targets)
    return {verb: cost(verb, large_campaign) for verb in verbs}, large_campaign


def forget(large_campaign: Large) -> None:
    """Make room for a larger one."""
    shutil.rmtree(Paths(large_campaign.definition.campaign.results).root)
    shutil.rmtree(large_campaign.made.root / f"{large_campaign.definition.campaign.name}.bag")


def grown(
    verb: str, less: tuple[int, dict[str, Cost]], more: tuple[int, dict[str, Cost]], bars: tuple[float, float],
    body: list[list[str]],
) -> Row:  # fmt: skip
    """What a verb takes for more runs, and how it grew; also a line of the table."""
    (few_runs, few_costs), (many_runs, many_costs), (bar_s, bar_mb) = less, more, bars
    took = many_costs[verb]
    exponent = math.log(took.cpu_s / few_costs[verb].cpu_s) / math.log(many_runs / few_runs)
    late = took.cpu_s > bar_s or took.memory_mb > bar_mb or exponent > EXPONENT
    body.append(
        [verb, f"{few_runs}", f"{few_costs[verb].cpu_s:.2f}", f"{many_runs}", f"{took.cpu_s:.2f}", f"{bar_s}",
         f"{exponent:.2f}", f"{EXPONENT}", f"{took.memory_mb:.0f}", f"{bar_mb}", "missed" if late else ""]
    )  # fmt: skip
    limit = f"≤ {bar_s} s, {bar_mb} MB, exponent {EXPONENT}"
    us = f"{took.cpu_s:.1f} s, {took.memory_mb:.0f} MB, {exponent:.2f}"
    return Row(f"CPU and memory of `{verb}`, {many_runs:,} runs, and its growth", limit, us, missed=late)

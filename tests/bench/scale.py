"""How the verbs grow with the runs of a campaign: CPU seconds and memory at 10^3 and 10^4 runs, with the exponent.

The bars are those of a machine on which a loop takes LOOP_S; it is measured around each verb, and scales them. What is
`unchanged` has been judged by the call before.

The campaigns lie there measured (tests/support/large.py). CPU time, since what others do on the machine doubles the
wall time. A bundle as a zip is compared with that of the same campaign as a folder, at 10^3 runs.

SCALE=100000 (with FULL=1, since it takes half an hour) adds `plan`, `status` and `table` of so many runs.
"""

from __future__ import annotations

import io
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from campaign.cli.progress import Live, Log
from campaign.core.paths import Paths
from campaign.core.runs import Planned, State
from campaign.pipeline import planning
from campaign.pipeline.request import Request
from campaign.pipeline.run import Driver, Stamping, _Work
from campaign.results.store import Store
from tests.bench.table import Row
from tests.support import bundled, large
from tests.support.bundled import Vendor
from tests.support.command_line import CAMPAIGN
from tests.support.large import Large

SMALL, BIG = 1_008, 10_008
EXPONENT = 1.05
LOOP_S, TURNS = 0.065, 2_000_000
# CPU seconds and MB that a verb may take for 10^4 runs, in the order in which they are called.
BARS = {
    "plan": (2, 300), "collect": (20, 300), "status": (8, 300), "status, unchanged": (1.2, 300),
    "table, unchanged": (1.2, 300), "check": (20, 300), "report": (15, 300), "run": (8, 300),
    "run, unchanged": (2, 300), "bundle": (40, 300), "verify": (40, 300),
}  # fmt: skip
ZIPPED = {"bundle": "bundle as a zip", "verify": "verify of a zip"}
ZIP_RATIO = 1.5  # CPU of a zip / of a folder
LOOK_RATIO = 1.1  # CPU of a driver's look for 10^4 runs / for 10^3
LOOKS = 200
HUGE, HUGE_TARGETS = 100_008, 9  # a campaign may have 1,000 repetitions, of 12 runs for each target
HUGE_BARS = {
    "plan": (20, 1_200), "status": (60, 1_200), "status, unchanged": (10, 300), "table, unchanged": (15, 400),
}  # fmt: skip


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
    loop_s: float

    @property
    def scaled_s(self) -> float:
        """On the machine of the bars."""
        return self.cpu_s * LOOP_S / self.loop_s


def loop_s() -> float:
    """CPU seconds of the loop."""
    began, total = time.process_time(), 0
    for number in range(TURNS):
        total += number & 7
    return time.process_time() - began


def cost(verb: str, large_campaign: Large) -> Cost:
    """What one call takes, the program's start included."""
    root, name = large_campaign.vendor.root, large_campaign.definition.campaign.name
    words = {
        "bundle": ["bundle", large_campaign.file, "-o", root / f"{name}.bag"],
        "verify": ["verify", root / f"{name}.bag"],
        ZIPPED["bundle"]: ["bundle", large_campaign.file, "-o", root / f"{name}.zip"],
        ZIPPED["verify"]: ["verify", root / f"{name}.zip"],
        "report": ["report", large_campaign.file, "-o", root / f"{name}.report"],
    }.get(verb, [verb.partition(",")[0], large_campaign.file])
    path = root / f"{name}.{verb}.out"
    before_s = loop_s()
    with path.open("wb") as out:
        measured = subprocess.run(
            [sys.executable, "-S", "-c", _MEASURE, CAMPAIGN, *map(str, words)],
            env=large_campaign.vendor.environment, stdout=subprocess.PIPE, stderr=out, text=True, check=True,
        )  # fmt: skip
    status, cpu_s, memory_mb = map(float, measured.stdout.split())
    if status not in (0, 1):
        raise SystemExit(f"campaign {verb}: {path.read_text()}")
    return Cost(cpu_s, memory_mb, (before_s + loop_s()) / 2)


def main() -> Iterator[Row]:
    body: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        seed = bundled.make(Path(scratch))
        os.environ.update(seed.environment)
        small_costs, small = costs(seed, SMALL, [*BARS, *ZIPPED.values()])
        big_costs, big = costs(seed, BIG, BARS)
        yield from of_looks(small, big)
        forget(small)
        forget(big)
        for verb, bars in BARS.items():
            yield growth_row(verb, (SMALL, small_costs), (BIG, big_costs), bars, body)
        for verb, zipped in ZIPPED.items():
            ratio = small_costs[zipped].scaled_s / small_costs[verb].scaled_s
            missed = ratio > ZIP_RATIO
            yield Row(
                f"CPU of `{zipped}` / of a folder, {SMALL:,} runs", f"≤ {ZIP_RATIO}", f"{ratio:.2f}", missed=missed
            )
        if int(os.environ.get("SCALE", 0)) >= 100_000:
            huge_costs, _ = costs(seed, HUGE, ["plan", "collect", *HUGE_BARS], HUGE_TARGETS)
            for verb, bars in HUGE_BARS.items():
                yield growth_row(verb, (BIG, big_costs), (HUGE, huge_costs), bars, body)
    head = [
        "verb",
        "runs",
        "CPU s",
        "runs",
        "CPU s",
        "loop s",
        "scaled s",
        "bar s",
        "exponent",
        "bar",
        "MB",
        "bar MB",
        "",
    ]
    print(tabulate(body, head, disable_numparse=True))


def costs(seed: Vendor, runs: int, verbs: Iterable[str], targets: int = 1) -> tuple[dict[str, Cost], Large]:
    """What each verb takes for a campaign of so many runs."""
    large_campaign = large.make(seed, f"runs{runs}", runs // large.RUNS_OF_ONE // targets, targets)
    return {verb: cost(verb, large_campaign) for verb in verbs}, large_campaign


class Looks:
    """A driver that follows runs of a campaign which is measured again."""

    def __init__(self, large_campaign: Large) -> None:
        definition = large_campaign.definition
        runs = planning.plan(definition).runs
        self._store = Store(definition.paths)
        steps = [
            Planned(run, 9, f"{number:016x}", definition.paths.attempt(run.id, 9))
            for number, run in enumerate(runs[: large.RUNS_OF_ONE])
        ]
        self._store.plan_job("again", runs[0].target, "host:1:1", steps, "1", "0" * 64)
        self._store.submitted("again", "77", "")
        self._again = self._store.under_way()
        display = Live(io.StringIO(), Log(large_campaign.vendor.root / "no-log"))
        display._live.stop()
        stamping = Stamping(definition, self._store, print)
        self._work = _Work(Driver(definition, self._store, display, frozenset(), "", stamping), runs, Request())
        self._work._follower._next_query = math.inf
        self._work._look()

    def look_s(self, has_changed: bool) -> float:
        """CPU of one look, at which one attempt has changed or none."""
        if has_changed:
            attempt = self._again[time.monotonic_ns() % len(self._again)]
            self._store.observe_state(attempt, State.PENDING, str(time.monotonic_ns()))
        began = time.process_time()
        self._work._look()
        return time.process_time() - began


def of_looks(small: Large, big: Large) -> Iterator[Row]:
    """By turns, since the machine's speed changes."""
    looks = Looks(small), Looks(big)
    for has_changed, change in ((False, "none has changed"), (True, "one has changed")):
        small_s, big_s = (statistics.median(times) for times in zip(
            *([driver.look_s(has_changed) for driver in looks] for _ in range(LOOKS)), strict=True
        ))  # fmt: skip
        figure = f"CPU of a driver's look, where {change} of {BIG:,} attempts / of {SMALL:,}"
        us = f"{big_s / small_s:.2f} ({big_s * 1e3:.1f} ms)"
        yield Row(figure, f"≤ {LOOK_RATIO}", us, missed=big_s / small_s > LOOK_RATIO)


def forget(large_campaign: Large) -> None:
    """Make room for a larger one."""
    shutil.rmtree(Paths(large_campaign.definition.campaign.results).root)
    shutil.rmtree(large_campaign.vendor.root / f"{large_campaign.definition.campaign.name}.bag")


def growth_row(
    verb: str, smaller: tuple[int, dict[str, Cost]], larger: tuple[int, dict[str, Cost]], bars: tuple[float, float],
    body: list[list[str]],
) -> Row:  # fmt: skip
    """What a verb takes for more runs, and how it grew; also a line of the table."""
    (few_runs, few_costs), (many_runs, many_costs), (bar_s, bar_mb) = smaller, larger, bars
    took = many_costs[verb]
    exponent = math.log(took.scaled_s / few_costs[verb].scaled_s) / math.log(many_runs / few_runs)
    late = took.scaled_s > bar_s or took.memory_mb > bar_mb or exponent > EXPONENT
    body.append(
        [verb, f"{few_runs}", f"{few_costs[verb].cpu_s:.2f}", f"{many_runs}", f"{took.cpu_s:.2f}", f"{took.loop_s:.3f}",
         f"{took.scaled_s:.2f}", f"{bar_s}",
         f"{exponent:.2f}", f"{EXPONENT}", f"{took.memory_mb:.0f}", f"{bar_mb}", "missed" if late else ""]
    )  # fmt: skip
    limit = f"≤ {bar_s} s, {bar_mb} MB, exponent {EXPONENT}"
    us = f"{took.scaled_s:.1f} s, {took.memory_mb:.0f} MB, {exponent:.2f}"
    return Row(f"CPU and memory of `{verb}`, {many_runs:,} runs, and its growth", limit, us, missed=late)

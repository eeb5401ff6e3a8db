"""How long 1,000 jobs take to submit on the sandbox: `campaign run --detach`, from its start to its end.

The limit is a loop of bash that calls sbatch for the same scripts, each with a dependency on the job before. The
partition is down, so that no job runs. CPU seconds are those of both and of their sbatch, without slurmctld's.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from tests.bench.machine import Middle
from tests.bench.table import Row
from tests.support.command_line import CAMPAIGN

ROUNDS = 2
JOBS = 1000
BAR_S, BAR_RATIO = 60.0, 1.05  # where the loop itself takes longer, as on a busy machine, the ratio has to do

FILE = """
name: submission-{number}
rules: crossroads-mdtest
profile: rehearsal
items_total: 16384
results: {results}
repetitions: 84
targets:
  - name: scratch
    directory: {target}
launch:
  node: 4
  peak: {{nodes: 4, processes: 16}}
  max: all
slurm:
  allocation: run
benchmark:
  executable: builtin
"""

LOOP = """
for script in "$@"; do
    job=$(sbatch --parsable ${job:+--dependency=afterany:$job} "$script") || exit 1
done
"""


@dataclass(frozen=True)
class Took:
    wall_s: float
    cpu_s: float


def took(command: Sequence[str | Path]) -> Took:
    """With nothing in the queue before, and all jobs in it after."""
    slurm("scancel", "--me")
    while slurm("squeue", "--noheader"):
        time.sleep(0.2)
    before, began = os.times(), time.monotonic()
    process = subprocess.run(command, capture_output=True, text=True, timeout=300)
    wall_s, after = time.monotonic() - began, os.times()
    jobs = len(slurm("squeue", "--noheader").splitlines())
    if process.returncode != 0 or jobs != JOBS:
        raise SystemExit(
            f"{command[0]}: status {process.returncode}, {jobs} of {JOBS} jobs in the queue\n{process.stderr}"
        )
    cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return Took(wall_s, cpu_s)


def slurm(*words: str) -> str:
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout


def main() -> Iterator[Row]:
    times: dict[str, list[Took]] = {"sbatch in a loop": [], "campaign": []}
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        sandbox = Sandbox.start(Path(scratch) / "sandbox", owner=os.getpid())
        os.environ.update(sandbox.environment())
        try:
            slurm("scontrol", "update", f"PartitionName={Shape().partition}", "State=DOWN")
            for number in range(ROUNDS):
                file, results = Path(scratch) / f"{number}.yaml", Path(scratch) / "results"
                target = os.environ["CAMPAIGN_SCRATCH"]
                file.write_text(FILE.format(number=number, results=results, target=target))
                times["campaign"].append(took([CAMPAIGN, "run", "--detach", file]))
                folder = results / f"submission-{number}"
                events = map(json.loads, (folder / "journal.jsonl").read_text().splitlines())
                jobs = [folder / "jobs" / event["job"] for event in events if event["event"] == "submitted"]
                scripts = [job / "job.sbatch" for job in jobs]
                times["sbatch in a loop"].append(took(["bash", "-c", LOOP, "bash", *scripts]))
        finally:
            sandbox.stop()
    pairs = zip(times["campaign"], times["sbatch in a loop"], strict=True)
    ratio = Middle.of_values(own_times.wall_s / loop.wall_s for own_times, loop in pairs)
    wall_s = {name: statistics.median(timing.wall_s for timing in times) for name, times in times.items()}
    body = [
        [name, f"{wall_s[name]:.1f}", f"{statistics.median(timing.cpu_s for timing in timings):.1f}"]
        for name, timings in times.items()
    ]
    print(tabulate(body, [f"{JOBS} jobs", "wall s", "CPU s"], disable_numparse=True))
    print(f"load at the end: {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores")
    yield Row(
        f"`campaign run --detach`, {JOBS:,} jobs, from its start to the last `sbatch` (peer: a loop of `sbatch`)",
        f"≤ {BAR_S:.0f} s, or {BAR_RATIO} of the loop",
        f"{wall_s['campaign']:.1f} s",
        f"{wall_s['sbatch in a loop']:.1f} s",
        f"{ratio.spread} of the loop",
        missed=wall_s["campaign"] > BAR_S and ratio.median > BAR_RATIO,
    )

"""Wall time of a whole campaign against the sum of its srun step times, on the sandbox.

From the start of the command to the finished table, 12 runs with steps of about 1.75 s. The limit is 1: everything
above it is the driver's, Slurm's and the job script's. `MDTEST=/path/to/mdtest` adds campaigns that run that program,
which the job watches from outside; and a job written by hand with the same command lines, which writes nothing down but
its output. `IOPS=/path/to/iops` adds that tool (PyPI: iops-benchmark) in its mode of one allocation. All take turns.
"""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import yaml
from tabulate import tabulate

from campaign.slurm.sandbox.cluster import Sandbox
from tests.bench.mdtest_limit import OPERATIONS
from tests.bench.upstream import mdtests

ROUNDS = 3
STEPS = 12
STEP_S = 1.75
FITTED = (16384, 131072)  # files of which the time of a step is measured, for those between
BARS = {"one": 1.08, "geometry": 1.20, "run": None}

CAMPAIGN = """
name: wall-{name}
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
benchmark:
  executable: {executable}
"""

PARSER = f"""
import re
def parse(path):
    text = open(path).read()
    rows = {list(OPERATIONS.values())!r}
    return {{row.replace(" ", "_"): float(re.search("^ +" + row + r" +:? *([0-9.]+)", text, re.M)[1]) for row in rows}}
"""


@dataclass(frozen=True)
class Step:
    """An execution of a campaign, as somebody would write it into a job of one's own."""

    nodes: int
    processes: int
    processes_per_node: int
    argv: tuple[str, ...]

    def script(self, directory: Path, times: Path) -> str:
        place = self.argv.index("-d") + 1
        words = [*self.argv[:place], str(directory), *self.argv[place + 1 :]]
        launch = ["srun", f"--nodes={self.nodes}", f"--ntasks={self.processes}"]
        launch += [f"--ntasks-per-node={self.processes_per_node}", "--distribution=block", *words]
        return (
            f"mkdir -p {directory}\nbegan=$EPOCHREALTIME\n{shlex.join(launch)}\n"
            f'echo "$began $EPOCHREALTIME" >>{times}\nrm -rf {directory}\n'
        )


@dataclass(frozen=True)
class Took:
    wall_s: float
    steps_s: float


class Contest:
    """What takes turns on one sandbox."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.folder, self.target = folder, target
        self.items: dict[str, int] = {}  # of each executable
        self._number = 0

    def campaign(self, executable: Path | str, allocation: str) -> Took:
        return self._campaign(executable, allocation)[0]

    def _campaign(self, executable: Path | str, allocation: str) -> tuple[Took, list[Step]]:
        self._number += 1
        name = f"{allocation}-{self._number}"
        file, results = self.folder / f"{name}.yaml", self.folder / "results"
        values = {"allocation": allocation, "executable": executable, "items": self.items[str(executable)]}
        file.write_text(CAMPAIGN.format(name=name, results=results, target=self.target, **values))
        wall_s = timed([Path(sys.executable).with_name("campaign"), "run", file])
        attempts = sorted((results / f"wall-{name}" / "runs").glob("*/*"))
        records = [json.loads((attempt / "completion.json").read_text()) for attempt in attempts]
        if len(records) != STEPS:
            raise SystemExit(f"{len(records)} steps on record, {STEPS} expected")
        told = [json.loads((attempt / "attempt.json").read_text()) for attempt in attempts]
        steps = [
            Step(each["nodes"], each["processes"], each["processes_per_node"], tuple(each["argv"])) for each in told
        ]
        return Took(wall_s, sum(record["ended"] - record["started"] for record in records)), steps

    def fit(self, executable: Path | str) -> None:
        """So many files that a step takes as long as it should. Part of its time does not grow with them."""
        few, many = FITTED
        few_s, many_s = (self._step_s(executable, items) for items in FITTED)
        share = max(0.0, (STEP_S - few_s) / (many_s - few_s))
        self.items[str(executable)] = int(few + share * (many - few)) // 64 * 64

    def _step_s(self, executable: Path | str, items: int) -> float:
        self.items[str(executable)] = items
        return min(self.campaign(executable, "one").steps_s for _ in range(2)) / STEPS  # others may have slowed one

    def steps(self, executable: Path | str) -> list[Step]:
        return self._campaign(executable, "one")[1]

    def by_hand(self, steps: Sequence[Step]) -> Took:
        folder, times = self._folder()
        script, end = folder / "job.sbatch", folder / "end"
        lines = [step.script(self.target / folder.name, times) for step in steps]
        script.write_text(f"#!/bin/bash\n{directives(steps)}\n{''.join(lines)}touch {end}\n")
        # `sbatch --wait` looks after 2, 6, 14, 30 … seconds: its wall time would be that of the next look.
        until = "sbatch --output=$1/out $1/job.sbatch && until [ -e $1/end ]; do sleep 0.05; done"
        wall_s = timed(["bash", "-c", until, "bash", str(folder)])
        table = [line for line in (folder / "out").read_text().splitlines() if line.startswith("   File ")]
        if len(table) < 3 * STEPS:
            raise SystemExit(f"{folder}/out: {len(table)} rows, {3 * STEPS} expected")
        return Took(wall_s, sum_of(times))

    def by_iops(self, iops: Path, steps: Sequence[Step]) -> Took:
        folder, times = self._folder()
        for number, step in enumerate(steps):
            (folder / f"{number}.bash").write_text(step.script(self.target / f"{folder.name}-{number}", times))
        allocation = {"mode": "single", "allocation_script": directives(steps)}
        parser = {
            "file": "{{ execution_dir }}/out",
            "metrics": [{"name": row.replace(" ", "_")} for row in OPERATIONS.values()],
            "parser_script": PARSER,
        }
        given = {
            "benchmark": {
                "name": "wall",
                "workdir": str(folder),
                "executor": "slurm",
                "repetitions": 1,
                "search_method": "exhaustive",
                "slurm_options": {"poll_interval": 1, "allocation": allocation},
            },
            "vars": {"step": {"type": "int", "sweep": {"mode": "list", "values": list(range(len(steps)))}}},
            "command": {"template": f"bash {folder}/{{{{ step }}}}.bash"},
            "scripts": [
                {
                    "name": "step",
                    "script_template": "#!/bin/bash\n{{ command.template }} >{{ execution_dir }}/out\n",
                    "parser": parser,
                }
            ],
            "output": {"sink": {"type": "csv", "path": "{{ workdir }}/results.csv"}},
        }
        (folder / "wall.yaml").write_text(yaml.safe_dump(given))
        wall_s = timed([iops, "run", folder / "wall.yaml"], folder)  # where it leaves its log
        table = next(folder.glob("run_*/results.csv")).read_text().splitlines()
        if len(table) != 1 + STEPS:
            raise SystemExit(f"IOPS gave {len(table) - 1} rows, {STEPS} expected")
        return Took(wall_s, sum_of(times))

    def _folder(self) -> tuple[Path, Path]:
        self._number += 1
        folder = self.folder / f"other-{self._number}"
        folder.mkdir()
        return folder, folder / "times"


def directives(steps: Sequence[Step]) -> str:
    nodes, each = max(step.nodes for step in steps), max(step.processes_per_node for step in steps)
    return f"#SBATCH --nodes={nodes} --ntasks-per-node={each} --exclusive --time=10"


def sum_of(times: Path) -> float:
    found = [line.split() for line in times.read_text().splitlines()]
    if len(found) != STEPS:
        raise SystemExit(f"{times}: {len(found)} steps, {STEPS} expected")
    return sum(float(ended) - float(began) for began, ended in found)


def timed(command: Sequence[object], folder: Path | None = None) -> float:
    began = time.monotonic()
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} ended with status {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return time.monotonic() - began


def contenders(contest: Contest) -> dict[tuple[str, str], Callable[[], Took]]:
    """By program and allocation. The first upstream binary is taken."""
    contest.fit("builtin")
    found: dict[tuple[str, str], Callable[[], Took]] = {
        ("built-in", allocation): partial(contest.campaign, "builtin", allocation) for allocation in BARS
    }
    for path in mdtests()[:1]:
        contest.fit(path)
        steps = contest.steps(path)
        for allocation in ("one", "geometry"):
            found["external", allocation] = partial(contest.campaign, path, allocation)
        found["external", "one, by hand"] = partial(contest.by_hand, steps)
        if iops := os.environ.get("IOPS"):
            found["external", "one, by IOPS"] = partial(contest.by_iops, Path(iops), steps)
    return found


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        sandbox = Sandbox.start(Path(scratch) / "sandbox", owner=os.getpid())
        os.environ.update(sandbox.environment())
        try:
            contest = Contest(Path(scratch), Path(os.environ["CAMPAIGN_SCRATCH"]))
            takes_part = contenders(contest)
            times: dict[tuple[str, str], list[Took]] = {each: [] for each in takes_part}
            for number in range(ROUNDS):
                order = list(takes_part)[number % len(takes_part) :] + list(takes_part)[: number % len(takes_part)]
                for each in order:
                    times[each].append(takes_part[each]())
        finally:
            sandbox.stop()
    missed = 0
    body = []
    for (program, allocation), took in times.items():
        bar = BARS.get(allocation)
        ratio = statistics.median(each.wall_s / each.steps_s for each in took)
        missed += bar is not None and ratio > bar
        wall_s = statistics.median(each.wall_s for each in took)
        step_s = statistics.median(each.steps_s / STEPS for each in took)
        body.append([program, allocation, f"{step_s:.2f}", f"{wall_s:.1f}", f"{ratio:.3f}", bar or "none"])
    headers = ["program", "allocation", "step s", "wall s", "wall / steps", "bar"]
    print(tabulate(body, headers, disable_numparse=True))
    return missed

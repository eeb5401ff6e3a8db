"""A whole campaign against a job written by hand, the sum of its srun steps, and IOPS: wall time, on the sandbox.

From the start of the command to the finished table, 12 runs with steps of about 1.75 s. `MDTEST=/path/to/mdtest`: the
campaigns run that program, which the job watches from outside, and a job written by hand takes turns with them, with
the same command lines, which writes nothing down but its output. `IOPS=/path/to/iops` adds that tool (PyPI:
iops-benchmark) in its mode of one allocation. Without MDTEST the campaigns run the built-in benchmark. Rounds are begun
as long as another one fits into four minutes; each turn is printed when it has ended. Then the medians, and where the
time goes, by what the driver and the jobs have recorded.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import yaml
from tabulate import tabulate

from campaign.sandbox.cluster import Sandbox
from tests.bench.machine import Middle, mdtests, medians
from tests.bench.mdtest_limit import OPERATIONS
from tests.bench.table import Row
from tests.support import facts

SECONDS = 220  # for all
ROUNDS = 5  # at most
LONGEST_S = 120  # of one turn
STEPS = 12
STEP_S = 1.75
FEW = 16384  # files of which the time of a step is measured; part of it does not grow with them
BY_HAND, IOPS = "one, by hand", "one, by IOPS"
ALLOCATIONS = {"one": "one allocation", "geometry": "one for each geometry"}
BARS = {"one": 1.08, "geometry": 1.20}  # wall time / steps
BARS_BY_HAND = {"one": 1.06, "geometry": 1.12}  # wall time / that of the job written by hand
LAUNCHES = "launches (srun and benchmark)"
PHASES = (
    "until the first launch",
    "- driver: plan, checks, scripts",
    "- driver: sbatch",
    "- Slurm: until the job begins",
    "- job: its nodes",
    "- job: prepares the first launch",
    LAUNCHES,
    "between launches",
    "- job: prepares a launch",
    "- job: removes the files",
    "- job: records the run",
    "- Slurm: between two jobs",
    "- job: its nodes, in later jobs",
    "after the last launch",
    "- job and driver: until it is recorded",
    "- driver: judges and prints",
    "processor time of the command",
)

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
class Done:
    """A command that has ended; `processor_s`: of it and the commands that it waited for."""

    began: float
    ended: float
    processor_s: float

    @property
    def wall_s(self) -> float:
        return self.ended - self.began


@dataclass(frozen=True)
class Took:
    """`phases`: some of PHASES, in seconds."""

    wall_s: float
    phases: dict[str, float]

    @property
    def steps_s(self) -> float:
        return self.phases[LAUNCHES]

    @property
    def beyond_s(self) -> float:
        return self.wall_s - self.steps_s


def of_launches(timing: Done, launches: Sequence[tuple[float, float]]) -> dict[str, float]:
    """What is known of all: `launches` are the times of their begins and ends."""
    if len(launches) != STEPS:
        raise SystemExit(f"{len(launches)} steps on record, {STEPS} expected")
    return {
        "until the first launch": launches[0][0] - timing.began,
        LAUNCHES: sum(end - began for began, end in launches),
        "between launches": sum(next_began - earlier for (_, earlier), (next_began, _) in pairwise(launches)),
        "after the last launch": timing.ended - launches[-1][1],
        "processor time of the command": timing.processor_s,
    }


@dataclass(frozen=True, order=True)
class Recorded:
    """When an attempt was launched and ended, and what else its job has recorded of the time."""

    launched: float
    ended: float
    job: str
    job_began: float
    nodes_known: float
    opened: float
    removed: float

    @classmethod
    def read(cls, attempt: Path) -> Recorded:
        of_job, of_host = (
            {line["name"]: line["value"] for line in facts.read_source(attempt, source) if "phase" not in line}
            for source in ("job", "host")
        )
        times = {
            line["name"].partition(".")[0]: line["time"]
            for line in facts.read_source(attempt, "target")
            if "time" in line
        }
        return cls(
            of_job["started"],
            of_job["ended"],
            of_job["job_id"],
            of_host["started"],
            of_host["ended"],
            times["before"],
            times["after"],
        )


def of_campaign(timing: Done, root: Path) -> Took:
    events = [json.loads(line) for line in (root / "journal.jsonl").read_text().splitlines()]
    times = {
        kind: [event["time"] for event in events if event["event"] == kind] for kind in ("job", "submitted", "ended")
    }
    runs = sorted(map(Recorded.read, root.glob("runs/*/*")))
    phases = of_launches(timing, [(run.launched, run.ended) for run in runs])
    first, last = runs[0], runs[-1]
    in_job = [(earlier, next_run) for earlier, next_run in pairwise(runs) if earlier.job == next_run.job]
    across = [(earlier, next_run) for earlier, next_run in pairwise(runs) if earlier.job != next_run.job]
    return Took(
        timing.wall_s,
        phases
        | {
            "- driver: plan, checks, scripts": times["job"][0] - timing.began,
            "- driver: sbatch": times["submitted"][0] - times["job"][0],
            "- Slurm: until the job begins": first.job_began - times["submitted"][0],
            "- job: its nodes": first.nodes_known - first.job_began,
            "- job: prepares the first launch": first.launched - first.nodes_known,
            "- job: prepares a launch": sum(run.launched - run.opened for run in runs[1:]),
            "- job: removes the files": sum(run.removed - run.ended for run in runs[:-1]),
            "- job: records the run": sum(next_run.opened - earlier.removed for earlier, next_run in in_job),
            "- Slurm: between two jobs": sum(next_run.job_began - earlier.removed for earlier, next_run in across),
            "- job: its nodes, in later jobs": sum(next_run.opened - next_run.job_began for _, next_run in across),
            "- job and driver: until it is recorded": times["ended"][-1] - last.ended,
            "- driver: judges and prints": timing.ended - times["ended"][-1],
        },
    )


def timed_part_s(stdout: Path) -> float:
    """How long the operations of an mdtest took, by its rates."""
    text = stdout.read_text()
    files = _number(r"^\d+ tasks, (\d+) files?", text)
    return sum(files / _number(f"^ +{row} +:? *([0-9.]+)", text) for row in OPERATIONS.values())


def _number(pattern: str, text: str) -> float:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise SystemExit(f"no line with {pattern} in the output of mdtest:\n{text}")
    return float(match[1])


class Contest:
    """What takes turns on one sandbox."""

    def __init__(self, folder: Path, target: Path, executable: Path | str) -> None:
        self.folder, self.target, self.executable = folder, target, executable
        self.items = FEW
        self._number = 0
        few_times = self.campaign("one")
        timed_s = sum(map(timed_part_s, self._root.glob("runs/*/*/stdout")))
        self.items = max(FEW, int(FEW * (1 + (STEP_S * STEPS - few_times.steps_s) / timed_s)) // 64 * 64)

    def campaign(self, allocation: str) -> Took:
        self._number += 1
        name = f"{allocation}-{self._number}"
        file, results = self.folder / f"{name}.yaml", self.folder / "results"
        values = {"allocation": allocation, "executable": self.executable, "items": self.items}
        file.write_text(CAMPAIGN.format(name=name, results=results, target=self.target, **values))
        timing = run([Path(sys.executable).with_name("campaign"), "run", file])
        self._root = results / f"wall-{name}"
        return of_campaign(timing, self._root)

    def by_hand(self) -> Took:
        folder, times = self._folder()
        script, began, end = folder / "job.sbatch", folder / "began", folder / "end"
        lines = [step.script(self.target / folder.name, times) for step in self._steps()]
        head = f"#!/bin/bash\n{directives(self._steps())}\necho $EPOCHREALTIME >{began}\n"
        script.write_text(f"{head}{''.join(lines)}touch {end}\n")
        timing = run(["sbatch", f"--output={folder}/out", script])
        while not end.exists():  # `sbatch --wait` looks after 2, 6, 14, 30 … seconds
            if time.time() > timing.ended + LONGEST_S:
                raise SystemExit(f"{script}: the job has not ended after {LONGEST_S} s")
            time.sleep(0.05)
        job_timing = Done(timing.began, time.time(), timing.processor_s)
        table = [line for line in (folder / "out").read_text().splitlines() if line.startswith("   File ")]
        if len(table) < 3 * STEPS:
            raise SystemExit(f"{folder}/out: {len(table)} rows, {3 * STEPS} expected")
        phases, job_began = of_launches(job_timing, read(times)), float(began.read_text())
        phases["- Slurm: until the job begins"] = job_began - job_timing.began
        phases["- job: prepares the first launch"] = job_timing.began + phases["until the first launch"] - job_began
        return Took(job_timing.wall_s, phases)

    def by_iops(self, iops: Path) -> Took:
        folder, times = self._folder()
        steps = self._steps()
        for number, step in enumerate(steps):
            (folder / f"{number}.bash").write_text(step.script(self.target / f"{folder.name}-{number}", times))
        allocation = {"mode": "single", "allocation_script": directives(steps)}
        parser = {
            "file": "{{ execution_dir }}/out",
            "metrics": [{"name": row.replace(" ", "_")} for row in OPERATIONS.values()],
            "parser_script": PARSER,
        }
        settings = {
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
        (folder / "wall.yaml").write_text(yaml.safe_dump(settings))
        timing = run([iops, "run", folder / "wall.yaml"], folder)  # where it leaves its log
        table = next(folder.glob("run_*/results.csv")).read_text().splitlines()
        if len(table) != 1 + STEPS:
            raise SystemExit(f"IOPS gave {len(table) - 1} rows, {STEPS} expected")
        return Took(timing.wall_s, of_launches(timing, read(times)))

    def _steps(self) -> list[Step]:
        """What the last campaign executed."""
        attempts = [json.loads(path.read_text()) for path in sorted(self._root.glob("runs/*/*/attempt.json"))]
        return [
            Step(attempt["nodes"], attempt["processes"], attempt["processes_per_node"], tuple(attempt["argv"]))
            for attempt in attempts
        ]

    def _folder(self) -> tuple[Path, Path]:
        self._number += 1
        folder = self.folder / f"other-{self._number}"
        folder.mkdir()
        return folder, folder / "times"


def directives(steps: Sequence[Step]) -> str:
    nodes, per_node = max(step.nodes for step in steps), max(step.processes_per_node for step in steps)
    return f"#SBATCH --nodes={nodes} --ntasks-per-node={per_node} --exclusive --time=10"


def read(times: Path) -> list[tuple[float, float]]:
    """When each launch began and ended."""
    return [(float(began), float(end)) for began, end in map(str.split, times.read_text().splitlines())]


def run(command: Sequence[object], folder: Path | None = None) -> Done:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    process = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=LONGEST_S)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with status {process.returncode}:\n{process.stdout}\n{process.stderr}")
    end, after = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    return Done(began, end, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def contenders(contest: Contest) -> dict[str, Callable[[], Took]]:
    commands: dict[str, Callable[[], Took]] = {bar: partial(contest.campaign, bar) for bar in BARS}
    if contest.executable == "builtin":
        return commands | {"run": partial(contest.campaign, "run")}
    commands[BY_HAND] = contest.by_hand
    if iops := os.environ.get("IOPS"):
        commands[IOPS] = partial(contest.by_iops, Path(iops))
    return commands


def take_turns(contest: Contest, deadline: float) -> list[dict[str, Took]]:
    """Rounds. Campaigns begin the first one: the others execute what a campaign has executed before."""
    takes_part, rounds = contenders(contest), list[dict[str, Took]]()
    longest_s = 0.0
    while len(rounds) < ROUNDS and (not rounds or time.monotonic() + longest_s < deadline):
        began, turn = time.monotonic(), len(rounds) % len(takes_part)
        took: dict[str, Took] = {}
        for name in [*list(takes_part)[turn:], *list(takes_part)[:turn]]:
            took[name] = takes_part[name]()
            print(f"round {len(rounds) + 1}: {round_line(name, took[name])}", flush=True)
        rounds.append(took)
        longest_s = max(longest_s, time.monotonic() - began)
    return rounds


def round_line(name: str, took: Took) -> str:
    ratio = took.wall_s / took.steps_s
    return (
        f"{name:12}  wall {took.wall_s:5.1f} s  steps {took.steps_s:5.1f} s  beyond {took.beyond_s:4.1f} s  {ratio:.3f}"
    )


def main() -> Iterator[Row]:
    deadline = time.monotonic() + SECONDS
    executable = next(iter(mdtests()), "builtin")
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        sandbox = Sandbox.start(Path(scratch) / "sandbox", owner=os.getpid())
        os.environ.update(sandbox.environment())
        try:
            rounds = take_turns(Contest(Path(scratch), Path(os.environ["CAMPAIGN_SCRATCH"]), executable), deadline)
        finally:
            sandbox.stop()
    print_times(rounds)
    print_ratios(rounds)
    yield from of_ratios(rounds)


def of_ratios(rounds: Sequence[dict[str, Took]]) -> Iterator[Row]:
    """Of each round, as the machine's speed drifts; with few rounds, a bar is missed where all are above it."""
    other_words = [name for name in (BY_HAND, IOPS) if name in rounds[0]]
    to_steps = {
        name: Middle.of_values(times[name].wall_s / times[name].steps_s for times in rounds) for name in rounds[0]
    }

    def to(name: str, other: str) -> Middle:
        return Middle.of_values(times[name].wall_s / times[other].wall_s for times in rounds)

    for name, title in ALLOCATIONS.items():
        own_middle = to_steps[name]
        figure = f"campaign / the sum of its srun steps, {title}"
        peers = ", ".join(f"{other.removeprefix('one, ')} {to_steps[other].median:.2f}" for other in other_words)
        yield Row(
            figure,
            f"≤ {BARS[name]:.2f}",
            medians([own_middle]),
            peers,
            own_middle.spread,
            missed=own_middle.low > BARS[name],
        )
        if BY_HAND in other_words:
            own_middle, bar = to(name, BY_HAND), BARS_BY_HAND[name]
            figure = f"campaign of {STEPS} mdtest runs / a job by hand, {title}"
            peers = f"by IOPS {to(IOPS, BY_HAND).median:.2f}" if IOPS in other_words else ""
            yield Row(
                figure, f"≤ {bar:.2f}", medians([own_middle]), peers, own_middle.spread, missed=own_middle.low > bar
            )
    if IOPS in other_words:
        own_middle = to("one", IOPS)
        yield Row(
            f"campaign of {STEPS} mdtest runs / IOPS, one allocation",
            "≤ 1",
            medians([own_middle]),
            spread=own_middle.spread,
            missed=own_middle.low > 1,
        )


def print_ratios(rounds: Sequence[dict[str, Took]]) -> None:
    """Medians of seconds. With equal steps: if all launches took as long as those of the job written by hand, which are
    the same.
    """
    body = []
    for name in rounds[0]:
        took = [times[name] for times in rounds]
        beyond_s = middle(times.beyond_s for times in took)
        row = [middle(times.steps_s / STEPS for times in took), middle(times.wall_s for times in took), beyond_s]
        if BY_HAND in rounds[0]:
            by_hand = [by_name[BY_HAND] for by_name in rounds]
            steps_s, wall_s = middle(times.steps_s for times in by_hand), middle(times.wall_s for times in by_hand)
            row.append((steps_s + beyond_s) / wall_s)
        body.append([name, *row])
    print(
        tabulate(
            body, ["", "step s", "wall s", "beyond s", "with equal steps / by hand"][: len(body[0])], floatfmt=".2f"
        )
    )


def print_times(rounds: Sequence[dict[str, Took]]) -> None:
    """Where the time goes: medians of seconds."""
    names = list(rounds[0])
    body = []
    for phase in PHASES:
        columns = [[times[name].phases[phase] for times in rounds if phase in times[name].phases] for name in names]
        body.append([phase, *(f"{middle(seconds):.2f}" if seconds else "" for seconds in columns)])
    print()
    print(tabulate(body, ["seconds", *names], colalign=("left", *["right"] * len(names)), disable_numparse=True))
    print()


def middle(values: Iterable[float]) -> float:
    return statistics.median(values)

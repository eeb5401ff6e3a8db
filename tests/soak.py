"""A campaign under faults, for as long as there are faults left: `make soak`, or `python -m tests.soak`.

One campaign on a sandbox of its own, with an Epilog of a second on the second node. Its driver is killed, its
controller killed or stopped for a while, nodes are lost, its target becomes read-only or has no room; then it
goes on. Where all is measured before the faults are used up, the campaign gets more repetitions. At the end every cell
must have every repetition, none measured twice, and nothing may be left on the target or in the queue.

SOAK_DRIVER=200 SOAK_CONTROLLER=50 SOAK_NODE=10 SOAK_TARGET=10 are the numbers of faults, SOAK_PAUSE=7 the mean of the
seconds between them (some follow at once, some after half a minute), SEED= their order. The whole takes about an hour.
Where something is not right, the campaign, its drivers' messages and Slurm's logs are kept; the last line says where.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from tests.support.cases import Case, make_case, wait_until

FAULTS = {"DRIVER": 200, "CONTROLLER": 50, "NODE": 10, "TARGET": 10}
REPETITIONS = 4  # added whenever all is measured
PAUSE = 7  # seconds
LONGEST_END = 1200  # seconds that these drivers have
LAST_RUNS = 10  # drivers after the last fault, each of which may meet runs that the fault failed


class NotRightError(Exception):
    """A life that ended with something that must not be."""


class Soak:
    """The campaign, its cluster, and what was done to them."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        epilog = folder / "epilog"
        epilog.write_text('#!/bin/sh\n[ "$(hostname)" = node1 ] || sleep 1\n')
        epilog.chmod(0o755)
        self.shape = Shape(nodes=2, cpus=8, epilog=str(epilog))
        self.target = folder / "target"
        self.target.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "nr_inodes=100000", "none", self.target], check=True)
        self.sandbox = Sandbox.start(folder / "cluster", self.shape, os.getpid())
        self.repetitions = REPETITIONS
        self.case: Case = make_case(
            folder, self.sandbox, "soak", 512, self.target, launch_max="all", lines=f"repetitions: {self.repetitions}"
        )
        self.driver: subprocess.Popen[bytes] | None = None
        self.statuses: Counter[int | str] = Counter()
        self.resumed = 0  # nodes that Slurm had drained

    def keep_slurm(self) -> None:
        """The logs of its daemons and what it has on record, which end with the sandbox."""
        shutil.copytree(self.sandbox.layout.top / "log", self.folder / "slurm", dirs_exist_ok=True)
        for name, command in {
            "sacct": ["sacct", "--allusers", "--duplicates", "--parsable2", "--format=ALL"],
            "jobs": ["scontrol", "show", "job"],
            "nodes": ["scontrol", "show", "node"],
        }.items():
            with (self.folder / "slurm" / name).open("wb") as output:
                subprocess.run(command, env=self.case.environment(), stdout=output, stderr=output, check=False)

    def close(self) -> None:
        if self.driver is not None:
            self.driver.kill()
            self.driver.wait(60)
        self.sandbox.stop()
        subprocess.run(["umount", "--lazy", self.target], check=True)

    def drive(self) -> None:
        """Have a driver at work, and work for it."""
        if self.driver is not None and (status := self.driver.poll()) is not None:
            self.statuses[status] += 1
            self.driver = None
            if status == 0:
                new = self.repetitions + REPETITIONS
                text = self.case.file.read_text()
                self.case.file.write_text(text.replace(f"repetitions: {self.repetitions}", f"repetitions: {new}"))
                self.repetitions = new
        if self.driver is None:
            with (self.folder / "drivers").open("ab") as output:
                self.driver = subprocess.Popen(
                    [*self.case.command("run"), "--keep-going", "--quiet"],
                    env=self.case.environment(),
                    stdout=output,
                    stderr=output,
                )

    # --- faults

    def kill_driver(self) -> str:
        assert self.driver is not None
        self.driver.kill()
        self.statuses[self.driver.wait(60)] += 1
        self.driver = None
        return "driver killed"

    def _daemon(self, name: str) -> int:
        daemons = self.sandbox.status().daemons
        return next(status.pid for status in daemons if name in (status.name, status.node) and status.pid is not None)

    def _end(self, name: str) -> None:
        pid = self._daemon(name)
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), goal=f"the end of {name}")

    def _bring_back(self) -> None:
        time.sleep(self.chance.uniform(0, 4))
        Sandbox.start(self.sandbox.layout.top, self.shape)
        self.resume_nodes()

    def resume_nodes(self) -> None:
        """As an administrator does: Slurm drains a node whose job a controller does not know that was killed."""
        ask = ["sinfo", "--noheader", "--Node", "--states=drain", "--format=%N"]
        # Where it gets no answer, as of a controller that hangs up, it is asked again the next time.
        process = subprocess.run(
            ask, env=self.case.environment(), capture_output=True, text=True, timeout=60, check=False
        )
        for node in process.stdout.split():
            command = ["scontrol", "update", f"nodename={node}", "state=resume"]
            resumption = subprocess.run(
                command, env=self.case.environment(), capture_output=True, timeout=60, check=False
            )
            self.resumed += resumption.returncode == 0  # where it is back by itself meanwhile, Slurm refuses

    def kill_controller(self) -> str:
        self._end("slurmctld")
        self._bring_back()
        return "slurmctld killed and started again"

    def stop_controller(self) -> str:
        pid = self._daemon("slurmctld")
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.chance.uniform(1, 15))
        os.kill(pid, signal.SIGCONT)
        return "slurmctld stopped for up to 15 s"

    def lose_node(self) -> str:
        node = self.chance.choice(["node1", "node2"])
        self._end(node)
        self.case.slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=soak")
        self._bring_back()
        return "node lost and back"

    def spoil_target(self) -> str:
        state, spoilt, healthy = self.chance.choice(
            [("read-only", "ro", "rw"), ("without room", "nr_inodes=300", "nr_inodes=100000")]
        )
        process = subprocess.run(["mount", "-o", f"remount,{spoilt}", self.target], capture_output=True, check=False)
        if process.returncode != 0:  # it holds more than that just now, or a file is being written
            return f"target busy, not made {state}"
        time.sleep(self.chance.uniform(1, 6))
        subprocess.run(["mount", "-o", f"remount,{healthy}", self.target], check=True)
        return f"target {state} for up to 6 s"

    def faults(self) -> list[Callable[[], str]]:
        actions: dict[str, list[Callable[[], str]]] = {
            "DRIVER": [self.kill_driver],
            "CONTROLLER": [self.kill_controller, self.stop_controller],
            "NODE": [self.lose_node],
            "TARGET": [self.spoil_target],
        }
        counts = {kind: int(os.environ.get(f"SOAK_{kind}", count)) for kind, count in FAULTS.items()}
        faults = [
            actions[kind][number % len(actions[kind])] for kind, count in counts.items() for number in range(count)
        ]
        self.chance.shuffle(faults)
        return faults

    def tell(self, text: str) -> None:
        print(text, flush=True)
        with (self.folder / "faults").open("a") as file:
            print(text, file=file)

    def progress(self) -> str:
        outcomes = Counter(record["outcome"] for record in self.case.completions())
        return ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "no run ended yet"

    # --- what must hold at the end

    def finish(self) -> None:
        """Drivers that nobody disturbs, until all is measured."""
        end = time.monotonic() + LONGEST_END
        for _ in range(LAST_RUNS):
            while self.driver is not None and self.driver.poll() is None and time.monotonic() < end:
                self.resume_nodes()
                time.sleep(2)
            if self.driver is not None and (status := self.driver.poll()) in (0, None):
                self.statuses["still at work" if status is None else status] += 1
                return
            self.drive()

    def is_right(self, row: dict[str, Any]) -> bool:
        return row["status"] == "measured" and bool(row["statistics"]["n"] == self.repetitions)

    def problems(self, rows: list[dict[str, Any]]) -> list[str]:
        lacking = [
            f"{row['target']}/{row['launch']}/{row['files']}/{row['operation']} is {row['status']} with "
            f"{(row['statistics'] or {}).get('n', 0)} of {self.repetitions} repetitions"
            for row in rows
            if not self.is_right(row)
        ]
        runs_done = Counter(record["run"] for record in self.case.completions() if record["outcome"] == "done")
        repeated_runs = [run for run, count in runs_done.items() if count > 1]
        left = [path.name for path in self.target.iterdir()]
        queue = self.case.slurm("squeue", "--noheader").split("\n")[:-1]
        broken = [
            violation
            for violation in json.loads(self.case.call("check", "--json", status=None))
            if violation["severity"] == "E"
        ]
        return [
            *([f"{len(rows)} cells instead of 36"] if len(rows) != 36 else []),
            *lacking,
            *(f"{run} was measured {runs_done[run]} times" for run in repeated_runs),
            *(f"left on the target: {name}" for name in left),
            *(f"left in the queue: {line.strip()}" for line in queue),
            *(f"violation {violation['rule']}: {violation['message']}" for violation in broken),
        ]


@contextmanager
def workplace() -> Iterator[Path]:
    """A directory that is removed where the life in it was right, and stays where it was not."""
    folder = Path(tempfile.mkdtemp(prefix="campaign-soak-"))
    folder.chmod(0o755)
    try:
        yield folder
    except BaseException:
        print(f"Kept in {folder}: results, drivers (their messages), faults and slurm (logs, sacct, jobs, nodes).")
        raise
    shutil.rmtree(folder)


def live(soak: Soak, fault_counts: Counter[str], pause: float) -> None:
    """All the faults, one after the other, and then the drivers that nobody disturbs."""
    began, faults = time.monotonic(), soak.faults()
    for fault in faults:
        soak.drive()
        time.sleep(soak.chance.expovariate(1 / pause))
        soak.drive()
        at = time.strftime("%H:%M:%S")
        fault_counts[description := fault()] += 1
        fault_line = f"{fault_counts.total():3} of {len(faults)}  {description:<34}"
        soak.tell(f"{at}  {time.monotonic() - began:6.0f} s  {fault_line}  runs: {soak.progress()}")
    soak.tell("no more faults; the campaign is left to end")
    soak.drive()
    soak.finish()


def main() -> int:
    seed, pause = int(os.environ.get("SEED", "0")), float(os.environ.get("SOAK_PAUSE", PAUSE))
    began, fault_counts = time.monotonic(), Counter[str]()
    with suppress(NotRightError), workplace() as folder:
        soak = Soak(folder, random.Random(seed))
        try:
            live(soak, fault_counts, pause)
            rows = soak.case.table(status=None)
            problems, runs = soak.problems(rows), soak.progress()
        finally:
            soak.keep_slurm()
            soak.close()
        right = sum(map(soak.is_right, rows))
        print(f"\nSeed {seed}, {(time.monotonic() - began) / 60:.0f} minutes. Faults:")
        print(*(f"{count:5}  {name}" for name, count in sorted(fault_counts.items())), sep="\n")
        print(f"{soak.resumed:5}  nodes drained by Slurm after a fault, and resumed")
        statuses = ", ".join(f"{n} times {code}" for code, n in sorted(soak.statuses.items(), key=str))
        print("Exit statuses of `campaign run` (-9: killed here):", statuses)
        print(f"Attempts by outcome: {runs}. {right} of {len(rows)} cells have all {soak.repetitions} repetitions.")
        if problems:
            print("NOT RIGHT:", *problems, sep="\n")
            raise NotRightError
        print("Right: none was measured twice, no rule is violated, nothing is left on the target or in the queue.")
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())

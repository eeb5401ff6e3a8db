"""A Slurm that is not there: real executables in `bin/` with a state directory, whose faults a test switches on.

sbatch runs the script in the background, srun its program once for each task, squeue and sacct tell what became of it.
Faults: see the `cluster.fault` calls in `bin/`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

BIN = Path(__file__).with_name("bin")
MDTEST = BIN / "mdtest"
FILE = """
name: {name}
rules: crossroads-mdtest
profile: rehearsal
items_total: 64
targets: [{{name: scratch, directory: {target}}}]
launch: {{node: 2, peak: {{nodes: 2, processes: 4}}, max: {{nodes: 4, processes: 8}}}}
slurm: {{partition: batch, time: 1m}}
benchmark: {{executable: {mdtest}, dialect: rank-offset}}
launcher: {{prefix: [/bin/bash]}}
"""


def command_line(process: int) -> list[str]:
    """The words that a process was started with; none if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_text().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []


@dataclass(frozen=True, slots=True)
class Fake:
    root: Path

    def environment(self) -> dict[str, str]:
        """What a process needs to use this cluster: its commands first on PATH, and then a Python that starts at once,
        which one of pyenv or of conda does not.
        """
        python = Path(sys.executable).resolve().parent
        return {"FAKE_SLURM": str(self.root), "PATH": f"{BIN}:{python}:{os.environ['PATH']}"}

    def fault(self, name: str, text: str | float = "", one_time: bool = False) -> None:
        """Switch a fault on, for good or for one time."""
        (self.root / "faults" / (f"{name}.once" if one_time else name)).write_text(str(text))

    def mend(self, name: str) -> None:
        (self.root / "faults" / name).unlink()

    def jobs(self) -> list[dict[str, Any]]:
        """All jobs that were ever submitted."""
        numbers = sorted(int(path.stem) for path in (self.root / "jobs").glob("*.json"))
        return [json.loads((self.root / "jobs" / f"{number}.json").read_text()) for number in numbers]

    def pretend(self, number: str, name: str, state: str) -> None:
        """Have the cluster know a job that nobody submitted."""
        job = {"id": number, "name": name, "state": state, "reason": "None", "submitted": 0.0, "exit": 0}
        job["cwd"] = f"/results/jobs/{name}"
        (self.root / "jobs" / f"{number}.json").write_text(json.dumps(job))

    def rename(self, number: str, name: str) -> None:
        """`scontrol update jobid=NUMBER jobname=NAME`"""
        python = "import sys, cluster; cluster.change(sys.argv[1], name=sys.argv[2])"
        subprocess.run([sys.executable, "-c", python, number, name], cwd=BIN, check=True)

    def active_jobs(self) -> list[dict[str, Any]]:
        return [job for job in self.jobs() if job["state"] in ("PENDING", "RUNNING")]

    def witnesses(self) -> int:
        """How often the step that looks what ranks execute was started."""
        path = self.root / "witnesses"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def launches(self) -> list[tuple[list[str], dict[str, str]]]:
        """What each srun was given: its words, and what the job set for the benchmark."""
        path = self.root / "launched"
        words = path.read_text().split("\0")[:-1] if path.exists() else []
        launches = []
        while words:
            count = int(words[0])
            words_of_srun, other_words = words[1 : count + 1], words[count + 1 :]
            end = other_words.index("")
            launches.append((words_of_srun, dict(word.split("=", 1) for word in other_words[:end])))
            words = other_words[end + 1 :]
        return launches

    def measurements(self) -> list[tuple[str, float, float]]:
        """(directory, start, end) of each measurement that came to its end."""
        path = self.root / "measured"
        lines = [line.rsplit(" ", 2) for line in path.read_text().split("\0")[:-1]] if path.exists() else []
        return [(directory, float(start), float(end)) for directory, start, end in lines]

    def processes(self) -> list[int]:
        """Everything that runs with this cluster in its environment, but for this process."""
        mark = f"FAKE_SLURM={self.root}".encode()
        identifiers = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        identifiers.append(int(entry.name))
        return identifiers

    def kill_ranks(self) -> None:
        """Kill the ranks of the benchmark, and the sleep of one that waits."""
        for process in self.processes():
            words = command_line(process)
            if str(MDTEST) in words[:2] or words[1:2] == ["3000"]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def stop(self) -> None:
        """End all that was started on this cluster, drivers included."""
        while processes := self.processes():
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.01)


def make(folder: Path) -> Fake:
    """A cluster with its state in `folder`; whoever makes it stops it."""
    root = folder / "slurm"
    for name in ("jobs", "faults", "scripts"):
        (root / name).mkdir(parents=True)
    return Fake(root)


@contextmanager
def running_cluster(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    """A cluster that this process uses until the end of the block."""
    fake = make(folder)
    for name, value in fake.environment().items():
        monkeypatch.setenv(name, value)
    try:
        yield fake
    finally:
        fake.stop()


def campaign_file(folder: Path, name: str, file: str = "c.yaml", lines: str = "") -> Path:
    """A small campaign for it, with its target; `more`: further lines."""
    target = folder / "scratch"
    target.mkdir()
    path = folder / file
    path.write_text(FILE.format(name=name, target=target, mdtest=MDTEST) + lines)
    return path


def wait_until(condition: Callable[[], object], goal: str, seconds: float = 800) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s until {goal}"
        time.sleep(0.01)

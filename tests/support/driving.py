"""A small campaign on the fake Slurm: driven in this process, or in one that a test can kill.

The times between two looks are hundredths of seconds, so that a test does not wait for what a person would.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaign.config.definition import Definition
from campaign.config.format import Benchmark, Campaign, Target
from campaign.config.rules.pack import RulePack
from campaign.config.slurm_keys import Slurm
from campaign.core.paths import Paths
from campaign.core.runs import Attempt, Geometry, Launcher, Run, State
from campaign.pipeline import run
from campaign.pipeline.request import Request
from campaign.pipeline.run import Progress
from campaign.results.store import Store
from campaign.slurm import accounting, collect, sbatch, submit
from campaign.slurm.collect import Follower
from tests.support import builders, fake_slurm
from tests.support.fake_slurm import Fake

if TYPE_CHECKING:
    import pytest

FAST = {"GRACE_S": 1.0, "QUERY_S": (0.1, 0.2)}


def campaign(root: Path, targets: int = 1, allocation: str = "geometry", **changes: Any) -> Campaign:
    """Two runs (shared, unique) of one process on each target; the targets' directories are made."""
    places = [Target(f"target{number}", str(root / f"target{number}")) for number in range(1, targets + 1)]
    for place in places:
        Path(place.directory).mkdir(parents=True, exist_ok=True)
    return builders.campaign(
        root / "results",
        **{
            "targets": tuple(places),
            "launch": {"node": Geometry(1, 1)},
            "slurm": Slurm(partition="batch", time_s=90, allocation=allocation),
            "benchmark": Benchmark(fake_slurm.MDTEST, "rank-offset"),
            "launcher": Launcher(prefix=("/bin/bash",)),
            **changes,
        },
    )


class Driving:
    """A driver in this process."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, targets: int = 1, allocation: str = "geometry"):
        for name, value in FAST.items():
            monkeypatch.setattr(collect, name, value)
        monkeypatch.setattr(sbatch, "PAUSE_S", (0.05, 0.2))
        monkeypatch.setattr(accounting, "PATIENCE_S", 0.5)
        self.campaign = campaign(root, targets, allocation)
        self.pack: RulePack = builders.small_pack()
        self.runs: tuple[Run, ...] = builders.expand(self.campaign, self.pack)
        self.paths = Paths(self.campaign.results)
        self.store = Store(self.paths)
        self.messages: list[str] = []
        self.follower = Follower(self.paths, self.store, {"": "mdtest"}, self.messages.append, self.pack.required)

    def send(self, runs: Sequence[Run] | None = None) -> int:
        chosen_runs = self.runs if runs is None else runs
        return len(
            submit.send(Definition(self.campaign, self.pack), self.store, lambda: chosen_runs, self.messages.append)
        )

    def step(self) -> None:
        self.follower.step()

    def follow(self) -> None:
        """Until nothing is under way."""
        fake_slurm.wait_until(lambda: not self.follower.step(), f"all has ended: {self.states()}")

    def attempt(self, number: int = 1) -> Attempt:
        """The latest attempt of a run, by its place in the plan."""
        return [attempt for attempt in self.store.attempts() if attempt.run == self.runs[number - 1].id][-1]

    def states(self) -> list[State]:
        return [attempt.state for attempt in self.store.attempts()]

    def folder(self, number: int = 1) -> Path:
        attempt = self.attempt(number)
        return self.paths.attempt(attempt.run, attempt.number)

    def wait_until_measured(self, number: int = 1) -> None:
        """Until the benchmark of a run works in its directory; `bench-sleep` says for how long it does."""
        run = self.runs[number - 1]
        place = Path(f"{run.directory}/campaign-{self.attempt(number).token}/test-dir.0-0")
        fake_slurm.wait_until(place.exists, "the benchmark works")

    def events(self) -> list[str]:
        return [json.loads(line)["event"] for line in self.paths.journal.read_text().splitlines()]


# --- a driver in a process of its own


def start(
    root: Path, cluster: Fake, targets: int = 1, allocation: str = "run", kill_at: int = 0
) -> subprocess.Popen[str]:
    """Start a driver, which says `ready` once it begins. `kill_at`: where it kills itself, see `_die_before_line`."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.driving", str(root), str(targets), allocation, str(kill_at)],
        cwd=Path(__file__).parents[2],
        env=os.environ | cluster.environment(),
        stdout=subprocess.PIPE,
        stderr=(root / "driver.err").open("a"),
        text=True,
    )


class Spoken:
    """A display that says what happens and shows nothing."""

    def say(self, text: str) -> None:
        print(text, flush=True)

    warn = say

    def show(self, progress: Progress) -> None:
        pass


def main(root: Path, targets: int, allocation: str, kill_at: int) -> None:
    for name, value in FAST.items():
        setattr(collect, name, value)
    sbatch.PAUSE_S = (0.05, 0.2)
    config = campaign(root, targets, allocation)
    definition = Definition(config, builders.small_pack(launch=builders.pack().launch[1:2]))
    run.FOLLOW_S = (0.02, 0.05)
    print("ready", flush=True)
    if kill_at:
        _die_before_line(kill_at)
    run.run(definition, Request(), Spoken())


def _die_before_line(number: int) -> None:
    """Die before a line of the driver's own modules, counted from where the first job is put on record."""
    mine = str(Path(submit.__file__).parents[1])
    plan_job = Store.plan_job
    left = number

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(mine):
            return None
        if event == "line":
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    def first(self: Store, *arguments: Any) -> None:
        Store.plan_job = plan_job  # type: ignore[method-assign]
        frame = sys._getframe(1)
        while frame.f_back is not None:
            frame.f_trace, frame = trace, frame.f_back
        sys.settrace(trace)
        plan_job(self, *arguments)

    Store.plan_job = first  # type: ignore[assignment,method-assign]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))

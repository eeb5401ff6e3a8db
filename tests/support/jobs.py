"""A job of the rendered script, executed by bash as slurmd would have it executed, on the fake Slurm."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from campaign.config.slurm_keys import Slurm
from campaign.core import resources
from campaign.core.resources import TEMPLATES
from campaign.core.runs import Geometry, Input, Launcher, Planned
from campaign.slurm import script_text, scripts
from tests.support import builders, facts, fake_slurm
from tests.support.fake_slurm import Fake

LIMIT_S = 800
ONE = Geometry(1, 1)
HOST = os.uname().nodename
UNWRITABLE = f"{{target}} is not writable on {HOST}"
# All functions of a job, for a bash to source.
FUNCTIONS = "; ".join(f'source "{TEMPLATES}/{part}-functions.bash"' for part in scripts.FUNCTIONS)


class Job:
    """A job of one or two runs on a target of its own, with the fake's commands around it."""

    def __init__(self, folder: Path, cluster: Fake, name: str = "campaign-test-1", number: str = "1") -> None:
        self.root, self.cluster, self.name, self.number = folder, cluster, name, number
        self.target = folder / "target"
        self.target.mkdir(exist_ok=True)
        self.lock = self.target / ".campaign-lock"
        self.folder = folder / "jobs" / name
        self.environment: dict[str, str] = {}
        self.steps: list[Planned] = []
        self.slurm = Slurm(time_s=90)
        self.probe = False
        self.constants: dict[str, int] = {}  # of the functions, with another value
        self.counters = ""
        self.submitted_from = ("", "")  # boot of the machine, and the target as it sees it

    def plan(self, runs: int = 1, geometry: Geometry = ONE, stale: Mapping[str, str] = MappingProxyType({})) -> Job:
        for number in range(1, runs + 1):
            run = builders.run(
                id=f"scratch.peak.unique.r{number}",
                directory=str(self.target),
                executable=str(fake_slurm.MDTEST),
                geometry=geometry,
            )
            folder = self.root / "runs" / run.id / self.number
            folder.mkdir(parents=True)
            self.steps.append(Planned(run, 1, f"{self.number}{number}", folder, stale))
        self.folder.mkdir(parents=True)
        return self

    def plan_with_mpirun(self, *geometries: Geometry) -> Job:
        """Runs whose launcher the user has told how to place the ranks."""
        self.probe = True
        program = self.root / "mpirun"
        program.symlink_to(fake_slurm.BIN / "srun")
        words = ("--nodes={nodes}", "--ntasks={processes}", "--ntasks-per-node={processes_per_node}")
        launcher = Launcher(str(program), placement=words)
        self.plan(len(geometries))
        self.steps = [
            replace(step, run=replace(step.run, geometry=geometry, launcher=launcher))
            for step, geometry in zip(self.steps, geometries, strict=True)
        ]
        return self

    def read(self, *paths: Path) -> None:
        """Have the runs read these files."""
        inputs = tuple(Input(path.name, str(path)) for path in paths)
        self.steps = [replace(step, run=replace(step.run, inputs=inputs)) for step in self.steps]

    def start(self, *wrapper: str) -> subprocess.Popen[str]:
        script = self.folder / "job.sbatch"
        steps, (boot, seen) = tuple(self.steps), self.submitted_from
        job = scripts.JobScript(
            "test",
            self.name,
            self.folder,
            steps,
            self.slurm,
            self.probe,
            boot=boot,
            seen=seen,
            counters=self.counters,
            witness=str(resources.witness()),
        )
        text = scripts.render(job)
        for name, value in self.constants.items():
            text, replacements = re.subn(rf"^{name}=\d+", f"{name}={value}", text, flags=re.MULTILINE)
            assert replacements == 1, name
        script.write_text(text)
        mode = "a" if script_text.directive(text, "open-mode") == "append" else "w"  # as slurmstepd opens them
        slurm = {
            "SLURM_JOB_ID": self.number,
            "SLURM_JOB_NAME": self.name,
            "SLURM_JOB_NODELIST": "n[1-2]",
            "SLURM_CLUSTER_NAME": "fake",
        }
        return subprocess.Popen(
            [*wrapper, "/bin/bash", script],
            cwd=self.folder,
            env=os.environ | slurm | self.environment,
            stdin=subprocess.DEVNULL,
            stdout=(self.folder / "stdout").open(mode),
            stderr=(self.folder / "stderr").open(mode),
            text=True,
            start_new_session=True,
        )

    def run(self, *wrapper: str) -> int:
        return self.start(*wrapper).wait(LIMIT_S)

    def out(self) -> str:
        return (self.folder / "stdout").read_text()

    def complain(self) -> str:
        return (self.folder / "stderr").read_text()

    def record(self, number: int = 1) -> dict[str, Any] | None:
        return facts.read_completion(self.steps[number - 1].folder)

    def end_of(self, number: int = 1) -> tuple[str, str]:
        """(outcome, reason) of a run."""
        record = self.record(number)
        assert record is not None, self.out() + self.complain()
        return record["outcome"], record["reason"]

    def left(self) -> list[str]:
        return sorted(path.name for path in self.target.iterdir())


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        sleep = tmp_path / "bin" / "sleep"
        sleep.parent.mkdir()
        sleep.write_text("#!/bin/sh\nexec /bin/sleep 0.05\n")
        sleep.chmod(0o755)
        monkeypatch.setenv("PATH", f"{sleep.parent}:{os.environ['PATH']}")
        yield fake


@pytest.fixture
def job(tmp_path: Path, cluster: Fake) -> Job:
    return Job(tmp_path, cluster)

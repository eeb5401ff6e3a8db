"""Campaign files on a real Slurm, and the command line to work on them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign.sandbox.cluster import Sandbox
from tests.support import command_line, facts
from tests.support.command_line import CAMPAIGN

FILE = """
name: {name}
rules: crossroads-mdtest
profile: rehearsal
items_total: {items}
targets:
  - name: scratch
    directory: {target}
launch:
  node: 2
  peak: {{nodes: 2, processes: 4}}
  max: {launch_max}
slurm:
  time: {limit}
  allocation: {allocation}
{lines}
"""


@dataclass(frozen=True)
class Case:
    """A campaign file on a sandbox, with the command line to work on it."""

    file: Path
    target: Path
    sandbox: Sandbox
    variables: dict[str, str] = field(default_factory=dict)  # further ones of the environment

    @property
    def results(self) -> Path:
        return self.file.parent / "results" / self.file.stem

    def environment(self) -> dict[str, str]:
        return os.environ | self.sandbox.environment() | self.variables

    def command(self, verb: str, *arguments: str) -> list[str]:
        return [str(CAMPAIGN), verb, str(self.file), *arguments]

    def start(self, verb: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(verb, *arguments),
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def call(self, verb: str, *arguments: str, status: int | None = 0, timeout: float = 800) -> str:
        """Its standard output. A driver, which may wait for ever, has a process of its own."""
        words = (verb, self.file, *arguments)
        if verb in ("run", "rerun"):
            process = command_line.drive(*words, environment=self.environment(), timeout=timeout)
        else:
            process = command_line.call(*words, environment=self.environment())
        assert status is None or process.returncode == status, (
            f"{verb}: {process.returncode}\n{process.stdout}\n{process.stderr}"
        )
        return process.stdout

    def table(self, status: int | None = 0) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads(self.call("table", "--format", "json", status=status))
        return rows

    def check_bundle(self, out: Path) -> None:
        """What ran can be bundled, and a verification finds nothing wrong with the bundle."""
        self.call("bundle", "-o", str(out), status=None)
        process = command_line.call("verify", out, "--json", environment=self.environment())
        document = json.loads(process.stdout)
        wrong = [
            finding
            for finding in document["findings"]
            if finding["rule"].startswith("EVD-") and finding["severity"] == "E"
        ]
        assert [finding for finding in wrong if finding["checked"]] == [], process.stdout
        assert document["intact"], process.stdout

    def states(self) -> dict[str, dict[str, Any]]:
        return {row["run"]: row for row in json.loads(self.call("status", "--json", status=None))}

    def slurm(self, *command: str) -> str:
        process = subprocess.run(
            command, env=self.environment(), capture_output=True, text=True, timeout=800, check=True
        )
        return process.stdout

    def completions(self) -> list[dict[str, Any]]:
        folders = sorted(path.parent for path in self.results.glob("runs/*/*/facts.jsonl"))
        return list(filter(None, map(facts.read_completion, folders)))


def make_case(
    folder: Path,
    sandbox: Sandbox,
    name: str,
    items: int = 2048,
    target: Path | None = None,
    limit: str = "5m",
    allocation: str = "geometry",
    launch_max: str = "{nodes: 3, processes: 6}",
    lines: str = "",
) -> Case:
    """`launch_max`: its launch.max, which is small, since each process takes a tenth of a second to start."""
    scratch = target or new_target(sandbox, name)
    file = folder / f"{name}.yaml"
    launch = {"limit": limit, "allocation": allocation, "launch_max": launch_max}
    file.write_text(FILE.format(name=name, items=items, target=scratch, **launch, lines=lines))
    return Case(file, scratch, sandbox)


def new_target(sandbox: Sandbox, name: str) -> Path:
    """A directory that all nodes see, for one campaign."""
    target = Path(sandbox.environment()["CAMPAIGN_SCRATCH"]) / name
    target.mkdir()
    return target


def wait_until(condition: Any, seconds: float = 800, goal: str = "") -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s for {goal or condition}"
        time.sleep(0.05)

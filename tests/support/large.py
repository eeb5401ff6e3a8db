"""Campaigns of many runs that lie there measured: the evidence of one on the fake Slurm, copied under other names.

Every file is what a job and a driver would have written, with the tokens, names and times of its own run.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from campaign.config import definition as opening
from campaign.config.definition import Definition
from campaign.core import journal
from campaign.core.events import START, hash_of
from campaign.core.model import Run
from campaign.pipeline import planning
from campaign.plan import matrix
from campaign.results.environment.facts import SHORT
from campaign.results.file_hashes import digests
from campaign.slurm import scripts
from campaign.slurm.submit import prepare
from tests.support.bundled import Made

NONCE = "buyer-2026"  # of the seed
RUNS_OF_ONE = 12  # of a target and repetition
LARGEST_JOB = 24  # runs
# Times in an environment.json: of the file system after the run, and all others.
_STAMP = re.compile(r'("(after|before|space)": {\s*"time": |"(?:started|ended|clock)": "?)[0-9.]+')
_COPIED = ("stdout", "stderr", "directory-made")
_OWN = ("made", "before", "after", "ran")  # of an attempt's environment.json: the rest is its job's


@dataclass(frozen=True)
class Large:
    made: Made
    file: Path
    definition: Definition


def make(seed: Made, name: str, repetitions: int = 1, targets: int = 1, measured: bool = True) -> Large:
    """A campaign beside the seed's, of 12 runs for each target and repetition, all of them measured unless told
    otherwise.
    """
    text = seed.file.read_text().replace("name: bundled", f"name: {name}")
    text = text.replace("repetitions: 1\n", f"repetitions: {repetitions}\n")
    places = [("scratch", seed.root / "scratch")] + [
        (f"scratch{number}", seed.root / f"scratch{number}") for number in range(2, targets + 1)
    ]
    listed = ", ".join(f"{{name: {target}, directory: {place}}}" for target, place in places)
    lines = [f"targets: [{listed}]" if line.startswith("targets:") else line for line in text.splitlines()]
    file = seed.root / f"{name}.yaml"
    file.write_text("\n".join(lines) + "\n")
    for _, place in places:
        place.mkdir(exist_ok=True)
    definition = opening.open_campaign(file)
    if measured:
        _measure(seed, definition)
    return Large(seed, file, definition)


def _measure(seed: Made, definition: Definition) -> None:
    planned = planning.plan(definition)
    definition.paths.root.mkdir(parents=True)
    planning.write_plan(definition, planned)
    whole = opening.open_campaign(seed.file)
    pattern = {run.id: run for run in planning.plan(whole).runs}
    writer = _Writer(definition, whole)
    writer.event(event="begin", nonce=NONCE, campaign=definition.campaign.name, rules=[])
    batches = [
        batch[start : start + LARGEST_JOB]
        for batch in matrix.batches(planned.runs, "geometry")
        for start in range(0, len(batch), LARGEST_JOB)
    ]
    for batch in batches:
        writer.job(batch, pattern)
    writer.close()


def _of_job(text: str, before: tuple[str, str], now: tuple[str, str]) -> str:
    """A record with the name and the id of another job."""
    text = text.replace(before[0], now[0]).replace(f"JobId={before[1]}", f"JobId={now[1]}")
    return text.replace(f'"{before[1]}"', f'"{now[1]}"')


def _at(text: str, ended: float) -> str:
    """A record of an execution that ended then, and before which its surroundings were recorded."""
    text = _STAMP.sub(lambda match: match[1] + str(ended + (0.5 if match[2] == "after" else -3.0)), text)
    for word, moment in (("started", ended - 1.5), ("finished", ended)):
        stamp = datetime.fromtimestamp(moment, UTC).strftime("%m/%d/%Y %H:%M:%S")
        text = re.sub(rf"(?<=-- {word} at )[0-9/]+ [0-9:]+", stamp, text)
    return text


def _ranks(run: Run, program: str) -> str:
    """The lines of ran.txt of witnesses that saw every rank. How many those of the seed saw depends on how busy the
    machine was.
    """
    geometry = run.geometry
    nodes = (f"n{rank // geometry.processes_per_node + 1}" for rank in range(geometry.processes))
    return "".join(f"{rank} {node} {program[:SHORT]}\n" for rank, node in enumerate(nodes))


class _Writer:
    def __init__(self, definition: Definition, seed: Definition) -> None:
        self._opened, self._seed = definition, seed
        # What the fake launcher starts for each rank: a script of the shell.
        shell = Path("/bin/bash").resolve()
        self._shell = hashlib.sha256(shell.read_bytes()).hexdigest()
        facts = {f"program.{self._shell}": str(shell), "library.bash": f"{shell} {self._shell}"}
        told = {name: [{"nodes": "0", "value": value}] for name, value in facts.items()}
        nodes = [{"name": "n1", "hostname": None, "clock": None, "boot": None}]
        self._ran = {"nodes": nodes, "incomplete": "", "facts": told, "problems": []}
        self._jobs = 0
        self._tokens = 0
        self._previous = START
        self._journal = definition.paths.journal.open("wb")
        self._time = time.time()  # each attempt ends 4 s later: after its files were written here
        self._completions: dict[str, dict[str, Any]] = {}

    def close(self) -> None:
        self._journal.close()

    def event(self, **event: Any) -> None:
        stamped = {"format": 1, "time": self._time, **event, "previous": self._previous}
        data = (json.dumps(stamped) + "\n").encode()
        self._previous = hash_of(data)
        self._journal.write(data)

    def _token(self) -> str:
        self._tokens += 1
        return f"{journal.challenge(NONCE)}{self._tokens:08x}"

    def job(self, batch: Sequence[Run], pattern: dict[str, Run]) -> None:
        self._jobs += 1
        number = str(1000 + self._jobs)
        job, script = prepare(self._opened, {}, batch, {}, self._token)
        job.folder.mkdir(parents=True)
        (job.folder / "job.sbatch").write_text(script)
        attempts = [
            {"run": step.run.id, "number": 1, "token": step.token, "fingerprint": step.run.fingerprint}
            for step in job.steps
        ]
        submitter = "host:1:1"
        target = batch[0].target
        self.event(event="job", job=job.name, target=target, submitter=submitter, attempts=attempts)
        self.event(event="submitted", job=job.name, job_id=number, message="")
        before = self._seed_folder(batch[0], pattern)
        other = json.loads((before / "completion.json").read_text())["job_name"]
        known = json.loads((before / "completion.json").read_text())["job_id"]
        for name in ("environment.json", "accounting.json", "stdout", "stderr"):
            text = _at((self._seed.paths.jobs(other) / name).read_text(), self._time + 4)
            (job.folder / name).write_text(_of_job(text, (other, known), (job.name, number)))
        for step in job.steps:
            self._attempt(step.run, step.token, step.folder, job, number, pattern)

    def _seed_folder(self, run: Run, pattern: dict[str, Run]) -> Path:
        return self._seed.paths.attempt(f"scratch.{run.launch}.{run.files}.r1", 1)

    def _attempt(
        self, run: Run, token: str, folder: Path, job: scripts.JobScript, number: str, pattern: dict[str, Run]
    ) -> None:
        source = self._seed_folder(run, pattern)
        completion = json.loads((source / "completion.json").read_text())
        folder.mkdir(parents=True)
        (folder / "claim").mkdir()
        self._time += 4
        old = pattern[completion["run"]].attempt_directory(completion["token"])
        before = completion["job_name"], completion["job_id"]
        for name in _COPIED:
            text = (source / name).read_text().replace(old, run.attempt_directory(token))
            text = text.replace(f"/{completion['token']}", f"/{token}")
            (folder / name).write_text(_of_job(_at(text, self._time), before, (job.name, number)))
        own = json.loads(_at((source / "environment.json").read_text(), self._time))
        (folder / "ran.txt").write_text(_ranks(run, self._shell))
        own["ran"] = self._ran
        texts = [f"{json.dumps(name)}: {json.dumps(own[name])}" for name in _OWN]
        of_job = (job.folder / "environment.json").read_text()
        (folder / "environment.json").write_text(f"{{{', '.join(texts)}, {of_job[1:]}")
        described = {"format": 1, **scripts.described(run, 1, token, job.name), "notes": run.notes}
        (folder / "attempt.json").write_text(json.dumps(described, indent=1) + "\n")
        (folder / "job.sbatch").hardlink_to(job.folder / "job.sbatch")
        ended = {"started": self._time - 1.5, "ended": self._time}
        own = {
            "uptime": [1000.0, 1001.5],
            "run": run.id,
            "attempt": 1,
            "token": token,
            "job_id": number,
            "job_name": job.name,
        }
        (folder / "completion.json").write_text(json.dumps({**completion, **own, **ended}) + "\n")
        self.event(event="ended", run=run.id, number=1, state="done", reason="", **ended, files=digests(folder))

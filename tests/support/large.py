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
from campaign.core.runs import Run
from campaign.pipeline import planning
from campaign.plan import matrix
from campaign.results.environment.facts import SHORT
from campaign.results.file_hashes import digests
from campaign.slurm import scripts
from campaign.slurm.submit import prepare
from tests.support import facts
from tests.support.bundled import Vendor
from tests.support.facts import Fact, fact

NONCE = "buyer-2026"  # of the seed
RUNS_OF_ONE = 12  # of a target and repetition
LARGEST_JOB = 24  # runs
_COPIED = ("stdout", "stderr", "directory-made")


@dataclass(frozen=True)
class Large:
    vendor: Vendor
    file: Path
    definition: Definition


def make(seed: Vendor, name: str, repetitions: int = 1, targets: int = 1, measured: bool = True) -> Large:
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


def _measure(seed: Vendor, definition: Definition) -> None:
    planned = planning.plan(definition)
    definition.paths.root.mkdir(parents=True)
    planning.write_plan(definition, planned)
    seed_definition = opening.open_campaign(seed.file)
    pattern = {run.id: run for run in planning.plan(seed_definition).runs}
    writer = _Writer(definition, seed_definition)
    writer.event(event="begin", nonce=NONCE, campaign=definition.campaign.name, rules=[])
    batches = [
        batch[start : start + LARGEST_JOB]
        for batch in matrix.batches(planned.runs, "geometry")
        for start in range(0, len(batch), LARGEST_JOB)
    ]
    for batch in batches:
        writer.job(batch, pattern)
    writer.close()


def _of_job(text: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """A record with the name and the id of another job."""
    text = text.replace(old[0], new[0]).replace(f"JobId={old[1]}", f"JobId={new[1]}")
    return text.replace(f'"{old[1]}"', f'"{new[1]}"')


def _at(text: str, end_time: float) -> str:
    """The output of an execution that ended then."""
    for word, moment in (("started", end_time - 1.5), ("finished", end_time)):
        stamp = datetime.fromtimestamp(moment, UTC).strftime("%m/%d/%Y %H:%M:%S")
        text = re.sub(rf"(?<=-- {word} at )[0-9/]+ [0-9:]+", stamp, text)
    return text


def _fact_at(line: Fact, end_time: float) -> Fact:
    """A fact of an execution that ended then, and before which its surroundings were recorded."""
    moment = end_time + (0.5 if line["name"].startswith("after.") else -3.0)
    if line["source"] == "host" and line["name"] in ("started", "ended"):
        return {**line, "value": moment}
    if line["name"] == "clock":
        return {**line, "value": str(moment)}
    return {**line, "time": moment} if "time" in line else line


def _ranks(run: Run, program: str) -> list[Fact]:
    """The facts of witnesses that saw every rank. How many those of the seed saw depends on how busy the machine
    was.
    """
    geometry = run.geometry
    nodes = (f"n{rank // geometry.processes_per_node + 1}" for rank in range(geometry.processes))
    return [fact("ranks", "executed", program[:SHORT], node=node, rank=str(rank)) for rank, node in enumerate(nodes)]


class _Writer:
    def __init__(self, definition: Definition, seed: Definition) -> None:
        self._definition, self._seed = definition, seed
        # What the fake launcher starts for each rank: a script of the shell.
        shell = Path("/bin/bash").resolve()
        self._shell = hashlib.sha256(shell.read_bytes()).hexdigest()
        self._ran = [
            fact("ranks", "watched", True),
            fact("ranks", f"program.{self._shell}", str(shell), node="n1"),
            fact("ranks", "library.bash", f"{shell} {self._shell}", node="n1"),
        ]
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
        job, script = prepare(self._definition, {}, batch, {}, self._token)
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
        completion = facts.read_completion(before)
        assert completion is not None
        seed_name, seed_id = completion["job_name"], completion["job_id"]
        seed = self._seed.paths.jobs(seed_name)
        job_facts = facts.text(*(_fact_at(line, self._time + 4) for line in facts.read(seed)))
        texts = {
            name: _at((seed / name).read_text(), self._time + 4) for name in ("accounting.json", "stdout", "stderr")
        }
        for name, text in {**texts, "facts.jsonl": job_facts}.items():
            (job.folder / name).write_text(_of_job(text, (seed_name, seed_id), (job.name, number)))
        for step in job.steps:
            self._attempt(step.run, step.token, step.folder, job, number, pattern)

    def _seed_folder(self, run: Run, pattern: dict[str, Run]) -> Path:
        return self._seed.paths.attempt(f"scratch.{run.launch}.{run.files}.r1", 1)

    def _attempt(
        self, run: Run, token: str, folder: Path, job: scripts.JobScript, number: str, pattern: dict[str, Run]
    ) -> None:
        source = self._seed_folder(run, pattern)
        completion = facts.read_completion(source)
        assert completion is not None
        folder.mkdir(parents=True)
        (folder / "claim").mkdir()
        self._time += 4
        old = pattern[completion["run"]].attempt_directory(completion["token"])
        before = completion["job_name"], completion["job_id"]
        for name in _COPIED:
            text = (source / name).read_text().replace(old, run.attempt_directory(token))
            text = text.replace(f"/{completion['token']}", f"/{token}")
            (folder / name).write_text(_of_job(_at(text, self._time), before, (job.name, number)))
        described = {"format": 1, **scripts.attempt_record(run, 1, token, job.name), "notes": run.notes}
        (folder / "attempt.json").write_text(json.dumps(described, indent=1) + "\n")
        (folder / "job.sbatch").hardlink_to(job.folder / "job.sbatch")
        ended_values = {"started": self._time - 1.5, "ended": self._time}
        own_values = {
            "uptime": [1000.0, 1001.5],
            "run": run.id,
            "attempt": 1,
            "token": token,
            "job_id": number,
            "job_name": job.name,
        }
        space = [
            _fact_at(line, self._time)
            for line in facts.read_source(source, "target")
            if line["name"].startswith(("before.", "after."))
        ]
        seen = (*self._ran, *_ranks(run, self._shell))
        completion_facts = facts.completion_facts({**completion, **own_values, **ended_values})
        text = facts.text(*space, *completion_facts, *seen).partition("\n")[2]
        (folder / "facts.jsonl").write_text((job.folder / "facts.jsonl").read_text() + text)
        self.event(event="ended", run=run.id, number=1, state="done", reason="", **ended_values, files=digests(folder))

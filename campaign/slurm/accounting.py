"""Slurm's final record of a job, stored beside the job's own records as `jobs/<job>/accounting.json`.

slurmctld forgets a job minutes after its end, so it is asked as soon as the job's last attempt has ended. While a job
is COMPLETING, the Epilog runs on its nodes and slurmctld lists only the unfinished ones: such a record is kept in case
Slurm forgets the job, and replaced by the next command.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Set
from dataclasses import asdict, replace
from pathlib import Path

from campaign.core import atomic
from campaign.core.errors import EnvironmentLacks
from campaign.core.paths import Paths
from campaign.results.environment import reading
from campaign.results.environment.facts import Accounting
from campaign.results.store import Store, StoredJob
from campaign.slurm import commands

PATIENCE_S = 60.0  # for Slurm to end a job whose last record exists: an Epilog may check the health of its nodes
SILENCE_S = 10.0  # of waiting, after which it is explained


class Accountant:
    """Asks for each job of a campaign whose attempts have all ended and whose end is not recorded yet."""

    def __init__(self, paths: Paths, store: Store, clock: Callable[[], float], say: Callable[[str], None]) -> None:
        self._paths, self._store, self._clock, self._say = paths, store, clock, say
        self._since: dict[str, float] = {}  # when a job was first asked for
        # Jobs that this command does not ask for again; files of an ended campaign are not read again.
        self._closed = store.closed_jobs()
        self._open = set(store.jobs()) - self._closed
        self._explained: set[str] = set()
        self._silent = False  # Slurm has not answered since a job ended

    def step(self, active: Set[str], jobs: Iterable[str]) -> bool:
        """One round: True while Slurm has to be asked again. Jobs in `active` have attempts that have not ended; those
        in `jobs` have changed since the last round.

        If Slurm does not answer, it is asked again when another job ends, and by the next command.
        """
        self._open.update(job for job in jobs if job not in self._closed)
        ended_jobs = [
            job
            for job in sorted(map(self._store.job, self._open - active), key=lambda job: job.created)
            if self._is_open(job)
        ]
        now_s = self._clock()
        for job in ended_jobs:
            if job.name not in self._since:
                self._since[job.name] = now_s
                self._silent = False
        if self._silent:
            return False
        try:
            for job in ended_jobs:
                if self._ask(job, waited_s=now_s - self._since[job.name]):
                    self._close(job)
        except EnvironmentLacks:
            self._silent = True
            return False
        return any(job.name in self._open for job in ended_jobs)

    def _is_open(self, job: StoredJob) -> bool:
        """Whether Slurm can be asked for a job and its end is not recorded; otherwise it is not considered again."""
        record = self._read_record(job)
        if job.job_id is None or not self._paths.jobs(job.name).is_dir() or (record and record.is_final):
            self._close(job)
        return job.name in self._open

    def _close(self, job: StoredJob) -> None:
        self._open.discard(job.name)
        self._closed.add(job.name)

    def _read_record(self, job: StoredJob) -> Accounting | None:
        return reading.read_accounting(self._paths.jobs(job.name) / "accounting.json")

    def _ask(self, job: StoredJob, waited_s: float) -> bool:
        """Whether Slurm's answer is now recorded, finally or until the next command."""
        assert job.job_id is not None
        fields = commands.fields_of_job(job.job_id, job.name)
        steps = commands.accounted_steps(job.job_id, job.name)
        answer = Accounting(time.time(), fields, steps is not None, tuple(steps or ()))
        if not answer.ended and waited_s <= PATIENCE_S:
            self._explain(answer, job, waited_s)
            return False
        if not answer.job and not answer.steps:
            answer = replace(self._read_record(job) or answer, problems=("Slurm no longer has a record of the job",))
        _write(self._paths.jobs(job.name) / "accounting.json", answer)
        import_accounting(self._paths, self._store, job.name)
        return True

    def _explain(self, answer: Accounting, job: StoredJob, waited_s: float) -> None:
        if waited_s > SILENCE_S and job.name not in self._explained:
            self._explained.add(job.name)
            state = answer.job.get("JobState") or answer.allocation.get("State")
            self._say(f"job {job.job_id} is still {state}; waiting up to {PATIENCE_S:g} s for its final record")


def _write(path: Path, answer: Accounting) -> None:
    try:
        atomic.write(path, json.dumps({"format": 1, **asdict(answer)}, indent=1) + "\n")
    except OSError as error:
        raise EnvironmentLacks(f"{error.filename}: {error.strerror}") from error


def import_accounting(paths: Paths, store: Store, job: str) -> None:
    """Import a job's accounting.json into the database, if it exists."""
    record = reading.read_accounting(paths.jobs(job) / "accounting.json")
    if record is not None:
        store.save_accounting(job, record)

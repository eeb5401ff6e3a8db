"""What Slurm says of a job once it has ended, put down beside the job's own records as `jobs/<job>/accounting.json`.

slurmctld forgets a job minutes after its end, so it is asked as soon as the job's last attempt has ended.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from campaign import environment, slurm, whole
from campaign.errors import EnvironmentLacks
from campaign.model import Paths
from campaign.store import Store, StoredJob

PATIENCE_S = 10.0  # for slurmctld to see that a job has ended whose last record is there
PAUSE_S = 0.2  # between two questions


class Accountant:
    """Asks for each job of a campaign whose attempts have all ended and that has no record yet."""

    def __init__(self, paths: Paths, store: Store, clock: Callable[[], float]) -> None:
        self._paths, self._store, self._clock = paths, store, clock
        self._open: dict[str, tuple[StoredJob, float]] | None = None  # with the time when it was first asked for
        self._next = 0.0

    def step(self, active: set[str], changed: bool) -> bool:
        """One round, in which jobs with attempts under way are `active`: True while Slurm is to be asked again.

        `changed`: an attempt has ended in this round. Slurm's troubles are no reason to wait: the next command asks.
        """
        if self._open is None or changed:
            self._look()
        assert self._open is not None
        ended = {name: job for name, job in self._open.items() if name not in active}
        if not ended or self._clock() < self._next:
            return bool(ended)
        try:
            for name, (job, since) in ended.items():
                if self._ask(job, last=self._clock() - since > PATIENCE_S):
                    del self._open[name]
        except EnvironmentLacks:
            self._open = {name: job for name, job in self._open.items() if name in active}
            return False
        self._next = self._clock() + PAUSE_S
        return any(name not in active for name in self._open)

    def _look(self) -> None:
        before = self._open or {}
        self._open = {
            name: before.get(name, (job, self._clock()))
            for name, job in self._store.jobs().items()
            if job.job_id is not None
            and self._paths.jobs(name).is_dir()
            and not (self._paths.jobs(name) / "accounting.json").exists()
        }

    def _ask(self, job: StoredJob, last: bool) -> bool:
        """Whether what Slurm says is now on record."""
        assert job.job_id is not None
        fields = slurm.fields_of_job(job.job_id)
        if fields is not None and fields.get("JobName") != job.name:
            fields = None  # job ids are used again
        if fields is not None and fields.get("JobState") in ("PENDING", "CONFIGURING", "RUNNING") and not last:
            return False
        steps = slurm.accounted_steps(job.job_id)
        if fields is None and not any(step["JobName"] == job.name for step in steps or ()):
            steps = [] if steps is not None else None
        _write(self._paths, job.name, fields or {}, steps)
        import_accounting(self._paths, self._store, job.name)
        return True


def _write(paths: Paths, job: str, fields: dict[str, str], steps: list[dict[str, str]] | None) -> None:
    told: dict[str, Any] = {
        "format": 1,
        "asked": time.time(),
        "job": fields,
        "accounting": steps is not None,
        "steps": steps or [],
        "problems": [] if fields or steps else ["Slurm knows nothing of the job any more"],
    }
    path = paths.jobs(job) / "accounting.json"
    try:
        whole.write(path, json.dumps(told, indent=1) + "\n")
    except OSError as error:
        raise EnvironmentLacks(f"{error.filename}: {error.strerror}") from error


def import_accounting(paths: Paths, store: Store, job: str) -> None:
    """Bring a job's accounting.json into the database, where there is one."""
    found = environment.read_accounting(paths.jobs(job) / "accounting.json")
    if found is not None:
        store.save_accounting(job, found)

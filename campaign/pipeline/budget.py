"""The node-hours of a campaign: those used by its jobs, and those that current jobs may still use."""

from __future__ import annotations

import json
from collections.abc import Sequence

from campaign.config.format import Slurm
from campaign.core.model import Attempt, Paths
from campaign.results.environment.facts import Accounting
from campaign.results.store import Store
from campaign.slurm import scripts


def in_use_node_s(paths: Paths, store: Store, slurm: Slurm) -> float:
    """Node-seconds of all jobs: from the scheduler's record, otherwise from the runs' records. A job that has not ended
    counts with its time limit.
    """
    by_job: dict[str, list[Attempt]] = {}
    for attempt in store.attempts():
        by_job.setdefault(attempt.job, []).append(attempt)
    records = store.accounting()
    return sum(_node_s(paths, attempts, records.get(job), slurm) for job, attempts in by_job.items())


def _node_s(paths: Paths, attempts: Sequence[Attempt], record: Accounting | None, slurm: Slurm) -> float:
    nodes = max(_nodes(paths, attempt) for attempt in attempts)
    if any(attempt.state.active for attempt in attempts):
        return float(nodes * scripts.job_limit_s(slurm, len(attempts)))
    if (seconds := _recorded_s(record)) is not None:
        return nodes * seconds
    times = [time for attempt in attempts for time in (attempt.started, attempt.ended) if time is not None]
    return nodes * (max(times) - min(times)) if times else 0.0


def _recorded_s(record: Accounting | None) -> float | None:
    """How long a job ran, by the scheduler's record."""
    if record is None:
        return None
    began, ended = record.job.get("StartTime", ""), record.job.get("EndTime", "")
    return float(int(ended) - int(began)) if began.isdigit() and ended.isdigit() else None


def _nodes(paths: Paths, attempt: Attempt) -> int:
    """The job's number of nodes, from the record written before its submission; 0 if that is missing."""
    try:
        path = paths.attempt(attempt.run, attempt.number) / "attempt.json"
        return int(json.loads(path.read_text(encoding="utf-8"))["nodes"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0

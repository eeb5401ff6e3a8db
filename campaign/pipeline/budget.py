"""The node-hours of a campaign: those used by its jobs, and those that current and further jobs may still use."""

from __future__ import annotations

import math
from collections.abc import Sequence

from campaign.config.format import Slurm
from campaign.config.opened import Opened
from campaign.core.grouping import grouped
from campaign.core.model import Attempt, Paths, Run
from campaign.core.units import digits, several
from campaign.plan import matrix
from campaign.results.environment.facts import Accounting
from campaign.results.store import Store
from campaign.slurm import scripts
from campaign.slurm.submit import described


def within(opened: Opened, store: Store, runs: Sequence[Run], most_node_h: float) -> tuple[list[Run], str]:
    """The runs of the first jobs that fit into so many node-hours, and a message about the others, if there are any.
    Each job may use its time limit on all its nodes; what it does not use is available to later ones.
    """
    slurm = opened.campaign.slurm
    used = in_use_node_s(opened.paths, store, slurm) / 3600
    chosen: list[Run] = []
    batches = matrix.batches(runs, slurm.allocation)
    costs = [
        max(run.geometry.nodes for run in batch) * scripts.job_limit_s(slurm, len(batch)) / 3600 for batch in batches
    ]
    for place, (batch, more) in enumerate(zip(batches, costs, strict=True)):
        if used + more > most_node_h:
            left = batches[place:]
            enough = math.ceil(100 * (used + sum(costs[place:]))) / 100
            return chosen, (
                f"not submitted: {several(len(left), 'job')} ({several(sum(map(len, left)), 'run')}). --max-node-hours "
                f"is {most_node_h:.15g}; {digits(used)} are used or reserved, and the next job may use {digits(more)} "
                f"more; --max-node-hours {enough:.15g} is enough for all"
            )
        used += more
        chosen += batch
    return chosen, ""


def in_use_node_s(paths: Paths, store: Store, slurm: Slurm) -> float:
    """Node-seconds of all jobs: from the scheduler's record, otherwise from the runs' records. A job that has not ended
    counts with its time limit.
    """
    by_job = grouped((attempt.job, attempt) for attempt in store.attempts())
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
    nodes = described(paths.attempt(attempt.run, attempt.number)).get("nodes")
    return nodes if isinstance(nodes, int) else 0

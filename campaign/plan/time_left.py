"""Estimates how long a running campaign still takes, from ended and current runs and waiting times of jobs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from campaign.config.format import Campaign
from campaign.core.model import Attempt, Run
from campaign.plan import matrix
from campaign.plan.estimate import kind_of, measured_lengths, side_by_side
from campaign.plan.lengths import Lengths

GOES_ON = 0.25  # a run that exceeds its expected time is assumed to need this share of it more


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Seconds until the last run has ended. `unlike`: remaining runs of a kind of which none has ended, so that their
    length is a guess.
    """

    seconds: float
    unlike: int = 0


def time_left(
    campaign: Campaign,
    runs: Sequence[Run],
    attempts: Mapping[str, Sequence[Attempt]],
    running_since: Mapping[str, float],
    now: float,
) -> TimeLeft | None:
    """None before a run has ended well, and if none is left. `attempts`: by run. `running_since`: when current attempts
    began, by token.
    """
    every = [attempt for of_run in attempts.values() for attempt in of_run]
    lengths = Lengths(measured_lengths(runs, every), campaign.slurm.time_s)
    left = [run for run in runs if not attempts.get(run.id) or attempts[run.id][-1].state.active]
    if not left or not lengths.known:
        return None
    seconds: dict[str, float] = {}
    for run in left:
        expected = lengths.of(kind_of(run))
        token = attempts[run.id][-1].token if attempts.get(run.id) else ""
        if token in running_since:
            elapsed = max(0.0, now - running_since[token])
            expected = max(expected - elapsed, elapsed * GOES_ON)
        seconds[run.target] = seconds.get(run.target, 0.0) + expected
    begun = {attempt.job for attempt in every if attempt.started or attempt.token in running_since}
    jobs = {attempts[run.id][-1].job: run for run in left if attempts.get(run.id)}
    later = matrix.batches([run for run in left if not attempts.get(run.id)], campaign.slurm.allocation)
    wait_s = _wait(every)
    for run in [*(run for job, run in jobs.items() if job not in begun), *(batch[0] for batch in later)]:
        seconds[run.target] += wait_s
    unlike = sum(not lengths.has(kind_of(run)) for run in left)
    return TimeLeft(side_by_side(campaign.targets, seconds), unlike)


def _wait(attempts: Sequence[Attempt]) -> float:
    """The median time that jobs waited while they could have begun: after their submission, with nothing else
    running.
    """
    ended = sorted(
        (attempt.started, attempt.ended, attempt.submitted or 0.0, attempt.job)
        for attempt in attempts
        if attempt.started and attempt.ended
    )
    waits, jobs, free = [], set[str](), 0.0
    for started, end, submitted, job in ended:
        if job not in jobs:
            waits.append(max(0.0, started - max(submitted, free)))
        jobs.add(job)
        free = max(free, end)
    return median(waits) if waits else 0.0

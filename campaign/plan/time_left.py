"""How long a campaign under way still takes, by what has run, what runs and how jobs have waited. Pure.

A range, since a kind of run that has not been seen may take much longer than expected.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean, median, stdev

from campaign.config.load import Campaign
from campaign.core.frozen import dataclass
from campaign.core.model import Attempt, Run
from campaign.plan import matrix
from campaign.plan.estimate import kind_of, measured_lengths, side_by_side, work_is_shared
from campaign.plan.lengths import MACHINES, Kind, Lengths

OUTSIDE = 0.1  # of the probability that is below the range, and above
NARROW = 1.8  # high / low up to which one number says it, as well as ±30% do
OPEN = 10.0  # high / low from which on only the lower end is worth saying
GOES_ON = 0.25  # what takes longer than expected goes on for such a part of the time that it has taken
STEP = 1.1  # by which the time of a run that takes longer has to grow before it is counted anew


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Seconds until the last run has ended: very probably between these."""

    low: float
    high: float

    @property
    def likely(self) -> float:
        return math.sqrt(self.low * self.high)

    @property
    def narrow(self) -> bool:
        return self.high <= NARROW * self.low

    @property
    def open(self) -> bool:
        """Whether the upper end says nothing."""
        return self.high > OPEN * self.low


def time_left(
    campaign: Campaign,
    runs: Sequence[Run],
    attempts: Mapping[str, Sequence[Attempt]],
    running_since: Mapping[str, float],
    now: float,
) -> TimeLeft | None:
    """None before a run has ended well, and where none is left.

    `attempts`: by run. `running_since`: when attempts that run began, by their tokens.
    """
    every = [attempt for of_run in attempts.values() for attempt in of_run]
    left = [run for run in runs if not attempts.get(run.id) or attempts[run.id][-1].state.active]
    if not left:
        return None
    elapsed = {
        run.id: max(0.0, now - running_since[token])
        for run in left
        if attempts.get(run.id) and (token := attempts[run.id][-1].token) in running_since
    }
    lengths = _lengths(campaign, runs, every, {run: elapsed[run.id] for run in left if run.id in elapsed})
    if not lengths.known:
        return None
    pauses = _Pauses(campaign, {run.id: run for run in runs}, every)
    idle = _Idle.of(campaign, left, attempts, running_since, pauses, now)
    kinds = [kind_of(run) for run in left]
    different = list(dict.fromkeys(kinds))
    place = {kind: number for number, kind in enumerate(different)}
    # What a hypothesis needs of each run that is left: there are more than a hundred hypotheses.
    asked = [(run.target, place[kind], elapsed.get(run.id)) for run, kind in zip(left, kinds, strict=True)]
    known: dict[int, float] = {}  # how well each machine's lengths are known; its likeliest trend speaks for all
    expectations: list[_Expectation] = []
    for each in sorted(lengths.hypotheses(different), key=lambda each: -each.weight):
        expected = [min(math.exp(log), campaign.slurm.time_s) for log in each.logs]
        remaining = [_remaining(expected[kind], until_now) for _, kind, until_now in asked]
        seconds = dict(idle.seconds)
        for (target, *_), length in zip(asked, remaining, strict=True):
            seconds[target] = seconds.get(target, 0.0) + length + pauses.between_s
        total = max(side_by_side(campaign.targets, seconds), 1e-3)
        if each.machine not in known:
            known[each.machine] = _deviation(lengths, each.machine, kinds, remaining)
        share = min(1.0, math.fsum(remaining) / total)
        expectations.append(
            _Expectation(each.weight, total, math.hypot(known[each.machine] * share, idle.deviation_s / total))
        )
    return TimeLeft(_quantile(expectations, OUTSIDE), _quantile(expectations, 1 - OUTSIDE))


def _deviation(lengths: Lengths, machine: int, kinds: Sequence[Kind], remaining: Sequence[float]) -> float:
    """The standard deviation of the logarithm of the total remaining time, of runs of these kinds."""
    whole = math.fsum(remaining) or 1e-3
    parts: dict[Kind, float] = {}
    for kind, length in zip(kinds, remaining, strict=True):
        parts[kind] = parts.get(kind, 0.0) + length / whole
    # What loads a machine lasts longer than a run: over several runs it does not average out.
    return math.hypot(lengths.deviation(machine, parts), MACHINES[machine].noise)


def _remaining(expected: float, elapsed: float | None) -> float:
    return expected if elapsed is None else max(expected - elapsed, elapsed * GOES_ON)


def _lengths(
    campaign: Campaign, runs: Sequence[Run], attempts: Sequence[Attempt], elapsed: Mapping[Run, float]
) -> Lengths:
    """By the executions that have ended well, and those that have taken longer already than these let expect."""
    taken = measured_lengths(runs, attempts)
    shared = work_is_shared(campaign, runs)
    lengths = _fitted(_frozen(taken), campaign.slurm.time_s, shared)
    longer = {run: seconds for run, seconds in elapsed.items() if seconds > lengths.of(kind_of(run))}
    if not longer or not lengths.known:
        return lengths
    for run, seconds in longer.items():
        until_now = STEP ** math.floor(math.log(seconds, STEP))
        taken.setdefault(kind_of(run), []).append(until_now * (1 + GOES_ON))
    return _fitted(_frozen(taken), campaign.slurm.time_s, shared)


_Taken = tuple[tuple[Kind, tuple[float, ...]], ...]


def _frozen(taken: Mapping[Kind, Iterable[float]]) -> _Taken:
    return tuple((kind, tuple(values)) for kind, values in taken.items())


@functools.lru_cache(maxsize=4)
def _fitted(taken: _Taken, limit_s: float, shared: bool) -> Lengths:
    """Asked at each look at the runs, of which few bring anything new."""
    return Lengths(dict(taken), limit_s, shared)


@dataclass(frozen=True, slots=True)
class _Expectation:
    """What a hypothesis expects: seconds, whose logarithm has this deviation."""

    weight: float
    seconds: float
    deviation: float


def _quantile(expectations: Sequence[_Expectation], share: float) -> float:
    whole = math.fsum(each.weight for each in expectations)
    normal = [  # half the weight, the mean, and one over the deviation and the root of 2
        (each.weight / whole / 2, math.log(each.seconds), math.sqrt(0.5) / max(each.deviation, 1e-3))
        for each in expectations
    ]
    low, high = min(mean for _, mean, _ in normal) - 8, max(mean for _, mean, _ in normal) + 8
    for _ in range(20):  # to 1 part in 10^4
        middle = (low + high) / 2
        below = math.fsum([half * math.erfc((mean - middle) * steep) for half, mean, steep in normal])
        low, high = (middle, high) if below < share else (low, middle)
    return math.exp(low)


@dataclass(frozen=True, slots=True)
class _Idle:
    """How long jobs will still wait, by target, and how uncertain that is in all."""

    seconds: Mapping[str, float]
    deviation_s: float

    @classmethod
    def of(
        cls,
        campaign: Campaign,
        left: Sequence[Run],
        attempts: Mapping[str, Sequence[Attempt]],
        running_since: Mapping[str, float],
        pauses: _Pauses,
        now: float,
    ) -> _Idle:
        every = [attempt for of_run in attempts.values() for attempt in of_run]
        jobs = {run.id: attempts[run.id][-1].job for run in left if attempts.get(run.id)}
        begun = {attempt.job for attempt in every if attempt.started or attempt.token in running_since}
        to_begin = {job: run for run in left if (job := jobs.get(run.id)) and job not in begun}
        later = matrix.batches([run for run in left if run.id not in jobs], campaign.slurm.allocation)
        waiting = [*to_begin.values(), *(batch[0] for batch in later)]
        seconds: dict[str, float] = {}
        for run in waiting:
            seconds[run.target] = seconds.get(run.target, 0.0) + pauses.of_a_job_s
        if not running_since and to_begin:  # one of them has waited for a part of that already
            first = next(iter(to_begin.values()))
            waited = max(0.0, now - pauses.free_since(first, max(attempt.submitted or 0.0 for attempt in every)))
            seconds[first.target] += _remaining(pauses.of_a_job_s, waited) - pauses.of_a_job_s
        return cls(seconds, pauses.deviation_s * math.sqrt(len(waiting) + len(waiting) ** 2 / max(pauses.seen, 1)))


class _Pauses:
    """How long nothing was executed: between the executions of a job, and before a job began."""

    def __init__(self, campaign: Campaign, runs: Mapping[str, Run], attempts: Sequence[Attempt]) -> None:
        self._targets = campaign.targets
        ended = [attempt for attempt in attempts if attempt.started and attempt.ended]
        by_job: dict[str, list[Attempt]] = {}
        # Of each target: when executions began, and when the last of those up to each had ended.
        self._begun: dict[str, list[float]] = {}
        self._free: dict[str, list[float]] = {}
        for attempt in sorted(ended, key=lambda attempt: attempt.started or 0.0):
            by_job.setdefault(attempt.job, []).append(attempt)
            target = runs[attempt.run].target
            free = self._free.setdefault(target, [])
            free.append(max([attempt.ended or 0.0, *free[-1:]]))
            self._begun.setdefault(target, []).append(attempt.started or 0.0)
        between = [
            (after.started or 0.0) - (before.ended or 0.0) for job in by_job.values() for before, after in pairwise(job)
        ]
        before = [
            began - self.free_since(runs[first.run], first.submitted or began, began)
            for first, *_ in by_job.values()
            if (began := first.started)
        ]
        self.between_s = max(median(between), 0.0) if between else 0.0
        self.of_a_job_s = max(fmean(before), 0.0) if before else 0.0
        self.seen = len(before)
        self.deviation_s = stdev(before) if len(before) > 2 else self.of_a_job_s / 2

    def free_since(self, run: Run, submitted: float, before: float = math.inf) -> float:
        """When a job of this run could have begun: once it was submitted and nothing else was executed there."""
        apart = matrix.apart(self._targets, run.target)
        ends = [
            self._free[target][number - 1]
            for target, begun in self._begun.items()
            if target not in apart and (number := bisect_left(begun, before))
        ]
        return max(submitted, *ends, 0.0)

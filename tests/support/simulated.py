"""Campaigns that are played, not run: which attempt begins and ends when, by a model of a machine. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from campaign.config.load import Campaign
from campaign.core.model import Attempt, Run, State
from campaign.plan import matrix
from campaign.plan.time_left import TimeLeft, time_left
from tests.support import builders

BEGIN = 1_800_000_000.0  # seconds since 1970
Model = Callable[[Run], float]


@dataclass(frozen=True)
class Machine:
    """`length`: seconds of a run. `noise`: standard deviation of its logarithm, `load` of what comes and goes slowly
    beside it. A job waits `wait_s`, give or take a half; of the runs, `failing` end after a twentieth of their time.
    """

    length: Model
    noise: float = 0.1
    load: float = 0.0
    wait_s: float = 5.0
    pause_s: float = 0.5
    failing: float = 0.0


@dataclass(frozen=True)
class Played:
    """A campaign with all that became of its runs."""

    campaign: Campaign
    runs: Sequence[Run]
    attempts: Sequence[Attempt]  # ended

    @property
    def end(self) -> float:
        return max(attempt.ended or 0.0 for attempt in self.attempts)

    def at(self, share: float) -> float:
        return BEGIN + share * (self.end - BEGIN)

    def left_at(self, share: float) -> tuple[TimeLeft, float]:
        """What is said of the time left when this share of the time has passed, and what it was."""
        now = self.at(share)
        seen = [self._at(attempt, now) for attempt in self.attempts]
        running = {
            one.token: one.started or 0.0
            for one in self.attempts
            if one.started and one.started <= now < (one.ended or 0)
        }
        by_run = matrix.attempts_by_run(self.runs, seen)
        said = time_left(self.campaign, self.runs, by_run, running, now)
        assert said is not None, "nothing has ended yet"
        return said, self.end - now

    def _at(self, attempt: Attempt, now: float) -> Attempt:
        """As it was on record then."""
        if (attempt.ended or 0.0) <= now:
            return attempt
        state = State.RUNNING if (attempt.started or 0.0) <= now else State.PENDING
        return replace(attempt, state=state, started=None, ended=None)


def play(campaign: Campaign, machine: Machine, seed: int) -> Played:
    """All jobs are submitted at once; those of storage that is not apart run one after another. No run comes near
    its time limit.
    """
    chance = random.Random(seed)
    runs = builders.expand(campaign)
    limit_s = 5 * round(max(map(machine.length, runs)) + 1)
    campaign = replace(campaign, slurm=replace(campaign.slurm, time_s=limit_s))
    free: dict[str, float] = dict.fromkeys((target.name for target in campaign.targets), BEGIN)
    attempts = []
    load = chance.gauss(0, machine.load)
    for number, batch in enumerate(matrix.batches(runs, campaign.slurm.allocation)):
        own = free.keys() - matrix.apart(campaign.targets, batch[0].target)
        now = max(free[name] for name in own) + machine.wait_s * chance.uniform(0.5, 1.5)
        for run in batch:
            took = machine.length(run) * math.exp(load + chance.gauss(0, machine.noise))
            load = 0.9 * load + math.sqrt(1 - 0.9**2) * chance.gauss(0, machine.load)
            failed = chance.random() < machine.failing
            took = took / 20 if failed else took
            state = State.FAILED if failed else State.DONE
            token = f"{len(attempts):08}"
            times = {"submitted": BEGIN, "started": now, "ended": now + took}
            attempts.append(builders.attempt(run, token=token, job=f"job-{number}", state=state, **times))
            now += took + machine.pause_s
        free[batch[0].target] = now
    return Played(campaign, runs, attempts)

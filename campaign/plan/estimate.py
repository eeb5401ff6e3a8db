"""How much is still to be run: jobs, node-hours and time, by what has run already. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from campaign.core.model import Attempt, Run, State
from campaign.core.units import format_duration, several
from campaign.plan import matrix
from campaign.plan import searches as searching


@dataclass(frozen=True, slots=True)
class Estimate:
    """`known`: by executions that have ended; otherwise by the time limit, hence at most."""

    jobs: int
    runs: int
    node_s: float
    seconds: float  # of the busiest target: its executions never overlap
    known: bool
    searching: int  # searches whose length is a guess
    repeating: int = 0  # repetitions that may come beside
    budget_node_s: float | None = None  # that searches have left at most
    unsettled: bool = False  # launch conditions lack their runs, of which nothing is known

    @property
    def text(self) -> str:
        if not self.runs:
            return "to come: what is not settled" if self.unsettled else "nothing is left to run"
        about = "about" if self.known else "at most"
        how = "by the executions so far" if self.known else "by slurm.time, since nothing has run yet"
        many = self.searching > 1
        guess = ""
        if self.searching:
            guess += f"; {self.searching} search{'es' if many else ''} may take more or fewer runs"
        if self.budget_node_s is not None:
            guess += f", and end{'' if many else 's'} at {self.budget_node_s / 3600:.2g} node-hours more"
        if self.repeating:
            guess += f"; up to {self.repeating} more repetitions where intervals are wide"
        if self.unsettled:
            guess += "; what is not settled comes beside"
        return (
            f"to come: {several(self.jobs, 'job')}, {several(self.runs, 'run')}, {about} "
            f"{self.node_s / 3600:.1f} node-hours and {format_duration(round(self.seconds))} ({how}{guess})"
        )


def estimate(
    runs: Sequence[Run],
    standings: Sequence[searching.SearchProgress],
    attempts: Sequence[Attempt],
    allocation: str,
    limit_s: float,
    repetitions: int = 1,
    most_repetitions: int = 0,
    unsettled: bool = False,
) -> Estimate:
    """`runs`: those that cells report, `repetitions` of each and up to `most_repetitions` where that is given.
    `limit_s`: of one run. `unsettled`: launch conditions lack their runs.
    """
    counted = matrix.attempts_by_run(runs, attempts)
    left = tuple(run for run in runs if not any(one.state is State.DONE for one in counted[run.id]))
    taken = _taken(attempts)
    everything = [each for own in taken.values() for each in own]

    def length(target: str, launch: str) -> float:
        own = taken.get((target, launch)) or everything
        return sum(own) / len(own) if own else limit_s

    # Searches for several operations ask for the same executions.
    guessed: dict[searching.Expected, None] = {}
    budget = 0.0
    families = {run.id.rpartition(".")[0] for run in runs}
    to_come = len(families)
    for standing in standings:
        if standing.decision:
            continue
        one = standing.sought
        own, fresh = searching.expected(standing, repetitions)
        cost = length(one.target, one.launch) * sum(each.geometry.nodes for each in own)
        left_over = max(0.0, one.settings.budget_node_s - sum(found.node_s for found in standing.points.values()))
        budget += left_over
        if taken and cost > left_over:
            # The budget ends it: of what it would measure, as much as that pays for.
            own = own[: int(len(own) * left_over / cost)]
        guessed |= dict.fromkeys([*own, *fresh])
        to_come += len(one.files)
    everyone: list[Run | searching.Expected] = [*left, *guessed]
    seconds: dict[str, float] = {}
    node_s = 0.0
    for run in everyone:
        each = length(run.target, run.launch)
        seconds[run.target] = seconds.get(run.target, 0.0) + each
        node_s += each * run.geometry.nodes
    undecided = sum(standing.decision is None for standing in standings)
    more = to_come * most_repetitions - len(runs) - (to_come - len(families)) * repetitions
    return Estimate(
        len(matrix.batches(everyone, allocation)),
        len(everyone),
        node_s,
        max(seconds.values(), default=0.0),
        bool(everything),
        undecided,
        max(0, more) if most_repetitions and everyone else 0,
        budget if undecided and math.isfinite(budget) else None,
        unsettled,
    )


def _taken(attempts: Sequence[Attempt]) -> dict[tuple[str, str], list[float]]:
    """Seconds of the executions that have ended well, by target and launch condition."""
    found: dict[tuple[str, str], list[float]] = {}
    for attempt in attempts:
        if attempt.state is State.DONE and attempt.started is not None and attempt.ended is not None:
            target, launch = attempt.run.split(".")[:2]
            found.setdefault((target, launch), []).append(attempt.ended - attempt.started)
    return found

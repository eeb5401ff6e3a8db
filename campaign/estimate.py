"""How much is still to be run: jobs, node-hours and time, by what has run already. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from campaign import matrix, searching
from campaign.model import Attempt, Run, State
from campaign.units import format_duration, several


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

    @property
    def text(self) -> str:
        if not self.runs:
            return "nothing is left to run"
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
        return (
            f"to come: {several(self.jobs, 'job')}, {several(self.runs, 'run')}, {about} "
            f"{self.node_s / 3600:.1f} node-hours and {format_duration(round(self.seconds))} ({how}{guess})"
        )


def estimate(
    runs: Sequence[Run],
    standings: Sequence[searching.Standing],
    attempts: Sequence[Attempt],
    allocation: str,
    limit_s: float,
    most_repetitions: int = 0,
) -> Estimate:
    """`runs`: those that cells report, up to `most_repetitions` of each where that is given. `limit_s`: of one run."""
    counted = matrix.attempts_by_run(runs, attempts)
    left = tuple(run for run in runs if not any(one.state is State.DONE for one in counted[run.id]))
    taken = _taken(attempts)
    everything = [each for own in taken.values() for each in own]

    def length(target: str, launch: str) -> float:
        own = taken.get((target, launch)) or everything
        return sum(own) / len(own) if own else limit_s

    seconds: dict[str, float] = {}
    node_s = 0.0
    total = len(left)
    jobs = len(matrix.batches(left, allocation))
    for run in left:
        each = length(run.target, run.launch)
        seconds[run.target] = seconds.get(run.target, 0.0) + each
        node_s += each * run.geometry.nodes
    budget = 0.0
    for standing in standings:
        one = standing.sought
        geometries = searching.expected(standing)
        each = length(one.target, one.launch)
        cost = each * sum(geometry.nodes for geometry in geometries)
        if not standing.decision:
            left_over = max(0.0, one.settings.budget_node_s - sum(found.node_s for found in standing.points.values()))
            budget += left_over
            if taken and cost > left_over:
                # The budget ends it: of what it would measure, as much as that pays for.
                geometries = geometries[: int(len(geometries) * left_over / cost)]
                cost = left_over
        seconds[one.target] = seconds.get(one.target, 0.0) + each * len(geometries)
        node_s += cost
        total += len(geometries)
        jobs += len(geometries) // len(one.files)
        if not standing.decision:
            # Each configuration's run of the count that is to be found.
            total += len(one.files)
            jobs += 1
    undecided = sum(standing.decision is None for standing in standings)
    families = {run.id.rpartition(".")[0] for run in runs}
    more = max(0, len(families) * most_repetitions - len(runs)) if most_repetitions and left else 0
    return Estimate(
        jobs,
        total,
        node_s,
        max(seconds.values(), default=0.0),
        bool(everything),
        undecided,
        more,
        budget if undecided and math.isfinite(budget) else None,
    )


def _taken(attempts: Sequence[Attempt]) -> dict[tuple[str, str], list[float]]:
    """Seconds of the executions that have ended well, by target and launch condition."""
    found: dict[tuple[str, str], list[float]] = {}
    for attempt in attempts:
        if attempt.state is State.DONE and attempt.started is not None and attempt.ended is not None:
            target, launch = attempt.run.split(".")[:2]
            found.setdefault((target, launch), []).append(attempt.ended - attempt.started)
    return found

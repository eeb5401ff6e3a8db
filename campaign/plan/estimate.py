"""How much is still to be run: jobs, node-hours and time, by what has run already. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from campaign.config.load import Campaign
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
    campaign: Campaign,
    runs: Sequence[Run],
    standings: Sequence[searching.SearchProgress],
    attempts: Sequence[Attempt],
    unsettled: bool = False,
) -> Estimate:
    """`runs`: those that cells report, each repetition that is planned. `unsettled`: launch conditions lack theirs."""
    counted = matrix.attempts_by_run(runs, attempts)
    left = [run for run in runs if not any(attempt.state is State.DONE for attempt in counted[run.id])]
    lengths = _Lengths(_taken(attempts), campaign.slurm.time_s)
    undecided = [standing for standing in standings if standing.decision is None]
    # Searches for several operations ask for the same executions.
    guessed: dict[searching.Expected, None] = {}
    budget = 0.0
    for standing in undecided:
        spent = sum(outcome.node_s for outcome in standing.points.values())
        left_over = max(0.0, standing.sought.settings.budget_node_s - spent)
        guessed |= dict.fromkeys(_expected(standing, campaign.repetitions, lengths, left_over))
        budget += left_over
    to_come: list[Run | searching.Expected] = [*left, *guessed]
    seconds: dict[str, float] = {}
    node_s = 0.0
    for run in to_come:
        length = lengths.of(run.target, run.launch)
        seconds[run.target] = seconds.get(run.target, 0.0) + length
        node_s += length * run.geometry.nodes
    return Estimate(
        jobs=len(matrix.batches(to_come, campaign.slurm.allocation)),
        runs=len(to_come),
        node_s=node_s,
        seconds=max(seconds.values(), default=0.0),
        known=bool(lengths.taken),
        searching=len(undecided),
        repeating=_repetitions_beside(campaign, runs, undecided) if to_come else 0,
        budget_node_s=budget if undecided and math.isfinite(budget) else None,
        unsettled=unsettled,
    )


@dataclass(frozen=True, slots=True)
class _Lengths:
    """Seconds of an execution: the mean of those like it, otherwise of all so far, otherwise the limit."""

    taken: dict[tuple[str, str], list[float]]
    limit_s: float

    def of(self, target: str, launch: str) -> float:
        everything = [seconds for lasted in self.taken.values() for seconds in lasted]
        like_it = self.taken.get((target, launch)) or everything
        return sum(like_it) / len(like_it) if like_it else self.limit_s


def _expected(
    standing: searching.SearchProgress, repetitions: int, lengths: _Lengths, budget_node_s: float
) -> list[searching.Expected]:
    """The executions of a search, as many as its budget pays for, and those of the count that it finds."""
    search = standing.sought
    usual, fresh = searching.expected(standing, repetitions)
    cost = lengths.of(search.target, search.launch) * sum(execution.geometry.nodes for execution in usual)
    if lengths.taken and cost > budget_node_s:
        usual = usual[: int(len(usual) * budget_node_s / cost)]
    return [*usual, *fresh]


def _repetitions_beside(campaign: Campaign, runs: Sequence[Run], undecided: Sequence[searching.SearchProgress]) -> int:
    """How many repetitions may come beside those that are planned."""
    if campaign.sequential is None:
        return 0
    searched = sum(len(standing.sought.files) for standing in undecided)
    families = len({run.id.rpartition(".")[0] for run in runs}) + searched
    return max(0, families * campaign.sequential.most - len(runs) - searched * campaign.repetitions)


def _taken(attempts: Sequence[Attempt]) -> dict[tuple[str, str], list[float]]:
    """Seconds of the executions that have ended well, by target and launch condition."""
    taken: dict[tuple[str, str], list[float]] = {}
    for attempt in attempts:
        if attempt.state is State.DONE and attempt.seconds is not None:
            target, launch = attempt.run.split(".")[:2]
            taken.setdefault((target, launch), []).append(attempt.seconds)
    return taken

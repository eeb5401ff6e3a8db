"""Estimates what is left to run: jobs, node-hours and time, from the runs that have ended. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from campaign.config.format import Campaign
from campaign.core.model import Attempt, Run, State, Target
from campaign.core.units import digits, format_duration, several
from campaign.plan import matrix, searches
from campaign.plan.lengths import Kind, Lengths


@dataclass(frozen=True, slots=True)
class Estimate:
    """`known`: estimated from executions that have ended; otherwise from the time limit, as an upper bound."""

    jobs: int
    runs: int
    node_s: float
    seconds: float  # until the last run has ended; only targets on different storage run side by side
    known: bool
    searching: int  # searches whose length is a guess
    repeating: int = 0  # repetitions that may be added
    budget_node_s: float | None = None  # what searches may still use, at most
    unsettled: bool = False  # some launch conditions have no geometry yet, so that their runs are unknown

    @property
    def text(self) -> str:
        if not self.runs:
            return (
                "remaining: only runs that a search has not determined yet"
                if self.unsettled
                else "remaining: nothing, all results are present"
            )
        guesses = []
        if self.searching:
            guesses.append(f"unfinished searches, whose number of runs is unknown: {self.searching}")
        if self.budget_node_s is not None:
            guesses.append(f"searches end after {digits(self.budget_node_s / 3600)} more node-hours")
        if self.repeating:
            guesses.append(f"up to {several(self.repeating, 'more repetition')} if intervals are wide")
        if self.unsettled:
            guesses.append("unresolved runs not included")
        return (
            (
                "remaining: {jobs}, {runs}, about {node_h:.1f} node-hours and {time} (estimated from finished "
                "runs{guesses})"
            )
            if self.known
            else (
                "remaining: {jobs}, {runs}, at most {node_h:.1f} node-hours and {time} (upper bound from slurm.time; "
                "nothing has run yet{guesses})"
            )
        ).format(
            jobs=several(self.jobs, "job"),
            runs=several(self.runs, "run"),
            node_h=self.node_s / 3600,
            time=format_duration(round(self.seconds)),
            guesses="".join(f"; {guess}" for guess in guesses),
        )


def estimate(
    campaign: Campaign,
    runs: Sequence[Run],
    standings: Sequence[searches.SearchProgress],
    attempts: Sequence[Attempt],
    unsettled: bool = False,
) -> Estimate:
    """`runs`: those that cells report, with all planned repetitions. `unsettled`: some launch conditions have no runs
    yet.
    """
    counted = matrix.attempts_by_run(runs, attempts)
    left = [run for run in runs if not any(attempt.state is State.DONE for attempt in counted[run.id])]
    every = [*runs, *(run for standing in standings for run in standing.runs)]
    lengths = Lengths(measured_lengths(every, attempts), campaign.slurm.time_s)
    undecided = [standing for standing in standings if standing.decision is None]
    # Searches for several operations share executions.
    guessed: dict[searches.Expected, None] = {}
    budget = 0.0
    for standing in undecided:
        spent = sum(outcome.node_s for outcome in standing.points.values())
        left_over = max(0.0, standing.sought.settings.budget_node_s - spent)
        guessed |= dict.fromkeys(_expected(standing, campaign.repetitions, lengths, left_over))
        budget += left_over
    to_come: list[Run | searches.Expected] = [*left, *guessed]
    seconds: dict[str, float] = {}
    node_s = 0.0
    for run in to_come:
        length = lengths.of(kind_of(run))
        seconds[run.target] = seconds.get(run.target, 0.0) + length
        node_s += length * run.geometry.nodes
    return Estimate(
        jobs=len(matrix.batches(to_come, campaign.slurm.allocation)),
        runs=len(to_come),
        node_s=node_s,
        seconds=side_by_side(campaign.targets, seconds),
        known=lengths.known,
        searching=len(undecided),
        repeating=_repetitions_beside(campaign, runs, undecided) if to_come else 0,
        budget_node_s=budget if undecided and math.isfinite(budget) else None,
        unsettled=unsettled,
    )


def side_by_side(targets: Iterable[Target], seconds: Mapping[str, float]) -> float:
    """The time for all targets, from the time of each: those on different storage run at the same time."""
    by_storage: dict[str, float] = {}
    for target in targets:
        by_storage[target.storage] = by_storage.get(target.storage, 0.0) + seconds.get(target.name, 0.0)
    unnamed = by_storage.pop("", 0.0)
    return unnamed + max(by_storage.values(), default=0.0)


def kind_of(run: Run | searches.Expected) -> Kind:
    return Kind(run.target, run.launch, run.files, run.geometry)


def measured_lengths(runs: Iterable[Run], attempts: Sequence[Attempt]) -> dict[Kind, list[float]]:
    """The durations of successful executions: failed ones say nothing about the others."""
    taken: dict[Kind, list[float]] = {}
    known = {run.id: run for run in runs}
    for attempt in sorted(attempts, key=lambda attempt: attempt.ended or 0.0):
        if attempt.state is State.DONE and attempt.seconds is not None and attempt.run in known:
            taken.setdefault(kind_of(known[attempt.run]), []).append(attempt.seconds)
    return taken


def _expected(
    standing: searches.SearchProgress, repetitions: int, lengths: Lengths, budget_node_s: float
) -> list[searches.Expected]:
    """The executions of a search, as many as its budget allows, and those of the count that it finds."""
    usual, fresh = searches.expected(standing, repetitions)
    cost = sum(lengths.of(kind_of(execution)) * execution.geometry.nodes for execution in usual)
    if lengths.known and cost > budget_node_s:
        usual = usual[: int(len(usual) * budget_node_s / cost)]
    return [*usual, *fresh]


def _repetitions_beside(campaign: Campaign, runs: Sequence[Run], undecided: Sequence[searches.SearchProgress]) -> int:
    """How many repetitions may be added to the planned ones."""
    if campaign.sequential is None:
        return 0
    searched = sum(len(standing.sought.files) for standing in undecided)
    families = len({run.id.rpartition(".")[0] for run in runs}) + searched
    return max(0, families * campaign.sequential.most - len(runs) - searched * campaign.repetitions)

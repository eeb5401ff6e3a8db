"""Estimates what is left to run: jobs, node-hours and time, from the runs that have ended. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from campaign.config.format import Campaign, Target
from campaign.core.runs import Attempt, Run, State
from campaign.core.units import digits, format_duration, plural
from campaign.plan import adaptive, matrix

GOES_ON = 0.25  # a run that exceeds its expected time is assumed to need this share of it more


class RunLengths:
    """Expected seconds of runs: the median of the most similar ones that have ended well (failed ones say nothing about
    the others); `limit_s` as long as none has.
    """

    def __init__(self, runs: Iterable[Run], attempts: Iterable[Attempt], limit_s: float) -> None:
        runs_by_id = {run.id: run for run in runs}
        seconds_by_likeness: dict[tuple[object, ...], list[float]] = {}
        for attempt in attempts:
            if attempt.state is State.DONE and attempt.seconds is not None and attempt.run in runs_by_id:
                for likeness in _similarity_keys(runs_by_id[attempt.run]):
                    seconds_by_likeness.setdefault(likeness, []).append(attempt.seconds)
        self._medians = {likeness: median(seconds) for likeness, seconds in seconds_by_likeness.items()}
        self._limit_s = limit_s
        self.is_measured = bool(seconds_by_likeness)

    def expected_s(self, run: Run) -> float:
        return next(
            (self._medians[likeness] for likeness in _similarity_keys(run) if likeness in self._medians), self._limit_s
        )

    def has_kind(self, run: Run) -> bool:
        """Whether a run of exactly this kind has ended."""
        return _similarity_keys(run)[0] in self._medians


def _similarity_keys(run: Run) -> tuple[tuple[object, ...], ...]:
    """What other runs may have in common with this one, most similar first."""
    return (
        (run.target, run.launch, run.files, run.geometry),
        (run.launch, run.files, run.geometry),
        (run.launch, run.geometry),
        (run.target, run.launch),
        (run.launch,),
        (),
    )


@dataclass(frozen=True, slots=True)
class Estimate:
    """`is_measured`: estimated from executions that have ended; otherwise from the time limit, as an upper bound."""

    jobs: int
    runs: int
    node_s: float
    seconds: float  # until the last run has ended; only targets on different storage run side by side
    is_measured: bool
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
            guesses.append(f"up to {plural(self.repeating, 'more repetition')} if intervals are wide")
        if self.unsettled:
            guesses.append("unresolved runs not included")
        bound, source = (
            ("about", "estimated from finished runs")
            if self.is_measured
            else ("at most", "upper bound from slurm.time; nothing has run yet")
        )
        return (
            f"remaining: {plural(self.jobs, 'job')}, {plural(self.runs, 'run')}, {bound} "
            f"{self.node_s / 3600:.1f} node-hours and {format_duration(round(self.seconds))} "
            f"({'; '.join([source, *guesses])})"
        )


def estimate(
    campaign: Campaign,
    runs: Sequence[Run],
    searches_progress: Sequence[adaptive.SearchProgress],
    attempts: Sequence[Attempt],
    unsettled: bool = False,
) -> Estimate:
    """`runs`: those that cells report, with all planned repetitions. `unsettled`: some launch conditions have no runs
    yet.
    """
    attempts_of_runs = matrix.attempts_by_run(runs, attempts)
    remaining = [run for run in runs if not any(attempt.state is State.DONE for attempt in attempts_of_runs[run.id])]
    lengths = RunLengths(adaptive.all_runs(searches_progress, runs), attempts, campaign.slurm.time_s)
    undecided = [progress for progress in searches_progress if progress.choice is None]
    runs_to_come = {run.id: run for run in remaining}  # searches for several operations share executions
    budget = 0.0
    for progress in undecided:
        spent = sum(outcome.node_s for outcome in progress.points.values())
        budget_node_s = max(0.0, progress.search.settings.budget_node_s - spent)
        runs_to_come |= {
            run.id: run for run in _remaining_of_search(progress, campaign.repetitions, lengths, budget_node_s)
        }
        budget += budget_node_s
    seconds = _seconds_by_target((run, lengths.expected_s(run)) for run in runs_to_come.values())
    return Estimate(
        jobs=len(matrix.batches(tuple(runs_to_come.values()), campaign.slurm.allocation)),
        runs=len(runs_to_come),
        node_s=_cost_node_s(runs_to_come.values(), lengths),
        seconds=seconds_of_targets(campaign.targets, seconds),
        is_measured=lengths.is_measured,
        searching=len(undecided),
        repeating=_further_repetitions(campaign, runs, undecided) if runs_to_come else 0,
        budget_node_s=budget if undecided and math.isfinite(budget) else None,
        unsettled=unsettled,
    )


def _cost_node_s(runs: Iterable[Run], lengths: RunLengths) -> float:
    return sum(lengths.expected_s(run) * run.geometry.nodes for run in runs)


def _remaining_of_search(
    progress: adaptive.SearchProgress, repetitions: int, lengths: RunLengths, budget_node_s: float
) -> list[Run]:
    """The executions of a search, as many as its budget allows, and those of the count that it finds."""
    usual, fresh = adaptive.expected_runs(progress, repetitions)
    cost = _cost_node_s(usual, lengths)
    if lengths.is_measured and cost > budget_node_s:
        usual = usual[: int(len(usual) * budget_node_s / cost)]
    return [*usual, *fresh]


def _further_repetitions(campaign: Campaign, runs: Sequence[Run], undecided: Sequence[adaptive.SearchProgress]) -> int:
    """How many repetitions may be added to the planned ones."""
    if campaign.sequential is None:
        return 0
    searched = sum(len(progress.search.files) for progress in undecided)
    families = len({adaptive.name_without_repetition(run) for run in runs}) + searched
    return max(0, families * campaign.sequential.most - len(runs) - searched * campaign.repetitions)


def _seconds_by_target(lengths: Iterable[tuple[Run, float]]) -> dict[str, float]:
    """The seconds of each target, from those of runs: all of them, but of nodes beside each other the longest."""
    by_node: dict[str, dict[str, float]] = {}
    for run, seconds in lengths:
        nodes = by_node.setdefault(run.target, {"": 0.0})
        node = run.node if run.shares_target else ""
        nodes[node] = nodes.get(node, 0.0) + seconds
    return {target: nodes.pop("") + max(nodes.values(), default=0.0) for target, nodes in by_node.items()}


def seconds_of_targets(targets: Iterable[Target], seconds: Mapping[str, float]) -> float:
    """The time for all targets, from the time of each: those on different storage run at the same time."""
    by_storage: dict[str, float] = {}
    for target in targets:
        by_storage[target.storage] = by_storage.get(target.storage, 0.0) + seconds.get(target.name, 0.0)
    unnamed = by_storage.pop("", 0.0)
    return unnamed + max(by_storage.values(), default=0.0)


# --- while it runs


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
    now_s: float,
) -> TimeLeft | None:
    """None before a run has ended well, and if none is left. `attempts`: by run. `running_since`: when current attempts
    began, by token.
    """
    all_attempts = [attempt for of_run in attempts.values() for attempt in of_run]
    lengths = RunLengths(runs, all_attempts, campaign.slurm.time_s)
    remaining = [run for run in runs if not attempts.get(run.id) or attempts[run.id][-1].state.active]
    if not remaining or not lengths.is_measured:
        return None
    expected_s = []
    for run in remaining:
        expected = lengths.expected_s(run)
        token = attempts[run.id][-1].token if attempts.get(run.id) else ""
        if token in running_since:
            elapsed = max(0.0, now_s - running_since[token])
            expected = max(expected - elapsed, elapsed * GOES_ON)
        expected_s.append((run, expected))
    begun = {attempt.job for attempt in all_attempts if attempt.started or attempt.token in running_since}
    jobs = {attempts[run.id][-1].job: run for run in remaining if attempts.get(run.id)}
    unsent_batches = matrix.batches([run for run in remaining if not attempts.get(run.id)], campaign.slurm.allocation)
    wait_s = _median_wait_s(all_attempts)
    expected_s += [(run, wait_s) for job, run in jobs.items() if job not in begun]
    expected_s += [(batch[0], wait_s) for batch in unsent_batches]
    seconds = seconds_of_targets(campaign.targets, _seconds_by_target(expected_s))
    return TimeLeft(seconds, sum(not lengths.has_kind(run) for run in remaining))


def _median_wait_s(attempts: Sequence[Attempt]) -> float:
    """The median time that jobs waited while they could have begun: after their submission, with nothing else
    running.
    """
    times = sorted(
        (attempt.started, attempt.ended, attempt.submitted or 0.0, attempt.job)
        for attempt in attempts
        if attempt.started and attempt.ended
    )
    waits, jobs, free = [], set[str](), 0.0
    for started, end, submitted, job in times:
        if job not in jobs:
            waits.append(max(0.0, started - max(submitted, free)))
        jobs.add(job)
        free = max(free, end)
    return median(waits) if waits else 0.0

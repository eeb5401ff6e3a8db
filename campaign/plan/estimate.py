"""Estimates what is left to run: jobs, node-hours and time, from the runs that have ended. Pure."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

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
        self._seconds: dict[tuple[object, ...], list[float]] = {}  # sorted, by what runs have in common
        self._limit_s = limit_s
        for attempt in attempts:
            if attempt.run in runs_by_id:
                self.add(runs_by_id[attempt.run], attempt)

    @property
    def ended_count(self) -> int:
        """How many attempts they are estimated from."""
        return len(self._seconds.get((), ()))

    def add(self, run: Run, attempt: Attempt) -> None:
        """Take an attempt of a run into account, if it has ended well."""
        if attempt.state is State.DONE and attempt.seconds is not None:
            for likeness in _similarity_keys(run):
                insort(self._seconds.setdefault(likeness, []), attempt.seconds)

    def expected_s(self, run: Run) -> float:
        seconds = next((self._seconds[likeness] for likeness in _similarity_keys(run) if likeness in self._seconds), [])
        return _middle(seconds, self._limit_s)


def _middle(values: Sequence[float], default: float) -> float:
    """The median of sorted values."""
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2 if values else default


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
        is_measured=lengths.ended_count > 0,
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
    if lengths.ended_count and cost > budget_node_s:
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
        _, node = _place(run)
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
    """Seconds until the last run has ended, estimated from so many runs that have."""

    seconds: float
    ended_count: int


class TimeEstimate:
    """Estimates when the last of these runs has ended, by counts that each change of an attempt moves on."""

    def __init__(self, campaign: Campaign, runs: Iterable[Run]) -> None:
        self._campaign = campaign
        self._runs = {run.id: run for run in runs}
        self._latest: dict[str, Attempt] = {}  # by run
        self._lengths = RunLengths((), (), campaign.slurm.time_s)
        self._running_since: dict[str, float] = {}  # by run
        self._kinds = _Counts()  # remaining runs that are not running, by what decides how long they take
        self._jobs = _Counts()  # remaining runs by job, to be submitted or not begun
        self._waiting = _Counts()  # these jobs by what they wait for
        self._begun: set[str] = set()  # jobs
        # How long jobs waited while they could have begun: after their submission, with nothing else running. Sorted.
        self._waits_s: list[float] = []
        self._waited: set[str] = set()  # these jobs
        self._free = 0.0  # since when no job runs
        for run in self._runs.values():
            self._count(run, 1)

    def update(self, attempts: Iterable[Attempt], now_s: float) -> None:
        """Take changed attempts of these runs into account, and none of others."""
        for attempt in sorted(attempts, key=lambda attempt: (attempt.started or math.inf, attempt.ended or math.inf)):
            run, before = self._runs.get(attempt.run), self._latest.get(attempt.run)
            if run is None or before == attempt or (before is not None and before.number > attempt.number):
                continue
            self._count(run, -1)
            self._latest[run.id] = attempt
            is_running = attempt.state is State.RUNNING
            if is_running and (before is None or before.token != attempt.token or run.id not in self._running_since):
                self._running_since[run.id] = now_s
            elif not is_running:
                self._running_since.pop(run.id, None)
            self._count(run, 1)
            self._lengths.add(run, attempt)
            if attempt.started or is_running:
                self._begin(attempt.job)
            if attempt.started and attempt.ended:
                if attempt.job not in self._waited:
                    insort(self._waits_s, max(0.0, attempt.started - max(attempt.submitted or 0.0, self._free)))
                self._waited.add(attempt.job)
                self._free = max(self._free, attempt.ended)

    def _count(self, run: Run, change: int) -> None:
        """Add a run to what remains, or take it out of that, as far as it does."""
        latest = self._latest.get(run.id)
        if latest is not None and not latest.state.active:
            return
        if run.id not in self._running_since:
            self._kinds.change((_place(run), _similarity_keys(run)[0]), run, change)
        job = latest.job if latest else matrix.shared_properties(run, self._campaign.slurm.allocation)
        if job not in self._begun and self._jobs.change(job, run, change) == max(change, 0):
            self._waiting.change(_place(run), run, change)

    def _begin(self, job: str) -> None:
        """A job has begun, if it had not before: it waits no more."""
        self._begun.add(job)
        run, _ = self._jobs.by_key.pop(job, (None, 0))
        if run is not None:
            self._waiting.change(_place(run), run, -1)

    def left(self, now_s: float) -> TimeLeft | None:
        """None before a run has ended well, and if none is left."""
        kinds = self._kinds.by_key.values()
        running = [(self._runs[run], max(0.0, now_s - since)) for run, since in self._running_since.items()]
        if not self._lengths.ended_count or not (kinds or running):
            return None
        seconds = [(run, count * self._lengths.expected_s(run)) for run, count in kinds]
        for run, elapsed_s in running:
            seconds.append((run, max(self._lengths.expected_s(run) - elapsed_s, elapsed_s * GOES_ON)))
        wait_s = _middle(self._waits_s, 0.0)
        seconds += [(run, count * wait_s) for run, count in self._waiting.by_key.values()]
        seconds_left = seconds_of_targets(self._campaign.targets, _seconds_by_target(seconds))
        return TimeLeft(seconds_left, self._lengths.ended_count)


def _place(run: Run) -> tuple[str, str]:
    """Where other runs do not run at the same time."""
    return run.target, run.node if run.shares_target else ""


class _Counts:
    """How many there are of each, with one of them."""

    def __init__(self) -> None:
        self.by_key: dict[object, tuple[Run, int]] = {}

    def change(self, key: object, run: Run, change: int) -> int:
        """Gives the new count."""
        kept_run, count = self.by_key.get(key, (run, 0))
        self.by_key[key] = kept_run, count + change
        if not count + change:
            del self.by_key[key]
        return count + change

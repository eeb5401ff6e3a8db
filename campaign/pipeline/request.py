"""What the user asked for: which cells, whether to measure again, and within how many node-hours."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from campaign.config.definition import Definition
from campaign.config.format import Campaign
from campaign.config.slurm_keys import Slurm
from campaign.core.errors import InputError
from campaign.core.grouping import grouped
from campaign.core.paths import Paths
from campaign.core.runs import Attempt, Cell, Run, Status, matches
from campaign.core.schema import nearest_name, suggestion
from campaign.core.units import digits, plural
from campaign.plan import matrix
from campaign.results.attempt_record import read_attempt_record
from campaign.results.cells import Row, is_left_out
from campaign.results.environment.facts import Accounting
from campaign.results.store import Store, is_begun
from campaign.slurm import scripts
from campaign.slurm.submit import MOST_JOBS

CHOOSABLE = (Status.FAILED, Status.INVALID, Status.MISSING)  # statuses by which cells can be chosen


@dataclass(frozen=True, slots=True)
class Request:
    """`only`: patterns of cells, with `@NODE` after one for that node alone; empty means all. `statuses`: only cells
    with one of these. `again`: new attempts, whatever the cells have. `detach`: return right after submitting.
    `keep_going`: also if the first two jobs fail with the same cause. `despite_violations`: also runs of which it is
    known that they violate a rule. `most_node_h`: node-hours that the whole campaign may use. `most_jobs`: jobs of it
    that Slurm may have at once.
    """

    only: tuple[str, ...] = ()
    again: bool = False
    detach: bool = False
    statuses: tuple[Status, ...] = ()
    cells: frozenset[Cell] | None = None  # cells with these statuses, once they were looked up
    keep_going: bool = False
    despite_violations: bool = False
    most_node_h: float | None = None
    most_jobs: int = MOST_JOBS

    @classmethod
    def from_words(cls, words: Sequence[str]) -> Request:
        """A request from patterns of cells and statuses."""
        statuses = tuple(status for status in CHOOSABLE if status in words)
        return cls(tuple(word for word in words if word not in CHOOSABLE), statuses=statuses)

    @property
    def chooses(self) -> bool:
        """Whether it is restricted to some cells."""
        return bool(self.only or self.statuses)

    def includes(self, cell: Cell) -> bool:
        is_matched = not self.only or any(matches(cell, pattern.partition("@")[0]) for pattern in self.only)
        return is_matched and (self.cells is None or cell in self.cells)

    def _includes_node(self, run: Run, cell: Cell) -> bool:
        """Whether the run's node is chosen by a pattern that matches the cell."""
        patterns = [pattern.partition("@") for pattern in self.only]
        nodes = [node for pattern, _, node in patterns if matches(cell, pattern)]
        return not nodes or any(not node or fnmatch.fnmatchcase(run.node, node) for node in nodes)

    def by_status(self, rows: Sequence[Row]) -> Request:
        """With the cells of the requested statuses. Invalid cells have results, so they need new attempts."""
        cells = frozenset(row.cell for row in rows if row.status in self.statuses)
        return replace(self, cells=cells, again=self.again or Status.INVALID in self.statuses)

    def select_runs(self, campaign: Campaign, runs: Sequence[Run]) -> list[Run]:
        """The runs of the chosen cells, without those whose cells are all declined or projected."""
        cells_of_runs = ((run, run.cells()) for run in runs)
        return [
            run
            for run, cells in cells_of_runs
            if any(self.includes(cell) and self._includes_node(run, cell) for cell in cells)
            and not is_left_out(campaign, cells)
        ]

    def check(self, cells: Sequence[Cell]) -> None:
        """Raise InputError for a pattern that matches none of the cells."""
        for pattern in self.only:
            if not any(matches(cell, pattern.partition("@")[0]) for cell in cells):
                raise InputError(_no_cell(pattern, cells))


_AXES = ("target", "launch condition", "file configuration", "operation")


def _no_cell(pattern: str, cells: Sequence[Cell]) -> str:
    """The first part of a pattern that matches no cell."""
    parts = pattern.split("/")
    if len(parts) == len(_AXES):
        for axis, part, values in zip(_AXES, parts, zip(*map(astuple, cells), strict=True), strict=True):
            if not fnmatch.filter(values, part):
                remedy = suggestion(part, list(dict.fromkeys(values)))
                return f"no cell matches {pattern!r}: no {axis} {part}; {remedy}"
    if guess := nearest_name(pattern, CHOOSABLE):
        return f"no cell matches {pattern!r}; did you mean {guess}?"
    return f"no cell matches {pattern!r}; cells are target/launch/files/operation, as in {cells[0]}"


# --- node-hours: those used by its jobs, and those that current and further jobs may still use


def within_node_hours(
    definition: Definition, store: Store, runs: Sequence[Run], most_node_h: float
) -> tuple[list[Run], str]:
    """The runs of the first jobs that fit into so many node-hours, and a message about the others, if there are any.
    Each job may use its time limit on all its nodes; what it does not use is available to later ones.
    """
    slurm = definition.campaign.slurm
    used = in_use_node_s(definition.paths, store, slurm) / 3600
    affordable: list[Run] = []
    batches = matrix.batches(runs, slurm.allocation)
    costs = [
        max(run.geometry.nodes for run in batch) * scripts.job_limit_s(slurm, len(batch)) / 3600 for batch in batches
    ]
    for place, (batch, cost) in enumerate(zip(batches, costs, strict=True)):
        if used + cost > most_node_h:
            remaining = batches[place:]
            enough = math.ceil(100 * (used + sum(costs[place:]))) / 100
            return affordable, (
                f"not submitted: {plural(len(remaining), 'job')} ({plural(sum(map(len, remaining)), 'run')}). "
                f"--max-node-hours is {most_node_h:.15g}; {digits(used)} are used or reserved, and the next job may "
                f"use {digits(cost)} more; --max-node-hours {enough:.15g} is enough for all"
            )
        used += cost
        affordable += batch
    return affordable, ""


def used_node_h(definition: Definition) -> float:
    """Node-hours that a campaign has used or reserved."""
    if not is_begun(definition.paths):
        return 0.0
    with Store(definition.paths) as store:
        return in_use_node_s(definition.paths, store, definition.campaign.slurm) / 3600


def in_use_node_s(paths: Paths, store: Store, slurm: Slurm) -> float:
    """Node-seconds of all jobs: from the scheduler's record, otherwise from the runs' records. A job that has not ended
    counts with its time limit.
    """
    by_job = grouped((attempt.job, attempt) for attempt in store.attempts())
    records = store.accounting()
    return sum(_node_s(paths, attempts, records.get(job), slurm) for job, attempts in by_job.items())


def _node_s(paths: Paths, attempts: Sequence[Attempt], record: Accounting | None, slurm: Slurm) -> float:
    nodes = max(_nodes_of_job(paths, attempt) for attempt in attempts)
    if any(attempt.state.active for attempt in attempts):
        return float(nodes * scripts.job_limit_s(slurm, len(attempts)))
    if (seconds := _elapsed_s(record)) is not None:
        return nodes * seconds
    times = [time for attempt in attempts for time in (attempt.started, attempt.ended) if time is not None]
    return nodes * (max(times) - min(times)) if times else 0.0


def _elapsed_s(record: Accounting | None) -> float | None:
    """How long a job ran, by the scheduler's record."""
    if record is None:
        return None
    start, end = record.job.get("StartTime", ""), record.job.get("EndTime", "")
    return float(int(end) - int(start)) if start.isdigit() and end.isdigit() else None


def _nodes_of_job(paths: Paths, attempt: Attempt) -> int:
    """The job's number of nodes, from the record written before its submission; 0 if that is missing."""
    nodes = read_attempt_record(paths.attempt(attempt.run, attempt.number)).get("nodes")
    return nodes if isinstance(nodes, int) else 0

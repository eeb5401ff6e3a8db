"""What was asked of a campaign, and whether its plan can be submitted as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from campaign.config import load as config
from campaign.config.load import Campaign
from campaign.config.opened import Opened
from campaign.core import units
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.model import Cell, Run, Status
from campaign.pipeline import plan as planning
from campaign.pipeline.plan import Plan
from campaign.plan import matrix
from campaign.results.cells import Row, left_out, matches
from campaign.slurm import commands, partitions, scripts

CHOOSABLE = (Status.FAILED, Status.INVALID, Status.MISSING)  # statuses by which cells can be chosen


@dataclass(frozen=True, slots=True)
class Request:
    """`only`: patterns of cells, all where there is none. `statuses`: only cells that have one of these. `again`: new
    attempts, whatever the cells have. `detach`: submit and come back at once. `keep_going`: also where the first two
    runs fail with the same cause. `most_node_h`: node-hours that the whole campaign may use.
    """

    only: tuple[str, ...] = ()
    again: bool = False
    detach: bool = False
    statuses: tuple[Status, ...] = ()
    cells: frozenset[Cell] | None = None  # that have these statuses, once they were looked up
    keep_going: bool = False
    most_node_h: float | None = None

    @classmethod
    def of(cls, words: Sequence[str]) -> Request:
        """Of patterns and statuses."""
        statuses = tuple(status for status in CHOOSABLE if status in words)
        return cls(tuple(word for word in words if word not in CHOOSABLE), statuses=statuses)

    @property
    def chooses(self) -> bool:
        """Whether it is about some cells."""
        return bool(self.only or self.statuses)

    def means(self, cell: Cell) -> bool:
        matched = not self.only or any(matches(cell, pattern) for pattern in self.only)
        return matched and (self.cells is None or cell in self.cells)

    def by_status(self, rows: Sequence[Row]) -> Request:
        """With the cells of the statuses that were asked for. Invalid ones have results: only new attempts help."""
        cells = frozenset(row.cell for row in rows if row.status in self.statuses)
        return replace(self, cells=cells, again=self.again or Status.INVALID in self.statuses)

    def chosen(self, campaign: Campaign, runs: Sequence[Run]) -> list[Run]:
        """The runs behind the chosen cells, without those whose every cell is declined or projected."""
        return [run for run in runs if any(map(self.means, run.cells())) and not left_out(campaign, run.cells())]

    def check(self, cells: Sequence[Cell]) -> None:
        """Raise InputError for a pattern that matches none of the cells."""
        for pattern in self.only:
            if not any(matches(cell, pattern) for cell in cells):
                raise InputError(
                    f"{pattern!r} matches no cell: cells are target/launch/files/operation, as in {cells[0]}"
                )


def preflight(opened: Opened, planned: Plan, request: Request) -> Plan:
    """Raise where the campaign cannot be submitted as it stands: all reasons at once. Gives the plan with its partition
    as it is now, unless that is settled.
    """
    trouble = commands.reachable()
    if trouble:
        raise EnvironmentLacks(
            f"Slurm does not answer: {trouble}\nPoint SLURM_CONF at a cluster, or start one on this machine: "
            "campaign sandbox start (or campaign run --sandbox)"
        )
    if planned.unresolved:
        raise EnvironmentLacks("\n".join(planned.unresolved.values()))
    problems = list(config.check_environment(opened.campaign))
    if lacking := planning.not_built(opened):
        problems.append(lacking)
    if problems:
        raise EnvironmentLacks("\n".join(problems))
    partition = planning.ask_partition(opened.campaign)
    problems = [
        *_beyond_nodes(opened.campaign, planned, partition),
        *_beyond_limit(opened.campaign, request.chosen(opened.campaign, planned.all_runs), partition),
    ]
    if problems:
        raise InputError(*dict.fromkeys(problems))
    return replace(planned, partition=planned.partition or partition)


def _beyond_nodes(campaign: Campaign, planned: Plan, partition: partitions.Partition) -> list[str]:
    problems = []
    beyond = campaign.search.processes_per_node or 0
    for run in planned.all_runs:
        if run.geometry.nodes > partition.nodes:
            problems.append(
                f"launch.{run.launch}: {run.geometry.nodes} nodes asked, "
                f"partition {partition.name} has {partition.nodes}"
            )
        elif partition.usable and run.geometry.processes_per_node > max(partition.cores_per_node, beyond):
            problems.append(
                f"launch.{run.launch}: {run.geometry.processes_per_node} processes per node asked, "
                f"the nodes of partition {partition.name} have {partition.cores_per_node} cores"
            )
    return problems


def _beyond_limit(campaign: Campaign, chosen: Sequence[Run], partition: partitions.Partition) -> list[str]:
    """A job that asks for more time than its partition allows waits for ever."""
    limit, each = partition.time_limit_s, campaign.slurm.time_s
    most = max(map(len, matrix.batches(tuple(chosen), campaign.slurm.allocation)), default=1)
    asked = scripts.job_limit_s(campaign.slurm, most)
    if limit is None or asked <= limit:
        return []
    apart = ", or slurm.allocation: run, which gives each run a job of its own" if most > 1 else ""
    return [
        f"slurm.time: {each} s for each run make {asked} s for a job of {units.several(most, 'run')}, partition "
        f"{partition.name} allows {limit} s: set a shorter slurm.time{apart}"
    ]

"""The campaign file's `launch`: the geometry of each launch condition, or how it is determined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from campaign.config import values
from campaign.config.rules.entries import LaunchCondition
from campaign.config.rules.pack import RulePack, powers_of_two
from campaign.config.search import NotRun, Searched, processes_uneven
from campaign.core.runs import Geometry
from campaign.core.schema import Values, nearest_name, suggestion


@dataclass(frozen=True, slots=True)
class AllCores:
    """`max: all`: one process per core of the partition, as Slurm reports it; or a share of its nodes and cores."""

    nodes: values.Count = values.ALL
    processes_per_node: values.Count = values.ALL

    def geometry(self, nodes: int, cores: int) -> Geometry:
        """The geometry on a partition with so many usable nodes and cores per node."""
        count = values.share_of(self.nodes, nodes)
        return Geometry(count, count * values.share_of(self.processes_per_node, cores))


Wanted = Geometry | AllCores | Searched | NotRun


def read_launch(values: Values, pack: RulePack) -> dict[str, Wanted]:
    """The geometry of each launch condition; one that cannot be determined is reported and left out."""
    launch: dict[str, Wanted] = {}
    if values["launch"] is None:
        return launch
    written_launch = dict(values["launch"])
    ids = [condition.id for condition in pack.launch]
    misspelt = set()  # conditions that are missing because of a typo
    for name in written_launch:
        if name not in ids:
            similar_id = nearest_name(name, [id for id in ids if id not in written_launch and id not in misspelt])
            remedy = suggestion(name, [similar_id] if similar_id else ids)
            values.problem(f"rule pack {pack.id} has no such launch condition; {remedy}", "launch", name)
            misspelt.add(similar_id)
    for condition in pack.launch:
        given_launch, geometry = _GivenLaunch(values, condition, pack), _fixed_geometry(condition)
        if condition.id in written_launch:
            geometry = given_launch.geometry(written_launch[condition.id])
        elif geometry is None and condition.id not in misspelt:
            problem = f"required key missing; allowed: {given_launch.form} ({condition.requirement})"
            values.problem(problem, "launch", condition.id)
        if geometry is not None:
            launch[condition.id] = geometry
    return launch


def _fixed_geometry(condition: LaunchCondition) -> Wanted | None:
    """The geometry that the pack fixes."""
    if condition.whole_system:
        return AllCores()
    nodes, processes_per_node = condition.share or condition.nodes, condition.processes_per_node
    if condition.nodes is not None and condition.processes is not None:
        return Geometry(condition.nodes, condition.processes)
    if isinstance(nodes, int) and isinstance(processes_per_node, int):
        return Geometry(nodes, nodes * processes_per_node)
    return (
        AllCores(nodes or values.ALL, processes_per_node or values.ALL)
        if condition.share or (nodes and processes_per_node)
        else None
    )


def read_series(values: Values, pack: RulePack) -> dict[str, list[int]]:
    """The counts of each series of launch conditions, which is removed from the values; none if they cannot be
    determined.
    """
    written_launch = dict(values["launch"] or ())
    counts_by_series = {}
    for condition in [series for series in pack.launch if series.series]:
        count = written_launch.pop(condition.id, "none")
        counts, allowed = _series_counts(condition, count, is_full=values["profile"] == "full")
        if counts:
            counts_by_series[condition.id] = counts
        elif (
            values["launch"] is not None and count is not None and not (isinstance(count, Values) and count.has_problem)
        ):
            problem = (
                f"found {count if isinstance(count, int | str) else 'a mapping'}; allowed: {allowed} "
                f"(clause {condition.clause}: {condition.needs})"
            )
            values.problem(problem, "launch", condition.id)
    if values["launch"] is not None:
        values["launch"] = tuple(written_launch.items())
    return counts_by_series


def _series_counts(condition: LaunchCondition, count: Any, is_full: bool) -> tuple[list[int], str]:
    """The counts of a series as the campaign file gives them, none if it may not give these, and what is allowed."""
    if listed := values.counts_of(condition.points):
        largest_counts = listed[-1:] if is_full else listed
        largest = listed[-1] if count == "none" else count
        counts = listed[: listed.index(largest) + 1] if largest in largest_counts else []
        return counts, f"{', '.join(map(str, largest_counts))}, the largest of the series; without the line, all"
    if condition.points == values.FREE:
        written = {name: value for name, value in count.items() if value} if isinstance(count, Values) else {}
        counts = values.counts_of(written[condition.series]) if [*written] == [condition.series] else []
        return counts, f'{{{condition.series}: "1, 2, 8"}} alone'
    is_power = isinstance(count, int) and count.bit_count() == 1
    return powers_of_two(count) if is_power else [], "a power of two such as 16, the largest of the series"


def _written_counts(condition: LaunchCondition) -> str:
    """How a condition's counts are written."""
    if condition.processes is not None:
        return f"{condition.processes}, or remove the line"
    if condition.each_node:
        return "{processes_per_node: 16}"
    nodes = condition.share or condition.nodes or max(2, condition.minimum_nodes)
    if condition.share or condition.processes_per_node is not None:
        return f"{{nodes: {nodes}, processes_per_node: {condition.processes_per_node or 16}}}"
    if condition.nodes is not None:
        return "a number of processes, such as 16"
    return f"{{nodes: {nodes}, processes: {nodes * 16}}} or {{nodes: {nodes}, processes_per_node: 16}}"


@dataclass(frozen=True, slots=True)
class _GivenLaunch:
    """What the campaign file gives for a launch condition."""

    values: Values  # of the whole file
    condition: LaunchCondition
    pack: RulePack

    @property
    def words(self) -> dict[str, Wanted]:
        """The words that are allowed in place of counts."""
        condition = self.condition
        is_free = condition.processes is None and condition.processes_per_node is None and not condition.by_partition
        words: dict[str, Wanted] = {values.ALL: AllCores()} if condition.whole_system else {}
        words |= {values.SEARCH: Searched()} if is_free else {}
        return words | ({values.PROJECTED: NotRun()} if condition.whole_system or self.pack.has_projections else {})

    @property
    def form(self) -> str:
        """How it is to be written."""
        words = [word for word in self.words if word != values.SEARCH or self.pack.searchable]
        return ", ".join([*words, f"{'or ' if words else ''}{_written_counts(self.condition)}"])

    def geometry(self, value: Any) -> Wanted | None:
        """The geometry, if it fits the condition; otherwise the problem is reported."""
        if isinstance(value, str):
            return self._read_word(value)
        if isinstance(value, Values):
            return self._read_counts(value)
        if value is not None and self.condition.nodes is not None:
            return self._checked_geometry(self.condition.nodes, value)
        if value is not None:
            self._refuse_missing("nodes")
        return None

    def _read_word(self, word: str) -> Wanted | None:
        if word not in self.words:
            self._refuse(f"found {word}; allowed: {self.form}")
        return self.words.get(word)

    def _read_counts(self, value: Values) -> Wanted | None:
        condition = self.condition
        nodes = value["nodes"] if value["nodes"] is not None else condition.nodes or condition.share or None
        key = "processes" if value["processes"] is not None else "processes_per_node"
        count = value[key] if value[key] is not None else condition.processes_per_node
        if condition.each_node and value["nodes"] is not None:
            self._refuse(f"found nodes; allowed: {self.form}", "nodes")
        elif value["processes"] is not None and value["processes_per_node"] is not None:
            self._refuse(f"found both processes and processes_per_node; allowed: {self.form}", "processes_per_node")
        elif nodes is None or count is None:
            if not value.has_problem:  # otherwise that explains it
                self._refuse_missing("nodes" if nodes is None else "processes")
        elif values.is_series(nodes) or values.is_series(count):
            self._refuse(f"found several numbers; allowed: {self.form}", "nodes" if values.is_series(nodes) else key)
        elif isinstance(nodes, str) and key == "processes":
            self._refuse_missing("processes_per_node", key)
        elif isinstance(nodes, str) or isinstance(count, str):
            return AllCores(nodes, count)
        else:
            return self._checked_geometry(nodes, count if key == "processes" else nodes * count, key)
        return None

    def _checked_geometry(self, nodes: int, processes: int, *key: str) -> Geometry | None:
        condition = self.condition
        nodes_fit = nodes == condition.nodes if condition.nodes is not None else nodes >= condition.minimum_nodes
        processes_fit = processes % nodes == 0 or (processes > nodes and not self.pack.equal_blocks)
        if condition.processes is not None:
            processes_fit = processes == condition.processes
        if not nodes_fit:
            allowed = str(condition.nodes) if condition.nodes is not None else f"{condition.minimum_nodes} or more"
            self._refuse(f"found {nodes}; allowed: {allowed}", "nodes")
        if not processes_fit and condition.processes is not None:
            self._refuse(f"found {processes} processes; allowed: {condition.processes}", *key)
        elif not processes_fit:
            allowed = "" if self.pack.equal_blocks else f"{nodes} or more"
            problem = processes_uneven(processes=processes, nodes=nodes, allowed=allowed)
            self.values.problem(problem, "launch", condition.id, *key)
        return Geometry(nodes, processes) if nodes_fit and processes_fit else None

    def _refuse_missing(self, count_name: str, *key: str) -> None:
        self._refuse(f"the number of {count_name} is missing; allowed: {self.form}", *key)

    def _refuse(self, problem: str, *key: str) -> None:
        self.values.problem(f"{problem} ({self.condition.requirement})", "launch", self.condition.id, *key)

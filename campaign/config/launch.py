"""The campaign file's `launch`: the geometry of each launch condition, or how it is determined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from campaign.config import counts
from campaign.config.counts import Count
from campaign.config.rules.entries import LaunchCondition
from campaign.config.rules.pack import RulePack
from campaign.config.search import NotRun, Searched, processes_uneven
from campaign.config.values import ALL, PROJECTED, SEARCH
from campaign.core.model import Geometry
from campaign.core.schema import near, suggestion
from campaign.core.strict_yaml import Document, Place


@dataclass(frozen=True, slots=True)
class AllCores:
    """`max: all`: one process per core of the partition, as Slurm reports it; or a share of its nodes and cores."""

    nodes: Count = ALL
    processes_per_node: Count = ALL

    def of(self, nodes: int, cores: int) -> Geometry:
        """The geometry on a partition with so many usable nodes and cores per node."""
        count = counts.of(self.nodes, nodes)
        return Geometry(count, count * counts.of(self.processes_per_node, cores))


Wanted = Geometry | AllCores | Searched | NotRun


def fixed_geometries(launch: Mapping[str, Wanted]) -> dict[str, Geometry | None]:
    """The geometries that are known without asking Slurm."""
    return {name: wanted if isinstance(wanted, Geometry) else None for name, wanted in launch.items()}


def read_launch(values: dict[str, Any], pack: RulePack, document: Document) -> dict[str, Wanted]:
    """The geometry of each launch condition; one that cannot be determined is reported and left out."""
    given = dict(values["launch"] or ())
    ids = [condition.id for condition in pack.launch]
    misspelt = set()  # conditions that are missing because of a typo
    for name in given:
        if name not in ids:
            meant = near(name, [id for id in ids if id not in given and id not in misspelt])
            remedy = suggestion(name, [meant] if meant else ids)
            document.problem(("launch", name), f"rule pack {pack.id} has no such launch condition; {remedy}")
            misspelt.add(meant)
    launch: dict[str, Wanted] = {}
    if values["launch"] is None:
        return launch
    for condition in pack.launch:
        at: Place = ("launch", condition.id)
        if condition.id in given:
            geometry = _geometry(given[condition.id], condition, _form(condition, pack), at, document)
        elif condition.whole_system:
            geometry = AllCores()
        elif condition.share or (condition.nodes and condition.processes_per_node):
            nodes, each = condition.share or condition.nodes or ALL, condition.processes_per_node or ALL
            geometry = _counted(nodes, each)
        elif condition.nodes is not None and condition.processes is not None:
            geometry = Geometry(condition.nodes, condition.processes)
        elif condition.id in misspelt:
            continue
        else:
            document.problem(at, f"required key missing; allowed: {_form(condition, pack)} ({condition.asked})")
            continue
        if geometry is not None:
            launch[condition.id] = geometry
    return launch


def read_series(values: dict[str, Any], pack: RulePack, document: Document) -> dict[str, int]:
    """The largest count of each series of launch conditions, removed from the values; 1 if it cannot be determined."""
    given = dict(values["launch"] or ())
    largest = {}
    for condition in pack.launch:
        if not condition.series:
            continue
        found = given.pop(condition.id, "none")
        if isinstance(found, int) and found.bit_count() == 1:
            largest[condition.id] = found
        elif values["launch"] is not None and found is not None:
            asked = f"clause {condition.clause}: {condition.needs}"
            found = found if isinstance(found, int | str) else "a mapping"
            what = f"found {found}; allowed: a power of two such as 16, the largest of the series ({asked})"
            document.problem(("launch", condition.id), what)
    if values["launch"] is not None:
        values["launch"] = tuple(given.items())
    return largest


def _counted(nodes: Count, each: Count) -> Wanted:
    if isinstance(nodes, int) and isinstance(each, int):
        return Geometry(nodes, nodes * each)
    return AllCores(nodes, each)


def _form(condition: LaunchCondition, pack: RulePack) -> str:
    """How a condition's geometry is written."""
    search = f"{SEARCH}, or " if pack.searchable else ""
    if condition.processes is not None:
        return f"{condition.processes}, or remove the line"
    if condition.share or condition.processes_per_node is not None:
        nodes = condition.share or condition.nodes or max(2, condition.minimum_nodes)
        return f"{{nodes: {nodes}, processes_per_node: {condition.processes_per_node or 16}}}"
    if condition.nodes is not None:
        return f"{search}a number of processes, such as 16"
    nodes = max(2, condition.minimum_nodes)
    form = f"{{nodes: {nodes}, processes: {nodes * 16}}} or {{nodes: {nodes}, processes_per_node: 16}}"
    return f"{ALL}, {PROJECTED}, or {form}" if condition.whole_system else f"{search}{form}"


def _geometry(value: Any, condition: LaunchCondition, form: str, at: Place, document: Document) -> Wanted | None:
    """The geometry given for a condition, if it fits the condition; otherwise the problem is reported. `form`: how it
    is written.
    """
    if value is None:
        return None
    if value == ALL and condition.whole_system:
        return AllCores()
    free = condition.processes is None and condition.processes_per_node is None
    if value == SEARCH and free and not condition.by_partition:
        return Searched()
    if value == PROJECTED and condition.whole_system:
        return NotRun()
    if value in (ALL, SEARCH, PROJECTED):
        document.problem(at, f"found {value}; allowed: {form} ({condition.asked})")
        return None
    if isinstance(value, int):
        if condition.nodes is not None:
            return _fitting(condition.nodes, value, condition, at, at, document)
        document.problem(at, _launch_lacks(lacking="nodes", form=form, asked=condition.asked))
        return None
    nodes = value["nodes"] if value["nodes"] is not None else condition.nodes or condition.share or None
    key = "processes" if value["processes"] is not None else "processes_per_node"
    count = value[key] if value[key] is not None else condition.processes_per_node
    if value["processes"] is not None and value["processes_per_node"] is not None:
        document.problem(
            (*at, "processes_per_node"),
            f"found both processes and processes_per_node; allowed: {form} ({condition.asked})",
        )
    elif (nodes is None or count is None) and document.has_problem_below(at):
        return None  # the other problem explains it
    elif nodes is None or count is None:
        document.problem(
            at, _launch_lacks(lacking="nodes" if nodes is None else "processes", form=form, asked=condition.asked)
        )
    elif isinstance(nodes, str) and key == "processes":
        document.problem((*at, key), _launch_lacks(lacking="processes_per_node", form=form, asked=condition.asked))
    elif isinstance(nodes, str) or isinstance(count, str):
        return AllCores(nodes, count)
    else:
        return _fitting(nodes, count if key == "processes" else nodes * count, condition, at, (*at, key), document)
    return None


def _launch_lacks(lacking: object, form: object, asked: object) -> str:
    return f"the number of {lacking} is missing; allowed: {form} ({asked})"


def _fitting(
    nodes: int, processes: int, condition: LaunchCondition, at: Place, processes_at: Place, document: Document
) -> Geometry | None:
    asked = condition.asked
    nodes_fit = nodes == condition.nodes if condition.nodes is not None else nodes >= condition.minimum_nodes
    processes_fit = processes == condition.processes if condition.processes is not None else processes % nodes == 0
    if not nodes_fit:
        allowed = str(condition.nodes) if condition.nodes is not None else f"{condition.minimum_nodes} or more"
        document.problem((*at, "nodes"), f"found {nodes}; allowed: {allowed} ({asked})")
    if not processes_fit and condition.processes is not None:
        text = f"{processes} processes"
        document.problem(processes_at, f"found {text}; allowed: {condition.processes} ({asked})")
    elif not processes_fit:
        document.problem(processes_at, processes_uneven(processes=processes, nodes=nodes))
    return Geometry(nodes, processes) if nodes_fit and processes_fit else None

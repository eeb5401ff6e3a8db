"""The campaign file's `launch`: the geometry of each launch condition, or how it is determined."""

from __future__ import annotations

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


def read_launch(values: dict[str, Any], pack: RulePack, document: Document) -> dict[str, Wanted]:
    """The geometry of each launch condition; one that cannot be determined is reported and left out."""
    launch: dict[str, Wanted] = {}
    if values["launch"] is None:
        return launch
    given = dict(values["launch"])
    ids = [condition.id for condition in pack.launch]
    misspelt = set()  # conditions that are missing because of a typo
    for name in given:
        if name not in ids:
            meant = near(name, [id for id in ids if id not in given and id not in misspelt])
            remedy = suggestion(name, [meant] if meant else ids)
            document.problem(("launch", name), f"rule pack {pack.id} has no such launch condition; {remedy}")
            misspelt.add(meant)
    for condition in pack.launch:
        at: Place = ("launch", condition.id)
        form, geometry = _form(condition, pack), _fixed(condition)
        if condition.id in given:
            geometry = _geometry(given[condition.id], condition, form, at, document)
        elif geometry is None and condition.id not in misspelt:
            document.problem(at, f"required key missing; allowed: {form} ({condition.asked})")
        if geometry is not None:
            launch[condition.id] = geometry
    return launch


def _fixed(condition: LaunchCondition) -> Wanted | None:
    """The geometry that the pack fixes."""
    if condition.whole_system:
        return AllCores()
    nodes, each = condition.share or condition.nodes, condition.processes_per_node
    if condition.nodes is not None and condition.processes is not None:
        return Geometry(condition.nodes, condition.processes)
    if isinstance(nodes, int) and isinstance(each, int):
        return Geometry(nodes, nodes * each)
    return AllCores(nodes or ALL, each or ALL) if condition.share or (nodes and each) else None


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
    if isinstance(value, str):
        return _word(value, condition, form, at, document)
    if isinstance(value, int):
        if condition.nodes is not None:
            return _fitting(condition.nodes, value, condition, at, at, document)
        document.problem(at, _lacking("nodes", form, condition))
        return None
    nodes = value["nodes"] if value["nodes"] is not None else condition.nodes or condition.share or None
    key = "processes" if value["processes"] is not None else "processes_per_node"
    count = value[key] if value[key] is not None else condition.processes_per_node
    if value["processes"] is not None and value["processes_per_node"] is not None:
        document.problem(
            (*at, "processes_per_node"),
            f"found both processes and processes_per_node; allowed: {form} ({condition.asked})",
        )
    elif nodes is None or count is None:
        if not document.has_problem_below(at):  # the other problem explains it
            document.problem(at, _lacking("nodes" if nodes is None else "processes", form, condition))
    elif isinstance(nodes, str) and key == "processes":
        document.problem((*at, key), _lacking("processes_per_node", form, condition))
    elif isinstance(nodes, str) or isinstance(count, str):
        return AllCores(nodes, count)
    else:
        return _fitting(nodes, count if key == "processes" else nodes * count, condition, at, (*at, key), document)
    return None


def _word(word: str, condition: LaunchCondition, form: str, at: Place, document: Document) -> Wanted | None:
    """What `all`, `search` or `projected` means for a condition; where it is not allowed, that is reported."""
    free = condition.processes is None and condition.processes_per_node is None and not condition.by_partition
    allowed: dict[str, Wanted] = {SEARCH: Searched()} if free else {}
    if condition.whole_system:
        allowed |= {ALL: AllCores(), PROJECTED: NotRun()}
    if word not in allowed:
        document.problem(at, f"found {word}; allowed: {form} ({condition.asked})")
    return allowed.get(word)


def _lacking(what: str, form: str, condition: LaunchCondition) -> str:
    return f"the number of {what} is missing; allowed: {form} ({condition.asked})"


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

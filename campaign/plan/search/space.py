"""The process counts that a search may measure: a grid over its space, and midpoints between measured counts. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Container
from dataclasses import dataclass

from campaign.core.runs import Geometry

ODD = (1, 3, 5, 7)  # numbers of nodes are these times a power of two
FINEST = 1.10  # neighbours within this factor have no midpoint


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """What may be proposed. `divides`: a number that the processes must divide; 0 for any. `cores`: per node; processes
    may fill its groups of cores evenly; 0 if there are as many as processes allowed.
    """

    fewest_nodes: int
    most_nodes: int
    most_per_node: int
    divides: int = 0
    cores: int = 0

    @property
    def cores_per_node(self) -> int:
        return self.cores or self.most_per_node

    def __contains__(self, geometry: Geometry) -> bool:
        return (
            self.fewest_nodes <= geometry.nodes <= self.most_nodes
            and 1 <= geometry.processes_per_node <= self.most_per_node
            and geometry.processes == geometry.nodes * geometry.processes_per_node
            and (not self.divides or self.divides % geometry.processes == 0)
        )


def size(geometry: Geometry) -> tuple[int, int]:
    return geometry.processes, geometry.nodes


def words(geometry: Geometry) -> str:
    processes = f"{geometry.processes} process{'es' if geometry.processes > 1 else ''}"
    return f"{processes} on {geometry.nodes} node{'s' if geometry.nodes > 1 else ''}"


def grid(space: SearchSpace) -> list[Geometry]:
    """Half octaves of processes on one node (octaves on several), each moved to a nearby count that fills the largest
    groups of cores.
    """
    finest, most_per_node = (2 if space.most_nodes == 1 else 1), space.most_per_node
    rungs = [2 ** (step / finest) for step in range(finest * most_per_node.bit_length() + 1)]
    per_node = sorted({1, most_per_node, *(_even(rung, space) for rung in rungs if rung < most_per_node)})
    geometries = [
        geometry
        for nodes in ladder(space.fewest_nodes, space.most_nodes)
        for per in per_node
        if (geometry := Geometry(nodes, nodes * per)) in space
    ]
    return geometries or octaves(space)


def _even(rung: float, space: SearchSpace) -> int:
    near = [count for count in range(1, space.most_per_node + 1) if rung / 1.16 <= count <= rung * 1.16]
    cores = space.cores_per_node
    return max(near or [round(rung)], key=lambda count: (math.gcd(count, cores), -abs(math.log(count / rung))))


def octaves(space: SearchSpace) -> list[Geometry]:
    """Powers of two of nodes, and of processes per node, with both ends. Raises ValueError if the space is empty."""
    geometries = [
        geometry
        for nodes in ladder(space.fewest_nodes, space.most_nodes)
        for per_node in ladder(1, space.most_per_node)
        if (geometry := Geometry(nodes, nodes * per_node)) in space
    ]
    if not geometries:
        raise ValueError(
            "the limits of the search allow no process count; widen search.nodes or search.processes_per_node"
        )
    return geometries


def ladder(first: int, last: int) -> list[int]:
    """first, twice that, four times, …, last."""
    counts = []
    while first < last:
        counts.append(first)
        first *= 2
    return [*counts, last]


def nodes_between(space: SearchSpace, best: Geometry) -> list[Geometry]:
    """The geometries with the best one's processes per node on half to twice as many nodes, with the factors 3, 5, 6
    and 7 too: servers come in such numbers.
    """
    counts = range(max(space.fewest_nodes, best.nodes // 2), min(space.most_nodes, 2 * best.nodes) + 1)
    return [
        geometry
        for nodes in counts
        if nodes // (nodes & -nodes) in ODD
        if (geometry := Geometry(nodes, nodes * best.processes_per_node)) in space
    ]


def midpoints(space: SearchSpace, centre: Geometry, tested: Container[Geometry]) -> list[Geometry]:
    """The geometric means with the nearest measured neighbours, along nodes and along processes per node."""
    nodes, per_node = centre.nodes, centre.processes_per_node
    axes: list[tuple[int, int, int, Callable[[int], Geometry]]] = [
        (nodes, space.fewest_nodes, space.most_nodes, lambda value: Geometry(value, value * per_node)),
        (per_node, 1, space.most_per_node, lambda value: Geometry(nodes, nodes * value)),
    ]
    between = []
    for start, lowest, highest, at in axes:
        for values in (range(start - 1, lowest - 1, -1), range(start + 1, highest + 1)):
            neighbour = next((value for value in values if at(value) in tested), None)
            if neighbour is None or max(start, neighbour) / min(start, neighbour) < FINEST:
                continue
            mean = round(math.sqrt(start * neighbour))
            inside = [value for value in values[: values.index(neighbour)] if at(value) in space]
            if inside:
                between.append(at(min(inside, key=lambda value: (abs(value - mean), value))))
    return between

"""The values of the facts of one execution, which `campaign.config.rules.facts` lists. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import Any

from campaign.config.rules import facts, formulas
from campaign.config.system import Proposed
from campaign.core.formula import Value, aggregate, aggregated_name
from campaign.core.runs import State, phase_of_copy
from campaign.results.environment.facts import Environment

Case = Any  # campaign.results.case.Case, whose module imports this one
# Fields of the proposed system that a node reports as a fact.
_OF_NODE = {
    "processor": "cpu.model",
    "cores": "cpu.cores",
    "memory": "memory.total",
    "file_system": "mount.type",
    "operating_system": "os",
}


def fact_values(case: Case, names: Sequence[str]) -> dict[str, Value]:
    """The values of these facts, of variables that are numbers, and of functions of a series or a sweep: as recorded,
    or as planned before the run. What is not known is left out.
    """
    values: dict[str, Any] = {name: _READERS[name](case) for name in names if name in _READERS}
    points = case.pack.points(case.run.geometry)
    for name in names:
        with suppress(ValueError):  # a single point has no step
            values |= {name: aggregate(name, points)} if aggregated_name(name) in points else {}
    variables = {name: formulas.number(text) for name, text in case.values.items() if formulas.is_number(text)}
    return {name: value for name, value in values.items() if value not in (None, "")} | variables


def recorded_texts(environment: Environment, field: str) -> Sequence[str]:
    """What a job recorded of a field of the proposed system."""
    if field == "mpi":
        return [text for name, text in environment.software.items() if name == "mpirun"]
    if field == "network":  # all that a node reports of its adapters, as one text
        adapters = [name for name in environment.facts if re.fullmatch(r"fabric\..*|net\.(?!core|ipv)[^.]*", name)]
        return ["; ".join(f"{name} {text}" for name in adapters for text in environment.values(name))]
    if field == "devices":
        return [str(len(sizes)) for sizes in environment.devices]
    if field == "device_memory":
        return list(dict.fromkeys(f"{size >> 10} kB" for sizes in environment.devices for size in sizes))
    if field == "capacity":
        return [f"{environment.space.blocks * environment.space.block_size >> 10} kB"] if environment.space else []
    return environment.values(_OF_NODE.get(field, ""))


def _of_node(
    recorded: Callable[[Case], float | None], planned: Callable[[Case], float | None], case: Case
) -> float | None:
    return planned(case) if case.attempt.state is State.SUBMITTING else recorded(case)


def _offered(field: str, case: Case) -> Value | None:
    value: Value | None = getattr(case.campaign.proposed, field)
    return value


def _recorded_text(field: str, case: Case) -> str | None:
    """None also where nodes differ: no single text is known then."""
    texts = recorded_texts(case.evidence.environment, field)
    return texts[0] if len(texts) == 1 else None


def _processes(case: Case) -> int | None:
    return case.observation.processes or len(case.placement) or None


def _nodes(case: Case) -> int | None:
    return case.observation.nodes or len(set(case.placement)) or None


def _processes_per_node(case: Case) -> float | None:
    processes, nodes = _processes(case), _nodes(case)
    return processes / nodes if processes and nodes else None


def _cores(case: Case) -> float | None:
    return min((float(text) for text in case.evidence.environment.values("cpu.cores") if text.isdigit()), default=None)


def _capacity(case: Case) -> int | None:
    space = case.evidence.before or case.evidence.environment.space
    return space.blocks * space.block_size if space else None


def _makespan(case: Case) -> float | None:
    phases = case.evidence.completion.phases if case.evidence.completion else ()
    of_copies = [times for times in phases if phase_of_copy(times.phase) != times.phase] or phases
    ends = [times.ended for times in of_copies]
    return max(ends) - min(times.started for times in of_copies) if ends else None


_READERS: Mapping[str, Callable[[Case], Value | None]] = {
    "processes": _processes,
    "nodes": _nodes,
    "processes_per_node": _processes_per_node,
    "threads": lambda case: case.observation.threads or case.run.threads or None,
    facts.MEMORY: partial(
        _of_node,
        lambda case: case.memory / case.run.geometry.nodes if case.memory else None,
        lambda case: case.campaign.slurm.node_memory,
    ),
    facts.CORES: partial(_of_node, _cores, lambda case: case.campaign.slurm.node_cores),
    facts.DEVICES: partial(
        _of_node,
        lambda case: min(map(len, case.evidence.environment.devices), default=None),
        lambda case: case.campaign.proposed.devices,
    ),
    facts.DEVICE_MEMORY: partial(
        _of_node,
        lambda case: min((size for sizes in case.evidence.environment.devices for size in sizes), default=None),
        lambda case: case.campaign.proposed.device_memory,
    ),
    "items_total": lambda case: (
        case.run.items_total if case.observation.files_reported is None else case.observation.files_reported
    ),
    "items_per_process": lambda case: case.run.items_per_process,
    "memory_used": lambda case: case.evidence.witness.memory_of_node,
    "memory_used_per_process": lambda case: case.evidence.witness.memory_of_process,
    "capacity": _capacity,
    "makespan": _makespan,
    "energy": lambda case: case.metered.kwh,
    "peak_power": lambda case: case.metered.peak_kw,
}
_READERS = {
    **_READERS,
    **{f"offered.{field.name}": partial(_offered, field.name) for field in fields(Proposed)},
    **{
        f"used.{field.name}": _READERS.get(field.name) or partial(_recorded_text, field.name)
        for field in fields(Proposed)
    },
}

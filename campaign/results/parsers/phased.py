"""Combines the outputs of an execution's phases. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from campaign.core.model import Observation, Record
from campaign.results.parsers.text_reader import Parsed

Value = TypeVar("Value", bound=Hashable)


def together(phases: Sequence[tuple[str, Parsed]]) -> Parsed:
    """Records by `phase/record`; an observation of what is the same in all phases, and those of each."""
    records = [replace(each, operation=f"{phase}/{each.operation}") for phase, (found, _) in phases for each in found]
    seen = [observation for _, (_, observation) in phases]
    failed = [each.failed_operations for each in seen if each.failed_operations is not None]
    return records, Observation(
        program=", ".join(dict.fromkeys(each.program for each in seen if each.program)),
        processes=_same(each.processes for each in seen),
        nodes=_same(each.nodes for each in seen),
        processes_per_node=_same(each.processes_per_node for each in seen),
        placement=_same(each.placement for each in seen),
        binary_sha256=_same(each.binary_sha256 for each in seen),
        binary_agreed=_same(each.binary_agreed for each in seen),
        job_id=_same(each.job_id for each in seen),
        node_names=tuple(dict.fromkeys(name for each in seen for name in each.node_names)),
        failed_operations=sum(failed) if failed else None,
        complete=all(each.complete for each in seen),
        errors=tuple(remark for each in seen for remark in each.errors),
        warnings=tuple(remark for each in seen for remark in each.warnings),
        unparsed=tuple(remark for each in seen for remark in each.unparsed),
        phases=dict(zip((phase for phase, _ in phases), seen, strict=True)),
    )


def of_phase(records: Iterable[Record], phase: str) -> tuple[Record, ...]:
    """The records of a phase, named as in its own output."""
    mark = f"{phase}/"
    return tuple(
        replace(record, operation=record.operation.removeprefix(mark))
        for record in records
        if record.operation.startswith(mark)
    )


def _same(values: Iterable[Value | None]) -> Value | None:
    """The value if all have the same; otherwise None."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None

"""A launch condition that is a series -> one for each power of two, up to the largest count in the campaign
file. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from campaign.config.rules import sweeps
from campaign.config.rules.entries import LaunchCondition
from campaign.config.rules.pack import RulePack


def unfold(pack: RulePack, largest: Mapping[str, int]) -> RulePack:
    """The pack with each series replaced by its members: `scale` by `scale-1`, `scale-2`, `scale-4`."""
    members = {each.id: tuple(_members(each, largest.get(each.id, 1))) for each in pack.launch}
    ids = {name: tuple(member.id for member in found) for name, found in members.items()}

    def of(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(id for name in names for id in ids[name])

    return replace(
        pack,
        launch=tuple(member for found in members.values() for member in found),
        phases=tuple(replace(phase, launch=of(phase.launch)) for phase in pack.phases),
        requires=tuple(replace(each, launch=of(each.launch)) for each in pack.requires),
        variables=tuple(
            replace(
                each,
                cases=tuple(replace(case, launch=id) for case in each.cases for id in ids.get(case.launch, ("",))),
            )
            for each in pack.variables
        ),
    )


def largest(pack: RulePack, names: Iterable[str]) -> dict[str, int]:
    """The largest member of each series among these names."""
    found: dict[str, int] = {}
    for series in (each.id for each in pack.launch if each.series):
        counts = [name.removeprefix(f"{series}-") for name in names if name.startswith(f"{series}-")]
        found[series] = max((int(count) for count in counts if count.isdecimal()), default=1)
    return found


def _members(condition: LaunchCondition, largest: int) -> Iterator[LaunchCondition]:
    if not condition.series:
        yield condition
        return
    by_nodes = condition.series == "nodes"
    for power in range(largest.bit_length()):
        count = 1 << power
        texts = {condition.series: str(count)}
        yield replace(
            condition,
            id=f"{condition.id}-{count}",
            title=sweeps.fill(condition.title, texts),
            text=sweeps.fill(condition.text, texts),
            nodes=count if by_nodes else condition.nodes,
            share="" if by_nodes else condition.share,
            processes_per_node=condition.processes_per_node if by_nodes else count,
            reaches=condition.series if count == largest else "",
        )

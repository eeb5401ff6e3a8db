"""A rule pack as written -> the rule pack of one campaign: a launch condition that is a series becomes one for each
power of two, variables have values, and each sweep becomes one operation for each of its values. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from campaign.config.rules import sweeps
from campaign.config.rules.catalogue import judged
from campaign.config.rules.entries import LaunchCondition, Operation
from campaign.config.rules.formulas import is_known, name_of
from campaign.config.rules.kinds import GEOMETRY
from campaign.config.rules.pack import RulePack
from campaign.core import formula
from campaign.core.model import Geometry


def settle(
    pack: RulePack, profile: str, launch: Mapping[str, object], given: Mapping[str, str], build: str = ""
) -> RulePack:
    """`launch`: the geometry of each launch condition, or anything else if it is not known. `given`: values of
    variables instead of the profile's. `build`: the chosen category. Raises ValueError if a sweep cannot be expanded.
    """
    values = {variable.id: variable.full if profile == "full" else variable.rehearsal for variable in pack.variables}
    apart = tuple((*key.partition("@")[::2], value) for key, value in given.items() if "@" in key)
    values |= {name: value for name, value in given.items() if "@" not in name}
    varying = replace(pack, given=apart).varying
    same = {name: value for name, value in values.items() if name not in varying}
    swept = {condition.id: _swept(pack, values, launch.get(condition.id)) for condition in pack.launch}
    constant = next(iter(swept.values()))
    lists = {sweep.id: ",".join(constant[sweep.id]) for sweep in pack.sweeps if not sweep.by_geometry}
    category = next((each for each in pack.builds if each.id == build), next(iter(pack.builds), None))
    return replace(
        pack,
        build=category,
        caption=f"{pack.caption}, {category.title}" if category else pack.caption,
        phases=tuple(
            replace(phase, arguments=tuple(sweeps.fill(word, {**same, **lists}) for word in phase.arguments))
            for phase in pack.phases
        ),
        files=tuple(
            replace(
                files,
                title=sweeps.fill(files.title, values),
                flags=tuple(sweeps.fill(flag, values) for flag in files.flags),
            )
            for files in pack.files
        ),
        operations=_operations(pack, values, swept),
        profile=profile,
        values=values,
        given=apart,
        checks=judged(pack.checks),
    )


def swept_values(pack: RulePack, geometry: Geometry) -> dict[str, str]:
    """The sweeps of a settled pack that depend on the geometry, as lists for the command line."""
    return {
        sweep.id: ",".join(sweep.expand({**pack.values, **_geometry(geometry)}))
        for sweep in pack.sweeps
        if sweep.by_geometry
    }


def _geometry(geometry: Geometry) -> dict[str, str]:
    return {name: str(getattr(geometry, name)) for name in GEOMETRY}


def _swept(pack: RulePack, values: Mapping[str, str], geometry: object) -> dict[str, tuple[str, ...]]:
    """The values of each sweep under a launch condition; sweeps that depend on the geometry need one."""
    known = {**values, **(_geometry(geometry) if isinstance(geometry, Geometry) else {})}
    return {
        sweep.id: sweep.expand(known) if isinstance(geometry, Geometry) or not sweep.by_geometry else ()
        for sweep in pack.sweeps
    }


def _operations(
    pack: RulePack, values: Mapping[str, str], swept: Mapping[str, Mapping[str, tuple[str, ...]]]
) -> tuple[Operation, ...]:
    made: dict[str, Operation] = {}
    under = {phase.id: phase.runs_under for phase in pack.phases}
    launches = {name_of(launch): launch for launch in swept}
    for template in pack.operations:
        runs = under.get(template.phase, lambda _: True)
        measured = {each.name: each.launch for each in made.values()}
        for launch, lists in swept.items():
            if not runs(launch):
                continue
            for at in sweeps.combinations(template.id, lists):
                filled = {**values, **at}
                name = sweeps.fill(template.id, filled)
                text = sweeps.fill(template.formula, {name: name_of(text) for name, text in filled.items()})
                if text and not all(is_known(part, launch, launches, measured) for part in formula.names(text)):
                    continue
                known = made.get(name)
                made[name] = replace(
                    template,
                    id=name,
                    title=sweeps.fill(template.title, filled),
                    record=sweeps.fill(template.record, filled),
                    row=sweeps.fill(template.row, filled),
                    formula=text,
                    template=template.id,
                    at=tuple(at.items()),
                    launch=(*(known.launch if known else ()), launch),
                )
    everywhere = tuple(swept)
    return tuple(replace(found, launch=()) if found.launch == everywhere else found for found in made.values())


# --- series of launch conditions


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


def largest_members(pack: RulePack, names: Iterable[str]) -> dict[str, int]:
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

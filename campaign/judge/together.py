"""What the rules require of phases that start together (`beside`): they ran at the same time, on nodes of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from campaign.config.rules.catalogue import Quantity, show
from campaign.core.model import Command, Finding, PhaseTimes
from campaign.core.units import apart, listed
from campaign.judge import environment
from campaign.judge.findings import doubt, unchecked, violation
from campaign.results.case import Case
from campaign.results.environment.slurm_text import expand_nodes

_Span = tuple[float, float]  # seconds since 1970


def at_once(case: Case, times: Mapping[str, PhaseTimes]) -> Iterator[Finding]:
    """RUN-09, of the groups of an execution that ran as planned."""
    for group in case.run.together:
        if len(group) > 1:
            yield from _nodes_apart(case, group)
            yield from _overlapping(case, {each.phase: _measured(case, times[each.phase]) for each in group})


def _nodes_apart(case: Case, group: Sequence[Command]) -> Iterator[Finding]:
    executed = list(case.evidence.witness.executed())
    nodes = {
        command.phase: set(case.seen.phases[command.phase].node_names if command.phase in case.seen.phases else ())
        or {each.node for each in executed if each.phase == command.phase}
        for command in group
    }
    counted = Counter(node for each in nodes.values() for node in each)
    unseen = [each.phase for each in group if len(nodes[each.phase]) < case.run.geometry_of(each).nodes]
    if shared := sorted(node for node, count in counted.items() if count > 1):
        yield violation("phases that start together ran on the same nodes", "nodes of its own for each", listed(shared))
    elif unseen:
        yield unchecked("not all nodes of {phases} recorded, which must be its own", phases=listed(unseen))


def _measured(case: Case, times: PhaseTimes) -> _Span:
    """When a phase measured, if its output says so; otherwise when its launcher ran."""
    seen = case.seen.phases.get(times.phase)
    if seen is None or seen.began is None or seen.ended is None:
        return times.started, times.ended
    return seen.began, seen.ended


def _overlapping(case: Case, spans: Mapping[str, _Span]) -> Iterator[Finding]:
    """Each phase that gives results ran beside all others for nearly all its time."""
    began, ended = max(span[0] for span in spans.values()), min(span[1] for span in spans.values())
    if ended <= began:
        first, last = min(spans, key=lambda name: spans[name][1]), max(spans, key=lambda name: spans[name][0])
        yield violation(
            "phases that start together did not run at the same time",
            f"{' and '.join(spans)} at the same time",
            f"{last} began {began - ended:.1f} s after the end of {first}",
        )
        return
    least = case.pack.parameter("RUN-09", "together")
    for name in dict.fromkeys(operation.phase for operation in case.operations if operation.phase in spans):
        lasted = spans[name][1] - spans[name][0]
        if ended - began < least * lasted:
            together, needed = apart(ended - began, least * lasted)
            yield doubt(case.full)(
                "phase {phase} was measured for only a part of its time beside the phases that start together with it",
                f"{show(Quantity.SHARE, least)} of its time or more ({needed} s of {lasted:.1f} s)",
                f"{together} s",
                phase=name,
            )


def spans(case: Case, ahead: _Span) -> Iterator[_Span]:
    """When each group of phases ran that start together, by Slurm's clock, of which that of the job's record is `ahead`
    by so many seconds, at least and at most.
    """
    completion = case.evidence.completion
    for group in case.run.together:
        names = {command.phase for command in group}
        ran = [each for each in completion.phases if each.phase in names] if completion and len(group) > 1 else []
        if ran:
            yield min(each.started for each in ran) - ahead[1], max(each.ended for each in ran) - ahead[0]


def may_overlap(spans: Sequence[_Span], steps: Sequence[Mapping[str, str]]) -> bool:
    """Whether two steps of the accounting may run at the same time: in one such group, without a common node."""
    nodes = [set(expand_nodes(step.get("NodeList", "")) or ()) for step in steps]
    times = [time for step in steps if (time := environment.times_of(step))]
    cut = environment.TOLERANCE_S
    return (
        all(nodes)
        and nodes[0].isdisjoint(nodes[1])
        and any(all(low - cut <= began and ended <= high + cut for began, ended in times) for low, high in spans)
    )

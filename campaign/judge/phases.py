"""The rule about the phases of one result (RUN-09). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from campaign.config.rules.catalogue import Parameter, Quantity, show
from campaign.core.findings import Finding
from campaign.core.records import Completion
from campaign.core.runs import Command, State, phase_of_copy
from campaign.core.units import distinct_digits, listing
from campaign.judge.findings import note, to_explain, to_explain_at_full_size, unchecked, violation
from campaign.judge.job_facts import (
    PROBES,
    RESTORED,
    TOLERANCE_S,
    accounting,
    has_no_accounting,
    is_srun_step,
    times_of_step,
)
from campaign.judge.rule import attempt_rule
from campaign.results.case import Case
from campaign.results.environment.slurm_text import expand_nodes

# --- phases that start together (`beside`): they ran at the same time, on nodes of their own


_Span = tuple[float, float]  # seconds since 1970
_BIND = "bind each copy to separate CPUs (launcher options such as --cpu-bind=cores), and run the result again"


def check_simultaneous_phases(case: Case) -> Iterator[Finding]:
    """RUN-09, of the groups of an execution that ran as planned."""
    for group in case.run.simultaneous_commands:
        if len(group) > 1:
            yield from _check_separate_nodes(case, group)
            measured = {command.phase: measured_span(case.phases[command.phase]) for command in group}
            yield from _check_common_time(case, {phase: times for phase, times in measured.items() if times})


def _check_separate_nodes(case: Case, group: Sequence[Command]) -> Iterator[Finding]:
    executed = list(case.evidence.witness.executed())
    nodes = {
        command.phase: set(case.outputs[command.phase].node_names if command.phase in case.outputs else ())
        or {nodes_of_phase.node for nodes_of_phase in executed if nodes_of_phase.phase == command.phase}
        for command in group
    }
    phase_counts = Counter(node for nodes_of_phase in nodes.values() for node in nodes_of_phase)
    unseen = [
        nodes_of_phase.phase
        for nodes_of_phase in group
        if len(nodes[nodes_of_phase.phase]) < case.run.geometry_of(nodes_of_phase).nodes
    ]
    are_copies = all(command.is_copy for command in group)
    shared_nodes = sorted(node for node, count in phase_counts.items() if count > 1)
    if are_copies:
        yield from _check_separate_cpus(case, nodes)
    if shared_nodes and not are_copies:
        yield violation(
            "phases that start together ran on the same nodes", "separate nodes for each", listing(shared_nodes)
        )
    elif unseen:
        yield unchecked(
            "the nodes of {phases} were not all recorded; it is unknown whether other phases used them",
            phases=listing(unseen),
        )


def _check_separate_cpus(case: Case, nodes: Mapping[str, set[str]]) -> Iterator[Finding]:
    """Each two copies of a phase may run on as many CPUs of a node as both need there. `nodes`: those of each copy."""
    witness, threads = case.evidence.witness, case.run.threads or 1
    needs = Counter((rank.node, rank.phase) for rank in witness.executed())
    unknown, overlaps = set[str](), list[str]()
    for node in sorted(set[str]().union(*nodes.values())):
        copies = [phase for phase, of_phase in nodes.items() if node in of_phase]
        texts = {phase: witness.cpus.get(f"{phase} {node}", "all") for phase in copies} if copies[1:] else {}
        unknown |= {phase for phase, text in texts.items() if text == "all"}
        cpus = {phase: {*text.split(",")} for phase, text in texts.items() if phase not in unknown}
        for pair in combinations(cpus, 2):
            first, second = (cpus[phase] for phase in pair)
            if len(first | second) < threads * sum(needs[node, phase] for phase in pair):
                overlaps.append(f"{' and '.join(pair)} on CPU {', '.join(sorted(first & second))} of {node}")
    if overlaps:
        yield violation(
            "copies of a phase ran on the same CPUs of a node",
            "separate CPUs for each",
            listing(overlaps),
            remedy=_BIND,
        )
    elif unknown:
        yield unchecked(
            "copies of a phase may have shared CPUs: {copies} were not bound to any, or were not seen",
            copies=listing(sorted(unknown)),
            remedy=_BIND,
        )


def measured_span(case: Case) -> _Span | None:
    """When a run or a phase measured, if its output says so; otherwise when its launcher ran, if that is recorded."""
    observation, completion = case.observation, case.evidence.completion
    if observation.began is not None and observation.ended is not None:
        return observation.began, observation.ended
    return (completion.started, completion.ended) if completion else None


def _check_common_time(case: Case, spans: Mapping[str, _Span]) -> Iterator[Finding]:
    """Each phase that gives results ran beside all others for nearly all its time."""
    start, end = max(span[0] for span in spans.values()), min(span[1] for span in spans.values())
    if end <= start:
        first, last = min(spans, key=lambda name: spans[name][1]), max(spans, key=lambda name: spans[name][0])
        yield violation(
            "phases that start together did not run at the same time",
            f"{first} and {last} at the same time",
            f"{last} began {start - end:.1f} s after the end of {first}",
        )
        return
    shortest_share = case.pack.parameter("RUN-09", "together")
    with_results = {operation.phase for operation in case.operations}
    for name in (name for name in spans if phase_of_copy(name) in with_results):
        lasted = spans[name][1] - spans[name][0]
        if end - start < shortest_share * lasted:
            together, needed = distinct_digits(end - start, shortest_share * lasted)
            yield to_explain_at_full_size(case.full)(
                "phase {phase} was measured during only a part of the phases that start together with it",
                f"{show(Quantity.SHARE, shortest_share)} of its time or more ({needed} s of {lasted:.1f} s)",
                f"{together} s",
                phase=name,
            )


def group_spans(case: Case, ahead: _Span) -> Iterator[tuple[float, float, bool]]:
    """When each group of phases ran that start together, by Slurm's clock, of which that of the job's record is `ahead`
    by so many seconds, at least and at most; and whether they may share nodes, as copies do.
    """
    completion = case.evidence.completion
    for group in case.run.simultaneous_commands:
        names = {command.phase for command in group}
        ran = [phase for phase in completion.phases if phase.phase in names] if completion and len(group) > 1 else []
        if ran:
            start = min(phase.started for phase in ran) - ahead[1]
            yield start, max(phase.ended for phase in ran) - ahead[0], group[0].is_copy


def can_overlap(spans: Sequence[tuple[float, float, bool]], steps: Sequence[Mapping[str, str]]) -> bool:
    """Whether two steps of the accounting may run at the same time: in one such group, of copies or without a common
    node.
    """
    nodes = [set(expand_nodes(step.get("NodeList", "")) or ()) for step in steps]
    times = [time for step in steps if (time := times_of_step(step))]
    cut = TOLERANCE_S
    return all(nodes) and any(
        (are_copies or nodes[0].isdisjoint(nodes[1]))
        and all(low - cut <= start and end <= high + cut for start, end in times)
        for low, high, are_copies in spans
    )


# --- the phases of a result


@attempt_rule(
    "RUN-09",
    "all phases of a result ran in one job, each once and in order, with no other work between them",
    why=(
        "phases that ran at different times, or with other work in between, do not measure the same state of the "
        "storage"
    ),
    remedy="run all phases again: campaign rerun FILE CELL",
    parameters={
        "together": Parameter(
            Quantity.SHARE,
            0.9,
            "shortest share of the time of a phase with results during which the phases that start together with "
            "it (`beside`) ran too",
        ),
    },
    is_about_run=True,
)
def check_sequence(case: Case) -> Iterator[Finding]:
    """Job and step ids of the phases, and other job steps in the accounting. Phases with `beside`, and copies, must
    have measured at the same time, on nodes or CPUs of their own; a phase with results that ran beside the others for
    less than `together`: W, in a rehearsal noted.
    """
    if case.attempt.state is not State.DONE or len(case.run.commands) < 2:
        return
    completion = case.evidence.completion
    if completion is None or not completion.phases:
        yield unchecked("the job did not record when each phase ran")
        return
    planned, ran = (
        [command.phase for command in case.run.commands],
        [phase_times.phase for phase_times in completion.phases],
    )
    if ran != planned:
        yield violation(
            "the phases that ran differ from the plan (each once, in order)", ", ".join(planned), ", ".join(ran)
        )
        return
    times = {phase_times.phase: phase_times for phase_times in completion.phases}
    for before, group in pairwise(case.run.simultaneous_commands):
        last = max((times[command.phase] for command in before), key=lambda phase_times: phase_times.ended)
        for phase in (times[command.phase] for command in group):
            if phase.started < last.ended - TOLERANCE_S:
                yield violation(
                    "a phase began before the previous one had ended", f"after the end of {last.phase}", phase.phase
                )
    yield from check_simultaneous_phases(case)
    jobs = dict.fromkeys(seen.job_id for seen in case.outputs.values() if seen.job_id)
    if len(jobs) > 1:
        yield violation("the phases of one result ran in several jobs", completion.job_id, ", ".join(jobs))
    seen = case.outputs
    step_ids = [
        [seen[phase_times.phase].step_id or "" for phase_times in group if phase_times.phase in seen]
        for group in case.run.simultaneous_commands
    ]
    steps = [
        step
        for group in step_ids
        for step in sorted(int(phase_times) for phase_times in group if phase_times.isdigit())
    ]
    if steps != sorted(set(steps)):
        yield to_explain(
            f"the job steps are not in the order of the phases: {RESTORED}",
            "ascending step numbers",
            ", ".join(map(str, steps)),
        )
    yield from _check_foreign_steps(case, completion)


def _check_foreign_steps(case: Case, completion: Completion) -> Iterator[Finding]:
    """Other steps of the job during the phases."""
    steps = accounting(case).steps
    if not steps or not case.run.launcher.is_srun:
        yield (note if has_no_accounting(case) else unchecked)(
            "job steps not in Slurm's accounting: other work between the phases cannot be excluded"
        )
        return
    start, end = completion.phases[0].started, max(phase.ended for phase in completion.phases)
    allowed = Counter(command.step for command in case.run.launched)
    timed = [(step.get("JobName", ""), times) for step in filter(is_srun_step, steps) if (times := times_of_step(step))]
    ran = Counter(name for name, times in timed if name not in PROBES and times[0] >= start and times[1] <= end)
    if foreign := ran - allowed:
        yield violation(
            "the job ran other steps between the phases of one result",
            listing(f"{count} of {name}" for name, count in allowed.items()),
            listing(f"{count} of {name}" for name, count in foreign.items()),
        )

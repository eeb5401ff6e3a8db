"""The rule on what one result of several phases consists of. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from campaign.core.model import Completion, Finding, State
from campaign.core.units import listed
from campaign.judge.environment import TOLERANCE_S
from campaign.judge.findings import unchecked, violation
from campaign.judge.messages import phases as messages
from campaign.results.case import Case

PROBES = ("bash", "witness")  # steps of the job itself: it asks where the ranks are, and looks what they execute


def one_sequence(case: Case) -> Iterator[Finding]:
    """RUN-09: all phases of a result ran in one job, once each and in order, with nothing else between them."""
    if not case.run.commands[0].phase or case.attempt.state is not State.DONE:
        return
    completion = case.evidence.completion
    if completion is None or not completion.phases:
        yield unchecked(messages.NO_PHASE_TIMES())
        return
    planned, ran = [command.phase for command in case.run.commands], [each.phase for each in completion.phases]
    if ran != planned:
        yield violation(messages.OTHER_PHASES(), ", ".join(planned), ", ".join(ran))
        return
    for first, second in pairwise(completion.phases):
        if second.started < first.ended - TOLERANCE_S:
            yield violation(messages.NOT_IN_ORDER(), messages.AFTER(phase=first.phase), second.phase)
    jobs = dict.fromkeys(seen.job_id for seen in case.seen.phases.values() if seen.job_id)
    if len(jobs) > 1:
        yield violation(messages.SEVERAL_JOBS(), completion.job_id, ", ".join(jobs))
    steps = [int(step) for seen in case.seen.phases.values() if (step := seen.step_id or "").isdigit()]
    if steps != sorted(set(steps)):
        yield violation(messages.STEPS_OUT_OF_ORDER(), messages.ASCENDING(), ", ".join(map(str, steps)))
    yield from _foreign_steps(case, completion)


def _foreign_steps(case: Case, completion: Completion) -> Iterator[Finding]:
    """Steps of the job within the time of the phases that are none of them."""
    accounting = case.evidence.accounting
    if accounting is None or not accounting.steps or not case.run.launcher.is_srun:
        yield unchecked(messages.NO_STEPS())
        return
    began, ended = completion.phases[0].started, completion.phases[-1].ended
    allowed = Counter(command.step for command in case.run.launched)
    within = [step for step in accounting.steps if _overlaps(step, began, ended)]
    ran = Counter(step.get("JobName", "") for step in within if step.get("JobName") not in PROBES)
    foreign = ran - allowed
    if foreign:
        yield violation(
            messages.FOREIGN_STEPS(),
            listed(messages.STEPS_OF(count=count, program=name) for name, count in allowed.items()),
            listed(messages.STEPS_OF(count=count, program=name) for name, count in foreign.items()),
        )


def _overlaps(step: Mapping[str, str], began: float, ended: float) -> bool:
    """Whether a step of the accounting, whose times are whole seconds, surely ran within this time."""
    name, start, end = step.get("JobIDRaw", ""), step.get("Start", ""), step.get("End", "")
    launched = name.rpartition(".")[2].isdigit()  # neither batch nor extern
    return launched and start.isdigit() and end.isdigit() and int(start) >= began and int(end) <= ended

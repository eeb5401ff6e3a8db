"""The rule about results of several phases. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from campaign.core.model import Completion, Finding, State
from campaign.core.units import listed
from campaign.judge.environment import TOLERANCE_S
from campaign.judge.findings import unchecked, violation
from campaign.results.case import Case

PROBES = ("bash", "witness")  # steps of the job itself, which find out where the ranks are and what they execute


def one_sequence(case: Case) -> Iterator[Finding]:
    """RUN-09: all phases of a result ran in one job, once each and in order, with nothing else in between."""
    if not case.run.commands[0].phase or case.attempt.state is not State.DONE:
        return
    completion = case.evidence.completion
    if completion is None or not completion.phases:
        yield unchecked("the job did not record when each phase ran")
        return
    planned, ran = [command.phase for command in case.run.commands], [each.phase for each in completion.phases]
    if ran != planned:
        yield violation(
            "the phases that ran differ from the plan (each once, in order)", ", ".join(planned), ", ".join(ran)
        )
        return
    for first, second in pairwise(completion.phases):
        if second.started < first.ended - TOLERANCE_S:
            yield violation(
                "a phase began before the previous one had ended", f"after the end of {first.phase}", second.phase
            )
    jobs = dict.fromkeys(seen.job_id for seen in case.seen.phases.values() if seen.job_id)
    if len(jobs) > 1:
        yield violation("the phases of one result ran in several jobs", completion.job_id, ", ".join(jobs))
    steps = [int(step) for seen in case.seen.phases.values() if (step := seen.step_id or "").isdigit()]
    if steps != sorted(set(steps)):
        yield violation(
            "the job steps are not in the order of the phases", "ascending step numbers", ", ".join(map(str, steps))
        )
    yield from _foreign_steps(case, completion)


def _foreign_steps(case: Case, completion: Completion) -> Iterator[Finding]:
    """Other steps of the job during the phases."""
    accounting = case.evidence.accounting
    if accounting is None or not accounting.steps or not case.run.launcher.is_srun:
        yield unchecked("job steps not in Slurm's accounting: other work between the phases cannot be excluded")
        return
    began, ended = completion.phases[0].started, completion.phases[-1].ended
    allowed = Counter(command.step for command in case.run.launched)
    within = [step for step in accounting.steps if _overlaps(step, began, ended)]
    ran = Counter(step.get("JobName", "") for step in within if step.get("JobName") not in PROBES)
    foreign = ran - allowed
    if foreign:
        yield violation(
            "the job ran other steps between the phases of one result",
            listed(f"{count} of {name}" for name, count in allowed.items()),
            listed(f"{count} of {name}" for name, count in foreign.items()),
        )


def _overlaps(step: Mapping[str, str], began: float, ended: float) -> bool:
    """Whether a step in the accounting, whose times are whole seconds, surely overlaps this time."""
    name, start, end = step.get("JobIDRaw", ""), step.get("Start", ""), step.get("End", "")
    launched = name.rpartition(".")[2].isdigit()  # neither batch nor extern
    return launched and start.isdigit() and end.isdigit() and int(start) >= began and int(end) <= ended

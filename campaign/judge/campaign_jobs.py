"""The rule about all jobs of a campaign together: their times, steps, outputs and machines (EVD-07). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.runs import State
from campaign.core.units import bound_listing, listing, utc
from campaign.judge.findings import note, to_explain, to_explain_at_full_size, unchecked, violation
from campaign.judge.job_facts import (
    PROBES,
    RESTORED,
    TOLERANCE_S,
    accounting,
    clock_ahead_s,
    has_no_accounting,
    is_srun_step,
    step_state,
    times_of_step,
)
from campaign.judge.phases import can_overlap, group_spans, measured_span
from campaign.judge.projections import has_unique_digits
from campaign.judge.rule import campaign_rule
from campaign.judge.submission import Submission
from campaign.plan import matrix
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting
from campaign.slurm.partitions import Partition

_OF_SRUN = re.compile("[0-9]{1,6}")  # other steps have names, or numbers from 4294967290


# --- a whole campaign


@campaign_rule(
    "EVD-07",
    "runs on one storage do not overlap, and each job ran the benchmark once for each of its attempts",
    why="overlapping runs slow each other down, and unrecorded runs could hide other results",
    remedy="submit all runs of each job, and repeat those that overlapped",
    is_always_judged=True,
    is_about_records=True,
)
def check_jobs(submission: Submission) -> Iterator[Finding]:
    """Times on shared storage overlap by no more than clocks may differ (within a job 2 s; between jobs what Slurm's
    times leave open, usually 2 to 4 s, at most 60 s for each); number and times of benchmark steps in sacct; outputs
    that name the same step at the same time or with the same values; values of two runs identical to the last digit
    (15 digits or more in total); a boot id that comes back after another one, or two in one job. W: one step named at
    two times, a gap in step numbers, nodes rebooted between runs, a boot id under several names, another partition or
    other nodes than in plan.json. No accounting is noted.
    """
    finished = [case for case in submission.results if case.attempt.state is State.DONE]
    if not finished:
        yield unchecked("no run succeeded: nothing to compare", remedy="measure: campaign run FILE")
        return
    yield from _check_overlaps(submission, finished)
    yield from _check_step_counts(submission, finished)
    yield from _check_step_names(finished)
    yield from _check_copies(finished)
    yield from _check_machines(submission, finished)
    if submission.partition:
        yield from _check_planned_partition(submission.partition, finished)


def _check_overlaps(submission: Submission, finished: Sequence[Case]) -> Iterator[Finding]:
    last: dict[str, Case] = {}  # by target: the attempt that ended last
    targets = submission.campaign.targets
    separate_targets = {target.name: matrix.independent_targets(targets, target.name) for target in targets}
    jobs = grouped((case.attempt.job, case) for case in finished)
    ahead = {job: clock_ahead_s(cases) for job, cases in jobs.items()}
    for case in sorted(
        (case for case in finished if case.evidence.completion and not case.run.shares_target), key=_window
    ):
        began, independent_targets = _window(case)[0], separate_targets[case.run.target]
        for target, before in last.items():
            clocks = TOLERANCE_S
            if case.attempt.job != before.attempt.job:  # what Slurm's times leave open of their first nodes' clocks
                clocks = max(clocks, ahead[before.attempt.job][1] - ahead[case.attempt.job][0])
            if target not in independent_targets and began < _window(before)[1] - clocks:
                yield violation(
                    "measured at the same time as {other} on the same storage",
                    f"after {utc(_window(before)[1])}",
                    utc(began),
                    about=case.subject,
                    other=before.subject,
                )
        last_case = last.get(case.run.target)
        if last_case is None or _window(case)[1] > _window(last_case)[1]:
            last[case.run.target] = case


def _window(case: Case) -> tuple[float, float]:
    assert case.evidence.completion is not None, "only recorded runs have a time"
    return case.evidence.completion.started, case.evidence.completion.ended


def _check_step_counts(submission: Submission, finished: Sequence[Case]) -> Iterator[Finding]:
    """The benchmark's successful steps in the accounting against the attempts of their job."""
    jobs = grouped((case.attempt.job, case) for case in finished)
    of_jobs = grouped((case.attempt.job, case) for case in submission.results)
    launched = {run.id: len(run.launched) for run in submission.all_runs}
    planned_steps: dict[str, int] = {}  # expected number of successful steps
    for attempt in submission.attempts:
        planned_steps[attempt.job] = planned_steps.get(attempt.job, 0) + launched.get(attempt.run, 1)
    silent = []
    for job, cases in jobs.items():
        after = accounting(cases[0])
        commands = [command for case in cases for command in case.run.launched]
        programs = {command.step for command in commands}
        if not after.steps or programs.intersection(PROBES):
            silent.append(job)
            continue
        ran = [row for row in after.steps if row.get("JobName") in programs and step_state(row) == "COMPLETED"]
        steps = list(filter(is_srun_step, ran))
        step_names = Counter(
            phase.observation.step_id for case in cases for phase in case.phases.values() if phase.observation.step_id
        )
        repeated_names = step_names.total() - len(
            step_names
        )  # numbers given again, of which sacct may show the last step alone
        if steps and not len(commands) - repeated_names <= len(steps) <= planned_steps.get(job, 0):
            yield violation(
                "sacct shows a different number of benchmark runs in job {job} than submitted attempts",
                f"{len(commands)}, one for each recorded run",
                len(steps),
                about=cases[0].subject,
                job=cases[0].attempt.job_id,
            )
        ahead = clock_ahead_s(cases)
        yield from _check_step_overlaps(
            steps, cases[0], [span for case in of_jobs[job] for span in group_spans(case, ahead)]
        )
        yield from _check_step_numbers(after, cases[0])
    if silent:
        keeps_none = len(silent) == len(jobs) and all(map(has_no_accounting, finished))
        yield (note if keeps_none else unchecked)(
            "the accounting has no job steps of the benchmark, so attempts cannot be counted ({jobs})",
            jobs=listing(silent),
        )


def _check_step_overlaps(
    steps: Sequence[Mapping[str, str]], case: Case, at_once: Sequence[tuple[float, float, bool]]
) -> Iterator[Finding]:
    """Measuring steps of one job do not overlap, but for those of phases that start together."""
    timed = sorted(
        ((*times, row) for row in steps if (times := times_of_step(row))), key=lambda step_times: step_times[:2]
    )
    running: list[tuple[float, float, Mapping[str, str]]] = []
    for start, end, row in timed:
        running = [step_times for step_times in running if start < step_times[1] - TOLERANCE_S]
        for _, earlier_end, before in running:
            if not can_overlap(at_once, (before, row)):
                yield violation(
                    "job steps {first} and {second} of sacct overlap in time",
                    f"after {utc(earlier_end)}",
                    utc(start),
                    about=case.subject,
                    first=before["JobIDRaw"],
                    second=row["JobIDRaw"],
                )
        running.append((start, end, row))


def _check_step_numbers(after: Accounting, case: Case) -> Iterator[Finding]:
    """Slurm numbers the steps of a job from 0: a missing number means that a step was removed from the record."""
    names = (row.get("JobIDRaw", "").partition(".")[2] for row in after.steps)
    numbers = {int(name) for name in names if _OF_SRUN.fullmatch(name)}
    lacking = sorted(set(range(max(numbers, default=0))) - numbers)
    if lacking:
        yield to_explain(
            "sacct lacks job steps of job {job}: Slurm numbers the steps of a job without gaps",
            "each number up to the last one",
            bound_listing(map(str, lacking)),
            about=case.subject,
            job=case.attempt.job_id,
        )


def _check_step_names(finished: Iterable[Case]) -> Iterator[Finding]:
    """No two outputs name the same step. A controller that lost its state reuses ids of jobs, and one that was restored
    from an older state those of steps, for another output of another time.
    """
    earlier: dict[tuple[str, str], list[Case]] = {}  # by job and step
    for phase in (phase for case in finished if case.run.launcher.is_srun for phase in case.phases.values()):
        step = phase.observation.step_id
        if step is None:
            continue
        outputs = earlier.setdefault((phase.attempt.job, step), [])
        twin = next((other for other in outputs if _has_same_numbers(phase, other) or _has_overlap(phase, other)), None)
        if outputs:
            yield (violation if twin else to_explain)(
                "its output names the same job step as that of {other}" + ("" if twin else f": {RESTORED}"),
                "its own job step",
                f"{phase.observation.job_id}.{step}",
                about=phase.subject,
                other=(twin or outputs[0]).subject,
            )
        outputs.append(phase)


def _has_same_numbers(*cases: Case) -> bool:
    first, other = ([(record.operation, record.value) for record in case.records] for case in cases)
    return first == other != []


def _has_overlap(first: Case, other: Case) -> bool:
    """Whether two executions ran at the same time, by their outputs or, where these do not say it, the job's record."""
    spans = [times for times in (measured_span(first), measured_span(other)) if times]
    return len(spans) == 2 and max(spans)[0] < min(end for _, end in spans) - TOLERANCE_S


def _check_copies(finished: Iterable[Case]) -> Iterator[Finding]:
    """Two measurements never have the same numbers to the last digit: one output is a copy of the other."""
    first: dict[tuple[tuple[str, float], ...], Case] = {}
    for case in finished:
        numbers = unique_values(case)
        if numbers and (other := first.setdefault(numbers, case)) is not case:
            yield violation(
                "all values are identical to those of {other}, to the last digit: one output is a copy of the other",
                "its own values",
                listing(f"{name} {value:.10g}" for name, value in numbers),
                about=case.subject,
                other=other.subject,
            )


def unique_values(case: Case) -> tuple[tuple[str, float], ...]:
    """The values of a measurement, if they have too many digits to be equal by chance."""
    numbers = tuple((operation.id, record.value) for operation, record in case.results)
    return numbers if has_unique_digits(value for _, value in numbers) else ()


def _check_planned_partition(planned: Partition, finished: Iterable[Case]) -> Iterator[Finding]:
    """The jobs ran in the partition, and on nodes, from which the plan took its numbers."""
    planned_nodes = {*planned.names, *(environment.node for environment in planned.unusable)}
    environments = {id(case.evidence.environment): case.evidence.environment for case in finished}.values()
    ran_in = {environment.partition for environment in environments}
    if other_partitions := sorted(ran_in - {"", *planned.name.split(",")}):
        yield to_explain(
            "jobs ran in another partition than that in plan.json",
            planned.name,
            bound_listing(other_partitions),
            remedy="explain in the campaign file why another partition was used",
        )
    if planned.names and (
        foreign := {name for environment in environments for name in environment.job_nodes} - planned_nodes
    ):
        yield to_explain(
            "jobs ran on nodes that plan.json does not list for the partition",
            planned.account,
            bound_listing(sorted(foreign)),
            remedy="explain in the campaign file why these nodes were used",
        )


def _check_machines(submission: Submission, finished: Sequence[Case]) -> Iterator[Finding]:
    """Boot ids, each of one start of one machine, against the names of nodes in the order of time."""
    ordered = sorted(finished, key=lambda case: case.evidence.environment.started or 0.0)
    jobs = {id(case.evidence.environment): case for case in reversed(ordered)}  # the first attempt with each
    boots = [
        (node.name, node.boot, case.subject)
        for case in reversed(jobs.values())
        for node in case.evidence.environment.nodes
        if node.name and node.boot
    ]
    rebooted_nodes = []
    for name, boots_of_node in sorted(grouped((name, (boot, subject)) for name, boot, subject in boots).items()):
        starts = [next(same_boots) for _, same_boots in groupby(boots_of_node, key=itemgetter(0))]
        found_in = listing(dict.fromkeys(subject for _, subject in starts))
        if len(dict(starts)) < len(starts) or len({subject for _, subject in starts}) < len(starts):
            yield violation(
                "several machines had the name {node}: their boot ids alternate",
                "another boot id only after a reboot",
                f"{listing(boot for boot, _ in starts)} (in {found_in})",
                node=name,
            )
        elif len(starts) > 1:
            rebooted_nodes.append(f"{name} ({found_in})")
    if rebooted_nodes:
        yield to_explain(
            "nodes were rebooted during the campaign",
            "no reboot of a node",
            bound_listing(rebooted_nodes),
            remedy="explain the reboot in the campaign file",
        )
    for boot, subjects_and_names in grouped((boot, (subject, name)) for name, boot, subject in boots).items():
        names = {name: None for _, name in subjects_and_names}
        if not any(
            names.keys() <= set(of_job) for of_job in grouped(subjects_and_names).values()
        ):  # GEO-04 reports these
            yield to_explain_at_full_size(submission.full)(
                "one machine had the names of several nodes in different jobs",
                "one name for each boot id",
                f"{bound_listing(names)} (boot id {boot})",
            )

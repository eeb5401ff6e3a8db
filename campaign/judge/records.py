"""The rules that compare the records around results with each other, each pair once. Pure.

What driver, job, Slurm and benchmark recorded of one execution must be consistent, and so must the jobs of a whole
campaign on its targets. A missing record contradicts nothing: that is "not checked".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

from campaign.config.rules.catalogue import Parameter, Quantity
from campaign.core.grouping import grouped
from campaign.core.model import Completion, Finding, State
from campaign.core.strict_yaml import shown
from campaign.core.units import listed, utc
from campaign.judge import attested, environment
from campaign.judge.findings import disagreement, doubt, merged_phases, note, to_explain, unchecked, violation
from campaign.judge.numbers import are_their_own
from campaign.judge.ran import at_once, may_overlap, measured_span, spans
from campaign.judge.rule import Needs, attempt_rule, campaign_rule
from campaign.judge.submission import Submission
from campaign.plan import matrix
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting, Environment
from campaign.results.environment.slurm_text import expand_nodes
from campaign.slurm.partitions import Partition

SAME_S = 1.0  # between two copies of a time, one of which may be cut to a second
RESTORED = "only a controller that was restored from its saved state numbers steps again"
PROBES = ("bash", "witness")  # steps of the job itself, which find out where the ranks are and what they execute
_OF_SRUN = re.compile("[0-9]{1,6}")  # other steps have names, or numbers from 4294967290
_WITH_EXIT_CODE = ("COMPLETED", "FAILED")  # states of jobs that ended by themselves
# Names of one file system in statfs and in the mount table, where both have one.
_KINDS = {
    "tmpfs": "tmpfs", "ramfs": "ramfs", "ext2/ext3": "ext", "ext4": "ext", "ext3": "ext", "ext2": "ext", "xfs": "xfs",
    "btrfs": "btrfs", "zfs": "zfs", "overlayfs": "overlay", "overlay": "overlay", "nfs": "nfs", "nfs4": "nfs",
    "lustre": "lustre", "gpfs": "gpfs", "ceph": "ceph", "smb2": "smb", "cifs": "smb",
}  # fmt: skip


@attempt_rule(
    "EVD-06",
    "the records of a run by driver, job, Slurm and benchmark do not contradict each other",
    why="records that contradict each other were edited, or belong to different runs",
    remedy="submit the original records, or repeat the run with 'campaign rerun FILE CELL'",
    is_always_judged=True,
    is_about_records=True,
    needs=Needs.RECORDS,
    is_about_run=True,
)
def agree(case: Case) -> Iterator[Finding]:
    """Pairs of records: the benchmark's text and its JSON lines; journal and job record; raw files and their hashes in
    the journal; environment and file system before and after; scontrol during and after the job, and sacct (partition,
    start, state, exit code, restarts, submission); the step in sacct (program, nodes, state, exit code, times,
    length); the output's times and its phases; mount table and statfs; mount, boots, clocks and loader variables of
    the built-in benchmark (what a launcher other than srun adds is a note), its clock and the kernel's (set during the
    run: noted, by more than 60 s E; a run of mdtest of which more than a quarter, and 10 s, lies outside its phases:
    W). Of a bundle also job scripts (rendered again; those of another version, or of a vendor's template, are not
    checked), plan.json, modifications.json, each run's end in journal and job record, and the buyer's `--sacct`.
    """
    for file in case.evidence.altered:
        yield changed_since(f"runs/{case.subject}/{file.name}", file.recorded, file.found)
    yield from _driver(case)
    yield from _order(case)
    yield from _slurm(case)
    around = case.evidence.environment
    yield from around.once("file system", lambda: tuple(_file_system(around)))
    if len(case.phases) > 1:  # also between them
        yield from _clock(case)
    yield from merged_phases(case, {name: [*_phase_agrees(phase)] for name, phase in case.phases.items()})


def _phase_agrees(case: Case) -> Iterator[Finding]:
    """What the output of one phase says against the records of its run. `case`: of the phase."""
    seen = case.seen
    yield from (violation("{contradiction}", contradiction=text) for text in seen.contradictions)
    if case.evidence.completion is not None:
        yield from _clock(case)
        if seen.began is not None and seen.ended is not None:
            message = "phases in the output took longer than the program ran by its own clock"
            yield from environment.fit(case, seen.ended - seen.began + environment.set_back_s(case), message)
    yield from _step(case)
    yield from attested.agrees(case)


def changed_since(place: str, recorded: str, found: str) -> Finding:
    return violation(
        "{place} differs from the file whose hash the journal recorded at the end of the run",
        recorded,
        found,
        place=shown(place),
    )


def _driver(case: Case) -> Iterator[Finding]:
    """The journal's record of the attempt against the job's."""
    completion, attempt = case.evidence.completion, case.attempt
    if completion is None:
        yield unchecked("completion.json is missing: nothing to compare the other records with")
        return
    for name, journaled, recorded in (
        ("start", attempt.started, completion.started),
        ("end", attempt.ended, completion.ended),
    ):
        if attempt.state is State.DONE and journaled is not None and abs(journaled - recorded) > SAME_S:
            yield violation(
                "{what} of the run differs between the journal and the job's record",
                utc(recorded),
                utc(journaled),
                what=name,
            )
    back = environment.set_back_s(case)
    times = [(completion.started, completion.ended), *((phase.started, phase.ended) for phase in completion.phases)]
    for started, ended in [(started, ended) for started, ended in times if ended + back < started][:1]:
        yield violation("the run ended before it started", utc(started), utc(ended))


_CLOCK_SET = "the clock of the job's first node was set during the run"


def _clock(case: Case) -> Iterator[Finding]:
    """A clock that was corrected during the run is no contradiction: lengths are measured by the kernel's clock. The
    built-in benchmark also read both clocks; of several phases each is compared by itself, since the clock may have
    been set between them.
    """
    by_s = environment.clock_set_s(case)
    if abs(by_s) > environment.CONTROLLER_S:
        yield violation(
            _CLOCK_SET,
            f"by at most {environment.CONTROLLER_S:.0f} s, as sites correct their clocks",
            f"by {by_s:+.1f} s",
        )
    elif abs(by_s) > environment.SET_S:
        benchmarks_s = _clock_set_by_benchmark_s(case) if len(case.run.launched) == 1 else None
        is_other = benchmarks_s is not None and abs(benchmarks_s - by_s) > environment.TOLERANCE_S
        expected = "" if benchmarks_s is None else f"by {benchmarks_s:+.1f} s"
        yield (to_explain if is_other else note)(_CLOCK_SET, expected, f"by {by_s:+.1f} s")


def _clock_set_by_benchmark_s(case: Case) -> float | None:
    """By how many seconds the clock was changed while the built-in benchmark of a run of one phase ran; None if that
    is not recorded.
    """
    seen, attestation = case.seen, case.seen.attestation
    if attestation is None or attestation.clock_s is None or seen.began is None or seen.ended is None:
        return None
    return seen.ended - seen.began - attestation.clock_s


def _order(case: Case) -> Iterator[Finding]:
    """The environment was recorded before the run, and the file system's state before and after it."""
    evidence, completion = case.evidence, case.evidence.completion
    if completion is None:
        return
    for name, time, before in (
        ("environment", evidence.environment.started, True),
        ("state of the file system before the run", evidence.before.time if evidence.before else None, True),
        ("state of the file system after the run", evidence.after.time if evidence.after else None, False),
    ):
        if time is None:
            continue
        limit = completion.started + environment.TOLERANCE_S if before else completion.ended - environment.TOLERANCE_S
        if (time > limit) if before else (time < limit):
            yield violation(
                "the {what} was recorded at the wrong time",
                f"{'before' if before else 'after'} {utc(limit)}",
                utc(time),
                what=name,
            )


def _slurm(case: Case) -> Iterator[Finding]:
    """Slurm's records during the job, after it, and in its accounting; and the job's own variables."""
    around, after = case.evidence.environment, environment.accounting(case)
    during, allocation, completion = around.job, after.allocation, case.evidence.completion
    if not after.job and not after.steps:
        yield unchecked("Slurm's final record of the job is missing: nothing to compare the job's record with")
        return
    variables, began = around.variables, after.job.get("StartTime")
    if environment.started_again(case):
        # Slurm has no record of this start; only what the job was submitted with is the same for each start.
        yield unchecked(environment.STARTED_AGAIN)
        began, allocation = None, {}
    yield from disagreement(
        "partition",
        {
            "environment.json": variables.get("SLURM_JOB_PARTITION"),
            "scontrol during the job": during.get("Partition"),
            "scontrol after the job": after.job.get("Partition"),
        },
    )
    yield from disagreement(
        "start of the job",
        {
            "scontrol during the job": during.get("StartTime"),
            "scontrol after the job": began,
            "sacct": allocation.get("Start"),
        },
    )
    if after.ended:
        # sacct reports a cancelled job before its script has ended.
        codes = {"scontrol after the job": after.job.get("ExitCode"), "sacct": allocation.get("ExitCode")}
        yield from disagreement("exit code of the job", codes if _word(allocation) in _WITH_EXIT_CODE else {})
        yield from disagreement(
            "state of the job",
            {"scontrol after the job": after.job.get("JobState"), "sacct": _word(allocation)},
        )
    if completion is not None:
        said = {"scontrol after the job": after.job.get("Restarts"), "scontrol during the job": during.get("Restarts")}
        yield from disagreement(
            "number of restarts of the job", {"completion.json": str(completion.restart_count), **said}
        )
    submitted, slurms = case.attempt.submitted, after.job.get("SubmitTime", during.get("SubmitTime", ""))
    if submitted is None or completion is None or not slurms.isdigit():
        return
    # The jobs of a campaign are recorded together, and submitted as slurmctld has room.
    if not submitted - environment.CONTROLLER_S <= int(slurms) <= completion.started + environment.CONTROLLER_S:
        yield violation(
            "submission time differs between Slurm and the journal",
            f"{utc(submitted)} to {utc(completion.started)}",
            utc(int(slurms)),
        )


def _word(row: Mapping[str, str]) -> str:
    """COMPLETED, CANCELLED by 0 -> the state alone."""
    return row.get("State", "").partition(" ")[0]


def _step(case: Case) -> Iterator[Finding]:
    """The execution's step in the accounting: how it ended, how long it took, where it ran."""
    completion = case.evidence.completion
    if completion is None or case.seen.step_id is None or len(case.run.launched) > 1:
        return  # phases are steps of their own, on nodes of their own
    name = f"{completion.job_id}.{case.seen.step_id}"
    step = next((row for row in environment.accounting(case).steps if row.get("JobIDRaw") == name), None)
    if step is None:
        return  # RUN-03 reports it
    yield from _ended_as(case, completion, step)
    program = case.run.commands[0].step
    if step.get("JobName", program) != program:
        yield violation("sacct: the job step ran another program", program, step["JobName"])
    if (nodes := step.get("NNodes", "")).isdigit() and int(nodes) != case.run.geometry.nodes:
        yield violation("sacct: the job step had a different node count", case.run.geometry.nodes, nodes)
    had, ran = expand_nodes(completion.nodes), expand_nodes(step.get("NodeList", ""))
    if had and ran and set(ran) - set(had):
        yield violation("sacct: the job step ran on nodes outside the job", listed(had), listed(ran))


def _ended_as(case: Case, completion: Completion, step: Mapping[str, str]) -> Iterator[Finding]:
    state, code = _word(step), step.get("ExitCode", "")
    if completion.outcome == "done" and state and state != "COMPLETED":
        yield violation(
            "the run is recorded as done, but sacct does not show its job step as completed", "COMPLETED", state
        )
    if completion.outcome == "done" and code and code != "0:0":
        yield violation("the run is recorded as done, but sacct shows an error of its job step", "0:0", code)
    if (times := environment.times_of(step)) is None:
        return
    began, ended = times
    if began < completion.started - environment.CONTROLLER_S or ended > completion.ended + environment.CONTROLLER_S:
        yield violation(
            "sacct: the job step lies outside the run's time",
            f"{utc(completion.started)} to {utc(completion.ended)}",
            f"{utc(began)} to {utc(ended)}",
        )
    lasted = ended - began + 1.0 + environment.set_back_s(case)  # both times are cut to a second
    yield from environment.fit(case, lasted, "phases in the output took longer than the job step in sacct")


def _file_system(around: Environment) -> Iterator[Finding]:
    """Mount table and statfs name the same kind of file system, node by node."""
    statfs = around.by_node("fs.type")
    for node, mounted in around.by_node("mount.type").items():
        said = statfs.get(node, "").partition(" (")[0]
        kinds = _KINDS.get(mounted), _KINDS.get(said)
        if None not in kinds and kinds[0] != kinds[1]:
            yield violation("mount table and statfs name different file systems on {node}", mounted, said, node=node)
            return


# --- the phases of a result


@attempt_rule(
    "RUN-09",
    "all phases of a result ran in one job, each once and in order, with no other work between them",
    why=(
        "phases that ran at different times, or with other work in between, do not measure the same state of the "
        "storage"
    ),
    remedy="run all phases again with 'campaign rerun FILE CELL'",
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
def one_sequence(case: Case) -> Iterator[Finding]:
    """Job and step ids of the phases, and other job steps in the accounting. Phases with `beside` must have measured at
    the same time on nodes of their own; a phase with results that ran beside the others for less than `together`: W,
    in a rehearsal noted.
    """
    if case.attempt.state is not State.DONE or len(case.run.commands) < 2:
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
    times = {each.phase: each for each in completion.phases}
    for before, group in pairwise(case.run.together):
        last = max((times[command.phase] for command in before), key=lambda each: each.ended)
        for phase in (times[command.phase] for command in group):
            if phase.started < last.ended - environment.TOLERANCE_S:
                yield violation(
                    "a phase began before the previous one had ended", f"after the end of {last.phase}", phase.phase
                )
    yield from at_once(case)
    jobs = dict.fromkeys(seen.job_id for seen in case.outputs.values() if seen.job_id)
    if len(jobs) > 1:
        yield violation("the phases of one result ran in several jobs", completion.job_id, ", ".join(jobs))
    seen = case.outputs
    said = [[seen[each.phase].step_id or "" for each in group if each.phase in seen] for group in case.run.together]
    steps = [step for group in said for step in sorted(int(each) for each in group if each.isdigit())]
    if steps != sorted(set(steps)):
        yield to_explain(
            f"the job steps are not in the order of the phases: {RESTORED}",
            "ascending step numbers",
            ", ".join(map(str, steps)),
        )
    yield from _foreign_steps(case, completion)


def _foreign_steps(case: Case, completion: Completion) -> Iterator[Finding]:
    """Other steps of the job during the phases."""
    steps = environment.accounting(case).steps
    if not steps or not case.run.launcher.is_srun:
        yield (note if environment.unaccounted(case) else unchecked)(
            "job steps not in Slurm's accounting: other work between the phases cannot be excluded"
        )
        return
    began, ended = completion.phases[0].started, max(each.ended for each in completion.phases)
    allowed = Counter(command.step for command in case.run.launched)
    timed = [
        (step.get("JobName", ""), times)
        for step in filter(_is_launched, steps)
        if (times := environment.times_of(step))
    ]
    ran = Counter(name for name, times in timed if name not in PROBES and times[0] >= began and times[1] <= ended)
    if foreign := ran - allowed:
        yield violation(
            "the job ran other steps between the phases of one result",
            listed(f"{count} of {name}" for name, count in allowed.items()),
            listed(f"{count} of {name}" for name, count in foreign.items()),
        )


def _is_launched(step: Mapping[str, str]) -> bool:
    """Whether a step in the accounting is one of srun: neither batch nor extern."""
    return step.get("JobIDRaw", "").rpartition(".")[2].isdigit()


# --- a whole campaign


@campaign_rule(
    "EVD-07",
    "runs on one storage do not overlap, and each job ran the benchmark once for each of its attempts",
    why="overlapping runs slow each other down, and unrecorded runs could hide other results",
    remedy="submit all runs of each job, and repeat those that overlapped",
    is_always_judged=True,
    is_about_records=True,
)
def one_story(submission: Submission) -> Iterator[Finding]:
    """Times on shared storage overlap by no more than clocks may differ (within a job 2 s; between jobs what Slurm's
    times leave open, usually 2 to 4 s, at most 60 s for each); number and times of benchmark steps in sacct; outputs
    that name the same step at the same time or with the same values; values of two runs identical to the last digit
    (15 digits or more in total); a boot id that comes back after another one, or two in one job. W: one step named at
    two times, a gap in step numbers, nodes rebooted between runs, a boot id under several names, another partition or
    other nodes than in plan.json. No accounting is noted.
    """
    done = [case for case in submission.results if case.attempt.state is State.DONE]
    if not done:
        yield unchecked("no run succeeded: nothing to compare")
        return
    yield from _overlapping(submission, done)
    yield from _counted_steps(submission, done)
    yield from _one_step_each(done)
    yield from _copied(done)
    yield from _machines(submission, done)
    if submission.partition:
        yield from _as_planned(submission.partition, done)


def _overlapping(submission: Submission, done: Sequence[Case]) -> Iterator[Finding]:
    last: dict[str, Case] = {}  # by target: the attempt that ended last
    targets = submission.campaign.targets
    others = {target.name: matrix.independent_targets(targets, target.name) for target in targets}
    jobs = grouped((case.attempt.job, case) for case in done)
    ahead = {job: environment.clock_ahead_s(cases) for job, cases in jobs.items()}
    for case in sorted((case for case in done if case.evidence.completion and not case.run.shares_target), key=_window):
        began, apart = _window(case)[0], others[case.run.target]
        for target, before in last.items():
            clocks = environment.TOLERANCE_S
            if case.attempt.job != before.attempt.job:  # what Slurm's times leave open of their first nodes' clocks
                clocks = max(clocks, ahead[before.attempt.job][1] - ahead[case.attempt.job][0])
            if target not in apart and began < _window(before)[1] - clocks:
                yield violation(
                    "measured at the same time as {other} on the same storage",
                    f"after {utc(_window(before)[1])}",
                    utc(began),
                    about=case.subject,
                    other=before.subject,
                )
        known = last.get(case.run.target)
        if known is None or _window(case)[1] > _window(known)[1]:
            last[case.run.target] = case


def _window(case: Case) -> tuple[float, float]:
    assert case.evidence.completion is not None, "only recorded runs have a time"
    return case.evidence.completion.started, case.evidence.completion.ended


def _counted_steps(submission: Submission, done: Sequence[Case]) -> Iterator[Finding]:
    """The benchmark's successful steps in the accounting against the attempts of their job."""
    jobs = grouped((case.attempt.job, case) for case in done)
    of_jobs = grouped((case.attempt.job, case) for case in submission.results)
    launched = {run.id: len(run.launched) for run in submission.all_runs}
    most: dict[str, int] = {}  # expected number of successful steps
    for attempt in submission.attempts:
        most[attempt.job] = most.get(attempt.job, 0) + launched.get(attempt.run, 1)
    silent = []
    for job, cases in jobs.items():
        after = environment.accounting(cases[0])
        commands = [command for case in cases for command in case.run.launched]
        programs = {command.step for command in commands}
        if not after.steps or programs.intersection(PROBES):
            silent.append(job)
            continue
        ran = [row for row in after.steps if row.get("JobName") in programs and _word(row) == "COMPLETED"]
        steps = list(filter(_is_launched, ran))
        named = Counter(phase.seen.step_id for case in cases for phase in case.phases.values() if phase.seen.step_id)
        again = named.total() - len(named)  # numbers given again, of which sacct may show the last step alone
        if steps and not len(commands) - again <= len(steps) <= most.get(job, 0):
            yield violation(
                "sacct shows a different number of benchmark runs in job {job} than submitted attempts",
                f"{len(commands)}, one for each recorded run",
                len(steps),
                about=cases[0].subject,
                job=cases[0].attempt.job_id,
            )
        ahead = environment.clock_ahead_s(cases)
        yield from _steps_overlap(steps, cases[0], [span for case in of_jobs[job] for span in spans(case, ahead)])
        yield from _steps_lacking(after, cases[0])
    if silent:
        keeps_none = len(silent) == len(jobs) and all(map(environment.unaccounted, done))
        yield (note if keeps_none else unchecked)(
            "runs of {jobs} cannot be counted: sacct has no job steps, or the benchmark's have the same name as the "
            "job's own",
            jobs=listed(silent),
        )


def _steps_overlap(
    steps: Sequence[Mapping[str, str]], case: Case, at_once: Sequence[tuple[float, float]]
) -> Iterator[Finding]:
    """Measuring steps of one job do not overlap, but for those of phases that start together."""
    timed = sorted(((*times, row) for row in steps if (times := environment.times_of(row))), key=lambda each: each[:2])
    running: list[tuple[float, float, Mapping[str, str]]] = []
    for began, ended, row in timed:
        running = [each for each in running if began < each[1] - environment.TOLERANCE_S]
        for _, until, before in running:
            if not may_overlap(at_once, (before, row)):
                yield violation(
                    "job steps {first} and {second} of sacct overlap in time",
                    f"after {utc(until)}",
                    utc(began),
                    about=case.subject,
                    first=before["JobIDRaw"],
                    second=row["JobIDRaw"],
                )
        running.append((began, ended, row))


def _steps_lacking(after: Accounting, case: Case) -> Iterator[Finding]:
    """Slurm numbers the steps of a job from 0: a missing number means that a step was removed from the record."""
    names = (row.get("JobIDRaw", "").partition(".")[2] for row in after.steps)
    numbers = {int(name) for name in names if _OF_SRUN.fullmatch(name)}
    lacking = sorted(set(range(max(numbers, default=0))) - numbers)
    if lacking:
        yield to_explain(
            "sacct lacks job steps of job {job}: Slurm numbers the steps of a job without gaps",
            "each number up to the last one",
            listed(map(str, lacking)),
            about=case.subject,
            job=case.attempt.job_id,
        )


def _one_step_each(done: Iterable[Case]) -> Iterator[Finding]:
    """No two outputs name the same step. A controller that lost its state reuses ids of jobs, and one that was restored
    from an older state those of steps, for another output of another time.
    """
    earlier: dict[tuple[str, str], list[Case]] = {}  # by job and step
    for phase in (phase for case in done if case.run.launcher.is_srun for phase in case.phases.values()):
        step = phase.seen.step_id
        if step is None:
            continue
        outputs = earlier.setdefault((phase.attempt.job, step), [])
        same = next((other for other in outputs if _has_same_numbers(phase, other) or _overlap(phase, other)), None)
        if outputs:
            yield (violation if same else to_explain)(
                "its output names the same job step as that of {other}" + ("" if same else f": {RESTORED}"),
                "a job step of its own",
                f"{phase.seen.job_id}.{step}",
                about=phase.subject,
                other=(same or outputs[0]).subject,
            )
        outputs.append(phase)


def _has_same_numbers(*cases: Case) -> bool:
    one, other = ([(record.operation, record.value) for record in case.records] for case in cases)
    return one == other != []


def _overlap(one: Case, other: Case) -> bool:
    """Whether two executions ran at the same time, by their outputs or, where these do not say it, the job's record."""
    known = [times for times in (measured_span(one), measured_span(other)) if times]
    return len(known) == 2 and max(known)[0] < min(ended for _, ended in known) - environment.TOLERANCE_S


def _copied(done: Iterable[Case]) -> Iterator[Finding]:
    """Two measurements never have the same numbers to the last digit: one output is a copy of the other."""
    first: dict[tuple[tuple[str, float], ...], Case] = {}
    for case in done:
        numbers = fingerprint(case)
        if numbers and (other := first.setdefault(numbers, case)) is not case:
            yield violation(
                "all values are identical to those of {other}, to the last digit: one output is a copy of the other",
                "values of its own",
                listed(f"{name} {value:.10g}" for name, value in numbers),
                about=case.subject,
                other=other.subject,
            )


def fingerprint(case: Case) -> tuple[tuple[str, float], ...]:
    """The values of a measurement, if they have too many digits to be equal by chance."""
    numbers = tuple((operation.id, record.value) for operation, record in case.reported)
    return numbers if are_their_own(value for _, value in numbers) else ()


def _as_planned(planned: Partition, done: Iterable[Case]) -> Iterator[Finding]:
    """The jobs ran in the partition, and on nodes, from which the plan took its numbers."""
    known = {*planned.names, *(each.node for each in planned.unusable)}
    environments = {id(case.evidence.environment): case.evidence.environment for case in done}.values()
    ran_in = {each.variables.get("SLURM_JOB_PARTITION") or each.job.get("Partition", "") for each in environments}
    if others := sorted(ran_in - {"", *planned.name.split(",")}):
        yield to_explain("jobs ran in another partition than that in plan.json", planned.name, listed(others))
    if planned.names and (foreign := {name for each in environments for name in each.job_nodes} - known):
        yield to_explain(
            "jobs ran on nodes that plan.json does not list for the partition",
            planned.account,
            listed(sorted(foreign)),
        )


def _machines(submission: Submission, done: Sequence[Case]) -> Iterator[Finding]:
    """Boot ids, each of one start of one machine, against the names of nodes in the order of time."""
    ordered = sorted(done, key=lambda case: case.evidence.environment.started or 0.0)
    jobs = {id(case.evidence.environment): case for case in reversed(ordered)}  # the first attempt with each
    told = [
        (node.name, node.boot, case.subject)
        for case in reversed(jobs.values())
        for node in case.evidence.environment.nodes
        if node.name and node.boot
    ]
    again = []
    for name, met in sorted(grouped((name, (boot, subject)) for name, boot, subject in told).items()):
        starts = [next(alike) for _, alike in groupby(met, key=itemgetter(0))]
        found_in = listed(dict.fromkeys(subject for _, subject in starts))
        if len(dict(starts)) < len(starts) or len({subject for _, subject in starts}) < len(starts):
            yield violation(
                "several machines had the name {node}: their boot ids alternate",
                "another boot id only after a reboot",
                f"{listed(boot for boot, _ in starts)} (in {found_in})",
                node=name,
            )
        elif len(starts) > 1:
            again.append(f"{name} ({found_in})")
    if again:
        yield to_explain("nodes were rebooted during the campaign", "no reboot of a node", listed(again, 4))
    for boot, named in grouped((boot, (subject, name)) for name, boot, subject in told).items():
        names = {name: None for _, name in named}
        if not any(names.keys() <= set(of_job) for of_job in grouped(named).values()):  # GEO-04 reports these
            yield doubt(submission.full)(
                "one machine had the names of several nodes in different jobs",
                "one name for each boot id",
                f"{listed(names)} (boot id {boot})",
            )

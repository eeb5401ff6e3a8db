"""Cases of the rules that compare the records around results with each other: a contradiction of each pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from campaign.config.format import Target
from campaign.core.findings import Severity
from campaign.core.records import Attestation, PhaseTimes
from campaign.judge.job_facts import RESTORED
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting, Altered, Evidence, Node
from campaign.slurm.partitions import Partition, Unusable
from tests.judge.cases import Example, broken, compliant, disclosed, rehearsed, unchecked
from tests.judge.cases.environment import case, variables, with_environment, with_evidence
from tests.judge.cases.submissions import good_submission
from tests.support import builders

ALLOCATION = {
    "JobIDRaw": "17", "State": "COMPLETED", "ExitCode": "0:0", "NodeList": "n[1-2]", "Start": "108", "End": "113",
}  # fmt: skip
STEP = {
    "JobIDRaw": "17.0", "JobName": "mdtest", "State": "COMPLETED", "ExitCode": "0:0", "NNodes": "2", "NTasks": "8",
    "NodeList": "n[1-2]", "Start": "110", "End": "112",
}  # fmt: skip
JOB = builders.accounting().job


def slurm(step: Mapping[str, str] | None = None, allocation: Mapping[str, str] | None = None, **job: str) -> Case:
    """What Slurm says after the job, otherwise than it was."""
    steps = ({**ALLOCATION, **(allocation or {})}, {**STEP, **(step or {})})
    return with_evidence(accounting=Accounting(114.0, {**JOB, "ExitCode": "0:0", **job}, True, steps))


def restarted_job(**of_job: str) -> Case:
    """Slurm's final record is of another start of the job, after the run's end: its controller crashed meanwhile."""
    later_texts = {"StartTime": "117", "EndTime": "117", "JobState": "CANCELLED", "SubmitTime": "99", **of_job}
    during = {**builders.environment().job, "SubmitTime": "99"}
    case = slurm(**later_texts)
    return replace(case, evidence=replace(case.evidence, environment=builders.environment(job=during)))


def run_as(**completion: Any) -> Case:
    return with_evidence(completion=builders.completion(**completion))


CLOCK_SET = "the clock of the job's first node was set during the run"


def clock(end: float, uptime: tuple[float, float] = (50.0, 52.5)) -> Case:
    """A run that began at 110 and took 2.5 s by the kernel's clock."""
    case = run_as(ended=end, uptime=uptime)
    after = replace(builders.SPACE, time=end)
    return replace(case, attempt=builders.attempt(ended=end), evidence=replace(case.evidence, after=after))


def attests(case: Case, wall_s: float) -> Case:
    """The built-in benchmark ran 2 s, in which the node's clock was set by so much."""
    return replace(
        case,
        outputs={
            "": replace(case.observation, began=110.2, ended=112.2 + wall_s, attestation=Attestation(clock_s=2.0))
        },
    )


def journaled(**attempt: Any) -> Case:
    return replace(case(), attempt=builders.attempt(**attempt))


def mounted(statfs: str, table: str) -> Case:
    return with_environment(facts={"fs.type": f"{statfs} (0xbd00bd0), block size 4096", "mount.type": table})


def space_at(space: str, time: float) -> Case:
    return with_evidence(**{space: replace(builders.SPACE, time=time)})


def runs_at(
    *windows: tuple[float, float],
    steps: tuple[Mapping[str, str], ...] = (),
    boots: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    storage: tuple[str, ...] = (),
    one_job: bool = True,
) -> Submission:
    """The first runs of a campaign, in these times, with what the accounting says of their job."""
    submission = good_submission()
    results = []
    for number, (window, case_of) in enumerate(zip(windows, submission.results, strict=False)):
        job = "job-1" if one_job else f"job-{number}"
        name_and_boot = zip(names[number].split(","), boots[number].split(","), strict=True) if names else ()
        nodes = tuple(Node(name, name, 109.2, boot) for name, boot in name_and_boot)
        nodes = nodes or (Node("n1", "n1", 109.2, boots[number] if boots else "b"),)
        evidence = builders.evidence(
            completion=builders.completion(started=window[0], ended=window[1]),
            accounting=Accounting(900.0, JOB, True, steps) if steps else None,
            environment=builders.environment(nodes=nodes, started=window[0] - 1),
        )
        target = f"t{number}" if storage else case_of.run.target
        run = replace(case_of.run, target=target)
        results.append(replace(case_of, run=run, attempt=replace(case_of.attempt, job=job), evidence=evidence))
    attempts = tuple(result.attempt for result in results)
    targets = tuple(Target(f"t{number}", f"/t{number}", storage=name) for number, name in enumerate(storage))
    campaign = replace(submission.campaign, targets=targets or submission.campaign.targets)
    return replace(submission, campaign=campaign, results=tuple(results), attempts=attempts)


def on_machines(*jobs: str) -> Submission:
    """Jobs one after the other, each with the names of its nodes and their boot ids: `n1,n2 a,b`."""
    windows = [(110.0 + 2 * number, 112.0 + 2 * number) for number, _ in enumerate(jobs)]
    names, boots = zip(*(job.split() for job in jobs), strict=True)
    return runs_at(*windows, steps=STEPS, names=names, boots=boots, one_job=False)


def in_partition(name: str, *names: str, down: str = "n9") -> Submission:
    """Jobs of partition `batch` on n1 and n2, with what plan.json has of the partition."""
    submission = runs_at((110, 112), steps=STEPS)
    ran_in = builders.environment(variables=variables(SLURM_JOB_PARTITION="batch"))
    results = tuple(replace(case, evidence=replace(case.evidence, environment=ran_in)) for case in submission.results)
    partition = Partition(name, 2, 2, 8, None, (Unusable(down, "down", "down*"),), names=names)
    return replace(submission, results=results, partition=partition)


def job(start: str, end: str, run_start: float, run_end: float) -> Evidence:
    """A run of a job that Slurm started and ended at these times."""
    slurms = {key: time for key, time in (("StartTime", start), ("EndTime", end)) if time}
    kept_job = {key: text for key, text in builders.accounting().job.items() if key not in ("StartTime", "EndTime")}
    return builders.evidence(
        environment=builders.environment(started=run_start - 0.5),
        completion=builders.completion(started=run_start, ended=run_end),
        accounting=Accounting(900.0, {**kept_job, **slurms}, True, (*STEPS, step_row(1, 110, 112))),
    )


def side_by_side(*jobs: Evidence) -> Submission:
    submission = runs_at(*[(110.0, 112.0) for _ in jobs], one_job=False)
    results = zip(submission.results, jobs, strict=True)
    return replace(submission, results=tuple(replace(result, evidence=evidence) for result, evidence in results))


def without_steps(submission: Submission, has_accounting: bool = False) -> Submission:
    """Without steps of the first attempt's job in Slurm's accounting, if it says that it keeps one at all."""
    first, *other_cases = submission.results
    evidence = replace(first.evidence, accounting=Accounting(900.0, JOB, has_accounting))
    return replace(submission, results=(replace(first, evidence=evidence), *other_cases))


def step_row(
    number: int, start: int, end: int, name: str = "mdtest", state: str = "COMPLETED", nodes: str = ""
) -> dict[str, str]:
    times = {"Start": str(start), "End": str(end)}
    return {
        "JobIDRaw": f"17.{number}",
        "JobName": name,
        "State": state,
        **times,
        **({"NodeList": nodes} if nodes else {}),
    }


def at_once(*steps: Mapping[str, str]) -> Submission:
    """A run of two phases that started together, from 110 to 300, with these steps in the accounting."""
    submission = runs_at((110, 300), steps=(*STEPS, *steps))
    (case,) = submission.results
    (command,) = case.run.commands
    commands = (replace(command, phase="stat"), replace(command, phase="load", first_node=1, beside=True))
    times = tuple(PhaseTimes(command.phase, 0, 110.0, 300.0) for command in commands)
    completion = replace(builders.completion(started=110, ended=300), phases=times)
    evidence = replace(case.evidence, completion=completion)
    of_pack = tuple(replace(phase, id=command.phase) for command in commands for phase in case.pack.phases)
    pack, run = replace(case.pack, phases=of_pack), replace(case.run, commands=commands)
    changed_case = replace(case, pack=pack, run=run, evidence=evidence)
    runs = (changed_case.run, *(run for run in submission.runs if run.id != changed_case.run.id))
    return replace(submission, results=(changed_case,), runs=runs)


def prefixed(case: Case, *prefix: str) -> Case:
    """A run of a campaign file that puts these words before the benchmark."""
    (command,) = case.run.commands
    return replace(case, run=replace(case.run, commands=(replace(command, prefix=prefix),)))


def all_prefixed(submission: Submission, *prefix: str) -> Submission:
    return replace(submission, results=tuple(prefixed(case, *prefix) for case in submission.results))


def in_step(*numbers: str, one_job: bool = True, steps: Sequence[Mapping[str, str]] | None = None) -> Submission:
    """The first runs, whose outputs name these steps of one job, or of jobs to which Slurm gave one id."""
    windows = tuple((110.0 + 2 * place, 112.0 + 2 * place) for place in range(len(numbers)))
    steps = steps or ((step_row(1, 110, 112), step_row(2, 112, 114)) if one_job else (step_row(1, 110, 112),))
    submission = runs_at(*windows, steps=(*STEPS, *steps), one_job=one_job)
    numbered_cases = zip(submission.results, numbers, strict=True)
    return replace(
        submission,
        results=tuple(
            replace(case, outputs={"": replace(case.observation, job_id="17", step_id=step)})
            for case, step in numbered_cases
        ),
    )


def numbered_again(*steps: Mapping[str, str], is_copy: bool = False, **seen: float) -> Submission:
    """Two outputs that name one step, with other numbers unless one is a copy; `seen`: what the second one says of its
    times; `steps`: the benchmark's in sacct.
    """
    submission = in_step("1", "1", steps=steps or None)
    case, other = submission.results
    records = case.records if is_copy else tuple(replace(record, value=record.value + 1) for record in case.records)
    other = replace(other, records=records, outputs={"": replace(other.observation, **seen)})
    return replace(
        submission, results=(replace(case, outputs={"": replace(case.observation, began=110.0, ended=113.0)}), other)
    )


def numbered_three_times(*, is_copy: bool = False, **seen: float) -> Submission:
    """Three outputs that name one step, each with other numbers unless the third is a copy of the second; `seen`: what
    the third one says of its times.
    """
    submission = in_step("1", "1", "1", steps=(step_row(1, 114, 116),))
    numbers = (0, 1, 1 if is_copy else 2)
    times: tuple[Mapping[str, float], ...] = ({}, {"began": 112, "ended": 115}, seen)
    results = []
    for result, difference, of_result in zip(submission.results, numbers, times, strict=True):
        records = tuple(replace(record, value=record.value + difference) for record in submission.results[0].records)
        results.append(replace(result, records=records, outputs={"": replace(result.observation, **of_result)}))
    return replace(submission, results=tuple(results))


def copied(*values: float) -> Submission:
    """The first two runs have the same values."""
    submission = runs_at((110, 112), (112, 114), steps=(*STEPS, step_row(1, 110, 112), step_row(2, 112, 114)))
    results = tuple(replace(result, records=builders.records(values)) for result in submission.results)
    return replace(submission, results=results)


def system(kind: str, message: str, profile: str = "full", nodes: int = 2, of_target: str = "") -> Submission:
    """Results on a file system of a kind, described so, and the target so."""
    submission = good_submission(profile)
    evidence = builders.evidence(environment=builders.environment(facts={"mount.type": kind} if kind else {}))
    of_size = [case_of for case_of in submission.results if case_of.run.geometry.nodes == nodes]
    results = tuple(replace(result, evidence=evidence) for result in of_size)
    targets = tuple(replace(target, description=of_target) for target in submission.campaign.targets)
    campaign = replace(submission.campaign, system=(("file system", message),), targets=targets)
    return replace(submission, results=results, campaign=campaign)


def tuned(
    users_tuning: str = "none",
    exported: tuple[tuple[str, str], ...] = (),
    slurms: tuple[str, ...] = (),
    **tuning_variables: str,
) -> Submission:
    """A campaign whose jobs had these variables, some of them Slurm's, with this description of the users' tuning."""
    submission = good_submission()
    environment = builders.environment(variables=variables(**tuning_variables), set_by_slurm=slurms)
    evidence = builders.evidence(environment=environment)
    results = tuple(replace(result, evidence=evidence) for result in submission.results)
    text = (("tuning by users", users_tuning), ("tuning by administrators", "jumbo frames"))
    slurm_settings = replace(submission.campaign.slurm, environment=exported)
    return replace(
        submission, results=results, campaign=replace(submission.campaign, system=text, slurm=slurm_settings)
    )


AT_110, AT_112 = "1970-01-01 00:01:50 UTC", "1970-01-01 00:01:52 UTC"
FIRST, SECOND = "scratch.single.shared.r1/1", "scratch.single.unique.r1/1"
THIRD = "scratch.single.onefile.r1/1"
STEPS = (ALLOCATION, {"JobIDRaw": "17.batch", "JobName": "batch"}, step_row(0, 100, 101, "environment"))
ENV_04 = "the file system mounted for scratch is not the described one"
UNSAID = "tuning variables were set that the system description does not name"
NAMED = "named under system (tuning by users) or slurm.environment"


EXAMPLES: list[Example] = [
    compliant("EVD-06", "all as planned", slurm()),
    compliant("EVD-06", "without accounting", case()),
    compliant("EVD-06", "a step with the name of the prefix", prefixed(slurm({"JobName": "env"}), "env", "A=1")),
    broken("EVD-06", "sacct: the job step ran another program", prefixed(slurm(), "env", "A=1"), "env", "mdtest"),
    compliant("EVD-06", "names of one file system", mounted("ext2/ext3", "ext4")),
    compliant("EVD-06", "a file system that statfs does not know", mounted("UNKNOWN", "wekafs")),
    broken("EVD-06", "end of the run differs between the journal and the job's record", journaled(ended=500.0),
           AT_112, "1970-01-01 00:08:20 UTC"),
    broken("EVD-06", "the run ended before it started", run_as(started=112.5, ended=110.0), AT_112, AT_110),
    broken("EVD-06", '"runs/scratch.peak.unique.r1/1/stdout" differs from the file whose hash the journal recorded at '
           "the end of the run",
           with_evidence(altered=(Altered("stdout", 64 * "a", 64 * "b"),)), 64 * "a", 64 * "b"),
    disclosed("EVD-06", CLOCK_SET, clock(end=108.5), "", "by -4.0 s"),
    disclosed("EVD-06", CLOCK_SET, clock(end=112.5, uptime=(50.0, 50.5)), "", "by +2.0 s"),
    disclosed("EVD-06", CLOCK_SET, attests(clock(end=108.5), -3.9), "by -3.9 s", "by -4.0 s"),
    broken("EVD-06", CLOCK_SET, attests(clock(end=108.5), 0.0), "by +0.0 s", "by -4.0 s",
           severity=Severity.WARNING),
    compliant("EVD-06", "a clock that runs slow", clock(end=111.6)),
    broken("EVD-06", CLOCK_SET, clock(end=172.6, uptime=(50.0, 50.1)),
           "by at most 60 s, as sites correct their clocks", "by +62.5 s"),
    compliant("RUN-02", "a clock that was set back during the run", clock(end=108.5)),
    broken("EVD-06", "phases in the output took longer than the program ran by its own clock",
           replace(case(), records=tuple(replace(record, elapsed_s=9.0) for record in builders.records())),
           "at most 2.2 s", "27 s"),
    broken("EVD-06", "the environment was recorded at the wrong time", with_environment(started=900.0),
           f"before {AT_112}", "1970-01-01 00:15:00 UTC"),
    broken("EVD-06", "the state of the file system before the run was recorded at the wrong time",
           space_at("before", 900.0), f"before {AT_112}", "1970-01-01 00:15:00 UTC"),
    broken("EVD-06", "the state of the file system after the run was recorded at the wrong time",
           space_at("after", 9.0), f"after {AT_110}", "1970-01-01 00:00:09 UTC"),
    broken("EVD-06", "partition differs between the records",
           with_evidence(environment=builders.environment(variables=variables(SLURM_JOB_PARTITION="debug")),
                         accounting=builders.accounting(Partition="batch")),
           "debug (host in facts.jsonl)", "batch (scontrol after the job)"),
    broken("EVD-06", "start of the job differs between the records", slurm(allocation={"Start": "90"}),
           "108 (scontrol during the job)", "90 (sacct)"),
    compliant("EVD-06", "a job that was cancelled, of which sacct has no exit code",
              slurm(allocation={"State": "CANCELLED by 0"}, JobState="CANCELLED", ExitCode="1:0")),
    broken("EVD-06", "exit code of the job differs between the records", slurm(ExitCode="1:0"),
           "1:0 (scontrol after the job)", "0:0 (sacct)"),
    broken("EVD-06", "state of the job differs between the records", slurm(allocation={"State": "CANCELLED by 0"}),
           "COMPLETED (scontrol after the job)", "CANCELLED (sacct)"),
    broken("EVD-06", "number of restarts of the job differs between the records", slurm(Restarts="1"),
           "0 (job in facts.jsonl)", "1 (scontrol after the job)"),
    broken("EVD-06", "submission time differs between Slurm and the journal", slurm(SubmitTime="1000"),
           f"1970-01-01 00:01:40 UTC to {AT_110}", "1970-01-01 00:16:40 UTC"),
    broken("EVD-06", "submission time differs between Slurm and the journal", slurm(SubmitTime="30"),
           f"1970-01-01 00:01:40 UTC to {AT_110}", "1970-01-01 00:00:30 UTC"),
    compliant("EVD-06", "a job that Slurm took an hour after it was put on record, once there was room for it",
              replace(slurm(SubmitTime="105"), attempt=builders.attempt(submitted=-3500.0))),
    broken("EVD-06", "sacct: the job step ran another program", slurm({"JobName": "sleep"}), "mdtest", "sleep"),
    broken("EVD-06", "sacct: the job step had a different node count", slurm({"NNodes": "1"}), "2", "1"),
    broken("EVD-06", "sacct: the job step ran on nodes outside the job", slurm({"NodeList": "n[2-3]"}),
           "n1, n2", "n2, n3"),
    broken("EVD-06", "the run is recorded as done, but sacct does not show its job step as completed",
           slurm({"State": "FAILED"}), "COMPLETED", "FAILED"),
    broken("EVD-06", "the run is recorded as done, but sacct shows an error of its job step",
           slurm({"ExitCode": "1:0"}), "0:0", "1:0"),
    broken("EVD-06", "sacct: the job step lies outside the run's time", slurm({"Start": "900", "End": "902"}),
           f"{AT_110} to {AT_112}", "1970-01-01 00:15:00 UTC to 1970-01-01 00:15:02 UTC"),
    broken("EVD-06", "sacct: the job step lies outside the run's time", slurm({"Start": "10", "End": "11"}),
           f"{AT_110} to {AT_112}", "1970-01-01 00:00:10 UTC to 1970-01-01 00:00:11 UTC"),
    broken("EVD-06", "phases in the output took longer than the job step in sacct",
           replace(slurm({"End": "110"}),
                   records=tuple(replace(record, elapsed_s=2.0) for record in builders.records())),
           "at most 1 s", "6 s"),
    broken("EVD-06", "mount table and statfs name different file systems on n1", mounted("tmpfs", "lustre"),
           "lustre", "tmpfs"),
    unchecked("EVD-06", "a crashed controller started the job again", restarted_job()),
    unchecked("RUN-02", "a crashed controller started the job again", restarted_job(StartTime="300", EndTime="300")),
    broken("RUN-02", "the run's times lie outside those of its job",
           restarted_job(JobId="18", StartTime="300", EndTime="300"),
           "1970-01-01 00:05:00 UTC to 1970-01-01 00:05:00 UTC", f"{AT_110} to {AT_112}"),
    unchecked("RUN-03", "a crashed controller started the job again, on another node",
              restarted_job(StartTime="300", EndTime="300", NodeList="n3")),
    # Of another job, or of a start that the run may belong to: a contradiction.
    broken("RUN-03", "node list differs between the records",
           restarted_job(StartTime="300", EndTime="300", NodeList="n3", SubmitTime="98"),
           "n1, n2 (job in facts.jsonl)", "n3 (scontrol after the job)"),
    broken("EVD-06", "start of the job differs between the records", restarted_job(SubmitTime="98"),
           "108 (scontrol during the job)", "117 (scontrol after the job)"),
    broken("EVD-06", "start of the job differs between the records", restarted_job(JobId="18"),
           "108 (scontrol during the job)", "117 (scontrol after the job)"),
    broken("EVD-06", "start of the job differs between the records", restarted_job(StartTime="109"),
           "108 (scontrol during the job)", "109 (scontrol after the job)"),
    unchecked("EVD-06", "no record of the run", case(Evidence())),
    unchecked("EVD-06", "no word of Slurm after the job", with_evidence(accounting=None)),
    #
    compliant("EVD-07", "one run after the other",
              runs_at((110, 112), (112, 114), steps=(*STEPS, step_row(1, 110, 112), step_row(2, 112, 114)))),
    compliant("EVD-07", "a step that failed, and one that srun repeated",
              runs_at((110, 112), steps=(*STEPS, step_row(1, 109, 110, state="FAILED"), step_row(2, 110, 112)))),
    compliant("EVD-07", "targets of different named storage side by side",
              runs_at((110, 112), (110, 112), steps=(*STEPS, step_row(1, 110, 112), step_row(2, 112, 113)),
                      storage=("a", "b"))),
    broken("EVD-07", f"measured at the same time as {FIRST} on the same storage",
           runs_at((110, 200), (150, 300)), "after 1970-01-01 00:03:20 UTC", "1970-01-01 00:02:30 UTC", SECOND),
    broken("EVD-07", f"measured at the same time as {FIRST} on the same storage",
           runs_at((110, 300), (150, 400), storage=("a", "a"), one_job=False),
           "after 1970-01-01 00:05:00 UTC", "1970-01-01 00:02:30 UTC", SECOND),
    broken("EVD-07", f"measured at the same time as {FIRST} on the same storage",
           side_by_side(job("108", "121", 110, 120), job("115", "126", 116, 125)),
           "after 1970-01-01 00:02:00 UTC", "1970-01-01 00:01:56 UTC", SECOND),
    broken("EVD-07", f"measured at the same time as {FIRST} on the same storage",
           side_by_side(job("", "", 110, 120), job("", "", 115, 125)),
           "after 1970-01-01 00:02:00 UTC", "1970-01-01 00:01:55 UTC", SECOND),
    compliant("EVD-07", "a node whose clock is 30 s ahead",
              side_by_side(job("108", "121", 140, 150), job("122", "132", 123, 131))),
    compliant("EVD-07", "a clock that was set during the job",
              side_by_side(job("108", "121", 110, 150), job("122", "132", 123, 131))),
    broken("EVD-07", "sacct shows a different number of benchmark runs in job 17 than submitted attempts",
           runs_at((110, 112), steps=(*STEPS, step_row(1, 105, 107), step_row(2, 110, 112))),
           "1, one for each recorded run", "2", FIRST),
    broken("EVD-07", "sacct shows a different number of benchmark runs in job 17 than submitted attempts",
           runs_at((110, 112), (112, 114), steps=(*STEPS, step_row(1, 110, 112))),
           "2, one for each recorded run", "1", FIRST),
    broken("EVD-07", "job steps 17.1 and 17.2 of sacct overlap in time",
           runs_at((110, 112), (112, 114), steps=(*STEPS, step_row(1, 110, 140), step_row(2, 112, 114))),
           "after 1970-01-01 00:02:20 UTC", AT_112, FIRST),
    compliant("EVD-07", "steps of phases that start together, on nodes of their own",
              at_once(step_row(1, 110, 300, nodes="n1"), step_row(2, 111, 140, nodes="n2"))),
    broken("EVD-07", "job steps 17.1 and 17.2 of sacct overlap in time",
           at_once(step_row(1, 110, 300, nodes="n[1-2]"), step_row(2, 111, 140, nodes="n2")),
           "after 1970-01-01 00:05:00 UTC", "1970-01-01 00:01:51 UTC", FIRST),
    broken("EVD-07", "job steps 17.1 and 17.2 of sacct overlap in time",
           at_once(step_row(1, 110, 300), step_row(2, 111, 140)),
           "after 1970-01-01 00:05:00 UTC", "1970-01-01 00:01:51 UTC", FIRST),
    broken("EVD-07", "job steps 17.1 and 17.2 of sacct overlap in time",
           at_once(step_row(1, 310, 480, nodes="n1"), step_row(2, 310, 480, nodes="n2")),
           "after 1970-01-01 00:08:00 UTC", "1970-01-01 00:05:10 UTC", FIRST),
    broken("EVD-07", "nodes were rebooted during the campaign",
           runs_at((110, 112), (112, 114), boots=("a", "b")), "no reboot of a node",
           f"n1 ({FIRST}, {SECOND})", severity=Severity.WARNING),
    broken("EVD-07", "jobs ran in another partition than that in plan.json",
           in_partition("small", "n1", "n2"), "small", "batch", severity=Severity.WARNING),
    broken("EVD-07", "jobs ran on nodes that plan.json does not list for the partition", in_partition("batch", "n1"),
           "partition batch: 2 nodes, all usable with 8 cores each; 1 down: n9 (down*)", "n2",
           severity=Severity.WARNING),
    compliant("EVD-07", "the planned partition", in_partition("batch", "n1", "n2")),
    compliant("EVD-07", "a node that was down when the campaign began", in_partition("long,batch", "n1", down="n2")),
    compliant("EVD-07", "a plan without the names of nodes", in_partition("batch")),
    broken("EVD-07", "several machines had the name n1: their boot ids alternate", on_machines("n1 a", "n1 b", "n1 a"),
           "another boot id only after a reboot", f"a, b, a (in {FIRST}, {SECOND}, {THIRD})"),
    broken("EVD-07", "several machines had the name n1: their boot ids alternate", on_machines("n1,n1 a,b"),
           "another boot id only after a reboot", f"a, b (in {FIRST})"),
    broken("EVD-07", "one machine had the names of several nodes in different jobs", on_machines("n1 a", "n2 a"),
           "one name for each boot id", "n1, n2 (boot id a)", severity=Severity.WARNING),
    compliant("EVD-07", "nodes of one machine that a job had together, which GEO-04 reports",
              on_machines("n1,n2 a,a", "n1 a", "n2 a")),
    compliant("EVD-07", "a machine for each node", on_machines("n1,n2 a,b", "n2 b", "n1 a")),
    broken("EVD-07",
           f"all values are identical to those of {FIRST}, to the last digit: one output is a copy of the other",
           copied(1234.567, 45678.91, 987.654), "its own values",
           "create 1234.567, stat 45678.91, remove 987.654", SECOND),
    compliant("EVD-07", "steps with the name of the prefix",
              all_prefixed(runs_at((110, 112), steps=(*STEPS, step_row(1, 110, 112, "numactl"))),
                           "/usr/bin/numactl", "-i")),
    broken("EVD-07", "sacct shows a different number of benchmark runs in job 17 than submitted attempts",
           all_prefixed(runs_at((110, 112), steps=(*STEPS, step_row(1, 110, 112, "env"),
                                                   step_row(2, 112, 114, "env"))),
                        "env", "A=1"), "1, one for each recorded run", "2", FIRST),
    unchecked("EVD-07", "a prefix with the name of the job's own probe",
              all_prefixed(runs_at((110, 112), steps=(*STEPS, step_row(1, 110, 112, "bash"))), "bash", "-c")),
    compliant("EVD-07", "outputs that name steps of their own", in_step("1", "2")),
    compliant("EVD-07", "steps of two jobs with one id, which a controller gives again that lost its state",
              in_step("1", "1", one_job=False)),
    broken("EVD-07", f"its output names the same job step as that of {FIRST}", numbered_again(is_copy=True),
           "its own job step", "17.1", SECOND),
    broken("EVD-07", f"its output names the same job step as that of {FIRST}", numbered_again(began=110, ended=114),
           "its own job step", "17.1", SECOND),
    broken("EVD-07", f"its output names the same job step as that of {FIRST}: {RESTORED}", in_step("1", "1"),
           "its own job step", "17.1", SECOND, Severity.WARNING),
    broken("EVD-07", f"its output names the same job step as that of {FIRST}: {RESTORED}",
           numbered_again(step_row(1, 112, 114)), "its own job step", "17.1", SECOND, Severity.WARNING),
    broken("EVD-07", f"its output names the same job step as that of {SECOND}", numbered_three_times(is_copy=True),
           "its own job step", "17.1", THIRD),
    broken("EVD-07", f"its output names the same job step as that of {SECOND}",
           numbered_three_times(began=112, ended=116), "its own job step", "17.1", THIRD),
    broken("EVD-07", f"its output names the same job step as that of {FIRST}: {RESTORED}", numbered_three_times(),
           "its own job step", "17.1", THIRD, Severity.WARNING),
    compliant("EVD-07", "a step with a name, and one that Slurm numbers beyond all others",
              runs_at((110, 112), steps=(*STEPS, step_row(1, 110, 112),
                                               {"JobIDRaw": "17.4294967290", "JobName": "x"}))),
    broken("EVD-07", "sacct lacks job steps of job 17: Slurm numbers the steps of a job without gaps",
           runs_at((110, 112), steps=(*STEPS, step_row(2, 110, 112))), "each number up to the last one", "1", FIRST,
           Severity.WARNING),
    compliant("EVD-07", "the same values with so few digits that chance gives them",
              copied(1000.0, 2000.0, 300.0)),
    unchecked("EVD-07", "no final record of the job", runs_at((110, 112))),
    disclosed("EVD-07", "the accounting has no job steps of the benchmark, so attempts cannot be counted (job-1)",
              without_steps(runs_at((110, 112)))),
    unchecked("EVD-07", "an accounting without the job's steps",
              without_steps(runs_at((110, 112)), has_accounting=True)),
    unchecked("EVD-07", "no accounting, and steps of another job",
              without_steps(runs_at((110, 112), (112, 114), steps=(*STEPS, step_row(1, 110, 112)), one_job=False))),
    unchecked("EVD-07", "nothing ended well", replace(good_submission(), results=())),
    #
    compliant("ENV-04", "as described", system("lustre", "Lustre 2.15 on EXAScaler")),
    compliant("ENV-04", "a product's name", system("nfs4", "VAST 5")),
    compliant("ENV-04", "FUSE", system("fuse.quobyte", "Quobyte 3")),
    broken("ENV-04", ENV_04, system("tmpfs", "Lustre 2.15"), "Lustre 2.15", "tmpfs", "scratch/*/*/*"),
    broken("ENV-04", ENV_04, system("tmpfs", "Lustre 2.15 (client cache in tmpfs)"),
           "Lustre 2.15 (client cache in tmpfs)", "tmpfs", "scratch/*/*/*"),
    broken("ENV-04", ENV_04, system("gpfs", "lossless compression, for less"), "lossless compression, for less", "gpfs",
           "scratch/*/*/*", Severity.WARNING),
    compliant("ENV-04", "a node's own file system", system("tmpfs", "tmpfs of Linux, with its default options")),
    compliant("ENV-04", "a node's own file system beside the shared one, in the target's description",
              system("ext4", "Lustre 2.15 on /scratch, ext4 on /local", nodes=1, of_target="node-local NVMe, ext4")),
    compliant("ENV-04", "a shared file system beside a node's own",
              system("lustre", "Lustre 2.15 on ZFS, ext4 on /local")),
    compliant("ENV-04", "a name with its version", system("nfs4", "NFSv4.2 of a filer")),
    compliant("ENV-04", "a product with its model", system("gpfs", "IBM ESS 3500")),
    broken("ENV-04", ENV_04, system("gpfs", "Lustre 2.15"), "Lustre 2.15", "gpfs", "scratch/*/*/*", Severity.WARNING),
    unchecked("ENV-04", "a file system that is not described", system("xfs", "", nodes=1)),
    disclosed(
        "ENV-04",
        "the file system of scratch is not described; fill in 'file system' under system, or the target's description "
        "(the nodes mounted xfs)",
        system("xfs", "<name, version and configuration>", "rehearsal"),
        subject="scratch/*/*/*",
    ),
    rehearsed("ENV-04", ENV_04, system("tmpfs", "Lustre", "rehearsal"), "Lustre", "tmpfs", "scratch/*/*/*"),
    unchecked("ENV-04", "no mount table", system("", "Lustre 2.15")),
    #
    broken("ENV-02", UNSAID, tuned(UCX_TLS="rc", OMPI_MCA_pml="ucx"), NAMED, "OMPI_MCA_pml, UCX_TLS"),
    compliant("ENV-02", "variables that are described or exported",
              tuned("UCX_TLS=rc", (("OMPI_MCA_pml", "ucx"),), UCX_TLS="rc", OMPI_MCA_pml="ucx")),
    compliant("ENV-02", "variables that Slurm sets in each job",
              tuned(slurms=("PRTE_MCA_plm_slurm_args",), PRTE_MCA_plm_slurm_args="--external-launcher")),
    broken("ENV-02", UNSAID, tuned(slurms=("PRTE_MCA_plm_slurm_args",), I_MPI_HYDRA_BOOTSTRAP="ssh"), NAMED,
           "I_MPI_HYDRA_BOOTSTRAP"),
]  # fmt: skip

"""The rules that compare the records of one attempt with each other (RUN-02, RUN-03, EVD-06). Pure.

What driver, job, Slurm and benchmark recorded of one execution must be consistent. A missing record contradicts
nothing: that is "not checked".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from campaign.core.findings import Finding
from campaign.core.records import Completion
from campaign.core.strict_yaml import quoted
from campaign.core.units import distinct_digits, listing, utc
from campaign.judge.agreement import (
    JOB_FACTS,
    JOB_NAME,
    JOURNAL_TIMES,
    ORDER,
    RUN_TIMES,
    SLURM_FACTS,
    Value,
    compare,
    disagreement,
    slurm_span,
)
from campaign.judge.attestation import check_attestations
from campaign.judge.findings import (
    first_problem,
    merged_phases,
    missing_output_form,
    note,
    to_explain,
    unchecked,
    unprovable,
    violation,
)
from campaign.judge.job_facts import (
    CONTROLLER_S,
    SET_S,
    STARTED_AGAIN,
    TOLERANCE_S,
    accounting,
    clock_set_s,
    is_started_again,
    printed_times,
    set_back_s,
    shortest_phases_s,
    step_state,
    times_of_step,
)
from campaign.judge.rule import Needs, attempt_rule
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting, Environment
from campaign.results.environment.slurm_text import expand_nodes


@attempt_rule(
    "RUN-02",
    "the times in the output lie within those of the run and of the job",
    why="times that do not match the job suggest that the output is from another run",
    remedy="check the clocks of the nodes, and repeat the run: campaign rerun FILE CELL",
    is_about_records=True,
)
def check_times(case: Case) -> Iterator[Finding]:
    """The output's times, by each clock, compared with the job's record and the job's times; the sum of the phases
    compared with the run.
    """
    completion = case.evidence.completion
    if completion is None:
        yield unchecked(
            "facts.jsonl is missing", remedy="restore facts.jsonl, or run the result again: campaign rerun FILE CELL"
        )
        return
    window, back_s = (completion.started, completion.ended), set_back_s(case)
    output_times, unclear = printed_times(case)
    if unclear:
        yield unclear
    for name, time in output_times.items():
        values: dict[str, Value] = {"job in facts.jsonl": window, "output": time}
        yield from disagreement(name, values, TOLERANCE_S + back_s, "outside the run: the output's {what}")
    yield from check_phases_fit(case, window[1] - window[0] + back_s, "phases in the output took longer than the run")
    if is_started_again(case):
        yield unchecked(STARTED_AGAIN)
    if slurm_span(case) is None:
        yield unchecked(
            "job start and end were not recorded by Slurm",
            remedy="collect while Slurm has the job's record: campaign collect FILE",
        )
    yield from compare(RUN_TIMES, case)


def check_phases_fit(case: Case, lasted_s: float, message: str) -> Iterator[Finding]:
    """The phases of the output fit into the time that something lasted."""
    took = shortest_phases_s(case)
    if took > lasted_s + TOLERANCE_S:
        longest, actual = distinct_digits(lasted_s, took)
        yield violation(message, f"at most {longest} s", f"{actual} s")


@attempt_rule(
    "RUN-03",
    "job id, nodes and task count agree between output, job records and Slurm's accounting",
    why="records that contradict each other suggest that the output is from another job",
    remedy="compare the records with Slurm's accounting, and repeat the run: campaign rerun FILE CELL",
    is_about_records=True,
)
def check_job(case: Case) -> Iterator[Finding]:
    """Job id, nodes and tasks. Not checked: one of the three is missing; asked only while the job was COMPLETING; no
    accounting; Slurm forgot the job in a crash and started it again.
    """
    completion, environment, final = case.evidence.completion, case.evidence.environment, accounting(case)
    if completion is None or not environment.recorded:
        yield unchecked("the job's records are missing{why}", why=first_problem(environment))
        return
    yield from compare(JOB_FACTS, case)
    yield from _check_job_name(case)
    job_nodes, is_other_start = environment.job_nodes, is_started_again(case)
    if is_other_start:
        yield unchecked(STARTED_AGAIN)
    elif not final.ended:
        yield from _check_completing_nodes(final, job_nodes)
    output_nodes = set(case.observation.node_names)
    if len(job_nodes) == case.observation.nodes and output_nodes and output_nodes < set(job_nodes):
        yield violation(
            "the output names fewer nodes than it ran on", listing(job_nodes), listing(sorted(output_nodes))
        )
    yield from _check_task_count(case)
    if not is_other_start:
        yield from _check_job_step(case)


def _check_job_name(case: Case) -> Iterator[Finding]:
    """A site, or its plugin, may rename a job: it is recognised by the folder in which it was submitted."""
    records = (case.evidence.environment.job, accounting(case).job)
    folders = {fields["WorkDir"].rpartition("/")[2] for fields in records if "WorkDir" in fields}
    names = {str(name) for read in JOB_NAME.sources.values() if (name := read(case))}
    if folders != {case.attempt.job}:
        yield from compare([JOB_NAME], case)
    elif other_names := names - {case.attempt.job}:
        yield note(
            "the job was renamed after campaign submitted it; its id and directory are the same",
            case.attempt.job,
            listing(sorted(other_names)),
        )


def _check_task_count(case: Case) -> Iterator[Finding]:
    """The job had at least as many tasks as processes ran."""
    processes = case.observation.processes
    if processes is None:
        yield missing_output_form(case)("process count not in the output")
        return
    tasks_by_source = {
        "host in facts.jsonl": case.evidence.environment.variables.get("SLURM_NTASKS"),
        "scontrol": accounting(case).job.get("NumTasks"),
    }
    for source, tasks in tasks_by_source.items():
        if tasks and tasks.isdigit() and int(tasks) < processes:
            yield violation(
                "more processes ran than the job had tasks (according to {source})",
                f"at most {tasks}",
                processes,
                source=source,
            )


def _check_completing_nodes(final: Accounting, job_nodes: Sequence[str]) -> Iterator[Finding]:
    """What slurmctld lists while a job is COMPLETING: the nodes whose Epilog still runs."""
    completing = expand_nodes(final.job.get("NodeList", "")) or ()
    if set(completing) - set(job_nodes):
        yield violation(
            "Slurm lists nodes that were not in the job",
            f"{listing(job_nodes)} or fewer while the job is COMPLETING",
            listing(completing),
        )
    elif not final.allocation.get("NodeList"):
        yield unchecked(
            "job nodes not confirmed: Slurm reported the job as {state}",
            state=final.job.get("JobState", "active"),
            remedy="collect while Slurm has the job's record: campaign collect FILE",
        )


def _check_job_step(case: Case) -> Iterator[Finding]:
    final, observation = accounting(case), case.observation
    if not final.steps:
        if not final.job:  # otherwise Slurm has no accounting
            yield unchecked(
                "Slurm's final record of the job is missing",
                remedy="collect while Slurm has the job's record: campaign collect FILE",
            )
        return
    if observation.step_id is None and not case.run.launcher.is_srun:
        yield unprovable(
            "{program} starts the ranks itself: sacct shows no job step for them", program=case.run.launcher.program
        )
        return
    if observation.step_id is None:
        missing = unchecked(
            "sacct shows no matching job step (yet)",
            remedy="collect when sacct has the job's steps: campaign collect FILE",
        )
        steps = [row for row in final.steps if _may_be_step_of(case, row)]
    else:
        name = f"{case.attempt.job_id}.{observation.step_id}"
        missing = unchecked(
            "sacct shows no job step {step} (yet)",
            step=name,
            remedy="collect when sacct has the job's steps: campaign collect FILE",
        )
        steps = [row for row in final.steps if row.get("JobIDRaw") == name]
    if not steps:
        yield missing
        return
    step = next((row for row in steps if row.get("NTasks") == str(observation.processes)), steps[0])
    tasks = step.get("NTasks", "")
    if tasks.isdigit() and observation.processes is not None and int(tasks) != observation.processes:
        yield violation("sacct shows a different task count", f"{observation.processes} in the output", tasks)
    nodes = expand_nodes(step.get("NodeList", ""))
    if nodes is not None and observation.node_names and set(nodes) != set(observation.node_names):
        yield violation(
            "sacct shows different nodes", f"{listing(observation.node_names)} in the output", listing(nodes)
        )


def _may_be_step_of(case: Case, step: Mapping[str, str]) -> bool:
    """Whether a step in the accounting may be this attempt's, if the output does not name its step."""
    completion, times = case.evidence.completion, times_of_step(step)
    return (
        completion is not None
        and times is not None
        and times[0] <= completion.ended + TOLERANCE_S
        and completion.started - TOLERANCE_S <= times[1]
        and step.get("JobName") in {command.step for command in case.run.launched}
    )


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
    remedy="submit the original records, or repeat the run: campaign rerun FILE CELL",
    is_always_judged=True,
    is_about_records=True,
    needs=Needs.RECORDS,
    is_about_run=True,
)
def check_records(case: Case) -> Iterator[Finding]:
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
        yield changed_file(f"runs/{case.subject}/{file.name}", file.recorded, file.found or "no such file")
    yield from _check_journal(case)
    yield from compare(ORDER, case)
    yield from _check_slurm(case)
    environment = case.evidence.environment
    yield from _check_file_system(environment)
    if len(case.phases) > 1:  # also between them
        yield from _check_clock(case)
    yield from merged_phases(case, {name: [*_check_phase(phase)] for name, phase in case.phases.items()})


def _check_phase(case: Case) -> Iterator[Finding]:
    """What the output of one phase says against the records of its run. `case`: of the phase."""
    observation = case.observation
    yield from (violation("{contradiction}", contradiction=text) for text in observation.contradictions)
    if case.evidence.completion is not None:
        yield from _check_clock(case)
        if observation.began is not None and observation.ended is not None:
            message = "phases in the output took longer than the program ran by its own clock"
            yield from check_phases_fit(case, observation.ended - observation.began + set_back_s(case), message)
    yield from _check_step(case)
    yield from check_attestations(case)


def changed_file(place: str, recorded_hash: str, actual_hash: str) -> Finding:
    return violation(
        "{place} differs from the file whose hash the journal recorded at the end of the run",
        recorded_hash,
        actual_hash,
        place=quoted(place),
    )


def _check_journal(case: Case) -> Iterator[Finding]:
    """The journal's record of the attempt against the job's."""
    completion = case.evidence.completion
    if completion is None:
        yield unchecked(
            "facts.jsonl is missing: nothing to compare the other records with",
            remedy="restore facts.jsonl, or run the result again: campaign rerun FILE CELL",
        )
        return
    yield from compare(JOURNAL_TIMES, case)
    back_s = set_back_s(case)
    times = [(completion.started, completion.ended), *((phase.started, phase.ended) for phase in completion.phases)]
    for start, end in [(start, end) for start, end in times if end + back_s < start][:1]:
        yield violation("the run ended before it started", utc(start), utc(end))


_CLOCK_SET = "the clock of the job's first node was set during the run"


def _check_clock(case: Case) -> Iterator[Finding]:
    """A clock that was corrected during the run is no contradiction: lengths are measured by the kernel's clock. The
    built-in benchmark also read both clocks; of several phases each is compared by itself, since the clock may have
    been set between them.
    """
    by_s = clock_set_s(case)
    if abs(by_s) > CONTROLLER_S:
        yield violation(
            _CLOCK_SET,
            f"by at most {CONTROLLER_S:.0f} s, as sites correct their clocks",
            f"by {by_s:+.1f} s",
        )
    elif abs(by_s) > SET_S:
        benchmarks_s = _clock_set_by_benchmark_s(case) if len(case.run.launched) == 1 else None
        is_other = benchmarks_s is not None and abs(benchmarks_s - by_s) > TOLERANCE_S
        expected = "" if benchmarks_s is None else f"by {benchmarks_s:+.1f} s"
        yield (to_explain if is_other else note)(_CLOCK_SET, expected, f"by {by_s:+.1f} s")


def _clock_set_by_benchmark_s(case: Case) -> float | None:
    """Seconds by which the clock was changed while the built-in benchmark of a run of one phase ran; None if that is
    not recorded.
    """
    observation, attestation = case.observation, case.observation.attestation
    if attestation is None or attestation.clock_s is None or observation.began is None or observation.ended is None:
        return None
    return observation.ended - observation.began - attestation.clock_s


def _check_slurm(case: Case) -> Iterator[Finding]:
    """Slurm's records during the job, after it, and in its accounting; and the job's own variables."""
    if not accounting(case).job and not accounting(case).steps:
        yield unchecked(
            "Slurm's final record of the job is missing: nothing to compare the job's record with",
            remedy="collect while Slurm has the job's record: campaign collect FILE",
        )
        return
    if is_started_again(case):
        # Slurm has no record of this start; only what the job was submitted with is the same for each start.
        yield unchecked(STARTED_AGAIN)
    yield from compare(SLURM_FACTS, case)


def _check_step(case: Case) -> Iterator[Finding]:
    """The execution's step in the accounting: how it ended, how long it took, where it ran."""
    completion = case.evidence.completion
    if completion is None or case.observation.step_id is None or len(case.run.launched) > 1:
        return  # phases are steps of their own, on nodes of their own
    name = f"{completion.job_id}.{case.observation.step_id}"
    step = next((row for row in accounting(case).steps if row.get("JobIDRaw") == name), None)
    if step is None:
        return  # RUN-03 reports it
    yield from _check_step_end(case, completion, step)
    program = case.run.commands[0].step
    if step.get("JobName", program) != program:
        yield violation("sacct: the job step ran another program", program, step["JobName"])
    if (nodes := step.get("NNodes", "")).isdigit() and int(nodes) != case.run.geometry.nodes:
        yield violation("sacct: the job step had a different node count", case.run.geometry.nodes, nodes)
    job_nodes, ran = expand_nodes(completion.nodes), expand_nodes(step.get("NodeList", ""))
    if job_nodes and ran and set(ran) - set(job_nodes):
        yield violation("sacct: the job step ran on nodes outside the job", listing(job_nodes), listing(ran))


def _check_step_end(case: Case, completion: Completion, step: Mapping[str, str]) -> Iterator[Finding]:
    state, code = step_state(step), step.get("ExitCode", "")
    if completion.outcome == "done" and state and state != "COMPLETED":
        yield violation(
            "the run is recorded as done, but sacct does not show its job step as completed", "COMPLETED", state
        )
    if completion.outcome == "done" and code and code != "0:0":
        yield violation("the run is recorded as done, but sacct shows an error of its job step", "0:0", code)
    if (times := times_of_step(step)) is None:
        return
    span = {"job in facts.jsonl": (completion.started, completion.ended), "sacct": times}
    yield from disagreement("step", span, CONTROLLER_S, "sacct: the job step lies outside the run's time")
    start, end = times
    lasted = end - start + 1.0 + set_back_s(case)  # both times are cut to a second
    yield from check_phases_fit(case, lasted, "phases in the output took longer than the job step in sacct")


def _check_file_system(environment: Environment) -> Iterator[Finding]:
    """Mount table and statfs name the same kind of file system, node by node."""
    statfs = environment.by_node("fs.type")
    for node, mounted in environment.by_node("mount.type").items():
        statfs_type = statfs.get(node, "").partition(" (")[0]
        kinds = _KINDS.get(mounted), _KINDS.get(statfs_type)
        if None not in kinds and kinds[0] != kinds[1]:
            yield violation(
                "mount table and statfs name different file systems on {node}", mounted, statfs_type, node=node
            )
            return

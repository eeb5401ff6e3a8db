"""The rules about how one run went: its end, output, nodes, directory and energy (RUN-01, RUN-04 to RUN-06, RUN-10,
STA-05). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from campaign.config.values import resolved_in_job
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.records import Completion
from campaign.core.runs import State
from campaign.core.units import digits, listing, may_be_negative, utc
from campaign.judge.attestation import NO_JSON_LINES
from campaign.judge.findings import (
    BUILTIN,
    at_full_size,
    note,
    to_explain,
    to_explain_at_full_size,
    unchecked,
    violation,
)
from campaign.judge.job_facts import (
    TOLERANCE_S,
    WITNESS,
    accounting,
    clock_ahead_s,
    is_started_again,
    seconds,
    times_of_step,
)
from campaign.judge.rule import Needs, attempt_rule, campaign_rule
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.energy import SLURM


@attempt_rule(
    "RUN-01",
    "the run finished with exit status 0 and was neither requeued nor suspended",
    why="a run that failed, was started twice, or stood still while the clock went on has no trustworthy value",
    remedy="find the cause in the run's stdout and stderr, then repeat it: campaign rerun FILE CELL",
    needs=Needs.NOTHING,
    is_about_run=True,
)
def check_end(case: Case) -> Iterator[Finding]:
    """The job's own record. Suspension (`scontrol suspend`, gang scheduling, preemption) also by scontrol's SuspendTime
    and sacct's Suspended of the run's steps. A benchmark that printed its last line and did not end, so that the job
    ended it a minute later, has to be explained (W); its results stay valid.
    """
    yield from check_suspension(case)
    if case.attempt.state is not State.DONE:
        yield violation(
            "the run ended as {state}: {reason}", "done", state=case.attempt.state, reason=case.attempt.reason
        )
    elif case.evidence.completion and (line := case.evidence.completion.unended):
        yield to_explain_at_full_size(case.full)(
            "the benchmark printed its last line, after all results, and did not end; the job ended it a minute later",
            "its processes end by themselves",
            line,
        )


@attempt_rule(
    "RUN-06",
    "the output is complete and free of errors, and every rate is above zero",
    why="a run with errors or an incomplete output may not have done the work that it reports",
    remedy="find the cause in the run's stdout and stderr, then repeat it: campaign rerun FILE CELL",
    needs=Needs.NOTHING,
)
def check_output(case: Case) -> Iterator[Finding]:
    """Errors on stdout and stderr, failed operations, the closing line, a rate above zero for each operation;
    unrecognised lines are noted.
    """
    observation, is_done = case.observation, case.attempt.state is State.DONE
    # RUN-01 reports a run that failed, with the output's message if there is one.
    if is_done or not any(text.file and text.file in case.attempt.reason for text in observation.errors):
        yield from (violation("error in the benchmark output: {line}", line=text) for text in observation.errors)
    if not is_done:
        return
    for warning in observation.warnings:
        # Every attempt has its own directory; without the path, equal warnings of several attempts are reported once.
        words = warning.text.replace(case.directory, f"{case.directory.rpartition('-')[0]}-TOKEN")
        yield note("warning in the benchmark output: {line}", "", warning.place, line=words)
    if observation.program.startswith(BUILTIN) and observation.binary_sha256 is None:
        yield unchecked(NO_JSON_LINES, program=observation.program)
    if observation.failed_operations:
        yield violation("operations failed", 0, observation.failed_operations)
    if not observation.complete:
        yield violation("the benchmark output is incomplete (no closing line)")
    results = {operation.id: record for operation, record in case.results}
    for operation in case.operations:
        record = results.get(operation.id)
        if record is None:
            # The output's records that belong to no operation are of another size or program.
            keys = {operation_of_record.key for operation_of_record in case.operations}
            other_operations = listing(
                operation_of_record.operation
                for operation_of_record in case.records
                if operation_of_record.operation not in keys
            )
            instead = (operation.key, other_operations) if operation.record and other_operations else ()
            yield violation("no result for {name} in the output", *instead, name=operation.id)
        elif not record.value > 0 and not (record.value < 0 and may_be_negative(record.unit)):  # also true for NaN
            yield violation("the rate of {name} is not above zero", "> 0", record.value, name=operation.id)
    for text in observation.unparsed:
        yield note("unrecognised output line: {line}", line=text)


@attempt_rule(
    "STA-05",
    "values have the unit that the rules ask for and are not rounded without explanation",
    why="values in other units, or rounded ones, cannot be compared or traced to a log",
    remedy="report the value and unit exactly as the benchmark printed them",
)
def check_units(case: Case) -> Iterator[Finding]:
    """The unit of each record; in a table alone, whether most numbers are multiples of 100."""
    for operation, record in case.results:
        printed_record = (case.record(operation.key) if operation.printed_unit else record) or record
        required_unit = operation.printed_unit or operation.unit
        if printed_record.unit != required_unit:
            yield violation(
                "unit of {name} differs from the rule pack's", required_unit, printed_record.unit, name=operation.id
            )


@attempt_rule(
    "RUN-04",
    "nodes were exclusive; other load on the cluster is disclosed",
    why="other users' jobs on the same nodes change the result, usually for the worse",
    remedy="measure again in a partition whose nodes no other job can use, or explain the sharing",
    severity=Severity.WARNING,
)
def check_exclusive_nodes(case: Case) -> Iterator[Finding]:
    """Slurm's record on sharing the nodes (`OverSubscribe`); other jobs are noted."""
    environment = case.evidence.environment
    job = accounting(case).job or environment.job
    sharing = job.get("OverSubscribe", job.get("Shared"))
    if sharing is None:
        yield unchecked("cannot tell whether the nodes were exclusive: no Slurm record")
    elif sharing not in ("NO", "EXCLUSIVE", "0"):
        yield to_explain(
            "other jobs may have shared the nodes", "OverSubscribe=NO (scontrol)", f"OverSubscribe={sharing} (scontrol)"
        )
    if environment.other_jobs is None:
        yield unchecked("cannot tell whether other jobs used the file system: no Slurm record")
    elif environment.other_jobs:
        yield note(
            "other jobs were running on the cluster and may have used the file system", "none", environment.other_jobs
        )


@attempt_rule(
    "RUN-05",
    "the directory was empty before and after the run; capacity and inode counts are recorded",
    why="files left from earlier runs, or a full file system, change metadata rates",
    remedy="remove what was left in the target's directory, and repeat the run: campaign rerun FILE CELL",
    is_about_run=True,
)
def check_clean_directory(case: Case) -> Iterator[Finding]:
    """The job created the directory, the files left in it, capacity and inodes before and after; where a job resolved a
    target of its own, and the commands that prepared it, compared with the campaign file. Ranks of an external
    benchmark that began to work in another directory; noted if the command line names the attempt's.
    """
    evidence = case.evidence
    yield from _check_own_target(case)
    if evidence.made is None or evidence.completion is None:
        yield unchecked(
            "directory state before and after the run was not recorded",
            remedy="run the result again: campaign rerun FILE CELL",
        )
    elif not evidence.made and case.attempt.state is State.DONE:
        yield violation("the job did not create the directory; its earlier contents are unknown")
    left = evidence.completion.leftover_files if evidence.completion else 0
    if left:
        removes = any(operation.record == "remove" for operation in case.operations)
        yield (violation if removes else note)(
            "the benchmark left files behind; the job removed them", "0 files", f"{left} files"
        )
    if elsewhere := evidence.witness.other_directories:
        is_named = all(any("{directory}" in word for word in command.arguments) for command in case.run.launched)
        yield (note if is_named else violation)(
            "ranks began to work in another directory than the attempt's", case.directory, listing(elsewhere)
        )
    if evidence.before is None or evidence.after is None:
        yield unchecked(
            "file system capacity and inode counts were not recorded",
            remedy="run the result again: campaign rerun FILE CELL",
        )


def _check_own_target(case: Case) -> Iterator[Finding]:
    """What the job recorded of a target that exists only in it, and of the commands before the run."""
    run, environment = case.run, case.evidence.environment
    if run.is_in_job and environment.directory:
        directory = resolved_in_job(run.directory, environment.variables)
        if not directory.fullmatch(environment.directory):
            yield violation(
                "the job measured in another directory than the target's",
                run.directory,
                environment.directory,
                remedy="run the result again in the target's directory: campaign rerun FILE CELL",
            )
    commands = tuple(entry.command for entry in case.evidence.prepared)
    if run.prepare and not commands:
        yield unchecked(
            "the commands before the run were not recorded", remedy="run the result again: campaign rerun FILE CELL"
        )
    elif commands != run.prepare:
        yield violation(
            "other commands were executed before the run than planned",
            listing(run.prepare) or "none",
            listing(commands),
            remedy="run the result again with the planned commands: campaign rerun FILE CELL",
        )


# --- time in which the job was suspended (`scontrol suspend`, gang scheduling, preemption): phases go on by the clock


def check_suspension(case: Case) -> Iterator[Finding]:
    """Whether Slurm suspended the job during the run: by the job's own record, Slurm's final one, and its steps."""
    completion = case.evidence.completion
    if completion is None:
        return
    resumed, (behind, ahead) = None, clock_ahead_s([case])
    if not is_started_again(case):
        resumed = seconds(accounting(case).job.get("SuspendTime"))  # of the last time, when it went on
    suspensions = [*_suspensions(case, completion)]
    if resumed and completion.started <= resumed + behind and resumed + ahead <= completion.ended:
        suspensions.append(f"until {utc(resumed)} (scontrol)")
    if suspensions:
        yield violation(
            "Slurm suspended the job during the run: that time counts in its results",
            "not suspended",
            listing(suspensions),
            remedy="run the result again: campaign rerun FILE CELL",
        )
    elif resumed and completion.suspended is None and completion.started <= resumed + ahead:
        yield unchecked(
            "Slurm suspended the job until {time}; the job did not record whether that was during the run",
            time=utc(resumed),
        )
    elif (
        completion.suspended is None
        and (total := _suspended_time(accounting(case).allocation))
        and not is_started_again(case)
    ):
        yield unchecked(
            "Slurm suspended the job for {time} (sacct); the job did not record whether that was during the run",
            time=total,
        )


def _suspended_time(row: Mapping[str, str]) -> str:
    """For how long a job or step was suspended by sacct, as [D-]HH:MM:SS; "" if it was not."""
    text = row.get("Suspended", "")
    return text if re.search("[1-9]", text) else ""


def _suspensions(case: Case, completion: Completion) -> Iterator[str]:
    times = completion.suspended or ()
    for start, end in zip(times[::2], times[1::2], strict=False):
        if start > completion.ended or end < completion.started:
            continue  # before the benchmark was started, or after it had ended
        yield f"{end - start:.0f} s from {utc(start)} (facts.jsonl)"
    for step in accounting(case).steps:
        if _may_have_ranks(case, step) and _suspended_time(step):
            # Within the run: the steps of other runs of the job begin right after it, or end right before it.
            lasted = times_of_step(step)
            if lasted and completion.started - TOLERANCE_S <= lasted[0] and lasted[1] <= completion.ended + TOLERANCE_S:
                yield f"{step['Suspended']} in step {step.get('JobIDRaw')} (sacct)"


def _may_have_ranks(case: Case, step: Mapping[str, str]) -> bool:
    """Whether a step may have started ranks: by its name if srun did; otherwise any that is not the witness's, since
    other launchers start daemons (`orted`, `prted`, `hydra_bstrap_proxy`) as steps.
    """
    name = step.get("JobName")
    if case.run.launcher.is_srun:
        return name in {command.step for command in case.run.launched}
    _, _, number = step.get("JobIDRaw", "").partition(".")
    return number.isdigit() and name != WITNESS


# --- the energy of the runs


NODE_W = (1.0, 100e3)  # mean powers of a node that may be true


@campaign_rule(
    "RUN-10",
    "energy and peak power of each run are recorded, with the method and level that the rules require",
    why="energy that was not measured on all nodes for the whole run, or by a lower level, cannot be compared",
    remedy="name the source in the campaign file (energy), and repeat the runs: campaign rerun FILE CELL",
    needs=Needs.NUMBERS,
)
def check_energy(submission: Submission) -> Iterator[Finding]:
    """The declared level; readings of all nodes around the whole run, or the step's energy in the accounting. A counter
    that began again at 0 is noted; an impossible mean power: W.
    """
    demand, energy_source = submission.pack.energy, submission.campaign.energy
    results = [case for case in submission.results if case.valid and case.complete]
    lower = demand.level is not None and (energy_source.level or 0) < demand.level
    if lower and energy_source.source:
        form = at_full_size(violation, submission.full)
        level = energy_source.level or "not declared"
        cells = [row.cell for row in submission.planned_rows]
        wording = "the energy was measured by a lower level of the Green500's methods than clause {clause} requires"
        yield from submission.per_line(form, cells, wording, f"level {demand.level}", level, clause=demand.clause)
    findings_and_cells = [
        (finding, cell) for case in results for finding in _check_run_energy(case) for cell in case.run.cells()
    ]
    cells_by_finding = grouped(((finding, finding.message), cell) for finding, cell in findings_and_cells)
    for (finding, _), of_finding in cells_by_finding.items():
        yield from submission.per_line(lambda about, original=finding: replace(original, subject=about), of_finding)


def _check_run_energy(case: Case) -> Iterator[Finding]:
    metered, completion = case.metered, case.evidence.completion
    if metered.joules is None or completion is None:
        yield unchecked("energy not recorded: {why}", why=metered.problem)
        return
    if metered.peak_w is None and case.pack.energy.peak:
        yield unchecked("peak power not recorded: its source gives no readings during the run")
    seconds, job_node_count = completion.ended - completion.started, len(case.evidence.environment.job_nodes)
    each_w = metered.joules / max(seconds, 1.0) / case.run.job_nodes
    if not NODE_W[0] <= each_w <= NODE_W[1]:
        wording = "the mean power of a node cannot be true: the source did not read what it should"
        yield to_explain(wording, "1 W to 100 kW", f"{digits(each_w)} W")
    if job_node_count > case.run.job_nodes and case.run.energy not in ("", SLURM):
        yield to_explain(
            "the energy includes nodes that the run did not use",
            case.run.job_nodes,
            f"{job_node_count} nodes",
            remedy="set slurm.allocation: run and run again, or explain the nodes",
        )
    if metered.turned_over:
        yield note(
            "energy counters began again at 0 during the run; this is corrected", "", f"{metered.turned_over} times"
        )

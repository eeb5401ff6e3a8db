"""The rules that compare one attempt's output with what the job and Slurm recorded around it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from campaign.core.grouping import grouped
from campaign.core.model import Completion, Finding, Record, Severity, State
from campaign.core.units import apart, listed, utc
from campaign.judge.attested import attestations
from campaign.judge.findings import disagreement, doubt, not_printed, note, to_explain, unchecked, unprovable, violation
from campaign.judge.rule import DecidedBy, attempt_rule
from campaign.judge.timing import RATE, phase_seconds
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting, Environment
from campaign.results.environment.slurm_text import expand_nodes

TOLERANCE_S = 2.0  # between clocks of one job's nodes, beyond their measured offset: a printed time is cut to 1 s
CONTROLLER_S = 60.0  # between Slurm's and other clocks, whose offset was not measured, or may be that large
SET_S = 1.0  # drift of a clock during a run that is not taken for a change of its time
WITNESS = "witness"  # the step that records nodes and ranks before and after a run
_IDENTITY = ("JobId", "SubmitTime")  # an id alone may have been reused for another job

# Variables that make MPI, the topology library, a benchmark or a preloaded library see other nodes than there are.
_FAKING = re.compile(
    r"IOR_FAKE_\w+|NSS_WRAPPER_\w+|UID_WRAPPER\w*|FAKETIME\w*|LIBFAKE\w*|FAKEROOT\w*|FAKECHROOT\w*|HOSTALIASES|PMIX_HOSTNAME"
    r"|HWLOC_(?:XMLFILE|SYNTHETIC|FSROOT)|OMPI_COMM_WORLD_\w+|PMI_(?:RANK|SIZE|FD)"
    r"|(?:OMPI|PRTE|PMIX)_MCA_\w*(?:hostname|nodename|topo_file|simulator|ras_simulator)\w*"
)
_FAKING_LIBRARY = re.compile(r"fake|host_?name|nss_wrapper|uid_wrapper|socket_wrapper|libtime", re.IGNORECASE)
# File systems with a client on each node.
_NETWORK = re.compile(r"nfs4?|lustre|beegfs|gpfs|ceph|cifs|smb3|9p|orangefs|panfs|fuse\.(?!fuse-overlayfs$).+")


@attempt_rule(
    "GEO-04",
    "nothing in the environment fakes nodes, and each node is a separate machine",
    why="faked or shared nodes make one machine look like a cluster",
    remedy="run the result again on separate nodes without the named variables or libraries, or explain the nodes",
    decided_by=DecidedBy.PLAN | DecidedBy.RECORDS,
)
def topology_is_real(case: Case) -> Iterator[Finding]:
    """Variables and preloaded libraries that fake nodes; nodes of output or ranks that are not the job's; several nodes
    on one machine, by `boot` (W; in a rehearsal noted); on a network file system, several nodes with one client (by
    the device of the mount).
    """
    environment = case.evidence.environment
    if not environment.recorded:
        yield unchecked("the job's environment was not recorded{why}", why=_why(environment))
        return
    groups = [group for _, said in attestations(case) for group in said.groups]
    inside = {name: text for group in groups for name, text in group.variables.items()}
    yield from (_faked(name, inside[name]) for name in filter(_FAKING.fullmatch, inside) if not environment.told(name))
    yield from environment.once("job is real", lambda: tuple(_job_is_real(environment)))
    # By the output, or by the job's test before it, in the order of their first ranks.
    names = dict.fromkeys(case.seen.node_names or case.placement)
    if not names:
        yield not_printed(case)("node names not in the output")
        return
    spoke, had = environment.answered, environment.job_nodes
    # Also where its ranks ran, as processes on the nodes saw them.
    seen = dict.fromkeys((*names, *case.evidence.witness.nodes))
    if foreign := [name for name in seen if name not in spoke and name not in had]:
        yield violation("the output names nodes that were not in the job", listed(had), listed(foreign))
        return
    machines = grouped((spoke[name].boot if name in spoke else "", name) for name in names)
    if "" in machines:
        yield unchecked("cannot tell whether these nodes are separate machines: {nodes}", nodes=listed(machines[""]))
    for boot, alike in machines.items():
        if boot and len(alike) > 1:
            yield _of_one_machine(case, alike)


def _faked(name: str, text: str) -> Finding:
    return violation("{name} can fake nodes, names or times", "not set", text, name=name)


def _job_is_real(environment: Environment) -> Iterator[Finding]:
    """The variables, the number of nodes, and what was preloaded, as the job and its nodes report it."""
    of_nodes = (fact.removeprefix("env.") for fact in environment.facts)
    for name in filter(_FAKING.fullmatch, dict.fromkeys((*environment.variables, *of_nodes))):
        yield _faked(name, environment.told(name))
    had = environment.job_nodes
    for name in ("SLURM_NNODES", "SLURM_JOB_NUM_NODES"):
        text = environment.told(name)
        if text.isdigit() and int(text) != len(had):
            yield violation("{name} differs from the job's node count", len(had), text, name=name)
    for name in ("LD_PRELOAD", "LD_AUDIT", "ld.so.preload"):
        text = environment.told(name) or " ".join(environment.values(name))
        if text and _FAKING_LIBRARY.search(text):
            yield violation("{name} preloads a library that fakes names, times or topology", "none", text, name=name)
        elif text:
            yield note("{name} preloads a library into every process", "", text, name=name)


def _of_one_machine(case: Case, names: Sequence[str]) -> Finding:
    """A rehearsal may run on a virtual cluster. At full size it may be a partitioned machine, which has to be
    explained. On a network file system, the nodes of one machine must be different clients.
    """
    environment = case.evidence.environment
    kinds, devices = environment.by_node("mount.type"), environment.by_node("mount.device")
    clients = {devices[name] for name in names if name in devices}
    on_network = clients and any(_NETWORK.fullmatch(kinds.get(name, "")) for name in names)
    if on_network and len(clients) < len(names):
        return violation(
            'several "nodes" share one client of the network file system: its cache can serve every phase, whatever '
            "the rank offset",
            "one client per node",
            listed(names),
        )
    own = ", each with its own client of the file system" if on_network else ""
    return doubt(case.full)(f'several "nodes" run on one physical machine{own}', "one machine per node", listed(names))


STARTED_AGAIN = (
    "Slurm's final record belongs to a restart of the job after the run: nothing to compare the job's record with"
)


@attempt_rule(
    "RUN-02",
    "the times in the output lie within those of the run and of the job",
    why="times that do not match the job suggest that the output is from another run",
    remedy="check the clocks of the nodes, and repeat the run with 'campaign rerun FILE CELL'",
    is_about_records=True,
)
def times_fit(case: Case) -> Iterator[Finding]:
    """The output's times, by each clock, compared with the job's record and the job's times; the sum of the phases
    compared with the run.
    """
    completion, environment = case.evidence.completion, case.evidence.environment
    if completion is None:
        yield unchecked("completion.json is missing")
        return
    window, back = (completion.started, completion.ended), set_back_s(case)
    printed, unclear = _printed_times(case)
    if unclear:
        yield unchecked(unclear)
    for name, time in printed.items():
        if not window[0] - TOLERANCE_S - back <= time <= window[1] + TOLERANCE_S + back:
            yield violation("outside the run: the output's {what}", _span(*window), utc(time), what=name)
    yield from fit(case, window[1] - window[0] + back, "phases in the output took longer than the run")
    submitted = case.attempt.submitted
    if submitted is not None and window[0] < submitted - CONTROLLER_S:
        yield violation("the run began before its job was submitted", f"after {utc(submitted)}", utc(window[0]))
    job = accounting(case).job or environment.job
    if started_again(case):
        yield unchecked(STARTED_AGAIN)
        job = environment.job
    began, ended = _seconds(job.get("StartTime")), _seconds(job.get("EndTime"))
    if began is None:
        yield unchecked("job start and end were not recorded by Slurm")
    elif window[0] < began - CONTROLLER_S or (ended is not None and window[1] > ended + CONTROLLER_S):
        yield violation("the run's times lie outside those of its job", _span(began, ended), _span(*window))


def _printed_times(case: Case) -> tuple[dict[str, float], str]:
    """When the benchmark began and ended according to the output, by the clock of the job's first node; and why that is
    unknown.
    """
    seen, environment = case.seen, case.evidence.environment
    names = case.seen.node_names or case.placement
    offset = environment.clock_offset(names[0]) if names else 0.0
    printed = {"start time": seen.began, "end time": seen.ended}
    exact = {what: time - offset for what, time in printed.items() if time is not None}
    of_clock = {"start time": seen.began_local, "end time": seen.ended_local}
    clock = {what: time for what, time in of_clock.items() if time is not None}
    zone = environment.once(("zone", names[:1]), lambda: _zone(environment, names[:1]))
    if clock and zone is None:
        unclear = "timestamps in the output have no time zone, and the nodes' time zone was not recorded"
        return exact, "" if exact else unclear
    # An output with both kinds of times has two clocks that must be right.
    local = {f"printed {what}" if what in exact else what: time - (zone or 0) - offset for what, time in clock.items()}
    return exact | local, "" if exact or local else "no timestamp in the output"


def clock_set_s(case: Case) -> float:
    """By how many seconds the clock of the job's first node was changed during the run (below zero: set back), by the
    kernel's clock, which cannot be set. 0.0 if the job did not record it.
    """
    completion = case.evidence.completion
    if completion is None or len(completion.uptime) != 2:
        return 0.0
    return completion.ended - completion.started - (completion.uptime[1] - completion.uptime[0])


def set_back_s(case: Case) -> float:
    """By how many seconds it was set back, as sites correct their clocks; 0.0 if it was changed by more than that."""
    back = -clock_set_s(case)
    return back if SET_S < back <= CONTROLLER_S else 0.0


def phases_s(case: Case) -> float:
    """The shortest time that the phases of the output can have taken. Phases with rates of items follow one another."""
    measured = {record.operation: record for _, record in case.reported if not record.parts}  # some in several columns
    lasted = {name: _all_iterations_s(case, record) for name, record in measured.items()}
    following = [seconds for name, seconds in lasted.items() if measured[name].unit == RATE]
    return max([sum(following), *lasted.values()])


def fit(case: Case, lasted_s: float, message: str) -> Iterator[Finding]:
    """The phases of the output fit into the time that something lasted."""
    took = phases_s(case)
    if took > lasted_s + TOLERANCE_S:
        most, found = apart(lasted_s, took)
        yield violation(message, f"at most {most} s", f"{found} s")


def _all_iterations_s(case: Case, record: Record) -> float:
    """At least: iterations other than the fastest took no less."""
    known = [seconds for each in record.each if (seconds := each.details.get("elapsed_s")) is not None]
    if known and len(known) == len(record.each):
        return sum(known)
    return (phase_seconds(case, record) or 0.0) * (record.iterations if record.statistic in ("maximum", "mean") else 1)


@attempt_rule(
    "RUN-03",
    "job id, nodes and task count agree between output, job records and Slurm's accounting",
    why="records that contradict each other suggest that the output is from another job",
    remedy="compare the records with Slurm's accounting, and repeat the run with 'campaign rerun FILE CELL'",
    is_about_records=True,
)
def job_agrees(case: Case) -> Iterator[Finding]:
    """Job id, nodes and tasks. Not checked: one of the three is missing; asked only while the job was COMPLETING; no
    accounting; Slurm forgot the job in a crash and started it again.
    """
    completion, environment, final = case.evidence.completion, case.evidence.environment, accounting(case)
    if completion is None or not environment.recorded:
        yield unchecked("the job's records are missing{why}", why=_why(environment))
        return
    for name, values in _said_of_job(case, completion).items():
        yield from disagreement(name, values)
    yield from _named(case, completion)
    had, again = environment.job_nodes, started_again(case)
    if again:
        yield unchecked(STARTED_AGAIN)
    elif not final.ended:
        yield from _while_completing(final, had)
    named = set(case.seen.node_names)
    if len(had) == case.seen.nodes and named and named < set(had):
        yield violation("the output names fewer nodes than it ran on", listed(had), listed(sorted(named)))
    yield from _tasks_suffice(case)
    if not again:
        yield from _steps_agree(case)


def _said_of_job(case: Case, completion: Completion) -> dict[str, dict[str, str | None]]:
    """What each record says about the job, by subject; the first record's value is the expected one."""
    environment, after = case.evidence.environment, accounting(case)
    # Slurm has no record of the nodes of a start that it forgot.
    final = Accounting() if started_again(case) else after
    spoke, had = {node.name for node in environment.nodes if node.name}, environment.job_nodes
    return {
        "job id": {
            "submitted": case.attempt.job_id,
            "output": case.seen.job_id,
            "completion.json": completion.job_id,
            "environment.json": environment.variables.get("SLURM_JOB_ID"),
            "scontrol during the job": environment.job.get("JobId"),
            "scontrol after the job": after.job.get("JobId"),
        },
        "node list": {
            "completion.json": _nodes(completion.nodes),
            "environment.json": _nodes(environment.variables.get("SLURM_JOB_NODELIST")),
            # A node that did not answer is no contradiction.
            "nodes that answered": ", ".join(sorted(spoke)) if spoke - set(had) else None,
            "scontrol during the job": _nodes(environment.job.get("NodeList")),
            "sacct": _nodes(final.allocation.get("NodeList")),
            "scontrol after the job": _nodes(final.job.get("NodeList")) if final.ended else None,
        },
    }


def _named(case: Case, completion: Completion) -> Iterator[Finding]:
    """A site, or its plugin, may rename a job: it is recognised by the folder in which it was submitted."""
    during, after = case.evidence.environment.job, accounting(case).job
    names = {
        "submitted": case.attempt.job,
        "completion.json": completion.job_name,
        "environment.json": case.evidence.environment.variables.get("SLURM_JOB_NAME"),
        "scontrol during the job": during.get("JobName"),
        "scontrol after the job": after.get("JobName"),
    }
    told = [fields["WorkDir"] for fields in (during, after) if "WorkDir" in fields]
    if not told or any(directory.rpartition("/")[2] != case.attempt.job for directory in told):
        yield from disagreement("job name", names)
    elif others := {*filter(None, names.values())} - {case.attempt.job}:
        yield note(
            "the job was renamed after campaign submitted it; its id and directory are the same",
            case.attempt.job,
            listed(sorted(others)),
        )


def _tasks_suffice(case: Case) -> Iterator[Finding]:
    """The job had at least as many tasks as processes ran."""
    processes = case.seen.processes
    if processes is None:
        yield not_printed(case)("process count not in the output")
        return
    tasks_by_source = {
        "environment.json": case.evidence.environment.variables.get("SLURM_NTASKS"),
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


def _while_completing(final: Accounting, had: Sequence[str]) -> Iterator[Finding]:
    """What slurmctld lists while a job is COMPLETING: the nodes whose Epilog still runs."""
    completing = expand_nodes(final.job.get("NodeList", "")) or ()
    if set(completing) - set(had):
        yield violation(
            "Slurm lists nodes that were not in the job",
            f"{listed(had)} or fewer while the job is COMPLETING",
            listed(completing),
        )
    elif not final.allocation.get("NodeList"):
        yield unchecked(
            "job nodes not confirmed: Slurm reported the job as {state}; run 'campaign collect FILE' while Slurm "
            "still has the job's record",
            state=final.job.get("JobState", "active"),
        )


def _steps_agree(case: Case) -> Iterator[Finding]:
    final, seen = accounting(case), case.seen
    if not final.steps:
        if not final.job:  # otherwise Slurm has no accounting
            yield unchecked("Slurm's final record of the job is missing")
        return
    if seen.step_id is None and not case.run.launcher.is_srun:
        yield unprovable(
            "{program} starts the ranks itself: sacct shows no job step for them", program=case.run.launcher.program
        )
        return
    if seen.step_id is None:
        missing = unchecked("sacct shows no matching job step (yet)")
        steps = [row for row in final.steps if _could_be(case, row)]
    else:
        name = f"{case.attempt.job_id}.{seen.step_id}"
        missing = unchecked("sacct shows no job step {step} (yet)", step=name)
        steps = [row for row in final.steps if row.get("JobIDRaw") == name]
    if not steps:
        yield missing
        return
    step = next((row for row in steps if row.get("NTasks") == str(seen.processes)), steps[0])
    tasks = step.get("NTasks", "")
    if tasks.isdigit() and seen.processes is not None and int(tasks) != seen.processes:
        yield violation("sacct shows a different task count", f"{seen.processes} in the output", tasks)
    nodes = expand_nodes(step.get("NodeList", ""))
    if nodes is not None and seen.node_names and set(nodes) != set(seen.node_names):
        yield violation("sacct shows different nodes", f"{listed(seen.node_names)} in the output", listed(nodes))


def _could_be(case: Case, step: Mapping[str, str]) -> bool:
    """Whether a step in the accounting may be this attempt's, if the output does not name its step."""
    completion, times = case.evidence.completion, times_of(step)
    return (
        completion is not None
        and times is not None
        and times[0] <= completion.ended + TOLERANCE_S
        and completion.started - TOLERANCE_S <= times[1]
        and step.get("JobName") in {command.step for command in case.run.launched}
    )


@attempt_rule(
    "RUN-04",
    "nodes were exclusive; other load on the cluster is disclosed",
    why="other users' jobs on the same nodes change the result, usually for the worse",
    remedy="measure again in a partition whose nodes no other job can use, or explain the sharing",
    severity=Severity.WARNING,
    can_invalidate=False,
)
def nodes_are_exclusive(case: Case) -> Iterator[Finding]:
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
    remedy="remove what was left in the target's directory, and repeat the run with 'campaign rerun FILE CELL'",
    is_about_run=True,
)
def directory_clean(case: Case) -> Iterator[Finding]:
    """The job created the directory, the files left in it, capacity and inodes before and after."""
    evidence = case.evidence
    if evidence.made is None or evidence.completion is None:
        yield unchecked("directory state before and after the run was not recorded")
    elif not evidence.made and case.attempt.state is State.DONE:
        yield violation("the job did not create the directory; its earlier contents are unknown")
    left = evidence.completion.leftover_files if evidence.completion else 0
    if left:
        removes = any(operation.record == "remove" for operation in case.operations)
        yield (violation if removes else note)(
            "the benchmark left files behind; the job removed them", "0 files", f"{left} files"
        )
    if evidence.before is None or evidence.after is None:
        yield unchecked("file system capacity and inode counts were not recorded")


@attempt_rule(
    "CCH-01",
    "client caches were bypassed or dropped, and the output shows it",
    why="a rate from the client's cache says nothing about the file servers",
    remedy="measure on two nodes or more with a rank offset of one node, or explain how caches were dropped",
    severity=Severity.WARNING,
    can_invalidate=False,
)
def cache_dealt_with(case: Case) -> Iterator[Finding]:
    """Phases on other nodes, by the effective shift, or dropped caches."""
    seen, geometry = case.seen, case.run.geometry
    if any(record.cached_share is not None for record in case.records):
        return  # the output says what the cache held: CCH-05 judges it
    if geometry.nodes == 1:
        yield note("files were accessed on the node that created them; results may come from client cache")
    elif seen.shift_effective is None:
        yield not_printed(case)("client cache handling not in the output")
    elif seen.shift_effective % geometry.processes == 0 or seen.whole_nodes is False:
        yield to_explain(
            "no measure against client caching",
            f"phases shifted by whole nodes ({geometry.processes_per_node} ranks per node), or caches dropped",
            f"a rank shift of {seen.shift_effective} among {geometry.processes} ranks",
        )


# --- small things


def accounting(case: Case) -> Accounting:
    """Slurm's final record of the job; empty if there is none."""
    return case.evidence.accounting or Accounting()


def unaccounted(case: Case) -> bool:
    """Whether Slurm kept a final record of the job but said that it has no accounting."""
    after = accounting(case)
    return bool(after.job) and not after.accounting and not after.steps


def started_again(case: Case) -> bool:
    """Whether Slurm's final record is of this job, but of a start after the run's end: a controller that lost its state
    in a crash believes that a running job is waiting, and starts or cancels it later.
    """
    during, after = case.evidence.environment.job, accounting(case).job
    completion, first, began = case.evidence.completion, during.get("StartTime", ""), after.get("StartTime", "")
    if completion is None or not first.isdigit() or not began.isdigit():
        return False
    same = all(during.get(key) and during[key] == after.get(key) for key in _IDENTITY)
    return same and int(first) <= completion.started + CONTROLLER_S and completion.ended < int(began)


def clock_ahead_s(job: Sequence[Case]) -> tuple[float, float]:
    """By how many seconds, at least and at most, the clock of a job's first node is ahead of Slurm's: Slurm started the
    job before its script began, and recorded its end after that of the last run. `job`: the cases of the job.
    """
    case = max(job, key=lambda case: case.evidence.completion.ended if case.evidence.completion else 0.0)
    completion, slurms = case.evidence.completion, accounting(case).job
    began, ended = _seconds(slurms.get("StartTime")), _seconds(slurms.get("EndTime"))
    if completion is None or began is None or ended is None or started_again(case):
        return -TOLERANCE_S, TOLERANCE_S
    first = case.evidence.environment.started or completion.started
    low, high = sorted((completion.ended - ended - 1.0, first - began))  # Slurm's times are cut to a second
    return max(low, -CONTROLLER_S), min(high, CONTROLLER_S)


def _nodes(text: str | None) -> str | None:
    """A list of nodes expanded and sorted; None if it cannot be parsed, such as one that was cut."""
    names = expand_nodes(text or "")
    return None if names is None else ", ".join(sorted(names))


def _why(environment: Environment) -> str:
    return f": {environment.problems[0]}" if environment.problems else ""


def _zone(environment: Environment, first: Sequence[str]) -> float | None:
    """Seconds east of Greenwich, from +0130: of the first node, or of all if its own zone is not recorded."""
    by_node = environment.by_node("zone")
    zones = {by_node[name] for name in first if name in by_node} or {*environment.values("zone")}
    match = re.fullmatch(r"([+-])(\d\d)(\d\d)", zones.pop()) if len(zones) == 1 else None
    return (1 if match[1] == "+" else -1) * (int(match[2]) * 3600 + int(match[3]) * 60) if match else None


def times_of(step: Mapping[str, str]) -> tuple[float, float] | None:
    """When a step in the accounting began and ended, in whole seconds; None if that is not recorded."""
    began, ended = _seconds(step.get("Start")), _seconds(step.get("End"))
    return None if began is None or ended is None else (began, ended)


# --- time in which the job was suspended (`scontrol suspend`, gang scheduling, preemption): phases go on by the clock


def was_suspended(case: Case) -> Iterator[Finding]:
    """Whether Slurm suspended the job during the run: by the job's own record, Slurm's final one, and its steps."""
    completion = case.evidence.completion
    if completion is None:
        return
    resumed, (behind, ahead) = None, clock_ahead_s([case])
    if not started_again(case):
        resumed = _seconds(accounting(case).job.get("SuspendTime"))  # of the last time, when it went on
    found = [*_suspensions(case, completion)]
    if resumed and completion.started <= resumed + behind and resumed + ahead <= completion.ended:
        found.append(f"until {utc(resumed)} (scontrol)")
    if found:
        yield violation(
            "Slurm suspended the job during the run: that time counts in its results", "not suspended", listed(found)
        )
    elif resumed and completion.suspended is None and completion.started <= resumed + ahead:
        yield unchecked(
            "Slurm suspended the job until {time}; the job did not record whether that was during the run",
            time=utc(resumed),
        )
    elif (
        completion.suspended is None and (total := _suspended(accounting(case).allocation)) and not started_again(case)
    ):
        yield unchecked(
            "Slurm suspended the job for {time} (sacct); the job did not record whether that was during the run",
            time=total,
        )


def _suspended(row: Mapping[str, str]) -> str:
    """For how long a job or step was suspended by sacct, as [D-]HH:MM:SS; "" if it was not."""
    text = row.get("Suspended", "")
    return text if re.search("[1-9]", text) else ""


def _suspensions(case: Case, completion: Completion) -> Iterator[str]:
    times = completion.suspended or ()
    for began, ended in zip(times[::2], times[1::2], strict=False):
        if began > completion.ended or ended < completion.started:
            continue  # before the benchmark was started, or after it had ended
        yield f"{ended - began:.0f} s from {utc(began)} (completion.json)"
    for step in accounting(case).steps:
        if _has_ranks(case, step) and _suspended(step):
            # Within the run: the steps of other runs of the job begin right after it, or end right before it.
            lasted = times_of(step)
            if lasted and completion.started - TOLERANCE_S <= lasted[0] and lasted[1] <= completion.ended + TOLERANCE_S:
                yield f"{step['Suspended']} in step {step.get('JobIDRaw')} (sacct)"


def _has_ranks(case: Case, step: Mapping[str, str]) -> bool:
    """Whether a step may have started ranks: by its name if srun did; otherwise any that is not the witness's, since
    other launchers start daemons (`orted`, `prted`, `hydra_bstrap_proxy`) as steps.
    """
    name = step.get("JobName")
    if case.run.launcher.is_srun:
        return name in {command.step for command in case.run.launched}
    _, _, number = step.get("JobIDRaw", "").partition(".")
    return number.isdigit() and name != WITNESS


def _seconds(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,12}", text) else None


def _span(began: float, ended: float | None) -> str:
    return f"{utc(began)} to {utc(ended)}" if ended is not None else f"after {utc(began)}"

"""Cases of the rules that hold an output against what the job and Slurm wrote down around it, and of those over the
system.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from campaign.config.rules.entries import Operation
from campaign.config.system import SYSTEM
from campaign.core.findings import Severity
from campaign.core.records import Iteration, Record, Source
from campaign.core.runs import Geometry, State
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import NOTHING, Accounting, Environment, Evidence, Preparation, Value, Witness
from tests.judge.cases import Example, attempts, broken, compliant, disclosed, rehearsed, unchecked
from tests.judge.cases.submissions import good_submission
from tests.support import builders

SAID = {"job_id": "17", "step_id": "0", "node_names": ("n1", "n2"), "began": 110.2, "ended": 112.4}
STEP = {"JobIDRaw": "17.0", "NTasks": "8", "NNodes": "2", "NodeList": "n[1-2]"}
SPAN = "1970-01-01 00:01:50 UTC to 1970-01-01 00:01:52 UTC"


def case(evidence: Evidence | None = None, profile: str = "full", **seen: Any) -> Case:
    """An attempt that went as planned, with all that was recorded around it, but for what the output says otherwise."""
    case = attempts.case(**{**SAID, **seen})
    pack = builders.pack(profile=profile)
    return replace(case, pack=pack, evidence=builders.evidence() if evidence is None else evidence)


def with_evidence(profile: str = "full", **changes: Any) -> Case:
    """With something else on record around it."""
    return case(builders.evidence(**changes), profile)


def in_job(recorded_directory: str) -> Case:
    """A target that exists only in a job, which has resolved it so."""
    case = with_environment(directory=recorded_directory, variables={"SLURM_JOB_ID": "17"})
    return replace(case, run=replace(case.run, directory="job:/local/$SLURM_JOB_ID/${SITE}"))


def prepared(*commands: str) -> Case:
    """A run before which `lfs setstripe` was to be executed, and what the job executed."""
    case = with_evidence(prepared=tuple(Preparation(command, 0, "") for command in commands))
    return replace(case, run=replace(case.run, prepare=("lfs setstripe -c 4 {directory}",)))


def striped(profile: str = "full") -> Submission:
    submission = system(profile)
    (target, *others) = submission.campaign.targets
    targets = (replace(target, prepare=("lfs setstripe -c 4 {directory}",)), *others)
    return replace(submission, campaign=replace(submission.campaign, targets=targets))


def with_environment(profile: str = "full", **changes: Any) -> Case:
    """With another environment."""
    return with_evidence(profile, environment=builders.environment(**changes))


def variables(**further_variables: str) -> dict[str, str]:
    return {**builders.environment().variables, **further_variables}


def elsewhere(*arguments: str) -> Case:
    """Ranks of a command with these words that began in /tmp of a node."""
    of_case = with_evidence(witness=Witness(True, other_directories=("/tmp on n2",)))
    return replace(of_case, run=builders.with_words(of_case.run, arguments=arguments))


def with_accounting(**job: str) -> Case:
    """With other words of Slurm's after the job's end."""
    return with_evidence(accounting=builders.accounting(**job))


def steps(*rows: Mapping[str, str]) -> Case:
    return with_evidence(accounting=Accounting(114.0, builders.accounting().job, True, rows))


COMPLETING = {"JobState": "COMPLETING", "NodeList": "n2"}
ALLOCATION = {"JobIDRaw": "17", "State": "COMPLETED", "NodeList": "n[1-2]"}


def completing(allocation: Mapping[str, str]) -> Case:
    """Slurm was asked while the Epilog still ran on one node; the accounting knew the whole job."""
    return with_evidence(accounting=Accounting(114.0, builders.accounting(**COMPLETING).job, True, (allocation, STEP)))


RAN = {"JobName": "mdtest", "Start": "110", "End": "112"}


def by_time(step: Mapping[str, str]) -> Case:
    """An external benchmark, which does not know its step."""
    case = external()
    accounting = Accounting(114.0, builders.accounting().job, True, (step,))
    return replace(case, evidence=replace(case.evidence, accounting=accounting))


def one_node(**changes: Any) -> Case:
    run = builders.run(geometry=Geometry(1, 4))
    return replace(case(**changes), run=run, outputs={"": builders.observation(run, shift_effective=0)})


def external(**seen: Any) -> Case:
    """An external mdtest: its times have no zone, and the job asked for the placement."""
    silent = {"job_id": None, "step_id": None, "node_names": (), "began": None, "ended": None}
    fields = {**silent, "began_local": 110.0, "ended_local": 112.0, **seen}
    return case(builders.evidence(placement={"": ("n1",) * 4 + ("n2",) * 4}), **fields)


def clocks(**local: float) -> Case:
    """The builtin benchmark: exact times in its JSON lines, and a clock's in its text."""
    return case(**{"began_local": 110.0, "ended_local": 112.0, **local})


def stonewalled() -> Case:
    """Phases of which nobody knows how many items they did."""
    case = external(records=builders.records((100.0, 4000.0, 800.0)))
    return replace(case, run=builders.with_words(case.run, arguments=(*case.run.arguments, "-W", "2")))


def iterated(statistic: str, *seconds: float, has_iterations: bool = False) -> Case:
    """Creations that lasted so long in a run of 2.5 s, reported by this statistic, and by the best in a column more.
    `has_iterations`: each by itself.
    """
    items, place = builders.run().items_total or 0, Source("stdout", 20)
    iterations = tuple(Iteration(items / lasted, place, {"elapsed_s": lasted}) for lasted in seconds)
    best, lowest = (items / extreme for extreme in (min(seconds), max(seconds)))
    record = Record(
        "create", best, "ops/s", place, lowest, iterations=len(seconds), each=iterations if has_iterations else ()
    )
    create = replace(builders.pack().operations[0], statistic=statistic)
    pack = builders.pack(operations=(create, replace(create, id="best", statistic="maximum")))
    return replace(case(), pack=pack, records=(record,))


NO_RECORD = case(Evidence())
CLOCKS = tuple(
    replace(node, clock=clock) for node, clock in zip(builders.environment().nodes, (709.2, 109.2), strict=True)
)
ONE_MACHINE = tuple(replace(node, boot="b") for node in builders.environment().nodes)
KEEPS = replace(
    with_evidence(completion=builders.completion(leftover_files=3)),
    pack=builders.pack(operations=(Operation("write", "Write", "MiB/s", record="write"),)),
)


# --- the system

DESCRIBED = tuple((key, f"the {key} of this machine") for key in SYSTEM)
ANSWERS = (("name", "A. Person"), ("organisation", "Vendor"), ("email", "a@vendor.example"))


def system(profile: str = "full", contact: Mapping[str, str] | None = None, **changes: str) -> Submission:
    """A campaign whose system is described, but for these keys; "" takes a key away."""
    submission = good_submission(profile)
    kept_keys = {**dict(DESCRIBED), **changes}
    people = {**dict(ANSWERS), **(contact or {})}
    targets = tuple(replace(target, description="flash, Lustre, POSIX") for target in submission.campaign.targets)
    campaign = replace(
        submission.campaign,
        targets=targets,
        system=tuple((key, text) for key, text in kept_keys.items() if text),
        contact=tuple((key, text) for key, text in people.items() if text),
    )
    return replace(submission, campaign=campaign)


def over_time(*environments: Environment) -> Submission:
    """The first results, one after the other, each with the environment of a job of its own."""
    submission = good_submission()
    results = tuple(
        replace(
            result,
            evidence=builders.evidence(environment=environment),
            attempt=replace(result.attempt, started=100.0 + number),
        )
        for number, (result, environment) in enumerate(zip(submission.results, environments, strict=False))
    )
    return replace(submission, results=results)


def cancelled_before_it_started() -> Submission:
    submission = over_time(builders.environment(), builders.environment())
    first, second = submission.results
    cancelled = replace(second.attempt, state=State.CANCELLED, started=None, ended=None)
    return replace(submission, results=(first, replace(second, attempt=cancelled, records=(), evidence=NOTHING)))


def first_node_alone() -> Environment:
    environment = builders.environment(3)
    return replace(environment, nodes=environment.nodes[:1], facts={}, problems=("srun ended",))


def with_facts(**facts: str) -> Environment:
    return builders.environment(facts={name.replace("_", ".", 1): text for name, text in facts.items()})


def by_node(name: str, *texts: str) -> Environment:
    environment = builders.environment(len(texts))
    values = {text: ",".join(str(node) for node, message in enumerate(texts) if message == text) for text in texts}
    found_values = tuple(Value(nodes, text) for text, nodes in values.items())
    return replace(environment, facts={**environment.facts, name: found_values})


INCOMPLETE = "the system description is incomplete"
PLACEHOLDERS = "the system description still has placeholders"
ALWAYS_CHECKED = {"ENV-01", "ENV-02"}  # the campaign file is there

FIRST, SECOND = "scratch.single.shared.r1/1", "scratch.single.unique.r1/1"


def mounted(case: Case, first: str, second: str, kind: str = "fuse.glusterfs") -> Case:
    """With the mounts of the target on two nodes: its type, and the device on each."""
    environment = case.evidence.environment
    facts = {"mount.type": (Value("0-1", kind),), "mount.device": (Value("0", first), Value("1", second))}
    values = {**environment.facts, **facts}
    return replace(case, evidence=replace(case.evidence, environment=replace(environment, facts=values)))


EXAMPLES: list[Example] = [
    compliant("GEO-04", "all as planned", case()),
    compliant(
        "GEO-04",
        "the output names hosts",
        with_environment(
            nodes=tuple(
                replace(node, name=f"slurm-{node.name}", hostname=f"{node.name}.cluster")
                for node in builders.environment().nodes
            )
        ),
    ),
    compliant(
        "GEO-04",
        "one virtual node alone",
        replace(with_environment(nodes=ONE_MACHINE), outputs={"": builders.observation(node_names=("n1",))}),
    ),
    broken(
        "GEO-04",
        "IOR_FAKE_NODES can fake nodes, names or times",
        with_environment(variables=variables(IOR_FAKE_NODES="4")),
        "not set",
        "4",
    ),
    broken(
        "GEO-04",
        "HWLOC_XMLFILE can fake nodes, names or times",
        with_evidence(environment=builders.environment(facts={"env.HWLOC_XMLFILE": "/tmp/t.xml"})),
        "not set",
        "/tmp/t.xml",
    ),
    broken(
        "GEO-04",
        "LD_PRELOAD preloads a library that fakes names, times or topology",
        with_environment(variables=variables(LD_PRELOAD="/home/u/libfakehostname.so")),
        "none",
        "/home/u/libfakehostname.so",
    ),
    broken(
        "GEO-04",
        "SLURM_NNODES differs from the job's node count",
        with_environment(variables=variables(SLURM_NNODES="8")),
        "2",
        "8",
    ),
    disclosed(
        "GEO-04",
        "LD_PRELOAD preloads a library into every process",
        with_environment(variables=variables(LD_PRELOAD="/opt/darshan/libdarshan.so")),
        "",
        "/opt/darshan/libdarshan.so",
    ),
    broken("GEO-04", "the output names nodes that were not in the job", case(node_names=("n1", "n7")), "n1, n2", "n7"),
    broken(
        "GEO-04",
        "the output names nodes that were not in the job",
        with_evidence(witness=Witness(True, ranks={"0": "n1 ab", "1": "n7 ab"})),
        "n1, n2",
        "n7",
    ),
    broken(
        "GEO-04",
        'several "nodes" run on one physical machine',
        with_environment(nodes=ONE_MACHINE),
        "one machine per node",
        "n1, n2",
        severity=Severity.WARNING,
    ),
    rehearsed(
        "GEO-04",
        'several "nodes" run on one physical machine',
        with_environment("rehearsal", nodes=ONE_MACHINE),
        "one machine per node",
        "n1, n2",
        severity=Severity.WARNING,
    ),
    rehearsed(
        "GEO-04",
        'several "nodes" run on one physical machine, each with its own client of the file system',
        mounted(with_environment("rehearsal", nodes=ONE_MACHINE), "0:50", "0:51"),
        "one machine per node",
        "n1, n2",
        severity=Severity.WARNING,
    ),
    broken(
        "GEO-04",
        'several "nodes" share one client of the network file system: its cache can serve every '
        "phase, whatever the rank offset",
        mounted(with_environment("rehearsal", nodes=ONE_MACHINE), "0:50", "0:50"),
        "one client per node",
        "n1, n2",
    ),
    compliant("GEO-04", "nodes whose clients have the same number", mounted(with_environment(), "0:50", "0:50")),
    rehearsed(
        "GEO-04",
        'several "nodes" run on one physical machine',
        mounted(with_environment("rehearsal", nodes=ONE_MACHINE), "0:50", "0:50", "tmpfs"),
        "one machine per node",
        "n1, n2",
        severity=Severity.WARNING,
    ),
    unchecked("GEO-04", "a node that was not heard", with_environment(nodes=builders.environment().nodes[:1])),
    unchecked("GEO-04", "no environment on record", NO_RECORD),
    unchecked("GEO-04", "no nodes in the output", case(node_names=())),
    unchecked(
        "GEO-04",
        "nodes that do not say which machine they are",
        with_environment(nodes=tuple(replace(node, boot="") for node in ONE_MACHINE)),
    ),
    #
    compliant("RUN-02", "all as planned", case()),
    compliant("RUN-02", "printed times, cut to the second", external()),
    compliant(
        "RUN-02",
        "printed times of another zone",
        replace(
            external(began_local=3710.0, ended_local=3712.0),
            evidence=replace(external().evidence, environment=builders.environment(facts={"zone": "+0100"})),
        ),
    ),
    compliant(
        "RUN-02",
        "a node whose clock is ten minutes fast",
        replace(
            with_environment(nodes=CLOCKS),
            outputs={"": builders.observation(**{**SAID, "began": 710.2, "ended": 712.4})},
        ),
    ),
    broken(
        "RUN-02",
        "outside the run: the output's start time",
        case(began=10.0, ended=112.0),
        SPAN,
        "1970-01-01 00:00:10 UTC",
    ),
    broken(
        "RUN-02",
        "outside the run: the output's end time",
        external(ended_local=3712.0),
        SPAN,
        "1970-01-01 01:01:52 UTC",
    ),
    broken(
        "RUN-02",
        "outside the run: the output's start time",
        with_environment(nodes=CLOCKS),
        SPAN,
        "1969-12-31 23:51:50 UTC",
    ),
    broken(
        "RUN-02",
        "the run began before its job was submitted",
        replace(case(), attempt=builders.attempt(submitted=1000.0)),
        "after 1970-01-01 00:16:40 UTC",
        "1970-01-01 00:01:50 UTC",
    ),
    broken(
        "RUN-02",
        "the run's times lie outside those of its job",
        with_accounting(StartTime="1000", EndTime="2000"),
        "1970-01-01 00:16:40 UTC to 1970-01-01 00:33:20 UTC",
        SPAN,
    ),
    compliant("RUN-02", "two clocks of one output", clocks()),
    compliant("RUN-02", "a phase that a timer ended before all items were done", stonewalled()),
    compliant("RUN-02", "of several iterations the slowest is reported", iterated("minimum", 2.3, 0.1, 0.1)),
    compliant(
        "RUN-02", "of several iterations the first is reported", iterated("first", 2.3, 0.1, 0.1, has_iterations=True)
    ),
    broken(
        "RUN-02",
        "phases in the output took longer than the run",
        iterated("maximum", 1.6, 1.5, 1.5, has_iterations=True),
        "at most 2.5 s",
        "4.6 s",
    ),
    broken(
        "RUN-02",
        "outside the run: the output's printed start time",
        clocks(began_local=10.0),
        SPAN,
        "1970-01-01 00:00:10 UTC",
    ),
    broken(
        "RUN-02",
        "phases in the output took longer than the run",
        external(records=builders.records((100.0, 4000.0, 800.0))),
        "at most 2.5 s",
        "11.5 s",
    ),
    unchecked("RUN-02", "no record of the run", NO_RECORD),
    unchecked("RUN-02", "no time in the output", case(began=None, ended=None)),
    unchecked(
        "RUN-02",
        "printed times without a zone",
        replace(
            external(), evidence=replace(external().evidence, environment=builders.environment(facts={"zone": "CET"}))
        ),
    ),
    unchecked(
        "RUN-02",
        "no word of Slurm on the job's times",
        with_evidence(accounting=None, environment=builders.environment(job={})),
    ),
    #
    compliant("RUN-03", "all as planned", case()),
    compliant("RUN-03", "an external benchmark", external()),
    broken(
        "RUN-03",
        "the output names fewer nodes than it ran on",
        case(node_names=("n1", "n1")),
        "n1, n2",
        "n1",
    ),
    compliant("RUN-03", "a node that was not heard", with_environment(nodes=builders.environment().nodes[:1])),
    broken(
        "RUN-03",
        "node list differs between the records",
        with_environment(nodes=builders.environment(3).nodes),
        "n1, n2 (job in facts.jsonl)",
        "n1, n2, n3 (nodes that answered)",
    ),
    compliant("RUN-03", "the accounting knows the step", steps(STEP)),
    compliant(
        "RUN-03", "the accounting alone knows the job", with_evidence(accounting=Accounting(114.0, {}, True, (STEP,)))
    ),
    broken("RUN-03", "job id differs between the records", case(job_id="18"), "17 (submitted)", "18 (output)"),
    broken(
        "RUN-03",
        "job id differs between the records",
        with_evidence(completion=builders.completion(job_id="18")),
        "17 (submitted)",
        "18 (job in facts.jsonl)",
    ),
    broken(
        "RUN-03",
        "job name differs between the records",
        with_accounting(JobName="other"),
        "campaign-test-1 (submitted)",
        "other (scontrol after the job)",
    ),
    broken(
        "RUN-03",
        "job name differs between the records",
        with_accounting(JobName="other", WorkDir="/results/jobs/other"),
        "campaign-test-1 (submitted)",
        "other (scontrol after the job)",
    ),
    disclosed(
        "RUN-03",
        "the job was renamed after campaign submitted it; its id and directory are the same",
        with_accounting(JobName="two\nlines", WorkDir="/results/jobs/campaign-test-1"),
        "campaign-test-1",
        "two\nlines",
    ),
    broken(
        "RUN-03",
        "node list differs between the records",
        with_accounting(NodeList="n[1-3]"),
        "n1, n2 (job in facts.jsonl)",
        "n1, n2, n3 (scontrol after the job)",
    ),
    broken(
        "RUN-03",
        "node list differs between the records",
        with_environment(variables=variables(SLURM_JOB_NODELIST="n[3-4]")),
        "n1, n2 (job in facts.jsonl)",
        "n3, n4 (host in facts.jsonl)",
    ),
    unchecked("RUN-03", "slurmctld was asked while the Epilog ran on one node", with_accounting(**COMPLETING)),
    compliant(
        "RUN-03", "the accounting has the nodes, slurmctld was asked while the Epilog ran", completing(ALLOCATION)
    ),
    broken(
        "RUN-03",
        "node list differs between the records",
        completing(ALLOCATION | {"NodeList": "n[1-3]"}),
        "n1, n2 (job in facts.jsonl)",
        "n1, n2, n3 (sacct)",
    ),
    broken(
        "RUN-03",
        "Slurm lists nodes that were not in the job",
        with_accounting(JobState="COMPLETING", NodeList="n[2-3]"),
        "n1, n2 or fewer while the job is COMPLETING",
        "n2, n3",
    ),
    broken(
        "RUN-03",
        "more processes ran than the job had tasks (according to scontrol)",
        with_accounting(NumTasks="4"),
        "at most 4",
        "8",
    ),
    broken("RUN-03", "sacct shows a different task count", steps({**STEP, "NTasks": "4"}), "8 in the output", "4"),
    broken(
        "RUN-03",
        "sacct shows different nodes",
        steps({**STEP, "NodeList": "n[1-3]"}),
        "n1, n2 in the output",
        "n1, n2, n3",
    ),
    compliant("RUN-03", "the accounting knows a step of an external program", by_time(STEP | RAN)),
    broken(
        "RUN-03",
        "sacct shows a different task count",
        by_time(STEP | RAN | {"NTasks": "4"}),
        "8 in the output",
        "4",
    ),
    unchecked("RUN-03", "no step of the program's name", by_time(STEP | RAN | {"JobName": "hostname"})),
    unchecked("RUN-03", "no step at the time", by_time(STEP | RAN | {"Start": "10", "End": "20"})),
    unchecked("RUN-03", "no record of the job", NO_RECORD),
    unchecked("RUN-03", "no word of Slurm after the job's end", with_evidence(accounting=None)),
    unchecked("RUN-03", "Slurm has forgotten the job", with_evidence(accounting=Accounting(114.0))),
    unchecked("RUN-03", "the accounting lags behind", steps({**STEP, "JobIDRaw": "17"})),
    unchecked("RUN-03", "no count of processes in the output", case(processes=None)),
    #
    compliant("RUN-04", "all as planned", case()),
    compliant("RUN-04", "by the job's own question alone", with_evidence(accounting=None)),
    broken(
        "RUN-04",
        "other jobs may have shared the nodes",
        with_accounting(OverSubscribe="OK"),
        "OverSubscribe=NO (scontrol)",
        "OverSubscribe=OK (scontrol)",
    ),
    disclosed(
        "RUN-04",
        "other jobs were running on the cluster and may have used the file system",
        with_environment(other_jobs=3),
        "none",
        "3",
    ),
    unchecked("RUN-04", "no word of Slurm", NO_RECORD),
    unchecked("RUN-04", "squeue did not answer", with_environment(other_jobs=None)),
    #
    compliant("RUN-05", "all as planned", case()),
    broken(
        "RUN-05",
        "the benchmark left files behind; the job removed them",
        with_evidence(completion=builders.completion(leftover_files=3)),
        "0 files",
        "3 files",
    ),
    broken(
        "RUN-05", "the job did not create the directory; its earlier contents are unknown", with_evidence(made=False)
    ),
    disclosed("RUN-05", "the benchmark left files behind; the job removed them", KEEPS, "0 files", "3 files"),
    compliant(
        "RUN-05",
        "a run that was refused made no directory",
        replace(with_evidence(made=False), attempt=builders.attempt(state=State.FAILED)),
    ),
    broken(
        "RUN-05",
        "ranks began to work in another directory than the attempt's",
        elsewhere("-n", "4"),
        "/scratch/user/campaign-0a1b2c3d",
        "/tmp on n2",
    ),
    disclosed(
        "RUN-05",
        "ranks began to work in another directory than the attempt's",
        elsewhere("-d", "{directory}"),
        "/scratch/user/campaign-0a1b2c3d",
        "/tmp on n2",
    ),
    compliant(
        "RUN-05",
        "all began in the attempt's",
        with_evidence(witness=Witness(True, directories=("/scratch/user/campaign-1",))),
    ),
    compliant("RUN-05", "a target of the job alone, with its id and a variable that it sets", in_job("/local/17/a")),
    broken(
        "RUN-05",
        "the job measured in another directory than the target's",
        in_job("/dev/shm/17/a"),
        "job:/local/$SLURM_JOB_ID/${SITE}",
        "/dev/shm/17/a",
    ),
    compliant("RUN-05", "the command before the run", prepared("lfs setstripe -c 4 {directory}")),
    broken(
        "RUN-05",
        "other commands were executed before the run than planned",
        prepared("lfs setstripe -c 8 {directory}"),
        "lfs setstripe -c 4 {directory}",
        "lfs setstripe -c 8 {directory}",
    ),
    unchecked("RUN-05", "no command before the run", prepared()),
    unchecked("RUN-05", "nothing on record", NO_RECORD),
    unchecked("RUN-05", "no capacity afterwards", with_evidence(after=None)),
    #
    compliant("CCH-01", "shifted by whole nodes", case()),
    compliant(
        "CCH-01",
        "the cache was looked at",
        replace(one_node(), records=tuple(replace(record, cached_share=0.0) for record in builders.records())),
    ),
    broken(
        "CCH-01",
        "no measure against client caching",
        case(shift_effective=8),
        "phases shifted by whole nodes (4 ranks per node), or caches dropped",
        "a rank shift of 8 among 8 ranks",
    ),
    broken(
        "CCH-01",
        "no measure against client caching",
        case(shift_effective=2, whole_nodes=False),
        "phases shifted by whole nodes (4 ranks per node), or caches dropped",
        "a rank shift of 2 among 8 ranks",
    ),
    disclosed(
        "CCH-01",
        "files were accessed on the node that created them; results may come from client cache",
        one_node(),
    ),
    unchecked("CCH-01", "no word of the shift", case(shift_effective=None)),
    #
    compliant("ENV-01", "all is described", system()),
    compliant("ENV-01", "there is no tuning", system(**{"tuning by users": "none"})),
    broken("ENV-01", INCOMPLETE, system(network=""), "a description of each", "none of system.network"),
    broken("ENV-01", PLACEHOLDERS, system(network=SYSTEM["network"]), "a description of each", "system.network"),
    broken("ENV-01", PLACEHOLDERS, system(node="2 x TBD, 512 GiB"), "a description of each", "system.node (TBD)"),
    broken(
        "ENV-01",
        PLACEHOLDERS,
        system(node="XXXX cores", clients="Lorem ipsum"),
        "a description of each",
        "system.node (XXXX), system.clients (Lorem)",
    ),
    broken("ENV-01", PLACEHOLDERS, system(price="..."), "a description of each", "system.price (...)"),
    broken(
        "ENV-01",
        "contact.email is not an e-mail address",
        system(contact={"email": "a at vendor"}),
        "name@domain",
        "a at vendor",
    ),
    broken("ENV-01", INCOMPLETE, system(contact={"name": ""}), "a description of each", "none of contact.name"),
    broken(
        "ENV-01",
        PLACEHOLDERS,
        replace(system(), campaign=replace(system().campaign, targets=builders.campaign().targets)),
        "a description of each",
        "description of target scratch (nothing)",
    ),
    rehearsed("ENV-01", INCOMPLETE, system("rehearsal", network=""), "a description of each", "none of system.network"),
    #
    compliant("ENV-02", "different entries", system()),
    compliant(
        "ENV-02", "there is none of either", system(**{"tuning by users": "none", "tuning by administrators": "none"})
    ),
    broken(
        "ENV-02",
        "system: tuning by users not filled in",
        system(**{"tuning by users": ""}),
        "a description, or the word none",
    ),
    broken(
        "ENV-02",
        "the same tuning is given for users and for administrators",
        system(**{"tuning by users": "striping", "tuning by administrators": "striping"}),
        "different entries",
        "striping",
    ),
    broken(
        "ENV-02",
        "commands prepare the directory of each run on target scratch",
        striped(),
        "none",
        "lfs setstripe -c 4 {directory}",
        "scratch/*/*/*",
    ),
    rehearsed(
        "ENV-02",
        "commands prepare the directory of each run on target scratch",
        striped("rehearsal"),
        "none",
        "lfs setstripe -c 4 {directory}",
        "scratch/*/*/*",
    ),
    rehearsed(
        "ENV-02",
        "system: tuning by administrators not filled in",
        system("rehearsal", **{"tuning by administrators": "n/a"}),
        "a description, or the word none",
    ),
    #
    compliant("ENV-03", "the same throughout", over_time(*[builders.environment() for _ in range(3)])),
    compliant(
        "ENV-03",
        "memory within what firmware keeps",
        over_time(with_facts(memory_total="1000000 kB"), with_facts(memory_total="1010000 kB")),
    ),
    compliant(
        "ENV-03",
        "another time zone and another job",
        over_time(with_facts(zone="+0000"), replace(with_facts(zone="+0100"), variables=variables(SLURM_JOB_ID="18"))),
    ),
    compliant(
        "ENV-03",
        "each node numbers its mount of a network file system itself",
        over_time(mounted(case(), "0:59", "0:62").evidence.environment),
    ),
    broken(
        "ENV-03",
        "mount.device of scratch differs between nodes",
        over_time(mounted(case(), "8:1", "8:17", "xfs").evidence.environment),
        "8:1 (on n1)",
        "8:17 (on n2)",
    ),
    broken(
        "ENV-03",
        "vm.dirty_ratio changed during the campaign",
        over_time(with_facts(vm_dirty_ratio="20"), with_facts(vm_dirty_ratio="40")),
        f"20 (on n1, in {FIRST})",
        f"40 (on n1, in {SECOND})",
    ),
    broken(
        "ENV-03",
        "executable.sha256 of /opt/bench/mdtest changed during the campaign",
        over_time(builders.environment(), with_facts(executable_sha256="cd" * 32)),
        f"{'ab' * 32} (on n1, in {FIRST})",
        f"{'cd' * 32} (on n1, in {SECOND})",
    ),
    broken(
        "ENV-03",
        "mount.options of scratch changed during the campaign",
        over_time(with_facts(mount_options="rw"), with_facts(mount_options="rw,noatime")),
        f"rw (on n1, in {FIRST})",
        f"rw,noatime (on n1, in {SECOND})",
    ),
    broken(
        "ENV-03",
        "version of srun changed during the campaign",
        over_time(builders.environment(software={"srun": "23.02"}), builders.environment(software={"srun": "23.11"})),
        f"23.02 (in {FIRST})",
        f"23.11 (in {SECOND})",
    ),
    broken(
        "ENV-03",
        "variable UCX_TLS changed during the campaign",
        over_time(
            builders.environment(variables=variables(UCX_TLS="rc")),
            builders.environment(variables=variables(UCX_TLS="tcp")),
        ),
        f"rc (in {FIRST})",
        f"tcp (in {SECOND})",
    ),
    broken(
        "ENV-03",
        "cpu.model differs between nodes",
        over_time(by_node("cpu.model", "A", "A", "B")),
        "A (on n1)",
        "B (on n3)",
    ),
    broken(
        "ENV-03",
        "memory.total differs between nodes",
        over_time(by_node("memory.total", "100 kB", "100 kB", "50 kB")),
        "100 kB (on n1)",
        "50 kB (on n3)",
    ),
    unchecked("ENV-03", "no environments on record", good_submission()),
    compliant("ENV-03", "an attempt that was cancelled before it started", cancelled_before_it_started()),
    unchecked(
        "ENV-03",
        "nodes that did not answer",
        over_time(*[first_node_alone()] * 2),
        f"environment of n2, n3 not recorded in 2 attempts (first: {FIRST}): srun ended",
    ),
    unchecked(
        "ENV-03",
        "an answer that was cut off",
        over_time(builders.environment(incomplete=(1,))),
        f"environment of n2 not recorded in 1 attempt (first: {FIRST})",
    ),
]

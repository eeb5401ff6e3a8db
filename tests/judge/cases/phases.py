"""Cases of the rule on what one result of several phases consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from campaign.config.rules.pack import RulePack
from campaign.core.findings import Severity
from campaign.core.records import Attestation, Observation, PhaseTimes
from campaign.core.runs import Command, Geometry
from campaign.judge.job_facts import RESTORED
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting, Witness
from tests.judge.cases import Example, attempts, broken, compliant, disclosed, sources, unchecked
from tests.support import builders

WRITE, READ = PhaseTimes("write", 0, 110.0, 111.0), PhaseTimes("read", 0, 111.5, 112.4)
COMMANDS = (
    Command("/opt/bench/ior", ("-w",), "write", "ior"),
    Command("/opt/bench/ior", ("-r",), "read", "ior"),
)
STEPS = tuple({"JobIDRaw": f"17.{number}", "JobName": "ior", "Start": "111", "End": "112"} for number in range(2))


def phased(
    times: tuple[PhaseTimes, ...] = (WRITE, READ),
    steps: tuple[dict[str, str], ...] | None = STEPS,
    **seen: dict[str, Any],
) -> Case:
    """A result of two phases; `seen`: what their outputs say."""
    case = attempts.case()
    evidence = builders.evidence()
    assert evidence.completion is not None
    observations = {name: Observation(**{"job_id": "17", "step_id": step, **seen.get(name, {})})
            for name, step in (("write", "0"), ("read", "1"))}  # fmt: skip
    return replace(
        case,
        run=replace(case.run, commands=COMMANDS),
        outputs=observations,
        evidence=replace(
            evidence,
            completion=replace(evidence.completion, phases=times),
            accounting=None if steps is None else Accounting(steps=steps),
        ),
    )


def unaccounted() -> Case:
    """Of a Slurm that keeps no accounting."""
    case = phased()
    return replace(case, evidence=replace(case.evidence, accounting=Accounting(job={"JobId": "17"})))


def of_phases(pack: RulePack, commands: Sequence[Command] = COMMANDS) -> RulePack:
    """A pack with the phases of these commands."""
    return replace(pack, phases=tuple(replace(pack.phases[0], id=command.phase) for command in commands))


ALONE = replace(COMMANDS[0], geometry=Geometry(1, 1))  # the first phase, with counts of its own


def one_process_phase(**seen: Any) -> Case:
    """A phase with one process on one node, of a run with more; `seen`: what its output says."""
    fields = {"placement": "block", "processes_per_node": 1, "processes": 1, "nodes": 1, **seen}
    case = phased(write=fields)
    run = replace(case.run, commands=(ALONE, COMMANDS[1]))
    return replace(case, run=run, pack=of_phases(case.pack)).phases["write"]


def watched(processes: int) -> Submission:
    """A serial phase and one of the launch condition's processes, of which so many were seen."""
    submission = sources.watched(*[sources.BINARY] * processes)
    first = submission.results[0]
    commands = tuple(replace(command, executable=first.run.executable) for command in (ALONE, COMMANDS[1]))
    seen = first.evidence.witness
    ranks = {f"{rank} read": text for rank, text in seen.ranks.items()} | {"0 write": seen.ranks["0"]}
    evidence = replace(first.evidence, witness=replace(seen, ranks=ranks))
    run = replace(first.run, geometry=Geometry(1, 3), commands=commands)
    phased_one = replace(first, pack=of_phases(first.pack), run=run, evidence=evidence)
    return replace(submission, results=(phased_one, *submission.results[1:]))


LOAD = PhaseTimes("load", 0, 110.1, 111.9)
THIRD = {**STEPS[0], "JobIDRaw": "17.2"}


def with_load(
    benchmark: PhaseTimes = WRITE,
    load: PhaseTimes = LOAD,
    nodes: tuple[tuple[str, ...], tuple[str, ...]] = (("n1",), ("n2",)),
    steps: tuple[str, str] = ("1", "0"),
    profile: str = "full",
    **fields: Any,
) -> Case:
    """A result of a phase with a load that starts together with it, and of one behind both; `fields`: of the output
    of the first.
    """
    case = phased((benchmark, load, READ), steps=(*STEPS, THIRD), read={"step_id": "2"}, write=fields)
    geometry = Geometry(1, 1)
    commands = (
        replace(COMMANDS[0], geometry=geometry),
        Command("/opt/bench/ior", ("-w",), "load", "ior", geometry=geometry, first_node=1, beside=True),
        COMMANDS[1],
    )
    phases = {
        "write": replace(case.outputs["write"], step_id=steps[0], node_names=nodes[0]),
        "load": Observation(job_id="17", step_id=steps[1], node_names=nodes[1]),
        "read": case.outputs["read"],
    }
    operations = tuple(replace(operation, phase="write") for operation in case.pack.operations)
    return replace(
        case,
        pack=replace(of_phases(case.pack, commands), profile=profile, operations=operations),
        run=replace(case.run, commands=commands),
        outputs=phases,
    )


COPIES = tuple(
    replace(COMMANDS[0], phase=f"solve.{number}", geometry=Geometry(1, 2), beside=number > 1) for number in (1, 2)
)
SOLVES = (PhaseTimes("solve.1", 0, 110.0, 111.0), PhaseTimes("solve.2", 0, 110.0, 111.0))


def with_copies(second: str, first: str = "0,1", times: tuple[PhaseTimes, ...] = SOLVES) -> Case:
    """A result of two copies of two processes on one node; `first` and `second`: the CPUs on which they may run."""
    case = phased(times)
    seen = {f"{rank} {copy.phase}": f"n1 {'0' * 16}" for copy in COPIES for rank in range(2)}
    cpus = {f"{copy.phase} n1": text for copy, text in zip(COPIES, (first, second), strict=True)}
    outputs = {
        copy.phase: Observation(job_id="17", step_id=step, node_names=("n1",))
        for copy, step in zip(COPIES, "01", strict=True)
    }
    return replace(
        case,
        pack=replace(
            case.pack,
            phases=(replace(case.pack.phases[0], id="solve", copies="2"),),
            operations=tuple(replace(operation, phase="solve") for operation in case.pack.operations),
        ),
        run=replace(case.run, commands=COPIES),
        outputs=outputs,
        evidence=replace(case.evidence, witness=Witness(watched=True, ranks=seen, cpus=cpus)),
    )


def unseen_copies() -> Case:
    """Two copies of a program that does not say where it ran, and that ended before it was seen."""
    case = with_copies("2,3")
    outputs = {name: replace(seen, node_names=()) for name, seen in case.outputs.items()}
    return replace(case, outputs=outputs, evidence=replace(case.evidence, witness=Witness(watched=True)))


def set_between_phases(set_s: float) -> Case:
    """Two phases of 63 s each of the built-in benchmark, which saw its clock unchanged; it was set between them."""
    case = two_long_phases((50.0, 113.0), (113.5, 176.5))
    completion, (write, read) = case.evidence.completion, case.outputs.values()
    assert completion is not None
    first, second = completion.phases
    second = replace(second, started=second.started + set_s, ended=second.ended + set_s)
    completion = replace(completion, ended=second.ended, phases=(first, second))
    after = replace(builders.SPACE, time=second.ended)
    attested = {
        "write": replace(write, attestation=Attestation(clock_s=62.0)),
        "read": replace(read, began=174.0 + set_s, ended=236.0 + set_s, attestation=Attestation(clock_s=62.0)),
    }
    attempt, evidence = builders.attempt(ended=second.ended), replace(case.evidence, completion=completion, after=after)
    return replace(case, attempt=attempt, evidence=evidence, outputs=attested)


def long_phase(*uptimes: tuple[float, ...], run: tuple[float, ...] = (50.0, 176.5), set_s: float = 0.0) -> Case:
    """The first of them."""
    return two_long_phases(*uptimes, run=run, set_s=set_s).phases["write"]


def two_long_phases(*uptimes: tuple[float, ...], run: tuple[float, ...] = (50.0, 176.5), set_s: float = 0.0) -> Case:
    """A run of two phases of 63 s each. `uptimes`: what the kernel's clock showed at the start and the end of each
    phase, `run` of both together; `set_s`: by how much the node's clock was set during the first.
    """
    times = (
        PhaseTimes("write", 0, 110.0, 173.0 + set_s, *uptimes[:1]),
        PhaseTimes("read", 0, 173.5 + set_s, 236.5 + set_s, *uptimes[1:]),
    )
    case = phased(times, write={"began": 110.5, "ended": 172.5 + set_s})
    after = replace(builders.SPACE, time=times[1].ended)
    assert case.evidence.completion is not None
    completion = replace(case.evidence.completion, ended=times[1].ended, uptime=run)
    final = builders.accounting(EndTime="240")
    evidence = replace(case.evidence, completion=completion, after=after, accounting=final)
    attempt = builders.attempt(ended=times[1].ended)
    return replace(case, pack=of_phases(case.pack), attempt=attempt, evidence=evidence)


def without_flags() -> Case:
    """A phase whose command line has no {flags}, in a file configuration with flags."""
    case = phased(write={"argv": ("/opt/bench/ior", "-w")})
    (phase, *_), run = case.pack.phases, replace(case.run, files="unique")
    pack = of_phases(replace(case.pack, phases=(replace(phase, arguments=("-w",)),)))
    return replace(case, pack=pack, run=run).phases["write"]


SHORT = replace(LOAD, ended=110.5)
FOREIGN = {"JobIDRaw": "17.2", "JobName": "dd", "Start": "111", "End": "111"}
EXAMPLES: list[Example] = [
    compliant("FLG-02", "a phase to which no file configuration adds flags", without_flags()),
    compliant("GEO-01", "a phase with its own process", one_process_phase()),
    compliant("GEO-02", "a phase with its own process", one_process_phase()),
    broken(
        "GEO-01", "ranks are not placed in equal blocks", one_process_phase(processes_per_node=4, processes=4),
        "block placement, 1 per node", "block placement, 4 per node",
    ),
    broken(
        "GEO-02", "ran with other process or node counts than planned for peak", one_process_phase(processes=4),
        "1 process on 1 node", "4 processes on 1 node",
    ),
    compliant("SRC-04", "all ranks of a serial phase and of another", watched(3)),
    unchecked("SRC-04", "a rank of the phase that is not serial was not seen", watched(2)),
    compliant("EVD-06", "a phase of 63 s in a run of 126 s", long_phase((50.0, 113.0), (113.5, 176.5))),
    compliant("EVD-06", "a phase of 63 s, of a job that recorded the kernel's clock for the run only", long_phase()),
    disclosed("EVD-06", "the clock of the job's first node was set during the run",
              long_phase((50.0, 113.0), (113.5, 176.5), set_s=4.0), "", "by +4.0 s"),
    disclosed("EVD-06", "the clock of the job's first node was set during the run",
              set_between_phases(4.0), "", "by +4.0 s"),
    compliant("RUN-02", "a phase in which the clock was set back",
              long_phase((50.0, 113.0), (113.5, 176.5), set_s=-4.0)),
    compliant("RUN-09", "all phases in order", phased()),
    compliant("RUN-09", "the job's own probe of the placement", phased(steps=(*STEPS, {**FOREIGN, "JobName": "bash"}))),
    compliant("RUN-09", "a step after the last phase",
              phased(steps=(*STEPS, {**FOREIGN, "Start": "112", "End": "114"}))),
    broken(
        "RUN-09",
        "the phases that ran differ from the plan (each once, in order)",
        phased((READ, WRITE)),
        "write, read",
        "read, write",
    ),
    broken(
        "RUN-09",
        "the phases that ran differ from the plan (each once, in order)",
        phased((READ,)),
        "write, read",
        "read",
    ),
    broken(
        "RUN-09",
        "a phase began before the previous one had ended",
        phased((WRITE, replace(READ, started=105.0))),
        "after the end of write",
        "read",
    ),
    broken(
        "RUN-09", "the phases of one result ran in several jobs", phased(write={"job_id": "16"}), "17", "16, 17"
    ),
    broken(
        "RUN-09", f"the job steps are not in the order of the phases: {RESTORED}", phased(write={"step_id": "4"}),
        "ascending step numbers", "4, 1", severity=Severity.WARNING,
    ),
    broken(
        "RUN-09", "the job ran other steps between the phases of one result", phased(steps=(*STEPS, FOREIGN)),
        "2 of ior", "1 of dd",
    ),
    broken(
        "RUN-09", "the job ran other steps between the phases of one result",
        phased(steps=(*STEPS, {**FOREIGN, "JobName": "ior"})), "2 of ior", "1 of ior",
    ),
    unchecked("RUN-09", "the job recorded no phases", phased(())),
    disclosed("RUN-09", "job steps not in Slurm's accounting: other work between the phases cannot be excluded",
              unaccounted()),
    compliant("RUN-09", "a load beside a phase for nearly all its time, with steps in another order", with_load()),
    compliant("RUN-09", "a load that runs longer", with_load(load=replace(LOAD, started=109.9, ended=111.4))),
    compliant("RUN-09", "a load for all the time that the output says was measured",
              with_load(load=SHORT, began=110.2, ended=110.45)),
    broken("RUN-09", "phases that start together did not run at the same time",
           with_load(load=replace(LOAD, started=111.2, ended=111.4)),
           "write and load at the same time", "load began 0.2 s after the end of write"),
    broken("RUN-09",
           "phase write was measured during only a part of the phases that start together with it",
           with_load(load=SHORT), "90% of its time or more (0.9 s of 1.0 s)", "0.4 s", severity=Severity.WARNING),
    broken("RUN-09", "phases that start together ran on the same nodes", with_load(nodes=(("n1",), ("n1",))),
           "separate nodes for each", "n1"),
    broken("RUN-09", "a phase began before the previous one had ended", with_load(load=replace(LOAD, ended=115.0)),
           "after the end of load", "read"),
    broken("RUN-09", f"the job steps are not in the order of the phases: {RESTORED}", with_load(steps=("3", "0")),
           "ascending step numbers", "0, 3, 2", severity=Severity.WARNING),
    unchecked("RUN-09", "nodes of a phase that starts together with another were not seen",
              with_load(nodes=(("n1",), ()))),
    compliant("RUN-09", "copies that share a node and no CPU", with_copies("2,3")),
    compliant("RUN-09", "copies that share two threads of each core", with_copies("0,1,2,3", "0,1,2,3")),
    broken("RUN-09", "the phases that ran differ from the plan (each once, in order)",
           with_copies("2,3", times=SOLVES[:1]), "solve.1, solve.2", "solve.1"),
    broken("RUN-09", "phases that start together did not run at the same time",
           with_copies("2,3", times=(SOLVES[0], replace(SOLVES[1], started=111.2, ended=112.0))),
           "solve.1 and solve.2 at the same time", "solve.2 began 0.2 s after the end of solve.1"),
    broken("RUN-09", "copies of a phase ran on the same CPUs of a node", with_copies("1,2"),
           "separate CPUs for each", "solve.1 and solve.2 on CPU 1 of n1"),
    unchecked("RUN-09", "copies that may run on all CPUs of their node", with_copies("all", "all")),
    unchecked("RUN-09", "copies that were not seen", unseen_copies()),
    unchecked("RUN-09", "Slurm keeps no accounting of steps", phased(steps=None)),
]  # fmt: skip

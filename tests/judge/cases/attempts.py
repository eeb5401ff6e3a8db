"""Cases of the rules over one attempt by its own outputs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from campaign.config.rules.entries import Requirement
from campaign.core.findings import Severity
from campaign.core.records import OutputRemark
from campaign.core.runs import Geometry, Input, Launcher, Run, State
from campaign.results.case import Case
from campaign.results.environment.facts import Evidence, Witness
from campaign.results.environment.slurm_text import slurm_fields
from tests.judge.cases import Example, broken, compliant, disclosed, rehearsed, unchecked
from tests.support import builders

DIRECTORY = f"/scratch/user/campaign-{builders.TOKEN}"


def case(run: Run | None = None, state: State = State.DONE, records: Any = None, **seen: Any) -> Case:
    """A case in which everything went as planned, but for what the output says otherwise."""
    run = run or builders.run()
    return Case(
        campaign=builders.campaign(),
        pack=builders.pack(),
        run=run,
        attempt=builders.attempt(run, state=state, reason="" if state is State.DONE else "why"),
        records=builders.records() if records is None else records,
        outputs={"": builders.observation(run, **seen)},
    )


def uneven(*ranks: int) -> Case:
    """31 processes on 4 nodes, with so many ranks on each."""
    return case(builders.run(geometry=Geometry(4, 31)), processes_per_node=0, uneven=ranks)


def on_node(node: str, *names: str) -> Case:
    """A run of a node by itself, and the nodes where it ran."""
    return case(builders.run(node=node), node_names=names)


def on_chunk(*placement: str) -> Case:
    """A run of a chunk of two nodes, and the nodes of the ranks that the job saw, of two ranks."""
    run = builders.run(node="chunk1", chunk=("n1", "n2"))
    run = replace(run, geometry=replace(run.geometry, nodes=2, processes=2))
    seen = case(run, node_names=(), nodes=2, processes=2)
    return replace(seen, evidence=builders.evidence(placement={"": placement}))


def argv(*change: tuple[str, str]) -> tuple[str, ...]:
    """The planned command line as one text, with replacements."""
    text = " ".join(builders.observation().argv)
    for old, new in change:
        assert old in text
        text = text.replace(old, new)
    return tuple(text.split())


def inflated(**changes: Any) -> Case:
    """The one-file configuration, of which the benchmark counts more than happens."""
    run = builders.run(files="onefile", arguments=(*builders.run().arguments[:-1], "-S"))
    create, stat, remove = (replace(record, **changes) for record in builders.records())
    return case(run, records=(create, replace(stat, true_value=None), remove))


def by_one_process(rate: float) -> Case:
    """With an eighth of the counted removals done, by one process, and the rate of the fastest."""
    case = inflated()
    create, stat, remove = case.records
    create = replace(create, true_value=create.value)
    return replace(case, records=(create, stat, replace(remove, value=rate, operations_done=125)))


SUSPENDED = "Slurm suspended the job during the run: that time counts in its results"


def suspended(suspensions: tuple[float, ...] | None, step: str = "", **slurms: str) -> Case:
    """A run from 110 to 172 s. `suspensions`: when it was suspended by the job's record; `step`: how long its step was
    by sacct; `slurms`: what scontrol says of the job, or sacct of the step.
    """
    times = {name: slurms.pop(name, time) for name, time in (("Start", "110"), ("End", "172"))}
    row = {"JobIDRaw": "17.0", "JobName": "mdtest", "Suspended": step, **times}
    final = replace(builders.accounting(EndTime="173", **slurms), steps=(row,) if step else ())
    completion = builders.completion(ended=172.0, suspended=suspensions)
    return replace(case(), evidence=builders.evidence(completion=completion, accounting=final))


def by_mpirun(suspended_run: Case, **step: str) -> Case:
    """That run, started by mpirun, and with another step."""
    evidence, run = suspended_run.evidence, suspended_run.run
    assert evidence.accounting is not None
    steps = tuple({**row, **step} for row in evidence.accounting.steps)
    return replace(
        suspended_run,
        run=replace(run, launcher=Launcher("mpirun", placement=("-n", "{processes}"))),
        evidence=replace(evidence, accounting=replace(evidence.accounting, steps=steps)),
    )


def one_node(**seen: Any) -> Case:
    run = builders.run(geometry=Geometry(1, 4), arguments=tuple(word for word in builders.run().arguments))
    return case(run, shift_effective=0, **seen)


def without_operation(case: Case, operation: str) -> Case:
    return replace(case, records=tuple(record for record in case.records if record.operation != operation))


def remote(share: float) -> Case:
    return case(records=tuple(replace(record, remote_share=share) for record in builders.records()))


def storage(profile: str = "full", run: Run | None = None, **shares: float) -> Case:
    """A configuration whose numbers have to be the storage's, with a share of the first record's bytes in memory."""
    pack = builders.pack(profile=profile)
    files = tuple(replace(files, storage=True) for files in pack.files)
    first, *other_records = (replace(record, cached_share=0.0) for record in builders.records())
    original = case(run, records=(replace(first, **shares), *other_records))
    return replace(original, pack=replace(pack, files=files))


def moved(gib: float, profile: str = "full", multiple: float = 1.5, cached: float | None = 0.0) -> Case:
    """Two nodes of 24 GiB each, and a bandwidth of so much data under rules that ask for a multiple of the memory."""
    case = storage(profile)
    rate = replace(case.records[0], unit="MiB/s", moved_bytes=int(gib * 2**30), cached_share=cached)
    pack = replace(case.pack, parameters={("CCH-05", "memory"): multiple} if multiple else {})
    facts = builders.environment(facts={"memory.total": "25165824 kB", "device.memory": "24576 24576 MiB"})
    evidence = builders.evidence(environment=facts)
    return replace(case, pack=pack, records=(rate, *case.records[1:]), evidence=evidence)


def required(holds: str, profile: str = "full", **filters: tuple[str, ...]) -> Case:
    """A pack that requires something of what was run: 48 GiB moved, on two nodes of 24 GiB each."""
    case = moved(48, profile)
    return replace(case, pack=replace(case.pack, requires=(Requirement(holds, "4.2", **filters),)))


def without_devices(holds: str) -> Case:
    case = required(holds)
    facts = builders.environment(facts={"memory.total": "25165824 kB"})
    return replace(case, evidence=builders.evidence(environment=facts))


def placed(holds: str, *nodes: str) -> Case:
    """A program that prints no counts, whose ranks the job saw on these nodes."""
    case = required(holds)
    seen = replace(case.observation, processes=None, nodes=None)
    return replace(case, outputs={"": seen}, evidence=replace(case.evidence, placement={"": nodes}))


def on_gpus(job: str) -> Case:
    """A run with four accelerators on each node, whose job was this by scontrol."""
    original = case(builders.run(gres="gpu:a100:4"))
    environment = replace(original.evidence.environment, recorded=True, job=slurm_fields(job))
    return replace(original, evidence=replace(original.evidence, environment=environment))


def threaded(seen: int | None, *thread_counts: str) -> Case:
    """A run of processes with four threads each: the output says so many, the ranks were told so many."""
    evidence = builders.evidence(witness=Witness(threads=thread_counts))
    return replace(case(builders.run(threads=4), threads=seen), evidence=evidence)


def ior(*words: str) -> Case:
    """A benchmark that is given the names of files in its directory, executed with other words."""
    run = builders.run(arguments=("-F", "-o", "{directory}/data", "f{directory}", "v1"))
    return case(run, argv=("ior", *words))


OWN_AND_INPUTS = "only the attempt's own directory, and input files"
BOX = (Input("box", "/work/box.in"),)


def of_pack(*words: str) -> Case:
    """The pack itself has these words, and the box is an input."""
    original = case(builders.run(arguments=words, inputs=BOX))
    return replace(original, pack=builders.with_phase(original.pack, arguments=words))


def literal_offset() -> Case:
    """The pack itself gives -N a value, as IO500 does, instead of its placeholder."""
    words = argv(("-N 4", "-N 1"))
    run = builders.run(arguments=tuple(word.replace(DIRECTORY, "{directory}") for word in words[1:]))
    original = case(run, argv=words)
    return replace(original, pack=builders.with_phase(original.pack, arguments=("-N", "1")))


RATE = replace(builders.records()[0], value=0.0)

# The attempt's state is always known, output that is not there fails RUN-06, a number without a unit is none, and the
# geometry is the planned one.
ALWAYS_CHECKED = {"RUN-06", "STA-05", "CCH-04"}

EXAMPLES: list[Example] = [
    compliant("CCH-04", "all as planned", case()),
    broken("CCH-04", "single node: results may include client cache", one_node()),
    broken(
        "CCH-05",
        "create: bandwidth of memory, not of storage: the data was already in the reading node's page cache",
        storage(cached_share=0.5),
        "at most 5% of the bytes",
        "50% of the bytes",
    ),
    broken(
        "CCH-05",
        "create: bandwidth of memory, not of storage: the data was not yet on storage when timing ended",
        storage(dirty_share=0.06),
        "at most 5% of the bytes",
        "6% of the bytes",
    ),
    compliant("CCH-05", "all as planned", case()),
    compliant("CCH-05", "as much of it cached as allowed", storage(cached_share=0.05)),
    compliant("CCH-05", "no result to judge", without_operation(storage(), "create")),
    unchecked("CCH-05", "no word of the page cache", replace(storage(), records=builders.records())),
    broken(
        "CCH-05",
        "create: less data moved than the rules require for the nodes' memory",
        moved(2**-16),
        "72 GiB (1.5 x 48 GiB)",
        "16 KiB",
    ),
    broken("GEO-02", "processes ran with a different number of threads than planned", threaded(1), "4", "1"),
    broken(
        "GEO-02", "processes ran with a different number of threads than planned", threaded(None, "4", "2"), "4", "4, 2"
    ),
    compliant("GEO-02", "as many threads as planned, as seen from outside", threaded(None, "4")),
    compliant("GEO-02", "as many threads as planned", threaded(4)),
    unchecked("GEO-02", "threads that nothing says", threaded(None)),
    compliant("CCH-05", "the RFP's multiple of the memory", moved(72)),
    compliant("CCH-05", "a multiple of the memory that Slurm is told", moved(69)),
    compliant("CCH-05", "more data than can have been in memory", moved(96, multiple=0, cached=None)),
    unchecked("CCH-05", "data that may have been in memory", moved(95, multiple=0, cached=None)),
    unchecked("CCH-05", "a multiple of a memory that is not known", replace(moved(72), evidence=Evidence())),
    rehearsed(
        "CCH-05",
        "create: less data moved than the rules require for the nodes' memory",
        moved(1, "rehearsal"),
        "72 GiB (1.5 x 48 GiB)",
        "1 GiB",
    ),
    rehearsed(
        "CCH-05",
        "create: bandwidth of memory, not of storage: the data was already in the reading node's page cache",
        storage(profile="rehearsal", cached_share=1.0),
        "at most 5% of the bytes",
        "100% of the bytes",
    ),
    broken(
        "FLG-01",
        "mandatory flags missing: -C",
        case(argv=argv((" -C", ""))),
        " ".join(argv()[1:]),
        " ".join(argv((" -C", ""))),
    ),
    broken(
        "FLG-01",
        "mandatory flags missing: -F -r",
        case(argv=argv((" -F", ""), (" -r", ""))),
        " ".join(argv()[1:]),
        " ".join(argv((" -F", ""), (" -r", ""))),
    ),
    compliant("FLG-01", "all as planned", case()),
    unchecked("FLG-01", "no command line in the output", case(argv=())),
    broken(
        "FLG-02",
        "wrong flags for file configuration unique",
        case(argv=argv((" -u", " -S"))),
        "-u",
        " ".join(argv((" -u", " -S"))),
    ),
    broken(
        "FLG-02",
        "wrong flags for file configuration shared",
        case(builders.run(files="shared", arguments=builders.run().arguments[:-1]), argv=argv()),
        "none of -S -u",
        " ".join(argv()),
    ),
    compliant("FLG-02", "all as planned", case()),
    compliant(
        "FLG-02",
        "the configuration without flags of its own",
        case(builders.run(files="shared", arguments=builders.run().arguments[:-1])),
    ),
    compliant("FLG-02", "the flag of the one file", inflated()),
    unchecked("FLG-02", "no command line in the output", case(argv=())),
    broken(
        "FLG-03",
        "the executed command differs from the planned one",
        case(argv=argv((" -u", " -u -B"))),
        " ".join(argv()[1:]),
        " ".join(argv((" -u", " -u -B"))[1:]),
    ),
    compliant("FLG-03", "all as planned", case()),
    unchecked("FLG-03", "no command line in the output", case(argv=())),
    broken(
        "FLG-04",
        "the benchmark counted a different number of files than planned",
        case(files_reported=992),
        "1000",
        "992",
    ),
    compliant("FLG-04", "as many files as asked", case(builders.run(items_total=2**20), files_reported=2**20)),
    compliant(
        "FLG-04", "a benchmark without items", replace(case(builders.run(items_total=None), files_reported=None))
    ),
    compliant(
        "FLG-04",
        "one file, as mdtest 4 prints whatever n is",
        replace(
            inflated(),
            run=replace(inflated().run, items_total=2**20),
            outputs={"": builders.observation(files_reported=1)},
        ),
    ),
    unchecked("FLG-04", "no count in the output", case(files_reported=None)),
    disclosed(
        "FLG-04",
        "rehearsal: smaller than the rules require, never a compliant result",
        case(),
        "1048576 or more",
        "1000 files",
    ),
    broken(
        "FLG-05",
        "the campaign file adds a path outside the target's directory to the command line",
        case(builders.run(arguments=(*builders.run().arguments, "-x/tmp/wall"))),
        OWN_AND_INPUTS,
        "-x/tmp/wall",
    ),
    broken(
        "FLG-05",
        "the campaign file adds a path outside the target's directory to the command line",
        case(builders.run(arguments=(*builders.run().arguments, "-i", "/work/box.in2"), inputs=BOX)),
        OWN_AND_INPUTS,
        "/work/box.in2",
    ),
    broken(
        "FLG-05",
        "the rule pack's command line names a path outside the target's directory that is not among its inputs",
        of_pack("--log=/tmp/log", "-I/usr/include", "../up", "/dev/null", "s3://bucket", "a/b", "--in=/work/box.in"),
        OWN_AND_INPUTS,
        "--log=/tmp/log -I/usr/include ../up",
        severity=Severity.WARNING,
    ),
    compliant(
        "FLG-05",
        "an input that the campaign file adds",
        case(builders.run(arguments=(*builders.run().arguments, "-i", "--in=/work/box.in"), inputs=BOX)),
    ),
    broken(
        "GEO-05",
        "clause 4.2 requires create: moved >= 1.5 * memory * nodes; found moved 51539607552, "
        "memory 25769803776, nodes 2",
        required("moved >= 1.5 * memory * nodes"),
        ">= 77309411328",
        "51539607552",
    ),
    broken(
        "GEO-05",
        "clause 4.2 requires processes == 2 * nodes; found processes 8, nodes 2",
        required("processes == 2 * nodes"),
        "== 4",
        "8",
    ),
    rehearsed(
        "GEO-05",
        "clause 4.2 requires items_per_process <= 100; found items_per_process 125",
        required("items_per_process <= 100", "rehearsal"),
        "<= 100",
        "125",
    ),
    broken(
        "GEO-05",
        "clause 4.2 requires processes == 2 * ceil(nodes * 2 / 2) - 1; found processes 4, nodes 2",
        placed("processes == 2 * ceil(nodes * 2 / 2) - 1", "n1", "n1", "n2", "n2"),
        "== 3",
        "4",
    ),
    compliant("GEO-05", "ranks that the job saw, an odd number", placed("processes == 3", "n1", "n1", "n2")),
    unchecked("GEO-05", "ranks that neither output nor job saw", placed("processes == 3")),
    compliant("GEO-05", "no requirement", case()),
    compliant("GEO-05", "as much as is required", required("moved >= memory * nodes")),
    compliant("GEO-05", "a share of the accelerators' memory", required("moved >= 96% * devices * device_memory")),
    broken(
        "GEO-05",
        "clause 4.2 requires create: moved <= 0.5 * devices * device_memory; found moved 51539607552, "
        "devices 2, device_memory 25769803776",
        required("moved <= 0.5 * devices * device_memory"),
        "<= 25769803776",
        "51539607552",
    ),
    unchecked("GEO-05", "accelerators of which no node says anything", without_devices("moved <= device_memory")),
    unchecked("GEO-05", "a quotient by a count of zero", required("moved / (nodes - 2) <= device_memory")),
    compliant("GEO-05", "by the memory that Slurm is told, a little less", required("moved == 1.04 * memory * nodes")),
    compliant(
        "GEO-05", "as many bytes, but for the digits that IOR does not print", required("moved >= 48.001 * 2^30")
    ),
    compliant("GEO-05", "other launch conditions", required("processes == 1", launch=("single",))),
    compliant("GEO-05", "other file configurations", required("processes == 1", files=("onefile",))),
    unchecked("GEO-05", "a number that nothing recorded", required("cores >= 1")),
    unchecked("GEO-05", "no bandwidth", replace(required("moved >= 1"), records=builders.records())),
    broken(
        "FLG-05",
        "the benchmark used a directory other than the attempt's",
        case(argv=argv((DIRECTORY, "/dev/shm"))),
        DIRECTORY,
        "/dev/shm",
    ),
    compliant("FLG-05", "all as planned", case()),
    compliant(
        "FLG-05", "a command line without the flag", case(builders.run(arguments=("-F",)), argv=("mdtest", "-F"))
    ),
    compliant("FLG-05", "names of files in the directory", ior("-F", "-o", f"{DIRECTORY}/data", f"f{DIRECTORY}", "v1")),
    compliant("FLG-05", "the same in another order", ior("-x", f"f{DIRECTORY}", "-o", f"{DIRECTORY}/data")),
    unchecked("FLG-05", "no command line in the output", case(argv=())),
    broken("FLG-06", "-N does not shift the ranks by one node", case(argv=argv(("-N 4", "-N 1"))), "-N 4", "-N 1"),
    compliant("FLG-06", "all as planned", case()),
    compliant("FLG-06", "a value that the rules themselves give, which nobody translated", literal_offset()),
    compliant(
        "FLG-06", "a command line without the flag", case(builders.run(arguments=("-F",)), argv=("mdtest", "-F"))
    ),
    unchecked("FLG-06", "no command line in the output", case(argv=())),
    disclosed(
        "FLG-06",
        "this mdtest version takes -N in nodes; equivalent to the required rank offset",
        case(
            builders.run(arguments=tuple(argv(("-N 4", "-N 1"), (DIRECTORY, "{directory}"))[1:])),
        ),
        "an offset of 4 ranks",
        "-N 1",
    ),
    broken(
        "FLG-07",
        "all phases ran on the node that created the files",
        case(shift_effective=8),
        "a rank shift of 4 (one node)",
        "a rank shift of 8 among 8 ranks, which leads back to the same rank",
    ),
    broken(
        "FLG-07",
        "phases ran on other nodes than the rules require",
        case(shift_effective=1),
        "a rank shift of 4 (one node)",
        "a rank shift of 1 among 8 ranks",
    ),
    broken(
        "FLG-07",
        "some stat calls ran on the node that created the file",
        remote(0.75),
        "100% of the stat calls on another node",
        "75% of the stat calls on another node",
    ),
    compliant("FLG-07", "all as planned", case()),
    compliant("FLG-07", "the same shift gone round once more", case(shift_effective=12)),
    compliant("FLG-07", "every stat on another node", remote(1.0)),
    compliant("FLG-07", "a benchmark without -N", case(builders.run(arguments=("-F",)), shift_effective=None)),
    unchecked("FLG-07", "no shift in the output", case(shift_effective=None)),
    disclosed(
        "FLG-07", "single node: all phases ran on the node that created the files, as there is no other", one_node()
    ),
    broken(
        "GEO-01",
        "ranks are not placed in equal blocks",
        case(placement="cyclic"),
        "block placement, 4 per node",
        "cyclic placement, 4 per node",
    ),
    compliant("GEO-01", "all as planned", case()),
    compliant("GEO-01", "the larger blocks are first", uneven(8, 8, 8, 7)),
    broken(
        "GEO-01",
        "ranks are not placed in the planned blocks",
        uneven(8, 8, 7, 8),
        "block placement, 8 on 3 nodes and 7 on 1",
        "block placement, 8, 8, 7, 8 per node",
    ),
    unchecked("GEO-01", "uneven, and only the first node is in the output", uneven()),
    unchecked("GEO-01", "no placement in the output", case(placement=None)),
    broken(
        "GEO-02",
        "ran with other process or node counts than planned for peak",
        case(nodes=1),
        "8 processes on 2 nodes",
        "8 processes on 1 node",
    ),
    compliant("GEO-02", "all as planned", case()),
    compliant("GEO-02", "on its node", on_node("n1", "n1")),
    broken("GEO-02", "ran on another node than planned", on_node("n1", "n2"), "n1", "n2"),
    compliant("GEO-02", "on its chunk", on_chunk("n1", "n2")),
    broken("GEO-02", "ran on another node than planned", on_chunk("n1", "n3"), "n1, n2", "n1, n3"),
    broken("GEO-02", "ran on another node than planned", on_chunk("n1", "n1"), "n1, n2", "n1"),
    unchecked("GEO-02", "a rank of the chunk ended before it was seen", on_chunk("n1")),
    compliant("GEO-02", "its accelerators", on_gpus("TresPerNode=gres:gpu:a100:4,gres:nvme:1")),
    compliant("GEO-02", "its accelerators, as later versions of Slurm say it", on_gpus("TresPerNode=gres/gpu:a100:4")),
    broken(
        "GEO-02",
        "the job had other generic resources than planned",
        on_gpus("TresPerNode=gres:gpu:a100:2"),
        "gpu:a100:4",
        "gpu:a100:2",
    ),
    broken(
        "GEO-02",
        "the job had other generic resources than planned",
        on_gpus("JobId=17"),
        "gpu:a100:4",
        "none",
    ),
    unchecked("GEO-02", "accelerators that nothing says", on_gpus("")),
    unchecked("GEO-02", "its node was not recorded", on_node("n1")),
    unchecked("GEO-02", "no geometry in the output", case(nodes=None)),
    broken(
        "GEO-02",
        "ran with other process or node counts than planned for peak",
        case(nodes=None, processes=4),
        "8 processes on 2 nodes",
        "4 processes on 2 nodes",
    ),
    compliant("PHY-03", "all as planned", case()),
    compliant("PHY-03", "all that was counted was done", inflated(operations_done=1000)),
    compliant(
        "PHY-03",
        "a mean that is rounded beside one that is not",
        case(records=(replace(builders.records()[0], true_value=999.9996), *builders.records()[1:])),
    ),
    broken(
        "PHY-03",
        "create: the rate assumes one operation for each process and file; this benchmark does not print how many "
        "there were, the built-in one does",
        replace(inflated(), outputs={"": builders.observation(program="campaign bench 0.1.0")}),
    ),
    broken(
        "PHY-03",
        "create: the output claims as many actual operations as the formula counts, which is impossible",
        replace(inflated(operations_done=1000), outputs={"": builders.observation(program="campaign bench 0.1.0")}),
    ),
    broken(
        "PHY-03",
        "create: fewer operations were performed than its rate counts",
        case(records=(replace(builders.records()[0], true_value=500.0), *builders.records()[1:])),
        "1000 ops/s (by the formula)",
        "500 ops/s (actual)",
    ),
    disclosed(
        "PHY-03",
        "create: the benchmark prints the rate of its fastest process",
        case(records=(replace(builders.records()[0], true_value=500.0, of_fastest=True), *builders.records()[1:])),
        "500 ops/s (actual)",
        "1000 ops/s (printed)",
    ),
    broken(
        "EVD-06",
        "value of create is 3491317.0 in a/stdout:14, but 349131.0 in a/bench.jsonl:5",
        case(contradictions=("value of create is 3491317.0 in a/stdout:14, but 349131.0 in a/bench.jsonl:5",)),
    ),
    unchecked("PHY-03", "the output does not say what was done", inflated()),
    disclosed(
        "PHY-03",
        "create: all processes share the same files; the formula counts them once per process",
        inflated(operations_done=125, files_true=125),
        "125 files (created)",
        "1000 files (by the formula)",
    ),
    disclosed(
        "PHY-03",
        "create: the formula counts more operations than were performed",
        inflated(operations_done=125, true_value=125.0),
        "125 ops/s (actual)",
        "1000 ops/s (by the formula)",
    ),
    *[
        broken("RUN-01", f"the run ended as {state}: why", case(state=state), "done", "")
        for state in (State.FAILED, State.TIMEOUT, State.CANCELLED, State.NODE_FAIL, State.LOST)
    ],
    compliant("RUN-01", "all as planned", case()),
    compliant("RUN-01", "a job that was suspended before the run, as Slurm has it", suspended(None, SuspendTime="100")),
    compliant("RUN-01", "a suspension before the benchmark was started, by the job's record", suspended((90.0, 99.0))),
    compliant(
        "RUN-01",
        "a job that was suspended at about that time, but not by its own record of the run",
        suspended((), SuspendTime="110"),
    ),
    compliant("RUN-01", "a step that was never suspended", suspended((), step="00:00:00")),
    compliant("RUN-01", "the step of the run before", suspended((), step="00:00:12", Start="60", End="109")),
    compliant("RUN-01", "the step of the next run", suspended((), step="00:00:12", Start="172", End="200")),
    *(
        broken(
            "RUN-01",
            SUSPENDED,
            by_mpirun(suspended(None, step="00:00:12"), JobName=daemon),
            "not suspended",
            "00:00:12 in step 17.0 (sacct)",
        )
        for daemon in ("orted", "prted", "hydra_bstrap_proxy")
    ),
    *(
        compliant("RUN-01", name, by_mpirun(suspended((), step="00:00:12"), **step))
        for name, step in (
            ("the witness's step next to the run", {"JobName": "witness"}),
            ("the job's script, which was suspended outside of the run", {"JobName": "batch", "JobIDRaw": "17.batch"}),
            ("a daemon's step of another run", {"JobName": "orted", "Start": "60", "End": "109"}),
        )
    ),
    compliant(
        "RUN-01",
        "a job that was suspended by sacct, but not by its own record of the run",
        by_mpirun(suspended((), step="00:00:12"), JobName="job", JobIDRaw="17"),
    ),
    unchecked(
        "RUN-01",
        "a job that was suspended by sacct, and did not record when",
        by_mpirun(suspended(None, step="00:00:12"), JobName="job", JobIDRaw="17"),
    ),
    unchecked(
        "RUN-01",
        "a job that was suspended at about that time, which it did not record",
        suspended(None, SuspendTime="110"),
    ),
    broken(
        "RUN-01",
        SUSPENDED,
        suspended((120.0, 132.4)),
        "not suspended",
        "12 s from 1970-01-01 00:02:00 UTC (facts.jsonl)",
    ),
    broken("RUN-01", SUSPENDED, suspended(None, step="00:00:12"), "not suspended", "00:00:12 in step 17.0 (sacct)"),
    broken("RUN-01", SUSPENDED, suspended((), step="1-00:00:00"), "not suspended", "1-00:00:00 in step 17.0 (sacct)"),
    broken(
        "RUN-01",
        SUSPENDED,
        suspended(None, SuspendTime="132"),
        "not suspended",
        "until 1970-01-01 00:02:12 UTC (scontrol)",
    ),
    *(
        example(
            "RUN-01",
            "the benchmark printed its last line, after all results, and did not end; the job ended it a minute later",
            replace(
                case(),
                pack=builders.pack(profile=profile),
                evidence=builders.evidence(
                    completion=builders.completion(exit_status=143, unended="-- finished at noon --")
                ),
            ),
            "its processes end by themselves",
            "-- finished at noon --",
            severity=Severity.WARNING,
        )
        for profile, example in (("full", broken), ("rehearsal", rehearsed))
    ),
    broken(
        "RUN-06", "error in the benchmark output: stderr:3: boom", case(errors=(OutputRemark("boom", "stderr", 3),))
    ),
    disclosed(
        "RUN-06",
        "warning in the benchmark output: '/scratch/user/campaign-TOKEN/f' is on tmpfs",
        case(warnings=(OutputRemark(f"'{DIRECTORY}/f' is on tmpfs", "runs/a/1/bench.jsonl", 3),)),
        "",
        "runs/a/1/bench.jsonl:3",
    ),
    disclosed(
        "RUN-06",
        "warning in the benchmark output: 3 more: dropped",
        case(warnings=(OutputRemark("3 more: dropped"),)),
        "",
        "",
    ),
    broken("RUN-06", "operations failed", case(failed_operations=3), "0", "3"),
    broken("RUN-06", "the benchmark output is incomplete (no closing line)", case(complete=False)),
    broken("RUN-06", "no result for remove in the output", without_operation(case(), "remove")),
    broken(
        "RUN-06",
        "no result for remove in the output",
        case(records=(*builders.records()[:2], replace(RATE, operation="unlink"))),
        "remove",
        "unlink",
    ),
    broken(
        "RUN-06", "the rate of create is not above zero", case(records=(RATE, *builders.records()[1:])), "> 0", "0.0"
    ),
    broken(
        "RUN-06",
        "the rate of create is not above zero",
        case(records=(replace(RATE, value=-1.0), *builders.records()[1:])),
        "> 0",
        "-1.0",
    ),
    compliant("RUN-06", "an energy", case(records=(replace(RATE, value=-1.0, unit="Ry"), *builders.records()[1:]))),
    compliant("RUN-06", "all as planned", case()),
    disclosed(
        "RUN-06",
        "unrecognised output line: stdout:9: hm",
        case(unparsed=(OutputRemark("hm", "stdout", 9),)),
        "",
        "",
    ),
    broken(
        "STA-05",
        "unit of create differs from the rule pack's",
        case(records=(replace(builders.records()[0], unit="MiB/s"), *builders.records()[1:])),
        "ops/s",
        "MiB/s",
    ),
    compliant("STA-05", "all as planned", case()),
    compliant("STA-05", "a result that is not there has no unit", without_operation(case(), "stat")),
]

"""Cases of the rules over projections and the maximum concurrency."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from campaign.config.search import InputSource, Projection
from campaign.core.findings import Severity
from campaign.core.runs import Status
from campaign.judge.submission import Submission
from campaign.slurm import partitions
from campaign.slurm.partitions import Partition, Unusable
from tests.judge.cases import Example, broken, compliant, disclosed, unchecked
from tests.judge.cases.submissions import good_submission
from tests.support import builders

FIRST = "scratch/single/shared/create"
LOG = Path("/base/mdtest.out")
MADE = Projection(
    "scratch/single/shared/create", 1, 1, "Crossroads", "twice the servers", "measured * 2", (("measured", 1234.5),),
    0.1, (LOG,), (("measured", InputSource(LOG, 1, "File creation")),),
)  # fmt: skip
PARTITION = Partition("batch", 4, 4, 8, None, ())
LARGE = replace(PARTITION, name="large", nodes=8, usable=8)
DOWN = Unusable("n4", "down", "down*", "dead")


def projected(logs: dict[Path, str] | None = None, value: float | None = None, **changes: object) -> Submission:
    """The first cell is a projection."""
    submission = good_submission()
    projection = replace(MADE, **changes)  # type: ignore[arg-type]
    first = replace(
        submission.rows[0], status=Status.PROJECTED, run=None, record=None, attempt=None, projection=projection,
        value=projection.value if value is None else value,
    )  # fmt: skip
    return replace(
        submission, rows=(first, *submission.rows[1:]), logs={LOG: "File creation : 1234.5"} if logs is None else logs
    )


def at_line(number: int) -> tuple[tuple[str, InputSource], ...]:
    return (("measured", InputSource(LOG, number, "File creation")),)


def standing_as(status: Status) -> Submission:
    submission = projected()
    return replace(submission, rows=(replace(submission.rows[0], status=status), *submission.rows[1:]))


def on_partition(partition: Partition | None) -> Submission:
    return replace(good_submission(), partition=partition)


def in_one_of_a_list(name: str) -> Submission:
    """All jobs ran in this one of two partitions, of which the other one has twice the nodes."""
    submission = on_partition(partitions.smallest_partition([PARTITION, LARGE]))
    evidence = builders.evidence(environment=builders.environment(variables={"SLURM_JOB_PARTITION": name}))
    return replace(submission, results=tuple(replace(result, evidence=evidence) for result in submission.results))


def with_cores(count: int) -> Submission:
    """The nodes of the maximum concurrency, with 8 processes each, recorded so many cores."""
    submission = on_partition(PARTITION)
    evidence = builders.evidence(environment=builders.environment(facts={"cpu.cores": str(count)}))
    return replace(submission, results=tuple(replace(result, evidence=evidence) for result in submission.results))


def with_share(nodes: str, processes: str | None) -> Submission:
    """The condition of several nodes, which ran on two with four processes each, is a share of 16 nodes of 8 cores."""
    submission = on_partition(replace(PARTITION, nodes=16, usable=16))
    changes = {"minimum_nodes": 1, "share": nodes, "processes_per_node": processes}
    launch = [replace(condition, **changes) if condition.id == "peak" else condition
              for condition in submission.pack.launch if condition.id != "max"]  # fmt: skip
    return replace(submission, pack=replace(submission.pack, launch=tuple(launch)))


def each_node(*measured: str, unusable: tuple[Unusable, ...] = ()) -> Submission:
    """The nodes n1 and n2 run by themselves under the first launch condition; those that gave a value."""
    submission = on_partition(replace(PARTITION, unusable=unusable))
    first = submission.rows[0]
    launch = [replace(condition, share="each", processes=None, nodes=None) for condition in submission.pack.launch
              if condition.id == first.cell.launch]  # fmt: skip
    row = replace(first, nodes=("n1", "n2"), by_node=dict.fromkeys(measured, 1.0))
    return replace(submission, rows=(row,), pack=replace(submission.pack, launch=tuple(launch)))


def broken_formula() -> Submission:
    submission = projected()
    projection = replace(MADE, inputs=())
    return replace(submission, rows=(replace(submission.rows[0], projection=projection), *submission.rows[1:]))


MEASURED = next(row for row in good_submission().rows if row.cell.launch == "peak")

ALWAYS_CHECKED = ("PRJ-01", "PRJ-02")
EXAMPLES: list[Example] = [
    broken("PRJ-01", "a projection is reported with another status", standing_as(Status.MEASURED), "projected",
           "measured", FIRST),
    broken("PRJ-01", "the projection repeats a measured value without a model", projected(formula="measured * 1"),
           "a value computed from the inputs by a model", "the value of measured, 1234.5", FIRST),
    broken("PRJ-01", f"the projection equals the measurement of {MEASURED.cell}",
           projected(value=MEASURED.value), "an independent value", f"{MEASURED.value:.10g}", FIRST),
    compliant("PRJ-01", "a projection that is labelled, by a model", projected()),
    broken("PRJ-02", "the projection is incomplete", projected(generation="<how it follows>"),
           "base system, generation, formula, inputs and uncertainty", "generation missing", FIRST),
    broken("PRJ-02", "recomputing the formula gives another value", projected(value=2500.0), "2469", "2500",
           FIRST),
    broken("PRJ-02", "the formula does not use all inputs",
           projected(inputs=(("measured", 1234.5), ("other", 2.0))), "only inputs that the formula uses", "other",
           FIRST),
    broken("PRJ-02", "the projection cannot be recomputed", broken_formula(), "a number", "no value for measured",
           FIRST),
    compliant("PRJ-02", "a projection that says all and gives its value", projected()),
    broken("PRJ-03", "logs of the base system are missing or empty", projected(logs={}),
           "the raw outputs that contain the inputs", "/base/mdtest.out", FIRST),
    broken("PRJ-03", "no log line given for input measured", projected(sources=()),
           "log, line and operation under sources, or design", "measured = 1234.5", FIRST, Severity.WARNING),
    broken("PRJ-03", "measured: mdtest.out, line 1 does not contain this number",
           projected(inputs=(("measured", 123450000.0),)), "measured = 123450000", "File creation : 1234.5", FIRST),
    broken("PRJ-03", "measured: mdtest.out, line 2 does not contain this number",
           projected(logs={LOG: "File creation : 1234.5\nFile creation : 99"}, sources=at_line(2)),
           "measured = 1234.5", "File creation : 99", FIRST),
    broken("PRJ-03", "measured: mdtest.out, line 1 belongs to another operation",
           projected(logs={LOG: "File stat : 1234.5"}), "File creation", "File stat : 1234.5", FIRST),
    broken("PRJ-03", "measured: mdtest.out, line 9 belongs to another operation", projected(sources=at_line(9)),
           "File creation", "", FIRST),
    disclosed("PRJ-03", "measured is a design value, not measured",
              projected(sources=(("measured", InputSource()),)), "", "measured = 1234.5", FIRST),
    compliant("PRJ-03", "a log with the number in its line", projected()),
    compliant("PRJ-03", "a number with separators", projected(logs={LOG: "File creation : 1,234.5"})),
    unchecked("PRJ-03", "nobody looked", replace(projected(), logs=None)),
    broken("GEO-03", "below the maximum concurrency of partition batch, without a projection to it",
           on_partition(replace(PARTITION, nodes=9, usable=8)), "64 processes on 8 nodes", "32 processes on 4 nodes",
           "scratch/max/shared/create"),
    broken("GEO-03", "some nodes of the partition were unavailable for the maximum-concurrency run",
           on_partition(replace(PARTITION, nodes=5, unusable=(DOWN,))), "5 nodes", "n4 (down*: dead)", "*/max/*/*",
           Severity.WARNING),
    compliant("GEO-03", "every core of the partition", on_partition(PARTITION)),
    broken("GEO-03", "fewer processes per node than cores", with_cores(16),
           "16 on each node", "8 on each node", "*/max/*/*", Severity.WARNING),
    compliant("GEO-03", "the smallest of a list of partitions, in which the job ran", in_one_of_a_list("batch")),
    broken("GEO-03", "below the maximum concurrency of partition large, without a projection to it",
           in_one_of_a_list("large"), "64 processes on 8 nodes", "32 processes on 4 nodes",
           "scratch/max/shared/create"),
    compliant("GEO-03", "as many as the node has cores", with_cores(8)),
    broken("GEO-03", "fewer nodes or processes than the launch condition's share of partition batch",
           with_share("half", "all"), "64 processes on 8 nodes", "8 processes on 2 nodes",
           "scratch/peak/shared/create"),
    compliant("GEO-03", "a tenth of the nodes, processes left open", with_share("10%", None)),
    compliant("GEO-03", "nodes of others' beside a reservation",
              on_partition(replace(PARTITION, nodes=5, unusable=(replace(DOWN, why="outside of the reservation"),)))),
    compliant("GEO-03", "each node by itself", each_node("n1", "n2")),
    broken("GEO-03", "each node is measured by itself, and some have no valid result", each_node("n1"),
           "2 nodes", "1 node; not n2", str(good_submission().rows[0].cell), Severity.WARNING),
    broken("GEO-03", "some nodes of the partition were unavailable, so that they were not measured",
           each_node("n1", "n2", unusable=(DOWN,)), "4 nodes", "n4 (down*: dead)",
           f"*/{good_submission().rows[0].cell.launch}/*/*", Severity.WARNING),
    unchecked("GEO-03", "the partition is not on record", on_partition(None)),
]  # fmt: skip

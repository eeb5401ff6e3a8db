"""Cases of the rules over how long phases and operations took."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from campaign.config.format import ServerCounter
from campaign.config.rules.entries import Variable
from campaign.config.rules.programs import Flag
from campaign.core.findings import Severity
from campaign.core.runs import Geometry
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Served
from tests.judge.cases import Example, broken, compliant, disclosed, rehearsed, unchecked
from tests.judge.cases.attempts import by_one_process, case, inflated
from tests.judge.cases.submissions import good_submission
from tests.support import builders

QUICK = "per-operation latency is below any network round trip: results come from cache or a local file system"

FIXED = "short phases (size fixed by the rules); timing uncertainty: "
ALLOWED = "10s or more, where the rules allow a change"


def sized(case: Case, profile: str = "full", **changes: Any) -> Case:
    """At full size, unless told otherwise; `changes` of every record."""
    records = tuple(replace(record, **changes) for record in case.records)
    return replace(case, pack=replace(case.pack, profile=profile), records=records)


def rates(*values: float, nodes: int = 2) -> Case:
    run = builders.run(geometry=Geometry(nodes, 8), items_total=2**20)
    return sized(case(run, records=builders.records(values)))


def free(case: Case) -> Case:
    """The same, by rules that leave a size and a stonewall time to the vendor."""
    size = Variable("items", "100", "10", "4", free=True)
    own_pack = builders.with_phase(
        case.pack, variables=(size,), allowed=(*case.pack.allowed, Flag("-W", True, "4", lengthens=True))
    )
    return replace(case, pack=own_pack)


def timed(skew_s: float | None, step_s: float | None = 30e-9, **changes: Any) -> Case:
    """At full size, with what the benchmark measured of its own timing."""
    original = sized(case(), start_skew_s=skew_s, **changes)
    return replace(original, outputs={"": replace(original.observation, clock_step_s=step_s)})


def slow_in_truth() -> Case:
    """An inflated rate beyond all networks, with the true one beside it."""
    case = sized(inflated(true_value=1e4))
    return replace(case, records=(replace(case.records[0], value=1e9), *case.records[1:]))


def with_counters(operations: int) -> Submission:
    """A campaign of which the servers' counters are given for the stats of every run; of one it is this."""
    submission = good_submission()
    counters = tuple(
        ServerCounter(
            f"{run.id}/1", "stat", operations if run.id == "scratch.peak.unique.r1" else 10**7, Path("/logs/mds.log")
        )
        for run in submission.runs
    )
    return replace(submission, campaign=replace(submission.campaign, server_counters=counters))


def of_another(submission: Submission) -> Submission:
    """With counters of one attempt of another run alone."""
    other = next(counter for counter in submission.campaign.server_counters if "unique" not in counter.attempt)
    return replace(submission, campaign=replace(submission.campaign, server_counters=(other,)))


def with_served(served: Served | None, files: str = "unique") -> Submission:
    """A campaign whose target's servers were asked while its runs ran; of one run of 2^20 stats they tell this."""
    submission = good_submission()
    serveds = {} if served is None else {"stat": served}
    plenty = {"stat": Served(10**7, 10**7)}

    def with_counts(case: Case) -> Case:
        ours = case.run.id == f"scratch.peak.{files}.r1"
        return replace(case, evidence=replace(case.evidence, served=serveds if ours else plenty))

    targets = tuple(replace(target, server_counters="mds-stats") for target in submission.campaign.targets)
    results = tuple(map(with_counts, submission.results))
    return replace(submission, campaign=replace(submission.campaign, targets=targets), results=results)


def ruled(shortest: str, profile: str = "full", **changes: Any) -> Case:
    """By rules that give a shortest time of the creates."""
    original = sized(case(), profile, **changes)
    create, *other_operations = original.pack.operations
    return replace(
        original, pack=replace(original.pack, operations=(replace(create, lasts=shortest), *other_operations))
    )


EXAMPLES: list[Example] = [
    broken(
        "RUN-07",
        "create: the phase is shorter than the rules require",
        ruled("300s", elapsed_s=123.4),
        "300s or more",
        "create 123 s",
        severity=Severity.ERROR,
    ),
    compliant("RUN-07", "a phase as long as the rules require", ruled("300s", elapsed_s=300.5)),
    rehearsed(
        "RUN-07",
        "create: the phase is shorter than the rules require (rehearsal): INVALID as a result",
        ruled("300s", "rehearsal", elapsed_s=29.94),
        "300s or more",
        "create 29.9 s",
        severity=Severity.ERROR,
    ),
    broken(
        "RUN-07",
        "phases are short",
        free(sized(case(), elapsed_s=9.0)),
        "10s or more",
        "create 9 s, stat 9 s, remove 9 s",
    ),
    broken(
        "RUN-07",
        "phases are short",
        free(rates(1e4, 2e5, 1e4)),  # 2^20 files
        "10s or more",
        "stat 5.24 s",
    ),
    broken(
        "RUN-07",
        "phases too short to be valid",
        free(rates(1e4, 2e6, 1e4)),
        "1s or more",
        "stat 0.524 s",
        severity=Severity.ERROR,
    ),
    disclosed(
        "RUN-07",
        f"{FIXED}under 1%",
        timed(2.8e-3, elapsed_s=0.94),
        ALLOWED,
        ", ".join(
            f"{name} 0.94 s, uncertain by 0.3% (clock 30 ns, ranks started within 2.8 ms)"
            for name in ("create", "stat", "remove")
        ),
    ),
    disclosed(
        "RUN-07",
        f"{FIXED}under 0.1%",
        timed(0, step_s=1e-9, elapsed_s=3.0),
        ALLOWED,
        ", ".join(
            f"{name} 3 s, uncertain by less than 0.0001% (clock 1 ns, ranks started within 0 ns)"
            for name in ("create", "stat", "remove")
        ),
    ),
    disclosed(
        "RUN-07",
        f"{FIXED}50% or more",
        timed(2e-3, step_s=4e-3, elapsed_s=0.01),
        ALLOWED,
        ", ".join(
            f"{name} 0.01 s, uncertain by 60% (clock 4 ms, ranks started within 2 ms)"
            for name in ("create", "stat", "remove")
        ),
    ),
    disclosed(
        "RUN-07",
        f"{FIXED}50% or more",
        timed(0.14, elapsed_s=0.1),
        ALLOWED,
        ", ".join(
            f"{name} 0.1 s, uncertain by 140% (clock 30 ns, ranks started within 140 ms)"
            for name in ("create", "stat", "remove")
        ),
    ),
    disclosed(
        "RUN-07",
        f"{FIXED}not recorded",
        rates(1e4, 1.1e6, 1e4),
        ALLOWED,
        "stat 0.95 s (clock step and start skew not recorded)",
    ),
    compliant("RUN-07", "ten seconds each", sized(case(), elapsed_s=10.0)),
    compliant("RUN-07", "ten seconds by the rate", rates(1e5, 1e5, 1e5)),
    unchecked("RUN-07", "neither a time nor a rate of items", sized(case(), unit="MiB/s")),
    disclosed(
        "RUN-07",
        "rehearsal: phases are short",
        sized(case(), "rehearsal", elapsed_s=0.5),
        "10s or more",
        "create 0.5 s, stat 0.5 s, remove 0.5 s",
    ),
    broken("CCH-03", QUICK, rates(1e4, 1e6, 1e4), "10us or more", "stat 8 us"),
    compliant("CCH-03", "as slow as a network", rates(1e4, 7e5, 1e4)),
    compliant("CCH-03", "no rate of operations", sized(case(), unit="MiB/s", value=1e9)),
    compliant("CCH-03", "the formula's rate is inflated, the true one is not", slow_in_truth()),
    unchecked("CCH-03", "an inflated rate alone", sized(inflated())),
    compliant("CCH-03", "an eighth of the formula's rate at most", sized(by_one_process(4e6))),
    unchecked("CCH-03", "more than an eighth of the formula's rate", sized(by_one_process(8e6))),
    disclosed("CCH-03", QUICK, rates(1e4, 1e6, 1e4, nodes=1), "10us or more", "stat 8 us"),
    rehearsed("CCH-03", QUICK, replace(rates(1e4, 1e6, 1e4), pack=case().pack), "10us or more", "stat 8 us"),
    broken(
        "CCH-02",
        "servers performed fewer operations than clients issued: results come from cache",
        with_counters(2**20 - 1),
        "at least 1 for each of 1048576 stat calls",
        "1048575 server operations (from mds.log)",
        "scratch/peak/unique/stat",
    ),
    compliant("CCH-02", "an operation for each stat", with_counters(2**20)),
    disclosed(
        "CCH-02",
        "no server-side counters supplied under server_counters",
        good_submission(),
        subject="scratch/peak/unique/stat",
    ),
    unchecked("CCH-02", "counters of another attempt", of_another(with_counters(2**20))),
    broken(
        "CCH-02",
        "servers performed fewer operations than clients issued: results come from cache",
        with_served(Served(0, 2**20 - 1)),
        "at least 1 for each of 1048576 stat calls",
        "1048575 server operations (from facts.jsonl)",
        "scratch/peak/unique/stat",
    ),
    disclosed(
        "CCH-02",
        "all nodes opened the shared files themselves: their own caches can answer stat calls, "
        "whatever the rank offset",
        with_served(Served(5, 5), "onefile"),
        "at least 1 for each of 1048576 stat calls",
        "5 server operations (from facts.jsonl)",
        "scratch/peak/onefile/stat",
    ),
    compliant("CCH-02", "the servers say the same", with_served(Served(2**20, 2**20))),
    unchecked("CCH-02", "counters that were read too rarely", with_served(Served(0, 2**20))),
    unchecked("CCH-02", "a command that gave no counts", with_served(None)),
]

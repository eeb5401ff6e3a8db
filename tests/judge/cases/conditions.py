"""Cases of the conditions on results: of one execution, and of one phase."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from campaign.config.rules.entries import Operation, Requirement, Variable
from campaign.config.rules.output_format import OutputFormat
from campaign.core.findings import Severity
from campaign.core.records import Record, Source
from campaign.judge.submission import Submission
from campaign.results.case import Case
from tests.judge.cases import Example, broken, compliant, rehearsed, unchecked
from tests.judge.cases.attempts import case
from tests.judge.cases.numbers import FIRST, repeated
from tests.support import builders
from tests.support.results import Results


def solved(holds: str, profile: str = "full", residual: float = 2e-9, **keys: Any) -> Case:
    """A program that prints a residual, a negative energy and, as a fact, its size; the pack's variable is 16m."""
    source = Source("runs/r/1/stdout", 30)
    records = (*builders.records(), Record("residual", residual, "1", source), Record("energy-0", -8.75, "eV", source))
    original = case(records=records, facts=(Record("size", 1000.0, "", Source("runs/r/1/stdout", 2)),))
    program = replace(original.pack.programs[0], results=OutputFormat(format="text", facts=(("size", "size: (.*)"),)))
    pack = replace(
        original.pack, programs=(program,), profile=profile, values={"size": "1000", "block": "16m"},
        variables=(Variable("size", "1000", "10", "1"), Variable("block", "16m", "1m", "1")),
        requires=(Requirement(holds, "4.2", **keys),),
    )  # fmt: skip
    return replace(original, pack=pack)


def spread(*values: float, holds: str = "max(create) - min(create) <= 5% * mean(create)", **keys: Any) -> Submission:
    """A run that was repeated, with these rates of creation, and a condition over them."""
    submission = repeated(*values)
    requires = (Requirement(holds, "4.2", over="repetitions", **keys),)
    pack = replace(submission.pack, requires=requires)
    return replace(submission, pack=pack, results=tuple(replace(case, pack=pack) for case in submission.results))


def scaled(single: float | None, node: float, holds: str = "efficiency >= 80%", **keys: Any) -> Submission:
    """A process alone and four on a node, with these rates of creation, and a condition on the efficiency."""
    formula = "create / (processes * create@single)"
    computed_operation = Operation("efficiency", "Efficiency", "x", formula=formula, launch=("node", "peak", "max"))
    requires = (Requirement(holds, "4.3", **keys),)
    pack = builders.pack(operations=(*builders.pack().operations, computed_operation), requires=requires)
    results = Results(pack=pack)
    for name, rate in (("single.unique", single), ("node.unique", node)):
        if rate is not None:
            results.add(name, (rate, 4000.0, 800.0))
    return results.submission()


LINES = "(runs/scratch.node.unique.r1/1/stdout:14, runs/scratch.single.unique.r1/1/stdout:14)"
EXAMPLES: list[Example] = [
    broken(
        "RES-02",
        f"clause 4.3 requires efficiency >= 80%; found efficiency 0.75 {LINES}",
        scaled(100, 300),
        ">= 0.8",
        "0.75",
        "scratch/node/unique/efficiency",
    ),
    broken(
        "RES-02",
        f"clause 4.3 requires efficiency * processes > 3.5; found efficiency 0.75 {LINES}, processes 4",
        scaled(100, 300, "efficiency * processes > 3.5", explain=True),
        "> 3.5",
        "3",
        "scratch/node/unique/efficiency",
        severity=Severity.WARNING,
    ),
    broken(
        "RES-02",
        f"clause 4.3 requires efficiency > 1; found efficiency 0.9997 {LINES}",
        scaled(100, 399.9, "efficiency > 1"),
        "> 1",
        "0.9997",
        "scratch/node/unique/efficiency",
    ),
    compliant("RES-02", "an efficiency of 90%", scaled(100, 360)),
    compliant("RES-02", "the efficiency of another launch condition", scaled(100, 300, launch=("peak",))),
    unchecked("RES-02", "an efficiency without the process alone", scaled(None, 300)),
    broken(
        "RES-02",
        "clause 4.2 requires max(create) - min(create) <= 5% * mean(create); found create 1000 (runs/"
        "scratch.single.shared.r1/1/stdout:14) to 1100 (runs/scratch.single.shared.r2/1/stdout:14) of 3 results",
        spread(1000, 1100, 1050),
        "<= 52.5",
        "100",
        FIRST,
    ),
    broken(
        "RES-02",
        "clause 4.2 requires geomean(create) > 1000; found create 1000 (runs/"
        "scratch.single.shared.r1/1/stdout:14) to 1000 (runs/scratch.single.shared.r1/1/stdout:14) of 2 results",
        spread(1000, 1000, holds="geomean(create) > 1000"),
        "> 1000",
        "1000",
        FIRST,
    ),
    compliant("RES-02", "a spread within 5%", spread(1000, 1040, 1020)),
    compliant("RES-02", "another launch condition", spread(1000, 1100, launch=("other",))),
    unchecked("RES-02", "a run that was not repeated", spread(1000)),
    broken(
        "RES-01",
        "clause 4.2 requires residual <= 1e-9; found residual 2e-09 (runs/r/1/stdout:30)",
        solved("residual <= 1e-9"),
        "<= 1e-09",
        "2e-09",
    ),
    broken(
        "RES-01",
        "clause 4.2 requires size == 16777216; found size 1000 (runs/r/1/stdout:2)",
        solved("size == {block}"),
        "== 16777216",
        "1000",
    ),
    broken(
        "RES-01",
        "create: clause 4.2 requires create > 1000; found create 1000 (runs/r/1/stdout:14)",
        solved("create > 1000"),
        "> 1000",
        "1000",
    ),
    broken(
        "RES-01",
        "clause 4.2 requires loss <= 5%; not in the output: loss",
        solved("loss <= 5%"),
    ),
    broken(
        "RES-01",
        "clause 4.2 requires residual <= 1e-9; found residual 2e-09 (runs/r/1/stdout:30)",
        solved("residual <= 1e-9", "rehearsal"),
        "<= 1e-09",
        "2e-09",
    ),
    broken(
        "RES-01",
        "clause 4.2 requires stat <= create; found stat 4000 (runs/r/1/stdout:15), create 1000 (runs/r/1/stdout:14)",
        solved("stat <= create", explain=True),
        "<= 1000",
        "4000",
        severity=Severity.WARNING,
    ),
    broken(
        "RES-01",
        "clause 4.2 requires create / residual >= 1; found create 1000 (runs/r/1/stdout:14), "
        "residual 0 (runs/r/1/stdout:30)",
        solved("create / residual >= 1", residual=0.0),
        "",
        "create / residual cannot be computed: float division by zero",
    ),
    rehearsed(
        "RES-01",
        "clause 4.2 requires residual <= 1e-9; found residual 2e-09 (runs/r/1/stdout:30)",
        solved("residual <= 1e-9", "rehearsal", full_size=True),
        "<= 1e-09",
        "2e-09",
    ),
    compliant("RES-01", "a small residual", solved("residual < 1e-8")),
    compliant("RES-01", "a negative energy near its reference", solved("abs(energy_0 + 8.7467391) < 5% * 8.7467391")),
    compliant("RES-01", "the size that was planned", solved("size == {size}")),
    compliant("RES-01", "operations compared with each other", solved("stat > 2 * create")),
    compliant("RES-01", "a number that only some outputs have", solved("loss <= 5%", if_printed=True)),
    compliant("RES-01", "another launch condition", solved("residual <= 1e-9", launch=("single",))),
    compliant("RES-01", "a condition on sizes alone, which is GEO-05's", solved("block == 1")),
    unchecked("RES-01", "the cores of a node, which no job recorded", solved("create >= 1000 * cores")),
]

"""Cases of the rule about the files that a benchmark reads."""

from __future__ import annotations

from dataclasses import replace

from campaign.core.runs import Input
from campaign.results.case import Case
from campaign.results.environment.facts import NOTHING, HashedInput
from tests.judge.cases import Example, attempts, broken, compliant, unchecked
from tests.support import builders

OWN, OTHER = "ab" * 32, "cd" * 32
BOX = Input("box", "/work/box.in", OWN, "2.1", "the rule pack")
NAME = f"{attempts.case().run.id}/1"


def hashed(*files: tuple[str, str, int], inputs: tuple[Input, ...] = (BOX,)) -> Case:
    """An attempt on n1 and n2; `files`: node, SHA-256 and size of the box there."""
    case = attempts.case()
    lines = tuple(HashedInput(node, BOX.path, digest, size, line) for line, (node, digest, size) in enumerate(files, 1))
    return replace(case, run=replace(case.run, inputs=inputs), evidence=builders.evidence(inputs=lines))


WITHOUT_RECORD = replace(hashed(), evidence=NOTHING)

EXAMPLES: list[Example] = [
    compliant("INP-01", "the file of the rules on both nodes", hashed(("n1", OWN, 13), ("n2", OWN, 13))),
    compliant("INP-01", "no input", hashed(inputs=())),
    broken(
        "INP-01",
        "input box differs from the file of the rule pack: /work/box.in",
        hashed(("n1", OWN, 13), ("n2", OTHER, 14)),
        f"SHA-256 {OWN}",
        f"{OTHER} (14 bytes) on n2, runs/{NAME}/facts.jsonl:2",
    ),
    broken(
        "INP-01",
        "input box was not hashed before the run on n2: /work/box.in",
        hashed(("n1", OWN, 13)),
        "a line of facts.jsonl for each of 2 nodes",
        "no such line",
    ),
    broken(
        "INP-01",
        "input box was not hashed before the run on n1: /work/box.in",
        hashed(("n1", "", 0), ("n2", OWN, 13)),
        "a line of facts.jsonl for each of 2 nodes",
        "not readable on n1",
    ),
    unchecked(
        "INP-01",
        "no record of the job",
        WITHOUT_RECORD,
        "the job's record is missing: it is unknown which input files were read",
    ),
]

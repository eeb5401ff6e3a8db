"""Cases of the rules over a campaign as a whole."""

from __future__ import annotations

from dataclasses import replace

from campaign.judge import Submission
from campaign.model import Status
from tests import builders
from tests.judge_cases import Example, broken, kept
from tests.test_table import Results

FIRST = "scratch/single/shared/create"


def whole(profile: str = "full") -> Submission:
    """A campaign in which every run went as planned."""
    results = Results(campaign=builders.campaign(profile=profile), pack=builders.pack(profile=profile))
    for run in results.runs:
        results.add(f"{run.launch}.{run.files}", seen={"shift_effective": run.geometry.processes_per_node})
    return results.submission()


def changed(given: Submission, **first: object) -> Submission:
    """With other values in the first row."""
    return replace(given, rows=(replace(given.rows[0], **first), *given.rows[1:]))  # type: ignore[arg-type]


EXAMPLES: list[Example] = [
    broken(
        "CMP-03",
        "the cell has no number: missing",
        changed(whole(), status=Status.MISSING, note="not run yet"),
        "measured, projected or declined",
        "not run yet",
        FIRST,
    ),
    kept("CMP-03", "36 numbers", whole()),
    kept("CMP-03", "one is declined", changed(whole(), status=Status.DECLINED, note="no time")),
]

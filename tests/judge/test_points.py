"""Conditions on the points of a series and a sweep, which are judged before the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.config.rules.entries import Requirement
from campaign.config.rules.sweeps import Sweep
from campaign.core.findings import Finding
from campaign.judge import engine
from tests.support import builders
from tests.support.results import Results

GIB = 2**30


def findings_before(
    holds: str, sizes: str = "1g,2g,3g,4g", nodes: tuple[str, ...] = ("s-1", "s-2", "s-4")
) -> list[Finding]:
    """What is found of the plan of a campaign on nodes of 64 GiB, at full size."""
    pack = replace(
        builders.pack(checks={"GEO-05": "1"}, requires=(Requirement(holds, "1"),)),
        sweeps=(Sweep("size", values=sizes),),
        series={"s": nodes},
        profile="full",
    )
    campaign = builders.campaign(profile="full")
    campaign = replace(campaign, slurm=replace(campaign.slurm, node_memory=64 * GIB))
    submission = Results(campaign=campaign, pack=pack).submission()
    return [*engine.judge(engine.planned_case(submission, submission.runs[0]))]


@pytest.mark.parametrize(
    "holds",
    [
        "count(size) >= 4",
        "step(size) <= 2% * memory",
        "max(size) <= memory / 16",
        "count(s) == 3",
        "factor(s) <= 2",
        "max(s) >= 4",
    ],
)
def test_points_that_fit_are_accepted(holds: str) -> None:
    assert findings_before(holds) == []


@pytest.mark.parametrize(
    ("holds", "sizes", "nodes"),
    [
        ("count(size) >= 4", "1g,2g,3g", ("s-1",)),
        ("step(size) <= 2% * memory", "1g,2g,6g,7g", ("s-1",)),
        ("factor(s) <= 2", "1g", ("s-1", "s-2", "s-8")),
        ("count(s) >= 4", "1g", ("s-1", "s-2", "s-8")),
    ],
)
def test_points_that_do_not_fit_are_a_violation_before_the_run(holds: str, sizes: str, nodes: tuple[str, ...]) -> None:
    (finding,) = findings_before(holds, sizes, nodes)
    assert (finding.rule, finding.blocks) == ("GEO-05", True)
    assert holds in finding.message


def test_a_single_point_has_no_step() -> None:
    (finding,) = findings_before("step(size) <= 1", "1g")
    assert not finding.checked and "step(size) not recorded" in finding.message

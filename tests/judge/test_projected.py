"""Projected results: what is computed from them is projected too, and conditions are judged over their uncertainty."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from campaign.config.rules.entries import Operation, Reference, Requirement
from campaign.config.search import Projection
from campaign.core.decode import decode, dumps
from campaign.core.findings import Finding
from campaign.core.runs import Status
from campaign.judge import engine
from campaign.judge.submission import Submission
from campaign.report import notes
from tests.support import builders
from tests.support.results import Results

LINE = "scratch/max/shared"
RATE = Projection(
    "*/max/shared/create", 4, 32, "Earlier", "2nd", "base * nodes", (("base", 500.0),), 0.1, (Path("/old/log"),)
)


def results(*operations: Operation, holds: str = "", full: bool = True, **keys: Any) -> Results:
    """A campaign that projects 2,000 creations per second, 10% up or down, and whose pack computes these operations."""
    checks = dict.fromkeys(("GEO-05", "RES-01", "RES-02", "PRJ-01", "PRJ-02"), "9")
    requires = (Requirement(holds, "4.2", **keys),) if holds else ()
    all_operations = (*builders.pack().operations, *operations)
    pack = builders.pack(operations=all_operations, requires=requires, checks=checks, profile="full" if full else "")
    return Results(campaign=builders.campaign(projections=(RATE,)), pack=pack)


def judge_results(holds: str, *operations: Operation, **keys: Any) -> Submission:
    return engine.judge_campaign(results(*operations, holds=holds, **keys).submission())


def conditions(submission: Submission) -> list[Finding]:
    return [finding for finding in submission.findings if finding.rule in ("GEO-05", "RES-01", "RES-02")]


def formula_operation(id: str, formula: str) -> Operation:
    return Operation(id, id.title(), "x", formula=formula, launch=("node", "peak", "max"))


def test_what_is_computed_from_a_projected_number_is_projected_with_the_uncertainty_that_follows() -> None:
    rows = results(formula_operation("time", "32 / create"), formula_operation("score", "sqrt(time) * nodes"))
    time, score = rows.row("max/shared/time"), rows.row("max/shared/score")
    assert (time.status, time.value, time.geometry) == (Status.PROJECTED, 0.016, RATE.geometry)
    assert time.projection is not None and time.projection.uncertainty == pytest.approx(1 / 0.9 - 1)
    assert score.projection is not None and score.value == pytest.approx(0.016**0.5 * 4)
    assert [str(cell) for cell in score.projection.parts] == [f"{LINE}/time", f"{LINE}/create"]
    assert notes.footnotes(time, builders.pack())[0].before == (
        "projected, not measured: from Earlier (2nd) by 32 / create with create = 2000; uncertainty 11.1%: 0.0142 to "
        "0.0178"
    )


def test_a_number_across_launch_conditions_is_projected_if_one_of_them_is() -> None:
    campaign = results(formula_operation("growth", "create / create@single"))
    assert (
        campaign.row("max/shared/growth").note
        == "computed from scratch/single/shared/create, which is missing (not run yet)"
    )
    campaign.add("single.shared", (100.0, 1.0, 1.0))
    row = campaign.row("max/shared/growth")
    assert (row.status, row.value, row.projection and row.projection.uncertainty) == (
        Status.PROJECTED,
        20.0,
        pytest.approx(0.1),
    )


def test_a_number_that_its_execution_lacks_is_not_computed_from_others() -> None:
    assert results(formula_operation("time", "32 / stat")).row("max/shared/time").status is Status.MISSING


@pytest.mark.parametrize(
    ("holds", "keys", "severity", "message"),
    [
        ("create >= 1700", {}, None, ""),
        ("create >= 2100", {}, "E", "found create 2000 (projected, 1800 to 2200)"),
        ("create >= 2100", {"explain": True}, "W", "found create 2000"),
        ("create >= 2100", {"full_size": True, "full": False}, "I", "found create 2000"),
        ("create >= 1900", {}, "W", "met, but not within the uncertainty of create 2000 (projected, 1800 to 2200)"),
        ("create / nodes >= 400", {}, None, ""),
        ("create / nodes >= 490", {}, "W", "met, but not within the uncertainty of"),
        ("create >= 2100", {"launch": ("single",)}, None, ""),
        ("create + printed >= 9000", {}, None, ""),
    ],
)  # fmt: skip
def test_a_threshold_is_judged_on_the_projected_value_and_over_its_uncertainty(
    holds: str, keys: dict[str, Any], severity: str | None, message: str
) -> None:
    findings = conditions(judge_results(holds, **keys))
    assert [(finding.rule, finding.severity, finding.subject) for finding in findings] == (
        [("RES-01", severity, f"{LINE}/create")] if severity else []
    )
    assert all(message in finding.message for finding in findings)


def test_counts_of_a_projection_are_judged_like_those_of_a_run() -> None:
    (finding,) = conditions(judge_results("nodes >= 8"))
    assert (finding.rule, finding.severity, finding.subject) == ("GEO-05", "E", f"{LINE}/create")
    assert conditions(judge_results("nodes >= 4")) == []


def test_a_result_computed_from_a_refused_projection_is_refused_with_it_and_still_shown_as_projected() -> None:
    submission = judge_results("create >= 2100", formula_operation("time", "32 / create"))
    rows = {row.cell.operation: row for row in submission.rows if str(row.cell).startswith(LINE)}
    assert [rows[name].status for name in ("create", "time")] == [Status.INVALID] * 2
    assert rows["time"].note.startswith(f"computed from {LINE}/create, which is invalid; projected, not measured: ")
    texts = [remark.before for remark in notes.footnotes(rows["create"], submission.pack)]
    assert texts[0].startswith("RES-01 clause 4.2 requires create >= 2100")
    assert texts[1].startswith("projected, not measured: ")
    assert not submission.measured_rows


def test_a_threshold_on_a_computed_number_is_judged_too() -> None:
    campaign = results(formula_operation("growth", "create / create@single"), holds="growth <= 10")
    campaign.add("single.shared", (100.0, 1.0, 1.0))
    (finding,) = conditions(engine.judge_campaign(campaign.submission()))
    assert (finding.rule, finding.subject) == ("RES-02", f"{LINE}/growth")


def test_only_what_the_campaign_file_declares_is_judged_as_a_projection_and_all_comes_back_from_json() -> None:
    submission = judge_results("", formula_operation("same", "max(create, 1)"))
    assert [finding for finding in submission.findings if finding.rule.startswith("PRJ")] == []
    row = next(row for row in submission.rows if str(row.cell) == f"{LINE}/same")
    assert decode(type(row), json.loads(dumps(row))) == replace(row)


REFERENCE = Reference("reference", "nodes", ((1.0, 400.0), (16.0, 6400.0)), "logarithms", "4.3")


@pytest.mark.parametrize(
    ("by", "between", "at", "value"),
    [
        ("nodes", "logarithms", 4, 1600.0), ("nodes", "linear", 4, 1600.0), ("nodes", "linear", 16, 6400.0),
        ("2 * nodes", "logarithms", 2, 1600.0), ("nodes", "linear", 17, None), ("nodes", "logarithms", 0.5, None),
    ],
)  # fmt: skip
def test_a_reference_is_interpolated_between_its_points_and_never_extrapolated(
    by: str, between: str, at: float, value: float | None
) -> None:
    assert replace(REFERENCE, by=by, between=between).value({"nodes": at}) == pytest.approx(value)


def test_logarithms_and_a_line_differ_between_points() -> None:
    curve = ((1.0, 100.0), (100.0, 1.0))
    assert replace(REFERENCE, points=curve).value({"nodes": 10}) == pytest.approx(10)
    assert replace(REFERENCE, points=curve, between="linear").value({"nodes": 10}) == pytest.approx(91)


def test_a_projected_result_is_at_least_the_references_at_its_size() -> None:
    campaign = results(holds="create >= {reference}")
    campaign.pack = replace(campaign.pack, references=(REFERENCE,))
    assert conditions(engine.judge_campaign(campaign.submission())) == []
    campaign.pack = replace(campaign.pack, references=(replace(REFERENCE, points=((1.0, 500.0), (16.0, 8000.0))),))
    (finding,) = conditions(engine.judge_campaign(campaign.submission()))
    assert (finding.rule, finding.expected) == ("RES-01", ">= 2000")
    campaign.pack = replace(campaign.pack, references=(replace(REFERENCE, points=((1.0, 1.0), (2.0, 2.0))),))
    (finding,) = conditions(engine.judge_campaign(campaign.submission()))
    assert (finding.rule, finding.checked, finding.message) == (
        "RES-01", False, "create >= reference: no value of reference at this size"
    )  # fmt: skip

"""Numbers computed across launch conditions and repetitions: of all parts or with the reason, and with every line."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from campaign.config.format import Declined
from campaign.config.rules.entries import Operation, Requirement
from campaign.core.findings import Finding, Severity
from campaign.core.runs import Geometry, State, Status
from campaign.judge.completeness import check_traces
from campaign.judge.engine import judge_campaign
from campaign.judge.numbers import check_repetitions, check_variation
from campaign.judge.rows import with_findings
from campaign.report import notes
from campaign.results.cells import Row
from tests.support import builders
from tests.support.results import Results

SEVERAL = ("node", "peak", "max")
RATES = {1: (100.0, 1.0, 1.0), 2: (300.0, 1.0, 1.0), 3: (200.0, 1.0, 1.0)}


def results(formula: str, repetitions: int = 1, **settings: Any) -> Results:
    """A campaign whose pack computes `ratio`, under all launch conditions but `single`."""
    computed_operation = Operation("ratio", "Ratio", "x", formula=formula, launch=SEVERAL)
    pack = builders.pack(operations=(*builders.pack().operations, computed_operation))
    return Results(campaign=builders.campaign(repetitions=repetitions, **settings), pack=pack)


def repeated_results(formula: str) -> Results:
    """A run on 4 processes with three repetitions of different rates, beside those of a single process."""
    measured_results = results(formula, repetitions=3)
    for run in measured_results.runs:
        if run.files == "unique" and run.launch in ("node", "single"):
            measured_results.add_to(run, RATES[run.repetition] if run.launch == "node" else (50.0, 1.0, 1.0))
    return measured_results


def ratio_row(formula: str) -> Row:
    return repeated_results(formula).row("node/unique/ratio")


def test_a_number_is_computed_from_the_reported_ones_of_two_launch_conditions_and_names_their_lines() -> None:
    ratios = results("create / (processes * create@single / processes@single)")
    ratios.add("single.unique", (100.0, 1.0, 1.0))
    ratios.add("node.unique", (360.0, 1.0, 1.0))
    row = ratios.row("node/unique/ratio")
    assert (row.status, row.value, row.origin) == (Status.MEASURED, 0.9, "scratch.node.unique.r1/1")
    assert row.started == max(ratios.row(f"{line}/unique/create").started for line in ("single", "node"))
    assert row.executions == ("scratch.node.unique.r1/1", "scratch.single.unique.r1/1")
    assert [part["file"] for part in row.as_json()["parts"]] == [
        "runs/scratch.node.unique.r1/1/stdout", "runs/scratch.single.unique.r1/1/stdout"
    ]  # fmt: skip
    assert json.dumps(row.as_json())


def test_under_the_launch_condition_that_it_is_compared_with_there_is_no_such_cell() -> None:
    assert "scratch/single/unique/ratio" not in {str(row.cell) for row in results("create / create@single").rows()}


@pytest.mark.parametrize(
    ("formula", "value", "executions"),
    [
        ("mean(create)", 200.0, 3),
        ("median(create)", 200.0, 3),
        ("max(create)", 300.0, 3),
        ("min(create) + max(create)", 400.0, 3),
        ("harmean(create)", 3 / (1 / 100 + 1 / 300 + 1 / 200), 3),
        ("trimmed_mean(create)", 200.0, 3),
        ("mean(create) / create@single", 4.0, 4),
        ("create / mean(create@single)", 6.0, 4),
    ],
)
def test_a_number_is_computed_from_all_valid_repetitions(formula: str, value: float, executions: int) -> None:
    row = ratio_row(formula)
    assert row.value == pytest.approx(value)
    assert len(row.executions) == executions
    assert row.record is not None and len(row.record.measured_records) == executions
    (text,) = (remark.before for remark in notes.remarks(row, results(formula).pack) if "execution" in remark.before)
    assert text == f"{formula}, of {executions} executions"


def test_a_number_is_computed_from_those_of_several_file_configurations() -> None:
    ratios = results("create / max(create over files)")
    ratios.add("node.unique", (600.0, 1.0, 1.0))
    ratios.add("node.shared", (200.0, 1.0, 1.0))
    assert ratios.row("node/unique/ratio").note == (
        "computed from scratch/node/onefile/create, which is missing (not run yet)"
    )
    ratios.add("node.onefile", (300.0, 1.0, 1.0))
    row = ratios.row("node/shared/ratio")
    assert (row.value, row.origin) == (1 / 3, "scratch.node.shared.r1/1")
    assert {*row.executions} == {f"scratch.node.{files}.r1/1" for files in ("unique", "shared", "onefile")}
    submission = ratios.submission()
    assert list(check_traces(replace(submission, again=ratios.records))) == []


def test_a_number_is_computed_from_those_of_a_series_in_the_line_of_its_last_member() -> None:
    operation = Operation("ratio", "Ratio", "x", formula="max(create over scale)", launch=("max",))
    pack = builders.pack(operations=(*builders.pack().operations, operation), series={"scale": ("node", "max")})
    of_series = Results(pack=pack)
    of_series.add("node.unique", (700.0, 1.0, 1.0))
    assert of_series.row("max/unique/ratio").note.startswith("computed from scratch/max/unique/create")
    of_series.add("max.unique", (600.0, 1.0, 1.0))
    row = of_series.row("max/unique/ratio")
    assert (row.value, row.origin) == (700.0, "scratch.max.unique.r1/1")


@pytest.mark.parametrize(("last_rate", "violated"), [(720.0, False), (500.0, False), (800.0, True)])
def test_a_series_ends_only_where_more_nodes_make_it_no_faster(last_rate: float, violated: bool) -> None:
    gain = Operation("gain", "Gain", "x", formula="gain(create over scale)", launch=("scale-4",))
    counts = {f"scale-{nodes}": Geometry(nodes, 8 * nodes) for nodes in (1, 2, 4)}
    pack = builders.pack(
        launch=tuple(replace(builders.pack().launch[1], id=launch) for launch in counts),
        operations=(*builders.pack().operations, gain),
        series={"scale": tuple(counts)},
        requires=(Requirement("gain <= 1.05", "9"),),
        checks={"RES-02": "9"},
    )
    of_series = Results(campaign=builders.campaign(launch=counts), pack=pack)
    for launch, rate in zip(counts, (300.0, 700.0, last_rate), strict=True):
        of_series.add(f"{launch}.unique", (rate, 1.0, 1.0))
    findings = [finding for finding in judge_campaign(of_series.submission()).findings if finding.rule == "RES-02"]
    assert [(finding.severity, finding.subject) for finding in findings] == (
        [("E", "scratch/scale-4/unique/gain")] if violated else []
    )


def test_the_best_of_several_variants_is_named_by_its_line_with_how_many_were_tried() -> None:
    best = Operation("best", "Best", "x", formula="max(create over files)", files=("onefile",))
    tried = Operation("tried", "Tried", "1", formula="count(create over files)", files=("onefile",))
    share = Operation("share", "Of the best", "x", formula="create / max(create over files)")
    variants = Results(pack=builders.pack(operations=(*builders.pack().operations, best, tried, share)))
    for files, rate in {"shared": 200.0, "unique": 600.0, "onefile": 300.0}.items():
        variants.add(f"node.{files}", (rate, 1.0, 1.0))
    assert (variants.row("node/onefile/best").value, variants.row("node/onefile/tried").value) == (600.0, 3)
    shares = {files: variants.row(f"node/{files}/share").value for files in ("shared", "unique", "onefile")}
    assert [files for files, value in shares.items() if value == 1] == ["unique"]


def test_a_repetition_that_is_not_valid_is_left_out() -> None:
    means_of_runs = results("mean(create)", repetitions=3)
    for run in means_of_runs.runs:
        if (run.files, run.launch) == ("unique", "node"):
            means_of_runs.add_to(run, RATES[run.repetition], seen={"nodes": 3} if run.repetition == 2 else None)
    assert means_of_runs.row("node/unique/ratio").value == 150.0


def test_without_a_part_the_cell_is_missing_and_says_which_and_why() -> None:
    ratios = results("create / create@single")
    ratios.add("node.unique")
    assert ratios.row("node/unique/ratio").note == (
        "computed from scratch/single/unique/create, which is missing (not run yet)"
    )
    ratios.add("single.unique", None, State.TIMEOUT, "job 18: TIMEOUT during this run")
    row = ratios.row("node/unique/ratio")
    assert (row.status, row.value) == (Status.MISSING, None)
    assert row.note == (
        "computed from scratch/single/unique/create, which is failed (timeout: job 18: TIMEOUT during this run)"
    )


def test_a_formula_without_a_value_is_the_reason() -> None:
    ratios = results("create / (create@single - 1000)")
    ratios.add("single.unique")
    ratios.add("node.unique")
    assert "cannot be computed: float division by zero" in ratios.row("node/unique/ratio").note


def test_it_may_be_declined_like_any_other_cell() -> None:
    ratios = results("create / create@single", declined=(Declined("*/*/*/ratio", "not asked for"),))
    assert ratios.row("node/unique/ratio").status is Status.DECLINED


def test_a_number_computed_from_an_invalid_one_of_another_launch_condition_is_invalid() -> None:
    ratios = results("create / create@single")
    ratios.add("single.unique", seen={"nodes": 3})
    ratios.add("node.unique")
    row = next(row for row in with_findings(ratios.rows(), []) if str(row.cell) == "scratch/node/unique/ratio")
    assert (row.status, row.note) == (Status.INVALID, "computed from scratch/single/unique/create, which is invalid")
    assert row.note in {remark.before for remark in notes.remarks(row, ratios.pack)}
    broken = Finding("CMP-04", Severity.ERROR, "scratch/node/unique/create", "the log line has another value")
    status = {str(row.cell): row.status for row in with_findings(ratios.rows(), [broken])}
    assert status["scratch/node/unique/ratio"] is Status.INVALID


def test_each_line_is_read_again_also_those_of_repetitions_that_no_other_cell_reports() -> None:
    results = repeated_results("mean(create) / create@single")
    submission = results.submission()
    assert list(check_traces(replace(submission, again=results.records))) == []
    other = ("scratch.node.unique.r1", 1)
    create, *other_records = results.records[other]
    changed_records = {**results.records, other: (replace(create, value=101.0), *other_records)}
    (finding,) = check_traces(replace(submission, again=changed_records))
    assert (finding.subject, finding.expected, finding.actual) == (
        "scratch/node/unique/ratio", "100.0 ops/s", "101.0 ops/s"
    )  # fmt: skip
    unread = {key: records for key, records in results.records.items() if key != other}
    (lacking,) = check_traces(replace(submission, again=unread))
    assert (lacking.subject, lacking.checked) == ("scratch/node/unique/ratio", False)


def test_repetitions_and_their_variation_are_judged_at_the_cells_that_it_is_computed_from() -> None:
    submission = repeated_results("mean(create)").submission()
    subjects = [finding.subject for rule in (check_repetitions, check_variation) for finding in rule(submission)]
    assert "scratch/node/unique/create" in subjects
    assert not {"scratch/node/unique/ratio", "scratch/node/unique/*"} & {*subjects}

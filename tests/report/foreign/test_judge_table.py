"""Tables that somebody else made: how they are read, and what their numbers give away."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaign.cli.main import main
from campaign.config.forms import FormMapping
from campaign.config.rules import packs
from campaign.core import keys, resources
from campaign.core.errors import InputError
from campaign.core.findings import Finding, Severity
from campaign.core.runs import Status
from campaign.judge.rows import with_findings
from campaign.report import table
from campaign.report.foreign import form_file, judge_table
from campaign.report.foreign.judge_table import table_findings
from campaign.report.workbook.write import workbook
from tests.report.test_write import contents
from tests.support import forms
from tests.support.examples import examples
from tests.support.results import eventful_results

PUBLISHED = Path(__file__).parents[2] / "data" / "tables" / "crossroads-published.csv"
PACK = "crossroads-mdtest"


def published_findings() -> list[Finding]:
    return [finding for finding in table_findings(judge_table.read_submission(PUBLISHED, PACK)) if finding.checked]


def actual_by_subject(rule: str) -> dict[str, str]:
    """What is said of the published table under a rule, by subject."""
    return {finding.subject: finding.actual for finding in published_findings() if finding.rule == rule}


# --- the oddities of the published Crossroads table


def test_its_caption_says_megabytes_where_operations_are_meant() -> None:
    assert set(actual_by_subject("STA-05").values()) == {"MB/s"}
    assert len(actual_by_subject("STA-05")) == 12


def test_one_process_alone_creates_four_times_slower_in_one_layout() -> None:
    assert actual_by_subject("PHY-01") == {"lustre/single/*/create": "shared 5702, unique 5706, onefile 1309"}


def test_the_best_of_one_node_removes_slower_than_one_process() -> None:
    assert actual_by_subject("PHY-02") == {
        "lustre/node/shared/remove": "7454 MB/s",
        "lustre/node/unique/remove": "5032 MB/s",
    }


def test_the_best_of_one_node_examines_slower_than_it_creates() -> None:
    assert actual_by_subject("PHY-05") == {"lustre/node/unique/stat": "25697 MB/s"}


def test_its_extrapolated_lines_repeat_the_measured_ones() -> None:
    assert actual_by_subject("PRJ-01") == {
        "lustre/max/shared/*": "create 79901, stat 370968, remove 79583",
        "lustre/max/unique/*": "create 183740, stat 807216, remove 205460",
        "lustre/max/onefile/*": "create 667616, stat 141535, remove 4351769",
    }


def test_its_removals_of_one_file_count_what_every_process_would_do() -> None:
    assert (
        actual_by_subject("PHY-03")["lustre/peak/onefile/remove"]
        == "4351769, compared with 79583 (shared), 205460 (unique)"
    )
    assert actual_by_subject("PHY-03").keys() == {
        *("lustre/node/onefile/remove", "lustre/peak/onefile/create", "lustre/peak/onefile/remove"),
        *("lustre/max/onefile/create", "lustre/max/onefile/remove"),
    }


def test_rates_that_no_machine_has_are_found_where_the_processes_are_known(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "target,launch,files,operation,value,unit,run,processes,nodes\n"
        "x,single,shared,create,50000000,ops/s,,,\n"  # the rules ask for one process
        "x,single,shared,stat,10000000,ops/s,,,\n"
        "x,peak,shared,create,50000000,ops/s,r1,4,1\n"
        "x,peak,unique,create,40000000,ops/s,r2,4,1\n"
        "x,peak,onefile,remove,50000000,ops/s,r3,4,1\n"  # a formula counts what every process would do
        "x,max,shared,create,50000000,ops/s,r4,4,\n"
        "x,max,shared,stat,9e6,MB/s,r5,4,2\n"
    )
    findings = [
        finding for finding in table_findings(judge_table.read_submission(path, PACK)) if finding.rule == "PHY-04"
    ]
    assert {finding.subject: (finding.expected, finding.actual) for finding in findings if finding.checked} == {
        "x/single/shared/create": ("at most 10000000 ops/s", "50000000 ops/s"),
        "x/peak/shared/create": ("at most 40000000 ops/s", "50000000 ops/s"),
        "x/max/shared/stat": ("at most 8000000 MB/s", "9000000 MB/s"),
    }
    assert {finding.subject for finding in findings if not finding.checked} == {
        "x/peak/onefile/*",
        "x/max/shared/create",
    }


def test_nothing_in_it_leads_to_a_log() -> None:
    assert len(actual_by_subject("CMP-04")) == 12


def test_every_other_rule_is_reported_not_to_be_checked() -> None:
    findings = table_findings(judge_table.read_submission(PUBLISHED, PACK))
    unchecked = {finding.rule for finding in findings if not finding.checked}
    broken = {finding.rule for finding in findings if finding.checked}
    silent_rules = packs.load(PACK).checks.keys() - unchecked - broken
    assert silent_rules == {"CMP-01", "CMP-02", "CMP-03"}


def test_a_line_that_is_a_multiple_of_another_is_found(tmp_path: Path) -> None:
    lines = PUBLISHED.read_text().splitlines()
    scaled = []
    for line in lines:
        cells = line.split(",")
        if cells[1:3] == ["max", "unique"]:
            peak = next(line for line in lines if line.split(",")[1:4] == ["peak", "unique", cells[3]])
            cells[4] = str(round(3.7 * float(peak.split(",")[4])))
        scaled.append(",".join(cells))
    path = tmp_path / "scaled.csv"
    path.write_text("\n".join(scaled) + "\n")
    findings = [
        finding
        for finding in table_findings(judge_table.read_submission(path, PACK))
        if finding.subject == "lustre/max/unique/*"
    ]
    repeated = [finding.message for finding in findings if finding.rule == "PRJ-01"]
    assert repeated == ["reported as measured, but every operation is exactly 3.7 times lustre/peak/unique/*"]


def test_a_projection_may_be_a_multiple_since_it_is_labelled(tmp_path: Path) -> None:
    lines = PUBLISHED.read_text().splitlines()
    labelled = [
        lines[0] + ",status",
        *(line + (",projected" if ",max," in line else ",measured") for line in lines[1:]),
    ]
    path = tmp_path / "labelled.csv"
    path.write_text("\n".join(labelled) + "\n")
    assert [
        finding for finding in table_findings(judge_table.read_submission(path, PACK)) if finding.rule == "PRJ-01"
    ] == []


def test_rounded_numbers_are_found(tmp_path: Path) -> None:
    head, *lines = PUBLISHED.read_text().splitlines()
    cells = [line.split(",") for line in lines]
    text = "\n".join([head, *(",".join([*c[:4], str(round(float(c[4]), -2)), *c[5:]]) for c in cells)])
    path = tmp_path / "rounded.csv"
    path.write_text(text + "\n")
    findings = [
        finding
        for finding in table_findings(judge_table.read_submission(path, PACK))
        if finding.message.startswith("values are rounded")
    ]
    assert {finding.severity for finding in findings} == {Severity.WARNING}
    assert {finding.rule for finding in findings} == {"STA-05"}


# --- reading


def table_file(directory: Path, suffix: str) -> Path:
    """A table with every kind of row, as this program writes it."""
    path, rows = directory / f"table{suffix}", eventful_results().rows()
    if suffix == ".xlsx":
        path.write_bytes(workbook(path, contents(eventful_results())))
    else:
        path.write_text(table.as_csv(rows) if suffix == ".csv" else table.as_json(rows))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".json", ".xlsx"])
def test_a_table_of_this_program_is_read_as_it_was_written(tmp_path: Path, suffix: str) -> None:
    rows = eventful_results().rows()
    path = table_file(tmp_path, suffix)
    read = judge_table.read_submission(path, PACK).rows
    assert [(row.cell, row.value, row.unit, row.status) for row in read] == [
        (row.cell, row.value, row.unit, row.status) for row in rows
    ]
    assert [row.record.source for row in read if row.record] == [row.record.source for row in rows if row.record]
    assert [row.summary.n for row in read] == [row.summary.n for row in rows]
    # Who judges it does not trust its verdicts, and says that nobody read the logs.
    assert all(row.findings == () for row in read)
    assert "raw output was not read again" in {
        finding.message for finding in table_findings(judge_table.read_submission(path, PACK))
    }


def test_a_table_of_a_rehearsal_is_found_by_its_own_file_counts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    head, line = "target,launch,files,operation,value,run,files_total\n", "scratch,single,shared,{},5702,r1,{}\n"
    path.write_text(head + line.format("create", 16384) + line.format("stat", 1048576))
    findings = [
        finding
        for finding in table_findings(judge_table.read_submission(path, PACK))
        if finding.rule == "FLG-04" and finding.checked
    ]
    texts = [
        (finding.subject, finding.severity, finding.message, finding.expected, finding.actual) for finding in findings
    ]
    assert texts == [
        ("scratch/single/shared/create", Severity.ERROR, "fewer files than the rules require", "1048576 or more",
         "16384"),
    ]  # fmt: skip


@pytest.mark.parametrize(("suffix", "form"), [(".csv", table.as_csv), (".json", table.as_json)])
def test_the_true_number_beside_an_inflated_one_is_read_from_both_forms(
    tmp_path: Path, suffix: str, form: object
) -> None:
    rows = eventful_results().rows()
    inflated = next(
        row for row in rows if row.record and row.cell.files == "onefile" and row.cell.operation == "remove"
    )
    assert inflated.record is not None
    true_row = replace(inflated, record=replace(inflated.record, true_value=7.5))
    path = tmp_path / f"table{suffix}"
    path.write_text(form([true_row]))  # type: ignore[operator]
    (read,) = judge_table.read_submission(path, PACK).rows
    assert read.record is not None and read.record.true_value == 7.5


@pytest.mark.parametrize("value", ["0", "-5702"])
def test_a_number_that_is_not_above_zero_is_found(tmp_path: Path, value: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(HEAD + f"t,node,unique,create,{value}\n")
    findings = [
        finding
        for finding in table_findings(judge_table.read_submission(path, PACK))
        if finding.rule == "RUN-06" and finding.checked
    ]
    assert [(finding.subject, finding.severity, finding.actual) for finding in findings] == [
        ("t/node/unique/create", Severity.ERROR, value)
    ]


def test_a_table_whose_lines_come_from_several_runs_is_found(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    head = "target,launch,files,operation,value,run,attempt\n"
    lines = [f"t,node,unique,{name},{value},run{value},1" for name, value in (("create", 10), ("stat", 40))]
    path.write_text(head + "\n".join(lines) + "\n")
    findings = [
        finding
        for finding in table_findings(judge_table.read_submission(path, PACK))
        if finding.rule == "STA-01" and finding.checked
    ]
    assert [(finding.subject, finding.actual) for finding in findings] == [("t/node/unique/*", "run10/1, run40/1")]


HEAD = "target,launch,files,operation,value\n"


def test_names_that_would_steer_a_terminal_are_shown_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(HEAD + "\x1b[31mt\0,node,unique,create,1\n")
    assert judge_table.read_submission(path, PACK).rows[0].cell.target == "\\x1b[31mt\\x00"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("t.csv", "target,launch\n", "no column files, operation, value; found: target, launch; needed: target"),
        ("t.csv", "", "empty; give a table as"),
        ("t.csv", HEAD, "no rows below the column names"),
        ("t.csv", HEAD + "t,node,unique,create,many\n", "line 2: value: found 'many'; allowed: a number"),
        ("t.csv", HEAD + "t,node,unique,create,1_000\n", "line 2: value: found '1_000'; allowed: a number with"),
        ("t.csv", HEAD + 't,node,unique,create,"1,234"\n', "line 2: value: found '1,234'; allowed: a number with"),
        ("t.csv", HEAD + "t,node,unique,create,1,234\n", "line 2: more fields than columns; put a field that conta"),
        ("t.csv", HEAD[:-1] + ",value\nt,node,unique,create,1,2\n", "column value appears 2 times; remove all but one"),
        ("t.csv", HEAD + "t,node,unique,create,nan\n", "line 2: value: found 'nan'; allowed: a number"),
        ("t.csv", HEAD + "t,node,,create,1\n", "line 2: column files is empty; give a name"),
        (
            "t.csv",
            HEAD[:-1] + ",status\nt,node,unique,create,1,good\n",
            "line 2: status: found good; allowed: measured",
        ),
        ("t.csv", HEAD[:-1] + ",n\nt,node,unique,create,1,1.5\n", "line 2: n: found 1.5; allowed: a whole number"),
        ("t.json", "[" * 100000, "nested too deeply; allowed: a table (.csv, .json or .xlsx)"),
        ("t.json", '{"a": 1}', "not a table; expected a list of objects as 'campaign table --format json' writes it"),
        ("t.json", '[{"target": 1}]', "entry 1: target: found 1; allowed: a text"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_place(tmp_path: Path, name: str, text: str, problem: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        judge_table.read_submission(path, PACK)
    assert caught.value.problems[0].startswith(f"{path}: {problem}")


def test_json_that_is_none_is_reported_with_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text("[\n{]")
    with pytest.raises(InputError) as caught:
        judge_table.read_submission(path, PACK)
    assert str(caught.value).startswith(f"{path}:2:2: not valid JSON: ")


def test_a_table_that_is_not_there_is_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "absent.csv")]) == 2
    assert "absent.csv: not found; give a table (.csv, .json or .xlsx)" in capsys.readouterr().err


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=examples(100))
@given(st.sampled_from([".csv", ".json"]), st.binary(max_size=300))
def test_whatever_a_table_holds_it_is_read_or_refused(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"table{suffix}"
    path.write_bytes((HEAD.encode() if suffix == ".csv" else b"[") + content)
    try:
        table_findings(judge_table.read_submission(path, PACK))
    except InputError as error:
        assert str(path) in str(error)


def test_check_takes_a_table_in_place_of_a_campaign_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(PUBLISHED), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert {"STA-05", "PHY-01", "PHY-02", "PHY-03", "PRJ-01"} <= {
        finding["rule"] for finding in document if finding["checked"]
    }


def test_a_form_in_another_layout_is_judged_by_its_mapping(capsys: pytest.CaptureFixture[str]) -> None:
    form = forms.DATA / "crossroads-mdtest-published.csv"
    submission = judge_table.read_submission(form, PACK, keys.load(FormMapping, forms.DATA / "crossroads-mdtest.yaml"))
    findings = [finding for finding in table_findings(submission) if finding.checked]
    repeated = {finding.subject: finding.actual for finding in findings if finding.rule == "PRJ-01"}
    assert repeated["scratch/max/shared/*"] == "create 40919, stat 104354, remove 18845" and len(repeated) == 3
    inflated = {finding.subject for finding in findings if finding.rule == "PHY-03"}
    assert inflated == {
        f"scratch/{launch}/onefile/{name}" for launch in ("peak", "max") for name in ("create", "remove")
    }
    assert main(["check", str(form), "--mapping", str(forms.DATA / "crossroads-mdtest.yaml")]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "0 of 36 results have a valid value (36 invalid)." in out
    assert f"campaign check {form} --mapping {forms.DATA / 'crossroads-mdtest.yaml'} --details" in out
    assert main(["check", str(form)]) == 2
    assert "no column target" in capsys.readouterr().err


def test_the_retyped_table_of_the_rfp_has_stat_slower_than_create(tmp_path: Path) -> None:
    rows = {str(row.cell): row.value for row in judge_table.read_submission(PUBLISHED, PACK).rows}
    form, mapping = tmp_path / "retyped.csv", keys.load(FormMapping, forms.DATA / "crossroads-mdtest.yaml")
    empty = form_file.read_form(forms.DATA / "crossroads-mdtest.csv")
    spots = {place.spot: place.entry.result for place in form_file.form_places(form, empty, mapping)}
    form.write_bytes(
        empty.filled({spot: {"": rows[name.replace("scratch", "lustre")] or ""} for spot, name in spots.items()}, "")
    )
    findings = [
        finding for finding in table_findings(judge_table.read_submission(form, PACK, mapping)) if finding.checked
    ]
    assert {finding.subject for finding in findings if finding.rule == "PHY-05"} == {"scratch/node/unique/stat"}


def test_a_breach_makes_a_number_of_a_table_invalid() -> None:
    submission = judge_table.read_submission(PUBLISHED, PACK)
    rows = with_findings(submission.rows, table_findings(submission))
    assert {row.status for row in rows} == {Status.INVALID}


@pytest.mark.parametrize("pack", sorted(path.stem for path in resources.PACKS.glob("*.yaml")))
def test_a_table_of_other_results_than_the_pack_s_is_judged_as_incomplete(
    pack: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(PUBLISHED), "--rules", pack]) == 1
    assert capsys.readouterr().err == ""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import tabulate

from campaign.config.format import Campaign, Target
from campaign.config.rules import packs
from campaign.config.rules.pack import RulePack, settle
from campaign.core import units
from campaign.core.errors import InputError
from campaign.core.findings import Finding, Severity
from campaign.core.runs import Cell, Geometry, Status
from campaign.judge.rows import table_rows
from campaign.report import printing, table
from campaign.report.foreign import table_file
from campaign.results.cells import COLUMNS, IN_CSV, Row
from tests.config.rules import test_pack
from tests.support import builders
from tests.support.results import Results, eventful_results


def test_the_printed_table_of_all_that_can_happen() -> None:
    results = eventful_results()
    builders.golden(
        "table.txt", table.table_text(results.rows(), results.campaign, results.pack, "simple", details=True)
    )


@pytest.mark.parametrize("width", [80, 140])
@pytest.mark.parametrize("tiers", ["one", "two"])
def test_a_table_has_the_footnotes_that_change_a_number_and_counts_the_others(tiers: str, width: int) -> None:
    results = eventful_results()
    table_input = two_targets() if tiers == "two" else (results.rows(), results.campaign, results.pack)
    text = table.table_text(*table_input, "simple", width)
    builders.golden(f"table-{tiers}-{width}.txt", text)
    assert max(map(len, text.splitlines())) <= width
    assert table.table_text(*table_input, "simple", width, details=True).count("5702") == text.count("5702")


def test_the_last_attempt_of_a_run_is_counted_whatever_became_of_the_others() -> None:
    """An attempt that was superseded, or had other settings, has a number too: "attempt 2 of 1" is none."""
    submission = eventful_results().submission()
    attempts = submission.attempts
    first = attempts[0]
    later_attempt = replace(first, number=first.number + 1)
    rows = table_rows(
        submission.campaign, submission.pack, submission.runs, [*attempts, later_attempt], submission.results
    )
    numbers = {row.last_attempt for row in rows if row.run and row.run.id == first.run}
    assert numbers == {first.number + 1}
    assert all(row.attempt.number <= row.last_attempt for row in rows if row.attempt)


def test_the_table_as_csv() -> None:
    builders.golden("table.csv", table.as_csv(eventful_results().rows()))


def test_the_rows_of_several_nodes_as_json() -> None:
    rows = [row for row in eventful_results().rows() if (row.cell.launch, row.cell.operation) == ("peak", "create")]
    builders.golden("table.json", table.as_json(rows))


def test_the_forms_agree_on_every_number() -> None:
    rows = eventful_results().rows()
    from_json = json.loads(table.as_json(rows))
    from_csv = list(csv.DictReader(io.StringIO(table.as_csv(rows))))
    assert [entry["value"] for entry in from_json] == [
        float(entry["value"]) if entry["value"] else None for entry in from_csv
    ]
    assert [entry["status"] for entry in from_json] == [entry["status"] for entry in from_csv]
    assert list(from_csv[0]) == list(IN_CSV)


def test_each_column_has_a_place_in_csv_of_its_own() -> None:
    leaves = [leaf for column in COLUMNS for leaf in (column.columns or (column,))]
    assert sorted(column.place for column in leaves if column.place) == list(range(1, len(IN_CSV) + 1))


def test_a_csv_with_decimal_commas_is_read_back_with_the_same_fields(tmp_path: Path) -> None:
    text = table.as_csv(eventful_results().rows())
    commas = printing.with_decimal_commas(text)
    assert "52345,6780;" in commas and "scratch.node.unique.r1" in commas and ";2000,0 2500,0;" in commas
    for name, content in (("a.csv", text), ("b.csv", commas)):
        (tmp_path / name).write_text(content)
    points, read = ([row.fields for row in table_file.read_table(tmp_path / name)] for name in ("a.csv", "b.csv"))
    assert read == points


def test_a_full_size_table_does_not_say_rehearsal() -> None:
    results = Results(campaign=builders.campaign(profile="full"))
    text = table.table_text(results.rows(), results.campaign, results.pack, "simple")
    assert "not a compliant result" not in text
    assert text.startswith("Metadata (operations/s): scratch (/scratch/user)\n")
    assert "1048576 files in shared dir" in text


def test_every_format_of_tabulate_prints_every_number() -> None:
    results = eventful_results()
    rows = results.rows()
    for style in tabulate.tabulate_formats:
        text = table.table_text(rows, results.campaign, results.pack, style)
        for number in ("1309", "52346", "2500", "7999", "3000", "4.57", "INVALID"):
            assert number in text, style


@pytest.mark.parametrize("style", ["html", "latex_booktabs", "latex_longtable", "github"])
def test_launch_conditions_stay_indented_where_a_format_drops_spaces(style: str) -> None:
    results = eventful_results()
    text = table.table_text(results.rows(), results.campaign, results.pack, style)
    space = "\N{NO-BREAK SPACE}"
    for launch in results.pack.launch:
        assert f"{space}{space}{launch.title}" in text


def test_markdown_aligns_numbers_right() -> None:
    results = eventful_results()
    rule = table.table_text(results.rows(), results.campaign, results.pack, "github").splitlines()[3]
    assert [column.endswith(":") for column in rule.strip("|").split("|")] == [False, *[True] * 5, False, False]


def test_an_unknown_format_is_refused_with_those_that_there_are() -> None:
    results = Results()
    with pytest.raises(InputError) as caught:
        table.table_text(results.rows(), results.campaign, results.pack, "tabel")
    assert str(caught.value).startswith("--format tabel: unknown format; allowed: ")
    assert str(caught.value).endswith(", csv, json, xlsx")


@pytest.mark.parametrize(
    ("value", "output"), [(123456.7, "123457"), (100.4, "100"), (99.96, "100"), (5.6789, "5.68"), (0.01234, "0.0123")]
)
def test_a_number_has_as_many_digits_as_the_eye_takes_in(value: float, output: str) -> None:
    assert units.digits(value) == output


def test_status_and_notes_have_columns_of_their_own_only_where_a_line_has_them() -> None:
    clean = Results(pack=builders.pack(checks={}), campaign=builders.campaign(launch={"single": Geometry(1, 1)}))
    for files in ("shared", "unique", "onefile"):
        clean.add(f"single.{files}")
    own_rows = [replace(row, findings=()) for row in clean.rows() if row.cell.launch == "single"]
    pack = replace(clean.pack, launch=clean.pack.launch[:1])
    header = table.table_text(own_rows, clean.campaign, pack, "simple").splitlines()[1]
    assert header.split() == ["Create", "Stat", "Remove", "Processes", "Nodes"]
    open_row = replace(own_rows[0], findings=(Finding("PHY-02", Severity.WARNING, "x", "slow"),))
    header = table.table_text([open_row, *own_rows[1:]], clean.campaign, pack, "simple").splitlines()[1]
    assert header.split()[-1] == "Notes"


def test_a_line_in_which_one_number_is_invalid_says_which() -> None:
    rows = eventful_results().rows()
    rows[1] = replace(rows[1], status=Status.INVALID)
    text = table.table_text(rows, builders.campaign(), builders.pack(), "simple")
    assert re.search(r"5000 +1200 +1 +1  INVALID: Stat", text)


def test_a_full_table_with_every_mark_fits_120_columns() -> None:
    results = Results(
        pack=replace(packs.load("crossroads-mdtest"), profile="full"), campaign=builders.campaign(profile="full")
    )
    for name in (f"{launch}.{files}" for launch in builders.GEOMETRIES for files in ("shared", "unique", "onefile")):
        results.add(name, (1234567.0, 2345678.0, 1234567.0), seen={"argv": ("mdtest", "-F"), "nodes": 9})
    rows = [replace(row, status=Status.INVALID) for row in results.rows()]
    text = table.table_text(rows, results.campaign, results.pack, "simple")
    assert text.count("INVALID") == 12
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("style", ["github", "latex", "html", "tsv"])
def test_a_format_with_rows_of_its_own_folds_no_label(style: str) -> None:
    pack = packs.load("crossroads-mdtest")
    results = Results(pack=pack)
    text = table.table_text(results.rows(), results.campaign, pack, style)
    slash = r"/\allowbreak{}" if style == "latex" else "/"
    assert text.count(f"Minimal MPI processes on multiple nodes w{slash}peak results") == 3


# --- formats that are pasted


def two_targets() -> tuple[list[Row], Campaign, RulePack]:
    """A campaign on two tiers; on the second one file configuration is declined."""
    results = eventful_results()
    rows = results.rows()
    second = [replace(row, cell=replace(row.cell, target="burst")) for row in rows]
    declined: dict[str, Any] = {"value": None, "record": None, "status": Status.DECLINED, "note": "not offered"}
    second = [replace(row, **declined) if row.cell.files == "onefile" else row for row in second]
    targets = (*results.campaign.targets, Target("burst", "/burst"))
    return [*rows, *second], replace(results.campaign, targets=targets), results.pack


@pytest.mark.parametrize("style", ["html", "unsafehtml"])
def test_html_is_a_fragment_of_tables_and_paragraphs(style: str) -> None:
    text = table.table_text(*two_targets(), style, combined=True)
    fragment = ElementTree.fromstring(f"<div>{text}</div>")
    assert {child.tag for child in fragment} == {"table", "p"}
    assert len(fragment.findall("table")) == 3
    assert "Metadata (operations/s): scratch, burst" in [paragraph.text for paragraph in fragment.findall("p")]


@pytest.mark.parametrize("style", ["latex", "latex_raw", "latex_booktabs", "latex_longtable"])
def test_latex_is_tables_below_their_captions(style: str) -> None:
    text = table.table_text(*two_targets(), style, combined=True)
    definition = re.findall(r"\\begin{(\w+)}", text)
    assert definition == ["longtable" if style == "latex_longtable" else "tabular"] * 3
    assert sorted(definition) == sorted(re.findall(r"\\end{(\w+)}", text))
    assert text.count(r"Metadata (operations/\allowbreak{}s): ") == 3
    assert (r"\toprule" in text) == (style == "latex_booktabs")


def test_several_targets_have_an_overview_with_a_column_each_on_request() -> None:
    assert "scratch, burst" not in table.table_text(*two_targets(), "simple")
    text = table.table_text(*two_targets(), "simple", details=True, combined=True)
    builders.golden("overview.txt", text.partition("Metadata (operations/s): scratch, burst\n")[2])
    assert max(map(len, text.splitlines())) <= printing.WIDEST


def test_an_overview_can_be_printed_in_every_format() -> None:
    table_input = two_targets()
    for style in tabulate.tabulate_formats:
        assert "5702" in table.table_text(*table_input, style, combined=True), style


def test_headings_are_folded_where_a_table_would_be_wider_than_a_terminal() -> None:
    results = eventful_results()
    titles = {
        "create": "Sum of the processes",
        "stat": "Reached by reads of others",
        "remove": "Fastest of all processes",
    }
    operations = tuple(replace(operation, title=titles[operation.id]) for operation in results.pack.operations)
    pack = replace(results.pack, operations=operations, caption="Bandwidth of a shared file system with a long title")
    text = table.table_text(results.rows(), results.campaign, pack, "simple")
    assert max(map(len, text.splitlines())) <= printing.WIDEST
    assert text.splitlines()[2].split() == ["Sum", "of", "Reached", "Fastest", "Processes", "Nodes", "Status", "Notes"]
    assert len(table.table_text(results.rows(), results.campaign, pack, "github").splitlines()[2]) > printing.WIDEST


# --- the layout


def empty(pack: RulePack) -> list[Row]:
    cells = (
        Cell("t", launch.id, pack.files[0].id, operation.id)
        for launch in pack.launch
        for operation in pack.operations_of(launch.id)
    )
    return [Row(cell, "", Status.MISSING, None) for cell in cells]


def operations(line: table.TableLine) -> tuple[str | None, ...]:
    return tuple(row.cell.operation if row else None for row in line.rows)


def test_rows_stand_below_their_launch_condition_and_columns_hold_one_title_each() -> None:
    pack = settle(test_pack.PACK, "full", test_pack.LAUNCH, {})
    assert tuple(table.column_titles(pack)) == ("Rate", "1m", "4m")
    lines = table.table_lines(empty(pack), replace(pack, files=pack.files[:1]))
    assert [("  " * line.level + line.label, operations(line)) for line in lines] == [
        ("Blocks of 16m", (None, None, None)),
        ("  One node", ("best", None, None)),
        ("    1 processes", (None, "rate-1-1m", "rate-1-4m")),
        ("    2 processes", (None, "rate-2-1m", "rate-2-4m")),
        ("    3 processes", (None, "rate-3-1m", "rate-3-4m")),
        ("  Two nodes", ("best", None, None)),
        ("    1 processes", (None, "rate-1-1m", "rate-1-4m")),
        ("    2 processes", (None, "rate-2-1m", "rate-2-4m")),
    ]


def test_without_rows_each_launch_condition_has_one_line() -> None:
    pack = builders.pack()
    lines = table.table_lines(empty(pack), replace(pack, files=pack.files[:1], items_total={"full": 4096}))
    assert lines[0].label == "4096 files in shared dir"
    assert [operations(line) for line in lines[1:]] == [("create", "stat", "remove")] * 4

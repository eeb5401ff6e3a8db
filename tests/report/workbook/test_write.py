"""The workbook, read back by a reader of the tests' own: every cell, every link, every name."""

from __future__ import annotations

import posixpath
import re
import urllib.parse
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import ascii_uppercase
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.config.format import Target
from campaign.core.columns import sequence_columns
from campaign.core.findings import Severity
from campaign.report import table
from campaign.report.contents import Contents, Section
from campaign.report.workbook import sheets
from campaign.report.workbook.write import workbook
from campaign.results.cells import IN_CSV
from tests.report.test_clauses import KEPT, OPEN
from tests.report.test_table import two_targets
from tests.report.test_write import FINDING, contents, contents_in, projected_results
from tests.support import builders
from tests.support.results import Results, eventful_results

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
Cell = str | float

LETTERS = [*ascii_uppercase, *(f"A{letter}" for letter in ascii_uppercase)]  # of a sheet's columns


@dataclass
class Sheet:
    cells: dict[str, Cell] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)  # by cell: 'Sheet'!A1, or an address outside
    formats: dict[str, str] = field(default_factory=dict)  # number formats by cell

    def line(self, number: int) -> list[Cell | None]:
        return [self.cells.get(f"{column}{number}") for column in "ABCDEF"]

    def column(self, letter: str) -> list[Cell]:
        return [value for name, value in self.cells.items() if re.fullmatch(rf"{letter}\d+", name)]


def read(path: Path) -> dict[str, Sheet]:
    """Each sheet's cells, text as text and numbers as numbers. A formula or a script is a failure."""
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if "vba" in name.lower() or "externalLink" in name]
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        names = [sheet.attrib["name"] for sheet in book.iter(f"{SPACE}sheet")]
        strings = [
            "".join(text.text or "" for text in item.iter(f"{SPACE}t"))
            for item in ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
        ]
        styles = ElementTree.fromstring(archive.read("xl/styles.xml"))
        codes = {
            format_element.attrib["numFmtId"]: format_element.attrib["formatCode"]
            for format_element in styles.iter(f"{SPACE}numFmt")
        }
        used = styles.find(f"{SPACE}cellXfs")
        assert used is not None
        formats = [codes.get(style.attrib["numFmtId"], "") for style in used]
        fields = {}
        for number, name in enumerate(names, 1):
            part = f"xl/worksheets/sheet{number}.xml"
            sheet, sheet_values = ElementTree.fromstring(archive.read(part)), Sheet()
            assert not list(sheet.iter(f"{SPACE}f")), "a formula"
            outside = {}
            relations = f"xl/worksheets/_rels/sheet{number}.xml.rels"
            if relations in archive.namelist():
                for element in ElementTree.fromstring(archive.read(relations)):
                    outside[element.attrib["Id"]] = element.attrib["Target"]
            for cell in sheet.iter(f"{SPACE}c"):
                value = cell.findtext(f"{SPACE}v")
                if value is not None:
                    sheet_values.cells[cell.attrib["r"]] = (
                        strings[int(value)] if cell.attrib.get("t") == "s" else float(value)
                    )
                    sheet_values.formats[cell.attrib["r"]] = formats[int(cell.attrib.get("s", "0"))]
            for link in sheet.iter(f"{SPACE}hyperlink"):
                target = link.attrib.get("location") or outside[link.attrib[RELATION]].replace("\\", "/")
                sheet_values.links[link.attrib["ref"]] = target
            fields[name] = sheet_values
    return fields


def book_of(tmp_path: Path, contents: Contents) -> dict[str, Sheet]:
    path = tmp_path / "table.xlsx"
    path.write_bytes(workbook(path, contents))
    return read(path)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sheet]:
    return book_of(tmp_path_factory.mktemp("book"), contents(eventful_results()))


def xml_of(path: Path) -> dict[str, ElementTree.Element]:
    """The XML of each sheet."""
    with zipfile.ZipFile(path) as archive:
        names = [
            sheet.attrib["name"]
            for sheet in ElementTree.fromstring(archive.read("xl/workbook.xml")).iter(f"{SPACE}sheet")
        ]
        parts = (archive.read(f"xl/worksheets/sheet{number}.xml") for number in range(1, len(names) + 1))
        return dict(zip(names, map(ElementTree.fromstring, parts), strict=True))


def test_headings_stay_in_sight_lists_have_filters_and_the_key_of_severities(tmp_path: Path) -> None:
    long = replace(FINDING, wording="word " * 100)
    book_of(tmp_path, contents(eventful_results(), (FINDING, long)))
    elements = xml_of(tmp_path / "table.xlsx")
    assert {
        name for name, sheet in elements.items() if sheet.find(f".//{SPACE}pane") is not None
    } == elements.keys() - {"Summary", "Chart"}
    filters = {name: sheet.find(f"{SPACE}autoFilter") for name, sheet in elements.items()}
    assert {name: element.attrib["ref"] for name, element in filters.items() if element is not None} == {
        "Findings": "A4:J6",
        "Provenance": f"A1:{LETTERS[len(IN_CSV)]}37",
        "Runs": "A1:L13",
    }
    heights = {row.attrib["r"]: row.attrib.get("ht") for row in elements["Findings"].iter(f"{SPACE}row")}
    assert heights["5"] is None
    assert float(heights["6"] or 0) == sheets.LINE * 13
    key = read(tmp_path / "table.xlsx")["Findings"].column("A")[:3]
    assert [str(line)[:2] for line in key] == ["E:", "W:", "I:"]


def test_several_targets_stand_beside_each_other_on_a_sheet(tmp_path: Path) -> None:
    rows, campaign, _ = two_targets()
    all_contents = contents(eventful_results())
    targets = replace(all_contents.campaign, targets=campaign.targets)
    sheet = book_of(tmp_path, replace(all_contents, rows=rows, campaign=targets))["Overview"]
    assert sheet.line(3)[:4] == ["", "scratch", "burst", "Status"]
    assert [sheet.line(number)[:4] for number in (4, 5, 6, 8)] == [
        ["1000/1024 files in shared dir", None, None, None],
        ["Create (ops/s)", None, None, None],
        ["Single Process", 1309.4, 1309.4, None],
        ["Fewest for the peak", "3000", "3000", "INVALID"],
    ]
    assert sheet.links["B6"].startswith("'Provenance'!A")


def test_the_sheets_in_their_order(book: dict[str, Sheet]) -> None:
    assert list(book) == ["Summary", "scratch", "Chart", "System", "Findings", "Provenance", "Runs"]


def test_a_sheet_that_would_be_empty_is_left_out_with_its_link(tmp_path: Path) -> None:
    assert "Projections" in book_of(tmp_path, contents(projected_results()))
    book = book_of(tmp_path, contents(Results()))
    assert not {"Chart", "Projections", "Clauses", "Overview"} & book.keys()
    assert {link.split("!")[0].strip("'") for link in book["Summary"].links.values()} == book.keys() - {"Summary"}


# --- what a reader sees first


def day(seconds: float) -> float:
    """A time as a workbook counts it: in days."""
    return 25569 + seconds / 86400


CAUSE = "node_fail: job 19: NODE_FAIL during this run: srun: n2 is gone"


def test_the_summary_says_what_this_is_and_whether_it_complies(book: dict[str, Sheet]) -> None:
    facts = [book["Summary"].line(number)[:2] for number in range(1, 30)]
    assert facts[:9] == [
        ["REHEARSAL", None],
        ["Decision on", "campaign test, test-rules 7, rehearsal size"],
        ["complete", "24 of 36 results have a valid value (3 invalid, 3 failed, 6 missing, 3 declined)."],
        ["rules", "1 rule is VIOLATED: -N is not the rank offset (FLG-06)."],
        ["decisions", "Nothing waits for the buyer's decision."],
        ["conclusion", "As it stands, the buyer would reject it."],
        ["limits", "This does not show that the buyer will accept it: a rehearsal is never compliant."],
        ["Next", f"vendor: Fix the cause ({CAUSE}), then run: campaign run campaign.yaml"],
        ["", "vendor: Run the result again with the rank offset of one node, and check benchmark.dialect (FLG-06)."],
    ]
    assert facts[10] == ["Table", "Metadata (operations/s)"]
    fact_texts = {name: text for name, text in facts if isinstance(name, str) and name}
    assert fact_texts["Run rules"] == "test-rules, version 7: Rules of the tests"
    assert fact_texts["Profile"] == "rehearsal: not a compliant result"
    assert (fact_texts["Measured from (UTC)"], fact_texts["Measured to (UTC)"]) == pytest.approx(
        (day(110), day(112.5)), abs=1e-6
    )
    assert str(fact_texts["Attempts"]).startswith("12 attempts: 9 done, ")
    assert any("campaign check campaign.yaml" in str(text) for _, text in facts)


def test_every_sheet_prints_across_pages_that_can_be_read_with_its_heading_on_each(tmp_path: Path) -> None:
    note = replace(FINDING, severity=Severity.INFO)
    book_of(tmp_path, contents(eventful_results(), (note, FINDING)))
    elements = xml_of(tmp_path / "table.xlsx")
    for name, sheet in elements.items():
        (setup,) = sheet.iter(f"{SPACE}pageSetup")
        heights = ("landscape", None if name in ("Summary", "scratch", "Chart") else "0")  # those are on one page
        assert (setup.attrib["orientation"], setup.attrib.get("fitToHeight")) == heights, name
        columns = [float(element.attrib["width"]) for element in sheet.iter(f"{SPACE}col")]
        total = sum(columns[:9] if name == "Provenance" else columns)
        assert total / int(setup.attrib.get("fitToWidth", "1")) <= sheets.READABLE + 12, name
    with zipfile.ZipFile(tmp_path / "table.xlsx") as archive:
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    titles = {
        list(elements)[int(name_element.attrib["localSheetId"])]: str(name_element.text)
        for name_element in book.iter(f"{SPACE}definedName")
        if name_element.attrib["name"] == "_xlnm.Print_Titles"
    }
    areas = {
        list(elements)[int(name_element.attrib["localSheetId"])]: str(name_element.text)
        for name_element in book.iter(f"{SPACE}definedName")
        if name_element.attrib["name"] == "_xlnm.Print_Area"
    }
    assert areas["Provenance"] == "Provenance!$A$1:$I$37", "each number with its log line"
    assert areas["Findings"] == "Findings!$A$1:$J$5", "the violation without the note"
    assert titles["Provenance"] == "Provenance!$A:$A,Provenance!$1:$1"
    assert titles["scratch"] == "scratch!$A:$A,scratch!$3:$4"


def test_the_summary_names_the_next_steps(tmp_path: Path) -> None:
    facts = book_of(tmp_path, contents(eventful_results(), (FINDING,)))["Summary"].column("B")
    assert [str(text)[:14] for text in facts[6:8]] == ["vendor: Fix th", "vendor: Run th"]


def test_the_summary_leads_to_each_target(book: dict[str, Sheet]) -> None:
    assert "'scratch'!A1" in book["Summary"].links.values()


def test_a_targets_sheet_has_the_layout_of_the_printed_table(book: dict[str, Sheet]) -> None:
    cells = book["scratch"]
    assert [cells.line(number) for number in range(1, 20)] == [
        ["Metadata (operations/s): scratch (/scratch/user)", None, None, None, None, None],
        ["rehearsal size: not a compliant result", None, None, None, None, None],
        ["", "Create", "Stat", "Remove", "Processes", "Nodes"],
        ["", "ops/s", "ops/s", "ops/s", "", ""],
        ["1000/1024 files in shared dir", None, None, None, None, None],
        ["Single Process", 1309.4, 5000.0, 1200.0, 1.0, 1.0],
        ["Best on one node", 1000.0, 4000.0, 800.0, 4.0, 1.0],
        ["Fewest for the peak", "3000", "4.57", "100", 8.0, 2.0],
        ["All there is", 0.5, 1.0, 2.0, 32.0, 4.0],
        ["1000/1024 files in own dirs", None, None, None, None, None],
        ["Single Process", 5702.0, 52345.678, 8352.9, 1.0, 1.0],
        ["Best on one node", 2500.0, 8000.0, 1400.0, 4.0, 1.0],
        ["Fewest for the peak", "failed", "failed", "failed", 8.0, 2.0],
        ["All there is", "missing", "missing", "missing", 32.0, 4.0],
        ["One file", None, None, None, None, None],
        ["Single Process", 5706.0, 6000.0, 5300.0, 1.0, 1.0],
        ["Best on one node", 7999.4, 8000.0, 6000.0, 4.0, 1.0],
        ["Fewest for the peak", "missing", "missing", "missing", 8.0, 2.0],
        ["All there is", "declined", "declined", "declined", 32.0, 4.0],
    ]


def test_a_number_keeps_its_digits_and_is_shown_rounded(book: dict[str, Sheet]) -> None:
    sheet = book["scratch"]
    assert (sheet.cells["C11"], sheet.formats["C11"]) == (52345.678, "#,##0")
    assert sheet.formats["B9"] == "0.000"


def test_status_and_notes_stand_in_columns_of_their_own(book: dict[str, Sheet]) -> None:
    cells = book["scratch"].cells
    assert (cells["G3"], cells["H3"]) == ("Status", "Notes")
    assert [(cells.get(f"G{line}"), cells.get(f"H{line}")) for line in (6, 8, 9, 12, 14)] == [
        (None, None),
        ("INVALID", "1-5"),
        (None, "6"),
        (None, "7"),
        (None, "6, 9"),
    ]


def test_what_the_marks_name_stands_below_the_table_and_how_digits_are_cut(book: dict[str, Sheet]) -> None:
    lines = [book["scratch"].cells.get(f"A{number}") for number in range(21, 36)]
    assert lines[6] == "[7] 3 attempts, 2 valid; reported by the run rules' selection"
    marks = (
        "struck through: invalid (see Status and Notes); italic: projected; Notes: numbers of the notes below the table"
    )
    assert lines[12:] == ["[13] no time left", table.ROUNDING, marks]


def test_a_projected_number_is_a_number_that_is_marked_as_projected(tmp_path: Path) -> None:
    sheets = book_of(tmp_path, contents(projected_results()))
    sheet = sheets["scratch"]
    place = next(name for name, value in sheet.cells.items() if str(value).startswith("PROJECTED"))
    line = place[1:]
    assert (sheet.cells[f"B{line}"], sheet.formats[f"B{line}"]) == (4938270.0, "#,##0")
    assert sheets["Projections"].line(2) == ["scratch/max/shared/create", 4938270.0, "ops/s", 3950616.0, 5925924.0, 0.2]
    assert sheets["Projections"].cells["K2"] == "base * nodes"


def test_a_full_size_workbook_does_not_say_rehearsal(tmp_path: Path) -> None:
    results = Results(campaign=builders.campaign(profile="full"))
    sheets = book_of(tmp_path, contents(results))
    assert "A2" not in sheets["scratch"].cells
    assert not [text for sheet in sheets.values() for text in sheet.cells.values() if "rehearsal" in str(text).lower()]


# --- what stands behind the numbers


def test_every_cell_and_its_provenance_lead_to_each_other(book: dict[str, Sheet]) -> None:
    origin = book["Provenance"]
    for number, row in enumerate(eventful_results().rows(), 2):
        assert origin.cells[f"A{number}"] == str(row.cell)
        cell_link = origin.links[f"A{number}"]
        assert cell_link.startswith("'scratch'!")
        assert book["scratch"].links[cell_link.split("!")[1]] == f"'Provenance'!A{number}"
        if row.value is not None and row.status == "measured":
            assert book["scratch"].cells[cell_link.split("!")[1]] == row.value


def test_the_provenance_has_every_cell_with_its_run_and_its_place(book: dict[str, Sheet]) -> None:
    cells, rows = book["Provenance"].cells, eventful_results().rows()
    columns = {str(cells[f"{letter}1"]): letter for letter in LETTERS[1 : len(IN_CSV) + 1]}
    assert columns.keys() == set(IN_CSV)
    assert list(columns)[:8] == ["value", "unit", "status", "run", "attempt", "job_id", "file", "line"], "printed ones"
    for number, row in enumerate(rows, 2):
        assert cells.get(f"{columns['value']}{number}") == row.value
        assert cells[f"{columns['status']}{number}"] == row.status
        assert cells.get(f"{columns['file']}{number}") == (row.record.source.file if row.record else None)
        assert cells.get(f"{columns['line']}{number}") == (row.record.source.line if row.record else None)
    assert f"A{len(rows) + 2}" not in cells


def test_the_raw_output_is_linked_relative_to_where_the_workbook_lies(tmp_path: Path) -> None:
    root = tmp_path / "results of #1 & 100%"
    (root / "report").mkdir(parents=True)
    path = root / "report" / "table.xlsx"
    path.write_bytes(workbook(path, contents_in(contents(eventful_results()), root)))
    outside = {link for link in read(path)["Provenance"].links.values() if "!" not in link}
    assert "../runs/scratch.single.shared.r1/1/stdout" in outside
    elsewhere = tmp_path / "table.xlsx"
    elsewhere.write_bytes(workbook(elsewhere, contents_in(contents(eventful_results()), root)))
    for link in read(elsewhere)["Provenance"].links.values():
        if "!" not in link:
            reached = posixpath.normpath(posixpath.join(tmp_path, urllib.parse.unquote(link)))
            assert reached.startswith(f"{root}/runs/scratch.")


def test_findings_have_a_line_each(book: dict[str, Sheet]) -> None:
    assert book["Findings"].line(4) == ["rule", "severity", "subject", "message", "expected", "found"]
    assert book["Findings"].line(5) == [
        *(FINDING.rule, FINDING.severity, FINDING.subject, FINDING.message),
        "4",
        "1",
    ]
    assert (book["Findings"].cells["G5"], book["Findings"].cells["J5"]) == ("8.4", "yes")


def test_the_system_is_described_with_what_the_jobs_found_and_how_the_benchmark_was_changed(tmp_path: Path) -> None:
    columns = sequence_columns("node", "kernel")
    parts = {
        "environment": (Section("Kernel", "of each node", columns, (("n1", "6.1"), ("n2", "=6.2"))),),
        "modifications": (Section("No modifications", "both trees have the same hash"),),
    }
    sheet = book_of(tmp_path, replace(contents(eventful_results()), **parts))["System"]  # type: ignore[arg-type]
    texts = [[value for value in sheet.line(number) if value is not None] for number in range(1, 24)]
    for line in (["storage", "4 servers & 96 disks"], ["name", "A. <Nobody>"], ["n2", "=6.2"], ["No modifications"]):
        assert line in texts, line


def test_the_runs_have_their_command_line_and_their_ends(book: dict[str, Sheet]) -> None:
    runs = book["Runs"]
    assert len(runs.column("A")) == 1 + 12
    line = next(number for number in range(2, 14) if runs.cells[f"A{number}"] == "scratch.node.unique.r1")
    assert str(runs.cells[f"G{line}"]).startswith("srun --nodes=1 --ntasks=4 ")
    assert (runs.cells[f"I{line}"], runs.cells[f"J{line}"]) == (3.0, "2 done, 1 timeout")


def test_the_runs_have_their_times_as_dates(book: dict[str, Sheet]) -> None:
    runs = book["Runs"]
    line = next(number for number in range(2, 14) if runs.cells[f"A{number}"] == "scratch.single.shared.r1")
    assert [runs.cells[f"{column}{line}"] for column in "KL"] == pytest.approx([day(110), day(112.5)], abs=1e-6)
    assert runs.formats[f"K{line}"] == "yyyy-mm-dd hh:mm:ss"
    assert "UTC" in str(runs.cells["K1"])


def test_findings_that_differ_in_their_subject_alone_have_one_line(tmp_path: Path) -> None:
    findings = tuple(replace(FINDING, subject=f"run{number}") for number in range(6))
    sheet = book_of(tmp_path, contents(eventful_results(), findings))["Findings"]
    assert sheet.cells["C5"] == "run0, run1, run2, run3 and 2 more" and "C6" not in sheet.cells


def test_the_chart_has_the_valid_numbers_and_a_logarithmic_axis_if_they_differ_much(tmp_path: Path) -> None:
    sheet = book_of(tmp_path, contents(eventful_results()))["Chart"]
    assert sheet.line(1) == ["scratch", "", "processes × nodes", "Create", "Stat", "Remove"]
    assert sheet.line(2) == ["Single Process", "1000/1024 files in shared dir", "1 × 1", 1309.4, 5000.0, 1200.0]
    assert not {3000.0, 4.56789} & {*sheet.column("D"), *sheet.column("E")}, "those are invalid"
    with zipfile.ZipFile(tmp_path / "table.xlsx") as archive:
        chart = archive.read("xl/charts/chart1.xml").decode()
    assert "logBase" in chart and "barChart" not in chart
    assert chart.count("<c:ser>") == 3 and "Chart!$E$2:$E$13" in chart


# --- text of others


def test_what_looks_like_a_formula_a_link_or_a_number_stays_text(tmp_path: Path) -> None:
    target = Target("=1+1", "https://example.org/=cmd|' /C calc'!A0")
    pack = builders.pack()
    pack = replace(
        pack,
        caption="=HYPERLINK(1)",
        files=(replace(pack.files[0], title="+SUM(A1:A9)"), *pack.files[1:]),
        launch=(replace(pack.launch[0], title="-2+3"), replace(pack.launch[1], title="17"), *pack.launch[2:]),
    )
    results = Results(campaign=builders.campaign(targets=(target,)), pack=pack)
    sheets = book_of(tmp_path, contents(results, (replace(FINDING, wording="=1+1", expected="http://x", actual="5"),)))
    sheet = sheets["=1+1"]
    assert [sheet.cells[f"A{number}"] for number in (1, 5, 6, 7)] == [
        "=HYPERLINK(1): =1+1 (https://example.org/=cmd|' /C calc'!A0)",
        "+SUM(A1:A9)",
        "-2+3",
        "17",
    ]
    assert sheets["Findings"].line(5)[3:] == ["=1+1", "http://x", "5"]
    assert sheets["Findings"].links == {}


def test_what_cannot_be_seen_is_written_as_its_number(tmp_path: Path) -> None:
    sheets = book_of(
        tmp_path, contents(eventful_results(), (replace(FINDING, wording="a\x1b[31m\x00\u202e_x0041_\ud800\nb"),))
    )
    assert str(sheets["Findings"].cells["D5"]).replace("_x005F_", "_") == "a\\x1b[31m\\x00\\u202e_x0041_\\ud800 b"


@given(st.integers(32700, 33000), st.sampled_from(["a", "é", "😀", "_"]))
def test_no_text_is_longer_than_a_cell_may_be_and_one_that_was_cut_is_marked(length: int, letter: str) -> None:
    kept_text = sheets.cell_text(letter * length)
    assert len(kept_text.encode("utf-16-le")) // 2 <= 32767
    assert kept_text == letter * length or kept_text.endswith(f"… (truncated, {length} characters)")


def test_targets_whose_names_a_workbook_cannot_tell_apart_have_a_sheet_each(tmp_path: Path) -> None:
    long = "a-very-long-name-of-a-storage-tier"
    names = (f"{long}-1", f"{long}-2", "provenance", "History")
    targets = tuple(Target(name, f"/{name}") for name in names)
    sheets = book_of(tmp_path, contents(Results(campaign=builders.campaign(targets=targets))))
    assert list(sheets)[1:5] == [
        "a-very-long-name-of-a-storage-t",
        "a-very-long-name-of-a-storage~2",
        "provenance~2",
        "History~2",
    ]
    assert [str(sheet.cells["A1"]).split(" ")[2] for sheet in list(sheets.values())[1:5]] == list(names)


@given(st.lists(st.text("aA[]:*?/\\'~ 12é\x07", max_size=40), max_size=12))
def test_every_name_is_one_that_a_workbook_takes(targets: list[str]) -> None:
    sheet_names = sheets.sheet_names(targets)
    assert len({name.lower() for name in (*sheet_names, *sheets.NAMES)}) == len(targets) + len(sheets.NAMES)
    for name in sheet_names:
        assert 0 < len(name) <= 31
        assert not re.search(r"[\[\]:*?/\\]|^'|'$", name)


# --- the file


@pytest.mark.parametrize("make", [eventful_results, Results])
def test_the_same_contents_give_the_same_bytes(make: Callable[[], Results]) -> None:
    assert workbook(Path("/table.xlsx"), contents(make())) == workbook(Path("/table.xlsx"), contents(make()))


def test_the_compliance_matrix_has_a_sheet_if_the_pack_lists_its_clauses(tmp_path: Path) -> None:
    all_contents = contents(eventful_results())
    path = tmp_path / "table.xlsx"
    path.write_bytes(workbook(path, replace(all_contents, clauses=(KEPT, OPEN))))
    sheet = read(path)["Clauses"]
    assert sheet.line(1)[:5] == ["Clause", "Requirement", "State", "Answer", "Evidence"]
    assert [sheet.line(number)[2] for number in (2, 3)] == ["kept", "open"]
    path.write_bytes(workbook(path, all_contents))
    assert "Clauses" not in read(path)

"""Forms as cells: CSV, XLSX and DOCX with values in them, and files that are no forms."""

from __future__ import annotations

import io
import random
import re
import zipfile
from contextlib import suppress
from pathlib import Path

import docx
import openpyxl
import pytest
import xlsxwriter

from campaign.config import rfp
from campaign.config.forms import FormMapping, FormTable
from campaign.config.rules import packs
from campaign.core.errors import InputError
from campaign.evidence.submitted_table import is_plain
from campaign.report.foreign import form_file
from campaign.report.foreign.form_file import Spot
from tests.support import forms


@pytest.mark.parametrize(
    ("data", "filled"),
    [
        (b"a,b\n1,\n", b"a,b\n1,2.5\n"),
        (b'\xef\xbb\xbfa;"x;y"\r\n1;\r\n', b'\xef\xbb\xbfa;"x;y"\r\n1;2.5\r\n'),
        (b"a\tb\n\t\n", b"a\tb\n\t2.5\n"),
    ],
)
def test_a_csv_keeps_its_separator_line_ends_and_mark(tmp_path: Path, data: bytes, filled: bytes) -> None:
    path = tmp_path / "form.csv"
    path.write_bytes(data)
    assert form_file.read_form(path).filled({Spot("", 2, 2): {"": 2.5}}, "") == filled


def test_a_text_of_the_campaign_is_no_formula_of_a_csv(tmp_path: Path) -> None:
    (tmp_path / "form.csv").write_text("{{ a }},x\n")
    read = form_file.read_form(tmp_path / "form.csv")
    assert read.filled({Spot("", 1, 1): {"{{ a }}": "=1+1"}}, "") == b"'=1+1,x\n"
    assert read.box(Spot("", 1, 3)).closed == "its line has no such field"


def test_a_value_takes_the_place_of_a_part_of_a_text_or_of_all() -> None:
    assert form_file.replaced_text(" {{ a }} ", {"{{ a }}": 2.0}) == 2.0
    assert form_file.replaced_text("{{ a }} of {{ b }}", {"{{ a }}": 2.0, "{{ b }}": "x"}) == "2 of x"


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("form_file.ods", b"x", "form_file.ods: not a form; allowed: .xlsx, .xlsm, .csv or .docx"),
        (
            "form.xlsx",
            b"x",
            "form.xlsx: not an XLSX workbook: File is not a zip file; save it as .xlsx or .csv",
        ),
        ("form.docx", b"x", "form.docx: not a DOCX document: File is not a zip file; save it as .docx"),
        ("form.csv", b'a,"b', "form.csv: not a CSV file: unexpected end of data; save it as .csv"),
        ("form.csv", b"\xff", "form.csv: byte 0 is not UTF-8; allowed: a table in UTF-8"),
    ],
)
def test_what_is_no_form_is_refused(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as error:
        form_file.read_form(tmp_path / name)
    assert problem in str(error.value)


def test_cells_and_rows_that_the_sheet_does_not_have_yet_are_put_in_order(tmp_path: Path) -> None:
    path = tmp_path / "form.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("A")
        for place in ("C3", "E3", "C7"):
            sheet.write_string(place, "x")
        book.add_worksheet("Empty")
    spots = {"B3": 1.0, "D3": 2.0, "F3": 3.0, "AA3": 4.0, "B1": 5.0, "D5": 6.0, "A9": 7.0}
    values = {Spot("A", *openpyxl.utils.cell.coordinate_to_tuple(name)): {"": value} for name, value in spots.items()}
    changed_data = form_file.read_form(path).filled(values | {Spot("Empty", 2, 2): {"": "text"}}, "")
    (tmp_path / "response.xlsx").write_bytes(changed_data)
    assert forms.values(tmp_path / "response.xlsx", "A") == {**spots, "C3": "x", "E3": "x", "C7": "x"}
    assert forms.values(tmp_path / "response.xlsx", "Empty") == {"B2": "text"}
    with zipfile.ZipFile(io.BytesIO(changed_data)) as archive:
        written_text = archive.read("xl/worksheets/sheet1.xml").decode()
    assert re.findall(r'<row r="(\d+)"', written_text) == ["1", "3", "5", "7", "9"]
    assert re.findall(r'<c r="([A-Z]+)3"', written_text) == ["B", "C", "D", "E", "F", "AA"]


def test_formulas_are_computed_anew_whatever_the_workbook_says(tmp_path: Path) -> None:
    form = forms.write_scored_form(tmp_path / "whole.xlsx")
    for settings in (b"", b'<calcPr calcId="1" fullCalcOnLoad="0"/>'):
        path = tmp_path / "form.xlsx"
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in forms.contents(form).items():
                archive.writestr(
                    name, re.sub(rb"<calcPr[^>]*/>", settings, data) if name == "xl/workbook.xml" else data
                )
        (tmp_path / "response.xlsx").write_bytes(form_file.read_form(path).filled({Spot("SSNI", 5, 5): {"": 2.0}}, ""))
        book = forms.contents(tmp_path / "response.xlsx")["xl/workbook.xml"].decode()
        assert re.findall("<calcPr[^>]*>", book) == ['<calcPr calcId="1" fullCalcOnLoad="1"/>'] * bool(settings)
        assert forms.changed_cells(path, tmp_path / "response.xlsx") > {"sheet1!E5", "sheet1!H9"}


def test_tables_are_sheets_with_their_merged_cells_closed(tmp_path: Path) -> None:
    read = form_file.read_form(forms.document(tmp_path / "form.docx"))
    assert read.sheets == ("table 1", "text")
    assert read.box(Spot("text", 1, 1)).text == "Peak: {{ scratch/peak/shared/stat }} ops/s, measured."
    assert [read.box(Spot("table 1", 1, column)).text for column in (1, 2, 3)] == ["Operation", "", "Rate"]
    assert read.box(Spot("table 1", 1, 2)).closed == "it is merged into another cell"
    assert read.box(Spot("table 1", 9, 1)).closed == "its table has no such cell"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", [".xlsx", ".docx"])
def test_a_damaged_form_is_read_and_filled_or_refused(tmp_path: Path, suffix: str) -> None:
    form = (forms.write_scored_form if suffix == ".xlsx" else forms.document)(tmp_path / f"whole{suffix}")
    members, chance, path = forms.contents(form), random.Random(suffix), tmp_path / f"damaged{suffix}"
    for _ in range(100):
        name = chance.choice([name for name in members if name.endswith((".xml", ".rels"))])
        data = bytearray(members[name])
        for _ in range(chance.randint(1, 5)):
            start = chance.randrange(len(data))
            data[start : start + chance.randint(0, 20)] = chance.randbytes(chance.randint(0, 3))
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, bytes(data) if member == name else content)
        with suppress(InputError):
            read = form_file.read_form(path)
            spot, box = next((spot, box) for spot, box in read.boxes.items() if not box.closed)
            read.filled({spot: {box.text: 1.0}}, "")


# --- the cells that results are for

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "rfp" / "rfp.yaml"


def names_by_spot(path: Path, table: FormTable) -> dict[str, str]:
    read = form_file.read_form(path)
    return {
        str(place.spot): place.entry.name for place in form_file.form_places(path, read, FormMapping(tables=(table,)))
    }


def test_groups_of_columns_sheets_and_headings_in_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "form.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name in ("Fast", "Slow", "Notes"):
            sheet = book.add_worksheet(name)
            sheet.merge_range("B1:C1", "Shared\ndirectory")
            sheet.merge_range("D1:E1", "Own directories")
            for column, heading in enumerate(("Create", "Stat", "Create", "Stat"), 1):
                sheet.write_string(1, column, heading)
            sheet.write_string("A3", "Peak")
    table = FormTable(
        "{sheets}/{rows}/{column_groups}/{columns}",
        rows=(("Peak", "peak"),),
        columns=(("Create", "create"), ("Stat", "stat")),
        column_groups=(("Shared directory", "shared"), ("Own directories", "unique")),
        sheets=(("Fast", "nvme"), ("Slow", "disk")),
    )
    assert names_by_spot(path, table) == {
        **dict(zip(("Fast!B3", "Fast!C3"), ("nvme/peak/shared/create", "nvme/peak/shared/stat"), strict=True)),
        **dict(zip(("Fast!D3", "Fast!E3"), ("nvme/peak/unique/create", "nvme/peak/unique/stat"), strict=True)),
        **dict(zip(("Slow!B3", "Slow!C3"), ("disk/peak/shared/create", "disk/peak/shared/stat"), strict=True)),
        **dict(zip(("Slow!D3", "Slow!E3"), ("disk/peak/unique/create", "disk/peak/unique/stat"), strict=True)),
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (",Create\nPeak,\nPeak,\n", "form.csv: heading 'Peak': found 2 times; name a heading that is there once, or "),
        (",Create\nMax,\n", "form.csv: heading 'Peak': not found; "),
        (",Make\nPeak,\n", "form.csv: heading 'Create': not found; "),
        (",Create\nShared,\nUnique,\nPeak,\n", "form.csv: group shared: heading 'Peak': not found; "),
    ],
)  # fmt: skip
def test_a_heading_that_is_missing_or_there_twice_is_reported(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "form.csv").write_text(text)
    groups = (("Shared", "shared"), ("Unique", "unique")) if "Shared" in text else ()
    table = FormTable(
        "s/{rows}/x/{columns}", rows=(("Peak", "peak"),), columns=(("Create", "create"),), row_groups=groups
    )
    with pytest.raises(InputError) as error:
        names_by_spot(tmp_path / "form.csv", table)
    assert problem in str(error.value)


def test_numbers_are_read_in_the_units_of_the_pack_if_they_can_be(tmp_path: Path) -> None:
    pack = packs.load("crossroads-mdtest")
    (tmp_path / "form.csv").write_text("1.5,8,1.5,yes\n")
    cells = {"A1": "t/peak/shared/stat in kops/s", "B1": "t/peak/shared/stat.nodes", "C1": "t/max/shared/stat in MB/s"}
    mapping = FormMapping(cells=(*cells.items(), ("D1", "answers/8.2.2")))
    row, other = form_file.form_rows(tmp_path / "form.csv", mapping, {"": pack})
    assert [row.fields[key] for key in ("target", "launch", "value", "unit", "nodes")] == [
        "t",
        "peak",
        1500,
        "ops/s",
        "8",
    ]
    assert [other.fields[key] for key in ("launch", "value", "unit")] == ["max", "1.5", "MB/s"]
    assert (row.where, row.fields["best"]) == (f"{tmp_path / 'form.csv'}: cell A1", "highest")


def test_the_forms_of_the_example_rfp_are_for_results_of_its_packs() -> None:
    known_rfp, packs_of = rfp.load_with_packs(EXAMPLE)
    assert {mapping.file for mapping in known_rfp.forms} == {"form.xlsx", "form.docx"}
    for mapping in known_rfp.forms:
        path = EXAMPLE.with_name(mapping.file)
        read = form_file.read_form(path)
        placed = list(form_file.form_places(path, read, mapping))
        assert len(placed) == {"form.xlsx": 12, "form.docx": 6}[mapping.file]
        for place in placed:
            part, _, *words = place.entry.result.split("/")
            if place.entry.result != "metadata/answers/8.2.2 tuning":
                launch, files, operation = words
                assert launch in [condition.id for condition in packs_of[part].launch]
                assert files in [configuration.id for configuration in packs_of[part].files]
                assert any(
                    re.fullmatch(re.sub(r"\{.*?\}", ".*", entry.id), operation) for entry in packs_of[part].operations
                )
            assert not read.box(place.spot).closed and (place.part or not read.box(place.spot).text)


ROWS = tuple((f"{count} | {name}", f"{count}-{name}") for count in ("Two", "Four") for name in ("read", "write"))
TABLE = FormTable("scratch/nodes/{rows}/{columns}", rows=ROWS, columns=(("Rate", "write"),))


def write_merged_form(path: Path, *names: str) -> Path:
    """Sheets with a table in which a label is merged over two rows; `-` names a sheet without it."""
    with xlsxwriter.Workbook(path) as book:
        for name in names:
            sheet = book.add_worksheet(name)
            sheet.write_string("C1", "Notes" if name.startswith("-") else "Rate")
            for row, count in ((1, "Two"), (3, "Four")):
                sheet.merge_range(row, 0, row + 1, 0, count)
                sheet.write_string(row, 1, "read")
                sheet.write_string(row + 1, 1, "write")
    return path


def entries(path: Path, table: FormTable = TABLE) -> dict[str, str]:
    places = form_file.form_places(path, form_file.read_form(path), FormMapping(tables=(table,)))
    return {str(place.spot): place.entry.name for place in places}


def test_a_label_that_is_merged_over_several_rows_counts_for_each(tmp_path: Path) -> None:
    by_spot = {f"Results!C{row}": f"scratch/nodes/{name}/write" for row, (_, name) in enumerate(ROWS, 2)}
    assert entries(write_merged_form(tmp_path / "form.xlsx", "Results")) == by_spot
    document = docx.Document()
    table = document.add_table(5, 3)
    table.cell(0, 2).text = "Rate"
    for row, count in ((1, "Two"), (3, "Four")):
        table.cell(row, 0).merge(table.cell(row + 1, 0)).text = count
        table.cell(row, 1).text, table.cell(row + 1, 1).text = "read", "write"
    document.save(str(tmp_path / "form.docx"))
    by_spot = {spot.replace("Results", "table 1"): name for spot, name in by_spot.items()}
    assert entries(tmp_path / "form.docx") == by_spot


def test_a_merged_label_alone_is_a_heading_of_its_first_row(tmp_path: Path) -> None:
    table = FormTable("scratch/nodes/{rows}/{columns}", rows=(("Four", "four"),), columns=(("Rate", "write"),))
    path = write_merged_form(tmp_path / "form.xlsx", "Results")
    assert entries(path, table) == {"Results!C4": "scratch/nodes/four/write"}


def test_a_table_is_found_in_the_one_sheet_that_has_it(tmp_path: Path) -> None:
    places = entries(write_merged_form(tmp_path / "form.xlsx", "-Cover", "Results"))
    assert {place.partition("!")[0] for place in places} == {"Results"}
    with pytest.raises(InputError, match=r"are in the sheets Results, Copy; name one in `sheets`"):
        entries(write_merged_form(tmp_path / "form.xlsx", "Results", "Copy"))
    with pytest.raises(InputError, match=r"sheet '-Cover': heading 'Rate': not found"):
        entries(write_merged_form(tmp_path / "form.xlsx", "-Cover", "-Terms"))


def test_a_number_keeps_the_format_of_its_cell_and_gets_one_where_it_has_none(tmp_path: Path) -> None:
    path = tmp_path / "form.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("A")
        sheet.write_blank("A1", None, book.add_format({"num_format": "0.0", "bg_color": "yellow"}))
        sheet.write_blank("A2", None, book.add_format({"bg_color": "yellow"}))
    numbers = {"A1": 1234567.8, "A2": 1234567.8, "A3": 12.5, "A4": 0.0125, "A5": 16.0, "A6": "text"}
    values = {Spot("A", *openpyxl.utils.cell.coordinate_to_tuple(name)): {"": value} for name, value in numbers.items()}
    path.write_bytes(form_file.read_form(path).filled(values, ""))
    cells = openpyxl.load_workbook(path)["A"]
    assert {name: cells[name].value for name in numbers} == numbers
    formats = [cells[name].number_format for name in numbers]
    assert formats == ["0.0", "#,##0", "#,##0.00", "0.00E+00", "#,##0", "General"]
    assert all(is_plain(number_format, 1.0, "") for number_format in formats)
    assert {cells[name].fill.start_color.rgb for name in ("A1", "A2")} == {"FFFFFF00"}, "the rest of the style stays"

"""Tables, workbooks, pages and forms that are handed in beside a bundle: the bundle's or not, cell by cell."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from openpyxl.comments import Comment

from campaign.config.forms import FormMapping
from campaign.core import keys
from campaign.core.errors import InputError
from campaign.evidence import submitted_table, verify
from campaign.report import filled_form
from campaign.report.foreign import form_file
from tests.support import forms
from tests.support.bundled import Vendor

FILES = ("table.csv", "table.json", "report/table.xlsx", "report/index.html")


@pytest.fixture(scope="module")
def tables(vendor: Vendor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("handed")
    for name in FILES[:2]:
        shutil.copy(vendor.root / "plain/data/tables" / name, folder)
    assert vendor.call("report", vendor.file, "-o", folder / "report").returncode == 1
    return folder


def text(path: Path) -> None:
    path.write_text(
        path.read_text().replace("1000.0,ops/s", "1500.0,ops/s", 3).replace('"value": 1000.0', '"value": 1500.0', 3)
    )


def page(path: Path) -> None:
    path.write_text(re.sub("<s>1,000</s>", "<s>1,500</s>", path.read_text(), count=3))


def only_page(change: Callable[[str], str]) -> Callable[[Path], None]:
    def forge(path: Path) -> None:
        text = path.read_text()
        assert change(text) != text
        path.write_text(change(text))

    return forge


def only_book(change: Callable[[openpyxl.Workbook], object]) -> Callable[[Path], None]:
    def forge(path: Path) -> None:
        book = openpyxl.load_workbook(path)
        change(book)
        book.save(path)

    return forge


def setting(sheet: str, cell: str, **values: object) -> Callable[[Path], None]:
    def change(book: openpyxl.Workbook) -> None:
        for name, value in values.items():
            setattr(book[sheet][cell], name, value)

    return only_book(change)


def as_texts(book: openpyxl.Workbook) -> None:
    """Numbers as texts, which sort and add up otherwise."""
    for row in book["Provenance"].iter_rows():
        for cell in row:
            cell.value = cell.value if cell.value is None else str(cell.value)


FORGERIES = {  # what a forger changes, and a place that is named
    "a format that puts a digit before": (setting("scratch", "B6", number_format='"9"0'), "scratch!B6 (number format)"),
    "a format that scales": (setting("scratch", "B6", number_format="0%"), "scratch!B6 (number format)"),
    "a text that looks like the number": (only_book(as_texts), "Provenance!"),
    "a formula": (setting("scratch", "B6", value="=1000*1"), "scratch!B6"),
    "a comment": (setting("scratch", "B6", comment=Comment("in fact 9000", "me")), "scratch!B6 (comment)"),
    "the decision on the first sheet": (setting("Summary", "A1", value="READY"), "Summary!A1"),
    "a clause": (setting("Clauses", "C4", value="kept"), "Clauses!C4"),
    "a finding": (setting("Findings", "D5", value="nothing"), "Findings!D5"),
    "a heading": (setting("scratch", "B5", value="kops/s"), "scratch!B5"),
    "a cell that was empty": (setting("scratch", "K40", value="all results are valid"), "scratch!K40"),
    "another sheet": (only_book(lambda book: book.create_sheet("Final").append(["9000"])), "Final!A1"),
    "a hidden row": (
        only_book(lambda book: setattr(book["scratch"].row_dimensions[6], "hidden", True)),
        "scratch!B6 (hidden)",
    ),
    "a hidden sheet": (
        only_book(lambda book: setattr(book["Findings"], "sheet_state", "hidden")),
        "Findings!A1 (hidden)",
    ),
    "a digit next to a link": (only_page(lambda text: text.replace("<s>1,000</s>", "<s>1,000</s>0", 1)), "line "),
    "a number in a table": (only_page(lambda text: text.replace("4000 ops/s", "9000 ops/s", 1)), "line "),
    "the decision": (only_page(lambda text: text.replace('class="headline">', 'class="headline">NOT ', 1)), "line "),
    "a style that shows a digit": (
        only_page(lambda text: text.replace("</style>", 'td:before { content: "9"; }</style>', 1)),
        "line ",
    ),
    "a line at the end": (only_page(lambda text: f"{text}<p>All results are valid.</p>\n"), "line "),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_whatever_a_forger_changes_in_what_the_report_shows_is_found(
    vendor: Vendor, tables: Path, tmp_path: Path, forgery: str
) -> None:
    change, place = FORGERIES[forgery]
    copy = tmp_path / ("index.html" if place == "line " else "table.xlsx")
    shutil.copy(tables / "report" / copy.name, copy)
    change(copy)
    with verify.verify(vendor.root / "plain", verify.Buyer()) as verified:
        assert verified.vendors_evaluation is not None
        differences = submitted_table.compare(copy, {"": verified.vendors_evaluation.submission}).differences
    assert any(difference.place.startswith(place) for difference in differences), differences[:3]


def test_a_workbook_that_another_program_saved_and_rounded_is_the_same(
    vendor: Vendor, tables: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "table.xlsx"
    shutil.copy(tables / "report/table.xlsx", copy)
    only_book(lambda book: None)(copy)
    with verify.verify(vendor.root / "plain", verify.Buyer()) as verified:
        assert verified.vendors_evaluation is not None
        comparison = submitted_table.compare(copy, {"": verified.vendors_evaluation.submission})
    assert comparison.differences == ()
    assert comparison.scope.endswith("colours, images and charts were not")


@pytest.mark.parametrize(
    ("number_format", "value", "plain"),
    [
        ("General", 9.0, True),
        ("0", 9.0, True),
        ("#,##0.00", 9000.0, True),
        ('0.0" kops/s"', 9.0, True),
        ("[Red]0.0", 9.0, True),
        ("_(* #,##0.00_);_(* \\(#,##0.00\\)", 9.0, True),
        ("0.00;-0.00", -9.0, True),
        ("0.00E+00", 9.0, True),
        ('"9"0', 9.0, False),
        ("\\90", 9.0, False),
        ('0"."0', 9.0, False),
        ('0"0"', 9.0, False),
        ('0" million"', 9.0, False),
        ('"-"0', 9.0, False),
        ("0%", 9.0, False),
        ("0,", 9000.0, False),
        ("0,,.0", 9.0, False),
        ("[>1]99;0", 9.0, False),
        ("yyyy", 9.0, False),
        ("# ?/?", 9.0, False),
        ('"9";0', 9.0, False),
        (";", 9.0, False),
        ("@", "9", True),
        ('"9"@', "9", False),
        ('0;0;0;"90"', "9", False),
    ],
)
def test_a_number_format_shows_the_number_or_another(number_format: str, value: float | str, plain: bool) -> None:
    assert submitted_table.is_plain(number_format, value, "kops/s") is plain


def test_of_a_form_exactly_the_cells_of_the_mapping_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "form.xlsx"
    cells = (
        ("Storage!B5", "scratch/single/shared/create in kops/s"),
        ("Storage!B6", "scratch/peak/shared/create.processes"),
        ("Storage!B7", "scratch/peak/shared/create.note"),
    )
    mapping = FormMapping(cells=cells)
    book = openpyxl.Workbook()
    book.active.title = "Storage"
    book.save(path)
    with forms.full_submission() as submission:
        path.write_bytes(filled_form.fill_form(path, {"": submission}, mapping)[0])
        comparison = submitted_table.compare(path, {"": submission}, mapping)
        assert comparison == submitted_table.TableComparison(
            (), "3 cells of the mapping compared; the rest of the form was not"
        )
        for cell, name, value, place in (
            ("B5", "number_format", '"9"0', "Storage!B5 scratch/single/shared/create in kops/s (number format)"),
            ("B5", "value", "=1+1", "Storage!B5 scratch/single/shared/create in kops/s"),
            ("B6", "value", 4096, "Storage!B6 scratch/peak/shared/create.processes"),
        ):
            book = openpyxl.load_workbook(path)
            setattr(book["Storage"][cell], name, value)
            book.save(tmp_path / "forged.xlsx")
            forged = submitted_table.compare(tmp_path / "forged.xlsx", {"": submission}, mapping)
            assert [difference.place for difference in forged.differences] == [place]


def test_the_number_formats_of_a_table_are_compared_and_columns_that_are_not_are_named(tmp_path: Path) -> None:
    path = tmp_path / "table.xlsx"
    names = ("target", "launch", "files", "operation")
    with forms.full_submission() as submission:
        book = openpyxl.Workbook()
        book.active.append([*names, "value", "offered"])
        for row in submission.rows:
            book.active.append([*(getattr(row.cell, name) for name in names), row.value, 99])
        book.save(path)
        comparison = submitted_table.compare(path, {"": submission})
        assert comparison == submitted_table.TableComparison((), "the columns value were compared; not offered")
        book.active["E2"].number_format = '"9"0'
        book.active["E3"] = f"={submission.rows[1].value}"
        book.save(path)
        places = [difference.place for difference in submitted_table.compare(path, {"": submission}).differences]
    assert "Sheet!E2 (number format)" in places and "Sheet!E3 (formula)" in places


def workbook(path: Path) -> None:
    book = openpyxl.load_workbook(path)
    for row in (6, 7, 8):
        book["scratch"].cell(row, 2).value = "1500"
    book.save(path)


def test_a_table_that_a_spreadsheet_read_with_points_between_thousands_is_named(
    vendor: Vendor, tables: Path, tmp_path: Path
) -> None:
    text = (tables / "table.csv").read_text()
    (tmp_path / "t.csv").write_text(text.replace("1000.0,ops/s", "1000000.0,ops/s"))
    process = vendor.call("verify", vendor.root / "plain", "--table", tmp_path / "t.csv")
    reason = "a spreadsheet has probably read the decimal point as a separator of thousands"
    assert re.search(rf"\d+ numbers? exactly 1,000 times the bundle's: {reason}", process.stdout)
    (tmp_path / "t.csv").write_text(text.replace("1000.0,ops/s", "1001.0,ops/s"))
    assert reason not in vendor.call("verify", vendor.root / "plain", "--table", tmp_path / "t.csv").stdout


@pytest.mark.parametrize(("name", "change"), [*zip(FILES, (text, text, workbook, page), strict=True)])
def test_three_changed_numbers_are_found_and_no_others(
    vendor: Vendor, tables: Path, tmp_path: Path, name: str, change: Callable[[Path], None]
) -> None:
    same_process = vendor.call("verify", vendor.root / "plain", "--table", tables / name)
    assert f"{tables / name}: the bundle's in all that was compared: " in same_process.stdout
    copy = tmp_path / Path(name).name
    shutil.copy(tables / name, copy)
    change(copy)
    process = vendor.call("verify", vendor.root / "plain", "--table", copy, "--json")
    differences = json.loads(process.stdout)["table"]["differences"]
    assert process.returncode == 1 and len(differences) == 3
    numbers = [
        (difference["expected"].replace(",", ""), difference["found"].replace(",", "")) for difference in differences
    ]
    assert all("1000" in expected and "1500" in changed_number for expected, changed_number in numbers)
    stdout = vendor.call("verify", vendor.root / "plain", "--table", copy).stdout
    assert f"{copy}: NOT this bundle's: 3 places with other contents\n" in stdout


def test_a_table_with_less_lines_lacks_them_and_rounded_numbers_are_the_same(tmp_path: Path) -> None:
    with forms.full_submission() as submission:
        rows = [
            {**{n: getattr(row.cell, n) for n in ("target", "launch", "files", "operation")}, "value": row.value}
            for row in submission.rows
        ]
        path = tmp_path / "table.csv"
        with path.open("w") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows({**row, "value": f"{row['value']:.0f}"} for row in rows[1:])
        assert [difference.place for difference in submitted_table.compare(path, {"": submission}).differences] == [
            f"{submission.rows[0].cell} value"
        ]
        lines = path.read_text().splitlines()
        with pytest.raises(InputError, match="a result is there twice"):
            path.write_text("\n".join([*lines, lines[-1]]))
            submitted_table.compare(path, {"": submission})


@pytest.mark.parametrize(
    ("expected", "submitted", "is_same"),
    [
        (16, 17, False),
        (2018742.184, "2018742", True),
        (2018742.184, "2.02e6", True),
        (2018742.184, "2e6", False),
        (2018742.184, "2018743", False),
        (None, "", True),
        (None, 0.0, False),
        (0.004, "0", False),
        ("scratch.r1", " scratch.r1", True),
        (float("nan"), "nan", True),
    ],
)
def test_a_number_may_be_rounded_to_three_digits(expected: object, submitted: object, is_same: bool) -> None:
    assert submitted_table._is_same_value(expected, submitted) is is_same


def test_a_filled_form_is_compared_by_its_mapping(tmp_path: Path) -> None:
    mapping = keys.load(FormMapping, forms.DATA / "crossroads-mdtest.yaml")
    path = tmp_path / "response.csv"
    with forms.full_submission() as submission:
        path.write_bytes(filled_form.fill_form(forms.DATA / "crossroads-mdtest.csv", {"": submission}, mapping)[0])
        assert submitted_table.compare(path, {"": submission}, mapping).differences == ()
        value = next(row.value for row in submission.rows if str(row.cell) == "scratch/single/shared/stat")
        path.write_text(path.read_text().replace(f"{value:.15g}", f"{value * 1.5:.15g}"))
        (difference,) = submitted_table.compare(path, {"": submission}, mapping).differences
    assert "scratch/single/shared/stat" in difference.place and float(difference.found) == pytest.approx(
        1.5 * float(difference.expected)
    )


@pytest.mark.parametrize("suffix", [".csv", ".docx"])
def test_a_form_filled_with_decimal_commas_is_the_bundles_own(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"form{suffix}"
    path.write_text("name;rate;rate\ncreate;;\nremove;;\n")
    if suffix == ".docx":
        forms.document(path)
    sheet = "table 1!" if suffix == ".docx" else ""
    cells = ((f"{sheet}B3", "scratch/single/shared/remove in kops/s"), (f"{sheet}C3", "scratch/peak/shared/remove"))
    mapping = FormMapping(cells=cells)
    with forms.full_submission() as submission:
        path.write_bytes(filled_form.fill_form(path, {"": submission}, mapping, decimal=",")[0])
        assert submitted_table.compare(path, {"": submission}, mapping).differences == ()
        filled_in = form_file.read_form(path)
        boxes = [filled_in.box(place.spot).text for place in form_file.form_places(path, filled_in, mapping)]
        assert all(re.fullmatch(r"[0-9]+,[0-9]{4,}|[0-9]+,[0-9]{1,2}", text) for text in boxes), boxes


def test_a_comma_that_may_separate_thousands_is_no_decimal_one(tmp_path: Path) -> None:
    (tmp_path / "form.csv").write_text("a;127,264;127264,411;0,411;7,5\n")
    form = form_file.read_form(tmp_path / "form.csv")
    values = [form.value(spot) for spot in form.boxes]
    assert values == ["a", "127,264", "127264.411", "0.411", "7.5"]


def test_the_remedy_for_a_table_of_several_parts_names_the_option(tmp_path: Path) -> None:
    with forms.full_submission() as submission, pytest.raises(InputError, match=r"or its mapping with --mapping$"):
        submitted_table.compare(tmp_path / "t.csv", {"fast": submission, "slow": submission})

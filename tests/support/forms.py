"""Forms as buyers make them, and what filling them changed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docx
import openpyxl
import xlsxwriter
from lxml import etree

from campaign.judge.submission import Submission
from tests.support import reference

DATA = Path(__file__).parents[1] / "data" / "forms"
SCORE = ("create", "stat", "remove")


@contextmanager
def full_submission() -> Iterator[Submission]:
    """The campaign of the README, which has all 36 results."""
    with reference.verify_bundle() as verified:
        assert verified.evaluation is not None
        yield verified.evaluation.submission


def write_scored_form(path: Path, marked: bool = False) -> Path:
    """A workbook in the shape of ATS-5's SSNI: a weighted geometric mean of speed-ups over reference values, in a sheet
    with formats, merged headings, validation, a comment, a chart, a picture and protected formulas.
    """
    with xlsxwriter.Workbook(path) as book:
        sheet, locked = book.add_worksheet("SSNI"), book.add_worksheet("Terms")
        bold, open_ = book.add_format({"bold": True}), book.add_format({"locked": False, "num_format": "0.0"})
        sheet.write_string(0, 0, "SSNI response", bold)
        sheet.merge_range("B3:C3", "Reference", bold)
        sheet.merge_range("D3:E3", "Proposed", bold)
        for column, heading in enumerate(("Benchmark", "N_ref", "FOM_ref", "N", "FOM", "w", "S", "w*ln(S)")):
            sheet.write_string(3, column, heading, bold)
        for row, (name, weight) in enumerate(zip(SCORE, (0.5, 0.3, 0.2), strict=True), 4):
            sheet.write_string(row, 0, name.title())
            for column, value in enumerate((4, 20.5)):
                sheet.write_number(row, 1 + column, value)
            for column in (3, 4):
                sheet.write_blank(row, column, None, open_)
            sheet.write_number(row, 5, weight)
            sheet.write_formula(row, 6, f"=E{row + 1}/C{row + 1}", None, 1)
            sheet.write_formula(row, 7, f"=F{row + 1}*LN(G{row + 1})", None, 0)
        sheet.write_string(8, 6, "SSNI", bold)
        sheet.write_formula(8, 7, "=EXP(SUM(H5:H7)/SUM(F5:F7))", None, 1)
        sheet.write_comment("E4", "in kops/s")
        sheet.data_validation("E5:E7", {"validate": "decimal", "criteria": ">", "value": 0})
        sheet.conditional_format("G5:G7", {"type": "cell", "criteria": "<", "value": 1, "format": bold})
        chart = book.add_chart({"type": "column"})
        chart.add_series({"values": "=SSNI!$G$5:$G$7"})
        sheet.insert_chart("J2", chart)
        sheet.protect("", {"objects": True})
        locked.write_string(0, 0, "Offeror's answer: {{ answers/8.2.2 tuning }}" if marked else "nothing to fill in")
        locked.merge_range("A3:B3", "")
    return path


def document(path: Path) -> Path:
    """A Word form: a mark that is cut into runs in a sentence, and a table with merged cells and marks."""
    document = docx.Document()
    paragraph = document.add_paragraph("Peak: ")
    for text, bold in (("{{ scratch/", False), ("peak/shared", True), ("/stat }}", False), (" ops/s, measured.", True)):
        paragraph.add_run(text).bold = bold
    table = document.add_table(3, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "Operation"
    table.cell(0, 2).text = "Rate"
    table.cell(1, 0).text, table.cell(1, 1).text = "Create", "{{ scratch/peak/shared/create.unit }}"
    table.cell(2, 0).text = "Remove"
    document.save(str(path))
    return path


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def changed_cells(before: Path, after: Path) -> set[str]:
    """The cells in which two workbooks differ; fails for any other difference in any of their files."""
    old, new = contents(before), contents(after)
    assert list(old) == list(new)
    names = set()
    for name in old:
        if name.startswith("xl/worksheets/sheet"):
            old_sheet, new_sheet = (etree.parse(io.BytesIO(data[name])).getroot() for data in (old, new))
            cells = {cell.get("r"): etree.tostring(cell, method="c14n") for cell in old_sheet.iter("{*}c")}
            for cell in list(new_sheet.iter("{*}c")):
                if cells.get(cell.get("r")) != etree.tostring(cell, method="c14n"):
                    names.add(f"{name.removeprefix('xl/worksheets/').removesuffix('.xml')}!{cell.get('r')}")
            for root in (old_sheet, new_sheet):
                for cell in list(root.iter("{*}c")):
                    cell.getparent().remove(cell)
            assert etree.tostring(old_sheet, method="c14n") == etree.tostring(new_sheet, method="c14n")
        elif name == "xl/workbook.xml":
            assert _without_settings(old[name]) == _without_settings(new[name])
        elif name == "xl/styles.xml":  # it may have further styles at the end
            old_styles, new_styles = (etree.fromstring(data[name]) for data in (old, new))
            old_formats, new_formats = (styles.find("{*}cellXfs") for styles in (old_styles, new_styles))
            for style in new_formats[len(old_formats) :]:
                new_formats.remove(style)
            new_formats.set("count", old_formats.get("count"))
            assert etree.tostring(old_styles, method="c14n") == etree.tostring(new_styles, method="c14n")
        else:
            assert old[name] == new[name], name
    return names


def _without_settings(book: bytes) -> bytes:
    """Without those that say when formulas are computed."""
    root = etree.fromstring(book)
    for settings in root.iterfind("{*}calcPr"):
        root.remove(settings)
    return etree.tostring(root, method="c14n")


def values(path: Path, sheet: str) -> dict[str, object]:
    """The cells of a sheet; formulas as they are written."""
    book = openpyxl.load_workbook(path)
    return {cell.coordinate: cell.value for row in book[sheet].iter_rows() for cell in row if cell.value is not None}

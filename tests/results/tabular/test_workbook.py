"""Values in a workbook's XML: where cells and rows are missing, and settings of computing."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import openpyxl
import xlsxwriter

from campaign.results.tabular import form
from campaign.results.tabular.form import Spot
from tests.support import forms


def test_cells_and_rows_that_the_sheet_does_not_have_yet_are_put_in_order(tmp_path: Path) -> None:
    path = tmp_path / "form.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("A")
        for place in ("C3", "E3", "C7"):
            sheet.write_string(place, "x")
        book.add_worksheet("Empty")
    spots = {"B3": 1.0, "D3": 2.0, "F3": 3.0, "AA3": 4.0, "B1": 5.0, "D5": 6.0, "A9": 7.0}
    values = {Spot("A", *openpyxl.utils.cell.coordinate_to_tuple(name)): {"": value} for name, value in spots.items()}
    changed = form.read(path).filled(values | {Spot("Empty", 2, 2): {"": "text"}})
    (tmp_path / "response.xlsx").write_bytes(changed)
    assert forms.values(tmp_path / "response.xlsx", "A") == {**spots, "C3": "x", "E3": "x", "C7": "x"}
    assert forms.values(tmp_path / "response.xlsx", "Empty") == {"B2": "text"}
    with zipfile.ZipFile(io.BytesIO(changed)) as archive:
        written = archive.read("xl/worksheets/sheet1.xml").decode()
    assert re.findall(r'<row r="(\d+)"', written) == ["1", "3", "5", "7", "9"]
    assert re.findall(r'<c r="([A-Z]+)3"', written) == ["B", "C", "D", "E", "F", "AA"]


def test_a_workbook_without_settings_of_computing_is_computed_anew_too(tmp_path: Path) -> None:
    whole = forms.scored(tmp_path / "whole.xlsx")
    for settings in (b"", b'<calcPr calcId="1" fullCalcOnLoad="0"/>'):
        path = tmp_path / "form.xlsx"
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in forms.contents(whole).items():
                archive.writestr(
                    name, re.sub(rb"<calcPr[^>]*/>", settings, data) if name == "xl/workbook.xml" else data
                )
        (tmp_path / "response.xlsx").write_bytes(form.read(path).filled({Spot("SSNI", 5, 5): {"": 2.0}}))
        book = forms.contents(tmp_path / "response.xlsx")["xl/workbook.xml"].decode()
        assert re.search(r'</sheets><calcPr (calcId="1" )?fullCalcOnLoad="1"/>', book)
        assert forms.changed_cells(path, tmp_path / "response.xlsx") > {"sheet1!E5", "sheet1!H9"}

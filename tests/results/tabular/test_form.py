"""Forms as cells: CSV in all its forms, values in texts, and files that are no forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.core.errors import InputError
from campaign.results.tabular import form
from campaign.results.tabular.form import Spot


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
    assert form.read(path).filled({Spot("", 2, 2): {"": 2.5}}) == filled


def test_a_text_of_the_campaign_is_no_formula_of_a_csv(tmp_path: Path) -> None:
    (tmp_path / "form.csv").write_text("{{ a }},x\n")
    read = form.read(tmp_path / "form.csv")
    assert read.filled({Spot("", 1, 1): {"{{ a }}": "=1+1"}}) == b"'=1+1,x\n"
    assert read.box(Spot("", 1, 3)).closed == "its line has no such field"


def test_a_value_takes_the_place_of_a_part_of_a_text_or_of_all() -> None:
    assert form.content(" {{ a }} ", {"{{ a }}": 2.0}) == 2.0
    assert form.content("{{ a }} of {{ b }}", {"{{ a }}": 2.0, "{{ b }}": "x"}) == "2 of x"


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("form.ods", b"x", "form.ods: not a form; allowed: .xlsx, .xlsm, .csv or .docx"),
        ("form.xlsx", b"x", "form.xlsx: not an XLSX workbook: File is not a zip file; save it as .xlsx or .csv"),
        ("form.docx", b"x", "form.docx: not a DOCX document: File is not a zip file; save it as .docx"),
        ("form.csv", b'a,"b', "form.csv: not a CSV file: unexpected end of data; save it as .csv"),
        ("form.csv", b"\xff", "form.csv: byte 0 is not UTF-8; allowed: a table in UTF-8"),
    ],
)
def test_what_is_no_form_is_told(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError) as error:
        form.read(tmp_path / name)
    assert problem in str(error.value)

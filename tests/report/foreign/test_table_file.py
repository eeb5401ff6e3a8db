"""Tables in CSV and XLSX: what is read from them, and what a hostile workbook may hold."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaign.core.errors import InputError
from campaign.report.foreign import table_file
from tests.support.examples import examples

HEAD = ("target", "launch", "files", "operation", "value")
ROW = ("scratch", "node", "unique", "create", 1234.5)


def workbook(path: Path, *sheets: list[tuple[object, ...]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"sheet{number}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def change_members(path: Path, change: Callable[[str, bytes], bytes], **added: bytes) -> Path:
    """A workbook with other content in its parts, and parts more."""
    before = io.BytesIO(path.read_bytes())
    with zipfile.ZipFile(before) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
        for name, content in added.items():
            new.writestr(name, content)
    return path


def unchanged_content(_: str, content: bytes) -> bytes:
    return content


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        table_file.read_table(path)
    return str(caught.value).replace(str(path), path.name)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_fields_may_be_separated_as_a_spreadsheet_does_it(tmp_path: Path, separator: str, mark: str) -> None:
    path = tmp_path / "t.csv"
    lines = [separator.join(HEAD), "", separator.join(map(str, ROW)), separator * 4]
    path.write_text(mark + "\r\n".join(lines), encoding="utf-8", newline="")
    (row,) = table_file.read_table(path)
    assert row.where == f"{path}: line 3"
    assert row.fields == dict(zip(HEAD, (*ROW[:4], "1234.5"), strict=True))


def test_names_of_columns_may_have_spaces_and_capitals(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('Target, Launch ,"FILES",operation,Value\na,b,c,d,1\n')
    assert table_file.read_table(path)[0].fields["files"] == "c"


def test_a_workbook_gives_the_first_sheet_with_the_columns(tmp_path: Path) -> None:
    rows = [HEAD, ROW, (None,) * 5, (7, "node", "unique", "stat", 3)]
    path = workbook(tmp_path / "t.xlsx", [("Summary",), ("of", "all")], rows, [HEAD, ("other",) * 5])
    first, second = table_file.read_table(path)
    assert (first.where, first.fields) == (f"{path}: sheet 'sheet1': row 2", dict(zip(HEAD, ROW, strict=True)))
    assert second.fields["target"] == "7"


WRONG = {
    "": "t.csv: empty; give a table as 'campaign table --format csv' writes it",
    ",".join(HEAD) + "\n": "t.csv: no rows below the column names; one row for each cell is needed",
    "target;launch;files;rate\n": "t.csv: no column operation, value; found: target, launch, files, rate; "
    "needed: target, launch, files, operation, value",
    "target,launch,files,opration,value\n": "t.csv: no column operation; found: target, launch, files, opration, "
    "value; did you mean operation for opration?",
    ",".join(HEAD) + ",value\n": "t.csv: column value appears 2 times; remove all but one",
    ",".join(HEAD) + "\na,b,c,d,1,234\n": "t.csv: line 2: more fields than columns; put a field that contains the "
    "separator in quotes",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_a_table_lacks_is_reported_with_what_it_has(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert refusal(path) == WRONG[text]


def test_a_table_that_is_not_there_is_reported(tmp_path: Path) -> None:
    assert refusal(tmp_path / "t.csv") == "t.csv: not found; give a table (.csv, .json or .xlsx)"


# --- hostile workbooks


def test_a_file_that_is_no_workbook_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_bytes(b"PK\3\4 and then nothing")
    assert refusal(path) == "t.xlsx: not an XLSX workbook: File is not a zip file; save it as .xlsx or .csv"


def test_a_workbook_that_unpacks_to_too_much_is_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = change_members(
        workbook(tmp_path / "t.xlsx", [HEAD, ROW]), unchanged_content, **{"xl/media/zeros.bin": bytes(1 << 20)}
    )
    monkeypatch.setattr(table_file, "MOST_UNPACKED", 1 << 20)
    assert "t.xlsx: unpacks to" in refusal(path)


def test_a_workbook_that_links_to_others_is_refused(tmp_path: Path) -> None:
    path = change_members(
        workbook(tmp_path / "t.xlsx", [HEAD, ROW]), unchanged_content, **{"xl/externalLinks/externalLink1.xml": b"<a/>"}
    )
    assert refusal(path).startswith("t.xlsx: links to other workbooks (xl/externalLinks/externalLink1.xml); save it")


BOMB = b'<!DOCTYPE a [<!ENTITY b "lol"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>'


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: BOMB + content,
        lambda content: content.decode().encode("utf-16"),
        lambda content: content.decode().encode("utf-16-le"),
        lambda content: b'<?xml version="1.0" encoding="cp037"?>' + content,
        lambda content: b"\xff" + content,
    ],
)
def test_xml_that_declares_entities_or_hides_in_another_encoding_is_refused(
    tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    def change(name: str, content: bytes) -> bytes:
        return spoil(content) if name == "xl/worksheets/sheet1.xml" else content

    path = change_members(workbook(tmp_path / "t.xlsx", [HEAD, ROW]), change)
    assert "xl/worksheets/sheet1.xml is not plain UTF-8 XML" in refusal(path)


@pytest.mark.timeout(300)
def test_a_size_that_a_sheet_says_of_itself_is_not_believed(tmp_path: Path) -> None:
    def change(name: str, content: bytes) -> bytes:
        grown = content.replace(b'<dimension ref="A1:E2"', b'<dimension ref="A1:XFD1048576"')
        return grown.replace(b'<row r="2"', b'<row r="99999999"') if "sheet1" in name else content

    path = change_members(workbook(tmp_path / "t.xlsx", [HEAD, ROW]), change)
    assert refusal(path) == WRONG[",".join(HEAD) + "\n"].replace("csv", "xlsx")


@given(st.binary(max_size=300), st.integers(0, 5000))
@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_workbook_is_read_or_refused(tmp_path: Path, noise: bytes, place: int) -> None:
    path = workbook(tmp_path / "t.xlsx", [HEAD, ROW])
    data = path.read_bytes()
    path.write_bytes(data[:place] + noise + data[place + len(noise) :])
    try:
        assert len(table_file.read_table(path)) <= 1
    except InputError as error:
        assert str(error).startswith(str(path))

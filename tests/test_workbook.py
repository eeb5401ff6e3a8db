from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from campaign import table as tables
from campaign import workbook
from campaign.errors import InputError
from campaign.model import Target
from tests import builders
from tests.test_table import Results, everything

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
Cell = str | float


def read(path: Path) -> dict[str, dict[str, Cell]]:
    """Each sheet's cells, text as text and numbers as numbers. A formula is a failure."""
    with zipfile.ZipFile(path) as archive:
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        names = [sheet.attrib["name"] for sheet in book.iter(f"{SPACE}sheet")]
        shared = ["".join(item.itertext()) for item in ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))]
        found = {}
        for number, name in enumerate(names, 1):
            sheet = ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{number}.xml"))
            assert not list(sheet.iter(f"{SPACE}f")), "a formula"
            cells: dict[str, Cell] = {}
            for cell in sheet.iter(f"{SPACE}c"):
                value = cell.findtext(f"{SPACE}v")
                if value is not None:
                    cells[cell.attrib["r"]] = shared[int(value)] if cell.attrib.get("t") == "s" else float(value)
            found[name] = cells
    return found


def line(cells: dict[str, Cell], number: int) -> list[Cell | None]:
    return [cells.get(f"{column}{number}") for column in "ABCDEF"]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Cell]]:
    path = tmp_path_factory.mktemp("book") / "table.xlsx"
    done = everything()
    workbook.write(path, done.rows(), done.campaign, done.pack)
    return read(path)


def test_a_sheet_for_each_target_and_one_for_the_provenance(book: dict[str, dict[str, Cell]]) -> None:
    assert list(book) == ["scratch", "Provenance"]


def test_a_targets_sheet_has_the_layout_of_the_printed_table(book: dict[str, dict[str, Cell]]) -> None:
    cells = book["scratch"]
    assert [line(cells, number) for number in range(1, 19)] == [
        ["Metadata (operations/s): scratch (/scratch/user)", None, None, None, None, None],
        ["rehearsal size: not a compliant result", None, None, None, None, None],
        ["", "Create", "Stat", "Remove", "Processes", "Nodes"],
        ["1000/1024 files in shared dir", None, None, None, None, None],
        ["Single Process", 1309.4, 5000.0, 1200.0, 1.0, 1.0],
        ["Best on one node", 1000.0, 4000.0, 800.0, 4.0, 1.0],
        ["Fewest for the peak", "3000 invalid", "4.57 invalid", "100 invalid", 8.0, 2.0],
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


def test_the_provenance_has_every_cell_with_its_run_and_its_place(book: dict[str, dict[str, Cell]]) -> None:
    cells, rows = book["Provenance"], everything().rows()
    assert [cells[f"{chr(ord('A') + column)}1"] for column in range(len(tables.COLUMNS))] == list(tables.COLUMNS)
    for number, row in enumerate(rows, 2):
        assert "/".join(str(cells[f"{column}{number}"]) for column in "ABCD") == str(row.cell)
        assert cells.get(f"E{number}") == row.value
        assert cells[f"G{number}"] == row.status
        assert cells.get(f"O{number}") == (row.record.source.file if row.record else None)
    assert f"A{len(rows) + 2}" not in cells


def test_what_looks_like_a_formula_a_link_or_a_number_stays_text(tmp_path: Path) -> None:
    target = Target("=1+1", "https://example.org/=cmd|' /C calc'!A0")
    pack = builders.pack()
    pack = replace(
        pack,
        caption="=HYPERLINK(1)",
        files=(replace(pack.files[0], title="+SUM(A1:A9)"), *pack.files[1:]),
        launch=(replace(pack.launch[0], title="-2+3"), replace(pack.launch[1], title="17"), *pack.launch[2:]),
    )
    done = Results(campaign=builders.campaign(targets=(target,)), pack=pack)
    path = tmp_path / "table.xlsx"
    workbook.write(path, done.rows(), done.campaign, done.pack)
    cells = read(path)["=1+1"]
    assert [cells[f"A{number}"] for number in (1, 4, 5, 6)] == [
        "=HYPERLINK(1): =1+1 (https://example.org/=cmd|' /C calc'!A0)",
        "+SUM(A1:A9)",
        "-2+3",
        "17",
    ]


def test_targets_whose_names_a_workbook_cannot_tell_apart_have_a_sheet_each(tmp_path: Path) -> None:
    long = "a-very-long-name-of-a-storage-tier"
    names = (f"{long}-1", f"{long}-2", "provenance", "History")
    targets = tuple(Target(name, f"/{name}") for name in names)
    done = Results(campaign=builders.campaign(targets=targets))
    path = tmp_path / "table.xlsx"
    workbook.write(path, done.rows(), done.campaign, done.pack)
    sheets = read(path)
    assert list(sheets) == [
        "a-very-long-name-of-a-storage-t",
        "a-very-long-name-of-a-stora~2",
        "provenance~2",
        "History~2",
        "Provenance",
    ]
    assert [str(cells["A1"]).split(" ")[2] for cells in list(sheets.values())[:-1]] == list(names)


def test_a_full_size_workbook_does_not_say_rehearsal(tmp_path: Path) -> None:
    done = Results(campaign=builders.campaign(profile="full"))
    workbook.write(tmp_path / "table.xlsx", done.rows(), done.campaign, done.pack)
    assert "A2" not in read(tmp_path / "table.xlsx")["scratch"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    done = Results()
    with pytest.raises(InputError, match=r"gone/table\.xlsx: cannot be written: .*No such file or directory"):
        workbook.write(tmp_path / "gone" / "table.xlsx", done.rows(), done.campaign, done.pack)

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

from campaign.config import forms as mappings
from campaign.core.errors import InputError
from campaign.evidence import handed
from campaign.report import filled
from tests.support import forms
from tests.support.bundled import Made

FILES = ("table.csv", "table.json", "report/table.xlsx", "report/index.html")


@pytest.fixture(scope="module")
def tables(made: Made, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("handed")
    for name in FILES[:2]:
        shutil.copy(made.root / "plain/data/tables" / name, folder)
    assert made.call("report", made.file, "-o", folder / "report").returncode == 1
    return folder


def text(path: Path) -> None:
    path.write_text(
        path.read_text().replace("1000.0,ops/s", "1500.0,ops/s", 3).replace('"value": 1000.0', '"value": 1500.0', 3)
    )


def page(path: Path) -> None:
    path.write_text(re.sub("<s>1000</s>", "<s>1500</s>", path.read_text(), count=3))


def workbook(path: Path) -> None:
    book = openpyxl.load_workbook(path)
    for row in (6, 7, 8):
        book["scratch"].cell(row, 2).value = "1500"
    book.save(path)


def test_a_table_that_a_spreadsheet_read_with_points_between_thousands_is_named(
    made: Made, tables: Path, tmp_path: Path
) -> None:
    text = (tables / "table.csv").read_text()
    (tmp_path / "t.csv").write_text(text.replace("1000.0,ops/s", "1000000.0,ops/s"))
    done = made.call("verify", made.root / "plain", "--table", tmp_path / "t.csv")
    why = "a spreadsheet has probably read the decimal point as a separator of thousands"
    assert re.search(rf"\d+ numbers? exactly 1,000 times the bundle's: {why}", done.stdout)
    (tmp_path / "t.csv").write_text(text.replace("1000.0,ops/s", "1001.0,ops/s"))
    assert why not in made.call("verify", made.root / "plain", "--table", tmp_path / "t.csv").stdout


@pytest.mark.parametrize(("name", "change"), [*zip(FILES, (text, text, workbook, page), strict=True)])
def test_three_changed_numbers_are_found_and_no_others(
    made: Made, tables: Path, tmp_path: Path, name: str, change: Callable[[Path], None]
) -> None:
    same = made.call("verify", made.root / "plain", "--table", tables / name)
    assert f"{tables / name}: the bundle's numbers in every cell" in same.stdout
    copy = tmp_path / Path(name).name
    shutil.copy(tables / name, copy)
    change(copy)
    done = made.call("verify", made.root / "plain", "--table", copy, "--json")
    differences = json.loads(done.stdout)["table"]["differences"]
    assert done.returncode == 1 and len(differences) == 3
    assert {(each["expected"].split()[0], each["found"].split()[0][:4]) for each in differences} == {("1000", "1500")}
    told = made.call("verify", made.root / "plain", "--table", copy).stdout
    assert f"{copy}: NOT this bundle's: 3 cells with other contents\n" in told


def test_a_table_with_less_lines_lacks_them_and_rounded_numbers_are_the_same(tmp_path: Path) -> None:
    with forms.full_size() as whole:
        rows = [
            {**{n: getattr(row.cell, n) for n in ("target", "launch", "files", "operation")}, "value": row.value}
            for row in whole.rows
        ]
        path = tmp_path / "table.csv"
        with path.open("w") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows({**row, "value": f"{row['value']:.0f}"} for row in rows[1:])
        assert [each.place for each in handed.differences(path, {"": whole})] == [f"{whole.rows[0].cell} value"]
        lines = path.read_text().splitlines()
        with pytest.raises(InputError, match="a result is there twice"):
            path.write_text("\n".join([*lines, lines[-1]]))
            handed.differences(path, {"": whole})


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        (16, 17, False),
        (2018742.184, "2018742", True),
        (2018742.184, "2.02e6", True),
        (2018742.184, "2e6", False),
        (2018742.184, "2018743", False),
        (None, "", True),
        (None, 0.0, False),
        ("scratch.r1", " scratch.r1", True),
        (float("nan"), "nan", True),
    ],
)
def test_a_number_may_be_rounded_to_three_digits(expected: object, found: object, same: bool) -> None:
    assert handed._same(expected, found) is same


def test_a_filled_form_is_compared_by_its_mapping(tmp_path: Path) -> None:
    mapping = mappings.load(forms.DATA / "crossroads-mdtest.yaml")
    path = tmp_path / "response.csv"
    with forms.full_size() as whole:
        path.write_bytes(filled.fill(forms.DATA / "crossroads-mdtest.csv", {"": whole}, mapping)[0])
        assert handed.differences(path, {"": whole}, mapping) == []
        value = next(row.value for row in whole.rows if str(row.cell) == "scratch/single/shared/stat")
        path.write_text(path.read_text().replace(f"{value:.15g}", f"{value * 1.5:.15g}"))
        (one,) = handed.differences(path, {"": whole}, mapping)
    assert one.place == "scratch/single/shared/stat value" and float(one.found) == pytest.approx(
        1.5 * float(one.expected)
    )

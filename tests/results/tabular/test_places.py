"""Which cell of a form is for which result: headings, groups, sheets, and what a filled form says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import xlsxwriter

from campaign.config import rfp
from campaign.config.forms import FormMapping, FormTable
from campaign.config.rules import packs
from campaign.core.errors import InputError
from campaign.results.tabular import form

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "rfp" / "rfp.yaml"


def found(path: Path, table: FormTable) -> dict[str, str]:
    read = form.read(path)
    return {str(each.spot): each.entry.name for each in form.places(path, read, FormMapping(tables=(table,)))}


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
    assert found(path, table) == {
        **dict(zip(("Fast!B3", "Fast!C3"), ("nvme/peak/shared/create", "nvme/peak/shared/stat"), strict=True)),
        **dict(zip(("Fast!D3", "Fast!E3"), ("nvme/peak/unique/create", "nvme/peak/unique/stat"), strict=True)),
        **dict(zip(("Slow!B3", "Slow!C3"), ("disk/peak/shared/create", "disk/peak/shared/stat"), strict=True)),
        **dict(zip(("Slow!D3", "Slow!E3"), ("disk/peak/unique/create", "disk/peak/unique/stat"), strict=True)),
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (",Create\nPeak,\nPeak,\n", "form.csv: heading 'Peak': found 2 times; give one that is there once, or "),
        (",Create\nMax,\n", "form.csv: heading 'Peak': not found; "),
        (",Make\nPeak,\n", "form.csv: heading 'Create': not found; "),
        (",Create\nShared,\nUnique,\nPeak,\n", "form.csv: group shared: heading 'Peak': not found; "),
    ],
)  # fmt: skip
def test_a_heading_that_is_missing_or_there_twice_is_told(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "form.csv").write_text(text)
    groups = (("Shared", "shared"), ("Unique", "unique")) if "Shared" in text else ()
    table = FormTable(
        "s/{rows}/x/{columns}", rows=(("Peak", "peak"),), columns=(("Create", "create"),), row_groups=groups
    )
    with pytest.raises(InputError) as error:
        found(tmp_path / "form.csv", table)
    assert problem in str(error.value)


def test_numbers_are_read_in_the_units_of_the_pack_if_they_can_be(tmp_path: Path) -> None:
    pack = packs.load("crossroads-mdtest")
    (tmp_path / "form.csv").write_text("1.5,8,1.5,yes\n")
    cells = {"A1": "t/peak/shared/stat in kops/s", "B1": "t/peak/shared/stat.nodes", "C1": "t/max/shared/stat in MB/s"}
    mapping = FormMapping(cells=(*cells.items(), ("D1", "answers/8.2.2")))
    one, other = form.rows(tmp_path / "form.csv", mapping, {"": pack})
    assert [one.fields[key] for key in ("target", "launch", "value", "unit", "nodes")] == [
        "t",
        "peak",
        1500,
        "ops/s",
        "8",
    ]
    assert [other.fields[key] for key in ("launch", "value", "unit")] == ["max", "1.5", "MB/s"]
    assert (one.where, one.fields["best"]) == (f"{tmp_path / 'form.csv'}: cell A1", "highest")


def test_the_forms_of_the_example_rfp_are_for_results_of_its_packs() -> None:
    known, packs_of = rfp.with_packs(EXAMPLE)
    assert {mapping.file for mapping in known.forms} == {"form.xlsx", "form.docx"}
    for mapping in known.forms:
        path = EXAMPLE.with_name(mapping.file)
        read = form.read(path)
        placed = list(form.places(path, read, mapping))
        assert len(placed) == {"form.xlsx": 12, "form.docx": 6}[mapping.file]
        for place in placed:
            part, _, *words = place.entry.result.split("/")
            if place.entry.result != "metadata/answers/8.2.2 tuning":
                launch, files, operation = words
                assert launch in [each.id for each in packs_of[part].launch]
                assert files in [each.id for each in packs_of[part].files]
                assert any(
                    re.fullmatch(re.sub(r"\{.*?\}", ".*", each.id), operation) for each in packs_of[part].operations
                )
            assert not read.box(place.spot).closed and (place.part or not read.box(place.spot).text)

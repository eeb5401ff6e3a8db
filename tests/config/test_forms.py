"""The mapping of a form: its names, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config import forms
from campaign.config.forms import FormEntry
from campaign.core import keys
from campaign.core.errors import InputError
from tests.support.forms import DATA


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("scratch/peak/shared/stat", ("scratch/peak/shared/stat", "value", "")),
        ("meta/scratch/peak/shared/stat in kops/s", ("meta/scratch/peak/shared/stat", "value", "kops/s")),
        ("scratch/peak/shared/stat.processes_per_node", ("scratch/peak/shared/stat", "processes_per_node", "")),
        ("scratch/peak/shared/v1.5", ("scratch/peak/shared/v1.5", "value", "")),
        ("scratch/peak/shared/x.nodes.value", ("scratch/peak/shared/x.nodes", "value", "")),
        ("answers/8.2 in words.note", ("answers/8.2 in words.note", "value", "")),
        ("meta/system/file system", ("meta/system/file system", "value", "")),
        ("scratch/system/base/hpl.n", ("scratch/system/base/hpl", "n", "")),
        ("kernels/scratch/system/base/hpl in Gflop/s", ("kernels/scratch/system/base/hpl", "value", "Gflop/s")),
    ],
)
def test_a_name_says_result_field_and_unit(name: str, entry: tuple[str, str, str]) -> None:
    assert FormEntry.parse(name) == FormEntry(name, *entry)


def test_a_mapping_is_read_with_its_tables() -> None:
    mapping = keys.load(forms.FormMapping, DATA / "crossroads-mdtest.yaml")
    (table,) = mapping.tables
    assert table.result == "scratch/{rows}/{row_groups}/{columns}"
    assert (
        dict(table.rows)["Single Process"] == "single"
        and dict(table.row_groups)["One file, multi-processes"] == "onefile"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cells: {d7: x}", ':1:9: cells.d7: found "d7"; allowed: a cell such as D7 or Results!D7'),
        ("tables: [{result: x, rows: {A: b}}]", ":1:10: tables[0].columns: required key missing; allowed: up to 100"),
        ("table: []", ":1:1: table: unknown key; did you mean tables?"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_it_is_reported_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(InputError) as error:
        keys.load(forms.FormMapping, tmp_path / "map.yaml")
    assert f"map.yaml{problem}" in str(error.value)

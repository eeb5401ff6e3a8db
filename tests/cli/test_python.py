"""The interface for Python programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import campaign
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.results.cells import IN_CSV
from tests.support import reference, rfp
from tests.support.command_line import call

FILE = """
name: c
rules: crossroads-mdtest
profile: rehearsal
targets: [{name: scratch, directory: /s}]
launch: {node: 4, peak: {nodes: 2, processes: 8}, max: {nodes: 4, processes: 32}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(FILE)
    return path


def test_a_table_is_that_of_the_command_line(file: Path) -> None:
    table = campaign.load(file).table()
    assert table == json.loads(call("table", file, "--format", "json").stdout)
    assert {row["status"] for row in table} == {"missing"} and "findings" in table[0]


def test_results_of_several_parts_name_their_part(tmp_path: Path) -> None:
    file = rfp.write(tmp_path)
    table = campaign.load(file).table()
    parts = list(dict.fromkeys(row["part"] for row in table))
    assert len(parts) > 1
    only_part = campaign.load(file, part=parts[0]).table()
    assert only_part and "part" not in only_part[0]
    assert [{"part": parts[0], **row} for row in only_part] == [row for row in table if row["part"] == parts[0]]


def test_a_frame_has_the_columns_of_the_csv(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = ModuleType("pandas")
    pandas.DataFrame = list  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    frame: Any = campaign.load(str(file)).to_pandas()
    assert [tuple(row) for row in frame] == [IN_CSV] * 36
    assert frame[0]["status"] == "missing"


def test_without_pandas_the_package_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(EnvironmentLacks, match="to_pandas needs pandas, which is not installed: pip install pandas"):
        campaign.load(file).to_pandas()


def test_a_bundle_is_decided_on_as_by_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "terms.yaml").write_text(f"rules: crossroads-mdtest\nsigners: {reference.SIGNERS}\n")
    with reference.program_of_bundle():
        decision = campaign.verify(reference.BUNDLE, terms=tmp_path / "terms.yaml")
        process = call("verify", reference.BUNDLE, "--terms", tmp_path / "terms.yaml", "--json")
    assert decision == json.loads(process.stdout)
    assert (decision["exit_status"], decision["decision"]["headline"]) == (process.returncode, "NOT YET ACCEPTABLE")


def test_what_is_wrong_is_raised_as_the_command_line_says_it(tmp_path: Path) -> None:
    for function in (campaign.load, campaign.verify):
        with pytest.raises(InputError, match=r"absent.*not found|absent.*no such"):
            function(tmp_path / "absent.yaml")


def test_the_package_has_two_functions_which_load_nothing_before_they_are_used() -> None:
    assert campaign.__all__ == ["load", "verify"]
    with pytest.raises(AttributeError, match="module campaign has no attribute table"):
        campaign.table  # noqa: B018
    code = "import sys, campaign; print([name for name in sys.modules if name.startswith('campaign.')])"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=800, check=True)
    assert process.stdout == "[]\n"

"""What table and check say of raw outputs that are no longer those of the run."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.support import bundled

pytestmark = pytest.mark.programs
WHY = "differs from the file whose hash the journal recorded at the end of the run"


def test_a_raw_output_that_was_edited_after_its_run_is_a_violation_here_too(tmp_path: Path) -> None:
    vendor = bundled.make(tmp_path)
    assert WHY not in vendor.call("check", vendor.file).stdout
    output = sorted(tmp_path.glob("results/*/runs/*/*/stdout"))[0]
    output.write_text(output.read_text().replace("-- finished", "-- Finished"))
    process = vendor.call("check", vendor.file)
    assert process.returncode == 1 and f'"{output.relative_to(output.parents[3])}" {WHY}' in " ".join(
        process.stdout.split()
    )
    rows = json.loads(vendor.call("table", vendor.file, "--format", "json").stdout)
    edited = [row for row in rows if any(WHY in finding["message"] for finding in row["findings"])]
    assert {row["run"] for row in edited} == {output.parent.parent.name} and {row["status"] for row in edited} == {
        "invalid"
    }


def test_an_edit_that_leaves_no_result_is_reported_as_one_too(tmp_path: Path) -> None:
    vendor = bundled.make(tmp_path)
    output = sorted(tmp_path.glob("results/*/runs/*/*/stdout"))[0]
    output.write_text("edited\n")
    assert WHY in " ".join(vendor.call("check", vendor.file).stdout.split())
    rows = json.loads(vendor.call("table", vendor.file, "--format", "json").stdout)
    assert {row["run"] for row in rows if row["status"] == "failed"} == {output.parent.parent.name}


def test_results_that_were_copied_or_given_other_times_are_not_called_edited(tmp_path: Path) -> None:
    vendor = bundled.make(tmp_path)
    shutil.copytree(tmp_path / "results", tmp_path / "copy")
    shutil.rmtree(tmp_path / "results")
    (tmp_path / "copy").rename(tmp_path / "results")
    for path in tmp_path.glob("results/**/stdout"):
        os.utime(path)
    assert WHY not in vendor.call("check", vendor.file).stdout

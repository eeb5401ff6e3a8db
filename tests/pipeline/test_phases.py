"""Packs of several programs and phases on a real Slurm of several nodes: the sequence, its score and its evidence."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.pipeline.test_packs import case_of
from tests.support.cases import Case
from tests.support.command_line import call

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]

SIZES = "block: 2m\n  segments: 20\n  easy_files: 100\n  hard_files: 50"
RUN = "scratch.production.all.r1"


@pytest.fixture(scope="module")
def io500(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Case:
    case = case_of(tmp_path_factory.mktemp("io500"), sandbox, "io500", "production: {nodes: 2, processes: 2}", SIZES)
    case.call("run")
    return case


def numbers(case: Case, status: int = 0) -> dict[str, Any]:
    return {row["operation"]: row for row in case.table(status=status)}


def test_all_phases_run_in_order_in_one_job_and_leave_nothing(io500: Case) -> None:
    (completion,) = io500.completions()
    assert [phase["phase"] for phase in completion["phases"]] == [
        "ior-easy-write", "mdtest-easy-write", "ior-hard-write", "mdtest-hard-write", "find", "ior-easy-read",
        "mdtest-easy-stat", "ior-hard-read", "mdtest-hard-stat", "mdtest-easy-delete", "mdtest-hard-read",
        "mdtest-hard-delete", "purge",
    ]  # fmt: skip
    assert completion["leftover_files"] == 0
    assert list(io500.target.iterdir()) == []


def test_every_number_is_of_its_line_and_the_score_of_all_of_them(io500: Case) -> None:
    rows = numbers(io500)
    assert len(rows) == 15
    assert {row["status"] for row in rows.values()} == {"measured"}
    for row in rows.values():
        for part in row["parts"]:
            line = (io500.results / part["file"]).read_text().splitlines()[part["line"] - 1]
            assert part["value"] in [float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", line)], (row, line)
    score = rows["score"]
    assert score["value"] == pytest.approx(math.sqrt(rows["bandwidth"]["value"] * rows["metadata"]["value"]))
    assert len({part["file"] for part in score["parts"]}) == 12
    assert score["source"] is None


def test_no_rule_is_broken_and_a_rehearsal_is_invalid_as_a_result(io500: Case) -> None:
    findings = json.loads(io500.call("check", "--json"))
    assert [finding for finding in findings if finding["severity"] == "E"] == []
    assert [finding["message"] for finding in findings if finding["rule"] == "EVD-06" and finding["checked"]] == []
    short = [finding["message"] for finding in findings if finding["rule"] == "RUN-07"]
    assert any("INVALID as a result" in message for message in short)


def test_a_bundle_computes_the_score_again_and_a_changed_part_is_found(io500: Case, tmp_path: Path) -> None:
    io500.call("bundle", "-o", str(tmp_path / "bundle"))
    stdout = call("verify", tmp_path / "bundle", "--details").stdout
    assert "re-evaluated from raw logs: identical" in stdout
    output = io500.results / "runs" / RUN / "1" / "find" / "stdout"
    copy = shutil.copy(output, tmp_path / "kept")
    output.write_text(re.sub(r"rate: [0-9.]+", "rate: 99000000.000", output.read_text()))
    try:
        findings = json.loads(io500.call("check", "--json", status=1))
        rows = numbers(io500, status=1)
    finally:
        shutil.copy(copy, output)
    assert {finding["rule"] for finding in findings if finding["severity"] == "E"} == {"CMP-03", "EVD-06", "RUN-06"}
    assert {row["status"] for row in rows.values()} == {"failed", "invalid"}


# --- the storage packs of other RFPs, under the last of these launch conditions

SMALL = 'multiple: "0.00001"\n  held: 1m'
STORAGE = {
    "esif-hpc-4-ior": (
        "node: {nodes: 1, processes_per_node: 80%}\n  part: {nodes: 15%, processes_per_node: 80%}\n  best",
        SMALL,
        6,
    ),
    "esif-hpc-4-mdtest": ("single: 1\n  node: 1\n  max: all\n  peak", "", 9),
    "nersc-10-io": (
        "single: 1\n  node: 1\n  part: {nodes: 15%, processes_per_node: 1}\n  max: all\n  best",
        SMALL,
        12,
    ),
    "uk-nnss-io": ("best", SMALL, 8),
    "jupiter-io": ("node: 1\n  best", 'block: 16m\n  segments: "50"', 6),
}


@pytest.mark.parametrize("pack", STORAGE)
def test_a_storage_pack_measures_all_that_it_reports(pack: str, tmp_path: Path, sandbox: Sandbox) -> None:
    conditions, sizes, cells = STORAGE[pack]
    launch = conditions.split()[-1]
    items = "" if pack in ("jupiter-io", "esif-hpc-4-ior") else "items_total: 64\n"
    case = case_of(tmp_path, sandbox, pack, f"{conditions}: {{nodes: 2, processes: 2}}", sizes, items)
    case.call("run", "--only", f"scratch/{launch}/*/*", status=None)
    rows = [row for row in case.table(status=None) if row["launch"] == launch]
    assert [row["status"] for row in rows] == ["measured"] * cells
    findings = json.loads(case.call("check", "--json", status=None))
    about_runs = [finding for finding in findings if finding["severity"] == "E" and finding["checked"]]
    assert {finding["rule"] for finding in about_runs} <= {"CMP-01", "CMP-02", "CMP-03"}  # other launch conditions
    sizes_noted = [finding for finding in findings if finding["rule"] == "GEO-05"]
    assert {finding["severity"] for finding in sizes_noted} == ({"I"} if sizes else set())
    assert list(case.target.iterdir()) == []
    case.check_bundle(tmp_path / "evidence.zip")

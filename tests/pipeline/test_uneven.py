"""Processes that are not a multiple of the nodes, on a real Slurm: 13 on 4 nodes are 4, 3, 3 and 3."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.pipeline.test_declared_packs import with_program

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(600)]


def test_the_larger_blocks_are_first_and_the_bundle_is_judged_the_same(tmp_path: Path, sandbox: Sandbox) -> None:
    case = with_program(tmp_path, sandbox, "nfstest-sweep", "clients: {nodes: 4, processes: 13}", tmp_path)
    case.call("run", status=None)
    rows = [row for row in case.table(status=None) if row["launch"] == "clients"]
    assert {(row["status"], row["processes"], row["nodes"]) for row in rows} == {("measured", 13, 4)}
    assert not [finding for row in rows for finding in row["findings"] if finding["rule"] == "GEO-01"]
    case.check_bundle(tmp_path / "evidence.zip")

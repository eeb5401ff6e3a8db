"""Every rule pack through the command line, on a real Slurm of several nodes; and a pack that is nothing but YAML."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from campaign import init, rules
from campaign.sandbox.cluster import Sandbox

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(240)]

CAMPAIGN = Path(sys.executable).with_name("campaign")
OWN = [pack.id for pack in rules.available()]
CELLS = {
    "checkpoint": 42,
    "chunk-pool": 28,
    "crossroads-mdtest": 36,
    "ior-cache-ladder": 24,
    "network-contention": 220,
    "nfstest-sweep": 48,
}
NEW_PACK = """
id: two-sizes
version: 1
title: Bandwidth of two transfer sizes
document: a document of this test
caption: Two sizes (MiB/s)
applet: ior
arguments: "-t {transfer} -b 1m -s 1 {flags} -o {directory}/data"
variables:
  - {id: transfer, full: 1m, rehearsal: 64k, clause: "1"}
launch:
  - {id: one, title: One process, clause: "1", processes: 1, nodes: 1}
files:
  - {id: own, title: "A file for each", clause: "1", flags: [-F]}
operations:
  - {id: write, title: Write, record: write, unit: MiB/s}
fixed:
  - {flag: -b, clause: "1"}
  - {flag: -s, clause: "1"}
derived:
  - {flag: -t, clause: "1"}
  - {flag: -o, clause: "1"}
selection: {operation: write, best: highest, clause: "1"}
checks: {RUN-01: "1", RUN-06: "1", FLG-03: "1", GEO-02: "1"}
"""


def call(sandbox: Sandbox, *words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [CAMPAIGN, *words],
        env=os.environ | sandbox.environment() | environment,
        capture_output=True,
        text=True,
        timeout=200,
    )


def table(sandbox: Sandbox, file: Path, **environment: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(call(sandbox, "table", file, "--format", "json", **environment).stdout)
    return rows


def campaign_file(folder: Path, sandbox: Sandbox, pack: str) -> Path:
    """What `init` writes for the pack, at sizes for the sandbox and on a target of its own there."""
    target = Path(sandbox.environment()["CAMPAIGN_SCRATCH"]) / f"pack-{pack}"
    target.mkdir()
    text = init.text(pack).replace("/scratch/$USER", str(target)).replace("name: my-campaign", f"name: {pack}")
    text = text.replace("processes_per_node: 16", "processes_per_node: 4").replace("node: 16", "node: 4")
    file = folder / f"{pack}.yaml"
    file.write_text(text.replace("two-nodes: 32", "two-nodes: 8"))
    return file


@pytest.mark.parametrize("pack", [pack for pack in OWN if pack != "crossroads-mdtest"])
def test_a_pack_runs_as_init_writes_it(tmp_path: Path, sandbox: Sandbox, pack: str) -> None:
    file = campaign_file(tmp_path, sandbox, pack)
    done = call(sandbox, "run", file)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = table(sandbox, file)
    assert len(rows) == CELLS[pack]
    assert {row["status"] for row in rows} == {"measured"}
    results = tmp_path / "results" / pack
    for row in rows:
        line = (results / row["source"]["file"]).read_text().splitlines()[row["source"]["line"] - 1]
        assert line.strip(), row


def test_every_pack_has_its_cells_counted_here() -> None:
    assert sorted(OWN) == sorted(CELLS)


def test_a_pack_that_is_nothing_but_yaml_runs(tmp_path: Path, sandbox: Sandbox) -> None:
    packs = tmp_path / "packs"
    packs.mkdir()
    (packs / "two-sizes.yaml").write_text(NEW_PACK)
    target = Path(sandbox.environment()["CAMPAIGN_SCRATCH"]) / "pack-new"
    target.mkdir()
    file = tmp_path / "new.yaml"
    file.write_text(
        f"name: new\nrules: two-sizes\nprofile: rehearsal\ntargets: [{{name: scratch, directory: {target}}}]\n"
        "launch: {one: 1}\n"
    )
    done = call(sandbox, "run", file, CAMPAIGN_RULES=str(packs))
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = table(sandbox, file, CAMPAIGN_RULES=str(packs))
    assert (row["status"], row["operation"], row["unit"]) == ("measured", "write", "MiB/s")
    assert row["value"] > 0

"""The energy of runs on a real Slurm: read on the nodes, shown with the numbers, and the same from the bundle."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.pipeline.test_declared_packs import case_of
from tests.support.cases import Case
from tests.support.command_line import call

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(600)]
PACK = """
id: gflops
version: 1
title: HPL on nodes
document: a text
caption: Rates
applet: gflops
arguments: "{flags}"
launch:
  - {id: nodes, title: Two nodes, clause: "1", nodes: 2, processes_per_node: 1}
files:
  - {id: all, title: All, clause: "1"}
operations:
  - {id: rate, title: Rate, record: rate, unit: GFLOP/s}
results:
  format: text
  facts: {program: '(HPL)', processes: 'on ([0-9]+)'}
  records: [{name: rate, pattern: 'rate (?P<value>[0-9]+)', unit: GFLOP/s}]
selection: {operation: rate, best: highest, clause: "1"}
energy: {clause: "7", level: 2, peak: true}
requires:
  - {holds: energy <= 1, clause: "7"}
checks: {RUN-01: "1", RUN-10: "7", RES-01: "7"}
"""
PRINTS = 'test "$SLURM_PROCID" != 0 || { echo HPL; echo on 2; echo "rate 100"; }; sleep 3'


def run_with_source(folder: Path, sandbox: Sandbox, source: str) -> Case:
    (folder / "packs").mkdir()
    (folder / "packs" / "gflops.yaml").write_text(PACK)
    case = case_of(folder, sandbox, "gflops", "nodes: {nodes: 2, processes: 2}", PRINTS, folder / "packs")
    text = case.file.read_text()
    case.file.write_text(f"{text}energy: {{level: 2, covers: a meter of this test, interval: 1, {source}}}\n")
    return case


def findings(case: Case) -> list[str]:
    document = json.loads(case.call("check", "--json", status=None))
    return [finding["message"] for finding in document if finding["rule"] in ("RUN-10", "RES-01")]


def test_a_command_of_the_site_is_read_on_each_node_and_its_numbers_go_into_the_bundle(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    case = run_with_source(tmp_path, sandbox, "source: command, command: echo 180 W")
    case.call("run", status=None)
    (row,) = case.table(status=None)
    seconds = row["energy"]["kwh"] * 3.6e6 / 360
    (record,) = case.completions()
    assert 3 <= seconds <= record["ended"] - record["started"] + 1
    assert row["energy"]["peak_kw"] == 0.36
    assert "level 2 of the Green500" in row["energy"]["method"]
    assert "peak power 0.36 kW" in case.call("table", status=None)
    assert findings(case) == []
    case.check_bundle(tmp_path / "evidence.zip")


@pytest.mark.skipif(Path("/sys/class/powercap/intel-rapl:0").exists(), reason="this machine has counters")
@pytest.mark.parametrize("source", ["rapl", "slurm"])
def test_where_nothing_measures_no_energy_is_recorded(tmp_path: Path, sandbox: Sandbox, source: str) -> None:
    case = run_with_source(tmp_path, sandbox, f"source: {source}")
    case.call("run", status=None)
    (row,) = case.table(status=None)
    assert (row["status"], row["energy"]["kwh"], row["energy"]["peak_kw"]) == ("measured", None, None)
    assert row["energy"]["not_recorded"] in case.call("table", status=None)
    assert any(message.startswith("energy not recorded: ") for message in findings(case))
    case.call("bundle", "-o", str(tmp_path / "evidence.zip"), status=None)
    assert "re-evaluated from raw logs: identical" in call("verify", tmp_path / "evidence.zip", "--details").stdout

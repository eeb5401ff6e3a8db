"""A launch condition of each node by itself, on a real Slurm: from the plan to the bundle."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.pipeline.test_declared_packs import case_of

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(600)]
PACK = """
id: gflops
version: 1
title: HPL of each node
document: a text
caption: Rates
applet: gflops
arguments: "{flags}"
launch:
  - {id: node, title: Each node, clause: "1", nodes: each, processes_per_node: 2, each: minimum}
files:
  - {id: all, title: All, clause: "1"}
operations:
  - {id: rate, title: Rate, record: rate, unit: GFLOP/s}
results:
  format: text
  facts: {program: '(HPL)', processes: 'on ([0-9]+)'}
  records: [{name: rate, pattern: 'rate (?P<value>[0-9]+)', unit: GFLOP/s}]
selection: {operation: rate, best: highest, clause: "1"}
checks: {GEO-01: "1", GEO-02: "1", GEO-03: "1", RUN-01: "1", STA-01: "1", STA-02: "1"}
"""
# Rank 0 says a rate that is its node's number: 101 on n1, 102 on n2; the others say nothing.
PRINTS = 'test "$SLURM_PROCID" != 0 || { echo HPL; echo on 2; echo "rate 10${SLURMD_NODENAME##*[!0-9]}"; }'


def test_every_node_runs_by_itself_and_one_cell_has_the_distribution(tmp_path: Path, sandbox: Sandbox) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "gflops.yaml").write_text(PACK)
    met = tmp_path / "met"
    met.mkdir()
    waits = f'touch {met}/"$SLURMD_NODENAME"; until [ "$(ls {met} | wc -l)" = 4 ]; do sleep 0.1; done'
    case = case_of(tmp_path, sandbox, "gflops", "{}", f"{waits}; {PRINTS}", tmp_path / "packs")
    case.file.write_text(case.file.read_text().replace("launch:\n  {}\n", ""))
    case.call("run")
    (row,) = case.table()
    names = list(row["by_node"]["values"])
    assert (row["status"], row["value"], row["by_node"]["nodes"], row["nodes"]) == ("measured", 101, 4, 1)
    assert row["by_node"]["values"] == dict(zip(names, (101, 102, 103, 104), strict=True))
    assert "minimum of 4 of 4 nodes, each by itself: 101 to 104, mean 102" in case.call("table")
    windows = [(completion["started"], completion["ended"]) for completion in case.completions()]
    assert max(began for began, _ in windows) < min(end for _, end in windows), "all at the same time"
    text = case.call("check")
    assert "measured at the same time" not in text
    assert "other jobs were running" not in text
    case.call("rerun", f"scratch/node/all/rate@{names[2]}")
    (row,) = case.table()
    assert len(list((case.results / "runs").glob("*/2"))) == 1
    case.check_bundle(tmp_path / "evidence.zip")


def test_chunks_of_nodes_run_by_themselves_and_their_minimum_and_spread_are_results(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    (tmp_path / "packs").mkdir()
    launch = "nodes: chunks of 2, chunks: spread, processes_per_node: 1, each: minimum"
    changes = {
        "nodes: each, processes_per_node: 2, each: minimum": launch,
        "unit: GFLOP/s}\nresults": "unit: GFLOP/s}\n"
        "  - {id: lowest, title: Lowest, formula: min(rate), unit: GFLOP/s}\n"
        "  - {id: spread, title: Spread, formula: range(rate) / mean(rate), unit: x}\nresults",
    }
    text = PACK
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "packs" / "gflops.yaml").write_text(text)
    case = case_of(tmp_path, sandbox, "gflops", "{}", PRINTS, tmp_path / "packs")
    case.file.write_text(case.file.read_text().replace("launch:\n  {}\n", ""))
    case.call("run", "--only", "scratch/node/all/rate@chunk2")
    assert len(case.completions()) == 1
    case.call("run")
    rows = {row["operation"]: row for row in case.table()}
    assert rows["rate"]["by_node"]["values"] == {"chunk1": 101, "chunk2": 102}  # of n1 and n3, of n2 and n4
    assert {row["status"] for row in rows.values()} == {"measured"}
    assert rows["lowest"]["value"] == 101
    assert rows["spread"]["value"] == pytest.approx(1 / 101.5)
    assert "minimum of 2 of 2 chunks, each by itself: 101 to 102" in case.call("table")
    plan = json.loads((case.results / "plan.json").read_text())
    chunks = [run["chunk"] for run in plan["runs"]]
    ran_on = [sorted(completion["nodes"].split(",")) for completion in case.completions()]
    assert len(chunks) == 2 and not {*chunks[0]} & {*chunks[1]}, ran_on
    assert "VIOLATED GEO-02" not in case.call("check")
    case.check_bundle(tmp_path / "evidence.zip")


def test_nodes_whose_program_gets_the_target_run_one_after_another(tmp_path: Path, sandbox: Sandbox) -> None:
    (tmp_path / "packs").mkdir()
    (tmp_path / "packs" / "gflops.yaml").write_text(PACK.replace('"{flags}"', '"{flags} {directory}/data"'))
    case = case_of(tmp_path, sandbox, "gflops", "{}", f"sleep 1; {PRINTS}", tmp_path / "packs")
    case.file.write_text(case.file.read_text().replace("launch:\n  {}\n", ""))
    case.call("run")
    windows = sorted((completion["started"], completion["ended"]) for completion in case.completions())
    assert len(windows) == 4
    assert all(end <= began for (_, end), (began, _) in pairwise(windows))

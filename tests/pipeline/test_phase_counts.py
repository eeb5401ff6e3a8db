"""Phases with counts of their own on a real Slurm: a serial preparation on one node before all processes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.pipeline.test_declared_packs import with_program
from tests.support import facts
from tests.support.cases import Case

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(600)]
PACK = """\
id: prepared
version: 1
title: Data that one process prepares, read by all
document: nothing but this test
caption: Prepared
programs:
  - {id: ior}
  - id: prepare
    results:
      format: text
      harmless: ['prepared by .*']
phases:
  - {id: prepare, clause: "1", nodes: 1, processes: 1, program: prepare, arguments: "prepared by {processes}"}
  - id: generate
    clause: "1"
    nodes: nodes / 2
    processes: 3
    program: ior
    arguments: "-w -b 64k -t 64k -F -o {directory}/set"
  - {id: read, clause: "1", program: ior, arguments: "-w -b 64k -t 64k -o {directory}/all"}
launch: [{id: all, title: All, clause: "1", minimum_nodes: 2}]
files: [{id: default, title: As it is, clause: "1"}]
operations:
  - {id: write, title: Write, phase: read, record: write, unit: MiB/s}
  - {id: generate, title: Generate, phase: generate, record: write, unit: MiB/s}
selection: {operation: write, best: highest, clause: "1"}
environment:
  - {name: OMP_PLACES, value: cores, clause: "2"}
  - {name: OLD_HABIT, forbidden: true, clause: "2"}
checks: {ENV-06: "2", GEO-01: "1", GEO-02: "1", RUN-01: "1", RUN-06: "1", RUN-09: "1", SRC-04: "1", EVD-06: "1"}
"""


def run_prepared_pack(folder: Path, sandbox: Sandbox) -> Case:
    place = folder / "packs"
    place.mkdir()
    (place / "prepared.yaml").write_text(PACK)
    program = folder / "prepare"
    shutil.copy("/bin/echo", program)
    return with_program(folder, sandbox, "prepared", "all: {nodes: 4, processes: 8}", program, place)


def test_each_phase_runs_with_its_own_counts_and_the_variables_that_its_ranks_had_are_judged(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    case = run_prepared_pack(tmp_path, sandbox)
    case.variables["OLD_HABIT"] = "x"  # the user's own, which the job removes
    case.call("run", status=None)
    rows = case.table(status=None)
    assert {(row["status"], row["nodes"], row["processes"]) for row in rows} == {("measured", 4, 8)}
    (folder,) = (path.parent for path in case.results.glob("runs/*/*/facts.jsonl"))
    assert (folder / "prepare" / "stdout").read_text() == "prepared by 1\n"
    nodes = {name: sorted(facts.nodes_of_ranks(folder, name)) for name in ("prepare", "generate", "read")}
    assert nodes.pop("prepare") in (["node1"], [])  # it may have ended before it was seen
    assert nodes == {
        "generate": ["node1", "node1", "node2"],
        "read": [f"node{number}" for number in range(1, 5) for _ in range(2)],
    }
    assert violated_rules(case) == set()
    case.check_bundle(tmp_path / "evidence.zip")

    case.file.write_text(
        f"{case.file.read_text()}launcher: {{prefix: [/usr/bin/env, OMP_PLACES=threads, OLD_HABIT=x]}}\n"
    )
    case.call("run", status=None)
    assert violated_rules(case) - {"SRC-04"} == {"ENV-06"}  # echo may end while only the prefix was seen
    case.check_bundle(tmp_path / "other.zip")


def violated_rules(case: Case) -> set[str]:
    findings = json.loads(case.call("check", "--json", status=None))
    return {finding["rule"] for finding in findings if finding["severity"] == "E" and finding["checked"]}

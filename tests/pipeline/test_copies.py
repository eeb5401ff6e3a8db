"""Copies of one program side by side on a real Slurm, with the time from the first start to the last end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from tests.pipeline.test_declared_packs import with_program
from tests.support.cases import Case

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(600)]
PACK = """\
id: throughput
version: 1
title: As many copies as there is room for
document: nothing but this test
caption: Throughput
programs: [{id: mdtest}]
phases:
  - id: solve
    clause: "1"
    copies: fill
    nodes: 1
    processes: 1
    program: mdtest
    arguments: "-F -n 40 -p 3 -d {directory}/copy{copy}"
launch: [{id: all, title: All, clause: "1"}]
files: [{id: default, title: As it is, clause: "1"}]
operations:
  - {id: slowest, phase: solve, record: create, formula: min(value over copies), unit: ops/s, printed: ops/s, title: S}
  - {id: spread, phase: solve, record: create, formula: cv(value over copies), unit: "1", printed: ops/s, title: CV}
  - {id: copies, phase: solve, record: create, formula: count(value over copies), unit: "1", printed: ops/s, title: C}
  - {id: makespan, phase: solve, record: create, formula: makespan, unit: s, printed: ops/s, title: Time}
selection: {operation: makespan, best: lowest, clause: "1"}
requires:
  - {holds: makespan <= 600, clause: "2"}
checks:
  GEO-01: "1"
  GEO-02: "1"
  RES-01: "2"
  RUN-01: "1"
  RUN-02: "1"
  RUN-03: "1"
  RUN-06: "1"
  RUN-09: "1"
  EVD-03: "1"
  EVD-06: "1"
  EVD-07: "1"
"""


def case_of_pack(folder: Path, sandbox: Sandbox, launch: str = "all: {nodes: 2, processes: 4}") -> Case:
    place = folder / "packs"
    place.mkdir()
    (place / "throughput.yaml").write_text(PACK)
    case = with_program(folder, sandbox, "throughput", launch, Path("/bin/echo"), place)
    case.file.write_text(case.file.read_text().replace("time: 2m", "time: 8m"))
    return case


def findings(case: Case, rule: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(case.call("check", "--json", status=None))
    return [finding for finding in entries if finding["rule"] == rule]


def test_copies_fill_the_nodes_at_the_same_time_and_their_numbers_are_one_result(
    tmp_path: Path, sandbox_directory: Path
) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=2, accounting=True))
    case = case_of_pack(tmp_path, sandbox)
    case.call("run", status=None)
    rows = {row["operation"]: row for row in case.table(status=None)}
    assert {row["status"] for row in rows.values()} == {"measured"}
    assert rows["copies"]["value"] == 4
    (record,) = case.completions()
    times = {phase["phase"]: phase for phase in record["phases"]}
    assert list(times) == ["solve.1", "solve.2", "solve.3", "solve.4"]
    starts, ends = ([phase[name] for phase in times.values()] for name in ("started", "ended"))
    assert max(starts) < min(ends)
    assert rows["makespan"]["value"] == pytest.approx(max(ends) - min(starts))
    entries = json.loads(case.call("check", "--json", status=None))
    assert [finding for finding in entries if finding["severity"] == "E" and finding["checked"]] == []
    (folder,) = (path.parent for path in case.results.glob("runs/*/*/facts.jsonl"))
    nodes = [(folder / name / "bench.jsonl").read_text() for name in times]
    assert ['"node1"' in text for text in nodes] == [True, True, False, False]
    case.check_bundle(tmp_path / "evidence.zip")


def test_copies_that_are_bound_to_the_same_cpu_are_no_result(tmp_path: Path, sandbox: Sandbox) -> None:
    case = case_of_pack(tmp_path, sandbox, "all: {nodes: 1, processes: 2}")
    case.file.write_text(f"{case.file.read_text()}launcher: {{prefix: [/usr/bin/taskset, -c, '0']}}\n")
    case.call("run", status=None)
    violations = [finding for finding in findings(case, "RUN-09") if finding["severity"] == "E"]
    assert [(finding["message"], finding["actual"]) for finding in violations] == [
        ("copies of a phase ran on the same CPUs of a node", "solve.1 and solve.2 on CPU 0 of node1")
    ]
    case.check_bundle(tmp_path / "evidence.zip")

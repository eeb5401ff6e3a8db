"""Programs at the same time within one run, on a real Slurm: a writer's load beside a metadata benchmark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from tests.pipeline.test_declared_packs import with_program
from tests.support.cases import Case

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(600)]
PACK = """\
id: loaded
version: 1
title: Metadata operations while others write
document: nothing but this test
caption: Loaded
programs:
  - {id: ior}
  - {id: mdtest}
  - id: fail
    results: {format: text, harmless: ['.*']}
phases:
  - {id: alone, clause: "1", nodes: nodes / 2, program: mdtest, arguments: "-F -n 40 -d {directory}/alone"}
  - {id: loaded, clause: "1", nodes: nodes / 2, program: mdtest, arguments: "-F -n 40 -p 3 -d {directory}/loaded"}
  - {id: load, clause: "1", beside: loaded, nodes: nodes / 4, program: ior, arguments: "LOAD"}
  - {id: after, clause: "1", nodes: 1, program: fail, arguments: "after {processes}"}
launch: [{id: all, title: All, clause: "1", minimum_nodes: 2}]
files: [{id: default, title: As it is, clause: "1"}]
operations:
  - {id: alone, title: Creation, phase: alone, record: create, unit: ops/s}
  - {id: loaded, title: Creation beside writers, phase: loaded, record: create, unit: ops/s}
  - {id: slower, title: Slowed down, formula: loaded / alone, unit: ratio}
selection: {operation: loaded, best: highest, clause: "1"}
checks:
  GEO-01: "1"
  GEO-02: "1"
  RUN-01: "1"
  RUN-02: "1"
  RUN-03: "1"
  RUN-06: "1"
  RUN-09: "1"
  EVD-06: "1"
  EVD-07: "1"
"""
# The load has one node: ranks on two that do not include the job's first one may hang in MPI_Init (docs/slurm.md).
LONG, SHORT = "-w -k -b 64k -t 64k -F -i 6 -d 1 -o {directory}/set", "-w -b 64k -t 64k -F -o {directory}/set"


def run_with_load(folder: Path, sandbox: Sandbox, load: str, *changes: tuple[str, str]) -> Case:
    text = PACK.replace("LOAD", load)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    place = folder / "packs"
    place.mkdir()
    (place / "loaded.yaml").write_text(text)
    program = folder / "fail"
    shutil.copy("/bin/echo", program)
    case = with_program(folder, sandbox, "loaded", "all: {nodes: 4, processes: 8}", program, place)
    # Two programs with pauses of up to a minute and a half, on a machine that other tests keep busy.
    case.file.write_text(case.file.read_text().replace("time: 2m", "time: 8m"))
    return case


def phases_of(case: Case) -> tuple[dict[str, Any], Mapping[str, dict[str, Any]]]:
    (record,) = case.completions()
    return record, {phase["phase"]: phase for phase in record["phases"]}


def findings(case: Case) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(case.call("check", "--json", status=None))
    return entries


def violated_rules(case: Case) -> set[str]:
    return {finding["rule"] for finding in findings(case) if finding["severity"] == "E" and finding["checked"]}


def test_a_load_runs_beside_the_benchmark_on_other_nodes_and_the_accounting_has_the_steps_that_may_overlap(
    tmp_path: Path, sandbox_directory: Path
) -> None:
    sandbox = Sandbox.start(sandbox_directory, Shape(nodes=4, accounting=True))
    case = run_with_load(tmp_path, sandbox, LONG)
    case.call("run", status=None)
    assert {row["status"] for row in case.table(status=None)} == {"measured"}
    _, phases = phases_of(case)
    assert list(phases) == ["alone", "loaded", "load", "after"]
    assert phases["load"]["started"] < phases["loaded"]["ended"] < phases["load"]["ended"] <= phases["after"]["started"]
    (folder,) = (path.parent for path in case.results.glob("runs/*/*/facts.jsonl"))
    lines = {name: (folder / name / "bench.jsonl").read_text() for name in ("alone", "loaded", "load")}
    on = {
        name: {f"node{number}" for number in range(1, 5) if f'"node{number}"' in text} for name, text in lines.items()
    }
    assert on == {"alone": {"node1", "node2"}, "loaded": {"node1", "node2"}, "load": {"node3"}}
    assert (folder / "after" / "stdout").read_text() == "after 2\n" * 2
    assert violated_rules(case) == set()
    assert [finding for finding in findings(case) if finding["rule"] in ("RUN-09", "EVD-07")] == []
    case.check_bundle(tmp_path / "evidence.zip")
    (record,) = case.results.glob("jobs/*/accounting.json")
    record_text = record.read_text()
    assert '"node3"' in record_text
    record.write_text(record_text.replace('"node3"', '"node2"'))
    assert "EVD-07" in violated_rules(case)


def test_a_load_that_ends_before_the_benchmark_is_reported(tmp_path: Path, sandbox: Sandbox) -> None:
    # Neither so short that the other may begin behind it on a busy machine.
    case = run_with_load(tmp_path, sandbox, LONG, ("-p 3", "-p 30"))
    case.call("run", status=None)
    assert violated_rules(case) == set(), findings(case)
    text = "phase loaded was measured during only a part of the phases"
    found_findings = [
        finding for finding in findings(case) if finding["rule"] == "RUN-09" and finding["message"].startswith(text)
    ]
    assert [finding["severity"] for finding in found_findings] == ["I"]  # an explanation is required at full size
    case.check_bundle(tmp_path / "evidence.zip")


def test_where_the_load_fails_the_benchmark_is_ended_and_both_are_kept(tmp_path: Path, sandbox: Sandbox) -> None:
    change = (
        "beside: loaded, nodes: nodes / 4, program: ior",
        "beside: loaded, nodes: 1, processes: 1, program: fail",
    )
    other = ('program: fail, arguments: "after {processes}"', f'program: ior, arguments: "{SHORT}"')
    case = run_with_load(tmp_path, sandbox, "2 sleep 99", change, other, ("-p 3", "-p 100"))
    shutil.copy("/usr/bin/timeout", tmp_path / "fail")
    case.call("run", status=None, timeout=800)
    record, phases = phases_of(case)
    assert (record["outcome"], record["reason"]) == ("failed", "phase load: the benchmark ended with status 124")
    assert list(phases) == ["alone", "loaded", "load"]
    assert phases["load"]["exit_status"] == 124
    assert phases["loaded"]["exit_status"] != 0
    assert "RUN-01" in violated_rules(case)

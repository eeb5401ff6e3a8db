"""Numbers and conditions across launch conditions, repetitions and nodes, on a real Slurm, from plan to bundle."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.pipeline.test_declared_packs import case_of
from tests.support.cases import Case
from tests.support.command_line import call

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(900)]
PACK = """
id: solver
version: 1
title: A solver on one and on two nodes
document: a text
caption: Rates
applet: solver
arguments: "{flags}"
launch: LAUNCH
files: [{id: all, title: All, clause: "1"}]
operations: OPERATIONS
requires: REQUIRES
results:
  format: text
  facts: {program: '(SOLVER)', processes: 'on ([0-9]+)'}
  records: [{name: fom, pattern: 'fom (?P<value>[0-9]+)', unit: x/s}]
selection: {operation: fom, best: highest, clause: "1"}
checks: {CMP-04: "1", GEO-01: "1", GEO-03: "1", RUN-01: "1", RES-02: "2", STA-01: "1", STA-02: "1"}
"""
FOM = "{id: fom, title: FOM, record: fom, unit: x/s}"
# Rank 0 prints a rate: of as many processes, and of the repetition, which it counts in a file, or of its node.
PRINTS = 'test "$SLURM_PROCID" != 0 || {{ echo SOLVER; echo on $SLURM_NTASKS; {} }}'
BY_REPETITION = PRINTS.format('echo >> COUNT.$SLURM_NTASKS; echo "fom ${SLURM_NTASKS}0$(wc -l < COUNT.$SLURM_NTASKS)";')
BY_NODE = PRINTS.format('echo "fom 10${SLURMD_NODENAME##*[!0-9]}";')


def run_case(folder: Path, sandbox: Sandbox, prints: str, launch: str, operations: str, requires: str) -> Case:
    """The campaign, measured."""
    (folder / "packs").mkdir()
    text = PACK.replace("LAUNCH", launch).replace("OPERATIONS", operations).replace("REQUIRES", requires)
    (folder / "packs" / "solver.yaml").write_text(text)
    second_launch = "single: 1\n  two: {nodes: 2, processes: 2}" if "two" in launch else "{}"
    case = case_of(
        folder, sandbox, "solver", second_launch, prints.replace("COUNT", str(folder / "count")), folder / "packs"
    )
    file = case.file.read_text().replace("launch:\n  {}\n", "")
    if "two" in launch:
        file = re.sub("(?m)^repetitions: .*", "repetitions: 3", file)
    case.file.write_text(file)
    case.call("run", status=None)
    return case


def values(rows: list[dict[str, Any]]) -> dict[str, tuple[float | None, str]]:
    return {f"{row['launch']}/{row['operation']}": (row["value"], row["status"]) for row in rows}


def test_efficiency_and_mean_are_cells_with_all_their_lines_and_a_bundle_gives_the_same(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    case = run_case(
        tmp_path, sandbox, BY_REPETITION,
        '[{id: single, title: One, clause: "1", processes: 1, nodes: 1}, {id: two, title: Two, clause: "1", nodes: 2}]',
        f"[{FOM}, {{id: efficiency, title: Efficiency, formula: fom / (nodes * fom@single), unit: x}}, "
        "{id: average, title: Mean, formula: mean(fom), unit: x/s}]",
        '[{holds: efficiency >= 95%, clause: "2"}, {holds: efficiency >= 99%, clause: "2"}, '
        '{holds: max(fom) - min(fom) <= 2, clause: "2", over: repetitions}, '
        '{holds: max(fom) - min(fom) <= 1.5, clause: "2", over: repetitions, launch: [single], explain: true}]',
    )  # fmt: skip
    rows = case.table(status=None)
    assert values(rows) == {
        "single/fom": (103, "measured"), "single/average": (102, "measured"),
        "two/fom": (203, "measured"), "two/efficiency": (203 / 206, "invalid"), "two/average": (202, "measured"),
    }  # fmt: skip
    parts = {row["operation"]: [part["file"] for part in row["parts"]] for row in rows if row["launch"] == "two"}
    assert parts["efficiency"] == [f"runs/scratch.{name}.all.r3/1/stdout" for name in ("two", "single")]
    assert parts["average"] == [f"runs/scratch.two.all.r{number}/1/stdout" for number in (1, 2, 3)]
    output = " ".join(case.call("check", status=None).split())
    assert "clause 2 requires efficiency >= 99%; found efficiency 0.985" in output
    assert "clause 2 requires max(fom) - min(fom) <= 1.5" in output
    assert "efficiency >= 95%" not in output and "<= 2;" not in output
    assert "mean(fom), of 3 executions" in case.call("table", status=None)
    case.call("report", status=None)
    page = next((case.results / "report").glob("*.html")).read_text()
    assert "fom / (nodes * fom@single)" in page
    case.call("bundle", "-o", str(tmp_path / "evidence.zip"), status=None)
    verified = call("verify", tmp_path / "evidence.zip", "--details").stdout
    assert "re-evaluated from raw logs: identical" in verified
    assert "RES-02" in verified


def test_the_best_of_a_series_is_in_its_last_line_and_a_bundle_gives_the_same(tmp_path: Path, sandbox: Sandbox) -> None:
    case = run_case(
        tmp_path, sandbox, BY_REPETITION,
        '[{id: scale, title: "Nodes: {nodes}", clause: "1", nodes: "1, 3", processes_per_node: 1}]',
        f"[{FOM}, {{id: best, title: Best, formula: max(fom over scale), unit: x/s}}, "
        "{id: gain, title: Gain, formula: fom@scale_3 / min(fom over scale), unit: x}]",
        '[{holds: best >= 301, clause: "2"}, {holds: gain >= 4, clause: "2"}]',
    )  # fmt: skip
    rows = values(case.table(status=None))
    assert rows == {
        "scale-1/fom": (101, "measured"), "scale-3/fom": (301, "measured"),
        "scale-3/best": (301, "measured"), "scale-3/gain": (301 / 101, "invalid"),
    }  # fmt: skip
    assert "requires gain >= 4; found gain 2.98" in " ".join(case.call("check", status=None).split())
    case.check_bundle(tmp_path / "evidence.zip")


def test_conditions_over_nodes_are_kept_and_broken_and_the_mean_is_that_of_the_nodes(
    tmp_path: Path, sandbox: Sandbox
) -> None:
    case = run_case(
        tmp_path, sandbox, BY_NODE,
        '[{id: node, title: Each node, clause: "1", nodes: each, processes_per_node: 2}]',
        f"[{FOM}, {{id: average, title: Mean, formula: mean(fom), unit: x/s}}]",
        '[{holds: max(fom) - min(fom) <= 5% * mean(fom), clause: "2", over: nodes}, '
        '{holds: max(fom) - min(fom) < 3, clause: "2", over: nodes}, {holds: average > 103, clause: "2"}]',
    )  # fmt: skip
    assert values(case.table(status=None)) == {"node/fom": (102, "invalid"), "node/average": (102.5, "invalid")}
    output = " ".join(case.call("check", status=None).split())
    assert "requires max(fom) - min(fom) < 3; found fom 101 (runs/" in output
    assert "requires average > 103; found average 102 (runs/" in output
    assert "5% * mean(fom)" not in output

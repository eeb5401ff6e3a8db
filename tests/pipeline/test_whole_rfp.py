"""An RFP of three packs on a real Slurm: one command, killed in the middle and given again, one bundle, one verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from campaign.core.resources import PACKS
from campaign.sandbox.cluster import Sandbox
from tests.support import command_line
from tests.support.cases import Case, new_target, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(600)]
RFP = """
id: three
version: 1
title: Three benchmarks
parts:
  - {id: metadata, pack: crossroads-mdtest}
  - {id: bandwidth, pack: packs/ladder.yaml}
  - {id: network, pack: network-contention}
figures:
  stat: metadata/*/node/shared/stat
  write: bandwidth/*/node/shared/write
  pairs: network/*/two-nodes/one-way/total-2-16384
  nodes: "*/*/*/*/nodes"
requires:
  - {holds: stat > 1, clause: "1"}
  - {holds: max(nodes) == 4, clause: "2"}
  - {of: [write > 1e15, pairs > 1e15], clause: "3", explain: true}
  - {holds: total >= 1e15, clause: "4"}
clauses:
  - {id: "1", requires: a rate}
  - {id: "2", requires: four nodes}
  - {id: "3", requires: one of two rates}
  - {id: "4", requires: a score}
  - {id: "5", requires: a description, answered: Who runs it?}
scores:
  - id: total
    title: All three
    of: [{formula: stat, reference: 1000}, {formula: write, reference: 10}, {formula: pairs, reference: 10, weight: 2}]
"""
ANSWER = """
name: answer
rules: rfp.yaml
profile: rehearsal
targets: [{{name: scratch, directory: {target}}}]
slurm: {{time: 2m}}
answers: {{"3": small machines, "5": whoever runs the test}}
parts:
  metadata:
    items_total: 256
    launch: {{node: 2, peak: {{nodes: 2, processes: 4}}, max: all}}
  bandwidth:
    launch: {{node: 2, nodes: {{nodes: 2, processes: 4}}}}
    variables: {{block: 64k, transfer: 64k, segments: 2}}
  network:
    launch: {{two-nodes: 4}}
    variables: {{smallest: 16384, largest: 16384, window: 4}}
"""
ONLY = ("metadata/*/node/shared/*", "bandwidth/*/node/shared/*", "network/*/*/*/*")


def test_one_command_one_bundle_and_one_verdict_also_after_a_kill(tmp_path: Path, sandbox: Sandbox) -> None:
    target = new_target(sandbox, f"rfp-{tmp_path.name}")
    vendor, buyer = tmp_path / "vendor", tmp_path / "buyer/rfp"
    pack = (PACKS / "ior-cache-ladder.yaml").read_text().replace("id: ior-cache-ladder", "id: ladder")
    for folder in (vendor, buyer):
        (folder / "packs").mkdir(parents=True)
        (folder / "packs/ladder.yaml").write_text(pack)
        (folder / "rfp.yaml").write_text(RFP)
    case = Case(vendor / "answer.yaml", target, sandbox)
    case.file.write_text(ANSWER.format(target=target))
    options = [f"--only={cell}" for cell in ONLY]
    first = case.start("run", *options)
    began = case.results / "metadata/journal.jsonl"
    wait_until(lambda: began.exists() and "submitted" in began.read_text(), goal="a job")
    first.kill()
    first.communicate(timeout=800)

    stdout = case.call("run", *options, status=None)
    for part in ("metadata", "bandwidth", "network"):
        assert f"{part}: results: {case.results / part}" in stdout
    table = json.loads(case.call("table", "--format", "json", status=None))
    measured = {part: [row for row in rows if row["status"] == "measured"] for part, rows in table["parts"].items()}
    assert {part: max(row["attempts"] for row in rows) for part, rows in measured.items()} == dict.fromkeys(
        ("metadata", "bandwidth", "network"), 1
    ), "nothing was measured twice"
    (total,) = table["scores"]
    value = {row["operation"]: row["value"] for rows in measured.values() for row in rows}
    product = value["stat"] / 1000 * value["write"] / 10 * (value["total-2-16384"] / 10) ** 2
    assert total["value"] == pytest.approx(product**0.25)

    clauses = {line["clause"]: line["state"] for line in table["rfp_clauses"]}
    reasons = [line["why"] for line in table["rfp_clauses"]]
    assert clauses == {"1": "kept", "2": "kept", "3": "answered", "4": "violated", "5": "answered"}, reasons
    checked = case.call("check", status=1)
    assert " 1 rule is VIOLATED: clause 4 requires total >= 1e15; found total " in " ".join(checked.split())
    packed = case.call("bundle", "-o", str(tmp_path / "offer.zip"), status=1)
    assert "no buyer accepts this bundle: RES-03: clause 4 requires total >= 1e15" in packed
    verified = json.loads(
        command_line.call("verify", tmp_path / "offer.zip", "--json", environment=case.environment()).stdout
    )
    assert list(verified["parts"]) == ["metadata", "bandwidth", "network"]
    assert all(part["intact"] for part in verified["parts"].values())
    assert verified["scores"][0]["value"] == total["value"]
    assert verified["rfp_findings"] == table["rfp_findings"]
    assert [finding["explained"] for finding in verified["rfp_findings"]] == ["small machines", ""]
    assert " 1 rule is VIOLATED: clause 4" in verified["verdict_sentence"]
    assert verified["exit_status"] == 1

    draw = ["sample", tmp_path / "offer.zip", "--seed", "s", "-o", tmp_path / "sample.yaml"]
    draw += ["--cells", "1", "--repetitions", "1", "--at-least", "0.01", "--force"]
    refused = command_line.call(*draw, environment=case.environment())
    assert "measured by the rule pack packs/ladder.yaml, of which there is no copy here; give yours" in refused.stderr
    drawn = command_line.call(
        *draw,
        *("--rfp", buyer / "rfp.yaml"),
        environment=case.environment(),
    )
    assert drawn.returncode == 0, drawn.stderr
    for part in ("metadata", "bandwidth", "network"):
        assert f"cells to measure again: {part}/" in drawn.stdout
        assert f"sample-{part}.yaml" in drawn.stdout.partition("SAMPLES DRAWN")[2], "the steps name all files"
        sample = Case(tmp_path / f"sample-{part}.yaml", target, sandbox)
        sample.call("run", status=None)
    process = command_line.call(
        *("accept", tmp_path / "offer.zip", tmp_path / "sample.yaml", "--at-least", "0.01", "--allow", "*"),
        environment=case.environment(),
    )
    assert process.returncode == 0, process.stdout + process.stderr
    for part in ("metadata", "bandwidth", "network"):
        assert f"  {part} " in process.stdout.partition("=== part")[0], "the decision on all is the first"
        assert f"=== part {part} ===" in process.stdout
    (buyer / "packs/ladder.yaml").write_text(f"{pack}# changed\n")
    refused = command_line.call("accept", tmp_path / "offer.zip", tmp_path / "sample.yaml", "--at-least", "0.01")
    assert "packs/ladder.yaml differs from the pack of the bundle: SHA-256 " in refused.stderr

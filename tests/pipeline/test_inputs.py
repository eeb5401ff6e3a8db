"""Input files as evidence: hashed by the job before each run, judged by check, verify and rerun (INP-01)."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.pipeline.test_declared_packs import case_of
from tests.support import bundled, command_line, facts, fake_slurm
from tests.support.command_line import drive

FIRST, SECOND = "scratch.single.shared.r1", "scratch.single.unique.r1"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class InputCampaign:
    """A campaign on the fake Slurm whose first run, once it is hashed, makes its input a byte longer."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.box = folder, folder / "in put.box"
        self.box.write_text("box 16 16 16\n")
        self.first = digest(self.box)
        swap = folder / "swap.sh"
        swap.write_text(f'[ "$(wc -l <"{self.box}")" -gt 1 ] || echo >>"{self.box}"\nexec /bin/bash "$@"\n')
        further_text = 'inputs: [{id: box, path: "in put.box"}]\n'
        self.file = fake_slurm.campaign_file(folder, "swapped", lines=further_text)
        self.file.write_text(self.file.read_text().replace("prefix: [/bin/bash]", f"prefix: [/bin/bash, {swap}]"))

    def call(self, *words: str | Path, status: int | None = None) -> subprocess.CompletedProcess[str]:
        process = drive(*words, cwd=self.folder)
        assert status in (None, process.returncode), process
        return process

    def input_hashes(self, run: str) -> list[str]:
        """NODE SHA-256 SIZE PATH of each file."""
        entries = facts.read_source(self.folder / f"results/swapped/runs/{run}/1", "inputs")
        return [
            f"{hash_['node']} {hash_['value']} {size['value']} {size['name']}"
            for hash_, size in zip(entries[::2], entries[1::2], strict=True)
        ]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InputCampaign]:
    folder = tmp_path_factory.mktemp("swapped")
    with pytest.MonkeyPatch.context() as monkeypatch, fake_slurm.running_cluster(folder, monkeypatch):
        campaign = InputCampaign(folder)
        campaign.call("run", campaign.file)
        yield campaign


def input_findings(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [finding for finding in findings if finding["rule"] == "INP-01"]


def test_each_run_has_the_hash_of_its_inputs(campaign: InputCampaign) -> None:
    assert campaign.input_hashes(FIRST) == [f"n1 {campaign.first} 13 {campaign.box}"]
    assert campaign.input_hashes(SECOND) == [f"n1 {digest(campaign.box)} 14 {campaign.box}"]


def test_an_input_that_was_swapped_by_one_byte_is_a_violation(campaign: InputCampaign) -> None:
    found_of_inputs = input_findings(json.loads(campaign.call("check", campaign.file, "--json", status=1).stdout))
    assert {finding["severity"] for finding in found_of_inputs} == {"E"}
    assert {finding["subject"] for finding in found_of_inputs}.isdisjoint({f"{FIRST}/1"})
    fields = next(finding for finding in found_of_inputs if finding["subject"] == f"{SECOND}/1")
    assert fields["message"] == f"input box differs from the file of the first plan: {campaign.box}"
    assert fields["expected"] == f"SHA-256 {campaign.first}"
    place = re.escape(f"{digest(campaign.box)} (14 bytes) on n1, runs/{SECOND}/1/facts.jsonl:")
    assert re.fullmatch(place + "[0-9]+", fields["actual"])


def test_a_bundle_takes_no_changed_input(campaign: InputCampaign, tmp_path: Path) -> None:
    process = campaign.call("bundle", campaign.file, "-o", tmp_path / "bundle", status=2)
    text = f"{campaign.box}: differs from the file of the first plan, whose SHA-256 is {campaign.first}; restore it"
    assert text in process.stderr


@pytest.fixture(scope="module")
def bag(campaign: InputCampaign, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle, for which the input was restored."""
    changed_text, bag = campaign.box.read_text(), tmp_path_factory.mktemp("bag") / "bundle"
    campaign.box.write_text(changed_text.removesuffix("\n"))
    try:
        campaign.call("bundle", campaign.file, "-o", bag, status=1)
    finally:
        campaign.box.write_text(changed_text)
    return bag


def test_a_buyer_finds_the_same_in_the_bundle_and_compares_the_copy(
    campaign: InputCampaign, bag: Path, tmp_path: Path
) -> None:
    assert verification_errors(bag) == []
    document = json.loads(campaign.call("check", campaign.file, "--json").stdout)
    assert input_findings(json.loads((bag / "data/findings.json").read_text())) == input_findings(document) != []
    forged = Path(shutil.copytree(bag, tmp_path / "forged"))
    copy = forged / f"data/files/1-{campaign.box.name}"
    copy.write_text("box 16 16 17\n")
    bundled.forge(forged)
    assert verification_errors(forged) == [
        "the copy of input box in the bundle is not the file of the first plan",
        f"SHA-256 {campaign.first}",
        digest(copy),
    ]


def verification_errors(bag: Path) -> list[str]:
    """What a buyer finds wrong with a bundle; in it, nothing has to be wrong besides one thing."""
    process = command_line.call("verify", bag, "--json", environment={"PATH": "/usr/bin:/bin"})
    findings = [finding for finding in json.loads(process.stdout)["findings"] if finding["severity"] == "E"]
    return [finding[key] for finding in findings for key in ("message", "expected", "actual")]


def test_nothing_is_measured_again_with_a_changed_input(campaign: InputCampaign) -> None:
    process = campaign.call("rerun", campaign.file, "scratch/node/shared/create", status=2)
    problem = f"is not the file of the first plan: found SHA-256 {digest(campaign.box)}, expected {campaign.first}"
    assert f"{campaign.box} {problem}" in process.stderr
    assert process.stderr.startswith(f"campaign: {campaign.file}:11:9: inputs: box: "), process.stderr


def test_a_declared_input_is_measured_again(campaign: InputCampaign) -> None:
    text = campaign.file.read_text()
    campaign.file.write_text(text.replace('box"}', f'box", sha256: {digest(campaign.box)}}}'))
    try:
        planned = campaign.call("plan", campaign.file, status=0)
    finally:
        campaign.file.write_text(text)
    assert f"input box: {campaign.box} (SHA-256 {digest(campaign.box)}, by the campaign file)" in planned.stdout
    assert f"inputs.box: {campaign.first[:16]} -> {digest(campaign.box)[:16]}" in planned.stderr


# --- a pack that fixes its input, on a real Slurm

PACK = """\
id: boxed
version: 1
title: A pack whose program reads an input
document: nothing but this test
caption: Boxes
inputs: [{{id: box, path: box.in, sha256: {sha256}, clause: "2.1"}}]
programs:
  - id: boxed
    results:
      format: text
      records: [{{name: atoms, pattern: '(?P<value>[0-9]+) atoms', unit: atoms/s}}]
phases:
  - {{id: copy, clause: "2.1", write: "{{directory}}/box", input: box}}
  - {{id: list, clause: "2.1", write: "{{directory}}/list", text: "{{box}}"}}
  - {{id: read, clause: "1", program: boxed, arguments: "box {{box}} {{directory}}/list"}}
launch: [{{id: pair, title: Two nodes, clause: "1", processes: 2, nodes: 2}}]
files:
  - {{id: first, title: As it comes, clause: "1"}}
  - {{id: second, title: Once more, clause: "1"}}
operations: [{{id: atoms, title: Atoms, phase: read, record: atoms, unit: atoms/s}}]
selection: {{operation: atoms, best: highest, clause: "1"}}
checks: {{RUN-06: "1", RUN-09: "1", FLG-03: "1", FLG-05: "1", INP-01: "2.1"}}
clauses:
  - {{id: "1", requires: Runs on two nodes}}
  - {{id: "2.1", requires: The box is the RFP's}}
"""


@pytest.mark.slurm
@pytest.mark.mpi
@pytest.mark.timeout(900)
def test_a_box_swapped_on_a_cluster_is_a_violation_of_its_clause(tmp_path: Path, sandbox: Sandbox) -> None:
    place = tmp_path / "packs"
    place.mkdir()
    box = place / "box.in"
    box.write_text("4000 atoms\n")
    (place / "boxed.yaml").write_text(PACK.format(sha256=digest(box)))
    prints = '[ "${SLURM_PROCID:-0}" != 0 ] || { cmp "$1" "$2" && cat "$1" && sed -i s/4000/8000/ "$(cat "$3")"; }'
    case = case_of(tmp_path, sandbox, "boxed", "pair: {nodes: 2, processes: 2}", prints, place)
    case.call("run", status=1)
    assert {row["files"]: row["status"] for row in case.table(status=1)} == {"first": "measured", "second": "invalid"}
    found_of_inputs = input_findings(json.loads(case.call("check", "--json", status=1)))
    assert [(finding["severity"], finding["clause"]) for finding in found_of_inputs] == [("E", "2.1")]
    assert found_of_inputs[0]["message"] == f"input box differs from the file of the rule pack: {box}"
    output = case.call("table", "--clauses", status=None)
    assert "2.1     The box is the RFP's  violated" in output
    box.write_text("4000 atoms\n")
    case.check_bundle(tmp_path / "evidence.zip")
    box.write_text("4001 atoms\n")
    case.call("rerun", "*/*/*/*", status=2)

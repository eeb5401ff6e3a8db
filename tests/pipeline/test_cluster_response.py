"""An RFP with seven programs that everybody has (docs/examples/cluster) on a real Slurm: measured, killed in the
middle and continued, its form filled, its bundle verified.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from campaign.sandbox.cluster import Sandbox
from tests.support import command_line
from tests.support.cases import Case, new_target, wait_until

pytestmark = [pytest.mark.slurm, pytest.mark.mpi, pytest.mark.timeout(2700)]
EXAMPLE = Path(__file__).parents[2] / "docs/examples/cluster"
PARTS = ("metadata", "bandwidth", "node-io", "network", "kernels", "dft", "md")
AMENDED = {
    "version: 1": "version: 2",
    "{holds: total >= 0.01, ": "{holds: total >= 0.02, ",
}


def test_seven_programs_are_measured_once_reported_and_verified(tmp_path: Path, sandbox: Sandbox) -> None:
    vendor, buyer = tmp_path / "vendor", tmp_path / "buyer"
    for folder in (vendor, buyer):
        shutil.copytree(EXAMPLE, folder)
    target, disk = new_target(sandbox, f"cluster-{tmp_path.name}"), tmp_path / "disk"
    disk.mkdir()
    case = Case(vendor / "response.yaml", target, sandbox)
    places = {"$CAMPAIGN_SCRATCH": str(target), "/var/tmp": str(disk), "../../../results": "results"}
    text = case.file.read_text()
    for place, place_here in places.items():
        text = text.replace(place, place_here)
    case.file.write_text(text)

    driver = case.start("run")
    results = vendor / "results/cluster-response"
    journal = results / "network/journal.jsonl"
    wait_until(lambda: journal.exists() and '"ended"' in journal.read_text(), goal="a run of the fourth part")
    driver.kill()
    driver.communicate(timeout=800)
    stdout = case.call("run", timeout=1600)
    assert "READY TO HAND IN: RFP cluster 1" in stdout
    table = json.loads(case.call("table", "--format", "json"))
    assert tuple(table["parts"]) == PARTS
    assert {row["status"] for rows in table["parts"].values() for row in rows} == {"measured"}
    attempts = {path.parent.name for path in results.glob("*/runs/*/*/attempt.json")}
    assert attempts == {"1"}, "nothing was measured twice"
    states = {line["clause"]: line["state"] for line in table["rfp_clauses"]}
    assert {states[clause] for clause in ("2", "3", "5", "6", "7", "8.1", "8.2", "8.3", "8.4", "8.5")} == {"kept"}
    assert (states["8.7"], states["8.8"]) == ("answered", "to be looked at")
    assert all(score["value"] > 0 for score in table["scores"])

    form, offer = tmp_path / "filled.xlsx", tmp_path / "offer.zip"
    case.call("fill", str(vendor / "form.xlsx"), "-o", str(form))
    key, signers = tmp_path / "key", tmp_path / "signers"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True, timeout=60)
    signers.write_text(f"vendor {key.with_suffix('.pub').read_text()}")
    case.call("bundle", "-o", str(offer), "--sign", str(key))
    verify = ("verify", offer, "--table", form, "--rfp", buyer / "rfp.yaml", "--signers", signers)
    verification = command_line.call(*verify)
    assert verification.returncode == 4, verification.stdout + verification.stderr
    assert "the scores follow from the parts" in verification.stdout
    assert "7 parts are there; no mandatory part is missing." in verification.stdout
    assert "EVD-05 the RFP is identical to yours" in verification.stdout
    assert "filled.xlsx: the bundle's in all that was compared" in verification.stdout

    amended_text = (buyer / "rfp.yaml").read_text()
    for old, new in AMENDED.items():
        assert old in amended_text
        amended_text = amended_text.replace(old, new, 1)
    (buyer / "rfp.yaml").write_text(amended_text)
    verification = command_line.call(*verify)
    assert verification.returncode == 4, verification.stdout + verification.stderr
    assert "measured under version 1" in verification.stdout

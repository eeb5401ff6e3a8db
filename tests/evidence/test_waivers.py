"""Waivers from the buyer's signature to his verdict, and a sample that is accepted, as both sides run the commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import bundled
from tests.support.bundled import Vendor

pytestmark = pytest.mark.programs


@pytest.fixture(scope="module")
def waived(tmp_path_factory: pytest.TempPathFactory) -> Vendor:
    """A campaign with two waivers, each signed by the buyer over the text that the tool prints, and its bundle."""
    return bundled.waived(bundled.make(tmp_path_factory.mktemp("waived")))


def is_contradicted(waived: Vendor, *words: str | Path) -> bool:
    document = json.loads(waived.call("verify", waived.root / "waived", "--json", *words).stdout)
    return bool(document["conclusion"]["evidence"] == "CONTRADICTED")


def test_waivers_count_with_the_keys_that_the_buyer_names_himself(waived: Vendor) -> None:
    assert not is_contradicted(waived, "--waiver-signers", waived.root / "buyers")


def test_without_his_keys_or_with_others_they_do_not_count(waived: Vendor) -> None:
    assert is_contradicted(waived)
    assert is_contradicted(waived, "--waiver-signers", waived.signers)


def test_a_sample_is_accepted_once_it_was_measured_again_alike(waived: Vendor) -> None:
    challenge, bundle = waived.root / "challenge.yaml", waived.root / "waived"
    keys = ("--waiver-signers", waived.root / "buyers")
    drawn = waived.call("sample", bundle, "--cells", "2", "--seed", "2026-118", "-o", challenge, *keys)
    assert drawn.returncode == 0, drawn.stderr
    process = waived.call("accept", bundle, challenge, "--reported", *keys)
    assert (process.returncode, "not measured yet; run it" in process.stderr) == (2, True), process.stderr
    on_time = replace(waived, environment={**waived.environment, "FAKE_TRUE_CLOCK": "1"})
    run_process = on_time.call("run", challenge)
    accept_process = waived.call("accept", bundle, challenge, "--reported", "--at-least", "0.5", *keys)
    assert "\nSAMPLE MEASURED: campaign " in run_process.stdout and "campaign accept BUNDLE" in run_process.stdout
    assert accept_process.stdout.startswith("ACCEPTED: waived, challenge.yaml"), (
        run_process.stdout + accept_process.stdout
    )
    assert "2 of 2 drawn results are accepted." in accept_process.stdout
    assert accept_process.returncode == 0


def test_a_sample_with_a_failed_run_is_undecided_until_the_further_repetition_is_measured(waived: Vendor) -> None:
    folder, bundle = waived.root / "undecided", waived.root / "waived"
    folder.mkdir()
    challenge = folder / "challenge.yaml"
    keys = ("--waiver-signers", waived.root / "buyers")
    words = ("--cells", "2", "--repetitions", "2", "--sessions", "1", "--seed", "2026-119", "-o", challenge, *keys)
    assert waived.call("sample", bundle, *words).returncode == 0
    on_time = replace(waived, environment={**waived.environment, "FAKE_TRUE_CLOCK": "1"})
    (waived.root / "fake/faults/bench-fails.once").write_text("broken\n")
    on_time.call("run", challenge)
    process = waived.call("accept", bundle, challenge, "--further", *keys)
    assert process.returncode == 4, process.stdout + process.stderr
    assert "2 of 2 drawn results are undecided: scratch/" in process.stdout
    assert "not allowed (--allow KEY): attempts: each run once in the bundle, 1 failed in the sample" in process.stdout
    run_process = on_time.call("run", challenge)
    process = waived.call("accept", bundle, challenge, *keys)
    assert process.returncode == 4, run_process.stdout + process.stdout
    process = waived.call("accept", bundle, challenge, "--allow", "attempts", *keys)
    assert process.stdout.startswith("ACCEPTED: waived, challenge.yaml"), process.stdout
    assert process.returncode == 0

"""The journal's head is sent to a time-stamp service whenever runs have ended."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from campaign.config.definition import Definition
from campaign.config.format import EvidenceSettings
from campaign.core import timestamps
from campaign.core.events import hash_of
from campaign.core.runs import State
from campaign.core.units import parse_duration
from campaign.evidence import verify
from campaign.evidence.verify import Buyer
from campaign.pipeline.run import Stamping
from campaign.sandbox.cluster import Sandbox
from tests.support import builders
from tests.support.authority import make
from tests.support.cases import make_case


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    return make(tmp_path / "authority")


def stamping(root: Path, service: str, messages: list[str]) -> Stamping:
    campaign = builders.campaign(root, evidence=EvidenceSettings(service))
    store = builders.filled_store(root, builders.expand(campaign)[:3])
    return Stamping(Definition(campaign, builders.pack()), store, messages.append)


def end(by: Stamping, number: int) -> str:
    """An attempt ends; the head with it."""
    attempt = by.store.attempts()[number]
    by.store.record_end(attempt, State.DONE, "", 1.0, 2.0)
    return by.store.head


def replies(root: Path) -> set[str]:
    return {path.stem for path in (root / "timestamps").glob("*.tsr")}


def test_each_end_of_an_attempt_is_stamped_once(tmp_path: Path, authority: Path) -> None:
    messages: list[str] = []
    by = stamping(tmp_path, str(authority / "stamp"), messages)
    by.step()
    assert replies(tmp_path) == set()
    heads = set()
    for number in range(2):
        heads.add(end(by, number))
        for _ in range(2):
            by.step()
        by.store.note("cancel", jobs=[])  # a later event moves the head on
        by.step()
        assert replies(tmp_path) == heads
    for head in heads:
        stamp = timestamps.read(tmp_path / f"timestamps/{head}.tsr", authority / "cert.pem")
        assert (stamp.digest, stamp.problem) == (head, "")
    assert messages == []


def test_a_failure_is_reported_once_and_repeated_with_the_next_end_and_at_the_last(
    tmp_path: Path, authority: Path
) -> None:
    messages: list[str] = []
    by = stamping(tmp_path, str(authority / "stamp"), messages)
    (authority / "closed").touch()
    for number in range(2):
        head = end(by, number)
        for _ in range(3):
            by.step()
    assert len(messages) == 1 and "/stamp: status 1: closed today; it is asked for again" in messages[0]
    (authority / "closed").unlink()
    by.step()
    assert replies(tmp_path) == set()
    by.step(last=True)
    assert replies(tmp_path) == {head}
    following = end(by, 2)
    by.step()
    assert replies(tmp_path) == {head, following} and len(messages) == 1


def test_without_a_service_nothing_is_sent(tmp_path: Path) -> None:
    by = stamping(tmp_path, "", [])
    end(by, 0)
    by.step(last=True)
    assert not (tmp_path / "timestamps").exists()


@pytest.mark.slurm
@pytest.mark.mpi
def test_a_driver_sends_the_head_of_each_job_that_ends_and_the_bundle_has_the_replies(
    tmp_path: Path, sandbox: Sandbox, authority: Path
) -> None:
    case = make_case(tmp_path, sandbox, "stamped", lines=f"evidence: {{timestamp: {authority}/stamp}}\n")
    began = time.time()
    case.call("run", status=None)
    lasted_s = time.time() - began
    lines = (case.results / "journal.jsonl").read_bytes().splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines) if json.loads(line)["event"] == "ended"]
    stamped = [number for number, line in enumerate(lines) if hash_of(line) in replies(case.results)]
    jobs = {json.loads(line)["job"] for line in lines if json.loads(line)["event"] == "job"}
    assert len(stamped) >= len(jobs) > 1 and max(stamped) >= max(ends)
    case.check_bundle(tmp_path / "bundle")
    assert replies(tmp_path / "bundle/data/results") == replies(case.results)
    with verify.verify(tmp_path / "bundle", Buyer(authority=authority / "cert.pem")) as verified:
        (finding,) = [entry for entry in verified.findings if "time stamp" in entry.message]
        assert (finding.rule, str(finding.severity)) == ("EVD-02", "I")
        assert f"{len(stamped)} time stamps prove" in finding.message
        waited = finding.message.rpartition("at most ")[2].partition(" ")[0]
        assert parse_duration(waited) <= lasted_s + 1

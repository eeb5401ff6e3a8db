"""A campaign whose journal was damaged goes on with what is proven, and the buyer is told what is not."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.core.events import Event, hash_of
from campaign.core.findings import Finding
from campaign.core.processes import Process
from campaign.evidence import verify
from campaign.evidence.verify import Buyer, VerifiedPart
from tests.support import bundled
from tests.support.bundled import Vendor

Lines = list[bytes]
ALL = [f"{launch}.{files}" for launch in ("single", "node", "peak", "max") for files in ("shared", "unique", "onefile")]
NONE = slice(0, 0)


@pytest.fixture
def vendor_copy(vendor: Vendor, tmp_path: Path) -> Vendor:
    """The campaign once more, as it ended."""
    shutil.copytree(vendor.root, tmp_path / "again", symlinks=True)
    return replace(vendor, root=tmp_path / "again")


def results(vendor: Vendor) -> Path:
    return vendor.root / "results/bundled"


def lines_of(vendor: Vendor) -> Lines:
    return (results(vendor) / "journal.jsonl").read_bytes().splitlines(keepends=True)


def place(lines: Lines, event: str, last: bool = False) -> int:
    line_numbers = [number for number, line in enumerate(lines) if json.loads(line)["event"] == event]
    return line_numbers[-1 if last else 0]


def garbage_in_the_middle(lines: Lines) -> Lines:
    at = place(lines, "ended") + 1
    return [*lines[:at], b"\0" * 200 + b"\n", *lines[at + 1 :]]


def end_edited(lines: Lines) -> Lines:
    at = place(lines, "ended")
    return [*lines[:at], lines[at].replace(b'"state": "done"', b'"state": "lost"'), *lines[at + 1 :]]


def job_taken_out(lines: Lines) -> Lines:
    at = place(lines, "job", last=True)
    return [*lines[:at], *lines[at + 1 :]]


def first_damaged(lines: Lines) -> Lines:
    return [b"\xff" + lines[0], *lines[1:]]


def zero_lines(lines: Lines) -> Lines:
    return [b"\0" * len(line) for line in lines]


def shorten_end(lines: Lines) -> Lines:
    at = place(lines, "ended", last=True)
    return [*lines[:at], lines[at][:40]]


def verify_bundle(bag: Path, *heads: str) -> VerifiedPart:
    with verify.verify(bag, Buyer(heads=heads)) as verified:
        return verified


def findings_of_rule(verified: VerifiedPart, rule: str) -> list[Finding]:
    assert verified.evaluation is not None
    return [
        finding
        for finding in (*verified.findings, *verified.evaluation.submission.all_findings)
        if finding.rule == rule
    ]


def losses(vendor: Vendor) -> Event:
    return [event for line in lines_of(vendor) if (event := json.loads(line))["event"] == "recovered"][-1]


def run_states(vendor: Vendor) -> dict[str, str]:
    states = json.loads(vendor.call("status", vendor.file, "--json").stdout)
    return {f"{run['run']}/{run['attempt']}": run["state"] for run in states}


@pytest.mark.parametrize(
    ("damage", "ends", "unnamed"),
    [
        (garbage_in_the_middle, slice(0, 2), []),
        (end_edited, slice(0, 1), []),
        (job_taken_out, NONE, ALL[6:]),
        (first_damaged, NONE, []),
        (zero_lines, NONE, ALL),
        (shorten_end, slice(-1, None), []),
    ],
)
def test_a_damaged_journal_is_recovered_and_what_is_lost_is_reported_to_the_buyer(
    vendor: Vendor, vendor_copy: Vendor, damage: Callable[[Lines], Lines], ends: slice, unnamed: list[str]
) -> None:
    path = results(vendor_copy) / "journal.jsonl"
    end_events = [event for line in lines_of(vendor_copy) if (event := json.loads(line))["event"] == "ended"]
    path.write_bytes(b"".join(damage(lines_of(vendor_copy))))
    damaged = path.read_bytes()
    assert "campaign collect FILE --recover" in vendor_copy.call("run", vendor_copy.file).stderr
    process = vendor_copy.call("collect", vendor_copy.file, "--recover")
    assert process.returncode == 0, process.stderr
    assert (results(vendor_copy) / "journal.damaged-1.jsonl").read_bytes() == damaged
    found_losses = losses(vendor_copy)
    assert sorted(found_losses["open"]) == sorted(f"{end['run']}/{end['number']}" for end in end_events[ends])
    assert found_losses["unnamed"] == sorted(f"scratch.{name}.r1/1" for name in unnamed)
    (message,) = (line for line in process.stdout.splitlines() if line.startswith("journal.jsonl was damaged"))
    states = run_states(vendor_copy)
    assert all(states[name] == "done" for name in found_losses["open"])  # by the job's own record
    assert {name for name, state in states.items() if state != "done"} == {
        f"{name.removesuffix('/1')}/None" for name in found_losses["unnamed"]
    }
    vendor_copy.call("run", vendor_copy.file)
    assert {name: state for name, state in run_states(vendor_copy).items() if state != "done"} == {}
    assert {name.rpartition("/")[0] for name in run_states(vendor_copy) if name.endswith("/2")} == {
        name.rpartition("/")[0] for name in found_losses["unnamed"]
    }
    vendor_copy.call("bundle", vendor_copy.file, "-o", vendor_copy.root / "new")
    assert (vendor_copy.root / "new/data/results/journal.damaged-1.jsonl").read_bytes() == damaged
    recovered, honest = verify_bundle(vendor_copy.root / "new"), verify_bundle(vendor.root / "plain")
    assert message in [finding.message for finding in findings_of_rule(recovered, "EVD-02") if finding.asks]
    assert (
        findings_of_rule(recovered, "EVD-01")
        == []
        == findings_of_rule(recovered, "CMP-05")
        == findings_of_rule(recovered, "EVD-04")
    )
    has_begin = json.loads(lines_of(vendor_copy)[0])["event"] == "begin"
    assert {finding.message for finding in findings_of_rule(recovered, "EVD-02") if finding.violated} == (
        set() if has_begin else {"the journal does not start with the nonce of the campaign file"}
    )
    if unnamed:
        assert any("are not on record" in finding.message for finding in findings_of_rule(recovered, "RUN-08"))
    assert recovered.decision.outcome == honest.decision.outcome == "NOT VALID"


def test_a_whole_journal_is_left_as_it_is(vendor_copy: Vendor) -> None:
    before = lines_of(vendor_copy)
    process = vendor_copy.call("collect", vendor_copy.file, "--recover")
    assert (process.returncode, process.stdout) == (
        0,
        f"nothing to recover: {results(vendor_copy)}/journal.jsonl is not damaged\n",
    )
    assert lines_of(vendor_copy) == before
    assert not list(results(vendor_copy).glob("journal.damaged-*"))


def test_a_journal_is_not_recovered_under_a_driver_at_work(vendor_copy: Vendor) -> None:
    """Whether it holds the write lock, or waits for its jobs."""
    path = results(vendor_copy) / "journal.jsonl"
    path.write_bytes(b"".join(end_edited(lines_of(vendor_copy))))
    before = path.read_bytes()
    with closing(sqlite3.connect(results(vendor_copy) / "campaign.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        process = vendor_copy.call("collect", vendor_copy.file, "--recover")
    assert process.returncode == 3
    assert "is locked: another campaign command is at work" in process.stderr
    with subprocess.Popen(["sleep", "100"]) as driver:
        name = f"{socket.gethostname()}:{driver.pid}:{Process.from_pid(driver.pid).started}"
        submitter = json.loads(lines_of(vendor_copy)[place(lines_of(vendor_copy), "job")])["submitter"]
        bundled.rechain(path, {submitter: name})
        path.write_bytes(b"".join(job_taken_out(lines_of(vendor_copy))))
        before = path.read_bytes()
        process = vendor_copy.call("collect", vendor_copy.file, "--recover")
        driver.kill()
    assert process.returncode == 3
    assert f"a driver is at work ({name}" in process.stderr
    assert path.read_bytes() == before
    assert sorted(path.name for path in results(vendor_copy).glob("journal*")) == ["journal.jsonl"]


def test_a_head_behind_lost_lines_is_known_and_binds_nothing_before_them(vendor_copy: Vendor) -> None:
    heads = [hash_of(line) for line in lines_of(vendor_copy)]
    path = results(vendor_copy) / "journal.jsonl"
    path.write_bytes(b"".join(job_taken_out(lines_of(vendor_copy))))
    vendor_copy.call("collect", vendor_copy.file, "--recover")
    vendor_copy.call("run", vendor_copy.file)
    vendor_copy.call("bundle", vendor_copy.file, "-o", vendor_copy.root / "new")
    fields = {}
    for name, head in (("before", heads[2]), ("lost", heads[3]), ("behind", heads[-1])):
        findings = findings_of_rule(verify_bundle(vendor_copy.root / "new", head), "EVD-02")
        fields[name] = [
            (finding.message, finding.violated)
            for finding in findings
            if "head" in finding.message or "rewritten" in finding.message
        ]
    unbound = "the journal may have been rewritten", False
    assert fields == {
        "before": [
            unbound,
            ("a journal head was sent before the first run had ended: it proves nothing about runs", False),
        ],
        "lost": [
            ("the journal head sent during the campaign is missing: the journal was rewritten afterwards", True),
        ],
        "behind": [
            unbound,
            (
                "the journal head sent during the campaign belongs to a line after lost ones: it proves nothing about "
                "what was recorded before them",
                False,
            ),
        ],
    }

"""A campaign on the fake Slurm with its bundle, made once for a module of tests, and what a forger does to it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from campaign.core import bagit
from campaign.evidence import provenance, replay
from campaign.results.file_hashes import digests
from tests.support import command_line, fake_slurm

WAIVERS = """
allowed_signers: {signers}
waivers:
- {{rule: RUN-02, cells: "*/*/*/*", reason: the clock of the trial system, by: buyer, date: "2020-01-01",
   expires: "2099-01-01", signature: {root}/waiver-1.sig}}
- {{rule: SRC-05, cells: "*/*/*/*", reason: a trial without a build record, by: buyer, date: "2020-01-01",
   expires: "2099-01-01", signature: {root}/waiver-2.sig}}
"""


@dataclass(frozen=True)
class Vendor:
    root: Path
    environment: dict[str, str]

    @property
    def file(self) -> Path:
        return self.root / "campaign.yaml"

    @property
    def key(self) -> Path:
        return self.root / "key"

    @property
    def signers(self) -> Path:
        return self.root / "signers"

    def call(self, *words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """A driver has a process of its own, which ends its jobs where it is ended."""
        use = command_line.drive if words[0] == "run" else command_line.call
        return use(*words, environment=self.environment, cwd=cwd)


def make(root: Path, repetitions: int = 1) -> Vendor:
    """Run the campaign, and bundle it signed, as `bag`, and unsigned, as `plain`."""
    for name in ("jobs", "faults", "scripts"):
        (root / "fake" / name).mkdir(parents=True)
    vendor = Vendor(root, {**os.environ, **fake_slurm.Fake(root / "fake").environment()})
    further_text = f"repetitions: {repetitions}\nnonce: buyer-2026\n"
    fake_slurm.campaign_file(root, "bundled", vendor.file.name, further_text)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", vendor.key], timeout=800, check=True)
    vendor.signers.write_text(f"vendor {vendor.key.with_suffix('.pub').read_text()}")
    process = vendor.call("run", vendor.file)
    assert process.returncode in (0, 1), process.stderr
    signing: tuple[str | Path, ...] = ("--sign", vendor.key)
    for name, options in (("plain", ()), ("bag", signing)):
        process = vendor.call("bundle", vendor.file, "-o", root / name, *options)
        assert process.returncode in (0, 1), process.stderr
    return vendor


def waived(vendor: Vendor) -> Vendor:
    """The campaign with two waivers, each signed by the buyer over the text that the program prints, and its bundle
    `waived`; the buyer's key is in `buyers`.
    """
    root, key = vendor.root, vendor.root / "buyer"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], timeout=800, check=True)
    (root / "buyers").write_text(f"buyer {key.with_suffix('.pub').read_text()}")
    vendor.file.write_text(vendor.file.read_text() + WAIVERS.format(signers=root / "buyers", root=root))
    for number in (1, 2):
        text = vendor.call("check", vendor.file, "--waiver", str(number))
        assert text.returncode == 0, text.stderr
        words: list[str | Path] = ["ssh-keygen", "-q", "-Y", "sign", "-n", "campaign-waiver", "-f", key]
        process = subprocess.run(words, input=text.stdout, capture_output=True, text=True, timeout=800, check=True)
        (root / f"waiver-{number}.sig").write_text(process.stdout)
    process = vendor.call("bundle", vendor.file, "-o", root / "waived")
    assert process.returncode in (0, 1), process.stderr
    return vendor


def copy(vendor: Vendor, name: str, to: Path) -> Path:
    return Path(shutil.copytree(vendor.root / name, to))


def forge(bag: Path) -> None:
    """Make the hashes of a changed bag anew, as anybody can who has no key."""
    info = dict(line.split(": ", 1) for line in (bag / "bag-info.txt").read_text().splitlines())
    del info["Payload-Oxum"]
    bagit.finish(bag, info)


def rebind(bag: Path) -> None:
    """Give the journal the hashes of the raw outputs as they are now, and make its chain anew."""
    results, journal = bag / "data/results", bag / "data/results/journal.jsonl"
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    for event in events:
        if event["event"] == "ended":
            event["files"] = digests(results / "runs" / event["run"] / str(event["number"]))
    journal.write_text("".join(json.dumps(event, ensure_ascii=False) + "\n" for event in events))
    rechain(journal, {})
    head = hashlib.sha256(journal.read_bytes().splitlines(keepends=True)[-1]).hexdigest()
    info = bag / "bag-info.txt"
    info.write_text(re.sub(r"Journal-Head: \S+", f"Journal-Head: {head}", info.read_text()))


def redo(bag: Path) -> None:
    """Make tables, findings, verdict, metadata and all hashes anew from the evidence: a forger who forgets nothing."""
    rebind(bag)
    data = bag / "data"
    evaluation = replay.reevaluate(data)
    for name, text in evaluation.files.items():
        (data / name).write_text(text)
    for name, text in provenance.statements(data, evaluation, replay.read_names(data).tool).items():
        (data / name).write_text(text)
    info = dict(line.split(": ", 1) for line in (bag / "bag-info.txt").read_text().splitlines())
    (data / provenance.CRATE).write_text(provenance.crate(evaluation, data, info["Bagging-Date"]))
    forge(bag)


def rechain(journal: Path, changes: Mapping[str, str]) -> None:
    """Change a journal's text and make its chain anew."""
    previous, lines = "0" * 64, []
    for line in journal.read_text().splitlines():
        for old, new in changes.items():
            line = line.replace(old, new)
        event = {**json.loads(line), "previous": previous}
        text = json.dumps(event, ensure_ascii=False) + "\n"
        previous = hashlib.sha256(text.encode()).hexdigest()
        lines.append(text)
    journal.write_text("".join(lines))

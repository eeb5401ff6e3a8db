"""Verification: a stranger's bundle is judged again, and whatever was changed in it is found."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import urllib.parse
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from campaign import __version__
from campaign.core import bagit, journal, signatures, workers
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.events import Event
from campaign.core.findings import Finding
from campaign.core.paths import Paths
from campaign.evidence import bundle, copies, derived_files, job_scripts, provenance, replay, verify, verify_text
from campaign.evidence.verify import Buyer
from campaign.results.cells import Row
from campaign.results.store import Store
from campaign.slurm import scripts
from tests.support import bundled, facts
from tests.support.bundled import Vendor
from tests.support.command_line import CAMPAIGN

STDOUT = "data/results/runs/scratch.peak.shared.r1/1/stdout"
JOURNAL = "data/results/journal.jsonl"


NOTHING = Buyer()


def findings(bundle: Path, buyer: Buyer = NOTHING) -> list[Finding]:
    with verify.verify(bundle, buyer) as verified:
        return [finding for finding in verified.findings if finding.severity == "E"]


def rules(bundle: Path, buyer: Buyer = NOTHING) -> set[str]:
    return {finding.rule for finding in findings(bundle, buyer)}


def test_a_bundle_is_intact_and_gives_the_same_tables_byte_for_byte(vendor: Vendor) -> None:
    with verify.verify(vendor.root / "bag", Buyer(vendor.signers, "buyer-2026")) as verified:
        assert verified.findings == ()
        assert verified.evaluation is not None
        stated = {name: (vendor.root / "bag/data" / name).read_text() for name in verified.evaluation.files}
        assert verified.evaluation.files == stated


def test_it_is_judged_on_a_machine_that_has_nothing_of_the_campaign(vendor: Vendor, tmp_path: Path) -> None:
    shutil.copytree(vendor.root / "bag", tmp_path / "elsewhere")
    (tmp_path / "home").mkdir()
    hidden = vendor.root.with_name("hidden")
    vendor.root.rename(hidden)
    try:
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home"), "USER": "buyer"}
        moved_vendor = Vendor(vendor.root, environment)
        process = moved_vendor.call("verify", tmp_path / "elsewhere", "--details", cwd=tmp_path / "home")
    finally:
        hidden.rename(vendor.root)
    assert "re-evaluated from raw logs: identical tables, findings and verdict" in process.stdout
    assert list((tmp_path / "home").iterdir()) == []


def test_verification_changes_nothing_in_the_bundle(vendor: Vendor) -> None:
    def state() -> dict[str, tuple[int, int]]:
        return {str(p): (p.stat().st_mtime_ns, p.stat().st_size) for p in (vendor.root / "bag").rglob("*")}

    before = state()
    rules(vendor.root / "bag")
    assert state() == before


def flip_bit(data: bytes, place: int, chance: random.Random) -> bytes:
    """The data with one bit of one byte turned over."""
    return data[:place] + bytes([data[place] ^ (1 << chance.randrange(7))]) + data[place + 1 :]


def places(data: bytes, chance: random.Random) -> list[int]:
    """The first byte, the last, and one somewhere."""
    return [0, len(data) - 1, chance.randrange(len(data))]


CHANGED = ": changed after bundling: "


def test_any_changed_byte_of_any_file_that_is_handed_in_is_found_and_its_file_named(
    vendor: Vendor, tmp_path: Path
) -> None:
    bag = bundled.copy(vendor, "bag", tmp_path / "bag")
    files = {path: path.read_bytes() for path in bag.rglob("*") if path.is_file()}
    payload = {path: data for path, data in files.items() if path.is_relative_to(bag / "data") and data}
    chance = random.Random(7)
    for turn in range(3):
        for path, data in payload.items():
            path.write_bytes(flip_bit(data, places(data, chance)[turn], chance))
        named_files = {problem.partition(CHANGED)[0] for problem in problems(bag) if CHANGED in problem}
        assert named_files == {str(path.relative_to(bag)) for path in payload}
    for path, data in payload.items():
        path.write_bytes(data)
    assert problems(bag) == []


def test_any_changed_byte_of_hashes_or_signature_is_found(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "bag", tmp_path / "bag")
    chance = random.Random(7)
    for path in sorted(path for path in bag.iterdir() if path.is_file()):
        data = path.read_bytes()
        for place in places(data, chance):
            path.write_bytes(flip_bit(data, place, chance))
            assert problems(bag), f"byte {place} of {path.name}"
        path.write_bytes(data)
    assert problems(bag) == []


def problems(bag: Path) -> list[str]:
    """What is wrong with hashes and signature, without judging again: a bag is quick to look at so."""
    with tempfile.TemporaryDirectory() as place:
        try:
            contents = bagit.read(bag, Path(place))
        except InputError as error:
            return [str(error)]
    check = signatures.made_by((bag / bagit.TAG_MANIFEST).read_bytes(), bag / bagit.SIGNATURE, bundle.NAMESPACE)
    return [*contents.problems, *([check.problem] if check.problem else [])]


def test_hashes_made_anew_do_not_save_a_forger_from_the_signature(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "bag", tmp_path / "bag")
    (bag / STDOUT).write_text((bag / STDOUT).read_text().replace("1000.000", "9000.000"))
    bundled.forge(bag)
    assert {"EVD-03", "EVD-04"} <= rules(bag)


def test_a_signature_of_another_key_is_found_by_the_buyers_list(vendor: Vendor, tmp_path: Path) -> None:
    other = tmp_path / "signers"
    other.write_text("buyer ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAX59320zVhmWhbwH4vlVN+9dcxSz47Ea6/MbNKYD42I\n")
    assert rules(vendor.root / "bag", Buyer(other)) == {"EVD-03"}


def test_an_unsigned_bundle_is_unproven_even_where_a_signature_is_asked_for(vendor: Vendor) -> None:
    assert rules(vendor.root / "plain", Buyer(vendor.signers)) == set()
    with verify.verify(vendor.root / "plain", Buyer(vendor.signers, "buyer-2026")) as verified:
        assert [(finding.rule, finding.checked) for finding in verified.findings] == [("EVD-03", False)]
        assert verified.intact


# --- frauds, with hashes made anew


def number_in_the_log(bag: Path) -> None:
    text = (bag / STDOUT).read_text()
    assert "1000.000" in text
    (bag / STDOUT).write_text(text.replace("1000.000", "9000.000"))


def number_in_the_table(bag: Path) -> None:
    path = bag / "data/tables/table.json"
    path.write_text(path.read_text().replace("1000.0", "9000.0", 1))


def verdict(bag: Path) -> None:
    path = bag / "data/verdict.json"
    path.write_text(path.read_text().replace('"invalid"', '"measured"'))


def findings_removed(bag: Path) -> None:
    (bag / "data/findings.json").write_text("[]\n")


def completion_record(bag: Path) -> None:
    path = bag / "data/results/runs/scratch.peak.shared.r1/1/facts.jsonl"
    facts.set_value(path, "job", "exit_status", 1)


def attempt_removed(bag: Path) -> None:
    shutil.rmtree(bag / "data/results/runs/scratch.peak.shared.r1/1")


def campaign_file(bag: Path) -> None:
    path = bag / "data/campaign.yaml"
    path.write_text(path.read_text().replace("processes: 4}", "processes: 6}"))


def plan_of_another(bag: Path) -> None:
    (bag / "data/results/plan.json").write_text("{}")


def names_of_another(bag: Path) -> None:
    (bag / "data/names.json").write_text('{"format": 1}')


def command_of_the_attempt(bag: Path) -> None:
    path = bag / "data/results/runs/scratch.peak.shared.r1/1/attempt.json"
    record = json.loads(path.read_text())
    record["argv"][record["argv"].index("-N") + 1] = "1"
    path.write_text(json.dumps(record))


def command_of_the_job_script(bag: Path) -> None:
    path = bag / "data/results/runs/scratch.peak.shared.r1/1/job.sbatch"
    text = path.read_text()
    token = json.loads(path.with_name("attempt.json").read_text())["token"]
    before, own_text, after = text.partition(f"campaign_run scratch.peak.shared.r1 1 {token}")
    assert own_text and " -N " in after
    path.write_text(before + own_text + after.replace(" -N ", " -w 1 -N ", 1))


FRAUDS: list[Callable[[Path], None]] = [
    number_in_the_log,
    number_in_the_table,
    verdict,
    findings_removed,
    completion_record,
    attempt_removed,
    campaign_file,
    plan_of_another,
    names_of_another,
    command_of_the_attempt,
    command_of_the_job_script,
]


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
def test_a_fraud_with_all_hashes_made_anew_does_not_give_the_tables(
    vendor: Vendor, tmp_path: Path, fraud: Callable[[Path], None]
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    fraud(bag)
    bundled.forge(bag)
    assert {"EVD-04"} <= rules(bag) <= {"EVD-04", "EVD-06"}


@pytest.mark.parametrize("fraud", FRAUDS, ids=lambda fraud: fraud.__name__)
def test_several_processes_say_of_a_fraud_what_one_process_says(
    vendor: Vendor, tmp_path: Path, fraud: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    fraud(bag)
    bundled.forge(bag)
    in_one = vendor.call("verify", bag, "--details").stdout
    monkeypatch.setattr(workers, "FEWEST_ITEMS", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert vendor.call("verify", bag, "--details").stdout == in_one


def by_version(bag: Path, version: str) -> None:
    path = bag / "data/names.json"
    path.write_text(path.read_text().replace(f"campaign {__version__}", f"campaign {version}"))


def state_origins(bag: Path) -> None:
    """Write the statements of a bundle as the version that it names would have."""
    data = bag / "data"
    evaluation = replay.reevaluate(data)
    texts = {name: (data / name).read_text() for name in evaluation.files}
    tool = replay.read_names(data).tool
    for name, text in provenance.statements(data, replace(evaluation, files=texts), tool).items():
        (data / name).write_text(text)


def test_words_of_an_earlier_version_are_not_compared_which_is_reported(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    by_version(bag, "0.1.0")
    (bag / "data/tables/table.txt").write_text("the same in the words of that time\n")
    path = bag / "data/verdict.json"
    path.write_text(path.read_text().replace("rules violated:", "rules are violated, in the words of that time:"))
    state_origins(bag)
    bundled.forge(bag)
    with verify.verify(bag, NOTHING) as verified:
        (explanation,) = [finding for finding in verified.findings if finding.rule == "EVD-04"]
        assert (explanation.severity, verified.intact) == ("I", True)
        assert (
            "made by campaign 0.1.0: numbers, log lines, violated rules and verdict are the same" in explanation.message
        )
        assert explanation.message.endswith("tables/table.txt, verdict.json, ro-crate-metadata.json")
        assert "note         re-evaluation from raw logs (EVD-04)" in verify_text.checks_text(
            verified, is_detailed=True
        )


def edit_text(name: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(bag: Path) -> None:
        path = bag / "data" / name
        assert re.search(old, path.read_text())
        path.write_text(re.sub(old, new, path.read_text(), count=1))

    return edit


@pytest.mark.parametrize(
    ("name", "forgery"),
    [
        ("verdict.json", edit_text("verdict.json", '"headline": ".*"', '"headline": "ACCEPTED BY THE BUYER"')),
        ("verdict.json", edit_text("verdict.json", '"verdict": ".*"', '"verdict": "complies"')),
        ("verdict.json", edit_text("verdict.json", '"invalid"', '"measured"')),
        ("verdict.json", lambda bag: (bag / "data/verdict.json").unlink()),
        ("findings.json", findings_removed),
        ("tables/table.json", edit_text("tables/table.json", '"status": "invalid"', '"status": "measured"')),
        ("tables/table.csv", edit_text("tables/table.csv", r"\b1000\.0", "9000.0")),
        ("tables/clauses.json", edit_text("tables/clauses.json", '"state": ".*"', '"state": "kept"')),
        ("tables/clauses.csv", edit_text("tables/clauses.csv", ",(violated|open),", ",kept,")),
        ("provenance/tables.json", edit_text("provenance/tables.json", "crossroads-mdtest", "my-own-rules")),
        ("provenance/tables.json", edit_text("provenance/tables.json", '"sha256": "....', '"sha256": "0000')),
        ("ro-crate-metadata.json", edit_text("ro-crate-metadata.json", '"value": 1000.0', '"value": 9000.0')),
    ],
)  # fmt: skip
def test_whoever_names_an_earlier_version_may_change_words_and_no_statement(
    vendor: Vendor, tmp_path: Path, name: str, forgery: Callable[[Path], None]
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    by_version(bag, "0.2.9")
    state_origins(bag)
    bundled.forge(bag)
    assert rules(bag) == set()
    forgery(bag)
    bundled.forge(bag)
    messages = [finding.message for finding in findings(bag) if finding.rule == "EVD-04"]
    assert f"{name} cannot be reproduced from the evidence" in messages[0]


@pytest.mark.parametrize("name", ["tables/table.txt", "findings.txt"])
def test_numbers_in_texts_of_an_earlier_version_are_those_of_the_evidence(
    vendor: Vendor, tmp_path: Path, name: str
) -> None:
    """Its words are not compared, so that another number is a question, and no contradiction."""
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    by_version(bag, "0.2.9")
    path = bag / "data" / name
    path.write_text(f"{path.read_text()}In the words of that time: 1,000 and 1000.\n")
    state_origins(bag)
    bundled.forge(bag)
    with verify.verify(bag, NOTHING) as verified:
        assert [finding.severity for finding in verified.findings if finding.rule == "EVD-04"] == ["I"]
    path.write_text(f"{path.read_text()}And 98,765.4 ops/s.\n")
    state_origins(bag)
    bundled.forge(bag)
    with verify.verify(bag, NOTHING) as verified:
        messages = [finding.message for finding in verified.findings if finding.rule == "EVD-04" and finding.open]
    end = "has numbers that the evidence does not give: 98,765.4; verify with campaign 0.2.9, which made it"
    assert messages == [f"{name} {end}"]


@pytest.mark.parametrize("name", ["provenance/accepted.json", "rules/accepted.txt", "tables/summary.csv"])
def test_a_statement_that_nothing_derives_does_not_belong_in_a_bundle(
    vendor: Vendor, tmp_path: Path, name: str
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    (bag / "data" / name).write_text('{"verdict": "ACCEPTED BY THE BUYER"}\n')
    bundled.forge(bag)
    with verify.verify(bag, NOTHING) as verified:
        messages = [finding.message for finding in verified.findings if finding.rule == "CMP-05"]
    assert messages == [f'"{name}": not referenced by any table']


@pytest.mark.parametrize("version", ["0.1.0", "99.0.0"])
def test_numbers_of_another_version_have_to_be_the_same(vendor: Vendor, tmp_path: Path, version: str) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    by_version(bag, version)
    number_in_the_table(bag)
    bundled.forge(bag)
    assert rules(bag) == {"EVD-04"}


def test_words_of_a_later_version_are_compared(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    by_version(bag, "99.0.0")
    (bag / "data/tables/table.txt").write_text("words of a version that nobody here knows\n")
    bundled.forge(bag)
    assert rules(bag) == {"EVD-04"}


def script_messages(bag: Path, words: str = "script") -> set[tuple[str, bool]]:
    with verify.verify(bag, NOTHING) as verified:
        findings = [finding for finding in verified.findings if finding.rule == "EVD-06"]
        return {(finding.message, finding.checked) for finding in findings if words in finding.message}


def rendered_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another comment in the job script, as a next version has it."""
    of_now = scripts.render_template
    monkeypatch.setattr(
        scripts, "render_template", lambda script: of_now(script).replace("# What the job", "# All the job", 1)
    )


def rendered_by(bag: Path, **origin: str) -> None:
    """Have another version in the journal as the one that rendered the job scripts."""
    path = bag / JOURNAL
    events = [json.loads(line) for line in path.read_text().splitlines()]
    for event in events:
        if event["event"] == "job":
            assert event.pop("version") == __version__
            assert len(event.pop("templates")) == 64
            event |= origin
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    bundled.redo(bag)


PLANNED = "its options and commands are those of the plan"


def test_a_script_of_an_earlier_version_is_not_checked_and_left_to_the_buyer(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered_otherwise(monkeypatch)
    for module in (copies, derived_files, job_scripts, replay, scripts, verify):
        monkeypatch.setattr(module, "__version__", "99.1.0")
    with verify.verify(vendor.root / "plain", NOTHING) as verified:
        (finding,) = [finding for finding in verified.findings if finding.rule == "EVD-06"]
        assert re.fullmatch(
            rf"jobs/\S+/job\.sbatch and \d+ more: campaign {__version__} rendered the job script, so that campaign "
            rf"99\.1\.0 cannot compare each line: verify with that version; {PLANNED}",
            finding.message,
        )
        assert (finding.checked, finding.move, verified.intact, verified.complies) == (False, "buyer", True, False)
        assert finding.message in verify_text.checks_text(verified, is_detailed=True)
        assert verified.evaluation is not None and verified.evaluation.submission.rows == recorded_rows(vendor)


def recorded_rows(vendor: Vendor) -> tuple[Row, ...]:
    with verify.verify(vendor.root / "plain", NOTHING) as verified:
        assert verified.evaluation is not None
        return verified.evaluation.submission.rows


@pytest.mark.parametrize(
    ("origin", "version_name"),
    [
        ({"version": __version__, "templates": "0" * 64}, f"another development state of campaign {__version__}"),
        ({"version": "0.2.0", "templates": "0" * 64}, "campaign 0.2.0"),
        ({}, "a version that the journal does not name"),
    ],
)
def test_a_script_is_held_only_against_the_templates_that_the_journal_names(
    vendor: Vendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: dict[str, str], version_name: str
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    rendered_by(bag, **origin)
    assert script_messages(bag) == set()  # they are as this version renders them
    rendered_otherwise(monkeypatch)
    ((message, checked),) = script_messages(bag)
    assert f": {version_name} rendered the job script, so that" in message and not checked


def test_a_script_that_this_version_rendered_by_its_journal_and_renders_otherwise_was_edited(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered_otherwise(monkeypatch)
    ((message, checked),) = script_messages(vendor.root / "plain")
    assert re.match(r"jobs/\S+/job\.sbatch and \d+ more: line \d+ is not as campaign", message) and checked


def every_script(bag: Path, change: Callable[[str], str]) -> None:
    for path in (bag / "data/results").glob("*/**/job.sbatch"):
        text = path.read_text()
        path.write_text(change(text))
        assert path.read_text() != text


def test_what_a_script_of_another_version_has_beyond_the_plan_is_shown(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    every_script(bag, lambda text: text.replace("    campaign_begin", "    export UCX_TLS=shm\n    campaign_begin", 1))
    rendered_by(bag, version="0.2.0", templates="0" * 64)
    with verify.verify(bag, NOTHING) as verified:
        (finding,) = [finding for finding in verified.findings if finding.rule == "EVD-06"]
    assert finding.message.endswith(PLANNED.replace("those", "not those"))
    assert (finding.actual, finding.checked) == ("export UCX_TLS=shm", False)


def not_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def rendered(_: object) -> str:
        raise EnvironmentLacks("a step without a token")

    monkeypatch.setattr(scripts, "render_template", rendered)


def test_a_script_of_another_version_that_cannot_be_rendered_again_is_not_checked(
    vendor: Vendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    rendered_by(bag, version="0.2.0", templates="0" * 64)
    not_again(monkeypatch)
    with verify.verify(bag, NOTHING) as verified:
        (finding,) = [finding for finding in verified.findings if finding.rule == "EVD-06"]
        assert re.fullmatch(
            rf"jobs/\S+/job\.sbatch and \d+ more: campaign 0\.2\.0 rendered the job script, and campaign "
            rf"{re.escape(__version__)} cannot render it again \(a step without a token\): verify with that version",
            finding.message,
        )
        assert (finding.checked, finding.move, verified.intact, verified.complies) == (False, "buyer", True, False)


def test_a_script_of_this_version_that_cannot_be_rendered_again_is_a_violation(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    not_again(monkeypatch)
    found_about_scripts = script_messages(vendor.root / "plain", "rendered again")
    assert found_about_scripts and all(checked for _, checked in found_about_scripts)


def other_command(text: str) -> str:
    return re.sub(r"^(    campaign_run .* -n )\d+", r"\g<1>9", text, flags=re.MULTILINE)


def further_run(text: str) -> str:
    return text.replace(
        "    campaign_end\n", "    campaign_run scratch.peak.shared.r1 2 hidden f d 0:1:1:1 srun x\n    campaign_end\n"
    )


@pytest.mark.parametrize("change", [other_command, further_run])
def test_who_names_another_version_gains_nothing(vendor: Vendor, tmp_path: Path, change: Callable[[str], str]) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    every_script(bag, change)
    rendered_by(bag, version="0.2.0", templates="0" * 64)
    assert "EVD-04" in rules(bag)


RUNS, JOBS = "    campaign_run ", "#SBATCH --time="


@pytest.mark.parametrize(
    ("line", "old", "new", "severity"),
    [
        (RUNS, r" --time=\S+", " --time=9:00", "W"),
        (JOBS, r"\d+$", "99", "W"),
        (RUNS, r" --time=\S+", " --time=9:00 --overlap", "E"),
        (RUNS, r" --time=\S+", " --time=9:00 --time=8:00", "E"),
        (RUNS, r" --time=\S+", "", "W"),
        (RUNS, r" -n \d+", " -n 9", "E"),
        (RUNS, r" -d ", " --time=1 -d ", "E"),
    ],
)
def test_of_a_runs_line_in_a_script_nothing_but_the_time_limit_is_left_to_an_explanation(
    vendor: Vendor, tmp_path: Path, line: str, old: str, new: str, severity: str
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    for path in (bag / "data/results").glob("*/**/job.sbatch"):
        lines = path.read_text().splitlines()
        at = next(number for number, text in enumerate(lines) if text.startswith(line))
        lines[at], substitutions = re.subn(old, new, lines[at], count=1)
        assert substitutions == 1
        path.write_text("\n".join(lines) + "\n")
    bundled.forge(bag)
    with verify.verify(bag, NOTHING) as verified:
        findings = [finding for finding in verified.findings if "is not as campaign" in finding.message]
    assert {(finding.rule, finding.severity) for finding in findings} == {("EVD-06", severity)}


def test_a_pack_that_was_changed_under_its_id_is_found(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    pack = bag / "data/rules/crossroads-mdtest.yaml"
    pack.write_text(pack.read_text().replace("minimum_nodes: 2", "minimum_nodes: 1"))
    bundled.forge(bag)
    found_findings = findings(bag)
    assert {finding.rule for finding in found_findings} == {"EVD-04", "EVD-05"}


def test_a_pack_that_was_changed_under_its_id_is_not_valid_even_where_its_tables_follow(
    vendor: Vendor, tmp_path: Path
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    pack = bag / "data/rules/crossroads-mdtest.yaml"
    pack.write_text(pack.read_text() + "# another pack\n")
    bundled.redo(bag)
    assert "EVD-04" not in rules(bag)
    process = vendor.call("verify", bag)
    assert process.returncode == 1
    assert "WRONG        rule pack (EVD-05)" in process.stdout
    assert process.stdout.startswith("NOT VALID: bag")
    assert " rules are VIOLATED: " in process.stdout and "(EVD-05" in process.stdout


def test_a_journal_that_was_changed_is_no_chain(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    text = (bag / JOURNAL).read_text()
    (bag / JOURNAL).write_text(text.replace('"state": "done"', '"state": "lost"', 1))
    bundled.forge(bag)
    assert "EVD-02" in rules(bag)


def test_a_journal_made_anew_is_found_by_the_nonce_and_by_a_head_that_was_sent(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    with verify.verify(bag, Buyer()) as verified:
        sent_text = verified.chain.heads[-2]
    assert rules(bag, Buyer(nonce="buyer-2026", heads=(sent_text,))) == set()
    bundled.rechain(bag / JOURNAL, {"buyer-2026": "vendors-own"})
    bundled.forge(bag)
    messages = [
        finding.message
        for finding in findings(bag, Buyer(nonce="buyer-2026", heads=(sent_text,)))
        if finding.rule == "EVD-02"
    ]
    assert messages == [
        "bag-info.txt: Journal-Head differs from the journal's last hash",
        "the journal does not start with the nonce you gave",
        "the journal head sent during the campaign is missing: the journal was rewritten afterwards",
    ]


def test_logs_that_nothing_rests_on_are_named(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    folder = bag / "data/results/runs/scratch.peak.shared.r1"
    shutil.copytree(folder / "1", folder / "7")
    bundled.forge(bag)
    with verify.verify(bag, Buyer()) as verified:
        messages = [finding.message for finding in verified.findings if finding.rule == "CMP-05"]
    assert messages == ["results/runs/scratch.peak.shared.r1/7: not in the journal: no such attempt was submitted"]


# --- nothing of a stranger is executed, and nothing is written elsewhere


def test_no_program_and_no_file_that_a_bundle_names_is_touched(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/executed\n")
    trap.chmod(0o755)
    names = json.loads((bag / "data/names.json").read_text())
    names["paths"] = {name: str(trap) for name in names["paths"]}
    names["files"] = {"/etc/passwd": "../../../../etc/passwd"}
    (bag / "data/names.json").write_text(json.dumps(names))
    plan = json.loads((bag / "data/results/plan.json").read_text())
    plan["dialect"] = plan["executable"] = ""
    (bag / "data/results/plan.json").write_text(json.dumps(plan))
    file = bag / "data/campaign.yaml"
    file.write_text(file.read_text().replace("dialect: rank-offset", "dialect: auto"))
    bundled.forge(bag)
    before = {path.name for path in tmp_path.iterdir()}
    assert rules(bag) == {"EVD-04"}
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["findings.json", "verdict.json", "tables/table.txt"])
def test_text_that_is_no_utf8_is_no_match(vendor: Vendor, tmp_path: Path, name: str) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    (bag / "data" / name).write_bytes(b"\xff\xfe")
    bundled.forge(bag)
    message = f"{name} cannot be reproduced from the evidence: missing from the bundle, or not UTF-8"
    assert message in [finding.message for finding in findings(bag)]


def test_what_is_no_bundle_is_wrong_usage(vendor: Vendor, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("x")
    for path in (tmp_path / "absent", tmp_path / "empty", tmp_path / "text"):
        process = vendor.call("verify", path)
        assert (process.returncode, "bundle" in process.stderr or "no such" in process.stderr) == (2, True)


def test_the_report_is_made_again_where_it_is_asked_for(vendor: Vendor, tmp_path: Path) -> None:
    process = vendor.call("verify", vendor.root / "bag", "-o", tmp_path / "report")
    assert (tmp_path / "report/index.html").is_file(), process.stderr
    assert (tmp_path / "report/table.json").read_text() == (vendor.root / "bag/data/tables/table.json").read_text()


@pytest.mark.parametrize("name", ["bag", "bag.tar"])
def test_links_of_the_report_lead_into_the_bundle_or_are_left_out(vendor: Vendor, tmp_path: Path, name: str) -> None:
    """Not into the private copy, which is deleted."""
    bundle = bundled.copy(vendor, "bag", tmp_path / "bag")
    if name == "bag.tar":
        bundle = Path(shutil.make_archive(str(bundle), "gztar", tmp_path, "bag"))
    report = tmp_path / "report"
    process = vendor.call("verify", bundle, "-o", report)
    page = (report / "index.html").read_text()
    links = [link for link in re.findall(r'href="(\.[^"]*)"', page) if "stdout" in link]
    assert bool(links) == bundle.is_dir(), process.stderr
    assert all((report / urllib.parse.unquote(link)).is_file() for link in links)
    with zipfile.ZipFile(report / "table.xlsx") as workbook:
        sheets = "".join(workbook.read(part).decode() for part in workbook.namelist() if part.endswith(".rels"))
    assert ("stdout" in sheets) == bundle.is_dir()
    written = [path for path in report.rglob("*") if path.is_file() and b"campaign-verify." in path.read_bytes()]
    assert (written, "campaign-verify." in sheets) == ([], False)


def test_the_verdict_is_there_as_json(vendor: Vendor) -> None:
    process = vendor.call("verify", vendor.root / "bag", "--signers", vendor.signers, "--nonce", "buyer-2026", "--json")
    document = json.loads(process.stdout)
    assert (document["intact"], document["signed_by"]["identity"], document["findings"]) == (True, "vendor", [])
    assert document["journal"]["nonce"] == "buyer-2026"
    assert document["verdict"] == json.loads((vendor.root / "bag/data/verdict.json").read_text())


# --- evidence that would judge itself, and names that lead elsewhere


@pytest.mark.parametrize("name", ["campaign.db", "campaign.db-journal"])
def test_a_database_that_came_with_the_logs_is_not_used(vendor: Vendor, tmp_path: Path, name: str) -> None:
    """Its trigger would give every number of the logs nine times, in the buyer's own judging too."""
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    results = bag / "data/results"
    Store(Paths(results)).close()
    with closing(sqlite3.connect(results / "campaign.db")) as database:
        database.execute(
            "CREATE TRIGGER more AFTER INSERT ON records "
            "BEGIN UPDATE records SET value = 9 * NEW.value WHERE rowid = NEW.rowid; END"
        )
        database.commit()
    (results / "campaign.db").rename(results / name)
    bundled.forge(bag)
    assert [finding.message for finding in findings(bag)] == [
        f"cannot be re-evaluated: results/{name}: not allowed in a bundle; the database is rebuilt from the logs"
    ]


def change_journal(bag: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the events, and make chain and hashes anew."""
    events = [json.loads(line) for line in (bag / JOURNAL).read_text().splitlines()]
    change(events)
    (bag / JOURNAL).write_text("".join(json.dumps(event) + "\n" for event in events))
    bundled.rechain(bag / JOURNAL, {})
    bundled.forge(bag)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("run", "/etc", "a plain name"),
        ("run", "..", "a plain name"),
        ("run", "../../../../etc", "a plain name"),
        ("run", ["a"], "a plain name"),
        ("number", 10**12, "1 to 100000"),
        ("number", "../x", "1 to 100000"),
        ("number", True, "1 to 100000"),
    ],
)
def test_an_attempt_of_the_journal_names_no_path(
    vendor: Vendor, tmp_path: Path, key: str, value: object, message: str
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")

    def change(events: list[dict[str, Any]]) -> None:
        event = next(event for event in events if event["event"] == "job")
        event["attempts"].append({**event["attempts"][0], "number": 2, "token": "other", key: value})

    change_journal(bag, change)
    messages = [finding.message for finding in findings(bag) if finding.rule == "EVD-04"]
    assert len(messages) == 1
    assert f"allowed: {message}" in messages[0]


def test_a_job_of_the_journal_names_no_path(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")

    def change(events: list[dict[str, Any]]) -> None:
        next(event for event in events if event["event"] == "job")["job"] = "../../../outside"

    change_journal(bag, change)
    assert any(
        'job.job: found "../../../outside"; allowed: a plain name' in finding.message for finding in findings(bag)
    )


def test_a_journal_nested_without_end_is_no_journal(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    (bag / JOURNAL).write_text("[" * 200_000 + "\n")
    bundled.forge(bag)
    assert {"EVD-02", "EVD-04"} <= rules(bag)


def test_no_byte_of_the_signature_can_be_changed(vendor: Vendor, tmp_path: Path) -> None:
    """ssh-keygen itself takes another version number, and a base64 that is broken off would be an accident."""
    bag = bundled.copy(vendor, "bag", tmp_path / "bag")
    path = bag / "tagmanifest-sha256.txt.sig"
    text = (bag / "tagmanifest-sha256.txt").read_bytes()
    data = path.read_bytes()
    for place in range(len(data)):
        for value in {data[place] ^ 1, *(b"A=\n" if place < 60 else b"")} - {data[place]}:
            path.write_bytes(data[:place] + bytes([value]) + data[place + 1 :])
            assert signatures.made_by(text, path, bundle.NAMESPACE).problem, f"byte {place}: {value}"
    path.write_bytes(data[:40] + data[42:])
    [message] = [finding.message for finding in findings(bag) if finding.rule == "EVD-03"]
    assert "tagmanifest-sha256.txt.sig: not a signature as ssh-keygen writes it" in message


# --- what stands beside the tables


def number_in_the_crate(bag: Path) -> None:
    path = bag / "data/ro-crate-metadata.json"
    path.write_text(path.read_text().replace('"value": 1000.0', '"value": 9000.0', 1))


def head_of_the_journal(bag: Path) -> None:
    path = bag / "bag-info.txt"
    path.write_text(re.sub(r"Journal-Head: \S+", f"Journal-Head: {'a' * 64}", path.read_text()))


def test_a_number_in_the_crate_follows_from_the_logs_too(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    number_in_the_crate(bag)
    bundled.forge(bag)
    [finding] = findings(bag)
    assert (finding.rule, finding.message.partition(":")[0]) == (
        "EVD-04", "ro-crate-metadata.json cannot be reproduced from the evidence",
    )  # fmt: skip


def test_the_head_that_the_bag_tells_is_the_journals(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    head_of_the_journal(bag)
    bundled.forge(bag)
    assert [(finding.rule, finding.actual) for finding in findings(bag)] == [("EVD-02", "a" * 64)]


def test_an_index_that_differs_from_the_record_is_reported(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    path = bag / "data/index.json"
    index = json.loads(path.read_text())
    run = index["attempts"][0]["run"]
    index["attempts"][0]["state"] = "lost"
    index["attempts"].append({"run": "ghost", "attempt": 1})
    index["counts"] = {"done": 999}
    path.write_text(json.dumps(index))
    bundled.forge(bag)
    with verify.verify(bag, Buyer()) as verified:
        messages = [finding.message for finding in verified.findings if finding.rule == "CMP-05"]
    assert messages == [
        f"index.json: attempt 1 of {run} differs from the journal",
        'index.json: attempt 1 of "ghost" is not in the journal',
        "index.json: counts differ from the journal",
    ]


def test_why_an_attempt_is_left_out_may_be_told_in_other_words(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    path = bag / "data" / "index.json"
    index = json.loads(path.read_text())
    for entry in index["attempts"]:
        entry["why"] = "in the words of another version"
    path.write_text(json.dumps(index))
    bundled.forge(bag)
    with verify.verify(bag, Buyer()) as verified:
        assert [finding.message for finding in verified.findings if finding.rule == "CMP-05"] == []


def test_verify_writes_junit_of_the_bundle_and_of_the_campaign_in_it(vendor: Vendor, tmp_path: Path) -> None:
    out = tmp_path / "junit.xml"
    vendor.call("verify", vendor.root / "plain", "--junit", out)
    of_bundle, of_campaign = ElementTree.parse(out).getroot()
    outcomes = {case.get("classname"): [child.tag for child in case] for case in of_bundle}
    assert outcomes == {
        **{
            f"bundle.{rule}": []
            for rule in ("RUN-08", "CMP-05", "EVD-01", "EVD-04", "EVD-05", "EVD-06", "WVR-01", "ENV-04", "INP-01")
        },
        **{f"bundle.{rule}": ["skipped"] for rule in ("EVD-02", "EVD-03")},
    }
    names = [case.get("classname", "").partition(".")[2] for case in of_campaign]
    assert not {"EVD-01", "EVD-03", "EVD-04", "CMP-05"} & set(names)
    assert "EVD-05" in names


def test_keys_that_are_not_there_are_a_wrong_command_and_no_wrong_signature(vendor: Vendor, tmp_path: Path) -> None:
    process = vendor.call("verify", vendor.root / "plain", "--signers", tmp_path / "singers")
    assert process.returncode == 2
    assert "singers: not found; give the file with the public keys that you trust" in process.stderr


def test_files_that_no_bundle_has_are_named(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    for name in ("notes.html", "results/notes", "results/jobs/other/stdout", "files/log", "tables/other.txt"):
        (bag / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (bag / "data" / name).write_text("x")
    bundled.forge(bag)
    with verify.verify(bag, Buyer()) as verified:
        messages = [finding.message for finding in verified.findings if finding.rule == "CMP-05"]
    assert messages == [
        f'"{name}": not referenced by any table'
        for name in ("files/log", "notes.html", "results/jobs/other/stdout", "results/notes", "tables/other.txt")
    ]


def test_an_attempt_that_measured_and_is_called_refused_is_found(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")

    def change(events: list[dict[str, Any]]) -> None:
        next(event for event in events if event["event"] == "ended")["state"] = "refused"

    change_journal(bag, change)
    with verify.verify(bag, Buyer()) as verified:
        assert verified.evaluation is not None
        all_findings = [
            finding
            for finding in verified.evaluation.submission.all_findings
            if finding.rule == "RUN-08" and finding.blocks
        ]
        assert [(finding.expected, finding.actual) for finding in all_findings] == [("done", "refused")]


def test_a_journal_is_read_once_however_often_it_is_judged(
    vendor: Vendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the vendor's rules and by the buyer's, for its heads and for the hashes of outputs."""
    pack = tmp_path / "crossroads-mdtest.yaml"
    pack.write_text((vendor.root / "plain/data/rules/crossroads-mdtest.yaml").read_text() + "\n# ours\n")
    began, sound = [], journal.Reading.sound

    def read(reading: journal.Reading) -> Iterator[Event]:
        began.append(reading.offset)
        return sound(reading)

    monkeypatch.setattr(journal.Reading, "sound", read)
    with verify.verify(vendor.root / "plain", Buyer(rules=str(pack), heads=("0" * 64,))) as verified:
        assert verified.evaluation is not None and verified.chain.ends
    assert began == [0]


@pytest.mark.parametrize("files", [5, 8])
def test_a_limit_of_open_files_is_reported_and_is_no_fault_of_the_bundle(vendor: Vendor, files: int) -> None:
    process = subprocess.run(
        [CAMPAIGN, "verify", vendor.root / "plain"],
        capture_output=True,
        text=True,
        timeout=800,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
    )
    assert process.returncode == 3
    assert f"Too many open files: this process may open {files} (ulimit -n); allow 64 or more" in process.stderr
    assert "Traceback" not in process.stderr
    stdout = vendor.call("verify", vendor.root / "plain").stdout
    assert process.stdout in ("", stdout)  # nothing else is concluded

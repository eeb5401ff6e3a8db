"""A forger who owns key and machine, and makes tables, findings and hashes anew: what contradicts is found."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from campaign.core import journal, timestamps
from campaign.core.timestamps import Stamp
from campaign.evidence import verify
from campaign.evidence.verify import Buyer
from tests.support import authority, bundled, facts, reference
from tests.support.bundled import Vendor

RUN = "data/results/runs/scratch.peak.shared.r1/1"


def edit_record(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def job_of(bag: Path) -> Path:
    return bag / "data/results/jobs" / json.loads((bag / RUN / "attempt.json").read_text())["job"]


def times_of(bag: Path) -> dict[str, float]:
    return {fact["name"]: fact["value"] for fact in facts.read_source(bag / RUN, "job")}


def run_that_lasted_longer(bag: Path) -> None:
    end = times_of(bag)["ended"]
    facts.set_value(bag / RUN / "facts.jsonl", "job", "ended", end + 30)


def run_that_ended_before_it_began(bag: Path) -> None:
    facts.set_value(bag / RUN / "facts.jsonl", "job", "ended", times_of(bag)["started"] - 1)


def another_partition_after_the_job(bag: Path) -> None:
    edit_record(job_of(bag) / "accounting.json", lambda record: record["job"].update(Restarts="3"))


def environment_of_one_attempt(bag: Path) -> None:
    facts.set_value(bag / RUN / "facts.jsonl", "host", "env.PATH", "/opt/fast")


def script_of_the_job(bag: Path) -> None:
    for path in (job_of(bag) / "job.sbatch", *(bag / "data/results/runs").glob("scratch.peak.*/1/job.sbatch")):
        path.write_text(path.read_text().replace("campaign_begin", "export IOR_FAKE_NODES=4\ncampaign_begin", 1))


def function_of_the_job_script(bag: Path) -> None:
    for path in (job_of(bag) / "job.sbatch", *(bag / "data/results/runs").glob("scratch.peak.*/1/job.sbatch")):
        path.write_text(path.read_text().replace("set -u\n", "set -u\nsrun() { command srun --overlap; }\n", 1))


def one_copy_of_the_script(bag: Path) -> None:
    path = bag / RUN / "job.sbatch"
    path.write_text(path.read_text() + "# nothing\n")


def command_lines_of_the_plan(bag: Path) -> None:
    def change(plan: dict[str, Any]) -> None:
        plan["runs"][0]["argv"].append("-z")

    edit_record(bag / "data/results/plan.json", change)


SOURCE = "data/results/source"


def compiler_in_the_report_of_modifications(bag: Path) -> None:
    edit_record(bag / SOURCE / "modifications.json", lambda record: record["builds"][0].update(compiler="gcc 99"))


def build_record_beside_the_report_of_modifications(bag: Path) -> None:
    (path,) = (bag / SOURCE / "builds").glob("*.json")
    edit_record(path, lambda record: record.update(flags="-O0"))


def text_of_the_modifications(bag: Path) -> None:
    path = bag / SOURCE / "modifications.txt"
    path.write_text(path.read_text() + "No modifications: both trees are identical.\n")


def patch_without_a_comparison(bag: Path) -> None:
    (bag / SOURCE / "modifications.patch").write_text("diff --git a/mdtest.c b/mdtest.c\n")


FORGERIES = [
    compiler_in_the_report_of_modifications,
    build_record_beside_the_report_of_modifications,
    text_of_the_modifications,
    patch_without_a_comparison,
    run_that_lasted_longer,
    run_that_ended_before_it_began,
    another_partition_after_the_job,
    environment_of_one_attempt,
    script_of_the_job,
    function_of_the_job_script,
    one_copy_of_the_script,
    command_lines_of_the_plan,
]


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda forgery: forgery.__name__)
def test_a_forger_who_forgets_nothing_is_contradicted_by_another_record(
    vendor: Vendor, tmp_path: Path, forgery: Callable[[Path], None]
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    forgery(bag)
    bundled.redo(bag)
    with verify.verify(bag, Buyer()) as verified:
        assert verified.evaluation is not None
        everything = (*verified.findings, *verified.evaluation.submission.all_findings)
        assert "EVD-04" not in {finding.rule for finding in everything if finding.violated}
        assert "EVD-06" in {finding.rule for finding in everything if finding.violated}
        assert (verified.decision.consistent, verified.decision.exit_status) == (False, 1)


@pytest.mark.parametrize("version", ["0.2.9", "99.0.0"])
@pytest.mark.parametrize(
    "forgery",
    [
        compiler_in_the_report_of_modifications,
        build_record_beside_the_report_of_modifications,
        patch_without_a_comparison,
    ],
    ids=lambda forgery: forgery.__name__,
)
def test_who_names_another_version_forges_no_record_of_builds_or_patch(
    vendor: Vendor, tmp_path: Path, forgery: Callable[[Path], None], version: str
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    edit_record(bag / "data/names.json", lambda record: record.update(tool=f"campaign {version}"))
    bundled.redo(bag)
    assert "EVD-06" not in violated_rules(bag, Buyer())
    forgery(bag)
    bundled.redo(bag)
    assert "EVD-06" in violated_rules(bag, Buyer())


def test_a_number_that_was_changed_after_its_run_ended_is_found_by_a_head_that_was_sent(
    vendor: Vendor, tmp_path: Path
) -> None:
    """Also where the forger makes the journal anew: the head is not in it any more."""
    with verify.verify(vendor.root / "plain", Buyer()) as verified:
        sent_text = verified.chain.heads[-1]
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    (bag / RUN / "stdout").write_text((bag / RUN / "stdout").read_text().replace("1000.000", "1001.000"))
    bundled.forge(bag)
    with verify.verify(bag, Buyer(heads=(sent_text,))) as verified:
        messages = [finding.message for finding in verified.findings if finding.rule == "EVD-06" and finding.violated]
    assert len(messages) == 1 and "stdout" in messages[0] and "differs from the file whose hash" in messages[0]
    bundled.redo(bag)
    with verify.verify(bag, Buyer(heads=(sent_text,))) as verified:
        assert [finding.rule for finding in verified.findings if finding.violated] == ["EVD-02"]
    process = vendor.call("head", vendor.file)
    assert process.stdout.strip() == sent_text


@pytest.mark.parametrize(
    ("stamped", "after_h", "binds"),
    [("tagmanifest-sha256.txt", 0, False), ("a head of the journal", 0, True), ("a head of the journal", 2, False)],
)
def test_a_time_stamp_of_the_bundle_does_not_bind_what_was_done_before_it_was_written(
    vendor: Vendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stamped: str, after_h: float, binds: bool
) -> None:
    """So it takes nothing from what the verdict says of attempts that were left out, and proves no journal."""
    bag = vendor.root / "plain"
    with verify.verify(bag, Buyer()) as verified:
        head, end = verified.chain.heads[-1], datetime.fromtimestamp(verified.chain.latest, UTC)
    digest = head if "head" in stamped else hashlib.sha256((bag / stamped).read_bytes()).hexdigest()
    reply = tmp_path / "x.tsr"
    reply.touch()
    monkeypatch.setattr(timestamps, "read", lambda path, authority: Stamp(digest, end + timedelta(hours=after_h)))
    with verify.verify(bag, Buyer(timestamps=(reply,), authority=reply)) as verified:
        unproved = [finding for finding in verified.findings if finding.rule == "EVD-02" and not finding.checked]
        assert bool(unproved) is not binds
        assert ("that no attempt was left out" in verified.decision.block.may_not) is not binds


def proof_of(bag: Path, buyer: Buyer) -> tuple[str, str, str]:
    """The answer to the question of proof with its reason, and what may not be concluded."""
    with verify.verify(bag, buyer) as verified:
        question = verified.decision.block.questions[-1]
        return question.answer, question.reason, verified.decision.block.may_not


@pytest.mark.parametrize("kind", ["head", "time stamp"])
def test_a_head_proves_only_the_runs_that_had_ended_when_it_was_sent(
    vendor: Vendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    bag, reply = vendor.root / "plain", tmp_path / "x.tsr"
    reply.touch()
    chain = journal.read_chain(journal_of(bag))
    count, at = len(chain.end_lines), datetime.fromtimestamp(chain.latest, UTC)
    assert count > 2

    def buyer_with(head: str) -> Buyer:
        monkeypatch.setattr(timestamps, "read", lambda path, authority: Stamp(head, at))
        return Buyer(heads=(head,)) if kind == "head" else Buyer(timestamps=(reply,), authority=reply)

    answer, reason, may_not = proof_of(bag, buyer_with(chain.heads[0]))
    assert (answer, f"the {kind} covers 0 of {count} runs" in reason) == ("none", True)
    assert "that no attempt was left out." in may_not
    answer, reason, may_not = proof_of(bag, buyer_with(chain.heads[chain.end_lines[1] - 1]))
    assert (answer, f"the {kind} covers 2 of {count} runs" in reason) == (kind.replace(" ", ""), True)
    assert f"that no attempt was left out after the first 2 of {count} runs." in may_not
    answer, reason, may_not = proof_of(bag, buyer_with(chain.head))
    assert (answer, "covers" in reason, "left out" in may_not) == (kind.replace(" ", ""), False, False)


def test_a_head_from_before_the_first_run_ended_does_not_bind_the_journal(vendor: Vendor) -> None:
    head = journal.read_chain(journal_of(vendor.root / "plain")).heads[0]
    with verify.verify(vendor.root / "plain", Buyer(heads=(head,))) as verified:
        messages = [finding.message for finding in verified.findings if finding.rule == "EVD-02"]
        assert verified.proofs == ()
    assert any(text.startswith("the journal may have been rewritten") for text in messages)
    assert "a journal head was sent before the first run had ended: it proves nothing about runs" in messages


@pytest.mark.parametrize(("days", "is_proof"), [(-1, True), (0, True), (2, False), (30, False)])
def test_a_head_that_arrived_long_after_the_campaign_is_no_proof(vendor: Vendor, days: int, is_proof: bool) -> None:
    chain = journal.read_chain(journal_of(vendor.root / "plain"))
    day = (datetime.fromtimestamp(chain.latest, UTC) + timedelta(days=days)).date()
    buyer = Buyer(heads=(chain.head,), received={chain.head: day})
    answer, reason, may_not = proof_of(vendor.root / "plain", buyer)
    assert (answer == "head", "journal head or time stamp" not in reason, "left out" not in may_not) == (is_proof,) * 3
    with verify.verify(vendor.root / "plain", buyer) as verified:
        messages = [finding.message for finding in verified.findings if finding.rule == "EVD-02"]
    assert any(f"arrived on {day}, after the campaign" in text for text in messages) is not is_proof


def stamp_findings(bag: Path, buyer: Buyer) -> dict[str, str]:
    """What EVD-02 says of time stamps, with the severity of each."""
    with verify.verify(bag, buyer) as verified:
        findings = [finding for finding in verified.findings if finding.rule == "EVD-02"]
        return {
            finding.message: str(finding.severity)
            for finding in findings
            if "stamp" in finding.message and "events in" not in finding.message
        }


def test_time_stamps_that_the_driver_kept_are_read_without_being_named(vendor: Vendor, tmp_path: Path) -> None:
    service, bag = authority.make(tmp_path / "authority"), bundled.copy(vendor, "plain", tmp_path / "bag")
    with verify.verify(bag, Buyer()) as verified:
        heads = verified.chain.heads
    stamps = bag / "data/results/timestamps"
    for head in (heads[3], heads[-1]):
        assert timestamps.obtain(head, str(service / "stamp"), stamps / f"{head}.tsr") == ""
    bundled.forge(bag)
    certificates = Buyer(authority=service / "cert.pem")
    (message,) = stamp_findings(bag, certificates)
    assert re.match(
        rf"2 time stamps prove that the first {len(heads)} events of the journal existed at \S+ \S+ UTC; their runs "
        r"had ended at most \w+ earlier",
        message,
    )
    (message,) = stamp_findings(bag, Buyer())
    assert message.startswith("the bundle has time stamps of the journal's heads: pass the certificates")
    with verify.verify(bag, certificates) as verified:
        assert not [finding for finding in verified.findings if finding.rule == "CMP-05"]
    # One of another head under this name, and one that no authority made.
    shutil.copy(stamps / f"{heads[3]}.tsr", stamps / f"{heads[4]}.tsr")
    (stamps / f"{heads[5]}.tsr").write_text("a time stamp")
    bundled.forge(bag)
    assert f"{heads[5]}.tsr: not a valid time stamp" in " ".join(stamp_findings(bag, certificates))
    # The journal made anew: its heads are others, and no stamp is of them.
    bundled.redo(bag)
    in_journal(bag, lambda event: event.update(time=event["time"] + 1))
    bundled.redo(bag)
    assert stamp_findings(bag, certificates) == {}
    old = Buyer(timestamps=(stamps / f"{heads[-1]}.tsr",), authority=service / "cert.pem")
    assert "E" in stamp_findings(bag, old).values()


def test_an_event_that_is_later_than_a_time_stamp_that_covers_it_is_found(
    vendor: Vendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with verify.verify(vendor.root / "plain", Buyer()) as verified:
        head = verified.chain.heads[-1]
    reply = tmp_path / "x.tsr"
    reply.touch()
    monkeypatch.setattr(timestamps, "read", lambda path, authority: Stamp(head, datetime(2020, 1, 1, tzinfo=UTC)))
    severities = stamp_findings(vendor.root / "plain", Buyer(timestamps=(reply,), authority=reply))
    assert severities == {"event 1 of the journal is later than a time stamp that covers it": "E"}


def test_the_challenge_of_the_buyer_is_in_every_attempts_name(vendor: Vendor, tmp_path: Path) -> None:
    challenge = journal.challenge("buyer-2026")
    tokens = [
        json.loads(path.read_text())["token"]
        for path in (vendor.root / "plain/data/results/runs").glob("*/1/attempt.json")
    ]
    assert tokens and all(token.startswith(challenge) and len(token) == 16 for token in tokens)
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    bundled.rechain(bag / "data/results/journal.jsonl", {tokens[0]: "0123456789abcdef"})
    bundled.redo(bag)
    with verify.verify(bag, Buyer()) as verified:
        messages = [finding.message for finding in verified.findings if finding.rule == "EVD-06" and finding.violated]
    assert any(text.startswith("attempts without the buyer's challenge in their names") for text in messages)


END, SURROUNDINGS = "facts of how a run ended", "other facts"  # of facts.jsonl


def kind_of(path: Path, line: bytes) -> str:
    if path.name != "facts.jsonl":
        return path.name
    return END if b'"source": "job"' in line else SURROUNDINGS


def replace_nonce(bag: Path, spared_kind: str = "") -> None:
    """Another nonce under the old logs: its challenge in the place of the old one in all files, but for one kind."""
    old, new = journal.challenge("buyer-2026"), journal.challenge("another")

    def changed_line(path: Path, line: bytes) -> bytes:
        if kind_of(path, line) == spared_kind:
            return line
        return line.replace(old.encode(), new.encode()).replace(b"buyer-2026", b"another")

    for path in bag.rglob("*"):
        if path.is_file() and (old.encode() in (data := path.read_bytes()) or b"buyer-2026" in data):
            path.write_bytes(b"".join(changed_line(path, line) for line in data.splitlines(keepends=True)))
    for path in sorted(bag.rglob(f"*{old}*"), key=lambda path: -len(path.parts)):
        path.rename(path.with_name(path.name.replace(old, new)))
    bundled.rechain(journal_of(bag), {})
    bundled.redo(bag)


@pytest.mark.parametrize(
    ("kind", "rules"),
    [
        ("stdout", {"FLG-03", "FLG-05"}),
        ("job.sbatch", {"EVD-04", "EVD-06"}),
        (END, {"RUN-06"}),
        (SURROUNDINGS, {"RUN-03"}),
        ("accounting.json", {"RUN-03"}),
        ("attempt.json", {"EVD-04"}),
    ],
)
def test_a_new_nonce_under_old_logs_is_found_in_each_kind_of_record(
    vendor: Vendor, tmp_path: Path, kind: str, rules: set[str]
) -> None:
    honest, bag = bundled.copy(vendor, "plain", tmp_path / "honest"), bundled.copy(vendor, "plain", tmp_path / "bag")
    replace_nonce(bag, spared_kind=kind)
    assert violated_rules(bag, Buyer(nonce="another")) - violated_rules(honest, Buyer(nonce="buyer-2026")) == rules


def test_a_new_nonce_in_every_record_is_found_by_a_head_from_before(vendor: Vendor, tmp_path: Path) -> None:
    """And by nothing else: docs/evidence.md claims no more."""
    with verify.verify(vendor.root / "plain", Buyer()) as verified:
        sent_text = verified.chain.heads[0]
    honest, bag = bundled.copy(vendor, "plain", tmp_path / "honest"), bundled.copy(vendor, "plain", tmp_path / "bag")
    replace_nonce(bag)
    before = violated_rules(honest, Buyer(nonce="buyer-2026"))
    assert violated_rules(bag, Buyer(nonce="another")) - before == set()
    assert violated_rules(bag, Buyer(nonce="another", heads=(sent_text,))) - before == {"EVD-02"}


def violated_rules(bag: Path, buyer: Buyer) -> set[str]:
    """The rules that a bundle violates."""
    with verify.verify(bag, buyer) as verified:
        assert verified.evaluation is not None
        everything = (*verified.findings, *verified.evaluation.submission.all_findings)
        return {finding.rule for finding in everything if finding.violated}


def test_a_file_that_no_job_writes_is_named(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    (bag / RUN / "better-numbers").write_text("x")
    (job_of(bag) / "notes").write_text("x")
    bundled.redo(bag)
    with verify.verify(bag, Buyer()) as verified:
        named_messages = [finding.message for finding in verified.findings if finding.rule == "CMP-05"]
    assert len(named_messages) == 2 and all("not referenced by any table" in text for text in named_messages)


def journal_of(bag: Path) -> Path:
    return bag / "data/results/journal.jsonl"


def in_journal(bag: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change events of the journal; `redo` makes its chain anew."""
    events = [json.loads(line) for line in journal_of(bag).read_text().splitlines()]
    for event in events:
        change(event)
    journal_of(bag).write_text("".join(json.dumps(event) + "\n" for event in events))


def test_an_end_that_was_recorded_before_the_run_ended_is_found(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    in_journal(bag, lambda event: event.update(time=event["time"] - 3600))
    bundled.redo(bag)
    with verify.verify(bag, Buyer()) as verified:
        messages = {finding.message for finding in verified.findings if finding.rule == "EVD-06" and finding.violated}
    assert any(text.startswith('the journal recorded the end of "scratch.') for text in messages)


def test_a_journal_of_the_future_is_found(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    in_journal(bag, lambda event: event.update(time=event["time"] + 7 * 86400))
    bundled.redo(bag)
    with verify.verify(bag, Buyer()) as verified:
        messages = [finding.message for finding in verified.findings if finding.rule == "EVD-02" and finding.violated]
    assert messages == ["the journal has events in the future: a clock was changed, at the vendor's site or here"]


def test_a_damaged_line_that_was_read_before_is_reported_by_every_command(vendor: Vendor, tmp_path: Path) -> None:
    """`plan` and `run` refuse; `status` and `cancel` say it and go on."""
    results = vendor.root / "results/bundled"
    shutil.copytree(results, tmp_path / "kept", symlinks=True)
    try:
        path = results / "journal.jsonl"
        path.write_text(path.read_text().replace('"state": "done"', '"state": "lost"', 1))
        for verb, status in (("plan", {3}), ("run", {3}), ("status", {0, 1}), ("cancel", {0})):
            process = vendor.call(verb, vendor.file)
            assert process.returncode in status, (verb, process)
            assert (
                "the hash chain is broken" in process.stderr and "campaign collect FILE --recover" in process.stderr
            ), verb
    finally:
        shutil.rmtree(results)
        shutil.copytree(tmp_path / "kept", results, symlinks=True)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"flags": "-O2 -include /opt/acme/fast.h -Dstat=acme_stat"}, "-include /opt/acme/fast.h, -Dstat=acme_stat"),
        (
            {"environment": ["C_INCLUDE_PATH=/opt/acme"], "inputs": [f"/opt/acme/sys/stat.h {'ab' * 32}"]},
            "/opt/acme/sys/stat.h",
        ),
    ],
)
def test_what_a_build_was_given_besides_its_source_waits_for_the_buyer(
    vendor: Vendor, tmp_path: Path, fields: dict[str, Any], named: str
) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    (path,) = (bag / SOURCE / "builds").glob("*.json")
    edit_record(path, lambda record: record.update(fields))
    edit_record(bag / SOURCE / "modifications.json", lambda record: record["builds"][0].update(fields))
    bundled.redo(bag)
    with verify.verify(bag, Buyer()) as verified:
        findings = [finding for item in verified.decision.decisions for finding in item.findings]
        messages = [finding.message for finding in findings if finding.rule == "SRC-05"]
        assert any(named in text for text in messages), messages
        assert verified.decision.exit_status in (1, 4)


def test_an_honest_campaign_has_no_contradiction(vendor: Vendor) -> None:
    with verify.verify(vendor.root / "plain", Buyer()) as verified:
        assert verified.evaluation is not None
        everything = (*verified.findings, *verified.evaluation.submission.all_findings)
        assert [
            finding for finding in everything if finding.rule in ("EVD-06", "EVD-07", "PHY-04") and finding.violated
        ] == []
    with reference.verify_bundle() as verified:
        assert verified.decision.consistent


def test_each_row_of_the_table_of_forgeries_names_a_test() -> None:
    """docs/evidence.md says what finds what a vendor can do; a test that is renamed or removed takes its row along."""
    page = (Path(__file__).parents[2] / "docs/evidence.md").read_text()
    section = page.partition("## What a vendor can still do, and what finds it\n")[2].partition("\n#")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    names = [re.findall(r"\| `(test_\w+)` \|$", row) for row in rows]
    assert len(rows) > 12 and all(len(found) == 1 for found in names), rows
    texts = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert [name for (name,) in names if f"\ndef {name}(" not in texts] == []
    for word in ("sample", "rebuild", "head", "time stamp", "accounting"):
        assert any(word in row for row in rows), word

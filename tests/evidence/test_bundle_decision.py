"""The verdict: one sentence that claims no more than it knows, and an exit status that a script can use."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from campaign.core.findings import Finding, Move, Severity
from campaign.core.runs import Status
from campaign.evidence.bundle_decision import BundleDecision, BundleFacts, Seal, VerifyOutcome, decide_on_bundle
from campaign.evidence.replay import RulesCopy
from campaign.judge.submission import Submission
from campaign.report.decision import Mark, Question, open_decisions
from tests.report.test_write import contents
from tests.support import builders, reference
from tests.support.bundled import Vendor
from tests.support.results import Results

VIOLATION = Finding("FLG-06", Severity.ERROR, "campaign", "wrong offset")
QUESTION = Finding("RUN-08", Severity.WARNING, "campaign", "attempts are missing")
UNCHECKED = replace(QUESTION, rule="STA-04", wording="one repetition", checked=False)
COUNTERS = replace(UNCHECKED, rule="CCH-02", wording="no counters", move=Move.BUYER)
NOT_PRINTED = replace(UNCHECKED, rule="FLG-07", wording="rank shift not in the output", move=Move.NOBODY)
EXPLAINED = replace(QUESTION, explained="they were cancelled")
PRELOAD = replace(VIOLATION, rule="SRC-05", wording="LD_PRELOAD loads /x.so", move=Move.BUYER)
DEVIATION = Finding("SRC-01", Severity.INFO, "campaign", "another program", move=Move.BUYER)


def measured_submission(*findings: Finding, profile: str = "full") -> Submission:
    submission = contents(Results(campaign=builders.campaign(profile=profile)), findings)
    return replace(submission, rows=tuple(replace(row, status=Status.MEASURED, value=1.0) for row in submission.rows))


def bundle_decision(
    *findings: Finding, profile: str = "full", of_bundle: tuple[Finding, ...] = (), **facts: object
) -> BundleDecision:
    fields: dict[str, Any] = {
        "signature": "vendor",
        "trusted": True,
        "copy": RulesCopy.INSTALLED,
        "terms": Path("terms.yaml"),
        **facts,
    }
    submission = fields.pop("submission", measured_submission(*findings, profile=profile))
    return decide_on_bundle(BundleFacts("offer.zip", **fields), of_bundle, submission)


@pytest.mark.parametrize(
    ("findings", "profile", "outcome", "status"),
    [
        ((), "full", VerifyOutcome.COMPLIANT, 0),
        ((NOT_PRINTED,), "full", VerifyOutcome.COMPLIANT, 0),
        ((replace(EXPLAINED, waived="B. Uyer, 2026-11-26"),), "full", VerifyOutcome.COMPLIANT, 0),
        ((replace(VIOLATION, waived="B. Uyer"),), "full", VerifyOutcome.COMPLIANT, 0),
        ((EXPLAINED,), "full", VerifyOutcome.OPEN, 4),
        ((QUESTION,), "full", VerifyOutcome.OPEN, 4),
        ((UNCHECKED,), "full", VerifyOutcome.OPEN, 4),
        ((COUNTERS,), "full", VerifyOutcome.OPEN, 4),
        ((DEVIATION,), "full", VerifyOutcome.OPEN, 4),
        ((replace(PRELOAD, explained="a profiler"),), "full", VerifyOutcome.OPEN, 4),
        ((PRELOAD,), "full", VerifyOutcome.NOT_VALID, 1),
        ((VIOLATION,), "full", VerifyOutcome.NOT_VALID, 1),
        ((), "rehearsal", VerifyOutcome.REHEARSAL, 5),
        ((VIOLATION,), "rehearsal", VerifyOutcome.NOT_VALID, 1),
    ],
)
def test_only_what_is_kept_and_accepted_by_terms_has_status_0(
    findings: tuple[Finding, ...], profile: str, outcome: VerifyOutcome, status: int
) -> None:
    decision = bundle_decision(*findings, profile=profile)
    assert (decision.outcome, decision.exit_status) == (outcome, status)


def test_without_terms_nothing_has_status_0() -> None:
    decision = bundle_decision(terms=None)
    assert (decision.outcome, decision.exit_status) == (VerifyOutcome.OPEN, 4)
    assert "campaign terms init terms.yaml --rules test-rules" in decision.block.steps[0].what


def answers(decision: BundleDecision) -> dict[str, str]:
    return {question.name: question.answer for question in decision.block.questions}


@pytest.mark.parametrize(
    ("findings", "of_bundle", "expected"),
    [
        ((), (), ("consistent", "kept", "none open")),
        ((replace(VIOLATION, rule="RUN-03"),), (), ("CONTRADICTED", "kept", "none open")),
        ((), (replace(VIOLATION, rule="EVD-04"),), ("CONTRADICTED", "kept", "none open")),
        ((), (replace(VIOLATION, rule="EVD-05"),), ("consistent", "VIOLATED", "none open")),
        ((), (replace(COUNTERS, rule="EVD-02"),), ("unproven", "kept", "none open")),
        ((), (replace(UNCHECKED, rule="EVD-03"),), ("unproven", "kept", "none open")),
        ((QUESTION, EXPLAINED), (), ("consistent", "open", "1 open")),
        ((COUNTERS,), (), ("consistent", "open", "none open")),
        ((DEVIATION, replace(PRELOAD, explained="a profiler")), (), ("consistent", "kept", "2 open")),
        ((NOT_PRINTED,), (), ("consistent", "kept", "none open")),
    ],
)
def test_evidence_rules_and_decisions_are_three_answers(
    findings: tuple[Finding, ...], of_bundle: tuple[Finding, ...], expected: tuple[str, ...]
) -> None:
    found_answers = answers(bundle_decision(*findings, of_bundle=of_bundle))
    assert tuple(found_answers[name] for name in ("evidence", "rules", "decisions")) == expected


def test_what_is_asked_about_the_bundle_itself_is_the_buyers_decision() -> None:
    asked = replace(QUESTION, rule="EVD-06", subject="bundle", cells=())
    decision = bundle_decision(DEVIATION, of_bundle=(asked,))
    assert [(item.rule, bool(item.cells)) for item in decision.decisions] == [("SRC-01", True), ("EVD-06", False)]
    (of_bundle,) = open_decisions([asked], ())
    assert decision.decisions[1].facts == of_bundle.facts, "by which the terms accept it"


def test_whose_move_an_open_rule_is_is_reported_and_what_nobody_can_show_is_reported_once() -> None:
    decision = bundle_decision(UNCHECKED, COUNTERS, NOT_PRINTED, replace(NOT_PRINTED, subject="another"))
    reason = next(question.reason for question in decision.block.questions if question.name == "rules")
    assert reason == (
        "1 rule needs the vendor's answer: one repetition (STA-04). "
        "1 rule needs your check: no counters (CCH-02). The outputs of these programs cannot show FLG-07."
    )
    assert [(step.who, step.what[-9:]) for step in decision.block.steps] == [
        ("you", "(CCH-02)."), ("vendor", "(STA-04)."), ("you", "ample.yaml"[-9:]),
    ]  # fmt: skip


def test_records_that_contradict_each_other_are_the_buyers_move() -> None:
    """The vendor is not told to repeat the run: a new run would hide which record is wrong."""
    values = {"contradiction": "value of create is 3491317.0 in a/stdout:14, but 349131.0 in a/bench.jsonl:5"}
    decision = bundle_decision(replace(VIOLATION, rule="EVD-06", wording="{contradiction}", values=values))
    assert (answers(decision)["evidence"], decision.outcome) == ("CONTRADICTED", VerifyOutcome.NOT_VALID)
    first, *other_steps = decision.block.steps
    assert values["contradiction"] in decision.block.questions[0].reason
    assert (first.who, first.what) == (
        "you",
        "Reject the bundle, or ask the vendor for the original records (EVD-06).",
    )
    assert not [step for step in other_steps if step.who == "vendor"]


def test_a_result_that_is_missing_is_not_valid_even_in_a_rehearsal() -> None:
    submission = measured_submission(profile="rehearsal")
    missing = replace(submission, rows=(replace(submission.rows[0], status=Status.MISSING), *submission.rows[1:]))
    decision = bundle_decision(submission=missing)
    assert (decision.exit_status, answers(decision)["complete"]) == (1, "NO")
    assert "35 of 36 results" in decision.block.sentence


def test_what_cannot_be_re_evaluated_claims_nothing() -> None:
    decision = bundle_decision(submission=None)
    assert (decision.outcome, decision.consistent, decision.rules) == (VerifyOutcome.NOT_VALID, False, "")
    assert answers(decision)["evidence"] == "CONTRADICTED"
    assert decision.block.may == "Do not trust these numbers: the records disagree."


@pytest.mark.parametrize(
    ("bundle_facts", "of_bundle", "seal", "text"),
    [
        ({}, (), Seal.TRUSTED, "vendor (signature ok)"),
        ({"trusted": False, "signature": "SHA256:x"}, (), Seal.UNKNOWN, "unknown key"),
        ({"trusted": False, "signature": ""}, (), Seal.NONE, "not signed"),
        ({}, (replace(VIOLATION, rule="EVD-01"),), Seal.BROKEN, "altered, or signed by somebody else"),
    ],
)
def test_who_closed_the_bundle_is_reported_first(
    bundle_facts: dict[str, object], of_bundle: tuple[Finding, ...], seal: Seal, text: str
) -> None:
    decision = bundle_decision(of_bundle=of_bundle, **bundle_facts)
    assert (decision.seal, text in decision.block.about) == (seal, True)


def test_how_many_results_were_measured_is_reported_since_a_reason_is_enough_to_decline_one() -> None:
    submission = measured_submission()
    rows = (*(replace(row, status=Status.DECLINED) for row in submission.rows[:9]), *submission.rows[9:])
    decision = bundle_decision(submission=replace(submission, rows=rows))
    assert decision.results == {"declined": 9, "measured": 27}
    assert "36 of 36 results have a value or a reason (9 declined)." in decision.block.sentence


def test_the_decision_names_whose_copy_of_the_rules_was_used() -> None:
    about_texts = [
        bundle_decision(copy=copy).block.about[2] for copy in (RulesCopy.GIVEN, RulesCopy.INSTALLED, RulesCopy.BUNDLE)
    ]
    assert [text.partition(" (")[2] for text in about_texts] == [
        "the copy that you named)",
        "your copy)",
        "the vendor's copy)",
    ]


def test_what_no_record_shows_is_reported_where_nothing_else_does() -> None:
    plain, proven = (
        bundle_decision(source=True),
        bundle_decision(source=True, proofs=("nonce", "head", "rebuild", "sample")),
    )
    assert plain.block.questions[-1] == Question(
        "proof", "none", "Proof: none. Missing: re-measurement, rebuild, journal head or time stamp."
    )
    assert proven.block.questions[-1] == Question(
        "proof",
        "nonce, head, rebuild, sample",
        "Proof: nonce, head, rebuild, sample. Missing: nothing.",
        Mark.OK,
    )
    assert plain.block.may_not == (
        "This does not show that the system reaches these results, or that no attempt was left out."
    )
    assert plain.block.steps[-1].what == "campaign sample offer.zip --seed SEED -o sample.yaml"
    assert proven.block.steps[-1].what.startswith("Nothing remains to be checked")


def test_the_verdict_of_the_readme_says_all_that_is_known() -> None:
    with reference.verify_bundle(reference.SIGNERS) as verified:
        decision = verified.decision
    assert (decision.seal, decision.rules_copy, decision.exit_status) == (Seal.TRUSTED, RulesCopy.INSTALLED, 4)
    assert (decision.evidence, decision.kept) == ("unproven", "open")
    assert decision.file_systems == {"scratch": "tmpfs"}
    assert [item.rule for item in decision.decisions] == ["SRC-01", "SRC-05"]


def test_it_is_printed_above_everything_and_is_in_json_and_in_the_report(vendor: Vendor, tmp_path: Path) -> None:
    process = vendor.call("verify", vendor.root / "plain", "-o", tmp_path / "report")
    first = process.stdout.partition("\n\n")[0]
    document = json.loads(vendor.call("verify", vendor.root / "plain", "--json").stdout)
    decision = document["conclusion"]["decision"]
    assert first.startswith(f"{decision['headline']}: plain, not signed, ")
    sentences = " ".join(first.split())
    assert all(f" {question['mark']} {question['reason']}" in sentences for question in decision["questions"])
    assert document["conclusion"]["exit_status"] == process.returncode
    assert "Missing: re-measurement" in (tmp_path / "report/index.html").read_text()


def test_the_report_counts_and_lists_what_the_verdict_counts(vendor: Vendor, tmp_path: Path) -> None:
    document = json.loads(vendor.call("verify", vendor.root / "plain", "-o", tmp_path, "--json").stdout)
    entries = json.loads((tmp_path / "findings.json").read_text())
    assert len({entry["rule"] for entry in entries if not entry["checked"]}) == document["conclusion"]["unchecked"]
    assert {entry["rule"] for entry in entries if entry["subject"] == "bundle"} >= {"EVD-02", "EVD-03"}
    page = (tmp_path / "index.html").read_text()
    assert f">{document['conclusion']['unchecked']}</b> rules open" in page
    assert (document["conclusion"]["outcome"], document["conclusion"]["compliance"]) == ("NOT VALID", "rehearsal")
    assert '<section class="decision broken"' in page


def test_the_report_has_the_times_of_the_verdict(vendor: Vendor, tmp_path: Path) -> None:
    conclusion = json.loads(vendor.call("verify", vendor.root / "plain", "-o", tmp_path, "--json").stdout)["conclusion"]
    output = (tmp_path / "index.html").read_text().split("Measured ")[1].split(" UTC")[0]
    assert output.startswith(conclusion["measured_from"])
    assert output.split(" to ")[1].rpartition(":")[0] in conclusion["measured_to"]


def test_every_finding_over_the_whole_campaign_is_printed(vendor: Vendor) -> None:
    campaign_findings = json.loads(vendor.call("verify", vendor.root / "plain", "--json").stdout)["campaign_findings"]
    output = " ".join(vendor.call("verify", vendor.root / "plain", "--details").stdout.split())
    assert {finding["severity"] for finding in campaign_findings} >= {"W"}
    assert [
        finding["message"] for finding in campaign_findings if " ".join(finding["message"].split()) not in output
    ] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--signers", "absent"), "--signers absent: not found"),
        (("--waiver-signers", "absent"), "--waiver-signers absent: not found"),
        (("--signers", "not-a-list"), "--signers not-a-list: no line of the form"),
        (("--head", "9be2"), '--head "9be2": not a journal head'),
        (("--rules", "crossroad-mdtest"), "crossroads-mdtest"),
    ],
)
def test_a_mistake_in_the_buyers_own_words_is_wrong_usage(
    vendor: Vendor, tmp_path: Path, words: tuple[str, str], message: str
) -> None:
    (tmp_path / "not-a-list").write_text("ssh-ed25519\n")
    process = vendor.call("verify", vendor.root / "plain", *words, cwd=tmp_path)
    assert (process.returncode, message in process.stderr, process.stdout) == (2, True, "")

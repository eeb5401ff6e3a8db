"""The decision that comes first: what holds, what does not, and who does what next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from campaign.config.response import Response
from campaign.config.rfp import Part, Rfp
from campaign.core.findings import Finding, Move, Severity
from campaign.core.runs import Status
from campaign.evidence import acceptance, sample
from campaign.evidence.acceptance import SampleOutcome
from campaign.evidence.bundle_decision import BundleDecision, BundleFacts, decide_on_bundle
from campaign.evidence.journal_checks import NOTHING_COVERED
from campaign.evidence.replay import RulesCopy
from campaign.evidence.verify_bundle import VerifiedBundle
from campaign.judge.submission import Submission
from campaign.report import decision
from campaign.report import rfp_response as report_whole
from campaign.report.compare import rendering
from campaign.report.compare.comparison import Terms
from campaign.report.compare.offers import Offer
from campaign.report.compare.verdicts import compare
from campaign.report.decision import DecisionBlock, Mark, Question, Step
from campaign.report.rfp_judgement import RfpJudgement
from tests.evidence.test_acceptance import ASKED, OFFER, job_environment, sample_outcome, sample_submission, with_facts
from tests.report.test_write import contents
from tests.support import builders
from tests.support.offers import noisy
from tests.support.results import Results

VIOLATION = Finding("FLG-06", Severity.ERROR, "campaign", "wrong offset")
OPEN = Finding("STA-04", Severity.WARNING, "campaign", "one repetition", checked=False)
EXPLAINED = Finding("RUN-08", Severity.WARNING, "campaign", "attempts are missing", explained="they were cancelled")
DECLINED = Finding("CMP-03", Severity.INFO, "campaign", "declined: no NFS", move=Move.BUYER)


def full_submission(*findings: Finding, status: Status = Status.MEASURED, profile: str = "full") -> Submission:
    all_contents = contents(Results(campaign=builders.campaign(profile=profile)), findings)
    return replace(all_contents, rows=tuple(replace(row, status=status, findings=()) for row in all_contents.rows))


def block(*findings: Finding, status: Status = Status.MEASURED, profile: str = "full") -> DecisionBlock:
    return decision.campaign_decision(full_submission(*findings, status=status, profile=profile), "c.yaml")


@pytest.mark.parametrize(
    ("findings", "status", "profile", "headline", "answers", "next_steps"),
    [
        ((), Status.MEASURED, "full", "READY TO HAND IN", ("yes", "kept", "none open"), ["campaign bundle c.yaml"]),
        ((OPEN, EXPLAINED),
         Status.MEASURED, "full", "READY TO HAND IN", ("yes", "open", "1 open"), ["Run again with", "campaign bundle"]),
        ((DECLINED,), Status.DECLINED, "full", "READY TO HAND IN", ("yes", "kept", "1 open"), ["campaign bundle"]),
        ((VIOLATION, OPEN), Status.MEASURED, "full", "NOT READY", ("yes", "VIOLATED", "none open"), ["Run", "Run"]),
        ((), Status.MISSING, "full", "NOT READY", ("NO", "kept", "none open"), ["campaign run c.yaml"]),
        ((), Status.MEASURED, "rehearsal", "REHEARSAL", ("yes", "kept", "none open"), ["Set profile: full"]),
        ((VIOLATION,), Status.MEASURED, "rehearsal", "REHEARSAL", ("yes", "VIOLATED", "none open"), ["Run the"]),
    ],
)  # fmt: skip
def test_a_vendor_is_told_what_holds_and_what_comes_next(
    findings: tuple[Finding, ...],
    status: Status,
    profile: str,
    headline: str,
    answers: tuple[str, ...],
    next_steps: list[str],
) -> None:
    vendor_block = block(*findings, status=status, profile=profile)
    assert (vendor_block.headline, tuple(question.answer for question in vendor_block.questions)) == (headline, answers)
    assert len(vendor_block.steps) == len(next_steps)
    assert all(step.what.startswith(text) for step, text in zip(vendor_block.steps, next_steps, strict=True))


WAIVED = replace(VIOLATION, waived="B. Uyer, 2026-11-26 until 2027-01-01: agreed")


@pytest.mark.parametrize(
    ("status", "may"),
    [
        (Status.MEASURED, "All results are there, and none violates a rule that was checked, except for waived"),
        (Status.MISSING, "What has been measured does not violate a rule that was checked, except for waived"),
    ],
)
def test_a_waived_violation_is_named_where_no_other_rule_is_violated(status: Status, may: str) -> None:
    vendor_block = block(WAIVED, status=status)
    assert vendor_block.may == f"{may} violations of FLG-06."
    assert vendor_block.questions[1] == Question("rules", "kept", "1 violated rule is waived (FLG-06).", Mark.OK)
    bundle = decide_on_bundle(
        BundleFacts("offer.zip", "", False, RulesCopy.INSTALLED, Path("terms.yaml")),
        (),
        full_submission(WAIVED, status=status),
    )
    assert bundle.block.questions[2].reason == "1 violated rule is waived (FLG-06)."
    assert "waived" not in block(status=status).may


def test_results_without_measurement_are_counted_one_by_one() -> None:
    cells = [row.cell for row in full_submission().rows]
    reasons = [replace(DECLINED, wording=f"declined: {number}") for number in range(2)]
    two_reasons = (replace(reasons[0], cells=tuple(cells[:3])), replace(reasons[1], cells=tuple(cells[3:5])))
    for findings, says in (
        (two_reasons, "accept 5 results without measurement for 2 reasons (CMP-03)?"),
        (two_reasons[:1], 'accept "declined: 0" (CMP-03, 3 results)?'),
        ((replace(DECLINED, cells=tuple(cells[:1])),), 'accept "declined: no NFS" (CMP-03, 1 result)?'),
        (
            (*two_reasons, EXPLAINED),
            "accept 5 results without measurement for 2 reasons, 1 explanation (CMP-03, RUN-08)?",
        ),
    ):
        reason = block(*findings, status=Status.DECLINED).questions[2]
        assert (reason.answer, reason.reason) == (
            f"{2 if findings == two_reasons else len(findings)} open",
            f"The buyer's decision: {says}",
        )


def test_the_decision_on_a_table_says_that_it_shows_no_measurement() -> None:
    good, wrong = decision.table_decision(full_submission()), decision.table_decision(full_submission(VIOLATION))
    assert (good.headline, wrong.headline) == ("NO VIOLATION FOUND", "NOT ACCEPTABLE")
    assert good.may_not.startswith("This does not show that the numbers were measured")
    assert [step.what[:15] for step in wrong.steps] == ["Run the result ", "Send the bundle"]


@pytest.mark.parametrize("width", [40, 80, 140])
def test_no_sentence_is_cut_and_nothing_is_wider_than_the_terminal(width: int) -> None:
    sentence = "A sentence of some words that are all needed. " * 3
    questions = tuple(Question(name, "consistent", sentence) for name in "abcde")
    steps = (Step("vendor", "Undo the change, and measure again " * 3), Step("you", "campaign verify x.zip"))
    block = DecisionBlock("NOT VALID", ("x.zip", "vendor"), questions, "M. " * 30, "N. " * 30, steps)
    lines = decision.decision_text(block, width).splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(" ".join(lines).split()).count("A sentence of some words that are all needed.") == 15


def test_at_most_five_steps_are_printed_and_the_others_counted_with_the_command_that_lists_them() -> None:
    steps = tuple(Step("vendor", f"Correct setting {number} (FLG-0{number}).") for number in range(1, 10))
    block = DecisionBlock("NOT READY", ("c",), (), "M.", "N.", steps, details="campaign check c.yaml")
    lines = decision.decision_text(block, 80).splitlines()
    assert lines[-2:] == [
        "      5 vendor  Correct setting 5 (FLG-05).",
        "        and 4 more: campaign check c.yaml",
    ]


def test_the_first_steps_of_vendor_and_buyer_come_first() -> None:
    steps = [Step("vendor", "a"), Step("vendor", "b"), Step("you", "c"), Step("you", "d")]
    assert [step.what for step in decision.first_of_each(steps)] == ["a", "c", "b", "d"]


def test_a_step_names_the_file_and_the_cells_so_that_its_command_can_be_pasted() -> None:
    cells = [row.cell for row in full_submission().rows]
    finding = replace(VIOLATION, remedy="run again: campaign rerun FILE CELL", cells=tuple(cells[:36]))
    (step,) = decision.vendor_steps([finding], "my offer.yaml", cells)
    assert step.what == "Run again (FLG-06): campaign rerun my offer.yaml '*/*/*/*'"


def test_a_sentence_lists_rules_with_what_they_found_and_counts_the_others() -> None:
    findings = [replace(VIOLATION, rule=f"FLG-0{number}", wording=f"wrong word {number}") for number in range(1, 7)]
    assert decision.listed_findings(findings) == (
        "wrong word 1 (FLG-01); wrong word 2 (FLG-02); wrong word 3 (FLG-03); and 3 more (FLG-04, FLG-05, FLG-06)"
    )


def test_what_a_bundle_says_cannot_write_on_the_terminal() -> None:
    text = decision.decision_text(DecisionBlock("X", ("\x1b[2J",), (Question("a", "b", "\x1b[2J"),), "", ""), 80)
    assert "\x1b" not in text


# --- the screens, each compared whole


INVALID = Finding(
    "GEO-03",
    Severity.ERROR,
    "scratch/max/*/*",
    "below the maximum concurrency of partition batch, without a projection to it",
    "32 processes on 4 nodes",
    "8 processes on 4 nodes",
)
LACKING = Finding("SRC-05", Severity.ERROR, "campaign", "build record lacks compiler, flags")
UNKNOWN_KEY = Finding(
    "EVD-03",
    Severity.WARNING,
    "bundle",
    "signed by an unknown ED25519 key SHA256:yyXe0wvC",
    checked=False,
    move=Move.BUYER,
    remedy="pass the vendor's public key with --signers",
)
NO_COUNTERS = Finding("CCH-02", Severity.WARNING, "campaign", "no counters of the servers", checked=False)
GOOD = full_submission()
VIOLATED = full_submission(INVALID, LACKING)
VIOLATED = replace(
    VIOLATED,
    rows=tuple(replace(row, status=Status.INVALID) if row.cell.launch == "max" else row for row in VIOLATED.rows),
)
FAILED = replace(
    GOOD,
    rows=tuple(
        replace(row, status=Status.FAILED, note="timeout: the job reached its time limit of 1:00:00 (job 17)")
        if row.cell.launch == "max" and row.cell.files == "shared"
        else replace(row, status=Status.MISSING, note="not run yet")
        if row.cell.launch == "max"
        else row
        for row in GOOD.rows
    ),
)


def bundle_decision(submission: Submission, *of_bundle: Finding, **facts: object) -> BundleDecision:
    fields: dict[str, Any] = {
        "signature": "Acme",
        "trusted": True,
        "copy": RulesCopy.INSTALLED,
        "terms": Path("terms.yaml"),
        **facts,
    }
    return decide_on_bundle(BundleFacts("offer-c.zip", **fields), of_bundle, submission)


def bundle_block(submission: Submission, *of_bundle: Finding, **facts: object) -> DecisionBlock:
    return bundle_decision(submission, *of_bundle, **facts).block


def acceptance_block(outcome: SampleOutcome) -> DecisionBlock:
    return acceptance.acceptance_decision(outcome, "offer-c.zip", "sample.yaml")


def comparison_block(offers: Sequence[Offer], terms: Terms | None = None) -> DecisionBlock:
    return rendering.comparison_decision(
        compare(offers, terms), ["offer-a.zip", "offer-b.zip", "offer-c.zip"][: len(offers)]
    )


PARTS = tuple(Part(part, "test-rules") for part in ("fast", "slow"))
SMALL = Rfp(path=Path("rfp.yaml"), digest="", id="small", version=3, title="Two tiers", parts=PARTS)


def of_parts(*submissions: Submission) -> DecisionBlock:
    parts = dict(zip(("fast", "slow"), submissions, strict=True))
    return report_whole.response_decision(Response(cast(Any, None), SMALL, PARTS), parts, "offer.yaml", RfpJudgement())


def verified_parts(*conclusions: BundleDecision) -> DecisionBlock:
    parts = {
        part: SimpleNamespace(decision=conclusion, proofs=proofs, coverage=NOTHING_COVERED)
        for part, conclusion, proofs in zip(("fast", "slow"), conclusions, ((), ("head", "sample")), strict=True)
    }
    return VerifiedBundle("offer-c.zip", SMALL, (), cast(Any, parts), ()).decision


SCREENS: dict[str, Callable[[], DecisionBlock]] = {
    "run-compliant": lambda: decision.campaign_decision(GOOD, "offer.yaml"),
    "run-violated": lambda: decision.campaign_decision(VIOLATED, "offer.yaml"),
    "run-open": lambda: decision.campaign_decision(full_submission(OPEN, EXPLAINED, DECLINED), "offer.yaml"),
    "run-failed": lambda: decision.campaign_decision(FAILED, "offer.yaml"),
    "run-rehearsal": lambda: decision.campaign_decision(full_submission(profile="rehearsal"), "offer.yaml"),
    "check-table": lambda: decision.table_decision(VIOLATED),
    "verify-compliant": lambda: bundle_block(GOOD, proofs=("nonce", "head", "rebuild", "sample")),
    "verify-violated": lambda: bundle_block(VIOLATED),
    "verify-open": lambda: bundle_block(
        full_submission(OPEN, EXPLAINED, DECLINED, NO_COUNTERS), UNKNOWN_KEY, trusted=False, terms=None
    ),
    "verify-rehearsal": lambda: bundle_block(full_submission(profile="rehearsal")),
    "verify-parts": lambda: verified_parts(bundle_decision(VIOLATED), bundle_decision(GOOD, proofs=("head", "sample"))),
    "run-parts": lambda: of_parts(GOOD, FAILED),
    "sample": lambda: sample.sample_decision(ASKED, sample.offer_of(OFFER, "offer"), "offer-c.zip", "sample.yaml"),
    "accept-accepted": lambda: acceptance_block(sample_outcome(sample_submission())),
    "accept-rejected": lambda: acceptance_block(sample_outcome(sample_submission(factor=0.8))),
    "accept-open": lambda: acceptance_block(sample_outcome(with_facts(job_environment({"mount.type": "tmpfs"})))),
    "accept-copied": lambda: acceptance_block(sample_outcome(sample_submission(started=-50.0))),
    "compare-slower": lambda: comparison_block([noisy(1, 1), noisy(2, 1, factor=lambda _: 0.1)]),
    "compare-three": lambda: comparison_block([noisy(1), noisy(2), noisy(3, factor=lambda _: 0.1)]),
    "compare-terms": lambda: comparison_block([noisy(1), noisy(3, factor=lambda _: 0.9)], Terms(0.95)),
}


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_begins_with_its_decision(name: str) -> None:
    block = SCREENS[name]()
    texts = {width: decision.decision_text(block, width) for width in (80, 120)}
    builders.golden(f"screens/{name}.txt", "".join(f"--- {width} columns\n{text}\n" for width, text in texts.items()))
    assert all(len(text.splitlines()) <= 14 for text in texts.values())

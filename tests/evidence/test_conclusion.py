"""The verdict: one sentence that claims no more than it knows, and an exit status that a script can use."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.core.model import Finding, Severity, Status
from campaign.evidence.conclusion import Conclusion, Seal, VerifyOutcome, conclude
from campaign.evidence.replay import Copy
from campaign.judge.submission import Submission
from tests.report.test_write import contents
from tests.support import builders, reference
from tests.support.bundled import Made
from tests.support.results import Results

VIOLATION = Finding("FLG-06", Severity.ERROR, "campaign", "wrong offset")
QUESTION = Finding("RUN-08", Severity.WARNING, "campaign", "attempts are missing")
UNCHECKED = replace(QUESTION, rule="CCH-02", checked=False)


def whole(*findings: Finding, profile: str = "full") -> Submission:
    given = contents(Results(campaign=builders.campaign(profile=profile)), findings)
    return replace(given, rows=tuple(replace(row, status=Status.MEASURED, value=1.0) for row in given.rows))


def said(*findings: Finding, profile: str = "full", **changes: object) -> Conclusion:
    found = {"of_bundle": (), "whole": whole(*findings, profile=profile), "signature": "vendor", "trusted": True}
    return conclude(**{**found, "copy": Copy.INSTALLED, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("findings", "profile", "outcome", "status"),
    [
        ((), "full", VerifyOutcome.COMPLIANT, 0),
        ((replace(QUESTION, explained="they were cancelled"),), "full", VerifyOutcome.COMPLIANT, 0),
        ((QUESTION,), "full", VerifyOutcome.OPEN, 4),
        ((UNCHECKED,), "full", VerifyOutcome.OPEN, 4),
        ((VIOLATION,), "full", VerifyOutcome.NOT_VALID, 1),
        ((replace(VIOLATION, waived="B. Uyer"),), "full", VerifyOutcome.COMPLIANT, 0),
        ((), "rehearsal", VerifyOutcome.REHEARSAL, 5),
        ((VIOLATION,), "rehearsal", VerifyOutcome.NOT_VALID, 1),
    ],
)
def test_only_what_complies_and_was_fully_checked_has_status_0(
    findings: tuple[Finding, ...], profile: str, outcome: VerifyOutcome, status: int
) -> None:
    found = said(*findings, profile=profile)
    assert (found.outcome, found.exit_status) == (outcome, status)


def test_a_result_that_is_missing_is_not_valid_even_in_a_rehearsal() -> None:
    given = whole(profile="rehearsal")
    missing = replace(given, rows=(replace(given.rows[0], status=Status.MISSING), *given.rows[1:]))
    found = said(whole=missing)
    assert (found.exit_status, "1 of 36 results without a valid value" in found.sentence) == (1, True)


def test_what_cannot_be_re_evaluated_claims_nothing() -> None:
    found = said(whole=None)
    assert (found.outcome, found.consistent, found.rules) == (VerifyOutcome.NOT_VALID, False, "")
    assert "not re-evaluated" in found.sentence


@pytest.mark.parametrize(
    ("changes", "seal", "text"),
    [
        ({}, Seal.TRUSTED, "unaltered since vendor signed it"),
        ({"trusted": False, "signature": "SHA256:x"}, Seal.UNKNOWN, "by a key that you did not list (SHA256:x)"),
        ({"signature": ""}, Seal.NONE, "not signed, so that anybody may have altered it"),
        (
            {"signature": "", "of_bundle": (replace(VIOLATION, rule="EVD-03"),)},
            Seal.NONE,
            "not signed, so that anybody may have altered it",
        ),
        ({"of_bundle": (replace(VIOLATION, rule="EVD-01"),)}, Seal.BROKEN, "altered, or signed by somebody else"),
    ],
)
def test_the_sentence_says_who_closed_the_bundle(changes: dict[str, object], seal: Seal, text: str) -> None:
    found = said(**changes)  # type: ignore[arg-type]
    assert (found.seal, text in found.sentence) == (seal, True)


def test_records_that_contradict_each_other_are_said_with_their_rules() -> None:
    found = said(replace(VIOLATION, rule="RUN-03"))
    assert not found.consistent
    assert "its records contradict each other (RUN-03)" in found.sentence


def test_tables_that_do_not_follow_from_the_logs_are_no_contradiction_of_records() -> None:
    found = said(of_bundle=(replace(VIOLATION, rule="EVD-04"),))
    assert not found.consistent
    assert "its tables, findings or verdict do not follow from its logs (EVD-04)" in found.sentence


def test_a_journal_that_the_buyer_did_not_expect_is_no_contradiction_of_records() -> None:
    findings = (replace(VIOLATION, rule="EVD-02"), replace(VIOLATION, rule="EVD-06"))
    sentence = said(of_bundle=findings).sentence
    assert "its records contradict each other (EVD-06); its journal was changed, or is not" in sentence


def test_how_many_results_were_measured_is_in_the_sentence_since_a_reason_is_enough_to_decline_one() -> None:
    given = whole()
    rows = (*(replace(row, status=Status.DECLINED) for row in given.rows[:9]), *given.rows[9:])
    found = said(whole=replace(given, rows=rows))
    assert found.results == {"declined": 9, "measured": 27}
    assert "of 36 results: 9 declined, 27 measured" in found.sentence


def test_whose_copy_of_the_rules_is_said() -> None:
    texts = [said(copy=copy).sentence for copy in (Copy.GIVEN, Copy.INSTALLED, Copy.BUNDLE)]
    words = ("the rules that you named", "your own copy of", "the vendor's copy of")
    assert [word in text for word, text in zip(words, texts, strict=True)] == [True] * 3


def test_waived_violations_and_a_pack_that_differs_are_in_the_sentence() -> None:
    assert "but those that you waived (FLG-06)" in said(replace(VIOLATION, waived="B. Uyer")).sentence
    differs = said(of_bundle=(replace(VIOLATION, rule="EVD-05"), replace(VIOLATION, rule="EVD-05", wording="other")))
    assert "the vendor's copy of the rules differs from them in 2 points (EVD-05)" in differs.sentence
    assert differs.exit_status == 1


def test_what_no_record_shows_is_said_where_nothing_else_does() -> None:
    plain, headed, rebuilt = said(), said(headed=True), said(source=True)
    texts = "no journal head that was sent while it ran", "was not built again from the source"
    assert [[text in one.sentence for text in texts] for one in (plain, headed, rebuilt)] == [
        [True, False], [False, False], [True, True],
    ]  # fmt: skip
    assert all("or be the best of several campaigns" in one.sentence for one in (plain, headed, rebuilt))


def test_the_verdict_of_the_readme_says_all_that_is_known() -> None:
    with reference.verified(reference.SIGNERS) as found:
        told = found.conclusion
    assert (told.seal, told.rules_copy, told.exit_status) == (Seal.TRUSTED, Copy.INSTALLED, 4)
    assert told.file_systems == {"scratch": "tmpfs"}
    for part in ("by the nodes' own mount tables", "measured from 2026-", "logs can be invented as a whole"):
        assert part in told.sentence


def test_it_is_printed_above_everything_and_is_in_json_and_in_the_report(made: Made, tmp_path: Path) -> None:
    done = made.call("verify", made.root / "plain", "-o", tmp_path / "report")
    first = done.stdout.partition("\n\n")[0]
    assert first.startswith("VERDICT: ")
    found = json.loads(made.call("verify", made.root / "plain", "--json").stdout)
    assert found["conclusion"]["exit_status"] == done.returncode
    assert " ".join(first.split()) == found["verdict_sentence"]
    assert "logs can be invented as a whole" in (tmp_path / "report/index.html").read_text()


def test_the_report_counts_and_lists_what_the_verdict_counts(made: Made, tmp_path: Path) -> None:
    told = json.loads(made.call("verify", made.root / "plain", "-o", tmp_path, "--json").stdout)
    found = json.loads((tmp_path / "findings.json").read_text())
    assert len({one["rule"] for one in found if not one["checked"]}) == told["conclusion"]["unchecked"]
    assert {one["rule"] for one in found if one["subject"] == "bundle"} >= {"EVD-02", "EVD-03"}
    page = (tmp_path / "index.html").read_text()
    assert f"{told['conclusion']['unchecked']} rules of " in page
    assert (told["conclusion"]["outcome"], told["conclusion"]["compliance"]) == ("NOT VALID", "rehearsal")
    assert '<section class="verdict broken"' in page


def test_the_report_has_the_times_of_the_verdict(made: Made, tmp_path: Path) -> None:
    told = json.loads(made.call("verify", made.root / "plain", "-o", tmp_path, "--json").stdout)["conclusion"]
    shown = (tmp_path / "index.html").read_text().split("Measured ")[1].split(" UTC")[0]
    assert shown.startswith(told["measured_from"])
    assert shown.split(" to ")[1].rpartition(":")[0] in told["measured_to"]


def test_every_finding_over_the_whole_campaign_is_printed(made: Made) -> None:
    found = json.loads(made.call("verify", made.root / "plain", "--json").stdout)["campaign_findings"]
    printed = " ".join(made.call("verify", made.root / "plain").stdout.split())
    assert {one["severity"] for one in found} >= {"W"}
    assert [one["message"] for one in found if " ".join(one["message"].split()) not in printed] == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--signers", "absent"), "--signers absent: not found"),
        (("--waiver-signers", "absent"), "--waiver-signers absent: not found"),
        (("--signers", "not-a-list"), "--signers not-a-list: no line of the form"),
        (("--head", "9be2"), '--head "9be2": not a journal head'),
        (("--rules", "crossroad-mdtest"), "crossroads-mdtest"),
    ],
)
def test_a_mistake_in_the_buyers_own_words_is_wrong_usage(
    made: Made, tmp_path: Path, words: tuple[str, str], said: str
) -> None:
    (tmp_path / "not-a-list").write_text("ssh-ed25519\n")
    done = made.call("verify", made.root / "plain", *words, cwd=tmp_path)
    assert (done.returncode, said in done.stderr, done.stdout) == (2, True, "")

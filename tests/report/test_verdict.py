from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from campaign.core.findings import Finding, Severity
from campaign.core.runs import Status
from campaign.report.contents import Contents
from campaign.report.decision import Compliance, Verdict, compliance_verdict
from tests.report.test_write import FINDING, contents
from tests.support import builders
from tests.support.results import Results

WARNING = replace(FINDING, rule="RUN-07", severity=Severity.WARNING)
UNCHECKED = replace(WARNING, rule="CCH-03", checked=False)


def complete_contents(*findings: Finding, profile: str = "full") -> Contents:
    """A campaign with a number in every cell, at full size."""
    full_contents = contents(Results(campaign=builders.campaign(profile=profile)), findings)
    return replace(full_contents, rows=[replace(row, status=Status.MEASURED, value=1.0) for row in full_contents.rows])


def reason_texts(verdict: Verdict) -> list[str]:
    return [f"{reason.text} {' '.join(rule for rule, _, _ in reason.rules)}".strip() for reason in verdict.reasons]


def test_a_campaign_without_a_finding_complies() -> None:
    verdict = compliance_verdict(complete_contents())
    assert (verdict.kind, verdict.headline, verdict.reasons) == (Compliance.COMPLIES, "Complies with the run rules", ())


def test_a_rule_that_was_not_checked_leaves_no_plain_compliance() -> None:
    verdict = compliance_verdict(complete_contents(UNCHECKED))
    assert verdict.kind is Compliance.UNCHECKED
    assert verdict.headline == "No violation found, but not all rules were checked"
    assert reason_texts(verdict) == [
        f"1 rule of {len(builders.ALL_CHECKS)} not checked (does not count as passed): CCH-03"
    ]


def test_a_broken_rule_is_named_with_its_statement_and_how_often() -> None:
    verdict = compliance_verdict(complete_contents(FINDING, replace(FINDING, subject="other"), WARNING, UNCHECKED))
    assert (verdict.kind, verdict.headline) == (Compliance.BROKEN, "Does not comply with the run rules")
    assert reason_texts(verdict)[:2] == ["1 rule violated: FLG-06", "Explanation required by 1 rule: RUN-07"]
    ((rule, statement, times),) = verdict.reasons[0].rules
    assert (rule, times) == ("FLG-06", 2) and statement == "the rank offset (`-N`) is the one that the rules ask for"


@pytest.mark.parametrize("status", [Status.INVALID, Status.FAILED, Status.MISSING])
def test_a_cell_without_a_valid_number_does_not_comply(status: Status) -> None:
    contents = complete_contents()
    verdict = compliance_verdict(replace(contents, rows=[replace(contents.rows[0], status=status), *contents.rows[1:]]))
    assert verdict.kind is Compliance.BROKEN
    assert reason_texts(verdict) == ["1 of 36 results have no valid value."]


def test_a_question_does_not_take_compliance_away() -> None:
    verdict = compliance_verdict(complete_contents(WARNING))
    assert (verdict.kind, verdict.headline) == (
        Compliance.COMPLIES,
        "Complies with the run rules, with explanations required",
    )


def test_a_waived_violation_blocks_nothing_and_is_shown() -> None:
    verdict = compliance_verdict(complete_contents(replace(FINDING, waived="by the buyer")))
    assert (verdict.kind, verdict.headline) == (
        Compliance.COMPLIES,
        "Complies with the run rules, with waived violations",
    )
    assert reason_texts(verdict) == ["1 rule violated and waived: FLG-06"]


def test_a_warning_that_has_its_answer_asks_nothing() -> None:
    assert (
        compliance_verdict(complete_contents(replace(WARNING, explained="the file system is that slow"))).reasons == ()
    )


@pytest.mark.parametrize("findings", [(), (FINDING,)])
def test_a_rehearsal_never_complies_and_says_how_small_it_is(findings: tuple[Finding, ...]) -> None:
    verdict = compliance_verdict(complete_contents(*findings, profile="rehearsal"))
    assert (verdict.kind, verdict.headline) == (Compliance.REHEARSAL, "Rehearsal size: not a compliant result")
    assert reason_texts(verdict)[0] == "Rehearsal: 1000 files instead of 1048576."


def test_rules_of_unknown_origin_are_reported_first(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("id: mine\n")
    contents = complete_contents()
    verdict = compliance_verdict(
        replace(contents, pack=replace(contents.pack, path=tmp_path / "mine.yaml", digest="0" * 64))
    )
    assert reason_texts(verdict)[0].startswith(f"The rules are a custom rule pack {tmp_path}/mine.yaml, SHA-256")

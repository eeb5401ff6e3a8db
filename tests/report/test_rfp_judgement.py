"""What all parts of an RFP show together: conditions on figures, facts and scores, and the states of its clauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.config import rfp as rfps
from campaign.config.system import Proposed
from campaign.core.errors import InputError
from campaign.core.findings import Finding
from campaign.core.runs import Status
from campaign.judge.compliance import ClauseState
from campaign.judge.submission import Submission
from campaign.report.rfp_judgement import RfpJudgement, judge_rfp
from campaign.report.rfp_response import judgement_text, rfp_questions
from tests.judge.cases.sources import BUILD, sourced
from tests.judge.cases.submissions import good_submission

RFP = """
id: pair
version: 1
title: Two systems
parts:
  - {id: first, pack: crossroads-mdtest, clause: "1"}
  - {id: second, pack: crossroads-mdtest, clause: "1"}
  - {id: third, pack: crossroads-mdtest, clause: "1", mandatory: MANDATORY}
figures:
  creates: "*/*/*/*/create"
  shared: first/scratch/single/shared/create
  other: second/scratch/single/shared/create
  thirds: third/*/*/*/create
  rates: first/*/*/*/*
  nodes: "*/*/single/*/nodes"
  processes: first/*/max/*/processes
  offered: "*/*/*/*/offered.nodes"
scores:
  - {id: total, title: Total, clause: "2", of: [{formula: shared, reference: 100}]}
"""


def judge(
    folder: Path,
    further: str,
    *,
    full: bool = True,
    mandatory: bool = False,
    answers: dict[str, str] | None = None,
    buyer: str = "",
    **changes: Submission,
) -> RfpJudgement:
    """Two parts, each with the results of a good submission, by an RFP with these further keys."""
    (folder / "rfp.yaml").write_text(RFP.replace("MANDATORY", str(mandatory).lower()) + further)
    submission = good_submission() if full else good_submission(profile="rehearsal")
    parts = {"first": submission, "second": submission, **changes}

    def accept(findings: Sequence[Finding]) -> dict[Finding, Finding]:
        return {finding: replace(finding, waived=buyer) for finding in findings if buyer}

    return judge_rfp(rfps.load(folder / "rfp.yaml"), parts, answers or {}, accept)


def requires(condition: str, *keys: str) -> str:
    entry = ", ".join((f"holds: {condition!r}", "clause: '6'", *keys))
    return f"requires:\n  - {{{entry}}}\n"


def test_a_condition_holds_for_each_of_several_results(tmp_path: Path) -> None:
    assert judge(tmp_path, requires("creates >= 1000")).findings == ()
    (finding,) = judge(tmp_path, requires("creates >= 1001")).findings
    assert finding.violated
    assert finding.message == (
        "clause 6 requires creates >= 1001; found creates 1000 (first/scratch/single/shared/create); creates 1000 "
        "(second/scratch/single/shared/create)"
    )


KEPT = [
    "shared == other",
    "min(creates) >= 1000",
    "distinct(nodes) == 1",
    "count(creates) == 24",
    "count(thirds) == 0",
    "count(rates) == 36",
    "max(creates) / shared > 32",
    "processes == 32",
    "total == 10",
]
BROKEN = {
    "shared > other": (
        "shared 1000 (first/scratch/single/shared/create), other 1000 (second/scratch/single/shared/create)"
    ),
    "distinct(creates) == 1": "distinct(creates) 12",
    "count(creates) > 24": "count(creates) 24",
    "processes > 32": "processes 32 (first/scratch/max/shared/processes)",
    "total > 10": "total 10",
}
UNKNOWN = {
    "thirds > 1": "thirds has no result",
    "creates > nodes * creates": "",
    "log(shared - other) > 0": "log(shared - other) cannot be computed: ",
}


@pytest.mark.parametrize("condition", KEPT)
def test_conditions_on_figures_facts_and_scores_are_kept(tmp_path: Path, condition: str) -> None:
    assert judge(tmp_path, requires(condition)).findings == ()


@pytest.mark.parametrize(("condition", "values"), BROKEN.items())
def test_conditions_on_figures_facts_and_scores_are_violated(tmp_path: Path, condition: str, values: str) -> None:
    (finding,) = judge(tmp_path, requires(condition)).findings
    assert (finding.rule, finding.violated, finding.clause) == ("RES-03", True, "6")
    assert finding.message == f"clause 6 requires {condition}; found {values}"


@pytest.mark.parametrize("status", [Status.MISSING, Status.INVALID, Status.DECLINED])
def test_what_has_no_valid_value_is_not_checked_whatever_else_holds(tmp_path: Path, status: Status) -> None:
    submission = good_submission()
    rows = (replace(submission.rows[0], status=status, value=None), *submission.rows[1:])
    for condition in ("creates >= 1000", "total > 1e9"):
        judgement = judge(tmp_path, requires(condition), first=replace(submission, rows=rows))
        (finding,) = judgement.findings
        assert (finding.checked, finding.violated, finding.open) == (False, False, True), condition
        assert f"first/scratch/single/shared/create is {status}" in finding.message


def test_a_result_that_breaks_a_condition_is_a_violation_whatever_else_is_missing(tmp_path: Path) -> None:
    submission = good_submission()
    rows = (replace(submission.rows[0], status=Status.MISSING, value=None), *submission.rows[1:])
    (finding,) = judge(tmp_path, requires("creates > 1001"), first=replace(submission, rows=rows)).findings
    assert finding.violated


@pytest.mark.parametrize(("condition", "reason"), UNKNOWN.items())
def test_what_cannot_be_computed_is_not_checked(tmp_path: Path, condition: str, reason: str) -> None:
    (finding,) = judge(tmp_path, requires(condition)).findings
    assert not finding.checked
    assert f"clause 6 requires {condition}: {reason}" in finding.message


def test_what_is_offered_is_judged_before_any_run(tmp_path: Path) -> None:
    def planned(nodes: int | None) -> Submission:
        submission = good_submission()
        rows = tuple(
            replace(row, status=Status.MISSING, value=None, attempt=None, record=None) for row in submission.rows
        )
        campaign = replace(submission.campaign, proposed=Proposed(nodes=nodes))
        return replace(submission, campaign=campaign, rows=rows, results=())

    condition = requires("min(offered) >= 1000")
    assert judge(tmp_path, condition, first=planned(1000), second=planned(2000)).findings == ()
    (finding,) = judge(tmp_path, condition, first=planned(1000), second=planned(999)).findings
    assert (finding.violated, "min(offered) 999" in finding.message) == (True, True)
    (finding,) = judge(tmp_path, condition, first=planned(1000), second=planned(None)).findings
    assert not finding.checked
    (finding,) = judge(tmp_path, requires("processes > 32"), first=planned(1000), second=planned(1000)).findings
    assert finding.violated, "the counts of the plan"


def alternatives(*conditions: str, at_least: int = 1) -> str:
    return f"requires:\n  - {{of: {list(conditions)}, at_least: {at_least}, clause: '6'}}\n"


TWO_OF_THREE = "shared > 1e9", "other >= 1000", "max(creates) > 3e4"


@pytest.mark.parametrize("at_least", [1, 2])
def test_alternatives_of_which_enough_hold_are_kept(tmp_path: Path, at_least: int) -> None:
    assert judge(tmp_path, alternatives(*TWO_OF_THREE, at_least=at_least)).findings == ()


def test_alternatives_of_which_too_few_hold_are_violated(tmp_path: Path) -> None:
    (finding,) = judge(tmp_path, alternatives(*TWO_OF_THREE, at_least=3)).findings
    assert finding.violated
    assert finding.message == (
        "clause 6 requires at least 3 of shared > 1e9, other >= 1000, max(creates) > 3e4; found shared 1000 "
        "(first/scratch/single/shared/create)"
    )


def test_an_alternative_that_is_not_known_decides_nothing_unless_it_no_longer_matters(tmp_path: Path) -> None:
    assert judge(tmp_path, alternatives("thirds > 1", "shared >= 1000")).findings == ()
    (finding,) = judge(tmp_path, alternatives("thirds > 1", "shared > 1e9")).findings
    assert (finding.checked, finding.violated) == (False, False)
    (finding,) = judge(tmp_path, alternatives("thirds > 1", "shared > 1e9", at_least=2)).findings
    assert finding.violated


def test_a_condition_may_ask_for_an_explanation_which_the_buyer_accepts(tmp_path: Path) -> None:
    condition = requires("shared > 1e9", "explain: true")
    (unexplained_finding,) = judge(tmp_path, condition).findings
    (explained_finding,) = judge(tmp_path, condition, answers={"6": "a smaller system"}).findings
    (accepted_finding,) = judge(tmp_path, condition, answers={"6": "a smaller system"}, buyer="A. Buyer").findings
    assert (unexplained_finding.unanswered, unexplained_finding.violated) == (True, False)
    assert (explained_finding.open, explained_finding.undecided, explained_finding.explained) == (
        False,
        True,
        "a smaller system",
    )
    assert (accepted_finding.open, accepted_finding.undecided, accepted_finding.waived) == (False, False, "A. Buyer")


def test_facts_of_all_repetitions_and_of_builds_are_figures(tmp_path: Path) -> None:
    submission = sourced(builds=(replace(BUILD, mpi="Open MPI 4.1"),))
    figures = 'figures:\n  repetitions: first/*/max/*/n\n  mpi: "first/*/*/*/software.mpi"'
    further = requires("repetitions == 1").replace(
        "requires:", 'requires:\n  - {holds: mpi == "Open MPI 4.1", clause: "6"}'
    )
    (tmp_path / "rfp.yaml").write_text(
        RFP.replace("MANDATORY", "false").replace("figures:", figures) + further.replace("'", '"')
    )
    assert judge_rfp(rfps.load(tmp_path / "rfp.yaml"), {"first": submission}, {}, lambda _: {}).findings == ()


def test_a_violation_is_not_explained_away(tmp_path: Path) -> None:
    (finding,) = judge(tmp_path, requires("shared > 1e9"), answers={"6": "it is fast enough"}).findings
    assert (finding.violated, finding.explained) == (True, "")


def test_a_condition_of_full_size_is_a_note_in_a_rehearsal(tmp_path: Path) -> None:
    condition = requires("shared > 1e9", "full_size: true")
    assert [finding.violated for finding in judge(tmp_path, condition).findings] == [True]
    (noted,) = judge(tmp_path, condition, full=False).findings
    assert (noted.violated, noted.at_full) == (False, "E")


CLAUSES = """
clauses:
  - {id: "1", requires: results of all benchmarks}
  - {id: "2", requires: a score}
  - {id: "6", requires: a fast system}
  - {id: "7", requires: a description, answered: Who answers calls?}
  - {id: "8", requires: rank offsets, by: [FLG-06]}
  - {id: "9", requires: a friendly offer, person: Is it friendly?}
"""


def states(judgement: RfpJudgement) -> dict[str, str]:
    return {line.clause.id: line.state for line in judgement.clauses}


def test_clauses_of_the_rfp_are_kept_by_scores_conditions_rules_and_answers(tmp_path: Path) -> None:
    judgement = judge(
        tmp_path, requires("shared > 1") + CLAUSES, third=good_submission(), answers={"7": "Two engineers"}
    )
    assert {**states(judgement), "1": ""} == {
        "1": "",
        "2": "kept",
        "6": "kept",
        "7": "answered",
        "8": "kept",
        "9": "to be looked at",
    }


def test_clauses_of_the_rfp_are_violated_by_conditions_and_missing_parts_and_open_without_answers(
    tmp_path: Path,
) -> None:
    broken = judge(tmp_path, requires("shared > 1e9") + CLAUSES, mandatory=True)
    assert (states(broken)["1"], states(broken)["6"], states(broken)["7"]) == ("violated", "violated", "open")
    reasons = {line.clause.id: line.why for line in broken.clauses}
    assert reasons["1"] == "part third is not answered"
    assert reasons["7"] == "no answer to: Who answers calls?"
    assert states(judge(tmp_path, requires("shared > 1") + CLAUSES))["1"] == ClauseState.OPEN, "it is optional"


def test_a_score_without_a_value_leaves_its_clause_open(tmp_path: Path) -> None:
    submission = good_submission()
    first = replace(
        submission, rows=(replace(submission.rows[0], status=Status.MISSING, value=None), *submission.rows[1:])
    )
    judgement = judge(tmp_path, requires("other > 1") + CLAUSES, first=first)
    assert states(judgement)["2"] == "open"
    assert states(judgement)["1"] == "open"


def test_the_decision_has_the_first_finding_and_the_text_each(tmp_path: Path) -> None:
    judgement = judge(tmp_path, requires("shared > 1e9") + CLAUSES)
    (question,) = rfp_questions(judgement, is_for_vendor=True)
    assert (question.name, question.answer) == ("RFP", "VIOLATED")
    assert question.reason.startswith("1 rule is VIOLATED: clause 6 requires shared > 1e9; found shared 1000")
    text = judgement_text(judgement, 200)
    assert "  WRONG        RES-03 clause 6 requires shared > 1e9; found" in text
    assert "6 clauses: " in text
    (question,) = rfp_questions(judge(tmp_path, requires("shared > 1")), is_for_vendor=True)
    assert (question.answer, question.reason) == ("kept", "All conditions of the RFP are met (1).")


@pytest.mark.parametrize(
    ("further", "problem"),
    [
        (requires("shraed > 1"), "holds: found shraed; did you mean shared?"),
        (requires("no > 1"), "creates, shared, other, thirds, rates, nodes, processes, offered, total: "),
        ("requires:\n  - {clause: '6'}\n", "requires[0]: found both or none of holds and of; allowed: one of them"),
        (alternatives("shared > 1", at_least=2), "at_least: found 2 of 1; allowed: as many as `of` has"),
        (requires("shared > 1") + CLAUSES.replace('"6"', '"5"'), "found 6, which is not among the clauses; add it"),
        (f'{requires("shared > 1")}{CLAUSES}  - {{id: "10", requires: x}}', "found 10, which nothing in the pack"),
        ("requires:\n  - {holds: shared, clause: '6'}\n", "'shared' is not a condition"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_conditions_is_reported_with_its_place(tmp_path: Path, further: str, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        judge(tmp_path, further)
    assert problem in str(refused.value)

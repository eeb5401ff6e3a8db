"""The compliance matrix: states that follow from results and findings alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from campaign.config.format import Campaign
from campaign.config.rules.entries import CheckedBy, Clause
from campaign.core.findings import Finding, Severity
from campaign.core.runs import Cell, State
from campaign.judge import engine
from campaign.judge.compliance import ClauseLine, ClauseState, compliance_matrix, count_states
from campaign.judge.submission import Submission
from campaign.results.case import Case
from tests.judge import cases as judge_cases
from tests.judge.cases import Outcome
from tests.support import builders
from tests.support.results import Results

FLAGS = Clause("8.4", "flags", evidence=(CheckedBy("checks", "FLG-01"), CheckedBy("fixed", "-F")))
SINGLE = Clause("8.5", "one process", evidence=(CheckedBy("launch", "single"),))
SERIES = Clause("8.6", "more and more", evidence=(CheckedBy("launch", "scale"),))
ASKED = Clause("9", "tuning", answered="What was tuned?")
LOOKED = Clause("10", "no caching", person="the configuration")
OUT = Clause("11", "quality of service", out_of_scope="not measured")
PEAK = Cell("scratch", "peak", "shared", "create")


def _lines(
    *clauses: Clause,
    findings: tuple[Finding, ...] = (),
    missing_launches: tuple[str, ...] = (),
    campaign: Campaign | None = None,
) -> tuple[ClauseLine, ...]:
    """The matrix of a campaign whose runs all ended well, but those of `missing_launches`."""
    pack = replace(builders.pack(), clauses=clauses, checks={"FLG-01": "8.4", "GEO-02": "8.5"})
    results = Results(campaign=campaign or builders.campaign(), pack=pack)
    for run in results.runs:
        if run.launch not in missing_launches:
            results.add_to(run, (1000.0, 4000.0, 800.0), State.DONE)
    return compliance_matrix(replace(results.submission(), findings=findings))


def _finding(severity: Severity = Severity.ERROR, **fields: object) -> Finding:
    return Finding("FLG-01", severity, "scratch/peak/shared/*", "-F is missing", cells=(PEAK,), **fields)  # type: ignore[arg-type]


def test_a_clause_is_kept_where_all_results_are_there_and_no_rule_found_anything() -> None:
    (line,) = _lines(FLAGS)
    assert (line.state, line.rules, line.cells, line.why) == (ClauseState.KEPT, ("FLG-01",), ("*/*/*/*",), "")
    assert line.files


def test_a_violation_of_its_rule_violates_it_and_its_cells_are_named() -> None:
    (line,) = _lines(FLAGS, findings=(_finding(),))
    assert (line.state, line.cells, line.why) == (
        ClauseState.VIOLATED,
        ("scratch/peak/shared/create",),
        "-F is missing",
    )


def test_a_phase_with_counts_of_its_own_is_also_judged_by_the_rules_about_counts() -> None:
    prepare = Clause("6", "prepared by one process", evidence=(CheckedBy("phases", "prepare"),))
    for phase, rules in ((builders.PHASE, ("FLG-01",)), (replace(builders.PHASE, nodes="1"), ("FLG-01", "GEO-02"))):
        pack = builders.pack(clauses=(prepare,), checks={"FLG-01": "6", "GEO-02": "8"})
        pack = replace(pack, phases=(replace(phase, id="prepare"),))
        (line,) = compliance_matrix(Results(campaign=builders.campaign(), pack=pack).submission())
        assert line.rules == rules


def test_a_clause_about_a_variable_is_violated_by_that_variable_alone() -> None:
    clauses = [Clause(name, "a variable", evidence=(CheckedBy("environment", f"X_{name}"),)) for name in ("A", "B")]
    pack = builders.pack(clauses=tuple(clauses), checks={"ENV-06": "6"})
    results = Results(campaign=builders.campaign(), pack=pack)
    for run in results.runs:
        results.add_to(run, (1000.0, 4000.0, 800.0), State.DONE)
    finding = Finding("ENV-06", Severity.ERROR, "scratch/peak/shared/*", "another X_A", clause="A")
    lines = compliance_matrix(replace(results.submission(), findings=(finding,)))
    assert [line.state for line in lines] == [ClauseState.VIOLATED, ClauseState.KEPT]


def _of_entries(clauses: tuple[Clause, ...], *findings: Finding) -> list[ClauseState]:
    """The states of these clauses with findings, in a campaign that measured everything."""
    rules = {finding.rule: "1" for finding in findings}
    results = Results(campaign=builders.campaign(), pack=builders.pack(clauses=clauses, checks=rules))
    for run in results.runs:
        results.add_to(run, (1000.0, 4000.0, 800.0), State.DONE)
    return [line.state for line in compliance_matrix(replace(results.submission(), findings=findings))]


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("requires", "GEO-05"),
        ("requires", "RES-01"),
        ("requires", "RES-02"),
        ("fixed", "FLG-01"),
        ("derived", "FLG-06"),
        ("items", "FLG-04"),
        ("inputs", "INP-01"),
        ("environment", "ENV-06"),
        ("builds", "SRC-03"),
        ("builds", "SRC-07"),
    ],
)
def test_a_finding_about_an_entry_of_the_pack_is_about_the_clause_of_this_entry_alone(key: str, rule: str) -> None:
    kept_by, broken = (CheckedBy(key, name) for name in ("kept", "broken"))
    rule_too = Clause("A", "the entry that is kept, and its rule", evidence=(CheckedBy("checks", rule), kept_by))
    clauses = (rule_too, Clause("B", "the broken entry", evidence=(broken,)), Clause("C", "kept", evidence=(kept_by,)))
    of_rule = Clause("D", "the rule and no entry", evidence=(CheckedBy("checks", rule),))
    finding = Finding(rule, Severity.ERROR, "campaign", "is broken", clause="B")
    assert _of_entries((*clauses, of_rule), finding) == [
        ClauseState.KEPT, ClauseState.VIOLATED, ClauseState.KEPT, ClauseState.VIOLATED,
    ]  # fmt: skip
    assert _of_entries(clauses, replace(finding, clause="")) == [ClauseState.VIOLATED] * 3, "of the rule as a whole"
    assert _of_entries(clauses, replace(finding, checked=False)) == [
        ClauseState.KEPT, ClauseState.OPEN, ClauseState.KEPT,
    ]  # fmt: skip


def test_a_finding_about_one_phase_is_not_about_another() -> None:
    clauses = tuple(Clause(name, "a phase", evidence=(CheckedBy("phases", name),)) for name in ("prepare", "clean"))
    finding = Finding("FLG-01", Severity.ERROR, "campaign", "-F is missing", phase="clean")
    assert _of_entries(clauses, finding) == [ClauseState.KEPT, ClauseState.VIOLATED]


def test_a_violation_of_another_clause_s_rule_or_of_other_cells_does_not_concern_it() -> None:
    other = replace(_finding(), rule="GEO-02")
    flags, single = _lines(FLAGS, SINGLE, findings=(other,))
    assert (flags.state, single.state) == (ClauseState.KEPT, ClauseState.KEPT)


def test_it_is_open_while_results_are_missing_that_it_is_about() -> None:
    flags, single = _lines(FLAGS, SINGLE, missing_launches=("peak",))
    assert (flags.state, flags.cells, flags.why) == (ClauseState.OPEN, ("scratch/peak/*/*",), "9 of 36 results missing")
    assert (single.state, single.cells) == (ClauseState.KEPT, ("scratch/single/*/*",))


def test_that_a_result_is_missing_is_no_violation_yet() -> None:
    (line,) = _lines(FLAGS, findings=(_finding(),), missing_launches=("peak",))
    assert line.state is ClauseState.OPEN


def test_a_clause_about_a_launch_condition_without_results_is_open() -> None:
    (line,) = _lines(SERIES)
    assert (line.state, line.why) == (ClauseState.OPEN, "no results")


@pytest.mark.parametrize(
    ("finding", "reason"),
    [
        (_finding(Severity.WARNING, checked=False), "FLG-01 not checked: -F is missing"),
        (_finding(Severity.WARNING), "FLG-01 explanation required: -F is missing"),
        (_finding(Severity.INFO, at_full=Severity.ERROR), "FLG-01 not kept in this rehearsal: -F is missing"),
    ],
)
def test_it_is_open_where_a_rule_was_not_checked_or_asks_or_would_be_violated_at_full_size(
    finding: Finding, reason: str
) -> None:
    (line,) = _lines(FLAGS, findings=(finding,))
    assert (line.state, line.why) == (ClauseState.OPEN, reason)


@pytest.mark.parametrize(
    ("finding", "answer"),
    [
        (_finding(waived="the buyer: agreed"), "waived: the buyer: agreed"),
        (_finding(Severity.WARNING, explained="known"), "explained: known"),
    ],
)
def test_a_waiver_or_an_explanation_is_shown_as_its_answer(finding: Finding, answer: str) -> None:
    (line,) = _lines(FLAGS, findings=(finding,))
    assert (line.state, line.answer) == (ClauseState.ANSWERED, answer)


def test_a_note_does_not_change_that_it_is_kept() -> None:
    (line,) = _lines(FLAGS, findings=(_finding(Severity.INFO),))
    assert line.state is ClauseState.KEPT


def test_a_question_is_open_until_the_campaign_file_answers_it() -> None:
    (line,) = _lines(ASKED)
    assert (line.state, line.why) == (ClauseState.OPEN, "no answer to: What was tuned?")
    (clause_line,) = _lines(ASKED, campaign=builders.campaign(answers=(("9", "Nothing."),)))
    assert (clause_line.state, clause_line.answer) == (ClauseState.ANSWERED, "Nothing.")


def test_what_a_person_checks_and_what_is_out_of_scope_is_reported_with_its_text() -> None:
    line, out = _lines(LOOKED, OUT)
    assert (line.state, line.answer) == (ClauseState.LOOK, "the configuration")
    assert (out.state, out.answer) == (ClauseState.OUT, "not measured")


def test_the_states_are_counted() -> None:
    assert count_states(_lines(FLAGS, SINGLE, ASKED, LOOKED, OUT)) == (
        "5 clauses: 2 kept, 1 open, 1 to be looked at, 1 out of scope"
    )


@pytest.mark.parametrize("rule", ["FLG-01", "GEO-05", "RES-01", "RES-02", "ENV-06", "SRC-07"])
def test_what_breaks_an_entry_of_the_pack_carries_its_clause(rule: str) -> None:
    examples = [
        example for example in judge_cases.all_examples() if (example.rule, example.outcome) == (rule, Outcome.BROKEN)
    ]
    assert examples
    for example in examples:
        assert isinstance(example.situation, Case | Submission)
        rules = engine.ATTEMPT_RULES if isinstance(example.situation, Case) else engine.RULES
        findings = [*engine.judge_by_rules(rules, [rule], example.situation, "it")]  # type: ignore[arg-type]
        assert findings and all(finding.clause for finding in findings if finding.violated), str(example)

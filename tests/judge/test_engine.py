"""The rule engine: every rule against its cases (tests/judge/cases), and what holds for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from campaign.config.rules import packs
from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.rules.entries import Variable
from campaign.core.findings import Finding, Severity
from campaign.core.records import Observation, OutputRemark
from campaign.core.runs import Geometry, State
from campaign.judge import engine, judgements
from campaign.judge.submission import Submission
from campaign.judge.tuning import check_confirmation
from campaign.report import decision, findings_view
from campaign.results.case import Case
from tests.judge import cases as judge_cases
from tests.judge.cases import Example, Outcome
from tests.judge.cases import searches as cases_of_searches
from tests.judge.cases.attempts import DIRECTORY, RATE, argv, case, ior, storage
from tests.support import builders
from tests.support.results import Results

BOUND = {*engine.ATTEMPT_RULES, *engine.RULES}
EVERYWHERE = BOUND | engine.BUNDLE_RULES
BLIND = {"FLG-01", "FLG-02", "FLG-03", "FLG-04", "FLG-05", "FLG-06", "FLG-07", "GEO-01", "GEO-02"}


def valid(findings: Sequence[Finding]) -> bool:
    return not any(finding.severity is Severity.ERROR for finding in findings)


def rule_findings(rule: str, case: Case) -> list[Finding]:
    return list(engine.judge_by_rules(engine.ATTEMPT_RULES, [rule], case, case.subject))


# --- rules x cases


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    """Made as they are needed: not in every process that collects tests."""
    return judge_cases.all_examples()


def is_said(example: Example) -> None:
    name, findings = str(example), example.findings()
    assert {finding.rule for finding in findings} <= {example.rule}, name
    if example.outcome is Outcome.COMPLIANT:
        assert findings == [], name
    elif example.outcome is Outcome.UNCHECKED:
        assert {finding.severity for finding in findings if not finding.checked} == {Severity.WARNING}, name
        assert example.finding is None or example.finding in findings, name
    else:
        assert example.finding is not None, name
        heavier = [finding for finding in findings if finding.severity is example.finding.severity and finding.checked]
        assert example.finding in heavier, name
        if example.outcome is Outcome.DISCLOSED:
            assert valid(findings), name


@pytest.mark.parametrize("rule", sorted(EVERYWHERE))
def test_a_rule_says_of_each_case_what_it_is_there_for(rule: str, examples: list[Example]) -> None:
    for example in examples:
        if example.rule == rule:
            is_said(example)


@pytest.mark.parametrize("rule", sorted(EVERYWHERE))
def test_every_rule_has_cases_that_break_it_and_keep_it_and_leave_it_unchecked(
    rule: str, examples: list[Example]
) -> None:
    outcomes = {example.outcome for example in examples if example.rule == rule}
    assert {Outcome.BROKEN, Outcome.COMPLIANT} <= outcomes
    assert (Outcome.UNCHECKED in outcomes) != (rule in judge_cases.always_checked())


def test_no_case_is_of_a_rule_that_nothing_judges(examples: list[Example]) -> None:
    assert {example.rule for example in examples} <= EVERYWHERE & CATALOGUE.keys()


@pytest.mark.parametrize("pack", sorted(path.stem for path in packs.PACKS.glob("*.yaml")))
def test_every_rule_of_every_pack_is_judged_or_said_not_to_be(pack: str) -> None:
    loaded = packs.load(pack)
    assert loaded.checks.keys() <= CATALOGUE.keys()
    unjudged = list(engine.unsupported_rules(loaded))
    assert {finding.rule for finding in unjudged} == loaded.checks.keys() - BOUND
    assert not any(finding.checked for finding in unjudged)


# --- what is kept of a judgement, and what is not judged


def fits(case: Case) -> bool:
    """Whether its pack has its phases: some cases have only what their rule asks for."""
    return {command.phase for command in case.run.commands} - {""} <= {phase.id for phase in case.pack.phases}


def test_the_findings_of_every_attempt_are_the_same_when_they_were_kept(examples: list[Example]) -> None:
    for example in examples:
        if isinstance(example.situation, Case) and fits(example.situation):
            case = replace(example.situation, pack=replace(example.situation.pack, checks={example.rule: "9"}))
            findings = tuple(engine.judge(case))
            assert judgements.findings_of(judgements.findings_json(findings)) == findings, str(example)


def test_the_rows_and_findings_of_every_campaign_are_the_same_when_they_were_kept(examples: list[Example]) -> None:
    for example in examples:
        if isinstance(example.situation, Submission):
            rows = example.situation.rows
            runs = {row.run.id: row.run for row in rows if row.run}
            projections = tuple(row.projection for row in rows if row.projection)
            submission = replace(
                example.situation,
                campaign=replace(example.situation.campaign, projections=projections),
                runs=tuple(runs.values()),
                findings=tuple(example.findings()),
            )
            unjudged = replace(submission, rows=(), findings=())
            assert judgements.with_judgement(unjudged, judgements.judgement_json(submission)) == submission, str(
                example
            )


FORGED = {  # of one attempt: another command line
    "FLG-01": (("-F ", ""),),
    "FLG-02": (("-u", "-S"),),
    "FLG-03": (("-F ", "-F -y "),),
    "FLG-05": ((DIRECTORY, "/tmp/elsewhere"),),
    "FLG-06": (("-N 4", "-N 5"),),
}


@pytest.mark.parametrize("rule", FORGED)
def test_one_attempt_with_other_words_is_found(rule: str) -> None:
    good = case()
    assert [finding.rule for finding in engine.judge(good)] == ["FLG-04"]
    forged = replace(good, outputs={"": replace(good.observation, argv=argv(*FORGED[rule]))})
    assert rule in {finding.rule for finding in engine.judge(forged)}


# --- one attempt


def test_a_run_that_went_well_is_valid() -> None:
    findings = list(engine.judge(case()))
    assert valid(findings)
    assert [finding.rule for finding in findings] == ["FLG-04"]


def test_an_output_that_says_nothing_but_its_numbers_leaves_unchecked_what_it_does_not_tell() -> None:
    findings = list(engine.judge(replace(case(), outputs={"": Observation()})))
    assert not valid(findings)
    assert {finding.rule for finding in findings if not finding.checked} == BLIND


def test_no_output_at_all_is_not_valid_and_said_once() -> None:
    findings = list(engine.judge(replace(case(), records=(), outputs={"": Observation()})))
    assert not valid(findings)
    assert {finding.rule for finding in findings} == {"RUN-06"}


@pytest.mark.parametrize("geometry", [Geometry(1, 4), Geometry(2, 8)])
def test_a_run_that_failed_before_it_measured_breaks_no_rule_about_how_it_ran(geometry: Geometry) -> None:
    failed = case(builders.run(geometry=geometry), State.FAILED, records=(), shift_effective=None)
    assert {finding.rule for finding in engine.judge(failed)} == {"RUN-01"}


def test_errors_in_the_output_of_a_failed_run_are_reported_where_its_reason_does_not_come_from_there() -> None:
    error = OutputRemark("No space left on device", "runs/a/1/stderr", 3)
    timed_out = case(builders.run(), State.TIMEOUT, records=(), errors=(error,))
    assert [finding.rule for finding in engine.judge(timed_out)] == ["RUN-01", "RUN-06"]
    reason = "the benchmark ended with status 1: runs/a/1/stderr:3: No space left on device"
    failed = replace(timed_out, attempt=replace(timed_out.attempt, state=State.FAILED, reason=reason))
    assert [finding.rule for finding in engine.judge(failed)] == ["RUN-01"]


def test_of_a_campaign_whose_every_run_failed_one_line_says_what_was_not_checked() -> None:
    rules = (*engine.ATTEMPT_RULES, *engine.OVER_NUMBERS, "CMP-03")
    failed = Results(pack=builders.pack(checks=dict.fromkeys(rules, "9")))
    for run in failed.runs:
        failed.add_to(run, None, State.FAILED, "boom")
    submission = engine.judge_campaign(failed.submission())
    assert {finding.rule for row in submission.rows for finding in row.findings} == {"RUN-01", "CMP-03"}
    unchecked = [finding for finding in submission.all_findings if not finding.checked]
    assert {finding.rule for finding in unchecked} == set(rules) - {"RUN-01", "CMP-03"}
    assert {(finding.subject, finding.message) for finding in unchecked} == {("campaign", "no run produced a value")}
    text = findings_view.check_text(submission, decision.campaign_decision(submission))
    assert " ".join(text.split()).count("no run produced a value") == 1
    assert f"{len(rules)} rules, by worst finding: 2 violated, {len(rules) - 2} not checked" in text


def test_where_one_run_measured_no_line_is_reported_of_those_that_did_not() -> None:
    results = Results()
    results.add("single.shared")
    results.add("node.shared", None, State.FAILED, "boom")
    assert list(engine.check_anything_measured(results.submission())) == []


def test_only_the_rules_of_the_pack_are_judged() -> None:
    bad = case(nodes=1)
    assert {finding.rule for finding in engine.judge(bad)} == {"FLG-04", "GEO-02"}
    pack = builders.pack(checks={"GEO-02": "9", "XYZ-99": "a rule that nothing judges"})
    assert {finding.rule for finding in engine.judge(replace(bad, pack=pack))} == {"GEO-02"}


def test_how_numbers_came_about_that_a_run_printed_before_it_failed_is_not_judged() -> None:
    assert {finding.rule for finding in engine.judge(case(state=State.FAILED, nodes=1))} == {"RUN-01"}


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_rate_that_is_no_positive_number_is_broken(value: float) -> None:
    bad = case(records=(replace(RATE, value=value), *builders.records()[1:]))
    assert [finding.message for finding in rule_findings("RUN-06", bad)] == ["the rate of create is not above zero"]


@pytest.mark.parametrize("change", [{"processes_per_node": 0}, {"placement": "irregular"}, {"processes_per_node": 8}])
def test_any_placement_but_even_blocks_is_broken(change: dict[str, Any]) -> None:
    assert [finding.severity for finding in rule_findings("GEO-01", case(**change))] == [Severity.ERROR]


@pytest.mark.parametrize("nodes", range(2, 6))
def test_the_shift_that_counts_is_the_one_among_the_ranks(nodes: int) -> None:
    """A shift by one node, and the same gone round once more, are one; any other is another."""
    geometry = Geometry(nodes, 4 * nodes)
    run = builders.run(geometry=geometry)
    accepted_shifts = [
        shift
        for shift in range(3 * geometry.processes)
        if not rule_findings("FLG-07", case(run, shift_effective=shift))
    ]
    assert accepted_shifts == [4, 4 + geometry.processes, 4 + 2 * geometry.processes]


@pytest.mark.parametrize("word", ["-o /dev/shm/data", "f/dev/shm"])
def test_a_file_outside_of_the_attempts_directory_is_broken_however_it_is_given(word: str) -> None:
    words = ["-F", "-o", f"{DIRECTORY}/data", f"f{DIRECTORY}", "v1"]
    changed_words = [*words[:1], *word.split(), *words[3:]] if word.startswith("-") else [*words[:3], word, "v1"]
    assert [finding.actual for finding in rule_findings("FLG-05", ior(*changed_words))] == [word.split()[-1]]


def test_memory_on_one_node_is_disclosed_since_there_is_nowhere_else_to_read_from() -> None:
    run = builders.run(geometry=Geometry(1, 4))
    assert [finding.severity for finding in rule_findings("CCH-05", storage(run=run, cached_share=1.0))] == [
        Severity.INFO
    ]


def test_memory_is_disclosed_where_the_rules_ask_for_no_storage() -> None:
    memory = replace(storage(cached_share=1.0), pack=builders.pack(profile="full"))
    assert [finding.severity for finding in rule_findings("CCH-05", memory)] == [Severity.INFO]


def test_values_of_a_rehearsal_are_disclosed_with_the_full_ones() -> None:
    variables = (Variable("block", "16m", "1m", "1"), Variable("count", "8", "8", "1"))
    pack = builders.pack(variables=variables, profile="rehearsal", values={"block": "1m", "count": "8"})
    finding = rule_findings("FLG-04", replace(case(), pack=pack))[0]
    assert (finding.severity, finding.message) == (
        Severity.INFO,
        "rehearsal: smaller than the rules require, never a compliant result",
    )
    assert (finding.expected, finding.actual) == ("block 16m", "block 1m")
    own_pack = replace(pack, profile="full")
    assert rule_findings("FLG-04", replace(case(), pack=own_pack))[0].message == "values differ from the rule pack's"


@pytest.mark.parametrize(("rule", "flag"), [("FLG-05", f" -d {DIRECTORY}"), ("FLG-06", " -N 4")])
def test_a_flag_that_is_not_there_is_found_absent(rule: str, flag: str) -> None:
    assert [finding.actual for finding in rule_findings(rule, case(argv=argv((flag, ""))))] == ["absent"]


@pytest.mark.parametrize("short", [{"confirmed": False}, {"complete": False}])
def test_the_reason_of_a_search_ends_without_a_stop_where_a_finding_goes_on(short: dict[str, bool]) -> None:
    decision = replace(cases_of_searches.FOUND, reason="the budget ended it.", **short)
    (finding,) = check_confirmation(cases_of_searches.searched(decision))
    assert finding.message == "the budget ended it"

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from campaign.config.definition import Definition
from campaign.config.format import Declined
from campaign.config.launch import AllCores
from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.rules.entries import Variable
from campaign.config.search import SearchSettings
from campaign.core.findings import Finding, Severity
from campaign.core.runs import State
from campaign.judge import engine
from campaign.judge.submission import Submission
from campaign.pipeline import planning
from campaign.pipeline.planning import Plan
from campaign.report import decision, findings_view, views
from tests.plan.test_adaptive import look, planned_searches, searching_campaign
from tests.support import builders, reference
from tests.support.results import Results, eventful_results


def definition_of(results: Results | None = None) -> Definition:
    results = results or Results(pack=builders.small_pack())
    return Definition(results.campaign, results.pack)


def plan_of(results: Results | None = None, **unresolved: str) -> Plan:
    results = results or Results(pack=builders.small_pack())
    return Plan(results.runs, unresolved, "rank-offset")


def judged_submission(results: Results) -> Submission:
    """The campaign with all findings about it, which no row has yet."""
    submission = results.submission()
    return replace(submission, findings=(*engine.judge_submission(submission), *engine.unsupported_rules(results.pack)))


def finding_entries(results: Results) -> list[dict[str, Any]]:
    """The findings of a campaign as `check --json` gives them."""
    return json.loads(findings_view.findings_json(results.pack, judged_submission(results).all_findings))


def test_the_plan_shows_runs_command_lines_and_what_is_not_settled() -> None:
    max_is_all = builders.campaign(launch={**builders.campaign().launch, "max": AllCores()})
    text = views.plan_text(
        definition_of(), plan_of(max="launch.max is 'all', and Slurm cannot be asked for the partition: gone")
    )
    builders.golden("plan.txt", text + "\n")
    settled = views.plan_text(replace(definition_of(), campaign=max_is_all), plan_of()).splitlines()
    unsettled = [line for line in text.splitlines() if not line.startswith("not settled: ")]
    assert settled == [line.replace("; unresolved runs not included", "") for line in unsettled] != unsettled


def test_the_plan_says_what_must_be_disclosed() -> None:
    results = Results()
    text = views.plan_text(definition_of(results), plan_of(results))
    assert text.count("  note: 1000 files are not divisible by 32 processes: rounded up to 32 each, 1024 in total") == 3


def test_a_plan_with_a_count_for_each_operation_says_what_the_rules_make_of_it() -> None:
    campaign = searching_campaign(SearchSettings(per="operation"))
    standing = look(planned_searches(campaign)[0], campaign, {})
    plan = replace(plan_of(), searches=(standing,))
    definition = replace(definition_of(), campaign=campaign, pack=replace(builders.pack(), checks={"STA-01": "8.5"}))
    assert "violates STA-01 (clause 8.5); use per: configuration" in views.plan_text(definition, plan)
    assert "STA-01" not in views.plan_text(replace(definition, pack=replace(definition.pack, checks={})), plan)
    one_run = replace(definition, campaign=searching_campaign())
    assert "STA-01" not in views.plan_text(one_run, plan)


def test_a_plan_of_a_benchmark_without_items_has_no_counts() -> None:
    results = Results(pack=builders.small_pack(items_total={}, arguments=("-d", "{directory}", "{flags}")))
    assert "scratch.node.shared.r1        1            4" in views.plan_text(definition_of(results), plan_of(results))


def test_each_run_has_the_state_of_its_latest_attempt() -> None:
    results = eventful_results()
    rows = {row["run"]: row for row in views.run_states(results.submission())}
    assert list(rows) == [run.id for run in results.runs]
    assert rows["scratch.node.unique.r1"] == {
        "run": "scratch.node.unique.r1",
        "phase": "",
        "state": State.TIMEOUT,
        "active": False,
        "attempt": 3,
        "attempts": 3,
        "job_id": "17",
        "reason": "job 18: TIMEOUT during this run",
        "started": 110.0,
        "ended": 112.5,
    }
    assert rows["scratch.peak.onefile.r1"]["active"]
    assert json.loads(json.dumps(rows["scratch.max.unique.r1"])) == {
        "run": "scratch.max.unique.r1",
        "phase": "",
        "state": "planned",
        "active": False,
        "attempt": None,
        "attempts": 0,
        "job_id": None,
        "reason": "",
        "started": None,
        "ended": None,
    }


def test_a_run_whose_cells_are_all_declined_is_not_called_planned() -> None:
    declined = (Declined("scratch/max/unique/*", "no time"), Declined("scratch/max/onefile/stat", "no time"))
    results = eventful_results()
    results.campaign = replace(results.campaign, declined=declined)
    states = {row["run"]: row["state"] for row in views.run_states(results.submission()) if "max" in row["run"]}
    assert states["scratch.max.unique.r1"] == "left out"
    assert states["scratch.max.onefile.r1"] != "left out"


def test_the_states_as_text() -> None:
    results = eventful_results()
    builders.golden("states.txt", views.states_text(views.run_states(results.submission())) + "\n")


@pytest.mark.parametrize("width", [80, 120])
def test_a_status_ends_with_its_totals_and_a_watched_one_shows_what_failed_and_what_goes_on(width: int) -> None:
    submission = eventful_results().submission()
    states = views.run_states(submission)
    watched = views.watched_text(states, " (about 9 s left, estimated from 8 runs)", width)
    builders.golden(f"status-{width}.txt", f"{watched}\n\n{views.totals_text(states, submission.rows, width)}\n")


def test_a_run_of_a_search_is_marked_on_its_own_line() -> None:
    row = views.run_states(eventful_results().submission())[0] | {
        "run": "scratch.node.shared.confirm-1x1.1",
        "phase": "confirm",
    }
    assert "scratch.node.shared.confirm-1x1.1  done (search)" in views.states_text([row], 100)


def test_each_finding_comes_once_with_its_clause() -> None:
    results = Results(pack=builders.small_pack(checks={"FLG-04": "8.4", "GEO-02": "8.5"}))
    results.add("peak.unique", seen={"nodes": 1})
    entries = [entry for entry in finding_entries(results) if entry["rule"] != "CMP-03"]
    assert [(entry["rule"], entry["clause"], entry["severity"]) for entry in entries] == [
        ("FLG-04", "8.4", "I"),
        ("GEO-02", "8.5", "E"),
    ]
    assert entries[1]["message"] == "ran with other process or node counts than planned for peak"


def test_a_cell_without_a_number_is_a_finding_unless_it_is_declined() -> None:
    results = eventful_results()
    results.pack = builders.pack(checks={"CMP-03": "8.2.2"})
    entries = [entry for entry in finding_entries(results) if entry["rule"] == "CMP-03"]
    assert sorted(entry["subject"] for entry in entries) == sorted(
        str(row.cell) for row in results.rows() if row.status in ("missing", "failed")
    )
    assert {entry["severity"] for entry in entries} == {"E"}
    assert entries[0]["actual"] == "node_fail"  # RUN-01 says why


def test_a_rule_that_nothing_judges_is_reported_not_to_be_checked() -> None:
    results = Results(pack=builders.small_pack(checks={"CMP-03": "8.2.2", "GEO-01": "8.4", "XYZ-01": "practice"}))
    entries = [entry for entry in finding_entries(results) if not entry["checked"]]
    assert [(entry["rule"], entry["clause"], entry["message"]) for entry in entries] == [
        ("XYZ-01", "practice", "rule not supported by this version")
    ]


def test_findings_as_text_are_reported_once_with_where_and_what_was_found() -> None:
    results = eventful_results()
    submission = judged_submission(results)
    text = findings_view.check_text(submission, decision.campaign_decision(submission, "c.yaml"))
    builders.golden("findings.txt", text + "\n")
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("width", [80, 120])
def test_check_prints_what_decides_and_counts_the_rest_with_the_command_that_prints_it(width: int) -> None:
    command = "campaign check my-rfp.yaml --details"
    with reference.verify_bundle(reference.SIGNERS) as part:
        assert part.evaluation is not None
        submission = part.evaluation.submission
        block = replace(decision.campaign_decision(submission, "my-rfp.yaml"), details=command)
        text = f"{decision.decision_text(block, width)}\n\n{findings_view.checked_text(submission, width, command)}\n"
    builders.golden(f"screens/check-{width}.txt", text)
    assert len(text.splitlines()) <= 60 and max(map(len, text.splitlines())) <= width
    assert " ".join(text.split()).endswith(f"13 notes, clauses and reasons: {command}")


def test_no_findings_are_reported_too() -> None:
    pack = builders.pack(checks={"FLG-01": "8"})
    assert findings_view.findings_text(pack, []) == "no findings"
    submission = replace(Results(pack=pack).submission(), rows=())
    text = findings_view.check_text(submission, decision.campaign_decision(submission))
    assert text.endswith("\n\n1 rule, by worst finding: 1 passed")


def test_a_rule_counts_by_the_worst_that_is_reported_of_it() -> None:
    def finding(
        rule: str, severity: str = "E", checked: bool = True, waived: str = "", explanation: str = ""
    ) -> Finding:
        return Finding(rule, Severity(severity), "x", "y", checked=checked, waived=waived, explained=explanation)

    pack = builders.pack(
        checks=dict.fromkeys(("FLG-01", "FLG-02", "FLG-03", "GEO-01", "RUN-07", "STA-03", "STA-04"), "8")
    )
    findings = [
        *(
            finding("FLG-01", "I"),
            finding("FLG-01"),
            finding("FLG-02", "I"),
            finding("FLG-03", "W", checked=False),
            finding("FLG-03", "I"),
        ),
        *(finding("GEO-01", waived="by the buyer"), finding("RUN-07", "W"), finding("XYZ-01")),
        *(finding("STA-03", "W", explanation="why"), finding("STA-03", "I")),
    ]
    assert findings_view.rules_summary(pack, findings) == (
        "7 rules, by worst finding: 1 violated, 1 waived, 1 explanation required, 1 not checked, 1 explained, 1 passed "
        "with notes, 1 passed"
    )


def test_what_needs_an_explanation_is_not_listed_as_explained() -> None:
    submission = judged_submission(eventful_results())
    findings = [
        replace(finding, severity=Severity.WARNING) for finding in submission.all_findings if finding.rule == "FLG-07"
    ]
    text = findings_view.findings_text(submission.pack, findings)
    assert text.startswith("Explanation required:") and "Explained:" not in text


def test_a_finding_is_listed_once_whatever_answers_it_has() -> None:
    submission = judged_submission(eventful_results())
    findings = [finding for finding in submission.all_findings if finding.rule == "FLG-07"][:1]
    for answers in (
        {},
        {"explained": "why"},
        {"waived": "by the buyer"},
        {"explained": "why", "waived": "by the buyer"},
    ):
        finding = replace(findings[0], severity=Severity.WARNING, **answers)
        text = findings_view.findings_text(submission.pack, [finding], submission.rows)
        assert text.count("FLG-07") == 1
        assert text.startswith(
            "Waived" if "waived" in answers else "Explained:" if answers else "Explanation required:"
        )


def test_an_answer_stands_with_its_finding() -> None:
    submission = judged_submission(eventful_results())
    findings = [
        replace(finding, explained="the switch was replaced")
        for finding in submission.all_findings
        if finding.rule == "FLG-07"
    ]
    text = findings_view.findings_text(submission.pack, findings, submission.rows)
    assert "      explained: the switch was replaced" in text.splitlines()


def test_the_plan_as_json_has_what_is_executed() -> None:
    plan = planning.plan_json(definition_of(), plan_of())
    assert json.loads(json.dumps(plan))["runs"][3]["argv"][-3:] == ["-N", "4", "-u"]


def test_the_plan_of_a_pack_with_variables_says_what_they_are_at_full_size() -> None:
    variables = (Variable("block", "16m", "1m", "1", why="bytes of a process"), Variable("count", "8", "8", "1"))
    pack = builders.small_pack(variables=variables, profile="rehearsal", values={"block": "1m", "count": "8"})
    results = Results(pack=pack)
    text = views.plan_text(definition_of(results), plan_of(results))
    assert "\nblock: 1m, at full size 16m (bytes of a process)\ncount: 8\n\n" in text


def test_a_rule_says_once_why_it_matters_and_what_to_do_and_only_where_something_is_to_be_done() -> None:
    entry = CATALOGUE["GEO-02"]
    broken = Finding("GEO-02", Severity.ERROR, "run/1", "other counts", "8", "4")
    findings = (broken, replace(broken, wording="another text"), replace(broken, severity=Severity.WARNING))
    text = " ".join(findings_view.findings_text(builders.pack(), findings).split())
    assert text.count(f"why it matters: {entry.why}") == text.count(f"what to do: {entry.remedy}") == 1
    for light in (replace(broken, severity=Severity.INFO), replace(broken, waived="by the buyer")):
        assert "why it matters" not in findings_view.findings_text(builders.pack(), [light])
    unchecked = replace(broken, severity=Severity.WARNING, checked=False)
    assert "why it matters" not in findings_view.findings_text(builders.pack(), [unchecked])

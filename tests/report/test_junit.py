"""Findings as JUnit XML: what fails, what is skipped, what passes, and that the file has the form that CI reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from campaign.cli.main import main
from campaign.core.findings import Finding, Severity
from campaign.judge.findings import complete_findings, to_explain, unchecked
from campaign.report import junit

# The common schema (junit-10.xsd of Jenkins' xUnit plugin): of each element its attributes, those that must be, and
# its children.
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, set(), {"testsuite"}),
    "testsuite": (
        {
            "name",
            "tests",
            "failures",
            "errors",
            "time",
            "disabled",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
        },
        {"name", "tests"},
        {"properties", "testcase", "system-out", "system-err"},
    ),
    "testcase": (
        {"name", "assertions", "time", "classname", "status"},
        {"name"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "failure": ({"type", "message"}, set(), set()),
    "skipped": ({"type", "message"}, set(), set()),
    "system-out": (set(), set(), set()),
}
VIOLATION, ASKED, NOT_CHECKED = "failure", "skipped: explanation required", "skipped: not checked"


def problems(element: ElementTree.Element) -> list[str]:
    """What is not as the schema has it."""
    attributes, needed, children = SCHEMA[element.tag]
    texts = [f"{element.tag}: {name}" for name in set(element.keys()) - attributes]
    texts += [f"{element.tag} lacks {name}" for name in needed - set(element.keys())]
    texts += [f"{element.tag}: {child.tag}" for child in element if child.tag not in children]
    if element.tag == "testsuite":
        counts = [len(element.findall(path)) for path in ("testcase", "testcase/failure", "testcase/skipped")]
        if counts != [int(element.get(name, "0")) for name in ("tests", "failures", "skipped")]:
            texts.append("counts")
    return texts + [problem for child in element for problem in problems(child)]


def suite(*findings: Finding, rules: tuple[str, ...] = ("FLG-06",)) -> junit.Suite:
    return junit.Suite("my-rfp", "pack", dict.fromkeys(rules, "as the rules demand"), findings)


def outcomes(*suites: junit.Suite) -> dict[str, str]:
    """The test cases' names with how they ended."""
    root = ElementTree.fromstring(junit.junit_document("my-rfp", suites))
    assert problems(root) == []
    fields = {}
    for case in root.iter("testcase"):
        children = [child.tag + (f": {child.get('message', '').partition(': ')[0]}" if child.tag == "skipped" else "")
                    for child in case]  # fmt: skip
        fields[case.get("name", "")] = children[0] if children else "passed"
    return fields


def finding(severity: Severity = Severity.ERROR, **changes: object) -> Finding:
    return replace(Finding("FLG-06", severity, "run/1", "-N does not shift the ranks by one node", "4", "1"), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("finding", "outcome"),
    [
        (finding(), VIOLATION),
        (finding(waived="by the buyer"), "system-out"),
        (finding(Severity.WARNING), ASKED),
        (finding(Severity.WARNING, explained="the file system is that slow"), "system-out"),
        (finding(Severity.WARNING, checked=False), NOT_CHECKED),
        (finding(Severity.INFO), "system-out"),
    ],
)
def test_a_violation_fails_a_question_is_skipped_and_the_rest_passes(finding: Finding, outcome: str) -> None:
    assert outcomes(suite(finding)) == {"FLG-06 as the rules demand [run/1]": outcome}


def test_the_gravest_finding_about_a_subject_decides() -> None:
    (outcome,) = outcomes(suite(finding(Severity.INFO), finding(Severity.WARNING), finding())).values()
    assert outcome == VIOLATION


def test_a_rule_without_findings_is_one_test_that_passes() -> None:
    found_outcomes = outcomes(suite(finding(), finding(subject="run/2"), rules=("FLG-01", "FLG-06")))
    assert found_outcomes == {
        "FLG-01 as the rules demand": "passed",
        "FLG-06 as the rules demand [run/1]": VIOLATION,
        "FLG-06 as the rules demand [run/2]": VIOLATION,
    }


def test_a_failure_says_what_was_expected_and_found_why_it_matters_and_what_to_do() -> None:
    (failure,) = ElementTree.fromstring(junit.junit_document("x", [suite(finding())])).iter("failure")
    assert (failure.get("message"), failure.get("type")) == ("-N does not shift the ranks by one node", "violation")
    words = [line.partition(":")[0] for line in (failure.text or "").splitlines()[1:]]
    assert words == ["expected", "found", "why", "next"]


def test_what_others_wrote_stays_text() -> None:
    text = "]]> <failure/> & \x1b[2J \ud800 \x00"
    root = ElementTree.fromstring(junit.junit_document(text, [suite(finding(wording=text, subject=text))]))
    assert problems(root) == []
    assert len(list(root.iter("failure"))) == 1


def test_counts_are_those_of_all_suites() -> None:
    findings = [*complete_findings("STA-04", "campaign", [to_explain("high variation"), unchecked("one repetition")])]
    root = ElementTree.fromstring(
        junit.junit_document("x", [suite(finding()), suite(*findings, rules=("STA-04", "CMP-01"))])
    )
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "0")


def test_check_writes_it_beside_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, out = tmp_path / "t.csv", tmp_path / "junit.xml"
    table.write_text("target,launch,files,operation,value\nscratch,node,unique,create,100\n")
    assert main(["check", str(table), "--junit", str(out)]) == 1
    assert "Violations" in capsys.readouterr().out
    root = ElementTree.parse(out).getroot()
    assert problems(root) == []
    assert {case.get("classname") for case in root.iter("testcase") if case.find("failure") is not None} >= {
        "crossroads-mdtest.CMP-01"
    }

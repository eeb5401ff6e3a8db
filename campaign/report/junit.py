"""Findings as JUnit XML for CI: a test case for each rule, or for each subject with findings of the rule. Pure.

A violation that is not waived is a failure. A required explanation, and what could not be checked, is a skipped test:
neither changes the command's exit status, so tests fail if and only if the command does. What is explained, waived or
noted passes, with the finding as the test's output.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from campaign.config.rules.catalogue import CATALOGUE, Level
from campaign.core.escaping import plain
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.judge.submission import Submission
from campaign.report import causes

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


@dataclass(frozen=True, slots=True)
class Suite:
    name: str
    group: str  # of its test cases
    statements: Mapping[str, str]  # the requirement of each of its rules, by id
    findings: Sequence[Finding]


def campaign_suite(submission: Submission, leave_out: Container[str] = ()) -> Suite:
    """The rules of a judged campaign's pack, except those judged elsewhere."""
    pack = submission.pack
    statements = {rule: pack.statement(rule) for rule in pack.checks if rule not in leave_out}
    return Suite(submission.campaign.name, pack.id, statements, submission.all_findings)


def rfp_suite(name: str, findings: Sequence[Finding]) -> Suite:
    """The rules about all parts of an RFP together."""
    rules = {rule: entry.statement for rule, entry in CATALOGUE.items() if entry.level is Level.RFP}
    return Suite(name, "rfp", rules, findings)


def junit_document(name: str, suites: Sequence[Suite]) -> str:
    """The XML file with these suites."""
    root = ElementTree.Element("testsuites", name=plain(name))
    for suite in suites:
        root.append(_suite(suite))
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    ElementTree.indent(root)
    return HEAD + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(suite: Suite) -> ElementTree.Element:
    element = ElementTree.Element("testsuite", name=plain(suite.name))
    by_rule = grouped((finding.rule, finding) for finding in suite.findings)
    for rule, statement in suite.statements.items():
        by_subject = grouped((f" [{finding.subject}]", finding) for finding in by_rule.get(rule, ()))
        for subject, findings in (by_subject or {"": []}).items():
            names = {"classname": f"{suite.group}.{rule}", "name": plain(f"{rule} {statement}{subject}")}
            case = ElementTree.SubElement(element, "testcase", names, time="0")
            if findings:
                _write_outcome(case, causes.merge_causes(findings))
    counts = {"tests": "testcase", "failures": "testcase/failure", "skipped": "testcase/skipped"}
    for count, path in counts.items():
        element.set(count, str(len(element.findall(path))))
    element.set("errors", "0")
    return element


def _write_outcome(case: ElementTree.Element, findings: Sequence[Finding]) -> None:
    """Write the outcome of a rule for a subject: that of its most severe finding, with the texts of all."""
    kinds: tuple[tuple[str, str, Callable[[Finding], bool]], ...] = (
        ("failure", "", lambda finding: finding.violated),
        ("skipped", "explanation required: ", lambda finding: finding.unanswered),
        ("skipped", "not checked: ", lambda finding: not finding.checked),
    )
    outcomes = (
        (name, f"{before}{finding.message}") for name, before, fits in kinds for finding in findings if fits(finding)
    )
    name, message = next(outcomes, ("system-out", ""))
    attributes = {"message": plain(message)} if message else {}
    attributes |= {"type": "violation"} if name == "failure" else {}
    outcome = ElementTree.SubElement(case, name, attributes)
    outcome.text = "\n".join(dict.fromkeys("\n".join(_lines(finding)) for finding in findings))


def _lines(finding: Finding) -> list[str]:
    values = {"expected": finding.expected, "found": finding.actual}
    values |= {"explained": finding.explained, "waived": finding.waived}
    if finding.rule in CATALOGUE and finding.checked and finding.severity is not Severity.INFO:
        values |= {"why": CATALOGUE[finding.rule].why, "next": CATALOGUE[finding.rule].remedy}
    details = [f"{word}: {value}" for word, value in values.items() if value]
    return [plain(line) for line in (finding.message, *details)]

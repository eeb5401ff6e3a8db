"""Findings as text, by `templates/findings.txt.j2`, and as JSON."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from campaign.config.rules.catalogue import CATALOGUE, PRACTICE
from campaign.config.rules.pack import RulePack
from campaign.core import resources, units
from campaign.core.escaping import plain
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.judge.submission import Submission
from campaign.report import causes, decision, printing
from campaign.results.cells import Row, patterns

LISTED = 4  # subjects and values that are listed


def findings_json(pack: RulePack, findings: Sequence[Finding], ascii_only: bool = False) -> str:
    """Findings with the texts of their rules, for `check --json`."""
    return json.dumps([finding_json(pack, finding) for finding in findings], indent=1, ensure_ascii=ascii_only) + "\n"


def finding_json(pack: RulePack, finding: Finding) -> dict[str, Any]:
    fields = {**finding.as_json(), "clause": pack.clause_of(finding)}
    if entry := CATALOGUE.get(finding.rule):
        fields |= {"title": pack.statement(finding.rule), "why": entry.why, "remedy": finding.remedy or entry.remedy}
    return fields


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """A line for each finding about several parts, or about the bundle."""
    return [f"  {finding_word([finding]):12} {finding.rule} {plain(with_remedy(finding))}" for finding in findings]


def with_remedy(finding: Finding) -> str:
    """What was found, and what to do in this case."""
    return f"{finding.message}: {finding.remedy}" if finding.remedy else finding.message


def finding_word(findings: Sequence[Finding]) -> str:
    """What findings say of their rule, in a word."""
    if any(finding.severity is Severity.ERROR for finding in findings):
        return "WRONG"
    checked = [finding for finding in findings if finding.checked]
    if any(finding.severity is Severity.WARNING for finding in checked):
        return "explain"
    return "note" if len(checked) == len(findings) else "not checked"


class _Group(NamedTuple):
    """Findings under one title. `outcome`: what the summary calls rules of which these are the worst; `guided`:
    whether it is printed why the rule matters and what to do. `is_detail`: whether `check` prints them only with
    --details.
    """

    title: str
    outcome: str
    belongs: Callable[[Finding], bool]
    guided: bool = False
    is_detail: bool = False


# Most severe first.
GROUPS = (
    _Group("Violations (these results are invalid)", "violated", lambda finding: finding.violated, guided=True),
    _Group("Waived violations", "waived", lambda finding: finding.checked and bool(finding.waived)),
    _Group("Explanation required", "explanation required", lambda finding: finding.unanswered, guided=True),
    _Group("Not checked (does not count as passed)", "not checked", lambda finding: not finding.checked),
    _Group("Explained", "explained", lambda finding: finding.asks and bool(finding.explained), is_detail=True),
    _Group(
        "Notes that are violations at full size, if found there",
        "passed with notes",
        lambda finding: finding.checked and finding.at_full is Severity.ERROR,
        guided=True,
    ),
    _Group(
        "Notes that require an explanation at full size, if found there",
        "passed with notes",
        lambda finding: finding.checked and finding.at_full is Severity.WARNING,
        guided=True,
        is_detail=True,
    ),
    _Group(
        "Notes",
        "passed with notes",
        lambda finding: finding.checked and finding.severity is Severity.INFO,
        is_detail=True,
    ),
)


def group_number(finding: Finding) -> int:
    """The group of a finding: the first that it fits."""
    return next(number for number, group in enumerate(GROUPS) if group.belongs(finding))


class ReportedCause(NamedTuple):
    """Equal findings as one sentence. `rules`: their ids, with clauses; `details`: the lines below it."""

    rules: str
    text: str
    details: list[str]


def check_text(submission: Submission, block: decision.DecisionBlock, width: int = printing.WIDEST) -> str:
    """The decision, the findings, and how many rules are kept."""
    return f"{decision.decision_text(block, width)}\n\n{checked_text(submission, width)}"


def checked_text(submission: Submission, width: int = printing.WIDEST, details: str = "") -> str:
    """The findings, and how many rules are kept. `details`: the command that prints all findings with all that is
    known of them, for a text without what decides nothing.
    """
    pack, findings = submission.pack, submission.all_findings
    groups = [*_reported_groups(pack, findings, submission.rows, is_detailed=not details)]
    if not details:
        return _rendered(groups, width, (_clause_meanings(pack, findings), rules_summary(pack, findings)))
    further_findings = sum(len(reported_causes) for group, reported_causes in groups if group.is_detail)
    return _rendered(
        [(group, reported_causes) for group, reported_causes in groups if not group.is_detail],
        width,
        (f"{rules_summary(pack, findings)}. {units.plural(further_findings, 'note')}, clauses and reasons: {details}",),
    )


def findings_text(
    pack: RulePack, findings: Sequence[Finding], rows: Sequence[Row] = (), width: int = printing.WIDEST
) -> str:
    """Findings by severity, each cause once. `rows`: the table, whose cells are merged into patterns."""
    return _rendered([*_reported_groups(pack, findings, rows)], width) or "no findings"


def _rendered(groups: Sequence[tuple[_Group, list[ReportedCause]]], width: int, text_below: Sequence[str] = ()) -> str:
    def fold(text: str, indent: int, continuation: int) -> str:
        return "\n".join(printing.wrap(text, width, " " * indent, " " * continuation))

    text = resources.render_template("findings.txt.j2", groups=groups, below=filter(None, text_below), fold=fold)
    return text.rstrip("\n")


def _clause_meanings(pack: RulePack, findings: Sequence[Finding]) -> str:
    """What the words in brackets after the rules mean."""
    clause_ids = {pack.clause_of(finding) for finding in findings} - {""}
    texts = {
        f"In brackets: the clause that requires it; 'campaign rules {pack.id}' prints the clauses.": (
            clause_ids - {PRACTICE}
        ),
        "[practice]: in no clause of the RFP, but sound measurement requires it.": clause_ids & {PRACTICE},
    }
    return " ".join(text for text, clauses in texts.items() if clauses)


def _reported_groups(
    pack: RulePack, findings: Sequence[Finding], rows: Sequence[Row], is_detailed: bool = True
) -> Iterator[tuple[_Group, list[ReportedCause]]]:
    """Each group that has findings, with its causes; once for all groups, below the last cause that it is for, what to
    do, and in detail why the rule matters.
    """
    printed_texts: set[tuple[str, str]] = set()
    for number, of_group in sorted(grouped((group_number(finding), finding) for finding in findings).items()):
        group, reported_causes = GROUPS[number], list[ReportedCause]()
        for rule, of_rule in itertools.groupby(_equal_findings(of_group, rows), key=lambda cause: cause[0]):
            remedies = dict[str, ReportedCause]()  # each with the last cause that it is for
            for _, text, equal_findings in of_rule:
                reported_causes.append(_reported_cause(pack, text, equal_findings, rows, is_detailed))
                if group.guided or equal_findings[0].remedy:
                    remedies[f"what to do: {decision.remedy_of(equal_findings[0])}"] = reported_causes[-1]
            if group.guided and is_detailed and (entry := CATALOGUE.get(rule)):
                remedies[f"why it matters: {entry.why}"] = reported_causes[-1]
            for text, reported_cause in remedies.items():
                if (rule, text) not in printed_texts:
                    reported_cause.details.append(text)
            printed_texts |= {(rule, text) for text in remedies}
        yield group, reported_causes


def _equal_findings(findings: Sequence[Finding], rows: Sequence[Row]) -> Iterator[tuple[str, str, list[Finding]]]:
    """Findings of one text and answer, with their rule and the text; those that were not checked, without a rule, as
    one sentence about all their rules.
    """
    # Rows already name the cells.
    findings_by_cause = [replace(finding, operation="") for finding in findings] if rows else findings
    by_cause = grouped(
        ((finding.rule if finding.checked else "", text.message, finding.explained or finding.waived), finding)
        for finding, text in zip(findings, causes.merge_causes(findings_by_cause), strict=True)
    )
    for (rule, text, _), equal_findings in by_cause.items():
        yield rule, text, equal_findings


def _reported_cause(
    pack: RulePack, text: str, findings: Sequence[Finding], rows: Sequence[Row], is_detailed: bool
) -> ReportedCause:
    """Equal findings with their subjects and the values found: of few, the subjects of each value."""
    rules = {finding.rule: pack.clause_of(finding) for finding in findings}
    names_clauses = len(rules) <= LISTED
    names = ", ".join(f"{rule} [{clause}]" if clause and names_clauses else rule for rule, clause in rules.items())
    by_value = grouped(((finding.expected, causes.generalize_line(finding.actual)), finding) for finding in findings)
    details, limit = list[str](), LISTED if is_detailed else 1
    if is_detailed and (len(by_value) == 1 or len(by_value) > limit):
        details += [f"at {subjects}"] if (subjects := _subjects_text(findings, rows)) else []
    for of_value in list(by_value.values())[:limit]:
        labelled = {"expected": of_value[0].expected, "found": of_value[0].actual}
        values = "; ".join(f"{word} {value}" for word, value in labelled.items() if value)
        subjects = _subjects_text(of_value, rows) if len(by_value) > 1 or not is_detailed else ""
        details.append(": ".join(filter(None, (subjects, values))))
    if (further_values := len(by_value) - limit) > 0:
        more = f"and {further_values} more like this"
        details = [*details, f"{more}; with --json all are listed"] if is_detailed else [f"{details[0]}; {more}"]
    answers = {"explained": findings[0].explained, "waived": findings[0].waived}
    details += [f"{word}: {answer}" for word, answer in answers.items() if answer]
    return ReportedCause(names, text, list(filter(None, details)))


def _subjects_text(findings: Sequence[Finding], rows: Sequence[Row]) -> str:
    """The cells as patterns, and other subjects; "" for the campaign as a whole."""
    remaining = set(findings)
    cells, of_rows = [], set()
    for row in rows:
        of_row = remaining.intersection(row.findings)
        of_rows |= of_row
        if any(finding.concerns(row.cell) for finding in of_row):
            cells.append(row.cell)
    other_subjects = sorted({finding.subject for finding in remaining - of_rows} - {"campaign"})
    return units.listing([*patterns(cells, [row.cell for row in rows]), *other_subjects], 2 * LISTED)


def rules_summary(pack: RulePack, findings: Sequence[Finding]) -> str:
    """How many rules the pack has, and the status of each by its worst finding."""
    worst = {rule: len(GROUPS) for rule in pack.checks}
    for finding in findings:
        place = group_number(finding)
        if finding.rule in worst:
            worst[finding.rule] = min(worst[finding.rule], place)
    names = [*(group.outcome for group in GROUPS), "passed"]
    counts = Counter(names[place] for place in worst.values())
    outcomes = ", ".join(f"{counts[name]} {name}" for name in dict.fromkeys(names) if counts[name])
    return f"{units.plural(len(worst), 'rule')}, by worst finding: {outcomes}"

"""The decision that comes first on a screen: what was asked and answered, what follows from it, and what to do next.
`campaign_decision` is that of a campaign for its vendor, `table_decision` that of another party's table, and
`evidence/bundle_decision.py` has that of a bundle for the buyer. `compliance_verdict`: whether a submission complies
with its run rules, as the report and the bundle keep it. Pure, except that `run_decision` reads a line of a file.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.rules.pack import RulePack
from campaign.core import escaping, units
from campaign.core.findings import Finding, Move, Severity
from campaign.core.grouping import grouped
from campaign.core.runs import Cell, Status
from campaign.judge.engine import BUNDLE_RULES
from campaign.judge.submission import Submission
from campaign.report import causes, printing
from campaign.report.table import pack_origin
from campaign.results.cells import Row, patterns

OPEN = (Status.INVALID, Status.FAILED, Status.MISSING)


class Compliance(StrEnum):  # the worst first
    BROKEN = "broken"
    REHEARSAL = "rehearsal"  # says nothing about compliance, whatever its numbers
    UNCHECKED = "unchecked"  # no known violation
    COMPLIES = "complies"


class Readiness(StrEnum):  # for the vendor; the worst first
    NOT_READY = "NOT READY"
    REHEARSAL = "REHEARSAL"
    READY = "READY TO HAND IN"


@dataclass(frozen=True, slots=True)
class Reason:
    """`rules`: (id, statement, number of findings) of those that it is about."""

    text: str
    rules: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: Compliance
    headline: str
    reasons: tuple[Reason, ...]


def compliance_verdict(submission: Submission) -> Verdict:
    """A rule that was not checked has not passed, so that it always prevents "complies"."""
    pack, rows, profile = submission.pack, submission.rows, submission.campaign.profile
    findings = submission.all_findings
    checked = [finding for finding in findings if finding.checked]
    errors = [finding for finding in checked if finding.severity is Severity.ERROR]
    broken = _rule_counts(pack, (finding for finding in errors if not finding.waived))
    waived = _rule_counts(pack, filter(is_waived, errors))
    unanswered = _rule_counts(pack, (finding for finding in checked if finding.unanswered))
    unchecked = _rule_counts(pack, (finding for finding in findings if not finding.checked))
    missing_count = sum(row.status in OPEN for row in rows)
    if profile != "full":
        kind, headline = Compliance.REHEARSAL, f"{profile.capitalize()} size: not a compliant result"
    elif broken or missing_count:
        kind, headline = Compliance.BROKEN, "Does not comply with the run rules"
    elif unchecked:
        kind, headline = Compliance.UNCHECKED, "No violation found, but not all rules were checked"
    else:
        exceptions = " and ".join(
            [*["waived violations"] * bool(waived), *["explanations required"] * bool(unanswered)]
        )
        kind, headline = (
            Compliance.COMPLIES,
            f"Complies with the run rules, with {exceptions}" if exceptions else "Complies with the run rules",
        )
    reasons = []
    if profile != "full":
        reasons.append(Reason(f"Rehearsal: {_size_reasons(submission)}."))
    if pack_origin(pack):
        reasons.append(Reason(f"The rules are a {pack_origin(pack).strip(' []')}."))
    if missing_count:
        reasons.append(Reason(f"{missing_count} of {len(rows)} results have no valid value."))
    for text, rules in (
        ("{rules} violated:", broken),
        ("{rules} violated and waived:", waived),
        ("Explanation required by {rules}:", unanswered),
    ):
        if rules:
            reasons.append(Reason(text.format(rules=units.plural(len(rules), "rule")), rules))
    if unchecked:
        count = units.plural(len(unchecked), "rule")
        reasons.append(Reason(f"{count} of {len(pack.checks)} not checked (does not count as passed):", unchecked))
    return Verdict(kind, headline, tuple(reasons))


def is_waived(finding: Finding) -> bool:
    """Whether it is a violation that the buyer has waived."""
    return finding.checked and finding.severity is Severity.ERROR and bool(finding.waived)


def status_counts(rows: Sequence[Row]) -> str:
    """`36 cells: 33 measured, 3 declined`."""
    return units.count_by_kind("cell", [row.status for row in rows])


def _rule_counts(pack: RulePack, findings: Iterable[Finding]) -> tuple[tuple[str, str, int], ...]:
    counts = Counter(finding.rule for finding in findings)
    ids = sorted(counts, key=list(CATALOGUE).index)
    return tuple((rule, pack.statement(rule), counts[rule]) for rule in ids)


def _size_reasons(submission: Submission) -> str:
    pack, campaign = submission.pack, submission.campaign
    reasons = []
    if pack.items_total:
        total = campaign.items_total or pack.items_total.get(campaign.profile, 0)
        reasons.append(f"{total} {pack.items_unit} instead of {pack.items_total.get('full', 0)}")
    reasons += [
        f"{variable.id} {pack.values[variable.id]} instead of {variable.full}"
        for variable in pack.variables
        if pack.values.get(variable.id, variable.full) != variable.full
    ]
    return "; ".join(reasons) or "smaller than the RFP requires"


LONGEST = 8000  # letters of a decision's text
ID_DIGITS = 16  # of a decision's hash that are typed: nobody finds another decision with the same ones
MOST_LINES = 14  # of a decision's text at 80 columns
MOST_STEPS = 5
MOST_LISTED_WORDS = 11  # of the findings that a sentence lists
MOST_NAMED = 3  # rules that a sentence names without what they found
UNFOLDED = 100_000  # columns
VENDOR, YOU = "vendor", "you"
SAMPLE = "# campaign sample: "  # how the campaign file of a sample begins (evidence/sample.py)


class Mark(StrEnum):
    """What an answer means, in front of its sentence; the best first."""

    OK = "ok"
    OPEN = "open"
    BAD = "NO"


@dataclass(frozen=True, slots=True)
class Question:
    name: str
    answer: str
    reason: str  # the answer as a sentence
    mark: Mark = Mark.OPEN


@dataclass(frozen=True, slots=True)
class Step:
    who: str
    what: str  # a command, or a sentence


@dataclass(frozen=True, slots=True)
class DecisionBlock:
    headline: str
    about: tuple[str, ...]
    questions: tuple[Question, ...]
    may: str  # what may be concluded, as a sentence
    may_not: str  # what may not be, as a sentence
    steps: tuple[Step, ...] = ()
    kind: Compliance = Compliance.UNCHECKED
    details: str = ""  # the command that lists what is to be done

    @property
    def sentence(self) -> str:
        """All answers in one line."""
        return f"{self.headline}: {' '.join(question.reason for question in self.questions)}"

    @property
    def worst_question(self) -> Question:
        """The first with the worst answer."""
        return max(self.questions, key=lambda question: list(Mark).index(question.mark))


def run_decision(block: DecisionBlock, file: Path, typed: str) -> DecisionBlock:
    """The decision at the end of a run: of a sample, it is another than the vendor's. `typed`: the file."""
    with file.open("rb") as stream:
        if not stream.readline().startswith(SAMPLE.encode()):
            return block
    block = replace(block, headline="SAMPLE INCOMPLETE", questions=block.questions[:1])
    if block.questions[0].answer != "yes":
        return block
    return replace(
        block,
        headline="SAMPLE MEASURED",
        may="All drawn results are measured.",
        may_not="They have not been compared with the bundle yet.",
        steps=(Step(YOU, f"campaign accept BUNDLE {typed}"),),
    )


def decision_text(decision: DecisionBlock, width: int) -> str:
    """A decision as text, for a terminal of this width."""
    return "\n".join(_lines(decision, width))


def decision_paragraphs(decision: DecisionBlock, style: str, width: int) -> list[str]:
    """A decision as paragraphs of a format of tabulate."""
    if style in printing.TEXT_FORMATS:
        return [decision_text(decision, width)]
    return [escaping.paragraph(line, style) for line in decision_text(decision, UNFOLDED).splitlines()]


def _lines(decision: DecisionBlock, width: int) -> list[str]:
    lines = printing.wrap(f"{decision.headline}: {escaping.plain(', '.join(decision.about))}", width, "", "  ")
    for question in decision.questions:
        lines += printing.wrap(escaping.plain(question.reason), width, f"  {question.mark:4}  ", " " * 8)
    lines += printing.wrap(escaping.plain(f"{decision.may} {decision.may_not}"), width, "", "")
    for number in range(min(len(decision.steps), MOST_STEPS), 0, -1):
        steps = _step_lines(decision, number, width)
        if number == 1 or not decision.details or len(lines) + len(steps) <= MOST_LINES:
            return lines + steps
    return lines


def _step_lines(decision: DecisionBlock, number: int, width: int) -> list[str]:
    """The first steps, and how many more there are."""
    lines = []
    for place, step in enumerate(decision.steps[:number], 1):
        first = f"{'Next' if place == 1 else '':4}  {place} {step.who:6}  "
        lines += printing.wrap(escaping.plain(step.what), width, first, " " * len(first))
    if further_steps := len(decision.steps) - number:
        lines += printing.wrap(f"and {further_steps} more: {escaping.plain(decision.details)}", width, " " * 8, " " * 8)
    return lines


# --- what waits for the buyer


@dataclass(frozen=True, slots=True)
class OpenDecision:
    """What one explanation of the vendor covers of a rule, or one fact that is left to the buyer."""

    findings: tuple[Finding, ...]
    rule: str
    part: str  # of an RFP
    sentences: tuple[str, ...]  # what was found, each cause once with its values
    explanation: str  # the vendor's
    text: str  # both, on one line, as it can be written in terms
    is_stated: bool  # whether the text says everything that was found, so that it binds an acceptance without the hash
    cells: tuple[Cell, ...]  # that it is about; none: the bundle
    patterns: tuple[str, ...]  # of exactly these cells
    facts: str  # SHA-256 of everything that was found: an acceptance that names it holds for nothing else

    @property
    def id(self) -> str:
        return self.facts[:ID_DIGITS]

    def as_json(self) -> dict[str, Any]:
        names = ("id", "facts", "rule", "part", "explanation", "text")
        lists = {"found": list(self.sentences), "cells": list(self.patterns)}
        return {name: getattr(self, name) for name in names} | lists


def open_decisions(findings: Iterable[Finding], universe: Sequence[Cell], part: str = "") -> list[OpenDecision]:
    """The decisions on findings that wait. `universe`: all cells, which a finding without any is about."""
    equal_findings = grouped((_cause(finding), finding) for finding in findings).values()
    return [_decision(of_decision, universe, part) for of_decision in equal_findings]


def _decision(findings: Sequence[Finding], universe: Sequence[Cell], part: str) -> OpenDecision:
    rule, explanation = findings[0].rule, " ".join(findings[0].explained.split())
    named_cells = {cell for finding in findings for cell in finding.cells or universe}
    cells = tuple(cell for cell in universe if cell in named_cells)
    merged_findings = zip(causes.merge_causes(findings), findings, strict=True)
    values = grouped((merged.message, finding.actual) for merged, finding in merged_findings)
    sentences = [
        ": ".join(filter(None, (message, units.listing(dict.fromkeys(filter(None, actual_texts))))))
        for message, actual_texts in values.items()
    ]
    words = "; ".join(sentences) + (f" ({explanation})" if explanation else "")
    text = " ".join(escaping.plain(words).split())[:LONGEST]
    facts = sorted(
        [finding.message, finding.expected, finding.actual, finding.severity, *map(str, finding.cells)]
        for finding in findings
    )
    content = json.dumps([part, rule, findings[0].explained, list(map(str, cells)), facts])
    return OpenDecision(
        *(tuple(findings), rule, part, tuple(sentences), explanation, text),
        *(not _is_explained_by_vendor(findings[0]) and len(text) < LONGEST, cells, tuple(patterns(cells, universe))),
        hashlib.sha256(content.encode()).hexdigest(),
    )


def _cause(finding: Finding) -> Hashable:
    """What findings that one answer decides have in common. What is left to the buyer is decided fact by fact."""
    if _is_explained_by_vendor(finding):
        return finding.rule, finding.explained
    return finding.rule, finding.explained, finding.message, finding.expected, finding.actual


def _is_explained_by_vendor(finding: Finding) -> bool:
    return bool(finding.explained) and finding.move is not Move.BUYER


# --- what findings say


class SortedFindings:
    """Findings by what is left of them, and for whom. `open` ones are the vendor's and the buyer's. That results lack a
    value comes last among violations: whether all are there is a question of its own.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        findings_list = list(findings)
        violated = [finding for finding in findings_list if finding.violated]
        self.violated = sorted(violated, key=lambda finding: finding.rule == "CMP-03")
        self.open = [finding for finding in findings_list if finding.open and finding.move is not Move.NOBODY]
        self.unprovable = rules_of(finding for finding in findings_list if finding.open and finding.move is Move.NOBODY)
        self.undecided = [finding for finding in findings_list if finding.undecided]
        self.waived = rules_of(finding for finding in findings_list if is_waived(finding))

    def by_move(self, move: Move) -> list[Finding]:
        return [finding for finding in self.open if finding.move is move]

    @property
    def state(self) -> str:
        return "VIOLATED" if self.violated else "open" if self.open else "kept"


def rules_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.rule for finding in findings))


def listed_findings(findings: Iterable[Finding]) -> str:
    """What each rule found first, with its id: of as many rules as a sentence has room for; of few others, the ids."""
    by_rule = grouped((finding.rule, finding) for finding in findings)
    texts, words = list[str](), 0
    for rule, of_rule in by_rule.items():
        words += len(of_rule[0].message.split())
        if texts and words > MOST_LISTED_WORDS:
            break
        texts.append(f"{of_rule[0].message} ({rule}{_number_of_cells(of_rule)})")
    further_rules = [*by_rule][len(texts) :]
    names = f" ({', '.join(further_rules)})" if len(further_rules) <= MOST_NAMED else ""
    return "; ".join(texts) + (f"; and {len(further_rules)} more{names}" if further_rules else "")


def _number_of_cells(findings: Sequence[Finding]) -> str:
    """In how many results the first message was found, after the rule's id; "" if it is about none."""
    cells = {cell for finding in findings if finding.message == findings[0].message for cell in finding.cells}
    return f", {units.plural(len(cells), 'result')}" if cells else ""


def completeness(rows: Sequence[Row], addition: str = "") -> Question:
    """How many results have a value; if all have one, `addition` about them."""
    valid_count = sum(row.status not in OPEN for row in rows)
    counts = Counter(str(row.status) for row in rows if row.status is not Status.MEASURED)
    other_statuses = ", ".join(f"{number} {status}" for status, number in counts.items())
    verb, brackets = "has" if valid_count == 1 else "have", f" ({other_statuses})" if other_statuses else ""
    results = f"{valid_count} of {units.plural(len(rows), 'result')} {verb}"
    if rows and valid_count == len(rows):
        settled = "a value or a reason" if Status.DECLINED in counts else "a value"
        return Question("complete", "yes", f"{results} {settled}{brackets}{addition}.", Mark.OK)
    return Question("complete", "NO", f"{results} a valid value{brackets}.", Mark.BAD)


def rules_question(findings: SortedFindings, is_for_vendor: bool, kept: str) -> Question:
    """Whether the rules are kept, for the vendor or the buyer; `kept`: a sentence for the case that all are."""
    if findings.violated:
        number = len(rules_of(findings.violated))
        verb = "are" if number > 1 else "is"
        text = f"{units.plural(number, 'rule')} {verb} VIOLATED: {listed_findings(findings.violated)}."
        return Question("rules", findings.state, text, Mark.BAD)
    sentences = []
    for move, who in (
        (Move.VENDOR, "your answer" if is_for_vendor else "the vendor's answer"),
        (Move.BUYER, "the buyer's check" if is_for_vendor else "your check"),
    ):
        if of_move := findings.by_move(move):
            number = len(rules_of(of_move))
            verb = "need" if number > 1 else "needs"
            sentences.append(f"{units.plural(number, 'rule')} {verb} {who}: {listed_findings(of_move)}.")
    if findings.unprovable:
        rules = units.listing(findings.unprovable, 4)
        sentences.append(f"The outputs of these programs cannot show {rules}.")
    if findings.waived:
        rules, verb = units.plural(len(findings.waived), "violated rule"), "are" if len(findings.waived) > 1 else "is"
        sentences.append(f"{rules} {verb} waived ({units.listing(findings.waived, 4)}).")
    mark = Mark.OPEN if findings.open else Mark.OK
    return Question("rules", findings.state, " ".join(sentences) or kept, mark)


def decisions_question(decisions: Sequence[OpenDecision], is_for_vendor: bool, settled: str) -> Question:
    """What waits for the buyer; `settled`: a sentence for the case that nothing does."""
    if not decisions:
        return Question("decisions", "none open", settled, Mark.OK)
    answer = f"{len(decisions)} open"
    who = "The buyer's" if is_for_vendor else "Your"
    if len(decisions) == 1:
        (decision,) = decisions
        place = f"{decision.rule}{_number_of_cells(decision.findings)}"
        text = f'{who} decision: accept "{decision.findings[0].message}" ({place})?'
        return Question("decisions", answer, text)
    kinds = grouped((_decision_kind(decision.findings[0]), decision.findings) for decision in decisions)
    counts = ", ".join(_count_decisions(kind, decided) for kind, decided in kinds.items())
    rules = units.listing(dict.fromkeys(decision.rule for decision in decisions), 4)
    return Question("decisions", answer, f"{who} decision: accept {counts} ({rules})?")


_WITHOUT = "result without measurement"


def _decision_kind(finding: Finding) -> str:
    if finding.explained:
        return "explanation"
    return _WITHOUT if finding.rule == "CMP-03" else "deviation"


def _count_decisions(kind: str, decided: Sequence[Sequence[Finding]]) -> str:
    """How many decisions of a kind there are; of results without measurement, how many results they are about."""
    if kind != _WITHOUT:
        return units.plural(len(decided), kind)
    number = sum(len({cell for finding in findings for cell in finding.cells}) or 1 for findings in decided)
    reasons = f" for {units.plural(len(decided), 'reason')}" if 1 < len(decided) != number else ""
    return f"{units.plural(number, 'result')} without measurement{reasons}"


def vendor_steps(findings: Iterable[Finding], file: str = "FILE", universe: Sequence[Cell] = ()) -> Iterator[Step]:
    """What the vendor can do, the same for several rules once. `file`: the campaign file; `universe`: all cells."""
    by_remedy = grouped((remedy_of(finding), finding) for finding in findings)
    for remedy, equal_findings in by_remedy.items():
        cells = {cell for finding in equal_findings for cell in finding.cells}
        names = [shlex.quote(name) for name in patterns([cell for cell in universe if cell in cells], universe)]
        text = re.sub(r"\bFILE\b", lambda _: file, remedy).replace("CELL", " ".join(names) or "CELL")
        yield Step(VENDOR, _remedy_sentence(text, rules_of(equal_findings)))


def buyer_steps(findings: Iterable[Finding]) -> Iterator[Step]:
    """What the buyer can do, for each rule about its first finding."""
    for rule, of_rule in grouped((finding.rule, finding) for finding in findings).items():
        yield Step(YOU, _remedy_sentence(of_rule[0].remedy or of_rule[0].message, [rule]))


def _remedy_sentence(remedy: str, rules: Sequence[str]) -> str:
    """A remedy with the rules in brackets, in front of a command at its end, which can be pasted."""
    text, colon, command = remedy.partition(": campaign ")
    return f"{text[0].upper()}{text[1:]} ({units.listing(rules, 4)}){f'{colon}{command}' if colon else '.'}"


def first_of_each(steps: Iterable[Step]) -> tuple[Step, ...]:
    """The steps, the first of the vendor and the first of the buyer before all others."""
    steps_list = list(steps)
    firsts = {step.who: step for step in reversed(steps_list)}
    return tuple(sorted(steps_list, key=lambda step: step is not firsts[step.who]))


def remedy_of(finding: Finding) -> str:
    """What the vendor can do about a finding: in its case, or about its rule."""
    return finding.remedy or (CATALOGUE[finding.rule].remedy if finding.rule in CATALOGUE else "see the rule pack")


def campaign_decision(submission: Submission, file: str = "FILE") -> DecisionBlock:
    """For the vendor, before anything is submitted. `file`: the campaign file, as it is typed."""
    findings = vendor_findings(submission)
    questions = (
        completeness(submission.rows),
        rules_question(findings, True, "No rule that was checked is violated."),
        decisions_question(open_decisions(findings.undecided, ()), True, "Nothing waits for the buyer's decision."),
    )
    is_full, is_ready = submission.campaign.profile == "full", questions[0].answer == "yes" and not findings.violated
    to_settle, cells = [*findings.violated, *findings.by_move(Move.VENDOR)], [row.cell for row in submission.rows]
    steps = [*_gap_steps(submission.rows, file), *vendor_steps(to_settle, file, cells)]
    if is_ready:
        last = f"campaign bundle {file} -o {submission.campaign.name}.zip --sign KEY"
        steps.append(Step(VENDOR, last if is_full else f"Set profile: full in {file}, then run: campaign run {file}"))
    return DecisionBlock(
        Readiness.REHEARSAL if not is_full else Readiness.READY if is_ready else Readiness.NOT_READY,
        (
            f"campaign {submission.campaign.name}",
            f"{submission.pack.id} {submission.pack.version}",
            f"{submission.campaign.profile} size",
        ),
        questions,
        vendor_conclusion(questions[0].answer == "yes", findings),
        vendor_caveat(is_full),
        tuple(steps),
        compliance_verdict(submission).kind,
        f"campaign check {file}",
    )


def vendor_findings(*submissions: Submission, of_rfp: Sequence[Finding] = ()) -> SortedFindings:
    """The findings about campaigns, without those about a bundle, which does not exist yet. `of_rfp`: those about all
    of them together.
    """
    findings = (finding for submission in submissions for finding in submission.all_findings)
    return SortedFindings([*(finding for finding in findings if finding.rule not in BUNDLE_RULES), *of_rfp])


def _gap_steps(rows: Sequence[Row], file: str) -> Iterator[Step]:
    """What is done about results that failed, or were not measured."""
    if failed := [row.note for row in rows if row.status is Status.FAILED]:
        yield Step(VENDOR, f"Fix the cause ({failed[0]}), then run: campaign run {file}")
    elif any(row.status is Status.MISSING for row in rows):
        yield Step(VENDOR, f"campaign run {file}")


def vendor_conclusion(is_complete: bool, findings: SortedFindings) -> str:
    """What may be concluded from results and findings."""
    if findings.violated:
        return "As it stands, the buyer would reject it."
    text = "All results are there, and none violates" if is_complete else "What has been measured does not violate"
    exceptions = f", except for waived violations of {units.listing(findings.waived)}" if findings.waived else ""
    return f"{text} a rule that was checked{exceptions}."


def vendor_caveat(is_full: bool) -> str:
    """What may not be concluded, at full size or of a rehearsal."""
    if is_full:
        return "The buyer still decides on what is explained, declined or open."
    return "This does not show that the buyer will accept it: a rehearsal is never compliant."


def table_decision(submission: Submission) -> DecisionBlock:
    """The decision on a table without its logs, for whoever received it."""
    findings = SortedFindings(submission.all_findings)
    questions = (
        completeness(submission.rows),
        rules_question(findings, False, "No rule that was checked is violated."),
    )
    is_acceptable = questions[0].answer == "yes" and not findings.violated
    return DecisionBlock(
        "NO VIOLATION FOUND" if is_acceptable else "NOT ACCEPTABLE",
        (f"table {submission.campaign.path.name}", f"{submission.pack.id} {submission.pack.version}"),
        questions,
        vendor_conclusion(questions[0].answer == "yes", findings),
        "This does not show that the numbers were measured: a table has no logs to check.",
        (
            *vendor_steps(findings.violated, universe=[row.cell for row in submission.rows]),
            Step(VENDOR, "Send the bundle of the campaign: campaign bundle FILE -o OUT.zip"),
        ),
    )

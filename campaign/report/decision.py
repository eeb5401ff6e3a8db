"""The decision that comes first on a screen: what was asked and answered, what follows from it, and what to do next.
`of_campaign` makes that of a campaign for its vendor, `of_table` that of another party's table, and
`evidence/conclusion.py` that of a bundle for the buyer. Pure.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from campaign.config.rules.catalogue import CATALOGUE
from campaign.core import escaping
from campaign.core.escaping import plain
from campaign.core.model import Finding, Move, Status
from campaign.core.units import listed, several
from campaign.judge.engine import BUNDLE_RULES
from campaign.judge.submission import Submission
from campaign.report import printing
from campaign.report.verdict import OPEN, Compliance, verdict
from campaign.results.cells import Row

LEAST = 20  # columns of a reason
UNFOLDED = 100_000  # columns
VENDOR, YOU = "vendor", "you"


@dataclass(frozen=True, slots=True)
class Question:
    name: str
    answer: str
    reason: str  # the one that matters


@dataclass(frozen=True, slots=True)
class Step:
    who: str
    what: str  # a command, or a sentence


@dataclass(frozen=True, slots=True)
class DecisionBlock:
    headline: str
    about: tuple[str, ...]
    questions: tuple[Question, ...]
    may: str  # what may be concluded
    may_not: str
    steps: tuple[Step, ...] = ()
    kind: Compliance = Compliance.UNCHECKED

    @property
    def sentence(self) -> str:
        """All answers in one line."""
        answers = "; ".join(f"{each.name} {each.answer} ({each.reason})" for each in self.questions)
        return f"{self.headline}: {answers}"


def printed(decision: DecisionBlock, width: int) -> str:
    """As text, on a terminal of this width. A reason has one line: what does not fit there is among the details."""
    return "\n".join(_lines(decision, width))


def in_format(decision: DecisionBlock, style: str, width: int) -> list[str]:
    """As paragraphs of a format of tabulate."""
    if style in printing.FOLDED:
        return [printed(decision, width)]
    return [escaping.paragraph(line, style) for line in printed(decision, UNFOLDED).splitlines()]


def _lines(decision: DecisionBlock, width: int) -> Iterator[str]:
    yield from printing.wrapped("  ".join(map(plain, (decision.headline, *decision.about))), width, "", "  ")
    names = max(len(question.name) for question in decision.questions)
    answers = max(len(question.answer) for question in decision.questions)
    for question in decision.questions:
        first = f"  {question.name:{names}}  {question.answer:{answers}}  "
        yield first + textwrap.shorten(plain(question.reason), max(width - len(first), LEAST), placeholder=" …")
    yield from printing.wrapped(plain(decision.may), width, "You may conclude:  ", " " * 19)
    yield from printing.wrapped(plain(decision.may_not), width, "You may not:       ", " " * 19)
    for number, step in enumerate(decision.steps, 1):
        first = f"{'Next' if number == 1 else '':4}  {number} {step.who:6}  "
        yield from printing.wrapped(plain(step.what), width, first, " " * len(first))


# --- what findings say


class SortedFindings:
    """Findings by what is left of them, and for whom. `open` ones are the vendor's and the buyer's."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        known = list(findings)
        self.violated = [finding for finding in known if finding.violated]
        self.open = [finding for finding in known if finding.open and finding.move is not Move.NOBODY]
        self.unprovable = rules_of(finding for finding in known if finding.open and finding.move is Move.NOBODY)
        self.undecided = [finding for finding in known if finding.undecided]

    def of(self, move: Move) -> list[Finding]:
        return [finding for finding in self.open if finding.move is move]

    @property
    def kept(self) -> str:
        return "VIOLATED" if self.violated else "open" if self.open else "kept"


def rules_of(findings: Iterable[Finding]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.rule for finding in findings))


def first_of(findings: Sequence[Finding]) -> str:
    """The first finding, and how many rules have some."""
    number = len(rules_of(findings))
    first = f" (1 of {several(number, 'rule')})" if number > 1 else ""
    return f"{findings[0].rule}{first}: {findings[0].message}"


def complete(rows: Sequence[Row], more: str = "") -> Question:
    """How many results have a value; if all have one, `more` about them."""
    there = sum(row.status not in OPEN for row in rows)
    counts = Counter(str(row.status) for row in rows if row.status is not Status.MEASURED)
    others = ", ".join(f"{number} {status}" for status, number in counts.items())
    reason = f"{there} of {several(len(rows), 'result')}{f' ({others})' if others else ''}"
    if rows and there == len(rows):
        return Question("complete", "yes", reason + more)
    return Question("complete", "NO", reason)


def rules(found: SortedFindings, buyer: str, otherwise: str) -> Question:
    """`buyer`: how the buyer is named here."""
    if found.violated:
        return Question("rules", found.kept, first_of(found.violated))
    parts = []
    for move, who in ((Move.VENDOR, "the vendor"), (Move.BUYER, buyer)):
        if of_move := rules_of(found.of(move)):
            parts.append(f"{several(len(of_move), 'rule')} open for {who} ({listed(of_move, 4)})")
    if found.unprovable:
        parts.append(f"{listed(found.unprovable, 4)} cannot be shown by these programs")
    return Question("rules", found.kept, "; ".join(parts) or otherwise)


def decisions(found: SortedFindings, otherwise: str) -> Question:
    waiting = Counter({(finding.rule, finding.said): _kind(finding) for finding in found.undecided}.values())
    counts = ", ".join(several(count, kind) for kind, count in waiting.items())
    answer = f"{waiting.total()} open" if waiting else "none open"
    return Question("decisions", answer, f"{counts}, not yet accepted" if counts else otherwise)


def _kind(finding: Finding) -> str:
    if finding.explained:
        return "explanation"
    return "result without measurement" if finding.rule == "CMP-03" else "deviation"


def of_vendor(findings: Sequence[Finding]) -> Iterator[Step]:
    """What the vendor can do about the first rule, and how many there are."""
    if rules := rules_of(findings):
        remedy = CATALOGUE[rules[0]].remedy if rules[0] in CATALOGUE else "see the rule pack"
        more = f"; then {several(len(rules) - 1, 'further rule')}" if len(rules) > 1 else ""
        yield Step(VENDOR, f"{rules[0]}: {remedy}{more}")


def of_campaign(whole: Submission, file: str = "FILE") -> DecisionBlock:
    """For the vendor, before anything is handed in. `file`: the campaign file, as it is typed."""
    found = SortedFindings(each for each in whole.all_findings if each.rule not in BUNDLE_RULES)
    asked = (complete(whole.rows), rules(found, "the buyer", "none violated"), decisions(found, "nothing waits"))
    kind = verdict(whole).kind
    full, good = kind is not Compliance.REHEARSAL, asked[0].answer == "yes" and not found.violated
    headline = "REHEARSAL" if not full else "READY TO HAND IN" if good else "NOT READY"
    steps = [*_of_gaps(whole.rows, file), *of_vendor([*found.violated, *found.of(Move.VENDOR)])]
    if good:
        last = f"campaign bundle {file} -o {whole.campaign.name}.zip --sign KEY"
        steps.append(Step(VENDOR, last if full else f"set profile: full in {file}, then campaign run {file}"))
    waits = "what is explained, declined or open is the buyer's decision"
    return DecisionBlock(
        headline,
        (f"campaign {whole.campaign.name}", f"{whole.pack.id} {whole.pack.version}", f"{whole.campaign.profile} size"),
        asked,
        _may(asked[0].answer == "yes", found),
        f"that the buyer accepts it: {waits if full else 'a rehearsal never complies'}.",
        tuple(steps),
        kind,
    )


def _of_gaps(rows: Sequence[Row], file: str) -> Iterator[Step]:
    """What is done about results that failed, or were not measured."""
    if failed := [row.note for row in rows if row.status is Status.FAILED]:
        yield Step(VENDOR, f"campaign run {file}, once the cause is mended: {failed[0]}")
    elif any(row.status is Status.MISSING for row in rows):
        yield Step(VENDOR, f"campaign run {file}")


def _may(is_complete: bool, found: SortedFindings) -> str:
    if found.violated:
        return "it would be refused as it is."
    if is_complete:
        return "all results are there, and none violates a rule that was checked."
    return "what is there violates no rule that was checked."


def of_table(whole: Submission) -> DecisionBlock:
    """Of a table without its logs, for whoever received it."""
    found = SortedFindings(whole.all_findings)
    asked = (complete(whole.rows), rules(found, "you", "none violated"))
    good = asked[0].answer == "yes" and not found.violated
    return DecisionBlock(
        "NO VIOLATION FOUND" if good else "NOT ACCEPTABLE",
        (f"table {whole.campaign.path.name}", f"{whole.pack.id} {whole.pack.version}"),
        asked,
        _may(asked[0].answer == "yes", found),
        "that the numbers were measured: a table has no logs, so most rules cannot be checked.",
        (*of_vendor(found.violated), Step(VENDOR, "send the bundle of the campaign: campaign bundle FILE -o OUT.zip")),
    )

"""The decision that comes first on a screen: what was asked and answered, what follows from it, and what to do next.
`of_campaign` makes that of a campaign for its vendor, `evidence/conclusion.py` that of a bundle for the buyer. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from campaign.config.rules.catalogue import CATALOGUE
from campaign.core.escaping import plain
from campaign.core.model import Finding, Move
from campaign.core.units import listed, several
from campaign.judge.engine import BUNDLE_RULES
from campaign.judge.submission import Submission
from campaign.report import printing
from campaign.report.verdict import OPEN, Compliance, verdict
from campaign.results.cells import Row

MOST_STEPS = 4
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
    """As text, on a terminal of this width."""
    return "\n".join(_lines(decision, width))


def _lines(decision: DecisionBlock, width: int) -> Iterator[str]:
    yield from printing.wrapped("  ".join(map(plain, (decision.headline, *decision.about))), width, "", "  ")
    names = max(len(question.name) for question in decision.questions)
    answers = max(len(question.answer) for question in decision.questions)
    for question in decision.questions:
        first = f"  {question.name:{names}}  {question.answer:{answers}}  "
        yield from printing.wrapped(plain(question.reason), width, first, " " * len(first))
    yield from printing.wrapped(plain(decision.may), width, "You may conclude:  ", " " * 19)
    yield from printing.wrapped(plain(decision.may_not), width, "You may not:       ", " " * 19)
    shown = decision.steps[:MOST_STEPS]
    for number, step in enumerate(shown, 1):
        first = f"{'Next' if number == 1 else '':4}  {number} {step.who:6}  "
        yield from printing.wrapped(plain(step.what), width, first, " " * len(first))
    if more := len(decision.steps) - len(shown):
        yield f"      and {more} more: --details"


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
    """The first finding, and how many further rules have some."""
    others = len(rules_of(findings)) - 1
    more = f", and {several(others, 'further rule')}" if others else ""
    return f"{findings[0].rule}: {findings[0].message}{more}"


def complete(rows: Sequence[Row], more: str = "") -> Question:
    """How many results have a value."""
    there = sum(row.status not in OPEN for row in rows)
    counts = ", ".join(f"{number} {status}" for status, number in Counter(str(row.status) for row in rows).items())
    answer = "yes" if rows and there == len(rows) else "NO"
    return Question("complete", answer, f"{there} of {several(len(rows), 'result')} ({counts or 'none'}){more}")


def rules(found: SortedFindings, buyer: str, otherwise: str) -> Question:
    """`buyer`: how the buyer is named here."""
    parts = [first_of(found.violated)] if found.violated else []
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


def of_vendor(found: SortedFindings) -> Iterator[Step]:
    """What the vendor can do, rule by rule, beginning with violations."""
    for rule in rules_of([*found.violated, *found.of(Move.VENDOR)]):
        yield Step(VENDOR, f"{rule}: {CATALOGUE[rule].remedy if rule in CATALOGUE else 'see the rule pack'}")


def of_campaign(whole: Submission, file: str) -> DecisionBlock:
    """For the vendor, before anything is handed in. `file`: the campaign file, as it is typed."""
    found = SortedFindings(each for each in whole.all_findings if each.rule not in BUNDLE_RULES)
    asked = (complete(whole.rows), rules(found, "the buyer", "none violated"), decisions(found, "nothing waits"))
    left = [row.status for row in whole.rows if row.status in OPEN]
    kind = verdict(whole).kind
    ready = kind in (Compliance.COMPLIES, Compliance.UNCHECKED)
    headline = "READY TO HAND IN" if ready else "REHEARSAL" if kind is Compliance.REHEARSAL else "NOT READY"
    steps = [Step(VENDOR, f"campaign run {file}")] if "missing" in left or "failed" in left else []
    steps += of_vendor(found)
    if ready:
        steps.append(Step(VENDOR, f"campaign bundle {file} -o {whole.campaign.name}.zip --sign KEY"))
    says = "no known rule is broken" if not found.violated else "these results break rules"
    return DecisionBlock(
        headline,
        (f"campaign {whole.campaign.name}", f"{whole.pack.id} {whole.pack.version}", f"{whole.campaign.profile} size"),
        asked,
        f"{says}, as far as the rules were checked.",
        "that the buyer accepts it: what is explained, declined or open waits for the buyer's terms.",
        tuple(steps),
        kind,
    )

"""Cases of the rules: what breaks each, what complies with it, what is only disclosed, and what cannot be checked.

To add those of a rule, put them into the list EXAMPLES of a module in this directory, or of a new one: all modules here
are found. tests/judge/test_engine.py holds every case against its rule, and asks that each bound rule has what breaks
it, what keeps it, and what leaves it unchecked; a rule of which the last cannot be stands in its module's
ALWAYS_CHECKED.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from types import ModuleType
from typing import Any

from campaign.config.rules.catalogue import CATALOGUE
from campaign.core.findings import Finding, Move, Severity
from campaign.judge import engine
from campaign.judge.findings import CAMPAIGN
from campaign.judge.submission import Submission
from campaign.results.case import Case

Situation = Case | Submission | Callable[[], Iterable[Finding]]


class Outcome(StrEnum):
    BROKEN = "broken"
    DISCLOSED = "disclosed"
    COMPLIANT = "compliant"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Example:
    rule: str
    outcome: Outcome
    situation: Situation
    name: str
    finding: Finding | None = None  # that must come, of those of its severity alone

    def findings(self) -> list[Finding]:
        """What the rule finds, with its texts as they are read."""
        findings: Iterable[Finding]
        if isinstance(self.situation, Case):
            findings = engine.judge_by_rules(engine.ATTEMPT_RULES, [self.rule], self.situation, self.situation.subject)
        elif isinstance(self.situation, Submission):
            findings = engine.judge_by_rules(engine.RULES, [self.rule], self.situation, CAMPAIGN)
        else:
            findings = self.situation()
        return [
            replace(finding, wording=finding.message, operation="", phase="", clause="", values={})
            for finding in findings
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.outcome}: {self.name}"


def broken(
    rule: str,
    message: str,
    situation: Situation,
    expected: str = "",
    actual: str = "",
    subject: str = "",
    severity: Severity | None = None,
) -> Example:
    """`subject`: of an attempt its own; `severity`: by default the catalogue's."""
    finding = _finding(rule, severity or CATALOGUE[rule].severity, situation, message, expected, actual, subject)
    return Example(rule, Outcome.BROKEN, situation, message, finding)


def disclosed(
    rule: str, message: str, situation: Situation, expected: str = "", actual: str = "", subject: str = ""
) -> Example:
    finding = _finding(rule, Severity.INFO, situation, message, expected, actual, subject)
    return Example(rule, Outcome.DISCLOSED, situation, message, finding)


def rehearsed(*arguments: Any, severity: Severity | None = None) -> Example:
    """As `broken`, but of a rehearsal: a note, which has this `severity` at full size."""
    example = broken(*arguments, severity=severity)
    assert example.finding is not None
    finding = replace(example.finding, severity=Severity.INFO, at_full=example.finding.severity)
    return replace(example, outcome=Outcome.DISCLOSED, finding=finding)


def of_buyer(example: Example, explanation: str = "") -> Example:
    """Of a finding that only the buyer can settle."""
    assert example.finding is not None
    return replace(example, finding=replace(example.finding, move=Move.BUYER, explained=explanation))


def compliant(rule: str, name: str, situation: Situation) -> Example:
    return Example(rule, Outcome.COMPLIANT, situation, name)


def unchecked(rule: str, name: str, situation: Situation, message: str = "") -> Example:
    """`message`: what is said, where that is compared."""
    finding = replace(_finding(rule, Severity.WARNING, situation, message, "", "", ""), checked=False)
    return Example(rule, Outcome.UNCHECKED, situation, name, finding if message else None)


def _finding(
    rule: str, severity: Severity, situation: Situation, message: str, expected: str, actual: str, subject: str
) -> Finding:
    subject = subject or (situation.subject if isinstance(situation, Case) else "campaign")
    return Finding(rule, severity, subject, message, expected, actual)


def _modules() -> list[ModuleType]:
    return [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]


def all_examples() -> list[Example]:
    """All cases of all modules here, by rule."""
    examples: list[Example] = [example for module in _modules() for example in module.EXAMPLES]
    return sorted(examples, key=lambda example: (example.rule, example.outcome))


def always_checked() -> set[str]:
    """Rules of which what they need is always there."""
    return {rule for module in _modules() for rule in getattr(module, "ALWAYS_CHECKED", ())}


def matrix() -> str:
    """Rules x cases, a line for each rule of the catalogue."""
    from collections import Counter

    counts = Counter((example.rule, example.outcome) for example in all_examples())
    lines = [f"{'rule':8}" + "".join(f"{outcome:>13}" for outcome in Outcome)]
    for rule in CATALOGUE:
        numbers = [counts[rule, outcome] for outcome in Outcome]
        lines.append(f"{rule:8}" + "".join(f"{number or '-':>13}" for number in numbers))
    totals = [sum(counts[rule, outcome] for rule in CATALOGUE) for outcome in Outcome]
    return "\n".join([*lines, f"{'total':8}" + "".join(f"{number:>13}" for number in totals)])

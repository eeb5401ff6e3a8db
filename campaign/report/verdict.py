"""Whether a submission complies with its run rules, in the words that come first in all forms of the report. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.rules.pack import RulePack
from campaign.core import units
from campaign.core.model import Finding, Severity, Status
from campaign.judge.submission import Submission
from campaign.report.table import origin
from campaign.results.cells import Row

OPEN = (Status.INVALID, Status.FAILED, Status.MISSING)


class Compliance(StrEnum):
    REHEARSAL = "rehearsal"  # says nothing about compliance, whatever its numbers
    BROKEN = "broken"
    UNCHECKED = "unchecked"  # no known violation
    COMPLIES = "complies"


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


def verdict(submission: Submission) -> Verdict:
    """A rule that was not checked has not passed, so that it always prevents "complies"."""
    pack, rows, profile = submission.pack, submission.rows, submission.campaign.profile
    findings = submission.all_findings
    checked = [finding for finding in findings if finding.checked]
    errors = [finding for finding in checked if finding.severity is Severity.ERROR]
    broken = _rules(pack, (finding for finding in errors if not finding.waived))
    waived = _rules(pack, (finding for finding in errors if finding.waived))
    asked = _rules(pack, (finding for finding in checked if finding.unanswered))
    unchecked = _rules(pack, (finding for finding in findings if not finding.checked))
    without = sum(row.status in OPEN for row in rows)
    if profile != "full":
        kind, headline = Compliance.REHEARSAL, f"{profile.capitalize()} size: not a compliant result"
    elif broken or without:
        kind, headline = Compliance.BROKEN, "Does not comply with the run rules"
    elif unchecked:
        kind, headline = Compliance.UNCHECKED, "No violation found, but not all rules were checked"
    else:
        but = " and ".join([*["waived violations"] * bool(waived), *["explanations required"] * bool(asked)])
        kind, headline = (
            Compliance.COMPLIES,
            f"Complies with the run rules, with {but}" if but else "Complies with the run rules",
        )
    reasons = []
    if profile != "full":
        reasons.append(Reason(f"Rehearsal: {_size(submission)}."))
    if origin(pack):
        reasons.append(Reason(f"The rules are a {origin(pack).strip(' []')}."))
    if without:
        reasons.append(Reason(f"{without} of {len(rows)} results have no valid value."))
    for text, rules in (
        ("{rules} violated:", broken),
        ("{rules} violated and waived:", waived),
        ("Explanation required by {rules}:", asked),
    ):
        if rules:
            reasons.append(Reason(text.format(rules=units.several(len(rules), "rule")), rules))
    if unchecked:
        count = units.several(len(unchecked), "rule")
        reasons.append(Reason(f"{count} of {len(pack.checks)} not checked (does not count as passed):", unchecked))
    return Verdict(kind, headline, tuple(reasons))


def counted(rows: Sequence[Row]) -> str:
    """`36 cells: 33 measured, 3 declined`."""
    return units.counted("cell", [row.status for row in rows])


def _rules(pack: RulePack, findings: Iterable[Finding]) -> tuple[tuple[str, str, int], ...]:
    counts = Counter(finding.rule for finding in findings)
    ids = sorted(counts, key=list(CATALOGUE).index)
    return tuple((rule, pack.statement(rule), counts[rule]) for rule in ids)


def _size(submission: Submission) -> str:
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

"""Whether a submission complies with its run rules, in the words that come first in all forms of the report. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from campaign.config.rules.catalogue import CATALOGUE
from campaign.config.rules.pack import RulePack
from campaign.core import units
from campaign.core.grouping import grouped
from campaign.core.model import Finding, Severity, Status
from campaign.judge.submission import Submission
from campaign.report import causes
from campaign.report.table import origin
from campaign.results.cells import Row

TOLD = 2  # texts of one kind in a sentence
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


def sentence(rows: Sequence[Row], findings: Sequence[Finding], rehearsal: bool) -> str:
    """The problems in one line: of the campaign as a whole, and of the results by their status."""
    violated = violated_as_a_whole(rows, findings)
    told = causes.told(violated)
    texts = [(each.rule, f"{each.message}{f' ({each.actual})' if each.actual else ''}") for each in told]
    wrong = [f"{rule}: {text}" for rule, text in _each_rule(texts)]
    wrong += [_of_status(rows, status) for status in OPEN if any(row.status is status for row in rows)]
    if wrong:
        reasons = [*["this is a rehearsal"] * rehearsal, *wrong]
        return f"not compliant: {'; '.join(reasons)}"
    counts = {status: sum(row.status is status for row in rows) for status in (Status.PROJECTED, Status.DECLINED)}
    left = [f"{number} {status}" for status, number in counts.items() if number]
    measured = sum(row.status is Status.MEASURED for row in rows)
    present = f"all {len(rows)} results present"
    if left:
        present = f"{measured} of {len(rows)} results measured, {', '.join(left)}"
    return f"{present} - REHEARSAL: not a compliant submission" if rehearsal else present


def violated_as_a_whole(rows: Sequence[Row], findings: Sequence[Finding]) -> list[Finding]:
    """Violations that no row shows."""
    of_rows = {(finding.rule, finding.subject) for row in rows for finding in row.findings}
    return [finding for finding in findings if finding.violated and (finding.rule, finding.subject) not in of_rows]


def _of_status(rows: Sequence[Row], status: Status) -> str:
    alike = [row for row in rows if row.status is status]
    if status is Status.INVALID:
        told = causes.told([finding for row in alike for finding in row.findings if finding.blocks])
        texts = [(finding.rule, finding.message) for finding in told]
        why = "; ".join(f"{rule}: {text}" for rule, text in _each_rule(texts))
    else:
        why = "; ".join(_few([row.note for row in alike]))
    text = f"{len(alike)} of {len(rows)} results {status}"
    return f"{text} ({why})" if why else text


def _each_rule(causes: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Each rule once, with its statement."""
    return [(rule, ", ".join(_few(texts))) for rule, texts in grouped(causes).items()]


def _few(texts: Sequence[str]) -> list[str]:
    """The first of the different texts, and how many more there are."""
    different = causes.once(texts)
    return different if len(different) <= TOLD else [*different[:TOLD], f"and {len(different) - TOLD} more"]


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

"""The verdict on a bundle, in one sentence that claims no more than is known. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from enum import StrEnum
from typing import Any

from campaign.core.errors import INCOMPLETE, OK
from campaign.core.frozen import dataclass
from campaign.core.model import Finding, Severity
from campaign.core.units import listed, several
from campaign.evidence import messages
from campaign.evidence.chosen import Copy
from campaign.judge.submission import RECORDS, Submission
from campaign.report.contents import measured
from campaign.report.verdict import OPEN, Compliance, Reason, Verdict, verdict
from campaign.results.case import Case

NOT_FULLY_CHECKED = 4
ONLY_A_REHEARSAL = 5


class VerifyOutcome(StrEnum):
    COMPLIANT = "compliant"  # and fully checked
    OPEN = "not fully checked"  # nothing is known to be wrong
    REHEARSAL = "rehearsal"  # nothing is known to be wrong, and it never complies
    NOT_VALID = "NOT VALID"


EXIT_STATUS = {
    VerifyOutcome.COMPLIANT: OK,
    VerifyOutcome.NOT_VALID: INCOMPLETE,
    VerifyOutcome.OPEN: NOT_FULLY_CHECKED,
    VerifyOutcome.REHEARSAL: ONLY_A_REHEARSAL,
}


_KINDS = {
    VerifyOutcome.COMPLIANT: Compliance.COMPLIES,
    VerifyOutcome.NOT_VALID: Compliance.BROKEN,
    VerifyOutcome.OPEN: Compliance.UNCHECKED,
    VerifyOutcome.REHEARSAL: Compliance.REHEARSAL,
}


class Seal(StrEnum):
    """What is known of who closed the bundle, and whether it was changed since."""

    TRUSTED = "trusted key"
    UNKNOWN = "unknown key"
    NONE = "not signed"
    BROKEN = "altered"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`reasons` says all that is below the outcome. `asks` and `unchecked` count findings over bundle and campaign."""

    outcome: VerifyOutcome
    seal: Seal
    consistent: bool
    rules: str
    rules_sha256: str
    rules_copy: Copy
    compliance: str  # as in verdict.json; "" where it could not be re-evaluated
    results: dict[str, int]  # how many, by status
    asks: int
    answered: int
    unchecked: int
    measured_from: str
    measured_to: str
    file_systems: dict[str, str]  # by target
    sampled: int
    reasons: str

    @property
    def verdict(self) -> Verdict:
        """As the report shows it."""
        return Verdict(_KINDS[self.outcome], messages.VERDICT(outcome=self.outcome), (Reason(self.reasons),))

    @property
    def sentence(self) -> str:
        return f"{self.verdict.headline}. {self.reasons}"

    @property
    def exit_status(self) -> int:
        return EXIT_STATUS[self.outcome]

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "sentence": self.sentence, "exit_status": self.exit_status}


@dataclass(frozen=True, slots=True)
class Found:
    """What a verification found; `submission` is None where the campaign cannot be re-evaluated."""

    findings: tuple[Finding, ...]  # over the bundle
    submission: Submission | None
    signature: str  # whose it is, or by what key; "" where there is none
    trusted: bool
    copy: Copy
    headed: bool = False  # the buyer gave a head of the journal, or a time stamp
    source: bool = False  # that of the benchmark is in the bundle


def conclude(found: Found) -> Conclusion:
    whole = found.submission
    findings = (*found.findings, *(whole.all_findings if whole else ()))
    wrong = {finding.rule for finding in found.findings if finding.severity is Severity.ERROR and finding.checked}
    seal = _seal(found, wrong)
    judged = verdict(whole).kind if whole else None
    broken = whole is None or any(finding.violated for finding in findings)
    broken = broken or not whole or not whole.rows or any(row.status in OPEN for row in whole.rows)
    asked = list({(finding.rule, finding.message): finding for finding in findings if finding.asks}.values())
    unchecked = [finding for finding in findings if not finding.checked]
    if broken:
        outcome = VerifyOutcome.NOT_VALID
    elif judged is Compliance.REHEARSAL:
        outcome = VerifyOutcome.REHEARSAL
    elif unchecked or any(not finding.explained for finding in asked):
        outcome = VerifyOutcome.OPEN
    else:
        outcome = VerifyOutcome.COMPLIANT
    contradictions = sorted(wrong & {"EVD-02", "EVD-04", "EVD-06"} | _contradicted(whole))
    times = measured(whole.attempts) if whole else None
    systems = file_systems(whole.results) if whole else {}
    said = Conclusion(
        outcome=outcome,
        seal=seal,
        consistent=whole is not None and not contradictions,
        rules=f"{whole.pack.id} {whole.pack.version}" if whole else "",
        rules_sha256=whole.pack.digest if whole else "",
        rules_copy=found.copy,
        compliance=judged or "",
        results=dict(Counter(str(row.status) for row in whole.rows)) if whole else {},
        asks=len(asked),
        answered=sum(bool(finding.explained) for finding in asked),
        unchecked=len({finding.rule for finding in unchecked}),
        measured_from=f"{times[0]:%Y-%m-%d %H:%M}" if times else "",
        measured_to=f"{times[1]:%Y-%m-%d %H:%M} UTC" if times else "",
        file_systems=systems,
        sampled=0,
        reasons="",
    )
    parts = [_sealed(said, found), _consistency(said, contradictions), *_judged(said, whole, found), *_limits(found)]
    return replace(said, reasons=messages.VERDICT_REASONS(parts="; ".join(parts)))


def _limits(found: Found) -> Iterator[str]:
    """What no record can show."""
    whole = found.submission
    if whole is not None and not found.headed:
        yield messages.VERDICT_NO_HEAD()
    if whole is not None and found.source:
        yield messages.VERDICT_NOT_REBUILT()
    yield messages.VERDICT_LIMITS()


def _contradicted(whole: Submission | None) -> set[str]:
    findings = whole.all_findings if whole else ()
    return {finding.rule for finding in findings if finding.rule in RECORDS and finding.violated}


def _seal(found: Found, wrong: set[str]) -> Seal:
    if "EVD-01" in wrong or (found.signature and "EVD-03" in wrong):
        return Seal.BROKEN
    if not found.signature:
        return Seal.NONE
    return Seal.TRUSTED if found.trusted else Seal.UNKNOWN


def _sealed(said: Conclusion, found: Found) -> str:
    if said.seal is Seal.TRUSTED:
        return messages.VERDICT_SIGNED(signer=found.signature)
    if said.seal is Seal.UNKNOWN:
        return messages.VERDICT_UNKNOWN_KEY(key=found.signature)
    return messages.VERDICT_NOT_SIGNED() if said.seal is Seal.NONE else messages.VERDICT_ALTERED()


def _consistency(said: Conclusion, contradictions: list[str]) -> str:
    texts = {"EVD-02": messages.VERDICT_JOURNAL, "EVD-04": messages.VERDICT_NOT_DERIVED}
    wrong = [texts[rule]() for rule in contradictions if rule in texts]
    if others := [rule for rule in contradictions if rule not in texts]:
        wrong.insert(0, messages.VERDICT_CONTRADICTS(rules=listed(others)))
    if wrong:
        return "; ".join(wrong)
    return messages.VERDICT_CONSISTENT() if said.consistent else messages.NOT_REPLAYED()


def _judged(said: Conclusion, whole: Submission | None, found: Found) -> Iterator[str]:
    if whole is None:
        return
    rules = {"rules": said.rules, "sha256": said.rules_sha256[:12]}
    yield {
        Copy.GIVEN: messages.VERDICT_RULES_GIVEN,
        Copy.INSTALLED: messages.VERDICT_RULES_OWN,
        Copy.BUNDLE: messages.VERDICT_RULES_VENDORS,
    }[said.rules_copy](**rules)
    if others := sum(finding.rule == "EVD-05" and finding.violated for finding in found.findings):
        yield messages.VERDICT_PACK_DIFFERS(points=several(others, "point"))
    yield _compliance(said, whole)
    counts = ", ".join(f"{number} {status}" for status, number in said.results.items())
    yield messages.VERDICT_RESULTS(all=several(len(whole.rows), "result"), counts=counts or "none")
    yield messages.VERDICT_ASKS(
        asked=several(said.asks, "finding"), answered=said.answered, unchecked=several(said.unchecked, "rule")
    )
    if said.measured_from:
        yield messages.VERDICT_MEASURED(start=said.measured_from, end=said.measured_to)
    where = ", ".join(f"{kind} ({target})" for target, kind in said.file_systems.items())
    yield messages.VERDICT_MOUNTS(where=where) if where else messages.VERDICT_NO_MOUNTS()


def _compliance(said: Conclusion, whole: Submission) -> str:
    violated = sorted({finding.rule for finding in whole.all_findings if finding.violated})
    absent = sum(row.status in OPEN for row in whole.rows)
    if violated or absent or not whole.rows:
        without = messages.VERDICT_WITHOUT(number=absent, all=len(whole.rows)) if absent or not whole.rows else ""
        why = ", ".join(filter(None, (listed(violated), without)))
        return messages.VERDICT_BROKEN(why=why)
    waived = {finding.rule for finding in whole.all_findings if finding.severity is Severity.ERROR and finding.waived}
    if waived and said.compliance != Compliance.REHEARSAL:
        return messages.VERDICT_WAIVED(rules=listed(sorted(waived)))
    return {
        Compliance.REHEARSAL: messages.VERDICT_REHEARSAL,
        Compliance.UNCHECKED: messages.VERDICT_UNCHECKED,
    }.get(Compliance(said.compliance), messages.VERDICT_COMPLIES)()


def file_systems(results: tuple[Case, ...]) -> dict[str, str]:
    """The types of the file systems of each target, by the mount tables of the nodes that measured it."""
    types: dict[str, dict[str, None]] = {}
    for case in results:
        for kind in case.evidence.environment.values("mount.type"):
            types.setdefault(case.run.target, {})[kind] = None
    return {target: " and ".join(kinds) for target, kinds in types.items()}

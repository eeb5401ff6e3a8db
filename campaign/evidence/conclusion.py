"""The verdict on a bundle, in one sentence that claims no more than is known. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from campaign.core.errors import INCOMPLETE, OK
from campaign.core.model import Finding, Severity
from campaign.core.units import listed, several
from campaign.evidence.replay import Copy
from campaign.judge.submission import RECORDS, Submission
from campaign.judge.system import mounted
from campaign.report.contents import measured
from campaign.report.verdict import OPEN, Compliance, Reason, Verdict, verdict

NOT_FULLY_CHECKED = 4
ONLY_A_REHEARSAL = 5


class VerifyOutcome(StrEnum):
    COMPLIANT = "compliant"  # and fully checked
    OPEN = "not fully checked"  # no known violation
    REHEARSAL = "rehearsal"  # no known violation, but a rehearsal never complies
    NOT_VALID = "NOT VALID"


# Of each outcome: the kind of the verdict that the report shows, and the exit status.
_MEANING = {
    VerifyOutcome.COMPLIANT: (Compliance.COMPLIES, OK),
    VerifyOutcome.NOT_VALID: (Compliance.BROKEN, INCOMPLETE),
    VerifyOutcome.OPEN: (Compliance.UNCHECKED, NOT_FULLY_CHECKED),
    VerifyOutcome.REHEARSAL: (Compliance.REHEARSAL, ONLY_A_REHEARSAL),
}


class Seal(StrEnum):
    """What is known about who closed the bundle, and whether it was changed since."""

    TRUSTED = "trusted key"
    UNKNOWN = "unknown key"
    NONE = "not signed"
    BROKEN = "altered"


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`reasons` are why the outcome is not a better one. `asks` and `unchecked` count findings about bundle and
    campaign.
    """

    outcome: VerifyOutcome
    seal: Seal
    consistent: bool
    rules: str
    rules_sha256: str
    rules_copy: Copy
    compliance: str  # as in verdict.json; "" if it could not be re-evaluated
    results: dict[str, int]  # number by status
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
        """The verdict as the report shows it."""
        return Verdict(_MEANING[self.outcome][0], f"VERDICT: {self.outcome}", (Reason(self.reasons),))

    @property
    def sentence(self) -> str:
        return f"{self.verdict.headline}. {self.reasons}"

    @property
    def exit_status(self) -> int:
        return _MEANING[self.outcome][1]

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "sentence": self.sentence, "exit_status": self.exit_status}


def conclude(
    of_bundle: Sequence[Finding],
    whole: Submission | None,
    signature: str,
    trusted: bool,
    copy: Copy,
    headed: bool = False,
    source: bool = False,
) -> Conclusion:
    """`of_bundle`: the findings about it; `whole`: None if the campaign cannot be re-evaluated; `signature`: whose it
    is, or the key, "" if there is none; `headed`: the buyer gave a journal head, or a time stamp; `source`: the
    benchmark's source is in the bundle.
    """
    of_campaign = whole.all_findings if whole else ()
    findings = (*of_bundle, *of_campaign)
    wrong = {finding.rule for finding in of_bundle if finding.severity is Severity.ERROR and finding.checked}
    seal = _seal(signature, trusted, wrong)
    judged = verdict(whole).kind if whole else None
    absent = not whole or not whole.rows or any(row.status in OPEN for row in whole.rows)
    asked = list({(finding.rule, finding.message): finding for finding in findings if finding.asks}.values())
    unchecked = [finding for finding in findings if not finding.checked]
    if absent or any(finding.violated for finding in findings):
        outcome = VerifyOutcome.NOT_VALID
    elif judged is Compliance.REHEARSAL:
        outcome = VerifyOutcome.REHEARSAL
    elif unchecked or any(not finding.explained for finding in asked):
        outcome = VerifyOutcome.OPEN
    else:
        outcome = VerifyOutcome.COMPLIANT
    contradicted = {finding.rule for finding in of_campaign if finding.rule in RECORDS and finding.violated}
    contradictions = sorted(wrong & {"EVD-02", "EVD-04", "EVD-06"} | contradicted)
    times = measured(whole.attempts) if whole else None
    systems = mounted(whole.results) if whole else {}
    said = Conclusion(
        outcome=outcome,
        seal=seal,
        consistent=whole is not None and not contradictions,
        rules=f"{whole.pack.id} {whole.pack.version}" if whole else "",
        rules_sha256=whole.pack.digest if whole else "",
        rules_copy=copy,
        compliance=judged or "",
        results=dict(Counter(str(row.status) for row in whole.rows)) if whole else {},
        asks=len(asked),
        answered=sum(bool(finding.explained) for finding in asked),
        unchecked=len({finding.rule for finding in unchecked}),
        measured_from=f"{times[0]:%Y-%m-%d %H:%M}" if times else "",
        measured_to=f"{times[1]:%Y-%m-%d %H:%M} UTC" if times else "",
        file_systems={target: " and ".join(kinds) for target, kinds in systems.items() if kinds},
        sampled=0,
        reasons="",
    )
    sealed = {
        Seal.TRUSTED: f"unaltered since {signature} signed it",
        Seal.UNKNOWN: f"unaltered since it was signed, by a key that you did not list ({signature})",
        Seal.NONE: "not signed, so that anybody may have altered it",
        Seal.BROKEN: "altered, or signed by somebody else",
    }
    judgement = _judged(said, whole, of_bundle, headed, source) if whole else ()
    parts = [
        sealed[seal],
        _consistency(said, contradictions),
        *judgement,
        "logs can be invented as a whole, or be the best of several campaigns: nothing was measured again, so that "
        "every number is unverified until a sample is (campaign sample)",
    ]
    return replace(said, reasons=f"The bundle is {'; '.join(parts)}.")


def _seal(signature: str, trusted: bool, wrong: set[str]) -> Seal:
    if "EVD-01" in wrong or (signature and "EVD-03" in wrong):
        return Seal.BROKEN
    if not signature:
        return Seal.NONE
    return Seal.TRUSTED if trusted else Seal.UNKNOWN


def _consistency(said: Conclusion, contradictions: list[str]) -> str:
    texts = {
        "EVD-02": "its journal was changed, or is not what you were told of it (EVD-02)",
        "EVD-04": "its tables, findings or verdict do not follow from its logs (EVD-04)",
    }
    others = [rule for rule in contradictions if rule not in texts]
    wrong = [f"its records contradict each other ({listed(others)})"] if others else []
    wrong += [texts[rule] for rule in contradictions if rule in texts]
    consistent = "no record behind its numbers contradicts another, and its tables follow from its logs"
    return "; ".join(wrong) or (consistent if said.consistent else "not re-evaluated")


def _judged(
    said: Conclusion, whole: Submission, of_bundle: Sequence[Finding], headed: bool, source: bool
) -> Iterator[str]:
    whose = {
        Copy.GIVEN: "the rules that you named,",
        Copy.INSTALLED: "your own copy of",
        Copy.BUNDLE: "the vendor's copy of",
    }[said.rules_copy]
    yield f"judged by {whose} {said.rules} (SHA-256 {said.rules_sha256[:12]}…)"
    if others := sum(finding.rule == "EVD-05" and finding.violated for finding in of_bundle):
        yield f"the vendor's copy of the rules differs from them in {several(others, 'point')} (EVD-05)"
    yield _compliance(said, whole)
    counts = ", ".join(f"{number} {status}" for status, number in said.results.items())
    yield f"of {several(len(whole.rows), 'result')}: {counts or 'none'}"
    yield (
        f"explanation required for {several(said.asks, 'finding')} (given for {said.answered}), and "
        f"{several(said.unchecked, 'rule')} could not be checked"
    )
    if said.measured_from:
        yield f"measured from {said.measured_from} to {said.measured_to} by the vendor's clocks"
    where = ", ".join(f"{kind} ({target})" for target, kind in said.file_systems.items())
    yield (
        f"on {where} by the nodes' own mount tables"
        if where
        else "on an unknown file system, since no mount table was recorded"
    )
    if not headed:
        yield (
            "attempts may have been left out, since you gave no journal head that was sent while it ran (--head, "
            "--timestamp)"
        )
    if source:
        yield "its benchmark was not built again from the source in the bundle (campaign rebuild)"


def _compliance(said: Conclusion, whole: Submission) -> str:
    violated = sorted({finding.rule for finding in whole.all_findings if finding.violated})
    absent = sum(row.status in OPEN for row in whole.rows)
    if violated or absent or not whole.rows:
        without = f"{absent} of {len(whole.rows)} results without a valid value" if absent or not whole.rows else ""
        why = ", ".join(filter(None, (listed(violated), without)))
        return f"it does not comply with them ({why})"
    waived = {finding.rule for finding in whole.all_findings if finding.severity is Severity.ERROR and finding.waived}
    if waived and said.compliance != Compliance.REHEARSAL:
        return f"no violation of them was found but those that you waived ({listed(sorted(waived))})"
    return {
        Compliance.REHEARSAL: "it is a rehearsal, which never complies with them",
        Compliance.UNCHECKED: "no violation of them was found, but not all were checked",
    }.get(Compliance(said.compliance), "it complies with them")

"""The verdict on a bundle: what its evidence shows, whether the rules are kept, and what waits for the buyer. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from campaign.core.errors import INCOMPLETE, OK
from campaign.core.grouping import grouped
from campaign.core.model import Finding, Move
from campaign.core.units import listing
from campaign.evidence import terms as buyers
from campaign.evidence.replay import Copy
from campaign.judge.submission import RECORDS, Submission
from campaign.judge.system_description import mounted_types
from campaign.report import decision
from campaign.report.contents import measured_period
from campaign.report.decision import (
    OPEN,
    VENDOR,
    YOU,
    Compliance,
    DecisionBlock,
    Question,
    SortedFindings,
    Step,
    compliance_verdict,
)
from campaign.results.cells import Row

NOT_FULLY_CHECKED = 4
ONLY_A_REHEARSAL = 5
OF_RULES = frozenset({"EVD-05", "ENV-04", "WVR-01", "RUN-08"})  # findings about a bundle that are about the rules


class VerifyOutcome(StrEnum):  # the worst first
    NOT_VALID = "NOT VALID"
    REHEARSAL = "rehearsal"  # no known violation, but a rehearsal never complies
    OPEN = "not fully checked"  # no known violation
    COMPLIANT = "compliant"  # consistent, kept, nothing open, and everything accepted by the buyer's terms


# Of each outcome: the headline and the kind of the decision, and the exit status.
MEANING = {
    VerifyOutcome.COMPLIANT: ("ACCEPTABLE", Compliance.COMPLIES, OK),
    VerifyOutcome.NOT_VALID: ("NOT YET ACCEPTABLE", Compliance.BROKEN, INCOMPLETE),
    VerifyOutcome.OPEN: ("NOT YET ACCEPTABLE", Compliance.UNCHECKED, NOT_FULLY_CHECKED),
    VerifyOutcome.REHEARSAL: ("REHEARSAL", Compliance.REHEARSAL, ONLY_A_REHEARSAL),
}


class EvidenceAnswer(StrEnum):
    CONSISTENT = "consistent"
    CONTRADICTED = "CONTRADICTED"
    UNPROVEN = "unproven"  # not signed by a key of the buyer's list, or not bound to a time


class Seal(StrEnum):
    """What is known about who closed the bundle, and whether it was changed since."""

    TRUSTED = "trusted key"
    UNKNOWN = "unknown key"
    NONE = "not signed"
    BROKEN = "altered"


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a bundle beside its findings."""

    name: str
    signature: str  # whose it is, or the key; "" if there is none
    trusted: bool
    copy: Copy
    terms: bool  # the buyer's terms were given
    proofs: tuple[str, ...] = ()  # of `terms.PROOFS`
    source: bool = False  # the benchmark's source is in it


class SortedBundle:
    """The findings about a bundle and its campaign, by what they say about it."""

    def __init__(self, of_bundle: Sequence[Finding], of_campaign: Sequence[Finding]) -> None:
        about_evidence = [finding for finding in of_bundle if finding.rule not in OF_RULES]
        records = [finding for finding in of_campaign if finding.rule in RECORDS]
        self.contradicted = [finding for finding in (*about_evidence, *records) if finding.violated]
        self.unproven = [finding for finding in about_evidence if finding.open]
        told = {id(finding) for finding in (*self.contradicted, *self.unproven)}
        self.left = SortedFindings(each for each in (*of_bundle, *of_campaign) if id(each) not in told)


@dataclass(frozen=True, slots=True)
class Conclusion:
    """`asks` and `unchecked` count findings about bundle and campaign."""

    outcome: VerifyOutcome
    seal: Seal
    consistent: bool
    evidence: EvidenceAnswer
    kept: str  # kept, VIOLATED or open
    undecided: tuple[Finding, ...]  # what the buyer has not accepted yet
    unprovable: tuple[str, ...]  # rules of which the outputs of these programs show nothing
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
    decision: DecisionBlock

    @property
    def exit_status(self) -> int:
        return MEANING[self.outcome][2]

    def as_json(self) -> dict[str, Any]:
        undecided = [finding.as_json() | {"text": finding.acceptance_text} for finding in self.undecided]
        sentence = self.decision.sentence
        others = {"undecided": undecided, "sampled": 0, "reasons": sentence, "sentence": sentence}
        return asdict(replace(self, undecided=())) | others | {"exit_status": self.exit_status}


def conclude(known: Known, of_bundle: Sequence[Finding], whole: Submission | None) -> Conclusion:
    """`of_bundle`: the findings about it; `whole`: None if the campaign cannot be re-evaluated."""
    of_campaign = whole.all_findings if whole else ()
    found = SortedBundle(of_bundle, of_campaign)
    rows = whole.rows if whole else ()
    absent = sum(row.status in OPEN for row in rows) if rows else 1
    judged = compliance_verdict(whole).kind if whole else None
    if found.contradicted or found.left.violated or absent:
        outcome = VerifyOutcome.NOT_VALID
    elif judged is Compliance.REHEARSAL:
        outcome = VerifyOutcome.REHEARSAL
    elif found.unproven or found.left.open or found.left.undecided or not known.terms:
        outcome = VerifyOutcome.OPEN
    else:
        outcome = VerifyOutcome.COMPLIANT
    findings = (*of_bundle, *of_campaign)
    asked = {(finding.rule, finding.message): finding for finding in findings if finding.asks}.values()
    times = measured_period(whole.attempts) if whole else None
    systems = mounted_types(whole.results) if whole else {}
    said = Conclusion(
        outcome=outcome,
        seal=_seal(known, {finding.rule for finding in of_bundle if finding.violated}),
        consistent=whole is not None and all(each.rule in ("EVD-01", "EVD-03") for each in found.contradicted),
        evidence=_evidence(found, whole is not None),
        kept=found.left.state,
        undecided=tuple(found.left.undecided),
        unprovable=found.left.unprovable,
        rules=f"{whole.pack.id} {whole.pack.version}" if whole else "",
        rules_sha256=whole.pack.digest if whole else "",
        rules_copy=known.copy,
        compliance=judged or "",
        results=dict(Counter(str(row.status) for row in rows)),
        asks=len(asked),
        answered=sum(bool(finding.explained) for finding in asked),
        unchecked=len({finding.rule for finding in findings if not finding.checked}),
        measured_from=f"{times[0]:%Y-%m-%d %H:%M}" if times else "",
        measured_to=f"{times[1]:%Y-%m-%d %H:%M} UTC" if times else "",
        file_systems={target: " and ".join(kinds) for target, kinds in systems.items() if kinds},
        decision=DecisionBlock("", (), (), "", ""),
    )
    return replace(said, decision=_decision(said, known, found, rows))


def _evidence(found: SortedBundle, evaluated: bool) -> EvidenceAnswer:
    if found.contradicted or not evaluated:
        return EvidenceAnswer.CONTRADICTED
    return EvidenceAnswer.UNPROVEN if found.unproven else EvidenceAnswer.CONSISTENT


def _seal(known: Known, wrong: set[str]) -> Seal:
    if "EVD-01" in wrong or (known.signature and "EVD-03" in wrong):
        return Seal.BROKEN
    if not known.signature:
        return Seal.NONE
    return Seal.TRUSTED if known.trusted else Seal.UNKNOWN


# --- in words


def _decision(said: Conclusion, known: Known, found: SortedBundle, rows: Sequence[Row]) -> DecisionBlock:
    signed = {
        Seal.TRUSTED: f"{known.signature} (signature ok)",
        Seal.UNKNOWN: "signed by an unknown key",
        Seal.NONE: "not signed",
        Seal.BROKEN: "altered, or signed by somebody else",
    }
    whose = {Copy.GIVEN: "the copy that you named", Copy.INSTALLED: "your copy", Copy.BUNDLE: "the vendor's copy"}
    rules = f"{said.rules} ({whose[said.rules_copy]})" if said.rules else "not re-evaluated"
    return block(
        said.outcome,
        said.evidence is EvidenceAnswer.CONTRADICTED,
        (known.name, signed[said.seal], rules),
        _questions(said, known, found, rows),
        follows("" if said.consistent else "its records do not agree", known.trusted, said.outcome),
        known.proofs,
        _steps(said, known, found, buyers.SAMPLE in known.proofs),
    )


def block(
    outcome: VerifyOutcome,
    is_contradicted: bool,
    about: tuple[str, ...],
    questions: Iterable[Question],
    may: str,
    proofs: Collection[str],
    steps: Iterable[Step],
) -> DecisionBlock:
    """The buyer's decision on a bundle. `proofs`: of `terms.PROOFS`, what limits `may`."""
    headline, kind, _ = MEANING[outcome]
    unproven = [] if buyers.SAMPLE in proofs else ["that the system reaches them"]
    if not {buyers.HEAD, buyers.TIMESTAMP} & {*proofs}:
        unproven.append("that no attempt was left out")
    may_not = f"{', or '.join(unproven)}." if unproven else "that the system will be installed as it was measured."
    headline = "NOT VALID" if is_contradicted else headline
    return DecisionBlock(headline, about, tuple(questions), may, may_not, tuple(steps), kind)


def follows(problem: str, is_trusted: bool, outcome: VerifyOutcome) -> str:
    """What may be concluded from the numbers of a bundle; `problem`: why nothing may be."""
    if problem:
        return f"nothing: {problem}."
    text = "the numbers are those of the logs"
    if not is_trusted:
        text += ", which anybody may have changed"
    return f"{text}, and they were obtained by your terms." if outcome is VerifyOutcome.COMPLIANT else f"{text}."


def _questions(said: Conclusion, known: Known, found: SortedBundle, rows: Sequence[Row]) -> Iterator[Question]:
    yield Question("evidence", said.evidence, _why_evidence(said, found))
    where = listing((f"{kind} ({target})" for target, kind in said.file_systems.items()), 2) or "unknown file systems"
    days = dict.fromkeys((said.measured_from[:10], said.measured_to[:10]))
    yield decision.completeness(rows, f", measured {' to '.join(days)} on {where}" if said.measured_from else "")
    yield decision.rules_question(found.left, "you", f"SHA-256 {said.rules_sha256[:12]}…")
    yield decision.decisions_question(found.left, "all accepted by name" if known.terms else "nothing waits")
    lacking = []
    if buyers.SAMPLE not in known.proofs:
        lacking.append("nothing measured again")
    if known.source and buyers.REBUILD not in known.proofs:
        lacking.append("not built again")
    if not {buyers.HEAD, buyers.TIMESTAMP} & {*known.proofs}:
        lacking.append("no head or time stamp")
    yield Question("proof", listing(known.proofs) or "none", listing(lacking) or "all that can be given")


def _why_evidence(said: Conclusion, found: SortedBundle) -> str:
    if found.contradicted:
        return decision.first_finding(found.contradicted)
    if not said.rules:
        return "it cannot be re-evaluated"
    if found.unproven:
        return decision.first_finding(found.unproven)
    return "unchanged since signing; tables follow from the logs"


def _steps(said: Conclusion, known: Known, found: SortedBundle, sampled: bool) -> Iterator[Step]:
    unproven = grouped((one.move, one) for one in found.unproven)
    if found.contradicted:  # what does not agree cannot be repaired by repeating a run
        what = decision.first_finding(found.contradicted)
        yield Step(YOU, f"reject the bundle, or ask the vendor for the original records: {what}")
    yield from decision.vendor_steps(
        [*found.left.violated, *unproven.get(Move.VENDOR, ()), *found.left.by_move(Move.VENDOR)]
    )
    if of_buyer := [*unproven.get(Move.BUYER, ()), *found.left.by_move(Move.BUYER)]:
        yield Step(YOU, decision.first_finding(of_buyer))
    if said.undecided and known.terms:
        yield Step(YOU, "add what you accept to your terms, from the entries below")
    elif not known.terms:
        rules = said.rules.partition(" ")[0] or "ID"
        yield Step(YOU, f"campaign terms init terms.yaml --rules {rules}, then verify with --terms")
    if said.outcome is VerifyOutcome.REHEARSAL:
        yield Step(VENDOR, "measure at full size")
    elif said.outcome is VerifyOutcome.COMPLIANT and sampled:
        yield Step(YOU, "nothing is left to check; keep the bundle beside your terms")
    elif not sampled and said.evidence is not EvidenceAnswer.CONTRADICTED:
        yield Step(YOU, f"campaign sample {known.name} --seed SEED -o sample.yaml")

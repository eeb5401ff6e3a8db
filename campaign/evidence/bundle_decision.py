"""The verdict on a bundle: what its evidence shows, whether the rules are kept, and what waits for the buyer. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from campaign.core.errors import INCOMPLETE, OK, typed_path
from campaign.core.findings import Finding, Move
from campaign.core.grouping import grouped
from campaign.core.units import listing
from campaign.evidence import terms as buyers
from campaign.evidence.journal_checks import NOTHING_COVERED, Coverage
from campaign.evidence.replay import RulesCopy
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
    Mark,
    OpenDecision,
    Question,
    SortedFindings,
    Step,
    compliance_verdict,
    listed_findings,
    open_decisions,
)
from campaign.results.cells import Row

NOT_FULLY_CHECKED = 4
ONLY_A_REHEARSAL = 5
RULES_ABOUT_RULES = frozenset(
    {"EVD-05", "ENV-04", "WVR-01", "RUN-08"}
)  # findings about a bundle that are about the rules


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
class BundleFacts:
    """What is known of a bundle besides its findings."""

    name: str
    signature: str  # whose it is, or the key; "" if there is none
    trusted: bool
    copy: RulesCopy
    terms: Path | None  # the buyer's
    proofs: tuple[str, ...] = ()  # of `terms.PROOFS`
    source: bool = False  # the benchmark's source is in it
    part: str = ""  # of an RFP
    coverage: Coverage = NOTHING_COVERED
    source_unproven: bool = False  # another program than the built-in one, of which no published source is named
    path: Path | None = None  # of the bundle, for commands

    @property
    def typed(self) -> str:
        return typed_path(self.path or self.name, self.part)

    @property
    def title(self) -> str:
        return f"{self.name}, part {self.part}" if self.part else self.name


class FindingGroups:
    """The findings about a bundle and its campaign, by what they say about it."""

    def __init__(self, of_bundle: Sequence[Finding], of_campaign: Sequence[Finding]) -> None:
        about_evidence = [finding for finding in of_bundle if finding.rule not in RULES_ABOUT_RULES]
        record_findings = [finding for finding in of_campaign if finding.rule in RECORDS]
        self.contradicted = [finding for finding in (*about_evidence, *record_findings) if finding.violated]
        self.unproven = [finding for finding in about_evidence if finding.open]
        grouped_ids = {id(finding) for finding in (*self.contradicted, *self.unproven)}
        self.about_rules = SortedFindings(
            finding for finding in (*of_bundle, *of_campaign) if id(finding) not in grouped_ids
        )


@dataclass(frozen=True, slots=True)
class BundleDecision:
    """`asks` and `unchecked` count findings about bundle and campaign."""

    outcome: VerifyOutcome
    seal: Seal
    consistent: bool
    evidence: EvidenceAnswer
    kept: str  # kept, VIOLATED or open
    decisions: tuple[OpenDecision, ...]  # what the buyer has not accepted yet
    unprovable: tuple[str, ...]  # rules of which the outputs of these programs show nothing
    rules: str
    rules_sha256: str
    rules_copy: RulesCopy
    compliance: str  # as in verdict.json; "" if it could not be re-evaluated
    results: dict[str, int]  # number by status
    asks: int
    answered: int
    unchecked: int
    measured_from: str
    measured_to: str
    file_systems: dict[str, str]  # by target
    block: DecisionBlock

    @property
    def exit_status(self) -> int:
        return MEANING[self.outcome][2]

    def as_json(self) -> dict[str, Any]:
        undecided = [
            finding.as_json() | {"text": decision.text} for decision in self.decisions for finding in decision.findings
        ]
        fields, sentence = asdict(replace(self, decisions=())), self.block.sentence
        fields["decision"], fields["decisions"] = fields.pop("block"), [item.as_json() for item in self.decisions]
        summary = {"undecided": undecided, "sampled": 0, "reasons": sentence, "sentence": sentence}
        return fields | summary | {"exit_status": self.exit_status}


def decide_on_bundle(facts: BundleFacts, of_bundle: Sequence[Finding], submission: Submission | None) -> BundleDecision:
    """The buyer's decision. `of_bundle`: findings about the bundle; `submission`: the re-evaluated one, or None."""
    of_campaign = submission.all_findings if submission else ()
    groups = FindingGroups(of_bundle, of_campaign)
    rows = submission.rows if submission else ()
    missing_results = sum(row.status in OPEN for row in rows) if rows else 1
    compliance = compliance_verdict(submission).kind if submission else None
    if groups.contradicted or groups.about_rules.violated or missing_results:
        outcome = VerifyOutcome.NOT_VALID
    elif compliance is Compliance.REHEARSAL:
        outcome = VerifyOutcome.REHEARSAL
    elif groups.unproven or groups.about_rules.open or groups.about_rules.undecided or not facts.terms:
        outcome = VerifyOutcome.OPEN
    else:
        outcome = VerifyOutcome.COMPLIANT
    findings = (*of_bundle, *of_campaign)
    to_explain = {(finding.rule, finding.message): finding for finding in findings if finding.asks}.values()
    period = measured_period(submission.attempts) if submission else None
    mounts = mounted_types(submission.results) if submission else {}
    decided = BundleDecision(
        outcome=outcome,
        seal=_seal_of(facts, {finding.rule for finding in of_bundle if finding.violated}),
        consistent=submission is not None and {finding.rule for finding in groups.contradicted} <= {"EVD-01", "EVD-03"},
        evidence=_evidence_answer(groups, submission is not None),
        kept=groups.about_rules.state,
        decisions=(
            *open_decisions(groups.about_rules.undecided, [row.cell for row in rows], facts.part),
            # No campaign file explains what is asked about the bundle itself.
            *open_decisions((finding for finding in of_bundle if finding.unanswered), (), facts.part),
        ),
        unprovable=groups.about_rules.unprovable,
        rules=f"{submission.pack.id} {submission.pack.version}" if submission else "",
        rules_sha256=submission.pack.digest if submission else "",
        rules_copy=facts.copy,
        compliance=compliance or "",
        results=dict(Counter(str(row.status) for row in rows)),
        asks=len(to_explain),
        answered=sum(bool(finding.explained) for finding in to_explain),
        unchecked=len({finding.rule for finding in findings if not finding.checked}),
        measured_from=f"{period[0]:%Y-%m-%d %H:%M}" if period else "",
        measured_to=f"{period[1]:%Y-%m-%d %H:%M} UTC" if period else "",
        file_systems={target: " and ".join(kinds) for target, kinds in mounts.items() if kinds},
        block=DecisionBlock("", (), (), "", ""),
    )
    return replace(decided, block=_block(decided, facts, groups, rows))


def _evidence_answer(groups: FindingGroups, evaluated: bool) -> EvidenceAnswer:
    if groups.contradicted or not evaluated:
        return EvidenceAnswer.CONTRADICTED
    return EvidenceAnswer.UNPROVEN if groups.unproven else EvidenceAnswer.CONSISTENT


def _seal_of(facts: BundleFacts, violated_rules: set[str]) -> Seal:
    if "EVD-01" in violated_rules or (facts.signature and "EVD-03" in violated_rules):
        return Seal.BROKEN
    if not facts.signature:
        return Seal.NONE
    return Seal.TRUSTED if facts.trusted else Seal.UNKNOWN


# --- in words


def _block(decided: BundleDecision, facts: BundleFacts, groups: FindingGroups, rows: Sequence[Row]) -> DecisionBlock:
    seal_texts = {
        Seal.TRUSTED: f"{facts.signature} (signature ok)",
        Seal.UNKNOWN: "unknown key",
        Seal.NONE: "not signed",
        Seal.BROKEN: "altered, or signed by somebody else",
    }
    copy_texts = {
        RulesCopy.GIVEN: "the copy that you named",
        RulesCopy.INSTALLED: "your copy",
        RulesCopy.BUNDLE: "the vendor's copy",
    }
    rules = f"{decided.rules} ({copy_texts[decided.rules_copy]})" if decided.rules else "not re-evaluated"
    return decision_block(
        decided.outcome,
        decided.evidence is EvidenceAnswer.CONTRADICTED,
        (facts.title, seal_texts[decided.seal], rules),
        _questions(decided, facts, groups, rows),
        permitted_conclusion("" if decided.consistent else "the records disagree", decided.seal, decided.outcome),
        facts.proofs,
        coverage_gap(facts.proofs, facts.coverage),
        _steps(decided, facts, groups, rows),
        f"campaign verify {facts.typed} --details",
    )


def decision_block(
    outcome: VerifyOutcome,
    is_contradicted: bool,
    about: tuple[str, ...],
    questions: Iterable[Question],
    may: str,
    proofs: Collection[str],
    gap: str,
    steps: Iterable[Step],
    details: str,
) -> DecisionBlock:
    """The buyer's decision on a bundle. `proofs`, of `terms.PROOFS`, and `gap`, of `coverage_gap`, limit `may`;
    `details`: the command that prints all.
    """
    headline, kind, _ = MEANING[outcome]
    unproven = [] if buyers.SAMPLE in proofs else ["that the system reaches these results"]
    unproven += [gap] if gap else []
    gaps = ", or ".join(unproven) or "that the system will be installed as it was measured"
    headline, may_not = "NOT VALID" if is_contradicted else headline, f"This does not show {gaps}."
    return DecisionBlock(headline, about, tuple(questions), may, may_not, decision.first_of_each(steps), kind, details)


def coverage_gap(proofs: Collection[str], coverage: Coverage) -> str:
    """What heads and time stamps do not prove; "" if they cover all runs."""
    if {buyers.HEAD, buyers.TIMESTAMP} & {*proofs} and coverage.is_full:
        return ""
    place = f" after the first {coverage.covered_runs} of {coverage.runs} runs" if coverage.covered_runs else ""
    return f"that no attempt was left out{place}"


def permitted_conclusion(problem: str, seal: Seal, outcome: VerifyOutcome) -> str:
    """What may be concluded from the numbers of a bundle; `problem`: why nothing may be."""
    if problem:
        return f"Do not trust these numbers: {problem}."
    if seal is not Seal.TRUSTED:
        return f"The tables match the logs, but the logs are {_DOUBTS[seal]}."
    if outcome is VerifyOutcome.COMPLIANT:
        return "The tables match the signed logs, and your terms are met."
    return "The tables match the signed logs."


_DOUBTS = {
    Seal.UNKNOWN: "signed by an unknown key",
    Seal.NONE: "not signed",
    Seal.BROKEN: "not those that were signed",
}


def _questions(
    decided: BundleDecision, facts: BundleFacts, groups: FindingGroups, rows: Sequence[Row]
) -> Iterator[Question]:
    yield _evidence_question(decided, groups)
    places = listing((f"{kind} ({target})" for target, kind in decided.file_systems.items()), 2)
    days = dict.fromkeys((decided.measured_from[:10], decided.measured_to[:10]))
    yield decision.completeness(
        rows, f", measured {' to '.join(days)} on {places or 'unknown file systems'}" if decided.measured_from else ""
    )
    kept = f"No rule that was checked is violated (SHA-256 of the pack: {decided.rules_sha256[:12]}…)."
    yield decision.rules_question(groups.about_rules, False, kept)
    settled = (
        "You have accepted everything that needs your decision." if facts.terms else "Nothing needs your decision."
    )
    yield decision.decisions_question(decided.decisions, False, settled)
    missing_proofs = []
    if buyers.SAMPLE not in facts.proofs:
        missing_proofs.append("re-measurement")
    if facts.source and buyers.REBUILD not in facts.proofs:
        missing_proofs.append("rebuild")
    if facts.source_unproven:
        missing_proofs.append("published source")
    if coverage_gap(facts.proofs, facts.coverage):
        has_some = (facts.coverage.head, facts.coverage.stamp) != (None, None)
        missing_proofs.append(f"journal head or time stamp{f' of all runs ({facts.coverage})' if has_some else ''}")
    proofs, missing_text = listing(facts.proofs) or "none", listing(missing_proofs) or "nothing"
    mark = Mark.OPEN if missing_proofs else Mark.OK
    yield Question("proof", proofs, f"Proof: {proofs}. Missing: {missing_text}.", mark)


def _evidence_question(decided: BundleDecision, groups: FindingGroups) -> Question:
    if groups.contradicted:
        text, mark = f"The evidence is CONTRADICTED: {listed_findings(groups.contradicted)}.", Mark.BAD
    elif not decided.rules:
        text, mark = "The evidence is CONTRADICTED: the results cannot be re-evaluated from the logs.", Mark.BAD
    elif groups.unproven:
        text, mark = f"Not proven: {listed_findings(groups.unproven)}.", Mark.OPEN
    else:
        text, mark = "The records agree; the tables follow from the signed logs.", Mark.OK
    return Question("evidence", decided.evidence, text, mark)


def _steps(decided: BundleDecision, facts: BundleFacts, groups: FindingGroups, rows: Sequence[Row]) -> Iterator[Step]:
    unproven, is_sampled = (
        grouped((finding.move, finding) for finding in groups.unproven),
        buyers.SAMPLE in facts.proofs,
    )
    if groups.contradicted:  # what does not agree cannot be repaired by repeating a run
        rules = listing(decision.rules_of(groups.contradicted), 4)
        yield Step(YOU, f"Reject the bundle, or ask the vendor for the original records ({rules}).")
    cells = [row.cell for row in rows]
    yield from decision.vendor_steps(groups.about_rules.violated, universe=cells)
    if decided.decisions and facts.terms:
        yield Step(YOU, f"campaign terms accept {facts.typed} {typed_path(facts.terms)}")
    elif not facts.terms:
        pack = "RFP" if facts.part else decided.rules.partition(" ")[0] or "ID"
        yield Step(YOU, f"campaign terms init terms.yaml --rules {pack}")
    yield from decision.buyer_steps([*unproven.get(Move.BUYER, ()), *groups.about_rules.by_move(Move.BUYER)])
    vendors_open = (*unproven.get(Move.VENDOR, ()), *groups.about_rules.by_move(Move.VENDOR))
    yield from decision.vendor_steps(vendors_open, universe=cells)
    if decided.outcome is VerifyOutcome.REHEARSAL:
        yield Step(VENDOR, "Measure at full size.")
    elif decided.outcome is VerifyOutcome.COMPLIANT and is_sampled:
        yield Step(YOU, "Nothing remains to be checked; keep the bundle with your terms.")
    elif not is_sampled and decided.evidence is not EvidenceAnswer.CONTRADICTED:
        yield Step(YOU, f"campaign sample {facts.typed} --seed SEED -o sample.yaml")

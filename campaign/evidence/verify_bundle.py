"""Verifies a bundle: each of its parts, and that together they are the answer to an RFP that the bundle says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from campaign.config import response
from campaign.config import rfp as rfps
from campaign.core import bagit, journal, timestamps
from campaign.core.errors import CampaignError, InputError, typed_path
from campaign.core.findings import Finding, Move, Severity
from campaign.core.grouping import grouped
from campaign.core.paths import PARTS, RESPONSE, RFP, bundle_of_part, parts_of_bundle
from campaign.core.strict_yaml import quoted
from campaign.core.units import listing
from campaign.evidence import bundle, derived_files, replay, verify
from campaign.evidence.bundle_decision import (
    MEANING,
    EvidenceAnswer,
    Seal,
    VerifyOutcome,
    coverage_gap,
    decision_block,
    permitted_conclusion,
)
from campaign.evidence.journal_checks import NOTHING_COVERED, check_time_stamps
from campaign.evidence.terms import PROOFS
from campaign.judge.findings import complete_findings, note, unchecked_by_buyer, violation
from campaign.judge.submission import Submission
from campaign.report import amendments, decision
from campaign.report.decision import VENDOR, YOU, DecisionBlock, Mark, OpenDecision, Question, Step, open_decisions
from campaign.report.rfp_judgement import RfpJudgement, judge_rfp
from campaign.report.rfp_response import part_questions, parts_question, rfp_questions, worst_first


@dataclass(frozen=True, slots=True)
class OpenBundle:
    """A bundle that was read, at `path`. `parts`: those that are looked at; `is_response`: they are all parts of a
    bundle that answers an RFP.
    """

    path: Path
    bag: bagit.Bag
    parts: tuple[str, ...]
    is_response: bool


@dataclass(frozen=True, slots=True)
class VerifiedBundle:
    """`findings`: about the bundle, not about a part; `unanswered`: mandatory parts that it does not have.
    `judgement`: what the parts show together. `is_response`: it is about all parts of an RFP; otherwise about the only
    part, or the one that was selected.
    """

    name: str
    rfp: rfps.Rfp | None
    findings: tuple[Finding, ...]
    parts: Mapping[str, verify.VerifiedPart]
    unanswered: tuple[str, ...]
    judgement: RfpJudgement = field(default_factory=RfpJudgement)
    is_response: bool = True
    path: Path | None = None  # of the bundle, for commands

    @property
    def outcome(self) -> VerifyOutcome:
        """The worst of the parts; altered, without a mandatory part or against a condition of the RFP, it is not valid.
        What was not checked of the bundle or the conditions counts as in a part.
        """
        about_all = (*self.findings, *self.judgement.findings)
        if any(finding.violated for finding in about_all) or self.unanswered or not self.parts:
            return VerifyOutcome.NOT_VALID
        outcomes = [part.decision.outcome for part in self.parts.values()]
        if not all(finding.checked for finding in self.findings) or any(
            finding.open or finding.undecided for finding in self.judgement.findings
        ):
            outcomes.append(VerifyOutcome.OPEN)
        return min(outcomes, key=list(VerifyOutcome).index)

    @property
    def exit_status(self) -> int:
        return MEANING[self.outcome][2]

    @property
    def is_intact(self) -> bool:
        """Whether the bundle is unaltered, and all parts can be re-evaluated."""
        are_parts_intact = all(part.intact and part.evaluation for part in self.parts.values())
        return are_parts_intact and not any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def own_decisions(self) -> list[OpenDecision]:
        """What the buyer has not accepted yet of the parts together."""
        return open_decisions((finding for finding in self.judgement.findings if finding.undecided), ())

    @property
    def is_contradicted(self) -> bool:
        """Whether its records contradict each other."""
        answers = {part.decision.evidence for part in self.parts.values()}
        return EvidenceAnswer.CONTRADICTED in answers or any(finding.violated for finding in self.findings)

    @property
    def submissions(self) -> dict[str, Submission]:
        """The re-evaluated campaigns of the parts that can be."""
        parts = self.parts.items()
        return {part: verified.evaluation.submission for part, verified in parts if verified.evaluation}

    @property
    def decision(self) -> DecisionBlock:
        """The buyer's decision on all parts together."""
        if not self.is_response:
            return next(iter(self.parts.values())).decision.block
        violations = [finding for finding in self.findings if finding.violated]
        open_findings = [finding for finding in self.findings if finding.open]
        by_mover = grouped((finding.move, finding) for finding in open_findings)
        answer = "CONTRADICTED" if violations else "unproven" if open_findings else "consistent"
        sentence, mark = "The records agree, and the scores follow from the parts.", Mark.OK
        if violations:
            sentence, mark = f"The bundle is CONTRADICTED: {decision.listed_findings(violations)}.", Mark.BAD
        elif open_findings:
            sentence, mark = f"Not proven: {decision.listed_findings(open_findings)}.", Mark.OPEN
        decisions = {part: verified.decision for part, verified in self.parts.items()}
        order = worst_first({part: part_decision.outcome for part, part_decision in decisions.items()})
        of_rfp = decision.SortedFindings(self.judgement.findings)
        steps = [Step(VENDOR, f"campaign run FILE --part {part}") for part in self.unanswered[:1]]
        steps += decision.vendor_steps([*of_rfp.violated, *by_mover.get(Move.VENDOR, []), *of_rfp.by_move(Move.VENDOR)])
        steps += decision.buyer_steps(by_mover.get(Move.BUYER, ()))
        steps += [Step(YOU, f"campaign verify {typed_path(self.path or self.name, part)}") for part in order[:1]]
        rules = (f"RFP {self.rfp.id} {self.rfp.version}",) if self.rfp else ()
        contradictory = [part for part, part_decision in decisions.items() if not part_decision.consistent]
        reason = f"the records of {listing(contradictory)} disagree" if contradictory else ""
        signature_findings = [finding for finding in self.findings if finding.rule == "EVD-03"]
        proofs = set(PROOFS).intersection(*(verified.proofs for verified in self.parts.values()))
        return decision_block(
            self.outcome,
            self.is_contradicted,
            (self.name, *rules),
            (
                Question("bundle", answer, sentence, mark),
                parts_question(self.unanswered, len(self.parts)),
                *rfp_questions(self.judgement, is_for_vendor=False),
                *part_questions({part: decisions[part].block for part in order}),
            ),
            permitted_conclusion(
                "the parts do not belong to one response" if violations else reason,
                _seal_of(signature_findings),
                self.outcome,
            ),
            proofs,
            _parts_gap(self.parts),
            steps,
            f"campaign verify {typed_path(self.path or self.name)} --details",
        )


def _seal_of(findings: Sequence[Finding]) -> Seal:
    """What the findings about the signature, EVD-03, say of it."""
    if not findings:
        return Seal.TRUSTED
    if findings[0].violated:
        return Seal.BROKEN
    return Seal.UNKNOWN if findings[0].move is Move.BUYER else Seal.NONE


@contextmanager
def open_parts(path: Path, part: str = "") -> Iterator[OpenBundle]:
    """Open a bundle, to look at all its parts or at this one. Raises InputError if there is no such part."""
    with verify.open_bundle(path) as bag:
        names = parts_of_bundle(bag.root)
        if part and part not in names:
            remedy = f"name one of its parts with --part: {', '.join(names)}" if names[0] else "it has no parts"
            raise InputError(f"{path}: {remedy}")
        yield OpenBundle(path, bag, (part,) if part else names, not part and bool(names[0]))


@contextmanager
def verify_parts(
    selection: OpenBundle, buyer: verify.Buyer, buyers_file: Path | None = None
) -> Iterator[VerifiedBundle]:
    """Verify each part, and that together they are what the bundle says; the evaluated campaigns' files exist within
    the context. `buyers_file`: the buyer's own RFP, if the terms do not name it, by whose packs the parts are judged.
    """
    bag = selection.bag
    if buyers_file is None and buyer.terms and buyer.terms.is_of_rfp:
        buyers_file = Path(buyer.terms.rules)
    if buyer.rules and selection.is_response:
        raise InputError("--rules: is for one part; name it with --part, or pass your RFP with --rfp")
    rfp, rfp_findings = _choose_rfp(bag, buyers_file) if selection.is_response or buyers_file else (None, [])
    order = [part.id for part in rfp.parts] if rfp else []
    stamps = {path: timestamps.read(path, buyer.authority) for path in buyer.timestamps if buyer.authority}
    chains = _chains_by_part(bag) if buyer.heads or stamps or buyer.sacct else {}
    with ExitStack() as stack:
        parts: dict[str, verify.VerifiedPart] = {}
        for part in sorted(selection.parts, key=lambda part: order.index(part) if part in order else -1):
            pack = _buyers_pack(bag, rfp, part) if buyers_file and rfp else None
            part_buyer = replace(buyer, part=part, rules=buyer.rules or pack)
            part_buyer = _buyer_of_part(part_buyer, chains, stamps, selection.is_response)
            part_root = bundle_of_part(bag.root, part)
            part_bag = bag if part_root == bag.root else stack.enter_context(verify.open_bundle(part_root))
            parts[part] = verify.verify_bag(selection.path, part_bag, part_buyer)
        if selection.is_response:
            yield _response(selection, buyer, rfp, rfp_findings, parts, stamps)
        else:
            (verified,) = parts.values()
            yield VerifiedBundle(verified.name, rfp, (), parts, (), is_response=False)


def _response(
    selection: OpenBundle,
    buyer: verify.Buyer,
    rfp: rfps.Rfp | None,
    rfp_findings: Iterable[Finding],
    parts: Mapping[str, verify.VerifiedPart],
    stamps: Mapping[Path, timestamps.Stamp],
) -> VerifiedBundle:
    """What all parts are together."""
    bag = selection.bag
    submissions = {part: verified.evaluation.submission for part, verified in parts.items() if verified.evaluation}
    part_heads = {head for verified in parts.values() for head in verified.chain.heads}
    other_stamps = {path: stamp for path, stamp in stamps.items() if stamp.digest not in part_heads}
    signature = verify.read_signature(bag, buyer)
    findings = (
        *complete_findings("EVD-01", verify.BUNDLE, verify.check_manifests(bag.problems)),
        *complete_findings("CMP-05", verify.BUNDLE, _check_contents(bag, parts)),
        *complete_findings("EVD-02", verify.BUNDLE, check_time_stamps(bag, journal.Chain(), other_stamps)),
        *complete_findings("EVD-03", verify.BUNDLE, verify.check_signature(signature, buyer.signers is not None)),
        *complete_findings("EVD-04", verify.BUNDLE, _check_parts_agree(bag, rfp, parts) if rfp else ()),
        *complete_findings("EVD-05", verify.BUNDLE, rfp_findings),
    )
    missing = [part.id for part in rfp.unanswered(parts)] if rfp else []
    judged_with = [partial(buyer.terms.accept_findings, universe=())] if buyer.terms else []
    answers = _read_answers(bag, submissions)
    judgement = judge_rfp(rfp, submissions, answers, *judged_with) if rfp else RfpJudgement()
    return VerifiedBundle(selection.path.name, rfp, findings, parts, tuple(missing), judgement, path=selection.path)


def _read_answers(bag: bagit.Bag, parts: Iterable[str]) -> response.Answers:
    """What the campaign file, which every part has, says to clauses of the RFP; nothing if it cannot be read."""
    for part in parts:
        with suppress(CampaignError):
            return response.answers_in(bundle_of_part(bag.root, part) / "data/campaign.yaml")
    return {}


def _parts_gap(parts: Mapping[str, verify.VerifiedPart]) -> str:
    """What heads and time stamps of the parts do not prove; "" if they cover all runs of each."""
    gaps = {
        part: verified.coverage for part, verified in parts.items() if coverage_gap(verified.proofs, verified.coverage)
    }
    if not gaps or not any(verified.coverage.covered_runs for verified in parts.values()):
        return coverage_gap((), NOTHING_COVERED) if gaps else ""
    places = "; ".join(f"{part}: {coverage}" for part, coverage in gaps.items())
    return f"that no attempt was left out ({places})"


def _chains_by_part(bag: bagit.Bag) -> dict[str, journal.Chain]:
    """Each part's journal."""
    roots = {part: bundle_of_part(bag.root, part) for part in parts_of_bundle(bag.root)}
    return {part: journal.read_chain(root / "data/results/journal.jsonl") for part, root in roots.items()}


def _buyer_of_part(
    buyer: verify.Buyer,
    chains: Mapping[str, journal.Chain],
    stamps: Mapping[Path, timestamps.Stamp],
    is_of_response: bool,
) -> verify.Buyer:
    """What the buyer provides, without the heads and time stamps of other parts. `is_of_response`: a time stamp that is
    of no part is not the part's either, but that of the entire bundle.
    """
    own_heads = {head for part, chain in chains.items() if part == buyer.part for head in chain.heads}
    other_chains = [chain for part, chain in chains.items() if part != buyer.part]
    foreign_heads = {head for chain in other_chains for head in chain.heads} - own_heads
    return replace(
        buyer,
        heads=tuple(head for head in buyer.heads if head not in foreign_heads),
        timestamps=tuple(
            path
            for path, stamp in stamps.items()
            if stamp.digest in own_heads or not (is_of_response or stamp.digest in foreign_heads)
        ),
        other_jobs=frozenset(job for chain in other_chains for job in chain.rendered),
    )


def _buyers_pack(bag: bagit.Bag, rfp: rfps.Rfp, part: str) -> str | None:
    """The pack of the buyer's RFP, if the part was measured by one of that name: otherwise EVD-04 says so."""
    entry = next((entry for entry in rfp.parts if entry.id == part), None)
    pack = str(rfps.pack_of(rfp, entry)) if entry else ""
    is_in_bundle = (bundle_of_part(bag.root, part) / "data/rules" / f"{Path(pack).stem}.yaml").is_file()
    return pack if is_in_bundle else None


def _check_contents(bag: bagit.Bag, parts: Mapping[str, verify.VerifiedPart]) -> Iterator[Finding]:
    """CMP-05: besides the parts the bundle has only the RFP and the response."""
    prefixes = (RFP, RESPONSE, *(f"{PARTS}/{part}/" for part in parts))
    for name in bag.digests:
        if name.startswith(bagit.PAYLOAD) and not name.startswith(prefixes):
            yield violation("{name}: does not belong in the bundle of an RFP's parts", name=quoted(name))


def _choose_rfp(bag: bagit.Bag, buyers_file: Path | None) -> tuple[rfps.Rfp | None, list[Finding]]:
    """The RFP to judge by, and how the vendor's differs from it."""
    try:
        vendors_rfp = rfps.load(bag.root / RFP)
    except CampaignError as error:
        return None, [violation("the RFP cannot be read: {why}", why=str(error).replace(f"{bag.root}/", ""))]
    if buyers_file is None:
        return vendors_rfp, [unchecked_by_buyer("the RFP is the vendor's copy", remedy="pass yours with --rfp")]
    rfp = rfps.load(buyers_file)
    if rfp.digest == vendors_rfp.digest:
        return rfp, [note("the RFP is identical to yours")]
    if rfp.id == vendors_rfp.id and rfp.version != vendors_rfp.version:
        versions = f"version {vendors_rfp.version} of the RFP, yours is version {rfp.version}"
        changes = map(str, amendments.rfp_changes(vendors_rfp, rfp))
        return rfp, [replay.measured_under(versions, [*changes], "judged by yours")]
    return rfp, [violation("the vendor's RFP differs from yours", rfp.digest, vendors_rfp.digest)]


def _check_parts_agree(bag: bagit.Bag, rfp: rfps.Rfp, parts: Mapping[str, verify.VerifiedPart]) -> Iterator[Finding]:
    """EVD-04: every part answers this RFP, in one campaign file, and the scores follow from the parts; of an amended
    RFP, the version that they were measured under.
    """
    vendors_rfp = rfps.load(bag.root / RFP)
    rfp = rfp if rfp.version == vendors_rfp.version else vendors_rfp
    evaluations = {part: verified.vendors_evaluation for part, verified in parts.items()}
    submissions = {part: evaluation.submission for part, evaluation in evaluations.items() if evaluation}
    files = {derived_files.read_text(bundle_of_part(bag.root, part) / "data/campaign.yaml") for part in submissions}
    if len(files) > 1:
        yield violation("the parts are not of one campaign file", "one", len(files))
    packs = {part.id: part for part in rfp.parts}
    for part, submission in submissions.items():
        measured_part, pack = submission.campaign.part, submission.pack
        if measured_part != part:
            yield violation("{part}: its evidence is that of part {other}", part=part, other=measured_part or "none")
        if part not in packs:
            yield violation("{part}: not a part of the RFP", part=part)
        elif pack.id != Path(packs[part].pack).stem or packs[part].version not in (None, pack.version):
            measured_pack = f"{pack.id} {pack.version}"
            yield violation("{part}: another rule pack than the RFP's", packs[part].pack, measured_pack, part=part)
    heads = {part: parts[part].chain.head for part in submissions}
    stated_document = derived_files.json_object(derived_files.read_text(bag.root / RESPONSE) or "")
    rederived_document = json.loads(replay.as_json(bundle.response_document(rfp, submissions, heads)))
    if {**stated_document, "rfp": None} != {**rederived_document, "rfp": None}:
        yield violation("response.json cannot be reproduced from the parts")

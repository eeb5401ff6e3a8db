"""The evidence of all parts of an RFP in one bundle, which is signed once and has one verdict.

data/rfp.yaml  data/response.json       the RFP, and what follows from the parts: their verdicts, and the scores
data/parts/<part>/...                   a complete bundle of each part
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from campaign import __version__
from campaign.config import rfp as rfps
from campaign.core import bagit, journal, timestamps
from campaign.core.errors import CampaignError, InputError
from campaign.core.escaping import plain
from campaign.core.findings import Finding, Move
from campaign.core.grouping import grouped
from campaign.core.strict_yaml import quoted
from campaign.core.units import listing
from campaign.evidence import bundle, derived_files, replay, verify, verify_text
from campaign.evidence.bundle_decision import (
    MEANING,
    EvidenceAnswer,
    VerifyOutcome,
    decision_block,
    permitted_conclusion,
)
from campaign.evidence.journal_checks import check_time_stamps
from campaign.evidence.terms import PROOFS
from campaign.judge.findings import complete_findings, note, unchecked_by_buyer, violation
from campaign.judge.submission import Submission
from campaign.report import decision, scores
from campaign.report.decision import VENDOR, YOU, DecisionBlock, Question, Step
from campaign.report.rfp_response import part_questions, parts_question, worst_first

RFP, RESPONSE = "data/rfp.yaml", "data/response.json"


@dataclass(frozen=True, slots=True)
class VerifiedResponse:
    """`findings`: about the bundle, not about a part; `unanswered`: mandatory parts that it does not have."""

    name: str
    rfp: rfps.Rfp | None
    findings: tuple[Finding, ...]
    parts: Mapping[str, verify.VerifiedBundle]
    unanswered: tuple[str, ...]
    scored: tuple[scores.Scored, ...]

    @property
    def outcome(self) -> VerifyOutcome:
        """The worst of the parts; altered, or without a mandatory part, it is not valid; what was not checked of
        the bundle counts as in a part.
        """
        if any(finding.violated for finding in self.findings) or self.unanswered or not self.parts:
            return VerifyOutcome.NOT_VALID
        outcomes = [part.decision.outcome for part in self.parts.values()]
        if not all(finding.checked for finding in self.findings):
            outcomes.append(VerifyOutcome.OPEN)
        return min(outcomes, key=list(VerifyOutcome).index)

    @property
    def exit_status(self) -> int:
        return MEANING[self.outcome][2]

    @property
    def decision(self) -> DecisionBlock:
        """The buyer's decision on all parts together."""
        violations = [finding for finding in self.findings if finding.violated]
        open_findings = [finding for finding in self.findings if finding.open]
        by_mover = grouped((finding.move, finding) for finding in open_findings)
        answer = "CONTRADICTED" if violations else "unproven" if open_findings else "consistent"
        problems = violations or open_findings
        decisions = {part: verified.decision for part, verified in self.parts.items()}
        order = worst_first({part: part_decision.outcome for part, part_decision in decisions.items()})
        steps = [Step(VENDOR, f"campaign run FILE --part {part}") for part in self.unanswered[:1]]
        steps += decision.vendor_steps(by_mover.get(Move.VENDOR, []))
        if Move.BUYER in by_mover:
            steps.append(Step(YOU, decision.first_finding(by_mover[Move.BUYER])))
        steps += [Step(YOU, f"campaign verify {self.name} --part {part}") for part in order[:1]]
        rules = (f"RFP {self.rfp.id} {self.rfp.version}",) if self.rfp else ()
        contradictory = [part for part, part_decision in decisions.items() if not part_decision.consistent]
        reason = f"the records of {listing(contradictory)} do not agree" if contradictory else ""
        proofs = set(PROOFS).intersection(*(verified.proofs for verified in self.parts.values()))
        answers = {part_decision.evidence for part_decision in decisions.values()}
        return decision_block(
            self.outcome,
            bool(violations) or EvidenceAnswer.CONTRADICTED in answers,
            (self.name, *rules),
            (
                Question(
                    "bundle",
                    answer,
                    decision.first_finding(problems) if problems else "the scores follow from the parts",
                ),
                parts_question(self.unanswered, len(self.parts)),
                *part_questions({part: decisions[part].block for part in order}),
            ),
            permitted_conclusion(
                "it is not one answer" if violations else reason,
                all(finding.rule != "EVD-03" for finding in self.findings),
                self.outcome,
            ),
            proofs,
            steps,
        )

    def as_json(self) -> dict[str, Any]:
        """The fields of `verify --json` about all parts together."""
        return {
            "verdict_sentence": self.decision.sentence,
            "decision": asdict(self.decision),
            "exit_status": self.exit_status,
            "findings": [finding.as_json() for finding in self.findings],
            "unanswered": list(self.unanswered),
            "scores": list(map(asdict, self.scored)),
        }


def write(
    rfp: rfps.Rfp, root: Path, bundles: Mapping[str, bundle.WrittenBundle], out: Path, key: Path | None, force: bool
) -> int:
    """Make one bundle of a directory with those of the parts. Gives the number of its files."""
    (root / RFP).write_bytes(rfp.path.read_bytes())
    submissions = {part: part_bundle.evaluation.submission for part, part_bundle in bundles.items()}
    heads = {part: part_bundle.evaluation.head for part, part_bundle in bundles.items()}
    (root / RESPONSE).write_text(replay.as_json(_response_document(rfp, submissions, heads)), encoding="utf-8")
    info = {
        "External-Description": f"Answer to {rfp.title} in {len(bundles)} parts",
        "Bagging-Date": bundle.today(),
        "Bag-Software-Agent": f"campaign {__version__}",
    }
    return bundle.close(root, info, out, key, force)


def _response_document(
    rfp: rfps.Rfp, submissions: Mapping[str, Submission], heads: Mapping[str, str]
) -> dict[str, Any]:
    """The content of response.json: what follows from the parts. `heads`: of their journals."""
    return {
        "format": 1,
        "rfp": {"id": rfp.id, "version": rfp.version, "sha256": rfp.digest},
        "parts": {
            part: {"rules": submission.pack.id, "version": submission.pack.version, "head": heads[part]}
            for part, submission in submissions.items()
        },
        "scores": list(map(asdict, scores.compute_scores(rfp, scores.part_figures(submissions)))),
    }


@contextmanager
def verify_response(
    name: str, bag: bagit.Bag, buyer: verify.Buyer, buyers_file: Path | None
) -> Iterator[VerifiedResponse]:
    """Verify each part, and that together they are what the bundle says. `buyers_file`: the buyer's own RFP,
    by whose packs the parts are judged.
    """
    if buyer.rules:
        raise InputError("--rules: is for one part; name it with --part, or pass your RFP with --rfp")
    chains = {
        part: journal.read_chain(bag.root / verify.PARTS / part / "data/results/journal.jsonl")
        for part in verify.part_names(bag)
    }
    stamps = {path: timestamps.read(path, buyer.authority) for path in buyer.timestamps if buyer.authority}
    with ExitStack() as stack:
        rfp, rfp_findings = _choose_rfp(bag, buyers_file)
        order = [part.id for part in rfp.parts] if rfp else []
        parts: dict[str, verify.VerifiedBundle] = {}
        for part, chain in sorted(chains.items(), key=lambda pair: order.index(pair[0]) if pair[0] in order else -1):
            foreign_heads = {head for other in chains.values() if other is not chain for head in other.heads}
            part_buyer = replace(
                buyer,
                part=part,
                rules=_buyers_pack(bag, rfp, part) if buyers_file and rfp else None,
                heads=tuple(head for head in buyer.heads if head in chain.heads or head not in foreign_heads),
                timestamps=tuple(path for path, stamp in stamps.items() if stamp.digest in chain.heads),
            )
            part_bag = stack.enter_context(verify.open_bundle(bag.root / verify.PARTS / part))
            parts[part] = verify.verify_bag(f"{name}, part {part}", part_bag, part_buyer)
        submissions = {part: verified.evaluation.submission for part, verified in parts.items() if verified.evaluation}
        part_heads = {head for chain in chains.values() for head in chain.heads}
        other_stamps = {path: stamp for path, stamp in stamps.items() if stamp.digest not in part_heads}
        signature = verify.read_signature(bag, buyer)
        findings = (
            *complete_findings("EVD-01", verify.BUNDLE, verify.check_manifests(bag.problems)),
            *complete_findings("CMP-05", verify.BUNDLE, _check_contents(bag, parts)),
            *complete_findings("EVD-02", verify.BUNDLE, check_time_stamps(bag, journal.Chain(), other_stamps)),
            *complete_findings("EVD-03", verify.BUNDLE, verify.check_signature(signature, buyer.signers is not None)),
            *complete_findings(
                "EVD-04", verify.BUNDLE, _check_parts_agree(bag, rfp, submissions, chains) if rfp else ()
            ),
            *complete_findings("EVD-05", verify.BUNDLE, rfp_findings),
        )
        missing = [part.id for part in rfp.unanswered(parts)] if rfp else []
        part_scores = scores.compute_scores(rfp, scores.part_figures(submissions)) if rfp else []
        yield VerifiedResponse(name, rfp, findings, parts, tuple(missing), tuple(part_scores))


def _buyers_pack(bag: bagit.Bag, rfp: rfps.Rfp, part: str) -> str | None:
    """The pack of the buyer's RFP, if the part was measured by one of that name: otherwise EVD-04 says so."""
    entry = next((entry for entry in rfp.parts if entry.id == part), None)
    pack = str(rfps.pack_of(rfp, entry)) if entry else ""
    is_in_bundle = (bag.root / verify.PARTS / part / "data/rules" / f"{Path(pack).stem}.yaml").is_file()
    return pack if is_in_bundle else None


def _check_contents(bag: bagit.Bag, parts: Mapping[str, verify.VerifiedBundle]) -> Iterator[Finding]:
    """CMP-05: besides the parts the bundle has only the RFP and the response."""
    prefixes = (RFP, RESPONSE, *(f"{verify.PARTS}/{part}/" for part in parts))
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
        return vendors_rfp, [unchecked_by_buyer("the RFP is the vendor's copy: pass yours with --rfp")]
    rfp = rfps.load(buyers_file)
    if rfp.digest == vendors_rfp.digest:
        return rfp, [note("the RFP is identical to yours")]
    return rfp, [violation("the vendor's RFP differs from yours", rfp.digest, vendors_rfp.digest)]


def _check_parts_agree(
    bag: bagit.Bag, rfp: rfps.Rfp, submissions: Mapping[str, Submission], chains: Mapping[str, journal.Chain]
) -> Iterator[Finding]:
    """EVD-04: every part answers this RFP, in one campaign file, and the scores follow from the parts."""
    files = {derived_files.read_text(bag.root / verify.PARTS / part / "data/campaign.yaml") for part in submissions}
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
    heads = {part: chains[part].head for part in submissions}
    stated_document = derived_files.json_object(derived_files.read_text(bag.root / RESPONSE) or "")
    rederived_document = json.loads(replay.as_json(_response_document(rfp, submissions, heads)))
    if {**stated_document, "rfp": None} != {**rederived_document, "rfp": None}:
        yield violation("response.json cannot be reproduced from the parts")


def finding_lines(verified: VerifiedResponse) -> Sequence[str]:
    """The lines of `verify` about the bundle, not about a part."""
    return [
        f"  {verify_text.finding_word([finding]):12} {finding.rule} {plain(finding.message)}"
        for finding in verified.findings
    ]

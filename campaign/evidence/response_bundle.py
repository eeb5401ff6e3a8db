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
from campaign.config import rfp
from campaign.core import bagit, journal, timestamps
from campaign.core.errors import CampaignError, InputError
from campaign.core.escaping import plain
from campaign.core.model import Finding, Move
from campaign.core.strict_yaml import quoted
from campaign.core.units import listing
from campaign.evidence import bundle, compared, replay, verify, verify_text
from campaign.evidence.bundle_decision import MEANING, EvidenceAnswer, VerifyOutcome, block, follows
from campaign.evidence.terms import PROOFS
from campaign.judge.findings import note, of_rule, unchecked_by_buyer, violation
from campaign.judge.submission import Submission
from campaign.report import decision, scores
from campaign.report.decision import VENDOR, YOU, DecisionBlock, Question, Step
from campaign.report.rfp_response import part_questions, parts_question, worst_first

RFP, RESPONSE = "data/rfp.yaml", "data/response.json"


@dataclass(frozen=True, slots=True)
class VerifiedResponse:
    """`findings`: about the bundle as a whole; `unanswered`: mandatory parts that it does not have."""

    name: str
    rfp: rfp.Rfp | None
    findings: tuple[Finding, ...]
    parts: Mapping[str, verify.VerifiedBundle]
    unanswered: tuple[str, ...]
    scored: tuple[scores.Scored, ...]

    @property
    def outcome(self) -> VerifyOutcome:
        """The worst of the parts; altered, or without a mandatory part, it is not valid; what was not checked on the
        whole counts as in a part.
        """
        if any(finding.violated for finding in self.findings) or self.unanswered or not self.parts:
            return VerifyOutcome.NOT_VALID
        outcomes = [part.conclusion.outcome for part in self.parts.values()]
        if not all(finding.checked for finding in self.findings):
            outcomes.append(VerifyOutcome.OPEN)
        return min(outcomes, key=list(VerifyOutcome).index)

    @property
    def exit_status(self) -> int:
        return MEANING[self.outcome][2]

    @property
    def decision(self) -> DecisionBlock:
        """For the buyer."""
        wrong = [each for each in self.findings if each.violated]
        left = [each for each in self.findings if each.open]
        answer = "CONTRADICTED" if wrong else "unproven" if left else "consistent"
        first = decision.first_finding(wrong or left) if wrong or left else "the scores follow from the parts"
        conclusions = {part: each.conclusion for part, each in self.parts.items()}
        order = worst_first({part: each.outcome for part, each in conclusions.items()})
        steps = [Step(VENDOR, f"campaign run FILE --part {part}") for part in self.unanswered[:1]]
        steps += decision.vendor_steps([each for each in left if each.move is Move.VENDOR])
        yours = [each for each in left if each.move is Move.BUYER]
        steps += [Step(YOU, decision.first_finding(yours))] if yours else []
        steps += [Step(YOU, f"campaign verify {self.name} --part {part}") for part in order[:1]]
        rules = (f"RFP {self.rfp.id} {self.rfp.version}",) if self.rfp else ()
        torn = [part for part, each in conclusions.items() if not each.consistent]
        problem = f"the records of {listing(torn)} do not agree" if torn else ""
        proofs = set(PROOFS).intersection(*(part.proofs for part in self.parts.values()))
        return block(
            self.outcome,
            bool(wrong) or any(each.evidence is EvidenceAnswer.CONTRADICTED for each in conclusions.values()),
            (self.name, *rules),
            (
                Question("bundle", answer, first),
                parts_question(self.unanswered, len(self.parts)),
                *part_questions({part: conclusions[part].decision for part in order}),
            ),
            follows(
                "it is not one answer" if wrong else problem,
                all(finding.rule != "EVD-03" for finding in self.findings),
                self.outcome,
            ),
            proofs,
            steps,
        )

    def as_json(self) -> dict[str, Any]:
        """Beside the JSON of the parts."""
        return {
            "verdict_sentence": self.decision.sentence,
            "decision": asdict(self.decision),
            "exit_status": self.exit_status,
            "findings": [finding.as_json() for finding in self.findings],
            "unanswered": list(self.unanswered),
            "scores": list(map(asdict, self.scored)),
        }


def write(
    asked: rfp.Rfp, root: Path, written: Mapping[str, bundle.Written], out: Path, key: Path | None, force: bool
) -> int:
    """Make one bundle of a directory with those of the parts. Gives the number of its files."""
    (root / RFP).write_bytes(asked.path.read_bytes())
    judged = {part: each.judged.submission for part, each in written.items()}
    heads = {part: each.judged.head for part, each in written.items()}
    (root / RESPONSE).write_text(replay.as_json(_response(asked, judged, heads)), encoding="utf-8")
    info = {
        "External-Description": f"Answer to {asked.title} in {len(written)} parts",
        "Bagging-Date": bundle.today(),
        "Bag-Software-Agent": f"campaign {__version__}",
    }
    return bundle.close(root, info, out, key, force)


def _response(asked: rfp.Rfp, judged: Mapping[str, Submission], heads: Mapping[str, str]) -> dict[str, Any]:
    """What follows from the parts."""
    return {
        "format": 1,
        "rfp": {"id": asked.id, "version": asked.version, "sha256": asked.digest},
        "parts": {
            part: {"rules": each.pack.id, "version": each.pack.version, "head": heads[part]}
            for part, each in judged.items()
        },
        "scores": list(map(asdict, scores.compute_scores(asked, scores.part_figures(judged)))),
    }


@contextmanager
def verified(name: str, bag: bagit.Bag, asked: verify.Asked, buyers: Path | None) -> Iterator[VerifiedResponse]:
    """Verify each part, and that together they are what the bundle says. `buyers`: the buyer's own RFP, by whose packs
    the parts are judged.
    """
    if asked.rules:
        raise InputError("--rules: is for one part; name it with --part, or pass your RFP with --rfp")
    chains = {
        part: journal.read_chain(bag.root / verify.PARTS / part / "data/results/journal.jsonl")
        for part in verify.parts_of(bag)
    }
    stamps = {path: timestamps.read(path, asked.authority) for path in asked.timestamps if asked.authority}
    with ExitStack() as stack:
        own, of_rfp = _rfp(bag, buyers)
        order = [part.id for part in own.parts] if own else []
        parts: dict[str, verify.VerifiedBundle] = {}
        for part, chain in sorted(chains.items(), key=lambda each: order.index(each[0]) if each[0] in order else -1):
            others = {head for each in chains.values() if each is not chain for head in each.heads}
            of_part = replace(
                asked,
                part=part,
                rules=_buyers_pack(bag, own, part) if buyers and own else None,
                heads=tuple(head for head in asked.heads if head in chain.heads or head not in others),
                timestamps=tuple(path for path, stamp in stamps.items() if stamp.digest in chain.heads),
            )
            inner = stack.enter_context(verify.opened(bag.root / verify.PARTS / part))
            parts[part] = verify.of_bag(f"{name}, part {part}", inner, of_part)
        judged = {part: each.judged.submission for part, each in parts.items() if each.judged}
        left = {
            path: stamp for path, stamp in stamps.items() if not any(stamp.digest in c.heads for c in chains.values())
        }
        signed = verify.signed_by(bag, asked)
        findings = (
            *of_rule("EVD-01", verify.BUNDLE, verify.complete(bag.problems)),
            *of_rule("CMP-05", verify.BUNDLE, _nothing_else(bag, parts)),
            *of_rule("EVD-02", verify.BUNDLE, verify.stamped(bag, bag.root / "data", journal.Chain(), left)),
            *of_rule("EVD-03", verify.BUNDLE, verify.signature(signed, asked.signers is not None)),
            *of_rule("EVD-04", verify.BUNDLE, _same(bag, own, judged, chains) if own else ()),
            *of_rule("EVD-05", verify.BUNDLE, of_rfp),
        )
        missing = [part.id for part in own.unanswered(parts)] if own else []
        scored = scores.compute_scores(own, scores.part_figures(judged)) if own else []
        yield VerifiedResponse(name, own, findings, parts, tuple(missing), tuple(scored))


def _buyers_pack(bag: bagit.Bag, own: rfp.Rfp, part: str) -> str | None:
    """The pack of the buyer's RFP, if the part was measured by one of that name: otherwise EVD-04 says so."""
    asked = next((str(rfp.pack_of(own, each)) for each in own.parts if each.id == part), "")
    there = (bag.root / verify.PARTS / part / "data/rules" / f"{Path(asked).stem}.yaml").is_file()
    return asked if there else None


def _nothing_else(bag: bagit.Bag, parts: Mapping[str, verify.VerifiedBundle]) -> Iterator[Finding]:
    """CMP-05: beside the parts there is only what the bundle is described to have."""
    known = (RFP, RESPONSE, *(f"{verify.PARTS}/{part}/" for part in parts))
    for name in bag.digests:
        if name.startswith(bagit.PAYLOAD) and not name.startswith(known):
            yield violation("{name}: does not belong in the bundle of an RFP's parts", name=quoted(name))


def _rfp(bag: bagit.Bag, buyers: Path | None) -> tuple[rfp.Rfp | None, list[Finding]]:
    """The RFP to judge by, and how the vendor's differs from it."""
    try:
        vendors = rfp.load(bag.root / RFP)
    except CampaignError as error:
        return None, [violation("the RFP cannot be read: {why}", why=str(error).replace(f"{bag.root}/", ""))]
    if buyers is None:
        return vendors, [unchecked_by_buyer("the RFP is the vendor's copy: pass yours with --rfp")]
    own = rfp.load(buyers)
    if own.digest == vendors.digest:
        return own, [note("the RFP is identical to yours")]
    return own, [violation("the vendor's RFP differs from yours", own.digest, vendors.digest)]


def _same(
    bag: bagit.Bag, own: rfp.Rfp, judged: Mapping[str, Submission], chains: Mapping[str, journal.Chain]
) -> Iterator[Finding]:
    """EVD-04: every part answers this RFP, in one campaign file, and the scores follow from the parts."""
    files = {compared.text_of(bag.root / verify.PARTS / part / "data/campaign.yaml") for part in judged}
    if len(files) > 1:
        yield violation("the parts are not of one campaign file", "one", len(files))
    packs = {part.id: part for part in own.parts}
    for part, each in judged.items():
        if each.campaign.part != part:
            yield violation(
                "{part}: its evidence is that of part {other}", part=part, other=each.campaign.part or "none"
            )
        if part not in packs:
            yield violation("{part}: not a part of the RFP", part=part)
        elif each.pack.id != Path(packs[part].pack).stem or packs[part].version not in (None, each.pack.version):
            found = f"{each.pack.id} {each.pack.version}"
            yield violation("{part}: another rule pack than the RFP's", packs[part].pack, found, part=part)
    heads = {part: chains[part].head for part in judged}
    stated = compared.object_of(compared.text_of(bag.root / RESPONSE) or "")
    rederived = json.loads(replay.as_json(_response(own, judged, heads)))
    if {**stated, "rfp": None} != {**rederived, "rfp": None}:
        yield violation("response.json cannot be reproduced from the parts")


def texts(verified: VerifiedResponse) -> Sequence[str]:
    """The lines about the bundle as a whole."""
    return [f"  {verify_text.word([each]):12} {each.rule} {plain(each.message)}" for each in verified.findings]

"""Verifies a bundle offline: its hashes, its signature, its journal, and every number re-evaluated.

A bundle is untrusted: `bagit` copies it into a private directory, and nothing that it names is opened or executed on
this machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path

from campaign import __version__
from campaign.config.rules import packs
from campaign.config.rules.pack import RulePack
from campaign.config.waivers import Waiver
from campaign.core import bagit, journal, signatures, temporary, timestamps
from campaign.core.errors import CampaignError, InputError, reraise_machine_problem
from campaign.core.escaping import plain
from campaign.core.findings import Finding, Severity
from campaign.core.strict_yaml import quoted
from campaign.core.units import bound_listing
from campaign.evidence import (
    bundle,
    copies,
    derived_files,
    inventory,
    job_scripts,
    provenance,
    replay,
)
from campaign.evidence.bundle_decision import BundleDecision, BundleFacts, VerifyOutcome, decide_on_bundle
from campaign.evidence.journal_checks import Coverage, check_journal, check_time_stamps, journal_coverage
from campaign.evidence.terms import HEAD, NONCE, TIMESTAMP, OfferTerms, shown_proofs
from campaign.judge import engine
from campaign.judge.findings import CAMPAIGN, complete_findings, note, unchecked, unchecked_by_buyer, violation
from campaign.judge.history import check_hidden_measurements, check_recovery
from campaign.judge.rule import bundle_rule

BUNDLE = "bundle"  # the subject of findings about it
MOST_STAMPS = 1000  # of those in a bundle that are read, which takes a hundredth of a second each


@dataclass(frozen=True, slots=True)
class Buyer:
    """What the buyer provides besides the bundle: trusted keys, the nonce issued, journal heads received, rules, and
    keys that may sign waivers.
    """

    signers: Path | None = None
    nonce: str | None = None
    heads: tuple[str, ...] = ()
    rules: str | None = None  # id of a pack, or a path to one
    waiver_signers: Path | None = None
    timestamps: tuple[Path, ...] = ()
    authority: Path | None = None  # the certificates for checking the time stamps
    terms: OfferTerms | None = None
    part: str = ""  # of an RFP
    sacct: Path | None = None  # Slurm's accounting, as the buyer has it
    other_jobs: frozenset[str] = frozenset()  # names of jobs in the journals of the RFP's other parts
    received: Mapping[str, date | None] = field(default_factory=dict)  # the days on which heads arrived

    def with_terms(self, terms: OfferTerms) -> Buyer:
        """What the terms say, and what is given here besides."""
        return replace(
            self,
            signers=self.signers or terms.signers,
            nonce=self.nonce or terms.nonce,
            heads=tuple(dict.fromkeys((*self.heads, *terms.received_heads))),
            received=terms.received_heads,
            rules=self.rules or (None if terms.is_of_rfp else terms.rules),
            waiver_signers=self.waiver_signers or terms.waiver_signers,
            authority=self.authority or terms.authority,
            terms=terms,
        )


@dataclass(frozen=True, slots=True)
class Signature:
    """`signer`: the name in the list of keys, "" without a list; `problem`: why the signature is invalid."""

    key: str = ""
    signer: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class VerifiedPart:
    """The bundle of a part. `findings` are about the bundle; those about the campaign, by the buyer's rules, are in
    `evaluation`, which is None if it cannot be re-evaluated.
    """

    name: str
    files: int
    size: int
    signature: Signature | None
    tool: str
    chain: journal.Chain
    findings: tuple[Finding, ...]
    evaluation: replay.Evaluation | None
    vendors_evaluation: replay.Evaluation | None  # as the vendor judged it, by which its tables were written
    decision: BundleDecision
    proofs: tuple[str, ...]  # of `terms.PROOFS`
    coverage: Coverage

    @property
    def intact(self) -> bool:
        """Whether the bundle is unaltered and reproducible: a check that lacks a key or nonce does not count against
        it.
        """
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def campaign_findings(self) -> tuple[Finding, ...]:
        """Findings about the entire campaign, not about a result or an attempt."""
        findings = self.evaluation.submission.findings if self.evaluation else ()
        return tuple(finding for finding in findings if finding.subject == CAMPAIGN)

    @property
    def complies(self) -> bool:
        """Whether nothing is wrong, and nothing is left to be checked or explained."""
        return self.decision.outcome is VerifyOutcome.COMPLIANT


@contextmanager
def open_bundle(path: Path) -> Iterator[bagit.Bag]:
    """A bundle, copied into a private directory and compared with its manifests. Raises InputError if it cannot be
    one.
    """
    with temporary.directory("campaign-verify.") as place:
        yield bagit.read(path, place)


@contextmanager
def verify(path: Path, buyer: Buyer) -> Iterator[VerifiedPart]:
    """Verify the bundle of a part; the evaluated campaign's files exist within the context, for a report.

    Raises InputError if it cannot be a bundle, and for mistakes in what the buyer provides.
    """
    load_buyers_rules(buyer)
    with open_bundle(path) as bag:
        yield verify_bag(path, bag, buyer)


def load_buyers_rules(buyer: Buyer) -> RulePack | None:
    """The buyer's rule pack, if one is named. Mistakes in the buyer's own arguments are not the bundle's fault."""
    for option, keys in (("--signers", buyer.signers), ("--waiver-signers", buyer.waiver_signers)):
        if keys is not None and not keys.is_file():
            raise InputError(f"{option} {keys}: not found; give the file with the public keys that you trust")
        if keys is not None and not signatures.has_signers(keys):
            raise InputError(
                f"{option} {keys}: no line of the form 'name key-type key', such as 'vendor ssh-ed25519 AAAA…' (ssh's "
                "allowed_signers)"
            )
    if buyer.timestamps and buyer.authority is None:
        raise InputError("--timestamp: needs --authority, the certificates of the time-stamp authority")
    for path in (*buyer.timestamps, *filter(None, (buyer.authority, buyer.sacct))):
        if not path.is_file():
            raise InputError(f"{path}: not found")
    for head in buyer.heads:
        if not re.fullmatch("[0-9a-f]{64}", head):
            raise InputError(f"--head {quoted(head[:80])}: not a journal head; allowed: 64 hexadecimal digits")
    return packs.load(buyer.rules) if buyer.rules else None


def verify_bag(path: Path, bag: bagit.Bag, buyer: Buyer) -> VerifiedPart:
    """Verify the bundle of a part that was read. `path`: of the entire bundle."""
    buyers_pack = load_buyers_rules(buyer)
    accounting_rows = copies.read_accounting(buyer.sacct) if buyer.sacct else []
    accepted_by: replay.Accepted = (
        partial(buyer.terms.accept_findings, part=buyer.part) if buyer.terms else lambda *_: {}
    )
    data = bag.root / "data"
    signature = read_signature(bag, buyer)
    tool, problem, evaluation, buyers_evaluation = "", "", None, None
    differences: dict[str, str] | None = None
    reworded: tuple[str, ...] = ()
    rules = replay.Rules(replay.RulesCopy.BUNDLE)
    try:
        tool = replay.read_names(data).tool
        rules = replay.choose_rules(buyers_pack, data)
        with replay.collected_evidence(data) as chain:
            evaluation = buyers_evaluation = replay.evaluate(data, chain)
            if rules.path is not None or evaluation.submission.campaign.waivers or buyer.terms:
                buyers_evaluation, rules = _evaluate_by_buyer(data, chain, rules, buyer.waiver_signers, accepted_by)
        differences, reworded = _rederived_differences(data, bag, evaluation, tool)
    except Exception as error:  # whatever a doctored file brings about is its fault, and must not end the verification
        reraise_machine_problem(error)
        text = str(error) if isinstance(error, CampaignError | ValueError) else f"{type(error).__name__}: {error}"
        buyers_evaluation, problem = None, plain(text.replace(f"{data}/", "")[:2000])
    chain = (evaluation and evaluation.chain) or journal.read_chain(data / "results" / "journal.jsonl")
    if evaluation and differences is not None:
        differences |= job_scripts.unplanned_attempts(data, bag, evaluation)
    stamp_files = (data / "results/timestamps" / f"{head}.tsr" for head in chain.heads)
    drivers_stamps = list(filter(Path.is_file, stamp_files if (data / "results/timestamps").is_dir() else ()))
    stamps_to_read = (*buyer.timestamps, *drivers_stamps[:: -(1 + len(drivers_stamps) // MOST_STAMPS)])
    stamps = {path: timestamps.read(path, buyer.authority) for path in stamps_to_read if buyer.authority}
    # A time stamp of the bundle says nothing about what was done before it was written.
    coverage = journal_coverage(chain, buyer.heads, buyer.received, stamps.values())
    has_proof = {
        NONCE: buyer.nonce is not None and buyer.nonce == chain.nonce,
        HEAD: bool(coverage.head),
        TIMESTAMP: bool(coverage.stamp),
        **dict.fromkeys(shown_proofs(buyer.terms, chain.head) if buyer.terms else (), True),
    }
    proofs = tuple(proof for proof, is_given in has_proof.items() if is_given)
    foreign_heads = [head for head in buyer.heads if head not in chain.heads and head not in chain.earlier]
    has_received_head = bool(coverage.covered_runs or foreign_heads)
    # Reported under any rules: lines of the journal may have been lost.
    lost = chain.recovered if evaluation and "EVD-02" not in evaluation.submission.pack.checks else ()
    journal_findings = (
        *check_journal(
            *(chain, buyer.nonce, buyer.heads, buyer.received),
            bag.info.get("Journal-Head", "none"),
            has_received_head,
        ),
        *check_time_stamps(bag, chain, stamps),
        *([note(_STAMPS_UNREAD)] if drivers_stamps and not buyer.authority else []),
        *(finding for event in lost for finding in check_recovery(event)),
        *(buyer.terms.missing_proofs(proofs) if buyer.terms else ()),
    )
    findings = (
        *(complete_findings("CMP-05", BUNDLE, inventory.check_inventory(data, bag, evaluation)) if evaluation else ()),
        *complete_findings("EVD-01", BUNDLE, check_manifests(bag.problems)),
        *complete_findings("EVD-03", BUNDLE, check_signature(signature, buyer.signers is not None)),
        *complete_findings("EVD-04", BUNDLE, check_reevaluation(differences, reworded, problem, tool)),
        *complete_findings("EVD-04", BUNDLE, _check_reworded_texts(data, reworded, evaluation, tool)),
        *complete_findings("EVD-02", BUNDLE, journal_findings),
        *complete_findings("EVD-05", BUNDLE, rules.findings()),
        *(_check_evaluation(bag, evaluation, tool, buyer, accounting_rows) if evaluation else ()),
    )
    changes = accepted_by(findings, ())
    findings = tuple(changes.get(finding, finding) for finding in findings)
    buyers_evaluation = buyers_evaluation and _without_bundle_rules(buyers_evaluation)
    submission = buyers_evaluation.submission if buyers_evaluation else None
    facts = BundleFacts(
        path.name,
        (signature.signer or signature.key) if signature else "",
        bool(signature and signature.signer),
        rules.copy,
        buyer.terms.path if buyer.terms else None,
        proofs,
        (data / provenance.SOURCE).is_file(),
        buyer.part,
        coverage,
        bool(submission and submission.campaign.benchmark.external and submission.sources.comparison is None),
        path,
    )
    decision = decide_on_bundle(facts, findings, submission)
    about = facts.title, len(bag.digests), bag.size, signature, tool, chain
    return VerifiedPart(*about, findings, buyers_evaluation, evaluation, decision, proofs, coverage)


def _evaluate_by_buyer(
    data: Path,
    chain: journal.Chain | None,
    rules: replay.Rules,
    waiver_signers: Path | None,
    accepted: replay.Accepted,
) -> tuple[replay.Evaluation, replay.Rules]:
    """The campaign by the buyer's rules; by the vendor's if they were amended so that its file does not fit them."""
    try:
        return replay.evaluate(data, chain, replay.BuyersTerms(rules.path, waiver_signers, accepted)), rules
    except (CampaignError, ValueError) as error:
        if not rules.measured:
            raise
        reraise_machine_problem(error)
        rules = replace(rules, path=None, problem=plain(str(error).replace(f"{data}/", "")[:500]))
        return _evaluate_by_buyer(data, chain, replace(rules, measured=""), waiver_signers, accepted)[0], rules


def _check_evaluation(
    bag: bagit.Bag, evaluation: replay.Evaluation, tool: str, buyer: Buyer, accounting_rows: Sequence[Mapping[str, str]]
) -> Iterator[Finding]:
    """The checks that compare the bundle with its re-evaluated campaign."""
    data, submission = bag.root / "data", evaluation.submission
    if buyer.terms:
        yield from complete_findings("ENV-04", BUNDLE, buyer.terms.violated_terms(submission))
    yield from complete_findings("EVD-06", BUNDLE, copies.check_copies(data, bag, evaluation, tool))
    if accounting_rows:
        accounting_findings = copies.check_accounting(accounting_rows, submission, buyer.other_jobs)
        yield from complete_findings("EVD-06", BUNDLE, accounting_findings)
    yield from complete_findings("INP-01", BUNDLE, copies.check_input_files(evaluation))
    if "RUN-08" not in submission.pack.checks:  # under any rules: results may have been selected
        yield from complete_findings("RUN-08", BUNDLE, check_hidden_measurements(submission))
    yield from complete_findings("WVR-01", BUNDLE, _check_waivers(submission.campaign.waivers, buyer))


_STAMPS_UNREAD = (
    "the bundle has time stamps of the journal's heads: pass the certificates of their authority (--authority)"
)


def _rederived_differences(
    data: Path, bag: bagit.Bag, evaluation: replay.Evaluation, tool: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Derived files that differ in the bundle, and those that an earlier version only worded differently."""
    is_earlier = derived_files.is_earlier_version(tool)
    described = evaluation
    if is_earlier:  # its statement on the tables has the hashes of its own texts
        texts = {name: derived_files.read_text(data / name) for name in evaluation.files}
        described = replace(evaluation, files={name: text for name, text in texts.items() if text is not None})
    metadata = provenance.crate(evaluation, data, bag.info.get("Bagging-Date", ""))
    rederived = {**evaluation.files, **provenance.statements(data, described, tool), provenance.CRATE: metadata}
    differences = derived_files.differing_files(data, rederived)
    reworded = [
        name for name in differences if is_earlier and derived_files.has_same_meaning(name, data, rederived[name])
    ]
    return {name: differences[name] for name in differences if name not in reworded}, tuple(reworded)


@bundle_rule(
    "EVD-01",
    "the bundle is complete and unchanged, and no path points outside it",
    why="a file that was changed, added or removed may carry altered results",
    remedy="write the bundle again with 'campaign bundle' and send it unchanged",
)
def check_manifests(problems: Sequence[str]) -> Iterator[Finding]:
    """The files compared with the lists of hashes (`campaign verify`)."""
    for problem in problems[: inventory.MOST_SHOWN]:
        yield violation(problem)
    if (further := len(problems) - inventory.MOST_SHOWN) > 0:
        yield violation("and {count} more", count=further)


@bundle_rule(
    "EVD-03",
    "the bundle is signed with a key that the buyer trusts",
    why="without a trusted signature anybody could have altered the bundle and its checksums",
    remedy="sign the bundle with 'campaign bundle --sign KEY', and give the buyer the public key separately",
)
def check_signature(signature: Signature | None, has_signers: bool) -> Iterator[Finding]:
    """The signature (`campaign verify`)."""
    if signature and signature.problem:
        yield violation("invalid signature: {problem}", problem=signature.problem)
    elif not signature:
        yield unchecked(
            "the bundle is not signed and may have been altered",
            remedy="sign the bundle: campaign bundle FILE -o OUT.zip --sign KEY",
        )
    elif not has_signers:
        yield unchecked_by_buyer(
            "signed by an unknown {signer}",
            signer=signature.key or "key",
            remedy="pass the vendor's public key with --signers",
        )


@bundle_rule(
    "EVD-04",
    "offline re-evaluation of the raw logs gives identical tables, findings and verdict",
    why="tables that cannot be derived from the raw logs were altered, or made by another program",
    remedy="write the bundle again with 'campaign bundle', without editing tables or logs",
)
def check_reevaluation(
    differences: Mapping[str, str] | None, reworded: Sequence[str], problem: str, tool: str
) -> Iterator[Finding]:
    """Byte for byte (`campaign verify`); for a bundle of an earlier version, every number with its run, attempt and log
    line, the violated rules, the verdict and the statements (noted).

    Texts of another version may differ, what they state may not. `differences` is None if the bundle cannot be
    re-evaluated, and `problem` says why.
    """
    if differences is None:
        yield violation("cannot be re-evaluated: {why}", "the identical verdict", why=problem)
        return
    for name, difference in differences.items():
        if tool in ("", f"campaign {__version__}"):
            yield violation("{name} cannot be reproduced from the evidence: {how}", name=name, how=difference)
        else:
            yield violation(
                "{name} cannot be reproduced from the evidence (made by {tool}, whose checks may differ: verify with "
                "that version): {how}",
                name=name,
                tool=tool,
                how=difference,
            )
    if reworded:
        yield note(
            "made by {tool}: numbers, log lines, violated rules and verdict are the same; texts differ between "
            "versions and were not compared in {files}",
            tool=tool,
            files=", ".join(reworded),
        )


def _check_reworded_texts(
    data: Path, reworded: Sequence[str], evaluation: replay.Evaluation | None, tool: str
) -> Iterator[Finding]:
    """EVD-04: a text in the words of another version has no numbers that the evidence does not give."""
    derived_texts = evaluation.files.values() if evaluation else ()
    for name in reworded:
        text = derived_files.read_text(data / name) if name.endswith(".txt") else None
        if numbers := derived_files.foreign_numbers(text or "", derived_texts):
            yield unchecked_by_buyer(
                "{name} has numbers that the evidence does not give: {numbers}; verify with {tool}, which made it",
                name=name,
                numbers=bound_listing(numbers),
                tool=tool,
            )


def _without_bundle_rules(evaluation: replay.Evaluation) -> replay.Evaluation:
    """Without the rules about the bundle, which were judged now, and EVD-05, which the buyer's pack decides."""
    excluded = {*engine.BUNDLE_RULES, "EVD-05"}
    findings = tuple(finding for finding in evaluation.submission.findings if finding.rule not in excluded)
    return replace(evaluation, submission=replace(evaluation.submission, findings=findings))


def read_signature(bag: bagit.Bag, buyer: Buyer) -> Signature | None:
    if bagit.SIGNATURE not in bag.digests or bagit.TAG_MANIFEST not in bag.digests:
        return None
    text, signature = (bag.root / bagit.TAG_MANIFEST).read_bytes(), bag.root / bagit.SIGNATURE
    maker = signatures.made_by(text, signature, bundle.NAMESPACE)
    if maker.problem or buyer.signers is None:
        return Signature(maker.by, problem=maker.problem and f"{bagit.SIGNATURE}: {maker.problem}")
    signer = signatures.verify(text, signature, buyer.signers, bundle.NAMESPACE)
    return Signature(maker.by, signer.by, signer.problem and f"{bagit.SIGNATURE}: {signer.problem}")


def _check_waivers(waivers: Sequence[Waiver], buyer: Buyer) -> Iterator[Finding]:
    """WVR-01: only the buyer knows whose waivers count; keys in the bundle prove nothing."""
    if buyer.waiver_signers is None and any(waiver.signature for waiver in waivers):
        yield unchecked_by_buyer(
            "waivers have no effect", remedy="pass the keys of those who may grant them with --waiver-signers"
        )

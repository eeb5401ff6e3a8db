"""Verifies a bundle offline: its hashes, its signature, its journal, and every number re-evaluated.

A bundle is untrusted: `bagit` copies it into a private directory, and nothing that it names is opened or executed on
this machine.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path

from campaign import __version__
from campaign.config.rules import packs
from campaign.config.rules.pack import RulePack
from campaign.config.waivers import NO_ANSWERS
from campaign.core import bagit, journal, signatures, temporary, timestamps
from campaign.core.errors import CampaignError, InputError, no_room, pass_on
from campaign.core.escaping import plain
from campaign.core.events import event_of
from campaign.core.model import Finding, Severity
from campaign.core.strict_yaml import quoted
from campaign.core.units import format_duration, plural, utc
from campaign.evidence import bundle, compared, provenance, replay
from campaign.evidence.bundle_decision import Conclusion, Known, VerifyOutcome, conclude
from campaign.evidence.terms import HEAD, NONCE, TIMESTAMP, OfferTerms, shown_proofs
from campaign.judge import engine
from campaign.judge.findings import CAMPAIGN, note, of_rule, to_explain, unchecked, unchecked_by_buyer, violation
from campaign.judge.history import check_hidden_measurements, lost_by_recovery
from campaign.judge.rule import bundle_rule

PARTS = "data/parts"  # of a bundle that answers an RFP: a bundle for each
BUNDLE = "bundle"  # the subject of findings about it
CLOCKS_S = 60.0  # how much the driver's clock may be behind the authority's
MOST_STAMPS = 1000  # of those in a bundle that are read, which takes a hundredth of a second each
LATE_S = 3600.0  # how long after the last event a head may be stamped, and still count as sent while it ran
FUTURE_S = 3600.0  # how much the driver's clock may be ahead of this machine's


@dataclass(frozen=True, slots=True)
class Asked:
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


@dataclass(frozen=True, slots=True)
class Signed:
    """`signer`: the name in the list of keys, "" without a list; `problem`: why the signature is invalid."""

    key: str = ""
    signer: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class VerifiedBundle:
    """`findings` are about the bundle; those about the campaign, by the buyer's rules, are in `judged`, which is None
    if it cannot be re-evaluated.
    """

    name: str
    files: int
    size: int
    signed: Signed | None
    tool: str
    chain: journal.Chain
    findings: tuple[Finding, ...]
    judged: replay.Judged | None
    vendors: replay.Judged | None  # as the vendor judged it, by which its tables were written
    conclusion: Conclusion
    proofs: tuple[str, ...]  # of `terms.PROOFS`

    @property
    def intact(self) -> bool:
        """Whether the bundle is unaltered and reproducible: a check that lacks a key or nonce does not count against
        it.
        """
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    @property
    def broad(self) -> tuple[Finding, ...]:
        """Findings about the campaign as a whole."""
        findings = self.judged.submission.findings if self.judged else ()
        return tuple(finding for finding in findings if finding.subject == CAMPAIGN)

    @property
    def complies(self) -> bool:
        """Whether nothing is wrong, and nothing is left to be checked or explained."""
        return self.conclusion.outcome is VerifyOutcome.COMPLIANT


@contextmanager
def opened(path: Path) -> Iterator[bagit.Bag]:
    """A bundle, copied into a private directory and compared with its manifests. Raises InputError if it cannot be
    one.
    """
    with tempfile.TemporaryDirectory(prefix="campaign-verify.") as place, no_room(temporary.full()):
        yield bagit.read(path, Path(place))


@contextmanager
def verify(path: Path, asked: Asked, part: str = "") -> Iterator[VerifiedBundle]:
    """Verify a bundle, or a part of one; the judged campaign's files exist within the context, for a report.

    Raises InputError if it cannot be a bundle, and for mistakes in what is asked.
    """
    buyers_rules(asked)
    with opened(path) as bag, of_part(path, bag, asked, part) as verified:
        yield verified


@contextmanager
def of_part(path: Path, bag: bagit.Bag, asked: Asked, part: str) -> Iterator[VerifiedBundle]:
    """Verify a bundle that was read, or a part of it."""
    parts = parts_of(bag)
    if part not in (parts or [""]):
        named = f"name one of its parts with --part: {', '.join(parts)}" if parts else "it has no parts"
        raise InputError(f"{path}: {named}")
    if not part:
        yield of_bag(path.name, bag, asked)
        return
    with opened(bag.root / PARTS / part) as inner:
        yield of_bag(f"{path.name}, part {part}", inner, replace(asked, part=part))


def parts_of(bag: bagit.Bag) -> list[str]:
    """The parts of a bundle that answers an RFP; none of one of a single rule pack."""
    places = (bag.root / PARTS).iterdir() if (bag.root / PARTS).is_dir() else ()
    return sorted(place.name for place in places if (place / "bagit.txt").is_file())


def buyers_rules(asked: Asked) -> RulePack | None:
    """The buyer's rule pack, if one is named. Mistakes in the buyer's own arguments are not the bundle's fault."""
    for option, keys in (("--signers", asked.signers), ("--waiver-signers", asked.waiver_signers)):
        if keys is not None and not keys.is_file():
            raise InputError(f"{option} {keys}: not found; give the file with the public keys that you trust")
        if keys is not None and not signatures.has_signers(keys):
            raise InputError(
                f"{option} {keys}: no line of the form 'name key-type key', such as 'vendor ssh-ed25519 AAAA…' (ssh's "
                "allowed_signers)"
            )
    if asked.timestamps and asked.authority is None:
        raise InputError("--timestamp: needs --authority, the certificates of the time-stamp authority")
    for path in (*asked.timestamps, *filter(None, (asked.authority, asked.sacct))):
        if not path.is_file():
            raise InputError(f"{path}: not found")
    for head in asked.heads:
        if not re.fullmatch("[0-9a-f]{64}", head):
            raise InputError(f"--head {quoted(head[:80])}: not a journal head; allowed: 64 hexadecimal digits")
    return packs.load(asked.rules) if asked.rules else None


def of_bag(name: str, bag: bagit.Bag, asked: Asked) -> VerifiedBundle:
    """Verify a bundle that was read."""
    named, accounted = buyers_rules(asked), compared.accounting(asked.sacct) if asked.sacct else []
    accepted = partial(asked.terms.accepted_by, part=asked.part) if asked.terms else NO_ANSWERS.accepted
    data = bag.root / "data"
    signed = signed_by(bag, asked)
    tool, why, judged, by_buyer = "", "", None, None
    differing: dict[str, str] | None = None
    reworded: tuple[str, ...] = ()
    rules = replay.Rules(replay.Copy.BUNDLE)
    try:
        tool = replay.read_names(data).tool
        rules = replay.choose(named, data)
        with replay.collected(data) as chain:
            judged = by_buyer = replay.judge(data, chain)
            if rules.path is not None or judged.submission.campaign.waivers or asked.terms:
                by_buyer = replay.judge(data, chain, replay.BuyersTerms(rules.path, asked.waiver_signers, accepted))
        differing, reworded = _differing(data, bag, judged, tool)
    except Exception as error:  # whatever a doctored file brings about is its fault, and must not end the verification
        pass_on(error)
        said = str(error) if isinstance(error, CampaignError | ValueError) else f"{type(error).__name__}: {error}"
        by_buyer, why = None, plain(said.replace(f"{data}/", "")[:2000])
    chain = (judged and judged.chain) or journal.read_chain(data / "results" / "journal.jsonl")
    if judged and differing is not None:
        differing |= compared.planned_otherwise(data, bag, judged)
    places = (data / "results/timestamps" / f"{head}.tsr" for head in chain.heads)
    sent = list(filter(Path.is_file, places if (data / "results/timestamps").is_dir() else ()))  # by the driver
    read = (*asked.timestamps, *sent[:: -(1 + len(sent) // MOST_STAMPS)])
    stamps = {path: timestamps.read(path, asked.authority) for path in read if asked.authority}
    # A time stamp of the bundle says nothing about what was done before it was written.
    given = {
        NONCE: asked.nonce is not None and asked.nonce == chain.nonce,
        HEAD: any(head in chain.heads for head in asked.heads),
        TIMESTAMP: any(_timely(stamp, chain) for stamp in stamps.values()),
        **dict.fromkeys(shown_proofs(asked.terms, chain.head) if asked.terms else (), True),
    }
    proofs = tuple(proof for proof, known in given.items() if known)
    headed = given[TIMESTAMP] or any(head not in chain.earlier for head in asked.heads)
    # Judged under any rules: results may have been selected, and lines of the journal lost.
    unlisted = {"EVD-02", "RUN-08"} - judged.submission.pack.checks.keys() if judged else set()
    lost = chain.recovered if "EVD-02" in unlisted else ()
    findings = (
        *of_rule("CMP-05", BUNDLE, compared.beside_tables(data, bag, judged) if judged else ()),
        *of_rule("EVD-01", BUNDLE, complete(bag.problems)),
        *of_rule("EVD-03", BUNDLE, signature(signed, asked.signers is not None)),
        *of_rule("EVD-04", BUNDLE, same_verdict(differing, reworded, why, tool)),
        *of_rule("EVD-02", BUNDLE, _of_journal(chain, asked, bag.info.get("Journal-Head", "none"), headed)),
        *of_rule("EVD-02", BUNDLE, stamped(bag, data, chain, stamps)),
        *of_rule("EVD-02", BUNDLE, [note(_STAMPS_UNREAD)] if sent and not asked.authority else []),
        *of_rule("EVD-02", BUNDLE, (finding for event in lost for finding in lost_by_recovery(event))),
        *of_rule("EVD-02", BUNDLE, asked.terms.missing_proofs(proofs) if asked.terms else ()),
        *of_rule("EVD-05", BUNDLE, rules.findings()),
        *of_rule("ENV-04", BUNDLE, asked.terms.violated_terms(judged.submission) if asked.terms and judged else ()),
        *of_rule("EVD-06", BUNDLE, compared.twice(data, bag, judged, tool) if judged else ()),
        *of_rule(
            "EVD-06", BUNDLE, compared.by_accounting(accounted, judged.submission) if judged and accounted else ()
        ),
        *of_rule("INP-01", BUNDLE, compared.input_files(judged) if judged else ()),
        *of_rule(
            "RUN-08", BUNDLE, check_hidden_measurements(judged.submission) if judged and "RUN-08" in unlisted else ()
        ),
        *of_rule("WVR-01", BUNDLE, _waivers(judged, asked)),
    )
    findings = tuple(replace(each, waived=accepted(each, ())) if each.open else each for each in findings)
    by_buyer = by_buyer and _of_campaign(by_buyer)
    known = Known(
        name,
        (signed.signer or signed.key) if signed else "",
        bool(signed and signed.signer),
        rules.copy,
        asked.terms is not None,
        proofs,
        (data / provenance.SOURCE).is_file(),
    )
    conclusion = conclude(known, findings, by_buyer.submission if by_buyer else None)
    return VerifiedBundle(
        name, len(bag.digests), bag.size, signed, tool, chain, findings, by_buyer, judged, conclusion, proofs
    )


_STAMPS_UNREAD = (
    "the bundle has time stamps of the journal's heads: pass the certificates of their authority (--authority)"
)


def _differing(data: Path, bag: bagit.Bag, judged: replay.Judged, tool: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Derived files that differ in the bundle, and those that an earlier version only worded differently."""
    metadata = provenance.crate(judged, data, bag.info.get("Bagging-Date", ""))
    rederived = {**judged.files, **provenance.statements(data, judged, tool), provenance.CRATE: metadata}
    differing = compared.differing(data, rederived)
    if compared.is_earlier(tool) and compared.same_numbers(data, judged.files):
        return {}, tuple(differing)
    return differing, ()


@bundle_rule(
    "EVD-01",
    "the bundle is complete and unchanged, and no path points outside it",
    why="a file that was changed, added or removed may carry altered results",
    remedy="write the bundle again with 'campaign bundle' and send it unchanged",
)
def complete(problems: Sequence[str]) -> Iterator[Finding]:
    """The files compared with the lists of hashes (`campaign verify`)."""
    for problem in problems[: compared.MOST_SHOWN]:
        yield violation(problem)
    if (more := len(problems) - compared.MOST_SHOWN) > 0:
        yield violation("and {count} more", count=more)


@bundle_rule(
    "EVD-03",
    "the bundle is signed with a key that the buyer trusts",
    why="without a trusted signature anybody could have altered the bundle and its checksums",
    remedy="sign the bundle with 'campaign bundle --sign KEY', and give the buyer the public key separately",
)
def signature(signed: Signed | None, signers_given: bool) -> Iterator[Finding]:
    """The signature (`campaign verify`)."""
    if signed and signed.problem:
        yield violation("invalid signature: {problem}", problem=signed.problem)
    elif not signed:
        yield unchecked("not signed: the bundle could have been altered and its checksums recomputed")
    elif not signers_given:
        yield unchecked_by_buyer(
            "signed by {signer}, an unknown key: pass the vendor's public key with --signers", signer=signed.key or "?"
        )


@bundle_rule(
    "EVD-04",
    "offline re-evaluation of the raw logs gives identical tables, findings and verdict",
    why="tables that cannot be derived from the raw logs were altered, or made by another program",
    remedy="write the bundle again with 'campaign bundle', without editing tables or logs",
)
def same_verdict(
    differing: Mapping[str, str] | None, reworded: Sequence[str], why: str, tool: str
) -> Iterator[Finding]:
    """Byte for byte (`campaign verify`); for a bundle of an earlier version, every number with its run, attempt and log
    line (noted).

    Texts and checks of another version may differ: then the values with their origins are identical. `differing` is
    None if the bundle cannot be re-evaluated, and `why` not.
    """
    if differing is None:
        yield violation("cannot be re-evaluated: {why}", "the identical verdict", why=why)
        return
    for name, how in differing.items():
        if tool in ("", f"campaign {__version__}"):
            yield violation("{name} cannot be reproduced from the evidence: {how}", name=name, how=how)
        else:
            yield violation(
                "{name} cannot be reproduced from the evidence (made by {tool}, whose checks may differ: verify with "
                "that version): {how}",
                name=name,
                tool=tool,
                how=how,
            )
    if reworded:
        yield note(
            "made by {tool}: all values, runs, attempts and log lines are identical; texts differ between versions "
            "and were not compared in {files}",
            tool=tool,
            files=", ".join(reworded),
        )


def _of_campaign(judged: replay.Judged) -> replay.Judged:
    """Without the rules about the bundle, which were judged now, and EVD-05, which the buyer's pack decides."""
    others = {*engine.BUNDLE_RULES, "EVD-05"}
    findings = tuple(each for each in judged.submission.findings if each.rule not in others)
    return replace(judged, submission=replace(judged.submission, findings=findings))


def signed_by(bag: bagit.Bag, asked: Asked) -> Signed | None:
    if bagit.SIGNATURE not in bag.digests or bagit.TAG_MANIFEST not in bag.digests:
        return None
    text, signature = (bag.root / bagit.TAG_MANIFEST).read_bytes(), bag.root / bagit.SIGNATURE
    maker = signatures.made_by(text, signature, bundle.NAMESPACE)
    if maker.problem or asked.signers is None:
        return Signed(maker.by, problem=maker.problem and f"{bagit.SIGNATURE}: {maker.problem}")
    signer = signatures.verify(text, signature, asked.signers, bundle.NAMESPACE)
    return Signed(maker.by, signer.by, signer.problem and f"{bagit.SIGNATURE}: {signer.problem}")


def _waivers(judged: replay.Judged | None, asked: Asked) -> Iterator[Finding]:
    """WVR-01: only the buyer knows whose waivers count; keys in the bundle prove nothing."""
    if asked.waiver_signers is None and judged and any(each.signature for each in judged.submission.campaign.waivers):
        yield unchecked_by_buyer(
            "waivers have no effect: pass the keys of those who may grant them with --waiver-signers"
        )


def _timely(stamp: timestamps.Stamp, chain: journal.Chain) -> bool:
    """Whether a head was stamped while the campaign ran: a later time stamp says nothing about what was left out."""
    return stamp.digest in chain.heads and stamp.time is not None and stamp.time.timestamp() < chain.latest + LATE_S


def stamped(
    bag: bagit.Bag, data: Path, chain: journal.Chain, stamps: Mapping[Path, timestamps.Stamp]
) -> Iterator[Finding]:
    """EVD-02: what each time stamp proves to have existed at its time."""
    times: dict[str, list[datetime]] = {}  # by head
    for path, stamp in stamps.items():
        if stamp.problem or stamp.time is None:
            yield violation("{path}: not a valid time stamp: {why}", path=path.name, why=stamp.problem)
        elif stamp.digest == bag.digests.get(bagit.TAG_MANIFEST):
            yield note("the bundle existed at {time}", time=f"{stamp.time:%Y-%m-%d %H:%M:%S}")
        elif stamp.digest not in chain.heads:
            yield violation(
                "{path}: this time stamp belongs neither to the bundle nor to its journal",
                "a head of the journal",
                stamp.digest,
                path=path.name,
            )
        else:
            times.setdefault(stamp.digest, []).append(stamp.time)
    if times:
        numbers = {head: number for number, head in enumerate(chain.heads, 1) if head in times}
        yield from _heads_stamped(data, sorted((numbers[head], min(found)) for head, found in times.items()))


def _heads_stamped(data: Path, stamps: Sequence[tuple[int, datetime]]) -> Iterator[Finding]:
    """Each event existed before the first time stamp that covers it; runs not long before."""
    longest_s, place, (last, at) = 0.0, 0, stamps[-1]
    with (data / "results/journal.jsonl").open("rb") as file:
        for number, event in enumerate(filter(None, map(event_of, islice(file, last))), 1):
            place += number > stamps[place][0]
            stamped = stamps[place][1]
            if event["time"] > stamped.timestamp() + CLOCKS_S:
                yield violation(
                    "event {event} of the journal is later than a time stamp that covers it",
                    f"before {utc(stamped.timestamp())}",
                    utc(event["time"]),
                    event=number,
                )
                return
            if event["event"] == "ended" and event["ended"]:
                longest_s = max(longest_s, stamped.timestamp() - event["ended"])
    yield note(
        "{count} prove that the first {events} events of the journal existed at {time}; their runs had ended at most "
        "{wait} earlier",
        events=last,
        time=f"{at:%Y-%m-%d %H:%M:%S} UTC",
        count=plural(len(stamps), "time stamp"),
        wait=format_duration(round(longest_s)),
    )


def _of_journal(chain: journal.Chain, asked: Asked, stated_head: str, headed: bool) -> Iterator[Finding]:
    """EVD-02, with what only the buyer knows."""
    if chain.problem:
        yield violation("journal.jsonl: {problem}", problem=chain.problem)
        return
    if stated_head != (chain.head or "none"):
        yield violation(
            "bag-info.txt: Journal-Head differs from the journal's last hash", chain.head or "none", stated_head
        )
    if chain.latest > time.time() + FUTURE_S:
        yield violation(
            "the journal has events in the future: a clock was changed, at the vendor's site or here",
            f"before {utc(time.time())}",
            utc(chain.latest),
        )
    if asked.nonce is not None and chain.nonce != asked.nonce:
        yield violation("the journal does not start with the nonce you gave", asked.nonce, chain.nonce or "none")
    if asked.nonce is None and not headed:
        yield unchecked_by_buyer(
            "the journal may have been rewritten: pass the nonce that you issued (--nonce) or a journal head that you "
            "received (--head)"
        )
    for head in asked.heads:
        if head in chain.earlier:
            yield to_explain(
                "the journal head sent during the campaign belongs to a line after lost ones: it proves nothing about "
                "what was recorded before them",
                "a head of the journal",
                head,
            )
        elif head not in chain.heads:
            yield violation(
                "the journal head sent during the campaign is missing: the journal was rewritten afterwards",
                head,
                chain.head or "an empty journal",
            )

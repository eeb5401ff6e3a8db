"""The buyer's terms: what an offer must show, and what the buyer accepts of it by name (docs/evidence.md).

Without terms nothing is accepted: what waits for the buyer is printed in the form of these keys, to be copied.
"""

from __future__ import annotations

import datetime
import fnmatch
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from posixpath import normpath

from campaign.config import format, rfp, values
from campaign.config.rules import packs
from campaign.config.rules.kinds import RULE
from campaign.core import keys, schema
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.runs import Cell, matches
from campaign.core.strict_yaml import has_key
from campaign.core.units import listing
from campaign.judge.findings import unchecked_by_buyer, violation
from campaign.judge.submission import Submission
from campaign.judge.system_description import mounted_types
from campaign.results.cells import patterns

HEAD, NONCE, TIMESTAMP, SAMPLE, REBUILD = "head", "nonce", "timestamp", "sample", "rebuild"
PROOFS = (NONCE, HEAD, TIMESTAMP, SAMPLE, REBUILD)
EVERYWHERE = "*/*/*/*"
_HASH = schema.matching("[0-9a-f]{64}", "the head of a journal: 64 hexadecimal digits")
_PATTERN = schema.Text("a text, with * for any", longest=500)


@dataclass(frozen=True, slots=True)
class Acceptance:
    rule: str = keys.needed(RULE, "the rule of the finding")
    text: str = keys.needed(values.PROSE, "the explanation, or the finding itself, word by word as `verify` prints it")
    by: str = keys.needed(values.LINE, "who accepts it")
    date: datetime.date = keys.needed(values.DAY, "on which day")
    cells: str = keys.key(values.CELLS, "the cells in which it is accepted", EVERYWHERE)
    part: str = keys.key(format.NAME, "the only part of an RFP in which it is accepted", "", says_default="every part")


@dataclass(frozen=True, slots=True)
class ReceivedHead:
    head: str = keys.needed(_HASH, "the head of a journal, from its vendor")
    received: datetime.date = keys.needed(values.DAY, "on which day it arrived")


@dataclass(frozen=True, slots=True)
class ShownProof:
    """A proof that `verify` cannot see itself."""

    proof: str = keys.needed(
        schema.Choice((SAMPLE, REBUILD)), "what was shown: by `campaign accept`, or by `campaign rebuild`"
    )
    head: str = keys.needed(_HASH, "the head of the bundle's journal")
    by: str = keys.needed(values.LINE, "by whom")
    date: datetime.date = keys.needed(values.DAY, "on which day")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferTerms:
    path: Path
    rules: str = keys.needed(values.PACK, "the rule pack, by its id or file, or the file of an RFP, to judge by")
    version: int | None = keys.key(
        schema.Number(1, 10**6), "version of the rule pack, or of the RFP", says_default="any"
    )
    signers: Path = keys.needed(values.FILE, "public keys of the vendors (format of ssh's allowed_signers)")
    waiver_signers: Path | None = keys.key(
        values.FILE, "public keys of those who may grant waivers", says_default="nobody"
    )
    nonce: str | None = keys.key(format.NONCE, "the nonce that was issued")
    heads: tuple[str | ReceivedHead, ...] = keys.key(
        schema.ListOf(
            schema.OneOf(
                _HASH,
                keys.record(ReceivedHead),
                "a head of a journal, or its head with the day on which it was received",
            )
        ),
        "heads that the vendor of this one offer sent while it ran; otherwise `--head`",
    )
    authority: Path | None = keys.key(values.FILE, "certificates of the authority that makes time stamps")
    proof: tuple[str, ...] = keys.key(
        schema.ListOf(schema.Choice(PROOFS)),
        "what an offer must show beside a signature",
        says_default="one of nonce, head and timestamp",
    )
    shown: tuple[ShownProof, ...] = keys.key(
        schema.ListOf(keys.record(ShownProof)), "samples that were accepted, and benchmarks built again"
    )
    mounts: tuple[str, ...] = keys.key(
        schema.ListOf(_PATTERN), "types of file systems that results may be measured on", says_default="any"
    )
    launchers: tuple[str, ...] = keys.key(
        schema.ListOf(_PATTERN), "programs with their words that may stand before the benchmark", says_default="none"
    )
    preloads: tuple[str, ...] = keys.key(
        schema.ListOf(_PATTERN), "libraries that may be loaded into the benchmark", says_default="none"
    )
    accept: tuple[Acceptance, ...] = keys.key(
        schema.ListOf(keys.record(Acceptance), most=1000),
        "what is accepted by name: results that were declined or projected, explanations, changes of the source",
    )

    @property
    def received_heads(self) -> dict[str, datetime.date | None]:
        """The heads, with the day on which each arrived, if it is named."""
        return dict((head, None) if isinstance(head, str) else (head.head, head.received) for head in self.heads)

    @property
    def is_of_rfp(self) -> bool:
        return has_key(Path(self.rules), "parts")

    def accepted_by(self, finding: Finding, cells: Sequence[Cell], part: str = "") -> str:
        """Who has accepted a finding, and when, by an entry for each of its cells; "" if nobody has. Never a violation
        that a vendor can fix.
        """
        if finding.severity is Severity.ERROR and not finding.lifted_by_buyer:
            return ""
        libraries = [normpath(library) for library in finding.values.get("library", "").replace(":", " ").split()]
        launcher = finding.values.get("launcher", "")
        if libraries and all(_is_allowed(library, self.preloads) for library in libraries):
            return "preloads of the terms"
        if launcher and _is_allowed(launcher, self.launchers):
            return "launchers of the terms"
        entries = [
            entry
            for entry in self.accept
            if entry.rule == finding.rule
            and " ".join(entry.text.split()) == finding.acceptance_text
            and entry.part in ("", part)
            and (not cells or any(matches(cell, entry.cells) for cell in cells))  # none: about the bundle
        ]
        if not all(any(matches(cell, entry.cells) for entry in entries) for cell in cells):
            return ""
        return "; ".join(dict.fromkeys(f"{entry.by}, {entry.date}" for entry in entries))

    def missing_proofs(self, proofs: Collection[str]) -> Iterator[Finding]:
        """What these terms ask for and was not given."""
        remedies = {
            NONCE: "the journal starts with the nonce",
            HEAD: "pass one that the vendor sent while it ran (--head)",
            TIMESTAMP: "pass one of a journal head (--timestamp)",
            SAMPLE: "measure one again (campaign sample), and enter it under `shown`",
            REBUILD: "build the benchmark again (campaign rebuild), and enter it under `shown`",
        }
        for proof in self.proof:
            if proof not in proofs:
                yield unchecked_by_buyer("your terms ask for a {proof}: {how}", proof=proof, how=remedies[proof])

    def violated_terms(self, submission: Submission) -> Iterator[Finding]:
        """Violations of what these terms demand of rules and file systems, beyond the rules themselves."""
        pack = submission.pack
        if not self.is_of_rfp and self.version not in (None, pack.version):
            yield violation("the rule pack has another version than your terms name", self.version, pack.version)
        for target, kinds in mounted_types(submission.results).items():
            wrong_kinds = [kind for kind in kinds if not _is_allowed(kind, self.mounts)]
            if self.mounts and wrong_kinds:
                yield violation(
                    "{target} is on a file system that your terms do not allow",
                    listing(self.mounts),
                    listing(wrong_kinds),
                    target=target,
                )


def _is_allowed(text: str, allowed: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in allowed)


def load(path: Path) -> OfferTerms:
    """Read the terms. Raises InputError with everything that is wrong in them."""
    return keys.load(OfferTerms, path, partial(_check, path), path=path.absolute())


def _check(path: Path, read: schema.Values) -> None:
    for name in ("signers", "waiver_signers", "authority"):
        file = read[name] and values.absolute_path(path, read[name])
        if file and not file.is_file():
            read.problem(f"{file} does not exist", name)
    document = values.absolute_path(path, read["rules"] or "")
    if has_key(document, "parts") and read["version"] not in (None, rfp_version := rfp.load(document).version):
        read.problem(f"found {read['version']}; the RFP is version {rfp_version}", "version")
    for proof, source in ((NONCE, "nonce"), (TIMESTAMP, "authority")):
        if proof in read["proof"] and not read[source]:
            read.problem(f"asks for a {proof}, and {source} is missing; add it", "proof")


def acceptance_entries(findings: Iterable[Finding], universe: Sequence[Cell], part: str = "") -> str:
    """Entries of `accept` for findings, without the name and day that make them hold."""
    cells_by_text = grouped(((finding.rule, finding.acceptance_text), finding.cells) for finding in findings)
    entries = []
    for (rule, text), cells in cells_by_text.items():
        cell_patterns = [EVERYWHERE]
        if all(cells):
            cell_patterns = patterns((cell for pattern in cells for cell in pattern), universe)
        of_part = f", part: {part}" if part else ""
        entries += [
            f"  - {{rule: {rule}, cells: {json.dumps(pattern)}{of_part}, text: {json.dumps(text, ensure_ascii=False)}, "
            'by: "", date: ""}'
            for pattern in cell_patterns
        ]
    return "\n".join(["accept:", *entries]) if entries else ""


_TEXT = """\
# The buyer's terms for offers by {title}: campaign verify BUNDLE --terms {name}
# Keys: docs/evidence.md. Status 0 is given only by terms, and only if nothing is left open.

rules: {rules}
version: {version}

# Public keys of the vendors, one line each: NAME ssh-ed25519 AAAA...
signers: signers
# waiver_signers: board.keys

# Proof that no attempt was left out, beside the vendor's signature: a nonce that you issue before the campaign, heads
# of the journal that are sent to you while it runs (campaign head), or time stamps. Whether the numbers are those of
# the system only a sample shows (campaign sample).
nonce: <a random word that you issue>
proof: [nonce]
# heads: [{{head: HASH, received: "2026-11-22"}}]   # of one offer; for several, pass --head
# authority: tsa.pem

# What may be measured on, and what may stand around the benchmark; * is any text.
# mounts: [lustre, beegfs]
# launchers: ["numactl *"]
# preloads: [/opt/darshan/*]

# What you accept by name. `verify` prints the entries that an offer still needs.
# accept:
#   - {{rule: CMP-03, cells: "nfs/*/*/*", text: "declined: not offered", by: A. Buyer, date: "2026-11-26"}}
"""


def new_terms(rules: str, file: Path) -> str:
    """New terms, to be written to this file, for a rule pack or an RFP. Raises InputError if there is no such one."""
    document = rfp.load(Path(rules)) if has_key(Path(rules), "parts") else packs.load(rules)
    place = os.path.relpath(rules, file.parent) if values.is_path_of_pack(rules) else rules
    return _TEXT.format(title=document.title, name=file.name, rules=place, version=document.version)


def shown_proofs(terms: OfferTerms, head: str) -> Mapping[str, ShownProof]:
    """What the buyer says was shown of the bundle with this head."""
    return {proof.proof: proof for proof in terms.shown if proof.head == head}

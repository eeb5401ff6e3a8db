"""The buyer's terms: what an offer must show, and what the buyer accepts of it by name (docs/evidence.md).

Without terms nothing is accepted. An acceptance holds for the facts that it names: for what was found, in which cells,
with which explanation.
"""

from __future__ import annotations

import datetime
import fnmatch
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from campaign.config import format, rfp, values
from campaign.config.rules import packs
from campaign.config.rules.kinds import RULE
from campaign.core import keys, schema
from campaign.core.errors import InputError, typed_path
from campaign.core.findings import Finding
from campaign.core.runs import Cell, matches
from campaign.core.strict_yaml import Document, Mapping, Scalar, has_key
from campaign.core.units import listing
from campaign.judge.findings import unchecked_by_buyer, violation
from campaign.judge.submission import Submission
from campaign.judge.system_description import mounted_types
from campaign.report.decision import LONGEST, OpenDecision, open_decisions

HEAD, NONCE, TIMESTAMP, SAMPLE, REBUILD = "head", "nonce", "timestamp", "sample", "rebuild"
PROOFS = (NONCE, HEAD, TIMESTAMP, SAMPLE, REBUILD)
EVERYWHERE = "*/*/*/*"
_WRITTEN = ("rule", "part", "cells", "text", "facts", "reason", "by", "date")
_CELLS = schema.matching(
    r"[^/\s]+(/[^/\s]+){3}(, [^/\s]+(/[^/\s]+){3})*",
    "target/launch/files/operation, with * for any; of several, each after a comma",
    longest=20_000,
)
_HASH = schema.matching("[0-9a-f]{64}", "the head of a journal: 64 hexadecimal digits")
_PATTERN = schema.Text("a text, with * for any", longest=500)


@dataclass(frozen=True, slots=True)
class Acceptance:
    rule: str = keys.needed(RULE, "the rule of the finding")
    text: str = keys.needed(
        replace(values.PROSE, longest=LONGEST), "what was found, with the vendor's explanation, word by word"
    )
    by: str = keys.needed(values.LINE, "who accepts it")
    date: datetime.date = keys.needed(values.DAY, "on which day")
    facts: str = keys.key(
        schema.matching("[0-9a-f]{64}", "the SHA-256 of a decision: 64 hexadecimal digits"),
        "the SHA-256 of everything that was found, from `campaign terms accept`",
        "",
        says_default="none: then the text has to be the finding itself",
    )
    cells: str = keys.key(_CELLS, "the cells in which it is accepted", EVERYWHERE)
    part: str = keys.key(format.NAME, "the only part of an RFP in which it is accepted", "", says_default="every part")
    reason: str = keys.key(values.PROSE, "why it is accepted", "", says_default="none")

    def holds_for(self, decision: OpenDecision) -> bool:
        """Whether it is about what was found; its cells aside."""
        return (
            self.rule == decision.rule
            and self.part in ("", decision.part)
            and " ".join(self.text.split()) == decision.text
            and (self.facts == decision.facts if self.facts else decision.is_stated)
        )

    def as_entry(self, indent: str) -> str:
        """The entry as it is written in terms."""
        fields = {name: str(value) for name in _WRITTEN if (value := getattr(self, name))}
        lines = [f"{name}: {json.dumps(text, ensure_ascii=False)}" for name, text in fields.items()]
        return f"{indent}- " + f"\n{indent}  ".join(lines) + "\n"


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
        "what an offer must show besides a signature",
        says_default="one of nonce, head and timestamp",
    )
    shown: tuple[ShownProof, ...] = keys.key(
        schema.ListOf(keys.record(ShownProof)), "samples that were accepted, and benchmarks built again"
    )
    mounts: tuple[str, ...] = keys.key(
        schema.ListOf(_PATTERN), "types of file systems that results may be measured on", says_default="any"
    )
    accept: tuple[Acceptance, ...] = keys.key(
        schema.ListOf(keys.record(Acceptance), most=1000),
        "what is accepted by name: results that were declined or projected, explanations, changes of the source, "
        "libraries and programs around the benchmark",
    )

    @property
    def received_heads(self) -> dict[str, datetime.date | None]:
        """The heads, with the day on which each arrived, if it is named."""
        return dict((head, None) if isinstance(head, str) else (head.head, head.received) for head in self.heads)

    @property
    def is_of_rfp(self) -> bool:
        return has_key(Path(self.rules), "parts")

    def accepted_by(self, decision: OpenDecision) -> str:
        """Who has accepted it, and when, by entries for all of its cells; "" if nobody has."""
        entries = [entry for entry in self.accept if entry.holds_for(decision)]
        accepted_cells = [pattern for entry in entries for pattern in entry.cells.split(", ")]
        if not all(any(matches(cell, pattern) for pattern in accepted_cells) for cell in decision.cells):
            return ""
        return "; ".join(dict.fromkeys(f"{entry.by}, {entry.date}" for entry in entries))

    def accept_findings(
        self, findings: Iterable[Finding], universe: Sequence[Cell], part: str = ""
    ) -> dict[Finding, Finding]:
        """The findings that wait and are accepted, each with the finding that says by whom. Never a violation that a
        vendor can fix. `universe`: all cells.
        """
        waiting_findings = (finding for finding in findings if finding.undecided or finding.open)
        return {
            finding: replace(finding, waived=by)
            for decision in open_decisions(waiting_findings, universe, part)
            if (by := self.accepted_by(decision))
            for finding in decision.findings
        }

    def outdated_entries(self, decision: OpenDecision) -> list[Acceptance]:
        """Entries that name only the vendor's explanation, which binds no fact."""
        return [
            entry
            for entry in self.accept
            if not entry.facts and (entry.rule, " ".join(entry.text.split())) == (decision.rule, decision.explanation)
        ]

    def missing_proofs(self, proofs: Collection[str]) -> Iterator[Finding]:
        """What these terms ask for and was not given."""
        remedies = {
            NONCE: "have the vendor measure with your nonce, and pass it with --nonce",
            HEAD: "pass a journal head that the vendor sent while it ran (--head)",
            TIMESTAMP: "pass a time stamp of a journal head (--timestamp)",
            SAMPLE: "measure a sample again (campaign sample), and enter it under `shown`",
            REBUILD: "build the benchmark again (campaign rebuild), and enter it under `shown`",
        }
        for proof in self.proof:
            if proof not in proofs:
                yield unchecked_by_buyer("your terms require a {proof}", proof=proof, remedy=remedies[proof])

    def violated_terms(self, submission: Submission) -> Iterator[Finding]:
        """Violations of what these terms demand of rules and file systems, beyond the rules themselves."""
        pack = submission.pack
        if not self.is_of_rfp and self.version not in (None, pack.version):
            yield violation("the rule pack has another version than your terms name", self.version, pack.version)
        for target, kinds in mounted_types(submission.results).items():
            wrong_kinds = [
                kind for kind in kinds if not any(fnmatch.fnmatchcase(kind, pattern) for pattern in self.mounts)
            ]
            if self.mounts and wrong_kinds:
                yield violation(
                    "{target} is on a file system that your terms do not allow",
                    listing(self.mounts),
                    listing(wrong_kinds),
                    target=target,
                )


def load(path: Path) -> OfferTerms:
    """Read the terms. Raises InputError with everything that is wrong in them."""
    for key in filter(partial(has_key, path), ("launchers", "preloads")):
        raise InputError(
            f"{path}: {key}: a pattern of names says nothing about what such a file does; remove the key, and accept "
            f"each program or library that was found: campaign terms accept BUNDLE {typed_path(path)}"
        )
    return keys.load(OfferTerms, path, partial(_check, path), path=path)


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


def acceptance(decision: OpenDecision, by: str, day: datetime.date, reason: str) -> Acceptance:
    """The acceptance of a decision."""
    cells = ", ".join(decision.patterns) or EVERYWHERE
    return Acceptance(decision.rule, decision.text, by, day, decision.facts, cells, decision.part, reason)


def with_acceptance(path: Path, acceptance: Acceptance) -> str:
    """The text of terms with one more entry of `accept`, before the others; everything else stays as it is written.
    Raises InputError with the entry if it does not fit there.
    """
    text, root = path.read_bytes().decode(), Document.open(path).root
    lines = text.splitlines(keepends=True)
    pairs = root.pairs if isinstance(root, Mapping) else ()
    accept_line = next((key.line for key, _ in pairs if isinstance(key, Scalar) and key.text == "accept"), 0)
    if not accept_line:
        lines += ["\n" * (2 - text.endswith("\n")), "accept:\n"]
        accept_line = len(lines)
    lines[accept_line - 1] = re.sub(r"\[\s*\]", "", lines[accept_line - 1])
    indent = next((re.split("[^ ]", line)[0] for line in lines[accept_line:] if line.lstrip().startswith("-")), "  ")
    changed_text = "".join([*lines[:accept_line], acceptance.as_entry(indent), *lines[accept_line:]])
    try:
        document = Document(changed_text.encode(), str(path))
        keys.record(OfferTerms).read(document.root, (), document)
        document.finish()
    except InputError as error:
        raise InputError(
            f"{path}: accept: no entry can be added in this form; begin each entry on its own line, with a dash. "
            f"Nothing was written; with the entry below it would be wrong: {error}\n{acceptance.as_entry('')}"
        ) from error
    return changed_text


_TEXT = """\
# The buyer's terms for offers by {title}: campaign verify BUNDLE --terms {name}
# Keys: docs/evidence.md. Status 0 is given only by terms, and only if nothing is left open.

rules: {rules}
version: {version}

# Public keys of the vendors, one line each: NAME ssh-ed25519 AAAA...
signers: signers
# waiver_signers: board.keys

# Proof that no attempt was left out, besides the vendor's signature: a nonce that you issue before the campaign, heads
# of the journal that are sent to you while it runs (campaign head), or time stamps. Whether the numbers are those of
# the system only a sample shows (campaign sample).
nonce: <a random word that you issue>
proof: [nonce]
# heads: [{{head: HASH, received: "2026-11-22"}}]   # of one offer; for several, pass --head
# authority: tsa.pem

# What may be measured on; * is any text.
# mounts: [lustre, beegfs]

# What you accept by name: campaign terms accept BUNDLE {name} shows each open decision of an offer, and adds its entry.
# accept:
#   - {{rule: CMP-03, cells: "nfs/*/*/*", text: "declined: not offered", by: A. Buyer, date: "2026-11-26"}}
"""


def new_terms(rules: str, file: Path) -> str:
    """New terms, to be written to this file, for a rule pack or an RFP. Raises InputError if there is no such one."""
    document = rfp.load(Path(rules)) if has_key(Path(rules), "parts") else packs.load(rules)
    place = os.path.relpath(rules, file.parent) if values.is_path_of_pack(rules) else rules
    return _TEXT.format(title=document.title, name=file.name, rules=place, version=document.version)


def shown_proofs(terms: OfferTerms, head: str) -> dict[str, ShownProof]:
    """What the buyer says was shown of the bundle with this head."""
    return {proof.proof: proof for proof in terms.shown if proof.head == head}

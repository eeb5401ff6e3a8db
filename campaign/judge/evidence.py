"""The rules about the evidence: the journal's chain, the rule pack, and a submitted bundle. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from campaign.config.rules.packs import digest_of_own
from campaign.core.chain import Event
from campaign.core.model import Finding
from campaign.core.units import listed, several
from campaign.judge.findings import note, to_explain, unchecked, violation
from campaign.judge.submission import Submission

BUNDLE = "bundle"
MOST_SHOWN = 20  # problems of one kind
CLOCKS_S = 60.0  # how much the clocks of the machines that drive a campaign may differ


@dataclass(frozen=True, slots=True)
class HandedIn:
    """What was found about a bundle. `not_judged`: why it could not be re-evaluated, "" if it could."""

    problems: tuple[str, ...]  # of its structure, names, sizes and hashes
    unsupported: tuple[str, ...] = ()  # logs in it that no table refers to, and missing ones
    signature: str = ""  # whose it is, or by what key; "" where there is none
    signature_problem: str = ""
    signers_given: bool = False
    not_judged: str = ""
    differing: Mapping[str, str] | None = None  # what came out otherwise, by the name of its file; None: not judged
    reworded: tuple[str, ...] = ()  # files that another version words differently, with the same numbers
    tool: str = ""  # the version that made it, if another than this one


# --- of a campaign


def chain_whole(submission: Submission) -> Iterator[Finding]:
    """EVD-02: the journal is a complete chain that began with the buyer's nonce, if there is one."""
    chain, nonce = submission.journal, submission.campaign.nonce
    if chain is None:
        if submission.attempts:
            yield unchecked("journal not checked")
        return
    if chain.problem:
        yield violation("journal.jsonl: {problem}", "lines with hashes", problem=chain.problem)
        return
    for event in chain.recovered:
        yield from recovered(event)
    if chain.nonce != nonce:
        yield violation(
            "the journal does not start with the nonce of the campaign file", nonce or "none", chain.nonce or "none"
        )
    elif not nonce:
        yield note(
            "the buyer gave no nonce (a random word) before the runs: a journal rewritten as a whole would not be "
            "noticed"
        )
    line, back_s = chain.back
    if back_s > CLOCKS_S:
        yield to_explain(
            "journal.jsonl: the time of line {line} lies before that of an earlier line: a clock was set back, or the "
            "journal was edited",
            "times in the order of the lines",
            f"{back_s:.0f} s earlier",
            line=line,
        )


def recovered(event: Event) -> Iterator[Finding]:
    """What a recovered journal lacks."""
    lost = "lines at its end"
    if event["lost"]:
        lost = f"{listed(_lines(*each) for each in event['lost'])} and any lines that were removed there"
    if event["missing"]:
        lost += f" ({event['missing']} bytes fewer than had been read before)"
    yield to_explain(
        "journal.jsonl was damaged and is recovered from {damaged}, without {lost}. Attempts whose end is not in the "
        "remaining lines, and is taken from their folders: {open}. Attempts that no remaining line names, which are "
        "not used: {unnamed}",
        "every line",
        several(sum(last - max(first, 1) + 1 for first, last in event["lost"]), "line") + " lost",
        damaged=event["damaged"],
        lost=lost,
        open=listed(event["open"], MOST_SHOWN) or "none",
        unnamed=listed(event["unnamed"], MOST_SHOWN) or "none",
    )


def _lines(first: int, last: int) -> str:
    if last == 0:
        return "the lines before line 1"
    return f"line {first}" if first == last else f"lines {first} to {last}"


def pack_current(submission: Submission) -> Iterator[Finding]:
    """EVD-05: the rules are this version's pack with this id."""
    pack = submission.pack
    digest = digest_of_own(pack.id)
    if not digest:
        yield unchecked("custom rule pack {pack}: compare it with the buyer's", pack=pack.id)
    elif pack.digest and pack.digest != digest:
        yield violation(
            "the rule pack differs from the published {pack}", f"SHA-256 {digest}", pack.digest, pack=pack.id
        )


# --- of a bundle


def complete(bundle: HandedIn) -> Iterator[Finding]:
    """EVD-01: every file is listed with its hash, every listed file exists, and nothing points outside."""
    for problem in bundle.problems[:MOST_SHOWN]:
        yield violation(problem)
    if (more := len(bundle.problems) - MOST_SHOWN) > 0:
        yield violation("and {count} more", count=more)


def all_and_only(bundle: HandedIn) -> Iterator[Finding]:
    """CMP-05: it contains exactly the supporting logs; the index lists the others."""
    for problem in bundle.unsupported[:MOST_SHOWN]:
        yield to_explain(problem)


def signed(bundle: HandedIn) -> Iterator[Finding]:
    """EVD-03: signed by a listed key."""
    if bundle.signature_problem:
        yield violation("invalid signature: {problem}", problem=bundle.signature_problem)
    elif not bundle.signature:
        form = violation if bundle.signers_given else unchecked
        yield form("not signed: the bundle could have been altered and its checksums recomputed")
    elif not bundle.signers_given:
        yield unchecked(
            "signed by {signer}, an unknown key: pass the vendor's public key with --signers", signer=bundle.signature
        )


def same_verdict(bundle: HandedIn) -> Iterator[Finding]:
    """EVD-04: re-evaluated offline, the tables, findings and verdict are identical, byte for byte.

    Texts and checks of another version may differ: then the values with their origins are identical.
    """
    if bundle.differing is None:
        yield violation("cannot be re-evaluated: {why}", "the identical verdict", why=bundle.not_judged)
        return
    for name, how in bundle.differing.items():
        if bundle.tool:
            yield violation(
                "{name} cannot be reproduced from the evidence (made by {tool}, whose checks may differ: verify with "
                "that version): {how}",
                name=name,
                tool=bundle.tool,
                how=how,
            )
        else:
            yield violation("{name} cannot be reproduced from the evidence: {how}", name=name, how=how)
    if bundle.reworded:
        yield note(
            "made by {tool}: all values, runs, attempts and log lines are identical; texts differ between versions "
            "and were not compared in {files}",
            tool=bundle.tool,
            files=", ".join(bundle.reworded),
        )

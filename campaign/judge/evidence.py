"""The rules about the evidence: the journal's chain, the rule pack, and what was handed in. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from campaign.config.rules.load import digest_of_own, is_own
from campaign.core.model import Finding
from campaign.judge.findings import note, to_explain, unchecked, violation
from campaign.judge.submission import Submission

BUNDLE = "bundle"
MOST_SHOWN = 20  # problems of one kind


@dataclass(frozen=True, slots=True)
class HandedIn:
    """A bundle as it was looked at. `judged_again` is why it could not be judged, "" where it was."""

    problems: tuple[str, ...]  # of its form, names, sizes and hashes
    unsupported: tuple[str, ...] = ()  # logs in it that nothing in the tables rests on, and those that lack
    signature: str = ""  # whose it is, or by what key; "" where there is none
    signature_problem: str = ""
    signers_given: bool = False
    not_judged: str = ""
    differing: Mapping[str, str] | None = None  # what came out otherwise, by the name of its file; None: not judged
    reworded: tuple[str, ...] = ()  # files in which another version says the same numbers otherwise
    tool: str = ""  # that made it, where it is another than this one


# --- of a campaign


def chain_whole(submission: Submission) -> Iterator[Finding]:
    """EVD-02: the journal is a whole chain, which began with the buyer's nonce where there is one."""
    chain, nonce = submission.journal, submission.campaign.nonce
    if chain is None:
        if submission.attempts:
            yield unchecked("nobody looked at the journal")
        return
    if chain.problem:
        yield violation(f"journal.jsonl: {chain.problem}", "lines with hashes")
    elif chain.nonce != nonce:
        yield violation(
            "the journal did not begin with the nonce of the campaign file", nonce or "none", chain.nonce or "none"
        )
    elif not nonce:
        yield note(
            "no nonce of the buyer anchors the journal: its chain shows changes, and not that it was not made anew"
        )


def pack_current(submission: Submission) -> Iterator[Finding]:
    """EVD-05: the rules are those that this version has under their id, be it in the words of an earlier one."""
    pack = submission.pack
    own = digest_of_own(pack.id)
    if not own:
        yield unchecked(f"{pack.id} is no rule pack of this project: hold it against the one that the buyer gave")
    elif pack.digest != own and is_own(pack):
        yield note("the rule pack is an earlier edition: the same rules in other words", f"SHA-256 {own}", pack.digest)
    elif pack.digest and pack.digest != own:
        yield violation(f"the rules are not those of {pack.id} in this version", f"SHA-256 {own}", pack.digest)


# --- of a bundle


def complete(bundle: HandedIn) -> Iterator[Finding]:
    """EVD-01: every file is listed with its hash and every listed file is there, and nothing points outside."""
    for problem in bundle.problems[:MOST_SHOWN]:
        yield violation(problem)
    if (more := len(bundle.problems) - MOST_SHOWN) > 0:
        yield violation(f"and {more} more")


def all_and_only(bundle: HandedIn) -> Iterator[Finding]:
    """CMP-05: all and only the supporting logs are in it; the rest is in an index."""
    for problem in bundle.unsupported[:MOST_SHOWN]:
        yield to_explain(problem)


def signed(bundle: HandedIn) -> Iterator[Finding]:
    """EVD-03: signed by a listed key."""
    if bundle.signature_problem:
        yield violation(f"the signature does not hold: {bundle.signature_problem}")
    elif not bundle.signature:
        form = violation if bundle.signers_given else unchecked
        yield form("the bundle is not signed: whoever changed it could have made its hashes anew")
    elif not bundle.signers_given:
        yield unchecked(
            f"signed by {bundle.signature}, a key that may be anybody's: give the keys that you know with --signers"
        )


def same_verdict(bundle: HandedIn) -> Iterator[Finding]:
    """EVD-04: judged again offline, the same tables, findings and verdict come out, byte for byte.

    Another version may word and judge otherwise: then the numbers with their origins are the same.
    """
    if bundle.differing is None:
        yield violation(f"it cannot be judged again: {bundle.not_judged}", "the same verdict")
        return
    by = f" (made by {bundle.tool}, which may judge otherwise)" if bundle.tool else ""
    for name, how in bundle.differing.items():
        yield violation(f"{name} does not follow from the evidence{by}: {how}")
    if bundle.reworded:
        yield note(
            f"made by {bundle.tool}: every number, with its run, attempt and log line, is the same; this version words "
            f"or judges otherwise, and compared nothing else of, {', '.join(bundle.reworded)}"
        )

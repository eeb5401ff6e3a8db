"""The rules about a campaign's evidence: the journal's chain and the rule pack. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from campaign.config.rules.packs import digest_of_own
from campaign.core.events import Event
from campaign.core.model import Finding
from campaign.core.units import listed, several
from campaign.judge.findings import note, to_explain, unchecked, violation
from campaign.judge.submission import Submission

MOST_SHOWN = 20  # attempts
CLOCKS_S = 60.0  # how much the clocks of the machines that drive a campaign may differ


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

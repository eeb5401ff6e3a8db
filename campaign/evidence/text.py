"""What 'campaign verify' prints of a bundle: as JSON, line by line, and its conclusion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from campaign.config.rules.catalogue import CATALOGUE
from campaign.core.escaping import plain
from campaign.core.journal import Chain
from campaign.core.model import Finding, Severity
from campaign.evidence import messages
from campaign.evidence.verify import VerifiedBundle
from campaign.judge.engine import BUNDLE_RULES
from campaign.report import junit
from campaign.report.verdict import sentence

TOLD = 3  # problems of the bundle in the last line


def as_json(found: VerifiedBundle) -> dict[str, Any]:
    """What `verify --json` prints."""
    return {
        "format": 1,
        "bundle": found.name,
        "valid": found.complies,
        "intact": found.intact,
        "files": found.files,
        "bytes": found.size,
        "made_by": found.tool,
        "signed_by": {"identity": found.signed.signer, "key": found.signed.key} if found.signed else None,
        "journal": {"events": len(found.chain.heads), "head": found.chain.head, "nonce": found.chain.nonce},
        "findings": [asdict(finding) for finding in found.findings],
        "verdict": json.loads(found.judged.files["verdict.json"]) if found.judged else None,
    }


def as_junit(found: VerifiedBundle) -> str:
    """What `verify --junit` writes: the rules over the bundle, and those over the campaign in it."""
    pack = found.judged.submission.pack if found.judged else None
    rules = [rule for rule in CATALOGUE if rule in (*BUNDLE_RULES, "EVD-02", "WVR-01")]
    statements = {rule: pack.statement(rule) if pack else CATALOGUE[rule].statement for rule in rules}
    suites = [junit.Suite(messages.SUITE(name=found.name), "bundle", statements, found.findings)]
    if found.judged:
        suites.append(junit.of_campaign(found.judged.submission, leave_out=BUNDLE_RULES))
    return junit.document(found.name, suites)


def as_text(found: VerifiedBundle) -> str:
    """What `verify` prints: each check, and what is wrong with it."""
    wrong, broken = _by_rule(found.findings), _by_rule(found.broken)
    signer = f"{plain(found.signed.signer or 'unknown')}, {found.signed.key}" if found.signed else ""
    tool = plain(found.tool or "?")
    lines = [
        messages.BUNDLE(name=plain(found.name), files=found.files, size=found.size, tool=tool),
        _line("EVD-01", wrong, messages.CHECKSUMS(), messages.CHECKSUMS_MATCH(files=found.files)),
        _line("EVD-03", wrong, messages.SIGNATURE(), messages.SIGNED_BY(signer=signer)),
        _line("EVD-02", wrong, messages.JOURNAL(), _journal(found.chain)),
        _line("CMP-05", wrong, messages.CONTENTS(), messages.CONTENTS_COMPLETE()),
        _line("EVD-04", wrong, messages.REPLAY(), messages.REPLAY_IDENTICAL()),
        *(_line(rule, wrong, messages.WAIVERS(), "") for rule in ("WVR-01",) if rule in wrong),
        *(_line(rule, broken, messages.CAMPAIGN_LEVEL(), "") for rule in broken),
    ]
    return "\n".join(lines)


def _journal(chain: Chain) -> str:
    events, head = len(chain.heads), chain.head or "none"
    if not chain.nonce:
        return messages.JOURNAL_NO_NONCE(events=events, head=head)
    return messages.JOURNAL_NONCE(events=events, nonce=plain(chain.nonce), head=head)


def conclusion(found: VerifiedBundle) -> str:
    """The last line: what is wrong with what."""
    wrong = [f"{one.rule}: {plain(one.message)}" for one in found.findings if one.severity is Severity.ERROR]
    more = f" and {len(wrong) - TOLD} more" if len(wrong) > TOLD else ""
    problems = f"{'; '.join(wrong[:TOLD])}{more}"
    parts: list[str] = [messages.NOT_INTACT(problems=problems) if wrong else messages.INTACT()]
    if found.judged is None:
        parts.append(messages.NOT_REPLAYED())
    else:
        whole = found.judged.submission
        parts.append(plain(sentence(whole.rows, whole.all_findings, whole.campaign.profile != "full")))
    return f"{'valid' if found.complies else 'NOT VALID'}: {', '.join(parts)}"


def _by_rule(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    by_rule: dict[str, list[Finding]] = {}
    for one in findings:
        by_rule.setdefault(one.rule, []).append(one)
    return by_rule


def _line(rule: str, wrong: dict[str, list[Finding]], what: str, holds: str) -> str:
    """`what` is checked, and what `holds` where nothing is wrong with it."""
    own = wrong.get(rule, [])
    if not own:
        return f"  ok           {holds}"
    if any(one.severity is Severity.ERROR for one in own):
        word = "WRONG"
    else:
        word = "note" if all(one.checked for one in own) else "not checked"
    text = [f"  {word:12} {what} ({rule})"]
    for one in own:
        told = messages.COMPARED(message=one.message, expected=one.expected, actual=one.actual)
        text.append(f"               {plain(told if one.expected and one.actual else one.message)}")
    return "\n".join(text)

"""What 'campaign verify' prints of a bundle: as JSON, line by line, and its conclusion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from campaign.core.escaping import plain
from campaign.core.model import Finding, Severity
from campaign.evidence.verify import VerifiedBundle
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


def as_text(found: VerifiedBundle) -> str:
    """What `verify` prints: each thing that was looked at, and what is wrong with it."""
    wrong, broken = _by_rule(found.findings), _by_rule(found.broken)
    chain = found.chain
    anchored = f", begun with the nonce {plain(chain.nonce)}" if chain.nonce else ", without a nonce"
    signed = found.signed
    signer = f"{plain(signed.signer or 'unknown')}, {signed.key}" if signed else ""
    lines = [
        f"bundle {plain(found.name)}: {found.files} files, {found.size} bytes, by {plain(found.tool or '?')}",
        _line("complete, hashes hold", "EVD-01", wrong, f"{found.files} files"),
        _line("signature", "EVD-03", wrong, signer),
        _line("journal", "EVD-02", wrong, f"{len(chain.heads)} events{anchored}, head {chain.head or 'none'}"),
        _line("contains every referenced file and nothing else", "CMP-05", wrong, ""),
        _line("re-evaluated from raw logs", "EVD-04", wrong, "identical tables, findings and verdict"),
        *([_line("waivers", "WVR-01", wrong, "")] if "WVR-01" in wrong else []),
        *(_line("violated by the campaign as a whole", rule, broken, "") for rule in broken),
    ]
    return "\n".join(lines)


def conclusion(found: VerifiedBundle) -> str:
    """The last line: what is wrong with what."""
    wrong = [f"{one.rule}: {plain(one.message)}" for one in found.findings if one.severity is Severity.ERROR]
    more = f" and {len(wrong) - TOLD} more" if len(wrong) > TOLD else ""
    parts = [f"bundle NOT intact: {'; '.join(wrong[:TOLD])}{more}" if wrong else "bundle intact"]
    if found.judged is None:
        parts.append("not re-evaluated")
    else:
        whole = found.judged.submission
        parts.append(plain(sentence(whole.rows, whole.all_findings, whole.campaign.profile != "full")))
    return f"{'valid' if found.complies else 'NOT VALID'}: {', '.join(parts)}"


def _by_rule(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    by_rule: dict[str, list[Finding]] = {}
    for one in findings:
        by_rule.setdefault(one.rule, []).append(one)
    return by_rule


def _line(what: str, rule: str, wrong: dict[str, list[Finding]], good: str) -> str:
    own = wrong.get(rule, [])
    if not own:
        return f"  ok           {what}{f': {good}' if good else ''}"
    if any(one.severity is Severity.ERROR for one in own):
        word = "WRONG"
    else:
        word = "note" if all(one.checked for one in own) else "not checked"
    text = [f"  {word:12} {what} ({rule})"]
    for one in own:
        compared = f" (expected {one.expected}, found {one.actual})" if one.expected and one.actual else ""
        text.append(f"               {plain(one.message + compared)}")
    return "\n".join(text)

"""The output of `campaign verify`: as JSON and as text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

from campaign.config.rules.catalogue import CATALOGUE
from campaign.core.errors import typed_path
from campaign.core.escaping import plain
from campaign.core.findings import Finding
from campaign.core.grouping import grouped
from campaign.core.journal import Chain
from campaign.core.units import POINT_AS_SEPARATOR, listing, plural
from campaign.evidence.replay import Evaluation
from campaign.evidence.submitted_table import TableComparison
from campaign.evidence.terms import OfferTerms
from campaign.evidence.verify import VerifiedPart
from campaign.evidence.verify_bundle import VerifiedBundle
from campaign.judge.engine import BUNDLE_RULES
from campaign.report import contents, decision, findings_view, junit, printing
from campaign.report.decision import OpenDecision
from campaign.report.rfp_response import judgement_text

# What is checked of a bundle, in the order in which it is printed.
_CHECKED = {
    "EVD-01": "files and checksums",
    "EVD-03": "signature",
    "EVD-02": "journal",
    "CMP-05": "contents",
    "EVD-04": "re-evaluation from raw logs",
    "EVD-05": "rule pack",
    "ENV-04": "your terms",
    "WVR-01": "waivers",
    "RUN-08": "the entire campaign",
    "INP-01": "input files",
    "EVD-06": "agreement of duplicate records",
}
MOST_SHOWN = 50  # cells of a table
MOST_LETTERS = 300  # of a cell; --json has all


def as_json(bundle: VerifiedBundle) -> dict[str, Any]:
    """The output of `verify --json`: that of the parts, with what they are together."""
    parts = {part: part_json(verified) for part, verified in bundle.parts.items()}
    if not bundle.is_response:
        only_part = next(iter(parts.values()))
        return only_part | {"decision": asdict(bundle.decision), "exit_status": bundle.exit_status}
    return {
        "format": 1,
        "bundle": bundle.name,
        "verdict_sentence": bundle.decision.sentence,
        "decision": asdict(bundle.decision),
        "exit_status": bundle.exit_status,
        "findings": [finding.as_json() for finding in bundle.findings],
        "unanswered": list(bundle.unanswered),
        "scores": list(map(asdict, bundle.judgement.scored)),
        "rfp_findings": [finding.as_json() for finding in bundle.judgement.findings],
        "rfp_clauses": [line.as_json() for line in bundle.judgement.clauses],
        "parts": parts,
    }


def response_text(
    verified: VerifiedBundle, bundle: str, terms: OfferTerms | None, width: int, is_detailed: bool
) -> str:
    """The output of `verify` about all parts of an RFP together."""
    decisions = decisions_text(verified.own_decisions, bundle, terms, width)
    return "\n".join(
        [
            *(decision.decision_text(verified.decision, width), ""),
            *findings_view.finding_lines(verified.findings),
            *filter(None, [judgement_text(verified.judgement, width, is_detailed)]),
            *([f"\n{decisions}"] if decisions else []),
        ]
    )


def part_json(verified: VerifiedPart) -> dict[str, Any]:
    """The output of `verify --json` about a part."""
    return {
        "format": 1,
        "bundle": verified.name,
        "verdict_sentence": verified.decision.block.sentence,
        "conclusion": verified.decision.as_json(),
        "valid": verified.complies,
        "intact": verified.intact,
        "files": verified.files,
        "bytes": verified.size,
        "made_by": verified.tool,
        "signed_by": {"identity": verified.signature.signer, "key": verified.signature.key}
        if verified.signature
        else None,
        "coverage": asdict(verified.coverage) | {"covered_runs": verified.coverage.covered_runs},
        "journal": {"events": len(verified.chain.heads), "head": verified.chain.head, "nonce": verified.chain.nonce},
        "findings": [finding.as_json() for finding in verified.findings],
        "campaign_findings": [finding.as_json() for finding in verified.campaign_findings],
        "verdict": json.loads(verified.evaluation.files["verdict.json"]) if verified.evaluation else None,
    }


def table_text(path: Path, comparison: TableComparison) -> str:
    """The output of `verify --table`."""
    if not comparison.differences:
        return f"{path}: the bundle's in all that was compared: {comparison.scope}"
    texts = ([plain(text)[:MOST_LETTERS] for text in astuple(difference)] for difference in comparison.differences)
    lines = [f"  {place}: expected {expected}, found {found}" for place, expected, found in texts]
    further = len(lines) - MOST_SHOWN
    message_lines = [
        f"{path}: NOT this bundle's: {plural(len(lines), 'place')} with other contents",
        *lines[:MOST_SHOWN],
    ]
    message_lines += [f"  and {further} more; --json lists all"] * (further > 0)
    if number := sum(difference.is_thousandfold for difference in comparison.differences):
        message_lines.append(f"{plural(number, 'number')} exactly 1,000 times the bundle's: {POINT_AS_SEPARATOR}")
    return "\n".join(message_lines)


def as_junit(name: str, parts: Iterable[VerifiedPart]) -> str:
    """The output of `verify --junit` for a part, or for several."""
    return junit.junit_document(name, [suite for verified in parts for suite in _junit_suites(verified)])


def _junit_suites(verified: VerifiedPart) -> list[junit.Suite]:
    """The rules about the bundle, and those about its campaign."""
    pack = verified.evaluation.submission.pack if verified.evaluation else None
    rules = [rule for rule in CATALOGUE if rule in {*BUNDLE_RULES, *_CHECKED}]
    statements = {rule: pack.statement(rule) if pack else CATALOGUE[rule].statement for rule in rules}
    suites = [junit.Suite(f"bundle {verified.name}", "bundle", statements, verified.findings)]
    if verified.evaluation:
        suites.append(junit.campaign_suite(verified.evaluation.submission, leave_out=BUNDLE_RULES))
    return suites


def checks_text(verified: VerifiedPart, is_detailed: bool) -> str:
    """The checks that found something wrong, or that somebody has still to act on; with `is_detailed` all."""
    findings = grouped(
        (finding.rule, finding) for finding in verified.findings if is_detailed or finding.violated or finding.open
    )
    lines = []
    if is_detailed:
        tool = plain(verified.tool or "?")
        lines.append(f"bundle {plain(verified.name)}: {verified.files} files, {verified.size} bytes, made by {tool}")
    for rule, check in _CHECKED.items():
        if rule in findings:
            lines.append(_check_line(rule, check, findings[rule]))
        elif is_detailed and (passed := _passed_text(verified, rule)):
            lines.append(f"  ok           {passed}")
    return "\n".join(lines)


def _passed_text(verified: VerifiedPart, rule: str) -> str:
    """What is said of a check that found nothing; "" of one that is only made sometimes."""
    signer = f"{plain(verified.signature.signer or 'unknown')}, {verified.signature.key}" if verified.signature else ""
    return {
        "EVD-01": f"complete; all checksums match: {verified.files} files",
        "EVD-03": f"signature: {signer}",
        "EVD-02": _journal_text(verified.chain),
        "CMP-05": "contains every referenced file and nothing else",
        "EVD-04": "re-evaluated from raw logs: identical tables, findings and verdict",
        "EVD-05": "rule pack: identical to yours",
    }.get(rule, "")


def as_text(
    verified: VerifiedPart,
    bundle: str,
    terms: OfferTerms | None = None,
    width: int = printing.WIDEST,
    is_detailed: bool = False,
) -> str:
    """The output of `verify`: the decision, what is wrong with the bundle or was not checked, and what the terms do not
    accept yet; with `is_detailed` also the checks that hold, and what was found about the campaign, by rule and cause.
    """
    submission = verified.evaluation.submission if verified.evaluation else None
    decisions = decisions_text(verified.decision.decisions, bundle, terms, width)
    findings = (
        findings_view.findings_text(submission.pack, submission.all_findings, submission.rows, width)
        if submission and is_detailed
        else ""
    )
    parts = [decision.decision_text(verified.decision.block, width), checks_text(verified, is_detailed)]
    return "\n\n".join(filter(None, [*parts, findings, decisions]))


def decisions_text(
    decisions: Sequence[OpenDecision], bundle: str, terms: OfferTerms | None, width: int = printing.WIDEST
) -> str:
    """Each decision that waits for the buyer, with the command that accepts it. `bundle`: as it is typed."""
    command = f"campaign terms accept {bundle} {typed_path(terms.path) if terms else 'terms.yaml'}"
    texts = []
    for number, item in enumerate(decisions, 1):
        lines = [
            f"Your entry of {entry.date} names only this explanation, which binds no fact: write `facts: {item.facts}` "
            f"and `text: {json.dumps(item.text, ensure_ascii=False)}` into it if you accept this."
            for entry in (terms.outdated_entries(item) if terms else ())
        ]
        text = open_decision_text(item, f"{number} of {len(decisions)}", width)
        to_accept = f"   To accept it: {command} --decision {item.id} --by NAME --reason WHY"
        texts.append("\n".join([text, *_indented(lines, width), to_accept]))
    return "\n\n".join(texts)


def open_decision_text(item: OpenDecision, label: str, width: int) -> str:
    """A decision as a question, with all that it is about."""
    statement = f" ({CATALOGUE[item.rule].statement})" if item.rule in CATALOGUE else ""
    places = f"in {plural(len(item.cells), 'result')} ({listing(item.patterns)})" if item.cells else "about the bundle"
    part = f" of part {item.part}" if item.part else ""
    allowed_texts = listing(dict.fromkeys(filter(None, (finding.expected for finding in item.findings))), 4)
    lines = [f"Found: {sentence}" for sentence in item.sentences]
    lines += [f"Allowed: {allowed_texts}"] * bool(allowed_texts)
    lines += [f"The vendor explains: {item.explanation}"] * bool(item.explanation)
    question = f"{label}. Do you accept what rule {item.rule}{statement} found {places}{part}?"
    return "\n".join([*printing.wrap(plain(question), width, "", "   "), *_indented(lines, width)])


def _indented(lines: Iterable[str], width: int) -> list[str]:
    return [folded for line in lines for folded in printing.wrap(plain(line), width, "   ", "      ")]


def _journal_text(chain: Chain) -> str:
    events, head = len(chain.heads), chain.head or "none"
    nonce = f"starts with nonce {plain(chain.nonce)}" if chain.nonce else "no nonce"
    return f"journal: {events} events, {nonce}, head {head}"


def report_contents(verified: VerifiedPart, evaluation: Evaluation, bundle: Path) -> contents.Contents:
    """The contents of the buyer's report: the campaign as re-evaluated, with the findings about the bundle. Its links
    lead into `bundle`, the part's directory, and not into the copy that was verified, which does not last.
    """
    submission = evaluation.submission
    with_bundle_findings = replace(submission, findings=(*verified.findings, *submission.findings))
    report = contents.report_contents(with_bundle_findings, verified.decision.block)
    return replace(
        report,
        linked_results=bundle / "data/results" if bundle.is_dir() else None,
        signature=(verified.signature.signer if verified.signature else "", str(verified.decision.seal)),
    )


def _check_line(rule: str, check: str, findings: Sequence[Finding]) -> str:
    """What is checked, and what was found."""
    text = [f"  {findings_view.finding_word(findings):12} {check} ({rule})"]
    for finding in findings:
        values = (
            f" (expected {finding.expected}, found {finding.actual})" if finding.expected and finding.actual else ""
        )
        text.append(f"               {plain(f'{findings_view.with_remedy(finding)}{values}')}")
    return "\n".join(text)

"""Cases of the rules about the evidence: the journal's chain, the pack, and bundles as they are handed in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from campaign.config.rules.packs import digest_of_own
from campaign.core.findings import Finding, Severity
from campaign.core.journal import Chain
from campaign.evidence import verify
from campaign.evidence.verify import BUNDLE, Signature
from campaign.judge.findings import complete_findings, to_explain
from campaign.judge.submission import Submission
from tests.judge.cases import Example, broken, compliant, disclosed, unchecked
from tests.judge.cases.submissions import good_submission

OWN = "crossroads-mdtest"
KEY, TABLE = "ED25519 key SHA256:abc", "tables/table.txt"
ANONYMOUS = (
    "the buyer gave no nonce (a random word) before the runs: a completely rewritten journal would not be noticed"
)

RECOVERED = {
    "damaged": "journal.damaged-1.jsonl",
    "lost": [[0, 0], [4, 4], [7, 8]],
    "missing": 90,
    "open": ["r1/1"],
    "unnamed": [],
}


def with_chain(chain: Chain | None, nonce: str = "") -> Submission:
    submission = good_submission()
    return replace(submission, campaign=replace(submission.campaign, nonce=nonce), journal=chain)


def of_pack(id: str, digest: str) -> Submission:
    submission = good_submission()
    return replace(submission, pack=replace(submission.pack, id=id, digest=digest))


def bundle_check(rule: str, findings: Iterable[Finding]) -> Callable[[], Iterable[Finding]]:
    """What a rule over bundles says of one."""
    found_findings = list(complete_findings(rule, BUNDLE, findings))
    return lambda: found_findings


EXAMPLES: list[Example] = [
    broken(
        "EVD-02",
        "journal.jsonl: line 3 does not follow from the one before it",
        with_chain(Chain(["a", "b"], "", "line 3 does not follow from the one before it")),
        "lines with hashes",
    ),
    broken(
        "EVD-02",
        "the journal does not start with the nonce of the campaign file",
        with_chain(Chain(["a"], "other"), "asked"),
        "asked",
        "other",
    ),
    broken(
        "EVD-02",
        "journal.jsonl: the time of line 7 lies before that of an earlier line: a clock was set back, or the journal "
        "was edited",
        with_chain(Chain(["a"], "asked", back=(7, 3600.0)), "asked"),
        "times in the order of the lines",
        "3600 s earlier",
        severity=Severity.WARNING,
    ),
    broken(
        "EVD-02",
        "journal.jsonl was damaged and is recovered from journal.damaged-1.jsonl, without the lines before line 1, "
        "line 4, lines 7 to 8 and any lines that were removed there (90 bytes fewer than had been read before). "
        "Attempts whose end is not in the remaining lines, and is taken from their folders: r1/1. Attempts that no "
        "remaining line names, which are not used: none",
        with_chain(Chain(["a"], "asked", recovered=[RECOVERED]), "asked"),
        "every line",
        "3 lines lost",
        severity=Severity.WARNING,
    ),
    compliant("EVD-02", "clocks of two machines", with_chain(Chain(["a"], "asked", back=(7, 50.0)), "asked")),
    disclosed("EVD-02", ANONYMOUS, with_chain(Chain(["a"], ""))),
    compliant("EVD-02", "a chain that began with the buyer's nonce", with_chain(Chain(["a"], "asked"), "asked")),
    unchecked("EVD-02", "nobody looked", with_chain(None)),
    broken(
        "EVD-05",
        f"the rule pack differs from the published {OWN}",
        of_pack(OWN, "0" * 64),
        f"SHA-256 {digest_of_own(OWN)}",
        "0" * 64,
    ),
    compliant("EVD-05", "the project's own pack", of_pack(OWN, digest_of_own(OWN))),
    unchecked("EVD-05", "a pack that only the buyer knows", of_pack("of-the-buyer", "0" * 64)),
    broken(
        "EVD-01",
        "stdout: changed",
        bundle_check("EVD-01", verify.check_manifests(["stdout: changed"])),
        subject="bundle",
    ),
    broken(
        "EVD-01", "and 5 more", bundle_check("EVD-01", verify.check_manifests(["x: changed"] * 25)), subject="bundle"
    ),
    compliant("EVD-01", "all hashes hold", bundle_check("EVD-01", verify.check_manifests([]))),
    broken(
        "CMP-05",
        "runs/x/1: nothing in the tables rests on it",
        bundle_check("CMP-05", [to_explain("runs/x/1: nothing in the tables rests on it")]),
        subject="bundle",
    ),
    compliant("CMP-05", "nothing that does not count", bundle_check("CMP-05", [])),
    broken(
        "EVD-03",
        "invalid signature: its key is not in signers",
        bundle_check(
            "EVD-03", verify.check_signature(Signature(KEY, problem="its key is not in signers"), has_signers=True)
        ),
        subject="bundle",
    ),
    unchecked(
        "EVD-03", "no signature, though keys were given", bundle_check("EVD-03", verify.check_signature(None, True))
    ),
    compliant(
        "EVD-03",
        "signed by a listed key",
        bundle_check("EVD-03", verify.check_signature(Signature(KEY, "vendor"), has_signers=True)),
    ),
    unchecked(
        "EVD-03",
        "no signature, and none asked",
        bundle_check("EVD-03", verify.check_signature(None, has_signers=False)),
    ),
    unchecked(
        "EVD-03", "signed by anybody", bundle_check("EVD-03", verify.check_signature(Signature(KEY), has_signers=False))
    ),
    broken(
        "EVD-04",
        "cannot be re-evaluated: names.json: not there",
        bundle_check("EVD-04", verify.check_reevaluation(None, (), "names.json: not there", "")),
        "the identical verdict",
        subject="bundle",
    ),
    broken(
        "EVD-04",
        "tables/table.txt cannot be reproduced from the evidence (made by campaign 9, whose checks may differ: verify "
        "with that version): line 3",
        bundle_check("EVD-04", verify.check_reevaluation({TABLE: "line 3"}, (), "", "campaign 9")),
        subject="bundle",
    ),
    disclosed(
        "EVD-04",
        "made by campaign 9: numbers, log lines, violated rules and verdict are the same; texts differ "
        "between versions and were not compared in tables/table.txt",
        bundle_check("EVD-04", verify.check_reevaluation({}, (TABLE,), "", "campaign 9")),
        subject="bundle",
    ),
    compliant("EVD-04", "the same bytes", bundle_check("EVD-04", verify.check_reevaluation({}, (), "", ""))),
]
ALWAYS_CHECKED = {"EVD-01", "EVD-04", "CMP-05"}

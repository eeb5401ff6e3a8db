"""One bundle of all parts of an RFP: one signature, one verdict, and what was done to it afterwards."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from campaign.config import rfp as rfps
from campaign.core import bagit, journal, resources
from campaign.core.errors import InputError
from campaign.core.findings import Finding, Move, Severity
from campaign.core.paths import bundle_of_part
from campaign.evidence import sample, terms, verify, verify_bundle
from campaign.evidence.journal_checks import NOTHING_COVERED
from campaign.evidence.verify_bundle import VerifiedBundle
from campaign.report import findings_view
from campaign.report.decision import Step
from campaign.statistics import designs
from tests.evidence.test_bundle_decision import UNCHECKED, VIOLATION, bundle_decision
from tests.support import command_line, fake_slurm, rfp
from tests.support.rfp import ANSWER, RFP

pytestmark = pytest.mark.xdist_group("whole")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the bundle `offer` of two parts, one run of each measured."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch, fake_slurm.running_cluster(folder, patch):
        rfp.write(folder, answer=ANSWER.replace("  fat: {{slurm: {{constraint: fat}}}}", "  fat: {{}}"))
        selection = [f"--only={part}/*/single/shared/*" for part in ("fast", "slow")]
        call_campaign(folder, "run", "c.yaml", *selection)
        packed = call_campaign(folder, "bundle", "c.yaml", "-o", "offer")
        assert "wrote offer: " in packed.stdout, packed.stderr
        assert packed.stdout.count("journal head of ") == 2
        yield folder


def call_campaign(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = command_line.drive if words[0] in ("run", "rerun") else command_line.call
    return command(*words, cwd=folder)


def verify_copy(
    site: Path,
    folder: Path,
    change: Callable[[Path], object],
    buyer: verify.Buyer | None = None,
    rfp: Path | None = None,
) -> VerifiedBundle:
    """The verification of a copy that was changed, whose manifests were then made again."""
    copy = folder / "offer"
    shutil.copytree(site / "offer", copy)
    change(copy / "data")
    bagit.finish(copy, {})
    with (
        verify_bundle.open_parts(copy) as selection,
        verify_bundle.verify_parts(selection, buyer or verify.Buyer(), rfp) as verified,
    ):
        return verified


def violation_texts(verified: VerifiedBundle) -> list[str]:
    return [f"{finding.rule} {finding.message}" for finding in verified.findings if finding.violated]


def test_every_part_is_verified_and_the_verdict_names_each(site: Path, tmp_path: Path) -> None:
    process = call_campaign(site, "verify", "offer", "--rfp", "rfp.yaml")
    assert process.returncode == 1, "the numbers of the fake are invalid"
    assert process.stdout.startswith("NOT VALID: offer, RFP small 3\n  open  Not proven: ")
    for line in ("  ok    2 parts are there", "  NO    fast is NOT VALID: ", "  NO    slow is NOT VALID: "):
        assert f"\n{line}" in process.stdout
    assert "=== part fast ===" not in process.stdout
    detailed = call_campaign(site, "verify", "offer", "--rfp", "rfp.yaml", "--details").stdout
    assert detailed.index("=== part fast ===") < detailed.index("=== part slow ===")
    suites = ElementTree.fromstring(call_campaign(site, "verify", "offer", "--junit", "-").stdout)
    names = [suite.get("name") for suite in suites]
    assert (len(names), len({*names})) == (4, 4), names
    document = json.loads(call_campaign(site, "verify", "offer", "--json").stdout)
    assert list(document["parts"]) == ["fast", "slow"]
    assert document["exit_status"] == 1
    assert [question["name"] for question in document["decision"]["questions"]] == ["bundle", "parts", "fast", "slow"]
    assert [score["id"] for score in document["scores"]] == ["both", "total"]
    slow_document = json.loads(call_campaign(site, "verify", "offer", "--part", "slow", "--json").stdout)
    assert slow_document["journal"] == document["parts"]["slow"]["journal"]
    assert not violation_texts(verify_copy(site, tmp_path, lambda data: None, rfp=site / "rfp.yaml"))


def test_a_verb_on_a_bundle_works_on_all_its_parts_or_on_a_selected_one(site: Path) -> None:
    for part in ([], ["--part", "slow"]):
        refused = call_campaign(site, "sample", "offer", "--seed", "a", "-o", "s.yaml", *part)
        assert "allowed: 1 to 0 (the number of measured results)" in refused.stderr, (
            "the numbers of the fake are invalid"
        )
        refused = call_campaign(site, "rebuild", "offer", *part)
        assert "no source/benchmark.tar.gz in the bundle" in refused.stderr
    refused = call_campaign(site, "sample", "offer", "--seed", "a", "-o", "s.yaml", "--part", "slwo")
    assert refused.returncode == 2
    assert "offer: name one of its parts with --part: fast, slow" in refused.stderr


def test_a_selected_part_is_judged_by_the_buyers_rfp_and_not_by_the_heads_of_others(site: Path) -> None:
    heads = [line.split()[-1] for line in call_campaign(site, "head", "c.yaml").stdout.splitlines() if len(line) == 64]
    words = [word for head in heads for word in ("--head", head)]
    document = json.loads(call_campaign(site, "verify", "offer", "--part", "slow", "--json", *words).stdout)
    assert [finding["message"] for finding in document["findings"] if finding["rule"] == "EVD-02"] == []
    assert document["bundle"] == "offer, part slow"
    steps = [step["what"] for step in document["conclusion"]["decision"]["steps"]]
    assert "campaign terms init terms.yaml --rules RFP" in steps


def test_offers_are_compared_in_a_selected_part(site: Path) -> None:
    compared = json.loads(
        call_campaign(site, "compare", "offer", "c.yaml", "--part", "slow", "--format", "json").stdout
    )
    document = json.loads(call_campaign(site, "compare", "offer", "c.yaml", "--format", "json").stdout)
    assert compared == document["parts"]["slow"]
    refused = call_campaign(site, "compare", "offer", "c.yaml", "--part", "slwo")
    assert "offer: has no part slwo; its parts are fast, slow" in refused.stderr


def test_new_terms_are_of_an_rfp_with_its_version(site: Path, tmp_path: Path) -> None:
    shutil.copy(site / "rfp.yaml", tmp_path)
    (tmp_path / "signers").write_text(f"vendor ssh-ed25519 {'A' * 68}\n")
    (tmp_path / "own").mkdir()
    assert call_campaign(tmp_path, "terms", "init", "own/terms.yaml", "--rules", "rfp.yaml").returncode == 0
    (tmp_path / "signers").rename(tmp_path / "own/signers")
    file = tmp_path / "own/terms.yaml"
    assert "rules: ../rfp.yaml\n" in file.read_text(), "a path is from the file's folder"
    file.write_text(file.read_text().replace("<a random word that you issue>", "RFP-1"))
    buyers = terms.load(file)
    assert (buyers.is_of_rfp, buyers.version) == (True, 3)
    stdout = call_campaign(site, "verify", "offer", "--terms", str(file), "--details").stdout
    assert "note         EVD-05 the RFP is identical to yours" in stdout
    assert "has another version" not in stdout, "which is that of the RFP, not of its packs"
    file.write_text(file.read_text().replace("version: 3", "version: 4"))
    with pytest.raises(InputError, match="version: found 4; the RFP is version 3"):
        terms.load(file)


def test_the_aims_of_a_sample_are_kept_by_all_parts_together() -> None:
    aims = designs.Aims(0.05, 0.15, 0.25, 0.9)
    assert sample.aims_of_part(aims, 1) == aims
    of_four = sample.aims_of_part(aims, 4)
    assert 1 - (1 - of_four.honest) ** 4 == pytest.approx(aims.honest)
    assert replace(of_four, honest=aims.honest) == aims


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda data: (data / "response.json").write_text(
                (data / "response.json").read_text().replace("both", "BOTH")
            ),
            "EVD-04 response.json cannot be reproduced from the parts",
        ),
        (
            lambda data: (
                shutil.rmtree(data / "parts/slow"),
                shutil.copytree(data / "parts/fast", data / "parts/slow"),
            ),
            "EVD-04 slow: its evidence is that of part fast",
        ),
        (
            lambda data: (data / "more.html").write_text("more"),
            'CMP-05 "data/more.html": does not belong in the bundle of an RFP\'s parts',
        ),
        (
            lambda data: (data / "parts/slow/bagit.txt").rename(data / "parts/slow/bagit"),
            'CMP-05 "data/parts/slow/',
        ),
        (lambda data: (data / "rfp.yaml").unlink(), "EVD-05 the RFP cannot be read: "),
        (
            lambda data: (data / "rfp.yaml").write_text(RFP.replace("weight: 3", "weight: 30")),
            "EVD-05 the vendor's RFP differs from yours",
        ),
        (
            lambda data: (data / "parts/more").mkdir() or shutil.copytree(data / "parts/fast", data / "parts/third"),
            "EVD-04 third: not a part of the RFP",
        ),
    ],
)
def test_what_was_changed_is_found(site: Path, tmp_path: Path, change: Callable[[Path], object], problem: str) -> None:
    bundle = verify_copy(site, tmp_path, change, rfp=site / "rfp.yaml")
    assert any(text.startswith(problem) for text in violation_texts(bundle)), violation_texts(bundle)
    assert bundle.exit_status == 1


def test_a_mandatory_part_that_is_missing_makes_the_whole_not_valid(site: Path, tmp_path: Path) -> None:
    bundle = verify_copy(site, tmp_path, lambda data: shutil.rmtree(data / "parts/slow"), rfp=site / "rfp.yaml")
    assert bundle.unanswered == ("slow",)
    assert "1 mandatory part is missing: slow." in bundle.decision.sentence
    assert bundle.decision.steps[0] == Step("vendor", "campaign run FILE --part slow")


OPEN = Finding("EVD-05", Severity.WARNING, "bundle", "the RFP is the vendor's copy", checked=False, move=Move.BUYER)
CHANGED = Finding("EVD-01", Severity.ERROR, "bundle", "rfp.yaml was changed")
CONCLUSIONS = {  # on a part, the worst first; the headline of the whole, and its exit status
    "violated": ("NOT YET ACCEPTABLE", 1, lambda: bundle_decision(VIOLATION)),
    "rehearsal": ("REHEARSAL", 5, lambda: bundle_decision(profile="rehearsal")),
    "open": ("NOT YET ACCEPTABLE", 4, lambda: bundle_decision(UNCHECKED)),
    "compliant": ("ACCEPTABLE", 0, lambda: bundle_decision()),
}
BUNDLE_STATES = {"nothing": ((), ()), "open": ((OPEN,), ()), "changed": ((CHANGED,), ()), "unanswered": ((), ("p9",))}


@pytest.mark.parametrize("bundle_state", BUNDLE_STATES)
@pytest.mark.parametrize(("first", "second"), [*itertools.product(CONCLUSIONS, repeat=2)])
def test_the_decision_on_two_parts_is_that_of_both_and_of_the_bundle(
    first: str, second: str, bundle_state: str
) -> None:
    findings, unanswered = BUNDLE_STATES[bundle_state]
    parts: Any = {
        part: SimpleNamespace(
            decision=CONCLUSIONS[state][2](), proofs=("nonce", "sample", *proofs), coverage=NOTHING_COVERED
        )
        for part, state, proofs in (("p0", first, ["head"]), ("p1", second, []))
    }
    verified = VerifiedBundle("offer", None, findings, parts, unanswered)
    worst = min(first, second, key=list(CONCLUSIONS).index)
    if bundle_state == "open" and worst == "compliant":
        worst = "open"
    headline, status, _ = CONCLUSIONS["violated" if bundle_state in ("changed", "unanswered") else worst]
    assert (verified.decision.headline, verified.exit_status) == (
        "NOT VALID" if bundle_state == "changed" else headline,
        status,
    )
    assert verified.decision.may.startswith(
        "Do not trust these numbers" if bundle_state == "changed" else "The tables match the signed logs"
    )
    assert ("your terms are met" in verified.decision.may) == (headline == "ACCEPTABLE")
    assert verified.decision.may_not == "This does not show that no attempt was left out."


def test_of_a_part_whose_records_do_not_agree_nothing_follows_for_the_whole() -> None:
    torn = bundle_decision(Finding("EVD-06", Severity.ERROR, "campaign", "stdout and bench.jsonl differ"))
    parts: Any = {
        part: SimpleNamespace(decision=decision, proofs=(), coverage=NOTHING_COVERED)
        for part, decision in (("p0", bundle_decision()), ("p1", torn))
    }
    block = VerifiedBundle("offer", None, (), parts, ()).decision
    assert (block.headline, block.may) == ("NOT VALID", "Do not trust these numbers: the records of p1 disagree.")


def test_without_the_buyers_rfp_it_is_not_checked(site: Path, tmp_path: Path) -> None:
    bundle = verify_copy(site, tmp_path, lambda data: None)
    lines = findings_view.finding_lines(bundle.findings)
    assert "  not checked  EVD-05 the RFP is the vendor's copy: pass yours with --rfp" in lines


def test_a_journal_head_is_compared_with_the_part_that_it_is_of(site: Path, tmp_path: Path) -> None:
    heads = [line.split()[-1] for line in call_campaign(site, "head", "c.yaml").stdout.splitlines() if len(line) == 64]
    assert len(heads) == 2
    bundle = verify_copy(site, tmp_path, lambda data: None, verify.Buyer(heads=tuple(heads)))
    for part in bundle.parts.values():
        assert not [finding for finding in part.findings if finding.rule == "EVD-02" and finding.violated]
    assert "left out" not in bundle.decision.may_not
    journals = {part: bundle_of_part(site / "offer", part) / "data/results/journal.jsonl" for part in ("fast", "slow")}
    first_heads = (heads[0], journal.read_chain(journals["slow"]).heads[0])
    partly_covered = verify_copy(site, tmp_path / "a", lambda data: None, verify.Buyer(heads=first_heads)).decision
    assert "no attempt was left out (slow: the head covers 0 of " in partly_covered.may_not
    foreign = verify_copy(site, tmp_path / "b", lambda data: None, verify.Buyer(heads=("0" * 64,)))
    assert all(
        any(finding.rule == "EVD-02" and finding.violated for finding in part.findings)
        for part in foreign.parts.values()
    )


def test_jobs_in_the_journal_of_another_part_are_no_question_by_the_accounting(site: Path) -> None:
    journals = {part: bundle_of_part(site / "offer", part) / "data/results/journal.jsonl" for part in ("fast", "slow")}
    chains = {part: journal.read_chain(path) for part, path in journals.items()}
    buyer = verify_bundle._buyer_of_part(verify.Buyer(part="fast"), chains, {}, True)
    assert buyer.other_jobs == chains["slow"].rendered.keys() != set()


def test_another_pack_than_the_rfps_is_found(site: Path, tmp_path: Path) -> None:
    other_rfp = RFP.replace("{id: slow, pack: crossroads-mdtest", "{id: slow, pack: stream")
    own_path = tmp_path / "rfp.yaml"
    own_path.write_text(other_rfp)
    assert rfps.load(own_path).part("slow").pack == "stream"
    bundle = verify_copy(site, tmp_path, lambda data: (data / "rfp.yaml").write_text(other_rfp), rfp=own_path)
    assert "EVD-04 slow: another rule pack than the RFP's" in violation_texts(bundle)


def test_offers_are_compared_part_by_part_and_by_their_scores(site: Path) -> None:
    packed = call_campaign(site, "bundle", "c.yaml", "-o", "offer.zip")
    assert "wrote offer.zip" in packed.stdout
    compared = call_campaign(site, "compare", "c.yaml", "offer", "offer.zip")
    assert compared.stdout.index("=== part fast: The fast tier ===") < compared.stdout.index("=== part slow ===")
    score_line = next(line for line in compared.stdout.splitlines() if line.startswith("both"))
    assert score_line.count("no value") == 3
    data = json.loads(call_campaign(site, "compare", "offer", "c.yaml", "--format", "json").stdout)
    assert list(data["parts"]) == ["fast", "slow"]
    assert [[score["id"] for score in offer["scores"]] for offer in data["offers"]] == [["both", "total"]] * 2
    refused = call_campaign(site, "compare", "c.yaml", "offer/data/parts/fast")
    assert "offer/data/parts/fast: does not answer an RFP of several parts" in refused.stderr


def test_the_parts_are_judged_by_the_packs_of_the_buyers_rfp(site: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    pack = resources.PACKS / "crossroads-mdtest.yaml"
    stricter = pack.read_text().replace("id: crossroads-mdtest\nversion: 1\n", "id: crossroads-mdtest\nversion: 2\n", 1)
    (tmp_path / "own/crossroads-mdtest.yaml").write_text(stricter)
    own_path = tmp_path / "rfp.yaml"
    own_path.write_text(
        RFP.replace("{id: slow, pack: crossroads-mdtest", "{id: slow, pack: own/crossroads-mdtest.yaml")
    )
    bundle_of_packs = verify_copy(site, tmp_path, lambda data: None, rfp=own_path)
    rules = {
        part: [finding.message for finding in bundle.findings if finding.rule == "EVD-05"]
        for part, bundle in bundle_of_packs.parts.items()
    }
    assert rules == {
        "fast": [],
        "slow": ["measured under version 1, yours is version 2; differs in version: 1, now 2; judged by yours"],
    }
    assert not [finding for finding in bundle_of_packs.findings if finding.rule == "EVD-04"]


def test_an_answer_to_an_earlier_version_of_the_rfp_is_open_and_no_contradiction(site: Path, tmp_path: Path) -> None:
    amended_file = tmp_path / "rfp.yaml"
    amended_file.write_text(RFP.replace("version: 3", "version: 4", 1).replace("weight: 3", "weight: 30"))
    bundle = verify_copy(site, tmp_path, lambda data: None, rfp=amended_file)
    (finding,) = [finding for finding in bundle.findings if finding.rule == "EVD-05"]
    assert finding.open and not finding.violated
    assert finding.message.startswith(
        "measured under version 3 of the RFP, yours is version 4; differs in version: 3, now 4"
    )
    assert violation_texts(bundle) == []


def test_one_pack_for_all_parts_is_refused(site: Path) -> None:
    refused = call_campaign(site, "verify", "offer", "--rules", "stream")
    assert refused.returncode == 2
    assert "--rules: is for one part; name it with --part, or pass your RFP with --rfp" in refused.stderr


def test_terms_name_the_buyers_rfp_and_entries_name_their_part(site: Path, tmp_path: Path) -> None:
    (tmp_path / "signers").write_text(f"vendor ssh-ed25519 {'A' * 68}\n")
    (tmp_path / "terms.yaml").write_text(f"rules: {site / 'rfp.yaml'}\nsigners: signers\nproof: [head]\n")
    process = call_campaign(site, "verify", "offer", "--terms", str(tmp_path / "terms.yaml"), "--details")
    assert process.returncode == 1, process.stderr
    assert "note         EVD-05 the RFP is identical to yours" in process.stdout
    for part in ("fast", "slow"):
        assert (
            "your terms require a head: pass a journal head that the vendor sent while it ran (--head)"
            in process.stdout
        )
        assert f"of part {part}?" in " ".join(process.stdout.split())


def test_the_files_of_all_parts_are_checked_before_any_is_written(site: Path, tmp_path: Path) -> None:
    (tmp_path / "x-slow.xml").write_text("mine")
    refused = call_campaign(tmp_path, "verify", str(site / "offer"), "--junit", "x.xml")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("campaign: x-slow.xml: already exists")
    assert not (tmp_path / "x-fast.xml").exists()

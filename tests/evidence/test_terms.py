"""The buyer's terms: what they demand, and what they accept by name."""

from __future__ import annotations

import re
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.core import bagit, signatures
from campaign.core.errors import InputError
from campaign.core.model import Cell, Finding, Move, Severity
from campaign.evidence import bundle, terms, verify
from campaign.evidence.terms import OfferTerms
from tests.support import bundled, command_line, reference

CELLS = tuple(Cell("scratch", launch, "shared", "stat") for launch in ("single", "node"))
EXPLAINED = Finding("RUN-08", Severity.WARNING, "campaign", "attempts are missing", explained="they were  cancelled")
PRELOAD = Finding(
    "SRC-05",
    Severity.ERROR,
    "campaign",
    "{name} loads {library}",
    actual="/opt/darshan/lib.so",
    move=Move.BUYER,
    values={"name": "LD_PRELOAD", "library": "/opt/darshan/lib.so:/opt/x.so"},
)
ENTRY = (
    "accept:\n  - {rule: RUN-08, cells: 'scratch/*/*/*', text: they were cancelled, by: A. Buyer, date: '2026-11-26'}\n"
)


def written(tmp_path: Path, more: str = "", nonce: str = "RFP-1") -> Path:
    (tmp_path / "signers").write_text(reference.SIGNERS.read_text())
    path = tmp_path / "terms.yaml"
    path.write_text(terms.text("crossroads-mdtest", path.name).replace("<a random word that you issue>", nonce) + more)
    return path


def entries(printed: str) -> str:
    """What `verify` prints for copying into terms."""
    return printed.split("in the form of your terms:\n")[1].split("\nNOT YET")[0] + "\n"


def verify_head(bag: Path) -> str:
    with verify.verify(bag, verify.Asked()) as found:
        return found.chain.head


def of(tmp_path: Path, more: str = "") -> OfferTerms:
    return terms.load(written(tmp_path, more))


def test_new_terms_are_read_as_they_are_written_once_the_nonce_is_filled_in(tmp_path: Path) -> None:
    done = command_line.call("terms", "init", "terms.yaml", "--rules", "crossroads-mdtest", cwd=tmp_path)
    assert (done.returncode, "wrote terms.yaml" in done.stdout) == (0, True)
    assert command_line.call("terms", "init", "terms.yaml", cwd=tmp_path).returncode == 2
    (tmp_path / "other").mkdir()
    found = of(tmp_path / "other")
    assert (found.rules, found.version, found.nonce, found.proof) == ("crossroads-mdtest", 1, "RFP-1", ("nonce",))
    assert found.signers == tmp_path / "other/signers"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("signers: signers", "signers: absent", "absent does not exist"),
        ("nonce: RFP-1\n", "", "asks for a nonce, and nonce is missing"),
        ("proof: [nonce]", "proof: [timestamp]", "asks for a timestamp, and authority is missing"),
        ("proof: [nonce]", "proof: [luck]", "luck"),
    ],
)
def test_terms_that_cannot_hold_are_refused_with_their_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=rf"terms\.yaml:\d+.*{problem}"):
        terms.load(path)


def test_an_explanation_is_accepted_word_by_word_in_the_cells_that_are_named(tmp_path: Path) -> None:
    found = of(tmp_path, ENTRY)
    assert found.accepted(EXPLAINED, CELLS) == "A. Buyer, 2026-11-26"
    assert found.accepted(replace(EXPLAINED, explained="they were cancelled by us"), CELLS) == ""
    assert found.accepted(EXPLAINED, (*CELLS, Cell("nfs", "single", "shared", "stat"))) == ""
    assert found.accepted(replace(EXPLAINED, rule="RUN-01"), CELLS) == ""


def test_an_entry_for_a_part_holds_in_that_part_alone(tmp_path: Path) -> None:
    found = of(tmp_path, ENTRY.replace("{rule", "{part: kernels, rule"))
    assert [bool(found.accepted(EXPLAINED, CELLS, part)) for part in ("kernels", "network")] == [True, False]


def test_a_violation_of_the_vendors_is_never_accepted_and_one_that_only_the_buyer_lifts_is(tmp_path: Path) -> None:
    allowing = of(tmp_path, "preloads: ['/opt/*']\n" + ENTRY)
    wrong = replace(EXPLAINED, severity=Severity.ERROR)
    assert allowing.accepted(wrong, CELLS) == ""
    assert allowing.accepted(PRELOAD, CELLS) == "preloads of the terms"
    assert of(tmp_path, "preloads: [/opt/darshan/lib.so]\n").accepted(PRELOAD, CELLS) == ""  # loads a second one
    prefix = replace(PRELOAD, severity=Severity.INFO, values={"launcher": "numactl --interleave=all"})
    assert of(tmp_path, "launchers: ['numactl *']\n").accepted(prefix, CELLS) == "launchers of the terms"


def test_proof_that_was_not_given_is_asked_for(tmp_path: Path) -> None:
    found = of(tmp_path)
    asking = replace(found, proof=("nonce", "head", "sample"))
    assert [each.values["proof"] for each in asking.unproven(["nonce"])] == ["head", "sample"]
    assert {each.move for each in asking.unproven([])} == {Move.BUYER}


def test_what_was_shown_of_one_bundle_holds_for_no_other(tmp_path: Path) -> None:
    shown = f"shown:\n  - {{proof: sample, head: {'a' * 64}, by: A. Buyer, date: '2026-11-26'}}\n"
    found = of(tmp_path, shown)
    assert list(terms.shown_by(found, "a" * 64)) == ["sample"]
    assert terms.shown_by(found, "b" * 64) == {}


def test_file_systems_that_the_terms_do_not_allow_are_a_violation(tmp_path: Path) -> None:
    with reference.verified(reference.SIGNERS) as verified:
        assert verified.judged is not None
        whole = verified.judged.submission
        wrong = list(of(tmp_path, "mounts: [lustre]\n").kept(whole))
        assert [(each.expected, each.actual) for each in wrong] == [("lustre", "tmpfs")]
        assert list(of(tmp_path, "mounts: [lustre, tmp*]\n").kept(whole)) == []
        assert [each.actual for each in replace(of(tmp_path), version=2).kept(whole)] == ["1"]


def test_what_verify_prints_is_accepted_once_a_name_and_a_day_are_filled_in(tmp_path: Path) -> None:
    with reference.verified() as found:
        bound = f"heads: [{found.chain.head}]"
    with reference.as_when_made():
        file = written(tmp_path)
        file.write_text(file.read_text().replace("nonce: RFP-1\nproof: [nonce]", bound))
        first = command_line.call("verify", reference.BUNDLE, "--terms", file)
        assert first.returncode == 4, first.stdout
        filled = re.sub('by: "", date: ""', 'by: A. Buyer, date: "2026-11-26"', entries(first.stdout))
        file.write_text(f"{file.read_text()}\n{filled}\n")
        asked = verify.Asked(reference.SIGNERS, terms=terms.load(file))
        with verify.verify(reference.BUNDLE, asked) as found:
            assert found.conclusion.undecided == ()
            assert found.judged is not None
            waived = [each.rule for each in found.judged.submission.all_findings if each.waived]
            assert waived == ["SRC-01"]


def test_a_vendor_who_explains_what_is_open_reaches_status_0_by_the_buyers_terms(tmp_path: Path) -> None:
    """The way that docs/evidence.md describes, with a campaign that was measured with the defaults."""
    bag, key, signers = tmp_path / "offer", tmp_path / "key", tmp_path / "signers"
    with zipfile.ZipFile(reference.BUNDLE) as archive:
        archive.extractall(tmp_path)
    (tmp_path / "my-rfp").rename(bag)
    with reference.as_when_made():
        with verify.verify(reference.BUNDLE, verify.Asked()) as before:
            assert before.judged is not None
            asked = {each.rule for each in before.judged.submission.all_findings if each.open}
        explained = [f"- {{rule: {rule}, cells: '*/*/*/*', text: the trial of {rule}}}" for rule in sorted(asked)]
        with (bag / "data/campaign.yaml").open("a") as file:
            file.write("\n".join(["", "explanations:", *explained, ""]))
        bundled.redo(bag)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], timeout=60, check=True)
        (bag / bagit.SIGNATURE).unlink()
        signatures.sign(bag / bagit.TAG_MANIFEST, key, bundle.NAMESPACE)
        head = verify_head(bag)
        file = written(tmp_path)
        file.write_text(file.read_text().replace("nonce: RFP-1\nproof: [nonce]", f"heads: [{head}]"))
        signers.write_text(f"vendor {key.with_suffix('.pub').read_text()}")
        first = command_line.call("verify", bag, "--terms", file)
        assert first.returncode == 4, first.stdout
        assert "  rules      kept " in first.stdout
        assert f"{len(asked)} explanations, 1 deviation, not yet accepted" in first.stdout
        with file.open("a") as terms_file:
            terms_file.write(re.sub('by: "", date: ""', 'by: A. Buyer, date: "2026-11-26"', entries(first.stdout)))
        last = command_line.call("verify", bag, "--terms", file)
    assert last.returncode == 0, last.stdout
    assert last.stdout.startswith("ACCEPTABLE  offer  vendor (signature ok)")
    assert last.stdout.endswith("ACCEPTABLE: bundle intact, all 36 results present\n")

"""The buyer chooses the rules that a bundle is judged by, and whose waivers count."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from campaign.config.definition import is_named
from campaign.config.rules.packs import PACKS
from campaign.evidence import verify
from campaign.evidence.replay import RulesCopy
from campaign.evidence.verify import Buyer, VerifiedPart
from tests.support import bundled
from tests.support.bundled import Vendor

PACK = "crossroads-mdtest.yaml"


def rewrite_pack(vendor: Vendor, to: Path, old: str, new: str) -> Path:
    """The bundle of a vendor who changed his pack and made everything that follows from it anew."""
    bag = bundled.copy(vendor, "plain", to)
    pack = bag / "data/rules" / PACK
    assert old in pack.read_text()
    pack.write_text(pack.read_text().replace(old, new))
    bundled.redo(bag)
    return bag


def pack_messages(verified: VerifiedPart) -> list[str]:
    return [finding.message for finding in verified.findings if finding.rule == "EVD-05"]


def line_of(rule: str) -> str:
    text = (PACKS / PACK).read_text()
    return next(line for line in text.splitlines(keepends=True) if line.strip().startswith(f"{rule}:"))


def test_a_pack_that_drops_checks_is_named_check_by_check(vendor: Vendor, tmp_path: Path) -> None:
    bag = rewrite_pack(vendor, tmp_path / "bag", line_of("FLG-05"), "")
    with verify.verify(bag, Buyer()) as verified:
        assert verified.decision.rules_copy is RulesCopy.INSTALLED
        (message,) = pack_messages(verified)
        assert message.startswith("the vendor's rule pack differs from yours: checks/FLG-05: none, now ")
        assert verified.evaluation is not None and "FLG-05" in verified.evaluation.submission.pack.checks
        assert verified.decision.exit_status == 1


def test_a_parameter_and_any_other_part_of_the_pack_are_named(vendor: Vendor, tmp_path: Path) -> None:
    bag = rewrite_pack(vendor, tmp_path / "bag", "minimum_nodes: 2", "minimum_nodes: 1")
    with verify.verify(bag, Buyer()) as verified:
        assert pack_messages(verified) == [
            "the vendor's rule pack differs from yours: launch/peak/minimum_nodes: 1, now 2"
        ]


def test_the_buyers_own_pack_decides_where_it_is_named(vendor: Vendor, tmp_path: Path) -> None:
    own_path = tmp_path / "own" / PACK
    own_path.parent.mkdir()
    shutil.copy(PACKS / PACK, own_path)
    with verify.verify(vendor.root / "plain", Buyer(rules=str(own_path))) as verified:
        assert (verified.decision.rules_copy, pack_messages(verified)) == (RulesCopy.GIVEN, [])
    own_path.write_text(own_path.read_text().replace(line_of("RUN-07"), "  RUN-07: {clause: practice, minimum: 3s}\n"))
    with verify.verify(vendor.root / "plain", Buyer(rules=str(own_path))) as verified:
        assert pack_messages(verified)[0] == (
            "the vendor's rule pack differs from yours: checks/RUN-07/minimum: 10s, now 3s"
        )
        assert (
            verified.evaluation is not None and verified.evaluation.submission.pack.parameter("RUN-07", "minimum") == 3
        )


def test_a_pack_that_the_buyer_does_not_have_is_the_vendors_word(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    pack = bag / "data/rules" / PACK
    pack.write_text(pack.read_text().replace("id: crossroads-mdtest", "id: own-rules"))
    pack.rename(pack.with_name("own-rules.yaml"))
    bundled.forge(bag)
    with verify.verify(bag, Buyer()) as verified:
        assert verified.decision.rules_copy is RulesCopy.BUNDLE
        assert pack_messages(verified) == ["re-evaluated with the vendor's copy: no rule pack of this id is installed"]


@pytest.mark.parametrize(
    ("signer", "by", "is_same"),
    [
        ("buyer@site", "B. Uyer", True),
        ("jane.doe@lab.gov", "Jane Doe, procurement", True),
        ("J. Doe", "j.doe", True),
        ("vendor@example.org", "Jane Doe", False),
        ("", "Jane Doe", False),
        ("x@y", "-", False),
    ],
)
def test_the_principal_of_a_key_has_to_be_the_person_whom_the_waiver_names(signer: str, by: str, is_same: bool) -> None:
    assert is_named(signer, by) is is_same


def amended_pack(folder: Path, *changes: tuple[str, str]) -> Path:
    """The buyer's copy of the pack, of version 2."""
    path = folder / "own" / PACK
    path.parent.mkdir()
    text = (PACKS / PACK).read_text()
    for old, new in (("version: 1\n", "version: 2\n"), *changes):
        assert old in text
        text = text.replace(old, new, 1)
    path.write_text(text)
    return path


def test_a_bundle_measured_under_an_earlier_version_is_open_and_no_contradiction(
    vendor: Vendor, tmp_path: Path
) -> None:
    path = amended_pack(tmp_path, (line_of("RUN-07"), "  RUN-07: {clause: practice, minimum: 3s}\n"))
    with verify.verify(vendor.root / "plain", Buyer(rules=str(path))) as verified:
        (finding,) = [finding for finding in verified.findings if finding.rule == "EVD-05"]
        assert finding.open and not finding.violated
        assert finding.message.startswith(
            "measured under version 1, yours is version 2; differs in version: 1, now 2, checks/RUN-07/minimum: 10s, "
        )
        assert finding.message.endswith("; judged by yours")
        assert "EVD-04" not in {finding.rule for finding in verified.findings if finding.violated}
        assert verified.evaluation is not None and verified.evaluation.submission.pack.version == 2


def test_a_campaign_that_does_not_fit_the_amended_rules_is_judged_by_those_that_it_was_measured_under(
    vendor: Vendor, tmp_path: Path
) -> None:
    path = amended_pack(tmp_path, ("id: single\n", "id: alone\n"), ("minimum_nodes: 2", "minimum_nodes: 999"))
    with verify.verify(vendor.root / "plain", Buyer(rules=str(path))) as verified:
        (finding,) = [finding for finding in verified.findings if finding.rule == "EVD-05"]
        assert "judged by the vendor's, since yours does not fit: " in finding.message
        assert not [finding for finding in verified.findings if finding.violated]
        assert verified.evaluation is not None and verified.evaluation.submission.pack.version == 1

"""A campaign file of several parts: shared keys, those of a class of nodes, and each part's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config import response
from campaign.config.definition import open_campaign
from campaign.core.errors import InputError
from campaign.core.strict_yaml import plain
from tests.support import rfp
from tests.support.rfp import ANSWER, RFP


def test_each_part_is_a_campaign_of_its_own(tmp_path: Path) -> None:
    file = rfp.write(tmp_path)
    fast, slow = (open_campaign(file, part).campaign for part in ("fast", "slow"))
    assert (fast.name, slow.name) == ("offer-fast", "offer-slow")
    assert (fast.results, slow.results) == (tmp_path / "results/offer/fast", tmp_path / "results/offer/slow")
    assert [target.name for target in (*fast.targets, *slow.targets)] == ["scratch", "home"]
    assert (fast.rfp, fast.part) == (tmp_path / "rfp.yaml", "fast")


def test_keys_of_a_part_go_before_those_of_its_nodes_and_these_before_the_shared_ones(tmp_path: Path) -> None:
    file = rfp.write(tmp_path)
    fast, slow = (open_campaign(file, part).campaign.slurm for part in ("fast", "slow"))
    assert (fast.partition, fast.constraint, fast.time_s) == ("batch", "", 60)
    assert (slow.partition, slow.constraint, slow.time_s) == ("batch", "fat", 120)


def test_a_pack_may_be_beside_the_rfp(tmp_path: Path) -> None:
    (tmp_path / "buyer/packs").mkdir(parents=True)
    pack_text = (Path("rules/crossroads-mdtest.yaml")).read_text().replace("id: crossroads-mdtest", "id: own", 1)
    (tmp_path / "buyer/packs/own.yaml").write_text(pack_text)
    (tmp_path / "buyer/rfp.yaml").write_text(RFP.replace("pack: crossroads-mdtest,", "pack: packs/own.yaml,", 1))
    file = rfp.write(tmp_path, answer=ANSWER.replace("rules: rfp.yaml", "rules: buyer/rfp.yaml"))
    assert open_campaign(file, "fast").pack.path == tmp_path / "buyer/packs/own.yaml"


@pytest.mark.parametrize(
    ("of_rfp", "answer", "category"),
    [("ported", "", "ported"), ("base|ported", "", "base"), ("base|ported", "ported", "ported")],
)
def test_the_category_of_builds_is_one_of_the_rfps(tmp_path: Path, of_rfp: str, answer: str, category: str) -> None:
    key = f"\n    build: {answer}" if answer else ""
    file = rfp.write(
        tmp_path,
        rfp=RFP.replace("version: 1, title", f"build: {of_rfp}, title"),
        answer=ANSWER.replace("\n    targets: [scratch]", f"{key}\n    targets: [scratch]"),
    )
    response_file = response.read(file)
    document = response.document_of(response_file, response_file.rfp.part("fast"))
    document.finish()
    assert plain(document.root)["build"] == category


def test_another_category_than_the_rfps_is_refused(tmp_path: Path) -> None:
    file = rfp.write(
        tmp_path,
        rfp=RFP.replace("version: 1, title", "build: base|ported, title"),
        answer=ANSWER.replace("\n    targets: [scratch]", "\n    build: optimised\n    targets: [scratch]"),
    )
    response_file = response.read(file)
    with pytest.raises(InputError, match="build: found optimised; the RFP measures part fast with base or ported"):
        response.document_of(response_file, response_file.rfp.part("fast")).finish()


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("  slow:\n", "  sloww:\n", "parts.sloww: found sloww; did you mean slow?"),
        ("  fat:", "  thin:", "node_classes.thin: found thin; allowed: fat"),
        (
            "slurm: {{partition",
            "items_total: 8\nslurm: {{partition",
            "items_total: is a key of a part; move it below parts",
        ),
        (
            "    targets: [home]",
            "    name: other",
            "parts.slow.name: is a key of the whole file; move it to the left margin",
        ),
        ("  fat: {{slurm", "  fat: many #", "node_classes.fat: allowed: a mapping with keys of a campaign file"),
        (ANSWER.partition("parts:")[2], " {{}}\n", "parts: found none; allowed: at least one part of the RFP"),
        ("rules: rfp.yaml\n", "", "rules: required key missing; allowed: the path of an RFP (rfp.yaml)"),
        ("rules: rfp.yaml\n", "rules: none.yaml\n", "none.yaml: cannot be read: No such file or directory"),
    ],
)
def test_what_is_wrong_with_the_parts_is_reported_with_its_place(
    tmp_path: Path, old: str, new: str, problem: str
) -> None:
    assert old in ANSWER
    file = rfp.write(tmp_path, answer=ANSWER.replace(old, new, 1))
    with pytest.raises(InputError) as refused:
        open_campaign(file, "slow")
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "    slurm: {{time: 2m}}",
            "    slurm: {{tme: 2m}}",
            "{file}:22:13: slurm.tme: unknown key; did you mean time?",
        ),
        (
            "targets: [home]",
            "targets: [work]",
            "{file}:19:15: targets[0]: found work; allowed: a mapping with the keys",
        ),
        (
            "    targets: [home]\n",
            "    targets: []\n",
            "{file}:19:14: targets: found 0 entries; allowed: a list of 1 to 50",
        ),
        ("    items_total: 64\n    launch", "    launch", ""),
    ],
)
def test_what_is_wrong_in_a_part_is_reported_with_its_line(tmp_path: Path, old: str, new: str, problem: str) -> None:
    head, _, slow = ANSWER.rpartition("  slow:")
    assert old in slow
    file = rfp.write(tmp_path, answer=f"{head}  slow:{slow.replace(old, new, 1)}")
    if not problem:
        assert open_campaign(file, "slow")
        return
    with pytest.raises(InputError) as refused:
        open_campaign(file, "slow")
    assert problem.format(file=file) in str(refused.value)
    assert open_campaign(file, "fast"), "another part is not concerned"


def test_a_part_has_to_be_named_and_known(tmp_path: Path) -> None:
    file = rfp.write(tmp_path)
    with pytest.raises(InputError, match="name one of its parts: fast, slow"):
        open_campaign(file)
    with pytest.raises(InputError, match="--part slwo: did you mean slow"):
        open_campaign(file, "slwo")


def test_a_file_of_one_pack_has_no_parts(tmp_path: Path) -> None:
    file = rfp.write(tmp_path, answer="name: a\nrules: stream\n")
    with pytest.raises(InputError, match="has no parts; leave out --part fast"):
        open_campaign(file, "fast")


def test_an_rfp_in_place_of_the_file_that_answers_it_and_the_other_way_round_is_reported(tmp_path: Path) -> None:
    rfp.write(tmp_path)
    with pytest.raises(InputError, match=r"rfp\.yaml: is an RFP; give the campaign file that answers it"):
        response.read(tmp_path / "rfp.yaml")
    file = rfp.write(tmp_path, answer=ANSWER.partition("node_classes:")[0])
    with pytest.raises(InputError, match="is an RFP of several packs; a campaign file answers it under `parts`"):
        open_campaign(file)


def test_another_version_of_the_pack_than_the_rfp_asks_for_is_refused(tmp_path: Path) -> None:
    file = rfp.write(tmp_path, rfp=RFP.replace("version: 1, title", "version: 2, title"))
    with pytest.raises(InputError, match="rules: the RFP asks for version 2 of crossroads-mdtest; found version 1"):
        open_campaign(file, "fast")


def test_mandatory_parts_without_an_answer_are_known(tmp_path: Path) -> None:
    file = rfp.write(tmp_path, answer=ANSWER.partition("  slow:")[0])
    assert [part.id for part in response.read(file).unanswered] == ["slow"]

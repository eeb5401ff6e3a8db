"""An RFP of several packs: what it may say, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config import rfp
from campaign.core.errors import InputError
from tests.support.rfp import RFP


def load_rfp(folder: Path, text: str = RFP) -> rfp.Rfp:
    (folder / "rfp.yaml").write_text(text)
    return rfp.load(folder / "rfp.yaml")


def test_an_rfp_has_parts_figures_and_scores(tmp_path: Path) -> None:
    loaded_rfp = load_rfp(tmp_path)
    assert [(part.id, part.pack, part.version, part.mandatory) for part in loaded_rfp.parts] == [
        ("fast", "crossroads-mdtest", 1, True),
        ("slow", "crossroads-mdtest", None, True),
        ("later", "stream", None, False),
    ]
    assert loaded_rfp.part("slow").node_class == "fat"
    assert [(score.id, score.mean) for score in loaded_rfp.scores] == [("both", "geometric"), ("total", "arithmetic")]
    assert [(term.formula, term.reference, term.weight) for term in loaded_rfp.scores[0].terms] == [
        ("create", 100, 1),
        ("stat", 200, 3),
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("node_class: fat", "node_class: thin", "10:45: node_class: found thin; allowed: fat"),
        ("{id: slow", "{id: fast", "8:10: parts[1].id: found fast a second time; allowed: ids that differ"),
        ("create: fast/", "create: swift/", "figures.create: found swift; allowed: fast, slow, later"),
        ("slow/*/single/shared/stat", "slow/single/stat", "allowed: part/target/launch/files/operation"),
        (
            "{formula: both}",
            "{formula: total}",
            "found total; allowed: create, creates, stat, both: figures, and scores above",
        ),
        ("{formula: both}", "{formula: max(creates}", "scores[1].of[0].formula: "),
        ("reference: 100", 'reference: "0"', "found 0; allowed: a number above 0"),
        ("weight: 3", "weight: -3", "found -3; allowed: a number above 0"),
        ("id: both\n    title", "title", "found both; allowed: create, creates, stat: figures, and scores above"),
        ("id: total", "id: create", "found create, which is already a name; choose another"),
        ("mean: arithmetic", "mean: median", "found median; allowed: geometric, arithmetic or harmonic"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in RFP
    with pytest.raises(InputError) as refused:
        load_rfp(tmp_path, RFP.replace(old, new, 1))
    assert problem.partition(": ")[2] in str(refused.value) if problem[:1].isdigit() else problem in str(refused.value)


def test_scores_above_may_be_named_so_that_no_formula_is_circular(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found total; allowed: create, creates, stat: figures, and scores above"):
        load_rfp(tmp_path, RFP.replace("{formula: create, ", "{formula: total, "))


def test_figures_and_versions_are_compared_with_the_packs(tmp_path: Path) -> None:
    (tmp_path / "rfp.yaml").write_text(RFP)
    loaded_rfp, packs = rfp.load_with_packs(tmp_path / "rfp.yaml")
    assert packs["later"].id == "stream"
    rfp_text = rfp.text(loaded_rfp, packs)
    assert "  fast [1]  crossroads-mdtest version 1, mandatory: The fast tier" in rfp_text
    assert "score both: Both tiers: geometric mean of create / 100 (weight 1), stat / 200 (weight 3)" in rfp_text
    (tmp_path / "rfp.yaml").write_text(
        RFP.replace("version: 1, title", "version: 9, title").replace("shared/stat", "shared/sta")
    )
    with pytest.raises(InputError) as refused:
        rfp.load_with_packs(tmp_path / "rfp.yaml")
    assert "parts[0].version: found version 9; the pack is version 1" in str(refused.value)
    assert "figures.stat: crossroads-mdtest has no sta; did you mean stat?" in str(refused.value)


def test_a_figure_may_be_one_of_a_sweep(tmp_path: Path) -> None:
    swept = RFP.replace("pack: stream", "pack: network-contention").replace(
        "slow/*/single/shared/stat", "later/*/two-nodes/one-way/total-4-65536"
    )
    (tmp_path / "rfp.yaml").write_text(swept)
    assert rfp.load_with_packs(tmp_path / "rfp.yaml")[0].figures[2][1].endswith("total-4-65536")


def test_a_category_of_builds_that_the_pack_does_not_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rfp.yaml").write_text(RFP.replace("pack: stream,", "pack: stream, build: baseline|ported,"))
    with pytest.raises(InputError, match=r"parts\[2\].build: found ported; allowed: "):
        rfp.load_with_packs(tmp_path / "rfp.yaml")
    (tmp_path / "rfp.yaml").write_text(RFP.replace("version: 1, title", "build: baseline, title"))
    with pytest.raises(InputError, match=r"parts\[0\].build: found baseline; allowed: none; remove the key"):
        rfp.load_with_packs(tmp_path / "rfp.yaml")


def test_a_figure_names_a_member_of_a_series_and_not_the_series(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "id: own\nversion: 1\nextends: stream\n"
        'launch: [{id: scale, title: "{nodes}", clause: practice, nodes: powers of two, processes_per_node: 1}]\n'
    )
    text = "id: one\nversion: 1\ntitle: One\nparts: [{id: a, pack: own.yaml}]\nfigures: {last: a/*/scale-4/*/triad}\n"
    (tmp_path / "rfp.yaml").write_text(text)
    rfp.load_with_packs(tmp_path / "rfp.yaml")
    (tmp_path / "rfp.yaml").write_text(text.replace("scale-4", "scale"))
    with pytest.raises(InputError, match=r"figures\.last: own has no scale; did you mean scale-\*\?"):
        rfp.load_with_packs(tmp_path / "rfp.yaml")

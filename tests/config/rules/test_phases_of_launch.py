"""Phases that run under some launch conditions only, as the pack osu has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config.rules import packs
from campaign.config.rules.pack import settle
from campaign.core.errors import InputError
from campaign.core.resources import PACKS
from campaign.core.runs import Geometry

LAUNCH = {"two-nodes": Geometry(2, 2), "node": Geometry(1, 4), "nodes": Geometry(4, 8)}


def test_a_launch_condition_has_the_operations_of_its_phases() -> None:
    pack = settle(packs.load("osu"), "rehearsal", LAUNCH, {})
    phases = {launch: {operation.phase for operation in pack.operations_of(launch)} for launch in LAUNCH}
    assert phases == {
        "two-nodes": {"latency", "bw", "bibw", "mbw-mr"},
        "node": {"allreduce", "alltoall"},
        "nodes": {"mbw-mr", "allreduce", "alltoall"},
    }
    assert pack.deciding_operation("two-nodes").id == "latency-4096"
    assert pack.deciding_operation("node").id == "alltoall-4096"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("launch: [node, nodes]", "launch: [nodes]", "no phase runs under node"),
        ("launch: [two-nodes]", "launch: [two-node]", "two-node"),
    ],
)
def test_a_launch_condition_without_a_phase_and_one_that_is_not_there_are_refused(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "osu.yaml"
    file.write_text((PACKS / "osu.yaml").read_text().replace(old, new))
    with pytest.raises(InputError) as caught:
        packs.load(file)
    assert any(says in problem for problem in caught.value.problems)


def test_a_launch_condition_whose_id_is_wrong_is_not_also_missed_in_the_phases(tmp_path: Path) -> None:
    file = tmp_path / "osu.yaml"
    file.write_text((PACKS / "osu.yaml").read_text().replace("{id: node, title", "{id: No de, title"))
    with pytest.raises(InputError, match='found "No de"; allowed') as caught:
        packs.load(file)
    assert "no phase runs under" not in str(caught.value)


def test_a_flag_with_its_value_in_one_word_is_listed_by_its_name() -> None:
    pack = packs.load("hpcg")
    assert {"--nx", "--rt"} <= {flag.flag for flag in pack.phases[0].derived}
    assert "--nx={edge}" in pack.phases[0].arguments

"""A pack's tables of reference values: what may be in them, and how they are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config.rules import packs, text
from campaign.core.errors import InputError
from tests.config.rules.test_extends import BASE

TABLE = '  - {id: reference, by: nodes, between: linear, points: {1: 10, 4: 25}, clause: "4"}\n'


def load(folder: Path, table: str, holds: str = "processes >= {reference}") -> packs.RulePack:
    path = folder / "base.yaml"
    path.write_text(BASE.replace("nodes >= 1", f'"{holds}"') + f"references:\n{table}")
    return packs.load(path)


def test_a_table_is_read_and_shown_with_its_points(tmp_path: Path) -> None:
    pack = load(tmp_path, TABLE)
    assert pack.references[0].points == ((1.0, 10.0), (4.0, 25.0))
    assert pack.judging_rule(pack.requires[1]) == "GEO-05"
    lines = text.text(pack).splitlines()
    assert "  reference  10 at 1, 25 at 4 [4]" in lines
    assert "             by nodes, between them linear" in lines


def test_an_operations_formula_may_name_a_table(tmp_path: Path) -> None:
    speed_up = "  - {id: speed-up, title: Speed-up, unit: x, formula: write / reference}\n"
    text_of_base = BASE.replace("unit: MiB/s}\n", "unit: MiB/s}\n" + speed_up, 1)
    (tmp_path / "base.yaml").write_text(f"{text_of_base}references:\n{TABLE}")
    assert packs.load(tmp_path / "base.yaml").operations[-1].formula == "write / reference"
    (tmp_path / "base.yaml").write_text(text_of_base)
    with pytest.raises(InputError, match="found reference"):
        packs.load(tmp_path / "base.yaml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("by: nodes", "by: nods", "references[0].by: found nods; did you mean nodes?"),
        (", 4: 25", "", "references[0].points: allowed: two or more points"),
        ("linear, points: {1", "logarithms, points: {0", "for logarithms of numbers above 0"),
        ("between: linear, ", "", "references[0].between: required key missing; allowed: linear or logarithms"),
        ("id: reference", "id: other", "requires[1].holds: found reference; allowed: "),
    ],
)
def test_mistakes_in_a_table_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, TABLE.replace(old, new))
    assert message in str(caught.value)

"""Patterns of cells, and the spread of their nodes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core.runs import Cell, Status, matches
from campaign.results.cells import Row, patterns

CELL = Cell("scratch", "node", "unique", "stat")


@pytest.mark.parametrize(
    "pattern",
    ["scratch/node/unique/stat", "*/*/*/*", "scratch/node/*/*", "s*/n?de/[u]nique/stat", "[!x]*/node/uni*/[a-z]*"],
)
def test_a_pattern_matches_each_part_of_a_cell(pattern: str) -> None:
    assert matches(CELL, pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "scratch/node/unique",
        "*",
        "**",
        "scratch/*",
        "scratch/node/unique/stat/",
        "Scratch/node/unique/stat",
        "",
        "*/*/*/*/*",
    ],
)
def test_a_pattern_of_other_parts_matches_no_cell(pattern: str) -> None:
    assert not matches(CELL, pattern)


@given(st.text("abc*?[]!", max_size=12))
def test_no_star_reaches_over_a_slash(pattern: str) -> None:
    assert not matches(CELL, pattern)


ALL = [
    Cell(target, launch, files, operation)
    for target in ("scratch", "home")
    for launch in ("node", "many")
    for files in ("unique", "shared")
    for operation in ("create", "stat")
]


def test_patterns_name_what_they_cover_as_widely_as_possible() -> None:
    assert patterns(ALL, ALL) == ["*/*/*/*"]
    assert patterns(ALL[:8], ALL) == ["scratch/*/*/*"]
    assert patterns([cell for cell in ALL if cell.operation == "stat"], ALL) == ["*/*/*/stat"]
    assert patterns(ALL[:1], ALL) == ["scratch/node/unique/create"]


@given(st.lists(st.sampled_from(ALL)))
def test_patterns_match_exactly_their_cells(cells: list[Cell]) -> None:
    globs = patterns(cells, ALL)
    assert [cell for cell in ALL if any(matches(cell, glob) for glob in globs)] == [
        cell for cell in ALL if cell in cells
    ]


@pytest.mark.parametrize(
    ("values", "spread"), [((90.0, 110.0), 0.2), ((-1.0, -3.0), 1.0), ((-1.0, 1.0), None), ((0.0, 0.0), None)]
)
def test_the_spread_of_nodes_is_a_share_of_their_mean_without_its_sign(
    values: tuple[float, ...], spread: float | None
) -> None:
    row = Row(CELL, "Ry", Status.MEASURED, None, by_node=dict(zip(("n1", "n2"), values, strict=True)))
    assert row.spread == spread

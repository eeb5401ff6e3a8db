"""Patterns of cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core.model import Cell, matches

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

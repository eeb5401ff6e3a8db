from __future__ import annotations

from operator import itemgetter
from unittest import mock

import pytest
import tabulate
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core.columns import Column
from campaign.report import grid
from campaign.report.printing import MIN_TEXT_WIDTHS, TextTable, text_of_table

HEADERS = ["cell", "unit", "A", "B", "verdict"]
LEFT = ("unit", "verdict")
BODY = [
    ["scratch/single/shared/create", "ops/s", "445984", "390469", "cannot tell: too few repetitions"],
    ["scratch/max/onefile/remove", "ops/s", "3771532", "4655684", "better"],
]


def columns(headers: list[str], left: tuple[str, ...]) -> list[Column[list[str]]]:
    return [Column(name, itemgetter(place), is_text=name in left) for place, name in enumerate(headers)]


def printed_table(
    width: int, headers: list[str] = HEADERS, body: list[list[str]] = BODY, left: tuple[str, ...] = LEFT
) -> str:
    return grid.plain_grid(columns(headers, left), body, width)


def widest(text: str) -> int:
    return max(map(len, text.splitlines()))


def test_a_table_that_fits_is_as_the_library_makes_it() -> None:
    assert printed_table(100).splitlines()[2] == (
        "scratch/single/shared/create  ops/s    445984   390469  cannot tell: too few repetitions"
    )


def test_sentences_give_way_before_names() -> None:
    text = printed_table(76)
    assert widest(text) <= 76
    assert "scratch/single/shared/create  ops/s" in text
    assert "too few repetitions" not in text and "cannot tell:" in text


def test_where_that_is_not_enough_names_are_broken_behind_a_slash() -> None:
    text = printed_table(60)
    assert widest(text) <= 60
    assert "scratch/single/" in text and "  shared/create" in text


def test_columns_of_numbers_that_have_no_room_follow_below() -> None:
    headers = ["", *(f"{size} B" for size in range(20))]
    text = printed_table(60, headers, [["total MB/s, pairs: 1", *["1234567"] * 20], ["total", *["1"] * 20]], ())
    assert widest(text) <= 60
    parts = text.split("\n\n")
    assert len(parts) > 2
    assert all("total MB/s, pairs: 1  1234567" in part for part in parts)
    assert text.count("1234567") == 20


def test_other_formats_go_to_programs_and_are_not_folded() -> None:
    assert widest(grid.grid_text(columns(HEADERS, LEFT), BODY, "github", 40)) > 90


words = st.text("abcdefgh", min_size=1, max_size=9)
texts = st.lists(words, max_size=8).map(" ".join)


@settings(max_examples=30)
@given(st.lists(st.tuples(texts, st.integers(0, 10**6).map(str), texts), min_size=1, max_size=5), st.integers(50, 120))
def test_whatever_the_texts_nothing_is_wider_than_asked_and_nothing_is_lost(
    lines: list[tuple[str, str, str]], width: int
) -> None:
    text = printed_table(width, ["name", "number", "why"], [list(line) for line in lines], ("why",))
    assert widest(text) <= width
    given_words = sorted(word for line in lines for cell in line for word in cell.split())
    parts = [part.splitlines() for part in text.split("\n\n")]
    lower_parts = [
        line for part in parts for line in part[[set(line) <= {"-", " "} for line in part].index(True) + 1 :]
    ]
    assert sorted(word for line in lower_parts for word in line.split()) == given_words
    assert width >= sum(MIN_TEXT_WIDTHS)


@pytest.mark.parametrize("width", [100, 80, 60])
def test_the_rows_of_a_folded_table_stay_apart(width: int) -> None:
    assert printed_table(width).count("ops/s") == 2


@given(
    st.integers(1, 4).flatmap(
        lambda number: st.lists(
            st.lists(
                st.from_regex(r"[a/]{1,5}( [b1]{1,5})?(\n[c.]{1,9})?", fullmatch=True), min_size=number, max_size=number
            ),
            min_size=2,
            max_size=4,
        )
    ),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_plain_text_is_drawn_as_tabulate_draws_it(lines: list[list[str]], texts: list[bool]) -> None:
    headers, *body = lines
    alignment = ["left" if is_text else "right" for is_text in texts[: len(headers)]]
    table = TextTable(headers, body, texts[: len(headers)])
    for style, padding in (("simple", 0), ("simple", 2), ("plain", 0)):
        with mock.patch.object(tabulate, "MIN_PADDING", padding):
            drawn = tabulate.tabulate(body, headers, style, colalign=alignment, disable_numparse=True)
        assert text_of_table(table, style, padding) == drawn

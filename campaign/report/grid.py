"""Tables by their columns, as people read them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from campaign.core import escaping
from campaign.core.columns import Column, Item
from campaign.report import printing


def table_cells(columns: Sequence[Column[Item]], items: Sequence[Item]) -> list[tuple[str, ...]]:
    """A line for each item."""
    lines = (tuple(column.value(item) for column in columns) for item in items)
    return [tuple("" if value is None else str(value) for value in line) for line in lines]


def grid_text(columns: Sequence[Column[Item]], items: Sequence[Item], style: str, width: int = printing.WIDEST) -> str:
    """In a format of tabulate. The first column is a text."""
    table = printing.TextTable(
        [escaping.shield(column.name, style) for column in columns],
        [[escaping.shield(text, style) for text in line] for line in table_cells(columns, items)],
        [not place or column.is_text for place, column in enumerate(columns)],
    )
    shown_places = [
        place
        for place, column in enumerate(columns)
        if not column.is_optional or any(line[place] for line in table.lines)
    ]
    return printing.fit_table(table.columns(shown_places), style, width)


def plain_grid(columns: Sequence[Column[Item]], items: Sequence[Item], width: int) -> str:
    """As plain text, ready to be shown."""
    return printing.document([grid_text(columns, items, "simple", width)], "simple")

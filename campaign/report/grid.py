"""Tables by their columns, as people read them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from campaign.core import escaping
from campaign.core.columns import Column, Item, csv_columns, csv_line, table_cells, used_columns
from campaign.report import printing


def grid_text(columns: Sequence[Column[Item]], items: Sequence[Item], style: str, width: int = printing.WIDEST) -> str:
    """Items as a table in a format of tabulate. The first column is a text."""
    columns = used_columns(columns, items)
    table = printing.TextTable(
        [escaping.shield(column.name, style) for column in columns],
        [[escaping.shield(text, style) for text in line] for line in table_cells(columns, items)],
        [not place or column.is_text for place, column in enumerate(columns)],
    )
    return printing.fit_table(table, style, width)


def plain_grid(
    columns: Sequence[Column[Item]], items: Sequence[Item], width: int = printing.WIDEST, style: str = "simple"
) -> str:
    """Items as a table of plain text, ready to be shown."""
    return printing.document([grid_text(columns, items, style, width)], style)


def grid_csv(columns: Sequence[Column[Item]], items: Sequence[Item]) -> str:
    """As CSV, with the columns that have a place in it."""
    return printing.as_csv([*csv_columns(columns)], (csv_line(columns, item) for item in items))

"""Tables by their columns, in the forms that people and programs read. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from campaign.core.columns import Column, Item
from campaign.report import printing


def text(columns: Sequence[Column[Item]], items: Sequence[Item], style: str, width: int) -> str:
    """In a format of tabulate. Status and notes, say, are columns only where a line has them: `is_optional`."""
    lines = [[_shown(column.value(item)) for column in columns] for item in items]
    kept = [
        place for place, column in enumerate(columns) if not column.is_optional or any(line[place] for line in lines)
    ]
    headings = [columns[place].name for place in kept]
    left = [column.name for column in columns if column.is_text]
    return printing.grid(headings, [[line[place] for place in kept] for line in lines], style, left, width)


def _shown(value: Any) -> str:
    return "" if value is None else str(value)

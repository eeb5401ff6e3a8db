"""What a column of a table is. All forms of a table are made from its columns, so that each is written once. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")  # what a row of the table is about


@dataclass(frozen=True, slots=True)
class Column(Generic[Item]):
    """`name`: its heading, and its key in JSON and in CSV, there unless `flat` is another. `place`: in a line of CSV,
    from 1, and 0 if it is not there; programs may know columns by their place, so that a new one is the last. `title`:
    its heading in the table for people of what is also for programs; "" if they do not see it. `meaning`: for the
    schema of the JSON form, where the name does not say it. `width`: of a workbook's column, in digits.
    """

    name: str
    value: Callable[[Item], Any]
    place: int = 0
    title: str = ""
    unit: str = ""
    flat: str = ""
    is_text: bool = False  # aligned left, and folded where there is little room
    is_optional: bool = False  # left out of an object that has no value, and of a printed table without any
    repeats: bool = False  # where people read the values of several rows, also those that are equal
    listed: Callable[[list[Any]], str] | None = None  # the text of a list in CSV
    meaning: str = ""
    width: int = 11
    columns: tuple[Column[Any], ...] = ()  # those of an object of JSON, about the value; CSV has no objects


def sequence_columns(*names: str, is_text: bool = True) -> tuple[Column[Sequence[Any]], ...]:
    """For items that are sequences with a value for each column."""
    return tuple(Column(name, itemgetter(place), is_text=is_text) for place, name in enumerate(names))


def used_columns(columns: Sequence[Column[Item]], items: Sequence[Item]) -> list[Column[Item]]:
    """The columns without the optional ones in which no item has a value."""
    return [
        column
        for column in columns
        if not column.is_optional or any(column.value(item) not in (None, "") for item in items)
    ]


def table_cells(columns: Sequence[Column[Item]], items: Sequence[Item]) -> list[tuple[str, ...]]:
    """The texts of a line for each item."""
    lines = (tuple(column.value(item) for column in columns) for item in items)
    return [tuple("" if value is None else str(value) for value in line) for line in lines]


def record(columns: Sequence[Column[Item]], item: Item) -> dict[str, Any]:
    """The JSON object of an item: each column's value by its name, and nested objects for columns of columns."""
    values = ((column, column.value(item)) for column in columns)
    return {
        column.name: record(column.columns, value) if column.columns and value is not None else value
        for column, value in values
        if value is not None or not column.is_optional
    }


def add_csv_fields(columns: Sequence[Column[Any]], entry: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON object of an item, which another party may have written, and the CSV columns that are nested in it."""
    return {**entry, **dict(_fields(columns, entry))}


def _fields(columns: Sequence[Column[Any]], entry: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for column in columns:
        value = entry.get(column.name)
        if column.columns and isinstance(value, dict):
            yield from _fields(column.columns, dict.fromkeys(inner.name for inner in column.columns) | value)
        elif column.place and column.name in entry:
            yield (
                column.flat or column.name,
                column.listed(value) if column.listed and isinstance(value, list) else value,
            )


def csv_columns(columns: Sequence[Column[Any]]) -> dict[str, Column[Any]]:
    """The columns of CSV by their names, in their order."""
    leaves = [leaf for column in columns for leaf in (column.columns or (column,)) if leaf.place]
    return {leaf.flat or leaf.name: leaf for leaf in sorted(leaves, key=lambda leaf: leaf.place)}


def csv_line(columns: Sequence[Column[Item]], item: Item) -> dict[str, Any]:
    """The columns of CSV with the values of an item, None where it has none."""
    return dict.fromkeys(csv_columns(columns)) | add_csv_fields(columns, record(columns, item))

"""The table of `make bench`: rows for what a reader may ask; what else is measured is printed by each benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from tabulate import tabulate

HEADERS = ("figure", "limit", "us", "peer", "spread", "instructions")
_TABLE = re.compile(r"^\| figure .*\n(?:\|.*\n)*", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    figure: str
    limit: str = ""  # the bar
    us: str = ""
    peer: str = ""  # the same of another program
    spread: str = ""
    instructions: str = ""  # of an operation, beyond those of a bare loop
    missed: bool = False


def markdown(rows: Sequence[Row]) -> str:
    body = [[*astuple(row)[:-1]] for row in rows]
    for cells, row in zip(body, rows, strict=True):
        cells[2] += " (missed)" if row.missed else ""
    return f"{tabulate(body, HEADERS, 'github', disable_numparse=True)}\n"


def write(path: Path, table: str) -> None:
    """In place of the table that the file has."""
    text = path.read_text() if path.exists() else ""
    path.write_text(_TABLE.sub(lambda _: table, text) if _TABLE.search(text) else table)

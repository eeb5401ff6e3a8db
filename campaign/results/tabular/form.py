"""A buyer's form, XLSX, CSV or DOCX: its cells, and the file with values in some of them."""

from __future__ import annotations

import codecs
import csv
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from campaign.core import untrusted
from campaign.core.errors import InputError
from campaign.core.escaping import spreadsheet
from campaign.results.tabular import xlsx
from campaign.results.tabular.table import ALLOWED_CSV

LARGEST = 16 << 20  # bytes
LARGEST_UNPACKED = 32 << 20
ALLOWED = ".xlsx, .xlsm, .csv or .docx"
MERGED = "it is merged into another cell"
_SEPARATORS = ",;\t"


class Spot(NamedTuple):
    """A cell: row and column from 1. In a DOCX each table is a sheet, and "text" has a row for each paragraph."""

    sheet: str
    row: int
    column: int

    @property
    def reference(self) -> str:
        from openpyxl.utils import get_column_letter

        return f"{get_column_letter(self.column)}{self.row}"

    def __str__(self) -> str:
        return f"{self.sheet}!{self.reference}" if self.sheet else self.reference


@dataclass(frozen=True, slots=True)
class Box:
    """What a cell holds. `closed`: why nothing may be written into it."""

    value: Any = None
    closed: str = ""

    @property
    def text(self) -> str:
        return written(self.value)


Value = str | float
Values = Mapping[Spot, Mapping[str, Value]]  # for each cell what takes the place of a part of its text, or of "", all


@dataclass(frozen=True, slots=True)
class BuyersForm:
    """`sheets`: their names in order. `filled` gives the file with values."""

    sheets: Sequence[str]
    boxes: Mapping[Spot, Box]
    filled: Callable[[Values], bytes]
    beyond: str = ""  # why nothing may be written into cells that are not in `boxes`

    def box(self, spot: Spot) -> Box:
        return self.boxes.get(spot) or Box(closed=self.beyond)


def read(path: Path, computed: bool = False) -> BuyersForm:
    """`computed`: formulas are read as the values that they had last. Raises InputError."""
    from campaign.results.tabular import document, workbook

    if not path.is_file():
        raise InputError(f"{path}: not found; give a form ({ALLOWED})")
    suffix, data = path.suffix.lower(), untrusted.content(path, LARGEST)
    if suffix in (".xlsx", ".xlsm"):
        return workbook.read(path, data, computed)
    if suffix not in (".csv", ".docx"):
        raise InputError(f"{path}: not a form; allowed: {ALLOWED}")
    return document.read(path, data) if suffix == ".docx" else _of_csv(path, data)


def written(value: Any) -> str:
    """A cell's value as text."""
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def content(text: str, parts: Mapping[str, Value]) -> Value:
    """A cell's text with values in place of parts of it; a value itself where it takes the place of all."""
    if (whole := text.strip()) in parts:
        return parts[whole]
    for part, value in parts.items():
        text = text.replace(part, written(value))
    return text


def replaced(archive: bytes, members: Mapping[str, bytes]) -> bytes:
    """The archive with other contents of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(out, "w") as target:
        for file in source.infolist():
            target.writestr(file, members.get(file.filename) or source.read(file))
    return out.getvalue()


def _of_csv(path: Path, data: bytes) -> BuyersForm:
    text = untrusted.text(str(path), data, ALLOWED_CSV)
    separator, end = max(_SEPARATORS, key=text.count), "\r\n" if "\r\n" in text else "\n"
    with xlsx.readable(path, "a CSV file: {why}; save it as .csv"):
        lines = list(csv.reader(io.StringIO(text), delimiter=separator, strict=True))
    boxes = {
        Spot("", row, column): Box(field) for row, line in enumerate(lines, 1) for column, field in enumerate(line, 1)
    }

    def filled(values: Values) -> bytes:
        out = io.StringIO()
        for spot, parts in values.items():
            new = content(boxes[spot].text, parts)
            lines[spot.row - 1][spot.column - 1] = spreadsheet(new) if isinstance(new, str) else written(new)
        csv.writer(out, delimiter=separator, lineterminator=end).writerows(lines)
        return out.getvalue().encode("utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8")

    return BuyersForm(("",), boxes, filled, "its line has no such field")

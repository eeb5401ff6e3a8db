"""Rows of a table in CSV or XLSX, which another party may have written, by the names of their columns, in any order."""

from __future__ import annotations

import csv
import difflib
import io
import itertools
import math
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from campaign.core import untrusted
from campaign.core.errors import CampaignError, InputError
from campaign.core.escaping import plain
from campaign.results.cells import IN_CSV

LARGEST = 64 << 20  # bytes
MOST_ROWS = 100_000
SUFFIXES = (".csv", ".xlsx")
ALLOWED = "a table (.csv, .json or .xlsx)"
ALLOWED_CSV = "a table in UTF-8 (Excel saves it as 'CSV UTF-8')"
NOT_A_NUMBER = "a number with a decimal point and without thousands separators, such as 1234.5"
NEEDED = IN_CSV[:5]
TEXTS = (*NEEDED[:4], "unit", "run", "file", "job_id")
_SEPARATORS = ",;\t"
_COMMAS = re.compile(r"\s*[-+]?[0-9]+,[0-9]+(?:[eE][-+]?[0-9]+)?(?: [-+]?[0-9]+(?:,[0-9]+)?(?:[eE][-+]?[0-9]+)?)*\s*")
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class TabularRow:
    """`where`: its place in the file, for messages. `fields` are text, or numbers of a workbook. Getters raise
    InputError for a value of another kind.
    """

    where: str
    fields: dict[str, Any]

    def text_of(self, key: str) -> str:
        value = self.fields.get(key)
        if not isinstance(value, str | None):
            self.refuse(key, repr(value), "a text")
        return plain((value or "").strip())  # it is printed on terminals

    def number_of(self, key: str) -> float | None:
        value = self.fields.get(key)
        if value in (None, ""):
            return None
        numeric = parse_number(value)
        try:
            amount = float(numeric) if type(numeric) in (int, float) else math.nan
        except OverflowError:
            amount = math.inf
        if not math.isfinite(amount):
            self.refuse(key, repr(str(value)[:40]), NOT_A_NUMBER)
        return amount

    def count_of(self, key: str) -> int | None:
        amount = self.number_of(key)
        if amount is not None and (amount != int(amount) or amount < 0):
            self.refuse(key, f"{amount:.15g}", "a whole number")
        return None if amount is None else int(amount)

    def refuse(self, key: str, value: str, allowed: str) -> NoReturn:
        raise InputError(f"{self.where}: {key}: found {value}; allowed: {allowed}")


def read_table(path: Path) -> list[TabularRow]:
    """The rows; at least one, with all NEEDED columns. Raises InputError."""
    if not path.is_file():
        raise InputError(f"{path}: not found; give {ALLOWED}")
    data = untrusted.content(path, LARGEST)
    kind = path.suffix.lower().removeprefix(".")
    if not data.strip():
        raise InputError(f"{path}: empty; give a table as 'campaign table --format {kind}' writes it")
    tables = sheet_tables(path, data) if kind == "xlsx" else iter([_csv_lines(path, data)])
    lines, columns = _choose_table(tables)
    _check_columns(path, columns)
    rows: list[TabularRow] = []
    for where, values in lines:
        if len(rows) == MOST_ROWS:
            raise InputError(f"{path}: more than {MOST_ROWS} rows; give one table of one campaign")
        if len(values) > len(columns):  # of the columns behind an unquoted 1,234 none is what its name says
            raise InputError(f"{where}: more fields than columns; put a field that contains the separator in quotes")
        if any(value not in (None, "") for value in values):
            rows.append(
                TabularRow(where, {name: _field(name, value) for name, value in zip(columns, values, strict=False)})
            )
    if not rows:
        raise InputError(table_without_rows(path))
    return rows


def table_without_rows(path: object) -> str:
    return f"{path}: no rows below the column names; one row for each cell is needed"


def parse_number(value: Any) -> Any:
    """Text that is a number as a number; anything else unchanged."""
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value.strip()) else value


def _field(name: str, value: Any) -> Any:
    """A name that consists of digits is a number in a workbook."""
    return str(value) if name in TEXTS and type(value) in (int, float) else value


def _choose_table(tables: Iterator[Iterator[TabularLine]]) -> tuple[Iterator[TabularLine], list[str]]:
    """The lines and columns of the first table with the needed columns, or else of the first table."""
    first: tuple[Iterator[TabularLine], list[str]] | None = None
    for lines in tables:
        names = next((names for _, names in lines if any(names)), [])
        columns = [plain(str(name or "")).strip().lower() for name in names]
        if all(name in columns for name in NEEDED):
            return lines, columns
        first = first or (lines, columns)
    return first or (iter(()), [])


def _check_columns(path: Path, columns: Sequence[str]) -> None:
    if duplicates := [name for name in NEEDED if columns.count(name) > 1]:
        raise InputError(
            f"{path}: column {duplicates[0]} appears {columns.count(duplicates[0])} times; remove all but one"
        )
    missing = [name for name in NEEDED if name not in columns]
    if not missing:
        return
    found_columns = ", ".join(name[:40] for name in columns if name) or "none"
    other_columns = [name for name in columns if name not in NEEDED]
    if len(missing) == 1 and (near := difflib.get_close_matches(missing[0], other_columns, 1)):
        raise InputError(
            f"{path}: no column {missing[0]}; found: {found_columns[:400]}; did you mean {missing[0]} for {near[0]}?"
        )
    raise InputError(
        f"{path}: no column {', '.join(missing)}; found: {found_columns[:400]}; needed: {', '.join(NEEDED)}"
    )


def _csv_lines(path: Path, data: bytes) -> Iterator[TabularLine]:
    """With commas, semicolons or tabs between the fields: whichever its first line has most of, judged by
    column names.
    """
    text = untrusted.text(str(path), data, ALLOWED_CSV)
    head = next(filter(str.strip, text.splitlines()), "")
    separator = max(
        _SEPARATORS, key=lambda candidate: len({*NEEDED} & {name.strip(' "').lower() for name in head.split(candidate)})
    )
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        for fields in reader:
            if separator != ",":  # then a comma between digits is a decimal one
                fields = [field.replace(",", ".") if _COMMAS.fullmatch(field) else field for field in fields]
            yield f"{path}: line {reader.line_num}", fields
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: {error}; give a table in CSV") from error


# --- the sheets of an XLSX workbook: only values, within limits
#
# The library trusts a workbook's makers. So what a hostile one could contain is refused before: archives that unpack to
# too much, links to other workbooks, growing entities, too many rows and columns.

MOST_MEMBERS = 1000
MOST_UNPACKED = 256 << 20  # bytes
MOST_COLUMNS = 200
MOST_LINES = 200_000  # per sheet, including empty ones
MOST_SHEETS = 100
_BOUNDED_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_XML = (".xml", ".rels", ".vml")
_LIKE_XML = re.compile(rb"\s*(<|\0<|\xef\xbb\xbf|\xff\xfe|\xfe\xff)")  # whatever its name says
_ENCODING = re.compile(rb"""<\?xml[^>]*encoding\s*=\s*["'](?!utf-8["'])""", re.IGNORECASE)

TabularLine = tuple[str, Sequence[Any]]  # its place, and the values of its fields


def sheet_tables(path: Path, data: bytes) -> Iterator[Iterator[TabularLine]]:
    """The lines of each sheet, one sheet after another. Raises InputError."""
    import openpyxl

    with reading_errors(path):
        check_workbook(path, data, MOST_UNPACKED)
        warnings.filterwarnings("ignore", module="openpyxl")  # it warns about unknown styles
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets[:MOST_SHEETS]:
            sheet.reset_dimensions()  # otherwise it fills up the size that the sheet claims with empty fields
            yield _sheet_lines(path, sheet)


def _sheet_lines(path: Path, sheet: Any) -> Iterator[TabularLine]:
    with reading_errors(path):
        values = sheet.iter_rows(max_col=MOST_COLUMNS, values_only=True)
        for line, fields in enumerate(itertools.islice(values, MOST_LINES), 1):
            if fields.count(None) < len(fields):
                last = max(place for place, value in enumerate(fields) if value is not None)
                yield f"{path}: sheet {sheet.title!r:.60}: row {line}", fields[: last + 1]


@contextmanager
def reading_errors(path: Path, otherwise: str = "an XLSX workbook: {why}; save it as .xlsx or .csv") -> Iterator[None]:
    """Turns the many kinds of exceptions that the library raises for a damaged file into InputError."""
    try:
        yield
    except CampaignError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path}: not {otherwise.format(why=reason)}") from error


def check_workbook(path: Path, data: bytes, most_unpacked: int) -> None:
    """Raises InputError for what the library would trust."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) > MOST_MEMBERS:
            excess = f"{len(members)} parts"
            raise InputError(f"{path}: {excess}; give a table of up to {MOST_MEMBERS} parts")
        size = sum(member.file_size for member in members)  # reading stops there, whatever follows
        if size > most_unpacked or any(member.compress_type not in _BOUNDED_METHODS for member in members):
            excess = f"unpacks to {size} bytes or by an unusual method"
            raise InputError(f"{path}: {excess}; give a table of up to {most_unpacked} bytes")
        for member in members:
            if member.filename.lower().startswith("xl/externallinks/"):
                raise InputError(
                    f"{path}: links to other workbooks ({member.filename:.80}); save it with values in place of the "
                    "links"
                )
            content = archive.read(member)
            is_xml = member.filename.lower().endswith(_XML) or _LIKE_XML.match(content)
            if is_xml and not _is_plain_xml(content):
                raise InputError(
                    f"{path}: {member.filename:.80} is not plain UTF-8 XML (it declares entities or another encoding); "
                    "save the workbook again"
                )


def _is_plain_xml(content: bytes) -> bool:
    """Whether XML is UTF-8 and declares no entities or types."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    declares = any(mark in content for mark in (b"\0", b"<!DOCTYPE", b"<!ENTITY"))
    return not declares and not _ENCODING.search(content[:500])

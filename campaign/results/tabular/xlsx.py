"""The sheets of an XLSX workbook from another party: only values, within limits.

The library trusts a workbook's makers. So what a hostile one could contain is refused before: archives that unpack to
too much, links to other workbooks, growing entities, too many rows and columns.
"""

from __future__ import annotations

import io
import itertools
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from campaign.core.errors import CampaignError, InputError

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


def sheets(path: Path, data: bytes) -> Iterator[Iterator[TabularLine]]:
    """The lines of each sheet, one sheet after another. Raises InputError."""
    import openpyxl

    with readable(path):
        check(path, data, MOST_UNPACKED)
        warnings.filterwarnings("ignore", module="openpyxl")  # it warns about unknown styles
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        for sheet in book.worksheets[:MOST_SHEETS]:
            sheet.reset_dimensions()  # otherwise it fills up the size that the sheet claims with empty fields
            yield _lines(path, sheet)


def _lines(path: Path, sheet: Any) -> Iterator[TabularLine]:
    with readable(path):
        values = sheet.iter_rows(max_col=MOST_COLUMNS, values_only=True)
        for line, fields in enumerate(itertools.islice(values, MOST_LINES), 1):
            if fields.count(None) < len(fields):
                last = max(place for place, value in enumerate(fields) if value is not None)
                yield f"{path}: sheet {sheet.title!r:.60}: row {line}", fields[: last + 1]


@contextmanager
def readable(path: Path, otherwise: str = "an XLSX workbook: {why}; save it as .xlsx or .csv") -> Iterator[None]:
    """Turns the many kinds of exceptions that the library raises for a damaged file into InputError."""
    try:
        yield
    except CampaignError:
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{path}: not {otherwise.format(why=why)}") from error


def check(path: Path, data: bytes, most_unpacked: int) -> None:
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
            if is_xml and not _plain(content):
                raise InputError(
                    f"{path}: {member.filename:.80} is not plain UTF-8 XML (it declares entities or another encoding); "
                    "save the workbook again"
                )


def _plain(content: bytes) -> bool:
    """Whether XML is UTF-8 and declares no entities or types."""
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    declares = any(mark in content for mark in (b"\0", b"<!DOCTYPE", b"<!ENTITY"))
    return not declares and not _ENCODING.search(content[:500])

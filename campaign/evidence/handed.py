"""A table, page or form that was handed in beside a bundle, compared with its re-evaluated results cell by cell."""

from __future__ import annotations

import html
import re
import tempfile
import urllib.parse
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from campaign.config.forms import FormMapping
from campaign.core import units, untrusted
from campaign.core.errors import InputError
from campaign.judge import foreign
from campaign.judge.submission import Submission
from campaign.report import contents
from campaign.report.table import COLUMNS, flattened
from campaign.report.workbook.sheets import CLAUSES, PROVENANCE
from campaign.report.write import write_report
from campaign.results.tabular import form
from campaign.results.tabular.table import LARGEST, number

NOISE = Decimal("1e-12")  # of numbers that were converted to the form's unit and back
JUDGED = ("Summary", CLAUSES, "Findings")  # sheets in which a bundle's rules are also judged
_LINK = re.compile(r'<a href="#([^"]+)"[^>]*>(.*?)</a>(?:</th><td data-label="Value">([^<]*)<)?')
Texts = Mapping[str, Any]  # by place


@dataclass(frozen=True, slots=True)
class CellDifference:
    place: str
    expected: str
    found: str

    @property
    def is_thousandfold(self) -> bool:
        numbers = [number(text) for text in (self.expected, self.found)]
        return all(isinstance(each, float) for each in numbers) and units.is_thousandfold(*numbers)


def differences(
    path: Path, parts: Mapping[str, Submission], mapping: FormMapping | None = None
) -> list[CellDifference]:
    """The cells that are not the bundle's. `parts`: of an RFP, or that of "". `mapping`: of a filled form. A number may
    be rounded to 3 digits or more. Raises InputError.
    """
    if len(parts) > 1 and mapping is None:
        raise InputError(
            f"{path}: not a form of the RFP; name the part that it is of with --part, or its mapping with --map"
        )
    whole, suffix = next(iter(parts.values())), path.suffix.lower()
    if mapping is None and (suffix == ".html" or (suffix == ".xlsx" and PROVENANCE in form.read(path).sheets)):
        with tempfile.TemporaryDirectory(prefix="campaign-report.") as place:
            page = write_report(Path(place), contents.of(whole))
            read = _of_page if suffix == ".html" else _of_workbook
            expected, found = read(page if suffix == ".html" else page.with_name("table.xlsx")), read(path)
    else:
        expected, found = _of_rows(path, parts, mapping)
    if not found:
        raise InputError(f"{path}: no result found to compare; a form needs --mapping")
    both = ((place, expected.get(place), found.get(place)) for place in {**expected, **found})
    return [CellDifference(place, form.written(a), form.written(b)) for place, a, b in both if not _same(a, b)]


def _same(expected: Any, found: Any) -> bool:
    try:
        exact, given = Decimal(str(expected)), Decimal(form.written(found))
        last = Decimal(1).scaleb(min(given.adjusted() - 2, int(given.as_tuple().exponent)))
        return abs(exact - given) <= last / 2 + abs(exact) * NOISE
    except (InvalidOperation, ValueError):
        return units.unpadded(form.written(expected)) == units.unpadded(form.written(found).strip())


def _of_page(path: Path) -> Texts:
    """The numbers of a page that lead to their origins, and those beside them."""
    times: Counter[str] = Counter()
    found = {}
    for link, text, value in _LINK.findall(untrusted.text(str(path), untrusted.content(path, LARGEST), "a page")):
        shown = html.unescape(re.sub("<[^>]*>", "", value or text)).strip()
        if re.match(r"[-+]?[0-9]", shown):
            times[link] += 1
            found[f"{urllib.parse.unquote(link)} ({times[link]})"] = shown
    return found


def _of_workbook(path: Path) -> Texts:
    boxes = form.read(path, computed=True).boxes
    return {str(spot): box.value for spot, box in boxes.items() if spot.sheet not in JUDGED and box.text}


def _of_rows(path: Path, parts: Mapping[str, Submission], mapping: FormMapping | None) -> tuple[Texts, Texts]:
    """What the bundle and the table have in the columns of the table; of a form, only its own cells."""
    packs = {part: whole.pack for part, whole in parts.items()}
    rows = form.rows(path, mapping, packs) if mapping else foreign.table_entries(path)
    given = {_named(row.fields): row.fields for row in rows}
    if len(given) < len(rows):
        raise InputError(f"{path}: a result is there twice; remove one of its lines")
    columns = [name for name in COLUMNS[4:] if name != "findings" and any(name in each for each in given.values())]
    every = [
        (f"{part}/{row.cell}" if part else str(row.cell), row) for part, whole in parts.items() for row in whole.rows
    ]
    known = {name: flattened(row) for name, row in every}
    if mapping:
        empty = {name: {"value": None} for name, row in every if not row.status.counts}
        known = {cell: known.get(cell, {}) | empty.get(cell, {}) for cell in given}
    expected, found = (
        {f"{cell} {name}": fields.get(name) for cell, fields in of.items() for name in columns} for of in (known, given)
    )
    return expected, found


def _named(fields: Texts) -> str:
    names = ("part", *COLUMNS[:4]) if fields.get("part") else COLUMNS[:4]
    return "/".join(str(fields[name]) for name in names)

"""A table, page or form that was handed in beside a bundle, compared with what its re-evaluated results give."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from campaign.config.forms import FormMapping
from campaign.core import units, untrusted
from campaign.core.columns import csv_line
from campaign.core.errors import InputError
from campaign.core.units import listing, plural
from campaign.judge.submission import Submission
from campaign.report import contents, filled_form
from campaign.report.foreign import form_file, judge_table
from campaign.report.foreign.table_file import LARGEST, parse_number
from campaign.report.scores import Scored
from campaign.report.workbook.sheets import PROVENANCE
from campaign.report.write import write_report
from campaign.results.cells import COLUMNS, IN_CSV

NOISE = Decimal("1e-12")  # of numbers that were converted to the form's unit and back
_RAW_OUTPUT = re.compile(r'href="\./[^"]*?/(runs/[^"]*")')  # a link, which begins with the way from the page
_LITERAL = re.compile(r'"([^"]*)"|\\(.)|[_*].|\[([A-Za-z]+|\$-[0-9A-Fa-f]+)\]')  # what a number format shows as it is
_PLAIN = re.compile(r"(?=.*[G#?0])\s*(General|[#?0]*(,[#?0]{3})*(\.[#?0]+)?(E[+-][#?0]+)?)\s*")
Texts = Mapping[str, Any]  # by place


@dataclass(frozen=True, slots=True)
class CellDifference:
    place: str
    expected: str
    found: str

    @property
    def is_thousandfold(self) -> bool:
        numbers = [parse_number(text) for text in (self.expected, self.found)]
        return all(isinstance(value, float) for value in numbers) and units.is_thousandfold(*numbers)


@dataclass(frozen=True, slots=True)
class TableComparison:
    """`scope`: what of the file was compared, and what not."""

    differences: tuple[CellDifference, ...]
    scope: str


def compare(
    path: Path, parts: Mapping[str, Submission], mapping: FormMapping | None = None, scores: Sequence[Scored] = ()
) -> TableComparison:
    """What in the file is not the bundle's. `parts`: as their vendor judged them, of an RFP, or that of "". `mapping`:
    of a filled form; `scores`: of the RFP. A number may be rounded to 3 digits or more. Raises InputError.
    """
    if len(parts) > 1 and mapping is None:
        raise InputError(
            f"{path}: not a form of the RFP; name the part that it is of with --part, or its mapping with --mapping"
        )
    submission, suffix = next(iter(parts.values())), path.suffix.lower()
    if mapping is not None:
        expected, actual, scope = _form_values(path, parts, mapping, scores)
    elif suffix == ".html" or (suffix == ".xlsx" and PROVENANCE in form_file.read_form(path).sheets):
        with tempfile.TemporaryDirectory(prefix="campaign-report.") as place:
            page = write_report(Path(place), contents.report_contents(submission))
            read_values = _page_lines if suffix == ".html" else _workbook_cells
            expected, actual = (
                read_values(page if suffix == ".html" else page.with_name("table.xlsx")),
                read_values(path),
            )
        scope = _SCOPES[suffix]
    else:
        expected, actual, scope = _table_values(path, parts)
    if not actual:
        raise InputError(f"{path}: no result found to compare; a form needs --mapping")
    pairs = ((place, expected.get(place), actual.get(place)) for place in {**expected, **actual})
    differences = (
        CellDifference(place, form_file.cell_text(a), form_file.cell_text(b))
        for place, a, b in pairs
        if not _is_same_value(a, b)
    )
    return TableComparison(tuple(differences), scope)


def _is_same_value(expected: Any, actual: Any) -> bool:
    try:
        exact, number_found = Decimal(str(expected)), Decimal(form_file.cell_text(actual))
        last_digit = Decimal(1).scaleb(min(number_found.adjusted() - 2, int(number_found.as_tuple().exponent)))
        return abs(exact - number_found) <= last_digit * bool(number_found) / 2 + abs(exact) * NOISE
    except (InvalidOperation, ValueError):
        return units.without_padding(form_file.cell_text(expected).strip()) == units.without_padding(
            form_file.cell_text(actual).strip()
        )


_SCOPES = {
    ".html": "every line was compared, but for where its links to raw outputs begin",
    ".xlsx": "values, formulas, number formats, comments and what is hidden were compared in all cells of all sheets; "
    "colours, images and charts were not",
}


def _page_lines(path: Path) -> Texts:
    """The lines of a page."""
    text = untrusted.text(str(path), untrusted.content(path, LARGEST), "a page")
    return {f"line {line}": _RAW_OUTPUT.sub(r"\1", content) for line, content in enumerate(text.splitlines(), 1)}


def _workbook_cells(path: Path) -> Texts:
    """The cells of a workbook, and how they are displayed. A text that looks like a number is none."""
    values: dict[str, Any] = {}
    for spot, box in form_file.read_form(path).boxes.items():
        if box.text:
            is_text = isinstance(box.value, str) and isinstance(parse_number(box.value), float)
            values[str(spot)] = f"{box.value} as text" if is_text else box.value
            values |= {f"{spot} ({name})": text for name, text in box.display}
    return values


def _form_values(
    path: Path, parts: Mapping[str, Submission], mapping: FormMapping, scores: Sequence[Scored]
) -> tuple[Texts, Texts, str]:
    """What the bundle and the form have in the cells that the mapping names."""
    sources, buyers_form = filled_form.named_sources(parts, scores), form_file.read_form(path)
    expected: dict[str, Any] = {}
    actual: dict[str, Any] = {}
    for place in form_file.form_places(path, buyers_form, mapping):
        source = sources.get(place.entry.result)
        if source is None and "" not in parts and place.entry.result.partition("/")[0] not in parts:
            continue
        name, box = f"{place.spot} {place.entry.name}", buyers_form.box(place.spot)
        expected[name] = None if source is None else filled_form.cell_value(place.entry, source)
        actual[name] = buyers_form.value(place.spot)
        unit = place.entry.unit or (source.row.unit if isinstance(source, filled_form.Result) else "")
        number_format = dict(box.display).get(form_file.NUMBER_FORMAT, "General")
        if not is_plain(number_format, box.value, unit):
            expected[f"{name} ({form_file.NUMBER_FORMAT})"] = "one that shows the number unchanged"
            actual[f"{name} ({form_file.NUMBER_FORMAT})"] = number_format
    return expected, actual, f"{plural(len(expected), 'cell')} of the mapping compared; the rest of the form was not"


def is_plain(number_format: str, value: Any, unit: str) -> bool:
    """Whether a cell's format shows a value as it is, rounded, perhaps with its unit."""
    sections = number_format.split(";")
    if not isinstance(value, int | float):
        return number_format == "@" or (len(sections) < 4 and "@" not in number_format)
    place = 0 if value > 0 else 1 if value < 0 else 2
    section = sections[place] if place < len(sections) else sections[0]
    if any(
        "".join(match.group(1, 2)[0] or match.group(2) or "").strip() not in ("", unit)
        for match in _LITERAL.finditer(section)
    ):
        return False
    bare = _LITERAL.sub(" ", section)
    return bool(_PLAIN.fullmatch(bare.strip("-() ") if value < 0 and place < len(sections) else bare))


def _table_values(path: Path, parts: Mapping[str, Submission]) -> tuple[Texts, Texts, str]:
    """What the bundle and the table have in the columns of the table."""
    rows = judge_table.table_entries(path)
    fields_by_name = {_row_name(row.fields): row.fields for row in rows}
    if len(fields_by_name) < len(rows):
        raise InputError(f"{path}: a result is there twice; remove one of its lines")
    names = dict.fromkeys(name for fields in fields_by_name.values() for name in fields)
    columns = [name for name in IN_CSV[4:] if name != "findings" and name in names]
    bundle_fields = {
        f"{part}/{row.cell}" if part else str(row.cell): csv_line(COLUMNS, row)
        for part, submission in parts.items()
        for row in submission.rows
    }
    expected, actual = (
        {f"{cell} {name}": fields.get(name) for cell, fields in fields_of_side.items() for name in columns}
        for fields_of_side in (bundle_fields, fields_by_name)
    )
    boxes = form_file.read_form(path).boxes if path.suffix.lower() == ".xlsx" else {}
    for spot, box in boxes.items():  # their values were read as the workbook had them last
        for name, text in box.display:
            if name != form_file.NUMBER_FORMAT or not is_plain(text, box.value, ""):
                actual[f"{spot} ({name})"] = text
        actual |= {f"{spot} (formula)": box.value} if box.text.startswith("=") else {}
    other_columns = [name for name in names if name not in (*columns, "part", *IN_CSV[:4])]
    scope = f"the columns {listing(columns)} were compared"
    return expected, actual, f"{scope}; not {listing(other_columns)}" if other_columns else scope


def _row_name(fields: Texts) -> str:
    names = ("part", *IN_CSV[:4]) if fields.get("part") else IN_CSV[:4]
    return "/".join(str(fields[name]) for name in names)

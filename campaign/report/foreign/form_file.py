"""A buyer's form, XLSX, CSV or DOCX: its cells, and the file with values in some of them.

In XLSX and DOCX, all that is not filled in stays as it is. Formulas lose their last values, which are of other numbers,
and are computed when the workbook is opened.
"""

from __future__ import annotations

import codecs
import csv
import io
import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from campaign.config.forms import AXES, TOGETHER, VALUES, FormEntry, FormMapping, FormTable
from campaign.config.rules.pack import RulePack
from campaign.core import units, untrusted
from campaign.core.errors import InputError
from campaign.core.escaping import spreadsheet
from campaign.core.grouping import grouped
from campaign.report.foreign.table_file import ALLOWED_CSV, TabularRow, check_workbook, parse_number, reading_errors

if TYPE_CHECKING:
    from docx.text.paragraph import Paragraph

LARGEST = 16 << 20  # bytes
LARGEST_UNPACKED = 32 << 20
MOST_BOXES = 500_000  # cells of a sheet
ALLOWED = ".xlsx, .xlsm, .csv or .docx"
NUMBER_FORMAT = "number format"
MERGED = "it is merged into another cell"
TEXT = "text"  # the sheet of the paragraphs of a DOCX that are in no table
_SEPARATORS = ",;\t"
_DECIMAL_COMMA = re.compile(r"\s*[-+]?(?![1-9][0-9]{0,2},[0-9]{3}\s*$)[0-9]+,[0-9]+([eE][-+]?[0-9]+)?\s*")
_BOOK, _RELATIONS, _STYLES = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/styles.xml"
_WHOLE, _DECIMALS, _POWER = "3", "4", "11"  # the numbers that every workbook gives #,##0 and #,##0.00 and 0.00E+00
_SPACES = "{http://www.w3.org/XML/1998/namespace}space"


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
    """What a cell holds. `closed`: why nothing may be written into it; `display`: what else decides how an XLSX shows
    it: its number format, its comment, and that it is hidden. `merged_text`: of the cell that it is merged into.
    """

    value: Any = None
    closed: str = ""
    display: tuple[tuple[str, str], ...] = ()
    merged_text: str = ""

    @property
    def text(self) -> str:
        return cell_text(self.value)


Value = str | float
Values = Mapping[Spot, Mapping[str, Value]]  # for each cell what takes the place of a part of its text, or of "", all


@dataclass(frozen=True, slots=True)
class BuyersForm:
    """`sheets`: their names in order. `filled` gives the file with values, and a remark below them, "" for none.
    `without_commas`: why its numbers cannot have decimal commas, "" if they can.
    """

    sheets: Sequence[str]
    boxes: Mapping[Spot, Box]
    filled: Callable[[Values, str], bytes]
    closed_outside: str = ""  # why nothing may be written into cells that are not in `boxes`
    without_commas: str = ""

    def box(self, spot: Spot) -> Box:
        return self.boxes.get(spot) or Box(closed=self.closed_outside)

    def value(self, spot: Spot) -> Any:
        """What a cell holds, a number with a decimal comma as text with a point. A comma that may as well separate
        thousands, as in 127,264, stays.
        """
        value = self.box(spot).value
        is_with_comma = not self.without_commas and isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value)
        return value.replace(",", ".") if is_with_comma else value


def read_form(path: Path, use_last_values: bool = False) -> BuyersForm:
    """The buyer's form in a file. `use_last_values`: formulas are read as the values that they had last. Raises
    InputError.
    """
    if not path.is_file():
        raise InputError(f"{path}: not found; give a form ({ALLOWED})")
    suffix, data = path.suffix.lower(), untrusted.content(path, LARGEST)
    if suffix in (".xlsx", ".xlsm"):
        return _workbook_form(path, data, use_last_values)
    if suffix not in (".csv", ".docx"):
        raise InputError(f"{path}: not a form; allowed: {ALLOWED}")
    return (_csv_form if suffix == ".csv" else _document_form)(path, data)


def cell_text(value: Any) -> str:
    """A cell's value as text."""
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)


def with_decimal_comma(value: Value) -> Value:
    return value if isinstance(value, str) else units.padded_csv_number(cell_text(value)).replace(".", ",")


def replaced_text(text: str, parts: Mapping[str, Value]) -> Value:
    """A cell's text with values in place of parts of it; a value itself where it takes the place of all."""
    if (stripped := text.strip()) in parts:
        return parts[stripped]
    for part, value in parts.items():
        text = text.replace(part, cell_text(value))
    return text


def replace_members(archive: bytes, members: Mapping[str, bytes]) -> bytes:
    """The archive with other contents of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(out, "w") as target:
        for file in source.infolist():
            target.writestr(file, members.get(file.filename) or source.read(file))
    return out.getvalue()


def _csv_form(path: Path, data: bytes) -> BuyersForm:
    text = untrusted.text(str(path), data, ALLOWED_CSV)
    between_words = re.sub("(?<=[0-9]),(?=[0-9])", "", text)  # a comma between digits may be a decimal one
    separator, end = max(_SEPARATORS, key=between_words.count), "\r\n" if "\r\n" in text else "\n"
    with reading_errors(path, "a CSV file: {why}; save it as .csv"):
        lines = list(csv.reader(io.StringIO(text), delimiter=separator, strict=True))
    boxes = {
        Spot("", row, column): Box(field) for row, line in enumerate(lines, 1) for column, field in enumerate(line, 1)
    }

    def filled(values: Values, remark: str) -> bytes:
        out = io.StringIO()
        for spot, parts in values.items():
            new = replaced_text(boxes[spot].text, parts)
            lines[spot.row - 1][spot.column - 1] = (
                spreadsheet(new) if isinstance(new, str) else units.padded_csv_number(cell_text(new))
            )
        remarks = [[remark]] if remark else []
        csv.writer(out, delimiter=separator, lineterminator=end).writerows([*lines, *remarks])
        return out.getvalue().encode("utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8")

    without_commas = "commas separate its fields; save it with semicolons between them" if separator == "," else ""
    return BuyersForm(("",), boxes, filled, "its line has no such field", without_commas)


# --- XLSX


def _workbook_form(path: Path, data: bytes, use_last_values: bool) -> BuyersForm:
    import openpyxl

    boxes: dict[Spot, Box] = {}
    cell: Any
    with reading_errors(path):
        check_workbook(path, data, LARGEST_UNPACKED)
        book = openpyxl.load_workbook(io.BytesIO(data), data_only=use_last_values, keep_links=False)
        for sheet in book.worksheets:
            if sheet.max_row * sheet.max_column > MOST_BOXES:
                raise InputError(f"{path}: sheet {sheet.title!r}: more than {MOST_BOXES} cells; clear unused ones")
            merged_texts = {
                place: cell_text(sheet.cell(merged.min_row, merged.min_col).value)
                for merged in sheet.merged_cells.ranges
                for place in merged.cells
            }
            for cell in (cell for row in sheet.iter_rows() for cell in row):
                place = (cell.row, cell.column)
                boxes[Spot(sheet.title, *place)] = Box(
                    cell.value, _why_closed(sheet, cell), _display(sheet, cell), merged_texts.get(place, "")
                )

    def filled(values: Values, remark: str) -> bytes:
        new = {spot: _stored_value(boxes.get(spot, Box()), parts) for spot, parts in values.items()}
        for sheet in {spot.sheet for spot in values} if remark else ():
            new[Spot(sheet, max(spot.row for spot in boxes if spot.sheet == sheet) + 2, 1)] = remark
        with reading_errors(path), zipfile.ZipFile(io.BytesIO(data)) as archive:
            return replace_members(data, _changed_members(archive, new))

    without_commas = "numbers of a workbook have the decimal sign of the program that shows it; leave --decimal out"
    return BuyersForm([sheet.title for sheet in book.worksheets], boxes, filled, without_commas=without_commas)


def _stored_value(box: Box, parts: Mapping[str, Value]) -> Value:
    """What a cell holds with values in place of parts of its text: of a date in a format for dates, its number."""
    from openpyxl.styles.numbers import is_date_format
    from openpyxl.utils.datetime import to_excel

    value = replaced_text(box.text, parts)
    if isinstance(value, str) and is_date_format(dict(box.display).get(NUMBER_FORMAT, "General")):
        with suppress(ValueError):
            return float(to_excel(date.fromisoformat(value)))  # type: ignore[no-untyped-call]
    return value


def _why_closed(sheet: Any, cell: Any) -> str:
    from openpyxl.cell import MergedCell

    if isinstance(cell, MergedCell):
        return MERGED
    locked = sheet.protection.sheet and cell.protection.locked
    return "the sheet is protected, and the cell is locked" if locked else ""


def _display(sheet: Any, cell: Any) -> tuple[tuple[str, str], ...]:
    from openpyxl.cell import MergedCell
    from openpyxl.utils import get_column_letter

    row, column = sheet.row_dimensions.get(cell.row), sheet.column_dimensions.get(get_column_letter(cell.column))
    is_hidden = sheet.sheet_state != "visible" or any(
        dimension is not None and dimension.hidden for dimension in (row, column)
    )
    properties = {"hidden": "yes"} if is_hidden else {}
    if not isinstance(cell, MergedCell):
        properties |= {NUMBER_FORMAT: cell.number_format} if cell.number_format != "General" else {}
        properties |= {"comment": cell.comment.text} if cell.comment else {}
    return tuple(properties.items())


def _changed_members(archive: zipfile.ZipFile, new: dict[Spot, Value]) -> dict[str, bytes]:
    """The members of the archive that are others with these values."""
    from lxml import etree

    def parsed(member: str) -> Any:
        return etree.fromstring(archive.read(member), etree.XMLParser(resolve_entities=False))

    book = parsed(_BOOK)
    space = book.tag.removesuffix("workbook")
    for settings in book.iterfind(f"{space}calcPr"):  # without them, everything is computed
        settings.set("fullCalcOnLoad", "1")
    targets = {relation.get("Id"): posixpath.join("/xl", relation.get("Target"))[1:] for relation in parsed(_RELATIONS)}
    roots = {_BOOK: book, **({_STYLES: parsed(_STYLES)} if _STYLES in archive.namelist() else {})}
    styles = roots[_STYLES].find(f"{space}cellXfs") if _STYLES in roots else None
    for sheet in book.find(f"{space}sheets"):
        member = targets[next(value for name, value in sheet.items() if name.endswith("}id"))]
        root, spots = parsed(member), sorted(spot for spot in new if spot.sheet == sheet.get("name"))
        last = root.findall(f".//{space}c[{space}f]/{space}v")
        for value in last:
            value.getparent().remove(value)
        for spot in spots:
            row = _row_or_cell(root.find(f"{space}sheetData"), f"{space}row", spot.row, str(spot.row))
            cell, value = _row_or_cell(row, f"{space}c", spot.column, spot.reference), new[spot]
            _write_value(cell, value)
            if styles is not None and isinstance(value, int | float):
                cell.set("s", _number_style(styles, int(cell.get("s", "0")), value))
        if last or spots:
            roots[member] = root
    return {
        member: etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
        for member, root in roots.items()
    }


def _number_style(styles: Any, place: int, value: float) -> str:
    """The place of a cell's style, or of a new one like it, with a format for numbers if it has none."""
    if styles[place].get("numFmtId", "0") != "0":
        return str(place)
    style = deepcopy(styles[place])
    style.set(
        "numFmtId", _WHOLE if abs(value) >= 100 or value == int(value) else _DECIMALS if abs(value) >= 1 else _POWER
    )
    style.set("applyNumberFormat", "1")
    styles.append(style)
    styles.set("count", str(len(styles)))
    return str(len(styles) - 1)


def _row_or_cell(parent: Any, tag: str, number: int, reference: str) -> Any:
    """The row or cell with that number, a new one if the sheet has none."""
    from openpyxl.utils.cell import column_index_from_string, coordinate_from_string

    new = parent.makeelement(tag, r=reference)
    for child in parent:
        name = child.get("r")
        child_number = int(name) if name.isdecimal() else column_index_from_string(coordinate_from_string(name)[0])
        if child_number >= number:
            if child_number > number:
                child.addprevious(new)
            return child.getprevious() if child_number > number else child
    parent.append(new)
    return new


def _write_value(cell: Any, value: Value) -> None:
    """A number, or a text; "" clears the cell."""
    from lxml.etree import SubElement

    space = cell.tag.removesuffix("c")
    for child in list(cell):
        cell.remove(child)
    cell.attrib.pop("t", None)
    if value and isinstance(value, str):
        cell.set("t", "inlineStr")
        SubElement(SubElement(cell, f"{space}is"), f"{space}t", {_SPACES: "preserve"}).text = value
    elif value != "":
        SubElement(cell, f"{space}v").text = cell_text(value)


# --- DOCX


def _document_form(path: Path, data: bytes) -> BuyersForm:
    import docx

    paragraphs: dict[Spot, list[Paragraph]] = {}
    merged_into: dict[Spot, Spot] = {}
    with reading_errors(path, "a DOCX document: {why}; save it as .docx"):
        check_workbook(path, data, LARGEST_UNPACKED)
        document = docx.Document(io.BytesIO(data))
        for number, table in enumerate(document.tables, 1):
            first_spots: dict[Any, Spot] = {}  # a merged cell is at each of its places
            for row, of_row in enumerate(table.rows, 1):
                for column, cell in enumerate(of_row.cells, 1):
                    spot = Spot(f"table {number}", row, column)
                    first_spot = first_spots.setdefault(cell._tc, spot)
                    paragraphs[spot] = cell.paragraphs if spot == first_spot else []
                    merged_into[spot] = first_spot
        paragraphs |= {Spot(TEXT, number, 1): [paragraph] for number, paragraph in enumerate(document.paragraphs, 1)}
    texts = {
        spot: "\n".join(map(_paragraph_text, paragraphs_of_cell)) for spot, paragraphs_of_cell in paragraphs.items()
    }
    boxes = {
        spot: Box(text, "" if paragraphs[spot] else MERGED, merged_text=texts[merged_into.get(spot, spot)])
        for spot, text in texts.items()
    }

    def filled(values: Values, remark: str) -> bytes:
        for spot, parts in values.items():
            for part, value in parts.items():
                _replace_in_paragraph(
                    next(paragraph for paragraph in paragraphs[spot] if part in _paragraph_text(paragraph)),
                    part,
                    cell_text(value),
                )
        if remark:
            document.add_paragraph(remark)
        return replace_members(data, {document.part.partname.lstrip("/"): document.part.blob})

    return BuyersForm(tuple(dict.fromkeys(spot.sheet for spot in boxes)), boxes, filled, "its table has no such cell")


def _paragraph_text(paragraph: Paragraph) -> str:
    """What can be replaced: not the texts of links."""
    return "".join(run.text for run in paragraph.runs)


def _replace_in_paragraph(paragraph: Paragraph, part: str, text: str) -> None:
    """A text in place of a part of a paragraph, which may be cut into several runs; it has the format of the first."""
    if not part:
        paragraph.add_run(text)
        return
    letters = [(number, letter) for number, run in enumerate(paragraph.runs) for letter in run.text]
    start = _paragraph_text(paragraph).index(part)
    letters[start : start + len(part)] = [(letters[start][0], text)]
    for place, run in enumerate(paragraph.runs):
        new = "".join(letter for of_run, letter in letters if of_run == place)
        if new != run.text:
            run.text = new


# --- the cells that results are for, as marked in the form and as a mapping says

_MARK = re.compile(r"\{\{\s*(.+?)\s*\}\}")
Headings = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class FormPlace:
    """`part`: of the cell's text, in whose place the value goes; "" for an empty cell."""

    spot: Spot
    entry: FormEntry
    part: str = ""


def form_places(path: Path, form: BuyersForm, mapping: FormMapping | None) -> Iterator[FormPlace]:
    """Raises InputError for a sheet or a heading that the form does not have, or has twice."""
    from openpyxl.utils.cell import coordinate_to_tuple

    for spot, box in form.boxes.items():
        yield from (FormPlace(spot, FormEntry.parse(mark[1]), mark[0]) for mark in _MARK.finditer(box.text))
    for name, entry in mapping.cells if mapping else ():
        sheet, _, reference = name.rpartition("!")
        yield FormPlace(Spot(_check_sheet(path, form, sheet), *coordinate_to_tuple(reference)), FormEntry.parse(entry))
    for table in mapping.tables if mapping else ():
        for sheet, word in table.sheets:
            yield from _table_places(path, form, _check_sheet(path, form, sheet), word, table)
        if not table.sheets:
            yield from _only_table(path, form, table)


def _only_table(path: Path, form: BuyersForm, table: FormTable) -> list[FormPlace]:
    """The places of a table in the one sheet that has all its headings."""
    problems: list[str] = []
    places_by_sheet: dict[str, list[FormPlace]] = {}
    for sheet in form.sheets:
        try:
            places_by_sheet[sheet] = list(_table_places(path, form, sheet, "", table))
        except InputError as error:
            problems += error.problems[:1]
    if len(places_by_sheet) > 1:
        names = units.listing(places_by_sheet)
        raise InputError(f"{path}: the headings of {table.result} are in the sheets {names}; name one in `sheets`")
    if not places_by_sheet:
        raise InputError(*problems)
    return next(iter(places_by_sheet.values()))


def _check_sheet(path: Path, form: BuyersForm, name: str) -> str:
    if name and name not in form.sheets:
        raise InputError(f"{path}: no sheet {name!r}; allowed: {units.listing(form.sheets)}")
    return name or form.sheets[0]


def _table_places(path: Path, form: BuyersForm, sheet: str, of_sheet: str, table: FormTable) -> Iterator[FormPlace]:
    boxes = {spot[1:]: box for spot, box in form.boxes.items() if spot.sheet == sheet}
    where = f"{path}{f': sheet {sheet!r}' if sheet else ''}"
    columns = list(_heading_lines(where, boxes, 1, table.column_groups, table.columns))
    for row, of_row in _heading_lines(where, boxes, 0, table.row_groups, table.rows):
        for column, of_column in columns:
            name = table.result
            for axis, word in zip(AXES, (of_sheet, *of_row, *of_column), strict=True):
                name = name.replace(f"{{{axis}}}", word)
            yield FormPlace(Spot(sheet, row, column), FormEntry.parse(name))


def _heading_lines(
    where: str, boxes: Mapping[tuple[int, int], Box], axis: int, groups: Headings, headings: Headings
) -> Iterator[tuple[int, tuple[str, str]]]:
    """Rows (axis 0) or columns (axis 1), each with what the headings of its group and its own mean."""
    lines = {
        line: _LineTexts({_heading(box.text) for box in of_line}, {_heading(box.merged_text) for box in of_line})
        for line, of_line in grouped((spot[axis], box) for spot, box in boxes.items()).items()
    }
    starts = sorted((_heading_line(where, lines, text), word) for text, word in groups) or [(0, "")]
    for place, (start, group) in enumerate(starts):
        end = starts[place + 1][0] if place + 1 < len(starts) else 10**7
        group_lines = {line: texts for line, texts in lines.items() if start <= line < end}
        for text, word in headings:
            yield _heading_line(f"{where}{f': group {group}' if group else ''}", group_lines, text), (group, word)


class _LineTexts(NamedTuple):
    """The texts of a row or a column."""

    own: set[str]
    merged: set[str]  # of the cells that its cells are merged into, perhaps in another row


def _heading(text: str) -> str:
    return " ".join(text.split())


def _heading_line(where: str, lines: Mapping[int, _LineTexts], heading: str) -> int:
    """The line with the heading's texts, of which one at least is its own: a label that is merged over several rows
    counts for each together with the others alone.
    """
    heading_texts = {_heading(text) for text in heading.split(TOGETHER)}
    matching_lines = [
        line for line, texts in lines.items() if heading_texts <= texts.own | texts.merged and heading_texts & texts.own
    ]
    if len(matching_lines) != 1:
        outcome = f"found {len(matching_lines)} times" if matching_lines else "not found"
        raise InputError(
            f"{where}: heading {heading!r}: {outcome}; name a heading that is there once, or map single cells"
        )
    return matching_lines[0]


def form_rows(path: Path, mapping: FormMapping, packs: Mapping[str, RulePack]) -> list[TabularRow]:
    """What a filled form says of results, with rates and sizes in the units of the rule packs. `packs`: those of the
    RFP's parts, or of "" for results without a part in their names. Raises InputError.
    """
    form = read_form(path, use_last_values=True)
    rows_by_result: dict[str, TabularRow] = {}
    for place in form_places(path, form, mapping):
        entry, value = place.entry, form.value(place.spot)
        part, _, name = ("", "", entry.result) if "" in packs else entry.result.partition("/")
        if part not in packs or not entry.is_of_result:
            continue
        if name.count("/") != 3:
            allowed = "target/launch/files/operation, in an RFP with its part before it"
            raise InputError(f"{path}: cell {place.spot}: found {entry.name}; allowed: {allowed}")
        cell = dict(zip(("target", "launch", "files", "operation"), name.split("/"), strict=True))
        operation = next(
            (known_operation for known_operation in packs[part].operations if known_operation.id == cell["operation"]),
            None,
        )
        unit = entry.unit or (operation.unit if operation else "")
        if operation and entry.field in VALUES and isinstance(amount := parse_number(value), float | int):
            with suppress(ValueError):
                value, unit = units.convert_unit(amount, unit, operation.unit), operation.unit
        best = packs[part].best(operation) if operation else "highest"
        row = rows_by_result.setdefault(
            entry.result, TabularRow(f"{path}: cell {place.spot}", {"part": part, **cell, "unit": unit, "best": best})
        )
        row.fields[entry.field] = value
    return list(rows_by_result.values())

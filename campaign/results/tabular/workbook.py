"""A form in XLSX. Formulas lose their last values, which are of other numbers, and are computed when it is opened."""

from __future__ import annotations

import io
import posixpath
import zipfile
from pathlib import Path
from typing import Any

from campaign.core.errors import InputError
from campaign.results.tabular import xlsx
from campaign.results.tabular.form import (
    LARGEST_UNPACKED,
    MERGED,
    Box,
    BuyersForm,
    Spot,
    Value,
    Values,
    content,
    replaced,
    written,
)

MOST_BOXES = 500_000
BOOK = "xl/workbook.xml"
_RELATIONS = "xl/_rels/workbook.xml.rels"
_SPACES = "{http://www.w3.org/XML/1998/namespace}space"
_LAST_BEFORE = ("definedNames", "externalReferences", "functionGroups", "sheets")  # before the settings of computing


def read(path: Path, data: bytes, computed: bool) -> BuyersForm:
    import openpyxl

    boxes: dict[Spot, Box] = {}
    cell: Any
    with xlsx.readable(path):
        xlsx.check(path, data, LARGEST_UNPACKED)
        book = openpyxl.load_workbook(io.BytesIO(data), data_only=computed, keep_links=False)
        for sheet in book.worksheets:
            if sheet.max_row * sheet.max_column > MOST_BOXES:
                raise InputError(f"{path}: sheet {sheet.title!r}: more than {MOST_BOXES} cells; clear unused ones")
            for cell in (cell for row in sheet.iter_rows() for cell in row):
                boxes[Spot(sheet.title, cell.row, cell.column)] = Box(cell.value, _closed(sheet, cell))

    def filled(values: Values) -> bytes:
        new = {spot: content(boxes.get(spot, Box()).text, parts) for spot, parts in values.items()}
        with xlsx.readable(path), zipfile.ZipFile(io.BytesIO(data)) as archive:
            return replaced(data, _changed(archive, new))

    return BuyersForm([sheet.title for sheet in book.worksheets], boxes, filled)


def _closed(sheet: Any, cell: Any) -> str:
    from openpyxl.cell import MergedCell

    if isinstance(cell, MergedCell):
        return MERGED
    locked = sheet.protection.sheet and cell.protection.locked
    return "the sheet is protected, and the cell is locked" if locked else ""


def _changed(archive: zipfile.ZipFile, new: dict[Spot, Value]) -> dict[str, bytes]:
    """The members of the archive that are others with these values."""
    from lxml import etree

    def parsed(member: str) -> Any:
        return etree.fromstring(archive.read(member), etree.XMLParser(resolve_entities=False))

    book = parsed(BOOK)
    space = book.tag.removesuffix("workbook")
    if (settings := book.find(f"{space}calcPr")) is None:
        settings = book.makeelement(f"{space}calcPr")
        next(found for name in _LAST_BEFORE if (found := book.find(space + name)) is not None).addnext(settings)
    settings.set("fullCalcOnLoad", "1")
    targets = {each.get("Id"): posixpath.join("/xl", each.get("Target"))[1:] for each in parsed(_RELATIONS)}
    changed = {BOOK: book}
    for sheet in book.find(f"{space}sheets"):
        member = targets[next(value for name, value in sheet.items() if name.endswith("}id"))]
        root, spots = parsed(member), sorted(spot for spot in new if spot.sheet == sheet.get("name"))
        last = root.findall(f".//{space}c[{space}f]/{space}v")
        for value in last:
            value.getparent().remove(value)
        for spot in spots:
            row = _child(root.find(f"{space}sheetData"), f"{space}row", spot.row, str(spot.row))
            _write(_child(row, f"{space}c", spot.column, spot.reference), new[spot])
        if last or spots:
            changed[member] = root
    return {
        member: etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
        for member, root in changed.items()
    }


def _child(parent: Any, tag: str, number: int, reference: str) -> Any:
    """The row or cell with that number, a new one if the sheet has none."""
    from openpyxl.utils.cell import column_index_from_string, coordinate_from_string

    for child in parent:
        name = child.get("r")
        there = int(name) if name.isdecimal() else column_index_from_string(coordinate_from_string(name)[0])
        if there == number:
            return child
        if there > number:
            child.addprevious(new := parent.makeelement(tag, r=reference))
            return new
    parent.append(new := parent.makeelement(tag, r=reference))
    return new


def _write(cell: Any, value: Value) -> None:
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
        SubElement(cell, f"{space}v").text = written(value)

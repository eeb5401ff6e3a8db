"""The table as an XLSX workbook: one sheet a target in the RFP's layout, one with every cell's provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from campaign import layout
from campaign.cells import Row
from campaign.config import Campaign
from campaign.errors import InputError
from campaign.rules import RulePack
from campaign.table import COLUMNS, Line, digits, lines

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet


def write(path: Path, table: Sequence[Row], campaign: Campaign, pack: RulePack) -> None:
    """Text is written as text: a name that looks like a formula stays a name. Raises InputError for a path that cannot
    be written.
    """
    import xlsxwriter
    from xlsxwriter.exceptions import FileCreateError

    try:
        with xlsxwriter.Workbook(path, _OPTIONS) as book:
            _fill(book, table, campaign, pack)
    except FileCreateError as error:
        raise InputError(f"{path}: cannot be written: {error.args[0]}") from error


_OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
_PROVENANCE = "Provenance"


def _fill(book: Workbook, table: Sequence[Row], campaign: Campaign, pack: RulePack) -> None:
    bold = book.add_format({"bold": True})
    formats = _Formats(
        bold,
        book.add_format({"num_format": "#,##0"}),
        book.add_format({"num_format": "0.000"}),
        (book.add_format({"indent": 1}), book.add_format({"indent": 2})),
    )
    names = _sheet_names([target.name for target in campaign.targets])
    for target, name in zip(campaign.targets, names, strict=True):
        sheet = book.add_worksheet(name)
        sheet.set_column(0, 0, 56)
        sheet.set_column(1, len(layout.columns(pack)) + 2, 16)
        sheet.write_string(0, 0, f"{pack.caption}: {target.name} ({target.directory})", bold)
        if campaign.profile != "full":
            sheet.write_string(1, 0, f"{campaign.profile} size: not a compliant result", bold)
        headers = ["", *layout.columns(pack), "Processes", "Nodes"]
        for column, header in enumerate(headers):
            sheet.write_string(2, column, header, bold)
        own = [row for row in table if row.cell.target == target.name]
        for number, line in enumerate(lines(own, pack), 3):
            _line(sheet, number, line, formats)
    _provenance(book, table, bold)


def _sheet_names(targets: Sequence[str]) -> list[str]:
    """At most 31 characters, and different from each other in more than case, as a workbook wants them."""
    taken = {_PROVENANCE.lower(), "history"}
    names = []
    for target in targets:
        name, number = target[:31], 1
        while name.lower() in taken:
            number += 1
            name = f"{target[:27]}~{number}"
        taken.add(name.lower())
        names.append(name)
    return names


@dataclass(frozen=True, slots=True)
class _Formats:
    heading: Format
    large: Format  # of numbers from 100 on
    small: Format
    labels: tuple[Format, ...]  # of launch conditions, and of what stands below them


def _line(sheet: Worksheet, number: int, line: Line, formats: _Formats) -> None:
    level = line.place.level
    sheet.write_string(number, 0, line.place.label, formats.labels[level - 1] if level else formats.heading)
    for column, row in enumerate(line.rows, 1):
        if row is not None and (row.value is None or row.status != "measured"):
            shown = "" if row.value is None else f"{digits(row.value)} "
            sheet.write_string(number, column, f"{shown}{row.status}")
        elif row is not None and row.value is not None:
            sheet.write_number(number, column, row.value, formats.large if abs(row.value) >= 100 else formats.small)
    if line.geometries and level == 1:
        for column, text in enumerate((line.processes, line.nodes), len(line.rows) + 1):
            if text.isdecimal():
                sheet.write_number(number, column, int(text))
            else:
                sheet.write_string(number, column, text)


def _provenance(book: Workbook, table: Sequence[Row], bold: Format) -> None:
    sheet = book.add_worksheet(_PROVENANCE)
    for column, name in enumerate(COLUMNS):
        sheet.write_string(0, column, name, bold)
    for line, row in enumerate(table, 1):
        flat = row.as_json()
        flat |= (flat["source"] or {}) | flat["statistics"]
        flat["findings"] = "; ".join(f"{finding.rule} {finding.message}" for finding in row.findings)
        for column, name in enumerate(COLUMNS):
            value = flat.get(name)
            if isinstance(value, int | float):
                sheet.write_number(line, column, value)
            elif value is not None:
                sheet.write_string(line, column, str(value))

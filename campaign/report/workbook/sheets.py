"""A workbook's sheets and what is written into them: names, text, formats, tables of records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from campaign.core import escaping
from campaign.report.contents import Contents
from campaign.report.table import TableLine, lines

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

PROVENANCE = "Provenance"
NAMES = ("Summary", "System", "Projections", "Findings", PROVENANCE, "Runs")  # beside those of the targets
LONGEST_NAME, LONGEST_TEXT = 31, 32767
FIRST_LINE = 4  # of a target's table, from 0: below caption, mark, headings and units

LINKED: dict[str, Any] = {"font_color": "blue", "underline": 1}

Value = str | int | float | None


def names(targets: Sequence[str]) -> list[str]:
    """Sheets' names for targets: at most 31 characters, none that a workbook refuses, and different from each other in
    more than case.
    """
    taken = {name.lower() for name in (*NAMES, "history")}
    found = []
    for target in targets:
        clean = re.sub(r"[\[\]:*?/\\]", "_", escaping.plain(target)).strip("'") or "target"
        name, number = clean[:LONGEST_NAME].rstrip("'"), 1
        while name.lower() in taken:
            number += 1
            name = f"{clean[: LONGEST_NAME - 1 - len(str(number))]}~{number}"
        taken.add(name.lower())
        found.append(name)
    return found


def text(value: str) -> str:
    """As a cell holds it: without what cannot be seen, and no longer than a cell may be, which is then said."""
    value = escaping.plain(value)
    encoded = value.encode("utf-16-le")  # a workbook counts in UTF-16: what is beyond its first plane counts twice
    if len(encoded) <= 2 * LONGEST_TEXT:
        return value
    more = f"… ({len(value)} characters, cut here)"
    return encoded[: 2 * (LONGEST_TEXT - len(more))].decode("utf-16-le", "ignore") + more


@dataclass(frozen=True, slots=True)
class Places:
    """Where each cell of the campaign stands: on its target's sheet, and on the sheet of the provenance."""

    targets: list[str]  # sheets' names
    results: dict[str, tuple[str, int, int]]  # by cell: sheet, line and column from 0
    provenance: dict[str, int]  # by cell: line from 0

    @classmethod
    def of(cls, contents: Contents) -> Places:
        sheets = names([target.name for target in contents.campaign.targets])
        results = {}
        for target, sheet in zip(contents.campaign.targets, sheets, strict=True):
            for number, line in enumerate(target_lines(contents, target.name), FIRST_LINE):
                for column, row in enumerate(line.rows, 1):
                    if row is not None:
                        results[str(row.cell)] = (sheet, number, column)
        return cls(sheets, results, {str(row.cell): number for number, row in enumerate(contents.rows, 1)})

    def to_result(self, cell: str) -> str:
        return internal(*self.results[cell])

    def to_provenance(self, cell: str) -> str:
        return internal(PROVENANCE, self.provenance[cell], 0)


def target_lines(contents: Contents, target: str) -> list[TableLine]:
    """The lines of a target's table in the RFP's layout."""
    return lines([row for row in contents.rows if row.cell.target == target], contents.pack)


def internal(sheet: str, line: int, column: int) -> str:
    from xlsxwriter.utility import xl_rowcol_to_cell

    quoted = sheet.replace("'", "''")
    return f"internal:'{quoted}'!{xl_rowcol_to_cell(line, column)}"


class Sheets:
    """The workbook under way: makes sheets that print, formats once each, and lists with a heading."""

    def __init__(self, book: Workbook) -> None:
        self.book = book
        self._formats: dict[tuple[tuple[str, object], ...], Format] = {}

    def format(self, **properties: object) -> Format:
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            self._formats[key] = self.book.add_format({"valign": "top", **properties})
        return self._formats[key]

    def add(self, name: str, contents: Contents, widths: Sequence[int]) -> Worksheet:
        """A sheet that prints on A4 as wide as the page, with the campaign's name and the page at its foot."""
        sheet = self.book.add_worksheet(name)
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        sheet.set_paper(9)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        sheet.hide_gridlines(2)
        foot = text(contents.campaign.name)[:60].replace("&", "&&")
        mark = "" if contents.campaign.profile == "full" else f" ({contents.campaign.profile})"
        sheet.set_footer(f"&L{foot}{mark}&C&A&R&P / &N")
        return sheet

    def put(self, sheet: Worksheet, line: int, column: int, value: Value, **properties: object) -> None:
        """Text as text, a number as a number, nothing as nothing."""
        if isinstance(value, str):
            sheet.write_string(line, column, text(value), self.format(**properties))
        elif value is not None:
            sheet.write_number(line, column, value, self.format(**{"align": "left", **properties}))

    def link(
        self, sheet: Worksheet, line: int, column: int, address: str, value: Value, tip: str = "", **properties: object
    ) -> None:
        """A value that leads somewhere. The address is the project's own, never a text of others."""
        shown = self.format(**properties)
        if sheet.write_url(line, column, address, shown, "link", text(tip)[:255] or None) == 0:
            self.put(sheet, line, column, value, **properties)
        else:  # longer than a workbook's links may be
            self.put(sheet, line, column, value)

    def row(self, sheet: Worksheet, line: int, values: Iterable[Value], **properties: object) -> None:
        """Values beside each other from the first column on."""
        for column, value in enumerate(values):
            self.put(sheet, line, column, value, **properties)

    def records(
        self, name: str, contents: Contents, columns: Mapping[str, int], rows: Sequence[Sequence[Value]]
    ) -> Worksheet:
        """A sheet with a heading that stays in sight and stands on each page, and the rows below it, with a filter.

        `columns`: their widths by name.
        """
        sheet = self.add(name, contents, tuple(columns.values()))
        self.row(sheet, 0, columns, bold=True, bottom=1, text_wrap=True)
        for line, row in enumerate(rows or [["none"]], 1):
            self.row(sheet, line, row, text_wrap=True)
        sheet.freeze_panes(1, 1)
        sheet.repeat_rows(0)
        if rows:
            sheet.autofilter(0, 0, len(rows), len(columns) - 1)
        return sheet

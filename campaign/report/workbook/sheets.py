"""A workbook's sheets and their content: names, text, formats, tables of records."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from campaign.core import escaping
from campaign.core.columns import Column, Item
from campaign.core.runs import Cell
from campaign.report.contents import Contents

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format
    from xlsxwriter.worksheet import Worksheet

OVERVIEW, CHART, PROVENANCE, CLAUSES, PROJECTED = "Overview", "Chart", "Provenance", "Clauses", "Projections"
NAMES = ("Summary", OVERVIEW, CHART, CLAUSES, "System", PROJECTED, "Findings", PROVENANCE, "Runs")  # besides targets
LONGEST_NAME, LONGEST_TEXT = 31, 32767

LINE = 15  # points of a row with one line of text
READABLE = 210  # most widths of letters beside each other on a printed page
MOST_LINES = 27  # a row may be 409 points high

LINKED: dict[str, Any] = {"font_color": "blue", "underline": 1}

Value = str | int | float | datetime | None  # a time in UTC
TIME_FORMAT = "yyyy-mm-dd hh:mm:ss"


def sheet_names(targets: Sequence[str]) -> list[str]:
    """Names of sheets for targets: at most 31 characters, valid in a workbook, and different in more than case."""
    used_names = {name.lower() for name in (*NAMES, "history")}
    target_names = []
    for target in targets:
        clean = re.sub(r"[\[\]:*?/\\]", "_", escaping.plain(target)).strip("'") or "target"
        name, number = clean[:LONGEST_NAME].rstrip("'"), 1
        while name.lower() in used_names:
            number += 1
            name = f"{clean[: LONGEST_NAME - 1 - len(str(number))]}~{number}"
        used_names.add(name.lower())
        target_names.append(name)
    return target_names


def cell_text(value: str) -> str:
    """Text for a cell: without invisible characters; if it is too long it is cut, with a remark."""
    value = escaping.plain(value)
    encoded = value.encode("utf-16-le")  # a workbook counts in UTF-16: what is beyond its first plane counts twice
    if len(encoded) <= 2 * LONGEST_TEXT:
        return value
    remark = f"… (truncated, {len(value)} characters)"
    return encoded[: 2 * (LONGEST_TEXT - len(remark))].decode("utf-16-le", "ignore") + remark


def internal_address(sheet: str, line: int, column: int) -> str:
    from xlsxwriter.utility import xl_rowcol_to_cell

    quoted = sheet.replace("'", "''")
    return f"internal:'{quoted}'!{xl_rowcol_to_cell(line, column)}"


class Sheets:
    """The workbook being written: creates sheets for printing, formats, and lists with a heading.

    `targets` are the names of the targets' sheets, `results` the place of each cell on them (sheet, line, column from
    0), `origins` the lines of the cells on the provenance sheet.
    """

    def __init__(self, book: Workbook, contents: Contents) -> None:
        self.book, self.contents = book, contents
        self.targets = sheet_names([target.name for target in contents.campaign.targets])
        self.results: dict[Cell, tuple[str, int, int]] = {}
        self.origins = {row.cell: line for line, row in enumerate(contents.rows, 1)}
        self.widths: dict[str, list[int]] = {}  # widths of columns by sheet
        self._formats: dict[tuple[tuple[str, object], ...], Format] = {}

    def format(self, **properties: object) -> Format:
        key = tuple(sorted(properties.items()))
        if key not in self._formats:
            self._formats[key] = self.book.add_format({"valign": "top", **properties})
        return self._formats[key]

    def add(self, name: str, widths: Iterable[int]) -> Worksheet:
        """Add a sheet that prints on A4, on so many pages beside each other that it can be read, with the campaign's
        name and the page number at its foot.
        """
        sheet = self.book.add_worksheet(name)
        self.widths[name] = list(widths)
        for column, width in enumerate(self.widths[name]):
            sheet.set_column(column, column, width)
        sheet.set_paper(9)
        sheet.set_landscape()
        sheet.fit_to_pages(-(-sum(self.widths[name]) // READABLE), 0)
        sheet.repeat_columns(0)
        sheet.hide_gridlines(2)
        campaign = self.contents.campaign
        foot = cell_text(campaign.name)[:60].replace("&", "&&")
        mark = "" if campaign.profile == "full" else f" ({campaign.profile})"
        sheet.set_footer(f"&L{foot}{mark}&C&A&R&P / &N")
        return sheet

    def write_value(self, sheet: Worksheet, line: int, column: int, value: Value, **properties: object) -> None:
        """Write text as text, a number as a number, a time as a date, None as an empty cell."""
        if isinstance(value, str):
            sheet.write_string(line, column, cell_text(value), self.format(**properties))
        elif isinstance(value, datetime):
            style = self.format(**{"align": "left", "num_format": TIME_FORMAT, **properties})
            sheet.write_datetime(line, column, value.replace(tzinfo=None), style)
        elif value is not None:
            sheet.write_number(line, column, value, self.format(**{"align": "left", **properties}))

    def link(
        self, sheet: Worksheet, line: int, column: int, address: str, value: Value, tip: str = "", **properties: object
    ) -> None:
        """Write a value with a link. The address is the project's own, never another party's text."""
        style = self.format(**properties)
        if sheet.write_url(line, column, address, style, "link", cell_text(tip)[:255] or None) == 0:
            self.write_value(sheet, line, column, value, **properties)
        else:  # longer than a workbook's links may be
            self.write_value(sheet, line, column, value)

    def row(
        self, sheet: Worksheet, line: int, values: Sequence[Value], fitted: int | None = None, **properties: object
    ) -> None:
        """Write values in adjacent columns, from the first on, in a row as high as the `fitted` first ones need."""
        for column, value in enumerate(values):
            self.write_value(sheet, line, column, value, **properties)
        self.fit(sheet, line, zip(values[:fitted], self.widths[sheet.get_name()], strict=False))

    def fit(self, sheet: Worksheet, line: int, texts: Iterable[tuple[Value, int]]) -> None:
        """Make a row as high as its wrapped texts; `texts`: with the widths of their columns."""
        lines = max((_lines(value, width) for value, width in texts if isinstance(value, str)), default=1)
        if lines > 1:
            sheet.set_row(line, LINE * min(lines, MOST_LINES))

    def paragraphs(self, sheet: Worksheet, first: int, texts: Sequence[str], columns: int) -> None:
        """Write texts below a table, each as wide as the table."""
        width = sum(self.widths[sheet.get_name()][:columns])
        style = self.format(text_wrap=True, align="left")
        for line, value in enumerate(texts, first):
            sheet.merge_range(line, 0, line, columns - 1, cell_text(value), style)
            self.fit(sheet, line, [(value, width)])

    def records(
        self,
        name: str,
        columns: Sequence[Column[Item]],
        items: Sequence[Item],
        key: Sequence[str] = (),
        fitted: int | None = None,
    ) -> Worksheet:
        """Add a sheet with a heading that stays visible and is printed on each page, and a line for each item below it,
        with a filter. `key`: a text above the heading about the letters in the lines; `fitted`: the columns whose
        texts determine how high a line is; None for all.
        """
        sheet = self.add(name, [column.width for column in columns])
        for line, meaning in enumerate(key):
            self.write_value(sheet, line, 0, meaning, italic=True)
        first = len(key)
        self.grid(sheet, first, columns, items, fitted)
        sheet.freeze_panes(first + 1, 1)
        sheet.repeat_rows(first)
        if items:
            sheet.autofilter(first, 0, first + len(items), len(columns) - 1)
        else:
            self.row(sheet, first + 1, ["none"], text_wrap=True)
        return sheet

    def print_part(self, sheet: Worksheet, lines: int, columns: int) -> None:
        """Print the first lines and columns alone; the rest is for the screen."""
        sheet.print_area(0, 0, lines - 1, columns - 1)
        sheet.fit_to_pages(-(-sum(self.widths[sheet.get_name()][:columns]) // READABLE), 0)

    def grid(
        self,
        sheet: Worksheet,
        first: int,
        columns: Sequence[Column[Item]],
        items: Sequence[Item],
        fitted: int | None = None,
    ) -> int:
        """Write a line with the names of the columns, if they have some, and one for each item; gives the next line."""
        names = [column.name for column in columns]
        if any(names):
            self.row(sheet, first, names, bold=True, bottom=1, text_wrap=True)
            first += 1
        for line, item in enumerate(items, first):
            self.row(sheet, line, [column.value(item) for column in columns], fitted, text_wrap=True)
        return first + len(items)


def _lines(value: str, width: int) -> int:
    """How many lines a text takes in a column: some letters are wider than the digit that is the unit of widths."""
    narrow = max(int(0.9 * width), 1)
    if len(value) <= narrow:
        return 1
    return len(textwrap.wrap(value[: narrow * (MOST_LINES + 1)], narrow)) or 1


def number_format(value: float) -> str:
    """The number format with as many digits as the printed table has."""
    size = abs(value)
    if value == 0 or size >= 100:
        return "#,##0"
    return "0.0" if size >= 10 else "0.00" if size >= 1 else "0.000" if size >= 0.1 else "0.00E+00"

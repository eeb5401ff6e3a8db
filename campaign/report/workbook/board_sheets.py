"""The board's page as a workbook: a sheet for each of its tables."""

from __future__ import annotations

import io
from functools import cache

from campaign.report.compare.board import Board
from campaign.report.workbook.sheets import LONGEST_NAME, cell_text, number_format

WIDTHS = (8, 60)  # the narrowest and the widest column, in letters


def board_workbook(board: Board) -> bytes:
    """The tables of the board, each with the text above it, and the plots on the page alone."""
    import xlsxwriter

    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True})
    wrapped = book.add_format({"valign": "top", "text_wrap": True})
    heading = book.add_format({"bold": True, "bottom": 1, "text_wrap": True})
    format_of = cache(lambda text: book.add_format({"valign": "top", "num_format": text}))
    for section in board.sections:
        sheet = book.add_worksheet(section.title[:LONGEST_NAME])
        sheet.set_paper(9)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        sheet.write_string(0, 0, cell_text(section.text))
        for place, column in enumerate(section.columns):
            values = [column.value(line) for line in section.lines]
            longest = max(len(str(value or "")) for value in (column.name, *values))
            sheet.set_column(place, place, min(max(longest + 2, WIDTHS[0]), WIDTHS[1]))
            sheet.write_string(2, place, column.name, heading)
            for number, value in enumerate(values, 3):
                if isinstance(value, int):
                    sheet.write_number(number, place, value, wrapped)
                elif isinstance(value, float):
                    sheet.write_number(number, place, value, format_of(number_format(value)))
                elif value is not None:
                    sheet.write_string(number, place, cell_text(str(value)), wrapped)
        sheet.freeze_panes(3, 1)
        sheet.repeat_rows(2)
    book.close()
    return content.getvalue()

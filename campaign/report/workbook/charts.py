"""The sheet with a chart for each target: its valid numbers as points, on a logarithmic axis if they differ much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from campaign.config.rules.pack import RulePack
from campaign.report import table
from campaign.report.plots import shapes
from campaign.report.plots.drawing import geometries
from campaign.report.workbook.sheets import CHART, LINE, Sheets, cell_text, number_format
from campaign.results.cells import Row

NAMES = 3  # columns before those of the numbers
MARKERS = ("circle", "square", "diamond", "triangle", "x", "star", "plus", "short_dash")  # as many can be told apart
WIDTHS = (58, 34, 20, *[14] * len(MARKERS))
HEIGHT, WIDTH = 22, 1000  # of a chart: lines, and pixels
WIDE = 30  # the largest value over the smallest from which an axis is logarithmic


def has_chart(rows: Sequence[Row], pack: RulePack) -> bool:
    """Whether there are valid numbers, in so few columns that a chart can show them."""
    return len(table.column_titles(pack)) <= len(MARKERS) and any(_valid_value(row) is not None for row in rows)


def write_chart(sheets: Sheets) -> None:
    """The valid numbers of each target, and their chart below them."""
    rows, pack = sheets.contents.rows, sheets.contents.pack
    titles, sheet, line = table.column_titles(pack), sheets.add(CHART, WIDTHS), 0
    for target in sheets.contents.campaign.targets:
        sheets.row(sheet, line, [target.name, "", "processes × nodes"], bold=True, bottom=1)
        for column, title in enumerate(titles, NAMES):
            sheets.write_value(sheet, line, column, title, bold=True, bottom=1, align="right")
        first, files = line + 1, ""
        for entry in table.table_lines([row for row in rows if row.cell.target == target.name], pack):
            if entry.level == 0:
                files = entry.label
                continue
            line += 1
            sheets.row(sheet, line, [entry.label, files, geometries(entry.cells)])
            for column, row in enumerate(entry.rows, NAMES):
                if (value := _valid_value(row)) is not None:
                    sheets.write_value(sheet, line, column, value, num_format=number_format(value), align="right")
        chart = sheets.book.add_chart({"type": "line"})
        for place in range(len(titles)):
            chart.add_series(_series(place, first, line))
        values = [value for row in rows if row.cell.target == target.name and (value := _valid_value(row)) is not None]
        is_wide = min(values, default=0) > 0 and max(values) > WIDE * min(values)
        units = ", ".join(dict.fromkeys(filter(None, titles.values())))
        chart.set_title({"name": f"{pack.caption}: {cell_text(target.name)}", "name_font": {"size": 12}})
        chart.set_y_axis({"name": units, "num_format": "#,##0", **({"log_base": 10} if is_wide else {})})
        chart.set_size({"width": WIDTH, "height": HEIGHT * LINE * 4 // 3})
        sheet.insert_chart(line + 2, 0, chart)
        line += HEIGHT + 3
    sheet.print_area(0, 0, line, NAMES - 1 + max(3, len(titles)))
    sheet.fit_to_pages(1, len(sheets.contents.campaign.targets))


def _series(place: int, first: int, last: int) -> dict[str, Any]:
    """The points of a column of numbers in these lines, which are named by file configuration and geometry."""
    colour, column = {"color": shapes.colour(place)}, NAMES + place
    return {
        "name": [CHART, first - 1, column],
        "categories": [CHART, first, 1, last, NAMES - 1],
        "values": [CHART, first, column, last, column],
        "line": {"none": True},
        "marker": {"type": MARKERS[place], "size": 8, "fill": colour, "border": colour},
    }


def _valid_value(row: Row | None) -> float | None:
    return row.value if row is not None and row.status.counts else None

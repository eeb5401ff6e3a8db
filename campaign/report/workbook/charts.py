"""The sheet with a chart for each target: its valid numbers as points, on a logarithmic axis if they differ much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from campaign.core.grouping import grouped
from campaign.core.runs import Cell
from campaign.report.plots import shapes
from campaign.report.plots.drawing import geometries, without_total
from campaign.report.workbook.sheets import CHART, LINE, Sheets, cell_text, number_format
from campaign.results.cells import Row

NAMES, MOST_OPERATIONS = (
    3,
    8,
)  # columns before the numbers; operations  # that can be told apart, and are beside each other on a page
WIDTHS = (58, 30, 20, *[14] * MOST_OPERATIONS)
HEIGHT, WIDTH = 22, 1000  # of a chart: lines, and pixels
MARKERS = ("circle", "square", "diamond", "triangle", "x", "star", "plus", "short_dash")
WIDE = 30  # the largest value over the smallest from which an axis is logarithmic


def has_chart(rows: Sequence[Row]) -> bool:
    """Whether there are valid numbers of so few operations that a chart can show them."""
    return 0 < len({row.cell.operation for row in rows if _has_point(row)}) <= MOST_OPERATIONS


def write_chart(sheets: Sheets) -> None:
    """The numbers of each target, without those that are not valid, and their chart below them."""
    contents = sheets.contents
    if not has_chart(contents.rows):
        return
    pack, sheet, line = contents.pack, sheets.add(CHART, WIDTHS), 0
    titles = {operation.id: operation.title for operation in pack.operations}
    for target, rows in grouped((row.cell.target, row) for row in contents.rows if _has_point(row)).items():
        operations = list(dict.fromkeys(row.cell.operation for row in rows))
        names = [titles[operation] for operation in operations]
        sheets.row(sheet, line, [target, "", "processes × nodes"], bold=True, bottom=1)
        for column, name in enumerate(names, NAMES):
            sheets.write_value(sheet, line, column, name, bold=True, bottom=1, align="right")
        first = line + 1
        for line, (cell, in_line) in enumerate(_lines(rows), first):
            files, launch = (
                next(entry.title for entry in entries if entry.id == name)
                for entries, name in ((pack.files, cell.files), (pack.launch, cell.launch))
            )
            sheets.row(sheet, line, [launch, without_total(files), geometries(in_line)])
            for row in in_line:
                style = number_format(row.value or 0.0)
                column = NAMES + operations.index(row.cell.operation)
                sheets.write_value(sheet, line, column, row.value, num_format=style, align="right")
        chart = sheets.book.add_chart({"type": "line"})
        for place in range(len(operations)):
            colour, column = shapes.colour(place), NAMES + place
            chart.add_series(
                {
                    "name": [CHART, first - 1, column],
                    "categories": [CHART, first, 1, line, 2],
                    "values": [CHART, first, column, line, column],
                    "line": {"none": True},
                    "marker": {
                        "type": MARKERS[place],
                        "size": 8,
                        "fill": {"color": colour},
                        "border": {"color": colour},
                    },
                }
            )
        numbers = [row.value for row in rows if row.value is not None]
        is_wide = min(numbers) > 0 and max(numbers) > WIDE * min(numbers)
        units = ", ".join(dict.fromkeys(row.unit for row in rows))
        chart.set_title({"name": f"{pack.caption}: {cell_text(target)}", "name_font": {"size": 12}})
        chart.set_y_axis({"name": units, "num_format": "#,##0", **({"log_base": 10} if is_wide else {})})
        chart.set_size({"width": WIDTH, "height": HEIGHT * LINE * 4 // 3})
        sheet.insert_chart(line + 2, 0, chart)
        line += HEIGHT + 3
    columns = NAMES + max(3, len({row.cell.operation for row in contents.rows if _has_point(row)}))
    sheet.print_area(0, 0, line, columns - 1)
    sheet.fit_to_pages(1, len(contents.campaign.targets))


def _lines(rows: Sequence[Row]) -> Iterator[tuple[Cell, list[Row]]]:
    """The rows of each file configuration and launch condition, with the first one's cell."""
    for in_line in grouped(((row.cell.files, row.cell.launch), row) for row in rows).values():
        yield in_line[0].cell, in_line


def _has_point(row: Row) -> bool:
    return row.value is not None and row.status.counts

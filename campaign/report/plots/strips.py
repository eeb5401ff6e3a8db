"""All repetitions of each result, relative to their median, with its 95% interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from campaign.config.rules.pack import RulePack
from campaign.core import units
from campaign.report.plots import drawing, shapes
from campaign.results.cells import Row

FILE, TITLE = "repetitions", "All repetitions"  # no plot of a pack has this id
FEWEST, MOST_OPERATIONS = 3, 8  # repetitions, and operations whose strips can be told apart
GROUP = 0.8  # of the room of a launch condition that its strips take


def strips(pack: RulePack, rows: Sequence[Row]) -> drawing.DrawnPlot | None:
    """A panel for each file configuration, with a strip of points for each launch condition and operation."""
    repeated_rows = [row for row in rows if len(row.values) >= FEWEST and row.summary.median]
    operations = {operation.id: operation.title for operation in pack.operations}
    measured_operations = [
        operation for operation in operations if any(row.cell.operation == operation for row in repeated_rows)
    ]
    if not repeated_rows or len(measured_operations) > MOST_OPERATIONS:
        return None
    shares = [value / row.summary.median for row in repeated_rows if row.summary.median for value in row.values]
    margin = (max(shares) - min(shares)) / 10 or 0.01
    y = shapes.linear_axis(max(shares) + margin, "of the median", low=min(shares) - margin)
    launch_titles = [drawing.fold_title(launch.title, 11) for launch in pack.launch]
    panels = tuple(
        shapes.Panel(
            drawing.without_total(files.title),
            shapes.axis_of_groups(launch_titles),
            y,
            tuple(_marks(pack, measured_operations, [row for row in repeated_rows if row.cell.files == files.id])),
        )
        for files in pack.files
        if any(row.cell.files == files.id for row in repeated_rows)
    )
    legend = tuple(
        shapes.Key(operations[operation], shapes.colour(number), "points", number)
        for number, operation in enumerate(measured_operations)
    )
    smallest_count, largest_count = (extreme(len(row.values) for row in repeated_rows) for extreme in (min, max))
    count_text = (
        units.plural(largest_count, "repetition")
        if smallest_count == largest_count
        else f"{smallest_count} to {largest_count} repetitions"
    )
    remarks = (
        f"points: each of {count_text}; bars: 95% interval of the median",
        "the vertical axis does not begin at 0",
    )
    return drawing.DrawnPlot(panels, f"{TITLE} of each result, as shares of their median.", legend, remarks)


def _marks(pack: RulePack, operations: Sequence[str], rows: Sequence[Row]) -> Iterator[shapes.Mark]:
    launches = [launch.id for launch in pack.launch]
    for row in rows:
        number, median = operations.index(row.cell.operation), row.summary.median or 1.0
        x = launches.index(row.cell.launch) + GROUP * ((number + 0.5) / len(operations) - 0.5)
        points = tuple((x, value / median) for value in row.values)
        yield shapes.Line(points, shapes.colour(number), number, joined=False)
        if row.summary.low is not None and row.summary.high is not None:
            yield shapes.Interval(x, row.summary.low / median, 1.0, row.summary.high / median)

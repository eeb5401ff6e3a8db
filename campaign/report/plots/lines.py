"""Values over a sweep."""

from __future__ import annotations

from collections.abc import Sequence

from campaign.report.plots.drawing import Drawing, DrawnPlot
from campaign.report.plots.shapes import Key, Line, Panel, colour, value_axis
from campaign.report.plots.svg import axis_of_groups
from campaign.results.cells import Row

LABELS = 7  # labels below an axis


def lines(drawing: Drawing) -> DrawnPlot | None:
    """Values over a sweep, a line for each operation and each value of `series`; a panel for each configuration."""
    panels = drawing.panels()
    if not panels:
        return None
    y = value_axis([row.value for row in drawing.shown if row.value is not None], drawing.units())
    names: dict[str, int] = {}
    drawn = []
    for files, launch in panels:
        rows = drawing.of(files, launch)
        points = list(dict.fromkeys(drawing.point(row)[drawing.plot.x] for row in rows))
        step = -(-len(points) // LABELS)
        labels = [point if place % step == 0 else "" for place, point in enumerate(points)]
        marks = tuple(
            _line(drawing, line, points, names.setdefault(name, len(names)))
            for name, line in _series(drawing, rows).items()
        )
        x = axis_of_groups(labels, drawing.sweep(drawing.plot.x))
        drawn.append(Panel(drawing.heading(files, launch), x, y, marks))
    legend = tuple(Key(name, colour(number), "line", number) for name, number in names.items())
    about = (
        f"Lines of {drawing.units()} over {drawing.sweep(drawing.plot.x)}; {len(panels)} panels, {len(names)} lines."
    )
    return DrawnPlot(tuple(drawn), about, legend, drawing.remarks)


def _line(drawing: Drawing, rows: Sequence[Row], points: Sequence[str], number: int) -> Line:
    def place(row: Row) -> tuple[float, float]:
        return (float(points.index(drawing.point(row)[drawing.plot.x])), row.value or 0.0)

    wrong = tuple(place(row) for row in rows if row.status != "measured")
    return Line(tuple(map(place, rows)), colour(number), number, crossed=wrong)


def _series(drawing: Drawing, rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Lines by name, each in the order of its sweep."""
    several = len(drawing.plot.operations) > 1
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        series = drawing.plot.series
        parts = [drawing.title(drawing.template(row))] if several or not series else []
        parts += [f"{drawing.sweep(series)}: {drawing.point(row)[series]}"] if series else []
        by_name.setdefault(", ".join(parts), []).append(row)
    return by_name

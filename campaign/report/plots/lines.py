"""Values over a sweep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from campaign.report.plots.drawing import (
    COLOURS,
    MARKERS,
    Drawing,
    DrawnPlot,
    add_heading,
    add_legend,
    new_figure,
    set_scale,
    short,
)
from campaign.results.cells import Row


def lines(drawing: Drawing) -> DrawnPlot | None:
    """Values over a sweep, a line for each operation and each value of `series`; a panel for each configuration."""
    panels = drawing.panels()
    if not panels:
        return None
    columns = min(len(panels), 2)
    figure, grid = new_figure(columns, -(-len(panels) // columns), width=4.6, height=3.6)
    flat = [axes for line in grid for axes in line]
    values = [row.value for row in drawing.rows if drawing.shows(row) and row.value]
    names: dict[str, None] = {}
    for (files, launch), axes in zip(panels, flat, strict=False):
        rows = drawing.of(files, launch)
        points = list(dict.fromkeys(drawing.point(row)[drawing.plot.x] for row in rows))
        for name, line in _series(drawing, rows):
            names.setdefault(name)
            number = list(names).index(name)
            places = [points.index(drawing.point(row)[drawing.plot.x]) for row in line]
            axes.plot(
                places,
                [row.value or 0.0 for row in line],
                color=COLOURS[number % len(COLOURS)],
                marker=MARKERS[number % len(MARKERS)],
                markersize=5,
                label=name,
            )
            wrong = [(place, row.value) for place, row in zip(places, line, strict=True) if row.status != "measured"]
            axes.plot([x for x, _ in wrong], [y or 0.0 for _, y in wrong], "x", color="black", markersize=9)
        axes.set_xticks(range(len(points)), points, fontsize=8, rotation=40 if len(points) > 8 else 0)
        axes.set_xlabel(drawing.sweep(drawing.plot.x))
        axes.set_title(short(drawing.name(files, launch), 46), fontsize=9)
        set_scale(axes, values)
    for axes in flat[len(panels) :]:
        axes.set_axis_off()
    for line_of_grid in grid:
        line_of_grid[0].set_ylabel(drawing.units())
    add_legend(figure, list(names), marked=True)
    add_heading(figure, drawing)
    return DrawnPlot(
        figure,
        f"Lines of {drawing.units()} over {drawing.sweep(drawing.plot.x)}; {len(panels)} panels, {len(names)} lines.",
    )


def _series(drawing: Drawing, rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Lines by name, each in the order of its sweep."""
    several = len(drawing.plot.operations) > 1
    lines: dict[str, list[Row]] = {}
    for row in rows:
        series = drawing.plot.series
        parts = [drawing.title(drawing.template(row))] if several or not series else []
        parts += [f"{drawing.sweep(series)}: {drawing.point(row)[series]}"] if series else []
        lines.setdefault(", ".join(parts), []).append(row)
    yield from lines.items()

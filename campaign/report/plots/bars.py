"""Groups of bars: launch conditions, or configurations where the plot says `x: files`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from campaign.core.model import Status
from campaign.report.notes import measures_memory
from campaign.report.plots.drawing import (
    COLOURS,
    Drawing,
    DrawnPlot,
    add_heading,
    add_legend,
    inflated,
    new_figure,
    set_scale,
    short,
)
from campaign.results.cells import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def bars(drawing: Drawing) -> DrawnPlot | None:
    """Groups of bars, one for each operation; groups are launch conditions, or configurations with `x: files`."""
    pack, by_files = drawing.pack, drawing.plot.x == "files"
    launch = [(condition.id, condition.title) for condition in pack.launch]
    files = [(entry.id, entry.title) for entry in pack.files]
    panels, groups = (launch, files) if by_files else (files, launch)
    shown = [one for one in panels if any(_of(drawing, one[0], group, by_files) for group, _ in groups)]
    if not shown:
        return None
    figure, grid = new_figure(len(shown), 1, width=max(3.4, 1.1 * len(groups) + 0.8), height=4.2)
    values = [row.value for row in drawing.rows if drawing.shows(row) and row.value]
    for (panel, title), axes in zip(shown, grid[0], strict=True):
        for place, (group, _) in enumerate(groups):
            _group(axes, place, _of(drawing, panel, group, by_files), drawing)
        axes.set_xticks(range(len(groups)), [short(name) for _, name in groups], fontsize=8)
        axes.set_title(short(title, 40), fontsize=9)
        set_scale(axes, values)
    grid[0][0].set_ylabel(drawing.units())
    add_legend(figure, [drawing.title(template) for template in drawing.plot.operations])
    rows = [row for row in drawing.rows if drawing.shows(row)]
    remarks = ["pale: counted, but not really performed"] if any(inflated(row) is not None for row in rows) else []
    remarks += ["m: measures memory"] if any(measures_memory(row, drawing.pack) for row in rows) else []
    add_heading(figure, drawing, *remarks)
    return DrawnPlot(figure, f"Bars of {drawing.units()}; {len(shown)} panels of {len(groups)} groups.")


def _of(drawing: Drawing, panel: str, group: str, by_files: bool) -> list[Row]:
    return drawing.of(group, panel) if by_files else drawing.of(panel, group)


def _group(axes: Axes, place: int, rows: Sequence[Row], drawing: Drawing) -> None:
    """Where the benchmark counts more than happened, what really happened is the full part of a pale bar."""
    templates = list(drawing.plot.operations)
    width = 0.8 / len(templates)
    for row in rows:
        number = templates.index(drawing.template(row))
        colour = COLOURS[number % len(COLOURS)]
        left = place + (number - (len(templates) - 1) / 2) * width
        valid = row.status is Status.MEASURED
        happened = inflated(row)
        axes.bar(
            left,
            row.value or 0.0,
            width * 0.92,
            color=colour if valid else "white",
            alpha=0.3 if happened is not None else 1.0,
            edgecolor=colour,
            hatch=None if valid else "////",
        )
        if happened is not None:
            axes.bar(left, happened, width * 0.92, color=colour)
        if measures_memory(row, drawing.pack):
            axes.annotate("m", (left, row.value or 0.0), ha="center", va="bottom", fontsize=8)

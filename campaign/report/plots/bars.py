"""Bar charts: groups are launch conditions, or file configurations with `x: files`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from campaign.core.model import Status
from campaign.report.notes import measures_memory
from campaign.report.plots.drawing import (
    Drawing,
    DrawnPlot,
    folded,
    geometries,
    inflated,
    said,
    untold,
    with_geometry,
)
from campaign.report.plots.shapes import Bar, Key, Panel, colour, value_axis
from campaign.report.plots.svg import axis_of_groups
from campaign.results.cells import Row

WIDTH, MARGINS, NARROWEST = 340, 76, 62  # width of a panel, margins, least width of a group


def bars(drawing: Drawing) -> DrawnPlot | None:
    """Groups of bars, one for each operation; groups are launch conditions, or configurations with `x: files`."""
    pack, by_files = drawing.pack, drawing.plot.x == "files"
    launch = [(condition.id, condition.title) for condition in pack.launch]
    files = [(entry.id, entry.title) for entry in pack.files]
    panels, groups = (launch, files) if by_files else (files, launch)
    shown = [panel for panel in panels if any(_of(drawing, panel[0], group, by_files) for group, _ in groups)]
    if not shown:
        return None
    rows = drawing.shown
    y = value_axis([row.value for row in rows if row.value is not None], drawing.units())
    drawn = tuple(_panel(drawing, panel, title, groups) for panel, title in shown)
    remarks = list(drawing.remarks)
    remarks += ["pale: counted by the benchmark; full: actual"] if any(map(inflated, rows)) else []
    remarks += ["m: measures memory"] if any(measures_memory(row, pack) for row in rows) else []
    titles = [drawing.title(template) for template in drawing.plot.operations]
    legend = tuple(Key(title, colour(number), series=number) for number, title in enumerate(titles))
    about = f"Bars of {drawing.units()}; {len(drawn)} panels of {len(groups)} groups, {', '.join(titles)} in each."
    return DrawnPlot(tuple(Panel(p.title, p.x, y, p.marks, p.width) for p in drawn), about, legend, tuple(remarks))


def _panel(drawing: Drawing, panel: str, title: str, groups: Sequence[tuple[str, str]]) -> Panel:
    """A panel with its own value axis, which the plot's panels then share."""
    by_files = drawing.plot.x == "files"
    by_group = [_of(drawing, panel, group, by_files) for group, _ in groups]
    width = max(WIDTH, MARGINS + NARROWEST * len(groups))
    letters = int((width - MARGINS) / len(groups) / 6)
    names = [folded(name, letters) for _, name in groups]
    if by_files:
        title = with_geometry(title, [row for rows in by_group for row in rows])
        x = axis_of_groups(names)
    else:
        planned = [geometries(drawing.planned(panel, group)) for group, _ in groups]
        labels = [f"{geometry}\n{name}" for geometry, name in zip(planned, names, strict=True)]
        x = axis_of_groups(labels, "processes × nodes, launch condition")
    marks = tuple(bar for place, rows in enumerate(by_group) for bar in _group(place, rows, drawing))
    return Panel(untold(title), x, value_axis([bar.value for bar in marks], drawing.units()), marks, width)


def _of(drawing: Drawing, panel: str, group: str, by_files: bool) -> list[Row]:
    return drawing.of(group, panel) if by_files else drawing.of(panel, group)


def _group(place: int, rows: Sequence[Row], drawing: Drawing) -> Iterator[Bar]:
    """If the benchmark counts more than was performed, the actual rate is the solid part of a pale bar."""
    templates = list(drawing.plot.operations)
    width = 0.8 / len(templates)
    for row in rows:
        number = templates.index(drawing.template(row))
        yield Bar(
            x=place + (number - (len(templates) - 1) / 2) * width,
            width=width * 0.88,
            value=row.value or 0.0,
            series=number,
            about=said(row),
            cell=str(row.cell),
            valid=row.status is Status.MEASURED,
            actual=inflated(row),
            note="m" if measures_memory(row, drawing.pack) else "",
        )

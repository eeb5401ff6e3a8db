"""The numbers of a plot as a table, for those who cannot see it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from campaign.core import units
from campaign.core.columns import sequence_columns
from campaign.report.plots.drawing import DrawnPlot
from campaign.report.plots.shapes import Axis, Bar, Dot, Interval, Line, Panel, Span, Tile, Upright

COLUMNS = sequence_columns("panel", "what", "value")
MOST_LINES = 400  # of a table; the files of the report have all numbers

Figure = tuple[str, str, str]


def plot_figures(drawn: DrawnPlot) -> list[Figure]:
    """A line for each mark: its panel, what it is, and its value. Of too many, the first."""
    series = {(key.kind != "upright", key.colour): key.label for key in drawn.legend}
    lines = (figure for panel in drawn.panels for figure in _panel_figures(panel, series))
    return list(itertools.islice(lines, MOST_LINES))


def _panel_figures(panel: Panel, series: dict[tuple[bool, str], str]) -> Iterator[Figure]:
    for mark in panel.marks:
        if isinstance(mark, Bar | Tile | Dot | Span):
            name, _, value = mark.description.partition(": ")
            yield panel.title, name, value
        elif isinstance(mark, Line) and mark.marked:
            name = series.get((True, mark.colour), panel.y.title)
            for x, y in mark.points:
                crossed = ", crossed" if (x, y) in mark.crossed else ""
                yield panel.title, name, f"{_place(panel.x, x)}: {_value(panel.y, y)}{crossed}"
        elif isinstance(mark, Interval):
            ends = f"{units.separated_digits(mark.low)} to {_value(panel.y, mark.high)}"
            yield panel.title, "interval", f"{_place(panel.x, mark.x)}: {ends}"
        elif isinstance(mark, Upright):
            yield panel.title, series.get((False, mark.colour), ""), _place(panel.x, mark.x)


def _place(axis: Axis, value: float) -> str:
    """The label of a tick, or the number, with what the axis shows."""
    label = next((label.replace("\n", " ") for tick, label in axis.ticks if tick == value and label), "")
    return " ".join(filter(None, (label or units.digits(value), axis.title)))


def _value(axis: Axis, value: float) -> str:
    return f"{units.separated_digits(value)} {axis.title}".strip()

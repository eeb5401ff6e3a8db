"""The results of several offers next to each other: a dot for each offer, with its interval, relative to the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from campaign.core import units
from campaign.core.grouping import grouped
from campaign.report.plots import drawing, shapes

WIDTH, LINE, BETWEEN = 520, 9, 12  # of a panel; height of an offer's line in a row, and room between rows
FIRST = "#888888"  # the line at the first offer's values


@dataclass(frozen=True, slots=True)
class OfferedValue:
    """What an offer reports for a result. `low`, `high`: the ends of its interval; None without one."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class OfferedResult:
    """One result in all offers: `values` in the order of the offers, None of one without a number. Results with the
    same `panel` share a panel, each in a row with `label` before it.
    """

    panel: str
    label: str
    unit: str
    values: Sequence[OfferedValue | None]
    best: str = "highest"  # or lowest


def dot_plot(offers: Sequence[str], results: Sequence[OfferedResult]) -> drawing.DrawnPlot | None:
    """How many times as good as the first offer each is in each result, on one logarithmic axis for all panels.
    `offers`: their names. Results without a positive number of the first offer are left out; None if none remains.
    """
    comparable_results = [result for result in results if result.values[0] and result.values[0].value > 0]
    if not comparable_results:
        return None
    marks = {
        panel: [mark for row, result in enumerate(in_panel) for mark in _row_dots(offers, result, row)]
        for panel, in_panel in grouped((result.panel, result) for result in comparable_results).items()
    }
    ends = [end for dots in marks.values() for dot in dots for end in (dot.low, dot.high)]
    x = shapes.log_axis(min(ends), max(ends), f"times as good as {offers[0]}")
    left = shapes.left_margin(result.label for result in comparable_results)
    panels = []
    for panel, dots in marks.items():
        labels = [result.label for result in comparable_results if result.panel == panel]
        y = shapes.Axis(-float(len(labels)), 0.0, tuple((-row - 0.5, label) for row, label in enumerate(labels)))
        height = len(labels) * (LINE * len(offers) + BETWEEN)
        panels.append(shapes.Panel(panel, x, y, (shapes.Upright(1.0, FIRST), *dots), WIDTH, height, left))
    legend = tuple(shapes.Key(name, shapes.colour(number), "points", number) for number, name in enumerate(offers))
    remarks = (f"right of 1: better than {offers[0]}", "lines: the interval of each offer")
    description = f"A row for each result, with a dot for each offer, relative to {offers[0]}."
    return drawing.DrawnPlot(tuple(panels), description, legend, remarks)


def _row_dots(offers: Sequence[str], result: OfferedResult, row: int) -> Iterator[shapes.Dot]:
    """The dots of one result below each other, each relative to that of the first offer."""
    base = result.values[0].value if result.values[0] else 1.0
    for number, (name, offered) in enumerate(zip(offers, result.values, strict=True)):
        if offered is None or offered.value <= 0:
            continue
        low, high = offered.low or offered.value, offered.high or offered.value
        interval = f", {units.digits(low)} to {units.digits(high)}" if low < high else ""
        ratios = [value / base for value in (low, offered.value, high)]
        if result.best == "lowest":
            ratios = [1 / ratio for ratio in reversed(ratios)]
        description = f"{name}, {result.label}: {units.digits(offered.value)} {result.unit}{interval}"
        y = -row - (number + 1) / (len(offers) + 1)
        yield shapes.Dot(ratios[1], y, ratios[0], ratios[2], number, description)

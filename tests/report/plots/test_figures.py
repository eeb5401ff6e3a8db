"""The table of a plot's numbers has each mark, with what it is called in the legend."""

from __future__ import annotations

from campaign.report.plots import figures
from campaign.report.plots.drawing import DrawnPlot
from campaign.report.plots.shapes import (
    Axis,
    Bar,
    Dot,
    Interval,
    Key,
    Line,
    Mark,
    Panel,
    Upright,
    axis_of_groups,
    colour,
)

Y = Axis(0.0, 10000.0, (), "ops/s")


def lines(*marks: Mark, x: Axis | None = None) -> list[figures.Figure]:
    panel = Panel("shared", x or axis_of_groups(["1", "2\nnodes"], "pairs"), Y, marks)
    legend = (Key("Create", colour(0), "line"), Key("chosen", "#c24a00", "upright"))
    return figures.plot_figures(DrawnPlot((panel,), "", legend))


def test_a_bar_and_a_dot_are_split_into_name_and_value() -> None:
    bar = Bar(0, 1, 5.0, 0, "scratch/node/shared/create: 5 ops/s, 4 × 1")
    assert lines(bar) == [("shared", "scratch/node/shared/create", "5 ops/s, 4 × 1")]
    assert lines(Dot(1, 0, 1, 1, 0, "B, create: 5 ops/s")) == [("shared", "B, create", "5 ops/s")]


def test_a_line_has_its_name_in_the_legend_and_the_labels_of_its_points() -> None:
    line = Line(((0.0, 1234.0), (1.0, 20.0)), colour(0), crossed=((1.0, 20.0),))
    assert lines(line) == [
        ("shared", "Create", "1 pairs: 1,234 ops/s"),
        ("shared", "Create", "2 nodes pairs: 20 ops/s, crossed"),
    ]


def test_intervals_and_uprights_have_their_places() -> None:
    x = Axis(1.0, 64.0, ((1.0, "1"),), "processes", log=True)
    assert lines(Interval(16.0, 1000.0, 1100.0, 1234.0), Upright(16.0, "#c24a00"), x=x) == [
        ("shared", "interval", "16 processes: 1,000 to 1,234 ops/s"),
        ("shared", "chosen", "16 processes"),
    ]


def test_a_table_ends_before_it_fills_the_page() -> None:
    line = Line(tuple((0.0, float(number)) for number in range(1000)), colour(0))
    assert len(lines(line)) == figures.MOST_LINES

"""The plot of nodes that ran by themselves has every node's value, in order, and crosses what is outlying."""

from __future__ import annotations

from pathlib import Path

from campaign.core.model import Cell, Status
from campaign.report.plots import kinds
from campaign.report.plots.kinds import draw_plots
from campaign.report.plots.shapes import Line
from campaign.results.cells import Row
from tests.support import builders

CELL = Cell("scratch", "node", "all", "rate")


def row(**by_node: float) -> Row:
    return Row(CELL, "GFLOP/s", Status.MEASURED, None, nodes=("a", "b", "c", "d", "e", "f", "g", "h"), by_node=by_node)


def lines(*rows: Row) -> list[Line]:
    drawn = kinds.by_node(rows)
    assert drawn is not None
    return [mark for mark in drawn.panels[0].marks if isinstance(mark, Line)]


def test_each_node_is_a_point_and_the_lowest_and_highest_are_named() -> None:
    points, crossed = lines(row(a=103.0, b=101.0, c=102.0))
    assert (points.points, points.joined, crossed.crossed) == (((0, 101.0), (1, 102.0), (2, 103.0)), False, ())
    drawn = kinds.by_node([row(a=103.0, b=101.0, c=102.0)])
    assert drawn is not None
    assert [name for _, name in drawn.panels[0].x.ticks] == ["b", "a"]
    assert "3 of 8 nodes, spread 2.0%" in drawn.panels[0].title
    assert drawn.panels[0].y.low > 100


def test_an_outlying_node_is_crossed() -> None:
    _, crossed = lines(row(a=100, b=101, c=102, d=100, e=101, f=102, g=101, h=60))
    assert crossed.crossed == ((0, 60),)


def test_thousands_of_nodes_are_a_line() -> None:
    points, _ = lines(row(**{f"n{number}": 100 + number / 1000 for number in range(10_000)}))
    assert (len(points.points), points.joined, points.marked) == (10_000, True, False)


def test_nodes_with_one_value_have_an_axis() -> None:
    assert kinds.by_node([row(a=5.0, b=5.0)])
    assert kinds.by_node([row(a=0.0)])


def test_the_plot_is_drawn_only_where_nodes_ran_by_themselves(tmp_path: Path) -> None:
    assert kinds.by_node([Row(CELL, "GFLOP/s", Status.MISSING, None)]) is None
    (picture,) = draw_plots(builders.pack(plots=()), "scratch", [row(a=1.0, b=2.0)], tmp_path, tmp_path)
    assert (tmp_path / "scratch-by_node.svg").is_file()
    assert picture.title == kinds.NODES_TITLE

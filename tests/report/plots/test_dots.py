"""The plot of several offers: each dot is an offer's value relative to the first's, with its own interval."""

from __future__ import annotations

import pytest

from campaign.report.plots.dots import OfferedResult, OfferedValue, dot_plot
from campaign.report.plots.drawing import DrawnPlot
from campaign.report.plots.shapes import Dot, log_axis
from campaign.report.plots.svg import document_svg

OFFERS = ("A", "B", "C")


def draw(*results: OfferedResult) -> DrawnPlot:
    drawn = dot_plot(OFFERS, results)
    assert drawn
    return drawn


def dots(drawn: DrawnPlot) -> list[Dot]:
    return [mark for panel in drawn.panels for mark in panel.marks if isinstance(mark, Dot)]


def result(
    *values: float | None, best: str = "highest", panel: str = "scratch", label: str = "create"
) -> OfferedResult:
    offered = [None if value is None else OfferedValue(value, 0.9 * value, 1.2 * value) for value in values]
    return OfferedResult(panel, label, "ops/s", offered, best)


def test_each_offer_is_relative_to_the_first_with_its_own_interval() -> None:
    row = dots(draw(result(100.0, 200.0, 50.0)))
    assert [dot.x for dot in row] == pytest.approx([1.0, 2.0, 0.5])
    assert [(dot.low, dot.high) for dot in row] == [pytest.approx((0.9 * dot.x, 1.2 * dot.x)) for dot in row]
    assert row[1].description == "B, create: 200 ops/s, 180 to 240"


def test_where_the_lowest_is_best_half_the_time_is_twice_as_good() -> None:
    dot = dots(draw(result(100.0, 50.0, 100.0, best="lowest")))[1]
    assert (dot.low, dot.x, dot.high) == pytest.approx((1 / 0.6, 2.0, 1 / 0.45))


def test_an_offer_without_a_number_has_no_dot_and_the_others_keep_their_places() -> None:
    places = [dot.y for dot in dots(draw(result(1.0, 2.0, 3.0)))]
    dots_without_second = dots(draw(result(1.0, None, 3.0)))
    assert [dot.y for dot in dots_without_second] == [places[0], places[2]]
    assert [dot.series for dot in dots_without_second] == [0, 2]


def test_results_that_the_first_offer_does_not_have_are_left_out() -> None:
    drawn = draw(result(None, 2.0, 3.0, label="stat"), result(1.0, 2.0, 3.0))
    assert [label for _, label in drawn.panels[0].y.ticks] == ["create"]
    assert dot_plot(OFFERS, [result(None, 2.0, 3.0)]) is None


def test_panels_share_their_axis_and_have_room_for_their_labels() -> None:
    label = "Fewest processes for the peak, stat"
    drawn = draw(result(1.0, 2.0, 3.0, label=label), result(1.0, 9.0, 0.1, panel="project"))
    assert len({panel.x for panel in drawn.panels}) == 1
    assert [label for _, label in drawn.panels[0].y.ticks] == [label]
    assert all(panel.left > 6 * len(label) for panel in drawn.panels)
    svg = document_svg("Offers", drawn.remarks, drawn.panels, drawn.legend)
    assert "<title>C, create: 0.1 ops/s, 0.09 to 0.12</title>" in svg


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (0.9, 1.1, ["0.9", "0.95", "1", "1.05", "1.1"]),
        (0.5, 5.0, ["0.5", "1", "2", "5"]),
        (10.0, 1e6, ["10", "100", "1k", "10k", "100k", "1M"]),
    ],
)
def test_a_logarithmic_axis_has_ticks_for_people(low: float, high: float, labels: list[str]) -> None:
    axis = log_axis(low, high, "")
    assert [label for _, label in axis.ticks] == labels
    assert axis.low < low < high < axis.high
    assert 0.4 < axis.place((low * high) ** 0.5) < 0.6

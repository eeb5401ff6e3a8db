"""The picture of a search: all points, intervals, the chosen count and why."""

from __future__ import annotations

from campaign.plan.searches import SearchProgress
from campaign.report.plots import searches
from tests.plan.test_searches import campaign, driven, look
from tests.plan.test_searches import searches as searched


def standing(number: int) -> SearchProgress:
    made = campaign()
    return driven(searched(made)[number], made, lambda run: float(min(run.geometry.processes, 4)))[0]


def test_nothing_measured_is_no_picture() -> None:
    made = campaign()
    assert searches.figure(look(searched(made)[0], made, {}), "ops/s") is None


def test_all_points_are_drawn_with_the_chosen_count_and_the_reason() -> None:
    found = standing(0)
    figure = searches.figure(found, "ops/s")
    assert figure is not None and found.decision is not None
    axes = figure.axes[0]
    labels = [str(text.get_text()) for text in axes.get_legend().get_texts()]
    assert labels == ["runs of the search", "fresh runs", "chosen: 4 on 1 node"]
    drawn = [line for line in axes.lines if line.get_label() in labels[:2]]
    assert sum(len(line.get_xdata()) for line in drawn) == len(found.points)
    title = " ".join(figure.get_suptitle().split())
    assert "Search for scratch/node/shared/*" in title
    assert " ".join(found.decision.reason.split()) in title
    assert axes.get_ylabel() == "create (ops/s)"


def test_over_several_nodes_each_count_says_on_how_many() -> None:
    found = standing(3)
    figure = searches.figure(found, "ops/s")
    assert figure is not None and found.decision is not None
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert texts == {str(one.geometry) for one in found.decision.candidates if one.rate}

"""The picture of a search: all points, intervals, the chosen count and why."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from campaign.plan.adaptive import SearchProgress
from campaign.report.plots import searches
from campaign.report.plots.shapes import Interval, Line, Upright
from tests.plan.test_adaptive import campaign, driven, look, wanted


def standing(number: int) -> SearchProgress:
    made = campaign()
    return driven(wanted(made)[number], made, lambda run: float(min(run.geometry.processes, 4)))[0]


def test_nothing_measured_is_no_picture() -> None:
    made = campaign()
    assert searches.search_plot(look(wanted(made)[0], made, {}), "ops/s") is None


def test_all_points_are_drawn_with_the_chosen_count() -> None:
    found = standing(0)
    drawn = searches.search_plot(found, "ops/s")
    assert drawn is not None
    assert [key.label for key in drawn.legend] == [
        "runs of the search", "confirmation runs", "chosen: 4 processes on 1 node",
    ]  # fmt: skip
    (panel,) = drawn.panels
    assert sum(len(mark.points) for mark in panel.marks if isinstance(mark, Line)) == len(found.points)
    assert [mark.x for mark in panel.marks if isinstance(mark, Upright)] == [4]
    assert panel.y.title == "create (ops/s)"


def test_counts_that_cannot_be_told_apart_are_marked() -> None:
    found = standing(0)
    assert found.choice is not None
    tried = tuple(one.geometry for one in found.choice.candidates if one.rate)[:3]
    open_ = replace(found, choice=replace(found.choice, resolved=False, possible_counts=tried))
    drawn = searches.search_plot(open_, "ops/s")
    assert drawn is not None
    assert drawn.legend[-1].label == "not told apart: 3 counts"
    marked = next(mark for mark in drawn.panels[0].marks if isinstance(mark, Line))
    assert [x for x, _ in marked.points] == [one.processes for one in tried]


def test_over_several_nodes_the_intervals_say_processes_by_nodes_where_labels_do_not_overlap() -> None:
    found = standing(3)
    drawn = searches.search_plot(found, "ops/s")
    assert drawn is not None and found.choice is not None and found.choice.geometry is not None
    intervals = [mark for mark in drawn.panels[0].marks if isinstance(mark, Interval)]
    assert len(intervals) == sum(bool(one.rate) for one in found.choice.candidates)
    chosen = found.choice.geometry
    told = {mark.label for mark in intervals if mark.label}
    assert f"{chosen.processes} × {chosen.nodes}" in told
    assert told <= {f"{one.geometry.processes} × {one.geometry.nodes}" for one in found.choice.candidates}
    places = sorted(drawn.panels[0].x.place(mark.x) * searches.WIDTH for mark in intervals if mark.label)
    assert all(after - before >= searches.APART for before, after in pairwise(places))

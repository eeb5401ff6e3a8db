"""The picture of a search: all points, intervals, the chosen count and why."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from campaign.plan.adaptive import SearchProgress
from campaign.report.plots import searches
from campaign.report.plots.shapes import Interval, Line, Upright
from tests.plan.test_adaptive import drive_search, look, planned_searches, searching_campaign


def search_progress(number: int) -> SearchProgress:
    definition = searching_campaign()
    return drive_search(
        planned_searches(definition)[number], definition, lambda run: float(min(run.geometry.processes, 4))
    )[0]


def test_nothing_measured_is_no_picture() -> None:
    definition = searching_campaign()
    assert searches.search_plot(look(planned_searches(definition)[0], definition, {}), "ops/s") is None


def test_all_points_are_drawn_with_the_chosen_count() -> None:
    progress = search_progress(0)
    drawn = searches.search_plot(progress, "ops/s")
    assert drawn is not None
    assert [key.label for key in drawn.legend] == [
        "median of each count", "runs of the search", "confirmation runs", "chosen: 4 processes on 1 node",
    ]  # fmt: skip
    (panel,) = drawn.panels
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    assert sum(len(line.points) for line in lines if not line.joined) == len(progress.points)
    (curve,) = [line for line in lines if line.joined]
    assert [(count, round(rate)) for count, rate in curve.points] == sorted(
        {(float(run.processes), float(min(run.processes, 4))) for run in progress.points}
    )
    assert panel.x.log and panel.y.log
    assert [mark.x for mark in panel.marks if isinstance(mark, Upright)] == [4]
    assert panel.y.title == "create (ops/s)"


def test_counts_that_cannot_be_told_apart_are_marked() -> None:
    progress = search_progress(0)
    assert progress.choice is not None
    geometries = tuple(candidate.geometry for candidate in progress.choice.candidates if candidate.rate)[:3]
    open_ = replace(progress, choice=replace(progress.choice, resolved=False, possible_counts=geometries))
    drawn = searches.search_plot(open_, "ops/s")
    assert drawn is not None
    assert drawn.legend[-1].label == "not told apart: 3 counts"
    marked = next(mark for mark in drawn.panels[0].marks if isinstance(mark, Line) and mark.colour == searches.CHOSEN)
    assert [x for x, _ in marked.points] == [geometry.processes for geometry in geometries]


def test_over_several_nodes_the_intervals_say_processes_by_nodes_where_labels_do_not_overlap() -> None:
    progress = search_progress(3)
    drawn = searches.search_plot(progress, "ops/s")
    assert drawn is not None and progress.choice is not None and progress.choice.geometry is not None
    intervals = [mark for mark in drawn.panels[0].marks if isinstance(mark, Interval)]
    assert len(intervals) == sum(bool(candidate.rate) for candidate in progress.choice.candidates)
    chosen_geometry = progress.choice.geometry
    labels = {mark.label for mark in intervals if mark.label}
    assert f"{chosen_geometry.processes} × {chosen_geometry.nodes}" in labels
    assert labels <= {
        f"{candidate.geometry.processes} × {candidate.geometry.nodes}" for candidate in progress.choice.candidates
    }
    places = sorted(drawn.panels[0].x.place(mark.x) * searches.WIDTH for mark in intervals if mark.label)
    assert all(after - before >= searches.APART for before, after in pairwise(places))

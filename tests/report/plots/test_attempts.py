"""When attempts ran: each on its nodes, coloured by how it ended, and those that never ran are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from campaign.core.records import Observation
from campaign.core.runs import State
from campaign.report.plots import attempts as plot
from campaign.report.plots.drawing import DrawnPlot
from campaign.report.plots.shapes import Span
from campaign.results.case import Case
from tests.support.results import Results


def cases(*states: State, node_names: Sequence[Sequence[str]]) -> list[Case]:
    """Attempts of a minute each, one after the other, on these nodes."""
    results = Results()
    for state in states:
        results.add("node.shared", None, state)
    return [
        replace(
            case,
            attempt=replace(case.attempt, started=60.0 * number, ended=60.0 * number + 60),
            outputs={"": Observation(node_names=tuple(names))},
        )
        for number, (case, names) in enumerate(zip(results.submission().results, node_names, strict=True))
    ]


def draw(drawn_cases: Sequence[Case]) -> DrawnPlot:
    drawn = plot.attempts_plot([case.attempt for case in drawn_cases], drawn_cases)
    assert drawn
    return drawn


def spans(drawn: DrawnPlot) -> list[Span]:
    return [mark for panel in drawn.panels for mark in panel.marks if isinstance(mark, Span)]


def test_an_attempt_is_a_bar_on_each_of_its_nodes_and_its_colour_says_how_it_ended() -> None:
    drawn = draw(cases(State.DONE, State.FAILED, State.CANCELLED, node_names=[["n1", "n2"], ["n2"], ["n10"]]))
    assert [label for _, label in drawn.panels[0].y.ticks] == ["n1", "n2", "n10"]
    assert [(span.y, span.low, span.colour) for span in spans(drawn)] == [
        (-0.5, 0, plot.DONE), (-1.5, 0, plot.DONE), (-1.5, 60, plot.FAILED), (-2.5, 120, plot.STOPPED),
    ]  # fmt: skip
    assert [key.label for key in drawn.legend] == ["done", "failed", "cancelled"]
    assert "failed, job" in spans(drawn)[2].description


def test_the_axis_has_the_unit_that_fits() -> None:
    short = cases(State.DONE, node_names=[["n1"]])
    assert draw(short).panels[0].x.title == "seconds since 1970-01-01 00:00 UTC"
    long = [replace(case, attempt=replace(case.attempt, ended=86400.0 * 9)) for case in short]
    drawn = draw(long)
    assert drawn.panels[0].x.title.startswith("days since")
    assert spans(drawn)[0].high == 9


def test_many_nodes_are_rows_by_their_number() -> None:
    many_names = [[f"n{number}" for number in range(plot.MOST_NODES)], ["other"]]
    drawn = draw(cases(State.DONE, State.DONE, node_names=many_names))
    assert [label for _, label in drawn.panels[0].y.ticks] == ["1 node", f"{plot.MOST_NODES} nodes"]


def test_attempts_that_never_started_are_counted() -> None:
    started = cases(State.DONE, node_names=[["n1"]])
    unstarted = replace(started[0].attempt, state=State.CANCELLED, started=None, ended=None)
    drawn = plot.attempts_plot([started[0].attempt, unstarted], started)
    assert drawn and drawn.remarks == ("not drawn, because they never started: 1 attempt: 1 cancelled",)
    assert plot.attempts_plot([unstarted], []) is None


def test_times_that_are_no_dates_are_not_drawn() -> None:
    started = cases(State.DONE, node_names=[["n1"]])
    hostile = [replace(case, attempt=replace(case.attempt, ended=time)) for time in (1e300, -1.0) for case in started]
    assert plot.attempts_plot([case.attempt for case in hostile], hostile) is None

"""When each attempt ran, on which nodes, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from campaign.core import units
from campaign.core.grouping import grouped
from campaign.core.runs import Attempt, State
from campaign.report.plots import drawing, shapes
from campaign.results.case import Case

FILE, TITLE = "jobs.svg", "Jobs and nodes over time"
ROW = 16  # height of a row
MOST_NODES, MOST_SPANS = 48, 4000  # that can be told apart
DONE, FAILED, STOPPED = "#12436d", "#d4351c", "#888888"
LATEST = 253402300800.0  # the first time that is no date; records of others may have any number
# From how many seconds on an axis has which unit, of so many seconds.
SCALES = ((172800.0, 86400.0, "days"), (7200.0, 3600.0, "hours"), (300.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


def attempts_plot(attempts: Sequence[Attempt], cases: Sequence[Case]) -> drawing.DrawnPlot | None:
    """A row for each node, or for each number of nodes where these are too many, with a bar for each attempt. None if
    no attempt has run, or too many have. `cases`: of the attempts that have ended.
    """
    rows = _attempts_by_row(cases)
    times = [time for in_row in rows.values() for attempt in in_row for time in _times(attempt)]
    if not times or sum(map(len, rows.values())) > MOST_SPANS:
        return None
    start, length = min(times), max(times) - min(times) or 1.0
    seconds, unit = next((seconds, unit) for least, seconds, unit in SCALES if length >= least)
    x = shapes.linear_axis(length / seconds, f"{unit} since {datetime.fromtimestamp(start, UTC):%Y-%m-%d %H:%M} UTC")
    y = shapes.Axis(-float(len(rows)), 0.0, tuple((-number - 0.5, label) for number, label in enumerate(rows)))
    spans = []
    for number, in_row in enumerate(rows.values()):
        for attempt in in_row:
            low, high = ((time - start) / seconds for time in _times(attempt))
            spans.append(shapes.Span(-number - 0.5, low, high, _colour(attempt.state), _description(attempt)))
    panel = shapes.Panel("Attempts by node", x, y, tuple(spans), height=ROW * len(rows), left=shapes.left_margin(rows))
    states = dict.fromkeys(attempt.state for in_row in rows.values() for attempt in in_row)
    by_colour = grouped((_colour(state), str(state)) for state in states)
    legend = tuple(shapes.Key(", ".join(of_colour), colour) for colour, of_colour in by_colour.items())
    unstarted = [attempt.state for attempt in attempts if attempt.started is None]
    remarks = (f"not drawn, because they never started: {units.count_by_kind('attempt', unstarted)}",)
    description = "A bar for each attempt on each of its nodes, over time."
    return drawing.DrawnPlot((panel,), description, legend, remarks if unstarted else ())


def _attempts_by_row(cases: Sequence[Case]) -> dict[str, list[Attempt]]:
    nodes_of_attempts = [
        (case.attempt, case.observation.node_names or [node.name for node in case.evidence.environment.nodes])
        for case in cases
        if len(_times(case.attempt)) == 2
    ]
    names = {name for _, nodes in nodes_of_attempts for name in nodes}
    if len(names) > MOST_NODES:
        labelled = [(units.plural(len(nodes), "node"), attempt) for attempt, nodes in nodes_of_attempts]
    else:
        labelled = [(name, attempt) for attempt, nodes in nodes_of_attempts for name in nodes or ["nodes unknown"]]
    return dict(sorted(grouped(labelled).items(), key=lambda row: (len(row[0]), row[0])))


def _times(attempt: Attempt) -> list[float]:
    return [time for time in (attempt.started, attempt.ended) if time is not None and 0 <= time < LATEST]


def _colour(state: State) -> str:
    return DONE if state is State.DONE else STOPPED if state in (State.CANCELLED, State.SUPERSEDED) else FAILED


def _description(attempt: Attempt) -> str:
    start, end = (f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S}" for time in _times(attempt))
    return f"{attempt.run}/{attempt.number}: {attempt.state_text}, job {attempt.job_id}, {start} to {end}"

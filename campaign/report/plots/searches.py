"""A search's measurements over the number of processes: all points, intervals, and the chosen count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from campaign.core.grouping import grouped
from campaign.plan import adaptive
from campaign.plan.search.records import CONFIRM, SearchRequest
from campaign.plan.search.space import words
from campaign.report.plots.drawing import DrawnPlot, processes_by_nodes
from campaign.report.plots.shapes import Axis, Interval, Key, Line, Mark, Panel, Upright, log_axis

RUN, CONFIRMED, CHOSEN, CURVE = "#5b9bd0", "#12436d", "#c24a00", "#888888"
WIDTH = 520
LABELS = 8  # below the axis
APART = 44  # width of two labels at which both are readable


def search_plot(standing: adaptive.SearchProgress, unit: str) -> DrawnPlot | None:
    """None before anything was measured."""
    points = [
        (request, measured.rate) for request, measured in standing.points.items() if measured.rate and measured.rate > 0
    ]
    if not points:
        return None
    marks: list[Mark] = [Line(curve, CURVE, marked=False) for curve in _curves(points)]
    legend = [Key("median of each count", CURVE, "curve")] if marks else []
    kinds = (("runs of the search", RUN, False, 0), ("confirmation runs", CONFIRMED, True, 1))
    for name, colour, confirms, series in kinds:
        of_phase = [(float(run.processes), rate) for run, rate in points if (run.phase == CONFIRM) == confirms]
        if of_phase:
            marks.append(Line(tuple(of_phase), colour, series, joined=False))
            legend.append(Key(name, colour, "points", series))
    decision = standing.choice
    if decision is not None and decision.geometry is not None:
        geometry = decision.geometry
        marks.append(Upright(geometry.processes, CHOSEN))
        legend.append(Key(f"chosen: {words(geometry)}", CHOSEN, "upright"))
        if decision.resolved is False:
            rates = {candidate.geometry: candidate.rate for candidate in decision.candidates}
            tied_points = [
                (float(tied_geometry.processes), rate)
                for tied_geometry in decision.possible_counts
                if (rate := rates.get(tied_geometry))
            ]
            marks.append(Line(tuple(tied_points), CHOSEN, 2, joined=False))
            legend.append(Key(f"not told apart: {len(decision.possible_counts)} counts", CHOSEN, "points", 2))
    counts = sorted({request.processes for request, _ in points})
    x = _axis(counts)
    marks += _intervals(standing, x)
    ends = [end for mark in marks if isinstance(mark, Interval) for end in (mark.low, mark.high) if end > 0]
    rates_and_ends = [*(rate for _, rate in points), *ends]
    y = log_axis(min(rates_and_ends), max(rates_and_ends), f"{standing.search.operation} ({unit})")
    has_nodes = standing.search.space.most_nodes > 1
    bars = "bars: 95% intervals of the typical rate (median), from 6 runs on"
    remarks = (f"{bars}; labels: processes × nodes" if has_nodes else bars, "both axes are logarithmic")
    panel = Panel("", x, y, tuple(marks), WIDTH, 260)
    return DrawnPlot((panel,), f"Rate over processes of the search {standing.search.key}", tuple(legend), remarks)


def _curves(points: Sequence[tuple[SearchRequest, float]]) -> Iterator[tuple[tuple[float, float], ...]]:
    """For each number of nodes, the medians over the counts of processes, if these are several."""
    rates_by_geometry = grouped((request.geometry, rate) for request, rate in points)
    medians = [
        (geometry.nodes, (float(geometry.processes), median(rates))) for geometry, rates in rates_by_geometry.items()
    ]
    for curve in grouped(medians).values():
        if len(curve) > 1:
            yield tuple(sorted(curve))


def _axis(counts: list[int]) -> Axis:
    """A logarithmic axis with powers of two."""
    step = -(-len(counts) // LABELS)
    ticks = tuple((float(count), str(count)) for count in counts[::step])
    return Axis(counts[0] / 1.25, counts[-1] * 1.25, ticks, "processes", log=True)


def _intervals(standing: adaptive.SearchProgress, x: Axis) -> Iterator[Interval]:
    """The interval of each candidate. Those on several nodes are labelled, unless the label would cover another one."""
    decision = standing.choice
    if decision is None:
        return
    has_nodes = standing.search.space.most_nodes > 1
    labelled: list[float] = []
    candidates = sorted(
        decision.candidates, key=lambda tested: (tested.geometry != decision.geometry, -(tested.rate or 0))
    )
    for candidate in candidates:
        if not (rate := candidate.rate):
            continue
        place = x.place(candidate.geometry.processes) * WIDTH
        free = all(abs(place - other) >= APART for other in labelled)
        label = processes_by_nodes(candidate.geometry) if has_nodes and free else ""
        labelled += [place] if label else []
        yield Interval(candidate.geometry.processes, candidate.low or rate, rate, candidate.high or rate, label)

"""The strips of repetitions: each value once, relative to its median, with the interval that is known."""

from __future__ import annotations

from dataclasses import replace

from campaign.core.runs import Cell, Status
from campaign.report.plots.shapes import Interval, Line
from campaign.report.plots.strips import MOST_OPERATIONS, strips
from campaign.results.cells import Row
from campaign.statistics import intervals
from tests.support import builders

PACK = builders.pack()
SIX = (90.0, 95.0, 100.0, 105.0, 110.0, 120.0)


def row(launch: str, operation: str, *values: float) -> Row:
    cell = Cell("scratch", launch, PACK.files[0].id, operation)
    return Row(
        cell, "ops/s", Status.MEASURED, None, values[0], summary=intervals.summarize(values), values=tuple(values)
    )


def test_each_repetition_is_a_point_and_six_have_an_interval() -> None:
    first, second = PACK.launch[0].id, PACK.launch[1].id
    drawn = strips(PACK, [row(first, "create", *SIX), row(second, "stat", 10.0, 11.0, 12.0)])
    assert drawn
    (panel,) = drawn.panels
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    assert [[round(share, 3) for _, share in line.points] for line in lines] == [
        [0.878, 0.927, 0.976, 1.024, 1.073, 1.171],
        [0.909, 1.0, 1.091],
    ]
    assert not any(line.joined for line in lines)
    (interval,) = [mark for mark in panel.marks if isinstance(mark, Interval)]
    summary = intervals.summarize(SIX)
    assert summary.median and summary.low and summary.high
    ends = (summary.low / summary.median, summary.high / summary.median)
    assert (interval.low, interval.value, interval.high) == (ends[0], 1.0, ends[1])
    assert all(panel.y.low < share < panel.y.high for line in lines for _, share in line.points)
    assert drawn.remarks[0] == "points: each of 3 to 6 repetitions; bars: 95% interval of the median"
    assert [key.label for key in drawn.legend] == ["Create", "Stat"]


def test_strips_stay_in_the_room_of_their_launch_condition() -> None:
    rows = [row(launch.id, operation.id, *SIX) for launch in PACK.launch for operation in PACK.operations]
    drawn = strips(PACK, rows)
    assert drawn
    places = [mark.points[0][0] for mark in drawn.panels[0].marks if isinstance(mark, Line)]
    assert [round(place) for place in places] == [number for number in range(len(PACK.launch)) for _ in PACK.operations]
    assert len(set(places)) == len(places)


def test_without_repetitions_and_with_too_many_operations_there_are_no_strips() -> None:
    first = PACK.launch[0].id
    assert strips(PACK, [row(first, "create", 1.0, 2.0)]) is None
    operations = tuple(replace(PACK.operations[0], id=f"o{number}") for number in range(MOST_OPERATIONS + 1))
    rows = [row(first, operation.id, *SIX) for operation in operations]
    assert strips(replace(PACK, operations=operations), rows) is None

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.core.model import Record, Source
from campaign.results.parsers.lines import Repeats, deviation


def test_the_best_value_counts_with_its_line_and_the_spread_of_all() -> None:
    repeats = Repeats("f")
    for line, (rate, time) in enumerate([(1.0, 4.0), (4.0, 1.0), (2.0, 2.0)], 7):
        repeats.add("rate", rate, "MiB/s", line)
        repeats.add("time", time, "s", line)
    assert repeats.records() == [
        Record("rate", 4.0, "MiB/s", Source("f", 8), 1.0, 7 / 3, deviation([1, 4, 2]), 3),
        Record("time", 1.0, "s", Source("f", 8), 1.0, 7 / 3, deviation([4, 1, 2]), 3, statistic="minimum"),
    ]


def test_one_value_has_no_deviation_and_two_have_that_of_a_sample() -> None:
    assert deviation([5.0]) == 0.0
    assert deviation([1.0, 3.0]) == pytest.approx(2**0.5)


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=20))
def test_the_best_lies_at_an_end_of_the_spread(values: list[float]) -> None:
    repeats = Repeats("f")
    for line, value in enumerate(values, 1):
        repeats.add("x", value, "s", line)
    record = repeats.records()[0]
    assert record.value == record.minimum == min(values)
    assert values[record.source.line - 1] == record.value

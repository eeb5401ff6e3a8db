"""Times as mdtest and IOR print them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaign.results.parsers.lines import local_time


@given(st.integers(0, 253402300799))
def test_a_time_printed_by_either_benchmark_is_read(seconds: int) -> None:
    clock = time.gmtime(seconds)
    assert local_time(time.strftime("%m/%d/%Y %H:%M:%S", clock)) == seconds
    assert local_time(time.asctime(clock)) == seconds


@pytest.mark.parametrize("text", ["", "soon", "13/01/2026 00:00:00", "02/30/2026 00:00:00", "Sat Nox 21 02:00:07 2026"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert local_time(text) is None


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_none(text: str) -> None:
    local_time(text)

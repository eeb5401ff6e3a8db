"""Sessions of runs, and runs that take turns."""

from __future__ import annotations

import pytest

from campaign.statistics import intervals

HOUR_S = 3600.0


@pytest.mark.parametrize(
    ("hours", "numbers"),
    [
        ([0, 1, 2], [1, 1, 1]),
        ([2, 0, 30, 31], [1, 1, 2, 2]),  # a night lies between
        ([0, 8, 16, 24, 32, 40, 48], [1, 1, 1, 2, 2, 2, 3]),  # without a break, but a day long at most
        ([0, 8.1, 16.2], [1, 2, 3]),
        ([], []),
    ],
)
def test_a_session_ends_with_a_break_or_after_a_day(hours: list[float], numbers: list[int]) -> None:
    assert intervals.sessions_of([HOUR_S * each for each in hours]) == numbers


@pytest.mark.parametrize(
    ("order", "turns"),
    [
        ("ABABABABABAB", True),
        ("ABBAABBAABBA", True),
        ("AAAAAABBBBBB", False),
        ("AAABBBAAABBB", False),
        ("BAAAAAAABBBBBBBA", False),
        ("AABABABABABB", False),  # as many turns, but B is later
        ("AB", False),
    ],
)
def test_runs_take_turns_as_often_as_in_a_random_order(order: str, turns: bool) -> None:
    first, second = ([place for place, side in enumerate(order) if side == name] for name in "AB")
    assert intervals.in_turns(first, second) is turns

"""Sessions: runs so near in time that the state of the system on that day may be in all of them. Pure.

Two campaigns of different days differ by what those days differ, besides what they are to be compared for. Whether that
can be told from their runs depends on when these started.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

BREAK_S = 8 * 3600.0  # without a run, from which the next one begins a session
LONGEST_S = 24 * 3600.0  # of a session
BALANCED = 0.2  # share of pairs by which one side may be later than the other more often than half of them


def of(starts: Sequence[float]) -> list[int]:
    """The number of the session of each run, by when it started."""
    numbers: dict[float, int] = {}
    number, first, before = 0, -math.inf, -math.inf
    for start in sorted(starts):
        if start - before > BREAK_S or start - first >= LONGEST_S:
            number, first = number + 1, start
        numbers[start], before = number, start
    return [numbers[start] for start in starts]


def in_turns(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the runs of two sides took turns: at least as often as in a random order, and neither side later than the
    other. Then what changes slowly affects both alike.
    """
    m, n = len(first), len(second)
    sides = [side for _, side in sorted([*((start, 0) for start in first), *((start, 1) for start in second)])]
    turns = sum(one != other for one, other in itertools.pairwise(sides))
    later = sum(other > start for start in first for other in second) / (m * n)
    return turns >= 2 * m * n / (m + n) and abs(later - 0.5) <= BALANCED

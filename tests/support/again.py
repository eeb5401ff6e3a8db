"""Tests of how long something takes: a machine that others load can spoil one measurement, but hardly five."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

Given = ParamSpec("Given")
TRIES = 5


def measured_again(test: Callable[Given, None]) -> Callable[Given, None]:
    """The test, repeated until it passes, five times at most. For assertions on measured times alone."""

    @functools.wraps(test)
    def repeated(*arguments: Given.args, **named: Given.kwargs) -> None:
        for _ in range(TRIES - 1):
            try:
                return test(*arguments, **named)
            except AssertionError:
                continue
        return test(*arguments, **named)

    return repeated

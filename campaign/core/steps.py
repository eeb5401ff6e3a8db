"""Tells a display how far long work is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

# Called before each step with what is done, how many steps are done, and of how many (0: not known); with "" after
# the last one.
Display = Callable[[str, int, int], None]
Item = TypeVar("Item")

_displays: list[Display] = []


@contextmanager
def display_steps(display: Display) -> Iterator[None]:
    """Within the context, this display shows how far long work is."""
    _displays.append(display)
    try:
        yield
    finally:
        _displays.pop()
        display("", 0, 0)


def is_displayed() -> bool:
    """Whether a display shows steps, so that no other text has to."""
    return bool(_displays)


def count_steps(items: Iterable[Item], action: str, total: int = 0, done: int = 0) -> Iterator[Item]:
    """The items, each of which is a step of what is done: `judging attempts`. `done`: steps before these."""
    return _display_each(_displays[-1], items, action, total, done) if _displays else iter(items)


def _display_each(display: Display, items: Iterable[Item], action: str, total: int, done: int) -> Iterator[Item]:
    try:
        for number, item in enumerate(items, done):
            display(action, number, total)
            yield item
    finally:
        display("", 0, 0)

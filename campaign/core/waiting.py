"""Who is told, while this program waits for another one, what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

SLOW_S = 5.0  # of a wait, before it is told

_listeners: list[Callable[[str], None]] = []


@contextmanager
def told_to(listener: Callable[[str], None]) -> Iterator[None]:
    """Until its end, this listener takes the place of any other."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.pop()


def tell(text: str) -> None:
    for listener in _listeners[-1:]:
        listener(text)

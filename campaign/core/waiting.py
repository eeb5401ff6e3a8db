"""Tells a listener what this program is waiting for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

SLOW_S = 5.0  # of waiting, before the listener is told

_listeners: list[Callable[[str], None]] = []


@contextmanager
def replace_listener(listener: Callable[[str], None]) -> Iterator[None]:
    """Within the context, this listener replaces any other."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.pop()


def tell_listener(text: str) -> None:
    for listener in _listeners[-1:]:
        listener(text)

"""What is put together of an object that does not change: once, however often it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

_Made = TypeVar("_Made")


class Once:
    """Of a dataclass with slots it is the base: the instance's dictionary has what is kept and not the fields, which in
    one dictionary with it would take three times the room.
    """

    @cached_property
    def _known(self) -> dict[Hashable, Any]:
        return {}

    def once(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """The value that `make` computes, computed once per key; the key holds everything that the value depends on."""
        values = self._known
        value: _Made = values[key] if key in values else values.setdefault(key, make())
        return value

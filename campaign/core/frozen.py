"""Frozen dataclasses whose fields are all that they are: their values, and `dataclasses.replace`, in a third of its
time. Pure.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

_Value = TypeVar("_Value")


def replace(value: _Value, /, **changes: Any) -> _Value:
    """The value with other fields; what it has cached is left out."""
    changed_value: _Value = object.__new__(value.__class__)
    for name, current in named_values(value):
        object.__setattr__(changed_value, name, current)
    for name, new in changes.items():
        object.__setattr__(changed_value, name, new)
    return changed_value


def named_values(value: Any) -> Iterable[tuple[str, Any]]:
    """Each field's name and value."""
    names, read = _field_reader(value.__class__)
    return zip(names, read(value), strict=True)


@functools.cache
def _field_reader(kind: type) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The names of the fields, and a function that gives their values."""
    names = tuple(field.name for field in fields(kind))
    if len(names) > 1:
        return names, attrgetter(*names)
    return names, lambda value: tuple(getattr(value, name) for name in names)

"""`dataclasses.replace` for frozen dataclasses whose fields are all that they are, in a third of its time. Pure."""

from __future__ import annotations

import functools
from dataclasses import fields
from operator import attrgetter
from typing import Any, TypeVar

_Value = TypeVar("_Value")


def replace(value: _Value, /, **changes: Any) -> _Value:
    """The value with other fields; what it has cached is left out."""
    kind: Any = value.__class__
    names = _field_names(kind)
    changed_value: _Value = object.__new__(kind)
    for name, current in zip(names, attrgetter(*names)(value), strict=True):
        object.__setattr__(changed_value, name, current)
    for name, new in changes.items():
        object.__setattr__(changed_value, name, new)
    return changed_value


@functools.cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))

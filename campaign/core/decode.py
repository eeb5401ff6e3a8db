"""JSON data -> a dataclass: the way back from `dataclasses.asdict`. Pure.

A field is a text, a number, a truth value, an enum of texts, a dataclass, a tuple or a mapping (by texts) of one of
these, or one of these or None. An absent field has its default, so that what an earlier version wrote can be read.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar

from campaign.core import messages

Decoded = TypeVar("Decoded")


def decode(kind: type[Decoded], data: Any, pass_over_unknown: bool = False) -> Decoded:
    """A `kind` of what `asdict` gave. Raises ValueError saying which field is not what it should be.

    `pass_over_unknown`: a later version, or something else, may have written further fields.
    """
    decoded: Decoded = _decode(kind, data, kind.__name__.strip("_").lower(), pass_over_unknown)
    return decoded


def _decode(kind: Any, value: Any, at: str, pass_over: bool) -> Any:
    if is_dataclass(kind):
        return _dataclass(kind, value, at, pass_over)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _decode(inner[0], value, at, pass_over)
    if origin is tuple:
        if not isinstance(value, list):
            raise ValueError(messages.NOT_A_LIST(at=at))
        return tuple(_decode(inner[0], item, f"{at}[{number}]", pass_over) for number, item in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, dict):
            raise ValueError(messages.NOT_AN_OBJECT(at=at))
        return {key: _decode(inner[1], item, f"{at}.{key}", pass_over) for key, item in value.items()}
    if issubclass(kind, StrEnum):
        return kind(value)
    wanted = (int, float) if kind is float else kind
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(messages.NOT_OF_TYPE(at=at, found=value, kind=kind.__name__))
    return value


def _dataclass(kind: Any, value: Any, at: str, pass_over: bool) -> Any:
    if not isinstance(value, dict):
        raise ValueError(messages.NOT_AN_OBJECT(at=at))
    known = _fields(kind)
    if not pass_over and (unknown := value.keys() - known.keys()):
        raise ValueError(messages.UNKNOWN_FIELD(at=at, field=min(unknown)))
    given = {key: item for key, item in value.items() if key in known}
    try:
        return kind(**{key: _decode(known[key], item, f"{at}.{key}", pass_over) for key, item in given.items()})
    except TypeError as error:
        raise ValueError(messages.FIELD_MISSING(at=at, error=error)) from error


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    """The fields of a dataclass with their types."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}

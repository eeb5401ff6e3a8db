"""JSON data -> a dataclass: the inverse of `dumps`, and of `dataclasses.asdict`. Pure.

A field is a text, a number, a truth value, an enum of texts, a dataclass, a tuple or a mapping (by texts) of these, or
one of these or None. An absent field has its default, since `dumps` leaves those out.
"""

from __future__ import annotations

import functools
import json
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar

Decoded = TypeVar("Decoded")


def dumps(value: Any) -> str:
    """A dataclass as JSON; fields with their default values are left out."""
    return json.dumps(value, default=told, ensure_ascii=False)


def told(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults."""
    given = ((each, getattr(value, each.name)) for each in fields(value))
    return {each.name: own for each, own in given if own != _default(each)}


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def decode(kind: type[Decoded], data: Any, pass_over_unknown: bool = False) -> Decoded:
    """Make a `kind` of decoded JSON. Raises ValueError naming the field that is wrong.

    `pass_over_unknown`: ignore further fields, which a later version may have written.
    """
    decoded: Decoded = _decoded(kind, data, kind.__name__.strip("_").lower(), pass_over_unknown)
    return decoded


def _decoded(kind: Any, value: Any, at: str, pass_over: bool) -> Any:
    """`at`: the place of the value."""
    origin, inner = _form(kind)
    if origin in (types.UnionType, typing.Union):
        return None if value is None else _decoded(inner[0], value, at, pass_over)
    if origin is tuple:
        if not isinstance(value, list):
            raise ValueError(f"{at}: not a list")
        return tuple(_decoded(inner[0], each, f"{at}[{place}]", pass_over) for place, each in enumerate(value))
    if origin is Mapping or is_dataclass(kind):
        if not isinstance(value, dict):
            raise ValueError(f"{at}: not an object")
        if is_dataclass(kind):
            return _dataclass(kind, value, at, pass_over)
        return {key: _decoded(inner[1], each, f"{at}.{key}", pass_over) for key, each in value.items()}
    if issubclass(kind, StrEnum):
        return kind(value)
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise ValueError(f"{at}: found {value!r}; allowed: {kind.__name__}")
    return value


def _dataclass(kind: Any, value: dict[str, Any], at: str, pass_over: bool) -> Any:
    known = _fields(kind)
    if not pass_over and (unknown := value.keys() - known.keys()):
        raise ValueError(f"{at}: unknown field {min(unknown)!r}")
    given = {
        name: _decoded(known[name], each, f"{at}.{name}", pass_over) for name, each in value.items() if name in known
    }
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(f"{at}: {error}") from error


@functools.cache
def _form(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    return typing.get_origin(kind), typing.get_args(kind)


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    """The types of a dataclass's fields."""
    hints = typing.get_type_hints(kind)
    return {each.name: hints[each.name] for each in fields(kind)}

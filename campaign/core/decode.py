"""JSON data -> a dataclass: the inverse of `dumps`, and of `dataclasses.asdict`. Pure.

A field is a text, a number, a truth value, an enum of texts, a dataclass, a tuple or a mapping (by texts) of these, or
one of these or None. An absent field has its default, since `dumps` leaves those out.
"""

from __future__ import annotations

import functools
import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar

Decoded = TypeVar("Decoded")
_Decoder = Callable[[Any, str], Any]  # of a value and its place


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
    wanted: Any = kind
    decoded: Decoded = _decoder(wanted, pass_over_unknown)(data, kind.__name__.strip("_").lower())
    return decoded


@functools.cache
def _decoder(kind: Any, pass_over: bool) -> _Decoder:
    """A function that converts JSON data to this type."""
    if is_dataclass(kind):
        return functools.partial(_dataclass, kind, pass_over)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        present = _decoder(inner[0], pass_over)
        return lambda value, at: None if value is None else present(value, at)
    if origin is tuple:
        return functools.partial(_list, _decoder(inner[0], pass_over))
    if origin is Mapping:
        return functools.partial(_object, _decoder(inner[1], pass_over))
    if issubclass(kind, StrEnum):
        return lambda value, at: kind(value)
    return functools.partial(_plain, kind, (int, float) if kind is float else (kind,))


def _plain(kind: type, allowed: tuple[type, ...], value: Any, at: str) -> Any:
    if type(value) not in allowed:
        raise ValueError(f"{at}: found {value!r}; allowed: {kind.__name__}")
    return value


def _list(item: _Decoder, value: Any, at: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{at}: not a list")
    return tuple(item(each, f"{at}[{place}]") for place, each in enumerate(value))


def _object(item: _Decoder, value: Any, at: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{at}: not an object")
    return {key: item(each, f"{at}.{key}") for key, each in value.items()}


def _dataclass(kind: Any, pass_over: bool, value: Any, at: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{at}: not an object")
    known = _fields(kind, pass_over)
    if not pass_over and (unknown := value.keys() - known.keys()):
        raise ValueError(f"{at}: unknown field {min(unknown)!r}")
    given = {name: known[name](each, f"{at}.{name}") for name, each in value.items() if name in known}
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(f"{at}: {error}") from error


@functools.cache
def _fields(kind: Any, pass_over: bool) -> dict[str, _Decoder]:
    """The decoders of a dataclass's fields: asked for with its first value, since it may contain its own type."""
    hints = typing.get_type_hints(kind)
    return {each.name: _decoder(hints[each.name], pass_over) for each in fields(kind)}

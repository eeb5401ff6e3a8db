"""JSON data -> a dataclass: the way back from `dumps`, and from `dataclasses.asdict`. Pure.

A field is a text, a number, a truth value, an enum of texts, a dataclass, a tuple or a mapping (by texts) of one of
these, or one of these or None. An absent field has its default, so that what an earlier version wrote can be read.
"""

from __future__ import annotations

import functools
import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar

from campaign.core import messages

Decoded = TypeVar("Decoded")


_Decoder = Callable[[Any, Any], Any]


def dumps(value: Any) -> str:
    """A dataclass as JSON, without the copies of `asdict`."""
    return json.dumps(value, default=_fields_of, ensure_ascii=False)


def _fields_of(value: Any) -> dict[str, Any]:
    kind: Any = type(value)
    return {name: getattr(value, name) for name in _names(kind)}


@functools.cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def decode(kind: type[Decoded], data: Any, pass_over_unknown: bool = False) -> Decoded:
    """A `kind` of what `asdict` gave. Raises ValueError saying which field is not what it should be.

    `pass_over_unknown`: a later version, or something else, may have written further fields.
    """
    wanted: Any = kind
    decoded: Decoded = _decoder(wanted, pass_over_unknown)(data, kind.__name__.strip("_").lower())
    return decoded


def _written(at: Any) -> str:
    """A place as people read it. It is put together for an error alone: a database has millions of values."""
    parts = []
    while isinstance(at, tuple):
        at, part = at
        parts.append(part)
    return "".join([str(at), *reversed(parts)])


@functools.cache
def _decoder(kind: Any, pass_over: bool) -> _Decoder:
    """What makes a value of this type, given the data and its place."""
    if is_dataclass(kind):
        return _of_class(kind, pass_over)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        present = _decoder(inner[0], pass_over)
        return lambda value, at: None if value is None else present(value, at)
    if origin is tuple:
        return _of_list(_decoder(inner[0], pass_over))
    if origin is Mapping:
        return _of_object(_decoder(inner[1], pass_over))
    if issubclass(kind, StrEnum):
        return lambda value, at: kind(value)
    return _of_plain(kind)


def _of_list(item: _Decoder) -> _Decoder:
    def decoded(value: Any, at: Any) -> Any:
        if not isinstance(value, list):
            raise ValueError(messages.NOT_A_LIST(at=_written(at)))
        return tuple([item(each, (at, f"[{number}]")) for number, each in enumerate(value)])

    return decoded


def _of_object(item: _Decoder) -> _Decoder:
    def decoded(value: Any, at: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(messages.NOT_AN_OBJECT(at=_written(at)))
        return {key: item(each, (at, f".{key}")) for key, each in value.items()}

    return decoded


def _of_plain(kind: Any) -> _Decoder:
    wanted = (int, float) if kind is float else (kind,)

    def decoded(value: Any, at: Any) -> Any:
        if type(value) not in wanted:
            raise ValueError(messages.NOT_OF_TYPE(at=_written(at), found=value, kind=kind.__name__))
        return value

    return decoded


def _of_class(kind: Any, pass_over: bool) -> _Decoder:
    hints = typing.get_type_hints(kind)
    known: dict[str, tuple[_Decoder, str]] = {}

    def decoded(value: Any, at: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(messages.NOT_AN_OBJECT(at=_written(at)))
        if not known:  # not at once: a dataclass may contain its own kind
            known.update({each.name: (_decoder(hints[each.name], pass_over), f".{each.name}") for each in fields(kind)})
        given = {}
        for key, item in value.items():
            if key in known:
                decoder, place = known[key]
                given[key] = decoder(item, (at, place))
            elif not pass_over:
                raise ValueError(messages.UNKNOWN_FIELD(at=_written(at), field=min(value.keys() - known.keys())))
        try:
            return kind(**given)
        except TypeError as error:
            raise ValueError(messages.FIELD_MISSING(at=_written(at), error=error)) from error

    return decoded

"""JSON data -> a dataclass: the inverse of `dumps`, and of `dataclasses.asdict`. Pure.

A field is a text, a number, a truth value, an enum of texts, a dataclass, a tuple or a mapping (by texts) of these, or
one of these or None. An absent field has its default, since `dumps` leaves those out.
"""

from __future__ import annotations

import functools
import json
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from typing import Any, TypeVar

Decoded = TypeVar("Decoded")
_Decoder = Callable[[Any], Any]


def dumps(value: Any) -> str:
    """A dataclass as JSON. Faster than `asdict`; fields with their default values are left out."""
    return json.dumps(value, default=told, ensure_ascii=False)


def told(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults."""
    kind: Any = type(value)
    return {name: given for name, default in _defaults(kind) if (given := getattr(value, name)) != default}


@functools.cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    made = ((each, each.default_factory) for each in fields(kind))
    return tuple((each.name, each.default if factory is MISSING else factory()) for each, factory in made)


class _Misfit(Exception):
    """A value of the wrong type. Its path is put together while the exception propagates: a database has millions of
    values that are right.
    """

    def __init__(self, form: str, **values: object) -> None:
        self.form, self.values, self.place = form, values, list[str]()


def decode(kind: type[Decoded], data: Any, pass_over_unknown: bool = False) -> Decoded:
    """Make a `kind` of decoded JSON. Raises ValueError naming the field that is wrong.

    `pass_over_unknown`: ignore further fields, which a later version may have written.
    """
    wanted: Any = kind
    try:
        decoded: Decoded = _decoder(wanted, pass_over_unknown)(data)
    except _Misfit as error:
        at = "".join([kind.__name__.strip("_").lower(), *reversed(error.place)])
        raise ValueError(error.form.format(at=at, **error.values)) from error
    return decoded


@functools.cache
def _decoder(kind: Any, pass_over: bool) -> _Decoder:
    """A function that converts JSON data to this type."""
    if is_dataclass(kind):
        return _of_class(kind, pass_over)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        present = _decoder(inner[0], pass_over)
        return lambda value: None if value is None else present(value)
    if origin is tuple:
        return _of_list(inner[0], pass_over)
    if origin is Mapping:
        return _of_object(inner[1], pass_over)
    if issubclass(kind, StrEnum):
        return lambda value: kind(value)
    return _of_plain(kind)


def _as_they_are(kind: Any) -> frozenset[type]:
    """The types of JSON values that are accepted for this type unchanged."""
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return _as_they_are(typing.get_args(kind)[0]) | {type(None)}
    return frozenset({int, float} if kind is float else {kind} & {int, str, bool})


def _of_list(kind: Any, pass_over: bool) -> _Decoder:
    item, plain = _decoder(kind, pass_over), _as_they_are(kind)

    def decoded(value: Any) -> Any:
        if not isinstance(value, list):
            raise _Misfit("{at}: not a list")
        done: list[Any] = []
        try:
            for each in value:
                done.append(each if type(each) in plain else item(each))
        except _Misfit as error:
            error.place.append(f"[{len(done)}]")
            raise
        return tuple(done)

    def words(value: Any) -> Any:
        """Kept once: ten thousand attempts have few command lines and nodes."""
        if isinstance(value, list) and {*map(type, value)} == plain:
            return _once(tuple(map(sys.intern, value)))
        return decoded(value)

    return words if kind is str else decoded


def _kept_once(texts: Mapping[str, str]) -> dict[str, str]:
    return dict(zip(map(sys.intern, texts), map(sys.intern, texts.values()), strict=True))


@functools.lru_cache(maxsize=1024)
def _once(words: tuple[str, ...]) -> tuple[str, ...]:
    return words


def _of_object(kind: Any, pass_over: bool) -> _Decoder:
    item, plain = _decoder(kind, pass_over), _as_they_are(kind)

    def decoded(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Misfit("{at}: not an object")
        if plain.issuperset(map(type, value.values())):
            return _kept_once(value) if kind is str else value
        done, key = {}, ""
        try:
            for key, each in value.items():
                done[key] = each if type(each) in plain else item(each)
        except _Misfit as error:
            error.place.append(f".{key}")
            raise
        return done

    return decoded


def _of_plain(kind: Any) -> _Decoder:
    plain = _as_they_are(kind)

    def decoded(value: Any) -> Any:
        if type(value) not in plain:
            raise _Misfit("{at}: found {found!r}; allowed: {kind}", found=value, kind=kind.__name__)
        return value

    return decoded


def _of_class(kind: Any, pass_over: bool) -> _Decoder:
    hints = typing.get_type_hints(kind)
    known: dict[str, tuple[frozenset[type], _Decoder]] = {}

    def decoded(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Misfit("{at}: not an object")
        if not known:  # not at definition: a dataclass may contain its own type
            known.update(
                {
                    each.name: (_as_they_are(hints[each.name]), _decoder(hints[each.name], pass_over))
                    for each in fields(kind)
                }
            )
        if pass_over:
            value = {key: item for key, item in value.items() if key in known}
        given, key = {}, ""
        try:
            for key, item in value.items():
                plain, decoder = known[key]
                given[key] = item if type(item) in plain else decoder(item)
        except KeyError as error:
            raise _Misfit("{at}: unknown field {field!r}", field=min(value.keys() - known.keys())) from error
        except _Misfit as error:
            error.place.append(f".{key}")
            raise
        try:
            return kind(**given)
        except TypeError as error:
            raise _Misfit("{at}: {error}", error=error) from error

    return decoded

"""JSON data -> a dataclass: the inverse of `dumps`, and of `dataclasses.asdict`. Pure.

A field is a text, a number, a truth value, an enum of texts, a path, a cell, a dataclass, a tuple or a mapping (by
texts) of these, or one of these or None. An absent field has its default, since `dumps` leaves those out.
"""

from __future__ import annotations

import functools
import itertools
import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

from campaign.core.frozen import named_values
from campaign.core.runs import Cell, parse_cell

Decoded = TypeVar("Decoded")


def dumps(value: Any) -> str:
    """A dataclass as JSON; fields with their default values are left out."""
    return json.dumps(value, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path | Cell) else nondefault_fields(value)


def nondefault_fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults."""
    defaults = _defaults(value.__class__)
    return {
        name: current
        for name, current in named_values(value)
        if current is not defaults[name] and current != defaults[name]
    }


@functools.cache
def _defaults(kind: type) -> dict[str, Any]:
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(kind)
    }


def decode(kind: type[Decoded], data: Any, pass_over_unknown: bool = False) -> Decoded:
    """Make a `kind` of decoded JSON. Raises ValueError naming the field that is wrong.

    `pass_over_unknown`: ignore further fields, which a later version may have written.
    """
    try:
        decoded: Decoded = _converter(cast(Any, kind), pass_over_unknown)(data)
    except _WrongError as wrong:
        raise ValueError(f"{kind.__name__.strip('_').lower()}{wrong.at}: {wrong.says}") from wrong
    return decoded


class _WrongError(Exception):
    """What is wrong with a value, and its place within the whole: `.spare.spokes`, `[2]`."""

    def __init__(self, says: str, at: str = "") -> None:
        super().__init__(says, at)
        self.says, self.at = says, at


@functools.cache
def _converter(kind: Any, pass_over: bool) -> Callable[[Any], Any]:
    """The function that converts a value of parsed JSON to this type. `pass_over`: ignore unknown fields."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        inner_reader = _converter(inner[0], pass_over)
        return lambda value: None if value is None else inner_reader(value)
    if origin is tuple:
        readers = [_converter(entry, pass_over) for entry in inner if entry is not Ellipsis]
        return functools.partial(_tuple, readers * (Ellipsis not in inner) or itertools.repeat(readers[0]))
    if origin is Mapping:
        return functools.partial(_mapping, _converter(inner[1], pass_over))
    if kind is Cell:
        return parse_cell
    if is_dataclass(kind):
        return functools.partial(_dataclass, kind, pass_over)
    return kind if issubclass(kind, StrEnum | Path) else functools.partial(_scalar, kind)


@functools.cache
def _field_readers(kind: Any, pass_over: bool) -> dict[str, Callable[[Any], Any]]:
    hints = typing.get_type_hints(kind)
    return {field.name: _converter(hints[field.name], pass_over) for field in fields(kind)}


def _scalar(kind: type, value: Any) -> Any:
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise _WrongError(f"found {value!r}; allowed: {kind.__name__}")
    return value


def _tuple(readers: Iterable[Callable[[Any], Any]], value: Any) -> tuple[Any, ...]:
    """`readers`: of each entry."""
    if not isinstance(value, list):
        raise _WrongError("not a list")
    entries: list[Any] = []
    for entry, read in zip(value, readers, strict=False):
        try:
            entries.append(read(entry))
        except _WrongError as wrong:
            raise _WrongError(wrong.says, f"[{len(entries)}]{wrong.at}") from wrong
    return tuple(entries)


def _mapping(read: Callable[[Any], Any], value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _WrongError("not an object")
    return _values(dict.fromkeys(value, read), value)


def _dataclass(kind: Any, pass_over: bool, value: Any) -> Any:
    if not isinstance(value, dict):
        raise _WrongError("not an object")
    readers = _field_readers(kind, pass_over)
    if unknown := value.keys() - readers.keys():
        if not pass_over:
            raise _WrongError(f"unknown field {min(unknown)!r}")
        value = {name: field_value for name, field_value in value.items() if name in readers}
    try:
        return kind(**_values(readers, value))
    except TypeError:
        lacking = next(name for name, default in _defaults(kind).items() if default is MISSING and name not in value)
        raise _WrongError(f"field {lacking!r} is missing") from None


def _values(readers: Mapping[str, Callable[[Any], Any]], value: dict[str, Any]) -> dict[str, Any]:
    decoded: dict[str, Any] = {}
    for name, field_value in value.items():
        try:
            decoded[name] = readers[name](field_value)
        except _WrongError as wrong:
            raise _WrongError(wrong.says, f".{name}{wrong.at}") from wrong
    return decoded

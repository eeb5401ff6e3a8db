"""Files of other parties, read within limits: reading never waits for a pipe or a device. JSON is UTF-8 and standard,
and its fields are of the wanted types; errors name the place.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from campaign.core.errors import InputError
from campaign.core.strict_yaml import quoted


class NotPlain(Exception):
    """A directory, a pipe or a device where a file is expected."""


def read(path: Path, most_bytes: int) -> tuple[bytes, int]:
    """At most `most_bytes` of a file, and its size. Raises OSError, also for a link, and NotPlain."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise NotPlain
    with os.fdopen(descriptor, "rb") as file:
        return file.read(min(most_bytes, status.st_size)), status.st_size


def digest(path: Path | str) -> str:
    """The SHA-256 of a file of any size. Raises OSError."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123  # a Path costs a quarter of a small file's hash
        return hashlib.file_digest(file, "sha256").hexdigest()


def content(path: Path, max_bytes: int) -> bytes:
    """The content of a regular file within limits; never waits for a pipe or a device. Raises InputError and
    OSError.
    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise InputError(f"{path}: not a regular file")
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise InputError(f"{path}: larger than {max_bytes} bytes, the limit")
    return data


def text(source: str, data: bytes, allowed: str) -> str:
    """UTF-8, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: byte {error.start} is not UTF-8; allowed: {allowed}") from error


def parse(source: str, data: bytes, allowed: str) -> Any:
    """The decoded JSON. Raises InputError with the place of an error, and what is allowed there."""
    try:
        return json.loads(text(source, data, allowed), parse_constant=refuse_constant)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{source}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}; allowed: {allowed}"
        ) from error
    except RecursionError:
        raise InputError(f"{source}: nested too deeply; allowed: {allowed}") from None
    except ValueError as error:
        raise InputError(f"{source}: {error}; allowed: {allowed}") from error


def refuse_constant(word: str) -> NoReturn:
    """For NaN and Infinity, which Python's reader takes for JSON."""
    raise ValueError(f"found {word}, which is not a JSON number")


# --- the fields of JSON objects: a value of the wanted type, or what is wrong with it


class WrongField(ValueError):
    """A field is missing or of another type; the text says which."""


@dataclass(frozen=True, slots=True)
class JsonFields:
    """An object in JSON. Getters raise WrongField if the field is missing or of another type."""

    data: Mapping[str, Any]

    @classmethod
    def from_value(cls, value: Any) -> JsonFields:
        """The fields of any value: of one that is not an object, none."""
        return cls(value if isinstance(value, dict) else {})

    def get(self, key: str) -> Any:
        """The value of any type, None if it is missing."""
        return self.data.get(key)

    def _fitting(self, key: str, fits: bool, expected: str) -> Any:
        if not fits:
            raise WrongField(f"{key}: {abbreviate(self.get(key))} is not {expected}")
        return self.get(key)

    def text(self, key: str) -> str:
        text: str = self._fitting(key, isinstance(self.get(key), str), "a string")
        return encodable(text)

    def choice(self, key: str, *allowed: str) -> str:
        value = self.text(key)
        if value not in allowed:
            raise WrongField(f"{key}: {value!r}; allowed: {', '.join(allowed)}")
        return value

    def number_of(self, key: str) -> float:
        value = self.get(key)
        fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e300
        return float(self._fitting(key, fits, "a number ≥ 0"))

    def optional(self, key: str) -> float | None:
        """A number, or None where it is null or missing."""
        return None if self.get(key) is None else self.number_of(key)

    def count(self, key: str) -> int:
        value = self.get(key)
        fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
        return int(self._fitting(key, fits, "a whole number ≥ 0"))

    def counts(self, key: str) -> list[int]:
        value = self.get(key)
        fits = isinstance(value, list) and all(type(count) is int and 0 <= count < 1 << 63 for count in value)
        return list(self._fitting(key, fits, "a list of whole numbers ≥ 0"))

    def boolean(self, key: str) -> bool:
        return bool(self._fitting(key, isinstance(self.get(key), bool), "true or false"))

    def words(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        fits = isinstance(value, list) and all(isinstance(word, str) for word in value)
        return tuple(encodable(word) for word in self._fitting(key, fits, "a list of strings"))

    def entries(self, key: str) -> Mapping[str, Any]:
        """The entries of an object."""
        members: dict[str, Any] = self._fitting(key, isinstance(self.get(key), dict), "an object")
        return {encodable(name): value for name, value in members.items()}


def encodable(text: str) -> str:
    """JSON can escape half a surrogate pair, which neither files nor databases accept."""
    return text.encode("utf-8", "replace").decode("utf-8")


def abbreviate(value: Any) -> str:
    """A value as a message names it."""
    text = ascii(value) if not isinstance(value, dict | list) else type(value).__name__
    return text if len(text) <= 60 else text[:60] + "..."


# --- the forms that JSON must have: what fits, and what a message says is allowed


class Form(NamedTuple):
    """The form of a value, of each entry of a list or object (`each`), and of an object's fields."""

    fits: Callable[[Any], bool]
    allowed: str
    optional: bool = False
    each: Form | None = None
    fields: Mapping[str, Form] | None = None

    def accepts(self, value: Any) -> bool:
        """Whether a value without entries fits, as most do: `problems` takes several times as long."""
        return self.each is None and self.fields is None and self.fits(value)


def matching(pattern: str | re.Pattern[str], allowed: str, optional: bool = False) -> Form:
    fullmatch = re.compile(pattern).fullmatch
    return Form(lambda value: isinstance(value, str) and bool(fullmatch(value)), allowed, optional)


def list_form(entry_form: Form) -> Form:
    return Form(lambda value: isinstance(value, list), "a list", each=entry_form)


def object_form(fields: Mapping[str, Form]) -> Form:
    """The form of a JSON object with these fields; further fields are not checked."""
    return Form(lambda value: isinstance(value, dict), "an object", fields=fields)


def null_or(form: Form) -> Form:
    """The form of a field that may also be null, or missing."""
    return form._replace(
        fits=lambda value: value is None or form.fits(value), allowed=f"{form.allowed}, or null", optional=True
    )


def problems(at: str, value: Any, form: Form) -> Iterator[str]:
    """How a value differs from its form: the place below `at`, what was found and what is allowed."""
    return (f"{at}{text}" if at else text.removeprefix(".") for text in _problems(value, form))


def _problems(value: Any, form: Form) -> Iterator[str]:
    """Each with its place in the value."""
    if not form.fits(value):
        yield f": found {describe_value(value)}; allowed: {form.allowed}"
    elif form.each is not None and value is not None:
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            if not form.each.accepts(entry):
                yield from (f"[{quoted(str(key), plain=True)}]{text}" for text in _problems(entry, form.each))
    elif form.fields is not None and value is not None:
        for name, field in form.fields.items():
            if name in value and not field.accepts(value[name]):
                yield from (f".{name}{text}" for text in _problems(value[name], field))
            elif not (name in value or field.optional):
                yield f".{name}: missing; allowed: {field.allowed}"


def describe_value(value: Any) -> str:
    """A JSON value as messages show it."""
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return quoted(value) if isinstance(value, str) else quoted(json.dumps(value), plain=True)

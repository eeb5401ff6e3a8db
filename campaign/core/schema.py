"""Strict YAML, second half: a schema of fields, read over a document, which collects the problems.

A value is judged by what is written, not by what YAML 1.1 makes of it: a plain `no`, `1:30:00` or `017` is refused,
with the reason, where a text or a number is expected. A value with a problem reads as None, so that later checks can
continue.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from campaign.core import units
from campaign.core.errors import length_problem
from campaign.core.strict_yaml import (
    EXPONENT,
    NUMBER,
    WRITTEN_NUMBER,
    Broken,
    Document,
    Mapping,
    Place,
    Scalar,
    Sequence,
    YamlNode,
    describe_node,
    quoted,
    yaml_reading,
)

# What an escape in double quotes can insert into a text.
_UNPRINTABLE = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"


class Schema(Protocol):
    """What is allowed at a place. `read` returns the value, or reports a problem to the document and returns None."""

    @property
    def allowed(self) -> str: ...

    def read(self, node: YamlNode, at: Place, document: Document) -> Any: ...


def read(kind: Schema, document: Document) -> Any:
    """Read the whole document as `kind`."""
    return kind.read(document.root, (), document)


def _refuse(node: YamlNode, at: Place, document: Document, allowed: str) -> None:
    """Report what was found and what is allowed, unless the value was already reported."""
    if not isinstance(node, Broken):
        document.problem(at, f"found {describe_node(node)}; allowed: {allowed}", node)


@dataclass(frozen=True, eq=False, repr=False)
class Text:
    """A text on one line. `parse` converts it, or raises ValueError saying what was found and what is allowed."""

    allowed: str = "a text on one line"
    parse: Callable[[str], Any] = str
    longest: int = 200
    numbers: bool = False  # a plain 8 or 2.5 is taken as written
    exponents: bool = False  # a plain 1e-6 too
    lines: bool = False  # may have several lines
    tabs: bool = False
    pattern: str = ""  # the pattern that `parse` matches, if it does nothing else
    unit: str = ""  # what a plain number lacks: "unit", "percent sign"
    made: Callable[[Any, Path], Any] | None = None  # makes the program's value from the text and the path of its file

    def read(self, node: YamlNode, at: Place, document: Document) -> Any:
        if not isinstance(node, Scalar) or (node.plain and not node.text):
            return _refuse(node, at, document, self.allowed)
        text = node.text.rstrip("\n")
        try:
            value = self._value(text)
            problem = ""
        except ValueError as error:
            problem = str(error)
        otherwise = yaml_reading(text) if node.plain else None
        if otherwise and not (self.numbers and re.fullmatch(WRITTEN_NUMBER + EXPONENT * self.exponents, text)):
            problem = self._misread_problem(text, otherwise, bool(problem))
        if problem:
            return document.problem(at, problem, node)
        return value

    def _misread_problem(self, text: str, reading: str, wrong: bool) -> str:
        """The problem with a text that YAML would read differently; `wrong`: quotes alone would not help."""
        value_text = quoted(text, plain=True)
        if not wrong:
            return f"found {value_text}, which YAML reads as {reading}; put it in quotes: {quoted(text)}"
        if self.unit and reading == NUMBER:
            return f"found {value_text}, which has no {self.unit}; allowed: {self.allowed}"
        return _misreading_message(found=value_text, reading=reading, allowed=self.allowed)

    def _value(self, text: str) -> Any:
        if not text:
            raise ValueError(f'found ""; allowed: {self.allowed}')
        if len(text) > self.longest:
            raise ValueError(length_problem(length=len(text), longest=self.longest))
        if match := re.search(_UNPRINTABLE, text.replace("\t", " ") if self.tabs else text):
            raise ValueError(f"found the character U+{ord(match[0]):04X}; allowed: {self.allowed}")
        if "\n" in text and not self.lines:
            raise ValueError(f"found a line break in {quoted(text)}; allowed: {self.allowed}")
        return self.parse(text)


def full_match(pattern: str, allowed: str, convert: Callable[[str], Any] = str) -> Callable[[str], Any]:
    """A parser of texts that match a pattern as a whole."""

    def parse(text: str) -> Any:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"found {quoted(text)}; allowed: {allowed}")
        return convert(text)

    return parse


def checked_text(check: Callable[[str], object]) -> Callable[[str], str]:
    """A parser of texts that `check` accepts; it raises ValueError for others."""

    def parse(text: str) -> str:
        check(text)
        return text

    return parse


def matching(pattern: str, allowed: str, longest: int = 200) -> Text:
    """A text that matches a pattern as a whole."""
    return Text(allowed, full_match(pattern, allowed), longest, pattern=pattern)


@dataclass(frozen=True, eq=False, repr=False)
class Number:
    """A whole number in plain digits, with `power` also as `2^20`; or one of `words`."""

    minimum: int
    maximum: int
    power: bool = False
    words: tuple[str, ...] = ()
    says: str = ""  # replaces the description made from the fields above

    @property
    def allowed(self) -> str:
        if self.says:
            return self.says
        power = ", also as a power such as 2^20" if self.power else ""
        words = "".join(f", or {word}" for word in self.words)
        return f"a whole number from {self.minimum} to {self.maximum}{power}{words}"

    def read(self, node: YamlNode, at: Place, document: Document) -> Any:
        if not isinstance(node, Scalar):
            return _refuse(node, at, document, self.allowed)
        if node.text in self.words:
            return node.text
        if node.plain and (node.text.isdecimal() or (self.power and "^" in node.text)):
            with suppress(ValueError):
                value = units.parse_count(node.text)
                if self.minimum <= value <= self.maximum:
                    return value
        value_text = describe_node(node)
        if not node.plain:
            return document.problem(at, f"found {value_text}, a text in quotes; allowed: {self.allowed}", node)
        if intended := nearest_name(node.text, self.words):
            return document.problem(at, f"found {value_text}; did you mean {intended}?", node)
        reading = yaml_reading(node.text)
        if reading in (None, NUMBER, "nothing"):
            return _refuse(node, at, document, self.allowed)
        return document.problem(at, _misreading_message(found=value_text, reading=reading, allowed=self.allowed), node)


def _misreading_message(found: object, reading: object, allowed: object) -> str:
    return f"found {found}, which YAML reads as {reading}; allowed: {allowed}"


@dataclass(frozen=True, eq=False, repr=False)
class Boolean:
    allowed: str = "true or false"

    def read(self, node: YamlNode, at: Place, document: Document) -> Any:
        if isinstance(node, Scalar) and node.plain and node.text in ("true", "false"):
            return node.text == "true"
        return _refuse(node, at, document, self.allowed)


@dataclass(frozen=True, eq=False, repr=False)
class Choice:
    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return ", ".join(self.words[:-1]) + " or " + self.words[-1]

    def read(self, node: YamlNode, at: Place, document: Document) -> Any:
        if isinstance(node, Scalar) and node.text in self.words:
            return node.text
        return _refuse(node, at, document, self.allowed)


@dataclass(frozen=True, eq=False, repr=False)
class ListOf:
    """A list, read as a tuple; entries with a problem are None. `apart`: the key in which entries must differ."""

    item: Schema
    least: int = 0
    most: int = 100
    apart: str = ""

    @property
    def allowed(self) -> str:
        item = "a mapping" if isinstance(self.item, KeyedMap) else self.item.allowed
        number = f"{self.least} to {self.most}" if self.least else f"up to {self.most}"
        return f"a list of {number}, each {item}"

    def read(self, node: YamlNode, at: Place, document: Document) -> Any:
        if not isinstance(node, Sequence):
            return _refuse(node, at, document, self.allowed)
        if not self.least <= len(node.items) <= self.most:
            document.problem(at, f"found {len(node.items)} entries; allowed: {self.allowed}", node)
        entries = tuple(self.item.read(item, (*at, index), document) for index, item in enumerate(node.items))
        seen: set[Any] = set()
        for entry in entries if self.apart else ():
            name = entry[self.apart] if entry is not None else None
            if name is not None and name in seen:
                entry.problem(f"found {name} a second time; allowed: {self.apart}s that differ", self.apart)
            seen.add(name)
        return entries


@dataclass(frozen=True, eq=False, repr=False)
class MapOf:
    """A mapping with free keys, read as a tuple of pairs in the file's order. A pair whose key had a problem is left
    out; a value that had one is None.
    """

    key: Text
    value: Schema
    most: int = 100

    @property
    def allowed(self) -> str:
        return f"up to {self.most} lines of `name: value` (name: {self.key.allowed}; value: {self.value.allowed})"

    def read(self, node: YamlNode, at: Place, document: Document) -> Any:
        if not isinstance(node, Mapping):
            return _refuse(node, at, document, self.allowed)
        if len(node.pairs) > self.most:
            document.problem(at, f"found {len(node.pairs)} keys; allowed: {self.allowed}", node)
        values = []
        for key, value in unique_pairs(node, at, document):
            name_read = self.key.read(key, (*at, key.text), document)
            value_read = self.value.read(_or_key(value, key), (*at, key.text), document)
            if name_read is not None:
                values.append((name_read, value_read))
        return tuple(values)


@dataclass(frozen=True, eq=False, repr=False)
class Field:
    kind: Schema
    says: str  # its meaning, for the reference
    required: bool = False
    default: Any = None
    default_says: str = ""  # for the reference, where the default alone is not clear
    name: str = ""  # of the dataclass's field, if it is not the key

    def absent(self, at: Place, document: Document) -> Any:
        """The value of an absent key: its default; without one, an empty list or mapping."""
        if isinstance(self.kind, KeyedMap):
            return self.kind.absent(at, document)
        empty = isinstance(self.kind, ListOf | MapOf) and not self.required
        return () if empty and self.default is None else self.default


def required(kind: Schema, says: str) -> Field:
    return Field(kind, says, required=True)


def switch(says: str, default: bool = False) -> Field:
    """True or false."""
    return Field(Boolean(), says, default=default, default_says=str(default).lower())


class Values(dict[str, Any]):
    """A mapping with known keys as it was read, and what later checks find wrong with it."""

    def __init__(self, values: dict[str, Any], at: Place, document: Document) -> None:
        super().__init__(values)
        self._at, self._document = at, document

    def entries(self, key: str) -> list[Values]:
        """The mappings of a list that could be read."""
        return [entry for entry in self[key] or () if entry is not None]

    def with_kind(self, kind: KeyedMap, **values: Any) -> Values:
        """A mapping of another kind that is written at the same place: these values, and defaults of the other keys."""
        return Values({**kind.absent(self._at, self._document), **values}, self._at, self._document)

    def problem(self, message: str, *path: str | int) -> None:
        """Record a problem with the value at this path below the mapping."""
        self._document.problem((*self._at, *path), message)

    def require(
        self, name: str | None, allowed_names: Collection[str | None], *path: str | int, allowed: str = ""
    ) -> None:
        """Record a problem with a name that is not known; None, which had a problem itself, is neither checked nor
        known.
        """
        if name and name not in allowed_names:
            names = [known_name for known_name in allowed_names if known_name is not None]
            intended = nearest_name(name, names, cutoff=0.8)
            remedy = f"did you mean {intended}?" if intended else f"allowed: {allowed or ', '.join(names) or 'none'}"
            at = (*self._at, *path)
            self._document.problem(at, f"found {name}; {remedy}", is_misspelt=bool(intended))

    def require_all(self, key: str, allowed_names: Collection[str], allowed: str = "") -> None:
        """Record a problem with each name of a list that is not known."""
        for index, name in enumerate(self[key] or ()):
            self.require(name, allowed_names, key, index, allowed=allowed)

    @property
    def has_problem(self) -> bool:
        """Whether a problem with a value below it is recorded."""
        return self._document.has_problem_below(self._at)


class KeyedMap:
    """A mapping with known keys, read as `Values` with all of them: absent ones have their defaults. `of`: the
    dataclass that `keys.make` makes from it.
    """

    def __init__(self, of: type | None = None, /, **fields: Field) -> None:
        self.of, self.fields = of, fields

    @property
    def allowed(self) -> str:
        return f"a mapping with the keys {', '.join(self.fields)}"

    def absent(self, at: Place, document: Document) -> Values:
        """The value of an absent mapping."""
        values = {name: field.absent((*at, name), document) for name, field in self.fields.items()}
        return Values(values, at, document)

    def read(self, node: YamlNode, at: Place, document: Document) -> Any:
        if not isinstance(node, Mapping):
            return _refuse(node, at, document, self.allowed)
        values = self.absent(at, document)
        pairs = list(unique_pairs(node, at, document))
        given_keys = {key.text for key, _ in pairs}
        missing = [name for name, field in self.fields.items() if field.required and name not in given_keys]
        for key, value in pairs:
            if key.text in self.fields:
                values[key.text] = self._read_field(key, value, (*at, key.text), document)
                continue
            intended = nearest_name(key.text, missing) or nearest_name(
                key.text, self.fields.keys() - given_keys, cutoff=0.85
            )
            if intended:
                missing = [name for name in missing if name != intended]  # it is absent only because of the typo
                given_keys.add(intended)
                values[intended] = None  # like a wrong value, about which nothing more is reported
            document.problem((*at, key.text), self._unknown(key.text, intended), key)
        for name in missing:
            problem = f"required key missing; allowed: {self.fields[name].kind.allowed}"
            document.problem((*at, name), problem, node)
        return values

    def _read_field(self, key: Scalar, value: YamlNode, place: Place, document: Document) -> Any:
        field, value = self.fields[key.text], _or_key(value, key)
        if _is_absent(value) and not field.required:
            return document.problem(place, f"value missing; allowed: {field.kind.allowed}; or remove the key", value)
        return field.kind.read(value, place, document)

    def _unknown(self, name: str, intended: str) -> str:
        """The message for an unknown key: a similar name, a section that has the key, otherwise all keys."""
        if name == "<<":
            return "YAML merge keys (<<) are not supported; write the keys out"
        other = intended or nearest_name(name, self.fields, cutoff=0.85) or " or ".join(self._sections_with(name))
        remedy = f"did you mean {other}?" if other else suggestion(name, self.fields)
        return f"unknown key; {remedy}"

    def _sections_with(self, name: str) -> list[str]:
        """A key of this name one level down, with its path: `slurm.partition`, `targets[].directory`."""
        paths = []
        for section, field in self.fields.items():
            inner: Schema = field.kind.item if isinstance(field.kind, ListOf) else field.kind
            if isinstance(inner, KeyedMap) and name in inner.fields:
                paths.append(f"{section}{'[]' if inner is not field.kind else ''}.{name}")
        return paths


@dataclass(frozen=True, eq=False, repr=False)
class OneOf:
    """Either a scalar or a mapping; `allowed` describes both."""

    scalar: Schema
    mapping: Schema
    allowed: str

    def read(self, node: YamlNode, at: Place, document: Document) -> Any:
        if isinstance(node, Sequence) or (isinstance(node, Scalar) and not node.text):
            return _refuse(node, at, document, self.allowed)
        return (self.mapping if isinstance(node, Mapping) else self.scalar).read(node, at, document)


def suggestion(name: str, allowed_names: Collection[str], cutoff: float = 0.7, allowed: str = "") -> str:
    """`did you mean NAME?`, otherwise what is allowed: all known names, unless said otherwise."""
    intended = nearest_name(name, allowed_names, cutoff)
    return f"did you mean {intended}?" if intended else f"allowed: {allowed or ', '.join(allowed_names)}"


def nearest_name(name: str, allowed_names: Collection[str], cutoff: float = 0.7) -> str:
    """The most similar known name, or the only one that begins with it, or whose plural it is; "" if there is none."""
    import difflib

    if single := [
        allowed_name for allowed_name in allowed_names if name.lower() in (f"{allowed_name}s", f"{allowed_name}es")
    ]:
        return single[0]
    longer = [allowed_name for allowed_name in allowed_names if len(name) > 2 and allowed_name.startswith(name.lower())]
    close = difflib.get_close_matches(name.lower(), allowed_names, n=1, cutoff=cutoff)
    return next(iter(longer if len(longer) == 1 else close), "")


def _or_key(value: YamlNode, key: Scalar) -> YamlNode:
    """The place of a value; an absent one is reported at its key's place."""
    return Scalar(key.line, key.column, "", plain=True) if _is_absent(value) else value


def _is_absent(value: YamlNode) -> bool:
    return isinstance(value, Scalar) and value.plain and not value.text


def unique_pairs(node: Mapping, at: Place, document: Document) -> Iterator[tuple[Scalar, YamlNode]]:
    """The keys of a mapping with their values; a key that is not a scalar or appears twice is reported and left out."""
    first: dict[str, int] = {}
    for key, value in node.pairs:
        if not isinstance(key, Scalar):
            if not isinstance(key, Broken):
                document.problem(at, f"found {describe_node(key)} as a key; allowed: a text as key", key)
        elif key.text in first:
            document.problem((*at, key.text), f"duplicate key, first in line {first[key.text]}; remove one", key)
        else:
            first[key.text] = key.line
            yield key, value

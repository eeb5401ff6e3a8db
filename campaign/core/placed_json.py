"""JSON values that know their lines, and paths to them: `jobs[0].read.bw`, `jobs[jobname=write].write.iops`. Pure.

A path is keys separated by dots; a key with other characters is in quotes. `[2]` is an entry of a list, `[*]` all of
them, `[key=text]` those whose `key` is that text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

DEEPEST = 100
MOST_VALUES = 1_000_000
ALLOWED = 'a path such as jobs[0].read.bw, jobs[*].write.iops, jobs[jobname=write].iops or latency."99.9"'

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\.)*+"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
_STEP = re.compile(
    r'\.?(?:(?P<key>[A-Za-z_][A-Za-z0-9_-]*)|"(?P<quoted>[^"\\]+)")'
    r"|\[(?:(?P<index>[0-9]{1,6})|(?P<all>\*)|(?P<name>[A-Za-z_][A-Za-z0-9_-]*)=(?P<wanted>[^\]\[]+))\]"
)


@dataclass(frozen=True, slots=True)
class PlacedValue:
    """A value with the line where it begins: a list, a dict of such values, or the text of a scalar as written."""

    value: list[PlacedValue] | dict[str, PlacedValue] | str
    line: int


class NotJson(ValueError):
    """Not JSON: the problem, and its line."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line


def read(text: str, line: int = 1) -> tuple[PlacedValue, int]:
    """Read the value at the beginning of `text`, whose first line is number `line`; gives it and where it ends. Raises
    NotJson.
    """
    reader = _PlacedReader(text, line)
    return reader.value(0), reader.at


_JSON_ENDS_EARLY = "a closing bracket is missing at the end"


class _PlacedReader:
    def __init__(self, text: str, line: int) -> None:
        self._text = text
        self._line = line
        self._values = 0
        self.at = 0

    def _problem(self, problem: str) -> NotJson:
        return NotJson(self._line, problem)

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        match = pattern.match(self._text, self.at)
        if match:
            self.at = match.end()
        return match[0] if match else None

    def _skip(self) -> str:
        """The position of the next character that is not white space."""
        self._line += (self._take(_SPACE) or "").count("\n")
        return self._text[self.at : self.at + 1]

    def value(self, depth: int) -> PlacedValue:
        char = self._skip()
        line = self._line
        self._values += 1
        if self._values > MOST_VALUES:
            raise self._problem(f"more than {MOST_VALUES} values")
        if depth > DEEPEST:
            raise self._problem("nested too deeply")
        if char == "{":
            return PlacedValue(self._members(depth), line)
        if char == "[":
            return PlacedValue([self.value(depth + 1) for _ in self._parts("[", "]")], line)
        if char == '"':
            return PlacedValue(self._string(), line)
        if scalar := self._take(_SCALAR):
            return PlacedValue(scalar, line)
        raise self._problem("not a JSON value" if char else _JSON_ENDS_EARLY)

    def _string(self) -> str:
        if (literal := self._take(_STRING)) is None:
            raise self._problem("the closing quote of a string is missing")
        try:
            return str(json.loads(literal)).encode("utf-8", "replace").decode("utf-8")
        except ValueError:
            raise self._problem("a string has an escape that JSON does not allow") from None

    def _members(self, depth: int) -> dict[str, PlacedValue]:
        members: dict[str, PlacedValue] = {}
        for _ in self._parts("{", "}"):
            if self._skip() != '"':
                raise self._problem("expected a key")
            key = self._string()
            if self._skip() != ":":
                raise self._problem("expected : after a key")
            self.at += 1
            if key in members:
                raise self._problem(f"duplicate key {key!r}")
            members[key] = self.value(depth + 1)
        return members

    def _parts(self, opening: str, closing: str) -> Iterator[None]:
        """Yield once for each part between brackets, which the caller reads."""
        self.at += len(opening)
        if self._skip() != closing:
            yield
            while self._skip() == ",":
                self.at += 1
                yield
        if self._skip() != closing:
            raise self._problem("expected a comma or a closing bracket" if self._skip() else _JSON_ENDS_EARLY)
        self.at += 1


@dataclass(frozen=True, slots=True)
class JsonPath:
    """Steps: a key, the number of an entry, None for all entries, or (key, text) for entries with that text."""

    steps: tuple[str | int | tuple[str, str] | None, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """Parse a path. Raises ValueError if it is none."""
        steps: list[str | int | tuple[str, str] | None] = []
        at = 0
        while at < len(text):
            match = _STEP.match(text, at)
            if not match or (match[0].startswith(".") != (at > 0) and not match[0].startswith("[")):
                raise ValueError(f"found {text}; allowed: {ALLOWED}")
            if match["index"]:
                steps.append(int(match["index"]))
            elif match["all"]:
                steps.append(None)
            else:
                steps.append((match["name"], match["wanted"]) if match["name"] else match["key"] or match["quoted"])
            at = match.end()
        return cls(tuple(steps))

    def find(self, root: PlacedValue) -> list[PlacedValue]:
        """The values that the path selects, in the order of the text; empty if a step selects nothing."""
        reached = [root]
        for step in self.steps:
            reached = [following for placed in reached for following in _follow(placed, step)]
        return reached


def _follow(placed: PlacedValue, step: str | int | tuple[str, str] | None) -> list[PlacedValue]:
    value = placed.value
    if isinstance(step, str):
        return [value[step]] if isinstance(value, dict) and step in value else []
    if not isinstance(value, list):
        return []
    if isinstance(step, int):
        return value[step : step + 1]
    if step is None:
        return value
    key, expected = step
    return [entry for entry in value if isinstance(entry.value, dict) and text_value(entry.value.get(key)) == expected]


def text_value(placed: PlacedValue | None) -> str | None:
    return placed.value if placed and isinstance(placed.value, str) else None

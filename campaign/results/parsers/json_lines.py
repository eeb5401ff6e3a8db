"""Shared by the readers of the benchmark's JSON lines: the fields of a line, and the state after the lines so far.
Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from campaign.core.model import Iteration, Observation, Record, Source
from campaign.results.parsers.lines import Notes
from campaign.results.parsers.repeats import Repeats


class WrongLine(Exception):
    """A line that violates the format; the text says how."""


@dataclass(frozen=True, slots=True)
class JsonLine:
    """An object in JSON. Getters raise WrongLine if the field is missing or of another type."""

    number: int  # of the line
    data: Mapping[str, Any]

    def get(self, key: str) -> Any:
        """The value of any type, None if it is missing."""
        return self.data.get(key)

    def _fitting(self, key: str, fits: bool, otherwise: str) -> Any:
        """The field, if it fits; raises `otherwise` if not."""
        if not fits:
            raise WrongLine(otherwise.format(key=key, found=self.get(key)))
        return self.get(key)

    def text(self, key: str) -> str:
        return _encodable(self._fitting(key, isinstance(self.get(key), str), "{key}: {found!r} is not a string"))

    def one_of(self, key: str, *allowed: str) -> str:
        value = self.text(key)
        if value not in allowed:
            raise WrongLine(f"{key}: {value!r}; allowed: {', '.join(allowed)}")
        return value

    def word(self, key: str) -> str:
        """A name, a version or a unit, which is printed in tables."""
        value = self.text(key)
        if not value.isprintable() or len(value) > 100:
            raise WrongLine(f"{key}: {value!r} is not a short printable text")
        return value

    def number_of(self, key: str) -> float:
        value = self.get(key)
        fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1e300
        return float(self._fitting(key, fits, "{key}: {found!r} is not a number ≥ 0"))

    def optional(self, key: str) -> float | None:
        return None if self.get(key) is None else self.number_of(key)

    def count(self, key: str) -> int:
        value = self.get(key)
        fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
        return int(self._fitting(key, fits, "{key}: {found!r} is not a whole number ≥ 0"))

    def truth(self, key: str) -> bool:
        return bool(self._fitting(key, isinstance(self.get(key), bool), "{key}: {found!r} is not true or false"))

    def words(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            raise WrongLine(f"{key}: not a list of strings")
        return tuple(_encodable(word) for word in value)

    def objects(self, key: str) -> list[JsonLine]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise WrongLine(f"{key}: not a list of objects")
        return [JsonLine(self.number, entry) for entry in value]

    def texts(self, key: str) -> dict[str, str]:
        """An object of strings; null becomes "", and a missing object is empty."""
        value = self._fitting(key, isinstance(self.get(key), dict | None), "{key}: {found!r} is not an object") or {}
        entries = JsonLine(self.number, value)
        return {_encodable(name): "" if text is None else entries.text(name) for name, text in value.items()}

    def spread(self, key: str) -> dict[str, float | None]:
        """The record fields for `{"fastest": …, "median": …, "slowest": …}`."""
        given = self._fitting(key, isinstance(self.get(key), dict | None), "{key}: {found!r} is not an object")
        ranks = JsonLine(self.number, given or {})
        return {f"rank_{name}": ranks.optional(name) for name in ("fastest", "median", "slowest")}


def decode(number: int, raw: str, last: bool = False) -> JsonLine:
    """A line as an object with a `type`. Raises WrongLine; `last`: it has no newline."""
    try:
        data = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        # A complete line ends with a newline, so the last piece of the text was cut.
        raise WrongLine("last line truncated" if last else f"not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("type"), str):
        raise WrongLine("not a JSON object with a `type`")
    return JsonLine(number, data)


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _encodable(text: str) -> str:
    # JSON can escape half a surrogate pair, which neither files nor databases accept.
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(slots=True)
class Execution:
    """What the lines so far have said.

    Records come from `results`, which have a line of their own, or from `repeats`, whose lines are single iterations.
    """

    file: str
    notes: Notes
    applet: str
    seen: Observation = field(default_factory=Observation)
    results: dict[str, Record] = field(default_factory=dict)
    repeats: Repeats = field(default_factory=Repeats)
    best: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    each: dict[str, list[Iteration]] = field(default_factory=dict)  # phases of an operation
    failed_operations: int = 0  # of the phases
    phases_s: float = 0.0  # of phases that follow one another
    ended: bool = False

    def result(self, operation: str, line: JsonLine) -> None:
        """A record with a line of its own."""
        if operation in self.results:
            first = self.results[operation].source.line
            raise WrongLine(f"second result of {operation}; the first is in line {first}")
        value, minimum, mean, stddev = (line.number_of(key) for key in ("max", "min", "mean", "stddev"))
        source, unit, iterations = Source(self.file, line.number), line.word("unit"), line.count("iterations")
        self.results[operation] = Record(operation, value, unit, source, minimum, mean, stddev, iterations)

    def measured(self, line: JsonLine, operation: str, value: float, unit: str, details: dict[str, Any]) -> None:
        """A value with a line of its own; of values in seconds the lowest is the best."""
        self.repeats.add(operation, value, unit, line.number, lowest=unit == "s")
        self._offer(line, operation, value, -value if unit == "s" else value, details)

    def offer(self, line: JsonLine, operation: str, rate: float, details: dict[str, Any]) -> None:
        """Record fields from one phase; those of the phase with the highest rate count."""
        self._offer(line, operation, rate, rate, details)

    def _offer(self, line: JsonLine, operation: str, value: float, merit: float, details: dict[str, Any]) -> None:
        self.each.setdefault(operation, []).append(Iteration(value, Source(self.file, line.number), details))
        known = self.best.get(operation)
        if known is None or merit > known[0]:
            self.best[operation] = (merit, details)


LineReader = Callable[[Execution, JsonLine], None]

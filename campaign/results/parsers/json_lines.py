"""What the readers of the benchmark's JSON lines share: a line's fields, and what the lines so far have said. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from campaign.core.model import Observation, Record
from campaign.results.parsers.lines import Notes
from campaign.results.parsers.repeats import Repeats

Line = Mapping[str, Any]


class Wrong(Exception):
    """A line that is not as the format says; the text says what is wrong with it."""


@dataclass(slots=True)
class Execution:
    """What the lines so far have said.

    Records come from `results`, which have a line of their own, or from `repeats`, which are made of single phases.
    """

    file: str
    notes: Notes
    applet: str
    seen: Observation = field(default_factory=Observation)
    results: dict[str, Record] = field(default_factory=dict)
    repeats: Repeats = field(default_factory=Repeats)
    best: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    earlier: dict[tuple[int, ...], float] = field(default_factory=dict)  # what a later line is compared with
    failed_operations: int = 0  # of the phases
    ended: bool = False

    def offer(self, operation: str, rate: float, details: dict[str, Any]) -> None:
        """Fields of the record that one phase knows; those of the phase with the highest rate count."""
        known = self.best.get(operation)
        if known is None or rate > known[0]:
            self.best[operation] = (rate, details)


Reader = Callable[[Execution, int, Line], None]

# --- fields: each getter raises Wrong where the value is absent or of another kind


def text(line: Line, key: str) -> str:
    value = line.get(key)
    if not isinstance(value, str):
        raise Wrong(f"{key}: {value!r}, a string is expected")
    return encodable(value)


def word(line: Line, key: str) -> str:
    """A name, a version or a unit: what goes into tables."""
    value = text(line, key)
    if not value.isprintable() or len(value) > 100:
        raise Wrong(f"{key}: {value!r}, a short printable text is expected")
    return value


def encodable(text: str) -> str:
    # JSON can escape half a character, which no file and no database takes.
    return text.encode("utf-8", "replace").decode("utf-8")


def number(line: Line, key: str) -> float:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e300:
        raise Wrong(f"{key}: {value!r}, a number of 0 or more is expected")
    return float(value)


def optional(line: Line, key: str) -> float | None:
    return None if line.get(key) is None else number(line, key)


def count(line: Line, key: str) -> int:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise Wrong(f"{key}: {value!r}, a whole number of 0 or more is expected")
    return value


def truth(line: Line, key: str) -> bool:
    value = line.get(key)
    if not isinstance(value, bool):
        raise Wrong(f"{key}: {value!r}, true or false is expected")
    return value


def words(line: Line, key: str) -> tuple[str, ...]:
    value = line.get(key)
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise Wrong(f"{key}: a list of strings is expected")
    return tuple(encodable(word) for word in value)


def spread(line: Line, key: str) -> dict[str, float | None]:
    """The fields of a record that `{"fastest": …, "median": …, "slowest": …}` gives."""
    value = line.get(key)
    if not isinstance(value, dict | None):
        raise Wrong(f"{key}: {value!r}, an object is expected")
    return {f"rank_{name}": optional(value or {}, name) for name in ("fastest", "median", "slowest")}

"""Shared by the readers of the benchmark's JSON lines: the fields of a line, and the state after the lines so far.
Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from campaign.core import untrusted
from campaign.core.model import Observation
from campaign.results.json_fields import JsonFields, WrongField
from campaign.results.parsers.lines import Notes
from campaign.results.parsers.repeats import Repeats


@dataclass(frozen=True, slots=True)
class JsonLine(JsonFields):
    """An object in JSON, in line `number`."""

    number: int

    def word(self, key: str) -> str:
        """A name, a version or a unit, which is printed in tables."""
        value = self.text(key)
        if not value.isprintable() or len(value) > 100:
            raise WrongField(f"{key}: {value!r} is not a short printable text")
        return value

    def objects(self, key: str) -> list[JsonLine]:
        value = self.data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
            raise WrongField(f"{key}: not a list of objects")
        return [JsonLine(entry, self.number) for entry in value]

    def texts(self, key: str) -> dict[str, str]:
        """An object of strings; null becomes "", and a missing object is empty."""
        entries = JsonFields(self.entries(key) if self.get(key) is not None else {})
        return {name: "" if text is None else entries.text(name) for name, text in entries.data.items()}

    def spread(self, key: str) -> dict[str, float | None]:
        """The record fields for `{"fastest": …, "median": …, "slowest": …}`."""
        ranks = JsonFields(self.entries(key) if self.get(key) is not None else {})
        return {f"rank_{name}": ranks.optional(name) for name in ("fastest", "median", "slowest")}


def decode(number: int, raw: str, last: bool = False) -> JsonLine:
    """A line as an object with a `type`. Raises WrongField; `last`: it has no newline."""
    try:
        data = json.loads(raw, parse_constant=untrusted.no_number)
    except (ValueError, RecursionError) as error:
        # A complete line ends with a newline, so the last piece of the text was cut.
        raise WrongField("last line truncated" if last else f"not JSON: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("type"), str):
        raise WrongField("not a JSON object with a `type`")
    return JsonLine(data, number)


@dataclass(slots=True)
class Execution:
    """What the lines so far have said."""

    notes: Notes
    applet: str
    results: Repeats
    seen: Observation = field(default_factory=Observation)
    failed_operations: int = 0  # of the phases
    phases_s: float = 0.0  # of phases that follow one another
    ended: bool = False


LineReader = Callable[[Execution, JsonLine], None]

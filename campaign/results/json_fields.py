"""The fields of JSON objects from another party: a value of the wanted type, or what is wrong with it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class WrongField(ValueError):
    """A field is missing or of another type; the text says which."""


@dataclass(frozen=True, slots=True)
class JsonFields:
    """An object in JSON. Getters raise WrongField if the field is missing or of another type."""

    data: Mapping[str, Any]

    @classmethod
    def of(cls, value: Any) -> JsonFields:
        """The fields of any value: of one that is not an object, none."""
        return cls(value if isinstance(value, dict) else {})

    def get(self, key: str) -> Any:
        """The value of any type, None if it is missing."""
        return self.data.get(key)

    def _fitting(self, key: str, fits: bool, expected: str) -> Any:
        if not fits:
            raise WrongField(f"{key}: {short(self.get(key))} is not {expected}")
        return self.get(key)

    def text(self, key: str) -> str:
        text: str = self._fitting(key, isinstance(self.get(key), str), "a string")
        return encodable(text)

    def one_of(self, key: str, *allowed: str) -> str:
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

    def truth(self, key: str) -> bool:
        return bool(self._fitting(key, isinstance(self.get(key), bool), "true or false"))

    def words(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        fits = isinstance(value, list) and all(isinstance(word, str) for word in value)
        return tuple(encodable(word) for word in self._fitting(key, fits, "a list of strings"))

    def entries(self, key: str) -> Mapping[str, Any]:
        """The entries of an object."""
        given: dict[str, Any] = self._fitting(key, isinstance(self.get(key), dict), "an object")
        return {encodable(name): value for name, value in given.items()}


def encodable(text: str) -> str:
    """JSON can escape half a surrogate pair, which neither files nor databases accept."""
    return text.encode("utf-8", "replace").decode("utf-8")


def short(value: Any) -> str:
    """A value as a message names it."""
    text = ascii(value) if not isinstance(value, dict | list) else type(value).__name__
    return text if len(text) <= 60 else text[:60] + "..."

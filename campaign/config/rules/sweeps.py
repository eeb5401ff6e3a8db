"""Placeholders in a rule pack's texts, and the values of a sweep. Pure.

`{name}` in a text is replaced by a value. A sweep is a list of values that the benchmark measures in one run: given one
by one, or from a first to a last one in equal steps or factors.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from campaign.config.rules.kinds import GEOMETRY, LINE, LIST, NAME, NUMBER
from campaign.core.keys import key, needed, switch

MOST_VALUES = 1000  # of one sweep

_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def names(text: str) -> tuple[str, ...]:
    """The names in braces, in the order of first appearance."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(text)))


def stray_brace(text: str) -> str:
    """The first brace that belongs to no placeholder, with what follows it; "" if there is none."""
    remainder = re.search(r"[{}][^{}]*\}?", _PLACEHOLDER.sub("", text))
    return remainder[0] if remainder else ""


def without_placeholders(text: str) -> str:
    """A formula with a number in place of each placeholder."""
    return _PLACEHOLDER.sub("1", text)


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with the known values filled in; other placeholders remain."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


@dataclass(frozen=True, slots=True)
class Sweep:
    """`values` (a list with commas), or `first`, `last` and one of `times` and `plus`; each may hold placeholders."""

    id: str = needed(NAME, "its placeholder, without the braces")
    values: str = key(LIST, "the values, separated by commas", "")
    first: str = key(NUMBER, "the first value, in place of `values`", "")
    last: str = key(NUMBER, "the last value", "")
    times: str = key(NUMBER, "factor from one value to the next, 2 or more", "")
    plus: str = key(NUMBER, "step from one value to the next, in place of `times`", "")
    always_last: bool = switch("true: `last` is measured even if the steps do not reach it")
    title: str = key(LINE, "meaning and unit of its values, for plots", "", says_default="its id")

    @property
    def by_geometry(self) -> bool:
        """Whether its values depend on the geometry."""
        texts = (self.values, self.first, self.last, self.times, self.plus)
        return not set(GEOMETRY).isdisjoint(names(" ".join(texts)))

    @property
    def has_form(self) -> bool:
        """Whether its keys are those of one of the forms."""
        written_keys = [key for key in ("values", "first", "last", "times", "plus") if getattr(self, key)]
        return written_keys in (["values"], ["first", "last", "times"], ["first", "last", "plus"])

    def expand(self, values_by_name: Mapping[str, str]) -> tuple[str, ...]:
        """Its values, at least one. Raises ValueError if the known values do not make a sweep."""
        if self.values:
            listed = tuple(part.strip() for part in fill(self.values, values_by_name).split(","))
            if "" in listed or len(set(listed)) != len(listed):
                raise ValueError(f"sweep {self.id}: {','.join(listed)}; allowed: values that differ, none empty")
            return listed
        first, last = self._number("first", values_by_name), self._number("last", values_by_name)
        if first > last:
            raise ValueError(f"sweep {self.id}: first {first} is above last {last}")
        step = self._number("times" if self.times else "plus", values_by_name, minimum=2 if self.times else 1)
        values = [first]
        while (following := values[-1] * step if self.times else values[-1] + step) <= last:
            values.append(following)
            if len(values) > MOST_VALUES:
                raise ValueError(f"sweep {self.id}: more than {MOST_VALUES} values from {first} to {last}")
        if self.always_last and values[-1] != last:
            values.append(last)
        return tuple(map(str, values))

    def _number(self, key: str, values_by_name: Mapping[str, str], minimum: int = 1) -> int:
        text = fill(getattr(self, key), values_by_name)
        if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < minimum:
            raise ValueError(f"sweep {self.id}: {key} is {text!r}; allowed: a whole number of {minimum} or more")
        return int(text)


def combinations(text: str, values: Mapping[str, Sequence[str]]) -> Iterator[dict[str, str]]:
    """All combinations of values for the sweeps that the text names; the first sweep changes most slowly."""
    swept = [name for name in names(text) if name in values]
    for combination in itertools.product(*(values[name] for name in swept)):
        yield dict(zip(swept, combination, strict=True))

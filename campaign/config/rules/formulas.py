"""The names in formulas of a rule pack, which compute operations, words of a command line and sizes. Pure.

An operation's formula names other operations of the same execution by their ids, with _ for - and `.`, and numbers of
the run. `fom@single` is the number reported under another launch condition, `mean(fom)` the mean of all valid
repetitions. A word of a command line may contain `{= formula}`, with numbers of the run only:
`-b {= memory / processes}`.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Collection, Mapping

from campaign.config.rules import sweeps
from campaign.config.rules.kinds import GEOMETRY
from campaign.core import formula
from campaign.core.runs import Geometry

_NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)([kmgtKMGT]?)")
_COMPUTED = re.compile(r"\{=([^{}]*)\}")
VALUE = "value"  # the number of the operation's or the record's own


def name_of(operation: str) -> str:
    """An operation's name in formulas."""
    return re.sub(r"[-.]", "_", operation)


def place(name: str) -> tuple[str, str]:
    """The operation and the launch condition in `fom@single` or `max(fom@single)`; "" for the run's own condition."""
    operation, _, launch = (formula.aggregated_name(name) or name).partition("@")
    return operation, launch


@functools.cache
def is_across(text: str) -> bool:
    """Whether a formula, which may have placeholders, takes numbers of several executions."""
    try:
        names = formula.names(sweeps.without_placeholders(text))
        return any("@" in name or formula.aggregated_name(name) for name in names)
    except ValueError:
        return False


def is_known(name: str, launch: str, launches: Mapping[str, str], measured: Mapping[str, Collection[str]]) -> bool:
    """Whether a name of a formula may stand for a number under a launch condition: its operation is `measured` there,
    or under the other condition that it names. `launches`: the conditions by their names in formulas.
    """
    operation, other = place(name)
    condition = launches.get(other, launch)
    return condition in measured.get(operation, (condition,)) and other != name_of(launch)


def conditions(text: str) -> tuple[formula.Condition, ...]:
    """Conditions with `and` between them; a formula alone means that it gives the value. Raises ValueError."""
    parts = re.split(r"\s+and\s+", text)
    texts = (part if re.search("[<>]|==", part) else f"{VALUE} == {part}" for part in parts)
    parsed_conditions = tuple(map(formula.Condition.parse, texts))
    for condition in parsed_conditions:
        if condition.is_of_text:
            raise ValueError(f"{condition} has a text in quotes; allowed: names of groups and numbers")
    return parsed_conditions


def numbers(geometry: Geometry, values: Mapping[str, str]) -> dict[str, float]:
    """What a formula may use besides results: the geometry, and the variables that are numbers."""
    counts = {name: float(getattr(geometry, name)) for name in GEOMETRY}
    return counts | {name: number(text) for name, text in values.items() if is_number(text)}


def is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text))


def number(text: str) -> float:
    """A variable's value as a number; a size such as 16m in bytes."""
    match = _NUMBER.fullmatch(text)
    assert match
    return float(match[1]) * 1024.0 ** " kmgt".index(match[2].lower() or " ")


def words(command_line: str) -> list[str]:
    """The words of a text, separated by blanks; `{= formula}` is part of a word."""
    return re.findall(r"(?:\{=[^{}]*\}|\S)+", command_line)


def formulas_in(text: str) -> list[str]:
    """The formulas in a text."""
    return _COMPUTED.findall(text)


def without_formulas(text: str) -> str:
    return _COMPUTED.sub("", text)


def compute(text: str, numbers_by_name: Mapping[str, float]) -> str:
    """The text with each formula replaced by its value, rounded up. Raises ValueError if a formula has no value."""
    # A quotient of floats may be slightly above the whole number that it should be.
    return _COMPUTED.sub(lambda match: str(math.ceil(formula.value(match[1], numbers_by_name) * (1 - 1e-12))), text)

"""The names in formulas of a rule pack, which compute operations, words of a command line and sizes. Pure.

An operation's formula names other operations of the same execution by their ids, with _ for - and `.`, and numbers of
the run. `fom@single` is the number reported under another launch condition, `fom@files.shared` that of another file
configuration, `mean(fom)` the mean of all valid repetitions. `max(fom over scale)` is over a set: a series of launch
conditions, all file configurations, or in one execution a sweep (`max(rate_{size} over size)`) or the copies of a
phase. A word of a command line may contain `{= formula}`, with numbers of the run only: `-b {= memory / processes}`.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Collection, Mapping, Sequence

from campaign.config.rules.kinds import GEOMETRY
from campaign.core import formula
from campaign.core.runs import Geometry

_NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)([kmgtKMGT]?)")
_COMPUTED = re.compile(r"\{=([^{}]*)\}")
VALUE = "value"  # the number of the operation's or the record's own
FILES = "files"  # the set of all file configurations
COPIES = "copies"  # the set of the copies of a phase, in one execution
_OF_SET = re.compile(r"\{(\w+)\}(?=\S*\s+over\s+\1\b)")


def name_of(operation: str) -> str:
    """An operation's name in formulas."""
    return re.sub(r"[-.]", "_", operation)


def place(name: str) -> tuple[str, str]:
    """The operation and the launch condition in `fom@single` or `max(fom@single)`, or `files.shared` for a file
    configuration; "" for the run's own.
    """
    operation, _, line = (formula.aggregated_name(name) or name).partition(formula.OVER)[0].partition("@")
    return operation, line


def set_of(name: str) -> str:
    """The set in `max(fom over scale)`; "" in any other name."""
    return formula.aggregated_name(name).partition(formula.OVER)[2]


def is_of_execution(name: str) -> bool:
    """Whether a name stands for what one execution measures: one number, or those of a sweep."""
    operation, line = place(name)
    of_one = not formula.aggregated_name(name) or set_of(name) == COPIES or f"{{{set_of(name)}}}" in operation
    return not line and of_one


def is_of_line(name: str) -> bool:
    """Whether a name stands for a number, or for those of several executions, of the table's own line."""
    return is_of_execution(name) or not (place(name)[1] or set_of(name))


@functools.cache
def is_across(text: str) -> bool:
    """Whether a formula, which may have placeholders, takes numbers of several executions."""
    try:
        return not all(map(is_of_execution, formula.names(text)))
    except ValueError:
        return False


def is_known(
    name: str, launch: str, launches: Mapping[str, Sequence[str]], measured: Mapping[str, Collection[str]]
) -> bool:
    """Whether a name of a formula may stand for a number under a launch condition: its operation is `measured` there,
    or under the other conditions that it names. `launches`: the conditions by their names in formulas, of a series all.
    """
    operation, line = place(name)
    conditions = launches.get(line or set_of(name), (launch,))
    return all(condition in measured.get(operation, (condition,)) for condition in conditions)


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


def without_sets(text: str) -> str:
    """The formula without the placeholders of the sweeps that it is over."""
    return _OF_SET.sub("", text)


def without_formulas(text: str) -> str:
    return _COMPUTED.sub("", text)


def compute(text: str, numbers_by_name: Mapping[str, float]) -> str:
    """The text with each formula replaced by its value, rounded up. Raises ValueError if a formula has no value."""
    # A quotient of floats may be slightly above the whole number that it should be.
    return _COMPUTED.sub(lambda match: str(math.ceil(formula.value(match[1], numbers_by_name) * (1 - 1e-12))), text)

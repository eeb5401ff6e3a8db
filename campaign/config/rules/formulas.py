"""What formulas of a rule pack may name: operations, words of a command line and sizes are computed by them. Pure.

An operation's formula names other operations of the same execution by their ids, with _ for - and `.`, and numbers of
the run. A word of a command line may hold `{= formula}`, of numbers of the run alone: `-b {= memory / processes}`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from campaign.core import formula
from campaign.core.model import Geometry

GEOMETRY = ("processes", "nodes", "processes_per_node")
MEMORY = "memory"  # bytes of a node
CORES = "cores"  # of a node
RUN = (*GEOMETRY, "threads", MEMORY, CORES, "items_per_process", "items_total")  # what is known of a run, in numbers
MOVED = "moved"  # bytes of a bandwidth, in conditions on what was run
_NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,18})?)([kmgtKMGT]?)")
_COMPUTED = re.compile(r"\{=([^{}]*)\}")
VALUE = "value"  # the number of the operation's own record


def name_of(operation: str) -> str:
    """What formulas call an operation."""
    return re.sub(r"[-.]", "_", operation)


def numbers(geometry: Geometry, values: Mapping[str, str]) -> dict[str, float]:
    """What a formula may use besides results: the geometry, and the variables that are numbers."""
    found = {name: float(getattr(geometry, name)) for name in GEOMETRY}
    return found | {name: number(text) for name, text in values.items() if is_number(text)}


def is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text))


def number(text: str) -> float:
    """A variable's value: a number, or a size such as 16m in bytes."""
    match = _NUMBER.fullmatch(text)
    assert match
    return float(match[1]) * 1024.0 ** " kmgt".index(match[2].lower() or " ")


def words(command_line: str) -> list[str]:
    """Its words: blanks separate them, but within `{= formula}`."""
    return re.findall(r"(?:\{=[^{}]*\}|\S)+", command_line)


def computed(text: str) -> list[str]:
    """The formulas in a text."""
    return _COMPUTED.findall(text)


def without(text: str) -> str:
    return _COMPUTED.sub("", text)


def compute(text: str, known: Mapping[str, float]) -> str:
    """The text with a whole number, rounded up, in place of each formula. Raises ValueError where one gives none."""
    # A quotient of floats may lie above the whole number that it is.
    return _COMPUTED.sub(lambda match: str(math.ceil(formula.value(match[1], known) * (1 - 1e-12))), text)

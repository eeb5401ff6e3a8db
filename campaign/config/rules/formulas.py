"""Operations whose value a formula computes. Pure.

A formula names other operations of the same execution by their ids, with _ for - and `.`, and numbers of the run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from campaign.core.model import Geometry

GEOMETRY = ("processes", "nodes", "processes_per_node")
VALUE = "value"  # the number of the operation's own record


def name_of(operation: str) -> str:
    """What formulas call an operation."""
    return re.sub(r"[-.]", "_", operation)


def numbers(geometry: Geometry, values: Mapping[str, str]) -> dict[str, float]:
    """What a formula may use besides results: the geometry, and the variables that are numbers."""
    found = {name: float(getattr(geometry, name)) for name in GEOMETRY}
    return found | {name: float(text) for name, text in values.items() if is_number(text)}


def is_number(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,18})?", text))

"""Values by a key, in the order in which the keys first appear. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


def grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    groups = defaultdict[_Key, list[_Value]](list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)

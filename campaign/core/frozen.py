"""`dataclass` for what a large campaign has hundreds of thousands of: frozen by the type checker, not by the program.

A frozen dataclass sets each field through `object.__setattr__`, which makes one of twenty fields six times slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses

    def dataclass(*, frozen: bool, slots: bool = False):
        return dataclasses.dataclass(unsafe_hash=frozen, slots=slots)


__all__ = ["dataclass"]

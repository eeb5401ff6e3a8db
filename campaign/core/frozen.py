"""`dataclass` as this program uses it: frozen by the type checker, not by the program.

A frozen dataclass sets each field through `object.__setattr__`, which makes one of twenty fields six times slower. It
has two more methods, which refuse to set a field: to make them is a quarter of the time that a class takes, and a
command makes two hundred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses

    def dataclass(cls=None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True, **options: bool):
        return dataclasses.dataclass(cls, unsafe_hash=frozen and eq, slots=slots, eq=eq, **options)


__all__ = ["dataclass"]

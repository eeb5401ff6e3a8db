"""`re.compile` for the patterns of a module, and of what it defines: compiled when it is first used.

A command loads all readers and rules, and uses some of them. To compile what it did not use took a tenth of its start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from re import compile as regex
else:
    import re

    class regex:
        """Has what the compiled pattern has, from the first time that something of it is asked for."""

        def __init__(self, *given):
            self._given = given

        def __getattr__(self, name):
            found = self.__dict__[name] = getattr(re.compile(*self._given), name)
            return found


__all__ = ["regex"]

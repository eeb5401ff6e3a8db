"""Regular expressions for lines, in RE2's syntax: those from another party's file match whole lines. Pure.

RE2 matches in a time that grows only with the line's length, whatever the pattern, and takes a twentieth of the time of
Python's where many words are searched for. What it cannot match so (look-around, back-references) is not part of its
syntax.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import cast

from campaign.core.errors import length_problem

LONGEST = 400  # characters of a pattern

# What RE2 does not have, and how it is written instead.
_INSTEAD = (
    (
        re.compile(r"\(\?<?[=!]"),
        "look-around: write what stands in the whole line, and for what must not stand there a class such as [^)]* or "
        "`harmless` before it",
    ),
    (
        re.compile(r"\\[1-9]|\(\?P="),
        "a reference to an earlier group: give both parts a group with a name, and compare them in `plausible`",
    ),
    (re.compile(r"(?<!\\)[*+?}]\+|\(\?>"), "possessive: write it without the second +"),
)
_LITERAL = r"characters that stand for themselves have a backslash, as in \( \) \[ \] \+ \* \? \. \|"
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")

LinePattern = re.Pattern[str]  # RE2's patterns have the same methods


@lru_cache(maxsize=1000)  # a pack's patterns are used for each of its outputs
def compile(text: str) -> LinePattern:
    """Compile a pattern. Raises ValueError saying what is wrong with it."""
    import re2

    if len(text) > LONGEST:
        raise ValueError(length_problem(length=len(text), longest=LONGEST))
    if text.startswith("^") or (text.endswith("$") and not text.endswith(r"\$")):
        bare = text.removeprefix("^").removesuffix("$")
        raise ValueError(f"{text}: a pattern always matches the whole line; remove ^ and $: {bare}")
    options = re2.Options()
    options.log_errors = False
    try:
        return cast(LinePattern, re2.compile(text, options))
    except re2.error as error:
        raise ValueError(
            f"not a regular expression: {error.args[0].decode()}; allowed: RE2 syntax, without look-around and "
            f"back-references; {advice(text)}"
        ) from error


def advice(text: str) -> str:
    """How to write what a refused pattern means."""
    return next((instead for pattern, instead in _INSTEAD if pattern.search(text)), _LITERAL)


class LineSearch:
    """Whether a match of one of this program's own patterns is anywhere in a line."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        import re2  # when the first line is searched: a command that reads no output does not wait for it

        return cast("re.Pattern[bytes]", re2.compile(self._text.encode()))

    def __call__(self, line: str) -> bool:
        return self._pattern.search(line.encode("utf-8", "replace")) is not None


def of_line(line: str) -> str:
    """The pattern that matches this line alone, with tabs as such."""
    return _SPECIAL.sub(r"\\\g<0>", line).replace("\t", r"\t")

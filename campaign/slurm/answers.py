"""One reader for what squeue, sinfo and sacct answer.

Names, comments and reasons are texts of anybody: they may hold newlines, bars, quotes, whole lines of an answer. So
each field is asked for with a mark behind it that nobody knows beforehand, and an answer is cut at these marks alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

from campaign.core import waiting
from campaign.core.errors import UnknownState

MARK = f"@{secrets.token_hex(8)}@"
_told: set[str] = set()  # commands of which it was said that a part of their answer cannot be read


def marked(letters: str) -> str:
    """The --format of squeue or sinfo for these fields."""
    return "--format=" + "".join(f"%{letter}{MARK}" for letter in letters)


def parsable(fields: Sequence[str]) -> tuple[str, ...]:
    """The same of sacct."""
    return "--parsable", f"--delimiter={MARK}", f"--format={','.join(fields)}"


def rows(command: str, out: str, width: int, counts: Sequence[int] = (0,)) -> Iterator[tuple[str, ...]]:
    """The rows of an answer, each of so many fields, those at `counts` in digits. Lines between them, as a site's
    greeting, and rows that cannot be read are left out, which is told once; UnknownState where there is nothing else.
    """
    *fields, rest = out.split(MARK)
    found, unread = 0, [rest]
    for start in range(0, len(fields), width):
        row = fields[start : start + width]
        between, _, row[0] = row[0].rpartition("\n")  # an id, or a list of nodes
        unread.append(between)
        if len(row) == width and row[0] and all(row[place].isdigit() for place in counts):
            found += 1
            yield tuple(row)
        else:
            unread.append("|".join(row))
    tell(command, [text for text in unread if text.strip()], found)


def tell(command: str, unread: Sequence[str], read: int) -> None:
    """What could not be read of an answer, beside so many rows that could."""
    if not unread:
        return
    text = unread[0].strip()
    if not read:
        raise UnknownState(f"unexpected output of {command}: {text!r}")
    if command not in _told:
        _told.add(command)
        waiting.tell(
            f"{len(unread)} parts of what {command} answers cannot be read and are left out, the first is: {text!r}"
        )

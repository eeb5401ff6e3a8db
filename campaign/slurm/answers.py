"""One reader for the answers of squeue, sinfo and sacct.

Names, comments and reasons are anybody's texts: they may contain newlines, bars, quotes, even whole lines of an answer.
So each field is requested with a random mark after it, and answers are split only at these marks.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence

from campaign.core import waiting
from campaign.core.errors import UnknownState

MARK = f"@{secrets.token_hex(8)}@"
_told: set[str] = set()  # commands whose unreadable rows were already reported


def marked(letters: str) -> str:
    """The --format of squeue or sinfo for these fields."""
    return "--format=" + "".join(f"%{letter}{MARK}" for letter in letters)


def parsable(fields: Sequence[str]) -> tuple[str, ...]:
    """The same for sacct."""
    return "--parsable", f"--delimiter={MARK}", f"--format={','.join(fields)}"


def rows(command: str, out: str, width: int, counts: Sequence[int] = (0,)) -> Iterator[tuple[str, ...]]:
    """The rows of an answer, each with so many fields, those at `counts` in digits. Other lines, such as a site's
    greeting, and unreadable rows are left out and reported once; UnknownState if there are no others.
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
    """Report the unreadable rows of an answer, with the number of readable ones."""
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

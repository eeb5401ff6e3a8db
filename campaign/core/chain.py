"""Lines of JSON that are a chain: each carries the hash of the line before it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import orjson

FORMAT = 1  # of an event
START = "0" * 64
LONGEST_LINE = 4 << 20  # bytes: a job of 10,000 runs takes 2 MB
Event = dict[str, Any]


@dataclass(slots=True)
class Chain:
    """A journal as far as it was read. `heads` are the hashes of its lines, the last one that of the whole; `problem`:
    why it is no chain, "" where it is. `latest`: the latest time of an event; `back`: the line whose time lies furthest
    before that of an earlier line, and by how many seconds. `recovered`: its events of that kind; `earlier`: the hashes
    that lines had which follow on lost ones. `ends`: where in the file each line with the end of an attempt begins.
    """

    heads: list[str] = field(default_factory=list)
    nonce: str = ""  # that it began with
    problem: str = ""
    latest: float = 0.0
    back: tuple[int, float] = (0, 0.0)
    cut_off: bool = False  # whether the problem is the end of the last line alone
    recovered: list[Event] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @property
    def head(self) -> str:
        """The hash of the last line, "" where there is none."""
        return self.heads[-1] if self.heads else ""


def is_cut_off(line: bytes) -> bool:
    """Whether it was not written to its end."""
    return not line.endswith(b"\n") and len(line) <= LONGEST_LINE


def event_of(line: bytes) -> Event | None:
    """None where it is no object of JSON in UTF-8, longer than a line may be, or not written to its end."""
    if not line.endswith(b"\n") or len(line) > LONGEST_LINE:
        return None
    try:
        event = orjson.loads(line)  # of a million events; the standard library's takes three times as long
    except orjson.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None


def hash_of(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()

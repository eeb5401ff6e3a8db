"""Lines of JSON that are a chain: each carries the hash of the line before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, overload

FORMAT = 1  # of an event
START = "0" * 64
LONGEST_LINE = 4 << 20  # bytes: a job of 10,000 runs takes 2 MB
_BYTES = 32  # of a hash
_DECODER = json.JSONDecoder()
Event = dict[str, Any]


class Hashes(Sequence[str]):
    """Many SHA-256 in 32 bytes each; they are given in hexadecimal digits."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, digits: str) -> None:
        self._bytes += bytes.fromhex(digits)

    def extend(self, others: Hashes) -> None:
        self._bytes += others._bytes

    def __iter__(self) -> Iterator[str]:
        return (self._bytes[place : place + _BYTES].hex() for place in range(0, len(self._bytes), _BYTES))

    def __len__(self) -> int:
        return len(self._bytes) // _BYTES

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        places = range(len(self))[place]
        if isinstance(places, range):
            return [self[each] for each in places]
        return self._bytes[_BYTES * places : _BYTES * (places + 1)].hex()


@dataclass(frozen=True, slots=True)
class Chain:
    """A journal as a whole. `heads` are the hashes of its lines, the last one that of the whole; `problem`: why it is
    no chain, "" where it is. `latest`: the latest time of an event; `back`: the line whose time lies furthest before
    that of an earlier line, and by how many seconds. `recovered`: its events of that kind; `earlier`: the hashes that
    lines had which follow on lost ones. `ends`: where in the file each line with the end of an attempt begins.
    """

    heads: Sequence[str]
    nonce: str  # that it began with
    problem: str = ""
    latest: float = 0.0
    back: tuple[int, float] = (0, 0.0)
    cut_off: bool = False  # whether the problem is the end of the last line alone
    recovered: tuple[Event, ...] = ()
    earlier: Sequence[str] = ()
    ends: Sequence[int] = ()

    @property
    def head(self) -> str:
        """The hash of the last line, "" where there is none."""
        return self.heads[-1] if self.heads else ""


def lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines, with their newlines; of one that is too long its beginning, which is no event."""
    while data := file.readline(LONGEST_LINE + 1):
        yield data
        while len(data) > LONGEST_LINE and not data.endswith(b"\n"):
            data = file.readline(LONGEST_LINE + 1)


def is_cut_off(line: bytes) -> bool:
    """Whether it was not written to its end."""
    return not line.endswith(b"\n") and len(line) <= LONGEST_LINE


def event_of(line: bytes) -> Event | None:
    """None where it is no object of JSON in UTF-8, longer than a line may be, or not written to its end."""
    if not line.endswith(b"\n") or len(line) > LONGEST_LINE:
        return None
    try:
        text = line.decode()
        event, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return event if type(event) is dict and (end == len(text) - 1 or not text[end:].strip()) else None


def hash_of(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()

"""journal.jsonl: what the driver did, one event a line, each carrying the hash of the line before it.

Written before the thing is done, so that a driver that dies leaves a trace of what it may have started. The database
is a projection of it. A last line without its newline was cut off by a crash before anything followed from it: it is
taken back.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, overload

from campaign.core import events
from campaign.core.errors import EnvironmentLacks, NoRoom, is_full
from campaign.core.strict_yaml import shown

FORMAT = 1
START = "0" * 64
LONGEST_LINE = 4 << 20  # bytes: a job of 10,000 runs takes 2 MB
_BYTES = 32  # of a hash
_EDITED = "the journal was edited; restore it from a backup"
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chain:
    """A journal as a whole. `heads` are the hashes of its lines, the last one that of the whole; `problem`: why it is
    no chain, "" where it is. `latest`: the latest time of an event; `back`: the line whose time lies furthest before
    that of an earlier line, and by how many seconds.
    """

    heads: Sequence[str]
    nonce: str  # that it began with
    problem: str = ""
    latest: float = 0.0
    back: tuple[int, float] = (0, 0.0)
    cut_off: bool = False  # whether the problem is the end of the last line alone

    @property
    def head(self) -> str:
        """The hash of the last line, "" where there is none."""
        return self.heads[-1] if self.heads else ""


def challenge(nonce: str) -> str:
    """What of the buyer's nonce is in the name of each attempt, and so in the command lines of all outputs."""
    return _hash(f"campaign challenge {nonce}".encode())[:8] if nonce else ""


class Hashes(Sequence[str]):
    """Many SHA-256 in 32 bytes each; they are given in hexadecimal digits."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, digits: str) -> None:
        self._bytes += bytes.fromhex(digits)

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


def append(path: Path, event: Event, previous: str) -> None:
    """Add one event after the line whose hash is `previous`; `sync` has it on the disk. The caller holds the campaign's
    write lock.

    Raises EnvironmentLacks where it cannot be written.
    """
    stamped = {"format": FORMAT, "time": round(time.time(), 3), **event, "previous": previous}
    if problem := events.unfit(stamped):  # once it is there, nothing can be read any more
        raise EnvironmentLacks(f"{path}: {problem}")
    data = (json.dumps(stamped, ensure_ascii=False) + "\n").encode()
    with _opened(path) as descriptor:
        written = os.write(descriptor, data)
        if written != len(data):
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def sync(path: Path) -> None:
    """Wait until the disk has what was added. Raises EnvironmentLacks where it refuses."""
    with _opened(path) as descriptor:
        os.fsync(descriptor)


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        lacking = NoRoom if is_full(error) else EnvironmentLacks
        raise lacking(
            f"{path}: cannot be written: {error.strerror}; the journal is written before every other step: free space "
            "or correct `results`"
        ) from error


def read(path: Path, offset: int, previous: str) -> Iterator[tuple[Event, str, int]]:
    """The events from byte `offset` on, each with its line's hash and the offset behind it.

    The caller holds the campaign's write lock. Raises EnvironmentLacks where a line is damaged or does not follow from
    the one before.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(offset)
        for data in _lines(file):
            if not data.endswith(b"\n") and len(data) <= LONGEST_LINE:
                os.truncate(path, offset)
                return
            event = _parse(data, lambda: f"{path}:{_line_at(path, offset)}")  # noqa: B023  # called at once
            if event.get("previous") != previous:
                raise EnvironmentLacks(
                    f"{path}:{_line_at(path, offset)}: the hash chain is broken (expected {previous[:12]}…, found "
                    f"{shown(str(event.get('previous'))[:12], plain=True)}…): {_EDITED}"
                )
            if problem := events.unfit(event):
                raise EnvironmentLacks(f"{path}:{_line_at(path, offset)}: {problem}; {_EDITED}")
            offset += len(data)
            previous = _hash(data)
            yield event, previous, offset


def look(path: Path) -> Chain:
    """The chain of a journal in any state; nothing is changed."""
    heads = Hashes()
    nonce, previous, latest, back = "", START, 0.0, (0, 0.0)
    try:
        with path.open("rb") as file:
            for number, data in enumerate(_lines(file), 1):
                if not data.endswith(b"\n") and len(data) <= LONGEST_LINE:
                    return Chain(heads, nonce, f"line {number} is truncated", cut_off=True)
                event = _parse(data, lambda: f"line {number}")  # noqa: B023  # called at once
                if event.get("previous") != previous:
                    return Chain(
                        heads, nonce, f"hash chain broken at line {number}: a line was changed, added or removed"
                    )
                if problem := events.unfit(event):
                    return Chain(heads, nonce, f"line {number}: {problem}")
                if number == 1 and event.get("event") == "begin":
                    nonce = event.get("nonce", "")
                latest = max(latest, event["time"])
                back = (number, latest - event["time"]) if latest - event["time"] > back[1] else back
                previous = _hash(data)
                heads.add(previous)
    except OSError as error:
        return Chain(heads, nonce, f"cannot be read: {error.strerror}")
    except EnvironmentLacks as error:
        return Chain(heads, nonce, str(error))
    return Chain(heads, nonce, "", latest, back)


def beginning(path: Path) -> str:
    """The hash of a journal's first line, which no two campaigns share; "" where there is none."""
    with suppress(OSError), path.open("rb") as file:
        return _hash(data) if (data := next(_lines(file), b"")).endswith(b"\n") else ""
    return ""


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a journal; of one that is too long its beginning, which is no event."""
    while data := file.readline(LONGEST_LINE + 1):
        yield data
        if len(data) > LONGEST_LINE:
            return


def _line_at(path: Path, offset: int) -> int:
    with path.open("rb") as file:
        return file.read(offset).count(b"\n") + 1


def _parse(data: bytes, place: Callable[[], str]) -> Event:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise EnvironmentLacks(f"{place()}: not a JSON event: {data[:80]!r}: {_EDITED}")
    if event.get("format") != FORMAT:
        raise EnvironmentLacks(
            f"{place()}: found format {events.found(event.get('format'))}; known: {FORMAT}; use a newer campaign"
        )
    return event


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

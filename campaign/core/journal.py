"""journal.jsonl: what the driver did, one event per line, each with the hash of the line before it.

An event is written before the action, so that a driver that dies leaves a trace of what it may have started. The
database is built from it. A last line without a newline was cut off by a crash before anything followed from it: it is
removed.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from campaign.core import events, json_forms, recovery
from campaign.core.errors import EnvironmentLacks, NoRoom, is_full, pass_on
from campaign.core.strict_yaml import shown

RESTORE = "restore it from a backup, or keep what the rest of it proves with 'campaign collect FILE --recover'"
_EDITED = f"the journal was edited; {RESTORE}"


def challenge(nonce: str) -> str:
    """The part of the buyer's nonce's hash that is in the name of each attempt, and so in the command lines of all
    outputs.
    """
    return events.hash_of(f"campaign challenge {nonce}".encode())[:8] if nonce else ""


def append(path: Path, event: events.Event, previous: str) -> None:
    """Add an event after the line with the hash `previous`; `sync` writes it to disk. The caller holds the campaign's
    write lock. Raises EnvironmentLacks if it cannot be written.
    """
    stamped = {"format": events.FORMAT, "time": round(time.time(), 3), **event, "previous": previous}
    if problem := events.unfit(stamped):  # an unreadable event would make the rest of the journal unreadable
        raise EnvironmentLacks(f"{path}: {problem}")
    data = (json.dumps(stamped, ensure_ascii=False) + "\n").encode()
    with _opened(path) as descriptor:
        written = os.write(descriptor, data)
        if written != len(data):
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def sync(path: Path) -> None:
    """Wait until the disk has what was added. Raises EnvironmentLacks if it fails."""
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
    recovered: list[events.Event] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    @property
    def head(self) -> str:
        """The hash of the last line, "" where there is none."""
        return self.heads[-1] if self.heads else ""


class Reading:
    """One pass over a journal from byte `offset` on; the line before it has the hash `previous`. Both advance with each
    event, which `chain` then includes.
    """

    def __init__(self, path: Path, offset: int = 0, previous: str = events.START) -> None:
        self._path, self._first, self.offset, self.previous = path, offset, offset, previous
        self._problem = self._advice = ""
        self.chain = Chain()

    def __iter__(self) -> Iterator[events.Event]:
        """For holders of the campaign's write lock: a last line that was cut off is removed. Raises EnvironmentLacks if
        a line is damaged or does not follow from the one before.
        """
        yield from self.sound()
        if self.chain.cut_off:
            os.truncate(self._path, self.offset)
        elif self._problem:
            with self._path.open("rb") as file:
                before = file.read(self._first).count(b"\n")
            number = before + len(self.chain.heads) + 1
            raise EnvironmentLacks(f"{self._path}:{number}: {self._problem}; {self._advice}")

    def sound(self) -> Iterator[events.Event]:
        """The events before the first invalid line; nothing is changed."""
        chain, recovered_in = self.chain, 0
        with self._path.open("rb") as file:
            file.seek(self.offset)
            for number, line in enumerate(file, 1):
                event = events.event_of(line)
                if (
                    event is None
                    or event.get("previous") != self.previous
                    or event.get("format") != events.FORMAT
                    or events.unfit(event)
                ):
                    self._problem, self._advice = self._wrong(line, event)
                    chain.problem, chain.cut_off = f"line {number}: {self._problem}", events.is_cut_off(line)
                    return
                kind, time = event["event"], event["time"]
                if time >= chain.latest:
                    chain.latest = time
                elif chain.latest - time > chain.back[1]:
                    chain.back = number, chain.latest - time
                if kind == "ended":
                    chain.ends.append(self.offset)
                elif kind == "recovered":
                    chain.recovered.append(event)
                    recovered_in = number
                elif kind == "begin" and number == 1:
                    chain.nonce = event.get("nonce", "")
                self.previous = events.hash_of(line)
                self.offset += len(line)
                chain.heads.append(self.previous)
                yield event
        if recovered_in and not self._first:
            chain.problem = recovery.differing(self._path, recovered_in, chain.recovered[-1], chain.earlier)

    def _wrong(self, line: bytes, event: events.Event | None) -> tuple[str, str]:
        """What is wrong with a line, and what to do."""
        if events.is_cut_off(line):
            return "truncated", _EDITED
        if event is None:
            return f"not a JSON event: {line[:80]!r}", _EDITED
        if event.get("format") != events.FORMAT:
            return (
                f"found format {json_forms.found(event.get('format'))}; known: {events.FORMAT}",
                "use a newer campaign",
            )
        if event.get("previous") != self.previous:
            found = shown(str(event.get("previous"))[:12], plain=True)
            problem = (
                f"the hash chain is broken (expected {self.previous[:12]}…, found {found}…): a line was changed, added "
                "or removed"
            )
            return problem, _EDITED
        return events.unfit(event), _EDITED


def look(path: Path) -> Chain:
    """The chain of a journal in any state; nothing is changed. Raises OSError for this machine's problems."""
    reading = Reading(path)
    try:
        for _ in reading.sound():
            pass
    except OSError as error:
        pass_on(error)
        return Chain(problem=f"cannot be read: {error.strerror}")
    return reading.chain


def events_at(path: Path, places: Sequence[int]) -> Iterator[events.Event]:
    """The events whose lines begin at these offsets."""
    if places:
        with path.open("rb") as file:
            for place in places:
                file.seek(place)
                if event := events.event_of(file.readline()):
                    yield event


def beginning(path: Path) -> str:
    """The hash of a journal's first event, unique to a campaign; "" if there is none, or it was lost."""
    with suppress(OSError), path.open("rb") as file:
        line = next(file, b"")
        event = events.event_of(line)
        return events.hash_of(line) if event and event.get("event") == "begin" else ""
    return ""

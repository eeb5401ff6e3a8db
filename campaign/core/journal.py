"""journal.jsonl: what the driver did, one event per line, each with the hash of the line before it.

An event is written before the action, so that a driver that dies leaves a trace of what it may have started. The
database is built from it. A last line without a newline was cut off by a crash before anything followed from it: it is
removed.
"""

from __future__ import annotations

import bisect
import errno
import json
import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from campaign.core import events, untrusted
from campaign.core.errors import EnvironmentLacks, NoRoom, is_full, reraise_machine_problem
from campaign.core.strict_yaml import quoted

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
    if problem := events.form_problem(stamped):  # an unreadable event would make the rest of the journal unreadable
        raise EnvironmentLacks(f"{path}: {problem}")
    data = (json.dumps(stamped, ensure_ascii=False) + "\n").encode()
    with open_for_append(path) as descriptor:
        written_bytes = os.write(descriptor, data)
        if written_bytes != len(data):
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written_bytes)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def sync(path: Path) -> None:
    """Wait until the disk has what was added. Raises EnvironmentLacks if it fails."""
    with open_for_append(path) as descriptor:
        os.fsync(descriptor)


@contextmanager
def open_for_append(path: Path) -> Iterator[int]:
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
    that lines had which follow on lost ones. `ends`: where in the file each line with the end of an attempt begins;
    `end_lines`: the numbers of these lines.
    `rendered`: by job, the version of this program that rendered its script, and the hash of the templates; "" where
    the journal does not say it.
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
    end_lines: list[int] = field(default_factory=list)
    rendered: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def head(self) -> str:
        """The hash of the last line, "" where there is none."""
        return self.heads[-1] if self.heads else ""

    def ended_by(self, heads: Collection[str]) -> dict[str, int]:
        """How many attempts had ended by each of these heads that is the hash of a line."""
        lines = ((number, head) for number, head in enumerate(self.heads, 1) if head in heads)
        return {head: bisect.bisect(self.end_lines, number) for number, head in lines}


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
                    or events.form_problem(event)
                ):
                    self._problem, self._advice = self._line_problem(line, event)
                    chain.problem, chain.cut_off = f"line {number}: {self._problem}", events.is_cut_off(line)
                    return
                kind, time = event["event"], event["time"]
                if time >= chain.latest:
                    chain.latest = time
                elif chain.latest - time > chain.back[1]:
                    chain.back = number, chain.latest - time
                if kind == "ended":
                    chain.ends.append(self.offset)
                    chain.end_lines.append(number)
                elif kind == "job":
                    chain.rendered[event["job"]] = event.get("version", ""), event.get("templates", "")
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
            chain.problem = difference_to_damaged(self._path, recovered_in, chain.recovered[-1], chain.earlier)

    def _line_problem(self, line: bytes, event: events.Event | None) -> tuple[str, str]:
        """What is wrong with a line, and what to do."""
        if events.is_cut_off(line):
            return "truncated", _EDITED
        if event is None:
            return f"not a JSON event: {line[:80]!r}", _EDITED
        if event.get("format") != events.FORMAT:
            return (
                f"found format {untrusted.describe_value(event.get('format'))}; known: {events.FORMAT}",
                "use a newer campaign",
            )
        if event.get("previous") != self.previous:
            previous = quoted(str(event.get("previous"))[:12], plain=True)
            problem = (
                f"the hash chain is broken (expected {self.previous[:12]}…, found {previous}…): a line was changed, "
                "added or removed"
            )
            return problem, _EDITED
        return events.form_problem(event), _EDITED


def read_chain(path: Path) -> Chain:
    """The chain of a journal in any state; nothing is changed. Raises OSError for this machine's problems."""
    reading = Reading(path)
    try:
        for _ in reading.sound():
            pass
    except OSError as error:
        reraise_machine_problem(error)
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


def first_event_hash(path: Path) -> str:
    """The hash of a journal's first event, unique to a campaign; "" if there is none, or it was lost."""
    with suppress(OSError), path.open("rb") as file:
        line = next(file, b"")
        event = events.event_of(line)
        return events.hash_of(line) if event and event.get("event") == "begin" else ""
    return ""


# --- what a damaged journal still proves, chained anew; the event `recovered` behind it tells what is lost
#
# A line is kept if the line after it has its hash. So a line that was edited is lost, and so is the one before lines
# that were taken out. Whoever has the damaged file can do the same again: so a recovered journal is checked.

DAMAGED = "journal.damaged-{number}.jsonl"
Range = list[int]  # the first and the last number of lines


@dataclass(frozen=True, slots=True)
class _SoundLine:
    number: int
    data: bytes
    event: events.Event
    hash: str


class Salvage:
    """What is kept of a damaged journal. `lines` are gone through once; the rest is known afterwards."""

    def __init__(self, damaged: Path) -> None:
        self._damaged = damaged
        self.lost: list[Range] = []  # of lines of the damaged file; [0, 0] are lines that were before its first
        self.head = events.START
        self.earlier: list[str] = []  # hashes of the lines that were chained anew, as they were before
        self.ends: dict[str, bool] = {}  # by attempt, whether its end is in a kept line
        self.recovered: tuple[int, events.Event] | None = None  # the last kept event of that kind, and its line
        self.submitters: dict[str, None] = {}  # the drivers that submitted jobs
        self.kept = 0
        self.cut_off = False

    @property
    def open(self) -> list[str]:
        """The attempts without an end."""
        return [attempt for attempt, has_ended in self.ends.items() if not has_ended]

    def lines(self) -> Iterator[bytes]:
        """The lines that a repaired journal keeps, each with the `previous` that it has there."""
        before: _SoundLine | None = None
        number, is_chained = 0, False
        with self._damaged.open("rb") as file:
            for number, data in enumerate(file, 1):
                if events.is_cut_off(data):
                    self.cut_off = True
                    break
                line = sound_line(number, data)
                if number == 1:
                    is_chained = line is not None and line.event["previous"] == events.START
                    self.lost += [[0, 0]] if line and not is_chained else []
                else:
                    is_chained = bool(before and line and line.event["previous"] == before.hash)
                    if before and is_chained:
                        yield self._keep_line(before)
                    else:
                        self._record_lost_line(number - 1)
                before = line
        if before and is_chained:  # the last line has none after it
            yield self._keep_line(before)
        elif number > self.cut_off:
            self._record_lost_line(number - self.cut_off)
        if self.cut_off:
            self._record_lost_line(number)

    def _record_lost_line(self, number: int) -> None:
        if self.lost and self.lost[-1][1] == number - 1 and self.lost[-1] != [0, 0]:
            self.lost[-1][1] = number
        else:
            self.lost.append([number, number])

    def _keep_line(self, line: _SoundLine) -> bytes:
        """The line in the repaired journal, chained to the one before; what it records of attempts is noted."""
        data = line.data
        if self.lost:
            self.earlier.append(line.hash)
            rechained = {**line.event, "previous": self.head}
            data = f"{json.dumps(rechained)}\n".encode("ascii")
        self.head = events.hash_of(data)
        self.kept += 1
        kind = line.event["event"]
        if kind == "job":
            self.submitters[line.event["submitter"]] = None
            self.ends.update(
                (f"{attempt_of_job['run']}/{attempt_of_job['number']}", False)
                for attempt_of_job in line.event["attempts"]
            )
        elif kind == "ended" and (attempt := f"{line.event['run']}/{line.event['number']}") in self.ends:
            self.ends[attempt] = True
        elif kind == "recovered":
            self.recovered = line.number, line.event
        return data


def sound_line(number: int, data: bytes) -> _SoundLine | None:
    event = events.event_of(data)
    if event is None or event.get("format") != events.FORMAT or events.form_problem(event):
        return None
    return _SoundLine(number, data, event, events.hash_of(data)) if isinstance(event.get("previous"), str) else None


def difference_to_damaged(journal: Path, number: int, event: events.Event, earlier: list[str]) -> str:
    """What is otherwise in a journal than its damaged file has it, where `event`, its line `number`, tells of the
    recovery; "" where nothing is. `earlier` gets the hashes that the lines chained anew had before.
    """
    last: tuple[int, events.Event] | None = number, event
    lost: Collection[int] = ()
    while last:  # a recovered journal may have been damaged again
        number, event = last
        damaged = journal.with_name(event["damaged"])
        if not damaged.is_file():
            return f"{damaged.name}, from which it was recovered, is missing"
        if untrusted.digest(damaged) != event["sha256"]:
            return f"{damaged.name}, from which it was recovered, was changed"
        salvage = Salvage(damaged)
        expected = salvage.lines()
        with journal.open("rb") as file:
            for place, journal_line in enumerate(islice(file, number - 1), 1):
                if place not in lost and journal_line not in expected:  # which goes on in `expected`
                    return f"line {place} of {journal.name} is not what was recovered from {damaged.name}"
        missing_count = sum(1 for _ in expected)
        if not lost and (missing_count or salvage.kept != number - 1):
            return f"{journal.name} lacks lines that were recovered from {damaged.name}"
        if salvage.lost != event["lost"] or salvage.open != event["open"]:
            return f"line {number} of {journal.name} names other losses than {damaged.name} has"
        earlier.extend(salvage.earlier)
        journal, last = damaged, salvage.recovered
        lost = {place for first, final in salvage.lost for place in range(first, final + 1)}
    return ""

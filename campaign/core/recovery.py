"""What a damaged journal still proves, chained anew; the event `recovered` behind it tells what is lost.

A line is kept if the line after it has its hash. So a line that was edited is lost, and so is the one before lines that
were taken out. Whoever has the damaged file can do the same again: so a recovered journal is checked.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from campaign.core import events, untrusted

NAME = "journal.damaged-{number}.jsonl"
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
        return [attempt for attempt, ended in self.ends.items() if not ended]

    def lines(self) -> Iterator[bytes]:
        """Those that are kept, each with its `previous` as it is now."""
        before: _SoundLine | None = None
        number, whole = 0, False
        with self._damaged.open("rb") as file:
            for number, data in enumerate(file, 1):
                if events.is_cut_off(data):
                    self.cut_off = True
                    break
                line = _sound(number, data)
                if number == 1:
                    whole = line is not None and line.event["previous"] == events.START
                    self.lost += [[0, 0]] if line and not whole else []
                else:
                    whole = bool(before and line and line.event["previous"] == before.hash)
                    if before and whole:
                        yield self._kept(before)
                    else:
                        self._lose(number - 1)
                before = line
        if before and whole:  # the last line has none after it
            yield self._kept(before)
        elif number > self.cut_off:
            self._lose(number - self.cut_off)
        if self.cut_off:
            self._lose(number)

    def _lose(self, number: int) -> None:
        if self.lost and self.lost[-1][1] == number - 1 and self.lost[-1] != [0, 0]:
            self.lost[-1][1] = number
        else:
            self.lost.append([number, number])

    def _kept(self, line: _SoundLine) -> bytes:
        data = line.data
        if self.lost:
            self.earlier.append(line.hash)
            again = {**line.event, "previous": self.head}
            data = f"{json.dumps(again)}\n".encode("ascii")
        self.head = events.hash_of(data)
        self.kept += 1
        kind = line.event["event"]
        if kind == "job":
            self.submitters[line.event["submitter"]] = None
            self.ends.update((f"{each['run']}/{each['number']}", False) for each in line.event["attempts"])
        elif kind == "ended" and (attempt := f"{line.event['run']}/{line.event['number']}") in self.ends:
            self.ends[attempt] = True
        elif kind == "recovered":
            self.recovered = line.number, line.event
        return data


def _sound(number: int, data: bytes) -> _SoundLine | None:
    event = events.event_of(data)
    if event is None or event.get("format") != events.FORMAT or events.unfit(event):
        return None
    return _SoundLine(number, data, event, events.hash_of(data)) if isinstance(event.get("previous"), str) else None


def differing(journal: Path, number: int, event: events.Event, earlier: list[str]) -> str:
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
            for place, found in enumerate(islice(file, number - 1), 1):
                if place not in lost and found not in expected:  # which goes on in `expected`
                    return f"line {place} of {journal.name} is not what was recovered from {damaged.name}"
        beyond = sum(1 for _ in expected)
        if not lost and (beyond or salvage.kept != number - 1):
            return f"{journal.name} lacks lines that were recovered from {damaged.name}"
        if salvage.lost != event["lost"] or salvage.open != event["open"]:
            return f"line {number} of {journal.name} names other losses than {damaged.name} has"
        earlier.extend(salvage.earlier)
        journal, last = damaged, salvage.recovered
        lost = {place for first, final in salvage.lost for place in range(first, final + 1)}
    return ""

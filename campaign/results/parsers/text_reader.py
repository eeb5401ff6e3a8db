"""What the readers of benchmarks' text have in common: lines, rules for them, what was seen so far. Pure.

A reader is a class with `rules`: patterns of whole lines, each above the method that takes such a line:

    class _HplReader(TextReader):
        rules = LineRules(known=r"=+|-+")

        @rules(r"WR[0-9A-Z]+ .* (?P<rate>[0-9.e+]+)")
        def result(self, number: int, match: re.Match[str]) -> None:
            self.records["hpl"] = Record("hpl", float(match["rate"]), "Gflop/s", Source(self.file, number))
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import ClassVar, TypeVar

from campaign.core.model import Observation, Record
from campaign.results.parsers.lines import LONGEST_LINE, TWO_RUNS, Notes, line_too_long

Parsed = tuple[list[Record], Observation]
Take = TypeVar("Take", bound=Callable[..., None])


_TIMES = ("%m/%d/%Y %H:%M:%S", "%a %b %d %H:%M:%S %Y")  # 11/21/2026 02:00:07, Sat Nov 21 02:00:07 2026


def local_time(text: str) -> float | None:
    """Seconds since 1970 of a local time as mdtest or IOR prints it; None if `text` is not a valid one."""
    for form in _TIMES:
        with suppress(ValueError):
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC).timestamp()
    return None


class LineRules:
    """Patterns of whole lines, tried in order, and finally `known`: lines of no interest."""

    def __init__(self, known: str) -> None:
        self._known = re.compile(known)
        self._rules: list[tuple[re.Pattern[str], Callable[..., None]]] = []

    def __call__(self, pattern: str) -> Callable[[Take], Take]:
        """Add a rule: the decorated function gets the reader, the line's number and the match."""

        def add(take: Take) -> Take:
            self._rules.append((re.compile(pattern), take))
            return take

        return add

    def apply(self, reader: TextReader, number: int, text: str) -> bool:
        """Pass the line to the first rule that matches; False if none does."""
        for pattern, take in self._rules:
            if match := pattern.fullmatch(text):
                take(reader, number, match)
                return True
        return self._known.fullmatch(text) is not None


class TextReader:
    """Reads one standard output; `file` is its name in sources and messages."""

    rules: ClassVar[LineRules]

    def __init__(self, file: str) -> None:
        self.file = file
        self.notes = Notes(file)
        self.seen = Observation()
        self.records: dict[str, Record] = {}  # by operation

    @classmethod
    def parse(cls, text: str, file: str) -> Parsed:
        """Parse `text`, the output of one execution; `file` is its name in sources and messages. Nothing is raised."""
        return cls(file).read(text)

    def read(self, text: str) -> Parsed:
        """Records and observation of the whole text."""
        for number, line in self.notes.numbered(text):
            if len(line) > LONGEST_LINE:
                self.notes.error(number, line_too_long(length=len(line), most=LONGEST_LINE))
            else:
                self.line(number, line)
        self.finish(text)
        return [*self.records.values()], self.notes.added_to(self.seen)

    def line(self, number: int, text: str) -> None:
        if not self.rules.apply(self, number, text):
            self.unknown(number, text)

    def unknown(self, number: int, text: str) -> None:
        """Handle a line that no rule knows."""
        self.notes.unknown(number, text)

    def finish(self, text: str) -> None:
        """After the last line: checks on the whole output, above all whether it is complete."""
        raise NotImplementedError

    # --- for the methods of readers

    def program(self, number: int, name: str) -> None:
        """The line that names the program, at the beginning of an output."""
        if self.seen.program:
            self.notes.error(number, TWO_RUNS)
        self.seen = replace(self.seen, program=name, complete=False)

    def began(self, number: int, match: re.Match[str]) -> None:
        """A beginning, at the group `time`: the first one counts."""
        if self.seen.began_local is None:
            self.seen = replace(self.seen, began_local=local_time(match["time"]))

    def ended(self, time: str, complete: bool = True) -> None:
        """An end: the last one counts."""
        self.seen = replace(self.seen, ended_local=local_time(time), complete=complete)

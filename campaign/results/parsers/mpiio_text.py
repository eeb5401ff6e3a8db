"""The chunk pool's text -> records and an observation. Pure.

Layouts: this project's mpiio, and the program that it is modelled on, which prints MiB as MB. Records are `write` and
`read` (MiB/s of all processes) and, of this project's, `write-sum` (MiB/s, sum of what each process reached while it
was at work), `write-reached` (the share of that sum), `write-fastest`, `write-median`, `write-slowest` (MiB/s of single
processes), and the same of `read`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from campaign.core.model import Record
from campaign.results.parsers.consistency import Range, contradicts
from campaign.results.parsers.lines import TWO_RUNS, appears_twice
from campaign.results.parsers.text_reader import LineRules, TextReader

_NUMBER = r"[0-9]{1,15}\.[0-9]{2}"


class _MpiioReader(TextReader):
    """`complete` is set by the line of the bandwidth, which is the last of a phase."""

    rules = LineRules(
        known=r"|Rank [0-9]+ \| (?:Max outstanding requests|File name|Chunk size|Number of chunks"
        r"|Requested bytes to write|Bytes to (?:write|read)):? .*|Server started|Static split|Chunks left\t[0-9]+"
        r"|Rank [0-9]+ \| (?:Wrote|Read) [0-9]+ chunks, [0-9]+ ?|Process on rank [0-9]+ said 'bye'"
        r"|Verified:\t[0-9]+ bytes"
    )

    _under_way = False
    _parts: tuple[Record, ...] = ()  # of the phase that has not ended

    @rules(rf"(?i)(?P<read>Read )?BW:\t(?P<rate>{_NUMBER}|inf|nan) (?P<unit>Mi?B)/sec")
    def bandwidth(self, number: int, match: re.Match[str]) -> None:
        operation = "read" if match["read"] else "write"
        self._under_way = False
        if operation in self.records:
            first = self.records[operation].source.line
            self.notes.error(number, appears_twice(name=operation, first=first))
        elif not re.fullmatch(_NUMBER, match["rate"]):
            self.notes.error(number, f"no bandwidth, the clock is too coarse: {match[0]}")
        elif doubt := self._contradiction(operation, match["rate"]):
            self.notes.error(number, doubt)
        else:
            if match["unit"] == "MB":
                self.notes.warning(number, "the program prints MB but means MiB (1048576 bytes)")
            self.records[operation] = self.record(operation, match["rate"], "MiB/s", number)
            for part in self._parts:
                name = f"{operation}-{part.operation}"
                self.records[name] = replace(part, operation=name)
        self._parts = ()

    def _contradiction(self, operation: str, rate: str) -> str:
        """What the lines above say against a bandwidth; those of the model's program say nothing."""
        parts = {part.operation: part.value for part in self._parts}
        if not parts.get("fastest", 0.0) >= parts.get("median", 0.0) >= parts.get("slowest", 0.0):
            slowest, fastest = parts["slowest"], parts["fastest"]
            return contradicts(name=operation, column="slowest", found=slowest, expected=fastest)
        if "sum" in parts:
            expected = Range.of(parts["sum"], 0.005) * Range.of(parts["reached"], 0.0005)
            if not Range.printed(rate).meets(expected):
                return contradicts(name=operation, column="BW", found=rate, expected=expected.middle)
        return ""

    @rules(
        rf"Processes:\tfastest (?P<fastest>{_NUMBER}), median (?P<median>{_NUMBER}), slowest (?P<slowest>{_NUMBER}) "
        r"MiB/sec \(rank [0-9]{1,9} on .*\)"
    )
    @rules(
        rf"Sum:\t(?P<sum>{_NUMBER}) MiB/sec of the processes while they were at work; "
        r"reached: (?P<reached>[0-9]{1,6}\.[0-9]{3}) of it"
    )
    def parts(self, number: int, match: re.Match[str]) -> None:
        earlier = {part.operation: part.source.line for part in self._parts}
        for name, value in match.groupdict().items():
            if name in earlier:
                self.notes.error(number, appears_twice(name=name, first=earlier[name]))
            self._parts += (self.record(name, value, "x" if name == "reached" else "MiB/s", number),)

    @rules(r"Rank 0+ \| Blocksize: [0-9]{1,18}")
    def begin(self, number: int, match: re.Match[str]) -> None:
        if self._under_way:
            self.notes.error(number, TWO_RUNS)
        self._under_way = True

    def finish(self, text: str) -> None:
        if not self.records:
            self.notes.error(None, "not output of the chunk pool, or it ended before its first result (line 'BW:')")
        self.seen = replace(self.seen, complete=bool(self.records) and not self._under_way)


parse = _MpiioReader.parse

"""NFSTEST/MPI's text -> records and an observation. Pure.

The text is in the unit of the sizes: 1Kb of it is 1024 bytes, so its Kb/s are reported as KiB/s. Records are
`best-write` and `best-read`, and `write-256kb`, `read-256kb` for each file size; without the verbose header (v1) the
size of a file is not in the text, and they are named after the size of all files, `write-of-3072kb`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from campaign.results.parsers.consistency import Range, contradicts, count_contradicts
from campaign.results.parsers.lines import TWO_RUNS
from campaign.results.parsers.text_reader import LineRules, TextReader

_UNIT = r"[KM]?b"
UNITS = {"b": "B/s", "Kb": "KiB/s", "Mb": "MiB/s"}
_RATE = r"[0-9]{1,15}\.[0-9]"
_DOING = {"W": "write", "R": "read", "writing": "write", "reading": "read"}


def _sized(text: str) -> tuple[int, str]:
    """`256Kb` as its number and its unit."""
    number = text.rstrip("KMb")
    return int(number), text[len(number) :]


class _NfstestReader(TextReader):
    """A record's value is the highest over the iterations. `complete` is set by the line of the best reading rate."""

    rules = LineRules(
        known=r"|Testing complete in +[0-9.]+ seconds"
        r"| +(?:Unit is|File size:|Quota for all files:|Checking correctness|Using (?:direct|stdio)"
        r"|Testing file system:).*"
    )

    _titled = False  # a text with parameters has a line for each section; a terse one has neither
    _size: str | None = None
    _best: Mapping[str, tuple[int, re.Match[str]]] = {}  # the closing lines, of each operation
    _files: int | None = None  # of all processes
    _iterations: int | None = None
    _done: frozenset[str] = frozenset()  # phases of this size and iteration
    _highest: Mapping[str, tuple[float, frozenset[str]]] = {}  # of each operation: rate, and sizes of all files with it

    @rules(r"FILETEST/NFS/MPI of \S+ is running with following parameters:")
    def title(self, number: int, match: re.Match[str]) -> None:
        if self.values:
            self.notes.error(number, TWO_RUNS)
        self._titled = True

    @rules(r" +Number of processes: (?P<processes>[0-9]{1,9}), number of files: .*?(?:total: (?P<files>[0-9]{1,12}))?")
    def processes(self, number: int, match: re.Match[str]) -> None:
        if self.seen.processes is not None:
            self.notes.error(number, TWO_RUNS)
        self.seen = replace(self.seen, processes=int(match["processes"]))
        self._files = int(match["files"]) if match["files"] else None

    @rules(r" +Number of iterations for whole test: (?P<count>[0-9]{1,9})")
    def iterations(self, number: int, match: re.Match[str]) -> None:
        self._iterations = int(match["count"])

    @rules(r" +Nodes:(?P<nodes>(?: \S+)+) ?")
    def nodes(self, number: int, match: re.Match[str]) -> None:
        self.seen = replace(self.seen, nodes=len(set(match["nodes"].split())))

    @rules(rf"Starting test iteration = (?P<iteration>[0-9]{{1,9}}) for FS = (?P<size>[0-9]{{1,18}}{_UNIT})\.")
    def start(self, number: int, match: re.Match[str]) -> None:
        self._size, self._done = match["size"], frozenset()

    @rules(
        rf"--- TFS=(?P<total>[0-9]{{1,18}}{_UNIT})\s+(?P<phase>[WR])TT= *(?P<time>[0-9]{{1,9}}\.[0-9])s "
        rf"A(?P=phase)T= *[0-9.]+s\s+L(?P=phase)R=(?P<lowest>{_RATE}){_UNIT}/s\s+"
        rf"T(?P=phase)R=(?P<rate>{_RATE})(?P<unit>{_UNIT})/s"
    )
    def phase(self, number: int, match: re.Match[str]) -> None:
        doing = _DOING[match["phase"]]
        name = (f"{doing}-{self._size}" if self._size else f"{doing}-of-{match['total']}").lower()
        rate = float(match["rate"])
        doubt = self._contradiction(name, match)
        self._done |= {doing}
        if doubt:
            self.notes.unreadable(number, match[0], doubt)
            self.values.discard(name)
        else:
            highest, totals = self._highest.get(doing, (0.0, frozenset()))
            if rate >= highest:
                alike = totals if rate == highest else frozenset()
                self._highest = {**self._highest, doing: (rate, alike | {match["total"]})}
        self.values.add(name, rate, UNITS[match["unit"]], number)

    def _contradiction(self, name: str, match: re.Match[str]) -> str:
        """What the header, the section and the row's own columns say against a rate."""
        if ((self._titled or self.seen.processes is not None) and self._size is None) or (
            self._size is not None and _DOING[match["phase"]] in self._done
        ):
            return f"{name}: a line 'Starting test iteration …' is missing; result not used"
        total, unit = _sized(match["total"])
        if self._size and self._files:
            size, its_unit = _sized(self._size)
            if (total, unit) != (size * self._files, its_unit):
                expected = size * self._files
                return contradicts(name=name, column="TFS", found=match["total"], expected=expected)
        rate, lowest, time = (Range.printed(match[column]) for column in ("rate", "lowest", "time"))
        processes = self.seen.processes or max(1, math.ceil((rate / lowest).low * (1 - 1e-9)))  # the fewest that fit
        of_all = lowest * Range.of(processes)
        if not rate.meets(of_all):
            return contradicts(name=name, column="rate", found=match["rate"], expected=of_all.middle)
        if unit != match["unit"] or not time.meets(Range.of(total) / rate):
            seconds = total / max(rate.middle, 0.1)
            return contradicts(name=name, column="time", found=match["time"], expected=seconds)
        return ""

    @rules(
        rf"--- Best (?P<doing>writing|reading) rate achieved: T[WR]R=(?P<rate>{_RATE}) (?P<unit>{_UNIT})/s "
        rf"\(at TFS=(?P<total>[0-9]{{1,18}}{_UNIT})\)"
    )
    def best(self, number: int, match: re.Match[str]) -> None:
        doing = _DOING[match["doing"]]
        if doing in self._best:
            self.notes.error(number, TWO_RUNS)
        else:
            self._best = {**self._best, doing: (number, match)}

    def _check_best(self, doing: str, number: int, match: re.Match[str]) -> None:
        """Against all rows, of which a damaged text may have some below."""
        operation = f"best-{doing}"
        highest, totals = self._highest.get(doing, (None, frozenset()))
        if highest is not None and (highest != float(match["rate"]) or match["total"] not in totals):
            text = f"{match['rate']} (at TFS={match['total']})"
            against = contradicts(name=operation, column="rate", found=text, expected=highest)
            self.notes.error(number, against)
            return
        self.values.add(operation, float(match["rate"]), UNITS[match["unit"]], number)

    def finish(self, text: str) -> None:
        counts = self.values.counts()
        for doing, (number, match) in self._best.items():
            self._check_best(doing, number, match)
        if not self.values:
            self.notes.error(None, "not NFSTEST output, or it ended before its first result (line '--- TFS=…')")
        elif self._titled and self._iterations is None:
            self.notes.error(
                None, "the line 'Number of iterations for whole test' is missing: iterations may be missing"
            )
        complete = self._best.keys() == {"write", "read"}
        for name, count in counts.items():
            doing, _, size = name.partition("-")
            others = counts.get(f"{'read' if doing == 'write' else 'write'}-{size}", 0)
            if complete and count != others:
                self.values.discard(name)
                self.notes.error(None, count_contradicts(name=name, found=count, expected=others))
            elif self._size and self._iterations and count != self._iterations:
                self.notes.error(None, f"{name}: {count} iterations, but {self._iterations} expected")
        self.seen = replace(self.seen, complete=complete)


parse = _NfstestReader.parse

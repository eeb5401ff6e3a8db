"""NFSTEST/MPI's text -> records and an observation. Pure.

The text is in the unit of the sizes: 1Kb of it is 1024 bytes, so its Kb/s are reported as KiB/s. Records are
`best-write` and `best-read`, and `write-256kb`, `read-256kb` for each file size; without the verbose header (v1) the
size of a file is not in the text, and they are named after the size of all files, `write-of-3072kb`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from campaign.results.messages import parsers as messages
from campaign.results.parsers.text_reader import LineRules, TextReader

_UNIT = r"[KM]?b"
UNITS = {"b": "B/s", "Kb": "KiB/s", "Mb": "MiB/s"}
_RATE = r"[0-9]{1,15}\.[0-9]"
_DOING = {"W": "write", "R": "read", "writing": "write", "reading": "read"}


class _NfstestReader(TextReader):
    """A record's value is the highest over the iterations. `complete` is set by the line of the best reading rate."""

    rules = LineRules(
        known=r"|FILETEST/NFS/MPI of \S+ is running with following parameters:|Testing complete in +[0-9.]+ seconds"
        r"| +(?:Unit is|File size:|Quota for all files:|Checking correctness|Using (?:direct|stdio)"
        r"|Number of iterations|Testing file system:).*"
    )

    _size: str | None = None
    _best: frozenset[str] = frozenset()

    @rules(r" +Number of processes: (?P<processes>[0-9]{1,9}), number of files: .*")
    def processes(self, number: int, match: re.Match[str]) -> None:
        if self.seen.processes is not None:
            self.notes.error(number, messages.TWO_RUNS())
        self.seen = replace(self.seen, processes=int(match["processes"]))

    @rules(r" +Nodes:(?P<nodes>(?: \S+)+) ?")
    def nodes(self, number: int, match: re.Match[str]) -> None:
        self.seen = replace(self.seen, nodes=len(set(match["nodes"].split())))

    @rules(rf"Starting test iteration = (?P<iteration>[0-9]{{1,9}}) for FS = (?P<size>[0-9]{{1,18}}{_UNIT})\.")
    def start(self, number: int, match: re.Match[str]) -> None:
        self._size = match["size"]

    @rules(
        rf"--- TFS=(?P<total>[0-9]{{1,18}}{_UNIT})\s+(?P<phase>[WR])TT= *[0-9.]+s A(?P=phase)T= *[0-9.]+s\s+"
        rf"L(?P=phase)R={_RATE}{_UNIT}/s\s+T(?P=phase)R=(?P<rate>{_RATE})(?P<unit>{_UNIT})/s"
    )
    def phase(self, number: int, match: re.Match[str]) -> None:
        doing = _DOING[match["phase"]]
        name = f"{doing}-{self._size}" if self._size else f"{doing}-of-{match['total']}"
        self.values.add(name.lower(), float(match["rate"]), UNITS[match["unit"]], number)

    @rules(
        rf"--- Best (?P<doing>writing|reading) rate achieved: T[WR]R=(?P<rate>{_RATE}) (?P<unit>{_UNIT})/s "
        rf"\(at TFS=[0-9]{{1,18}}{_UNIT}\)"
    )
    def best(self, number: int, match: re.Match[str]) -> None:
        operation = f"best-{_DOING[match['doing']]}"
        if operation in self._best:
            self.notes.error(number, messages.TWO_RUNS())
        self._best |= {operation}
        self.values.add(operation, float(match["rate"]), UNITS[match["unit"]], number)

    def finish(self, text: str) -> None:
        if not self.values:
            self.notes.error(None, messages.NOT_NFSTEST())
        self.seen = replace(self.seen, complete=self._best >= {"best-write", "best-read"})


parse = _NfstestReader.parse

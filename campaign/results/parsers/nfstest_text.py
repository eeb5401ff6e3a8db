"""NFSTEST/MPI's text -> records and an observation. Pure.

The text is in the unit of the sizes: 1Kb of it is 1024 bytes, so its Kb/s are reported as KiB/s. Records are
`best-write` and `best-read`, and `write-256kb`, `read-256kb` for each file size; without the verbose header (v1) the
size of a file is not in the text, and they are named after the size of all files, `write-of-3072kb`.
"""

from __future__ import annotations

import re

from campaign.core.model import Observation, Record
from campaign.results.parsers import lines
from campaign.results.parsers.lines import Notes
from campaign.results.parsers.repeats import Repeats

_UNIT = r"[KM]?b"
UNITS = {"b": "B/s", "Kb": "KiB/s", "Mb": "MiB/s"}
_RATE = r"[0-9]{1,15}\.[0-9]"

_HEADER = re.compile(r"FILETEST/NFS/MPI of \S+ is running with following parameters:")
_PROCESSES = re.compile(r" +Number of processes: (?P<processes>[0-9]{1,9}), number of files: .*")
_NODES = re.compile(r" +Nodes:(?P<nodes>(?: \S+)+) ?")
_START = re.compile(rf"Starting test iteration = (?P<iteration>[0-9]{{1,9}}) for FS = (?P<size>[0-9]{{1,18}}{_UNIT})\.")
_PHASE = re.compile(
    rf"--- TFS=(?P<total>[0-9]{{1,18}}{_UNIT})\s+(?P<phase>[WR])TT= *[0-9.]+s A(?P=phase)T= *[0-9.]+s\s+"
    rf"L(?P=phase)R={_RATE}{_UNIT}/s\s+T(?P=phase)R=(?P<rate>{_RATE})(?P<unit>{_UNIT})/s"
)
_BEST = re.compile(
    rf"--- Best (?P<doing>writing|reading) rate achieved: T[WR]R=(?P<rate>{_RATE}) (?P<unit>{_UNIT})/s "
    rf"\(at TFS=[0-9]{{1,18}}{_UNIT}\)"
)
_DONE = re.compile(r"Testing complete in +[0-9.]+ seconds")
_KNOWN = re.compile(
    r"| +(?:Unit is|File size:|Quota for all files:|Checking correctness|Using (?:direct|stdio)|Number of iterations"
    r"|Testing file system:).*"
)
_LETTERS = {"W": "write", "R": "read", "writing": "write", "reading": "read"}


def parse(text: str, file: str) -> tuple[list[Record], Observation]:
    """`text` is the standard output of one execution, `file` its name in sources and messages. Nothing is raised.

    A record's value is the highest over the iterations. `complete` is set by the line of the best reading rate.
    """
    reader = _Reader(file)
    rules = (
        (_HEADER, lines.ignore),
        (_PROCESSES, reader.processes),
        (_NODES, reader.nodes),
        (_START, reader.start),
        (_PHASE, reader.phase),
        (_BEST, reader.best),
        (_DONE, lines.ignore),
        (_KNOWN, lines.ignore),
    )
    lines.apply(text, rules, reader.notes)
    return reader.result()


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self.notes = Notes(file)
        self._processes: int | None = None
        self._nodes: int | None = None
        self._size: str | None = None
        self._values = Repeats()
        self._best: set[str] = set()

    def processes(self, number: int, match: re.Match[str]) -> None:
        if self._processes is not None:
            self.notes.error(number, "a second header: several copies ran on their own, or one after another")
        self._processes = int(match["processes"])

    def nodes(self, number: int, match: re.Match[str]) -> None:
        self._nodes = len(set(match["nodes"].split()))

    def start(self, number: int, match: re.Match[str]) -> None:
        self._size = match["size"]

    def phase(self, number: int, match: re.Match[str]) -> None:
        doing = _LETTERS[match["phase"]]
        name = f"{doing}-{self._size}" if self._size else f"{doing}-of-{match['total']}"
        self._values.add(name.lower(), float(match["rate"]), UNITS[match["unit"]], number)

    def best(self, number: int, match: re.Match[str]) -> None:
        operation = f"best-{_LETTERS[match['doing']]}"
        if operation in self._best:
            self.notes.error(number, f"a second line of {operation}: several executions in one output")
        self._best.add(operation)
        self._values.add(operation, float(match["rate"]), UNITS[match["unit"]], number)

    def result(self) -> tuple[list[Record], Observation]:
        records = self._values.records(self._file)
        if not records:
            self.notes.error(None, "no line of results ('--- TFS=…'): this is no output of NFSTEST, or it ended before")
        return records, Observation(
            processes=self._processes,
            nodes=self._nodes,
            complete=self._best >= {"best-write", "best-read"},
            errors=self.notes.errors,
            warnings=self.notes.warnings,
            unparsed=self.notes.unread,
        )

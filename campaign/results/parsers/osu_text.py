"""Text of the multi-pair bandwidth and message rate test -> records and an observation. Pure.

Layouts: OSU's osu_mbw_mr, and this project's mbw_mr, which prints the same and, with --sweep-pairs, a table over the
number of pairs, with -V one over windows.

Records are `total-P-S` (MB/s of all P pairs with messages of S bytes) and `rate-P-S` (messages/s); of a sweep also
`pair-P-S` (MB/s a pair), `rise-P-S` and `fall-P-S` (ratios to one pair); with several windows `total-P-S-wW`.
"""

from __future__ import annotations

import re

from campaign.core.model import Observation, Record, Source
from campaign.results.parsers import lines
from campaign.results.parsers.lines import Notes

_NUMBER = r"[0-9]{1,15}\.[0-9]{2}"
_PROGRAM = re.compile(
    r"# (?:(?P<osu>OSU MPI(?:-\S+)?) )?(?:MPI )?Multiple Bandwidth / Message Rate Test "
    r"v(?P<version>[\w.+-]+)(?: \(.*\))?"
)
_PAIRS = re.compile(
    r"# \[ pairs: (?P<pairs>[0-9]{1,9})(?P<to> to [0-9]{1,9})? \] \[ window size: (?:[0-9]{1,9}|varied) \]"
)
_SIZES = re.compile(r"# Size +(?:Bandwidth \()?MB/s\)? +Messages/s(?: +Validation)?")
_SWEEP = re.compile(r"# Size +Pairs +Total MB/s +Rise +MB/s a pair +Fall +Messages/s")
_WINDOWS = re.compile(r"# Size(?P<windows>(?: +Window +[0-9]{1,9})+)")
_TITLE = re.compile(r"# (?P<what>Bandwidth \(MB/s\)|Message rate \(Messages/s\))")
_SIZE_ROW = re.compile(
    rf"(?P<size>[0-9]{{1,12}}) +(?P<total>{_NUMBER}) +(?P<rate>{_NUMBER})(?: +(?P<validation>Pass|Fail))?"
)
_SWEEP_ROW = re.compile(
    rf"(?P<size>[0-9]{{1,12}}) +(?P<pairs>[0-9]{{1,9}}) +(?P<total>{_NUMBER}) +(?P<rise>{_NUMBER}) +"
    rf"(?P<pair>{_NUMBER}) +(?P<fall>{_NUMBER}) +(?P<rate>{_NUMBER})"
)
_WINDOW_ROW = re.compile(rf"(?P<size>[0-9]{{1,12}})(?P<values>(?: +{_NUMBER})+)")
_WRONG_ROW = re.compile(r"(?P<size>[0-9]{1,12})(?: +[0-9]{1,9})?(?: +-?nan| +[0-9.]+)* +-?nan(?: +Fail)?")
_KNOWN = re.compile(
    r"|# Datatype: .*|# Rise: .*|# The number of processes is odd: .*|# [0-9]+ of [0-9]+ processes idle\."
)

UNITS = {"total": "MB/s", "pair": "MB/s", "rate": "messages/s", "rise": "x", "fall": "x"}


def parse(text: str, file: str) -> tuple[list[Record], Observation]:
    """`text` is the standard output of one execution, `file` its name in sources and messages. Nothing is raised.

    There is no closing line: an output is complete where its last line is a whole row.
    """
    reader = _Reader(file)
    rules = (
        (_PROGRAM, reader.program),
        (_PAIRS, reader.pairs),
        (_SIZES, reader.heading),
        (_SWEEP, reader.heading),
        (_WINDOWS, reader.windows),
        (_TITLE, reader.title),
        (_SWEEP_ROW, reader.sweep_row),
        (_SIZE_ROW, reader.size_row),
        (_WINDOW_ROW, reader.window_row),
        (_WRONG_ROW, reader.wrong_row),
        (_KNOWN, lines.ignore),
    )
    lines.apply(text, rules, reader.notes)
    return reader.result(whole=text.endswith("\n"))


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self.notes = Notes(file)
        self._program = ""
        self._pairs: str | None = None
        self._what = ""
        self._columns: tuple[str, ...] = ()  # windows
        self._form = ""  # size | sweep | window, once the headings are seen
        self._records: dict[str, Record] = {}

    def program(self, number: int, match: re.Match[str]) -> None:
        if self._program:
            self.notes.error(number, "a second beginning: several copies ran on their own, or one after another")
        self._program = f"{match['osu']} {match['version']}" if match["osu"] else f"campaign bench {match['version']}"

    def pairs(self, number: int, match: re.Match[str]) -> None:
        self._pairs = None if match["to"] else match["pairs"]

    def heading(self, number: int, match: re.Match[str]) -> None:
        self._form = "sweep" if match.re is _SWEEP else "size"

    def title(self, number: int, match: re.Match[str]) -> None:
        self._what = "total" if match["what"].startswith("Bandwidth") else "rate"

    def windows(self, number: int, match: re.Match[str]) -> None:
        self._form = "window"
        self._columns = tuple(re.findall(r"[0-9]+", match["windows"]))

    def size_row(self, number: int, match: re.Match[str]) -> None:
        if self._form != "size" or self._pairs is None:
            self.notes.unparsed(number, match[0])
            return
        if match["validation"] == "Fail":
            self.wrong_row(number, match)
        for what in ("total", "rate"):
            self._add(number, what, self._pairs, match["size"], match[what])

    def wrong_row(self, number: int, match: re.Match[str]) -> None:
        self.notes.error(number, f"messages of {match['size']} bytes did not arrive as they were sent")

    def sweep_row(self, number: int, match: re.Match[str]) -> None:
        if self._form != "sweep":
            self.notes.unparsed(number, match[0])
            return
        for what in ("total", "rise", "pair", "fall", "rate"):
            self._add(number, what, match["pairs"], match["size"], match[what])

    def window_row(self, number: int, match: re.Match[str]) -> None:
        values = match["values"].split()
        if self._form != "window" or len(values) != len(self._columns) or not self._what or self._pairs is None:
            self.notes.unparsed(number, match[0])
            return
        for window, value in zip(self._columns, values, strict=True):
            self._add(number, self._what, self._pairs, f"{match['size']}-w{window}", value)

    def _add(self, number: int, what: str, pairs: str, point: str, value: str) -> None:
        operation = f"{what}-{int(pairs)}-{point}"
        if operation in self._records:
            first = self._records[operation].source.line
            self.notes.error(number, f"{operation} stands twice, first in line {first}: the first counts")
            return
        self._records[operation] = Record(operation, float(value), UNITS[what], Source(self._file, number))

    def result(self, whole: bool) -> tuple[list[Record], Observation]:
        if not self._program:
            self.notes.error(None, "no line 'Multiple Bandwidth / Message Rate Test': this is no output of that test")
        return list(self._records.values()), Observation(
            program=self._program,
            complete=whole and bool(self._records),
            errors=self.notes.errors,
            warnings=self.notes.warnings,
            unparsed=self.notes.unread,
        )

"""Text of the multi-pair bandwidth and message rate test -> records and an observation. Pure.

Layouts: OSU's osu_mbw_mr, and this project's mbw_mr, which prints the same and, with --sweep-pairs, a table over the
number of pairs, with -V one over windows.

Records are `total-P-S` (MB/s of all P pairs with messages of S bytes) and `rate-P-S` (messages/s); of a sweep also
`pair-P-S` (MB/s a pair), `rise-P-S` and `fall-P-S` (ratios to one pair); with several windows `total-P-S-wW`.
"""

from __future__ import annotations

import re
from dataclasses import replace

from campaign.results.parsers.consistency import Range, contradicts
from campaign.results.parsers.lines import appears_twice
from campaign.results.parsers.text_reader import LineRules, TextReader

_NUMBER = r"[0-9]{1,15}\.[0-9]{2,9}"
UNITS = {"total": "MB/s", "pair": "MB/s", "rate": "messages/s", "rise": "x", "fall": "x"}


class _PairsReader(TextReader):
    """There is no closing line: an output is complete where its last line is a whole row."""

    rules = LineRules(
        known=r"|# Datatype: .*|# Rise: .*|# The number of processes is odd: .*|# [0-9]+ of [0-9]+ processes idle\."
        r"|# Each window is timed by itself, .*"
    )

    _pairs: str | None = None
    _what = ""
    _windows: tuple[str, ...] = ()
    _form = ""  # size | sweep | window, once the headings are seen

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self._exact: dict[str, Range] = {}  # where the exact number is, of each record

    @rules(
        r"# (?:(?P<osu>OSU MPI(?:-\S+)?) )?(?:MPI )?Multiple Bandwidth / Message Rate Test "
        r"v(?P<version>[\w.+-]+)(?: \(.*\))?"
    )
    def title(self, number: int, match: re.Match[str]) -> None:
        self.program(number, f"{match['osu'] or 'campaign bench'} {match['version']}")

    @rules(r"# \[ pairs: (?P<pairs>[1-9][0-9]{0,8})(?P<to> to [0-9]{1,9})? \] \[ window size: (?:[0-9]{1,9}|varied) \]")
    def pairs(self, number: int, match: re.Match[str]) -> None:
        self._pairs = None if match["to"] else match["pairs"]

    @rules(r"# Size(?P<size> +(?:Bandwidth \()?MB/s\)? +Messages/s(?: +Validation)?)")
    @rules(r"# Size(?P<sweep> +Pairs +Total MB/s +Rise +MB/s a pair +Fall +Messages/s)")
    @rules(r"# Size(?P<window>(?: +Window +[0-9]{1,9})+)")
    def headings(self, number: int, match: re.Match[str]) -> None:
        (self._form,) = match.groupdict()
        self._windows = tuple(re.findall(r"[0-9]+", match[0]))

    @rules(r"# (?P<what>Bandwidth \(MB/s\)|Message rate \(Messages/s\))")
    def quantity(self, number: int, match: re.Match[str]) -> None:
        self._what = "total" if match["what"].startswith("Bandwidth") else "rate"

    @rules(
        rf"(?P<size>[0-9]{{1,12}}) +(?P<pairs>[0-9]{{1,9}}) +(?P<total>{_NUMBER}) +(?P<rise>{_NUMBER}) +"
        rf"(?P<pair>{_NUMBER}) +(?P<fall>{_NUMBER}) +(?P<rate>{_NUMBER})"
    )
    def sweep_row(self, number: int, match: re.Match[str]) -> None:
        if self._form != "sweep":
            self.notes.unparsed(number, match[0])
            return
        for name in ("total", "rise", "pair", "fall", "rate"):
            self._add(number, name, match["pairs"], match["size"], match[name])

    @rules(rf"(?P<size>[0-9]{{1,12}}) +(?P<total>{_NUMBER}) +(?P<rate>{_NUMBER})(?: +(?P<validation>Pass|Fail))?")
    def size_row(self, number: int, match: re.Match[str]) -> None:
        if self._form != "size" or self._pairs is None:
            self.notes.unparsed(number, match[0])
            return
        if match["validation"] == "Fail":
            self.wrong_row(number, match)
        for name in ("total", "rate"):
            self._add(number, name, self._pairs, match["size"], match[name])

    @rules(rf"(?P<size>[0-9]{{1,12}})(?P<values>(?: +{_NUMBER})+)")
    def window_row(self, number: int, match: re.Match[str]) -> None:
        values = match["values"].split()
        if self._form != "window" or len(values) != len(self._windows) or not self._what or self._pairs is None:
            self.notes.unparsed(number, match[0])
            return
        for window, value in zip(self._windows, values, strict=True):
            self._add(number, self._what, self._pairs, f"{match['size']}-w{window}", value)

    @rules(r"(?P<size>[0-9]{1,12})(?: +[0-9]{1,9})?(?: +-?nan| +[0-9.]+)* +-?nan(?: +Fail)?")
    def wrong_row(self, number: int, match: re.Match[str]) -> None:
        self.notes.error(number, f"messages of {match['size']} bytes arrived damaged")

    def _add(self, number: int, what: str, pairs: str, point: str, value: str) -> None:
        operation = f"{what}-{int(pairs)}-{point}"
        if operation in self.records:
            first = self.records[operation].source.line
            self.notes.error(number, appears_twice(name=operation, first=first))
        else:
            self.records[operation] = self.record(operation, value, UNITS[what], number)
            self._exact[operation] = Range.printed(value)

    def finish(self, text: str) -> None:
        if not self.seen.program:
            self.notes.error(None, "not output of this test: line 'Multiple Bandwidth / Message Rate Test' missing")
        self.seen = replace(self.seen, complete=text.endswith("\n") and bool(self.records))
        points = dict.fromkeys(name.partition("-")[2] for name in self.records)
        doubts = {point: doubt for point in points if (doubt := self._contradiction(point))}
        for point, doubt in doubts.items():
            contradicting = [record for what in UNITS if (record := self.records.pop(f"{what}-{point}", None))]
            self.notes.error(contradicting[0].source.line, doubt)

    def _contradiction(self, point: str) -> str:
        """What the numbers of so many pairs and messages of a size say against one another."""
        exact = {what: self._exact[name] for what in UNITS if (name := f"{what}-{point}") in self.records}
        pairs, size = (Range.of(int(word)) for word in point.split("-")[:2])
        if not {"total", "rate"} <= exact.keys():
            return f"{point}: bandwidth or message rate missing; the other is not used"
        claims = [("total", exact["rate"] * size / Range.of(1e6))]
        if "pair" in exact:
            claims.append(("total", exact["pair"] * pairs))
        single = self._exact.get(f"rate-1-{point.split('-')[1]}")
        if "rise" in exact and single:
            claims.append(("rise", exact["rate"] / single))
            claims.append(("fall", pairs * single / exact["rate"]))
        for what, expected in claims:
            if not exact[what].meets(expected):
                found = self.records[f"{what}-{point}"].value
                return contradicts(name=point, column=what, found=found, expected=expected.middle)
        return ""


parse = _PairsReader.parse

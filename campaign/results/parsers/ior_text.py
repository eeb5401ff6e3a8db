"""IOR's text output -> records and an observation. Pure.

Layouts: IOR 3.x and 4.x, and this project's applet, which prints that of 4.x. A row of `Summary of all tests` is a
result, read by the names of its columns; it must agree with the rows of single iterations. IOR as a library (IO500)
prints neither a summary nor a closing line: then the rows are the result, if each repetition has one. Records are
`write` and `read` in MiB/s; with several tests in a script, `write-0`, `write-1` by the test's number.

The summary, and the iterations that it summarises, have the names and the digits of IOR's text, whatever format they
are from.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaign.core.records import Iteration, Record, Source
from campaign.results.parsers.consistency import (
    Range,
    Spread,
    contradicts,
    count_contradicts,
    half_digit,
    spread_impossible,
)
from campaign.results.parsers.lines import LineRules, Notes, Repeats, TextReader, tells_of_failure
from campaign.results.parsers.mdtest_command import COMMAND_TRUNCATED

ACCESSES = ("write", "read", "mix-write", "mix-read")  # the last two: of the applet with --mixed
_ACCESS = r"(?:mix-)?(?:write|read)"
_MIB = 1 << 20
_SHOWN = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,20})?")
_RATES = {"max": "Max(OPs)", "min": "Min(OPs)", "mean": "Mean(OPs)"}


@dataclass(frozen=True, slots=True)
class IterationRow:
    """One write or read of a test. `columns` are those of its row, as far as it has them."""

    line: int
    rate: str  # MiB/s
    columns: Mapping[str, str]

    @property
    def moved_bytes(self) -> int | None:
        seconds = self.columns.get("total(s)", "")
        return round(mebibytes(self.rate) * float(seconds)) if _SHOWN.fullmatch(seconds) else None


class IorSummary:
    """Rows of the summary, of iterations, and of the best of them, by test and access (write, read)."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.iterations: dict[tuple[int, str], list[IterationRow]] = {}
        self.best: dict[tuple[int, str], str] = {}
        self.rows: list[tuple[int, Record, Mapping[str, str]]] = []
        self._all_read = True

    def add(self, line: int, columns: Mapping[str, str]) -> None:
        """A row of the summary. Raises ValueError if it is not a whole one."""
        numbers = [columns.get(name, "") for name in ("Max(MiB)", "Min(MiB)", "Mean(MiB)", "StdDev")]
        access, test, repetitions = columns.get("Operation"), columns.get("Test#", "0"), columns.get("reps", "1")
        counts = test.isdecimal() and repetitions.isdecimal()
        if access not in ACCESSES or not counts or not all(map(_SHOWN.fullmatch, numbers)):
            self._all_read = False
            raise ValueError
        value, lowest, mean, deviation = map(float, numbers)
        source, moved = Source(self._file, line), columns.get("aggs(MiB)", "")
        record = Record(access, value, "MiB/s", source, lowest, mean, deviation, int(repetitions))
        if _SHOWN.fullmatch(moved):
            record = replace(record, moved_bytes=mebibytes(moved))
        self.rows.append((int(test), record, columns))

    def records(self, notes: Notes, by_transfers: bool) -> dict[str, Record]:
        """The records by operation, which names the test if there are several. `by_transfers`: whether the columns of
        operations per second are those of the same time.
        """
        summed = {(test, record.operation) for test, record, _ in self.rows}
        has_several_tests = len({test for test, _ in summed | self.iterations.keys()}) > 1
        for test, access in sorted(self.iterations.keys() - summed if summed and self._all_read else ()):
            name = f"{access}-{test}" if has_several_tests else access
            notes.error(None, f"{name}: rows of iterations, but no row in the summary; result not used")
        records: dict[str, Record] = {}
        for test, record, columns in self.rows:
            line, iterations = record.source.line, self.iterations.get((test, record.operation), [])
            claims = [
                *self._column_claims(test, record.operation),
                *(_claims_from_transfers(columns) if by_transfers else ()),
            ]
            count = len(iterations) if self.iterations else record.iterations
            name = f"{record.operation}-{test}" if has_several_tests else record.operation
            if against := _contradiction(record, half_digit(columns["Max(MiB)"]), count, claims):
                notes.error(line, against)
            elif name in records:
                notes.error(line, f"{name} appears twice; the first, in line {records[name].source.line}, is used")
            else:
                kept_iterations = tuple(Iteration(float(row.rate), Source(self._file, row.line)) for row in iterations)
                records[name] = replace(
                    record, operation=name, each=kept_iterations if len(kept_iterations) > 1 else ()
                )
        return records

    def _column_claims(self, test: int, access: str) -> Iterator[tuple[str, Range]]:
        """What the iterations say of columns."""
        iterations = self.iterations.get((test, access), [])
        if iterations:
            rates, error = [float(row.rate) for row in iterations], max(half_digit(row.rate) for row in iterations)
            yield "max", Range.around_value(max(rates), error)
            yield "min", Range.around_value(min(rates), error)
            yield "mean", Range.around_value(sum(rates) / len(rates), error)
        if best := self.best.get((test, access)):
            yield "max", Range.of_printed(best)


def _contradiction(record: Record, error: float, count: int, claims: Sequence[tuple[str, Range]]) -> str:
    """What contradicts the rest of the output, "" for nothing. Numbers are printed to within `error`; `count`
    iterations were found, and `claims` are about columns.
    """
    name, value = record.operation, record.value
    lowest, mean, deviation = record.minimum or 0.0, record.mean or 0.0, record.stddev or 0.0
    if not Spread(record.iterations, value, lowest, mean, deviation, error).possible():
        line = " ".join(f"{number:.10g}" for number in (value, lowest, mean, deviation))
        return spread_impossible(name=name, count=record.iterations, line=line)
    if count != record.iterations:
        return count_contradicts(name=name, iteration_count=count, expected=record.iterations)
    columns = {"max": value, "min": lowest, "mean": mean}
    for column, expected in claims:
        if not Range.around_value(columns[column], error).meets(expected):
            return contradicts(name=name, column=column, printed_value=columns[column], expected=expected.middle)
    return ""


def _claims_from_transfers(columns: Mapping[str, str]) -> Iterator[tuple[str, Range]]:
    """What the rates in transfers per second say of columns, for transfers of one size."""
    size = columns.get("xsize", "")
    for column, name in _RATES.items():
        rate = columns.get(name, "")
        if re.fullmatch(r"[0-9]{1,15}", size) and _SHOWN.fullmatch(rate):
            yield column, Range.of_printed(rate) * Range.around_value(int(size) / _MIB)


def mebibytes(text: str) -> int:
    """In bytes."""
    return round(float(text) * _MIB)


def row_contradiction(access: str, row: Mapping[str, str], iteration: int) -> str:
    """A contradiction between the columns of an iteration's row: bytes from rate and time, and from the transfers;
    iterations are counted.
    """
    if row.get("iter") != str(iteration):
        return contradicts(name=access, column="iter", printed_value=row.get("iter"), expected=iteration)
    names = ("bw(MiB/s)", "total(s)", "IOPS", "xfer(KiB)", "wr/rd(s)")
    if not all(re.fullmatch(r"[0-9]{1,15}(?:\.[0-9]{1,6})?", row.get(name, "")) for name in names):
        return ""
    rate, total, transfers, size, busy = (Range.of_printed(row[name]) for name in names)
    of_transfers = (
        transfers * size * Range.around_value(1 / 1024)
    )  # MiB/s, in IOR while they went on, in the applet over all
    if not any((of_transfers * seconds).meets(rate * total) for seconds in (busy, total)):
        expected = of_transfers.middle * busy.middle / max(total.middle, 1e-9)
        return contradicts(name=access, column="bw(MiB/s)", printed_value=row[names[0]], expected=expected)
    return ""


_ROW = re.compile(
    "(?P<access>" + _ACCESS + r") +(?P<rate>[0-9]{1,15}(?:\.[0-9]{1,6})?) +\S.* (?P<iteration>[0-9]{1,9}) *"
)
_WORDS_OF = {"write": "-w", "read": "-r"}  # options that request one of the two; without any, IOR does both
_WRONG = re.compile(r"ncorrect data|inconsistent file size by different tasks")
_HARMLESS = re.compile(r"WARNING: Backend returned error during statfs\.?")  # a line of the heading is not told
_KNOWN = (
    r"|\s*(?:Machine|StartTime|Path|FS|test filename|access|type|segments|ordering in a file|ordering inter file"
    r"|task offset|reorder random seed|memoryBuffer|dataAccess|GPUDirect|GPUID|repetitions|xfersize|blocksize"
    r"|aggregate filesize|api|apiVersion|verbose|data|file system|queue depth|memoryPerNode|memoryPerTask"
    r"|stonewallingTime|stoneWallingWearOut|minTimeDuration|transfers at most|interIODelay|randomPrefill|mixed"
    r"|Lustre stripe size|Lustre stripe count|hints.*|clients) *[:=] ?.*"
    r"|Options: |Results: |Summary:|Test [0-9]+ started: .*|[- ]+|remove( +-)+ +[0-9.]+ +[0-9]+ *"
    r"|(?:[0-9]+: )?stonewalling pairs accessed.*|Start time skew across all tasks: .*|Participating tasks *: .*"
    r"|Using reorderTasks .*|Pairs deadlineForStonewallingaccessed: [0-9]+"
    r"|(?:write|read) check of the data, outside the timed part|Dry run: .*"
    r"|Commencing (?:write|read) performance test: .*|Page cache before read: .*|Signature of the data .*"
    r"|Ranks: fastest .*|(?:Latency|Bandwidth) of " + _ACCESS + r" .*"
    r"|Us(?:ed|ing) Time Stamp [0-9]+ .* for Data Signature|#File Hits Dist:[ 0-9]*"
    r"|\[RANK [0-9]+\]: .*"
)
TELLS_NOTHING = re.compile(_KNOWN)


class _IorReader(TextReader):
    """A record's value is the column Max(MiB), over the repetitions."""

    rules = LineRules(_KNOWN)

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self._own = False
        self._test = 0
        self._options: dict[str, int] = {}
        self._summary = IorSummary(file)
        self._row_columns: tuple[str, ...] = ()  # of iterations
        self._doubts: list[tuple[int, str]] = []  # rows of iterations that contradict themselves
        self._in_summary = False
        self._rows = 0
        self._columns: tuple[str, ...] = ()

    @rules(
        r"(?P<upstream>IOR-[\w.+-]+): MPI Coordinated Test of Parallel I/O|ior \((?P<own>campaign bench [\w.+-]+)\): .*"
    )
    def beginning(self, number: int, match: re.Match[str]) -> None:
        self._own = match["own"] is not None
        self.program(number, match["own"] or match["upstream"])

    @rules(r"Command line(?: used)? *: ?(?P<text>.*)")
    def command(self, number: int, match: re.Match[str]) -> None:
        """IOR separates the words by blanks, so that a word with a blank appears as two; the applet quotes
        such words.
        """
        try:
            words = shlex.split(match["text"]) if self._own else match["text"].split()
        except ValueError:
            self.notes.warning(number, COMMAND_TRUNCATED)
        else:
            self.observation = replace(self.observation, argv=tuple(words))

    @rules(r"TestID +: (?P<test>[0-9]{1,6})")
    def test(self, number: int, match: re.Match[str]) -> None:
        self._test = int(match["test"])

    @rules(r"(?P<name>tasks|nodes|clients per node|repetitions) +[:=] (?P<value>[0-9]{1,9})")
    def option(self, number: int, match: re.Match[str]) -> None:
        self._options[match["name"]] = int(match["value"])

    # --- the summary

    @rules(r"Summary of all tests:")
    def summary(self, number: int, match: re.Match[str]) -> None:
        self._in_summary, self._columns = True, ()

    @rules(r"Operation +Max\(MiB\) +Min\(MiB\) +Mean\(MiB\) +StdDev .*#Tasks .*")
    def headings(self, number: int, match: re.Match[str]) -> None:
        if self._in_summary:
            self._columns = tuple(match[0].split())
        else:
            self.notes.unparsed(number, match[0])

    @rules(_ACCESS + r" +[0-9]{1,15}(?:\.[0-9]{1,6})? .*")
    def row(self, number: int, match: re.Match[str]) -> None:
        if self.notes.is_full(number, 0, self._rows):
            return
        self._rows += 1
        if self._columns:
            self._summary_row(number, match[0])
        elif iteration := _ROW.fullmatch(match[0]):
            self._iteration(number, iteration)
        else:
            self.notes.unknown(number, match[0])

    def _summary_row(self, number: int, text: str) -> None:
        try:
            # Of columns with the same name (StdDev) the first counts.
            columns = dict(zip(reversed(self._columns), reversed(text.split()), strict=True))
            self._summary.add(number, columns)
        except ValueError:
            self.notes.unreadable(number, text, f"truncated summary row: {text.strip()}")

    def _iteration(self, number: int, match: re.Match[str]) -> None:
        rows = self._summary.iterations.setdefault((self._test, match["access"]), [])
        columns = dict(zip(self._row_columns, match[0].split(), strict=False)) | {"iter": match["iteration"]}
        if against := row_contradiction(match["access"], columns, len(rows)):
            self._doubts.append((number, against))
        rows.append(IterationRow(number, match["rate"], columns))

    # --- other lines

    @rules(r"access +bw\(MiB/s\) .*")
    def row_headings(self, number: int, match: re.Match[str]) -> None:
        self._row_columns = tuple(match[0].split())

    @rules(r"Max (?P<access>(?:Mix-)?(?:Write|Read)): +(?P<rate>[0-9]{1,15}\.[0-9]{2,3}) MiB/sec \([0-9.]+ MB/sec\)")
    def best(self, number: int, match: re.Match[str]) -> None:
        self._summary.best[self._test, match["access"].lower()] = match["rate"]

    rules(r"(?:Run b|B)egan *: (?P<time>.*)")(TextReader.began)

    @rules(r"(?:Run f|F)inished *: (?P<time>.*)")
    def finished(self, number: int, match: re.Match[str]) -> None:
        self._in_summary, self._columns = False, ()
        self.take_end(match["time"])

    @rules(r"(?:ior )?WARNING: .*")
    def warning(self, number: int, match: re.Match[str]) -> None:
        """IOR prints wrong data, and files whose sizes differ between tasks, as warnings; the applet's own warnings are
        only that.
        """
        if tells_of_wrong(match[0]) and not self._own:
            self.notes.error(number, match[0])
        else:
            self.notes.warning(number, match[0])

    # --- the whole

    def finish(self, text: str) -> None:
        if not self.observation.program:
            self.notes.error(None, "not IOR output: line 'MPI Coordinated Test of Parallel I/O' missing")
        elif not self._summary.rows:
            self._without_summary(text)
        tasks, nodes = self._options.get("tasks"), self._options.get("nodes")
        per_node = self._options.get("clients per node")
        even = tasks is not None and nodes is not None and per_node is not None and per_node * nodes == tasks
        self.observation = replace(
            self.observation,
            processes=tasks,
            nodes=nodes,
            processes_per_node=per_node if even else None,
            placement="block" if tasks == 1 else None,
        )
        # The applet's operations per second are those of the transfers' time alone.
        self.records = self._summary.records(self.notes, by_transfers=not self._own)

    def _without_summary(self, text: str) -> None:
        requested = [access for access, word in _WORDS_OF.items() if word in self.observation.argv] or list(_WORDS_OF)
        rows = {access: rows for (_, access), rows in self._summary.iterations.items()}
        complete_accesses = [access for access in rows if len(rows[access]) == self._options.get("repetitions")]
        if (
            self._own
            or not {*requested} <= {*complete_accesses}
            or len({test for test, _ in self._summary.iterations}) > 1
        ):
            if self.observation.complete:
                self.notes.error(None, "no summary of all tests: no results")
            return
        if self._doubts:
            self.notes.error(*self._doubts[0])
            return
        self.notes.warning(
            None,
            "no summary of all tests (IOR called by another program?): results are read from the rows of the "
            "iterations",
        )
        self.observation = replace(self.observation, complete=text.endswith("\n"))
        values = Repeats(self.notes)
        for access in complete_accesses:
            for row in rows[access]:
                values.add(access, float(row.rate), "MiB/s", row.line, {"moved_bytes": row.moved_bytes})
        rate_by_line = {row.line: row.rate for access in complete_accesses for row in rows[access]}
        for record in values.records():
            self._summary.rows.append((self._test, record, {"Max(MiB)": rate_by_line[record.source.line]}))


def tells_of_wrong(warning: str) -> bool:
    """Whether one of IOR's warnings makes its numbers worthless."""
    return bool(tells_of_failure(warning) or _WRONG.search(warning)) and not _HARMLESS.fullmatch(warning)


parse = _IorReader.parse

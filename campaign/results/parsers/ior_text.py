"""IOR's text output -> records and an observation. Pure.

Layouts: IOR 3.x and 4.x, and this project's applet, which prints that of 4.x. Only a row of `Summary of all tests` is a
result, read by the names of its columns; the rows of single iterations must bear it out.

Records are `write` and `read` in MiB/s; where a script made several tests, `write-0`, `write-1` by the test's number.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from campaign.core.model import Observation, Record, Source
from campaign.results.parsers import lines, local_time
from campaign.results.parsers.lines import Notes, tells_of_failure

_PROGRAM = re.compile(
    r"(?P<upstream>IOR-[\w.+-]+): MPI Coordinated Test of Parallel I/O|ior \((?P<own>campaign bench [\w.+-]+)\): .*"
)
_COMMAND = re.compile(r"Command line(?: used)? *: ?(?P<text>.*)")
_TEST = re.compile(r"TestID +: (?P<test>[0-9]{1,6})")
_OPTION = re.compile(r"(?P<name>tasks|nodes|clients per node) +: (?P<value>[0-9]{1,9})")
_ROW = re.compile(r"(?P<access>write|read) +(?P<rate>[0-9]{1,15}(?:\.[0-9]{1,6})?) +\S.* (?P<iteration>[0-9]{1,9}) *")
_SUMMARY = re.compile(r"Summary of all tests:")
_HEADINGS = re.compile(r"Operation +Max\(MiB\) +Min\(MiB\) +Mean\(MiB\) +StdDev .*#Tasks .*")
_RESULT = re.compile(r"(?P<operation>write|read) +(?P<words>[0-9]{1,15}\.[0-9]{2,3} .*)")
_BEGAN = re.compile(r"(?:Run b|B)egan *: (?P<time>.*)")
_FINISHED = re.compile(r"(?:Run f|F)inished *: (?P<time>.*)")
_WARNING = re.compile(r"(?:ior )?WARNING: .*")
_KNOWN = re.compile(
    r"|(?:Machine|StartTime|Path|FS|test filename|access|type|segments|ordering in a file|ordering inter file"
    r"|task offset|reorder random seed|memoryBuffer|dataAccess|GPUDirect|GPUID|repetitions|xfersize|blocksize"
    r"|aggregate filesize|api|apiVersion|verbose|data|file system|queue depth|memoryPerNode|memoryPerTask"
    r"|stonewallingTime|stoneWallingWearOut|Lustre stripe size|Lustre stripe count|hints.*) *: ?.*"
    r"|Options: |Results: |access +bw\(MiB/s\) .*|[- ]+|remove( +-)+ +[0-9.]+ +[0-9]+ *"
    r"|Max (?:Write|Read): +[0-9.]+ MiB/sec \([0-9.]+ MB/sec\)"
    r"|Start time skew across all tasks: .*|Participating tasks *: .*|Using reorderTasks .*"
    r"|Commencing (?:write|read) performance test: .*|Page cache before read: .*|Signature of the data .*"
    r"|Ranks: fastest .*|Used Time Stamp [0-9]+ .* for Data Signature|stonewalling pairs accessed .*"
    r"|\[RANK [0-9]+\]: .*"
)
_ROUNDED = 0.002  # rows have as few as four digits


@dataclass(slots=True)
class _Rows:
    """Rates of the iterations of one test and access, as the rows have them."""

    rates: list[float] = field(default_factory=list)


def parse(text: str, file: str) -> tuple[list[Record], Observation]:
    """`text` is the standard output of one execution, `file` its name in sources and messages. Nothing is raised.

    A record's value is the column Max(MiB), over the repetitions.
    """
    reader = _Reader(file)
    rules = (
        (_PROGRAM, reader.program),
        (_COMMAND, reader.command),
        (_TEST, reader.test),
        (_OPTION, reader.option),
        (_SUMMARY, reader.summary),
        (_HEADINGS, reader.headings),
        (_RESULT, reader.result_row),
        (_ROW, reader.row),
        (_BEGAN, reader.began),
        (_FINISHED, reader.finished),
        (_WARNING, reader.warning),
        (_KNOWN, lines.ignore),
    )
    lines.apply(text, rules, reader.notes)
    return reader.result()


class _Reader:
    def __init__(self, file: str) -> None:
        self._file = file
        self.notes = Notes(file)
        self._program = ""
        self._own = False
        self._argv: tuple[str, ...] = ()
        self._tests: list[int] = []
        self._options: dict[str, int] = {}
        self._rows: dict[tuple[int, str], _Rows] = {}
        self._columns: tuple[str, ...] = ()
        self._in_summary = False
        self._found: list[tuple[int, Record]] = []  # with the test's number
        self._complete = False
        self._began: float | None = None
        self._ended: float | None = None

    def program(self, number: int, match: re.Match[str]) -> None:
        if self._program:
            self.notes.error(number, "a second beginning: several copies ran on their own, or one after another")
        self._program, self._own = match["own"] or match["upstream"], match["own"] is not None
        self._complete = False

    def command(self, number: int, match: re.Match[str]) -> None:
        """IOR joins the words with blanks, so that one with a blank in it comes back as two; the applet quotes them."""
        try:
            self._argv = tuple(shlex.split(match["text"]) if self._own else match["text"].split())
        except ValueError:
            self.notes.warning(number, "the printed command line is cut off: what was executed is not known from it")

    def test(self, number: int, match: re.Match[str]) -> None:
        self._tests.append(int(match["test"]))

    def option(self, number: int, match: re.Match[str]) -> None:
        self._options[match["name"]] = int(match["value"])

    def row(self, number: int, match: re.Match[str]) -> None:
        key = (self._tests[-1] if self._tests else 0, match["access"])
        self._rows.setdefault(key, _Rows()).rates.append(float(match["rate"]))

    # --- the summary

    def summary(self, number: int, match: re.Match[str]) -> None:
        self._in_summary, self._columns = True, ()

    def headings(self, number: int, match: re.Match[str]) -> None:
        if self._in_summary:
            self._columns = tuple(match[0].split())
        else:
            self.notes.unparsed(number, match[0])

    def result_row(self, number: int, match: re.Match[str]) -> None:
        if not self._columns:
            # Outside of a summary it is the row of an iteration.
            row = _ROW.fullmatch(match[0])
            if row:
                self.row(number, row)
            else:
                self.notes.unknown(number, match[0])
            return
        record = self._record(number, match[0].split())
        if record is None:
            self.notes.error(number, f"is not a whole row of the summary: {match[0].strip()}")
            self.notes.unparsed(number, match[0])
        else:
            self._found.append(record)

    def _record(self, number: int, words: Sequence[str]) -> tuple[int, Record] | None:
        if len(words) != len(self._columns):
            return None
        # Of columns with the same name (StdDev) the first counts.
        row = dict(zip(reversed(self._columns), reversed(words), strict=True))
        try:
            value, lowest, mean, deviation = (
                float(row[name]) for name in ("Max(MiB)", "Min(MiB)", "Mean(MiB)", "StdDev")
            )
            test, repetitions = int(row.get("Test#", "0")), int(row["reps"])
        except (KeyError, ValueError):
            return None
        if not lowest - 0.02 <= mean <= value + 0.02:  # each is rounded
            return None
        source = Source(self._file, number)
        return test, Record(row["Operation"], value, "MiB/s", source, lowest, mean, deviation, repetitions)

    # --- other lines

    def finished(self, number: int, match: re.Match[str]) -> None:
        self._complete, self._in_summary, self._columns = True, False, ()
        self._ended = local_time.parse(match["time"])

    def began(self, number: int, match: re.Match[str]) -> None:
        if self._began is None:
            self._began = local_time.parse(match["time"])

    def warning(self, number: int, match: re.Match[str]) -> None:
        """IOR calls data that is not what was written a warning; the applet's own warnings are what they say."""
        if not self._own and (tells_of_failure(match[0]) or "ncorrect data" in match[0]):
            self.notes.error(number, match[0])
        else:
            self.notes.warning(number, match[0])

    # --- the whole

    def result(self) -> tuple[list[Record], Observation]:
        if not self._program:
            self.notes.error(None, "no line 'MPI Coordinated Test of Parallel I/O': this is no output of IOR")
        elif not self._found and self._complete:
            self.notes.error(None, "no summary of all tests: it holds no results")
        tasks, nodes = self._options.get("tasks"), self._options.get("nodes")
        per_node = self._options.get("clients per node")
        even = tasks is not None and nodes is not None and per_node is not None and per_node * nodes == tasks
        return self._records(), Observation(
            program=self._program,
            argv=self._argv,
            processes=tasks,
            nodes=nodes,
            processes_per_node=per_node if even else None,
            placement="block" if tasks == 1 else None,
            began_local=self._began,
            ended_local=self._ended,
            complete=self._complete,
            errors=self.notes.errors,
            warnings=self.notes.warnings,
            unparsed=self.notes.unread,
        )

    def _records(self) -> list[Record]:
        several = len({test for test, _ in self._found}) > 1
        records: dict[str, Record] = {}
        for test, record in self._found:
            self._check(test, record)
            name = f"{record.operation}-{test}" if several else record.operation
            if name in records:
                self.notes.error(record.source.line, f"{name} stands twice in the summary: the first counts")
                continue
            records[name] = Record(
                name, record.value, record.unit, record.source, record.minimum, record.mean, record.stddev,
                record.iterations,
            )  # fmt: skip
        return list(records.values())

    def _check(self, test: int, record: Record) -> None:
        """The summary's maximum is that of its rows, and there are as many as repetitions."""
        rows = self._rows.get((test, record.operation))
        if rows is None:
            return
        if len(rows.rates) != record.iterations:
            self.notes.warning(
                record.source.line,
                f"{record.operation}: {len(rows.rates)} rows of iterations, {record.iterations} repetitions",
            )
        best = max(rows.rates)
        if abs(best - record.value) > _ROUNDED * record.value + 0.02:
            self.notes.error(
                record.source.line, f"{record.operation}: Max {record.value}, the best row has {best}: one is wrong"
            )

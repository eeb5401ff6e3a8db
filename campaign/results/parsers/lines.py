"""What the readers of raw output have in common. Pure.

Lines that hold no result: errors, warnings, unknown ones, each with its place, limited in number. The reader of a text,
which is a class with `rules`: patterns of whole lines, each above the method that takes such a line:

    class _HplReader(TextReader):
        rules = LineRules(known=r"=+|-+")

        @rules(r"WR[0-9A-Z]+ .* (?P<rate>[0-9.e+]+)")
        def result(self, number: int, match: re.Match[str]) -> None:
            self.records["hpl"] = Record("hpl", float(match["rate"]), "Gflop/s", Source(self.file, number))

And the numbers of one operation over the iterations of an execution, which become one record.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from statistics import pstdev, stdev
from typing import Any, ClassVar, TypeVar

from campaign.core.frozen import replace
from campaign.core.line_pattern import LineSearch
from campaign.core.records import Iteration, Observation, OutputRemark, Record, Source
from campaign.results.parsers import notices

NO_END = "CSV has no closing line: cannot tell whether the benchmark finished"
TWO_RUNS = "a second run in one output: several copies were started instead of one MPI job?"

LONGEST_LINE = 1 << 20  # a node map has one character a rank
KEPT = 20  # errors, and warnings, of one file; further ones are only counted
UNPARSED_KEPT = 50
SHOWN = 300  # characters of a line
# Of one output: numbers, one of each process, which take half a kilobyte each until it is read; results; and iterations
# of a result that are kept afterwards.
MOST_NUMBERS, MOST_RESULTS, MOST_ITERATIONS = 100_000, 20_000, 1_000
_KINDS = {
    "errors": (KEPT, "{count} more errors"),
    "warnings": (KEPT, "{count} more warnings"),
    "unparsed": (UNPARSED_KEPT, "{count} more unrecognised lines"),
}

# The last two are Open MPI's closing remark about earlier messages; it says "error messages" whatever they were.
_is_warning = LineSearch(r"(?i:\bwarning\b)|orte_base_help_aggregate|more process(?:es)? ha(?:s|ve) sent help message")
_has_words_of_error = LineSearch(
    r"(?i)\berrors?\b|\bfail(?:ed|ure|ures|s)?\b|\babort(?:ed|ing)?\b|\bunable to\b"
    r"|\bcannot\b|\bcan't\b|\bcould not\b"
    r"|\binvalid\b|\bcouldn'?t\b|\bdenied\b|\bno such file\b|\brefused\b"
    r"|\bORTE_ERROR_LOG\b|\bretry count exceeded\b"
)
_NO_ERRORS = re.compile(r"\b(?:no|0) errors?\b", re.IGNORECASE)


# A launcher's messages about an ended process, in no particular order with that process's own.
_reports_end = LineSearch(
    r"\bsrun: error: .*\b(?:Exited with exit code|Killed|Terminated)\b|\bsrun: (?:error: )?Job step aborted\b"
    r"|_step_signal: Terminating\b|\bslurmstepd\S*: error: .*\bCANCELLED AT\b"
    r"|\bmpirun .*\bnon-zero (?:status|exit code)\b"
)
# Open MPI's explanations after "MPI_ABORT was invoked", which is an error.
_EXPLAINED = re.compile(
    r"with errorcode -?\d+\.|NOTE: invoking MPI_ABORT causes Open MPI to kill all MPI processes\."
    r"|You may or may not see output from other processes, depending on|exactly when Open MPI kills them\."
)


# srun waiting for the nodes of the previous step, before the benchmark starts.
_WAITED = re.compile(
    r"srun: (?:Job (?:\S+ )?step creation temporarily disabled, retrying(?: \(.*\))?"
    r"|Step created for (?:job \S+|StepId=\S+))"
)


def follows_from_end(text: str) -> bool:
    """Whether a launcher reports here that a process has ended, without a reason: the process's own message has it."""
    return _reports_end(text) and "DUE TO" not in text


def grade(text: str) -> str | None:
    """`error`, `warning` or None for a line of an unknown program."""
    if notices.is_fatal(text) or _reports_end(text):
        return "error"
    if _is_warning(text):
        return "warning"
    return "error" if _is_error(text) else None


def _is_error(text: str) -> bool:
    return _has_words_of_error(text) and _has_words_of_error(_NO_ERRORS.sub("", text))


def tells_of_failure(text: str) -> bool:
    """Whether its words say that something failed, whatever the line calls itself."""
    return notices.is_fatal(text) or _is_error(text)


def printable_line(text: str) -> str:
    """A line that can be printed anywhere: control characters escaped, limited length."""
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


class Notes:
    """Errors, warnings and unknown lines of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._kept: dict[str, list[OutputRemark]] = {kind: [] for kind in _KINDS}  # the first few
        self._more = Counter[str]()
        self._full = set[str]()

    def _add(self, kind: str, line: int | None, text: str) -> None:
        if len(self._kept[kind]) < _KINDS[kind][0]:
            self._kept[kind].append(OutputRemark(printable_line(text), self.file, line))
        else:
            self._more[kind] += 1

    def _all(self, kind: str) -> tuple[OutputRemark, ...]:
        further = self._more[kind]
        return (
            *self._kept[kind],
            *([OutputRemark(_KINDS[kind][1].format(count=further), self.file, count=further)] if further else []),
        )

    def error(self, line: int | None, text: str) -> None:
        """`line` None: the file as a whole."""
        self._add("errors", line, text)

    def warning(self, line: int | None, text: str) -> None:
        self._add("warnings", line, text)

    def unparsed(self, line: int, text: str) -> None:
        self._add("unparsed", line, text)

    def unknown(self, line: int, text: str) -> None:
        """Classify an unknown line by its words: error, warning, or unparsed. Empty lines are ignored."""
        if not text.strip(" \t-=") or _EXPLAINED.fullmatch(text.strip()) or _WAITED.fullmatch(text.strip()):
            return
        add = {"error": self.error, "warning": self.warning, None: self.unparsed}[grade(text)]
        add(line, text.strip())

    def numbered_lines(
        self, text: str, is_known: Callable[[str], bool] = lambda line: False
    ) -> Iterator[tuple[int, str]]:
        """The lines of a text without notices of libraries, the first of each kind of which becomes a warning.
        `is_known`: whether a line has another meaning and so is no notice.
        """
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        notice_lines = set[int]()
        kinds: dict[str, list[int]] = {}
        for first, filled in notices.find_notices(lines):
            if not any(is_known(lines[at]) for at in filled):
                kinds.setdefault(notices.kind(lines[first]), []).append(first)
                notice_lines.update(filled)
        for first, *repeated in kinds.values():
            words = lines[first].strip()
            self.warning(first + 1, f"{words} (and {len(repeated)} like it)" if repeated else words)
        return ((at + 1, line) for at, line in enumerate(lines) if at not in notice_lines)

    def is_full(self, line: int, numbers: int, results: int) -> bool:
        """Whether no further number of the output is kept; the first one that is not is an error."""
        if numbers < MOST_NUMBERS and results < MOST_RESULTS:
            return False
        limit = f"{MOST_NUMBERS} numbers" if numbers >= MOST_NUMBERS else f"{MOST_RESULTS} results"
        if limit not in self._full:
            self._full.add(limit)
            self.error(line, f"more than {limit}; the rest was not read")
        return True

    def unreadable(self, line: int, text: str, error: str) -> None:
        """A line that should contain a result, but whose number is not used."""
        self.error(line, error)
        self.unparsed(line, text)

    def added_to(self, observation: Observation) -> Observation:
        errors, warnings, unparsed = map(self._all, _KINDS)
        return replace(observation, errors=errors, warnings=warnings, unparsed=unparsed)


def line_too_long(length: object, limit: object) -> str:
    return f"line of {length} characters ignored; at most {limit} are read"


# --- the reader of a text

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

    def __init__(self, known_lines: str) -> None:
        self._known = re.compile(known_lines)
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
        self.observation = Observation()
        self.records: dict[str, Record] = {}  # by operation

    @classmethod
    def parse(cls, text: str, file: str) -> Parsed:
        """Parse `text`, the output of one execution; `file` is its name in sources and messages. Nothing is raised."""
        return cls(file).read(text)

    def read(self, text: str) -> Parsed:
        """Records and observation of the whole text."""
        for number, line in self.notes.numbered_lines(text):
            if len(line) > LONGEST_LINE:
                self.notes.error(number, line_too_long(length=len(line), limit=LONGEST_LINE))
            else:
                self.line(number, line)
        self.finish(text)
        return [*self.records.values()], self.notes.added_to(self.observation)

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
        if self.observation.program:
            self.notes.error(number, TWO_RUNS)
        self.observation = replace(self.observation, program=name, complete=False)

    def began(self, number: int, match: re.Match[str]) -> None:
        """A beginning, at the group `time`: the first one counts."""
        if self.observation.began_local is None:
            self.observation = replace(self.observation, began_local=local_time(match["time"]))

    def take_end(self, time: str, complete: bool = True) -> None:
        """An end: the last one counts."""
        self.observation = replace(self.observation, ended_local=local_time(time), complete=complete)


# --- the iterations of an operation


class Repeats:
    """Collects values with their lines in the file of `notes`, by operation. `of_sample`: whether their deviation is
    that of a sample.
    """

    def __init__(self, notes: Notes, of_sample: bool = True) -> None:
        self._notes, self._of_sample = notes, of_sample
        self._count = 0
        self._units: dict[str, str] = {}
        self._each: dict[str, list[Iteration]] = {}

    def add(self, operation: str, value: float, unit: str, line: int, details: Mapping[str, Any] | None = None) -> None:
        """`details`: further fields of the record that are known for this iteration."""
        if self._notes.is_full(line, self._count, len(self._each)):
            return
        self._count += 1
        self._units.setdefault(operation, unit)
        iteration = Iteration(value, Source(self._notes.file, line), details or {})
        self._each.setdefault(operation, []).append(iteration)

    def records(self) -> list[Record]:
        """A record for each operation: the best iteration, at its line, with the spread of all."""
        return [self._record(operation, iterations) for operation, iterations in self._each.items()]

    def _record(self, operation: str, iterations: Sequence[Iteration]) -> Record:
        unit, values = self._units[operation], [iteration.value for iteration in iterations]
        lowest = unit == "s"
        best = iterations[values.index(min(values) if lowest else max(values))]
        details: Mapping[str, Any] = best.details
        return Record(
            operation,
            best.value,
            unit,
            best.source,
            min(values),
            sum(values) / len(values),
            deviation(values, self._of_sample),
            len(values),
            statistic="minimum" if lowest else "maximum",
            each=tuple(iterations) if 1 < len(iterations) <= MOST_ITERATIONS else (),
            **details,
        )


def deviation(values: Sequence[float], of_sample: bool = True) -> float:
    """Standard deviation, 0 for one value: of a sample, or of the values as all that there are."""
    if len(values) < 2:
        return 0.0
    return stdev(values) if of_sample else pstdev(values)

"""Lines of raw output that hold no result: errors, warnings, unknown ones, each with its place, limited in number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from campaign.core.model import Observation, OutputRemark
from campaign.results.parsers import notices

TWO_RUNS = "a second run in one output: several copies were started instead of one MPI job?"


LONGEST_LINE = 1 << 20  # a node map has one character a rank
KEPT = 20  # errors, and warnings, of one file; further ones are only counted
UNPARSED_KEPT = 50
SHOWN = 300  # characters of a line
_KINDS = {
    "errors": (KEPT, "{count} more errors"),
    "warnings": (KEPT, "{count} more warnings"),
    "unparsed": (UNPARSED_KEPT, "{count} more unrecognised lines"),
}

_WARNING = re.compile(r"\bwarning\b", re.IGNORECASE)
_ERROR = re.compile(
    r"(?<!\bno )(?<!\b0 )\berrors?\b|\bfail(?:ed|ure|ures|s)?\b|\babort(?:ed|ing)?\b|\bunable to\b"
    r"|\bcannot\b|\bcan't\b|\bcould not\b"
    r"|\binvalid\b|\bcouldn'?t\b|\bdenied\b|\bno such file\b|\brefused\b"
    r"|\bORTE_ERROR_LOG\b|\bretry count exceeded\b",
    re.IGNORECASE,
)
# Open MPI's closing remark about earlier messages; it says "error messages" whatever they were.
_REMARK = re.compile(r"orte_base_help_aggregate|more process(?:es)? ha(?:s|ve) sent help message")


# A launcher's messages about an ended process, in no particular order with that process's own.
_AFTERWARDS = re.compile(
    r"\bsrun: error: .*\b(?:Exited with exit code|Killed|Terminated)\b|\bsrun: (?:error: )?Job step aborted\b"
    r"|_step_signal: Terminating\b|\bslurmstepd\S*: error: .*\bCANCELLED AT\b(?!.*\bDUE TO\b)"
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
    """Whether a launcher reports here that a process has ended; the process's own message is more precise."""
    return bool(_AFTERWARDS.search(text))


def grade(text: str) -> str | None:
    """`error`, `warning` or None for a line of an unknown program."""
    if notices.FATAL.search(text) or _AFTERWARDS.search(text):
        return "error"
    if _WARNING.search(text) or _REMARK.search(text):
        return "warning"
    return "error" if _ERROR.search(text) else None


def is_fatal(text: str) -> bool:
    """Whether it reports a crash, or a file system on which nothing can be measured."""
    return notices.FATAL.search(text) is not None


def tells_of_failure(text: str) -> bool:
    """Whether its words say that something failed, whatever the line calls itself."""
    return bool(notices.FATAL.search(text) or _ERROR.search(text))


def shown(text: str) -> str:
    """A line that can be printed anywhere: control characters escaped, limited length."""
    cut = text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text)} characters)"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


class Notes:
    """Errors, warnings and unknown lines of one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._kept: dict[str, list[OutputRemark]] = {kind: [] for kind in _KINDS}  # the first few
        self._more = Counter[str]()

    def _add(self, kind: str, line: int | None, text: str) -> None:
        if len(self._kept[kind]) < _KINDS[kind][0]:
            self._kept[kind].append(OutputRemark(shown(text), self._file, line))
        else:
            self._more[kind] += 1

    def _all(self, kind: str) -> tuple[OutputRemark, ...]:
        more = self._more[kind]
        return (
            *self._kept[kind],
            *([OutputRemark(_KINDS[kind][1].format(count=more), self._file, count=more)] if more else []),
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

    def numbered(self, text: str, is_known: Callable[[str], bool] = lambda line: False) -> Iterator[tuple[int, str]]:
        """The lines of a text without notices of libraries, the first of each kind of which becomes a warning.
        `is_known`: whether a line has another meaning and so is no notice.
        """
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        taken = set[int]()
        kinds: dict[str, list[int]] = {}
        for first, filled in notices.found(lines):
            if not any(is_known(lines[at]) for at in filled):
                kinds.setdefault(notices.kind(lines[first]), []).append(first)
                taken.update(filled)
        for first, *more in kinds.values():
            words = lines[first].strip()
            self.warning(first + 1, f"{words} (and {len(more)} like it)" if more else words)
        return ((at + 1, line) for at, line in enumerate(lines) if at not in taken)

    def unreadable(self, line: int, text: str, error: str) -> None:
        """A line that should contain a result, but whose number is not used."""
        self.error(line, error)
        self.unparsed(line, text)

    def added_to(self, seen: Observation) -> Observation:
        errors, warnings, unparsed = map(self._all, _KINDS)
        return replace(seen, errors=errors, warnings=warnings, unparsed=unparsed)


def line_too_long(length: object, most: object) -> str:
    return f"line of {length} characters ignored; at most {most} are read"

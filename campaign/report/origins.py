"""The origin of each number: its run, job, nodes, command line, findings, and its log line with those around it.

Reads the raw outputs, within limits.
"""

from __future__ import annotations

import functools
import os
import shlex
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from campaign.core import units, untrusted
from campaign.core.model import Attempt, Record, Run
from campaign.report.contents import Contents
from campaign.results.case import Case
from campaign.results.cells import Row
from campaign.slurm import scripts

AROUND = 5  # lines of the log before and after that of a number
LONGEST = 200  # characters of a line that are shown
READ_BYTES = 16 << 20  # of a log
EXCERPTS = 1_500_000  # characters of all excerpts on a page, which a browser has to open


@dataclass(frozen=True, slots=True)
class LogLine:
    number: int
    text: str
    reported: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the raw output that a number was read from, with those around it; `unread`: why they are missing."""

    record: Record
    link: str  # to the raw output, relative to the page
    log: tuple[LogLine, ...]
    unread: str

    @property
    def value(self) -> str:
        return f"{self.record.value:.15g} {self.record.unit}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of one number; fields that do not apply are empty. `anchor` is the address of its part of the page."""

    row: Row
    anchor: str
    places: tuple[Place, ...]  # several for a computed number
    formula: str
    command: str
    ran: str  # `8 processes × 2 nodes (4 on each)`
    nodes: str
    spread: str

    @property
    def cell(self) -> str:
        return str(self.row.cell)

    @property
    def value(self) -> str:
        return f"{self.row.value:.15g} {self.row.unit}" if self.row.value is not None else ""

    @property
    def record(self) -> Record | None:
        """None if no attempt is behind it."""
        return self.row.record if self.row.attempt is not None else None

    @property
    def unchecked(self) -> str:
        return ", ".join(dict.fromkeys(finding.rule for finding in self.row.findings if not finding.checked))


def origins(directory: Path, contents: Contents) -> list[Origin]:
    """One for each row of the table, in its order. `directory` is where the page will be."""
    logs = _Logs(contents.root)
    cases = {(case.run.id, case.attempt.number): case for case in contents.results}
    return [_origin(directory, contents, row, logs, cases) for row in contents.rows]


def anchor(row: Row) -> str:
    return urllib.parse.quote(str(row.cell))


def place(row: Row) -> str:
    """`1234.567 ops/s, attempt 2 of scratch.node.unique.r1, job 17, runs/…/stdout line 14`."""
    if row.record is None or row.attempt is None or row.run is None:
        return str(row.cell)
    source = " and ".join(f"{part.source.file} line {part.source.line}" for part in row.record.measured)
    return f"{row.value} {row.unit}, attempt {row.attempt.number} of {row.run.id}, job {row.attempt.job_id}, {source}"


def _origin(
    directory: Path, contents: Contents, row: Row, logs: _Logs, cases: Mapping[tuple[str, int], Case]
) -> Origin:
    run, attempt, record = row.run, row.attempt, row.record
    nodes = ""
    places = tuple(
        Place(part, _link(directory, contents.root / part.source.file), *logs.around(part))
        for part in (record.measured if record is not None else ())
    )
    formulas = {operation.id: operation.formula for operation in contents.pack.operations}
    formula = formulas.get(row.cell.operation, "") if record is not None and record.parts else ""
    if run is not None and attempt is not None and (case := cases.get((run.id, attempt.number))):
        nodes = ", ".join(case.seen.node_names)
    geometry = row.geometry
    ran = ""
    if geometry is not None:
        spread = geometry.spread if geometry.larger else f"{geometry.processes_per_node} on each"
        each = f" ({spread})" if geometry.nodes > 1 else ""
        ran = f"{geometry.processes} × {geometry.nodes}{each}"
    command = _command(contents, run, attempt) if run is not None and row.projection is None else ""
    return Origin(row, anchor(row), places, formula, command, ran, nodes, _spread(row))


def _command(contents: Contents, run: Run, attempt: Attempt | None) -> str:
    token = attempt.token if attempt is not None else "TOKEN"
    return "\n".join(map(shlex.join, scripts.each_command(run, contents.campaign.slurm, token)))


def _link(directory: Path, file: Path) -> str:
    """The raw output, as an address relative to the page."""
    return "./" + urllib.parse.quote(os.path.relpath(file.resolve(), directory.resolve()))


def _spread(row: Row) -> str:
    summary = row.summary
    if summary.n < 2 or summary.median is None:
        return ""
    text = f"median of {summary.n}: {units.digits(summary.median)}"
    if summary.low is not None and summary.high is not None:
        text += f", 95% interval {units.digits(summary.low)} to {units.digits(summary.high)}"
    if row.selection is not None:
        text += f", reported value {row.selection:+.1%} by selection"
    if summary.cv is not None:
        text += f", variation {summary.cv:.1%}"
    return text


class _Logs:
    """Gives lines around numbers, limited in total."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.left = EXCERPTS
        self.lines = functools.lru_cache(maxsize=4)(_lines)  # numbers of one run follow each other

    def around(self, record: Record) -> tuple[tuple[LogLine, ...], str]:
        """The lines, or why they are missing."""
        lines, place = self.lines(self.root / record.source.file), record.source.line
        if isinstance(lines, str):
            return (), lines
        near = range(max(1, place - AROUND), min(len(lines), place + AROUND) + 1)
        log = tuple(LogLine(number, _cut(lines[number - 1]), number == place) for number in near)
        self.left -= sum(len(line.text) for line in log)
        if self.left < 0:
            return (), "left out because this page would become too large; open the raw output"
        if place > len(lines):
            return (), f"the file has no line {place} in its first {READ_BYTES >> 20} MiB"
        return log, ""


def _lines(path: Path) -> list[str] | str:
    """The lines of a log, or why it cannot be read."""
    try:
        raw, _ = untrusted.read(path, READ_BYTES)
    except untrusted.NotPlain:
        return "the raw output is not a regular file"
    except OSError as error:
        return f"the raw output cannot be read: {error.strerror}"
    return raw.decode("utf-8", errors="replace").split("\n")


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"

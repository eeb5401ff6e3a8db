"""The origin of each number: its run, job, nodes, command line, findings, and its log line with those around it.

Reads the raw outputs, within limits.
"""

from __future__ import annotations

import functools
import os
import shlex
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from campaign.core import untrusted
from campaign.core.records import Record
from campaign.report.contents import Contents
from campaign.results.case import Case
from campaign.results.cells import Row
from campaign.slurm import scripts

AROUND = 5  # lines of the log before and after that of a number
LONGEST = 200  # characters of a line that are shown
READ_BYTES = 16 << 20  # of a log
EXCERPTS = 1_500_000  # characters of all excerpts on a page, which a browser has to open


def cell_origins(directory: Path, contents: Contents) -> list[dict[str, Any]]:
    """For the page: one for each row of the table, in its order. `directory` is where the page will be."""
    logs = _Logs(contents.campaign.results)
    cases = {(case.run.id, case.attempt.number): case for case in contents.results}
    return [_origin(directory, contents, row, logs, cases) for row in contents.rows]


def anchor(row: Row) -> str:
    return urllib.parse.quote(str(row.cell))


def link_to_output(contents: Contents, file: str, directory: Path) -> str:
    """The address of a raw output for a page in `directory`; "" if it is only in an archive."""
    root = contents.linked_results
    return urllib.parse.quote(os.path.relpath((root / file).resolve(), directory.resolve())) if root else ""


def describe_origin(row: Row) -> str:
    """Where a number comes from: `1234.5 ops/s, attempt 2 of scratch.node.unique.r1, job 17, runs/…/stdout line 14`."""
    if row.record is None or row.attempt is None or row.run is None:
        return str(row.cell)
    source = " and ".join(f"{part.source.file} line {part.source.line}" for part in row.record.measured_records)
    return f"{row.value} {row.unit}, attempt {row.attempt.number} of {row.run.id}, job {row.attempt.job_id}, {source}"


def _origin(
    directory: Path, contents: Contents, row: Row, logs: _Logs, cases: Mapping[tuple[str, int], Case]
) -> dict[str, Any]:
    """The origin of one number; what does not apply is empty."""
    run, attempt, record = row.run, row.attempt, row.record
    nodes = ""
    places = [
        {
            "record": part,
            "value": f"{part.value:.15g} {part.unit}",
            "link": f"./{link}" if (link := link_to_output(contents, part.source.file, directory)) else "",
            **logs.excerpt(part),
        }
        for part in (record.measured_records if record is not None else ())
    ]
    if run is not None and attempt is not None and (case := cases.get((run.id, attempt.number))):
        nodes = ", ".join(case.observation.node_names)
    commands: Iterable[Sequence[str]] = ()
    if run is not None and row.projection is None:
        commands = scripts.each_command(run, contents.campaign.slurm, attempt.token if attempt is not None else "TOKEN")
    return {
        "row": row,
        "cell": str(row.cell),
        "value": f"{row.value:.15g} {row.unit}" if row.value is not None else "",
        "record": record if attempt is not None else None,  # None if no attempt is behind it
        "unchecked": ", ".join(dict.fromkeys(finding.rule for finding in row.findings if not finding.checked)),
        "anchor": anchor(row),  # the address of its part of the page
        "places": places,  # several for a computed number
        "command": "\n".join(map(shlex.join, commands)),
        "nodes": nodes,
    }


class _Logs:
    """Gives lines around numbers, limited in total."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.left = EXCERPTS
        self.lines = functools.lru_cache(maxsize=4)(_lines)  # numbers of one run follow each other

    def excerpt(self, record: Record) -> dict[str, Any]:
        """The lines around the one that a number was read from, by their numbers; `unread`: why they are missing."""
        lines, place = self.lines(self.root / record.source.file), record.source.line
        if isinstance(lines, str):
            return {"log": {}, "unread": lines}
        near = range(max(1, place - AROUND), min(len(lines), place + AROUND) + 1)
        log = {number: lines[number - 1] for number in near}
        self.left -= sum(map(len, log.values()))
        if self.left < 0:
            return {"log": {}, "unread": "left out because this page would become too large; open the raw output"}
        if place > len(lines):
            return {"log": {}, "unread": f"the file has no line {place} in its first {READ_BYTES >> 20} MiB"}
        return {"log": log, "unread": ""}


def _lines(path: Path) -> list[str] | str:
    """The lines of a log, shortened, or why it cannot be read."""
    try:
        raw, _ = untrusted.read(path, READ_BYTES)
    except untrusted.NotPlain:
        return "the raw output is not a regular file"
    except OSError as error:
        return f"the raw output cannot be read: {error.strerror}"
    lines = raw.decode("utf-8", errors="replace").split("\n")
    return [line if len(line) <= LONGEST else f"{line[:LONGEST]}…" for line in lines]

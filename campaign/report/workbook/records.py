"""The sheets behind the numbers: system, projections, findings, provenance, runs."""

from __future__ import annotations

import os
import shlex
import urllib.parse
from collections import Counter
from pathlib import Path

from campaign.plan import matrix
from campaign.report.contents import Contents, Section
from campaign.report.table import COLUMNS
from campaign.report.workbook.sheets import PROVENANCE, Places, Sheets, Value
from campaign.results.cells import Row
from campaign.slurm import scripts

_LINKED = {"font_color": "blue", "underline": 1}


def system(sheets: Sheets, contents: Contents) -> None:
    """As the campaign file describes it; then what the jobs found, and how the benchmark was changed."""
    sheet = sheets.add("System", contents, (34, 60, 40, 40))
    campaign, line = contents.campaign, 0
    targets = tuple(
        (one.name, f"{one.directory}{f': {one.description}' if one.description else ''}") for one in campaign.targets
    )
    described = Section(
        "As described in the campaign file", "" if campaign.system else "not described", (), campaign.system
    )
    for part in (
        described,
        Section("Targets", "", (), targets),
        Section("Contact", "" if campaign.contact else "none given", (), campaign.contact),
        *contents.environment,
        *contents.modifications,
    ):
        sheets.put(sheet, line, 0, part.title, bold=True, font_size=12)
        if part.about:
            sheets.put(sheet, line + 1, 0, part.about)
        line += 1 + bool(part.about)
        for column, name in enumerate(part.columns):
            sheets.put(sheet, line, column, name, bold=True, bottom=1)
        line += bool(part.columns)
        for row in part.rows:
            for column, value in enumerate(row):
                sheets.put(sheet, line, column, value, text_wrap=True)
            line += 1
        line += 1


def projections(sheets: Sheets, contents: Contents) -> None:
    columns = (
        *("cell", "value", "unit", "low", "high", "uncertainty", "nodes", "processes", "base system", "generation"),
        *("formula", "inputs", "logs"),
    )
    sheet = sheets.add("Projections", contents, (34, 14, 10, 14, 14, 12, 8, 10, 28, 20, 36, 36, 40))
    sheets.records(sheet, columns, [_projection(row) for row in contents.rows if row.projection is not None])
    if not any(row.projection for row in contents.rows):
        sheets.put(sheet, 1, 0, "none")


def _projection(row: Row) -> list[Value]:
    one = row.projection
    assert one is not None and row.value is not None
    return [
        str(row.cell), row.value, row.unit, row.value * (1 - one.uncertainty), row.value * (1 + one.uncertainty),
        one.uncertainty, one.nodes, one.processes, one.base_system, one.generation, one.formula,
        ", ".join(f"{name} = {number!r}" for name, number in one.inputs), ", ".join(str(path) for path in one.logs),
    ]  # fmt: skip


def findings(sheets: Sheets, contents: Contents) -> None:
    columns = (
        "rule",
        "severity",
        "subject",
        "message",
        "expected",
        "found",
        "clause",
        "explained",
        "waived",
        "checked",
    )
    sheet = sheets.add("Findings", contents, (10, 9, 34, 60, 40, 40, 14, 40, 40, 10))
    rows = [
        [
            *(finding.rule, str(finding.severity), finding.subject, finding.message, finding.expected, finding.actual),
            *(
                contents.pack.checks.get(finding.rule, ""),
                finding.explained,
                finding.waived,
                "yes" if finding.checked else "no",
            ),
        ]
        for finding in contents.findings
    ]
    sheets.records(sheet, columns, rows)
    if not rows:
        sheets.put(sheet, 1, 0, "none")


def provenance(sheets: Sheets, contents: Contents, places: Places, path: Path) -> None:
    """One line a cell, with the columns of the CSV form. The first leads back to the table, the file's to the file."""
    widths = {"target": 14, "operation": 20, "run": 30, "file": 52, "findings": 80}
    sheet = sheets.add(PROVENANCE, contents, (34, *(widths.get(name, 11) for name in COLUMNS)))
    sheets.records(sheet, ("cell", *COLUMNS), [_origin(row) for row in contents.rows])
    for line, row in enumerate(contents.rows, 1):
        cell = str(row.cell)
        sheets.link(sheet, line, 0, places.to_result(cell), cell, "to its place in the table", **_LINKED)
        if row.record is not None:
            file = row.record.source.file
            beside = os.path.relpath((contents.root / file).resolve(), path.parent.resolve())
            address = f"external:{urllib.parse.quote(beside)}"
            sheets.link(sheet, line, 1 + COLUMNS.index("file"), address, file, "the raw output", **_LINKED)


def _origin(row: Row) -> list[Value]:
    flat = row.as_json()
    flat |= (flat["source"] or {}) | flat["statistics"]
    said = (f"{one.rule} {one.message}{'' if one.checked else ' (not checked)'}" for one in row.findings)
    flat["findings"] = "; ".join(dict.fromkeys(said))
    return [str(row.cell), *(flat.get(name) for name in COLUMNS)]


def runs(sheets: Sheets, contents: Contents) -> None:
    columns = (
        *("run", "nodes", "processes", "processes per node", "items per process", "items in total"),
        *("command line", "notes", "attempts that count", "their ends"),
    )
    sheet = sheets.add("Runs", contents, (30, 8, 10, 10, 10, 12, 90, 50, 10, 30))
    tried = matrix.attempts_by_run(contents.runs, contents.attempts)
    rows: list[list[Value]] = []
    for run in contents.runs:
        launched = (*scripts.launcher(run, contents.campaign.slurm), *scripts.command(run, "TOKEN"))
        ends = Counter(str(attempt.state) for attempt in tried[run.id])
        rows.append(
            [
                *(run.id, run.geometry.nodes, run.geometry.processes, run.geometry.processes_per_node),
                *(run.items_per_process, run.items_total, shlex.join(launched), "; ".join(run.notes)),
                *(len(tried[run.id]), ", ".join(f"{number} {state}" for state, number in ends.items())),
            ]
        )
    sheets.records(sheet, columns, rows)

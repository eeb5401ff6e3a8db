"""The sheets with the evidence: system, projections, findings, provenance, runs."""

from __future__ import annotations

import os
import shlex
import urllib.parse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from campaign.config.search import Projection
from campaign.plan import matrix
from campaign.report import causes
from campaign.report import clauses as compliance
from campaign.report.workbook.sheets import CLAUSES, LINKED, PROVENANCE, Sheets, Value, internal
from campaign.results.cells import IN_CSV, Row, flattened
from campaign.results.source.modifications import Section
from campaign.slurm import scripts

SYSTEM_WIDTHS = (34, 76, 30, 30)  # a SHA-256 fits on one line


def system(sheets: Sheets) -> None:
    """The system as the campaign file describes it, as the jobs recorded it, and the modifications of the benchmark."""
    contents, campaign = sheets.contents, sheets.contents.campaign
    targets = tuple(
        (target.name, target.directory + (f": {target.description}" if target.description else ""))
        for target in campaign.targets
    )
    lines: list[tuple[Sequence[str], dict[str, object]]] = []
    for part in (
        Section(
            "As described in the campaign file",
            _absent(campaign.system),
            (),
            campaign.system,
        ),
        Section("Targets", "", (), targets),
        Section("Contact", _absent(campaign.contact), (), campaign.contact),
        *contents.environment,
        *contents.modifications,
    ):
        lines.append(([part.title], {"bold": True, "font_size": 12}))
        lines += [([part.about], {})] * bool(part.about)
        lines += [(part.columns, {"bold": True, "bottom": 1})] * bool(part.columns)
        lines += [(row, {"text_wrap": True}) for row in part.rows]
        lines.append(([], {}))
    sheet = sheets.add("System", SYSTEM_WIDTHS)
    for number, (values, properties) in enumerate(lines):
        sheets.row(sheet, number, values, **properties)
        if properties.get("text_wrap"):
            sheets.fit(sheet, number, zip(values, SYSTEM_WIDTHS, strict=False))
    sheet.freeze_panes(0, 1)


def _absent(given: Sequence[object]) -> str:
    return "" if given else "not given in the campaign file"


def clauses(sheets: Sheets) -> None:
    """The compliance matrix."""
    columns = dict(zip(compliance.HEADERS, (16, 60, 14, 60, 60), strict=True))
    sheets.records(CLAUSES, columns, list(map(compliance.texts, sheets.contents.clauses)))


def projections(sheets: Sheets) -> None:
    columns = {
        "cell": 30, "value": 12, "unit": 8, "low": 12, "high": 12, "uncertainty": 12, "nodes": 8, "processes": 10,
        "base system": 18, "generation": 12, "formula": 26, "inputs": 26, "logs": 24,
    }  # fmt: skip
    rows = [_projection(row, row.projection) for row in sheets.contents.rows if row.projection is not None]
    sheets.records("Projections", columns, rows)


def _projection(row: Row, by: Projection) -> list[Value]:
    assert row.value is not None
    return [
        str(row.cell), row.value, row.unit, row.value * (1 - by.uncertainty), row.value * (1 + by.uncertainty),
        by.uncertainty, by.nodes, by.processes, by.base_system, by.generation, by.formula,
        ", ".join(f"{name} = {number!r}" for name, number in by.inputs), ", ".join(map(str, by.logs)),
    ]  # fmt: skip


def findings(sheets: Sheets) -> None:
    columns = {
        "rule": 9, "severity": 9, "subject": 30, "message": 44, "expected": 26, "found": 26, "clause": 11,
        "explained": 26, "waived": 20, "checked": 9,
    }  # fmt: skip
    rows = [
        [
            finding.rule, str(finding.severity), finding.subject, finding.message, finding.expected, finding.actual,
            sheets.contents.pack.clause_of(finding), finding.explained, finding.waived,
            "yes" if finding.checked else "no",
        ]
        for finding in sheets.contents.findings
    ]  # fmt: skip
    key = (
        "E: violation; makes the result invalid unless waived",
        "W: explanation required (not checked: does not count as passed)",
        "I: note; nothing to do",
    )
    sheets.records("Findings", columns, rows, key)


def provenance(sheets: Sheets, path: Path) -> None:
    """A line for each cell, with the columns of the CSV form. The first column links to the table, that of the file to
    the file.
    """
    contents, widths = sheets.contents, {"target": 14, "operation": 20, "run": 30, "file": 52, "findings": 80}
    columns = {"cell": 34, **{name: widths.get(name, 11) for name in IN_CSV}}
    sheet = sheets.records(PROVENANCE, columns, [_origin(row) for row in contents.rows])
    for line, row in enumerate(contents.rows, 1):
        place = internal(*sheets.results[row.cell])
        sheets.link(sheet, line, 0, place, str(row.cell), "go to the value in the table", **LINKED)
        if row.record is not None and not row.record.parts:
            file = row.record.source.file
            beside = os.path.relpath((contents.root / file).resolve(), path.parent.resolve())
            address = f"external:{urllib.parse.quote(beside)}"
            sheets.link(sheet, line, 1 + IN_CSV.index("file"), address, file, "open the raw output", **LINKED)


def _origin(row: Row) -> list[Value]:
    told = causes.told(row.findings)
    texts = (f"{each.rule} {each.message}{'' if each.checked else ' (not checked)'}" for each in told)
    flat = flattened(row) | {"findings": "; ".join(dict.fromkeys(texts))}
    return [str(row.cell), *(flat[name] for name in IN_CSV)]


def runs(sheets: Sheets) -> None:
    columns = {
        "run": 28, "nodes": 8, "processes": 10, "processes per node": 10, "items per process": 10, "items in total": 12,
        "command line": 68, "notes": 34, "attempts used": 10, "end states": 20,
    }  # fmt: skip
    contents = sheets.contents
    tried = matrix.attempts_by_run(contents.runs, contents.attempts)
    rows: list[list[Value]] = []
    for run in contents.runs:
        launched = map(shlex.join, scripts.each_command(run, contents.campaign.slurm, "TOKEN"))
        ends = Counter(str(attempt.state) for attempt in tried[run.id])
        rows.append(
            [
                run.id, run.geometry.nodes, run.geometry.processes, run.geometry.processes_per_node,
                run.items_per_process, run.items_total, "\n".join(launched), "; ".join(run.notes),
                len(tried[run.id]), ", ".join(f"{number} {state}" for state, number in ends.items()),
            ]
        )  # fmt: skip
    sheets.records("Runs", columns, rows)

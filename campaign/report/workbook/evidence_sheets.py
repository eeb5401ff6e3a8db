"""The sheets with the evidence: system, projections, findings, provenance, runs."""

from __future__ import annotations

import os
import shlex
import urllib.parse
from collections import Counter
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from campaign.core.columns import Column
from campaign.core.findings import Finding
from campaign.core.runs import Run
from campaign.plan import matrix
from campaign.report import causes
from campaign.report import clauses as compliance
from campaign.report.workbook.sheets import CLAUSES, LINKED, PROVENANCE, Sheets, internal_address
from campaign.results.cells import IN_CSV, Row, flattened
from campaign.results.source.modifications import Section
from campaign.slurm import scripts

SYSTEM_WIDTHS = (34, 76, 30, 30)  # a SHA-256 fits on one line


def write_system(sheets: Sheets) -> None:
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
            _absence_text(campaign.system),
            (),
            campaign.system,
        ),
        Section("Targets", "", (), targets),
        Section("Contact", _absence_text(campaign.contact), (), campaign.contact),
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


def _absence_text(entries: Sequence[object]) -> str:
    return "" if entries else "not given in the campaign file"


def write_clauses(sheets: Sheets) -> None:
    """The compliance matrix."""
    columns = dict(zip(compliance.COLUMNS, (16, 60, 14, 60, 60), strict=True))
    sheets.records(CLAUSES, columns, sheets.contents.clauses)


def write_projections(sheets: Sheets) -> None:
    columns: dict[Column[Any], int] = {
        Column("cell", lambda row: str(row.cell)): 30,
        Column("value", lambda row: row.value): 12,
        Column("unit", lambda row: row.unit): 8,
        Column("low", lambda row: row.value * (1 - row.projection.uncertainty)): 12,
        Column("high", lambda row: row.value * (1 + row.projection.uncertainty)): 12,
        Column("uncertainty", lambda row: row.projection.uncertainty): 12,
        Column("nodes", lambda row: row.projection.nodes): 8,
        Column("processes", lambda row: row.projection.processes): 10,
        Column("base system", lambda row: row.projection.base_system): 18,
        Column("generation", lambda row: row.projection.generation): 12,
        Column("formula", lambda row: row.projection.formula): 26,
        Column("inputs", lambda row: ", ".join(f"{name} = {value!r}" for name, value in row.projection.inputs)): 26,
        Column("logs", lambda row: ", ".join(map(str, row.projection.logs))): 24,
    }
    sheets.records("Projections", columns, [row for row in sheets.contents.rows if row.projection is not None])


def write_findings(sheets: Sheets) -> None:
    columns: dict[Column[Finding], int] = {
        Column("rule", lambda finding: finding.rule): 9,
        Column("severity", lambda finding: str(finding.severity)): 9,
        Column("subject", lambda finding: finding.subject): 30,
        Column("message", lambda finding: finding.message): 44,
        Column("expected", lambda finding: finding.expected): 26,
        Column("found", lambda finding: finding.actual): 26,
        Column("clause", sheets.contents.pack.clause_of): 11,
        Column("explained", lambda finding: finding.explained): 26,
        Column("waived", lambda finding: finding.waived): 20,
        Column("checked", lambda finding: "yes" if finding.checked else "no"): 9,
    }
    key = (
        "E: violation; makes the result invalid unless waived",
        "W: explanation required (not checked: does not count as passed)",
        "I: note; nothing to do",
    )
    sheets.records("Findings", columns, sheets.contents.findings, key)


def write_provenance(sheets: Sheets, path: Path) -> None:
    """A line for each cell, with the columns of the CSV form. The first column links to the table, that of the file to
    the file.
    """
    contents, widths = (
        sheets.contents,
        {"cell": 34, "target": 14, "operation": 20, "run": 30, "file": 52, "findings": 80},
    )
    columns = {Column(name, itemgetter(name)): widths.get(name, 11) for name in ("cell", *IN_CSV)}
    sheet = sheets.records(PROVENANCE, columns, [_provenance_entry(row) for row in contents.rows])
    for line, row in enumerate(contents.rows, 1):
        place = internal_address(*sheets.results[row.cell])
        sheets.link(sheet, line, 0, place, str(row.cell), "go to the value in the table", **LINKED)
        if row.record is not None and not row.record.parts:
            file = row.record.source.file
            relative_path = os.path.relpath((contents.root / file).resolve(), path.parent.resolve())
            address = f"external:{urllib.parse.quote(relative_path)}"
            sheets.link(sheet, line, 1 + IN_CSV.index("file"), address, file, "open the raw output", **LINKED)


def _provenance_entry(row: Row) -> dict[str, Any]:
    merged_findings = causes.merge_causes(row.findings)
    texts = (
        f"{finding.rule} {finding.message}{'' if finding.checked else ' (not checked)'}" for finding in merged_findings
    )
    return flattened(row) | {"cell": str(row.cell), "findings": "; ".join(dict.fromkeys(texts))}


def write_runs(sheets: Sheets) -> None:
    contents = sheets.contents
    attempts = matrix.attempts_by_run(contents.runs, contents.attempts)

    def commands(run: Run) -> str:
        return "\n".join(map(shlex.join, scripts.each_command(run, contents.campaign.slurm, "TOKEN")))

    def ends(run: Run) -> str:
        counts = Counter(str(attempt.state) for attempt in attempts[run.id])
        return ", ".join(f"{number} {state}" for state, number in counts.items())

    columns: dict[Column[Run], int] = {
        Column("run", lambda run: run.id): 28,
        Column("nodes", lambda run: run.geometry.nodes): 8,
        Column("processes", lambda run: run.geometry.processes): 10,
        Column("processes per node", lambda run: run.geometry.processes_per_node): 10,
        Column("items per process", lambda run: run.items_per_process): 10,
        Column("items in total", lambda run: run.items_total): 12,
        Column("command line", commands): 68,
        Column("notes", lambda run: "; ".join(run.notes)): 34,
        Column("attempts used", lambda run: len(attempts[run.id])): 10,
        Column("end states", ends): 20,
    }
    sheets.records("Runs", columns, contents.runs)

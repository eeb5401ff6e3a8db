"""The sheets with the evidence: system, projections, findings, provenance, runs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from campaign.core import units
from campaign.core.columns import Column, csv_columns, csv_line, sequence_columns
from campaign.core.findings import Finding, Severity
from campaign.core.grouping import grouped
from campaign.core.runs import Run
from campaign.plan import matrix
from campaign.report import causes, origins
from campaign.report.contents import measured_period
from campaign.report.findings_view import group_number
from campaign.report.workbook.sheets import LINKED, PROVENANCE, Sheets, internal_address
from campaign.results.cells import COLUMNS, Row
from campaign.results.source.modifications import Section
from campaign.slurm import scripts

SYSTEM_WIDTHS = (34, 76, 30, 30)  # a SHA-256 fits on one line
NAMED = 4  # subjects of a finding that are named
PRINTED = ("value", "unit", "status", "run", "attempt", "job_id", "file", "line")  # of the provenance


def write_system(sheets: Sheets) -> None:
    """The system as the campaign file describes it, as the jobs recorded it, and the modifications of the benchmark."""
    contents, campaign = sheets.contents, sheets.contents.campaign
    targets = tuple(
        (target.name, target.directory + (f": {target.description}" if target.description else ""))
        for target in campaign.targets
    )
    pairs = sequence_columns("", "")
    sheet, line = sheets.add("System", SYSTEM_WIDTHS), 0
    described_sections = (
        Section("As described in the campaign file", _absence_text(campaign.system), pairs, campaign.system),
        Section("Targets", "", pairs, targets),
        Section("Contact", _absence_text(campaign.contact), pairs, campaign.contact),
    )
    for number, section in enumerate((*described_sections, *contents.environment, *contents.modifications)):
        if number == len(described_sections):  # what was recorded is long, and in the report
            sheets.print_part(sheet, line, len(SYSTEM_WIDTHS))
        sheets.write_value(sheet, line, 0, section.title, bold=True, font_size=12)
        if section.about:
            line += 1
            sheets.write_value(sheet, line, 0, section.about)
        line = sheets.grid(sheet, line + 1, section.columns, section.items) + 1
    sheet.freeze_panes(0, 1)


def _absence_text(entries: Sequence[object]) -> str:
    return "" if entries else "not given in the campaign file"


def write_findings(sheets: Sheets) -> None:
    """A line for each finding, violations first; those that differ in their subject alone have one together. Notes are
    not printed.
    """
    findings = sorted(sheets.contents.findings, key=group_number)
    subjects = grouped((replace(finding, subject="", cells=()), finding.subject) for finding in findings)
    columns: list[Column[Finding]] = [
        Column("rule", lambda finding: finding.rule, width=9),
        Column("severity", lambda finding: str(finding.severity), width=9),
        Column("subject", lambda finding: units.listing(subjects[finding], NAMED), width=30),
        Column("message", lambda finding: finding.message, width=44),
        Column("expected", lambda finding: finding.expected, width=26),
        Column("found", lambda finding: finding.actual, width=26),
        Column("clause", sheets.contents.pack.clause_of, width=11),
        Column("explained", lambda finding: finding.explained, width=26),
        Column("waived", lambda finding: finding.waived, width=20),
        Column("checked", lambda finding: "yes" if finding.checked else "no", width=9),
    ]
    key = (
        "E: violation; makes the result invalid unless waived",
        "W: explanation required (not checked: does not count as passed)",
        "I: note; nothing to do",
    )
    sheet = sheets.records("Findings", columns, list(subjects), key)
    if printed := sum(finding.severity is not Severity.INFO for finding in subjects):
        sheets.print_part(sheet, len(key) + 1 + printed, len(columns))


def write_provenance(sheets: Sheets, path: Path) -> None:
    """A line for each cell, with the columns of the CSV form. The first column links to the table, that of the file to
    the file.
    """
    contents = sheets.contents
    leaves = csv_columns(COLUMNS)
    names = list(dict.fromkeys((*PRINTED, *leaves)))
    columns = [
        Column("cell", itemgetter("cell"), width=34),
        *(Column(name, itemgetter(name), width=leaves[name].width) for name in names),
    ]
    entries = [_provenance_entry(row) for row in contents.rows]
    sheet = sheets.records(PROVENANCE, columns, entries, fitted=1 + len(PRINTED))
    sheets.print_part(sheet, 1 + len(contents.rows), 1 + len(PRINTED))
    for line, row in enumerate(contents.rows, 1):
        place = internal_address(*sheets.results[row.cell])
        sheets.link(sheet, line, 0, place, str(row.cell), "go to the value in the table", **LINKED)
        if row.record is not None and not row.record.parts:
            file = row.record.source.file
            if link := origins.link_to_output(contents, file, path.parent):
                column = 1 + names.index("file")
                sheets.link(sheet, line, column, f"external:{link}", file, "open the raw output", **LINKED)


def _provenance_entry(row: Row) -> dict[str, Any]:
    merged_findings = causes.merge_causes(row.findings)
    texts = (
        f"{finding.rule} {finding.message}{'' if finding.checked else ' (not checked)'}" for finding in merged_findings
    )
    return csv_line(COLUMNS, row) | {"cell": str(row.cell), "findings": "; ".join(dict.fromkeys(texts))}


def write_runs(sheets: Sheets) -> None:
    contents = sheets.contents
    attempts = matrix.attempts_by_run(contents.runs, contents.attempts)

    def commands(run: Run) -> str:
        return "\n".join(map(shlex.join, scripts.each_command(run, contents.campaign.slurm, "TOKEN")))

    def ends(run: Run) -> str:
        counts = Counter(str(attempt.state) for attempt in attempts[run.id])
        return ", ".join(f"{number} {state}" for state, number in counts.items())

    def time(place: int, run: Run) -> datetime | None:
        """The first start, or the last end."""
        times = measured_period(attempts[run.id])
        return times[place] if times else None

    columns: list[Column[Run]] = [
        Column("run", lambda run: run.id, width=26),
        Column("nodes", lambda run: run.geometry.nodes, width=8),
        Column("processes", lambda run: run.geometry.processes, width=10),
        Column("processes per node", lambda run: run.geometry.processes_per_node, width=9),
        Column("items per process", lambda run: run.items_per_process, width=9),
        Column("items in total", lambda run: run.items_total, width=12),
        Column("command line", commands, width=56),
        Column("notes", lambda run: "; ".join(run.notes), width=18),
        Column("attempts used", lambda run: len(attempts[run.id]), width=8),
        Column("end states", ends, width=16),
        Column("first start (UTC)", partial(time, 0), width=19),
        Column("last end (UTC)", partial(time, 1), width=19),
    ]
    sheets.records("Runs", columns, contents.runs)

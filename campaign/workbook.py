"""The table as an XLSX workbook: one sheet a target in the RFP's layout, one with every cell's provenance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.config import Campaign
from campaign.rules import RulePack
from campaign.table import COLUMNS, Row

if TYPE_CHECKING:
    from xlsxwriter import Workbook
    from xlsxwriter.format import Format


def write(path: Path, table: Sequence[Row], campaign: Campaign, pack: RulePack) -> None:
    """Text is written as text: a name that looks like a formula stays a name."""
    import xlsxwriter

    options = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(path, options) as book:
        bold, number = book.add_format({"bold": True}), book.add_format({"num_format": "#,##0"})
        for target in campaign.targets:
            sheet = book.add_worksheet(target.name[:31])
            sheet.set_column(0, 0, 56)
            sheet.set_column(1, len(pack.operations) + 2, 16)
            sheet.write_string(0, 0, f"{pack.caption}: {target.name} ({target.directory})", bold)
            if campaign.profile != "full":
                sheet.write_string(1, 0, f"{campaign.profile} size: not a compliant result", bold)
            headers = ["", *(operation.title for operation in pack.operations), "Processes", "Nodes"]
            for column, header in enumerate(headers):
                sheet.write_string(2, column, header, bold)
            line = 3
            for files in pack.files:
                group = [r for r in table if (r.cell.target, r.cell.files) == (target.name, files.id)]
                total = next((r.run.items_total for r in group if r.run), pack.items_total.get("full", ""))
                sheet.write_string(line, 0, files.title.replace("{items_total}", str(total)), bold)
                for launch in pack.launch:
                    line += 1
                    cells = [r for r in group if r.cell.launch == launch.id]
                    sheet.write_string(line, 0, launch.title)
                    for column, row in enumerate(cells, 1):
                        if row.value is None or row.status != "measured":
                            shown = "" if row.value is None else f"{row.value:.0f} "
                            sheet.write_string(line, column, f"{shown}{row.status}")
                        else:
                            sheet.write_number(line, column, row.value, number)
                    run = next((r.run for r in cells if r.run), None)
                    if run:
                        sheet.write_number(line, len(cells) + 1, run.geometry.processes)
                        sheet.write_number(line, len(cells) + 2, run.geometry.nodes)
                line += 1
        _provenance(book, table, bold)


def _provenance(book: Workbook, table: Sequence[Row], bold: Format) -> None:
    sheet = book.add_worksheet("Provenance")
    for column, name in enumerate(COLUMNS):
        sheet.write_string(0, column, name, bold)
    for line, row in enumerate(table, 1):
        flat = row.as_json()
        flat |= (flat["source"] or {}) | flat["statistics"]
        flat["findings"] = "; ".join(f"{finding.rule} {finding.message}" for finding in row.findings)
        for column, name in enumerate(COLUMNS):
            value = flat.get(name)
            if isinstance(value, int | float):
                sheet.write_number(line, column, value)
            elif value is not None:
                sheet.write_string(line, column, str(value))

"""The results as an XLSX workbook: a summary, each target's table in the RFP's layout, and the evidence.

Text is text: a name that looks like a formula or a link stays a name. Numbers have all their digits, and are shown
rounded; an invalid number is text, so that no sum includes it. Described in docs/report.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.config.format import Target
from campaign.core.columns import Column, used_columns
from campaign.core.errors import typed_path
from campaign.core.runs import Status
from campaign.core.units import digits
from campaign.report import clauses as compliance
from campaign.report import notes, table
from campaign.report.contents import PROJECTIONS, Contents, measured_period
from campaign.report.decision import Compliance
from campaign.report.workbook import charts, evidence_sheets
from campaign.report.workbook.sheets import (
    CHART,
    CLAUSES,
    LINKED,
    NAMES,
    OVERVIEW,
    PROJECTED,
    PROVENANCE,
    Sheets,
    Value,
    internal_address,
    number_format,
)
from campaign.results.cells import Row

if TYPE_CHECKING:
    from xlsxwriter.worksheet import Worksheet

# The library's temporary files would be in $TMPDIR, and if that is full it prints a traceback.
_OPTIONS = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
_DATE = datetime(1980, 1, 1, tzinfo=UTC)  # of a workbook without measurements
RED, BROWN, GREEN = "#A3001C", "#704400", "#0B5C33"
_COLOURS = {
    Compliance.BROKEN: RED,
    Compliance.REHEARSAL: BROWN,
    Compliance.UNCHECKED: BROWN,
    Compliance.COMPLIES: GREEN,
}
SUMMARY_WIDTH = 110
ONE_PAGE = 40  # lines and notes of a table that is printed on one page
FIRST_LINE = 4  # of a target's table, from 0: below caption, marking, headings and units


_TABLE_MARKS = (
    "struck through: invalid (see Status and Notes); italic: projected; Notes: numbers of the notes below the table"
)


def workbook(path: Path, contents: Contents) -> bytes:
    """Write the workbook to `path`, from which its links lead to the raw outputs. The same contents give the same
    bytes.
    """
    import xlsxwriter

    file = BytesIO()
    with xlsxwriter.Workbook(file, _OPTIONS) as book:
        end_times = [attempt.ended for attempt in contents.attempts if attempt.ended is not None]
        created = datetime.fromtimestamp(max(end_times), UTC) if end_times else _DATE
        book.set_properties({"created": created.replace(tzinfo=None), "title": contents.campaign.name})
        sheets = Sheets(book, contents)
        _write_summary(sheets)
        for target, name in zip(contents.campaign.targets, sheets.targets, strict=True):
            _write_target(sheets, target, name)
        if len(contents.campaign.targets) > 1:
            _write_overview(sheets)
        if charts.has_chart(contents.rows, contents.pack):
            charts.write_chart(sheets)
        if contents.clauses:
            sheets.records(CLAUSES, compliance.COLUMNS, contents.clauses)
        evidence_sheets.write_system(sheets)
        if contents.projections:
            sheets.records(PROJECTED, PROJECTIONS, contents.projections)
        evidence_sheets.write_findings(sheets)
        evidence_sheets.write_provenance(sheets, path)
        evidence_sheets.write_runs(sheets)
    return file.getvalue()


def _write_summary(sheets: Sheets) -> None:
    contents, campaign, pack = sheets.contents, sheets.contents.campaign, sheets.contents.pack
    decision = contents.decision
    sheet = sheets.add("Summary", (26, SUMMARY_WIDTH))
    sheet.fit_to_pages(1, 1)
    sheets.write_value(sheet, 0, 0, decision.headline, bold=True, font_size=14, font_color=_COLOURS[decision.kind])
    period = measured_period(contents.attempts) or ()
    facts: list[tuple[str, Value]] = [
        ("Decision on", ", ".join(decision.about)),
        *((question.name, question.reason) for question in decision.questions),
        ("conclusion", decision.may),
        ("limits", decision.may_not),
        *(("" if number else "Next", f"{step.who}: {step.what}") for number, step in enumerate(decision.steps)),
        ("", ""),
        ("Table", pack.caption),
        ("Campaign", campaign.name),
        ("Run rules", f"{pack.id}, version {pack.version}: {pack.title}{table.pack_origin(pack)}"),
        ("Clauses of", pack.document),
        ("Profile", campaign.profile if campaign.profile == "full" else f"{campaign.profile}: not a compliant result"),
        *([] if period else [("Measured", "no results yet")]),
        *zip(("Measured from (UTC)", "Measured to (UTC)"), period, strict=False),
        ("Attempts", contents.attempt_counts),
        ("Digits", table.ROUNDING),
        ("Marks", _TABLE_MARKS),
        (
            "Origin",
            (
                "click a value to go to its row on the sheet Provenance; click the file name there to open the raw "
                "output (works while this workbook is in report/ of the results)"
            ),
        ),
        ("How to check", "open the raw output at the line given on the sheet Provenance: it contains the value"),
        ("", f"campaign check {typed_path(campaign.path.name)}: re-reads all raw output and re-checks every rule"),
        ("", "campaign verify BUNDLE: does the same offline on the submitted bundle and compares the results"),
    ]
    for number, (name, value) in enumerate(facts, 1):
        sheets.write_value(sheet, number, 0, name, bold=True)
        sheets.write_value(sheet, number, 1, value, text_wrap=True)
        sheets.fit(sheet, number, [(value, SUMMARY_WIDTH)])
    first = 2 + len(facts)
    sheets.write_value(sheet, first, 0, "Sheets", bold=True)
    sheets_by_title = [*zip([target.name for target in campaign.targets], sheets.targets, strict=True)]
    absent = {
        OVERVIEW: len(campaign.targets) == 1,
        CHART: not charts.has_chart(contents.rows, pack),
        CLAUSES: not contents.clauses,
        PROJECTED: not contents.projections,
    }
    sheets_by_title += [(name, name) for name in NAMES[1:] if not absent.get(name)]
    for number, (title, name) in enumerate(sheets_by_title):
        sheets.link(sheet, first + number, 1, internal_address(name, 0, 0), title, **LINKED)


def _write_target(sheets: Sheets, target: Target, name: str) -> None:
    """The table of one target with its notes."""
    pack = sheets.contents.pack
    lines = table.table_lines([row for row in sheets.contents.rows if row.cell.target == target.name], pack)
    noted = notes.table_notes([line.cells for line in lines], pack)
    numbers = {text: number for number, text in enumerate(noted.texts, 1)}
    columns = used_columns(table.target_columns(pack, noted, numbers), lines)
    texts_below = [*(f"[{number}] {text}" for text, number in numbers.items()), table.ROUNDING, _TABLE_MARKS]
    subject = f"{target.name} ({target.directory})"
    _write_table(sheets, name, subject, columns, lines, texts_below, FIRST_LINE)
    for number, line in enumerate(lines, FIRST_LINE):
        sheets.results |= {row.cell: (name, number, place) for place, row in enumerate(line.rows, 1) if row}


def _write_overview(sheets: Sheets) -> None:
    """All targets side by side."""
    pack, targets = sheets.contents.pack, [target.name for target in sheets.contents.campaign.targets]
    lines = table.overview_lines(sheets.contents.rows, targets, pack)
    columns = used_columns(table.overview_columns(targets), lines)
    _write_table(sheets, OVERVIEW, ", ".join(targets), columns, lines, [table.ROUNDING, _TABLE_MARKS], FIRST_LINE - 1)


def _write_table(
    sheets: Sheets,
    name: str,
    subject: str,
    columns: Sequence[Column[table.TableLine]],
    lines: Sequence[table.TableLine],
    texts_below: Sequence[str],
    first: int,
) -> None:
    """A table with a line of headings and, if its first line leaves room for it, one of units."""
    sheet = sheets.add(name, [column.width for column in columns])
    pack, profile, has_units = sheets.contents.pack, sheets.contents.campaign.profile, first == FIRST_LINE
    sheets.write_value(sheet, 0, 0, f"{pack.caption}: {subject}{table.pack_origin(pack)}", bold=True, font_size=13)
    if profile != "full":
        sheets.write_value(
            sheet, 1, 0, f"{profile} size: not a compliant result", bold=True, font_color=RED, font_size=13
        )
    for place, column in enumerate(columns):
        sheets.write_value(
            sheet, 2, place, column.name, bold=True, **({} if has_units else {"bottom": 1}), **_alignment(column)
        )
        if has_units:
            sheets.write_value(sheet, 3, place, column.unit, italic=True, bottom=1, **_alignment(column))
    for number, line in enumerate(lines, first):
        style = {"align": "left", "indent": line.level} if line.level else {"bold": True}
        sheets.write_value(sheet, number, 0, line.label, **style)
        for place, column in enumerate(columns[1:], 1):
            _write_column_value(sheets, sheet, number, place, column, column.value(line))
    sheets.paragraphs(sheet, first + len(lines) + 1, texts_below, len(columns))
    sheet.freeze_panes(first, 1)
    sheet.repeat_rows(2, first - 1)
    if len(lines) + len(texts_below) <= ONE_PAGE:
        sheet.fit_to_pages(1, 1)


def _alignment(column: Column[table.TableLine]) -> dict[str, object]:
    """Texts are apart from the numbers on their left."""
    return {"indent": 2 * bool(column.name)} if column.is_text else {"align": "right"}


def _write_column_value(
    sheets: Sheets, sheet: Worksheet, line: int, place: int, column: Column[table.TableLine], value: Row | str | None
) -> None:
    if isinstance(value, Row):
        _write_number(sheets, sheet, value, line, place)
    elif value:
        colour = {"font_color": RED} if column.name == table.STATUS else {}
        number = int(value) if value.isdecimal() and not column.is_text else value
        sheets.write_value(sheet, line, place, number, **_alignment(column), **colour)


def _write_number(sheets: Sheets, sheet: Worksheet, row: Row, line: int, column: int) -> None:
    """A valid number as a number; an invalid one as text, so that no sum includes it."""
    address, tip = internal_address(PROVENANCE, sheets.origins[row.cell], 0), f"{row.cell}: {row.status}"
    style: dict[str, object] = {"align": "right"}
    value: str | float = str(row.status) if row.value is None else row.value
    if row.value is None:
        style["font_color"] = BROWN if row.status is Status.DECLINED else RED
    elif row.status.counts:
        style["num_format"] = number_format(row.value)
        style |= {"italic": True, "font_color": BROWN} if row.status is Status.PROJECTED else {}
    else:
        value = digits(row.value)
        style |= {"font_color": RED, "font_strikeout": True}
    sheets.link(sheet, line, column, address, value, tip, **style)

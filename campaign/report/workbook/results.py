"""The sheets that a reader sees first: the summary, and each target's table in the RFP's layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from campaign.core.model import Status, Target
from campaign.core.units import digits
from campaign.report import layout, notes
from campaign.report.messages import workbook as messages
from campaign.report.messages.tables import NO_RULE_BROKEN, NOT_COMPLIANT_SIZE
from campaign.report.table import ROUNDING, origin
from campaign.report.table import lines as placed_lines
from campaign.report.verdict import Compliance, Reason, verdict
from campaign.report.workbook.sheets import LINKED, PROVENANCE, Sheets, internal, text
from campaign.results.cells import Row

if TYPE_CHECKING:
    from xlsxwriter.worksheet import Worksheet

RED, BROWN, GREEN = "#A3001C", "#704400", "#0B5C33"
_COLOURS = {
    Compliance.BROKEN: RED,
    Compliance.REHEARSAL: BROWN,
    Compliance.UNCHECKED: BROWN,
    Compliance.COMPLIES: GREEN,
}
FIRST_LINE = 4  # of a target's table, from 0: below caption, mark, headings and units
_LONGEST_FORMAT = 200  # a number format may have 255 characters


def summary(sheets: Sheets) -> None:
    contents, campaign, pack = sheets.contents, sheets.contents.campaign, sheets.contents.pack
    found = verdict(contents)
    sheet = sheets.add("Summary", (26, 110))
    sheets.put(sheet, 0, 0, pack.caption, bold=True, font_size=14)
    sheets.put(sheet, 1, 0, found.headline, bold=True, font_size=14, font_color=_COLOURS[found.kind])
    facts: list[tuple[str, str]] = [
        ("Campaign", campaign.name),
        ("Run rules", f"{pack.id}, version {pack.version}: {pack.title}{origin(pack)}"),
        ("Clauses of", pack.document),
        ("Profile", campaign.profile if campaign.profile == "full" else messages.PROFILE(profile=campaign.profile)),
        ("Measured", contents.measured or messages.NO_RESULTS()),
        ("Cells", contents.counts),
        ("Attempts", contents.tried),
        *(("Verdict" if not number else "", reason) for number, reason in enumerate(_reasons(found.reasons))),
        ("Digits", ROUNDING),
        ("Marks", messages.TABLE_MARKS()),
        ("Origin", messages.ORIGIN()),
        ("How to check", messages.CHECK_OUTPUT()),
        ("", messages.CHECK_CAMPAIGN(file=campaign.path.name)),
        ("", messages.CHECK_BUNDLE()),
    ]
    for number, (name, value) in enumerate(facts, 3):
        sheets.put(sheet, number, 0, name, bold=True)
        sheets.put(sheet, number, 1, value, text_wrap=True)
    first = 4 + len(facts)
    sheets.put(sheet, first, 0, "Sheets", bold=True)
    for number, (target, name) in enumerate(zip(campaign.targets, sheets.targets, strict=True)):
        sheets.link(sheet, first + number, 1, internal(name, 0, 0), target.name, **LINKED)


def _reasons(reasons: Sequence[Reason]) -> list[str]:
    found = []
    for reason in reasons:
        rules = ", ".join(f"{rule} ({times})" if times > 1 else rule for rule, _, times in reason.rules)
        found.append(f"{reason.text} {rules}")
    return found or [NO_RULE_BROKEN()]


def target(sheets: Sheets, one: Target, name: str) -> None:
    """The table of one target, and below it what its marks name."""
    contents, campaign, pack = sheets.contents, sheets.contents.campaign, sheets.contents.pack
    columns = layout.columns(pack)
    sheet = sheets.add(name, (56, *(18 for _ in columns), 12, 12))
    sheets.put(sheet, 0, 0, f"{pack.caption}: {one.name} ({one.directory}){origin(pack)}", bold=True, font_size=13)
    if campaign.profile != "full":
        mark = NOT_COMPLIANT_SIZE(profile=campaign.profile)
        sheets.put(sheet, 1, 0, mark, bold=True, font_color=RED, font_size=13)
    for column, header in enumerate(["", *columns, "Processes", "Nodes"]):
        units = {operation.unit for operation in pack.operations if operation.title == header}
        right = {"align": "right"} if column else {}
        sheets.put(sheet, 2, column, header, bold=True, **right)
        sheets.put(sheet, 3, column, units.pop() if len(units) == 1 else "", italic=True, bottom=1, **right)
    lines = placed_lines([row for row in contents.rows if row.cell.target == one.name], pack)
    noted = notes.notes([line.cells for line in lines], pack)
    for number, line in enumerate(lines, FIRST_LINE):
        level = line.place.level
        sheets.put(sheet, number, 0, line.place.label, **({"indent": level} if level else {"bold": True}))
        for column, row in enumerate(line.rows, 1):
            if row is not None:
                sheets.results[row.cell] = (name, number, column)
                _entry(sheets, sheet, row, noted.of(row))
        if line.geometries and level == 1:
            for column, shown in enumerate((line.processes, line.nodes), len(columns) + 1):
                sheets.put(sheet, number, column, int(shown) if shown.isdecimal() else shown, align="right")
    below = FIRST_LINE + len(lines) + 1
    for nth, remark in enumerate(noted.texts):
        sheets.put(sheet, below + nth, 0, f"[{nth + 1}] {remark}")
    sheets.put(sheet, below + len(noted.texts) + bool(noted.texts), 0, ROUNDING, italic=True)
    sheet.freeze_panes(FIRST_LINE, 1)
    sheet.repeat_rows(2, 3)


def _entry(sheets: Sheets, sheet: Worksheet, row: Row, numbers: Sequence[int]) -> None:
    """A number that counts is one, with its marks in its format; anything else is text. `numbers` of its notes."""
    _, line, column = sheets.results[row.cell]
    marks = "".join(f" [{number}]" for number in numbers)
    address, tip = internal(PROVENANCE, sheets.origins[row.cell], 0), f"{row.cell}: {row.status}"
    if row.status in (Status.MEASURED, Status.PROJECTED) and row.value is not None:
        said = f" projected{marks}" if row.status is Status.PROJECTED else marks
        style: dict[str, object] = {"num_format": _shown(row.value) + (f'"{said[:_LONGEST_FORMAT]}"' if said else "")}
        style |= {"italic": True, "font_color": BROWN} if row.status is Status.PROJECTED else {}
        sheets.link(sheet, line, column, address, row.value, tip, align="right", **style)
    elif row.value is not None:
        broken = dict.fromkeys(finding.rule for finding in row.findings if finding.blocks and finding.checked)
        said = f" {row.status}{marks}{''.join(f' {rule}' for rule in broken)}"
        sheets.link(sheet, line, column, address, "", tip, align="right", font_color=RED)
        sheet.write_rich_string(
            *(line, column, sheets.format(font_color=RED, font_strikeout=True), digits(row.value)),
            *(sheets.format(font_color=RED), text(said)[:1000], sheets.format(align="right", font_color=RED)),
        )
    else:
        colour = BROWN if row.status is Status.DECLINED else RED
        sheets.link(sheet, line, column, address, f"{row.status}{marks}", tip, align="right", font_color=colour)


def _shown(value: float) -> str:
    """The number format with as many digits as the printed table has."""
    size = abs(value)
    if value == 0 or size >= 100:
        return "#,##0"
    return "0.0" if size >= 10 else "0.00" if size >= 1 else "0.000" if size >= 0.1 else "0.00E+00"

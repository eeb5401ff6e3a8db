"""The table of all cells in its printed forms: text, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from campaign.config.format import Campaign
from campaign.config.rules.entries import FileConfiguration
from campaign.config.rules.pack import RulePack
from campaign.config.rules.packs import digest_of_own
from campaign.core import units
from campaign.core.columns import Column
from campaign.core.errors import typed_path
from campaign.core.grouping import grouped
from campaign.core.runs import Status
from campaign.report import grid, notes, printing
from campaign.results.cells import COLUMNS, Row

ROUNDING = (
    "Values >= 100 are rounded to integers, smaller ones to 3 significant digits. CSV, JSON and XLSX hold full "
    "precision."
)


def as_json(table: Sequence[Row]) -> str:
    return json.dumps([row.as_json() for row in table], indent=1, ensure_ascii=False) + "\n"


def as_csv(table: Sequence[Row]) -> str:
    return grid.grid_csv(COLUMNS, table)


def table_text(
    table: Sequence[Row],
    campaign: Campaign,
    pack: RulePack,
    style: str,
    width: int = printing.WIDEST,
    details: bool = False,
    combined: bool = False,
) -> str:
    """The layout of the RFP's table, one for each target, with footnotes; all notes with `details`. What is the same
    for all targets is below the last table. `combined`: with a table that has the targets side by side.
    """
    printing.check_format(style, "csv", "json", "xlsx")
    parts = []
    size = "" if campaign.profile == "full" else f" [{campaign.profile} size: not a compliant result]"
    rows = [[row for row in table if row.cell.target == target.name] for target in campaign.targets]
    placed = [table_lines(of_target, pack) for of_target in rows]
    noted = [notes.table_notes([line.cells for line in of_target], pack, details) for of_target in placed]
    texts = dict.fromkeys(text for of_target in noted for text in of_target.texts)
    numbers = {text: number for number, text in enumerate(texts, 1)}
    notes_below = [[f"[{numbers[text]}] {text}" for text in of_target.texts] for of_target in noted]
    if details:
        for target_notes, of_target in zip(notes_below, rows, strict=True):
            target_notes += notes.target_notes(of_target)
    common_notes = [
        text
        for text in notes_below[0]
        if len(notes_below) > 1 and all(text in target_notes for target_notes in notes_below)
    ]
    for target, drawn, on, target_notes in zip(campaign.targets, placed, noted, notes_below, strict=True):
        own_notes = [text for text in target_notes if text not in common_notes]
        parts += [
            printing.paragraph(
                f"{pack.caption}: {target.name} ({target.directory}){size}{pack_origin(pack)}", style, width
            ),
            grid.grid_text(target_columns(pack, on, numbers, _value_or_status, "?"), drawn, style, width),
            *(printing.paragraph(text, style, width, indent=4) for text in own_notes),
            "",
        ]
    if combined and len(campaign.targets) > 1:
        names = [target.name for target in campaign.targets]
        parts += [
            printing.paragraph(f"{pack.caption}: {', '.join(names)}", style, width),
            grid.grid_text(overview_columns(names, _value_or_status), overview_lines(table, names, pack), style, width),
            "",
        ]
    last = ["For all targets:", *common_notes, ""] if common_notes else []
    if not details and (
        hidden := notes.hidden_notes([[line.cells for line in of_target] for of_target in placed], pack)
    ):
        last.append(f"{hidden}: 'campaign table {typed_path(campaign.path, campaign.part)} --details' prints them")
    texts_below = (printing.paragraph(text, style, width, indent=4) for text in last)
    return printing.document([*parts, *texts_below, printing.paragraph(ROUNDING, style, width)], style)


def pack_origin(pack: RulePack) -> str:
    """The origin of the rules, if the pack is not one of the project's own: its id alone does not identify it."""
    if pack.digest in ("", digest_of_own(pack.id)):
        return ""
    return f" [custom rule pack {pack.path}, SHA-256 {pack.digest[:16]}]"


def column_titles(pack: RulePack) -> dict[str, str]:
    """Titles of the operations, each with the unit of its numbers if all have the same."""
    units = grouped((operation.title, operation.unit) for operation in pack.operations)
    return {title: of_title[0] if len(set(of_title)) == 1 else "" for title, of_title in units.items()}


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of the table: for each column of numbers a row or None. `launched`: a row of each geometry of a launch
    condition.
    """

    level: int  # 0 heading, 1 launch condition, 2 a row below it
    label: str
    rows: tuple[Row | None, ...]
    launched: tuple[Row, ...] = ()

    @property
    def cells(self) -> list[Row]:
        return [row for row in self.rows if row is not None]


def table_lines(of_target: Sequence[Row], pack: RulePack) -> list[TableLine]:
    """The rows of one target in the RFP's layout, which all forms of the table share."""
    placed, of_columns = [], column_titles(pack)
    for files in pack.files:
        group = [row for row in of_target if row.cell.files == files.id]
        placed.append(_heading(files, group, pack, len(of_columns)))
        for launch in pack.launch:
            rows_by_operation = {row.cell.operation: row for row in group if row.cell.launch == launch.id}
            by_geometry = {row.geometry: row for row in rows_by_operation.values() if row.geometry}
            launched = tuple(by_geometry.values())
            operations = pack.operations_of(launch.id, files.id)
            for name in dict.fromkeys(["", *(operation.row for operation in operations)]):
                ids = {operation.title: operation.id for operation in operations if operation.row == name}
                rows = tuple(rows_by_operation[ids[title]] if title in ids else None for title in of_columns)
                placed.append(TableLine(2, name, rows) if name else TableLine(1, launch.title, rows, launched))
    return placed


def overview_lines(table: Sequence[Row], targets: Sequence[str], pack: RulePack) -> list[TableLine]:
    """File configurations, operations and launch conditions downwards, with the targets side by side."""
    placed = []
    for files in pack.files:
        group = [row for row in table if row.cell.files == files.id]
        placed.append(_heading(files, group, pack, len(targets)))
        for operation in dict.fromkeys(
            operation for launch in pack.launch for operation in pack.operations_of(launch.id, files.id)
        ):
            name = " ".join(filter(None, (operation.title, operation.row)))
            placed.append(TableLine(1, f"{name} ({operation.unit})", (None,) * len(targets)))
            for launch in pack.launch:
                rows_by_target = {
                    row.cell.target: row
                    for row in group
                    if (row.cell.launch, row.cell.operation) == (launch.id, operation.id)
                }
                if rows_by_target:
                    placed.append(TableLine(2, launch.title, tuple(map(rows_by_target.get, targets))))
    return placed


def _heading(files: FileConfiguration, rows: Sequence[Row], pack: RulePack, columns: int) -> TableLine:
    """The line above the rows of a file configuration, with its number of items."""
    totals = {row.run.items_total for row in rows if row.run and row.run.items_total}
    items = "/".join(str(total) for total in sorted(totals)) or str(pack.items_total.get("full", ""))
    return TableLine(0, files.title.replace("{items_total}", items), (None,) * columns)


# --- the columns of its lines

STATUS = "Status"
LABEL: Column[TableLine] = Column("", lambda line: "  " * line.level + line.label, is_text=True, width=48)


def target_columns(
    pack: RulePack,
    noted: notes.TableNotes,
    numbers: Mapping[str, int],
    entry: Callable[[Row | None], Any] = lambda row: row,
    unknown: str = "",
) -> list[Column[TableLine]]:
    """The columns of one target's table. `numbers`: of the texts of notes; `entry`: how a form shows a row; `unknown`:
    what it shows of runs that are not known.
    """

    def marks(line: TableLine) -> str:
        return notes.number_ranges(sorted(numbers[noted.texts[place - 1]] for place in noted.numbers_of(*line.rows)))

    return [
        LABEL,
        *value_columns(column_titles(pack), entry),
        *run_columns(unknown),
        _status_column(column_titles(pack)),
        Column("Notes", marks, is_text=True, is_optional=True, width=12),
    ]


def overview_columns(
    targets: Collection[str], entry: Callable[[Row | None], Any] = lambda row: row
) -> list[Column[TableLine]]:
    """The columns of the table that has the targets side by side."""
    return [LABEL, *value_columns(dict.fromkeys(targets, ""), entry), _status_column(targets)]


def value_columns(
    units: Mapping[str, str], entry: Callable[[Row | None], Any] = lambda row: row
) -> list[Column[TableLine]]:
    """A column of values for each title with its unit. `entry`: what a cell holds of a row."""

    def value(place: int, line: TableLine) -> Any:
        return entry(line.rows[place])

    return [
        Column(title, partial(value, place), unit=unit, width=max(14, len(title) + 2))
        for place, (title, unit) in enumerate(units.items())
    ]


def run_columns(unknown: str = "") -> list[Column[TableLine]]:
    """What a form for people shows of the runs of a launch condition, on its line."""

    def value(column: Column[Row], line: TableLine) -> str:
        texts = [str(value) for row in line.launched if (value := column.value(row)) is not None]
        is_unknown = line.level == 1 and not column.is_optional
        return "/".join(texts if column.repeats else dict.fromkeys(texts)) or unknown * is_unknown

    return [
        Column(
            column.title,
            partial(value, column),
            unit=column.unit,
            is_optional=column.is_optional,
            width=max(9, len(column.title) + 2),
        )
        for column in COLUMNS
        if column.title
    ]


def _status_column(titles: Collection[str]) -> Column[TableLine]:
    return Column(STATUS, partial(_status, titles), is_text=True, is_optional=True, width=24)


def _value_or_status(row: Row | None) -> str:
    return "" if row is None else str(row.status) if row.value is None else units.digits(row.value)


def _status(titles: Collection[str], line: TableLine) -> str:
    """The status of a line's numbers that are not measured and valid, with their columns unless it is that of all."""
    marked = grouped(
        (row.status, title)
        for title, row in zip(titles, line.rows, strict=True)
        if row and row.value is not None and row.status is not Status.MEASURED
    )
    return "; ".join(
        status.upper() + ("" if len(names) == len(line.cells) else f": {', '.join(names)}")
        for status, names in marked.items()
    )

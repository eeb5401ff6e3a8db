"""The table of all cells in its printed forms: text, CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from campaign.config.format import Campaign
from campaign.config.rules.entries import FileConfiguration
from campaign.config.rules.pack import RulePack
from campaign.config.rules.packs import digest_of_own
from campaign.core import units
from campaign.core.errors import typed
from campaign.core.grouping import grouped
from campaign.core.model import Geometry, Status
from campaign.report import notes, printing
from campaign.results.cells import Row
from campaign.results.tabular.table import flat

COLUMNS = (
    "target", "launch", "files", "operation", "value", "unit", "status", "processes", "nodes", "processes_per_node",
    "files_total", "run", "attempt", "job_id", "file", "line", "n", "median", "low", "high", "cv", "true_value",
    "findings", "best", "values", "jobs", "iterations", "statistic", "iteration", "iteration_minimum",
    "iteration_mean", "iteration_stddev", "parts", "nodes_measured", "nodes_minimum", "nodes_mean", "nodes_maximum",
    "nodes_spread", "energy_kwh", "peak_power_kw", "energy_method", "started",
)  # fmt: skip

ROUNDING = (
    "Values >= 100 are rounded to integers, smaller ones to 3 significant digits. CSV, JSON and XLSX hold full "
    "precision."
)
STATUS, NOTES = "Status", "Notes"


def as_json(table: Sequence[Row]) -> str:
    return json.dumps([row.as_json() for row in table], indent=1, ensure_ascii=False) + "\n"


def as_csv(table: Sequence[Row]) -> str:
    """With the ids of the rules that have findings about a cell; those not checked have a question mark."""
    marks = ([f.rule if f.checked else f"{f.rule}?" for f in row.findings] for row in table)
    rows = (flattened(row) | {"findings": list(dict.fromkeys(ids))} for row, ids in zip(table, marks, strict=True))
    return printing.as_csv(COLUMNS, rows)


def flattened(row: Row) -> dict[str, Any]:
    """The columns of the CSV form, None where a row has none."""
    return dict.fromkeys(COLUMNS) | flat(row.as_json())


def printed(
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
    placed = [lines(of_target, pack) for of_target in rows]
    noted = [notes.notes([line.cells for line in of_target], pack, details) for of_target in placed]
    texts = dict.fromkeys(text for of_target in noted for text in of_target.texts)
    numbers = {text: number for number, text in enumerate(texts, 1)}
    below = [[f"[{numbers[text]}] {text}" for text in of_target.texts] for of_target in noted]
    if details:
        for given, of_target in zip(below, rows, strict=True):
            given += notes.overall(of_target)
    shared = [text for text in below[0] if len(below) > 1 and all(text in given for given in below)]
    for target, drawn, on, given in zip(campaign.targets, placed, noted, below, strict=True):
        own = [text for text in given if text not in shared]
        parts += [
            printing.paragraph(f"{pack.caption}: {target.name} ({target.directory}){size}{origin(pack)}", style, width),
            printing.grid(*_body(drawn, pack, on, numbers), style, (STATUS, NOTES), width),
            *(printing.paragraph(text, style, width, indent=4) for text in own),
            "",
        ]
    if combined and len(campaign.targets) > 1:
        names = [target.name for target in campaign.targets]
        body = [[*_texts(line), status(line, names)] for line in overview(table, names, pack)]
        parts += [
            printing.paragraph(f"{pack.caption}: {', '.join(names)}", style, width),
            printing.grid(*_without_empty(["", *names, STATUS], body), style, (STATUS,), width),
            "",
        ]
    last = ["For all targets:", *shared, ""] if shared else []
    if not details and (hidden := notes.left_out([[line.cells for line in of_target] for of_target in placed], pack)):
        last.append(f"{hidden}: 'campaign table {typed(campaign.path, campaign.part)} --details' prints them")
    texts_below = (printing.paragraph(text, style, width, indent=4) for text in last)
    return printing.document([*parts, *texts_below, printing.paragraph(ROUNDING, style, width)], style)


def origin(pack: RulePack) -> str:
    """The origin of the rules, if the pack is not one of the project's own: its id alone does not identify it."""
    if pack.digest in ("", digest_of_own(pack.id)):
        return ""
    return f" [custom rule pack {pack.path}, SHA-256 {pack.digest[:16]}]"


def columns(pack: RulePack) -> tuple[str, ...]:
    """Titles of the operations, without duplicates."""
    return tuple(dict.fromkeys(operation.title for operation in pack.operations))


def unit(pack: RulePack, title: str) -> str:
    """The unit of a column, if all its values have the same."""
    units = {operation.unit for operation in pack.operations if operation.title == title}
    return units.pop() if len(units) == 1 else ""


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of the table: for each column a row or None. `geometries`: of its columns, one if they agree."""

    level: int  # 0 heading, 1 launch condition, 2 a row below it
    label: str
    rows: tuple[Row | None, ...]
    geometries: tuple[Geometry, ...] = ()

    @property
    def cells(self) -> list[Row]:
        return [row for row in self.rows if row is not None]

    @property
    def processes(self) -> str:
        return "/".join(str(geometry.processes) for geometry in self.geometries) or "?"

    @property
    def nodes(self) -> str:
        return "/".join(str(nodes) for nodes in dict.fromkeys(geometry.nodes for geometry in self.geometries)) or "?"


def lines(of_target: Sequence[Row], pack: RulePack) -> list[TableLine]:
    """The rows of one target in the RFP's layout, which all forms of the table share."""
    placed, titles = [], columns(pack)
    for files in pack.files:
        group = [row for row in of_target if row.cell.files == files.id]
        placed.append(_heading(files, group, pack, len(titles)))
        for launch in pack.launch:
            beside = {row.cell.operation: row for row in group if row.cell.launch == launch.id}
            geometries = tuple(dict.fromkeys(row.geometry for row in beside.values() if row.geometry))
            operations = pack.operations_of(launch.id)
            for name in dict.fromkeys(["", *(operation.row for operation in operations)]):
                ids = {operation.title: operation.id for operation in operations if operation.row == name}
                rows = tuple(beside[ids[title]] if title in ids else None for title in titles)
                level, label = (2, name) if name else (1, launch.title)
                placed.append(TableLine(level, label, rows, geometries))
    return placed


def overview(table: Sequence[Row], targets: Sequence[str], pack: RulePack) -> list[TableLine]:
    """File configurations, operations and launch conditions downwards, with the targets side by side."""
    placed = []
    for files in pack.files:
        group = [row for row in table if row.cell.files == files.id]
        placed.append(_heading(files, group, pack, len(targets)))
        for operation in dict.fromkeys(each for launch in pack.launch for each in pack.operations_of(launch.id)):
            name = " ".join(filter(None, (operation.title, operation.row)))
            placed.append(TableLine(1, f"{name} ({operation.unit})", (None,) * len(targets)))
            for launch in pack.launch:
                beside = {
                    row.cell.target: row
                    for row in group
                    if (row.cell.launch, row.cell.operation) == (launch.id, operation.id)
                }
                if beside:
                    placed.append(TableLine(2, launch.title, tuple(map(beside.get, targets))))
    return placed


def _heading(files: FileConfiguration, rows: Sequence[Row], pack: RulePack, columns: int) -> TableLine:
    """The line above the rows of a file configuration, with its number of items."""
    totals = {row.run.items_total for row in rows if row.run and row.run.items_total}
    items = "/".join(str(total) for total in sorted(totals)) or str(pack.items_total.get("full", ""))
    return TableLine(0, files.title.replace("{items_total}", items), (None,) * columns)


TableTexts = tuple[list[str], list[list[str]]]  # headers and lines


def _body(
    placed: Sequence[TableLine], pack: RulePack, noted: notes.TableNotes, numbers: Mapping[str, int]
) -> TableTexts:
    titles = columns(pack)
    body = [
        [
            *_texts(line),
            *((line.processes, line.nodes) if line.level == 1 else ("", "")),
            status(line, titles),
            notes.ranges(sorted(numbers[noted.texts[place - 1]] for place in noted.of(*line.rows))),
        ]
        for line in placed
    ]
    return _without_empty(["", *titles, "Processes", "Nodes", STATUS, NOTES], body)


def _texts(line: TableLine) -> list[str]:
    return ["  " * line.level + line.label, *(_entry(row) if row else "" for row in line.rows)]


def _without_empty(headers: Sequence[str], body: Sequence[Sequence[str]]) -> TableTexts:
    """Status and notes are columns of their own, so that numbers align, but only where a line has them."""
    kept = [
        place
        for place, header in enumerate(headers)
        if header not in (STATUS, NOTES) or any(line[place] for line in body)
    ]
    return [headers[place] for place in kept], [[line[place] for place in kept] for line in body]


def _entry(row: Row) -> str:
    return str(row.status) if row.value is None else units.digits(row.value)


def status(line: TableLine, titles: Sequence[str]) -> str:
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

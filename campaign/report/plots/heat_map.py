"""All results of a target as coloured cells, by how often they are the result under the first launch condition."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from campaign.config.rules.pack import RulePack
from campaign.core.runs import Cell, Status
from campaign.report.plots import drawing, shapes
from campaign.results.cells import Row

FILE, TITLE = "results", "All results at a glance"  # no plot of a pack has this id
MOST_OPERATIONS = 24  # of a panel that can still be read
HEIGHT, WIDTH = 34, 66  # of a cell; four of them are as wide as other panels
STATUS_MARKS = {Status.INVALID: "violated", Status.PROJECTED: "projected"}


def heat_map(pack: RulePack, rows: Sequence[Row]) -> drawing.DrawnPlot | None:
    """A panel for each file configuration, operations downwards and launch conditions to the right. None where there
    is nothing to compare, or too much.
    """
    ratios = _ratios(pack, rows)
    most_operations = max((len(pack.operations_of(launch.id)) for launch in pack.launch), default=0)
    if len(pack.launch) < 2 or not 1 < most_operations <= MOST_OPERATIONS or len(set(ratios.values())) < 2:
        return None
    low, high = min(ratios.values()), max(ratios.values())
    parts = {cell: math.log(ratio / low) / math.log(high / low) for cell, ratio in ratios.items()}
    panels = tuple(
        _panel(pack, files.title, [row for row in rows if row.cell.files == files.id], ratios, parts)
        for files in pack.files
    )
    levels = {low: 0.0, math.sqrt(low * high): 0.5, high: 1.0}
    legend = tuple(shapes.Key(f"{level:.3g} times", shapes.shade(part)) for level, part in levels.items())
    first = drawing.without_total(pack.launch[0].title)
    marks = {mark for row in rows if (mark := _mark(row))}
    remarks = (f"colour: how many times as good as under {first}", *(f"{mark[0]}: {mark}" for mark in sorted(marks)))
    description = f"A cell for each result, coloured by its ratio to the one under {first}; the table has the numbers."
    return drawing.DrawnPlot(panels, description, legend, remarks)


def _ratios(pack: RulePack, rows: Sequence[Row]) -> Mapping[Cell, float]:
    """How many times as good as under the first launch condition each result is."""
    values = {row.cell: row.value for row in rows if row.value is not None and row.value > 0}
    ratios = {}
    for row in rows:
        base = values.get(Cell(row.cell.target, pack.launch[0].id, row.cell.files, row.cell.operation))
        if base and (value := values.get(row.cell)):
            ratios[row.cell] = value / base if row.best == "highest" else base / value
    return ratios


def _panel(
    pack: RulePack, title: str, rows: Sequence[Row], ratios: Mapping[Cell, float], parts: Mapping[Cell, float]
) -> shapes.Panel:
    operations = list(dict.fromkeys(row.cell.operation for row in rows))
    titles = {operation.id: operation.title for operation in pack.operations}
    launches = [drawing.fold_title(launch.title, WIDTH // 7) for launch in pack.launch]
    ticks = tuple((-number - 0.5, titles[operation]) for number, operation in enumerate(operations))
    left = shapes.left_margin(titles[operation] for operation in operations)
    return shapes.Panel(
        drawing.without_total(title),
        shapes.axis_of_groups(launches),
        shapes.Axis(-float(len(operations)), 0.0, ticks),
        tuple(_tiles(pack, operations, rows, ratios, parts)),
        width=left + shapes.RIGHT + WIDTH * len(launches),
        height=HEIGHT * len(operations),
        left=left,
    )


def _tiles(
    pack: RulePack,
    operations: Sequence[str],
    rows: Sequence[Row],
    ratios: Mapping[Cell, float],
    parts: Mapping[Cell, float],
) -> Iterator[shapes.Tile]:
    columns = {launch.id: number for number, launch in enumerate(pack.launch)}
    for row in rows:
        value = row.value
        yield shapes.Tile(
            columns[row.cell.launch],
            operations.index(row.cell.operation),
            str(row.status) if value is None else shapes.amount(value),
            f"{ratios[row.cell]:.3g}×" if row.cell in ratios else "",
            f"{row.cell}: {row.status}" if value is None else drawing.describe_row(row),
            str(row.cell),
            parts.get(row.cell),
            _mark(row)[:1],
        )


def _mark(row: Row) -> str:
    waived = any(finding.waived for finding in row.findings)
    return STATUS_MARKS.get(row.status, "waived" if waived else "")

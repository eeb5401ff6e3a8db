"""Shared by all kinds of plots: the rows of a plot, and the words around its numbers."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.config.rules.entries import FileConfiguration, LaunchCondition, Operation, Plot
from campaign.config.rules.pack import RulePack
from campaign.core import units
from campaign.core.runs import Geometry, Status
from campaign.report.plots.shapes import Key, Panel
from campaign.results.cells import Row
from campaign.statistics import contention

Entry = FileConfiguration | LaunchCondition  # of a rule pack: what panels and groups are of
MOST_LINES = 6  # of a title below an axis


@dataclass(frozen=True, slots=True)
class DrawnPlot:
    """Panels; a description for those who cannot see it; the models fitted for it, by name; and numbers that
    the table does not have.
    """

    panels: tuple[Panel, ...]
    description: str
    legend: tuple[Key, ...] = ()
    remarks: tuple[str, ...] = ()
    models: tuple[tuple[str, contention.ContentionFit], ...] = ()
    numbers: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    pack: RulePack
    plot: Plot
    rows: Sequence[Row]
    root: Path

    def panel_rows(self, files: Entry, launch: Entry) -> list[Row]:
        """The rows with numbers for the plot's operations."""
        return [row for row in self.planned_rows(files, launch) if self.has_number(row)]

    def planned_rows(self, files: Entry, launch: Entry) -> list[Row]:
        """The rows for the plot's operations, with and without numbers."""
        return [row for row in self.rows if (row.cell.files, row.cell.launch) == (files.id, launch.id)]

    @property
    def numbered_rows(self) -> list[Row]:
        return [row for row in self.rows if self.has_number(row)]

    def has_number(self, row: Row) -> bool:
        return row.value is not None and self.template(row) in self.plot.operations

    def template(self, row: Row) -> str:
        operation = self.operation(row)
        return operation.template or operation.id

    def operation(self, row: Row) -> Operation:
        return next(operation for operation in self.pack.operations if operation.id == row.cell.operation)

    def point(self, row: Row) -> dict[str, str]:
        """The sweeps' values for a row."""
        return dict(self.operation(row).at)

    def title(self, template: str) -> str:
        return next(
            operation.title for operation in self.pack.operations if template in (operation.template, operation.id)
        )

    def sweep(self, name: str) -> str:
        """The meaning of a sweep's values."""
        return next((sweep.title for sweep in self.pack.sweeps if sweep.id == name), "") or name

    def units(self) -> str:
        return ", ".join(dict.fromkeys(row.unit for row in self.numbered_rows))

    def panels(self) -> list[tuple[Entry, Entry]]:
        """The panels with numbers."""
        every = itertools.product(self.pack.files, self.pack.launch)
        return [(files, launch) for files, launch in every if self.panel_rows(files, launch)]

    def name(self, files: Entry, launch: Entry) -> str:
        """What distinguishes a panel from the others; "" if there is only one."""
        kinds = ((files.title, self.pack.files), (launch.title, self.pack.launch))
        return without_total(", ".join(title for title, axis_entries in kinds if len(axis_entries) > 1))

    def heading(self, files: Entry, launch: Entry) -> str:
        """Its name with its processes × nodes."""
        return with_geometry(self.name(files, launch), self.planned_rows(files, launch))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks that belong to any plot of these numbers."""
        invalid = any(row.status is Status.INVALID for row in self.numbered_rows)
        texts = {
            f"{self.pack.profile} size: not a compliant result": self.pack.profile not in ("", "full"),
            "striped or crossed: invalid": invalid and self.plot.kind in ("bars", "lines"),
        }
        return tuple(text for text, applies in texts.items() if applies)


def actual_rate(row: Row) -> float | None:
    """The actual rate, if the benchmark's formula counts more."""
    true = row.record.true_value if row.record else None
    return true if true is not None and row.value is not None and row.value > 1.01 * true else None


def describe_row(row: Row) -> str:
    """One number in words: `scratch/node/shared/create: 1234 ops/s, 16 × 1, invalid`."""
    assert row.value is not None
    parts = [f"{row.cell}: {units.digits(row.value)} {row.unit}", geometries([row])]
    parts += [str(row.status)] if row.status is not Status.MEASURED else []
    return ", ".join(part for part in parts if part)


def processes_by_nodes(geometry: Geometry) -> str:
    return f"{geometry.processes} × {geometry.nodes}"


def geometries(rows: Sequence[Row]) -> str:
    """`64 × 4`: processes × nodes, without duplicates."""
    return ", ".join(dict.fromkeys(processes_by_nodes(row.geometry) for row in rows if row.geometry))


def with_geometry(title: str, rows: Sequence[Row]) -> str:
    """`Single node: 16 processes × 1 node`."""
    unique = dict.fromkeys(row.geometry for row in rows if row.geometry)
    sizes = ", ".join(
        f"{shape.processes} process{'es' if shape.processes > 1 else ''} × {units.plural(shape.nodes, 'node')}"
        for shape in unique
    )
    return ": ".join(part for part in (title, sizes) if part)


def without_total(title: str) -> str:
    """A title without the number of items, which the table shows."""
    return title.replace("{items_total} ", "")


def fold_title(text: str, width: int) -> str:
    """A title on several short lines."""
    lines = textwrap.wrap(without_total(text), width, break_long_words=False)
    return "\n".join(lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], f"{lines[MOST_LINES - 1]}…"])

"""The lines and columns of the table, from the settled rule pack alone; used for every form of the table. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from campaign.config.rules.entries import FileConfiguration
from campaign.config.rules.pack import RulePack


@dataclass(frozen=True, slots=True)
class LayoutLine:
    """`launch` is None in the heading of a file configuration; `operations` has an id, or None, for each column."""

    level: int  # 0 heading, 1 launch condition, 2 a row below it
    label: str
    launch: str | None = None
    operations: tuple[str | None, ...] = ()


def columns(pack: RulePack) -> tuple[str, ...]:
    """Titles of the operations, without duplicates."""
    return tuple(dict.fromkeys(operation.title for operation in pack.operations))


def lines(pack: RulePack, files: FileConfiguration, items_total: str) -> tuple[LayoutLine, ...]:
    """The heading and lines of each file configuration; `items_total` replaces its placeholder."""
    titles = columns(pack)
    layout = [LayoutLine(0, files.title.replace("{items_total}", items_total))]
    for launch in pack.launch:
        operations = pack.operations_of(launch.id)
        for row in dict.fromkeys(["", *(operation.row for operation in operations)]):
            ids = {operation.title: operation.id for operation in operations if operation.row == row}
            level, label = (2, row) if row else (1, launch.title)
            layout.append(LayoutLine(level, label, launch.id, tuple(map(ids.get, titles))))
    return tuple(layout)

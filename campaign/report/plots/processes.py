"""Heat maps of what each process moved over time."""

from __future__ import annotations

from collections.abc import Sequence

from campaign.core import units
from campaign.report.plots.drawing import Drawing, DrawnPlot
from campaign.report.plots.shapes import Axis, Key, Panel, Raster, linear_axis, shade
from campaign.results.parsers.bench_jsonl import Timeline, timelines

READ_BYTES = 256 << 20  # of a file with timelines
ROWS, COLUMNS = 48, 100  # of a map: larger ones are drawn as means
LABELS = 8


def processes(drawing: Drawing) -> DrawnPlot | None:
    """A map for each execution and operation: processes downwards, time to the right, colour for the rate."""
    maps = [
        (files.id, launch.id, operation, lines)
        for launch in drawing.pack.launch
        for files in drawing.pack.files
        for operation, lines in _recorded(drawing, files.id, launch.id).items()
    ]
    if not maps:
        return None
    panels, most = [], max(_most(lines) for *_, lines in maps)
    for files, launch, operation, lines in maps:
        alike = [recorded for _, _, other, recorded in maps if other == operation]
        longest = max(len(line.bytes) * line.interval_s for each in alike for line in each)
        name = drawing.heading(files, launch)
        title = f"{name}, {_reached(drawing, files, launch, operation)}" if name else operation
        panels.append(_panel(title, lines, longest, most))
    shades = [(0.05, "near 0"), (0.5, f"{units.digits(most / 2)} MiB/s"), (0.95, f"{units.digits(most)} MiB/s")]
    legend = tuple(Key(label, shade(part)) for part, label in shades)
    means = max(-(-len(lines) // ROWS) for *_, lines in maps)
    remarks = [*drawing.remarks, "white: nothing moved"]
    remarks += [f"each row: mean of up to {means} processes" if means > 1 else "each row: a process, with its node"]
    about = "Maps of what each process moved over time; those of one operation have the same scale of time."
    return DrawnPlot(tuple(panels), about, legend, tuple(remarks))


def _recorded(drawing: Drawing, files: str, launch: str) -> dict[str, list[Timeline]]:
    """The timelines of the attempt that the table reports."""
    for row in drawing.rows:
        if (row.cell.files, row.cell.launch) == (files, launch) and row.run and row.attempt and row.record:
            path = drawing.root / "runs" / row.run.id / str(row.attempt.number) / "bench.jsonl"
            try:
                if path.is_symlink() or path.stat().st_size > READ_BYTES:
                    return {}
                return timelines(path.read_text(encoding="utf-8", errors="replace"))
            except OSError:
                return {}
    return {}


def _most(lines: Sequence[Timeline]) -> float:
    """The largest value of a map in MiB/s; never 0."""
    return max((value for row in rates(lines) for value in row if value is not None), default=0.0) or 1.0


def _reached(drawing: Drawing, files: str, launch: str, operation: str) -> str:
    """The number of the table that belongs to a map."""
    for row in drawing.rows:
        if (row.cell.files, row.cell.launch) != (files, launch) or row.record is None:
            continue
        if row.record.operation == operation and row.value is not None:
            return f"{operation} {row.value:.4g} {row.unit}"
    return operation


def rates(lines: Sequence[Timeline]) -> list[list[float | None]]:
    """MiB/s of each process in each interval, None if it moved nothing; means if there are too many."""
    deep = max(1, -(-len(lines) // ROWS))
    longest = max((len(line.bytes) for line in lines), default=0)
    wide = max(1, -(-longest // COLUMNS))
    rows = []
    for first in range(0, len(lines), deep):
        band = lines[first : first + deep]
        row: list[float | None] = []
        for start in range(0, longest, wide):
            moved = sum(sum(line.bytes[start : start + wide]) for line in band)
            seconds = sum(line.interval_s * wide for line in band)
            row.append(moved / seconds / (1 << 20) if moved else None)
        rows.append(row)
    return rows


def _panel(title: str, lines: Sequence[Timeline], longest: float, most: float) -> Panel:
    rows = rates(lines)
    columns = max(1, -(-max(len(line.bytes) for line in lines) // COLUMNS)) * len(rows[0])
    shades = tuple(tuple(None if value is None else value / most for value in row) for row in rows)
    count = len(lines)
    step = -(-count // LABELS)
    ticks = tuple((-index - 0.5, f"{lines[index].rank} {lines[index].node}"[:9]) for index in range(0, count, step))
    x = linear_axis(longest, "time (s)", 4)
    raster = Raster(shades, min(longest, columns * lines[0].interval_s))
    return Panel(title, x, Axis(-count, 0.0, ticks), (raster,), height=max(60, min(230, 18 * len(rows))))

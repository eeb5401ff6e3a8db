"""What each process moved over time, as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from campaign.report.plots.drawing import Drawing, DrawnPlot, add_heading, new_figure, short
from campaign.results.parsers.timeline import Timeline, timelines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

READ_BYTES = 256 << 20  # of a file with timelines


def processes(drawing: Drawing) -> DrawnPlot | None:
    """A map for each execution and operation: processes downwards, time to the right, colour is what was moved."""
    maps = [
        (files.id, launch.id, operation, lines)
        for launch in drawing.pack.launch
        for files in drawing.pack.files
        for operation, lines in _recorded(drawing, files.id, launch.id).items()
    ]
    if not maps:
        return None
    operations = list(dict.fromkeys(operation for _, _, operation, _ in maps))
    places = list(dict.fromkeys((files, launch) for files, launch, _, _ in maps))
    deepest = max(len(lines) for _, _, _, lines in maps)
    height = min(5.0, 1.3 + 0.16 * min(deepest, 24))
    figure, grid = new_figure(len(operations), len(places), width=5.2, height=height)
    for operation in operations:
        column = operations.index(operation)
        own = [one for one in maps if one[2] == operation]
        longest = max(len(line.bytes) * line.interval_s for *_, lines in own for line in lines)
        most = max((_mib_s(line) for *_, lines in own for line in lines), default=0.0)
        for files, launch in places:
            axes = grid[places.index((files, launch))][column]
            lines = next((one[3] for one in own if one[:2] == (files, launch)), [])
            image = _map(axes, lines, longest, most)
            name = drawing.name(files, launch)
            axes.set_title(
                "\n".join(filter(None, [short(name, 60), _reached(drawing, files, launch, operation)])), fontsize=9
            )
        figure.colorbar(image, ax=[line[column] for line in grid], label="MiB/s", fraction=0.05, pad=0.02)
    for line_of_grid in grid:
        line_of_grid[0].set_ylabel("process")
    for axes in grid[-1]:
        axes.set_xlabel("time (s)")
    add_heading(figure, drawing, "white: nothing moved")
    return DrawnPlot(
        figure, "Maps of what each process moved over time, one below the other on the same scale of time."
    )


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


def _mib_s(line: Timeline) -> float:
    return max(line.bytes, default=0) / line.interval_s / (1 << 20)


def _reached(drawing: Drawing, files: str, launch: str, operation: str) -> str:
    """The number of the table that belongs to a map."""
    for row in drawing.rows:
        if (row.cell.files, row.cell.launch) != (files, launch) or row.record is None:
            continue
        if row.record.operation == operation and row.value is not None:
            return f"{operation}: {row.value:.4g} {row.unit}"
    return operation


def _map(axes: Axes, lines: Sequence[Timeline], longest: float, most: float) -> Any:
    import numpy
    from matplotlib import colormaps

    interval = lines[0].interval_s if lines else longest
    width = max((len(line.bytes) for line in lines), default=1)
    cells = numpy.full((max(1, len(lines)), width), numpy.nan)
    for index, line in enumerate(lines):
        moved = numpy.array(line.bytes, dtype=float) / interval / (1 << 20)
        cells[index, : len(moved)] = numpy.where(moved > 0, moved, numpy.nan)
    image = axes.imshow(
        cells,
        aspect="auto",
        interpolation="nearest",
        cmap=colormaps["viridis"],
        vmin=0,
        vmax=most or 1.0,
        extent=(0, width * interval, len(lines) - 0.5, -0.5),
    )
    axes.set_xlim(0, longest)
    axes.locator_params(axis="x", nbins=4)  # short intervals have long numbers
    step = max(1, len(lines) // 8)
    ranks = range(0, len(lines), step)
    axes.set_yticks(list(ranks), [f"{lines[index].rank} {lines[index].node}" for index in ranks], fontsize=7)
    return image

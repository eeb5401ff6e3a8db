"""Bandwidth over the number of pairs that share a way, with the model of their contention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from campaign.report.plots.drawing import Drawing, DrawnPlot, add_heading, add_legend, new_figure
from campaign.results.cells import Row
from campaign.statistics import contention

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def pairs(drawing: Drawing) -> DrawnPlot | None:
    """Total bandwidth and bandwidth a pair over the number of pairs: what was measured, and the model's curves."""
    panels = drawing.panels()
    if not panels:
        return None
    figure, grid = new_figure(2, len(panels), width=4.9, height=4.0)
    models = []
    for (files, launch), (total, each) in zip(panels, grid, strict=True):
        points = list(_points(drawing, drawing.of(files, launch)))
        try:
            fit = contention.fit(points)
            models.append((drawing.name(files, launch), fit))
        except ValueError:
            fit = None
        _curves(total, points, fit, each_pair=False)
        _curves(each, points, fit, each_pair=True)
        name = drawing.name(files, launch)
        total.set_title(f"{name + ': ' if name else ''}all pairs", fontsize=9)
        each.set_title("each pair", fontsize=9)
    sizes = sorted({int(drawing.point(row)[drawing.plot.series]) for row in drawing.rows if drawing.shows(row)})
    add_legend(figure, [f"{size} B" for size in sizes], colours=_gradient(len(sizes)))
    add_heading(figure, drawing, _remark(models))
    about = f"Bandwidth of 1 to p pairs for {len(sizes)} sizes of messages, with the fitted model."
    return DrawnPlot(figure, about, tuple(models))


def _remark(models: Sequence[tuple[str, contention.ContentionFit]]) -> str:
    if not models:
        return "measured; too few points for the model"
    off = ", ".join(f"{100 * fit.held_back.median:.0f}%" for _, fit in models)
    return f"points: measured; lines: the max-rate model, off by {off} (median) on points held back"


def _points(drawing: Drawing, rows: Sequence[Row]) -> Iterator[contention.Point]:
    """The time in which each pair sent one message, from the rates in messages a second or MB a second."""
    for row in rows:
        at, value = drawing.point(row), row.value
        pairs, size = int(at[drawing.plot.x]), int(at[drawing.plot.series])
        if value:
            messages = value if row.unit == "messages/s" else value * 1e6 / size
            yield contention.Point(pairs, size, pairs / messages)


def _curves(
    axes: Axes, points: Sequence[contention.Point], fit: contention.ContentionFit | None, each_pair: bool
) -> None:
    sizes = sorted({point.size_bytes for point in points})
    colours = _gradient(len(sizes))
    for size, colour in zip(sizes, colours, strict=True):
        own = sorted((point for point in points if point.size_bytes == size), key=lambda point: point.pairs)
        pairs = [point.pairs for point in own]

        def rate(count: int, seconds: float, size: int = size) -> float:
            return size * (1 if each_pair else count) / seconds / 1e6

        axes.plot(pairs, [rate(p.pairs, p.seconds) for p in own], "o", color=colour, markersize=4)
        if fit is not None:
            axes.plot(pairs, [rate(p.pairs, fit.model.seconds(p.pairs, size)) for p in own], color=colour, linewidth=1)
    axes.set_yscale("log")
    axes.set_xlabel("pairs of processes")
    axes.set_ylabel("MB/s")
    most = max((point.pairs for point in points), default=1)
    axes.set_xticks(range(1, most + 1, max(1, most // 8)))
    axes.grid(alpha=0.25, which="major")


def _gradient(count: int) -> list[str]:
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["viridis"](0.93 * index / max(1, count - 1))) for index in range(count)]

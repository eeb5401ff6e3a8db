"""Bandwidth over the number of pairs that share a path, with the model of their contention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from campaign.core.units import digits
from campaign.report.plots.drawing import Drawing, DrawnPlot
from campaign.report.plots.shapes import Axis, Key, Line, Panel, gradient, value_axis
from campaign.results.cells import Row
from campaign.statistics import contention


def pairs(drawing: Drawing) -> DrawnPlot | None:
    """Total bandwidth and bandwidth per pair over the number of pairs: measured points, and the model's curves."""
    panels = drawing.panels()
    if not panels:
        return None
    drawn: list[Panel] = []
    models = []
    for files, launch in panels:
        points = list(_points(drawing, drawing.of(files, launch)))
        name = drawing.heading(files, launch)
        try:
            fit = contention.fit(points)
            models.append((drawing.name(files, launch), fit))
        except ValueError:
            fit = None
        drawn += [_panel(points, fit, name, each_pair=False), _panel(points, fit, name, each_pair=True)]
    sizes = sorted({int(drawing.point(row)[drawing.plot.series]) for row in drawing.shown})
    colours = gradient(len(sizes))
    legend = tuple(Key(f"{size} B", shown, "points") for size, shown in zip(sizes, colours, strict=True))
    about = f"Bandwidth of 1 to p pairs for {len(sizes)} sizes of messages, with the fitted model."
    return DrawnPlot(tuple(drawn), about, legend, (*drawing.remarks, _remark(models)), tuple(models))


def _remark(models: Sequence[tuple[str, contention.ContentionFit]]) -> str:
    if not models:
        return "measured; too few points for the model"
    off = ", ".join(f"{fit.held_back.median:.0%} (90%: {fit.held_back.ninth_decile:.0%})" for _, fit in models)
    return f"points: measured; lines: the max-rate model, off by {off} on points held back (median, 90th percentile)"


def _points(drawing: Drawing, rows: Sequence[Row]) -> Iterator[contention.Point]:
    """The time in which each pair sent one message, computed from rates in messages/s or MB/s."""
    for row in rows:
        at, value = drawing.point(row), row.value
        count, size = int(at[drawing.plot.x]), int(at[drawing.plot.series])
        if value:
            messages = value if row.unit == "messages/s" else value * 1e6 / size
            yield contention.Point(count, size, count / messages)


def _panel(
    points: Sequence[contention.Point], fit: contention.ContentionFit | None, name: str, each_pair: bool
) -> Panel:
    def rate(count: int, seconds: float, size: int) -> float:
        return size * (1 if each_pair else count) / seconds / 1e6

    sizes = sorted({point.size_bytes for point in points})
    marks = []
    for size, shown in zip(sizes, gradient(len(sizes)), strict=True):
        of_size = sorted((point for point in points if point.size_bytes == size), key=lambda point: point.pairs)
        if fit is not None:
            curve = [(float(p.pairs), rate(p.pairs, fit.model.seconds(p.pairs, size), size)) for p in of_size]
            marks.append(Line(tuple(curve), shown, marked=False))
        measured = [(float(p.pairs), rate(p.pairs, p.seconds, size)) for p in of_size]
        marks.append(Line(tuple(measured), shown, joined=False))
    most = max((point.pairs for point in points), default=1)
    ticks = tuple((float(count), str(count)) for count in range(1, most + 1, max(1, most // 8)))
    x = Axis(0.5, most + 0.5, ticks, "pairs of processes")
    y = value_axis([value for mark in marks for _, value in mark.points], "MB/s")
    which = "each pair" if each_pair else "all pairs"
    return Panel(f"{name}, {which}" if name else which, x, y, tuple(marks))


# --- the model in words


def model_lines(fit: contention.ContentionFit) -> list[tuple[str, str]]:
    """The parameters of a fitted model: meaning, and number with its unit."""
    low_high = fit.ranges

    def rate(name: str, value: float) -> str:
        low, high = low_high[name]
        return f"{digits(value / 1e6)} MB/s ({digits(low / 1e6)} to {digits(high / 1e6)} over the fits)"

    def latency(name: str, value: float) -> str:
        low, high = low_high[name]
        return f"{digits(value * 1e6)} µs ({digits(low * 1e6)} to {digits(high * 1e6)})"

    lines = [
        ("T", "α + (k − 1)·g + k·m / min(R_N, R_Cb + (k − 1)·R_Ci), for k pairs and messages of m bytes"),
        (
            "α, latency of a message",
            latency("latency_s", fit.model.latency_s),
        ),
        ("g, what each further pair adds to it", latency("further_s", fit.model.further_s)),
        (
            "R_N, highest rate of a node",
            rate("node_bytes_s", fit.model.node_bytes_s)
            if fit.node_limit_reached
            else f"at least {digits(fit.model.rate(fit.pairs) / 1e6)} MB/s (limit not reached)",
        ),
        ("R_Cb, rate of its first process", rate("first_bytes_s", fit.model.first_bytes_s)),
        ("R_Ci, rate that each further process adds", rate("further_bytes_s", fit.model.further_bytes_s)),
        ("error on the points of the fit", _errors(fit.fitted)),
        ("prediction error on held-out points", _errors(fit.held_back)),
    ]
    if fit.most_pairs is not None:
        lines.append(("prediction error on the most pairs, held out together", _errors(fit.most_pairs)))
    if fit.without_model is not None:
        lines.append(("error of the simple estimate (single-pair rate)", _errors(fit.without_model)))
    return lines


def _errors(errors: contention.Errors) -> str:
    return (
        f"{errors.median:.1%} median, {errors.ninth_decile:.1%} ninth decile, {errors.largest:.1%} largest, of "
        f"{errors.points} points"
    )

"""The plots of the report: a rule pack's plots, drawn from the rows of the table.

A plot without numbers is left out. Invalid numbers are drawn and marked.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from campaign.config.rules.pack import RulePack
from campaign.core import outputs, units, untrusted
from campaign.core.grouping import grouped
from campaign.core.runs import Status
from campaign.report import printing
from campaign.report.notes import measures_memory
from campaign.report.plots import drawing, heat_map, shapes, strips, svg
from campaign.results.cells import Row
from campaign.results.parsers.bench_jsonl import latencies, timelines
from campaign.results.parsers.json_applets import PERCENTILES, Latencies, Timeline
from campaign.statistics import contention

WIDTH, MARGINS, NARROWEST = 340, 76, 62  # of bars: width of a panel, margins, least width of a group
LABELS = 7  # below the axis of a sweep
READ_BYTES = 256 << 20  # of a file with timelines
ROWS, COLUMNS = 48, 100  # of a map: larger ones are drawn as means
PROCESSES = 8  # that are named beside a map


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot with its title, and its file beside the page."""

    file: str
    title: str
    drawn: drawing.DrawnPlot


def draw_plots(pack: RulePack, target: str, rows: Sequence[Row], root: Path, directory: Path) -> list[Picture]:
    """Draw the map of all results of one target, the pack's plots with these rows, and those of repetitions and of
    nodes that ran by themselves, into `directory`. `root`: the directory of the raw outputs.
    """
    plots = [(plot.id, plot.title, _KINDS[plot.kind](drawing.Drawing(pack, plot, rows, root))) for plot in pack.plots]
    plots.insert(0, (heat_map.FILE, heat_map.TITLE, heat_map.heat_map(pack, rows)))
    plots.append((strips.FILE, strips.TITLE, strips.strips(pack, rows)))
    plots.append((NODES_FILE, NODES_TITLE, by_node(rows)))
    pictures = [Picture(f"{target}-{name}.svg", title, drawn) for name, title, drawn in plots if drawn]
    for picture in pictures:
        write_plot(directory / picture.file, f"{picture.title}: {target}", picture.drawn)
    return pictures


def write_plot(path: Path, title: str, drawn: drawing.DrawnPlot) -> None:
    """Write it as a file of its own, for a letter or slides; its numbers beside it."""
    outputs.write_in_directory(path, svg.document_svg(title, drawn.remarks, drawn.panels, drawn.legend))
    if drawn.numbers:
        outputs.write_in_directory(path.with_suffix(".csv"), printing.as_csv(tuple(drawn.numbers[0]), drawn.numbers))


# --- bars


def bars(figure: drawing.Drawing) -> drawing.DrawnPlot | None:
    """Groups of bars, one for each operation; groups are launch conditions, or configurations with `x: files`."""
    pack = figure.pack
    panels: Sequence[drawing.Entry] = pack.launch if figure.plot.x == "files" else pack.files
    groups: Sequence[drawing.Entry] = pack.files if figure.plot.x == "files" else pack.launch
    panels_with_bars = [panel for panel in panels if any(_bars_of(figure, panel, group) for group in groups)]
    if not panels_with_bars:
        return None
    rows = figure.numbered_rows
    y = shapes.value_axis([row.value for row in rows if row.value is not None], figure.units())
    drawn = tuple(_bar_panel(figure, panel, groups, y) for panel in panels_with_bars)
    remarks = list(figure.remarks)
    counted = "hollow" if y.log else "pale"
    remarks += [f"{counted}: counted by the benchmark; full: actual"] if any(map(drawing.actual_rate, rows)) else []
    remarks += ["m: measures memory"] if any(measures_memory(row, pack) for row in rows) else []
    titles = [figure.title(template) for template in figure.plot.operations]
    kind = "points" if y.log else "bar"
    legend = tuple(shapes.Key(title, shapes.colour(number), kind, number) for number, title in enumerate(titles))
    description = f"{figure.units()}; {len(drawn)} panels of {len(groups)} groups, {', '.join(titles)} in each."
    return drawing.DrawnPlot(drawn, description, legend, tuple(remarks))


def _bar_panel(
    figure: drawing.Drawing, panel: drawing.Entry, groups: Sequence[drawing.Entry], y: shapes.Axis
) -> shapes.Panel:
    by_group = [_bars_of(figure, panel, group) for group in groups]
    width = max(WIDTH, MARGINS + NARROWEST * len(groups))
    letters = int((width - MARGINS) / len(groups) / 6)
    names = [drawing.fold_title(group.title, letters) for group in groups]
    title, x = panel.title, shapes.axis_of_groups(names)
    if figure.plot.x == "files":
        title = drawing.with_geometry(title, [row for rows in by_group for row in rows])
    else:
        planned = [drawing.geometries(figure.planned_rows(panel, group)) for group in groups]
        labels = [f"{geometry}\n{name}" for geometry, name in zip(planned, names, strict=True)]
        x = shapes.axis_of_groups(labels, "processes × nodes, launch condition")
    marks = tuple(bar for place, rows in enumerate(by_group) for bar in _bar_group(place, rows, figure))
    return shapes.Panel(drawing.without_total(title), x, y, marks, width)


def _bars_of(figure: drawing.Drawing, panel: drawing.Entry, group: drawing.Entry) -> list[Row]:
    return figure.panel_rows(group, panel) if figure.plot.x == "files" else figure.panel_rows(panel, group)


def _bar_group(place: int, rows: Sequence[Row], figure: drawing.Drawing) -> Iterator[shapes.Bar]:
    """If the benchmark counts more than was performed, the actual rate is the solid part of a pale bar."""
    templates = list(figure.plot.operations)
    width = 0.8 / len(templates)
    for row in rows:
        number = templates.index(figure.template(row))
        yield shapes.Bar(
            x=place + (number - (len(templates) - 1) / 2) * width,
            width=width * 0.88,
            value=row.value or 0.0,
            series=number,
            description=drawing.describe_row(row),
            cell=str(row.cell),
            valid=row.status is Status.MEASURED,
            actual=drawing.actual_rate(row),
            note="m" if measures_memory(row, figure.pack) else "",
        )


# --- lines: values over a sweep


def lines(figure: drawing.Drawing) -> drawing.DrawnPlot | None:
    """Values over a sweep, a line for each operation and each value of `series`; a panel for each configuration."""
    panels = figure.panels()
    if not panels:
        return None
    y = shapes.value_axis([row.value for row in figure.numbered_rows if row.value is not None], figure.units())
    names: dict[str, int] = {}
    drawn = []
    for files, launch in panels:
        rows = figure.panel_rows(files, launch)
        points = list(dict.fromkeys(figure.point(row)[figure.plot.x] for row in rows))
        step = -(-len(points) // LABELS)
        labels = [point if place % step == 0 else "" for place, point in enumerate(points)]
        marks = tuple(
            _line(figure, line, points, names.setdefault(name, len(names)))
            for name, line in grouped((_line_name(figure, row), row) for row in rows).items()
        )
        x = shapes.axis_of_groups(labels, figure.sweep(figure.plot.x))
        drawn.append(shapes.Panel(figure.heading(files, launch), x, y, marks))
    legend = tuple(shapes.Key(name, shapes.colour(number), "line", number) for name, number in names.items())
    description = (
        f"Lines of {figure.units()} over {figure.sweep(figure.plot.x)}; {len(panels)} panels, {len(names)} lines."
    )
    return drawing.DrawnPlot(tuple(drawn), description, legend, figure.remarks)


def _line(figure: drawing.Drawing, rows: Sequence[Row], points: Sequence[str], number: int) -> shapes.Line:
    def place(row: Row) -> tuple[float, float]:
        return (float(points.index(figure.point(row)[figure.plot.x])), row.value or 0.0)

    wrong = tuple(place(row) for row in rows if row.status != "measured")
    return shapes.Line(tuple(map(place, rows)), shapes.colour(number), number, crossed=wrong)


def _line_name(figure: drawing.Drawing, row: Row) -> str:
    series = figure.plot.series
    parts = [figure.title(figure.template(row))] if len(figure.plot.operations) > 1 or not series else []
    parts += [f"{figure.sweep(series)}: {figure.point(row)[series]}"] if series else []
    return ", ".join(parts)


# --- contention: bandwidth over the number of pairs that share a path


def pairs(figure: drawing.Drawing) -> drawing.DrawnPlot | None:
    """Total bandwidth and bandwidth per pair over the number of pairs: measured points, and the model's curves."""
    panels = figure.panels()
    if not panels:
        return None
    drawn: list[shapes.Panel] = []
    models = []
    for files, launch in panels:
        points = list(_pair_points(figure, figure.panel_rows(files, launch)))
        name = figure.heading(files, launch)
        try:
            fit = contention.fit(points)
            models.append((figure.name(files, launch), fit))
        except ValueError:
            fit = None
        drawn += [_pairs_panel(points, fit, name, each_pair) for each_pair in (False, True)]
    sizes = sorted({int(figure.point(row)[figure.plot.series]) for row in figure.numbered_rows})
    colours = shapes.gradient(len(sizes))
    legend = tuple(shapes.Key(f"{size} B", colour, "points") for size, colour in zip(sizes, colours, strict=True))
    description = f"Bandwidth of 1 to p pairs for {len(sizes)} sizes of messages, with the fitted model."
    return drawing.DrawnPlot(tuple(drawn), description, legend, (*figure.remarks, _fit_remark(models)), tuple(models))


def _fit_remark(models: Sequence[tuple[str, contention.ContentionFit]]) -> str:
    if not models:
        return "measured; too few points for the model"
    off = ", ".join(f"{fit.held_back.median:.0%} (90%: {fit.held_back.ninth_decile:.0%})" for _, fit in models)
    return f"points: measured; lines: the max-rate model, off by {off} on points held back (median, 90th percentile)"


def _pair_points(figure: drawing.Drawing, rows: Sequence[Row]) -> Iterator[contention.Point]:
    """The time in which each pair sent one message, computed from rates in messages/s or MB/s."""
    for row in rows:
        at, value = figure.point(row), row.value
        count, size = int(at[figure.plot.x]), int(at[figure.plot.series])
        if value:
            messages = value if row.unit == "messages/s" else value * 1e6 / size
            yield contention.Point(count, size, count / messages)


def _pairs_panel(
    points: Sequence[contention.Point], fit: contention.ContentionFit | None, name: str, each_pair: bool
) -> shapes.Panel:
    def rate(count: int, seconds: float, size: int) -> float:
        return size * (1 if each_pair else count) / seconds / 1e6

    by_size = grouped((point.size_bytes, point) for point in sorted(points, key=lambda p: (p.size_bytes, p.pairs)))
    marks = []
    for (size, of_size), colour in zip(by_size.items(), shapes.gradient(len(by_size)), strict=True):
        if fit is not None:
            curve = [(float(p.pairs), rate(p.pairs, fit.model.seconds(p.pairs, size), size)) for p in of_size]
            marks.append(shapes.Line(tuple(curve), colour, marked=False))
        measured = [(float(p.pairs), rate(p.pairs, p.seconds, size)) for p in of_size]
        marks.append(shapes.Line(tuple(measured), colour, joined=False))
    most_pairs = max((point.pairs for point in points), default=1)
    ticks = tuple((float(count), str(count)) for count in range(1, most_pairs + 1, max(1, most_pairs // 8)))
    x = shapes.Axis(0.5, most_pairs + 0.5, ticks, "pairs of processes")
    y = shapes.value_axis([value for mark in marks for _, value in mark.points], "MB/s")
    subject = "each pair" if each_pair else "all pairs"
    return shapes.Panel(f"{name}, {subject}" if name else subject, x, y, tuple(marks))


# --- timeline: what each process moved over time


def processes(figure: drawing.Drawing) -> drawing.DrawnPlot | None:
    """A map for each execution and operation: processes downwards, time to the right, colour for the rate."""
    maps = [
        (files, launch, operation, lines)
        for launch in figure.pack.launch
        for files in figure.pack.files
        for operation, lines in _timelines(figure, files, launch).items()
    ]
    if not maps:
        return None
    panels, moved = [], (value for *_, lines in maps for row in rates(lines) for value in row if value is not None)
    highest = max(moved, default=0.0) or 1.0  # in MiB/s
    for files, launch, operation, lines in maps:
        same_operation = [process_lines for _, _, other, process_lines in maps if other == operation]
        longest = max(
            len(line.bytes) * line.interval_s for timelines_of_map in same_operation for line in timelines_of_map
        )
        name = figure.heading(files, launch)
        title = f"{name}, {_operation_with_number(figure, files, launch, operation)}" if name else operation
        panels.append(_map_panel(title, lines, longest, highest))
    shades = [
        (0.05, "near 0"),
        (0.5, f"{units.digits(highest / 2)} MiB/s"),
        (0.95, f"{units.digits(highest)} MiB/s"),
    ]
    legend = tuple(shapes.Key(label, shapes.shade(part)) for part, label in shades)
    rows_per_band = max(-(-len(lines) // ROWS) for *_, lines in maps)
    remarks = [*figure.remarks, "white: nothing moved"]
    remarks += [
        f"each row: mean of up to {rows_per_band} processes"
        if rows_per_band > 1
        else "each row: a process, with its node"
    ]
    description = "Maps of what each process moved over time; those of one operation have the same scale of time."
    return drawing.DrawnPlot(tuple(panels), description, legend, tuple(remarks))


def _timelines(figure: drawing.Drawing, files: drawing.Entry, launch: drawing.Entry) -> dict[str, list[Timeline]]:
    """The timelines of the attempt that the table reports."""
    origins = [row.origin for row in figure.planned_rows(files, launch) if row.origin and row.record]
    return timelines(_bench_lines(figure.root / "runs" / origins[0])) if origins else {}


def _bench_lines(folder: Path) -> str:
    """The benchmark's JSON lines, "" if they cannot be read."""
    try:
        raw, size = untrusted.read(folder / "bench.jsonl", READ_BYTES)
    except (OSError, untrusted.NotPlain):
        return ""
    return raw.decode("utf-8", errors="replace") if size <= READ_BYTES else ""


def _operation_with_number(figure: drawing.Drawing, files: drawing.Entry, launch: drawing.Entry, operation: str) -> str:
    """An operation with its number in the table, if it has one."""
    for row in figure.planned_rows(files, launch):
        if row.record is not None and row.record.operation == operation and row.value is not None:
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


def _map_panel(title: str, lines: Sequence[Timeline], longest: float, highest: float) -> shapes.Panel:
    rows = rates(lines)
    columns = max(1, -(-max(len(line.bytes) for line in lines) // COLUMNS)) * len(rows[0])
    shades = tuple(tuple(None if value is None else value / highest for value in row) for row in rows)
    count = len(lines)
    step = -(-count // PROCESSES)
    ticks = tuple((-index - 0.5, f"{lines[index].rank} {lines[index].node}"[:9]) for index in range(0, count, step))
    x = shapes.linear_axis(longest, "time (s)", 4)
    raster = shapes.Raster(shades, min(longest, columns * lines[0].interval_s))
    return shapes.Panel(title, x, shapes.Axis(-count, 0.0, ticks), (raster,), height=max(60, min(230, 18 * len(rows))))


# --- latency: what single operations took over time

PERCENTILE_NAMES = {"p50": "median", "p95": "95%", "p99": "99%", "p999": "99.9%", "max": "longest"}
MAX_MARKED_POINTS = 40  # points of a line that are marked


def latency(figure: drawing.Drawing) -> drawing.DrawnPlot | None:
    """Percentiles over time, a panel for each result and iteration; an upright where no operation ended."""
    latencies_of = functools.cache(lambda folder: latencies(_bench_lines(folder)))
    series = [
        (row, row.record.iterations, iteration, intervals)
        for row in figure.numbered_rows
        if row.record
        for (operation, iteration), intervals in latencies_of((figure.root / row.record.source.file).parent).items()
        # A record's name begins with its phase; the only test of ior has no number in it.
        if row.record.operation.rpartition("/")[2] in (operation, operation.rpartition("-")[0])
    ]
    if not series:
        return None
    values = [
        interval.percentiles.get(name, 0) * 1e3
        for *_, iteration_intervals in series
        for interval in iteration_intervals
        for name in PERCENTILE_NAMES
    ]
    y = shapes.value_axis([value for value in values if value > 0], "latency (ms)")
    panels = []
    for row, iterations, iteration, intervals in series:
        title = drawing.describe_row(row) + (f", iteration {iteration + 1}" if iterations > 1 else "")
        x = shapes.linear_axis(intervals[-1].start_s + intervals[-1].length_s, "time (s)")
        panels.append(shapes.Panel(title, x, y, tuple(_latency_marks(intervals))))
    legend = (
        *(
            shapes.Key(name, shapes.colour(number), "line", number)
            for number, name in enumerate(PERCENTILE_NAMES.values())
        ),
        shapes.Key("no operation ended", shapes.colour(len(PERCENTILE_NAMES)), "upright"),
    )
    numbers = tuple(
        {**asdict(row.cell), "attempt": row.origin, "iteration": iteration + 1}
        | {"start_s": interval.start_s, "length_s": interval.length_s, "count": interval.count}
        | {f"{name}_s": interval.percentiles.get(name) for name in PERCENTILES}
        for row, _, iteration, intervals in series
        for interval in intervals
    )
    description = f"Percentiles of the latency of single operations over time: {', '.join(PERCENTILE_NAMES.values())}."
    return drawing.DrawnPlot(
        tuple(panels),
        description,
        legend,
        (*figure.remarks, "each point: the operations that ended in the interval that begins there"),
        numbers=numbers,
    )


def _latency_marks(intervals: Sequence[Latencies]) -> Iterator[shapes.Mark]:
    """Lines end at an interval without operations. The last interval may be too short for one."""
    for number, name in enumerate(PERCENTILE_NAMES):
        for busy, together in itertools.groupby(intervals, lambda interval: interval.count > 0):
            if busy:
                points = tuple((interval.start_s, interval.percentiles[name] * 1e3) for interval in together)
                yield shapes.Line(points, shapes.colour(number), number, marked=len(points) <= MAX_MARKED_POINTS)
    for interval in intervals:
        if not interval.count and interval.length_s == intervals[0].length_s:
            yield shapes.Upright(interval.start_s, shapes.colour(len(PERCENTILE_NAMES)))


# --- cells that report each node by itself

NODES_FILE, NODES_TITLE = "by_node", "Values of the nodes, each by itself"  # no plot of a pack has this id
MAX_MARKED_NODES = 200  # nodes with a marker each; more are a line


def by_node(rows: Sequence[Row]) -> drawing.DrawnPlot | None:
    """A panel for each cell with values of nodes; outlying nodes are crossed and named."""
    of_nodes = [row for row in rows if row.by_node]
    if not of_nodes:
        return None
    remarks = ["the vertical axis does not begin at 0"]
    remarks += ["crossed: outlying"] if any(row.outlying for row in of_nodes) else []
    return drawing.DrawnPlot(
        tuple(map(_node_panel, of_nodes)), "The value of each node, sorted.", remarks=tuple(remarks)
    )


def _node_panel(row: Row) -> shapes.Panel:
    values = sorted((value, node) for node, value in row.by_node.items())
    places = {node: (float(place), value) for place, (value, node) in enumerate(values)}
    ends = dict.fromkeys((values[0][1], values[-1][1]))
    x = shapes.Axis(-0.5, len(values) - 0.5, tuple((places[node][0], node) for node in ends), "nodes, by value")
    is_marked = len(values) <= MAX_MARKED_NODES
    marks = (
        shapes.Line(tuple(places.values()), shapes.colour(0), joined=not is_marked, marked=is_marked),
        shapes.Line((), shapes.colour(0), crossed=tuple(places[node] for node in row.outlying)),
    )
    spread = "" if row.spread is None else f", spread {row.spread:.1%}"
    title = f"{row.cell}: {len(values)} of {units.plural(len(row.nodes), 'node')}{spread}"
    # Only the range of the values, whose differences are what is looked for.
    lowest, highest = values[0][0], values[-1][0]
    margin = (highest - lowest or abs(highest) or 1.0) / 10
    return shapes.Panel(title, x, shapes.linear_axis(highest + margin, row.unit, low=lowest - margin), marks)


# By the kinds that a rule pack names. To add one: a function here, and a word in PLOTS of
# config/rules/kinds.py.
_KINDS: Mapping[str, Callable[[drawing.Drawing], drawing.DrawnPlot | None]] = {
    "bars": bars,
    "lines": lines,
    "contention": pairs,
    "timeline": processes,
    "latency": latency,
}

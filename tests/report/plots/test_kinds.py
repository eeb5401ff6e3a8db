"""Each kind of plot shows the numbers of the table, no others, and what is wrong with them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest

from campaign.config.rules.entries import Operation, Plot
from campaign.config.rules.pack import RulePack, settle
from campaign.config.rules.sweeps import Sweep
from campaign.core.records import Record, Source
from campaign.core.runs import Cell, Status
from campaign.report.plots import kinds
from campaign.report.plots.drawing import Drawing, DrawnPlot
from campaign.report.plots.kinds import COLUMNS, ROWS, bars, draw_plots, latency, lines, pairs, processes, rates
from campaign.report.plots.shapes import Axis, Bar, Line, Panel, Raster, Upright, linear_axis, value_axis
from campaign.results.cells import Row
from campaign.results.parsers.json_applets import Timeline
from campaign.statistics.contention import ContentionModel
from tests.support import builders, captures
from tests.support.latency_lines import fields

GEOMETRIES = {name: geometry for name, geometry in builders.GEOMETRIES.items() if name in ("single", "peak")}
LAUNCH = tuple(condition for condition in builders.pack().launch if condition.id in GEOMETRIES)
M = TypeVar("M")
NETWORK = ContentionModel(2e-6, 3e9, 1.2e9, 0.5e9)


def pack(plot: Plot, **changes: object) -> RulePack:
    pack = builders.pack(launch=LAUNCH, plots=(plot,), **changes)
    return settle(pack, "full", GEOMETRIES, {})


def rows(rules: RulePack, value: Callable[[Cell, Mapping[str, str]], float | None]) -> list[Row]:
    """A row for each cell, with what `value` makes of the cell and of its point in the sweeps."""
    table = []
    for launch in rules.launch:
        geometry = GEOMETRIES[launch.id]
        for files in rules.files:
            run = builders.run(
                id=f"scratch.{launch.id}.{files.id}.r1", launch=launch.id, files=files.id, geometry=geometry
            )
            for operation in rules.operations_of(launch.id):
                cell = Cell("scratch", launch.id, files.id, operation.id)
                number = value(cell, dict(operation.at))
                record = Record(operation.record, number or 0.0, operation.unit, Source("f", 1))
                measured = Row(
                    cell, operation.unit, Status.MEASURED, run, number, builders.attempt(run), record, attempts=1
                )
                table.append(measured if number is not None else Row(cell, operation.unit, Status.MISSING, run))
    return table


def drawing(rules: RulePack, table: list[Row], root: Path = Path()) -> Drawing:
    return Drawing(rules, rules.plots[0], table, root)


def draw(kind: Callable[[Drawing], DrawnPlot | None], drawing: Drawing) -> DrawnPlot:
    plot = kind(drawing)
    assert plot is not None
    return plot


def marks(panel: Panel, kind: type[M]) -> list[M]:
    return [mark for mark in panel.marks if isinstance(mark, kind)]


def labels(axis: Axis) -> list[str]:
    return [label for _, label in axis.ticks]


# --- bars

BARS = Plot("rates", "Rates", "bars", ("create", "stat"))


def number_of(cell: Cell, _: Mapping[str, str]) -> float:
    return (
        1000.0 * (1 + ["shared", "unique", "onefile"].index(cell.files))
        + {"create": 1, "stat": 2, "remove": 3}[cell.operation]
    )


def test_bars_have_the_heights_of_the_tables_numbers() -> None:
    rules = pack(BARS)
    plot = draw(bars, drawing(rules, rows(rules, number_of)))
    heights = [[bar.value for bar in marks(panel, Bar)] for panel in plot.panels]
    assert heights == [[1001.0, 1002.0] * 2, [2001.0, 2002.0] * 2, [3001.0, 3002.0] * 2]
    assert [panel.title for panel in plot.panels] == ["files in shared dir", "files in own dirs", "One file"]
    assert [key.label for key in plot.legend] == ["Create", "Stat"]


def test_bars_are_labelled_with_processes_by_nodes_also_where_there_is_no_number() -> None:
    rules = pack(BARS)
    table = rows(rules, lambda cell, _: None if cell.launch == "peak" else 1.0)
    plot = draw(bars, drawing(rules, table))
    assert labels(plot.panels[0].x) == ["1 × 1\nSingle Process", "8 × 2\nFewest for the peak"]
    assert plot.panels[0].x.title == "processes × nodes, launch condition"


def test_a_bar_says_what_it_is_and_leads_to_its_number() -> None:
    rules = pack(BARS)
    bar = marks(draw(bars, drawing(rules, rows(rules, number_of))).panels[0], Bar)[2]
    assert bar.description == "scratch/peak/shared/create: 1001 ops/s, 8 × 2"
    assert bar.cell == "scratch/peak/shared/create"


def test_bars_may_be_grouped_by_the_configurations() -> None:
    rules = pack(replace(BARS, x="files"))
    plot = draw(bars, drawing(rules, rows(rules, number_of)))
    assert [panel.title for panel in plot.panels] == [
        "Single Process: 1 process × 1 node",
        "Fewest for the peak: 8 processes × 2 nodes",
    ]
    assert labels(plot.panels[0].x) == ["files in\nshared dir", "files in own\ndirs", "One file"]


def test_a_number_that_is_not_valid_is_striped_and_said() -> None:
    rules = pack(BARS)
    table = rows(rules, number_of)
    table[0] = replace(table[0], status=Status.INVALID)
    plot = draw(bars, drawing(rules, table))
    assert [bar.valid for bar in marks(plot.panels[0], Bar)] == [False, True, True, True]
    assert "striped or crossed: invalid" in plot.remarks


def test_what_the_formula_counts_beyond_the_actual_rate_is_pale() -> None:
    rules = pack(BARS)
    table = rows(rules, number_of)
    assert table[0].record is not None
    table[0] = replace(table[0], record=replace(table[0].record, true_value=100.0))
    plot = draw(bars, drawing(rules, table))
    first, second = marks(plot.panels[0], Bar)[:2]
    assert (first.value, first.actual, second.actual) == (1001.0, 100.0, None)
    assert "pale: counted by the benchmark; full: actual" in plot.remarks


def test_a_number_that_measures_memory_is_marked() -> None:
    rules = pack(BARS, checks={"CCH-05": "1"})
    table = rows(rules, number_of)
    assert table[0].record is not None
    table[0] = replace(table[0], record=replace(table[0].record, cached_share=1.0))
    plot = draw(bars, drawing(rules, table))
    assert [bar.note for bar in marks(plot.panels[0], Bar)] == ["m", "", "", ""]
    assert "m: measures memory" in plot.remarks


def test_numbers_that_differ_much_are_drawn_by_powers_of_ten_on_one_scale_for_all_panels() -> None:
    rules = pack(BARS)
    assert not draw(bars, drawing(rules, rows(rules, number_of))).panels[0].y.log
    wide = rows(rules, lambda cell, _: 1e6 if cell.operation == "stat" else 1.0)
    plot = draw(bars, drawing(rules, wide))
    assert plot.panels[0].y.log
    assert len({panel.y for panel in plot.panels}) == 1


# --- lines

SIZES = Sweep("size", first="1", last="64", times="4", title="size of a file")
LINES = Plot("sizes", "Sizes", "lines", ("write-{size}", "read-{size}"), x="size")
SWEPT = {
    "sweeps": (SIZES,),
    "operations": tuple(
        Operation(f"{name}-{{size}}", name.title(), "MiB/s", record=f"{name}-{{size}}", row="{size}")
        for name in ("write", "read")
    ),
}


def test_lines_go_through_the_points_of_a_sweep_in_its_order() -> None:
    rules = pack(LINES, **SWEPT)
    table = rows(rules, lambda cell, at: float(at["size"]) * (2 if cell.operation.startswith("read") else 1))
    plot = draw(lines, drawing(rules, table))
    panel = plot.panels[0]
    assert [[y for _, y in line.points] for line in marks(panel, Line)] == [
        [1.0, 4.0, 16.0, 64.0],
        [2.0, 8.0, 32.0, 128.0],
    ]
    assert [key.label for key in plot.legend] == ["Write", "Read"]
    assert labels(panel.x) == ["1", "4", "16", "64"]
    assert panel.x.title == "size of a file"
    assert panel.title == "files in shared dir, Single Process: 1 process × 1 node"
    assert len(plot.panels) == 6


def test_a_point_without_a_number_is_left_out_of_its_line() -> None:
    rules = pack(LINES, **SWEPT)
    table = rows(rules, lambda cell, at: None if at["size"] == "4" else 1.0)
    line = marks(draw(lines, drawing(rules, table)).panels[0], Line)[0]
    assert len(line.points) == 3


def test_a_point_that_is_not_valid_is_crossed() -> None:
    rules = pack(LINES, **SWEPT)
    table = rows(rules, lambda cell, at: float(at["size"]))
    table[0] = replace(table[0], status=Status.INVALID)
    line, other = marks(draw(lines, drawing(rules, table)).panels[0], Line)
    assert (line.crossed, other.crossed) == (((0.0, 1.0),), ())


def test_a_line_for_each_value_of_the_series() -> None:
    plot = Plot("s", "S", "lines", ("t-{count}-{size}",), x="size", series="count")
    operation = Operation("t-{count}-{size}", "{size}", "s", record="t-{count}-{size}", row="{count}")
    rules = pack(plot, sweeps=(SIZES, Sweep("count", values="1,2", title="processes")), operations=(operation,))
    drawn_plot = draw(lines, drawing(rules, rows(rules, lambda cell, at: float(at["count"]))))
    assert [key.label for key in drawn_plot.legend] == ["processes: 1", "processes: 2"]


# --- contention

PAIRS = Plot("contention", "Contention", "contention", ("rate-{pairs}-{size}",), x="pairs", series="size")
NET = {
    "sweeps": (Sweep("pairs", first="1", last="4", plus="1"), Sweep("size", first="1", last="65536", times="4")),
    "operations": (Operation("rate-{pairs}-{size}", "{size}", "messages/s", record="r-{pairs}-{size}", row="{pairs}"),),
    "files": builders.pack().files[:1],
}


def messages(_: Cell, at: Mapping[str, str]) -> float:
    return int(at["pairs"]) / NETWORK.seconds(int(at["pairs"]), int(at["size"]))


def test_the_model_of_contention_is_fitted_and_drawn_beside_what_was_measured() -> None:
    rules = replace(pack(PAIRS, **NET), launch=LAUNCH[:1])
    plot = draw(pairs, drawing(rules, [row for row in rows(rules, messages) if row.cell.launch == "single"]))
    ((name, fit),) = plot.models
    assert name == ""  # a key of contention.json, which does not change with the geometry
    assert fit.model.first_bytes_s == pytest.approx(1.2e9, rel=0.02)
    total, panel = plot.panels
    largest = [line for line in marks(total, Line) if not line.joined][-1]
    expected = [65536 * pairs / NETWORK.seconds(pairs, 65536) / 1e6 for pairs in (1, 2, 3, 4)]
    assert [y for _, y in largest.points] == pytest.approx(expected)
    alone = [line for line in marks(panel, Line) if not line.joined][-1]
    assert [y for _, y in alone.points] == pytest.approx([value / n for n, value in enumerate(expected, 1)])
    curve = [line for line in marks(total, Line) if line.joined][-1]
    assert [y for _, y in curve.points] == pytest.approx(expected, rel=0.02)
    assert "off by 0% (90%: 0%) on points held back" in plot.remarks[-1]


def test_bandwidths_in_mb_a_second_give_the_same_model() -> None:
    operations = (Operation("t-{pairs}-{size}", "{size}", "MB/s", record="t-{pairs}-{size}", row="{pairs}"),)
    rules = pack(replace(PAIRS, operations=("t-{pairs}-{size}",)), **{**NET, "operations": operations})
    table = rows(rules, lambda cell, at: messages(cell, at) * int(at["size"]) / 1e6)
    plot = draw(pairs, drawing(rules, table))
    assert plot.models[0][1].model.latency_s == pytest.approx(2e-6, rel=0.02)


def test_too_few_points_are_drawn_without_a_model() -> None:
    rules = pack(PAIRS, **{**NET, "sweeps": (Sweep("pairs", values="1"), Sweep("size", values="1,2"))})
    plot = draw(pairs, drawing(rules, rows(rules, messages)))
    assert plot.models == ()
    assert plot.remarks == ("measured; too few points for the model",)


# --- timeline

WHO = Plot("who", "Who was slow", "timeline")
CAPTURE = captures.DATA / "mpiio" / "bench-0.1.0-static-slow" / "bench.jsonl"


def write_log(root: Path, run: str, text: str) -> None:
    folder = root / "runs" / run / "1"
    folder.mkdir(parents=True)
    (folder / "bench.jsonl").write_text(text)


def test_a_map_shows_what_each_process_moved_in_each_interval(tmp_path: Path) -> None:
    rules = pack(WHO, files=builders.pack().files[:1])
    write_log(tmp_path, "scratch.peak.shared.r1", CAPTURE.read_text())
    plot = draw(processes, drawing(rules, rows(rules, number_of), tmp_path))
    panel = plot.panels[0]
    (raster,) = marks(panel, Raster)
    lines = [json.loads(line) for line in CAPTURE.read_text().splitlines() if '"process"' in line]
    own_timeline_bytes = [line["timeline_bytes"] for line in lines if line["operation"] == "write"]
    highest = max(count for line in lines for count in line["timeline_bytes"])
    for row, counts in zip(raster.rows, own_timeline_bytes, strict=True):
        shares = [value or 0.0 for value in row][: len(counts)]
        assert shares == pytest.approx([count / highest for count in counts])
    assert labels(panel.y) == ["0 n0", "1 n0", "2 n1", "3 n1"]
    assert "8 processes × 2 nodes, write" in panel.title


def test_a_map_of_many_processes_and_intervals_is_bounded_by_means() -> None:
    lines = [Timeline(rank, "n0", 0.5, (1 << 20,) * 250) for rank in range(100)]
    found_rates = rates(lines)
    assert len(found_rates) <= ROWS and len(found_rates[0]) <= COLUMNS
    assert found_rates[0][0] == 2.0


def test_a_link_or_an_absent_file_draws_nothing(tmp_path: Path) -> None:
    rules = pack(WHO)
    assert processes(drawing(rules, rows(rules, number_of), tmp_path)) is None
    folder = tmp_path / "runs" / "scratch.peak.shared.r1" / "1"
    folder.mkdir(parents=True)
    (folder / "bench.jsonl").symlink_to(CAPTURE)
    assert processes(drawing(rules, rows(rules, number_of), tmp_path)) is None


# --- latency

OVER_TIME = Plot("over-time", "Latency over time", "latency", ("create", "stat"))
MDTEST = (captures.DATA / "mdtest" / "bench-0.1.0-two-nodes-three-iterations" / "bench.jsonl").read_text()
CREATED = {0: [*range(2000, 4000, 7), 90_000], 1: [*range(2500, 5000, 9)], 2: [], 3: [3000, 2_100_000_000], 4: []}


def with_latencies(root: Path) -> Drawing:
    """A run that created for 4.25 s, with nothing in the third second, and did not record its stat."""
    rules = pack(OVER_TIME, files=builders.pack().files[:1])
    entries = [fields(values, start_s=float(at), length_s=1.0 if at < 4 else 0.25) for at, values in CREATED.items()]
    write_log(root, "scratch.peak.shared.r1", MDTEST.splitlines(keepends=True)[0] + "".join(map(json_line, entries)))
    table = [replace(row, record=replace(row.record, source=Source(f"runs/{row.run.id}/1/stdout", 1)))
             for row in rows(rules, number_of) if row.record and row.run]  # fmt: skip
    return drawing(rules, table, root)


def json_line(line: object) -> str:
    return json.dumps(line) + "\n"


def test_percentiles_over_time_stop_where_no_operation_ended(tmp_path: Path) -> None:
    plot = draw(latency, with_latencies(tmp_path))
    (panel,) = plot.panels
    assert panel.title == "scratch/peak/shared/create: 1001 ops/s, 8 × 2"
    assert (panel.x.high, panel.x.title, panel.y.title, panel.y.log) == (4.25, "time (s)", "latency (ms)", True)
    lines = marks(panel, Line)
    assert [[x for x, _ in line.points] for line in lines] == [[0.0, 1.0], [3.0]] * 5
    longest = [value for line in lines[-2:] for _, value in line.points]
    assert longest == pytest.approx([0.09, 0.004993, 2100])
    assert [mark.x for mark in marks(panel, Upright)] == [2.0]  # the last interval is too short to say anything
    assert [key.label for key in plot.legend] == ["median", "95%", "99%", "99.9%", "longest", "no operation ended"]


def test_percentiles_over_time_are_a_file_and_a_table(tmp_path: Path) -> None:
    figure = with_latencies(tmp_path)
    (picture,) = draw_plots(figure.pack, "scratch", figure.rows, tmp_path, tmp_path)
    builders.golden("latency.svg", (tmp_path / picture.file).read_text(encoding="utf-8"))
    builders.golden("latency.csv", (tmp_path / "scratch-over-time.csv").read_text(encoding="utf-8"))


def test_several_iterations_have_a_panel_each_and_a_phase_its_own_file(tmp_path: Path) -> None:
    figure = with_latencies(tmp_path)
    of_phase = tmp_path / "runs" / "scratch.peak.shared.r1" / "1" / "first"
    of_phase.mkdir()
    entries = [fields([1000], iteration=iteration, operation="stat") for iteration in (0, 1)]
    (of_phase / "bench.jsonl").write_text(MDTEST.splitlines(keepends=True)[0] + "".join(map(json_line, entries)))
    row = next(row for row in figure.rows if str(row.cell) == "scratch/peak/shared/stat")
    assert row.record is not None
    source = Source("runs/scratch.peak.shared.r1/1/first/stdout", 1)
    record = replace(row.record, operation="first/stat", iterations=2, source=source)
    plot = draw(latency, replace(figure, rows=[replace(row, record=record)]))
    assert [panel.title.partition(", ")[2] for panel in plot.panels] == ["8 × 2, iteration 1", "8 × 2, iteration 2"]


def test_without_recorded_latencies_nothing_is_drawn(tmp_path: Path) -> None:
    rules = pack(OVER_TIME)
    assert latency(drawing(rules, rows(rules, number_of), tmp_path)) is None


# --- all kinds


def test_a_plot_without_numbers_is_left_out(tmp_path: Path) -> None:
    for plot in (BARS, WHO):
        rules = pack(plot)
        assert draw_plots(rules, "scratch", rows(rules, lambda cell, at: None), tmp_path, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_plot_is_also_a_file_that_does_not_change_from_one_drawing_to_the_next(tmp_path: Path) -> None:
    rules = pack(BARS)
    contents = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (picture,) = draw_plots(rules, "scratch", rows(rules, number_of), tmp_path, tmp_path / name)
        contents.append((tmp_path / name / picture.file).read_bytes())
    assert picture.file == "scratch-rates.svg"
    assert ET.fromstring(contents[0]).tag == "{http://www.w3.org/2000/svg}svg"
    assert contents[0] == contents[1]


def test_titles_are_text_whatever_they_hold(tmp_path: Path) -> None:
    hostile = 'a $b_{$ <b> & " onload=x \u202e </svg>'
    files = (replace(builders.pack().files[0], title=hostile),)
    rules = pack(replace(BARS, title=hostile), files=files)
    (picture,) = draw_plots(rules, "scratch", rows(rules, number_of), tmp_path, tmp_path)
    text = (tmp_path / picture.file).read_text(encoding="utf-8")
    tree = ET.fromstring(text)
    assert {element.tag.split("}")[1] for element in tree.iter()} == {"svg", "g", "rect", "text", "path", "a", "title"}
    assert not any(
        name.startswith("on") or name in ("style", "id") for element in tree.iter() for name in element.attrib
    )
    assert "\u202e" not in text


@pytest.mark.parametrize("highest", [0.003, 1.0, 7.3, 99.0, 1234.5, 9.9e8])
def test_ticks_are_round_and_within_the_axis(highest: float) -> None:
    axis = linear_axis(highest, "")
    assert 3 <= len(axis.ticks) <= 6
    assert all(0 <= axis.place(value) <= 1 for value, _ in axis.ticks)


def test_an_axis_without_a_number_above_zero_still_has_a_length() -> None:
    for values in ([], [0.0], [0.0, 0.0]):
        axis = value_axis(values, "ops/s")
        assert axis.low < axis.high and not axis.log


@pytest.mark.parametrize("values", [[-5.0], [-5.0, 3.0], [-1e6, 1e6], [-0.001, 0.0]])
def test_an_axis_of_negative_numbers_begins_below_the_lowest(values: list[float]) -> None:
    axis = value_axis(values, "Ry")
    assert axis.low < min(values) and max(values) <= max(axis.high, 0.0) and not axis.log
    assert len(axis.ticks) >= 2 and all(axis.low <= value <= axis.high for value, _ in axis.ticks)


def test_every_kind_of_a_rule_pack_can_be_drawn() -> None:
    from campaign.config.rules.kinds import PLOTS

    assert set(kinds._KINDS) == set(PLOTS)


def test_a_rehearsal_says_so_on_every_plot() -> None:
    rules = replace(pack(BARS), profile="rehearsal")
    assert "rehearsal size: not a compliant result" in draw(bars, drawing(rules, rows(rules, number_of))).remarks


# --- nodes, each by itself

CELL = Cell("scratch", "node", "all", "rate")


def row(**by_node: float) -> Row:
    return Row(CELL, "GFLOP/s", Status.MEASURED, None, nodes=("a", "b", "c", "d", "e", "f", "g", "h"), by_node=by_node)


def node_lines(*rows: Row) -> list[Line]:
    drawn = kinds.by_node(rows)
    assert drawn is not None
    return [mark for mark in drawn.panels[0].marks if isinstance(mark, Line)]


def test_each_node_is_a_point_and_the_lowest_and_highest_are_named() -> None:
    points, crossed = node_lines(row(a=103.0, b=101.0, c=102.0))
    assert (points.points, points.joined, crossed.crossed) == (((0, 101.0), (1, 102.0), (2, 103.0)), False, ())
    drawn = kinds.by_node([row(a=103.0, b=101.0, c=102.0)])
    assert drawn is not None
    assert [name for _, name in drawn.panels[0].x.ticks] == ["b", "a"]
    assert "3 of 8 nodes, spread 2.0%" in drawn.panels[0].title
    assert drawn.panels[0].y.low > 100


def test_an_outlying_node_is_crossed() -> None:
    _, crossed = node_lines(row(a=100, b=101, c=102, d=100, e=101, f=102, g=101, h=60))
    assert crossed.crossed == ((0, 60),)


def test_thousands_of_nodes_are_a_line() -> None:
    points, _ = node_lines(row(**{f"n{number}": 100 + number / 1000 for number in range(10_000)}))
    assert (len(points.points), points.joined, points.marked) == (10_000, True, False)


def test_nodes_with_one_value_have_an_axis() -> None:
    assert kinds.by_node([row(a=5.0, b=5.0)])
    assert kinds.by_node([row(a=0.0)])


def test_the_plot_is_drawn_only_where_nodes_ran_by_themselves(tmp_path: Path) -> None:
    assert kinds.by_node([Row(CELL, "GFLOP/s", Status.MISSING, None)]) is None
    (picture,) = draw_plots(builders.pack(plots=()), "scratch", [row(a=1.0, b=2.0)], tmp_path, tmp_path)
    assert (tmp_path / "scratch-by_node.svg").is_file()
    assert picture.title == kinds.NODES_TITLE

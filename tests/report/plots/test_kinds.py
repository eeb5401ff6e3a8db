"""Each kind of plot shows the numbers of the table, no others, and what is wrong with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.config.rules.load import Operation, Plot, RulePack
from campaign.config.rules.settle import settle
from campaign.config.rules.sweeps import Sweep
from campaign.core.model import Cell, Record, Source, Status
from campaign.report.plots import kinds
from campaign.report.plots.bars import bars
from campaign.report.plots.drawing import Drawing, DrawnPlot
from campaign.report.plots.kinds import draw_plots
from campaign.report.plots.lines import lines
from campaign.report.plots.pairs import pairs
from campaign.report.plots.processes import processes
from campaign.results.cells import Row
from campaign.statistics.contention import ContentionModel
from tests.support import builders, captures

GEOMETRIES = {name: geometry for name, geometry in builders.GEOMETRIES.items() if name in ("single", "peak")}
LAUNCH = tuple(one for one in builders.pack().launch if one.id in GEOMETRIES)
NETWORK = ContentionModel(2e-6, 3e9, 1.2e9, 0.5e9)


def pack(plot: Plot, **changes: object) -> RulePack:
    made = builders.pack(launch=LAUNCH, plots=(plot,), **changes)
    return settle(made, "full", GEOMETRIES, {})


def rows(rules: RulePack, value: Callable[[Cell, Mapping[str, str]], float | None]) -> list[Row]:
    """A row for each cell, with what `value` makes of the cell and of its point in the sweeps."""
    found = []
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
                found.append(measured if number is not None else Row(cell, operation.unit, Status.MISSING, run))
    return found


def drawing(rules: RulePack, table: list[Row], root: Path = Path()) -> Drawing:
    return Drawing(rules, rules.plots[0], "scratch", table, root)


def made(kind: Callable[[Drawing], DrawnPlot | None], of: Drawing) -> DrawnPlot:
    found = kind(of)
    assert found is not None
    return found


def heading(found: DrawnPlot) -> str:
    assert found.figure._suptitle is not None  # type: ignore[attr-defined]
    return str(found.figure._suptitle.get_text())  # type: ignore[attr-defined]


# --- bars

BARS = Plot("rates", "Rates", "bars", ("create", "stat"))


def numbered(cell: Cell, _: Mapping[str, str]) -> float:
    return (
        1000.0 * (1 + ["shared", "unique", "onefile"].index(cell.files))
        + {"create": 1, "stat": 2, "remove": 3}[cell.operation]
    )


def test_bars_have_the_heights_of_the_tables_numbers() -> None:
    rules = pack(BARS)
    found = made(bars, drawing(rules, rows(rules, numbered)))
    heights = [[bar.get_height() for bar in axes.patches] for axes in found.figure.axes]  # type: ignore[attr-defined]
    assert heights == [[1001.0, 1002.0] * 2, [2001.0, 2002.0] * 2, [3001.0, 3002.0] * 2]
    assert [axes.get_title() for axes in found.figure.axes] == ["files in shared dir", "files in own dirs", "One file"]


def test_bars_may_stand_over_the_configurations() -> None:
    rules = pack(replace(BARS, x="files"))
    found = made(bars, drawing(rules, rows(rules, numbered)))
    assert [axes.get_title() for axes in found.figure.axes] == ["Single Process", "Fewest for the peak"]
    assert [label.get_text() for label in found.figure.axes[0].get_xticklabels()] == [
        "files in shared\ndir",
        "files in own dirs",
        "One file",
    ]


def test_a_number_that_is_not_valid_is_hatched_and_said() -> None:
    rules = pack(BARS)
    table = rows(rules, numbered)
    table[0] = replace(table[0], status=Status.INVALID)
    found = made(bars, drawing(rules, table))
    hatches = [bar.get_hatch() for bar in found.figure.axes[0].patches]
    assert hatches == ["////", None, None, None]
    assert "hatched or crossed: invalid" in heading(found)


def test_what_the_formula_counts_beyond_what_happened_is_pale() -> None:
    rules = pack(BARS)
    table = rows(rules, numbered)
    assert table[0].record is not None
    table[0] = replace(table[0], record=replace(table[0].record, true_value=100.0))
    found = made(bars, drawing(rules, table))
    first, happened = found.figure.axes[0].patches[:2]
    assert (first.get_height(), first.get_alpha()) == (1001.0, 0.3)  # type: ignore[attr-defined]
    assert happened.get_height() == 100.0  # type: ignore[attr-defined]
    assert "pale: counted, but not really performed" in heading(found)


def test_a_number_that_measures_memory_is_marked() -> None:
    rules = pack(BARS, checks={"CCH-05": "1"})
    table = rows(rules, numbered)
    assert table[0].record is not None
    table[0] = replace(table[0], record=replace(table[0].record, cached_share=1.0))
    found = made(bars, drawing(rules, table))
    assert [text.get_text() for text in found.figure.axes[0].texts] == ["m"]
    assert "m: measures memory" in heading(found)


def test_numbers_that_differ_much_are_drawn_by_powers_of_ten() -> None:
    rules = pack(BARS)
    assert made(bars, drawing(rules, rows(rules, numbered))).figure.axes[0].get_yscale() == "linear"
    wide = rows(rules, lambda cell, _: 1e6 if cell.operation == "stat" else 1.0)
    assert made(bars, drawing(rules, wide)).figure.axes[0].get_yscale() == "log"


# --- lines

SIZES = Sweep("size", first="1", last="64", times="4", title="size of a file")
LINES = Plot("sizes", "Sizes", "lines", ("write-{size}", "read-{size}"), x="size")
SWEPT = {
    "sweeps": (SIZES,),
    "operations": tuple(
        Operation(f"{name}-{{size}}", name.title(), f"{name}-{{size}}", "MiB/s", row="{size}")
        for name in ("write", "read")
    ),
}


def test_lines_go_through_the_points_of_a_sweep_in_its_order() -> None:
    rules = pack(LINES, **SWEPT)
    table = rows(rules, lambda cell, at: float(at["size"]) * (2 if cell.operation.startswith("read") else 1))
    found = made(lines, drawing(rules, table))
    axes = found.figure.axes[0]
    assert [list(line.get_ydata()) for line in axes.lines if line.get_label() in ("Write", "Read")] == [
        [1.0, 4.0, 16.0, 64.0],
        [2.0, 8.0, 32.0, 128.0],
    ]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "4", "16", "64"]
    assert axes.get_xlabel() == "size of a file"
    assert len([axes for axes in found.figure.axes if axes.axison]) == 6


def test_a_point_without_a_number_is_left_out_of_its_line() -> None:
    rules = pack(LINES, **SWEPT)
    table = rows(rules, lambda cell, at: None if at["size"] == "4" else 1.0)
    line = made(lines, drawing(rules, table)).figure.axes[0].lines[0]
    assert len(line.get_xdata()) == 3  # type: ignore[arg-type]


def test_a_line_for_each_value_of_the_series() -> None:
    plot = Plot("s", "S", "lines", ("t-{count}-{size}",), x="size", series="count")
    operation = Operation("t-{count}-{size}", "{size}", "t-{count}-{size}", "s", row="{count}")
    rules = pack(plot, sweeps=(SIZES, Sweep("count", values="1,2", title="processes")), operations=(operation,))
    found = made(lines, drawing(rules, rows(rules, lambda cell, at: float(at["count"]))))
    assert {line.get_label() for line in found.figure.axes[0].lines if line.get_marker() != "x"} == {
        "processes: 1",
        "processes: 2",
    }


# --- contention

PAIRS = Plot("contention", "Contention", "contention", ("rate-{pairs}-{size}",), x="pairs", series="size")
NET = {
    "sweeps": (Sweep("pairs", first="1", last="4", plus="1"), Sweep("size", first="1", last="65536", times="4")),
    "operations": (Operation("rate-{pairs}-{size}", "{size}", "r-{pairs}-{size}", "messages/s", row="{pairs}"),),
    "files": builders.pack().files[:1],
}


def messages(_: Cell, at: Mapping[str, str]) -> float:
    return int(at["pairs"]) / NETWORK.seconds(int(at["pairs"]), int(at["size"]))


def test_the_model_of_contention_is_fitted_and_drawn_beside_what_was_measured() -> None:
    rules = replace(pack(PAIRS, **NET), launch=LAUNCH[:1])
    found = made(pairs, drawing(rules, [row for row in rows(rules, messages) if row.cell.launch == "single"]))
    (_, fit), *others = found.models
    assert others == []
    assert fit.model.first_bytes_s == pytest.approx(1.2e9, rel=0.02)
    total, each = found.figure.axes
    largest = [line for line in total.lines if line.get_marker() == "o"][-1]
    expected = [65536 * pairs / NETWORK.seconds(pairs, 65536) / 1e6 for pairs in (1, 2, 3, 4)]
    assert list(largest.get_ydata()) == pytest.approx(expected)  # type: ignore[call-overload]
    alone = [line for line in each.lines if line.get_marker() == "o"][-1]
    assert list(alone.get_ydata()) == pytest.approx([value / n for n, value in enumerate(expected, 1)])  # type: ignore[call-overload]
    assert "off by 0% (median) on points held back" in heading(found)


def test_bandwidths_in_mb_a_second_give_the_same_model() -> None:
    operations = (Operation("t-{pairs}-{size}", "{size}", "t-{pairs}-{size}", "MB/s", row="{pairs}"),)
    rules = pack(replace(PAIRS, operations=("t-{pairs}-{size}",)), **{**NET, "operations": operations})
    table = rows(rules, lambda cell, at: messages(cell, at) * int(at["size"]) / 1e6)
    found = made(pairs, drawing(rules, table))
    assert found.models[0][1].model.latency_s == pytest.approx(2e-6, rel=0.02)


def test_too_few_points_are_drawn_without_a_model() -> None:
    rules = pack(PAIRS, **{**NET, "sweeps": (Sweep("pairs", values="1"), Sweep("size", values="1,2"))})
    found = made(pairs, drawing(rules, rows(rules, messages)))
    assert found.models == ()
    assert "too few points for the model" in heading(found)


# --- timeline

WHO = Plot("who", "Who was slow", "timeline")
CAPTURE = captures.DATA / "mpiio" / "bench-0.1.0-static-slow" / "bench.jsonl"


def recorded(root: Path, run: str, text: str) -> None:
    folder = root / "runs" / run / "1"
    folder.mkdir(parents=True)
    (folder / "bench.jsonl").write_text(text)


def test_a_map_shows_what_each_process_moved_in_each_interval(tmp_path: Path) -> None:
    rules = pack(WHO, files=builders.pack().files[:1])
    recorded(tmp_path, "scratch.peak.shared.r1", CAPTURE.read_text())
    found = made(processes, drawing(rules, rows(rules, numbered), tmp_path))
    axes = found.figure.axes[0]
    cells = axes.images[0].get_array()
    assert cells is not None
    lines = [json.loads(line) for line in CAPTURE.read_text().splitlines() if '"process"' in line]
    first = next(line for line in lines if line["operation"] == "write" and line["rank"] == 1)
    expected = [count / 0.02 / (1 << 20) for count in first["timeline_bytes"]]
    shown = [0.0 if value != value else float(value) for value in cells.filled(0.0)[1]]
    assert shown[: len(expected)] == pytest.approx(expected)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0 n0", "1 n0", "2 n1", "3 n1"]


def test_a_link_or_an_absent_file_draws_nothing(tmp_path: Path) -> None:
    rules = pack(WHO)
    assert processes(drawing(rules, rows(rules, numbered), tmp_path)) is None
    folder = tmp_path / "runs" / "scratch.peak.shared.r1" / "1"
    folder.mkdir(parents=True)
    (folder / "bench.jsonl").symlink_to(CAPTURE)
    assert processes(drawing(rules, rows(rules, numbered), tmp_path)) is None


# --- all kinds


def test_a_plot_without_numbers_is_left_out(tmp_path: Path) -> None:
    for plot in (BARS, WHO):
        rules = pack(plot)
        assert draw_plots(rules, "scratch", rows(rules, lambda cell, at: None), tmp_path, tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_picture_is_a_png_that_does_not_change_from_one_drawing_to_the_next(tmp_path: Path) -> None:
    rules = pack(BARS)
    contents = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (picture,) = draw_plots(rules, "scratch", rows(rules, numbered), tmp_path, tmp_path / name)
        contents.append((tmp_path / name / picture.file).read_bytes())
    assert picture.file == "scratch-rates.png"
    assert contents[0].startswith(b"\x89PNG")
    assert contents[0] == contents[1]


def test_titles_are_text_whatever_they_hold(tmp_path: Path) -> None:
    files = (replace(builders.pack().files[0], title="a $b_{$ <b> & $c$ \\frac{1}"),)
    rules = pack(replace(BARS, title="$x^{$"), files=files)
    (picture,) = draw_plots(rules, "scratch", rows(rules, numbered), tmp_path, tmp_path)
    assert (tmp_path / picture.file).stat().st_size > 1000


def test_every_kind_of_a_rule_pack_can_be_drawn() -> None:
    from campaign.config.rules.format import PLOTS

    assert set(kinds._KINDS) == set(PLOTS)


def test_a_rehearsal_says_so_on_every_plot() -> None:
    rules = replace(pack(BARS), profile="rehearsal")
    assert "rehearsal size: not a compliant result" in heading(made(bars, drawing(rules, rows(rules, numbered))))

"""What the kinds of plots share: the rows that a plot is of, and the dress of its figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from campaign.config.rules.load import Operation, Plot, RulePack
from campaign.core.model import Status
from campaign.results.cells import Row
from campaign.statistics import contention

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 110
# Colours that can be told apart by people who see few (Okabe and Ito).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
MARKERS = "osD^vP*X"


@dataclass(frozen=True, slots=True)
class DrawnPlot:
    """A figure; what is to be seen on it, for those who do not see it; and the fits that were made for it, by name."""

    figure: Figure
    about: str
    models: tuple[tuple[str, contention.ContentionFit], ...] = ()


@dataclass(frozen=True, slots=True)
class Drawing:
    pack: RulePack
    plot: Plot
    target: str
    rows: Sequence[Row]
    root: Path

    def of(self, files: str, launch: str) -> list[Row]:
        """The rows with a number of the plot's operations."""
        return [row for row in self.rows if (row.cell.files, row.cell.launch) == (files, launch) and self.shows(row)]

    def shows(self, row: Row) -> bool:
        return row.value is not None and self.template(row) in self.plot.operations

    def template(self, row: Row) -> str:
        operation = self.operations[row.cell.operation]
        return operation.template or operation.id

    @property
    def operations(self) -> dict[str, Operation]:
        return {operation.id: operation for operation in self.pack.operations}

    def point(self, row: Row) -> dict[str, str]:
        """The sweeps' values that a row was made for."""
        return dict(self.operations[row.cell.operation].at)

    def title(self, template: str) -> str:
        return next(
            operation.title for operation in self.pack.operations if template in (operation.template, operation.id)
        )

    def sweep(self, name: str) -> str:
        """What the values of a sweep are."""
        return next((sweep.title for sweep in self.pack.sweeps if sweep.id == name), "") or name

    def units(self) -> str:
        return ", ".join(dict.fromkeys(row.unit for row in self.rows if self.shows(row)))

    def panels(self) -> list[tuple[str, str]]:
        """(files, launch) of those that have numbers."""
        return [
            (files.id, launch.id)
            for files in self.pack.files
            for launch in self.pack.launch
            if self.of(files.id, launch.id)
        ]

    def name(self, files: str, launch: str) -> str:
        """What tells a panel from the others."""
        parts = []
        if len(self.pack.files) > 1:
            parts.append(next(entry.title for entry in self.pack.files if entry.id == files))
        if len(self.pack.launch) > 1:
            parts.append(next(condition.title for condition in self.pack.launch if condition.id == launch))
        return ", ".join(parts).replace("{items_total} ", "")


def inflated(row: Row) -> float | None:
    """What was really performed, where the benchmark's formula counts more."""
    true = row.record.true_value if row.record else None
    return true if true is not None and row.value is not None and row.value > 1.01 * true else None


def new_figure(columns: int, lines: int, width: float, height: float) -> tuple[Figure, list[list[Axes]]]:
    """A figure without a display, and its axes by line and column."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * lines + 0.9), layout="constrained")
    grid = figure.subplots(lines, columns, squeeze=False)
    return figure, [list(line) for line in grid]


def set_scale(axes: Axes, values: Sequence[float]) -> None:
    """The same scale in all panels: by powers of ten where the values differ much, otherwise from zero."""
    if not values or min(values) <= 0:
        return
    if max(values) > 30 * min(values):
        axes.set_yscale("log")
        axes.set_ylim(min(values) / 2, max(values) * 2)
    else:
        axes.set_ylim(0, max(values) * 1.08)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)


def add_legend(figure: Figure, names: Sequence[str], marked: bool = False, colours: Sequence[str] = COLOURS) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], color=colours[number % len(colours)], marker=MARKERS[number % len(MARKERS)], label=name)
        if marked
        else Patch(color=colours[number % len(colours)], label=name)
        for number, name in enumerate(names)
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(6, max(1, len(names))), fontsize=8, frameon=False
    )


def add_heading(figure: Figure, drawing: Drawing, *remarks: str) -> None:
    parts = [f"{drawing.plot.title}: {drawing.target}"]
    if drawing.pack.profile not in ("", "full"):
        parts.append(f"{drawing.pack.profile} size: not a compliant result")
    wrong = any(row.status is Status.INVALID and row.value is not None for row in drawing.rows)
    parts += ["hatched or crossed: invalid"] if wrong and drawing.plot.kind in ("bars", "lines") else []
    parts += remarks
    figure.suptitle("\n".join([plain(parts[0]), "; ".join(map(plain, parts[1:]))]).strip(), fontsize=10)


def plain(text: str) -> str:
    """matplotlib takes what stands between two $ for a formula."""
    return text.replace("$", r"\$")


def short(text: str, most: int = 18) -> str:
    """A title on several short lines."""
    import textwrap

    return plain("\n".join(textwrap.wrap(text.replace("{items_total} ", ""), most, break_long_words=False)))


def save(figure: Figure, path: Path) -> None:
    """As PNG with a palette, which is a third of the size."""
    import io

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    FigureCanvasAgg(figure)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=DPI, format="png")
    with Image.open(picture) as image:
        image.convert("RGB").quantize(colors=256, dither=Image.Dither.NONE).save(path, optimize=True)

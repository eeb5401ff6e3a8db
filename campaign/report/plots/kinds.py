"""The plots of the report: a rule pack's plots, drawn from the rows of the table.

A plot without numbers is left out. Invalid numbers are drawn and marked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.config.rules.pack import RulePack
from campaign.core import atomic
from campaign.report.plots import svg
from campaign.report.plots.bars import bars
from campaign.report.plots.drawing import Drawing, DrawnPlot
from campaign.report.plots.lines import lines
from campaign.report.plots.pairs import pairs
from campaign.report.plots.processes import processes
from campaign.results.cells import Row

# By the kinds that a rule pack names. To add one: a function in a file of its own, and a word in PLOTS of
# config/rules/format.py.
_KINDS: Mapping[str, Callable[[Drawing], DrawnPlot | None]] = {
    "bars": bars,
    "lines": lines,
    "contention": pairs,
    "timeline": processes,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot with its title, and its file beside the page."""

    file: str
    title: str
    drawn: DrawnPlot


def draw_plots(pack: RulePack, target: str, rows: Sequence[Row], root: Path, directory: Path) -> list[Picture]:
    """Draw the plots of one target with these rows into `directory`; `root`: the directory of the raw outputs."""
    pictures = []
    for plot in pack.plots:
        drawn = _KINDS[plot.kind](Drawing(pack, plot, target, rows, root))
        if drawn is not None:
            pictures.append(Picture(f"{target}-{plot.id}.svg", plot.title, drawn))
            write(directory / pictures[-1].file, f"{plot.title}: {target}", drawn)
    return pictures


def write(path: Path, title: str, drawn: DrawnPlot) -> None:
    """Write it as a file of its own, for a letter or slides."""
    atomic.write(path, svg.document(title, drawn.remarks, drawn.panels, drawn.legend))

"""The pictures of the report: a rule pack's plots drawn from the rows of the table, as PNG.

A plot is made where its numbers are; what has none is left out. Numbers that are not valid are drawn, and marked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaign.config.rules.load import RulePack
from campaign.report.plots.bars import bars
from campaign.report.plots.drawing import Drawing, DrawnPlot, save
from campaign.report.plots.lines import lines
from campaign.report.plots.pairs import pairs
from campaign.report.plots.processes import processes
from campaign.results.cells import Row
from campaign.statistics import contention

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
    """`about` says what is to be seen, for those who do not see it. `models`: fits that were made for it, by name."""

    file: str
    title: str
    about: str
    models: tuple[tuple[str, contention.ContentionFit], ...] = ()


def draw_plots(pack: RulePack, target: str, rows: Sequence[Row], root: Path, directory: Path) -> list[Picture]:
    """Draw the plots of one target, whose rows these are, into `directory`; `root` is where the raw outputs lie."""
    found = []
    for plot in pack.plots:
        made = _KINDS[plot.kind](Drawing(pack, plot, target, rows, root))
        if made is not None:
            file = f"{target}-{plot.id}.png"
            save(made.figure, directory / file)
            found.append(Picture(file, plot.title, made.about, made.models))
    return found

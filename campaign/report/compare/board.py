"""The board's page: offers on one page or in one workbook, from their ranking to what it would take to decide. It is a
list of tables, with a plot of the results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from campaign.config.rfp import Rfp
from campaign.core.columns import Column, sequence_columns
from campaign.core.runs import Cell, Status
from campaign.core.units import plural, separated_digits
from campaign.report import page, rfp_response
from campaign.report.compare import rendering, verdicts
from campaign.report.compare.comparison import CellComparison, CellVerdict, OfferComparison, median_value, offer_letter
from campaign.report.compare.gains import summarize_gains
from campaign.report.compare.offers import MAX_VALUES, OfferedCell
from campaign.report.decision import DecisionBlock, Mark, Question
from campaign.report.plots import dots, drawing
from campaign.report.scores import Scored
from campaign.results.cells import patterns
from campaign.statistics import intervals, ranks

TEMPLATE = "board.html.j2"
STAGES = ("received", "unchanged since signing", "complete", "rules kept", "accepted")
STEPS = (10, 20, 50, 100, 200, 500, MAX_VALUES)  # to which a number of repetitions is rounded up


@dataclass(frozen=True, slots=True)
class BoardTable:
    """A table with its heading, and what is said above it. `drawn`: the plot below it."""

    title: str
    text: str
    columns: Sequence[Column[Any]]
    lines: Sequence[Any]
    drawn: drawing.DrawnPlot | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """`blocks`: the decision on each part of the RFP; of an offer without parts, that of ""."""

    title: str
    offers: tuple[str, ...]
    blocks: Mapping[str, DecisionBlock]
    sections: tuple[BoardTable, ...]


def make_board(
    names: Sequence[str],
    rfp: Rfp | None,
    comparisons: Mapping[str, OfferComparison],
    blocks: Mapping[str, DecisionBlock],
    scored: Sequence[Sequence[Scored]],
    stages: Sequence[Sequence[Question]],
) -> Board:
    """The board of these offers. `scored`: the scores of each; `stages`: what of STAGES each has passed."""
    labels = [f"{offer_letter(place)}: {name}" for place, name in enumerate(names)]
    sections = [_score_ranking(labels, scored) if rfp and scored[0] else _gain_ranking(labels, comparisons)]
    sections += [_weights(labels, scored)] if rfp and scored[0] else []
    sections.append(
        BoardTable(
            "From receipt to acceptance",
            "A bundle is verified as by 'campaign verify'; a table alone has nothing that could be.",
            sequence_columns("offer", *STAGES),
            [[label, *map(_stage_text, of_offer)] for label, of_offer in zip(labels, stages, strict=True)],
        )
    )
    for part, comparison in comparisons.items():
        sections += _part_sections(f" of {part}" if part else "", comparison)
    title = rfp.title if rfp else "Comparison of offers"
    return Board(title, tuple(labels), blocks, tuple(sections))


def board_html(board: Board) -> str:
    """The page, which needs no other file."""
    return page.render_page(TEMPLATE, board=board, digits=separated_digits)


def table_stages(number: int) -> tuple[Question, ...]:
    """What is known of an offer that is no bundle: that it has so many results."""
    unknown = (Question(stage, "not checked", "not checked, since it is no bundle") for stage in STAGES[1:])
    return (Question(STAGES[0], "yes", plural(number, "result"), Mark.OK), *unknown)


def _stage_text(stage: Question) -> str:
    return f"{stage.mark}: {stage.reason}"


# --- ranking


def _score_ranking(labels: Sequence[str], scored: Sequence[Sequence[Scored]]) -> BoardTable:
    """By the last score, which may be computed from the others."""
    values = [of_offer[-1].value for of_offer in scored]
    lines = [[labels[place], rank, *map(rfp_response.score_text, scored[place])] for rank, place in _ranked(values)]
    titles = [score.title or score.id for score in scored[0]]
    return BoardTable(
        "Ranking", f"By {titles[-1]}; offers whose intervals overlap may change places.",
        sequence_columns("offer", "rank", *titles, is_text=False), lines,
    )  # fmt: skip


def _gain_ranking(labels: Sequence[str], comparisons: Mapping[str, OfferComparison]) -> BoardTable:
    """By the geometric mean of all results, relative to the first offer."""
    gains = {
        place: summarize_gains(
            [cell for comparison in comparisons.values() for cell in comparison.cells[place - 1]],
            all(comparison.in_means[place - 1] for comparison in comparisons.values()),
        )
        for place in range(1, len(labels))
    }
    mean_gains = [1.0, *(gain.mean for gain in gains.values())]
    lines = []
    for rank, place in _ranked(mean_gains):
        interval, counts = gains[place].interval if place else None, gains[place].verdicts if place else {}
        ends = f" ({' to '.join(map(rendering.factor_text, interval))})" if interval else ""
        mean = f"{rendering.factor_text(mean_gains[place])}{ends}" if mean_gains[place] else "no mean"
        lines.append([labels[place], rank, mean, *(counts.get(verdict, "") for verdict in _used_verdicts(comparisons))])
    return BoardTable(
        "Ranking",
        "By the geometric mean of all results relative to A (95% interval); offers whose intervals overlap may change "
        "places. An RFP with scores and weights ranks by these.",
        sequence_columns("offer", "rank", "times as good as A", *_used_verdicts(comparisons), is_text=False),
        lines,
    )


def _used_verdicts(comparisons: Mapping[str, OfferComparison]) -> list[CellVerdict]:
    """The verdicts that results have."""
    used = {cell.verdict for comparison in comparisons.values() for column in comparison.cells for cell in column}
    return [verdict for verdict in CellVerdict if verdict in used]


def _ranked(values: Sequence[float | None]) -> Iterator[tuple[int | str, int]]:
    """Rank and place of each, the best first; those without a value are last and have no rank."""
    order = sorted(range(len(values)), key=lambda place: -(values[place] or -math.inf))
    for rank, place in enumerate(order, 1):
        yield rank if values[place] is not None else "", place


def _weights(labels: Sequence[str], scored: Sequence[Sequence[Scored]]) -> BoardTable:
    """What each score is computed from."""
    lines = []
    for scores in zip(*scored, strict=True):
        terms = {term.formula: term for score in scores for term in score.terms}
        for formula, term in terms.items():
            values = ({other.formula: other.value for other in score.terms}.get(formula) for score in scores)
            lines.append([scores[0].id, scores[0].mean, formula, term.weight, term.reference, *values])
    return BoardTable(
        "Scores and weights", "Each score is the mean of its terms, divided by their references, by weight.",
        sequence_columns("score", "mean", "term", "weight", "reference", *labels), lines,
    )  # fmt: skip


# --- a part


def _part_sections(of_part: str, comparison: OfferComparison) -> Iterator[BoardTable]:
    columns, cells = _result_columns(comparison)
    yield BoardTable(
        f"Results{of_part}",
        "Reported values; ratios and intervals are of all valid repetitions. A difference counts if it is more than "
        "noise (5% over all results).",
        columns,
        cells,
        _dot_plot(comparison),
    )
    universe = list(dict.fromkeys(cell.cell for column in comparison.cells for cell in column))

    def section(title: str, text: str, name: str, reason_of: Callable[[CellComparison], str]) -> BoardTable:
        groups = rendering.cells_by_reason(comparison, reason_of)
        lines = [[*key, len(cells), ", ".join(patterns(cells, universe))] for key, cells in groups.items()]
        return BoardTable(f"{title}{of_part}", text, sequence_columns("offer", name, "number", "results"), lines)

    yield section(
        "Not tested", "Results in which no difference to A could be tested.", "why", rendering.untested_reason
    )
    remedy = partial(_remedy, comparison)
    yield section("What it would take to decide", "For results in which no difference to A is shown.", "what", remedy)


def _result_columns(comparison: OfferComparison) -> tuple[list[Column[Any]], list[Any]]:
    """A line for each result, with the values of all offers, and how each differs from the first."""
    by_cell = [{cell.cell: cell for cell in column} for column in comparison.cells]
    cells = list(dict.fromkeys(cell for of_offer in (*by_cell,) for cell in of_offer))
    entries = [offer.entries for offer in comparison.offers]
    columns: list[Column[Any]] = [
        Column("result", str, is_text=True),
        Column("unit", lambda cell: rendering.unit_of([of_offer.get(cell) for of_offer in entries])),
        Column("A", partial(_number_in, entries[0])),
    ]
    for place, of_offer in enumerate(by_cell, 1):
        letter = offer_letter(place)
        columns += [
            Column(letter, partial(_number_in, entries[place])),
            Column(f"{letter}/A", partial(_ratio_in, of_offer)),
            Column(f"{letter} differs", partial(_verdict_in, of_offer)),
        ]
    return columns, cells


def _number_in(entries: Mapping[Cell, OfferedCell], cell: Cell) -> float | str:
    """The number, or the text of one that was not measured."""
    entry = entries.get(cell)
    if entry and entry.status is Status.MEASURED and entry.value is not None:
        return float(entry.value)
    return rendering.number_text(entry)


def _ratio_in(compared: Mapping[Cell, CellComparison], cell: Cell) -> str:
    """The ratio to the first offer, with its interval."""
    if cell not in compared:
        return ""
    interval = rendering.interval_text(compared[cell])
    return f"{rendering.factor_text(compared[cell].shown_ratio)}{f' ({interval})' if interval else ''}"


def _verdict_in(compared: Mapping[Cell, CellComparison], cell: Cell) -> str:
    return str(compared[cell].verdict) if cell in compared else ""


def _remedy(comparison: OfferComparison, cell: CellComparison) -> str:
    """What would give the result an answer; "" if it has one."""
    if cell.verdict is CellVerdict.SESSION:
        return "runs of both in turns on one system, or 4 sessions or more of each"
    if cell.verdict is CellVerdict.NONE and cell.fails:
        return "a measured value of both offers in the same unit, or a decline that the buyer accepts"
    if cell.verdict is CellVerdict.UNTOLD:
        fewest = ranks.fewest_values(verdicts.LEVEL / 2, max(1, len(comparison.cells[0])))
        return f"{fewest} repetitions or more of each, each in its own job"
    if cell.verdict is CellVerdict.SAME and cell.low and cell.high and cell.ratio:
        return _repetitions_to_tell(cell, math.log(cell.ratio), math.log(cell.high / cell.low) / 2)
    return ""


def _repetitions_to_tell(cell: CellComparison, difference: float, half_width: float) -> str:
    """How many repetitions make an interval so narrow that this difference counts: its width falls with their root."""
    largest = max(len(entry.values) for entry in (cell.first, cell.second) if entry)
    needed = largest * (half_width / difference) ** 2 if difference else math.inf
    number = next((step for step in STEPS if step >= needed), None)
    if number is None:
        return f"nothing practical: even {MAX_VALUES:,} repetitions do not show a difference this small"
    return f"about {number:,} repetitions of each, if the ratio stays as it is"


def _dot_plot(comparison: OfferComparison) -> drawing.DrawnPlot | None:
    letters = [offer_letter(place) for place in range(len(comparison.offers))]
    cells = dict.fromkeys(cell for offer in comparison.offers for cell in offer.entries)
    results = []
    for cell in cells:
        entries = [offer.entries.get(cell) for offer in comparison.offers]
        if len({(entry.unit, entry.best) for entry in entries if entry}) == 1:
            entry = next(entry for entry in entries if entry)
            panel, label = f"{cell.target} {cell.operation}", f"{cell.launch} {cell.files}"
            results.append(dots.OfferedResult(panel, label, entry.unit, list(map(_dot, entries)), entry.best))
    return dots.dot_plot(letters, results)


def _dot(entry: OfferedCell | None) -> dots.OfferedValue | None:
    if entry is None or entry.status is not Status.MEASURED or entry.value is None:
        return None
    return dots.OfferedValue(median_value(entry), *(intervals.median_interval(sorted(entry.values)) or ()))

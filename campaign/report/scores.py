"""The figures of an RFP, results and facts of its parts by name, and the scores that are computed from them. Pure."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from campaign.config.rfp import NO_VALUE, SKIP, ZERO, Rfp, Score, Term
from campaign.config.rules import facts, formulas
from campaign.core import formula
from campaign.core.columns import Column
from campaign.core.decode import nondefault_fields
from campaign.core.grouping import grouped
from campaign.core.runs import Cell, Geometry, Status, matches
from campaign.judge.conditions import line_values
from campaign.judge.submission import Submission
from campaign.report.compare.offers import Offer
from campaign.report.origins import describe_origin
from campaign.results.case import fact_values, valid_by_line
from campaign.statistics import intervals

DRAWS = 1000  # scores, for an interval
COUNT = "count("  # how a name begins whose results may be none


@dataclass(frozen=True, slots=True)
class Figure:
    """A result or fact that a score is computed from: `name` is `part/target/launch/files/operation`."""

    name: str
    value: formula.Value | None
    unit: str
    status: str
    origin: str  # its run, job, file and line
    cv: float | None = None  # coefficient of variation of its repetitions
    repetitions: int = 1


class FactFigure(Figure):
    """A fact of runs, for which * in place of an operation does not stand."""


@dataclass(frozen=True, slots=True)
class ScoredTerm:
    formula: str
    reference: float
    weight: float
    value: float  # of the formula


TERMS: tuple[Column[ScoredTerm], ...] = (
    Column("Term", lambda term: term.formula),
    Column("Value", lambda term: term.value),
    Column("Reference", lambda term: term.reference),
    Column("Weight", lambda term: term.weight),
)


@dataclass(frozen=True, slots=True)
class Scored:
    """A score with its derivation; `why`: why it has no value, or what it lacks. `low` and `high`: its 95% interval, by
    the variation of the repetitions, if every figure has some.
    """

    id: str
    title: str
    mean: str
    value: float | None
    terms: tuple[ScoredTerm, ...] = ()
    figures: tuple[Figure, ...] = ()
    why: str = ""
    low: float | None = None
    high: float | None = None


def part_figures(rfp: Rfp, parts: Mapping[str, Submission]) -> Iterator[Figure]:
    """The results of all parts, and the facts that the RFP names: of the reported runs; of others as planned."""
    for part, submission in parts.items():
        cases, valid = {case.subject: case for case in submission.results}, valid_by_line(submission.results)
        proposed = nondefault_fields(submission.campaign.proposed)
        for row in submission.rows:
            value = row.value if row.status.counts else None
            name = f"{part}/{row.cell}"
            yield Figure(name, value, row.unit, row.status, describe_origin(row), row.summary.cv, max(row.summary.n, 1))
        for row in submission.rows if rfp.facts else ():
            values, status, origin = _known_before(row.geometry, proposed), str(row.status), ""
            if case := cases.get(row.origin):
                values = {**fact_values(case, rfp.fact_names), **line_values(submission, valid.get(row.cell.line, ()))}
                status, origin = "not recorded", f"recorded of {case.subject}"
            yield from _fact_figures(rfp, part, row.cell, values, status, origin)


def offer_figures(rfp: Rfp, parts: Mapping[str, Offer]) -> Iterator[Figure]:
    """The results of all parts of an offer to compare, and the facts that the RFP names, as far as tables have them."""
    for part, offer in parts.items():
        for cell, entry in offer.entries.items():
            summary = intervals.summarize(entry.values)
            times = max(summary.n, 1)
            yield Figure(f"{part}/{cell}", entry.number, entry.unit, entry.status, offer.source, summary.cv, times)
            geometry = Geometry(entry.nodes, entry.processes) if entry.nodes and entry.processes else None
            values = _known_before(geometry, offer.proposed)
            yield from _fact_figures(rfp, part, cell, values, "not in the table", offer.source)


def _known_before(geometry: Geometry | None, proposed: Mapping[str, Any]) -> dict[str, formula.Value]:
    """The facts that need no run: the counts of a line, and the system that is offered."""
    offered = {f"offered.{name}": value for name, value in proposed.items()}
    return {**(formulas.numbers(geometry, {}) if geometry else {}), **offered}


def _fact_figures(
    rfp: Rfp, part: str, cell: Cell, values: Mapping[str, formula.Value], status: str, origin: str
) -> Iterator[Figure]:
    """The facts of a line of the table; none that only a run shows where nothing is to be measured."""
    for fact in rfp.fact_names:
        if fact in values or status not in (Status.DECLINED, Status.PROJECTED):
            name, unit = "/".join((part, *cell.line, fact)), facts.BY_NAME[fact].unit
            yield FactFigure(name, values.get(fact), unit, status, origin, 0.0)


FiguresByName = Mapping[str, Sequence[Figure]]  # the results of each name in formulas


def figures_by_name(rfp: Rfp, results: Iterable[Figure]) -> FiguresByName:
    """What each figure of the RFP stands for: its results, or else the values of a fact, each once for a part."""
    results = list(results)
    figures: dict[str, Sequence[Figure]] = {}
    for name, pattern in rfp.figures:
        matching = [figure for figure in results if matches(figure.name, pattern)]
        figures[name] = [figure for figure in matching if not isinstance(figure, FactFigure)]
        if not figures[name] and name in rfp.facts:
            values = grouped(((figure.name.partition("/")[0], figure.value), figure) for figure in matching)
            figures[name] = [figure for figure, *_ in values.values()]
    return figures


def compute_scores(rfp: Rfp, results: Iterable[Figure]) -> list[Scored]:
    """All scores of the RFP, from the results of its parts."""
    figures = figures_by_name(rfp, results)
    scored = zip(_score_values(rfp, figures), _intervals(rfp, figures), strict=True)
    return [replace(score, low=low, high=high) for score, (low, high) in scored]


class Lacking(ValueError):
    """A formula or condition lacks a result. `status`: of that result, if the offer has it."""

    def __init__(self, text: str, status: str = "") -> None:
        super().__init__(text)
        self.status = status


def formula_inputs(names: Iterable[str], figures: FiguresByName) -> dict[str, formula.Value]:
    """The value of each name in a formula, `fom` or `max(fom)`. Raises Lacking if there is none, and ValueError if
    a name has several.
    """
    inputs: dict[str, formula.Value] = {}
    for name in names:
        source = formula.aggregated_name(name) or name
        values = [figure.value for figure in figures[source] if figure.value is not None]
        _require_values(figures[source])
        if not values and not name.startswith(COUNT):
            raise Lacking(f"{source} has no result")
        if source == name and len(values) > 1:
            raise ValueError(f"{name} is {len(values)} results: name one of them, or write mean({name})")
        inputs[name] = values[0] if source == name else formula.aggregate(name, {source: values})
    return inputs


def _require_values(figures: Iterable[Figure]) -> None:
    for figure in figures:
        if figure.value is None:
            raise Lacking(f"{figure.name} is {figure.status}", figure.status)


def _score_values(rfp: Rfp, figures: FiguresByName) -> list[Scored]:
    """The scores, each still without `low` and `high`."""
    known_figures, scored = dict(figures), []
    for score in rfp.scores:
        result = _score_value(score, known_figures)
        known_figures[score.id] = [] if result.value is None else [Figure(score.id, result.value, "", "", "")]
        scored.append(result)
    return scored


def _score_value(score: Score, figures: FiguresByName) -> Scored:
    sources = [formula.aggregated_name(name) or name for term in score.terms for name in formula.names(term.formula)]
    used = tuple(dict.fromkeys(figure for name in sources for figure in figures[name] if "/" in figure.name))
    terms, lacking, value = [], [], None
    try:
        if score.missing == NO_VALUE:
            _require_values(used)
        for term in score.terms:
            number, problem = _term_value(score, term, figures)
            lacking += [problem] * bool(problem)
            if not problem or score.missing == ZERO:
                terms.append(ScoredTerm(term.formula, term.reference, term.weight, number))
    except ValueError as error:
        return Scored(score.id, score.title, score.mean, None, (), used, str(error))
    try:
        value = _mean(score, terms)
    except ValueError as error:
        lacking = lacking or [str(error)]
    return Scored(score.id, score.title, score.mean, value, tuple(terms), used, "; ".join(lacking))


def _term_value(score: Score, term: Term, figures: FiguresByName) -> tuple[float, str]:
    """The value of a term; or 0, and why it has none. Raises ValueError if the score then has none either."""
    try:
        return formula.value(term.formula, formula_inputs(formula.names(term.formula), figures)), ""
    except Lacking as error:
        if score.missing == NO_VALUE or (score.missing == SKIP and error.status == Status.INVALID):
            raise
        return 0.0, str(error)


def _mean(score: Score, terms: Sequence[ScoredTerm]) -> float:
    """The weighted mean. Raises ValueError if it has none, as a geometric mean of a negative number."""
    ratios, weights = [term.value / term.reference for term in terms], [term.weight for term in terms]
    if not ratios:
        raise ValueError("no term has a value")
    if score.mean == "arithmetic":
        return statistics.fmean(ratios, weights)
    if score.missing == ZERO and min(ratios) == 0:
        return 0.0
    if min(ratios) <= 0:
        raise ValueError(f"a {score.mean} mean needs numbers above 0; found {min(ratios):g}")
    if score.mean == "harmonic":
        return statistics.harmonic_mean(ratios, weights)
    return math.exp(statistics.fmean([math.log(ratio) for ratio in ratios], weights))


def _intervals(rfp: Rfp, figures: FiguresByName) -> Iterator[tuple[float | None, float | None]]:
    """The interval of each score that has one, from many draws in which each figure varies as the mean of its
    repetitions does.
    """
    chance = random.Random(rfp.id)
    drawn: dict[str, list[float]] = {score.id: [] for score in rfp.scores}
    repeated = all(figure.cv is not None for results in figures.values() for figure in results)
    for _ in range(DRAWS if repeated else 0):
        varied = {name: [_random_figure(figure, chance) for figure in figures[name]] for name in figures}
        for scored in _score_values(rfp, varied):
            drawn[scored.id] += [] if scored.value is None else [scored.value]
    for values in drawn.values():
        values.sort()
        number = len(values)
        yield (values[round(0.025 * number)], values[round(0.975 * number) - 1]) if values else (None, None)


def _random_figure(figure: Figure, chance: random.Random) -> Figure:
    if figure.value is None or isinstance(figure.value, str) or figure.cv is None:
        return figure
    return replace(figure, value=figure.value * math.exp(chance.gauss(0.0, figure.cv / math.sqrt(figure.repetitions))))

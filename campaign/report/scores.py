"""The scores of an RFP: numbers computed across its parts, each traced to the results that it is from. Pure."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaign.config.rfp import Rfp, Score
from campaign.core import formula
from campaign.core.columns import Column
from campaign.core.runs import matches
from campaign.judge.submission import Submission
from campaign.report.compare.offers import Offer
from campaign.report.origins import describe_origin
from campaign.statistics import intervals

DRAWS = 1000  # scores, for an interval


@dataclass(frozen=True, slots=True)
class Figure:
    """A result that a score is computed from: `name` is `part/target/launch/files/operation`."""

    name: str
    value: float | None
    unit: str
    status: str
    origin: str  # its run, job, file and line
    cv: float | None = None  # coefficient of variation of its repetitions
    repetitions: int = 1


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
    """A score with its derivation; `why`: why it has no value. `low` and `high`: its 95% interval, by the variation of
    the repetitions, if every figure has some.
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


def part_figures(parts: Mapping[str, Submission]) -> Iterator[Figure]:
    """The results of all parts."""
    for part, submission in parts.items():
        for row in submission.rows:
            value = row.value if row.status.counts else None
            name = f"{part}/{row.cell}"
            yield Figure(name, value, row.unit, row.status, describe_origin(row), row.summary.cv, max(row.summary.n, 1))


def offer_figures(parts: Mapping[str, Offer]) -> Iterator[Figure]:
    """The results of all parts of an offer to compare."""
    for part, offer in parts.items():
        for cell, entry in offer.entries.items():
            summary = intervals.summarize(entry.values)
            times = max(summary.n, 1)
            yield Figure(f"{part}/{cell}", entry.number, entry.unit, entry.status, offer.source, summary.cv, times)


def compute_scores(rfp: Rfp, results: Iterable[Figure]) -> list[Scored]:
    """All scores of the RFP, from the results of its parts."""
    results = list(results)
    figures = {name: [figure for figure in results if matches(figure.name, pattern)] for name, pattern in rfp.figures}
    scored = zip(_score_values(rfp, figures), _intervals(rfp, figures), strict=True)
    return [replace(score, low=low, high=high) for score, (low, high) in scored]


FiguresByName = Mapping[str, Sequence[Figure]]  # the results of each name in formulas


def _score_values(rfp: Rfp, figures: FiguresByName) -> list[Scored]:
    """The scores, each still without `low` and `high`."""
    scored: dict[str, Scored] = {}
    for score in rfp.scores:
        names = [formula.aggregated_name(name) or name for term in score.terms for name in formula.names(term.formula)]
        used = tuple(dict.fromkeys(figure for name in names for figure in figures.get(name, ())))
        terms: tuple[ScoredTerm, ...] = ()
        value, problem = None, ""
        try:
            if missing := [figure for figure in used if figure.value is None]:
                raise ValueError(f"{missing[0].name} is {missing[0].status}")
            terms = _terms(score, figures, {id: figure.value for id, figure in scored.items()})
            value = _mean(score, terms)
        except ValueError as error:
            problem = str(error)
        scored[score.id] = Scored(score.id, score.title, score.mean, value, terms, used, problem)
    return list(scored.values())


def _terms(score: Score, figures: FiguresByName, above: Mapping[str, float | None]) -> tuple[ScoredTerm, ...]:
    """Raises ValueError if a term has no value."""
    terms = []
    for term in score.terms:
        by_name: dict[str, float] = {}
        for name in formula.names(term.formula):
            source = formula.aggregated_name(name) or name
            values = [above[source]] if source in above else [figure.value for figure in figures[source]]
            numbers = [value for value in values if value is not None]
            if not numbers:
                raise ValueError(f"{source} has no result")
            if source == name and len(numbers) > 1:
                raise ValueError(f"{name} is {len(numbers)} results: name one of them, or write mean({name})")
            by_name[name] = numbers[0] if source == name else formula.aggregate(name, {source: numbers})
        terms.append(ScoredTerm(term.formula, term.reference, term.weight, formula.value(term.formula, by_name)))
    return tuple(terms)


def _mean(score: Score, terms: Sequence[ScoredTerm]) -> float:
    """The weighted mean. Raises ValueError if it has none, as a geometric mean of a negative number."""
    ratios, weights = [term.value / term.reference for term in terms], [term.weight for term in terms]
    if score.mean == "arithmetic":
        return statistics.fmean(ratios, weights)
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
    if figure.value is None or figure.cv is None:
        return figure
    return replace(figure, value=figure.value * math.exp(chance.gauss(0.0, figure.cv / math.sqrt(figure.repetitions))))

"""A comparison in its printed forms: text in any format of tabulate, CSV and JSON. Pure."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from operator import itemgetter
from typing import Any

from campaign.core import columns, resources
from campaign.core.columns import Column
from campaign.core.grouping import grouped
from campaign.core.runs import Cell, Status
from campaign.core.units import digits, listing, plural
from campaign.core.workers import results_in_order
from campaign.report import decision, grid, printing
from campaign.report.compare import verdicts
from campaign.report.compare.comparison import CellComparison, CellVerdict, OfferComparison, median_value, offer_letter
from campaign.report.compare.gains import GainSummary, summarize_gains
from campaign.report.compare.limitations import INFLATED
from campaign.report.compare.offers import MAX_VALUES, Offer, OfferedCell
from campaign.report.decision import Mark
from campaign.results.cells import patterns
from campaign.statistics import ranks

MARKS = {
    CellVerdict.BETTER: "+",
    CellVerdict.WORSE: "-",
    CellVerdict.SESSION: "≈",
    CellVerdict.SAME: "=",
    CellVerdict.WITHIN: "~",
    CellVerdict.BELOW: "!",
    CellVerdict.UNTOLD: "?",
    CellVerdict.CHANGED: "#",
    CellVerdict.NONE: "/",
    CellVerdict.ACCEPTED: "~",
    CellVerdict.REJECTED: "!",
    CellVerdict.UNDECIDED: "?",
}
BEST, NOT_SHOWN = "*", "°"
SESSION = CellVerdict.SESSION
# The verdicts by which an offer differs from the first.
DIFFERENCES = {
    CellVerdict.WORSE: "worse",
    CellVerdict.BETTER: "better",
    SESSION: "different, maybe by the day,",
    CellVerdict.CHANGED: "changed",
}
MOST_GROUPS = 8  # operations for which a summary has columns
MOST_OFFERS = 4  # in a decision
MOST_REASONS = 12  # below a table

Table = tuple[Sequence[Column[Any]], Sequence[Any]]  # its columns, and what its lines are about


def comparison_text(
    comparison: OfferComparison, block: decision.DecisionBlock, style: str, width: int = printing.WIDEST
) -> str:
    """A comparison as CSV, JSON, or in a format of tabulate: the decision, the offers, every cell, the summary, and
    what marks mean.
    """
    if style == "csv":
        return comparison_csv(comparison)
    if style == "json":
        return comparison_json(comparison, block)
    printing.check_format(style, "csv", "json")

    def paragraphs(texts: Iterable[str]) -> list[str]:
        return [printing.paragraph(text, style, width) for text in texts]

    offers = resources.render_template("offers.txt.j2", comparison=comparison, letters=offer_letter)
    is_narrow = style in printing.TEXT_FORMATS and width < printing.WIDEST
    is_marked, of_sample = (
        len(comparison.offers) > 2 or is_narrow,
        comparison.terms is not None and comparison.terms.by_means,
    )
    parts = [
        *(*decision.decision_paragraphs(block, style, width), ""),
        *(*paragraphs(offers.splitlines()), ""),
        *(grid.grid_text(*(_side_by_side(comparison) if is_marked else _in_detail(comparison)), style, width), ""),
        *(paragraphs(_reason_lines(comparison)) if is_marked else []),
        *([] if of_sample else [grid.grid_text(*_summary(comparison), style, width), ""]),
        *paragraphs(_legend(comparison, is_marked)),
    ]
    return printing.document(parts, style).rstrip("\n") + "\n"


def number_text(entry: OfferedCell | None) -> str:
    """The reported number, marked if it is not a measured one."""
    if entry is None:
        return "-"
    if entry.value is None:
        return entry.status
    value = digits(entry.value)
    return value if entry.status is Status.MEASURED else f"{value} {entry.status.upper()}"


def factor_text(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if 0.0995 <= value < 9.995 else digits(value)


def interval_text(cell: CellComparison) -> str:
    if cell.low is None or cell.high is None:
        return ""
    return f"{factor_text(cell.low)} to {factor_text(cell.high)}"


def _verdict(cell: CellComparison) -> str:
    return f"{cell.verdict}: {cell.reason}" if cell.reason else cell.verdict


def _in_detail(comparison: OfferComparison) -> Table:
    """Two offers: every cell in detail."""
    in_detail: list[Column[CellComparison]] = [
        Column("cell", lambda cell: cell.cell),
        Column("unit", lambda cell: unit_of([cell.first, cell.second]), is_text=True),
        Column("A", lambda cell: number_text(cell.first)),
        Column("n", lambda cell: len(cell.first.values) if cell.first else None),
        Column("B", lambda cell: number_text(cell.second)),
        Column("n", lambda cell: len(cell.second.values) if cell.second else None),
        Column("B/A", lambda cell: factor_text(cell.shown_ratio)),
        Column("95% interval" if comparison.terms is None else "90% interval", interval_text),
        Column("verdict", _verdict, is_text=True),
    ]
    return in_detail, verdicts.merge_lone_targets(comparison.cells[0])


def unit_of(entries: Iterable[OfferedCell | None]) -> str:
    return next((entry.unit for entry in entries if entry), "")


def _side_by_side(comparison: OfferComparison) -> Table:
    """Several offers: a column for each, with its ratio to the first and the mark of its verdict."""
    compared = [
        {comparison_of_cell.cell: comparison_of_cell for comparison_of_cell in verdicts.merge_lone_targets(column)}
        for column in comparison.cells
    ]
    cells = list(dict.fromkeys(cell for column in compared for cell in column))
    entries = [[offer.entries.get(cell) for offer in comparison.offers] for cell in cells]
    best = list(map(_best_place, entries))

    def texts_of_offer(place: int) -> list[str]:
        """What its column has of each cell."""
        texts = []
        for cell, of_cell, top in zip(cells, entries, best, strict=True):
            mark = _mark(of_cell, place, top, comparison.day)
            to_first = compared[place - 1].get(cell) if place else None
            words = (factor_text(to_first.shown_ratio), MARKS[to_first.verdict]) if to_first else ()
            texts.append(" ".join(filter(None, (mark + number_text(of_cell[place]), *words))))
        return texts

    places = range(len(comparison.offers))
    texts = list(results_in_order(texts_of_offer, places, offer_letter, "looking for the best offers"))
    names = ("cell", "unit", *map(offer_letter, places))
    lines = zip(map(str, cells), map(unit_of, entries), *texts, strict=True)
    return [Column(name, itemgetter(place), is_text=place == 1) for place, name in enumerate(names)], list(lines)


def _best_place(entries: Sequence[OfferedCell | None]) -> int | None:
    """The place of the best median; None if only one is measured, or not all in one unit."""
    measured = {place: entry for place, entry in enumerate(entries) if entry and entry.status is Status.MEASURED}
    if len(measured) < 2 or len({(entry.unit, entry.best) for entry in measured.values()}) > 1:
        return None
    sign = 1 if next(iter(measured.values())).best == "highest" else -1
    return max(measured, key=lambda place: sign * median_value(measured[place]))


def _mark(entries: Sequence[OfferedCell | None], place: int, best: int | None, day: float) -> str:
    """The mark of an offer's value: the best, or not shown to differ from that."""
    top, entry = None if best is None else entries[best], entries[place]
    if top is None or entry is None or entry.status is not Status.MEASURED:
        return ""
    if best == place:
        return BEST
    is_positive = min((*top.values, *entry.values), default=0.0) > 0
    return "" if is_positive and _has_difference(top, entry, day) else NOT_SHOWN


def _has_difference(first: OfferedCell, second: OfferedCell, day: float) -> bool:
    difference, over_sessions = verdicts.session_differences(first, second)
    is_significant = difference.p <= verdicts.LEVEL
    return is_significant and (over_sessions or difference.is_beyond(math.log(day), verdicts.LEVEL))


def _summary(comparison: OfferComparison) -> Table:
    sums = list(
        results_in_order(
            lambda place: summarize_gains(comparison.cells[place], comparison.in_means[place]),
            range(len(comparison.cells)),
            offer_letter,
            "comparing means",
        )
    )
    launches = dict.fromkeys(name for gains in sums for name in gains.by_launch)
    operations = dict.fromkeys(name for gains in sums for name in gains.by_operation)
    if len(operations) > MOST_GROUPS:
        operations = {}
    verdict_columns = [verdict for verdict in CellVerdict if any(gains.verdicts[verdict] for gains in sums)]
    names = ["geometric mean gain", *verdict_columns, "of cells", "all", *launches, *operations]
    body = [
        [
            f"{offer_letter(place)}/A",
            *(gains.verdicts[verdict] for verdict in verdict_columns),
            gains.compared,
            factor_text(gains.mean),
            *(factor_text(gains.by_launch.get(name)) for name in launches),
            *(factor_text(gains.by_operation.get(name)) for name in operations),
        ]
        for place, gains in enumerate(sums, 1)
    ]
    return columns.sequence_columns(*names, is_text=False), body


def cells_by_reason(
    comparison: OfferComparison, reason_of: Callable[[CellComparison], str]
) -> dict[tuple[str, str], list[Cell]]:
    """The cells that have a reason, by the letter of their offer and the reason."""
    compared = ((offer_letter(place), cell) for place, column in enumerate(comparison.cells, 1) for cell in column)
    return grouped(((letter, reason), cell.cell) for letter, cell in compared if (reason := reason_of(cell)))


def untested_reason(cell: CellComparison) -> str:
    """Why it was not compared or tested; "" if it was."""
    return f"{cell.verdict}: {cell.reason}" if cell.reason else ""


def _reason_lines(comparison: OfferComparison) -> list[str]:
    """Why marks of the table say that nothing was compared or tested."""
    reasons = cells_by_reason(comparison, untested_reason)
    universe = list(dict.fromkeys(cell.cell for column in comparison.cells for cell in column))
    lines = [
        f"{letter} {reason}: {listing(patterns(cells, universe), 4)}"
        for (letter, reason), cells in list(reasons.items())[:MOST_REASONS]
    ]
    further = [f"and {len(reasons) - MOST_REASONS} more: --format csv has all"] * (len(reasons) > MOST_REASONS)
    return [*lines, *further, ""] if lines else []


def _legend(comparison: OfferComparison, is_marked: bool) -> list[str]:
    """What marks and numbers mean."""
    cells = [cell for column in comparison.cells for cell in column]
    used_verdicts = {cell.verdict for cell in cells}
    entries = (entry for offer in comparison.offers for entry in offer.entries.values())
    text = resources.render_template(
        "comparison.txt.j2",
        comparison=comparison,
        cells=cells,
        is_marked=is_marked,
        means=comparison.terms is not None and comparison.terms.by_means,
        marks=", ".join(f"{MARKS[verdict]} {verdict}" for verdict in CellVerdict if verdict in used_verdicts),
        best=BEST,
        not_told=NOT_SHOWN,
        inflated=any(entry.inflation > INFLATED for entry in entries),
        session=SESSION,
        lacking=_missing_repetitions(comparison),
    )
    return text.splitlines()


def _missing_repetitions(comparison: OfferComparison) -> tuple[int, int] | None:
    """How many repetitions a difference in one of so many cells needs, if a side has fewer."""
    tested = [[cell for cell in column if cell.ratio is not None] for column in comparison.cells]
    entries = [entry for column in tested for cell in column for entry in (cell.first, cell.second) if entry]
    cells = max(map(len, tested))
    alone = ranks.fewest_values(verdicts.LEVEL / 2, cells) if cells else 0
    fewest = min((min(len(entry.values), entry.jobs or MAX_VALUES) for entry in entries), default=alone)
    return (alone, cells) if fewest < alone else None


# --- the decision


def comparison_decision(comparison: OfferComparison, names: Sequence[str]) -> decision.DecisionBlock:
    """For the buyer. `names`: the offers, as they are typed."""
    first = comparison.offers[0]
    offers = [_offer_question(comparison, place) for place in range(1, len(comparison.offers))[:MOST_OFFERS]]
    cells = [cell for column in comparison.cells for cell in column]
    untested = [cell for cell in cells if cell.fails and cell.untested]
    gaps = [cell for cell in cells if cell.fails and cell.reported_ratio is None and not cell.untested]
    none_left = gaps if len(gaps) == len(cells) else []
    remarks = [
        f"{offer_letter(place)}: {remark}"
        for place in (*range(1, len(comparison.offers)), 0)
        for remark in comparison.remarks[place]
        # A limit common to both, such as the size of a rehearsal, is reported for the first only.
        if remark != comparison.offers[place].remark and (place == 0 or remark not in comparison.remarks[0])
    ]
    rules = (f"{first.rules} {first.version}", f"{first.profile} size") if first.rules else ()
    may = "Results called better or worse differ by more than noise (5% over all results)."
    not_equal = ", or that results without a shown difference are equal" if comparison.terms is None else ""
    if comparison.terms is not None:
        may = "Reported values and their repetitions decide."
    elif all(cell.adjusted_p is None for cell in cells):
        may = "Only the reported numbers were compared: no difference was tested."
    return decision.DecisionBlock(
        ", ".join(f"{question.name} {question.answer}" for question in offers).upper(),
        (f"A is {names[0]}", *rules),
        (
            *offers,
            _gaps_question(
                "complete", gaps, cells, "have no value on one side", "Every result has a value on both sides."
            ),
            _gaps_question(
                "tested",
                untested or none_left,
                cells,
                "cannot be tested",
                "All differences were tested with all repetitions.",
            ),
            decision.Question("alike", "open", f"{'; '.join(remarks)}.")
            if remarks
            else decision.Question("alike", "yes", "Rules, size and process counts are the same.", Mark.OK),
        ),
        may,
        f"This does not show that the numbers were measured{not_equal}.",
        tuple(_steps(comparison, names, bool(gaps), bool(untested))),
        decision.Compliance.COMPLIES if comparison.passed else decision.Compliance.BROKEN,
    )


def _offer_question(comparison: OfferComparison, place: int) -> decision.Question:
    """Whether it is better than the first, or reaches its commitments."""
    name, column, in_means = offer_letter(place), comparison.cells[place - 1], comparison.in_means[place - 1]
    if comparison.terms is not None:
        missed = [cell for cell in column if cell.fails]
        firsts = [cell.first for cell in column]
        committed = sum(entry is not None and entry.status is not Status.DECLINED for entry in firsts)
        reached = f"{name} reaches {committed - len(missed)} of {plural(committed, 'commitment')}"
        if missed:
            text = f"{reached}; {missed[0].cell}: {_verdict(missed[0])}."
            return decision.Question(name, "not accepted", text, Mark.BAD)
        is_accepted = comparison.compared(place)
        answer, mark = ("accepted", Mark.OK) if is_accepted else ("not accepted", Mark.BAD)
        return decision.Question(name, answer, f"{reached}.", mark)
    sums = summarize_gains(column, in_means)
    counts_by_verdict = {word: sums.verdicts[word] for word in DIFFERENCES if sums.verdicts[word]}
    tested = any(cell.adjusted_p is not None for cell in column)
    counts = ", ".join(f"{DIFFERENCES[verdict]} in {number}" for verdict, number in counts_by_verdict.items())
    answer = " and ".join(counts_by_verdict) or ("not shown to differ" if tested else "not tested")
    results = f"{name} is {counts} of {plural(len(column), 'result')}" if counts_by_verdict else f"{name} is {answer}"
    mark = Mark.OPEN if CellVerdict.WORSE not in counts_by_verdict else Mark.BAD
    if tested and counts_by_verdict.keys() <= {CellVerdict.BETTER}:
        mark = Mark.OK
    return decision.Question(name, answer, f"{results}; {_mean_in_words(in_means, sums)}.", mark)


def _mean_in_words(in_means: bool, sums: GainSummary) -> str:
    if not in_means:
        return "no mean, since its size, rules or operations differ (--unequal)"
    if sums.mean is None:
        return "no result has a ratio"
    limitation = "" if sums.over_sessions else " within the sessions measured"
    interval = f" ({' to '.join(map(factor_text, sums.interval))} times A{limitation})" if sums.interval else ""
    if 0.5 < sums.mean < 2:
        return f"geometric mean {abs(sums.mean - 1):.1%} {'below' if sums.mean < 1 else 'above'} A{interval}"
    return f"geometric mean {factor_text(sums.mean)} times A{interval}"


def _gaps_question(
    name: str, cells: Sequence[CellComparison], all_cells: Sequence[object], problem: str, no_problem: str
) -> decision.Question:
    """Whether results have a gap; `problem`, `no_problem`: what is said of those that have one, and of none."""
    if not cells:
        return decision.Question(name, "yes", no_problem, Mark.OK)
    results = f"{len(cells)} of {plural(len(all_cells), 'result')} {problem}"
    return decision.Question(name, "NO", f"{results}: {cells[0].cell} ({cells[0].reason}).", Mark.BAD)


def _steps(
    comparison: OfferComparison, names: Sequence[str], has_gaps: bool, has_untested: bool
) -> Iterator[decision.Step]:
    bundles = [name for name, offer in zip(names, comparison.offers, strict=True) if offer.remark]
    for name in dict.fromkeys(bundles or ["OFFER"]):
        yield decision.Step(decision.YOU, f"campaign verify {name}")
    if has_gaps:
        yield decision.Step(decision.VENDOR, "Measure what has no value, or decline it with a reason.")
    if has_untested:
        fewest = ranks.fewest_values(verdicts.LEVEL / 2)
        yield decision.Step(
            decision.VENDOR,
            f"Set repetitions: {fewest} or more and slurm.allocation: run, then run: campaign run FILE",
        )
    if any(cell.verdict is SESSION for column in comparison.cells for cell in column):
        yield decision.Step(
            decision.VENDOR, "Measure both in turns on one system (A, B, A, B), or each in 4 sessions or more."
        )


# --- CSV and JSON


def _side_columns(flat: str, first_place: int) -> tuple[Column[OfferedCell], ...]:
    """The columns of an offer's result. `flat`: before their names in CSV, where the other offer's are between them."""
    return (
        Column("value", lambda entry: entry.value, first_place + 2, flat=f"{flat}value"),
        Column("status", lambda entry: entry.status, first_place, flat=f"{flat}status"),
        Column("n", lambda entry: len(entry.values), first_place + 4, flat=f"{flat}n"),
        Column(
            "median",
            lambda entry: median_value(entry) if entry.values else None,
            first_place + 6,
            flat=f"{flat}median",
        ),
        Column("jobs", lambda entry: entry.jobs),
        Column("started", lambda entry: entry.started),
        Column("processes", lambda entry: entry.processes),
        Column("nodes", lambda entry: entry.nodes),
    )


# In CSV, the letters of both offers are in the places 7 and 8.
COLUMNS: tuple[Column[CellComparison], ...] = (
    Column("target", lambda cell: cell.cell.target, 1),
    Column("launch", lambda cell: cell.cell.launch, 2),
    Column("files", lambda cell: cell.cell.files, 3),
    Column("operation", lambda cell: cell.cell.operation, 4),
    Column("unit", lambda cell: unit_of([cell.first, cell.second]) or None, 5),
    Column("best", lambda cell: cell.best, 6),
    Column("first", lambda cell: cell.first, columns=_side_columns("first_", 9)),
    Column("this", lambda cell: cell.second, columns=_side_columns("", 10)),
    Column("reported_ratio", lambda cell: cell.reported_ratio, 17),
    Column("ratio", lambda cell: cell.ratio, 18),
    Column("low", lambda cell: cell.low, 19),
    Column("high", lambda cell: cell.high, 20),
    Column("p", lambda cell: cell.p, 21),
    Column("adjusted_p", lambda cell: cell.adjusted_p, 22),
    Column("over_sessions", lambda cell: cell.over_sessions),
    Column("verdict", lambda cell: cell.verdict, 23),
    Column("reason", lambda cell: cell.reason, 24),
    Column("fails", lambda cell: cell.fails, 25),
)


def comparison_csv(comparison: OfferComparison) -> str:
    """A line for each cell of each offer except the first."""
    names = [*columns.csv_columns(COLUMNS)]
    lines = (
        columns.csv_line(COLUMNS, cell)
        | {"first": "A", "offer": offer_letter(place), "fails": "yes" if cell.fails else "no"}
        for place, of_offer in enumerate(comparison.cells, 1)
        for cell in of_offer
    )
    return printing.as_csv([*names[:6], "first", "offer", *names[6:]], lines)


def comparison_json(comparison: OfferComparison, block: decision.DecisionBlock) -> str:
    """One object, with each cell on a line of its own."""
    acceptance = comparison.terms
    terms = (
        {"least": acceptance.min_share, "reported_alone": acceptance.reported_alone, "means": acceptance.by_means}
        if acceptance
        else None
    )
    offers = ",\n".join(_offer_json(place, offer, comparison) for place, offer in enumerate(comparison.offers))
    return (
        f'{{"format": 1, "acceptance": {json.dumps(terms)}, "passed": {json.dumps(comparison.passed)}, '
        f'"decision": {json.dumps(asdict(block))}, "offers": [\n'
        f"{offers}\n]}}\n"
    )


def _offer_json(place: int, offer: Offer, comparison: OfferComparison) -> str:
    column = comparison.cells[place - 1] if place else ()
    gains = summarize_gains(column, comparison.in_means[place - 1] if place else True)
    head = {
        "offer": offer_letter(place),
        "source": offer.source,
        "campaign": offer.campaign or None,
        "rules": offer.rules,
        "version": offer.version,
        "profile": offer.profile,
        "remarks": list(comparison.remarks[place]),
        "summary": {
            "cells": gains.compared,
            "geometric_mean": gains.mean,
            "interval": gains.interval,
            "over_sessions": gains.over_sessions,
            "by_launch": gains.by_launch,
            "by_operation": gains.by_operation,
            "verdicts": {verdict: number for verdict, number in gains.verdicts.items() if number},
        }
        if place
        else None,
    }
    cells = ",\n".join(json.dumps(columns.record(COLUMNS, cell)) for cell in column)
    return f'{json.dumps(head)[:-1]}, "cells": [{cells}]}}'

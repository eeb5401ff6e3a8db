"""A comparison as text, in any format of tabulate. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from campaign.core import escaping
from campaign.core.errors import InputError
from campaign.core.model import Status
from campaign.core.units import digits
from campaign.report.compare.offers import Offer, OfferedCell
from campaign.report.compare.summary import letters, summary, typical
from campaign.report.compare.verdicts import LEVEL, CellComparison, CellVerdict, OfferComparison
from campaign.statistics import ranks

MARKS = {
    CellVerdict.BETTER: "+",
    CellVerdict.WORSE: "-",
    CellVerdict.SAME: "=",
    CellVerdict.WITHIN: "~",
    CellVerdict.BELOW: "!",
    CellVerdict.UNTOLD: "?",
    CellVerdict.NONE: "/",
}
BEST, NOT_TOLD = "*", "°"
MOST_GROUPS = 8  # of operations that a summary has columns for
MOST_SAID = 50  # cells that are named below a table
TERMINAL, WIDTH = ("simple", "plain"), 120  # formats whose paragraphs are wrapped
VERDICT = "verdict"
LEFT = ("unit", VERDICT)


def printed(comparison: OfferComparison, style: str) -> str:
    """The offers, every cell, the summary, and what the marks and numbers mean, in a format of tabulate."""
    import tabulate

    if style not in tabulate.tabulate_formats:
        allowed = ", ".join([*sorted(tabulate.tabulate_formats), "csv", "json"])
        raise InputError(f"--format {style}: not a format; allowed: {allowed}")

    def grid(body: Sequence[Sequence[str]], headers: Sequence[str]) -> str:
        return tabulate.tabulate(
            [[escaping.shielded(text, style) for text in line] for line in body],
            [escaping.shielded(text, style) for text in headers],
            tablefmt=style,
            disable_numparse=True,
            colalign=["left" if name in (*LEFT, headers[0]) else "right" for name in headers],
        )

    def paragraph(text: str) -> list[str]:
        wide = textwrap.wrap(text, WIDTH, break_on_hyphens=False) if style in TERMINAL else [text]
        return [escaping.paragraph(line, style) for line in wide]

    def paragraphs(texts: Iterable[str]) -> list[str]:
        return [line for text in texts for line in paragraph(text)]

    body, headers = _pair(comparison) if len(comparison.offers) == 2 else _many(comparison)
    parts = [
        *paragraphs(_offers(comparison)),
        "",
        grid(body, headers),
        "",
        grid(*_summary(comparison)),
        "",
        *paragraphs(_legend(comparison)),
        "",
        *paragraphs(_failures(comparison)),
    ]
    return escaping.released(escaping.below_each_other(parts, style), style).rstrip("\n") + "\n"


def _offers(comparison: OfferComparison) -> Iterable[str]:
    for place, (offer, remarks) in enumerate(zip(comparison.offers, comparison.remarks, strict=True)):
        yield f"{letters(place)}: {offer.source}{_made(offer)}"
        yield from (f"{letters(place)}: {remark}" for remark in remarks)


def _made(offer: Offer) -> str:
    if offer.rules is None:
        return ""
    return f" (campaign {offer.campaign}, rules {offer.rules} version {offer.version}, profile {offer.profile})"


def _number(entry: OfferedCell | None) -> str:
    """The reported number, marked where it is not a measured one."""
    if entry is None:
        return "-"
    if entry.value is None:
        return entry.status
    value = digits(entry.value)
    return value if entry.status is Status.MEASURED else f"{value} {entry.status.upper()}"


def _factor(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if 0.0995 <= value < 9.995 else f"{value:.3g}"


def _interval(cell: CellComparison) -> str:
    if cell.low is None or cell.high is None:
        return ""
    return f"{_factor(cell.low)} to {_factor(cell.high)}"


def _verdict(cell: CellComparison) -> str:
    return f"{cell.verdict}: {cell.reason}" if cell.reason else cell.verdict


def _pair(comparison: OfferComparison) -> tuple[list[list[str]], list[str]]:
    """Two offers: everything about each cell."""
    body = []
    for cell in comparison.cells[0]:
        entries = (cell.first, cell.second)
        entry = cell.first or cell.second
        body.append(
            [
                str(cell.cell),
                entry.unit if entry else "",
                *(text for side in entries for text in (_number(side), str(len(side.values)) if side else "")),
                _factor(cell.ratio if cell.ratio is not None else cell.reported),
                _interval(cell),
                _verdict(cell),
            ]
        )
    sure = "95% interval" if comparison.terms is None else "90% interval"
    return body, ["cell", "unit", "A", "n", "B", "n", "B/A", sure, VERDICT]


def _many(comparison: OfferComparison) -> tuple[list[list[str]], list[str]]:
    """Many offers: a column each, with the ratio to the first and the mark of its verdict."""
    columns = [{compared.cell: compared for compared in column} for column in comparison.cells]
    cells = dict.fromkeys(cell for column in columns for cell in column)
    body = []
    for cell in cells:
        entries = [offer.entries.get(cell) for offer in comparison.offers]
        marks = _best(entries)
        unit = next(entry.unit for entry in entries if entry)
        line = [str(cell), unit, marks.get(0, "") + _number(entries[0])]
        for place, column in enumerate(columns, 1):
            compared = column.get(cell)
            ratio = (
                "" if compared is None else _factor(compared.ratio if compared.ratio is not None else compared.reported)
            )
            mark = "" if compared is None else MARKS[compared.verdict]
            line.append(" ".join(filter(None, (marks.get(place, "") + _number(entries[place]), ratio, mark))))
        body.append(line)
    return body, ["cell", "unit", *(letters(place) for place in range(len(comparison.offers)))]


def _best(entries: Sequence[OfferedCell | None]) -> dict[int, str]:
    """Marks by place: the best median of what was measured in one unit, and those not shown to differ from it."""
    measured = {place: entry for place, entry in enumerate(entries) if entry and entry.status is Status.MEASURED}
    if len(measured) < 2 or len({(entry.unit, entry.best) for entry in measured.values()}) > 1:
        return {}
    sign = 1 if next(iter(measured.values())).best == "highest" else -1
    place = max(measured, key=lambda place: sign * typical(measured[place]))
    top = measured[place].values
    marks = {other: NOT_TOLD for other, entry in measured.items() if not ranks.differ(top, entry.values, LEVEL)}
    return marks | {place: BEST}


def _summary(comparison: OfferComparison) -> tuple[list[list[str]], list[str]]:
    sums = [summary(column) for column in comparison.cells]
    launches = dict.fromkeys(name for gains in sums for name in gains.by_launch)
    operations = dict.fromkeys(name for gains in sums for name in gains.by_operation)
    if len(operations) > MOST_GROUPS:
        operations = {}
    shown = [verdict for verdict in CellVerdict if any(gains.verdicts[verdict] for gains in sums)]
    body = [
        [
            f"{letters(place)}/A",
            *(str(gains.verdicts[verdict]) for verdict in shown),
            str(gains.compared),
            _factor(gains.mean),
            *(_factor(gains.by_launch.get(name)) for name in launches),
            *(_factor(gains.by_operation.get(name)) for name in operations),
        ]
        for place, gains in enumerate(sums, 1)
    ]
    return body, ["geometric mean gain", *shown, "of cells", "all", *launches, *operations]


def _legend(comparison: OfferComparison) -> Iterable[str]:
    if len(comparison.offers) > 2:
        shown = dict.fromkeys(cell.verdict for column in comparison.cells for cell in column)
        yield (
            "Ratio to A. "
            + ", ".join(f"{MARKS[verdict]} {verdict}" for verdict in CellVerdict if verdict in shown)
            + f". {BEST} the best median of the repetitions, {NOT_TOLD} not shown to differ from it."
        )
    yield (
        "Columns of offers have the reported numbers. Ratios are of all valid repetitions (the median of the ratios of "
        "all pairs, Hodges and Lehmann), of the reported numbers where one side has no repetitions."
    )
    if comparison.terms is None:
        yield (
            "Intervals are of each cell alone: they hold its true ratio in 95 of 100 cases, whatever the noise looks "
            "like (Mann and Whitney). A difference is called real where it stays so among all cells (Benjamini and "
            "Hochberg): "
            "of campaigns that do not differ, up to 5 in 100 show one; of the differences called real, up to 5 in 100 "
            "are chance. 'no difference shown' is not 'equal': the interval says what may be."
        )
        yield from _power(comparison)
    else:
        yield (
            f"Reached is a cell whose reported number is {100 * comparison.terms.least:.6g}% of the commitment "
            "or better"
            + (
                "."
                if comparison.terms.reported
                else ", and whose repetitions show as much: the worse end of the interval, beyond which the true ratio "
                "is in 5 of 100 cases, is there too."
            )
        )
    if any(cell.best == "lowest" and cell.ratio is not None for column in comparison.cells for cell in column):
        yield "Where the lowest value is the best, a ratio below 1 is better; gains in the summary are turned round."


def _power(comparison: OfferComparison) -> Iterable[str]:
    """What the numbers of repetitions cannot show, for the fewest that there are."""
    tested = [
        cell for column in comparison.cells for cell in column if cell.first and cell.second and cell.ratio is not None
    ]
    if not tested:
        return
    fewest = min(min(len(cell.first.values), len(cell.second.values)) for cell in tested if cell.first and cell.second)
    cells = max(sum(cell.ratio is not None for cell in column) for column in comparison.cells)
    some, alone = ranks.fewest(LEVEL / 2), ranks.fewest(LEVEL / 2, cells)
    if fewest < some:
        yield f"With fewer than {some} repetitions on both sides nothing can be tested."
    if fewest < alone:
        yield (
            f"With fewer than {alone} repetitions on both sides one cell alone that differs, among {cells}, cannot be "
            "told from chance, however large the difference."
        )


def _failures(comparison: OfferComparison) -> Iterable[str]:
    """In an acceptance the verdict; whatever makes the exit status 1, cell by cell."""
    failing = comparison.failing
    if comparison.terms is not None:
        for place in range(1, len(comparison.offers)):
            missed = sum(where == place for where, _ in failing)
            committed = sum(cell.first is not None and cell.first.status is not Status.DECLINED
                            for cell in comparison.cells[place - 1])  # fmt: skip
            verdict = "not accepted" if missed or not comparison.compared(place) else "accepted"
            yield f"{letters(place)}: {verdict}: {committed - missed} of {committed} committed cells are reached"
    elif not comparison.passed:
        for place, column in enumerate(comparison.cells, 1):
            worse = sum(cell.verdict is CellVerdict.WORSE for cell in column)
            lacking = sum(cell.fails for cell in column) - worse
            yield f"{letters(place)}: {worse} of {len(column)} cells are worse, {lacking} lack a number on one side"
        failing = tuple((place, cell) for place, cell in failing if cell.verdict is not CellVerdict.WORSE)
    yield from (f"{letters(place)} {cell.cell}: {_verdict(cell)}" for place, cell in failing[:MOST_SAID])
    if len(failing) > MOST_SAID:
        yield f"and {len(failing) - MOST_SAID} more: '--format csv' has them all"

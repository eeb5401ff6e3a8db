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


def printed(found: OfferComparison, style: str) -> str:
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

    body, headers = _pair(found) if len(found.offers) == 2 else _many(found)
    parts = [
        *paragraphs(_offers(found)),
        "",
        grid(body, headers),
        "",
        grid(*_summary(found)),
        "",
        *paragraphs(_legend(found)),
        "",
        *paragraphs(_failures(found)),
    ]
    return escaping.released(escaping.below_each_other(parts, style), style).rstrip("\n") + "\n"


def _offers(found: OfferComparison) -> Iterable[str]:
    for place, (offer, remarks) in enumerate(zip(found.offers, found.remarks, strict=True)):
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


def _interval(one: CellComparison) -> str:
    if one.low is None or one.high is None:
        return ""
    return f"{_factor(one.low)} to {_factor(one.high)}"


def _verdict(one: CellComparison) -> str:
    return f"{one.verdict}: {one.reason}" if one.reason else one.verdict


def _pair(found: OfferComparison) -> tuple[list[list[str]], list[str]]:
    """Two offers: everything about each cell."""
    body = []
    for one in found.cells[0]:
        entries = (one.first, one.second)
        entry = one.first or one.second
        body.append(
            [
                str(one.cell),
                entry.unit if entry else "",
                *(text for side in entries for text in (_number(side), str(len(side.values)) if side else "")),
                _factor(one.ratio if one.ratio is not None else one.reported),
                _interval(one),
                _verdict(one),
            ]
        )
    sure = "95% interval" if found.terms is None else "90% interval"
    return body, ["cell", "unit", "A", "n", "B", "n", "B/A", sure, VERDICT]


def _many(found: OfferComparison) -> tuple[list[list[str]], list[str]]:
    """Many offers: a column each, with the ratio to the first and the mark of its verdict."""
    columns = [{one.cell: one for one in column} for column in found.cells]
    cells = dict.fromkeys(cell for column in columns for cell in column)
    body = []
    for cell in cells:
        entries = [offer.entries.get(cell) for offer in found.offers]
        marks = _best(entries)
        unit = next(entry.unit for entry in entries if entry)
        line = [str(cell), unit, marks.get(0, "") + _number(entries[0])]
        for place, column in enumerate(columns, 1):
            one = column.get(cell)
            ratio = "" if one is None else _factor(one.ratio if one.ratio is not None else one.reported)
            mark = "" if one is None else MARKS[one.verdict]
            line.append(" ".join(filter(None, (marks.get(place, "") + _number(entries[place]), ratio, mark))))
        body.append(line)
    return body, ["cell", "unit", *(letters(place) for place in range(len(found.offers)))]


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


def _summary(found: OfferComparison) -> tuple[list[list[str]], list[str]]:
    sums = [summary(column) for column in found.cells]
    launches = dict.fromkeys(name for one in sums for name in one.by_launch)
    operations = dict.fromkeys(name for one in sums for name in one.by_operation)
    if len(operations) > MOST_GROUPS:
        operations = {}
    shown = [verdict for verdict in CellVerdict if any(one.verdicts[verdict] for one in sums)]
    body = [
        [
            f"{letters(place)}/A",
            *(str(one.verdicts[verdict]) for verdict in shown),
            str(one.compared),
            _factor(one.mean),
            *(_factor(one.by_launch.get(name)) for name in launches),
            *(_factor(one.by_operation.get(name)) for name in operations),
        ]
        for place, one in enumerate(sums, 1)
    ]
    return body, ["geometric mean gain", *shown, "of cells", "all", *launches, *operations]


def _legend(found: OfferComparison) -> Iterable[str]:
    if len(found.offers) > 2:
        shown = dict.fromkeys(one.verdict for column in found.cells for one in column)
        yield (
            "Ratio to A. "
            + ", ".join(f"{MARKS[verdict]} {verdict}" for verdict in CellVerdict if verdict in shown)
            + f". {BEST} the best median of the repetitions, {NOT_TOLD} not shown to differ from it."
        )
    yield (
        "Columns of offers have the reported numbers. Ratios are of all valid repetitions (the median of the ratios of "
        "all pairs, Hodges and Lehmann), of the reported numbers where one side has no repetitions."
    )
    if found.terms is None:
        yield (
            "Intervals are of each cell alone: they hold its true ratio in 95 of 100 cases, whatever the noise looks "
            "like (Mann and Whitney). A difference is called real where it stays so among all cells (Benjamini and "
            "Hochberg): "
            "of campaigns that do not differ, up to 5 in 100 show one; of the differences called real, up to 5 in 100 "
            "are chance. 'no difference shown' is not 'equal': the interval says what may be."
        )
        yield from _power(found)
    else:
        yield (
            f"Reached is a cell whose reported number is {100 * found.terms.least:.6g}% of the commitment or better"
            + (
                "."
                if found.terms.reported
                else ", and whose repetitions show as much: the worse end of the interval, beyond which the true ratio "
                "is in 5 of 100 cases, is there too."
            )
        )
    if any(one.best == "lowest" and one.ratio is not None for column in found.cells for one in column):
        yield "Where the lowest value is the best, a ratio below 1 is better; gains in the summary are turned round."


def _power(found: OfferComparison) -> Iterable[str]:
    """What the numbers of repetitions cannot show, for the fewest that there are."""
    tested = [one for column in found.cells for one in column if one.first and one.second and one.ratio is not None]
    if not tested:
        return
    fewest = min(min(len(one.first.values), len(one.second.values)) for one in tested if one.first and one.second)
    cells = max(sum(one.ratio is not None for one in column) for column in found.cells)
    some, alone = ranks.fewest(LEVEL / 2), ranks.fewest(LEVEL / 2, cells)
    if fewest < some:
        yield f"With fewer than {some} repetitions on both sides nothing can be tested."
    if fewest < alone:
        yield (
            f"With fewer than {alone} repetitions on both sides one cell alone that differs, among {cells}, cannot be "
            "told from chance, however large the difference."
        )


def _failures(found: OfferComparison) -> Iterable[str]:
    """In an acceptance the verdict; whatever makes the exit status 1, cell by cell."""
    failing = found.failing
    if found.terms is not None:
        for place in range(1, len(found.offers)):
            missed = sum(where == place for where, _ in failing)
            committed = sum(one.first is not None and one.first.status is not Status.DECLINED
                            for one in found.cells[place - 1])  # fmt: skip
            verdict = "not accepted" if missed or not found.compared(place) else "accepted"
            yield f"{letters(place)}: {verdict}: {committed - missed} of {committed} committed cells are reached"
    elif not found.passed:
        for place, column in enumerate(found.cells, 1):
            worse = sum(one.verdict is CellVerdict.WORSE for one in column)
            lacking = sum(one.fails for one in column) - worse
            yield f"{letters(place)}: {worse} of {len(column)} cells are worse, {lacking} lack a number on one side"
        failing = tuple((place, one) for place, one in failing if one.verdict is not CellVerdict.WORSE)
    yield from (f"{letters(place)} {one.cell}: {_verdict(one)}" for place, one in failing[:MOST_SAID])
    if len(failing) > MOST_SAID:
        yield f"and {len(failing) - MOST_SAID} more: '--format csv' has them all"

"""What limits the comparison of two offers: what each lacks, and in what their campaigns differ. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from campaign.core.units import POINT_AS_SEPARATOR, is_thousandfold, plural
from campaign.report.compare.comparison import CellComparison
from campaign.report.compare.offers import Offer, OfferedCell

INFLATED = 1.01  # value over actual rate from which a formula inflates a number, not just by rounding


def offer_limits(offer: Offer) -> Iterable[str]:
    """Limitations of any comparison with an offer."""
    if offer.remark:
        yield offer.remark
    if offer.rules is None:
        yield "run rules not given in the source"
    if offer.rehearsal:
        yield f"{offer.profile} size: not a compliant result"
    entries = offer.entries.values()
    if inflated := sum(entry.inflation > INFLATED for entry in entries):
        yield f"{plural(inflated, 'cell')}: rates inflated by the benchmark's formula (PHY-03)"
    if together := sum(len(entry.values) > 1 and entry.jobs == 1 for entry in entries):
        yield (
            f"{plural(together, 'cell')}: all repetitions ran in one job, so they count as one value in intervals and "
            "tests"
        )


_CELL_DIFFERENCES: tuple[tuple[Callable[[OfferedCell, OfferedCell], bool], str], ...] = (
    (lambda a, b: is_thousandfold(a.value, b.value), f"exactly 1,000 times the first's: {POINT_AS_SEPARATOR}"),
    (
        lambda a, b: not 1 / INFLATED < b.inflation / a.inflation < INFLATED,
        "the formula inflates the two campaigns differently",
    ),
    (lambda a, b: (a.processes, a.nodes) != (b.processes, b.nodes), "process or node counts differ from the first's"),
    (
        lambda a, b: bool(a.values) and a.values == b.values,
        "values equal the first's exactly: probably the same measurements",
    ),
)


def size_differences(first: Offer, other: Offer, column: Sequence[CellComparison]) -> Iterable[str]:
    """Differences in size, rules or operations, with which geometric means cannot be compared."""
    if first.profile and other.profile and (first.rules, first.profile) != (other.rules, other.profile):
        yield f"rules {other.rules}, profile {other.profile}; the first has {first.rules}, {first.profile}"
    if None not in (first.version, other.version) and first.version != other.version:
        yield f"rules {other.rules} version {other.version}; the first has version {first.version}"
    elif first.digest and other.digest and first.digest != other.digest:
        yield f"rules {other.rules}: same id and version as the first's, different content"
    ours, theirs = first.variables or {}, other.variables or {}
    for name in dict.fromkeys((*ours, *theirs)):
        if first.rules and other.rules and ours.get(name) != theirs.get(name):
            value, first_value = (variables.get(name, "not set") for variables in (theirs, ours))
            yield f"{name}: {value}; the first has {first_value}"
    pairs = [(cell.first, cell.second) for cell in column if cell.first and cell.second]
    totals = [(ours.files_total, theirs.files_total) for ours, theirs in pairs]
    if number := sum(
        first_total != other_total and None not in (first_total, other_total) for first_total, other_total in totals
    ):
        yield f"{plural(number, 'cell')}: total item count differs from the first's"
    common = {ours.cell.target for ours, _ in pairs}
    lacking, added = (
        dict.fromkeys(cell.operation for cell in offer.entries if cell.target in common) for offer in (first, other)
    )
    for problem, operations, other_operations in (("missing", lacking, added), ("not in the first", added, lacking)):
        if unmatched := [name for name in operations if name not in other_operations]:
            yield f"operations {problem}: {', '.join(unmatched)}"


def other_differences(first: Offer, other: Offer, column: Sequence[CellComparison]) -> Iterable[str]:
    """Other differences between the campaigns of two offers."""
    if first.entries == other.entries:
        yield "the same results as the first's: compared with itself, which shows nothing"
        return
    pairs = [(cell.first, cell.second) for cell in column if cell.first and cell.second]
    ours_named, theirs_named = (dict.fromkeys(cell.target for cell in offer.entries) for offer in (first, other))
    if not pairs and ours_named.keys().isdisjoint(theirs_named):
        yield (
            f"no cell in common: its targets are {', '.join(theirs_named)}, the first's {', '.join(ours_named)}; "
            f"'--map {next(iter(ours_named), '')}=OTHER' matches two targets"
        )
    for has_difference, description in _CELL_DIFFERENCES:
        if number := sum(has_difference(*pair) for pair in pairs):
            yield f"{plural(number, 'cell')}: {description}"

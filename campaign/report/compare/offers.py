"""Campaigns to compare: their cells with all values, read from rows in the form of `campaign table --format json`.

The rows may come from an untrusted source: every value that is used is checked, and errors name the row and the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from campaign.core.errors import InputError
from campaign.core.runs import Cell, Status
from campaign.core.units import may_be_negative
from campaign.core.untrusted import Form, describe_value, list_form, matching, null_or, object_form, problems
from campaign.report.foreign.table_file import NEEDED, NOT_A_NUMBER

MAX_ROWS = 100_000
MAX_VALUES = 1000  # per cell: the most repetitions that a campaign file may request
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")


@dataclass(frozen=True, slots=True)
class OfferedCell:
    """One cell of one offer. `values` are those of its valid repetitions, empty if only the reported number
    is known.
    """

    cell: Cell
    status: Status
    value: float | None
    unit: str
    best: str = "highest"  # or lowest
    values: tuple[float, ...] = ()
    jobs: int | None = None  # number of jobs that measured the values
    started: tuple[float, ...] = ()  # when each was measured; empty if that is not known
    processes: int | None = None
    nodes: int | None = None
    files_total: int | None = None
    performed: float | None = None  # the actual rate, if the benchmark's formula counts differently

    @property
    def inflation(self) -> float:
        """The value divided by the actual rate: 1 if the formula counts what was done."""
        return self.value / self.performed if self.value and self.performed else 1.0

    @property
    def repeated(self) -> tuple[float, ...]:
        """The values of the repetitions; the reported one if these are not known."""
        return self.values or ((self.value,) if self.value is not None else ())

    @property
    def number(self) -> float | None:
        """The value, if it can be used: not that of an invalid cell."""
        return self.value if self.status.counts else None


@dataclass(frozen=True, slots=True)
class Offer:
    """A campaign with its cells. `rules`, `version`, `profile`, `variables` are None if the source does not contain
    them.
    """

    source: str
    campaign: str
    rules: str | None
    version: int | None
    profile: str | None
    variables: Mapping[str, str] | None
    entries: Mapping[Cell, OfferedCell]
    digest: str = ""  # SHA-256 of the rule pack's file, if the source has it
    remark: str = ""  # about the source
    proposed: Mapping[str, Any] = field(default_factory=dict)  # what its campaign file says of the offered system

    @property
    def rehearsal(self) -> bool:
        return self.profile is not None and self.profile != "full"


def rename_targets(offer: Offer, targets: Mapping[str, str]) -> Offer:
    """The offer with other names of its targets. Raises InputError if two would have the same name."""
    names = {cell.target for cell in offer.entries}
    for old, new in targets.items():
        if old in names and new in names and new not in targets:
            raise InputError(f"--map {new}={old}: {offer.source} already has a target {new}")

    def name(cell: Cell) -> Cell:
        return replace(cell, target=targets.get(cell.target, cell.target))

    entries = {name(cell): replace(entry, cell=name(cell)) for cell, entry in offer.entries.items()}
    return replace(offer, entries=entries)


# --- from rows


def parse_offer(source: str, rows: Any, places: Sequence[str] = ()) -> Offer:
    """The offer of a table's rows, as parsed JSON. Raises InputError with the row and the key. `places`: where each row
    is, if the table is not JSON.
    """
    if not isinstance(rows, list) or not rows:
        raise InputError(
            f"{source}: found {describe_value(rows)}; give a table as 'campaign table --format json' writes it"
        )
    if len(rows) > MAX_ROWS:
        raise InputError(f"{source}: found {len(rows)} rows; allowed: up to {MAX_ROWS}")
    entries: dict[Cell, OfferedCell] = {}
    bases: dict[str, Mapping[str, Any]] = {}
    places = places or [f"{source}: row {number}" for number in range(1, len(rows) + 1)]
    for place, row in zip(places, rows, strict=True):
        if not isinstance(row, dict):
            raise InputError(f"{place}: found {describe_value(row)}; allowed: an object")
        entry = _entry(place, row)
        if entries.setdefault(entry.cell, entry) is not entry:
            raise InputError(f"{place}: {entry.cell} appears twice")
        bases.setdefault(repr((row.get("campaign"), row.get("rules"))), row)
    if len(bases) > 1:
        raise InputError(f"{source}: rows belong to several campaigns or rule packs; give one table per campaign")
    return _offer(source, places[0], next(iter(bases.values())), entries)


def _is_line(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) <= longest and value.isprintable()


def _is_count(value: Any, lowest: int, limit: int) -> bool:
    return type(value) is int and lowest <= value < limit


def _is_signed(value: Any) -> bool:
    return type(value) in (int, float) and (value == 0 or 1e-300 <= abs(value) < 1e300)


_NAME = matching(NAME, "letters, digits and .-_, a letter or digit first")
_AMOUNT = Form(lambda value: _is_signed(value) and value >= 0, NOT_A_NUMBER.replace("number", "number from 0", 1))
_SIGNED = Form(_is_signed, NOT_A_NUMBER)
_COUNT = null_or(Form(lambda value: _is_count(value, 0, 2**63), "a whole number from 0"))
_TIMES = Form(
    lambda value: isinstance(value, list) and all(map(_is_signed, value)),
    "a time in seconds since 1970 for each of the values",
)
_RULES = {
    "id": _NAME,
    "version": Form(lambda value: _is_count(value, 1, 10**6 + 1), "a whole number from 1 to 1000000"),
    "profile": _NAME,
    "variables": Form(
        lambda value: (
            isinstance(value, dict)
            and all(NAME.fullmatch(name) is not None and _is_line(value[name], 200) for name in value)
        ),
        "an object of texts on one line",
    ),
    "sha256": matching("[0-9a-f]{64}|", "64 hexadecimal digits", optional=True),
}
_PROPOSED = Form(
    lambda value: (
        isinstance(value, dict)
        and all(
            _is_line(name, 40) and (_is_line(fact, 200) or _is_count(fact, 1, 2**63)) for name, fact in value.items()
        )
    ),
    "an object of texts on one line and whole numbers",
    optional=True,
)
_BASE = object_form({"campaign": _NAME, "rules": object_form(_RULES), "proposed": _PROPOSED})


def _row(amount: Form) -> Form:
    """The form of a row with such numbers."""
    statistics = {"n": _COUNT, "values": list_form(amount), "jobs": _COUNT, "started": null_or(_TIMES)}
    return object_form(
        {
            **dict.fromkeys(NEEDED[:4], _NAME),
            "status": Form(lambda value: value in tuple(Status), ", ".join(Status)),
            "unit": Form(
                lambda value: value != "" and _is_line(value, 40), "a text of up to 40 characters on one line"
            ),
            "best": matching("highest|lowest", "highest, lowest", optional=True),
            "value": null_or(amount),
            "true_value": null_or(amount),
            **dict.fromkeys(("processes", "nodes", "files_total"), _COUNT),
            "statistics": null_or(object_form(statistics)),
        }
    )


_ROW, _ROW_SIGNED = _row(_AMOUNT), _row(_SIGNED)


def _check(place: str, value: Any, form: Form) -> None:
    for problem in problems("", value, form):
        raise InputError(f"{place}: {problem}")


def _entry(place: str, row: Mapping[str, Any]) -> OfferedCell:
    signed = may_be_negative(str(row.get("unit")))
    _check(place, row, _ROW_SIGNED if signed else _ROW)
    status, value, performed = Status(row["status"]), row.get("value"), row.get("true_value")
    if status.counts and value is None:
        raise InputError(f"{place}: value: found null; allowed: {(_SIGNED if signed else _AMOUNT).allowed}")
    statistics = row.get("statistics") if status is Status.MEASURED else None
    values, jobs, started = _statistics(place, value, statistics) if statistics else ((), None, ())
    return OfferedCell(
        Cell(*(row[key] for key in NEEDED[:4])),
        status,
        None if value is None else float(value),
        row["unit"],
        row.get("best", "highest"),
        values,
        jobs,
        started,
        row.get("processes"),
        row.get("nodes"),
        row.get("files_total"),
        None if performed is None else float(performed),
    )


Repetitions = tuple[tuple[float, ...], int | None, tuple[float, ...]]


def _statistics(place: str, value: float | None, statistics: Mapping[str, Any]) -> Repetitions:
    """The values of the repetitions, the number of jobs that measured them, and when each was."""
    values, started = tuple(map(float, statistics["values"])), tuple(statistics.get("started") or ())
    problem = ""
    if not 0 < len(values) <= MAX_VALUES or statistics.get("n") != len(values):
        allowed = f"1 to {MAX_VALUES} numbers, as many as n says"
        problem = f"statistics.values: found {describe_value(statistics['values'])}; allowed: {allowed}"
    elif started and len(started) != len(values):
        problem = f"statistics.started: found {describe_value(statistics['started'])}; allowed: {_TIMES.allowed}"
    elif value not in values:
        allowed = "one of statistics.values: a measured number is that of one repetition"
        problem = f"value: found {describe_value(value)}; allowed: {allowed}"
    if problem:
        raise InputError(f"{place}: {problem}")
    return values, statistics.get("jobs"), started


def _offer(source: str, place: str, first: Mapping[str, Any], entries: Mapping[Cell, OfferedCell]) -> Offer:
    if first.get("campaign") is None and first.get("rules") is None:
        return Offer(source, "", None, None, None, None, entries)
    _check(place, first, _BASE)
    rules = first["rules"]
    pack, version, profile, variables = (rules[key] for key in ("id", "version", "profile", "variables"))
    proposed, digest = first.get("proposed") or {}, rules.get("sha256", "")
    return Offer(source, first["campaign"], pack, version, profile, variables, entries, digest, proposed=proposed)

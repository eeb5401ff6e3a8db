"""Campaigns to compare: their cells with all values, read from rows in the form of `campaign table --format json`.

The rows may come from an untrusted source: every value that is used is checked, and errors name the row and the key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from campaign.core.errors import InputError
from campaign.core.model import Cell, Status
from campaign.core.strict_yaml import shown
from campaign.core.units import may_be_negative
from campaign.results.tabular.table import NOT_A_NUMBER

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

    @property
    def rehearsal(self) -> bool:
        return self.profile is not None and self.profile != "full"


def renamed(offer: Offer, targets: Mapping[str, str]) -> Offer:
    """The offer with other names of its targets. Raises InputError if two would have the same name."""
    there = {cell.target for cell in offer.entries}
    for old, new in targets.items():
        if old in there and new in there and new not in targets:
            raise InputError(f"--map {new}={old}: {offer.source} already has a target {new}")

    def name(cell: Cell) -> Cell:
        return replace(cell, target=targets.get(cell.target, cell.target))

    entries = {name(cell): replace(entry, cell=name(cell)) for cell, entry in offer.entries.items()}
    return replace(offer, entries=entries)


# --- from rows


def read(source: str, rows: Any, places: Sequence[str] = ()) -> Offer:
    """The offer of a table's rows, as parsed JSON. Raises InputError with the row and the key. `places`: where each row
    is, if the table is not JSON.
    """
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{source}: found {_kind(rows)}; give a table as 'campaign table --format json' writes it")
    if len(rows) > MAX_ROWS:
        raise InputError(f"{source}: found {len(rows)} rows; allowed: up to {MAX_ROWS}")
    entries: dict[Cell, OfferedCell] = {}
    bases: dict[str, _OfferedRow] = {}
    places = places or [f"{source}: row {number}" for number in range(1, len(rows) + 1)]
    for place, row in zip(places, rows, strict=True):
        if not isinstance(row, dict):
            raise InputError(f"{place}: found {_kind(row)}; allowed: an object")
        entry = _entry(_OfferedRow(place, row))
        if entry.cell in entries:
            raise InputError(f"{place}: {entry.cell} appears twice")
        entries[entry.cell] = entry
        bases.setdefault(repr((row.get("campaign"), row.get("rules"))), _OfferedRow(places[0], row))
    if len(bases) > 1:
        raise InputError(f"{source}: rows belong to several campaigns or rule packs; give one table per campaign")
    return _offer(source, next(iter(bases.values())), entries)


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a value may be, and how a message says so."""

    fits: Callable[[Any], bool]
    allowed: str


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def _is_line(value: Any, longest: int) -> bool:
    return isinstance(value, str) and len(value) <= longest and value.isprintable()


def _is_whole(value: Any, least: int, limit: int) -> bool:
    return type(value) is int and least <= value < limit


def _is_signed(value: Any) -> bool:
    return type(value) in (int, float) and (value == 0 or 1e-300 <= abs(value) < 1e300)


_NAME = _Kind(_is_name, "letters, digits and .-_, a letter or digit first")
_STATUS = _Kind(lambda value: value in tuple(Status), ", ".join(Status))
_UNIT = _Kind(lambda value: value != "" and _is_line(value, 40), "a text of up to 40 characters on one line")
_BEST = _Kind(lambda value: value in ("highest", "lowest"), "highest, lowest")
_AMOUNT = _Kind(lambda value: _is_signed(value) and value >= 0, "a number from 0")
_SIGNED = _Kind(_is_signed, "a number")
_COUNT = _Kind(lambda value: value is None or _is_whole(value, 0, 2**63), "a whole number from 0, or null")
_RULES = _Kind(lambda value: isinstance(value, dict), "an object with id, version, profile, variables")
_VERSION = _Kind(lambda value: _is_whole(value, 1, 10**6 + 1), "a whole number from 1 to 1000000")
_VARIABLES = _Kind(
    lambda value: isinstance(value, dict) and all(_is_name(name) and _is_line(value[name], 200) for name in value),
    "an object of texts on one line",
)
_DIGEST = _Kind(
    lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{64}|", value) is not None, "64 hexadecimal digits"
)
_STATISTICS = _Kind(
    lambda value: isinstance(value, dict) and isinstance(value.get("values"), list), "an object with the list `values`"
)


@dataclass(frozen=True, slots=True)
class _OfferedRow:
    """A row, or an object in it, as in the file, with its place for messages."""

    place: str
    given: Mapping[str, Any]
    within: str = ""  # `statistics.`

    def take(self, key: str, kind: _Kind) -> Any:
        value = self.given.get(key)
        if not kind.fits(value):
            raise self.wrong(key, kind.allowed)
        return value

    def amount(self, key: str, unit: str) -> float:
        kind = _SIGNED if may_be_negative(unit) else _AMOUNT
        if isinstance(self.given.get(key), str):
            raise self.wrong(key, f"{kind.allowed} ({NOT_A_NUMBER})")
        return float(self.take(key, kind))

    def wrong(self, key: str, allowed: str) -> InputError:
        return InputError(f"{self.place}: {self.within}{key}: found {_kind(self.given.get(key))}; allowed: {allowed}")


def _kind(value: Any) -> str:
    """What was found, shortened."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return {None: "nothing", True: "true", False: "false"}.get(value) or f"{value!r:.60}"


def _entry(row: _OfferedRow) -> OfferedCell:
    cell = Cell(*(row.take(key, _NAME) for key in ("target", "launch", "files", "operation")))
    status, unit = Status(row.take("status", _STATUS)), row.take("unit", _UNIT)
    best = row.take("best", _BEST) if "best" in row.given else "highest"
    has_number = status.counts or row.given.get("value") is not None
    value = row.amount("value", unit) if has_number else None
    values: tuple[float, ...] = ()
    jobs, started = None, values
    if status is Status.MEASURED and row.given.get("statistics") is not None:
        values, jobs, started = _statistics(
            _OfferedRow(row.place, row.take("statistics", _STATISTICS), "statistics."), unit
        )
        if value not in values:
            raise row.wrong("value", "one of statistics.values: a measured number is that of one repetition")
    processes, nodes, files_total = (row.take(key, _COUNT) for key in ("processes", "nodes", "files_total"))
    performed = row.amount("true_value", unit) if row.given.get("true_value") is not None else None
    return OfferedCell(cell, status, value, unit, best, values, jobs, started, processes, nodes, files_total, performed)


Repetitions = tuple[tuple[float, ...], int | None, tuple[float, ...]]


def _statistics(given: _OfferedRow, unit: str) -> Repetitions:
    """The values of the repetitions, the number of jobs that measured them, and when each was."""
    values, started = given.given["values"], given.given.get("started") or []
    if not 0 < len(values) <= MAX_VALUES or given.given.get("n") != len(values):
        raise given.wrong("values", f"1 to {MAX_VALUES} numbers, as many as n says")
    if started and not (isinstance(started, list) and len(started) == len(values) and all(map(_is_signed, started))):
        raise given.wrong("started", "a time in seconds since 1970 for each of the values, or none")
    each = _OfferedRow(given.place, {f"values[{place}]": value for place, value in enumerate(values)}, given.within)
    return tuple(each.amount(key, unit) for key in each.given), given.take("jobs", _COUNT), tuple(started)


def _offer(source: str, first: _OfferedRow, entries: Mapping[Cell, OfferedCell]) -> Offer:
    if first.given.get("campaign") is None and first.given.get("rules") is None:
        return Offer(source, "", None, None, None, None, entries)
    campaign = first.take("campaign", _NAME)
    rules = _OfferedRow(first.place, first.take("rules", _RULES), "rules.")
    pack, profile = rules.take("id", _NAME), rules.take("profile", _NAME)
    version, variables = rules.take("version", _VERSION), rules.take("variables", _VARIABLES)
    digest = rules.take("sha256", _DIGEST) if "sha256" in rules.given else ""
    return Offer(source, campaign, pack, version, profile, variables, entries, digest)

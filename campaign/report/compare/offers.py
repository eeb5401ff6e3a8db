"""Campaigns to compare: their cells with all values, read from rows in the form of `campaign table --format json`.

The rows may come from an untrusted source: every value that is used is checked, and errors name the row and the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from campaign.core.errors import InputError
from campaign.core.model import Cell, Status
from campaign.core.strict_yaml import shown
from campaign.results.tabular.table import NOT_A_NUMBER

MAX_ROWS = 100_000
MAX_VALUES = 1000  # per cell: the most repetitions that a campaign file may request
NAMES = "letters, digits and .-_, a letter or digit first"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_STATUSES = tuple(Status)


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
    processes: int | None = None
    nodes: int | None = None
    files_total: int | None = None
    performed: float | None = None  # the actual rate, if the benchmark's formula counts differently

    @property
    def inflation(self) -> float:
        """The value divided by the actual rate: 1 if the formula counts what was done."""
        return self.value / self.performed if self.value and self.performed else 1.0

    @property
    def number(self) -> float | None:
        """The value, if it can be used: not that of an invalid cell."""
        return self.value if self.status in (Status.MEASURED, Status.PROJECTED) else None


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
    bases: dict[str, tuple[Any, Any]] = {}
    places = places or [f"{source}: row {number}" for number in range(1, len(rows) + 1)]
    for place, row in zip(places, rows, strict=True):
        if not isinstance(row, dict):
            raise InputError(f"{place}: found {_kind(row)}; allowed: an object")
        entry = _OfferRow(place, row).entry()
        if entry.cell in entries:
            raise InputError(f"{place}: {entry.cell} appears twice")
        entries[entry.cell] = entry
        basis = (row.get("campaign"), row.get("rules"))
        bases.setdefault(repr(basis), basis)
    if len(bases) > 1:
        raise InputError(f"{source}: rows belong to several campaigns or rule packs; give one table per campaign")
    return _offer(source, places[0], *next(iter(bases.values())), entries)


def _offer(source: str, first: str, campaign: Any, rules: Any, entries: Mapping[Cell, OfferedCell]) -> Offer:
    if campaign is None and rules is None:
        return Offer(source, "", None, None, None, None, entries)

    def wrong(key: str, value: Any, allowed: str) -> NoReturn:
        raise InputError(f"{first}: {key}: found {_kind(value)}; allowed: {allowed}")

    if not isinstance(campaign, str) or not _NAME.fullmatch(campaign):
        wrong("campaign", campaign, NAMES)
    if not isinstance(rules, dict):
        wrong("rules", rules, "an object with id, version, profile, variables")
    for key in ("id", "profile"):
        if not isinstance(rules.get(key), str) or not _NAME.fullmatch(rules[key]):
            wrong(f"rules.{key}", rules.get(key), NAMES)
    version, variables = rules.get("version"), rules.get("variables")
    if type(version) is not int or not 0 < version <= 10**6:
        wrong("rules.version", version, "a whole number from 1 to 1000000")
    if not isinstance(variables, dict) or not all(
        _NAME.fullmatch(name) and isinstance(value, str) and len(value) <= 200 and value.isprintable()
        for name, value in variables.items()
    ):
        wrong("rules.variables", variables, "an object of texts on one line")
    digest = rules.get("sha256", "")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}|", digest):
        wrong("rules.sha256", digest, "64 hexadecimal digits")
    return Offer(source, campaign, rules["id"], version, rules["profile"], variables, entries, digest)


def _kind(value: Any) -> str:
    """What was found, shortened."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    return {None: "nothing", True: "true", False: "false"}.get(value) or f"{value!r:.60}"


@dataclass(frozen=True, slots=True)
class _OfferRow:
    """One row as in the file, with its place."""

    place: str
    row: dict[str, Any]

    def entry(self) -> OfferedCell:
        get = self.row.get
        cell = Cell(self._name("target"), self._name("launch"), self._name("files"), self._name("operation"))
        status, unit, best = get("status"), get("unit"), get("best", "highest")
        if status not in _STATUSES:
            self._wrong("status", status, ", ".join(_STATUSES))
        if not isinstance(unit, str) or not 0 < len(unit) <= 40 or not unit.isprintable():
            self._wrong("unit", unit, "a text of up to 40 characters on one line")
        if best not in ("highest", "lowest"):
            self._wrong("best", best, "highest, lowest")
        value = get("value")
        has_number = status in (Status.MEASURED, Status.PROJECTED)
        if value is not None or has_number:
            value = self._amount("value", value)
        values, jobs = self._statistics(status, value)
        performed = get("true_value")
        return OfferedCell(
            cell, Status(status), value, unit, best, values, jobs,
            self._count("processes"), self._count("nodes"), self._count("files_total"),
            None if performed is None else self._amount("true_value", performed),
        )  # fmt: skip

    def _statistics(self, status: str, value: float | None) -> tuple[tuple[float, ...], int | None]:
        statistics = self.row.get("statistics")
        if statistics is None or status != Status.MEASURED:
            return (), None
        if not isinstance(statistics, dict) or not isinstance(statistics.get("values"), list):
            self._wrong(
                "statistics",
                statistics,
                "an object with the list `values`",
            )
        given = statistics["values"]
        if not 0 < len(given) <= MAX_VALUES or statistics.get("n") != len(given):
            self._wrong("statistics.values", given, f"1 to {MAX_VALUES} numbers, as many as n says")
        values = tuple(self._amount(f"statistics.values[{place}]", item) for place, item in enumerate(given))
        if value not in values:
            self._wrong("value", value, "one of statistics.values: a measured number is that of one repetition")
        return values, self._count("jobs", statistics, "statistics.jobs")

    def _name(self, key: str) -> str:
        value = self.row.get(key)
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            self._wrong(key, value, NAMES)
        return value

    def _amount(self, key: str, value: Any) -> float:
        if type(value) not in (int, float) or not 0 <= value < 1e300 or (value and value < 1e-300):
            self._wrong(key, value, "a number from 0" + f" ({NOT_A_NUMBER})" * isinstance(value, str))
        return float(value)

    def _count(self, key: str, within: Mapping[str, Any] | None = None, name: str = "") -> int | None:
        value = (self.row if within is None else within).get(key)
        if value is not None and (type(value) is not int or not 0 <= value < 2**63):
            self._wrong(name or key, value, "a whole number from 0, or null")
        return value

    def _wrong(self, key: str, value: Any, allowed: str) -> NoReturn:
        raise InputError(f"{self.place}: {key}: found {_kind(value)}; allowed: {allowed}")

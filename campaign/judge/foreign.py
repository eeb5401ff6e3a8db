"""A table from another party, in the form of `campaign table` (CSV, XLSX or JSON) -> rows judged on their own."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from campaign.config.format import Campaign
from campaign.config.rules import packs, series
from campaign.config.rules.pack import RulePack
from campaign.config.rules.settle import settle
from campaign.core import strict_json
from campaign.core.errors import InputError
from campaign.core.escaping import plain
from campaign.core.model import Attempt, Cell, Command, Geometry, Record, Run, Source, State, Status, Target
from campaign.judge.submission import Submission
from campaign.results.cells import Row
from campaign.results.tabular import table
from campaign.results.tabular.table import NOT_A_NUMBER, table_without_rows
from campaign.statistics import intervals

SUFFIXES = (*table.SUFFIXES, ".json")


def is_table(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def read(path: Path, pack: str) -> Submission:
    """A table as a submission: at full size, with the targets that it names, without any records. Raises InputError
    with the place that cannot be read.
    """
    entries, loaded = _entries(path), packs.load(pack)
    loaded = series.unfold(loaded, series.largest(loaded, [str(entry.fields.get("launch")) for entry in entries]))
    try:
        settled = settle(loaded, "full", {}, {})
    except ValueError as error:
        raise InputError(f"{path}: rule pack {pack}: {error}") from error
    rows = tuple(entry.row(settled) for entry in entries)
    names = dict.fromkeys(row.cell.target for row in rows)
    targets = tuple(Target(name, "") for name in names)
    campaign = Campaign(
        path=path, name=path.stem, rules=pack, profile="full", results=path.parent, targets=targets, launch={}
    )
    return Submission(campaign, settled, (), (), (), rows)


def _entries(path: Path) -> list[_Entry]:
    if path.suffix.lower() == ".json" and path.is_file():
        entries = _of_json(path, strict_json.content(path, table.LARGEST))
        if not entries:
            raise InputError(table_without_rows(path))
        return entries
    return [_Entry(row.where, row.fields) for row in table.read(path)]


def _of_json(path: Path, data: bytes) -> list[_Entry]:
    rows = strict_json.parse(str(path), data, table.ALLOWED)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: not a table; expected a list of objects as 'campaign table --format json' writes it")
    return [_Entry(f"{path}: entry {number}", _flat(row)) for number, row in enumerate(rows, 1)]


def _flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the JSON form, with the keys of the CSV form."""
    flat = dict(entry)
    for key in ("source", "statistics"):
        if isinstance(inner := entry.get(key), dict):
            flat |= inner
    if isinstance(inner := entry.get("iterations"), dict):
        flat |= {"iterations": inner.get("count"), "statistic": inner.get("statistic")}
    if isinstance(parts := entry.get("parts"), list):
        flat["parts"] = " ".join(f"{each.get('file')}:{each.get('line')}" for each in parts if isinstance(each, dict))
    return flat


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of the table, with its place for error messages."""

    where: str
    fields: Mapping[str, Any]

    def row(self, pack: RulePack) -> Row:
        keys = table.NEEDED[:4]
        names = [self._text(key) for key in keys]
        if not all(names):
            raise InputError(f"{self.where}: column {keys[names.index('')]} is empty; give a name")
        cell = Cell(*names)
        value = self._number("value")
        word = self._text("status") or ("measured" if value is not None else "missing")
        if word not in tuple(Status):
            self._wrong("status", word, ", ".join(Status))
        operation = next((known for known in pack.operations if known.id == cell.operation), None)
        unit = self._text("unit") or (operation.unit if operation else "")
        run, count = self._run(cell), self._count("attempt")
        median, low, high, cv = map(self._number, ("median", "low", "high", "cv"))
        return Row(
            cell,
            unit,
            Status(word),
            run,
            value=value,
            attempt=Attempt(run.id, count, "", "", "", State.DONE) if run and count else None,
            record=self._record(operation.record if operation else "", value, unit),
            summary=intervals.Summary(self._count("n") or 0, median, low, high, cv),
            note="no value in the table" if value is None else "",
            best="highest" if operation is None else pack.best(operation),
        )

    def _run(self, cell: Cell) -> Run | None:
        name = self._text("run")
        if not name:
            return None
        geometry = Geometry(self._count("nodes") or 1, self._count("processes") or 1)
        total, axes = self._count("files_total"), (cell.target, cell.launch, cell.files)
        return Run(name, *axes, 1, geometry, "", (Command("", ()),), (cell.operation,), None, total, (), "")

    def _record(self, operation: str, value: float | None, unit: str) -> Record | None:
        file, line = self._text("file"), self._count("line")
        if value is None or not file or not line:
            return self._computed(operation, value, unit)
        statistic, iterations = self._text("statistic") or "maximum", self._count("iterations") or 1
        record = Record(operation, value, unit, Source(file, line), true_value=self._number("true_value"))
        return replace(record, statistic=statistic, iterations=iterations)

    def _computed(self, operation: str, value: float | None, unit: str) -> Record | None:
        """The record of a computed number, which names the places of its parts: `file:line file:line`."""
        places = [re.fullmatch(r"([^ :]+):([1-9][0-9]{0,8})", word) for word in self._text("parts").split()]
        if value is None or not places or None in places:
            return None
        sources = [Source(place[1], int(place[2])) for place in places if place]
        return Record(operation, value, unit, sources[0], parts=tuple(Record("", 0.0, "", each) for each in sources))

    def _text(self, key: str) -> str:
        value = self.fields.get(key)
        if not isinstance(value, str | None):
            self._wrong(key, repr(value), "a text")
        return plain((value or "").strip())  # it is printed on terminals

    def _number(self, key: str) -> float | None:
        value = self.fields.get(key)
        if value in (None, ""):
            return None
        written = table.number(value)
        try:
            number = float(written) if type(written) in (int, float) else math.nan
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self._wrong(key, repr(str(value)[:40]), NOT_A_NUMBER)
        return number

    def _count(self, key: str) -> int | None:
        number = self._number(key)
        if number is not None and (number != int(number) or number < 0):
            self._wrong(key, f"{number:.15g}", "a whole number")
        return None if number is None else int(number)

    def _wrong(self, key: str, value: str, allowed: str) -> NoReturn:
        raise InputError(f"{self.where}: {key}: found {value}; allowed: {allowed}")

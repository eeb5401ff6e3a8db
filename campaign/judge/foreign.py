"""A table that somebody else made, CSV or JSON in the form of `campaign table` -> rows to be judged by themselves."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from campaign.config.load import Campaign
from campaign.config.rules import load as rules
from campaign.config.rules.load import RulePack
from campaign.config.rules.settle import settle
from campaign.core import strict_json
from campaign.core.errors import InputError
from campaign.core.escaping import plain
from campaign.core.model import Attempt, Cell, Geometry, Record, Run, Source, State, Status, Target
from campaign.judge.submission import Submission
from campaign.results.cells import Row
from campaign.statistics import intervals

LARGEST = 64 << 20  # bytes
SUFFIXES = (".csv", ".json")
ALLOWED = "a table in CSV or JSON"
_BEYOND = "\0"  # the key of fields without a column
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
_NEEDED = ("target", "launch", "files", "operation", "value")


def is_table(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES


def read(path: Path, pack: str) -> Submission:
    """A table as the submission that it stands for: at full size, of the targets that it names, without any record.

    Raises InputError with the place where it cannot be read.
    """
    loaded = rules.load(pack)
    entries = _entries(path)
    try:
        settled = settle(loaded, "full", {}, {})
    except ValueError as error:
        raise InputError(f"{path}: rule pack {pack}: {error}") from error
    rows = tuple(_row(entry, f"{path}: {where}", settled) for where, entry in entries)
    names = dict.fromkeys(row.cell.target for row in rows)
    targets = tuple(Target(name, "") for name in names)
    campaign = Campaign(path, path.stem, pack, "full", path.parent, targets, {})
    return Submission(campaign, settled, (), (), (), rows)


Located = tuple[str, Mapping[str, Any]]  # a line of the table, behind its place


def _entries(path: Path) -> list[Located]:
    if not path.is_file():
        raise InputError(f"{path}: is no file; allowed: {ALLOWED}")
    data = strict_json.content(path, LARGEST)
    entries = _of_csv(path, data) if path.suffix.lower() == ".csv" else _of_json(path, data)
    if not entries:
        raise InputError(f"{path}: the table has no line; allowed: one for each cell")
    return entries


def _of_csv(path: Path, data: bytes) -> list[Located]:
    reader = csv.DictReader(io.StringIO(strict_json.text(str(path), data, ALLOWED)), restkey=_BEYOND, restval=None)
    try:
        entries: list[Located] = [(f"line {reader.line_num}", entry) for entry in reader]
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: {error}") from error
    columns: Sequence[str] = reader.fieldnames or ()
    if twice := [name for name in _NEEDED if columns.count(name) > 1]:
        raise InputError(f"{path}: the column {twice[0]} is there {columns.count(twice[0])} times; allowed: once")
    if lacking := [name for name in _NEEDED if name not in columns]:
        raise InputError(
            f"{path}: no column {', '.join(lacking)}; allowed: the columns of 'campaign table --format csv'"
        )
    for where, entry in entries:
        if _BEYOND in entry:  # of the columns behind an unquoted 1,234 none is what its name says
            raise InputError(f"{path}: {where}: more fields than columns; allowed: a comma in a field between quotes")
    return entries


def _of_json(path: Path, data: bytes) -> list[Located]:
    rows = strict_json.parse(str(path), data, ALLOWED)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: no list of objects; allowed: the form of 'campaign table --format json'")
    return [(f"entry {number}", _flat(row)) for number, row in enumerate(rows, 1)]


def _flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the JSON form with the keys of the CSV form."""
    flat = dict(entry)
    for key in ("source", "statistics"):
        inner = entry.get(key)
        if isinstance(inner, dict):
            flat |= inner
    return flat


def _row(entry: Mapping[str, Any], where: str, pack: RulePack) -> Row:
    names = [_text(entry, key, where) for key in _NEEDED[:4]]
    if not all(names):
        raise InputError(f"{where}: no {_NEEDED[names.index('')]}; allowed: a name")
    cell = Cell(*names)
    value = _number(entry, "value", where)
    word = _text(entry, "status", where) or ("measured" if value is not None else "missing")
    try:
        status = Status(word)
    except ValueError as error:
        raise InputError(f"{where}: status: found {word}; allowed: {', '.join(Status)}") from error
    operation = next((known for known in pack.operations if known.id == cell.operation), None)
    unit = _text(entry, "unit", where) or (operation.unit if operation else "")
    run = _run(entry, cell, where)
    count = _count(entry, "attempt", where)
    return Row(
        cell,
        unit,
        status,
        run,
        value=value,
        attempt=Attempt(run.id, count, "", "", "", State.DONE) if run and count else None,
        record=_record(entry, operation.record if operation else "", value, unit, where),
        summary=intervals.Summary(
            _count(entry, "n", where) or 0,
            _number(entry, "median", where),
            _number(entry, "low", where),
            _number(entry, "high", where),
            _number(entry, "cv", where),
        ),
        note="the table has no number" if value is None else "",
        best="highest" if operation is None else pack.best(operation),
    )


def _run(entry: Mapping[str, Any], cell: Cell, where: str) -> Run | None:
    name = _text(entry, "run", where)
    if not name:
        return None
    nodes, processes = _count(entry, "nodes", where) or 1, _count(entry, "processes", where) or 1
    geometry = Geometry(nodes, processes)
    total = _count(entry, "files_total", where)
    return Run(
        name, cell.target, cell.launch, cell.files, 1, geometry, "", "", (), (cell.operation,), None, total, (), ""
    )


def _record(entry: Mapping[str, Any], operation: str, value: float | None, unit: str, where: str) -> Record | None:
    file, line = _text(entry, "file", where), _count(entry, "line", where)
    if value is None or not file or not line:
        return None
    return Record(operation, value, unit, Source(file, line), true_value=_number(entry, "true_value", where))


def _text(entry: Mapping[str, Any], key: str, where: str) -> str:
    found = entry.get(key)
    if found is None:
        return ""
    if not isinstance(found, str):
        raise InputError(f"{where}: {key}: found {found!r}; allowed: a text")
    return plain(found.strip())  # it reaches a terminal


def _number(entry: Mapping[str, Any], key: str, where: str) -> float | None:
    found = entry.get(key)
    if found in (None, ""):
        return None
    try:
        if isinstance(found, bool) or not isinstance(found, (str, int, float)):
            raise ValueError
        if isinstance(found, str) and not _NUMBER.fullmatch(found.strip()):
            raise ValueError
        number = float(found)
        if not math.isfinite(number):
            raise ValueError
    except (ValueError, OverflowError) as error:
        raise InputError(f"{where}: {key}: found {str(found)[:40]!r}; allowed: a number as 1234.5") from error
    return number


def _count(entry: Mapping[str, Any], key: str, where: str) -> int | None:
    number = _number(entry, key, where)
    if number is not None and (number != int(number) or number < 0):
        raise InputError(f"{where}: {key}: found {number:g}; allowed: a whole number")
    return None if number is None else int(number)

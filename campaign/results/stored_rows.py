"""Rows of the database: the columns of attempts and records, and the objects that rows are."""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from campaign.core.decode import decode
from campaign.core.records import Iteration, Record, Source
from campaign.core.runs import Attempt, State

# Columns that are no field of the dataclass, or text of a field of another type.
_STORED = {"run": str, "attempt": int, "file": str, "line": int, "each": str, "state": str}


@functools.cache
def _check_kinds(dataclass_type: type, columns: tuple[str, ...], kinds: tuple[type, ...]) -> None:
    """Raises TypeError where a column has a value of another kind than the dataclass's field of its name: SQLite stores
    any. Rows mostly have the same kinds, so that few are checked.
    """
    hints = typing.get_type_hints(dataclass_type) | _STORED
    for column, kind in zip(columns, kinds, strict=True):
        allowed = typing.get_args(hints[column]) or (hints[column],)
        if not any(
            issubclass(kind, int if allowed_kind is bool else (int, float) if allowed_kind is float else allowed_kind)
            for allowed_kind in allowed
        ):
            raise TypeError(f"{column} is of type {kind.__name__}")


def stored_attempt(row: Sequence[Any]) -> Attempt:
    """The attempt of a row with ATTEMPT_FIELDS. Raises TypeError where a column has a value of another kind."""
    _check_kinds(Attempt, ATTEMPT_FIELDS, tuple(map(type, row)))
    run, number, token, job, fingerprint, state, *remaining = row
    return Attempt(run, number, token, job, fingerprint, State(state), *remaining)


def stored_record(row: Sequence[Any]) -> tuple[tuple[str, int], Record]:
    """Run and number of the attempt, and the record, of a row with RECORD_COLUMNS. Raises as `stored_attempt`."""
    _check_kinds(Record, RECORD_COLUMNS, tuple(map(type, row)))
    run, attempt, file, line, iterations_json, operation, value, unit, *remaining = row
    record = Record(operation, value, unit, Source(file, line), *remaining)
    if record.of_fastest:  # SQLite has numbers in place of truth values
        record = replace(record, of_fastest=True)
    if iterations_json != "[]":  # as most are
        record = replace(record, each=decode(tuple[Iteration, ...], json.loads(iterations_json)))
    return (run, attempt), record


_DERIVED = ("source", "parts", "iteration", "each")  # stored in another way, or not part of an output
# The fields of a record up to `iteration`, in their order.
RECORD_FIELDS = tuple(field.name for field in fields(Record) if field.name not in _DERIVED)
RECORD_COLUMNS = ("run", "attempt", "file", "line", "each", *RECORD_FIELDS)
ATTEMPT_FIELDS = (
    *("run", "number", "token", "job", "fingerprint", "state", "reason", "job_id", "submitted", "started"),
    "ended",
)

"""Rows of the database: the columns of attempts and records, and the objects that rows are."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, get_args, get_type_hints

from campaign.core.decode import decode, dumps
from campaign.core.frozen import replace
from campaign.core.records import Iteration, Outputs, Record, Source
from campaign.core.runs import Attempt, State
from campaign.results.environment.facts import NOTHING, Evidence

# Columns that are no field of the dataclass, or text of a field of another type.
_STORED = {"run": str, "attempt": int, "file": str, "line": int, "each": str, "state": str}


@functools.cache
def _check_kinds(dataclass_type: type, columns: tuple[str, ...], kinds: tuple[type, ...]) -> None:
    """Raises TypeError where a column has a value of another kind than the dataclass's field of its name: SQLite stores
    any. Rows mostly have the same kinds, so that few are checked.
    """
    hints = get_type_hints(dataclass_type) | _STORED
    for column, kind in zip(columns, kinds, strict=True):
        allowed = get_args(hints[column]) or (hints[column],)
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


@dataclass(frozen=True, slots=True)
class AttemptRows:
    """What was read of an attempt, as rows have it. `shared`: what is the same in other attempts, as JSON after its
    hash.
    """

    run: str
    attempt: int
    records: list[tuple[Any, ...]]
    outputs: str
    shared: tuple[tuple[str, str], ...]
    evidence: str


def rows_of_attempt(
    run: str, attempt: int, records: Sequence[Record], outputs: Outputs, evidence: Evidence
) -> AttemptRows:
    rows = [
        (
            *(run, attempt, record.source.file, record.source.line, dumps(record.each)),
            *(getattr(record, name) for name in RECORD_FIELDS),
        )
        for record in records
    ]
    # The facts about nodes are the same in all jobs until a node changes, the rest of the environment in one job.
    shared_values = replace(evidence.environment, facts={}), evidence.environment.facts, evidence.witness
    attempt_evidence = replace(evidence, environment=NOTHING.environment, accounting=None, witness=NOTHING.witness)
    hashed_values = tuple(map(_hash_and_json, shared_values))
    return AttemptRows(run, attempt, rows, dumps(outputs), hashed_values, dumps(attempt_evidence))


def _hash_and_json(value: Any) -> tuple[str, str]:
    """The hash of its JSON, and that."""
    text = dumps(value)
    return hashlib.sha256(text.encode()).hexdigest(), text

"""The benchmark's JSON lines (docs/bench-jsonl.md) -> records and an observation. Pure.

To add an applet: a reader for each `type` of its own, and an entry in `_APPLETS`. The types that every applet writes
are in `_COMMON`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from campaign.model import Observation, Record, Source
from campaign.parsers.lines import Notes

FORMAT = 1

Line = Mapping[str, Any]


class _Wrong(Exception):
    """A line that is not as the format says; the text says what is wrong with it."""


@dataclass(slots=True)
class _Run:
    """What the lines so far have said."""

    file: str
    notes: Notes
    applet: str
    seen: Observation = field(default_factory=Observation)
    results: dict[str, Record] = field(default_factory=dict)
    phases: dict[str, _Phase] = field(default_factory=dict)  # of each operation, the iteration with the best rate
    failed_operations: int = 0  # of the phases
    ended: bool = False


_Reader = Callable[[_Run, int, Line], None]


@dataclass(frozen=True, slots=True)
class _Phase:
    rate: float
    elapsed_s: float
    operations_counted: int
    operations_done: int
    files_counted: int
    files_true: int
    true_rate: float
    fastest: float | None
    median: float | None
    slowest: float | None
    remote_share: float | None


def parse(text: str, file: str) -> tuple[list[Record], Observation]:
    """`text` is the content of a bench.jsonl, `file` its name in sources and messages. Nothing is raised.

    A record's `source` is its `result` line; what belongs to one iteration is taken from the best one. A file of
    another format than the known one is refused whole: no records, and an error that says so.
    """
    notes = Notes(file)
    run: _Run | None = None
    lines = text.split("\n")
    for number, raw in enumerate(lines, 1):
        if not raw.strip():
            continue
        try:
            line = _decode(raw, last=number == len(lines))
            if run is None:
                run = _start(line, file, notes)
            else:
                _take(run, number, line)
        except _Wrong as wrong:
            notes.error(number, f"{wrong}: the file is not read" if run is None else str(wrong))
            notes.unparsed(number, raw)
            if run is None:
                break
    if run is None:
        if not text.strip():
            notes.error(None, "is empty: the benchmark wrote nothing")
        return [], Observation(errors=notes.errors, warnings=notes.warnings, unparsed=notes.unread)
    if not run.ended:
        notes.error(None, "has no `end` line: the benchmark died before its end")
    return _records(run), _observation(run)


def _decode(raw: str, last: bool) -> Line:
    try:
        line = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        # A whole line ends with a newline, so the last piece of the text is one that was cut.
        raise _Wrong("the last line is cut off" if last else f"not JSON: {error}") from None
    if not isinstance(line, dict) or not isinstance(line.get("type"), str):
        raise _Wrong("not an object with a `type`")
    return line


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _take(run: _Run, number: int, line: Line) -> None:
    kind = line["type"]
    take = _COMMON.get(kind) or _APPLETS.get(run.applet, {}).get(kind)
    if take is None:
        run.notes.unparsed(number, f"type {kind!r} of applet {run.applet!r} is not known here")
    elif run.ended:
        raise _Wrong(f"a `{kind}` line after the end")
    else:
        take(run, number, line)


# --- fields: each getter raises _Wrong where the value is absent or of another kind


def _text(line: Line, key: str) -> str:
    value = line.get(key)
    if not isinstance(value, str):
        raise _Wrong(f"{key}: {value!r}, a string is expected")
    return _encodable(value)


def _word(line: Line, key: str) -> str:
    """A name, a version or a unit: what goes into tables."""
    value = _text(line, key)
    if not value.isprintable() or len(value) > 100:
        raise _Wrong(f"{key}: {value!r}, a short printable text is expected")
    return value


def _encodable(text: str) -> str:
    # JSON can escape half a character, which no file and no database takes.
    return text.encode("utf-8", "replace").decode("utf-8")


def _number(line: Line, key: str) -> float:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e300:
        raise _Wrong(f"{key}: {value!r}, a number of 0 or more is expected")
    return float(value)


def _optional(line: Line, key: str) -> float | None:
    return None if line.get(key) is None else _number(line, key)


def _count(line: Line, key: str) -> int:
    value = line.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise _Wrong(f"{key}: {value!r}, a whole number of 0 or more is expected")
    return value


def _truth(line: Line, key: str) -> bool:
    value = line.get(key)
    if not isinstance(value, bool):
        raise _Wrong(f"{key}: {value!r}, true or false is expected")
    return value


def _words(line: Line, key: str) -> tuple[str, ...]:
    value = line.get(key)
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise _Wrong(f"{key}: a list of strings is expected")
    return tuple(_encodable(word) for word in value)


# --- lines of every applet


def _start(line: Line, file: str, notes: Notes) -> _Run:
    if line["type"] != "start":
        raise _Wrong(f"begins with a `{line['type']}` line, `start` is expected")
    if line.get("format") != FORMAT or isinstance(line["format"], bool):
        raise _Wrong(f"format {line.get('format')!r} is not known here, format {FORMAT} is")
    placement = _text(line, "placement")
    if placement not in ("block", "cyclic", "irregular"):
        raise _Wrong(f"placement: {placement!r}, allowed: block, cyclic, irregular")
    run = _Run(file, notes, _word(line, "applet"))
    run.seen = Observation(
        program=f"campaign {_word(line, 'program')} {_word(line, 'version')}",
        argv=_words(line, "argv"),
        processes=_count(line, "processes"),
        nodes=_count(line, "nodes"),
        processes_per_node=_count(line, "processes_per_node"),
        placement=placement,
        binary_sha256=_word(line, "binary_sha256"),
    )
    if not _truth(line, "binary_agreed"):
        notes.error(1, "the ranks ran different executables: the hash is that of rank 0's")
    return run


def _second_start(run: _Run, number: int, line: Line) -> None:
    raise _Wrong("a second `start` line: more than one execution wrote this file")


def _warning(run: _Run, number: int, line: Line) -> None:
    run.notes.warning(number, _message(line))


def _error(run: _Run, number: int, line: Line) -> None:
    run.notes.error(number, _message(line))


def _message(line: Line) -> str:
    """The message with what the line says of its place: "stat '/scratch/x' on rank 3 (n2): No such file (ENOENT)"."""
    where = [str(line["operation"])] if line.get("operation") is not None else []
    where += [f"'{line['path']}'"] if line.get("path") is not None else []
    where += [f"on rank {line['rank']}"] if line.get("rank") is not None else []
    where += [f"({line['node']})"] if line.get("node") is not None else []
    text = _text(line, "message")
    return f"{' '.join(where)}: {text}" if where else text


def _end(run: _Run, number: int, line: Line) -> None:
    status, failed, code = _text(line, "status"), _count(line, "failed_operations"), _count(line, "exit_status")
    run.ended = True
    run.seen = replace(run.seen, failed_operations=failed)
    if status != "ok" or code != 0:
        run.notes.error(
            number, f"the benchmark ended as {status}, with {failed} failed operations and exit status {code}"
        )


# --- lines of mdtest: with several task counts (-f -l -s), those of all processes are the result


def _of_all(take: _Reader) -> _Reader:
    def checked(run: _Run, number: int, line: Line) -> None:
        if "processes" not in line or _count(line, "processes") == run.seen.processes:
            take(run, number, line)

    return checked


def _operation(line: Line) -> str:
    """Name of the record: `create` for a file, `dir_create` for a directory, `tree_create`."""
    operation, thing = _text(line, "operation"), _text(line, "object")
    if operation not in ("create", "stat", "read", "remove", "tree_create", "tree_remove"):
        raise _Wrong(f"operation: {operation!r} is not known here")
    if thing not in ("file", "directory"):
        raise _Wrong(f"object: {thing!r}, allowed: file, directory")
    return f"dir_{operation}" if thing == "directory" and not operation.startswith("tree_") else operation


def _mdtest_phase(run: _Run, number: int, line: Line) -> None:
    operation = _operation(line)
    spread = line.get("rank_rate_ops_s")
    if not isinstance(spread, dict | None):
        raise _Wrong(f"rank_rate_ops_s: {spread!r}, an object is expected")

    phase = _Phase(
        rate=_number(line, "rate_ops_s"),
        elapsed_s=_number(line, "elapsed_s"),
        operations_counted=_count(line, "operations_counted"),
        operations_done=_count(line, "operations_done"),
        files_counted=_count(line, "files_counted"),
        files_true=_count(line, "files_true"),
        true_rate=_number(line, "true_rate_ops_s"),
        fastest=_optional(spread or {}, "fastest"),
        median=_optional(spread or {}, "median"),
        slowest=_optional(spread or {}, "slowest"),
        remote_share=_optional(line, "remote_share"),
    )
    run.failed_operations += _count(line, "failed")
    best = run.phases.get(operation)
    if best is None or phase.rate > best.rate:
        run.phases[operation] = phase


def _mdtest_result(run: _Run, number: int, line: Line) -> None:
    operation = _operation(line)
    if operation in run.results:
        raise _Wrong(f"a second result of {operation}, the first is in line {run.results[operation].source.line}")
    run.results[operation] = Record(
        operation=operation,
        value=_number(line, "max"),
        unit=_word(line, "unit"),
        source=Source(run.file, number),
        minimum=_number(line, "min"),
        mean=_number(line, "mean"),
        stddev=_number(line, "stddev"),
        iterations=_count(line, "iterations"),
    )


def _mdtest_shift(run: _Run, number: int, line: Line) -> None:
    run.seen = replace(
        run.seen,
        shift_requested=_count(line, "requested"),
        shift_effective=_count(line, "effective"),
        whole_nodes=_truth(line, "whole_nodes"),
    )


_COMMON: Mapping[str, _Reader] = {"start": _second_start, "warning": _warning, "error": _error, "end": _end}
_APPLETS: Mapping[str, Mapping[str, _Reader]] = {
    "mdtest": {"phase": _of_all(_mdtest_phase), "result": _of_all(_mdtest_result), "shift": _of_all(_mdtest_shift)},
}


# --- the whole


def _records(run: _Run) -> list[Record]:
    records = []
    for record in run.results.values():
        phase = run.phases.get(record.operation)
        if phase is not None:
            records.append(_with_phase(run, record, phase))
        elif record.value > 0:  # 0 is the row of a phase that was not run
            run.notes.error(record.source.line, f"{record.operation} has a result but no phase")
    return records


def _with_phase(run: _Run, record: Record, phase: _Phase) -> Record:
    if not math.isclose(phase.rate, record.value, rel_tol=1e-9, abs_tol=0.001):
        run.notes.error(record.source.line, f"{record.operation}: max {record.value}, the best phase has {phase.rate}")
    # Where the formula counts what happened, there is no second number to show.
    inflated = phase.operations_done != phase.operations_counted or phase.files_true != phase.files_counted
    return replace(
        record,
        true_value=phase.true_rate if inflated else None,
        files_true=phase.files_true if inflated else None,
        operations_done=phase.operations_done,
        elapsed_s=phase.elapsed_s,
        remote_share=phase.remote_share,
        rank_fastest=phase.fastest,
        rank_median=phase.median,
        rank_slowest=phase.slowest,
    )


def _observation(run: _Run) -> Observation:
    # Without its end, the file says how many failed only where some did.
    failed = max(run.seen.failed_operations or 0, run.failed_operations)
    return replace(
        run.seen,
        failed_operations=failed if run.ended or failed else None,
        complete=run.ended,
        errors=run.notes.errors,
        warnings=run.notes.warnings,
        unparsed=run.notes.unread,
    )

"""IOR's JSON and CSV output (summaryFormat) on stdout -> records and an observation, as of its text. Pure."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

from campaign.model import Observation, Record, Source
from campaign.parsers import ior_text
from campaign.parsers.lines import Notes
from campaign.parsers.repeats import Repeats

_LARGEST = 1e15  # MiB/s: beyond it is no number of a benchmark


def parse(text: str, file: str) -> tuple[list[Record], Observation]:
    """IOR's output in whichever of its three formats it is. Nothing is raised."""
    start = text.lstrip()[:20]
    if start.startswith("{"):
        return _json(text, file)
    if start.startswith("access,bw(MiB/s)"):
        return _csv(text, file)
    return ior_text.parse(text, file)


# --- JSON


def _json(text: str, file: str) -> tuple[list[Record], Observation]:
    notes = Notes(file)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        notes.error(None, f"is not JSON: {error}: the benchmark died before its end, or it wrote something else")
        return [], Observation(errors=notes.errors)
    records = _summary(text, file, data.get("summary"), notes)
    options = _first_options(data)
    command = data.get("Command line")
    return records, Observation(
        program=f"IOR-{data['Version']}" if isinstance(data.get("Version"), str) else "",
        argv=tuple(command.split()) if isinstance(command, str) else (),
        processes=_whole(options.get("tasks")),
        nodes=_whole(options.get("nodes")),
        complete="Finished" in data,
        errors=notes.errors,
        warnings=notes.warnings,
        unparsed=notes.unread,
    )


def _first_options(data: dict[str, Any]) -> dict[str, Any]:
    tests = data.get("tests")
    first = tests[0] if isinstance(tests, list) and tests else None
    options = first.get("Options") if isinstance(first, dict) else None
    return options if isinstance(options, dict) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else None


def _summary(text: str, file: str, summary: Any, notes: Notes) -> list[Record]:
    lines = [number for number, line in enumerate(text.split("\n"), 1) if re.match(r'\s*"bwMaxMIB":', line)]
    if not isinstance(summary, list) or len(lines) != len(summary):
        notes.error(None, "has no summary with a line for each operation: it holds no results")
        return []
    several = len({entry.get("TestID") for entry in summary if isinstance(entry, dict)}) > 1
    records: dict[str, Record] = {}
    for line, entry in zip(lines, summary, strict=True):
        numbers = _numbers(entry)
        if numbers is None or entry.get("operation") not in ("write", "read") or _whole(entry.get("TestID")) is None:
            notes.error(line, "is not an entry of the summary with operation, TestID and rates")
            continue
        name = f"{entry['operation']}-{entry['TestID']}" if several else entry["operation"]
        if name in records:
            notes.error(line, f"{name} stands twice in the summary: the first counts")
            continue
        value, lowest, mean, deviation = numbers
        repetitions = _whole(entry.get("repetitions")) or 1
        records[name] = Record(name, value, "MiB/s", Source(file, line), lowest, mean, deviation, repetitions)
    return list(records.values())


def _numbers(entry: Any) -> tuple[float, float, float, float] | None:
    if not isinstance(entry, dict):
        return None
    found = [entry.get(key) for key in ("bwMaxMIB", "bwMinMIB", "bwMeanMIB", "bwStdMIB")]
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v <= _LARGEST for v in found):
        return None
    value, lowest, mean, deviation = (float(v) for v in found if v is not None)
    return value, lowest, mean, deviation


# --- CSV


def _csv(text: str, file: str) -> tuple[list[Record], Observation]:
    """A row for each iteration and no closing line: whether the execution reached its end is not in it."""
    notes, values = Notes(file), Repeats()
    tasks: int | None = None
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        for row in reader:
            number = reader.line_num
            rate, access = row.get("bw(MiB/s)") or "", row.get("access")
            if access not in ("write", "read") or not re.fullmatch(r"[0-9]{1,15}\.[0-9]{1,6}", rate):
                notes.unknown(number, ",".join(str(value) for value in row.values()))
                continue
            count = row.get("numTasks") or ""
            tasks = int(count) if re.fullmatch(r"[0-9]{1,9}", count) else tasks
            values.add(access, float(rate), "MiB/s", number)
    except csv.Error as error:
        notes.error(reader.line_num, f"is not CSV: {error}")
    notes.warning(None, "CSV has no closing line: whether the benchmark reached its end is not known from it")
    return values.records(file), Observation(
        processes=tasks, errors=notes.errors, warnings=notes.warnings, unparsed=notes.unread
    )

"""IOR's JSON and CSV output (summaryFormat) on stdout -> records and an observation, as of its text. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

from campaign.core.model import Observation, Record, Source
from campaign.results.parsers import ior_text, local_time
from campaign.results.parsers.lines import Notes
from campaign.results.parsers.repeats import Repeats

_MAXIMUM = re.compile(r'\s*"bwMaxMIB": *(.*?),? *\r?$')
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


def _time(value: object) -> float | None:
    return local_time.parse(value) if isinstance(value, str) else None


def _json(text: str, file: str) -> tuple[list[Record], Observation]:
    notes = Notes(file)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        notes.error(None, f"is not JSON: {error}: the benchmark died before its end, or it wrote something else")
        return [], notes.added_to(Observation())
    records = _summary(text, file, data.get("summary"), notes)
    options = _first_options(data)
    command = data.get("Command line")
    seen = Observation(
        program=f"IOR-{data['Version']}" if isinstance(data.get("Version"), str) else "",
        argv=tuple(command.split()) if isinstance(command, str) else (),
        processes=_whole(options.get("tasks")),
        nodes=_whole(options.get("nodes")),
        began_local=_time(data.get("Began")),
        ended_local=_time(data.get("Finished")),
        complete="Finished" in data,
    )
    return records, notes.added_to(seen)


def _first_options(data: dict[str, Any]) -> dict[str, Any]:
    tests = data.get("tests")
    first = tests[0] if isinstance(tests, list) and tests else None
    options = first.get("Options") if isinstance(first, dict) else None
    return options if isinstance(options, dict) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else None


def _summary(text: str, file: str, summary: Any, notes: Notes) -> list[Record]:
    places = [(number, match[1]) for number, line in enumerate(text.split("\n"), 1) if (match := _MAXIMUM.match(line))]
    if not isinstance(summary, list) or len(places) != len(summary):
        notes.error(None, "has no summary with a line for each operation: it holds no results")
        return []
    several = len({entry.get("TestID") for entry in summary if isinstance(entry, dict)}) > 1
    records: dict[str, Record] = {}
    for (line, shown), entry in zip(places, summary, strict=True):
        numbers = _numbers(entry)
        if (
            numbers is None
            or not _shows(shown, numbers[0])
            or entry.get("operation") not in ("write", "read")
            or _whole(entry.get("TestID")) is None
        ):
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


def _shows(text: str, number: float) -> bool:
    """Whether the line where a number is looked for holds it: a damaged file may have two of its key."""
    return re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,9})?", text) is not None and float(text) == number


def _numbers(entry: Any) -> tuple[float, float, float, float] | None:
    if not isinstance(entry, dict):
        return None
    rates = [entry.get(key) for key in ("bwMaxMIB", "bwMinMIB", "bwMeanMIB", "bwStdMIB")]
    if not all(isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v <= _LARGEST for v in rates):
        return None
    value, lowest, mean, deviation = (float(v) for v in rates if v is not None)
    return value, lowest, mean, deviation


# --- CSV


def _csv(text: str, file: str) -> tuple[list[Record], Observation]:
    """A row for each iteration and no closing line: whether the execution reached its end is not in it."""
    notes, values = Notes(file), Repeats()
    tasks: int | None = None
    lines = text.replace("\r\n", "\n").split("\n")
    first = next(number for number, line in enumerate(lines) if line.strip())
    columns = lines[first].split(",")  # nothing is quoted in it
    for number, line in enumerate(lines[first + 1 :], first + 2):
        words = line.split(",")
        row = dict(zip(columns, words, strict=False)) if len(words) == len(columns) else {}
        rate, access, count = row.get("bw(MiB/s)", ""), row.get("access"), row.get("numTasks", "")
        if access not in ("write", "read") or not re.fullmatch(r"[0-9]{1,15}\.[0-9]{1,6}", rate):
            notes.unknown(number, line)
            continue
        tasks = int(count) if re.fullmatch(r"[0-9]{1,9}", count) else tasks
        values.add(access, float(rate), "MiB/s", number)
    notes.warning(None, "CSV has no closing line: whether the benchmark reached its end is not known from it")
    if not values:
        notes.error(None, "no row of an iteration: it holds no results")
    return values.records(file), notes.added_to(Observation(processes=tasks))

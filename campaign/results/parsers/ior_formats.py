"""IOR's JSON and CSV output (summaryFormat) on stdout -> the records and observation of its text. Pure."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections import Counter
from dataclasses import replace
from typing import Any

from campaign.core.model import Observation, Record, Source
from campaign.results.parsers import ior_text, local_time
from campaign.results.parsers.consistency import Range, count_contradicts
from campaign.results.parsers.ior_summary import by_iterations, by_transfers, contradiction, row_contradiction
from campaign.results.parsers.json_lines import JsonLine, WrongLine
from campaign.results.parsers.lines import Notes, appears_twice
from campaign.results.parsers.repeats import Repeats

_MAXIMUM = re.compile(r'\s*"bwMaxMIB": *(.*?),? *\r?$')
# Lines that IOR prints in all formats.
_BETWEEN = re.compile(r"^(?!(?:true|false|null)\b|(?:access|write|read),)[A-Za-z#].*$", re.MULTILINE)
_WARNING = re.compile(r"(?:ior )?WARNING: .*")
_SHOWN = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")
_COLUMNS = ("Max", "Min", "Mean")
_DIGIT = 0.00005  # half of the last of four digits
_LARGEST = 1e15  # MiB/s; larger numbers are no results


def parse(text: str, file: str) -> tuple[list[Record], Observation]:
    """Parse IOR's output in any of its three formats. Nothing is raised."""
    without = _BETWEEN.sub("", text)
    start = without.lstrip()[:20]
    if not start.startswith(("{", "access,bw(MiB/s)")):
        return ior_text.parse(text, file)
    notes = Notes(file)
    for number, line in enumerate(text.split("\n"), 1):
        if _WARNING.fullmatch(line):
            (notes.error if ior_text.tells_of_wrong(line) else notes.warning)(number, line)
        elif _BETWEEN.fullmatch(line) and not ior_text.tells_nothing(line):
            notes.unknown(number, line)
    return (_json if start.startswith("{") else _csv)(without, file, notes)


# --- JSON


def _json(text: str, file: str, notes: Notes) -> tuple[list[Record], Observation]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        notes.error(None, f"not JSON ({error}): the benchmark ended early or wrote something else")
        return [], notes.added_to(Observation())
    records = _summary(text, file, data, notes)
    options = _first_options(data)
    command, times = data.get("Command line"), (data.get("Began"), data.get("Finished"))
    began, ended = (local_time.parse(time) if isinstance(time, str) else None for time in times)
    version = data["Version"] if isinstance(data.get("Version"), str) else ""
    seen = Observation(
        program=version if not version or version.startswith("campaign bench ") else f"IOR-{version}",
        argv=tuple(command.split()) if isinstance(command, str) else (),
        processes=_whole(options.get("tasks")),
        nodes=_whole(options.get("nodes")),
        began_local=began,
        ended_local=ended,
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


_NOT_AN_ENTRY = "not a summary entry with operation, TestID and rates"


def _summary(text: str, file: str, data: dict[str, Any], notes: Notes) -> list[Record]:
    summary, rates = data.get("summary"), _iterations(data.get("tests"))
    places = [(number, match[1]) for number, line in enumerate(text.split("\n"), 1) if (match := _MAXIMUM.match(line))]
    if not isinstance(summary, list) or len(places) != len(summary):
        notes.error(None, "no summary with one line per operation: no results")
        return []
    several = len({entry.get("TestID") for entry in summary if isinstance(entry, dict)}) > 1
    records: dict[str, Record] = {}
    for (line, shown), entry in zip(places, summary, strict=True):
        try:
            name, record = _entry(Source(file, line), shown, entry)
        except WrongLine:
            notes.error(line, _NOT_AN_ENTRY)
            continue
        if against := _contradiction(record, entry, rates.get(name, []) if rates else None):
            notes.error(line, against)
            continue
        name = name if several else record.operation
        if name in records:
            notes.error(line, appears_twice(name=name, first=records[name].source.line))
        else:
            records[name] = replace(record, operation=name)
    return list(records.values())


def _entry(source: Source, shown: str, data: Any) -> tuple[str, Record]:
    """The record of an entry of the summary, and its name with the test's number. Raises WrongLine. `shown` is the text
    around the place of the maximum: a damaged file may have two of its key.
    """
    entry = JsonLine(source.line, data if isinstance(data, dict) else {})
    value, lowest, mean, deviation = (entry.number_of(f"bw{which}MIB") for which in ("Max", "Min", "Mean", "Std"))
    if max(value, lowest, mean, deviation) > _LARGEST or not _SHOWN.fullmatch(shown) or float(shown) != value:
        raise WrongLine(_NOT_AN_ENTRY)
    operation, repetitions = entry.one_of("operation", "write", "read"), _whole(entry.get("repetitions")) or 1
    record = Record(operation, value, "MiB/s", source, lowest, mean, deviation, repetitions)
    return f"{operation}-{entry.count('TestID')}", record


def _iterations(tests: Any) -> dict[str, list[float]]:
    """The rates of single iterations, by operation and test as `_entry` names them."""
    rates: dict[str, list[float]] = {}
    for test in tests if isinstance(tests, list) else ():
        results = test.get("Results") if isinstance(test, dict) else None
        for result in results if isinstance(results, list) else ():
            with contextlib.suppress(WrongLine):
                line = JsonLine(0, result if isinstance(result, dict) else {})
                rates.setdefault(f"{line.text('access')}-{test.get('TestID')}", []).append(line.number_of("bwMiB"))
    return rates


def _contradiction(record: Record, entry: dict[str, Any], rates: list[float] | None) -> str:
    line, claims = JsonLine(record.source.line, entry), list(by_iterations(rates or (), _DIGIT))
    with contextlib.suppress(WrongLine):
        size = line.count("transferSize")
        for each in _COLUMNS:
            claims.append(by_transfers(each.lower(), Range.of(line.number_of(f"OPs{each}"), _DIGIT), size))
    return contradiction(record, _DIGIT, rates, claims)


# --- CSV


CSV_NO_END = "CSV has no closing line: cannot tell whether the benchmark finished"


def _csv(text: str, file: str, notes: Notes) -> tuple[list[Record], Observation]:
    """A row for each iteration and no closing line: the file does not show whether the execution reached its end."""
    values, counted = Repeats(), Counter[str]()
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
        if against := row_contradiction(access, row, counted[access]):
            notes.unreadable(number, line, against)
            values.discard(access)
        counted[access] += 1
        values.add(access, float(rate), "MiB/s", number)
    most = max(counted.values(), default=0)
    for access, found in counted.items():
        if found < most:  # each iteration has a row of each
            notes.error(None, count_contradicts(name=access, found=found, expected=most))
            values.discard(access)
    notes.warning(None, CSV_NO_END)
    if not values:
        notes.error(None, "no results")
    return [*map(_of_all, values.records(file))], notes.added_to(Observation(processes=tasks))


def _of_all(record: Record) -> Record:
    """With the deviation of all values, as IOR computes it in its other formats."""
    n, deviation = record.iterations, record.stddev or 0.0
    return replace(record, stddev=deviation * math.sqrt((n - 1) / n))

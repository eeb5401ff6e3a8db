"""IOR's JSON and CSV output (summaryFormat) on stdout -> the records and observation of its text. Pure."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from campaign.core import placed_json
from campaign.core.model import Observation, Record, Source
from campaign.core.placed_json import JsonPath, PlacedValue
from campaign.results.json_fields import JsonFields, WrongField
from campaign.results.parsers import ior_text
from campaign.results.parsers.consistency import Range, count_contradicts
from campaign.results.parsers.ior_summary import (
    Claim,
    SummaryRow,
    by_iterations,
    by_transfers,
    records_of,
    row_contradiction,
)
from campaign.results.parsers.lines import Notes
from campaign.results.parsers.repeats import Repeats
from campaign.results.parsers.text_reader import local_time

# Lines that IOR prints in all formats.
_BETWEEN = re.compile(r"^(?!(?:true|false|null)\b|(?:access|write|read),)[A-Za-z#].*$", re.MULTILINE)
_WARNING = re.compile(r"(?:ior )?WARNING: .*")
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
        elif _BETWEEN.fullmatch(line) and not ior_text.TELLS_NOTHING.fullmatch(line):
            notes.unknown(number, line)
    return (_json if start.startswith("{") else _csv)(without, file, notes)


# --- JSON


def _json(text: str, file: str, notes: Notes) -> tuple[list[Record], Observation]:
    try:
        data, (placed, _) = json.loads(text), placed_json.read(text)
    except (ValueError, RecursionError) as error:
        notes.error(None, f"not JSON ({error}): the benchmark ended early or wrote something else")
        return [], notes.added_to(Observation())
    records = _summary(file, data, placed, notes)
    tests = data.get("tests")
    options = JsonFields.of(JsonFields.of(tests[0] if isinstance(tests, list) and tests else None).get("Options"))
    command, times = data.get("Command line"), (data.get("Began"), data.get("Finished"))
    began, ended = (local_time(time) if isinstance(time, str) else None for time in times)
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


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31 else None


def _summary(file: str, data: dict[str, Any], placed: PlacedValue, notes: Notes) -> list[Record]:
    summary, rates = data.get("summary"), _iterations(data.get("tests"))
    places = JsonPath.of("summary[*].bwMaxMIB").find(placed)
    if not isinstance(summary, list) or len(places) != len(summary):
        notes.error(None, "no summary with one line per operation: no results")
        return []
    rows = []
    for place, entry in zip(places, summary, strict=True):
        try:
            rows.append(_row(Source(file, place.line), JsonFields.of(entry), rates))
        except WrongField:
            notes.error(place.line, "not a summary entry with operation, TestID and rates")
    several = len({row.test for row in rows}) > 1
    return list(records_of(rows, several, notes).values())


def _row(source: Source, entry: JsonFields, rates: Mapping[str, Sequence[float]]) -> SummaryRow:
    """Raises WrongField."""
    value, lowest, mean, deviation = (entry.number_of(f"bw{which}MIB") for which in ("Max", "Min", "Mean", "Std"))
    if max(value, lowest, mean, deviation) > _LARGEST:
        raise WrongField
    operation, test = entry.one_of("operation", "write", "read"), entry.count("TestID")
    repetitions = _whole(entry.get("repetitions")) or 1
    record = Record(operation, value, "MiB/s", source, lowest, mean, deviation, repetitions)
    own = rates.get(f"{operation}-{test}", ())
    claims = [*by_iterations(own, _DIGIT), *_by_transfers(entry)]
    return SummaryRow(test, record, _DIGIT, own if rates else None, claims)


def _iterations(tests: Any) -> dict[str, list[float]]:
    """The rates of single iterations, by operation and test: `write-0`."""
    rates: dict[str, list[float]] = {}
    for test in map(JsonFields.of, tests if isinstance(tests, list) else ()):
        results = test.get("Results")
        for result in map(JsonFields.of, results if isinstance(results, list) else ()):
            with contextlib.suppress(WrongField):
                name = f"{result.text('access')}-{test.get('TestID')}"
                rates.setdefault(name, []).append(result.number_of("bwMiB"))
    return rates


def _by_transfers(entry: JsonFields) -> Iterator[Claim]:
    with contextlib.suppress(WrongField):
        size = entry.count("transferSize")
        for each in _COLUMNS:
            yield by_transfers(each.lower(), Range.of(entry.number_of(f"OPs{each}"), _DIGIT), size)


# --- CSV


CSV_NO_END = "CSV has no closing line: cannot tell whether the benchmark finished"


def _csv(text: str, file: str, notes: Notes) -> tuple[list[Record], Observation]:
    """A row for each iteration and no closing line: the file does not show whether the execution reached its end."""
    values, counted, doubtful = Repeats(file, of_sample=False), Counter[str](), set[str]()
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
            doubtful.add(access)
        counted[access] += 1
        values.add(access, float(rate), "MiB/s", number)
    most = max(counted.values(), default=0)
    for access, found in counted.items():
        if found < most:  # each iteration has a row of each
            notes.error(None, count_contradicts(name=access, found=found, expected=most))
            doubtful.add(access)
    notes.warning(None, CSV_NO_END)
    if not counted:
        notes.error(None, "no results")
    records = [record for record in values.records() if record.operation not in doubtful]
    return records, notes.added_to(Observation(processes=tasks))

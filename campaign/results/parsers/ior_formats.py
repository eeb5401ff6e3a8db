"""IOR's JSON and CSV output (summaryFormat) on stdout -> the records and observation of its text. Pure."""

from __future__ import annotations

import re
from collections import Counter

from campaign.core import placed_json
from campaign.core.records import Observation, Record
from campaign.results.parsers import ior_text
from campaign.results.parsers.consistency import count_contradicts
from campaign.results.parsers.lines import NO_END, Notes, Repeats, local_time

# Lines that IOR prints in all formats.
_BETWEEN = re.compile(r"^(?!(?:true|false|null)\b|(?:access|(?:mix-)?(?:write|read)),)[A-Za-z#].*$", re.MULTILINE)
_WARNING = re.compile(r"(?:ior )?WARNING: .*")
_RATE = re.compile(r"[0-9]{1,15}\.[0-9]{1,6}")
# Keys of the JSON's summary, and the columns of the text.
_COLUMNS = {
    "operation": "Operation", "TestID": "Test#", "repetitions": "reps", "transferSize": "xsize",
    "bwMaxMIB": "Max(MiB)", "bwMinMIB": "Min(MiB)", "bwMeanMIB": "Mean(MiB)", "bwStdMIB": "StdDev",
    "OPsMax": "Max(OPs)", "OPsMin": "Min(OPs)", "OPsMean": "Mean(OPs)",
}  # fmt: skip


def parse(text: str, file: str) -> tuple[list[Record], Observation]:
    """Parse IOR's output in any of its three formats. Nothing is raised."""
    text_between = _BETWEEN.sub("", text)
    start = text_between.lstrip()[:20]
    if not start.startswith(("{", "access,bw(MiB/s)")):
        return ior_text.parse(text, file)
    notes = Notes(file)
    for number, line in enumerate(text.split("\n"), 1):
        if _WARNING.fullmatch(line):
            (notes.error if ior_text.tells_of_wrong(line) else notes.warning)(number, line)
        elif _BETWEEN.fullmatch(line) and not ior_text.TELLS_NOTHING.fullmatch(line):
            notes.unknown(number, line)
    return (_json if start.startswith("{") else _csv)(text_between, file, notes)


# --- JSON


def _json(text: str, file: str, notes: Notes) -> tuple[list[Record], Observation]:
    try:
        root, end = placed_json.read(text)
        if remainder := text[end:].strip():
            raise placed_json.NotJson(0, f"{remainder[:40]!r} after its end")
    except placed_json.NotJson as error:
        notes.error(None, f"not JSON ({error}): the benchmark ended early or wrote something else")
        return [], notes.added_to(Observation())
    records = list(_summary(root, file, notes).records(notes, by_transfers=True).values())
    texts, options = _texts(root), placed_json.JsonPath.parse("tests[0].Options").find(root)
    counts = {name: int(text) for placed in options for name, text in _texts(placed).items() if text.isdecimal()}
    version = texts.get("Version", "")
    seen = Observation(
        program=version if not version or version.startswith("campaign bench ") else f"IOR-{version}",
        argv=tuple(texts.get("Command line", "").split()),
        processes=counts.get("tasks"),
        nodes=counts.get("nodes"),
        began_local=local_time(texts.get("Began", "")),
        ended_local=local_time(texts.get("Finished", "")),
        complete="Finished" in texts,
    )
    return records, notes.added_to(seen)


def _summary(root: placed_json.PlacedValue, file: str, notes: Notes) -> ior_text.IorSummary:
    summary = ior_text.IorSummary(file)
    for test in placed_json.JsonPath.parse("tests[*]").find(root):
        for result in placed_json.JsonPath.parse("Results[*]").find(test):
            row = _texts(result) | {"test": _texts(test).get("TestID", "")}
            if (
                row.get("access") in ior_text.ACCESSES
                and row["test"].isdecimal()
                and _RATE.fullmatch(row.get("bwMiB", ""))
            ):
                rows = summary.iterations.setdefault((int(row["test"]), row["access"]), [])
                rows.append(ior_text.IterationRow(result.line, row["bwMiB"], {}))
    entries = placed_json.JsonPath.parse("summary[*]").find(root)
    for entry in entries:
        line = next((value.line for value in placed_json.JsonPath.parse("bwMaxMIB").find(entry)), entry.line)
        try:
            summary.add(line, {_COLUMNS.get(name, name): text for name, text in _texts(entry).items()})
        except ValueError:
            notes.error(line, "not a summary entry with operation, TestID and rates")
    if not entries:
        notes.error(None, "no summary with one line per operation: no results")
    return summary


def _texts(placed: placed_json.PlacedValue) -> dict[str, str]:
    """The members of an object that are neither lists nor objects, as they are written."""
    members = placed.value if isinstance(placed.value, dict) else {}
    return {name: member.value for name, member in members.items() if isinstance(member.value, str)}


# --- CSV


def _csv(text: str, file: str, notes: Notes) -> tuple[list[Record], Observation]:
    """A row for each iteration and no closing line: the file does not show whether the execution reached its end."""
    values, row_counts, doubtful = Repeats(notes, of_sample=False), Counter[str](), set[str]()
    tasks: int | None = None
    lines = text.replace("\r\n", "\n").split("\n")
    first = next(number for number, line in enumerate(lines) if line.strip())
    columns = lines[first].split(",")  # nothing is quoted in it
    for number, line in enumerate(lines[first + 1 :], first + 2):
        words = line.split(",")
        row = dict(zip(columns, words, strict=False)) if len(words) == len(columns) else {}
        rate, access, count = row.get("bw(MiB/s)", ""), row.get("access"), row.get("numTasks", "")
        if access not in ior_text.ACCESSES or not _RATE.fullmatch(rate):
            notes.unknown(number, line)
            continue
        tasks = int(count) if re.fullmatch(r"[0-9]{1,9}", count) else tasks
        if contradiction := ior_text.row_contradiction(access, row, row_counts[access]):
            notes.unreadable(number, line, contradiction)
            doubtful.add(access)
        row_counts[access] += 1
        values.add(access, float(rate), "MiB/s", number)
    most_rows = max(row_counts.values(), default=0)
    for access, row_count in row_counts.items():
        if row_count < most_rows:  # each iteration has a row of each
            notes.error(None, count_contradicts(name=access, iteration_count=row_count, expected=most_rows))
            doubtful.add(access)
    notes.warning(None, NO_END)
    if not row_counts:
        notes.error(None, "no results")
    records = [record for record in values.records() if record.operation not in doubtful]
    return records, notes.added_to(Observation(processes=tasks))

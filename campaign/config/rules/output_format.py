"""`results` of a rule pack: how to read the output of a program.

Schema and dataclasses; conditions between the values are in `output_check`, the reference is docs/pack-results.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from campaign.config.rules.kinds import LINE, NAME
from campaign.core import line_pattern
from campaign.core.keys import key, needed, record, switch
from campaign.core.schema import Choice, ListOf, MapOf, Text, checked_text, full_match, matching

# Programs of the built-in benchmark: a pack does not say how their outputs are read, but outputs/.
BUILT_IN = ("checkpoint", "find", "ior", "mbw_mr", "mdtest", "mpiio", "nfstest")
FORMATS = ("text", "keyvalue", "table", "csv", "json", "jsonl")
ONE_ITERATION = "one iteration"  # one iteration's values; the same one for all numbers of a row

# Names of values with a meaning of their own, as are `count` (operations of the phase) and `moved_bytes`. All others
# are the pack's, for names of records and formulas.
SECONDS = {"time": 1.0, "time_ms": 1e-3, "time_us": 1e-6}  # time of the phase, with the unit in seconds
STATISTICS = ("minimum", "mean", "stddev", "iterations")  # as the program prints them
COUNTS = ("processes", "nodes", "processes_per_node", "threads", "failed_operations")  # facts that are whole numbers
FACTS = ("program", "command", "node_names", *COUNTS)
WALL, UNCERTAINTY = "wall", "wall-uncertainty"  # records of the job, not of the output
# Where the required number of matches is that of another thing; otherwise it is a number, or the name of a fact.
SAME, SECTION = "same", "section"


def _factor(text: str) -> float:
    dividend, _, divisor = text.partition("/")
    if not float(dividend) or (divisor and not float(divisor)):
        raise ValueError(f"found {text}; allowed: a number above 0")
    return float(dividend) / float(divisor or 1)


_LOCATOR = Text("a key, a path or a column", longest=120)
_FACT = Text("a pattern, a key or a path", longest=400)
_PATTERN = Text("a pattern of a whole line", checked_text(line_pattern.compile), longest=400)
_COLUMNS = Text(_LOCATOR.allowed, checked_text(line_pattern.compile), longest=120)
_RECORD = matching(
    r"(?:[a-z]|\{[a-z0-9_]+\})(?:[a-z0-9_.-]|\{[a-z0-9_]+\})*",
    "lower-case letters, digits, -, _, . and names of values in braces",
    longest=100,
)
_PART_OF_PATH = "[A-Za-z0-9_*][A-Za-z0-9._*-]*"
_FORMAT = matching("[a-z][a-z0-9_.-]*", f"{', '.join(FORMATS)} or the name of an installed reader in code", longest=60)
_FILE = matching(
    f"{_PART_OF_PATH}(?:/{_PART_OF_PATH}){{0,3}}",
    "letters, digits and ._-*, with / below directories; no part begins with a dot or a dash",
    longest=100,
)
_PART = r"[0-9]{1,18}(\.[0-9]{1,18})?(e-?[0-9]{1,2})?"
_QUOTIENT = f"{_PART}(/{_PART})?"
_FACTOR = Text(
    "a number above 0 such as 8, 0.001 or 1e-6, or a quotient such as 1/1048576",
    full_match(_QUOTIENT, "a number such as 0.001, 1e-6 or 1/1048576", _factor),
    numbers=True,
    exponents=True,
)
_UNIT = Text(
    f"{_FACTOR.allowed}, or a unit such as KiB/s",
    lambda text: _factor(text) if re.fullmatch(_QUOTIENT, text) else text,
    numbers=True,
    exponents=True,
)
_MATCHES = Text(
    f"a number from 1 to 1000000, the name of a fact, `{SAME}` or `{SECTION}`",
    full_match(
        r"[1-9][0-9]{0,5}|1000000|[a-z][a-z0-9_]*",
        f"a number, the name of a fact, {SAME} or {SECTION}",
        lambda text: int(text) if text.isdigit() else text,
    ),
    longest=40,
    numbers=True,
)
_SHARE = Text(
    "a share such as 2%",
    full_match(r"[0-9]{1,3}(\.[0-9]{1,6})?%", "a share such as 2%", lambda text: float(text.removesuffix("%")) / 100),
)


Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Passage:
    after: str = needed(_PATTERN, "its first line")
    until: str = needed(_PATTERN, "its last line")


@dataclass(frozen=True, slots=True)
class DeclaredRecord:
    name: str = needed(
        _RECORD, "name for `operations[].record`; `{name}` stands for a value of the same line or entry, or for a fact"
    )
    unit: str = needed(LINE, "unit of the value")
    pattern: str = key(_PATTERN, "text: the line, with the number as the group `value`", "")
    value: str = key(_LOCATOR, "keyvalue: the key; table, csv: the column; json, jsonl: the path", "")
    entries_path: str = key(
        _LOCATOR,
        "json, jsonl: path to the entries; `value`, `where` and `labels` are relative to an entry",
        "",
        name="each",
    )
    where: Pairs = key(
        MapOf(_LOCATOR, _LOCATOR), "table, csv, json, jsonl: columns or paths, and the text that each must contain"
    )
    labels: Pairs = key(
        MapOf(NAME, _LOCATOR), "table, csv, json, jsonl: names of further values, and the column or path of each"
    )
    after: str = key(
        _PATTERN, "text, keyvalue, table: the record is read only after such a line, up to the next one", ""
    )
    until: str = key(_PATTERN, "with `after`: ends the section", "")
    unless: str = key(_PATTERN, "text, keyvalue, table: the record is read only in outputs without such a line", "")
    columns: str = key(
        _COLUMNS,
        "text: what a line above contains once for each column; `value` is then several numbers, one for each column; "
        "groups of `columns` are further values of each number",
        "",
    )
    factor: float = key(_FACTOR, "factor that converts the printed number to `unit`", 1.0, says_default="1")
    units: tuple[tuple[str, float | str], ...] = key(
        MapOf(LINE, _UNIT),
        "units that the line may contain (the value `unit`), each with its factor, or with the unit that it is",
    )
    take: str = key(
        Choice(("only", "first", "last", "maximum", "minimum", "mean", "median", "sum")),
        "which of several matches is used, or their `sum`; `only`: a second match is an error",
        "only",
    )
    positioned_by: str = key(
        _RECORD,
        "in place of `take`: the match at the position taken of the record of that name (all from one iteration)",
        "",
        name="of",
    )
    matches: int | str | None = key(
        _MATCHES,
        f"required number of matches: a number, the name of a fact, `{SAME}` (as many as all others with `{SAME}`) or "
        f"`{SECTION}` (one in each section of its `after`)",
    )
    plausible: str = key(
        Text("a formula such as count * size / time, or conditions such as total == value * time", longest=400),
        "formula that must give the same number, or conditions with `and` between them, from the values of its line, "
        "`facts` and other records",
        "",
    )
    within: float = key(_SHARE, "allowed relative difference from `plausible`", 0.02, says_default="2%")
    check_only: bool = switch("true: no result; its number is there for `plausible` of other records")

    @property
    def statistic(self) -> str:
        """How several matches are combined into its value."""
        return ONE_ITERATION if self.positioned_by else "first" if self.take == "only" else self.take

    @property
    def line(self) -> str:
        """The pattern of its lines, in formats that have one."""
        return self.pattern or key_pattern(self.value)


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """How a program's output is read."""

    format: str = key(_FORMAT, "see below", "", says_default="none: as the built-in program's output is described")
    records: tuple[DeclaredRecord, ...] = key(ListOf(record(DeclaredRecord), most=100), "the numbers")
    facts: Pairs = key(
        MapOf(NAME, _FACT),
        "values that appear once in the output: a line's pattern with one group; keyvalue: a key; json, jsonl: a path",
    )
    required: tuple[str, ...] = key(
        ListOf(NAME), "names of `facts` without which an output is not complete; `program` is always required"
    )
    file: str = key(
        _FILE,
        "a file that the program writes into the attempt's own directory or below it, read as part of its output; `*` "
        "stands for any characters; there may be several such files",
        "",
    )
    stream: str = key(
        Choice(("stdout", "stderr")),
        "where the program prints its results; the lines of the other one are compared with `errors`, `warnings` and "
        "`harmless`",
        "",
        says_default="stdout",
    )
    end: str = key(
        _PATTERN,
        "text, keyvalue, table, csv: the last line of a complete output; without it the output is incomplete",
        "",
    )
    errors: tuple[str, ...] = key(ListOf(_PATTERN), "lines of stdout or stderr that are errors")
    warnings: tuple[str, ...] = key(ListOf(_PATTERN), "lines that are warnings")
    harmless: tuple[str, ...] = key(ListOf(_PATTERN), "lines that can be ignored")
    explain: Pairs = key(
        MapOf(_PATTERN, LINE), "lines of `errors` and `warnings`, and the text in place of each; `{name}`: a group"
    )
    passages: tuple[Passage, ...] = key(
        ListOf(record(Passage), most=100),
        "parts of the output whose lines are ignored, except errors and warnings in them",
    )
    wall: bool = switch(
        f"true: the records `{WALL}` (s), the time that the job measured from the launch to its end, and "
        f"`{UNCERTAINTY}` (s)"
    )
    applet: str = ""  # the program whose output it describes; not a key of the section

    @property
    def has_reader(self) -> bool:
        """Whether it is read by code, and not as `records` and `facts` describe it."""
        return self.format not in FORMATS

    @property
    def has_several_files(self) -> bool:
        """Whether its output may be that of several files, one after another."""
        return "*" in self.file

    def fact_pattern(self, text: str) -> str:
        """The pattern of a fact's line, in formats that have one; `text` is how the pack writes it."""
        return fact_key_pattern(text) if self.format == "keyvalue" else text


RESULTS = record(OutputFormat)


Form = str | OutputFormat  # how one output is read; a text is the name of a built-in program


def key_pattern(key: str) -> str:
    """A pattern for `key = value unit`, with `=` or `:`."""
    return rf"[ \t]*{re.escape(key)}[ \t]*[=:][ \t]*(?P<value>[^ \t]+)(?:[ \t]+(?P<unit>[^ \t]+))?[ \t]*"


def fact_key_pattern(key: str) -> str:
    return rf"[ \t]*{re.escape(key)}[ \t]*[=:][ \t]*(?P<value>[^ \t].*)"


def is_shared(applet: str, format: str) -> bool:
    """Whether a program's output is read by the pack's `results`: it has no format of its own, nor is it built in."""
    return not format and applet not in BUILT_IN

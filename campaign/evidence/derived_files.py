"""Compares files of a bundle with what its evidence gives when they are derived again."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from campaign import __version__
from campaign.core.errors import reraise_machine_problem
from campaign.core.strict_yaml import quoted
from campaign.core.units import without_padding

LARGEST_TEXT = 16 << 20  # bytes of a text that is compared
SHOWN_BEFORE = 30  # characters of a line shown before the difference
_NUMBER_KEYS = (
    "target",
    "launch",
    "files",
    "operation",
    "value",
    "unit",
    "status",
    "processes",
    "nodes",
    "run",
    "attempt",
    "source",
)
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,?\d{3})+(?:\.\d+)?(?![\w.,]*\d)")
_CSV_KEYS = (*_NUMBER_KEYS[:-1], "file", "line")
_VERDICT_KEYS = ("campaign", "rules", "profile", "verdict", "headline", "cells")
_CRATE_KEYS = ("@id", "@type", "value", "unitText", "object", "result")


def read_text(path: Path, largest_bytes: int = LARGEST_TEXT) -> str | None:
    """None if it does not exist, is not UTF-8, or is larger than any file that is compared."""
    try:
        return path.read_bytes().decode("utf-8") if path.stat().st_size <= largest_bytes else None
    except UnicodeDecodeError:
        return None
    except OSError as error:
        reraise_machine_problem(error)
        return None


def json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def differing_files(data: Path, rederived: Mapping[str, str]) -> dict[str, str]:
    """Files that differ when derived again, with the first differing line."""
    differences: dict[str, str] = {}
    for name, derived in rederived.items():
        stored = read_text(data / name, LARGEST_TEXT + 4 * len(derived))  # bytes of a character
        if stored is None:
            differences[name] = "missing from the bundle, or not UTF-8"
        elif stored != derived and (not name.endswith(".csv") or without_padding(stored) != without_padding(derived)):
            differences[name] = _describe_difference(stored, derived)
    return differences


def first_difference(stored: str, derived: str) -> tuple[int, str, str]:
    """The number of the first line that differs, and the line in both texts: "" behind the end of one."""
    lines = (io.StringIO(text, newline="\n") for text in (stored, derived))
    pairs = enumerate(zip_longest(*lines, fillvalue=""), 1)
    return next((number, left, right) for number, (left, right) in pairs if left != right)


def _describe_difference(stored: str, derived: str) -> str:
    number, *lines = first_difference(stored, derived)
    if "" in lines:
        line_count, derived_line_count = (text.count("\n") + 1 for text in (stored, derived))
        return f"it has {line_count} lines; re-evaluated it has {derived_line_count}"
    first = next(place for place, (left, right) in enumerate(zip_longest(*lines)) if left != right)
    start = max(0, first - SHOWN_BEFORE)
    stored_line, derived_line = (quoted(f"{'…' * (start > 0)}{line[start:].strip()}"[:120]) for line in lines)
    return f"line {number} is {stored_line}; re-evaluated it is {derived_line}"


def is_earlier_version(tool: str) -> bool:
    """Whether an earlier version of this program made the bundle, whose texts may differ."""
    return bool(re.fullmatch(r"campaign \d+\.\d+\.\d+", tool)) and _version_numbers(tool) < _version_numbers(
        __version__
    )


def _version_numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


# --- a bundle of an earlier version: what its derived files state, in whatever words


def _read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(without_padding(text))))


def _selected_values(keys: Sequence[str], records: Any) -> list[list[Any]]:
    return [[record[key] for key in keys] for record in records]


def _violated_rules(findings: Any) -> set[str]:
    return {
        finding["rule"]
        for finding in findings
        if finding["severity"] == "E" and finding["checked"] and not finding["waived"]
    }


def _crate_values(crate: Any) -> list[list[Any]]:
    """Each number, and the logs and numbers of each attempt."""
    return [[entity.get(key) for key in _CRATE_KEYS] for entity in crate["@graph"] if entity["@id"].startswith("#")]


_STATED: Mapping[str, Callable[[str], Any]] = {
    "tables/table.json": lambda text: _selected_values(_NUMBER_KEYS, json.loads(text)),
    "tables/table.csv": lambda text: _selected_values(_CSV_KEYS, _read_csv(text)),
    "tables/clauses.json": lambda text: _selected_values(("clause", "state"), json.loads(text)),
    "tables/clauses.csv": lambda text: _selected_values(("clause", "state"), _read_csv(text)),
    "findings.json": lambda text: _violated_rules(json.loads(text)),
    "verdict.json": lambda text: _selected_values(_VERDICT_KEYS, [json.loads(text)]),
    "ro-crate-metadata.json": lambda text: _crate_values(json.loads(text)),
}
_IN_EVERY_VERSION = ("tables/table.json", "tables/table.csv", "findings.json", "verdict.json")


def foreign_numbers(stored: str, derived_texts: Iterable[str]) -> list[str]:
    """The numbers from 1,000 in a text that no derived text has."""
    derived_numbers = {number.replace(",", "") for text in derived_texts for number in _NUMBER.findall(text)}
    return [number for number in _NUMBER.findall(stored) if number.replace(",", "") not in derived_numbers]


def has_same_meaning(name: str, data: Path, derived: str) -> bool:
    """Whether a file of an earlier version states what this one derives: numbers with their log lines, status of
    results, clauses, violated rules, verdict, origins of binaries. Texts for reading may be worded in
    any way; `foreign_numbers` are asked about.
    """
    if not (data / name).exists():
        return name not in _IN_EVERY_VERSION
    if name.endswith(".txt"):
        return True
    stated = _STATED.get(name, json.loads)
    try:
        return bool(stated(read_text(data / name) or "") == stated(derived))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, csv.Error):
        return False

"""Reads environment.json and accounting.json.

Both may come from an untrusted source: they are read within limits, and errors in them become problems in words, never
exceptions.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from campaign.core import plain_file
from campaign.core.errors import pass_on_limit
from campaign.results.environment import witness
from campaign.results.environment.facts import Accounting, Environment, Evidence, Facts, FileSystemSpace, Node, Value
from campaign.results.environment.slurm_text import MOST_NODES, slurm_fields

FORMAT = 2
LARGEST_BYTES = 16 << 20  # of an environment.json: 1,000 nodes take about 100 KB
MOST_TEXTS = 2_000  # facts, variables, values of one fact
MOST_PROBLEMS = 20
LONGEST = 8_192  # characters of one text; the job cuts at 4,000 bytes
_COUNTS = tuple(field.name for field in fields(FileSystemSpace) if field.name != "time")

Fitting = TypeVar("Fitting")


class WrongPart(ValueError):
    """A part of the file is invalid; says which."""


# --- environment.json


def read(path: Path) -> Evidence:
    """Read an attempt's or a job's environment.json. Raises nothing."""
    content, problem = _load(path)
    if problem:
        return Evidence(Environment(problems=(f"{path.name}: {problem}",)))
    return parse(content, path.name)


def parse(content: bytes, name: str = "environment.json") -> Evidence:
    """Parse an environment.json. Errors are in the environment's problems."""
    try:
        data = _object(content)
        kind = data.get("format")
        if kind != FORMAT:
            raise WrongPart(f"format {_short(kind)}; expected {FORMAT}")
    except WrongPart as wrong:
        return Evidence(Environment(problems=(f"{name}: {wrong}",)))
    reader = _PartsReader(data, name)
    made, before, after = reader.truth_or_none("made"), reader.space("before"), reader.space("after")
    return Evidence(_environment(reader), made, before, after, witness=_witness(data.get("ran"), name))


def _witness(data: Any, name: str) -> witness.Witness:
    """What was seen of the ranks; empty if the job did not look."""
    if not isinstance(data, dict):
        return witness.Witness()
    reader = _PartsReader(data, name)
    facts = reader.facts(len(reader.nodes()))
    values = {fact: tuple(dict.fromkeys(value.text for value in values)) for fact, values in facts.items()}
    return witness.of_facts(values, (*reader.list_of_texts("problems"), *reader.problems))


def _environment(reader: _PartsReader) -> Environment:
    nodes = reader.nodes()
    return Environment(
        recorded=True,
        started=reader.number("started"),
        ended=reader.number("ended"),
        host=reader.text("host"),
        directory=reader.text("directory"),
        executable=reader.text("executable"),
        nodes=nodes,
        incomplete=reader.ranges("incomplete", len(nodes)),
        facts=reader.facts(len(nodes)),
        variables=reader.texts("environment"),
        set_by_slurm=reader.list_of_texts("set_by_slurm"),
        job=slurm_fields(reader.text("job")),
        other_jobs=reader.count_or_none("other_jobs"),
        software=reader.texts("software"),
        storage=reader.texts("storage"),
        space=reader.space("space"),
        problems=(*reader.list_of_texts("problems"), *reader.problems),  # last: reading the others adds to them
    )


class _PartsReader:
    """Takes parts out of a JSON object; invalid ones are left out and reported in `problems`."""

    def __init__(self, data: Mapping[str, Any], name: str) -> None:
        self._data, self._name = data, name
        self.problems: list[str] = []

    def problem(self, key: str, what: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"{self._name}: {key}: {what}")

    def _take(self, key: str, absent: Fitting, fits: Callable[[Any], bool], expected: str) -> Fitting:
        """The value of a key; `absent` if it is missing or invalid, which is a problem: `expected`."""
        value: Fitting = self._data.get(key, absent)
        if fits(value):
            return value
        self.problem(key, expected.format(found=_short(value)))
        return absent

    def text(self, key: str) -> str:
        return clean(self._take(key, "", lambda value: isinstance(value, str), "{found} is not a string"))

    def number(self, key: str) -> float | None:
        value: float | None = self._take(key, None, _is_number, "{found} is not a number")
        return None if value is None else float(value)

    def count_or_none(self, key: str) -> int | None:
        return self._take(
            key, None, lambda value: value is None or _is_count(value), "{found} is not a whole number ≥ 0"
        )

    def truth_or_none(self, key: str) -> bool | None:
        return self._take(key, None, lambda value: isinstance(value, bool | None), "{found} is not true or false")

    def _entries(self, key: str) -> list[tuple[str, Any]]:
        """Names and values of an object, up to MOST_TEXTS."""
        entries: dict[str, Any] = self._take(key, {}, lambda value: isinstance(value, dict), "{found} is not an object")
        if len(entries) > MOST_TEXTS:
            self.problem(key, f"{len(entries)} entries; only the first {MOST_TEXTS} were read")
        return [(clean(name), value) for name, value in list(entries.items())[:MOST_TEXTS]]

    def texts(self, key: str) -> dict[str, str]:
        """An object of texts."""
        texts = {}
        for name, text in self._entries(key):
            if isinstance(text, str):
                texts[name] = clean(text)
            else:
                self.problem(f"{key}.{name[:80]}", f"{_short(text)} is not a string")
        return texts

    def list_of_texts(self, key: str) -> tuple[str, ...]:
        texts: list[str] = self._take(key, [], _is_list_of_texts, "{found} is not a list of strings")
        return tuple(clean(text) for text in texts[:MOST_TEXTS])

    def space(self, key: str) -> FileSystemSpace | None:
        value = self._take(key, None, _is_space_or_none, "{found} does not describe the space of a file system")
        return value and FileSystemSpace(float(value["time"]), *(value[name] for name in _COUNTS))

    def nodes(self) -> tuple[Node, ...]:
        value = self._data.get("nodes", [])
        if not isinstance(value, list) or len(value) > MOST_NODES:
            self.problem("nodes", f"not a list of at most {MOST_NODES} nodes")
            return ()
        nodes = []
        for number, node in enumerate(value):
            name = node.get("name") if isinstance(node, dict) else None
            if not isinstance(name, str):
                self.problem(f"nodes[{number}]", f"{_short(node)} has no name")
                nodes.append(Node("", ""))
                continue
            texts = (node.get("hostname", name), node.get("boot"))
            hostname, boot = (clean(text) if isinstance(text, str) else "" for text in texts)
            nodes.append(Node(clean(name), hostname, _clock(node.get("clock")), boot))
        return tuple(nodes)

    def ranges(self, key: str, nodes: int) -> tuple[int, ...]:
        try:
            return ranges_of(self._data.get(key, ""), nodes)
        except WrongPart as wrong:
            self.problem(key, str(wrong))
            return ()

    def facts(self, nodes: int) -> Facts:
        try:
            told = json.dumps(self._data.get("facts", {}))
        except RecursionError:
            return self.read_facts(nodes)
        facts, problems = _facts(told, nodes, self._name)
        self.problems += problems[: MOST_PROBLEMS - len(self.problems)]
        return facts

    def read_facts(self, nodes: int) -> Facts:
        entries = self._entries("facts")
        return Facts({name: tuple(self._values(f"facts.{name[:80]}", values, nodes)) for name, values in entries})

    def _values(self, key: str, values: Any, nodes: int) -> Iterator[Value]:
        if not isinstance(values, list) or len(values) > MOST_TEXTS:
            self.problem(key, f"not a list of at most {MOST_TEXTS} values")
            return
        seen: set[int] = set()
        for value in values:
            if isinstance(value, dict) and _is_count(value.get("dropped")):
                self.problem(key, f"the job dropped the values of {value['dropped']} nodes")
                continue
            try:
                if not isinstance(value, dict) or not isinstance(value.get("value"), str):
                    raise WrongPart(f"{_short(value)} is not a value with its nodes")
                members = ranges_of(value.get("nodes"), nodes)
                if seen & set(members):
                    raise WrongPart("two values for one node")
            except WrongPart as wrong:
                self.problem(key, str(wrong))
                continue
            seen.update(members)
            yield Value(members, clean(value["value"]))


@functools.lru_cache(maxsize=256)
def _facts(told: str, nodes: int, name: str) -> tuple[Facts, tuple[str, ...]]:
    """Facts and their problems: jobs on the same nodes have the same facts, which are then parsed once."""
    reader = _PartsReader({"facts": json.loads(told)}, name)
    facts = reader.read_facts(nodes)
    return facts, tuple(reader.problems)


_RANGES = re.compile(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*")


def ranges_of(text: Any, nodes: int) -> tuple[int, ...]:
    """Indices below `nodes` in "0-3,5"."""
    if text == "":
        return ()
    if not isinstance(text, str) or not _RANGES.fullmatch(text):
        raise WrongPart(f"{_short(text)} is not a list of node ranges such as 0-3,5")
    indices: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not low <= high < nodes or (indices and low <= indices[-1]):
            raise WrongPart(f"{_short(text)}: not ascending, or beyond the last of {nodes} nodes (counted from 0)")
        indices.extend(range(low, high + 1))
    return tuple(indices)


# --- accounting.json


def read_accounting(path: Path) -> Accounting | None:
    """Read jobs/<job>/accounting.json; None if it does not exist. Raises nothing."""
    if not path.exists():
        return None
    content, problem = _load(path)
    if problem:
        return Accounting(problems=(f"{path.name}: {problem}",))
    return parse_accounting(content, path.name)


def parse_accounting(content: bytes, name: str = "accounting.json") -> Accounting:
    """Parse an accounting.json; errors are in its problems."""
    try:
        data = _object(content)
        if data.get("format") != 1:
            raise WrongPart(f"format {_short(data.get('format'))}; expected {1}")
        steps = data.get("steps", [])
        if not isinstance(steps, list) or len(steps) > MOST_TEXTS:
            raise WrongPart(f"steps: not a list of at most {MOST_TEXTS}")
    except WrongPart as wrong:
        return Accounting(problems=(f"{name}: {wrong}",))
    reader = _PartsReader(data, name)
    asked, job, met_by_job = reader.number("asked"), reader.texts("job"), reader.list_of_texts("problems")
    rows = [_PartsReader({"steps": row}, name) for row in steps]
    steps = tuple(row.texts("steps") for row in rows)
    problems = (*met_by_job, *reader.problems, *(problem for row in rows for problem in row.problems))
    return Accounting(asked or 0.0, job, data.get("accounting") is True, steps, problems[:MOST_PROBLEMS])


# --- what JSON may hold


def clean(text: str) -> str:
    """A text that can be stored and shown: no lone surrogates, no control characters, limited length."""
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} ... (cut)"
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def _load(path: Path) -> tuple[bytes, str]:
    """The content of a plain file within limits, and its problem."""
    try:
        content, size = plain_file.read(path, LARGEST_BYTES)
    except FileNotFoundError:
        return b"", "not found"
    except (OSError, ValueError) as error:
        pass_on_limit(error)
        return b"", f"cannot be read: {error}"
    except plain_file.NotPlain:
        content, size = b"", LARGEST_BYTES + 1
    return (content, "") if size <= LARGEST_BYTES else (b"", f"not a regular file of at most {LARGEST_BYTES} bytes")


def _object(content: bytes) -> dict[str, Any]:
    try:
        data = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise WrongPart(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise WrongPart("not a JSON object")
    return data


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e15 if isinstance(value, int) else math.isfinite(value)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_space_or_none(value: Any) -> bool:
    if not isinstance(value, dict):
        return value is None
    return _is_number(value.get("time")) and all(_is_count(value.get(name)) for name in _COUNTS)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def _clock(value: Any) -> float | None:
    """Seconds since 1970, which the nodes give as a text."""
    return float(value) if isinstance(value, str) and re.fullmatch(r"\d{1,12}(\.\d{1,9})?", value) else None


def _short(value: Any) -> str:
    text = ascii(value) if not isinstance(value, dict | list) else type(value).__name__
    return text if len(text) <= 60 else text[:60] + "..."

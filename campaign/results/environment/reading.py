"""Reads environment.json and accounting.json.

Both may come from a stranger: they are read within bounds, and what is not as it should be becomes a problem in words,
never an exception.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeGuard

from campaign.results.environment.facts import Accounting, Environment, Evidence, Node, Space, Value
from campaign.results.environment.slurm_text import MOST_NODES, slurm_fields

FORMATS = (1, 2)
LARGEST_BYTES = 16 << 20  # of an environment.json: 1,000 nodes take about 100 KB
MOST_TEXTS = 2_000  # facts, variables, values of one fact
LONGEST = 8_192  # characters of one text; the job cuts at 4,000 bytes


class Wrong(ValueError):
    """A part of the file is not as it should be; says which."""


# --- environment.json


def read(path: Path) -> Evidence:
    """An attempt's or a job's environment.json. Raises nothing."""
    content, problem = _load(path)
    if problem:
        return Evidence(Environment(problems=(f"{path.name}: {problem}",)))
    return parse(content, path.name)


def parse(content: bytes, name: str = "environment.json") -> Evidence:
    """The content of an environment.json of any known format. What is wrong is in the environment's problems."""
    try:
        data = _object(content)
        kind = data.get("format")
        if isinstance(kind, bool) or kind not in FORMATS:
            raise Wrong(f"format {_short(kind)}, known here: {', '.join(map(str, FORMATS))}")
    except Wrong as wrong:
        return Evidence(Environment(problems=(f"{name}: {wrong}",)))
    reader = _Reader(data, name)
    if kind == 1:
        return Evidence(_first_format(reader))
    own = reader.truth_or_none("made"), reader.space("before"), reader.space("after")
    return Evidence(_second_format(reader), *own)


def _first_format(reader: _Reader) -> Environment:
    """One host, its kernel, and the variables."""
    facts = {
        fact: (Value((0,), text),)
        for fact, key in (("kernel.release", "kernel"), ("fs.type", "file_system"))
        if (text := reader.text(key))
    }
    at = reader.number("unix_time")
    host = reader.text("host")
    variables = reader.texts("environment")
    return Environment(
        format=1,
        started=at,
        ended=at,
        host=host,
        directory=reader.text("directory"),
        nodes=(Node(variables.get("SLURMD_NODENAME", host), host, at),) if host else (),
        facts=facts if host else {},
        variables=variables,
        problems=tuple(reader.problems),
    )


def _second_format(reader: _Reader) -> Environment:
    nodes = reader.nodes()
    values: dict[str, Any] = {
        "started": reader.number("started"),
        "ended": reader.number("ended"),
        "host": reader.text("host"),
        "directory": reader.text("directory"),
        "executable": reader.text("executable"),
        "nodes": nodes,
        "incomplete": reader.ranges("incomplete", len(nodes)),
        "facts": reader.facts(len(nodes)),
        "variables": reader.texts("environment"),
        "job": slurm_fields(reader.text("job")),
        "other_jobs": reader.count_or_none("other_jobs"),
        "software": reader.texts("software"),
        "storage": reader.texts("storage"),
        "space": reader.space("space"),
    }
    told = reader.list_of_texts("problems")
    return Environment(format=2, problems=(*told, *reader.problems), **values)


class _Reader:
    """Takes parts out of a JSON object; what is not as it should be is left out and said in `problems`."""

    def __init__(self, data: Mapping[str, Any], name: str) -> None:
        self._data, self._name = data, name
        self.problems: list[str] = []

    def problem(self, key: str, what: str) -> None:
        if len(self.problems) < 20:
            self.problems.append(f"{self._name}: {key}: {what}")

    def text(self, key: str) -> str:
        value = self._data.get(key, "")
        if isinstance(value, str):
            return clean(value)
        self.problem(key, f"{_short(value)} is no text")
        return ""

    def number(self, key: str) -> float | None:
        value = self._data.get(key)
        if _is_number(value):
            return float(value)
        self.problem(key, f"{_short(value)} is no number")
        return None

    def count_or_none(self, key: str) -> int | None:
        value = self._data.get(key)
        if value is None or _is_count(value):
            return value
        self.problem(key, f"{_short(value)} is no count")
        return None

    def truth_or_none(self, key: str) -> bool | None:
        value = self._data.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.problem(key, f"{_short(value)} is neither true nor false")
        return None

    def texts(self, key: str) -> dict[str, str]:
        """An object of texts."""
        value = self._data.get(key, {})
        if not isinstance(value, dict):
            self.problem(key, f"{_short(value)} is no object")
            return {}
        if len(value) > MOST_TEXTS:
            self.problem(key, f"{len(value)} entries, of which {MOST_TEXTS} were read")
        found = {}
        for name, text in list(value.items())[:MOST_TEXTS]:
            if isinstance(text, str):
                found[clean(name)] = clean(text)
            else:
                self.problem(f"{key}.{clean(name)[:80]}", f"{_short(text)} is no text")
        return found

    def list_of_texts(self, key: str) -> tuple[str, ...]:
        value = self._data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            self.problem(key, f"{_short(value)} is no list of texts")
            return ()
        return tuple(clean(text) for text in value[:MOST_TEXTS])

    def space(self, key: str) -> Space | None:
        value = self._data.get(key)
        if value is None:
            return None
        names = [one.name for one in fields(Space) if one.name != "time"]
        if (
            not isinstance(value, dict)
            or not _is_number(value.get("time"))
            or not all(_is_count(value.get(name)) for name in names)
        ):
            self.problem(key, f"{_short(value)} is no space of a file system")
            return None
        return Space(float(value["time"]), *(value[name] for name in names))

    def nodes(self) -> tuple[Node, ...]:
        value = self._data.get("nodes", [])
        if not isinstance(value, list) or len(value) > MOST_NODES:
            self.problem("nodes", f"no list of at most {MOST_NODES} nodes")
            return ()
        found = []
        for number, node in enumerate(value):
            name = node.get("name") if isinstance(node, dict) else None
            if not isinstance(name, str):
                self.problem(f"nodes[{number}]", f"{_short(node)} has no name")
                found.append(Node("", ""))
                continue
            hostname, boot = node.get("hostname", name), node.get("boot")
            found.append(
                Node(
                    clean(name),
                    clean(hostname) if isinstance(hostname, str) else "",
                    _clock(node.get("clock")),
                    clean(boot) if isinstance(boot, str) else "",
                )
            )
        return tuple(found)

    def ranges(self, key: str, nodes: int) -> tuple[int, ...]:
        try:
            return ranges_of(self._data.get(key, ""), nodes)
        except Wrong as wrong:
            self.problem(key, str(wrong))
            return ()

    def facts(self, nodes: int) -> dict[str, tuple[Value, ...]]:
        value = self._data.get("facts", {})
        if not isinstance(value, dict):
            self.problem("facts", f"{_short(value)} is no object")
            return {}
        if len(value) > MOST_TEXTS:
            self.problem("facts", f"{len(value)} facts, of which {MOST_TEXTS} were read")
        return {
            clean(name): tuple(self._values(f"facts.{clean(name)[:80]}", said, nodes))
            for name, said in list(value.items())[:MOST_TEXTS]
        }

    def _values(self, key: str, said: Any, nodes: int) -> Iterator[Value]:
        if not isinstance(said, list) or len(said) > MOST_TEXTS:
            self.problem(key, f"no list of at most {MOST_TEXTS} values")
            return
        told: set[int] = set()
        for one in said:
            if isinstance(one, dict) and _is_count(one.get("dropped")):
                self.problem(key, f"the values of {one['dropped']} nodes were not kept")
                continue
            try:
                if not isinstance(one, dict) or not isinstance(one.get("value"), str):
                    raise Wrong(f"{_short(one)} is no value")
                members = ranges_of(one.get("nodes"), nodes)
                if told & set(members):
                    raise Wrong("a node has two values")
            except Wrong as wrong:
                self.problem(key, str(wrong))
                continue
            told.update(members)
            yield Value(members, clean(one["value"]))


_RANGES = re.compile(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*")


def ranges_of(text: Any, nodes: int) -> tuple[int, ...]:
    """Indices below `nodes` in "0-3,5"."""
    if text == "":
        return ()
    if not isinstance(text, str) or not _RANGES.fullmatch(text):
        raise Wrong(f"{_short(text)} is no list of ranges of nodes")
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not low <= high < nodes or (found and low <= found[-1]):
            raise Wrong(f"{_short(text)} are no nodes of the {nodes} in ascending order")
        found.extend(range(low, high + 1))
    return tuple(found)


# --- accounting.json


def read_accounting(path: Path) -> Accounting | None:
    """jobs/<job>/accounting.json; None where there is none. Raises nothing."""
    if not path.exists():
        return None
    content, problem = _load(path)
    return Accounting(problems=(f"{path.name}: {problem}",)) if problem else parse_accounting(content, path.name)


def parse_accounting(content: bytes, name: str = "accounting.json") -> Accounting:
    """The content of an accounting.json; what is wrong with it is in its problems."""
    try:
        data = _object(content)
        if data.get("format") != 1:
            raise Wrong(f"format {_short(data.get('format'))}, known here: 1")
        steps = data.get("steps", [])
        if not isinstance(steps, list) or len(steps) > MOST_TEXTS:
            raise Wrong(f"steps: no list of at most {MOST_TEXTS}")
    except Wrong as wrong:
        return Accounting(problems=(f"{name}: {wrong}",))
    reader = _Reader(data, name)
    asked, job = reader.number("asked"), reader.texts("job")
    rows = [_Reader({"steps": row}, name) for row in steps]
    found = tuple(row.texts("steps") for row in rows)
    told = reader.list_of_texts("problems")
    problems = (*told, *reader.problems, *(problem for row in rows for problem in row.problems))
    return Accounting(asked or 0.0, job, data.get("accounting") is True, found, problems[:20])


# --- what JSON may hold


def clean(text: str) -> str:
    """A text that can be stored and shown: no lone surrogate, no control character, not endless."""
    text = text if len(text) <= LONGEST else text[:LONGEST] + " ... (cut)"
    text = text.encode("utf-8", "replace").decode("utf-8")
    return (
        "".join(character if character.isprintable() else " " for character in text) if not text.isprintable() else text
    )


def _load(path: Path) -> tuple[bytes, str]:
    """The content of a plain file within bounds, and what is wrong with it; no link is followed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b"", "is not there"
    except (OSError, ValueError) as error:
        return b"", f"cannot be read: {error}"
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST_BYTES:
            return b"", f"is no plain file of at most {LARGEST_BYTES} bytes"
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(LARGEST_BYTES), ""
    except OSError as error:
        return b"", f"cannot be read: {error.strerror}"
    finally:
        os.close(descriptor)


def _object(content: bytes) -> dict[str, Any]:
    try:
        data = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Wrong(f"is no JSON: {error}") from None
    if not isinstance(data, dict):
        raise Wrong("is no JSON object")
    return data


def _is_number(value: Any) -> TypeGuard[float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e15 if isinstance(value, int) else math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def _clock(value: Any) -> float | None:
    """Seconds since 1970, which the nodes give as a text."""
    return float(value) if isinstance(value, str) and re.fullmatch(r"\d{1,12}(\.\d{1,9})?", value) else None


def _short(value: Any) -> str:
    text = ascii(value) if not isinstance(value, dict | list) else type(value).__name__
    return text if len(text) <= 60 else text[:60] + "..."

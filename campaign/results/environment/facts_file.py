"""facts.jsonl of an attempt or a job: a line for each fact (docs/formats.md).

It may come from anybody: it is read within limits, and what is damaged becomes a problem with its line, never an
exception.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaign.core import untrusted
from campaign.core.errors import pass_on_limit
from campaign.core.grouping import grouped

NAME = "facts.jsonl"
UNFINISHED = "facts.jsonl.new"  # its name until the attempt has ended
FORMAT = 1
LARGEST_BYTES = 128 << 20  # 1,000 nodes take about 200 KB, a day of the servers' counters 20 MB
MOST_PROBLEMS = 20
_SHORT_LINE = 1_000  # bytes: so that what is kept of read lines is at most 10 MB
LONGEST = 8_192  # characters of one text; the job cuts at 4,000 bytes
_TEXTS = ("source", "name", "node", "rank", "phase", "unit")


@dataclass(frozen=True, slots=True)
class FactLine:
    """What a source says. `node`: a list as Slurm has it, `n[1-3,7]`; `rank`: ranges, `0-3,8`; `value`: any JSON;
    `time`: when it was seen, in seconds since 1970.
    """

    line: int
    source: str
    name: str
    value: Any
    node: str = ""
    rank: str = ""
    phase: str = ""
    unit: str = ""
    time: float = 0.0


@dataclass(frozen=True)
class FactsFile:
    """`refusal`: why nothing was read, "" if something was. `problems`: the damaged lines, and the refusal."""

    facts: tuple[FactLine, ...] = ()
    is_ended: bool = False  # the attempt: all of its facts are there
    refusal: str = ""
    problems: tuple[str, ...] = ()

    @functools.cached_property
    def _by_source(self) -> Mapping[str, list[FactLine]]:
        return grouped((fact.source, fact) for fact in self.facts)

    def from_source(self, source: str) -> tuple[FactLine, ...]:
        return tuple(self._by_source.get(source, ()))


def has_ended(folder: Path) -> bool:
    """Whether all facts of the attempt in a folder are there."""
    return os.path.lexists(folder / NAME)


def read(folder: Path) -> FactsFile:
    """The facts in the folder of an attempt or a job; of an attempt that has not ended, those that there are. Raises
    nothing.
    """
    is_ended = has_ended(folder)
    content, problem = load(folder / (NAME if is_ended else UNFINISHED), LARGEST_BYTES)
    return _refused(problem, is_ended) if problem else parse(content, is_ended)


def load(path: Path, most_bytes: int) -> tuple[bytes, str]:
    """The content of a plain file within limits, and its problem."""
    try:
        content, size = untrusted.read(path, most_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return b"", "not found"
    except (OSError, ValueError) as error:
        pass_on_limit(error)
        return b"", f"cannot be read: {getattr(error, 'strerror', error)}"
    except untrusted.NotPlain:
        content, size = b"", most_bytes + 1
    return (content, "") if size <= most_bytes else (b"", f"not a regular file of at most {most_bytes} bytes")


def parse(content: bytes, is_ended: bool = True) -> FactsFile:
    """The facts in the lines of a file whose first line has its format."""
    first, *lines = content.split(b"\n")
    try:
        form = object_of(first).get("format")
    except ValueError as error:
        return _refused(str(error), is_ended)
    if form != FORMAT or form is True:
        return _refused(f"format {untrusted.abbreviate(form)}; expected {FORMAT}", is_ended)
    facts, problems = list[FactLine](), list[str]()
    for number, line in enumerate(lines, 2):
        try:
            if line:
                facts.append((_known_fact if len(line) < _SHORT_LINE else _fact)(number, line))
        except ValueError as error:
            problems.append(f"{NAME}:{number}: {error}")
    return FactsFile(tuple(facts), is_ended, "", tuple(problems[:MOST_PROBLEMS]))


def _refused(reason: str, is_ended: bool = False) -> FactsFile:
    return FactsFile((), is_ended, reason, (f"{NAME}: {reason}",))


def object_of(content: bytes) -> Mapping[str, Any]:
    """The JSON object that a line or a file is. Raises ValueError."""
    try:
        value = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def _fact(number: int, line: bytes) -> FactLine:
    """Raises ValueError if it has no source or no name, or a field of another type."""
    fields = object_of(line)
    texts = {key: fields.get(key, "") for key in _TEXTS}
    for key, text in texts.items():
        if not isinstance(text, str) or (key in _TEXTS[:2] and not text):
            raise ValueError(f"{key}: {untrusted.abbreviate(fields.get(key))} is not a text")
    source, name, node, rank, phase, unit = map(clean, texts.values())
    time = untrusted.JsonFields(fields).number_of("time") if "time" in fields else 0.0
    value = fields.get("value")
    return FactLine(
        number, source, name, clean(value) if isinstance(value, str) else value, node, rank, phase, unit, time
    )


# The facts of an attempt begin with those of its job, and most facts of nodes are the same in all jobs.
_known_fact = functools.lru_cache(maxsize=10_000)(_fact)


def clean(text: str) -> str:
    """A text that can be stored and shown: no lone surrogates, no control characters, limited length."""
    if text.isascii() and text.isprintable() and len(text) <= LONGEST:  # as most are
        return text
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} ... (cut)"
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)

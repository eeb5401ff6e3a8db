"""Reads environment.json, accounting.json and counters.jsonl.

They may come from an untrusted source: they are read within limits, and errors in them become problems in words, never
exceptions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from campaign.core import untrusted
from campaign.core.errors import pass_on_limit
from campaign.results.environment import facts
from campaign.results.environment.slurm_text import MOST_NODES, slurm_fields

FORMAT = 2
ACCOUNTING_FORMAT = 1
LARGEST_BYTES = 16 << 20  # of an environment.json: 1,000 nodes take about 100 KB
MOST_TEXTS = 2_000  # facts, variables, values of one fact
MOST_PROBLEMS = 20
LONGEST = 8_192  # characters of one text; the job cuts at 4,000 bytes
_OF_ATTEMPT = ("made", "before", "after", "ran")  # parts of a record that are not its job's
_PASSING = "state."  # facts that change from moment to moment, and are compared with nothing
_COUNTS = tuple(field.name for field in fields(facts.FileSystemSpace) if field.name != "time")

Taken = TypeVar("Taken")


# --- environment.json


def read(path: Path) -> facts.Evidence:
    """Read an attempt's or a job's environment.json. Raises nothing."""
    content, problem = _load(path)
    if problem:
        return facts.Evidence(facts.Environment(problems=(f"{path.name}: {problem}",)))
    return parse(content, path.name)


def parse(content: bytes, name: str = "environment.json") -> facts.Evidence:
    """Parse an environment.json. Errors are in the environment's problems."""
    try:
        data = _object(content, FORMAT)
        environment = _environment(json.dumps({key: data[key] for key in data if key not in _OF_ATTEMPT}), name)
        witness = _witness(json.dumps(data.get("ran")), name)
    except (untrusted.WrongField, RecursionError) as wrong:
        return facts.Evidence(facts.Environment(problems=(f"{name}: {wrong}",)))
    reader = _PartsReader(data, name)
    made = reader.take("made", reader.fields.truth, None)
    before, after = reader.space("before"), reader.space("after")
    if reader.problems:
        environment = replace(environment, problems=(*environment.problems, *reader.problems))
    return facts.Evidence(environment, made, before, after, witness=witness)


@lru_cache(maxsize=4)  # attempts of one program see the same
def _witness(ran: str, name: str) -> facts.Witness:
    """What was seen of the ranks, but for `ranks`; empty if the job did not look."""
    data = json.loads(ran)
    if not isinstance(data, dict):
        return facts.Witness()
    reader = _PartsReader(data, name)
    recorded = reader.observed(len(reader.nodes()))
    seen = {fact: tuple(dict.fromkeys(value.text for value in values)) for fact, values in recorded.items()}

    def under(prefix: str) -> dict[str, tuple[str, ...]]:
        return {fact.removeprefix(prefix): values for fact, values in seen.items() if fact.startswith(prefix)}

    programs = {digest: ", ".join(paths) for digest, paths in under("program.").items()}
    of_ranks, unset = under("env."), under("unset.")
    variables = {name: (*of_ranks.get(name, ()), *("",) * (name in unset)) for name in {**of_ranks, **unset}}
    preloads = {name: values for name, values in of_ranks.items() if name.startswith("LD_")}
    threads = of_ranks.get("OMP_NUM_THREADS", ())
    problems = (*reader.words("problems"), *reader.problems)
    return facts.Witness(True, programs, under("library."), preloads, threads, variables, problems=problems)


_RANK = re.compile(r"([0-9]{1,9}) (\S{1,255}) ([0-9a-f]{16}(?:,[0-9a-f]{16})*)(?: ([a-z0-9-]{1,40}))?")


def ranks_of(text: str) -> dict[str, str]:
    """A witness's `ranks`, from the lines of ran.txt: RANK NODE HASH,HASH [PHASE]; others are ignored."""
    matches = filter(None, map(_RANK.fullmatch, text.splitlines()))
    return {f"{int(match[1])} {match[4] or ''}".rstrip(): f"{match[2]} {match[3]}" for match in matches}


_HASHED = re.compile(r"(\S{1,255}) ([0-9a-f]{64}|unread) ([0-9]{1,18}) (/.{1,4096})")


def inputs_of(text: str) -> Iterator[facts.HashedInput]:
    """What inputs.txt says, in lines NODE SHA-256 SIZE PATH; others are ignored."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := _HASHED.fullmatch(line):
            node, digest, size, path = match.groups()
            yield facts.HashedInput(clean(node), clean(path), "" if digest == "unread" else digest, int(size), number)


@lru_cache(maxsize=4)  # the attempts of a job repeat its record
def _environment(of_job: str, name: str) -> facts.Environment:
    reader = _PartsReader(json.loads(of_job), name)
    nodes = reader.nodes()
    observed = reader.observed(len(nodes))
    return facts.Environment(
        recorded=True,
        started=reader.take("started", reader.fields.number_of, None),
        ended=reader.take("ended", reader.fields.number_of, None),
        directory=reader.text("directory"),
        nodes=nodes,
        incomplete=reader.indices("incomplete", len(nodes)),
        facts={name: values for name, values in observed.items() if not name.startswith(_PASSING)},
        variables=reader.texts("environment"),
        set_by_slurm=reader.words("set_by_slurm"),
        job=slurm_fields(reader.text("job")),
        other_jobs=reader.take("other_jobs", reader.fields.count, None),
        software=reader.texts("software"),
        storage=reader.texts("storage"),
        space=reader.space("space"),
        problems=(*reader.words("problems"), *reader.problems),  # last: reading the others adds to them
    )


class _PartsReader:
    """Takes parts out of a JSON object; invalid ones are left out and reported in `problems`."""

    def __init__(self, data: Mapping[str, Any], name: str) -> None:
        self.fields, self._name = untrusted.JsonFields(data), name
        self.problems: list[str] = []

    def problem(self, text: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(f"{self._name}: {text}")

    def take(self, key: str, get: Callable[[str], Taken], absent: Taken) -> Taken:
        """The value of a key; `absent` if it is missing or null, or invalid, which is a problem."""
        if self.fields.get(key) is None:
            return absent
        try:
            return get(key)
        except untrusted.WrongField as wrong:
            self.problem(str(wrong))
            return absent

    def text(self, key: str) -> str:
        return clean(self.take(key, self.fields.text, ""))

    def words(self, key: str) -> tuple[str, ...]:
        words: tuple[str, ...] = ()
        return tuple(clean(word) for word in self.take(key, self.fields.words, words)[:MOST_TEXTS])

    def _entries(self, key: str) -> list[tuple[str, Any]]:
        """Names and values of an object, up to MOST_TEXTS."""
        none: Mapping[str, Any] = {}
        entries = self.take(key, self.fields.entries, none)
        if len(entries) > MOST_TEXTS:
            self.problem(f"{key}: {len(entries)} entries; only the first {MOST_TEXTS} were read")
        return [(clean(name), value) for name, value in list(entries.items())[:MOST_TEXTS]]

    def texts(self, key: str) -> dict[str, str]:
        """An object of texts."""
        texts = {}
        for name, text in self._entries(key):
            if isinstance(text, str):
                texts[name] = clean(text)
            else:
                self.problem(f"{key}.{name[:80]}: {untrusted.short(text)} is not a string")
        return texts

    def space(self, key: str) -> facts.FileSystemSpace | None:
        return self.take(key, self._space, None)

    def _space(self, key: str) -> facts.FileSystemSpace:
        value = self.fields.get(key)
        given = untrusted.JsonFields.from_value(value)
        try:
            return facts.FileSystemSpace(given.number_of("time"), *(given.count(name) for name in _COUNTS))
        except untrusted.WrongField:
            raise untrusted.WrongField(
                f"{key}: {untrusted.short(value)} does not describe the space of a file system"
            ) from None

    def nodes(self) -> tuple[facts.Node, ...]:
        nodes = self.fields.data.get("nodes", [])
        if not isinstance(nodes, list) or len(nodes) > MOST_NODES:
            self.problem(f"nodes: not a list of at most {MOST_NODES} nodes")
            return ()
        return tuple(self._node(number, node) for number, node in enumerate(nodes))

    def _node(self, number: int, value: Any) -> facts.Node:
        texts = {
            key: clean(text)
            for key, text in untrusted.JsonFields.from_value(value).data.items()
            if isinstance(text, str)
        }
        if "name" not in texts:
            self.problem(f"nodes[{number}]: {untrusted.short(value)} has no name")
            return facts.Node("", "")
        clock = texts.get("clock", "")
        seconds = float(clock) if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", clock) else None
        return facts.Node(texts["name"], texts.get("hostname", texts["name"]), seconds, texts.get("boot", ""))

    def indices(self, key: str, nodes: int) -> tuple[int, ...]:
        try:
            return facts.indices(self.take(key, self.fields.text, ""), nodes)
        except ValueError as error:
            self.problem(f"{key}: {error}")
            return ()

    def observed(self, nodes: int) -> dict[str, tuple[facts.Value, ...]]:
        return {name: tuple(self._values(f"facts.{name[:80]}", given, nodes)) for name, given in self._entries("facts")}

    def _values(self, key: str, values: Any, nodes: int) -> Iterator[facts.Value]:
        if not isinstance(values, list) or len(values) > MOST_TEXTS:
            self.problem(f"{key}: not a list of at most {MOST_TEXTS} values")
            return
        seen: set[int] = set()
        for value in values:
            try:
                yield _value(value, nodes, seen)
            except ValueError as error:
                self.problem(f"{key}: {error}")


def _value(given: Any, nodes: int, seen: set[int]) -> facts.Value:
    """A fact's value on nodes that are not in `seen`, to which they are added. Raises ValueError."""
    text, ranges, dropped = map(untrusted.JsonFields.from_value(given).get, ("value", "nodes", "dropped"))
    if isinstance(dropped, int):
        raise ValueError(f"the job dropped the values of {dropped} nodes")
    if not isinstance(text, str) or not isinstance(ranges, str):
        raise ValueError(f"{untrusted.short(given)} is not a value with its nodes")
    members = facts.indices(ranges, nodes)
    if not seen.isdisjoint(members):
        raise ValueError("two values for one node")
    seen.update(members)
    return facts.Value(ranges, clean(text))


# --- accounting.json


def read_accounting(path: Path) -> facts.Accounting | None:
    """Read jobs/<job>/accounting.json; None if it does not exist. Raises nothing."""
    if not path.exists():
        return None
    content, problem = _load(path)
    if problem:
        return facts.Accounting(problems=(f"{path.name}: {problem}",))
    return parse_accounting(content, path.name)


def parse_accounting(content: bytes, name: str = "accounting.json") -> facts.Accounting:
    """Parse an accounting.json; errors are in its problems."""
    try:
        data = _object(content, ACCOUNTING_FORMAT)
        steps = data.get("steps", [])
        if not isinstance(steps, list) or len(steps) > MOST_TEXTS:
            raise untrusted.WrongField(f"steps: not a list of at most {MOST_TEXTS}")
    except untrusted.WrongField as wrong:
        return facts.Accounting(problems=(f"{name}: {wrong}",))
    reader = _PartsReader(data, name)
    asked = reader.take("asked", reader.fields.number_of, 0.0)
    job, met_by_job = reader.texts("job"), reader.words("problems")
    rows = [_PartsReader({"steps": row}, name) for row in steps]
    steps = tuple(row.texts("steps") for row in rows)
    problems = (*met_by_job, *reader.problems, *(problem for row in rows for problem in row.problems))
    return facts.Accounting(asked, job, data.get("accounting") is True, steps, problems[:MOST_PROBLEMS])


# --- what JSON may hold


def clean(text: str) -> str:
    """A text that can be stored and shown: no lone surrogates, no control characters, limited length."""
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]} ... (cut)"
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if text.isprintable() else "".join(char if char.isprintable() else " " for char in text)


def _load(path: Path) -> tuple[bytes, str]:
    """The content of a plain file within limits, and its problem."""
    try:
        content, size = untrusted.read(path, LARGEST_BYTES)
    except FileNotFoundError:
        return b"", "not found"
    except (OSError, ValueError) as error:
        pass_on_limit(error)
        return b"", f"cannot be read: {error}"
    except untrusted.NotPlain:
        content, size = b"", LARGEST_BYTES + 1
    return (content, "") if size <= LARGEST_BYTES else (b"", f"not a regular file of at most {LARGEST_BYTES} bytes")


def _object(content: bytes, form: int) -> dict[str, Any]:
    """The object in a file of this format. Raises WrongField."""
    try:
        data = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise untrusted.WrongField(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise untrusted.WrongField("not a JSON object")
    if data.get("format") != form:
        raise untrusted.WrongField(f"format {untrusted.short(data.get('format'))}; expected {form}")
    return data


# --- counters.jsonl: the counters of a target's servers at several times during an execution
#
# A line with the name of a phase was written when that phase had ended, before the next one began. A benchmark that
# cannot do this was sampled while it ran: then the servers' counters show when it created its last file and removed its
# first one, and what they did in between, as exactly as the samples are dense.

LARGEST_COUNTERS = 64 << 20  # a day of samples is 20 MB
PHASES = ("create", "stat", "remove")


@dataclass(frozen=True, slots=True)
class Count:
    when: str
    counts: Mapping[str, int]


def read_counters(path: Path) -> dict[str, facts.Served]:
    """What the servers did in each phase, as far as the file shows: it may come from anybody. Raises OSError if a file
    that exists cannot be read.
    """
    try:
        content, size = untrusted.read(path, LARGEST_COUNTERS)
    except (FileNotFoundError, NotADirectoryError, untrusted.NotPlain):
        return {}
    return {} if size > LARGEST_COUNTERS else served(samples(content))


def samples(content: bytes) -> list[Count]:
    """The complete lines with numbers."""
    found = []
    for line in content.splitlines():
        with suppress(ValueError, RecursionError):
            said = untrusted.JsonFields.from_value(json.loads(line.decode("utf-8")))
            counts = untrusted.JsonFields(said.entries("counts"))
            found.append(Count(said.text("when"), {kind: counts.count(kind) for kind in counts.data}))
    return found


def served(found: Sequence[Count]) -> dict[str, facts.Served]:
    """Operations of a phase's own kind, by phase; of several iterations, those with the fewest. Empty if servers were
    restarted.
    """
    if any(
        later.counts.get(kind, 0) < count for sooner, later in pairwise(found) for kind, count in sooner.counts.items()
    ):
        return {}
    known = {}
    for phase in PHASES:
        did = [
            later.counts[phase] - sooner.counts[phase]
            for sooner, later in pairwise(found)
            if later.when == phase and phase in sooner.counts and phase in later.counts
        ]
        if did:
            known[phase] = facts.Served(min(did), min(did))
    if not known and (between := _served_between(found)):
        known["stat"] = between
    return known


def _served_between(found: Sequence[Count]) -> facts.Served | None:
    """The stats between the creation of the last file and the removal of the first."""
    usable = [sample for sample in found if all(phase in sample.counts for phase in PHASES)]
    if len(usable) < 2:
        return None
    first, last = usable[0].counts, usable[-1].counts
    creating = [n for n, sample in enumerate(usable) if sample.counts["create"] < last["create"]]
    removing = [n for n, sample in enumerate(usable) if sample.counts["remove"] > first["remove"]]
    if not creating or not removing or creating[-1] > removing[0]:
        return None
    stats = [sample.counts["stat"] for sample in usable]
    before, after = creating[-1], removing[0]
    inner = max(0, stats[after - 1] - stats[before + 1]) if after - 1 > before else 0
    return facts.Served(inner, stats[after] - stats[before])

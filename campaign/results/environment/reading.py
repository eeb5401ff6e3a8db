"""The facts of an attempt or a job -> what is known of its environment; and accounting.json.

They may come from anybody: errors in them become problems in words, never exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from campaign.core import untrusted
from campaign.core.frozen import replace
from campaign.core.grouping import grouped
from campaign.core.units import parse_ranges
from campaign.results.environment import energy, facts, facts_file
from campaign.results.environment.facts_file import NAME, FactLine, FactsFile, clean
from campaign.results.environment.slurm_text import MOST_NODES, expand_nodes, slurm_fields

ACCOUNTING_FORMAT = 1
LARGEST_ACCOUNTING = 16 << 20  # bytes
MOST_TEXTS = 2_000  # facts, variables, values of one fact
MOST_RANKS = 2_000_000
_PASSING = "state."  # facts that change from moment to moment, and are compared with nothing
_ABOUT_NODES = frozenset({"answered", "hostname", "clock", "boot", "end"})
_COUNTS = tuple(field.name for field in fields(facts.FileSystemSpace) if field.name != "time")

Taken = TypeVar("Taken")


class _Problems(list[str]):
    """What is wrong, in words that begin with the place."""

    def add(self, place: str, problem: object) -> None:
        if len(self) < facts_file.MOST_PROBLEMS:
            self.append(f"{place}: {problem}")

    def at_fact(self, fact: FactLine, problem: object) -> None:
        self.add(f"{NAME}:{fact.line}", problem)

    def texts(self, place: str, entries: Sequence[tuple[str, Any]]) -> list[tuple[str, str]]:
        """The entries whose values are texts, up to MOST_TEXTS."""
        if len(entries) > MOST_TEXTS:
            self.add(place, f"{len(entries)} entries; only the first {MOST_TEXTS} were read")
        for name, value in entries[:MOST_TEXTS]:
            if not isinstance(value, str):
                self.add(place, f"{name[:80]}: {untrusted.abbreviate(value)} is not a string")
        return [(clean(name), clean(value)) for name, value in entries[:MOST_TEXTS] if isinstance(value, str)]

    def take(self, place: str, get: Callable[[str], Taken], key: str, absent: Taken) -> Taken:
        """The value of a field; `absent` if it is invalid."""
        try:
            return get(key)
        except untrusted.WrongField as wrong:
            self.add(place, wrong)
            return absent


class _SourceFacts:
    """The facts of one source; those that are not as they should be become problems."""

    def __init__(self, file: FactsFile, source: str, problems: _Problems) -> None:
        self.facts, self.problems, self._place = file.from_source(source), problems, f"{NAME}: {source}"
        self.by_name = grouped((fact.name, fact) for fact in self.facts)

    def take(self, name: str, get: Callable[[untrusted.JsonFields, str], Taken], absent: Taken) -> Taken:
        """The value of a fact; `absent` if there is none or it is null, or invalid, which is a problem."""
        fact = self.by_name.get(name, [None])[0]
        if fact is None or fact.value is None:
            return absent
        value = untrusted.JsonFields({name: fact.value})
        return self.problems.take(f"{NAME}:{fact.line}", lambda key: get(value, key), name, absent)

    def text(self, name: str) -> str:
        return self.take(name, untrusted.JsonFields.text, "")

    def number(self, name: str) -> float | None:
        return self.take(name, untrusted.JsonFields.optional, None)

    def words(self, name: str) -> tuple[str, ...]:
        """The texts of all facts with the name."""
        entries = [(name, fact.value) for fact in self.by_name.get(name, ())]
        return tuple(text for _, text in self.problems.texts(self._place, entries))

    def texts(self, beginning: str) -> dict[str, str]:
        """The texts of the facts whose names begin so, by the rest of their names."""
        names = [name for name in self.by_name if name.startswith(beginning)]
        entries = [(name.removeprefix(beginning), self.by_name[name][0].value) for name in names]
        return dict(self.problems.texts(self._place, entries))

    def space(self, when: str) -> facts.FileSystemSpace | None:
        parts = {count: self.by_name[f"{when}.{count}"][0] for count in _COUNTS if f"{when}.{count}" in self.by_name}
        if not parts:
            return None
        first = next(iter(parts.values()))
        counts = untrusted.JsonFields({count: fact.value for count, fact in parts.items()})
        try:
            return facts.FileSystemSpace(first.time, *map(counts.count, _COUNTS))
        except untrusted.WrongField as wrong:
            self.problems.at_fact(first, f"{when} does not describe the space of a file system: {wrong}")
            return None


# --- the facts of an attempt or a job


def read(folder: Path) -> facts.Evidence:
    """What the facts in a folder say. Raises nothing."""
    return evidence_of(facts_file.read(folder))


def evidence_of(file: FactsFile) -> facts.Evidence:
    """What the facts say, but for how the attempt ended."""
    problems = _Problems()
    host, job, target = (_SourceFacts(file, source, problems) for source in ("host", "job", "target"))
    environment = _environment(file, host, target) if host.facts else facts.Environment()
    if not host.facts and not file.refusal:
        problems.add(NAME, "no facts about the nodes")
    is_made = job.take("made", untrusted.JsonFields.boolean, None)
    before, after = target.space("before"), target.space("after")
    witness = _witness(_SourceFacts(file, "ranks", _Problems()))
    probes = grouped((fact.phase, fact) for fact in file.from_source("probe"))
    return facts.Evidence(
        replace(environment, problems=(*environment.problems, *file.problems, *problems)),
        is_made,
        before,
        after,
        placement=dict(_placements(probes, witness)),
        loader_variables=dict(_loader_variables(probes)),
        witness=witness,
        packages=dict(_packages(_SourceFacts(file, "packages", _Problems()))),
        served=served_operations(read_samples(file.from_source("servers"))),
        energy=energy.metered_energy(file.from_source("meter")),
        inputs=tuple(_inputs(file.from_source("inputs"))),
        prepared=tuple(_preparations(file.from_source("prepare"))),
    )


def _environment(file: FactsFile, host: _SourceFacts, target: _SourceFacts) -> facts.Environment:
    """The problems that the job recorded are in it, not those of reading."""
    slurm, node = (_SourceFacts(file, source, host.problems) for source in ("slurm", "node"))
    names = tuple(
        dict.fromkeys(name for fact in node.by_name.get("answered", ()) for name in _nodes(fact, host.problems))
    )
    complete = {name for fact in node.by_name.get("end", ()) for name in _nodes(fact, host.problems)}
    observed = _Observed(names, node).values()
    return facts.Environment(
        recorded=True,
        started=host.number("started"),
        ended=host.number("ended"),
        directory=host.text("directory"),
        nodes=tuple(_described_nodes(names, node)),
        incomplete=tuple(number for number, name in enumerate(names) if name not in complete),
        facts={name: values for name, values in observed if not name.startswith(_PASSING)},
        variables=host.texts("env."),
        set_by_slurm=host.words("set_by_slurm"),
        job=slurm_fields(slurm.text("job")),
        other_jobs=slurm.take("other_jobs", untrusted.JsonFields.count, None),
        software=host.texts("software."),
        storage=host.texts("storage."),
        space=target.space("space"),
        problems=host.words("problem"),
    )


def _nodes(fact: FactLine, problems: _Problems) -> tuple[str, ...]:
    """The nodes that a fact is about."""
    names = expand_nodes(fact.node)
    if names is None:
        problems.at_fact(fact, f"{fact.name}: {fact.node!r:.60} is not a list of at most {MOST_NODES} nodes")
    return names or ()


def _described_nodes(names: Sequence[str], node: _SourceFacts) -> Iterator[facts.Node]:
    """The nodes with what each says of itself alone."""
    hostnames, clocks, boots = (
        {fact.node: str(fact.value) for fact in node.by_name.get(key, ())} for key in ("hostname", "clock", "boot")
    )
    for name in names:
        clock = clocks.get(name, "")
        seconds = float(clock) if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", clock) else None
        yield facts.Node(name, hostnames.get(name, name), seconds, boots.get(name, ""))


class _Observed:
    """The values of facts on the nodes that answered, by their places in the list of those."""

    def __init__(self, names: Sequence[str], node: _SourceFacts) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._node, self._problems = node, node.problems
        self._ranges: dict[str, tuple[set[int], str]] = {}  # by list of nodes: facts share a few of them

    def values(self) -> Iterator[tuple[str, tuple[facts.Value, ...]]]:
        """The values of nodes by name, up to MOST_TEXTS names, each with up to so many values."""
        names = [name for name in self._node.by_name if name not in _ABOUT_NODES]
        if len(names) > MOST_TEXTS:
            self._problems.add(NAME, f"{len(names)} facts of nodes; only the first {MOST_TEXTS} were read")
        for name in names[:MOST_TEXTS]:
            node_facts = self._node.by_name[name]
            if name == "nameless":
                self._problems.at_fact(
                    node_facts[0], f"the names of {untrusted.abbreviate(node_facts[0].value)} nodes are not known"
                )
            elif name.startswith("dropped."):
                dropped = untrusted.abbreviate(node_facts[0].value)
                self._problems.at_fact(node_facts[0], f"{name[8:88]}: the job dropped the values of {dropped} nodes")
            else:
                yield name, tuple(self._node_values(node_facts))

    def _node_values(self, node_facts: Sequence[FactLine]) -> Iterator[facts.Value]:
        seen: set[int] = set()
        for fact in node_facts[:MOST_TEXTS]:
            indices, ranges = self._indices_of(fact)
            if not isinstance(fact.value, str) or not indices:
                self._problems.at_fact(fact, f"{fact.name[:80]}: not a text of nodes that answered")
            elif not seen.isdisjoint(indices):
                self._problems.at_fact(fact, f"{fact.name[:80]}: two values for one node")
            else:
                seen.update(indices)
                yield facts.Value(ranges, fact.value)

    def _indices_of(self, fact: FactLine) -> tuple[set[int], str]:
        """The places of its nodes, none unless all have answered, and their ranges."""
        if fact.node not in self._ranges:
            names = _nodes(fact, self._problems)
            places = {self._places[name] for name in names if name in self._places}
            self._ranges[fact.node] = (places, _as_ranges(sorted(places))) if len(places) == len(names) else (set(), "")
        return self._ranges[fact.node]


def _as_ranges(indices: Sequence[int]) -> str:
    """Ascending numbers as "0-2,5"."""
    spans: list[list[int]] = []
    for index in indices:
        if spans and spans[-1][1] == index - 1:
            spans[-1][1] = index
        else:
            spans.append([index, index])
    return ",".join(f"{low}-{high}" if high > low else f"{low}" for low, high in spans)


# --- what was seen of the ranks, and asked of their launcher

_EXECUTED = re.compile(r"[0-9a-f]{16}(?:,[0-9a-f]{16})*")
_PEAKS = re.compile(r"([0-9]{1,18}) ([0-9]{1,18}) ([0-9]{1,18})")
_PHASE = re.compile(r"[a-z0-9-]{0,40}(?:\.[0-9]{1,6})?")
_CPUS = re.compile(rf"({_PHASE.pattern}) (all|[0-9]{{1,6}}(?:,[0-9]{{1,6}})*)")
_NODE = re.compile(r"\S{1,255}")


def _witness(source: _SourceFacts) -> facts.Witness:
    """What was seen of the ranks; empty if the job did not look."""
    if not source.take("watched", untrusted.JsonFields.boolean, False):
        return facts.Witness()
    seen = {name: source.words(name) for name in source.by_name if "." in name}

    def values_with_prefix(prefix: str) -> dict[str, tuple[str, ...]]:
        return {
            name.removeprefix(prefix): tuple(dict.fromkeys(texts))
            for name, texts in seen.items()
            if name.startswith(prefix)
        }

    of_ranks, unset = values_with_prefix("env."), values_with_prefix("unset.")
    return facts.Witness(
        watched=True,
        programs={digest: ", ".join(paths) for digest, paths in values_with_prefix("program.").items()},
        inside={
            digest: tuple(dict.fromkeys(path for text in texts for path in text.split("; ")))
            for digest, texts in values_with_prefix("inside.").items()
            if digest != facts.UNREAD
        },
        libraries=values_with_prefix("library."),
        defined={digest: names[0] for digest, names in values_with_prefix("defines.").items()},
        preloads={name: values for name, values in of_ranks.items() if name.startswith("LD_")},
        threads=of_ranks.get("OMP_NUM_THREADS", ()),
        variables={name: (*of_ranks.get(name, ()), *("",) * (name in unset)) for name in {**of_ranks, **unset}},
        ranks=dict(_executed(source)),
        memory=dict(_memory(source)),
        cpus=dict(_cpus(source)),
        directories=source.words("directory.own"),
        other_directories=tuple(f"{fact.value} on {fact.node}" for fact in source.by_name.get("directory.other", ())),
        problems=(*source.words("problem"), *source.problems),
    )


def _packages(source: _SourceFacts) -> Iterator[tuple[str, str]]:
    """The SHA-256 of loaded files, each with the package that contains it."""
    for name in source.by_name:
        yield from ((digest, name) for text in source.words(name) for digest in text.split())


def _executed(source: _SourceFacts) -> Iterator[tuple[str, str]]:
    """Each rank with its phase, and its node and the hashes of the files that it executed."""
    for fact in source.by_name.get("executed", ()):
        text = fact.value if isinstance(fact.value, str) else ""
        if _EXECUTED.fullmatch(text) and _NODE.fullmatch(fact.node) and _PHASE.fullmatch(fact.phase):
            yield from ((f"{rank} {fact.phase}".rstrip(), f"{fact.node} {text}") for rank in _ranks(fact))
        else:
            source.problems.at_fact(fact, "not the files that ranks of a node executed")


def _memory(source: _SourceFacts) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """The peaks of memory of each node's ranks."""
    for fact in source.by_name.get("memory", ()):
        if isinstance(fact.value, str) and (peaks := _PEAKS.fullmatch(fact.value)):
            together, largest, by_step = map(int, peaks.groups())
            yield fact.node, (together, largest, by_step)
        else:
            source.problems.at_fact(fact, "not the peaks of memory of a node's ranks")


def _cpus(source: _SourceFacts) -> Iterator[tuple[str, str]]:
    """On which CPUs of each node the ranks of copies may run."""
    for fact in source.by_name.get("cpus", ()):
        texts = str(fact.value).split("; ")
        yield from ((f"{match[1]} {fact.node}", match[2]) for match in map(_CPUS.fullmatch, texts) if match)


def _ranks(fact: FactLine) -> Iterator[int]:
    """The ranks that a fact is about, up to MOST_RANKS."""
    try:
        spans = parse_ranges(fact.rank)
    except ValueError:
        return
    for span in spans:
        yield from (rank for rank in span if rank < MOST_RANKS)


def _loader_facts(probe: Sequence[FactLine]) -> list[FactLine]:
    """What the launcher's test program said of its ranks; nothing if that is incomplete."""
    return [] if any(fact.name == "problem" for fact in probe) else [fact for fact in probe if fact.name == "loader"]


def _placements(
    probes: Mapping[str, Sequence[FactLine]], witness: facts.Witness
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The node of each rank, by phase: as seen during the run, otherwise as found by the job's test program before."""
    for phase in dict.fromkeys([*(executed.phase for executed in witness.executed()), *probes]):
        probed = tuple(fact.node for fact in _loader_facts(probes.get(phase, ())) for _ in _ranks(fact))
        seen = witness.placement(phase)
        if nodes := seen if len(seen) >= len(probed) else probed:
            yield phase, nodes


def _loader_variables(probes: Mapping[str, Sequence[FactLine]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The loader's variables that ranks had, by phase, as NAME=DIGITS where "-" is none of them. A phase of which a
    rank's are not recorded is left out.
    """
    for phase, probe in probes.items():
        texts = [fact.value for fact in _loader_facts(probe)]
        if texts and all(isinstance(text, str) for text in texts):
            yield phase, tuple(sorted({pair for text in texts for pair in text.split(",")} - {"-"}))


# --- input files

_HASH = re.compile("[0-9a-f]{64}")


def _inputs(hashes: Sequence[FactLine]) -> Iterator[facts.HashedInput]:
    """The input files as nodes found them: a fact with the hash, and one with the size."""
    for (node, path), file_facts in grouped(((fact.node, fact.name), fact) for fact in hashes).items():
        digest = next((fact for fact in file_facts if isinstance(fact.value, str)), None)
        size = next((fact.value for fact in file_facts if type(fact.value) is int and 0 <= fact.value < 1 << 63), 0)
        if digest and (digest.value == facts.UNREAD or _HASH.fullmatch(digest.value)):
            yield facts.HashedInput(node, path, digest.value.removeprefix(facts.UNREAD), size, digest.line)


def _preparations(lines: Sequence[FactLine]) -> Iterator[facts.Preparation]:
    """The commands before the run: a fact with what each printed, and one with its status."""
    for output, status in zip(lines[::2], lines[1::2], strict=False):
        if output.name == status.name and isinstance(output.value, str) and type(status.value) is int:
            yield facts.Preparation(clean(output.name), status.value, clean(output.value))


# --- the counters of a target's servers at several times during an execution
#
# A reading with the name of a phase was taken when that phase had ended, before the next one began. A benchmark that
# cannot do this was sampled while it ran: then the servers' counters show when it created its last file and removed its
# first one, and what they did in between, as exactly as the samples are dense.

PHASES = ("create", "stat", "remove")


@dataclass(frozen=True, slots=True)
class Count:
    when: str
    counts: Mapping[str, int]


def read_samples(readings: Sequence[FactLine]) -> list[Count]:
    """The readings in their order; of one that failed, no counts."""
    return list(filter(None, map(_sample, readings)))


def _sample(reading: FactLine) -> Count | None:
    """None if it is no reading."""
    counts = untrusted.JsonFields.from_value(reading.value)
    try:
        return Count(reading.phase, {kind: counts.count(kind) for kind in counts.data})
    except untrusted.WrongField:
        return None


def served_operations(counts: Sequence[Count]) -> dict[str, facts.Served]:
    """Operations of a phase's own kind, by phase; of several iterations, those with the fewest. Empty if servers were
    restarted.
    """
    if any(
        after.counts.get(kind, 0) < count for before, after in pairwise(counts) for kind, count in before.counts.items()
    ):
        return {}
    served_by_phase = {}
    for phase in PHASES:
        did = [
            after.counts[phase] - before.counts[phase]
            for before, after in pairwise(counts)
            if after.when == phase and phase in before.counts and phase in after.counts
        ]
        if did:
            served_by_phase[phase] = facts.Served(min(did), min(did))
    if not served_by_phase and (between := _served_between(counts)):
        served_by_phase["stat"] = between
    return served_by_phase


def _served_between(counts: Sequence[Count]) -> facts.Served | None:
    """The stats between the creation of the last file and the removal of the first."""
    usable = [sample for sample in counts if all(phase in sample.counts for phase in PHASES)]
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


# --- accounting.json


def read_accounting(path: Path) -> facts.Accounting | None:
    """Read jobs/<job>/accounting.json; None if it does not exist. Raises nothing."""
    if not path.exists():
        return None
    content, problem = facts_file.load(path, LARGEST_ACCOUNTING)
    return facts.Accounting(problems=(f"{path.name}: {problem}",)) if problem else parse_accounting(content, path.name)


def parse_accounting(content: bytes, name: str = "accounting.json") -> facts.Accounting:
    """Parse an accounting.json; errors are in its problems."""
    try:
        accounting_fields = untrusted.JsonFields(facts_file.object_of(content))
        steps = accounting_fields.data.get("steps", [])
        if accounting_fields.get("format") != ACCOUNTING_FORMAT:
            raise ValueError(
                f"format {untrusted.abbreviate(accounting_fields.get('format'))}; expected {ACCOUNTING_FORMAT}"
            )
        if not isinstance(steps, list) or len(steps) > MOST_TEXTS:
            raise ValueError(f"steps: not a list of at most {MOST_TEXTS}")
    except ValueError as wrong:
        return facts.Accounting(problems=(f"{name}: {wrong}",))
    problems = _Problems()

    def texts(fields: untrusted.JsonFields, key: str) -> dict[str, str]:
        none: Mapping[str, Any] = {}
        entries = none if fields.get(key) is None else problems.take(name, fields.entries, key, none)
        return dict(problems.texts(f"{name}: {key}", tuple(entries.items())))

    asked_at = problems.take(name, accounting_fields.optional, "asked", None) or 0.0
    recorded_problems = [("problems", word) for word in accounting_fields.data.get("problems") or ()]
    words = tuple(text for _, text in problems.texts(name, recorded_problems))
    job, rows = (
        texts(accounting_fields, "job"),
        tuple(texts(untrusted.JsonFields({"steps": row}), "steps") for row in steps),
    )
    problem_texts = (*words, *problems)[: facts_file.MOST_PROBLEMS]
    return facts.Accounting(asked_at, job, accounting_fields.get("accounting") is True, rows, problem_texts)

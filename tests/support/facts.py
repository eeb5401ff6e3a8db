"""facts.jsonl, as jobs write it and as forgers change it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from campaign.results.environment.facts_file import FORMAT, NAME, UNFINISHED

Fact = dict[str, Any]


def fact(source: str, name: str, value: Any, **further_fields: Any) -> Fact:
    return {"source": source, "name": name, "value": value, **further_fields}


def text(*facts: Fact) -> str:
    return "".join(json.dumps(line) + "\n" for line in ({"format": FORMAT}, *facts))


def write(folder: Path, *facts: Fact) -> None:
    (folder / NAME).write_text(text(*facts))


def read(folder: Path) -> list[Fact]:
    """The facts in a folder, also of an attempt that has not ended."""
    path = folder / NAME
    lines = (path if path.exists() else folder / UNFINISHED).read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def read_source(folder: Path, source: str) -> list[Fact]:
    return [line for line in read(folder) if line["source"] == source]


def change(path: Path, replacement: Callable[[Fact], Fact | None]) -> None:
    """Each fact of a file becomes what is given for it."""
    header, *lines = path.read_text().splitlines()
    facts = [new for line in lines if (new := replacement(json.loads(line))) is not None]
    path.write_text("".join(f"{line}\n" for line in (header, *map(json.dumps, facts))))


def set_value(path: Path, source: str, name: str, value: Any) -> None:
    """Another value of a fact."""

    def with_value(line: Fact) -> Fact:
        return {**line, "value": value} if (line["source"], line["name"]) == (source, name) else line

    change(path, with_value)


# --- how an attempt ended


def completion_facts(record: Mapping[str, Any]) -> list[Fact]:
    """The facts of how an attempt ended; `phases`: objects with those of each phase."""
    phases = record.get("phases", ())
    values = [fact("job", name, value) for name, value in record.items() if name != "phases"]
    return values + [
        fact("job", name, value, phase=phase["phase"])
        for phase in phases
        for name, value in phase.items()
        if name != "phase"
    ]


def read_completion(folder: Path) -> dict[str, Any] | None:
    """The inverse: None while it has not ended."""
    if not (folder / NAME).exists():
        return None
    record: dict[str, Any] = {}
    phases: dict[str, Fact] = {}
    for line in read_source(folder, "job"):
        into = phases.setdefault(line["phase"], {"phase": line["phase"]}) if "phase" in line else record
        into[line["name"]] = line["value"]
    return {**record, "phases": list(phases.values())} if phases else record


# --- what a launcher said of its ranks


def probe_lines(folder: Path, phase: str = "") -> list[str]:
    """RANK NODE WORD of each rank."""
    entries = [
        line for line in read_source(folder, "probe") if line["name"] == "loader" and line.get("phase", "") == phase
    ]
    return [f"{rank} {line['node']} {line['value']}" for line in entries for rank in _numbers(line["rank"])]


def _numbers(ranks: str) -> range:
    first, _, last = ranks.partition("-")
    return range(int(first), int(last or first) + 1)


def probe_facts(lines: str, phase: str = "") -> list[Fact]:
    """The facts of lines RANK NODE [WORD]."""
    words = [line.split() for line in lines.splitlines()]
    return [
        fact("probe", "loader", (*node_words, None)[0], node=node[0], rank=rank, phase=phase)
        if node
        else fact("probe", "problem", rank, phase=phase)
        for rank, *other_words in words
        for node, node_words in [(other_words[:1], other_words[1:])]
    ]


def nodes_of_ranks(folder: Path, phase: str = "") -> list[str]:
    """The node of each rank that was seen, in their order."""
    seen = [
        line for line in read_source(folder, "ranks") if line["name"] == "executed" and line.get("phase", "") == phase
    ]
    return [node for _, node in sorted((rank, line["node"]) for line in seen for rank in _numbers(line["rank"]))]

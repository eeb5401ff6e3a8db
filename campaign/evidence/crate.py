"""RO-Crate 1.1 of a bundle: its files, and each number of the tables with its attempt and log."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from campaign.core import bagit
from campaign.evidence.replay import Judged

NAME = "ro-crate-metadata.json"
_METADATA = {
    "@id": NAME,
    "@type": "CreativeWork",
    "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    "about": {"@id": "./"},
}
_text = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Crate:
    """The lines of the crate for everything below `data`: one entity per line, since a bundle may have a hundred
    thousand files. They can be iterated over again, and are never all in memory.
    """

    judged: Judged
    data: Path
    date: str

    def __iter__(self) -> Iterator[str]:
        actions, values = _actions(self.judged)
        yield '{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [\n'
        yield f"{_text(_METADATA)},\n"
        yield f'{_text(self._root(actions))[:-1]}, "hasPart": [\n'
        yield from _joined({"@id": quote(name)} for name, _ in self._files())
        yield "]},\n"
        files = (
            {"@id": quote(name), "@type": "File", "name": name, "contentSize": str(entry.stat().st_size)}
            for name, entry in self._files()
        )
        yield from _joined(chain(files, actions, values))
        yield "]}\n"

    def _files(self) -> Iterator[tuple[str, os.DirEntry[str]]]:
        return ((name, entry) for name, entry in bagit.files(self.data) if name != NAME)

    def _root(self, actions: list[dict[str, Any]]) -> dict[str, Any]:
        submission = self.judged.submission
        return {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Campaign {submission.campaign.name}",
            "description": f"{submission.pack.title}: {len(submission.rows)} cells with their evidence",
            "datePublished": self.date,
            "license": "as agreed between the parties of the procurement",
            "mentions": [{"@id": action["@id"]} for action in actions],
        }


def _joined(entities: Iterator[dict[str, Any]]) -> Iterator[str]:
    """The members of a non-empty list, each on a line."""
    last = next(entities)
    for entity in entities:
        yield f"{_text(last)},\n"
        last = entity
    yield f"{_text(last)}\n"


def _actions(judged: Judged) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The executions that cells report, and the cells' values."""
    actions: dict[str, dict[str, Any]] = {}
    values = []
    for row in judged.submission.rows:
        if row.run is None or row.attempt is None or row.record is None:
            continue
        key = f"#{row.run.id}/{row.attempt.number}"
        logs = dict.fromkeys(quote(f"results/{part.source.file}") for part in row.record.measured)
        action = actions.setdefault(
            key,
            {
                "@id": key,
                "@type": "CreateAction",
                "name": f"attempt {row.attempt.number} of {row.run.id}, job {row.attempt.job_id}",
                "object": [],
                "result": [],
            },
        )
        action["object"] += [{"@id": log} for log in logs if {"@id": log} not in action["object"]]
        action["result"].append({"@id": f"#{row.cell}"})
        places = ", ".join(f"{part.source.file} line {part.source.line}" for part in row.record.measured)
        values.append(
            {
                "@id": f"#{row.cell}",
                "@type": "PropertyValue",
                "name": str(row.cell),
                "value": row.value,
                "unitText": row.unit,
                "description": f"{row.status}; {places}",
            }
        )
    return list(actions.values()), values

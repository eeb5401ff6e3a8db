"""RO-Crate 1.1 of a bundle: its files, and each number of the tables with its attempt and log."""

from __future__ import annotations

import json
from collections.abc import Sequence
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
_encoded = json.JSONEncoder(ensure_ascii=False).encode


def text(judged: Judged, data: Path, date: str) -> str:
    """The metadata of everything below `data`, one entity per line: a bundle may have a hundred thousand files."""
    submission = judged.submission
    sizes = {name: entry.stat().st_size for name, entry in bagit.files(data) if name != NAME}
    files = [
        {"@id": quote(name), "@type": "File", "name": name, "contentSize": str(size)} for name, size in sizes.items()
    ]
    actions, values = _actions(judged)
    dataset = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Campaign {submission.campaign.name}",
        "description": f"{submission.pack.title}: {len(submission.rows)} cells with their evidence",
        "datePublished": date,
        "license": "as agreed between the parties of the procurement",
        "mentions": [{"@id": action["@id"]} for action in actions],
    }
    parts = [{"@id": quote(name)} for name in sizes]
    return (
        '{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [\n'
        f'{_encoded(_METADATA)},\n{_encoded(dataset)[:-1]}, "hasPart": [\n{_lines(parts)}]}},\n'
        f"{_lines([*files, *actions, *values])}]}}\n"
    )


def _lines(entities: Sequence[dict[str, Any]]) -> str:
    """The members of a list, each on a line."""
    return ",\n".join(map(_encoded, entities)) + "\n"


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

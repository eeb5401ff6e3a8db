"""Where a bundle's benchmark, tables and numbers come from: in-toto statements with SLSA's predicate, and an RO-Crate.
It only reads.

    data/provenance/benchmark-<digits of the binary's hash>.json   what each recorded binary was built from, and with
    data/provenance/tables.json                                    what the tables were made from, and by which program
    data/ro-crate-metadata.json                                    files, and each number with its attempt and log
    data/source/benchmark.tar.gz                                   the source of the built-in benchmark, where it ran

The same function makes them for the bundle and for who verifies it, so that they say nothing of their own.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from campaign.core import bagit, resources
from campaign.evidence import replay
from campaign.results.source import record, trees
from campaign.results.source.facts import Build

FOLDER, SOURCE = "provenance", "source/benchmark.tar.gz"
STATEMENT, PREDICATE = "https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"
LARGEST_SOURCE = 32 << 20  # bytes: it is held in memory; today's has 1 MB
TYPES = "https://campaign.invalid/types"  # only names: nothing can be fetched there
CRATE = "ro-crate-metadata.json"
_METADATA = {
    "@id": CRATE,
    "@type": "CreativeWork",
    "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
    "about": {"@id": "./"},
}
_encoded = json.JSONEncoder(ensure_ascii=False).encode
INPUTS = ("campaign.yaml", "names.json", "results/journal.jsonl", "results/plan.json")


def source_of(judged: replay.Judged) -> bytes | None:
    """The source of the built-in benchmark as an archive; None if another benchmark, or another version's
    source, ran.
    """
    published = judged.submission.own_source
    if published is None or published.tree not in {build.source_tree for build in judged.submission.sources.builds}:
        return None
    tree = trees.read(str(resources.BENCHMARK), Path("/"), record.BUILDS)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, entry in sorted(tree.entries.items()):
            member = tarfile.TarInfo(f"{resources.BENCHMARK.name}/{path}")
            member.size, member.mode = len(entry.data), int(entry.mode[-3:], 8)
            archive.addfile(member, io.BytesIO(entry.data))
    return gzip.compress(plain.getvalue(), mtime=0)


def statements(data: Path, judged: replay.Judged, tool: str) -> dict[str, str]:
    """The statements of a bundle by their names in it. `tool`: the program that made the tables, with its version."""
    builds = judged.submission.sources.builds
    named = {f"{FOLDER}/benchmark-{build.binary_sha256[:12]}.json": _of_build(data, build) for build in builds}
    named[f"{FOLDER}/tables.json"] = _of_tables(data, judged, tool)
    return {name: replay.as_json(statement) for name, statement in named.items()}


def _of_build(data: Path, build: Build) -> dict[str, Any]:
    hashes = (("source tree", "campaignTree", build.source_tree), ("revision", "gitCommit", build.revision))
    dependencies = [{"name": name, "digest": {kind: digest}} for name, kind, digest in hashes if digest]
    if (data / SOURCE).is_file():
        dependencies.insert(bool(build.source_tree), _file(data, SOURCE))
    finished = _time(build.unix_time) if build.unix_time is not None else ""
    definition = {
        "buildType": f"{TYPES}/build/1",
        "externalParameters": {"command": build.command, "flags": build.flags},
        "internalParameters": {"compiler": build.compiler, "mpi": build.mpi, "libraries": list(build.libraries)},
        "resolvedDependencies": dependencies,
    }
    details = {
        "builder": _builder("make", {"benchmark": build.version} if build.version else {}),
        **({"metadata": {"finishedOn": finished}} if finished else {}),
    }
    return _statement([{"name": "benchmark", "digest": {"sha256": build.binary_sha256}}], definition, details)


def _of_tables(data: Path, judged: replay.Judged, tool: str) -> dict[str, Any]:
    program, _, version = tool.partition(" ")
    subject = [_named(name, hashlib.sha256(text.encode()).hexdigest()) for name, text in judged.files.items()]
    pack = judged.submission.pack
    definition = {
        "buildType": f"{TYPES}/tables/1",
        "externalParameters": {"campaign": judged.submission.campaign.name, "rules": f"{pack.id} {pack.version}"},
        "resolvedDependencies": [
            _file(data, name) for name in (*INPUTS, f"rules/{pack.id}.yaml") if (data / name).is_file()
        ],
    }
    return _statement(subject, definition, {"builder": _builder(program, {program: version})})


def _builder(program: str, version: Mapping[str, str]) -> dict[str, Any]:
    return {"id": f"{TYPES}/builder/{program}", "version": version}


def _statement(
    subject: list[dict[str, Any]], definition: Mapping[str, Any], details: Mapping[str, Any]
) -> dict[str, Any]:
    predicate = {"buildDefinition": definition, "runDetails": details}
    return {"_type": STATEMENT, "subject": subject, "predicateType": PREDICATE, "predicate": predicate}


def _file(data: Path, name: str) -> dict[str, Any]:
    with (data / name).open("rb") as file:  # a journal may have 256 MiB
        return _named(name, hashlib.file_digest(file, "sha256").hexdigest())


def _named(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}


def _time(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return ""


def source_in(data: Path) -> trees.Tree:
    """The source in a bundle. Raises InputError if it cannot be read, or is too large."""
    return trees.read(SOURCE, data, most=LARGEST_SOURCE)


# --- RO-Crate 1.1: the bundle's files, and each number of the tables with its attempt and log


def crate(judged: replay.Judged, data: Path, date: str) -> str:
    """The metadata of everything below `data`, one entity per line: a bundle may have a hundred thousand files."""
    submission = judged.submission
    sizes = {name: entry.stat().st_size for name, entry in bagit.files(data) if name != CRATE}
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


def _actions(judged: replay.Judged) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
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

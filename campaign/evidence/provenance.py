"""Provenance of a bundle's benchmark and tables, as in-toto statements with SLSA's predicate. It only reads.

    data/provenance/benchmark-<digits of the binary's hash>.json   what each recorded binary was built from, and with
    data/provenance/tables.json                                    what the tables were made from, and by which program
    data/source/benchmark.tar.gz                                   the source of the built-in benchmark, where it ran

The same function makes them for the bundle and for who verifies it, so that they say nothing of their own.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from campaign.core import resources
from campaign.evidence import replay
from campaign.evidence.replay import Judged
from campaign.results.source import record, trees
from campaign.results.source.facts import Build
from campaign.results.source.trees import Tree

FOLDER, SOURCE = "provenance", "source/benchmark.tar.gz"
STATEMENT, PREDICATE = "https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"
LARGEST_SOURCE = 32 << 20  # bytes: it is held in memory; today's has 1 MB
TYPES = "https://campaign.invalid/types"  # only names: nothing can be fetched there
INPUTS = ("campaign.yaml", "names.json", "results/journal.jsonl", "results/plan.json")


def source_of(judged: Judged) -> bytes | None:
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


def statements(data: Path, judged: Judged, tool: str) -> dict[str, str]:
    """The statements of a bundle by their names in it. `tool`: the program that made the tables, with its version."""
    builds = judged.submission.sources.builds
    named = {f"{FOLDER}/benchmark-{build.binary_sha256[:12]}.json": _of_build(data, build) for build in builds}
    named[f"{FOLDER}/tables.json"] = _of_tables(data, judged, tool)
    return {name: replay.as_json(statement) for name, statement in named.items()}


def _of_build(data: Path, build: Build) -> dict[str, Any]:
    dependencies = []
    if build.source_tree:
        dependencies.append({"name": "source tree", "digest": {"campaignTree": build.source_tree}})
    if (data / SOURCE).is_file():
        dependencies.append(_file(data, SOURCE))
    if build.revision:
        dependencies.append({"name": "revision", "digest": {"gitCommit": build.revision}})
    finished = _time(build.unix_time) if build.unix_time is not None else ""
    definition = {
        "buildType": f"{TYPES}/build/1",
        "externalParameters": {"command": build.command, "flags": build.flags},
        "internalParameters": {"compiler": build.compiler, "mpi": build.mpi, "libraries": list(build.libraries)},
        "resolvedDependencies": dependencies,
    }
    details = {"builder": _builder("make", {"benchmark": build.version} if build.version else {})}
    if finished:
        details["metadata"] = {"finishedOn": finished}
    return _statement([{"name": "benchmark", "digest": {"sha256": build.binary_sha256}}], definition, details)


def _of_tables(data: Path, judged: Judged, tool: str) -> dict[str, Any]:
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


def source_in(data: Path) -> Tree:
    """The source in a bundle. Raises InputError if it cannot be read, or is too large."""
    return trees.read(SOURCE, data, most=LARGEST_SOURCE)

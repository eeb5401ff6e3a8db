"""Where a bundle's benchmark, tables and numbers come from: in-toto statements with SLSA's predicate, and an RO-Crate;
and whether the binary can be built again from it.

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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

from campaign.core import bagit, resources, temporary, untrusted
from campaign.core.errors import InputError
from campaign.core.escaping import plain
from campaign.core.units import listing
from campaign.evidence import replay
from campaign.judge.submission import Submission
from campaign.pipeline import building
from campaign.results.source import facts, modifications, trees

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
_encode = json.JSONEncoder(ensure_ascii=False).encode
INPUTS = ("campaign.yaml", "names.json", "results/journal.jsonl", "results/plan.json")


def source_archive(evaluation: replay.Evaluation) -> bytes | None:
    """The source of the built-in benchmark as an archive; None if another benchmark, or another version's
    source, ran.
    """
    published = evaluation.submission.own_source
    if published is None or published.tree not in {build.source_tree for build in evaluation.submission.sources.builds}:
        return None
    tree = trees.read(str(resources.BENCHMARK), Path("/"), modifications.BUILDS)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, entry in sorted(tree.entries.items()):
            member = tarfile.TarInfo(f"{resources.BENCHMARK.name}/{path}")
            member.size, member.mode = len(entry.data), int(entry.mode[-3:], 8)
            archive.addfile(member, io.BytesIO(entry.data))
    return gzip.compress(plain.getvalue(), mtime=0)


def statements(data: Path, evaluation: replay.Evaluation, tool: str) -> dict[str, str]:
    """The statements of a bundle by their names in it. `tool`: the program that made the tables, with its version."""
    builds = statement_names(evaluation.submission)
    tables = _tables_statement(data, evaluation, tool)
    return {name: replay.as_json(_build_statement(data, build) if build else tables) for name, build in builds.items()}


def statement_names(submission: Submission) -> dict[str, facts.Build | None]:
    """The names of a bundle's statements, with the build that each is on; None for the tables."""
    builds = {f"{FOLDER}/benchmark-{build.binary_sha256[:12]}.json": build for build in submission.sources.builds}
    return {**builds, f"{FOLDER}/tables.json": None}


def _build_statement(data: Path, build: facts.Build) -> dict[str, Any]:
    hashes = (("source tree", "campaignTree", build.source_tree), ("revision", "gitCommit", build.revision))
    dependencies = [{"name": name, "digest": {kind: digest}} for name, kind, digest in hashes if digest]
    if (data / SOURCE).is_file():
        dependencies.insert(bool(build.source_tree), _file_digest(data, SOURCE))
    finished = _iso_time(build.unix_time) if build.unix_time is not None else ""
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


def _tables_statement(data: Path, evaluation: replay.Evaluation, tool: str) -> dict[str, Any]:
    program, _, version = tool.partition(" ")
    subject = [
        _named_digest(name, hashlib.sha256(text.encode()).hexdigest()) for name, text in evaluation.files.items()
    ]
    pack = evaluation.submission.pack
    definition = {
        "buildType": f"{TYPES}/tables/1",
        "externalParameters": {"campaign": evaluation.submission.campaign.name, "rules": f"{pack.id} {pack.version}"},
        "resolvedDependencies": [
            _file_digest(data, name) for name in (*INPUTS, f"rules/{pack.id}.yaml") if (data / name).is_file()
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


def _file_digest(data: Path, name: str) -> dict[str, Any]:
    return _named_digest(name, untrusted.digest(data / name))


def _named_digest(name: str, sha256: str) -> dict[str, Any]:
    return {"name": name, "digest": {"sha256": sha256}}


def _iso_time(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError, OSError):
        return ""


def read_source(data: Path) -> trees.Tree:
    """The source in a bundle. Raises InputError if it cannot be read, or is too large."""
    return trees.read(SOURCE, data, max_bytes=LARGEST_SOURCE)


# --- RO-Crate 1.1: the bundle's files, and each number of the tables with its attempt and log


def crate(evaluation: replay.Evaluation, data: Path, date: str) -> str:
    """The metadata of everything below `data`, one entity per line: a bundle may have a hundred thousand files."""
    submission = evaluation.submission
    sizes = {name: entry.stat().st_size for name, entry in bagit.files(data) if name != CRATE}
    files = (
        {"@id": quote(name), "@type": "File", "name": name, "contentSize": str(size)} for name, size in sizes.items()
    )
    actions, values = _actions(evaluation)
    dataset = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Campaign {submission.campaign.name}",
        "description": f"{submission.pack.title}: {len(submission.rows)} cells with their evidence",
        "datePublished": date,
        "license": "as agreed between the parties of the procurement",
        "mentions": [{"@id": action["@id"]} for action in actions],
    }
    parts = ({"@id": quote(name)} for name in sizes)
    return (
        '{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [\n'
        f'{_encode(_METADATA)},\n{_encode(dataset)[:-1]}, "hasPart": [\n{_lines(parts)}]}},\n'
        f"{_lines(chain(files, actions, values))}]}}\n"
    )


def _lines(entities: Iterable[dict[str, Any]]) -> str:
    """The members of a list, each on a line."""
    return ",\n".join(map(_encode, entities)) + "\n"


def _actions(evaluation: replay.Evaluation) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The executions that cells report, and the cells' values."""
    actions: dict[str, dict[str, Any]] = {}
    values = []
    for row in evaluation.submission.rows:
        if row.run is None or row.attempt is None or row.record is None:
            continue
        key = f"#{row.run.id}/{row.attempt.number}"
        logs = dict.fromkeys(quote(f"results/{part.source.file}") for part in row.record.measured_records)
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
        places = ", ".join(f"{part.source.file} line {part.source.line}" for part in row.record.measured_records)
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


# --- the binary, built again from the bundle's source

BUILD_RECORD = "build.json"


@dataclass(frozen=True, slots=True)
class BuildDifference:
    what: str
    recorded: str
    again: str


@dataclass(frozen=True, slots=True)
class Rebuilt:
    recorded: facts.Build
    again: facts.Build
    differences: tuple[BuildDifference, ...]

    @property
    def identical(self) -> bool:
        return self.recorded.binary_sha256 == self.again.binary_sha256


def rebuild(data: Path, submission: Submission, mpicc: str, cflags: str, foreign: bool) -> tuple[Rebuilt, ...]:
    """Each recorded build of the source in the bundle's `data`, with a new one. Raises InputError if the bundle has no
    source, or one that must not be built; EnvironmentLacks as `build` does.
    """
    if not (data / SOURCE).is_file():
        raise InputError(
            f"no {SOURCE} in the bundle: the built-in benchmark was not used, or was built from a source "
            "other than campaign's"
        )
    tree = read_source(data)
    published = modifications.own_source()
    if not foreign and (published is None or published.tree != tree.hash):
        own_tree = published.tree if published else "none"
        raise InputError(
            f"the source in the bundle (tree {tree.hash}) differs from your version of campaign (tree {own_tree}); "
            "building it runs its Makefile on this machine: read it, then pass --foreign-source"
        )
    builds = [build for build in submission.sources.builds if build.source_tree == tree.hash]
    if not builds:
        raise InputError(f"the source in the bundle (tree {tree.hash}) belongs to no recorded build")
    with temporary.directory("campaign-rebuild.") as place:
        source = place / "bench-src"
        for entry in tree.entries.values():
            path = source / entry.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(entry.data)
            path.chmod(int(entry.mode[-3:], 8))
        directory = building.build(mpicc, place / "build", source, cflags)
        new_build = facts.from_json(facts.Build, json.loads((directory / BUILD_RECORD).read_text(encoding="utf-8")))
    return tuple(Rebuilt(build, new_build, tuple(build_differences(build, new_build))) for build in builds)


def build_differences(old: facts.Build, new: facts.Build) -> Iterator[BuildDifference]:
    """The differences between the two records, causes before effects."""
    for field in ("source_tree", "compiler", "mpi", "command", "preprocessed"):
        before, after = getattr(old, field), getattr(new, field)
        if before and before != after:
            yield BuildDifference(field.replace("_", " "), before, after)
    for field in ("flags", "libraries", "environment", "inputs"):
        old_words, new_words = (_words(getattr(build, field)) for build in (old, new))
        if old_words != new_words:
            removed = [word for word in old_words if word not in new_words]
            added = [word for word in new_words if word not in old_words]
            order = "the same in another order"
            yield BuildDifference(field, listing(removed, 20) or order, listing(added, 20) or order)
    before, after = (dict(text.rsplit(" ", 1) for text in build.sections) for build in (old, new))
    if before and after and before != after:
        names = dict.fromkeys([*before, *after])
        changes = [name for name in names if before.get(name) != after.get(name)]
        identical = f"{len(names) - len(changes)} other sections are identical"
        yield BuildDifference("sections", listing(changes, 20), identical)


def _words(text: str | tuple[str, ...]) -> list[str]:
    return text.split() if isinstance(text, str) else list(text)


def rebuilt_json(builds: tuple[Rebuilt, ...]) -> dict[str, Any]:
    """The output of `rebuild --json`."""
    records = [{"identical": build.identical, **asdict(build)} for build in builds]
    return {"format": 1, "identical": all(build.identical for build in builds), "builds": records}


def rebuilt_text(builds: tuple[Rebuilt, ...]) -> str:
    lines: list[str] = []
    for build in builds:
        digest = build.recorded.binary_sha256
        if build.identical:
            lines.append(f"identical: building the bundle's source gives the recorded binary, {digest}")
            continue
        lines.append(f"different: recorded {digest}, rebuilt {build.again.binary_sha256}")
        lines += [
            plain(f"  {difference.what}: recorded {difference.recorded}; now {difference.again}")
            for difference in build.differences
        ]
        if not build.differences:
            lines.append("  compiler, MPI, flags, libraries and sections are the same in both records")
    return "\n".join(lines)

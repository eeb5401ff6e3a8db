"""The provenance in a bundle: statements that in-toto's and SLSA's own definitions accept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from in_toto_attestation.predicates.provenance.v1.provenance_pb2 import Provenance
from in_toto_attestation.v1.statement_pb2 import Statement

from campaign.core import bagit, resources
from campaign.core.errors import InputError
from campaign.evidence import copies, provenance, replay
from campaign.evidence.replay import Evaluation
from campaign.judge.submission import Submission
from campaign.results.source import facts, modifications, trees
from campaign.results.source.facts import Build, Sources
from tests.judge.cases.submissions import good_submission
from tests.support import bundled, reference
from tests.support.bench_binary import build as built
from tests.support.bundled import Vendor


def parse_statement(text: str) -> dict[str, Any]:
    """The statement, which the published definitions of both formats know whole: an unknown field is an error."""
    statement = json_format.Parse(text, Statement())
    predicate = json_format.MessageToDict(statement.predicate)
    json_format.ParseDict(predicate, Provenance())
    fields: dict[str, Any] = json.loads(text)
    assert (fields["_type"], fields["predicateType"]) == (provenance.STATEMENT, "https://slsa.dev/provenance/v1")
    return fields


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Evaluation]:
    """A bundle of the built-in benchmark."""
    data = bagit.read(reference.BUNDLE, tmp_path_factory.mktemp("bag")).root / "data"
    return data, replay.reevaluate(data)


def test_what_a_binary_was_built_from_and_with_is_stated(evidence: tuple[Path, Evaluation]) -> None:
    data, evaluation = evidence
    (build,) = evaluation.submission.sources.builds
    statements = provenance.statements(data, evaluation, "campaign 0.1.0")
    fields = parse_statement(statements[f"provenance/benchmark-{build.binary_sha256[:12]}.json"])
    definition = fields["predicate"]["buildDefinition"]
    assert fields["subject"] == [{"name": "benchmark", "digest": {"sha256": build.binary_sha256}}]
    assert definition["externalParameters"]["flags"] == build.flags
    assert definition["internalParameters"]["compiler"] == build.compiler
    assert definition["resolvedDependencies"][0]["digest"] == {"campaignTree": build.source_tree}


def test_what_the_tables_were_made_from_is_stated(evidence: tuple[Path, Evaluation]) -> None:
    data, evaluation = evidence
    fields = parse_statement(provenance.statements(data, evaluation, "campaign 0.1.0")["provenance/tables.json"])
    digests = {subject["name"]: subject["digest"]["sha256"] for subject in fields["subject"]}
    assert digests == {name: hashlib.sha256(text.encode()).hexdigest() for name, text in evaluation.files.items()}
    used = {
        dependency["name"]: dependency["digest"]["sha256"]
        for dependency in fields["predicate"]["buildDefinition"]["resolvedDependencies"]
    }
    assert used["results/journal.jsonl"] == hashlib.sha256((data / "results/journal.jsonl").read_bytes()).hexdigest()
    assert fields["predicate"]["runDetails"]["builder"]["version"] == {"campaign": "0.1.0"}


def test_the_source_of_the_build_that_ran_is_put_beside_it_the_same_each_time(
    evidence: tuple[Path, Evaluation],
) -> None:
    own_source = modifications.own_source()
    assert own_source is not None
    _, evaluation = evidence
    (build,) = evaluation.submission.sources.builds
    other = replace(own_source, tree="0" * 64)
    assert (
        provenance.source_archive(replace(evaluation, submission=replace(evaluation.submission, own_source=other)))
        is None
    )
    sources = replace(evaluation.submission.sources, builds=(replace(build, source_tree=own_source.tree),))
    same_evaluation = replace(
        evaluation, submission=replace(evaluation.submission, sources=sources, own_source=own_source)
    )
    archive = provenance.source_archive(same_evaluation)
    assert archive is not None
    assert archive == provenance.source_archive(same_evaluation)


def test_the_archive_holds_the_tree_whose_hash_is_recorded(tmp_path: Path, evidence: tuple[Path, Evaluation]) -> None:
    _, evaluation = evidence
    own_source = modifications.own_source()
    assert own_source is not None
    (build,) = evaluation.submission.sources.builds
    sources = replace(evaluation.submission.sources, builds=(replace(build, source_tree=own_source.tree),))
    same_evaluation = replace(
        evaluation, submission=replace(evaluation.submission, sources=sources, own_source=own_source)
    )
    (tmp_path / "source").mkdir()
    (tmp_path / provenance.SOURCE).write_bytes(provenance.source_archive(same_evaluation) or b"")
    assert trees.read(provenance.SOURCE, tmp_path).hash == own_source.tree
    assert resources.BENCHMARK.name == "bench-src"
    assert list(copies._check_source(tmp_path, same_evaluation)) == []
    other = replace(same_evaluation.submission.sources, builds=(replace(build, source_tree="0" * 64),))
    changed_evaluation = replace(same_evaluation, submission=replace(same_evaluation.submission, sources=other))
    (finding,) = copies._check_source(tmp_path, changed_evaluation)
    assert (finding.expected, finding.actual) == (f"tree {'0' * 64}", f"tree {own_source.tree}")


def test_a_statement_that_says_something_else_is_found(vendor: Vendor, tmp_path: Path) -> None:
    bag = bundled.copy(vendor, "plain", tmp_path / "bag")
    place = bag / "data" / "provenance" / "tables.json"
    parse_statement(place.read_text())
    place.write_text(place.read_text().replace("crossroads-mdtest", "my-own-rules"))
    bagit.finish(bag, {})
    process = vendor.call("verify", bag)
    assert process.returncode == 1
    assert "provenance/tables.json" in process.stdout


# --- the binary, built again

RECORDED = Build(
    "ab" * 32, compiler="gcc 12", flags="-O2 -g", mpi="Open MPI 4.1.4", sections=(".text 1", ".data 2", ".rodata 3")
)


def difference_texts(second_build: Build) -> list[tuple[str, str, str]]:
    return [
        (difference.what, difference.recorded, difference.again)
        for difference in provenance.build_differences(RECORDED, second_build)
    ]


def test_other_flags_are_named_with_the_sections_that_they_changed() -> None:
    second_build = replace(
        RECORDED, binary_sha256="cd" * 32, flags="-O3 -g", sections=(".text 9", ".data 2", ".rodata 3")
    )
    assert difference_texts(second_build) == [
        ("flags", "-O2", "-O3"),
        ("sections", ".text", "2 other sections are identical"),
    ]


def test_another_compiler_and_another_mpi_are_named() -> None:
    assert difference_texts(replace(RECORDED, compiler="gcc 13", mpi="Open MPI 5.0.1")) == [
        ("compiler", "gcc 12", "gcc 13"),
        ("mpi", "Open MPI 4.1.4", "Open MPI 5.0.1"),
    ]


def test_flags_in_another_order_are_reported_to_be_that() -> None:
    same_text = "the same in another order"
    assert difference_texts(replace(RECORDED, flags="-g -O2")) == [("flags", same_text, same_text)]


def test_a_build_that_differs_without_a_recorded_cause_is_reported() -> None:
    text = provenance.rebuilt_text((provenance.Rebuilt(RECORDED, replace(RECORDED, binary_sha256="cd" * 32), ()),))
    assert "compiler, MPI, flags, libraries and sections are the same in both records" in text


def build_submission(data: Path) -> Submission:
    """A campaign that ran what was built here, with its source in a bundle."""
    recorded_build = facts.from_json(Build, json.loads((built() / "build.json").read_text()))
    submission = replace(
        good_submission(), sources=Sources(builds=(recorded_build,)), own_source=modifications.own_source()
    )
    archive = provenance.source_archive(Evaluation(submission, {}, {}))
    assert archive is not None
    (data / "source").mkdir()
    (data / provenance.SOURCE).write_bytes(archive)
    return submission


@pytest.mark.mpi
@pytest.mark.timeout(900)
def test_the_source_in_a_bundle_gives_the_recorded_binary_in_any_directory(tmp_path: Path) -> None:
    (first_rebuilt,) = provenance.rebuild(tmp_path, build_submission(tmp_path), "", "", foreign=False)
    assert (first_rebuilt.identical, first_rebuilt.differences) == (True, ())
    assert first_rebuilt.recorded.binary_sha256 in provenance.rebuilt_text((first_rebuilt,))


@pytest.mark.mpi
@pytest.mark.timeout(900)
def test_a_source_that_is_not_that_of_this_version_is_built_on_demand_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = build_submission(tmp_path)
    monkeypatch.setattr(modifications, "own_source", lambda: facts.OwnSource("9", "0" * 64))
    with pytest.raises(InputError, match="pass --foreign-source"):
        provenance.rebuild(tmp_path, submission, "", "", foreign=False)


def test_a_bundle_without_the_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no source/benchmark\.tar\.gz in the bundle"):
        provenance.rebuild(tmp_path, good_submission(), "", "", foreign=False)

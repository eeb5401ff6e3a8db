"""The benchmark built again from the source in a bundle, and what differs where it is not the recorded binary."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from campaign.core.errors import InputError
from campaign.evidence import provenance
from campaign.evidence.replay import Judged
from campaign.judge.submission import Submission
from campaign.results.source import facts, modifications
from campaign.results.source.facts import Build, Sources
from tests.judge.cases.submissions import whole
from tests.support.bench_binary import build as built

RECORDED = Build(
    "ab" * 32, compiler="gcc 12", flags="-O2 -g", mpi="Open MPI 4.1.4", sections=(".text 1", ".data 2", ".rodata 3")
)


def said(again: Build) -> list[tuple[str, str, str]]:
    return [(each.what, each.recorded, each.again) for each in provenance.build_differences(RECORDED, again)]


def test_other_flags_are_named_with_the_sections_that_they_changed() -> None:
    again = replace(RECORDED, binary_sha256="cd" * 32, flags="-O3 -g", sections=(".text 9", ".data 2", ".rodata 3"))
    assert said(again) == [("flags", "-O2", "-O3"), ("sections", ".text", "2 other sections are identical")]


def test_another_compiler_and_another_mpi_are_named() -> None:
    assert said(replace(RECORDED, compiler="gcc 13", mpi="Open MPI 5.0.1")) == [
        ("compiler", "gcc 12", "gcc 13"),
        ("mpi", "Open MPI 4.1.4", "Open MPI 5.0.1"),
    ]


def test_flags_in_another_order_are_said_to_be_that() -> None:
    same = "the same in another order"
    assert said(replace(RECORDED, flags="-g -O2")) == [("flags", same, same)]


def test_a_build_that_differs_without_a_cause_on_record_says_so() -> None:
    text = provenance.rebuilt_text((provenance.Rebuilt(RECORDED, replace(RECORDED, binary_sha256="cd" * 32), ()),))
    assert "compiler, MPI, flags, libraries and sections are the same in both records" in text


def submitted(data: Path) -> Submission:
    """A campaign that ran what was built here, with its source in a bundle."""
    recorded = facts.from_json(Build, json.loads((built() / "build.json").read_text()))
    given = replace(whole(), sources=Sources(builds=(recorded,)), own_source=modifications.own_source())
    archive = provenance.source_of(Judged(given, {}, {}))
    assert archive is not None
    (data / "source").mkdir()
    (data / provenance.SOURCE).write_bytes(archive)
    return given


@pytest.mark.mpi
@pytest.mark.timeout(900)
def test_the_source_in_a_bundle_gives_the_recorded_binary_in_any_directory(tmp_path: Path) -> None:
    (once,) = provenance.rebuild(tmp_path, submitted(tmp_path), "", "", foreign=False)
    assert (once.identical, once.differences) == (True, ())
    assert once.recorded.binary_sha256 in provenance.rebuilt_text((once,))


@pytest.mark.mpi
@pytest.mark.timeout(900)
def test_a_source_that_is_not_that_of_this_version_is_built_on_demand_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = submitted(tmp_path)
    monkeypatch.setattr(modifications, "own_source", lambda: facts.OwnSource("9", "0" * 64))
    with pytest.raises(InputError, match="pass --foreign-source"):
        provenance.rebuild(tmp_path, given, "", "", foreign=False)


def test_a_bundle_without_the_source_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no source/benchmark\.tar\.gz in the bundle"):
        provenance.rebuild(tmp_path, whole(), "", "", foreign=False)

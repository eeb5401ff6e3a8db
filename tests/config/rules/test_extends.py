"""A pack that extends another one: what is joined, what is left out, whose digest it has, and where a mistake is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml

from campaign.config.rules import packs, text
from campaign.core.errors import InputError
from tests.config.test_json_schema import validator

BASE = """id: base
version: 3
title: A base
document: an RFP
caption: rates
applet: ior
arguments: "-t {transfer} {flags}"
variables:
  - {id: transfer, full: 1m, rehearsal: 1k, clause: "1"}
launch:
  - {id: one, title: One node, clause: "1", nodes: 1, processes: 4}
  - {id: two, title: Two nodes, clause: "1", nodes: 2, processes: 8}
files:
  - {id: shared, title: One file, clause: "2"}
operations:
  - {id: write, title: Write, record: write, unit: MiB/s}
requires:
  - {holds: processes >= 4, clause: "1"}
  - {holds: nodes >= 1, clause: "1"}
selection: {operation: write, best: highest, clause: "3"}
checks:
  GEO-05: "1"
  RUN-01: "3"
  RUN-07: {clause: "3", minimum: 10s}
"""
OWN = """id: own
version: 1
extends: base
title: My own
variables: [{id: transfer, full: 4m}]
launch:
  - {id: two, clause: "5.1"}
  - {id: four, title: Four nodes, clause: "5.2", nodes: 4, processes: 16}
requires: [{holds: processes >= 4, clause: "5.3"}]
checks: {RUN-07: {minimum: 60s}, RUN-01: "5"}
without: [launch/one, requires/nodes >= 1]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "own.yaml").write_text(OWN)
    return tmp_path


def problems(folder: Path, old: str, new: str, name: str = "own.yaml") -> list[str]:
    path = folder / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError) as caught:
        packs.load(folder / "own.yaml")
    return [problem.replace(f"{folder}/", "") for problem in caught.value.problems]


def test_mappings_are_joined_by_key_lists_by_the_names_of_their_entries_and_places_are_left_out(folder: Path) -> None:
    pack = packs.load(folder / "own.yaml")
    assert (pack.id, pack.version, pack.title, pack.document) == ("own", 1, "My own", "an RFP")
    assert [(condition.id, condition.clause, condition.nodes) for condition in pack.launch] == [
        ("two", "5.1", 2), ("four", "5.2", 4),
    ]  # fmt: skip
    assert [(variable.full, variable.rehearsal) for variable in pack.variables] == [("4m", "1k")]
    assert [(entry.holds, entry.clause) for entry in pack.requires] == [("processes >= 4", "5.3")]
    assert pack.checks == {"GEO-05": "1", "RUN-01": "5", "RUN-07": "3"}
    assert pack.parameter("RUN-07", "minimum") == 60


def test_the_digest_is_that_of_the_lines_of_sha256sum_and_changes_with_the_base(folder: Path) -> None:
    digest = packs.load(folder / "own.yaml").digest
    words = "sha256sum own.yaml base.yaml | sha256sum"
    lines = subprocess.run(words, shell=True, cwd=folder, capture_output=True, text=True, check=True).stdout
    assert digest == lines.split()[0]
    (folder / "base.yaml").write_text(BASE + "# changed\n")
    assert packs.load(folder / "own.yaml").digest != digest


def test_a_base_is_beside_the_file_or_among_all_packs_and_may_extend_another_one(folder: Path) -> None:
    (folder / "further.yaml").write_text("id: further\nversion: 1\nextends: own\nwithout: [launch/four]\n")
    pack = packs.load(folder / "further.yaml")
    assert [path.name for path in pack.bases] == ["own.yaml", "base.yaml"]
    assert [condition.id for condition in pack.launch] == ["two"]
    assert packs.packs_in(folder) == [folder / "further.yaml"]
    (folder / "mine.yaml").write_text("id: mine\nversion: 1\nextends: stream\n")
    assert packs.load(folder / "mine.yaml").launch == packs.load("stream").launch


def test_a_wrong_key_is_reported_in_the_file_in_which_it_stands(folder: Path) -> None:
    assert problems(folder, "title: My own", "titel: My own") == [
        "own.yaml:4:1: titel: unknown key; did you mean title?"
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("own.yaml", "extends: base", "extends: bose", 'own.yaml:3:10: extends: rule pack "bose" not found'),
        ("own.yaml", "extends: base", "extends: own", "own.yaml:3:10: extends: found own, which"),
        ("own.yaml", "extends: base", "extends: ./base.yaml", 'own.yaml:3:10: extends: found "./base.yaml"; allowed:'),
        ("base.yaml", "version: 3", "version: 3\nextends: own", "base.yaml:3:10: extends: found own, which extends"),
        ("base.yaml", "nodes: 2,", "nods: 2,", "extends: base.yaml:12:46: launch[1].nods: unknown key"),
        ("own.yaml", "launch/one", "launch/ome", "own.yaml:11:11: without[0]: not a place in base"),
        ("own.yaml", "title: My own", "title: My own\ntitle: B", "own.yaml:5:1: title: duplicate key"),
        ("own.yaml", "version: 1\n", "", "own.yaml:1:1: version: required key missing"),
        ("own.yaml", "full: 4m", "free: 4", "own.yaml:5:34: variables[0].free: found 4; allowed: true or false"),
    ],
)  # fmt: skip
def test_mistakes_in_either_file_are_named_with_file_and_line(
    folder: Path, name: str, old: str, new: str, message: str
) -> None:
    (problem,) = problems(folder, old, new, name)
    assert message in problem


def test_the_text_marks_the_lines_that_are_the_bases(folder: Path) -> None:
    pack = packs.load(folder / "own.yaml")
    lines = text.text(pack, base=packs.load(pack.bases[0])).splitlines()
    assert lines[1] == "Extends base, version 3: the lines that begin with | are its own"
    assert "| shared     One file [2]" in lines
    assert "  two        Two nodes [5.1]" in lines
    assert not any("One node" in line for line in lines)


def test_an_editor_requires_less_of_a_pack_that_extends_another_one() -> None:
    schema: jsonschema.Draft202012Validator = validator("rule-pack")
    assert not list(schema.iter_errors(yaml.safe_load(OWN)))
    assert {error.message for error in schema.iter_errors(yaml.safe_load(OWN.replace("extends: base\n", "")))} >= {
        "'files' is a required property"
    }
    assert list(schema.iter_errors(yaml.safe_load(OWN.replace("version: 1\n", ""))))

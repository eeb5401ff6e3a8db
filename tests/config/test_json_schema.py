"""The JSON Schemas for editors: what the program accepts they accept, and typical mistakes they find."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from campaign.config import init
from campaign.config.rules import packs
from campaign.core import resources

ROOT = Path(__file__).resolve().parents[2]
PACKS = sorted(resources.PACKS.glob("*.yaml"))
CAMPAIGN = """
name: offer
rules: crossroads-mdtest
profile: rehearsal
targets: [{name: scratch, directory: /scratch}]
launch: {single: 1, node: 4, peak: {nodes: 2, processes: 8}, max: all}
"""


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((resources.SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def problems(name: str, text: str) -> list[str]:
    """Where the schema finds something, as `targets/0/directory`."""
    values: Any = yaml.safe_load(text)
    return ["/".join(map(str, error.absolute_path)) for error in validator(name).iter_errors(values)]


@pytest.mark.parametrize("pack", PACKS, ids=lambda path: path.stem)
def test_every_rule_pack_conforms(pack: Path) -> None:
    assert problems("rule-pack", pack.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_conforms(file: Path) -> None:
    assert problems("campaign-file", file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("pack", PACKS, ids=lambda path: path.stem)
def test_every_file_that_init_writes_conforms_and_names_the_schema(pack: Path) -> None:
    text = init.text(pack.stem)
    assert problems("campaign-file", text) == []
    schema_uri = text.partition("# yaml-language-server: $schema=file://")[2].partition("\n")[0]
    assert Path(schema_uri) == resources.SCHEMAS / "campaign-file.json"
    assert Path(schema_uri).is_file()


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        ("profile: rehearsal", "profile: rehearsel", "profile"),
        ("profile: rehearsal", "profile: full\nprojektions: []", ""),  # an unknown key of the file itself
        ("rules: crossroads-mdtest\n", "", ""),
        ("name: offer", "name: no", "name"),
        ("name: offer", "name: my offer", "name"),
        (", directory: /scratch", "", "targets/0"),
        ("max: all", "max: every", "launch/max"),
        ("node: 4", "node: four", "launch/node"),
        ("node: 4", "node: 0", "launch/node"),
        ("processes: 8", "processes: 8, tasks: 4", "launch/peak"),
        ("profile: rehearsal", "profile: rehearsal\nrepetitions: '3'", "repetitions"),
        ("profile: rehearsal", "profile: rehearsal\nslurm: {modules: openmpi}", "slurm/modules"),
    ],
)
def test_a_typical_mistake_in_a_campaign_file_is_found_at_its_place(right: str, wrong: str, place: str) -> None:
    assert problems("campaign-file", CAMPAIGN) == []
    assert right in CAMPAIGN
    assert problems("campaign-file", CAMPAIGN.replace(right, wrong)) == [place]


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        ("version: 1", "version: '1'", "version"),
        ('clause: "8.5"', "clause: 8.5", "launch/0/clause"),
        ("best: highest", "best: biggest", "selection/best"),
    ],
)
def test_a_typical_mistake_in_a_rule_pack_is_found_at_its_place(right: str, wrong: str, place: str) -> None:
    text = (resources.PACKS / "crossroads-mdtest.yaml").read_text(encoding="utf-8")
    assert right in text
    assert problems("rule-pack", text.replace(right, wrong, 1)) == [place]


def test_the_packs_ids_are_those_of_the_program() -> None:
    assert sorted(pack.stem for pack in PACKS) == [pack.id for pack in packs.available()]

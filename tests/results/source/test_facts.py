"""Facts about sources survive being written down, and what is no fact is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from campaign.results.source import classify, facts
from campaign.results.source.facts import Build, Sources
from campaign.results.source.trees import Tree
from tests.support import source_trees
from tests.support.examples import examples

BUILD = Build("ab" * 32, compiler="gcc", libraries=("libmpi",), dirty=True, unix_time=1.5)


def round_trip(sources: Sources) -> Sources:
    return facts.from_json(Sources, json.loads(facts.as_text(sources)))


@settings(max_examples=examples(50))
@given(source_trees.pairs())
def test_facts_are_the_same_when_read_again(pair: tuple[Tree, Tree]) -> None:
    comparison, _ = classify.compare(*pair, "1.8.4", ("ours.patch", b"words"))
    sources = Sources(comparison, "", (BUILD, Build("cd" * 32)))
    assert round_trip(sources) == sources
    assert round_trip(Sources()) == Sources()


WRONG = {
    "[]": "not an object of format 1",
    '{"format": 2}': "not an object of format 1",
    '{"format": 1, "builds": {}}': "sources.builds: not a list",
    '{"format": 1, "builds": [1]}': "sources.builds[0]: not an object",
    '{"format": 1, "builds": [{"binary_sha256": 1}]}': "sources.builds[0].binary_sha256: found 1; allowed: str",
    '{"format": 1, "builds": [{"binary_sha256": "", "unix_time": true}]}': (
        "sources.builds[0].unix_time: found True; allowed: float"
    ),
    '{"format": 1, "builds": [{}]}': "field 'binary_sha256' is missing",
    '{"format": 1, "comparison": {"changes": [{"kind": "fine"}]}}': "'fine' is not a valid ChangeClass",
}


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_what_is_no_fact_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        facts.from_json(Sources, json.loads(text))
    assert message in str(error.value)


def test_what_a_later_version_adds_is_passed_over() -> None:
    document = json.loads(facts.as_text(BUILD)) | {"weather": "fine"}
    assert facts.from_json(Build, document) == BUILD


def test_the_record_of_a_build_outside_of_a_repository_is_read() -> None:
    """As it is made from an installed package: there is no revision."""
    record = {"format": 1, "binary_sha256": "ab" * 32, "revision": None, "dirty": None}
    assert facts.from_json(Build, record).revision is None

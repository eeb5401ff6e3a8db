"""The job's own record of an attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.core.records import Completion, PhaseTimes
from campaign.results.completion import read_completion
from tests.support.builders import COMPLETION
from tests.support.facts import completion_facts, text, write


def test_a_record_is_read(tmp_path: Path) -> None:
    write(tmp_path, *completion_facts(COMPLETION))
    phases = (PhaseTimes("", 0, 1.5, 2.5),)
    assert read_completion(tmp_path, "t") == Completion("done", "", 0, 1.5, 2.5, "7", "j", "n1", 0, 0, phases=phases)


def test_no_record_is_none(tmp_path: Path) -> None:
    assert read_completion(tmp_path, "t") is None


UNREADABLE = {
    "one that says something twice": (
        text(*completion_facts(COMPLETION), *completion_facts({"outcome": "failed"})),
        "a fact of the job is there twice",
    ),
    "a torn one": ('{"format": 1, ', "not JSON: Expecting property name"),
    "one of another format": ('{"format": 2}\n', "format 2; expected 1"),
    "another attempt's": (
        text(*completion_facts(COMPLETION | {"token": "other"})),
        "belongs to another attempt: its token is 'other', this attempt's is 't'",
    ),
    "one that lacks something": (text(*completion_facts({"token": "t"})), "completion: field 'outcome' is missing"),
    "one with a number beyond all numbers": (
        text(*completion_facts(COMPLETION | {"exit_status": float("inf")})),
        "completion.exit_status: found inf; allowed: int",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_record_that_is_wrong_is_reported_to_be(tmp_path: Path, name: str) -> None:
    content, problem = UNREADABLE[name]
    (tmp_path / "facts.jsonl").write_text(content)
    with pytest.raises(ValueError, match="facts") as caught:
        read_completion(tmp_path, "t")
    assert str(caught.value).startswith(f"{tmp_path}/facts.jsonl: {problem}")

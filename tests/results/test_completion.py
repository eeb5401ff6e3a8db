"""The job's own record of an attempt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from campaign.core.model import Completion, PhaseTimes
from campaign.results.completion import read_completion
from tests.support.builders import COMPLETION


def test_a_record_is_read(tmp_path: Path) -> None:
    (tmp_path / "completion.json").write_text(json.dumps(COMPLETION))
    phases = (PhaseTimes("", 0, 1.5, 2.5),)
    assert read_completion(tmp_path, "t") == Completion("done", "", 0, 1.5, 2.5, "7", "j", "n1", 0, 0, phases=phases)


def test_no_record_is_none(tmp_path: Path) -> None:
    assert read_completion(tmp_path, "t") is None


UNREADABLE = {
    "a torn one": ('{"format": 1, ', "cannot be read: Expecting property name"),
    "one of another format": (json.dumps(COMPLETION | {"format": 2}), "found format 2; allowed: 1"),
    "another attempt's": (
        json.dumps(COMPLETION | {"token": "other"}),
        "belongs to another attempt: its token is 'other', this attempt's is 't'",
    ),
    "one that lacks something": (json.dumps({"format": 1, "token": "t"}), "completion: field 'outcome' is missing"),
    "one with a number beyond all numbers": (
        json.dumps(COMPLETION | {"exit_status": float("inf")}),
        "completion.exit_status: found inf; allowed: int",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_record_that_is_wrong_is_said_to_be(tmp_path: Path, name: str) -> None:
    text, problem = UNREADABLE[name]
    (tmp_path / "completion.json").write_text(text)
    with pytest.raises(ValueError, match="completion") as caught:
        read_completion(tmp_path, "t")
    assert str(caught.value).startswith(f"{tmp_path}/completion.json: {problem}")

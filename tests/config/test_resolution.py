"""Names of a campaign file: remembered where it was run, and never looked up where it is judged again."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaign.config import resolution
from campaign.config.resolution import Names


def fail_lookup() -> Path:
    raise AssertionError("looked up on this machine")


def test_without_a_record_names_are_looked_up() -> None:
    assert resolution.variable("USER", lambda: "me") == "me"
    assert resolution.path("x", lambda: Path("/x")) == Path("/x")
    assert (resolution.is_replayed(), resolution.current_names().pack) == (False, None)
    assert resolution.content(Path("/etc/hosts")) == Path("/etc/hosts")


def test_what_was_looked_up_is_remembered() -> None:
    with resolution.use_names(Names()) as names:
        resolution.variable("USER", lambda: "me")
        resolution.path("../x", lambda: Path("/a/x"))
    assert (names.variables, names.paths) == ({"USER": "me"}, {"../x": "/a/x"})


def test_a_replay_answers_from_the_record_alone() -> None:
    record = Names({"USER": "me"}, {"../x": "/a/x"}, replayed=True, files={"/a/log": Path("/evidence/1-log")})
    with resolution.use_names(record):
        assert resolution.is_replayed()
        assert resolution.variable("USER", lambda: str(fail_lookup())) == "me"
        assert resolution.variable("HOME", lambda: str(fail_lookup())) == ""
        assert resolution.path("../x", fail_lookup) == Path("/a/x")
        assert resolution.content(Path("/a/log")) == Path("/evidence/1-log")
        assert not resolution.content(Path("/etc/hosts")).exists()
        with pytest.raises(ValueError, match="has no path for"):
            resolution.path("../y", fail_lookup)
    assert not resolution.is_replayed()

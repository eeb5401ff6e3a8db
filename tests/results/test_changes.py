"""What a driver reads of its attempts at each look: what has changed."""

from __future__ import annotations

from pathlib import Path

from campaign.core.paths import Paths
from campaign.core.runs import State
from campaign.results.changes import Changes
from campaign.results.store import Store
from tests.support import builders


def test_each_reading_gives_what_was_written_since_the_last_one(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, builders.expand()[:4])
    changes = Changes(store)
    attempts = store.attempts()
    assert [len(of_job) for of_job in changes.active.values()] == [4] and changes.read() == []
    store.observe_state(attempts[1], State.RUNNING, "")
    store.record_end(attempts[2], State.DONE, "", 1.0, 2.0)
    assert {attempt.run: attempt.state for attempt in changes.read()} == {
        attempts[1].run: State.RUNNING,
        attempts[2].run: State.DONE,
    }
    assert changes.read() == []
    assert [len(of_job) for of_job in changes.active.values()] == [3] and store.ended_count() == 1


def test_what_another_process_writes_is_read_too(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, builders.expand()[:3])
    changes = Changes(store)
    with Store(Paths(tmp_path)) as other:
        for attempt in other.attempts():
            other.record_end(attempt, State.LOST, "gone")
    assert [attempt.reason for attempt in changes.read()] == ["gone"] * 3
    assert (changes.active, store.ended_count()) == ({}, 3)


def test_what_was_read_several_times_is_taken_once_as_it_is_now(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, builders.expand()[:2])
    changes = Changes(store)
    store.observe_state(store.attempts()[0], State.RUNNING, "")
    changes.read()
    assert [attempt.state for attempt in changes.take()].count(State.RUNNING) == 1
    assert changes.take() == []

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.core import atomic, journal
from campaign.core.errors import EnvironmentLacks
from campaign.core.events import Event
from campaign.core.paths import Paths
from campaign.core.records import OutputRemark
from campaign.core.runs import Attempt, Planned, State
from campaign.results import file_hashes, store
from campaign.results.environment.facts import NOTHING, Altered
from campaign.results.store import Store
from campaign.results.stored_rows import rows_of_attempt
from tests.support import builders

ENDS = [state for state in State if not state.active]
forked = multiprocessing.get_context("fork")


def content(root: Path) -> tuple[list[Attempt], dict[str, store.StoredJob]]:
    store = Store(Paths(root))
    try:
        return store.attempts(), store.jobs()
    finally:
        store.close()


def rebuilt_content(root: Path) -> tuple[list[Attempt], dict[str, store.StoredJob]]:
    """The content of a database made anew from the journal alone."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "journal.jsonl").write_bytes((root / "journal.jsonl").read_bytes())
        return content(Path(folder))


def events(root: Path) -> list[Event]:
    return list(journal.Reading(root / "journal.jsonl"))


def plan(store: Store, number: int) -> None:
    run = builders.run(id=f"run-{number}", fingerprint="f")
    store.plan_job(
        f"job-{number}", "scratch", "host:1:1", [Planned(run, 1, f"t{number}", Path("folder"))], "", "0" * 64
    )


# --- the database is an index of the journal


steps = st.lists(
    st.tuples(
        st.sampled_from(["plan", "submitted", "ended", "note", "rolled back", "reopened"]),
        st.integers(0, 5),
        st.sampled_from(ENDS),
    ),
    max_size=15,
)


@settings(max_examples=40)
@given(steps)
def test_a_deleted_database_is_built_again_from_the_journal(history: list[tuple[str, int, State]]) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        store = Store(Paths(root))
        planned = 0
        for kind, number, state in history:
            if kind == "plan":
                plan(store, planned)
                planned += 1
            elif kind == "submitted" and planned:
                store.submitted(f"job-{number % planned}", str(number), "said")
            elif kind == "ended" and planned:
                with store.transaction():
                    store.record_end(store.attempt(f"run-{number % planned}", 1), state, "why", 1.5, 2.5)
            elif kind == "note":
                store.note("cancel", jobs=[str(number)])
            elif kind == "rolled back":
                with pytest.raises(ZeroDivisionError), store.transaction():
                    plan(store, planned)
                    raise ZeroDivisionError
                planned += 1  # the journal has it: what was begun is never forgotten
            elif kind == "reopened":
                store.close()
                store = Store(Paths(root))
        with store.transaction():
            stored = store.attempts(), store.jobs()
        store.close()
        if planned:
            assert stored == rebuilt_content(root) == content(root)
            assert len(stored[0]) == planned
        else:
            assert stored == ([], {})


def test_an_attempt_begins_submitting_and_is_pending_once_slurm_has_answered(tmp_path: Path) -> None:
    store = Store(Paths(tmp_path))
    plan(store, 1)
    first = store.attempt("run-1", 1)
    assert (first.state, first.job_id) == (State.SUBMITTING, None)
    store.submitted("job-1", "42", "hello")
    second = store.attempt("run-1", 1)
    assert (second.state, second.job_id) == (State.PENDING, "42")
    assert store.jobs()["job-1"].message == "hello"


def test_what_sbatch_said_is_kept_where_it_is_not_known_whether_it_submitted(tmp_path: Path) -> None:
    store = Store(Paths(tmp_path))
    plan(store, 1)
    store.note("uncertain", job="job-1", message="Socket timed out")
    assert (store.attempt("run-1", 1).state, store.jobs()["job-1"].message) == (State.SUBMITTING, "Socket timed out")


def test_that_a_campaign_was_cancelled_is_known_to_other_drivers_and_after_a_rebuild(tmp_path: Path) -> None:
    store, other = Store(Paths(tmp_path)), Store(Paths(tmp_path))
    plan(store, 1)
    store.note("stop", jobs=["1"], cause="why")  # of one driver alone
    assert other.cancelled() == ""
    store.note("cancel", jobs=["1"])
    cancelled = other.cancelled()
    assert cancelled
    store.rebuild()
    assert other.cancelled() == cancelled


def test_the_first_last_word_of_an_attempt_stays(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    seen = store.attempts()[0]
    store.record_end(seen, State.DONE, "", 1.0, 2.0)
    store.record_end(seen, State.LOST, "seen by another driver")
    assert store.attempts()[0].state is State.DONE
    assert [event["event"] for event in events(tmp_path)] == ["job", "submitted", "ended"]


def test_what_slurm_says_of_an_attempt_does_not_wake_an_ended_one(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    seen = store.attempts()[0]
    store.observe_state(seen, State.RUNNING, "")
    assert store.attempts()[0].state is State.RUNNING
    store.record_end(seen, State.DONE, "")
    store.observe_state(seen, State.RUNNING, "")
    assert store.attempts()[0].state is State.DONE


def test_records_and_observations_come_back_as_they_were_saved_and_the_later_ones_count(tmp_path: Path) -> None:
    run = builders.run()
    store = builders.filled_store(tmp_path, [run])
    store.save_results(
        rows_of_attempt(
            run.id, 1, builders.records((1.0, 2.0, 3.0)), {"": builders.observation(complete=False)}, NOTHING
        )
    )
    records, seen = (
        builders.records(),
        {"": builders.observation(errors=(OutputRemark("ü", "stdout", 3),), unparsed=(OutputRemark("a"),))},
    )
    store.save_results(rows_of_attempt(run.id, 1, records, seen, NOTHING))
    assert store.records() == {(run.id, 1): records}
    assert store.observations() == {(run.id, 1): seen}


def test_a_truth_value_comes_back_as_one(tmp_path: Path) -> None:
    run = builders.run()
    store = builders.filled_store(tmp_path, [run])
    first_record, *_ = builders.records()
    records = [replace(first_record, of_fastest=True)]
    store.save_results(rows_of_attempt(run.id, 1, records, {"": builders.observation(complete=False)}, NOTHING))
    (stored,) = store.records()[run.id, 1]
    assert stored.of_fastest is True, "and not 1, which is none in JSON"


def test_the_view_of_numbers_gives_each_with_its_job_and_its_place(tmp_path: Path) -> None:
    run = builders.run()
    builders.filled_store(tmp_path, [run]).save_results(
        rows_of_attempt(run.id, 1, builders.records(), builders.observation(), NOTHING)
    )
    rows = sqlite3.connect(tmp_path / "campaign.db").execute("SELECT * FROM numbers ORDER BY line").fetchall()
    assert rows[0] == (run.id, 1, "17", "create", 1000.0, "ops/s", "runs/r/1/stdout", 14, "pending")
    assert len(rows) == 3


# --- two drivers


def test_what_another_driver_wrote_and_did_not_live_to_store_is_seen_inside_a_transaction(tmp_path: Path) -> None:
    store, other = Store(Paths(tmp_path)), Store(Paths(tmp_path))
    with pytest.raises(KeyboardInterrupt), other.transaction():
        plan(other, 1)
        raise KeyboardInterrupt
    assert store.attempts() == []
    with store.transaction():
        assert [attempt.run for attempt in store.attempts()] == ["run-1"]


def test_an_end_that_another_driver_did_not_live_to_store_is_not_written_twice(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    other = Store(Paths(tmp_path))
    attempt = store.attempts()[0]
    with pytest.raises(KeyboardInterrupt), other.transaction():
        other.record_end(attempt, State.DONE, "")
        raise KeyboardInterrupt
    store.record_end(attempt, State.LOST, "")
    assert store.attempts()[0].state is State.DONE
    assert [event["event"] for event in events(tmp_path)] == ["job", "submitted", "ended"]


def test_a_driver_waits_for_the_other_ones_transaction(tmp_path: Path) -> None:
    locked = forked.Event()

    def second() -> None:
        assert locked.wait(300)
        plan(Store(Paths(tmp_path)), 1)

    process = start_process(second)  # before this process opens the database: SQLite's locks do not survive a fork
    store = Store(Paths(tmp_path))
    plan(store, 0)
    with store.transaction():
        locked.set()
        time.sleep(0.3)
        assert len(store.attempts()) == 1
        plan(store, 2)
    join_process(process)
    assert [event["job"] for event in events(tmp_path)] == ["job-0", "job-2", "job-1"]
    assert content(tmp_path) == rebuilt_content(tmp_path)


def test_a_lock_that_is_never_given_up_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.1)
    locked_store, other = Store(Paths(tmp_path)), Store(Paths(tmp_path))
    with locked_store.transaction(), pytest.raises(EnvironmentLacks) as caught:
        plan(other, 1)
    assert str(caught.value) == (
        f"cannot use the database {tmp_path}/campaign.db (database is locked): the file system is full, beyond your "
        "quota, or lacks file locks; set 'results' in the campaign file to another file system"
    )
    plan(other, 1)
    assert len(content(tmp_path)[0]) == 1


def test_drivers_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    def writer(base: int) -> Callable[[], None]:
        def write() -> None:
            store = Store(Paths(tmp_path))
            for number in range(base, base + 10):
                plan(store, number)
                store.submitted(f"job-{number}", str(number), "")

        return write

    processes = [start_process(writer(base)) for base in (0, 10, 20)]
    for process in processes:
        join_process(process)
    attempts, jobs = content(tmp_path)
    assert {attempt.run: attempt.job_id for attempt in attempts} == {f"run-{n}": str(n) for n in range(30)}
    assert (attempts, jobs) == rebuilt_content(tmp_path)


@pytest.mark.parametrize("seed", range(8))
def test_a_driver_killed_at_any_moment_leaves_a_store_that_equals_its_journal(tmp_path: Path, seed: int) -> None:
    def write() -> None:
        written_store = Store(Paths(tmp_path))
        for number in range(100_000):
            with written_store.transaction():
                plan(written_store, number)
            written_store.submitted(f"job-{number}", str(number), "")

    process = start_process(write)
    time.sleep(random.Random(seed).uniform(0.005, 0.08))
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(300)
    store = Store(Paths(tmp_path))
    plan(store, -1)
    attempts, jobs = content(tmp_path)
    assert (attempts, jobs) == rebuilt_content(tmp_path)
    assert len(attempts) == sum(event["event"] == "job" for event in events(tmp_path))


def start_process(function: Callable[[], None]) -> multiprocessing.process.BaseProcess:
    process = forked.Process(target=function)
    process.start()
    return process


def join_process(process: multiprocessing.process.BaseProcess) -> None:
    process.join(300)
    if process.exitcode is None:
        process.kill()
    assert process.exitcode == 0


# --- what is refused, and what it says


def set_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE IF NOT EXISTS of_that_version (name TEXT)")
        database.execute(f"PRAGMA user_version = {version}")


@pytest.mark.parametrize("version", [1, 99])
def test_a_database_of_another_version_is_set_aside_and_rebuilt_from_the_journal(
    tmp_path: Path, version: int, capsys: pytest.CaptureFixture[str]
) -> None:
    builders.filled_store(tmp_path, [builders.run()]).close()
    path, before = tmp_path / "campaign.db", content(tmp_path)
    set_version(path, version)
    with Store(Paths(tmp_path)) as new_store:
        assert new_store.attempts()
    assert content(tmp_path) == before
    assert capsys.readouterr().err == (
        f"{path} is the index of another version of campaign (format {version}; this version uses {store.FORMAT}): "
        f"kept as campaign.db.format-{version}, and rebuilt\n"
    )
    with closing(sqlite3.connect(tmp_path / f"campaign.db.format-{version}")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
        assert connection.execute("SELECT count(*) FROM of_that_version, attempts").fetchone() == (0,)
    with Store(Paths(tmp_path)):
        assert capsys.readouterr().err == ""


def test_a_database_set_aside_takes_the_place_of_no_other_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, elsewhere = tmp_path / "results", tmp_path / "elsewhere"
    root.mkdir()
    builders.filled_store(root, [builders.run()]).close()
    set_version(root / "campaign.db", 99)
    (root / "campaign.db.format-99").write_text("mine")
    (root / "campaign.db.format-99.2").symlink_to(elsewhere)
    Store(Paths(root)).close()
    assert "kept as campaign.db.format-99.3, and rebuilt" in capsys.readouterr().err
    assert (root / "campaign.db.format-99").read_text() == "mine"
    assert not elsewhere.exists()
    with closing(sqlite3.connect(root / "campaign.db.format-99.3")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (99,)


def test_a_database_that_cannot_be_set_aside_stays_and_no_copy_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builders.filled_store(tmp_path, [builders.run()]).close()
    set_version(tmp_path / "campaign.db", 99)
    statements = Store._sql

    def refused(store: Store, statement: str, *values: Any) -> list[sqlite3.Row]:
        if statement.startswith("DROP"):
            raise EnvironmentLacks("no space")
        return statements(store, statement, *values)

    monkeypatch.setattr(Store, "_sql", refused)
    with pytest.raises(EnvironmentLacks, match="no space"):
        Store(Paths(tmp_path))
    with closing(sqlite3.connect(tmp_path / "campaign.db")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (99,)
    assert list(tmp_path.glob("campaign.db.*")) == []


def test_a_database_that_a_running_command_of_another_version_uses_is_not_rebuilt(tmp_path: Path) -> None:
    builders.filled_store(tmp_path, [builders.run()]).close()
    set_version(tmp_path / "campaign.db", 99)
    with (
        atomic.locked(tmp_path, atomic.AMONG_OTHERS),
        pytest.raises(EnvironmentLacks, match="a 'campaign run' is working with it: wait until"),
    ):
        Store(Paths(tmp_path))
    assert list(tmp_path.glob("campaign.db.*")) == []
    Store(Paths(tmp_path)).close()
    assert (tmp_path / "campaign.db.format-99").exists()


def test_a_command_whose_database_another_version_rebuilt_meanwhile_ends_with_what_to_do(tmp_path: Path) -> None:
    with builders.filled_store(tmp_path, [builders.run()]) as store:
        set_version(tmp_path / "campaign.db", 99)
        with pytest.raises(EnvironmentLacks, match="use one version at a time"), store.transaction():
            pass


def test_what_becomes_of_one_job_is_written_without_reading_the_attempts_of_all(tmp_path: Path) -> None:
    Store(Paths(tmp_path)).close()
    event = {
        "job": "j",
        "job_id": "1",
        "message": "",
        "run": "r",
        "number": 1,
        "state": "done",
        "reason": "",
        "files": "",
    }
    with closing(sqlite3.connect(tmp_path / "campaign.db")) as database:
        for statement in (statement for name in ("submitted", "ended") for statement in store._PROJECTION[name]):
            steps = database.execute(f"EXPLAIN QUERY PLAN {statement}", {**event, "started": 1.0, "ended": 2.0})
            assert all(step[3].startswith("SEARCH") for step in steps), statement


def test_the_schema_is_one_that_the_oldest_sqlite_in_use_understands() -> None:
    schema = "".join(line.partition("--")[0] for line in store.SCHEMA.read_text().splitlines()).upper()
    assert not {"STRICT", "RETURNING", "GENERATED", "->"} & set(schema.replace(")", " ").replace(";", " ").split())


def test_a_damaged_database_is_named_with_the_way_out_and_nothing_is_lost(tmp_path: Path) -> None:
    builders.filled_store(tmp_path, [builders.run()]).close()
    before = content(tmp_path)
    path = tmp_path / "campaign.db"
    path.write_bytes(b"x" * 100 + path.read_bytes()[100:])
    with pytest.raises(EnvironmentLacks) as caught:
        Store(Paths(tmp_path))
    assert str(caught.value) == (
        f"the database {path} is damaged (file is not a database); no data is lost: move the file away and run "
        "'campaign collect FILE' to rebuild it"
    )
    path.rename(tmp_path / "aside.db")
    assert content(tmp_path) == before


def test_a_directory_in_the_place_of_the_journal_or_the_database_is_reported_as_one(tmp_path: Path) -> None:
    builders.filled_store(tmp_path, [builders.run()]).close()
    before = content(tmp_path)
    paths = Paths(tmp_path)
    paths.database.rename(tmp_path / "aside.db")
    paths.database.mkdir()
    text = r"campaign\.db is a directory, where the database must be; .* the next command rebuilds the database"
    with pytest.raises(EnvironmentLacks, match=text):
        store.is_begun(paths)
    paths.database.rmdir()
    assert content(tmp_path) == before
    paths.journal.unlink()
    paths.journal.mkdir()
    for use in (store.is_begun, Store):
        with pytest.raises(
            EnvironmentLacks, match=r"journal\.jsonl is a directory, .*: restore the journal from a backup"
        ):
            use(paths)


def test_a_database_that_may_not_be_written_is_reported_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    builders.filled_store(tmp_path, [builders.run()]).close()
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "campaign.db")
    with pytest.raises(EnvironmentLacks, match=r"no permission to read and write the database .*campaign\.db; change"):
        Store(Paths(tmp_path))


@pytest.mark.parametrize(
    ("table", "data"), [("observations", "{}["), ("observations", '{"no": 1}'), ("observations", "7")]
)
def test_a_database_whose_content_is_not_understood_is_named_with_the_way_out(
    tmp_path: Path, table: str, data: str
) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    with store.transaction():
        store._sql(f"INSERT OR REPLACE INTO {table} VALUES ('scratch.peak.unique.r1', 1, ?)", (data,))
    with pytest.raises(
        EnvironmentLacks, match=r"campaign.db is damaged \(unreadable content: .* 'campaign collect FILE'"
    ):
        store.observations()


def test_what_was_not_understood_says_nothing_more_when_the_database_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", errors.append)
    store = builders.filled_store(tmp_path, [builders.run()])
    with store.transaction():
        store._sql("UPDATE attempts SET state = 'splendid'")
    try:
        store.attempts()
    except EnvironmentLacks:  # whose traceback has the rows that were being read
        store.close()
    gc.collect()
    assert errors == []


def test_a_state_that_no_attempt_can_have_is_named_with_the_way_out(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    with store.transaction():
        store._sql("UPDATE attempts SET state = 'splendid'")
    with pytest.raises(EnvironmentLacks, match=r"campaign.db is damaged \(unreadable content: .*splendid"):
        store.attempts()


@pytest.mark.parametrize("column", ["started", "job_id", "fingerprint", "state"])
def test_a_column_with_a_value_of_another_kind_is_damaged(tmp_path: Path, column: str) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    odd = b"\xff" if column != "started" else "a text"
    with store.transaction():
        store._sql(f"UPDATE {'jobs' if column == 'job_id' else 'attempts'} SET {column} = ?", (odd,))
    with pytest.raises(EnvironmentLacks, match=f"is damaged .*{column} is of type .*no data is lost"):
        store.attempts()


def test_a_number_of_a_result_that_is_a_text_is_damaged(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    store.save_results(
        rows_of_attempt(builders.run().id, 1, builders.records(), builders.observation(), builders.evidence())
    )
    with store.transaction():
        store._sql("UPDATE records SET start_skew_s = 'late'")
    with pytest.raises(EnvironmentLacks, match=r"is damaged .*start_skew_s is of type str"):
        store.records()


@pytest.mark.parametrize(("column", "value"), [("each", b"[]"), ("file", b"\xff"), ("line", "x")])
def test_a_column_of_results_that_is_no_field_has_its_kind_too(tmp_path: Path, column: str, value: object) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    store.save_results(
        rows_of_attempt(builders.run().id, 1, builders.records(), builders.observation(), builders.evidence())
    )
    with store.transaction():
        store._sql(f"UPDATE records SET {column} = ?", (value,))
    with pytest.raises(EnvironmentLacks, match=rf"is damaged .*{column} is of type (bytes|str)"):
        store.records()


@pytest.mark.parametrize("change", ["DROP TABLE attempts", "ALTER TABLE attempts RENAME COLUMN run TO name"])
def test_a_database_that_lacks_a_table_or_a_column_is_damaged_and_no_disk_is_full(tmp_path: Path, change: str) -> None:
    builders.filled_store(tmp_path, [builders.run()]).close()
    with closing(sqlite3.connect(tmp_path / "campaign.db")) as connection:
        connection.execute("DROP VIEW numbers")
        connection.execute(change)
        connection.commit()
    with Store(Paths(tmp_path)) as store, pytest.raises(EnvironmentLacks, match=r"is damaged \(no such .*no data is"):
        store.attempts()


def test_a_database_damaged_while_it_is_open_says_the_same(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    with (tmp_path / "campaign.db").open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (os.fstat(file.fileno()).st_size - 100))
    with pytest.raises(
        EnvironmentLacks, match=r"campaign\.db is damaged \(database disk image is malformed\); no data is lost"
    ):
        Store(Paths(tmp_path)).attempts()
    store.close()


def test_a_journal_shorter_than_the_database_knows_it_is_refused(tmp_path: Path) -> None:
    builders.filled_store(tmp_path, [builders.run()]).close()
    path = tmp_path / "journal.jsonl"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(EnvironmentLacks) as caught:
        Store(Paths(tmp_path))
    lines = len(path.read_bytes().splitlines())
    sizes = f"{size - 5} of {size} bytes; line {lines}: truncated"
    assert str(caught.value) == (f"the journal {path} is shorter than before ({sizes}): {journal.RESTORE}")


def test_a_journal_that_is_shorter_and_damaged_is_not_said_to_be_whole_but_for_its_end(tmp_path: Path) -> None:
    builders.filled_store(tmp_path, [builders.run()]).close()
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"x\n" + path.read_bytes().split(b"\n", 1)[1])
    with pytest.raises(EnvironmentLacks, match=r"is damaged: line 1: not a JSON event: .*run the campaign again$"):
        Store(Paths(tmp_path))


def test_a_journal_that_was_changed_is_refused_when_the_database_is_built_again(tmp_path: Path) -> None:
    builders.filled_store(tmp_path, [builders.run()]).close()
    path = tmp_path / "journal.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"target": "scratch"', b'"target": "scraped"'))
    (tmp_path / "campaign.db").unlink()
    with pytest.raises(EnvironmentLacks, match=r"journal\.jsonl:\d+: the hash chain is broken"):
        Store(Paths(tmp_path))


def test_a_place_where_no_folder_can_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentLacks, match=r"/file/results: Not a directory$"):
        Store(Paths(tmp_path / "file" / "results"))


def test_a_full_disk_under_the_journal_leaves_store_and_journal_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    before = content(tmp_path)

    def full(*_: object) -> None:
        raise EnvironmentLacks("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(journal, "append", full)
        with pytest.raises(EnvironmentLacks, match="No space"):
            plan(store, 5)
    assert content(tmp_path) == before
    plan(store, 5)
    assert len(content(tmp_path)[0]) == 2


def test_every_event_of_the_journal_is_a_line_that_people_can_read(tmp_path: Path) -> None:
    builders.filled_store(tmp_path, [builders.run()])
    lines = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text().splitlines()]
    assert [(line["format"], line["event"]) for line in lines] == [(1, "job"), (1, "submitted")]
    assert lines[0]["attempts"] == [
        {"run": "scratch.peak.unique.r1", "number": 1, "token": "00000001", "fingerprint": "f" * 16}
    ]


# --- results that may only be read


READER = """
from pathlib import Path
from campaign.slurm import collect
from campaign.core.paths import Paths
opened = collect.open_store(Paths(Path("results")), {"": "mdtest"})
print([(one.run, one.state.value) for one in opened.attempts()], len(opened.observations()))
try:
    opened.note("status")
except Exception as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_results_on_a_read_only_medium_are_read_by_their_journal_whatever_a_database_beside_it_says(
    tmp_path: Path,
) -> None:
    builders.filled_store(tmp_path / "results", [builders.run()]).close()
    with closing(sqlite3.connect(tmp_path / "results" / "campaign.db")) as doctored, doctored:
        doctored.execute("UPDATE attempts SET state = 'done'")
    read_only = 'mount --bind results results && mount -o remount,bind,ro results && exec "$@"'
    command = ["unshare", "--mount", "bash", "-c", read_only, "bash", sys.executable, "-c", READER]
    reply = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=800, check=True)
    assert reply.stdout == (
        "[('scratch.peak.unique.r1', 'pending')] 0\n"
        "results/journal.jsonl: cannot be written: Read-only file system; the journal is written before "
        "every other step: free space or correct `results`\n"
    )


def test_a_file_whose_name_is_no_utf8_does_not_keep_an_end_from_the_journal(tmp_path: Path) -> None:
    run = builders.run()
    with builders.filled_store(tmp_path, [run]) as store:
        attempt = store.attempts()[0]
        folder = Paths(tmp_path).attempt(attempt.run, attempt.number)
        folder.mkdir(parents=True)
        (folder / os.fsdecode(b"core.\xff\xe9")).write_text("x")
        store.record_end(attempt, State.DONE, "")
    assert list(events(tmp_path)[-1]["files"]) == [r"core.\xff\xe9"]


@pytest.mark.parametrize("name", [b"stdout", b"deep/bench.jsonl", b"core.\xff"])
def test_a_file_that_was_changed_or_removed_after_the_attempts_end_is_found(tmp_path: Path, name: bytes) -> None:
    run, paths = builders.run(), Paths(tmp_path)
    with builders.filled_store(tmp_path, [run]) as store:
        attempt = store.attempts()[0]
        file = paths.attempt(attempt.run, attempt.number) / os.fsdecode(name)
        file.parent.mkdir(parents=True)
        file.write_text("as measured")
        recorded_digests = file_hashes.digests(paths.attempt(attempt.run, attempt.number))
        store.record_end(attempt, State.DONE, "")
    assert file_hashes.altered_files(paths, journal.read_chain(paths.journal)) == {}
    file.write_text("as wanted")
    output = name.decode(errors="backslashreplace")
    digest = file_hashes.digests(paths.attempt(attempt.run, attempt.number))[output]
    assert file_hashes.altered_files(paths, journal.read_chain(paths.journal)) == {
        (attempt.run, attempt.number): (Altered(output, recorded_digests[output], digest),)
    }
    file.unlink()
    assert file_hashes.altered_files(paths, journal.read_chain(paths.journal)) == {
        (attempt.run, attempt.number): (Altered(output, recorded_digests[output], ""),)
    }


@pytest.mark.parametrize("name", ["../../../secret", "deep/../../../../secret"])
def test_a_journal_cannot_have_a_file_outside_of_the_attempts_folder_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    run, paths, digest = builders.run(), Paths(tmp_path / "results"), "0" * 64
    with builders.filled_store(paths.root, [run]) as store:
        store.note("ended", run=run.id, number=1, state="done", reason="", started=1, ended=2, files={name: digest})
    (paths.attempt(run.id, 1) / "deep").mkdir(parents=True)
    (paths.root / "secret").write_text("the buyer's")
    monkeypatch.setattr(file_hashes.untrusted, "digest", lambda path: pytest.fail(f"{path} was opened"))
    assert file_hashes.altered_files(paths, journal.read_chain(paths.journal)) == {
        (run.id, 1): (Altered(name, digest, ""),)
    }


def test_a_text_of_the_database_that_is_not_utf_8_is_named_with_the_way_out(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    with store.transaction():
        store._sql("UPDATE attempts SET state = CAST(X'ff41' AS TEXT)")
    with pytest.raises(
        EnvironmentLacks, match=r"campaign\.db is damaged \(Could not decode to UTF-8 .* no data is lost"
    ):
        store.attempts()

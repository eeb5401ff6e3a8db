"""Kept judgements: nothing is judged again that has not changed, everything else is, and no proof depends on them."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import mock

import pytest

from campaign.core import journal, workers
from campaign.core.errors import NoRoom
from campaign.core.findings import Finding
from campaign.judge import engine, judgements
from campaign.pipeline import planning
from campaign.pipeline.campaign_state import kept_submission
from campaign.results.case import Case
from campaign.results.environment.facts import Accounting
from campaign.results.store import Store, sha256_of
from tests.support import command_line, large
from tests.support.bundled import Vendor
from tests.support.large import Large

RUN = "scratch.single.shared.r1"
EXPLANATION = 'explanations:\n- {rule: RUN-08, cells: "*/*/*/*", text: a trial}\n'


@pytest.fixture
def campaign(vendor: Vendor, request: pytest.FixtureRequest) -> Iterator[Large]:
    """Twelve runs that lie there measured, and were judged before."""
    an_hour_ago = time.time() - 3600  # runs that end now would end later than their files were written
    with mock.patch.object(time, "time", lambda: an_hour_ago):
        large_campaign = large.make(vendor, f"kept-{abs(hash(request.node.name))}")
    call_campaign(large_campaign, "status")
    yield large_campaign
    shutil.rmtree(root(large_campaign))


def root(large_campaign: Large) -> Path:
    return large_campaign.definition.paths.root


def attempt(large_campaign: Large) -> Path:
    return large_campaign.definition.paths.attempt(RUN, 1)


def call_campaign(large_campaign: Large, *words: str | Path) -> str:
    """What a verb prints, in this process."""
    process = command_line.call(
        words[0], large_campaign.file, *words[1:], environment=large_campaign.vendor.environment
    )
    assert process.returncode in (0, 1), process.stderr
    return process.stdout


@contextmanager
def database(large_campaign: Large) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(large_campaign.definition.paths.database)) as connection:
        yield connection
        connection.commit()


@pytest.fixture
def judged_subjects(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is judged from now on: attempts, and the campaign. Not what is planned, as attempt 0."""
    subjects: list[str] = []
    judge, judge_campaign = engine.judge, engine.judge_campaign
    monkeypatch.setattr(
        engine, "judge", lambda case: subjects.extend([case.subject] * bool(case.attempt.number)) or judge(case)
    )
    monkeypatch.setattr(
        engine, "judge_campaign", lambda submission: subjects.append("campaign") or judge_campaign(submission)
    )
    return subjects


def test_a_search_judges_only_what_has_no_kept_judgement(campaign: Large, judged_subjects: list[str]) -> None:
    planned = planning.plan(campaign.definition)

    def findings() -> list[Finding]:
        with planning._results_by_run(campaign.definition, planned) as results:
            return [finding for run in planned.runs for case in results(run) for finding in case.findings]

    kept_findings = findings()
    assert judged_subjects == []
    with database(campaign) as connection:
        connection.execute("DELETE FROM judgements WHERE subject = ?", (f"{RUN}/1",))
    assert findings() == kept_findings
    assert judged_subjects == [f"{RUN}/1"]
    assert findings() == kept_findings
    assert judged_subjects == [f"{RUN}/1"]


@pytest.mark.parametrize(
    "words", [["status"], ["status", "--json"], ["table"], ["table", "--format", "json"], ["run"]], ids=" ".join
)
def test_what_has_not_changed_is_not_judged_again(
    campaign: Large, judged_subjects: list[str], words: list[str]
) -> None:
    with database(campaign) as connection:
        connection.execute("DELETE FROM judgements")
    fresh = call_campaign(campaign, *words)
    assert len(judged_subjects) == 13
    assert call_campaign(campaign, *words) == fresh
    assert len(judged_subjects) == 13


def test_a_report_is_the_same_of_kept_judgements(campaign: Large, judged_subjects: list[str], tmp_path: Path) -> None:
    def report(name: str) -> dict[str, str]:
        call_campaign(campaign, "report", "-o", tmp_path / name)
        return {path.name: path.read_text() for path in (tmp_path / name).iterdir() if path.suffix != ".xlsx"}

    call_campaign(campaign, "report", "-o", tmp_path / "first")  # compares the sources, and keeps that
    judged_subjects.clear()
    fresh = report("kept")
    assert judged_subjects == []
    with database(campaign) as connection:
        connection.execute("DELETE FROM judgements")
    assert report("fresh") == fresh
    assert len(judged_subjects) == 13


def rewrite_file(name: str, *replaced: tuple[str, str]) -> Callable[[Large], object]:
    def change(large_campaign: Large) -> None:
        text = (attempt(large_campaign) / name).read_text()
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        (attempt(large_campaign) / name).write_text(text)

    return change


def of_file(old: str, new: str) -> Callable[[Large], object]:
    return lambda large_campaign: large_campaign.file.write_text(large_campaign.file.read_text().replace(old, new))


def with_accounting(large_campaign: Large) -> None:
    with Store(large_campaign.definition.paths) as store:
        store.save_accounting(store.attempt(RUN, 1).job, Accounting(asked=1.0, job={"JobId": "5"}))


def of_database(statement: str) -> Callable[[Large], object]:
    def change(large_campaign: Large) -> None:
        with database(large_campaign) as connection:
            assert connection.execute(statement).rowcount == 1

    return change


def of_source(large_campaign: Large) -> None:
    folder = large_campaign.definition.paths.source
    folder.mkdir()
    (folder / "modifications.json").write_text(json.dumps({"format": 1, "problem": "none was found"}))


def of_journal(large_campaign: Large) -> None:
    with Store(large_campaign.definition.paths) as store:
        store.note("cancel", jobs=[])


CHANGES: dict[str, tuple[Callable[[Large], object], int]] = {  # with the number of attempts that are judged again
    "an output": (rewrite_file("stdout", ("File creation", "File Creation")), 1),
    "an output that only looks changed": (rewrite_file("stdout"), 0),
    "an output that is gone": (lambda large_campaign: (attempt(large_campaign) / "stdout").unlink(), 1),
    "a further file": (lambda large_campaign: (attempt(large_campaign) / "bench.jsonl").write_text("{}\n"), 0),
    "the accounting": (with_accounting, 3),
    "the journal": (of_journal, 0),
    "the source": (of_source, 0),
    "an explanation": (
        lambda large_campaign: large_campaign.file.write_text(large_campaign.file.read_text() + EXPLANATION),
        0,
    ),
    "the campaign file": (of_file("nonce: buyer-2026", "nonce: another"), 12),
    "what was read of an output": (of_database(f"UPDATE evidence SET digest = '0' WHERE run = '{RUN}'"), 1),
    "the kept findings": (of_database(f"DELETE FROM judgements WHERE subject = '{RUN}/1'"), 0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_has_changed_is_judged_again(campaign: Large, judged_subjects: list[str], name: str) -> None:
    change, attempts = CHANGES[name]
    change(campaign)
    seen = call_campaign(campaign, "status"), call_campaign(campaign, "table", "--format", "json")
    if name == "the kept findings":  # the campaign's own are there
        assert judged_subjects == []
        return
    assert judged_subjects.count("campaign") == 1
    assert len(judged_subjects) == 1 + attempts
    call_campaign(campaign, "status")
    assert len(judged_subjects) == 1 + attempts
    with database(campaign) as connection:
        connection.execute("DELETE FROM judgements")
    assert seen == (call_campaign(campaign, "status"), call_campaign(campaign, "table", "--format", "json"))


def test_another_version_s_judgement_is_not_used(
    campaign: Large, judged_subjects: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judgements, "_digest_of_program", lambda: "another")
    call_campaign(campaign, "status")
    assert len(judged_subjects) == 13


def test_results_of_an_output_that_was_checked_while_it_was_damaged_come_back_with_it(campaign: Large) -> None:
    fresh, output = call_campaign(campaign, "table", "--format", "json"), attempt(campaign) / "stdout"
    content = output.read_bytes()
    output.write_bytes(content[:100])
    call_campaign(campaign, "check")
    assert call_campaign(campaign, "table", "--format", "json") != fresh
    output.write_bytes(content)
    assert call_campaign(campaign, "table", "--format", "json") == fresh


@pytest.fixture
def pieces_of_five(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgements, "MOST_RUNS", 5)


def test_judging_that_was_interrupted_goes_on_with_what_is_not_judged_yet(
    campaign: Large, judged_subjects: list[str], monkeypatch: pytest.MonkeyPatch, pieces_of_five: None
) -> None:
    with database(campaign) as connection:
        connection.execute("DELETE FROM judgements")
    judge_recorded = engine.judge

    def interrupted_judge(case: Case) -> Iterator[Finding]:
        if len(judged_subjects) == 8:
            raise KeyboardInterrupt
        return judge_recorded(case)

    with monkeypatch.context() as patched:
        patched.setattr(engine, "judge", interrupted_judge)
        with Store(campaign.definition.paths) as store, pytest.raises(KeyboardInterrupt):
            kept_submission(campaign.definition, planning.plan(campaign.definition), store)
    first_subjects = judged_subjects[:5]
    judged_subjects.clear()
    call_campaign(campaign, "status")
    assert len(judged_subjects) == 12 - 5 + 1
    assert not set(first_subjects) & set(judged_subjects)


def test_several_processes_judge_as_one_does(
    campaign: Large, monkeypatch: pytest.MonkeyPatch, pieces_of_five: None
) -> None:
    def judgements_and_table() -> tuple[list[tuple[str, str, str]], str]:
        with database(campaign) as connection:
            connection.execute("DELETE FROM judgements")
        text = call_campaign(campaign, "table", "--format", "json")
        with database(campaign) as connection:
            return connection.execute("SELECT subject, key, data FROM judgements ORDER BY subject").fetchall(), text

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    by_one = judgements_and_table()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.setattr(workers, "FEWEST_ITEMS", 1)
    assert judgements_and_table() == by_one


# --- a judgement that was changed


def test_a_damaged_judgement_is_not_used(campaign: Large, judged_subjects: list[str]) -> None:
    fresh = call_campaign(campaign, "table", "--format", "json")
    for damage in ("'{'", "NULL || data", "data || ' '", "x'ff'", "''"):
        with database(campaign) as connection:
            connection.execute(f"UPDATE judgements SET data = coalesce({damage}, '')")
        judged_subjects.clear()
        assert call_campaign(campaign, "table", "--format", "json") == fresh
        assert len(judged_subjects) == 13


def forge(large_campaign: Large) -> None:
    """Other findings and values, with checksums that fit."""
    with database(large_campaign) as connection:
        for subject, key, data in connection.execute("SELECT subject, key, data FROM judgements").fetchall():
            text = '[{"rule": "RUN-01", "severity": "E", "subject": "campaign", "wording": "forged"}]'
            if subject == "campaign":
                text = json.dumps({**json.loads(data), "findings": json.loads(text)})
            row = (text, sha256_of(key, text), subject)
            connection.execute("UPDATE judgements SET data = ?, digest = ? WHERE subject = ?", row)


def test_check_bundle_and_verify_never_use_a_kept_judgement(
    campaign: Large, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked, bag = call_campaign(campaign, "check"), tmp_path / "bag"
    call_campaign(campaign, "status")
    forge(campaign)
    assert call_campaign(campaign, "check") == checked
    call_campaign(campaign, "status")
    forge(campaign)
    monkeypatch.setattr(Store, "judgement", lambda *_: pytest.fail("a kept judgement was asked for"))
    assert call_campaign(campaign, "check") == checked
    call_campaign(campaign, "bundle", "-o", bag)
    assert "forged" not in (bag / "data/findings.json").read_text()
    process = command_line.call("verify", bag)
    assert process.returncode in (0, 1)
    assert "forged" not in process.stdout


def test_a_judgement_that_cannot_be_kept_is_no_error(campaign: Large, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise NoRoom("no space left on device")

    fresh = call_campaign(campaign, "status")
    with database(campaign) as connection:
        connection.execute("DELETE FROM judgements")
    monkeypatch.setattr(Store, "keep_judgements", full)
    assert call_campaign(campaign, "status") == fresh


def test_nothing_is_kept_of_a_damaged_journal(campaign: Large, judged_subjects: list[str]) -> None:
    journal = campaign.definition.paths.journal
    journal.write_text(journal.read_text().replace("buyer-2026", "buyer-2027"))
    for number in (1, 2):
        assert (
            "hash chain" in command_line.call("status", campaign.file, environment=campaign.vendor.environment).stderr
        )
        assert judged_subjects.count("campaign") == number


def test_run_reads_a_sound_journal_once_and_refuses_one_that_was_edited_since(
    campaign: Large, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_campaign(campaign, "run")
    path, readings = campaign.definition.paths.journal, list[Path]()
    read_chain = journal.read_chain
    monkeypatch.setattr(journal, "read_chain", lambda file: readings.append(file) or read_chain(file))
    call_campaign(campaign, "run")
    assert readings == []
    path.write_text(path.read_text().replace("host:1:1", "host:1:2"))
    process = command_line.call("run", campaign.file, environment=campaign.vendor.environment)
    assert (process.returncode, readings) == (3, [path])
    assert "hash chain" in process.stderr

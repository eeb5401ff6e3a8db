from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from campaign.config.rules.output_format import DeclaredRecord, OutputFormat
from campaign.core import waiting
from campaign.core.records import PhaseTimes, Record, Source
from campaign.core.runs import State
from campaign.core.units import utc
from campaign.results.environment.slurm_text import STATES
from campaign.results.store import Store
from campaign.slurm import collect, commands
from campaign.slurm.collect import read_evidence
from tests.support import builders, facts, fake_slurm
from tests.support.driving import Driving
from tests.support.fake_slurm import Fake


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        yield fake


@pytest.fixture
def driver(tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> Driving:
    return Driving(tmp_path, monkeypatch)


def send_one(driver: Driving) -> None:
    driver.send(driver.runs[:1])


def wait_for_state(driver: Driving, state: State) -> None:
    def is_reached() -> bool:
        driver.step()
        return driver.attempt().state is state

    fake_slurm.wait_until(is_reached, f"the attempt is {state}")


def wait_for_reason(driver: Driving, reason: str, number: int = 1) -> None:
    def is_reached() -> bool:
        driver.step()
        return driver.attempt(number).reason == reason

    fake_slurm.wait_until(is_reached, f"the reason is {reason!r}")


def wait_for_message(driver: Driving, text: str) -> None:
    def is_reached() -> bool:
        driver.step()
        return any(text in message for message in driver.messages)

    fake_slurm.wait_until(is_reached, f"somebody says {text!r}")


def wait_for_jobs(cluster: Fake) -> None:
    fake_slurm.wait_until(lambda: not cluster.active_jobs(), "all jobs have ended")


# --- the job's own record comes first


def test_results_come_in_while_slurm_does_not_answer(driver: Driving, cluster: Fake) -> None:
    driver.send()
    cluster.fault("squeue-fails")
    cluster.fault("sacct-fails")
    cluster.fault("scontrol-fails")
    driver.follow()
    assert driver.states() == [State.DONE, State.DONE]
    assert [len(records) for records in driver.store.records().values()] == [5, 5]


def test_an_attempts_times_are_those_of_its_record(driver: Driving) -> None:
    send_one(driver)
    driver.follow()
    record = facts.read_completion(driver.folder())
    assert record is not None
    assert (driver.attempt().started, driver.attempt().ended) == (record["started"], record["ended"])


def test_a_failed_run_in_a_job_that_slurm_calls_completed_is_failed(driver: Driving, cluster: Fake) -> None:
    cluster.fault("bench-fails", "mdtest: unable to create file\n")
    cluster.fault("squeue-state", "COMPLETED")
    send_one(driver)
    fake_slurm.wait_until((driver.folder() / "claim").is_dir, "the job has claimed the run")
    driver.follow()
    assert driver.attempt().state is State.FAILED
    assert driver.attempt().reason.startswith("the benchmark ended with status 1: ")
    assert "mdtest: unable to create file" in driver.attempt().reason


def test_a_run_that_its_job_did_not_launch_is_reported_with_the_reason_alone(driver: Driving, cluster: Fake) -> None:
    target = Path(driver.campaign.targets[0].directory)
    target.rmdir()
    driver.send()
    driver.follow()
    reason = f"{target} does not exist on {os.uname().nodename}; create it where all nodes see it"
    assert {(attempt.state, attempt.reason) for attempt in driver.store.attempts()} == {(State.FAILED, reason)}


AWAY = (
    "not in service: n2 (drained: {why} set by root at {since}); the site's Prolog or Epilog failed on n2: ask the "
    "administrators to look into slurmd's log there and to resume it"
)


def test_a_job_whose_prolog_failed_is_reported_with_the_node(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold")
    send_one(driver)
    wait_for_reason(driver, "Priority")
    (job,) = cluster.jobs()
    moment = int(time.time())
    cluster.fault("drained", f"{moment} Prolog error")
    cluster.fault("squeue-state", "CANCELLED")  # as Slurm calls such a job
    driver.follow()
    remark = AWAY.format(why="Prolog error", since=utc(moment))
    assert driver.attempt().state is State.CANCELLED
    assert driver.attempt().reason == f"job {job['id']}: CANCELLED (Priority) before this run started; {remark}"


def test_of_a_job_that_somebody_cancelled_no_node_is_blamed(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold")
    send_one(driver)
    cluster.fault("drained", "1000 Prolog error")  # long before
    cluster.fault("squeue-state", "CANCELLED")
    driver.follow()
    assert "Prolog" not in driver.attempt().reason


def test_a_job_that_waits_for_nodes_out_of_service_is_reported_with_them(driver: Driving, cluster: Fake) -> None:
    waits = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    cluster.fault("hold", waits)
    cluster.fault("drained", "1795376728 disk | bad")
    send_one(driver)
    remark = "not in service: n2 (drained: disk | bad set by root at 2026-11-22 19:45:28 UTC); ask the administrators"
    job = cluster.jobs()[0]["id"]
    waits = f"{waits} (job {job} starts by itself once enough nodes are back; no need to cancel it)"
    wait_for_reason(driver, f"{waits}; {remark}")
    cluster.fault("sinfo-fails")
    wait_for_reason(driver, waits)


def test_a_damaged_record_ends_the_attempt_with_what_is_wrong(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold")
    send_one(driver)
    (driver.folder() / "facts.jsonl").write_text("{")
    driver.follow()
    assert driver.attempt().state is State.FAILED
    assert "facts.jsonl: not JSON" in driver.attempt().reason


def test_a_job_id_that_no_driver_wrote_down_comes_from_the_jobs_own_record(driver: Driving, cluster: Fake) -> None:
    cluster.fault("sbatch-fails-after")
    cluster.fault("forgets")
    send_one(driver)
    wait_for_jobs(cluster)
    driver.follow()
    assert (driver.attempt().state, driver.attempt().job_id) == (State.DONE, cluster.jobs()[0]["id"])


def test_raw_output_is_read_again_into_a_new_database(driver: Driving) -> None:
    driver.send()
    driver.follow()
    records, observations = driver.store.records(), driver.store.observations()
    driver.store.close()
    driver.paths.database.unlink()
    store = Store(driver.paths)
    assert store.records() == {}
    assert collect.import_all(driver.paths, store, {"": "mdtest"}) == 2
    assert (store.records(), store.observations()) == (records, observations)
    assert [attempt.state for attempt in store.attempts()] == [State.DONE, State.DONE]


def test_an_interrupted_import_goes_on_where_it_stopped(driver: Driving, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.send()
    driver.follow()
    records = driver.store.records()
    driver.store.close()
    driver.paths.database.unlink()
    imported_runs: list[str] = []
    read_results, limit = collect._read_results, 1

    def count_imports(*arguments: Any) -> Any:
        if len(imported_runs) == limit:
            raise KeyboardInterrupt
        imported_runs.append(arguments[2].run)
        return read_results(*arguments)

    monkeypatch.setattr(collect, "PIECE", 1)
    monkeypatch.setattr(collect, "_read_results", count_imports)
    with pytest.raises(KeyboardInterrupt):
        collect.open_store(driver.paths, {"": "mdtest"})
    limit = 2
    for _ in range(2):
        with collect.open_store(driver.paths, {"": "mdtest"}) as store:
            assert store.records() == records
    assert sorted(imported_runs) == sorted(run.id for run in driver.runs)


def test_a_long_import_reports_how_far_it_is(driver: Driving, monkeypatch: pytest.MonkeyPatch) -> None:
    driver.send()
    driver.follow()
    monkeypatch.setattr(collect, "PIECE", 1)
    monkeypatch.setattr(waiting, "SLOW_S", 0.0)
    messages: list[str] = []
    with waiting.replace_listener(messages.append):
        collect.import_all(driver.paths, driver.store, {"": "mdtest"})
    assert messages == ["importing 0 of 2 attempts", "importing 1 of 2 attempts"]


def test_a_database_of_another_version_has_the_same_results_after_it_was_rebuilt(driver: Driving) -> None:
    driver.send()
    driver.follow()
    records = driver.store.records()
    driver.store.close()
    with closing(sqlite3.connect(driver.paths.database)) as database:
        database.execute("PRAGMA user_version = 99")
    with collect.open_store(driver.paths, {"": "mdtest"}) as store:
        assert store.records() == records != {}


def test_outputs_are_read_again_where_the_pack_reads_them_otherwise_than_before(driver: Driving) -> None:
    driver.send()
    driver.follow()
    driver.store.close()
    collect.open_store(driver.paths, {"": "mdtest"}).close()
    mine = DeclaredRecord("mine", "ops/s", r" *File creation +(?P<value>[0-9.]+) .*")
    form = OutputFormat("text", applet="mdtest", records=(mine,))
    for kind, names in (("mdtest", {"create", "stat", "remove"}), (form, {"mine"}), ("mdtest", {"create"})):
        with collect.open_store(driver.paths, {"": kind}) as store:
            assert all(names <= {record.operation for record in records} for records in store.records().values())
            assert len(store.records()) == 2


@pytest.mark.parametrize(
    ("probed", "placement", "per_node"),
    [
        ("0 n1\n1 n1\n2 n2\n3 n2\n", "block", 2),
        ("0 n1\n1 n2\n2 n1\n3 n2\n", "irregular", 2),
        ("0 n1\n1 n1\n2 n1\n3 n2\n", "block", 0),
        ("0 n1 -\n1 n1 -\n2 n2 LD_A=ab\n3 n2 LD_A=ab\n", "block", 2),
        ("", None, None),
        ("torn", None, None),
    ],
)
def test_the_placement_of_a_benchmark_that_does_not_tell_it_comes_from_the_probe(
    driver: Driving, probed: str, placement: str | None, per_node: int | None
) -> None:
    send_one(driver)
    driver.follow()
    folder = driver.folder()
    text = (folder / "stdout").read_text().replace("mdtest-4.1.0+dev", "mdtest-1.8.4").replace("Nodemap: 1\n", "")
    (folder / "stdout").write_text(text.replace("with 1 total task(s) on 1 node(s)", "with 4 total task(s) on 2 nodes"))
    # What was seen of the ranks themselves goes before.
    other_entries = [fact for fact in facts.read(folder) if fact["source"] not in ("probe", "ranks")]
    facts.write(folder, *other_entries, *facts.probe_facts(probed))
    collect.import_results(driver.paths, driver.store, {"": "mdtest"}, driver.attempt())
    ((seen,),) = (outputs.values() for outputs in driver.store.observations().values())
    assert (seen.placement, seen.processes_per_node) == (placement, per_node)


@pytest.mark.parametrize(
    ("probed", "of_phase", "variables"),
    [
        (
            "0 n1 -\n1 n2 LD_A=ab,LD_B=cd\n",
            "0 n1 LD_A=ef\n1 n2 LD_A=ef\n",
            {"": ("LD_A=ab", "LD_B=cd"), "write": ("LD_A=ef",)},
        ),
        ("0 n1 -\n1 n2 -\n", "", {"": ()}),
        ("", "", {}),
        ("0 n1 LD_A=ab\n1 n2\n", "0 n1 -\n", {"write": ()}),
        ("0 n1 LD_A=ab\n", "0 n1\n", {"": ("LD_A=ab",)}),
    ],
)
def test_what_the_launcher_set_is_known_of_each_phase_whose_probe_recorded_every_rank(
    driver: Driving, probed: str, of_phase: str, variables: dict[str, tuple[str, ...]]
) -> None:
    send_one(driver)
    driver.follow()
    folder = driver.folder()
    other_entries = [fact for fact in facts.read(folder) if fact["source"] != "probe"]
    facts.write(folder, *other_entries, *facts.probe_facts(probed), *facts.probe_facts(of_phase, "write"))
    evidence, problems = collect.read_evidence(folder, driver.attempt().token)
    assert (evidence.loader_variables, problems) == (variables, ())
    assert evidence.placement.get("write", ()) == tuple(line.split()[1] for line in of_phase.splitlines())


def test_a_failure_is_explained_in_the_programs_words_and_not_in_its_launchers(driver: Driving) -> None:
    send_one(driver)
    driver.follow()
    launcher, program = "srun: error: n1: task 0: Exited with exit code 1", "mdtest: cannot open the licence file"
    (driver.folder() / "stderr").write_text(f"{launcher}\n{program}\n")
    assert program in collect.import_results(driver.paths, driver.store, {"": "mdtest"}, driver.attempt())[1]
    (driver.folder() / "stderr").write_text(f"{launcher}\n")
    assert launcher in collect.import_results(driver.paths, driver.store, {"": "mdtest"}, driver.attempt())[1]


# --- a program that ends with status 0 and has measured nothing

NO_RESULTS = "the benchmark ended with status 0 and gave none of its results (create, remove, stat)"


def test_a_benchmark_that_gives_none_of_its_results_has_failed_whatever_its_status(
    driver: Driving, cluster: Fake
) -> None:
    cluster.fault("bench-silent", "mdtest: no licence\n")
    send_one(driver)
    driver.follow()
    assert driver.attempt().state is State.FAILED
    assert driver.attempt().reason.startswith(f"{NO_RESULTS}: ")
    assert "mdtest: no licence" in driver.attempt().reason


@pytest.mark.parametrize(
    ("stdout", "state"),
    [
        (lambda text: "", State.FAILED),
        (lambda text: text[: text.index("   File creation")], State.FAILED),  # cut off in front of the results
        (lambda text: text[: text.index("   File stat")], State.DONE),  # behind one of them: RUN-06 reports the others
        (lambda text: text, State.DONE),
    ],
)
def test_an_output_without_results_is_that_of_a_run_that_failed(
    driver: Driving, cluster: Fake, stdout: Callable[[str], str], state: State
) -> None:
    send_one(driver)
    record = driver.folder() / "facts.jsonl"
    fake_slurm.wait_until(record.exists, "the run has ended")
    path = driver.folder() / "stdout"
    path.write_text(stdout(path.read_text()))
    driver.follow()
    assert driver.attempt().state is state
    assert driver.attempt().reason.startswith(NO_RESULTS) == (state is State.FAILED)


PHASES = (PhaseTimes("write", 0, 1.0, 2.0), PhaseTimes("read", 0, 2.0, 3.0), PhaseTimes("purge", 0, 3.0, 3.1))
OF_PHASES = {"write": {"write/write"}, "read": {"read/read", "read/open"}}


def records_of(*names: str) -> list[Record]:
    return [Record(name, 1.0, "MB/s", Source("stdout", 1)) for name in names]


def test_each_phase_gives_some_of_its_results() -> None:
    completion = builders.completion(phases=PHASES)
    assert collect.without_results(completion, records_of("write/write", "read/read"), OF_PHASES) == ""
    assert collect.without_results(completion, records_of("write/write", "read/other"), OF_PHASES) == (
        "phase read: the benchmark ended with status 0 and gave none of its results (open, read)"
    )
    without_read = builders.completion(phases=PHASES[:1])  # of a launch condition without it
    assert collect.without_results(without_read, records_of("write/write"), OF_PHASES) == ""


# --- Slurm's word, where there is no record


def test_states_on_the_way_are_shown_with_their_reasons(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold", "Resources")
    cluster.fault("bench-sleep", 3000)
    driver.send()
    wait_for_state(driver, State.PENDING)
    wait_for_reason(driver, "Resources")
    cluster.mend("hold")
    wait_for_state(driver, State.RUNNING)
    wait_for_reason(driver, f"waiting for its turn in job {cluster.jobs()[0]['id']} (running)", 2)
    assert driver.attempt(2).state is State.PENDING


def test_a_reason_for_which_a_job_never_starts_is_flagged(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold", "PartitionTimeLimit")
    send_one(driver)
    never = "never starts as it was submitted: 'campaign cancel', correct the campaign file, and run again"
    wait_for_reason(driver, f"PartitionTimeLimit ({never})")


def test_a_state_that_is_not_known_is_held_and_shown(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold")
    cluster.fault("squeue-state", "DREAMING")
    send_one(driver)
    (driver.folder() / "claim").mkdir()
    wait_for_reason(driver, "unknown Slurm state DREAMING")
    assert driver.attempt().state is State.RUNNING
    (driver.folder() / "claim").rmdir()
    cluster.mend("squeue-state")
    cluster.mend("hold")
    driver.follow()
    assert driver.attempt().state is State.DONE


ENDS = {
    "node-fail": (State.NODE_FAIL, "NODE_FAIL"),
    "ends-without-record": (State.LOST, "COMPLETED"),
}


@pytest.mark.parametrize("fault", ENDS)
def test_a_job_that_ends_under_a_run_ends_it_with_slurms_word_and_the_next_one_before_it_began(
    driver: Driving, cluster: Fake, fault: str
) -> None:
    cluster.fault("bench-sleep", 3000)
    driver.send()
    driver.wait_until_measured()
    cluster.fault(fault, 0, one_time=True)
    driver.follow()
    number, (state, word) = cluster.jobs()[0]["id"], ENDS[fault]
    assert driver.states() == [state, state]
    assert driver.attempt(1).reason == f"job {number}: {word} during this run"
    assert driver.attempt(2).reason == f"job {number}: {word} before this run started"


def test_a_job_over_its_limit_ends_its_run_as_a_timeout_and_the_next_run_completes_what_is_missing(
    driver: Driving, cluster: Fake
) -> None:
    cluster.fault("bench-sleep", 3000)
    driver.send()
    driver.wait_until_measured()
    cluster.fault("timeout", 0, one_time=True)
    driver.follow()
    assert driver.states() == [State.TIMEOUT, State.TIMEOUT]
    assert (
        driver.attempt(1).reason
        == "TIMEOUT after 4m; raise slurm.time, of which this limit is made: the job was ended (SIGTERM)"
    )
    cluster.mend("bench-sleep")
    driver.send()
    driver.follow()
    assert [driver.attempt(number).state for number in (1, 2)] == [State.DONE, State.DONE]


def test_a_job_that_somebody_else_cancels_is_cancelled(driver: Driving, cluster: Fake) -> None:
    cluster.fault("bench-sleep", 3000)
    driver.send()
    driver.wait_until_measured()
    commands.cancel([cluster.jobs()[0]["id"]])
    driver.follow()
    assert driver.states() == [State.CANCELLED, State.CANCELLED]
    assert driver.attempt(1).reason == "CANCELLED: the job was ended (SIGTERM)"


def test_a_run_whose_launcher_is_ended_before_the_script_of_its_cancelled_job_is_cancelled(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.fault("bench-sleep", 3000)
    send_one(driver)
    driver.wait_until_measured()
    driver.store.note("cancel", jobs=[driver.attempt().job_id])
    cluster.kill_ranks()
    cancelled = commands.Job(driver.attempt().job_id or "", driver.attempt().job, State.CANCELLED, "CANCELLED", "")
    monkeypatch.setattr(commands, "queue", lambda *_: {cancelled.name: cancelled})
    driver.follow()
    assert driver.attempt().state is State.CANCELLED
    assert driver.attempt().reason == "CANCELLED: the benchmark ended with status 137"


def test_a_run_of_a_job_that_began_after_its_cancellation_is_cancelled(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.fault("bench-sleep", 3000)
    cluster.fault("hold")
    send_one(driver)
    driver.store.note("cancel", jobs=[driver.attempt().job_id])
    cluster.mend("hold")
    driver.wait_until_measured()
    cluster.kill_ranks()
    cancelled = commands.Job(driver.attempt().job_id or "", driver.attempt().job, State.CANCELLED, "CANCELLED", "")
    monkeypatch.setattr(commands, "queue", lambda *_: {cancelled.name: cancelled})
    driver.follow()
    assert driver.attempt().state is State.CANCELLED


@pytest.mark.parametrize(("word", "state"), [("CANCELLED", State.CANCELLED), ("RUNNING", State.FAILED)])
def test_a_step_that_slurm_ended_is_cancelled_if_its_job_is(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch, word: str, state: State
) -> None:
    cluster.fault("bench-sleep", 3000)
    send_one(driver)
    driver.wait_until_measured()
    folder = driver.paths.attempt(driver.attempt().run, 1)
    cluster.kill_ranks()
    fake_slurm.wait_until((folder / "facts.jsonl").exists, "the run has ended")
    with (folder / "stderr").open("a") as errors:
        errors.write("slurmstepd: error: *** STEP 101.0 ON n1 CANCELLED AT 2026-11-28T01:40:00 ***\n")
    job = commands.Job(driver.attempt().job_id or "", driver.attempt().job, STATES[word], word, "")
    monkeypatch.setattr(commands, "queue", lambda *_: {job.name: job})
    driver.follow()
    assert driver.attempt(1).state is state


def test_a_job_cancelled_before_it_began_is_cancelled(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold")
    driver.send()
    wait_for_state(driver, State.PENDING)
    commands.cancel([cluster.jobs()[0]["id"]])
    driver.follow()
    assert driver.states() == [State.CANCELLED, State.CANCELLED]
    number = cluster.jobs()[0]["id"]
    assert [attempt.reason for attempt in driver.store.attempts()] == [
        f"job {number}: CANCELLED (Priority) before this run started"
    ] * 2


def test_a_job_that_leaves_no_log_is_failed_and_nothing_is_taken_for_measured(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold")
    send_one(driver)
    folder = driver.paths.jobs(driver.attempt().job)
    shutil.rmtree(folder)
    cluster.mend("hold")
    driver.follow()
    assert driver.attempt().state is State.FAILED
    assert driver.attempt().reason.endswith(
        f"FAILED before this run started; its node did not create {folder}/stdout: check that all nodes see the "
        "results directory ('campaign plan --probe FILE')"
    )


def test_a_record_that_a_slow_file_system_shows_late_counts(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "GRACE_S", 60)
    send_one(driver)
    wait_for_jobs(cluster)
    hidden = driver.folder() / "facts.jsonl"
    hidden.rename(driver.folder() / "hidden")
    for _ in range(20):
        driver.step()
    assert driver.attempt().state.active
    (driver.folder() / "hidden").rename(hidden)
    driver.follow()
    assert driver.attempt().state is State.DONE


# --- absent is not completed


def test_a_job_that_slurm_has_forgotten_is_found_in_the_accounting(driver: Driving, cluster: Fake) -> None:
    cluster.fault("forgets")
    cluster.fault("bench-sleep", 3000)
    send_one(driver)
    driver.wait_until_measured()
    cluster.fault("node-fail", 0, one_time=True)
    driver.follow()
    assert driver.attempt().state is State.NODE_FAIL
    assert "NODE_FAIL, exit code" in driver.attempt().reason


def test_a_job_that_has_vanished_without_a_record_is_lost_only_after_slurm_has_said_so_three_times(
    driver: Driving, cluster: Fake
) -> None:
    cluster.fault("no-accounting")
    cluster.fault("bench-sleep", 3000)
    send_one(driver)
    wait_for_state(driver, State.RUNNING)
    cluster.fault("vanish")
    query_count = 0
    real = commands.queue

    def count_query(names: Any) -> Any:
        nonlocal query_count
        query_count += 1
        assert driver.attempt().state.active
        return real(names)

    commands.queue = count_query
    try:
        driver.follow()
    finally:
        commands.queue = real
    assert query_count >= collect.ABSENT_TIMES  # a job that has begun has a grace period besides
    assert driver.attempt().state is State.LOST
    assert driver.attempt().reason == f"job {driver.attempt().job_id} disappeared from Slurm without a record"


def test_a_job_that_has_vanished_but_left_its_record_is_done(driver: Driving, cluster: Fake) -> None:
    cluster.fault("vanish")
    cluster.fault("no-accounting")
    driver.send()
    wait_for_jobs(cluster)
    driver.follow()
    assert driver.states() == [State.DONE, State.DONE]


def test_nothing_is_concluded_while_slurm_does_not_answer_and_it_is_reported_once(
    driver: Driving, cluster: Fake
) -> None:
    cluster.fault("bench-sleep", 3000)
    send_one(driver)
    wait_for_state(driver, State.RUNNING)
    cluster.fault("squeue-fails", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    message = (
        "Slurm does not answer; retrying (squeue failed with status 1: "
        "slurm_load_jobs error: Unable to contact slurm controller (connect failure))"
    )
    wait_for_message(driver, message)
    for _ in range(50):
        driver.step()
    assert driver.messages.count(message) == 1
    assert driver.attempt().state is State.RUNNING
    cluster.mend("squeue-fails")
    wait_for_message(driver, "Slurm answers again")
    for process in cluster.processes():
        if any(word.endswith("sleep") for word in fake_slurm.command_line(process)[:1]):
            os.kill(process, signal.SIGTERM)
    driver.follow()
    assert driver.attempt().state is State.DONE


@pytest.mark.parametrize(
    ("fault", "reason"), [("squeue-garbage", "unexpected output of squeue: "), ("squeue-fails", "squeue failed ")]
)
def test_an_answer_of_another_kind_is_no_answer(driver: Driving, cluster: Fake, fault: str, reason: str) -> None:
    cluster.fault(fault, "what|is|this" if fault == "squeue-garbage" else "")
    cluster.fault("hold")
    send_one(driver)
    wait_for_message(driver, f"Slurm does not answer; retrying ({reason}")
    assert driver.attempt().state is State.PENDING


def test_slurm_is_asked_less_and_less_often_while_nothing_changes(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold")
    send_one(driver)
    clock_s = 0.0
    query_times: list[float] = []
    real, driver.follower._clock = commands.queue, lambda: clock_s
    driver.follower._next_query = 0.0

    def note_query(names: Any) -> Any:
        query_times.append(clock_s)
        return real(names)

    commands.queue = note_query
    collect.QUERY_S = (1.0, 15.0)
    try:
        while clock_s < 90:
            driver.step()
            clock_s += 0.5
    finally:
        commands.queue = real
    gaps = [after - before for before, after in itertools.pairwise(query_times)]
    assert gaps[0] <= 2
    assert 12 <= max(gaps) <= 15 * 1.2 + 0.5
    assert len(query_times) < 20


def test_a_run_that_ends_well_is_no_reason_to_ask_slurm_sooner(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.fault("bench-sleep", 1)
    driver.send()
    queries: list[Any] = []
    real = commands.queue

    def note_query(names: Any) -> Any:
        queries.append(names)
        return real(names)

    monkeypatch.setattr(commands, "queue", note_query)
    driver.follower._next_query = math.inf
    driver.follow()
    assert (driver.states(), queries) == ([State.DONE, State.DONE], [])


def test_while_the_accounting_is_down_an_absent_job_is_waited_for(driver: Driving, cluster: Fake) -> None:
    cluster.fault("bench-sleep", 3000)
    send_one(driver)
    wait_for_state(driver, State.RUNNING)
    cluster.fault("vanish")
    cluster.fault("sacct-fails", "sacct: error: Problem talking to the database: Connection refused")
    wait_for_message(driver, "Connection refused")
    for _ in range(10):
        driver.follower._next_query = 0.0
        driver.step()
    assert driver.attempt().state is State.RUNNING
    assert sum("Connection refused" in line for line in driver.messages) == 1
    assert "Slurm answers again" not in driver.messages
    cluster.mend("sacct-fails")
    cluster.fault("no-accounting")
    driver.follow()
    assert driver.attempt().state is State.LOST


def test_a_job_that_only_the_accounting_calls_running_is_lost_after_ten_minutes(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.fault("bench-sleep", 3000)
    send_one(driver)
    wait_for_state(driver, State.RUNNING)
    cluster.fault("vanish")
    running = commands.Job("7", driver.attempt().job, State.RUNNING, "RUNNING", "")
    monkeypatch.setattr(commands, "accounting", lambda *_: {driver.attempt().job: running})
    wait_for_reason(driver, "job 7 is not in squeue; sacct says RUNNING")
    assert driver.attempt().state is State.RUNNING
    monkeypatch.setattr(collect, "RUNAWAY_S", 0.0)
    driver.follow()
    assert driver.attempt().state is State.LOST
    assert driver.attempt().reason == (
        f"job {driver.attempt().job_id} disappeared from Slurm without a record; "
        "sacct still says RUNNING (see: sacctmgr show runawayjobs)"
    )


def test_a_job_id_that_another_job_has_by_now_is_not_taken_for_ours(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold")
    cluster.fault("no-accounting")
    send_one(driver)
    wait_for_state(driver, State.PENDING)
    number = cluster.jobs()[0]["id"]
    path = cluster.root / "jobs" / f"{number}.json"
    commands.cancel([number])
    wait_for_jobs(cluster)
    path.write_text(json.dumps(cluster.jobs()[0] | {"name": "other", "cwd": "/other", "state": "RUNNING"}))
    driver.follow()
    path.write_text(json.dumps(cluster.jobs()[0] | {"state": "CANCELLED"}))
    assert driver.attempt().state is State.LOST


@pytest.mark.parametrize("name", ["renamed by the site", "two\nlines | é"])
def test_a_job_that_is_renamed_is_followed_to_its_end(driver: Driving, cluster: Fake, name: str) -> None:
    cluster.fault("hold")
    send_one(driver)
    wait_for_state(driver, State.PENDING)
    cluster.rename(cluster.jobs()[0]["id"], name)
    for _ in range(2 * collect.ABSENT_TIMES):
        driver.follower._next_query = 0.0
        driver.step()
    assert driver.attempt().state is State.PENDING
    cluster.mend("hold")
    driver.follow()
    assert driver.attempt().state is State.DONE
    fields = json.loads((driver.paths.jobs(driver.attempt().job) / "accounting.json").read_text())
    assert (fields["job"]["JobName"], fields["steps"][0]["JobName"]) == (name, name)


def test_a_renamed_job_that_only_the_accounting_remembers_has_its_end(driver: Driving, cluster: Fake) -> None:
    cluster.fault("forgets")
    cluster.fault("bench-sleep", 3000)
    send_one(driver)
    driver.wait_until_measured()
    cluster.rename(cluster.jobs()[0]["id"], "renamed")
    cluster.fault("node-fail", 0, one_time=True)
    driver.follow()
    assert driver.attempt().state is State.NODE_FAIL


def test_a_job_that_a_plugin_renames_is_found_although_sbatch_gave_no_id(driver: Driving, cluster: Fake) -> None:
    cluster.fault("renames", "site-job")
    cluster.fault("sbatch-fails-after")
    send_one(driver)
    driver.follow()
    assert [job["name"] for job in cluster.jobs()] == ["site-job"]
    assert (driver.attempt().state, driver.attempt().job_id) == (State.DONE, cluster.jobs()[0]["id"])


# --- two drivers


def test_an_end_that_two_drivers_see_is_written_once(driver: Driving, cluster: Fake) -> None:
    other = collect.Follower(driver.paths, Store(driver.paths), {"": "mdtest"}, print, driver.pack.required)
    driver.send()
    wait_for_jobs(cluster)
    while other.step() or driver.follower.step():
        pass
    assert driver.events().count("ended") == 2
    assert driver.states() == [State.DONE, State.DONE]


def test_a_record_that_cannot_be_read_is_reported_and_not_taken_for_missing(tmp_path: Path) -> None:
    assert read_evidence(tmp_path, "t")[1] == ()
    (tmp_path / "facts.jsonl").symlink_to("facts.jsonl")
    assert read_evidence(tmp_path, "t")[1] == (
        f"{tmp_path}/facts.jsonl: cannot be read: Too many levels of symbolic links",
    )

"""What Slurm says of a job at its end, beside the job's own records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from campaign.core.runs import State
from campaign.results.environment import reading
from campaign.slurm import accounting
from tests.support import fake_slurm
from tests.support.driving import Driving
from tests.support.fake_slurm import Fake


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        yield fake


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Fake) -> Driving:
    return Driving(tmp_path, monkeypatch)


def run(driver: Driving, cluster: Fake) -> None:
    """To the job's end by Slurm's word: the driver is impatient here, and would not wait for it on a busy machine."""
    driver.send()
    fake_slurm.wait_until(lambda: not cluster.active_jobs(), "the job has ended")


def read_accounting(driver: Driving) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads((driver.paths.jobs(driver.attempt().job) / "accounting.json").read_text())
    return fields


def test_an_ended_job_is_put_down_with_what_both_of_slurms_memories_say(driver: Driving, cluster: Fake) -> None:
    run(driver, cluster)
    driver.follow()
    fields = read_accounting(driver)
    assert (fields["format"], fields["accounting"], fields["problems"]) == (1, True, [])
    assert (fields["job"]["JobName"], fields["job"]["JobState"]) == (driver.attempt().job, "COMPLETED")
    assert [step["JobIDRaw"] for step in fields["steps"]] == [driver.attempt().job_id]
    kept_accounting = driver.store.evidence()[driver.attempt().run, 1].accounting
    assert kept_accounting == reading.read_accounting(driver.paths.jobs(driver.attempt().job) / "accounting.json")


def test_a_cluster_without_accounting_is_put_down_as_one(driver: Driving, cluster: Fake) -> None:
    cluster.fault("no-accounting")
    run(driver, cluster)
    driver.follow()
    assert (
        read_accounting(driver)["accounting"],
        read_accounting(driver)["steps"],
        read_accounting(driver)["problems"],
    ) == (False, [], [])


def test_a_job_that_slurm_has_forgotten_is_put_down_as_such_once(driver: Driving, cluster: Fake) -> None:
    cluster.fault("vanish")
    cluster.fault("no-accounting")
    run(driver, cluster)
    driver.follow()
    assert driver.attempt().state is State.DONE
    assert read_accounting(driver)["problems"] == ["Slurm no longer has a record of the job"]


def test_a_slurm_that_does_not_answer_is_asked_by_the_next_command(driver: Driving, cluster: Fake) -> None:
    run(driver, cluster)
    cluster.fault("scontrol-fails", "slurm_load_jobs error: Socket timed out")
    driver.follow()
    path = driver.paths.jobs(driver.attempt().job) / "accounting.json"
    assert not path.exists()
    cluster.mend("scontrol-fails")
    second_accountant = accounting.Accountant(driver.paths, driver.store, lambda: 0.0, driver.messages.append)
    assert second_accountant.step(set(), ()) is False
    assert path.exists()


def test_a_job_is_not_asked_for_while_one_of_its_attempts_is_under_way(driver: Driving, cluster: Fake) -> None:
    run(driver, cluster)
    waiting = accounting.Accountant(driver.paths, driver.store, lambda: 0.0, driver.messages.append)
    assert waiting.step({driver.attempt().job}, ()) is False
    assert not (driver.paths.jobs(driver.attempt().job) / "accounting.json").exists()


@pytest.mark.parametrize("state", ["RUNNING", "COMPLETING"])
def test_a_job_that_has_not_ended_is_waited_for_and_then_put_down_for_the_time_being(
    driver: Driving, cluster: Fake, state: str
) -> None:
    run(driver, cluster)
    job, number = driver.attempt().job, cluster.jobs()[0]["id"]
    cluster.pretend(number, job, state)
    clock = [0.0]
    slow = accounting.Accountant(driver.paths, driver.store, lambda: clock[0], driver.messages.append)
    for clock_s, waits in ((0.0, True), (0.3, True), (0.6, False)):
        clock[0] = clock_s
        assert slow.step(set(), ()) is waits
    assert read_accounting(driver)["job"]["JobState"] == state
    cluster.pretend(number, job, "COMPLETED")
    assert slow.step(set(), ()) is False
    assert read_accounting(driver)["job"]["JobState"] == state, "one command asks for a job once"
    second_accountant = accounting.Accountant(driver.paths, driver.store, lambda: 0.0, driver.messages.append)
    assert second_accountant.step(set(), ()) is False
    assert read_accounting(driver)["job"]["JobState"] == "COMPLETED"


def test_the_wait_for_a_jobs_end_begins_when_its_last_attempt_has_ended(driver: Driving, cluster: Fake) -> None:
    run(driver, cluster)
    job = driver.attempt().job
    cluster.pretend(cluster.jobs()[0]["id"], job, "COMPLETING")
    clock = [0.0]
    waiting = accounting.Accountant(driver.paths, driver.store, lambda: clock[0], driver.messages.append)
    assert waiting.step({job}, ()) is False
    clock[0] = 1000.0
    assert waiting.step(set(), ()) is True
    assert not (driver.paths.jobs(job) / "accounting.json").exists()


def test_a_job_that_slurm_forgot_before_it_was_seen_to_end_keeps_its_record_and_is_not_asked_for_again(
    driver: Driving, cluster: Fake
) -> None:
    run(driver, cluster)
    driver.follow()
    path = driver.paths.jobs(driver.attempt().job) / "accounting.json"
    left = read_accounting(driver)
    left["job"]["JobState"] = "COMPLETING"
    left["steps"], left["accounting"] = [], False
    path.write_text(json.dumps(left))
    accounting.import_accounting(driver.paths, driver.store, driver.attempt().job)
    cluster.fault("vanish")
    cluster.fault("no-accounting")
    assert (
        accounting.Accountant(driver.paths, driver.store, lambda: 0.0, driver.messages.append).step(set(), ()) is False
    )
    kept_fields = read_accounting(driver)
    assert kept_fields["problems"] == ["Slurm no longer has a record of the job"]
    assert kept_fields["job"] == left["job"]
    before = path.stat().st_mtime_ns
    assert (
        accounting.Accountant(driver.paths, driver.store, lambda: 0.0, driver.messages.append).step(set(), ()) is False
    )
    assert path.stat().st_mtime_ns == before


def test_a_rebuilt_database_has_it_again(driver: Driving, cluster: Fake) -> None:
    from campaign.slurm.collect import import_all

    run(driver, cluster)
    driver.follow()
    before = driver.store.evidence()
    driver.store.rebuild()
    assert driver.store.evidence() == {}
    import_all(driver.paths, driver.store, {"": "mdtest"})
    assert driver.store.evidence() == before

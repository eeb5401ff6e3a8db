from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from campaign.config.definition import Definition
from campaign.core import waiting
from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.paths import Paths
from campaign.core.processes import Process
from campaign.core.runs import Run, State
from campaign.results import store
from campaign.results.store import Store, StoredJob
from campaign.slurm import commands, sbatch, scripts, submit
from campaign.slurm.submit import Room
from tests.support import builders, driving, fake_slurm
from tests.support.driving import Driving
from tests.support.fake_slurm import Fake

LIMIT_S = 800


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        yield fake


@pytest.fixture
def driver(tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> Driving:
    return Driving(tmp_path, monkeypatch)


# --- what is submitted


def test_runs_of_one_geometry_go_into_one_job_and_each_leaves_its_own_record(driver: Driving, cluster: Fake) -> None:
    assert driver.send() == 1
    driver.follow()
    assert driver.states() == [State.DONE, State.DONE]
    fake_slurm.wait_until(lambda: not cluster.active_jobs(), "the job has ended")
    (job,) = cluster.jobs()
    assert job["state"] == "COMPLETED"
    assert driver.messages == [f"submitted job {job['id']}: 2 runs (target1.node.shared.r1 first)"]
    attempts = driver.store.attempts()
    assert {attempt.job for attempt in attempts} == {job["name"]}
    assert {attempt.job_id for attempt in attempts} == {job["id"]}
    assert job["name"].startswith("campaign-test-")


def test_an_attempt_is_on_record_with_all_that_it_executes_before_sbatch_is_called(
    driver: Driving, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> sbatch.SbatchAnswer:
        raise KeyboardInterrupt

    monkeypatch.setattr(sbatch, "submit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        driver.send()
    attempt, run = driver.attempt(), driver.runs[0]
    assert (attempt.state, attempt.job_id, attempt.number) == (State.SUBMITTING, None, 1)
    assert driver.store.jobs()[attempt.job].submitter == submit.submitter()
    directory = f"{run.directory}/campaign-{attempt.token}"
    assert json.loads((driver.folder() / "attempt.json").read_text()) == {
        "format": 1,
        "run": run.id,
        "attempt": 1,
        "token": attempt.token,
        "job": attempt.job,
        "fingerprint": run.fingerprint,
        "nodes": 1,
        "processes": 1,
        "processes_per_node": 1,
        "argv": ["/bin/bash", run.executable, *(word.replace("{directory}", directory) for word in run.arguments)],
        "notes": ["launched by srun ... /bin/bash, as set in the campaign file"],
    }
    script = driver.paths.jobs(attempt.job) / "job.sbatch"
    assert script.read_text() == (driver.folder() / "job.sbatch").read_text()


def test_no_other_driver_can_record_anything_while_runs_are_chosen(
    driver: Driving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.1)
    other = Store(driver.paths)
    refused = []

    def choose() -> Sequence[Run]:
        with pytest.raises(EnvironmentLacks, match="database is locked") as caught:
            other.note("cancel")
        refused.append(caught.value)
        return ()

    submit.send(Definition(driver.campaign, driver.pack), driver.store, choose, driver.messages.append)
    other.close()
    assert len(refused) == 1


def test_nothing_is_submitted_where_one_script_of_many_is_wrong(tmp_path: Path, driver: Driving, cluster: Fake) -> None:
    driver.campaign = replace(driver.campaign, slurm=replace(driver.campaign.slurm, template=tmp_path / "gone.j2"))
    with pytest.raises(InputError, match=r"gone\.j2"):
        driver.send()
    assert driver.store.attempts() == []
    assert cluster.jobs() == []
    assert not driver.paths.journal.exists()


def test_a_later_attempt_has_the_next_number_and_cleans_up_after_a_killed_one(driver: Driving, cluster: Fake) -> None:
    cluster.fault("bench-sleep", 3000)
    driver.send(driver.runs[:1])
    driver.wait_until_measured()
    cluster.fault("ends-without-record", 0, one_time=True)
    driver.follow()
    assert driver.states() == [State.LOST]
    left = Path(f"{driver.runs[0].directory}/campaign-{driver.attempt().token}")
    assert left.is_dir()
    cluster.mend("bench-sleep")
    (driver.paths.attempt(driver.runs[0].id, 5)).mkdir()  # raw output of which no database tells
    driver.send(driver.runs[:1])
    driver.follow()
    assert (driver.attempt().number, driver.attempt().state) == (6, State.DONE)
    assert list(Path(driver.runs[0].directory).iterdir()) == []


# --- sbatch's faults


def test_what_a_job_could_not_remove_the_next_one_on_the_target_removes(driver: Driving, cluster: Fake) -> None:
    driver.send(driver.runs[:1])
    driver.follow()
    assert driver.states() == [State.DONE]
    target = Path(driver.campaign.targets[0].directory)
    left, foreign = target / f"campaign-{driver.attempt().token}", target / "campaign-0a1b2c3d"
    left.mkdir()  # as where the target was read-only when its job wanted to remove it
    foreign.mkdir()
    note = driver.paths.attempt(driver.attempt().run, 1) / "directory-made"
    note.write_text(f"{left.stat().st_ino}\n")
    assert submit.left_on(driver.paths, str(target), driver.store.attempts()) == {str(left): note.read_text().strip()}
    left.rename(moved := target / "moved")
    left.symlink_to(moved)
    assert submit.left_on(driver.paths, str(target), driver.store.attempts()) == {}, "somebody else's link"
    left.unlink()
    left.mkdir()
    assert submit.left_on(driver.paths, str(target), driver.store.attempts()) == {}, "somebody else's directory"
    left.rmdir()
    moved.rename(left)
    driver.send(driver.runs[1:2])
    driver.follow()
    assert driver.states() == [State.DONE, State.DONE]
    assert [path.name for path in target.iterdir()] == [foreign.name]
    assert submit.left_on(driver.paths, f"{target}/gone", driver.store.attempts()) == {}


def test_a_refused_job_ends_with_slurms_words_and_can_be_sent_again(driver: Driving, cluster: Fake) -> None:
    cluster.fault("sbatch-refuses", "sbatch: error: Invalid account or partition\n", one_time=True)
    driver.send()
    assert driver.states() == [State.REFUSED, State.REFUSED]
    assert driver.attempt().reason == "Slurm refused the job: sbatch: error: Invalid account or partition"
    assert driver.messages == ["Slurm refused 2 runs: sbatch: error: Invalid account or partition"]
    driver.send()
    driver.follow()
    assert [driver.attempt(number).state for number in (1, 2)] == [State.DONE, State.DONE]


@pytest.mark.parametrize("fault", ["sbatch-fails-after", "sbatch-killed-after", "sbatch-answers"])
def test_a_job_whose_sbatch_failed_all_the_same_is_found_by_its_name(
    driver: Driving, cluster: Fake, fault: str
) -> None:
    cluster.fault(fault, "Your job is in good hands\n" if fault == "sbatch-answers" else "")
    driver.send()
    assert driver.messages[0].startswith("sbatch failed for 2 runs, but the job may exist; asking Slurm: ")
    assert driver.messages[1].startswith(f"submitted job {cluster.jobs()[0]['id']}: 2 runs ")
    driver.follow()
    assert driver.states() == [State.DONE, State.DONE]
    assert driver.attempt().job_id == cluster.jobs()[0]["id"]
    assert driver.events()[:3] == ["job", "uncertain", "submitted"]
    assert len(cluster.measurements()) == 2


REFUSAL = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"


def test_a_job_that_sbatch_calls_refused_once_it_has_measured_gives_its_results(driver: Driving, cluster: Fake) -> None:
    """A wrapper around sbatch could let a vendor choose among measurements that nobody else sees."""
    cluster.fault("sbatch-fails-once-ended", REFUSAL)
    driver.send()
    assert driver.events() == ["job", "uncertain"]
    driver.follow()
    assert driver.states() == [State.DONE, State.DONE]
    assert len(cluster.measurements()) == 2


def test_a_job_that_sbatch_calls_refused_before_it_has_measured_never_measures(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold")
    cluster.fault("sbatch-fails-after", REFUSAL)
    driver.send()
    assert driver.states() == [State.REFUSED, State.REFUSED]
    cluster.mend("hold")
    fake_slurm.wait_until(lambda: not cluster.active_jobs(), "the job has ended")
    assert cluster.measurements() == []


def test_a_driver_that_died_between_its_claim_and_its_record_leaves_an_attempt_that_ends(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> sbatch.SbatchAnswer:
        raise KeyboardInterrupt

    monkeypatch.setattr(sbatch, "submit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        driver.send(driver.runs[:1])
    (driver.folder() / "claim").mkdir()
    driver.follow()
    assert driver.states() == [State.LOST]


def test_a_job_that_a_hanging_sbatch_left_behind_is_found_by_its_name(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sbatch, "TIMEOUT_S", 0.3)
    monkeypatch.setattr(submit._Sender, "_tell_slow", lambda *_: fake_slurm.wait_until(cluster.jobs, "it has the job"))
    cluster.fault("sbatch-hangs-after", 60, one_time=True)
    driver.send()
    assert "sbatch did not answer within 0.3 s" in driver.messages[0]
    driver.follow()
    assert driver.states() == [State.DONE, State.DONE]


def test_a_banner_of_the_site_is_not_taken_for_an_answer(driver: Driving, cluster: Fake) -> None:
    cluster.fault("sbatch-banner", "*** Maintenance on 2026-12-01 ***\nQueue: 17 jobs\n")
    cluster.fault("sbatch-warns", "sbatch: warning: can't honor --ntasks-per-node\n")
    driver.send()
    assert driver.attempt().job_id == cluster.jobs()[0]["id"]
    assert driver.messages[0].endswith("; sbatch says: sbatch: warning: can't honor --ntasks-per-node")
    stored = driver.store.jobs()[driver.attempt().job]
    assert stored.message == "sbatch: warning: can't honor --ntasks-per-node"


TIMED_OUT = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"


def lose_submissions(monkeypatch: pytest.MonkeyPatch, times: int) -> list[Path]:
    """The first calls of sbatch do not get through to Slurm; gives the scripts of all calls."""
    scripts: list[Path] = []
    real = sbatch.submit

    def lossy_submit(script: Path, *arguments: Any) -> sbatch.SbatchAnswer:
        scripts.append(script)
        if len(scripts) <= times:
            return sbatch.SbatchAnswer(None, TIMED_OUT, uncertain=True, passes=True)
        return real(script, *arguments)

    monkeypatch.setattr(sbatch, "submit", lossy_submit)
    return scripts


def test_what_slurm_did_not_get_is_submitted_again_and_a_job_that_comes_late_measures_nothing(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = lose_submissions(monkeypatch, 1)
    driver.send(driver.runs[:1])
    first, second = driver.store.attempts()
    assert driver.messages == [
        f"sbatch failed for 1 run, but the job may exist; asking Slurm: {TIMED_OUT}",
        f"Slurm has no job named {first.job}; submitting its 1 run again",
        f"submitted job {second.job_id}: 1 run (target1.node.shared.r1 first)",
    ]
    assert (first.state, first.reason) == (
        State.REFUSED,
        f"not submitted: no job named {first.job} in Slurm (sbatch said: {TIMED_OUT})",
    )
    sbatch.submit(scripts[0])  # what sbatch had sent arrives after all
    driver.follow()
    fake_slurm.wait_until(lambda: not cluster.active_jobs(), "both jobs have ended")
    assert [attempt.state for attempt in driver.store.attempts()] == [State.REFUSED, State.DONE]
    assert len(cluster.measurements()) == 1


def test_a_job_that_comes_while_it_is_looked_for_is_not_submitted_again(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = lose_submissions(monkeypatch, 1)
    looks = 0
    real = commands.queue

    def late_jobs(*arguments: Any) -> dict[str, commands.Job]:
        nonlocal looks
        looks += 1
        jobs = real(*arguments)
        if looks == submit.ABSENT_TIMES - 1:
            sbatch.submit(scripts[0])
        return jobs

    monkeypatch.setattr(commands, "queue", late_jobs)
    driver.send(driver.runs[:1])
    driver.follow()
    assert driver.states() == [State.DONE]
    assert len(cluster.jobs()) == 1


def test_while_slurm_does_not_say_whether_it_has_a_job_nothing_is_submitted(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose_submissions(monkeypatch, 1)
    monkeypatch.setattr(submit, "PATIENCE_S", 0.5)
    cluster.fault("squeue-fails")
    driver.send(driver.runs[:1])
    assert driver.states() == [State.SUBMITTING]
    assert driver.messages[-2].startswith(
        "not submitted: sbatch has failed for 0 min (sbatch: error: Batch job submission"
    )
    assert driver.messages[-1] == "whether Slurm has 1 run is not known yet; asking on while the others run"
    assert cluster.jobs() == []
    cluster.mend("squeue-fails")
    driver.follow()
    assert driver.states() == [State.REFUSED]


def test_where_sbatch_fails_for_too_long_the_other_jobs_are_not_tried(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driving(tmp_path, monkeypatch, targets=2, allocation="run")
    scripts = lose_submissions(monkeypatch, 10**6)
    monkeypatch.setattr(submit, "PATIENCE_S", 2.0)
    driver.send()
    states = driver.states()  # of the last one it is not known yet, perhaps
    assert 0 < len(scripts) < len(states)
    assert states.count(State.REFUSED) >= len(states) - 1
    reasons = {attempt.reason for attempt in driver.store.attempts() if attempt.number == 1}
    assert any(reason.startswith("not submitted: sbatch has failed for 0 min (") for reason in reasons)


def test_a_driver_interrupted_while_it_looks_for_a_job_leaves_it_to_the_next_one(
    driver: Driving, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> dict[str, commands.Job]:
        raise KeyboardInterrupt

    cluster.fault("sbatch-fails-after", one_time=True)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(commands, "queue", interrupt)
        driver.send()
    assert driver.states() == [State.SUBMITTING, State.SUBMITTING]
    driver.follow()
    assert driver.states() == [State.DONE, State.DONE]


def test_a_text_of_the_sites_own_is_a_refusal_once_slurm_has_no_such_job(driver: Driving, cluster: Fake) -> None:
    policy = (
        "sbatch: error: Site policy: no jobs of one node\nsbatch: error: Batch job submission failed: Unspecified error"
    )
    cluster.fault("sbatch-refuses", policy)
    driver.send()
    assert driver.states() == [State.REFUSED, State.REFUSED]
    assert driver.attempt().reason == f"Slurm refused the job: {policy}"
    assert driver.messages[-1] == f"Slurm refused 2 runs: {policy}"


# --- room in the queue


def most_at_once(cluster: Fake, driver: Driving, room: Room) -> int:
    """The most jobs in the queue at any look, while all runs are submitted and followed."""
    seen: list[int] = []
    cluster.fault("hold")  # no job ends before the queue is full

    def wait() -> None:
        seen.append(len(cluster.active_jobs()))
        if len(seen) == 1:
            cluster.mend("hold")
        driver.follower.step()

    room.wait, room.unsent = wait, driver.follower.unsent
    definition = Definition(driver.campaign, driver.pack)
    submit.send(definition, driver.store, lambda: driver.runs, driver.messages.append, room)
    driver.follow()
    assert driver.states() == [State.DONE] * len(driver.runs)
    assert [attempt.number for attempt in driver.store.attempts()] == [1] * len(driver.runs)
    return max(seen)


def test_what_exceeds_a_submit_limit_waits_for_room_and_is_submitted_then(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driving(tmp_path, monkeypatch, targets=2, allocation="run")
    cluster.fault("submit-limit", 2)
    assert most_at_once(cluster, driver, Room()) == 2
    waited = [line for line in driver.messages if "waiting for room" in line]
    assert waited and waited[0].startswith(
        "2 jobs not submitted yet, waiting for room in the queue: sbatch: error: QOS"
    )


def test_no_more_jobs_are_in_the_queue_than_the_user_allows(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driving(tmp_path, monkeypatch, targets=2, allocation="run")
    assert most_at_once(cluster, driver, Room(most=1)) == 1


def test_once_closed_no_further_job_is_submitted_or_put_on_record(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driving(tmp_path, monkeypatch, targets=2, allocation="run")
    definition, room = Definition(driver.campaign, driver.pack), Room(closed=lambda: bool(cluster.jobs()))
    sents = submit.send(definition, driver.store, lambda: driver.runs, driver.messages.append, room)
    assert len(sents) == len(cluster.jobs()) == 1
    attempts = driver.store.attempts()
    assert sorted(attempt.state for attempt in attempts) == [State.PENDING, *[State.REFUSED] * 3]
    assert {attempt.reason for attempt in attempts} == {"", "not submitted: the driver stopped first"}
    assert submit.send(definition, driver.store, lambda: driver.runs, driver.messages.append, room) == ()
    assert driver.store.attempts() == attempts
    driver.follow()


def test_detached_what_has_no_room_is_left_for_the_next_time(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driving(tmp_path, monkeypatch, allocation="run")
    definition = Definition(driver.campaign, driver.pack)
    sents = submit.send(definition, driver.store, lambda: driver.runs, driver.messages.append, Room(most=1))
    assert len(sents) == len(driver.store.attempts()) == 1


def test_submitting_many_jobs_asks_slurm_once_and_not_for_each(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[str] = []
    real = commands.call

    def note_call(words: Sequence[str], *arguments: Any, **named_fields: Any) -> commands.Reply:
        requests.append(words[0])
        return real(words, *arguments, **named_fields)

    monkeypatch.setattr(commands, "call", note_call)
    driver = Driving(tmp_path, monkeypatch, targets=3, allocation="run")
    driver.send()
    assert requests == ["squeue", *["sbatch"] * 6]


def test_jobs_whose_ids_a_killed_driver_had_not_put_on_record_are_found_by_their_names(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driving(tmp_path, monkeypatch, targets=3, allocation="run")
    with monkeypatch.context() as patched:
        patched.setattr(Store, "submitted", lambda *_: None)
        driver.send()
    assert driver.states() == [State.SUBMITTING] * 6
    driver.follow()
    assert driver.states() == [State.DONE] * 6
    assert len(cluster.jobs()) == len(cluster.measurements()) == 6


def test_an_sbatch_that_answers_slowly_doubles_nothing_and_what_is_waited_for_is_reported_once(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SLOW_S", 1.0)
    cluster.fault("sbatch-hangs-after", 1.7)
    driver = Driving(tmp_path, monkeypatch, targets=2, allocation="run")
    driver.send()
    messages = [line for line in driver.messages if not line.startswith("submitted job ")]
    assert messages == [
        "sbatch has not answered for 1 s, so slurmctld is slow or busy; 4 jobs still to submit, one after "
        "another; each sbatch may take up to 60 s"
    ]
    driver.follow()
    assert driver.states() == [State.DONE] * 4
    assert len(cluster.jobs()) == len(cluster.measurements()) == 4


# --- one after another on a target


def overlaps(cluster: Fake, root: Path) -> list[str]:
    """Targets on which two measurements took place at the same time."""
    targets = []
    for target in sorted(path for path in root.iterdir() if path.name.startswith("target")):
        times = sorted((start, end) for place, start, end in cluster.measurements() if place.startswith(f"{target}/"))
        if any(before[1] > after[0] for before, after in itertools.pairwise(times)):
            targets.append(target.name)
    return targets


def test_the_jobs_of_one_target_wait_for_each_other(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.fault("bench-sleep", 0.1)
    driver = Driving(tmp_path, monkeypatch, allocation="run")
    assert driver.send() == 2
    first, second = cluster.jobs()
    assert (first["after"], second["after"]) == ([], [first["id"]])
    driver.follow()
    assert overlaps(cluster, tmp_path) == []
    assert len(cluster.measurements()) == 2


@pytest.mark.parametrize(
    ("storage", "after"),
    [
        (("", "", ""), ([], [0], [0, 1])),
        (("flash", "flash", "flash"), ([], [0], [0, 1])),
        (("flash", "disk", "tape"), ([], [], [])),
        (("flash", "disk", "flash"), ([], [], [0])),
        (("flash", "disk", ""), ([], [], [0, 1])),
        (("", "flash", "disk"), ([], [0], [0])),
    ],
)
def test_jobs_of_targets_wait_for_each_other_but_where_their_storage_is_named_and_another(
    storage: tuple[str, ...],
    after: tuple[list[int], ...],
    tmp_path: Path,
    cluster: Fake,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    driver = Driving(tmp_path, monkeypatch, targets=3)
    targets = zip(driver.campaign.targets, storage, strict=True)
    driver.campaign = replace(
        driver.campaign, targets=tuple(replace(target, storage=own_text) for target, own_text in targets)
    )
    driver.send()
    jobs = cluster.jobs()
    assert [job["after"] for job in jobs] == [[jobs[number]["id"] for number in numbers] for numbers in after]


def test_a_job_is_reported_which_jobs_measure_on_other_storage(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driving(tmp_path, monkeypatch, targets=3)
    targets = zip(driver.campaign.targets, ("flash", "flash", "disk"), strict=True)
    driver.campaign = replace(
        driver.campaign, targets=tuple(replace(target, storage=own_text) for target, own_text in targets)
    )
    driver.send()
    marks = [scripts.target_mark(target.directory) for target in driver.campaign.targets]
    lines = [
        re.findall(r"^ *campaign_independent_storage (.*)$", path.read_text(), re.MULTILINE)
        for path in driver.paths.root.glob("jobs/*/job.sbatch")
    ]
    assert sorted(lines) == sorted([[marks[2]], [marks[2]], [" ".join(marks[:2])]])


def test_nodes_by_themselves_whose_programs_use_no_storage_wait_for_nobody(
    tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Driving(tmp_path, monkeypatch, targets=1)
    run, *_ = driver.runs
    commands = (replace(run.commands[0], arguments=("-n", "1")),)
    alone = [replace(run, id=f"{run.id}.{node}", node=node, commands=commands) for node in ("n1", "n2")]
    driver.send([*alone, run, replace(run, id=f"{run.id}.n3", node="n3")])
    *entries, third, fourth = cluster.jobs()
    assert [job["after"] for job in entries] == [[], []]
    assert [third["after"], fourth["after"]] == [[], [third["id"]]]
    mark = scripts.target_mark(run.directory)
    messages = [path.read_text() for path in driver.paths.root.glob("jobs/*/job.sbatch")]
    lines = ("campaign_shares_target", f"campaign_independent_storage {mark}")
    assert sorted(all(f"    {line}\n" in text for line in lines) for text in messages) == [False, False, True, True]


def test_another_attempt_waits_for_the_jobs_of_the_target_that_have_not_ended(driver: Driving, cluster: Fake) -> None:
    cluster.fault("bench-sleep", 0.2)
    driver.send(driver.runs[:1])
    driver.send(driver.runs[1:])
    first, second = cluster.jobs()
    assert second["after"] == [first["id"]]
    driver.follow()
    assert overlaps(cluster, tmp_path_of(driver)) == []


def tmp_path_of(driver: Driving) -> Path:
    return driver.paths.root.parent


def test_a_job_of_another_campaign_on_the_target_is_waited_for(driver: Driving, cluster: Fake) -> None:
    cluster.fault("hold", "", one_time=False)
    other = builders.campaign(driver.paths.root.parent / "other", targets=driver.campaign.targets)
    store = Store(Paths(other.results))
    campaign = replace(driver.campaign, results=other.results, name="other")
    submit.send(Definition(campaign, driver.pack), store, lambda: driver.runs[:1], print)
    driver.send(driver.runs[1:])
    first, second = cluster.jobs()
    assert second["after"] == [first["id"]]
    cluster.mend("hold")
    driver.follow()


def test_a_squeue_that_fails_while_a_job_is_sent_stops_nothing(driver: Driving, cluster: Fake) -> None:
    cluster.fault("squeue-fails", one_time=True)
    driver.send()
    driver.follow()
    assert driver.states() == [State.DONE, State.DONE]


# --- who submitted


def test_a_driver_on_this_host_may_still_submit_as_long_as_its_process_lives() -> None:
    process = subprocess.Popen(["sleep", "60"])
    try:
        host, _, _ = submit.submitter().rsplit(":", 2)
        start = Process.from_pid(process.pid).started
        job = StoredJob("job", None, "scratch", f"{host}:{process.pid}:{start}", time.time(), "")
        assert submit.may_still_submit(job)
        assert not submit.may_still_submit(replace(job, submitter=f"{host}:{process.pid}:{start + 1}"))
    finally:
        process.kill()
        process.wait()
    assert not submit.may_still_submit(job)


def test_this_driver_itself_knows_what_it_has_submitted() -> None:
    assert not submit.may_still_submit(StoredJob("job", None, "scratch", submit.submitter(), time.time(), ""))


def test_a_driver_on_another_host_is_given_two_minutes() -> None:
    job = StoredJob("job", None, "scratch", "elsewhere:1:1", time.time() - 100, "")
    assert submit.may_still_submit(job)
    assert not submit.may_still_submit(replace(job, created=time.time() - 130))


def test_an_attempt_that_a_job_has_claimed_cannot_be_given_up(tmp_path: Path) -> None:
    store = builders.filled_store(tmp_path, [builders.run()])
    attempt, paths = store.attempts()[0], Paths(tmp_path)
    folder = paths.attempt(attempt.run, 1)
    with pytest.raises(EnvironmentLacks, match=r"/claim: No such file or directory"):
        submit.give_up(paths, store, attempt, State.LOST, "gone")
    (folder / "claim").mkdir(parents=True)
    assert not submit.give_up(paths, store, attempt, State.LOST, "gone")
    assert store.attempts()[0].state is State.PENDING
    (folder / "claim").rmdir()
    assert submit.give_up(paths, store, attempt, State.LOST, "gone")
    assert (store.attempts()[0].state, store.attempts()[0].reason) == (State.LOST, "gone")
    assert (folder / "claim").is_dir()


# --- drivers that are killed, and several at once


def wait_for_driver(process: subprocess.Popen[str], root: Path) -> str:
    try:
        out, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"the driver hangs: {process.communicate()[0]}") from None
    assert process.returncode == 0, (root / "driver.err").read_text()
    return out


def assert_all_measured_once(root: Path, cluster: Fake, runs: int = 2) -> None:
    fake_slurm.wait_until(lambda: not cluster.active_jobs(), "no job is left over")
    store = Store(Paths(root / "results"))
    attempts = store.attempts()
    store.close()
    successes = [attempt for attempt in attempts if attempt.state is State.DONE]
    assert len({attempt.run for attempt in successes}) == len(successes) == runs, attempts
    assert not [attempt for attempt in attempts if attempt.state.active]
    measured = [Path(place).name.removeprefix("campaign-") for place, _, _ in cluster.measurements()]
    assert sorted(measured) == sorted(attempt.token for attempt in successes)
    assert overlaps(cluster, root) == []
    assert [path.name for path in root.glob("target*/*")] == []
    assert [path.name for path in root.glob("target*/.campaign-lock")] == []


# Of the lines that a driver executes from its first record on, submission takes about 1200; the others follow the jobs.
POINTS = (116, 488, 789, 1276, 1897)


@pytest.fixture(scope="module")
def killed_drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, tuple[Path, Fake, Future[None]]]]:
    """For each point a campaign whose driver killed itself there, and was followed by another; several at a time."""
    paths = {point: tmp_path_factory.mktemp(f"killed{point}-") for point in POINTS}
    clusters = {point: fake_slurm.make(root) for point, root in paths.items()}

    def kill_and_follow(point: int) -> None:
        root, cluster = paths[point], clusters[point]
        first = driving.start(root, cluster, kill_at=point)
        first.communicate(timeout=LIMIT_S)
        assert first.returncode == -signal.SIGKILL, (root / "driver.err").read_text()
        wait_for_driver(driving.start(root, cluster), root)
        fake_slurm.wait_until(lambda: not cluster.active_jobs(), "no job is left over")

    try:
        with ThreadPoolExecutor(4) as pool:
            yield {point: (paths[point], clusters[point], pool.submit(kill_and_follow, point)) for point in POINTS}
    finally:
        for cluster in clusters.values():
            cluster.stop()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("point", POINTS)
def test_a_driver_killed_at_any_line_loses_no_run_and_leaves_none_to_be_measured_twice(
    killed_drivers: dict[int, tuple[Path, Fake, Future[None]]], point: int
) -> None:
    root, cluster, future = killed_drivers[point]
    future.result(timeout=2 * LIMIT_S)
    assert_all_measured_once(root, cluster)


@pytest.mark.timeout(900)
def test_a_driver_killed_while_sbatch_is_under_way_leaves_nothing_measured_twice(tmp_path: Path, cluster: Fake) -> None:
    """The next driver asks Slurm before the job exists, gives it up and sends another: the late one does nothing."""
    path = cluster.root / "faults" / "sbatch-waits.held"
    cluster.fault("sbatch-waits", one_time=True)
    first = driving.start(tmp_path, cluster)
    fake_slurm.wait_until(path.exists, "sbatch is under way")
    first.kill()
    first.communicate()
    wait_for_driver(driving.start(tmp_path, cluster), tmp_path)
    path.unlink()
    fake_slurm.wait_until(lambda: len(cluster.jobs()) == 3, "the late job has come")
    assert_all_measured_once(tmp_path, cluster)


@pytest.mark.timeout(900)
def test_a_driver_killed_again_and_again_comes_to_an_end(tmp_path: Path, cluster: Fake) -> None:
    for point in (150, 700, 250):
        driving.start(tmp_path, cluster, kill_at=point).communicate(timeout=LIMIT_S)
    wait_for_driver(driving.start(tmp_path, cluster), tmp_path)
    assert_all_measured_once(tmp_path, cluster)


@pytest.mark.timeout(900)
def test_two_drivers_at_once_submit_every_run_once(tmp_path: Path, cluster: Fake) -> None:
    cluster.fault("bench-sleep", 0.1)
    processes = [driving.start(tmp_path, cluster, targets=2) for _ in range(2)]
    out = [wait_for_driver(process, tmp_path) for process in processes]
    assert sum(text.count("submitted job ") for text in out) == 4
    assert_all_measured_once(tmp_path, cluster, runs=4)


@pytest.mark.timeout(900)
def test_an_sbatch_that_times_out_now_and_then_cancels_nothing_and_doubles_nothing(
    tmp_path: Path, cluster: Fake
) -> None:
    cluster.fault("sbatch-unreliable", 60)
    message = wait_for_driver(driving.start(tmp_path, cluster, targets=6), tmp_path)
    assert "sbatch failed for 1 run" in message
    assert "the same cause" not in message
    assert len(cluster.jobs()) == 12
    assert_all_measured_once(tmp_path, cluster, runs=12)


@pytest.mark.timeout(900)
def test_a_driver_that_is_done_finds_nothing_to_do(tmp_path: Path, cluster: Fake) -> None:
    wait_for_driver(driving.start(tmp_path, cluster), tmp_path)
    before = len(cluster.jobs())
    assert wait_for_driver(driving.start(tmp_path, cluster), tmp_path) == "ready\n"
    assert len(cluster.jobs()) == before == 2
    assert list((tmp_path / "target1").iterdir()) == []

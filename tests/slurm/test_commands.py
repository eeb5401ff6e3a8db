from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.core import waiting
from campaign.core.errors import EnvironmentLacks, UnknownState
from campaign.core.runs import State
from campaign.results.environment.slurm_text import STATES
from campaign.slurm import commands, sbatch
from campaign.slurm.commands import Job
from tests.support import fake_slurm
from tests.support.answers import slurm_output
from tests.support.fake_slurm import Fake


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        yield fake


def script(folder: Path, name: str = "campaign-test-1", body: str = "true") -> Path:
    path = folder / f"{name}.sbatch"
    options = f"--job-name={name} --output={folder}/{name}.out --error={folder}/{name}.err"
    path.write_text(f"#!/bin/bash\n#SBATCH {options}\n{body}\n")
    return path


def submit_job(folder: Path, name: str = "campaign-test-1", body: str = "true") -> str:
    answer = sbatch.submit(script(folder, name, body))
    assert answer.job_id is not None
    return answer.job_id


def wait_for_jobs(cluster: Fake) -> None:
    fake_slurm.wait_until(lambda: not cluster.active_jobs(), "all jobs have ended")


def test_a_submitted_job_is_found_by_its_name(tmp_path: Path, cluster: Fake) -> None:
    number = submit_job(tmp_path)
    wait_for_jobs(cluster)
    assert commands.queue({"campaign-test-1": None, "campaign-test-2": None}) == {
        "campaign-test-1": Job(number, "campaign-test-1", State.DONE, "COMPLETED", "", "batch", directory=str(tmp_path))
    }


def test_a_job_starts_after_those_it_depends_on_have_ended_in_whatever_way(tmp_path: Path, cluster: Fake) -> None:
    first = submit_job(tmp_path, "one", f"until [[ -e {tmp_path}/go ]]; do sleep 0.02; done; exit 7")
    answer = sbatch.submit(script(tmp_path, "two"), [first, first])
    assert answer.job_id is not None
    fake_slurm.wait_until(lambda: commands.queue({"two": None})["two"].reason == "Dependency", "it waits")
    (tmp_path / "go").touch()
    wait_for_jobs(cluster)
    fields, two = cluster.jobs()
    assert (fields["state"], two["state"]) == ("FAILED", "COMPLETED")
    assert two["started"] >= fields["ended"]


# --- the environment


def test_what_would_override_the_script_does_not_reach_slurm() -> None:
    overrides = {
        "SBATCH_TIMELIMIT": "1",
        "SLURM_CPU_BIND": "none",
        "SLURM_JOB_ID": "5",
        "SQUEUE_FORMAT": "%i",
        "SACCT_FORMAT": "User",
        "SRUN_EXPORT_ENV": "NONE",
        "PMIX_RANK": "0",
        "OMPI_COMM_WORLD_RANK": "0",
        "BENCH_JSON": "x",
    }
    harmless = {"SLURM_CONF": "/etc/slurm.conf", "SLURM_PMIX_FENCE": "ring", "PATH": "/bin", "OMPI_MCA_btl": "tcp"}
    assert commands.environment("squeue", overrides | harmless) == harmless | {"SLURM_TIME_FORMAT": "%s"}


def test_another_cluster_of_the_environment_is_named_and_this_one_is_not(
    cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_CLUSTERS", "fake")
    assert list(commands.other_clusters()) == []
    monkeypatch.setenv("SBATCH_CLUSTERS", "big")
    assert list(commands.other_clusters()) == [
        "SBATCH_CLUSTERS=big: campaign uses one cluster only, that of this machine; unset it, or run campaign on a "
        "login node of big"
    ]


def recorder(folder: Path, name: str) -> None:
    """A command that writes down its environment."""
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\nenv >'{folder}/{name}.env'\necho 1\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_job_knows_the_names_of_its_submitters_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("UCX_TLS", "tcp")
    monkeypatch.setenv("SBATCH_EXPORT", "NONE")
    recorder(tmp_path, "sbatch")
    sbatch.submit(script(tmp_path))
    lines = (tmp_path / "sbatch.env").read_text().splitlines()
    (names,) = [line.partition("=")[2].split() for line in lines if line.startswith("CAMPAIGN_SUBMITTED_WITH=")]
    assert {"PATH", "UCX_TLS"} <= set(names)
    assert "SBATCH_EXPORT" not in names


def test_times_are_asked_for_in_seconds_which_jobs_do_not_inherit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    for name in ("squeue", "sbatch"):
        recorder(tmp_path, name)
        commands.call([name])
    assert "SLURM_TIME_FORMAT=%s" in (tmp_path / "squeue.env").read_text().splitlines()
    assert "SLURM_TIME_FORMAT" not in (tmp_path / "sbatch.env").read_text()


# --- no answer is no answer


def test_a_command_that_is_not_there_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EnvironmentLacks) as caught:
        commands.queue({"one": None})
    assert str(caught.value) == ("squeue is not on PATH; run this on a login node, or install Slurm's client commands")
    assert not isinstance(caught.value, UnknownState)


def test_a_command_that_may_not_be_executed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "squeue").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentLacks, match=r"squeue: Permission denied"):
        commands.queue({"one": None})


def test_a_command_that_hangs_gives_no_answer(cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands.call, "__defaults__", (0.3, *(commands.call.__defaults__ or ())[1:]))
    cluster.fault("squeue-hangs", 60)
    with pytest.raises(UnknownState, match=r"^squeue did not answer within 0\.3 s$"):
        commands.queue({"one": None})


def test_a_wait_for_a_slow_command_is_reported_once(cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "SLOW_S", 0.5)
    monkeypatch.setattr(commands.call, "__defaults__", (4.0, *(commands.call.__defaults__ or ())[1:]))
    texts: list[str] = []
    cluster.fault("squeue-hangs", 60)
    with waiting.replace_listener(texts.append), pytest.raises(UnknownState):
        commands.queue({"one": None})
    assert [re.sub("for [0-9]+ s", "for N s", text) for text in texts] == [
        "waiting for squeue, which has not answered for N s; given up after 4 s"
    ]


def test_whether_slurmctld_answers_is_asked_with_no_less_patience_than_all_else(
    cluster: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands.call, "__defaults__", (0.3, *(commands.call.__defaults__ or ())[1:]))
    cluster.fault("scontrol-hangs", 60)
    assert commands.reachable() == "scontrol did not answer within 0.3 s"


def test_a_failing_squeue_is_never_read_as_no_such_job(cluster: Fake) -> None:
    cluster.fault("squeue-fails", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    with pytest.raises(UnknownState) as caught:
        commands.queue({"one": None})
    assert str(caught.value) == (
        "squeue failed with status 1: slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    )


def test_what_a_failing_command_says_in_several_lines_is_reported_in_one(cluster: Fake) -> None:
    cluster.fault("squeue-fails", "error: Unknown host\nfatal: Could not establish a configuration source")
    with pytest.raises(
        UnknownState, match=r"1: error: Unknown host; fatal: Could not establish a configuration source$"
    ):
        commands.queue({"one": None})


def test_an_answer_in_an_unknown_form_is_shown(cluster: Fake) -> None:
    cluster.fault("squeue-garbage", "Maintenance tonight")
    with pytest.raises(UnknownState, match=r"^unexpected output of squeue: 'Maintenance tonight'$"):
        commands.queue({"one": None})
    with pytest.raises(UnknownState, match=r"^unexpected output of squeue"):
        commands.my_jobs()


def test_a_failing_scontrol_is_never_read_as_no_such_job(cluster: Fake) -> None:
    assert commands.fields_of_job("17", "campaign-test-1") == {}
    cluster.fault("scontrol-fails")
    with pytest.raises(UnknownState, match="Unable to contact slurm controller"):
        commands.fields_of_job("17", "campaign-test-1")


def test_nothing_is_asked_for_no_names(cluster: Fake) -> None:
    cluster.fault("squeue-fails")
    cluster.fault("sacct-fails")
    assert commands.queue({}) == {}
    assert commands.accounting({}, 0) == {}


def test_many_jobs_are_asked_for_at_once(cluster: Fake) -> None:
    cluster.pretend("7", "job-3", "RUNNING")
    cluster.pretend("8", "job-401", "PENDING")
    jobs = commands.queue({f"job-{number}": None for number in range(450)})
    assert {name: job.state for name, job in jobs.items()} == {"job-3": State.RUNNING, "job-401": State.PENDING}


# --- states

WORDS = {
    "PENDING": State.PENDING,
    "CONFIGURING": State.PENDING,
    "REQUEUE_HOLD": State.PENDING,
    "RUNNING": State.RUNNING,
    "COMPLETING": State.RUNNING,
    "SUSPENDED": State.RUNNING,
    "STOPPED": State.RUNNING,
    "COMPLETED": State.DONE,
    "FAILED": State.FAILED,
    "OUT_OF_MEMORY": State.FAILED,
    "TIMEOUT": State.TIMEOUT,
    "DEADLINE": State.TIMEOUT,
    "CANCELLED": State.CANCELLED,
    "PREEMPTED": State.CANCELLED,
    "NODE_FAIL": State.NODE_FAIL,
    "BOOT_FAIL": State.NODE_FAIL,
}
# Every state that squeue(1) lists under "JOB STATE CODES".
MANUAL = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "CONFIGURING", "COMPLETING", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PENDING", "PREEMPTED", "RUNNING", "RESV_DEL_HOLD", "REQUEUE_FED", "REQUEUE_HOLD", "REQUEUED"),
    *("RESIZING", "REVOKED", "SIGNALING", "SPECIAL_EXIT", "STAGE_OUT", "STOPPED", "SUSPENDED", "TIMEOUT"),
}


@pytest.mark.parametrize("word", WORDS)
def test_slurms_state_means(word: str) -> None:
    (job,) = commands.parse_queue(slurm_output(f"7|{word}|None|batch|/|job|"))
    assert (job.state, job.word, job.reason) == (WORDS[word], word, "")


def test_every_state_of_slurms_manual_is_known() -> None:
    assert set(STATES) == MANUAL


def test_an_unknown_state_is_held_and_said() -> None:
    (job,) = commands.parse_queue(slurm_output("7|DREAMING|None|batch|/|job|"))
    assert job.state is State.RUNNING
    assert job.reason == "unknown Slurm state DREAMING"


def test_a_waiting_job_has_its_reason() -> None:
    reason = "ReqNodeNotAvail, UnavailableNodes:n3"
    assert commands.parse_queue(slurm_output(f"7|PENDING|{reason}|batch|/results/job|job")) == [
        Job("7", "job", State.PENDING, "PENDING", reason, "batch", "/results/job")
    ]


def test_only_jobs_that_have_not_ended_are_my_active_ones(tmp_path: Path, cluster: Fake) -> None:
    cluster.pretend("5", "old", "COMPLETED")
    cluster.pretend("6", "new", "RUNNING")
    assert [job.name for job in commands.my_jobs()] == ["new"]


# --- accounting


def test_the_accounting_tells_what_became_of_a_forgotten_job(tmp_path: Path, cluster: Fake) -> None:
    number = submit_job(tmp_path, body="exit 3")
    wait_for_jobs(cluster)
    cluster.fault("forgets")
    assert commands.queue({"campaign-test-1": None}) == {}
    assert commands.accounting({"campaign-test-1": number}, cluster.jobs()[0]["submitted"]) == {
        "campaign-test-1": Job(
            number, "campaign-test-1", State.FAILED, "FAILED", "FAILED, exit code 3:0", directory=str(tmp_path)
        )
    }


def test_a_job_from_before_this_one_was_submitted_does_not_count(cluster: Fake) -> None:
    cluster.pretend("5", "campaign-test-1", "COMPLETED")
    assert commands.accounting({"campaign-test-1": None}, 10_000.0) == {}


def test_a_command_that_a_signal_ends_is_no_answer_either(cluster: Fake, tmp_path: Path) -> None:
    """As SIGPIPE does where slurmctld hangs up."""
    folder = tmp_path / "ended"
    folder.mkdir()
    (folder / "squeue").write_text("#!/bin/sh\nkill -PIPE $$\n")
    (folder / "squeue").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(UnknownState) as caught:
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        commands.queue({"one": None})
    assert str(caught.value) == "squeue failed with status -13: ended by SIGPIPE without a message"


def test_no_accounting_is_not_an_error(cluster: Fake) -> None:
    cluster.fault("no-accounting")
    assert commands.accounting({"one": None}, 0) is None


def test_accounting_that_does_not_answer_is_no_answer(cluster: Fake) -> None:
    cluster.fault("sacct-fails", "sacct: error: Problem talking to the database: Connection refused")
    with pytest.raises(UnknownState, match=r"sacct failed with status 1: .*Connection refused"):
        commands.accounting({"one": None}, 0)
    cluster.mend("sacct-fails")
    cluster.fault("sacct-garbage", "what|now")
    with pytest.raises(UnknownState, match=r"unexpected output of sacct: 'what\|now'"):
        commands.accounting({"one": None}, 0)


def test_the_first_word_of_a_state_counts_and_the_rest_is_shown() -> None:
    assert commands.parse_accounting(slurm_output("7|CANCELLED by 123|0:15||job")) == [
        Job("7", "job", State.CANCELLED, "CANCELLED", "CANCELLED by 123, exit code 0:15")
    ]


def test_the_state_counts_before_the_exit_code() -> None:
    """NODE_FAIL has been seen with 0:15 and TIMEOUT with 0:0."""
    jobs = commands.parse_accounting(slurm_output("7|NODE_FAIL|0:15||one", "8|TIMEOUT|0:0||two"))
    assert [job.state for job in jobs] == [State.NODE_FAIL, State.TIMEOUT]


def test_slurmctld_says_all_that_it_knows_of_a_job(tmp_path: Path, cluster: Fake) -> None:
    number = submit_job(tmp_path, body="exit 3")
    wait_for_jobs(cluster)
    assert commands.fields_of_job(number, "of another") == {}  # ids are used again
    fields = commands.fields_of_job(number, "campaign-test-1")
    assert (fields["JobState"], fields["ExitCode"], fields["WorkDir"]) == ("FAILED", "3:0", str(tmp_path))


# --- a job is its id, and the token in its name or in the directory where it was submitted


def test_a_job_is_found_by_its_id_under_whatever_name_and_not_where_its_id_is_another_jobs_by_now(
    cluster: Fake,
) -> None:
    cluster.pretend("7", "campaign-a", "RUNNING")
    cluster.rename("7", "somebody\nrenamed it")
    cluster.pretend("8", "of another", "RUNNING")
    assert list(commands.queue({"campaign-a": "7", "campaign-b": "8"})) == ["campaign-a"]
    jobs = commands.accounting({"campaign-a": "7", "campaign-b": "8"}, -100.0)
    assert jobs is not None and list(jobs) == ["campaign-a"]


def test_of_two_jobs_of_one_token_the_one_on_record_counts_and_without_a_record_the_one_that_goes_on(
    cluster: Fake,
) -> None:
    cluster.pretend("7", "campaign-a", "FAILED")
    cluster.pretend("8", "campaign-a", "RUNNING")
    cluster.pretend("9", "campaign-a", "FAILED")
    assert [commands.queue({"campaign-a": job_id})["campaign-a"].id for job_id in ("7", "9", None)] == ["7", "9", "8"]


# --- a wrong configuration


@pytest.mark.parametrize(("path", "reason"), [("missing.conf", "No such file or directory"), ("", "Is a directory")])
def test_a_wrong_slurm_conf_is_named_at_once(
    cluster: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, reason: str
) -> None:
    cluster.fault("scontrol-hangs", 60)
    conf = tmp_path / path
    monkeypatch.setenv("SLURM_CONF", str(conf))
    assert commands.reachable() == f"SLURM_CONF={conf}: {reason}; correct or unset this environment variable"


def test_a_command_that_hangs_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "squeue"
    path.write_text("#!/bin/sh\necho 'squeue: error: Unable to resolve \"head\"' >&2\nexec sleep 60\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(UnknownState, match=r'^squeue did not answer within 1 s; it said: squeue: error: .* "head"$'):
        commands.call(["squeue"], 1.0)


# --- cancelling


def test_cancelled_jobs_end(tmp_path: Path, cluster: Fake) -> None:
    numbers = [submit_job(tmp_path, name, "sleep 1000 & wait") for name in ("one", "two")]
    fake_slurm.wait_until(lambda: all(job["state"] == "RUNNING" for job in cluster.jobs()), "they run")
    commands.cancel(numbers)
    wait_for_jobs(cluster)
    assert [job["state"] for job in cluster.jobs()] == ["CANCELLED", "CANCELLED"]


def test_a_job_that_has_ended_by_itself_meanwhile_can_be_cancelled(tmp_path: Path, cluster: Fake) -> None:
    commands.cancel(["12345"])
    cluster.fault(
        "scancel-fails", "scancel: error: Kill job error on job id 7: Job/step already completing or completed"
    )
    commands.cancel(["7"])
    commands.cancel([])


@pytest.mark.parametrize(
    "text",
    [
        "scancel: error: Kill job error on job id 7: Access/permission denied",
        "scancel: error: Kill job error on job id 6: Invalid job id specified\n"
        "scancel: error: Kill job error on job id 7: Access/permission denied",
    ],
)
def test_a_job_that_cannot_be_cancelled_is_reported(cluster: Fake, text: str) -> None:
    cluster.fault("scancel-fails", text)
    with pytest.raises(UnknownState, match=r"job id 7: Access/permission denied$"):
        commands.cancel(["6", "7"])


# --- the machine


def test_one_task_is_launched_in_the_partition_where_one_is_named() -> None:
    assert commands.one_task("", "pmix") == ("srun", "--nodes=1", "--ntasks=1", "--time=1", "--mpi=pmix", "--quiet")
    assert commands.one_task("batch", "pmix")[-1] == "--partition=batch"


def test_slurm_is_reachable_where_its_controller_is_up(cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert commands.reachable() is None
    cluster.fault("scontrol-garbage", "Slurmctld(primary) at fake is DOWN", one_time=True)
    assert commands.reachable() == "Slurmctld(primary) at fake is DOWN"
    stars = "*" * 41
    asks = f"{stars}\n** RESTORE SLURMCTLD DAEMON TO SERVICE **\n{stars}"
    cluster.fault("scontrol-garbage", f"Slurmctld(primary) at fake is DOWN\n{asks}", one_time=True)
    assert commands.reachable() == "Slurmctld(primary) at fake is DOWN"
    cluster.fault("scontrol-fails", "", one_time=True)
    assert commands.reachable() == "scontrol: error: Unable to contact slurm controller (connect failure)"
    monkeypatch.setenv("PATH", "/nowhere")
    assert (commands.reachable() or "").startswith("scontrol is not on PATH")

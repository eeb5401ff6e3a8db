"""What sbatch's answers mean, in the words of Slurm's versions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from campaign.core.errors import UnknownState
from campaign.slurm import sbatch
from campaign.slurm.commands import Reply
from campaign.slurm.sbatch import SbatchAnswer
from tests.support import fake_slurm
from tests.support.fake_slurm import Fake


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setattr(sbatch, "PAUSE_S", (0.01, 0.02))
    with fake_slurm.running_cluster(tmp_path, monkeypatch) as fake:
        yield fake


SCRIPT = "#!/bin/bash\n#SBATCH --job-name=campaign-test-1\ntrue\n"


OUTAGE = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
ANSWERS = {
    "an id": (Reply(0, "42\n", ""), SbatchAnswer("42", "")),
    "an id with its cluster": (Reply(0, "42;big\n", ""), SbatchAnswer("42", "")),
    "an id and a warning": (Reply(0, "42\n", "sbatch: warning: odd\n"), SbatchAnswer("42", "sbatch: warning: odd")),
    "a banner around the id": (Reply(0, "Welcome!\n\n  42  \nSee page 7.\n", ""), SbatchAnswer("42", "")),
    "two ids": (
        Reply(0, "42\n43\n", ""),
        SbatchAnswer(None, "unexpected output of sbatch: '42\\n43'", uncertain=True),
    ),
    "no id": (
        Reply(0, "Submitted batch job 42\n", ""),
        SbatchAnswer(None, "unexpected output of sbatch: 'Submitted batch job 42'", uncertain=True),
    ),
    "nothing": (Reply(0, "", ""), SbatchAnswer(None, "unexpected output of sbatch: ''", uncertain=True)),
    "a refusal": (
        Reply(1, "", "sbatch: error: invalid partition specified: nope\n"),
        SbatchAnswer(None, "sbatch: error: invalid partition specified: nope"),
    ),
    "a failure without a word": (
        Reply(2, "", ""),
        SbatchAnswer(None, "sbatch ended with status 2 and no message", uncertain=True),
    ),
    **{
        f"a failure that says {text}": (Reply(1, "", text), SbatchAnswer(None, text, uncertain=True))
        for text in (
            "sbatch: error: Batch job submission failed: Unspecified error",
            "sbatch: error: Batch job submission failed: Slurm internal error, contact system administrator",
            "sbatch: please come back tomorrow",
            "sbatch: error: Site policy: connect to login3; please retry there\n"
            "sbatch: error: Batch job submission failed: Unspecified error",
        )
    },
    **{
        f"a failure that passes and says {text}": (
            Reply(1, "", f"sbatch: error: Batch job submission failed: {text}"),
            SbatchAnswer(None, f"sbatch: error: Batch job submission failed: {text}", uncertain=True, passes=True),
        )
        for text in (
            "Unable to contact slurm controller (connect failure)",
            "Communication connection failure",
            "Message receive failure",
            "Socket timed out on send/recv operation",
            "Zero Bytes were transmitted or received",
            "Connection timed out reading",
            "Transport endpoint is not connected",
            "Rate limit exceeded, please retry momentarily",
            "Rate limit exceeded, please retry later",
            "Resource temporarily unavailable",
            "Slurm backup controller in standby mode",
            "Controller is in standby mode, try a different controller",
            "Unable to create job record, try again",
            "MaxJobCount limit reached",
            "Unable to connect to database",
            "Protocol authentication error",
            "I/O error writing script/environment to file",
        )
    },
    **{
        f"a refusal that says {text}": (Reply(1, "", text), SbatchAnswer(None, text))
        for text in (
            "sbatch: error: Batch job submission failed: Invalid qos specification",
            "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds a limit)",
            "sbatch: error: Batch job submission failed: User's group not permitted to use this partition",
            "sbatch: unrecognized option '--nonsense'",
        )
    },
    "a lost answer": (Reply(1, "", OUTAGE), SbatchAnswer(None, OUTAGE, uncertain=True, passes=True)),
    "no controller": (
        Reply(1, "", "sbatch: error: Unable to contact slurm controller (connect failure)"),
        SbatchAnswer(None, "sbatch: error: Unable to contact slurm controller (connect failure)", True, passes=True),
    ),
    "a death by signal": (
        Reply(-9, "", ""),
        SbatchAnswer(None, "sbatch ended with status -9 and no message", uncertain=True, passes=True),
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_sbatchs_answer_is_an_id_a_refusal_or_uncertain(name: str) -> None:
    reply, submission = ANSWERS[name]
    assert sbatch.parse(reply) == submission


def test_an_sbatch_that_hangs_is_uncertain(tmp_path: Path, cluster: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sbatch, "TIMEOUT_S", 0.3)
    cluster.fault("sbatch-hangs-after", 60)
    (tmp_path / "job.sbatch").write_text(SCRIPT)
    answer = sbatch.submit(tmp_path / "job.sbatch", (), lambda _: fake_slurm.wait_until(cluster.jobs, "it has the job"))
    assert answer == SbatchAnswer(None, "sbatch did not answer within 0.3 s", uncertain=True, passes=True)
    assert [job["name"] for job in cluster.jobs()] == ["campaign-test-1"]


# --- what --test-only says


def test_a_refusal_is_reported_in_all_words_of_the_site(cluster: Fake) -> None:
    cluster.fault(
        "test-refuses",
        "any sbatch: error: Site policy: at most 2 nodes on Mondays\nsbatch: error: write to hpc-help@site\n"
        "allocation failure: Unspecified error",
    )
    assert sbatch.refusal(SCRIPT) == (
        "Site policy: at most 2 nodes on Mondays; write to hpc-help@site; Unspecified error"
    )
    cluster.fault("test-refuses", "any allocation failure: Requested nodes are busy")
    assert sbatch.refusal(SCRIPT) == ""


def test_what_passes_is_asked_again_and_is_no_refusal(cluster: Fake) -> None:
    text = "allocation failure: Rate limit exceeded, please retry momentarily"
    cluster.fault("test-refuses", f"any {text}", one_time=True)
    assert sbatch.refusal(SCRIPT) == ""
    cluster.fault("test-refuses", f"any {text}")
    with pytest.raises(UnknownState, match=r"^sbatch --test-only failed with status 1: Rate limit exceeded"):
        sbatch.refusal(SCRIPT)
    assert len((cluster.root / "tested").read_text().splitlines()) == 2 + sbatch.TESTS


def test_pauses_grow_and_are_never_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sbatch, "PAUSE_S", (1.0, 60.0))
    pauses = [pause for _, pause in zip(range(10), sbatch.pauses(), strict=False)]
    assert all(0.5 * 2**place <= pause <= 1.5 * 2**place for place, pause in enumerate(pauses[:6]))
    assert all(30 <= pause <= 90 for pause in pauses[6:])
    assert len(set(pauses)) == 10


# --- reasons for which a job waits

NEVER = [
    "AccountNotAllowed",
    "AssocMaxCpuPerJobLimit",
    "AssocMaxWallDurationPerJobLimit",
    "BadConstraints",
    "DependencyNeverSatisfied",
    "InvalidAccount",
    "Job's QOS not permitted to use this partition (chem allows short not normal)",
    "Job's account not permitted to use this partition (chem allows chemistry not physics)",
    "PartitionTimeLimit",
    "QOSMaxGRESPerNode",
    "QOSMaxNodePerJobLimit",
    "QOSMaxWallDurationPerJobLimit",
    "QOSMinCpuNotSatisfied",
    "QOSNotAllowed",
    "ReservationDeleted",
]
# These end by waiting alone.
WAITS = [
    "AssocGrpCpuLimit",
    "AssocMaxJobsLimit",
    "BeginTime",
    "Dependency",
    "Licenses",
    "MaxJobsPerAccount",
    "None",
    "Priority",
    "QOSGrpNodeLimit",
    "QOSMaxJobsPerUserLimit",
    "QOSMaxNodePerUserLimit",
    "Resources",
]
ONCE = {
    "AssocGrpCPUMinutesLimit": "job 7 starts by itself once the account has budget again: "
    "ask the administrators, no need to cancel it",
    "JobHeldAdmin": "starts by itself once an administrator releases it: ask about job 7, no need to cancel it",
    "JobHeldUser": "starts by itself once it is released: scontrol release 7",
    "NodeDown": "job 7 starts by itself once enough nodes are back; no need to cancel it",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": (
        "job 7 starts by itself once enough nodes are back; no need to cancel it"
    ),
    "PartitionInactive": "job 7 starts by itself once the administrators open the partition; no need to cancel it",
    "QOSGrpNodeMinutes": "job 7 starts by itself once the account has budget again: "
    "ask the administrators, no need to cancel it",
    "ReqNodeNotAvail, UnavailableNodes:n5": "job 7 starts by itself once enough nodes are back; no need to cancel it",
    "Reservation": "job 7 starts by itself when its reservation begins; no need to cancel it",
}


@pytest.mark.parametrize("reason", NEVER)
def test_a_job_that_never_starts_as_it_was_submitted_is_to_be_cancelled(reason: str) -> None:
    assert sbatch.explain_reason(reason, "7") == (
        f"{reason} (never starts as it was submitted: 'campaign cancel', correct the campaign file, and run again)"
    )


@pytest.mark.parametrize("reason", ONCE)
def test_a_job_that_starts_once_somebody_has_acted_is_not(reason: str) -> None:
    assert sbatch.explain_reason(reason, "7") == f"{reason} ({ONCE[reason]})"


@pytest.mark.parametrize("reason", WAITS)
def test_a_reason_that_passes_is_reported_as_it_is(reason: str) -> None:
    assert sbatch.explain_reason(reason, "7") == reason


def test_nodes_are_asked_for_where_a_job_waits_for_them() -> None:
    lacking = [reason for reason in (*NEVER, *WAITS, *ONCE) if sbatch.lacks_nodes(reason)]
    assert [reason.split()[0].rstrip(",") for reason in lacking] == ["NodeDown", "Nodes", "ReqNodeNotAvail"]

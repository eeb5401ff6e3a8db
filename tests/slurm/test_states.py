from __future__ import annotations

import pytest

from campaign.slurm import sbatch

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
    assert sbatch.in_words(reason, "7") == (
        f"{reason} (never starts as it was submitted: 'campaign cancel', correct the campaign file, and run again)"
    )


@pytest.mark.parametrize("reason", ONCE)
def test_a_job_that_starts_once_somebody_has_acted_is_not(reason: str) -> None:
    assert sbatch.in_words(reason, "7") == f"{reason} ({ONCE[reason]})"


@pytest.mark.parametrize("reason", WAITS)
def test_a_reason_that_passes_is_told_as_it_is(reason: str) -> None:
    assert sbatch.in_words(reason, "7") == reason


def test_nodes_are_asked_for_where_a_job_waits_for_them() -> None:
    lacking = [reason for reason in (*NEVER, *WAITS, *ONCE) if sbatch.lacks_nodes(reason)]
    assert [reason.split()[0].rstrip(",") for reason in lacking] == ["NodeDown", "Nodes", "ReqNodeNotAvail"]

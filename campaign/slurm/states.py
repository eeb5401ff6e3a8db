"""What Slurm's words for a job's state, and its reasons to wait, mean to a campaign."""

from __future__ import annotations

from collections.abc import Mapping

from campaign.core.model import State

# An unknown one is held as running: neither success nor failure may be concluded from it.
STATES: Mapping[str, State] = {
    "PENDING": State.PENDING,
    "CONFIGURING": State.PENDING,
    "REQUEUED": State.PENDING,
    "REQUEUE_FED": State.PENDING,
    "REQUEUE_HOLD": State.PENDING,
    "SPECIAL_EXIT": State.PENDING,
    "RESV_DEL_HOLD": State.PENDING,
    "RUNNING": State.RUNNING,
    "COMPLETING": State.RUNNING,
    "STAGE_OUT": State.RUNNING,
    "SIGNALING": State.RUNNING,
    "RESIZING": State.RUNNING,
    "SUSPENDED": State.RUNNING,
    "STOPPED": State.RUNNING,
    "COMPLETED": State.DONE,
    "FAILED": State.FAILED,
    "OUT_OF_MEMORY": State.FAILED,
    "TIMEOUT": State.TIMEOUT,
    "DEADLINE": State.TIMEOUT,
    "CANCELLED": State.CANCELLED,
    "REVOKED": State.CANCELLED,
    "PREEMPTED": State.CANCELLED,
    "NODE_FAIL": State.NODE_FAIL,
    "BOOT_FAIL": State.NODE_FAIL,
}

# Reasons for which a pending job will never start unless somebody acts.
HOPELESS = frozenset(
    {
        "AccountNotAllowed",
        "AssocGrpCPUMinutesLimit",
        "AssocMaxCPUMinutesPerJobLimit",
        "AssocMaxCpuPerJobLimit",
        "AssocMaxJobsLimit",
        "AssocMaxNodePerJobLimit",
        "AssocMaxWallDurationPerJobLimit",
        "BadConstraints",
        "DependencyNeverSatisfied",
        "InvalidAccount",
        "InvalidQOS",
        "JobHeldAdmin",
        "JobHeldUser",
        "NodeDown",
        "PartitionDown",
        "PartitionInactive",
        "PartitionNodeLimit",
        "PartitionTimeLimit",
        "QOSMaxCpuPerJobLimit",
        "QOSMaxNodePerJobLimit",
        "QOSMaxNodePerUserLimit",
        "QOSMaxWallDurationPerJobLimit",
        "ReqNodeNotAvail",
    }
)

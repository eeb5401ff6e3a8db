"""What Slurm's words for a job's state, and its reasons to wait, mean to a campaign."""

from __future__ import annotations

from collections.abc import Mapping

from campaign.core.model import State

_WORDS: Mapping[State, str] = {
    State.PENDING: "PENDING CONFIGURING REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD",
    State.RUNNING: "RUNNING COMPLETING STAGE_OUT SIGNALING RESIZING SUSPENDED STOPPED",
    State.DONE: "COMPLETED",
    State.FAILED: "FAILED OUT_OF_MEMORY",
    State.TIMEOUT: "TIMEOUT DEADLINE",
    State.CANCELLED: "CANCELLED REVOKED PREEMPTED",
    State.NODE_FAIL: "NODE_FAIL BOOT_FAIL",
}
# An unknown one is held as running: neither success nor failure may be concluded from it.
STATES: Mapping[str, State] = {word: state for state, words in _WORDS.items() for word in words.split()}

# Reasons for which a pending job will never start unless somebody acts.
_WAITS_FOR_SOMEBODY = (
    "AccountNotAllowed BadConstraints DependencyNeverSatisfied InvalidAccount InvalidQOS JobHeldAdmin JobHeldUser",
    "AssocGrpCPUMinutesLimit AssocMaxCPUMinutesPerJobLimit AssocMaxCpuPerJobLimit AssocMaxJobsLimit",
    "AssocMaxNodePerJobLimit AssocMaxWallDurationPerJobLimit",
    "NodeDown PartitionDown PartitionInactive PartitionNodeLimit PartitionTimeLimit ReqNodeNotAvail",
    "QOSMaxCpuPerJobLimit QOSMaxNodePerJobLimit QOSMaxNodePerUserLimit QOSMaxWallDurationPerJobLimit",
)
_HOPELESS = frozenset(" ".join(_WAITS_FOR_SOMEBODY).split())


def lacks_nodes(reason: str) -> bool:
    """Whether a job waits since nodes are out of service."""
    return reason.split(",")[0] in ("NodeDown", "ReqNodeNotAvail") or "are DOWN, DRAINED" in reason


def is_hopeless(reason: str) -> bool:
    """By a word of Slurm, or a sentence: `Job's account not permitted to use this partition (…)`."""
    return reason.split(",")[0] in _HOPELESS or "not permitted to use this partition" in reason

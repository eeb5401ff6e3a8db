"""What Slurm's words for a job's state, and its reasons to wait, mean to a campaign."""

from __future__ import annotations

import re
from collections.abc import Mapping

from campaign.core.messages import Message
from campaign.core.model import State
from campaign.slurm import messages

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

# Reasons for which a pending job never starts as it was submitted (squeue's manual, 20.11 to 26.05).
_NEVER = re.compile(
    "AccountNotAllowed|BadConstraints|DeadLine|DependencyNeverSatisfied|InvalidAccount|InvalidQOS|QOSNotAllowed|"
    "PartitionConfig|PartitionTimeLimit|ReservationDeleted|MaxMemPerLimit|QOSMin.*|"
    r"(Assoc|QOS)Max.*Per(Job|Node)(Limit)?|.*not permitted to use this partition.*"
)
# Reasons for which it starts by itself once somebody has acted, and who that is.
_ONCE = {
    "JobHeldUser": messages.HELD_BY_USER,
    "JobHeldAdmin|JobHoldMaxRequeue": messages.HELD_BY_ADMINISTRATOR,
    "PartitionDown|PartitionInactive": messages.PARTITION_AWAY,
    "NodeDown|FrontEndDown|ReqNodeNotAvail|PartitionNodeLimit|Nodes required .*DOWN.*": messages.NODES_AWAY,
    "(Assoc|QOS)Grp.*Minutes(Limit)?|QOSUsageThreshold": messages.BUDGET_USED_UP,
    "Reservation": messages.RESERVATION_AWAY,
}


def lacks_nodes(reason: str) -> bool:
    """Whether a job waits since nodes are out of service."""
    return _once(reason) is messages.NODES_AWAY


def in_words(reason: str, job_id: str) -> str:
    """Why a job waits, in Slurm's words, and what has to happen if waiting alone does not help."""
    if _NEVER.fullmatch(_word(reason)):
        return messages.HOPELESS(reason=reason)
    form = _once(reason)
    return messages.BESIDES_REASON(reason=reason, remark=form(job=job_id)) if form else reason


def _once(reason: str) -> Message | None:
    return next((form for words, form in _ONCE.items() if re.fullmatch(words, _word(reason))), None)


def _word(reason: str) -> str:
    """A word of Slurm, without what it adds (`ReqNodeNotAvail, UnavailableNodes:n5`); a sentence as it is."""
    word = reason.partition(",")[0]
    return reason if " " in word else word

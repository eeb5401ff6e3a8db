"""The meaning of Slurm's reasons for waiting to a campaign."""

from __future__ import annotations

import re

# Reasons for which a pending job never starts as submitted (squeue's manual, 20.11 to 26.05).
_NEVER = re.compile(
    "AccountNotAllowed|BadConstraints|DeadLine|DependencyNeverSatisfied|InvalidAccount|InvalidQOS|QOSNotAllowed|"
    "PartitionConfig|PartitionTimeLimit|ReservationDeleted|MaxMemPerLimit|QOSMin.*|"
    r"(Assoc|QOS)Max.*Per(Job|Node)(Limit)?|.*not permitted to use this partition.*"
)
_LACKS_NODES = "NodeDown|FrontEndDown|ReqNodeNotAvail|PartitionNodeLimit|Nodes required .*DOWN.*"
# Reasons for which it starts by itself once somebody has acted, and who that is.
_ONCE = {
    "JobHeldUser": "starts by itself once it is released: scontrol release {job}",
    "JobHeldAdmin|JobHoldMaxRequeue": (
        "starts by itself once an administrator releases it: ask about job {job}, no need to cancel it"
    ),
    "PartitionDown|PartitionInactive": (
        "job {job} starts by itself once the administrators open the partition; no need to cancel it"
    ),
    _LACKS_NODES: "job {job} starts by itself once enough nodes are back; no need to cancel it",
    "(Assoc|QOS)Grp.*Minutes(Limit)?|QOSUsageThreshold": (
        "job {job} starts by itself once the account has budget again: ask the administrators, no need to cancel it"
    ),
    "Reservation": "job {job} starts by itself when its reservation begins; no need to cancel it",
}


def lacks_nodes(reason: str) -> bool:
    """Whether a job waits because nodes are out of service."""
    return re.fullmatch(_LACKS_NODES, _word(reason)) is not None


def in_words(reason: str, job_id: str) -> str:
    """Why a job waits, in Slurm's words, and what has to be done if waiting alone does not help."""
    if _NEVER.fullmatch(_word(reason)):
        return (
            f"{reason} (never starts as it was submitted: 'campaign cancel', correct the campaign file, and run again)"
        )
    remark = next((text for words, text in _ONCE.items() if re.fullmatch(words, _word(reason))), "")
    return f"{reason} ({remark.format(job=job_id)})" if remark else reason


def _word(reason: str) -> str:
    """Slurm's word without its details (`ReqNodeNotAvail, UnavailableNodes:n5`); a sentence unchanged."""
    word = reason.partition(",")[0]
    return reason if " " in word else word

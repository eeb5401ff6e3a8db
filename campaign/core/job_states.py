"""Slurm's words for the state of a job, and what each means to an attempt."""

from __future__ import annotations

from collections.abc import Mapping

from campaign.core.runs import State

_WORDS: Mapping[State, str] = {
    State.PENDING: "PENDING CONFIGURING REQUEUED REQUEUE_FED REQUEUE_HOLD SPECIAL_EXIT RESV_DEL_HOLD",
    State.RUNNING: "RUNNING COMPLETING STAGE_OUT SIGNALING RESIZING SUSPENDED STOPPED",
    State.DONE: "COMPLETED",
    State.FAILED: "FAILED OUT_OF_MEMORY",
    State.TIMEOUT: "TIMEOUT DEADLINE",
    State.CANCELLED: "CANCELLED REVOKED PREEMPTED",
    State.NODE_FAIL: "NODE_FAIL BOOT_FAIL",
}
# An unknown state counts as running: neither success nor failure may be concluded from it.
STATES: Mapping[str, State] = {word: state for state, words in _WORDS.items() for word in words.split()}
STOPPED = ("SUSPENDED", "STOPPED")  # of those that count as running: the processes stand still

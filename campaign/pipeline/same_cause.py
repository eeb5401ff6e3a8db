"""Failures that all further runs would repeat: a full file system, and one cause of the first two failed jobs."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence

from campaign.core.runs import Attempt, Run, State, directory_name

_NO_SPACE = re.compile("No space left on device|Disk quota exceeded")


def first_without_space(attempts: Iterable[Attempt]) -> Attempt | None:
    """The first attempt that found a file system full, as all later ones will."""
    return next(
        (attempt for attempt in attempts if attempt.state is State.FAILED and _NO_SPACE.search(attempt.reason)), None
    )


def same_cause(runs: Sequence[Run], attempts: Sequence[Attempt], before: Collection[str]) -> str | None:
    """The common cause of the first two failed jobs, without the attempts `before`; None if there is none.

    Jobs that Slurm refused have not failed. Runs of one job may all fail because of that job (a node, for example):
    they count as one failure, unless no other job is left to compare with.
    """
    by_id = {run.id: run for run in runs}
    new = [attempt for attempt in attempts if attempt.run in by_id and attempt.token not in before]
    ended_attempts = [attempt for attempt in new if not attempt.state.active and attempt.state is not State.REFUSED]
    ended_attempts.sort(key=lambda attempt: attempt.ended or math.inf)
    jobs = list(dict.fromkeys(attempt.job for attempt in ended_attempts))[:2]
    if len(jobs) == 1 and all(attempt.job in jobs for attempt in new if attempt.state.active):
        first = ended_attempts[:2]
    else:
        first = [next(attempt for attempt in ended_attempts if attempt.job == job) for job in jobs]
    if len(first) < 2 or first[0].run == first[1].run:
        return None
    first_ended = ended_attempts[: ended_attempts.index(first[1]) + 1]
    failed = all(attempt.state in (State.FAILED, State.TIMEOUT) for attempt in first_ended)
    causes = {_cause_without_names(attempt, by_id[attempt.run]) for attempt in first}
    return first[0].reason if failed and len(causes) == 1 else None


def _cause_without_names(attempt: Attempt, run: Run) -> tuple[State, str]:
    """How an attempt ended, and what its program printed of that, without names, numbers and paths, which differ from
    run to run.
    """
    text = re.sub(rf"\S*/{directory_name(attempt.token)}", "", attempt.reason).replace(attempt.run, "")
    return attempt.state, re.sub(r"[0-9a-f]{8,}|\d+", "#", text)

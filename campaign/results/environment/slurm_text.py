"""Parses Slurm's texts about jobs and nodes, and says what its words for the state of a job mean to an attempt."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from functools import lru_cache

from campaign.core.runs import State

MOST_NODES = 100_000

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


def slurm_fields(oneline: str) -> dict[str, str]:
    """The fields of `scontrol show job --oneliner`: a value ends where the next KEY= begins. The first one with a name
    counts, since comments come last. A job's name may contain what looks like a field, so it ends where the user's
    field begins.
    """
    name = _NAME.search(oneline)
    remaining = oneline[: name.start()] + oneline[name.end() :] if name else oneline
    marks = list(_KEY.finditer(remaining))
    ends = [*(mark.start() for mark in marks[1:]), len(remaining)]
    fields: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=False):
        fields.setdefault(mark[1], remaining[mark.end() : end].strip())
    return fields | ({"JobName": name[0].strip()} if name else {})


_NAME = re.compile(r"(?<= JobName=).*?(?= UserId=[^ ]*\(\d+\) GroupId=)", re.DOTALL)
_KEY = re.compile(r"(?:^| )([A-Z][A-Za-z0-9_/:.]*)=")


@lru_cache(maxsize=64)  # the records of a job repeat its list of nodes
def expand_nodes(text: str) -> tuple[str, ...] | None:
    """The names in Slurm's list of nodes, `n[1-3,07],x1`; None if it is not such a list or too long."""
    nodes: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text):  # at the commas outside of brackets
        pieces = _PIECES.findall(part)
        if not pieces or "".join(pieces) != part or part.count("[") > 4:
            return None
        choices = [_numbers(piece) if piece.startswith("[") else [piece] for piece in pieces]
        if not 0 < math.prod(map(len, choices)) <= MOST_NODES - len(nodes):
            return None
        nodes += map("".join, itertools.product(*choices))
    return tuple(nodes)


_PIECES = re.compile(r"[A-Za-z0-9_.-]+|\[[0-9,-]+\]")


def _numbers(brackets: str) -> list[str]:
    """`[1-3,07]` -> 1, 2, 3, 07; nothing if it is not such a list or too long."""
    numbers: list[str] = []
    for piece in brackets[1:-1].split(","):
        bounds = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", piece)
        if not bounds:
            return []
        low, high = int(bounds[1]), int(bounds[2] or bounds[1])
        if not 0 <= high - low < MOST_NODES - len(numbers):
            return []
        numbers += [f"{number:0{len(bounds[1])}d}" for number in range(low, high + 1)]
    return numbers

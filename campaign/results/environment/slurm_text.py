"""Parses Slurm's texts about jobs and nodes."""

from __future__ import annotations

import functools
import re

MOST_NODES = 100_000


def slurm_fields(oneline: str) -> dict[str, str]:
    """The fields of `scontrol show job --oneliner`: a value ends where the next KEY= begins. The first one with a name
    counts, since comments come last. A job's name may contain what looks like a field, so it ends where the user's
    field begins.
    """
    name = _NAME.search(oneline)
    rest = oneline[: name.start()] + oneline[name.end() :] if name else oneline
    marks = list(_KEY.finditer(rest))
    ends = [*(mark.start() for mark in marks[1:]), len(rest)]
    fields: dict[str, str] = {}
    for mark, end in zip(marks, ends, strict=False):
        fields.setdefault(mark[1], rest[mark.end() : end].strip())
    return fields | ({"JobName": name[0].strip()} if name else {})


_NAME = re.compile(r"(?<= JobName=).*?(?= UserId=[^ ]*\(\d+\) GroupId=)", re.DOTALL)
_KEY = re.compile(r"(?:^| )([A-Z][A-Za-z0-9_/:.]*)=")


@functools.lru_cache(maxsize=1024)
def expand_nodes(text: str) -> tuple[str, ...] | None:
    """The names in Slurm's list of nodes, `n[1-3,07],x1`; None if it is not such a list or too long."""
    nodes: list[str] = []
    for part in re.split(r",(?![^\[]*\])", text):  # at the commas outside of brackets
        names = _expand(part, MOST_NODES - len(nodes))
        if names is None:
            return None
        nodes.extend(names)
    return tuple(nodes) if nodes else None


_NODES = re.compile(r"([A-Za-z0-9_.-]*)(?:\[([0-9,-]+)\](.*))?")


def _expand(part: str, room: int) -> list[str] | None:
    match = _NODES.fullmatch(part)
    if not match or part == "" or part.count("[") > 4:
        return None
    if match[2] is None:
        return [part] if room > 0 else None
    behind = [""] if match[3] == "" else _expand(match[3], room)
    if behind is None:
        return None
    nodes: list[str] = []
    for piece in match[2].split(","):
        bounds = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", piece)
        if not bounds:
            return None
        low, high = int(bounds[1]), int(bounds[2] or bounds[1])
        if high < low or (high - low + 1) * len(behind) > room - len(nodes):
            return None
        width = len(bounds[1])
        nodes += [f"{match[1]}{number:0{width}d}{rest}" for number in range(low, high + 1) for rest in behind]
    return nodes

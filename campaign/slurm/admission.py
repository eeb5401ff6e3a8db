"""Which jobs a partition admits, and how long a QOS lets one run.

Unless the site has sbatch check this (EnforcePartLimits, DenyOnLimit), other jobs are accepted too and wait for ever.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from campaign.config.format import Slurm
from campaign.core import users
from campaign.core.errors import EnvironmentLacks
from campaign.slurm import commands, partitions
from campaign.slurm.partitions import ChosenNodes, Partition, parse_limit

UP, DOWN = "UP", "DOWN"  # in other states a partition accepts no jobs; in DOWN they wait until it is UP


@dataclass(frozen=True, slots=True)
class Admission:
    """A partition's conditions. `allowed`, `denied`: its `account`s and `qos`, if not all may use it."""

    state: str
    allowed: Mapping[str, tuple[str, ...]]
    denied: Mapping[str, tuple[str, ...]]
    most_nodes: int | None  # per job; None: unlimited
    qos: str  # the QOS whose limits apply to all of its jobs, or ""

    def admits(self, key: str, value: str) -> bool:
        names = self.allowed.get(key)
        return (names is None or value.lower() in names) and value.lower() not in self.denied.get(key, ())


@dataclass(frozen=True, slots=True)
class Shown:
    """What Slurm reports of a partition now."""

    partition: Partition
    terms: Admission


def ask(slurm: Slurm) -> Shown:
    """Ask for the partition that the campaign file names, or the default one. Raises as `partitions.read`."""
    row = partitions.row_of(slurm.partition)
    return Shown(partitions.described(row, slurm.reservation, ChosenNodes.of(slurm)), parse(row))


def parse(row: Mapping[str, str]) -> Admission:
    """`row`: scontrol's fields of the partition."""

    def names(word: str) -> dict[str, tuple[str, ...]]:
        given = {"account": row.get(f"{word}Accounts"), "qos": row.get(f"{word}Qos")}
        return {key: tuple(text.lower().split(",")) for key, text in given.items() if text not in (None, "", "ALL")}

    most, qos = row.get("MaxNodes", ""), row.get("QoS", "N/A")
    return Admission(
        row.get("State", UP), names("Allow"), names("Deny"), int(most) if most.isdigit() else None,
        "" if qos == "N/A" else qos,
    )  # fmt: skip


def known(key: str, partition: str) -> list[str]:
    """The accounts or QOS that this user may name, or the features of a partition's nodes; empty if Slurm does not list
    them, and for other settings.
    """
    user = f"user={users.name_of(os.getuid())}"
    listing = ["sacctmgr", "--noheader", "--parsable2", "show", "assoc", "where", user]
    command = {
        "account": [*listing, "format=Account"],
        "qos": [*listing, "format=QOS"],
        "constraint": ["sinfo", "--noheader", "--exact", f"--partition={partition}", "--format=%f"],
    }.get(key)
    words = [word for line in _lines(command or []) for word in line.split(",")]
    return list(dict.fromkeys(word for word in words if re.fullmatch(r"[A-Za-z0-9][\w.+-]*", word)))


def _lines(command: Sequence[str]) -> list[str]:
    """The lines that Slurm prints; none if it cannot answer."""
    try:
        reply = commands.call(command) if command else None
    except EnvironmentLacks:
        return []
    return reply.out.splitlines() if reply and reply.status == 0 else []


def time_limit(partition_qos: str, job_qos: str) -> tuple[str, int] | None:
    """The QOS that limits the time of a job, and its seconds; None if there is no limit, or the site has no accounting.
    The partition's QOS counts, unless the job's overrides it.
    """
    names = [name for name in (partition_qos, job_qos) if name]
    if not names:
        return None
    command = ["sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=Name,MaxWall,Flags"]
    return parse_time_limit(_lines([*command, "where", f"name={','.join(names)}"]), names)


def parse_time_limit(lines: Sequence[str], names: Sequence[str]) -> tuple[str, int] | None:
    """`names`: the partition's QOS and the job's, as far as they exist."""
    rows = {row[0]: row[1:] for line in lines if len(row := line.split("|")) == 3}
    if "OverPartQOS" in rows.get(names[-1], ("", ""))[1].split(","):
        names = names[::-1]
    for name in names:
        limit = parse_limit(rows.get(name, ("", ""))[0])
        if limit is not None:
            return name, limit
    return None

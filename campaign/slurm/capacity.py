"""What a job of whole nodes gets: processors and memory of each node, and how many nodes at most, each with its source.

A node has more than its jobs get: the site keeps cores and memory for the system, and a partition, a QOS or an account
limits what one job has. Slurm accepts a job above such a limit and lets it wait for ever, unless the site has sbatch
check it (EnforcePartLimits, DenyOnLimit).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from campaign.config.slurm_keys import Slurm
from campaign.core import users
from campaign.core.errors import EnvironmentLacks
from campaign.core.units import parse_duration
from campaign.results.environment.slurm_text import slurm_fields
from campaign.slurm import commands, sbatch

_THREADS = (1, 2, 4, 8)  # of a core, as far as processors have them
# Slurm's fields for limits of a QOS, each of another kind: of all its jobs together, of a job, a user, an account.
_QOS_LIMITS = ("GrpTRES", "MaxTRES", "MaxTRESPU", "MaxTRESPA")
_QOS_FIELDS = ("Name", "Flags", "MaxWall", *_QOS_LIMITS)
_ASSOCIATION_FIELDS = ("Account", "ParentName", "Partition", "DefaultQOS", "QOS", "GrpTRES", "MaxTRES")


# --- a node


@dataclass(frozen=True, slots=True)
class SystemShare:
    """What a node keeps from all jobs: CPUs, as Slurm counts them, and MiB of memory."""

    cpus: int = 0
    memory_mib: int = 0


NO_SYSTEM_SHARE = SystemShare()


def parse_system_shares(output: str) -> dict[str, SystemShare]:
    """What nodes keep, by name, of those that keep something. `output`: of `scontrol --oneliner show node`."""
    system_by_node = {}
    for line in output.splitlines():
        name = re.match(r"NodeName=(\S+) ", line)
        if name and ("CoreSpecCount=" in line or "MemSpecLimit=" in line):
            fields = slurm_fields(line)
            system_by_node[name[1]] = SystemShare(_system_cpus(fields), _number(fields, "MemSpecLimit"))
    return system_by_node


def _system_cpus(fields: Mapping[str, str]) -> int:
    """Releases before 22.05 do not print CPUEfctv."""
    total = _number(fields, "CPUTot")
    cores = _number(fields, "Sockets") * _number(fields, "CoresPerSocket")
    system_cpus = _number(fields, "CoreSpecCount") * max(1, total // max(1, cores))
    return total - _number(fields, "CPUEfctv") if "CPUEfctv" in fields else system_cpus


def _number(fields: Mapping[str, str], name: str) -> int:
    match = re.match(r"\d+", fields.get(name, ""))
    return int(match[0]) if match else 0


def requested_memory_mib(directives: Sequence[str], cpus: int) -> int | None:
    """The MiB of each node for which the campaign file's own options ask; None if jobs ask for all (`--mem=0`)."""
    for word in directives:
        if match := re.fullmatch(r"--(mem|mem-per-cpu)=(\d+)([KMGT]?)[Bb]?", word):
            size = int(match[2]) * 1024 ** "KMGT".index(match[3] or "M") // 1024
            return size * (cpus if match[1] == "mem-per-cpu" else 1) or None
    return None


def memory_limit(row: Mapping[str, str], configuration: Mapping[str, str], cpus: int) -> tuple[int, str] | None:
    """The most MiB of a node with so many CPUs that one job of a partition gets, and what limits it."""
    for fields, owner in ((row, f"partition {row['PartitionName']}"), (configuration, "slurm.conf")):
        for name, count in (("MaxMemPerNode", 1), ("MaxMemPerCPU", cpus)):
            if limit_mib := _number(fields, name):
                return limit_mib * count, f"{name}={limit_mib} of {owner}"
    return None


def memory_mib(row: Mapping[str, str]) -> int:
    """The memory of all nodes of a partition together; 0 if scontrol does not say it."""
    match = re.search(r"\bmem=([\d.]+)([KMGTP])", row.get("TRES", ""))
    return round(float(match[1]) * 1024.0 ** ("KMGTP".index(match[2]) - 1)) if match else 0


def ask_powered_down(node: str, slurm: Slurm) -> tuple[int, int] | None:
    """The CPUs that a job gets of a node that is not shown, and the threads of each of its cores, by
    `sbatch --test-only`; None if it refuses the node.
    """
    keys = {"partition": slurm.partition, "account": slurm.account, "qos": slurm.qos, "constraint": slurm.constraint}
    options = [f"--{option}={value}" for option, value in keys.items() if value]
    options += ["--nodes=1", f"--nodelist={node}", "--exclusive", "--mem=0"]
    cpus = sbatch.tested_processors(options)
    if not cpus:
        return None
    by_core = (
        threads
        for threads in _THREADS
        if cpus % threads == 0
        and sbatch.tested_processors([*options, "--threads-per-core=1", f"--ntasks-per-node={cpus // threads}"])
    )
    return cpus, next(by_core, 1)


# --- the most nodes of one job


@dataclass(frozen=True, slots=True)
class NodeLimit:
    """The most nodes that one job gets. `owner`: what has the limit, such as `account physics`; `setting`: the limit in
    Slurm's words, such as `GrpTRES=node=2`; `key`: the setting of the campaign file that chooses the owner.
    """

    nodes: int
    owner: str
    setting: str
    key: str

    def __str__(self) -> str:
        return f"{self.setting} of {self.owner}"


@dataclass(frozen=True, slots=True)
class Qos:
    """A quality of service. `limits`: by the kind of limit and the resource, as in MaxTRES=node=2."""

    name: str
    flags: tuple[str, ...]
    wall_s: int | None
    limits: Mapping[str, Mapping[str, int]]


def parse_qos(lines: Sequence[str], names: Sequence[str]) -> list[Qos]:
    """Those of these names in the order in which their limits apply. `names`: the partition's QOS and the job's, as far
    as they exist.
    """
    rows = [dict(zip(_QOS_FIELDS, line.split("|"), strict=False)) for line in lines if line.count("|") >= 6]
    by_name = {
        row["Name"]: Qos(
            row["Name"],
            tuple(row["Flags"].split(",")),
            parse_limit(row["MaxWall"]),
            {kind: _resources(row[kind]) for kind in _QOS_LIMITS},
        )
        for row in rows
    }
    in_order = [by_name[name] for name in dict.fromkeys(names) if name in by_name]
    return in_order[::-1] if in_order and "OverPartQOS" in in_order[-1].flags else in_order


def parse_limit(text: str) -> int | None:
    """Slurm's D-HH:MM:SS or UNLIMITED, in seconds."""
    return None if text in ("UNLIMITED", "NONE", "") else parse_duration(text)


def _resources(text: str) -> dict[str, int]:
    """`cpu=6,mem=4G,gres/gpu=8,node=2`, memory in MiB; without what is no number."""
    counts = re.findall(r"([a-z]+(?:/[\w:]+)?)=(\d+(?:\.\d+)?)([KMGTP]?)(?:,|$)", text)
    units = {name: 1024.0 ** ("KMGTP".index(unit or "M") - 1) if name == "mem" else 1 for name, _, unit in counts}
    return {name: int(float(count) * units[name]) for name, count, _ in counts}


def ask_qos(partition_qos: str, job_qos: str) -> list[Qos]:
    """The QOS whose limits apply to a job, the first one first; empty if the site has no accounting."""
    names = [name for name in (partition_qos, job_qos) if name]
    command = ["show", "qos", f"format={','.join(_QOS_FIELDS)}", "where", f"name={','.join(names)}"]
    return parse_qos(sacctmgr(*command), names) if names else []


def time_limit(qos: Sequence[Qos]) -> tuple[str, int] | None:
    """The QOS that limits the time of a job, and its seconds."""
    return next(((entry.name, entry.wall_s) for entry in qos if entry.wall_s is not None), None)


@dataclass(frozen=True, slots=True)
class Association:
    """A user's membership of an account, with the accounts above it, the nearest first. `qos`: the one of its jobs, ""
    if it is not certain. `group_limits`: by account, of all its jobs together; `job_limits`: of one job.
    """

    account: str
    qos: str
    group_limits: tuple[tuple[str, Mapping[str, int]], ...]
    job_limits: Mapping[str, int]


def ask_association(slurm: Slurm, partition: str, cluster: str) -> Association | None:
    """The association of this user's jobs; None if Slurm does not list it."""
    name = users.user_name(os.getuid())
    account = slurm.account or next(
        iter(sacctmgr("show", "user", "format=DefaultAccount", "where", f"name={name}")), ""
    )
    listed = ("show", "assoc", f"format={','.join(_ASSOCIATION_FIELDS)}", "where", f"cluster={cluster}")
    return parse_association(account, partition, sacctmgr(*listed, f"user={name}"), sacctmgr(*listed, "user="))


def parse_association(
    account: str, partition: str, own_lines: Sequence[str], account_lines: Sequence[str]
) -> Association | None:
    """`own_lines`: the user's rows; `account_lines`: those of accounts."""
    own_rows, account_rows = map(_association_rows, (own_lines, account_lines))
    matching = [row for row in own_rows if row["Account"] == account and row["Partition"] in ("", partition)]
    if not matching:
        return None
    user_row = max(matching, key=lambda row: bool(row["Partition"]))
    groups = [(f"user in account {account}", _resources(user_row["GrpTRES"]))]
    by_name = {row["Account"]: row for row in account_rows}
    while account in by_name:
        row = by_name.pop(account)
        groups.append((f"account {account}", _resources(row["GrpTRES"])))
        account = row["ParentName"]
    names = user_row["QOS"].split(",")
    default = user_row["DefaultQOS"] or (names[0] if len(names) == 1 else "")
    return Association(user_row["Account"], default, tuple(groups), _resources(user_row["MaxTRES"]))


def _association_rows(lines: Sequence[str]) -> list[dict[str, str]]:
    return [dict(zip(_ASSOCIATION_FIELDS, line.split("|"), strict=True)) for line in lines if line.count("|") == 6]


def node_limits(
    row: Mapping[str, str], qos: Sequence[Qos], association: Association | None, of_node: Mapping[str, int]
) -> tuple[NodeLimit, ...]:
    """What limits the nodes of one job, the tightest first. `row`: scontrol's fields of the partition; `of_node`: how
    much of each resource a job gets of each node, all of which count.
    """
    limits = [*_qos_limits(qos, of_node), *(_association_limits(association, qos, of_node) if association else ())]
    most_nodes = row.get("MaxNodes", "")
    if most_nodes.isdigit() and not any("PartitionMaxNodes" in entry.flags for entry in qos):
        limits.append(
            NodeLimit(int(most_nodes), f"partition {row['PartitionName']}", f"MaxNodes={most_nodes}", "partition")
        )
    return tuple(sorted(limits, key=lambda limit: limit.nodes))


def _qos_limits(qos: Sequence[Qos], of_node: Mapping[str, int]) -> Iterator[NodeLimit]:
    for kind in _QOS_LIMITS:
        for resource in of_node:
            entry = next((entry for entry in qos if resource in entry.limits[kind]), None)
            if entry:
                yield _node_limit(kind, resource, entry.limits[kind][resource], f"QOS {entry.name}", "qos", of_node)


def _association_limits(
    association: Association, qos: Sequence[Qos], of_node: Mapping[str, int]
) -> Iterator[NodeLimit]:
    """Those that no QOS replaces."""
    groups = [("GrpTRES", owner, limits) for owner, limits in association.group_limits]
    for kind, owner, limits in [*groups, ("MaxTRES", f"user in account {association.account}", association.job_limits)]:
        for resource in of_node:
            if resource in limits and not any(resource in entry.limits[kind] for entry in qos):
                yield _node_limit(kind, resource, limits[resource], owner, "account", of_node)


def _node_limit(kind: str, resource: str, count: int, owner: str, key: str, of_node: Mapping[str, int]) -> NodeLimit:
    unit = "M" if resource == "mem" else ""
    return NodeLimit(count // max(1, of_node[resource]), owner, f"{kind}={resource}={count}{unit}", key)


def resources_of_node(slurm: Slurm, cpus: int, memory_mib: int) -> dict[str, int]:
    """What a job gets of each node, by the names that Slurm's limits have: all CPUs and the memory and the generic
    resources for which jobs ask.
    """
    directives = dict(word.removeprefix("--").split("=", 1) for word in slurm.directives if "=" in word)
    requested = [*slurm.gres, *filter(None, directives.get("gres", "").split(","))]
    counts: dict[str, int] = {}
    for name, *words in (kind.removeprefix("gres:").removeprefix("gres/").split(":") for kind in requested):
        count = int(words.pop()) if words and words[-1].isdigit() else 1
        counts |= {":".join(["gres/" + name, *words]): count, f"gres/{name}": count}
    return {"node": 1, "cpu": cpus, "mem": memory_mib, **counts}


def sacctmgr(*words: str) -> list[str]:
    """The lines that sacctmgr prints; none if it cannot answer."""
    return lines_of(["sacctmgr", "--noheader", "--parsable2", *words])


def lines_of(command: Sequence[str]) -> list[str]:
    """The lines that one of Slurm's commands prints; none if it cannot answer."""
    try:
        reply = commands.call(command)
    except EnvironmentLacks:
        return []
    return reply.out.splitlines() if reply.status == 0 else []

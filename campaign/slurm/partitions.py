"""A partition as Slurm describes it: its nodes, those that jobs can get, its time limit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from campaign.core.errors import EnvironmentLacks, InputError, UnknownState
from campaign.core.frozen import dataclass
from campaign.core.schema import suggestion
from campaign.core.units import listed, parse_duration, several, utc
from campaign.results.environment.slurm_text import expand_nodes
from campaign.slurm import commands, messages

# Names, CPUs, sockets, cores of each, state, who set it when, and why: a line for all nodes of which the rest is the
# same. With --Node there is one for each node, for which sinfo took 10 s where there were 10,000.
_NODE_FORMAT = "%N|%c|%X|%Y|%T|%u|%H|%E"
_USABLE = ("idle", "allocated", "mixed", "completing", "planned")
_RESERVED = ("reserved", "maint")
NODES_TOLD = 3
OUTSIDE = "outside of the reservation"


class NotInSlurm(InputError):
    """The campaign file's slurm.partition or slurm.reservation is none of Slurm's."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(f"slurm.{key}: {text}")
        self.key, self.text = key, text


@dataclass(frozen=True, slots=True)
class Unusable:
    """A node that no job of ours can get. `why`: down, drained, reserved, outside of the reservation, or the state."""

    node: str
    why: str
    state: str  # as Slurm prints it
    reason: str = ""  # that an administrator, or Slurm itself, gave
    by: str = ""
    since: int | None = None

    def __str__(self) -> str:
        words = [self.reason, f"set by {self.by}" if self.by else "", f"at {utc(self.since)}" if self.since else ""]
        told = " ".join(filter(None, words))
        return f"{self.node} ({self.state}{f': {told}' if told else ''})"

    @property
    def by_script(self) -> bool:
        """Whether the site's own program before, or after, a job failed there."""
        return re.search(r"(?i)\b(prolog|epilog)\b", self.reason) is not None


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition by Slurm's own account; `usable` nodes are neither down, drained nor reserved for others."""

    name: str
    nodes: int
    usable: int
    cores_per_node: int  # of the smallest usable node
    time_limit_s: int | None  # None: unlimited
    unusable: tuple[Unusable, ...]
    default: bool = False  # where jobs go that name none
    memory_mib: int = 0  # of the node that has least; 0 where it was not asked

    @property
    def account(self) -> str:
        """`partition big: 9 nodes, 7 usable with 64 cores each; 1 down: n5 (down*: dead); 1 drained: n6 (drained)`."""
        if not self.nodes:
            return f"partition {self.name} has no nodes"
        usable = f"{'all' if self.usable == self.nodes else self.usable} usable with {self.cores_per_node} cores each"
        parts = [f"partition {self.name}: {several(self.nodes, 'node')}, {usable if self.usable else 'none usable'}"]
        for why in dict.fromkeys(node.why for node in self.unusable):
            nodes = [str(node) for node in self.unusable if node.why == why]
            parts.append(f"{len(nodes)} {why}: {listed(nodes)}")
        return "; ".join(parts)


def read(name: str, reservation: str = "") -> Partition:
    """A partition's nodes, cores and limit; the default partition for an empty name. With a reservation, its nodes are
    those that count. Raises NotInSlurm where that name does not exist.
    """
    return described(row_of(name), reservation)


def row_of(name: str) -> dict[str, str]:
    """What scontrol says of a partition; of the default one for an empty name."""
    shown = commands.answer(["scontrol", "show", "partition", "--oneliner", *([name] if name else [])], "not found")
    if shown is None:
        known = [row["PartitionName"] for row in rows(commands.ask(["scontrol", "show", "partition", "--oneliner"]))]
        raise NotInSlurm("partition", messages.PARTITION_UNKNOWN(name=name, others=suggestion(name, known)))
    found = rows(shown)
    if not name:
        names = ", ".join(row["PartitionName"] for row in found)
        found = [row for row in found if row.get("Default") == "YES"]
        if not found:
            raise EnvironmentLacks(messages.NO_DEFAULT_PARTITION(names=names or "none"))
    if not found:
        raise UnknownState(messages.ANSWER_UNKNOWN(command="scontrol", answer=shown.strip()))
    return found[0]


def described(row: Mapping[str, str], reservation: str = "") -> Partition:
    """The partition of such a row, with its nodes."""
    reserved = _reserved(reservation) if reservation else None
    return parse(row, _nodes(row["PartitionName"]), reserved)


def _nodes(partition: str, *options: str) -> str:
    chosen = [f"--partition={partition}"] if partition else []
    return commands.ask(["sinfo", "--noheader", *chosen, *options, f"--format={_NODE_FORMAT}"])


def out_of_service(partition: str) -> tuple[Unusable, ...]:
    """Its nodes that are down or drained; those of all partitions for an empty name."""
    found = parse({"PartitionName": partition}, _nodes(partition, "--states=down,drain,fail"))
    return tuple(dict.fromkeys(found.unusable))


def told(nodes: Sequence[Unusable]) -> str:
    """The first few, and what to do."""
    names = listed(map(str, nodes), NODES_TOLD)
    if failed := [node.node for node in nodes if node.by_script]:
        return messages.SCRIPT_FAILED(nodes=names, failed=", ".join(failed[:NODES_TOLD]))
    return messages.OUT_OF_SERVICE(nodes=names)


def with_memory(partition: Partition) -> Partition:
    """The partition with the memory of a node, as Slurm is told it (RealMemory)."""
    command = ["sinfo", "--noheader", f"--partition={partition.name}", "--format=%m"]
    sizes = [int(word.rstrip("+")) for word in commands.ask(command).split() if word.rstrip("+").isdigit()]
    return replace(partition, memory_mib=min(sizes, default=0))


def at_hand() -> Partition | None:
    """The default partition; None where Slurm does not answer, or has none."""
    try:
        return read("") if commands.reachable() is None else None
    except EnvironmentLacks:
        return None


def architecture(partition: str) -> str:
    """The architecture of a partition's first node, as `uname -m` prints it; "" if Slurm does not report it."""
    names = commands.ask(["sinfo", "--noheader", f"--partition={partition}", "--format=%N"]).split()
    first = (expand_nodes(names[0]) or ())[:1] if names else ()
    shown = commands.ask(["scontrol", "show", "node", "--oneliner", *first]) if first else ""
    match = re.search(r"\bArch=(\S+)", shown)
    return match[1] if match else ""


def rows(shown: str) -> list[dict[str, str]]:
    """The fields of each partition in what scontrol prints."""
    return [dict(re.findall(r"(\w+)=(\S*)", line)) for line in shown.splitlines() if "PartitionName=" in line]


def _reserved(reservation: str) -> frozenset[str]:
    """The nodes of a reservation."""
    shown = commands.answer(["scontrol", "show", "reservation", "--oneliner", reservation], "not found")
    if shown is None:
        raise NotInSlurm("reservation", messages.RESERVATION_UNKNOWN(name=reservation))
    nodes = re.search(r"\bNodes=(\S+)", shown)
    if not nodes or nodes[1] == "(null)":
        return frozenset()
    return frozenset(commands.ask(["scontrol", "show", "hostnames", nodes[1]]).split())


def parse(row: Mapping[str, str], sinfo: str, reserved: frozenset[str] | None = None) -> Partition:
    """`reserved`: the nodes of the reservation that jobs run in, if there is one."""
    usable: list[int] = []
    unusable: list[Unusable] = []
    for names, cpus, sockets, cores, state, by, since, reason in commands.rows("sinfo", sinfo, 8, counts=(1, 2, 3)):
        nodes = expand_nodes(names)
        if nodes is None:
            raise UnknownState(messages.ANSWER_UNKNOWN(command="sinfo", answer=names))
        given = (reason, by, int(since) if since.isdigit() else None) if reason not in ("", "none") else ()
        for node in nodes:
            if why := _why_unusable(node, state, reserved):
                unusable.append(Unusable(node, why, state, *given))
            else:
                # A CPU may be a hardware thread, of which a core has several.
                usable.append(min(int(cpus), int(sockets) * int(cores)))
    return Partition(
        name=row["PartitionName"],
        nodes=len(usable) + len(unusable),
        usable=len(usable),
        cores_per_node=min(usable, default=0),
        time_limit_s=parse_limit(row.get("MaxTime", "UNLIMITED")),
        unusable=tuple(unusable),
        default=row.get("Default") == "YES",
    )


def _why_unusable(node: str, state: str, reserved: frozenset[str] | None) -> str:
    """ "" where jobs can have it."""
    # A suffix marks a node that does not respond (*), is powered down (~, #, !, %) or reserved for maintenance ($).
    bare = state.rstrip("*~#!%$@^-+")
    marks = state[len(bare) :]
    if reserved is not None and node not in reserved:
        return OUTSIDE
    if "*" in marks or bare.startswith(("down", "fail")):
        return "down"
    if bare.startswith("drain"):
        return "drained"
    if bare in _RESERVED or "$" in marks:
        return "" if reserved is not None else "reserved"
    return "" if bare in _USABLE else bare


def parse_limit(text: str) -> int | None:
    """Slurm's D-HH:MM:SS or UNLIMITED, in seconds."""
    return None if text in ("UNLIMITED", "NONE", "") else parse_duration(text)

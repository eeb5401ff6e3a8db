"""A partition as Slurm describes it: its nodes, those that jobs can use, its time limit, and which jobs it admits.

Unless the site has sbatch check this (EnforcePartLimits, DenyOnLimit), other jobs are accepted too and wait for ever.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from campaign.config.slurm_keys import Slurm
from campaign.core import users
from campaign.core.errors import EnvironmentLacks, InputError, UnknownState
from campaign.core.schema import suggestion
from campaign.core.units import format_size, listing, parse_duration, plural, utc
from campaign.results.environment.slurm_text import expand_nodes
from campaign.slurm import commands

# Names, CPUs, sockets, cores of each, MiB, features, GRES, state, who set it when, and why: a row for all nodes of
# which the rest is the same (without --exact sinfo merges unlike ones and prints "4+"). With --Node there is one for
# each node, for which sinfo took 10 s where there were 10,000.
_NODE_FIELDS = "NcXYmfGTuHE"
_USABLE = ("idle", "allocated", "mixed", "completing", "planned")
_RESERVED = ("reserved", "maint")
NODES_TOLD = 3
OUTSIDE = "outside of the reservation"
UP, DOWN = "UP", "DOWN"  # in other states a partition accepts no jobs; in DOWN they wait until it is UP
# All of some features, or any of them. Parentheses, counts and [a|b] are left to sbatch.
_FEATURE = r"[\w.:/=+-]+"
_ALL, _ANY = re.compile(rf"{_FEATURE}([&,]{_FEATURE})*"), re.compile(rf"{_FEATURE}(\|{_FEATURE})*")


class NotInSlurm(InputError):
    """The campaign file's slurm.partition, .reservation or .constraint does not exist in Slurm."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(f"slurm.{key}: {text}")
        self.key, self.text = key, text


@dataclass(frozen=True, slots=True)
class ChosenNodes:
    """The nodes that the campaign file selects: by features (`slurm.constraint`), or by name (`--nodelist` and
    `--exclude` under `slurm.directives`). `named`, `excluded`: lists of nodes as Slurm writes them.
    """

    constraint: str = ""
    named: str = ""
    excluded: str = ""

    def takes(self, node: str, features: Collection[str]) -> bool:
        """Whether a node may be used. What cannot be evaluated excludes no node."""
        wanted_features = set(re.split(r"[&,|]", self.constraint))
        if _ALL.fullmatch(self.constraint) and not wanted_features <= set(features):
            return False
        if _ANY.fullmatch(self.constraint) and wanted_features.isdisjoint(features):
            return False
        named_nodes, excluded_nodes = expand_nodes(self.named), expand_nodes(self.excluded)
        return (named_nodes is None or node in named_nodes) and (excluded_nodes is None or node not in excluded_nodes)

    def __str__(self) -> str:
        """`with constraint milan, on n[1-4]`; "" if all nodes are selected."""
        lists = {"on": self.named, "without": self.excluded}
        parts = [f"with constraint {self.constraint}"] * bool(self.constraint)
        return ", ".join([*parts, *(f"{word} {nodes}" for word, nodes in lists.items() if nodes)])

    @property
    def unclear(self) -> str:
        """What could not be evaluated, and what was assumed; "" if all was."""
        constraint = self.constraint
        understood = not constraint or _ALL.fullmatch(constraint) or _ANY.fullmatch(constraint)
        texts = [] if understood else [constraint]
        texts += [text for text in (self.named, self.excluded) if text and expand_nodes(text) is None]
        return f"{', '.join(texts)} cannot be evaluated here: counted as if it excluded no node" if texts else ""

    @staticmethod
    def from_settings(slurm: Slurm) -> ChosenNodes:
        directive_values = dict(word.removeprefix("--").split("=", 1) for word in slurm.directives if "=" in word)
        return ChosenNodes(slurm.constraint, directive_values.get("nodelist", ""), directive_values.get("exclude", ""))


@dataclass(frozen=True, slots=True)
class Unusable:
    """A node that no job of ours can use. `why`: down, drained, reserved, outside of the reservation, or the state."""

    node: str
    why: str
    state: str  # as Slurm prints it
    reason: str = ""  # given by an administrator, or by Slurm itself
    by: str = ""
    since: int | None = None

    def __str__(self) -> str:
        words = [self.reason, f"set by {self.by}" if self.by else "", f"at {utc(self.since)}" if self.since else ""]
        text = " ".join(filter(None, words))
        return f"{self.node} ({self.state}{f': {text}' if text else ''})"

    @property
    def by_script(self) -> bool:
        """Whether the site's Prolog or Epilog failed there."""
        return re.search(r"(?i)\b(prolog|epilog)\b", self.reason) is not None


@dataclass(frozen=True, slots=True)
class NodeKind:
    """Usable nodes that are alike. `features`: those that all of them have."""

    nodes: int
    cores: int
    memory_mib: int
    gres: str
    features: tuple[str, ...]

    def __str__(self) -> str:
        """`4 with 64 cores, 251.4GiB, gpu:2 (cpu, milan)`"""
        resources = [plural(self.cores, "core"), format_size(self.memory_mib << 20), self.gres]
        features = f" ({', '.join(self.features)})" if self.features else ""
        return f"{self.nodes} with {', '.join(filter(None, resources))}{features}"


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition by Slurm's own account, restricted to the nodes that the campaign file selects; `usable` nodes are
    neither down, drained nor reserved for others.
    """

    name: str
    nodes: int
    usable: int
    cores_per_node: int  # of the smallest usable node
    time_limit_s: int | None  # None: unlimited
    unusable: tuple[Unusable, ...]
    default: bool = False  # where jobs without a partition go
    memory_mib: int = 0  # smallest RealMemory of its usable nodes
    kinds: tuple[NodeKind, ...] = ()  # of its usable nodes, fewest cores first
    choice: str = ""  # the selection of its nodes
    unclear: str = ""  # the part of the selection that could not be evaluated
    names: tuple[str, ...] = ()  # of its usable nodes

    @property
    def most_cores(self) -> int:
        """The cores of the nodes that a job with so many processes per node gets."""
        return max((kind.cores for kind in self.kinds), default=self.cores_per_node)

    @property
    def account(self) -> str:
        """`partition big: 9 nodes, 7 usable with 64 cores each; 1 down: n5 (down*: dead); 1 drained: n6 (drained)`."""
        name = " ".join(filter(None, (self.name, self.choice)))
        if not self.nodes:
            return f"partition {name} has no nodes"
        usable = f"{'all' if self.usable == self.nodes else self.usable} usable"
        nodes_text = (
            f"{usable} with {self.cores_per_node} cores each" if len(self.kinds) < 2 else f"{usable}, not alike"
        )
        parts = [f"partition {name}: {plural(self.nodes, 'node')}, {nodes_text if self.usable else 'none usable'}"]
        if len(self.kinds) > 1:
            parts += [
                listing(map(str, self.kinds)),
                f"the smallest counts: {self.cores_per_node} cores per node; slurm.constraint chooses one kind",
            ]
        for reason in dict.fromkeys(node.why for node in self.unusable):
            nodes = [str(node) for node in self.unusable if node.why == reason]
            parts.append(f"{len(nodes)} {reason}: {listing(nodes)}")
        return "; ".join(filter(None, (*parts, self.unclear)))


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
    """Ask for the partition that the campaign file names, or the default one. With a reservation, its nodes count.
    Raises NotInSlurm if the name does not exist, or if no node has the selected features.
    """
    row = _row_of(slurm.partition)
    reserved = _reserved(slurm.reservation) if slurm.reservation else None
    partition = parse(row, _nodes(row["PartitionName"]), reserved, ChosenNodes.from_settings(slurm))
    return Shown(partition, terms_of(row))


def _row_of(name: str) -> dict[str, str]:
    """scontrol's fields of a partition; of the default one for an empty name."""
    output = commands.answer(["scontrol", "--oneliner", "show", "partition", *([name] if name else [])], "not found")
    if output is None:
        partition_names = [
            row["PartitionName"]
            for row in partition_fields(commands.ask(["scontrol", "--oneliner", "show", "partition"]))
        ]
        raise NotInSlurm("partition", f"found {name}; Slurm has no such partition; {suggestion(name, partition_names)}")
    partitions = partition_fields(output)
    if not name:
        names = ", ".join(row["PartitionName"] for row in partitions)
        partitions = [row for row in partitions if row.get("Default") == "YES"]
        if not partitions:
            raise EnvironmentLacks(f"Slurm has no default partition; set slurm.partition to one of: {names or 'none'}")
    if not partitions:
        raise UnknownState(f"unexpected output of scontrol: {output.strip()!r}")
    return partitions[0]


def _nodes(partition: str, *options: str) -> str:
    partition_option = [f"--partition={partition}"] if partition else []
    return commands.ask(
        ["sinfo", "--noheader", "--exact", *partition_option, *options, commands.squeue_format(_NODE_FIELDS)]
    )


def out_of_service(partition: str) -> tuple[Unusable, ...]:
    """Its nodes that are down or drained; those of all partitions for an empty name."""
    partition_state = parse({"PartitionName": partition}, _nodes(partition, "--states=down,drain,fail"))
    return tuple(dict.fromkeys(partition_state.unusable))


def out_of_service_text(nodes: Sequence[Unusable]) -> str:
    """The first few, and what to do."""
    names = listing(map(str, nodes), NODES_TOLD)
    if failed := [node.node for node in nodes if node.by_script]:
        return (
            f"not in service: {names}; the site's Prolog or Epilog failed on {', '.join(failed[:NODES_TOLD])}: ask the "
            "administrators to look into slurmd's log there and to resume it"
        )
    return f"not in service: {names}; ask the administrators"


def at_hand() -> Partition | None:
    """The default partition; None if Slurm does not answer, or has none."""
    try:
        return ask(Slurm()).partition if commands.reachable() is None else None
    except EnvironmentLacks:
        return None


def architecture(partition: str) -> str:
    """The architecture of a partition's first node, as `uname -m` prints it; "" if Slurm does not report it."""
    names = commands.ask(["sinfo", "--noheader", f"--partition={partition}", "--format=%N"]).split()
    first = (expand_nodes(names[0]) or ())[:1] if names else ()
    output = commands.ask(["scontrol", "--oneliner", "show", "node", *first]) if first else ""
    match = re.search(r"\bArch=(\S+)", output)
    return match[1] if match else ""


def partition_fields(output: str) -> list[dict[str, str]]:
    """The fields of each partition in scontrol's output."""
    return [dict(re.findall(r"(\w+)=(\S*)", line)) for line in output.splitlines() if "PartitionName=" in line]


def _reserved(reservation: str) -> frozenset[str]:
    """The nodes of a reservation."""
    output = commands.answer(["scontrol", "--oneliner", "show", "reservation", reservation], "not found")
    if output is None:
        raise NotInSlurm(
            "reservation", f"found {reservation}; Slurm has no such reservation; remove the key or correct it"
        )
    nodes = re.search(r"\bNodes=(\S+)", output)
    if not nodes or nodes[1] == "(null)":
        return frozenset()
    return frozenset(commands.ask(["scontrol", "show", "hostnames", nodes[1]]).split())


def parse(
    row: Mapping[str, str], sinfo: str, reserved: frozenset[str] | None = None, choice: ChosenNodes | None = None
) -> Partition:
    """`reserved`: the nodes of the reservation that jobs run in, if there is one."""
    choice = choice or ChosenNodes()
    # Usable nodes by what makes a difference.
    groups_by_kind: dict[tuple[int, int, str], list[tuple[int, set[str]]]] = {}  # with their features
    unusable: list[Unusable] = []
    names_usable: list[str] = []
    known_features: set[str] = set()  # features
    met = False  # whether a node has the selected features
    unread = []
    for names, *numbers, features, gres, state, by, since_s, reason in commands.rows("sinfo", sinfo, 11, (1, 2, 3, 4)):
        node_features = set(features.split(",")) - {"", "(null)"}
        details = (reason, by, int(since_s) if since_s.isdigit() else None) if reason not in ("", "none") else ()
        nodes = expand_nodes(names)
        selected = [node for node in nodes or () if choice.takes(node, node_features)]
        unusable_here = [
            Unusable(node, reason_unusable, state, *details)
            for node in selected
            if (reason_unusable := _why_unusable(node, state, reserved))
        ]
        if nodes is None:
            unread.append(names)
        elif usable := len(selected) - len(unusable_here):
            cpus, sockets, cores, memory = map(int, numbers)
            # A CPU may be a hardware thread, of which a core has several.
            kind = min(cpus, sockets * cores), memory, gres.replace("(null)", "")
            groups_by_kind.setdefault(kind, []).append((usable, node_features))
        unusable += unusable_here
        names_away = {node_away.node for node_away in unusable_here}
        names_usable += [node for node in selected if node not in names_away]
        known_features |= node_features
        met |= ChosenNodes(choice.constraint).takes("", node_features)
    commands.tell("sinfo", unread, len(groups_by_kind) + len(unusable))
    kinds = tuple(
        NodeKind(
            sum(count for count, _ in groups),
            *kind,
            tuple(sorted(set.intersection(*(node_features for _, node_features in groups)))),
        )
        for kind, groups in sorted(groups_by_kind.items())
    )
    if sinfo.strip() and not met:
        alternatives = (
            suggestion(choice.constraint, sorted(known_features)) if known_features else "remove the key or correct it"
        )
        raise NotInSlurm(
            "constraint",
            f"found {choice.constraint}; no node of partition {row['PartitionName']} has it; {alternatives}",
        )
    return Partition(
        name=row["PartitionName"],
        nodes=sum(kind.nodes for kind in kinds) + len(unusable),
        usable=sum(kind.nodes for kind in kinds),
        cores_per_node=min((kind.cores for kind in kinds), default=0),
        time_limit_s=parse_limit(row.get("MaxTime", "UNLIMITED")),
        unusable=tuple(unusable),
        default=row.get("Default") == "YES",
        memory_mib=min((kind.memory_mib for kind in kinds), default=0),
        kinds=kinds,
        choice=str(choice),
        unclear=choice.unclear,
        names=tuple(names_usable),
    )


def _why_unusable(node: str, state: str, reserved: frozenset[str] | None) -> str:
    """ "" if jobs can use it."""
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


# --- what it admits


def terms_of(row: Mapping[str, str]) -> Admission:
    """`row`: scontrol's fields of the partition."""

    def names(word: str) -> dict[str, tuple[str, ...]]:
        values = {"account": row.get(f"{word}Accounts"), "qos": row.get(f"{word}Qos")}
        return {key: tuple(text.lower().split(",")) for key, text in values.items() if text not in (None, "", "ALL")}

    max_nodes, qos = row.get("MaxNodes", ""), row.get("QoS", "N/A")
    return Admission(
        row.get("State", UP), names("Allow"), names("Deny"), int(max_nodes) if max_nodes.isdigit() else None,
        "" if qos == "N/A" else qos,
    )  # fmt: skip


def known_names(key: str, partition: str) -> list[str]:
    """The accounts or QOS that this user may name, or the features of a partition's nodes; empty if Slurm does not list
    them, and for other settings.
    """
    user = f"user={users.user_name(os.getuid())}"
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

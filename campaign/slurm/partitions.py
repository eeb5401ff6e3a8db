"""A partition as Slurm describes it: its nodes, those that jobs can use, its time limit, and which jobs it admits."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from campaign.config.slurm_keys import Slurm
from campaign.core import users
from campaign.core.errors import EnvironmentLacks, InputError, UnknownState
from campaign.core.schema import suggestion
from campaign.core.units import format_size, listing, plural, utc
from campaign.results.environment.slurm_text import expand_nodes
from campaign.slurm import capacity, commands
from campaign.slurm.capacity import NO_SYSTEM_SHARE, NodeLimit, SystemShare

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
    """Usable nodes that are alike, with what a job gets of each. `features`: those that all of them have. `threads`: of
    each core, as far as Slurm counts them. `system`: what the site keeps for the system.
    """

    nodes: int
    cores: int
    memory_mib: int
    gres: str
    features: tuple[str, ...]
    threads: int = 1
    system: SystemShare = NO_SYSTEM_SHARE

    @property
    def system_cores(self) -> int:
        return -(-self.system.cpus // self.threads)

    @property
    def system_text(self) -> str:
        """`1 core (CoreSpecCount), 300MiB (MemSpecLimit)`; "" if jobs get everything."""
        cores = f"{plural(self.system_cores, 'core')} (CoreSpecCount)" if self.system_cores else ""
        memory = f"{format_size(self.system.memory_mib << 20)} (MemSpecLimit)" if self.system.memory_mib else ""
        return ", ".join(filter(None, (cores, memory)))

    def processors(self, per_core: int | None) -> int:
        """The most processes on a node with so many on each core, by default one."""
        return self.cores * min(per_core or 1, self.threads)

    def __str__(self) -> str:
        """`4 with 64 cores, 251.4GiB, gpu:2 (cpu, milan)`"""
        resources = [plural(self.cores, "core"), format_size(self.memory_mib << 20), self.gres]
        features = f" ({', '.join(self.features)})" if self.features else ""
        system_text = f", without {self.system_text}" if self.system_text else ""
        return f"{self.nodes} with {', '.join(filter(None, resources))}{features}{system_text}"


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition by Slurm's own account, restricted to the nodes that the campaign file selects; `usable` nodes are
    neither down, drained nor reserved for others. Cores and memory are what a job of whole nodes gets.
    """

    name: str
    nodes: int
    usable: int
    cores_per_node: int  # of the smallest usable node
    time_limit_s: int | None  # None: unlimited
    unusable: tuple[Unusable, ...]
    default: bool = False  # where jobs without a partition go
    memory_mib: int = 0  # of the usable node that gives jobs the least
    kinds: tuple[NodeKind, ...] = ()  # of its usable nodes, fewest cores first
    choice: str = ""  # the selection of its nodes
    unclear: str = ""  # the part of the selection that could not be evaluated
    names: tuple[str, ...] = ()  # of its usable nodes
    limits: tuple[NodeLimit, ...] = ()  # on the nodes of one job, the tightest first
    powered_down: int = 0  # of its usable nodes, those of a cloud that Slurm starts for a job
    alternatives: tuple[Partition, ...] = ()  # of a list of partitions, one of which a job gets: each of them

    def of_job(self, name: str) -> Partition:
        """The one in which a job ran: of a list, the alternative with this name, if it is known."""
        return next((partition for partition in self.alternatives if partition.name == name), self)

    @property
    def job_nodes(self) -> int:
        """The most nodes that one job gets."""
        return min([self.usable, *(limit.nodes for limit in self.limits)])

    def processors(self, slurm: Slurm) -> int:
        """How many processes each of its nodes takes."""
        return min((kind.processors(slurm.processes_per_core) for kind in self.kinds), default=self.cores_per_node)

    def most_processors(self, slurm: Slurm) -> int:
        """How many processes the nodes take that a job with so many per node gets."""
        if self.alternatives:
            return min(partition.most_processors(slurm) for partition in self.alternatives)
        return max((kind.processors(slurm.processes_per_core) for kind in self.kinds), default=self.cores_per_node)

    def fill_in(self, slurm: Slurm) -> Slurm:
        """The settings with the memory, unless the campaign file gives it, and the cores of its nodes."""
        memory = slurm.node_memory or (self.memory_mib << 20) or None
        return replace(slurm, node_memory=memory, node_cores=self.processors(slurm))

    @property
    def account(self) -> str:
        """`partition big: 9 nodes, 7 usable with 64 cores each; 1 down: n5 (down*: dead); 1 drained: n6 (drained)`."""
        if self.alternatives:
            smallest = f"jobs get one of the partitions {self.name}: the smallest numbers count"
            return "; ".join([smallest, *(partition.account for partition in self.alternatives)])
        name = " ".join(filter(None, (self.name, self.choice)))
        if not self.nodes:
            return f"partition {name} has no nodes"
        usable = f"{'all' if self.usable == self.nodes else self.usable} usable"
        nodes_text = (
            f"{usable} with {self.cores_per_node} cores each" if len(self.kinds) < 2 else f"{usable}, not identical"
        )
        parts = [f"partition {name}: {plural(self.nodes, 'node')}, {nodes_text if self.usable else 'none usable'}"]
        if len(self.kinds) == 1 and self.kinds[0].system_text:
            parts.append(f"without {self.kinds[0].system_text}, kept for the system")
        if len(self.kinds) > 1:
            parts += [
                listing(map(str, self.kinds)),
                f"the smallest counts: {self.cores_per_node} cores per node; slurm.constraint chooses one kind",
            ]
        for reason in dict.fromkeys(node.why for node in self.unusable):
            nodes = [str(node) for node in self.unusable if node.why == reason]
            parts.append(f"{len(nodes)} {reason}: {listing(nodes)}")
        if self.powered_down:
            parts.append(f"{self.powered_down} of the usable ones are powered down until a job needs them")
        if self.job_nodes < self.usable:
            parts.append(f"one job gets at most {plural(self.job_nodes, 'node')} ({self.limits[0]})")
        return "; ".join(filter(None, (*parts, self.unclear)))


@dataclass(frozen=True, slots=True)
class Admission:
    """A partition's conditions. `allowed`, `denied`: its `account`s and `qos`, if not all may use it."""

    state: str
    allowed: Mapping[str, tuple[str, ...]]
    denied: Mapping[str, tuple[str, ...]]
    sharing: str = "NO"  # OverSubscribe
    qos: str = ""  # the QOS whose limits apply to all of its jobs

    @property
    def shares_nodes(self) -> bool:
        """Whether jobs share nodes whatever they ask for; with FORCE:1 one at a time has a node."""
        return self.sharing.startswith("FORCE") and self.sharing != "FORCE:1"

    def admits(self, key: str, value: str) -> bool:
        names = self.allowed.get(key)
        return (names is None or value.lower() in names) and value.lower() not in self.denied.get(key, ())


@dataclass(frozen=True, slots=True)
class Shown:
    """What Slurm reports of a partition now. `time_limit`: the QOS that limits the time of its jobs, and its seconds.
    `memory_limit`: the most MiB of a node that one job gets, and what limits it. `configuration`: Slurm's own settings.
    """

    partition: Partition
    terms: Admission
    time_limit: tuple[str, int] | None
    memory_limit: tuple[int, str] | None
    configuration: Mapping[str, str]
    alternatives: tuple[Shown, ...] = ()  # of a list of partitions: each of them

    @property
    def possible(self) -> tuple[Shown, ...]:
        """The partitions of which a job gets one."""
        return self.alternatives or (self,)

    @property
    def longest_script(self) -> int:
        """The most bytes of a job script; Slurm's default if it is not set."""
        match = re.search(r"\bmax_script_size=(\d+)", self.configuration.get("SchedulerParameters", ""))
        return int(match[1]) if match else 4 << 20


def ask(slurm: Slurm) -> Shown:
    """Ask for the partition that the campaign file names, or the default one. With a reservation, its nodes count.
    Raises NotInSlurm if the name does not exist, or if no node has the selected features.

    Of a list of partitions, of which a job gets one, only what holds in each of them is planned.
    """
    first, *others = [_ask_one(replace(slurm, partition=name)) for name in slurm.partition.split(",")]
    if not others:
        return first
    partition = smallest_partition([answer.partition for answer in (first, *others)])
    return replace(first, partition=partition, alternatives=(first, *others))


def smallest_partition(partitions: Sequence[Partition]) -> Partition:
    """What each of these partitions has, for jobs that get any of them."""
    limits = [limit for partition in partitions for limit in partition.limits]
    times_s = [partition.time_limit_s for partition in partitions if partition.time_limit_s is not None]
    return Partition(
        name=",".join(partition.name for partition in partitions),
        nodes=min(partition.nodes for partition in partitions),
        usable=min(partition.usable for partition in partitions),
        cores_per_node=min(partition.cores_per_node for partition in partitions),
        time_limit_s=min(times_s, default=None),
        unusable=tuple(dict.fromkeys(node for partition in partitions for node in partition.unusable)),
        memory_mib=min(partition.memory_mib for partition in partitions),
        kinds=tuple(kind for partition in partitions for kind in partition.kinds),
        names=tuple(dict.fromkeys(name for partition in partitions for name in partition.names)),
        limits=tuple(sorted(limits, key=lambda limit: limit.nodes)),
        alternatives=tuple(partitions),
    )


def _ask_one(slurm: Slurm) -> Shown:
    row = _row_of(slurm.partition)
    name, configuration = row["PartitionName"], commands.configuration()
    reserved = _reserved(slurm.reservation) if slurm.reservation else None
    sinfo, system_by_node = (
        _nodes(name),
        capacity.parse_system_shares(commands.ask(["scontrol", "--oneliner", "show", "node"])),
    )
    sinfo += _powered_down(row, sinfo, slurm)
    partition = parse(row, sinfo, reserved, ChosenNodes.from_settings(slurm), system_by_node)
    terms, cpus = terms_of(row), min((kind.cores * kind.threads for kind in partition.kinds), default=1)
    enforced = "limits" in configuration.get("AccountingStorageEnforce", "").split(",")
    association = capacity.ask_association(slurm, name, configuration.get("ClusterName", "")) if enforced else None
    qos = capacity.ask_qos(terms.qos, slurm.qos or (association.qos if association else ""))
    requested_mib = capacity.requested_memory_mib(slurm.directives, cpus) or partition.memory_mib
    memory_mib = min(partition.memory_mib, requested_mib)
    of_node = capacity.resources_of_node(slurm, cpus, memory_mib)
    limits = capacity.node_limits(row, qos if enforced else (), association, of_node)
    partition = replace(partition, memory_mib=memory_mib, limits=limits)
    memory_limit = capacity.memory_limit(row, configuration, cpus)
    return Shown(partition, terms, capacity.time_limit(qos), memory_limit, configuration)


def _powered_down(row: Mapping[str, str], sinfo: str, slurm: Slurm) -> str:
    """A row as of sinfo for the nodes that sinfo leaves out; "" if there are none, or if no job gets them."""
    rows = [*_sinfo_rows(sinfo)] if sinfo.strip() else []
    names = {name for fields in rows for name in expand_nodes(fields[0]) or ()}
    missing_names = [name for name in expand_nodes(row.get("Nodes", "")) or () if name not in names]
    size = capacity.ask_powered_down(missing_names[0], slurm) if missing_names else None
    if size is None:
        return ""
    cpus, threads = size
    shown_mib = sum(len(expand_nodes(fields[0]) or ()) * int(fields[4]) for fields in rows)
    memory_mib = (capacity.memory_mib(row) - shown_mib) // len(missing_names)
    features = ",".join(re.split(r"[&,|]", slurm.constraint))  # Slurm has tested the constraint
    counts = (str(cpus), "1", str(cpus // threads), str(max(0, memory_mib)))
    fields = (",".join(missing_names), *counts, features, "", "idle~", "", "", "none")
    return "".join(field + commands.MARK for field in fields) + "\n"


def _sinfo_rows(sinfo: str) -> Iterator[tuple[str, ...]]:
    return commands.rows("sinfo", sinfo, 11, (1, 2, 3, 4))


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
    row: Mapping[str, str],
    sinfo: str,
    reserved: frozenset[str] | None = None,
    choice: ChosenNodes | None = None,
    system_by_node: Mapping[str, SystemShare] | None = None,
) -> Partition:
    """`reserved`: the nodes of the reservation that jobs run in, if there is one. `system_by_node`: what nodes keep."""
    choice, system_by_node = choice or ChosenNodes(), system_by_node or {}
    # Usable nodes by what makes a difference.
    groups_by_kind: dict[tuple[int, int, str, int, SystemShare], list[tuple[int, set[str]]]] = {}  # with their features
    unusable: list[Unusable] = []
    names_usable: list[str] = []
    known_features: set[str] = set()  # features
    met = False  # whether a node has the selected features
    unread, powered_down = [], 0
    for names, *numbers, features, gres, state, by, since_s, reason in _sinfo_rows(sinfo):
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
        names_away = {node_away.node for node_away in unusable_here}
        names_usable_here = [node for node in selected if node not in names_away]
        for system, count in Counter(system_by_node.get(node, NO_SYSTEM_SHARE) for node in names_usable_here).items():
            kind = _properties([*map(int, numbers)], gres.replace("(null)", ""), system)
            groups_by_kind.setdefault(kind, []).append((count, node_features))
        unusable += unusable_here
        names_usable += names_usable_here
        powered_down += len(names_usable_here) if "~" in state else 0
        known_features |= node_features
        met |= ChosenNodes(choice.constraint).takes("", node_features)
    commands.tell("sinfo", unread, len(groups_by_kind) + len(unusable))
    kinds = tuple(
        NodeKind(
            sum(count for count, _ in groups),
            *kind[:3],
            tuple(sorted(set.intersection(*(node_features for _, node_features in groups)))),
            *kind[3:],
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
        time_limit_s=capacity.parse_limit(row.get("MaxTime", "UNLIMITED")),
        unusable=tuple(unusable),
        default=row.get("Default") == "YES",
        memory_mib=min((kind.memory_mib for kind in kinds), default=0),
        kinds=kinds,
        choice=str(choice),
        unclear=choice.unclear,
        names=tuple(names_usable),
        powered_down=powered_down,
    )


def _properties(numbers: Sequence[int], gres: str, system: SystemShare) -> tuple[int, int, str, int, SystemShare]:
    """What a job gets of a node: cores, MiB and generic resources; the threads of each core; and what it does not get.
    A CPU may be a hardware thread, of which a core has several.
    """
    cpus, sockets, cores_per_socket, memory_mib = numbers
    threads = max(1, cpus // max(1, sockets * cores_per_socket))
    cores = min(cpus, sockets * cores_per_socket) - -(-system.cpus // threads)
    return cores, memory_mib - system.memory_mib, gres, threads, system


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


# --- what it admits


def terms_of(row: Mapping[str, str]) -> Admission:
    """`row`: scontrol's fields of the partition."""

    def names(word: str) -> dict[str, tuple[str, ...]]:
        values = {"account": row.get(f"{word}Accounts"), "qos": row.get(f"{word}Qos")}
        return {key: tuple(text.lower().split(",")) for key, text in values.items() if text not in (None, "", "ALL")}

    sharing, qos = row.get("OverSubscribe", "NO"), row.get("QoS", "N/A")
    return Admission(row.get("State", UP), names("Allow"), names("Deny"), sharing, "" if qos == "N/A" else qos)


def known_names(key: str, partition: str) -> list[str]:
    """The accounts or QOS that this user may name, or the features of a partition's nodes; empty if Slurm does not list
    them, and for other settings.
    """
    listing = [
        "sacctmgr",
        "--noheader",
        "--parsable2",
        "show",
        "assoc",
        "where",
        f"user={users.user_name(os.getuid())}",
    ]
    command = {
        "account": [*listing, "format=Account"],
        "qos": [*listing, "format=QOS"],
        "constraint": ["sinfo", "--noheader", "--exact", f"--partition={partition}", "--format=%f"],
    }.get(key)
    words = [word for line in (capacity.lines_of(command) if command else ()) for word in line.split(",")]
    return list(dict.fromkeys(word for word in words if re.fullmatch(r"[A-Za-z0-9][\w.+-]*", word)))

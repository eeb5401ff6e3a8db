"""What is known about the environment of an execution."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from campaign.core import units
from campaign.core.records import Completion
from campaign.core.runs import State
from campaign.results.environment.slurm_text import MOST_NODES, STATES, expand_nodes


@dataclass(frozen=True, slots=True)
class Node:
    """`clock` is its time when it was queried; `boot` is the same for nodes on one machine."""

    name: str  # Slurm's
    hostname: str
    clock: float | None = None  # seconds since 1970
    boot: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a fact on some nodes. `nodes`: their indices in `Environment.nodes`, as ranges: "0-2,5"."""

    nodes: str
    text: str

    @property
    def indices(self) -> tuple[int, ...]:
        return indices(self.nodes)


@lru_cache(maxsize=1024)  # the nodes of a job share a few of them
def indices(ranges: str, nodes: int = MOST_NODES) -> tuple[int, ...]:
    """The indices in "0-2,5". Raises ValueError unless they are ascending and below `nodes`."""
    node_indices: list[int] = []
    for span in units.parse_ranges(ranges) if ranges else ():
        if not span or span[-1] >= nodes or (node_indices and span[0] <= node_indices[-1]):
            raise ValueError(f"{ranges!r:.60}: not ascending, or beyond the last of {nodes} nodes (counted from 0)")
        node_indices.extend(span)
    return tuple(node_indices)


@dataclass(frozen=True, slots=True)
class FileSystemSpace:
    """A file system at one time, in blocks of `block_size` bytes."""

    time: float
    block_size: int
    blocks: int
    free: int
    available: int
    inodes: int
    inodes_free: int

    @property
    def size(self) -> int:
        """In bytes."""
        return self.blocks * self.block_size


EXECUTABLE = "executable.sha256"  # a fact
PREFIX = "prefix."  # facts about the words before the benchmark
UNREAD = "unread"  # in place of a hash that took too long
SHORT = 16  # digits of the hash of a file that a rank executed


Facts = Mapping[str, tuple[Value, ...]]  # what nodes reported, by name


@dataclass(frozen=True, slots=True)
class ExecutedFile:
    """A file that an attempt executed, with its SHA-256 on each node. `sha256`: as its ranks reported, otherwise as the
    job's first node saw it; "" if neither is known.
    """

    path: str
    nodes: Mapping[str, str]
    sha256: str


@dataclass(frozen=True)
class Environment:
    """What a job recorded about itself before its first run. All empty if nothing is `recorded`."""

    recorded: bool = False
    started: float | None = None  # the time in which the nodes were queried, by the clock of the job's first node
    ended: float | None = None
    directory: str = ""  # of the target
    nodes: tuple[Node, ...] = ()
    incomplete: tuple[int, ...] = ()  # nodes with an incomplete answer
    facts: Facts = field(default_factory=dict)  # but for those that change from moment to moment
    variables: Mapping[str, str] = field(default_factory=dict)  # of the job's script
    set_by_slurm: tuple[str, ...] = ()  # those of them that Slurm or the site sets for each job, except SLURM_*
    job: Mapping[str, str] = field(default_factory=dict)  # scontrol show job, from within the job
    other_jobs: int | None = None  # running on the cluster at the same time
    software: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)  # output of the file system's own tools
    space: FileSystemSpace | None = None
    problems: tuple[str, ...] = ()  # of the job, or of reading its record

    def fact_text(self, name: str) -> str:
        """The different values of a fact or a variable, from the nodes or the job script; "" if unknown."""
        values = self.values(f"env.{name}") or self.values(name)
        return " ".join(values) if values else self.variables.get(name, "")

    @cached_property
    def answering_nodes(self) -> Mapping[str, Node]:
        """The nodes that answered, by each of their names."""
        nodes_by_hostname = {
            name: node for node in self.nodes for name in (node.hostname, node.hostname.partition(".")[0])
        }
        return nodes_by_hostname | {
            node.name: node for node in self.nodes
        }  # several of a virtual cluster share a host's name

    @cached_property
    def job_nodes(self) -> tuple[str, ...]:
        """The nodes of the job by its own variables, if they can be parsed; otherwise those that answered."""
        return expand_nodes(self.variables.get("SLURM_JOB_NODELIST", "")) or tuple([node.name for node in self.nodes])

    @cached_property
    def silent_nodes(self) -> tuple[str, ...]:
        """The nodes of the job that did not answer completely."""
        cut = {self.nodes[node] for node in self.incomplete}
        return tuple([name for name in self.job_nodes if self.answering_nodes.get(name) in {None, *cut}])

    @property
    def partition(self) -> str:
        """The one in which the job ran, which may be one of a list; "" if unknown."""
        return self.variables.get("SLURM_JOB_PARTITION") or self.job.get("Partition", "")

    def values(self, fact: str) -> tuple[str, ...]:
        """The different values of a fact, most nodes first."""
        indices = self.facts.get(fact, ())
        ordered = sorted(indices, key=lambda value: -len(value.indices)) if len(indices) > 1 else indices
        return tuple([value.text for value in ordered])

    def by_node(self, fact: str) -> Mapping[str, str]:
        """A fact's value on each node that reported it, by the node's name."""
        return {self.nodes[node].name: value.text for value in self.facts.get(fact, ()) for node in value.indices}

    def file(self, path: str, fact: str, reported_digest: str = "") -> ExecutedFile:
        """A file whose hash a fact gives. `reported_digest`: the one that its ranks reported."""
        hashes = {node: text.rpartition(" ")[2] for node, text in self.by_node(fact).items()}
        digest_by_node = {node: digest for node, digest in hashes.items() if digest != UNREAD}
        return ExecutedFile(path, digest_by_node, reported_digest or next(iter(digest_by_node.values()), ""))

    @property
    def devices(self) -> tuple[tuple[int, ...], ...]:
        """The bytes of memory of each accelerator of a node, once for all nodes that have the same."""
        sizes = (text.split() for text in self.values("device.memory"))
        return tuple(tuple(int(size) << 20 for size in cache_sizes if size.isdecimal()) for cache_sizes in sizes)

    def fact_names(self, prefix: str) -> tuple[str, ...]:
        """The facts whose names begin with this prefix."""
        return tuple(name for name in self.facts if name.startswith(prefix))

    @cached_property
    def hashed_files(self) -> Mapping[str, tuple[str, str]]:
        """Path and SHA-256 of the files that the job hashed besides the executable, by the names of their facts."""
        names = [name for name in self.fact_names(PREFIX) if not name.endswith(".interpreter") and self.values(name)]
        split = {name: self.values(name)[0].rpartition(" ") for name in names}
        return {name: (path, digest) for name, (path, _, digest) in split.items()}

    def clock_offset(self, name: str) -> float:
        """Seconds, at least, by which a node's clock is behind (negative) or ahead of that of the job's first node."""
        for node in self.nodes:
            if node.name == name and node.clock is not None and self.started is not None and self.ended is not None:
                return min(0.0, node.clock - self.started) + max(0.0, node.clock - self.ended)
        return 0.0


@dataclass(frozen=True)
class Accounting:
    """accounting.json: the job's final record by slurmctld and the accounting.

    `job` has scontrol's fields, `steps` sacct's rows; `accounting` is false if Slurm has none.
    """

    asked: float = 0.0
    job: Mapping[str, str] = field(default_factory=dict)
    accounting: bool = False
    steps: tuple[Mapping[str, str], ...] = ()
    problems: tuple[str, ...] = ()

    @cached_property
    def allocation(self) -> Mapping[str, str]:
        """sacct's row about the job itself; empty if there is none."""
        return next((row for row in self.steps if row.get("JobIDRaw", ".").isdigit()), {})

    @cached_property
    def ended(self) -> bool:
        """Whether slurmctld and the accounting, as far as they know the job, saw its end.

        While a job is COMPLETING, slurmctld lists only the nodes whose Epilog still runs.
        """
        words = (self.job.get("JobState", ""), self.allocation.get("State", ""))
        return not any(_UNDER_WAY.search(word) for word in words)

    @property
    def is_final(self) -> bool:
        """Whether nothing is asked again: it has the job's end, or why that is not known."""
        return self.ended or bool(self.problems)


_UNDER_WAY = re.compile("|".join(word for word, state in STATES.items() if state in (State.PENDING, State.RUNNING)))


@dataclass(frozen=True, slots=True)
class Executed:
    """The SHA-256 of the files that a rank executed, in order; its first digits if the whole is not known."""

    rank: int
    phase: str
    node: str
    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Witness:
    """What processes on the nodes saw of a run's ranks; docs/evidence.md says what this proves and what it does not.

    `ranks`: by "RANK PHASE" or "RANK", the node of each observed rank and the first digits of the hashes of what it
    executed: "node1 0123456789abcdef,…".
    """

    watched: bool = False  # the job looked
    programs: Mapping[str, str] = field(default_factory=dict)  # SHA-256 -> path
    inside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # SHA-256 -> paths, as ranks in a container see
    libraries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name -> "path SHA-256", each different one
    defined: Mapping[str, str] = field(default_factory=dict)  # of libraries: SHA-256 -> functions that measure
    preloads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # LD_PRELOAD, LD_AUDIT of the ranks
    threads: tuple[str, ...] = ()  # OMP_NUM_THREADS of the ranks, each different value
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of the rules: each value, "" if not set
    ranks: Mapping[str, str] = field(default_factory=dict)
    # By node, in kB: the peaks of its ranks together, the largest of them, and by the step's cgroup (0: unknown).
    memory: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    # By "PHASE NODE", of copies: the CPUs on which its ranks may run, "0,1,2"; "all" where they are not confined.
    cpus: Mapping[str, str] = field(default_factory=dict)
    directories: tuple[str, ...] = ()  # where ranks began to work in the attempt's directory or below it
    other_directories: tuple[str, ...] = ()  # and elsewhere, each with its nodes
    problems: tuple[str, ...] = ()

    def inside_digests(self, path: str) -> frozenset[str]:
        """SHA-256 of the files that ranks in a container find under a path."""
        return frozenset(digest for digest, paths in self.inside.items() if path in paths)

    def executed(self) -> Iterator[Executed]:
        """What each rank of each phase executed."""
        full_digests = {digest[:SHORT]: digest for digest in self.programs}
        for key, text in self.ranks.items():
            rank, _, phase = key.partition(" ")
            node, _, digests = text.partition(" ")
            yield Executed(
                int(rank), phase, node, tuple(full_digests.get(digest, digest) for digest in digests.split(","))
            )

    @property
    def nodes(self) -> Iterator[str]:
        """The node of each observed rank."""
        return (text.partition(" ")[0] for text in self.ranks.values())

    @property
    def memory_of_node(self) -> int | None:
        """The peak of the node that used most, in bytes: shared memory counts for each rank that uses it, and a
        cgroup's files too, so that the lower number counts. None unless all nodes reported it.
        """
        peaks = [min(used, by_step or used) for used, _, by_step in self._memory]
        return max(peaks) << 10 if peaks else None

    @property
    def memory_of_process(self) -> int | None:
        return max(largest for _, largest, _ in self._memory) << 10 if self._memory else None

    @property
    def _memory(self) -> Sequence[tuple[int, int, int]]:
        return [*self.memory.values()] if {*self.nodes} <= self.memory.keys() else []

    def placement(self, phase: str = "") -> tuple[str, ...]:
        """The node of each rank of a phase; empty unless all ranks were observed."""
        nodes = {cache_sizes.rank: cache_sizes.node for cache_sizes in self.executed() if cache_sizes.phase == phase}
        return tuple(nodes[rank] for rank in range(len(nodes))) if nodes.keys() == set(range(len(nodes))) else ()


@dataclass(frozen=True, slots=True)
class Served:
    """Operations that the target's servers performed in a phase: a lower and an upper bound."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Metered:
    """The energy of an execution on all its nodes; None with the `problem` if it is not recorded."""

    joules: float | None = None
    peak_w: float | None = None  # None where nobody read in between
    nodes: tuple[str, ...] = ()  # that were read, if nodes were
    began: float = 0.0  # the time that all their readings cover
    ended: float = 0.0
    turned_over: int = 0  # how often a counter began again at 0, which is accounted for
    problem: str = ""
    line: int = 1  # of facts.jsonl: the first reading

    @property
    def kwh(self) -> float | None:
        return None if self.joules is None else self.joules / 3.6e6

    @property
    def peak_kw(self) -> float | None:
        return None if self.peak_w is None else self.peak_w / 1e3


@dataclass(frozen=True, slots=True)
class Altered:
    """A file of an attempt whose SHA-256 is no longer the one that the journal recorded at its end; `found` is "" if
    there is no such file.
    """

    name: str
    recorded: str
    found: str


@dataclass(frozen=True, slots=True)
class HashedInput:
    """An input file as a node of the job found it right before the run; `sha256` is "" if it could not be read."""

    node: str
    path: str
    sha256: str
    size: int
    line: int  # of facts.jsonl


@dataclass(frozen=True, slots=True)
class Preparation:
    """A command of the campaign file that the job executed in the attempt's directory before the benchmark."""

    command: str
    status: int
    output: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the job and Slurm recorded around one execution.

    `made`: the job created the attempt's directory, which did not exist before; None if that is not recorded.
    """

    environment: Environment = field(default_factory=Environment)
    made: bool | None = None
    before: FileSystemSpace | None = None  # the target's file system right before and after the execution
    after: FileSystemSpace | None = None
    completion: Completion | None = None
    accounting: Accounting | None = None  # None: not recorded
    placement: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by phase: the node of each rank
    # By phase, if recorded: NAME=DIGITS of the loader's variables that the launcher gave to the job's test program.
    loader_variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    witness: Witness = field(default_factory=Witness)
    packages: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of loaded files -> package of the system
    served: Mapping[str, Served] = field(default_factory=dict)  # by phase, if the servers' counters show it
    energy: Metered | None = None  # by the meters of its nodes; None: nobody read them
    altered: tuple[Altered, ...] = ()  # files that were changed since; looked up whenever it is judged
    inputs: tuple[HashedInput, ...] = ()
    prepared: tuple[Preparation, ...] = ()


NOTHING = Evidence()


# What a job records of a field of the proposed system; of others, nothing.
_TEXTS: Mapping[str, Callable[[Environment], Sequence[str]]] = {
    "processor": lambda environment: environment.values("cpu.model"),
    "cores": lambda environment: environment.values("cpu.cores"),
    "memory": lambda environment: environment.values("memory.total"),
    "file_system": lambda environment: environment.values("mount.type"),
    "operating_system": lambda environment: environment.values("os"),
    "mpi": lambda environment: [text for name, text in environment.software.items() if name == "mpirun"],
    # All that a node reports of its adapters, as one text.
    "network": lambda environment: [
        "; ".join(
            f"{name} {text}"
            for name in environment.facts
            if re.fullmatch(r"fabric\..*|net\.(?!core|ipv)[^.]*", name)
            for text in environment.values(name)
        )
    ],
    "devices": lambda environment: [str(len(sizes)) for sizes in environment.devices],
    "device_memory": lambda environment: list(
        dict.fromkeys(f"{size >> 10} kB" for sizes in environment.devices for size in sizes)
    ),
    "capacity": lambda environment: [f"{environment.space.size >> 10} kB"] if environment.space else [],
}


def recorded_texts(environment: Environment, field: str) -> Sequence[str]:
    """What a job recorded of a field of the proposed system."""
    return _TEXTS[field](environment) if field in _TEXTS else []

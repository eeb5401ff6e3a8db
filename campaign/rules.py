"""Rule packs: an RFP's run rules as data (`rules/<id>.yaml`) -> frozen dataclasses. The format is docs/rule-packs.md."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LaunchCondition:
    id: str
    title: str
    clause: str
    processes: int | None = None  # fixed count, e.g. 1 for a single process
    nodes: int | None = None  # fixed count, e.g. 1 for a single node
    minimum_nodes: int = 1
    whole_system: bool = False  # the maximum concurrency: may be given as `all`


@dataclass(frozen=True, slots=True)
class FileConfiguration:
    id: str
    title: str  # may hold {items_total}
    clause: str
    flags: tuple[str, ...] = ()
    inflated: tuple[str, ...] = ()  # operations whose printed count is not what happened (-S)


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    title: str
    record: str  # name of the parser's record
    unit: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Which valid attempt a cell reports: the one with the best value of `operation`; all operations come from it."""

    operation: str
    best: str  # highest | lowest
    clause: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A flag of the allowed list, or one that must not be omitted."""

    flag: str
    value: bool  # takes a value
    clause: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class RulePack:
    id: str
    version: int
    title: str
    document: str  # the RFP's text that the clauses refer to
    caption: str  # of the table
    applet: str  # mdtest, ior, ...
    launch: tuple[LaunchCondition, ...]
    files: tuple[FileConfiguration, ...]
    operations: tuple[Operation, ...]
    arguments: tuple[str, ...]  # template: literal flags, {items_per_process}, {directory}, {processes_per_node}, {flags}
    fixed: tuple[Flag, ...]  # must be in the executed argv
    derived: tuple[Flag, ...]  # set by the tool from geometry; never given by hand
    allowed: tuple[Flag, ...]  # may be added through benchmark.extra_arguments
    selection: Selection
    items_total: dict[str, int] = field(default_factory=dict)  # by profile
    items_at_least: bool = True  # where the total does not divide: above it, and said so
    items_clause: str = ""
    items_unit: str = "files"
    checks: dict[str, str] = field(default_factory=dict)  # rule id of the catalogue -> clause

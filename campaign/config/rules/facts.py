"""The facts that conditions and formulas may name besides results and variables: one catalogue for packs, RFPs and
forms. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum

from campaign.config.system import Proposed
from campaign.core.columns import Column
from campaign.core.formula import TEXT_SIGNS, Condition


class FactSource(StrEnum):
    """Where a fact is read; of what the plan and the job know, the plan's value until the run has ended."""

    PLAN = "plan, then job record"
    PROPOSED = "proposed"
    OUTPUT = "output"
    JOB = "job record"
    BUILD = "build record"
    RESULTS = "valid repetitions"


@dataclass(frozen=True, slots=True)
class FactEntry:
    name: str
    unit: str
    source: FactSource
    meaning: str
    is_text: bool = False

    @property
    def is_known_before(self) -> bool:
        """Whether a plan knows it, so that a condition on it is judged before the run."""
        return self.source in (FactSource.PLAN, FactSource.PROPOSED)


def _of_system(prefix: str, source: FactSource, meaning: str) -> tuple[FactEntry, ...]:
    """A fact for each field of the proposed system."""
    return tuple(
        FactEntry(
            f"{prefix}.{field.name}",
            "bytes" if field.name in SIZES else "",
            source,
            meaning,
            field.type == "str",
        )
        for field in fields(Proposed)
    )


SIZES = ("memory", "device_memory", "capacity")  # fields of the proposed system in bytes
COUNT = "n"
MEMORY, CORES, DEVICES, DEVICE_MEMORY, MOVED = "memory", "cores", "devices", "device_memory", "moved"
CATALOGUE: tuple[FactEntry, ...] = (
    FactEntry("processes", "", FactSource.PLAN, "processes of the run"),
    FactEntry("nodes", "", FactSource.PLAN, "nodes of the run"),
    FactEntry("processes_per_node", "", FactSource.PLAN, "processes on each node"),
    FactEntry("threads", "", FactSource.PLAN, "threads of each process"),
    FactEntry(MEMORY, "bytes", FactSource.PLAN, "memory of a node"),
    FactEntry(CORES, "", FactSource.PLAN, "cores of a node"),
    FactEntry(DEVICES, "", FactSource.PLAN, "accelerators of a node"),
    FactEntry(DEVICE_MEMORY, "bytes", FactSource.PLAN, "memory of each accelerator"),
    FactEntry("items_per_process", "", FactSource.PLAN, "items of each process"),
    FactEntry("items_total", "", FactSource.PLAN, "items of the run"),
    *_of_system("offered", FactSource.PROPOSED, "as the campaign file describes the offered system"),
    FactEntry(MOVED, "bytes", FactSource.OUTPUT, "bytes transferred, of each bandwidth"),
    FactEntry("memory_used", "bytes", FactSource.JOB, "peak memory of the run on the node that used most"),
    FactEntry("memory_used_per_process", "bytes", FactSource.JOB, "peak memory of the process that used most"),
    FactEntry("capacity", "bytes", FactSource.JOB, "capacity of the target's file system"),
    FactEntry(
        "makespan", "s", FactSource.JOB, "from the start of the first copy of a phase, or phase, to the last end"
    ),
    FactEntry("energy", "kWh", FactSource.JOB, "energy of the run on all its nodes"),
    FactEntry("peak_power", "kW", FactSource.JOB, "highest power of all nodes of the run"),
    *_of_system("used", FactSource.JOB, "as the nodes of the run recorded it"),
    FactEntry("software.mpi", "", FactSource.BUILD, "name and version of the MPI library", is_text=True),
    FactEntry("software.compiler", "", FactSource.BUILD, "name and version of the compiler", is_text=True),
    FactEntry("software.flags", "", FactSource.BUILD, "flags of the compiler and the linker", is_text=True),
    FactEntry(COUNT, "", FactSource.RESULTS, "repetitions that are counted"),
)
BY_NAME = {fact.name: fact for fact in CATALOGUE}
OF_PLAN = tuple(fact.name for fact in CATALOGUE if fact.source is FactSource.PLAN)  # also in words of command lines
KNOWN_BEFORE = tuple(fact.name for fact in CATALOGUE if fact.is_known_before)
OF_LINE = tuple(  # of all valid repetitions together
    fact.name for fact in CATALOGUE if fact.source in (FactSource.BUILD, FactSource.RESULTS)
)
OF_RUN = tuple(  # numbers of one execution
    fact.name for fact in CATALOGUE if not fact.is_text and fact.name not in (*OF_LINE, MOVED)
)
ENERGY = ("energy", "peak_power")
COLUMNS: tuple[Column[FactEntry], ...] = (
    Column("fact", lambda fact: fact.name, is_text=True),
    Column("unit", lambda fact: fact.unit or ("text" if fact.is_text else ""), is_text=True),
    Column("source", lambda fact: fact.source, is_text=True),
    Column("known", lambda fact: "before the run" if fact.is_known_before else "after it", is_text=True),
    Column("meaning", lambda fact: fact.meaning, is_text=True),
)


def type_problem(condition: Condition) -> str:
    """What is wrong with the kinds of a condition's facts; "" for nothing: a text has no order and no arithmetic."""
    texts = [name for name in condition.names if name in BY_NAME and BY_NAME[name].is_text]
    for name in texts:
        if condition.sign not in TEXT_SIGNS or name not in condition.operands:
            return f'{name} is a text; allowed: {name} == "…", {name} in ["…"] or {name} matches "…"'
    numbers = [name for name in condition.names if name in BY_NAME and name not in texts]
    return f"{numbers[0]} is a number, found a text in quotes" if numbers and condition.is_of_text else ""


def allowed_text(names: Iterable[str | None]) -> str:
    """What a message lists in place of all facts: the pack's own names, and where the facts are."""
    own_names = dict.fromkeys(name for name in names if name and name not in BY_NAME)
    return ", ".join((*own_names, "facts, which `campaign rules --facts` lists"))

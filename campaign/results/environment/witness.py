"""What the witness processes on the nodes saw of a run's ranks: `ran` of environment.json, and ran.txt beside it.

docs/evidence.md says what this proves and what it does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

_LINE = re.compile(r"([0-9]{1,9}) (\S{1,255}) ([0-9a-f]{16}(?:,[0-9a-f]{16})*)(?: ([a-z0-9-]{1,40}))?")
SHORT = 16  # digits of a hash in ran.txt


@dataclass(frozen=True, slots=True)
class Executed:
    """The SHA-256 of the files that a rank executed, in order; its first digits if the whole is not known."""

    rank: int
    phase: str  # "" if the run has one phase
    node: str
    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Witness:
    """`ranks`: by "RANK PHASE" or "RANK", the node of each observed rank and the first digits of the hashes of what it
    executed: "node1 0123456789abcdef,…".
    """

    watched: bool = False  # the job looked
    programs: Mapping[str, str] = field(default_factory=dict)  # SHA-256 -> path
    libraries: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # name -> "path SHA-256", each different one
    preloads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # LD_PRELOAD, LD_AUDIT of the ranks
    threads: tuple[str, ...] = ()  # OMP_NUM_THREADS of the ranks, each different value
    ranks: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def executed(self) -> Iterator[Executed]:
        """What each rank of each phase executed."""
        whole = {digest[:SHORT]: digest for digest in self.programs}
        for key, text in self.ranks.items():
            rank, _, phase = key.partition(" ")
            node, _, digests = text.partition(" ")
            yield Executed(int(rank), phase, node, tuple(whole.get(digest, digest) for digest in digests.split(",")))

    def placement(self, phase: str = "") -> tuple[str, ...]:
        """The node of each rank of a phase; empty unless all ranks were observed."""
        nodes = {each.rank: each.node for each in self.executed() if each.phase == phase}
        return tuple(nodes[rank] for rank in range(len(nodes))) if nodes.keys() == set(range(len(nodes))) else ()


def of_facts(facts: Mapping[str, tuple[str, ...]], problems: tuple[str, ...]) -> Witness:
    """From the facts of `ran`, each with its different values."""

    def under(prefix: str) -> dict[str, tuple[str, ...]]:
        return {name.removeprefix(prefix): values for name, values in facts.items() if name.startswith(prefix)}

    programs = {digest: ", ".join(paths) for digest, paths in under("program.").items()}
    variables = under("env.")
    threads = variables.pop("OMP_NUM_THREADS", ())
    return Witness(True, programs, under("library."), variables, threads, problems=problems)


def ranks_of(text: str) -> dict[str, str]:
    """Parse the lines of ran.txt: RANK NODE HASH,HASH [PHASE]; others are ignored."""
    matches = filter(None, map(_LINE.fullmatch, text.splitlines()))
    return {f"{int(match[1])} {match[4] or ''}".rstrip(): f"{match[2]} {match[3]}" for match in matches}

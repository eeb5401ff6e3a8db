"""What the built-in benchmark says of its own processes: nouns. docs/evidence.md says what it proves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks of the built-in benchmark that said the same of themselves from inside, before anything was timed."""

    processes: int
    first_rank: int
    first_node: str
    objects: Mapping[str, str]  # files with code that they had loaded, with SHA-256; "" of one that could not be read
    functions: Mapping[str, str]  # those that measure, with the file that each is in
    variables: Mapping[str, str]  # that decide what is loaded, and how MPI and the network are tuned
    mount: Mapping[str, str]  # directory, point, type and source of what is mounted where they wrote


@dataclass(frozen=True, slots=True)
class Attestation:
    """The attestation of one execution."""

    groups: tuple[RankGroup, ...] = ()
    compiler: str = ""  # with which the program was built
    boots: Mapping[str, str] = field(default_factory=dict)  # by node
    clocks: Mapping[str, float] = field(default_factory=dict)  # seconds since 1970, all read at once
    clock_s: float | None = None  # length of the run by the clock of the phases, and by the kernel's
    kernel_clock_s: float | None = None
    phases_s: float | None = None  # mdtest: length of its phases together
    loaded_later: Mapping[str, str] = field(default_factory=dict)  # by the first rank, during the run

"""What the built-in benchmark's processes report about themselves. docs/evidence.md says what it proves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RankGroup:
    """Ranks of the built-in benchmark that reported the same about themselves before anything was timed."""

    processes: int
    first_rank: int
    first_node: str
    objects: Mapping[str, str]  # loaded files that contain code, with SHA-256; "" if one could not be read
    functions: Mapping[str, str]  # the functions that measure, each with the file that contains it
    variables: Mapping[str, str]  # environment variables that decide what is loaded, and that tune MPI and the network
    mount: Mapping[str, str]  # directory, mount point, type and source of the file system where the ranks wrote


@dataclass(frozen=True, slots=True)
class Attestation:
    """The attestation of one execution."""

    groups: tuple[RankGroup, ...] = ()
    compiler: str = ""  # the compiler that built the program
    boots: Mapping[str, str] = field(default_factory=dict)  # boot id by node
    clocks: Mapping[str, float] = field(default_factory=dict)  # seconds since 1970, all read at once
    clock_s: float | None = None  # length of the run by the clock that times the phases
    kernel_clock_s: float | None = None
    phases_s: float | None = None  # mdtest: sum of the lengths of its phases
    loaded_later: Mapping[str, str] = field(default_factory=dict)  # files that the first rank loaded during the run

"""The campaign file: YAML -> frozen dataclasses. The fields are documented in docs/campaign-file.md."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from campaign.model import Geometry, Target


@dataclass(frozen=True, slots=True)
class AllCores:
    """`max: all`: one process per core of the partition, found out from Slurm."""


@dataclass(frozen=True, slots=True)
class Slurm:
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    reservation: str = ""
    time_s: int = 3600  # limit of one run; a job that carries several gets the sum
    mpi: str = "pmix"  # srun --mpi
    modules: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()  # extra #SBATCH options, as "--name=value"
    environment: tuple[tuple[str, str], ...] = ()  # exported in the job
    allocation: str = "geometry"  # run | geometry | one
    template: Path | None = None  # a job template in place of the project's


@dataclass(frozen=True, slots=True)
class Benchmark:
    executable: Path | None = None  # None: the builtin
    dialect: str = "auto"  # auto | rank-offset | node-offset (meaning of mdtest's -N), for an external binary
    extra_arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    cells: str  # a glob over target/launch/files/operation
    reason: str


@dataclass(frozen=True, slots=True)
class Campaign:
    path: Path  # the campaign file
    name: str
    rules: str  # id of the rule pack, or a path to one
    profile: str  # rehearsal | full
    results: Path  # results/<name>, absolute
    targets: tuple[Target, ...]
    launch: dict[str, Geometry | AllCores]  # by id of the pack's launch conditions
    items_total: int | None = None  # overrides the pack's total for this profile (rehearsal only)
    repetitions: int = 1
    slurm: Slurm = field(default_factory=Slurm)
    benchmark: Benchmark = field(default_factory=Benchmark)
    declined: tuple[Declined, ...] = ()
    system: tuple[tuple[str, str], ...] = ()  # description of the proposed system, in the file's order
    contact: tuple[tuple[str, str], ...] = ()  # who answers for it

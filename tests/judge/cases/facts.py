"""Cases of conditions on facts: of the offered and the measured system, memory, texts, builds and counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from campaign.config.rules.entries import Requirement
from campaign.config.system import Proposed
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import FileSystemSpace, Witness
from campaign.results.source.facts import Build, Sources
from tests.judge.cases import Example, broken, compliant, unchecked
from tests.judge.cases.attempts import case
from tests.judge.cases.numbers import FIRST, repeated
from tests.support import builders

SYSTEM = {
    "cpu.model": "AMD EPYC 9654",
    "cpu.cores": "192",
    "memory.total": "25165824 kB",
    "fabric.mlx5_0.1": "400 Gb/sec",
}
RANKS = {"0": f"n1 {'0' * 16}", "1": f"n2 {'0' * 16}"}
PEAKS = {"n1": (8 << 20, 3 << 20, 6 << 20), "n2": (7 << 20, 2 << 20, 0)}  # kB


def of_system(holds: str, memory: Any = PEAKS, facts: dict[str, str] = SYSTEM, **keys: Any) -> Case:
    """A run on a system with these facts, for which one of 512 nodes was offered; its ranks used 7 GiB of a node."""
    campaign = replace(
        builders.campaign(),
        proposed=Proposed(nodes=512, memory=24 << 30, network="InfiniBand 400 Gb/sec", mpi="Open MPI"),
    )
    space = FileSystemSpace(1.0, 4096, 2**28, 2**27, 2**27, 100, 50)
    environment = builders.environment(facts=facts, software={"mpirun": "mpirun (Open MPI) 4.1.6"}, space=space)
    witness = Witness(watched=True, ranks=RANKS, memory=memory)
    pack = builders.pack(profile="full", requires=(Requirement(holds, "4.2", **keys),))
    evidence = builders.evidence(environment=environment, before=space, witness=witness)
    return replace(case(), campaign=campaign, pack=pack, evidence=evidence)


def over_runs(*rates: float, holds: str, scope: str = "", **build: str) -> Submission:
    """A run with these rates of creation, by a program with this record of its build, and a condition."""
    submission = repeated(*rates)
    pack = replace(submission.pack, requires=(Requirement(holds, "4.2", over=scope),))
    results = tuple(replace(result, pack=pack) for result in submission.results)
    (digest,) = {program.sha256 for result in results for program in result.programs}
    sources = Sources(builds=(Build(digest, **build),) if build else ())
    return replace(submission, pack=pack, results=results, sources=sources)


def condition(holds: str, values: str) -> str:
    return f"clause 4.2 requires {holds}; found {values}"


OUTPUT = "runs/scratch.single.shared.r{}/1/stdout:14"
LINE = FIRST.rpartition("/")[0] + "/*"
EXAMPLES: list[Example] = [
    broken(
        "GEO-05",
        condition("offered.nodes >= 1000", "offered.nodes 512"),
        of_system("offered.nodes >= 1000"),
        ">= 1000",
        "512",
    ),
    broken(
        "GEO-05",
        condition('offered.mpi in ["MPICH", "Intel MPI"]', 'offered.mpi "Open MPI"'),
        of_system('offered.mpi in ["MPICH", "Intel MPI"]'),
        'in ["MPICH", "Intel MPI"]',
        '"Open MPI"',
    ),
    compliant("GEO-05", "as much memory as is required", of_system("offered.memory >= 24 * 2^30")),
    compliant("GEO-05", "a network of the required kind", of_system('offered.network matches "InfiniBand.*"')),
    compliant("GEO-05", "a condition on what only a run shows, which is RES-01's", of_system("memory_used >= 2^50")),
    unchecked("GEO-05", "a number that the offer does not give", of_system("offered.cores >= 1")),
    broken(
        "RES-01",
        condition("memory_used >= 50% * memory", "memory_used 7516192768, memory 25769803776"),
        of_system("memory_used >= 50% * memory"),
        ">= 12884901888",
        "7516192768",
    ),
    broken(
        "RES-01",
        condition("capacity >= 2^41", "capacity 1099511627776"),
        of_system("capacity >= 2^41"),
        ">= 2199023255552",
        "1099511627776",
    ),
    broken(
        "RES-01",
        condition('used.processor matches "Intel.*"', 'used.processor "AMD EPYC 9654"'),
        of_system('used.processor matches "Intel.*"'),
        'matches "Intel.*"',
        '"AMD EPYC 9654"',
    ),
    compliant("RES-01", "memory of a process", of_system("memory_used_per_process == 3 * 2^30")),
    compliant(
        "RES-01", "the offered memory, but for what the firmware keeps", of_system("used.memory >= offered.memory")
    ),
    compliant("RES-01", "the MPI of the nodes", of_system('used.mpi matches "mpirun .Open MPI. 4.*"')),
    unchecked("RES-01", "memory of which one node says nothing", of_system("memory_used <= 1", {"n1": (1, 1, 1)})),
    unchecked(
        "RES-01",
        "an energy that nobody measured",
        of_system("energy <= 1"),
        "energy <= 1: energy not recorded",
    ),
    broken(
        "RES-02",
        condition("cv(create) <= 1%", f"create 1000 ({OUTPUT.format(1)}) to 1100 ({OUTPUT.format(2)}) of 3 results"),
        over_runs(1000, 1100, 1050, holds="cv(create) <= 1%", scope="repetitions"),
        "<= 0.01",
        "0.0476",
        FIRST,
    ),
    broken("RES-02", condition("n >= 5", "n 3"), over_runs(1000, 1100, 1050, holds="n >= 5"), ">= 5", "3", LINE),
    broken(
        "RES-02",
        condition('software.compiler matches "GCC 1[2-4].*"', 'software.compiler "GCC 11.4"'),
        over_runs(1000, 1100, holds='software.compiler matches "GCC 1[2-4].*"', compiler="GCC 11.4"),
        'matches "GCC 1[2-4].*"',
        '"GCC 11.4"',
        LINE,
    ),
    compliant(
        "RES-02",
        "a small spread",
        over_runs(1000, 1001, holds="range(create) <= 0.1% * max(create)", scope="repetitions"),
    ),
    compliant(
        "RES-02", "the same nodes in all", over_runs(1000, 1001, holds="distinct(nodes) == 1", scope="repetitions")
    ),
    compliant(
        "RES-02",
        "a mean of enough repetitions",
        over_runs(1000, 1001, 1002, holds="sd(create) / n < 1", scope="repetitions"),
    ),
    unchecked("RES-02", "a build without a record", over_runs(1000, holds='software.flags matches ".*-O2.*"')),
]

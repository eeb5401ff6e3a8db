"""Cases of what the built-in benchmark says of its own processes, against the job's records and the kernel's clock."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from campaign.core.findings import Severity
from campaign.core.records import Attestation, RankGroup
from campaign.core.runs import Launcher
from campaign.judge.submission import Submission
from campaign.results.case import Case
from campaign.results.environment.facts import Value
from tests.judge.cases import Example, broken, compliant, disclosed, of_buyer, unchecked
from tests.judge.cases.environment import variables, with_environment, with_evidence
from tests.judge.cases.phases import COMMANDS, of_phases
from tests.judge.cases.sources import BINARY, OTHER, sourced, with_outputs
from tests.support import builders

BENCH, LIBC, MPI = "/opt/bench/bench", "/usr/lib/libc.so.6", "/usr/lib/libmpi.so.40"
LOADER = "/usr/lib/ld-linux-x86-64.so.2"
OBJECTS = {BENCH: BINARY, LIBC: "1c" * 32, MPI: "31" * 32, LOADER: "1d" * 32}
PACKAGES = {OBJECTS[LIBC]: "libc6", OBJECTS[LOADER]: "libc6", OBJECTS[MPI]: "libopenmpi3"}
FUNCTIONS = {"clock_gettime": LIBC, "stat": LIBC, "MPI_Barrier": MPI}
FACTS = {
    "executable.loader": f"/lib64/ld-linux-x86-64.so.2 {OBJECTS[LOADER]}",
    "library.libc.so.6": f"/lib/libc.so.6 {OBJECTS[LIBC]}",
    "library.libmpi.so.40": f"{MPI} {OBJECTS[MPI]}",
    "mount.type": "lustre",
    "mount.source": "10.0.0.1@o2ib:/scratch",
}
MOUNT = {"directory": "/scratch/user", "point": "/scratch", "type": "lustre", "source": "10.0.0.1@o2ib:/scratch"}
GROUP = RankGroup(8, 0, "n1", OBJECTS, FUNCTIONS, {}, MOUNT)


def attestation(*groups: RankGroup, **changes: Any) -> Attestation:
    fields = {"boots": {"n1": "bn1", "n2": "bn2"}, "clocks": {"n1": 110.5, "n2": 110.5}}
    fields |= {"clock_s": 2.0, "kernel_clock_s": 2.0, **changes}
    return Attestation(groups or (GROUP,), **fields)


def group(
    objects: Mapping[str, str] | None = None, functions: Mapping[str, str] | None = None, **changes: Any
) -> RankGroup:
    return replace(
        GROUP,
        objects={**OBJECTS, **(objects or {})},
        functions={**FUNCTIONS, **(functions or {})},
        **changes,
    )


def attempt(attestation: Attestation | None, program: str = "campaign bench 0.3.0", **changes: Any) -> Case:
    """One attempt of the built-in benchmark, by what it says of itself."""
    case = with_environment(facts=FACTS, **changes)
    seen = replace(case.observation, attestation=attestation, program=program, binary_sha256=BINARY, complete=True)
    return replace(case, outputs={"": seen})


def all_of(*groups: RankGroup, **changes: Any) -> Submission:
    """A campaign whose attempts all say this of themselves."""
    submission = with_outputs(sourced(), attestation=attestation(*groups, **changes))
    evidence = builders.evidence(environment=builders.environment(facts=FACTS), packages=PACKAGES)
    return replace(submission, results=tuple(replace(case, evidence=evidence) for case in submission.results))


def by_mpirun(*groups: RankGroup) -> Submission:
    """All attempts were started by an mpirun that sets this LD_LIBRARY_PATH."""
    submission = all_of(*groups)
    return replace(submission, results=tuple(with_launcher_path(case, "/opt/mpi/lib") for case in submission.results))


def started_by_mpirun(job_path: str | None, rank_path: str) -> Case:
    """Another launcher than srun gave its test program this LD_LIBRARY_PATH, and the ranks had another."""
    case = attempt(attestation(group(variables={"LD_LIBRARY_PATH": rank_path})))
    return with_launcher_path(case, job_path)


def with_values(case: Case, *values: str) -> Case:
    """Each node of the job had another LD_LIBRARY_PATH."""
    environment = case.evidence.environment
    of_nodes = tuple(Value(str(node), text) for node, text in enumerate(values))
    facts = {**environment.facts, "env.LD_LIBRARY_PATH": of_nodes}
    return replace(case, evidence=replace(case.evidence, environment=replace(environment, facts=facts)))


def library_path(value: str) -> str:
    """As the job's test program records it."""
    return f"LD_LIBRARY_PATH={hashlib.sha256(value.encode()).hexdigest()[:16]}"


def with_launcher_path(case: Case, path: str | None) -> Case:
    variables = {} if path is None else {"": (library_path(path),)}
    run = replace(case.run, launcher=Launcher("/opt/mpi/bin/mpirun", placement=("-n", "{processes}")))
    return replace(case, run=run, evidence=replace(case.evidence, loader_variables=variables))


def in_two_phases(rank_path: str, **recorded_paths: tuple[str, ...]) -> Case:
    """Only the ranks of the second phase had this LD_LIBRARY_PATH; `recorded_paths`: what the launcher gave the test
    program of each phase, where that is recorded.
    """
    first = attempt(attestation())
    second = attempt(attestation(group(variables={"LD_LIBRARY_PATH": rank_path})))
    case = with_launcher_path(first, None)
    return replace(
        case,
        pack=of_phases(case.pack),
        run=replace(case.run, commands=COMMANDS),
        outputs={"write": first.observation, "read": second.observation},
        evidence=replace(case.evidence, loader_variables=recorded_paths),
    )


FIRST = "scratch.single.shared.r1/1"

EXAMPLES: list[Example] = [
    compliant("EVD-06", "ranks that say what the job's nodes said", attempt(attestation())),
    broken(
        "EVD-06",
        "the clock that timed the phases differs from the kernel's clock",
        attempt(attestation(clock_s=20.0)),
        "2.000 s",
        "20.000 s",
    ),
    compliant(
        "EVD-06",
        "two readings of one clock around a long run",
        attempt(attestation(clock_s=1000.9, kernel_clock_s=1000.0)),
    ),
    compliant(
        "EVD-06", "phases that fill the run", attempt(attestation(clock_s=100.0, kernel_clock_s=100.0, phases_s=76.0))
    ),
    compliant("EVD-06", "a short run", attempt(attestation(phases_s=0.1))),
    broken(
        "EVD-06",
        "much of the benchmark's 100.0 s lies outside its phases",
        attempt(attestation(clock_s=100.0, kernel_clock_s=100.0, phases_s=10.0)),
        "at most 25 s",
        "90 s",
        severity=Severity.WARNING,
    ),
    broken(
        "EVD-06",
        "the benchmark ran on another boot of the node than the job recorded",
        attempt(attestation(boots={"n1": "bn1", "n2": "other"})),
        "n2: bn2",
        "n2: other",
    ),
    broken(
        "EVD-06",
        "the clock of n2, read by the benchmark, lies outside the run's time",
        attempt(attestation(clocks={"n1": 110.5, "n2": 3710.0})),
        "within the run",
        "+3598 s",
    ),
    broken(
        "EVD-06",
        "rank 0 on n1 wrote to a mount other than the recorded one (type)",
        attempt(attestation(group(mount={**MOUNT, "type": "tmpfs", "source": "tmpfs"}))),
        "lustre",
        "tmpfs",
    ),
    broken(
        "EVD-06",
        "LD_LIBRARY_PATH differs between the ranks and the job",
        attempt(attestation(group(variables={"LD_LIBRARY_PATH": "/tmp/mine"}))),
        "not set",
        "/tmp/mine",
    ),
    broken(
        "EVD-06",
        "LD_LIBRARY_PATH differs between the ranks and the job",
        attempt(
            attestation(group(variables={"LD_LIBRARY_PATH": "/opt"})),
            variables=variables(LD_LIBRARY_PATH="/opt/mpi:/opt/lib"),
        ),
        "/opt/mpi:/opt/lib",
        "/opt",
    ),
    compliant(
        "EVD-06",
        "a variable that only one node of the job has, and the ranks there",
        with_values(attempt(attestation(group(variables={"LD_LIBRARY_PATH": "/b"}))), "/a", "/b"),
    ),
    disclosed(
        "EVD-06",
        "/opt/mpi/bin/mpirun gives the ranks another LD_LIBRARY_PATH than the job has",
        started_by_mpirun("/opt/mpi/lib", "/opt/mpi/lib"),
        "not set",
        "/opt/mpi/lib",
    ),
    broken(
        "EVD-06",
        "LD_LIBRARY_PATH differs between the ranks and the job",
        started_by_mpirun("/opt/mpi/lib", "/tmp/mine"),
        "not set",
        "/tmp/mine",
    ),
    unchecked(
        "EVD-06",
        "a launcher of which nobody recorded what it sets",
        started_by_mpirun(None, "/opt/mpi/lib"),
    ),
    unchecked(
        "EVD-06",
        "a phase of which it is not recorded what the launcher sets, after one of which it is",
        in_two_phases("/opt/mpi/lib", write=()),
    ),
    broken(
        "EVD-06",
        "LD_LIBRARY_PATH differs between the ranks and the job (phase read)",
        in_two_phases("/opt/mpi/lib", write=(library_path("/opt/mpi/lib"),), read=()),
        "not set",
        "/opt/mpi/lib",
    ),
    broken(
        "EVD-06",
        "the output has no attestation, which campaign bench 0.3.0 always writes: lines were removed",
        attempt(None),
        "the benchmark's record of its processes",
        "none",
    ),
    unchecked(
        "EVD-06",
        "a benchmark of a version that does not attest itself",
        attempt(None, program="campaign bench 0.2.0"),
        "campaign bench 0.2.0 records nothing about its processes",
    ),
    unchecked(
        "EVD-06",
        "no JSON lines at all, of which nobody knows why",
        replace(attempt(None), outputs={"": replace(attempt(None).observation, binary_sha256=None)}),
        "campaign bench 0.3.0 has no bench.jsonl with its processes: the launcher did not pass BENCH_JSON to the "
        "ranks, or the file was removed",
    ),
    compliant("EVD-06", "an external benchmark", with_evidence()),
    broken(
        "EVD-06",
        "the output has no attestation, which campaign bench 0.3.0 always writes: lines were removed",
        attempt(replace(attestation(), groups=())),
        "the benchmark's record of its processes",
        "none",
    ),
    compliant("SRC-05", "the compiler that the program names", all_of(compiler="gcc 12.2.0")),
    broken(
        "SRC-05",
        "the build record names another compiler than the program itself",
        all_of(compiler="icx 2026"),
        "icx 2026",
        "gcc 12.2.0",
        FIRST,
    ),
    broken(
        "GEO-04",
        "LIBFAKE_HOST can fake nodes, names or times",
        attempt(attestation(group(variables={"LIBFAKE_HOST": "n2"}))),
        "not set",
        "n2",
    ),
    compliant("SRC-04", "ranks that loaded what the job's nodes found", all_of()),
    broken(
        "SRC-04",
        f"the ranks loaded different code: {LIBC}",
        all_of(GROUP, group(objects={LIBC: OTHER}, first_rank=4, first_node="n2")),
        "as on rank 0 (n1)",
        "as on rank 4 (n2)",
        FIRST,
    ),
    of_buyer(
        broken(
            "SRC-04",
            "the ranks loaded libraries that differ from those which the job recorded for the program",
            all_of(group(objects={LIBC: OTHER})),
            "/lib/libc.so.6",
            "not loaded, or with other content",
            FIRST,
        )
    ),
    unchecked(
        "SRC-04",
        "libraries that the job looked up with other variables than the launcher gave to the ranks",
        by_mpirun(group(objects={LIBC: OTHER}, variables={"LD_LIBRARY_PATH": "/opt/mpi/lib"})),
    ),
    compliant("SRC-04", "a library whose file could not be read", all_of(group(objects={LIBC: ""}))),
]

"""What a benchmark costs each rank, counted and not timed, and what that comes to with 100,000 ranks.

`bench-src/test/count_messages.c` counts the messages that each rank sends and receives, those of collective operations
too, and its memory, in the timed parts and between them. Collective operations use their logarithmic algorithms,
whatever MPI would choose: what grows with log2 of the ranks is then the benchmark's, and no table's in the library.
Each 4 ranks count as a node. Growth is a constant, or else the nearer of logarithm and proportion.
A row has messages of a rank in a phase and between two; bytes of memory for each rank, on rank 0 and on another.
`MDTEST=`, `IOR=` and `OSU_MBW_MR=` add upstream's programs. `RANKS=2,4,8` counts with these; `FULL=1` with up to 256,
of which MPI alone takes a minute to start on 2 processors.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, linear_regression

from tabulate import tabulate

from tests.bench.machine import BUILD, FULL, mdtests, tmpfs
from tests.bench.table import Row

RANKS = tuple(map(int, os.environ.get("RANKS", "8,16,32,64,128,256" if FULL else "8,16,32").split(",")))
MANY = 100_000
RANKS_ON_NODE = 4
LEAST_CALLS = 4  # for files, in a timed part
LIMIT_S = 300
RANK_0_BYTES = 64  # of memory, for each rank
BETWEEN = 2  # messages of a rank between two phases, times log2 of the ranks
MESSAGES_TOLERANCE, BYTES_TOLERANCE = 0.5, 24.0
LIBRARY = BUILD / "test" / "count_messages.so"
ALGORITHMS = {
    "allreduce": 3, "allgather": 3, "alltoall": 3, "barrier": 3, "bcast": 6, "exscan": 2, "gather": 2, "reduce": 5,
    "scan": 2, "scatter": 2,
}  # fmt: skip

Pair = tuple[float, float]  # of rank 0, and the most of any other


@dataclass(frozen=True)
class Part:
    """A timed part of a run, or what lies between two."""

    is_timed: bool
    messages: Pair  # the more of sent and received ones, without those of the barrier that ends it
    own_messages: Pair  # sent outside of collective operations
    bytes_sent: Pair
    program_bytes: Pair  # of memory, by which it rises from one collective operation to the next, added up
    library_bytes: Pair
    seconds: float


def parse_parts(text: str) -> list[Part]:
    return [
        Part(
            is_timed=part["timed"],
            messages=(
                max(part["messages_sent"][0], part["messages_received"][0]),
                max(part["messages_sent"][1], part["messages_received"][1]),
            ),
            own_messages=tuple(part["own_sent"]),
            bytes_sent=tuple(part["bytes_sent"]),
            program_bytes=tuple(part["program_bytes"]),
            library_bytes=tuple(part["library_bytes"]),
            seconds=part["seconds"],
        )
        for part in json.loads(text)["parts"]
    ]


@dataclass(frozen=True)
class Growth:
    """base + by_log · log2(ranks) + by_rank · ranks, of which at most one of the last two is not 0."""

    base: float
    by_log: float = 0
    by_rank: float = 0

    def at(self, ranks: int) -> float:
        return self.base + self.by_log * math.log2(ranks) + self.by_rank * ranks


def fit_growth(values: Mapping[int, float], tolerance: float) -> Growth:
    """A constant where no value is further away from it, else the nearer of logarithm and proportion."""
    mean = fmean(values.values())
    if max(abs(value - mean) for value in values.values()) <= tolerance:
        return Growth(mean)
    by_log = linear_regression([math.log2(ranks) for ranks in values], list(values.values()))
    by_rank = linear_regression(list(values), list(values.values()))
    growths = [Growth(by_log.intercept, by_log=by_log.slope), Growth(by_rank.intercept, by_rank=by_rank.slope)]
    return min(growths, key=lambda growth: max(abs(growth.at(ranks) - value) for ranks, value in values.items()))


@dataclass(frozen=True)
class Program:
    name: str
    command: Callable[[Path, int], list[object]]  # with a directory of its own and a number of ranks
    phases: int  # timed; what follows, such as removing files, is in no time
    messages: str = ""  # why there are some in the timed parts, and many between them
    has_files: bool = True


def mdtest(program: Path) -> Program:
    words = ["-F", "-n", 8, "-d"]
    return Program("mdtest", lambda directory, _: [program, *words, directory], phases=4)


def ior(program: Path) -> Program:
    words = ["-w", "-r", "-F", "-C", "-t", "4k", "-b", "32k", "-o"]
    return Program("ior", lambda directory, _: [program, *words, directory / "f"], phases=2)


def mbw_mr(program: Path) -> Program:
    words = ["-m", "8:16", "-x", 0, "-i", 2]
    return Program(
        "mbw_mr", lambda _directory, _: [program, *words], phases=4, messages="are what it measures", has_files=False
    )


def nfstest(directory: Path, _ranks: int) -> list[object]:
    return [BUILD / "nfstest", "n4", "ub", "m16384", "M16384", "b4096", f"f{directory}"]


def checkpoint(directory: Path, _ranks: int) -> list[object]:
    return [BUILD / "checkpoint", "-m", "32k", "-t", "4k", "-r", "-d", directory]


def mpiio(directory: Path, ranks: int) -> list[object]:
    """So slow that each rank gets a chunk."""
    sizes = ["-r", 1, "-b", 4096, "-c", 32768, "-s", 32768 * ranks, "--pace", "16K"]
    return [BUILD / "mpiio", "-a", "POSIX", *sizes, "--read", "--unlink", "-f", directory / "f"]


def find(directory: Path, _ranks: int) -> list[object]:
    """In the same tree whatever the number of ranks: what rank 0 finds there is not what they cost."""
    for number in range(8 * max(RANKS)):
        folder = directory / str(number // 8)
        folder.mkdir(exist_ok=True)
        (folder / str(number % 8)).touch()
    return [BUILD / "find", "-s", 0, "-d", directory]


OWN = [
    mdtest(BUILD / "mdtest"),
    ior(BUILD / "ior"),
    Program("nfstest", nfstest, phases=2),
    Program("checkpoint", checkpoint, phases=2),
    mbw_mr(BUILD / "mbw_mr"),
    Program("mpiio", mpiio, phases=2, messages="ask rank 0 for chunks"),
    Program("find", find, phases=1, messages="share out names"),
]


def peers() -> Iterator[Program]:
    yield from map(mdtest, mdtests()[:1])
    for name, make in (("IOR", ior), ("OSU_MBW_MR", mbw_mr)):
        if path := os.environ.get(name):
            yield make(Path(path))


def count(program: Program, ranks: int, folder: Path) -> list[Part]:
    directory, file = folder / "d", folder / "counts.json"
    directory.mkdir()
    command = program.command(directory, ranks)
    settings = {f"OMPI_MCA_coll_tuned_{name}_algorithm": str(number) for name, number in ALGORITHMS.items()} | {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_pml_monitoring_enable": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "COUNT_FILE": str(file), "COUNT_LEAST": str(LEAST_CALLS),
    }  # fmt: skip
    if program.has_files:
        settings["COUNT_DIRECTORY"] = str(directory)
    node = f'export SLURMD_NODENAME=n$((OMPI_COMM_WORLD_RANK / {RANKS_ON_NODE})); exec "$@"'
    launcher = ["mpirun", "--oversubscribe", "-np", ranks, "-x", f"LD_PRELOAD={LIBRARY}", "sh", "-c", node, "sh"]
    process = subprocess.run(
        [*map(str, [*launcher, *command])], env=os.environ | settings, capture_output=True, text=True, timeout=LIMIT_S
    )
    shutil.rmtree(directory)
    if process.returncode != 0:
        raise SystemExit(
            f"{command[0]} with {ranks} ranks ended with status {process.returncode}:\n{process.stderr[:2000]}"
        )
    return parse_parts(file.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Costs:
    """How a program's costs grow with the ranks."""

    inside: Growth  # messages of a rank in a timed part
    between: Growth  # messages of a rank between two phases
    memory: tuple[Growth, Growth]  # bytes of rank 0, and of another: of the part where they grow most

    @property
    def text(self) -> str:
        rank_0, other_rank = (f"{growth.by_rank:.0f}" for growth in self.memory)
        messages = (f"{growth.at(MANY):,.0f}" for growth in (self.inside, self.between))
        return f"{', '.join(messages)}; {rank_0}, {other_rank}"


def costs_of(program: Program, counts: Mapping[int, list[Part]]) -> Costs:
    """From the counts by number of ranks."""
    timed = {ranks: [at for at, part in enumerate(parts) if part.is_timed] for ranks, parts in counts.items()}
    if short_counts := [ranks for ranks, places in timed.items() if len(places) < program.phases]:
        raise SystemExit(f"{program.name}: fewer than {program.phases} timed parts with {short_counts} ranks")
    first, last = timed[min(timed)][0], timed[min(timed)][program.phases - 1]

    def messages(places: Iterable[int]) -> Growth:
        of_ranks = {
            ranks: max((max(parts[at].messages) for at in places), default=0) for ranks, parts in counts.items()
        }
        return fit_growth(of_ranks, MESSAGES_TOLERANCE)

    def memory(of_others: bool) -> Growth:
        growths = [
            fit_growth({ranks: parts[at].program_bytes[of_others] for ranks, parts in counts.items()}, BYTES_TOLERANCE)
            for at in range(last + 2)
        ]
        return max(growths, key=lambda growth: growth.by_rank)

    phases = range(first, last + 1, 2)
    return Costs(messages(phases), messages(range(first + 1, last, 2)), (memory(False), memory(True)))


def is_missed(program: Program, costs: Costs) -> bool:
    rank_0, other_rank = (growth.by_rank for growth in costs.memory)
    is_talkative = costs.inside.at(MANY) > 0 or costs.between.at(MANY) > BETWEEN * math.log2(MANY) + 1
    return rank_0 > RANK_0_BYTES or other_rank > 0 or (is_talkative and not program.messages)


def measured_costs(programs: Iterable[Program], folder: Path) -> dict[str, Costs]:
    costs = {}
    for program in programs:
        counts = {ranks: count(program, ranks, folder) for ranks in RANKS}
        costs[program.name] = costs_of(program, counts)
        body = [
            [
                ranks,
                at,
                "timed" if part.is_timed else "",
                part.seconds,
                *part.messages,
                *part.bytes_sent,
                *part.program_bytes,
            ]
            for ranks, parts in counts.items()
            for at, part in enumerate(parts)
        ]
        headers = ["ranks", "part", "", "s", "messages of rank 0", "of others", "bytes sent by rank 0", "by others",
                   "memory of rank 0", "of others"]  # fmt: skip
        print(f"{program.name}: {costs[program.name]}\n{tabulate(body, headers, floatfmt='.3f')}", flush=True)
    return costs


def main() -> Iterator[Row]:
    subprocess.run(["make", "--silent", "-C", BUILD.parent, "build/test/count_messages.so"], check=True, timeout=60)
    with tmpfs() as folder:
        theirs = measured_costs(peers(), folder)
        own_costs = measured_costs(OWN, folder)
    limit = f"0, {BETWEEN * math.log2(MANY):.0f}; {RANK_0_BYTES}, 0"
    for program in OWN:
        costs = own_costs[program.name]
        yield Row(
            f"{program.name}, {MANY:,} ranks{': messages ' if program.messages else ''}{program.messages}",
            f"any; {RANK_0_BYTES}, 0" if program.messages else limit,
            costs.text,
            theirs[program.name].text if program.name in theirs else "",
            missed=is_missed(program, costs),
        )

"""What an operation costs each applet beside a bare loop, in figures that no other work on the machine moves.

A simulator (valgrind's callgrind) runs both with two numbers of operations; the differences, divided by the operations
between them, contain nothing of start and end: instructions, loads and stores, calls of libraries, system calls,
allocations, and the lines of the first-level cache with code and with data that an operation uses. Most virtual
machines have no counters of the processor, and with Debian's settings only root may read them; these figures are the
same wherever the compiler is. What the MPI library does by itself is not in them: how often it looks for messages
depends on the machine's load.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tabulate import tabulate

from tests.bench.machine import BUILD, tmpfs
from tests.bench.table import Row

LINE_BYTES = 64
ALLOCATIONS = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "mmap", "mmap64"}

Command = Callable[[Path, int], list[object]]  # of a directory and a count
Cost = dict[str, float]  # of one operation, by figure


@dataclass(frozen=True)
class Case:
    phases: list[str]
    applet: Command
    loop: Command
    functions: tuple[str, str]  # of the applet and of the loop; each call of it is one of the phases
    extra: tuple[int, int, int, int]  # instructions, accesses, lines of code and of data that the applet may have more
    counts: tuple[int, int] = (1000, 3000)
    per_count: int = 1  # operations for each of the count
    processes: int = 1
    calls: int = 0  # of libraries that it may have more
    libc: bool = True  # what the C library does counts: not where another library calls it
    modules: tuple[str, ...] = ()  # which the applet loads: counted with it

    def bars(self) -> Cost:
        instructions, accesses, code, data = self.extra
        return {
            "instructions": instructions,
            "loads and stores": accesses,
            "library calls": self.calls,
            "system calls": 0.5,  # some are counted for a thread of the MPI library that then runs
            "allocations": 0,
            "code lines": code,
            "data lines": data,
        }


def mdtest(directory: Path, count: int) -> list[object]:
    return [BUILD / "mdtest", "-F", "-C", "-T", "-r", "-n", count, "-d", directory]


def mdtest_loop(directory: Path, count: int) -> list[object]:
    return [BUILD / "limits" / "mdtest_loop", directory, count]


def ior(*options: object) -> Command:
    words = ["-w", "-r", "-F", "-t", 4096, *options]
    return lambda directory, count: [BUILD / "ior", *words, "-b", 4096 * count, "-o", directory / "f"]


def ior_loop(*words: str) -> Command:
    return lambda directory, count: [BUILD / "limits" / "ior_loop", directory / "f", 4096, 4096 * count, 1, *words]


def mbw_mr(_directory: Path, count: int) -> list[object]:
    return [BUILD / "mbw_mr", "-m", "8:8", "-x", 1, "-i", count]


def mbw_mr_loop(_directory: Path, count: int) -> list[object]:
    return [BUILD / "limits" / "mbw_mr_loop", 8, 8, count, 1]


def nfstest(directory: Path, count: int) -> list[object]:
    return [BUILD / "nfstest", "n1", "ub", f"m{4096 * count}", f"M{4096 * count}", "b4096", "d1", f"f{directory}"]


def checkpoint(directory: Path, count: int) -> list[object]:
    return [BUILD / "checkpoint", "-m", 4096 * count, "-t", 4096, "-r", "-d", directory]


def mpiio(directory: Path, count: int) -> list[object]:
    return [BUILD / "mpiio", "-a", "POSIX", "-r", 1, "-b", 4096, "-s", 4096 * count, "--read", "-f", directory / "f"]


def of_files(program: Path, *options: object) -> Command:
    """A walk over so many files, which it makes."""

    def command(directory: Path, count: int) -> list[object]:
        for number in range(count):
            (directory / f"file.{number}").touch()
        return [program, *options, directory]

    return command


MDTEST_FUNCTIONS = ("mdtest_phase_items", "measure")
IOR_PHASES = ["write 4 KiB", "read 4 KiB"]
IOR_FUNCTIONS = ("ior_move", "measure")
# Where a linker puts a loop, and the stack lies, decides about two lines of code and of data.
CASES = {
    "mdtest": Case(["create", "stat", "remove"], mdtest, mdtest_loop, MDTEST_FUNCTIONS, extra=(5, 2, 3, 3)),
    "ior": Case(IOR_PHASES, ior(), ior_loop(), IOR_FUNCTIONS, extra=(55, 20, 7, 7)),
    "ior -z": Case(
        IOR_PHASES,
        ior("-z"),
        ior_loop("random"),
        IOR_FUNCTIONS,
        extra=(130, 45, 18, 9),
        counts=(1024, 4096),
    ),
    "ior -a HDF5": Case(  # without what the libraries of HDF5 and MPI do
        IOR_PHASES,
        ior("-a", "HDF5"),
        ior_loop(),
        IOR_FUNCTIONS,
        extra=(180, 80, 24, 18),
        calls=3,
        libc=False,
        modules=("hdf5.so",),
    ),
    "nfstest": Case(IOR_PHASES, nfstest, ior_loop(), ("do_files", "measure"), extra=(30, 10, 7, 4)),
    "checkpoint": Case(IOR_PHASES, checkpoint, ior_loop(), ("image_move", "measure"), extra=(90, 40, 11, 4)),
    "mpiio": Case(IOR_PHASES, mpiio, ior_loop("clock"), ("work", "measure"), extra=(350, 150, 32, 18)),
    "find": Case(
        ["entry"],
        of_files(BUILD / "find", "-d"),
        of_files(BUILD / "limits" / "find_loop"),
        ("walk_tree", "measure"),
        extra=(450, 250, 30, 8),
        calls=11,  # comparing and copying names
    ),
    "mbw_mr": Case(
        ["send and receive 8 B"],
        mbw_mr,
        mbw_mr_loop,
        ("mbw_point_measure", "measure"),
        extra=(5, 8, 3, 4),
        counts=(20, 60),
        per_count=64,
        processes=2,
        libc=False,
    ),
}


@dataclass
class Part:
    """Of callgrind's output, for one call of the function."""

    events: Counter[str] = field(default_factory=Counter)
    code: Counter[tuple[str, int]] = field(default_factory=Counter)  # instructions by object and line of code


def read(path: Path, program: set[str], libc: bool, part: Part) -> None:
    """Adds what the program's objects, and the C library for them, did by themselves."""
    names: list[str] = []
    owner, callee, called_object = "", "", ""
    calls: int | None = None
    for line in path.read_text().splitlines():
        key, _, value = line.partition("=")
        if line.startswith("events: "):
            names = line.split()[1:]
        elif key == "ob":
            owner = Path(value).name
        elif key == "cob":
            called_object = Path(value).name
        elif key == "cfn":
            callee = value
        elif key == "calls":
            calls = int(value.split()[0])
        elif line.startswith("0x"):
            is_own = owner in program or (libc and owner.startswith("libc.so"))
            address, _line, *numbers = line.split()
            if is_own and calls is None:
                part.events.update(dict(zip(names, map(int, numbers), strict=False)))
                part.code[owner, int(address, 16) // LINE_BYTES] += int(numbers[0])
            elif is_own and calls is not None and int(numbers[0]) > 0:  # 0: before the phase or after it
                part.events["calls"] += calls if owner in program and called_object not in {"", *program} else 0
                part.events["allocations"] += calls if callee in ALLOCATIONS else 0
            callee, called_object, calls = "", "", None


def run(case: Case, command: list[object], function: str) -> list[Part]:
    """What each phase was, over all processes."""
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        simulator = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/%p"]
        simulator += ["--compress-strings=no", "--compress-pos=no", "--dump-instr=yes", "--collect-systime=yes"]
        simulator += ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"]
        simulator += [f"--toggle-collect={function}", f"--dump-after={function}"]
        simulator += ["--instr-atstart=no"] if function == case.functions[0] else []  # see cold_cache.c
        launcher = ["mpirun", "--oversubscribe", "-np", str(case.processes)] if case.processes > 1 else []
        cold_cache = ["env", f"LD_PRELOAD={BUILD / 'test' / 'cold_cache.so'}"]
        subprocess.run(
            [*launcher, *cold_cache, *simulator, *map(str, command)],
            env=os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
            capture_output=True,
            check=True,
            timeout=300,
        )
        parts = [Part() for _phase in case.phases]
        for number, part in enumerate(parts, 1):
            files = list(Path(scratch).glob(f"*.{number}"))
            if len(files) != case.processes:
                raise SystemExit(f"{command[0]}: {function} was not called {len(parts)} times by each process")
            for file in files:
                read(file, {Path(str(command[0])).resolve().name, *case.modules}, case.libc, part)
        return parts


def costs(case: Case, command: Command, function: str) -> list[Cost]:
    """Of an operation in each phase."""

    def count_parts(count: int) -> list[Part]:
        with tmpfs() as directory:
            return run(case, command(directory, count), function)

    with ThreadPoolExecutor(len(case.counts)) as pool:
        runs = list(pool.map(count_parts, case.counts))
    operations = case.per_count * (case.counts[1] - case.counts[0])
    costs_of_phases = []
    for small, large in zip(*runs, strict=True):
        fields = {name: (large.events[name] - small.events[name]) / operations for name in large.events}
        accesses = fields.get("Dr", 0) + fields.get("Dw", 0)
        data_lines = fields.get("D1mr", 0) + fields.get("D1mw", 0)
        code_lines = sum(large.code[line] - small.code[line] > operations / 2 for line in large.code)
        counted_calls = [fields.get(name, 0) for name in ("calls", "sysCount", "allocations")]
        costs_of_phases.append(
            dict(zip(case.bars(), [fields["Ir"], accesses, *counted_calls, code_lines, data_lines], strict=True))
        )
    return costs_of_phases


@cache
def extra_costs(name: str) -> list[Cost]:
    """What the applet has more than the loop, in each phase; prints the table of the case."""
    subprocess.run(["make", "--silent", "-C", BUILD.parent, "build/test/cold_cache.so"], check=True, timeout=60)
    case = CASES[name]
    applet, loop = costs(case, case.applet, case.functions[0]), costs(case, case.loop, case.functions[1])
    differences, body = list[Cost](), []
    for phase, own_values, bare in zip(case.phases, applet, loop, strict=True):
        differences.append({figure: own_values[figure] - bare[figure] for figure in case.bars()})
        for figure, bar in case.bars().items():
            body.append([phase, figure, bare[figure], own_values[figure], differences[-1][figure], bar])
            phase = ""
    headers = [name, "of each operation", "bare loop", "applet", "more", "bar"]
    print(f"{tabulate(body, headers, floatfmt='.1f')}\n", flush=True)
    return differences


def costs_text(name: str, figure: str = "instructions") -> str:
    """Of each phase, and the bar."""
    return f"{', '.join(f'{round(cost[figure])}' for cost in extra_costs(name))} (≤ {CASES[name].bars()[figure]:g})"


def main() -> Iterator[Row]:
    for name, case in CASES.items():
        if lacking := [module for module in case.modules if not (BUILD / module).exists()]:
            yield Row(f"{name} beyond the bare loop", us=f"not measured: built without {' '.join(lacking)}")
            continue
        above = [
            figure
            for figure, bar in case.bars().items()
            if any(cost[figure] > bar + 0.05 for cost in extra_costs(name))  # what happens once in some operations
        ]
        yield Row(
            f"{name} beyond the bare loop: {', '.join(case.phases)}; cache lines of data",
            f"≤ {case.bars()['data lines']:g}",
            "; ".join(
                [
                    costs_text(name, "data lines").partition(" (")[0],
                    *(f"{figure} {costs_text(name, figure)}" for figure in above),
                ]
            ),
            instructions=costs_text(name),
            missed=bool(above),
        )

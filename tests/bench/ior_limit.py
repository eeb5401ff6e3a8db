"""The ior applet against a bare loop of the same writes and reads: in order and random, with a stonewall, many ranks.

The programs take turns; a turn repeats its test several times, and the best repetition counts, since other work on the
machine can only slow one down. The figure is the median, over the rounds, of the ratio of two neighbouring turns, since
the speed of the machine drifts; the spread is from the lowest round to the highest. Each case has its share of five
minutes and at least three rounds, so that a slow machine has fewer; its rows are printed when it ends.
`IOR=/path/to/ior` adds an upstream binary's columns. Then: what the harness costs without any storage, and which share
of the timed part making the data and asking about the page cache take outside it. ext4 is mounted from an image file,
which needs root.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.mdtest_limit import BUILD, journaled_ext4, mpirun, tmpfs, watch_other_work

BAR = 0.98
OUTSIDE_BAR = 0.01  # of the timed part, for making data and looking at the page cache
SECONDS = 300  # for all cases
ROUNDS = 7  # at most
FEWEST_ROUNDS = 3
REPETITIONS = 3
MIB = 1 << 20
MANY = 8  # more than there are cores on the machines that this runs on: no bar

Rates = dict[str, float]


@dataclass(frozen=True)
class Case:
    """What is moved where. mib is for all processes together: phases of tens of milliseconds and more."""

    file_system: str
    transfer: int
    mib: int
    what: str = ""
    words: tuple[str, ...] = ()  # of the loop
    options: tuple[object, ...] = ()  # of ior
    processes: tuple[int, ...] = (1, 2)
    bar: float | None = BAR
    one_file: bool = False

    @property
    def label(self) -> str:
        size = "1 MiB" if self.transfer == MIB else "4 KiB"
        return f"{self.file_system} {size} {self.what}".strip()

    def loop_arguments(self, path: Path, processes: int) -> list[object]:
        shared = ["shared"] if self.one_file else []
        return [path, self.transfer, self.mib * MIB // processes, REPETITIONS, *self.words, *shared]

    def ior_arguments(self, path: Path, processes: int) -> list[object]:
        size = self.mib * MIB // processes
        own = [] if self.one_file else ["-F"]
        return ["-w", "-r", *own, "-t", self.transfer, "-b", size, "-o", path, "-i", REPETITIONS, *self.options]


CASES = [
    Case("tmpfs", MIB, 128),
    Case("tmpfs", 4096, 64),
    Case("ext4", MIB, 256),
    Case("ext4", 4096, 128),
    Case("ext4", MIB, 128, "fsync", ("fsync",), ("-e",)),
    Case("ext4", 4096, 64, "fsync", ("fsync",), ("-e",)),
    Case("ext4", MIB, 256, "O_DIRECT", ("direct",), ("--posix.odirect",)),
    Case("ext4", 4096, 16, "O_DIRECT", ("direct",), ("--posix.odirect",)),
    Case("tmpfs", 4096, 64, "random", ("random",), ("-z",)),
    Case("ext4", 4096, 16, "random, O_DIRECT", ("random", "direct"), ("-z", "--posix.odirect")),
    Case("tmpfs", 4096, 64, "stonewall", ("clock",), ("-D", 1000)),
    Case("tmpfs", MIB, 128, "one file", processes=(MANY,), bar=None, one_file=True),
    Case("tmpfs", 4096, 64, "one file", processes=(MANY,), bar=None, one_file=True),
    Case("tmpfs", MIB, 128, "HDF5", options=("-a", "HDF5"), bar=None),  # the loop is that of POSIX
]


@dataclass(frozen=True)
class Phase:
    """The best of the applet's repetitions, and which share of their timed parts it spent outside them."""

    rate: float
    outside: float


def phases(processes: int, arguments: Sequence[object], lines: Path) -> dict[str, Phase]:
    """What the applet says of its writes and its reads."""
    mpirun(processes, [BUILD / "ior", *arguments, "--json", lines])
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    seen = {}
    for operation in ("write", "read"):
        repetitions = [line for line in found if line["type"] == "phase" and line["operation"] == operation]
        timed = sum(line["elapsed_s"] for line in repetitions)
        outside = sum(line["prepare_s"] + line["cache_check_s"] for line in repetitions)
        seen[operation] = Phase(max(line["rate_mib_s"] for line in repetitions), outside / timed)
    return seen


def printed_rates(reply: str) -> Rates:
    """The best bandwidths that the bare loop, or the rows of an IOR's table, show."""
    best: Rates = {}
    for operation, rate in re.findall(
        r"^(write|read) +([\d.]+)(?: |$)", reply.split("Summary of all")[0], re.MULTILINE
    ):
        best[operation] = max(float(rate), best.get(operation, 0.0))
    return best


@dataclass
class Rounds:
    rates: dict[str, list[Rates]] = field(default_factory=dict)  # of every program
    outside: dict[str, list[float]] = field(default_factory=dict)  # shares of the applet's phases

    def ratios(self, name: str, operation: str) -> list[float]:
        pairs = zip(self.rates[name], self.rates["bare loop"], strict=True)
        return [own[operation] / loop[operation] for own, loop in pairs]


def compare(case: Case, directory: Path, processes: int, upstream: str | None, seconds: float) -> Rounds:
    """As many rounds as the seconds allow. The first repetition of a turn warms up, since the best one counts."""
    path, lines = directory / "f", directory / "bench.jsonl"
    found = Rounds()
    until = time.monotonic() + seconds
    for number in range(ROUNDS):
        if number >= FEWEST_ROUNDS and time.monotonic() > until:
            break
        seen: dict[str, Rates] = {}
        for name in ("bare loop", "applet") if number % 2 else ("applet", "bare loop"):
            if name == "bare loop":
                reply = mpirun(processes, [BUILD / "limits" / "ior_loop", *case.loop_arguments(path, processes)])
                seen[name] = printed_rates(reply)
                continue
            by_operation = phases(processes, case.ior_arguments(path, processes), lines)
            seen[name] = {operation: phase.rate for operation, phase in by_operation.items()}
            for operation, phase in by_operation.items():
                found.outside.setdefault(operation, []).append(phase.outside)
        if upstream is not None:
            try:
                seen["upstream"] = printed_rates(mpirun(processes, [upstream, *case.ior_arguments(path, processes)]))
            except subprocess.CalledProcessError:  # it was built without this back end
                upstream = None
        for name, rates in seen.items():
            found.rates.setdefault(name, []).append(rates)
    return found


def can_run(case: Case) -> bool:
    if "HDF5" not in case.options or (BUILD / "hdf5.so").exists():
        return True
    print(f"{case.label}: not measured: the benchmark was built without HDF5")
    return False


def print_rates(directories: dict[str, Path | None]) -> int:
    upstream = os.environ.get("IOR")
    names = ["applet", *(["upstream"] if upstream else [])]
    row = "{:<27} {:>5} {:<6} {:>6} {:>12}" + " {:>14} {:>6} {:<14}" * len(names) + " {:>5}"
    columns = [column for name in names for column in (f"{name} MiB/s", "ratio", "of rounds")]
    print(row.format("", "ranks", "phase", "rounds", "loop MiB/s", *columns, "bar"), flush=True)
    turns = [(case, processes) for case in CASES if can_run(case) for processes in case.processes]
    missed, worst_outside = 0, 0.0
    for case, processes in turns:
        directory = directories[case.file_system]
        if directory is None:
            print(f"{case.label}: not measured: mounting an image needs root, and mkfs.ext4")
            continue
        found = compare(case, directory, processes, upstream, SECONDS / len(turns))
        if case.bar is not None:
            worst_outside = max(worst_outside, *map(statistics.median, found.outside.values()))
        for operation in ("write", "read"):
            medians = {name: statistics.median(r[operation] for r in rates) for name, rates in found.rates.items()}
            cells: list[object] = []
            for name in names:
                if name not in found.rates:
                    cells += ["not run", "", ""]
                    continue
                ratios = found.ratios(name, operation)
                spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
                cells += [f"{medians[name]:,.0f}", f"{statistics.median(ratios):.3f}", spread]
            missed += case.bar is not None and statistics.median(found.ratios("applet", operation)) < case.bar
            loop = [len(found.rates["bare loop"]), f"{medians['bare loop']:,.0f}"]
            print(row.format(case.label, processes, operation, *loop, *cells, case.bar or ""), flush=True)
    print(f"data and page cache, outside the timed part: at most {worst_outside:.2%} of it (bar {OUTSIDE_BAR:.0%})")
    return missed + (worst_outside > OUTSIDE_BAR)


def print_harness(directory: Path) -> None:
    """What the loop costs beside the store's own work."""
    arguments = ["-a", "DUMMY", "-w", "-r", "-t", 4096, "-b", "16g", "-o", directory / "f"]
    found = phases(1, arguments, directory / "bench.jsonl")
    costs = [f"{operation} {4096 / (phase.rate * MIB) * 1e9:.1f} ns" for operation, phase in found.items()]
    print(f"the harness without storage, for a transfer of 4 KiB: {', '.join(costs)}")


def main() -> int:
    with tmpfs() as memory, journaled_ext4() as disk:
        assert memory is not None
        with watch_other_work():
            missed = print_rates({"tmpfs": memory, "ext4": disk})
        print_harness(memory)
    return missed

"""The ior applet against a bare loop of the same writes and reads: in order and random, with a stonewall, many ranks.

The programs take turns; a turn repeats its test several times, and the best repetition counts, since other work on the
machine can only slow one down. The figure is the median, over the rounds, of the ratio of two neighbouring turns, since
the speed of the machine drifts, within its 95% interval; a bar is missed where the whole interval is below it. A case
ends after six rounds if its intervals are wholly on one side of the bar, and otherwise when its share of the time is
over; its rows are printed when it ends. `IOR=/path/to/ior` adds an upstream binary's columns, of three rounds. Then:
what the harness costs without any storage, and which share of the timed part making the data and asking about the page
cache take outside it. ext4 is mounted from an image file, which needs root.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import instructions
from tests.bench.machine import (
    BUILD,
    Middle,
    Rates,
    journaled_ext4,
    medians,
    mpirun,
    ratios_of,
    spreads,
    tmpfs,
    watch_other_work,
)
from tests.bench.table import Row

BAR = 0.98
OUTSIDE_BAR = 0.03  # of the timed part of files this small, for making data and looking at the page cache
SECONDS = 260  # for all cases
ROUNDS = 12  # at most
FEWEST_ROUNDS = 6  # what an interval needs
ROUNDS_WITHOUT_BAR = 3  # also of the upstream program
REPETITIONS = 3
OPERATIONS = ("write", "read")
MIB = 1 << 20
MANY = 8  # more than there are cores on the machines that this runs on: no bar


@dataclass(frozen=True)
class Case:
    """What is moved where. mib is for all processes together: phases of tens of milliseconds and more."""

    file_system: str
    transfer: int
    mib: int
    variant: str = ""
    words: tuple[str, ...] = ()  # of the loop
    options: tuple[str, ...] = ()  # of ior
    processes: tuple[int, ...] = (1, 2)
    bar: float | None = BAR
    one_file: bool = False

    @property
    def label(self) -> str:
        size = "1 MiB" if self.transfer == MIB else "4 KiB"
        return f"{self.file_system} {size} {self.variant}".strip()

    def loop_arguments(self, path: Path, processes: int) -> list[object]:
        layout = ["shared"] if self.one_file else []
        return [path, self.transfer, self.mib * MIB // processes, REPETITIONS, *self.words, *layout]

    def ior_arguments(self, path: Path, processes: int) -> list[object]:
        size = self.mib * MIB // processes
        flags = [] if self.one_file else ["-F"]
        return ["-w", "-r", *flags, "-t", self.transfer, "-b", size, "-o", path, "-i", REPETITIONS, *self.options]


CASES = [
    Case("tmpfs", MIB, 128),
    Case("tmpfs", 4096, 32),
    Case("ext4", MIB, 96),
    Case("ext4", 4096, 48),
    Case("ext4", MIB, 48, "fsync", ("fsync",), ("-e",)),
    Case("ext4", 4096, 32, "fsync", ("fsync",), ("-e",)),
    Case("ext4", MIB, 96, "O_DIRECT", ("direct",), ("--posix.odirect",)),
    Case("ext4", 4096, 8, "O_DIRECT", ("direct",), ("--posix.odirect",)),
    Case("tmpfs", 4096, 32, "random", ("random",), ("-z",)),
    Case("ext4", 4096, 8, "random, O_DIRECT", ("random", "direct"), ("-z", "--posix.odirect")),
    Case("tmpfs", 4096, 32, "stonewall", ("clock",), ("-D", "1000")),
    Case("tmpfs", MIB, 128, "one file", processes=(MANY,), bar=None, one_file=True),
    Case("tmpfs", 4096, 32, "one file", processes=(MANY,), bar=None, one_file=True),
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
    records = [json.loads(line) for line in lines.read_text().splitlines()]
    seen = {}
    for operation in OPERATIONS:
        repetitions = [line for line in records if line["type"] == "phase" and line["operation"] == operation]
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


class Rounds:
    """Of one case: the rates of every program, and shares outside the timed part of the applet's phases."""

    def __init__(self) -> None:
        self.rates: dict[str, list[Rates]] = {}
        self.outside: dict[str, list[float]] = {}

    def ratios(self, name: str) -> list[Middle]:
        return ratios_of(self.rates[name], self.rates["bare loop"], OPERATIONS)

    def is_decided(self, bar: float | None) -> bool:
        return bar is None or all(middle.low >= bar or middle.high < bar for middle in self.ratios("applet"))


def compare(case: Case, directory: Path, processes: int, upstream: str | None, deadline: float) -> Rounds:
    """The first repetition of a turn warms up, since the best one counts."""
    path, lines = directory / "f", directory / "bench.jsonl"
    rounds, fewest = Rounds(), ROUNDS_WITHOUT_BAR if case.bar is None else FEWEST_ROUNDS
    for number in range(ROUNDS):
        if number >= fewest and (rounds.is_decided(case.bar) or time.monotonic() > deadline):
            break
        for name in ("bare loop", "applet") if number % 2 else ("applet", "bare loop"):
            if name == "bare loop":
                loop = [BUILD / "limits" / "ior_loop", *case.loop_arguments(path, processes)]
                rounds.rates.setdefault(name, []).append(printed_rates(mpirun(processes, loop)))
                continue
            by_operation = phases(processes, case.ior_arguments(path, processes), lines)
            rates = {operation: phase.rate for operation, phase in by_operation.items()}
            rounds.rates.setdefault(name, []).append(rates)
            for operation, phase in by_operation.items():
                rounds.outside.setdefault(operation, []).append(phase.outside)
        if upstream and number < ROUNDS_WITHOUT_BAR:
            try:
                rates = printed_rates(mpirun(processes, [upstream, *case.ior_arguments(path, processes)]))
                rounds.rates.setdefault("upstream", []).append(rates)
            except subprocess.SubprocessError:  # it was built without this back end
                upstream = None
    return rounds


def row_of(case: Case, sequence: Sequence[Rounds]) -> Row:
    """With one of `found` for each number of processes."""
    applet_ratios = [rounds.ratios("applet") for rounds in sequence]
    upstream_ratios = [rounds.ratios("upstream") for rounds in sequence if "upstream" in rounds.rates]
    applet = {(): "ior", ("-z",): "ior -z"}.get(case.options) if case.transfer == 4096 and not case.one_file else None
    counts = " and ".join(map(str, case.processes))
    return Row(
        f"ior / bare loop, {case.label}, processes: {counts}: write, read",
        f"≥ {case.bar}" if case.bar else "",
        "; ".join(map(medians, applet_ratios)),
        "; ".join(map(medians, upstream_ratios)),
        "; ".join(map(spreads, applet_ratios)),
        instructions.costs_text(applet) if applet else "",
        case.bar is not None and any(middle.high < case.bar for ratios in applet_ratios for middle in ratios),
    )


def of_rates(directories: dict[str, Path | None]) -> Iterator[Row]:
    upstream = os.environ.get("IOR")
    names = ["applet", *(["upstream"] if upstream else [])]
    line = "{:<27} {:>5} {:<6} {:>6} {:>12}" + " {:>14} {:>6} {:<14}" * len(names) + " {:>5}"
    columns = [column for name in names for column in (f"{name} MiB/s", "ratio", "interval")]
    print(line.format("", "ranks", "phase", "rounds", "loop MiB/s", *columns, "bar"), flush=True)
    left, worst_outside = sum(len(case.processes) for case in CASES), 0.0
    ends = time.monotonic() + SECONDS
    for case in CASES:
        directory = directories[case.file_system]
        if directory is None or ("HDF5" in case.options and not (BUILD / "hdf5.so").exists()):
            yield Row(f"ior / bare loop, {case.label}", us="not measured: no ext4, or built without HDF5")
            left -= len(case.processes)
            continue
        of_case = []
        for processes in case.processes:
            began = time.monotonic()
            rounds = compare(case, directory, processes, upstream, began + (ends - began) / left)
            of_case.append(rounds)
            left -= 1
            if case.bar is not None:
                worst_outside = max(worst_outside, *map(statistics.median, rounds.outside.values()))
            for place, operation in enumerate(OPERATIONS):
                middle = {name: statistics.median(r[operation] for r in rates) for name, rates in rounds.rates.items()}
                cells: list[object] = [len(rounds.rates["bare loop"]), f"{middle['bare loop']:,.0f}"]
                for name in names:
                    if name in rounds.rates:
                        ratio = rounds.ratios(name)[place]
                        cells += [f"{middle[name]:,.0f}", f"{ratio.median:.3f}", ratio.spread]
                    else:
                        cells += ["not run", "", ""]
                print(line.format(case.label, processes, operation, *cells, case.bar or ""), flush=True)
        yield row_of(case, of_case)
    yield Row(
        "ior: making data and asking about the page cache, outside the timed part, as a share of it",
        f"≤ {OUTSIDE_BAR:.0%}",
        f"{worst_outside:.2%}",
        missed=worst_outside > OUTSIDE_BAR,
    )


def of_harness(directory: Path) -> Row:
    """What the loop costs beside the store's own work."""
    arguments = ["-a", "DUMMY", "-w", "-r", "-t", 4096, "-b", "16g", "-o", directory / "f"]
    found_phases = phases(1, arguments, directory / "bench.jsonl")
    costs = [f"{4096 / (found_phases[operation].rate * MIB) * 1e9:.1f} ns" for operation in OPERATIONS]
    return Row("ior without storage, a transfer of 4 KiB: write, read", us=", ".join(costs))


def main() -> Iterator[Row]:
    with tmpfs() as memory, journaled_ext4() as disk:
        with watch_other_work():
            yield from of_rates({"tmpfs": memory, "ext4": disk})
        yield of_harness(memory)

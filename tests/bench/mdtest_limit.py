"""The mdtest applet against a bare loop of the same system calls on the same paths, on tmpfs and journaled ext4.

The programs take turns; the figure is the median, over the rounds, of the ratio of two neighbouring turns, within its
95% interval, and a bar is missed where the whole interval is below it. What each operation costs, which no other work
moves, is in `instructions`. `MDTEST=/path/to/mdtest[:/another]` adds columns of upstream binaries. ext4 is mounted from
an image file, which needs root. Then: 64 ranks on this machine, and memory a rank, which must not grow with files, nor
with ranks more than the MPI library's own (the bare loop's) does.
"""

from __future__ import annotations

import json
import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from tests.bench import instructions
from tests.bench.machine import (
    BUILD,
    Rates,
    journaled_ext4,
    mdtests,
    medians,
    mpirun,
    ratios_of,
    spreads,
    tmpfs,
    watch_other_work,
)
from tests.bench.table import Row

BAR = 0.97
ROUNDS, UPSTREAM_ROUNDS = 8, 3
FILES = {"tmpfs": 40_000, "ext4": 20_000}  # of all processes
OPERATIONS = {"create": "File creation", "stat": "File stat", "remove": "File removal"}
FILES_BAR_KIB = 256  # resident memory of the same program differs by about 100 KiB from run to run
# MPI keeps buffers for each peer that a rank has talked to: more in the applet than in the loop.
RANKS_BAR_KIB = 512


@dataclass(frozen=True)
class Program:
    """Something that creates, stats and removes files in a directory and says at which rates."""

    name: str
    path: Path

    def rates(self, directory: Path, processes: int, files: int) -> Rates:
        if self.name == "bare loop":
            reply = mpirun(processes, [self.path, directory, files])
            return {line.split()[0]: float(line.split()[1]) for line in reply.splitlines()}
        lines = directory.parent / "bench.jsonl"
        json_lines = ["--json", lines] if self.name == "applet" else []
        reply = mpirun(processes, [self.path, "-F", "-C", "-T", "-r", "-n", files, "-d", directory, *json_lines])
        if self.name == "applet":
            results = [json.loads(line) for line in lines.read_text().splitlines()]
            return {r["operation"]: r["max"] for r in results if r["type"] == "result" and r["object"] == "file"}
        matches = {
            name: re.search(rf"^ +{row} +:? *([0-9.]+)", reply, re.MULTILINE) for name, row in OPERATIONS.items()
        }
        return {name: float(match[1]) for name, match in matches.items() if match}


def compare(programs: list[Program], directory: Path, processes: int, files: int) -> dict[str, list[Rates]]:
    """Rates of every program in every round; the first round warms up and does not count."""
    rounds: dict[str, list[Rates]] = {program.name: [] for program in programs}
    for number in range(ROUNDS + 1):
        taking_part = programs if number <= UPSTREAM_ROUNDS else programs[:2]
        for program in taking_part if number % 2 else reversed(taking_part):
            rates = program.rates(directory, processes, files // processes)
            if number > 0:
                rounds[program.name].append(rates)
    return rounds


def of_rates() -> Iterator[Row]:
    programs = [Program("bare loop", BUILD / "limits" / "mdtest_loop"), Program("applet", BUILD / "mdtest")]
    programs += [Program(f"upstream {number}", path) for number, path in enumerate(mdtests(), 1)]
    names = [program.name for program in programs]
    headers = ["operation", *(f"{name} ops/s" for name in names), *(f"{name} / bare loop" for name in names[1:])]
    for label, file_system in (("tmpfs", tmpfs), ("ext4", journaled_ext4)):
        with file_system() as directory:
            if directory is None:
                continue
            (directory / "d").mkdir()
            for processes in (1, 2):
                rounds = compare(programs, directory / "d", processes, FILES[label])
                ratios = {name: ratios_of(rounds[name], rounds["bare loop"], OPERATIONS) for name in names[1:]}
                body = [
                    [
                        operation,
                        *(f"{statistics.median(rates[operation] for rates in rounds[name]):,.0f}" for name in names),
                        *(f"{ratio[place].median:.3f} ({ratio[place].spread})" for ratio in ratios.values()),
                    ]
                    for place, operation in enumerate(OPERATIONS)
                ]
                print(f"{label}, processes: {processes}; bar {BAR}")
                print(tabulate(body, headers, disable_numparse=True, stralign="right"), flush=True)
                own_middles = ratios["applet"]
                yield Row(
                    f"mdtest / bare loop, {label}, processes: {processes}: {', '.join(OPERATIONS)}",
                    f"≥ {BAR}",
                    medians(own_middles),
                    "; ".join(medians(ratios[name]) for name in names[2:]),
                    spreads(own_middles),
                    instructions.costs_text("mdtest"),
                    any(middle.high < BAR for middle in own_middles),
                )


def peak_kib(processes: int, command: list[object]) -> float:
    """Median over the ranks of the most memory each had resident."""
    reply = mpirun(processes, [BUILD / "limits" / "peak_memory", *command])
    return statistics.median(int(line.split()[1]) for line in reply.splitlines() if line.startswith("peak_kib"))


def of_memory() -> Iterator[Row]:
    body, peaks = [], {}
    with tmpfs() as directory:
        for processes, files in ((2, 100), (2, 100_000), (64, 100)):
            began = time.monotonic()
            words: list[object] = ["-F", "-C", "-T", "-r", "-R", "-n", files, "-N", "1", "-d", directory]
            applet = peak_kib(processes, [BUILD / "mdtest", *words])
            took = time.monotonic() - began
            loop = peak_kib(processes, [BUILD / "limits" / "mdtest_loop", directory, files])
            peaks[processes, files] = applet - loop
            body.append([str(processes), f"{files:,}", f"{applet:,.0f}", f"{loop:,.0f}", f"{took:.1f}"])
    headers = ["ranks", "files a rank", "applet KiB a rank", "bare loop KiB a rank", "applet s, start included"]
    print(tabulate(body, headers, disable_numparse=True, stralign="right"))
    for load, kib, bar in (
        ("1,000 times the files", peaks[2, 100_000] - peaks[2, 100], FILES_BAR_KIB),
        ("32 times the ranks", peaks[64, 100] - peaks[2, 100], RANKS_BAR_KIB),
    ):
        figure = f"memory of a rank of mdtest beyond the bare loop's, with {load}"
        yield Row(figure, f"≤ {bar} KiB", f"{kib:+,.0f} KiB", missed=kib > bar)


def main() -> Iterator[Row]:
    with watch_other_work():
        yield from of_rates()
    print()
    yield from of_memory()

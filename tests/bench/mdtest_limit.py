"""The mdtest applet against a bare loop of the same system calls on the same paths, on tmpfs and journaled ext4.

Runs of the programs alternate, and medians are compared; beside them is the middle half of the rounds' ratios. What
each operation costs, which no other work moves, is in `instructions`. `MDTEST=/path/to/mdtest[:/another]` adds columns
of upstream binaries. ext4 is mounted from an image file, which needs root. Then: 64 ranks on this machine, and memory a
rank, which must not grow with files, nor with ranks more than the MPI library's own (the bare loop's) does.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from tests.bench.upstream import mdtests

BUILD = Path(__file__).parents[2] / "bench-src" / "build"
BAR = 0.97
ROUNDS = 9
FILES = {"tmpfs": 100_000, "ext4, journal": 40_000}  # of all processes: phases of a tenth of a second and more
OPERATIONS = {"create": "File creation", "stat": "File stat", "remove": "File removal"}
FILES_BAR_KIB = 256  # resident memory of the same program differs by about 100 KiB from run to run
RANKS_BAR_KIB = (
    512  # and MPI keeps buffers for each peer that a rank has talked to: more in the applet than in the loop
)

Rates = dict[str, float]


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
        found = {name: re.search(rf"^ +{row} +:? *([0-9.]+)", reply, re.MULTILINE) for name, row in OPERATIONS.items()}
        return {name: float(match[1]) for name, match in found.items() if match}


def mpirun(processes: int, command: list[object]) -> str:
    settings = {"OMPI_MCA_mpi_yield_when_idle": "1"}
    if os.geteuid() == 0:
        settings |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(
        ["mpirun", "--oversubscribe", "-np", str(processes), *map(str, command)],
        env=os.environ | settings,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    ).stdout


@contextmanager
def tmpfs() -> Iterator[Path | None]:
    base = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="campaign-bench-", dir=base if base.is_dir() else None) as scratch:
        yield Path(scratch)


@contextmanager
def journaled_ext4() -> Iterator[Path | None]:
    """None where it cannot be mounted."""
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as scratch:
        image, mounted = Path(scratch) / "image", Path(scratch) / "mounted"
        mounted.mkdir()
        with image.open("wb") as file:
            file.truncate(4 << 30)
        make: list[str | Path] = [
            "mkfs.ext4",
            "-q",
            "-F",
            "-O",
            "has_journal",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
            image,
        ]
        mount: list[str | Path] = ["mount", "-o", "loop", image, mounted]
        tools = all(shutil.which(str(command[0])) for command in (make, mount))
        if not tools or any(subprocess.run(command, check=False).returncode for command in (make, mount)):
            yield None
            return
        try:
            yield mounted
        finally:
            subprocess.run(["umount", mounted], check=True)


def cpu_seconds() -> tuple[float, float]:
    """Of the whole machine, and of this process and the ended ones that it started."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    busy = (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")  # without idle and waiting for disks
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return busy, sum(usage.ru_utime + usage.ru_stime for usage in used)


@contextmanager
def watch_other_work() -> Iterator[None]:
    """Says afterwards how busy the processors were with something else: above a few percent, ratios are luck."""
    began, (busy, own) = time.monotonic(), cpu_seconds()
    yield
    busy_after, own_after = cpu_seconds()
    available = (time.monotonic() - began) * (os.cpu_count() or 1)
    share = max(0.0, (busy_after - busy) - (own_after - own)) / available
    print(f"processors busy with other work meanwhile: {share:.0%}{' (too much for ratios)' if share > 0.05 else ''}")


def compare(programs: list[Program], directory: Path, processes: int, files: int) -> dict[str, list[Rates]]:
    """Rates of every program in every round; the first round warms up and does not count."""
    rounds: dict[str, list[Rates]] = {program.name: [] for program in programs}
    for number in range(ROUNDS + 1):
        for program in programs if number % 2 else reversed(programs):
            rates = program.rates(directory, processes, files // processes)
            if number > 0:
                rounds[program.name].append(rates)
    return rounds


def rate_rows(programs: list[Program], label: str, directory: Path | None) -> tuple[list[list[str]], int]:
    if directory is None:
        return [[label, "", "not measured: mounting an image needs root, and mkfs.ext4"]], 0
    body, missed = [], 0
    (directory / "d").mkdir()
    for processes in (1, 2):
        rounds = compare(programs, directory / "d", processes, FILES[label])
        for operation in OPERATIONS:
            medians = {name: statistics.median(rates[operation] for rates in all_) for name, all_ in rounds.items()}
            limit = medians["bare loop"]
            missed += medians["applet"] < BAR * limit
            ratios = []
            for name in [program.name for program in programs if program.name != "bare loop"]:
                pairs = zip(rounds[name], rounds["bare loop"], strict=True)
                low, _median, high = statistics.quantiles(own[operation] / loop[operation] for own, loop in pairs)
                ratios.append(f"{medians[name] / limit:.3f} ({low:.2f} to {high:.2f})")
            body.append(
                [label, str(processes), operation, *(f"{medians[p.name]:,.0f}" for p in programs), *ratios, str(BAR)]
            )
    return body, missed


def print_rates() -> int:
    programs = [Program("bare loop", BUILD / "limits" / "mdtest_loop"), Program("applet", BUILD / "mdtest")]
    programs += [Program(f"upstream {number}", path) for number, path in enumerate(mdtests(), 1)]
    body, missed = [], 0
    for label, file_system in (("tmpfs", tmpfs), ("ext4, journal", journaled_ext4)):
        with file_system() as directory:
            rows, misses = rate_rows(programs, label, directory)
        body += rows
        missed += misses
    names = [program.name for program in programs]
    headers = ["file system", "processes", "operation", *(f"{name} ops/s" for name in names)]
    headers += [f"{name} / bare loop (rounds)" for name in names if name != "bare loop"]
    align = ["left", "right", "left", *["right"] * (2 * len(names))]
    print(tabulate(body, [*headers, "bar"], disable_numparse=True, colalign=align))
    return missed


def peak_kib(processes: int, command: list[object]) -> float:
    """Median over the ranks of the most memory each had resident."""
    reply = mpirun(processes, [BUILD / "limits" / "peak_memory", *command])
    return statistics.median(int(line.split()[1]) for line in reply.splitlines() if line.startswith("peak_kib"))


def print_memory() -> int:
    body, peaks = [], {}
    with tmpfs() as directory:
        for processes, files in ((2, 100), (2, 100_000), (64, 100)):
            began = time.monotonic()
            applet = peak_kib(
                processes,
                [BUILD / "mdtest", "-F", "-C", "-T", "-r", "-R", "-n", files, "-N", "1", "-d", directory],
            )
            took = time.monotonic() - began
            loop = peak_kib(processes, [BUILD / "limits" / "mdtest_loop", directory, files])
            peaks[processes, files] = applet - loop
            body.append([str(processes), f"{files:,}", f"{applet:,.0f}", f"{loop:,.0f}", f"{took:.1f}"])
    print(
        tabulate(
            body,
            ["ranks", "files a rank", "applet KiB a rank", "bare loop KiB a rank", "applet s, start included"],
            disable_numparse=True,
            stralign="right",
        )
    )
    growth = [
        ("1,000 times the files", peaks[2, 100_000] - peaks[2, 100], FILES_BAR_KIB),
        ("32 times the ranks", peaks[64, 100] - peaks[2, 100], RANKS_BAR_KIB),
    ]
    for what, kib, bar in growth:
        print(f"memory a rank beyond the bare loop's, with {what}: {kib:+,.0f} KiB (bar {bar} KiB)")
    return sum(kib > bar for _what, kib, bar in growth)


def main() -> int:
    with watch_other_work():
        missed = print_rates()
    print()
    return missed + print_memory()

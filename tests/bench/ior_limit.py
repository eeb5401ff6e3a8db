"""The ior applet against a bare loop of the same writes and reads: 1 MiB and 4 KiB, tmpfs and ext4, 1 and 2 processes.

The programs take turns; a turn repeats its test several times, and the best repetition counts, since other work on the
machine can only slow one down. The figure is the median, over the rounds, of the ratio of two neighbouring turns, since
the speed of the machine drifts. `IOR=/path/to/ior` adds an upstream binary's column. Then: what the harness costs
without any storage, and which share of the timed part making the data and asking about the page cache take outside it.
ext4 is mounted from an image file, which needs root.
"""

from __future__ import annotations

import json
import os
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from tests.bench.mdtest_limit import BUILD, journaled_ext4, mpirun, tmpfs, watch_other_work

BAR = 0.98
OUTSIDE_BAR = 0.01  # of the timed part, for making data and looking at the page cache
ROUNDS = 7
REPETITIONS = 5
MIB = 1 << 20

Rates = dict[str, float]


@dataclass(frozen=True)
class Case:
    """What is moved where. mib is for all processes together: phases of tens of milliseconds and more."""

    file_system: str
    transfer: int
    mib: int
    fsync: bool = False
    direct: bool = False

    @property
    def label(self) -> str:
        return self.file_system + (" + fsync" if self.fsync else "") + (" + O_DIRECT" if self.direct else "")

    def loop_arguments(self, path: Path, processes: int) -> list[object]:
        size = self.mib * MIB // processes
        return [path, self.transfer, size, REPETITIONS, *["direct"] * self.direct, *["fsync"] * self.fsync]

    def ior_arguments(self, path: Path, processes: int) -> list[object]:
        size = self.mib * MIB // processes
        options = [*["--posix.odirect"] * self.direct, *["-e"] * self.fsync]
        return ["-w", "-r", "-F", "-t", self.transfer, "-b", size, "-o", path, "-i", REPETITIONS, *options]


CASES = [
    Case("tmpfs", MIB, 512),
    Case("tmpfs", 4096, 256),
    Case("ext4", MIB, 1024),
    Case("ext4", 4096, 512),
    Case("ext4", MIB, 512, fsync=True),
    Case("ext4", 4096, 256, fsync=True),
    Case("ext4", MIB, 1024, direct=True),
    Case("ext4", 4096, 16, direct=True),
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


def compare(case: Case, directory: Path, processes: int, upstream: str | None) -> tuple[dict[str, list[Rates]], float]:
    """Rates of every program in every round, the first of which warms up and does not count; and the share of the timed
    part that the applet spent outside it: median over the rounds, of the phase in which it is larger."""
    path, lines = directory / "f", directory / "bench.jsonl"
    rounds: dict[str, list[Rates]] = {}
    outside: dict[str, list[float]] = {"write": [], "read": []}
    for number in range(ROUNDS + 1):
        seen: dict[str, Rates] = {}
        for name in ("bare loop", "applet") if number % 2 else ("applet", "bare loop"):
            if name == "bare loop":
                reply = mpirun(processes, [BUILD / "limits" / "ior_loop", *case.loop_arguments(path, processes)])
                seen[name] = printed_rates(reply)
                continue
            found = phases(processes, case.ior_arguments(path, processes), lines)
            seen[name] = {operation: phase.rate for operation, phase in found.items()}
            if number > 0:
                for operation, phase in found.items():
                    outside[operation].append(phase.outside)
        if upstream is not None:
            seen["upstream"] = printed_rates(mpirun(processes, [upstream, *case.ior_arguments(path, processes)]))
        if number > 0:
            for name, rates in seen.items():
                rounds.setdefault(name, []).append(rates)
    return rounds, max(statistics.median(shares) for shares in outside.values())


def ratio(rounds: dict[str, list[Rates]], name: str, operation: str) -> float:
    pairs = zip(rounds[name], rounds["bare loop"], strict=True)
    return statistics.median(own[operation] / loop[operation] for own, loop in pairs)


def print_rates(directories: dict[str, Path | None]) -> int:
    upstream = os.environ.get("IOR")
    names = ["bare loop", "applet", *(["upstream"] if upstream else [])]
    body: list[list[str]] = []
    missed, worst_outside = 0, 0.0
    for case in CASES:
        directory = directories[case.file_system]
        if directory is None:
            body.append([case.label, "", "", "not measured: mounting an image needs root, and mkfs.ext4"])
            continue
        for processes in (1, 2):
            rounds, outside = compare(case, directory, processes, upstream)
            worst_outside = max(worst_outside, outside)
            for operation in ("write", "read"):
                found = {name: ratio(rounds, name, operation) for name in names[1:]}
                missed += found["applet"] < BAR
                medians = [statistics.median(rates[operation] for rates in rounds[name]) for name in names]
                size = "1 MiB" if case.transfer == MIB else "4 KiB"
                row = [case.label, size, str(processes), operation, *(f"{median:,.0f}" for median in medians)]
                body.append([*row, *(f"{found[name]:.3f}" for name in names[1:]), str(BAR)])
    headers = ["file system", "transfer", "processes", "phase", *(f"{name} MiB/s" for name in names)]
    headers += [*(f"{name} / bare loop" for name in names[1:]), "bar"]
    align = ["left", "right", "right", "left", *["right"] * (len(headers) - 4)]
    print(tabulate(body, headers, disable_numparse=True, colalign=align))
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

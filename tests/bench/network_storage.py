"""mdtest on the sandbox's network storage, without and with a shift of one node, ours beside upstream's; and its start.

Programs and shifts alternate; what is printed as "stat, unshifted / shifted" is what caches of the creating node add.
`MDTEST=/path/to/mdtest[:/another]` adds upstream binaries, whose phases ours must match, since the system calls are the
same: the bar is missed where the whole interval of the median ratio of a round is below it. It holds for programs whose
rate is that of the slowest rank, as ours is. mdtest 1.x prints that of its fastest rank, the one that left the opening
barrier last: of stats that take 2 ms in all, more than the machine can perform.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tabulate import tabulate

from campaign.core.runs import Geometry
from campaign.plan import dialect
from campaign.results.parsers import mdtest_text
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from campaign.sandbox.storage import Storage
from campaign.slurm import commands
from tests.bench.machine import BUILD, Rates, mdtests, medians, ratios_of, spreads
from tests.bench.table import Row

NODES, PER_NODE, FILES = 4, 2, 150  # files of a process: a phase must be over before caches let go, after 1 s
ROUNDS = int(os.environ.get("ROUNDS", "6"))
BAR = 1.0
START_BAR_S = 5.0
OPERATIONS = ("create", "stat", "remove")
OF_FASTEST_RANK = "mdtest-1."
GEOMETRY = Geometry(NODES, NODES * PER_NODE)


@dataclass(frozen=True)
class Program:
    path: Path
    shift: int  # the -N that shifts by one node

    def run(self, shifted: bool, directory: Path) -> tuple[str, Rates]:
        """Its name and version, and its rates."""
        spread = [f"-N{NODES}", f"-n{GEOMETRY.processes}", f"--ntasks-per-node={PER_NODE}", "--distribution=block"]
        work = ["-F", "-C", "-T", "-r", "-n", FILES, "-N", self.shift if shifted else 0, "-d", directory]
        command = ["srun", "-Q", *spread, "--mpi=pmix", self.path, *work]
        process = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120)
        records, seen = mdtest_text.parse(process.stdout, str(self.path))
        rates = {record.operation: record.value for record in records}
        if process.returncode != 0 or not rates.keys() >= {*OPERATIONS}:
            raise SystemExit(f"{self.path} ended with status {process.returncode}:\n{process.stdout}\n{process.stderr}")
        return "ours" if self.path.parent == BUILD else seen.program, rates


def programs() -> list[Program]:
    paths = [BUILD / "mdtest", *mdtests()]
    return [
        Program(
            path,
            dialect.offset_argument(dialect.identify(path, lambda words, s: commands.call(words, s).out), GEOMETRY)[0],
        )
        for path in paths
    ]


def rates_of_programs(directory: Path) -> dict[tuple[str, bool], list[Rates]]:
    """Rates of each program, without and with the shift; the first round warms up and does not count."""
    rounds: dict[tuple[str, bool], list[Rates]] = {}
    variants = [(program, shifted) for program in programs() for shifted in (False, True)]
    for number in range(ROUNDS + 1):
        for program, shifted in variants if number % 2 else reversed(variants):
            name, rates = program.run(shifted, directory)
            if number > 0:
                rounds.setdefault((name, shifted), []).append(rates)
    return rounds


def of_rates(rounds: dict[tuple[str, bool], list[Rates]]) -> Iterator[Row]:
    names = sorted({name for name, _ in rounds}, key=lambda name: (name != "ours", name))
    confidence = 1 - 0.05 / max(1, 2 * len(OPERATIONS) * (len(names) - 1))  # of all ratios together: 95%
    body, rows = [], []
    for name in names:
        rates = {
            shifted: [statistics.median(turn[operation] for turn in rounds[name, shifted]) for operation in OPERATIONS]
            for shifted in (False, True)
        }
        for shifted, variant in ((False, "unshifted"), (True, "shifted")):
            factor = f"{rates[False][1] / rates[True][1]:.1f}" if shifted else ""
            body.append([name, "one node" if shifted else "0", *(f"{rate:,.0f}" for rate in rates[shifted]), factor])
            if name != "ours":
                ratios = ratios_of(rounds["ours", shifted], rounds[name, shifted], OPERATIONS, confidence)
                bar = not name.startswith(OF_FASTEST_RANK)
                rows.append(
                    Row(
                        f"mdtest / {name} on network storage, {variant}: {', '.join(OPERATIONS)}",
                        f"≥ {BAR:g}" if bar else "",
                        medians(ratios),
                        spread=spreads(ratios),
                        missed=bar and any(middle.high < BAR for middle in ratios),
                    )
                )
    headers = ["mdtest", "shift", *(f"{operation}/s" for operation in OPERATIONS), "stat, unshifted / shifted"]
    print(tabulate(body, headers, disable_numparse=True, colalign=["left", "left", *["right"] * 4]))
    yield from rows


def start_s(directory: Path, storage: Storage) -> float:
    began = time.monotonic()
    sandbox = Sandbox.start(directory, Shape(NODES, 8, storage=storage), os.getpid())
    took = time.monotonic() - began
    sandbox.stop()
    return took


def of_start(folder: Path) -> Row:
    kinds = {"plain": Storage(), "with storage": Storage(bricks=2)}
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(3):
        for kind, storage in kinds.items():
            times[kind].append(start_s(folder / "started", storage))
    plain, stored = (statistics.median(times[kind]) for kind in kinds)
    further_text = f"≤ {START_BAR_S:g} s more"
    return Row("start of the sandbox, with network storage", further_text, f"{plain:.2f} s, {stored:.2f} s",
               missed=stored - plain > START_BAR_S)  # fmt: skip


def main() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as name:
        folder = Path(name)
        yield of_start(folder)
        sandbox = Sandbox.start(folder / "box", Shape(NODES, 8, storage=Storage(bricks=1)), os.getpid())
        os.environ.update(sandbox.environment())
        try:
            rounds = rates_of_programs(sandbox.layout.storage / "d")
        finally:
            sandbox.stop()
    yield from of_rates(rounds)

"""4 KiB past the page cache with 16 transfers under way: io_uring of the ior applet against one at a time, and fio's.

All move the same file, which lies there whole; they take turns in rounds, and the figure is the median, over the
rounds, of the ratio of two neighbouring turns, within its 95% interval; a bar is missed where that is below it.
`FIO=/path/to/fio` adds its column. ext4 is mounted from an image file, which needs root.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tabulate import tabulate

from tests.bench.ior_limit import MIB, OPERATIONS, phases
from tests.bench.machine import Rates, journaled_ext4, medians, ratios_of, spreads
from tests.bench.table import Row

SIZE_MIB = 32
DEPTH = 16
ROUNDS = 6


def applet(api: str, directory: Path) -> Rates:
    words = ["-w", "-r", "-E", "-k", "-F", "-t", 4096, "-b", SIZE_MIB * MIB, "-o", directory / "f", "--posix.odirect"]
    depth = [] if api == "POSIX" else ["--queue-depth", DEPTH]
    found_phases = phases(1, [*words, "-a", api, *depth], directory / "bench.jsonl")
    return {operation: phase.rate for operation, phase in found_phases.items()}


def fio(program: str, directory: Path) -> Rates:
    (file,) = directory.glob("f.*")  # of rank 0
    rates = {}
    for operation in OPERATIONS:
        words = [program, "--name=limit", f"--filename={file}", f"--rw={operation}", f"--size={SIZE_MIB}m", "--bs=4k"]
        words += ["--ioengine=io_uring", f"--iodepth={DEPTH}", "--direct=1", "--output-format=json"]
        reply = json.loads(subprocess.run(words, capture_output=True, check=True, timeout=60).stdout)
        rates[operation] = reply["jobs"][0][operation]["bw_bytes"] / MIB
    return rates


def main() -> Iterator[Row]:
    with journaled_ext4() as directory:
        if directory is None:
            return
        takes_part = {api: partial(applet, api, directory) for api in ("URING", "POSIX", "AIO")}
        if program := os.environ.get("FIO"):
            takes_part["fio"] = partial(fio, program, directory)
        rounds: dict[str, list[Rates]] = {name: [] for name in takes_part}
        for number in range(ROUNDS + 1):  # the first makes the file and warms up
            names = list(takes_part) if number % 2 == 0 else list(reversed(takes_part))
            for name in names:
                rates = takes_part[name]()
                if number > 0:
                    rounds[name].append(rates)
    body = [
        [name, *(f"{statistics.median(rates[operation] for rates in program_rates):,.0f}" for operation in OPERATIONS)]
        for name, program_rates in rounds.items()
    ]
    print(tabulate(body, ["MiB/s", *OPERATIONS], disable_numparse=True, stralign="right"))
    for name in list(takes_part)[1:]:
        ratios = ratios_of(rounds["URING"], rounds[name], OPERATIONS)
        bar = name in ("POSIX", "fio")
        yield Row(
            f"ior, 4 KiB with O_DIRECT: io_uring with {DEPTH} transfers / {name}: write, read",
            "≥ 1" if bar else "",
            medians(ratios),
            spread=spreads(ratios),
            missed=bar and any(middle.high < 1 for middle in ratios),
        )

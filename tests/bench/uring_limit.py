"""4 KiB past the page cache with 16 transfers under way: io_uring of the ior applet against one at a time, and fio's.

All move the same file, which lies there whole; they take turns in rounds, and the figure is the median, over the
rounds, of the ratio of two neighbouring turns. `FIO=/path/to/fio` adds its column and the bar, which is 1. ext4 is
mounted from an image file, which needs root.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from functools import partial
from pathlib import Path

from tabulate import tabulate

from tests.bench.ior_limit import MIB, ROUNDS, Rates, phases
from tests.bench.mdtest_limit import journaled_ext4

SIZE_MIB = 64
DEPTH = 16
OPERATIONS = ("write", "read")


def applet(api: str, directory: Path) -> Rates:
    words = ["-w", "-r", "-E", "-k", "-F", "-t", 4096, "-b", SIZE_MIB * MIB, "-o", directory / "f", "--posix.odirect"]
    depth = [] if api == "POSIX" else ["--queue-depth", DEPTH]
    found = phases(1, [*words, "-a", api, *depth], directory / "bench.jsonl")
    return {operation: phase.rate for operation, phase in found.items()}


def fio(program: str, directory: Path) -> Rates:
    (file,) = directory.glob("f.*")  # of rank 0
    rates = {}
    for operation in OPERATIONS:
        words = [program, "--name=limit", f"--filename={file}", f"--rw={operation}", f"--size={SIZE_MIB}m", "--bs=4k"]
        words += ["--ioengine=io_uring", f"--iodepth={DEPTH}", "--direct=1", "--output-format=json"]
        reply = json.loads(subprocess.run(words, capture_output=True, check=True, timeout=300).stdout)
        rates[operation] = reply["jobs"][0][operation]["bw_bytes"] / MIB
    return rates


def main() -> int:
    with journaled_ext4() as directory:
        if directory is None:
            print("not measured: mounting an image needs root, and mkfs.ext4")
            return 0
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
    body, missed = [], 0
    for operation in OPERATIONS:
        own = [rates[operation] for rates in rounds["URING"]]
        row = [operation, f"{statistics.median(own):,.0f}"]
        for name in list(takes_part)[1:]:
            other = [rates[operation] for rates in rounds[name]]
            ratio = statistics.median(mine / theirs for mine, theirs in zip(own, other, strict=True))
            missed += name in ("POSIX", "fio") and ratio < 1
            row += [f"{statistics.median(other):,.0f}", f"{ratio:.2f}"]
        body.append(row)
    headers = ["", "URING MiB/s"]
    for name in list(takes_part)[1:]:
        headers += [f"{name} MiB/s", f"URING / {name}"]
    print(tabulate(body, headers, disable_numparse=True, stralign="right"))
    print("bar: 1, against one at a time and against fio")
    return missed

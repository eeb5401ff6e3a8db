"""mdtest with up to 512 ranks on this machine: 4 virtual nodes of the sandbox, each layout of files; wall times.

Every file must be created, found and removed. `MDTEST=/path/to/mdtest` adds an upstream binary: ours must not take
longer for the same number of ranks, all layouts together, start of MPI included. `RANKS=64,128` measures other
numbers. The programs take turns; other work on the machine adds to all times.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tabulate import tabulate

from campaign.core.model import Geometry
from campaign.plan import dialect
from campaign.slurm import commands
from campaign.slurm.sandbox.cluster import Sandbox
from campaign.slurm.sandbox.layout import Shape
from tests.bench.mdtest_limit import BUILD
from tests.bench.upstream import mdtests

NODES, FILES = 4, 10  # files of a rank
RANKS = tuple(int(ranks) for ranks in os.environ.get("RANKS", "64,128,256,512").split(","))
LAYOUTS = {"shared": (), "unique": ("-u",), "onefile": ("-S",)}
PHASES = ("create", "stat", "read", "remove")
LIMIT_S = 600


def run(program: Path, ranks: int, layout: str, directory: Path, *words: str) -> float:
    """Seconds of wall time, the start of MPI included."""
    shift, *_ = dialect.offset_argument(
        dialect.identify(program, lambda words, s: commands.call(words, s).out), Geometry(NODES, ranks)
    )
    work = ["-F", "-n", str(FILES), "-N", str(shift), *LAYOUTS[layout], "-d", str(directory), *words]
    spread = [f"-N{NODES}", f"-n{ranks}", f"--ntasks-per-node={ranks // NODES}", "--distribution=block"]
    began = time.monotonic()
    done = subprocess.run(
        ["srun", "-Q", *spread, "--mpi=pmix", program, *work], capture_output=True, text=True, timeout=LIMIT_S
    )
    took_s = time.monotonic() - began
    if done.returncode != 0:
        raise SystemExit(f"{program} with {ranks} ranks ended with status {done.returncode}:\n{done.stderr[:2000]}")
    return took_s


def ours(ranks: int, layout: str, folder: Path) -> tuple[float, float]:
    """Seconds of wall time, and of them from our first JSON line to the last."""
    lines = folder / "bench.jsonl"
    took_s = run(BUILD / "mdtest", ranks, layout, folder / "d", "--json", str(lines))
    read = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    phases = {line["operation"]: line for line in read if line["type"] == "phase" and line["object"] == "file"}
    expected = FILES if layout == "onefile" else ranks * FILES
    wrong = [
        name
        for name in PHASES
        if name not in phases or phases[name]["failed"] or phases[name]["processes"] != ranks
        or phases[name]["files_true"] != expected
    ]  # fmt: skip
    if wrong or any((folder / "d").iterdir()):
        raise SystemExit(f"{ranks} ranks, {layout}: wrong: {', '.join(wrong) or 'files are left'}")
    return took_s, float(read[-1]["unix_time"]) - float(read[0]["unix_time"])


def main() -> int:
    missed = 0
    body: list[list[Any]] = []
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as name:
        folder = Path(name)
        sandbox = Sandbox.start(folder / "box", Shape(NODES, max(RANKS) // NODES), os.getpid())
        os.environ.update(sandbox.environment())
        try:
            print(f"load before: {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {FILES} files a rank")
            for ranks in RANKS:
                for layout in LAYOUTS:
                    (folder / "d").mkdir()
                    took_s, measuring_s = ours(ranks, layout, folder)
                    theirs = [run(path, ranks, layout, folder / "d") for path in mdtests()]
                    body.append([ranks, layout, took_s, measuring_s, *theirs])
                    shutil.rmtree(folder / "d")
                ours_s, _measuring_s, *theirs_s = (
                    sum(column) for column in zip(*(row[2:] for row in body[-len(LAYOUTS) :]), strict=True)
                )
                missed += sum(ours_s > other_s for other_s in theirs_s)
        finally:
            sandbox.stop()
    headers = ["ranks", "layout", "ours, s", "of it measuring, s", *(f"{path}, s" for path in mdtests())]
    print(tabulate(body, headers, floatfmt=".1f"))
    print("every file was created, read and removed; bar: no longer than upstream's, all layouts together")
    return missed


if __name__ == "__main__":
    raise SystemExit(main())

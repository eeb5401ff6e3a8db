"""mdtest with up to 1,024 ranks on this machine: 4 virtual nodes of the sandbox, each layout of files; wall times.

Every file must be created, found and removed, and the JSON lines must not grow with the ranks. `start` is from srun to
the first of these lines, `beside` what lies between and around the phases: collectives, trees, reports. Then the memory
of a rank (its share of what ranks share) before it measures, beside a program of MPI that does nothing.
`MDTEST=/path/to/mdtest` adds an upstream binary: ours must not take longer for the same number of ranks, all layouts
together, start of MPI included. `FULL=1` measures up to 1,024 ranks, `RANKS=64,128` other numbers; without them, more
than 64 ranks are measured in one layout and without upstream, which takes minutes. The programs take turns; other work
on the machine adds to all times. At the end, what all applets cost with 100,000 ranks (`rank_counts`).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from tabulate import tabulate

from campaign.core.runs import Geometry
from campaign.plan import dialect
from campaign.sandbox.cluster import Sandbox
from campaign.sandbox.layout import Shape
from campaign.slurm import commands
from tests.bench import rank_counts
from tests.bench.machine import BUILD, FULL, mdtests
from tests.bench.table import Row

NODES, FILES = 4, 10  # files of a rank
GIVEN = os.environ.get("RANKS", "64,256,512,1024" if FULL else "")
RANKS = tuple(ranks for ranks in map(int, (GIVEN or "64,256").split(",")) if ranks >= NODES)
OF_LAYOUT = {"shared": (), "unique": ("-u",), "onefile": ("-S",)}
PHASES = ("create", "stat", "read", "remove")
LIMIT_S = 600 if GIVEN else 90
MOST_KIB = 512  # of memory that a rank may have beyond a program that does nothing
ASKED = 64  # ranks whose memory is looked at
ALWAYS_ALL = 64  # ranks with which all layouts and programs are measured


def launch_words(ranks: int) -> list[str]:
    return ["srun", "-Q", f"-N{NODES}", f"-n{ranks}", f"--ntasks-per-node={ranks // NODES}", "--distribution=block",
            "--mpi=pmix"]  # fmt: skip


def run(program: Path, ranks: int, layout: str, directory: Path, *words: str) -> float:
    """Seconds of wall time, the start of MPI included."""
    shift, *_ = dialect.offset_argument(
        dialect.identify(program, lambda words, s: commands.call(words, s).out), Geometry(NODES, ranks)
    )
    work = ["-F", "-n", str(FILES), "-N", str(shift), *OF_LAYOUT[layout], "-d", str(directory), *words]
    began = time.monotonic()
    process = subprocess.run([*launch_words(ranks), program, *work], capture_output=True, text=True, timeout=LIMIT_S)
    took_s = time.monotonic() - began
    if process.returncode != 0:
        raise SystemExit(
            f"{program} with {ranks} ranks ended with status {process.returncode}:\n{process.stderr[:2000]}"
        )
    return took_s


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def ours(ranks: int, layout: str, folder: Path) -> tuple[list[float], tuple[int, int]]:
    """Seconds: wall time, up to the first JSON line, of the phases, beside them; number and bytes of the lines."""
    file = folder / "bench.jsonl"
    began = time.time()
    took_s = run(BUILD / "mdtest", ranks, layout, folder / "d", "--json", str(file))
    read = lines_of(file)
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
    first, last = (float(read[place]["unix_time"]) for place in (0, -1))
    phases_s = sum(line["elapsed_s"] for line in phases.values())
    return [took_s, first - began, phases_s, last - first - phases_s], (len(read), file.stat().st_size)


@contextlib.contextmanager
def ranks_at_rest(ranks: int, folder: Path, *command: object) -> Iterator[Path]:
    """A program whose ranks sleep once they have begun; gives its text output. It is ended afterwards."""
    path = folder / "said"
    with path.open("w") as out:
        process = subprocess.Popen([*launch_words(ranks), *map(str, command)], stdout=out, stderr=subprocess.STDOUT)
    try:
        yield path
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(LIMIT_S)


def wait_until(is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not is_ready():
        if time.monotonic() > deadline:
            raise SystemExit(f"ranks have not begun after {LIMIT_S} s")
        time.sleep(0.2)
    time.sleep(2)


def memory_kib(program: Path) -> float:
    """Mean of ranks: their own pages, and their part of those that they share (PSS)."""
    shares: list[float] = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if len(shares) < ASKED and (process / "exe").resolve() == program.resolve():
                fields = dict(line.split(":") for line in (process / "smaps_rollup").read_text().splitlines()[1:])
                shares.append(float(fields["Pss"].split()[0]))
    return statistics.mean(shares)


def memories_kib(ranks: int, folder: Path) -> tuple[float, float]:
    """Of a rank of mdtest, and of one of a program that does nothing."""
    file = folder / "resting.jsonl"
    file.unlink(missing_ok=True)
    words = ("-F", "-n", FILES, "-d", folder / "rest", "-p", LIMIT_S, "--json", file)
    with ranks_at_rest(ranks, folder, BUILD / "mdtest", *words):
        wait_until(lambda: file.exists() and '"attestation"' in file.read_text())
        applet_kib = memory_kib(BUILD / "bench")
    with ranks_at_rest(ranks, folder, BUILD / "limits" / "mpi_alone", LIMIT_S) as path:
        wait_until(lambda: "ready" in path.read_text())
        return applet_kib, memory_kib(BUILD / "limits" / "mpi_alone")


def layout_rows(ranks: int, folder: Path) -> Iterator[list[Any]]:
    """A row for each layout."""
    short = ranks > ALWAYS_ALL and not GIVEN
    for layout in ["unique"] if short else OF_LAYOUT:
        (folder / "d").mkdir()
        seconds, lines = ours(ranks, layout, folder)
        theirs = [] if short else [run(path, ranks, layout, folder / "d") for path in mdtests()]
        shutil.rmtree(folder / "d")
        yield [ranks, layout, *seconds, lines[0], lines[1] / 1024, *theirs]


def wall_rows(folder: Path) -> Iterator[Row]:
    """With all numbers of ranks, on the sandbox of the environment."""
    lines, beyond_kib = set(), []
    headers = ["ranks", "layout", "ours, s", "start, s", "phases, s", "beside, s", "lines", "KiB",
               *(f"{path}, s" for path in mdtests())]  # fmt: skip
    print(f"load before: {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {FILES} files a rank")
    for ranks in RANKS:
        rows = list(layout_rows(ranks, folder))
        print(tabulate(rows, headers, floatfmt=".1f"), flush=True)
        lines |= {row[6] for row in rows}
        own_s, *others_s = (sum(row[place] for row in rows) for place in (2, *range(8, len(rows[0]))))
        yield Row(
            f"mdtest with {ranks} ranks on {os.cpu_count()} processors, {', '.join(row[1] for row in rows)}",
            "≤ peer" if others_s else "",
            f"{own_s:.1f} s",
            ", ".join(f"{seconds:.1f} s" for seconds in others_s),
            missed=any(own_s > seconds for seconds in others_s),
        )
        applet_kib, bare = memories_kib(ranks, folder)
        beyond_kib.append(applet_kib - bare)
        print(
            f"memory of a rank: {applet_kib:.0f} KiB, of MPI alone {bare:.0f}: {applet_kib - bare:.0f} more",
            flush=True,
        )
    yield Row(
        f"memory of a rank of mdtest beyond that of MPI alone: {', '.join(map(str, RANKS))} ranks",
        f"≤ {MOST_KIB} KiB",
        ", ".join(f"{kib:.0f} KiB" for kib in beyond_kib),
        missed=max(beyond_kib) > MOST_KIB,
    )
    yield Row(
        "its JSON lines, whatever the number of ranks",
        "equal",
        ", ".join(map(str, sorted(lines))),
        missed=len(lines) > 1,
    )


def main() -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="campaign-bench-") as name:
        folder = Path(name)
        sandbox = Sandbox.start(folder / "box", Shape(NODES, max(RANKS) // NODES), os.getpid())
        try:
            # Without it afterwards: MPI counts no messages by the transport that the sandbox chooses.
            with mock.patch.dict(os.environ, sandbox.environment()):
                yield from wall_rows(folder)
        finally:
            sandbox.stop()
    yield from rank_counts.main()

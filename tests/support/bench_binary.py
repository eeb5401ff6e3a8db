"""Starts the benchmark's applets for the tests: on one machine, on as many pretended nodes as a test wants."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import json
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "bench-src"
TIMEOUT_S = 300.0


# For what is refused before it begins: mpirun otherwise gives the other processes a second to clean up.
AT_ONCE = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}


def make(*words: str) -> str:
    """Run make in bench-src, one test process at a time; gives what it prints."""
    with (SOURCES / "Makefile").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "-C", str(SOURCES), "--silent", f"--jobs={os.cpu_count()}", *words]
        process = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


@functools.cache
def build(*options: str) -> Path:
    """The directory of the binaries, built if need be; `SAN=1` for the one with sanitizers."""
    make(*options)
    return SOURCES / ("build-san" if "SAN=1" in options else "build")


@dataclass(frozen=True)
class Reply:
    """What an applet answered. `lines` are its JSON lines, empty where it wrote none."""

    status: int
    out: str
    err: str
    lines: list[dict[str, Any]]

    @property
    def errors(self) -> list[str]:
        """The messages on stderr, without what mpirun says about exit statuses."""
        return [line for line in self.err.splitlines() if line.split(":")[0] in ("mdtest", "bench")]

    def lines_of(self, kind: str, **values: object) -> list[dict[str, Any]]:
        """The JSON lines of one type whose fields have the wanted values."""
        return [
            line
            for line in self.lines
            if line["type"] == kind and all(line.get(key) == value for key, value in values.items())
        ]

    def line_of(self, kind: str, **values: object) -> dict[str, Any]:
        entries = self.lines_of(kind, **values)
        assert len(entries) == 1, f"{len(entries)} lines of type {kind} with {values}"
        return entries[0]


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Without the traces of an allocation that the tests may run in."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM", "BENCH_", "PMI"))}
    settings = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_pml": "ob1",  # without a wait of 0.2 s for network adapters
        # One machine: Open MPI 5 complains where it has no network but the loopback, and looking for adapters of other
        # networks takes each process longer than all else that a test starts it for.
        "OMPI_MCA_btl": "^tcp,ofi,openib",
    }
    return variables | settings | dict(extra)


def run_group(command: list[str], cwd: Path, env: Mapping[str, str], stdout: int | None = None) -> tuple[int, str, str]:
    """Exit status, stdout, stderr. The command and all that it started are ended after TIMEOUT_S."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE,
        text=True,
        errors="surrogateescape",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return process.returncode, out or "", err


def launch(
    cwd: Path,
    *command: object,
    ranks: int = 1,
    node_of_rank: str | None = None,
    env: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> Reply:
    """Runs `mdtest -F …` under mpirun. `node_of_rank` is shell arithmetic on the rank R, "R/2" for two ranks a node.
    What LD_PRELOAD changes, it changes for the ranks alone: mpirun, with other clocks or faults, would not always end.
    """
    binaries = directory or build()
    words = [str(binaries / str(command[0])), *map(str, command[1:])]
    if node_of_rank is not None:
        node = node_of_rank.replace("R", "OMPI_COMM_WORLD_RANK")
        words = ["bash", "-c", f'SLURMD_NODENAME=n$(({node})) exec "$@"', "bash", *words]
    results = cwd / "bench.jsonl"
    results.unlink(missing_ok=True)
    extra = {"BENCH_JSON": str(results)} | dict(env or {})
    if preload := extra.pop("LD_PRELOAD", None):
        words = ["env", f"LD_PRELOAD={preload}", *words]
    status, out, err = run_group(["mpirun", "--oversubscribe", "-np", str(ranks), *words], cwd, extra)
    assert "from LD_PRELOAD cannot be preloaded" not in err, err  # nothing would fail on request
    text = results.read_text(encoding="utf-8") if results.is_file() else ""
    return Reply(status, out, err, [json.loads(line) for line in text.splitlines()])


def shell_words(*command: object) -> str:
    return shlex.join(map(str, command))

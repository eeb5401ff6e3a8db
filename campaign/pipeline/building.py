"""Builds the built-in benchmark from the source that the program carries, against the MPI of this site."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from campaign.core import resources
from campaign.core.errors import EnvironmentLacks, InputError

_WRAPPERS = "mpicc of Open MPI or MPICH, mpiicx or mpiicc of Intel MPI"


def build(mpicc: str = "", directory: Path | None = None, source: Path = resources.BENCHMARK, cflags: str = "") -> Path:
    """Build `source` into `directory`, or where `run` looks for the binaries; gives that directory.

    `mpicc` is MPI's compiler wrapper, with options if it needs some; the default is $MPICC, then `mpicc`. `cflags`
    replaces the usual compiler flags. Raises EnvironmentLacks if a program is missing or the source does not compile
    (the compiler's messages are on stderr), and InputError if make cannot build in that directory.
    """
    wrapper = mpicc or os.environ.get("MPICC") or "mpicc"
    out = (directory or resources.binaries()).absolute()
    _check(wrapper, out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentLacks(
            f"{out}: cannot be created: {error.strerror}; choose another directory with -o"
        ) from error
    options = [f"MPICC={wrapper}", f"BUILD={out}", *([f"CFLAGS={cflags}"] if cflags else [])]
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    command = ["make", "--no-print-directory", "--silent", jobs, "-C", str(source), *options]
    # make's output goes to stderr: stdout is the verb's own. A make around this one would pass on its options.
    surroundings = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    if subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, env=surroundings).returncode:
        raise EnvironmentLacks(
            f"compiling the benchmark with {wrapper} failed; see its messages above\nLoad the module of your MPI, or "
            f"name its compiler wrapper with --mpicc ({_WRAPPERS})"
        )
    return out


def _check(wrapper: str, out: Path) -> None:
    if re.search(r"[\s:;#$%\\'\"]", str(out)):
        raise InputError(
            f"{out}: make does not take a path with a space or one of : ; # $ % \\ ' \"; choose another with -o"
        )
    problems: list[str] = []
    if shutil.which("make") is None:
        problems.append("make: not found; install GNU make")
    try:
        words = shlex.split(wrapper)
    except ValueError:
        words = []
    if not words or shutil.which(words[0]) is None:
        problems.append(
            f"{wrapper}: not found; load the module of your MPI (or install its development package), or name its "
            f"compiler wrapper with --mpicc ({_WRAPPERS})"
        )
    if problems:
        raise EnvironmentLacks("\n".join(problems))

"""What the tests of the benchmark's applets share: what was said and left, and things that go wrong."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from tests.support.bench_binary import ROOT, SOURCES, Reply, build, launch, make


def messages(reply: Reply, applet: str) -> list[str]:
    """What the applet said on stderr, without mpirun's words and without warnings."""
    lines = [line for line in reply.err.splitlines() if line.startswith(f"{applet}: ")]
    return [line for line in lines if not line.startswith(f"{applet}: warning: ")]


def warnings(reply: Reply) -> list[str]:
    return [line["message"] for line in reply.lines_of("warning")]


def option_names(help_text: str) -> list[str]:
    """Every option of an applet's help, `-b` and `--json` alike, and nfstest's words, `mSIZE`."""
    rows = [line.strip().split("  ")[0] for line in help_text.splitlines() if line.startswith("  ")]
    return [name for row in rows for name in (re.findall(r"(?<!\S)--?\w[\w-]*", row) or [row])]


def undocumented_fields(reply: Reply) -> set[str]:
    """Names of fields in the JSON lines that docs/bench-jsonl.md does not have."""
    manual = (ROOT / "docs" / "bench-jsonl.md").read_text(encoding="utf-8")

    def names(value: object) -> set[str]:
        if isinstance(value, dict):
            inner = [part for name, part in value.items() if name not in _BY_NAME]
            return set(value) | set().union(*map(names, inner))
        return set().union(*map(names, value)) if isinstance(value, list) else set()

    return {name for name in names(reply.lines) if f"`{name}`" not in manual and f'"{name}"' not in manual}


def sanitizer_options() -> dict[str, Any]:
    """For `launch`: the binaries with sanitizers. Leaks of the MPI library itself are not looked for."""
    return {"directory": build("SAN=1"), "env": {"ASAN_OPTIONS": "detect_leaks=0"}}


def sanitizer_messages(reply: Reply) -> list[str]:
    return [line for line in reply.err.splitlines() if "Sanitizer" in line or "runtime error" in line]


def files(directory: Path) -> list[str]:
    """Names of what a benchmark may have left, without what `launch` itself puts there."""
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.name != "bench.jsonl")


# Fields of the JSON lines whose members are files, functions and variables.
_BY_NAME = ("objects", "functions", "environment", "loaded_later")


@functools.cache
def library(source: str) -> Path:
    """A C file of bench-src/test, built for LD_PRELOAD."""
    built = f"build/test/{source}.so"
    make(built)
    return SOURCES / built


def fault_environment(
    path: object, call: str, error: int = 5, rank: int | None = None, after: int = 0
) -> dict[str, str]:
    """The environment in which a file call of the processes fails, on files with `path` in their names."""
    settings = {"FAULT_CALL": call, "FAULT_PATH": str(path), "FAULT_ERRNO": str(error), "FAULT_AFTER": str(after)}
    settings |= {"LD_PRELOAD": str(library("faulty_io"))}
    return settings if rank is None else settings | {"FAULT_RANK": str(rank)}


def launch_and_lose_a_rank(
    cwd: Path, lost: int, seconds: float, *command: object, after: str = "", **options: Any
) -> Reply:
    """As `launch`, but one rank is killed after some time, as the system does when memory runs out. `after`: and not
    before the results have a line of this type, which a busy machine may take longer for.
    """
    come = (
        f'until grep -qsE \'"type": ?"{after}\' {cwd}/bench.jsonl; do kill -0 $$ || exit; sleep 0.1; done'
        if after
        else "true"
    )
    script = f'[ "$OMPI_COMM_WORLD_RANK" = {lost} ] && (sleep {seconds}; {come}; kill -9 $$) & exec "$@"'
    binary = build() / str(command[0])
    return launch(cwd, "/bin/bash", "-c", script, "bash", binary, *command[1:], **options)


def launch_with_file_limit(cwd: Path, rank: int, kib: int, *command: object, **options: Any) -> Reply:
    """As `launch`, but one rank cannot make larger files: EFBIG for calls that no library can stand in for. The ranks
    talk by TCP, since Open MPI 5 does not start where a rank's file of shared memory is too large.
    """
    tcp = {"OMPI_MCA_btl": "tcp,self", "OMPI_MCA_btl_tcp_if_include": "lo"}
    script = f'[ "$OMPI_COMM_WORLD_RANK" = {rank} ] && ulimit -f {kib}; exec "$@"'
    binary = build() / str(command[0])
    return launch(cwd, "/bin/bash", "-c", script, "bash", binary, *command[1:], env=tcp, **options)

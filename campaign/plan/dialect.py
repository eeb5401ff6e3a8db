"""What an external mdtest takes -N for, and which value of it shifts the phases by one node.

Two meanings exist. Up to mdtest 1.9.3, and in the mdtest of IOR up to 3.2, -N is an offset in ranks. From IOR 3.3.0 on,
on several nodes with block placement, it is multiplied by the ranks per node: it counts nodes.
"""

from __future__ import annotations

import mmap
import re
import tempfile
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path

from campaign.core.errors import EnvironmentLacks, InputError
from campaign.core.runs import Geometry


class Dialect(StrEnum):
    """The values of `benchmark.dialect` other than `auto`."""

    RANK_OFFSET = "rank-offset"
    NODE_OFFSET = "node-offset"


# Runs a command within so many seconds and gives its output; raises EnvironmentLacks if it cannot.
Execute = Callable[[Sequence[str], float], str]

TIMEOUT_S = 20.0
# IOR 3.3.0 and later can be told by the environment to pretend several nodes and tasks: then a test with one process
# shows whether the offset is multiplied. Only this test is run so.
_NODES, _TASKS = 2, 3
# Not by env: it passes a file that this machine cannot execute to sh, which takes its bytes for commands.
_FAKED = (
    "bash",
    "-c",
    f"IOR_FAKE_NODES={_NODES} IOR_FAKE_TASK_PER_NODES={_TASKS} "
    'OMPI_MCA_ess_singleton_isolated=1 OMPI_MCA_pml=ob1 exec "$0" "$@"',
)
# 2 processes down to 1 is no test: mdtest prints how it understood its options, and ends without the second that it
# waits before each test.
_NO_TEST = ("-f", "2", "-l", "1")
_VERSION = re.compile(r"mdtest-(\d+)\.(\d+)(alpha)?")


def identify(
    executable: Path, run: Execute, launcher: Sequence[str] = (), image: Sequence[str] | None = None
) -> Dialect:
    """Find out the dialect of an mdtest.

    By what one process prints before a test, or by a tiny test, without and then with `launcher` (srun and its
    options); if neither starts, by the texts in the file. The test works in a directory of its own that is removed.
    `image`: of a program in a container image, the words before it that start it there; with none, the launcher does.
    Raises InputError if none of this tells.
    """
    seen = []
    launchers = [()] if image != () else []
    for start in [*launchers, tuple(launcher)] if launcher else launchers:
        for options in (_NO_TEST, ()):
            try:
                out = _tiny_test((*(image or ()), str(executable.absolute())), run, start, options)
            except EnvironmentLacks as error:
                seen.append(str(error))
                break
            if (dialect := dialect_in_output(out)) is not None:
                return dialect
            lines = out.strip().splitlines()
            seen.append(f"it printed {lines[0][:80]!r}" if lines else "it printed nothing")
    dialect = dialect_in_program(executable) if image is None else None
    if dialect is None:
        answers = ", then ".join(dict.fromkeys(seen)) or "it was not started: only the launcher enters its image"
        lacks_text = ", and the file contains no text of mdtest" if image is None else ""
        raise InputError(
            f"{executable}: cannot determine whether -N counts ranks or nodes (in a test run {answers}{lacks_text}); "
            f"set benchmark.dialect to {Dialect.RANK_OFFSET} (mdtest up to 1.9.3, IOR up to 3.2) or "
            f"{Dialect.NODE_OFFSET} (IOR 3.3.0 and later)"
        )
    return dialect


def _tiny_test(program: Sequence[str], run: Execute, launcher: Sequence[str], options: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory(prefix="campaign-dialect-", ignore_cleanup_errors=True) as directory:
        arguments = ("-F", "-C", "-T", "-r", "-n", "1", "-N", "1", "-d", f"{directory}/test", *options)
        return run((*launcher, *_FAKED, *program, *arguments), TIMEOUT_S)


def dialect_in_output(out: str) -> Dialect | None:
    """The dialect that the output of the tiny test (-N 1) shows; None if it shows none."""
    from campaign.results.parsers import mdtest_text

    _, seen = mdtest_text.parse(out, "output")
    if seen.program.startswith("campaign bench "):
        return Dialect.RANK_OFFSET
    version = _VERSION.match(seen.program)
    if version is None:
        return None
    if seen.shift_effective is not None:
        # Versions that print their shift are those that multiply; the tiny test is only needed for others.
        by_node = seen.shift_effective == _TASKS if seen.nodes == _NODES else True
        return Dialect.NODE_OFFSET if by_node else Dialect.RANK_OFFSET
    before = (int(version[1]), int(version[2])) < (3, 3) or version[3] is not None
    return Dialect.RANK_OFFSET if before else None


def dialect_in_program(executable: Path) -> Dialect | None:
    """The dialect by the texts that the program contains; None if there are none."""
    try:
        with executable.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(b"(campaign bench %s) was launched with") >= 0:
                return Dialect.RANK_OFFSET
            if content.find(b"mdtest-%s was launched with") < 0:
                return None
            return Dialect.NODE_OFFSET if content.find(b"Shifting ranks by") >= 0 else Dialect.RANK_OFFSET
    except (OSError, ValueError):  # may be executable but not readable; ValueError: empty
        return None


def offset_argument(dialect: Dialect, geometry: Geometry) -> tuple[int, str]:
    """The value of -N that shifts every phase by one node's ranks, and a note if that is not their number."""
    ranks = geometry.processes_per_node
    if dialect is Dialect.RANK_OFFSET or not _is_node_offset_visible(geometry):
        return ranks, ""
    wrong, right = (expected_shift(dialect, offset, geometry) for offset in (ranks, 1))
    return (
        1,
        (
            f"-N 1 instead of -N {ranks}: this mdtest counts -N in nodes of {ranks} processes; -N {ranks} would shift "
            f"by {wrong} ranks, -N 1 shifts by {right}, one node"
        ),
    )


def expected_shift(dialect: Dialect, offset: int, geometry: Geometry) -> int:
    """The number of ranks by which each phase is shifted under -N `offset`, with block placement."""
    multiplied = dialect is Dialect.NODE_OFFSET and _is_node_offset_visible(geometry) and offset > 0
    return offset * geometry.processes_per_node if multiplied else offset


def _is_node_offset_visible(geometry: Geometry) -> bool:
    # With one rank per node, rank 1 is not on the first node: such a version takes that for cyclic placement.
    return geometry.nodes > 1 and geometry.processes_per_node > 1

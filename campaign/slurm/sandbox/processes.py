"""Processes and mounts of this machine, from /proc."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process by its PID and its start time (clock ticks after boot), which distinguishes it from a later one with
    the same PID.
    """

    pid: int
    started: int

    @staticmethod
    def of(pid: int) -> Process:
        """The process that has this PID now. Raises ProcessLookupError if there is none."""
        fields = _stat(pid)
        if fields is None:
            raise ProcessLookupError(pid)
        return Process(pid, int(fields[19]))

    def alive(self) -> bool:
        """Whether it still runs; a zombie does not."""
        fields = _stat(self.pid)
        return fields is not None and fields[0] not in ("Z", "X") and int(fields[19]) == self.started

    def kill(self, wait_s: float) -> bool:
        """Kill it, and wait at most this long for its end; returns whether it is gone. Another process that has its PID
        now is left alone.
        """
        with contextlib.suppress(ProcessLookupError):
            handle = os.pidfd_open(self.pid)
            try:
                # The descriptor pins the process, so that it cannot change between the check and the signal.
                if self.alive():
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            finally:
                os.close(handle)
        deadline = time.monotonic() + wait_s
        while (alive := self.alive()) and time.monotonic() < deadline:
            time.sleep(0.005)
        return not alive


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on (field 3 of proc(5)), or None if there is no such process."""
    try:
        # The name in parentheses may contain anything, including a parenthesis.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def children(parent: int) -> list[Process]:
    """The children of a process, in whatever PID namespace they live."""
    below = []
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if entry.isdigit() and (fields := _stat(int(entry))) is not None and int(fields[1]) == parent:
            below.append(Process(int(entry), int(fields[19])))
    return below


def inner_pid(pid: int) -> int | None:
    """The PID that a process has in its own PID namespace."""
    try:
        line = re.search(r"^NSpid:.*?(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(line[1]) if line else None


def mounts_below(top: Path) -> list[Path]:
    """Mount points at or below a directory, the innermost and latest first."""
    mounts = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        raw = line.split()[4]
        # Blanks and backslashes are written as \ooo.
        path = Path(raw.encode().decode("unicode_escape").encode("latin-1").decode("utf-8", "surrogateescape"))
        if path == top or top in path.parents:
            mounts.append(path)
    return mounts[::-1]


def has_mounted(pid: int, point: Path) -> bool:
    """Whether a process sees a FUSE file system at this point, in its mount namespace."""
    try:
        mounts = [line.split() for line in Path(f"/proc/{pid}/mounts").read_text().splitlines()]
    except OSError:
        return False
    return any(where == str(point) and kind.startswith("fuse.") for _, where, kind, *_ in mounts)


def listens(port: int) -> bool:
    """Whether some process listens on this TCP port of IPv4."""
    sockets = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return any(state == "0A" and int(local.rpartition(":")[2], 16) == port for _, local, _, state, *_ in sockets)


def tail(log: Path, lines: int = 12) -> str:
    """The last lines of a log, indented, for an error message."""
    try:
        text = log.read_text(errors="replace").splitlines()[-lines:]
    except OSError as error:
        text = [f"(no log: {error})"]
    return "\n".join(f"    {line}" for line in text or ["(empty)"])

"""A process that is not mistaken for a later one with its PID."""

from __future__ import annotations

import contextlib
import os
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
    def from_pid(pid: int) -> Process:
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


def children(parent: int) -> list[Process]:
    """The children of a process, in whatever PID namespace they live."""
    running = ((int(entry), _stat(int(entry))) for entry in os.listdir("/proc") if entry.isdigit())  # noqa: PTH208
    return [Process(pid, int(fields[19])) for pid, fields in running if fields and int(fields[1]) == parent]


def _stat(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on (field 3 of proc(5)), or None if there is no such process."""
    try:
        # The name in parentheses may contain anything, including a parenthesis.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None

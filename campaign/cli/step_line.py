"""A line on a terminal that says how far long work is: `judging attempts 1,200 of 10,008`. It is erased at the end."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from campaign.cli.terminal import can_redraw
from campaign.core.steps import display_steps

VERBS = ("status", "table", "fill", "collect", "bundle", "verify", "check", "report", "compare")
AFTER_S = 2.0  # of work
EVERY_S = 0.25
_ERASE = "\r\x1b[K"


@contextmanager
def show_steps(stream: TextIO) -> Iterator[None]:
    """Within the context, steps are shown on this terminal; nothing on one that cannot erase, or in a file."""
    if not can_redraw(stream):
        yield
    else:
        with display_steps(_StepLine(stream).draw):
            yield


class _StepLine:
    def __init__(self, stream: TextIO) -> None:
        self._stream, self._next_s, self._is_drawn = stream, time.monotonic() + AFTER_S, False

    def draw(self, action: str, done: int, total: int) -> None:
        now_s = time.monotonic()
        if action and now_s >= self._next_s:
            text = f"{action} {done:,} of {total:,}" if total else f"{action} {done:,}"
            width = os.get_terminal_size(self._stream.fileno()).columns or len(text) + 1
            self._write(f"{_ERASE}{text[: width - 1]}")  # in the last column, a terminal may begin a new line
            self._next_s, self._is_drawn = now_s + EVERY_S, True
        elif not action and self._is_drawn:
            self._write(_ERASE)
            self._next_s, self._is_drawn = now_s, False

    def _write(self, text: str) -> None:
        with suppress(OSError):  # the terminal was closed
            self._stream.write(text)
            self._stream.flush()

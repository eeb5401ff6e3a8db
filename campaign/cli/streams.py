"""Standard output and standard error, whose errors say which of them could not be written."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO

OUTPUT, ERRORS = "standard output", "standard error"
_used: list[TextIO] = []


class _Named(io.FileIO):
    """A file descriptor whose errors have its name in place of a file's."""

    def __init__(self, descriptor: int, words: str) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._words = words

    def write(self, content: Any, /) -> Any:
        try:
            return super().write(content)
        except OSError as error:
            error.filename = self._words
            raise


def use() -> None:
    """Use such streams as sys.stdout and sys.stderr. A closed descriptor among the first three becomes /dev/null,
    before a file that is opened gets its number, and with it what programs print there.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    _used[:] = [_opened(1, OUTPUT, sys.stdout), _opened(2, ERRORS, sys.stderr)]
    sys.stdout, sys.stderr = _used


def _opened(descriptor: int, words: str, before: TextIO | None) -> TextIO:
    if before is None:  # it was closed
        return os.fdopen(descriptor, "w", closefd=False)
    before.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Named(descriptor, words)),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=descriptor == 2 or before.isatty(),
    )


def end() -> None:
    """Discard what could not be written: Python would try again at its end, and fail with its own exit status."""
    for stream in _used:
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def is_one(error: OSError) -> bool:
    """Whether an error is about one of these streams."""
    return error.filename in (OUTPUT, ERRORS)

"""Reads files of other users within limits: links are not followed, and reading never waits for a pipe or a device."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class NotPlain(Exception):
    """A directory, a pipe or a device where a file is expected."""


def read(path: Path, most_bytes: int) -> tuple[bytes, int]:
    """At most `most_bytes` of a file, and its size. Raises OSError, also for a link, and NotPlain."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise NotPlain
    with os.fdopen(descriptor, "rb") as file:
        return file.read(most_bytes), status.st_size

"""Directories for a moment, in $TMPDIR."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign.core.errors import no_room


def full() -> str:
    """What to say where there is no room in it."""
    return temporary_full(where=tempfile.gettempdir(), why=os.strerror(errno.ENOSPC))


def temporary_full(where: object, why: object) -> str:
    return f"{where}: {why}; set TMPDIR to a directory with more space"


@contextmanager
def directory(prefix: str) -> Iterator[Path]:
    """Empty; it is removed at the end. Raises NoRoom for whatever finds a file system full within."""
    with no_room(full()), tempfile.TemporaryDirectory(prefix=prefix) as place:
        yield Path(place)

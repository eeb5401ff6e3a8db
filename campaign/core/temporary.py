"""Directories for a moment, in $TMPDIR."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign.core import messages
from campaign.core.errors import no_room


def full() -> str:
    """What to say where there is no room in it."""
    return messages.TEMPORARY_FULL(where=tempfile.gettempdir(), why=os.strerror(errno.ENOSPC))


@contextmanager
def directory(prefix: str) -> Iterator[Path]:
    """Empty; it is removed at the end. Raises NoRoom for whatever finds a file system full within."""
    with no_room(full()), tempfile.TemporaryDirectory(prefix=prefix) as place:
        yield Path(place)

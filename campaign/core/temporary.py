"""Temporary directories, in $TMPDIR."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from campaign.core.errors import convert_full_disk


def no_space_text(where: str, why: str | None) -> str:
    """The message when a temporary directory is full."""
    return f"{where}: {why}; set TMPDIR to a directory with more space"


@contextmanager
def directory(prefix: str) -> Iterator[Path]:
    """An empty directory, removed at the end. Raises NoRoom for any error from a full file system within the
    context.
    """
    message = no_space_text(tempfile.gettempdir(), os.strerror(errno.ENOSPC))
    with convert_full_disk(message), tempfile.TemporaryDirectory(prefix=prefix) as place:
        yield Path(place)

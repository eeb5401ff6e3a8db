"""Files that appear complete: written beside their final place and then renamed. Several writers may do so at once.
Directories that are locked while a process works in them.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ALONE, AMONG_OTHERS = fcntl.LOCK_EX, fcntl.LOCK_SH
_TRIES, _PAUSE_S = 20, 0.05  # among others: a command that asks whether others work there holds it for a moment


def write(path: Path, content: str | bytes) -> None:
    """Replace the content of a file, which keeps its permissions. Raises OSError with its name, and leaves the file as
    it was.
    """
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        with new.open("xb") as file:
            _keep_permissions(path, file.fileno())
            file.write(content.encode() if isinstance(content, str) else content)
        new.replace(path)
    except BaseException as error:
        new.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # the error of a full disk names no file
        raise


def _keep_permissions(path: Path, descriptor: int) -> None:
    """Give the permissions of a file to the one that will replace it, before it has content."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    permissions = mode & 0o777
    if stat.S_ISREG(mode) and permissions != os.fstat(descriptor).st_mode & 0o777:
        os.fchmod(descriptor, permissions)


@contextmanager
def locked(directory: str | Path, lock_mode: int = ALONE) -> Iterator[OSError | None]:
    """Gives why it could not be locked: BlockingIOError while another process holds it, which anybody can who may read
    the directory; some network file systems have no locks. The lock ends with the process.
    """
    descriptor, tries = os.open(directory, os.O_RDONLY | os.O_DIRECTORY), _TRIES if lock_mode == AMONG_OTHERS else 1
    try:
        while isinstance(refused := _try_lock(descriptor, lock_mode), BlockingIOError) and (tries := tries - 1):
            time.sleep(_PAUSE_S)
        yield refused
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, lock_mode: int) -> OSError | None:
    """Lock an open directory without waiting; gives the error if that is refused, None if it is locked."""
    try:
        fcntl.flock(descriptor, lock_mode | fcntl.LOCK_NB)
    except OSError as error:
        return error
    return None

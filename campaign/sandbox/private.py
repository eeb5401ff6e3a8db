"""The directory of a sandbox, which nobody but its owner can make, change, replace or lock.

Slurm's programs load what slurm.conf names, and processes are ended whose numbers sandbox.json has: both must be the
user's own. What is decided here is decided by the descriptor of a directory, so that it holds for what is read then.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from campaign.core import users
from campaign.core.errors import EnvironmentLacks, InputError

LOCK_WAIT_S = 90.0
REMEDY = "choose another directory with --dir (the default is in $XDG_RUNTIME_DIR or $XDG_CACHE_HOME)"
# A bit that nobody else sets, and that comes with the directory in one step: `start` has made it, `stop` removes it.
MADE = stat.S_ISVTX
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_directory(top: Path) -> int:
    """A descriptor of the user's own directory, which nobody else can replace. Raises FileNotFoundError if there is
    none, InputError if it is another user's, or a link, or in a directory where others can replace it.
    """
    try:
        _check_above(top)
        descriptor = os.open(top, _OPEN | os.O_DIRECTORY)
    except FileNotFoundError:
        raise
    except OSError as error:
        is_other = isinstance(error, NotADirectoryError)
        problem = "is not a directory, or a link to one" if is_other else f"cannot be opened: {error.strerror}"
        raise InputError(f"sandbox: {top} {problem}; {REMEDY}") from error
    if (owner := os.fstat(descriptor).st_uid) != os.geteuid():
        os.close(descriptor)
        raise InputError(
            f"sandbox: {top} belongs to user {users.user_name(owner)} (you are user {users.user_name(os.geteuid())}); "
            f"work as that user, or {REMEDY}"
        )
    return descriptor


def _check_above(top: Path) -> None:
    """Raises InputError if somebody other than root and the user can rename what is in a directory above."""
    trusted = {os.geteuid(), Path("/").stat().st_uid}  # in a user namespace root may have another number
    for directory in reversed(top.parents):
        status = directory.lstat()
        writable_by_others = status.st_mode & (stat.S_IWOTH | (0 if _is_own_group(status.st_gid) else stat.S_IWGRP))
        if status.st_uid in trusted and (not writable_by_others or status.st_mode & stat.S_ISVTX):
            continue
        raise InputError(
            f"sandbox: others can replace {top}, since {directory} belongs to user {users.user_name(status.st_uid)} "
            f"and has mode {stat.S_IMODE(status.st_mode):04o}; allowed: directories of root and your own in which only "
            f"you can write, or with the sticky bit; {REMEDY}"
        )


def _is_own_group(number: int) -> bool:
    """Whether a group is the user's alone, as many systems make one for each user."""
    return number == os.getegid() and users.group_name(number) == users.user_name(os.geteuid())


def read(top: Path, name: str) -> bytes:
    """A file that the user has written in the directory. Raises FileNotFoundError, and InputError if anybody else could
    have written it.
    """
    with closing(open_directory(top)) as directory:
        try:
            with closing(os.open(name, _OPEN, dir_fd=directory)) as descriptor:
                file, content = os.fstat(descriptor), os.read(descriptor, 1 << 20)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise InputError(f"{top / name}: cannot be read as a sandbox's state: {error.strerror}") from error
        mode = stat.S_IMODE(os.fstat(directory).st_mode)
    if file.st_uid != os.geteuid() or mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InputError(
            f"sandbox: others may have written {top / name}: the file belongs to user {users.user_name(file.st_uid)}, "
            f"and the directory has mode {mode & ~MADE:04o}; allowed: your own file, in a directory in which only you "
            f"can write; {REMEDY}"
        )
    return content


@contextlib.contextmanager
def locked(top: Path, make: bool) -> Iterator[int]:
    """One start or stop of a directory at a time; with `make` the directory is made if there is none. Gives its
    descriptor. Raises FileNotFoundError if it is not there, InputError as open_directory and if it cannot be made,
    EnvironmentLacks if it cannot be locked within LOCK_WAIT_S.
    """
    deadline = time.monotonic() + LOCK_WAIT_S
    while True:
        if make:
            _make(top)
        try:
            directory = open_directory(top)
        except FileNotFoundError:
            if make:  # a stop has just removed it
                continue
            raise
        with closing(directory):
            _lock(directory, top, deadline)
            if _is_at(directory, top):
                yield directory
                return


def _make(top: Path) -> None:
    try:
        _check_above(top)
        top.mkdir(mode=0o700 | MADE)
    except FileExistsError:
        pass
    except OSError as error:
        raise InputError(f"sandbox: cannot create {top}: {error.strerror}; {REMEDY}") from error


def _lock(directory: int, top: Path, deadline: float) -> None:
    while True:
        try:
            return fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise EnvironmentLacks(
                    f"sandbox: another 'sandbox start' or 'stop' has been running in {top} for {LOCK_WAIT_S:.0f} s"
                ) from None
        except OSError as error:
            raise EnvironmentLacks(f"sandbox: {top} cannot be locked: {error.strerror}; {REMEDY}") from error
        time.sleep(0.05)


def _is_at(directory: int, top: Path) -> bool:
    """Whether an opened directory is still there: a stop may have removed it while its lock was waited for."""
    try:
        return os.path.samestat(os.fstat(directory), top.lstat())
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)

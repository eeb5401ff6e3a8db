"""The outputs that a user names: whether they may be written, and their writing. A file that the command has read is
never replaced, and another one that exists only with `force`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from campaign.core import atomic
from campaign.core.errors import InputError, write_error

_DEVICES = (Path("/dev"), Path("/dev/fd"))
_STANDARD_OUTPUT = 1
_READS = ("open", "sqlite3.connect")  # Python's events that begin with a path which is opened


class _Inputs:
    """The files that the command in this process has read, by device and inode."""

    def __init__(self) -> None:
        self.identities: set[tuple[int, int]] = set()
        self.is_recording = self.is_hooked = False

    def record(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_recording and event in _READS:
            path, _, flags = arguments if event == "open" else (arguments[0], None, os.O_RDONLY)
            if not isinstance(path, int) and flags & (os.O_ACCMODE | os.O_DIRECTORY) == os.O_RDONLY:
                self.add(path)

    def add(self, path: str | bytes | Path) -> None:
        if place := identity(path):
            self.identities.add(place)


_inputs = _Inputs()


def begin(arguments: Iterable[Path], force: bool) -> None:
    """A command begins, which reads what these arguments name. What it reads beyond them is recorded if it may replace
    files.
    """
    _inputs.identities.clear()
    for path in arguments:
        _inputs.add(path)
    _inputs.is_recording = force
    if force and not _inputs.is_hooked:  # a hook cannot be removed
        sys.addaudithook(_inputs.record)
        _inputs.is_hooked = True


def check(path: Path, force: bool) -> None:
    """Raises InputError if the command has read this file, or if it exists and is not to be replaced."""
    _refuse_read_file(path)
    if path.is_dir():
        raise InputError(f"{path}: is a directory; name a file")
    if os.path.lexists(path) and not force and not _is_stream(path):
        raise InputError(f"{path}: already exists; name another file, or overwrite it with --force")


def check_directory(path: Path, force: bool) -> None:
    """Raises InputError if it is a file, if the command reads it, or if its content is not to be replaced."""
    _refuse_read_file(path)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file; name a directory")
    if path.is_dir() and not force and any(path.iterdir()):
        raise InputError(f"{path}: is not empty; name another directory, or overwrite its files with --force")


def _refuse_read_file(path: Path) -> None:
    if identity(path) in _inputs.identities:
        raise InputError(f"{path}: this command reads it; name another place for its output")
    for directory in path.resolve().parents:
        if identity(directory) in _inputs.identities:
            raise InputError(f"{path}: is in {directory}, which this command reads; name another place for its output")


def write(path: Path, content: str | bytes, force: bool) -> None:
    """Write a file, which appears complete. Raises InputError if the path is refused, EnvironmentLacks if it cannot be
    written.
    """
    check(path, force)
    try:
        if _is_stream(path):
            with open(_open_stream(path), "wb") as stream:
                stream.write(content.encode() if isinstance(content, str) else content)
        else:
            atomic.write(path.resolve(), content)  # the file behind a link is replaced, not the link
    except OSError as error:
        if not path.parent.is_dir():
            raise InputError(
                f"{path}: directory {path.parent} does not exist; create it or name another file"
            ) from error
        raise write_error(error, f"{path}: cannot be written: {error.strerror}") from error


def write_in_directory(path: Path, content: str | bytes) -> None:
    """Write or replace a file in a directory that `check_directory` has let pass. Raises InputError and OSError."""
    _refuse_read_file(path)
    atomic.write(path, content)


def is_standard_output(path: Path) -> bool:
    """Whether it is the file, pipe or device that this process prints to: to open it again would overwrite what is
    there.
    """
    try:
        status = os.fstat(_STANDARD_OUTPUT)
    except OSError:  # closed
        return False
    return identity(path) == (status.st_dev, status.st_ino)


def _open_stream(path: Path) -> int:
    """A descriptor for writing at the end of a stream. One that the process has open keeps its place in the file."""
    place = path.absolute()
    if place == Path("/dev/stderr"):
        return os.dup(2)
    if place.parent == Path("/dev/fd") and place.name.isdecimal() and place.exists():
        return os.dup(int(place.name))
    return os.open(path, os.O_WRONLY | os.O_APPEND)


def _is_stream(path: Path) -> bool:
    """A device, a pipe, or what stands for an open file."""
    return path.absolute().parent in _DEVICES or (path.exists() and not path.is_file())


def identity(path: str | bytes | Path) -> tuple[int, int] | None:
    """The device and the inode of a file or a directory, the same by every path to it; None if it cannot be seen."""
    try:
        status = Path(os.fsdecode(path)).stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino

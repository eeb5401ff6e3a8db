"""Kinds of error, each with the exit status that the command line gives it."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OK = 0
INCOMPLETE = 1  # finished, but a cell is missing, failed or invalid
USAGE = 2  # wrong usage or input
ENVIRONMENT = 3  # the environment lacks something
INTERRUPTED = 130


class CampaignError(Exception):
    """An error whose text is meant for the user: what was found, what is allowed, what to do."""

    exit_status = USAGE


class InputError(CampaignError):
    """Wrong input: a campaign file, a rule pack, a template, an argument.

    `problems` holds one message for each thing wrong, each with file:line:column if there is one.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class EnvironmentLacks(CampaignError):
    """Something outside is missing or refuses: Slurm, a program, a permission."""

    exit_status = ENVIRONMENT


class MachineLacks(EnvironmentLacks):
    """This machine lacks space, memory, files or a permission: this says nothing about the files it was working on."""


class NoRoom(MachineLacks):
    """A file system or a quota is full."""


class UnknownState(EnvironmentLacks):
    """Slurm was asked and gave no usable answer: nothing may be concluded from it."""


_FULL = {errno.ENOSPC, errno.EDQUOT}
_LIMITS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
_OF_MACHINE = {
    *_FULL, *_LIMITS, errno.EACCES, errno.EAGAIN, errno.EFBIG, errno.EIO, errno.ENOLCK,
    errno.EPERM, errno.EROFS, errno.ESTALE,
}  # fmt: skip


def is_full(error: OSError) -> bool:
    return error.errno in _FULL


def is_machine_problem(error: BaseException | None) -> bool:
    """Whether an error, or its cause, is this machine's problem and not a fault of the file being read."""
    if error is None or isinstance(error, MachineLacks | MemoryError):
        return error is not None
    return (isinstance(error, OSError) and error.errno in _OF_MACHINE) or is_machine_problem(error.__cause__)


def reraise_machine_problem(error: Exception) -> None:
    """Raise the error again if it is this machine's problem."""
    if isinstance(error, OSError | MemoryError | MachineLacks) and is_machine_problem(error):
        raise error
    if is_machine_problem(error):
        raise MachineLacks(str(error)) from error


def pass_on_limit(error: Exception) -> None:
    """Raises an error that is about this process and not about the file: too many open files, or no memory."""
    if isinstance(error, OSError) and error.errno in _LIMITS:
        raise error


@contextmanager
def convert_full_disk(text: str) -> Iterator[None]:
    """Turn any error from a full file system into NoRoom with this text, whichever file it names."""
    try:
        yield
    except (NoRoom, OSError) as error:
        if isinstance(error, OSError) and not is_full(error):
            raise
        raise NoRoom(text) from error


@contextmanager
def writing(path: Path, remedy: str = "") -> Iterator[None]:
    """Turn an OSError into the error to raise where a place named by the user cannot be written."""
    try:
        yield
    except OSError as error:
        raise write_error(error, f"{error.filename or path}: cannot be written: {error.strerror}{remedy}") from error


def write_error(error: OSError, text: str) -> CampaignError:
    """The error to raise, with this text, where a file named by the user cannot be written: InputError if the name is
    wrong, MachineLacks if the machine lacks something.
    """
    if isinstance(error, FileExistsError | FileNotFoundError | IsADirectoryError | NotADirectoryError):
        return InputError(text)
    return NoRoom(text) if is_full(error) else EnvironmentLacks(text)


def length_problem(length: object, longest: object) -> str:
    return f"found {length} characters; allowed: up to {longest}"


def typed_path(path: Path | str, part: str = "") -> str:
    """A path as typed in a command that a message gives in single quotes: itself in double quotes if it needs any.
    `part`: of the campaign file.
    """
    text = str(path)
    text = text if re.fullmatch(r"[\w@%+=:,./-]+", text) else '"' + re.sub(r'([\\"$`])', r"\\\1", text) + '"'
    return f"{text} --part {part}" if part else text

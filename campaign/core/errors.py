"""Kinds of error, each with the exit status that the command line gives it."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

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


class NoRoom(EnvironmentLacks):
    """A file system or a quota is full: nothing may be concluded about what was being written."""


class UnknownState(EnvironmentLacks):
    """Slurm was asked and gave no usable answer: nothing may be concluded from it."""


def is_full(error: OSError) -> bool:
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def no_room(text: str) -> Iterator[None]:
    """Raises NoRoom with this text for what finds a file system full, whatever file that names."""
    try:
        yield
    except (NoRoom, OSError) as error:
        if isinstance(error, OSError) and not is_full(error):
            raise
        raise NoRoom(text) from error


def unwritten(error: OSError, text: str) -> CampaignError:
    """What to raise, with this text, where a file that the user named cannot be written: the name is wrong, or the
    machine lacks something.
    """
    if isinstance(error, FileExistsError | FileNotFoundError | IsADirectoryError | NotADirectoryError):
        return InputError(text)
    return NoRoom(text) if is_full(error) else EnvironmentLacks(text)

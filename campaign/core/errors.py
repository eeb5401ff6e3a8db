"""Kinds of error, each with the exit status that the command line gives it."""

from __future__ import annotations

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

    `problems` holds one message for each thing wrong, each with file:line:column where there is one.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class EnvironmentLacks(CampaignError):
    """Something outside is missing or refuses: Slurm, a program, a permission."""

    exit_status = ENVIRONMENT


class UnknownState(EnvironmentLacks):
    """Slurm was asked and gave no usable answer: nothing may be concluded from it."""

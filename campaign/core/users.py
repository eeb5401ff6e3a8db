"""This machine's users: their names, and the directory where the user's own sandbox is."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path

from campaign.core.errors import EnvironmentLacks

# What a sandbox has for campaigns, by the variables that name it: directories in the sandbox's own.
SANDBOX_TARGETS = {"CAMPAIGN_SCRATCH": "scratch", "CAMPAIGN_STORAGE": "gluster"}


def user_name(number: int) -> str:
    """The name of a user; the number if it has none, as in a container. Slurm takes that as well."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def group_name(number: int) -> str:
    """The name of a group; the number if it has none."""
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def sandbox_directory() -> Path:
    """The default directory of a sandbox: in $XDG_RUNTIME_DIR if that is the user's alone (after `su` it is another
    user's), or else in the cache directory. Nobody else can create anything in either. Raises EnvironmentLacks for a
    user without a home.
    """
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    if not runtime.is_absolute() or not _is_private(runtime):
        runtime = own_directory(
            "XDG_CACHE_HOME", "~/.cache", "XDG_RUNTIME_DIR to a directory of your own with mode 0700"
        )
    return Path(os.path.realpath(runtime)) / "campaign-sandbox"


def own_directory(variable: str, default: str, setting: str) -> Path:
    """A directory of the user's that an environment variable names. Raises EnvironmentLacks for a user without a home,
    who may set `setting` instead.
    """
    try:
        return Path(os.environ.get(variable) or default).expanduser()
    except RuntimeError as error:  # a user without a home, as in containers
        raise EnvironmentLacks(f"no home directory found; set {setting}") from error


def _is_private(directory: Path) -> bool:
    try:
        status = directory.stat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077

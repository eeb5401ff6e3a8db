"""Checks the directories that a campaign names, as far as this machine can: the nodes may see more."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from campaign.config import init
from campaign.config.check import overlap
from campaign.config.format import Campaign
from campaign.config.opened import Opened
from campaign.config.values import forbidden
from campaign.core.model import Paths
from campaign.pipeline.mistakes import Mistake
from campaign.slurm import partitions


def mistakes(opened: Opened) -> Iterator[Mistake]:
    for index, target in enumerate(opened.campaign.targets):
        if problem := _target(target.directory):
            yield Mistake(("targets", index, "directory"), problem)
    yield from _overlaps(opened.campaign)
    if problem := _results(opened.paths):
        yield Mistake(("results",), problem)


def site() -> init.Site:
    """What `campaign init` can find out about this cluster."""
    partition = partitions.at_hand()
    known = ("$SCRATCH", "$CAMPAIGN_SCRATCH", "/scratch/$USER")
    there = (written for written in known if os.path.isdir(os.path.expandvars(written)))  # noqa: PTH112
    directory = next(there, init.DIRECTORY)
    if partition is None or not partition.usable:
        return init.Site(directory=directory)
    return init.Site(partition.name, partition.cores_per_node, directory, partition.usable)


def _target(directory: str) -> str:
    """Why the benchmark cannot work in a directory; "" if it can, or if only the nodes can tell."""
    if directory == init.DIRECTORY:
        return f"still the placeholder {directory}; name a directory that all nodes see"
    if where := forbidden(directory, resolve=True):
        return f"{directory} resolves to {where}; name another directory"
    if os.path.isdir(directory):  # noqa: PTH112  # never raises, as Path.is_dir does
        why, number = _unwritable(directory)
        # The submit host may see it read-only.
        return f"{directory} is not writable: {why}; name another directory" if why and number != errno.EROFS else ""
    if os.path.lexists(directory):
        return directory_is_a_file(directory)
    return f"{directory} does not exist; create it where all nodes see it" if _surely_missing(Path(directory)) else ""


def _surely_missing(directory: Path) -> bool:
    """Whether a directory that is missing here is surely missing on the nodes too. Its file system may be mounted only
    there: then here is nothing, or an empty directory, below the mount point.
    """
    parent = directory.parent
    try:
        mounted = parent.stat().st_dev != Path("/").stat().st_dev
        return mounted or (len(parent.parts) > 2 and next(parent.iterdir(), None) is not None)
    except OSError:
        return False


def _overlaps(campaign: Campaign) -> Iterator[Mistake]:
    real = [os.path.realpath(target.directory) for target in campaign.targets]
    for index, target in enumerate(campaign.targets):
        for earlier, other in enumerate(campaign.targets[:index]):
            if overlap(real[index], real[earlier]):
                problem = (
                    f"{target.directory} resolves to {real[index]}, which shares files with {real[earlier]} of target "
                    f"{other.name}; name separate directories"
                )
                yield Mistake(("targets", index, "directory"), problem)


def _results(paths: Paths) -> str:
    """Why the results cannot be stored where the campaign file says."""
    there = nearest(paths.root)
    if not os.path.isdir(there):  # noqa: PTH112
        return directory_is_a_file(there)
    why, _ = _unwritable(there)
    return f"{paths.root.parent} cannot be created: {why}; name another directory" if why else ""


def nearest(path: Path) -> Path:
    """It, or the nearest directory above it that exists."""
    while not os.path.lexists(path):
        path = path.parent
    return path


def directory_is_a_file(path: object) -> str:
    return f"{path} is not a directory; name a directory"


def _unwritable(directory: str | Path) -> tuple[str, int]:
    """Why nothing can be created in a directory, with the error's number; tested by creating a directory in it."""
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".campaign-", dir=directory))  # noqa: PTH106
    except OSError as error:
        return error.strerror or str(error), error.errno or 0
    return "", 0

"""Readers in code: entry points of the group `campaign.readers`, which any installed package may bring.

A reader takes an output's text and its file's name, and gives records and an observation. Those of mdtest and IOR are
registered in this project's pyproject.toml. A reader is imported when the first output is read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import cast

from campaign.core.errors import MachineLacks
from campaign.core.records import Observation, Record

GROUP = "campaign.readers"
OWN = ("ior", "mdtest")  # this project's, without which the installed metadata is not that of the source

Reader = Callable[[str, str], tuple[list[Record], Observation]]


def names() -> list[str]:
    """The names of the readers that are installed."""
    from importlib.metadata import entry_points  # here: its import takes longer than those of a command's own modules

    return sorted(entry_points(group=GROUP).names)


def require(name: str, user: str) -> None:
    """Raises MachineLacks if the reader is not installed, without importing it; `user`: what names it."""
    if name not in (installed := names()):
        if not any(own_reader in installed for own_reader in OWN):
            raise MachineLacks(
                f"{user}: found reader {name}, but this installation of campaign has no entry points: it is older than "
                "its source; run 'make setup', or install it again"
            )
        raise MachineLacks(
            f"{user}: found reader {name}, which is not installed; installed: {', '.join(installed) or 'none'}; "
            "install the package that brings it"
        )


@cache
def load(name: str, user: str) -> Reader:
    """`user`: what names it. Raises MachineLacks for a reader that is not installed, that two packages bring, or that
    cannot be imported.
    """
    from importlib.metadata import entry_points

    require(name, user)
    point, *other_points = {point.value: point for point in entry_points(group=GROUP, name=name)}.values()
    if other_points:
        raise MachineLacks(
            f"reader {name}: found {point.value} and {other_points[0].value}; uninstall one of the packages"
        )
    try:
        return cast(Reader, point.load())
    except (ImportError, AttributeError) as error:
        raise MachineLacks(f"reader {name} cannot be imported: {error}; reinstall its package") from error

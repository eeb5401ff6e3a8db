"""What verbs share: the campaign that was named, and where texts go."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.cli import messages
from campaign.core.errors import INCOMPLETE, OK, EnvironmentLacks

if TYPE_CHECKING:
    from campaign.config.opened import Opened
    from campaign.results.cells import Row


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def write(content: str | bytes, output: Path | None) -> None:
    """Write to a file, or print a text. Raises EnvironmentLacks where the file cannot be written."""
    if output is None:
        assert isinstance(content, str), "only a text can be printed"
        sys.stdout.write(content)
        return
    try:
        output.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise EnvironmentLacks(messages.CANNOT_BE_WRITTEN(path=output, why=error.strerror)) from error


def load(arguments: argparse.Namespace) -> Opened:
    from campaign.config.opened import open_campaign

    return open_campaign(arguments.file)


def verdict(rows: Iterable[Row]) -> int:
    """The exit status: whether every cell has a result."""
    good = ("measured", "projected", "declined")
    return OK if all(row.status in good for row in rows) else INCOMPLETE

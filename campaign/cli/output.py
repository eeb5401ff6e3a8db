"""Shared by the verbs: writing texts, and the exit status of results."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TextIO

from campaign.core import atomic
from campaign.core.errors import INCOMPLETE, OK, InputError, unwritten

if TYPE_CHECKING:
    from campaign.results.cells import Row


PIPE = 100  # columns of tables in a pipe or a file, and the maximum in a terminal
FORMAT_OF = {
    ".csv": "csv",
    ".json": "json",
    ".xlsx": "xlsx",
    ".html": "html",
    ".md": "github",
    ".tex": "latex_longtable",
}
NOT_WRITTEN = (".xls", ".ods", ".pdf", ".doc", ".docx", ".odt")  # file names for which plain text would be wrong
FEWEST = 40  # columns that a terminal is assumed to have at least


def columns(output: Path | None = None) -> int:
    """The width of texts: that of the terminal, a fixed one in a pipe or a file."""
    if output is not None or not sys.stdout.isatty():
        return PIPE
    return max(FEWEST, min(get_terminal_size().columns, PIPE))


def folded(text: str, stream: TextIO) -> str:
    """On a terminal, folded to its width, with continuation lines indented; otherwise the text as it is."""
    if not stream.isatty():
        return text
    width = max(FEWEST, get_terminal_size().columns)
    return "\n".join(line if len(line) <= width else _fold(line, width) for line in text.split("\n"))


def _fold(line: str, width: int) -> str:
    from campaign.report import printing

    indent = " " * (len(line) - len(line.lstrip()))
    return "\n".join(printing.wrapped(line.strip(), width, indent, f"{indent}    "))


def show(text: str) -> None:
    """Print on standard output."""
    print(folded(text, sys.stdout))


def say(text: str) -> None:
    """Print on standard error."""
    print(folded(text, sys.stderr), file=sys.stderr, flush=True)


def table_format(given: str | None, output: Path | None) -> str:
    """A table's format: the given one, otherwise that of the file's name, otherwise plain text.

    Raises InputError if the file's name is that of a spreadsheet or of JSON and the format is not, or the other way
    round.
    """
    named = FORMAT_OF.get(output.suffix.lower(), "") if output else ""
    if output and given and named in ("csv", "json", "xlsx") and given != named:
        raise InputError(
            f"{output}: the file name does not fit --format {given}; use --format {named}, or another name"
        )
    if output and not given and output.suffix.lower() in NOT_WRITTEN:
        raise InputError(
            f"{output}: tables are not written in this format; end the name with one of {', '.join(FORMAT_OF)}, or "
            "give --format"
        )
    return given or named or "simple"


def write(content: str | bytes, output: Path | None) -> None:
    """Write to a file, which appears complete, or print. Raises InputError if the name cannot be a file's,
    EnvironmentLacks if it cannot be written.
    """
    if output is None:
        assert isinstance(content, str), "only a text can be printed"
        sys.stdout.write(content)
        return
    try:
        if Path("/dev") in output.absolute().parents or (output.exists() and not output.is_file()):  # or a pipe
            output.write_bytes(content.encode() if isinstance(content, str) else content)
        else:
            atomic.write(output.resolve(), content)  # the file behind a link is replaced, not the link
    except OSError as error:
        if output.is_dir():
            raise InputError(f"{output}: is a directory; name a file") from error
        if not output.parent.is_dir():
            raise InputError(
                f"{output}: directory {output.parent} does not exist; create it or name another file"
            ) from error
        raise unwritten(error, f"{output}: cannot be written: {error.strerror}") from error


def verdict(rows: Iterable[Row]) -> int:
    """The exit status: whether every cell has a result."""
    good = ("measured", "projected", "declined")
    return OK if all(row.status in good for row in rows) else INCOMPLETE

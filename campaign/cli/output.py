"""Shared by the verbs: outputs and texts, and the exit status of results.

The outputs that a verb's arguments name are of these kinds: a `file`; what is `printed` without the option; a
`directory`, into which files are written; a `bundle`; a `build` of the benchmark, which make renews; a `document`,
which is printed. `-` is standard output.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TextIO

from campaign.cli.terminal import with_colours
from campaign.core import outputs
from campaign.core.errors import INCOMPLETE, OK, InputError

if TYPE_CHECKING:
    from campaign.results.cells import Row


PIPE = 100  # columns of tables in a pipe or a file
FORMAT_OF = {
    ".csv": "csv",
    ".json": "json",
    ".xlsx": "xlsx",
    ".html": "html",
    ".md": "github",
    ".tex": "latex_longtable",
}
ONE_FILE = ("csv", "json")  # formats of tables in which all parts are one text
NOT_WRITTEN = (".xls", ".ods", ".pdf", ".doc", ".docx", ".odt")  # file names for which plain text would be wrong
FEWEST = 40  # columns that a terminal is assumed to have at least


def columns(output: Path | None = None) -> int:
    """The width of texts: that of the terminal, a fixed one in a pipe or a file."""
    if output is not None or not sys.stdout.isatty():
        return PIPE
    return max(FEWEST, get_terminal_size().columns)


def fold_to_terminal(text: str, stream: TextIO) -> str:
    """The text; on a terminal, folded to its width, with continuation lines indented."""
    if not stream.isatty():
        return text
    width = max(FEWEST, get_terminal_size().columns)
    return "\n".join(line if len(line) <= width else _fold(line, width) for line in text.split("\n"))


def _fold(line: str, width: int) -> str:
    from campaign.report import printing

    indent = " " * (len(line) - len(line.lstrip()))
    return "\n".join(printing.wrap(line.strip(), width, indent, f"{indent}    "))


def show(text: str) -> None:
    """Print on standard output."""
    print(with_colours(fold_to_terminal(text, sys.stdout), sys.stdout))


def say(text: str) -> None:
    """Print on standard error."""
    print(with_colours(fold_to_terminal(text, sys.stderr), sys.stderr), file=sys.stderr, flush=True)


def table_format(arguments: argparse.Namespace, formats: Mapping[str, str] = FORMAT_OF) -> str:
    """A table's format: the one that is asked for, otherwise that of the file's name, of these `formats`, otherwise
    plain text.

    Raises InputError if the file's name is that of a spreadsheet or of JSON and the format is not, or the other way
    round, and for decimal commas in another format than CSV.
    """
    asked_format, output = arguments.format, arguments.output
    name_format = formats.get(output.suffix.lower(), "") if output else ""
    if output and asked_format and name_format in ("csv", "json", "xlsx", "pdf") and asked_format != name_format:
        raise InputError(
            f"{output}: the file name does not fit --format {asked_format}; use --format {name_format}, or another name"
        )
    if output and not (asked_format or name_format) and output.suffix.lower() in NOT_WRITTEN:
        raise InputError(
            f"{output}: tables are not written in this format; end the name with one of {', '.join(formats)}, or "
            "give --format"
        )
    style: str = asked_format or name_format or "simple"
    if arguments.decimal == "," and style != "csv":
        in_file = f"name a .csv file without --format {asked_format}" if asked_format else "name a .csv file"
        remedy = in_file if output else "add --format csv"
        raise InputError(f"--decimal ,: is for CSV, and the format is {style}; {remedy}")
    return style


def write_table(text: str, arguments: argparse.Namespace, style: str) -> None:
    """Write or print a table in the format of `table_format`. Raises what `outputs.write` does."""
    write(with_decimals(text, arguments), arguments.output, arguments, style=style)


def with_decimals(text: str, arguments: argparse.Namespace) -> str:
    """A CSV with the decimal sign that is asked for."""
    from campaign.report import printing

    return printing.with_decimal_commas(text) if arguments.decimal == "," else text


STANDARD_OUTPUT = Path("-")
NOT_PRINTED = {"directory": "directory", "build": "directory", "bundle": "bundle"}  # outputs by kind, with their word
_stdout: list[TextIO] = []  # while an output is printed, the place for it


@contextmanager
def prepare_outputs(arguments: argparse.Namespace) -> Iterator[None]:
    """A context for a command that writes files: no output may replace a file that the command reads. If an output
    is `-`, everything else that it prints goes to standard error.
    """
    kinds: dict[str, str] = arguments.outputs
    for name in kinds:
        _find_standard_output(arguments, name)
    values = (value for name, value in vars(arguments).items() if name not in kinds)
    paths = (path for value in values for path in (value if isinstance(value, list) else [value]))
    outputs.begin((path for path in paths if isinstance(path, Path)), getattr(arguments, "force", False))
    file_names = [name for name in kinds if kinds[name] in ("file", "document")]
    printed_names = [name for name in file_names if getattr(arguments, name) == STANDARD_OUTPUT]
    if not printed_names:
        yield
        return
    if len(printed_names) > 1:
        raise InputError(f"--{' and --'.join(printed_names)} are both standard output; name a file")
    _stdout.append(sys.stdout)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _stdout.clear()


def _find_standard_output(arguments: argparse.Namespace, name: str) -> None:
    """Give an output that is standard output, as `-` or as a path such as /dev/stdout, the value that means this. The
    format of a table remains that of the file's name.
    """
    kind, path = arguments.outputs[name], getattr(arguments, name)
    if kind not in ("file", "printed") or path is None:
        return
    if path != STANDARD_OUTPUT:
        if not outputs.is_standard_output(path):
            return
        if not getattr(arguments, "format", "none") and path.suffix.lower() in FORMAT_OF:
            arguments.format = FORMAT_OF[path.suffix.lower()]
    setattr(arguments, name, STANDARD_OUTPUT if kind == "file" else None)


def check_outputs(arguments: argparse.Namespace) -> None:
    """Raises InputError for an output that must not be written, before a command does its work. Not for files of parts,
    whose names are not known yet.
    """
    for name, kind in arguments.outputs.items():
        path: Path | None = getattr(arguments, name)
        if path is None or name in arguments.checked_by_verb:
            continue
        if path == STANDARD_OUTPUT:
            if kind in NOT_PRINTED:
                raise InputError(f"{path}: a {NOT_PRINTED[kind]} cannot be printed; name one")
        elif kind in ("file", "printed"):
            outputs.check(path, arguments.force)
        elif kind == "directory":
            outputs.check_directory(path, arguments.force)


def write(
    content: str | bytes, output: Path | None, arguments: argparse.Namespace, remark: str = "", style: str = ""
) -> None:
    """Write an output, and say so with a remark; or print it, with colours in the style of text that people read.
    Raises what `outputs.write` does.
    """
    if output is not None and output != STANDARD_OUTPUT:
        outputs.write(output, content, arguments.force)
        (say if getattr(arguments, "json", False) else show)(f"wrote {output}{remark}")
        return
    stream = _stdout[0] if _stdout else sys.stdout
    if isinstance(content, str):
        stream.write(with_colours(content, stream) if style == "simple" else content)
    else:
        stream.flush()
        stream.buffer.write(content)


def write_document(document: Mapping[str, Any], arguments: argparse.Namespace) -> None:
    """Print what a command did as a JSON object, if that is asked for."""
    if arguments.json:
        write(json.dumps({"format": 1, **document}, indent=1) + "\n", arguments.json, arguments)


def rows_exit_status(rows: Iterable[Row]) -> int:
    """The exit status: whether every cell has a result."""
    good = ("measured", "projected", "declined")
    return OK if all(row.status in good for row in rows) else INCOMPLETE

"""The command line: runs a verb, gives its exit status, and prints errors, also about its own output."""

from __future__ import annotations

import argparse
import errno
import io
import os
import resource
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import Any, TextIO

from campaign.cli.arguments import check_verb, first_steps, parser
from campaign.cli.output import check_outputs, prepare_outputs, say
from campaign.cli.step_line import VERBS, show_steps
from campaign.cli.terminal import choose_colours
from campaign.core import users, waiting
from campaign.core.errors import ENVIRONMENT, INTERRUPTED, OK, USAGE, CampaignError, is_full

PACKAGE = Path(__file__).parents[1]
TELLING = ("run", "rerun", "status", "check", "verify", "collect")  # verbs whose exit status scripts use


def main(argv: Sequence[str] | None = None) -> int:
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        from campaign.cli import completion

        completion.answer_shell(parser())
    words = sys.argv[1:] if argv is None else list(argv)
    if argv is None:
        use_streams()
        os.umask(os.umask(0o077) | 0o002)  # others must not be able to change results and scripts of jobs
    try:
        return _run_verb(words)
    except CampaignError as error:
        _print_error(f"campaign: {error}")
        return error.exit_status
    except KeyboardInterrupt:
        _print_error("campaign: interrupted")
        return INTERRUPTED
    except OSError as error:
        if isinstance(error, BrokenPipeError) and error.filename in (OUTPUT, ERRORS):
            # The reader has gone, as in `campaign table | head`. Verbs whose status is used must not return OK.
            return INTERRUPTED if words[:1] and words[0] in TELLING else OK
        _print_error(f"campaign: {_error_text(error)}")
        return ENVIRONMENT
    except MemoryError:
        _print_error(
            "campaign: this machine has not enough memory (ulimit -v, cgroup): use a larger one, or free memory"
        )
        return ENVIRONMENT
    finally:
        end_streams()


def _run_verb(words: Sequence[str]) -> int:
    try:
        if not words:
            say(first_steps())
            return USAGE
        check_verb(*words)
        arguments = parser().parse_args(words)
        choose_colours(arguments.color)
        notices = (lambda _: None) if "--json" in words else say  # nobody reads messages beside data
        steps = show_steps(sys.stderr) if words[0] in VERBS else nullcontext()
        with prepare_outputs(arguments), waiting.replace_listener(notices), steps:
            module, name = arguments.do
            verb: Callable[[argparse.Namespace], int] = import_module(f"campaign.cli.{module}").FUNCTIONS[name]
            check_outputs(arguments)
            status = verb(arguments)
    finally:  # also if argparse ends it, after --help
        sys.stdout.flush()
    return status


def _error_text(error: OSError) -> str:
    """Where something was refused (the file, or else the place in this program), and why."""
    if error.filename:
        if isinstance(error, PermissionError):
            denied = _denied_path(Path(error.filename))
            owner, mode = users.user_name(denied.stat().st_uid), f"{stat.S_IMODE(denied.stat().st_mode):04o}"
            user = users.user_name(os.geteuid())
            return (
                f"{error.filename}: {error.strerror}: {denied} belongs to {owner} and has mode {mode}; you are {user}. "
                "Change its permissions"
            )
        if isinstance(error, NotADirectoryError):
            paths = (*reversed(Path(error.filename).parents), Path(error.filename))
            file = next((path for path in paths if not path.is_dir()), paths[-1])
            return f"{paths[-1]}: {file} is not a directory; move it away, then run the same command again"
        if error.errno == errno.EMFILE:
            limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            return f"{error.filename}: {error.strerror}: this process may open {limit} (ulimit -n); allow 64 or more"
        return (
            f"{error.filename}: {error.strerror}; free space, then run the same command again"
            if is_full(error)
            else f"{error.filename}: {error.strerror}"
        )
    frames = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(PACKAGE)]
    place = f"{Path(frames[-1].filename).relative_to(PACKAGE.parent)}:{frames[-1].lineno}"
    return (
        f"the operating system refused an operation: {error.strerror or error}, at {place}: {frames[-1].line}; check "
        "disks, memory and limits (ulimit -a), then run the same command again"
    )


def _denied_path(path: Path) -> Path:
    """What this user may not enter, read or write: the outermost directory, otherwise the file or its directory."""
    closed = (place for place in reversed(path.absolute().parents) if not os.access(place, os.X_OK))
    if directory := next(closed, None):
        return directory
    return path if path.exists() and not os.access(path, os.R_OK) else path.parent


def _print_error(text: str) -> None:
    with suppress(OSError):  # the terminal was closed
        say(text)


# --- standard output and standard error, whose errors say which of them could not be written

OUTPUT, ERRORS = "standard output", "standard error"
_used: list[TextIO] = []


class _Named(io.FileIO):
    """A file descriptor whose errors have its name in place of a file's."""

    def __init__(self, descriptor: int, words: str) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._words = words

    def write(self, content: Any, /) -> Any:
        try:
            return super().write(content)
        except OSError as error:
            error.filename = self._words
            raise


def use_streams() -> None:
    """Use such streams as sys.stdout and sys.stderr. A closed descriptor among the first three becomes /dev/null,
    before a file that is opened gets its number, and with it what programs print there.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    _used[:] = [_wrap_stream(1, OUTPUT, sys.stdout), _wrap_stream(2, ERRORS, sys.stderr)]
    sys.stdout, sys.stderr = _used


def _wrap_stream(descriptor: int, words: str, before: TextIO | None) -> TextIO:
    if before is None:  # it was closed
        return os.fdopen(descriptor, "w", closefd=False)
    before.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Named(descriptor, words)),
        encoding=before.encoding,
        errors=before.errors,
        line_buffering=descriptor == 2 or before.isatty(),
    )


def end_streams() -> None:
    """Discard what could not be written: Python would try again at its end, and fail with its own exit status."""
    for stream in _used:
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)

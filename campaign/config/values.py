"""What is allowed in a single value of a campaign file: its texts, taken apart."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path

from campaign.config import names as resolution
from campaign.core import formula, units
from campaign.core.schema import Text
from campaign.core.strict_yaml import is_file, shown

LONGEST_TIME_S = 30 * 86400
BUILTIN = "builtin"
ALL, SEARCH, PROJECTED = "all", "search", "projected"

PATH = "a path without $, backquote or ~"
RESULTS = "a path, absolute or from the campaign file's directory, with $NAME or ${NAME} of the environment"
DIRECTORY = (
    "an absolute path, not / and not the home directory or one above it, without .., "
    "with $NAME or ${NAME} of the environment"
)
LAUNCH = "a number of processes, all, search, projected, {nodes: N, processes: P} or {nodes: N, processes_per_node: P}"
PERCENT = "a percentage from {}% to {}%"
PER = ("configuration", "operation", "all")
AMOUNT = "a number above zero"
REPETITIONS = "a whole number from 1 to 1000, or {least: 6, most: 20, width: 5%}"
INPUT = "a number"
DAY = 'a day in quotes, such as "2026-11-21"'
TREES = "of a directory or an archive, or REPOSITORY@REVISION of git, also REPOSITORY@REVISION:DIRECTORY"
INPUT_NAME = "letters, digits and _, no digit first, other than nodes and processes, which a formula has of itself"

_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")

RESERVED_VARIABLES = ("SLURM_", "SBATCH_", "BENCH_")
UNRESERVED_VARIABLES = ("SLURM_PMIX_FENCE",)  # the sandbox needs it, a real cluster may


def _expand(text: str, allowed: str) -> str:
    """`text` with $NAME and ${NAME} of the environment in place."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        found = resolution.variable(name, lambda: os.environ.get(name) or _of_user(name))
        if not found:
            raise ValueError(f"found ${name}, which is not set in the environment; set it, or write the path out")
        if not found.isprintable() or "$" in found or "`" in found:
            raise ValueError(f"found ${name}, which stands for {shown(found)}; allowed: {allowed}")
        return found

    if "$" in _VARIABLE.sub("", text):
        raise ValueError(f"found a $ that starts no $NAME or ${{NAME}} in {shown(text)}; allowed: {allowed}")
    if "`" in text:
        raise ValueError(f"found a backquote in {shown(text)}; allowed: {allowed}")
    if text.startswith("~"):
        raise ValueError(f"found {shown(text)}: ~ is not expanded, write $HOME; allowed: {allowed}")
    return _VARIABLE.sub(value, text)


def _of_user(name: str) -> str:
    """$UID, which shells do not export, and $USER, which containers and cron lack; "" for any other name."""
    if name == "UID":
        return str(os.getuid())
    try:
        return pwd.getpwuid(os.getuid()).pw_name if name == "USER" else ""
    except KeyError:  # a user without an entry, as in containers
        return ""


def parse_path(text: str) -> str:
    """A path in which nothing is expanded."""
    if re.search(r"[$`]|^~", text):
        raise ValueError(f"found {shown(text)}; allowed: {PATH}, since nothing is expanded here")
    return text


def parse_results(text: str) -> str:
    """A path, absolute or relative to the campaign file, with variables in place."""
    return _expand(text, RESULTS)


def parse_directory(text: str) -> str:
    """A target's directory, with variables in place and no superfluous slash or dot."""
    path = _expand(text, DIRECTORY)
    if not path.startswith("/"):
        raise ValueError(f"found {shown(path)}, which is not absolute; allowed: {DIRECTORY}")
    if ".." in path.split("/"):
        raise ValueError(f"found .. in {shown(path)}; allowed: {DIRECTORY}")
    if "@" in path:
        # mdtest would measure in two directories, of which the second is not below the target.
        raise ValueError(
            f"found @ in {shown(path)}, at which mdtest splits its -d into several directories; allowed: {DIRECTORY}"
        )
    path = "/" + os.path.normpath(path).lstrip("/")
    if reason := forbidden(path, resolve=False):
        raise ValueError(f"found {shown(path)}, which is {reason}; allowed: {DIRECTORY}")
    return path


def forbidden(directory: str, resolve: bool) -> str:
    """Why a benchmark must not work in this directory, or "": what it is after links are followed, with `resolve`."""
    if resolution.replayed():
        return ""  # it was looked at where it was measured; this machine has other homes
    path = os.path.realpath(directory) if resolve else directory
    if path == "/":
        return "the root directory"
    try:
        homes = {os.environ.get("HOME", ""), pwd.getpwuid(os.getuid()).pw_dir}
    except KeyError:  # a user without an entry, as in containers
        homes = {os.environ.get("HOME", "")}
    for home in {os.path.normpath(home) for home in homes if home.startswith("/")}:
        if path in (home, os.path.realpath(home)):
            return "the home directory"
        if f"{home}/".startswith(f"{path}/") or f"{os.path.realpath(home)}/".startswith(f"{path}/"):
            return f"above the home directory {home}"
    return ""


def parse_time(text: str) -> int:
    """A run's time limit in seconds."""
    seconds = units.parse_duration(text)
    if not 1 <= seconds <= LONGEST_TIME_S:
        raise ValueError(f"found {shown(text)}; allowed: 1s to {units.format_duration(LONGEST_TIME_S)}")
    return seconds


def parse_variable(text: str) -> str:
    """Name of an environment variable for the job."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError(f"found {shown(text)} as a variable's name; allowed: letters, digits and _, no digit first")
    if text.startswith(RESERVED_VARIABLES) and text not in UNRESERVED_VARIABLES:
        reserved = ", ".join(f"{prefix}*" for prefix in RESERVED_VARIABLES)
        raise ValueError(f"found {text}; allowed: names other than {reserved}, which campaign and Slurm set")
    return text


def parse_value(text: str) -> str:
    """Value of an environment variable; nothing is expanded in it, so what looks like it is refused."""
    if re.search(r"[$`]", text):
        raise ValueError(
            f"found {shown(text)}; allowed: a text without $ and backquote, since nothing is expanded here"
        )
    return text


def parse_cells(text: str) -> str:
    """A pattern over cells."""
    if not re.fullmatch(r"[^/\s]+(/[^/\s]+){3}", text):
        raise ValueError(f"found {shown(text)}; allowed: target/launch/files/operation, with * for any")
    return text


def parse_day(text: str) -> date:
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"found {shown(text)}; allowed: {DAY}") from error


def parse_argument(text: str) -> str:
    """A word of the benchmark's command line."""
    if re.search(r"[{}]", text):
        raise ValueError(f"found {shown(text)}; allowed: a word without braces")
    return text


def parse_percent(least: float, most: float) -> Callable[[str], float]:
    """A reader of percentages: `2.5%` -> 0.025."""

    def parse(text: str) -> float:
        match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)%", text)
        if not match or not least <= float(match[1]) <= most:
            raise ValueError(f"found {shown(text)}; allowed: {PERCENT.format(f'{least:g}', f'{most:g}')}")
        return float(match[1]) / 100

    return parse


def percent(least: float, most: float) -> Text:
    return Text(PERCENT.format(f"{least:g}", f"{most:g}"), parse_percent(least, most))


def parse_amount(text: str) -> float:
    """A number above zero, in plain digits with or without a fraction."""
    if not re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,9})?", text) or float(text) == 0:
        raise ValueError(f"found {shown(text)}; allowed: {AMOUNT}")
    return float(text)


def parse_input(text: str) -> float:
    """A number of a projection, with a sign and a power of ten where they are wanted."""
    if not re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?(e[-+]?[0-9]{1,2})?", text):
        raise ValueError(f"found {shown(text)}; allowed: {INPUT}")
    return float(text)


def parse_input_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) or text in ("nodes", "processes"):
        raise ValueError(f"found {shown(text)}; allowed: {INPUT_NAME}")
    return text


def parse_formula(text: str) -> str:
    """An arithmetic expression over names and numbers."""
    try:
        formula.names(text)
    except ValueError as error:
        raise ValueError(f"found {shown(text)}: {error}") from error
    return text


def beside(file: Path, path: str) -> Path:
    """A path of the campaign file, made absolute: a relative one is from the file's directory.

    The last part stays as it is, for a link's name may be what decides which benchmark a binary is.
    """

    def look_up() -> Path:
        whole = file.absolute().parent / path
        folder = Path(os.path.realpath(whole.parent))
        return Path(os.path.realpath(whole)) if whole.name == ".." else folder / whole.name

    return resolution.path(path, look_up)


def is_there(path: Path) -> bool:
    """Whether a file that the campaign file names is there; on another machine that cannot be asked."""
    return resolution.replayed() or is_file(path)

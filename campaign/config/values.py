"""What is allowed in a single value of a campaign file: parsers of its texts."""

from __future__ import annotations

import itertools
import os
import pwd
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from campaign.config import resolution
from campaign.core import formula, units, users
from campaign.core.runs import IN_JOB
from campaign.core.schema import Text, checked_text, full_match
from campaign.core.strict_yaml import quoted

GRES = r"[a-z][a-z0-9_]*(:[A-Za-z0-9_.-]+)?:[1-9][0-9]{0,5}"  # a kind of generic resource and its number
LONGEST_TIME_S = 30 * 86400
BUILTIN = "builtin"
ALL, SEARCH, PROJECTED = "all", "search", "projected"

LAUNCH = "a number of processes, all, search, projected, {nodes: N, processes: P} or {nodes: N, processes_per_node: P}"
REPETITIONS = "a whole number from 1 to 1000, or {least: 6, most: 20, width: 5%}"

_PATH = "a path without $, backquote or ~"
_RESULTS = "a path, absolute or from the campaign file's directory; $NAME of the environment is expanded"
_DIRECTORY = (
    "an absolute path without .. that is not /, the home directory or above it; $NAME of the environment is expanded, "
    "behind job: that of the job"
)
_CELLS = "target/launch/files/operation, with * for any"
_AMOUNT = "a number above zero"
_INPUT = "a number"
_DAY = 'a day in quotes, such as "2026-11-21"'
_INPUT_NAME = "letters, digits and _, no digit first; not nodes or processes, which every formula knows"

_VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")

RESERVED_VARIABLES = ("SLURM_", "SBATCH_", "BENCH_")
UNRESERVED_VARIABLES = ("SLURM_PMIX_FENCE",)  # the sandbox needs it, and a real cluster may


def _expand(text: str, allowed: str) -> str:
    """`text` with $NAME and ${NAME} replaced by values of the environment."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        text = resolution.variable(name, lambda: os.environ.get(name) or _user_variable(name))
        if not text:
            raise ValueError(f"found ${name}, which is not set in the environment; set it or write the full path")
        if not text.isprintable() or "$" in text or "`" in text:
            raise ValueError(f"found ${name}, whose value is {quoted(text)}; allowed: {allowed}")
        return text

    if "$" in _VARIABLE.sub("", text):
        raise ValueError(f"found a $ that is not part of $NAME or ${{NAME}} in {quoted(text)}; allowed: {allowed}")
    if "`" in text:
        raise ValueError(f"found a backquote in {quoted(text)}; allowed: {allowed}")
    if text.startswith("~"):
        raise ValueError(f"found {quoted(text)}: ~ is not expanded, write $HOME; allowed: {allowed}")
    return _VARIABLE.sub(value, text)


def _user_variable(name: str) -> str:
    """$UID, which shells do not export, $USER, which containers and cron lack, and the directories of the user's
    sandbox, which are known also when it does not run; "" for any other name.
    """
    if name == "UID":
        return str(os.getuid())
    if name in users.SANDBOX_TARGETS:
        return str(users.sandbox_directory() / users.SANDBOX_TARGETS[name])
    try:
        return pwd.getpwuid(os.getuid()).pw_name if name == "USER" else ""
    except KeyError:  # a user without an entry, as in containers
        return ""


def _directory(text: str) -> str:
    """A target's directory, with variables replaced, without superfluous slashes and dots. Behind `job:` the variables
    are the job's, which replaces them on its first node.
    """
    in_job = IN_JOB if text.startswith(IN_JOB) else ""
    path = text.removeprefix(IN_JOB) if in_job else _expand(text, _DIRECTORY)
    if in_job and ("$" in _VARIABLE.sub("", path) or not re.fullmatch(r"[\w.+/${},:=-]+", path)):
        raise ValueError(f"found {quoted(text)}; allowed behind job: a path of letters, digits, $NAME and ._+,:=-")
    if not path.startswith("/") and not (in_job and path.startswith("$")):
        raise ValueError(f"found {quoted(path)}, which is not absolute; allowed: {_DIRECTORY}")
    if path != path.rstrip():
        raise ValueError(f"found {quoted(path)}, which ends with a space; allowed: {_DIRECTORY}")
    if ".." in path.split("/"):
        raise ValueError(f"found .. in {quoted(path)}; allowed: {_DIRECTORY}")
    if "@" in path:
        # mdtest would measure in two directories, of which the second is not below the target.
        raise ValueError(
            f"found @ in {quoted(path)}, which mdtest reads as a separator between directories; allowed: {_DIRECTORY}"
        )
    path = os.path.normpath(path) if path.startswith("$") else "/" + os.path.normpath(path).lstrip("/")
    if place := forbidden_reason(path, resolve=False):
        raise ValueError(f"found {quoted(path)}, which is {place}; allowed: {_DIRECTORY}")
    return f"{in_job}{path}"


def resolved_in_job(directory: str, variables: Mapping[str, str]) -> re.Pattern[str]:
    """What a job with these variables makes of a directory behind `job:`; of those that are not known, any text."""
    parts = _VARIABLE.split(directory.removeprefix(IN_JOB))
    names = [first or second for first, second in zip(parts[1::3], parts[2::3], strict=True)]
    texts = [re.escape(variables[name]) if name in variables else ".+" for name in names]
    pattern = "".join(itertools.chain(*itertools.zip_longest(map(re.escape, parts[::3]), texts, fillvalue="")))
    return re.compile(pattern.rstrip("/"))


def forbidden_reason(directory: str, resolve: bool) -> str:
    """Why a benchmark must not work in this directory, or "". `resolve`: follow links first."""
    if resolution.is_replayed():
        return ""  # checked where it was measured; this machine has other home directories
    path = os.path.realpath(directory) if resolve else directory
    if path == "/":
        return "the root directory"
    homes = {os.environ.get("HOME", ""), os.path.expanduser(f"~{users.user_name(os.getuid())}")}  # noqa: PTH111
    for home in {os.path.normpath(home) for home in homes if home.startswith("/")}:
        if path in (home, os.path.realpath(home)):
            return "the home directory"
        if f"{home}/".startswith(f"{path}/") or f"{os.path.realpath(home)}/".startswith(f"{path}/"):
            return f"above the home directory {home}"
    return ""


def _time(text: str) -> int:
    """A run's time limit in seconds."""
    seconds = units.parse_duration(text)
    if not 1 <= seconds <= LONGEST_TIME_S:
        raise ValueError(f"found {quoted(text)}; allowed: 1s to {units.format_duration(LONGEST_TIME_S)}")
    return seconds


def _variable(text: str) -> str:
    """Name of an environment variable for the job."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        raise ValueError(f"found {quoted(text)} as a variable's name; allowed: letters, digits and _, no digit first")
    if text.startswith(RESERVED_VARIABLES) and text not in UNRESERVED_VARIABLES:
        raise ValueError(
            f"found {text}; names that begin with {', '.join(RESERVED_VARIABLES)} are set by Slurm and campaign; "
            "remove it"
        )
    return text


def _day(text: str) -> date:
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            raise ValueError
        return date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"found {quoted(text)}; allowed: {_DAY}") from error


def parse_percent(minimum: float, maximum: float) -> Callable[[str], float]:
    """A parser of percentages: `2.5%` -> 0.025."""

    def parse(text: str) -> float:
        match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)%", text)
        if not match or not minimum <= float(match[1]) <= maximum:
            raise ValueError(f"found {quoted(text)}; allowed: {_percentage(minimum, maximum)}")
        return float(match[1]) / 100

    return parse


def _percentage(minimum: float, maximum: float) -> str:
    return f"a percentage from {minimum:g}% to {maximum:g}%"


def percent(minimum: float, maximum: float) -> Text:
    return Text(_percentage(minimum, maximum), parse_percent(minimum, maximum), unit="percent sign")


_parse_path = full_match(r"(?!~)[^$`]*", f"{_PATH} (nothing is expanded here; write the full path)")
LINE = Text("a text on one line", longest=500)
PROSE = Text("a text", longest=2000, numbers=True, lines=True)
PATH = Text(_PATH, _parse_path, longest=1000)
TREE = Text(
    "a directory, an archive, or a git revision (REPOSITORY@REVISION or REPOSITORY@REVISION:DIRECTORY)",
    _parse_path,
    longest=1000,
)
RESULTS = Text(_RESULTS, lambda text: _expand(text, _RESULTS), longest=1000)
DIRECTORY = Text(_DIRECTORY, _directory, longest=1000)
SIZE = Text(units.SIZE, units.parse_size, unit="unit")
TIME = Text(units.DURATION, _time, unit="unit")
VARIABLE = Text("a variable's name", _variable, longest=100)
VALUE = Text(
    "a text without $ and backquote",
    full_match(r"[^$`]*", "a text without $ and backquote (nothing is expanded here)"),
    longest=1000,
    numbers=True,
)
ARGUMENT = Text("a word", full_match(r"[^{}]*", "a word without braces"), numbers=True)
CELLS = Text(_CELLS, full_match(r"[^/\s]+(/[^/\s]+){3}", _CELLS))
DAY = Text(_DAY, _day)
AMOUNT = Text(_AMOUNT, full_match(r"(?=.*[1-9])[0-9]{1,15}(\.[0-9]{1,9})?", _AMOUNT, float), numbers=True)
INPUT = Text(_INPUT, full_match(r"-?[0-9]{1,18}(\.[0-9]{1,18})?(e[-+]?[0-9]{1,2})?", _INPUT, float), numbers=True)
INPUT_NAME = Text(_INPUT_NAME, full_match(r"(?!(nodes|processes)$)[A-Za-z_][A-Za-z0-9_]*", _INPUT_NAME), longest=40)
FORMULA = Text(formula.ALLOWED, checked_text(formula.names), longest=formula.LONGEST)


def absolute_path(file: Path, path: str, recorded_prefix: str = "") -> Path:
    """A path of the campaign file, or of another file, made absolute; a relative one is from the file's directory.

    The last part is not resolved: a link's name may decide which benchmark a binary is.
    """

    def look_up() -> Path:
        joined_path = file.absolute().parent / path
        folder = Path(os.path.realpath(joined_path.parent))
        return Path(os.path.realpath(joined_path)) if joined_path.name == ".." else folder / joined_path.name

    return resolution.path(f"{recorded_prefix}{path}", look_up)


def is_path_of_pack(pack: str) -> bool:
    """Whether the text that names a rule pack is the path of its file, and not its id."""
    return "/" in pack or pack.endswith(".yaml")


def _pack(name: str, file: Path) -> str:
    """The id as it is, or the absolute path of the pack."""
    if (replayed := resolution.current_names().pack) is not None:
        return str(replayed)
    return str(absolute_path(file, name)) if is_path_of_pack(name) else name


# Kinds whose values depend on the campaign file's directory.
FILE = replace(PATH, made=lambda text, file: absolute_path(file, text))
EXECUTABLE = replace(
    FILE,
    allowed=f"{BUILTIN}, or {_PATH}",
    made=lambda text, file: None if text == BUILTIN else absolute_path(file, text),
)
PACK = Text(
    "the id of a rule pack (campaign rules lists them), or a path to one ending in .yaml", _parse_path, made=_pack
)


# --- numbers of nodes, and of processes per node, as a share of those available: `10%`, `half`, `all`

SHARE = "a whole number from 1 to 1000000, all, half, power of two, or a share such as 10%"
Count = int | str  # a number, or a share as written
POWER = "power of two"
SERIES = "powers of two"  # in rule packs: 1, 2, 4 ... up to what is available
EACH = "each"  # in rule packs: every usable node by itself
CHUNKS = "chunks of "  # and a number: all usable nodes in chunks, each by itself
FREE = "free"  # in rule packs: a series whose counts the campaign file gives
SHARE_IN_PACKS = f'{SHARE}, {SERIES}, counts such as "1, 2, 8", {FREE}, {EACH}, or {CHUNKS}4'


def parse_share(text: str, in_pack: bool = False) -> Count:
    """Parse a count. Raises ValueError with what is allowed."""
    if re.fullmatch(r"[1-9][0-9]{0,5}|1000000", text):
        return int(text)
    share = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)%", text)
    counts = counts_of(text)
    if len(counts) > 1 and counts == sorted({*counts}):
        return ", ".join(map(str, counts))
    is_of_packs = text in (SERIES, EACH, FREE) or re.fullmatch(rf"{CHUNKS}([2-9]|[1-9][0-9]{{1,5}})", text)
    if text in ("all", "half", POWER) or (in_pack and is_of_packs) or (share and 0 < float(share[1]) <= 100):
        return text
    raise ValueError(f'found "{text}"; allowed: {SHARE_IN_PACKS if in_pack else SHARE}')


def counts_of(text: object) -> list[int]:
    """The counts in a series such as "1, 2, 8", or a number; none of any other text."""
    parts = [part.strip() for part in str(text).split(",")]
    return [int(part) for part in parts] if all(re.fullmatch(r"[1-9][0-9]{0,5}", part) for part in parts) else []


def is_series(count: object) -> bool:
    """Whether a count of a rule pack stands for several, each of which is a launch condition."""
    return count in (SERIES, FREE) or len(counts_of(count)) > 1


def share_of(count: Count, available: int) -> int:
    """The number that a count or a share of the `available` ones is; a share is rounded up, a power of two is the
    largest possible.
    """
    if isinstance(count, int):
        return count
    if count == POWER:
        return 1 << (available.bit_length() - 1)
    if count == EACH or count.startswith(CHUNKS):
        return int(count.removeprefix(CHUNKS).replace(EACH, "1"))
    share = {"all": 100.0, "half": 50.0}.get(count) or float(count.removesuffix("%"))
    return max(1, -int(-available * share * (1 - 1e-12) // 100))

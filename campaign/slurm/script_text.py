"""What the text of a job script says: its options, and what it executes. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import takewhile

from campaign.core.model import Run
from campaign.core.regex import regex

# What the line that begins the job and those of its runs begin with, and what marks phases, files and last lines of
# outputs in these.
BEGIN, STEP, END = "campaign_begin", "campaign_run", "campaign_end"
PHASE, FILE, LAST_LINE = "phase=", "file=", "end="
_UNQUOTED = regex(r"[ !#-&(-\[\]-~]*")


def directives(text: str) -> list[str]:
    """The #SBATCH options as sbatch finds them: it stops reading at the first command."""
    head = takewhile(lambda line: not line.strip() or line.startswith("#"), text.split("\n"))
    return [line.removeprefix("#SBATCH").strip() for line in head if line.startswith("#SBATCH")]


def directive(text: str, key: str) -> str:
    """The value of an #SBATCH option; "" where a script does not have it."""
    match = re.search(rf'^#SBATCH --{key}="?([^"\n]*)', text, re.MULTILINE)
    return match[1] if match else ""


def steps(text: str) -> list[str]:
    """The lines of a job script that execute its runs."""
    after = f"\n{text}".replace("\\\n", " ").split(f"\n{STEP} ")[1:]
    return [f"{STEP} {rest.partition(chr(10))[0]}" for rest in after]


def executes(steps: Sequence[str], run: Run, token: str) -> bool:
    """Whether one of a job script's steps executes the run as this attempt, with the commands as they are planned."""
    lines = [line for line in steps if token in line]
    words = _words(lines[0]) if len(lines) == 1 else None
    if words is None:
        return False
    for command in reversed(run.commands):
        planned = command.words(run.attempt_directory(token))
        if words[-len(planned) :] != planned:
            return False
        if command.phase:
            mark = f"{PHASE}{command.phase}"
            if mark not in words:
                return False
            words = words[: words.index(mark)]
    return True


def commands(text: str) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """The commands that begin the job or execute a run, as (line number, text on one line, words)."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line or line.lstrip().partition(" ")[0] not in (BEGIN, STEP):
            continue
        raw, following = line.lstrip(), iter(lines[number:])
        while (words := _words(raw)) is None or raw.endswith("\\"):
            more = next(following, None)
            if more is None:
                break
            # Inside quotes the line's end belongs to the word; outside of them a backslash takes it away.
            raw = f"{raw}\n{more}" if words is None else f"{raw[:-1].rstrip()} {more.lstrip()}"
        yield number, raw.rstrip(), words or (raw,)


def _words(raw: str) -> tuple[str, ...] | None:
    """The words of a command; None inside an open quotation."""
    given = raw.removesuffix("\\")
    if _UNQUOTED.fullmatch(given):  # shlex reads character by character
        return tuple(given.split())
    try:
        return tuple(shlex.split(given))
    except ValueError:
        return None

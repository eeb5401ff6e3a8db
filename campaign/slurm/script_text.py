"""Reads the text of a job script: its options, and the commands that it executes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

from campaign.core.runs import Command, Run

# What the line that begins the job and those of its runs begin with, and what marks phases, their geometry, files and
# last lines of outputs in these. A phase that starts together with the one before it has BESIDE in place of PHASE.
BEGIN, INPUTS, STEP, END = "campaign_begin", "campaign_with_inputs", "campaign_run", "campaign_end"
PHASE, BESIDE, TOLD, FILE, LAST_LINE = "phase=", "beside=", "told=", "file=", "end="

# Parts of a command's words: what stands in quotes or behind a backslash, and the rest. Only bash knows $'...'.
_QUOTED = re.compile(r"""'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|\\.""", re.DOTALL)
_PLAIN = r"""[^ \t\n'"\\$]+|\$(?!')"""
_WORD = re.compile(rf"(?:{_QUOTED.pattern}|{_PLAIN})+", re.DOTALL)
# What the list of a job's commands has before it begins; anything else that is indented may be a function's.
_BEFORE = (
    "campaign_(?:module|submitted_from|count_by|with_inputs|independent_storage|prepared_by|launched_by|remove_stale)"
)
# A command that templates have; `unread` from where on it has no end.
_COMMAND = re.compile(
    rf"^(?:[ \t]*(?:{BEGIN}|{STEP}|{END}|{_BEFORE}|export)|campaign_\w+)(?![^ \t\n\\])"
    rf"(?:{_QUOTED.pattern}|{_PLAIN}|[ \t]+)*(?P<unread>['\"\\$].*)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ScriptCommand:
    """A command of the job script. `raw`: as quoted in the script, its words separated by one blank."""

    line: int
    raw: str
    words: tuple[str, ...]


def directives(text: str) -> list[str]:
    """The #SBATCH options as sbatch finds them: it stops reading at the first command."""
    head = takewhile(lambda line: not line.strip() or line.startswith("#"), text.split("\n"))
    return [line.removeprefix("#SBATCH").strip() for line in head if line.startswith("#SBATCH")]


def directive(text: str, key: str) -> str:
    """The value of an #SBATCH option; "" if the script does not have it."""
    values = (option.removeprefix(f"--{key}=") for option in directives(text) if option.startswith(f"--{key}="))
    value = next(values, "")
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value


def commands(text: str) -> Iterator[ScriptCommand]:
    """The job's own commands in a script: its beginning and end, its runs, and their settings."""
    line, counted_to = 1, 0
    for match in _COMMAND.finditer(text):
        line, counted_to = line + text.count("\n", counted_to, match.start()), match.start()
        if match["unread"]:
            yield ScriptCommand(line, match[0].strip(), (match[0].strip(),))
            continue
        joined = _QUOTED.sub(lambda part: part[0] if part[0] != "\\\n" else "", match[0])
        raw = _WORD.findall(joined)
        yield ScriptCommand(line, " ".join(raw), tuple(_QUOTED.sub(_unquoted, word) for word in raw))


def _unquoted(part: re.Match[str]) -> str:
    inner = part[0][1:-1]
    if part[0].startswith('"'):
        return re.sub(r'\\([$`"\\\n])', lambda escaped: escaped[1].strip("\n"), inner)
    return inner if part[0].startswith("'") else part[0][1]


def without_texts(text: str) -> str:
    """A script whose commands lack their quoted texts: what is left is interpreted by the shell."""
    return _COMMAND.sub(lambda command: _QUOTED.sub("", command[0]), text)


def steps(text: str) -> dict[str, tuple[str, ...]]:
    """The words that execute each run, by its attempt's token; None if a script has it twice."""
    words_by_token: dict[str, tuple[str, ...]] = {}
    for command in commands(text):
        if command.words[0] == STEP:
            token = command.words[3] if len(command.words) > 3 else ""
            words_by_token[token] = () if token in words_by_token else command.words
    return words_by_token


def executes(words: Sequence[str], run: Run, token: str) -> bool:
    """Whether the words of a job script's step execute the run as this attempt, with the planned commands."""
    for command in reversed(run.commands):
        planned = command.words(run.attempt_directory(token))
        if tuple(words[-len(planned) :]) != planned:
            return False
        words = words[: -len(planned)]
        for mark in phase_marks(command):
            if mark not in words:
                return False
            words = words[: len(words) - 1 - words[::-1].index(mark)]
    return True


def phase_marks(command: Command) -> list[str]:
    """The words with which a phase begins in a step of a job script; none of one without a name."""
    return [f"{BESIDE if command.beside else PHASE}{name}" for name in command.phase_names]

"""mdtest's command line: how each version prints it, and what it requests. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

COMMAND_TRUNCATED = "command line truncated or damaged in the output: executed command unknown"


_TAKES_VALUE = frozenset("abdefGiIlnNpsVwWxz")
_LONG_TAKES_VALUE = frozenset(
    {
        "json", "random-seed", "dataPacketType", "run-cmd-before-phase", "run-cmd-after-phase",
        "saveRankPerformanceDetails", "savePerOpDataCSV", "allocateBufferOnGPU", "GPUid",
    }
)  # fmt: skip
_QUOTED = re.compile(r"""(?:^| )["']-""")  # the word after a lost quote
_PHASES = {"C": "create", "T": "stat", "E": "read", "r": "remove", "U": "rename"}


def split(text: str, escaped: bool) -> tuple[str, ...] | None:
    """The words of a printed command line, the program first; None if it was cut or damaged.

    1.x separates the words by blanks, so that a word with a blank appears as two. IOR up to 3.2 puts each in double
    quotes, later versions in single quotes, none of them escaping a quote inside. `escaped`: escaped as by a shell
    (this project's applet).
    """
    for quote in ("'", '"'):
        program, opening, arguments_text = text.partition(f" {quote}")
        if not opening or " -" in program:
            continue
        if escaped:
            try:
                words = shlex.split(quote + arguments_text)
            except ValueError:
                return None
            quoted_again = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
            return (program, *words) if quoted_again == quote + arguments_text else None
        if not arguments_text.endswith(quote):
            return None
        words = arguments_text[:-1].split(f"{quote} {quote}")
        return None if any(f"{quote} " in word or f" {quote}" in word for word in words) else (program, *words)
    return None if _QUOTED.search(text) else tuple(text.split())


def options(arguments: Sequence[str]) -> Iterator[tuple[str, str | None]]:
    """(letter or long name, value or None) for each option; grouped letters (-FCT) and joined values (-n16) are
    separated.
    """
    words = iter(arguments)
    for word in words:
        if word.startswith("--"):
            name, flags, value = word[2:].partition("=")
            if not flags and name in _LONG_TAKES_VALUE:
                value = next(words, "")
            yield name, value or None
        elif word.startswith("-"):
            for position, letter in enumerate(word[1:], 2):
                if letter in _TAKES_VALUE:
                    yield letter, word[position:].removeprefix("=") or next(words, None)
                    break
                yield letter, None
                if letter == "R":  # its value, a seed, is joined to it or missing
                    break


def rank_offset(argv: Sequence[str]) -> int | None:
    """The value of -N, 0 if it is not given, None if it is not a whole number."""
    value = dict(options(argv[1:])).get("N", "0")
    return int(value) if value is not None and re.fullmatch(r"-?[0-9]{1,9}", value) else None


def iterations(argv: Sequence[str]) -> int:
    """The value of -i, 1 without a readable one."""
    value = dict(options(argv[1:])).get("i") or ""
    return int(value) if re.fullmatch(r"[0-9]{1,9}", value) else 1


def shared_files(argv: Sequence[str]) -> int | None:
    """How many files all processes share (-S); None if they do not, or if the number is not given as it stands."""
    flags = dict(options(argv[1:]))
    count = flags.get("n") or ""
    fixed = {"F", "S"} <= flags.keys() and not flags.keys() & {"I", "W", "b", "z"}
    return int(count) if fixed and re.fullmatch(r"[0-9]{1,9}", count) else None


def requested_operations(argv: Sequence[str]) -> frozenset[str]:
    """The operations that this command line measures: all of them if it names no phase."""
    flags = {name for name, _ in options(argv[1:])}
    phases = {phase for letter, phase in _PHASES.items() if letter in flags} or set(_PHASES.values())
    is_unique_timed = {
        "t",
        "u",
    } <= flags  # trees are created within the time of the items, and have no phases of their own
    operations = set() if is_unique_timed else {f"tree_{phase}" for phase in phases & {"create", "remove"}}
    if "F" in flags or "D" not in flags:
        operations |= phases - {"rename"}
    if "D" in flags or "F" not in flags:
        operations |= {f"dir_{phase}" for phase in phases - {"read"}}
    return frozenset(operations)

"""Whether a file can be the benchmark's program on the nodes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from campaign.core.regex import regex
from campaign.pipeline import messages

PLACEHOLDER = regex(r"<(?! )[^<>]*(?<! )>")  # as `campaign init` writes what is to be replaced
# e_machine of an ELF file, with the name that `uname -m` has for it.
_MACHINES = {3: "i686", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64",
             258: "loongarch64"}  # fmt: skip
_ALSO = {("i686", "x86_64"), ("ppc64", "ppc64le"), ("arm", "aarch64")}  # what runs on another machine than its own


def trouble(program: Path) -> str:
    """Why a file cannot be executed, whatever the machine; "" where it can."""
    if program.is_dir():
        return messages.PROGRAM_IS_A_DIRECTORY(path=program)
    if not program.exists():
        if PLACEHOLDER.fullmatch(program.name):
            return messages.PLACEHOLDER_LEFT(found=program.name)
        return messages.PROGRAM_MISSING(path=program)
    if not os.access(program, os.X_OK):
        return messages.PROGRAM_NOT_EXECUTABLE(path=program)
    head = _head(program)
    if head and not head.startswith((b"\x7fELF", b"#!")):
        return messages.PROGRAM_OF_NO_KIND(path=program)
    return ""


def unusable(program: Path, prefix: Sequence[str]) -> str:
    """Why a file cannot be the benchmark after the words of `launcher.prefix`; "" where it can."""
    if problem := trouble(program):
        return problem
    named = _interpreter(program)
    return "" if not named or _declared(named, prefix) else messages.PROGRAM_IS_SCRIPT(path=program, interpreter=named)


def _interpreter(program: Path) -> str:
    """The program that the first line of a script names; "" for any other file."""
    head = _head(program, 256)
    words = head.split(b"\n")[0][2:].decode("utf-8", "replace").split() if head.startswith(b"#!") else []
    named = words[1] if len(words) > 1 and words[0].endswith("/env") else next(iter(words), "")
    return shutil.which(named) or named


def _declared(named: str, prefix: Sequence[str]) -> bool:
    """Whether one of the words before a script is its interpreter."""
    found = (shutil.which(word) or word for word in prefix)
    return os.path.realpath(named) in map(os.path.realpath, found)


def machine(program: Path) -> str:
    """The machine that it is built for, where that is another than this one; "" otherwise."""
    head, this = _head(program), os.uname().machine
    if not head.startswith(b"\x7fELF") or len(head) < 20:
        return ""
    number = int.from_bytes(head[18:20], "big" if head[5] == 2 else "little")
    name = _MACHINES.get(number, f"machine {number}")
    return "" if runs_on(name, this) else name


def runs_on(built_for: str, this: str) -> bool:
    return built_for == this or (built_for, this) in _ALSO


def _head(program: Path, length: int = 20) -> bytes:
    """The beginning of a file; nothing of one that may be executed but not read."""
    try:
        with program.open("rb") as file:
            return file.read(length)
    except OSError:
        return b""

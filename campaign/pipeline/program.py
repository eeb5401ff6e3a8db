"""Whether a file can be the benchmark's program on the nodes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

PLACEHOLDER = re.compile(r"<(?! )[^<>]*(?<! )>")  # as `campaign init` writes what is to be replaced
# e_machine of an ELF file, with the name that `uname -m` has for it.
_MACHINES = {3: "i686", 20: "ppc", 21: "ppc64", 22: "s390x", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64",
             258: "loongarch64"}  # fmt: skip
_ALSO = {("i686", "x86_64"), ("ppc64", "ppc64le"), ("arm", "aarch64")}  # what also runs on another kind of machine


def trouble(program: Path) -> str:
    """Why a file cannot be executed on any machine; "" if it can."""
    if program.is_dir():
        return f"{program} is a directory; name the program in it"
    if not program.exists():
        if PLACEHOLDER.fullmatch(program.name):
            return placeholder_left(program.name)
        return f"{program} not found; build it or correct the path"
    if not os.access(program, os.X_OK):
        return f"{program} is not executable by this user; make it so (chmod +x)"
    head = _head(program)
    if head and not head.startswith((b"\x7fELF", b"#!")):
        return f"{program} is neither an ELF program nor a script with #!; name the benchmark's program"
    return ""


def placeholder_left(found: object) -> str:
    return f"still a placeholder: {found}; fill it in"


def unusable(program: Path, prefix: Sequence[str]) -> str:
    """Why a file cannot be the benchmark after the words of `launcher.prefix`; "" if it can."""
    if problem := trouble(program):
        return problem
    named = _interpreter(program)
    return (
        ""
        if not named or _declared(named, prefix)
        else (
            f"{program} is a script of {named}, which can start any program; if it starts the benchmark, name the "
            "benchmark's program here and the script under launcher.prefix; if it is the benchmark itself, put "
            f"{named} under launcher.prefix"
        )
    )


def _interpreter(program: Path) -> str:
    """The interpreter in the first line of a script; "" for other files."""
    head = _head(program, 256)
    words = head.split(b"\n")[0][2:].decode("utf-8", "replace").split() if head.startswith(b"#!") else []
    named = words[1] if len(words) > 1 and words[0].endswith("/env") else next(iter(words), "")
    return shutil.which(named) or named


def _declared(named: str, prefix: Sequence[str]) -> bool:
    """Whether one of the words before a script is its interpreter."""
    found = (shutil.which(word) or word for word in prefix)
    return os.path.realpath(named) in map(os.path.realpath, found)


def machine(program: Path) -> str:
    """The machine that it is built for, if another than this one; "" otherwise."""
    head, this = _head(program), os.uname().machine
    if not head.startswith(b"\x7fELF") or len(head) < 20:
        return ""
    number = int.from_bytes(head[18:20], "big" if head[5] == 2 else "little")
    name = _MACHINES.get(number, f"machine {number}")
    return "" if runs_on(name, this) else name


def runs_on(built_for: str, this: str) -> bool:
    return built_for == this or (built_for, this) in _ALSO


def _head(program: Path, length: int = 20) -> bytes:
    """The beginning of a file; empty if it may be executed but not read."""
    try:
        with program.open("rb") as file:
            return file.read(length)
    except OSError:
        return b""

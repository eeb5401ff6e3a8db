"""The parts that the program needs at run time, as requirements.lock pins them, and their wheels for any Python.

The lock file also has those of the tests: which ones the program needs follows from the metadata of what is installed.
"""

from __future__ import annotations

import argparse
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROGRAM = "campaign"
# Of the C library: wheels for an older one run with a newer one. Debian 12 has 2.36, RHEL 8 has 2.28.
LIBRARIES = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")


def name_of(words: str) -> str:
    """The name that a requirement begins with, in the one form that indexes use."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", words, maxsplit=1)[0]).lower()


def pinned(lock: Path) -> dict[str, str]:
    """Each part's lines in a lock file."""
    blocks = re.split(r"^(?=[\w.-]+==)", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {name_of(block): block for block in blocks}


def required(name: str) -> set[str]:
    """What a part requires itself, without optional extras."""
    found = set()
    for words in metadata.requires(name) or ():
        requirement, _, condition = words.partition(";")
        if "extra" not in condition and "win32" not in condition:
            found.add(name_of(requirement))
    return found


def needed() -> set[str]:
    """What the program requires, and what that requires."""
    found: set[str] = set()
    waiting = {PROGRAM}
    while waiting:
        new = required(waiting.pop()) - found
        found |= new
        waiting |= new
    return found


def at_run_time(without: tuple[str, ...] = ()) -> str:
    """A requirements file, with hashes, of all that the program needs but what is left out."""
    names = needed()
    return "".join(lines for name, lines in pinned(ROOT / "requirements.lock").items() if name in names - {*without})


def download(requirements: Path, python: str, to: Path, machine: str = platform.machine()) -> list[Path]:
    """The wheels of a requirements file for a version of Python, compared with their hashes."""
    of_python = ["--python-version", python, "--implementation", "cp", "--abi", "cp" + python.replace(".", "")]
    libraries = [word for library in LIBRARIES for word in ("--platform", f"{library}_{machine}")]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"]
    exact = ["--require-hashes", "--only-binary", ":all:", "--requirement", str(requirements), "--dest", str(to)]
    subprocess.run([*pip, *exact, *of_python, *libraries], check=True)
    return sorted(to.glob("*.whl"))


def arguments(description: str) -> argparse.Namespace:
    """The command line of a script that packs a wheel with its parts."""
    words = argparse.ArgumentParser(description=description)
    words.add_argument("--python", nargs="+", default=PYTHONS, choices=PYTHONS)
    words.add_argument("--machine", default=platform.machine(), help="x86_64 or aarch64")
    words.add_argument("wheel", type=Path)
    words.add_argument("directory", type=Path)
    return words.parse_args()

"""Writes the wheelhouse: a tar for each version of Python with all that `campaign` needs, and a script that installs it
without a network.

usage: wheelhouse.py [--python 3.12 …] [--machine x86_64] WHEEL DIRECTORY
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

import parts

INSTALLER = Path(__file__).with_name("install.sh")
PIP = Path(__file__).with_name("pip.lock")


def write(program: Path, python: str, machine: str, directory: Path) -> Path:
    """The tar, with the same bytes for the same wheel and lock files."""
    name = f"{program.name.split('-py3-')[0]}-python{python}-{machine}"
    with tempfile.TemporaryDirectory(prefix="wheelhouse.") as place:
        top = Path(place, name)
        wheels = top / "wheels"
        wheels.mkdir(parents=True)
        requirements = top / "requirements.txt"
        requirements.write_text(parts.at_run_time(), encoding="utf-8")
        parts.download(requirements, python, wheels, machine)
        parts.download(PIP, python, wheels, machine)
        shutil.copy(program, wheels)
        digest = hashlib.sha256(program.read_bytes()).hexdigest()
        with requirements.open("a", encoding="utf-8") as file:
            file.write(f"{parts.PROGRAM}=={program.name.split('-')[1]} --hash=sha256:{digest}\n")
        shutil.copy(INSTALLER, top)
        (top / "python").write_text(f"{python}\n", encoding="utf-8")
        written = directory / f"{name}.tar"
        with tarfile.open(written, "w", format=tarfile.PAX_FORMAT) as archive:
            archive.add(top, arcname=name, filter=_same)
    return written


def _same(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """A file of nobody and of the release's time; `add` takes a directory's files in order of their names."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    member.mode = 0o755 if member.isdir() or member.name.endswith(".sh") else 0o644
    return member


def main() -> None:
    asked = parts.arguments("Write the wheelhouse of a wheel.")
    for python in asked.python:
        written = write(asked.wheel, python, asked.machine, asked.directory)
        print(f"{written}: {written.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()

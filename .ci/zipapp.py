"""Writes campaign-verify.pyz: `campaign verify` in one file for the buyer, without numpy and scipy.

It has the compiled parts for each version of Python; verify_app/__main__.py unpacks those that fit.

usage: zipapp.py [--python 3.12 …] [--machine x86_64] WHEEL DIRECTORY
"""

from __future__ import annotations

import os
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import parts

MAIN = Path(__file__).parent / "verify_app" / "__main__.py"
WITHOUT = ("argcomplete", "numpy", "scipy")
NAME = "campaign-verify.pyz"


def write(program: Path, pythons: Sequence[str], machine: str, directory: Path) -> Path:
    """The application, with the same bytes for the same wheel and lock file."""
    with tempfile.TemporaryDirectory(prefix="zipapp.") as place:
        requirements = Path(place, "requirements.txt")
        requirements.write_text(parts.at_run_time(WITHOUT), encoding="utf-8")
        wheels = {program}
        for python in pythons:
            wheels |= {*parts.download(requirements, python, Path(place, python), machine)}
        written = directory / NAME
        with written.open("wb") as file:
            file.write(b"#!/usr/bin/env python3\n")
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr(_same(zipfile.ZipInfo(MAIN.name)), MAIN.read_bytes())
                for wheel in {each.name: each for each in sorted(wheels)}.values():  # a pure part comes once
                    _copy(wheel, archive, _folder(wheel))
    written.chmod(0o755)
    return written


def _copy(wheel: Path, archive: zipfile.ZipFile, folder: str) -> None:
    with zipfile.ZipFile(wheel) as members:
        for member in members.infolist():
            if not member.is_dir():
                content = members.read(member)
                member.filename = f"{folder}/{member.filename}"
                archive.writestr(_same(member), content)


def _folder(wheel: Path) -> str:
    """`any`, or the version of Python that a wheel with compiled parts is for."""
    tag = wheel.stem.split("-")[-3]
    return "any" if tag.startswith("py3") or wheel.stem.endswith("-any") else tag


def _same(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """A member of the release's time, with its mode; earlier than 1980 is not possible in a zip file."""
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), 315532800)
    same = zipfile.ZipInfo(member.filename, time.gmtime(seconds)[:6])
    same.compress_type = zipfile.ZIP_DEFLATED
    same.external_attr = member.external_attr
    return same


def main() -> None:
    asked = parts.arguments("Write the application of a wheel that verifies bundles.")
    written = write(asked.wheel, asked.python, asked.machine, asked.directory)
    print(f"{written}: {written.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()

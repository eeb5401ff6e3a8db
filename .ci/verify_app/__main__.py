"""`campaign verify` from one file: unpacks what fits this Python into a private directory, and runs it from there.

Compiled parts cannot be loaded from within a zip file.
"""

from __future__ import annotations

import sys
import tempfile
import zipfile
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import NoReturn

NUMERIC = ("numpy", "scipy")


class Absent(MetaPathFinder):
    """Asked last for a module: what only some bundles need is not a fault of theirs."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in NUMERIC:
            from campaign.core.errors import MachineLacks

            raise MachineLacks(
                f"{name} was not found, and a bundle with tuned process counts or a fitted model needs it: install "
                f"numpy and scipy for {sys.executable}, or install campaign itself"
            )


def refuse(text: str) -> NoReturn:
    raise SystemExit(f"campaign-verify: {text}")


def main() -> int:
    with (
        zipfile.ZipFile(Path(__file__).parent) as archive,
        tempfile.TemporaryDirectory(prefix="campaign-app.") as place,
    ):
        compiled = f"cp{sys.version_info.major}{sys.version_info.minor}"
        folders = {name.partition("/")[0] for name in archive.namelist()}
        if compiled not in folders:
            known = sorted(int(name[3:]) for name in folders if name.startswith("cp3"))
            refuse(f"this Python is {sys.version.split()[0]}; use one of 3.{known[0]} to 3.{known[-1]}")
        for member in archive.infolist():
            if member.filename.partition("/")[0] in ("any", compiled):
                # The hash of the benchmark's source, with which those of bundles are compared, depends on modes.
                Path(archive.extract(member, place)).chmod(member.external_attr >> 16 & 0o777)
        sys.dont_write_bytecode = True  # the directory is removed at the end
        sys.path[:0] = [f"{place}/any", f"{place}/{compiled}"]
        sys.meta_path.append(Absent())
        sys.argv[1:1] = ["verify"]
        from campaign.__main__ import main as campaign

        return campaign()


if __name__ == "__main__":
    raise SystemExit(main())

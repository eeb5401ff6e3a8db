"""Makes the forged bundle of the buyer's tutorial: `python -m tests.support.forged OFFER FORGED KEY`.

A rate in a raw output is raised to its tenfold, as a vendor would who can sign: with the key, all hashes are made anew.
"""

from __future__ import annotations

import re
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

from campaign.core import bagit, signatures
from tests.support import bundled

RATES = re.compile(r"(File stat +)(\d+\.\d+ +)(\d+\.\d+ +)(\d+\.\d+)")  # mdtest's maximum, minimum and mean
OUTPUT = "data/results/runs/scratch.peak.unique.r1"


def forge(offer: Path, forged: Path, key: Path) -> None:
    with TemporaryDirectory() as place:
        with zipfile.ZipFile(offer) as archive:
            archive.extractall(place)
        (bag,) = Path(place).iterdir()
        for output in (bag / OUTPUT).glob("*/stdout"):
            text = output.read_text(encoding="utf-8")
            # The three columns of mdtest's rates: maximum, minimum, mean.
            output.write_text(
                re.sub(r"(File stat +)(\d+\.\d+ +)(\d+\.\d+ +)(\d+\.\d+)", _tenfold, text), encoding="utf-8"
            )
        bundled.redo(bag)
        (bag / "tagmanifest-sha256.txt.sig").unlink()
        signatures.sign(bag / "tagmanifest-sha256.txt", key, "campaign-bundle")
        bagit.pack(bag, forged)


def _tenfold(line: re.Match[str]) -> str:
    return line[1] + re.sub(r"\d+\.\d+", lambda rate: f"{10 * float(rate[0]):.3f}", line[0].removeprefix(line[1]))


if __name__ == "__main__":
    forge(*map(Path, sys.argv[1:]))

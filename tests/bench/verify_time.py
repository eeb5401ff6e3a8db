"""How long `campaign verify` takes over the signed bundle of a full campaign: 36 cells, once and with 6 repetitions.

The campaign runs on the fake Slurm, whose logs are as long as the real ones; the program's start is part of the time.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from tabulate import tabulate

from tests.support import bundled

ROUNDS = 5
BAR_S = 3.0


def main() -> bool:
    rows = []
    missed = False
    for repetitions in (1, 6):
        with tempfile.TemporaryDirectory() as place:
            made = bundled.make(Path(place) / "campaign", repetitions)
            made.call("bundle", made.file, "-o", Path(place) / "b.zip", "--sign", made.key)
            for bundle in (made.root / "bag", Path(place) / "b.zip"):
                seconds = []
                for _ in range(ROUNDS):
                    before = time.perf_counter()
                    done = made.call("verify", bundle, "--signers", made.signers)
                    seconds.append(time.perf_counter() - before)
                    assert "bundle intact" in done.stdout, done.stdout + done.stderr
                median = statistics.median(seconds)
                missed |= median > BAR_S
                rows.append([bundle.suffix or "directory", 12 * repetitions, f"{median:.2f}", f"{BAR_S:.0f}"])
    print(tabulate(rows, ["bundle", "attempts", "s", "bar s"], disable_numparse=True))
    return missed
